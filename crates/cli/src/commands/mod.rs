//! One file for each command: flags checked, the library asked, the answer printed.

mod analyze;
mod check;
mod constant_steps;
mod derive;
mod events;
mod examples;
mod explain;
mod feedforward;
mod fit;
mod fmu;
mod foreign;
mod gradient;
mod init;
mod linearize;
mod lsp;
mod manual;
mod models;
mod plot;
mod progress;
mod reduce;
mod report;
mod selftest;
mod singular;
mod solve;
mod studio;
mod sweep;
mod sweep_picture;
mod values;

pub use progress::interrupt_by_ctrl_c;

use crate::cli::Command;
use crate::terminal::{Ended, Terminal};

/// Carries out a command.
pub fn execute(command: &Command, terminal: &Terminal) -> Ended {
    match command {
        Command::Check(arguments) => check::check(arguments, terminal),
        Command::Derive(arguments) => derive::derive(arguments, terminal),
        Command::Analyze(arguments) => analyze::analyze(arguments, terminal),
        Command::Init(arguments) => init::init(arguments, terminal),
        Command::Solve(arguments) => solve::solve(arguments, terminal),
        Command::Feedforward(arguments) => feedforward::feedforward(arguments, terminal),
        Command::Fit(arguments) => fit::fit(arguments, terminal),
        Command::Fmu(arguments) => fmu::fmu(arguments, terminal),
        Command::Linearize(arguments) => linearize::linearize(arguments, terminal),
        Command::Reduce(arguments) => reduce::reduce(arguments, terminal),
        Command::Singular(arguments) => singular::singular(arguments, terminal),
        Command::Plot(arguments) => plot::plot(arguments, terminal),
        Command::Sweep(arguments) => sweep::sweep(arguments, terminal),
        Command::Studio(arguments) => studio::studio(arguments, terminal),
        Command::Report(arguments) => report::report(arguments, terminal),
        Command::Lsp(arguments) => lsp::lsp(arguments, terminal),
        Command::Examples(arguments) => examples::examples(arguments, terminal),
        Command::Explain(arguments) => explain::explain(arguments, terminal),
        Command::Selftest(arguments) => selftest::selftest(arguments, terminal),
        Command::Completions(arguments) => manual::completions(arguments, terminal),
        Command::Man(arguments) => manual::manual(arguments, terminal),
    }
}
