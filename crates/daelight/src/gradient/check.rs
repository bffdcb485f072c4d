//! Whether a gradient is right: the derivative along one direction, carried forwards, must be what it says. Section 6 of
//! `docs/theory/sensitivities.md`.

use super::{Joints, Work, refused};
use crate::sensitivity::{differentiated, rates_of, varied_system};
use crate::solve::SAME_START_TOLERANCES;
use crate::{Setup, SolveOptions};
use daelight_lang::{Diagnostic, Model, MovedBy};

/// A derivative of the number that was carried forwards, and the size of its terms.
struct Carried {
    value: f64,
    size: f64,
}

/// A direction of parameters, and the start value that counts most, with its size.
struct Direction {
    parameters: Vec<(usize, f64)>,
    start: Option<(usize, f64)>,
    /// What the gradient says of both, and the size of its terms.
    says: Vec<Carried>,
}

impl Work {
    /// The gradient by the adjoint where forward derivatives confirm it, and by these where they do not.
    pub(super) fn checked(
        &mut self,
        wanted: &[MovedBy],
        options: &SolveOptions,
    ) -> Result<Vec<f64>, Box<Diagnostic>> {
        for joints in [Joints::Switches, Joints::Steps] {
            let found = self.by_adjoint(joints, (wanted, options))?;
            match self.agrees(wanted, &found, options) {
                Ok(true) => return Ok(found),
                Ok(false) => {}
                Err(because) => {
                    self.warnings.push(format!(
                        "No forward derivative was there to check the gradient by: {because}"
                    ));
                    return Ok(found);
                }
            }
        }
        let mut found = Vec::new();
        for one in wanted {
            let carried = self.carried(&self.model, &[*one], options);
            let carried = carried.map_err(|because| {
                refused(format!(
                    "its adjoint is not confirmed by forward derivatives, and of these not all are there: {because}"
                ))
            })?;
            found.extend(carried.iter().map(|one| one.value));
        }
        self.n_steps = 0;
        self.warnings.push(
            "The adjoint of this run is not as exact as the run: the derivatives were carried forwards."
                .to_string(),
        );
        Ok(found)
    }

    /// Whether the derivative along one direction is what a gradient says; `Err` where there is none.
    fn agrees(
        &self,
        wanted: &[MovedBy],
        gradient: &[f64],
        options: &SolveOptions,
    ) -> Result<bool, String> {
        if gradient.iter().any(|by| !by.is_finite()) {
            return Ok(false);
        }
        let direction = self.direction(wanted, gradient);
        let mut moved: Vec<MovedBy> = Vec::new();
        let with = self.model.with_direction(&direction.parameters);
        moved.extend(with.iter().map(|(_, at)| MovedBy::Parameter(*at)));
        moved.extend(direction.start.map(|(unknown, _)| MovedBy::Start(unknown)));
        let model = with.as_ref().map_or(&self.model, |(model, _)| model);
        let mut carried = self.carried(model, &moved, options)?;
        if let (Some((_, size)), Some(last)) = (direction.start, carried.last_mut()) {
            (last.value, last.size) = (size * last.value, size * last.size);
        }
        let most = SAME_START_TOLERANCES * self.base.rtol;
        let mut pairs = carried.iter().zip(&direction.says);
        Ok(pairs.all(|(carried, says)| {
            let size = says.size + carried.size + self.value.abs();
            (carried.value - says.value).abs() <= most * size
        }))
    }

    /// A direction in which all that is asked for counts: each by as much, or a hundred times its own size at most.
    fn direction(&self, wanted: &[MovedBy], gradient: &[f64]) -> Direction {
        let values = self.base.start.jet.values();
        let not_zero = |size: f64| if size > 0.0 { size } else { 1.0 };
        let own = |moved: &MovedBy| match *moved {
            MovedBy::Parameter(at) => not_zero(self.system.parameters().values()[at].abs()),
            MovedBy::Start(at) => not_zero(values[at].abs()),
        };
        let pairs = wanted.iter().zip(gradient);
        let sizes = pairs.clone().map(|(moved, by)| by.abs() * own(moved));
        let largest = sizes.fold(0.0, f64::max);
        let mut found = Direction {
            parameters: Vec::new(),
            start: None,
            says: Vec::new(),
        };
        let mut says = Carried {
            value: 0.0,
            size: 0.0,
        };
        let mut most = -1.0;
        let mut start = None;
        for (at, (moved, by)) in pairs.enumerate() {
            match *moved {
                MovedBy::Parameter(parameter) => {
                    let size = (by.abs() * own(moved)).max(0.01 * largest);
                    let weight = own(moved) * factor(at) * not_zero(largest) / not_zero(size);
                    says.value += by * weight;
                    says.size += (by * weight).abs();
                    found.parameters.push((parameter, weight));
                }
                MovedBy::Start(unknown) if by.abs() * own(moved) > most => {
                    most = by.abs() * own(moved);
                    start = Some((unknown, own(moved), *by));
                }
                MovedBy::Start(_) => {}
            }
        }
        if !found.parameters.is_empty() {
            found.says.push(says);
        }
        if let Some((unknown, own, by)) = start {
            let value = own * by;
            let size = value.abs();
            found.says.push(Carried { value, size });
            found.start = Some((unknown, own));
        }
        found
    }

