//! The passport of a model: one document for programs, one page for people.

use crate::page::short;
use crate::spectrum::{EigenvalueRecord, PathRecord, spectrum_words};
use daelight_analysis::decide::{Outcome, Support};
use daelight_analysis::initial::NoPoint;
use daelight_analysis::interval::{self, IntervalAnalysis, SolvabilityLevel};
use daelight_analysis::passport::{
    BlockRank, MAX_NUMERICAL, Passport, PointVerdict, Regularity, RepairPart, StructuralPart,
};
use daelight_analysis::singular_loci::SingularLocus;
use daelight_analysis::smoothness::Path;
use daelight_analysis::spectrum::Spectrum;
use daelight_analysis::structure::Structure;
use daelight_analysis::{System, initial};
use daelight_linalg::Mat;
use serde::Serialize;
use serde_json::{Map, Number, Value};

/// Most unknowns for which matrices are part of the document without being asked for.
const SMALL: usize = 30;

/// Most steps of a repair that a sentence names.
const MAX_STEPS: usize = 4;

/// What `daelight analyze --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct AnalyzeReport {
    /// Name of the model.
    pub model: String,
    /// Number of equations, as written.
    pub n_equations: usize,
    /// Number of unknowns, velocities named by `lagrange` included.
    pub n_unknowns: usize,
    /// Time of the point.
    pub time: f64,
    /// What the pattern of the equations tells; `null` when equations and unknowns do not match.
    pub structural: Option<StructuralRecord>,
    /// The differentiation index and its evidence.
    pub differentiation: DifferentiationRecord,
    /// The tractability index.
    pub tractability: TractabilityRecord,
    /// The strangeness index and its quantities.
    pub strangeness: StrangenessRecord,
    /// Unknowns whose values can be chosen together.
    pub free: Vec<String>,
    /// At which level each unknown is determined.
    pub decoupling: Vec<DecouplingRecord>,
    /// Conditions that follow by differentiation.
    pub hidden_constraints: Vec<HiddenRecord>,
    /// Where the model can become singular.
    pub singular_loci: Vec<LocusRecord>,
    /// The singularity at the point, if it is one.
    pub critical: Option<CriticalRecord>,
    /// Subintervals of constant quantities, with `--interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Vec<IntervalRecord>>,
    /// Points between them, with `--interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceptional: Option<Vec<ExceptionalRecord>>,
    /// Prescribed motions: how often they are differentiated, and how smooth they are.
    pub paths: Vec<PathRecord>,
    /// Finite eigenvalues of the linearised equations, with `--eigenvalues`; `null` if they are not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eigenvalues: Option<Option<Vec<EigenvalueRecord>>>,
    /// Whether all of them decay, with `--eigenvalues`; `null` if that is not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_phase: Option<Option<bool>>,
    /// The same in words, for the page.
    #[serde(skip)]
    pub spectrum_words: Option<String>,
    /// The consistent values at the point, in the order of the model.
    pub point: Map<String, Value>,
    /// `regular`, `singular` or `unknown`.
    pub verdict: &'static str,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

/// The structural part.
#[derive(Serialize, Debug, Clone)]
pub struct StructuralRecord {
    /// The structural index of the model as written.
    pub index: usize,
    /// Its degrees of freedom.
    pub dof: u64,
    /// How often each equation is differentiated.
    pub equation_offsets: Vec<usize>,
    /// The highest derivative of each unknown that then occurs.
    pub variable_offsets: Vec<usize>,
    /// Whether the system Jacobian is nonsingular at the point; `null` if not decided.
    pub regular: Option<bool>,
    /// The repaired structure, where the one of the model as written is singular everywhere.
    pub repaired: Option<RepairedRecord>,
    /// Diagonal blocks of the system Jacobian, in the order of solution.
    pub blocks: Vec<BlockRecord>,
}

/// A repaired structure.
#[derive(Serialize, Debug, Clone)]
pub struct RepairedRecord {
    /// The structural index after the repair.
    pub index: usize,
    /// The degrees of freedom after the repair.
    pub dof: u64,
    /// What was done, in the user's names.
    pub text: String,
    /// Each step.
    pub steps: Vec<String>,
}

