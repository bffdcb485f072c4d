//! Roots whose arguments a condition keeps from being negative: `if h > 0 then sqrt(h) else 0`, `sign(x)*sqrt(abs(x))`.
//!
//! "Roots that come to rest" in section 5 of `docs/theory/runs.md`.

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

/// A root in a branch of a choice.
pub struct UnguardedRoot {
    /// The root.
    pub operation: ExprId,
    /// Its argument.
    pub argument: ExprId,
    /// The condition under which it is taken.
    pub taken: ExprId,
    /// An equation that holds it.
    pub equation: usize,
}

/// The expressions of some equations, compared at a few points.
struct Compared<'a> {
    equations: &'a Equations,
    parameters: &'a [f64],
    walker: Walker,
    /// What moves in expressions that were looked at before.
    moving: FastMap<Vec<ExprId>, Arc<[SymbolId]>>,
}

impl Compared<'_> {
    /// How an expression is a multiple of one expression or of the difference of two, as their values at a few points say; `None` if it is
    /// not, or rests.
    fn multiple(&mut self, expr: ExprId, operands: &[ExprId]) -> Option<Multiple> {
        let graph = self.equations.graph();
        let symbols = self.moving(&[expr]);
        if symbols.is_empty() || symbols != self.moving(operands) {
            return None;
        }
        let roots = [&[expr], operands].concat();
        let mut found: Option<(f64, bool, bool)> = None;
        for attempt in 0..6_u32 {
            // Numbers without a pattern, of both signs.
            let side = if attempt % 2 == 0 { 1.0 } else { -1.0 };
            let drawn = |k: usize| side * (1.5 + (0.7 * f64::from(attempt) + 1.3 * k as f64).sin());
            let values = graph.evaluate(&roots, |symbol| match self.equations.slot(symbol) {
                Slot::Parameter(index) => self.parameters[index as usize],
                Slot::Variable { index, order } => drawn(1 + 2 * index as usize + order as usize),
                _ => drawn(0),
            });
            let quotient = values[0] / (values[1] - values.get(2).copied().unwrap_or(0.0));
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
        match found? {
            (_, true, true) => Some(Multiple::OfSize),
            (_, true, false) => Some(Multiple::Positive),
            (_, false, _) => Some(Multiple::Negative),
        }
    }
}

impl Compared<'_> {
    /// Roots of the sizes of what branches decide by.
    fn of_sizes(&mut self, radicands: &[ExprId], surfaces: &[Vec<ExprId>]) -> Vec<Cutting> {
        let graph = self.equations.graph();
        let sizes = radicands.iter().copied();
        let sizes = sizes.filter(|&one| matches!(graph.node(one), Node::Unary(UnaryOp::Abs, _)));
        let of_size = Some(Multiple::OfSize);
        let found = sizes.filter_map(|radicand| {
            let mut known = surfaces.iter();
            let surface = known.find(|surface| self.multiple(radicand, surface) == of_size)?;
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

impl Equations {
    fn compared<'a>(&'a self, parameters: &'a [f64]) -> Compared<'a> {
        Compared {
            equations: self,
            parameters,
            walker: Walker::new(),
            moving: FastMap::default(),
        }
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
            if sides.iter().all(|side| !side.is_empty()) {
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

    /// The arguments of roots that stand in branches of choices alone and that no condition guards, each with the condition under which the
    /// root is taken, and a graph that has grown by these conditions: `if time < 10 then sqrt(h) else 0`.
    pub fn unguarded_roots(&self, tape: &Tape, parameters: &[f64]) -> (Graph, Vec<UnguardedRoot>) {
        let old = self.graph();
        let mut graph = Graph::clone(old);
        let mut found: Vec<UnguardedRoot> = Vec::new();
        if tape.branches().len() == 0 || self.radicands(self.residuals()).is_empty() {
            return (graph, found);
        }
        let mut compared = self.compared(parameters);
        let surfaces = tape.branches().filter_map(|branch| operands(old, branch));
        let surfaces: Vec<Vec<ExprId>> = surfaces.collect();
        for (equation, &residual) in self.residuals().iter().enumerate() {
            // What is always taken comes first, and is not looked at again.
            let mut seen: FastMap<ExprId, ()> = FastMap::default();
            let mut open = vec![(residual, None)];
            let mut later: Vec<(ExprId, Option<ExprId>)> = Vec::new();
            while let Some((id, taken)) = open.pop().or_else(|| later.pop()) {
                if seen.insert(id, ()).is_some() {
                    continue;
                }
                let node = old.node(id);
                if let Node::Select(condition, a, b) = node {
                    let otherwise = graph.unary(UnaryOp::Not, condition);
                    for (side, holds) in [(a, condition), (b, otherwise)] {
                        let both = taken.map(|taken| graph.binary(BinaryOp::And, taken, holds));
                        later.push((side, Some(both.unwrap_or(holds))));
                    }
                    open.push((condition, taken));
                    continue;
                }
                open.extend(node.arguments().map(|argument| (argument, taken)));
                let (Some(argument), Some(taken)) = (radicand(old, node), taken) else {
                    continue;
                };
                let mut known = surfaces.iter();
                if !known.any(|surface| compared.multiple(argument, surface).is_some()) {
                    found.push(UnguardedRoot {
                        operation: id,
                        argument,
                        taken,
                        equation,
                    });
                }
            }
        }
        (graph, found)
    }

    /// The side of each branch on which a root begins with an infinite slope at its surface; none for other branches.
    /// `cut` are the new conditions of equations whose roots are cut.
    pub fn root_sides(
        &self,
        tape: &Tape,
        parameters: &[f64],
        cut: &FastMap<ExprId, Ordering>,
    ) -> Vec<Option<Ordering>> {
        let mut sides = vec![None; tape.branches().len()];
        let roots = match sides.is_empty() {
            true => Vec::new(),
            false => self.radicands(self.residuals()),
        };
        if roots.is_empty() {
            return sides;
        }
        let graph = self.graph();
        let mut compared = self.compared(parameters);
        for (side, branch) in sides.iter_mut().zip(tape.branches()) {
            if let Some(&known) = cut.get(&branch) {
                *side = Some(known);
                continue;
            }
            let Some(surface) = operands(graph, branch) else {
                continue;
            };
            let found: Vec<Multiple> = roots
                .iter()
                .filter_map(|&root| compared.multiple(root, &surface))
                .collect();
            let has = |one| found.contains(&one);
            *side = match (has(Multiple::Positive), has(Multiple::Negative)) {
                _ if has(Multiple::OfSize) => None,
                (true, false) => Some(Ordering::Greater),
                (false, true) => Some(Ordering::Less),
                _ => None,
            };
        }
        sides
    }
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
