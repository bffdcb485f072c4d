//! The model as a system of equations F(t, x, x') = 0: values, Jacobians and series of what was written.

use crate::dae::{Anywhere, Dae, Shape};
use crate::equations::{Equations, Evaluator, Variables};
use crate::inputs::replace_inputs;
use crate::parameters::{ParameterError, Parameters};
use crate::repair::Repaired;
use crate::series::MatrixSeries;
use crate::sharpen::{NotSharper, Sharpened, sharpen};
use crate::structure::{StructurallySingular, Structure, settled};
use daelight_expr::{
    BinaryOp, Dd, DdJet, ExprId, FastMap, Graph, Interval, JacobianSeries, Jet, JetEvaluator,
    PlainJet, Signal, UnaryOp,
};
use daelight_lang::{
    Assertion, Declared, DeclaredKind, Equation, Experiment, Hybrid, Model, SourceMap, Span,
    StopCondition, StopKind, Symbol, Symbols, Unknown, View,
};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Why a model is no system of equations yet.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SystemError {
    /// An input is defined by itself.
    CyclicInput {
        /// The input.
        name: String,
        /// Its declaration.
        span: Span,
    },
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CyclicInput { name, .. } => write!(f, "the input `{name}` is defined by itself"),
        }
    }
}

impl std::error::Error for SystemError {}

/// What is known of an unknown before any computation.
#[derive(Clone, PartialEq, Debug)]
pub struct UnknownInfo {
    /// The name, array elements as `p[2]`, velocities as `der(p[2])`.
    pub name: String,
    /// Start value, if the model gives one: a guess, or a condition when `fixed`.
    pub start: Option<f64>,
    /// Whether the start value is one of a class in use, which the model itself says nothing about.
    pub start_is_default: bool,
    /// Whether the start value must hold.
    pub fixed: bool,
    /// The typical magnitude, if the model gives one.
    pub nominal: Option<f64>,
    /// The lower bound, if there is one.
    pub min: Option<f64>,
    /// The upper bound, if there is one.
    pub max: Option<f64>,
    /// The unknown whose velocity this one is, when it was introduced for a second derivative.
    pub velocity_of: Option<usize>,
}

/// A model as equations F(t, x, x') = 0 that can be evaluated.
///
/// Inputs are replaced by their definitions. Equations and unknowns keep the order and the number of
/// the model. The values of the parameters can change, the equations cannot.
#[derive(Clone)]
pub struct System {
    /// The model without its graph, its symbols and its spans, which live on here in extended form.
    model: Arc<Model>,
    equations: Equations,
    structure: Arc<Result<Structure, StructurallySingular>>,
    initial: Equations,
    unknowns: Vec<UnknownInfo>,
    /// Where one of the assertions that end a run breaks, and one of the others.
    broken: [Option<StopCondition>; 2],
    /// Inputs with a signal: their position in the model, and the signal.
    inputs: Vec<(usize, ExprId)>,
    /// Inputs that are used without a signal.
    silent: Vec<usize>,
    parameters: Parameters,
    spans: FastMap<ExprId, Span>,
    /// What follows from the equations, for all copies.
    shape: Arc<OnceLock<Shape>>,
    /// What sample points tell of them at the present values.
    anywhere: OnceLock<Anywhere>,
}

impl System {
    /// Builds the system of a model: replaces inputs and differentiates every equation.
    ///
    /// The cost is linear in the size of the model as long as each equation is small.
    pub fn new(model: &Model) -> Result<Self, SystemError> {
        Self::driven(model, Vec::new())
    }

