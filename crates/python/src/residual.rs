//! Equations F(t, y, y') = 0 written in Python, integrated by the implicit methods of daelight.

use crate::errors::usage;
use daelight_stiff::{
    Control, Function, Hooks, Interpolant, Options, Pattern, Polynomial, Problem, Start, Step,
    StopReason, bdf, radau,
};
use numpy::ndarray::Array2;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayLike1, PyArrayLike2, PyReadonlyArray1, TypeMustMatch,
};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Halvings that bring any double to its neighbour.
const MAX_HALVINGS: usize = 1100;
/// Steps between looks at signals.
const SIGNALS_EVERY: usize = 16;

/// The first exception of a function; nothing is called after it.
type Raised = Arc<Mutex<Option<PyErr>>>;

fn lock(raised: &Raised) -> MutexGuard<'_, Option<PyErr>> {
    raised.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A residual, and maybe its matrices, as Python callables.
struct Residual {
    fun: Py<PyAny>,
    jac: Option<Py<PyAny>>,
    raised: Raised,
}

/// A vector of numbers that a callable returned, of a certain length.
fn numbers(value: &Bound<'_, PyAny>, what: &str, into: &mut [f64]) -> PyResult<()> {
    let found: PyArrayLike1<'_, f64, numpy::AllowTypeChange> = value.extract()?;
    let array = found.as_array();
    if array.len() != into.len() {
        return Err(usage(format!(
            "{what} returned {} numbers where {} are needed",
            array.len(),
            into.len()
        )));
    }
    for (place, number) in into.iter_mut().zip(array) {
        *place = *number;
    }
    Ok(())
}

fn matrix(value: &Bound<'_, PyAny>, n: usize, into: &mut [f64]) -> PyResult<()> {
    let dense = match value.getattr("toarray") {
        Ok(convert) => convert.call0()?,
        Err(_) => value.clone(),
    };
    let found: PyArrayLike2<'_, f64, numpy::AllowTypeChange> = dense.extract()?;
    let array = found.as_array();
    if array.dim() != (n, n) {
        return Err(usage(format!(
            "jac returned a matrix of shape {:?} where ({n}, {n}) is needed",
            array.dim()
        )));
    }
    for ((row, column), value) in array.indexed_iter() {
        into[column * n + row] = *value;
    }
    Ok(())
}

impl Residual {
    fn new(fun: Py<PyAny>, jac: Option<Py<PyAny>>, raised: &Raised) -> Self {
        Self {
            fun,
            jac,
            raised: raised.clone(),
        }
    }

    fn arguments<'py>(
        py: Python<'py>,
        t: f64,
        x: &[f64],
        xp: &[f64],
    ) -> (f64, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        (t, PyArray1::from_slice(py, x), PyArray1::from_slice(py, xp))
    }
}

impl Function for Residual {
    fn residuals(&mut self, t: f64, x: &[f64], xp: &[f64], into: &mut [f64]) {
        let mut raised = lock(&self.raised);
        if raised.is_some() {
            return into.fill(f64::NAN);
        }
        let outcome = Python::attach(|py| {
            let value = self.fun.bind(py).call1(Self::arguments(py, t, x, xp))?;
            numbers(&value, "fun", into)
        });
        if let Err(error) = outcome {
            *raised = Some(error);
            into.fill(f64::NAN);
        }
    }

    fn matrices(&mut self, t: f64, x: &[f64], xp: &[f64], b: &mut [f64], e: &mut [f64]) -> bool {
        let Some(jac) = &self.jac else { return false };
        let mut raised = lock(&self.raised);
        if raised.is_some() {
            b.fill(f64::NAN);
            e.fill(f64::NAN);
            return true;
        }
        let outcome = Python::attach(|py| {
            let pair = jac.bind(py).call1(Self::arguments(py, t, x, xp))?;
            let (of_x, of_xp): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            matrix(&of_x, x.len(), b)?;
            matrix(&of_xp, x.len(), e)
        });
        if let Err(error) = outcome {
            *raised = Some(error);
            b.fill(f64::NAN);
            e.fill(f64::NAN);
        }
        true
    }
}

/// The solution between all steps of a run.
#[pyclass(module = "daelight._daelight", frozen)]
pub struct Polynomials {
    n: usize,
    starts: Vec<f64>,
    end: f64,
    pieces: Vec<Polynomial>,
}

