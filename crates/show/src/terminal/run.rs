//! A run for a terminal.

use super::analyze::MAX_LISTED;
use super::spectrum::zero_dynamics_text;
use super::wrapped;
use crate::record::{
    DiscretisationRecord, EnergyRecord, EventRecord, ModesRecord, SingularityRecord, SolveRecord,
    StatisticsRecord,
};
use crate::words::{count, cut, magnitude, short, told_time};

/// Values that differ by less are printed as the same, and components of an open direction below this are not told, nor directions of more components.
pub(super) const NO_COMPONENT: f64 = 1e-6;

/// How many steps were made by which method.
fn steps(s: &StatisticsRecord, method: &str) -> String {
    let by_series = s.steps.saturating_sub(s.implicit_steps);
    if s.steps == 0 {
        return format!("no whole step by {method}");
    }
    if by_series == 0 || s.implicit_steps == 0 {
        return format!("{} by {method}", count(s.steps, "step"));
    }
    // Most of a run may be the series'.
    let implicit = if method == "taylor" { "radau" } else { method };
    let steps = count(s.steps, "step");
    format!(
        "{steps}: {by_series} by taylor, {} by {implicit}",
        s.implicit_steps
    )
}

/// The run as a page for a terminal.
pub fn solve(report: &SolveRecord, model: &str) -> String {
    let mut page = format!("{model}: {}\n", report.message);
    for found in &report.singularities {
        page.push('\n');
        page.push_str(&singularity_text(found));
    }
    page.push_str(&last_values(report));
    if let Some(found) = &report.sensitivities {
        page.push_str(&super::sensitivity::sensitivities(found));
    }
    let s = &report.statistics;
    page.push_str(&wrapped(&format!(
        "{}, {} rejected; {}, {}; largest constraint residual {}.",
        steps(s, &report.method),
        s.rejected,
        count(s.jets, "jet"),
        count(s.factorizations, "factorisation"),
        magnitude(report.max_constraint_residual)
    )));
    if let Some(discretisation) = &report.discretisation {
        page.push_str(&discretisation_text(discretisation, &report.residuals));
    }
    if let Some(energy) = &report.energy {
        page.push_str(&wrapped(&self::energy(energy)));
    }
    if let Some(error) = report.estimated_error {
        page.push_str(&wrapped(&format!(
            "Estimated error: {}, relative to the size of each unknown (difference to a run with a hundredth of the tolerance).",
            magnitude(error)
        )));
    }
    if !report.switches.is_empty() {
        let listed = report.switches.iter().take(6);
        let times: Vec<String> = listed
            .map(|s| format!("t = {} ({})", told_time(s.time), cut(&s.expression, 40)))
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
    page.push_str(&events_text(report));
    if let Some(text) = report.zero_dynamics.as_ref().and_then(zero_dynamics_text) {
        page.push_str(&wrapped(&text));
    }
    for warning in &report.warnings {
        page.push_str(&wrapped(warning));
    }
    page
}

/// The values at the last point, or where they are.
fn last_values(report: &SolveRecord) -> String {
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
        format!("\n{}", wrapped(&format!("{lead}: {}.", values.join(", "))))
    } else if !report.last.is_empty() {
        let text = format!(
            "{}, too many to print: --out run.csv has them, and `daelight plot run.csv NAME` draws one.",
            count(report.last.len(), "unknown")
        );
        format!("\n{}", wrapped(&text))
    } else {
        String::new()
    }
}

/// A run of an FMU for people.
pub fn guest(report: &SolveRecord, model: &str) -> String {
    let mut page = format!("{model}: {}\n{}", report.message, last_values(report));
    if !report.warnings.is_empty() {
        page.push_str("\nMessages\n");
    }
    for line in report.warnings.iter().flat_map(|text| text.lines()) {
        page.push_str(&format!("  {line}\n"));
    }
    page
}

/// A time with all its digits; small ones with a power of ten.
fn exact(time: f64) -> String {
    let text = format!("{:?}", told_time(time));
    text.strip_suffix(".0").unwrap_or(&text).to_string()
}

/// What a change of mode made jump, by which impulses, and what that cost.
fn jump_text(event: &EventRecord) -> String {
    let impulses = event.impulses.iter();
    let impulses: Vec<String> = impulses
        .map(|(name, size)| format!("of {name}: {}", short(*size)))
        .collect();
    let jumps = event.changed.iter().filter_map(|change| {
        let [from, to] = [change.from, change.to].map(short);
        (from != to).then(|| format!("{} from {from} to {to}", change.name))
    });
    let lost = event.energy_lost;
    let lost = lost.map_or(String::new(), |lost| {
        format!("; energy lost {}", short(lost))
    });
    format!(
        "At t = {} a change of mode takes {} (impulse {}){lost}.",
        exact(event.time),
        jumps.collect::<Vec<_>>().join(", "),
        impulses.join(", ")
    )
}

