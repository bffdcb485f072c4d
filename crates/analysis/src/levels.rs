//! How far a point is from the constraints of a model, written and hidden, level by level.
//!
//! A point gives values only. Equations with derivatives say what the derivatives are, order by order; with these the
//! derivatives of an equation without derivatives are evaluated: level m is its m-th derivative. Section 10 of
//! `docs/theory/implicit.md`.

use crate::System;
use crate::initial::{ArrayFault, ConstraintArray, Row, Selection, TaylorJet, nominal};
use crate::tolerances::{LARGEST_DENSE, ROUNDING};
use daelight_linalg::{LinalgError, Lu, Mat};

/// Rounds of Newton's method for derivatives that do not occur linearly.
const MAX_ROUNDS: usize = 8;

/// Why a point has no levels.
#[derive(Clone, Debug)]
pub enum NoLevels {
    /// An expression has no value.
    Fault(ArrayFault),
    /// The equations do not give the derivatives.
    Numbers(LinalgError),
}

/// Evaluates the constraints of a model at points that need not satisfy them.
pub struct ConstraintLevels {
    array: ConstraintArray,
    /// Equations with derivatives, and the unknowns that are differentiated in them.
    differential: Vec<usize>,
    differentiated: Vec<usize>,
    /// Equations without derivatives, and how often each may be differentiated.
    algebraic: Vec<(usize, usize)>,
    n_levels: usize,
    /// Whether hidden constraints are left out.
    is_cut: bool,
    nominal: Vec<f64>,
    lu: Lu,
}

impl ConstraintLevels {
    /// `times` says how often each equation is differentiated: offsets of a structure that holds, or zeros.
    pub fn new(system: &System, times: &[usize]) -> Self {
        let equations = system.equations();
        let pattern = equations.pattern(1);
        let (differential, without): (Vec<usize>, Vec<usize>) =
            (0..equations.n_equations()).partition(|&i| !pattern.row(i).is_empty());
        let mut is_differentiated = vec![false; equations.n_unknowns()];
        for &column in pattern.columns() {
            is_differentiated[column as usize] = true;
        }
        let differentiated: Vec<usize> = (0..is_differentiated.len())
            .filter(|&j| is_differentiated[j])
            .collect();
        let gives_all =
            differential.len() == differentiated.len() && differential.len() <= LARGEST_DENSE;
        let hidden = without.iter().any(|&i| times[i] > 0);
        let algebraic: Vec<(usize, usize)> = without
            .into_iter()
            .map(|i| (i, if gives_all { times[i] } else { 0 }))
            .collect();
        let n_levels = algebraic.iter().map(|&(_, m)| m + 1).max().unwrap_or(0);
        Self {
            array: ConstraintArray::new(system, 0.0, n_levels),
            differential,
            differentiated,
            n_levels,
            algebraic,
            is_cut: hidden && !gives_all,
            nominal: nominal(system),
            lu: Lu::new(),
        }
    }

    /// Number of levels; 0 for a model whose equations all have derivatives.
    pub fn n_levels(&self) -> usize {
        self.n_levels
    }

    /// Whether hidden constraints are left out, because the equations do not give all derivatives.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The residual of every constraint at a point, as level and size relative to the terms of its equation.
    ///
    /// Constraints come in the same order at every point.
    pub fn residuals(&mut self, time: f64, x: &[f64]) -> Result<Vec<(usize, f64)>, NoLevels> {
        self.array.set_time(time);
        let mut jet = TaylorJet::at_rest(x, self.n_levels + 1);
        for order in 1..self.n_levels {
            self.find_derivatives(&mut jet, order)?;
        }
        let rows = self.algebraic.iter().flat_map(|&(equation, times)| {
            (0..=times).map(move |order| Row::Equation { equation, order })
        });
        let selection = Selection {
            rows: rows.collect(),
            columns: Selection::whole(0, x.len(), 0).columns,
        };
        self.array
            .evaluate(&jet, &selection)
            .map_err(NoLevels::Fault)?;
        self.array.differentiate(&selection);
        // The size of an equation's terms by its values; that of its derivatives is measured with the same.
        let mut sizes = vec![0.0; selection.rows.len()];
        for &(row, column, value) in &self.array.entries {
            if column < x.len() {
                sizes[row] += value.abs() * x[column].abs().max(self.nominal[column]);
            }
        }
        let mut found = Vec::with_capacity(sizes.len());
        let mut at = 0;
        for &(_, times) in &self.algebraic {
            let size = if sizes[at] > 0.0 { sizes[at] } else { 1.0 };
            let mut factorial = 1.0;
            for level in 0..=times {
                factorial *= level.max(1) as f64;
                found.push((level, factorial * self.array.residuals[at].abs() / size));
                at += 1;
            }
        }
        Ok(found)
    }

