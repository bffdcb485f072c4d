//! The command line: every flag is defined here, once.

use clap::{Args, ColorChoice, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;
use std::time::Duration;

/// daelight brings differential-algebraic equations to light.
#[derive(Parser, Debug)]
#[command(
    name = "daelight",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  daelight examples                    list the built-in models
  daelight check pendulum              parse a model and count its equations
  daelight check arm.mo --set l2=0.5   the same with another parameter value
  daelight derive pendulum-3d          expand its Lagrangian to plain Modelica
  daelight analyze robotic-arm         its indices, free values and hidden constraints
  daelight init pendulum               consistent initial values

MODEL is a path, the name of a built-in model, or - for standard input.

Exit status: 0 done; 1 the model or its values are at fault; 2 wrong usage;
3 the run ended at a singularity; 4 the numerics gave up."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// When to use colours: auto, always or never.
    #[arg(
        long,
        global = true,
        default_value = "auto",
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: ColorChoice,

    /// Print nothing but errors and the answer itself.
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Parse a model; find what is over- or underdetermined.
    #[command(after_help = "\
Examples:
  daelight check pendulum
  daelight check robot.mo --json
  daelight check pendulum-chain --set N=20000
  cat robot.mo | daelight check -

A model with more or fewer equations than unknowns is reported as a warning,
with the equations and unknowns of the part where they do not match.")]
    Check(ModelArgs),

    /// Write a model as flat, plain Modelica, with Lagrangians expanded.
    #[command(after_help = "\
Examples:
  daelight derive pendulum-3d
  daelight derive delta-robot --out delta.mo
  daelight derive delta-robot | daelight check -")]
    Derive {
        #[command(flatten)]
        model: ModelArgs,

        /// Declare every array element as a scalar with a quoted name.
        #[arg(long)]
        scalar: bool,
    },

    /// Say what kind of DAE a model is: every index, degrees of freedom, hidden constraints, singular loci.
    #[command(after_help = "\
Examples:
  daelight analyze robotic-arm
  daelight analyze robotic-arm --at 1.2 --json
  daelight analyze pendulum --point start.json --projectors

The answer holds at one point: the consistent one closest to the start values
(or to the values of --point), at the time of --at or the experiment's start.")]
    Analyze {
        #[command(flatten)]
        model: ModelArgs,

        /// The time of the point; otherwise the experiment's start.
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        at: Option<f64>,

        /// A JSON file with values to start from, {"x": 1.0}.
        #[arg(long, value_name = "FILE")]
        point: Option<PathBuf>,

        /// Print the projectors T_k and V_k too.
        #[arg(long)]
        projectors: bool,
    },

    /// Find consistent initial values: the closest ones to the start values of the model.
    #[command(after_help = "\
Examples:
  daelight init pendulum
  daelight init robotic-arm --at 0.5 --order 7 --json
  daelight init robotic-arm --all
  daelight init robotic-arm --at 1.5446260000352114 --nearest-regular

Start values with fixed = true and initial equations hold exactly, at the time
of --at too; all other start values are guesses, 0 where none is given. What
was free and what was adjusted is listed. --order K prints the derivatives
x', x'', ... up to order K (derivatives, not Taylor coefficients).

Exit status: 0 a start was found; 1 fixed values contradict the model, nothing
is written; 3 the start is a singular point; 4 no start was found, or the
budget was reached.")]
    Init {
        #[command(flatten)]
        model: ModelArgs,

        /// The time of the start; otherwise the experiment's start.
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        at: Option<f64>,

        /// A JSON file whose values take the place of start values, {"x": 1.0}.
        #[arg(long, value_name = "FILE")]
        point: Option<PathBuf>,

        /// The highest derivative to print.
        #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=30))]
        order: u8,

        /// List the other solutions that are found from starts around the guess.
        #[arg(long)]
        all: bool,

        /// Where the start is singular, take the nearest regular one.
        #[arg(long)]
        nearest_regular: bool,

        /// How long to search: 10s, 500ms, 2min.
        #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
        budget: Duration,
    },

    /// List the built-in models, or print one.
    #[command(after_help = "\
Examples:
  daelight examples
  daelight examples robotic-arm > arm.mo")]
    Examples {
        /// The model to print.
        name: Option<String>,

        /// Print one JSON document on standard output and nothing else.
        #[arg(long)]
        json: bool,
    },

    /// Print a completion script for a shell.
    #[command(after_help = "\
Example:
  daelight completions bash > ~/.local/share/bash-completion/completions/daelight")]
    Completions {
        /// bash, elvish, fish, powershell or zsh.
        #[arg(hide_possible_values = true)]
        shell: Shell,
    },
}

/// What every command on a model takes.
#[derive(Args, Debug)]
pub struct ModelArgs {
    /// A path, the name of a built-in model, or - for standard input.
    pub model: String,

    /// Give a parameter another value; for an element of an array: a[3]=0.02.
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,

    /// The model to take when the text holds several; otherwise the last one.
    #[arg(long = "model", value_name = "NAME")]
    pub class: Option<String>,

    /// Print one JSON document on standard output and nothing else.
    #[arg(long)]
    pub json: bool,

    /// Write the answer to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A length of time such as `10s`, `500ms` or `2min`; a plain number counts seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("min", 60.0), ("s", 1.0)];
    let unit = units.iter().find_map(|(unit, seconds)| {
        let number = text.strip_suffix(unit)?;
        Some((number, *seconds))
    });
    let (number, seconds) = unit.unwrap_or((text, 1.0));
    let number: Option<f64> = number.trim().parse().ok();
    number
        .and_then(|number| Duration::try_from_secs_f64(number * seconds).ok())
        .filter(|length| *length <= Duration::from_secs(1_000_000))
        .ok_or_else(|| "a time such as 10s, 500ms or 2min".to_string())
}
