//! One system at one time: its array, its sizes, and the attempts at a request.

mod search;

use super::rows::RowValues;
use super::sides::Pin;
use super::{
    ArrayFault, Column, ConsistentPoint, ConstraintArray, Landing, Limits, NoPoint, Obstacle,
    Request, Row, Selection, StageOffsets, TaylorJet, Units, newton, nominal, written_nominal,
};
use crate::System;
use crate::scaling::Scaling;
use daelight_expr::{FaultKind, Walker};
use daelight_lang::Symbol;
use daelight_linalg::Mat;
use search::Search;
use std::time::Instant;

/// Systems with more unknowns are scaled and searched with sparse matrices where their structure is right.
pub(super) const LARGE: usize = 100;

/// Relative sizes by which the guess is moved in later attempts, in units of `nominal`.
const DISTURBANCES: [f64; 8] = [0.0, 0.001, 0.03, 0.2, 0.6, 1.2, 2.0, 3.0];
/// Sizes of the rates from which a search starts that does not start at rest, in units of `nominal` and of the time of
/// the scaling.
const RATES: [f64; 4] = [1.0, 0.3, 3.0, 10.0];

/// Finds consistent points of a system at one time, for any guesses and conditions.
pub struct Finder<'a> {
    offsets: Option<StageOffsets<'a>>,
    pub(super) array: ConstraintArray,
    /// Evaluates single rows; made when it is first needed.
    pub(super) values: RowValues,
    nominal: Vec<f64>,
    /// The same where the model gives it.
    written_nominal: Vec<Option<f64>>,
    n_equations: usize,
    /// Unknowns that occur differentiated.
    is_differentiated: Vec<bool>,
    /// Whether equations are nonlinear in rates, so that it matters from which ones a search starts.
    rates_matter: bool,
    is_large: bool,
    /// What the last search block by block failed at.
    pub(super) obstacle: Option<Obstacle>,
    /// Jumps that rounding hid from the last search, with the sides to which its point leads.
    pub(super) jumps: Vec<Pin>,
    /// Whether the last search had to weigh guesses against each other.
    compromised: bool,
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
            values: RowValues::new(system, time, max_order + reach),
            nominal: nominal(system),
            written_nominal: written_nominal(system),
            n_equations: system.equations().n_equations(),
            is_differentiated,
            rates_matter: rates_matter(system),
            is_large,
            obstacle: None,
            jumps: Vec::new(),
            compromised: false,
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
        self.values.set_time(time);
    }

    /// Whether the offsets of a structure are known, so that the rows of the base are independent at regular points.
    pub fn has_structure(&self) -> bool {
        self.offsets.is_some()
    }

    /// Whether the system Jacobian is singular at the point that was found last: what the offsets count does not hold there.
    pub fn structure_fails(&self) -> bool {
        self.structure_fails
    }

    /// What the last search block by block failed at, if it did.
    pub fn obstacle(&self) -> Option<&Obstacle> {
        self.obstacle.as_ref()
    }

    /// Whether sparse matrices are used.
    pub fn is_large(&self) -> bool {
        self.is_large
    }

    /// Finds the consistent point closest to the guess. The request is at the time of the finder, and of no higher order.
    pub fn closest(&mut self, request: &Request) -> Result<ConsistentPoint, NoPoint> {
        let deadline = Instant::now() + request.budget;
        self.pin(&[]);
        match self.follow_values(request, deadline) {
            Ok(point) => Ok(point),
            Err(first) => self.on_sides(request, first, deadline),
        }
    }

    /// One search from a jet of the first unknowns; the others are at rest at the guess.
    pub fn from_jet(
        &mut self,
        request: &Request,
        jet: &TaylorJet,
    ) -> Result<ConsistentPoint, NoPoint> {
        self.pin(&[]);
        let mut search = Search::new(self, request, Instant::now() + request.budget);
        search.take(jet);
        search.run()
    }

    /// A consistent jet of fewer orders, whose values the request guesses, with coefficients up to its order; `None` where they are not
    /// found at once.
    pub fn deepened(&mut self, request: &Request, jet: &TaylorJet) -> Option<ConsistentPoint> {
        self.pin(&[]);
        let mut search = Search::new(self, request, Instant::now() + request.budget);
        search.take(jet);
        (search.holds_values, search.at_once) = (true, true);
        search.run_as_given().ok()
    }

    /// Keeps branches on sides; others follow the values.
    pub(crate) fn pin(&mut self, pins: &[Pin]) {
        self.values.pin(pins);
        let graph = self.values.graph();
        self.array.pin(&graph, pins);
    }

    /// The same with the sides that are pinned.
    pub(super) fn follow_values(
        &mut self,
        request: &Request,
        deadline: Instant,
    ) -> Result<ConsistentPoint, NoPoint> {
        let at_once = match self.offsets {
            Some(_) => self.in_order(request, deadline),
            None => self.as_given(request, deadline).ok_or(None),
        };
        let mut in_order = None;
        let mut first = match at_once {
            Ok(point) => return Ok(point),
            // At a switch no other guess helps.
            Err(Some(
                end @ NoPoint::Fault(ArrayFault::Equation(fault) | ArrayFault::Initial(fault)),
            )) if fault.kind == FaultKind::Kink => {
                return Err(end);
            }
            Err(Some(end)) if self.obstacle.as_ref().is_some_and(|o| o.is_forced) => {
                return Err(end);
            }
            Err(Some(_)) if self.is_large => None,
            Err(None) => None,
            Err(Some(end)) => match self.as_given(request, deadline) {
                Some(point) => return Ok(point),
                None => {
                    in_order = Some(end);
                    None
                }
            },
        };
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
            // Steps that never end say less than the block that could not be solved.
            Err(no_point) => Err(match (first, in_order) {
                (Some(NoPoint::Budget { .. }), Some(end)) => end,
                (first, _) => first.unwrap_or(no_point),
            }),
        }
    }

    /// The point that is found block by block; no end where there is no order.
    ///
    /// Where not all that was wished for can be had, what could be kept may be far from the rest: the shortest way from the
    /// guess onto all rows is tried as well, and the closer point is taken.
    fn in_order(
        &mut self,
        request: &Request,
        deadline: Instant,
    ) -> Result<ConsistentPoint, Option<NoPoint>> {
        self.compromised = false;
        self.obstacle = None;
        let point = match Search::new(self, request, deadline).run_in_order() {
            Some(end) => end.map_err(Some)?,
            None => return Err(None),
        };
        if !self.compromised || self.is_large {
            return Ok(point);
        }
        let structure_fails = self.structure_fails;
        let other = Search::new(self, request, deadline).run();
        match other {
            Ok(other) if self.apart(request, &other.jet) < self.apart(request, &point.jet) => {
                Ok(other)
            }
            _ => {
                self.structure_fails = structure_fails;
                Ok(point)
            }
        }
    }

    /// How far the differentiated values that were given have moved, or all differentiated ones where none was given.
    fn apart(&self, request: &Request, jet: &TaylorJet) -> f64 {
        let differentiated = || (0..jet.n_unknowns()).filter(|j| self.is_differentiated[*j]);
        let any_given = differentiated().any(|j| request.is_given(j));
        differentiated()
            .filter(|j| !any_given || request.is_given(*j))
            .map(|j| ((jet.get(j, 0) - request.guess[j]) / self.nominal[j]).powi(2))
            .sum()
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
    pub fn sees(&self, unknowns: &[usize]) -> bool {
        unknowns
            .iter()
            .all(|unknown| self.is_differentiated[*unknown])
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
