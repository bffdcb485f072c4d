//! A mechanism pulled by a point of its drawing: the position on the constraints that brings the point closest to where it is
//! wanted, `docs/theory/initial.md`, section 3.
//!
//! The constraints between positions, with the point's place as two further unknowns, are a system of their own. Its consistent
//! point is asked for that is closest to the place wanted and to where the mechanism was; the place has a small nominal size, so that
//! it weighs much more than all else.

use crate::drawing::Drawing;
use daelight_analysis::System;
use daelight_analysis::initial::{Request, consistent_point};
use daelight_expr::ExprId;
use daelight_lang::{Equation, Instance, Model, Origin, Symbol, Unknown};
use daelight_linalg::{Mat, Svd};
use daelight_show::scene::{Frame, Rectangle};
use daelight_singular::position_constraints;
use std::time::Duration;

/// Steps that a long pull is taken in, so that the mechanism stays on its branch; each is that part of the drawing.
const MOST_STEPS: usize = 24;

/// A mechanism that can be pulled by one of its points.
pub struct Pulled {
    model: Model,
    /// The constraints between positions, and the place of the point.
    system: System,
    n_unknowns: usize,
    n_constraints: usize,
    /// How large the drawing is.
    size: f64,
}

/// Where a mechanism was pulled to.
#[derive(Clone, Debug)]
pub struct PulledPosition {
    /// The values of all unknowns; those that no constraint between positions holds are as they were.
    pub values: Vec<f64>,
    /// The mechanism there.
    pub frame: Frame,
    /// The least singular value of the Jacobian of the constraints, each in its own size; `None` without constraints.
    pub margin: Option<f64>,
    /// Whether the constraints leave what moves the point any freedom; a motion that is prescribed has none.
    pub is_free: bool,
}

impl Pulled {
    /// A mechanism and a point of its drawing: the polyline, and the position in it. `None` where there is no such point, or it rests.
    pub fn new(model: &Model, line: usize, point: usize) -> Option<Self> {
        let drawing = Drawing::of(model)?;
        if *drawing.fixed().get(line)?.get(point)? {
            return None;
        }
        let mut positions = model.clone();
        let place = drawing.seen(&mut positions.graph, line, point)?;
        // A mechanism without loops has no constraint, and every point can go everywhere that its joints allow.
        let constraints = position_constraints(model).unwrap_or_default();
        positions.equations = (constraints.iter())
            .map(|&at| model.equations[at].clone())
            .collect();
        positions.initial_equations.clear();
        positions.assertions.clear();
        positions.views.clear();
        (positions.stop_when, positions.energy, positions.hybrid) = (None, None, None);
        let span = model.equations.first()?.span;
        let size = size(&drawing, model);
        // Angles are of size 1: a thousandth of the drawing counts as much.
        let nominal = positions.graph.constant(size / 1024.0);
        for expr in place {
            let unknown = positions.unknowns.len();
            let declaration = model.unknowns.first()?.declaration;
            let name = format!("place {unknown}");
            positions.unknowns.push(Unknown {
                nominal: Some(nominal),
                ..Unknown::plain(name, declaration)
            });
            let symbol = positions.symbols.id(Symbol::Unknown { unknown, order: 0 });
            let left = positions.graph.symbol(symbol);
            positions.equations.push(Equation {
                left,
                right: expr,
                residual: positions.graph.sub(left, expr),
                span,
                origin: Origin::Written,
                instance: Instance::default(),
            });
        }
        Some(Self {
            system: System::new(&positions).ok()?,
            n_unknowns: model.unknowns.len(),
            n_constraints: constraints.len(),
            size,
            model: model.clone(),
        })
    }

    /// Pulls the point towards a place, from values of all unknowns; `None` where the mechanism cannot follow.
    pub fn to(&self, time: f64, from: &[f64], target: [f64; 2]) -> Option<PulledPosition> {
        let mut values = from.to_vec();
        values.resize(self.n_unknowns, 0.0);
        let began = self.place(time, &values)?;
        let apart = (target[0] - began[0]).hypot(target[1] - began[1]);
        let parts = apart / self.size * MOST_STEPS as f64;
        let n = (parts.ceil() as usize).clamp(1, MOST_STEPS);
        let drawing = Drawing::of(&self.model)?;
        let mut frame = drawing.frame(time, |unknown, _| values[unknown]);
        for k in 1..=n {
            let share = k as f64 / n as f64;
            let wanted = [0, 1].map(|at| began[at] + share * (target[at] - began[at]));
            let next = self.step(time, &values, wanted)?;
            let moved = drawing.frame(time, |unknown, _| next[unknown]);
            // Another branch is no way that the mechanism could go.
            if farthest(&frame, &moved) > 0.5 * self.size {
                break;
            }
            (values, frame) = (next, moved);
        }
        let singular_values = self.singular_values(time, &values);
        Some(PulledPosition {
            frame,
            margin: singular_values.as_ref().and_then(|s| s.last().copied()),
            is_free: self.is_free(&singular_values.unwrap_or_default()),
            values,
        })
    }

