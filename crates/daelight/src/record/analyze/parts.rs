//! The parts of a passport as records.

use super::components::{components_of, ties};
use daelight_analysis::System;
use daelight_analysis::decide::IndexVerdict;
use daelight_analysis::passport::{
    BlockRank, NumericalPart, Passport, PointVerdict, Regularity, RepairPart, StructuralPart,
};
use daelight_analysis::singular_loci::SingularLocus;
use daelight_analysis::structure::Structure;
use daelight_linalg::{Mat, RankDecision, Verdict};
use daelight_show::record::{
    BlockRecord, CriticalRecord, DecouplingRecord, HiddenRecord, LocusRecord, RankRecord,
    RepairedRecord, SignatureEntry, SignatureRecord, StructuralRecord,
};
use serde_json::{Map, Number, Value};

pub(super) fn rows(matrix: &Mat) -> Vec<Vec<f64>> {
    // Rounding around zero and one would only distract.
    let clean = |value: f64| if value.abs() < 5e-16 { 0.0 } else { value };
    (0..matrix.nrows())
        .map(|i| (0..matrix.ncols()).map(|j| clean(matrix[(i, j)])).collect())
        .collect()
}

pub(super) fn structural_record(system: &System, part: &StructuralPart) -> StructuralRecord {
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
        ties: ties(system, structure),
    }
}

pub(in crate::record) fn block_record(
    system: &System,
    structure: &Structure,
    block: usize,
) -> BlockRecord {
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

pub(super) fn hidden_records(system: &System, passport: &Passport) -> Vec<HiddenRecord> {
    let record = |hidden: &daelight_analysis::hidden::HiddenConstraint| HiddenRecord {
        text: hidden.text.clone(),
        from_equation: system.equation_text(hidden.equation),
        times_differentiated: hidden.times_differentiated,
        mathml: hidden.mathml.clone(),
        line: system.equation_line(hidden.equation),
    };
    passport.hidden.iter().map(record).collect()
}

pub(super) fn locus_records(system: &System, passport: &Passport) -> Vec<LocusRecord> {
    let record = |locus: &SingularLocus| LocusRecord {
        factor: locus.factor.clone(),
        kind: locus.kind.map(|kind| kind.to_string()),
        equations: locus
            .equations
            .iter()
            .map(|&i| system.equation_text(i))
            .collect(),
        unknowns: locus.unknowns.clone(),
        components: components_of(system, &locus.equations),
    };
    passport.loci.iter().map(record).collect()
}

pub(super) fn point_record(system: &System, passport: &Passport) -> Map<String, Value> {
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

pub(in crate::record) fn singular_blocks(passport: &Passport) -> &[BlockRank] {
    match passport.structure().map(|part| &part.regularity) {
        Some(Regularity::SingularHere(blocks)) => blocks,
        _ => &[],
    }
}

pub(in crate::record) fn critical_record(
    system: &System,
    passport: &Passport,
) -> Option<CriticalRecord> {
    let PointVerdict::Singular { kind } = &passport.verdict else {
        return None;
    };
    let (rank, rank_nearby) = match passport
        .numerical
        .as_ref()
        .map(|part| &part.decision.outcome)
    {
        Ok(IndexVerdict::Critical {
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
pub(super) fn decoupling(system: &System, passport: &Passport) -> Vec<DecouplingRecord> {
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

/// Every rank decision behind the indices.
pub(super) fn rank_records(part: &NumericalPart) -> Vec<RankRecord> {
    let mut records = Vec::new();
    let mut add = |matrix: String, decision: &RankDecision| {
        records.push(RankRecord {
            matrix,
            rank: decision.rank,
            values: decision.values.clone(),
            gap: decision.gap,
            threshold: decision.threshold,
            verdict: match decision.verdict {
                Verdict::Proved => "proved",
                Verdict::Observed => "observed",
                Verdict::Unknown => "unknown",
            },
        });
    };
    if let Some(leading) = &part.fullness.leading {
        add("E".to_string(), leading);
    }
    for level in &part.fullness.levels {
        let k = level.n_blocks;
        add(format!("derivative array {k}, derivatives"), &level.right);
        add(format!("derivative array {k}, whole"), &level.whole);
    }
    for (k, level) in part.chain.iter().flat_map(|c| &c.levels).enumerate() {
        add(format!("matrix chain G{k}"), &level.rank);
    }
    for (k, level) in part.decision.reduction.levels.iter().enumerate() {
        add(format!("reduction {k}, E"), &level.differential);
        if let Some(algebraic) = &level.algebraic {
            add(format!("reduction {k}, constraints"), algebraic);
        }
    }
    records
}

/// The signature matrix of a model, for a picture; names are left out where they would be too many.
pub fn signature(system: &System, passport: &Passport) -> SignatureRecord {
    let Some(structure) = passport.structure().map(|part| &part.structure) else {
        return SignatureRecord::default();
    };
    let n = structure.n();
    let has_names = n == system.unknowns().len();
    let entry = |equation: usize, (unknown, order): (usize, u32)| SignatureEntry {
        equation,
        unknown,
        order,
        is_matched: structure.transversal().unknown(equation) == unknown,
        is_in_jacobian: structure.jacobian_order(equation, unknown).is_some(),
    };
    SignatureRecord {
        equations: (0..n)
            .filter(|_| has_names)
            .map(|equation| system.equation_text(equation))
            .collect(),
        unknowns: (0..n)
            .filter(|_| has_names)
            .map(|unknown| system.unknowns()[unknown].name.clone())
            .collect(),
        entries: (0..n)
            .flat_map(|equation| {
                let row = structure.signature().row(equation);
                row.map(move |found| entry(equation, found))
            })
            .collect(),
        blocks: (structure.blocks().iter())
            .map(|block| (block.equations.clone(), block.unknowns.clone()))
            .collect(),
    }
}