/// A diagonal block.
#[derive(Serialize, Debug, Clone)]
pub struct BlockRecord {
    /// Its equations, as written.
    pub equations: Vec<String>,
    /// Its unknowns.
    pub unknowns: Vec<String>,
}

/// The differentiation index.
#[derive(Serialize, Debug, Clone, Default)]
pub struct DifferentiationRecord {
    /// The index, or `null`.
    pub index: Option<usize>,
    /// Degrees of freedom, or `null`.
    pub dof: Option<usize>,
    /// Condition of the array that determines the solution, written in derivatives.
    pub condition: Option<f64>,
    /// The levels that were looked at.
    pub levels: Vec<LevelRecord>,
    /// The projector T_k of each level.
    #[serde(rename = "T")]
    pub t: Vec<Vec<Vec<f64>>>,
    /// The projector V_k of each level.
    #[serde(rename = "V")]
    pub v: Vec<Vec<Vec<f64>>>,
}

/// One level of the derivative array.
#[derive(Serialize, Debug, Clone)]
pub struct LevelRecord {
    /// k, the number of blocks of equations.
    pub order: usize,
    /// Whether they determine the unknowns.
    pub one_full: bool,
    /// Rank of T_k.
    #[serde(rename = "rank_T")]
    pub rank_t: usize,
    /// Rank of V_k.
    #[serde(rename = "rank_V")]
    pub rank_v: usize,
    /// Ratio between the smallest singular value kept and the largest dropped.
    pub gap: Option<f64>,
}

/// The tractability index.
#[derive(Serialize, Debug, Clone, Default)]
pub struct TractabilityRecord {
    /// The index, or `null`.
    pub index: Option<usize>,
    /// Ranks of the matrix chain.
    pub characteristic_values: Vec<usize>,
}

/// The strangeness index.
#[derive(Serialize, Debug, Clone, Default)]
pub struct StrangenessRecord {
    /// mu, or `null`.
    pub index: Option<usize>,
    /// Differential equations that remain.
    pub d: Option<usize>,
    /// Constraints, hidden ones included.
    pub a: Option<usize>,
    /// Unknowns that nothing determines.
    pub u: Option<usize>,
    /// Equations that repeat others.
    pub v: Option<usize>,
}

/// At which level an unknown is determined.
#[derive(Serialize, Debug, Clone)]
pub struct DecouplingRecord {
    /// The unknown.
    pub unknown: String,
    /// The level from which its component outside ker E is fixed by constraints; `null` if part of it stays free.
    pub constrained_at: Option<usize>,
    /// The level from which its component in ker E is determined; `null` if it is not, 0 if it has none.
    pub determined_at: Option<usize>,
}

/// A hidden constraint.
#[derive(Serialize, Debug, Clone)]
pub struct HiddenRecord {
    /// The condition.
    pub text: String,
    /// The equation it comes from, as written.
    pub from_equation: String,
    /// How often that equation was differentiated.
    pub times_differentiated: usize,
}

/// A factor of a determinant whose zeros are singular.
#[derive(Serialize, Debug, Clone)]
pub struct LocusRecord {
    /// The factor; for a block too large to expand, a description.
    pub factor: String,
    /// k-A or k-B, or `null` when not decided.
    pub kind: Option<String>,
    /// Equations of the block.
    pub equations: Vec<String>,
    /// Unknowns of the block.
    pub unknowns: Vec<String>,
}

/// The singularity at the point.
#[derive(Serialize, Debug, Clone)]
pub struct CriticalRecord {
    /// k-A or k-B, or `null` when not decided.
    pub kind: Option<String>,
    /// The rank at the point and beside it, where the reduction found the change.
    pub rank: Option<usize>,
    /// The rank beside the point.
    pub rank_nearby: Option<usize>,
    /// Equations of the singular blocks.
    pub equations: Vec<String>,
    /// Unknowns of the singular blocks.
    pub unknowns: Vec<String>,
}

