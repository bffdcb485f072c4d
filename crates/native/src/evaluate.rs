//! Evaluating native code at one point, with the interpreter behind it for what has no value.

use crate::code::NativeCode;
use daelight_expr::{Fault, Tape, Values};
use std::sync::Arc;

/// Where code is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Coefficients of the variables, `[order][variable]`, up to [`Tape::max_slot_order`].
    ///
    /// For a system of first order these are the unknowns and then their rates.
    pub coefficients: &'a [f64],
    /// The parameters.
    pub parameters: &'a [f64],
    /// The time.
    pub time: f64,
}

/// Number of coefficients of one point.
pub(crate) fn n_coefficients(tape: &Tape) -> usize {
    tape.n_variables() * (tape.max_slot_order() + 1)
}

impl Point<'_> {
    /// Panics unless everything that the code reads is there.
    pub(crate) fn check(&self, tape: &Tape) {
        assert!(
            self.coefficients.len() >= n_coefficients(tape),
            "{} coefficients, the tape reads {}",
            self.coefficients.len(),
            n_coefficients(tape)
        );
        assert!(
            self.parameters.len() >= tape.n_parameters(),
            "{} parameters, the tape reads {}",
            self.parameters.len(),
            tape.n_parameters()
        );
    }
}

/// Whether all are numbers: zero times a number is zero, and NaN otherwise.
#[inline(always)]
fn all_finite_in_lanes(numbers: &[f64]) -> bool {
    let (lines, rest) = numbers.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for line in lines {
        for (sum, number) in sums.iter_mut().zip(line) {
            *sum += 0.0 * number;
        }
    }
    let rest = rest.iter().all(|number| number.is_finite());
    rest && sums.iter().sum::<f64>() == 0.0
}

/// The same, four numbers to a vector.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn all_finite_avx2(numbers: &[f64]) -> bool {
    all_finite_in_lanes(numbers)
}

/// Whether all are numbers.
pub(crate) fn all_finite(numbers: &[f64]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if numbers.len() >= 64 && std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions that the function was compiled for.
        return unsafe { all_finite_avx2(numbers) };
    }
    all_finite_in_lanes(numbers)
}

/// The interpreter, asked only when native code gives no number.
#[derive(Clone, Debug)]
pub(crate) struct Oracle(Values);

impl Oracle {
    pub(crate) fn new(tape: &Arc<Tape>) -> Self {
        Self(Values::new(Arc::clone(tape)))
    }

    /// Says which expression has no value, or gives the outputs.
    #[cold]
    pub(crate) fn evaluate(&mut self, point: &Point<'_>, outputs: &mut [f64]) -> Result<(), Fault> {
        let values = &mut self.0;
        let (n_variables, n_parameters) =
            (values.tape().n_variables(), values.tape().n_parameters());
        for order in 0..=values.tape().max_slot_order() {
            let row = &point.coefficients[order * n_variables..][..n_variables];
            values.inputs_mut().row_mut(order).copy_from_slice(row);
        }
        let inputs = values.inputs_mut();
        inputs
            .parameters_mut()
            .copy_from_slice(&point.parameters[..n_parameters]);
        inputs.set_time(point.time);
        values.evaluate()?;
        for (root, output) in outputs.iter_mut().enumerate() {
            *output = values.root(root);
        }
        Ok(())
    }
}

/// Values of a tape by native code, one point at a time.
///
/// The meaning is that of [`Values`]: the same numbers, and the same [`Fault`] where there is none.
/// Branches follow the values; to hold them, use the interpreter.
///
/// ```
/// use daelight_expr::{Graph, Slot, SymbolId, Tape, UnaryOp};
/// use daelight_native::{NativeCode, NativeValues, Point, Tier};
/// use std::sync::Arc;
///
/// let mut graph = Graph::new();
/// let x = graph.symbol(SymbolId(0));
/// let root = graph.unary(UnaryOp::Sqrt, x);
/// let tape = Tape::compile(&graph, &[root], |_| Slot::Variable { index: 0, order: 0 });
/// let code = NativeCode::compile(Arc::new(tape), Tier::Quick)?;
/// let mut values = NativeValues::new(Arc::new(code));
/// let mut output = [0.0];
/// let at = |x: &'static [f64]| Point { coefficients: x, parameters: &[], time: 0.0 };
/// assert_eq!(values.evaluate(at(&[4.0]), &mut output), Ok(()));
/// assert_eq!(output, [2.0]);
/// assert_eq!(values.evaluate(at(&[-4.0]), &mut output).unwrap_err().expr, root);
/// # Ok::<(), daelight_native::NativeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NativeValues {
    code: Arc<NativeCode>,
    table: Vec<f64>,
    oracle: Oracle,
    n_detours: u64,
    /// The parameters for which the table holds what depends on them alone.
    parameters: Vec<f64>,
    is_settled: bool,
}