    /// The same with some inputs given by data: positions in [`Model::inputs`] and the signals that they are.
    ///
    /// What the model itself says about these inputs is not looked at.
    pub fn driven(model: &Model, signals: Vec<(usize, Arc<Signal>)>) -> Result<Self, SystemError> {
        let mut model = model.clone();
        let mut graph = std::mem::take(&mut model.graph);
        let mut symbols = std::mem::take(&mut model.symbols);
        symbols.set_signals(signals);
        let mut spans = std::mem::take(&mut model.spans);
        let n_equations = model.equations.len();
        let mut roots: Vec<ExprId> = model
            .equations
            .iter()
            .chain(&model.initial_equations)
            .map(|equation| equation.residual)
            .collect();
        let n_initial = model.initial_equations.len();
        roots.extend(model.energy);
        roots.extend(model.stop_when.map(|stop| stop.expr));
        roots.extend(model.assertions.iter().map(|a| a.condition));
        roots.extend(model.views.iter().map(|view| view.value));
        // Inputs that have a signal: undefined ones are no mistake unless they are used.
        let known: Vec<usize> = (0..model.inputs.len())
            .filter(|&input| {
                model.inputs[input].definition.is_some() || symbols.signal_of(input).is_some()
            })
            .collect();
        for &input in &known {
            let id = symbols.id(Symbol::Input { input, order: 0 });
            roots.push(graph.symbol(id));
        }
        let silent = replace_inputs(&model, &mut graph, &mut symbols, &mut spans, &mut roots)?;
        let inputs = roots.split_off(roots.len() - known.len());
        take_observed(&mut model, &mut roots);
        let broken = [true, false].map(|is_error| broken(&model, &mut graph, is_error));
        if let Some(stop) = &mut model.stop_when {
            stop.expr = roots.pop().expect("it stands behind the energy");
        }
        if let Some(energy) = &mut model.energy {
            *energy = roots.pop().expect("it stands behind the equations");
        }
        let initial = roots.split_off(n_equations);
        debug_assert_eq!(initial.len(), n_initial);
        let inputs = known.into_iter().zip(inputs).collect();
        let n_unknowns = model.unknowns.len();
        let variables = Variables::all(n_unknowns);
        let [matrices, initial_matrices] = [&roots, &initial].map(|residuals| {
            graph.jacobians(residuals, n_unknowns, |id| variables.slot(&symbols, id))
        });
        let (graph, symbols) = (Arc::new(graph), Arc::new(symbols));
        let n_parameters = model.parameters.len();
        let join = |residuals, matrices| {
            Equations::new(
                Arc::clone(&graph),
                Arc::clone(&symbols),
                variables.clone(),
                residuals,
                matrices,
                n_parameters,
            )
        };
        let parameters = Parameters::new(&graph, &symbols, &model.parameters, &model.declarations);
        let unknowns = attribute_values(&graph, &symbols, &parameters, &model.unknowns);
        let (equations, structure) = settled(join(roots, matrices));
        Ok(Self {
            model: Arc::new(model),
            equations,
            structure: Arc::new(structure),
            initial: join(initial, initial_matrices),
            unknowns,
            inputs,
            silent,
            parameters,
            spans,
            broken,
            shape: Arc::default(),
            anywhere: OnceLock::new(),
        })
    }

    /// The same with its equations rewritten; `None` where that needs further unknowns.
    pub(crate) fn rewritten(&self, repaired: &Repaired) -> Option<Self> {
        repaired.extra_unknowns().is_empty().then(|| Self {
            equations: repaired.equations().clone(),
            structure: Arc::new(Ok(repaired.structure().clone())),
            shape: Arc::default(),
            anywhere: OnceLock::new(),
            ..self.clone()
        })
    }

