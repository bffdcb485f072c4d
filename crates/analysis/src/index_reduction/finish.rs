//! From rows to a model: names, start values, comments, and the check of the result.

use super::inputs::declare_derivatives;
use super::refusal::Refusal;
use super::rows::{Key, Layout, Row, Work};
use super::{Groundwork, IndexReduced, Meaning};
use crate::dae::BlockForm;
use crate::system::System;
use daelight_expr::{ExprId, FastMap, Graph};
use daelight_lang::{
    Declared, DeclaredKind, Equation, Instance, LINE, Model, Origin, Remarks, SMALL, Span, Symbol,
    Type, Unknown,
};
use std::collections::{BTreeMap, BTreeSet};

/// Largest residual at the point, relative to the terms of its equation.
const TOLERANCE: f64 = 1e-8;

/// The reduced model: every derivative under its name, start values from the point.
pub(super) fn model(
    groundwork: &Groundwork<'_>,
    mut work: Work<'_>,
    mut rows: Vec<Row>,
    layout: &Layout,
    mut head: Vec<String>,
) -> Result<IndexReduced, Refusal> {
    let system = groundwork.system;
    let mut model = bare(system.model());
    let drawing: Vec<ExprId> = model.drawing.iter().flatten().flatten().copied().collect();
    let mut keys: BTreeSet<Key> = drawing.iter().flat_map(|&expr| work.keys(expr)).collect();
    for row in &rows {
        keys.extend(work.row_keys(row));
    }
    for (unknown, &n) in layout.n_states.iter().enumerate() {
        keys.extend((0..n).map(|order| (unknown, order)));
    }
    keys.extend(layout.named.iter().copied());

    let (positions, meanings) = name_derivatives(groundwork, &mut model, &keys, layout);

    // A state that is a derivative is the derivative of the state before it.
    let later = |&&(u, k): &&Key| k > 0 && k <= layout.n_states[u];
    let later = positions.keys().filter(later);
    let chain = later.map(|&(u, k)| (positions[&(u, k - 1)], positions[&(u, k)]));
    let chain: Vec<(usize, usize)> = chain.collect();

    let images = images(&keys, &positions)?;
    rename_all(&mut work, &mut rows, &mut model, images);

    let span = |equation: usize| {
        let written = system.written();
        written[equation.min(written.len() - 1)].span
    };
    let mut equations = Vec::new();
    let mut remarks = Vec::new();
    for (before, after) in chain {
        equations.push(is_derivative(&mut work, before, after, span(0)));
        let [before, after] = [before, after].map(|at| &model.unknowns[at].name);
        remarks.push(format!("{after} is the derivative of {before}"));
    }
    model.graph = std::mem::take(&mut work.graph);
    model.symbols = std::mem::take(&mut work.symbols);
    model.symbols.set_signals(Vec::new());
    take_parameters(&mut model, system);
    for row in &rows {
        remarks.push(remark(row, &model));
        let (left, right) = (row.left, row.right);
        equations.push(equation(&mut model.graph, left, right, span(row.equation)));
    }
    model.equations = equations;
    model.initial_equations.clear();

    let states: Vec<usize> = positions
        .iter()
        .filter(|&(&key, _)| layout.is_state(key))
        .map(|(_, &position)| position)
        .collect();
    start_at_point(groundwork, &mut model, &meanings, &states);
    head.extend(start_in_time(groundwork.point.time, &mut model));
    if !states.is_empty() {
        let names = states.iter().map(|&at| model.unknowns[at].name.as_str());
        let names: Vec<&str> = names.collect();
        head.push(format!("States: {}.", names.join(", ")));
    }
    let reduced = IndexReduced {
        model,
        remarks: Remarks {
            head,
            equations: remarks,
        },
        meanings,
        states,
        is_unchanged: false,
    };
    check_residuals(groundwork, &reduced)?;
    Ok(reduced)
}

/// A model without what speaks of its written unknowns, its velocities unknowns like others.
fn bare(model: &Model) -> Model {
    let mut model = model.clone();
    (model.energy, model.stop_when) = (None, None);
    model.assertions.clear();
    model.views.clear();
    declare_velocities(&mut model);
    model
}

