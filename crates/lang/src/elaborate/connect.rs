//! `connect`: sets of connected variables and the equations they stand for (`docs/theory/components.md`, section 3).

use super::equation::Section;
use super::instance::Instance;
use super::scope::{NodeId, What};
use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::{self, AstId, ClassKind, EquationKind, Expr, Flow, PathPart};
use crate::components::NOT_CONNECTED;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Origin, Type};
use crate::source::Span;
use daelight_expr::ExprId;
use std::collections::HashMap;

mod expandable;
mod stream;

/// A scalar of a connector, seen from inside or outside its component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Leaf {
    entry: usize,
    position: usize,
    is_outside: bool,
}

/// What a side of `connect` names.
#[derive(Clone)]
enum Place {
    Node(NodeId),
    /// An element of a variable.
    Scalar(usize, usize),
}

#[derive(Clone)]
struct Side {
    place: Place,
    is_outside: bool,
}

/// A connection between two records with a constraint of their own, such as orientations.
struct Edge {
    a: (NodeId, bool),
    b: (NodeId, bool),
    span: Span,
    component: std::sync::Arc<str>,
    is_broken: bool,
}

#[derive(Default)]
pub(super) struct Connections<'a> {
    leaves: Vec<(Leaf, Span)>,
    by_leaf: HashMap<Leaf, usize>,
    parent: Vec<usize>,
    /// The component around each connection, by leaf.
    components: Vec<std::sync::Arc<str>>,
    /// How often a connector is connected.
    counts: HashMap<NodeId, usize>,
    scalar_counts: HashMap<usize, usize>,
    edges: Vec<Edge>,
    branches: Vec<(NodeId, NodeId, Span)>,
    roots: Vec<NodeId>,
    potential: Vec<(NodeId, f64)>,
    /// The roots of the spanning trees, and the distance of each node from its root.
    depth: HashMap<NodeId, usize>,
    is_root: HashMap<NodeId, bool>,
    /// The sets of what flows carry, once all connections are read.
    streams: HashMap<usize, Vec<usize>>,
    buses: expandable::Buses<'a>,
}

impl Connections<'_> {
    fn leaf(&mut self, leaf: Leaf, span: Span, component: &std::sync::Arc<str>) -> usize {
        if let Some(&known) = self.by_leaf.get(&leaf) {
            return known;
        }
        let id = self.leaves.len();
        self.leaves.push((leaf, span));
        self.parent.push(id);
        self.components.push(component.clone());
        self.by_leaf.insert(leaf, id);
        id
    }

    fn find(&mut self, mut id: usize) -> usize {
        while self.parent[id] != id {
            self.parent[id] = self.parent[self.parent[id]];
            id = self.parent[id];
        }
        id
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b)] = a.min(b);
    }
}

impl<'a> Elaborator<'a> {
    /// Reads all `connect` equations, and what belongs to their graph.
    pub(super) fn gather_connections(&mut self, nodes: &[NodeId]) {
        for &node in nodes {
            self.component = self.node(node).path.to_string().into();
            for part in self.node(node).parts.clone() {
                self.part = part;
                if let Some(class) = self.part(part).class {
                    for equation in &class.equations {
                        // The others are read whatever this one reports.
                        let _ = self.gather(equation);
                    }
                }
            }
        }
        // A mistake has been reported.
        let _ = self.expand_buses();
        self.list_bus_variables();
        self.component = "".into();
    }

    fn gather(&mut self, equation: &'a ast::WrittenEquation) -> Checked<()> {
        match &equation.kind {
            EquationKind::Connect(left, right) => self.connect(*left, *right, equation.span),
            EquationKind::For { iterators, body } if has_connections(body, self) => self
                .each_round(iterators, &mut |elaborator| {
                    body.iter().try_for_each(|inside| elaborator.gather(inside))
                }),
            EquationKind::If {
                branches,
                otherwise,
            } => {
                let inside = branches.iter().any(|(_, body)| has_connections(body, self));
                if !inside && !has_connections(otherwise, self) {
                    return Ok(());
                }
                for (condition, body) in branches {
                    let expr = self.eval_condition(*condition)?;
                    let span = self.ast.span(*condition);
                    if self.known_scalar(expr, "which connections hold", span)? != 0.0 {
                        return body.iter().try_for_each(|inside| self.gather(inside));
                    }
                }
                otherwise.iter().try_for_each(|inside| self.gather(inside))
            }
            EquationKind::Call(call) => self.gather_graph(*call),
            _ => Ok(()),
        }
    }