/// A subinterval on which all quantities are constant.
#[derive(Serialize, Debug, Clone)]
pub struct IntervalRecord {
    /// Its left end.
    pub from: f64,
    /// Its right end.
    pub to: f64,
    /// The strangeness index there.
    pub index: Option<usize>,
    /// Differential equations.
    pub d: Option<usize>,
    /// Constraints.
    pub a: Option<usize>,
    /// Unknowns that nothing determines.
    pub u: Option<usize>,
    /// Equations that repeat others.
    pub v: Option<usize>,
}

/// A point between subintervals.
#[derive(Serialize, Debug, Clone)]
pub struct ExceptionalRecord {
    /// Where it is.
    pub time: f64,
    /// What changes.
    pub kind: String,
    /// What that means for solutions.
    pub what: String,
}

impl AnalyzeReport {
    /// Collects the document of a passport. `matrices` asks for projectors of any size.
    pub fn new(system: &System, passport: &Passport, matrices: bool) -> Self {
        let mut report = Self {
            model: system.name().to_string(),
            n_equations: system.equations().n_equations(),
            n_unknowns: system.equations().n_unknowns(),
            time: passport.time,
            structural: passport
                .structure()
                .map(|part| structural_record(system, part)),
            differentiation: DifferentiationRecord::default(),
            tractability: TractabilityRecord::default(),
            strangeness: StrangenessRecord::default(),
            free: Vec::new(),
            decoupling: Vec::new(),
            hidden_constraints: hidden_records(system, passport),
            singular_loci: locus_records(system, passport),
            critical: critical_record(system, passport),
            intervals: None,
            exceptional: None,
            paths: Vec::new(),
            eigenvalues: None,
            minimum_phase: None,
            spectrum_words: None,
            point: point_record(system, passport),
            verdict: match passport.verdict {
                PointVerdict::Regular => "regular",
                PointVerdict::Singular { .. } => "singular",
                PointVerdict::Unknown { .. } => "unknown",
            },
            warnings: Vec::new(),
        };
        report.fill_indices(system, passport, matrices);
        report.warnings = warnings(system, passport);
        report
    }

    /// Adds the prescribed motions, with a warning for each that is not smooth enough.
    pub fn add_paths(&mut self, system: &System, paths: &[Path]) {
        self.paths = paths
            .iter()
            .map(|path| PathRecord::new(system, path))
            .collect();
        let rough = self.paths.iter().filter(|path| !path.is_smooth_enough());
        self.warnings.extend(rough.map(PathRecord::sentence));
    }

    /// Adds the finite eigenvalues at the point, or why there are none.
    pub fn add_spectrum(&mut self, spectrum: &Result<Spectrum, String>) {
        match spectrum {
            Ok(found) => {
                let records = found.eigenvalues.iter().map(EigenvalueRecord::from);
                self.eigenvalues = Some(Some(records.collect()));
                let phase = found.minimum_phase();
                self.minimum_phase = Some(phase.as_ref().ok().copied());
                self.spectrum_words = Some(spectrum_words(found, !self.paths.is_empty()));
                if let Err(because) = phase {
                    self.warnings.push(format!(
                        "Whether all eigenvalues decay is not decided: {because}."
                    ));
                }
            }
            Err(because) => {
                self.eigenvalues = Some(None);
                self.minimum_phase = Some(None);
                self.warnings
                    .push(format!("The eigenvalues are not known: {because}."));
            }
        }
    }

    /// Adds what is known of an interval of time.
    pub fn add_interval(&mut self, found: &IntervalAnalysis) {
        let record = |part: &interval::Interval| {
            let strangeness = part.indices.as_ref().map(|indices| indices.strangeness);
            IntervalRecord {
                from: part.from,
                to: part.to,
                index: strangeness.map(|s| s.index),
                d: strangeness.map(|s| s.n_differential),
                a: strangeness.map(|s| s.n_algebraic),
                u: strangeness.map(|s| s.n_free),
                v: strangeness.map(|s| s.n_redundant),
            }
        };
        self.intervals = Some(found.intervals.iter().map(record).collect());
        let record = |point: &interval::ExceptionalPoint| ExceptionalRecord {
            time: point.time,
            kind: point.kind.to_string(),
            what: point.what.clone(),
        };
        self.exceptional = Some(found.exceptional.iter().map(record).collect());
        self.warnings.extend(interval_warnings(found));
    }

