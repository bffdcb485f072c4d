//! The command line: every flag is defined here, once.
//!
//! The commands with their help are in this file; what each of them takes is in the file of its kind, and how words become
//! values in `values`.

mod model;
mod picture;
mod run;
mod singular;
mod values;

pub use model::{
    AnalyzeArgs, CheckArgs, DeriveArgs, FmuArgs, InitArgs, LinearizeArgs, ModelArgs, ReduceArgs,
    ReduceForm, ReduceMethod,
};
pub use picture::{PictureArgs, PlotArgs, RunPictureWord, StructurePictureWord};
pub use run::{
    FeedforwardArgs, FitArgs, FixedArgs, Method, OnSingularity, OnZeno, ReportArgs, SolveArgs,
};
pub use singular::{SingularArgs, SweepArgs};
pub use values::{Names, joined_names};

use clap::{Args, ColorChoice, Parser, Subcommand};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

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
  daelight linearize cstr              its linear model at the start
  daelight fmu pendulum --out pendulum.fmu     the model for other tools
  daelight feedforward e12 --forward e12-forward   torques, verified
  daelight singular four-bar           where its constraints lose rank
  daelight plot run.csv x3             a picture of a table that solve wrote
  daelight sweep pendulum --over L=1:2:9 --measure final:x   many runs
  daelight report pendulum --out pendulum.html     all of it on one page
  daelight studio pendulum             write, run and move it in the browser
  daelight explain 1-full              what a word of the output means

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
  daelight check arm.mo --units strict
  cat robot.mo | daelight check -
  daelight check motor.fmu

Of an FMU of any tool its archive and its description are read, and what breaks
the rules of FMI 2.0 or 3.0 is shown; nothing of it is run or unpacked.

Quantities of different units that are added, compared or made equal are
reported as warnings with both units; with --units strict they are errors, and
numbers in the text have no unit, so that 10*sin(2*time) is no voltage.

A model with more equations than unknowns is reported as an error, one with
fewer as a warning, with the equations and unknowns of the part where they do
not match.

Exit status: 0 the text is a model, maybe with too few equations; 1 it has
mistakes, or more equations than unknowns.")]
    Check(CheckArgs),

    /// Write a model as flat, plain Modelica, with Lagrangians expanded.
    #[command(after_help = "\
Examples:
  daelight derive pendulum-3d
  daelight derive delta-robot --out delta.mo
  daelight derive delta-robot | daelight check -
  daelight derive pendulum-3d --base --out pendulum.bmo",
        mut_arg("json", |json| json.hide(true)))]
    Derive(DeriveArgs),

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
    Analyze(AnalyzeArgs),

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
    Init(InitArgs),

    /// Integrate a model of any index; explain its singularities.
    #[command(after_help = "\
Examples:
  daelight solve robotic-arm
  daelight solve robotic-arm --on-singularity continue --to 2.2
  daelight solve pendulum --to 20 --rtol 1e-9 --points 401 --out swing.csv
  daelight solve pendulum --save-at 0,0.5,1 --json
  daelight solve pendulum --points 5 --out - | cat
  daelight solve arm.mo --input u1=torques.csv --input \"u2=torques.csv:u[2]\"
  daelight solve pendulum --stop-when \"y < -0.5\"
  daelight solve pendulum --sensitivity L,g --out swing.csv
  daelight solve pendulum --gradient \"x^2 + y^2\" --by L,g
  daelight solve robotic-arm --plot arm.svg
  daelight solve robotic-arm --plot arm.png --plot-what singular-value
  daelight solve e12 --plot stills.svg --plot-what drawing
  daelight solve index3-toy --method bdf-fixed --order 1 --step 0.1
  daelight solve e1 --method bdf-fixed --order 3 --step 0.001 --form dummy --scale 1
  daelight solve motor.fmu --to 2 --set R=2.5 --out run.csv

An FMU of any tool runs by co-simulation, in a process of its own: a library that
crashes takes no values along, and --budget ends one that hangs.

--stop-when takes an expression of the model: its unknowns, der(x), parameters
and time.

--sensitivity p,q,x adds derivatives by the parameters p and q and by the start
value of the unknown x; --out has them in the columns d(y)/d(p).

--gradient has the derivatives of one number, by the adjoint of the run: they
cost about one more run however many parameters there are. The number is an
expression of the values at the end, or integral(EXPRESSION) over the run.

