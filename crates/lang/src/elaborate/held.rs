//! The flat hybrid model: what rests between events becomes parameters of the continuous equations.
//!
//! Formulas and meaning are in `docs/theory/hybrid.md`.

use super::Elaborator;
use super::discrete::DiscreteEquation;
use super::equation::Section;
use crate::diagnostic::{Code, Diagnostic};
use crate::hybrid::{ChangedBy, DiscreteVariable, HeldRelation, Hybrid, Rule, Sample};
use crate::model::{Declared, DeclaredKind, Origin, Parameter, Symbol, Type, shorten};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, Node, SymbolId, UnaryOp};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Unknowns that are formulas of parameters, as far as they were asked for.
struct Constants {
    formulas: HashMap<SymbolId, Vec<ExprId>>,
    found: HashMap<SymbolId, Option<ExprId>>,
    /// Parameters that events change.
    rests: BTreeSet<usize>,
    depth: usize,
}

/// How discrete variables get their values, and the order that leads through them.
struct Rules {
    by_unknown: HashMap<usize, Rule>,
    order: Vec<usize>,
    starts: Vec<(usize, ExprId)>,
}

/// Whether a node says which of two numbers is greater.
fn is_order(node: Node) -> bool {
    use BinaryOp::{Greater, GreaterEqual, Less, LessEqual};
    matches!(
        node,
        Node::Binary(Less | LessEqual | Greater | GreaterEqual, ..)
    )
}

