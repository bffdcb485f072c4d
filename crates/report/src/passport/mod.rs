//! The passport of a model: one document for programs, one page for people.

mod parts;
mod records;
mod warnings;

pub(crate) use parts::{block_record, critical_record, singular_blocks};
pub use records::{
    BlockRecord, CriticalRecord, DecouplingRecord, DifferentiationRecord, ExceptionalRecord,
    HiddenRecord, IntervalRecord, LevelRecord, LocusRecord, RepairedRecord, StrangenessRecord,
    StructuralRecord, TractabilityRecord,
};

use crate::spectrum::{EigenvalueRecord, PathRecord, spectrum_words};
use daelight_analysis::System;
use daelight_analysis::interval::{self, IntervalAnalysis};
use daelight_analysis::passport::{Passport, PointVerdict};
use daelight_analysis::smoothness::Path;
use daelight_analysis::spectrum::Spectrum;
use parts::{decoupling, hidden_records, locus_records, point_record, rows, structural_record};
use serde::Serialize;
use serde_json::{Map, Value};
use warnings::{interval_warnings, warnings};

/// Most unknowns for which matrices are part of the document without being asked for.
const SMALL: usize = 30;

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
