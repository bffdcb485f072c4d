//! Roots whose arguments a condition keeps from being negative: `if h > 0 then sqrt(h) else 0`, `sign(x)*sqrt(abs(x))`. And what rises from an
//! essential zero: `if h > 0 then exp(-1/h) else 0`.
//!
//! "Roots that come to rest" and "Essential zeros" in section 5 of `docs/theory/runs.md`.

use crate::equations::Equations;
use daelight_expr::{
    BinaryOp, ExprId, FastMap, Graph, Node, Slot, SymbolId, Tape, UnaryOp, Walker,
};
use std::cmp::Ordering;
use std::sync::Arc;

/// The argument of a root or of a broken power.
fn radicand(graph: &Graph, node: Node) -> Option<ExprId> {
    match node {
        Node::Unary(UnaryOp::Sqrt, a) => Some(a),
        Node::Binary(BinaryOp::Pow, a, b) => {
            let power = graph.as_constant(b)?;
            (power > 0.0 && power.fract() != 0.0).then_some(a)
        }
        _ => None,
    }
}

/// The denominators in the exponent of an exponential, through sums, products and whole powers: where one vanishes it has no value.
pub(crate) fn denominators_of_exponent(graph: &Graph, node: Node) -> Vec<ExprId> {
    let Node::Unary(UnaryOp::Exp, exponent) = node else {
        return Vec::new();
    };
    let (mut open, mut found) = (vec![exponent], Vec::new());
    // A long exponent may share its parts many times over: no more of its places are looked at.
    for _ in 0..64 {
        let Some(id) = open.pop() else { break };
        match graph.node(id) {
            Node::Unary(UnaryOp::Neg, a) => open.push(a),
            Node::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => {
                open.extend([a, b]);
            }
            Node::Binary(BinaryOp::Div, a, b) => {
                open.push(a);
                let denominator = match graph.node(b) {
                    Node::Binary(BinaryOp::Pow, base, power)
                        if graph.as_constant(power).is_some() =>
                    {
                        base
                    }
                    _ => b,
                };
                found.push(denominator);
            }
            _ => {}
        }
    }
    found.retain(|&denominator| graph.as_constant(denominator).is_none());
    found
}

/// What a branch decides by: one expression, or the difference of two.
fn operands(graph: &Graph, branch: ExprId) -> Option<Vec<ExprId>> {
    match graph.node(branch) {
        Node::Unary(UnaryOp::Sign, a) => match graph.node(a) {
            Node::Binary(BinaryOp::Sub, a, b) => Some(vec![a, b]),
            _ => Some(vec![a]),
        },
        Node::Binary(
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual,
            a,
            b,
        ) => Some(vec![a, b]),
        _ => None,
    }
}

/// How an expression is a multiple of another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Multiple {
    Positive,
    Negative,
    /// Of its size.
    OfSize,
}

/// An argument of roots that are cut where it vanishes.
#[derive(Clone)]
struct Cutting {
    radicand: ExprId,
    /// What the argument is a multiple of, and how.
    surface: Vec<ExprId>,
    multiple: Multiple,
}

/// Equations whose roots are 0 on their surfaces.
pub struct RootsCut {
    /// The equations.
    pub equations: Equations,
    /// What each new expression was in the text.
    pub written: FastMap<ExprId, ExprId>,
    /// The new conditions, with the side on which each has its root.
    pub conditions: FastMap<ExprId, Ordering>,
}

/// A root, or what rises from an essential zero, where it stands.
pub struct PlacedRoot {
    /// The root.
    pub operation: ExprId,
    /// Its argument, or a denominator of its exponent.
    pub argument: ExprId,
    /// The condition under which it is taken; none where it always is.
    pub taken: Option<ExprId>,
    /// The equation that holds it.
    pub equation: usize,
}

/// What roots in branches of choices ask for.
pub struct RootsInChoices {
    /// The side of each branch on which a root begins with an infinite slope at its surface; none for other branches, none with such roots
    /// on both sides, and none where a root of the same argument is not guarded by the branch.
    pub sides: Vec<Option<Ordering>>,
    /// The roots that no condition around them guards, with a graph that holds the conditions under which they are taken:
    /// `if time < 10 then sqrt(h) else 0`.
    pub unguarded: Option<(Graph, Vec<PlacedRoot>)>,
}

