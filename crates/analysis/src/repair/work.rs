//! The steps of a repair: combinations of equations, new unknowns, and what cancels.

use super::fraction::simplified;
use super::jets::{Jets, Zero};
use super::null::{Algebra, Cost, left_null_vectors};
use super::repaired::{Extra, Origin, Repaired, Step, StepKind, Suspect, Term, write_name};
use super::{Budget, Failure, Names, rank};
use crate::equations::Equations;
use crate::structure::{SignatureMatrix, Structure, SystemJacobian};
use daelight_expr::{ExprId, FastMap, Graph, SymbolId, Walker};
use daelight_lang::{Symbol, Symbols};
use daelight_linalg::Verdict;
use std::sync::Arc;

/// How often a new equation is looked through for what cancels.
const MAX_ROUNDS: usize = 4;

/// How many combinations are tried for a block that is singular at the caller's point only.
const MAX_TRIES: usize = 400;

/// Stands for an expression that is too long for a text.
const LONG: &str = "...";

/// Which kind of step is tried first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Preference {
    Combination,
    Substitution,
}

/// Which null vectors are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    /// Those that are known to make the structure better.
    Sufficient,
    /// Those that happen to.
    Tried,
}

/// The derivative of an equation by a derivative of the unknown at a position.
#[derive(Clone, Copy)]
struct Entry {
    position: usize,
    order: u32,
    expr: ExprId,
}

/// An equation in the making.
#[derive(Clone)]
struct Row {
    residual: ExprId,
    /// All its derivatives by unknowns and their derivatives.
    entries: Vec<Entry>,
    origins: Vec<Origin>,
    label: String,
    /// Whether the entries were tested for zeros.
    is_clean: bool,
}

/// An equation freed of what cancels, with the denominators that cancelled.
struct Cleaned {
    residual: ExprId,
    entries: Vec<Entry>,
    lost: Vec<ExprId>,
}

/// A null vector of a block: which of its equations or unknowns, and with which entries.
struct NullVector {
    support: Vec<usize>,
    entries: Vec<ExprId>,
    costs: Vec<Cost>,
}

/// The state of a repair.
pub(super) struct Work<'a> {
    algebra: Algebra,
    rows: Vec<Row>,
    /// The number in the model of the unknown at each position, and back.
    unknowns: Vec<usize>,
    positions: FastMap<usize, usize>,
    n_written: usize,
    n_model_unknowns: usize,
    n_parameters: usize,
    extra: Vec<Extra>,
    steps: Vec<Step>,
    suspects: Vec<ExprId>,
    names: &'a Names<'a>,
    budget: &'a Budget,
    /// A consistent jet of the unknowns as written, if the caller has one.
    point: Option<&'a dyn Fn(Symbol) -> f64>,
}

impl<'a> Work<'a> {
    pub fn new(
        equations: &Equations,
        jets: &Jets,
        point: Option<&'a dyn Fn(Symbol) -> f64>,
        names: &'a Names<'a>,
        budget: &'a Budget,
    ) -> Self {
        let graph = Graph::clone(equations.graph());
        let unknowns = equations.variables().unknowns();
        let positions = unknowns
            .iter()
            .enumerate()
            .map(|(at, &u)| (u, at))
            .collect();
        let mut rows: Vec<Row> = equations
            .residuals()
            .iter()
            .enumerate()
            .map(|(equation, &residual)| Row {
                residual,
                entries: Vec::new(),
                origins: vec![Origin {
                    equation,
                    times_differentiated: 0,
                }],
                label: (names.equation)(equation),
                is_clean: false,
            })
            .collect();
        for order in 0..=equations.order() {
            let matrix = equations.jacobian(order);
            for (row, position, at) in matrix.pattern.iter() {
                rows[row].entries.push(Entry {
                    position,
                    order: order as u32,
                    expr: matrix.entries[at],
                });
            }
        }
        Self {
            algebra: Algebra {
                max_nodes: graph.len().saturating_add(budget.nodes),
                graph,
                symbols: Symbols::clone(equations.symbols()),
                jets: jets.clone(),
                walker: Walker::new(),
            },
            rows,
            unknowns,
            positions,
            n_written: equations.n_unknowns(),
            n_model_unknowns: equations.variables().n_unknowns(),
            n_parameters: equations.n_parameters(),
            extra: Vec::new(),
            steps: Vec::new(),
            suspects: Vec::new(),
            names,
            budget,
            point,
        }
    }