    /// The forms that the model can be solved in, and which of them holds.
    pub fn dae(&self) -> Dae<'_> {
        Dae {
            system: self,
            shape: self.shape.get_or_init(|| Shape::new(self)),
            anywhere: &self.anywhere,
        }
    }

    /// What has to hold during a run, as expressions of the graph of the equations.
    pub fn assertions(&self) -> &[Assertion] {
        &self.model.assertions
    }

    /// What no equation needs, as expressions of the graph of the equations.
    pub fn views(&self) -> &[View] {
        &self.model.views
    }

    /// Where one of the assertions that end a run does not hold, or one of the others.
    pub fn breaks(&self, is_error: bool) -> Option<StopCondition> {
        self.broken[usize::from(!is_error)]
    }

    /// The energy of the model, if it tells one: an expression of the graph of the equations.
    pub fn energy(&self) -> Option<ExprId> {
        self.model.energy
    }

    /// What changes at events, if anything does.
    pub fn hybrid(&self) -> Option<&Hybrid> {
        self.model.hybrid.as_deref()
    }

    /// Where a run is to end, if that was asked for.
    pub fn stop_when(&self) -> Option<StopCondition> {
        self.model.stop_when
    }

    /// Names and signals of the inputs that have one, as expressions of the graph of the equations.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, ExprId)> {
        let name = |input: usize| self.model.inputs[input].name.as_str();
        self.inputs
            .iter()
            .map(move |&(input, expr)| (name(input), expr))
    }

    /// The name of an input.
    pub fn input_name(&self, input: usize) -> &str {
        &self.model.inputs[input].name
    }

    /// Names of inputs that the model uses and nobody gives a signal: they are 0.
    pub fn silent_inputs(&self) -> impl Iterator<Item = &str> {
        let inputs = self.silent.iter();
        inputs.map(|&input| self.model.inputs[input].name.as_str())
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        &self.model.name
    }

    /// The equations F(t, x, x') = 0.
    pub fn equations(&self) -> &Equations {
        &self.equations
    }

    /// Offsets and blocks of the equations, or the parts in which equations and unknowns do not match.
    pub fn structure(&self) -> Result<&Structure, &StructurallySingular> {
        Result::as_ref(&self.structure)
    }

    /// The equations that hold at the start only; derivatives of any order may occur.
    pub fn initial_equations(&self) -> &Equations {
        &self.initial
    }

    /// The equations as they stand in the model, with their places.
    pub fn written(&self) -> &[Equation] {
        &self.model.equations
    }

    /// The initial equations as they stand in the model, with their places.
    pub fn written_initial(&self) -> &[Equation] {
        &self.model.initial_equations
    }

    /// Names, start values and magnitudes of the unknowns.
    pub fn unknowns(&self) -> &[UnknownInfo] {
        &self.unknowns
    }

    /// The parameters and their values.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Start, stop and tolerance of a run, as the model gives them.
    pub fn experiment(&self) -> Experiment {
        self.model.experiment
    }

    /// The texts that spans point into.
    pub fn sources(&self) -> &SourceMap {
        &self.model.sources
    }

    /// Sets one parameter by name, and what follows from it.
    pub fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ParameterError> {
        let index = self.parameters.find(name)?;
        self.set_parameters(&[(index, value)])
    }

    /// Sets parameters by position, and what follows from them; all or none.
    ///
    /// The result is that of reading the model again with these values. Evaluators made before keep
    /// the values they were given.
    pub fn set_parameters(&mut self, changes: &[(usize, f64)]) -> Result<(), ParameterError> {
        let graph = self.equations.graph();
        let symbols = self.equations.symbols();
        let parameters = self.parameters.with(graph, symbols, changes)?;
        let demanded: Vec<ExprId> = self.model.demands.iter().map(|d| d.condition).collect();
        let demanded = parameters.evaluate(graph, symbols, &demanded);
        if let Some(broken) = demanded.iter().position(|holds| *holds == 0.0) {
            let text = self.model.demands[broken].text.clone();
            return Err(ParameterError::Asserted { text });
        }
        let unknowns = attribute_values(graph, symbols, &parameters, &self.model.unknowns);
        for unknown in &unknowns {
            for (attribute, value) in [("start", unknown.start), ("nominal", unknown.nominal)] {
                if let Some(value) = value.filter(|value| !value.is_finite()) {
                    return Err(ParameterError::Attribute {
                        unknown: unknown.name.clone(),
                        attribute,
                        value,
                    });
                }
            }
        }
        let (before, after) = (self.parameters.values(), parameters.values());
        let is_same = |shape: &Shape| !shape.depends_on_change(before, after);
        if self.unknowns != unknowns || !self.shape.get().is_some_and(is_same) {
            self.anywhere = OnceLock::new();
        }
        self.parameters = parameters;
        self.unknowns = unknowns;
        Ok(())
    }

    /// The bounds of a parameter, infinite where it has none.
    pub fn parameter_bounds(&self, index: usize) -> (f64, f64) {
        let (graph, symbols) = (self.equations.graph(), self.equations.symbols());
        self.parameters.bounds(graph, symbols, index)
    }

    /// An evaluator for F, E and B at points, with the present values of the parameters.
    pub fn evaluator(&self) -> Evaluator {
        self.equations.evaluator(self.parameters.values())
    }

    /// The series F_k, B_k and E_k along a jet up to `order`, on either back end.
    pub fn series<J: JetEvaluator>(&self, order: usize) -> JacobianSeries<J> {
        self.equations.series(order, self.parameters.values())
    }

    /// The series F_k, B_k and E_k along a jet in double-double, for a second look.
    pub fn sharp_series(&self, order: usize) -> JacobianSeries<DdJet, Dd> {
        self.equations.sharp_series(order, self.parameters.values())
    }

    /// The same over stretches of time, enclosed.
    pub fn series_of_intervals(
        &self,
        order: usize,
    ) -> JacobianSeries<PlainJet<Interval>, Interval> {
        let parameters = self.parameters().values();
        self.equations().series_of_intervals(order, parameters)
    }

    /// The consistent jet next to x_0, ..., x_{K+1} in double-double; see [`sharpen`].
    pub fn sharpen(&self, time: f64, jet: &[Vec<f64>]) -> Result<Sharpened, NotSharper> {
        sharpen(&self.equations, self.parameters.values(), time, jet)
    }

    /// E and B at a random jet around the values `center`, for [`compare_with_random_jets`](crate::compare_with_random_jets).
    ///
    /// Values move by up to half their size plus a half, time by up to one; higher coefficients are of size one. `None` where
    /// the equations have no value. The same seed gives the same jet.
    pub fn series_at_random_jet(
        &self,
        time: f64,
        center: &[f64],
        order: usize,
        seed: u64,
    ) -> Option<MatrixSeries> {
        let mut bits = seed;
        // SplitMix64 (Steele, Lea and Flood 2014), between -1 and 1.
        let mut random = || {
            bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = bits;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        let mut series = self.series::<Jet>(order);
        series.inputs_mut().set_time(time + random());
        for k in 0..order + 2 {
            for (place, value) in series.inputs_mut().row_mut(k).iter_mut().zip(center) {
                *place = match k {
                    0 => value + 0.5 * (1.0 + value.abs()) * random(),
                    _ => random(),
                };
            }
        }
        for k in 0..=order {
            series.extend(k).ok()?;
        }
        MatrixSeries::along(&series, order).ok()
    }

    /// An expression of the system's graph in the user's names, if that takes at most `limit` bytes.
    pub fn text(&self, expr: ExprId, limit: usize) -> Option<String> {
        self.write(&self.equations, expr, limit)
    }

    /// An expression of any equations made from this system, in the user's names.
    pub(crate) fn write(
        &self,
        equations: &Equations,
        expr: ExprId,
        limit: usize,
    ) -> Option<String> {
        self.write_in(equations.graph(), equations.symbols(), expr, limit)
    }

    /// An expression of a graph whose symbols are those of this system and more, in the user's names.
    pub(crate) fn write_in(
        &self,
        graph: &Graph,
        symbols: &Symbols,
        expr: ExprId,
        limit: usize,
    ) -> Option<String> {
        graph
            .modelica(expr, limit, |id, text| {
                self.model.write_name(symbols.get(id), text);
            })
            .ok()
    }

    /// Appends the user's name of a time, a parameter or a derivative of an unknown.
    pub fn write_name(&self, symbol: Symbol, text: &mut String) {
        self.model.write_name(symbol, text);
    }

    /// An equation of the system as the user wrote it.
    pub fn equation_text(&self, equation: usize) -> String {
        self.model.equation_text(&self.model.equations[equation])
    }

    /// An initial equation as the user wrote it.
    pub fn initial_equation_text(&self, equation: usize) -> String {
        self.model
            .equation_text(&self.model.initial_equations[equation])
    }

    /// Where an unknown is declared.
    pub fn unknown_span(&self, unknown: usize) -> Span {
        let declaration = self.model.unknowns[unknown].declaration;
        self.model.declarations[declaration].span
    }

    /// Where the start value of an unknown is written: with its component, or in its declaration.
    pub fn start_span(&self, unknown: usize) -> Span {
        let written = self.model.unknowns[unknown].start_span;
        written.unwrap_or_else(|| self.unknown_span(unknown))
    }

    /// The declaration of the component that an equation belongs to, where its class stands in another text than the model.
    pub fn component_span(&self, equation: usize) -> Option<Span> {
        let equation = &self.model.equations[equation];
        let outermost = equation.instance.component.split('.').next()?;
        let mut components = self.model.components.iter();
        let span = components.find(|known| known.path == outermost)?.span;
        (span.source != equation.span.source).then_some(span)
    }

    /// The line of an equation in its text, from 1.
    pub fn equation_line(&self, equation: usize) -> usize {
        let span = self.model.equations[equation].span;
        self.model
            .sources
            .get(span.source)
            .line_column(span.start)
            .0
    }

    /// What an equation is called: its line, if it has one of its own in the text, otherwise its number.
    pub fn equation_name(&self, equation: usize) -> String {
        let all = &self.model.equations;
        let source = all[equation].span.source;
        let line = self.equation_line(equation);
        let has_other = |at: usize| {
            at != equation && all[at].span.source == source && self.equation_line(at) == line
        };
        match source.0 == 0 && !(0..all.len()).any(has_other) {
            true => format!("line {line}"),
            false => format!("equation {}", equation + 1),
        }
    }

    /// The unit of an unknown as the model writes it, `N.m`; empty if it declares none. A velocity has that of its coordinate
    /// for each second.
    pub fn unit(&self, unknown: usize) -> String {
        if let Some(coordinate) = self.unknowns[unknown].velocity_of {
            return match self.unit(coordinate) {
                unit if unit.is_empty() => unit,
                unit => format!("{unit}/s"),
            };
        }
        let is_declared_by = |declared: &&Declared| {
            let size: usize = declared.dims.iter().product();
            declared.kind == DeclaredKind::Unknown
                && (declared.first..declared.first + size).contains(&unknown)
        };
        let declared = self.model.declarations.iter().find(is_declared_by);
        declared.map_or(String::new(), |declared| declared.unit.clone())
    }

    /// The model behind the system, with the graph and the symbols of its equations.
    pub(crate) fn whole_model(&self) -> Model {
        let mut model = Model::clone(&self.model);
        model.graph = Graph::clone(self.equations.graph());
        model.symbols = Symbols::clone(self.equations.symbols());
        model.spans = self.spans.clone();
        model
    }

    /// The signal of an input as an expression of time and parameters, if it has one.
    pub(crate) fn signal(&self, input: usize) -> Option<ExprId> {
        let found = self.inputs.iter().find(|(other, _)| *other == input);
        found.map(|(_, signal)| *signal)
    }

    /// With the parameters, and what follows from them, of another system of the same model.
    pub(crate) fn at_values_of(mut self, other: &Self) -> Self {
        self.parameters = other.parameters.clone();
        self.unknowns = other.unknowns.clone();
        self.anywhere = OnceLock::new();
        self
    }

    /// The model behind the system, without its graph and symbols.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// Where expressions that can fail stand in the text.
    pub(crate) fn spans(&self) -> &FastMap<ExprId, Span> {
        &self.spans
    }
}

