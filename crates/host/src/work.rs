//! Inside the process of an FMU.

use crate::guest::{Guest, Stepped};
use crate::job::{GuestEnd, GuestInput, GuestJob, GuestValue, Line, ValueType};
use crate::{three, two};
use std::io::{Read, Write};

/// Reads a job, runs it and tells what comes out; the first line of the job is the mark that begins every line of the answer, so that
/// what a library prints is told apart.
pub fn work(mut from: impl Read, into: impl Write) -> std::io::Result<()> {
    let mut text = String::new();
    from.read_to_string(&mut text)?;
    let (mark, job) = text.split_once('\n').unwrap_or_default();
    let mut teller = Teller {
        mark: mark.to_string(),
        into,
    };
    let end = match serde_json::from_str::<GuestJob>(job) {
        Err(error) => GuestEnd::Failed(format!("the job cannot be read: {error}")),
        Ok(job) => {
            let loaded: Result<Box<dyn Guest>, String> = match job.is_three {
                false => two::load(&job).map(|guest| Box::new(guest) as Box<dyn Guest>),
                true => three::load(&job).map(|guest| Box::new(guest) as Box<dyn Guest>),
            };
            match loaded {
                Ok(mut guest) => lead(&job, guest.as_mut(), &mut teller)?,
                Err(why) => GuestEnd::Failed(why),
            }
        }
    };
    teller.messages()?;
    teller.tell(&Line::End(end))
}

/// Who writes lines.
struct Teller<W> {
    mark: String,
    into: W,
}

impl<W: Write> Teller<W> {
    fn tell(&mut self, line: &Line) -> std::io::Result<()> {
        let text = serde_json::to_string(line).map_err(std::io::Error::other)?;
        writeln!(self.into, "{}{text}", self.mark)?;
        self.into.flush()
    }

    /// What the library said since.
    fn messages(&mut self) -> std::io::Result<()> {
        for message in crate::guest::take_messages() {
            self.tell(&Line::Message(message))?;
        }
        Ok(())
    }
}

/// Gives the inputs that move their values at a time of the run: what an output takes straight from an input is that of this time.
fn move_inputs(job: &GuestJob, guest: &mut dyn Guest, at: usize) -> Result<(), String> {
    for input in &job.inputs {
        if let Some(&(value, _)) = input.values.get(at) {
            guest.set(input.variable, &GuestValue::Number(value))?;
        }
    }
    Ok(())
}

/// Tells how fast inputs move over the step that ends at a time; where the FMU takes no rates, they rest at the mean of both ends.
fn lean_inputs(
    job: &GuestJob,
    guest: &mut dyn Guest,
    (at, length): (usize, f64),
) -> Result<(), String> {
    let real = |input: &&GuestInput| input.variable.ty == ValueType::Float64;
    for input in job.inputs.iter().filter(real) {
        let before = at.checked_sub(1);
        let from = before.and_then(|before| input.values.get(before));
        if let (Some(&(from, _)), Some(&(_, to))) = (from, input.values.get(at)) {
            match job.takes_rates {
                true => guest.set_rate(input.variable, (to - from) / length)?,
                false => guest.set(input.variable, &GuestValue::Number(0.5 * (from + to)))?,
            }
        }
    }
    Ok(())
}

/// A run from its start to its end.
fn lead<W: Write>(
    job: &GuestJob,
    guest: &mut dyn Guest,
    teller: &mut Teller<W>,
) -> std::io::Result<GuestEnd> {
    for (variable, value) in &job.set {
        if let Err(why) = guest.set(*variable, value) {
            return Ok(GuestEnd::Failed(why));
        }
    }
    if let Err(why) = move_inputs(job, guest, 0) {
        return Ok(GuestEnd::Failed(why));
    }
    let first = job.times.first().copied().unwrap_or(0.0);
    if let Err(why) = guest.start(first, job.to, job.tolerance) {
        return Ok(GuestEnd::Failed(why));
    }
    let mut now = first;
    let mut end = GuestEnd::Finished;
    for at in 0..job.times.len() {
        let next = job.times[at];
        if next > now {
            let stepped = lean_inputs(job, guest, (at, next - now))
                .and_then(|()| guest.step(now, next - now))
                .and_then(|stepped| match stepped {
                    Stepped::Done => move_inputs(job, guest, at).map(|()| Stepped::Done),
                    ended @ Stepped::Ended(_) => Ok(ended),
                });
            match stepped {
                Ok(Stepped::Done) => now = next,
                Ok(Stepped::Ended(time)) => {
                    now = time;
                    end = GuestEnd::Ended(time);
                }
                Err(why) => return Ok(GuestEnd::Failed(why)),
            }
        }
        teller.messages()?;
        let mut row = Vec::with_capacity(job.shown.len());
        for variable in &job.shown {
            match guest.get(*variable) {
                Ok(values) => {
                    row.extend(
                        values
                            .into_iter()
                            .map(|x| Some(x).filter(|x| x.is_finite())),
                    );
                }
                Err(why) => return Ok(GuestEnd::Failed(why)),
            }
        }
        teller.tell(&Line::Row(now, row))?;
        if end != GuestEnd::Finished {
            return Ok(end);
        }
    }
    guest.finish();
    Ok(end)
}
