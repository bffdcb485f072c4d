//! Consistent initial values: the point closest to the guess that satisfies all constraints, hidden ones included.
//!
//! The unknowns are the coefficients of a jet, the equations are rows of the derivative array (`docs/theory/initial.md`).
//! Where the structure is right they are solved stage by stage first, which is nearly linear; then the whole is moved
//! along the constraints to the point closest to the guess.

mod array;
mod closest;
mod jet;
mod newton;
mod sparse;

pub use array::{ArrayFault, Column, ConstraintArray, Row, Selection, Units};
pub use closest::{Closeness, Target, Weights};
pub use jet::TaylorJet;
pub use newton::{Landing, Limits};

use crate::System;
use crate::scaling::Scaling;
use crate::structure::Structure;
use daelight_expr::Walker;
use daelight_lang::Symbol;
use daelight_linalg::{Mat, Svd};
use std::time::{Duration, Instant};

/// Most rows of a dense array; above, only sparse structure helps.
pub const MAX_DENSE_ROWS: usize = 1200;

/// Systems with more unknowns are scaled and searched with sparse matrices where their structure is right.
const LARGE: usize = 100;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The time of the point.
    pub time: f64,
    /// Guesses for all unknowns.
    pub guess: Vec<f64>,
    /// What must hold beside the equations: fixed values and initial equations.
    pub conditions: Vec<Row>,
    /// F_0 to F_order are to vanish.
    pub order: usize,
    /// How long to search.
    pub budget: Duration,
}

impl Request {
    /// The start of a model: its start values, fixed ones held, and its initial equations.
    pub fn of_model(system: &System, time: f64, order: usize) -> Self {
        let guess = system.unknowns().iter().map(|u| u.start.unwrap_or(0.0));
        let mut request = Self {
            time,
            guess: guess.collect(),
            conditions: Vec::new(),
            order,
            budget: Duration::from_secs(10),
        };
        request.conditions_of_model(system);
        request
    }

    /// Takes the conditions of the model: fixed unknowns keep their guess, and the initial equations hold.
    pub fn conditions_of_model(&mut self, system: &System) {
        let unknowns = system.unknowns().iter().enumerate();
        let fixed = unknowns.filter(|(_, u)| u.fixed);
        let values = fixed.map(|(unknown, _)| Row::Value {
            unknown,
            value: self.guess[unknown],
        });
        let initial = (0..system.written_initial().len()).map(|equation| Row::Initial { equation });
        self.conditions = values.chain(initial).collect();
    }
}

/// A point that satisfies the model's equations and what follows from them by differentiation.
#[derive(Clone, Debug)]
pub struct ConsistentPoint {
    /// The time.
    pub time: f64,
    /// Taylor coefficients; F_0 to F_order vanish on them.
    pub jet: TaylorJet,
    /// The highest order of the equations that holds.
    pub order: usize,
    /// Largest residual of the orders 0 to `order`, relative to its terms.
    pub residual: f64,
    /// Largest relative residual of each order.
    pub residuals: Vec<f64>,
    /// Whether it is the closest one to the guess.
    pub closeness: Closeness,
    /// Weighted distance from the guess in the differentiated components.
    pub distance: f64,
    /// Which of the deterministic starts led here; 0 is the guess itself.
    pub attempt: usize,
    /// Whether the system Jacobian of the structure is singular here, so that the whole array was needed.
    pub structure_fails: bool,
}

/// Why there is no consistent point.
#[derive(Clone, Debug)]
pub enum NoPoint {
    /// An expression has no value at the guess and beside it.
    Fault(ArrayFault),
    /// The search ended where no step leads closer to the constraints.
    Stalled {
        /// The last jet that satisfied the lower orders, or the one where the search ended.
        jet: TaylorJet,
        /// The largest relative residual where the search ended.
        residual: f64,
        /// Its row.
        row: Row,
    },
    /// The budget is used up.
    Budget {
        /// The largest relative residual reached.
        residual: f64,
    },
    /// The system is too large for the dense array, and its structure does not help.
    TooLarge {
        /// Number of rows that would be needed.
        rows: usize,
    },
}

/// Offsets of a structure whose system Jacobian is nonsingular at the point, or generically.
#[derive(Clone, Copy, Debug)]
pub struct StageOffsets<'a> {
    /// c_i of the equations.
    pub equation: &'a [usize],
    /// d_j of the unknowns.
    pub variable: &'a [usize],
}

