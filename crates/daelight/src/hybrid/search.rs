//! The mode at an instant where following the relations one after the other leads to none.
//!
//! Ideal diodes switch together: with one of them changed alone the equations contradict each other. Section 3 of
//! `docs/theory/hybrid.md`.

use super::{Driver, HybridEnd, MAX_ROUNDS};
use daelight_lang::{ChangedBy, Symbol};

impl Driver<'_> {
    /// Finds truths of the relations that decide the mode which agree with the point they lead to, and for a while after it:
    /// as few changed as can be. False if there are none, and everything is as it was.
    pub(super) fn find_mode(&mut self, at_start: bool) -> bool {
        let needed = super::start::needed(self.model, self.hybrid);
        let relations = self.hybrid.relations.iter().enumerate();
        let free: Vec<usize> = relations
            .filter(|(at, r)| {
                r.by == ChangedBy::Unknowns
                    && needed.contains(&r.parameter)
                    && !self.modes.over.contains(at)
            })
            .map(|(at, _)| at)
            .collect();
        if free.is_empty() || 1 << free.len().min(31) > MAX_ROUNDS * MAX_ROUNDS {
            return false;
        }
        let mut order: Vec<u32> = (0..1u32 << free.len()).collect();
        order.sort_by_key(|flips| flips.count_ones());
        let values = self.values.clone();
        let (mode, point, start) = (self.mode, self.point.clone(), self.start.clone());
        let (read_at, set_at) = (self.read_at.clone(), self.set_at);
        let (jumped, impulses) = (self.jumped.clone(), self.impulses.clone());
        for flips in order {
            for (bit, &at) in free.iter().enumerate() {
                let parameter = self.hybrid.relations[at].parameter;
                if flips >> bit & 1 == 1 {
                    self.values[parameter] = 1.0 - self.values[parameter];
                }
            }
            if self.is_right(at_start, &free, jumped.len()) {
                return true;
            }
            self.values.clone_from(&values);
            (self.mode, self.set_at) = (mode, set_at);
            (self.point, self.start) = (point.clone(), start.clone());
            self.read_at.clone_from(&read_at);
            self.jumped.clone_from(&jumped);
            self.impulses.clone_from(&impulses);
        }
        false
    }

    /// Whether the present truths of relations lead to a point that they agree with, without a jump.
    fn is_right(&mut self, at_start: bool, free: &[usize], n_jumped: usize) -> bool {
        for _ in 0..MAX_ROUNDS {
            let before = self.values.clone();
            self.evaluate_variables(at_start);
            self.evaluate_held();
            if before == self.values {
                break;
            }
        }
        let is_found = match at_start {
            true => self.find_start().is_ok(),
            false => self.restart(&[]).is_ok() && self.jumped.len() == n_jumped,
        };
        is_found && free.iter().all(|&at| self.agrees(at))
    }

    /// Whether a relation has the truth that is held, at the present point or, on its border, just behind it.
    fn agrees(&mut self, at: usize) -> bool {
        let place = self.layout.relations + at;
        let held = self.values[self.hybrid.relations[at].parameter] != 0.0;
        let value = self.program.value(place, &self.point, &self.values);
        if !self.is_on_border(place) {
            return (value != 0.0) == held;
        }
        let (Some(start), Some(mode)) = (&self.start, self.modes.list.get(self.mode)) else {
            return false;
        };
        match mode
            .events
            .truth_behind(at, &self.values, (self.point.time, &start.jet))
        {
            Some(truth) => truth == held,
            None => true,
        }
    }

    /// Lets relations that chatter decide from within the equations, which then slide along them; false if something else
    /// reads them.
    pub(super) fn loosen(&mut self, since: f64) -> Result<bool, HybridEnd> {
        let changed = (0..self.flips.len()).filter(|&at| self.flips[at].0 >= since);
        let changed: Vec<usize> = changed.filter(|at| !self.modes.over.contains(at)).collect();
        let rules = self.hybrid.variables.iter().map(|v| v.rule.expr());
        let reinits = self.hybrid.reinits.iter();
        let reinits = reinits.flat_map(|r| [r.condition, r.value]);
        let checks = self.hybrid.checks.iter();
        let checks = checks.flat_map(|c| c.guard.into_iter().chain([c.condition]));
        let exprs: Vec<_> = rules.chain(reinits).chain(checks).collect();
        let symbols = daelight_expr::Walker::new().symbols(&self.model.graph, &exprs);
        let is_read = |parameter: usize| {
            let mut symbols = symbols.iter();
            symbols.any(|&id| self.model.symbols.get(id) == Symbol::Parameter(parameter))
        };
        let is_loose = |at: &usize| {
            let relation = &self.hybrid.relations[*at];
            relation.by == ChangedBy::Unknowns
                && self.read.contains(&relation.parameter)
                && !is_read(relation.parameter)
        };
        if changed.is_empty() || !changed.iter().all(is_loose) {
            return Ok(false);
        }
        self.modes.loosen(changed);
        self.restart(&[])?;
        Ok(true)
    }
}