/// The modes that a text allows, as a page for a terminal.
pub fn modes(report: &ModesRecord) -> String {
    let n = report.modes.len();
    let mut page = format!(
        "{}: {} by the conditions in the text\n\n",
        report.model,
        count(n, "mode")
    );
    let most = report.modes.iter().filter_map(|mode| mode.dof).max();
    for (at, mode) in report.modes.iter().enumerate() {
        let when = match mode.conditions.is_empty() {
            true => "the same equations throughout".to_string(),
            false => mode.conditions.join(" and "),
        };
        let text = match (&mode.singular, mode.index, mode.dof) {
            (Some(why), _, _) => format!("singular: {why}."),
            (None, Some(index), Some(dof)) => {
                let mut text = format!("index {index}, degrees of freedom {dof}.");
                if most.is_some_and(|most| dof < most) && !mode.differentiated.is_empty() {
                    let ties: Vec<String> = mode
                        .differentiated
                        .iter()
                        .take(3)
                        .map(|e| format!("`{}`", cut(e, 60)))
                        .collect();
                    let more = if mode.differentiated.len() > 3 {
                        " and others"
                    } else {
                        ""
                    };
                    text.push_str(&format!(
                        " It ties what is free elsewhere, by {}{more}: values may jump where it begins.",
                        ties.join(", ")
                    ));
                }
                text
            }
            _ => "index unknown.".to_string(),
        };
        page.push_str(&wrapped(&format!("Mode {} ({when}): {text}", at + 1)));
    }
    if !report.is_whole {
        page.push_str(&wrapped(
            "There are more combinations of conditions than were tried; some of them stayed as at the start.",
        ));
    }
    page
}

/// The first events and the modes of a run.
fn events_text(report: &SolveRecord) -> String {
    let mut text = String::new();
    let (Some(events), Some(modes)) = (&report.events, &report.modes) else {
        return text;
    };
    let (first, rest) = events.told();
    let listed: Vec<String> = first
        .map(|event| match event.condition.is_empty() {
            true => format!("t = {}", exact(event.time)),
            false => format!("t = {} ({})", exact(event.time), cut(&event.condition, 40)),
        })
        .collect();
    let rest = if rest > 0 { ", …" } else { "" };
    if !events.is_empty() {
        text.push_str(&wrapped(&format!(
            "{}: {}{rest}.",
            count(events.len(), "event"),
            listed.join(", ")
        )));
    }
    let (jumps, rest) = events.told_jumps();
    for event in jumps {
        text.push_str(&wrapped(&jump_text(&event)));
    }
    if rest > 0 {
        let more = count(rest, "more change");
        text.push_str(&wrapped(&format!(
            "{more} of mode with jumps: the document of --json lists all."
        )));
    }
    let mut seen = Vec::new();
    for mode in modes.iter() {
        if seen.contains(&mode.mode) {
            continue;
        }
        seen.push(mode.mode);
        if seen.len() > 6 {
            text.push_str(&wrapped("More modes are in the document of --json."));
            break;
        }
        let when = match mode.conditions.is_empty() {
            true => "the same equations throughout".to_string(),
            false => cut(&mode.conditions.join(" and "), 60),
        };
        let number = |n: Option<u64>| n.map_or("unknown".to_string(), |n| n.to_string());
        text.push_str(&wrapped(&format!(
            "Mode {} ({when}): index {}, degrees of freedom {}.",
            mode.mode,
            number(mode.index.map(|i| i as u64)),
            number(mode.dof)
        )));
    }
    text
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
            .map(|residual| magnitude(*residual))
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
        "steep" => "steep: a slope is infinite there, and the solution goes on",
        "unbounded" => "the solution grows without bound",
        "bifurcation" => {
            "a bifurcation: other solutions go through the same point, and nothing says which one goes on"
        }
        "family" => {
            "where infinitely many solutions run into the same point: what goes on behind it is not determined"
        }
        _ => "of unresolved nature",
    }
}

/// A time, with how far off it may be.
pub fn time_words(time: f64, uncertainty: Option<f64>) -> String {
    match uncertainty {
        Some(uncertainty) => format!("{} ± {uncertainty:.0e}", told_time(time)),
        None => told_time(time).to_string(),
    }
}

/// The energy along a run, in a sentence.
pub fn energy(found: &EnergyRecord) -> String {
    format!(
        "Energy T + V: {} at the start, {} at the end; it changes by {} at most.",
        short(found.start),
        short(found.end),
        magnitude(found.max_drift)
    )
}

/// The direction that a singularity leaves open, if it has few components.
pub fn open_direction(found: &SingularityRecord) -> Option<String> {
    let values = found.null_vector.iter();
    let values = values.filter_map(|(name, value)| Some((name, value.as_f64()?)));
    let open: Vec<String> = values
        .filter(|(_, value)| value.abs() > NO_COMPONENT)
        .map(|(name, value)| format!("{name}: {value:.4}"))
        .collect();
    (1..=MAX_LISTED)
        .contains(&open.len())
        .then(|| open.join(", "))
}

/// A singularity, explained.
pub fn singularity_text(found: &SingularityRecord) -> String {
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
        let locus = cut(locus, 160);
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
    if let Some(open) = open_direction(found) {
        text.push_str(&wrapped(&format!("open direction {open}")));
    }
    text
}
