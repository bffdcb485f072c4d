//! Singular configurations before any run: one document for programs, one page for people.

use crate::page;
use crate::passport::count;
use crate::start::tidy_number;
use daelight_lang::Model;
use daelight_singular::{
    Answer, Bounds, CaseWords, Conditions, Configuration, Level, PieceState, Region, Regions,
    Values,
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// Most entries of a list on a page; JSON has them all.
const MAX_LISTED: usize = 40;

/// Longest formula on a page; JSON has it whole.
const MAX_FORMULA: usize = 160;

/// Longest polynomial inside an inequality on a page.
const MAX_QUANTITY: usize = 60;

/// What `daelight singular --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct SingularReport {
    /// Name of the model.
    pub model: String,
    /// The constraints as written.
    pub constraints: Vec<String>,
    /// The unknowns of the constraints.
    pub unknowns: Vec<String>,
    /// The unknowns that are locked.
    pub locked: Vec<String>,
    /// The parameters that are kept as symbols.
    pub parameters: Vec<String>,
    /// The directions of the bodies, as angles.
    pub directions: Vec<String>,
    /// The ways to be singular.
    pub cases: Vec<SingularCaseRecord>,
    /// Whether these are all ways.
    pub cases_complete: bool,
    /// Single conditions on the symbols.
    pub locus: Vec<LocusFactorRecord>,
    /// Several conditions at once.
    pub components: Vec<LocusComponentRecord>,
    /// Polynomials at whose zeros there may be more.
    pub exceptional: Vec<String>,
    /// Where pieces have real configurations, over one or two symbols.
    pub regions: Vec<PieceRegionsRecord>,
    /// Numbers of real configurations of the whole mechanism, over one or two symbols.
    pub counts: Vec<RegionRecord>,
    /// Where the whole mechanism has at least so many, by inequalities; empty if they were not found.
    pub conditions: Vec<ConditionRecord>,
    /// What these inequalities bound.
    pub quantities: Vec<QuantityRecord>,
    /// Numbers on the curves between the regions and at the points where curves meet.
    pub curve_counts: Vec<CurveCountRecord>,
    /// The real singular configurations.
    pub configurations: Vec<ConfigurationRecord>,
    /// Pieces of positive dimension, with real configurations in them.
    pub sets: Vec<SingularSetRecord>,
    /// Real configurations that are a manifold, proved without a basis where bases took too long; otherwise `null`.
    pub manifold: Option<ManifoldRecord>,
    /// How many were found; `null` when symbols are kept.
    pub n_configurations: Option<usize>,
    /// Whether there is none; `null` when that is not decided or a matter of the symbols.
    pub empty: Option<bool>,
    /// `proved`, `observed` or `unknown`.
    pub verdict: &'static str,
    /// What the verdict rests on.
    pub certificate: String,
    /// Why something is not decided.
    pub reasons: Vec<String>,
    /// Whether the time was over.
    pub time_budget_reached: bool,
    /// What to know beside the answer.
    pub warnings: Vec<String>,
}

/// A way to be singular.
#[derive(Serialize, Debug, Clone)]
pub struct SingularCaseRecord {
    /// In words.
    pub text: String,
    /// Groups of aligned bodies.
    pub aligned: Vec<Vec<String>>,
    /// Bodies of fixed direction.
    pub fixed: Vec<String>,
    /// What carries force.
    pub force: Vec<String>,
    /// What carries none.
    pub no_force: Vec<String>,
    /// The conditions as equations.
    pub conditions: Vec<String>,
    /// The case that holds wherever this one does, from 1.
    pub contained_in: Option<usize>,
}

/// A condition on the symbols.
#[derive(Serialize, Debug, Clone)]
pub struct LocusFactorRecord {
    /// It vanishes.
    pub factor: String,
    /// Whether it can vanish with positive lengths; `false` is proved.
    pub physical: bool,
    /// Whether it is proved to be irreducible.
    pub irreducible: bool,
    /// The bodies that carry force.
    pub subsystem: Vec<String>,
    /// The cases, from 1.
    pub cases: Vec<usize>,
}

/// Several conditions on the symbols.
#[derive(Serialize, Debug, Clone)]
pub struct LocusComponentRecord {
    /// All of them vanish.
    pub generators: Vec<String>,
    /// Whether they can vanish with positive lengths; `false` is proved.
    pub physical: bool,
    /// The case, from 1.
    pub case: usize,
}