/// The equation der(before) = after.
fn is_derivative(work: &mut Work<'_>, before: usize, after: usize, span: Span) -> Equation {
    let [left, right] = [(before, 1), (after, 0)].map(|(unknown, order)| {
        let id = work.symbols.id(Symbol::Unknown { unknown, order });
        work.graph.symbol(id)
    });
    equation(&mut work.graph, left, right, span)
}

/// Writes rows and drawing in the unknowns of the reduced model.
fn rename_all(
    work: &mut Work<'_>,
    rows: &mut [Row],
    model: &mut Model,
    mut images: FastMap<Symbol, Symbol>,
) {
    let mut roots: Vec<ExprId> = rows.iter().flat_map(|row| [row.left, row.right]).collect();
    roots.extend(rows.iter().flat_map(|row| row.divisors.iter().copied()));
    roots.extend(model.drawing.iter().flatten().flatten());
    declare_derivatives(work, model, &roots, &mut images);
    let mut renamed = rename(work, &roots, &images).into_iter();
    let mut next = || renamed.next().expect("one image for each root");
    for row in rows.iter_mut() {
        (row.left, row.right) = (next(), next());
    }
    for divisor in rows.iter_mut().flat_map(|row| &mut row.divisors) {
        *divisor = next();
    }
    for coordinate in model.drawing.iter_mut().flatten().flatten() {
        *coordinate = next();
    }
}

/// Lets the model start at the time of the point; what is to be said of it.
fn start_in_time(time: f64, model: &mut Model) -> Option<String> {
    let experiment = &mut model.experiment;
    if experiment.start_time.unwrap_or(0.0) == time {
        return None;
    }
    experiment.start_time = Some(time);
    experiment.stop_time = experiment.stop_time.filter(|stop| *stop > time);
    Some(format!(
        "It starts at time = {time}, where the states were chosen."
    ))
}

/// Gives a name and an unknown to every derivative that keeps one; where each is, and what each unknown means.
fn name_derivatives(
    groundwork: &Groundwork<'_>,
    model: &mut Model,
    keys: &BTreeSet<Key>,
    layout: &Layout,
) -> (BTreeMap<Key, usize>, Vec<Meaning>) {
    let n_written = groundwork.system.unknowns().len();
    let mut names = Names::of(model);
    let mut positions: BTreeMap<Key, usize> = (0..n_written)
        .map(|unknown| ((unknown, 0), unknown))
        .collect();
    let mut meanings: Vec<Meaning> = (0..n_written)
        .map(|unknown| Meaning { unknown, order: 0 })
        .collect();
    for &(unknown, order) in keys.iter().filter(|&&key| layout.has_name(key)) {
        if positions.contains_key(&(unknown, order)) {
            continue;
        }
        let written = groundwork.system.unknowns();
        let base = match written.get(unknown) {
            Some(info) => info.name.as_str(),
            None => {
                let extra = groundwork.repaired().map(|r| r.extra_unknowns());
                let extra = extra.and_then(|extra| extra.get(unknown - written.len()));
                extra.map_or("w", |extra| extra.name.as_str())
            }
        };
        let name = names.of_derivative(base, order);
        positions.insert((unknown, order), model.unknowns.len());
        meanings.push(Meaning { unknown, order });
        declare(model, name);
    }
    (positions, meanings)
}

/// What each derivative is called in the reduced model: an unknown, or the derivative of one.
fn images(
    keys: &BTreeSet<Key>,
    positions: &BTreeMap<Key, usize>,
) -> Result<FastMap<Symbol, Symbol>, Refusal> {
    let mut images: FastMap<Symbol, Symbol> = FastMap::default();
    for &(unknown, order) in keys {
        let plain = |position, order| Symbol::Unknown {
            unknown: position,
            order,
        };
        let image = match positions.get(&(unknown, order)) {
            Some(&position) => plain(position, 0),
            None => match positions.get(&(unknown, order.saturating_sub(1))) {
                Some(&before) => plain(before, 1),
                None => {
                    return Err(Refusal::NoText(
                        "a derivative of higher order does not cancel".to_string(),
                    ));
                }
            },
        };
        images.insert(plain(unknown, order as u32), image);
    }
    Ok(images)
}

