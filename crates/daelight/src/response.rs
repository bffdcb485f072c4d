//! Frequency and step responses of a linear model: section 6 of `docs/theory/linearize.md`.

use crate::linearize::Linearization;
use daelight_linalg::{LinalgError, Lu, Mat};
use daelight_show::record::{ResponseRecord, ResponsesRecord};

/// The responses of every output to every input in curves of so many pieces; `Err` says why there are none.
pub fn responses(found: &Linearization, n_pieces: usize) -> Result<ResponsesRecord, String> {
    let model = &found.model;
    if found.inputs.is_empty() || found.outputs.is_empty() {
        return Err(
            "it needs an input and an output; name them with --inputs and --outputs".into(),
        );
    }
    let names = |list: &[usize]| -> Vec<String> {
        let unknowns = found.system.unknowns();
        list.iter().map(|&j| unknowns[j].name.clone()).collect()
    };
    let (inputs, outputs) = (
        crate::record::linearize(found).inputs,
        names(&found.outputs),
    );
    let rates = rates(found);
    let frequencies = spread(&rates, n_pieces);
    let is_proper = model.d.iter().skip(1).all(|d| d.view().norm_max() == 0.0);
    let end = horizon(found);
    let times: Vec<f64> = (0..=n_pieces)
        .map(|k| end * k as f64 / n_pieces as f64)
        .collect();
    let steps = match is_proper {
        true => Some(step_values(found, end / n_pieces as f64, n_pieces)),
        false => None,
    };
    let gains: Vec<Mat> = frequencies
        .iter()
        .map(|&w| transfer(found, w).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    let mut curves = Vec::new();
    let n_outputs = outputs.len();
    for (i, output) in outputs.iter().enumerate() {
        for (j, input) in inputs.iter().enumerate() {
            let values = gains.iter().map(|g| (g[(i, j)], g[(n_outputs + i, j)]));
            let values: Vec<(f64, f64)> = values.collect();
            curves.push(ResponseRecord {
                name: format!("{output} / {input}"),
                gain: values.iter().map(|(re, im)| re.hypot(*im)).collect(),
                phase: unwrapped(&values),
                step: (steps.as_ref()).map(|steps| steps.iter().map(|y| y[(i, j)]).collect()),
            });
        }
    }
    Ok(ResponsesRecord {
        frequencies,
        times,
        curves,
    })
}

/// The sizes of poles and zeros that are not zero.
fn rates(found: &Linearization) -> Vec<f64> {
    let zeros = found.zeros.as_deref().unwrap_or_default();
    let all = found.model.poles.iter().chain(zeros);
    let sizes = all.map(|one| (one.re.hypot(one.im), one.uncertainty));
    sizes
        .filter(|(size, uncertainty)| size > uncertainty)
        .map(|(size, _)| size)
        .collect()
}

/// Frequencies from a decade below to a decade above some rates, evenly on a logarithmic scale.
fn spread(rates: &[f64], n_pieces: usize) -> Vec<f64> {
    let slowest = rates.iter().copied().reduce(f64::min).unwrap_or(1.0);
    let fastest = rates.iter().copied().reduce(f64::max).unwrap_or(1.0);
    let (low, high) = (slowest.log10() - 1.0, fastest.log10() + 1.0);
    let at = |k: usize| 10_f64.powf(low + (high - low) * k as f64 / n_pieces as f64);
    (0..=n_pieces).map(at).collect()
}

/// How long a step response is followed: until the slowest pole that decays has done so, or the fastest one that grows has grown.
fn horizon(found: &Linearization) -> f64 {
    let poles = &found.model.poles;
    let real = |sign: f64| {
        let parts = poles.iter().map(move |pole| (sign * pole.re, pole));
        parts.filter(|(part, pole)| *part > pole.uncertainty)
    };
    let grows = real(1.0).map(|(part, _)| part).reduce(f64::max);
    let decays = real(-1.0).map(|(part, _)| part).reduce(f64::min);
    let turns = rates(found).into_iter().reduce(f64::min);
    let slowest = grows
        .or(decays)
        .or(turns.map(|w| w / std::f64::consts::TAU));
    // After six time constants exp(-6) is left, less than the width of a line.
    slowest.map_or(1.0, |rate| 6.0 / rate)
}

/// C (i w - A)^-1 B + sum D_k (i w)^k: real parts above imaginary ones.
fn transfer(found: &Linearization, w: f64) -> Result<Mat, LinalgError> {
    let model = &found.model;
    let (n, m, p) = (model.a.nrows(), model.b.ncols(), model.c.nrows());
    let mut x = Mat::zeros(2 * n, m);
    if n > 0 {
        // (i w - A)(x + i y) = b is [-A, -w; w, -A] [x; y] = [b; 0].
        let matrix = Mat::from_fn(2 * n, 2 * n, |i, j| match (i / n, j / n) {
            (0, 0) | (1, 1) => -model.a[(i % n, j % n)],
            (0, _) if i % n == j % n => -w,
            (_, 0) if i % n == j % n => w,
            _ => 0.0,
        });
        x = Mat::from_fn(2 * n, m, |i, j| if i < n { model.b[(i, j)] } else { 0.0 });
        let mut lu = Lu::new();
        lu.factor(matrix.view())?;
        lu.solve_many(x.view_mut())?;
    }
    Ok(Mat::from_fn(2 * p, m, |row, j| {
        let (part, i) = (row / p, row % p);
        let states: f64 = (0..n).map(|k| model.c[(i, k)] * x[(part * n + k, j)]).sum();
        // i^k is 1, i, -1, -i.
        let powers = model.d.iter().enumerate().filter(|(k, _)| k % 2 == part);
        let direct = powers.map(|(k, d)| {
            let sign = if k % 4 < 2 { 1.0 } else { -1.0 };
            sign * d[(i, j)] * w.powi(k as i32)
        });
        states + direct.sum::<f64>()
    }))
}

/// The outputs at multiples of a time after a step of each input, C x + D with x' = A x + B from 0: x grows by exp([A B; 0 0] t).
fn step_values(found: &Linearization, time: f64, n_pieces: usize) -> Vec<Mat> {
    let model = &found.model;
    let (n, m, p) = (model.a.nrows(), model.b.ncols(), model.c.nrows());
    let joined = Mat::from_fn(n + m, n + m, |i, j| match (i < n, j < n) {
        (true, true) => time * model.a[(i, j)],
        (true, false) => time * model.b[(i, j - n)],
        _ => 0.0,
    });
    let growth = exponential(&joined);
    let mut states = Mat::zeros(n, m);
    let mut found = Vec::with_capacity(n_pieces + 1);
    for _ in 0..=n_pieces {
        found.push(Mat::from_fn(p, m, |i, j| {
            let moved: f64 = (0..n).map(|k| model.c[(i, k)] * states[(k, j)]).sum();
            moved + model.d.first().map_or(0.0, |d| d[(i, j)])
        }));
        states = Mat::from_fn(n, m, |i, j| {
            let moved: f64 = (0..n).map(|k| growth[(i, k)] * states[(k, j)]).sum();
            moved + growth[(i, n + j)]
        });
    }
    found
}

/// exp(M) by its series at M/2^s, squared s times; the series of a matrix below 1/2 has eighteen terms to rounding.
fn exponential(matrix: &Mat) -> Mat {
    let n = matrix.nrows();
    let size = n as f64 * matrix.view().norm_max();
    let halvings = (2.0 * size).max(1.0).log2().ceil();
    let scaled = Mat::from_fn(n, n, |i, j| matrix[(i, j)] / halvings.exp2());
    let product =
        |a: &Mat, b: &Mat| Mat::from_fn(n, n, |i, j| (0..n).map(|k| a[(i, k)] * b[(k, j)]).sum());
    let (mut sum, mut term) = (Mat::identity(n), Mat::identity(n));
    for k in 1..=18 {
        let next = product(&term, &scaled);
        term = Mat::from_fn(n, n, |i, j| next[(i, j)] / f64::from(k));
        sum = Mat::from_fn(n, n, |i, j| sum[(i, j)] + term[(i, j)]);
    }
    for _ in 0..halvings as usize {
        sum = product(&sum, &sum);
    }
    sum
}

/// Angles in degrees that do not jump by whole turns.
fn unwrapped(values: &[(f64, f64)]) -> Vec<f64> {
    let mut before: Option<f64> = None;
    let angles = values.iter().map(|(re, im)| {
        let angle = im.atan2(*re).to_degrees();
        let turns = before.map_or(0.0, |before| ((before - angle) / 360.0).round());
        let angle = angle + 360.0 * turns;
        before = Some(angle);
        angle
    });
    angles.collect()
}
