//! The outcome of a run: one document for programs, one page for people, a table of values for both.

use crate::columns::finite;
use crate::page::{short, wrapped};
use crate::spectrum::{ZeroDynamicsRecord, zero_dynamics_text};
use crate::words::{count, cut};
use serde::Serialize;
use serde_json::{Map, Value};

/// What `daelight solve --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct SolveReport {
    /// `success`, `singularity` or `failure`.
    pub status: &'static str,
    /// Why the run ended, in a word.
    pub reason: &'static str,
    /// One sentence: why the run ended.
    pub message: String,
    /// The method that did the work.
    pub method: String,
    /// The time reached, or of the singularity that ended the run.
    pub time: f64,
    /// Values of all unknowns at the last point computed.
    #[serde(rename = "final")]
    pub last: Map<String, Value>,
    /// Singular points in the order they were met.
    pub singularities: Vec<SingularityRecord>,
    /// What it cost.
    pub statistics: StatisticsRecord,
    /// The largest scaled residual of any equation and of its derivatives at accepted points.
    pub max_constraint_residual: f64,
    /// The same level by level: position m is the m-th derivative.
    pub residuals: Vec<f64>,
    /// Points at which index or degrees of freedom change.
    pub index_changes: Vec<IndexChangeRecord>,
    /// Times at which an `if`, `abs`, `min`, `max` or `sign` changed its branch.
    pub switches: Vec<SwitchRecord>,
    /// Eigenvalues along the run of a model that prescribes a motion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero_dynamics: Option<ZeroDynamicsRecord>,
    /// Where `--stop-when` ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedRecord>,
    /// The energy along the run, if the model tells one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyRecord>,
    /// Largest difference to a run with a hundredth of the tolerance, with `--estimate-error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_error: Option<f64>,
    /// What was discretised, with `--method bdf-fixed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discretisation: Option<DiscretisationRecord>,
    /// Values at the times of `--save-at` or `--points`: a list for the time and for each name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Value>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

/// Where a run was to end.
#[derive(Serialize, Debug, Clone)]
pub struct StoppedRecord {
    /// The condition or expression, as it was given.
    pub when: String,
    /// When it was met.
    pub time: f64,
}

/// The energy T + V along a run.
#[derive(Serialize, Debug, Clone)]
pub struct EnergyRecord {
    /// At the start.
    pub start: f64,
    /// At the end.
    pub end: f64,
    /// Greatest difference to the start at any step.
    pub max_drift: f64,
}

/// A singular point.
#[derive(Serialize, Debug, Clone)]
pub struct SingularityRecord {
    /// When.
    pub time: f64,
    /// How far off the time may be, where it could not be located to all digits that are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<f64>,
    /// k-A or k-B, or `null`.
    pub kind: Option<String>,
    /// `removable`, `branch`, `unbounded`, `bifurcation` or `unresolved`.
    pub nature: String,
    /// The expression that vanishes, or `null`.
    pub locus: Option<String>,
    /// What it is to an operation that has no value there, such as "the denominator of `1/x`".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Equations that are singular together.
    pub equations: Vec<String>,
    /// Unknowns that they do not determine there.
    pub unknowns: Vec<String>,
    /// A direction of these unknowns that the equations leave open.
    pub null_vector: Map<String, Value>,
}

/// What a run cost.
#[derive(Serialize, Debug, Clone, Copy, Default)]
pub struct StatisticsRecord {
    /// Accepted steps.
    pub steps: usize,
    /// Steps tried again.
    pub rejected: usize,
    /// Evaluations of the equations.
    pub residuals: usize,
    /// Evaluations of the system Jacobian.
    pub jacobians: usize,
    /// Factorisations.
    pub factorizations: usize,
    /// Expansions into series.
    pub jets: usize,
}

/// How a run with constant steps was discretised.
#[derive(Serialize, Debug, Clone)]
pub struct DiscretisationRecord {
    /// The form of the equations: `original`, `dummy`, `strangeness`, `decoupled` or a file.
    pub form: String,
    /// The order of the formula.
    pub order: usize,
    /// The step.
    pub step: f64,
    /// Equations without derivatives are multiplied by step^-scale.
    pub scale: f64,
    /// Number of unknowns that the formula is applied to.
    pub n_unknowns: usize,
    /// Number of equations without derivatives.
    pub n_algebraic: usize,
    /// Largest condition number seen of the discretised Jacobian as it stands, in the 1-norm; `null` if none was.
    pub condition: Option<f64>,
    /// The same with the equations scaled.
    pub condition_scaled: Option<f64>,
}

/// A point where index or degrees of freedom change.
#[derive(Serialize, Debug, Clone)]
pub struct IndexChangeRecord {
    /// When.
    pub time: f64,
    /// What changes.
    pub what: String,
}

/// A switching time.
#[derive(Serialize, Debug, Clone)]
pub struct SwitchRecord {
    /// When.
    pub time: f64,
    /// The expression that decides.
    pub expression: String,
}

/// Names and values as a JSON object, in order.
pub fn named_values<'a>(pairs: impl IntoIterator<Item = (&'a str, f64)>) -> Map<String, Value> {
    let entry = |(name, value): (&str, f64)| (name.to_string(), finite(value));
    pairs.into_iter().map(entry).collect()
}