    /// Takes steps until no block is singular at random jets, nor at the point if that can be had.
    pub fn run(&mut self, preference: Preference) -> Result<(), Failure> {
        let mut structure = structure(&self.rows).ok_or(Failure::NoStep)?;
        loop {
            let entries = self.written_entries(&structure);
            let blocks = rank::blocks(
                &self.algebra.graph,
                &self.algebra.symbols,
                &self.algebra.jets,
                &structure,
                &entries,
                self.point,
            );
            let size = |&&block: &&usize| structure.blocks()[block].equations.len();
            if self.steps.len() >= self.budget.steps {
                return Err(Failure::Budget("steps"));
            }
            structure = if let Some(&block) = blocks.singular.iter().min_by_key(size) {
                self.step(&structure, block, preference)?
            } else if let Some(block) = blocks.unclear.first() {
                return Err(Failure::RankUnclear { n: size(&block) });
            } else if let Some(better) = self.unmix(&structure)? {
                better
            } else {
                return Ok(());
            };
        }
    }

    pub fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    /// The entries of the system Jacobian row by row.
    fn jacobian_entries(&self, structure: &Structure) -> Vec<ExprId> {
        let mut entries = Vec::with_capacity(structure.n_jacobian_entries());
        for (row, equation) in self.rows.iter().enumerate() {
            for position in structure.jacobian_row(row) {
                let order = structure.jacobian_order(row, position);
                let is_it = |e: &&Entry| e.position == position && Some(e.order) == order;
                let found = equation.entries.iter().find(is_it);
                entries.push(found.expect("the structure is that of the rows").expr);
            }
        }
        entries
    }

    /// The entries of the system Jacobian in the unknowns as written, for which the caller's point has values.
    fn written_entries(&mut self, structure: &Structure) -> Vec<ExprId> {
        let mut entries = self.jacobian_entries(structure);
        if !self.extra.is_empty() {
            for entry in &mut entries {
                *entry = self.in_written_unknowns(*entry);
            }
        }
        entries
    }

    /// One step that makes the structure better.
    fn step(
        &mut self,
        structure: &Structure,
        block: usize,
        preference: Preference,
    ) -> Result<Structure, Failure> {
        if let Some(better) = self.cancel(structure, block)? {
            return Ok(better);
        }
        let matrix = self.block_matrix(structure, block);
        let order = match preference {
            Preference::Combination => [Self::combine, Self::substitute],
            Preference::Substitution => [Self::substitute, Self::combine],
        };
        for condition in [Condition::Sufficient, Condition::Tried] {
            for attempt in order {
                if let Some(better) = attempt(self, structure, block, &matrix, condition)? {
                    return Ok(better);
                }
            }
        }
        Err(Failure::NoStep)
    }

    fn block_matrix(&mut self, structure: &Structure, block: usize) -> Vec<Vec<ExprId>> {
        let all = self.jacobian_entries(structure);
        let n = structure.blocks()[block].equations.len();
        let zero = self.algebra.graph.constant(0.0);
        let mut matrix = vec![vec![zero; n]; n];
        for (i, j, at) in rank::Places::new(structure).entries(structure, block) {
            matrix[i][j] = all[at];
        }
        matrix
    }

