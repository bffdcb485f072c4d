mod common;
use common::Case;
use daelight_integrate::implicit::{self, Method};
use daelight_integrate::*;

fn show(label: &str, case: &Case, from: f64, to: f64, on: bool, rtols: &[f64]) {
    for method in [Method::Taylor, Method::Radau, Method::Bdf] {
        for &rtol in rtols {
            let mut options = case.options(to, rtol);
            options.time_budget = Some(std::time::Duration::from_secs(5));
            if on { options.on_singularity = OnSingularity::Continue; }
            let began = std::time::Instant::now();
            let run = match implicit::solve(&case.problem, &case.start(from), &options, method) { Ok(r) => r, Err(e) => { println!("{label} {method:?} {rtol:e}: {e}"); continue; } };
            let took = began.elapsed();
            let end = run.trajectory.span().unwrap().1;
            let v = case.values(&run, end);
            println!("{label} {method:?} {rtol:e}: {:?} sing {:?} sw {:?} steps {} rej {} res {:.1e} t {end} x {:?} {took:?}", run.stop, run.singularities.iter().map(|s| (s.time, s.nature, s.offset)).collect::<Vec<_>>(), run.switches.iter().map(|s| s.time).collect::<Vec<_>>(), run.statistics.steps, run.statistics.rejected, run.residual(), &v[..v.len().min(4)]);
        }
    }
}

#[test]
fn singular() {
    let t = [1e-4, 1e-6, 1e-8, 1e-10];
    show("root", &Case::text("model Root Real x(start = 1, fixed = true), y(start = 1); equation der(x) = -1; y^2 = x; end Root;"), 0.0, 2.0, false, &t);
    show("arm on", &Case::library("robotic-arm", &[]), 0.0, 2.2, true, &t);
    show("escape", &Case::text("model E Real x(start = 1, fixed = true); equation der(x) = x^2; end E;"), 0.0, 2.0, false, &t);
    show("graze", &Case::text("model Graze Real x(start = -2); equation (time - 1)^2*x = (time - 1)^2*(time - 2) ; end Graze;"), 0.0, 3.0, false, &t);
    for (unknowns, eqs) in [("z", "(time - 1)*z = (time - 1)*x;"), ("z", "(time - 1)^2*z = (time - 1)^2*x;"), ("z, w","(time - 1)*(z + w) = (time - 1)*(x + v); (time - 1)*(z - w) = (time - 1)*(x - v);")] {
        let text = format!("model S Real x(start = 1, fixed = true), v(start = 0, fixed = true); Real {unknowns}; equation der(x) = v; der(v) = -x; {eqs} end S;");
        show(eqs, &Case::text(&text), 0.0, 4.0, false, &t);
        show(&format!("on {eqs}"), &Case::text(&text), 0.0, 4.0, true, &t);
    }
    show("crank", &Case::text("model Crank Real phi, psi(start = -1.0471975511965976), x(start = 1); equation phi = 1.0471975511965976 + time; sin(phi) + sin(psi) = 0; x = cos(phi) + cos(psi); end Crank;"), 0.0, 1.0, true, &t);
}

#[test]
fn stiff() {
    let t = [1e-4, 1e-6, 1e-8];
    for mu in ["1e3", "1e6"] {
        let text = format!("model V Real x(start = 2, fixed = true), y(start = 0, fixed = true); equation der(x) = y; der(y) = {mu}*{mu}*((1-x^2)*y) - {mu}*{mu}*x*0 + {mu}*{mu}*(-x)/1; end V;");
        let _ = text;
        // x' = y, eps y' = (1-x^2) y - x, eps = 1/mu^2
        let text = format!("model V Real x(start = 2, fixed = true), y(start = -0.66, fixed = true); equation der(x) = y; der(y) = {mu}*{mu}*((1-x^2)*y - x); end V;");
        let case = Case::text(&text);
        println!("{:?}", implicit::choose(&case.problem, &case.start(0.0), &case.options(2.0, 1e-6)));
        show(&format!("vdp {mu}"), &case, 0.0, 2.0, false, &t);
    }
    let text = "model R Real a(start = 1, fixed = true), b(start = 0, fixed = true, nominal=1e-4), c(start = 0); equation der(a) = -0.04*a + 1e4*b*c; der(b) = 0.04*a - 1e4*b*c - 3e7*b^2; a + b + c = 1; end R;";
    let case = Case::text(text);
    for end in [40.0, 1e5, 1e11] {
    println!("{:?}", implicit::choose(&case.problem, &case.start(0.0), &case.options(end, 1e-6)));
    show("robertson", &case, 0.0, end, false, &t);
    }
    for name in ["pendulum","andrews","akzo-nobel","robotic-arm"] {
        let case = Case::library(name, &[]);
        let to = case.system.experiment().stop_time.unwrap_or(1.0);
        println!("{name} {:?}", implicit::choose(&case.problem, &case.start(0.0), &case.options(to, 1e-6)));
    }
}
#[test]
fn switching() {
    let t = [1e-4, 1e-6, 1e-8];
    show("abs", &Case::text("model A Real x(start = 1, fixed = true); equation der(x) = -abs(x) - 1; end A;"), 0.0, 3.0, false, &t);
    show("jump", &Case::text("model J Real x(start = 0, fixed = true), y; equation der(x) = 1; y = if x > 1 then 5 + x else x; end J;"), 0.0, 3.0, false, &t);
    show("relay", &Case::text("model J Real x(start = 1, fixed = true); equation der(x) = -sign(x) + 0.5; end J;"), 0.0, 5.0, false, &t);
    show("e1", &Case::library("e1", &[]), 0.0, 0.1, false, &t);
}
