//! Error against time of the implicit methods on the library's benchmarks.
//!
//! `cargo run --release -p daelight-stiff --example stiff_speed [NAME]`

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Case, Method};
use daelight_native::Tier;
use daelight_stiff::{Hooks, Options, bdf, radau};
use std::time::Instant;

fn measure(name: &str, method: (&str, Method), case: &Case, options: &Options, is_native: bool) {
    let mut problem = case.problem();
    if is_native {
        problem
            .compile(Tier::Optimised)
            .expect("this processor is known");
    }
    let mut best = f64::INFINITY;
    let mut last = None;
    let clock = Instant::now();
    for repeat in 0..200 {
        let lap = Instant::now();
        let run = method.1(
            &mut problem,
            case.start(),
            case.end,
            options,
            &mut Hooks::default(),
        );
        best = best.min(lap.elapsed().as_secs_f64());
        last = Some(run.expect("the start fits"));
        if repeat > 2 && clock.elapsed().as_secs_f64() > 0.3 {
            break;
        }
    }
    let run = last.expect("at least one run");
    let s = run.statistics;
    // A model without reference values has no error to show.
    let error = match case.expected.is_empty() {
        true => "-".to_string(),
        false => format!("{:.1e}", case.error(&run.x)),
    };
    println!(
        "{name:>10} {:>5} {} rtol {:7.0e} error {error:>8} {:9.3} ms  steps {:5} -{:3} -{:3}  F {:6}  J {:5}  LU {:5}  {:?}",
        method.0,
        if is_native { "native" } else { "interp" },
        options.rtol,
        best * 1e3,
        s.steps,
        s.rejected,
        s.newton_failures,
        s.residuals,
        s.jacobians,
        s.factorizations,
        run.reason
    );
}

fn main() {
    let only = std::env::args().nth(1);
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only == name);
    let radau: (&str, Method) = ("radau", radau);
    let bdf: (&str, Method) = ("bdf", bdf);
    if wanted("akzo") {
        let case = common::akzo();
        for method in [radau, bdf] {
            for native in [false, true] {
                for rtol in [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11] {
                    measure("akzo", method, &case, &case.options(rtol), native);
                }
            }
        }
    }
    for (name, case) in [
        ("andrews", common::andrews()),
        ("pendulum", common::pendulum()),
    ] {
        if wanted(name) {
            for native in [false, true] {
                for rtol in [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11] {
                    measure(name, radau, &case, &case.options(rtol), native);
                }
            }
        }
    }
    if wanted("chain") {
        for n in [10, 100, 1000] {
            let case = common::chain(n);
            measure(
                &format!("chain {n}"),
                radau,
                &case,
                &case.options(1e-6),
                false,
            );
            measure(
                &format!("chain {n}"),
                radau,
                &case,
                &case.options(1e-6),
                true,
            );
        }
    }
}