/// The expressions of some equations, compared at a few points.
struct Compared<'a> {
    equations: &'a Equations,
    parameters: &'a [f64],
    walker: Walker,
    /// What moves in expressions that were looked at before.
    moving: FastMap<Vec<ExprId>, Arc<[SymbolId]>>,
    /// Values of the expressions at the points.
    values: FastMap<ExprId, Samples>,
}

/// Values at the points at which expressions are compared.
type Samples = [f64; 6];

impl Compared<'_> {
    /// How an expression is a multiple of one expression or of the difference of two, as their values at a few points say; `None` if it is
    /// not, or rests.
    fn multiple(&mut self, expr: ExprId, operands: &[ExprId]) -> Option<Multiple> {
        let (values, differences) = (self.samples(expr), self.difference(operands));
        let mut found: Option<(f64, bool, bool)> = None;
        for (value, difference) in values.into_iter().zip(differences) {
            let quotient = value / difference;
            let (size, above) = (quotient.abs(), quotient > 0.0);
            found = match found {
                _ if !(size.is_finite() && size > 0.0) => return None,
                None => Some((size, above, !above)),
                Some((factor, ..)) if (size / factor - 1.0).abs() > f64::EPSILON.sqrt() => {
                    return None;
                }
                Some((factor, positive, negative)) => {
                    Some((factor, positive || above, negative || !above))
                }
            };
        }
        // Values tell most of them apart; what moves in an expression takes a walk through it.
        let symbols = self.moving(&[expr]);
        if symbols.is_empty() || symbols != self.moving(operands) {
            return None;
        }
        match found? {
            (_, true, true) => Some(Multiple::OfSize),
            (_, true, false) => Some(Multiple::Positive),
            (_, false, _) => Some(Multiple::Negative),
        }
    }
}

