//! A run as a table of values.

use crate::solve::Solution;
use daelight_analysis::System;
use daelight_expr::ExprId;
use daelight_integrate::Inspector;
use daelight_show::picture::{RESIDUAL, SINGULAR_VALUE};

/// Names of columns, and a time with their values for each row.
pub type NamedRows = (Vec<String>, Vec<(f64, Vec<f64>)>);

/// The parameters of a model that has components, which its results are read with: what one component calls a parameter
/// is a variable of another.
fn of_components(system: &System) -> Vec<(String, f64)> {
    if !system.unknowns().iter().any(|u| u.name.contains('.')) {
        return Vec::new();
    }
    let parameters = system.parameters();
    let values = parameters.values().iter().enumerate();
    values
        .map(|(at, value)| (parameters.name(at).to_string(), *value))
        .collect()
}

/// Unknowns and inputs at these times, and what every point is worth: the scaled residual of each level, and the least
/// singular value of the blocks that decide. Times outside the run are left out.
pub fn samples(system: &System, solution: &Solution, times: &[f64]) -> Result<NamedRows, String> {
    let trajectory = &solution.run.trajectory;
    let mut names: Vec<String> = system.unknowns().iter().map(|u| u.name.clone()).collect();
    let (input_names, inputs): (Vec<String>, Vec<ExprId>) = system
        .inputs()
        .map(|(name, expr)| (name.to_string(), expr))
        .unzip();
    names.extend(input_names);
    let known = of_components(system);
    names.extend(known.iter().map(|(name, _)| name.clone()));
    names.extend(system.views().iter().map(|view| view.name.clone()));
    // One by one: where one of them has no value the others have theirs.
    let views = system.views().iter();
    let mut views: Vec<_> = views
        .map(|view| solution.observer(system, &[view.value]))
        .collect();
    let n_levels = solution.run.residuals.len();
    names.extend((0..n_levels).map(|level| format!("{RESIDUAL}{level}")));
    names.push(SINGULAR_VALUE.to_string());
    let mut reader = solution.reader(system);
    let mut observer = solution.observer(system, &inputs);
    let mut inspector = solution.inspector();
    let mut point = vec![0.0; inspector.as_ref().map_or(0, Inspector::n_coefficients)];
    let mut rows = Vec::new();
    for &time in times {
        let mut values = match reader.values(time) {
            Ok(Some(values)) => values,
            Ok(None) => continue,
            Err(fault) => return Err(format!("no value at t = {time}: {}", fault.kind)),
        };
        values.extend(
            observer
                .values(trajectory, time)
                .unwrap_or_else(|| vec![f64::NAN; inputs.len()]),
        );
        values.extend(known.iter().map(|(_, value)| value));
        values.extend(views.iter_mut().map(|view| {
            let found = view.values(trajectory, time);
            found.map_or(f64::NAN, |values| values[0])
        }));
        let inspection = inspector.as_mut().and_then(|inspector| {
            trajectory.coefficients(time, &mut point);
            inspector.inspect(time, &point).ok()
        });
        match inspection {
            Some(inspection) => {
                values.extend(inspection.residuals);
                values.push(inspection.sigma_min);
            }
            None => values.extend(std::iter::repeat_n(f64::NAN, n_levels + 1)),
        }
        rows.push((time, values));
    }
    Ok((names, rows))
}