/// Takes assertions and views from the end of the roots back into the model.
fn take_observed(model: &mut Model, roots: &mut Vec<ExprId>) {
    let values = roots.split_off(roots.len() - model.views.len());
    for (view, value) in model.views.iter_mut().zip(values) {
        view.value = value;
    }
    let conditions = roots.split_off(roots.len() - model.assertions.len());
    for (assertion, condition) in model.assertions.iter_mut().zip(conditions) {
        assertion.condition = condition;
    }
}

/// Where one of the assertions of a kind does not hold.
fn broken(model: &Model, graph: &mut Graph, is_error: bool) -> Option<StopCondition> {
    let of_kind = model.assertions.iter().filter(|a| a.is_error == is_error);
    let conditions = of_kind.map(|assertion| assertion.condition);
    let all = conditions.reduce(|a, b| graph.binary(BinaryOp::And, a, b))?;
    Some(StopCondition {
        expr: graph.unary(UnaryOp::Not, all),
        kind: StopKind::Condition,
    })
}

/// Start, nominal and bounds of all unknowns for the present parameters.
fn attribute_values(
    graph: &Graph,
    symbols: &Symbols,
    parameters: &Parameters,
    unknowns: &[Unknown],
) -> Vec<UnknownInfo> {
    let attributes = |unknown: &Unknown| [unknown.start, unknown.nominal, unknown.min, unknown.max];
    let expressions: Vec<ExprId> = unknowns.iter().flat_map(attributes).flatten().collect();
    let mut values = parameters
        .evaluate(graph, symbols, &expressions)
        .into_iter();
    unknowns
        .iter()
        .map(|unknown| {
            let [start, nominal, min, max] =
                attributes(unknown).map(|given| given.and_then(|_| values.next()));
            UnknownInfo {
                name: unknown.name.clone(),
                start,
                start_is_default: unknown.start_is_default,
                fixed: unknown.fixed,
                nominal,
                min,
                max,
                velocity_of: unknown.velocity_of,
            }
        })
        .collect()
}