    /// `Connections.branch`, `root` and `potentialRoot`.
    fn gather_graph(&mut self, call: AstId) -> Checked<()> {
        let span = self.ast.span(call);
        let Expr::Call {
            name,
            positional,
            named,
            ..
        } = self.ast.expr(call)
        else {
            return Ok(());
        };
        let Some(word) = name.strip_prefix("Connections.") else {
            return Ok(());
        };
        let mut nodes = Vec::new();
        for &argument in positional {
            match self.ast.expr(argument) {
                Expr::Name { .. } => {
                    let sides = self.sides(argument)?;
                    match sides.map(|(_, sides)| sides) {
                        Some(sides) => {
                            nodes.extend(sides.iter().filter_map(|side| match side.place {
                                Place::Node(node) => Some(node),
                                Place::Scalar(..) => None,
                            }))
                        }
                        None => return Ok(()),
                    }
                }
                _ => break,
            }
        }
        match (word, nodes.as_slice()) {
            ("branch", &[a, b]) => self.connections.branches.push((a, b, span)),
            ("root", &[a]) => self.connections.roots.push(a),
            ("potentialRoot", &[a]) => {
                let named = named.first().map(|&(_, _, value)| value);
                let priority = match positional.get(1).copied().or(named) {
                    Some(priority) => self.eval_known(priority, "the priority of a root")?,
                    None => 0.0,
                };
                self.connections.potential.push((a, priority));
            }
            _ => {}
        }
        Ok(())
    }