--input replaces an input by a column of a table whose first column is the time;
the column has the name of the input unless another one is given. Between the
rows it follows straight lines, or a smooth spline where the model differentiates
the input or the spline fits better; a note says when the data are too rough.

Without --to, --from and --rtol the model's experiment annotation decides.
A file named with --out gets the values that were computed even if the run ends
early; --out - prints them as csv. With --json, --points and --save-at put them
into the document. Ctrl-C ends the run and keeps them; a second one ends the program.

bdf-fixed makes constant steps by backward differentiation of order 1 (implicit
Euler) to 6, to compare forms of a model: as written (original), its index
reduced (dummy, strangeness), an ODE for the states alone (decoupled), or other
equations for the same unknowns (FILE.mo). It tells how far the points are from
every constraint of the model, hidden ones too, and does not stop for
singularities. The interval must be a whole number of steps.

Exit status: 0 the end, the condition of --stop-when, or the limit of events
that come ever faster was reached; 3 the run ended at a singularity; 4 the
numerics gave up, or Ctrl-C ended the run.")]
    Solve(SolveArgs),

    /// Find the singular configurations of a model's constraints, exactly and before any run.
    #[command(after_help = "\
Examples:
  daelight singular andrews-constraints
  daelight singular andrews-constraints --set \"a[1]=0.03\" --set \"a[2]=0.055\"
  daelight singular four-bar --parameters all
  daelight singular andrews-constraints --parameters \"a[1],a[2]\" --curves
  daelight singular three-rrr --locked \"q[1],q[2],q[3]\" --json

Constraints are those of lagrange, the equations of a model without
derivatives, or the equations without derivatives in unknowns that occur
differentiated. Of a model that follows a path they are the path and the
loops that have to follow it. Decimals are exact numbers, and so are square roots:
--set \"b[1]=-0.06934+0.03*sqrt(2)\".

Exit status: 0 there is an answer, unknown included; 1 the constraints are
not algebraic; 4 the time budget was reached.")]
    Singular(SingularArgs),

    /// Measure a model at many values of its parameters: curves, maps, tables.
    #[command(after_help = "\
Examples:
  daelight sweep pendulum --over L=0.5:2:100 --measure final:x --out x.csv
  daelight sweep andrews-constraints --over \"a[1]=0.001:0.1:200\" \\
      --over \"a[2]=0.001:0.1:200\" --measure singular-count --plot map.svg
  daelight sweep robotic-arm-general --list table.csv --measure locus-zero
  daelight sweep arm.mo --over l1=0.5:2 --over l2=0.5:2 --random 1000 \\
      --measure status --measure first-singular-time --out arms.parquet
  daelight sweep arm.mo --over l2=1:2:9999 --measure index --shard 3/8 --out 3.csv
  daelight sweep swing.mo --over L=1.9:2.1 --random 500 --bands \"p[2]\" --plot bands.svg

Measures: index and dof at the start; singular-count, the number of real singular
configurations (singular-count:2 of the second piece that `singular` lists);
first-singular-time, sigma-min, final:EXPR, max:EXPR, min:EXPR, max-abs:EXPR and status of a run,
EXPR being an unknown or an expression (final:time, max:0.5*m*v^2);
locus-zero, where a singular locus vanishes (locus-zero:cos(x3) of a quantity).

The last --over changes fastest. A point that fails is a row with its reason.
Rows are kept in FILE.partial until all are there; Ctrl-C leaves it, --resume
goes on with it. The parts of --shard, one after the other and without their
first lines, are the whole table.

Exit status: 0 all points are measured, whatever they gave; 1 the model is at
fault; 2 wrong usage; 4 interrupted.")]
    Sweep(SweepArgs),

    /// Write everything about a model on one HTML page that opens without a network.
    #[command(after_help = "\
Examples:
  daelight report pendulum --out pendulum.html
  daelight report andrews-constraints --set \"a[1]=0.03\" --set \"a[2]=0.055\" --out andrews.html
  daelight report arm.mo --to 3 --on-singularity stop --out arm.html

The page begins with the answers: what the model is, an animation of the run
with its singular times, and the singular configurations drawn. Then come the
plots, the singularities with the mechanism at these instants, the passport,
hidden constraints, the start, the numbers behind every verdict, the equations
and the commands that repeat it. Plots can be saved as CSV. A stage that fails
leaves its message in its place. Without --out the page gets the name of the
model; --out - prints it.

