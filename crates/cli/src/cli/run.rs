//! What commands that integrate take.

use super::model::ModelArgs;
use super::picture::{PictureArgs, RunPictureArgs};
use super::values::{duration, number, whole_number};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// What `solve` takes.
#[derive(Args, Debug)]
pub struct SolveArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// Where the run begins; otherwise the experiment's start.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub from: Option<f64>,

    /// Where the run ends; before --from for a backward run.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub to: Option<f64>,

    /// Relative tolerance.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = number)]
    pub rtol: Option<f64>,

    /// Absolute tolerance in units of `nominal`; otherwise the relative one.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = number)]
    pub atol: Option<f64>,

    /// auto, taylor, radau, bdf or bdf-fixed.
    #[arg(
        long,
        default_value = "auto",
        value_name = "NAME",
        hide_possible_values = true
    )]
    pub method: Method,

    /// stop, or continue over singularities that the solution passes smoothly.
    #[arg(
        long,
        default_value = "stop",
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub on_singularity: OnSingularity,

    /// stop where events accumulate (a bouncing ball), or rest: go on with what they set at rest.
    #[arg(
        long,
        default_value = "stop",
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub on_zeno: OnZeno,

    /// Order of the series instead of the one that suits the tolerance; of bdf-fixed, 1 to 6.
    #[arg(long, value_name = "NUMBER")]
    pub order: Option<usize>,

    /// Number of equally spaced output points.
    #[arg(long, value_name = "NUMBER", conflicts_with = "save_at", allow_hyphen_values = true, value_parser = whole_number)]
    pub points: Option<usize>,

    /// Output times, separated by commas.
    #[arg(
        long,
        value_name = "TIMES",
        value_delimiter = ',',
        allow_hyphen_values = true, value_parser = number)]
    pub save_at: Option<Vec<f64>>,

    /// A JSON file with values to start from, {"x": 1.0}.
    #[arg(long, value_name = "FILE")]
    pub point: Option<PathBuf>,

    /// Most steps.
    #[arg(long, value_name = "NUMBER")]
    pub max_steps: Option<usize>,

    /// Most time for the start, and for the run: 10s, 500ms, 2min.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,

    /// Repeat the run with a hundredth of the tolerance and print the difference.
    #[arg(long)]
    pub estimate_error: bool,

    /// Differentiate the run by parameters, and by start values of unknowns.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub sensitivity: Vec<String>,

    /// Differentiate one number by many parameters: an expression of the values at the end, or integral(EXPRESSION).
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true,
        conflicts_with_all = ["stop_when", "sensitivity", "save_at", "points", "estimate_error"])]
    pub gradient: Option<String>,

    /// What --gradient differentiates by: parameters, and unknowns for their start values; without it, all parameters.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "gradient"
    )]
    pub by: Vec<String>,

    #[command(flatten)]
    pub fixed: FixedArgs,

    /// Drive an input of the model by a column of a csv, parquet or json table.
    #[arg(long, value_name = "NAME=FILE[:COLUMN]")]
    pub input: Vec<String>,

    /// End the run where a condition begins to hold, or a number changes its sign; x == c is where x crosses c.
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub stop_when: Option<String>,

    #[command(flatten)]
    pub picture: RunPictureArgs,

    /// Run the library of an FMU as standard input says.
    #[arg(long, hide = true)]
    pub guest: bool,
}

/// What `--method bdf-fixed` takes.
#[derive(Args, Debug)]
pub struct FixedArgs {
    /// The step of bdf-fixed.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = number)]
    pub step: Option<f64>,

    /// The equations of bdf-fixed: original, dummy, strangeness, strangeness-values, decoupled or a file.
    #[arg(long, value_name = "FORM")]
    pub form: Option<String>,

    /// Multiply equations without derivatives by step^-P in bdf-fixed.
    #[arg(long, value_name = "P", allow_hyphen_values = true, value_parser = number)]
    pub scale: Option<f64>,
}