impl<'a> StageOffsets<'a> {
    /// The offsets of a structure.
    pub fn of(structure: &'a Structure) -> Self {
        Self {
            equation: &structure.offsets().equation,
            variable: &structure.offsets().variable,
        }
    }
}

/// Relative sizes by which the guess is moved in later attempts, in units of `nominal`.
const DISTURBANCES: [f64; 8] = [0.0, 1e-3, 0.03, 0.2, 0.6, 1.2, 2.0, 3.0];
/// Sizes of the rates from which a search starts that does not start at rest, in units of `nominal` and of the time of
/// the scaling.
const RATES: [f64; 4] = [1.0, 0.3, 3.0, 10.0];

/// Rows with a smaller relative residual still hold after steps along them.
const KEPT: f64 = 1e-12;

/// Finds the consistent point closest to the guess.
///
/// `offsets` are those of the structure, if it is right for the system; without them the whole derivative array is
/// solved, order by order.
pub fn consistent_point(
    system: &System,
    offsets: Option<StageOffsets<'_>>,
    request: &Request,
) -> Result<ConsistentPoint, NoPoint> {
    Finder::new(system, offsets, request.time, request.order).closest(request)
}

/// Sizes of the unknowns: `nominal` where the model gives one, otherwise 1.
pub fn nominal(system: &System) -> Vec<f64> {
    let usable = |v: &f64| *v > 0.0 && v.is_finite();
    let unknowns = system.unknowns().iter();
    unknowns
        .map(|u| u.nominal.map(f64::abs).filter(usable).unwrap_or(1.0))
        .collect()
}

/// Finds consistent points of a system at one time, for any guesses and conditions.
pub struct Finder<'a> {
    offsets: Option<StageOffsets<'a>>,
    array: ConstraintArray,
    nominal: Vec<f64>,
    n_equations: usize,
    /// Unknowns that occur differentiated.
    is_differentiated: Vec<bool>,
    /// Whether equations are nonlinear in rates, so that it matters from which ones a search starts.
    rates_matter: bool,
    is_large: bool,
    /// Whether the structure did not determine the point that was found last.
    structure_fails: bool,
}

impl<'a> Finder<'a> {
    /// Room for requests at a time, up to an order.
    pub fn new(
        system: &System,
        offsets: Option<StageOffsets<'a>>,
        time: f64,
        max_order: usize,
    ) -> Self {
        let reach = offsets.map_or(0, |o| o.equation.iter().copied().max().unwrap_or(0));
        let mut array = ConstraintArray::new(system, time, max_order + reach);
        let n = system.equations().n_unknowns();
        let is_large = offsets.is_some() && n > LARGE;
        if is_large {
            array.allow_sparse();
        }
        let mut is_differentiated = vec![false; n];
        for &column in system.equations().pattern(1).columns() {
            is_differentiated[column as usize] = true;
        }
        Self {
            offsets,
            array,
            nominal: nominal(system),
            n_equations: system.equations().n_equations(),
            is_differentiated,
            rates_matter: rates_matter(system),
            is_large,
            structure_fails: false,
        }
    }

    /// Whether equations are nonlinear in rates: then points can differ in their rates alone.
    pub fn rates_matter(&self) -> bool {
        self.rates_matter
    }

    /// Moves to another time; requests must be at that time.
    pub fn set_time(&mut self, time: f64) {
        self.array.set_time(time);
    }

    /// Whether the offsets of a structure are known, so that the rows of the base are independent at regular points.
    pub fn has_structure(&self) -> bool {
        self.offsets.is_some()
    }

    /// Whether the system Jacobian is singular at the point that was found last: what the offsets count does not hold there.
    pub fn structure_fails(&self) -> bool {
        self.structure_fails
    }

    /// Whether sparse matrices are used.
    pub fn is_large(&self) -> bool {
        self.is_large
    }