impl Polynomials {
    fn piece(&self, time: f64) -> usize {
        let forward = self.starts.first().is_none_or(|first| self.end >= *first);
        let after = self.starts.partition_point(|start| {
            if forward {
                *start <= time
            } else {
                *start >= time
            }
        });
        after.saturating_sub(1)
    }
}

#[pymethods]
impl Polynomials {
    /// Values and first derivatives at times; outside the run the outermost pieces go on.
    fn at<'py>(&self, py: Python<'py>, times: PyReadonlyArray1<'py, f64>) -> PyResult<Pair<'py>> {
        let times = times.as_slice()?;
        let mut values = Array2::from_elem((self.n, times.len()), f64::NAN);
        let mut slopes = values.clone();
        for (column, &time) in times.iter().enumerate() {
            if let Some(piece) = self.pieces.get(self.piece(time)) {
                let piece = piece.view();
                for row in 0..self.n {
                    let (value, slope) = piece.component(row, time);
                    values[[row, column]] = value;
                    slopes[[row, column]] = slope;
                }
            }
        }
        Ok((values.into_pyarray(py), slopes.into_pyarray(py)))
    }

    /// Where the pieces begin, and where the last one ends.
    #[getter]
    fn ts(&self) -> Vec<f64> {
        let starts = self.starts.iter().copied();
        starts.chain([self.end]).collect()
    }
}

/// Values and slopes.
type Pair<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// A function of the solution whose zeros are wanted.
struct Event {
    function: Py<PyAny>,
    /// Zeros after which the run ends.
    most: Option<usize>,
    direction: f64,
    last: f64,
    found: Vec<(f64, Vec<f64>, Vec<f64>)>,
}

impl Event {
    fn value(&self, py: Python<'_>, t: f64, x: &[f64], xp: &[f64]) -> PyResult<f64> {
        let value = self
            .function
            .bind(py)
            .call1(Residual::arguments(py, t, x, xp))?;
        match value.extract::<f64>() {
            Ok(value) => Ok(value),
            // An array with one element.
            Err(_) => value.call_method0("item")?.extract(),
        }
    }

    fn is_crossed(&self, new: f64) -> bool {
        let up = self.last <= 0.0 && new >= 0.0;
        let down = self.last >= 0.0 && new <= 0.0;
        (up && self.direction > 0.0)
            || (down && self.direction < 0.0)
            || ((up || down) && self.direction == 0.0)
    }

    fn points(&self) -> Points {
        let mut points = Points::default();
        for (t, y, yp) in &self.found {
            points.push(*t, y, yp);
        }
        points
    }

    /// The zero within a step, by halving.
    fn locate(&self, py: Python<'_>, step: &Step<'_>) -> PyResult<(f64, Vec<f64>, Vec<f64>)> {
        let (mut low, mut high) = (step.t_old, step.t);
        let n = step.x.len();
        if self.last == 0.0 {
            high = low;
        }
        for _ in 0..MAX_HALVINGS {
            let middle = low + 0.5 * (high - low);
            if middle == low || middle == high {
                break;
            }
            let (x, xp) = at(&step.interpolant, n, middle);
            let value = self.value(py, middle, &x, &xp)?;
            if (value > 0.0) == (self.last > 0.0) && value != 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let (x, xp) = at(&step.interpolant, n, high);
        Ok((high, x, xp))
    }
}

fn at(interpolant: &Interpolant<'_>, n: usize, t: f64) -> (Vec<f64>, Vec<f64>) {
    (0..n).map(|j| interpolant.component(j, t)).unzip()
}

/// Points of a run, one after the other.
#[derive(Default)]
struct Points {
    t: Vec<f64>,
    y: Vec<f64>,
    yp: Vec<f64>,
}

impl Points {
    fn push(&mut self, t: f64, y: &[f64], yp: &[f64]) {
        self.t.push(t);
        self.y.extend_from_slice(y);
        self.yp.extend_from_slice(yp);
    }

    /// The times, and one row for each unknown.
    fn arrays<'py>(&self, py: Python<'py>, n: usize) -> Arrays<'py> {
        let rows = |values: &[f64]| {
            let m = self.t.len();
            Array2::from_shape_fn((n, m), |(row, column)| values[column * n + row]).into_pyarray(py)
        };
        (
            PyArray1::from_slice(py, &self.t),
            rows(&self.y),
            rows(&self.yp),
        )
    }
}

type Arrays<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
);