impl Compared<'_> {
    /// How the argument of a root is a multiple of what a branch decides by.
    fn guards(&mut self, root: &PlacedRoot, branch: ExprId) -> Option<Multiple> {
        let surface = operands(self.equations.graph(), branch)?;
        self.multiple(root.argument, &surface)
    }

    /// The side of a branch on which roots begin; `None` with roots on both sides, or one that the branch does not guard.
    fn side_of_roots(
        &mut self,
        graph: &Graph,
        roots: &[PlacedRoot],
        by_argument: &FastMap<ExprId, Vec<usize>>,
        branch: ExprId,
    ) -> Option<Ordering> {
        let surface = operands(self.equations.graph(), branch)?;
        let mut side = None;
        for (&argument, places) in by_argument {
            let Some(multiple) = self.multiple(argument, &surface) else {
                continue;
            };
            for &at in places {
                let mut around = conjoined(graph, roots[at].taken);
                let is_around = around.any(|relation| relation == branch);
                let found = match multiple {
                    Multiple::Positive if is_around => Ordering::Greater,
                    Multiple::Negative if is_around => Ordering::Less,
                    _ => return None,
                };
                if side.is_some_and(|side| side != found) {
                    return None;
                }
                side = Some(found);
            }
        }
        side
    }

    /// Whether a choice has opposite signs where the surface of its condition does, as a flow that follows a difference: only then does
    /// what comes to rest from one side not leave on the other.
    fn is_odd(&mut self, choice: ExprId, surface: &[ExprId]) -> bool {
        let mut signs = [None; 2];
        let (values, differences) = (self.samples(choice), self.difference(surface));
        for (value, difference) in values.into_iter().zip(differences) {
            let sign = value > 0.0;
            let known = &mut signs[usize::from(difference > 0.0)];
            // Neither zero nor undefined.
            let has_sign = value.abs() > 0.0;
            if !has_sign || known.is_some_and(|known| known != sign) {
                return false;
            }
            *known = Some(sign);
        }
        matches!(signs, [Some(below), Some(above)] if below != above)
    }

    /// The values of one expression, or of the difference of two.
    fn difference(&mut self, operands: &[ExprId]) -> Samples {
        let mut values = self.samples(operands[0]);
        if let Some(&other) = operands.get(1) {
            let others = self.samples(other);
            values
                .iter_mut()
                .zip(others)
                .for_each(|(it, other)| *it -= other);
        }
        values
    }

    /// The values of an expression at points of numbers without a pattern, of both signs in turn; parameters have their own.
    fn samples(&mut self, root: ExprId) -> Samples {
        if let Some(known) = self.values.get(&root) {
            return *known;
        }
        self.fill(&[root]);
        self.values[&root]
    }

    /// Finds the values of all expressions below some.
    fn fill(&mut self, roots: &[ExprId]) {
        let (equations, parameters) = (self.equations, self.parameters);
        let graph = equations.graph();
        for &id in self.walker.reachable(graph, roots) {
            if self.values.contains_key(&id) {
                continue;
            }
            let values = std::array::from_fn(|attempt| match graph.node(id) {
                Node::Symbol(symbol) => match equations.slot(symbol) {
                    Slot::Parameter(index) => parameters[index as usize],
                    Slot::Variable { index, order } => {
                        drawn(attempt, 1 + 2 * index as usize + order as usize)
                    }
                    _ => drawn(attempt, 0),
                },
                _ => graph.node_value(id, |argument| self.values[&argument][attempt]),
            });
            self.values.insert(id, values);
        }
    }

    /// Roots of the sizes of what branches decide by.
    fn of_sizes(&mut self, radicands: &[ExprId], surfaces: &[Vec<ExprId>]) -> Vec<Cutting> {
        let graph = self.equations.graph();
        let sizes = radicands.iter().copied();
        let sizes = sizes.filter(|&one| matches!(graph.node(one), Node::Unary(UnaryOp::Abs, _)));
        let of_size = Some(Multiple::OfSize);
        let signed = Signed::new(self.equations);
        let found = sizes.filter_map(|argument| {
            let mut known = surfaces.iter();
            let surface = known.find(|surface| {
                self.multiple(argument, surface) == of_size && signed.all(argument, surface)
            })?;
            let radicand = argument;
            Some(Cutting {
                radicand,
                surface: surface.clone(),
                multiple: Multiple::OfSize,
            })
        });
        found.collect()
    }

    /// The symbols of some expressions that are no parameters, in order.
    fn moving(&mut self, roots: &[ExprId]) -> Arc<[SymbolId]> {
        if let Some(known) = self.moving.get(roots) {
            return Arc::clone(known);
        }
        let mut symbols = self.walker.symbols(self.equations.graph(), roots);
        symbols.sort_unstable();
        symbols.retain(|id| !matches!(self.equations.slot(*id), Slot::Parameter(_)));
        let symbols: Arc<[SymbolId]> = symbols.into();
        self.moving.insert(roots.to_vec(), Arc::clone(&symbols));
        symbols
    }
}

/// The number for a symbol at one of the points.
fn drawn(attempt: usize, k: usize) -> f64 {
    let side = if attempt.is_multiple_of(2) { 1.0 } else { -1.0 };
    side * (1.5 + (0.7 * attempt as f64 + 1.3 * k as f64).sin())
}

/// Which expressions hold each one.
struct Signed<'a> {
    graph: &'a Graph,
    above: FastMap<ExprId, Vec<ExprId>>,
    ends: &'a [ExprId],
}

impl<'a> Signed<'a> {
    fn new(equations: &'a Equations) -> Self {
        let graph = equations.graph();
        let mut above: FastMap<ExprId, Vec<ExprId>> = FastMap::default();
        for &id in Walker::new().reachable(graph, equations.residuals()) {
            for argument in graph.node(id).arguments() {
                above.entry(argument).or_default().push(id);
            }
        }
        Self {
            graph,
            above,
            ends: equations.residuals(),
        }
    }

