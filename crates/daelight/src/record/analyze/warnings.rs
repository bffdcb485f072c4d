//! What to know beside the numbers of a passport, in sentences.

use crate::floating::without_ground;
use crate::tolerances::SAME;
use daelight_analysis::decide::{IndexVerdict, Support};
use daelight_analysis::initial::NoPoint;
use daelight_analysis::interval::{self, IntervalAnalysis, SolvabilityLevel};
use daelight_analysis::passport::{MAX_NUMERICAL, Passport, PointVerdict, Regularity, RepairPart};
use daelight_analysis::{System, initial};
use daelight_lang::Symbol;
use daelight_show::{count, cut, magnitude, short};

/// Most steps of a repair that a sentence names.
const MAX_STEPS: usize = 4;

fn list_equations(system: &System, equations: &[usize]) -> String {
    let texts = equations.iter().take(6).map(|&i| {
        let line = system.equation_line(i);
        format!("`{}` (line {line})", cut(&system.equation_text(i), 60))
    });
    let mut text = texts.collect::<Vec<_>>().join(", ");
    if equations.len() > 6 {
        text.push_str(&format!(" and {} more", equations.len() - 6));
    }
    text
}

/// What to know of a start from which no run begins: without advice on the options of `analyze`.
pub(in crate::record) fn warnings_of_start(system: &System, passport: &Passport) -> Vec<String> {
    let mut warnings = Vec::new();
    if passport.point.is_err() {
        // There is no point that anything else could be said of.
        match passport.edges.is_empty() {
            true => point_warnings(system, passport, &mut warnings),
            false => verdict_warnings(system, passport, "", &mut warnings),
        }
        return warnings;
    }
    verdict_warnings(system, passport, "", &mut warnings);
    other_warnings(system, passport, &mut warnings);
    warnings
}

pub(in crate::record) fn warnings(system: &System, passport: &Passport) -> Vec<String> {
    let mut warnings = Vec::new();
    let divisor = match &passport.point {
        Err(NoPoint::Fault(initial::ArrayFault::Equation(fault))) => system.zero_divisor(fault),
        _ => None,
    };
    let advice = match (&passport.verdict, divisor) {
        (_, Some((parameters, divisor))) => format!(
            " Give {} another value: `{divisor}` is 0 and stands in a denominator.",
            parameters.join(" or ")
        ),
        (PointVerdict::Singular { .. }, _) => {
            " `daelight analyze --at` looks beside it.".to_string()
        }
        _ => " `daelight analyze` takes another point with --at or --point.".to_string(),
    };
    verdict_warnings(system, passport, &advice, &mut warnings);
    other_warnings(system, passport, &mut warnings);
    warnings.extend(crate::analyze::silent_inputs(system));
    warnings.extend(constants_of_components(system));
    warnings
}

/// Values of components that rest during a run, such as lengths that initial equations determine: they count among what is free.
fn constants_of_components(system: &System) -> Option<String> {
    let equations = system.equations();
    let resting = equations.residuals().iter().filter_map(|&residual| {
        let symbol = equations.graph().as_symbol(residual)?;
        match equations.symbols().get(symbol) {
            Symbol::Unknown { unknown, order: 1 } => Some(&system.unknowns()[unknown].name),
            _ => None,
        }
    });
    let names: Vec<&str> = resting
        .map(String::as_str)
        .filter(|name| name.contains('.'))
        .collect();
    let shown = names.iter().take(MAX_STEPS).copied();
    let shown = shown.collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "Of the degrees of freedom {} found at the start and rest{} during a run: {shown}{}.",
            if names.len() == 1 {
                "1 is".to_string()
            } else {
                format!("{} are", names.len())
            },
            if names.len() == 1 { "s" } else { "" },
            if names.len() > MAX_STEPS { ", …" } else { "" },
        )
    })
}