    fn connect(&mut self, left: AstId, right: AstId, span: Span) -> Checked<()> {
        if !self.bring_members([left, right], span)? {
            return Ok(());
        }
        let (a, b) = (self.sides(left)?, self.sides(right)?);
        // A component that is switched off takes its connections with it.
        let (Some((dims_a, a)), Some((dims_b, b))) = (a, b) else {
            return Ok(());
        };
        if a.len() != b.len() {
            let (x, y) = (
                super::value::describe_dims(&dims_a),
                super::value::describe_dims(&dims_b),
            );
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    span,
                    format!("the connectors differ: {x} and {y}{}", self.place()),
                )
                .label("the sizes do not fit")
                .help("connect arrays of the same size, or single elements"),
            ));
        }
        for (a, b) in a.iter().zip(&b) {
            for side in [a, b] {
                match side.place {
                    Place::Node(node) => {
                        *self.connections.counts.entry(node).or_default() += 1;
                    }
                    Place::Scalar(entry, _) => {
                        *self.connections.scalar_counts.entry(entry).or_default() += 1;
                    }
                }
            }
            self.join_places(a, b, span, 0)?;
        }
        Ok(())
    }

    /// The connectors that a side names; `None` where they are switched off.
    fn sides(&mut self, id: AstId) -> Checked<Option<(Vec<usize>, Vec<Side>)>> {
        let span = self.ast.span(id);
        let Expr::Name {
            name,
            subscripts,
            path,
        } = self.ast.expr(id)
        else {
            return Err(self.not_a_connector(span));
        };
        let (first, first_subs, rest): (&'a str, &'a [AstId], &'a [PathPart]) = match path {
            None => (name, subscripts, &[]),
            Some(path) => (&path[0].name, &path[0].subscripts, &path[1..]),
        };
        let own = self.part(self.part).node;
        let Some((node, element)) = self.find(self.part, first) else {
            return Err(self.undeclared(name, span));
        };
        let What::Component(declaration) = element.what else {
            return Err(self.not_a_connector(span));
        };
        let instance = self.instance(node, &declaration.name)?;
        let is_connector = self.is_connector(&instance);
        let is_outside = is_connector && node == own && !declaration.prefixes.is_outer;
        let mut places = Vec::new();
        let dims = self.places(&instance, first, first_subs, rest, span, &mut places)?;
        Ok(dims.map(|dims| {
            let side = |place| Side { place, is_outside };
            (dims, places.into_iter().map(side).collect())
        }))
    }

    fn not_a_connector(&mut self, span: Span) -> super::Reported {
        self.error(
            Diagnostic::error(Code::TypeMismatch, span, "`connect` joins two connectors")
                .label("not a connector")
                .help("name connectors of components, such as `resistor.p`"),
        )
    }

    fn is_connector(&self, instance: &Instance) -> bool {
        match instance {
            Instance::Variable(_) => true,
            Instance::Nodes { list, .. } => list.first().is_some_and(|&node| {
                self.node(node)
                    .class
                    .is_some_and(|class| class.kind == ClassKind::Connector)
            }),
            _ => false,
        }
    }

    /// Follows a dotted name to connectors; `None` where something on the way is switched off.
    fn places(
        &mut self,
        instance: &Instance,
        name: &str,
        subscripts: &'a [AstId],
        rest: &'a [PathPart],
        span: Span,
        places: &mut Vec<Place>,
    ) -> Checked<Option<Vec<usize>>> {
        match instance {
            Instance::Absent => Ok(None),
            Instance::Variable(entry) => {
                self.entries[*entry].used = true;
                let dims = self.entry_dims(*entry, name, span)?;
                let (dims, positions) = match subscripts.is_empty() {
                    true => {
                        let count = dims.iter().product();
                        (dims, (0..count).collect::<Vec<usize>>())
                    }
                    false => self.chosen(&dims, subscripts, name, span)?,
                };
                if !rest.is_empty() {
                    return Err(self.not_a_connector(span));
                }
                places.extend(positions.into_iter().map(|at| Place::Scalar(*entry, at)));
                Ok(Some(dims))
            }
            Instance::Nodes { dims, list } => {
                let (mut dims, chosen) = match subscripts.is_empty() {
                    true => (dims.to_vec(), (0..list.len()).collect()),
                    false => self.chosen(dims, subscripts, name, span)?,
                };
                let Some((next, others)) = rest.split_first() else {
                    places.extend(chosen.into_iter().map(|at| Place::Node(list[at])));
                    return Ok(Some(dims));
                };
                let mut inner = None;
                for at in chosen {
                    let node = list[at];
                    let Some(element) = self.element(node, &next.name) else {
                        return Err(self.no_member(node, &next.name, span));
                    };
                    if !matches!(element.what, What::Component(_)) {
                        return Err(self.not_a_connector(span));
                    }
                    let inside = self.instance(node, &next.name)?;
                    let found =
                        self.places(&inside, &next.name, &next.subscripts, others, span, places)?;
                    let Some(found) = found else {
                        return Ok(None);
                    };
                    inner = Some(found);
                }
                dims.extend(inner.unwrap_or_default());
                Ok(Some(dims))
            }
            Instance::Busy | Instance::Broken => Err(super::Reported),
        }
    }

    fn join_places(&mut self, a: &Side, b: &Side, span: Span, depth: usize) -> Checked<()> {
        if depth > 50 {
            return Ok(());
        }
        match (&a.place, &b.place) {
            (&Place::Scalar(x, at_x), &Place::Scalar(y, at_y)) => {
                self.join_scalars((x, at_x, a.is_outside), (y, at_y, b.is_outside), span);
                Ok(())
            }
            (&Place::Node(x), &Place::Node(y)) => {
                if self.has_own_constraint(x) && self.has_own_constraint(y) {
                    self.connections.edges.push(Edge {
                        a: (x, a.is_outside),
                        b: (y, b.is_outside),
                        span,
                        component: self.component.clone(),
                        is_broken: false,
                    });
                    return Ok(());
                }
                self.join_nodes((x, a.is_outside), (y, b.is_outside), span, depth)
            }
            _ => Err(self.error(
                Diagnostic::error(
                    Code::TypeMismatch,
                    span,
                    format!("the connectors are of different kinds{}", self.place()),
                )
                .label("one is a single variable, the other has several")
                .help("connect connectors of one class"),
            )),
        }
    }

    fn join_scalars(&mut self, a: (usize, usize, bool), b: (usize, usize, bool), span: Span) {
        let leaf = |(entry, position, is_outside)| Leaf {
            entry,
            position,
            is_outside,
        };
        let component = self.component.clone();
        let first = self.connections.leaf(leaf(a), span, &component);
        let second = self.connections.leaf(leaf(b), span, &component);
        self.connections.join(first, second);
    }

    fn join_nodes(
        &mut self,
        a: (NodeId, bool),
        b: (NodeId, bool),
        span: Span,
        depth: usize,
    ) -> Checked<()> {
        if self.is_expandable(a.0) || self.is_expandable(b.0) {
            self.pair_buses([a, b], span);
            return Ok(());
        }
        let elements = self.node(a.0).elements.clone();
        let others = self.node(b.0).elements.clone();
        for &name in &elements.order {
            if !matches!(
                elements.map.get(name).map(|e| e.what),
                Some(What::Component(_))
            ) {
                continue;
            }
            let other = others.map.get(name).map(|element| element.what);
            let first = self.instance(a.0, name)?;
            if matches!(first, Instance::Absent) {
                continue;
            }
            let Some(What::Component(declaration)) = other else {
                return Err(self.not_matching(a.0, b.0, name, span));
            };
            let second = self.instance(b.0, &declaration.name)?;
            let mut places = (Vec::new(), Vec::new());
            let dims = (
                self.places(&first, name, &[], &[], span, &mut places.0)?,
                self.places(&second, name, &[], &[], span, &mut places.1)?,
            );
            if dims.0.is_none() || dims.1.is_none() {
                continue;
            }
            if places.0.len() != places.1.len() {
                return Err(self.not_matching(a.0, b.0, name, span));
            }
            for (x, y) in places.0.into_iter().zip(places.1) {
                let (x, y) = (
                    Side {
                        place: x,
                        is_outside: a.1,
                    },
                    Side {
                        place: y,
                        is_outside: b.1,
                    },
                );
                self.join_places(&x, &y, span, depth + 1)?;
            }
        }
        for &name in &others.order {
            let is_component = matches!(
                others.map.get(name).map(|e| e.what),
                Some(What::Component(_))
            );
            if is_component && !elements.map.contains_key(name) {
                return Err(self.not_matching(b.0, a.0, name, span));
            }
        }
        Ok(())
    }

    fn not_matching(&mut self, a: NodeId, b: NodeId, name: &str, span: Span) -> super::Reported {
        let (x, y) = (self.node(a).path.clone(), self.node(b).path.clone());
        let contents = |node: NodeId| {
            let elements = &self.node(node).elements;
            let is_component = |name: &&&str| {
                let element = elements.map.get(**name);
                matches!(element.map(|e| e.what), Some(What::Component(_)))
            };
            let names: Vec<&str> = (elements.order.iter().filter(is_component))
                .copied()
                .collect();
            names.join(", ")
        };
        let (in_a, in_b) = (contents(a), contents(b));
        for (node, path) in [(a, &x), (b, &y)] {
            let connectors = self.connectors_of(node);
            if connectors.is_empty() {
                continue;
            }
            return self.error(
                Diagnostic::error(
                    Code::TypeMismatch,
                    span,
                    format!("`{path}` is a component, not a connector"),
                )
                .label("connections join connectors")
                .help(format!(
                    "connect one of its own: {}",
                    connectors.join(" or ")
                )),
            );
        }
        self.error(
            Diagnostic::error(
                Code::TypeMismatch,
                span,
                format!("`{x}` and `{y}` do not match: `{name}` of the one does not fit the other"),
            )
            .label(format!("`{x}` has {in_a}; `{y}` has {in_b}"))
            .help("connect connectors of one class, or put a converting component between them"),
        )
    }

    /// The connectors of a component by name; none of a connector.
    fn connectors_of(&mut self, node: NodeId) -> Vec<String> {
        let component = self.node(node);
        let is_model = |class: &crate::ast::Class| class.kind == ClassKind::Model;
        if !component.class.is_some_and(is_model) {
            return Vec::new();
        }
        let (path, names) = (component.path.clone(), component.elements.order.clone());
        let mut connectors = Vec::new();
        for name in names {
            if let Ok(instance) = self.instance(node, name)
                && matches!(instance, Instance::Nodes { .. })
                && self.is_connector(&instance)
            {
                connectors.push(format!("{path}.{name}"));
            }
        }
        connectors
    }

    /// Whether a record brings an `equalityConstraint`, as orientations do.
    fn has_own_constraint(&self, node: NodeId) -> bool {
        self.node(node)
            .elements
            .map
            .contains_key("equalityConstraint")
    }

    /// Chooses which connections of the graph are broken, and which nodes are roots.
    ///
    /// Branches always hold. A connection that would close a circle, or join two definite roots, is broken: it gives the
    /// constraint of the record instead of equalities.
    pub(super) fn settle_graph(&mut self) {
        let mut index: HashMap<NodeId, usize> = HashMap::new();
        let mut list: Vec<NodeId> = Vec::new();
        let mut id = |node: NodeId| {
            *index.entry(node).or_insert_with(|| {
                list.push(node);
                list.len() - 1
            })
        };
        let graph = &self.connections;
        let branches: Vec<(usize, usize)> = graph
            .branches
            .iter()
            .map(|&(a, b, _)| (id(a), id(b)))
            .collect();
        let edges: Vec<(usize, usize)> = graph
            .edges
            .iter()
            .map(|edge| (id(edge.a.0), id(edge.b.0)))
            .collect();
        let roots: Vec<usize> = graph.roots.iter().map(|&node| id(node)).collect();
        let mut potential: Vec<(usize, f64)> = graph
            .potential
            .iter()
            .map(|&(node, priority)| (id(node), priority))
            .collect();
        let n = list.len();
        let mut parent: Vec<usize> = (0..n).collect();
        fn find(parent: &mut [usize], mut at: usize) -> usize {
            while parent[at] != at {
                parent[at] = parent[parent[at]];
                at = parent[at];
            }
            at
        }
        let mut rooted: Vec<Option<usize>> = vec![None; n];
        let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); n];
        for &root in &roots {
            rooted[root] = Some(root);
        }
        for &(a, b) in &branches {
            let (x, y) = (find(&mut parent, a), find(&mut parent, b));
            if x != y {
                let root = rooted[x].or(rooted[y]);
                parent[y] = x;
                rooted[x] = root;
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
        }
        for (at, &(a, b)) in edges.iter().enumerate() {
            let (x, y) = (find(&mut parent, a), find(&mut parent, b));
            if x == y || (rooted[x].is_some() && rooted[y].is_some()) {
                self.connections.edges[at].is_broken = true;
                continue;
            }
            let root = rooted[x].or(rooted[y]);
            parent[y] = x;
            rooted[x] = root;
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        potential.sort_by(|a, b| a.1.total_cmp(&b.1));
        for &(node, _) in &potential {
            let tree = find(&mut parent, node);
            rooted[tree] = rooted[tree].or(Some(node));
        }
        let trees: Vec<usize> = (0..n).filter(|&at| find(&mut parent, at) == at).collect();
        let roots: Vec<usize> = trees.iter().filter_map(|&at| rooted[at]).collect();
        self.measure_depths(&list, &roots, &neighbours);
        self.join_kept_edges();
    }

    /// How far each node of the graph is from the root of its tree.
    fn measure_depths(&mut self, list: &[NodeId], roots: &[usize], neighbours: &[Vec<usize>]) {
        let n = list.len();
        let mut depth: Vec<Option<usize>> = vec![None; n];
        let mut queue = std::collections::VecDeque::new();
        for &root in roots {
            depth[root] = Some(0);
            queue.push_back(root);
            self.connections.is_root.insert(list[root], true);
        }
        while let Some(at) = queue.pop_front() {
            for &next in &neighbours[at] {
                if depth[next].is_none() {
                    depth[next] = depth[at].map(|depth| depth + 1);
                    queue.push_back(next);
                }
            }
        }
        for (at, depth) in depth.into_iter().enumerate() {
            if let Some(depth) = depth {
                self.connections.depth.insert(list[at], depth);
            }
        }
    }

    fn join_kept_edges(&mut self) {
        for at in 0..self.connections.edges.len() {
            let edge = &self.connections.edges[at];
            if edge.is_broken {
                continue;
            }
            let (a, b, span) = (edge.a, edge.b, edge.span);
            self.component = edge.component.clone();
            let _ = self.join_nodes(a, b, span, 0);
        }
        self.component = "".into();
    }

    /// `cardinality(c)`, `Connections.isRoot(r)`, `Connections.rooted(r)`.
    pub(super) fn connection_call(
        &mut self,
        name: &str,
        positional: &[AstId],
        span: Span,
    ) -> Checked<Option<Value>> {
        let (name, [argument]) = (name, positional) else {
            return Ok(None);
        };
        if !matches!(
            name,
            "cardinality" | "Connections.isRoot" | "Connections.rooted" | "rooted"
        ) {
            return Ok(None);
        }
        let Some((_, sides)) = self.sides(*argument)? else {
            return Ok(None);
        };
        let Some(side) = sides.first() else {
            return Err(self.not_a_connector(span));
        };
        let number = match (name, &side.place) {
            ("cardinality", Place::Node(node)) => {
                self.connections.counts.get(node).copied().unwrap_or(0)
            }
            ("cardinality", Place::Scalar(entry, _)) => {
                let counts = &self.connections.scalar_counts;
                counts.get(entry).copied().unwrap_or(0)
            }
            ("Connections.isRoot", Place::Node(node)) => {
                usize::from(self.connections.is_root.contains_key(node))
            }
            (_, Place::Node(node)) => usize::from(self.is_rooted(*node)),
            _ => return Err(self.not_a_connector(span)),
        };
        let ty = match name {
            "cardinality" => Type::Integer,
            _ => Type::Boolean,
        };
        let number = self.graph.constant(number as f64);
        Ok(Some(Value::Scalar(ty, number)))
    }

    /// Whether a node is nearer to the root than the other end of its branch.
    fn is_rooted(&self, node: NodeId) -> bool {
        let depth = |node: NodeId| self.connections.depth.get(&node).copied();
        for &(a, b, _) in &self.connections.branches {
            if a == node || b == node {
                let other = if a == node { b } else { a };
                return depth(node) < depth(other);
            }
        }
        true
    }

    /// The equations of all sets of connected variables.
    pub(super) fn connection_equations(&mut self) {
        let n = self.connections.leaves.len();
        let mut sets: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut order = Vec::new();
        for at in 0..n {
            let root = self.connections.find(at);
            let set = sets.entry(root).or_insert_with(|| {
                order.push(root);
                Vec::new()
            });
            set.push(at);
        }
        for root in order {
            let set = sets.remove(&root).unwrap_or_default();
            let (leaf, span) = self.connections.leaves[root];
            self.component = self.connections.components[root].clone();
            match self.entries[leaf.entry].variable.handed.flow {
                Flow::Through => self.balance_flows(&set, span),
                Flow::Potential => self.equate(&set, span),
                Flow::Stream => self.leaving(&set, span),
            }
        }
        self.component = "".into();
        self.unconnected_flows();
        for at in 0..self.connections.edges.len() {
            if self.connections.edges[at].is_broken {
                let _ = self.broken_edge(at);
            }
        }
        self.component = "".into();
    }

    fn leaf_value(&mut self, leaf: Leaf, span: Span) -> Option<ExprId> {
        let value = self.entry_value(leaf.entry, "a connector", span).ok()?;
        value.elements().get(leaf.position).copied()
    }

    fn balance_flows(&mut self, set: &[usize], span: Span) {
        let mut terms = Vec::new();
        let mut names = Vec::new();
        for &at in set {
            let (leaf, _) = self.connections.leaves[at];
            let Some(value) = self.leaf_value(leaf, span) else {
                return;
            };
            names.push(self.leaf_name(leaf));
            terms.push(match leaf.is_outside {
                true => self.graph.neg(value),
                false => value,
            });
        }
        let left = self.graph.sum(terms);
        let right = self.graph.constant(0.0);
        let mut instance = self.instance_of(None);
        let shown: Vec<String> = names.iter().take(6).cloned().collect();
        instance.flow = Some(shown.join(", ").into());
        self.push_equation(
            Section::Equation,
            left,
            right,
            span,
            Origin::Written,
            instance,
        );
    }

    fn leaf_name(&self, leaf: Leaf) -> String {
        let variable = &self.entries[leaf.entry].variable;
        let dims = match &self.entries[leaf.entry].state {
            super::State::Ready(value) => value.dims().to_vec(),
            _ => Vec::new(),
        };
        super::declare::element_name(&variable.name, &dims, leaf.position)
    }

    fn equate(&mut self, set: &[usize], span: Span) {
        let Some((&first, rest)) = set.split_first() else {
            return;
        };
        let first = self.connections.leaves[first].0;
        for &at in rest {
            let (leaf, at_span) = self.connections.leaves[at];
            if leaf.entry == first.entry && leaf.position == first.position {
                continue;
            }
            let variable = self.entries[leaf.entry].variable.clone();
            if matches!(
                variable.simple,
                super::instance::Simple::Text | super::instance::Simple::Object(_)
            ) {
                continue;
            }
            if variable.is_known() {
                continue;
            }
            let (Some(a), Some(b)) = (self.leaf_value(first, span), self.leaf_value(leaf, span))
            else {
                return;
            };
            let place = if at_span == span { span } else { at_span };
            if variable.ty() != Type::Real
                || self.is_discrete_symbol(a)
                || self.is_discrete_symbol(b)
            {
                self.push_discrete(a, b, place);
                continue;
            }
            let instance = self.instance_of(None);
            self.push_equation(Section::Equation, a, b, place, Origin::Written, instance);
        }
    }

    /// Flows into nothing are zero.
    fn unconnected_flows(&mut self) {
        for entry in self.order.clone() {
            let variable = self.entries[entry].variable.clone();
            if variable.handed.flow != Flow::Through {
                continue;
            }
            let span = variable.declaration.span;
            let Ok(value) = self.entry_value(entry, &variable.name, span) else {
                continue;
            };
            for (position, &element) in value.elements().iter().enumerate() {
                let leaf = Leaf {
                    entry,
                    position,
                    is_outside: false,
                };
                if self.connections.by_leaf.contains_key(&leaf) {
                    continue;
                }
                let zero = self.graph.constant(0.0);
                let connector = self.node(variable.owner);
                let place = connector.span;
                let mut instance = self.instance_of(None);
                instance.flow = Some(format!("{}{NOT_CONNECTED}", self.leaf_name(leaf)).into());
                self.push_equation(
                    Section::Equation,
                    element,
                    zero,
                    place,
                    Origin::Written,
                    instance,
                );
            }
        }
    }

    /// A connection that closes a circle: the constraint of the record in the place of equalities.
    fn broken_edge(&mut self, at: usize) -> Checked<()> {
        let edge = &self.connections.edges[at];
        let (a, b, span) = (edge.a.0, edge.b.0, edge.span);
        self.component = edge.component.clone();
        let Some(element) = self.element(a, "equalityConstraint") else {
            return Ok(());
        };
        let Some(function) = self.class_node(a, "equalityConstraint", &element) else {
            return Ok(());
        };
        let values = vec![self.record_of(a, span)?, self.record_of(b, span)?];
        let residuals = self.call_with(function, values, span)?;
        let zero = self.graph.constant(0.0);
        for (position, &residual) in residuals.elements().iter().enumerate() {
            let instance = self.instance_of(Some(position + 1));
            self.push_equation(
                Section::Equation,
                residual,
                zero,
                span,
                Origin::Written,
                instance,
            );
        }
        Ok(())
    }
}

/// Whether equations hold connections or parts of their graph.
fn has_connections(equations: &[ast::WrittenEquation], elaborator: &Elaborator<'_>) -> bool {
    equations.iter().any(|equation| match &equation.kind {
        EquationKind::Connect(..) => true,
        EquationKind::For { body, .. } => has_connections(body, elaborator),
        EquationKind::If {
            branches,
            otherwise,
        } => {
            branches
                .iter()
                .any(|(_, body)| has_connections(body, elaborator))
                || has_connections(otherwise, elaborator)
        }
        EquationKind::Call(call) => match elaborator.ast.expr(*call) {
            Expr::Call { name, .. } => name.starts_with("Connections."),
            _ => false,
        },
        _ => false,
    })
}