Exit status: 0 the page was written; 1 the same, but the model has mistakes or
no start: they are printed, too, and the page shows them.",
        mut_arg("json", |json| json.hide(true)))]
    Report(ReportArgs),

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
    Feedforward(FeedforwardArgs),

    /// Fit parameters of a model to measured runs, with intervals.
    #[command(after_help = "\
Examples:
  daelight fit swing.mo --data run.csv --parameters L,g,d
  daelight fit motor.mo --data run.csv --parameters R,k --columns i --input u=run.csv
  daelight fit swing.mo --data run.csv --parameters L --set L=2 --json

The first column of the table is the time; columns that are named as unknowns
of the model are compared with its run. The fit begins with the values of the
model, or those of --set. A start value is fitted as a parameter: x(start = x0).

Exit status: 0 the sum of squares is at a minimum; 4 it is not.")]
    Fit(FitArgs),

    /// The linear model at a point: A, B, C, D, poles and zeros, for any index.
    #[command(after_help = "\
Examples:
  daelight linearize motor.mo --inputs u --outputs w
  daelight linearize cstr
  daelight linearize motor.mo --rest --out motor.mat
  daelight linearize motor.mo --plot motor.svg

Without names all inputs of the model are taken, and the unknowns that are
declared output. The states are unknowns that determine the solutions nearby.
--out writes motor.json, motor.mat (MATLAB, Octave, SciPy) or motor.npz (NumPy);
--plot draws gain and phase over the frequency, and the response to a step.")]
    Linearize(LinearizeArgs),

    /// Write a model as an FMU, which other tools run without a compiler.
    #[command(after_help = "\
Examples:
  daelight fmu pendulum --out pendulum.fmu
  daelight fmu arm.mo --fmi 3 --set l2=0.5

In co-simulation the FMU brings daelight's own methods along, so that models of
any index and models with events work; models without events are for model
exchange too. Where the solution ends, at a singularity, the step ends there
and a message says why. Inputs that nobody sets follow the model's own signals.
Without --out the file is MODELNAME.fmu.",
        mut_arg("json", |json| json.hide(true)))]
    Fmu(FmuArgs),

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
strangeness adds no unknowns, where derivatives can be eliminated.",
        mut_arg("json", |json| json.hide(true)))]
    Reduce(ReduceArgs),

    /// Open models in the browser: write them, run them, move them.
    #[command(after_help = "\
Examples:
  daelight studio                  the models of this folder
  daelight studio pendulum         a built-in model
  daelight studio arm.mo
  daelight studio models --port 8080 --no-open

The page is served by the program itself, to this computer alone; its address
holds a key that others do not know. Files are read in the folder that is
opened and below it, and saved when you ask for it. Ctrl-C ends it.")]
    Studio(StudioArgs),

    /// Draw columns of a table that solve, feedforward or another tool wrote.
    #[command(after_help = "\
Examples:
  daelight plot run.csv
  daelight plot run.csv x3 u1 --out look.png --dark
  daelight plot run.csv y --against x
  daelight plot run.csv 'x1 - x2' '0.5*v^2'
  daelight plot exact.csv euler.csv bdf6.csv u1 --labels exact,Euler,BDF6
  daelight plot exact.csv euler.csv bdf6.csv u1 --difference --log
  daelight plot run.csv sigma_min --log --report run.json
  daelight plot bench/results/solve.csv --work-precision

The first column of a table is the time. A name may stand for all elements of
an array. Expressions are written as in a model, in the columns and the time.
Without names all columns are drawn, those of similar size together.
Several tables are compared column by column; --difference subtracts the first
one, interpolated at the times of the others.
--report takes what `solve --json` printed and marks its singular times.
--work-precision draws error against time from the columns tool, model, error
and time.")]
    Plot(PlotArgs),

    /// Serve an editor: messages as you type, hover, completion, rename.
    #[command(after_help = "\
Example, in an editor's settings:
  daelight lsp

The server speaks the Language Server Protocol on standard input and output.
docs/guide/editor.md has the lines for VS Code, Neovim, Helix and Emacs.

Exit status: 0 the editor said goodbye; 1 it went away without a word.")]
    Lsp(LspArgs),

    /// List the built-in models, or print one.
    #[command(after_help = "\