    fn fill_indices(&mut self, system: &System, passport: &Passport, matrices: bool) {
        let Ok(part) = &passport.numerical else {
            return;
        };
        let with_matrices = matrices || self.n_unknowns <= SMALL;
        for level in &part.fullness.levels {
            self.differentiation.levels.push(LevelRecord {
                order: level.n_blocks,
                one_full: level.one_full,
                rank_t: level.t_rank,
                rank_v: level.v_rank,
                gap: Some(level.whole.gap).filter(|gap| gap.is_finite()),
            });
            if with_matrices {
                self.differentiation.t.push(rows(&level.t_projector));
                self.differentiation.v.push(rows(&level.v_projector));
            }
        }
        let Some(indices) = passport.indices() else {
            return;
        };
        self.differentiation.index = indices.differentiation_index;
        if indices.differentiation_index.is_some() {
            self.differentiation.dof = Some(indices.strangeness.n_differential);
            self.differentiation.condition = part.condition.filter(|c| c.is_finite());
        }
        self.tractability = TractabilityRecord {
            index: indices.differentiation_index,
            characteristic_values: indices.characteristic_values.clone().unwrap_or_default(),
        };
        self.strangeness = StrangenessRecord {
            index: Some(indices.strangeness.index),
            d: Some(indices.strangeness.n_differential),
            a: Some(indices.strangeness.n_algebraic),
            u: Some(indices.strangeness.n_free),
            v: Some(indices.strangeness.n_redundant),
        };
        let name = |j: &usize| system.unknowns()[*j].name.clone();
        self.free = part.free.iter().map(name).collect();
        if indices.differentiation_index.is_some() {
            self.decoupling = decoupling(system, passport);
        }
    }
}

fn rows(matrix: &Mat) -> Vec<Vec<f64>> {
    // Rounding around zero and one would only distract.
    let clean = |value: f64| if value.abs() < 5e-16 { 0.0 } else { value };
    (0..matrix.nrows())
        .map(|i| (0..matrix.ncols()).map(|j| clean(matrix[(i, j)])).collect())
        .collect()
}

fn structural_record(system: &System, part: &StructuralPart) -> StructuralRecord {
    let structure = &part.structure;
    StructuralRecord {
        index: structure.structural_index(),
        dof: structure.n_degrees_of_freedom(),
        equation_offsets: structure.offsets().equation.clone(),
        variable_offsets: structure.offsets().variable.clone(),
        regular: match part.regularity {
            Regularity::Regular => Some(true),
            Regularity::SingularHere(_) | Regularity::SingularEverywhere(_) => Some(false),
            Regularity::Unknown(_) => None,
        },
        repaired: match &part.repair {
            RepairPart::Repaired(repaired) => Some(RepairedRecord {
                index: repaired.structural_index(),
                dof: repaired.n_degrees_of_freedom(),
                text: repaired.text(),
                steps: repaired
                    .steps()
                    .iter()
                    .map(|step| step.text.clone())
                    .collect(),
            }),
            _ => None,
        },
        blocks: (0..structure.blocks().len())
            .map(|block| block_record(system, structure, block))
            .collect(),
    }
}

pub(crate) fn block_record(system: &System, structure: &Structure, block: usize) -> BlockRecord {
    let members = &structure.blocks()[block];
    BlockRecord {
        equations: members
            .equations
            .iter()
            .map(|&i| system.equation_text(i))
            .collect(),
        unknowns: members
            .unknowns
            .iter()
            .map(|&j| system.unknowns()[j].name.clone())
            .collect(),
    }
}

fn hidden_records(system: &System, passport: &Passport) -> Vec<HiddenRecord> {
    let record = |hidden: &daelight_analysis::hidden::HiddenConstraint| HiddenRecord {
        text: hidden.text.clone(),
        from_equation: system.equation_text(hidden.equation),
        times_differentiated: hidden.times_differentiated,
    };
    passport.hidden.iter().map(record).collect()
}

