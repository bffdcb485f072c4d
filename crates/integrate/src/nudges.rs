//! Small errors that are put into a run on purpose, to see what becomes of them.

use crate::options::Options;
use crate::stages::Stages;

/// Moves the states of a run a little after every step, always in the same pseudo-random way.
#[derive(Debug)]
pub(crate) struct Nudges {
    size: f64,
    state: u64,
}

impl Nudges {
    pub fn new(options: &Options) -> Self {
        Self {
            size: options.nudge,
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Moves the coefficients that are states of a point `[order][unknown]`; projection brings it back to the constraints. What rests
    /// beside a root stays, as no step moves it.
    pub fn point(&mut self, stages: &Stages, options: &Options, point: &mut [f64]) {
        if self.size == 0.0 {
            return;
        }
        let resting = stages.resting_beside_roots();
        let problem = stages.problem();
        let n = problem.n();
        for j in 0..n {
            let mut factorial = 1.0;
            for s in (0..problem.unknown_offset(j)).filter(|&s| !resting.contains(&(j, s))) {
                let coefficient = &mut point[s * n + j];
                *coefficient = self.moved(options, (s, j), factorial * *coefficient) / factorial;
                factorial *= (s + 1) as f64;
            }
        }
    }

    /// How far all unknowns of a point are from those of another one, in tolerances: a nudge moves none by more than a step is off, not even
    /// the current of a small resistor.
    pub fn distance(options: &Options, n: usize, [from, to]: [&[f64]; 2]) -> f64 {
        let tolerances = &options.tolerances;
        let far = (0..n).map(|j| {
            let size = tolerances.rtol * from[j].abs() + tolerances.absolute(0, j);
            (to[j] - from[j]).abs() / size
        });
        far.fold(0.0, f64::max)
    }

    /// A derivative of an unknown, moved by at most the size of the nudges.
    pub fn moved(&mut self, options: &Options, (s, j): (usize, usize), value: f64) -> f64 {
        if self.size == 0.0 {
            return value;
        }
        let part = self.draw();
        let tolerances = &options.tolerances;
        let size = tolerances.rtol * value.abs() + tolerances.absolute(s, j);
        value + self.size * part * size
    }

    /// The next number between -1 and 1, by Marsaglia (2003).
    pub fn draw(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
