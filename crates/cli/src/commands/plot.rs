//! Pictures in files: the command `plot`, and `--plot` of other commands.

use crate::cli::{PictureArgs, PlotArgs};
use crate::terminal::{Ended, Status, Terminal, Wrong};
use daelight::add_expressions;
use daelight::files::{MOST_TABLE_BYTES, read_at_most, reason};
use daelight_plot::{Figure, Scale, Theme, TimeMark, png, svg};
use daelight_show::picture::{self, LabelledTable};
use daelight_show::{Records, Table, count};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Pixels of a PNG for each of its units, unless its size is asked for.
const FINE: f32 = 2.0;

/// How the names of tables end; other words of `plot` are columns.
const ENDINGS: [&str; 3] = ["csv", "parquet", "json"];

/// Where a picture goes and how it looks.
pub struct Picture {
    path: PathBuf,
    theme: Theme,
    size: Option<(u32, u32)>,
}

impl Picture {
    /// What `--plot` asks for; `Err` for a file whose name does not tell a format that is written.
    pub fn wanted(arguments: &PictureArgs) -> Result<Option<Self>, Wrong> {
        let Some(path) = &arguments.plot else {
            return Ok(None);
        };
        Self::new(path, arguments.dark, arguments.size).map(Some)
    }

    fn new(path: &Path, is_dark: bool, size: Option<(u32, u32)>) -> Result<Self, Wrong> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        if !["svg", "png"].contains(&ending) {
            return Err((
                match ending {
                    "" => format!("`{}` does not say which kind of picture", path.display()),
                    _ => format!("pictures are written as svg or png, not as `{ending}`"),
                },
                match path.file_stem().and_then(|stem| stem.to_str()) {
                    Some(stem) => format!("name the file {stem}.svg or {stem}.png"),
                    None => "name the file run.svg or run.png".to_string(),
                },
            ));
        }
        Ok(Self {
            path: path.to_path_buf(),
            theme: if is_dark { Theme::Dark } else { Theme::Light },
            size,
        })
    }

    /// Draws a figure into the file.
    pub fn write(&self, figure: Figure, terminal: &Terminal) -> Result<(), Status> {
        let figure = match self.size {
            Some((width, height)) => figure.whole_size(width, height),
            None => figure,
        };
        let text = svg(&figure, self.theme);
        let is_png = self.path.extension().is_some_and(|ending| ending == "png");
        if !is_png {
            return terminal.answer(text.as_bytes(), Some(&self.path));
        }
        let scale = if self.size.is_some() { 1.0 } else { FINE };
        let bytes = png(&text, scale)
            .map_err(|error| terminal.usage(&error.to_string(), "write an svg instead"))?;
        terminal.answer(&bytes, Some(&self.path))
    }

    /// Draws a figure, or says why there is none; that spoils no other answer of the command.
    pub fn write_or_note(
        &self,
        figure: Result<Figure, String>,
        terminal: &Terminal,
    ) -> Result<(), Status> {
        match figure {
            Ok(figure) => self.write(figure, terminal),
            Err(because) => {
                terminal.warn(&format!("no picture was made: {because}"));
                Ok(())
            }
        }
    }
}

/// The file of a picture that was given none: named like the table and the columns, so that it takes the place of no other
/// picture of the run.
fn picture_file(arguments: &PlotArgs) -> PathBuf {
    let words = (arguments.more.iter().filter(|word| !is_table(word))).collect::<Vec<_>>();
    let mut name = arguments.table.with_extension("");
    // `solve --plot run.svg --out run.csv` made a picture of that name.
    if words.is_empty() && arguments.against.is_none() && !arguments.work_precision {
        name.as_mut_os_string().push("-columns");
    }
    for word in words.into_iter().chain(&arguments.against) {
        let plain = |c: char| c.is_alphanumeric() || c == '_';
        let parts: Vec<&str> = word
            .split(|c| !plain(c))
            .filter(|part| !part.is_empty())
            .collect();
        name.as_mut_os_string()
            .push(format!("-{}", parts.join("-")));
    }
    name.as_mut_os_string().push(".svg");
    name
}

/// Whether a word of the command names a table.
fn is_table(word: &str) -> bool {
    let ending = Path::new(word).extension();
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// The names in a word: `x,y` are two columns; commas inside brackets belong to one.
fn columns_in(word: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut depth = 0;
    for letter in word.chars() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        match names.last_mut() {
            Some(name) if letter != ',' || depth > 0 => name.push(letter),
            _ => names.push(String::new()),
        }
    }
    names.retain(|name| !name.trim().is_empty());
    names
}

/// Draws columns of a table.
pub fn plot(arguments: &PlotArgs, terminal: &Terminal) -> Ended {
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => picture_file(arguments),
    };
    let drawn = Picture::new(&out, arguments.dark, arguments.size)
        .and_then(|picture| Ok((picture, figure(arguments)?)));
    let (picture, figure) = drawn.map_err(|wrong| terminal.wrong(wrong))?;
    picture.write(figure, terminal)?;
    terminal.note(&[format!("the picture is in {}", out.display())]);
    Ok(Status::Done)
}