fn locus_records(system: &System, passport: &Passport) -> Vec<LocusRecord> {
    let record = |locus: &SingularLocus| LocusRecord {
        factor: locus.factor.clone(),
        kind: locus.kind.map(|kind| kind.to_string()),
        equations: locus
            .equations
            .iter()
            .map(|&i| system.equation_text(i))
            .collect(),
        unknowns: locus.unknowns.clone(),
    };
    passport.loci.iter().map(record).collect()
}

fn point_record(system: &System, passport: &Passport) -> Map<String, Value> {
    let mut point = Map::new();
    for (unknown, &value) in system
        .unknowns()
        .iter()
        .zip(passport.values().unwrap_or(&[]))
    {
        let value = Number::from_f64(value).map_or(Value::Null, Value::Number);
        point.insert(unknown.name.clone(), value);
    }
    point
}

pub(crate) fn singular_blocks(passport: &Passport) -> &[BlockRank] {
    match passport.structure().map(|part| &part.regularity) {
        Some(Regularity::SingularHere(blocks)) => blocks,
        _ => &[],
    }
}

pub(crate) fn critical_record(system: &System, passport: &Passport) -> Option<CriticalRecord> {
    let PointVerdict::Singular { kind } = &passport.verdict else {
        return None;
    };
    let (rank, rank_nearby) = match passport
        .numerical
        .as_ref()
        .map(|part| &part.decision.outcome)
    {
        Ok(Outcome::Critical {
            rank, rank_nearby, ..
        }) => (Some(*rank), Some(*rank_nearby)),
        _ => (None, None),
    };
    let mut record = CriticalRecord {
        kind: kind.map(|kind| kind.to_string()),
        rank,
        rank_nearby,
        equations: Vec::new(),
        unknowns: Vec::new(),
    };
    if let Some(part) = passport.structure() {
        for rank in singular_blocks(passport) {
            let block = block_record(system, &part.structure, rank.block);
            record.equations.extend(block.equations);
            record.unknowns.extend(block.unknowns);
        }
    }
    Some(record)
}

/// First level at which a component leaves the image of a projector.
fn decoupling(system: &System, passport: &Passport) -> Vec<DecouplingRecord> {
    const NOTHING: f64 = 1e-8;
    let Ok(part) = &passport.numerical else {
        return Vec::new();
    };
    let levels = &part.fullness.levels;
    let size = |matrix: &Mat, j: usize| {
        let squares = matrix.col(j).iter().map(|v| v * v);
        squares.sum::<f64>().sqrt()
    };
    let first = |has: &dyn Fn(usize) -> bool| (0..levels.len()).find(|k| !has(*k)).map(|k| k + 1);
    (0..system.unknowns().len())
        .map(|j| DecouplingRecord {
            unknown: system.unknowns()[j].name.clone(),
            constrained_at: first(&|k| size(&levels[k].v_projector, j) > NOTHING),
            determined_at: if levels.is_empty() {
                Some(0)
            } else {
                first(&|k| size(&levels[k].t_projector, j) > NOTHING)
            },
        })
        .collect()
}

/// `1 equation`, `2 equations`.
pub fn count(number: usize, word: &str) -> String {
    if number == 1 {
        format!("1 {word}")
    } else {
        format!("{number} {word}s")
    }
}

/// A text cut to a width, with dots.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

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

