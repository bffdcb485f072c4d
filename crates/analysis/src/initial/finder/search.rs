//! One search from one guess: onto the rows, along them to the closest point, and up to the order asked for.

use super::super::block::{BlockEnd, BlockSearch, beside};
use super::super::known::{Errors, Known};
use super::super::order::{RowBlock, SolveOrder, by_wish, left_over};
use super::super::{
    ArrayFault, Closeness, Column, ConsistentPoint, Landing, Limits, MAX_DENSE_ROWS, NoPoint,
    Request, Row, Selection, SideChoice, StageOffsets, Target, TaylorJet, closest, newton, sparse,
};
use super::{Finder, units_of};
use crate::tolerances::{FAR_OFF, HOLDS, N_DRAWN, NOT_GIVEN, VANISHES, VANISHES_AT_FOLD};
use daelight_expr::{Fault, FaultKind};
use std::time::Instant;

/// A search under way.
pub(super) struct Search<'f, 'a> {
    finder: &'f mut Finder<'a>,
    request: &'f Request,
    pub jet: TaylorJet,
    limits: Limits,
    pub by_continuation: bool,
    /// The jet that the first rank chose, before the others did.
    first_choice: Option<TaylorJet>,
    /// Whether the values may be those of a fold, known to the root of the rounding.
    may_be_fold: bool,
    /// The highest order of the equations that the jet reaches.
    order: usize,
    /// Rows that need not hold.
    pub omitted: Vec<Row>,
    /// Whether the values stay as they are, and only higher coefficients are looked for.
    pub holds_values: bool,
    /// Whether the rows of lower orders hold already, so that all are looked at together.
    pub at_once: bool,
    /// The order in which the rows were solved.
    solved_in: Option<SolveOrder>,
}

