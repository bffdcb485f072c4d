//! Lanes of work: each has one worker at a time, a process that ends when its question is given up.

use crate::StudioBounds;
use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Interval, interval};

/// Questions that do not wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneName {
    /// What a text says and what is wrong with it.
    Text,
    /// Runs, starts, and the mechanism pulled by a point.
    Run,
    /// The passport and the singular configurations.
    Evidence,
    /// Maps, reports and files.
    Long,
}

impl LaneName {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Run, Self::Evidence, Self::Long];
}

/// Why a question has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoAnswer {
    /// Too many wait already.
    Busy,
    /// It took longer than it may.
    Time(Duration),
    /// It took more memory than it may.
    Memory(u64),
    /// The answer is longer than it may be.
    Length,
    /// The worker could not be started, or ended.
    Ended(String),
}

/// One lane.
pub struct Lane {
    command: Vec<OsString>,
    bounds: StudioBounds,
    time: Duration,
    /// One place for each question that may wait.
    places: Semaphore,
    /// The worker that rests; whoever asks takes it, and brings it back when it is done.
    worker: Mutex<Option<Worker>>,
    /// How far the work is, in thousandths.
    progress: AtomicU32,
}

struct Worker {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// How often the memory of a worker is looked at.
const LOOK: Duration = Duration::from_millis(100);

impl Lane {
    /// A lane whose workers are started with a command.
    pub fn new(command: Vec<OsString>, bounds: StudioBounds, name: LaneName) -> Self {
        Self {
            command,
            bounds,
            time: bounds.time[name as usize],
            places: Semaphore::new(bounds.waiting),
            worker: Mutex::new(None),
            progress: AtomicU32::new(0),
        }
    }

    /// How far the work is, from 0 to 1.
    pub fn progress(&self) -> f64 {
        f64::from(self.progress.load(Ordering::Relaxed)) / 1000.0
    }

    /// Asks a question, one line, and waits for the answer, one line. Giving up ends the worker.
    pub async fn ask(&self, question: &str) -> Result<Vec<u8>, NoAnswer> {
        let _place = self.places.try_acquire().map_err(|_| NoAnswer::Busy)?;
        let mut resting = self.worker.lock().await;
        self.progress.store(0, Ordering::Relaxed);
        // A worker that died while it rested is replaced.
        let worker = resting.take().filter(Worker::is_alive);
        let ended = |error: io::Error| NoAnswer::Ended(error.to_string());
        let mut worker = match worker {
            Some(worker) => worker,
            None => Worker::start(&self.command).map_err(ended)?,
        };
        // Whatever happens from here on, a worker that is not put back is dropped, and with it the process ends.
        let answer = self.answer(&mut worker, question).await?;
        *resting = Some(worker);
        Ok(answer)
    }

    async fn answer(&self, worker: &mut Worker, question: &str) -> Result<Vec<u8>, NoAnswer> {
        let began = Instant::now();
        let mut look = interval(LOOK);
        let work = async {
            worker.questions.write_all(question.as_bytes()).await?;
            worker.questions.write_all(b"\n").await?;
            worker.questions.flush().await?;
            loop {
                let mut line = Vec::new();
                let most = self.bounds.answer as u64 + 1;
                let mut source = (&mut worker.answers).take(most);
                source.read_until(b'\n', &mut line).await?;
                if line.pop() != Some(b'\n') {
                    return Ok(Err(match line.len() < self.bounds.answer {
                        true => NoAnswer::Ended("the worker ended".to_string()),
                        false => NoAnswer::Length,
                    }));
                }
                match line.strip_prefix(b"progress ") {
                    Some(part) => self.tell(part),
                    None => return Ok(Ok(line)),
                }
            }
        };
        tokio::pin!(work);
        let pid = worker.child.id();
        loop {
            tokio::select! {
                end = &mut work => {
                    let end: io::Result<Result<Vec<u8>, NoAnswer>> = end;
                    return end.unwrap_or_else(|error| Err(NoAnswer::Ended(error.to_string())));
                }
                () = tick(&mut look) => {
                    if began.elapsed() > self.time {
                        return Err(NoAnswer::Time(self.time));
                    }
                    if pid.and_then(resident).is_some_and(|bytes| bytes > self.bounds.memory) {
                        return Err(NoAnswer::Memory(self.bounds.memory));
                    }
                }
            }
        }
    }

    fn tell(&self, part: &[u8]) {
        let part = std::str::from_utf8(part)
            .ok()
            .and_then(|text| text.parse().ok());
        if let Some(thousandths) = part {
            self.progress.store(thousandths, Ordering::Relaxed);
        }
    }
}

async fn tick(interval: &mut Interval) {
    interval.tick().await;
}

impl Worker {
    fn start(command: &[OsString]) -> io::Result<Self> {
        let Some((program, words)) = command.split_first() else {
            return Err(io::Error::other("there is no program to start"));
        };
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::other("a worker without pipes");
        Ok(Self {
            questions: child.stdin.take().ok_or_else(missing)?,
            answers: BufReader::new(child.stdout.take().ok_or_else(missing)?),
            child,
        })
    }

    fn is_alive(&self) -> bool {
        self.child.id().is_some()
    }
}

/// The bytes of memory that a process has, where the system tells them.
fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