fn warnings(system: &System, passport: &Passport) -> Vec<String> {
    let mut warnings = Vec::new();
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
                    "The kind of this model depends on the point: these ranks hold on a set that the solution stays in, beside it they are larger (kind {kind})."
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
                "t = {time} is a singular point{kind}: ranks change there, so no index exists at it. Look beside it with --at."
            ));
        }
        PointVerdict::Unknown { because } => {
            let size = system
                .equations()
                .n_unknowns()
                .max(system.equations().n_equations());
            let rest = if size > MAX_NUMERICAL {
                "The structural index holds where the system Jacobian is nonsingular."
            } else {
                "Try another point with --at or --point."
            };
            warnings.push(format!(
                "No index is claimed at t = {time}: {because}. {rest}"
            ));
        }
    }
    point_warnings(system, passport, &mut warnings);
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
    structure_warnings(system, passport, &mut warnings);
    if let Some(linear) = &passport.linear {
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
                (point.time - time).abs() <= 1e-6 * (1.0 + time.abs())
            };
            if let Some(point) = around.exceptional.iter().find(here) {
                warnings.push(format!("A linear system: {}.", point.what));
            }
            warnings.extend(interval_warnings(around));
        }
    }
    if let Some(indices) = passport.indices() {
        let (u, v) = (indices.strangeness.n_free, indices.strangeness.n_redundant);
        if passport.structural.is_some() && (u > 0 || v > 0) {
            warnings.push(format!(
                "The equations do not determine the unknowns: {} free, {} redundant or contradictory. There is no differentiation or tractability index.",
                count(u, "unknown"),
                count(v, "equation")
            ));
        }
    }
    if let Ok(part) = &passport.numerical
        && let Outcome::Regular(answer) = &part.decision.outcome
        && passport.verdict == PointVerdict::Regular
    {
        match answer.support {
            Support::ReductionAndArray => {}
            Support::Reduction => warnings.push(
                "The derivative array has no clear ranks here; the answer rests on the reduction, whose gaps are clear."
                    .to_string(),
            ),
            Support::Array => warnings.push(
                "The reduction has no clear ranks here; the answer rests on the derivative array.".to_string(),
            ),
            Support::DoubleDouble => warnings
                .push("Double precision decided nothing; the answer rests on twice the digits.".to_string()),
        }
    }
    warnings
}

/// Which hypotheses of Kunkel and Mehrmann hold on an interval, and what was not examined.
fn interval_warnings(found: &IntervalAnalysis) -> Vec<String> {
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
            let sizes = initial::nominal(system);
            let far = |(j, value): (usize, &f64)| {
                let unknown = &system.unknowns()[j];
                let start = unknown.start?;
                let apart = (value - start).abs() / sizes[j].max(start.abs());
                (apart > 1e-6).then_some((apart, j, start, *value))
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
                        k => format!("derivative {k} of `{text}` (line {line})"),
                    }
                }
                initial::Row::Initial { .. } => "an initial equation".to_string(),
                initial::Row::Value { unknown, .. } => {
                    format!("the fixed value of {}", system.unknowns()[*unknown].name)
                }
            };
            warnings.push(format!(
                "No consistent point was found near the start values: {place} keeps a relative residual of {residual:.1e}."
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
            warnings.push(format!("The start values have no neighbourhood to search: {sentence}"));
        }
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
            match &part.repair {
                RepairPart::Repaired(repaired) => {
                    let steps = repaired.steps();
                    let what = if steps.len() <= MAX_STEPS {
                        format!(": {}", repaired.text().trim_end_matches('.'))
                    } else {
                        format!(" in {} steps, which --json lists", steps.len())
                    };
                    warnings.push(format!(
                        "The structure was repaired to index {} (dof {}){what}.",
                        repaired.structural_index(),
                        repaired.n_degrees_of_freedom(),
                    ));
                }
                RepairPart::Unverified(repaired) => warnings.push(format!(
                    "The formulas of singular loci come from a repair that this point does not confirm: {}.",
                    repaired.text().trim_end_matches('.')
                )),
                RepairPart::Failed(because) => warnings.push(format!(
                    "The structure could not be repaired: {because}. Formulas of singular loci are therefore missing."
                )),
                RepairPart::NotNeeded => {}
            }
        }
        Regularity::SingularHere(blocks) => {
            for rank in blocks {
                let block = &structure.blocks()[rank.block];
                let values = &rank.decision.values;
                warnings.push(format!(
                    "The system Jacobian is singular at the point, in the block of {}: rank {} of {}, smallest singular value {:.1e}.",
                    list_equations(system, &block.equations),
                    rank.decision.rank,
                    block.equations.len(),
                    values.last().copied().unwrap_or(f64::NAN)
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