    /// Finds the consistent point closest to the guess. The request is at the time of the finder, and of no higher order.
    pub fn closest(&mut self, request: &Request) -> Result<ConsistentPoint, NoPoint> {
        let deadline = Instant::now() + request.budget;
        if !self.is_large
            && let Some(point) = self.as_given(request, deadline)
        {
            return Ok(point);
        }
        let mut first = None;
        for (attempt, &size) in DISTURBANCES.iter().enumerate() {
            let mut found = self.from_beside(request, attempt, size, deadline);
            if attempt == 0 && found.is_err() && self.rates_matter {
                found = self.with_rates(request, deadline).map_or(found, Ok);
            }
            match found {
                Ok(point) => return Ok(point),
                // The first failure is the one to report: it belongs to the guess as given.
                Err(no_point) => {
                    first.get_or_insert(no_point);
                }
            }
            if Instant::now() > deadline || matches!(first, Some(NoPoint::TooLarge { .. })) {
                break;
            }
        }
        if Instant::now() > deadline {
            let residual = match first {
                Some(NoPoint::Stalled { residual, .. } | NoPoint::Budget { residual }) => residual,
                _ => f64::INFINITY,
            };
            return Err(NoPoint::Budget { residual });
        }
        let mut search = Search::new(self, request, deadline);
        search.by_continuation = true;
        let attempt = DISTURBANCES.len();
        match search.run() {
            Ok(point) => Ok(ConsistentPoint { attempt, ..point }),
            Err(no_point) => Err(first.unwrap_or(no_point)),
        }
    }

    /// The point with the values of the guess, if these are consistent: then nothing is closer, and nothing is moved.
    fn as_given(&mut self, request: &Request, deadline: Instant) -> Option<ConsistentPoint> {
        let mut search = Search::new(self, request, deadline);
        search.holds_values = true;
        search.run_as_given().ok()
    }

    /// Searches from the values of the guess with rates that are not at rest.
    fn with_rates(&mut self, request: &Request, deadline: Instant) -> Option<ConsistentPoint> {
        for (attempt, &size) in RATES.iter().enumerate() {
            let mut search = Search::new(self, request, deadline);
            search.disturb(attempt, 0.0, size);
            if let Ok(point) = search.run() {
                return Some(point);
            }
        }
        None
    }

    /// One search from the guess moved by a size, in units of nominal; the point found is closest to the guess itself.
    ///
    /// Each number of attempt gives another direction.
    pub fn from_beside(
        &mut self,
        request: &Request,
        attempt: usize,
        size: f64,
        deadline: Instant,
    ) -> Result<ConsistentPoint, NoPoint> {
        let mut search = Search::new(self, request, deadline);
        let rates = if size > 0.0 {
            RATES[attempt % RATES.len()]
        } else {
            0.0
        };
        search.disturb(attempt, size, rates);
        let point = search.run()?;
        Ok(ConsistentPoint { attempt, ..point })
    }

    /// A jet that satisfies the request except for some rows, searched from the values of another jet; `None` where
    /// none is found.
    pub fn without_rows(
        &mut self,
        request: &Request,
        omitted: &[Row],
        from: &TaylorJet,
        deadline: Instant,
    ) -> Option<TaylorJet> {
        let mut search = Search::new(self, request, deadline);
        search.omitted = omitted.to_vec();
        search.jet = TaylorJet::at_rest(from.values(), search.jet.n_orders());
        search.reach_base().ok()?;
        Some(search.jet)
    }

    /// The stage at which a condition can be used: the lower, the fewer derivatives it takes to see it.
    pub fn stage_of(&self, row: &Row) -> i64 {
        match self.offsets {
            Some(offsets) => self.stage_by(row, offsets.variable),
            None => 0,
        }
    }

    fn stage_by(&self, row: &Row, d: &[usize]) -> i64 {
        match *row {
            Row::Value { unknown, .. } => -(d[unknown] as i64),
            Row::Initial { equation } => {
                let entries = self.array.initial_entries(equation);
                let stages = entries.iter().map(|&(j, order)| order as i64 - d[j] as i64);
                stages.max().unwrap_or(0)
            }
            Row::Equation { .. } => 0,
        }
    }

    /// The rows and coefficients that decide what is consistent, with the conditions of a request.
    pub fn base(&mut self, request: &Request) -> Selection {
        Search::new(self, request, Instant::now()).base()
    }

