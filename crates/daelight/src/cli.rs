//! The command line: every flag is defined here, once.

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::{Path, PathBuf};
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
  daelight solve robotic-arm           integrate it, up to its first singularity
  daelight reduce pendulum             an equivalent model of index 1
  daelight feedforward e12 --forward e12-forward   torques, verified
  daelight singular four-bar           where its constraints lose rank
  daelight plot run.csv x3             a picture of a table that solve wrote
  daelight sweep pendulum --over L=1:2:9 --measure final:x   many runs
  daelight report pendulum --out pendulum.html     all of it on one page

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

    /// Say what kind of DAE a model is: indices, freedom, singular loci.
    #[command(after_help = "\
Examples:
  daelight analyze robotic-arm
  daelight analyze robotic-arm --at 1.2 --json
  daelight analyze pendulum --point start.json --projectors
  daelight analyze input-switch --interval 0:2
  daelight analyze e12 --eigenvalues
  daelight analyze robotic-arm --plot structure.svg

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

        /// For a linear model: where its quantities are constant between two times.
        #[arg(long, value_name = "FROM:TO", allow_hyphen_values = true, value_parser = interval)]
        interval: Option<(f64, f64)>,

        /// Print the projectors T_k and V_k too.
        #[arg(long)]
        projectors: bool,

        /// The finite eigenvalues at the point; for an inverse model its zero dynamics.
        #[arg(long)]
        eigenvalues: bool,

        #[command(flatten)]
        picture: PictureArgs,

        /// What --plot shows: structure, projectors or eigenvalues.
        #[arg(
            long,
            value_name = "WHAT",
            requires = "plot",
            default_value = "structure",
            hide_possible_values = true
        )]
        plot_what: StructurePictureWord,

        /// How long to work: 10s, 500ms, 2min.
        #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
        budget: Duration,
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

    /// Integrate a model of any index; explain its singularities.
    #[command(after_help = "\
Examples:
  daelight solve robotic-arm
  daelight solve robotic-arm --on-singularity continue --to 2.2
  daelight solve pendulum --to 20 --rtol 1e-9 --points 401 --out swing.csv
  daelight solve pendulum --save-at 0,0.5,1 --json
  daelight solve arm.mo --input u1=torques.csv --input u2=torques.csv:u[2]
  daelight solve pendulum --stop-when \"y < -0.5\"
  daelight solve robotic-arm --plot arm.svg
  daelight solve robotic-arm --plot arm.png --plot-what singular-value
  daelight solve e12 --plot stills.svg --plot-what drawing
  daelight solve index3-toy --method bdf-fixed --order 1 --step 0.1
  daelight solve e1 --method bdf-fixed --order 3 --step 0.001 --form dummy --scale 1

--stop-when takes an expression of the model: its unknowns, der(x), parameters
and time.

--input replaces an input by a spline through a column of a table whose first
column is the time; the column has the name of the input unless another one is
given. The spline has as many continuous derivatives as the model takes of the
input. Data too rough for that are told.

Without --to, --from and --rtol the model's experiment annotation decides.
A file named with --out gets the values that were computed even if the run ends
early. Ctrl-C ends the run and keeps them; a second one ends the program.

bdf-fixed makes constant steps by backward differentiation of order 1 (implicit
Euler) to 6, to compare forms of a model: as written (original), its index
reduced (dummy, strangeness), an ODE for the states alone (decoupled), or other
equations for the same unknowns (FILE.mo). It tells how far the points are from
every constraint of the model, hidden ones too, and does not stop for
singularities. The interval must be a whole number of steps.

