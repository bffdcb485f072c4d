//! The model: scalar, first order, `F(t, x, x') = 0` in the user's names, with where all came from.

use crate::hybrid::Hybrid;
use crate::source::{SourceMap, Span};
use daelight_expr::{ExprId, FastMap, Graph, Signal, SymbolId, TooLong, Walker};
use std::sync::Arc;

/// What a symbol of the model's graph stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Symbol {
    /// The independent variable.
    Time,
    /// `parameters[index]`.
    Parameter(usize),
    /// A derivative (order 0: the value) of `inputs[input]`.
    Input {
        /// Position in [`Model::inputs`].
        input: usize,
        /// How often it is differentiated.
        order: u32,
    },
    /// A derivative (order 0: the value) of `unknowns[unknown]`.
    Unknown {
        /// Position in [`Model::unknowns`].
        unknown: usize,
        /// How often it is differentiated; at most 1 in [`Model::equations`].
        order: u32,
    },
}

/// The symbols of a graph, each once.
#[derive(Clone, Default, Debug)]
pub struct Symbols {
    list: Vec<Symbol>,
    /// Ids by kind and position, `NONE` where there is none yet.
    time: Vec<u32>,
    parameters: Vec<u32>,
    inputs: Vec<Vec<u32>>,
    unknowns: Vec<Vec<u32>>,
    /// Inputs that are given by data.
    signals: Vec<(usize, Arc<Signal>)>,
}

const NONE: u32 = u32::MAX;

impl Symbols {
    /// The id of a symbol, made when it is new.
    pub fn id(&mut self, symbol: Symbol) -> SymbolId {
        fn level(orders: &mut Vec<Vec<u32>>, order: u32) -> &mut Vec<u32> {
            let order = order as usize;
            if orders.len() <= order {
                orders.resize(order + 1, Vec::new());
            }
            &mut orders[order]
        }
        let (table, position) = match symbol {
            Symbol::Time => (&mut self.time, 0),
            Symbol::Parameter(index) => (&mut self.parameters, index),
            Symbol::Input { input, order } => (level(&mut self.inputs, order), input),
            Symbol::Unknown { unknown, order } => (level(&mut self.unknowns, order), unknown),
        };
        if table.len() <= position {
            table.resize(position + 1, NONE);
        }
        let id = &mut table[position];
        if *id == NONE {
            *id = self.list.len() as u32;
            self.list.push(symbol);
        }
        SymbolId(*id)
    }

    /// What was an unknown is a parameter from now on.
    pub(crate) fn make_parameter(&mut self, unknown: usize, parameter: usize) {
        let id = self.id(Symbol::Unknown { unknown, order: 0 });
        self.list[id.0 as usize] = Symbol::Parameter(parameter);
        self.unknowns[0][unknown] = NONE;
        if self.parameters.len() <= parameter {
            self.parameters.resize(parameter + 1, NONE);
        }
        self.parameters[parameter] = id.0;
    }

    /// What was an input is an unknown from now on; false where its second derivative is in use.
    pub(crate) fn release(&mut self, input: usize, unknown: usize) -> bool {
        for order in 0..self.inputs.len() {
            let id = self.inputs[order].get(input).copied().unwrap_or(NONE);
            if id == NONE {
                continue;
            }
            if order > 1 {
                return false;
            }
            self.inputs[order][input] = NONE;
            let symbol = Symbol::Unknown {
                unknown,
                order: order as u32,
            };
            // Its id stays the one that the graph knows.
            let table = order + 1;
            if self.unknowns.len() < table {
                self.unknowns.resize(table, Vec::new());
            }
            if self.unknowns[order].len() <= unknown {
                self.unknowns[order].resize(unknown + 1, NONE);
            }
            self.unknowns[order][unknown] = id;
            self.list[id as usize] = symbol;
        }
        true
    }

    /// Gives unknowns new positions; those without one must not be used any more.
    pub(crate) fn renumber_unknowns(&mut self, new_place: &[Option<usize>]) {
        for symbol in &mut self.list {
            if let Symbol::Unknown { unknown, .. } = symbol {
                // Those left out before have no place already.
                *unknown = new_place
                    .get(*unknown)
                    .copied()
                    .flatten()
                    .unwrap_or(usize::MAX);
            }
        }
        for table in &mut self.unknowns {
            let old = std::mem::take(table);
            for (unknown, id) in old.into_iter().enumerate() {
                if let (Some(new), true) = (new_place.get(unknown).copied().flatten(), id != NONE) {
                    if table.len() <= new {
                        table.resize(new + 1, NONE);
                    }
                    table[new] = id;
                }
            }
        }
    }

