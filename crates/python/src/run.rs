//! Runs: values as numpy arrays, how it went as the document of `solve --json`.

use crate::errors::usage;
use daelight::hybrid::{HybridSolution, Instant};
use daelight::{Drawing, Reader, Solution, record};
use daelight_analysis::System;
use daelight_lang::Model;
use daelight_show::record::{SolveRecord, to_json};
use daelight_show::terminal;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Polylines at several times, and which points of each polyline rest.
pub type Frames = (Vec<daelight_show::scene::Frame>, Vec<Vec<bool>>);

/// Times, and one row of values for each name.
type Curve<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// A run, with events or without.
enum Course {
    Plain(Box<Solution>),
    /// The model, the run, and the instants at which values are wanted.
    WithEvents(Arc<Model>, Box<HybridSolution>, Vec<Instant>),
}

/// A run and everything that can be asked about it.
#[pyclass(module = "daelight._daelight", frozen)]
pub struct Run {
    system: Arc<System>,
    course: Course,
    stop_when: Option<String>,
    notes: Vec<String>,
    /// Times at which values are wanted.
    times: Vec<f64>,
    elapsed: Duration,
    report: OnceLock<SolveRecord>,
}

impl Run {
    /// Values are wanted at the times given, as far as the run goes, or else at its steps.
    pub fn new(
        system: Arc<System>,
        solution: Solution,
        stop_when: Option<String>,
        notes: Vec<String>,
        elapsed: Duration,
        times: Option<&[f64]>,
    ) -> Self {
        let (from, reached) = (solution.from, solution.reached());
        let times: Vec<f64> = match times {
            Some(times) => {
                let inside = from.min(reached)..=from.max(reached);
                times
                    .iter()
                    .copied()
                    .filter(|t| inside.contains(t))
                    .collect()
            }
            None => {
                let segments = solution.run.trajectory.segments();
                let starts = segments.iter().map(|segment| segment.start);
                starts.chain([reached]).collect()
            }
        };
        Self {
            system,
            course: Course::Plain(Box::new(solution)),
            stop_when,
            notes,
            times,
            elapsed,
            report: OnceLock::new(),
        }
    }

    /// The same for a run with events; at its steps both sides of each event are wanted.
    pub fn with_events(
        (model, system): (Arc<Model>, Arc<System>),
        solution: HybridSolution,
        stop_when: Option<String>,
        notes: Vec<String>,
        elapsed: Duration,
        times: Option<&[f64]>,
    ) -> Self {
        let instants = match times {
            Some(times) => solution.instants(times),
            None => solution.steps(),
        };
        Self {
            system,
            times: instants.iter().map(|(_, time)| *time).collect(),
            course: Course::WithEvents(model, Box::new(solution), instants),
            stop_when,
            notes,
            elapsed,
            report: OnceLock::new(),
        }
    }

    /// The drawing of a model at times of the run, and which of its points rest.
    pub fn frames(&self, model: &Model, times: &[f64]) -> Option<Frames> {
        let drawing = Drawing::of(model)?;
        let frames = match &self.course {
            Course::Plain(solution) => drawing.frames(&self.system, solution, times),
            Course::WithEvents(_, solution, _) => drawing.frames_with_events(solution, times),
        };
        Some((frames, drawing.fixed()))
    }

    fn report(&self) -> &SolveRecord {
        self.report.get_or_init(|| {
            let stop_when = self.stop_when.as_deref();
            let mut report = match &self.course {
                Course::Plain(solution) => record::solve(&self.system, solution, stop_when),
                Course::WithEvents(model, solution, _) => {
                    record::hybrid(model, solution, stop_when)
                }
            };
            report.warnings.extend(self.notes.iter().cloned());
            report
        })
    }

    /// Values at the times that are wanted, or first derivatives.
    fn wanted(&self, derivative: bool) -> PyResult<Array2<f64>> {
        match &self.course {
            Course::Plain(solution) if derivative => self.derivatives_at(solution, &self.times),
            Course::Plain(solution) => {
                let at = |reader: &mut Reader<'_>, time| match reader.values(time) {
                    Ok(values) => Ok(values),
                    Err(fault) => Err(usage(format!("no value at t = {time}: {:?}", fault.kind))),
                };
                columns(&self.system, solution, &self.times, at)
            }
            Course::WithEvents(model, solution, instants) => {
                Ok(rows(model, solution, instants, derivative))
            }
        }
    }

    fn derivatives_at(&self, solution: &Solution, times: &[f64]) -> PyResult<Array2<f64>> {
        let n = self.system.unknowns().len();
        columns(&self.system, solution, times, |reader, time| {
            let jet = reader.jet(time);
            Ok(jet.map(|jet| (0..n).map(|j| jet.derivative(j, 1)).collect()))
        })
    }

    /// Values at any times, or first derivatives; NaN outside the run.
    fn values_at(&self, times: &[f64], derivative: bool) -> PyResult<Array2<f64>> {
        let solution = match &self.course {
            Course::Plain(solution) => solution,
            Course::WithEvents(model, solution, _) => {
                let inside = |t: f64| t >= solution.from && t <= solution.reached;
                let found = rows(model, solution, &solution.instants(times), derivative);
                let mut all = Array2::from_elem((found.nrows(), times.len()), f64::NAN);
                let kept = times.iter().enumerate().filter(|(_, t)| inside(**t));
                for (at, (column, _)) in kept.enumerate() {
                    all.column_mut(column).assign(&found.column(at));
                }
                return Ok(all);
            }
        };
        if !derivative {
            return columns(&self.system, solution, times, |reader, time| {
                Ok(reader.values(time).ok().flatten())
            });
        }
        let mut found = self.derivatives_at(solution, times)?;
        for (column, &time) in times.iter().enumerate() {
            if solution.run.trajectory.find(time).is_none() {
                found.column_mut(column).fill(f64::NAN);
            }
        }
        Ok(found)
    }
}

