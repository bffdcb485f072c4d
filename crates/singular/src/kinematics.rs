//! Which equations of a model are its configuration: section 1 of `docs/theory/configurations.md`.
//!
//! The blocks of the structure tell what is determined by what. An equation without derivatives belongs to the configuration if all its
//! unknowns do, wherever else they occur: a force that depends on an angle does not take the angle out of its loop.

use daelight_analysis::System;
use daelight_analysis::structure::{Block, Structure};
use daelight_expr::{ExprId, Graph, Node, UnaryOp, Walker};
use daelight_lang::{Code, Diagnostic, Model, Origin, Symbol, shorten};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The equations of a configuration, and what was done with the others.
#[derive(Clone, Default, Debug)]
pub(crate) struct Kinematics {
    /// The constraints.
    pub rows: Vec<usize>,
    /// Equations that prescribe one unknown by themselves, and that unknown, which counts as locked.
    pub prescribing: Vec<(usize, usize)>,
    /// Unknowns that move by equations of their own, and count as locked.
    pub moved: Vec<usize>,
    /// Equations that only say what one more unknown is.
    definitions: Vec<usize>,
    /// Equations that hold in every configuration, left out.
    left_out: Vec<usize>,
    /// Equations that are no part of a configuration, with an unknown that they do not determine where its coefficient vanishes.
    beside: Vec<Beside>,
}

/// An equation that determines an unknown only where its coefficient is not 0.
#[derive(Clone, Debug)]
struct Beside {
    equation: usize,
    unknown: usize,
    /// The coefficient, where it is short.
    coefficient: Option<String>,
}

/// The equations that constrain positions, with those that prescribe them or follow from them.
pub fn position_constraints(model: &Model) -> Result<Vec<usize>, Box<Diagnostic>> {
    let found = Kinematics::of(model, &[], false)?;
    let mut all = [&found.rows[..], &found.definitions].concat();
    all.extend(found.prescribing.iter().map(|&(equation, _)| equation));
    all.sort_unstable();
    Ok(all)
}

impl Kinematics {
    /// Finds the configuration of a model; `locked` are the unknowns that the user locks.
    pub(crate) fn of(
        model: &Model,
        locked: &[usize],
        paths_locked: bool,
    ) -> Result<Self, Box<Diagnostic>> {
        let occurrences = Occurrences::of(model);
        let is_static = !occurrences.has_derivative.contains(&true);
        let mut found = if is_static {
            Self {
                rows: occurrences.without_derivatives().collect(),
                ..Self::default()
            }
        } else {
            let system = System::new(model).ok();
            match system.as_ref().and_then(|system| system.structure().ok()) {
                Some(structure) => Blocks::new(model, &occurrences, structure).choose(locked),
                None => by_occurrence(model, &occurrences),
            }
        };
        if !is_static {
            found.separate_prescriptions(model, &occurrences, paths_locked);
        }
        if found.rows.is_empty() {
            let diagnostic = Diagnostic::placeless(
                Code::Unsupported,
                "no constraints between positions were found in the model",
            )
            .note("constraints are those of lagrange, or equations without derivatives between positions")
            .help("nothing is singular without constraints; if the model has some, write them as a model of their own, without derivatives");
            return Err(Box::new(diagnostic));
        }
        Ok(found)
    }

    /// The unknowns that equations of their own prescribe.
    pub(crate) fn prescribed(&self) -> Vec<usize> {
        self.prescribing
            .iter()
            .map(|&(_, unknown)| unknown)
            .collect()
    }

    /// Takes out the equations that prescribe an angle, which are not algebraic, and with `paths_locked` those that prescribe
    /// anything by the time.
    fn separate_prescriptions(
        &mut self,
        model: &Model,
        occurrences: &Occurrences,
        paths_locked: bool,
    ) {
        let residual = |at: &usize| model.equations[*at].residual;
        let residuals: Vec<ExprId> = self.rows.iter().map(residual).collect();
        let angles = unknowns_in_angles(model, &residuals);
        let follows_path = |at: usize| {
            let symbols = Walker::new().symbols(&model.graph, &[residual(&at)]);
            let mut symbols = symbols.into_iter().map(|id| model.symbols.get(id));
            paths_locked && symbols.any(|s| matches!(s, Symbol::Time | Symbol::Input { .. }))
        };
        let rows = std::mem::take(&mut self.rows);
        for at in rows {
            match occurrences.unknowns[at][..] {
                [unknown]
                    if (angles.contains(&unknown)
                        && occurrences.is_explicit(model, at, unknown))
                        || follows_path(at) =>
                {
                    self.prescribing.push((at, unknown));
                }
                _ => self.rows.push(at),
            }
        }
    }

