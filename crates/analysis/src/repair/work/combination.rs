//! Steps that replace an equation by a combination of equations and their derivatives.

use super::{Cleaned, Condition, Entry, LONG, MAX_TRIES, Row, Work, structure_of, value};
use crate::repair::NotRepaired;
use crate::repair::null::Cost;
use crate::repair::repaired::{EquationOrigin, StepKind, Term};
use crate::structure::Structure;
use daelight_expr::{ExprId, Node, UnaryOp};

impl Work<'_> {
    /// Replaces an equation by a combination, (2) and (3) of `docs/theory/repair.md`.
    pub(super) fn combine(
        &mut self,
        structure: &Structure,
        block: usize,
        matrix: &[Vec<ExprId>],
        condition: Condition,
    ) -> Result<Option<Structure>, NotRepaired> {
        let equations = &structure.blocks()[block].equations;
        let offsets = structure.offsets();
        for vector in self.null_vectors(matrix, equations)? {
            let least = vector.support.iter().map(|&i| offsets.equation[i]).min();
            let least = least.expect("a null vector is not zero");
            let allowed = vector.entries.iter().all(|&entry| {
                let occurring = self.algebra.unknowns(entry);
                occurring.into_iter().all(|(unknown, order)| {
                    let position = self.positions[&unknown];
                    order as usize + least < offsets.variable[position]
                })
            });
            if allowed != (condition == Condition::Sufficient) {
                continue;
            }
            let terms: Vec<Term> = vector
                .support
                .iter()
                .zip(&vector.entries)
                .map(|(&equation, &factor)| Term {
                    equation,
                    times_differentiated: offsets.equation[equation] - least,
                    factor,
                })
                .collect();
            let sum = self.combination(&terms);
            let cleaned = self.cleaned(sum);
            self.algebra.check_size()?;
            if cleaned.entries.is_empty() {
                let mut text = self.combination_text(&terms);
                if let Some(rest) = self.text(cleaned.residual) {
                    text = format!("{text}, which is {rest},");
                }
                return Err(NotRepaired::Dependent { text });
            }
            // Any equation that is not differentiated can go; best is one whose factor cannot vanish.
            let mut candidates: Vec<(Cost, usize, ExprId)> = terms
                .iter()
                .zip(&vector.costs)
                .filter(|(term, _)| term.times_differentiated == 0)
                .map(|(term, &cost)| (cost, term.equation, term.factor))
                .collect();
            candidates.sort_unstable();
            let below = value(structure);
            for (_, replaced, factor) in candidates {
                let better = self.try_row(structure, replaced, &terms, factor, &cleaned, below)?;
                if better.is_some() {
                    return Ok(better);
                }
            }
        }
        Ok(None)
    }

    /// Puts a combination in the place of an equation, and keeps it if the value of the structure stays below a limit.
    fn try_row(
        &mut self,
        structure: &Structure,
        replaced: usize,
        terms: &[Term],
        factor: ExprId,
        cleaned: &Cleaned,
        below: u64,
    ) -> Result<Option<Structure>, NotRepaired> {
        let new = Row {
            residual: cleaned.residual,
            entries: cleaned.entries.clone(),
            origins: self.joined_origins(terms),
            label: if replaced < self.n_written {
                format!("{} as replaced", (self.names.equation)(replaced))
            } else {
                self.rows[replaced].label.clone()
            },
            is_clean: true,
        };
        let before = std::mem::replace(&mut self.rows[replaced], new);
        let better = structure_of(&self.rows);
        let new = std::mem::replace(&mut self.rows[replaced], before);
        if better.as_ref().is_some_and(|better| value(better) >= below) {
            return Ok(None);
        }
        let mut text = self.combination_text(terms);
        text = format!("{text} replaces {}", self.rows[replaced].label);
        if let Some(equation) = self.text(cleaned.residual) {
            text = format!("{text}: {equation} = 0");
        }
        let Some(better) = better else {
            return Err(NotRepaired::NoTransversal { text });
        };
        self.rows[replaced] = new;
        self.suspect(&[factor]);
        self.suspect(&cleaned.lost);
        let kind = StepKind::Combination {
            replaced,
            terms: terms.to_vec(),
        };
        self.record(structure, &better, kind, text);
        Ok(Some(better))
    }

    /// Subtracts a multiple of one equation from another of a block that is singular at the caller's point, although
    /// it is regular at random jets: section 5 of `docs/theory/repair.md`.
    pub(super) fn unmix(
        &mut self,
        structure: &Structure,
    ) -> Result<Option<Structure>, NotRepaired> {
        let Some(point) = self.point else {
            return Ok(None);
        };
        let entries = self.written_entries(structure);
        let irregular = self.form(structure, &entries).uncertain_at(point);
        let mut tried = Vec::new();
        for block in irregular {
            let equations = &structure.blocks()[block].equations;
            if equations.len() > self.budget.block {
                continue;
            }
            for &row in equations {
                for (other, factor) in self.common_multiples(row) {
                    if tried.len() == MAX_TRIES {
                        return Ok(None);
                    }
                    let graph = &mut self.algebra.graph;
                    let one = graph.constant(1.0);
                    let factor = graph.neg(factor);
                    let terms = [(row, one), (other, factor)].map(|(equation, factor)| Term {
                        equation,
                        times_differentiated: 0,
                        factor,
                    });
                    let sum = self.combination(&terms);
                    let cleaned = self.cleaned(sum);
                    if self.algebra.check_size().is_err() {
                        return Ok(None);
                    }
                    let better =
                        self.try_row(structure, row, &terms, one, &cleaned, value(structure))?;
                    if better.is_some() {
                        return Ok(better);
                    }
                    tried.push((row, terms, cleaned));
                }
            }
        }
        // A shorter equation may be the first of two steps.
        for (row, terms, cleaned) in tried {
            if cleaned.entries.len() < self.rows[row].entries.len() {
                let factor = terms[0].factor;
                let below = value(structure) + 1;
                let better = self.try_row(structure, row, &terms, factor, &cleaned, below)?;
                if better.is_some() {
                    return Ok(better);
                }
            }
        }
        Ok(None)
    }

    /// Equations with a multiple that has a term in common with an equation; the factors hold unknowns and no quotients.
    fn common_multiples(&mut self, row: usize) -> Vec<(usize, ExprId)> {
        let mut found = Vec::new();
        for entry in self.rows[row].entries.clone() {
            for other in (0..self.rows.len()).filter(|&other| other != row) {
                let same = |e: &&Entry| (e.position, e.order) == (entry.position, entry.order);
                let Some(pivot) = self.rows[other].entries.iter().find(same) else {
                    continue;
                };
                let factor = self.algebra.graph.div(entry.expr, pivot.expr);
                let factor = self.algebra.simplify(factor);
                if self.algebra.cost(factor).0 == 2
                    && self.algebra.graph.is_total(factor)
                    && !found.contains(&(other, factor))
                {
                    found.push((other, factor));
                }
            }
        }
        found
    }

    /// The sum of multiples of equations and their derivatives.
    fn combination(&mut self, terms: &[Term]) -> ExprId {
        let mut sum = None;
        for term in terms {
            let residual = self.rows[term.equation].residual;
            let derivative = self.algebra.derivative(residual, term.times_differentiated);
            let graph = &mut self.algebra.graph;
            let product = graph.mul(term.factor, derivative);
            sum = Some(match sum {
                None => product,
                Some(sum) => graph.add(sum, product),
            });
        }
        sum.unwrap_or_else(|| self.algebra.graph.constant(0.0))
    }

    /// The equations as written behind a combination.
    fn joined_origins(&self, terms: &[Term]) -> Vec<EquationOrigin> {
        let mut joined: Vec<EquationOrigin> = Vec::new();
        for term in terms {
            for origin in &self.rows[term.equation].origins {
                let times = origin.times_differentiated + term.times_differentiated;
                match joined.iter_mut().find(|o| o.equation == origin.equation) {
                    Some(before) => {
                        before.times_differentiated = times.max(before.times_differentiated);
                    }
                    None => joined.push(EquationOrigin {
                        equation: origin.equation,
                        times_differentiated: times,
                    }),
                }
            }
        }
        joined.sort_unstable_by_key(|origin| origin.equation);
        joined
    }

    pub(super) fn combination_text(&self, terms: &[Term]) -> String {
        let mut text = String::new();
        for term in terms {
            let label = &self.rows[term.equation].label;
            let mut part = match term.times_differentiated {
                0 => format!("({label})"),
                times => format!("{}{label}{}", "der(".repeat(times), ")".repeat(times)),
            };
            let graph = &self.algebra.graph;
            let (factor, is_negative) = match graph.node(term.factor) {
                Node::Unary(UnaryOp::Neg, inner) => (inner, true),
                Node::Constant(bits) => (term.factor, f64::from_bits(bits) < 0.0),
                _ => (term.factor, false),
            };
            match graph.node(factor) {
                Node::Constant(bits) => {
                    let size = f64::from_bits(bits).abs();
                    if size != 1.0 {
                        part = format!("{}*{part}", daelight_expr::number(size));
                    }
                }
                node => {
                    let factor = self.text(factor).unwrap_or_else(|| LONG.to_string());
                    part = match node {
                        Node::Symbol(_) | Node::Unary(..) => format!("{factor}*{part}"),
                        _ => format!("({factor})*{part}"),
                    };
                }
            }
            text.push_str(match (text.is_empty(), is_negative) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            });
            text.push_str(&part);
        }
        text
    }
}
