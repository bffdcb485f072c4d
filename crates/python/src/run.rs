//! Runs: values as numpy arrays, how it went as the document of `solve --json`.

use crate::errors::usage;
use daelight::{Reader, Solution, record};
use daelight_analysis::System;
use daelight_show::record::{SolveRecord, to_json};
use daelight_show::terminal;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A run and everything that can be asked about it.
#[pyclass(module = "daelight._daelight", frozen)]
pub struct Run {
    system: Arc<System>,
    solution: Solution,
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
            solution,
            stop_when,
            notes,
            times,
            elapsed,
            report: OnceLock::new(),
        }
    }

    /// The equations and the run, for drawings.
    pub fn parts(&self) -> (&System, &Solution) {
        (&self.system, &self.solution)
    }

    fn report(&self) -> &SolveRecord {
        self.report.get_or_init(|| {
            let mut report = record::solve(&self.system, &self.solution, self.stop_when.as_deref());
            report.warnings.extend(self.notes.iter().cloned());
            report
        })
    }

    fn derivatives_at(&self, times: &[f64]) -> PyResult<Array2<f64>> {
        let n = self.system.unknowns().len();
        columns(&self.system, &self.solution, times, |reader, time| {
            let jet = reader.jet(time);
            Ok(jet.map(|jet| (0..n).map(|j| jet.derivative(j, 1)).collect()))
        })
    }
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
    /// Names of the unknowns, in the order of the rows.
    #[getter]
    fn names(&self) -> Vec<String> {
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

    /// The values at these times, one row for each unknown.
    fn y<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let at = |reader: &mut Reader<'_>, time| match reader.values(time) {
            Ok(values) => Ok(values),
            Err(fault) => Err(usage(format!("no value at t = {time}: {:?}", fault.kind))),
        };
        let found = py.detach(|| columns(&self.system, &self.solution, &self.times, at))?;
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
        (self.solution.from, self.solution.reached())
    }

    /// The first derivatives at these times.
    fn yp<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let found = py.detach(|| self.derivatives_at(&self.times))?;
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
        let inside = |time: f64| self.solution.run.trajectory.find(time).is_some();
        let found = py.detach(|| {
            if derivative {
                let mut found = self.derivatives_at(&times)?;
                for (column, &time) in times.iter().enumerate() {
                    if !inside(time) {
                        found.column_mut(column).fill(f64::NAN);
                    }
                }
                return Ok::<_, PyErr>(found);
            }
            columns(&self.system, &self.solution, &times, |reader, time| {
                Ok(reader.values(time).ok().flatten())
            })
        })?;
        Ok(found.into_pyarray(py))
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
