//! The stages of several runs: predicting points, projecting them onto all constraints, expanding them into series.
//!
//! Sections 1 and 2 of `docs/theory/integration.md`, as `stages` does it for one run. What a run does never depends on its neighbours:
//! rounds are taken under masks.

use super::linear::Factors;
use super::pack::{Pack, not, scale};
use super::program::{Program, Room};
use crate::options::Options;
use crate::problem::Problem;
use crate::stages::project::{FAR_OFF, MAX_ROUNDS, contraction, is_rounding};
use crate::stages::{ROUNDING, RowPattern, SETTLED, Scaling, Stages};
use pulp::Simd;

/// What a projection found, run by run.
#[derive(Clone, Copy)]
pub(super) struct Found<const W: usize> {
    pub state_change: Pack<W>,
    pub algebraic_change: Pack<W>,
    /// What [`Projected::contraction`](crate::stages::Projected::contraction) is.
    pub contraction: Pack<W>,
    pub residual: Pack<W>,
    pub failed: [bool; W],
}

/// The equations of one stage k <= 0, with the sizes that rows last had.
struct Level<const W: usize> {
    scaling: Scaling,
    sizes: Vec<Pack<W>>,
}

/// Everything needed to solve the stages of several runs.
pub(super) struct Solver<const W: usize> {
    pub n: usize,
    pub n_stages: usize,
    pub n_rows: usize,
    pub max_d: usize,
    pub offsets: Vec<usize>,
    residuals: Program,
    room: Room<W>,
    jacobian: Program,
    jacobian_room: Room<W>,
    pub factors: Factors<W>,
    rows: Vec<RowPattern>,
    tops: Vec<usize>,
    levels: Vec<Level<W>>,
    rising_rows: Vec<f64>,
    rising_columns: Vec<f64>,
    right: Vec<Pack<W>>,
    solution: Vec<Pack<W>>,
}

impl<const W: usize> Solver<W> {
    /// `None` for equations that runs side by side do not do.
    pub fn new(problem: &Problem, n_stages: usize, options: &Options) -> Option<Self> {
        let tables = Stages::new(problem, n_stages, &options.tolerances).ok()?;
        let order = n_stages + problem.max_equation_offset();
        let residuals = Program::new(problem.residual_tape(), order)?;
        let jacobian = Program::new(problem.jacobian_tape(), 0)?;
        let n = problem.n();
        let n_rows = tables.n_rows();
        let Stages {
            rows,
            tops,
            scalings,
            rising_rows,
            rising_columns,
            ..
        } = tables;
        let level = |scaling: Scaling| Level {
            sizes: vec![Pack::ZERO; scaling.rows.len()],
            scaling,
        };
        Some(Self {
            n,
            n_stages,
            n_rows,
            max_d: problem.max_unknown_offset(),
            offsets: problem.structure().offsets().variable.clone(),
            room: residuals.room(),
            residuals,
            jacobian_room: jacobian.room(),
            jacobian,
            factors: Factors::new(problem)?,
            rows,
            tops,
            levels: scalings.into_iter().map(level).collect(),
            rising_rows,
            rising_columns,
            right: vec![Pack::ZERO; n],
            solution: vec![Pack::ZERO; n],
        })
    }

    /// Gives one run the values of its parameters.
    pub fn set_parameters(&mut self, lane: usize, parameters: &[f64]) {
        self.residuals
            .set_parameters(&mut self.room, lane, parameters);
        self.jacobian
            .set_parameters(&mut self.jacobian_room, lane, parameters);
        for size in self.levels.iter_mut().flat_map(|level| &mut level.sizes) {
            size[lane] = 0.0;
        }
    }

    /// Moves series by the distances s: the first `n_out` coefficients there, (5).
    #[inline(always)]
    pub fn shift(&self, series: &[Pack<W>], s: &Pack<W>, n_out: usize, into: &mut [Pack<W>]) {
        let n = self.n;
        for j in 0..n {
            let top = self.n_stages + self.offsets[j];
            if n_out == 1 {
                let mut sum = Pack::ZERO;
                for order in (0..=top).rev() {
                    let x = &series[order * n + j];
                    for lane in 0..W {
                        sum.0[lane] = sum.0[lane] * s.0[lane] + x.0[lane];
                    }
                }
                into[j] = sum;
                continue;
            }
            for order in 0..n_out {
                into[order * n + j] = Pack::ZERO;
            }
            for order in (0..=top).rev() {
                for r in (1..n_out).rev() {
                    let below = into[(r - 1) * n + j];
                    let place = &mut into[r * n + j];
                    *place = *place * *s + below;
                }
                into[j] = into[j] * *s + series[order * n + j];
            }
        }
    }

