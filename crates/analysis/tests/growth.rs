//! From a model of 100,000 equations to tapes: time that grows like the model.

mod common;
#[path = "../../../tests/support/processor.rs"]
mod processor;

use daelight_analysis::{Reduced, System};
use daelight_lang::Model;
use processor::timed;
use std::time::Duration;

/// Time from the model to the tapes of F and of its matrices, and for the elimination.
fn measure(model: &Model) -> [Duration; 2] {
    let ((system, sizes), tapes) = timed(|| {
        let system = System::new(model).expect("a system");
        let sizes = [
            system.equations().residual_tape().size(),
            system.equations().jacobian_tape().size(),
        ];
        (system, sizes)
    });
    assert!(sizes[0].n_operations < sizes[1].n_operations);
    let (reduced, elimination) = timed(|| Reduced::new(&system));
    let n = system.equations().n_equations() / 5;
    assert_eq!(reduced.equations().n_equations(), 3 * n);
    assert_eq!(reduced.equations().order(), 2);
    [tapes, elimination]
}

/// The limits are those of an optimised build, 2 s and 1 s, times 3 for the development profile; the
/// best of several tries counts, so that other work on the machine matters little.
#[test]
fn tapes_and_elimination_are_linear() {
    let text = common::text("pendulum-chain");
    let best = |n: usize| {
        let model = common::model(&text, &[format!("N={n}")]);
        let tries: Vec<[Duration; 2]> = (0..5).map(|_| measure(&model)).collect();
        [0, 1].map(|which| tries.iter().map(|t| t[which]).min().expect("several tries"))
    };
    let (half, whole) = (best(10_000), best(20_000));
    println!("50,000 equations: {half:?}; 100,000: {whole:?}");
    assert!(whole[0] < Duration::from_secs(6), "{whole:?}");
    assert!(whole[1] < Duration::from_secs(3), "{whole:?}");
    for which in 0..2 {
        let ratio = whole[which].as_secs_f64() / half[which].as_secs_f64();
        assert!(ratio < 3.0, "ratio {ratio:.2}");
    }
}
