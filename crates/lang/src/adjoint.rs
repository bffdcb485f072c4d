//! The adjoint of a model along a run: section 6 of `docs/theory/sensitivities.md`.

use crate::model::{
    Declared, DeclaredKind, Equation, Input, Instance, Model, Origin, Symbol, Type, Unknown,
};
use daelight_expr::{ExprId, SymbolId, Walker};
use std::collections::HashMap;

/// The adjoint equations of a model, linear in their unknowns, with the unknowns of the model as inputs.
pub struct AdjointModel {
    /// The equations (10).
    pub model: Model,
    /// The first of the inputs that stand for the unknowns of the model, in their order.
    pub first_input: usize,
    /// The unknowns m of (10): the unknown of the model that each belongs to, and its own position.
    pub momenta: Vec<(usize, usize)>,
    /// The derivatives of lambda F by the parameters asked for.
    pub by_parameter: Vec<ExprId>,
}

impl Model {
    /// The adjoint equations, and the derivatives of lambda F by parameters.
    pub fn adjoint(&self, parameters: &[usize]) -> AdjointModel {
        let mut model = self.clone();
        let n = model.unknowns.len();
        let first_input = model.inputs.len();
        let residuals = model.unknowns_as_inputs();
        // lambda_i takes the place of unknown i.
        let terms: Vec<ExprId> = (residuals.iter().enumerate())
            .map(|(equation, &residual)| {
                let factor = model.value_of(equation, 0);
                model.graph.mul(factor, residual)
            })
            .collect();
        let product = model.graph.sum(terms);
        let input = |model: &mut Self, unknown: usize, order: u32| {
            let input = first_input + unknown;
            model.symbols.id(Symbol::Input { input, order })
        };
        let mut symbols: Vec<SymbolId> = (0..n).map(|j| input(&mut model, j, 0)).collect();
        symbols.extend((0..n).map(|j| input(&mut model, j, 1)));
        let own = |at: &usize| Symbol::Parameter(*at);
        symbols.extend(parameters.iter().map(|at| model.symbols.id(own(at))));
        let slopes = model.graph.gradient(product, &symbols);
        let zero = model.graph.constant(0.0);
        let is_differentiated = |j: usize| slopes[n + j] != zero;
        let nominal: Vec<Option<ExprId>> = model.unknowns.iter().map(|u| u.nominal).collect();
        model.clear();
        for equation in 0..n {
            model.add_unknown(format!("adjoint of equation {}", equation + 1), None);
        }
        let mut momenta = Vec::new();
        for j in 0..n {
            if !is_differentiated(j) {
                model.add_equation(slopes[j], zero);
                continue;
            }
            let name = format!("adjoint of {}", self.unknowns[j].name);
            let one = model.graph.constant(1.0);
            let size = nominal[j].map(|nominal| model.graph.div(one, nominal));
            let at = model.add_unknown(name, size);
            momenta.push((j, at));
            let (value, rate) = (model.value_of(at, 0), model.value_of(at, 1));
            model.add_equation(value, slopes[n + j]);
            model.add_equation(rate, slopes[j]);
        }
        AdjointModel {
            by_parameter: slopes[2 * n..].to_vec(),
            model,
            first_input,
            momenta,
        }
    }

    /// The residuals with new inputs, one for each unknown, in the place of the unknowns.
    fn unknowns_as_inputs(&mut self) -> Vec<ExprId> {
        let first = self.inputs.len();
        let zero = self.graph.constant(0.0);
        for unknown in &self.unknowns {
            self.inputs.push(Input {
                name: unknown.name.clone(),
                definition: Some(zero),
                declaration: unknown.declaration,
            });
        }
        let residuals: Vec<ExprId> = self.equations.iter().map(|e| e.residual).collect();
        let held = Walker::new().symbols(&self.graph, &residuals);
        let mut replaced: HashMap<SymbolId, ExprId> = HashMap::new();
        for id in held {
            if let Symbol::Unknown { unknown, order } = self.symbols.get(id) {
                let input = first + unknown;
                let new = self.symbols.id(Symbol::Input { input, order });
                replaced.insert(id, self.graph.symbol(new));
            }
        }
        self.graph
            .substitute(&residuals, |_, id| replaced.get(&id).copied())
    }

    fn value_of(&mut self, unknown: usize, order: u32) -> ExprId {
        let id = self.symbols.id(Symbol::Unknown { unknown, order });
        self.graph.symbol(id)
    }

    /// Leaves parameters and inputs alone.
    fn clear(&mut self) {
        self.unknowns.clear();
        self.equations.clear();
        self.initial_equations.clear();
        self.assertions.clear();
        self.demands.clear();
        self.views.clear();
        self.drawing.clear();
        self.components.clear();
        (self.stop_when, self.energy, self.hybrid) = (None, None, None);
    }

    /// Adds an unknown, and says where.
    pub(crate) fn add_unknown(&mut self, name: String, nominal: Option<ExprId>) -> usize {
        let at = self.unknowns.len();
        self.declarations.push(Declared {
            name: name.clone(),
            dims: Vec::new(),
            kind: DeclaredKind::Unknown,
            first: at,
            ty: Type::Real,
            comment: String::new(),
            unit: String::new(),
            is_output: false,
            is_output_of_component: false,
            is_input_of_component: false,
            is_protected: false,
            is_final: false,
            span: crate::source::Span::default(),
        });
        let plain = Unknown::plain(name, self.declarations.len() - 1);
        self.unknowns.push(Unknown { nominal, ..plain });
        at
    }

    /// Adds the equation `left = right`.
    pub(crate) fn add_equation(&mut self, left: ExprId, right: ExprId) {
        let residual = self.graph.sub(left, right);
        self.equations.push(Equation {
            left,
            right,
            residual,
            span: crate::source::Span::default(),
            origin: Origin::Written,
            instance: Instance::default(),
        });
    }

    /// The same model with an unknown that is the integral of an expression from the start on, behind all others.
    pub fn with_integral(&self, of: ExprId) -> Self {
        let mut model = self.clone();
        let at = model.add_unknown("integral".to_string(), None);
        let zero = model.graph.constant(0.0);
        (model.unknowns[at].start, model.unknowns[at].fixed) = (Some(zero), true);
        let rate = model.value_of(at, 1);
        model.add_equation(rate, of);
        model
    }
}