    /// Gives inputs by data: positions in [`Model::inputs`] and the signals that they are.
    pub fn set_signals(&mut self, signals: Vec<(usize, Arc<Signal>)>) {
        self.signals = signals;
    }

    /// The inputs that are given by data.
    pub fn signals(&self) -> &[(usize, Arc<Signal>)] {
        &self.signals
    }

    /// The position of an input among [`Symbols::signals`], if it is given by data.
    pub fn signal_of(&self, input: usize) -> Option<usize> {
        self.signals.iter().position(|(other, _)| *other == input)
    }

    /// The value of what follows from the time alone: the time, and inputs given by data; NaN for everything else.
    pub fn value_at(&self, symbol: Symbol, time: f64) -> f64 {
        match symbol {
            Symbol::Time => time,
            Symbol::Input { input, order } => self.signal_of(input).map_or(f64::NAN, |position| {
                self.signals[position].1.derivative(time, order as usize)
            }),
            Symbol::Parameter(_) | Symbol::Unknown { .. } => f64::NAN,
        }
    }

    /// What an id stands for.
    pub fn get(&self, id: SymbolId) -> Symbol {
        self.list[id.0 as usize]
    }

    /// The symbol one derivative further; `None` for what does not change in time.
    ///
    /// Time itself moves at rate 1, which is a number: [`Symbols::rate`] covers it.
    fn next(&mut self, symbol: Symbol) -> Option<SymbolId> {
        match symbol {
            Symbol::Time | Symbol::Parameter(_) => None,
            Symbol::Input { input, order } => Some(self.id(Symbol::Input {
                input,
                order: order + 1,
            })),
            Symbol::Unknown { unknown, order } => Some(self.id(Symbol::Unknown {
                unknown,
                order: order + 1,
            })),
        }
    }

    /// The rate of change of a symbol in time; `None` when it rests.
    pub fn rate(&mut self, graph: &mut Graph, id: SymbolId) -> Option<ExprId> {
        match self.get(id) {
            Symbol::Time => Some(graph.constant(1.0)),
            symbol => self.next(symbol).map(|next| graph.symbol(next)),
        }
    }
}

/// The type of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A real number.
    Real,
    /// A whole number.
    Integer,
    /// A truth value, 1 or 0.
    Boolean,
}

impl Type {
    /// The Modelica name.
    pub fn word(self) -> &'static str {
        match self {
            Type::Real => "Real",
            Type::Integer => "Integer",
            Type::Boolean => "Boolean",
        }
    }
}

/// A scalar parameter or constant.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name, array elements as `a[3]`.
    pub name: String,
    /// Its value in this model.
    pub value: f64,
    /// The expression that gives the value.
    pub definition: ExprId,
    /// The type.
    pub ty: Type,
    /// Whether it is a `constant`, which cannot be set.
    pub is_constant: bool,
    /// The lower bound.
    pub min: Option<ExprId>,
    /// The upper bound.
    pub max: Option<ExprId>,
    /// Whether sizes, ranges, or which equations hold depend on it.
    pub is_structural: bool,
    /// The declaration it belongs to, in [`Model::declarations`].
    pub declaration: usize,
}

/// A scalar input: a signal that is known, and no unknown.
#[derive(Clone, Debug)]
pub struct Input {
    /// The name.
    pub name: String,
    /// The signal as an expression of time and parameters; `None` when the model gives none.
    pub definition: Option<ExprId>,
    /// The declaration it belongs to.
    pub declaration: usize,
}

/// A scalar unknown with its attributes, which are expressions of parameters.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// The name, array elements as `p[2]`, velocities as `der(p[2])`.
    pub name: String,
    /// Start value: a guess, or a condition when `fixed`.
    pub start: Option<ExprId>,
    /// Whether the start value is one of a class in use, which the model itself says nothing about.
    pub start_is_default: bool,
    /// Whether the start value must hold.
    pub fixed: bool,
    /// Where the start value or `fixed` is written, if not in the declaration but where a component is given its values.
    pub start_span: Option<Span>,
    /// The typical magnitude.
    pub nominal: Option<ExprId>,
    /// The lower bound.
    pub min: Option<ExprId>,
    /// The upper bound.
    pub max: Option<ExprId>,
    /// The declaration it belongs to.
    pub declaration: usize,
    /// The unknown whose first derivative this one is, when daelight introduced it.
    pub velocity_of: Option<usize>,
}

impl Unknown {
    /// An unknown of a declaration, without attributes.
    pub fn plain(name: String, declaration: usize) -> Self {
        Self {
            name,
            start: None,
            start_is_default: false,
            fixed: false,
            start_span: None,
            nominal: None,
            min: None,
            max: None,
            declaration,
            velocity_of: None,
        }
    }
}