Exit status: 0 the end or the condition of --stop-when was reached; 3 the run
ended at a singularity; 4 the numerics gave up, or Ctrl-C ended the run.")]
    Solve {
        #[command(flatten)]
        model: ModelArgs,

        /// Where the run begins; otherwise the experiment's start.
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        from: Option<f64>,

        /// Where the run ends; before --from for a backward run.
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        to: Option<f64>,

        /// Relative tolerance.
        #[arg(long, value_name = "NUMBER")]
        rtol: Option<f64>,

        /// Absolute tolerance in units of `nominal`; otherwise the relative one.
        #[arg(long, value_name = "NUMBER")]
        atol: Option<f64>,

        /// auto, taylor, radau, bdf or bdf-fixed.
        #[arg(
            long,
            default_value = "auto",
            value_name = "NAME",
            hide_possible_values = true
        )]
        method: Method,

        /// stop, or continue over singularities that the solution passes smoothly.
        #[arg(
            long,
            default_value = "stop",
            value_name = "WHAT",
            hide_possible_values = true
        )]
        on_singularity: OnSingularity,

        /// Order of the series instead of the one that suits the tolerance; of bdf-fixed, 1 to 6.
        #[arg(long, value_name = "NUMBER")]
        order: Option<usize>,

        /// Number of equally spaced output points.
        #[arg(long, value_name = "NUMBER", conflicts_with = "save_at")]
        points: Option<usize>,

        /// Output times, separated by commas.
        #[arg(
            long,
            value_name = "TIMES",
            value_delimiter = ',',
            allow_hyphen_values = true
        )]
        save_at: Option<Vec<f64>>,

        /// A JSON file with values to start from, {"x": 1.0}.
        #[arg(long, value_name = "FILE")]
        point: Option<PathBuf>,

        /// Most steps.
        #[arg(long, value_name = "NUMBER")]
        max_steps: Option<usize>,

        /// Most time for the start, and for the run: 10s, 500ms, 2min.
        #[arg(long, value_name = "TIME", value_parser = duration)]
        budget: Option<std::time::Duration>,

        /// Repeat the run with a hundredth of the tolerance and print the difference.
        #[arg(long)]
        estimate_error: bool,

        #[command(flatten)]
        fixed: FixedArgs,

        /// Drive an input of the model by a column of a csv, parquet or json table.
        #[arg(long, value_name = "NAME=FILE[:COLUMN]")]
        input: Vec<String>,

        /// End the run where a condition begins to hold, or a number changes its sign; x == c is where x crosses c.
        #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
        stop_when: Option<String>,

        #[command(flatten)]
        picture: RunPictureArgs,
    },

    /// Find the singular configurations of a model's constraints, exactly and before any run.
    #[command(after_help = "\
Examples:
  daelight singular andrews-constraints
  daelight singular andrews-constraints --set a[1]=0.03 --set a[2]=0.055
  daelight singular four-bar --parameters all
  daelight singular andrews-constraints --parameters a[1],a[2] --curves
  daelight singular three-rrr --locked q[1],q[2],q[3] --json

Constraints are those of lagrange, the equations of a model without
derivatives, or the equations without derivatives in unknowns that occur
differentiated. Decimals are exact numbers, and so are square roots:
--set \"b[1]=-0.06934+0.03*sqrt(2)\".

Exit status: 0 there is an answer, unknown included; 1 the constraints are
not algebraic; 4 the time budget was reached.")]
    Singular {
        #[command(flatten)]
        model: ModelArgs,

        #[command(flatten)]
        picture: PictureArgs,

        /// Coordinates that are driven from outside, separated by commas.
        #[arg(long, value_name = "NAMES", value_parser = names)]
        locked: Option<Names>,

        /// Parameters that stay symbols, separated by commas, or all.
        #[arg(long, value_name = "NAMES", value_parser = names)]
        parameters: Option<Names>,

        /// With one or two parameters: count on the curves between regions too.
        #[arg(long, requires = "parameters")]
        curves: bool,

        /// How long to work: 60s, 500ms, 2min.
        #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
        time_budget: Duration,

        /// How much memory bases may take: 4GB, 500MB.
        #[arg(long, value_name = "SIZE", default_value = "4GB", value_parser = bytes)]
        memory_budget: usize,
    },

    /// Measure a model at many values of its parameters: curves, maps, tables.
    #[command(after_help = "\
Examples:
  daelight sweep pendulum --over L=0.5:2:100 --measure final:x --out x.csv
  daelight sweep andrews-constraints --over a[1]=0.001:0.1:200 \\
      --over a[2]=0.001:0.1:200 --measure singular-count --plot map.svg
  daelight sweep robotic-arm-general --list table.csv --measure locus-zero
  daelight sweep arm.mo --over l1=0.5:2 --over l2=0.5:2 --random 1000 \\
      --measure status --measure first-singular-time --out arms.parquet
  daelight sweep arm.mo --over l2=1:2:9999 --measure index --shard 3/8 --out 3.csv

