//! Components in messages: which of them equations belong to, and the loops that connections close.

use crate::model::{Equation, Model, Submodel, Symbol};
use crate::source::Span;
use daelight_expr::Walker;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// What the flow of a connector that is not connected is called in its equation.
pub(crate) const NOT_CONNECTED: &str = ", which is not connected";

impl Model {
    /// The innermost component that a variable belongs to.
    pub fn component_of(&self, name: &str) -> Option<&Submodel> {
        self.position_of_owner(name).map(|at| &self.components[at])
    }

    fn position_of_owner(&self, name: &str) -> Option<usize> {
        let mut path = name;
        while let Some((around, _)) = path.rsplit_once('.') {
            if let Some(found) = self.position_of(around) {
                return Some(found);
            }
            path = around;
        }
        None
    }

    fn position_of(&self, path: &str) -> Option<usize> {
        let by_path = |component: &Submodel| component.path.as_str().cmp(path);
        self.components.binary_search_by(by_path).ok()
    }

    /// Components whose own equations are among these, in the order of the equations.
    pub fn components_in(&self, equations: &[usize]) -> Vec<&Submodel> {
        let mut known: HashSet<usize> = HashSet::new();
        let own = |&equation: &usize| {
            let equation = &self.equations[equation];
            let is_own = equation.instance.flow.is_none() && !self.is_connection(equation);
            let at = self.position_of(&equation.instance.component)?;
            (is_own && known.insert(at)).then(|| &self.components[at])
        };
        equations.iter().filter_map(own).collect()
    }

    /// Whether an equation stands for a `connect`.
    fn is_connection(&self, equation: &Equation) -> bool {
        self.sources.slice(equation.span).starts_with("connect")
    }

    /// The connector whose missing connection is one of these equations.
    pub(crate) fn open_connector(&self, equations: &[usize]) -> Option<String> {
        equations.iter().find_map(|&equation| {
            let flow = self.equations[equation].instance.flow.as_deref()?;
            let variable = flow.strip_suffix(NOT_CONNECTED)?;
            let (connector, _) = variable.rsplit_once('.')?;
            Some(connector.to_string())
        })
    }

    /// The connections among these equations, each with the two unknowns that it makes equal.
    fn equal_ends(&self, equations: &[usize]) -> Vec<(Span, [usize; 2])> {
        let mut walker = Walker::new();
        let ends = |&equation: &usize| {
            let equation = &self.equations[equation];
            if !self.is_connection(equation) || equation.instance.flow.is_some() {
                return None;
            }
            let symbols = walker.symbols(&self.graph, &[equation.residual]);
            let unknown = |id| match self.symbols.get(id) {
                Symbol::Unknown { unknown, .. } => Some(unknown),
                _ => None,
            };
            let ends: Vec<usize> = symbols.into_iter().filter_map(unknown).collect();
            Some((equation.span, <[usize; 2]>::try_from(ends).ok()?))
        };
        equations.iter().filter_map(ends).collect()
    }

    /// A component that a connection among these equations joins with itself, and the connection.
    pub(crate) fn joined_with_itself(&self, equations: &[usize]) -> Option<(&Submodel, Span)> {
        let owner = |unknown: usize| self.position_of_owner(&self.unknowns[unknown].name);
        self.equal_ends(equations)
            .into_iter()
            .find_map(|(span, [a, b])| {
                let at = owner(a).filter(|at| owner(b) == Some(*at))?;
                Some((&self.components[at], span))
            })
    }