/// What to know beside the kind of point.
fn other_warnings(system: &System, passport: &Passport, warnings: &mut Vec<String>) {
    point_warnings(system, passport, warnings);
    if passport.structural.is_none() {
        let (m, n) = (
            system.equations().n_equations(),
            system.equations().n_unknowns(),
        );
        warnings.push(format!(
            "{} for {}: there is no structural, differentiation or tractability index; the strangeness quantities tell what is free and what is redundant.",
            count(m, "equation"),
            count(n, "unknown")
        ));
    }
    if let Some(Err(singular)) = &passport.structural {
        warnings.push(format!(
            "No unknown can be matched with each equation: {singular}. `daelight check` shows the parts."
        ));
    }
    if passport.budget_reached {
        warnings.push(
            "The budget ended the analysis; what is left open may be decided with more time (--budget)."
                .to_string(),
        );
    }
    structure_warnings(system, passport, warnings);
    linear_warnings(passport, warnings);
    if let Some(indices) = passport.indices() {
        let (u, v) = (indices.strangeness.n_free, indices.strangeness.n_redundant);
        if passport.structural.is_some() && (u > 0 || v > 0) {
            // A linear system that leaves 0 = 0 holds nothing that could contradict.
            let linear = passport.linear.as_ref();
            let is_redundant = linear.is_some_and(|linear| {
                !linear.conditions.is_empty() && linear.conditions.iter().all(|c| c.is_identity)
            });
            let what = match is_redundant {
                true => "redundant",
                false => "redundant or contradictory",
            };
            warnings.push(format!(
                "The equations do not determine the unknowns: {} free, {} {what}. There is no differentiation or tractability index.",
                count(u, "unknown"),
                count(v, "equation")
            ));
        }
    }
    warnings.extend(support_warning(passport).map(str::to_string));
}

/// What kind of point it is, where that has to be told.
fn verdict_warnings(
    system: &System,
    passport: &Passport,
    advice: &str,
    warnings: &mut Vec<String>,
) {
    let time = passport.time;
    match &passport.verdict {
        PointVerdict::Regular => {
            // Where a repair holds, the ranks are those on the constraints, and other points are not consistent.
            let is_repaired = passport
                .structure()
                .is_some_and(|part| matches!(part.repair, RepairPart::Repaired(_)));
            if let Ok(part) = &passport.numerical
                && let Some(kind) = part.kind
                && !is_repaired
            {
                warnings.push(format!(
                    "The kind of this model depends on the point: these ranks hold on a set that this solution stays in, beside it they are larger (kind {kind}). Other solutions may pass through the point and leave that set."
                ));
            }
        }
        PointVerdict::Singular { .. } if !passport.edges.is_empty() => {
            for edge in &passport.edges {
                warnings.push(format!(
                    "t = {time} is a singular point: {}.",
                    edge.sentence()
                ));
            }
        }
        PointVerdict::Singular { kind } => {
            let kind = kind.map_or(String::new(), |kind| format!(" of kind {kind}"));
            warnings.push(format!(
                "t = {time} is a singular point{kind}: ranks change there, so no index exists at it.{advice}"
            ));
        }
        PointVerdict::Unknown { because } => {
            let size = system
                .equations()
                .n_unknowns()
                .max(system.equations().n_equations());
            let rest = if size > MAX_NUMERICAL {
                " The structural index holds where the system Jacobian is nonsingular."
            } else {
                advice
            };
            warnings.push(format!(
                "No index is claimed at t = {time}: {because}.{rest}"
            ));
        }
    }
}

/// Conditions and exceptional times of a linear model.
fn linear_warnings(passport: &Passport, warnings: &mut Vec<String>) {
    let Some(linear) = &passport.linear else {
        return;
    };
    let time = passport.time;
    if let Some(consistency) = linear.consistency.as_ref().filter(|c| c.n_conditions > 0) {
        warnings.push(format!("A linear system with {consistency}."));
        for condition in linear.conditions.iter().filter(|c| !c.is_identity) {
            if let Some(text) = &condition.text {
                warnings.push(format!("The condition: {text} = 0, {}.", condition.origin));
            }
        }
    }
    if let Some(around) = &linear.around {
        let here = |point: &&interval::ExceptionalPoint| {
            (point.time - time).abs() <= SAME * (1.0 + time.abs())
        };
        if let Some(point) = around.exceptional.iter().find(here) {
            warnings.push(format!("A linear system: {}.", point.what));
        }
        warnings.extend(interval_warnings(around));
    }
}