/// What a run leaves while it goes on.
struct Record {
    points: Points,
    wanted: Option<Vec<f64>>,
    next: usize,
    pieces: Option<(Vec<f64>, Vec<Polynomial>)>,
    events: Vec<Event>,
    n_steps: usize,
    raised: Raised,
    /// Whether an event ended the run, and where.
    ended: Option<f64>,
}

impl Record {
    fn look(&mut self, step: &Step<'_>) -> Control {
        match Python::attach(|py| self.keep(py, step)) {
            Ok(control) => control,
            Err(error) => {
                *lock(&self.raised) = Some(error);
                Control::Stop
            }
        }
    }

    fn keep(&mut self, py: Python<'_>, step: &Step<'_>) -> PyResult<Control> {
        if lock(&self.raised).is_some() {
            return Ok(Control::Stop);
        }
        self.n_steps += 1;
        if self.n_steps.is_multiple_of(SIGNALS_EVERY) {
            py.check_signals()?;
        }
        let (n, forward) = (step.x.len(), step.h > 0.0);
        let end = self.look_for_events(py, step)?;
        if let Some((starts, pieces)) = &mut self.pieces {
            starts.push(step.t_old);
            pieces.push(step.interpolant.to_polynomial());
        }
        let last = end.unwrap_or(step.t);
        match &self.wanted {
            Some(wanted) => {
                while let Some(&time) = wanted.get(self.next)
                    && (if forward { time <= last } else { time >= last })
                {
                    let (x, xp) = if time == step.t {
                        (step.x.to_vec(), step.xp.to_vec())
                    } else {
                        at(&step.interpolant, n, time)
                    };
                    self.points.push(time, &x, &xp);
                    self.next += 1;
                }
            }
            None => match end {
                Some(time) => {
                    let (x, xp) = at(&step.interpolant, n, time);
                    self.points.push(time, &x, &xp);
                }
                None => self.points.push(step.t, step.x, step.xp),
            },
        }
        self.ended = end;
        Ok(if end.is_some() {
            Control::Stop
        } else {
            Control::Continue
        })
    }

    fn new(wanted: Option<Vec<f64>>, dense: bool, raised: Raised) -> Self {
        Self {
            points: Points::default(),
            next: 0,
            pieces: dense.then(Default::default),
            events: Vec::new(),
            n_steps: 0,
            raised,
            ended: None,
            wanted,
        }
    }

    /// The solution in between, if it was kept, up to where the run ended.
    fn polynomials(&mut self, n: usize, end: f64) -> Option<Polynomials> {
        let (starts, pieces) = self.pieces.take()?;
        Some(Polynomials {
            n,
            starts,
            end,
            pieces,
        })
    }

    /// Takes in the start, and the events with their values there.
    fn begin(
        &mut self,
        py: Python<'_>,
        start: Start<'_>,
        events: Vec<(Py<PyAny>, Option<usize>, f64)>,
    ) -> PyResult<()> {
        for (function, most, direction) in events {
            let mut event = Event {
                function,
                most,
                direction,
                last: 0.0,
                found: Vec::new(),
            };
            event.last = event.value(py, start.t, start.x, start.xp)?;
            self.events.push(event);
        }
        let is_wanted = match &self.wanted {
            Some(wanted) => wanted.first() == Some(&start.t),
            None => true,
        };
        if is_wanted {
            self.points.push(start.t, start.x, start.xp);
            self.next = 1;
        }
        Ok(())
    }

    /// Keeps the zeros within a step in the order of time; tells where the first that ends the run is.
    fn look_for_events(&mut self, py: Python<'_>, step: &Step<'_>) -> PyResult<Option<f64>> {
        let mut crossed = Vec::new();
        for (number, event) in self.events.iter_mut().enumerate() {
            let new = event.value(py, step.t, step.x, step.xp)?;
            if event.is_crossed(new) {
                crossed.push((number, event.locate(py, step)?));
            }
            event.last = new;
        }
        let sign = step.h.signum();
        crossed.sort_by(|a, b| (sign * a.1.0).total_cmp(&(sign * b.1.0)));
        for (number, point) in crossed {
            let event = &mut self.events[number];
            let time = point.0;
            event.found.push(point);
            if event.most.is_some_and(|most| event.found.len() >= most) {
                return Ok(Some(time));
            }
        }
        Ok(None)
    }
}

