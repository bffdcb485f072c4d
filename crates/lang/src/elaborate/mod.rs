//! Tree to model: names are resolved, parameters evaluated, arrays and loops written out, functions
//! inlined, derivatives brought to first order.
//!
//! Every step that finds a mistake reports it and returns [`Reported`]; the caller leaves out what
//! depends on it and goes on, so that one pass reports all mistakes.

mod algorithm;
mod arithmetic;
mod array;
mod assertion;
mod attribute;
mod call;
mod clock;
mod connect;
mod construct;
mod declare;
mod dependency;
mod discrete;
mod equation;
mod expr;
mod function;
mod guess;
mod held;
mod instance;
mod knowledge;
mod lagrange;
mod linear;
mod lower;
mod matrix;
mod native;
mod parameter;
mod scope;
mod table;
mod value;
mod view;
mod when;

pub use attribute::ATTRIBUTES;
pub use call::built_in_functions;

use crate::ast::{self, AstId, Class, Expr, Relation};
use crate::diagnostic::{Code, Diagnostic, MAX_ERRORS, Severity, nearest};
use crate::forest::Forest;
use crate::model::{
    Assertion, Declared, Equation, Experiment, Input, LoopIndices, Model, Parameter, StopCondition,
    StopKind, Submodel, Symbols, Type, Unknown, View,
};
use crate::source::Span;
use crate::{Outside, Override};
use daelight_expr::{ExprId, FastMap, Graph, Node, Walker};
use scope::{NodeId, PartId};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use value::Value;

/// A diagnostic has been given; what depends on it stays silent.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Checked<T> = Result<T, Reported>;

/// Bounds on the work of making a model, so that no text can exhaust the machine.
#[derive(Clone, Copy, Debug)]
pub struct ElaborationLimits {
    /// Steps of elaboration: an expression or array element each.
    pub steps: u64,
    /// Elements of one array.
    pub elements: usize,
    /// Nodes of the expression graph.
    pub nodes: usize,
}

impl Default for ElaborationLimits {
    /// Room for some million equations.
    fn default() -> Self {
        Self {
            steps: 30_000_000,
            elements: 4_000_000,
            nodes: 40_000_000,
        }
    }
}

/// Nesting of expressions through function calls that is followed.
const MAX_DEPTH: usize = 600;

/// A declared name of the model.
struct Entry<'a> {
    variable: Rc<instance::Variable<'a>>,
    state: State,
    used: bool,
}

enum State {
    /// Not reached yet.
    Pending,
    /// Being found.
    Busy,
    /// A mistake in it has been reported.
    Broken,
    /// Its value: symbols of parameters, inputs or unknowns, or the binding of a Boolean variable.
    Ready(Value),
}

