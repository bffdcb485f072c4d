//! Linear systems E(t) x' = A(t) x + f(t) of any shape: recognised from the equations, given as series at any time.
//!
//! Numbers in parentheses refer to `docs/theory/linear.md`.

use crate::explain::SHOWN;
use crate::series::MatrixSeries;
use crate::system::System;
use daelight_expr::{
    BinaryOp, ExprId, Fault, Graph, Interval, JacobianSeries, Jet, JetEvaluator, Node, PlainJet,
    Tape, UnaryOp, Walker,
};
use daelight_lang::{Symbol, Symbols};
use daelight_linalg::Mat;
use std::fmt;
use std::sync::Arc;

/// The series of a linear system at a time: E x' = A x + f, that is E x' + B x = f with B = -A.
#[derive(Clone, Debug)]
pub struct LinearSeries {
    /// E and B = -A.
    pub matrices: MatrixSeries,
    /// Taylor coefficients of f, each one value per equation; as many as E has.
    pub f: Vec<Vec<f64>>,
}

/// Says that a linear system has no coefficients at some time, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undefined {
    /// One sentence.
    pub sentence: String,
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Undefined {}

/// What a function of time does to the coefficients where it vanishes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MarkKind {
    /// A coefficient has no value, or no derivatives, there: a divisor or the argument of a root or logarithm.
    Undefined,
    /// A coefficient has a kink or a jump: the switching point of `abs`, `max`, `if` and the like.
    Switch,
}

/// A function of time whose zeros cut the time axis into pieces on which the coefficients are smooth (3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// What happens where it vanishes.
    pub kind: MarkKind,
    /// The function as text.
    pub text: String,
}

/// What is known of coefficients over a stretch of time.
#[derive(Clone, Debug)]
pub enum Bounds {
    /// The largest absolute value of each entry of E and of B.
    Known([Mat; 2]),
    /// An entry may have no value, or no derivatives, somewhere.
    Open,
    /// The source can be asked at single times only.
    NotKnown,
}

/// A source of linear series: a model, or anything that can be expanded at a time.
pub trait LinearFamily {
    /// Number of equations, m.
    fn n_equations(&self) -> usize;

    /// Number of unknowns, n; need not be m.
    fn n_unknowns(&self) -> usize;

    /// Taylor coefficients 0..=`order` at a time.
    fn at(&mut self, time: f64, order: usize) -> Result<LinearSeries, Undefined>;

    /// The functions of time that decide where the coefficients are smooth; none if they are so everywhere.
    fn marks(&self) -> &[Mark] {
        &[]
    }

    /// Bounds for coefficient `order` of E and B at all times between two.
    fn bounds(&mut self, _from: f64, _to: f64, _order: usize) -> Bounds {
        Bounds::NotKnown
    }

    /// Coefficients 0, 1 and 2 of one mark at a time; `None` where it has none itself.
    fn mark(&mut self, _mark: usize, _time: f64) -> Option<[f64; 3]> {
        None
    }
}

/// Says that a system is not linear, and which equation shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotLinear {
    /// The equation, by position among those of the model.
    pub equation: usize,
    /// The unknown by which its derivative is not a function of time alone.
    pub unknown: usize,
    /// 0 for the unknown itself, 1 for its rate.
    pub derivative: usize,
    /// One sentence with the equation and what its derivative contains.
    pub sentence: String,
}

impl fmt::Display for NotLinear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for NotLinear {}

/// A system whose equations are F = E(t) x' - A(t) x - f(t), exactly.
///
/// ```
/// use daelight_analysis::System;
/// use daelight_analysis::linear::{LinearFamily, LinearSystem};
/// use daelight_lang::{Options, load};
///
/// let text = "model M  Real x;  equation  time*der(x) = -x + sin(time);  end M;";
/// let model = load("m.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
/// let system = System::new(&model)?;
/// let mut linear = LinearSystem::new(&system)?;
/// let series = linear.at(0.0, 3)?;
/// assert_eq!(series.matrices.e().coefficient(1)[(0, 0)], 1.0);
/// assert_eq!(series.matrices.b().coefficient(0)[(0, 0)], 1.0);
/// assert_eq!(series.f[1], [1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LinearSystem<'a> {
    system: &'a System,
    series: JacobianSeries<Jet>,
    /// The same over stretches of time; `None` where signals are read, whose pieces are known at single times.
    stretch: Option<JacobianSeries<PlainJet<Interval>, Interval>>,
    marks: Vec<Mark>,
    /// The functions behind the marks, each for itself: a fault of one is no matter of the others.
    functions: Vec<Jet>,
}