    /// The matrix of a selection at a jet in units, and the units; `None` where an expression has no value.
    pub fn matrix(&mut self, selection: &Selection, jet: &TaylorJet) -> Option<(Mat, Units)> {
        let scaling = self.scaling(jet).ok()?;
        self.array.evaluate(jet, selection).ok()?;
        self.array.differentiate(selection);
        let units = units_of(&scaling, selection)(&self.array);
        Some((self.array.dense(&units), units))
    }

    /// The unknowns whose values a row depends on at a jet.
    pub fn unknowns_in(&mut self, row: Row, jet: &TaylorJet) -> Vec<usize> {
        let columns = (0..jet.n_unknowns()).map(|unknown| Column { unknown, order: 0 });
        let selection = Selection {
            rows: vec![row],
            columns: columns.collect(),
        };
        if self.array.evaluate(jet, &selection).is_err() {
            return Vec::new();
        }
        self.array.differentiate(&selection);
        let mut unknowns: Vec<usize> = self.array.entries.iter().map(|entry| entry.1).collect();
        unknowns.sort_unstable();
        unknowns.dedup();
        unknowns
    }

    /// Moves a jet onto rows by the shortest steps; it must have room for all columns.
    pub fn settle(
        &mut self,
        selection: &Selection,
        jet: &mut TaylorJet,
        limits: &Limits,
    ) -> Result<(), NoPoint> {
        let scaling = self.scaling(jet).map_err(NoPoint::Fault)?;
        let units_of = units_of(&scaling, selection);
        match newton::land(&mut self.array, selection, &units_of, jet, limits) {
            Landing::Landed => {
                newton::polish(&mut self.array, selection, &units_of, jet);
                Ok(())
            }
            Landing::Stalled { residual, row } => Err(NoPoint::Stalled {
                jet: jet.clone(),
                residual,
                row: selection.rows[row],
            }),
            Landing::Fault(fault) => Err(NoPoint::Fault(fault)),
            Landing::Budget { residual } => Err(NoPoint::Budget { residual }),
        }
    }

    /// Relative residuals of rows at a jet, and the residuals as they are.
    pub fn residuals(&mut self, rows: &[Row], jet: &TaylorJet) -> Option<Vec<(f64, f64)>> {
        let n_orders = self.array.n_orders();
        let columns = (0..n_orders)
            .flat_map(|order| (0..jet.n_unknowns()).map(move |unknown| Column { unknown, order }));
        let selection = Selection {
            rows: rows.to_vec(),
            columns: columns.collect(),
        };
        let scaling = self.scaling(jet).ok()?;
        self.array.evaluate(jet, &selection).ok()?;
        self.array.differentiate(&selection);
        let units = units_of(&scaling, &selection)(&self.array);
        let relative = newton::relative_residuals(&self.array, &units, &selection, jet);
        Some(
            relative
                .into_iter()
                .zip(self.array.residuals.clone())
                .collect(),
        )
    }

    /// Whether the distance sees a change of each of these unknowns.
    pub fn sees(&mut self, unknowns: &[usize], jet: &TaylorJet) -> bool {
        let Ok(weights) = self.weights(jet) else {
            return false;
        };
        let target = Target {
            weights,
            values: Vec::new(),
            frozen: None,
        };
        let is_seen = |unknown: &usize| target.weight(*unknown) * self.nominal[*unknown] > 1e-8;
        unknowns.iter().all(is_seen)
    }

    /// The projector along the kernel of E: only differentiated components count, (6).
    fn weights(&mut self, jet: &TaylorJet) -> Result<Weights, ArrayFault> {
        if self.is_large {
            let counts = self.is_differentiated.iter().zip(&self.nominal);
            let weights = counts.map(|(counts, size)| if *counts { 1.0 / size } else { 0.0 });
            return Ok(Weights::Diagonal(weights.collect()));
        }
        let n = jet.n_unknowns();
        self.array.evaluate(jet, &Selection::default())?;
        let mut leading = Mat::zeros(self.n_equations, n);
        for (row, column, value) in self.array.leading(1) {
            leading[(row, column)] += value * self.nominal[column];
        }
        // Rows of any size are alike here: only their span matters.
        for row in 0..self.n_equations {
            let largest = (0..n).map(|j| leading[(row, j)].abs()).fold(0.0, f64::max);
            if largest > 0.0 {
                (0..n).for_each(|j| leading[(row, j)] /= largest);
            }
        }
        let mut svd = Svd::new();
        let mut weights = Mat::zeros(n, n);
        if svd.factor(leading.view()).is_ok() {
            let values = svd.singular_values();
            let largest = values.first().copied().unwrap_or(0.0);
            let rank = values
                .iter()
                .filter(|s| **s > 1e-10 * largest && **s > 0.0)
                .count();
            if let Ok(v) = svd.v() {
                for i in 0..n {
                    for j in 0..n {
                        let sum: f64 = (0..rank).map(|k| v.at(i, k) * v.at(j, k)).sum();
                        weights[(i, j)] = sum / self.nominal[j];
                    }
                }
            }
        }
        Ok(Weights::Projector(weights))
    }

