//! Benchmarks that check their results first, and print ratios against peers measured beside them.
//!
//! `cargo run --release -p bench -- engine`, `growth` for the growth of our own figures alone, `ensemble` for sweeps, `analysis` for the passport,
//! `solve` for whole runs, `stiff` for stiff ones by every method, `algebra` for Gröbner bases and components, `manipulators` for inverse dynamics.

mod algebra;
mod analysis;
mod engine;
mod ensemble;
mod manipulators;
mod peers;
mod solve;
mod stiff;
mod system;
mod table;

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["engine"] => engine::run(),
        ["growth"] => engine::growth(3),
        ["ensemble"] => ensemble::run(),
        ["analysis"] => analysis::run(),
        ["solve"] => solve::run(None),
        ["solve", "--csv", file] => solve::run(Some(file)),
        ["stiff", ref names @ ..] => stiff::run(names),
        ["algebra"] => algebra::run(),
        ["manipulators"] => manipulators::run(),
        _ => {
            eprintln!(
                "usage: cargo run --release -p bench -- engine|growth|ensemble|analysis|algebra|solve [--csv FILE]|stiff [--peers [--kept]|--scipy] [NAME …]|manipulators"
            );
            return std::process::ExitCode::from(2);
        }
    }
    std::process::ExitCode::SUCCESS
}
