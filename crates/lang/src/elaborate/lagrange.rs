//! `lagrange(T, V, q, c, z, F)`: the Euler-Lagrange equations by symbolic differentiation.
//!
//! With L = T - V - z'c the equations are d/dt(dL/dq') - dL/dq = F and c = 0
//! (`docs/theory/lagrange.md`, equations 1 and 2).

use super::equation::Section;
use super::value::{Value, describe_dims};
use super::{Checked, Elaborator, Reported};
use crate::ast::AstId;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Origin, Symbol, Type};
use crate::source::Span;
use daelight_expr::{ExprId, SymbolId};

const ARGUMENTS: [&str; 6] = ["T", "V", "q", "c", "z", "F"];

impl<'a> Elaborator<'a> {
    pub(super) fn lagrange(
        &mut self,
        name_span: Span,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<()> {
        self.require_arity("lagrange", 3, 6, positional.len() + named.len(), span)?;
        let mut arguments: [Option<AstId>; 6] = [None; 6];
        for (slot, &argument) in arguments.iter_mut().zip(positional) {
            *slot = Some(argument);
        }
        for (name, at, argument) in named {
            match ARGUMENTS.iter().position(|known| known == name) {
                Some(position) => arguments[position] = Some(*argument),
                None => {
                    return Err(self.error(
                        Diagnostic::error(
                            Code::LagrangeArgument,
                            *at,
                            format!("`lagrange` has no argument `{name}`"),
                        )
                        .label("named here")
                        .help("its arguments are T, V, q, c, z, F"),
                    ));
                }
            }
        }
        let [
            Some(kinetic),
            Some(potential),
            Some(coordinates),
            constraints,
            multipliers,
            forces,
        ] = arguments
        else {
            return Err(self.error(
                Diagnostic::error(
                    Code::LagrangeArgument,
                    name_span,
                    "`lagrange` needs T, V and q",
                )
                .label("one of them is missing")
                .help("write lagrange(T, V, q);"),
            ));
        };
        let q = self.coordinates(coordinates)?;
        let positions: Vec<SymbolId> = q.iter().map(|&(_, id)| id).collect();
        let t = self.energy(kinetic)?;
        let v = self.energy(potential)?;
        let (c, z) = self.constraints(constraints, multipliers, span)?;
        let f = self.forces(forces, &positions, span)?;

        let mut lagrangian = self.graph.sub(t, v);
        for (&constraint, &multiplier) in c.iter().zip(&z) {
            let term = self.graph.mul(multiplier, constraint);
            lagrangian = self.graph.sub(lagrangian, term);
        }
        let lagrangian = self.resolve_bindings(&[lagrangian], span)?[0];
        self.warn_foreign(lagrangian, &q, &z, span);
        self.euler_lagrange(lagrangian, &q, &f, span);
        for (position, &constraint) in c.iter().enumerate() {
            let zero = self.graph.constant(0.0);
            let origin = Origin::Constraint {
                position: position + 1,
            };
            let instance = self.instance(None);
            self.push_equation(Section::Equation, constraint, zero, span, origin, instance);
        }
        Ok(())
    }

    /// d/dt(dL/dq') - dL/dq = F for every coordinate.
    fn euler_lagrange(
        &mut self,
        lagrangian: ExprId,
        q: &[(usize, SymbolId)],
        forces: &[ExprId],
        span: Span,
    ) {
        let mut wanted: Vec<SymbolId> = q
            .iter()
            .map(|&(unknown, _)| self.symbols.id(Symbol::Unknown { unknown, order: 1 }))
            .collect();
        wanted.extend(q.iter().map(|&(_, id)| id));
        let gradient = self.graph.gradient(lagrangian, &wanted);
        let (momenta, slopes) = gradient.split_at(q.len());
        let symbols = &mut self.symbols;
        let rates = self
            .graph
            .derivatives_along(momenta, |graph, id| symbols.rate(graph, id));
        let sides: Vec<ExprId> = rates
            .iter()
            .zip(slopes)
            .map(|(&rate, &slope)| self.graph.sub(rate, slope))
            .collect();
        let sides = self.graph.tidy(&sides);
        for (k, &(coordinate, _)) in q.iter().enumerate() {
            let left = sides[k];
            let origin = Origin::EulerLagrange { coordinate };
            let instance = self.instance(None);
            self.push_equation(Section::Equation, left, forces[k], span, origin, instance);
        }
    }

    /// The unknowns that serve as coordinates.
    fn coordinates(&mut self, argument: AstId) -> Checked<Vec<(usize, SymbolId)>> {
        let span = self.ast.span(argument);
        let value = self.eval(argument)?;
        let mut coordinates: Vec<(usize, SymbolId)> = Vec::new();
        for &element in value.elements() {
            let symbol = self
                .graph
                .as_symbol(element)
                .map(|id| (id, self.symbols.get(id)));
            let Some((id, Symbol::Unknown { unknown, order: 0 })) = symbol else {
                return Err(self.error(
                    Diagnostic::error(
                        Code::LagrangeArgument,
                        span,
                        "a coordinate must be a variable of the model",
                    )
                    .label("the third argument of lagrange")
                    .help("list the coordinates, for example {x, theta}"),
                ));
            };
            if coordinates.iter().any(|&(earlier, _)| earlier == unknown) {
                let name = self.unknowns[unknown].name.clone();
                return Err(self.error(
                    Diagnostic::error(
                        Code::LagrangeArgument,
                        span,
                        format!("`{name}` is listed twice as a coordinate"),
                    )
                    .label("the third argument of lagrange")
                    .help("list each coordinate once"),
                ));
            }
            if self.bindings.contains_key(&unknown) {
                let name = self.unknowns[unknown].name.clone();
                return Err(self.error(
                    Diagnostic::error(
                        Code::LagrangeArgument,
                        span,
                        format!("coordinate `{name}` has a binding"),
                    )
                    .label("it cannot move freely")
                    .help("remove the binding, or do not list it as a coordinate"),
                ));
            }
            coordinates.push((unknown, id));
        }
        if coordinates.is_empty() {
            return Err(self.error(
                Diagnostic::error(Code::LagrangeArgument, span, "there are no coordinates")
                    .label("the third argument of lagrange")
                    .help("list the coordinates, for example {x, theta}"),
            ));
        }
        Ok(coordinates)
    }

    fn energy(&mut self, argument: AstId) -> Checked<ExprId> {
        let span = self.ast.span(argument);
        let value = self.eval(argument)?;
        self.require_type(&value, Type::Real, span)?;
        self.scalar(&value, span)
    }

    fn constraints(
        &mut self,
        constraints: Option<AstId>,
        multipliers: Option<AstId>,
        span: Span,
    ) -> Checked<(Vec<ExprId>, Vec<ExprId>)> {
        let c = self.list(constraints)?;
        let z = self.list(multipliers)?;
        if c.len() != z.len() {
            return Err(self.error(
                Diagnostic::error(
                    Code::LagrangeArgument,
                    span,
                    format!(
                        "{} and {}",
                        count(c.len(), "constraint"),
                        count(z.len(), "multiplier")
                    ),
                )
                .label("each constraint has one multiplier")
                .help("give as many multipliers (fifth argument) as constraints (fourth)"),
            ));
        }
        for &multiplier in &z {
            let is_unknown = self
                .graph
                .as_symbol(multiplier)
                .is_some_and(|id| matches!(self.symbols.get(id), Symbol::Unknown { order: 0, .. }));
            if !is_unknown {
                let at = multipliers.map_or(span, |id| self.ast.span(id));
                return Err(self.error(
                    Diagnostic::error(
                        Code::LagrangeArgument,
                        at,
                        "a multiplier must be a variable of the model",
                    )
                    .label("the fifth argument of lagrange")
                    .help("declare it, for example `Real z;`"),
                ));
            }
        }
        Ok((c, z))
    }

    /// Elements of a scalar or vector argument; none when it is left out.
    fn list(&mut self, argument: Option<AstId>) -> Checked<Vec<ExprId>> {
        let Some(argument) = argument else {
            return Ok(Vec::new());
        };
        let span = self.ast.span(argument);
        let value = self.eval(argument)?;
        self.require_type(&value, Type::Real, span)?;
        if value.dims().len() > 1 {
            return Err(self.no_vector(&value, span));
        }
        Ok(value.elements().to_vec())
    }

    fn no_vector(&mut self, value: &Value, span: Span) -> Reported {
        let found = describe_dims(value.dims());
        self.error(
            Diagnostic::error(
                Code::LagrangeArgument,
                span,
                format!("expected a vector, found {found}"),
            )
            .label(found)
            .help("give a vector, for example {a, b}"),
        )
    }

    fn forces(
        &mut self,
        argument: Option<AstId>,
        positions: &[SymbolId],
        span: Span,
    ) -> Checked<Vec<ExprId>> {
        if argument.is_none() {
            let zero = self.graph.constant(0.0);
            return Ok(vec![zero; positions.len()]);
        }
        let outer = self.coordinates.replace(positions.to_vec());
        let forces = self.list(argument);
        self.coordinates = outer;
        let forces = forces?;
        if forces.len() != positions.len() {
            let at = argument.map_or(span, |id| self.ast.span(id));
            return Err(self.error(
                Diagnostic::error(
                    Code::LagrangeArgument,
                    at,
                    format!(
                        "{} for {}",
                        count(forces.len(), "force"),
                        count(positions.len(), "coordinate")
                    ),
                )
                .label("the sixth argument of lagrange")
                .help("give one generalised force per coordinate; 0 where there is none"),
            ));
        }
        Ok(forces)
    }

    /// Puts the bindings of declared variables (and their derivatives) in their place.
    ///
    /// Energies written through declared variables depend on the coordinates through them; without
    /// this the derivatives by the coordinates would be wrong.
    pub(super) fn resolve_bindings(
        &mut self,
        roots: &[ExprId],
        span: Span,
    ) -> Checked<Vec<ExprId>> {
        let mut roots = roots.to_vec();
        // Each round replaces one layer; a longer chain than there are bindings is a circle.
        for _ in 0..=self.bindings.len() {
            let used: Vec<(SymbolId, usize, u32)> = self
                .walker
                .symbols(&self.graph, &roots)
                .into_iter()
                .filter_map(|id| match self.symbols.get(id) {
                    Symbol::Unknown { unknown, order } if self.bindings.contains_key(&unknown) => {
                        Some((id, unknown, order))
                    }
                    _ => None,
                })
                .collect();
            if used.is_empty() {
                return Ok(roots);
            }
            self.step(used.len() as u64, span)?;
            let mut replacement = std::collections::HashMap::new();
            for (id, unknown, order) in used {
                let mut expr = self.bindings[&unknown];
                for _ in 0..order {
                    expr = self.time_derivative(expr);
                }
                replacement.insert(id, expr);
            }
            roots = self
                .graph
                .substitute(&roots, |_, id| replacement.get(&id).copied());
        }
        Err(self.error(
            Diagnostic::error(
                Code::LagrangeArgument,
                span,
                "the energies use variables that are defined by each other",
            )
            .label("in this lagrange")
            .help("write the energies in the coordinates"),
        ))
    }

    /// Other unknowns in the energies are legal (prescribed motion) but often a mistake.
    fn warn_foreign(
        &mut self,
        lagrangian: ExprId,
        q: &[(usize, SymbolId)],
        multipliers: &[ExprId],
        span: Span,
    ) {
        let mut foreign: Vec<usize> = Vec::new();
        for id in self.walker.symbols(&self.graph, &[lagrangian]) {
            if let Symbol::Unknown { unknown, .. } = self.symbols.get(id) {
                let is_multiplier = multipliers
                    .iter()
                    .any(|&z| self.graph.as_symbol(z) == Some(id));
                if !is_multiplier
                    && !q.iter().any(|&(coordinate, _)| coordinate == unknown)
                    && !foreign.contains(&unknown)
                {
                    foreign.push(unknown);
                }
            }
        }
        for unknown in foreign {
            let name = self.unknowns[unknown].name.clone();
            self.error(
                Diagnostic::warning(
                    Code::ForeignVariable,
                    span,
                    format!("the energies depend on `{name}`, which is not a coordinate"),
                )
                .label(format!("`{name}` is taken as a given function of time"))
                .help(format!(
                    "list `{name}` as a coordinate, or define it by a binding `Real {name} = …`"
                )),
            );
        }
    }
}

fn count(number: usize, word: &str) -> String {
    match number {
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    }
}
