//! Steps allocate nothing: a run of many steps allocates as often as one of few.

mod common;

use common::{Case, Method, akzo, chain};
use daelight_stiff::{Hooks, Options, StopReason, bdf, radau};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the allocations of the current thread, so that other threads do not disturb.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system allocator unchanged; the counter is a plain cell without
// a destructor, which needs no allocation itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a run that ends after this many steps.
fn allocations(method: Method, case: &Case, max_steps: usize) -> usize {
    let mut problem = case.problem();
    let options = Options {
        max_steps,
        ..case.options(1e-9)
    };
    let before = COUNT.get();
    let run = method(
        &mut problem,
        case.start(),
        case.end,
        &options,
        &mut Hooks::default(),
    );
    let count = COUNT.get() - before;
    let run = run.expect("good input");
    assert!(matches!(run.reason, StopReason::TooManySteps { .. }));
    count
}

#[test]
fn steps_allocate_nothing() {
    let before = COUNT.get();
    drop(vec![1]);
    assert_eq!(COUNT.get() - before, 1, "the counter counts");
    for method in [radau as Method, bdf] {
        let case = akzo();
        let [few, many] = [20, 60].map(|steps| allocations(method, &case, steps));
        assert_eq!(few, many, "dense");
    }
    // Sparse, with the pivots of the first matrices.
    let case = chain(20);
    let [few, many] = [20, 60].map(|steps| allocations(radau, &case, steps));
    assert_eq!(few, many, "sparse");
}