/// Where an equation came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It stands in the text.
    Written,
    /// The binding of a declaration.
    Binding,
    /// The Euler-Lagrange equation of a coordinate.
    EulerLagrange {
        /// The coordinate, in [`Model::unknowns`].
        coordinate: usize,
    },
    /// A constraint of a `lagrange` equation, by position from 1.
    Constraint {
        /// Position in the list of constraints.
        position: usize,
    },
    /// The definition of a velocity that brings a second derivative to first order.
    Velocity {
        /// The unknown that is differentiated.
        of: usize,
    },
}

/// A scalar equation `left = right`.
#[derive(Clone, Debug)]
pub struct Equation {
    /// The left side.
    pub left: ExprId,
    /// The right side.
    pub right: ExprId,
    /// `left - right`.
    pub residual: ExprId,
    /// The text it came from.
    pub span: Span,
    /// How it came from there.
    pub origin: Origin,
    /// Values of the loop variables around it, outermost first, and the array element.
    pub instance: Instance,
}

/// Names and values of loop variables, outermost first.
pub type LoopIndices = Arc<[(Arc<str>, f64)]>;

/// Which copy of an equation this is, where one line of text gives several.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Loop variables and their values.
    pub indices: LoopIndices,
    /// Position inside an array equation, from 1.
    pub element: Option<usize>,
    /// The component whose class the equation stands in; empty for the model itself.
    pub component: Arc<str>,
    /// The flows that a connection balances.
    pub flow: Option<Arc<str>>,
}

impl Default for Instance {
    fn default() -> Self {
        Self {
            indices: Default::default(),
            element: None,
            component: "".into(),
            flow: None,
        }
    }
}

/// A component that is a model itself.
#[derive(Clone, Debug)]
pub struct Submodel {
    /// Its name with the components around it.
    pub path: String,
    /// The name of its class.
    pub class: String,
    /// Where it is declared.
    pub span: Span,
}

/// What kind of thing a declaration declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeclaredKind {
    /// Scalars are in [`Model::parameters`].
    Parameter,
    /// Scalars are in [`Model::parameters`].
    Constant,
    /// Scalars are in [`Model::inputs`].
    Input,
    /// Scalars are in [`Model::unknowns`].
    Unknown,
}

/// A declaration of the text, for writing the model back and for messages.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The name.
    pub name: String,
    /// Sizes; empty for a scalar.
    pub dims: Vec<usize>,
    /// Parameter, constant, input or unknown.
    pub kind: DeclaredKind,
    /// Position of its first scalar in the list of its kind.
    pub first: usize,
    /// The type.
    pub ty: Type,
    /// The comment behind it.
    pub comment: String,
    /// The text of its `unit`.
    pub unit: String,
    /// Whether it is an `output`.
    pub is_output: bool,
    /// Whether it is an `output` of a component.
    pub is_output_of_component: bool,
    /// Whether it is an input of a component.
    pub is_input_of_component: bool,
    /// Whether it stands in a `protected` section.
    pub is_protected: bool,
    /// Whether it is `final`.
    pub is_final: bool,
    /// Its place.
    pub span: Span,
}

/// The `experiment` annotation.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Experiment {
    /// Where a run begins.
    pub start_time: Option<f64>,
    /// Where it ends.
    pub stop_time: Option<f64>,
    /// Its relative tolerance.
    pub tolerance: Option<f64>,
    /// The distance of output points.
    pub interval: Option<f64>,
}

/// Where a run is to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StopCondition {
    /// The expression.
    pub expr: ExprId,
    /// What is looked for.
    pub kind: StopKind,
}

/// What a stopping expression does where a run is to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopKind {
    /// A condition begins to hold, or holds at the start.
    Condition,
    /// A number changes its sign.
    Number,
    /// The difference of two numbers changes its sign, or is zero at the start.
    Equality,
}

/// An `assert`: of quantities that change during a run, or of parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Assertion {
    /// What has to hold.
    pub condition: ExprId,
    /// What the model says where it does not.
    pub text: String,
    /// Whether a run ends there (`AssertionLevel.error`), or goes on.
    pub is_error: bool,
    /// Where the condition stands.
    pub span: Span,
}

/// A quantity that no equation needs: it is computed from the unknowns when values are written.
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    /// The name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its value.
    pub value: ExprId,
}

/// A model in which each `homotopy(actual, simplified)` is `simplified + q*(actual - simplified)`, and `simplified` alone for q < 0.
#[derive(Clone)]
pub struct Homotopy {
    /// The model, with the same unknowns.
    pub model: Arc<Model>,
    /// The parameter q: 0 for the simplified equations, 1 for the actual ones.
    pub parameter: usize,
}

