//! The record of a passport.

mod components;
mod parts;
mod warnings;

pub use parts::signature;
pub(super) use parts::{block_record, critical_record, singular_blocks};
pub(super) use warnings::{warnings, warnings_of_start};

use super::spectrum::{eigenvalue_record, path_record, spectrum_words};
use daelight_analysis::System;
use daelight_analysis::canonical::ConsistencyVerdict;
use daelight_analysis::interval::{self, IntervalAnalysis};
use daelight_analysis::passport::{Passport, PointVerdict};
use daelight_analysis::smoothness::Path;
use daelight_analysis::spectrum::Spectrum;
use daelight_show::record::{
    AnalyzeRecord, DifferentiationRecord, ExceptionalRecord, IntervalRecord, LevelRecord,
    PathRecord, StrangenessRecord, TractabilityRecord,
};
use parts::{
    decoupling, hidden_records, locus_records, point_record, rank_records, rows, structural_record,
};
use warnings::interval_warnings;

/// Most unknowns for which matrices are part of the document without being asked for.
const SMALL: usize = 30;

/// The record of a passport. `matrices` asks for projectors of any size.
pub fn analyze(system: &System, passport: &Passport, matrices: bool) -> AnalyzeRecord {
    let mut record = AnalyzeRecord {
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
        contradicts: (passport.linear.as_ref())
            .and_then(|linear| linear.consistency.as_ref())
            .is_some_and(|found| found.verdict == ConsistencyVerdict::Violated),
        ranks: passport.numerical.as_ref().ok().map(rank_records),
        no_ranks: passport
            .numerical
            .as_ref()
            .err()
            .cloned()
            .unwrap_or_default(),
        unknowns: (system.unknowns().iter())
            .map(|unknown| unknown.name.clone())
            .collect(),
        point: point_record(system, passport),
        verdict: match passport.verdict {
            PointVerdict::Regular => match passport.indices() {
                // Ranks are constant, and unknowns are free or equations redundant.
                Some(indices) if indices.differentiation_index.is_none() => "not-unique",
                _ => "regular",
            },
            PointVerdict::Singular { .. } => "singular",
            PointVerdict::Unknown { .. } => "unknown",
        },
        warnings: Vec::new(),
    };
    fill_indices(&mut record, system, passport, matrices);
    record.warnings = warnings(system, passport);
    add_paths(&mut record, system, &crate::paths(system, passport));
    record
}

/// Adds the prescribed motions, with a warning for each that is not smooth enough.
fn add_paths(to: &mut AnalyzeRecord, system: &System, paths: &[Path]) {
    to.paths = paths.iter().map(|path| path_record(system, path)).collect();
    let rough = to.paths.iter().filter(|path| !path.is_smooth_enough());
    to.warnings.extend(rough.map(PathRecord::sentence));
}

/// Adds the finite eigenvalues at the point, or why there are none.
pub fn add_spectrum(to: &mut AnalyzeRecord, spectrum: &Result<Spectrum, String>) {
    match spectrum {
        Ok(found) => {
            let records = found.eigenvalues.iter().map(eigenvalue_record);
            to.eigenvalues = Some(Some(records.collect()));
            let phase = found.minimum_phase();
            to.minimum_phase = Some(phase.as_ref().ok().copied());
            to.spectrum_words = Some(spectrum_words(found, !to.paths.is_empty()));
            if let Err(because) = phase {
                to.warnings.push(format!(
                    "Whether all eigenvalues decay is not decided: {because}."
                ));
            }
        }
        Err(because) => {
            to.eigenvalues = Some(None);
            to.minimum_phase = Some(None);
            to.warnings
                .push(format!("The eigenvalues are not known: {because}."));
        }
    }
}

/// Adds what is known of an interval of time.
pub fn add_interval(to: &mut AnalyzeRecord, found: &IntervalAnalysis) {
    let record = |part: &interval::ConstantPiece| {
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
    to.intervals = Some(found.intervals.iter().map(record).collect());
    let record = |point: &interval::ExceptionalPoint| ExceptionalRecord {
        time: point.time,
        kind: point.kind.to_string(),
        what: point.what.clone(),
    };
    to.exceptional = Some(found.exceptional.iter().map(record).collect());
    to.warnings.extend(interval_warnings(found));
}

fn fill_indices(to: &mut AnalyzeRecord, system: &System, passport: &Passport, matrices: bool) {
    let Ok(part) = &passport.numerical else {
        return;
    };
    let with_matrices = matrices || to.n_unknowns <= SMALL;
    for level in &part.fullness.levels {
        to.differentiation.levels.push(LevelRecord {
            order: level.n_blocks,
            one_full: level.one_full,
            rank_t: level.t_rank,
            rank_v: level.v_rank,
            gap: Some(level.whole.gap).filter(|gap| gap.is_finite()),
        });
        if with_matrices {
            to.differentiation.t.push(rows(&level.t_projector));
            to.differentiation.v.push(rows(&level.v_projector));
        }
    }
    let Some(indices) = passport.indices() else {
        return;
    };
    to.differentiation.index = indices.differentiation_index;
    if indices.differentiation_index.is_some() {
        to.differentiation.dof = Some(indices.strangeness.n_differential);
        to.differentiation.condition = part.condition.filter(|c| c.is_finite());
    }
    to.tractability = TractabilityRecord {
        index: indices.differentiation_index,
        characteristic_values: indices.characteristic_values.clone().unwrap_or_default(),
    };
    to.strangeness = StrangenessRecord {
        index: Some(indices.strangeness.index),
        d: Some(indices.strangeness.n_differential),
        a: Some(indices.strangeness.n_algebraic),
        u: Some(indices.strangeness.n_free),
        v: Some(indices.strangeness.n_redundant),
    };
    let name = |j: &usize| system.unknowns()[*j].name.clone();
    to.free = part.free.iter().map(name).collect();
    if indices.differentiation_index.is_some() {
        to.decoupling = decoupling(system, passport);
    }
}
