//! Conditions on parameters.

mod common;

use common::{library, mechanism, mechanisms, symbolic};
use daelight_singular::{Conditioned, exact_cases};

#[test]
fn explore() {
    for (name, text, locked) in mechanisms() {
        let start = std::time::Instant::now();
        let mechanism = mechanism(&text, &symbolic(&locked));
        let cases = exact_cases(
            &mechanism,
            daelight_singular::FlatBudget {
                flats: 10_000,
                is_over: &|| false,
            },
        );
        println!(
            "== {name}: {} directions absolute {} lattice {}, {} flats, {} kept, complete {} {:?}",
            mechanism.directions.len(),
            mechanism.is_absolute,
            mechanism.is_lattice_basis,
            cases.list.len(),
            cases.kept().count(),
            cases.is_complete,
            start.elapsed()
        );
        let conditioned = Conditioned::new(&mechanism, &cases, &|| false);
        println!("   conditions {:?}", start.elapsed());
        for (at, case) in cases.list.iter().enumerate() {
            let names = |c: &usize| mechanism.columns[*c].name.clone();
            println!(
                "  case {at} d={} kept {} minors {} classes {:?} fixed {:?} vanishing {} : {}",
                case.dimension(),
                case.contained_in.is_none(),
                case.has_minors(),
                case.classes
                    .iter()
                    .map(|c| c.members.iter().map(|m| names(&m.0)).collect::<Vec<_>>())
                    .collect::<Vec<_>>(),
                case.fixed.iter().map(|m| names(&m.0)).collect::<Vec<_>>(),
                case.vanishing.len(),
                match &conditioned.conditions[at] {
                    Ok(c) => format!(
                        "{:?}",
                        c.lists
                            .iter()
                            .map(|l| l
                                .iter()
                                .map(|p| {
                                    let t = conditioned.text(p);
                                    if t.len() > 300 {
                                        format!("{} terms", p.n_terms())
                                    } else {
                                        t
                                    }
                                })
                                .collect::<Vec<_>>())
                            .collect::<Vec<_>>()
                    ),
                    Err(e) => e.reason().into(),
                }
            );
        }
        let locus = conditioned.locus(&|| false);
        println!(
            "   locus {:?}: {} factors, {} components, always {:?} undecided {:?}",
            start.elapsed(),
            locus.factors.len(),
            locus.components.len(),
            locus.always,
            locus.undecided
        );
        for f in locus.factors.iter().take(60) {
            let t = conditioned.text(&f.polynomial);
            println!(
                "    {:?} {} {}",
                f.cases,
                f.is_physical,
                if t.len() > 200 {
                    format!("{} terms", f.polynomial.n_terms())
                } else {
                    t
                }
            );
        }
        for e in &locus.exceptional {
            println!("    exceptional {}", conditioned.text(e));
        }
    }
    let _ = library;
}