/// Where an equation comes from, and what must not vanish in it.
fn remark(row: &Row, model: &Model) -> String {
    let mut remark = row.note.clone();
    if !row.divisors.is_empty() {
        let text = |&divisor: &ExprId| {
            let text = model.text(divisor, LINE);
            text.unwrap_or_else(|_| "a long divisor".to_string())
        };
        let texts: Vec<String> = row.divisors.iter().map(text).collect();
        let before = if remark.is_empty() { "" } else { "; " };
        remark.push_str(&format!("{before}must not vanish: {}", texts.join(", ")));
    }
    remark
}

/// Start values from the point; those of the states are fixed.
fn start_at_point(
    groundwork: &Groundwork<'_>,
    model: &mut Model,
    meanings: &[Meaning],
    states: &[usize],
) {
    let written = groundwork.system.unknowns();
    for (position, meaning) in meanings.iter().enumerate() {
        let key = (meaning.unknown, meaning.order);
        let value = groundwork.values.get(&key).copied().unwrap_or(0.0);
        let wished = written.get(position).and_then(|info| info.start);
        let start = wished.filter(|wished| is_rounding(value - wished, *wished));
        let start = start.unwrap_or(if is_rounding(value, 0.0) { 0.0 } else { value });
        model.unknowns[position].start = Some(model.graph.constant(start));
        model.unknowns[position].fixed = states.contains(&position);
    }
}

/// Whether a difference from a value is nothing but rounding.
fn is_rounding(difference: f64, value: f64) -> bool {
    difference.abs() <= (4.0 * f64::EPSILON * value.abs()).max(SMALL)
}

fn rename(work: &mut Work<'_>, roots: &[ExprId], images: &FastMap<Symbol, Symbol>) -> Vec<ExprId> {
    let symbols = &mut work.symbols;
    work.graph.substitute(roots, |graph, id| {
        let image = *images.get(&symbols.get(id))?;
        let image = symbols.id(image);
        (image != id).then(|| graph.symbol(image))
    })
}

/// An equation made by daelight.
pub(super) fn equation(graph: &mut Graph, left: ExprId, right: ExprId, span: Span) -> Equation {
    Equation {
        left,
        right,
        residual: graph.sub(left, right),
        span,
        origin: Origin::Written,
        instance: Instance::default(),
    }
}

/// Gives parameters the values they have in the system, which may have been set after the text was read.
pub(super) fn take_parameters(model: &mut Model, system: &System) {
    let values = system.parameters().values();
    for (parameter, &value) in model.parameters.iter_mut().zip(values) {
        if parameter.value != value {
            parameter.value = value;
            parameter.definition = model.graph.constant(value);
        }
    }
}

/// Velocities that daelight introduced become unknowns like others, so that they can have start values.
fn declare_velocities(model: &mut Model) {
    for position in 0..model.unknowns.len() {
        if model.unknowns[position].velocity_of.take().is_some() {
            let name = model.unknowns[position].name.clone();
            let declaration = declared(model, name, DeclaredKind::Unknown, position);
            model.unknowns[position].declaration = declaration;
        }
    }
}

/// Adds an unknown.
fn declare(model: &mut Model, name: String) {
    let first = model.unknowns.len();
    let declaration = declared(model, name.clone(), DeclaredKind::Unknown, first);
    model.unknowns.push(Unknown::plain(name, declaration));
}

/// Adds a declaration of one number.
pub(super) fn declared(model: &mut Model, name: String, kind: DeclaredKind, first: usize) -> usize {
    model.declarations.push(Declared {
        name,
        dims: Vec::new(),
        kind,
        first,
        ty: Type::Real,
        comment: String::new(),
        unit: String::new(),
        is_output: false,
        is_output_of_component: false,
        is_input_of_component: false,
        is_protected: false,
        is_final: false,
        span: model.equations[0].span,
    });
    model.declarations.len() - 1
}