/// The run as a page for a terminal.
pub fn run_page(report: &SolveReport, model: &str) -> String {
    let mut page = format!("{model}: {}\n", report.message);
    for found in &report.singularities {
        page.push('\n');
        page.push_str(&singularity_text(found));
    }
    if !report.last.is_empty() && report.last.len() <= 40 {
        let values: Vec<String> = report
            .last
            .iter()
            .map(|(name, value)| format!("{name} = {}", value.as_f64().map_or("?".into(), short)))
            .collect();
        let lead = if report.status == "success" {
            "At the end"
        } else {
            "At the last point"
        };
        page.push('\n');
        page.push_str(&wrapped(&format!("{lead}: {}.", values.join(", "))));
    }
    let s = &report.statistics;
    page.push_str(&wrapped(&format!(
        "{} by {}, {} rejected; {}, {}; largest constraint residual {:.1e}.",
        count(s.steps, "step"),
        report.method,
        s.rejected,
        count(s.jets, "jet"),
        count(s.factorizations, "factorisation"),
        report.max_constraint_residual
    )));
    if let Some(discretisation) = &report.discretisation {
        page.push_str(&discretisation_text(discretisation, &report.residuals));
    }
    if let Some(energy) = &report.energy {
        page.push_str(&wrapped(&format!(
            "Energy T + V: {} at the start, {} at the end; it changes by {:.1e} at most.",
            short(energy.start),
            short(energy.end),
            energy.max_drift
        )));
    }
    if let Some(error) = report.estimated_error {
        page.push_str(&wrapped(&format!(
            "Estimated error: {error:.1e} (difference to a run with a hundredth of the tolerance)."
        )));
    }
    if !report.switches.is_empty() {
        let listed = report.switches.iter().take(6);
        let times: Vec<String> = listed
            .map(|s| format!("t = {} ({})", s.time, cut(&s.expression, 40)))
            .collect();
        page.push_str(&wrapped(&format!(
            "{} passed: {}{}.",
            count(report.switches.len(), "switching time"),
            times.join(", "),
            if report.switches.len() > 6 {
                ", …"
            } else {
                ""
            }
        )));
    }
    if let Some(text) = report.zero_dynamics.as_ref().and_then(zero_dynamics_text) {
        page.push_str(&wrapped(&text));
    }
    for warning in &report.warnings {
        page.push_str(&wrapped(warning));
    }
    page
}

/// The form, its conditioning and how well it keeps the constraints.
fn discretisation_text(found: &DiscretisationRecord, residuals: &[f64]) -> String {
    let mut text = format!(
        "Form {}: {}, {} without derivatives; order {}, step {}.",
        found.form,
        count(found.n_unknowns, "equation"),
        found.n_algebraic,
        found.order,
        found.step
    );
    if let Some(condition) = found.condition {
        text.push_str(&format!(
            " Condition of the discretised Jacobian: {condition:.1e}"
        ));
        match found.condition_scaled {
            Some(scaled) if found.scale != 0.0 => text.push_str(&format!(
                ", {scaled:.1e} with the algebraic equations times step^-{}.",
                found.scale
            )),
            _ => text.push('.'),
        }
    }
    let mut text = wrapped(&text);
    if !residuals.is_empty() {
        let levels: Vec<String> = residuals
            .iter()
            .map(|residual| format!("{residual:.1e}"))
            .collect();
        text.push_str(&wrapped(&format!(
            "Residuals of the model's constraints and their derivatives: {}.",
            levels.join(", ")
        )));
    }
    text
}

/// What a singularity means for the solution, in a few words.
pub fn nature_words(found: &SingularityRecord) -> &'static str {
    match found.nature.as_str() {
        "removable" => "removable: the solution passes smoothly",
        "branch" if found.role.is_some() => {
            "a branch point: beyond it the equations have no value, or another branch"
        }
        "branch" => "a branch point: the solution ends, its slope grows without bound",
        "unbounded" => "the solution grows without bound",
        "bifurcation" => {
            "a bifurcation: other solutions go through the same point, and nothing says which one goes on"
        }
        _ => "of unresolved nature",
    }
}

/// A time, with how far off it may be.
pub fn time_words(time: f64, uncertainty: Option<f64>) -> String {
    match uncertainty {
        Some(uncertainty) => format!("{time} ± {uncertainty:.0e}"),
        None => time.to_string(),
    }
}

/// A singularity, explained.
fn singularity_text(found: &SingularityRecord) -> String {
    let kind = found
        .kind
        .as_ref()
        .map_or(String::new(), |kind| format!(" of kind {kind}"));
    let mut text = format!(
        "Singularity{kind} at t = {}, {}\n",
        time_words(found.time, found.uncertainty),
        nature_words(found)
    );
    if let Some(locus) = &found.locus {
        let role = match &found.role {
            Some(role) => format!(", {role}"),
            None => String::new(),
        };
        text.push_str(&wrapped(&format!("where {locus} = 0{role}")));
    }
    if !found.equations.is_empty() {
        text.push_str(&match found.unknowns.is_empty() {
            true => "  in:\n".to_string(),
            false => format!(
                "  these equations do not determine {} there:\n",
                found.unknowns.join(", ")
            ),
        });
        for equation in found.equations.iter().take(6) {
            text.push_str(&format!("    {}\n", cut(equation, 92)));
        }
        if found.equations.len() > 6 {
            text.push_str(&format!("    and {} more\n", found.equations.len() - 6));
        }
    }
    let open: Vec<String> = found
        .null_vector
        .iter()
        .filter(|(_, value)| value.as_f64().is_some_and(|v| v.abs() > 1e-6))
        .map(|(name, value)| format!("{name}: {:.4}", value.as_f64().unwrap_or(0.0)))
        .collect();
    if !open.is_empty() && open.len() <= 12 {
        text.push_str(&wrapped(&format!("open direction {}", open.join(", "))));
    }
    text
}