/// Where a piece has real configurations.
#[derive(Serialize, Debug, Clone)]
pub struct PieceRegionsRecord {
    /// The case, from 1.
    pub case: usize,
    /// The senses of its bodies, as equations.
    pub senses: Vec<String>,
    /// Complex points with their multiplicities, for general values.
    pub complex_points: usize,
    /// The number of real ones changes only where one of these vanishes.
    pub boundary: Vec<String>,
    /// Polynomials at whose zeros the numbers do not hold.
    pub exceptional: Vec<String>,
    /// The numbers by the signs of the boundary polynomials.
    pub counts: Vec<RegionRecord>,
    /// Where there are at least so many, by inequalities; empty if they were not found.
    pub conditions: Vec<ConditionRecord>,
    /// What these inequalities bound.
    pub quantities: Vec<QuantityRecord>,
}

/// Where there are at least so many real configurations, away from the curves between regions.
#[derive(Serialize, Debug, Clone)]
pub struct ConditionRecord {
    /// The number of real configurations.
    pub at_least: usize,
    /// The condition in one line.
    pub text: String,
    /// Lists of inequalities; all of one list hold.
    pub any_of: Vec<Vec<BoundsRecord>>,
}

/// Strict bounds of a quantity.
#[derive(Serialize, Debug, Clone)]
pub struct BoundsRecord {
    /// The quantity, as a polynomial in the symbols.
    pub quantity: String,
    /// It is larger; `null` if there is no such bound.
    pub above: Option<f64>,
    /// It is smaller; `null` if there is no such bound.
    pub below: Option<f64>,
}

/// A polynomial in the symbols, and the values at which numbers of configurations change.
#[derive(Serialize, Debug, Clone)]
pub struct QuantityRecord {
    /// The polynomial.
    pub quantity: String,
    /// The values, ascending.
    pub values: Vec<f64>,
    /// For each value a polynomial in `z` of which it is a root.
    pub root_of: Vec<String>,
}

/// Values of the symbols with the same number of real configurations.
#[derive(Serialize, Debug, Clone)]
pub struct RegionRecord {
    /// The signs of the boundary polynomials: `<` or `>`; empty for the whole mechanism.
    pub signs: Vec<&'static str>,
    /// Values of the symbols inside.
    pub sample: Map<String, Value>,
    /// The number of real configurations.
    pub count: usize,
    /// Cells of the division that have it.
    pub cells: usize,
}

/// The number of real configurations on arcs of curves, or at points.
#[derive(Serialize, Debug, Clone)]
pub struct CurveCountRecord {
    /// 1 on arcs, 0 at points.
    pub dimension: usize,
    /// The number of real configurations.
    pub count: usize,
    /// Values of the symbols there, rounded.
    pub sample: Map<String, Value>,
    /// The polynomials that vanish at the sample.
    pub curves: Vec<String>,
    /// Arcs or points that have it.
    pub cells: usize,
}

/// A piece of positive dimension.
#[derive(Serialize, Debug, Clone)]
pub struct SingularSetRecord {
    /// The case, from 1.
    pub case: usize,
    /// The dimension over the complex numbers.
    pub dimension: usize,
    /// The dimension of the real part next to a sample; `null` if that is not proved.
    pub real_dimension: Option<usize>,
    /// Whether it is proved to have no real configuration.
    pub empty: bool,
    /// Real configurations in it.
    pub samples: Vec<ConfigurationRecord>,
}

/// Real singular configurations that are a manifold.
#[derive(Serialize, Debug, Clone)]
pub struct ManifoldRecord {
    /// Its dimension.
    pub dimension: usize,
    /// Positions, cosines and sines at one of them.
    pub values: Map<String, Value>,
    /// Its angles, as those of a configuration.
    pub angles: Map<String, Value>,
}

/// A real singular configuration.
#[derive(Serialize, Debug, Clone)]
pub struct ConfigurationRecord {
    /// Positions, cosines and sines.
    pub values: Map<String, Value>,
    /// Angles in (-pi, pi]: those of the model where they are determined, otherwise those of the directions.
    pub angles: Map<String, Value>,
    /// Largest residual of the constraints, relative to their largest coefficient.
    pub residual: f64,
    /// Whether it is proved.
    pub certified: bool,
    /// Multiplicity of the point in its piece.
    pub multiplicity: u32,
    /// How much rank the Jacobian lacks, decided exactly; `null` if a limit came first.
    pub corank: Option<usize>,
    /// Half the width of a box of cosines, sines and positions that holds no other point of its piece; `null` if none was
    /// found.
    pub unique_within: Option<f64>,
    /// The cases, from 1.
    pub cases: Vec<usize>,
}