impl Elaborator<'_> {
    /// Whether anything is held between events.
    pub(super) fn is_hybrid(&self) -> bool {
        let discrete = &self.discrete;
        !discrete.previous.is_empty()
            || !discrete.hidden.is_empty()
            || !discrete.flags.is_empty()
            || !discrete.samples.is_empty()
            || !discrete.delays.is_empty()
            || (discrete.holds_relations && !discrete.relations.is_empty())
    }

    /// `min` and `max` of different unknowns become choices, and relations of choices between different unknowns make events, in `noEvent`
    /// too.
    pub(super) fn kinks_as_relations(&mut self) {
        let equations = self.equations.iter().chain(&self.initial_equations);
        let roots: Vec<ExprId> = equations.flat_map(|e| [e.left, e.right]).collect();
        let images = self.rebuilt(&roots, |elaborator, id, plain| {
            let span = elaborator.spans.get(&id).copied().unwrap_or_default();
            match elaborator.graph.node(plain) {
                Node::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b)
                    if elaborator.moving(a) != elaborator.moving(b) =>
                {
                    let relation = match op {
                        BinaryOp::Min => BinaryOp::LessEqual,
                        _ => BinaryOp::GreaterEqual,
                    };
                    let relation = elaborator.graph.binary(relation, a, b);
                    elaborator
                        .discrete
                        .relations
                        .entry(relation)
                        .or_insert(span);
                    elaborator.discrete.firsts.insert(relation);
                    elaborator.graph.select(relation, a, b)
                }
                Node::Select(condition, a, b) if elaborator.moving(a) != elaborator.moving(b) => {
                    let all = elaborator.walker.reachable(&elaborator.graph, &[condition]);
                    let mut all = all.to_vec();
                    all.retain(|&node| is_order(elaborator.graph.node(node)));
                    for relation in all {
                        let place = elaborator.spans.get(&relation).copied().unwrap_or(span);
                        elaborator
                            .discrete
                            .relations
                            .entry(relation)
                            .or_insert(place);
                    }
                    plain
                }
                _ => plain,
            }
        });
        self.put_sides(&images);
    }

    /// Gives equations and initial equations other sides, two for each.
    fn put_sides(&mut self, sides: &[ExprId]) {
        let n_equations = self.equations.len();
        for (at, pair) in sides.chunks_exact(2).enumerate() {
            let residual = self.graph.sub(pair[0], pair[1]);
            let equation = match at < n_equations {
                true => &mut self.equations[at],
                false => &mut self.initial_equations[at - n_equations],
            };
            (equation.left, equation.right, equation.residual) = (pair[0], pair[1], residual);
        }
    }

    /// The unknowns and inputs in an expression, and the time.
    fn moving(&mut self, expr: ExprId) -> Vec<Symbol> {
        let symbols = self.walker.symbols(&self.graph, &[expr]).into_iter();
        let mut found: Vec<(SymbolId, Symbol)> =
            symbols.map(|id| (id, self.symbols.get(id))).collect();
        found.retain(|(_, symbol)| !matches!(symbol, Symbol::Parameter(_)));
        found.sort_unstable_by_key(|(id, _)| *id);
        found.into_iter().map(|(_, symbol)| symbol).collect()
    }

    /// Makes parameters of all that rests between events.
    pub(super) fn settle_hybrid(&mut self) {
        self.check_previous();
        self.refuse_equalities_of_unknowns();
        if self.has_errors() {
            return;
        }
        let Some(rules) = self.discrete_rules() else {
            return;
        };
        let mut hybrid = Hybrid::default();
        let parameters = self.make_parameters(&rules, &mut hybrid);
        if self.has_errors() {
            return;
        }
        self.drop_discrete();
        self.hold_relations(&mut hybrid);
        hybrid.mode = self.deciding(&parameters, &hybrid);
        self.check_reinits(&hybrid);
        self.hybrid = Some(hybrid);
    }

    /// `pre` is taken of what rests between events; in the body of a `when` it is the value of a continuous variable.
    fn check_previous(&mut self) {
        let previous = std::mem::take(&mut self.discrete.previous);
        let mut continuous: HashMap<usize, ExprId> = HashMap::new();
        for (unknown, (before, span)) in previous {
            if self.discrete.variables.contains_key(&unknown) {
                self.discrete.previous.insert(unknown, (before, span));
                continue;
            }
            if let Some(&span) = self.discrete.previous_outside.get(&unknown) {
                self.previous_of_continuous(unknown, span);
            }
            let now = self.unknown_symbol(unknown);
            continuous.insert(before, now);
            let own = super::discrete::Own {
                ty: Type::Real,
                span,
            };
            // The stand-in is left out of the unknowns with the others.
            self.discrete.stand_ins.insert(before, own);
        }
        if continuous.is_empty() {
            return;
        }
        let mut roots = Vec::new();
        for hidden in &self.discrete.hidden {
            roots.push(hidden.rule.expr());
        }
        for assigned in self.discrete.assigned.values() {
            roots.extend(assigned.branches.iter().flat_map(|&(a, b)| [a, b]));
        }
        roots.extend(self.discrete.equations.iter().map(|e| e.right));
        let reinits = self.discrete.reinits.iter();
        roots.extend(reinits.flat_map(|r| [r.condition, r.value]));
        let mut images = self.put_in(&roots, &continuous).into_iter();
        let mut next = || images.next().unwrap_or_else(|| self.graph.id(0));
        for hidden in &mut self.discrete.hidden {
            hidden.rule = match hidden.rule {
                Rule::Expression(_) => Rule::Expression(next()),
                Rule::Floor(_) => Rule::Floor(next()),
            };
        }
        for assigned in self.discrete.assigned.values_mut() {
            for (active, value) in &mut assigned.branches {
                (*active, *value) = (next(), next());
            }
        }
        for equation in &mut self.discrete.equations {
            equation.right = next();
        }
        for reinit in &mut self.discrete.reinits {
            (reinit.condition, reinit.value) = (next(), next());
        }
    }

    fn previous_of_continuous(&mut self, unknown: usize, span: Span) {
        let name = self.unknowns[unknown].name.clone();
        self.error(
            Diagnostic::error(
                Code::TypeMismatch,
                span,
                format!("`{name}` changes between events; `pre` needs a variable that rests"),
            )
            .label("a continuous variable")
            .help(format!(
                "write `{name}` itself, or keep its value with `when`"
            )),
        );
    }

    /// How each discrete variable gets its value.
    fn discrete_rules(&mut self) -> Option<Rules> {
        let mut by_unknown: HashMap<usize, Rule> = HashMap::new();
        for hidden in &self.discrete.hidden {
            by_unknown.insert(hidden.unknown, hidden.rule);
        }
        let assigned = std::mem::take(&mut self.discrete.assigned);
        for (&unknown, found) in &assigned {
            let ty = self.discrete.variables[&unknown].ty;
            let symbol = self.unknown_symbol(unknown);
            let mut value = self.previous_of(symbol, ty, found.span);
            for &(active, new) in found.branches.iter().rev() {
                value = self.choose(ty, active, new, value, found.span);
            }
            by_unknown.insert(unknown, Rule::Expression(value));
        }
        self.discrete.assigned = assigned;
        let starts = self.discrete_starts();
        let equations = std::mem::take(&mut self.discrete.equations);
        let (definitions, left_over) = self.matched(&equations);
        let left_over: Vec<DiscreteEquation> =
            left_over.iter().map(|&at| equations[at].clone()).collect();
        for (unknown, expr) in definitions {
            by_unknown.insert(unknown, Rule::Expression(expr));
        }
        let starts = self.starts_through_rules(starts, &by_unknown);
        let mut missing: Vec<usize> = self.discrete.variables.keys().copied().collect();
        missing.retain(|unknown| !by_unknown.contains_key(unknown));
        missing.sort_unstable();
        for &unknown in &missing {
            self.undefined_discrete(unknown, &left_over);
        }
        if missing.is_empty() {
            for equation in &left_over {
                self.as_continuous(equation);
            }
        }
        if self.has_errors() {
            return None;
        }
        let exprs: HashMap<usize, ExprId> = by_unknown
            .iter()
            .map(|(&unknown, rule)| (unknown, rule.expr()))
            .collect();
        let order = self.discrete_order(&exprs)?;
        Some(Rules {
            by_unknown,
            order,
            starts,
        })
    }

    /// An equation that defines no discrete variable determines a continuous one.
    pub(super) fn as_continuous(&mut self, equation: &DiscreteEquation) {
        let symbols = self
            .walker
            .symbols(&self.graph, &[equation.left, equation.right]);
        let has_unknown = symbols.into_iter().any(|id| match self.symbols.get(id) {
            Symbol::Unknown { unknown, .. } => !self.discrete.variables.contains_key(&unknown),
            _ => false,
        });
        if !has_unknown {
            return self.nothing_to_define(equation.span);
        }
        let instance = equation.instance.clone();
        self.push_equation(
            Section::Equation,
            equation.left,
            equation.right,
            equation.span,
            Origin::Written,
            instance,
        );
    }

    /// Initial equations `v = …` and `pre(v) = …` of discrete variables.
    fn discrete_starts(&mut self) -> Vec<(usize, ExprId)> {
        let mut starts = Vec::new();
        let mut kept = Vec::new();
        for equation in std::mem::take(&mut self.discrete.equations) {
            match (
                equation.section,
                self.start_of(equation.left, equation.right),
            ) {
                (Section::Initial, Some(start)) => starts.push(start),
                (Section::Initial, None) => self.nothing_to_define(equation.span),
                (Section::Equation, _) => kept.push(equation),
            }
        }
        self.discrete.equations = kept;
        let mut continuous = Vec::new();
        for equation in std::mem::take(&mut self.initial_equations) {
            match self.start_of(equation.left, equation.right) {
                Some(start) => starts.push(start),
                None => continuous.push(equation),
            }
        }
        self.initial_equations = continuous;
        starts
    }

    /// A start of a variable that its rule makes equal to another, or to another before the event, is one of that too.
    fn starts_through_rules(
        &self,
        starts: Vec<(usize, ExprId)>,
        rules: &HashMap<usize, Rule>,
    ) -> Vec<(usize, ExprId)> {
        let mut all = Vec::with_capacity(starts.len());
        for &(unknown, start) in &starts {
            let mut at = unknown;
            for _ in 0..rules.len() {
                let Some(&Rule::Expression(expr)) = rules.get(&at) else {
                    break;
                };
                let before = self.previous_variable(expr);
                let Some(next) = before.or_else(|| self.discrete_unknown(expr)) else {
                    break;
                };
                all.push((next, start));
                if next == unknown {
                    break;
                }
                at = next;
            }
        }
        all.extend(starts);
        all
    }

    fn start_of(&self, left: ExprId, right: ExprId) -> Option<(usize, ExprId)> {
        let variable = |expr| {
            let before = self.previous_variable(expr);
            before.or_else(|| self.discrete_unknown(expr))
        };
        let one = variable(left).map(|unknown| (unknown, right));
        one.or_else(|| variable(right).map(|unknown| (unknown, left)))
    }

    /// Parameters in place of discrete variables and the like; the parameters of truth.
    fn make_parameters(&mut self, rules: &Rules, hybrid: &mut Hybrid) -> Vec<usize> {
        let mut truths = Vec::new();
        let mut place: HashMap<usize, usize> = HashMap::new();
        let hidden: HashMap<usize, (Option<bool>, std::sync::Arc<str>)> = self
            .discrete
            .hidden
            .iter()
            .map(|h| (h.unknown, (h.when, h.component.clone())))
            .collect();
        for &unknown in &rules.order {
            let own = self.discrete.variables[&unknown];
            let name = self.unknowns[unknown].name.clone();
            let start = self.unknowns[unknown].start;
            let parameter = self.held_parameter(&name, own.ty, start, own.span);
            let previous = self.held_parameter(&format!("pre({name})"), own.ty, start, own.span);
            self.symbols.make_parameter(unknown, parameter);
            if let Some(&(before, _)) = self.discrete.previous.get(&unknown) {
                self.symbols.make_parameter(before, previous);
            }
            if own.ty == Type::Boolean {
                truths.extend([parameter, previous]);
            }
            let known = hidden.get(&unknown);
            place.insert(unknown, hybrid.variables.len());
            hybrid.order.push(hybrid.variables.len());
            hybrid.variables.push(DiscreteVariable {
                name,
                ty: own.ty,
                parameter,
                previous,
                rule: rules.by_unknown[&unknown],
                is_hidden: known.is_some(),
                is_fixed: self.unknowns[unknown].fixed,
                when: known.and_then(|known| known.0),
                span: own.span,
                component: known.map_or_else(|| "".into(), |known| known.1.clone()),
            });
        }
        for (unknown, start) in &rules.starts {
            if let Some(&at) = place.get(unknown) {
                hybrid.starts.push((at, *start));
            }
        }
        for (unknown, start, interval, span) in self.discrete.samples.clone() {
            let parameter = self.held_parameter("sample", Type::Boolean, None, span);
            self.symbols.make_parameter(unknown, parameter);
            truths.push(parameter);
            hybrid.samples.push(Sample {
                parameter,
                start,
                interval,
                span,
            });
        }
        for (name, unknown) in self.discrete.flags.clone() {
            let parameter = self.held_parameter(name, Type::Boolean, None, Span::default());
            self.symbols.make_parameter(unknown, parameter);
            truths.push(parameter);
            match name {
                "initial()" => hybrid.initial = Some(parameter),
                _ => hybrid.terminal = Some(parameter),
            }
        }
        hybrid.reinits = std::mem::take(&mut self.discrete.reinits);
        hybrid.checks = std::mem::take(&mut self.discrete.checks);
        hybrid.delays = std::mem::take(&mut self.discrete.delays);
        truths
    }

    /// A parameter for what rests between events.
    pub(super) fn held_parameter(
        &mut self,
        name: &str,
        ty: Type,
        start: Option<ExprId>,
        span: Span,
    ) -> usize {
        let zero = self.graph.constant(0.0);
        let definition = start.unwrap_or(zero);
        let value = self.parameter_value(definition);
        self.declarations.push(Declared {
            name: name.to_string(),
            dims: Vec::new(),
            kind: DeclaredKind::Parameter,
            first: self.parameters.len(),
            ty,
            comment: String::new(),
            unit: String::new(),
            is_output: false,
            is_output_of_component: false,
            is_input_of_component: false,
            is_protected: true,
            is_final: false,
            span,
        });
        self.parameters.push(Parameter {
            name: name.to_string(),
            value,
            definition,
            ty,
            is_constant: false,
            min: None,
            max: None,
            is_structural: false,
            declaration: self.declarations.len() - 1,
        });
        self.parameters.len() - 1
    }

    /// Puts held truths in the place of relations: in discrete rules those of unknowns and of time, in equations all.
    fn hold_relations(&mut self, hybrid: &mut Hybrid) {
        let mut roots: Vec<ExprId> = hybrid.exprs_mut().map(|expr| *expr).collect();
        let n_rules = roots.len();
        for equation in self.equations.iter().chain(&self.initial_equations) {
            roots.extend([equation.left, equation.right]);
        }
        for relation in self.guards_of_roots(&roots[..n_rules], &roots[n_rules..]) {
            self.discrete.relations.remove(&relation);
        }
        let images = self.held(&roots, hybrid, false);
        // Relations that were held just now are in their last form.
        let relations = std::mem::take(&mut hybrid.relations);
        let rules = self.with_present_times(&images[..n_rules], &relations);
        for (expr, &image) in hybrid.exprs_mut().zip(&rules) {
            *expr = image;
        }
        hybrid.relations = relations;
        let images = self.held(&images[n_rules..], hybrid, true);
        self.put_sides(&images);
    }

    /// Relations that keep the argument of a root from being negative and that no rule reads: `if h > 0 then sqrt(h) else 0`.
    ///
    /// Held between events, such a root would have no guard where h only touches zero; as a kink of the equations it has one, and
    /// its values are the same.
    fn guards_of_roots(&mut self, rules: &[ExprId], equations: &[ExprId]) -> Vec<ExprId> {
        let read: BTreeSet<ExprId> = (self.walker.reachable(&self.graph, rules).iter())
            .copied()
            .collect();
        let nodes = self.walker.reachable(&self.graph, equations).to_vec();
        let all = self.radicands(&nodes);
        let mut found = Vec::new();
        // Few relations are of any root, and only their branches are looked into.
        for &relation in &nodes {
            let Node::Binary(
                BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual,
                left,
                right,
            ) = self.graph.node(relation)
            else {
                continue;
            };
            if all.is_empty() || read.contains(&relation) {
                continue;
            }
            let differences = [self.graph.sub(left, right), self.graph.sub(right, left)];
            let differences = differences.map(|one| self.without_factors(one));
            let is_argument =
                |all: &BTreeSet<ExprId>| differences.iter().any(|one| all.contains(one));
            if !is_argument(&all) {
                continue;
            }
            for (a, b) in self.chosen_by(relation, &nodes) {
                let below = self.walker.reachable(&self.graph, &[a, b]).to_vec();
                if is_argument(&self.radicands(&below)) {
                    found.push(relation);
                    break;
                }
            }
        }
        found
    }

    /// The branches of the choices, among expressions given each after its arguments, whose conditions hold a relation.
    fn chosen_by(&self, relation: ExprId, nodes: &[ExprId]) -> Vec<(ExprId, ExprId)> {
        let mut holds: HashSet<ExprId> = HashSet::from([relation]);
        let mut branches = Vec::new();
        for &id in nodes {
            let node = self.graph.node(id);
            if node.arguments().any(|argument| holds.contains(&argument)) {
                holds.insert(id);
            }
            if let Node::Select(condition, a, b) = node
                && holds.contains(&condition)
            {
                branches.push((a, b));
            }
        }
        branches
    }

    /// The arguments of the roots among some expressions, without their factors.
    fn radicands(&mut self, nodes: &[ExprId]) -> BTreeSet<ExprId> {
        let arguments = nodes.iter().filter_map(|&id| match self.graph.node(id) {
            Node::Unary(UnaryOp::Sqrt, a) => Some(a),
            Node::Binary(BinaryOp::Pow, a, b) => {
                let power = self.graph.as_constant(b)?;
                (power > 0.0 && power.fract() != 0.0).then_some(a)
            }
            _ => None,
        });
        let arguments: Vec<ExprId> = arguments.collect();
        let arguments = arguments.into_iter().map(|one| self.without_factors(one));
        arguments.collect()
    }

    /// An expression without its sign and its factors that hold no unknown.
    fn without_factors(&mut self, mut expr: ExprId) -> ExprId {
        loop {
            let mut rests = |expr| {
                let symbols = self.walker.symbols(&self.graph, &[expr]);
                let mut symbols = symbols.into_iter().map(|id| self.symbols.get(id));
                symbols.all(|symbol| matches!(symbol, Symbol::Parameter(_)))
            };
            expr = match self.graph.node(expr) {
                Node::Unary(UnaryOp::Neg, a) => a,
                Node::Binary(BinaryOp::Mul, a, b) if rests(a) => b,
                Node::Binary(BinaryOp::Mul | BinaryOp::Div, a, b) if rests(b) => a,
                _ => return expr,
            };
        }
    }

    /// Rules read relations of time as they are now: an earlier rule of the same round may have moved their limits.
    fn with_present_times(&mut self, rules: &[ExprId], relations: &[HeldRelation]) -> Vec<ExprId> {
        let time = self.symbols.id(Symbol::Time);
        let time = self.graph.symbol(time);
        let mut now: HashMap<SymbolId, ExprId> = HashMap::new();
        for relation in relations {
            if let ChangedBy::Time { limit, after } = relation.by {
                let reached = self.graph.binary(BinaryOp::GreaterEqual, time, limit);
                let truth = match after {
                    true => reached,
                    false => self.graph.unary(UnaryOp::Not, reached),
                };
                now.insert(
                    self.symbols.id(Symbol::Parameter(relation.parameter)),
                    truth,
                );
            }
        }
        // A limit may read other relations of time.
        let mut rules = rules.to_vec();
        for _ in 0..=now.len() {
            let next = self.graph.substitute(&rules, |_, id| now.get(&id).copied());
            if next == rules {
                break;
            }
            rules = next;
        }
        rules
    }

    /// Expressions with relations held: those that make events, or those of discrete variables alone.
    fn held(&mut self, roots: &[ExprId], hybrid: &mut Hybrid, alone: bool) -> Vec<ExprId> {
        let rests = self.resting_parameters(hybrid);
        let mut held: HashMap<ExprId, ExprId> = HashMap::new();
        let mut constants = Constants {
            formulas: self.formulas(),
            found: HashMap::new(),
            rests: rests.clone(),
            depth: 0,
        };
        self.rebuilt(roots, |elaborator, id, plain| {
            let span = elaborator.discrete.relations.get(&id).copied();
            let of_time = span.and_then(|_| elaborator.of_time(plain, &mut constants));
            let plain = of_time.unwrap_or(plain);
            let new = match held.get(&plain) {
                Some(&symbol) => symbol,
                None => match elaborator.change_of(plain, span.is_some(), alone, &rests) {
                    Some(by) => {
                        let span = span
                            .or_else(|| elaborator.spans.get(&id).copied())
                            .unwrap_or_default();
                        let symbol = elaborator.hold(plain, by, span, hybrid);
                        held.insert(plain, symbol);
                        symbol
                    }
                    None => plain,
                },
            };
            if let Some(&span) = elaborator.spans.get(&id) {
                elaborator.spans.entry(new).or_insert(span);
            }
            new
        })
    }

    /// Expressions made anew from their leaves: each node, given as it was and with its new arguments, may be replaced.
    pub(super) fn rebuilt(
        &mut self,
        roots: &[ExprId],
        mut replaced: impl FnMut(&mut Self, ExprId, ExprId) -> ExprId,
    ) -> Vec<ExprId> {
        let mut sorted = roots.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut image: HashMap<ExprId, ExprId> = HashMap::new();
        for id in self.walker.reachable(&self.graph, &sorted).to_vec() {
            let at = |argument: &ExprId| image[argument];
            let plain = match self.graph.node(id) {
                Node::Constant(_) | Node::Symbol(_) => id,
                Node::Unary(op, a) => {
                    let a = at(&a);
                    self.graph.unary(op, a)
                }
                Node::Binary(op, a, b) => {
                    let (a, b) = (at(&a), at(&b));
                    self.graph.binary(op, a, b)
                }
                Node::Select(c, a, b) => {
                    let (c, a, b) = (at(&c), at(&a), at(&b));
                    self.graph.select(c, a, b)
                }
            };
            let new = replaced(self, id, plain);
            image.insert(id, new);
        }
        roots.iter().map(|root| image[root]).collect()
    }

    /// Which equations give an unknown as a formula.
    fn formulas(&self) -> HashMap<SymbolId, Vec<ExprId>> {
        let mut formulas: HashMap<SymbolId, Vec<ExprId>> = HashMap::new();
        for equation in &self.equations {
            let (left, right) = (equation.left, equation.right);
            for (unknown, formula) in [(left, right), (right, left)] {
                if let Some(id) = self.graph.as_symbol(unknown)
                    && matches!(self.symbols.get(id), Symbol::Unknown { order: 0, .. })
                {
                    formulas.entry(id).or_default().push(formula);
                }
            }
        }
        formulas
    }

    /// An expression with unknowns put in that equations give as formulas of parameters, such as the width of a pulse, if no other unknown
    /// is left then: it is constant, or changes with time alone.
    fn of_time(&mut self, expr: ExprId, known: &mut Constants) -> Option<ExprId> {
        for id in self.walker.symbols(&self.graph, &[expr]) {
            match self.symbols.get(id) {
                Symbol::Unknown { .. } if self.constant(id, known).is_none() => return None,
                Symbol::Input { .. } => return None,
                _ => {}
            }
        }
        let put_in = |_: &mut _, id| known.found.get(&id).copied().flatten();
        Some(self.graph.substitute(&[expr], put_in)[0])
    }

    /// The formula of parameters that an unknown is, if equations say so.
    fn constant(&mut self, unknown: SymbolId, known: &mut Constants) -> Option<ExprId> {
        if let Some(found) = known.found.get(&unknown) {
            return *found;
        }
        // Not while it is looked for: a circle of formulas gives nothing.
        known.found.insert(unknown, None);
        let formulas = known.formulas.get(&unknown).cloned().unwrap_or_default();
        for formula in formulas {
            let symbols = self.walker.symbols(&self.graph, &[formula]);
            let varies = symbols.into_iter().any(|id| match self.symbols.get(id) {
                Symbol::Parameter(index) => known.rests.contains(&index),
                Symbol::Unknown { order, .. } => order > 0,
                _ => true,
            });
            if varies || known.depth > 100 {
                continue;
            }
            known.depth += 1;
            let constant = self.of_time(formula, known);
            known.depth -= 1;
            if constant.is_some() {
                known.found.insert(unknown, constant);
                return constant;
            }
        }
        None
    }

    fn resting_parameters(&self, hybrid: &Hybrid) -> BTreeSet<usize> {
        let variables = hybrid.variables.iter();
        let mut all: BTreeSet<usize> = variables.flat_map(|v| [v.parameter, v.previous]).collect();
        all.extend(hybrid.samples.iter().map(|sample| sample.parameter));
        all.extend(hybrid.initial.into_iter().chain(hybrid.terminal));
        all.extend(hybrid.relations.iter().map(|relation| relation.parameter));
        all
    }

    /// What makes a relation change, if it is one that is held.
    fn change_of(
        &mut self,
        expr: ExprId,
        makes_event: bool,
        alone: bool,
        rests: &BTreeSet<usize>,
    ) -> Option<ChangedBy> {
        let Node::Binary(op, a, b) = self.graph.node(expr) else {
            return None;
        };
        let is_relation = matches!(
            op,
            BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::Equal
                | BinaryOp::NotEqual
        );
        if !is_relation {
            return None;
        }
        let (mut has_unknown, mut has_time, mut has_held) = (false, false, false);
        for id in self.walker.symbols(&self.graph, &[expr]) {
            match self.symbols.get(id) {
                Symbol::Time => has_time = true,
                Symbol::Parameter(index) => has_held |= rests.contains(&index),
                Symbol::Unknown { .. } | Symbol::Input { .. } => has_unknown = true,
            }
        }
        if alone {
            return (has_held && !has_unknown && !has_time).then_some(ChangedBy::Events);
        }
        if !makes_event || !(has_unknown || has_time) {
            return None;
        }
        if has_unknown {
            return Some(ChangedBy::Unknowns);
        }
        let limit = self.time_limit(a, b, op, rests);
        Some(limit.unwrap_or(ChangedBy::Unknowns))
    }

    /// Where a relation that is linear in time changes.
    fn time_limit(
        &mut self,
        a: ExprId,
        b: ExprId,
        op: BinaryOp,
        rests: &BTreeSet<usize>,
    ) -> Option<ChangedBy> {
        let time = self.symbols.id(Symbol::Time);
        let difference = self.graph.sub(a, b);
        let gradient = self.graph.gradient(difference, &[time])[0];
        let symbols = self.walker.symbols(&self.graph, &[gradient]);
        let changes = symbols.into_iter().any(|id| match self.symbols.get(id) {
            Symbol::Parameter(index) => rests.contains(&index),
            _ => true,
        });
        if changes {
            return None;
        }
        let slope = self.known(gradient).filter(|slope| *slope != 0.0)?;
        let zero = self.graph.constant(0.0);
        let at_zero = |graph: &mut daelight_expr::Graph, root| {
            graph.substitute(&[root], |_, id| (id == time).then_some(zero))[0]
        };
        let limit = match (self.graph.as_symbol(a), self.graph.as_symbol(b)) {
            (Some(id), _) if id == time => b,
            (_, Some(id)) if id == time => a,
            _ => {
                let rest = at_zero(&mut self.graph, difference);
                let rest = self.graph.neg(rest);
                self.graph.div(rest, gradient)
            }
        };
        let after = match op {
            BinaryOp::Greater | BinaryOp::GreaterEqual => slope > 0.0,
            BinaryOp::Less | BinaryOp::LessEqual => slope < 0.0,
            _ => return None,
        };
        Some(ChangedBy::Time { limit, after })
    }

    fn hold(&mut self, expr: ExprId, by: ChangedBy, span: Span, hybrid: &mut Hybrid) -> ExprId {
        let written = self.slice(span);
        let name = match self.discrete.firsts.contains(&expr) {
            true => shorten(&format!("first of {written}"), 60),
            false => shorten(&written, 60),
        };
        let parameter = self.held_parameter(&name, Type::Boolean, None, span);
        hybrid.relations.push(HeldRelation {
            parameter,
            expr,
            by,
            span,
        });
        let id = self.symbols.id(Symbol::Parameter(parameter));
        self.graph.symbol(id)
    }

    /// The parameters of truth that the continuous equations read.
    fn deciding(&mut self, truths: &[usize], hybrid: &Hybrid) -> Vec<usize> {
        let residuals: Vec<ExprId> = self.equations.iter().map(|e| e.residual).collect();
        let mut all: BTreeSet<usize> = truths.iter().copied().collect();
        all.extend(hybrid.relations.iter().map(|relation| relation.parameter));
        let symbols = self.walker.symbols(&self.graph, &residuals);
        let mut found: Vec<usize> = symbols
            .into_iter()
            .filter_map(|id| match self.symbols.get(id) {
                Symbol::Parameter(index) if all.contains(&index) => Some(index),
                _ => None,
            })
            .collect();
        found.sort_unstable();
        found
    }

    /// `reinit` sets unknowns that are differentiated.
    fn check_reinits(&mut self, hybrid: &Hybrid) {
        let residuals: Vec<ExprId> = self.equations.iter().map(|e| e.residual).collect();
        let symbols = self.walker.symbols(&self.graph, &residuals);
        let differentiated: BTreeSet<usize> = symbols
            .into_iter()
            .filter_map(|id| match self.symbols.get(id) {
                Symbol::Unknown { unknown, order } if order > 0 => Some(unknown),
                _ => None,
            })
            .collect();
        for reinit in &hybrid.reinits {
            let symbol = self.graph.as_symbol(reinit.unknown);
            let symbol = symbol.map(|id| self.symbols.get(id));
            let is_right = matches!(symbol, Some(Symbol::Unknown { unknown, order: 0 })
                if differentiated.contains(&unknown));
            if !is_right {
                let name = |unknown: &usize| format!("`{}`", self.unknowns[*unknown].name);
                let others: Vec<String> = differentiated.iter().take(6).map(name).collect();
                let label = match symbol {
                    Some(Symbol::Unknown { unknown, .. }) => {
                        format!("{} has no derivative there", name(&unknown))
                    }
                    _ => "not such a variable".to_string(),
                };
                let help = match others.is_empty() {
                    true => "name a variable x with `der(x)` in the equations".to_string(),
                    false => format!("{} can be set", others.join(", ")),
                };
                self.error(
                    Diagnostic::error(
                        Code::TypeMismatch,
                        reinit.span,
                        "`reinit` sets a variable whose derivative is in the equations",
                    )
                    .label(label)
                    .help(help),
                );
            }
        }
    }
}
