//! Before a run: the discrete values at the start, the equations that hold there, and the modes that the text allows.

use super::{Driver, HybridEnd, MAX_ROUNDS, Mode, Stop};
use crate::{Deciders, SolveOptions};
use daelight_analysis::System;
use daelight_expr::{BinaryOp, ExprId, Node, Walker};
use daelight_lang::{ChangedBy, Code, Diagnostic, HeldRelation, Hybrid, Model, Symbol, Type};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Where the start value of a discrete variable comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// `fixed = true`.
    Fixed,
    /// An initial equation.
    Equation,
    /// Its own equation.
    Computed,
    /// Nothing but a guess: it may be chosen.
    Free,
}

/// A discrete variable at the start.
#[derive(Clone, Debug)]
pub struct DiscreteStart {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its value.
    pub value: f64,
    /// Where that comes from.
    pub given: Given,
}

/// What holds at the start of a model with events.
pub struct StartMode {
    /// The equations that hold there, with all that is discrete at its value.
    pub system: System,
    /// The conditions that decide which these are.
    pub conditions: Vec<String>,
    /// The discrete variables that the model names.
    pub discrete: Vec<DiscreteStart>,
}

/// A mode that the conditions in the text allow.
pub struct ListedMode {
    /// The conditions that hold.
    pub conditions: Vec<String>,
    /// The structural index.
    pub index: Option<usize>,
    /// Degrees of freedom.
    pub dof: Option<u64>,
    /// Why it is singular, if it is.
    pub singular: Option<String>,
    /// Equations that are differentiated in it, as written.
    pub differentiated: Vec<String>,
}

/// The conditions of a mode, as written.
pub(crate) fn conditions(model: &Model, mode: &Mode) -> Vec<String> {
    let Some(hybrid) = &model.hybrid else {
        return Vec::new();
    };
    let parameters = hybrid.mode.iter().zip(&mode.key);
    let names = parameters.map(|(&p, &holds)| {
        let name = &model.parameters[p].name;
        match holds {
            true => name.clone(),
            false => format!("not {name}"),
        }
    });
    names.collect()
}

/// The equations that hold at the start of a model, and what is discrete there if it has events.
pub fn equations_at_start(
    model: &Model,
    system: System,
    at: Option<f64>,
) -> Result<(System, Option<StartMode>), Box<Diagnostic>> {
    let Some(hybrid) = model.hybrid.as_deref() else {
        return Ok((system, None));
    };
    let start = start_mode(model, hybrid, &system, at)?;
    Ok((start.system.clone(), Some(start)))
}

/// Settles the discrete values at the start of a model with events.
pub fn start_mode(
    model: &Model,
    hybrid: &Hybrid,
    system: &System,
    at: Option<f64>,
) -> Result<StartMode, Box<Diagnostic>> {
    let options = SolveOptions {
        from: at,
        ..SolveOptions::default()
    };
    let mut driver = Driver::new(model, hybrid, system, &options);
    let time = driver.point.time;
    let fault = |end: HybridEnd| {
        let said = crate::record::end_words(model, &end, time);
        Box::new(Diagnostic::placeless(Code::BadValue, said))
    };
    if let Err(Stop::End(end)) = driver.initialise() {
        return Err(fault(end));
    }
    if driver.modes.list.is_empty() {
        driver.mode = driver.modes.at(&driver.values)?;
    }
    driver.hold().map_err(fault)?;
    let mut walker = Walker::new();
    let named = hybrid.variables.iter().enumerate();
    let named = named.filter(|(_, variable)| !variable.is_hidden);
    let discrete = named.map(|(at, variable)| {
        let symbols = walker.symbols(&model.graph, &[variable.rule.expr()]);
        let reads_itself = symbols
            .into_iter()
            .any(|id| model.symbols.get(id) == Symbol::Parameter(variable.previous));
        let given = match hybrid.starts.iter().any(|(of, _)| *of == at) {
            true => Given::Equation,
            false if !reads_itself => Given::Computed,
            false if variable.is_fixed => Given::Fixed,
            false => Given::Free,
        };
        DiscreteStart {
            name: variable.name.clone(),
            ty: variable.ty,
            value: driver.values[variable.parameter],
            given,
        }
    });
    let discrete = discrete.collect();
    let mode = &driver.modes.list[driver.mode];
    Ok(StartMode {
        conditions: conditions(model, mode),
        system: mode.system.clone(),
        discrete,
    })
}

