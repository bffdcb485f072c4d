//! What a tape is evaluated at: the coefficients of the variables, the parameters, the time and the signals that follow it.

use crate::scalar::Scalar;
use crate::signal::{Side, Signal};
use crate::tape::{Slot, Tape};
use std::sync::Arc;

/// The coefficients of all variables, the parameters and the time.
///
/// Coefficients are normalised: coefficient k of x is x^(k)/k!. A value is coefficient 0 and a time
/// derivative is coefficient 1. Parameters are doubles in any precision: they are given, not computed.
#[derive(Clone, Debug)]
pub struct Inputs<S = f64> {
    n_variables: usize,
    /// Stored `[order][variable]`, so that a solver writes one row per order.
    coefficients: Vec<S>,
    parameters: Vec<f64>,
    time: S,
    /// Known functions of time, and their coefficients at the time.
    signals: Vec<(Arc<Signal>, Vec<S>)>,
    side: Side,
}

impl<S: Scalar> Inputs<S> {
    /// Zeros for everything the tape mentions, for jets up to `order`.
    pub fn new(tape: &Tape, order: usize) -> Self {
        let rows = order + tape.max_slot_order + 1;
        let expanded = |signal: &Arc<Signal>| {
            let coefficients = vec![S::ZERO; signal.degree() + 1];
            (Arc::clone(signal), coefficients)
        };
        let mut inputs = Self {
            n_variables: tape.n_variables,
            coefficients: vec![S::ZERO; rows * tape.n_variables],
            parameters: vec![0.0; tape.n_parameters],
            time: S::ZERO,
            signals: tape.signals.iter().map(expanded).collect(),
            side: Side::default(),
        };
        inputs.expand_signals();
        inputs
    }

    fn expand_signals(&mut self) {
        for (signal, coefficients) in &mut self.signals {
            signal.expand(self.time, self.side, coefficients);
        }
    }

    /// Makes room for jets up to `order`; what was set stays.
    pub(crate) fn reserve(&mut self, tape: &Tape, order: usize) {
        let rows = order + tape.max_slot_order + 1;
        if rows * self.n_variables > self.coefficients.len() {
            self.coefficients.resize(rows * self.n_variables, S::ZERO);
        }
    }

    /// Number of coefficients held per variable; 1 if there are no variables.
    pub fn n_orders(&self) -> usize {
        self.coefficients
            .len()
            .checked_div(self.n_variables)
            .unwrap_or(1)
    }

    /// Coefficient `order` of a variable.
    pub fn get(&self, variable: usize, order: usize) -> S {
        self.coefficients[order * self.n_variables + variable]
    }

    /// Sets coefficient `order` of a variable.
    pub fn set(&mut self, variable: usize, order: usize, coefficient: S) {
        assert!(variable < self.n_variables, "variable {variable} unknown");
        self.coefficients[order * self.n_variables + variable] = coefficient;
    }

    /// Coefficient `order` of all variables.
    pub fn row(&self, order: usize) -> &[S] {
        &self.coefficients[order * self.n_variables..][..self.n_variables]
    }

    /// Coefficient `order` of all variables, to be written.
    pub fn row_mut(&mut self, order: usize) -> &mut [S] {
        &mut self.coefficients[order * self.n_variables..][..self.n_variables]
    }

    /// All coefficients of all variables, `[order][variable]`.
    pub fn rows(&self) -> &[S] {
        &self.coefficients
    }

    /// All coefficients of all variables, to be written.
    pub fn rows_mut(&mut self) -> &mut [S] {
        &mut self.coefficients
    }

    /// The parameters.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// The parameters, to be written.
    pub fn parameters_mut(&mut self) -> &mut [f64] {
        &mut self.parameters
    }

    /// The time at which the jets are expanded.
    pub fn time(&self) -> S {
        self.time
    }

    /// Sets the time at which the jets are expanded, and with it all signals.
    pub fn set_time(&mut self, time: S) {
        self.time = time;
        self.expand_signals();
    }

    /// Says which piece of a signal counts where two meet.
    pub fn set_side(&mut self, side: Side) {
        self.side = side;
        self.expand_signals();
    }

    /// Coefficient `order` of an input; docs/theory/jets.md (2).
    pub(crate) fn read(&self, slot: Slot, order: usize) -> S {
        match slot {
            Slot::Variable {
                index,
                order: derivative,
            } => {
                let derivative = derivative as usize;
                self.get(index as usize, order + derivative) * S::from(rising(order, derivative))
            }
            Slot::Parameter(index) if order == 0 => S::from(self.parameters[index as usize]),
            Slot::Time if order == 0 => self.time,
            Slot::Time if order == 1 => S::ONE,
            Slot::Parameter(_) | Slot::Time => S::ZERO,
            Slot::Signal {
                index,
                order: derivative,
            } => {
                let derivative = derivative as usize;
                let (_, coefficients) = &self.signals[index as usize];
                match coefficients.get(order + derivative) {
                    Some(&coefficient) => coefficient * S::from(rising(order, derivative)),
                    None => S::ZERO,
                }
            }
        }
    }
}

/// (order+1)(order+2)...(order+derivative), the factor in docs/theory/jets.md (2).
pub(crate) fn rising(order: usize, derivative: usize) -> f64 {
    (order + 1..=order + derivative)
        .map(|factor| factor as f64)
        .product()
}