fn figure(arguments: &PlotArgs) -> Result<Figure, Wrong> {
    let path = &arguments.table;
    let shown = path.display();
    let named = |because: String| {
        let help = "see the first line of the file for its columns".to_string();
        (format!("{shown}: {because}"), help)
    };
    if arguments.work_precision {
        let records = Records::read(&read(path)?).map_err(|because| unreadable(path, &because))?;
        return picture::work_precision(&records).map_err(|because| {
            let help = "the columns are tool, model, error and time".to_string();
            (format!("{shown}: {because}"), help)
        });
    }
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from > to
    {
        return Err((
            format!("--from {from} lies behind --to {to}"),
            format!("write --from {to} --to {from}"),
        ));
    }
    let (tables, names) = tables(arguments)?;
    if arguments.difference && tables.len() < 2 {
        return Err((
            "--difference compares tables, and there is one".to_string(),
            format!("name another one: daelight plot {shown} other.csv --difference"),
        ));
    }
    let scale = if arguments.log {
        Scale::Log
    } else {
        Scale::Linear
    };
    match &arguments.against {
        Some(_) if names.is_empty() => Err((
            "--against needs a column to draw".to_string(),
            format!("name one: daelight plot {shown} y --against x"),
        )),
        Some(against) => picture::phase(&tables, &names, against, scale).map_err(named),
        None => {
            let mut found = Vec::new();
            for report in &arguments.report {
                found.extend(marks(report)?);
            }
            match &tables[..] {
                [only] => picture::table(&only.table, &names, scale, &found).map_err(named),
                several => {
                    picture::comparison(several, &names, scale, arguments.difference, &found)
                        .map_err(|because| (because, "name columns that are there".to_string()))
                }
            }
        }
    }
}

/// The tables that the command names, with the words of the legend for each, and the columns.
fn tables(arguments: &PlotArgs) -> Result<(Vec<LabelledTable>, Vec<String>), Wrong> {
    let (more, names): (Vec<&String>, Vec<&String>) =
        arguments.more.iter().partition(|word| is_table(word));
    let names: Vec<String> = names
        .into_iter()
        .flat_map(|word| columns_in(word))
        .collect();
    let paths: Vec<&Path> = std::iter::once(arguments.table.as_path())
        .chain(more.into_iter().map(Path::new))
        .collect();
    let labels = &arguments.labels;
    if !labels.is_empty() && labels.len() != paths.len() {
        return Err((
            format!(
                "{} for {}",
                count(labels.len(), "label"),
                count(paths.len(), "table")
            ),
            "give one for each, separated by commas".to_string(),
        ));
    }
    let mut tables = Vec::new();
    for (number, path) in paths.into_iter().enumerate() {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let table = Table::read(&read(path)?, ending);
        let table = table.map_err(|because| unreadable(path, &because))?;
        let last = table.columns[0].last().copied();
        let mut table = between(table, arguments.from, arguments.to);
        if let (Some(last), true) = (last, table.columns[0].is_empty()) {
            return Err((
                format!(
                    "{} has no row between --from and --to: it ends at t = {last}",
                    path.display()
                ),
                "give times that the table has".to_string(),
            ));
        }
        for names in [&names[..], arguments.against.as_slice()] {
            add_expressions(&mut table, names).map_err(|because| {
                let help = "expressions are written as in a model, in the columns of the table";
                (format!("{}: {because}", path.display()), help.to_string())
            })?;
        }
        let stem = || path.file_stem().map(|stem| stem.display().to_string());
        let label = labels.get(number).cloned().or_else(stem);
        tables.push(LabelledTable {
            label: label.unwrap_or_default(),
            table,
        });
    }
    Ok((tables, names))
}

/// The rows of a table between two times.
fn between(mut table: Table, from: Option<f64>, to: Option<f64>) -> Table {
    let (from, to) = (
        from.unwrap_or(f64::NEG_INFINITY),
        to.unwrap_or(f64::INFINITY),
    );
    let times = table.columns[0].iter();
    let is_inside: Vec<bool> = times.map(|time| (from..=to).contains(time)).collect();
    for column in &mut table.columns {
        let mut inside = is_inside.iter();
        column.retain(|_| inside.next().copied().unwrap_or(false));
    }
    table
}

fn unreadable(path: &Path, because: &str) -> Wrong {
    (
        format!(
            "{} is not a table that can be read: {because}",
            path.display()
        ),
        match path.extension().is_some_and(|ending| ending == "mo") {
            true => format!(
                "draw a run with `daelight solve {0} --plot run.svg`, or write a table first: `daelight solve {0} --out run.csv`",
                path.display()
            ),
            false => {
                "a table has names in its first line and the time in its first column".to_string()
            }
        },
    )
}

fn read(path: &Path) -> Result<Vec<u8>, Wrong> {
    read_at_most(path, MOST_TABLE_BYTES).map_err(|error| {
        (
            format!("cannot read {}: {}", path.display(), reason(&error)),
            "give the path of a file that `solve --out` wrote".to_string(),
        )
    })
}

/// The singular times that a document of `solve --json` tells.
fn marks(path: &Path) -> Result<Vec<TimeMark>, Wrong> {
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
        Some(TimeMark {
            at: found.get("time")?.as_f64()?,
            label: word("kind").or(word("nature")).unwrap_or("").to_string(),
        })
    };
    Ok(listed.iter().filter_map(mark).collect())
}
