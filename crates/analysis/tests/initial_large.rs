//! Consistent points of large systems: sparse matrices, and the same answers as dense ones.

mod common;

use daelight_analysis::System;
use daelight_analysis::initial::{Request, StageOffsets, consistent_point};
use daelight_analysis::structure::Structure;
use std::time::Instant;

fn chain(n: usize) -> System {
    let model = common::model(&common::text("pendulum-chain"), &[format!("N={n}")]);
    System::new(&model).expect("a system")
}

#[test]
fn a_chain_of_a_thousand_links_starts() {
    let system = chain(1000);
    let structure = Structure::of_equations(system.equations()).expect("a structure");
    let request = Request::of_model(&system, 0.0, 2);
    let begin = Instant::now();
    let point = consistent_point(&system, Some(StageOffsets::of(&structure)), &request)
        .unwrap_or_else(|no_point| panic!("{no_point:?}"));
    eprintln!(
        "{:?} {:?} {:?}",
        begin.elapsed(),
        point.residuals,
        point.closeness
    );
    assert!(point.residual < 1e-12);
}
