//! Conditions that contradict each other: a smallest set of them, the constraint they break, and what to free;
//! section 8 of `docs/theory/initial.md`.

use super::agreement::agrees_as_written;
use super::freedom::freedom;
use crate::System;
use crate::hidden::hidden_constraints;
use crate::initial::{Closeness, ConsistentPoint, Finder, Request, Row, TaylorJet, nominal};
use crate::tolerances::{BESIDE, FAR_OFF};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More conditions than needed are accepted when they hold to this, relative to their terms, and no worse than their decimals tell.
pub const ACCEPTED: f64 = 1e-8;
/// Sizes by which the guess is moved in the searches for a contradiction. They are many, since a branch that is not found
/// would be taken for a contradiction.
const ATTEMPTS: [f64; 14] = [
    0.0, 0.001, 0.2, 0.6, 1.2, 2.0, 3.0, 0.6, 1.2, 2.0, 3.0, 1.2, 2.0, 3.0,
];
/// Values this close to a multiple of [`ROUND`] may be that multiple, known to the root of the rounding.
const FOLD: std::ops::Range<f64> = 1e-11..1e-7;
const ROUND: f64 = 1e-6;
/// Most rows that are tried as the constraint that is broken.
const MAX_CANDIDATES: usize = 200;

/// Something that must hold at the start beside the equations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// What must hold.
    pub row: Row,
    /// Whether it is a bound that the search has reached, not a value the user fixed.
    pub is_bound: bool,
}

/// A constraint that no choice of the other unknowns satisfies together with the conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// The equation it comes from.
    pub equation: usize,
    /// Further equations, where none alone stands in the way: they cannot all hold.
    pub together_with: Vec<usize>,
    /// How often that is differentiated.
    pub times_differentiated: usize,
    /// The constraint in the user's symbols, if differentiated.
    pub text: Option<String>,
    /// What its left side minus its right side is, instead of 0, when all else holds; `None` where the conditions do not
    /// determine it.
    pub value: Option<f64>,
    /// Further conditions on unknowns in it, which are as given.
    pub involved: Vec<Condition>,
    /// Of an equation in a component: components in whose equations the contradiction is as well, since leaving out one of those lets
    /// the conditions hold too. They form a loop with its own.
    pub loop_of: Vec<Arc<str>>,
}

/// A condition to give up, and what happens then.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// Position in [`Conflict::conditions`].
    pub condition: usize,
    /// The value that the unknown takes when its condition is dropped; `None` for an initial equation.
    pub value: Option<f64>,
    /// How far that is, relative to the size of the value.
    pub change: f64,
    /// Whether all other conditions then hold, not only those of this conflict.
    pub resolves_all: bool,
    /// Whether the search went there straight from the guess, so that the other unknowns stay on their branch.
    pub is_direct: bool,
}

/// Conditions that cannot hold together.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The conflicting conditions; none can be left out without the rest being satisfiable.
    pub conditions: Vec<Condition>,
    /// Whether every condition was tried: otherwise the budget ended the search, and some may be innocent.
    pub is_smallest: bool,
    /// Whether ranks show that the conditions depend on each other; otherwise no point was found, which is no proof.
    pub is_dependent: bool,
    /// The constraint that they break, if one alone stands in the way.
    pub broken: Option<Broken>,
    /// What can be freed: what keeps the branch of the others first, then the smallest change.
    pub remedies: Vec<Remedy>,
    /// How many values the equations leave open, if known.
    pub n_open: Option<usize>,
    /// How many conditions there are in all.
    pub n_conditions: usize,
}

/// What became of conditions that could not be solved at once.
pub enum Resolution {
    /// They are more than needed, and hold all the same.
    Accepted(Box<ConsistentPoint>),
    /// They contradict each other.
    Conflict(Box<Conflict>),
}

/// Looks for contradictions between conditions of one request.
pub struct Judge<'j, 'a> {
    pub system: &'j System,
    pub finder: &'j mut Finder<'a>,
    pub request: &'j Request,
    /// Offsets of the equations, if the structure is right.
    pub offsets: Option<&'j [usize]>,
    /// The point without any condition.
    pub bare: &'j TaylorJet,
    pub deadline: Instant,
}

impl Judge<'_, '_> {
    fn out_of_time(&self) -> bool {
        Instant::now() > self.deadline
    }