impl<'a> LinearSystem<'a> {
    /// Recognises a linear system (1): no entry of dF/dx' and dF/dx holds an unknown.
    pub fn new(system: &'a System) -> Result<Self, NotLinear> {
        let equations = system.equations();
        let (graph, symbols) = (equations.graph(), equations.symbols());
        let mut walker = Walker::new();
        for derivative in 0..=equations.order() {
            let jacobian = equations.jacobian(derivative);
            for (equation, unknown, position) in jacobian.pattern.iter() {
                let entry = jacobian.entries[position];
                let held = walker
                    .symbols(graph, &[entry])
                    .into_iter()
                    .find(|&symbol| matches!(symbols.get(symbol), Symbol::Unknown { .. }));
                if derivative > 1 || held.is_some() {
                    return Err(not_linear(system, (equation, unknown, derivative), entry));
                }
            }
        }
        let (marks, functions) = functions_of_time(system);
        Ok(Self {
            system,
            series: system.series(0),
            stretch: (equations.signals().is_empty()).then(|| system.series_of_intervals(0)),
            marks,
            functions,
        })
    }

    /// The system behind it.
    pub fn system(&self) -> &'a System {
        self.system
    }

    fn undefined(&self, fault: &Fault) -> Undefined {
        Undefined {
            sentence: self.system.explain(fault).sentence,
        }
    }
}

impl LinearFamily for LinearSystem<'_> {
    fn n_equations(&self) -> usize {
        self.series.n_equations()
    }

    fn n_unknowns(&self) -> usize {
        self.series.n_unknowns()
    }

    /// The jet is zero, so that the residual is -f (2).
    fn at(&mut self, time: f64, order: usize) -> Result<LinearSeries, Undefined> {
        let (m, n) = (self.n_equations(), self.n_unknowns());
        self.series.jet_mut().reserve(order);
        self.series.inputs_mut().set_time(time);
        let mut matrices: [Vec<Mat>; 2] = Default::default();
        let mut f = Vec::with_capacity(order + 1);
        for k in 0..=order {
            if let Err(fault) = self.series.extend(k) {
                return Err(self.undefined(&fault));
            }
            for (derivative, list) in matrices.iter_mut().enumerate() {
                let mut coefficient = Mat::zeros(m, n);
                for (row, column, position) in self.series.pattern(derivative).iter() {
                    coefficient[(row, column)] = self.series.entry(derivative, position, k);
                }
                list.push(coefficient);
            }
            f.push((0..m).map(|i| 0.0 - self.series.residual(i, k)).collect());
        }
        let [b, e] = matrices;
        let matrices = MatrixSeries::new(e, b).expect("both have the shape of the system");
        Ok(LinearSeries { matrices, f })
    }

    fn bounds(&mut self, from: f64, to: f64, order: usize) -> Bounds {
        let (m, n) = (self.n_equations(), self.n_unknowns());
        let Some(series) = &mut self.stretch else {
            return Bounds::NotKnown;
        };
        series.jet_mut().reserve(order);
        series.inputs_mut().set_time(Interval::new(from, to));
        for k in 0..=order {
            if series.extend(k).is_err() {
                return Bounds::Open;
            }
        }
        let [b, e] = [0, 1].map(|derivative| {
            let mut bound = Mat::zeros(m, n);
            for (row, column, position) in series.pattern(derivative).iter() {
                bound[(row, column)] = series.entry(derivative, position, order).magnitude();
            }
            bound
        });
        Bounds::Known([e, b])
    }

    fn marks(&self) -> &[Mark] {
        &self.marks
    }

    fn mark(&mut self, mark: usize, time: f64) -> Option<[f64; 3]> {
        let function = &mut self.functions[mark];
        function.inputs_mut().set_time(time);
        for k in 0..3 {
            function.extend(k).ok()?;
        }
        let value = [0, 1, 2].map(|k| function.root(0, k));
        value.iter().all(|v| v.is_finite()).then_some(value)
    }
}