impl<'f, 'a> Search<'f, 'a> {
    pub fn new(finder: &'f mut Finder<'a>, request: &'f Request, deadline: Instant) -> Self {
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
            first_choice: None,
            may_be_fold: false,
            order: request.order,
            omitted: Vec::new(),
            holds_values: false,
            at_once: false,
            solved_in: None,
        }
    }

    /// Begins with the coefficients of a jet of the first unknowns above their values.
    pub fn take(&mut self, jet: &TaylorJet) {
        let n_orders = jet.n_orders().min(self.jet.n_orders());
        for unknown in 0..jet.n_unknowns() {
            for order in 1..n_orders {
                self.jet.set(unknown, order, jet.get(unknown, order));
            }
        }
    }

    /// Moves values and rates off what may be singular, by numbers that are the same on every machine.
    pub fn disturb(&mut self, attempt: usize, values: f64, rates: f64) {
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
            && rows.iter().all(|row| row.0 <= HOLDS)
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

    /// Stage k: order k + c_i of the equations, coefficients k + d_j of the unknowns.
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
    pub fn base(&self) -> Selection {
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
    pub fn reach_base(&mut self) -> Result<Selection, NoPoint> {
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
                let lowest = if self.at_once { self.request.order } else { 0 };
                for order in lowest..=self.request.order {
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

    pub fn run(mut self) -> Result<ConsistentPoint, NoPoint> {
        self.finder.structure_fails = false;
        self.may_be_fold = true;
        let base = self.reach_base()?;
        let closeness = self.approach(&base, None)?;
        self.expect_rows(&base)?;
        self.finish(&base, closeness)
    }

    /// The rows of the base block by block, what is wished for kept as far as possible; `None` where the conditions are more
    /// than the rows can meet, or there is no structure to tell an order.
    ///
    /// The pattern says which columns can be taken, not which should be: x^2 + y^2 = 1 does not determine y at (1, 0). The columns
    /// of a block that is singular at the point found, or has no solution, come later in their rank, and the rows are put in
    /// order again, until that changes nothing. Blocks of derivatives alone are tried briefly as long as there are other orders: nobody
    /// wished for the derivatives that they hold on to, and p'^2 + p p'' = 0 may have no solution p' at all beside p'' = 0.
    pub fn run_in_order(mut self) -> Option<Result<ConsistentPoint, NoPoint>> {
        self.finder.structure_fails = false;
        self.finder.offsets?;
        self.leave_out_repeated();
        let base = self.base();
        let given: Vec<bool> = (0..self.jet.n_unknowns())
            .map(|unknown| self.request.is_given(unknown))
            .collect();
        let pattern = self.finder.values.pattern(&base);
        let read = self.finder.values.read(&pattern, &base);
        let guess = self.jet.clone();
        let mut n_failed = vec![0; base.columns.len()];
        let mut tried: Vec<Vec<bool>> = Vec::new();
        let mut first = None;
        let (mut is_brief, mut is_cut) = (true, false);
        loop {
            let differentiated = &self.finder.is_differentiated;
            let by_wish = by_wish(&base.columns, &given, differentiated, &n_failed);
            let order = SolveOrder::new(&pattern, read.as_ref(), &by_wish)?;
            let is_late = Instant::now() > self.limits.deadline;
            let is_over = is_late || tried.len() > N_DRAWN || tried.contains(&order.is_kept);
            match first {
                Some(_) if is_over && is_cut && !is_late => {
                    (is_brief, is_cut, first) = (false, false, None);
                    n_failed.fill(0);
                    tried.clear();
                    continue;
                }
                Some((no_point, obstacle)) if is_over => {
                    self.finder.obstacle = obstacle;
                    return Some(Err(no_point));
                }
                _ => {}
            }
            self.jet = guess.clone();
            let (failed, columns) = match self.through(&base, &order, (&given, is_brief)) {
                Ok(None) => {
                    self.finder.obstacle = None;
                    let closeness = self.approach(&base, Some(&order));
                    let held = closeness.and_then(|closeness| {
                        self.off_rows(&base)?;
                        Ok(closeness)
                    });
                    if held.is_ok() && !self.omitted_hold() {
                        return None;
                    }
                    self.solved_in = Some(order);
                    return Some(held.and_then(|closeness| self.finish(&base, closeness)));
                }
                Ok(Some(block)) => {
                    let no_point = NoPoint::Stalled {
                        jet: self.jet.clone(),
                        residual: f64::INFINITY,
                        row: base.rows[block.rows[0]],
                    };
                    (no_point, &block.columns)
                }
                Err((no_point, block)) => {
                    let mut columns = block.columns.iter().map(|&at| base.columns[at]);
                    is_cut |= is_brief && columns.all(|column| column.order > 0);
                    (no_point, &block.columns)
                }
            };
            order.blame(&pattern, columns, &mut n_failed);
            let obstacle = self.finder.obstacle.take();
            first.get_or_insert((failed, obstacle));
            tried.push(order.is_kept);
        }
    }

    /// Leaves out conditions that the others leave nothing to determine: the acceleration of a bearing that sticks. They have to hold at
    /// the point that is found without them.
    fn leave_out_repeated(&mut self) {
        let base = self.base();
        let is_equation = |row: &&Row| matches!(row, Row::Equation { .. });
        let n_first = base.rows.iter().take_while(is_equation).count();
        if !self.omitted.is_empty() || n_first == base.rows.len() {
            return;
        }
        let pattern = self.finder.values.pattern(&base);
        let left = left_over(&pattern, n_first, base.columns.len()).unwrap_or_default();
        self.omitted = left.into_iter().map(|at| base.rows[at]).collect();
    }

    /// Whether the conditions that were left out hold.
    fn omitted_hold(&mut self) -> bool {
        let omitted = std::mem::take(&mut self.omitted);
        let found = self.finder.residuals(&omitted, &self.jet);
        let hold =
            omitted.is_empty() || found.is_some_and(|rows| rows.iter().all(|row| row.0 <= HOLDS));
        self.omitted = omitted;
        hold
    }

    /// Solves the blocks in their order; the first one whose matrix is singular at the point found, if there is one. What was
    /// divided by there is rounding.
    fn through<'o>(
        &mut self,
        base: &Selection,
        order: &'o SolveOrder,
        (given, is_brief): (&[bool], bool),
    ) -> Result<Option<&'o RowBlock>, (NoPoint, &'o RowBlock)> {
        for block in &order.blocks {
            let mut search = BlockSearch::new(
                &mut self.finder.values,
                base,
                block,
                &self.finder.written_nominal,
                given,
                self.limits.deadline,
            );
            search.is_brief = is_brief;
            let end = search.solve(&mut self.jet);
            if let BlockEnd::Solved = end {
                self.may_be_fold |= search.is_fold;
                continue;
            }
            let jet = self.jet.clone();
            let mut obstacle = search.obstacle(&jet);
            let no_point = match end {
                BlockEnd::Fault(fault) => {
                    obstacle.is_forced = self.is_forced(base, order, block, &fault);
                    obstacle.fault = Some(fault.clone());
                    NoPoint::Fault(fault)
                }
                BlockEnd::Stalled { residual, row } => NoPoint::Stalled {
                    jet,
                    residual,
                    row: base.rows[row],
                },
                BlockEnd::Solved => continue,
            };
            self.finder.obstacle = Some(obstacle);
            return Err((no_point, block));
        }
        let beside = self.beside();
        Ok(self.vanishing(base, &order.blocks, &beside, VANISHES))
    }

    /// Whether the numbers in an expression without a value follow from conditions and linear equations alone, so that no guess
    /// gives them others.
    fn is_forced(
        &mut self,
        base: &Selection,
        order: &SolveOrder,
        failed: &RowBlock,
        fault: &ArrayFault,
    ) -> bool {
        let ArrayFault::Equation(fault) = fault else {
            return false;
        };
        let pattern = self.finder.values.pattern(base);
        let mut block_of = vec![None; base.columns.len()];
        for block in order
            .blocks
            .iter()
            .filter(|block| block.rows != failed.rows)
        {
            block
                .columns
                .iter()
                .for_each(|&at| block_of[at] = Some(block));
        }
        let held = self.finder.values.columns_in(fault.expr);
        let place = |column| base.columns.iter().position(|other| *other == column);
        let Some(mut waiting) = held.into_iter().map(place).collect::<Option<Vec<usize>>>() else {
            return false;
        };
        let mut seen = vec![false; base.columns.len()];
        let given = vec![true; self.jet.n_unknowns()];
        while let Some(at) = waiting.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let Some(block) = block_of[at] else {
                return false;
            };
            let mut search = BlockSearch::new(
                &mut self.finder.values,
                base,
                block,
                &self.finder.written_nominal,
                &given,
                self.limits.deadline,
            );
            if !search.is_linear(&self.jet) {
                return false;
            }
            let columns = block.rows.iter().flat_map(|&row| pattern.row(row));
            waiting.extend(columns.map(|&column| column as usize));
        }
        fault.order == 0
    }

    /// From a point on the rows to the coefficients asked for.
    fn finish(
        mut self,
        base: &Selection,
        mut closeness: Closeness,
    ) -> Result<ConsistentPoint, NoPoint> {
        if self.finder.offsets.is_none() && closeness == Closeness::Closest {
            closeness = self.approach_unseen(base)?;
        }
        if let Some(offsets) = self.finder.offsets {
            // Where the system Jacobian is singular at the point itself, the whole array may still have a solution. Its
            // rows say more than those of the base, so the closest point is another one.
            if self.complete(offsets).is_err() {
                // What lower ranks chose along rows that do not say everything may be far from those that do.
                if let Some(jet) = self.first_choice.take() {
                    self.jet = jet;
                }
                let whole = self.whole();
                self.check_size(&whole)?;
                self.land(&whole)?;
                self.finder.structure_fails = true;
                if !self.finder.is_large {
                    closeness = self.approach_whole(&whole)?;
                }
            }
        }
        self.expect_known(base)?;
        let distance = self.target_of_differentiated().distance(&self.jet);
        self.report(closeness, distance)
    }

    /// Whether the rows determine the point beyond what rounding makes of them.
    ///
    /// At a fold values are known to the root of the rounding, and what is divided by them is not known at all: x^2 + y^2 = 1 with
    /// x = 1 holds at y = 1e-8, and its derivative x' + 1e-8 y' = 0 with x' = 1 at y' = -1e8, where there is no solution.
    /// The point is refused if some order of its rows says so and none says that it is known.
    fn expect_known(&mut self, base: &Selection) -> Result<(), NoPoint> {
        if self.finder.offsets.is_none() || self.finder.structure_fails {
            return Ok(());
        }
        let given: Vec<bool> = (0..self.jet.n_unknowns())
            .map(|unknown| self.request.is_given(unknown))
            .collect();
        let pattern = self.finder.values.pattern(base);
        let mut n_failed = vec![0; base.columns.len()];
        let mut tried: Vec<Vec<bool>> = Vec::new();
        let mut first = None;
        loop {
            let differentiated = &self.finder.is_differentiated;
            let by_wish = by_wish(&base.columns, &given, differentiated, &n_failed);
            let order = self.solved_in.take().or_else(|| {
                SolveOrder::new(&pattern, None, &by_wish)
                    .filter(|order| tried.len() <= N_DRAWN && !tried.contains(&order.is_kept))
            });
            let Some(order) = order else {
                return first.map_or(Ok(()), Err);
            };
            let mut errors = Errors {
                values: &mut self.finder.values,
                base,
                nominal: &self.finder.nominal,
            };
            let block = match errors.judge(&order, &self.jet) {
                // At a switch there are no derivatives: the point is judged where a side is taken.
                Ok(Known::Yes) | Err(_) => return Ok(()),
                Ok(Known::Singular(block)) => block,
                Ok(Known::No(block)) => {
                    first.get_or_insert_with(|| NoPoint::Stalled {
                        jet: self.jet.clone(),
                        residual: f64::INFINITY,
                        row: base.rows[block.rows[0]],
                    });
                    block
                }
            };
            order.blame(&pattern, &block.columns, &mut n_failed);
            tried.push(order.is_kept);
        }
    }

    /// The same with the values of the guess, without a search for others. The rows hold to rounding with these values;
    /// a last step on all coefficients makes them hold as well as they do elsewhere.
    pub fn run_as_given(mut self) -> Result<ConsistentPoint, NoPoint> {
        self.finder.structure_fails = false;
        self.may_be_fold = true;
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
            (self.jet.get(unknown, 0) - value).abs() > HOLDS * size.max(value.abs())
        };
        if !landed || self.finder.nominal.iter().enumerate().any(moved) {
            self.jet = given;
        }
        self.expect_known(&all)?;
        let distance = self.target_of_differentiated().distance(&self.jet);
        self.report(Closeness::Closest, distance)
    }

    fn check_size(&self, selection: &Selection) -> Result<(), NoPoint> {
        let rows = selection.rows.len();
        if rows > MAX_DENSE_ROWS && !self.finder.is_large {
            return Err(NoPoint::TooLarge { rows });
        }
        Ok(())
    }

    /// The coefficients above the base, stage by stage and block by block: each is linear, and none of them is a reason to
    /// refuse the point unless the matrix of a block, which is that of the point, does not determine them.
    fn complete(&mut self, offsets: StageOffsets<'_>) -> Result<(), NoPoint> {
        let order = self.request.order as i64;
        let lowest = offsets.equation.iter().copied().min().unwrap_or(0) as i64;
        let given = vec![true; self.jet.n_unknowns()];
        let mut blocks: Option<SolveOrder> = None;
        let mut is_singular = self.holds_values;
        let beside = self.beside();
        let at_most = match self.may_be_fold {
            true => VANISHES_AT_FOLD,
            false => VANISHES,
        };
        for k in 1..=order - lowest {
            let mut stage = self.stage(k, offsets);
            stage.rows.retain(|row| matches!(row, Row::Equation { .. }));
            if blocks.is_none() {
                let pattern = self.finder.values.pattern(&stage);
                let in_turn: Vec<usize> = (0..stage.columns.len()).collect();
                blocks = SolveOrder::new(&pattern, None, &in_turn);
            }
            let blocks = blocks.as_ref().map_or(&[][..], |order| &order.blocks);
            if k == 1 {
                is_singular |= self.vanishing(&stage, blocks, &beside, at_most).is_some();
            }
            if is_singular {
                self.shortest(&stage)?;
                continue;
            }
            let before = self.jet.clone();
            for block in blocks {
                let mut search = BlockSearch::new(
                    &mut self.finder.values,
                    &stage,
                    block,
                    &self.finder.written_nominal,
                    &given,
                    self.limits.deadline,
                );
                match search.solve_linear(&mut self.jet) {
                    BlockEnd::Solved => {}
                    // The matrix does not determine them after all.
                    BlockEnd::Stalled { .. } => {
                        is_singular = true;
                        break;
                    }
                    BlockEnd::Fault(fault) if !is_overflow(&fault) => {
                        return Err(NoPoint::Fault(fault));
                    }
                    BlockEnd::Fault(_) => {
                        self.jet = before;
                        self.end_at(lowest + k - 1);
                        return Ok(());
                    }
                }
            }
            if is_singular {
                self.jet = before;
                self.shortest(&stage)?;
            } else if !self.jet.is_finite() {
                self.jet = before;
                self.end_at(lowest + k - 1);
                return Ok(());
            }
        }
        Ok(())
    }

    /// The shortest coefficients of a stage whose matrix is singular: at a removable singularity its rows agree.
    fn shortest(&mut self, stage: &Selection) -> Result<(), NoPoint> {
        self.land(stage)?;
        let scaling = self.finder.scaling(&self.jet).map_err(NoPoint::Fault)?;
        let units_of = units_of(&scaling, stage);
        newton::polish(&mut self.finder.array, stage, &units_of, &mut self.jet);
        Ok(())
    }

    /// Higher coefficients are too large for numbers: the jet ends here.
    fn end_at(&mut self, order: i64) {
        self.order = usize::try_from(order).unwrap_or(0).min(self.order);
    }

    /// Jets a hundredth beside the one that was found, on no constraints.
    fn beside(&self) -> Vec<TaylorJet> {
        beside(&self.jet, |unknown| self.finder.nominal[unknown])
    }

    /// The first block whose matrix is singular at the jet and not beside it.
    fn vanishing<'b>(
        &mut self,
        stage: &Selection,
        blocks: &'b [RowBlock],
        beside: &[TaylorJet],
        at_most: f64,
    ) -> Option<&'b RowBlock> {
        let given = vec![true; self.jet.n_unknowns()];
        blocks.iter().find(|block| {
            let mut search = BlockSearch::new(
                &mut self.finder.values,
                stage,
                block,
                &self.finder.written_nominal,
                &given,
                self.limits.deadline,
            );
            search.vanishes(&self.jet, beside, at_most)
        })
    }

    /// Whether every equation of a selection holds as written, as far as rounding at a fold lets it.
    fn expect_rows(&mut self, selection: &Selection) -> Result<(), NoPoint> {
        match self.off_rows(selection)? {
            None => Ok(()),
            Some((residual, row)) => Err(NoPoint::Stalled {
                jet: self.jet.clone(),
                residual,
                row: selection.rows[row],
            }),
        }
    }

    /// The first equation of a selection that does not hold as written, and by how much. One that would hold on the other side of
    /// a jump ends the search at that switch.
    fn off_rows(&mut self, selection: &Selection) -> Result<Option<(f64, usize)>, NoPoint> {
        self.finder.jumps.clear();
        if self.finder.offsets.is_none() {
            return Ok(None);
        }
        let mut first = None;
        let given = vec![true; self.jet.n_unknowns()];
        let is_written = |row: &Row| matches!(row, Row::Equation { order: 0, .. });
        for row in (0..selection.rows.len()).filter(|row| is_written(&selection.rows[*row])) {
            let block = RowBlock {
                rows: vec![row],
                columns: Vec::new(),
            };
            let mut search = BlockSearch::new(
                &mut self.finder.values,
                selection,
                &block,
                &self.finder.written_nominal,
                &given,
                self.limits.deadline,
            );
            let (residual, size) = search.residual(&self.jet).map_err(NoPoint::Fault)?;
            // Where a row vanishes with all its derivatives, only the residual itself can be read.
            if residual > FAR_OFF && size > FAR_OFF * FAR_OFF {
                first.get_or_insert((residual, row));
                let row = &selection.rows[row];
                let jump = self.finder.values.hidden_jump(row, size, &self.jet);
                self.finder.jumps.extend(jump);
            }
        }
        match self.finder.jumps.first() {
            None => Ok(first),
            Some(pin) => Err(NoPoint::Fault(ArrayFault::Equation(Fault {
                expr: pin.expr,
                kind: FaultKind::Kink,
                order: 0,
                root: 0,
            }))),
        }
    }

    /// Whether one of the unknowns is elsewhere than at its guess, beyond rounding.
    fn has_moved(&self, unknowns: &[usize]) -> bool {
        unknowns.iter().any(|&unknown| {
            let (guess, size) = (self.request.guess[unknown], self.finder.nominal[unknown]);
            (self.jet.get(unknown, 0) - guess).abs() > HOLDS * size.max(guess.abs())
        })
    }

    /// The unknowns whose guesses count, by rank: given ones that are differentiated, given others, those that nobody gave.
    fn ranks(&self) -> [Vec<usize>; 3] {
        let of = |counts: &dyn Fn(bool, bool) -> bool| -> Vec<usize> {
            let differentiated = self.finder.is_differentiated.iter().enumerate();
            differentiated
                .filter(|&(unknown, is)| counts(self.request.is_given(unknown), *is))
                .map(|(unknown, _)| unknown)
                .collect()
        };
        [
            of(&|given, differentiated| given && differentiated),
            of(&|given, differentiated| given && !differentiated),
            of(&|given, differentiated| !given && differentiated),
        ]
    }

    /// Moves along the constraints to the point closest to the guess: rank by rank, what counts more staying as it is.
    ///
    /// With the order in which the rows were solved, ranks of which nothing could be kept have nothing to choose.
    fn approach(
        &mut self,
        selection: &Selection,
        order: Option<&SolveOrder>,
    ) -> Result<Closeness, NoPoint> {
        let ranks = self.ranks();
        if self.finder.is_large {
            return self.approach_at_once(selection, order, &ranks);
        }
        let mut closeness = Closeness::Closest;
        // What earlier ranks have chosen is no longer a column: no landing moves it.
        let mut left = selection.clone();
        for (rank, unknowns) in ranks.iter().enumerate() {
            if unknowns.is_empty() || !can_choose(selection, order, unknowns) {
                continue;
            }
            if self.has_moved(unknowns) {
                self.finder.compromised = true;
                if rank > 0 {
                    self.first_choice.get_or_insert_with(|| self.jet.clone());
                }
                let target = self.target(|unknown| unknowns.contains(&unknown));
                let (before, distance) = (self.jet.clone(), target.distance(&self.jet));
                match self.minimise(&left, &target)? {
                    // Where rounding alone moved a value, there is nothing to gain.
                    _ if target.distance(&self.jet) > distance => self.jet = before,
                    Closeness::Closest => {}
                    other => closeness = other,
                }
            }
            left = without_values(left, |unknown| unknowns.contains(&unknown));
        }
        Ok(closeness)
    }

    /// The same for large systems: what nobody gave counts for a thousandth.
    fn approach_at_once(
        &mut self,
        selection: &Selection,
        order: Option<&SolveOrder>,
        [given, _, others]: &[Vec<usize>; 3],
    ) -> Result<Closeness, NoPoint> {
        let wants =
            |unknowns: &[usize]| self.has_moved(unknowns) && can_choose(selection, order, unknowns);
        if !wants(given) && !wants(others) {
            // Nothing is closer than the guess itself, and large matrices take their time.
            return Ok(Closeness::Closest);
        }
        let mut target = self.target_of_differentiated();
        if !given.is_empty() {
            others
                .iter()
                .for_each(|&unknown| target.weights[unknown] *= NOT_GIVEN);
        }
        let kept = order.map(|order| {
            let kept = order.is_kept.iter().enumerate();
            kept.filter(|(_, kept)| **kept).map(|(at, _)| at).collect()
        });
        self.finder.array.steps.choose(kept);
        let closeness = self.minimise(selection, &target);
        self.finder.array.steps.choose(None);
        closeness
    }

    /// The same on all rows of the array. Where ranks of matrices are hard to tell, a step can lose its rows and is taken back: then all
    /// differentiated unknowns count alike.
    fn approach_whole(&mut self, whole: &Selection) -> Result<Closeness, NoPoint> {
        let before = self.jet.clone();
        for by_rank in [true, false] {
            let found = match by_rank {
                true => self.approach(whole, None)?,
                false => self.minimise(whole, &self.target_of_differentiated())?,
            };
            let closeness = match found {
                Closeness::Closest => self.approach_unseen(whole)?,
                other => other,
            };
            let residuals = self.finder.residuals(&whole.rows, &self.jet);
            let kept = residuals.is_some_and(|rows| rows.iter().all(|row| row.0 <= HOLDS));
            if kept && (closeness == Closeness::Closest || !by_rank) {
                return Ok(closeness);
            }
            self.jet = before.clone();
        }
        Ok(Closeness::Stopped)
    }

    /// What the distance does not see becomes as close to the guess as it can, section 3 of `docs/theory/initial.md`.
    fn approach_unseen(&mut self, selection: &Selection) -> Result<Closeness, NoPoint> {
        let is_seen = self.finder.is_differentiated.clone();
        let unseen = self.target(|unknown| !is_seen[unknown]);
        let left = without_values(selection.clone(), |unknown| is_seen[unknown]);
        self.minimise(&left, &unseen)
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

    /// The guesses of some unknowns, each in its own size.
    fn target(&self, counts: impl Fn(usize) -> bool) -> Target {
        let sizes = self.finder.nominal.iter().enumerate();
        let weight = |(unknown, size): (usize, &f64)| match counts(unknown) {
            true => 1.0 / size,
            false => 0.0,
        };
        Target {
            weights: sizes.map(weight).collect(),
            values: self.request.guess.clone(),
        }
    }

    /// The guesses of the differentiated unknowns: the distance that is told.
    fn target_of_differentiated(&self) -> Target {
        self.target(|unknown| self.finder.is_differentiated[unknown])
    }

    fn report(mut self, closeness: Closeness, distance: f64) -> Result<ConsistentPoint, NoPoint> {
        let n = self.jet.n_unknowns();
        let order = self.order;
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
            pins: Vec::new(),
            choice: SideChoice::default(),
            followed: None,
        })
    }
}

/// Whether numbers became too large.
fn is_overflow(fault: &ArrayFault) -> bool {
    let (ArrayFault::Equation(fault) | ArrayFault::Initial(fault)) = fault;
    matches!(fault.kind, FaultKind::Overflow | FaultKind::NonFiniteInput)
}

/// Whether the order in which the rows were solved kept a value of one of these unknowns; without an order it may have.
fn can_choose(selection: &Selection, order: Option<&SolveOrder>, unknowns: &[usize]) -> bool {
    let is_among = |at: usize| {
        let column = selection.columns[at];
        column.order == 0 && unknowns.contains(&column.unknown)
    };
    order.is_none_or(|order| {
        let kept = order.is_kept.iter().enumerate();
        kept.filter(|(_, kept)| **kept).any(|(at, _)| is_among(at))
    })
}

/// The selection without the values of some unknowns, which then stay as they are.
fn without_values(mut selection: Selection, is_chosen: impl Fn(usize) -> bool) -> Selection {
    let columns = &mut selection.columns;
    columns.retain(|column| column.order > 0 || !is_chosen(column.unknown));
    selection
}
