//! What the start counts: section 6 of `docs/theory/sensitivities.md`, (14).

use super::{Work, refused};
use crate::SolveOptions;
use crate::sensitivity::{keeping, moved};
use crate::solve::start_request;
use daelight_analysis::initial::{Row, TaylorJet, nominal};
use daelight_analysis::linearize::Variations;
use daelight_analysis::start::freedom_at;
use daelight_expr::ExprId;
use daelight_lang::{Diagnostic, Symbol};
use daelight_linalg::{Mat, Qr};

/// What a rank counts beside the one before it: three ranks fit above rounding, and what one takes from the rank before is the square.
fn next_rank() -> f64 {
    f64::EPSILON.powf(0.375)
}

impl Work {
    /// Adds - m s(0), with s(0) the change of the start.
    pub(super) fn at_the_start(&mut self, options: &SolveOptions) -> Result<(), Box<Diagnostic>> {
        let from = self.base.from;
        let asked = start_request(&self.system, options, from)
            .map_err(|no_run| refused(super::words(&self.system, no_run)))?;
        let jet = self.base.start.jet.clone();
        let freedom = freedom_at(&self.system, &asked, &jet)
            .ok_or_else(|| refused("what is free at the start is not known"))?;
        let used: Vec<Row> = freedom
            .using
            .iter()
            .map(|&at| asked.conditions[at])
            .collect();
        let structure = self.system.structure();
        let structure = structure.map_err(|_| refused("the structure is singular"))?;
        // The equations may have a corner at the start itself.
        let beside = from + f64::EPSILON.powf(0.75) * (self.base.reached() - from);
        let points = [(from, jet.clone()), (beside, self.jet(beside)?)];
        let mut found = Err(String::new());
        let mut time = from;
        for (at, jet) in &points {
            time = *at;
            let point = (time, jet);
            let free = &freedom.free;
            found = Variations::with_conditions(&self.system, structure, point, &used, free);
            if found.is_ok() {
                break;
            }
        }
        let mut found = found.map_err(refused)?;
        let at = (from, &jet);
        let e: Vec<f64> = self.m.iter().map(|m| -m).collect();
        let mut e_left = e.clone();
        let mut by_given = vec![0.0; e.len()];
        if !freedom.free.is_empty() {
            let kernel = found.kernel().map_err(refused)?;
            let keeping = keeping(&self.system, &asked, jet.values(), options);
            by_given = self.drawn(&keeping, &kernel, &e).map_err(refused)?;
            (e_left.iter_mut().zip(&by_given)).for_each(|(e, by)| *e -= by);
            self.warnings.extend(moved(&self.system, &asked, &keeping));
        }
        let weights = found.weights(&e_left).map_err(refused)?;
        self.count(time, &weights)?;
        let mut initial = vec![0.0; self.model.initial_equations.len()];
        for (row, weight) in used.iter().zip(&weights.conditions) {
            match *row {
                Row::Value { unknown, .. } => by_given[unknown] += weight,
                Row::Initial { equation } => initial[equation] -= weight,
                Row::Equation { .. } => {}
            }
        }
        let is_placed = options.place.point.is_some() || !options.place.values.is_empty();
        self.count_given(&by_given, &initial, is_placed, at);
        self.by_start = by_given;
        Ok(())
    }

    /// What start values count that draw the free ones to them, rank by rank: K^T e of (14).
    fn drawn(&self, keeping: &[bool], kernel: &Mat, e: &[f64]) -> Result<Vec<f64>, String> {
        let (n, n_free) = (e.len(), kernel.ncols());
        let pattern = self.system.equations().pattern(1);
        let mut is_differentiated = vec![false; n];
        for &j in pattern.columns() {
            is_differentiated[j as usize] = true;
        }
        let sizes = nominal(&self.system);
        let weights: Vec<f64> = (0..n)
            .map(|j| {
                let rank = match (keeping[j], is_differentiated[j]) {
                    (true, true) => 0,
                    (true, false) => 1,
                    (false, true) => 2,
                    (false, false) => return 0.0,
                };
                next_rank().powi(rank) / sizes[j]
            })
            .collect();
        // What moves no value that counts stays as it is.
        let least = next_rank().powi(3);
        let matrix = Mat::from_fn(n + n_free, n_free, |i, k| match i.checked_sub(n) {
            None => weights[i] * kernel[(i, k)],
            Some(at) => least * f64::from(u8::from(at == k)),
        });
        let mut qr = Qr::new();
        qr.factor(matrix.view()).map_err(|e| e.to_string())?;
        let along: Vec<f64> = (0..n_free)
            .map(|k| (0..n).map(|j| kernel[(j, k)] * e[j]).sum())
            .collect();
        let mut drawn = vec![0.0; n];
        for j in (0..n).filter(|&j| weights[j] > 0.0) {
            let mut right = vec![0.0; n + n_free];
            right[j] = weights[j];
            let mut x = vec![0.0; n_free];
            qr.least_squares(n_free, &right, &mut x)
                .map_err(|e| e.to_string())?;
            drawn[j] = x.iter().zip(&along).map(|(x, along)| x * along).sum();
        }
        Ok(drawn)
    }

    /// Start values and initial equations move with parameters.
    fn count_given(
        &mut self,
        by_given: &[f64],
        initial: &[f64],
        is_placed: bool,
        at: (f64, &TaylorJet),
    ) {
        let mut terms: Vec<(f64, ExprId)> = Vec::new();
        if !is_placed {
            let starts = self.model.unknowns.iter().zip(by_given);
            terms.extend(starts.filter_map(|(u, weight)| Some((*weight, u.start?))));
        }
        let equations = self.model.initial_equations.iter().zip(initial);
        terms.extend(equations.map(|(equation, weight)| (*weight, equation.residual)));
        terms.retain(|(weight, _)| *weight != 0.0);
        let graph = &mut self.model.graph;
        let products: Vec<ExprId> = (terms.into_iter())
            .map(|(weight, expr)| {
                let factor = graph.constant(weight);
                graph.mul(factor, expr)
            })
            .collect();
        let sum = graph.sum(products);
        let parameters = self.read.clone().into_iter().map(Symbol::Parameter);
        let slopes = self.slopes(sum, parameters, at);
        super::add(&mut self.by_parameter, &slopes, 1.0);
    }
}