/// The modes in which a model with events can rest between two of them, by the conditions in its text; false beside them if
/// there are too many combinations to try all.
pub fn list_modes(
    model: &Model,
    hybrid: &Hybrid,
    system: &System,
) -> Result<(Vec<ListedMode>, bool), Box<Diagnostic>> {
    let options = SolveOptions::default();
    let mut driver = Driver::new(model, hybrid, system, &options);
    let (choices, is_whole) = choices(&mut driver);
    let mut met = Vec::new();
    for time in times(&driver) {
        driver.point.time = time;
        meet_all(&mut driver, &choices, &mut met)?;
    }
    let list = met
        .iter()
        .map(|&mode| listed(model, &driver.modes.list[mode]));
    Ok((list.collect(), is_whole))
}

/// A time before, between and behind the times at which relations of time change: rules of discrete variables read the time itself.
fn times(driver: &Driver<'_>) -> Vec<f64> {
    let (model, start) = (driver.model, driver.point.time);
    let limit = |relation: &HeldRelation| match relation.by {
        ChangedBy::Time { limit, .. } => Some(limit),
        _ => None,
    };
    let limits: Vec<ExprId> = driver.hybrid.relations.iter().filter_map(limit).collect();
    let value = |id| match model.symbols.get(id) {
        Symbol::Parameter(at) => driver.values[at],
        Symbol::Time => start,
        _ => f64::NAN,
    };
    let mut limits = model.graph.evaluate(&limits, value);
    limits.retain(|limit| limit.is_finite() && *limit > start);
    limits.sort_by(f64::total_cmp);
    limits.dedup();
    limits.truncate(MAX_ROUNDS);
    let between = limits.windows(2).map(|two| 0.5 * (two[0] + two[1]));
    let behind = limits.last().map(|last| last + last.abs().max(1.0));
    std::iter::once(start)
        .chain(between)
        .chain(behind)
        .collect()
}

/// Adds the modes in which discrete values rest at the present time, whatever is chosen.
fn meet_all(
    driver: &mut Driver<'_>,
    choices: &[Vec<Alternative>],
    met: &mut Vec<usize>,
) -> Result<(), Box<Diagnostic>> {
    let mut picked = vec![0; choices.len()];
    'all: loop {
        for (choice, &pick) in choices.iter().zip(&picked) {
            for &(parameter, value) in &choice[pick] {
                driver.values[parameter] = value;
            }
        }
        if driver.is_at_rest() {
            let mode = driver.modes.at(&driver.values)?;
            if !met.contains(&mode) {
                met.push(mode);
            }
        }
        for (at, choice) in choices.iter().enumerate() {
            picked[at] += 1;
            if picked[at] < choice.len() {
                continue 'all;
            }
            picked[at] = 0;
        }
        return Ok(());
    }
}

/// Whether an `if`, or a `min` or `max` where that is asked, decides which unknowns an equation contains: only then can relations change its kind.
pub fn switches_unknowns(model: &Model, deciders: Deciders) -> bool {
    if model.unknowns.len() > MAX_ROUNDS * MAX_ROUNDS {
        return false;
    }
    let graph = &model.graph;
    let mut walker = Walker::new();
    let residuals: Vec<ExprId> = model.equations.iter().map(|e| e.residual).collect();
    let nodes = walker.reachable(graph, &residuals).to_vec();
    let mut moving = |expr: ExprId| -> HashSet<Symbol> {
        let symbols = walker.symbols(graph, &[expr]).into_iter();
        let symbols = symbols.map(|id| model.symbols.get(id));
        symbols
            .filter(|symbol| matches!(symbol, Symbol::Unknown { .. } | Symbol::Time))
            .collect()
    };
    nodes.into_iter().any(|id| match graph.node(id) {
        Node::Select(condition, a, b) => !moving(condition).is_empty() && moving(a) != moving(b),
        Node::Binary(BinaryOp::Min | BinaryOp::Max, a, b) => {
            deciders == Deciders::Kinks && moving(a) != moving(b)
        }
        _ => false,
    })
}

/// Whether relations decide what kind of equations hold: with one of them changed the index or the degrees of freedom are
/// others, or there is no structure. Kinks that leave a mode without structure stay kinks: the branch that is not there has nothing to say.
pub fn changes_kind(model: &Model, deciders: Deciders) -> bool {
    let (Some(hybrid), Ok(system)) = (model.hybrid.as_deref(), crate::system(model)) else {
        return false;
    };
    let n_modes = hybrid.relations.len() + 1;
    if n_modes * model.unknowns.len() > MAX_ROUNDS * MAX_ROUNDS {
        return false;
    }
    let options = SolveOptions::default();
    let mut driver = Driver::new(model, hybrid, &system, &options);
    let values = driver.values.clone();
    let parameters = hybrid.relations.iter().map(|r| Some(r.parameter));
    let (mut first, mut changes) = (None, false);
    for flipped in std::iter::once(None).chain(parameters) {
        driver.values.clone_from(&values);
        if let Some(parameter) = flipped {
            driver.values[parameter] = 1.0 - driver.values[parameter];
        }
        driver.evaluate_variables(false);
        driver.evaluate_held();
        let Ok(mode) = driver.modes.at(&driver.values) else {
            return false;
        };
        let mode = &driver.modes.list[mode];
        let kind = (mode.index, mode.dof);
        if kind.0.is_none() {
            return deciders == Deciders::Relations;
        }
        changes |= *first.get_or_insert(kind) != kind;
        if changes && deciders == Deciders::Relations {
            return true;
        }
    }
    changes
}

