//! A model together with its derivatives by parameters and start values: section 1 of `docs/theory/sensitivities.md`.

use crate::model::{
    Declared, DeclaredKind, Equation, Model, Origin, Parameter, Symbol, Symbols, Type, Unknown,
};
use daelight_expr::{ExprId, Graph, Walker};

/// What a run is differentiated by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MovedBy {
    /// `parameters[index]`, and what is defined by it.
    Parameter(usize),
    /// The start value of `unknowns[index]`.
    Start(usize),
}

/// What moves, and what rests although it could move.
#[derive(Clone, Debug, Default)]
pub struct Variation {
    /// What the model is differentiated by.
    pub directions: Vec<MovedBy>,
    /// Inputs that are given by data.
    pub driven: Vec<usize>,
    /// Parameters that were set themselves, so that their definitions do not count.
    pub held: Vec<usize>,
    /// Parameters that move as further parameters say, one for each direction: those of the first direction behind all that are
    /// there, then those of the next.
    pub led: Vec<usize>,
}

/// How fast each parameter moves when one does; `None` for those that rest.
type Rates = Vec<Option<ExprId>>;

/// The derivative of an expression of parameters; `None` where it is zero.
fn along(
    graph: &mut Graph,
    expr: ExprId,
    symbols: &Symbols,
    rates: &[Option<ExprId>],
) -> Option<ExprId> {
    let slope = graph.derivatives_along(&[expr], |_, id| match symbols.get(id) {
        Symbol::Parameter(at) => rates[at],
        _ => None,
    })[0];
    (graph.as_constant(slope) != Some(0.0)).then_some(slope)
}

impl Model {
    /// The name of a direction in the names of derivatives.
    pub fn direction_name(&self, direction: MovedBy) -> String {
        match direction {
            MovedBy::Parameter(at) => self.parameters[at].name.clone(),
            MovedBy::Start(at) => format!("{}.start", self.unknowns[at].name),
        }
    }

    /// The same model with one more parameter, zero, along which others move as fast as their weights say; and its index.
    pub fn with_direction(&self, weights: &[(usize, f64)]) -> Option<(Self, usize)> {
        let mut model = self.clone();
        let like = self.parameters[weights.first()?.0].clone();
        let (at, zero) = (model.parameters.len(), model.graph.constant(0.0));
        let id = model.symbols.id(Symbol::Parameter(at));
        let along = model.graph.symbol(id);
        for &(parameter, weight) in weights {
            let weight = model.graph.constant(weight);
            let moved = model.graph.mul(weight, along);
            let definition = model.parameters[parameter].definition;
            model.parameters[parameter].definition = model.graph.add(definition, moved);
        }
        model.parameters.push(Parameter {
            name: "direction".to_string(),
            value: 0.0,
            definition: zero,
            min: None,
            max: None,
            ..like
        });
        Some((model, at))
    }

    /// How fast each parameter moves with a direction, as expressions of the model's graph; `None` for those that rest.
    pub fn rates_of_parameters(
        &mut self,
        direction: MovedBy,
        held: &[usize],
    ) -> Vec<Option<ExprId>> {
        let mut rates: Rates = vec![None; self.parameters.len()];
        let MovedBy::Parameter(moved) = direction else {
            return rates;
        };
        rates[moved] = Some(self.graph.constant(1.0));
        // A definition that leads back to itself was refused when the model was read: each round settles one more link.
        for _ in 0..self.parameters.len() {
            let before = rates.clone();
            for (at, parameter) in self.parameters.iter().enumerate() {
                if at != moved && parameter.ty == Type::Real && !held.contains(&at) {
                    let definition = parameter.definition;
                    rates[at] = along(&mut self.graph, definition, &self.symbols, &rates);
                }
            }
            if rates == before {
                break;
            }
        }
        rates
    }

    /// The same model with the derivatives of its unknowns by the directions as further unknowns, and the derivatives of its
    /// equations as further equations: those of the first direction behind all that is there, then those of the next.
    ///
    /// Inputs whose signals move with a parameter become unknowns first. What ends a run and what
    /// is only shown is left out. `Err` names an input whose second derivative stands in an equation.
    pub fn varied(&self, variation: &Variation) -> Result<Self, String> {
        let moving = self.moving_inputs(variation);
        let mut model = self.with_inputs_as_unknowns(&moving)?;
        model.assertions.clear();
        model.views.clear();
        (model.stop_when, model.energy) = (None, None);
        let (n, m) = (model.unknowns.len(), model.equations.len());
        let n_initial = model.initial_equations.len();
        for &direction in &variation.directions {
            let first = model.unknowns.len();
            let mut rates = model.rates_of_parameters(direction, &variation.held);
            for &led in &variation.led {
                rates[led] = Some(model.add_rate(led, direction));
            }
            for unknown in 0..n {
                let added = model.variation_of(unknown, direction, first, &rates);
                model.unknowns.push(added);
            }
            for at in 0..m {
                let equation = model.equations[at].clone();
                let added = model.varied_equation(&equation, first, &rates);
                model.equations.push(added);
            }
            for at in 0..n_initial {
                let equation = model.initial_equations[at].clone();
                let added = model.varied_equation(&equation, first, &rates);
                model.initial_equations.push(added);
            }
        }
        Ok(model)
    }

