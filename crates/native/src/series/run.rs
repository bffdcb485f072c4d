//! Running the stages at a point.

use super::SeriesCode;
use crate::evaluate::all_finite;
use daelight_expr::{Recurrence, Values};
use std::sync::Arc;

/// One stage, or a part of it.
type Part = unsafe extern "C" fn(
    rows: *mut f64,
    numbers: *const f64,
    coefficients: *mut f64,
    matrix: *const f64,
    right: *mut f64,
    solution: *const f64,
    time: f64,
);

/// Series by native code.
#[derive(Clone, Debug)]
pub struct NativeSeries {
    code: Arc<SeriesCode>,
    rows: Vec<f64>,
}

impl NativeSeries {
    /// Room for the series of one point, with these parameters.
    pub fn new(code: Arc<SeriesCode>, parameters: &[f64]) -> Self {
        let mut rows = vec![0.0; code.n_rows];
        let mut values = Values::new(Arc::clone(&code.tape));
        values
            .inputs_mut()
            .parameters_mut()
            .copy_from_slice(&parameters[..code.tape.n_parameters()]);
        // What moves has no value yet, and that may be a fault; what rests has one.
        let _ = values.evaluate();
        for index in 0..code.tape.n_registers() {
            let register = code.tape.register(index);
            if code.tape.recurrence(register) == Some(Recurrence::Resting) {
                rows[index * code.stride] = values.value(register);
            }
        }
        Self { code, rows }
    }

    /// The code.
    pub fn code(&self) -> &SeriesCode {
        &self.code
    }

    /// Runs one of the functions.
    fn call(
        &mut self,
        part: usize,
        coefficients: *mut f64,
        matrix: *const f64,
        right: *mut f64,
        solution: *const f64,
        time: f64,
    ) {
        let address = self.code.memory.piece(part);
        // SAFETY: the function was given this signature. It reads and writes the rows, which have the length that the code
        // asked for, and what its callers below have checked.
        unsafe {
            let part = std::mem::transmute::<*const u8, Part>(address);
            part(
                self.rows.as_mut_ptr(),
                self.code.numbers.as_ptr(),
                coefficients,
                matrix,
                right,
                solution,
                time,
            );
        }
    }

    /// The roots of a stage up to 0; false if one of them is no number.
    ///
    /// Stages come one after the other from the first one; a stage may be repeated with other coefficients.
    ///
    /// # Panics
    ///
    /// For other stages, and if coefficients or places are missing.
    pub fn roots(
        &mut self,
        stage: i32,
        time: f64,
        coefficients: &mut [f64],
        roots: &mut [f64],
    ) -> bool {
        let part = stage - self.code.tape.first_stage();
        assert!(part >= 0 && stage <= 0, "stage {stage} has no roots");
        assert!(coefficients.len() >= self.code.n_coefficients);
        assert!(roots.len() >= self.code.tape.n_roots());
        self.call(
            part as usize,
            coefficients.as_mut_ptr(),
            std::ptr::null(),
            roots.as_mut_ptr(),
            std::ptr::null(),
            time,
        );
        all_finite(&roots[..self.code.tape.n_roots()])
    }

    /// Moves series by `time` to another point, as far as a point of the stages goes; false if that is left to others.
    ///
    /// # Panics
    ///
    /// If coefficients or places are missing.
    pub fn shift(&mut self, series: &[f64], time: f64, into: &mut [f64]) -> bool {
        if !self.code.shifts {
            return false;
        }
        let n_stages = self.code.n_stages * self.code.tape.n_variables();
        assert!(series.len() >= self.code.n_coefficients);
        assert!(into.len() >= self.code.n_coefficients - n_stages);
        let last = self.code.memory.n_pieces() - 1;
        // The function only reads the series.
        let series = series.as_ptr().cast_mut();
        let none = std::ptr::null();
        self.call(last, series, none, into.as_mut_ptr(), none, time);
        true
    }

    /// Expands the point of the last stage 0 with solutions by a matrix, the numbers of all blocks one after the other.
    ///
    /// # Panics
    ///
    /// If the code does not solve itself, or numbers are missing.
    pub fn expand(&mut self, coefficients: &mut [f64], matrix: &[f64]) {
        let code = Arc::clone(&self.code);
        assert!(code.is_fused, "the caller has to solve");
        assert!(coefficients.len() >= code.n_coefficients && matrix.len() >= code.n_matrix);
        let first = code.tape.first_stage().unsigned_abs() as usize + 1;
        for part in first..=first + code.n_stages {
            self.call(
                part,
                coefficients.as_mut_ptr(),
                matrix.as_ptr(),
                std::ptr::null_mut(),
                std::ptr::null(),
                0.0,
            );
        }
    }

    /// The same with solutions by the caller: `solve` gets the right-hand side and the place of the solution.
    ///
    /// # Panics
    ///
    /// If the code solves itself, or coefficients or places are missing.
    pub fn expand_with<E>(
        &mut self,
        coefficients: &mut [f64],
        right: &mut [f64],
        solution: &mut [f64],
        mut solve: impl FnMut(&mut [f64], &mut [f64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let code = Arc::clone(&self.code);
        let n = code.tape.n_variables();
        assert!(!code.is_fused, "the code solves itself");
        assert!(coefficients.len() >= code.n_coefficients);
        assert!(right.len() >= code.tape.n_roots() && solution.len() >= n);
        let slopes = code.tape.first_stage().unsigned_abs() as usize + 1;
        let coefficients = coefficients.as_mut_ptr();
        let none = std::ptr::null();
        let nowhere = std::ptr::null_mut();
        self.call(slopes, coefficients, none, nowhere, none, 0.0);
        for stage in 0..code.n_stages {
            let part = slopes + 1 + 2 * stage;
            self.call(part, coefficients, none, right.as_mut_ptr(), none, 0.0);
            solve(right, solution)?;
            let solved = solution.as_ptr();
            self.call(part + 1, coefficients, none, nowhere, solved, 0.0);
        }
        Ok(())
    }
}