    /// Units of rows and columns from E and B at a jet.
    fn scaling(&mut self, jet: &TaylorJet) -> Result<Scaling, ArrayFault> {
        if self.is_large {
            self.array.evaluate(jet, &Selection::default())?;
            return Ok(self.array.sparse_scaling(&self.nominal));
        }
        let order = self.array.max_order().min(2);
        let series = self.array.matrix_series(jet, order)?;
        Ok(Scaling::by_low_orders(&series, Some(&self.nominal)))
    }
}

struct Search<'f, 'a> {
    finder: &'f mut Finder<'a>,
    request: &'f Request,
    jet: TaylorJet,
    limits: Limits,
    by_continuation: bool,
    /// Rows that need not hold.
    omitted: Vec<Row>,
    /// Whether the values stay as they are, and only higher coefficients are looked for.
    holds_values: bool,
}

impl<'f, 'a> Search<'f, 'a> {
    fn new(finder: &'f mut Finder<'a>, request: &'f Request, deadline: Instant) -> Self {
        let jet = TaylorJet::at_rest(&request.guess, finder.array.n_orders());
        Self {
            finder,
            request,
            jet,
            limits: Limits {
                steps: 80,
                deadline,
            },
            by_continuation: false,
            omitted: Vec::new(),
            holds_values: false,
        }
    }