    /// A further parameter that is the rate of another one, zero for now.
    fn add_rate(&mut self, parameter: usize, direction: MovedBy) -> ExprId {
        let of = self.parameters[parameter].clone();
        let name = format!("d({})/d({})", of.name, self.direction_name(direction));
        let definition = self.graph.constant(0.0);
        self.parameters.push(Parameter {
            name,
            value: 0.0,
            definition,
            min: None,
            max: None,
            ..of
        });
        let id = Symbol::Parameter(self.parameters.len() - 1);
        let id = self.symbols.id(id);
        self.graph.symbol(id)
    }

    /// Inputs whose signals move with a direction.
    fn moving_inputs(&self, variation: &Variation) -> Vec<usize> {
        if self.inputs.is_empty() {
            return Vec::new();
        }
        let mut scratch = self.clone();
        let directions = variation.directions.iter();
        let rates: Vec<Rates> = directions
            .map(|&direction| scratch.rates_of_parameters(direction, &variation.held))
            .collect();
        let mut moves = vec![false; self.inputs.len()];
        let mut walker = Walker::new();
        // An input may be defined by another one.
        for _ in 0..self.inputs.len() {
            let before = moves.clone();
            for (at, input) in self.inputs.iter().enumerate() {
                let Some(signal) = input.definition.filter(|_| !variation.driven.contains(&at))
                else {
                    continue;
                };
                let held = walker.symbols(&self.graph, &[signal]);
                moves[at] |= held.into_iter().any(|id| match self.symbols.get(id) {
                    Symbol::Parameter(p) => rates.iter().any(|rates| rates[p].is_some()),
                    Symbol::Input { input, .. } => before[input],
                    _ => false,
                });
            }
            if moves == before {
                break;
            }
        }
        (0..moves.len()).filter(|&at| moves[at]).collect()
    }

    /// The derivative of an unknown as an unknown.
    fn variation_of(
        &mut self,
        unknown: usize,
        direction: MovedBy,
        first: usize,
        rates: &[Option<ExprId>],
    ) -> Unknown {
        let of = self.unknowns[unknown].clone();
        let name = format!("d({})/d({})", of.name, self.direction_name(direction));
        let graph = &mut self.graph;
        let own = direction == MovedBy::Start(unknown);
        let start = of.start.map(|start| {
            let slope = along(graph, start, &self.symbols, rates);
            slope.unwrap_or_else(|| graph.constant(if own { 1.0 } else { 0.0 }))
        });
        let start = start.or_else(|| own.then(|| graph.constant(1.0)));
        let declared = Declared {
            name: name.clone(),
            dims: Vec::new(),
            kind: DeclaredKind::Unknown,
            first: first + unknown,
            comment: String::new(),
            unit: String::new(),
            is_output: false,
            is_output_of_component: false,
            is_input_of_component: false,
            ..self.declarations[of.declaration].clone()
        };
        self.declarations.push(declared);
        Unknown {
            name,
            start,
            nominal: None,
            min: None,
            max: None,
            declaration: self.declarations.len() - 1,
            velocity_of: of.velocity_of.map(|of| first + of),
            ..of
        }
    }

    /// The derivative of an equation: 0 = F_x s + F_p.
    fn varied_equation(
        &mut self,
        equation: &Equation,
        first: usize,
        rates: &[Option<ExprId>],
    ) -> Equation {
        let symbols = &mut self.symbols;
        let slope = |graph: &mut Graph, expr: ExprId| {
            graph.derivatives_along(&[expr], |graph, id| match symbols.get(id) {
                Symbol::Parameter(at) => rates[at],
                Symbol::Unknown { unknown, order } => {
                    let unknown = first + unknown;
                    let id = symbols.id(Symbol::Unknown { unknown, order });
                    Some(graph.symbol(id))
                }
                Symbol::Time | Symbol::Input { .. } => None,
            })[0]
        };
        let residual = { slope }(&mut self.graph, equation.residual);
        let origin = match equation.origin {
            Origin::Velocity { of } => Origin::Velocity { of: first + of },
            Origin::EulerLagrange { coordinate } => Origin::EulerLagrange {
                coordinate: first + coordinate,
            },
            ref other => other.clone(),
        };
        Equation {
            left: residual,
            right: self.graph.constant(0.0),
            residual,
            origin,
            ..equation.clone()
        }
    }
}
