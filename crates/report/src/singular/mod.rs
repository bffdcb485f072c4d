//! Singular configurations before any run: one document for programs, one page for people.

mod page;
mod records;
mod regions;

pub use page::singular_page;
pub use records::{
    ConditionRecord, ConfigurationRecord, CurveCountRecord, LocusComponentRecord,
    LocusFactorRecord, ManifoldRecord, PieceRegionsRecord, QuantityRecord, RegionRecord,
    SingularCaseRecord, SingularSetRecord,
};

use crate::words::count;
use daelight_lang::Model;
use daelight_singular::{Answer, CaseWords, Configuration, PieceState, Values};
use regions::{condition_records, named, region_records};
use serde::Serialize;
use serde_json::{Map, Value};

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

impl SingularReport {
    /// The document of an answer.
    pub fn new(model: &Model, answer: &Answer) -> Self {
        let constraints = &answer.mechanism.constraints;
        let name = |unknown: usize| model.unknowns[unknown].name.clone();
        let mut unknowns: Vec<usize> = constraints.angles.iter().map(|a| a.unknown).collect();
        unknowns.extend(constraints.positions.iter().map(|&(unknown, _)| unknown));
        unknowns.sort_unstable();
        let cases = answer.words.iter().zip(&answer.cases.list);
        let (locus, components, exceptional) = locus_records(answer);
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
        report.add_regions(answer);
        report
    }

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

    /// Adds the numbers of configurations over the symbols.
    fn add_regions(&mut self, answer: &Answer) {
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
        self.regions = records.collect();
        self.counts = region_records(answer, found, &found.total);
        (self.conditions, self.quantities) = condition_records(answer, found.conditions.as_ref());
        let records = found.on_curves.iter().map(|on_curve| CurveCountRecord {
            dimension: on_curve.dimension,
            count: on_curve.count,
            sample: named(answer, found, &on_curve.sample),
            curves: answer.texts(&on_curve.curves),
            cells: on_curve.n_cells,
        });
        self.curve_counts = records.collect();
    }
}

/// Conditions on the symbols: single ones, several that hold together, and where nothing was decided.
fn locus_records(
    answer: &Answer,
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
    let found = found.angles(mechanism);
    for (angle, value) in mechanism.constraints.angles.iter().zip(found) {
        angles.insert(model.unknowns[angle.unknown].name.clone(), value.into());
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