/// Sizes of unknowns that are small enough to be told by their absolute tolerances.
fn typical(atol: &[f64], rtol: f64, n: usize) -> Vec<f64> {
    let of = |j: usize| atol[if atol.len() == 1 { 0 } else { j }];
    (0..n).map(|j| (of(j) / rtol).min(1.0)).collect()
}

fn check_tolerances(atol: &[f64], n: usize) -> PyResult<()> {
    match atol.len() {
        found if found != 1 && found != n => Err(usage(format!(
            "{found} absolute tolerances for {n} unknowns"
        ))),
        _ => Ok(()),
    }
}

/// 0 at the end of the interval, 1 at an event that ends the run, -1 otherwise; with a sentence.
fn status(reason: &StopReason, event: Option<f64>) -> (i32, String) {
    match (reason, event) {
        (StopReason::Finished, _) => (
            0,
            "The solver successfully reached the end of the integration interval.".to_string(),
        ),
        (_, Some(_)) => (1, "A termination event occurred.".to_string()),
        _ => (-1, reason.to_string()),
    }
}

/// What comes back: arrays, the solution in between, events, counts, status, message.
type Outcome<'py> = (
    Arrays<'py>,
    Option<Polynomials>,
    Vec<Arrays<'py>>,
    (usize, usize, usize),
    (i32, String),
    Vec<usize>,
);

/// Integrates F(t, y, y') = 0.
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    reason = "the options of a run, given by name in Python"
)]
pub fn integrate_residual<'py>(
    py: Python<'py>,
    fun: Py<PyAny>,
    span: (f64, f64),
    y0: PyArrayLike1<'py, f64, TypeMustMatch>,
    yp0: PyArrayLike1<'py, f64, TypeMustMatch>,
    method: &str,
    rtol: f64,
    atol: Vec<f64>,
    times: Option<Vec<f64>>,
    dense: bool,
    jac: Option<Py<PyAny>>,
    sparsity: Option<Vec<bool>>,
    steps: (Option<f64>, Option<f64>, usize),
    indices: Option<Vec<usize>>,
    events: Vec<(Py<PyAny>, Option<usize>, f64)>,
) -> PyResult<Outcome<'py>> {
    let (x, xp) = (y0.as_array().to_vec(), yp0.as_array().to_vec());
    let n = x.len();
    check_tolerances(&atol, n)?;
    let (t, t_end) = span;
    let start = Start { t, x: &x, xp: &xp };
    let raised: Raised = Arc::default();
    let bad = |error: daelight_stiff::InputError| usage(error.to_string());
    let pattern = sparsity.map_or(Ok(Pattern::full(n)), |entries| Pattern::common(n, entries));
    let problem = Problem::of_function(
        Box::new(Residual::new(fun, jac, &raised)),
        pattern.map_err(bad)?,
        typical(&atol, rtol, n),
        start,
        indices.as_deref(),
    );
    let (h0, hmax, max_steps) = steps;
    let options = Options {
        rtol,
        atol,
        h0,
        hmax,
        max_steps,
        ..Options::default()
    };
    let mut record = Record::new(times, dense, raised.clone());
    record.begin(py, start, events)?;
    if let Some(error) = lock(&raised).take() {
        return Err(error);
    }
    let mut problem = problem.map_err(bad)?;
    let found_indices = problem.indices().to_vec();
    let record = RefCell::new(record);
    let mut observer = |step: &Step<'_>| record.borrow_mut().look(step);
    let mut hooks = Hooks {
        observer: Some(&mut observer),
        ..Hooks::default()
    };
    let run = match method {
        "Radau" => radau(&mut problem, start, t_end, &options, &mut hooks),
        "BDF" => bdf(&mut problem, start, t_end, &options, &mut hooks),
        other => return Err(usage(format!("there is no method `{other}`"))),
    };
    let mut record = record.into_inner();
    if let Some(error) = lock(&raised).take() {
        return Err(error);
    }
    let run = run.map_err(bad)?;
    let ended = status(&run.reason, record.ended);
    let end = record.ended.unwrap_or(run.t);
    let dense = record.polynomials(n, end);
    let events = record.events.iter();
    let events = events.map(|event| event.points().arrays(py, n));
    let work = run.statistics;
    let counts = (problem.n_evaluations(), work.jacobians, work.factorizations);
    Ok((
        record.points.arrays(py, n),
        dense,
        events.collect(),
        counts,
        ended,
        found_indices,
    ))
}
