//! What commands take that look at constraints and parameters without a run of their own.

use super::model::ModelArgs;
use super::picture::PictureArgs;
use super::run::{Method, OnSingularity, OnZeno};
use super::values::{Names, bytes, duration, names, number};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// What `singular` takes.
#[derive(Args, Debug)]
pub struct SingularArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub picture: PictureArgs,

    /// Coordinates that are driven from outside, separated by commas.
    #[arg(long, value_name = "NAMES", value_parser = names)]
    pub locked: Vec<Names>,

    /// Parameters that stay symbols, separated by commas, or all.
    #[arg(long, value_name = "NAMES", value_parser = names)]
    pub parameters: Option<Names>,

    /// With one or two parameters: count on the curves between regions too.
    #[arg(long, requires = "parameters")]
    pub curves: bool,

    /// How long to work: 60s, 500ms, 2min.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub time_budget: Duration,

    /// How much memory bases may take: 4GB, 500MB.
    #[arg(long, value_name = "SIZE", default_value = "4GB", value_parser = bytes)]
    pub memory_budget: usize,
}

/// What `sweep` takes.
#[derive(Args, Debug)]
pub struct SweepArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// A parameter and its values: their range and number.
    #[arg(long, value_name = "P=FROM:TO:N", allow_hyphen_values = true)]
    pub over: Vec<String>,

    /// Take this many random points in the ranges of --over P=FROM:TO.
    #[arg(long, value_name = "NUMBER", conflicts_with = "list")]
    pub random: Option<usize>,

    /// The seed of random points.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "random")]
    pub seed: u64,

    /// Take the points from a csv, parquet or json table with parameters as columns.
    #[arg(long, value_name = "FILE", conflicts_with = "over")]
    pub list: Option<PathBuf>,

    /// What to measure; several make several columns.
    #[arg(long, value_name = "MEASURE", required_unless_present = "bands")]
    pub measure: Vec<String>,

    /// Curves over one parameter, maps over two.
    #[command(flatten)]
    pub picture: PictureArgs,

    /// Unknowns whose quantiles over all runs --plot draws, over the time.
    #[arg(long, value_name = "NAMES", value_parser = names, requires = "plot", conflicts_with_all = ["resume", "shard"])]
    pub bands: Vec<Names>,

    /// Measure only one of N parts of the points.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,

    /// Go on with the file of --out.
    #[arg(long)]
    pub resume: bool,

    /// How many points to measure at the same time; otherwise one for each processor.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,

    /// Where runs end; otherwise the experiment's end.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub to: Option<f64>,

    /// End runs where a condition begins to hold, or a number changes its sign; final:time is when.
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    pub stop_when: Option<String>,

    /// Relative tolerance of runs.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = number)]
    pub rtol: Option<f64>,

    /// How runs are integrated: auto, taylor, radau or bdf.
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_name = "METHOD",
        hide_possible_values = true
    )]
    pub method: Method,

    /// What runs do at a removable singularity: stop or continue.
    #[arg(
        long,
        value_enum,
        default_value = "stop",
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub on_singularity: OnSingularity,

    /// stop where events accumulate (a bouncing ball), or rest: go on with what they set at rest.
    #[arg(
        long,
        value_enum,
        default_value = "stop",
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub on_zeno: OnZeno,

    /// Most steps of a run.
    #[arg(long, value_name = "NUMBER")]
    pub max_steps: Option<usize>,

    /// Coordinates that are driven from outside, for singular-count.
    #[arg(long, value_name = "NAMES", value_parser = names)]
    pub locked: Vec<Names>,

    /// How long to work on a point: 60s, 500ms, 2min.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub budget: Duration,
}