fn listed(model: &Model, mode: &Mode) -> ListedMode {
    let structure = mode.system.structure().ok();
    let offsets = structure.map(|s| s.offsets().equation.to_vec());
    let differentiated = offsets.iter().flatten().enumerate();
    let differentiated = differentiated.filter(|(_, order)| **order > 0);
    let differentiated = differentiated.map(|(at, _)| mode.system.equation_text(at));
    let singular = match structure {
        None => Some(
            mode.why
                .clone()
                .unwrap_or_else(|| "no choice of equations determines all unknowns".to_string()),
        ),
        Some(_) if mode.system.dae().sound().is_none() => {
            Some("its Jacobian is singular wherever it was tried".to_string())
        }
        Some(_) => None,
    };
    ListedMode {
        conditions: conditions(model, mode),
        index: mode.index.filter(|_| singular.is_none()),
        dof: mode.dof.filter(|_| singular.is_none()),
        differentiated: match singular {
            Some(_) => Vec::new(),
            None => differentiated.collect(),
        },
        singular,
    }
}

impl Driver<'_> {
    /// Whether discrete values rest: each rule gives what is there, with nothing changed before. Conditions of `when` follow.
    fn is_at_rest(&mut self) -> bool {
        for &position in &self.hybrid.order {
            let variable = &self.hybrid.variables[position];
            let place = self.layout.rules + position;
            let value = self.program.value(place, &self.point, &self.values);
            if variable.is_hidden {
                self.values[variable.parameter] = value;
                self.values[variable.previous] = value;
            } else if variable.ty != Type::Real
                && !value.is_nan()
                && value != self.values[variable.parameter]
            {
                return false;
            }
        }
        self.evaluate_held();
        true
    }
}

/// One alternative: values of parameters that go together.
type Alternative = Vec<(usize, f64)>;

/// What can be chosen independently: values of discrete variables, and truths of relations with a common side. False if some
/// were left at their start values, since all together are too many.
fn choices(driver: &mut Driver<'_>) -> (Vec<Vec<Alternative>>, bool) {
    let needed = needed(driver.model, driver.hybrid);
    let mut all: Vec<Vec<Alternative>> = Vec::new();
    for variable in driver.hybrid.variables.iter().filter(|v| !v.is_hidden) {
        if !needed.contains(&variable.parameter) && !needed.contains(&variable.previous) {
            continue;
        }
        let values = match variable.ty {
            Type::Boolean => vec![0.0, 1.0],
            Type::Integer => compared(driver.model, driver.hybrid, variable.parameter),
            Type::Real => continue,
        };
        let both = |&v: &f64| vec![(variable.parameter, v), (variable.previous, v)];
        all.push(values.iter().map(both).collect());
    }
    all.extend(truths(driver, &needed));
    let mut product = 1usize;
    let before = all.len();
    all.retain(|choice| {
        let more = product.saturating_mul(choice.len());
        let fits = more <= MAX_ROUNDS * MAX_ROUNDS;
        if fits {
            product = more;
        }
        fits
    });
    let is_whole = all.len() == before;
    (all, is_whole)
}

/// Parameters that the mode depends on, through the rules of discrete variables.
pub(super) fn needed(model: &Model, hybrid: &Hybrid) -> BTreeSet<usize> {
    let mut rules: HashMap<usize, ExprId> = HashMap::new();
    for variable in &hybrid.variables {
        rules.insert(variable.parameter, variable.rule.expr());
        rules.insert(variable.previous, variable.rule.expr());
    }
    for relation in &hybrid.relations {
        if relation.by == ChangedBy::Events {
            rules.insert(relation.parameter, relation.expr);
        }
    }
    let mut all: BTreeSet<usize> = BTreeSet::new();
    let mut open = hybrid.mode.clone();
    let mut walker = Walker::new();
    while let Some(parameter) = open.pop() {
        if !all.insert(parameter) {
            continue;
        }
        let Some(&rule) = rules.get(&parameter) else {
            continue;
        };
        for id in walker.symbols(&model.graph, &[rule]) {
            if let Symbol::Parameter(other) = model.symbols.get(id) {
                open.push(other);
            }
        }
    }
    all
}

