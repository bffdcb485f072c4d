//! Steps allocate nothing: a run of many steps allocates as often as one of few.

mod common;
#[path = "../../../tests/support/counting.rs"]
mod counting;

use common::{Case, Method, akzo, chain};
use counting::allocations;
use daelight_stiff::{Hooks, Options, StopReason, bdf, radau};

/// Allocations of a run that ends after this many steps.
fn allocations_of(method: Method, case: &Case, max_steps: usize) -> usize {
    let mut problem = case.problem();
    let options = Options {
        max_steps,
        ..case.options(1e-9)
    };
    let mut run = None;
    let count = allocations(|| {
        let hooks = &mut Hooks::default();
        run = Some(method(
            &mut problem,
            case.start(),
            case.end,
            &options,
            hooks,
        ));
    });
    let run = run.expect("it ran").expect("good input");
    assert!(matches!(run.reason, StopReason::TooManySteps { .. }));
    count
}

#[test]
fn steps_allocate_nothing() {
    assert_eq!(allocations(|| drop(vec![1])), 1, "the counter counts");
    for method in [radau as Method, bdf] {
        let case = akzo();
        let [few, many] = [20, 60].map(|steps| allocations_of(method, &case, steps));
        assert_eq!(few, many, "dense");
    }
    // Sparse, with the pivots of the first matrices.
    let case = chain(20);
    let [few, many] = [20, 60].map(|steps| allocations_of(radau, &case, steps));
    assert_eq!(few, many, "sparse");
}