    /// Evaluates the entries of the system Jacobian at a point into a list of its own.
    #[inline(always)]
    pub fn entries_at(&mut self, time: &Pack<W>, point: &[Pack<W>], into: &mut [Pack<W>]) {
        self.jacobian.evaluate(&mut self.jacobian_room, time, point);
        for (entry, into) in into.iter_mut().enumerate() {
            *into = *self.jacobian.root(&self.jacobian_room, entry);
        }
    }

    /// Evaluates and factors the system Jacobian at the points of the runs that are `wanted`.
    #[inline(always)]
    pub fn factor<S: Simd>(
        &mut self,
        simd: S,
        time: &Pack<W>,
        point: &[Pack<W>],
        wanted: &[bool; W],
    ) {
        let all = wanted.iter().all(|wanted| *wanted);
        self.jacobian.evaluate(&mut self.jacobian_room, time, point);
        for (entry, into) in self.factors.entries.iter_mut().enumerate() {
            let new = *self.jacobian.root(&self.jacobian_room, entry);
            *into = if all { new } else { into.or(wanted, new) };
        }
        self.factors.factor(simd, wanted, all);
    }

    /// Projects points onto all constraints, (4), with the factors as they are.
    #[inline(always)]
    pub fn project(&mut self, time: &Pack<W>, point: &mut [Pack<W>]) -> Found<W> {
        let mut found = Found {
            state_change: Pack::ZERO,
            algebraic_change: Pack::ZERO,
            contraction: Pack::ZERO,
            residual: Pack::ZERO,
            failed: [false; W],
        };
        for stage in 0..self.levels.len() {
            self.project_stage(stage, time, point, &mut found);
        }
        found
    }

    #[inline(always)]
    fn project_stage(
        &mut self,
        stage: usize,
        time: &Pack<W>,
        point: &mut [Pack<W>],
        found: &mut Found<W>,
    ) {
        let number = self.levels[stage].scaling.stage;
        let mut change: Pack<W> = Pack::all(f64::INFINITY);
        let mut before: Pack<W> = Pack::all(f64::INFINITY);
        let mut active = not(&found.failed);
        for round in 0..=MAX_ROUNDS {
            self.residuals
                .extend(&mut self.room, number, time, point, &mut self.right);
            for row in &self.levels[stage].scaling.rows {
                self.right[row.equation] = self.right[row.equation] * -row.factor;
            }
            let infinite = Pack::all(f64::INFINITY);
            let residual = if round > 0 {
                self.scaled_residual(stage, point)
            } else {
                let off = self.off(stage, &active);
                match off.iter().all(|off| *off) {
                    true => infinite,
                    false => self.scaled_residual(stage, point).or(&off, infinite),
                }
            };
            for lane in 0..W {
                let r = residual[lane];
                let settled = r <= ROUNDING || change[lane] <= SETTLED;
                let stuck = round > 1 && r >= before[lane] && is_rounding(r);
                let ends = active[lane] && (settled || stuck);
                if ends && r > found.residual[lane] {
                    found.residual[lane] = r;
                }
                active[lane] &= !ends;
                let fails = round == MAX_ROUNDS || (round > 2 && r > 2.0 * before[lane]);
                found.failed[lane] |= active[lane] && fails;
                active[lane] &= !fails;
                before[lane] = r;
            }
            if !active.iter().any(|active| *active) {
                return;
            }
            self.factors.solve(&self.right, &mut self.solution);
            let (moved, of_values) = self.update(stage, point, &active);
            if round == 1 {
                for lane in (0..W).filter(|&lane| active[lane]) {
                    let part = contraction(change[lane], moved[lane]);
                    found.contraction[lane] = found.contraction[lane].max(part);
                }
            }
            change = change.or(&active, moved);
            if round == 0 {
                let none = not(&active);
                if number < 0 {
                    found.state_change = found.state_change.max(moved.or(&none, Pack::ZERO));
                } else {
                    found.algebraic_change = of_values.or(&none, Pack::ZERO);
                }
            }
            for lane in 0..W {
                let lost = active[lane] && !moved[lane].is_finite();
                found.failed[lane] |= lost;
                active[lane] &= !lost;
            }
        }
    }

