//! `lagrange(T, V, q, c, z, F, velocity)`: the Euler-Lagrange equations by symbolic differentiation.
//!
//! With L = T - V - z'c the equations are d/dt(dL/dq') - dL/dq = F and c = 0
//! (`docs/theory/lagrange.md`, equations 1 and 2); constraints on velocities add forces (4).

use super::equation::Section;
use super::value::{Value, describe_dims};
use super::{Checked, Elaborator, Reported};
use crate::ast::AstId;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Origin, Symbol, Type};
use crate::source::Span;
use daelight_expr::{ExprId, FastMap, SymbolId};

const ARGUMENTS: [&str; 7] = ["T", "V", "q", "c", "z", "F", "velocity"];

/// What bounds the motion: constraints of positions, then of velocities, with their multipliers in this order.
struct Bounds {
    positions: Vec<ExprId>,
    velocities: Vec<ExprId>,
    multipliers: Vec<ExprId>,
}

impl<'a> Elaborator<'a> {
    pub(super) fn lagrange(
        &mut self,
        name_span: Span,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<()> {
        let arguments = self.lagrange_arguments(positional, named, span)?;
        let [Some(kinetic), Some(potential), Some(coordinates), ..] = arguments else {
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
        let [_, _, _, constraints, multipliers, forces, velocities] = arguments;
        let q = self.coordinates(coordinates)?;
        let positions: Vec<SymbolId> = q.iter().map(|&(_, id)| id).collect();
        let t = self.energy(kinetic)?;
        let v = self.energy(potential)?;
        self.warn_of_exchanged(t, v, &q, self.ast.span(kinetic), span)?;
        let mut energy = self.graph.add(t, v);
        if let Some(others) = self.energy {
            energy = self.graph.add(others, energy);
        }
        self.energy = Some(energy);
        let bounds = self.bounds([constraints, velocities, multipliers], &q, span)?;
        let mut f = self.forces(forces, &positions, span)?;
        let at = velocities.map_or(span, |id| self.ast.span(id));
        self.add_rolling_forces(&bounds, &q, &mut f, at)?;

        let z = &bounds.multipliers;
        let mut lagrangian = self.graph.sub(t, v);
        for (&constraint, &multiplier) in bounds.positions.iter().zip(z) {
            let term = self.graph.mul(multiplier, constraint);
            lagrangian = self.graph.sub(lagrangian, term);
        }
        let lagrangian = self.resolve_bindings(&[lagrangian], span)?[0];
        self.limit_orders(&[lagrangian], &q, 1, "an energy", span)?;
        self.note_foreign(&[lagrangian], &q, z, span);
        self.euler_lagrange(lagrangian, &q, &f, span);
        let all = bounds.positions.iter().chain(&bounds.velocities);
        for (position, &constraint) in all.enumerate() {
            let zero = self.graph.constant(0.0);
            let origin = Origin::Constraint {
                position: position + 1,
            };
            let instance = self.instance_of(None);
            self.push_equation(Section::Equation, constraint, zero, span, origin, instance);
        }
        Ok(())
    }

    /// Warns where the first energy holds no velocity and the second one does.
    fn warn_of_exchanged(
        &mut self,
        t: ExprId,
        v: ExprId,
        q: &[(usize, SymbolId)],
        first: Span,
        span: Span,
    ) -> Checked<()> {
        let resolved = self.resolve_bindings(&[t, v], span)?;
        let mut has_velocity = |energy: ExprId| {
            let symbols = self.walker.symbols(&self.graph, &[energy]);
            symbols.into_iter().any(|id| match self.symbols.get(id) {
                Symbol::Unknown { unknown, order } => {
                    order > 0 && q.iter().any(|&(coordinate, _)| coordinate == unknown)
                }
                _ => false,
            })
        };
        if !has_velocity(resolved[0]) && has_velocity(resolved[1]) {
            self.diagnostics.push(
                Diagnostic::warning(
                    Code::LagrangeArgument,
                    first,
                    "the kinetic energy holds no velocity, and the potential one does",
                )
                .label("the kinetic energy comes first")
                .help("exchange the first two arguments: lagrange(T, V, q)"),
            );
        }
        Ok(())
    }

    /// The arguments by position, however they were given.
    fn lagrange_arguments(
        &mut self,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<[Option<AstId>; 7]> {
        self.require_arity("lagrange", 3, 7, positional.len() + named.len(), span)?;
        let mut arguments: [Option<AstId>; 7] = [None; 7];
        for (slot, &argument) in arguments.iter_mut().zip(positional) {
            *slot = Some(argument);
        }
        for (name, at, argument) in named {
            match ARGUMENTS.iter().position(|known| known == name) {
                Some(position) if arguments[position].is_some() => {
                    return Err(self.error(
                        Diagnostic::error(
                            Code::LagrangeArgument,
                            *at,
                            format!("`lagrange` is given `{name}` twice"),
                        )
                        .label("the second time")
                        .help(format!("give `{name}` once")),
                    ));
                }
                Some(position) => arguments[position] = Some(*argument),
                None => {
                    return Err(self.error(
                        Diagnostic::error(
                            Code::LagrangeArgument,
                            *at,
                            format!("`lagrange` has no argument `{name}`"),
                        )
                        .label("named here")
                        .help("its arguments are T, V, q, c, z, F, velocity"),
                    ));
                }
            }
        }
        Ok(arguments)
    }

    /// The forces of constraints on velocities: by d'Alembert's principle they do no work on displacements that the
    /// constraints allow, which is (4) of `docs/theory/lagrange.md`.
    fn add_rolling_forces(
        &mut self,
        bounds: &Bounds,
        q: &[(usize, SymbolId)],
        forces: &mut [ExprId],
        span: Span,
    ) -> Checked<()> {
        let rates: Vec<SymbolId> = q
            .iter()
            .map(|&(unknown, _)| self.symbols.id(Symbol::Unknown { unknown, order: 1 }))
            .collect();
        let resolved = self.resolve_bindings(&bounds.velocities, span)?;
        self.limit_orders(&resolved, q, 1, "a constraint on velocities", span)?;
        let multipliers = &bounds.multipliers[bounds.positions.len()..];
        for (&constraint, &multiplier) in resolved.iter().zip(multipliers) {
            let gradient = self.graph.gradient(constraint, &rates);
            let wrong = if !self.depends_on(&[constraint], &rates) {
                Some((
                    "depends on no velocity",
                    "give it as a constraint c of positions",
                ))
            } else if self.depends_on(&gradient, &rates) {
                Some((
                    "is not linear in the velocities",
                    "write it as a sum of velocities with factors of positions and time",
                ))
            } else {
                None
            };
            if let Some((what, help)) = wrong {
                return Err(self.error(
                    Diagnostic::error(
                        Code::LagrangeArgument,
                        span,
                        format!("a constraint on velocities {what}"),
                    )
                    .label("in the argument `velocity` of lagrange")
                    .help(help),
                ));
            }
            for (force, &slope) in forces.iter_mut().zip(&gradient) {
                let term = self.graph.mul(multiplier, slope);
                *force = self.graph.sub(*force, term);
            }
        }
        Ok(())
    }

    fn depends_on(&mut self, roots: &[ExprId], symbols: &[SymbolId]) -> bool {
        let found = self.walker.symbols(&self.graph, roots);
        found.iter().any(|id| symbols.contains(id))
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
            let instance = self.instance_of(None);
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

    pub(super) fn energy(&mut self, argument: AstId) -> Checked<ExprId> {
        let span = self.ast.span(argument);
        let value = self.eval(argument)?;
        self.require_type(&value, Type::Real, span)?;
        self.scalar(&value, span)
    }

    /// Reads constraints of positions and of velocities, and their multipliers.
    fn bounds(
        &mut self,
        [constraints, velocities, multipliers]: [Option<AstId>; 3],
        q: &[(usize, SymbolId)],
        span: Span,
    ) -> Checked<Bounds> {
        let c = self.list(constraints)?;
        let rolling = self.list(velocities)?;
        let z = self.list(multipliers)?;
        if c.len() + rolling.len() != z.len() {
            let help = match velocities {
                None => "give as many multipliers (fifth argument) as constraints (fourth)",
                Some(_) => "give a multiplier `z` for each constraint, those of `velocity` last",
            };
            return Err(self.error(
                Diagnostic::error(
                    Code::LagrangeArgument,
                    span,
                    format!(
                        "{} and {}",
                        count(c.len() + rolling.len(), "constraint"),
                        count(z.len(), "multiplier")
                    ),
                )
                .label("each constraint has one multiplier")
                .help(help),
            ));
        }
        self.check_multipliers(&z, multipliers, q, span)?;
        let at = constraints.map_or(span, |id| self.ast.span(id));
        let resolved = self.resolve_bindings(&c, at)?;
        self.limit_orders(&resolved, q, 0, "a constraint", at)?;
        Ok(Bounds {
            positions: c,
            velocities: rolling,
            multipliers: z,
        })
    }

    /// Each multiplier is a free variable of its own.
    fn check_multipliers(
        &mut self,
        z: &[ExprId],
        multipliers: Option<AstId>,
        q: &[(usize, SymbolId)],
        span: Span,
    ) -> Checked<()> {
        let at = multipliers.map_or(span, |id| self.ast.span(id));
        for (position, &multiplier) in z.iter().enumerate() {
            let unknown =
                self.graph
                    .as_symbol(multiplier)
                    .and_then(|id| match self.symbols.get(id) {
                        Symbol::Unknown { unknown, order: 0 } => Some(unknown),
                        _ => None,
                    });
            let Some(unknown) = unknown else {
                return Err(self.error(
                    Diagnostic::error(
                        Code::LagrangeArgument,
                        at,
                        "a multiplier must be a variable of the model",
                    )
                    .label("the fifth argument of lagrange")
                    .help("declare it, for example `Real z;`"),
                ));
            };
            let wrong = if self.bindings.contains_key(&unknown) {
                "has a binding"
            } else if z[..position].contains(&multiplier) {
                "is listed twice"
            } else if q.iter().any(|&(coordinate, _)| coordinate == unknown) {
                "is a coordinate too"
            } else {
                continue;
            };
            let name = self.unknowns[unknown].name.clone();
            return Err(self.error(
                Diagnostic::error(
                    Code::LagrangeArgument,
                    at,
                    format!("multiplier `{name}` {wrong}"),
                )
                .label("the fifth argument of lagrange")
                .help("give each constraint a free variable of its own"),
            ));
        }
        Ok(())
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

    /// Energies depend on positions and velocities, holonomic constraints on positions.
    fn limit_orders(
        &mut self,
        roots: &[ExprId],
        q: &[(usize, SymbolId)],
        most: u32,
        what: &str,
        span: Span,
    ) -> Checked<()> {
        for id in self.walker.symbols(&self.graph, roots) {
            if let Symbol::Unknown { unknown, order } = self.symbols.get(id)
                && order > most
                && q.iter().any(|&(coordinate, _)| coordinate == unknown)
            {
                let name = &self.unknowns[unknown].name;
                let (shown, help) = match order {
                    1 => (
                        format!("der({name})"),
                        "write constraints of positions; those of velocities are given as `velocity = {…}`"
                            .to_string(),
                    ),
                    _ => (
                        format!("der(der({name}))"),
                        "write energies of positions and velocities".to_string(),
                    ),
                };
                return Err(self.error(
                    Diagnostic::error(
                        Code::LagrangeArgument,
                        span,
                        format!("{what} depends on `{shown}`"),
                    )
                    .label("in this argument of lagrange")
                    .help(help),
                ));
            }
        }
        Ok(())
    }

    /// Puts the bindings of declared variables (and their derivatives) in their place.
    ///
    /// Energies written through declared variables depend on the coordinates through them; without
    /// this the derivatives by the coordinates would be wrong. Each binding is resolved once, after
    /// those it uses.
    pub(super) fn resolve_bindings(
        &mut self,
        roots: &[ExprId],
        span: Span,
    ) -> Checked<Vec<ExprId>> {
        let mut resolved: FastMap<SymbolId, ExprId> = FastMap::default();
        let mut open: FastMap<SymbolId, ()> = FastMap::default();
        let mut path: Vec<(SymbolId, ExprId)> = Vec::new();
        let mut pending: Vec<SymbolId> = self.bound_symbols(roots);
        // A symbol is pushed again below the ones it needs and finished when it comes back.
        while let Some(id) = pending.pop() {
            if resolved.contains_key(&id) {
                continue;
            }
            self.step(1, span)?;
            if path.last().is_some_and(|&(top, _)| top == id) {
                path.pop();
                open.remove(&id);
                let expr = self.binding_of(id);
                let image = self
                    .graph
                    .substitute(&[expr], |_, id| resolved.get(&id).copied());
                resolved.insert(id, image[0]);
                continue;
            }
            if open.insert(id, ()).is_some() {
                return Err(self.error(
                    Diagnostic::error(
                        Code::LagrangeArgument,
                        span,
                        "the energies use variables that are defined by each other",
                    )
                    .label("in this lagrange")
                    .help("write the energies in the coordinates"),
                ));
            }
            let expr = self.binding_of(id);
            path.push((id, expr));
            pending.push(id);
            let needed = self.bound_symbols(&[expr]);
            pending.extend(
                needed
                    .into_iter()
                    .filter(|needed| !resolved.contains_key(needed)),
            );
        }
        Ok(self
            .graph
            .substitute(roots, |_, id| resolved.get(&id).copied()))
    }

    /// The symbols below the roots that stand for variables with a binding.
    fn bound_symbols(&mut self, roots: &[ExprId]) -> Vec<SymbolId> {
        let mut symbols = self.walker.symbols(&self.graph, roots);
        symbols.retain(|&id| match self.symbols.get(id) {
            Symbol::Unknown { unknown, .. } => self.bindings.contains_key(&unknown),
            _ => false,
        });
        symbols
    }

    /// The binding of a variable, differentiated as often as the symbol is.
    fn binding_of(&mut self, id: SymbolId) -> ExprId {
        let Symbol::Unknown { unknown, order } = self.symbols.get(id) else {
            return self.graph.symbol(id);
        };
        let mut expr = self.bindings[&unknown];
        for _ in 0..order {
            expr = self.time_derivative(expr);
        }
        expr
    }

    /// Remembers other unknowns in the energies, to be judged when all equations are known.
    pub(super) fn note_foreign(
        &mut self,
        roots: &[ExprId],
        q: &[(usize, SymbolId)],
        multipliers: &[ExprId],
        span: Span,
    ) {
        let mut foreign: Vec<usize> = Vec::new();
        for id in self.walker.symbols(&self.graph, roots) {
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
        let coordinates: Vec<usize> = q.iter().map(|&(coordinate, _)| coordinate).collect();
        for unknown in foreign {
            self.foreign.push((unknown, coordinates.clone(), span));
        }
    }

    /// Other unknowns in the energies are legal (prescribed motion) but often a mistake. Where an
    /// equation makes them depend on the coordinates, their part of the derivatives is missing and the
    /// equations of motion would be wrong.
    pub(super) fn check_foreign(&mut self) {
        for (unknown, coordinates, span) in std::mem::take(&mut self.foreign) {
            let id = self.symbols.id(Symbol::Unknown { unknown, order: 0 });
            let variable = self.graph.symbol(id);
            let mut culprit = None;
            for equation in &self.equations {
                let other = match (equation.left == variable, equation.right == variable) {
                    (true, false) => equation.right,
                    (false, true) => equation.left,
                    _ => continue,
                };
                let depends = self
                    .walker
                    .symbols(&self.graph, &[other])
                    .into_iter()
                    .any(|id| {
                        matches!(self.symbols.get(id), Symbol::Unknown { unknown, .. }
                        if coordinates.contains(&unknown))
                    });
                if depends {
                    culprit = Some(equation.span);
                    break;
                }
            }
            let name = self.unknowns[unknown].name.clone();
            if let Some(equation) = culprit {
                self.error(
                    Diagnostic::error(
                        Code::ForeignVariable,
                        span,
                        format!("`{name}` depends on the coordinates by an equation that lagrange does not see"),
                    )
                    .label("its derivatives would be missing here")
                    .related(equation, "this equation")
                    .help("move the equation into the declaration, as a binding"),
                );
                continue;
            }
            self.error(
                Diagnostic::warning(
                    Code::ForeignVariable,
                    span,
                    format!("energies or points depend on `{name}`, which is not a coordinate"),
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
