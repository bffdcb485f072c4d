//! Repair of structures that are wrong as written.

mod common;

use common::{model, system, text};
use daelight_analysis::System;
use daelight_analysis::repair::{Budget, Names, Repair, Repaired, repair};
use daelight_analysis::structure::Structure;

fn repair_of(system: &System) -> (Structure, Repair) {
    let structure = Structure::of_equations(system.equations()).expect("a transversal");
    let outcome = repair(
        system.equations(),
        &structure,
        system.parameters().values(),
        None,
        &Names::of_system(system),
        &Budget::default(),
    );
    (structure, outcome)
}

fn repaired(system: &System) -> Repaired {
    match repair_of(system).1 {
        Repair::Repaired(repaired) => *repaired,
        Repair::NotNeeded => panic!("a repair is needed"),
        Repair::Unknown { because, steps } => panic!("{because} after {steps:?}"),
    }
}

#[test]
fn show() {
    for name in ["robotic-arm-torques", "robotic-arm-general"] {
        let system = system(&text(name));
        let r = repaired(&system);
        println!(
            "{name}: {} {} {:#?}",
            r.structural_index(),
            r.n_degrees_of_freedom(),
            r.steps()
        );
        println!("{:?}", r.suspects());
        println!("{:?}", r.structure().blocks());
    }
}