    /// Which residuals are far above rounding, by the sizes of the points before: they need not be scaled.
    #[inline(always)]
    fn off(&self, stage: usize, active: &[bool; W]) -> [bool; W] {
        let level = &self.levels[stage];
        let mut off = not(active);
        for (row, size) in level.scaling.rows.iter().zip(&level.sizes) {
            let right = self.right[row.equation].abs();
            for lane in 0..W {
                let size = size[lane];
                off[lane] |= right[lane] > FAR_OFF * ROUNDING * size
                    && size > 0.0
                    && right[lane] < f64::INFINITY;
            }
        }
        off
    }

    /// The scaled residuals (10) of the right-hand side.
    #[inline(always)]
    fn scaled_residual(&mut self, stage: usize, point: &[Pack<W>]) -> Pack<W> {
        let level = &mut self.levels[stage];
        for column in &level.scaling.columns {
            let size = point[column.place].abs() * column.factor;
            self.solution[column.unknown] = Pack::all(column.nominal) + size;
        }
        let mut worst = Pack::ZERO;
        for (row, kept) in level.scaling.rows.iter().zip(&mut level.sizes) {
            let pattern = &self.rows[row.equation];
            let mut size = Pack::ZERO;
            for (&j, entry) in pattern.unknowns.iter().zip(pattern.first..) {
                size += self.factors.entries[entry].abs() * self.solution[j as usize];
            }
            let right = self.right[row.equation].abs();
            for lane in 0..W {
                // Where a row holds exactly its size is not asked; one without any size cannot be judged.
                if right[lane] != 0.0 {
                    kept[lane] = size[lane];
                    let scaled = right[lane] / size[lane];
                    if scaled.is_nan() {
                        worst[lane] = f64::INFINITY;
                    } else if scaled > worst[lane] {
                        worst[lane] = scaled;
                    }
                }
            }
        }
        worst
    }

    /// Adds the solution of a stage to the points of active runs; the greatest relative change, and that of values alone.
    #[inline(always)]
    fn update(
        &mut self,
        stage: usize,
        point: &mut [Pack<W>],
        active: &[bool; W],
    ) -> (Pack<W>, Pack<W>) {
        let (mut change, mut of_values) = (Pack::ZERO, Pack::ZERO);
        for column in &self.levels[stage].scaling.columns {
            let delta = self.solution[column.unknown];
            let place = &mut point[column.place];
            let part = match column.factor {
                1.0 => delta,
                factor => delta / Pack::all(factor),
            };
            *place = place.or(active, *place + part);
            let size = place.abs() * column.factor + Pack::all(column.nominal);
            let relative = delta.abs() / size;
            for lane in 0..W {
                // A change that is not a number is kept.
                let x = relative[lane];
                change[lane] = if x <= change[lane] { change[lane] } else { x };
            }
            if column.order == 0 {
                of_values = of_values.max(relative);
            }
        }
        (change, of_values)
    }

    /// Computes all coefficients above the points, (3) for k >= 1, into the rows behind them.
    #[inline(always)]
    pub fn expand<S: Simd>(&mut self, simd: S, time: &Pack<W>, series: &mut [Pack<W>]) {
        let n = self.n;
        self.residuals.find_slopes(&mut self.room);
        for k in 1..=self.n_stages {
            for &top in &self.tops {
                series[k * n + top] = Pack::ZERO;
            }
            self.residuals
                .extend(&mut self.room, k as i32, time, series, &mut self.right);
            scale(simd, &mut self.right, &self.rising_rows[(k - 1) * n..]);
            self.factors.solve(&self.right, &mut self.solution);
            scale(
                simd,
                &mut self.solution,
                &self.rising_columns[(k - 1) * n..],
            );
            for (&top, x) in self.tops.iter().zip(&self.solution) {
                series[k * n + top] = *x;
            }
            if k < self.n_stages {
                self.residuals.remember(&mut self.room, k, series);
            }
        }
    }
}