/// One column for each instant of a run with events.
fn rows(
    model: &Model,
    solution: &HybridSolution,
    instants: &[Instant],
    derivative: bool,
) -> Array2<f64> {
    let found = solution.rows(model, instants, derivative);
    let n = HybridSolution::names(model).len();
    Array2::from_shape_fn((n, instants.len()), |(row, column)| found[column][row])
}

/// One column for each time; NaN where there is no value.
fn columns(
    system: &System,
    solution: &Solution,
    times: &[f64],
    mut at: impl FnMut(&mut Reader<'_>, f64) -> PyResult<Option<Vec<f64>>>,
) -> PyResult<Array2<f64>> {
    let n = system.unknowns().len();
    let mut reader = solution.reader(system);
    let mut all = Array2::from_elem((n, times.len()), f64::NAN);
    for (column, &time) in times.iter().enumerate() {
        if let Some(values) = at(&mut reader, time)? {
            for (row, value) in values.into_iter().enumerate() {
                all[[row, column]] = value;
            }
        }
    }
    Ok(all)
}

#[pymethods]
impl Run {
    /// Names of the unknowns and of discrete variables, in the order of the rows.
    #[getter]
    fn names(&self) -> Vec<String> {
        if let Course::WithEvents(model, ..) = &self.course {
            return HybridSolution::names(model);
        }
        let unknowns = self.system.unknowns().iter();
        unknowns.map(|unknown| unknown.name.clone()).collect()
    }

    /// The name of the model.
    #[getter]
    fn model(&self) -> &str {
        self.system.name()
    }

    /// The times.
    #[getter]
    fn t<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.times)
    }

    /// The values at these times, one row for each unknown and each discrete variable.
    fn y<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let found = py.detach(|| self.wanted(false))?;
        Ok(found.into_pyarray(py))
    }

    /// The seconds that the integration took, without the way to Python and back.
    #[getter]
    fn elapsed(&self) -> f64 {
        self.elapsed.as_secs_f64()
    }

    /// Where the run began and ended.
    #[getter]
    fn span(&self) -> (f64, f64) {
        match &self.course {
            Course::Plain(solution) => (solution.from, solution.reached()),
            Course::WithEvents(_, solution, _) => (solution.from, solution.reached),
        }
    }

    /// The first derivatives at these times.
    fn yp<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let found = py.detach(|| self.wanted(true))?;
        Ok(found.into_pyarray(py))
    }

    /// The values, or first derivatives, at other times; NaN outside the run.
    fn at<'py>(
        &self,
        py: Python<'py>,
        times: PyReadonlyArray1<'py, f64>,
        derivative: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let times = times.as_slice()?.to_vec();
        let found = py.detach(|| self.values_at(&times, derivative))?;
        Ok(found.into_pyarray(py))
    }

    /// Times and values of a curve over the run: those at ascending times, and both sides of each event.
    fn curve<'py>(&self, py: Python<'py>, times: Vec<f64>) -> PyResult<Curve<'py>> {
        let (times, values) = py.detach(|| match &self.course {
            Course::Plain(_) => {
                let values = self.values_at(&times, false)?;
                Ok::<_, PyErr>((times, values))
            }
            Course::WithEvents(model, solution, _) => {
                let instants = solution.with_sides(&times);
                let values = rows(model, solution, &instants, false);
                Ok((instants.into_iter().map(|(_, time)| time).collect(), values))
            }
        })?;
        Ok((PyArray1::from_vec(py, times), values.into_pyarray(py)))
    }

    /// The document of `solve --json`.
    fn document(&self, py: Python<'_>) -> String {
        py.detach(|| to_json(self.report()))
    }

    /// How the run went, as in a terminal.
    fn page(&self, py: Python<'_>) -> String {
        py.detach(|| terminal::solve(self.report(), self.system.name()))
    }
}
