//! Prints how long it takes from a large model to its tapes, and to its reduced form.
//!
//! `cargo run --release -p daelight-analysis --example timing [MODEL.mo [NAME=VALUE ...]]`

use daelight_analysis::{Reduced, System};
use daelight_lang::{Options, load};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| {
        let folder = env!("CARGO_MANIFEST_DIR");
        format!("{folder}/../../models/pendulum-chain/PendulumChain.mo")
    });
    let mut set: Vec<String> = arguments.collect();
    if set.is_empty() && path.ends_with("PendulumChain.mo") {
        set.push("N=20000".to_string());
    }
    let text = std::fs::read(&path)?;
    let options = Options {
        set,
        ..Options::default()
    };
    let mut clock = Instant::now();
    let mut lap = |what: &str| {
        println!("{what:>28} {:8.1} ms", clock.elapsed().as_secs_f64() * 1e3);
        clock = Instant::now();
    };
    let model = load(&path, &text, &options)
        .model
        .ok_or("the model has errors")?;
    lap("text to model");
    let mut system = System::new(&model)?;
    lap("model to system");
    let residuals = system.equations().residual_tape().size();
    lap("tape of F");
    let matrices = system.equations().jacobian_tape().size();
    lap("tape of F, E and B");
    let reduced = Reduced::new(&system);
    lap("elimination");
    let short = reduced.equations().jacobian_tape().size();
    lap("tape of the reduced form");
    let free = (0..system.parameters().len()).find(|&p| system.parameters().settable(p).is_ok());
    if let Some(index) = free {
        let value = system.parameters().values()[index];
        system.set_parameters(&[(index, value)])?;
        lap("one parameter set");
    }
    println!(
        "{} equations, {} and {} operations; reduced {} equations of order {}, {} operations",
        system.equations().n_equations(),
        residuals.n_operations,
        matrices.n_operations,
        reduced.equations().n_equations(),
        reduced.equations().order(),
        short.n_operations
    );
    Ok(())
}
