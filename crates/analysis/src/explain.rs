//! From a fault of an evaluation to a place in the user's text and a sentence about it.

use crate::equations::Equations;
use crate::system::System;
use daelight_expr::{
    BinaryOp, ExprId, FastMap, Fault, FaultKind, Node, SeriesRoot, UnaryOp, Walker,
};
use daelight_lang::{Equation, Span, Symbol};

/// Where in the text an evaluation failed, and a sentence that says so.
#[derive(Clone, PartialEq, Debug)]
pub struct FaultPlace {
    /// The piece of text: the operation that failed, or else the equation that needs it.
    pub span: Span,
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// The equation that could not be evaluated, by position among the equations of the model.
    pub equation: usize,
    /// One sentence with the reason, the expression, the equation and its line.
    pub sentence: String,
}

/// Longest expression or equation that a sentence shows, in bytes.
pub(crate) const SHOWN: usize = 60;

/// What a root that failed belongs to.
pub(crate) struct Subject<'a> {
    /// The equation of the model, by position, and its text.
    pub(crate) equation: usize,
    pub(crate) written: &'a Equation,
    /// The unknown of the model and how often it is differentiated, for an entry of a matrix.
    pub(crate) by: Option<(usize, usize)>,
}

impl System {
    /// Says where a fault of this system's equations stands in the text.
    ///
    /// For faults of [`System::evaluator`], [`System::series`] and all tapes of
    /// [`System::equations`].
    pub fn explain(&self, fault: &Fault) -> FaultPlace {
        self.explain_among(&self.model().equations, self.equations(), fault)
    }

    /// Says where a fault of the initial equations stands in the text.
    pub fn explain_initial(&self, fault: &Fault) -> FaultPlace {
        let written = &self.model().initial_equations;
        self.explain_among(written, self.initial_equations(), fault)
    }

    /// The parameters whose values make a divisor zero, and the divisor, where no unknown can change it.
    pub fn zero_divisor(&self, fault: &Fault) -> Option<(Vec<String>, String)> {
        let (graph, symbols) = (self.equations().graph(), self.equations().symbols());
        let Node::Binary(BinaryOp::Div, _, divisor) = graph.node(fault.expr) else {
            return None;
        };
        let held = Walker::new().symbols(graph, &[divisor]);
        let is_parameter = |symbol| matches!(symbols.get(symbol), Symbol::Parameter(_));
        if held.is_empty() || !held.iter().all(|&symbol| is_parameter(symbol)) {
            return None;
        }
        let name = |symbol| {
            let mut name = String::new();
            self.write_name(symbols.get(symbol), &mut name);
            name
        };
        let names = held.iter().map(|&symbol| name(symbol)).collect();
        Some((names, self.text(divisor, SHOWN)?))
    }

    fn explain_among(
        &self,
        written: &[Equation],
        equations: &Equations,
        fault: &Fault,
    ) -> FaultPlace {
        let (equation, by) = match equations.root(fault.root) {
            SeriesRoot::Residual { equation } => (equation, None),
            SeriesRoot::Entry {
                equation,
                unknown,
                derivative,
            } => (equation, Some((unknown, derivative))),
        };
        let subject = Subject {
            equation,
            written: &written[equation],
            by,
        };
        self.describe(equations, self.spans(), fault, &subject)
    }

    /// The place and the sentence for a fault whose root is known.
    pub(crate) fn describe(
        &self,
        equations: &Equations,
        spans: &FastMap<ExprId, Span>,
        fault: &Fault,
        subject: &Subject<'_>,
    ) -> FaultPlace {
        let own = subject.written.span;
        let span = spans
            .get(&fault.expr)
            .copied()
            .filter(|&span| inside(span, own) || !self.is_in_an_equation(span))
            .unwrap_or(own);
        let model = self.model();
        let line_column = |span: Span| {
            let source = model.sources.get(span.source);
            source.line_column(span.start)
        };
        let (line, column) = line_column(span);
        // What is too long to write out is shown as the user wrote it, or not at all.
        let expression = self
            .write(equations, fault.expr, SHOWN)
            .or_else(|| {
                let place = spans.get(&fault.expr)?;
                Some(daelight_lang::shorten(model.sources.slice(*place), SHOWN))
            })
            .map_or_else(
                || "a long expression".to_string(),
                |text| format!("`{text}`"),
            );
        let graph = equations.graph();
        let what = match fault.kind {
            // Nothing but a number below the root: there is no value, by construction.
            FaultKind::SqrtOfNegative
                if let Node::Unary(UnaryOp::Sqrt, below) = graph.node(fault.expr)
                    && graph.as_constant(below).is_some() =>
            {
                let place = spans.get(&fault.expr).copied();
                let text = place.map_or("a function", |place| model.sources.slice(place));
                let text = daelight_lang::shorten(text, SHOWN);
                match place.is_some_and(|place| model.sources.is_of_while(place)) {
                    true => format!(
                        "the loop `while {text}` is not at its end after as many rounds as are looked at"
                    ),
                    false => format!("`{text}` gives no value"),
                }
            }
            FaultKind::NonFiniteInput => format!("{expression} is not a finite number"),
            kind => format!("{} at {expression}", kind),
        };
        let order = match fault.order {
            0 => String::new(),
            order => format!(", Taylor coefficient {order}"),
        };
        let derivative = match subject.by {
            None => String::new(),
            Some((unknown, derivative)) => {
                let mut name = self.unknowns()[unknown].name.clone();
                for _ in 0..derivative {
                    name = format!("der({name})");
                }
                format!("the derivative by `{name}` of ")
            }
        };
        let equation = daelight_lang::shorten(&model.equation_text(subject.written), SHOWN);
        let needed_at = line_column(own).0;
        let sentence = if inside(span, own) {
            format!("{what}{order} in {derivative}`{equation}`, line {line}")
        } else {
            format!("{what}{order}, line {line}, in {derivative}`{equation}`, line {needed_at}")
        };
        FaultPlace {
            span,
            line,
            column,
            equation: subject.equation,
            sentence,
        }
    }

    /// Whether a place lies in some equation: equal expressions share the place of the first one.
    fn is_in_an_equation(&self, span: Span) -> bool {
        let model = self.model();
        let mut equations = model.equations.iter().chain(&model.initial_equations);
        equations.any(|equation| inside(span, equation.span))
    }
}

fn inside(inner: Span, outer: Span) -> bool {
    inner.source == outer.source && inner.start >= outer.start && inner.end <= outer.end
}