Measures: index and dof at the start; singular-count, the number of real singular
configurations (singular-count:2 of the second piece that `singular` lists);
first-singular-time, sigma-min, final:NAME, max:NAME and status of a run;
locus-zero, where a singular locus vanishes (locus-zero:cos(x3) of a quantity).

The last --over changes fastest. A point that fails is a row with its reason.
Rows are kept in FILE.partial until all are there; Ctrl-C leaves it, --resume
goes on with it. Parts of --shard, without their first lines, are the whole.

Exit status: 0 all points are measured, whatever they gave; 1 the model is at
fault; 2 wrong usage; 4 interrupted.")]
    Sweep {
        #[command(flatten)]
        model: ModelArgs,

        #[command(flatten)]
        sweep: SweepArgs,
    },

    /// Write everything about a model on one HTML page that opens without a network.
    #[command(after_help = "\
Examples:
  daelight report pendulum --out pendulum.html
  daelight report andrews-constraints --set a[1]=0.03 --set a[2]=0.055 --out andrews.html
  daelight report arm.mo --to 3 --on-singularity stop --out arm.html

The page holds the equations with their text, the passport, hidden constraints,
the start, plots of the run, its singularities with the mechanism at these
instants, an animation, the singular configurations, the numbers behind every
verdict, and the commands that repeat it. A stage that fails leaves its message
in its place.

Exit status: 0 the page was written; 1 the same, but the model has mistakes and
the page shows them.")]
    Report {
        #[command(flatten)]
        model: ModelArgs,

        /// Where the run ends; otherwise the experiment's end.
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        to: Option<f64>,

        /// Relative tolerance.
        #[arg(long, value_name = "NUMBER")]
        rtol: Option<f64>,

        /// auto, taylor, radau or bdf.
        #[arg(
            long,
            default_value = "auto",
            value_name = "NAME",
            hide_possible_values = true
        )]
        method: Method,

        /// continue over singularities that the solution passes smoothly, or stop.
        #[arg(
            long,
            default_value = "continue",
            value_name = "WHAT",
            hide_possible_values = true
        )]
        on_singularity: OnSingularity,

        /// Leave the run out.
        #[arg(long)]
        no_run: bool,

        /// How long to look for singular configurations: 20s, 500ms, 2min.
        #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
        time_budget: Duration,
    },

    /// Solve an inverse model, feed its forces to a forward model, compare the motions.
    #[command(after_help = "\
Examples:
  daelight feedforward e12 --forward e12-forward
  daelight feedforward e1 --forward e1-forward --to 0.8 --out check.csv
  daelight feedforward arm.mo --forward arm.mo --forward-model ArmForward

Inputs of the forward model take their values from unknowns of the inverse one
with the same names. Its run begins with the values of the inverse model. The
motions compared are the equations of the inverse model that prescribe one.
--set changes both models where both have the parameter, --forward-set the
forward model alone. --out writes the forces and errors over time.")]
    Feedforward {
        #[command(flatten)]
        model: ModelArgs,

        /// The forward model: a path or the name of a built-in model.
        #[arg(long, value_name = "MODEL")]
        forward: String,

        /// The model to take when the text of --forward holds several.
        #[arg(long, value_name = "NAME")]
        forward_model: Option<String>,

        /// Give a parameter of the forward model another value.
        #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
        forward_set: Vec<String>,

        /// Where the runs end; otherwise the experiment's end.
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        to: Option<f64>,

        /// Relative tolerance of both runs.
        #[arg(long, value_name = "NUMBER")]
        rtol: Option<f64>,

        /// Absolute tolerance of both runs in units of `nominal`; otherwise the relative one.
        #[arg(long, value_name = "NUMBER")]
        atol: Option<f64>,

        /// Method of both runs: auto, taylor, radau or bdf.
        #[arg(
            long,
            default_value = "auto",
            value_name = "NAME",
            hide_possible_values = true
        )]
        method: Method,

        /// Samples through which the forces are splined.
        #[arg(long, value_name = "NUMBER", default_value_t = 2001, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
        samples: u32,

        /// Times at which the motions are compared.
        #[arg(long, value_name = "NUMBER", default_value_t = 201, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
        points: u32,

        #[command(flatten)]
        picture: PictureArgs,
    },

    /// Write an equivalent model of index 1 or 0, each new equation with its origin.
    #[command(after_help = "\