    /// Derivatives of the number by directions, carried forwards.
    fn carried(
        &self,
        model: &Model,
        directions: &[MovedBy],
        options: &SolveOptions,
    ) -> Result<Vec<Carried>, String> {
        let system = &self.system;
        let words = |problem: Box<Diagnostic>| problem.message.clone();
        let varied = varied_system(model, system, directions, &[]).map_err(words)?;
        let setup = Setup::new(&varied);
        let by = (directions.to_vec(), &varied, &setup);
        let all = differentiated(model, system, &self.base, options, by).map_err(words)?;
        if let Some(why) = all.ended {
            return Err(why);
        }
        let rates = rates_of(model, system, directions);
        let own = |rates: &Vec<f64>| {
            let pairs = self.read.iter().zip(&self.own);
            let terms: Vec<f64> = pairs.map(|(&p, slope)| rates[p] * slope).collect();
            Carried {
                value: terms.iter().sum(),
                size: terms.iter().map(|term| term.abs()).sum(),
            }
        };
        let mut found: Vec<Carried> = rates.iter().map(own).collect();
        let mut reader = all.reader();
        for term in &self.terms {
            let parts = all.at(&mut reader, term.time);
            let parts = parts.ok_or_else(|| format!("none is known at t = {}", term.time))?;
            for (found, part) in found.iter_mut().zip(&parts) {
                for (slope, s) in term.by_value.iter().zip(part) {
                    found.value += slope * s;
                    found.size += (slope * s).abs();
                }
            }
        }
        Ok(found)
    }
}

/// A factor between a half and one, of either sign, that no model knows.
fn factor(at: usize) -> f64 {
    let spread = |by: f64| ((at + 1) as f64 * by).fract();
    let size = 0.5 + 0.5 * spread(std::f64::consts::SQRT_2);
    match spread(std::f64::consts::E) < 0.5 {
        true => size,
        false => -size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient::Loss;
    use crate::sensitivity::directions;

    /// A decay with a load: every large part of its gradient that is off by a thousandth is seen, and a small one that is far too large.
    #[test]
    fn a_part_that_is_off_is_seen() {
        let text = "model D parameter Real k = 1.3, a = 2e3, b = 3e-4, c = 5; Real x(start = a, fixed = true), y; equation der(x) = -k*x + b*sin(c*time); y = x^2 + c*b; end D;";
        let options = daelight_lang::Options {
            stop_when: Some("x + y".to_string()),
            ..Default::default()
        };
        let loaded = daelight_lang::load("decay.mo", text.as_bytes(), &options);
        let model = loaded.model.expect("a model");
        let system = crate::system(&model).expect("equations");
        let loss = Loss::Final(model.stop_when.expect("a number").expr);
        let names = ["k", "a", "b", "c", "x"].map(str::to_string);
        let wanted = directions(&model, &system, &names).expect("names");
        let options = SolveOptions::default();
        let work = Work::new(&model, &system, &options, &loss);
        let mut work = work.unwrap_or_else(|problem| panic!("{}", problem.message));
        work.at_the_end(&loss).expect("an end");
        let found = work.by_adjoint(Joints::Switches, (&wanted, &options));
        let found = found.unwrap_or_else(|problem| panic!("{}", problem.message));
        assert_eq!(work.agrees(&wanted, &found, &options), Ok(true));
        for at in [0, 1, 4] {
            let mut off = found.clone();
            off[at] *= 1.001;
            assert_eq!(work.agrees(&wanted, &off, &options), Ok(false), "{at}");
        }
        // What counts a millionth of the others is not seen at 0.1 %, and is where it is far too large.
        for at in [2, 3] {
            let mut off = found.clone();
            off[at] = 0.1 * found[0];
            assert_eq!(work.agrees(&wanted, &off, &options), Ok(false), "{at}");
        }
    }
}
