//! The record of singular configurations.

mod regions;

use crate::drawing::Drawing;
use daelight_algebra::{Polynomial, RBig, integer};
use daelight_lang::{Equation, Model, Origin, PARAGRAPH};
use daelight_show::page::MAX_DRAWN;
use daelight_show::record::{
    ConfigurationRecord, CurveCountRecord, LocusComponentRecord, LocusFactorRecord, ManifoldRecord,
    PieceRegionsRecord, SingularCaseRecord, SingularRecord, SingularSetRecord,
};
use daelight_show::scene::{Frame, Scene};
use daelight_show::{count, tidy_number};
use daelight_singular::{CaseWords, Configuration, Coordinates, PieceState, SingularAnswer};
use regions::{condition_records, named, region_records};
use serde_json::{Map, Value};

/// The record of an answer.
pub fn singular(model: &Model, answer: &SingularAnswer) -> SingularRecord {
    let constraints = &answer.mechanism.constraints;
    let name = |unknown: usize| model.unknowns[unknown].name.clone();
    let symbol = |&v: &usize| answer.ring.variables()[v].name.clone();
    let mut unknowns: Vec<usize> = constraints.angles.iter().map(|a| a.unknown).collect();
    unknowns.extend(constraints.positions.iter().map(|&(unknown, _)| unknown));
    unknowns.sort_unstable();
    let cases = answer.words.iter().zip(&answer.cases.list);
    let (locus, components, exceptional) = locus_records(answer);
    let mut record = SingularRecord {
        model: model.name.clone(),
        constraints: constraints
            .rows
            .iter()
            .map(|row| formula(model, &model.equations[row.equation]))
            .collect(),
        unknowns: unknowns.into_iter().map(name).collect(),
        locked: constraints.locked.iter().map(|&u| name(u)).collect(),
        parameters: constraints.parameters.iter().map(symbol).collect(),
        positive: answer.lengths().iter().map(symbol).collect(),
        directions: answer
            .mechanism
            .directions
            .iter()
            .map(|direction| direction.name.clone())
            .collect(),
        cases: cases
            .map(|(words, case)| case_record(words, case.contained_in))
            .collect(),
        cases_complete: answer.cases.is_complete(),
        always: always(answer),
        locus,
        components,
        exceptional,
        regions: Vec::new(),
        counts: Vec::new(),
        conditions: Vec::new(),
        quantities: Vec::new(),
        curve_counts: Vec::new(),
        configurations: configuration_records(model, answer, &answer.configurations),
        sets: (answer.sets.iter())
            .map(|set| SingularSetRecord {
                case: answer.pieces[set.piece].case + 1,
                dimension: set.dimension,
                real_dimension: set.real_dimension,
                empty: set.is_empty,
                samples: configuration_records(model, answer, &set.samples),
            })
            .collect(),
        manifold: (answer.manifold.as_ref()).map(|found| {
            let [values, angles] = values_and_angles(model, answer, &found.values);
            ManifoldRecord {
                dimension: found.dimension,
                values,
                angles,
            }
        }),
        n_configurations: answer
            .locus
            .is_none()
            .then_some(answer.configurations.len()),
        empty: answer.is_empty(),
        has_solutions: answer.has_solutions,
        verdict: answer.verdict.word(),
        certificate: certificate(answer),
        reasons: answer.reasons.clone(),
        time_budget_reached: answer.time_budget_reached,
        warnings: constraints.warnings.clone(),
        has_drawing: false,
        scene: None,
    };
    add_regions(&mut record, answer);
    if let Some(drawing) = Drawing::of(model) {
        record.has_drawing = true;
        record.scene = configurations_scene(&drawing, model, &record);
    }
    record
}

/// The mechanism in the first configurations, then in samples of sets of them.
fn configurations_scene(
    drawing: &Drawing<'_>,
    model: &Model,
    record: &SingularRecord,
) -> Option<Scene> {
    let time = model.experiment.start_time.unwrap_or(0.0);
    let samples = record.sets.iter().flat_map(|set| &set.samples);
    let frames: Vec<Frame> = (record.configurations.iter())
        .chain(samples)
        .take(MAX_DRAWN)
        .map(|found| {
            let value = |name: &str| found.angles.get(name).or_else(|| found.values.get(name));
            drawing.frame_of_named(time, |name| value(name).and_then(Value::as_f64))
        })
        .collect();
    drawing.scene(vec![time; frames.len()], frames, &[])
}

