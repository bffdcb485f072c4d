//! Pictures in files: the command `plot`, and `--plot` of other commands.

use crate::cli::{PictureArgs, PlotArgs};
use crate::{Status, Terminal};
use daelight::files::{MOST_TABLE_BYTES, read_at_most};
use daelight::{phase_picture, table_picture, work_precision_picture};
use daelight_plot::{Figure, Mark, Scale, Theme, png, svg};
use daelight_report::{Records, Table};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Pixels of a PNG for each of its units, unless its size is asked for.
const FINE: f32 = 2.0;

/// Where a picture goes and how it looks.
pub struct Picture {
    path: PathBuf,
    theme: Theme,
    size: Option<(u32, u32)>,
}

impl Picture {
    /// What `--plot` asks for; `Err` for a file whose name does not tell a format that is written.
    pub fn wanted(arguments: &PictureArgs) -> Result<Option<Self>, (String, String)> {
        let Some(path) = &arguments.plot else {
            return Ok(None);
        };
        Self::new(path, arguments.dark, arguments.size).map(Some)
    }

    fn new(path: &Path, is_dark: bool, size: Option<(u32, u32)>) -> Result<Self, (String, String)> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        if !["svg", "png"].contains(&ending) {
            return Err((
                format!("pictures are written as svg or png, not as `{ending}`"),
                "name the file run.svg or run.png".to_string(),
            ));
        }
        Ok(Self {
            path: path.to_path_buf(),
            theme: if is_dark { Theme::Dark } else { Theme::Light },
            size,
        })
    }

    /// Draws a figure into the file.
    pub fn write(&self, figure: Figure, terminal: &Terminal) -> Status {
        let figure = match self.size {
            Some((width, height)) => figure.whole_size(width, height),
            None => figure,
        };
        let text = svg(&figure, self.theme);
        let is_png = self.path.extension().is_some_and(|ending| ending == "png");
        let bytes = if is_png {
            let scale = if self.size.is_some() { 1.0 } else { FINE };
            match png(&text, scale) {
                Ok(bytes) => bytes,
                Err(error) => return terminal.usage(&error.to_string(), "write an svg instead"),
            }
        } else {
            text.into_bytes()
        };
        terminal.answer(&bytes, Some(&self.path))
    }

    /// Draws a figure, or says why there is none; that spoils no other answer of the command.
    pub fn write_or_note(&self, figure: Result<Figure, String>, terminal: &Terminal) -> Status {
        match figure {
            Ok(figure) => self.write(figure, terminal),
            Err(because) => {
                terminal.note(&[format!("no picture was made: {because}")]);
                Status::Done
            }
        }
    }
}

/// Draws columns of a table.
pub fn plot(arguments: &PlotArgs, terminal: &Terminal) -> Status {
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => arguments.table.with_extension("svg"),
    };
    let drawn = Picture::new(&out, arguments.dark, arguments.size)
        .and_then(|picture| Ok((picture, figure(arguments)?)));
    match drawn {
        Ok((picture, figure)) => match picture.write(figure, terminal) {
            Status::Done => {
                terminal.note(&[format!("the picture is in {}", out.display())]);
                Status::Done
            }
            failed => failed,
        },
        Err((message, help)) => terminal.usage(&message, &help),
    }
}

fn figure(arguments: &PlotArgs) -> Result<Figure, (String, String)> {
    let path = &arguments.table;
    let shown = path.display();
    let bytes = read(path)?;
    let unreadable = |because: String| {
        (
            format!("{shown} is no table that can be read: {because}"),
            "a table has names in its first line and the time in its first column".to_string(),
        )
    };
    let named = |because: String| {
        let help = "see the first line of the file for its columns".to_string();
        (format!("{shown}: {because}"), help)
    };
    if arguments.work_precision {
        let records = Records::read(&bytes).map_err(unreadable)?;
        return work_precision_picture(&records).map_err(|because| {
            let help = "the columns are tool, model, error and time".to_string();
            (format!("{shown}: {because}"), help)
        });
    }
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let table = Table::read(&bytes, ending).map_err(unreadable)?;
    let scale = if arguments.log {
        Scale::Log
    } else {
        Scale::Linear
    };
    match &arguments.against {
        Some(_) if arguments.names.is_empty() => Err((
            "--against needs a column to draw".to_string(),
            format!("name one: daelight plot {shown} y --against x"),
        )),
        Some(against) => phase_picture(&table, &arguments.names, against, scale).map_err(named),
        None => {
            let marks = match &arguments.report {
                Some(report) => marks(report)?,
                None => Vec::new(),
            };
            table_picture(&table, &arguments.names, scale, &marks).map_err(named)
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, (String, String)> {
    read_at_most(path, MOST_TABLE_BYTES).map_err(|error| {
        (
            format!("cannot read {}: {error}", path.display()),
            "give the path of a file that `solve --out` wrote".to_string(),
        )
    })
}

/// The singular times that a document of `solve --json` tells.
fn marks(path: &Path) -> Result<Vec<Mark>, (String, String)> {
    let document: Option<Value> = serde_json::from_slice(&read(path)?).ok();
    let listed = document
        .as_ref()
        .and_then(|document| document.get("singularities"));
    let Some(listed) = listed.and_then(Value::as_array) else {
        return Err((
            format!("{} tells no singular times", path.display()),
            "give what `solve --json` printed".to_string(),
        ));
    };
    let mark = |found: &Value| {
        let word = |name: &str| found.get(name).and_then(Value::as_str);
        Some(Mark {
            at: found.get("time")?.as_f64()?,
            label: word("kind").or(word("nature")).unwrap_or("").to_string(),
        })
    };
    Ok(listed.iter().filter_map(mark).collect())
}
