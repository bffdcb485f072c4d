//! diffsol's BDF on the stiff problems, whose equations are compiled C++ (`problems.cpp`).

use diffsol::{
    FaerSparseLU, FaerSparseMat, NalgebraLU, NalgebraMat, OdeBuilder, OdeSolverMethod,
    OdeSolverStopReason, Vector,
};
use std::ffi::{c_char, c_double, c_int, CStr};
use std::time::Instant;

extern "C" {
    fn stiff_count() -> c_int;
    fn stiff_size(i: c_int) -> c_int;
    fn stiff_band(i: c_int) -> c_int;
    fn stiff_index(i: c_int) -> c_int;
    fn stiff_end(i: c_int) -> c_double;
    fn stiff_jump(i: c_int) -> c_double;
    fn stiff_name(i: c_int) -> *const c_char;
    fn stiff_form(i: c_int) -> *const c_char;
    fn stiff_has_mass(i: c_int) -> c_int;
    fn stiff_start(i: c_int, y: *mut c_double);
    fn stiff_nominal(i: c_int, y: *mut c_double);
    fn stiff_right(i: c_int, t: c_double, y: *const c_double, f: *mut c_double);
    fn stiff_along(i: c_int, t: c_double, y: *const c_double, v: *const c_double, f: *mut c_double);
    fn stiff_mass(i: c_int, v: *const c_double, beta: c_double, y: *mut c_double);
    fn stiff_back(i: c_int, y: *const c_double, out: *mut c_double) -> c_int;
}

/// Steps from a point to a time by the solver that was built.
macro_rules! leg {
    ($built:expr, $solver:ty, $from:expr, $to:expr) => {{
        let built = $built.map_err(|error| error.to_string())?;
        let mut solver = built.bdf::<$solver>().map_err(|error| error.to_string())?;
        solver
            .set_stop_time($to)
            .map_err(|error| error.to_string())?;
        loop {
            match solver.step().map_err(|error| error.to_string())? {
                OdeSolverStopReason::TstopReached => break,
                _ => continue,
            }
        }
        let state = solver.state();
        state.y.clone_as_vec()
    }};
}

macro_rules! run_with {
    ($once:ident, $matrix:ty, $solver:ty, $coloring:expr) => {
        fn $once(i: c_int, tolerance: f64) -> Result<Vec<f64>, String> {
            let n = unsafe { stiff_size(i) } as usize;
            let (mut y, mut nominal) = (vec![0.0; n], vec![0.0; n]);
            unsafe {
                stiff_start(i, y.as_mut_ptr());
                stiff_nominal(i, nominal.as_mut_ptr());
            }
            let atol: Vec<f64> = nominal.iter().map(|size| tolerance * size).collect();
            let (jump, end) = unsafe { (stiff_jump(i), stiff_end(i)) };
            let mut from = 0.0f64;
            for to in [jump, end].into_iter().filter(|to| *to > 0.0) {
                let first = y.clone();
                let builder = OdeBuilder::<$matrix>::new()
                    .t0(from)
                    .rtol(tolerance)
                    .atol(atol.clone())
                    .use_coloring($coloring)
                    .rhs_implicit(
                        move |y: &[f64], _p: &[f64], t: f64, f: &mut [f64]| unsafe {
                            stiff_right(i, t, y.as_ptr(), f.as_mut_ptr())
                        },
                        move |y: &[f64], _p: &[f64], t: f64, v: &[f64], f: &mut [f64]| unsafe {
                            stiff_along(i, t, y.as_ptr(), v.as_ptr(), f.as_mut_ptr())
                        },
                    );
                let init = move |_p: &[f64], _t: f64, y: &mut [f64]| y.copy_from_slice(&first);
                y = if unsafe { stiff_has_mass(i) } != 0 {
                    let mass = move |v: &[f64], _p: &[f64], _t: f64, beta: f64, y: &mut [f64]| unsafe {
                        stiff_mass(i, v.as_ptr(), beta, y.as_mut_ptr())
                    };
                    leg!(builder.mass(mass).init(init, n).build(), $solver, from, to)
                } else {
                    leg!(builder.init(init, n).build(), $solver, from, to)
                };
                // A jump belongs to the leg before it.
                from = to * (1.0 + f64::EPSILON);
            }
            let mut values = vec![0.0; n];
            let count = unsafe { stiff_back(i, y.as_ptr(), values.as_mut_ptr()) } as usize;
            values.truncate(count);
            Ok(values)
        }
    };
}

run_with!(dense, NalgebraMat<f64>, NalgebraLU<f64>, false);
run_with!(sparse, FaerSparseMat<f64>, FaerSparseLU<f64>, true);

fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

/// All problems of index 1 at all tolerances, a line of JSON for each.
pub fn run(only: Option<&str>) {
    for i in 0..unsafe { stiff_count() } {
        let (name, form) = unsafe { (text(stiff_name(i)), text(stiff_form(i))) };
        if unsafe { stiff_index(i) } > 1 || only.is_some_and(|only| only != name) {
            continue;
        }
        let once = if unsafe { stiff_band(i) } > 0 {
            sparse
        } else {
            dense
        };
        let mut n_failed = 0;
        for k in 4..=26 {
            let tolerance = 10f64.powf(-f64::from(k) / 2.0);
            let mut best = f64::INFINITY;
            let mut outcome = Err(String::new());
            let begin = Instant::now();
            for repeat in 0..200 {
                let start = Instant::now();
                outcome = std::panic::catch_unwind(|| once(i, tolerance))
                    .unwrap_or_else(|_| Err("panicked".to_string()));
                best = best.min(start.elapsed().as_secs_f64());
                if outcome.is_err()
                    || best > 0.3
                    || repeat >= 2 && begin.elapsed().as_secs_f64() > 0.1
                {
                    break;
                }
            }
            n_failed += usize::from(outcome.is_err());
            let message = outcome.as_ref().err().cloned().unwrap_or_default();
            println!(
                "{}",
                serde_json::json!({
                    "problem": name, "end": unsafe { stiff_end(i) }, "tool": "diffsol bdf", "version": "0.18.0", "form": form,
                    "tolerance": tolerance, "solve": best, "success": outcome.is_ok(), "message": message,
                    "values": outcome.unwrap_or_default(),
                })
            );
            if best > 4.0 || n_failed > 4 {
                break;
            }
        }
    }
}
