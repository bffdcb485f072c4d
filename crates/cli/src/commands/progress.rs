//! What a person at a terminal sees and does during a run: a line of progress, and Ctrl-C.

use crate::terminal::Terminal;
use daelight::files::finish_writing;
use daelight::{Interrupt, Progress};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Runs shorter than this show no progress.
const PATIENCE: Duration = Duration::from_millis(500);

/// Time between two states of the line.
const INTERVAL: Duration = Duration::from_millis(100);

/// What ends the program at once: 128 and the number of the signal, as shells have it.
const INTERRUPTED: i32 = 130;

/// How long an end by Ctrl-C waits for a file that is being written.
const WRITING: Duration = Duration::from_secs(10);

/// Lets Ctrl-C end the run; a second one, or one before the run, ends the program.
pub fn interrupt_by_ctrl_c() -> Arc<Interrupt> {
    static INTERRUPT: OnceLock<Arc<Interrupt>> = OnceLock::new();
    let interrupt = INTERRUPT.get_or_init(|| {
        let interrupt = Arc::new(Interrupt::default());
        let handled = Arc::clone(&interrupt);
        // Without a handler Ctrl-C ends the program, as everywhere.
        let _ = ctrlc::set_handler(move || {
            if !handled.ask() {
                finish_writing(WRITING);
                std::process::exit(INTERRUPTED);
            }
        });
        interrupt
    });
    Arc::clone(interrupt)
}

/// A line on standard error that tells how far a run is.
pub struct ProgressLine {
    from: f64,
    to: f64,
    state: Arc<State>,
}

struct State {
    began: Instant,
    /// Milliseconds after the beginning at which the line is written next.
    due: AtomicU64,
}

impl ProgressLine {
    /// `None` where nobody looks: standard error is no terminal, or quiet was asked for.
    pub fn new(from: f64, to: f64, terminal: &Terminal) -> Option<Self> {
        terminal.is_watched().then(|| Self {
            from,
            to,
            state: Arc::new(State {
                began: Instant::now(),
                due: AtomicU64::new(PATIENCE.as_millis() as u64),
            }),
        })
    }

    /// What the run tells the time reached.
    pub fn hook(&self) -> Progress {
        let (from, to) = (self.from, self.to);
        let state = Arc::clone(&self.state);
        Progress::new(move |reached| {
            let elapsed = state.began.elapsed();
            if (elapsed.as_millis() as u64) < state.due.load(Ordering::Relaxed) {
                return;
            }
            let next = (elapsed + INTERVAL).as_millis() as u64;
            state.due.store(next, Ordering::Relaxed);
            let line = line(from, to, reached, elapsed);
            let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
        })
    }

    /// Removes the line.
    pub fn clear(self) {
        if self.state.due.load(Ordering::Relaxed) > PATIENCE.as_millis() as u64 {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// A line on standard error that tells the stage of a search and its seconds, also while one step takes long.
pub struct StageLine {
    stage: Arc<Mutex<String>>,
    /// Dropped when the search is over.
    end: Option<mpsc::Sender<()>>,
    writer: Option<JoinHandle<()>>,
}

impl StageLine {
    /// `None` where nobody looks: standard error is no terminal, or quiet was asked for.
    pub fn new(stage: &str, terminal: &Terminal) -> Option<Self> {
        if !terminal.is_watched() {
            return None;
        }
        let stage = Arc::new(Mutex::new(stage.to_string()));
        let (end, ended) = mpsc::channel::<()>();
        let told = Arc::clone(&stage);
        let began = Instant::now();
        let writer = std::thread::spawn(move || {
            let mut wait = PATIENCE;
            while ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                wait = INTERVAL;
                let stage = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let seconds = began.elapsed().as_secs_f64();
                let _ = write!(std::io::stderr(), "\r{stage}, {seconds:.1} s\x1b[K");
            }
            if wait == INTERVAL {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        });
        Some(Self {
            stage,
            end: Some(end),
            writer: Some(writer),
        })
    }

    /// Tells the stage.
    pub fn tell(&self, progress: daelight_singular::SearchProgress) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage_text(progress);
    }
}

impl Drop for StageLine {
    /// Removes the line.
    fn drop(&mut self) {
        self.end = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn stage_text(progress: daelight_singular::SearchProgress) -> String {
    let word = progress.stage.word();
    match progress.total {
        0 | 1 => word.to_string(),
        total => format!("{word}: {} of {total}", progress.done),
    }
}

/// A line on standard error that counts points.
pub struct CountLine {
    n: usize,
    /// How many there were at the beginning.
    first: Option<usize>,
    began: Instant,
    due: Duration,
}

impl CountLine {
    /// `None` where nobody looks.
    pub fn new(n: usize, terminal: &Terminal) -> Option<Self> {
        terminal.is_watched().then(|| Self {
            n,
            first: None,
            began: Instant::now(),
            due: PATIENCE,
        })
    }

    /// Tells how many points there are now.
    pub fn tell(&mut self, done: usize) {
        let first = *self.first.get_or_insert(done - 1);
        let elapsed = self.began.elapsed();
        if elapsed < self.due {
            return;
        }
        self.due = elapsed + INTERVAL;
        let line = count_line(done, self.n, done - first, elapsed);
        let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
    }

    /// Removes the line.
    pub fn clear(self) {
        if self.due > PATIENCE {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// How far a sweep is, with a bar and the time that is left.
fn count_line(done: usize, n: usize, new: usize, elapsed: Duration) -> String {
    const WIDTH: usize = 30;
    let full = (WIDTH * done) / n.max(1);
    let seconds = elapsed.as_secs_f64().max(f64::EPSILON);
    let rate = new as f64 / seconds;
    let left = (n - done) as f64 * seconds / new.max(1) as f64;
    format!(
        "[{}{}] {done} of {n} points, {rate:.0} per second, {left:.0} s left",
        "#".repeat(full),
        " ".repeat(WIDTH - full),
    )
}

/// How far a run is, in one line.
fn line(from: f64, to: f64, reached: f64, elapsed: Duration) -> String {
    let part = ((reached - from) / (to - from)).clamp(0.0, 1.0);
    format!(
        "t = {reached:.4} of {to} ({:.0} %), {:.1} s",
        100.0 * part,
        elapsed.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_tells_how_far_the_sweep_is() {
        let line = count_line(50, 200, 25, Duration::from_secs(5));
        assert!(line.starts_with("[#######  "), "{line}");
        assert!(
            line.ends_with("] 50 of 200 points, 5 per second, 30 s left"),
            "{line}"
        );
    }

    #[test]
    fn the_line_tells_how_far_the_run_is() {
        let elapsed = Duration::from_millis(1500);
        let forward = line(0.0, 10.0, 2.5, elapsed);
        assert_eq!(forward, "t = 2.5000 of 10 (25 %), 1.5 s");
        let backward = line(0.0, -4.0, -3.0, elapsed);
        assert_eq!(backward, "t = -3.0000 of -4 (75 %), 1.5 s");
    }

    #[test]
    fn the_stage_tells_its_parts() {
        let stage = daelight_singular::SearchStage::Pieces;
        let text =
            |done, total| stage_text(daelight_singular::SearchProgress { stage, done, total });
        assert_eq!(text(3, 24), "pieces: 3 of 24");
        assert_eq!(text(0, 1), "pieces");
    }
}