    fn holders(&self, id: ExprId) -> &[ExprId] {
        self.above.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Whether every root of an argument is a factor beside the sign of a surface.
    fn all(&self, argument: ExprId, surface: &[ExprId]) -> bool {
        let holders = self.holders(argument).iter();
        let mut roots = holders.filter(|&&id| radicand(self.graph, self.graph.node(id)).is_some());
        roots.all(|&root| self.is_signed(root, surface))
    }

    fn is_signed(&self, factor: ExprId, surface: &[ExprId]) -> bool {
        if self.ends.contains(&factor) {
            return false;
        }
        let holders = self.holders(factor);
        !holders.is_empty()
            && holders.iter().all(|&holder| match self.graph.node(holder) {
                Node::Binary(BinaryOp::Mul, a, b) => {
                    let other = if a == factor { b } else { a };
                    self.has_sign(other, surface) || self.is_signed(holder, surface)
                }
                Node::Binary(BinaryOp::Div, a, _) if a == factor => self.is_signed(holder, surface),
                Node::Unary(UnaryOp::Neg, _) => self.is_signed(holder, surface),
                _ => false,
            })
    }

    /// Whether the sign of a surface is a factor of an expression.
    fn has_sign(&self, expr: ExprId, surface: &[ExprId]) -> bool {
        match self.graph.node(expr) {
            Node::Unary(UnaryOp::Sign, _) => {
                operands(self.graph, expr).is_some_and(|own| own == surface)
            }
            Node::Unary(UnaryOp::Neg, a) | Node::Binary(BinaryOp::Div, a, _) => {
                self.has_sign(a, surface)
            }
            Node::Binary(BinaryOp::Mul, a, b) => {
                self.has_sign(a, surface) || self.has_sign(b, surface)
            }
            _ => false,
        }
    }
}

impl Equations {
    fn compared<'a>(&'a self, parameters: &'a [f64]) -> Compared<'a> {
        let mut compared = Compared {
            equations: self,
            parameters,
            walker: Walker::new(),
            moving: FastMap::default(),
            values: FastMap::default(),
        };
        compared.fill(self.residuals());
        compared
    }

