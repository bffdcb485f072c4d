//! Expandable connectors: buses whose members are what connections bring (`docs/theory/components.md`, section 3).

use super::{Place, Side};
use crate::ast::{AstId, Expr, PathPart};
use crate::elaborate::instance::Instance;
use crate::elaborate::scope::{Element, NodeId, PartId, What};
use crate::elaborate::value::Value;
use crate::elaborate::{Checked, Elaborator};
use crate::source::Span;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// Two buses that are connected: each has all members of the other.
#[derive(Clone)]
struct Pair {
    sides: [(NodeId, bool); 2],
    span: Span,
    component: Arc<str>,
}

/// A connection between two members that no text declares.
struct Waiting {
    ends: [AstId; 2],
    span: Span,
    part: PartId,
    component: Arc<str>,
    loops: Vec<(Arc<str>, Value)>,
}

#[derive(Default)]
pub(super) struct Buses<'a> {
    pairs: Vec<Pair>,
    /// The members of each pair that are connected already.
    joined: HashSet<(usize, &'a str)>,
    waiting: Vec<Waiting>,
    /// Members that connections brought, and how many leading sizes of their declarations subscripts have taken.
    brought: HashMap<(NodeId, &'a str), usize>,
}

/// Where a dotted name ends in a bus.
struct Missing<'a> {
    bus: NodeId,
    name: &'a str,
    is_last: bool,
}

impl<'a> Elaborator<'a> {
    pub(in crate::elaborate) fn is_expandable(&self, node: NodeId) -> bool {
        self.node(node)
            .class
            .is_some_and(|class| class.is_expandable)
    }

    /// How many leading sizes a member that a connection brought leaves out; `None` for declared ones.
    pub(in crate::elaborate) fn brought(&self, node: NodeId, name: &str) -> Option<usize> {
        self.connections.buses.brought.get(&(node, name)).copied()
    }

    /// The parts of a dotted name; `None` for other expressions.
    fn dotted(&self, id: AstId) -> Option<(&'a str, &'a [AstId], &'a [PathPart])> {
        let Expr::Name {
            name,
            subscripts,
            path,
        } = self.ast.expr(id)
        else {
            return None;
        };
        Some(match path {
            None => (name, subscripts, &[]),
            Some(path) => (&path[0].name, &path[0].subscripts, &path[1..]),
        })
    }

    /// The nodes that a dotted name leads through, with the rest of the name behind each.
    fn way(&mut self, id: AstId) -> Checked<Vec<(NodeId, &'a [PathPart])>> {
        let span = self.ast.span(id);
        let Some((first, mut subscripts, mut rest)) = self.dotted(id) else {
            return Ok(Vec::new());
        };
        let Some((node, element)) = self.find(self.part, first) else {
            return Ok(Vec::new());
        };
        let What::Component(declaration) = element.what else {
            return Ok(Vec::new());
        };
        let mut instance = self.instance(node, &declaration.name)?;
        let mut way = Vec::new();
        while let Instance::Nodes { dims, list } = &instance {
            let at = match subscripts.is_empty() {
                true => 0,
                false => self.chosen(dims, subscripts, first, span)?.1[0],
            };
            let Some(&node) = list.get(at) else { break };
            way.push((node, rest));
            let Some((next, others)) = rest.split_first() else {
                break;
            };
            if !self.node(node).elements.map.contains_key(&*next.name) {
                break;
            }
            instance = self.instance(node, &next.name)?;
            (subscripts, rest) = (&next.subscripts, others);
        }
        Ok(way)
    }