    /// What to know about the choice.
    pub(crate) fn notes(&self, model: &Model) -> Vec<String> {
        let name = |unknown: usize| &model.unknowns[unknown].name;
        let prescribed = self.prescribing.iter().map(|&(_, unknown)| {
            format!(
                "`{}` is prescribed by an equation of its own, and counts as locked",
                name(unknown)
            )
        });
        let moved = self.moved.iter().map(|&unknown| {
            format!(
                "`{}` moves by equations of its own, and counts as locked",
                name(unknown)
            )
        });
        let beside = self.beside.iter().map(|beside| {
            let text = model.equation_text(&model.equations[beside.equation]);
            let (text, name) = (shorten(&text, 60), name(beside.unknown));
            match &beside.coefficient {
                Some(zero) => {
                    format!("not asked here: {text} does not determine `{name}` where {zero} = 0")
                }
                None => format!("not asked here: where {text} does not determine `{name}`"),
            }
        });
        prescribed.chain(moved).chain(beside).collect()
    }

    /// What was left out, and why.
    pub(crate) fn left_out(&self, model: &Model) -> Vec<String> {
        let all = self.left_out.iter().map(|&at| {
            let text = model.equation_text(&model.equations[at]);
            format!(
                "{} holds too and is not among the constraints: what it ties to them moves freely; lock that with --locked to ask about it",
                shorten(&text, 60)
            )
        });
        all.collect()
    }
}

/// Where a model has no structure: the constraints of `lagrange`, or equations in unknowns that all occur differentiated. Others
/// without derivatives are left out, unless they only say what one more unknown is.
fn by_occurrence(model: &Model, occurrences: &Occurrences) -> Kinematics {
    let lagrange = lagrange_constraints(model);
    let (mut rows, mut others) = (Vec::new(), Vec::new());
    for at in occurrences.without_derivatives() {
        let mut unknowns = occurrences.unknowns[at].iter();
        let is_row = match lagrange.is_empty() {
            false => lagrange.contains(&at),
            true => unknowns.all(|&unknown| occurrences.is_differentiated[unknown]),
        };
        if is_row { &mut rows } else { &mut others }.push(at);
    }
    let is_definition = |&at: &usize| {
        let mut unknowns = occurrences.unknowns[at].iter();
        unknowns
            .any(|&u| !occurrences.is_differentiated[u] && occurrences.is_explicit(model, at, u))
    };
    let (definitions, left_out) = others.into_iter().partition(is_definition);
    Kinematics {
        rows,
        definitions,
        left_out,
        ..Kinematics::default()
    }
}

fn lagrange_constraints(model: &Model) -> Vec<usize> {
    (0..model.equations.len())
        .filter(|&at| matches!(model.equations[at].origin, Origin::Constraint { .. }))
        .collect()
}

/// The blocks of a model, and which of them are part of a configuration.
struct Blocks<'a> {
    model: &'a Model,
    occurrences: &'a Occurrences,
    structure: &'a Structure,
    /// Constraints of mechanisms that move freely.
    free: Vec<usize>,
    /// Equations of such mechanisms without derivatives that are differentiated less often: they tie velocities.
    lower: Vec<usize>,
    /// The blocks without derivatives whose unknowns are all part of a configuration.
    chain: BTreeSet<usize>,
}

impl<'a> Blocks<'a> {
    fn new(model: &'a Model, occurrences: &'a Occurrences, structure: &'a Structure) -> Self {
        let mut own = Self {
            model,
            occurrences,
            structure,
            free: lagrange_constraints(model),
            lower: Vec::new(),
            chain: BTreeSet::new(),
        };
        if own.free.is_empty() {
            for block in structure.blocks() {
                own.add_free(block);
            }
        }
        own.find_chain();
        own
    }

    /// The constraints of a block that has derivatives: its equations without derivatives that are differentiated most often.
    fn add_free(&mut self, block: &Block) {
        let has_derivative = &self.occurrences.has_derivative;
        if !block.equations.iter().any(|&at| has_derivative[at]) {
            return;
        }
        let offsets = &self.structure.offsets().equation;
        let constraints = (block.equations.iter().copied())
            .filter(|&at| !has_derivative[at] && offsets[at] > 0)
            .collect::<Vec<_>>();
        let most = constraints.iter().map(|&at| offsets[at]).max();
        for at in constraints {
            let to = match Some(offsets[at]) == most {
                true => &mut self.free,
                false => &mut self.lower,
            };
            to.push(at);
        }
    }