/// A polyline of a drawing: points of two or three coordinates.
pub type Polyline = Vec<Vec<ExprId>>;

/// A checked model: every name resolved, arrays scalarised, derivatives of order at most 1.
///
/// ```
/// use daelight_lang::{Options, load};
///
/// let text = "model Fall  parameter Real g = 9.81;  Real h[2](each start = 1);
///             equation  der(der(h[1])) = -g;  h[2] = 2*h[1];  end Fall;";
/// let model = load("fall.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
/// let names: Vec<&str> = model.unknowns.iter().map(|unknown| unknown.name.as_str()).collect();
/// assert_eq!(names, ["h[1]", "h[2]", "der(h[1])"]);
/// assert_eq!(model.unknowns[2].velocity_of, Some(0));
/// assert_eq!(model.equation_text(&model.equations[1]), "h[2] = 2*h[1]");
/// ```
#[derive(Clone)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// The comment behind the name.
    pub comment: String,
    /// All expressions.
    pub graph: Graph,
    /// What the symbols of the graph stand for.
    pub symbols: Symbols,
    /// Scalar parameters and constants.
    pub parameters: Vec<Parameter>,
    /// Scalar inputs.
    pub inputs: Vec<Input>,
    /// Scalar unknowns: declared ones in the order of the text, then velocities.
    pub unknowns: Vec<Unknown>,
    /// Scalar equations.
    pub equations: Vec<Equation>,
    /// Equations that hold at the start only; derivatives of any order may occur.
    pub initial_equations: Vec<Equation>,
    /// The declarations behind parameters, inputs and unknowns.
    pub declarations: Vec<Declared>,
    /// The components that are models themselves, ordered by path.
    pub components: Vec<Submodel>,
    /// Start, stop and tolerance of a run.
    pub experiment: Experiment,
    /// What to draw.
    pub drawing: Vec<Polyline>,
    /// The energy T + V of the parts written with `lagrange`, or the one that an annotation gives.
    pub energy: Option<ExprId>,
    /// Where a run is to end, if that was asked for.
    pub stop_when: Option<StopCondition>,
    /// What changes at events, if anything does.
    pub hybrid: Option<Arc<Hybrid>>,
    /// What has to hold during a run.
    pub assertions: Vec<Assertion>,
    /// What values of the parameters have to satisfy; the present ones do.
    pub demands: Vec<Assertion>,
    /// What no equation needs.
    pub views: Vec<View>,
    /// The model that leads from the simplified arguments of `homotopy` to the actual ones, where there are any.
    pub homotopy: Option<Homotopy>,
    /// The texts.
    pub sources: SourceMap,
    /// Where the operations that can fail or have a kink stand in the text.
    pub spans: FastMap<ExprId, Span>,
}

impl Model {
    /// The parameters that the text declares: no constants, and nothing that is held between events.
    pub fn own_parameters(&self) -> impl Iterator<Item = &Parameter> {
        let held = self
            .hybrid
            .iter()
            .flat_map(|hybrid| hybrid.held_parameters());
        let held: std::collections::BTreeSet<usize> = held.collect();
        let all = self.parameters.iter().enumerate();
        all.filter(move |(at, parameter)| !parameter.is_constant && !held.contains(at))
            .map(|(_, parameter)| parameter)
    }

    /// The value of an expression of parameters alone; NaN where it is undefined.
    pub fn parameter_value(&self, expr: ExprId) -> f64 {
        self.graph
            .evaluate(&[expr], |id| match self.symbols.get(id) {
                Symbol::Parameter(index) => self.parameters[index].value,
                _ => f64::NAN,
            })[0]
    }

    /// The unknowns that occur in each equation, with or without `der`, ascending.
    pub fn incidence(&self) -> Vec<Vec<usize>> {
        let mut walker = Walker::new();
        self.equations
            .iter()
            .map(|equation| {
                let mut unknowns: Vec<usize> = walker
                    .symbols(&self.graph, &[equation.residual])
                    .into_iter()
                    .filter_map(|id| match self.symbols.get(id) {
                        Symbol::Unknown { unknown, .. } => Some(unknown),
                        _ => None,
                    })
                    .collect();
                unknowns.sort_unstable();
                unknowns.dedup();
                unknowns
            })
            .collect()
    }

    /// Appends the Modelica text of a symbol.
    pub fn write_symbol(&self, id: SymbolId, text: &mut String) {
        self.write_name(self.symbols.get(id), text);
    }