    fn with(&self, conditions: &[Condition]) -> Request {
        let left = self.deadline.saturating_duration_since(Instant::now());
        Request {
            conditions: conditions.iter().map(|c| c.row).collect(),
            budget: left.min(Duration::from_secs(3600)),
            ..self.request.clone()
        }
    }

    /// A point that satisfies all conditions: exactly, or as many as are independent exactly and the others nearly.
    fn feasible(&mut self, conditions: &[Condition]) -> Option<ConsistentPoint> {
        let request = self.with(conditions);
        for (attempt, &size) in ATTEMPTS.iter().enumerate() {
            let found = self
                .finder
                .from_beside(&request, attempt, size, self.deadline);
            if let Ok(point) = found {
                let freedom = freedom(self.system, self.finder, &request, &point.jet);
                let agrees = freedom.is_none_or(|freedom| {
                    let jet = &point.jet;
                    agrees_as_written(self.system, self.finder, &request, jet, &freedom)
                        .unwrap_or(true)
                });
                return agrees.then_some(point);
            }
            if self.out_of_time() {
                return None;
            }
        }
        let freedom = freedom(self.system, self.finder, &request, self.bare)?;
        if freedom.redundant.is_empty() {
            return None;
        }
        let needed: Vec<Condition> = freedom.using.iter().map(|at| conditions[*at]).collect();
        let needed = self.with(&needed);
        let point = self.finder.closest(&needed).ok()?;
        let rest: Vec<Row> = freedom
            .redundant
            .iter()
            .map(|at| conditions[*at].row)
            .collect();
        let residuals = self.finder.residuals(&rest, &point.jet)?;
        let is_close = residuals.iter().all(|residual| residual.0 <= ACCEPTED);
        let agrees = agrees_as_written(self.system, self.finder, &request, &point.jet, &freedom)?;
        (is_close && agrees).then_some(point)
    }

    /// Decides about conditions that the search could not satisfy.
    pub fn resolve(&mut self, conditions: &[Condition]) -> Resolution {
        if let Some(point) = self.feasible(conditions) {
            return Resolution::Accepted(Box::new(point));
        }
        // Deletion: a condition stays only if the others can be satisfied without it. Those that need most derivatives
        // go first, so that the conflict that is left is the most basic one.
        let mut kept = conditions.to_vec();
        kept.sort_by_key(|condition| Reverse(self.finder.stage_of(&condition.row)));
        let mut is_smallest = true;
        let mut at = 0;
        while at < kept.len() {
            if self.out_of_time() {
                is_smallest = false;
                break;
            }
            let mut rest = kept.clone();
            rest.remove(at);
            if self.feasible(&rest).is_some() {
                at += 1;
            } else {
                kept = rest;
            }
        }
        kept = conditions
            .iter()
            .copied()
            .filter(|c| kept.contains(c))
            .collect();
        let remedies = self.remedies(conditions, &kept);
        let bare = self.bare.clone();
        let request = self.with(&kept);
        let around = freedom(self.system, self.finder, &request, &bare);
        let is_dependent = around
            .as_ref()
            .is_some_and(|freedom| !freedom.redundant.is_empty());
        let mut broken = self.broken(conditions, &kept);
        if let Some(broken) = &mut broken {
            broken.value = broken.value.filter(|_| is_dependent);
        }
        Resolution::Conflict(Box::new(Conflict {
            broken,
            is_smallest,
            is_dependent,
            n_open: around.map(|freedom| freedom.n_open),
            remedies,
            n_conditions: conditions.len(),
            conditions: kept,
        }))
    }

