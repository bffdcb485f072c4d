//! The drawing of a mechanism: the polylines of a model's annotation at a state, flat on a plane.
//!
//! Points of three coordinates are seen along a fixed direction, so that two pictures of a model can be compared.

use crate::Solution;
use crate::hybrid::HybridSolution;
use daelight_analysis::System;
use daelight_expr::{ExprId, Node, Walker};
use daelight_lang::{Model, Symbol};
use daelight_show::scene::{Backdrop, Frame, Rectangle, Scene};

/// From where points of three coordinates are seen: turned about the vertical axis, and from above. Neither is a multiple of
/// 30 degrees, so that mechanisms of three equal arms do not hide one arm behind another.
const AZIMUTH: f64 = -52.0;
const ELEVATION: f64 = 22.0;

/// What a model's annotation asks to draw.
pub struct Drawing<'m> {
    model: &'m Model,
    /// The coordinates of all points, one after the other.
    coordinates: Vec<ExprId>,
    lines: Vec<Vec<Vertex>>,
    is_spatial: bool,
    needs_rates: bool,
}

/// A point of a polyline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Vertex {
    /// Its first coordinate in [`Drawing::coordinates`].
    first: usize,
    n_coordinates: usize,
    is_fixed: bool,
}

impl<'m> Drawing<'m> {
    /// The drawing of a model, if its annotation has one.
    pub fn of(model: &'m Model) -> Option<Self> {
        if model.drawing.iter().all(|line| line.is_empty()) {
            return None;
        }
        let mut walker = Walker::new();
        let mut coordinates = Vec::new();
        let mut lines = Vec::new();
        for polyline in &model.drawing {
            let mut line = Vec::new();
            for point in polyline {
                let symbols = walker.symbols(&model.graph, point);
                let mut symbols = symbols.into_iter().map(|id| model.symbols.get(id));
                line.push(Vertex {
                    first: coordinates.len(),
                    n_coordinates: point.len(),
                    is_fixed: symbols.all(|symbol| matches!(symbol, Symbol::Parameter(_))),
                });
                coordinates.extend(point);
            }
            lines.push(line);
        }
        let symbols = walker.symbols(&model.graph, &coordinates);
        let is_rate = |symbol| matches!(symbol, Symbol::Unknown { order, .. } if order > 0);
        Some(Self {
            model,
            is_spatial: lines.iter().flatten().any(|v: &Vertex| v.n_coordinates > 2),
            needs_rates: symbols.into_iter().any(|id| is_rate(model.symbols.get(id))),
            coordinates,
            lines,
        })
    }

    /// Whether each point of each polyline rests: it depends on parameters alone.
    pub fn fixed(&self) -> Vec<Vec<bool>> {
        let line = |line: &Vec<Vertex>| line.iter().map(|vertex| vertex.is_fixed).collect();
        self.lines.iter().map(line).collect()
    }

    /// The coordinates of a point of a polyline.
    pub(crate) fn point(&self, line: usize, point: usize) -> Option<&[ExprId]> {
        let vertex = self.lines.get(line)?.get(point)?;
        self.coordinates
            .get(vertex.first..vertex.first + vertex.n_coordinates)
    }