fn not_linear(system: &System, place: (usize, usize, usize), entry: ExprId) -> NotLinear {
    let (equation, unknown, derivative) = place;
    let mut name = system.unknowns()[unknown].name.clone();
    for _ in 0..derivative {
        name = format!("der({name})");
    }
    let what = system
        .text(entry, SHOWN)
        .map_or_else(|| "not constant".to_string(), |text| format!("`{text}`"));
    let text = daelight_lang::shorten(&system.equation_text(equation), SHOWN);
    let sentence = if derivative > 1 {
        format!("not of first order: `{text}` contains `{name}`")
    } else {
        format!(
            "not linear: the derivative of `{text}` by `{name}` is {what}, which holds unknowns"
        )
    };
    NotLinear {
        equation,
        unknown,
        derivative,
        sentence,
    }
}

/// Finds the functions of time at whose zeros some coefficient has no value or is not smooth (3).
fn functions_of_time(system: &System) -> (Vec<Mark>, Vec<Jet>) {
    let equations = system.equations();
    let symbols = equations.symbols();
    let mut roots = equations.residuals().to_vec();
    for derivative in 0..=equations.order() {
        roots.extend(&equations.jacobian(derivative).entries);
    }
    let mut graph = Graph::clone(equations.graph());
    let mut found: Vec<(ExprId, MarkKind)> = Vec::new();
    for id in Walker::new().reachable(equations.graph(), &roots).to_vec() {
        for (function, kind) in critical_functions(&mut graph, id) {
            if depends_on_time_alone(&graph, symbols, function)
                && !found.iter().any(|&(other, _)| other == function)
            {
                found.push((function, kind));
            }
        }
    }
    let parameters = system.parameters().values();
    let functions = found
        .iter()
        .map(|&(function, _)| {
            let tape = Tape::compile(&graph, &[function], |id| equations.slot(id))
                .with_counts(equations.n_unknowns(), parameters.len())
                .with_slot_order(equations.order())
                .with_signals(&equations.signals());
            let mut jet = Jet::new(Arc::new(tape), 2);
            let inputs = jet.inputs_mut();
            inputs.parameters_mut().copy_from_slice(parameters);
            jet
        })
        .collect();
    let marks = found
        .iter()
        .map(|&(function, kind)| Mark {
            kind,
            text: system
                .write_in(&graph, symbols, function, SHOWN)
                .unwrap_or_else(|| "a function of time".to_string()),
        })
        .collect();
    (marks, functions)
}

/// Where an operation is undefined or not smooth, as zeros of functions.
fn critical_functions(graph: &mut Graph, id: ExprId) -> Vec<(ExprId, MarkKind)> {
    use MarkKind::{Switch, Undefined};
    match graph.node(id) {
        Node::Binary(BinaryOp::Div, _, b) => vec![(b, Undefined)],
        Node::Binary(BinaryOp::Pow, a, b) => {
            let whole = graph
                .as_constant(b)
                .is_some_and(|b| b >= 0.0 && b.fract() == 0.0);
            if whole { vec![] } else { vec![(a, Undefined)] }
        }
        Node::Binary(BinaryOp::Atan2, a, b) => {
            let (square_a, square_b) = (graph.mul(a, a), graph.mul(b, b));
            vec![(graph.add(square_a, square_b), Undefined)]
        }
        Node::Binary(
            BinaryOp::Min
            | BinaryOp::Max
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::Equal
            | BinaryOp::NotEqual,
            a,
            b,
        ) => vec![(graph.sub(a, b), Switch)],
        Node::Unary(UnaryOp::Sqrt | UnaryOp::Log | UnaryOp::Log10, a) => vec![(a, Undefined)],
        Node::Unary(UnaryOp::Tan, a) => vec![(graph.unary(UnaryOp::Cos, a), Undefined)],
        Node::Unary(UnaryOp::Asin | UnaryOp::Acos, a) => {
            let one = graph.constant(1.0);
            vec![
                (graph.sub(a, one), Undefined),
                (graph.add(a, one), Undefined),
            ]
        }
        Node::Unary(UnaryOp::Abs | UnaryOp::Sign, a) => vec![(a, Switch)],
        _ => vec![],
    }
}

fn depends_on_time_alone(graph: &Graph, symbols: &Symbols, expr: ExprId) -> bool {
    let mut time = false;
    let held = Walker::new().symbols(graph, &[expr]);
    held.into_iter().all(|symbol| match symbols.get(symbol) {
        Symbol::Time | Symbol::Input { .. } => {
            time = true;
            true
        }
        Symbol::Parameter(_) => true,
        _ => false,
    }) && time
}