Examples:
  daelight reduce pendulum
  daelight reduce robotic-arm --method minimal --out arm1.mo
  daelight reduce cstr --form explicit | daelight analyze -

The states are chosen where they are best conditioned, at the consistent point
closest to the start values; its values become the start values of the answer.
dummy adds all differentiated equations and a new unknown for each derivative
that is no state's; minimal leaves out those that an equation gives directly;
strangeness adds no unknowns, where derivatives can be eliminated.")]
    Reduce {
        #[command(flatten)]
        model: ModelArgs,

        /// dummy, strangeness or minimal.
        #[arg(
            long,
            value_enum,
            default_value = "dummy",
            value_name = "METHOD",
            hide_possible_values = true
        )]
        method: ReduceMethod,

        /// implicit (F = 0), semi-explicit (x' = F, 0 = G) or explicit (x' = F).
        #[arg(
            long,
            value_enum,
            default_value = "implicit",
            value_name = "FORM",
            hide_possible_values = true
        )]
        form: ReduceForm,

        /// The time of the point; otherwise the experiment's start.
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        at: Option<f64>,

        /// How long to analyse the model: 10s, 500ms, 2min.
        #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
        budget: Duration,
    },

    /// Draw columns of a table that solve, feedforward or another tool wrote.
    #[command(after_help = "\
Examples:
  daelight plot run.csv
  daelight plot run.csv x3 u1 --out look.png --dark
  daelight plot run.csv y --against x
  daelight plot exact.csv euler.csv bdf6.csv u1 --labels exact,Euler,BDF6
  daelight plot exact.csv euler.csv bdf6.csv u1 --difference --log
  daelight plot run.csv sigma_min --log --report run.json
  daelight plot bench/results/solve.csv --work-precision

The first column of a table is the time. A name may stand for all elements of
an array. Without names all columns are drawn, those of similar size together.
Several tables are compared column by column; --difference subtracts the first
one, interpolated at the times of the others.
--report takes what `solve --json` printed and marks its singular times.
--work-precision draws error against time from the columns tool, model, error
and time.")]
    Plot(PlotArgs),

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

    /// Try daelight on problems whose answers are known.
    ///
    /// Every reference of the library is asked for by every method, then random DAEs with planted answers.
    #[command(after_help = "\
Examples:
  daelight selftest                  a minute or two
  daelight selftest --random 100000  for a night")]
    Selftest {
        /// How many random DAEs with planted solutions, indices and singular times.
        #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
        random: u64,

        /// The number of the first random DAE.
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        first: u64,

        /// Print the text of the random DAE with this number instead.
        #[arg(long, value_name = "NUMBER")]
        print: Option<u64>,

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

    /// Print the manual page of daelight or of one of its commands.
    #[command(after_help = "\
Examples:
  daelight man | man -l -
  daelight man solve > ~/.local/share/man/man1/daelight-solve.1")]
    Man {
        /// A command; otherwise the page of daelight itself.
        command: Option<String>,
    },
}

/// The methods of integration.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
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

/// What `--method bdf-fixed` takes.
#[derive(Args, Debug)]
pub struct FixedArgs {
    /// The step of bdf-fixed.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub step: Option<f64>,

    /// The equations of bdf-fixed: original, dummy, strangeness, strangeness-values, decoupled or a file.
    #[arg(long, value_name = "FORM")]
    pub form: Option<String>,

    /// Multiply equations without derivatives by step^-P in bdf-fixed.
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub scale: Option<f64>,
}

/// What `sweep` takes.
#[derive(Args, Debug)]
pub struct SweepArgs {
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
    #[arg(long, value_name = "MEASURE", required = true)]
    pub measure: Vec<String>,

    /// Curves over one parameter, maps over two.
    #[command(flatten)]
    pub picture: PictureArgs,

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
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<f64>,

    /// Relative tolerance of runs.
    #[arg(long, value_name = "NUMBER")]
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

    /// Most steps of a run.
    #[arg(long, value_name = "NUMBER")]
    pub max_steps: Option<usize>,

    /// Coordinates that are driven from outside, for singular-count.
    #[arg(long, value_name = "NAMES", value_parser = names)]
    pub locked: Option<Names>,