    /// The unit of lengths: the only one, apart from angles, of what the points depend on.
    pub fn unit(&self) -> Option<&'m str> {
        let model = self.model;
        let symbols = Walker::new().symbols(&model.graph, &self.coordinates);
        let declarations = symbols
            .into_iter()
            .filter_map(|id| match model.symbols.get(id) {
                Symbol::Parameter(index) => Some(model.parameters[index].declaration),
                Symbol::Unknown { unknown, order: 0 } => Some(model.unknowns[unknown].declaration),
                _ => None,
            });
        let mut units: Vec<&str> = declarations
            .map(|declaration| model.declarations[declaration].unit.as_str())
            .filter(|unit| !unit.is_empty() && *unit != "rad" && *unit != "s")
            .collect();
        units.sort_unstable();
        units.dedup();
        match units[..] {
            [unit] => Some(unit),
            _ => None,
        }
    }

    /// The polylines at a time, where `value` gives each unknown (order 0) and its derivatives.
    pub fn frame(&self, time: f64, mut value: impl FnMut(usize, u32) -> f64) -> Frame {
        let values = self.evaluate(&self.coordinates, time, &mut value);
        let vertex = |vertex: &Vertex| self.flat(&values[vertex.first..][..vertex.n_coordinates]);
        let line = |line: &Vec<Vertex>| line.iter().map(vertex).collect();
        self.lines.iter().map(line).collect()
    }

    /// The polylines with unknowns given by name. Others are taken from equations that give them directly, as
    /// `x = L*cos(q)`; points that need more cannot be drawn.
    pub fn frame_of_named(&self, time: f64, value: impl Fn(&str) -> Option<f64>) -> Frame {
        let unknowns = self.model.unknowns.iter();
        let mut known: Vec<f64> = unknowns
            .map(|unknown| value(&unknown.name).unwrap_or(f64::NAN))
            .collect();
        self.complete(&mut known);
        self.frame(time, |unknown, order| match order {
            0 => known[unknown],
            _ => f64::NAN,
        })
    }

    /// Adds the values that equations `x = …` without the time give from those that are known.
    fn complete(&self, known: &mut [f64]) {
        let model = self.model;
        let sides = (model.equations.iter()).flat_map(|e| [(e.left, e.right), (e.right, e.left)]);
        let direct = sides.filter_map(|(side, other)| match model.graph.node(side) {
            Node::Symbol(id) => match model.symbols.get(id) {
                Symbol::Unknown { unknown, order: 0 } => Some((unknown, other)),
                _ => None,
            },
            _ => None,
        });
        let mut direct: Vec<(usize, ExprId)> = direct.collect();
        // Each round uses what the one before has found.
        loop {
            direct.retain(|&(unknown, _)| known[unknown].is_nan());
            let mut found = Vec::new();
            for &(unknown, other) in &direct {
                let mut value = |unknown: usize, order: u32| match order {
                    0 => known[unknown],
                    _ => f64::NAN,
                };
                let value = self.evaluate(&[other], f64::NAN, &mut value)[0];
                if value.is_finite() {
                    found.push((unknown, value));
                }
            }
            if found.is_empty() {
                return;
            }
            for (unknown, value) in found {
                known[unknown] = value;
            }
        }
    }

    /// The polylines at times of a run; a time outside gives points that are not finite.
    pub fn frames(&self, system: &System, solution: &Solution, times: &[f64]) -> Vec<Frame> {
        let mut reader = solution.reader(system);
        let mut frames = Vec::with_capacity(times.len());
        for &time in times {
            let frame = if self.needs_rates {
                let jet = reader.jet(time);
                self.frame(time, |unknown, order| {
                    jet.as_ref()
                        .map_or(f64::NAN, |jet| jet.derivative(unknown, order as usize))
                })
            } else {
                let values = reader.values(time).ok().flatten().unwrap_or_default();
                self.frame(time, |unknown, _| {
                    values.get(unknown).copied().unwrap_or(f64::NAN)
                })
            };
            frames.push(frame);
        }
        frames
    }

    /// The same along a run with events, behind those that happen at a time.
    pub fn frames_with_events(&self, solution: &HybridSolution, times: &[f64]) -> Vec<Frame> {
        let instants = solution.instants(times);
        let values = solution.rows(self.model, &instants, false);
        let rates = match self.needs_rates {
            true => solution.rows(self.model, &instants, true),
            false => values.clone(),
        };
        let frames = instants.iter().zip(values.iter().zip(&rates));
        let frames = frames.map(|(&(_, time), (values, rates))| {
            self.frame(time, |unknown, order| match order {
                0 => values[unknown],
                1 => rates[unknown],
                _ => f64::NAN,
            })
        });
        frames.collect()
    }

    /// Frames at their times, seen as close as they and others allow; `None` where nothing can be drawn.
    pub fn scene(&self, times: Vec<f64>, frames: Vec<Frame>, others: &[Frame]) -> Option<Scene> {
        Some(Scene {
            stage: Backdrop {
                bounds: Rectangle::of(frames.iter().chain(others))?,
                fixed: self.fixed(),
                unit: self.unit().map(str::to_string),
                axes: self.axes(),
            },
            times,
            frames,
        })
    }

    /// The directions of the three axes on the plane, for a drawing in space.
    pub fn axes(&self) -> Option<[[f64; 2]; 3]> {
        let axis = |k: usize| {
            let mut unit = [0.0; 3];
            unit[k] = 1.0;
            self.flat(&unit)
        };
        self.is_spatial.then(|| [axis(0), axis(1), axis(2)])
    }

    fn evaluate(
        &self,
        roots: &[ExprId],
        time: f64,
        value: &mut dyn FnMut(usize, u32) -> f64,
    ) -> Vec<f64> {
        let model = self.model;
        model
            .graph
            .evaluate(roots, |id| match model.symbols.get(id) {
                Symbol::Parameter(index) => model.parameters[index].value,
                Symbol::Unknown { unknown, order } => value(unknown, order),
                Symbol::Input { input, order: 0 } if model.inputs[input].definition.is_some() => {
                    let definition = model.inputs[input].definition;
                    let roots: Vec<ExprId> = definition.into_iter().collect();
                    self.evaluate(&roots, time, value)[0]
                }
                known => model.symbols.value_at(known, time),
            })
    }

    /// A point as it is seen.
    fn flat(&self, point: &[f64]) -> [f64; 2] {
        let &[x, y, ref rest @ ..] = point else {
            return [f64::NAN; 2];
        };
        if !self.is_spatial {
            return [x, y];
        }
        let z = rest.first().copied().unwrap_or(0.0);
        let (sin_a, cos_a) = AZIMUTH.to_radians().sin_cos();
        let (sin_e, cos_e) = ELEVATION.to_radians().sin_cos();
        [
            -sin_a * x + cos_a * y,
            -sin_e * (cos_a * x + sin_a * y) + cos_e * z,
        ]
    }
}
