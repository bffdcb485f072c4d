//! Loci as formulas: known ones, and the determinant in numbers against constant * ∏ factors / ∏ denominators.

mod common;

use common::{Random, library, model};
use daelight_analysis::locus::{BlockLoci, LocusOptions, Nature};
use daelight_analysis::structure::{Structure, SystemJacobian};
use daelight_lang::Model;

struct Case {
    model: Model,
    structure: Structure,
    jacobian: SystemJacobian,
    loci: BlockLoci,
}

impl Case {
    fn new(text: &str, options: &LocusOptions) -> Option<Self> {
        let model = model(text, &[]);
        let structure = Structure::of_model(&model).ok()?;
        let jacobian = SystemJacobian::new(&model, &structure);
        let loci = BlockLoci::new(&model, &structure, &jacobian, options);
        Some(Self {
            model,
            structure,
            jacobian,
            loci,
        })
    }
}

#[test]
fn show() {
    for (name, text) in library() {
        for keep_parameters in [true, false] {
            let start = std::time::Instant::now();
            let options = LocusOptions { keep_parameters, ..LocusOptions::default() };
            let Some(case) = Case::new(&text, &options) else { println!("{name}: structurally singular"); continue };
            println!("== {name} keep {keep_parameters} {} blocks {:?}", case.structure.blocks().len(), start.elapsed());
            for (b, locus) in case.loci.loci().iter().enumerate().take(30) {
                let n = case.structure.blocks()[b].unknowns.len();
                match locus {
                    Err(e) => println!("  [{n}] {e}"),
                    Ok(l) if l.factors.is_empty() && l.denominators.is_empty() => {}
                    Ok(l) => {
                        let show = |f: &daelight_analysis::locus::Factor| format!("({})^{} {:?} {}", daelight_lang::shorten(&case.loci.text(&case.model, b, f), 200), f.multiplicity, f.nature, f.is_irreducible);
                        println!("  [{n}] {} * {:?} / {:?}", l.constant_f64(), l.factors.iter().map(show).collect::<Vec<_>>(), l.denominators.iter().map(show).collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}
