//! The equations as x' = f(t, x), for solvers that know ordinary differential equations only.
//!
//! Where the equations that have begun at a stage are fewer than its unknowns, these unknowns are states, all of them: a choice
//! among them would fail somewhere on most solutions, as that of a coordinate of a pendulum does at its turning points. Rates are those of
//! the point next to the states that satisfies all constraints, written and hidden; section 13 of `docs/theory/implicit.md`.

use crate::options::Tolerances;
use crate::outcome::Failure;
use crate::problem::Problem;
use crate::stages::Stages;
use crate::watch::sides::{Settled, Way, settle, undecided};
use daelight_analysis::tangent::Tangents;
use daelight_expr::Values;

/// Equations whose states others integrate.
#[derive(Clone)]
pub struct OrdinaryForm {
    problem: Problem,
    tolerances: Tolerances,
    states: Vec<(usize, usize)>,
    /// Coefficients `[order][unknown]` of the last point, from which the next one is searched.
    point: Vec<f64>,
    kept: Kept,
}

/// The stages of equations, made when they are first asked for. Nothing that decides a result is in them: copies make their own.
#[derive(Default)]
struct Kept(Option<Box<Stages<'static>>>);

impl Clone for Kept {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Kept {
    fn get(
        &mut self,
        problem: &Problem,
        tolerances: &Tolerances,
    ) -> Result<&mut Stages<'static>, Failure> {
        let stages = match self.0.take() {
            Some(stages) => stages,
            None => Box::new(Stages::owning(problem.clone(), 1, tolerances)?),
        };
        let stages = self.0.insert(stages);
        stages.forget_sizes();
        Ok(stages)
    }
}

/// Unknown and order of each state, by the structure alone.
pub fn states_of(problem: &Problem) -> Vec<(usize, usize)> {
    let structure = problem.structure();
    let offsets = structure.offsets();
    let mut states = Vec::new();
    for members in structure.blocks() {
        let orders = || {
            members
                .unknowns
                .iter()
                .map(|&unknown| offsets.variable[unknown])
        };
        for behind in 1..=orders().max().unwrap_or(0) {
            let begun = |&&equation: &&usize| offsets.equation[equation] >= behind;
            let n_rows = members.equations.iter().filter(begun).count();
            let columns = || {
                members
                    .unknowns
                    .iter()
                    .filter(|&&j| offsets.variable[j] >= behind)
            };
            if n_rows < columns().count() {
                states.extend(columns().map(|&j| (j, offsets.variable[j] - behind)));
            }
        }
    }
    states.sort_unstable_by_key(|&(unknown, order)| (order, unknown));
    states
}

fn factorial(order: usize) -> f64 {
    (1..=order).map(|k| k as f64).product()
}

impl OrdinaryForm {
    /// The equations near a point, given by coefficients x^(s)/s! by order and unknown.
    pub fn new(problem: Problem, tolerances: Tolerances, start: &[Vec<f64>]) -> Self {
        let n = problem.n();
        let mut point = vec![0.0; (problem.max_unknown_offset() + 1) * n];
        for (room, row) in point.chunks_exact_mut(n.max(1)).zip(start) {
            room.copy_from_slice(row);
        }
        Self {
            states: states_of(&problem),
            problem,
            tolerances,
            point,
            kept: Kept::default(),
        }
    }

    /// The equations.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Gives the parameters other values. Whether the equations have a solution with them shows when it is searched.
    pub fn set_parameters(&mut self, values: &[f64]) {
        if self.problem.parameters() != values {
            self.problem = self.problem.at_values(values);
            if let Some(stages) = &mut self.kept.0 {
                stages.set_parameters(values);
            }
        }
    }

    /// Unknown and order of each state.
    pub fn states(&self) -> &[(usize, usize)] {
        &self.states
    }

    /// The last point: coefficients `[order][unknown]` up to the greatest offset d.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// A derivative of an unknown at the last point.
    pub fn derivative(&self, unknown: usize, order: usize) -> f64 {
        let coefficient = self.point.get(order * self.problem.n() + unknown);
        factorial(order) * coefficient.copied().unwrap_or(f64::NAN)
    }

    /// Goes to the point next to values of the states that satisfies all constraints. Where there is none the last point stays.
    pub fn evaluate(&mut self, time: f64, values: &[f64]) -> Result<(), Failure> {
        let n = self.problem.n();
        let mut point = self.point.clone();
        for (&(unknown, order), value) in self.states.iter().zip(values) {
            point[order * n + unknown] = value / factorial(order);
        }
        let stages = self.kept.get(&self.problem, &self.tolerances)?;
        stages.set_point(time, &point);
        let near = stages.factor().and_then(|()| stages.project(true));
        if near.is_err() && !go_on_from_switch(stages, (time, &point)) {
            // The last point may be far from this one.
            stages.set_point(time, &point);
            stages.project_start(|order, unknown| self.states.contains(&(unknown, order)))?;
        }
        stages.point(&mut self.point);
        Ok(())
    }

    /// The equations at a point that was read before.
    pub fn at(problem: Problem, tolerances: Tolerances, point: &[f64]) -> Option<Self> {
        let form = Self::new(problem, tolerances, &[]);
        (form.point.len() == point.len()).then(|| Self {
            point: point.to_vec(),
            ..form
        })
    }
}

/// Solves a point that lies on a switching surface, as the time at which a motion ends, on the sides on which the solution goes on;
/// whether it lies on one and that went well.
fn go_on_from_switch(stages: &mut Stages<'_>, (time, point): (f64, &[f64])) -> bool {
    if stages.n_branches() == 0 {
        return false;
    }
    stages.set_point(time, point);
    stages.compare();
    let on_surface = undecided(stages);
    let way = Way {
        takes_first: true,
        ..Way::from_start(1.0)
    };
    let mut series = vec![0.0; stages.n_rows() * stages.problem().n()];
    let found = match on_surface.is_empty() {
        true => None,
        false => settle(stages, &on_surface, way, &mut series).ok(),
    };
    stages.hold(false);
    matches!(found, Some(Settled::One(_) | Settled::Several(_)))
}

/// What small changes of states and parameters do to everything else, at a point.
#[derive(Clone)]
pub struct DirectionalForm {
    problem: Problem,
    tolerances: Tolerances,
    /// The changes of the unknowns of the model, from a point and its change.
    slopes: Values,
    kept: Kept,
}

/// A change of a point.
pub struct PointChange {
    /// Coefficients `[order][unknown]` of the changes of the integrated unknowns.
    point: Vec<f64>,
    n: usize,
    /// The changes of the unknowns of the model.
    pub unknowns: Vec<f64>,
}

impl PointChange {
    /// The change of a derivative of an integrated unknown.
    pub fn derivative(&self, unknown: usize, order: usize) -> f64 {
        let coefficient = self.point.get(order * self.n + unknown);
        factorial(order) * coefficient.copied().unwrap_or(f64::NAN)
    }
}

impl DirectionalForm {
    /// That of a form; `None` where the equations beside their derivatives cannot be solved stage by stage.
    pub fn new(form: &OrdinaryForm, tangents: &Tangents) -> Option<Self> {
        let own = form.problem.parameters();
        let parameters = [own, &vec![0.0; own.len()]].concat();
        let Tangents {
            equations,
            structure,
            slopes,
        } = tangents;
        let tape = equations.compile(slopes);
        let problem = Problem::with_structure(equations.clone(), structure.clone(), &parameters);
        let mut tolerances = form.tolerances.clone();
        for row in &mut tolerances.atol {
            row.extend(row.clone());
        }
        Some(Self {
            problem: problem.ok()?,
            tolerances,
            slopes: Values::new(std::sync::Arc::new(tape)),
            kept: Kept::default(),
        })
    }

    /// The change of the last point of a form with changes of its states and rates of its parameters: the stages that led to the
    /// point, differentiated.
    pub fn evaluate(
        &mut self,
        form: &OrdinaryForm,
        time: f64,
        (states, parameters): (&[f64], &[f64]),
    ) -> Result<PointChange, Failure> {
        let n = form.problem.n();
        let n_orders = form.problem.max_unknown_offset() + 1;
        let values = [form.problem.parameters(), parameters].concat();
        let mut both = vec![0.0; n_orders * 2 * n];
        for (to, from) in
            (both.chunks_exact_mut((2 * n).max(1))).zip(form.point.chunks_exact(n.max(1)))
        {
            to[..n].copy_from_slice(from);
        }
        for (&(unknown, order), change) in form.states.iter().zip(states) {
            both[order * 2 * n + n + unknown] = change / factorial(order);
        }
        let stages = self.kept.get(&self.problem, &self.tolerances)?;
        stages.set_parameters(&values);
        stages.set_point(time, &both);
        stages.factor()?;
        stages.project(false)?;
        stages.point(&mut both);
        let inputs = self.slopes.inputs_mut();
        inputs.set_time(time);
        inputs.parameters_mut().copy_from_slice(&values);
        for (order, row) in both.chunks_exact((2 * n).max(1)).enumerate() {
            if order < inputs.n_orders() {
                inputs.row_mut(order).copy_from_slice(row);
            }
        }
        self.slopes.evaluate()?;
        let mut unknowns = vec![0.0; self.slopes.tape().n_roots()];
        self.slopes.roots(&mut unknowns);
        let changes = both.chunks_exact((2 * n).max(1));
        Ok(PointChange {
            point: changes.flat_map(|row| row[n..].to_vec()).collect(),
            n,
            unknowns,
        })
    }
}
