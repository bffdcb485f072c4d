//! What flows through connectors carries with it: `inStream`, `actualStream` (`docs/theory/components.md`, section 3, (2)).

use super::super::equation::Section;
use super::super::instance::Instance;
use super::super::scope::{MAX_BASES, What};
use super::super::value::Value;
use super::super::{Checked, Elaborator, Reported};
use super::{Leaf, Place};
use crate::ast::{AstId, Flow};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Origin, Symbol, Type};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId};
use std::collections::HashMap;

/// The least share of a flow in a mixture, relative to its nominal size: with no flow at all the mixture is the mean.
const LEAST_SHARE: f64 = 1e-10;

/// The flow beside a quantity that it carries, and its bounds.
struct Carrier {
    flow: ExprId,
    min: f64,
    max: f64,
    nominal: f64,
}

impl<'a> Elaborator<'a> {
    /// `inStream(c.h)` and `actualStream(c.h)`.
    pub(in super::super) fn stream_call(
        &mut self,
        name: &str,
        positional: &[AstId],
        span: Span,
    ) -> Checked<Option<Value>> {
        let (true, &[argument]) = (matches!(name, "inStream" | "actualStream"), positional) else {
            return Ok(None);
        };
        if self.n_connected == 0 {
            return Err(self.error(
                Diagnostic::error(
                    Code::NotConstant,
                    span,
                    format!("`{name}` is not known before the run{}", self.place()),
                )
                .label("asked for while the model is built")
                .help("use parameters for sizes and conditions of components"),
            ));
        }
        let Some((dims, sides)) = self.sides(argument)? else {
            return Err(self.not_a_connector(span));
        };
        let mut data = Vec::with_capacity(sides.len());
        for side in sides {
            let Place::Scalar(entry, position) = side.place else {
                return Err(self.not_a_connector(span));
            };
            let leaf = Leaf {
                entry,
                position,
                is_outside: false,
            };
            let mut value = self.arriving(leaf, span, 0)?;
            if name == "actualStream" {
                let own = self.leaf_value(leaf, span).ok_or(Reported)?;
                let flow = self.carrier(leaf, span)?.flow;
                let zero = self.graph.constant(0.0);
                let enters = self.graph.binary(BinaryOp::Greater, flow, zero);
                value = self.choose(Type::Real, enters, value, own, span);
            }
            data.push(value);
        }
        Ok(Some(Value::shaped(Type::Real, dims, data)))
    }

    /// What would arrive at a connector from the others of its set.
    fn arriving(&mut self, leaf: Leaf, span: Span, level: usize) -> Checked<ExprId> {
        let leaf = Leaf {
            is_outside: false,
            ..leaf
        };
        let own = self.leaf_value(leaf, span).ok_or(Reported)?;
        let Some(&id) = self.connections.by_leaf.get(&leaf) else {
            return Ok(own);
        };
        let others = self.others_of(id);
        Ok(self.mixture(&others, span, level)?.unwrap_or(own))
    }

    /// The other leaves of a set.
    fn others_of(&mut self, id: usize) -> Vec<Leaf> {
        if self.connections.streams.is_empty() {
            let mut sets: HashMap<usize, Vec<usize>> = HashMap::new();
            for at in 0..self.connections.leaves.len() {
                let entry = self.connections.leaves[at].0.entry;
                if self.entries[entry].variable.handed.flow == Flow::Stream {
                    let root = self.connections.find(at);
                    sets.entry(root).or_default().push(at);
                }
            }
            self.connections.streams = sets;
        }
        let root = self.connections.find(id);
        let set = self.connections.streams.get(&root);
        let others = set.into_iter().flatten().filter(|&&at| at != id);
        others.map(|&at| self.connections.leaves[at].0).collect()
    }

    /// What comes from connectors, weighted by the flows out of them; `None` if nothing does.
    fn mixture(&mut self, from: &[Leaf], span: Span, level: usize) -> Checked<Option<ExprId>> {
        if level > MAX_BASES {
            return Ok(None);
        }
        let mut parts = Vec::with_capacity(from.len());
        let mut nominal = f64::INFINITY;
        for &leaf in from {
            let carrier = self.carrier(leaf, span)?;
            nominal = nominal.min(carrier.nominal);
            let never = match leaf.is_outside {
                true => carrier.max <= 0.0,
                false => carrier.min >= 0.0,
            };
            if never && from.len() > 1 {
                continue;
            }
            let (carried, flow) = match leaf.is_outside {
                true => (self.arriving(leaf, span, level + 1)?, carrier.flow),
                false => {
                    let own = self.leaf_value(leaf, span).ok_or(Reported)?;
                    (own, self.graph.neg(carrier.flow))
                }
            };
            parts.push((carried, flow));
        }
        if let [(carried, _)] = parts.as_slice() {
            return Ok(Some(*carried));
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let least = self.graph.constant(LEAST_SHARE * nominal);
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for (carried, flow) in parts {
            let weight = self.graph.binary(BinaryOp::Max, flow, least);
            above.push(self.graph.mul(weight, carried));
            below.push(weight);
        }
        let (above, below) = (self.graph.sum(above), self.graph.sum(below));
        Ok(Some(self.graph.div(above, below)))
    }

    /// The flow of the connector that a leaf belongs to.
    fn carrier(&mut self, leaf: Leaf, span: Span) -> Checked<Carrier> {
        let owner = self.entries[leaf.entry].variable.owner;
        let elements = self.node(owner).elements.clone();
        for &name in &elements.order {
            if !matches!(
                elements.map.get(name).map(|it| it.what),
                Some(What::Component(_))
            ) {
                continue;
            }
            let Instance::Variable(entry) = self.instance(owner, name)? else {
                continue;
            };
            if self.entries[entry].variable.handed.flow != Flow::Through {
                continue;
            }
            let value = self.entry_value(entry, name, span)?;
            let flow = self.scalar(&value, span)?;
            let unknown = self
                .graph
                .as_symbol(flow)
                .and_then(|id| match self.symbols.get(id) {
                    Symbol::Unknown { unknown, .. } => Some(self.unknowns[unknown].clone()),
                    _ => None,
                });
            let mut number = |expr: Option<ExprId>, default: f64| match expr {
                Some(expr) => self.parameter_value(expr),
                None => default,
            };
            let (min, max, nominal) = match unknown {
                Some(it) => (
                    number(it.min, f64::NEG_INFINITY),
                    number(it.max, f64::INFINITY),
                    number(it.nominal, 1.0),
                ),
                None => (f64::NEG_INFINITY, f64::INFINITY, 1.0),
            };
            return Ok(Carrier {
                flow,
                min,
                max,
                nominal: nominal.abs(),
            });
        }
        Err(self.not_a_connector(span))
    }

    /// What leaves a class through its own connector comes from the components connected to it.
    pub(super) fn leaving(&mut self, set: &[usize], span: Span) {
        for &at in set {
            let (leaf, _) = self.connections.leaves[at];
            if !leaf.is_outside {
                continue;
            }
            let others = self.others_of(at);
            let Some(own) = self.leaf_value(leaf, span) else {
                return;
            };
            if let Ok(Some(carried)) = self.mixture(&others, span, 0) {
                let instance = self.instance_of(None);
                let origin = Origin::Written;
                self.push_equation(Section::Equation, own, carried, span, origin, instance);
            }
        }
    }
}