pub(crate) struct Elaborator<'a> {
    ast: &'a Forest<'a>,
    /// The class of the model.
    class: &'a Class,
    nodes: Vec<scope::Node<'a>>,
    parts: Vec<scope::Part<'a>>,
    /// The model.
    root: NodeId,
    /// Whether the model is a class of a package.
    is_of_package: bool,
    /// What `inner outer` components are for the components inside their class.
    own_inners: HashMap<(NodeId, &'a str), instance::Instance>,
    /// Where names are looked up at present.
    part: PartId,
    /// Whether classes of the text have dots in their names, as flat text has them.
    has_dotted_classes: bool,
    /// The component whose equations are being read.
    component: Arc<str>,
    overrides: &'a [Override],
    /// Equations that join those of the class.
    joined: &'a [ast::WrittenEquation],
    limits: ElaborationLimits,
    diagnostics: &'a mut Vec<Diagnostic>,
    first_diagnostic: usize,

    functions: HashMap<(PartId, &'a str), Option<NodeId>>,
    signatures: HashMap<NodeId, Rc<function::Function<'a>>>,
    entries: Vec<Entry<'a>>,
    by_name: HashMap<Rc<str>, usize>,
    /// The variables of the model, in the order of the text.
    order: Vec<usize>,
    /// Entries whose values are being found, outermost first.
    busy: Vec<usize>,
    /// Whether all unknowns have their symbols.
    has_unknowns: bool,
    missing_inners: Vec<(&'a str, instance::Instance)>,
    missing_inner_classes: HashSet<&'a str>,
    /// Loops that are solved, in the order of their equations.
    solved_loops: Vec<function::repeat::SolvedLoop>,
    known_bounds: HashMap<(AstId, PartId), Value>,
    /// Rates of parameters that the initial equations determine.
    resting: Vec<(ExprId, Rc<instance::Variable<'a>>)>,
    /// Sizes of variables whose values are known and whose sizes are being checked.
    sizing: Vec<(Rc<str>, Vec<usize>)>,
    connections: connect::Connections<'a>,
    discrete: discrete::Discrete,
    clocks: clock::Clocks,
    hybrid: Option<crate::hybrid::Hybrid>,
    objects: Vec<native::Object>,
    /// Whether the statements being read are an algorithm section of a model.
    in_section: bool,

    graph: Graph,
    symbols: Symbols,
    parameters: Vec<Parameter>,
    inputs: Vec<Input>,
    unknowns: Vec<Unknown>,
    declarations: Vec<Declared>,
    /// Position in `declarations` by entry.
    declared_at: FastMap<usize, usize>,
    equations: Vec<Equation>,
    initial_equations: Vec<Equation>,
    /// Unknowns with a binding, for `lagrange`.
    bindings: FastMap<usize, ExprId>,
    spans: FastMap<ExprId, Span>,

    /// Loop variables in scope, innermost last.
    loops: Vec<(Arc<str>, Value)>,
    /// The loop variables as equations carry them, until the next change.
    indices: Option<LoopIndices>,
    /// Size of the dimension that `end` stands for, innermost last.
    ends: Vec<usize>,
    /// Locals of the function being inlined.
    frame: Option<function::Frame>,
    /// Functions being inlined, outermost first.
    calls: Vec<NodeId>,
    /// How many `while` loops are being repeated in the function being run.
    repeating: usize,
    /// Conditions of the branches being read, and whether they hold there.
    path: Vec<(ExprId, bool)>,
    /// Roots that functions ask for, by the function, its bound inputs and the interval.
    roots: HashMap<(NodeId, Vec<ExprId>), ExprId>,
    /// Coordinates of the `lagrange` equation whose forces are being read.
    coordinates: Option<Vec<daelight_expr::SymbolId>>,
    steps: u64,
    depth: usize,
    stopped: bool,
    walker: Walker,
    knowledge: knowledge::Knowledge,
    /// Branching equations whose names have been counted as used, by where they begin.
    mentioned: FastMap<u32, ()>,
    /// Variables of energies that are no coordinates, with the coordinates and the place.
    foreign: Vec<(usize, Vec<usize>, Span)>,
    /// T + V of all that is written with `lagrange`.
    energy: Option<ExprId>,
    stop_when: Option<StopCondition>,
    assertions: Vec<Assertion>,
    /// What parameters have to satisfy.
    demands: Vec<Assertion>,
    views: Vec<View>,
    /// Components whose connections are read; none before.
    n_connected: usize,
    /// Equalities of numbers that were read, and where.
    equalities: Vec<(ExprId, Span)>,
    homotopy: &'a crate::Blend,
}

/// Makes the model of a class; `None` when there were errors.
pub fn elaborate<'a>(
    ast: &'a Forest<'a>,
    enclosing: &[&'a Class],
    class: &'a Class,
    outside: &'a Outside<'_>,
    limits: ElaborationLimits,
    diagnostics: &'a mut Vec<Diagnostic>,
) -> Option<Model> {
    let first_diagnostic = diagnostics.len();
    let unread = diagnostics
        .iter()
        .any(|earlier| earlier.severity == Severity::Error);
    let mut elaborator = Elaborator {
        ast,
        class,
        nodes: Vec::new(),
        parts: Vec::new(),
        root: scope::TOP_NODE,
        is_of_package: false,
        own_inners: HashMap::new(),
        part: scope::TOP,
        has_dotted_classes: false,
        component: "".into(),
        overrides: outside.overrides,
        joined: outside.joined,
        limits,
        diagnostics,
        first_diagnostic,
        functions: HashMap::new(),
        signatures: HashMap::new(),
        entries: Vec::new(),
        by_name: HashMap::new(),
        order: Vec::new(),
        busy: Vec::new(),
        has_unknowns: false,
        missing_inners: Vec::new(),
        missing_inner_classes: HashSet::new(),
        solved_loops: Vec::new(),
        known_bounds: HashMap::new(),
        resting: Vec::new(),
        sizing: Vec::new(),
        connections: Default::default(),
        discrete: discrete::Discrete {
            holds_relations: outside.holds_relations,
            holds_kinks: outside.holds_kinks,
            ..Default::default()
        },
        clocks: Default::default(),
        hybrid: None,
        objects: Vec::new(),
        in_section: false,
        graph: Graph::new(),
        symbols: Symbols::default(),
        parameters: Vec::new(),
        inputs: Vec::new(),
        unknowns: Vec::new(),
        declarations: Vec::new(),
        declared_at: FastMap::default(),
        equations: Vec::new(),
        initial_equations: Vec::new(),
        bindings: FastMap::default(),
        spans: FastMap::default(),
        loops: Vec::new(),
        indices: None,
        ends: Vec::new(),
        frame: None,
        calls: Vec::new(),
        repeating: 0,
        path: Vec::new(),
        roots: HashMap::new(),
        coordinates: None,
        steps: 0,
        depth: 0,
        stopped: false,
        walker: Walker::new(),
        knowledge: Default::default(),
        mentioned: FastMap::default(),
        foreign: Vec::new(),
        energy: None,
        stop_when: None,
        assertions: Vec::new(),
        demands: Vec::new(),
        views: Vec::new(),
        n_connected: 0,
        equalities: Vec::new(),
        homotopy: outside.homotopy,
    };
    elaborator.make_root(enclosing).ok()?;
    elaborator.declare_all();
    elaborator.read_connections();
    elaborator.bind_variables();
    elaborator.all_equations();
    let experiment = elaborator.experiment();
    let start_time = experiment.start_time.unwrap_or(0.0);
    elaborator.settle_loops(start_time);
    // What defines a variable may stand in what was not read.
    if !unread {
        elaborator.settle_clocks();
        elaborator.settle_discrete();
    }
    elaborator.set_views_aside();
    elaborator.guess_by_definitions(start_time);
    elaborator.check_foreign();
    let mut drawing = elaborator.drawing();
    if let Some(expression) = outside.stop_when {
        // A mistake has been reported; there is no model then.
        let _ = elaborator.stop_condition(expression);
    }
    for (name, expression) in outside.observed {
        let _ = elaborator.observe(name, *expression);
    }
    if elaborator.has_errors() || unread {
        return None;
    }
    elaborator.report_unused();
    elaborator.report_undefined();
    elaborator.lower_to_first_order(&mut drawing);
    elaborator.finish(experiment, drawing)
}

impl<'a> Elaborator<'a> {
    /// The node of the model, found through the classes around it.
    fn make_root(&mut self, enclosing: &[&'a Class]) -> Checked<()> {
        self.new_top();
        self.check_functions_twice();
        let mut node = scope::TOP_NODE;
        if let Some(within) = &self.ast.ast(0).within
            && let Some((around, element)) = self.find_path(scope::TOP, within)
            && let scope::What::Class(class) = element.what
            && let Some(found) = self.class_node(around, &class.name, &element)
        {
            node = found;
        }
        for class in enclosing {
            let element = scope::class_element(class, self.node(node).root);
            match self.class_node(node, &class.name, &element) {
                Some(found) => node = found,
                None => return Err(Reported),
            }
        }
        // A class of a library that is asked for by its name comes as a model that is nothing but that class.
        let is_another = self.class.declarations.is_empty()
            && matches!(&*self.class.extends, [base] if base.base.contains('.'));
        self.is_of_package = node != scope::TOP_NODE || is_another;
        let part = self.node(node).root;
        let handle = scope::Handle {
            class: self.class,
            part,
            env: Rc::default(),
            inherited: None,
        };
        let span = self.class.name_span;
        let Some((handle, layers)) = self.through_aliases(&handle) else {
            return Err(self.unknown_class(&self.class.name, span, part));
        };
        let root = NodeId(self.nodes.len() as u32);
        self.root = root;
        self.new_node(&handle, layers, "".into(), None, true, span)?;
        self.part = self.node(root).root;
        Ok(())
    }

    /// Two functions of one name in a text are a mistake.
    fn check_functions_twice(&mut self) {
        let mut known: HashMap<&str, Span> = HashMap::new();
        let ast = self.ast;
        let functions = ast.ast(0).classes.iter();
        for class in functions.filter(|class| class.kind == ast::ClassKind::Function) {
            let first = *known.entry(&class.name).or_insert(class.name_span);
            if first != class.name_span {
                self.error(
                    Diagnostic::error(
                        Code::DuplicateName,
                        class.name_span,
                        format!("function `{}` is defined twice", class.name),
                    )
                    .label("second definition")
                    .related(first, "first definition")
                    .help("rename or remove one of them"),
                );
            }
        }
    }

    /// Whether equations of a component are being read, not those of the model itself.
    fn is_inside_component(&self) -> bool {
        !self.component.is_empty()
    }

    fn finish(self, experiment: Experiment, drawing: Vec<crate::model::Polyline>) -> Option<Model> {
        if self.has_errors() {
            return None;
        }
        let mut components: Vec<Submodel> = self.nodes.iter().filter_map(component).collect();
        components.sort_by(|a, b| a.path.cmp(&b.path));
        Some(Model {
            name: self.class.name.clone(),
            comment: self.class.comment.clone(),
            graph: self.graph,
            symbols: self.symbols,
            parameters: self.parameters,
            inputs: self.inputs,
            unknowns: self.unknowns,
            equations: self.equations,
            initial_equations: self.initial_equations,
            declarations: self.declarations,
            components,
            experiment,
            drawing,
            energy: self.energy,
            stop_when: self.stop_when,
            hybrid: self.hybrid.map(Arc::new),
            assertions: self.assertions,
            demands: self.demands,
            views: self.views,
            homotopy: None,
            sources: self.ast.sources.borrow().clone(),
            spans: self.spans,
        })
    }

    fn stop_condition(&mut self, expression: AstId) -> Checked<()> {
        let span = self.ast.span(expression);
        let (expr, kind) = match self.stop_equality(expression)? {
            Some(difference) => (difference, StopKind::Equality),
            None => {
                let first = self.equalities.len();
                let value = self.eval(expression)?;
                self.refuse_equalities(first)?;
                let kind = match value.ty() {
                    Some(Type::Boolean) => StopKind::Condition,
                    _ => {
                        self.require_type(&value, Type::Real, span)?;
                        StopKind::Number
                    }
                };
                (self.scalar(&value, span)?, kind)
            }
        };
        self.stop_when = Some(StopCondition { expr, kind });
        Ok(())
    }

    /// An expression whose values are wanted along runs becomes a view.
    fn observe(&mut self, name: &str, expression: AstId) -> Checked<()> {
        let span = self.ast.span(expression);
        let first = self.equalities.len();
        let value = self.eval(expression)?;
        self.refuse_equalities(first)?;
        let ty = value.ty().unwrap_or(Type::Real);
        if ty != Type::Boolean {
            self.require_type(&value, Type::Real, span)?;
        }
        let value = self.scalar(&value, span)?;
        self.views.push(View {
            name: name.to_string(),
            ty,
            value,
        });
        Ok(())
    }

    /// The difference of both sides, if a stopping expression is an equality of numbers.
    fn stop_equality(&mut self, expression: AstId) -> Checked<Option<ExprId>> {
        let &Expr::Relation {
            op: Relation::Equal,
            left,
            right,
        } = self.ast.expr(expression)
        else {
            return Ok(None);
        };
        let sides = [left, right].map(|side| (side, self.ast.span(side)));
        let mut exprs = [None; 2];
        for ((side, span), place) in sides.into_iter().zip(&mut exprs) {
            let value = self.eval(side)?;
            if value.ty() == Some(Type::Boolean) {
                return Ok(None);
            }
            self.require_type(&value, Type::Real, span)?;
            *place = Some(self.scalar(&value, span)?);
        }
        let [Some(left), Some(right)] = exprs else {
            return Ok(None);
        };
        Ok(Some(self.graph.sub(left, right)))
    }

    /// Refuses equalities of numbers within a condition, from the `first` that was met: they hold at single times, which no
    /// run sees.
    fn refuse_equalities(&mut self, first: usize) -> Checked<()> {
        let met = self.equalities.split_off(first);
        for (expr, span) in met {
            if self.varies(expr) {
                return Err(self.error(
                    Diagnostic::error(
                        Code::TypeMismatch,
                        span,
                        "an equality of numbers holds at single times only, which no run meets",
                    )
                    .help("use `<` or `>`; alone, `x == 1` is taken as the place where `x - 1` changes its sign"),
                ));
            }
        }
        Ok(())
    }

    fn has_errors(&self) -> bool {
        self.diagnostics[self.first_diagnostic..]
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Gives a diagnostic.
    fn error(&mut self, diagnostic: Diagnostic) -> Reported {
        // A function that is called twice shows its mistake twice.
        let is_known = self.diagnostics[self.first_diagnostic..]
            .iter()
            .any(|known| known.span == diagnostic.span && known.message == diagnostic.message);
        if is_known {
            return Reported;
        }
        if self.diagnostics.len() - self.first_diagnostic < MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        } else {
            self.stopped = true;
        }
        Reported
    }

    /// Counts work; an error once, when there is too much of it.
    fn step(&mut self, amount: u64, span: Span) -> Checked<()> {
        self.steps = self.steps.saturating_add(amount);
        if self.stopped {
            return Err(Reported);
        }
        if self.steps > self.limits.steps || self.graph.len() > self.limits.nodes {
            self.stopped = true;
            return Err(self.error(
                Diagnostic::error(Code::TooLarge, span, "the model is too large to write out")
                    .label("the limit was reached here")
                    .note(format!(
                        "limits: {} steps, {} nodes",
                        self.limits.steps, self.limits.nodes
                    ))
                    .help("use a smaller size or a shorter loop"),
            ));
        }
        Ok(())
    }

    /// Remembers where an operation stands that can fail or has a kink.
    fn mark(&mut self, expr: ExprId, span: Span) -> ExprId {
        use daelight_expr::{BinaryOp, UnaryOp};
        let risky = match self.graph.node(expr) {
            Node::Constant(_) | Node::Symbol(_) => false,
            Node::Select(..) => true,
            Node::Unary(op, _) => !matches!(
                op,
                UnaryOp::Neg
                    | UnaryOp::Sin
                    | UnaryOp::Cos
                    | UnaryOp::Atan
                    | UnaryOp::Tanh
                    | UnaryOp::Not
            ),
            Node::Binary(op, ..) => !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul),
        };
        if risky {
            self.spans.entry(expr).or_insert(span);
        }
        expr
    }

    /// The time derivative of an expression.
    fn time_derivative(&mut self, expr: ExprId) -> ExprId {
        if let Some(id) = self.graph.as_symbol(expr) {
            let zero = self.graph.constant(0.0);
            return self.symbols.rate(&mut self.graph, id).unwrap_or(zero);
        }
        let symbols = &mut self.symbols;
        self.graph
            .derivatives_along(&[expr], |graph, id| symbols.rate(graph, id))[0]
    }

    /// Warns of operations on numbers and parameters that have no value.
    fn report_undefined(&mut self) {
        for expr in self.undefined_constants() {
            let Some(&span) = self.spans.get(&expr) else {
                continue;
            };
            if self.ast.sources.borrow().is_of_while(span) {
                self.error(
                    Diagnostic::warning(Code::BadValue, span, "this loop gives no value")
                        .label("variables decide how often it is gone through")
                        .help("write it as a `for` with an `if`, or with `mod`, `floor` or an equation"),
                );
                continue;
            }
            let value = self.parameter_value(expr);
            let names = self.parameters_in(expr);
            let help = match names.is_empty() {
                true => "correct the numbers".to_string(),
                false => format!("change {}", names.join(", ")),
            };
            self.error(
                Diagnostic::warning(Code::BadValue, span, "this has no value")
                    .label(format!("evaluates to {value}"))
                    .help(help),
            );
        }
    }

    /// Whether the first part of a dotted name is not known here.
    fn is_outside(&mut self, name: &str) -> bool {
        let first = name.split('.').next().unwrap_or(name);
        !first.is_empty() && self.find(self.part, first).is_none()
    }

    /// An undeclared name, with the nearest one that is declared.
    fn undeclared(&mut self, name: &str, span: Span) -> Reported {
        if self.ast.is_unread(name) {
            return Reported;
        }
        let locals = self.local_names();
        let in_function = self.frame.is_some();
        let elements = self.node(self.part(self.part).node).elements.clone();
        let declared = elements
            .order
            .iter()
            .copied()
            .filter(|_| !in_function)
            .chain(locals.iter().map(String::as_str));
        let loops: Vec<String> = self
            .loops
            .iter()
            .map(|(name, _)| name.to_string())
            .collect();
        let candidates = declared
            .chain(loops.iter().map(String::as_str))
            .chain(["time"]);
        let help = match nearest(name, candidates) {
            _ if name.contains('.') && !in_function && self.is_outside(name) => {
                let first = name.split('.').next().unwrap_or(name);
                format!("declare `{first}`, or give the folder of its library with --library")
            }
            _ if in_function && self.by_name.contains_key(name) => {
                format!("a function sees its own names only; pass `{name}` as an input")
            }
            _ if self.by_name.contains_key(format!("{name}[1]").as_str()) => {
                format!("its elements are declared one by one; write `{name}[1]`")
            }
            _ if let Some(base) =
                differentiated(name).find(|base| self.by_name.contains_key(*base)) =>
            {
                format!("write `der({base})` for the derivative of `{base}`")
            }
            _ if matches!(name, "pi" | "Pi" | "PI") => "write `Modelica.Constants.pi`".to_string(),
            _ if matches!(name, "True" | "TRUE") => "write `true`".to_string(),
            _ if matches!(name, "False" | "FALSE") => "write `false`".to_string(),
            _ if let Some(help) = self.help_for_setting(name, span) => help,
            _ if name == "t" => "write `time` for the time".to_string(),
            _ if name == "dt" => "write `der(x)` for the derivative of x by time".to_string(),
            Some(near) => format!("did you mean `{near}`?"),
            None if name == "e" => "write `exp(x)` for a power of e".to_string(),
            // What is written beside the text, such as a stopping condition, can declare nothing.
            None if span.source != self.class.name_span.source => {
                let mut names: Vec<&str> = self.by_name.keys().map(|name| &**name).collect();
                names.sort_unstable();
                names.truncate(8);
                format!("use a name of the model, such as {}", names.join(", "))
            }
            None => {
                let name = crate::model::quote(name);
                format!(
                    "declare it: `parameter Real {name} = 1;` for a number, `Real {name};` for an unknown"
                )
            }
        };
        self.error(
            Diagnostic::error(
                Code::UndeclaredName,
                span,
                format!("`{name}` is not declared"),
            )
            .label("no declaration of this name")
            .help(help),
        )
    }
}

/// A node as a component of the model, if it is a model itself.
fn component(node: &scope::Node<'_>) -> Option<Submodel> {
    let class = node
        .class
        .filter(|class| class.kind == ast::ClassKind::Model)?;
    let counts = node.is_component && !node.path.is_empty();
    counts.then(|| Submodel {
        path: node.path.to_string(),
        class: class.name.clone(),
        span: node.span,
    })
}

/// Names whose derivative a name like `dx`, `xdot` or `x_dot` may be meant to be.
fn differentiated(name: &str) -> impl Iterator<Item = &str> {
    let prefixed = name.strip_prefix("d_").or(name.strip_prefix('d'));
    let suffixed = name.strip_suffix("_dot").or(name.strip_suffix("dot"));
    [prefixed, suffixed].into_iter().flatten()
}