/// Whole numbers around those that a discrete variable is compared with, and its start value.
fn compared(model: &Model, hybrid: &Hybrid, parameter: usize) -> Vec<f64> {
    let graph = &model.graph;
    let is_it = |expr: ExprId| {
        let symbol = graph.as_symbol(expr).map(|id| model.symbols.get(id));
        symbol == Some(Symbol::Parameter(parameter))
    };
    let roots: Vec<ExprId> = hybrid.relations.iter().map(|r| r.expr).collect();
    let mut values = vec![model.parameters[parameter].value];
    for id in Walker::new().reachable(graph, &roots).to_vec() {
        let Node::Binary(_, a, b) = graph.node(id) else {
            continue;
        };
        let limit = match (is_it(a), is_it(b)) {
            (true, false) => graph.as_constant(b),
            (false, true) => graph.as_constant(a),
            _ => None,
        };
        if let Some(limit) = limit {
            let near = limit.round();
            values.extend([near - 1.0, near, near + 1.0]);
        }
    }
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// Truths that relations of unknowns and of time can have together: those with a common side and limits that are known lie on a
/// line.
fn truths(driver: &mut Driver<'_>, needed: &BTreeSet<usize>) -> Vec<Vec<Alternative>> {
    let (model, hybrid) = (driver.model, driver.hybrid);
    let mut walker = Walker::new();
    let mut is_known = |expr: ExprId| {
        let held: BTreeSet<usize> = hybrid.held_parameters().collect();
        let symbols = walker.symbols(&model.graph, &[expr]);
        symbols
            .into_iter()
            .all(|id| matches!(model.symbols.get(id), Symbol::Parameter(p) if !held.contains(&p)))
    };
    // A quantity, and the limits that relations hold it against: parameter, relation, limit.
    type Line = (ExprId, Vec<(usize, BinaryOp, f64)>);
    let mut lines: Vec<Line> = Vec::new();
    let mut alone = Vec::new();
    for (at, relation) in hybrid.relations.iter().enumerate() {
        if relation.by == ChangedBy::Events || !needed.contains(&relation.parameter) {
            continue;
        }
        let place = driver.layout.relations + at;
        driver.program.value(place, &driver.point, &driver.values);
        let sides = driver.program.sides(place);
        let (Node::Binary(op, a, b), Some(values)) = (model.graph.node(relation.expr), sides)
        else {
            continue;
        };
        let (line, op, limit) = match (is_known(a), is_known(b)) {
            (false, true) => (a, op, values.1),
            (true, false) => (b, mirrored(op), values.0),
            _ => {
                alone.push(relation.parameter);
                continue;
            }
        };
        let one = (relation.parameter, op, limit);
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, list)) => list.push(one),
            None => lines.push((line, vec![one])),
        }
    }
    let mut all: Vec<Vec<Alternative>> = alone
        .into_iter()
        .map(|p| vec![vec![(p, 0.0)], vec![(p, 1.0)]])
        .collect();
    all.extend(
        lines
            .into_iter()
            .map(|(_, relations)| on_a_line(&relations)),
    );
    all
}

/// The combinations of truths at the limits, between them and beyond.
fn on_a_line(relations: &[(usize, BinaryOp, f64)]) -> Vec<Alternative> {
    let mut limits: Vec<f64> = relations.iter().map(|r| r.2).collect();
    limits.sort_by(f64::total_cmp);
    limits.dedup();
    let mut points = vec![f64::NEG_INFINITY];
    for pair in limits.windows(2) {
        points.extend([pair[0], 0.5 * (pair[0] + pair[1])]);
    }
    points.extend(limits.last());
    points.push(f64::INFINITY);
    let mut all: Vec<Alternative> = Vec::new();
    for point in points {
        let truth = |&(parameter, op, limit): &(usize, BinaryOp, f64)| {
            let holds = match op {
                BinaryOp::Less => point < limit,
                BinaryOp::LessEqual => point <= limit,
                BinaryOp::Greater => point > limit,
                BinaryOp::GreaterEqual => point >= limit,
                BinaryOp::Equal => point == limit,
                _ => point != limit,
            };
            (parameter, f64::from(u8::from(holds)))
        };
        let together: Alternative = relations.iter().map(truth).collect();
        if !all.contains(&together) {
            all.push(together);
        }
    }
    all
}

/// The relation with its sides exchanged.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        other => other,
    }
}
