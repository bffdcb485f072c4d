mod common;
use common::Case;
use daelight_integrate::implicit::Method;
use daelight_integrate::*;

#[test]
fn explore() {
    for (name, from, to) in [("robotic-arm",0.0,2.0),("pendulum",0.0,10.0),("andrews",0.0,0.03),("akzo-nobel",0.0,180.0),("cstr",0.0,1.0),("cart-pendulum",0.0,1.0),("pendulum-3d",0.0,1.0),("delta-robot",0.0,1.0),("robotic-arm-safe-path",0.0,5.0),("e1",0.0,0.05), ("pendulum-chain",0.0,1.0)] {
        let case = Case::library(name, &[]);
        let to = case.system.experiment().stop_time.unwrap_or(to);
        let fine = case.run(from, to, 1e-12);
        for method in [Method::Radau, Method::Bdf] {
            for rtol in [1e-4, 1e-6, 1e-8] {
                let mut options = case.options(to, rtol);
                options.time_budget = Some(std::time::Duration::from_secs(10));
                let began = std::time::Instant::now();
                let run = case.run_by(method, from, &options);
                let took = began.elapsed();
                let end = run.trajectory.span().unwrap().1.min(fine.trajectory.span().unwrap().1);
                let mut worst = 0.0f64; let mut worst_any = 0.0f64;
                let infos = case.system.unknowns();
                for k in 0..=37 {
                    let t = from + (end-from)*(k as f64)/37.0;
                    let (a,b) = (case.values(&run,t), case.values(&fine,t));
                    let e = (0..a.len()).map(|j| (a[j]-b[j]).abs()/(b[j].abs()+infos[j].nominal.unwrap_or(1.0))).fold(0.0,f64::max);
                    worst_any = worst_any.max(e);
                    worst = e;
                }
                println!("{name} {method:?} {rtol:e}: {:?} sing {:?} steps {} rej {} res {:.1e} end error {worst:.1e} = {:.1} rtol, any {:.1} rtol, {took:?}", run.stop, run.singularities.iter().map(|s| (s.time, s.nature)).collect::<Vec<_>>(), run.statistics.steps, run.statistics.rejected, run.residual(), worst/rtol, worst_any/rtol);
            }
        }
    }
}
