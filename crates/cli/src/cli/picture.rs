//! What pictures take: beside an answer, of a run, of a table.

use super::values::{number, size};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

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
    pub fn what(&self) -> daelight_show::picture::RunPicture {
        use daelight_show::picture::RunPicture;
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

/// What `plot` takes.
#[derive(Args, Debug)]
pub struct PlotArgs {
    /// A csv, parquet or json table.
    pub table: PathBuf,

    /// More tables, to compare them in one frame, and columns or expressions in columns to draw; otherwise all columns.
    #[arg(value_name = "TABLES AND COLUMNS")]
    pub more: Vec<String>,

    /// What the legend calls the tables, separated by commas; otherwise the names of the files.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub labels: Vec<String>,

    /// Draw by how much the other tables differ from the first one.
    #[arg(long, conflicts_with = "against")]
    pub difference: bool,

    /// The first time that is shown.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub from: Option<f64>,

    /// The last time that is shown.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = number)]
    pub to: Option<f64>,

    /// The svg or png file; otherwise an svg beside the table, named after it and the columns.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// The column or expression of the horizontal axis instead of the time: a phase plot.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
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