    /// The arguments of all roots below some expressions.
    fn radicands(&self, roots: &[ExprId]) -> Vec<ExprId> {
        let graph = self.graph();
        let mut walker = Walker::new();
        let nodes = walker.reachable(graph, roots).iter();
        let mut found: Vec<ExprId> = nodes
            .filter_map(|&id| radicand(graph, graph.node(id)))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The same equations where roots on both sides of one surface are 0 on it, as choices of their own; `None` if there are none.
    ///
    /// Of `if x >= 0 then sqrt(x) else -sqrt(-x)` and of `sign(x)*sqrt(abs(x))` neither side has derivatives at x = 0, and a solution may
    /// rest there. The first roots are those that a condition guards, the second never have negative arguments: nothing else changes.
    pub fn with_roots_cut(&self, parameters: &[f64]) -> Option<RootsCut> {
        let radicands = self.radicands(self.residuals());
        if radicands.is_empty() {
            return None;
        }
        let graph = self.graph();
        let mut compared = self.compared(parameters);
        let nodes = Walker::new().reachable(graph, self.residuals()).to_vec();
        let surfaces = nodes.iter().filter_map(|&id| operands(graph, id));
        let surfaces: Vec<Vec<ExprId>> = surfaces.collect();
        let everywhere = compared.of_sizes(&radicands, &surfaces);
        let mut within: FastMap<ExprId, [Vec<Cutting>; 2]> = FastMap::default();
        for &id in &nodes {
            let Node::Select(condition, a, b) = graph.node(id) else {
                continue;
            };
            let Some(surface) = operands(graph, condition) else {
                continue;
            };
            // Most choices have nothing to do with a root, and are not looked into.
            let [positive, negative] = [Multiple::Positive, Multiple::Negative].map(|multiple| {
                let mut all = radicands.iter();
                all.any(|&one| compared.multiple(one, &surface) == Some(multiple))
            });
            if !(positive && negative) {
                continue;
            }
            let is_below = matches!(
                graph.node(condition),
                Node::Binary(BinaryOp::Less | BinaryOp::LessEqual, ..)
            );
            let mut guarded = |side: ExprId, multiple: Multiple| -> Vec<Cutting> {
                let radicands = self.radicands(&[side]).into_iter();
                let alike =
                    radicands.filter(|&one| compared.multiple(one, &surface) == Some(multiple));
                alike
                    .map(|radicand| Cutting {
                        radicand,
                        surface: surface.clone(),
                        multiple,
                    })
                    .collect()
            };
            let [first, second] = match is_below {
                true => [Multiple::Negative, Multiple::Positive],
                false => [Multiple::Positive, Multiple::Negative],
            };
            let sides = [guarded(a, first), guarded(b, second)];
            if sides.iter().all(|side| !side.is_empty()) && compared.is_odd(id, &surface) {
                within.insert(id, sides);
            }
        }
        if everywhere.is_empty() && within.is_empty() {
            return None;
        }
        let mut cut = Cut {
            graph: Graph::clone(graph),
            within: &within,
            written: FastMap::default(),
            conditions: FastMap::default(),
        };
        let residuals = self.residuals().iter();
        let residuals = residuals.map(|&residual| cut.image(residual, &everywhere));
        let residuals: Vec<ExprId> = residuals.collect();
        Some(RootsCut {
            equations: self.with_residuals(cut.graph, residuals),
            written: cut.written,
            conditions: cut.conditions,
        })
    }

    /// Every root with what has to hold where it is taken, in a graph that has grown by these conditions; `None` without roots in choices.
    fn placed_roots(&self) -> Option<(Graph, Vec<PlacedRoot>)> {
        let old = self.graph();
        let nodes = Walker::new().reachable(old, self.residuals()).to_vec();
        let has_choices = (nodes.iter()).any(|&id| matches!(old.node(id), Node::Select(..)));
        let has_roots = || {
            let mut nodes = nodes.iter().map(|&id| old.node(id));
            nodes.any(|node| {
                radicand(old, node).is_some() || !denominators_of_exponent(old, node).is_empty()
            })
        };
        if !has_choices || !has_roots() {
            return None;
        }
        let mut graph = Graph::clone(old);
        let mut found: Vec<PlacedRoot> = Vec::new();
        for (equation, &residual) in self.residuals().iter().enumerate() {
            let mut seen: FastMap<(ExprId, Option<ExprId>, bool), ()> = FastMap::default();
            let mut open = vec![(residual, None, false)];
            while let Some((id, taken, decides)) = open.pop() {
                // Choices within choices may be shared many times over: an expression is looked at for 32 of its places on average.
                let place = (id, taken, decides);
                if seen.len() > 32 * nodes.len() || seen.insert(place, ()).is_some() {
                    continue;
                }
                let node = old.node(id);
                if let Node::Select(condition, a, b) = node {
                    let otherwise = graph.unary(UnaryOp::Not, condition);
                    for (side, holds) in [(a, condition), (b, otherwise)] {
                        let both = taken.map(|taken| graph.binary(BinaryOp::And, taken, holds));
                        open.push((side, Some(both.unwrap_or(holds)), decides));
                    }
                    open.push((condition, taken, true));
                    continue;
                }
                let arguments = node.arguments();
                open.extend(arguments.map(|argument| (argument, taken, decides)));
                // Nothing follows a root that only decides; ranges look at it, (R30).
                if decides {
                    continue;
                }
                let arguments = radicand(old, node).into_iter();
                let arguments = arguments.chain(denominators_of_exponent(old, node));
                found.extend(arguments.map(|argument| PlacedRoot {
                    operation: id,
                    argument,
                    taken,
                    equation,
                }));
            }
        }
        Some((graph, found))
    }

    /// What roots in branches of choices ask for: `tape` has the branches, `cut` the new conditions of equations whose roots are cut.
    pub fn roots_in_choices(
        &self,
        tape: &Tape,
        parameters: &[f64],
        cut: &FastMap<ExprId, Ordering>,
    ) -> RootsInChoices {
        let Some((graph, mut roots)) = self.placed_roots() else {
            return RootsInChoices {
                sides: vec![None; tape.branches().len()],
                unguarded: None,
            };
        };
        let mut compared = self.compared(parameters);
        let mut by_argument: FastMap<ExprId, Vec<usize>> = FastMap::default();
        for (at, root) in roots.iter().enumerate() {
            by_argument.entry(root.argument).or_default().push(at);
        }
        let mut guards: FastMap<ExprId, Ordering> = FastMap::default();
        for branch in tape.branches() {
            let own = || compared.side_of_roots(&graph, &roots, &by_argument, branch);
            if let Some(side) = cut.get(&branch).copied().or_else(own) {
                guards.insert(branch, side);
            }
        }
        let sides = tape.branches().map(|branch| guards.get(&branch).copied());
        let sides = sides.collect();
        roots.retain(|root| {
            let mut around = conjoined(&graph, root.taken);
            let is_guarded = around.any(|relation| {
                guards.contains_key(&relation) && compared.guards(root, relation).is_some()
            });
            let is_root = radicand(&graph, graph.node(root.operation)).is_some();
            is_root && root.taken.is_some() && !is_guarded
        });
        RootsInChoices {
            sides,
            unguarded: Some((graph, roots)),
        }
    }
}

/// The relations that all have to hold, or to fail, where a condition holds.
fn conjoined(graph: &Graph, condition: Option<ExprId>) -> impl Iterator<Item = ExprId> {
    let mut open: Vec<ExprId> = condition.into_iter().collect();
    let mut found = Vec::new();
    while let Some(id) = open.pop() {
        match graph.node(id) {
            Node::Binary(BinaryOp::And, a, b) => open.extend([a, b]),
            Node::Unary(UnaryOp::Not, a) if operands(graph, a).is_some() => found.push(a),
            _ if operands(graph, id).is_some() => found.push(id),
            _ => {}
        }
    }
    found.into_iter()
}

/// Expressions with some of their roots cut at zero.
struct Cut<'a> {
    graph: Graph,
    /// The arguments of roots that are cut within the two sides of choices.
    within: &'a FastMap<ExprId, [Vec<Cutting>; 2]>,
    written: FastMap<ExprId, ExprId>,
    conditions: FastMap<ExprId, Ordering>,
}

impl Cut<'_> {
    /// An expression with the roots of some arguments cut at zero.
    fn image(&mut self, root: ExprId, cuttings: &[Cutting]) -> ExprId {
        let mut image: FastMap<ExprId, ExprId> = FastMap::default();
        for id in Walker::new().reachable(&self.graph, &[root]).to_vec() {
            let node = self.graph.node(id);
            let mut new = match node {
                Node::Constant(_) | Node::Symbol(_) => id,
                Node::Unary(op, a) => self.graph.unary(op, image[&a]),
                Node::Binary(op, a, b) => self.graph.binary(op, image[&a], image[&b]),
                Node::Select(c, a, b) => match self.within.get(&id) {
                    Some([first, second]) => {
                        let a = self.image(a, &[cuttings, first].concat());
                        let b = self.image(b, &[cuttings, second].concat());
                        self.graph.select(image[&c], a, b)
                    }
                    None => self.graph.select(image[&c], image[&a], image[&b]),
                },
            };
            if let Some(argument) = radicand(&self.graph, node)
                && let Some(cutting) = cuttings.iter().find(|one| one.radicand == argument)
            {
                new = self.cut(new, id, cutting);
            }
            if new != id {
                self.written.entry(new).or_insert(id);
            }
            image.insert(id, new);
        }
        image[&root]
    }

    /// A root where its surface is on its side, and 0 elsewhere.
    fn cut(&mut self, root: ExprId, written: ExprId, cutting: &Cutting) -> ExprId {
        let zero = self.graph.constant(0.0);
        let left = cutting.surface[0];
        let right = cutting.surface.get(1).copied().unwrap_or(zero);
        let mut on_side = |graph: &mut Graph, side: Ordering, otherwise: ExprId| {
            let op = match side {
                Ordering::Less => BinaryOp::Less,
                _ => BinaryOp::Greater,
            };
            let holds = graph.binary(op, left, right);
            self.conditions.insert(holds, side);
            self.written.entry(holds).or_insert(written);
            graph.select(holds, root, otherwise)
        };
        let graph = &mut self.graph;
        match cutting.multiple {
            Multiple::Positive => on_side(graph, Ordering::Greater, zero),
            Multiple::Negative => on_side(graph, Ordering::Less, zero),
            Multiple::OfSize => {
                let below = on_side(graph, Ordering::Less, zero);
                on_side(graph, Ordering::Greater, below)
            }
        }
    }
}
