//! Second and higher derivatives become first derivatives of velocities.

use super::Elaborator;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Equation, Instance, Origin, Polyline, Symbol, Unknown};
use daelight_expr::ExprId;
use std::collections::HashMap;

impl Elaborator<'_> {
    /// For every unknown x that occurs with a derivative of order k > 1, adds the unknowns `der(x)`,
    /// …, up to order k - 1, with their defining equations, and rewrites all equations in them.
    pub(super) fn lower_to_first_order(&mut self, drawing: &mut [Polyline]) {
        let residuals: Vec<ExprId> = self
            .equations
            .iter()
            .map(|equation| equation.residual)
            .collect();
        let mut highest: HashMap<usize, u32> = HashMap::new();
        for id in self.walker.symbols(&self.graph, &residuals) {
            if let Symbol::Unknown { unknown, order } = self.symbols.get(id)
                && order > 1
            {
                let entry = highest.entry(unknown).or_insert(order);
                *entry = order.max(*entry);
            }
        }
        if highest.is_empty() {
            return;
        }
        let mut lowered: Vec<usize> = highest.keys().copied().collect();
        lowered.sort_unstable();
        // velocities[x] are the unknowns that stand for the derivatives 1, 2, … of x.
        let mut velocities: HashMap<usize, Vec<usize>> = HashMap::new();
        for &unknown in &lowered {
            let mut chain = Vec::new();
            let mut previous = unknown;
            for _ in 1..highest[&unknown] {
                let name = format!("der({})", self.unknowns[previous].name);
                let declaration = self.unknowns[unknown].declaration;
                if let Some(&entry) = self.by_name.get(name.as_str()) {
                    let span = self.entries[entry].variable.declaration.name_span;
                    self.error(
                        Diagnostic::error(
                            Code::DuplicateName,
                            span,
                            format!("`{name}` is the name of a velocity"),
                        )
                        .label("declared here")
                        .related(
                            self.declarations[declaration].span,
                            "its second derivative is used",
                        )
                        .help("choose another name"),
                    );
                }
                self.unknowns.push(Unknown {
                    velocity_of: Some(previous),
                    ..Unknown::plain(name, declaration)
                });
                previous = self.unknowns.len() - 1;
                chain.push(previous);
            }
            velocities.insert(unknown, chain);
        }
        self.rewrite(&velocities, drawing);
        for &unknown in &lowered {
            let span = self.declarations[self.unknowns[unknown].declaration].span;
            let mut of = unknown;
            for &velocity in &velocities[&unknown] {
                let rate = self.symbols.id(Symbol::Unknown {
                    unknown: of,
                    order: 1,
                });
                let value = self.symbols.id(Symbol::Unknown {
                    unknown: velocity,
                    order: 0,
                });
                let (left, right) = (self.graph.symbol(rate), self.graph.symbol(value));
                let residual = self.graph.sub(left, right);
                self.equations.push(Equation {
                    left,
                    right,
                    residual,
                    span,
                    origin: Origin::Velocity { of },
                    instance: Instance::default(),
                });
                of = velocity;
            }
        }
    }

    /// Replaces derivatives of lowered unknowns in all equations.
    fn rewrite(&mut self, velocities: &HashMap<usize, Vec<usize>>, drawing: &mut [Polyline]) {
        let mut roots = Vec::new();
        for equation in self.equations.iter().chain(&self.initial_equations) {
            roots.extend([equation.left, equation.right, equation.residual]);
        }
        roots.extend(drawing.iter().flatten().flatten());
        roots.extend(self.energy);
        roots.extend(self.stop_when.map(|stop| stop.expr));
        let mut hybrid = self.hybrid.take();
        roots.extend(
            hybrid
                .iter_mut()
                .flat_map(|h| h.exprs_mut())
                .map(|expr| *expr),
        );
        roots.extend(self.assertions.iter().map(|a| a.condition));
        roots.extend(self.views.iter().map(|view| view.value));
        roots.sort_unstable();
        roots.dedup();
        let symbols = &mut self.symbols;
        let pairs = self.graph.substitution(&roots, |graph, id| {
            let Symbol::Unknown { unknown, order } = symbols.get(id) else {
                return None;
            };
            let chain = velocities.get(&unknown)?;
            if order == 0 {
                return None;
            }
            // The last velocity takes all orders beyond the chain.
            let position = (order as usize).min(chain.len());
            let target = Symbol::Unknown {
                unknown: chain[position - 1],
                order: order - position as u32,
            };
            Some(graph.symbol(symbols.id(target)))
        });
        let image: HashMap<ExprId, ExprId> = pairs.into_iter().collect();
        for equation in self.equations.iter_mut().chain(&mut self.initial_equations) {
            equation.left = image[&equation.left];
            equation.right = image[&equation.right];
            equation.residual = image[&equation.residual];
        }
        for coordinate in drawing.iter_mut().flatten().flatten() {
            *coordinate = image[coordinate];
        }
        if let Some(energy) = &mut self.energy {
            *energy = image[energy];
        }
        if let Some(stop) = &mut self.stop_when {
            stop.expr = image[&stop.expr];
        }
        for expr in hybrid.iter_mut().flat_map(|h| h.exprs_mut()) {
            *expr = image[expr];
        }
        self.hybrid = hybrid;
        for assertion in &mut self.assertions {
            assertion.condition = image[&assertion.condition];
        }
        for view in &mut self.views {
            view.value = image[&view.value];
        }
        for (old, new) in image {
            if let Some(&span) = self.spans.get(&old) {
                self.spans.entry(new).or_insert(span);
            }
        }
    }
}