/// The methods of integration.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The one that suits the model.
    Auto,
    /// Projected Taylor series: smooth problems that are not stiff.
    Taylor,
    /// Radau IIA of order 5: stiff problems.
    Radau,
    /// Backward differentiation of variable order: large stiff problems.
    Bdf,
    /// Backward differentiation of constant order and step.
    BdfFixed,
}

impl Method {
    /// The method of runs with variable steps; `None` where the program chooses.
    pub fn chosen(self) -> Option<daelight_integrate::implicit::Method> {
        use daelight_integrate::implicit::Method;
        match self {
            Self::Auto | Self::BdfFixed => None,
            Self::Taylor => Some(Method::Taylor),
            Self::Radau => Some(Method::Radau),
            Self::Bdf => Some(Method::Bdf),
        }
    }
}

/// What to do where events accumulate.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnZeno {
    /// End the run there.
    Stop,
    /// Go on at rest.
    Rest,
}

/// What to do at a removable singularity.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnSingularity {
    /// End the run there.
    Stop,
    /// Pass it and go on.
    Continue,
}

/// What `feedforward` takes.
#[derive(Args, Debug)]
pub struct FeedforwardArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// The forward model: a path or the name of a built-in model.
    #[arg(long, value_name = "MODEL")]
    pub forward: String,

    /// The model to take when the text of --forward holds several.
    #[arg(long, value_name = "NAME")]
    pub forward_model: Option<String>,

    /// Give a parameter of the forward model another value.
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub forward_set: Vec<String>,

    /// Where the runs end; otherwise the experiment's end.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub to: Option<f64>,

    /// Relative tolerance of both runs.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = number)]
    pub rtol: Option<f64>,

    /// Absolute tolerance of both runs in units of `nominal`; otherwise the relative one.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = number)]
    pub atol: Option<f64>,

    /// Method of both runs: auto, taylor, radau or bdf.
    #[arg(
        long,
        default_value = "auto",
        value_name = "NAME",
        hide_possible_values = true
    )]
    pub method: Method,

    /// Samples through which the forces are splined.
    #[arg(long, value_name = "NUMBER", default_value_t = 2001, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub samples: u32,

    /// Times at which the motions are compared.
    #[arg(long, value_name = "NUMBER", default_value_t = 201, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub points: u32,

    #[command(flatten)]
    pub picture: PictureArgs,
}

/// What `report` takes.
#[derive(Args, Debug)]
pub struct ReportArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// Where the run ends; otherwise the experiment's end.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub to: Option<f64>,

    /// Relative tolerance.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = number)]
    pub rtol: Option<f64>,

    /// auto, taylor, radau or bdf.
    #[arg(
        long,
        default_value = "auto",
        value_name = "NAME",
        hide_possible_values = true
    )]
    pub method: Method,

    /// continue over singularities that the solution passes smoothly, or stop.
    #[arg(
        long,
        default_value = "continue",
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub on_singularity: OnSingularity,

    /// Leave the run out.
    #[arg(long)]
    pub no_run: bool,

    /// How long to look for singular configurations: 20s, 500ms, 2min.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub time_budget: Duration,
}

/// What `fit` takes.
#[derive(Args, Debug)]
pub struct FitArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// A csv, parquet or json table of measured values, the time first.
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,

    /// Names of the parameters, a,b,c.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    pub parameters: Vec<String>,

    /// Names of the columns that count; otherwise all that are unknowns of the model.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<String>,

    /// How often the intervals are to hold the true values, from 0 to 1.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.95, allow_hyphen_values = true, value_parser = number)]
    pub confidence: f64,

    /// Where the runs begin; otherwise the experiment's start.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub from: Option<f64>,

    /// Relative tolerance of the runs.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = number)]
    pub rtol: Option<f64>,

    /// auto, taylor, radau or bdf.
    #[arg(
        long,
        default_value = "auto",
        value_name = "NAME",
        hide_possible_values = true
    )]
    pub method: Method,

    /// Drive an input of the model by a column of a csv, parquet or json table.
    #[arg(long, value_name = "NAME=FILE[:COLUMN]")]
    pub input: Vec<String>,

    /// How long to work: 10s, 500ms, 2min.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub budget: Duration,
}
