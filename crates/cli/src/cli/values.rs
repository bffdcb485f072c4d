//! Words of the command line as values: durations, sizes, names, intervals.

use std::path::PathBuf;
use std::time::Duration;

/// A list of names.
#[derive(Clone, Debug)]
pub struct Names(pub Vec<String>);

/// Most pixels of a picture: a few hundred megabytes while it is drawn.
const MOST_PIXELS: u32 = 50_000_000;

/// A number.
pub fn number(text: &str) -> Result<f64, String> {
    let wrong = "not a number; write it without a unit, such as 2, -0.5 or 1e-3";
    text.trim().parse().map_err(|_| wrong.to_string())
}

/// A folder that is there.
pub fn folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.is_dir() {
        true => Ok(path),
        false => Err("there is no such folder".to_string()),
    }
}

/// How many of something.
pub fn whole_number(text: &str) -> Result<usize, String> {
    let wrong = "not a whole number above 0, such as 201";
    text.trim().parse().map_err(|_| wrong.to_string())
}

/// A duration such as `10s`, `500ms` or `2min`; a bare number means seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = with_unit(text, &[("ms", 0.001), ("min", 60.0), ("s", 1.0)]);
    let usable = |seconds: &f64| (0.0..1e9).contains(seconds);
    match seconds.filter(usable) {
        Some(seconds) => Ok(Duration::from_secs_f64(seconds)),
        None => Err(format!(
            "`{text}` is not a duration; write 10s, 500ms or 2min"
        )),
    }
}

/// A size in pixels such as `800x600`.
pub fn size(text: &str) -> Result<(u32, u32), String> {
    let sizes = text.split_once(['x', '×']).and_then(|(width, height)| {
        Some((width.trim().parse().ok()?, height.trim().parse().ok()?))
    });
    let usable = |(width, height): &(u32, u32)| {
        let each = [width, height].iter().all(|n| (60..=20_000).contains(*n));
        each && width * height <= MOST_PIXELS
    };
    sizes.filter(usable).ok_or_else(|| {
        let most = MOST_PIXELS / 1_000_000;
        format!("`{text}` is not a size of a picture; write 800x600, each from 60 to 20000, {most} million pixels at most")
    })
}

/// Names separated by commas; commas inside brackets belong to a name, as in `c[1,2]`.
pub fn names(text: &str) -> Result<Names, String> {
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
pub fn bytes(text: &str) -> Result<usize, String> {
    let size = with_unit(text, &[("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)]);
    match size.filter(|size| (0.0..1e15).contains(size)) {
        Some(size) => Ok(size as usize),
        None => Err(format!("`{text}` is not a size; write 4GB or 500MB")),
    }
}

/// A number with one of the units at its end, or a bare one.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let found = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = found.unwrap_or((text, &1.0));
    number.trim().parse::<f64>().ok().map(|n| n * factor)
}

/// Two times as `FROM:TO`.
pub fn interval(text: &str) -> Result<(f64, f64), String> {
    let time = |text: &str| {
        let time = text.trim().parse::<f64>().ok();
        time.filter(|time| time.is_finite())
            .ok_or_else(|| format!("`{text}` is not a time"))
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

/// Names that were parted at commas, those inside brackets joined again: `A[1,2],b`.
pub fn joined_names(pieces: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for piece in pieces {
        let is_open = |name: &&mut String| name.matches('[').count() > name.matches(']').count();
        match names.last_mut().filter(is_open) {
            Some(name) => {
                name.push(',');
                name.push_str(piece.trim());
            }
            None => names.push(piece.trim().to_string()),
        }
    }
    names
}