impl NativeValues {
    /// Room for one evaluation.
    ///
    /// # Panics
    ///
    /// For code that was compiled for pairs of points.
    pub fn new(code: Arc<NativeCode>) -> Self {
        assert_eq!(code.n_lanes(), 1, "code for pairs is for batches");
        Self {
            table: code.table(),
            oracle: Oracle::new(code.tape()),
            n_detours: 0,
            parameters: vec![0.0; code.tape().n_parameters()],
            is_settled: false,
            code,
        }
    }

    /// How often the interpreter had to be asked; once per fault, and never otherwise.
    pub fn n_detours(&self) -> u64 {
        self.n_detours
    }

    /// The code that is evaluated.
    pub fn code(&self) -> &Arc<NativeCode> {
        &self.code
    }

    /// How many pieces need not run, because the parameters are those of the last call.
    fn n_settled_pieces(&mut self, parameters: &[f64]) -> usize {
        let n_resting = self.code.n_resting_pieces();
        if n_resting == 0 {
            return 0;
        }
        let parameters = &parameters[..self.code.tape().n_parameters()];
        let known = &mut self.parameters;
        // Without an early end, so that it runs in vectors.
        let difference = known
            .iter()
            .zip(parameters)
            .fold(0, |bits, (a, b)| bits | (a.to_bits() ^ b.to_bits()));
        if difference == 0 && self.is_settled {
            return n_resting;
        }
        known.copy_from_slice(parameters);
        self.is_settled = true;
        0
    }

    /// Computes all roots, or says which expression has no value. Allocates nothing.
    ///
    /// After a fault the outputs mean nothing.
    ///
    /// # Panics
    ///
    /// When the point lacks inputs or `outputs` does not have one place per root.
    pub fn evaluate(&mut self, point: Point<'_>, outputs: &mut [f64]) -> Result<(), Fault> {
        let tape = self.code.tape();
        point.check(tape);
        assert_eq!(outputs.len(), tape.n_roots(), "one output per root");
        let n_settled = self.n_settled_pieces(point.parameters);
        self.code.sums(&mut self.table)[0] = 0.0;
        for piece in self.code.one_point().skip(n_settled) {
            // SAFETY: the function reads and writes the table, which has the length the code asked
            // for, reads the inputs that were checked above, and writes one number per root.
            unsafe {
                piece(
                    self.table.as_mut_ptr(),
                    point.coefficients.as_ptr(),
                    point.parameters.as_ptr(),
                    outputs.as_mut_ptr(),
                    point.time,
                );
            }
        }
        let sum = self.code.sums(&mut self.table)[0];
        // Numbers near the largest one may have a sum that is none.
        if sum.is_finite() || all_finite(outputs) {
            Ok(())
        } else {
            self.n_detours += 1;
            self.oracle.evaluate(&point, outputs)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::all_finite;

    /// Every place and every kind of what is no number is noticed, in short and in long lists.
    #[test]
    fn what_is_no_number_is_noticed() {
        for length in [1, 15, 16, 17, 63, 64, 100, 129] {
            let mut numbers = vec![-1e308; length];
            assert!(all_finite(&numbers));
            for place in 0..length {
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    numbers[place] = bad;
                    assert!(!all_finite(&numbers), "{bad} at {place} of {length}");
                }
                numbers[place] = 5e-324;
            }
        }
    }
}
