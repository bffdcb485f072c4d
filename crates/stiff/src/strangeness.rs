//! Backward differentiation of constant step on the strangeness-free form, as values.
//!
//! [Z1'F; Z2'F_mu] = 0 needs no text: with the derivative array F_mu(t, x, y), y = (x', x'', ...), the unknowns of a step
//! are x and y, and one step of Newton's method is (29) of `docs/theory/implicit.md`.

use crate::bdf_fixed::{
    FixedOptions, FixedRun, MAX_ITERATIONS, Stepper, Work, is_rounding, march, predict,
    start_points, unsolved,
};
use crate::problem::{InputError, expect_length};
use crate::run::{Control, Samples, StopReason};
use daelight_analysis::index_reduction::{ArrayParts, NoValues, Selectors, StrangenessFree};
use daelight_analysis::initial::{ArrayFault, TaylorJet};
use daelight_linalg::{Lu, Mat};

/// The derivatives y need not be known better than this, in their units: x moves by its square only.
const HIGHER: f64 = 1e-6;

/// Runs with constant order and step on the strangeness-free form of a square model.
///
/// `history` holds x at t, t + h, ..., oldest first, and `jet` the derivatives at the last of these times, as far as known.
pub fn bdf_strangeness(
    form: &mut StrangenessFree<'_>,
    jet: &TaylorJet,
    t: f64,
    history: &[&[f64]],
    options: &FixedOptions,
    observer: &mut dyn FnMut(f64, &[f64]) -> Control,
) -> Result<FixedRun, InputError> {
    let n = jet.n_unknowns();
    let points = start_points(n, t, history, options)?;
    let quantities = form.quantities();
    let n_rows = quantities.n_differential + quantities.n_algebraic;
    expect_length("equations of the form", n, n_rows)?;
    let mut jet = jet.clone();
    jet.resize(quantities.index + 2);
    let mut method = Strangeness {
        form,
        options,
        jet,
        past: vec![0.0; n],
        lu: Lu::new(),
        work: Work::default(),
    };
    Ok(march(&mut method, t, points, options, observer))
}

struct Strangeness<'p, 'a> {
    form: &'p mut StrangenessFree<'a>,
    options: &'p FixedOptions,
    /// x and y of the last point, and those of the step while it is solved.
    jet: TaylorJet,
    past: Vec<f64>,
    lu: Lu,
    work: Work,
}

impl Stepper for Strangeness<'_, '_> {
    fn x(&self) -> &[f64] {
        self.jet.values()
    }

    fn rates(&self) -> &[f64] {
        self.jet.row(1).unwrap_or_default()
    }

    fn work(&self) -> Work {
        self.work
    }

    fn step(
        &mut self,
        points: &Samples,
        number: usize,
        t_old: f64,
        t_new: f64,
    ) -> Result<(), StopReason> {
        let h = self.options.step;
        let stop = |why| stopped(why, t_old, h);
        let gone = |why| unsolved(&why, t_old, h);
        // Units and selectors are those of the last point; Z1 is held during the step.
        self.form.rescale(t_old, &self.jet).map_err(stop)?;
        let selectors = self.form.selectors(t_old, &self.jet, None).map_err(stop)?;
        let n = self.past.len();
        let mut x = vec![0.0; n];
        let leading = predict(points, self.options, &mut self.past, &mut x);
        let mut rates = TaylorJet::at_rest(&x, 2);
        for (j, &value) in x.iter().enumerate() {
            self.jet.set(j, 0, value);
        }
        let mut before = f64::INFINITY;
        for iteration in 1..=MAX_ITERATIONS {
            self.work.statistics.iterations += 1;
            self.work.statistics.residuals += 1;
            self.work.statistics.jacobians += 1;
            self.work.statistics.factorizations += 1;
            for j in 0..n {
                rates.set(j, 0, self.jet.get(j, 0));
                rates.set(j, 1, leading * self.jet.get(j, 0) + self.past[j]);
            }
            let looks = self.options.condition_every;
            let looks = iteration == 1 && looks > 0 && number.is_multiple_of(looks);
            let (mut dx, parts) = self
                .linearise(t_new, &rates, &selectors, leading, looks)
                .map_err(stop)?;
            self.lu.solve(&mut dx).map_err(gone)?;
            let (dy, higher) = parts.higher(&dx).map_err(stop)?;
            let mut size = 0.0_f64;
            for (j, change) in dx.iter().enumerate() {
                let value = self.jet.get(j, 0) - change;
                self.jet.set(j, 0, value);
                size = size.max(change.abs() / value.abs().max(1.0));
            }
            for (at, change) in dy.iter().enumerate() {
                let (order, j) = (at / n + 1, at % n);
                self.jet.set(j, order, self.jet.get(j, order) - change);
            }
            if !(size.is_finite() && higher.is_finite()) {
                break;
            }
            let is_small = size <= self.options.newton_tolerance && higher <= HIGHER;
            if iteration > 1 && (is_small || is_rounding(size, before)) {
                if size > self.options.newton_tolerance {
                    self.work.n_stagnant += 1;
                }
                self.work.statistics.steps += 1;
                return Ok(());
            }
            before = size;
        }
        self.work.statistics.newton_failures += 1;
        Err(StopReason::NewtonFailed { t: t_old, h })
    }
}

impl Strangeness<'_, '_> {
    /// Factors the matrix of (29) at the present x and y; gives its right-hand side and the derivative array.
    fn linearise(
        &mut self,
        t: f64,
        rates: &TaylorJet,
        selectors: &Selectors,
        leading: f64,
        looks_at_condition: bool,
    ) -> Result<(Vec<f64>, ArrayParts), NoValues> {
        let dynamics = self.form.dynamics(t, rates, selectors)?;
        let parts = self.form.parts(t, &self.jet)?;
        let (constraints, by_values) = parts.constraints()?;
        let (d, n) = (dynamics.residuals.len(), self.past.len());
        let scale = self.options.step.abs().powf(-self.options.scale);
        let matrix = |scale: f64| {
            Mat::from_fn(n, n, |i, j| match i.checked_sub(d) {
                None => leading * dynamics.leading[(i, j)] + dynamics.trailing[(i, j)],
                Some(i) => scale * by_values[(i, j)],
            })
        };
        let mut factor = |scale: f64| {
            self.lu.factor(matrix(scale).view())?;
            Ok(match looks_at_condition {
                true => self.lu.condition_1norm()?,
                false => 0.0,
            })
        };
        if looks_at_condition {
            let plain = factor(1.0).map_err(NoValues::Numbers)?;
            let worst = self.work.conditioning.get_or_insert_default();
            worst.plain = worst.plain.max(plain);
        }
        let scaled = factor(scale).map_err(NoValues::Numbers)?;
        if let Some(worst) = self
            .work
            .conditioning
            .as_mut()
            .filter(|_| looks_at_condition)
        {
            worst.scaled = worst.scaled.max(scaled);
        }
        let mut all = dynamics.residuals;
        all.extend(constraints.iter().map(|residual| scale * residual));
        Ok((all, parts))
    }
}

/// Why a step was not solved when the form has no values.
fn stopped(why: NoValues, t: f64, h: f64) -> StopReason {
    match why {
        NoValues::Fault(ArrayFault::Equation(fault) | ArrayFault::Initial(fault)) => {
            StopReason::Fault { t, fault }
        }
        NoValues::Numbers(error) => unsolved(&error, t, h),
        NoValues::Ranks { .. } => StopReason::ProjectionFailed {
            t,
            reason: why.to_string(),
        },
    }
}