    /// Coefficient `order` of the differentiated unknowns, from coefficient `order - 1` of the equations.
    fn find_derivatives(&mut self, jet: &mut TaylorJet, order: usize) -> Result<(), NoLevels> {
        let row = |&equation: &usize| Row::Equation {
            equation,
            order: order - 1,
        };
        let column = |&unknown: &usize| crate::initial::Column { unknown, order };
        let selection = Selection {
            rows: self.differential.iter().map(row).collect(),
            columns: self.differentiated.iter().map(column).collect(),
        };
        let n = self.differentiated.len();
        for _ in 0..MAX_ROUNDS {
            self.array
                .evaluate(jet, &selection)
                .map_err(NoLevels::Fault)?;
            self.array.differentiate(&selection);
            let mut matrix = Mat::zeros(n, n);
            for &(i, j, value) in &self.array.entries {
                matrix[(i, j)] += value;
            }
            let mut change = self.array.residuals.clone();
            self.lu.factor(matrix.view()).map_err(NoLevels::Numbers)?;
            self.lu.solve(&mut change).map_err(NoLevels::Numbers)?;
            let (mut step, mut size) = (0.0_f64, 0.0_f64);
            for (&unknown, change) in self.differentiated.iter().zip(&change) {
                let value = jet.get(unknown, order) - change;
                jet.set(unknown, order, value);
                step = step.max(change.abs());
                size = size.max(value.abs());
            }
            if step <= ROUNDING * size || order > 1 {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daelight_lang::{Options, load};

    fn system(text: &str) -> System {
        let model = load("test.mo", text.as_bytes(), &Options::default()).model;
        System::new(&model.expect("a right text")).expect("a system")
    }

    #[test]
    fn each_level_of_a_pendulum_is_what_its_formula_says() {
        let system = system(
            "model Pendulum  Real x, y, u, v, f;  equation  der(x) = u;  der(y) = v;
             der(u) = -f*x;  der(v) = -f*y - 9.81;  x^2 + y^2 = 1;  end Pendulum;",
        );
        let mut levels = ConstraintLevels::new(&system, &[0, 0, 0, 0, 2]);
        assert!(!levels.is_cut());
        let [x, y, u, v, f] = [0.6, -0.7, 0.3, 0.4, 2.0];
        let found = levels.residuals(0.0, &[x, y, u, v, f]).expect("values");
        let size = 2.0 * x * 1.0 + 2.0 * 0.7 * 1.0;
        let hidden = [
            x * x + y * y - 1.0,
            2.0 * (x * u + y * v),
            2.0 * (u * u + v * v - f * (x * x + y * y) - 9.81 * y),
        ];
        for (level, exact) in hidden.into_iter().enumerate() {
            assert_eq!(found[level].0, level);
            assert!((found[level].1 - exact.abs() / size).abs() < 1e-14);
        }
    }

    #[test]
    fn what_is_not_given_by_the_equations_is_left_out() {
        let system =
            system("model Mixed Real x, y; equation der(x) + der(y) = 0; x = y; end Mixed;");
        let mut levels = ConstraintLevels::new(&system, &[0, 1]);
        assert!(levels.is_cut());
        let found = levels.residuals(0.0, &[3.0, 1.0]).expect("values");
        assert_eq!(found, [(0, 0.5)]);
    }
}