/// What the answer at a regular point rests on, if not on everything.
fn support_warning(passport: &Passport) -> Option<&'static str> {
    let part = passport.numerical.as_ref().ok()?;
    let IndexVerdict::Regular(answer) = &part.decision.outcome else {
        return None;
    };
    if passport.verdict != PointVerdict::Regular {
        return None;
    }
    match answer.support {
        Support::ReductionAndArray => None,
        Support::Reduction => Some(
            "The derivative array has no clear ranks here; the answer rests on the reduction, whose gaps are clear.",
        ),
        Support::Array => {
            Some("The reduction has no clear ranks here; the answer rests on the derivative array.")
        }
        Support::DoubleDouble => {
            Some("Double precision decided nothing; the answer rests on twice the digits.")
        }
    }
}

/// Which hypotheses of Kunkel and Mehrmann hold on an interval, and what was not examined.
pub(super) fn interval_warnings(found: &IntervalAnalysis) -> Vec<String> {
    let mut warnings = Vec::new();
    let index = found
        .greatest_index
        .map_or("not decided".to_string(), |mu| mu.to_string());
    let level = match found.level {
        SolvabilityLevel::StrangenessIndex => {
            "the strangeness index is defined on the whole interval (level C.0)".to_string()
        }
        SolvabilityLevel::B => {
            "hypothesis A.3 holds and nothing contradicts B.3 (level B); the strangeness index is not defined on the whole interval".to_string()
        }
        SolvabilityLevel::A => {
            "hypothesis A.3 holds, B.3 does not (level A); the strangeness index is not defined on the whole interval".to_string()
        }
        SolvabilityLevel::None => "hypothesis A.3 does not hold on the interval".to_string(),
        SolvabilityLevel::Unknown => "which hypothesis holds is not decided".to_string(),
    };
    warnings.push(format!("mu-hat = {index}: {level}."));
    warnings.extend(found.reasons.iter().cloned());
    warnings.extend(found.warnings.iter().cloned());
    for (from, to) in &found.open {
        warnings.push(format!("Between t = {from} and {to} nothing is claimed."));
    }
    warnings
}

fn point_warnings(system: &System, passport: &Passport, warnings: &mut Vec<String>) {
    match &passport.point {
        Ok(point) => {
            warnings.extend(point.sides().iter().filter_map(|pin| {
                let text = system.text(pin.expr, 80)?;
                Some(format!(
                    "The point lies on the switch `{text}`; what is told holds on the side of later times."
                ))
            }));
            let sizes = initial::nominal(system);
            let far = |(j, value): (usize, &f64)| {
                let unknown = &system.unknowns()[j];
                let start = unknown.start?;
                let apart = (value - start).abs() / sizes[j].max(start.abs());
                (apart > SAME).then_some((apart, j, start, *value))
            };
            let moved: Vec<_> = point.jet.values().iter().enumerate().filter_map(far).collect();
            let most = moved.iter().max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((_, j, start, value)) = most {
                warnings.push(format!(
                    "The start values are not consistent; the closest consistent point was taken ({} moved, {} most: {start} to {}).",
                    count(moved.len(), "value"),
                    system.unknowns()[*j].name,
                    short(*value)
                ));
            }
        }
        Err(NoPoint::Stalled { residual, row, .. }) => {
            let place = match row {
                initial::Row::Equation { equation, order } => {
                    let text = cut(&system.equation_text(*equation), 60);
                    let line = system.equation_line(*equation);
                    match order {
                        0 => format!("`{text}` (line {line})"),
                        1 => format!("the derivative of `{text}` (line {line})"),
                        k => {
                            let nth = daelight_show::ordinal(*k);
                            format!("the {nth} derivative of `{text}` (line {line})")
                        }
                    }
                }
                initial::Row::Initial { .. } => "an initial equation".to_string(),
                initial::Row::Value { unknown, .. } => {
                    format!("the fixed value of {}", system.unknowns()[*unknown].name)
                }
            };
            let why = match residual.is_finite() {
                true => format!("keeps a relative residual of {}", magnitude(*residual)),
                false => "does not determine its unknowns there".to_string(),
            };
            warnings.push(format!(
                "No consistent point was found near the start values: {place} {why}."
            ));
        }
        Err(NoPoint::Budget { residual }) => warnings.push(format!(
            "The search for a consistent point ended with its budget, at a relative residual of {residual:.1e}."
        )),
        Err(NoPoint::TooLarge { rows }) => warnings.push(format!(
            "A consistent point was not looked for: {rows} conditions are more than {}.",
            initial::MAX_DENSE_ROWS
        )),
        Err(NoPoint::Fault(fault)) => {
            let sentence = match fault {
                initial::ArrayFault::Equation(fault) => system.explain(fault).sentence,
                initial::ArrayFault::Initial(fault) => system.explain_initial(fault).sentence,
            };
            warnings.push(format!("An equation or a derivative of it has no value at the start values: {sentence}"));
        }
    }
}