    /// What each of the conflicting conditions would become if it alone were dropped.
    fn remedies(&mut self, all: &[Condition], conflicting: &[Condition]) -> Vec<Remedy> {
        let mut remedies = Vec::new();
        for (at, condition) in conflicting.iter().enumerate() {
            if self.out_of_time() {
                break;
            }
            let without = |list: &[Condition]| -> Vec<Condition> {
                list.iter().copied().filter(|c| c != condition).collect()
            };
            // Other conflicts may remain when this one is solved.
            let point = self.feasible(&without(all));
            let resolves_all = point.is_some();
            let point = point.or_else(|| self.feasible(&without(conflicting)));
            let Some(point) = point else { continue };
            remedies.push(match condition.row {
                Row::Value { unknown, value } => {
                    let mut now = point.jet.get(unknown, 0);
                    // At a fold a value is known to the root of the rounding: a round one may serve as well.
                    let round = (now / ROUND).round() * ROUND;
                    if FOLD.contains(&(round - now).abs()) {
                        let mut with = without(if resolves_all { all } else { conflicting });
                        with.push(Condition {
                            row: Row::Value {
                                unknown,
                                value: round,
                            },
                            ..*condition
                        });
                        if self.feasible(&with).is_some() {
                            now = round;
                        }
                    }
                    Remedy {
                        condition: at,
                        value: Some(now),
                        change: (now - value).abs() / (1.0 + value.abs()),
                        resolves_all,
                        is_direct: point.attempt == 0 && point.closeness == Closeness::Closest,
                    }
                }
                _ => Remedy {
                    condition: at,
                    value: None,
                    change: f64::INFINITY,
                    resolves_all,
                    is_direct: point.attempt == 0 && point.closeness == Closeness::Closest,
                },
            });
        }
        remedies.sort_by(|a, b| {
            let rank = |r: &Remedy| (r.resolves_all, r.is_direct);
            rank(b).cmp(&rank(a)).then(a.change.total_cmp(&b.change))
        });
        remedies
    }

    /// Constraints that conditions may break, each as how often it is differentiated and its equation: the most telling ones first.
    fn breakable(&self, conflicting: &[Condition]) -> Vec<(usize, usize)> {
        let equations = self.system.equations();
        let differentiated = equations.pattern(1);
        let mut candidates: Vec<(usize, usize)> = (0..equations.n_equations())
            .filter(|i| differentiated.row(*i).is_empty())
            .flat_map(|i| {
                let most = self
                    .offsets
                    .map_or(self.request.order, |offsets| offsets[i]);
                (0..=most).map(move |order| (order, i))
            })
            .collect();
        // Of equations differentiated equally often, one that holds more of the conflicting values says more: the law of a loop rather
        // than the source in it.
        let values = equations.pattern(0);
        let is_conflicting = |unknown: &u32| {
            let is_it = |condition: &Condition| matches!(condition.row, Row::Value { unknown: of, .. } if of == *unknown as usize);
            conflicting.iter().any(is_it)
        };
        let n_held = |equation: usize| {
            let columns = &values.columns()[values.row(equation)];
            columns
                .iter()
                .filter(|unknown| is_conflicting(unknown))
                .count()
        };
        candidates.sort_by_key(|&(order, equation)| (order, Reverse(n_held(equation)), equation));
        candidates.truncate(MAX_CANDIDATES);
        candidates
    }

    /// The constraint whose omission lets the conditions hold, the least differentiated first.
    fn broken(&mut self, all: &[Condition], conflicting: &[Condition]) -> Option<Broken> {
        let equations = self.system.equations();
        let requests = [self.with(all), self.with(conflicting)];
        let candidates = self.breakable(conflicting);
        // A row that the rest leaves open says no number: one whose residual the rest decides is told instead, where there is one.
        let mut open = None;
        // With all conditions the other unknowns are as the user has them; they may be in conflict elsewhere.
        for (request, &(order, equation)) in requests
            .iter()
            .flat_map(|request| candidates.iter().map(move |candidate| (request, candidate)))
        {
            if self.out_of_time() {
                break;
            }
            let row = Row::Equation { equation, order };
            let jet = self
                .finder
                .without_rows(request, &[row], self.bare, self.deadline);
            let Some(jet) = jet else { continue };
            let (relative, value) = self.finder.residuals(&[row], &jet)?[0];
            if relative <= ACCEPTED {
                continue;
            }
            let factorial: f64 = (1..=order).map(|k| k as f64).product();
            let mut times = vec![0; equations.n_equations()];
            times[equation] = order;
            let hidden = hidden_constraints(self.system, &times, order);
            let text = hidden
                .into_iter()
                .find(|hidden| hidden.times_differentiated == order)
                .map(|hidden| hidden.text);
            let seen = self.finder.unknowns_in(row, &jet);
            let is_seen = |condition: &Condition| match condition.row {
                Row::Value { unknown, .. } => {
                    seen.contains(&unknown) && request.conditions.contains(&condition.row)
                }
                _ => false,
            };
            let further = all
                .iter()
                .filter(|c| !conflicting.contains(c) && is_seen(c));
            let is_decided = self.is_decided(request, row, &jet, value);
            let loop_of = match is_decided {
                true => self.loop_of(request, &candidates, (order, equation)),
                false => Vec::new(),
            };
            let broken = Broken {
                loop_of,
                involved: further.copied().collect(),
                equation,
                together_with: Vec::new(),
                times_differentiated: order,
                text,
                value: is_decided.then_some(factorial * value),
            };
            if is_decided {
                return Some(broken);
            }
            open.get_or_insert(broken);
        }
        open.or_else(|| self.broken_together(conflicting))
    }