    /// How long to work on a point: 60s, 500ms, 2min.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub budget: Duration,
}

impl Command {
    /// The files that the command is to write.
    pub fn outputs(&self) -> Vec<&Path> {
        let (out, plot) = match self {
            Self::Check(model)
            | Self::Derive { model, .. }
            | Self::Init { model, .. }
            | Self::Reduce { model, .. }
            | Self::Report { model, .. } => (&model.out, &None),
            Self::Analyze { model, picture, .. }
            | Self::Singular { model, picture, .. }
            | Self::Feedforward { model, picture, .. } => (&model.out, &picture.plot),
            Self::Solve { model, picture, .. } => (&model.out, &picture.file.plot),
            Self::Sweep { model, sweep } => (&model.out, &sweep.picture.plot),
            Self::Plot(arguments) => (&arguments.out, &None),
            Self::Examples { .. }
            | Self::Selftest { .. }
            | Self::Completions { .. }
            | Self::Man { .. } => (&None, &None),
        };
        [out, plot]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
            .collect()
    }
}

/// What to do at a removable singularity.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnSingularity {
    /// End the run there.
    Stop,
    /// Pass it and go on.
    Continue,
}

/// What `plot` takes.
#[derive(Args, Debug)]
pub struct PlotArgs {
    /// A csv, parquet or json table.
    pub table: PathBuf,

    /// More tables, to compare them in one frame, and columns to draw; otherwise all.
    #[arg(value_name = "TABLES AND COLUMNS")]
    pub more: Vec<String>,

    /// What the legend calls the tables, separated by commas; otherwise the names of the files.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub labels: Vec<String>,

    /// Draw by how much the other tables differ from the first one.
    #[arg(long, conflicts_with = "against")]
    pub difference: bool,

    /// The first time that is shown.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<f64>,

    /// The last time that is shown.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<f64>,

    /// The svg or png file; otherwise an svg beside the table.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// The column of the horizontal axis instead of the time: a phase plot.
    #[arg(long, value_name = "NAME")]
    pub against: Option<String>,

    /// A logarithmic vertical axis; of quantities with both signs the absolute values are shown.
    #[arg(long)]
    pub log: bool,

    /// Mark the singular times that a document of `solve --json` tells; may be given several times.
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    pub report: Vec<PathBuf>,

    /// Error against time for each tool and model.
    #[arg(long, conflicts_with_all = ["more", "labels", "difference", "from", "to", "against", "log", "report"])]
    pub work_precision: bool,

    /// Light ink on a dark page.
    #[arg(long)]
    pub dark: bool,

    /// The size in pixels; otherwise as large as the content needs, a png twice as fine.
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub size: Option<(u32, u32)>,
}

/// A picture beside the answer.
#[derive(Args, Debug)]
pub struct PictureArgs {
    /// Draw a picture into an svg or png file.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// Light ink on a dark page, for --plot.
    #[arg(long, requires = "plot")]
    pub dark: bool,

    /// The size of the picture in pixels, for --plot.
    #[arg(long, value_name = "WxH", requires = "plot", value_parser = size)]
    pub size: Option<(u32, u32)>,
}

/// A picture of a run.
#[derive(Args, Debug)]
pub struct RunPictureArgs {
    #[command(flatten)]
    pub file: PictureArgs,

    /// What --plot shows: trajectory, drawing, singular-value, loci, steps, residuals or eigenvalues.
    #[arg(
        long,
        value_name = "WHAT",
        requires = "plot",
        hide_possible_values = true
    )]
    pub plot_what: Option<RunPictureWord>,
}

impl RunPictureArgs {
    /// What the picture shows.
    pub fn what(&self) -> daelight::RunPicture {
        use daelight::RunPicture;
        match self.plot_what {
            None | Some(RunPictureWord::Trajectory) => RunPicture::Trajectory,
            Some(RunPictureWord::Drawing) => RunPicture::Drawing,
            Some(RunPictureWord::SingularValue) => RunPicture::SingularValue,
            Some(RunPictureWord::Loci) => RunPicture::Loci,
            Some(RunPictureWord::Steps) => RunPicture::Steps,
            Some(RunPictureWord::Residuals) => RunPicture::Residuals,
            Some(RunPictureWord::Eigenvalues) => RunPicture::Eigenvalues,
        }
    }
}

