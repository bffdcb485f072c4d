//! The state of a repair, its loop, and what all steps share.

mod combination;
mod substitution;

use crate::dae::{BlockForm, Places};
use crate::equations::Equations;
use crate::repair::cancel::simplified;
use crate::repair::jets::{Jets, Zero};
use crate::repair::null::{Algebra, Cost, left_null_vectors};
use crate::repair::repaired::{
    EquationOrigin, Extra, RepairStep, Repaired, StepKind, Suspect, write_name,
};
use crate::repair::{Names, NotRepaired, RepairBudget};
use crate::structure::{SignatureMatrix, Structure, settled};
use daelight_expr::{ExprId, FastMap, Graph, ReverseSweep, Walker};
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
    origins: Vec<EquationOrigin>,
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
    steps: Vec<RepairStep>,
    suspects: Vec<ExprId>,
    names: &'a Names<'a>,
    budget: &'a RepairBudget,
    /// A consistent jet of the unknowns as written, if the caller has one.
    point: Option<&'a dyn Fn(Symbol) -> f64>,
}

impl<'a> Work<'a> {
    pub fn new(
        equations: &Equations,
        jets: &Jets,
        point: Option<&'a dyn Fn(Symbol) -> f64>,
        names: &'a Names<'a>,
        budget: &'a RepairBudget,
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
                origins: vec![EquationOrigin {
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
                deadline: budget.deadline,
                graph,
                symbols: Symbols::clone(equations.symbols()),
                jets: jets.clone(),
                walker: Walker::new(),
                sweep: ReverseSweep::default(),
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
    pub fn run(&mut self, preference: Preference) -> Result<(), NotRepaired> {
        let mut structure = structure_of(&self.rows).ok_or(NotRepaired::NoStep)?;
        loop {
            let entries = self.written_entries(&structure);
            let blocks = self.form(&structure, &entries).anywhere(self.point);
            let size = |&block: &usize| structure.blocks()[block].equations.len();
            let singular = blocks.singular.iter().map(|rank| rank.block);
            if self.steps.len() >= self.budget.steps {
                return Err(NotRepaired::Budget("steps"));
            }
            structure = if let Some(block) = singular.min_by_key(size) {
                self.step(&structure, block, preference)?
            } else if let Some(block) = blocks.unclear.first() {
                return Err(NotRepaired::RankUnclear { n: size(block) });
            } else if let Some(better) = self.unmix(&structure)? {
                better
            } else {
                return Ok(());
            };
        }
    }

    /// The rows as they stand, with their structure and the entries of its system Jacobian.
    fn form<'f>(&'f self, structure: &'f Structure, entries: &'f [ExprId]) -> BlockForm<'f> {
        let Algebra {
            graph,
            symbols,
            jets,
            ..
        } = &self.algebra;
        BlockForm::of_entries(graph, symbols, structure, entries, jets.parameters())
    }

    pub fn into_steps(self) -> Vec<RepairStep> {
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
    ) -> Result<Structure, NotRepaired> {
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
        Err(NotRepaired::NoStep)
    }

    fn block_matrix(&mut self, structure: &Structure, block: usize) -> Vec<Vec<ExprId>> {
        let all = self.jacobian_entries(structure);
        let n = structure.blocks()[block].equations.len();
        let zero = self.algebra.graph.constant(0.0);
        let mut matrix = vec![vec![zero; n]; n];
        for (i, j, at) in Places::new(structure).entries(structure, block) {
            matrix[i][j] = all[at];
        }
        matrix
    }

    /// Takes out of the equations of a block what cancels in them.
    fn cancel(
        &mut self,
        structure: &Structure,
        block: usize,
    ) -> Result<Option<Structure>, NotRepaired> {
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
        let Some(better) = structure_of(&self.rows) else {
            return Err(NotRepaired::NoTransversal { text });
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

    /// Null vectors from the left, with the equations or unknowns of the block that they are about; cheapest first.
    fn null_vectors(
        &mut self,
        matrix: &[Vec<ExprId>],
        members: &[usize],
    ) -> Result<Vec<NullVector>, NotRepaired> {
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
                    Zero::Unclear => return Err(NotRepaired::ZeroUnclear),
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

    /// All derivatives of an expression by unknowns and their derivatives that are not zero as written.
    fn entries(&mut self, residual: ExprId) -> Vec<Entry> {
        let algebra = &mut self.algebra;
        let mut symbols = algebra.walker.symbols(&algebra.graph, &[residual]);
        symbols.retain(|&id| matches!(algebra.symbols.get(id), Symbol::Unknown { .. }));
        let gradient = algebra
            .sweep
            .gradient(&mut algebra.graph, residual, &symbols);
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
        self.steps.push(RepairStep {
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

    /// An expression in the user's names, if it is short.
    fn text(&self, expr: ExprId) -> Option<String> {
        let algebra = &self.algebra;
        let write = |id, text: &mut String| text.push_str(&self.name(algebra.symbols.get(id)));
        algebra.graph.modelica(expr, self.budget.text, write).ok()
    }

    /// Joins the rows to equations, and verifies that their structure holds.
    pub fn finish(
        &mut self,
        equations: &Equations,
        names: &Names<'_>,
        budget: &RepairBudget,
    ) -> Result<Repaired, NotRepaired> {
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
        let (equations, structure) = settled(equations);
        let structure = structure.map_err(|_| NotRepaired::NoStep)?;
        let jets = &self.algebra.jets;
        let blocks = BlockForm::new(&equations, &structure, jets.parameters()).anywhere(None);
        let singular = blocks.singular.iter().map(|rank| &rank.block);
        if let Some(&block) = singular.chain(&blocks.unclear).next() {
            let n = structure.blocks()[block].equations.len();
            return Err(NotRepaired::RankUnclear { n });
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
}

/// The structure of rows, if they have a transversal.
fn structure_of(rows: &[Row]) -> Option<Structure> {
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