/// Adds the numbers of configurations over the symbols.
fn add_regions(to: &mut SingularRecord, answer: &SingularAnswer) {
    let Some(found) = &answer.regions else {
        return;
    };
    let records = found.pieces.iter().map(|piece| {
        let (conditions, quantities) = condition_records(answer, piece.conditions.as_ref());
        PieceRegionsRecord {
            case: piece.case + 1,
            senses: piece.senses.clone(),
            complex_points: piece.form.degree,
            boundary: answer.texts(&piece.boundary),
            exceptional: answer.texts(&piece.form.exceptional),
            counts: region_records(answer, found, &piece.regions),
            conditions,
            quantities,
        }
    });
    to.regions = records.collect();
    to.counts = region_records(answer, found, &found.total);
    (to.conditions, to.quantities) = condition_records(answer, found.conditions.as_ref());
    let records = found.on_curves.iter().map(|on_curve| CurveCountRecord {
        dimension: on_curve.dimension,
        count: on_curve.count,
        sample: named(answer, found, &on_curve.sample),
        curves: answer.texts(&on_curve.curves),
        cells: on_curve.n_cells,
    });
    to.curve_counts = records.collect();
}

/// Cases that need no condition on the symbols, by number.
fn always(answer: &SingularAnswer) -> Vec<usize> {
    let locus = answer.locus.iter();
    let cases = locus.flat_map(|locus| locus.always.iter());
    cases.map(|case| case + 1).collect()
}

/// Conditions on the symbols: single ones, several that hold together, and where nothing was decided.
fn locus_records(
    answer: &SingularAnswer,
) -> (
    Vec<LocusFactorRecord>,
    Vec<LocusComponentRecord>,
    Vec<String>,
) {
    let Some(found) = &answer.locus else {
        return Default::default();
    };
    let (mut locus, mut components) = (Vec::new(), Vec::new());
    for factor in &found.factors {
        let words = factor.cases.iter().map(|&case| &answer.words[case]);
        let smallest = words.min_by_key(|words| words.carrying.len());
        locus.push(LocusFactorRecord {
            factor: answer.text(&factor.polynomial),
            condition: condition(answer, &factor.polynomial),
            physical: factor.is_physical,
            irreducible: factor.is_irreducible,
            subsystem: smallest
                .map(|words| words.carrying.clone())
                .unwrap_or_default(),
            cases: factor.cases.iter().map(|case| case + 1).collect(),
        });
    }
    for component in &found.components {
        components.push(LocusComponentRecord {
            generators: answer.texts(&component.conditions),
            physical: component.is_physical,
            case: component.case + 1,
        });
    }
    let exceptional = answer.texts(&found.exceptional);
    (locus, components, exceptional)
}

/// That a polynomial vanishes, as an equation: solved where it is linear in its only symbol.
fn condition(answer: &SingularAnswer, p: &Polynomial) -> String {
    if let [variable] = p.variables()[..]
        && p.degree(variable) == 1
        && answer.ring.square(variable).is_none()
    {
        let value = |at: i32| integer::rational_to_f64(&p.evaluate(|_| RBig::from(at)));
        let (at_zero, at_one) = (value(0), value(1));
        let name = &answer.ring.variables()[variable].name;
        let zero = -at_zero / (at_one - at_zero);
        return format!("{name} = {}", tidy_number(zero + 0.0));
    }
    format!("{} = 0", answer.text(p))
}

fn case_record(words: &CaseWords, contained_in: Option<usize>) -> SingularCaseRecord {
    SingularCaseRecord {
        text: words.sentence(),
        aligned: words.aligned.clone(),
        fixed: words.fixed.clone(),
        force: words.carrying.clone(),
        no_force: words.free.clone(),
        conditions: words.conditions.clone(),
        contained_in: contained_in.map(|case| case + 1),
    }
}