    /// Moves values and rates off what may be singular, by numbers that are the same on every machine.
    fn disturb(&mut self, attempt: usize, values: f64, rates: f64) {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(attempt as u64 + 1);
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            2.0 * ((state >> 11) as f64 / (1u64 << 53) as f64) - 1.0
        };
        let mut fixed = vec![false; self.jet.n_unknowns()];
        for row in &self.request.conditions {
            if let Row::Value { unknown, .. } = *row {
                fixed[unknown] = true;
            }
        }
        for (unknown, is_fixed) in fixed.into_iter().enumerate() {
            let step = values * self.finder.nominal[unknown] * random();
            if !is_fixed {
                let moved = self.jet.get(unknown, 0) + step;
                self.jet.set(unknown, 0, moved);
            }
        }
        if self.finder.rates_matter && rates > 0.0 {
            let time = match self.finder.scaling(&self.jet) {
                Ok(scaling) => scaling.time,
                Err(_) => 1.0,
            };
            for unknown in 0..self.jet.n_unknowns() {
                let rate = rates * self.finder.nominal[unknown] / time * random();
                self.jet.set(unknown, 1, rate);
            }
        }
    }

    fn land(&mut self, selection: &Selection) -> Result<(), NoPoint> {
        let scaling = self.finder.scaling(&self.jet).map_err(NoPoint::Fault)?;
        let higher;
        let selection = if self.holds_values {
            higher = selection.without_values();
            &higher
        } else {
            selection
        };
        let units_of = units_of(&scaling, selection);
        let array = &mut self.finder.array;
        let start = self.jet.clone();
        let mut landing = newton::land(array, selection, &units_of, &mut self.jet, &self.limits);
        if self.by_continuation && !landing.landed() {
            let mut jet = start;
            let followed = newton::follow(array, selection, &units_of, &mut jet, &self.limits);
            if followed.landed() {
                self.jet = jet;
                landing = followed;
            }
        }
        // Rows whose unknowns are all held cannot move: they hold when they are rounding beside all of their terms.
        if self.holds_values
            && !landing.landed()
            && let Some(rows) = self.finder.residuals(&selection.rows, &self.jet)
            && rows.iter().all(|row| row.0 <= KEPT)
        {
            return Ok(());
        }
        match landing {
            Landing::Landed => Ok(()),
            Landing::Stalled { residual, row } => Err(NoPoint::Stalled {
                jet: self.jet.clone(),
                residual,
                row: selection.rows[row],
            }),
            Landing::Fault(fault) => Err(NoPoint::Fault(fault)),
            Landing::Budget { residual } => Err(NoPoint::Budget { residual }),
        }
    }

    /// Stage k: order k + c_i of the equations, coefficients k + d_j of the unknowns, (3).
    fn stage(&self, k: i64, offsets: StageOffsets<'_>) -> Selection {
        let at = |offset: &usize| usize::try_from(k + *offset as i64).ok();
        let rows = offsets.equation.iter().enumerate();
        let mut rows: Vec<Row> = rows
            .filter_map(|(equation, c)| {
                Some(Row::Equation {
                    equation,
                    order: at(c)?,
                })
            })
            .collect();
        let here = |row: &&Row| self.finder.stage_by(row, offsets.variable) == k;
        rows.extend(self.request.conditions.iter().filter(here));
        rows.retain(|row| !self.omitted.contains(row));
        let columns = offsets.variable.iter().enumerate();
        Selection {
            rows,
            columns: columns
                .filter_map(|(unknown, d)| {
                    Some(Column {
                        unknown,
                        order: at(d)?,
                    })
                })
                .collect(),
        }
    }

    /// The rows of all levels with all conditions, and the coefficients in them: (2) where the structure is known, else
    /// all rows up to the order.
    fn base(&self) -> Selection {
        let mut all = match self.finder.offsets {
            Some(offsets) => {
                let highest = self.highest_stage(offsets);
                Selection::by_offsets(offsets.equation, offsets.variable, highest)
            }
            None => Selection::whole(
                self.finder.n_equations,
                self.jet.n_unknowns(),
                self.request.order,
            ),
        };
        all.rows.extend(&self.request.conditions);
        all.rows.retain(|row| !self.omitted.contains(row));
        all
    }

    /// All rows up to the order asked for with all conditions, and the coefficients in them.
    fn whole(&self) -> Selection {
        let n = self.jet.n_unknowns();
        let mut whole = Selection::whole(self.finder.n_equations, n, self.request.order);
        whole.rows.extend(&self.request.conditions);
        whole
    }

    /// The highest stage that a condition needs.
    fn highest_stage(&self, offsets: StageOffsets<'_>) -> usize {
        let conditions = self.request.conditions.iter();
        let stages = conditions.map(|row| self.finder.stage_by(row, offsets.variable));
        stages
            .max()
            .map_or(0, |stage| usize::try_from(stage).unwrap_or(0))
    }

    /// Moves onto the rows of the base: stage by stage or order by order first, then the whole.
    fn reach_base(&mut self) -> Result<Selection, NoPoint> {
        match self.finder.offsets {
            Some(offsets) => {
                let deepest = offsets.variable.iter().copied().max().unwrap_or(0) as i64;
                let highest = self.highest_stage(offsets) as i64;
                let all = self.base();
                self.check_size(&all)?;
                // A stage that does not land leaves its best point to the whole. If that fails as well, the point to
                // report is the one where all stages before held.
                let mut obstacle = None;
                for k in -deepest..=highest {
                    let stage = self.stage(k, offsets);
                    let before = self.jet.clone();
                    match self.land(&stage) {
                        Ok(()) => {}
                        Err(no_point) if self.holds_values => return Err(no_point),
                        Err(NoPoint::Stalled { residual, row, .. }) => {
                            let jet = before;
                            obstacle.get_or_insert(NoPoint::Stalled { jet, residual, row });
                        }
                        Err(no_point @ (NoPoint::Fault(_) | NoPoint::Budget { .. })) => {
                            return Err(no_point);
                        }
                        Err(other) => {
                            obstacle.get_or_insert(other);
                        }
                    }
                }
                match self.land(&all) {
                    Ok(()) => Ok(all),
                    Err(no_point) => Err(obstacle.unwrap_or(no_point)),
                }
            }
            None => {
                let n = self.jet.n_unknowns();
                let mut all = Selection::default();
                for order in 0..=self.request.order {
                    all = Selection::whole(self.finder.n_equations, n, order);
                    let array = &self.finder.array;
                    let reaches = |row: &&Row| match **row {
                        Row::Initial { equation } => {
                            let entries = array.initial_entries(equation);
                            entries.iter().all(|entry| entry.1 <= order + 1)
                        }
                        _ => true,
                    };
                    all.rows
                        .extend(self.request.conditions.iter().filter(reaches));
                    all.rows.retain(|row| !self.omitted.contains(row));
                    self.check_size(&all)?;
                    let before = self.jet.clone();
                    self.land(&all).map_err(|no_point| match no_point {
                        NoPoint::Stalled { residual, row, .. } if order > 0 => NoPoint::Stalled {
                            jet: before,
                            residual,
                            row,
                        },
                        other => other,
                    })?;
                }
                Ok(all)
            }
        }
    }

    fn run(mut self) -> Result<ConsistentPoint, NoPoint> {
        self.finder.structure_fails = false;
        let base = self.reach_base()?;
        let mut closeness = self.approach(&base)?;
        if self.finder.offsets.is_none() && closeness == Closeness::Closest {
            closeness = self.approach_unseen(&base)?;
        }
        if let Some(offsets) = self.finder.offsets {
            // Where the system Jacobian is singular at the point itself, the whole array may still have a solution. Its
            // rows say more than those of the base, so the closest point is another one.
            if self.complete(offsets).is_err() {
                let whole = self.whole();
                self.check_size(&whole)?;
                self.land(&whole)?;
                self.finder.structure_fails = true;
                if !self.finder.is_large {
                    closeness = self.approach_whole(&whole)?;
                }
            }
        }
        let distance = self.target()?.distance(&self.jet);
        self.report(closeness, distance)
    }

    /// The same with the values of the guess, without a search for others. The rows hold to rounding with these values;
    /// a last step on all coefficients makes them hold as well as they do elsewhere.
    fn run_as_given(mut self) -> Result<ConsistentPoint, NoPoint> {
        self.finder.structure_fails = false;
        let mut all = self.reach_base()?;
        if let Some(offsets) = self.finder.offsets
            && self.complete(offsets).is_err()
        {
            all = self.whole();
            self.check_size(&all)?;
            self.land(&all)?;
            self.finder.structure_fails = true;
        }
        self.holds_values = false;
        let given = self.jet.clone();
        let landed = self.land(&all).is_ok();
        let moved = |(unknown, size): (usize, &f64)| {
            let value = given.get(unknown, 0);
            (self.jet.get(unknown, 0) - value).abs() > KEPT * size.max(value.abs())
        };
        if !landed || self.finder.nominal.iter().enumerate().any(moved) {
            self.jet = given;
        }
        let distance = self.target()?.distance(&self.jet);
        self.report(Closeness::Closest, distance)
    }

    fn check_size(&self, selection: &Selection) -> Result<(), NoPoint> {
        let rows = selection.rows.len();
        if rows > MAX_DENSE_ROWS && !self.finder.is_large {
            return Err(NoPoint::TooLarge { rows });
        }
        Ok(())
    }

    /// The coefficients above the base, stage by stage: each is linear.
    fn complete(&mut self, offsets: StageOffsets<'_>) -> Result<(), NoPoint> {
        let order = self.request.order as i64;
        let lowest = offsets.equation.iter().copied().min().unwrap_or(0) as i64;
        for k in 1..=order - lowest {
            let mut stage = self.stage(k, offsets);
            stage.rows.retain(|row| matches!(row, Row::Equation { .. }));
            self.land(&stage)?;
            let scaling = self.finder.scaling(&self.jet).map_err(NoPoint::Fault)?;
            let units_of = units_of(&scaling, &stage);
            newton::polish(&mut self.finder.array, &stage, &units_of, &mut self.jet);
        }
        Ok(())
    }

    /// Whether an unknown that counts for the distance is elsewhere than at its guess, beyond rounding.
    fn has_moved(&self) -> bool {
        let counts = self.finder.is_differentiated.iter().enumerate();
        counts.filter(|(_, counts)| **counts).any(|(unknown, _)| {
            let (guess, size) = (self.request.guess[unknown], self.finder.nominal[unknown]);
            (self.jet.get(unknown, 0) - guess).abs() > KEPT * size.max(guess.abs())
        })
    }

    /// Moves along the constraints to the point closest to the guess.
    fn approach(&mut self, selection: &Selection) -> Result<Closeness, NoPoint> {
        let target = self.target()?;
        if self.finder.is_large && !self.has_moved() {
            // Nothing is closer than the guess itself, and large matrices take their time.
            return Ok(Closeness::Closest);
        }
        self.minimise(selection, &target)
    }

    /// The same on all rows of the array, where ranks may be hard to tell: a step that loses the rows is taken back.
    fn approach_whole(&mut self, whole: &Selection) -> Result<Closeness, NoPoint> {
        let before = self.jet.clone();
        let mut closeness = self.approach(whole)?;
        if closeness == Closeness::Closest {
            closeness = self.approach_unseen(whole)?;
        }
        let residuals = self.finder.residuals(&whole.rows, &self.jet);
        let kept = residuals.is_some_and(|rows| rows.iter().all(|row| row.0 <= KEPT));
        if !kept {
            self.jet = before;
            closeness = Closeness::Stopped;
        }
        Ok(closeness)
    }

    /// What the distance does not see becomes as close to the guess as it can, section 3 of `docs/theory/initial.md`.
    fn approach_unseen(&mut self, selection: &Selection) -> Result<Closeness, NoPoint> {
        let seen = self.target()?;
        let weights = self.finder.nominal.iter().map(|size| 1.0 / size);
        let unseen = Target {
            weights: Weights::Diagonal(weights.collect()),
            values: seen.values,
            frozen: Some(seen.weights),
        };
        self.minimise(selection, &unseen)
    }

    fn minimise(&mut self, selection: &Selection, target: &Target) -> Result<Closeness, NoPoint> {
        let scaling = self.finder.scaling(&self.jet).map_err(NoPoint::Fault)?;
        let units_of = units_of(&scaling, selection);
        let minimise = if self.finder.is_large && selection.rows.len() > newton::DENSE_ROWS {
            sparse::minimise
        } else {
            closest::minimise
        };
        Ok(minimise(
            &mut self.finder.array,
            selection,
            &units_of,
            &mut self.jet,
            target,
            &self.limits,
        ))
    }

    fn target(&mut self) -> Result<Target, NoPoint> {
        let values = self.request.guess.clone();
        let weights = self.finder.weights(&self.jet).map_err(NoPoint::Fault)?;
        Ok(Target {
            weights,
            values,
            frozen: None,
        })
    }

    fn report(mut self, closeness: Closeness, distance: f64) -> Result<ConsistentPoint, NoPoint> {
        let n = self.jet.n_unknowns();
        let order = self.request.order;
        let whole = Selection::whole(self.finder.n_equations, n, order);
        let scaling = self.finder.scaling(&self.jet).map_err(NoPoint::Fault)?;
        let array = &mut self.finder.array;
        array.evaluate(&self.jet, &whole).map_err(NoPoint::Fault)?;
        array.differentiate(&whole);
        let units = units_of(&scaling, &whole)(array);
        let relative = newton::relative_residuals(array, &units, &whole, &self.jet);
        let mut residuals = vec![0.0_f64; order + 1];
        for (row, value) in whole.rows.iter().zip(relative) {
            if let Row::Equation { order, .. } = row {
                residuals[*order] = residuals[*order].max(value);
            }
        }
        self.jet.resize(order + 2);
        Ok(ConsistentPoint {
            time: self.request.time,
            jet: self.jet,
            order,
            residual: residuals.iter().copied().fold(0.0, f64::max),
            residuals,
            closeness,
            distance,
            attempt: 0,
            structure_fails: self.finder.structure_fails,
        })
    }
}

/// Whether an equation is nonlinear in the rates of unknowns.
fn rates_matter(system: &System) -> bool {
    let equations = system.equations();
    let entries = &equations.jacobian(1).entries;
    let held = Walker::new().symbols(equations.graph(), entries);
    held.into_iter().any(|id| {
        let symbol = equations.symbols().get(id);
        matches!(symbol, Symbol::Unknown { order, .. } if order > 0)
    })
}

fn units_of(scaling: &Scaling, selection: &Selection) -> impl Fn(&ConstraintArray) -> Units {
    let units = Units::of_scaling(scaling, selection);
    move |array| {
        let mut units = units.clone();
        units.level_rows(array, selection);
        units
    }
}
