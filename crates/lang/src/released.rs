//! Inputs that become unknowns, each with the equation that gives its signal: section 1 of `docs/theory/linearize.md`.

use crate::model::{Equation, Instance, Model, Origin, Symbol, Unknown};

impl Model {
    /// The same model with some inputs as unknowns behind all others, and their equations `input = signal` behind all others.
    ///
    /// `Err` names an input whose second derivative stands in an equation.
    pub fn with_inputs_as_unknowns(&self, inputs: &[usize]) -> Result<Self, String> {
        let mut model = self.clone();
        for &input in inputs {
            let info = model.inputs[input].clone();
            let unknown = model.unknowns.len();
            if !model.symbols.release(input, unknown) {
                return Err(info.name);
            }
            let name = info.name.clone();
            (model.unknowns).push(Unknown::plain(name, info.declaration));
            let id = model.symbols.id(Symbol::Unknown { unknown, order: 0 });
            let left = model.graph.symbol(id);
            let right = match info.definition {
                Some(signal) => signal,
                None => model.graph.constant(0.0),
            };
            let residual = model.graph.sub(left, right);
            model.equations.push(Equation {
                left,
                right,
                residual,
                span: model.declarations[info.declaration].span,
                origin: Origin::Binding,
                instance: Instance::default(),
            });
        }
        Ok(model)
    }

    /// Replaces the last equations by ones that give unknowns constant values: outputs that are prescribed.
    pub fn prescribe_instead(&mut self, outputs: &[usize]) {
        let first = self.equations.len().saturating_sub(outputs.len());
        for (at, &unknown) in outputs.iter().enumerate() {
            let id = self.symbols.id(Symbol::Unknown { unknown, order: 0 });
            let left = self.graph.symbol(id);
            let right = self.graph.constant(0.0);
            let residual = self.graph.sub(left, right);
            let equation = &mut self.equations[first + at];
            (equation.left, equation.right, equation.residual) = (left, right, residual);
        }
    }
}
