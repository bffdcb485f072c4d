//! Points next to jets that nearly satisfy the rows: those between the steps of a run, section 6 of `docs/theory/initial.md`.

use super::array::{ConstraintArray, Selection, Units};
use super::finder::LARGE;
use super::jet::TaylorJet;
use super::order::{SolveOrder, by_wish, pattern};
use super::{StageOffsets, nominal};
use crate::System;

/// Finds many points next to each other of a large system with a structure that holds, its parameters being as they are.
pub struct NearPoints {
    array: ConstraintArray,
    base: Selection,
    nominal: Vec<f64>,
    /// The units in which the rows were last factored.
    units: Option<Units>,
}

impl NearPoints {
    /// `None` for small systems, and where the rows have no order.
    pub fn new(system: &System, offsets: StageOffsets<'_>) -> Option<Self> {
        let equations = system.equations();
        let n = equations.n_unknowns();
        if n <= LARGE {
            return None;
        }
        let base = Selection::by_offsets(offsets.equation, offsets.variable, 0);
        let rows = pattern(equations, system.initial_equations(), &base);
        let mut is_differentiated = vec![false; n];
        for &column in equations.pattern(1).columns() {
            is_differentiated[column as usize] = true;
        }
        let unblamed = vec![0; base.columns.len()];
        let wish = by_wish(&base.columns, &vec![true; n], &is_differentiated, &unblamed);
        let order = SolveOrder::new(&rows, None, &wish)?;
        let kept = (0..base.columns.len()).filter(|&at| order.is_kept[at]);
        let deepest = offsets.equation.iter().copied().max().unwrap_or(0);
        let mut array = ConstraintArray::new(system, 0.0, deepest);
        array.steps.choose(Some(kept.collect()));
        Some(Self {
            array,
            base,
            nominal: nominal(system),
            units: None,
        })
    }

    /// The point next to a jet at a time: coefficients in (2) are those of the point, others those of the jet.
    ///
    /// By Newton's method with the columns that the order keeps as coordinates, (10a), and with the factors of the point before as long as
    /// these serve; `None` where that leads nowhere.
    pub fn next_to(&mut self, time: f64, jet: &TaylorJet) -> Option<TaylorJet> {
        self.array.set_time(time);
        if self.units.is_some()
            && let Some(found) = self.corrected(jet)
        {
            return Some(found);
        }
        self.factor(jet)?;
        self.corrected(jet)
    }

    fn factor(&mut self, jet: &TaylorJet) -> Option<()> {
        self.units = None;
        let Self { array, base, .. } = self;
        array.evaluate(jet, base).ok()?;
        array.differentiate(base);
        let mut units = Units::of_scaling(&array.sparse_scaling(&self.nominal), base);
        units.level_rows(array, base);
        let mut steps = std::mem::take(&mut array.steps);
        let is_factored = steps.border(array, &units);
        array.steps = steps;
        self.units = is_factored.then_some(units);
        self.units.as_ref().map(|_| ())
    }

    /// Corrections as long as each moves values and rates by less than half of the last: the end is rounding, or there is no point.
    fn corrected(&mut self, jet: &TaylorJet) -> Option<TaylorJet> {
        let Self {
            array, base, units, ..
        } = self;
        let units = units.as_ref()?;
        let mut found = jet.clone();
        let highest = base.columns.iter().map(|column| column.order).max()?;
        found.resize(found.n_orders().max(highest + 1));
        let mut last = f64::INFINITY;
        loop {
            array.evaluate(&found, base).ok()?;
            let rows = array.residuals.iter().zip(&units.rows);
            let change: Vec<f64> = rows.map(|(f, unit)| -f * unit).collect();
            let step = array.steps.correction(change)?;
            if step.iter().any(|part| !part.is_finite()) {
                return None;
            }
            let mut size = 0.0_f64;
            for ((column, step), unit) in base.columns.iter().zip(&step).zip(&units.columns) {
                let value = found.get(column.unknown, column.order);
                if column.order <= 1 {
                    size = size.max((step * unit).abs() / (value.abs() + unit));
                }
            }
            if size >= 0.5 * last {
                break;
            }
            last = size;
            for ((column, step), unit) in base.columns.iter().zip(step).zip(&units.columns) {
                let value = found.get(column.unknown, column.order);
                found.set(column.unknown, column.order, value + step * unit);
            }
        }
        (last <= f64::EPSILON.sqrt()).then_some(found)
    }
}
