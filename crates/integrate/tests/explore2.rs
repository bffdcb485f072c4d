mod common;
use common::Case;
use daelight_analysis::repair::{repair, Budget, Names, Repair};
use daelight_analysis::structure::Structure;
use daelight_integrate::implicit::{self, Method};
use daelight_integrate::*;

#[test]
fn repaired() {
    for (name, to) in [("robotic-arm-general", 2.0), ("robotic-arm-torques", 2.0)] {
        let folder = format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).find(|p| p.extension().is_some_and(|e| e == "mo")).unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let model = daelight_lang::load("t.mo", text.as_bytes(), &daelight_lang::Options::default()).model.unwrap();
        let system = daelight_analysis::System::new(&model).unwrap();
        let reduced = daelight_analysis::Reduced::new(&system);
        let structure = Structure::of_equations(reduced.equations()).unwrap();
        let out = repair(reduced.equations(), &structure, system.parameters().values(), None, &Names::of_reduced(&system, &reduced), &Budget::default());
        let Repair::Repaired(r) = out else { panic!("{name}") };
        let problem = Problem::new(r.equations(), system.parameters().values()).unwrap();
        println!("{name} extra {} index {} dof {}", r.extra_unknowns().len(), r.structural_index(), r.n_degrees_of_freedom());
        if !r.extra_unknowns().is_empty() { continue; }
        let start = Start::of_model(&system, &reduced, &problem, 0.0);
        for method in [Method::Taylor, Method::Radau, Method::Bdf] { for rtol in [1e-4, 1e-6, 1e-8] {
            let options = Options::new(to, Tolerances::of_model(&system, &reduced, rtol));
            match implicit::solve(&problem, &start, &options, method) {
                Ok(run) => println!("{name} {method:?} {rtol:e} {:?} {:?} steps {} res {:.1e}", run.stop, run.singularities.iter().map(|s| (s.time, s.nature, s.offset)).collect::<Vec<_>>(), run.statistics.steps, run.residual()),
                Err(e) => println!("{name} {method:?} {e}"),
            }
        }}
    }
}

#[test]
fn library() {
    let folder = format!("{}/../../models", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap()).filter(|e| e.path().is_dir()).map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in &names {
        let Ok(case) = Case::try_library(name) else { println!("{name} refused"); continue };
        let ex = case.system.experiment();
        let from = ex.start_time.unwrap_or(0.0);
        let to = ex.stop_time.unwrap_or(from + 1.0);
        let fine = match implicit::solve(&case.problem, &case.start(from), &case.options(to, 1e-12), Method::Taylor) { Ok(r) => r, Err(e) => { println!("{name} {e}"); continue } };
        println!("{name}: taylor {:?} {:?}", fine.stop, fine.singularities.iter().map(|s| (s.time, s.nature)).collect::<Vec<_>>());
        for method in [Method::Radau, Method::Bdf] { for rtol in [1e-3, 1e-4, 1e-6, 1e-8, 1e-10] {
            let mut options = case.options(to, rtol);
            options.time_budget = Some(std::time::Duration::from_secs(5));
            let began = std::time::Instant::now();
            let run = match implicit::solve(&case.problem, &case.start(from), &options, method) { Ok(r) => r, Err(e) => { println!("  {method:?} {rtol:e} {e}"); continue } };
            let end = run.trajectory.span().unwrap().1.min(fine.trajectory.span().unwrap().1);
            let (a, b) = (case.values(&run, end), case.values(&fine, end));
            let infos = case.system.unknowns();
            let e = (0..a.len()).map(|j| (a[j]-b[j]).abs()/(b[j].abs()+infos[j].nominal.unwrap_or(1.0))).fold(0.0,f64::max);
            let same = std::mem::discriminant(&run.stop) == std::mem::discriminant(&fine.stop) && (run.singularities.len() == fine.singularities.len()) && run.singularities.iter().zip(&fine.singularities).all(|(a,b)| (a.time-b.time).abs() < 1e-8 && a.nature == b.nature);
            let flag = if !same || e > 100.0*rtol || run.residual() > 1e-10 { "  <<<<<" } else { "" };
            println!("  {method:?} {rtol:e} {} {:.1} rtol, steps {} rej {} {:?}{flag}", if same { "same".to_string() } else { format!("{:?} {:?}", run.stop, run.singularities.iter().map(|s| (s.time, s.nature)).collect::<Vec<_>>()) }, e/rtol, run.statistics.steps, run.statistics.rejected, began.elapsed());
        }}
    }
}