    /// The closest position to a place that is near.
    fn step(&self, time: f64, from: &[f64], wanted: [f64; 2]) -> Option<Vec<f64>> {
        let n = self.n_unknowns;
        let mut guess = from.to_vec();
        guess.extend(wanted);
        let request = Request {
            time,
            guess,
            given: Vec::new(),
            conditions: Vec::new(),
            order: 0,
            budget: Duration::from_millis(200),
        };
        let found = consistent_point(&self.system, None, &request).ok()?;
        let values = &found.jet.values()[..n];
        values
            .iter()
            .all(|v| v.is_finite())
            .then(|| values.to_vec())
    }

    /// Where the point is at values of the unknowns.
    fn place(&self, time: f64, values: &[f64]) -> Option<[f64; 2]> {
        let mut all = values.to_vec();
        all.extend([0.0, 0.0]);
        let mut evaluator = self.system.evaluator();
        evaluator.set_time(time);
        evaluator.set(0, &all);
        let mut residuals = vec![0.0; self.system.equations().n_equations()];
        evaluator.residuals(&mut residuals).ok()?;
        let [x, y] = residuals[self.n_constraints..] else {
            return None;
        };
        (x.is_finite() && y.is_finite()).then_some([-x, -y])
    }

    /// Whether more unknowns move the point, by themselves or through constraints, than the constraints determine.
    fn is_free(&self, singular_values: &[f64]) -> bool {
        let pattern = self.system.equations().pattern(0);
        let rows = 0..self.n_constraints + 2;
        let columns = rows.flat_map(|row| &pattern.columns()[pattern.row(row)]);
        let mut columns: Vec<usize> = columns.map(|&column| column as usize).collect();
        columns.retain(|&column| column < self.n_unknowns);
        columns.sort_unstable();
        columns.dedup();
        let largest = singular_values.first().copied().unwrap_or(0.0);
        let rounding = f64::EPSILON * columns.len() as f64 * largest;
        columns.len() > singular_values.iter().filter(|s| **s > rounding).count()
    }

    /// The singular values of the Jacobian of the constraints, each row in its own size; `None` without constraints.
    fn singular_values(&self, time: f64, values: &[f64]) -> Option<Vec<f64>> {
        let mut all = values.to_vec();
        all.extend([0.0, 0.0]);
        let mut evaluator = self.system.evaluator();
        evaluator.set_time(time);
        evaluator.set(0, &all);
        evaluator.jacobians().ok()?;
        let pattern = self.system.equations().pattern(0);
        let mut entries = vec![0.0; pattern.columns().len()];
        evaluator.entries(0, &mut entries);
        let mut matrix = Mat::zeros(self.n_constraints, self.n_unknowns);
        for row in 0..self.n_constraints {
            let range = pattern.row(row);
            let largest = entries[range.clone()]
                .iter()
                .fold(0.0_f64, |m, x| m.max(x.abs()));
            for at in range {
                let column = pattern.columns()[at] as usize;
                matrix[(row, column)] = entries[at] / largest.max(f64::MIN_POSITIVE);
            }
        }
        let mut svd = Svd::new();
        svd.factor(matrix.view()).ok()?;
        let found = svd.singular_values();
        (!found.is_empty() && found.iter().all(|s| s.is_finite())).then(|| found.to_vec())
    }
}

/// How large a drawing is at the start values.
fn size(drawing: &Drawing<'_>, model: &Model) -> f64 {
    let start = |unknown: usize, _| {
        let known = |id| match model.symbols.get(id) {
            Symbol::Parameter(at) => model.parameters[at].value,
            _ => f64::NAN,
        };
        let start = model.unknowns[unknown].start;
        start.map_or(0.0, |start| model.graph.evaluate(&[start], known)[0])
    };
    let time = model.experiment.start_time.unwrap_or(0.0);
    let frame = drawing.frame(time, start);
    let bounds = Rectangle::of([&frame]);
    let size = bounds.map_or(0.0, |b| (b.max[0] - b.min[0]).hypot(b.max[1] - b.min[1]));
    if size > 0.0 { size } else { 1.0 }
}

/// How far the point is from where it was that moved farthest.
fn farthest(before: &Frame, after: &Frame) -> f64 {
    let pairs = before.iter().flatten().zip(after.iter().flatten());
    let apart = pairs.map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]));
    apart.filter(|x| x.is_finite()).fold(0.0, f64::max)
}

impl Drawing<'_> {
    /// The place of a point as it is seen, as expressions of a copy of the model's graph.
    fn seen(
        &self,
        graph: &mut daelight_expr::Graph,
        line: usize,
        point: usize,
    ) -> Option<[ExprId; 2]> {
        let coordinates = self.point(line, point)?;
        let axes = match self.axes() {
            Some(axes) => axes.to_vec(),
            None => vec![[1.0, 0.0], [0.0, 1.0]],
        };
        Some([0, 1].map(|at| {
            let mut sum = graph.constant(0.0);
            for (&coordinate, axis) in coordinates.iter().zip(&axes) {
                let factor = graph.constant(axis[at]);
                let term = graph.mul(factor, coordinate);
                sum = graph.add(sum, term);
            }
            sum
        }))
    }
}