Examples:
  daelight examples
  daelight examples robotic-arm > arm.mo")]
    Examples(ExamplesArgs),

    /// Say what a word of the output means, or the code of a message.
    #[command(after_help = "\
Examples:
  daelight explain 1-full
  daelight explain rank T
  daelight explain 5-A
  daelight explain overdetermined
  daelight explain             all words")]
    Explain(ExplainArgs),

    /// Try daelight on problems whose answers are known.
    ///
    /// Every reference of the library is asked for by every method, then random DAEs with planted answers.
    #[command(after_help = "\
Examples:
  daelight selftest                  a minute or two
  daelight selftest --random 100000  for a night")]
    Selftest(SelftestArgs),

    /// Print a completion script for a shell.
    #[command(after_help = "\
Example:
  daelight completions bash > ~/.local/share/bash-completion/completions/daelight")]
    Completions(CompletionsArgs),

    /// Print the manual page of daelight or of one of its commands.
    #[command(after_help = "\
Examples:
  daelight man | man -l -
  daelight man solve > ~/.local/share/man/man1/daelight-solve.1")]
    Man(ManArgs),
}

impl Command {
    /// The files that the command is to write.
    pub fn outputs(&self) -> Vec<&Path> {
        let (out, plot) = match self {
            Self::Check(check) => (&check.model.out, &None),
            Self::Derive(DeriveArgs { model, .. })
            | Self::Init(InitArgs { model, .. })
            | Self::Fit(FitArgs { model, .. })
            | Self::Linearize(LinearizeArgs { model, .. })
            | Self::Fmu(FmuArgs { model, .. })
            | Self::Reduce(ReduceArgs { model, .. })
            | Self::Report(ReportArgs { model, .. }) => (&model.out, &None),
            Self::Analyze(AnalyzeArgs { model, picture, .. })
            | Self::Singular(SingularArgs { model, picture, .. })
            | Self::Sweep(SweepArgs { model, picture, .. })
            | Self::Feedforward(FeedforwardArgs { model, picture, .. }) => {
                (&model.out, &picture.plot)
            }
            Self::Solve(SolveArgs { model, picture, .. }) => (&model.out, &picture.file.plot),
            Self::Plot(arguments) => (&arguments.out, &None),
            Self::Lsp(_)
            | Self::Studio(_)
            | Self::Examples(_)
            | Self::Explain(_)
            | Self::Selftest(_)
            | Self::Completions(_)
            | Self::Man(_) => (&None, &None),
        };
        [out, plot]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
            .collect()
    }
}

/// What `lsp` takes.
#[derive(Args, Debug)]
pub struct LspArgs {
    /// Standard input and output; the only way there is, for editors that insist on saying so.
    #[arg(long)]
    pub stdio: bool,
}

/// What `studio` takes.
#[derive(Args, Debug)]
pub struct StudioArgs {
    /// A file, a folder, or the name of a built-in model.
    #[arg(value_name = "FILE|FOLDER|MODEL")]
    pub what: Option<PathBuf>,

    /// The port of the page; by default any that is free.
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,

    /// Do not open the browser: only print the address.
    #[arg(long)]
    pub no_open: bool,

    /// Answer the questions of a studio on standard input.
    #[arg(long, hide = true)]
    pub worker: bool,
}

/// What `examples` takes.
#[derive(Args, Debug)]
pub struct ExamplesArgs {
    /// The model to print.
    pub name: Option<String>,

    /// Print one JSON document on standard output and nothing else.
    #[arg(long)]
    pub json: bool,
}

/// What `explain` takes.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A term, the code of a message, or a kind of singular point.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
}

/// What `selftest` takes.
#[derive(Args, Debug)]
pub struct SelftestArgs {
    /// How many random DAEs with planted solutions, indices and singular times.
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub random: u64,

    /// The number of the first random DAE.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub first: u64,

    /// Print the text of the random DAE with this number instead.
    #[arg(long, value_name = "NUMBER")]
    pub print: Option<u64>,

    /// Print one JSON document on standard output and nothing else.
    #[arg(long)]
    pub json: bool,
}

/// What `completions` takes.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh.
    #[arg(hide_possible_values = true)]
    pub shell: Shell,
}

/// What `man` takes.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// A command; otherwise the page of daelight itself.
    pub command: Option<String>,
}