impl SingularReport {
    /// The document of an answer.
    pub fn new(model: &Model, answer: &Answer) -> Self {
        let constraints = &answer.mechanism.constraints;
        let name = |unknown: usize| model.unknowns[unknown].name.clone();
        let mut unknowns: Vec<usize> = constraints.angles.iter().map(|a| a.unknown).collect();
        unknowns.extend(constraints.positions.iter().map(|&(unknown, _)| unknown));
        unknowns.sort_unstable();
        let cases = answer.words.iter().zip(&answer.cases.list);
        let mut locus = Vec::new();
        let mut components = Vec::new();
        let mut exceptional = Vec::new();
        if let Some(found) = &answer.locus {
            for factor in &found.factors {
                let words = factor.cases.iter().map(|&case| &answer.words[case]);
                let smallest = words.min_by_key(|words| words.carrying.len());
                locus.push(LocusFactorRecord {
                    factor: answer.text(&factor.polynomial),
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
            exceptional = answer.texts(&found.exceptional);
        }
        let mut report = Self {
            model: model.name.clone(),
            constraints: constraints
                .rows
                .iter()
                .map(|row| model.equation_text(&model.equations[row.equation]))
                .collect(),
            unknowns: unknowns.into_iter().map(name).collect(),
            locked: constraints.locked.iter().map(|&u| name(u)).collect(),
            parameters: constraints
                .parameters
                .iter()
                .map(|&v| answer.ring.variables()[v].name.clone())
                .collect(),
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
            verdict: answer.verdict.word(),
            certificate: certificate(answer),
            reasons: answer.reasons.clone(),
            time_budget_reached: answer.time_budget_reached,
            warnings: constraints.warnings.clone(),
        };
        if let Some(found) = &answer.regions {
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
            report.regions = records.collect();
            report.counts = region_records(answer, found, &found.total);
            (report.conditions, report.quantities) =
                condition_records(answer, found.conditions.as_ref());
            let records = found.on_curves.iter().map(|on_curve| CurveCountRecord {
                dimension: on_curve.dimension,
                count: on_curve.count,
                sample: named(answer, found, &on_curve.sample),
                curves: answer.texts(&on_curve.curves),
                cells: on_curve.n_cells,
            });
            report.curve_counts = records.collect();
        }
        report
    }
}

fn condition_records(
    answer: &Answer,
    conditions: Option<&Conditions>,
) -> (Vec<ConditionRecord>, Vec<QuantityRecord>) {
    let Some(conditions) = conditions else {
        return (Vec::new(), Vec::new());
    };
    let quantities: Vec<QuantityRecord> = (conditions.quantities.iter())
        .map(|quantity| QuantityRecord {
            quantity: answer.text(&quantity.polynomial),
            values: quantity.levels.iter().map(Level::value).collect(),
            root_of: (quantity.levels.iter())
                .map(|level| level.minimal().text(|_, text| text.push('z')))
                .collect(),
        })
        .collect();
    let bounds = |bounds: &Bounds| {
        let quantity = &quantities[bounds.quantity];
        let value = |level: usize| quantity.values[level];
        BoundsRecord {
            quantity: quantity.quantity.clone(),
            above: bounds.above.map(value),
            below: bounds.below.map(value),
        }
    };
    let records = conditions.list.iter().map(|condition| {
        let any_of: Vec<Vec<BoundsRecord>> = (condition.any_of.iter())
            .map(|all| all.iter().map(bounds).collect())
            .collect();
        let texts: Vec<String> = any_of.iter().map(|all| inequalities(all, &|q| q)).collect();
        ConditionRecord {
            at_least: condition.at_least,
            text: texts.join(", or "),
            any_of,
        }
    });
    (records.collect(), quantities)
}

/// Inequalities that hold together, with names for the quantities.
fn inequalities<'a>(all: &'a [BoundsRecord], name: &dyn Fn(&'a str) -> &'a str) -> String {
    let each: Vec<String> = (all.iter())
        .map(|bounds| {
            let quantity = name(&bounds.quantity);
            match (bounds.above, bounds.below) {
                (Some(above), Some(below)) => format!("{above} < {quantity} < {below}"),
                (Some(above), None) => format!("{quantity} > {above}"),
                (None, Some(below)) => format!("{quantity} < {below}"),
                (None, None) => quantity.to_string(),
            }
        })
        .collect();
    match each.is_empty() {
        true => "everywhere".to_string(),
        false => each.join(" and "),
    }
}

fn region_records(answer: &Answer, regions: &Regions, found: &[Region]) -> Vec<RegionRecord> {
    let sign = |sign: &Ordering| match sign {
        Ordering::Less => "<",
        Ordering::Equal => "=",
        Ordering::Greater => ">",
    };
    found
        .iter()
        .map(|region| RegionRecord {
            signs: region.signs.iter().map(sign).collect(),
            sample: named(answer, regions, &region.sample_values()),
            count: region.count,
            cells: region.n_cells,
        })
        .collect()
}

/// Values of the symbols by their names.
fn named(answer: &Answer, regions: &Regions, values: &[f64]) -> Map<String, Value> {
    let name = |variable: usize| answer.ring.variables()[variable].name.clone();
    let pairs = regions.parameters.iter().zip(values);
    pairs.map(|(&v, &value)| (name(v), value.into())).collect()
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

/// Positions, cosines and sines; and the angles of the model where they are determined, otherwise those of the directions.
fn values_and_angles(model: &Model, answer: &Answer, found: &Values) -> [Map<String, Value>; 2] {
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
    match found.angles(mechanism) {
        Some(found) => {
            for (angle, value) in mechanism.constraints.angles.iter().zip(found) {
                angles.insert(model.unknowns[angle.unknown].name.clone(), value.into());
            }
        }
        None => {
            let vectors = found.unit_vectors(mechanism);
            for (direction, [c, s]) in mechanism.directions.iter().zip(vectors) {
                angles.insert(direction.name.clone(), s.atan2(c).into());
            }
        }
    }
    [values, angles]
}

fn configuration_records(
    model: &Model,
    answer: &Answer,
    configurations: &[Configuration],
) -> Vec<ConfigurationRecord> {
    let polynomials = answer.mechanism.polynomials();
    let is_certified = answer.verdict == daelight_singular::Verdict::Proved;
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

impl SingularReport {
    /// What the list of cases is.
    pub fn title_of_cases(&self) -> &'static str {
        let is_empty = self.cases.iter().all(|case| case.contained_in.is_some());
        match (is_empty, self.cases_complete) {
            (true, true) => "no case: the Jacobian has full rank everywhere",
            (true, false) => "no case was found before a limit was reached",
            (false, true) => "the Jacobian loses rank exactly in these cases",
            (false, false) => "the Jacobian loses rank in these cases, and perhaps in others",
        }
    }

    /// Whether there are pieces of positive dimension that may have real configurations.
    pub fn has_sets(&self) -> bool {
        self.sets.iter().any(|set| !set.empty) || self.manifold.is_some()
    }

    /// What was found, in a few words.
    pub fn found(&self) -> String {
        match (self.n_configurations, self.empty) {
            (Some(_), Some(true)) => "no real singular configuration".to_string(),
            (Some(n), _) if self.has_sets() => {
                let isolated = count(n, "further real configuration");
                format!("sets of singular configurations, and {isolated} found")
            }
            (Some(n), _) => format!("{} found", count(n, "real singular configuration")),
            (None, _) => "conditions on the symbols as above".to_string(),
        }
    }
}

/// What the verdict rests on.
fn certificate(answer: &Answer) -> String {
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
    if answer.locus.is_some() {
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
    let total = answer.n_excluded + answer.pieces.len();
    text.push_str(&format!(
        "; {}: {} without complex points, {} with {} in all",
        count(total, "piece"),
        answer.n_excluded + counts[0],
        counts[1],
        count(n_complex, "complex point"),
    ));
    if counts[3] > 0 {
        text.push_str(&format!(", {} of positive dimension", counts[3]));
    }
    if counts[2] > 0 {
        text.push_str(&format!(", {} undecided", counts[2]));
    }
    text
}

/// The page of an answer.
pub fn singular_page(report: &SingularReport) -> String {
    let mut lines = vec![format!(
        "{}: singular configurations of its constraints",
        report.model
    )];
    let list = |names: &[String]| names.join(", ");
    lines.push(format!(
        "  {} in {}",
        count(report.constraints.len(), "constraint"),
        list(&report.unknowns)
    ));
    for constraint in report.constraints.iter().take(MAX_LISTED) {
        lines.push(format!("    {constraint}"));
    }
    if !report.locked.is_empty() {
        lines.push(format!("  locked: {}", list(&report.locked)));
    }
    if !report.parameters.is_empty() {
        lines.push(format!("  kept as symbols: {}", list(&report.parameters)));
    }
    if !report.directions.is_empty() {
        lines.push(format!(
            "  directions of the bodies: {}",
            list(&report.directions)
        ));
    }
    let kept: Vec<(usize, &SingularCaseRecord)> = (1..)
        .zip(&report.cases)
        .filter(|(_, case)| case.contained_in.is_none())
        .collect();
    let end = if kept.is_empty() { "" } else { ":" };
    lines.push(format!("{}{end}", report.title_of_cases()));
    for (number, case) in kept.iter().take(MAX_LISTED) {
        lines.push(wrapped(&format!("{number}. {}", case.text)));
        for condition in &case.conditions {
            lines.push(format!("       {}", short(condition)));
        }
    }
    page_of_locus(report, &mut lines);
    page_of_regions(report, &mut lines);
    for (number, configuration) in (1..).zip(report.configurations.iter().take(MAX_LISTED)) {
        let title = format!("configuration {number}");
        lines.push(line_of_configuration(report, &title, configuration));
    }
    for set in report.sets.iter().take(MAX_LISTED) {
        lines.push(wrapped(&format!(
            "case {} holds on a set of dimension {}{}",
            set.case,
            set.dimension,
            match (set.empty, set.real_dimension) {
                (true, _) => ", without real configurations",
                (_, Some(_)) => ", over the real numbers too, such as at",
                _ if set.samples.is_empty() => " over the complex numbers",
                _ => " over the complex numbers, with real configurations such as",
            }
        )));
        for sample in &set.samples {
            lines.push(line_of_configuration(report, "  sample", sample));
        }
    }
    if let Some(found) = &report.manifold {
        let values = point_text(report, &found.angles, &found.values);
        lines.push(wrapped(&format!(
            "infinitely many real singular configurations: a manifold of dimension {}, proved next to {values}",
            found.dimension
        )));
    }
    let found = report.found();
    lines.push(format!("{found}; verdict: {}", report.verdict));
    lines.push(wrapped(&report.certificate));
    for reason in report.reasons.iter().take(MAX_LISTED) {
        lines.push(wrapped(&format!("not decided: {reason}")));
    }
    for warning in &report.warnings {
        lines.push(wrapped(&format!("note: {warning}")));
    }
    if report.time_budget_reached {
        lines.push("  the time budget was reached".to_string());
    }
    lines.join("\n") + "\n"
}

fn page_of_regions(report: &SingularReport, lines: &mut Vec<String>) {
    let told = |number: usize, sample: &Map<String, Value>, cells: String| {
        let sample: Vec<String> = (sample.iter())
            .map(|(name, value)| {
                let value = value.as_f64().unwrap_or(f64::NAN);
                format!("{name} = {}", tidy_number(value))
            })
            .collect();
        let number = count(number, "real configuration");
        format!("{number}, such as at {} ({cells})", sample.join(", "))
    };
    let in_cells =
        |region: &RegionRecord| told(region.count, &region.sample, count(region.cells, "cell"));
    for piece in &report.regions {
        let senses = match piece.senses.is_empty() {
            true => String::new(),
            false => format!(" with {}", piece.senses.join(", ")),
        };
        let title = format!(
            "case {}{senses}: up to {}",
            piece.case,
            count(piece.complex_points, "real configuration")
        );
        if !piece.conditions.is_empty() {
            lines.push(wrapped(&title));
            page_of_conditions(&piece.conditions, &piece.quantities, lines);
            continue;
        }
        if !piece.counts.iter().any(|region| region.count > 0) {
            lines.push(wrapped(&format!("{title}, none in open regions")));
            continue;
        }
        lines.push(wrapped(&format!("{title}, by the signs of")));
        for (number, p) in (1..).zip(&piece.boundary) {
            lines.push(format!("    p{number} = {}", short(p)));
        }
        for region in piece.counts.iter().take(MAX_LISTED) {
            let signs: Vec<String> = (1..)
                .zip(&region.signs)
                .map(|(number, sign)| format!("p{number} {sign} 0"))
                .collect();
            lines.push(format!("    {}: {}", signs.join(", "), in_cells(region)));
        }
    }
    if !report.counts.is_empty() {
        lines.push("in all, for general values:".to_string());
        lines.extend(
            report
                .counts
                .iter()
                .map(|region| format!("    {}", in_cells(region))),
        );
        if report.regions.len() > 1 {
            page_of_conditions(&report.conditions, &report.quantities, lines);
        }
    }
    for (dimension, title, noun) in [
        (1, "on the curves:", "arc"),
        (
            0,
            "at single points, most of them where curves meet:",
            "point",
        ),
    ] {
        let mut on_curves = report.curve_counts.iter();
        if on_curves.any(|record| record.dimension == dimension) {
            lines.push(title.to_string());
        }
        let records = report.curve_counts.iter().rev();
        for record in records.filter(|record| record.dimension == dimension) {
            let cells = count(record.cells, noun);
            let text = told(record.count, &record.sample, cells);
            lines.push(format!("    {text}"));
        }
    }
}

/// Real conditions, with short names for long quantities.
fn page_of_conditions(
    conditions: &[ConditionRecord],
    quantities: &[QuantityRecord],
    lines: &mut Vec<String>,
) {
    let mut names: Vec<(&str, String)> = Vec::new();
    for (number, record) in (1..).zip(quantities) {
        let text = record.quantity.as_str();
        if text.chars().count() <= MAX_QUANTITY {
            names.push((text, text.to_string()));
        } else {
            lines.push(format!("    q{number} = {}", short(text)));
            names.push((text, format!("q{number}")));
        }
    }
    let name = |quantity| {
        let named = names.iter().find(|(text, _)| *text == quantity);
        named.map_or(quantity, |(_, name)| name.as_str())
    };
    for condition in conditions {
        let mut lists = condition.any_of.iter();
        let first = lists.next().map(|all| inequalities(all, &name));
        lines.push(format!(
            "    at least {} where {}",
            condition.at_least,
            first.unwrap_or_default()
        ));
        for all in lists.by_ref().take(MAX_LISTED) {
            lines.push(format!("        or {}", inequalities(all, &name)));
        }
        if lists.len() > 0 {
            lines.push(format!(
                "        or {} more; --json lists them all",
                lists.len()
            ));
        }
    }
}

fn page_of_locus(report: &SingularReport, lines: &mut Vec<String>) {
    if !report.locus.is_empty() {
        lines
            .push("they occur, over the complex numbers, where one of these vanishes:".to_string());
    }
    let mut subsystem: Option<&[String]> = None;
    for factor in report.locus.iter().take(2 * MAX_LISTED) {
        if subsystem != Some(&factor.subsystem) {
            lines.push(format!("  with forces in {}", factor.subsystem.join(", ")));
            subsystem = Some(&factor.subsystem);
        }
        let remark = if factor.physical {
            ""
        } else {
            "   (not with positive lengths)"
        };
        lines.push(format!("    {}{remark}", short(&factor.factor)));
    }
    if report.locus.len() > 2 * MAX_LISTED {
        let more = report.locus.len() - 2 * MAX_LISTED;
        lines.push(format!("    and {more} more; --json lists them all"));
    }
    if !report.components.is_empty() {
        lines.push(format!(
            "  or where {} with a folded leg vanish together; --json lists them",
            count(report.components.len(), "set")
        ));
    }
    for p in report.exceptional.iter().take(MAX_LISTED) {
        lines.push(format!("  not decided where {} = 0", short(p)));
    }
}

fn line_of_configuration(
    report: &SingularReport,
    title: &str,
    configuration: &ConfigurationRecord,
) -> String {
    let values = point_text(report, &configuration.angles, &configuration.values);
    let cases: Vec<String> = configuration.cases.iter().map(usize::to_string).collect();
    wrapped(&format!("{title} (case {}): {values}", cases.join(", ")))
}

/// Angles and positions in one line.
fn point_text(
    report: &SingularReport,
    angles: &Map<String, Value>,
    values: &Map<String, Value>,
) -> String {
    let is_unknown = |(name, _): &(&String, &Value)| report.unknowns.contains(name);
    let told = (angles.iter().chain(values.iter().filter(is_unknown))).map(|(name, value)| {
        let value = value.as_f64().unwrap_or(f64::NAN);
        format!("{name} = {}", tidy_number(value))
    });
    told.collect::<Vec<String>>().join(", ")
}

/// A sentence as one or several lines.
fn wrapped(sentence: &str) -> String {
    page::wrapped(sentence).trim_end().to_string()
}

fn short(text: &str) -> String {
    if text.chars().count() <= MAX_FORMULA {
        return text.to_string();
    }
    let cut: String = text.chars().take(MAX_FORMULA).collect();
    format!("{cut}… ({} characters)", text.chars().count())
}