    /// The equations without derivatives that hold conflicting values, where the conditions can hold without these alone.
    fn broken_together(&mut self, conflicting: &[Condition]) -> Option<Broken> {
        let equations = self.system.equations();
        let request = self.with(conflicting);
        let holds_conflicting = |row: Row, finder: &mut Finder<'_>| {
            let seen = finder.unknowns_in(row, self.bare);
            conflicting.iter().any(|condition| match condition.row {
                Row::Value { unknown, .. } => seen.contains(&unknown),
                _ => false,
            })
        };
        let mut together: Vec<usize> = (0..equations.n_equations())
            .filter(|i| equations.pattern(1).row(*i).is_empty())
            .take(MAX_CANDIDATES)
            .filter(|&equation| {
                holds_conflicting(Row::Equation { equation, order: 0 }, self.finder)
            })
            .collect();
        let highest = self.request.order.max(
            self.offsets
                .map_or(0, |offsets| offsets.iter().copied().max().unwrap_or(0)),
        );
        let omitted: Vec<Row> = together
            .iter()
            .flat_map(|&equation| (0..=highest).map(move |order| Row::Equation { equation, order }))
            .collect();
        let jet = (self.finder).without_rows(&request, &omitted, self.bare, self.deadline)?;
        let written = |equation: &usize| Row::Equation {
            equation: *equation,
            order: 0,
        };
        let rows: Vec<Row> = together.iter().map(written).collect();
        let mut residuals = self.finder.residuals(&rows, &jet)?.into_iter();
        together.retain(|_| residuals.next().is_some_and(|r| r.0 > ACCEPTED));
        let (&equation, further) = together.split_first()?;
        Some(Broken {
            equation,
            together_with: further.to_vec(),
            times_differentiated: 0,
            text: None,
            value: None,
            involved: Vec::new(),
            loop_of: Vec::new(),
        })
    }

    /// The components of all equations that are broken as well as one of a component, if its contradiction runs through several.
    fn loop_of(
        &mut self,
        request: &Request,
        candidates: &[(usize, usize)],
        (order, equation): (usize, usize),
    ) -> Vec<Arc<str>> {
        let written = self.system.written();
        let component_of = |equation: usize| Arc::clone(&written[equation].instance.component);
        let mut found = vec![component_of(equation)];
        if found[0].is_empty() {
            return Vec::new();
        }
        for &(_, other) in candidates.iter().filter(|candidate| candidate.0 == order) {
            let component = component_of(other);
            if component.is_empty() || found.contains(&component) || self.out_of_time() {
                continue;
            }
            let row = Row::Equation {
                equation: other,
                order,
            };
            let jet = (self.finder).without_rows(request, &[row], self.bare, self.deadline);
            let residual = jet.and_then(|jet| Some(self.finder.residuals(&[row], &jet)?[0].0));
            if residual.is_some_and(|relative| relative > ACCEPTED) {
                found.push(component);
            }
        }
        match found.len() {
            1 => Vec::new(),
            _ => found,
        }
    }

    /// Whether a row that is left out has the same residual where the rest holds elsewhere, searched from both sides of a jet.
    fn is_decided(&mut self, request: &Request, row: Row, jet: &TaylorJet, value: f64) -> bool {
        let sizes = nominal(self.system);
        let mut same = |sign: f64| {
            let mut beside = jet.clone();
            for (unknown, size) in sizes.iter().enumerate() {
                let step = BESIDE * size.max(jet.get(unknown, 0).abs());
                beside.set(unknown, 0, jet.get(unknown, 0) + sign * step);
            }
            let found = (self.finder).without_rows(request, &[row], &beside, self.deadline);
            let residual = found.and_then(|jet| Some(self.finder.residuals(&[row], &jet)?[0].1));
            residual.is_some_and(|other| (other - value).abs() <= FAR_OFF * value.abs())
        };
        same(1.0) && same(-1.0)
    }
}