    /// Two outputs of components that connections among these equations make equal, and these connections.
    pub(crate) fn joined_outputs(&self, equations: &[usize]) -> Option<([&str; 2], Vec<Span>)> {
        let mut pieces: Vec<(Vec<usize>, Vec<Span>)> = Vec::new();
        for (span, ends) in self.equal_ends(equations) {
            let (touched, mut rest): (Vec<_>, Vec<_>) = std::mem::take(&mut pieces)
                .into_iter()
                .partition(|(unknowns, _)| ends.iter().any(|end| unknowns.contains(end)));
            let mut piece = (ends.to_vec(), vec![span]);
            for (unknowns, spans) in touched {
                piece.0.extend(unknowns);
                piece.1.extend(spans);
            }
            rest.push(piece);
            pieces = rest;
        }
        pieces.into_iter().find_map(|(mut unknowns, mut spans)| {
            unknowns.sort_unstable();
            unknowns.dedup();
            unknowns.retain(|&unknown| {
                self.declarations[self.unknowns[unknown].declaration].is_output_of_component
            });
            spans.sort_by_key(|span| (span.source.0, span.start));
            let &[a, b, ..] = unknowns.as_slice() else {
                return None;
            };
            Some(([a, b].map(|at| self.unknowns[at].name.as_str()), spans))
        })
    }

    /// An input of a component among some unknowns that no connection among these equations drives.
    pub(crate) fn open_input(&self, equations: &[usize], unknowns: &[usize]) -> Option<&str> {
        let ends = self.equal_ends(equations);
        let is_open = |unknown: &&usize| {
            let declared = &self.declarations[self.unknowns[**unknown].declaration];
            declared.is_input_of_component && ends.iter().all(|(_, pair)| !pair.contains(unknown))
        };
        let open = unknowns.iter().find(is_open)?;
        Some(self.unknowns[*open].name.as_str())
    }

    /// The components around a loop that the connections among these equations close.
    pub(crate) fn closed_loop(&self, equations: &[usize]) -> Option<Vec<&Submodel>> {
        let mut known: HashSet<(usize, usize, Span)> = HashSet::new();
        let mut graph = Graph::default();
        let owner = |unknown: usize| self.position_of_owner(&self.unknowns[unknown].name);
        for (span, [a, b]) in self.equal_ends(equations) {
            let (Some(a), Some(b)) = (owner(a), owner(b)) else {
                continue;
            };
            // One connection gives an equation for each potential, and counts once.
            if a == b || !known.insert((a.min(b), a.max(b), span)) {
                continue;
            }
            if let Some(found) = graph.way(a, b) {
                return Some(found.iter().map(|&at| &self.components[at]).collect());
            }
            graph.join(a, b);
        }
        None
    }
}

/// Components and the connections between them, without a circle.
#[derive(Default)]
struct Graph {
    neighbours: HashMap<usize, Vec<usize>>,
    /// The way to a representative of the piece that a component belongs to.
    towards: HashMap<usize, usize>,
}

impl Graph {
    fn piece(&mut self, at: usize) -> usize {
        let mut top = at;
        while let Some(&next) = self.towards.get(&top) {
            top = next;
        }
        if top != at {
            self.towards.insert(at, top);
        }
        top
    }

    fn join(&mut self, a: usize, b: usize) {
        self.neighbours.entry(a).or_default().push(b);
        self.neighbours.entry(b).or_default().push(a);
        let (a, b) = (self.piece(a), self.piece(b));
        self.towards.insert(b, a);
    }

    /// What lies on the way between two components of one piece, both ends included.
    fn way(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        if self.piece(from) != self.piece(to) {
            return None;
        }
        let mut before: HashMap<usize, usize> = HashMap::from([(from, from)]);
        let mut queue = vec![from];
        let mut head = 0;
        while let Some(&here) = queue.get(head) {
            head += 1;
            for &next in self.neighbours.get(&here).into_iter().flatten() {
                if let Entry::Vacant(place) = before.entry(next) {
                    place.insert(here);
                    queue.push(next);
                }
            }
        }
        let mut way = vec![to];
        let mut at = to;
        while at != from {
            at = *before.get(&at)?;
            way.push(at);
        }
        Some(way)
    }
}

/// Names in a sentence: `a`, `a and b`, `a, b and c`.
pub(crate) fn sentence(components: &[&Submodel], most: usize) -> String {
    let mut names: Vec<String> = (components.iter().take(most))
        .map(|component| format!("`{}`", component.path))
        .collect();
    if components.len() > most {
        names.push(format!("{} more", components.len() - most));
    }
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
