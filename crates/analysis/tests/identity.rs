//! dF_i/dx_j = B_{i-j} + j E_{i-j+1}, against differences of jets, on every model of the library.

use crate::common;
use crate::common::{Random, random_jet, scales, time};
use daelight_analysis::{Reduced, System};
use daelight_expr::{JacobianSeries, Jet, JetEvaluator, PackedJet};

const ORDER: usize = 3;

/// Coefficients F_0..F_ORDER of all residuals at a jet.
fn residuals<J: JetEvaluator>(series: &mut JacobianSeries<J>, jet: &[Vec<f64>]) -> Vec<Vec<f64>> {
    for (order, row) in jet.iter().enumerate() {
        series.inputs_mut().row_mut(order).copy_from_slice(row);
    }
    (0..=ORDER)
        .map(|k| {
            series.extend(k).expect("a regular point");
            let mut row = vec![0.0; series.n_equations()];
            series.residuals(k, &mut row);
            row
        })
        .collect()
}

/// Every block of the derivative array times a random direction, against Richardson differences.
fn check<J: JetEvaluator>(
    name: &str,
    series: &mut JacobianSeries<J>,
    jet: &[Vec<f64>],
    scales: &[f64],
    random: &mut Random,
) -> f64 {
    let mut worst: f64 = 0.0;
    for j in 0..jet.len() {
        let direction: Vec<f64> = scales.iter().map(|scale| scale * random.next()).collect();
        let mut difference = |step: f64| {
            let [high, low] = [step, -step].map(|step| {
                let mut moved = jet.to_vec();
                for (x, d) in moved[j].iter_mut().zip(&direction) {
                    *x += step * d;
                }
                residuals(series, &moved)
            });
            let slope = |(high, low): (&f64, &f64)| (high - low) / (2.0 * step);
            let rows = high.iter().zip(&low);
            rows.map(|(high, low)| high.iter().zip(low).map(slope).collect())
                .collect::<Vec<Vec<f64>>>()
        };
        let (wide, narrow) = (difference(2e-4), difference(1e-4));
        let values = residuals(series, jet);
        for i in 0..=ORDER {
            let mut product = vec![0.0; series.n_equations()];
            let mut size = vec![0.0; series.n_equations()];
            series.array_block(i, j, |equation, unknown, entry| {
                product[equation] += entry * direction[unknown];
                size[equation] += (entry * direction[unknown]).abs();
            });
            for equation in 0..product.len() {
                let slope = (4.0 * narrow[i][equation] - wide[i][equation]) / 3.0;
                // Rounding of F_i is divided by the step, 1e-4; higher coefficients curve more.
                let largest = values
                    .iter()
                    .map(|row| row[equation].abs())
                    .fold(0.0, f64::max);
                let scale = size[equation].max(largest).max(1e-3);
                let error = (product[equation] - slope).abs() / scale;
                worst = worst.max(error);
                assert!(
                    error < 1e-6,
                    "{name}: dF_{i}[{equation}]/dx_{j}: {} against {slope}, scaled {error:e}",
                    product[equation]
                );
            }
        }
    }
    worst
}

fn check_model<J: JetEvaluator>(name: &str, system: &System) {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    let scales = scales(system)
        .iter()
        .map(|s| s.min(0.1))
        .collect::<Vec<_>>();
    let jet = random_jet(system, ORDER + 2, &mut random);
    let mut series = system.series::<J>(ORDER);
    series.inputs_mut().set_time(time(system));
    let written = check(name, &mut series, &jet, &scales, &mut random);

    let reduced = Reduced::new(system);
    let order = reduced.equations().order();
    let all = random_jet(system, ORDER + order + 1, &mut random);
    let pick = |row: &[f64]| {
        let mut kept = vec![0.0; reduced.kept_unknowns().len()];
        reduced.restrict(row, &mut kept);
        kept
    };
    let jet: Vec<Vec<f64>> = all.iter().map(|row| pick(row)).collect();
    let mut series = reduced.series::<J>(ORDER, system.parameters().values());
    series.inputs_mut().set_time(time(system));
    let short = check(name, &mut series, &jet, &pick(&scales), &mut random);
    println!("{name}: largest scaled difference {written:.1e}, reduced {short:.1e}");
}

#[test]
fn the_two_series_are_the_jacobian_of_the_derivative_array() {
    for (name, text) in common::library() {
        let system = common::system(&text);
        check_model::<Jet>(&name, &system);
        check_model::<PackedJet>(&name, &system);
    }
}