    /// Whether the block that determines an unknown holds its derivative: the unknown is integrated.
    fn is_integrated(&self, unknown: usize) -> bool {
        let block = &self.structure.blocks()[self.structure.block_of_unknown(unknown)];
        (block.equations.iter()).any(|&at| {
            self.structure
                .jacobian_order(at, unknown)
                .is_some_and(|order| order > 0)
        })
    }

    fn find_chain(&mut self) {
        let n = self.model.unknowns.len();
        let mut is_part: Vec<bool> = (0..n).map(|unknown| self.is_integrated(unknown)).collect();
        for &at in &self.free {
            for &unknown in &self.occurrences.unknowns[at] {
                is_part[unknown] = true;
            }
        }
        loop {
            let n_before = self.chain.len();
            for (number, block) in self.structure.blocks().iter().enumerate() {
                let is_known =
                    |unknown: &usize| is_part[*unknown] || block.unknowns.contains(unknown);
                let is_closed = |&at: &usize| {
                    !self.occurrences.has_derivative[at]
                        && !self.free.contains(&at)
                        && self.occurrences.unknowns[at].iter().all(is_known)
                };
                if !self.chain.contains(&number) && block.equations.iter().all(is_closed) {
                    self.chain.insert(number);
                    for &unknown in &block.unknowns {
                        is_part[unknown] = true;
                    }
                }
            }
            if self.chain.len() == n_before {
                break;
            }
        }
    }

    /// The blocks of the chain that some unknowns are determined by, at once or through others.
    fn behind(&self, mut unknowns: Vec<usize>) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        while let Some(unknown) = unknowns.pop() {
            let number = self.structure.block_of_unknown(unknown);
            if self.chain.contains(&number) && found.insert(number) {
                for &at in &self.structure.blocks()[number].equations {
                    unknowns.extend(&self.occurrences.unknowns[at]);
                }
            }
        }
        found
    }

    fn choose(self, locked: &[usize]) -> Kinematics {
        let blocks = self.structure.blocks();
        let of_free = self
            .free
            .iter()
            .flat_map(|&at| &self.occurrences.unknowns[at]);
        let kept = match self.free.is_empty() {
            true => self.chain.clone(),
            false => self.behind(of_free.copied().collect()),
        };
        let mut found = Kinematics {
            rows: self.free.clone(),
            ..Kinematics::default()
        };
        found
            .rows
            .extend(kept.iter().flat_map(|&number| &blocks[number].equations));
        found.rows.sort_unstable();
        self.take_definitions(&mut found, locked);
        if self.free.is_empty() && locked.is_empty() {
            let unknowns = found
                .rows
                .iter()
                .flat_map(|&at| &self.occurrences.unknowns[at]);
            let moved: BTreeSet<usize> = (unknowns.copied())
                .filter(|&u| !kept.contains(&self.structure.block_of_unknown(u)))
                .collect();
            found.moved = moved.into_iter().collect();
        }
        self.judge_others(&mut found);
        found
    }

    /// Takes out the equations that only say what one more unknown is, which occurs nowhere else in them and is not differentiated.
    fn take_definitions(&self, found: &mut Kinematics, locked: &[usize]) {
        let occurrences = self.occurrences;
        loop {
            let is_definition = |at: usize| {
                !self.free.contains(&at)
                    && occurrences.unknowns[at].iter().any(|&unknown| {
                        !occurrences.is_differentiated[unknown]
                            && !locked.contains(&unknown)
                            && (found.rows.iter()).all(|&other| {
                                other == at || !occurrences.unknowns[other].contains(&unknown)
                            })
                            && self.occurrences.is_explicit(self.model, at, unknown)
                    })
            };
            let Some(place) = found.rows.iter().position(|&at| is_definition(at)) else {
                break;
            };
            let at = found.rows.remove(place);
            found.definitions.push(at);
        }
    }

    /// What the equations that are no constraints may hide: ties of the configuration, and coefficients that may vanish.
    fn judge_others(&self, found: &mut Kinematics) {
        for (number, block) in self.structure.blocks().iter().enumerate() {
            let is_open = |at: &usize| !found.rows.contains(at) && !found.definitions.contains(at);
            if !block.equations.iter().all(is_open) {
                continue;
            }
            let is_in_chain = self.chain.contains(&number);
            match (&block.equations[..], &block.unknowns[..]) {
                (&[at], &[unknown]) => {
                    let order = self.structure.jacobian_order(at, unknown).unwrap_or(0);
                    let wanted = Symbol::Unknown { unknown, order };
                    let coefficient = self.occurrences.coefficient(self.model, at, wanted);
                    match (coefficient, is_in_chain) {
                        (Coefficient::Known, true) => found.definitions.push(at),
                        (Coefficient::Known, false) => {}
                        (Coefficient::Varying(_), true) => found.left_out.push(at),
                        (Coefficient::Varying(coefficient), false) => found.beside.push(Beside {
                            equation: at,
                            unknown,
                            coefficient,
                        }),
                    }
                }
                (equations, _) if is_in_chain => found.left_out.extend(equations),
                _ => {}
            }
        }
        // Where velocities are tied beside positions, only an equation that says what one more unknown is cannot matter.
        let lower = self.lower.iter().filter(|&&at| {
            let mut unknowns = self.occurrences.unknowns[at].iter();
            !unknowns.any(|&unknown| self.occurrences.is_explicit(self.model, at, unknown))
        });
        found.left_out.extend(lower);
    }
}