/// What a picture of a run shows.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum RunPictureWord {
    /// All unknowns over time.
    Trajectory,
    /// The mechanism at several instants.
    Drawing,
    /// How far the run is from singular points.
    SingularValue,
    /// The expressions that vanish at singular points.
    Loci,
    /// Sizes and orders of steps.
    Steps,
    /// How well the constraints hold.
    Residuals,
    /// Eigenvalues of the zero dynamics.
    Eigenvalues,
}

/// What a picture of a passport shows.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum StructurePictureWord {
    /// Signature matrix and blocks.
    Structure,
    /// The projectors of each level.
    Projectors,
    /// Finite eigenvalues in the complex plane.
    Eigenvalues,
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

/// What every command on a model takes.
#[derive(Args, Debug)]
pub struct ModelArgs {
    /// A path, the name of a built-in model, or - for standard input.
    pub model: String,

    /// Give a parameter another value; for an element of an array: a[3]=0.02.
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

    /// Write the answer to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A duration such as `10s`, `500ms` or `2min`; a bare number means seconds.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let units = [("ms", 1e-3), ("min", 60.0), ("s", 1.0)];
    let found = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = found.unwrap_or((text, &1.0));
    let seconds = number.trim().parse::<f64>().ok().map(|n| n * factor);
    let usable = |seconds: &f64| (0.0..1e9).contains(seconds);
    match seconds.filter(usable) {
        Some(seconds) => Ok(std::time::Duration::from_secs_f64(seconds)),
        None => Err(format!("`{text}` is no duration; write 10s, 500ms or 2min")),
    }
}

/// Most pixels of a picture: a few hundred megabytes while it is drawn.
const MOST_PIXELS: u32 = 50_000_000;

/// A size in pixels such as `800x600`.
fn size(text: &str) -> Result<(u32, u32), String> {
    let sizes = text.split_once(['x', '×']).and_then(|(width, height)| {
        Some((width.trim().parse().ok()?, height.trim().parse().ok()?))
    });
    let usable = |(width, height): &(u32, u32)| {
        let each = [width, height].iter().all(|n| (60..=20_000).contains(*n));
        each && width * height <= MOST_PIXELS
    };
    sizes.filter(usable).ok_or_else(|| {
        let most = MOST_PIXELS / 1_000_000;
        format!("`{text}` is no size of a picture; write 800x600, each from 60 to 20000, {most} million pixels at most")
    })
}

/// A list of names.
#[derive(Clone, Debug)]
pub struct Names(pub Vec<String>);

/// Names separated by commas; commas inside brackets belong to a name, as in `c[1,2]`.
fn names(text: &str) -> Result<Names, String> {
    let mut names = vec![String::new()];
    let mut depth = 0;
    for character in text.chars() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        match (character, names.last_mut()) {
            (',', _) if depth == 0 => names.push(String::new()),
            (c, Some(name)) if !c.is_whitespace() => name.push(c),
            _ => {}
        }
    }
    if names.iter().any(String::is_empty) {
        return Err(format!("`{text}` holds an empty name"));
    }
    Ok(Names(names))
}

/// A size such as `4GB` or `500MB`; a bare number means bytes.
fn bytes(text: &str) -> Result<usize, String> {
    let units = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)];
    let found = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = found.unwrap_or((text, &1.0));
    let size = number.trim().parse::<f64>().ok().map(|n| n * factor);
    match size.filter(|size| (0.0..1e15).contains(size)) {
        Some(size) => Ok(size as usize),
        None => Err(format!("`{text}` is no size; write 4GB or 500MB")),
    }
}

/// Two times as `FROM:TO`.
fn interval(text: &str) -> Result<(f64, f64), String> {
    let time = |text: &str| {
        let time = text.trim().parse::<f64>().ok();
        time.filter(|time| time.is_finite())
            .ok_or_else(|| format!("`{text}` is no time"))
    };
    let (from, to) = text
        .split_once(':')
        .ok_or("give two times with a colon between them, such as 0:2")?;
    let (from, to) = (time(from)?, time(to)?);
    if from < to {
        Ok((from, to))
    } else {
        Err(format!("{from} is not before {to}"))
    }
}
