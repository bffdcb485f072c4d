//! What commands on one model take: which model, at which point.

use super::picture::{PictureArgs, StructurePictureWord};
use super::values::{duration, folder, interval, number};
use clap::{Args, ValueEnum};
use daelight_lang::UnitCheck;
use std::path::PathBuf;
use std::time::Duration;

/// What every command on a model takes.
#[derive(Args, Debug)]
pub struct ModelArgs {
    /// A path, the name of a built-in model, a class of a library (A.B.C), or - for standard input.
    pub model: String,

    /// A folder with Modelica libraries; may be given several times, and comes before MODELICAPATH.
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub library: Vec<PathBuf>,

    /// Give a parameter another value; for an element of an array: "a[3]=0.02".
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,

    /// An equation for what the model leaves free, x2=sin(time), or least-norm (linear models).
    #[arg(long, value_name = "NAME=EXPR", allow_hyphen_values = true)]
    pub free: Vec<String>,

    /// The model to take when the text holds several; otherwise the last one.
    #[arg(long = "model", value_name = "NAME")]
    pub class: Option<String>,

    /// Print one JSON document on standard output and nothing else.
    #[arg(long)]
    pub json: bool,

    /// Write the answer to a file instead of standard output; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// What `derive` takes.
#[derive(Args, Debug)]
pub struct DeriveArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// Declare every array element as a scalar with a quoted name.
    #[arg(long)]
    pub scalar: bool,

    /// Write Base Modelica (MCP-0031), which other tools read: a package, scalars, every name quoted.
    #[arg(long, conflicts_with = "scalar")]
    pub base: bool,
}

/// What `analyze` takes.
#[derive(Args, Debug)]
pub struct AnalyzeArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// The time of the point; otherwise the experiment's start.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub at: Option<f64>,

    /// A JSON file with values to start from, {"x": 1.0}.
    #[arg(long, value_name = "FILE")]
    pub point: Option<PathBuf>,

    /// For a linear model: where its quantities are constant between two times.
    #[arg(long, value_name = "FROM:TO", allow_hyphen_values = true, value_parser = interval)]
    pub interval: Option<(f64, f64)>,

    /// For a model with events: the modes that its conditions allow, with index and degrees of freedom.
    #[arg(long, conflicts_with_all = ["at", "point", "interval", "projectors", "eigenvalues", "plot"])]
    pub modes: bool,

    /// Print the projectors T_k and V_k too.
    #[arg(long)]
    pub projectors: bool,

    /// The finite eigenvalues at the point; for an inverse model its zero dynamics.
    #[arg(long)]
    pub eigenvalues: bool,

    #[command(flatten)]
    pub picture: PictureArgs,

    /// What --plot shows: structure, projectors or eigenvalues.
    #[arg(
        long,
        value_name = "WHAT",
        requires = "plot",
        default_value = "structure",
        hide_possible_values = true
    )]
    pub plot_what: StructurePictureWord,

    /// How long to work: 10s, 500ms, 2min.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub budget: Duration,
}

/// What `fmu` takes.
#[derive(Args, Debug)]
pub struct FmuArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// The version of FMI: 2 or 3.
    #[arg(long, value_name = "VERSION", default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=3))]
    pub fmi: u8,
}

/// What `linearize` takes.
#[derive(Args, Debug)]
pub struct LinearizeArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// The time of the point; otherwise the experiment's start.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub at: Option<f64>,

    /// A JSON file with values to start from, {"x": 1.0}.
    #[arg(long, value_name = "FILE")]
    pub point: Option<PathBuf>,

    /// Go to the point at rest nearest to it first.
    #[arg(long)]
    pub rest: bool,

    /// Names of inputs, u1,u2; otherwise all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub inputs: Vec<String>,

    /// Names of unknowns that are outputs, y1,y2; otherwise those declared output.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub outputs: Vec<String>,

    #[command(flatten)]
    pub picture: PictureArgs,

    /// How long to work: 10s, 500ms, 2min.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub budget: Duration,
}

/// What `init` takes.
#[derive(Args, Debug)]
pub struct InitArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// The time of the start; otherwise the experiment's start.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub at: Option<f64>,

    /// A JSON file whose values take the place of start values, {"x": 1.0}.
    #[arg(long, value_name = "FILE")]
    pub point: Option<PathBuf>,

    /// The highest derivative to print.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=30))]
    pub order: u8,

    /// List the other solutions that are found from starts around the guess.
    #[arg(long)]
    pub all: bool,

    /// Where the start is singular, take the nearest regular one.
    #[arg(long)]
    pub nearest_regular: bool,

    /// How long to search: 10s, 500ms, 2min.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub budget: Duration,
}

/// What `reduce` takes.
#[derive(Args, Debug)]
pub struct ReduceArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// dummy, strangeness or minimal.
    #[arg(
        long,
        value_enum,
        default_value = "dummy",
        value_name = "METHOD",
        hide_possible_values = true
    )]
    pub method: ReduceMethod,

    /// implicit (F = 0), semi-explicit (x' = F, 0 = G) or explicit (x' = F).
    #[arg(
        long,
        value_enum,
        default_value = "implicit",
        value_name = "FORM",
        hide_possible_values = true
    )]
    pub form: ReduceForm,

    /// The time of the point; otherwise the experiment's start.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub at: Option<f64>,

    /// How long to analyse the model: 10s, 500ms, 2min.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub budget: Duration,
}

/// `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// How units are checked: warn, strict (errors; numbers have no unit) or off.
    #[arg(
        long,
        value_enum,
        default_value = "warn",
        value_name = "HOW",
        hide_possible_values = true
    )]
    pub units: UnitsWord,
}

/// How `check` looks at units.
#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum UnitsWord {
    /// Errors; numbers have no unit.
    Strict,
    /// Warnings; numbers may hide units.
    Warn,
    /// Not at all.
    Off,
}

impl UnitsWord {
    /// The same for the library.
    pub fn meaning(self) -> UnitCheck {
        match self {
            UnitsWord::Strict => UnitCheck::Strict,
            UnitsWord::Warn => UnitCheck::Warn,
            UnitsWord::Off => UnitCheck::Off,
        }
    }
}

/// How `reduce` reduces.
#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum ReduceMethod {
    /// Dummy derivatives.
    Dummy,
    /// Strangeness-free form.
    Strangeness,
    /// Minimal extension.
    Minimal,
}

/// How `reduce` writes equations.
#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum ReduceForm {
    /// F(t, x, x') = 0.
    Implicit,
    /// x' = F, 0 = G.
    SemiExplicit,
    /// x' = F.
    Explicit,
}