/// Where unknowns occur, and where they occur differentiated.
struct Occurrences {
    is_differentiated: Vec<bool>,
    has_derivative: Vec<bool>,
    unknowns: Vec<Vec<usize>>,
    /// Where derivatives of equations are made.
    graph: RefCell<Graph>,
}

/// What multiplies an unknown in an equation.
enum Coefficient {
    /// No unknown.
    Known,
    /// Unknowns; as text, where that is short.
    Varying(Option<String>),
}

impl Occurrences {
    fn of(model: &Model) -> Self {
        let n_equations = model.equations.len();
        let mut walker = Walker::new();
        let mut own = Self {
            is_differentiated: vec![false; model.unknowns.len()],
            has_derivative: vec![false; n_equations],
            unknowns: vec![Vec::new(); n_equations],
            graph: RefCell::new(model.graph.clone()),
        };
        for (at, equation) in model.equations.iter().enumerate() {
            for id in walker.symbols(&model.graph, &[equation.residual]) {
                if let Symbol::Unknown { unknown, order } = model.symbols.get(id) {
                    if order > 0 {
                        own.has_derivative[at] = true;
                        own.is_differentiated[unknown] = true;
                    } else {
                        own.unknowns[at].push(unknown);
                    }
                }
            }
        }
        own
    }

    /// The equations without derivatives that have unknowns.
    fn without_derivatives(&self) -> impl Iterator<Item = usize> {
        (0..self.unknowns.len())
            .filter(|&at| !self.has_derivative[at] && !self.unknowns[at].is_empty())
    }

    /// The derivative of an equation by a symbol that occurs in it.
    fn partial(&self, model: &Model, equation: usize, wanted: Symbol) -> Option<ExprId> {
        let residual = model.equations[equation].residual;
        let graph = &mut *self.graph.borrow_mut();
        let symbols = Walker::new().symbols(graph, &[residual]);
        let symbol = (symbols.into_iter()).find(|&id| model.symbols.get(id) == wanted)?;
        Some(graph.partial(residual, symbol))
    }

    /// Whether an equation has an unknown times a number, and nowhere else.
    fn is_explicit(&self, model: &Model, equation: usize, unknown: usize) -> bool {
        let wanted = Symbol::Unknown { unknown, order: 0 };
        let partial = self.partial(model, equation, wanted);
        partial.is_some_and(|partial| {
            (Walker::new().symbols(&self.graph.borrow(), &[partial])).is_empty()
        })
    }

    fn coefficient(&self, model: &Model, equation: usize, of: Symbol) -> Coefficient {
        let Some(partial) = self.partial(model, equation, of) else {
            return Coefficient::Known;
        };
        let graph = self.graph.borrow();
        let mut symbols = Walker::new().symbols(&graph, &[partial]).into_iter();
        if !symbols.any(|id| matches!(model.symbols.get(id), Symbol::Unknown { .. })) {
            return Coefficient::Known;
        }
        let write = |id, text: &mut String| model.write_symbol(id, text);
        // Where -a vanishes a does.
        let partial = match graph.node(partial) {
            Node::Unary(UnaryOp::Neg, positive) => positive,
            _ => partial,
        };
        Coefficient::Varying(graph.modelica(partial, 60, write).ok())
    }
}

/// The unknowns in arguments of sines and cosines.
fn unknowns_in_angles(model: &Model, residuals: &[ExprId]) -> BTreeSet<usize> {
    let mut walker = Walker::new();
    let nodes = walker.reachable(&model.graph, residuals).to_vec();
    let arguments: Vec<ExprId> = (nodes.into_iter())
        .filter_map(|id| match model.graph.node(id) {
            Node::Unary(UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan, argument) => Some(argument),
            _ => None,
        })
        .collect();
    (walker.symbols(&model.graph, &arguments).into_iter())
        .filter_map(|id| match model.symbols.get(id) {
            Symbol::Unknown { unknown, .. } => Some(unknown),
            _ => None,
        })
        .collect()
}