    /// Takes out of the equations of a block what cancels in them.
    fn cancel(
        &mut self,
        structure: &Structure,
        block: usize,
    ) -> Result<Option<Structure>, Failure> {
        let mut changed = Vec::new();
        let mut texts = Vec::new();
        let mut lost = Vec::new();
        for &row in &structure.blocks()[block].equations {
            if std::mem::replace(&mut self.rows[row].is_clean, true) {
                continue;
            }
            let cleaned = self.cleaned(self.rows[row].residual);
            self.algebra.check_size()?;
            let kept = |entry: &Entry| {
                let mut kept = cleaned.entries.iter();
                kept.any(|e| (e.position, e.order) == (entry.position, entry.order))
            };
            let entries = self.rows[row].entries.iter();
            let removed: Vec<String> = entries
                .filter(|entry| !kept(entry))
                .map(|entry| {
                    self.name(Symbol::Unknown {
                        unknown: self.unknowns[entry.position],
                        order: entry.order,
                    })
                })
                .collect();
            if removed.is_empty() {
                continue;
            }
            texts.push(format!(
                "{} cancels in {}",
                removed.join(", "),
                self.rows[row].label
            ));
            lost.extend(cleaned.lost);
            self.rows[row].residual = cleaned.residual;
            self.rows[row].entries = cleaned.entries;
            changed.push(row);
        }
        if changed.is_empty() {
            return Ok(None);
        }
        let text = texts.join("; ");
        let Some(better) = self::structure(&self.rows) else {
            return Err(Failure::NoTransversal { text });
        };
        self.suspect(&lost);
        self.record(
            structure,
            &better,
            StepKind::Cancellation { equations: changed },
            text,
        );
        Ok(Some(better))
    }