    /// Appends the Modelica text of what a symbol stands for, which need not occur in the model.
    pub fn write_name(&self, symbol: Symbol, text: &mut String) {
        let (name, order) = match symbol {
            Symbol::Time => ("time".to_string(), 0),
            Symbol::Parameter(index) => {
                let parameter = &self.parameters[index];
                (self.reference(parameter.declaration, &parameter.name), 0)
            }
            Symbol::Input { input, order } => {
                let input = &self.inputs[input];
                (self.reference(input.declaration, &input.name), order)
            }
            Symbol::Unknown { unknown, order } => {
                let unknown = &self.unknowns[unknown];
                let text = if unknown.velocity_of.is_some() {
                    quote(&unknown.name)
                } else {
                    self.reference(unknown.declaration, &unknown.name)
                };
                (text, order)
            }
        };
        for _ in 0..order {
            text.push_str("der(");
        }
        text.push_str(&name);
        for _ in 0..order {
            text.push(')');
        }
    }

    /// The name of what a symbol stands for and how many dots it carries in a formula: a velocity that was introduced is the
    /// derivative of what it belongs to.
    pub fn dotted_name(&self, symbol: Symbol) -> (String, u32) {
        match symbol {
            Symbol::Time => ("t".to_string(), 0),
            Symbol::Parameter(index) => (self.parameters[index].name.clone(), 0),
            Symbol::Input { input, order } => (self.inputs[input].name.clone(), order),
            Symbol::Unknown {
                mut unknown,
                mut order,
            } => {
                while let Some(of) = self.unknowns[unknown].velocity_of {
                    unknown = of;
                    order += 1;
                }
                (self.unknowns[unknown].name.clone(), order)
            }
        }
    }

    /// How the text refers to a scalar of a declaration: quoted where the name needs it.
    fn reference(&self, declaration: usize, name: &str) -> String {
        let declared = &self.declarations[declaration];
        let mut text = quote(&declared.name);
        if !declared.dims.is_empty() {
            text.push_str(&name[declared.name.len()..]);
        }
        text
    }

    /// An expression as Modelica text, at most `limit` bytes long.
    pub fn text(&self, expr: ExprId, limit: usize) -> Result<String, TooLong> {
        self.graph
            .modelica(expr, limit, |id, text| self.write_symbol(id, text))
    }

    /// The equation as the user wrote it, on one line, with the loop indices of this copy.
    pub fn equation_text(&self, equation: &Equation) -> String {
        let mut text = match &equation.origin {
            Origin::Velocity { of } => {
                let name = &self.unknowns[*of].name;
                return format!("der({name}) = velocity of {name}");
            }
            Origin::EulerLagrange { coordinate } => {
                format!(
                    "Euler-Lagrange equation of {}",
                    self.unknowns[*coordinate].name
                )
            }
            Origin::Constraint { position } => format!("constraint {position} of lagrange"),
            Origin::Written | Origin::Binding => shorten(self.sources.slice(equation.span), 100),
        };
        let mut parts: Vec<String> = equation
            .instance
            .indices
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        if let Some(element) = equation.instance.element {
            parts.push(format!("element {element}"));
        }
        if let Some(flow) = &equation.instance.flow {
            parts.push(format!("the sum of {flow}"));
        }
        if !equation.instance.component.is_empty() {
            parts.push(format!("in {}", equation.instance.component));
        }
        if !parts.is_empty() {
            text.push_str(&format!(" [{}]", parts.join(", ")));
        }
        text
    }
}

/// The text on one line, cut where it is longer than `limit` characters.
pub fn shorten(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (count, word) in text.split_whitespace().enumerate() {
        if count > 0 {
            line.push(' ');
        }
        line.push_str(word);
        if line.chars().count() > limit {
            let cut: String = line.chars().take(limit).collect();
            return format!("{cut}…");
        }
    }
    line
}

/// A name as Modelica text: quoted unless it is a plain identifier. A dot needs quotes too: without
/// them it would be a component of another variable.
pub(crate) fn quote(name: &str) -> String {
    if is_identifier(name) {
        name.to_string()
    } else {
        format!("'{name}'")
    }
}

fn is_identifier(part: &str) -> bool {
    let plain = part.bytes().enumerate().all(|(at, byte)| {
        byte == b'_' || byte.is_ascii_alphabetic() || (at > 0 && byte.is_ascii_digit())
    });
    plain && !part.is_empty() && !is_keyword(part) && !matches!(part, "der" | "time")
}

fn is_keyword(word: &str) -> bool {
    use crate::token::Kind;
    use logos::Logos;
    !matches!(Kind::lexer(word).next(), Some(Ok(Kind::Ident)))
}
