//! Inputs become what they are defined as, and their derivatives the derivatives of that.

use crate::equations::Equations;
use crate::structure::Structure;
use crate::system::SystemError;
use daelight_expr::{ExprId, FastMap, Graph, Walker};
use daelight_lang::{Model, Span, Symbol, Symbols};

/// The definitions of inputs and of their derivatives, made when they are asked for.
struct Signals<'a> {
    model: &'a Model,
    /// `known[input][order]`.
    known: Vec<Vec<ExprId>>,
    /// Inputs whose definition is being followed, to notice a circle.
    open: Vec<bool>,
    /// Inputs that nobody gives a signal.
    silent: Vec<usize>,
}

impl Signals<'_> {
    /// The `order`-th time derivative of an input; docs/theory/system.md (2). One given by data stays as it is.
    fn get(
        &mut self,
        graph: &mut Graph,
        symbols: &mut Symbols,
        input: usize,
        order: u32,
    ) -> Result<ExprId, SystemError> {
        if symbols.signal_of(input).is_some() {
            let id = symbols.id(Symbol::Input { input, order });
            return Ok(graph.symbol(id));
        }
        if self.known[input].is_empty() {
            let info = &self.model.inputs[input];
            let name = || info.name.clone();
            let span = self.model.declarations[info.declaration].span;
            let Some(definition) = info.definition else {
                // Modelica's default: a signal that nobody gives is 0, and the user is told.
                self.silent.push(input);
                let zero = graph.constant(0.0);
                self.known[input].push(zero);
                return self.get(graph, symbols, input, order);
            };
            if std::mem::replace(&mut self.open[input], true) {
                return Err(SystemError::CyclicInput { name: name(), span });
            }
            let replaced = self.replace(graph, symbols, &[definition])?;
            let [(_, signal)] = replaced[replaced.len() - 1..] else {
                unreachable!("the definition itself is the last of its nodes");
            };
            self.known[input].push(signal);
            self.open[input] = false;
        }
        while self.known[input].len() <= order as usize {
            let last = self.known[input][self.known[input].len() - 1];
            let next = graph.derivatives_along(&[last], |graph, id| symbols.rate(graph, id))[0];
            self.known[input].push(next);
        }
        Ok(self.known[input][order as usize])
    }

    /// Every node below the roots with what it becomes, the roots' largest node last.
    fn replace(
        &mut self,
        graph: &mut Graph,
        symbols: &mut Symbols,
        roots: &[ExprId],
    ) -> Result<Vec<(ExprId, ExprId)>, SystemError> {
        let mut signals = FastMap::default();
        for id in Walker::new().symbols(graph, roots) {
            if let Symbol::Input { input, order } = symbols.get(id) {
                signals.insert(id, self.get(graph, symbols, input, order)?);
            }
        }
        Ok(graph.substitution(roots, |_, id| signals.get(&id).copied()))
    }
}

/// Replaces all inputs in the roots; the places of expressions in the text move along. Gives the inputs that are used
/// without a signal, and are 0.
pub(crate) fn replace_inputs(
    model: &Model,
    graph: &mut Graph,
    symbols: &mut Symbols,
    spans: &mut FastMap<ExprId, Span>,
    roots: &mut [ExprId],
) -> Result<Vec<usize>, SystemError> {
    if model.inputs.is_empty() {
        return Ok(Vec::new());
    }
    let mut signals = Signals {
        model,
        known: vec![Vec::new(); model.inputs.len()],
        open: vec![false; model.inputs.len()],
        silent: Vec::new(),
    };
    let pairs = signals.replace(graph, symbols, roots)?;
    move_along(&pairs, spans, roots);
    Ok(signals.silent)
}

/// How often each input given by data is differentiated when the equations are solved, in the order of
/// [`Symbols::signals`]: its derivative in an equation plus the offset of the equation.
pub fn signal_orders(equations: &Equations, structure: &Structure) -> Vec<usize> {
    let symbols = equations.symbols();
    let mut orders = vec![0; symbols.signals().len()];
    if orders.is_empty() {
        return orders;
    }
    let mut walker = Walker::new();
    for (&residual, &offset) in equations
        .residuals()
        .iter()
        .zip(&structure.offsets().equation)
    {
        for id in walker.symbols(equations.graph(), &[residual]) {
            if let Symbol::Input { input, order } = symbols.get(id)
                && let Some(signal) = symbols.signal_of(input)
            {
                orders[signal] = orders[signal].max(order as usize + offset);
            }
        }
    }
    orders
}

/// Takes roots and places in the text from old expressions to new ones.
pub(crate) fn move_along(
    pairs: &[(ExprId, ExprId)],
    spans: &mut FastMap<ExprId, Span>,
    roots: &mut [ExprId],
) {
    let image: FastMap<ExprId, ExprId> = pairs.iter().copied().filter(|(a, b)| a != b).collect();
    for (old, new) in &image {
        if let Some(&span) = spans.get(old) {
            spans.entry(*new).or_insert(span);
        }
    }
    for root in roots {
        *root = image.get(root).copied().unwrap_or(*root);
    }
}