/// Positions, cosines and sines; and the angles of the model.
fn values_and_angles(
    model: &Model,
    answer: &SingularAnswer,
    found: &Coordinates,
) -> [Map<String, Value>; 2] {
    let mechanism = &answer.mechanism;
    let mut values = Map::new();
    for (variable, value) in found.0.iter().enumerate() {
        if let Some(value) = *value
            && answer.ring.is_unknown(variable)
        {
            let name = answer.ring.variables()[variable].name.clone();
            values.insert(name, value.into());
        }
    }
    let mut angles = Map::new();
    let found = found.angles(mechanism);
    for (angle, value) in mechanism.constraints.angles.iter().zip(found) {
        let name = &model.unknowns[angle.unknown].name;
        let name = match angle.shift.value {
            Some(_) => name.clone(),
            None => format!("{name}{}", angle.shift.text),
        };
        angles.insert(name, value.into());
    }
    [values, angles]
}

fn configuration_records(
    model: &Model,
    answer: &SingularAnswer,
    configurations: &[Configuration],
) -> Vec<ConfigurationRecord> {
    let polynomials = answer.mechanism.polynomials();
    let is_certified = answer.verdict == daelight_singular::SingularVerdict::Proved;
    let mut records = Vec::new();
    for configuration in configurations {
        let [values, angles] = values_and_angles(model, answer, &configuration.values);
        let mut cases: Vec<usize> = configuration
            .pieces
            .iter()
            .map(|&piece| answer.pieces[piece].case + 1)
            .collect();
        cases.dedup();
        records.push(ConfigurationRecord {
            values,
            angles,
            residual: configuration.values.residual(&polynomials),
            certified: is_certified,
            multiplicity: configuration.point.multiplicity(),
            corank: configuration.corank,
            unique_within: configuration.unique_within,
            cases,
        });
    }
    records
}

/// What the verdict rests on.
fn certificate(answer: &SingularAnswer) -> String {
    let kept = answer.cases.kept().count();
    let mut text = format!(
        "{} of {}",
        count(kept, "case"),
        count(answer.cases.list.len(), "flat")
    );
    text.push_str(if answer.cases.is_proved {
        ", decided exactly"
    } else {
        ", found at random values modulo a prime of 61 bits"
    });
    let total = answer.n_excluded + answer.pieces.len();
    if answer.locus.is_some() || total == 0 {
        return text;
    }
    let mut counts = [0; 4];
    let mut n_complex = 0;
    for state in &answer.states {
        match state {
            PieceState::Excluded | PieceState::Empty => counts[0] += 1,
            PieceState::Finite { n_complex: n, .. } => {
                counts[1] += 1;
                n_complex += n;
            }
            PieceState::Infinite { .. } => counts[3] += 1,
            PieceState::Undecided(_) => counts[2] += 1,
        }
    }
    let mut solved = Vec::new();
    match (counts[1], n_complex) {
        (0, _) => {}
        (1, n) => solved.push(format!("1 has {}", count(n, "complex solution"))),
        (with, n) => solved.push(format!(
            "{with} have {} in all",
            count(n, "complex solution")
        )),
    }
    match counts[3] {
        0 => {}
        1 => solved.push("1 has infinitely many".to_string()),
        with => solved.push(format!("{with} have infinitely many")),
    }
    if counts[2] > 0 {
        solved.push(format!("{} undecided", counts[2]));
    }
    if solved.is_empty() {
        solved.push("none has a solution, real or complex".to_string());
    }
    let solved = solved.join(", ");
    format!("{text}; {} of equations: {solved}", count(total, "set"))
}

/// A constraint as a formula; those of `lagrange` have no text of their own.
fn formula(model: &Model, equation: &Equation) -> String {
    let side = |expr| model.text(expr, PARAGRAPH);
    match (&equation.origin, side(equation.left), side(equation.right)) {
        (Origin::Constraint { .. }, Ok(left), Ok(right)) => format!("{left} = {right}"),
        _ => model.equation_text(equation),
    }
}