    /// Replaces an equation by a combination, (2) and (3) of `docs/theory/repair.md`.
    fn combine(
        &mut self,
        structure: &Structure,
        block: usize,
        matrix: &[Vec<ExprId>],
        condition: Condition,
    ) -> Result<Option<Structure>, Failure> {
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
                return Err(Failure::Dependent { text });
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
    ) -> Result<Option<Structure>, Failure> {
        let new = Row {
            residual: cleaned.residual,
            entries: cleaned.entries.clone(),
            origins: self.joined_origins(terms),
            label: if replaced < self.n_written {
                format!("new {}", (self.names.equation)(replaced))
            } else {
                self.rows[replaced].label.clone()
            },
            is_clean: true,
        };
        let before = std::mem::replace(&mut self.rows[replaced], new);
        let better = self::structure(&self.rows);
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
            return Err(Failure::NoTransversal { text });
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
    fn unmix(&mut self, structure: &Structure) -> Result<Option<Structure>, Failure> {
        let Some(point) = self.point else {
            return Ok(None);
        };
        let entries = self.written_entries(structure);
        let irregular = rank::not_regular_at(
            &self.algebra.graph,
            &self.algebra.symbols,
            &self.algebra.jets,
            structure,
            &entries,
            point,
        );
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
                    self.algebra.check_size()?;
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
    fn joined_origins(&self, terms: &[Term]) -> Vec<Origin> {
        let mut joined: Vec<Origin> = Vec::new();
        for term in terms {
            for origin in &self.rows[term.equation].origins {
                let times = origin.times_differentiated + term.times_differentiated;
                match joined.iter_mut().find(|o| o.equation == origin.equation) {
                    Some(before) => {
                        before.times_differentiated = times.max(before.times_differentiated);
                    }
                    None => joined.push(Origin {
                        equation: origin.equation,
                        times_differentiated: times,
                    }),
                }
            }
        }
        joined.sort_unstable_by_key(|origin| origin.equation);
        joined
    }

    /// Puts new unknowns for expressions, (4) of `docs/theory/repair.md`.
    fn substitute(
        &mut self,
        structure: &Structure,
        block: usize,
        matrix: &[Vec<ExprId>],
        condition: Condition,
    ) -> Result<Option<Structure>, Failure> {
        let members = &structure.blocks()[block];
        let transposed: Vec<Vec<ExprId>> = (0..matrix.len())
            .map(|j| matrix.iter().map(|row| row[j]).collect())
            .collect();
        for vector in self.null_vectors(&transposed, &members.unknowns)? {
            let mut leaders: Vec<(Cost, usize)> = vector.costs.iter().copied().zip(0..).collect();
            leaders.sort_unstable();
            for (_, leader) in leaders {
                let found = self.try_substitution(
                    structure,
                    &members.equations,
                    &vector,
                    leader,
                    condition,
                )?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// Puts new unknowns for all unknowns of a null vector but the leader, and looks whether that helps.
    fn try_substitution(
        &mut self,
        structure: &Structure,
        equations: &[usize],
        vector: &NullVector,
        leader: usize,
        condition: Condition,
    ) -> Result<Option<Structure>, Failure> {
        let offsets = structure.offsets();
        let touching: Vec<usize> = equations
            .iter()
            .copied()
            .filter(|&row| {
                structure
                    .jacobian_row(row)
                    .any(|p| vector.support.contains(&p))
            })
            .collect();
        // How often the definition of the new unknown for x_j is differentiated at most: cx_j of (4).
        let highest = |position: usize| {
            let rows = touching.iter().copied();
            rows.filter(|&row| structure.jacobian_row(row).any(|p| p == position))
                .map(|row| offsets.equation[row])
                .max()
                .unwrap_or(0)
        };
        let leading = vector.support[leader];
        let mut ratios = Vec::new();
        for (at, &position) in vector.support.iter().enumerate() {
            if at != leader {
                let ratio = self
                    .algebra
                    .graph
                    .div(vector.entries[at], vector.entries[leader]);
                let highest = highest(position);
                if offsets.variable[leading] < highest {
                    return Ok(None);
                }
                ratios.push((position, highest, self.algebra.simplify(ratio)));
            }
        }
        let allowed = ratios.iter().all(|&(_, highest, ratio)| {
            let occurring = self.algebra.unknowns(ratio);
            occurring.into_iter().all(|(unknown, order)| {
                let position = self.positions[&unknown];
                let strict = usize::from(vector.support.contains(&position));
                order as usize + strict + highest <= offsets.variable[position]
            })
        });
        if allowed != (condition == Condition::Sufficient) {
            return Ok(None);
        }

        let undo = (self.rows.clone(), self.unknowns.len());
        let first = self.rows.len();
        let mut definitions = Vec::new();
        let mut names = Vec::new();
        for &(position, highest, ratio) in &ratios {
            let [own, leader_leaf] = [position, leading].map(|position| {
                let order = offsets.variable[position] - highest;
                self.leaf(self.unknowns[position], order as u32)
            });
            let graph = &mut self.algebra.graph;
            let moved = graph.mul(ratio, leader_leaf);
            let definition = graph.sub(own, moved);
            let name = self.new_name();
            names.push(format!(
                "{name} = {}",
                self.text(definition).unwrap_or_else(|| LONG.to_string())
            ));
            let unknown = self.n_model_unknowns + self.extra.len();
            let written = self.in_written_unknowns(definition);
            self.positions.insert(unknown, self.unknowns.len());
            self.unknowns.push(unknown);
            self.extra.push(Extra {
                name: name.clone(),
                unknown,
                derivatives: vec![written],
            });
            let new = self.leaf(unknown, 0);
            let graph = &mut self.algebra.graph;
            let value = graph.add(new, moved);
            let residual = graph.sub(new, definition);
            let entries = self.entries(residual);
            self.rows.push(Row {
                residual,
                entries,
                origins: Vec::new(),
                label: format!("definition of {name}"),
                is_clean: false,
            });
            definitions.push((position, highest, value));
        }
        let mut lost = vec![vector.entries[leader]];
        for &row in &touching {
            let mut images: FastMap<SymbolId, ExprId> = FastMap::default();
            for &(position, highest, value) in &definitions {
                if let Some(order) = structure.jacobian_order(row, position) {
                    let unknown = self.unknowns[position];
                    let symbol = self.algebra.symbols.id(Symbol::Unknown { unknown, order });
                    let times = highest - offsets.equation[row];
                    images.insert(symbol, self.algebra.derivative(value, times));
                }
            }
            let residual = self.rows[row].residual;
            let graph = &mut self.algebra.graph;
            let new = graph.substitute(&[residual], |_, id| images.get(&id).copied())[0];
            let cleaned = self.cleaned(new);
            lost.extend(cleaned.lost);
            self.rows[row].residual = cleaned.residual;
            self.rows[row].entries = cleaned.entries;
            self.rows[row].is_clean = true;
        }
        self.algebra.check_size()?;

        let labels: Vec<&str> = touching
            .iter()
            .map(|&r| self.rows[r].label.as_str())
            .collect();
        let text = format!(
            "new unknown {}, put into {}",
            names.join(", "),
            labels.join(", ")
        );
        match self::structure(&self.rows) {
            Some(better) if value(&better) < value(structure) => {
                self.suspect(&lost);
                let kind = StepKind::Substitution {
                    first,
                    n_new: ratios.len(),
                    equations: touching,
                };
                self.record(structure, &better, kind, text);
                Ok(Some(better))
            }
            Some(_) => {
                let (rows, n_unknowns) = undo;
                self.rows = rows;
                for unknown in self.unknowns.drain(n_unknowns..) {
                    self.positions.remove(&unknown);
                }
                self.extra.truncate(n_unknowns - self.n_written);
                Ok(None)
            }
            None => Err(Failure::NoTransversal { text }),
        }
    }

    /// Null vectors from the left, with the equations or unknowns of the block that they are about; cheapest first.
    fn null_vectors(
        &mut self,
        matrix: &[Vec<ExprId>],
        members: &[usize],
    ) -> Result<Vec<NullVector>, Failure> {
        let mut vectors = Vec::new();
        for vector in left_null_vectors(&mut self.algebra, matrix, self.budget)? {
            let zeros = self.algebra.zeros(&vector);
            let mut found = NullVector {
                support: Vec::new(),
                entries: Vec::new(),
                costs: Vec::new(),
            };
            for ((&member, entry), zero) in members.iter().zip(vector).zip(zeros) {
                match zero {
                    Zero::Yes => {}
                    Zero::No => {
                        found.support.push(member);
                        found.entries.push(entry);
                        found.costs.push(self.algebra.cost(entry));
                    }
                    Zero::Unclear => return Err(Failure::ZeroUnclear),
                }
            }
            vectors.push(found);
        }
        vectors.sort_by_key(|vector| vector.costs.iter().map(|cost| cost.1).sum::<usize>());
        Ok(vectors)
    }

    fn leaf(&mut self, unknown: usize, order: u32) -> ExprId {
        let symbol = self.algebra.symbols.id(Symbol::Unknown { unknown, order });
        self.algebra.graph.symbol(symbol)
    }

    /// An expression with the definitions of new unknowns put in.
    fn in_written_unknowns(&mut self, expr: ExprId) -> ExprId {
        let mut images: FastMap<SymbolId, ExprId> = FastMap::default();
        for id in self.algebra.walker.symbols(&self.algebra.graph, &[expr]) {
            if let Symbol::Unknown { unknown, order } = self.algebra.symbols.get(id)
                && let Some(extra) = self.extra.iter().find(|extra| extra.unknown == unknown)
            {
                let definition = extra.derivatives[0];
                images.insert(id, self.algebra.derivative(definition, order as usize));
            }
        }
        let graph = &mut self.algebra.graph;
        graph.substitute(&[expr], |_, id| images.get(&id).copied())[0]
    }

    /// All derivatives of an expression by unknowns and their derivatives that are not zero as written.
    fn entries(&mut self, residual: ExprId) -> Vec<Entry> {
        let algebra = &mut self.algebra;
        let mut symbols = algebra.walker.symbols(&algebra.graph, &[residual]);
        symbols.retain(|&id| matches!(algebra.symbols.get(id), Symbol::Unknown { .. }));
        let gradient = algebra
            .graph
            .gradient_with(&mut algebra.walker, residual, &symbols);
        let mut entries = Vec::new();
        for (id, expr) in symbols.into_iter().zip(gradient) {
            if let Symbol::Unknown { unknown, order } = algebra.symbols.get(id)
                && algebra.graph.as_constant(expr) != Some(0.0)
            {
                let position = self.positions[&unknown];
                entries.push(Entry {
                    position,
                    order,
                    expr,
                });
            }
        }
        entries
    }

    /// Takes out of an equation the symbols it does not depend on, and simplifies it.
    fn cleaned(&mut self, residual: ExprId) -> Cleaned {
        let mut cleaned = Cleaned {
            residual,
            entries: Vec::new(),
            lost: Vec::new(),
        };
        self.simplify(&mut cleaned);
        for _ in 0..MAX_ROUNDS {
            cleaned.entries = self.entries(cleaned.residual);
            let exprs: Vec<ExprId> = cleaned.entries.iter().map(|entry| entry.expr).collect();
            let zeros = self.algebra.zeros(&exprs);
            let mut spurious = Vec::new();
            for (entry, zero) in cleaned.entries.iter().zip(zeros) {
                if zero == Zero::Yes {
                    spurious.push(self.algebra.symbols.id(Symbol::Unknown {
                        unknown: self.unknowns[entry.position],
                        order: entry.order,
                    }));
                }
            }
            if spurious.is_empty() {
                break;
            }
            // Any value will do, if the equation has one there.
            let without = [0.0, 1.0, 0.5].into_iter().find_map(|number| {
                let graph = &mut self.algebra.graph;
                let number = graph.constant(number);
                let new = graph.substitute(&[cleaned.residual], |_, id| {
                    spurious.contains(&id).then_some(number)
                })[0];
                self.algebra.agree(cleaned.residual, new).then_some(new)
            });
            let Some(without) = without else {
                break;
            };
            cleaned.residual = without;
            self.simplify(&mut cleaned);
        }
        cleaned
    }

    fn simplify(&mut self, cleaned: &mut Cleaned) {
        if let Some((simple, lost)) = simplified(&mut self.algebra.graph, cleaned.residual)
            && self.algebra.agree(cleaned.residual, simple)
        {
            cleaned.residual = simple;
            cleaned.lost.extend(lost);
        }
    }

    /// Adds expressions that can vanish to the suspects.
    fn suspect(&mut self, exprs: &[ExprId]) {
        for &expr in exprs {
            let (kind, _) = self.algebra.cost(expr);
            if kind == 2 && !self.suspects.contains(&expr) {
                self.suspects.push(expr);
            }
        }
    }

    fn record(&mut self, before: &Structure, after: &Structure, kind: StepKind, text: String) {
        self.steps.push(Step {
            kind,
            text,
            value_before: value(before),
            value_after: value(after),
        });
    }

    fn name(&self, symbol: Symbol) -> String {
        let mut text = String::new();
        write_name(self.names, &self.extra, symbol, &mut text);
        text
    }

    /// A name that nothing else has.
    fn new_name(&self) -> String {
        let unknowns =
            (0..self.n_model_unknowns).map(|unknown| Symbol::Unknown { unknown, order: 0 });
        let parameters = (0..self.n_parameters).map(Symbol::Parameter);
        let taken: Vec<String> = unknowns
            .chain(parameters)
            .map(|symbol| self.names.symbol_text(symbol))
            .chain(self.extra.iter().map(|extra| extra.name.clone()))
            .collect();
        (1usize..)
            .map(|number| format!("y{number}"))
            .find(|name| !taken.contains(name))
            .expect("there are more numbers than names")
    }

    /// An expression in the user's names, if it is short.
    fn text(&self, expr: ExprId) -> Option<String> {
        let algebra = &self.algebra;
        let write = |id, text: &mut String| text.push_str(&self.name(algebra.symbols.get(id)));
        algebra.graph.modelica(expr, self.budget.text, write).ok()
    }

    fn combination_text(&self, terms: &[Term]) -> String {
        let mut text = String::new();
        for term in terms {
            let label = &self.rows[term.equation].label;
            let mut part = match term.times_differentiated {
                0 => format!("({label})"),
                times => format!("{}{label}{}", "der(".repeat(times), ")".repeat(times)),
            };
            let number = self.algebra.graph.as_constant(term.factor);
            let is_negative = number.is_some_and(|number| number < 0.0);
            match number {
                Some(number) if number.abs() == 1.0 => {}
                Some(number) => part = format!("{}*{part}", daelight_expr::number(number.abs())),
                None => {
                    let factor = self.text(term.factor);
                    let factor = factor.unwrap_or_else(|| LONG.to_string());
                    let is_name = factor.chars().all(|c| c.is_alphanumeric() || c == '_');
                    part = if is_name {
                        format!("{factor}*{part}")
                    } else {
                        format!("({factor})*{part}")
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

    /// Joins the rows to equations, and verifies that their structure holds.
    pub fn finish(
        &mut self,
        equations: &Equations,
        names: &Names<'_>,
        budget: &Budget,
    ) -> Result<Repaired, Failure> {
        self.differentiate_extra();
        let n = self.rows.len();
        let variables = equations.variables().extended(self.extra.len());
        let residuals: Vec<ExprId> = self.rows.iter().map(|row| row.residual).collect();
        let mut graph = std::mem::take(&mut self.algebra.graph);
        let symbols = std::mem::take(&mut self.algebra.symbols);
        let matrices = graph.jacobians(&residuals, n, |id| variables.slot(&symbols, id));
        let equations = Equations::new(
            Arc::new(graph),
            Arc::new(symbols),
            variables,
            residuals,
            matrices,
            self.n_parameters,
        );
        let structure = Structure::of_equations(&equations).map_err(|_| Failure::NoStep)?;
        let jets = &self.algebra.jets;
        let jacobian = SystemJacobian::new(&equations, &structure, jets.parameters());
        let blocks = rank::blocks(
            jacobian.graph(),
            jacobian.symbols(),
            jets,
            &structure,
            jacobian.entries(),
            None,
        );
        if let Some(&block) = blocks.singular.iter().chain(&blocks.unclear).next() {
            let n = structure.blocks()[block].equations.len();
            return Err(Failure::RankUnclear { n });
        }
        let mut repaired = Repaired {
            parameters: jets.parameters().to_vec(),
            equations,
            structure,
            steps: std::mem::take(&mut self.steps),
            suspects: Vec::new(),
            origins: self.rows.iter().map(|row| row.origins.clone()).collect(),
            extra: std::mem::take(&mut self.extra),
            n_written: self.n_written,
            verdict: Verdict::Unknown,
        };
        if let Some(point) = self.point
            && repaired.irregular_blocks(point).is_empty()
        {
            repaired.verdict = Verdict::Observed;
        }
        repaired.suspects = self
            .suspects
            .iter()
            .map(|&expr| Suspect {
                expr,
                text: repaired.expression_text(names, expr, budget.text),
            })
            .collect();
        Ok(repaired)
    }

    /// Gives every new unknown as many derivatives as the equations hold.
    fn differentiate_extra(&mut self) {
        let mut most = vec![0u32; self.extra.len()];
        for row in 0..self.rows.len() {
            // Also those that do not count, because what they are multiplied by is zero.
            for (unknown, order) in self.algebra.unknowns(self.rows[row].residual) {
                if let Some(at) = unknown.checked_sub(self.n_model_unknowns) {
                    most[at] = order.max(most[at]);
                }
            }
        }
        for (at, most) in most.into_iter().enumerate() {
            for order in 0..most as usize {
                let last = self.extra[at].derivatives[order];
                let next = self.algebra.derivative(last, 1);
                self.extra[at].derivatives.push(next);
            }
        }
    }
}

/// The structure of rows, if they have a transversal.
fn structure(rows: &[Row]) -> Option<Structure> {
    let n = rows.len();
    let entries = rows.iter().enumerate().flat_map(|(row, equation)| {
        let entries = equation.entries.iter();
        entries.map(move |entry| (row, entry.position, entry.order))
    });
    let signature = SignatureMatrix::from_entries(n, n, entries).ok()?;
    Structure::of_signature(signature).ok()
}

fn value(structure: &Structure) -> u64 {
    structure.n_degrees_of_freedom()
}