/// What became of a structure that does not hold.
fn repair_warning(system: &System, repair: &RepairPart) -> Option<String> {
    match repair {
        RepairPart::Repaired(repaired) => {
            let steps = repaired.steps();
            let what = if steps.len() <= MAX_STEPS {
                format!(": {}", repaired.text().trim_end_matches('.'))
            } else {
                format!(" in {} steps, which --json lists", steps.len())
            };
            Some(format!(
                "The structure was repaired to index {} (dof {}){what}.",
                repaired.structural_index(),
                repaired.n_degrees_of_freedom(),
            ))
        }
        RepairPart::Unverified(repaired) => Some(format!(
            "The formulas of singular loci come from a repair that this point does not confirm: {}.",
            repaired.text().trim_end_matches('.')
        )),
        RepairPart::Failed(because) => Some(match without_ground(system) {
            Some(found) => format!(
                "Undetermined: {}. To mend it, {}.",
                found.message,
                found.help.unwrap_or_default()
            ),
            None => format!(
                "The structure could not be repaired: {because}. Formulas of singular loci are therefore missing."
            ),
        }),
        RepairPart::NotNeeded => None,
    }
}

fn structure_warnings(system: &System, passport: &Passport, warnings: &mut Vec<String>) {
    let Some(part) = passport.structure() else {
        return;
    };
    let structure = &part.structure;
    let (index, dof) = (
        structure.structural_index(),
        structure.n_degrees_of_freedom(),
    );
    let believed = passport
        .indices()
        .and_then(|indices| Some((indices.differentiation_index?, indices)));
    match &part.regularity {
        Regularity::SingularEverywhere(blocks) => {
            let equations: Vec<usize> = blocks
                .iter()
                .flat_map(|rank| structure.blocks()[rank.block].equations.iter().copied())
                .collect();
            let rest = match believed {
                Some((nu, indices)) => format!(
                    " Believe the differentiation index {nu} with {}, which rests on ranks at the point.",
                    count(indices.strangeness.n_differential, "degree") + " of freedom"
                ),
                None => String::new(),
            };
            warnings.push(format!(
                "The structural index {index} (dof {dof}) means nothing here: the system Jacobian is singular at every point tried, in the block of {}.{rest}",
                list_equations(system, &equations)
            ));
            warnings.extend(repair_warning(system, &part.repair));
        }
        Regularity::SingularHere(blocks) => {
            for rank in blocks {
                let block = &structure.blocks()[rank.block];
                let values = &rank.decision.values;
                warnings.push(format!(
                    "The system Jacobian is singular at the point, in the block of {}: rank {} of {}, smallest singular value {}.",
                    list_equations(system, &block.equations),
                    rank.decision.rank,
                    block.equations.len(),
                    magnitude(values.last().copied().unwrap_or(f64::NAN))
                ));
            }
        }
        Regularity::Unknown(because) => warnings.push(format!(
            "Whether the structure holds at the point is not decided: {because}."
        )),
        Regularity::Regular => {
            if let Some((nu, _)) = believed
                && nu != index
            {
                warnings.push(format!(
                    "The structural index {index} is an upper bound only; the differentiation index is {nu}."
                ));
            }
        }
    }
}