    /// The first member in a dotted name that its bus does not have.
    fn missing_member(&mut self, id: AstId) -> Checked<Option<Missing<'a>>> {
        let way = self.way(id)?;
        let last = way.last().and_then(|&(node, rest)| {
            let (next, others) = rest.split_first()?;
            let is_missing = !self.node(node).elements.map.contains_key(&*next.name);
            (is_missing && self.is_expandable(node)).then_some(Missing {
                bus: node,
                name: &next.name,
                is_last: others.is_empty() && next.subscripts.is_empty(),
            })
        });
        Ok(last)
    }

    /// The declaration that a dotted name ends with, and how many of its sizes are taken by subscripts.
    fn end_of(&mut self, id: AstId) -> Checked<Option<(Element<'a>, usize)>> {
        let Some((first, subscripts, rest)) = self.dotted(id) else {
            return Ok(None);
        };
        let Some(name) = rest.last() else {
            let found = self.find(self.part, first);
            return Ok(found.map(|(_, element)| (element, subscripts.len())));
        };
        let way = self.way(id)?;
        let around = way.iter().find(|(_, rest)| rest.len() == 1);
        Ok(around.and_then(|&(node, _)| {
            let element = self.element(node, &name.name)?;
            Some((element, name.subscripts.len()))
        }))
    }

    /// Gives buses the members that a connection names; whether the connection can be made now.
    pub(super) fn bring_members(&mut self, ends: [AstId; 2], span: Span) -> Checked<bool> {
        let missing = [self.missing_member(ends[0])?, self.missing_member(ends[1])?];
        let (at, member) = match missing {
            [None, None] => return Ok(true),
            [Some(_), Some(_)] => {
                self.connections.buses.waiting.push(Waiting {
                    ends,
                    span,
                    part: self.part,
                    component: self.component.clone(),
                    loops: self.loops.clone(),
                });
                return Ok(false);
            }
            [Some(member), None] => (0, member),
            [None, Some(member)] => (1, member),
        };
        if !member.is_last {
            return Err(self.no_member(member.bus, member.name, span));
        }
        // A component that is switched off brings nothing.
        if self.sides(ends[1 - at])?.is_none() {
            return Ok(false);
        }
        let Some((element, n_taken)) = self.end_of(ends[1 - at])? else {
            return Err(self.no_member(member.bus, member.name, span));
        };
        self.add_member(member.bus, member.name, element, n_taken);
        Ok(true)
    }

    fn add_member(&mut self, bus: NodeId, name: &'a str, element: Element<'a>, n_taken: usize) {
        let elements = Rc::make_mut(&mut self.node_mut(bus).elements);
        elements.map.insert(name, element);
        elements.order.push(name);
        self.connections.buses.brought.insert((bus, name), n_taken);
    }

    /// Two connectors of which one is a bus: what they have in common is known when all connections are read.
    pub(super) fn pair_buses(&mut self, sides: [(NodeId, bool); 2], span: Span) {
        self.connections.buses.pairs.push(Pair {
            sides,
            span,
            component: self.component.clone(),
        });
    }

    /// Hands the members of buses on until every bus has those of all it is connected with.
    pub(super) fn expand_buses(&mut self) -> Checked<()> {
        loop {
            let n_joined = self.connections.buses.joined.len();
            let n_waiting = self.connections.buses.waiting.len();
            let mut at = 0;
            while at < self.connections.buses.pairs.len() {
                let pair = self.connections.buses.pairs[at].clone();
                // A bus that is connected with its own member grows without end.
                self.step(1, pair.span)?;
                self.component = pair.component.clone();
                let [a, b] = pair.sides;
                for sides in [[a, b], [b, a]] {
                    self.share_members(at, sides, pair.span)?;
                }
                at += 1;
            }
            for waiting in std::mem::take(&mut self.connections.buses.waiting) {
                self.component = waiting.component;
                self.part = waiting.part;
                let loops = std::mem::replace(&mut self.loops, waiting.loops);
                let [left, right] = waiting.ends;
                let end = self.connect(left, right, waiting.span);
                self.loops = loops;
                end?;
            }
            let buses = &self.connections.buses;
            if buses.joined.len() == n_joined && buses.waiting.len() == n_waiting {
                return Ok(());
            }
        }
    }

    /// Connects the members that are in use on the first side of a pair with those of the second.
    fn share_members(&mut self, at: usize, sides: [(NodeId, bool); 2], span: Span) -> Checked<()> {
        let [(from, _), (to, _)] = sides;
        for name in self.node(from).elements.order.clone() {
            let used = self.node(from).components.get(name);
            if !matches!(used, Some(Instance::Variable(_) | Instance::Nodes { .. })) {
                continue;
            }
            if !self.connections.buses.joined.insert((at, name)) {
                continue;
            }
            self.step(1, span)?;
            if !self.node(to).elements.map.contains_key(name) {
                if !self.is_expandable(to) {
                    return Err(self.not_matching(from, to, name, span));
                }
                let Some(element) = self.element(from, name) else {
                    continue;
                };
                let n_taken = self.brought(from, name).unwrap_or(0);
                self.add_member(to, name, element, n_taken);
            }
            let mut places = [Vec::new(), Vec::new()];
            for ((node, _), places) in sides.iter().zip(&mut places) {
                let instance = self.instance(*node, name)?;
                self.places(&instance, name, &[], &[], span, places)?;
            }
            let [first, second] = places;
            if first.len() != second.len() {
                return Err(self.not_matching(from, to, name, span));
            }
            for pair in first.into_iter().zip(second) {
                let side = |place: Place, at: usize| Side {
                    place,
                    is_outside: sides[at].1,
                };
                self.join_places(&side(pair.0, 0), &side(pair.1, 1), span, 0)?;
            }
        }
        Ok(())
    }

    /// Lists the variables of buses that are in use, which no declaration made.
    pub(in crate::elaborate) fn list_bus_variables(&mut self) {
        let mut known: HashSet<usize> = self.order.iter().copied().collect();
        for at in 0..self.nodes.len() {
            let node = NodeId(at as u32);
            if !self.node(node).is_component || !self.is_expandable(node) {
                continue;
            }
            for name in self.node(node).elements.order.clone() {
                let mut made = Vec::new();
                match self.node(node).components.get(name).cloned() {
                    Some(Instance::Variable(entry)) => made.push(entry),
                    Some(Instance::Nodes { list, .. }) => {
                        for &inside in list.iter() {
                            self.instantiate(inside, &mut made);
                        }
                    }
                    _ => {}
                }
                made.retain(|entry| known.insert(*entry));
                self.order.extend(made);
            }
        }
    }
}