/// Names that are taken.
pub(super) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    pub(super) fn of(model: &Model) -> Self {
        let declared = model.declarations.iter().map(|d| d.name.clone());
        let unknowns = model.unknowns.iter().map(|u| u.name.clone());
        Self {
            taken: declared.chain(unknowns).collect(),
        }
    }

    /// `der_x`, `der2_x`, ..., for a velocity `der_der_x`: a plain identifier that nothing else has.
    pub(super) fn of_derivative(&mut self, base: &str, order: usize) -> String {
        let mut plain = String::new();
        for character in base
            .chars()
            .filter(|c| !matches!(c, ']' | ')' | '\'' | ' '))
        {
            let keeps = character.is_ascii_alphanumeric() || character == '_';
            plain.push(if keeps { character } else { '_' });
        }
        let name = match order {
            0 => plain,
            1 => format!("der_{plain}"),
            order => format!("der{order}_{plain}"),
        };
        let mut unique = name.clone();
        let mut number = 2;
        while !self.taken.insert(unique.clone()) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        unique
    }
}

/// Values of the unknowns of a reduced model at the point, and of their derivatives where these are known.
fn values(groundwork: &Groundwork<'_>, reduced: &IndexReduced, more: usize) -> Vec<f64> {
    let value = |meaning: &Meaning| {
        let key = (meaning.unknown, meaning.order + more);
        groundwork.values.get(&key).copied().unwrap_or(0.0)
    };
    reduced.meanings.iter().map(value).collect()
}

/// The point must satisfy every equation of the reduced model.
fn check_residuals(groundwork: &Groundwork<'_>, reduced: &IndexReduced) -> Result<(), Refusal> {
    let system = system_of(reduced)?;
    let equations = system.equations();
    let mut evaluator = system.evaluator();
    evaluator.set_time(groundwork.point.time);
    let point: Vec<Vec<f64>> = (0..2)
        .map(|more| values(groundwork, reduced, more))
        .collect();
    for (order, values) in point.iter().enumerate() {
        evaluator.set(order, values);
    }
    let no_value = |_| Refusal::NotVerified("an equation has no value at the point".to_string());
    let mut residuals = vec![0.0; equations.n_equations()];
    evaluator.residuals(&mut residuals).map_err(no_value)?;
    evaluator.jacobians().map_err(no_value)?;
    let mut sizes = vec![1.0; residuals.len()];
    for (order, values) in point.iter().enumerate() {
        for (row, column, at) in equations.pattern(order).iter() {
            sizes[row] += (evaluator.entry(order, at) * values[column]).abs();
        }
    }
    for (equation, (residual, size)) in residuals.iter().zip(&sizes).enumerate() {
        if residual.is_nan() || residual.abs() > TOLERANCE * size {
            return Err(Refusal::NotVerified(format!(
                "equation {} has the residual {residual:.1e} at the point",
                equation + 1
            )));
        }
    }
    Ok(())
}

fn system_of(reduced: &IndexReduced) -> Result<System, Refusal> {
    System::new(&reduced.model).map_err(|error| Refusal::NotVerified(error.to_string()))
}

/// The structure of the reduced model must hold at the point, with index 1 or 0 and the same degrees of freedom.
pub(super) fn check_structure(
    groundwork: &Groundwork<'_>,
    reduced: &IndexReduced,
) -> Result<(), Refusal> {
    let system = system_of(reduced)?;
    let not_verified = |what: &str| Refusal::NotVerified(what.to_string());
    let structure = system
        .structure()
        .map_err(|_| not_verified("its equations do not match its unknowns"))?;
    if structure.structural_index() > 1 {
        return Err(not_verified("its structural index is above 1"));
    }
    if structure.n_degrees_of_freedom() != groundwork.structure.n_degrees_of_freedom() {
        return Err(not_verified("it has other degrees of freedom"));
    }
    let now = values(groundwork, reduced, 0);
    let rates = values(groundwork, reduced, 1);
    let at_point = |symbol: Symbol| match symbol {
        Symbol::Time => groundwork.point.time,
        Symbol::Unknown { unknown, order: 0 } => now[unknown],
        Symbol::Unknown { unknown, order: 1 } => rates[unknown],
        _ => f64::NAN,
    };
    let parameters = system.parameters().values();
    let form = BlockForm::new(system.equations(), structure, parameters);
    if form.uncertain_at(&at_point).is_empty() {
        Ok(())
    } else {
        Err(not_verified("its system Jacobian is singular at the point"))
    }
}
