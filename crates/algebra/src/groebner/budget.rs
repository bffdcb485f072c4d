//! Limits of time and memory.

use std::fmt;
use std::time::{Duration, Instant};

/// How much a computation may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// When it has to end; without one it may take as long as it likes.
    pub deadline: Option<Instant>,
    /// Bytes that its matrices, monomials and results may take, estimated.
    pub memory: usize,
    /// Products of coefficients, modulo one prime, up to which the computation is repeated with whole numbers, so that
    /// the result is proved: [`Certificate::Exact`](super::Certificate::Exact).
    pub exact: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            deadline: None,
            memory: 2 << 30,
            exact: 3_000_000,
        }
    }
}

impl Budget {
    /// The default, with this much time from now.
    pub fn within(time: Duration) -> Self {
        Self {
            deadline: Instant::now().checked_add(time),
            ..Self::default()
        }
    }

    /// Fails when the time is over.
    pub fn check_time(&self) -> Result<(), OutOfBudget> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(OutOfBudget::Time),
            _ => Ok(()),
        }
    }

    /// Fails when more bytes are needed than there are.
    pub(crate) fn check_memory(&self, bytes: usize) -> Result<(), OutOfBudget> {
        if bytes > self.memory {
            return Err(OutOfBudget::Memory);
        }
        Ok(())
    }
}

/// Which limit was reached before there was a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutOfBudget {
    /// The deadline.
    Time,
    /// The memory.
    Memory,
    /// The degree of a monomial, which is at most 32767.
    Degree,
    /// The number of branches or steps of a decomposition.
    Steps,
}

impl fmt::Display for OutOfBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "the time budget ended first",
            Self::Memory => "the memory budget ended first",
            Self::Degree => "a monomial has a degree above 32767",
            Self::Steps => "the limit of branches was reached first",
        })
    }
}

impl std::error::Error for OutOfBudget {}
