//! The points of a sweep: a grid, random points in a box, or a list. Any point can be had by its number.

use daelight_algebra::{RBig, integer};
use std::ops::Range;

/// Most points of a sweep.
pub const MOST_POINTS: usize = 1_000_000_000;

/// Most values of a parameter in a grid, which are all kept.
const MOST_VALUES: usize = 1_000_000;

/// A parameter with the range of its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// The parameter.
    pub name: String,
    /// The first value.
    pub from: f64,
    /// The last value.
    pub to: f64,
    /// How many values; `None` where random points are taken.
    pub n: Option<usize>,
}

impl Axis {
    /// Reads `name=from:to:n`, or `name=from:to` for random points.
    pub fn read(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is not of the form name=from:to:n");
        let (name, range) = text.split_once('=').ok_or_else(form)?;
        let parts: Vec<&str> = range.split(':').map(str::trim).collect();
        let (from, to, n) = match parts[..] {
            [from, to] => (from, to, None),
            [from, to, n] => (from, to, Some(n)),
            _ => return Err(form()),
        };
        let number = |part: &str| {
            let value = part.parse::<f64>().ok().filter(|value| value.is_finite());
            value.ok_or_else(|| format!("`{part}` in `{text}` is not a finite number"))
        };
        let whole = |part: &str| {
            let count = part.parse::<usize>().ok();
            count.ok_or_else(|| format!("`{part}` in `{text}` is not a number of points"))
        };
        let axis = Self {
            name: name.trim().to_string(),
            from: number(from)?,
            to: number(to)?,
            n: n.map(whole).transpose()?,
        };
        if axis.name.is_empty() {
            return Err(form());
        }
        axis.check()?;
        Ok(axis)
    }

    fn check(&self) -> Result<(), String> {
        let Self { name, from, to, n } = self;
        if !(to - from).is_finite() {
            return Err(format!("the range of `{name}` is not finite"));
        }
        match n {
            Some(0) => Err(format!("`{name}` is to take no value at all")),
            Some(n) if *n > MOST_VALUES => Err(format!(
                "`{name}` is to take {n} values, and {MOST_VALUES} are possible"
            )),
            Some(1) if from <= to => Ok(()),
            _ if from < to => Ok(()),
            _ => Err(format!(
                "the range of `{name}` from {from} to {to} is empty"
            )),
        }
    }

    /// A value of the grid: the double next to the exact decimal, so that 0:0.3:4 holds 0.1 and 0.2 themselves.
    fn value(&self, k: usize, n: usize) -> f64 {
        let ends = (integer::decimal(self.from), integer::decimal(self.to));
        match ends {
            (Some(from), Some(to)) if n > 1 => {
                let part = RBig::from(k) / RBig::from(n - 1);
                integer::rational_to_f64(&(&from + (to - &from) * part))
            }
            _ => self.from,
        }
    }
}

/// The points of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct SweepPoints {
    names: Vec<String>,
    source: Source,
    len: usize,
}

#[derive(Clone, PartialEq, Debug)]
enum Source {
    /// The values of each axis; the last one runs fastest.
    Grid(Vec<Vec<f64>>),
    Random {
        ranges: Vec<(f64, f64)>,
        seed: u64,
    },
    List(Vec<Vec<f64>>),
}

impl SweepPoints {
    /// All combinations of the values of some axes; those of the last one change fastest.
    pub fn grid(axes: &[Axis]) -> Result<Self, String> {
        let names = names(axes)?;
        let mut len: usize = 1;
        let mut values = Vec::with_capacity(axes.len());
        for axis in axes {
            let n = (axis.n).ok_or_else(|| {
                format!(
                    "`{}` needs a number of values: {0}={}:{}:n",
                    axis.name, axis.from, axis.to
                )
            })?;
            len = len.saturating_mul(n);
            check_len(len)?;
            values.push((0..n).map(|k| axis.value(k, n)).collect());
        }
        Ok(Self {
            names,
            source: Source::Grid(values),
            len,
        })
    }

    /// Points that are spread evenly over the ranges of some axes; the same seed gives the same points.
    pub fn random(axes: &[Axis], n: usize, seed: u64) -> Result<Self, String> {
        let names = names(axes)?;
        check_len(n)?;
        if let Some(axis) = axes.iter().find(|axis| axis.n.is_some()) {
            return Err(format!(
                "`{}` has a number of values, and random points have none: write {0}={}:{}",
                axis.name, axis.from, axis.to
            ));
        }
        Ok(Self {
            names,
            source: Source::Random {
                ranges: axes.iter().map(|axis| (axis.from, axis.to)).collect(),
                seed,
            },
            len: n,
        })
    }

    /// Points one by one.
    pub fn list(names: Vec<String>, rows: Vec<Vec<f64>>) -> Result<Self, String> {
        distinct(&names)?;
        check_len(rows.len())?;
        for (number, row) in rows.iter().enumerate() {
            if row.len() != names.len() {
                let (found, wanted) = (row.len(), names.len());
                return Err(format!(
                    "point {number} has {found} values for {wanted} parameters"
                ));
            }
            if let Some(at) = row.iter().position(|value| !value.is_finite()) {
                return Err(format!(
                    "point {number} gives `{}` the value {}, which is not a finite number",
                    names[at], row[at]
                ));
            }
        }
        Ok(Self {
            names,
            len: rows.len(),
            source: Source::List(rows),
        })
    }

    /// The parameters.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none; that is refused when points are made.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The values of each parameter, if the points are a grid.
    pub fn axes(&self) -> Option<&[Vec<f64>]> {
        match &self.source {
            Source::Grid(values) => Some(values),
            _ => None,
        }
    }

    /// The point with a number below [`len`](Self::len).
    pub fn point(&self, number: usize) -> Vec<f64> {
        match &self.source {
            Source::List(rows) => rows[number].clone(),
            Source::Random { ranges, seed } => {
                let first = (number * ranges.len()) as u64;
                let value = |(at, (from, to)): (u64, &(f64, f64))| {
                    from + (to - from) * uniform(*seed, first + at)
                };
                (0..).zip(ranges).map(value).collect()
            }
            Source::Grid(axes) => {
                let mut rest = number;
                let mut point: Vec<f64> = (axes.iter().rev())
                    .map(|values| {
                        let value = values[rest % values.len()];
                        rest /= values.len();
                        value
                    })
                    .collect();
                point.reverse();
                point
            }
        }
    }
}

fn names(axes: &[Axis]) -> Result<Vec<String>, String> {
    for axis in axes {
        axis.check()?;
    }
    let names: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
    distinct(&names)?;
    Ok(names)
}

fn distinct(names: &[String]) -> Result<(), String> {
    if names.is_empty() {
        return Err("no parameter is named".to_string());
    }
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(format!("`{name}` is named twice"));
        }
    }
    Ok(())
}

fn check_len(len: usize) -> Result<(), String> {
    match len {
        0 => Err("there are no points".to_string()),
        len if len > MOST_POINTS => Err(format!("there are more than {MOST_POINTS} points")),
        _ => Ok(()),
    }
}

/// Number `counter` of the stream of a seed, at least 0 and below 1: SplitMix64 (Steele, Lea and Flood 2014).
fn uniform(seed: u64, counter: u64) -> f64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = seed.wrapping_add(counter.wrapping_add(1).wrapping_mul(STEP));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// One of several parts of a sweep, for as many computers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// From 1.
    pub number: usize,
    /// How many parts there are.
    pub of: usize,
}

impl Shard {
    /// Reads `i/n`.
    pub fn read(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let parsed = parts
            .and_then(|(number, of)| Some((number.trim().parse().ok()?, of.trim().parse().ok()?)));
        match parsed {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(format!("`{text}` is not a part such as 1/8 or 8/8")),
        }
    }

    /// The numbers of its points: neighbours, so that the parts one after the other are the whole.
    pub fn range(&self, len: usize) -> Range<usize> {
        let end = |number: usize| (len as u128 * number as u128 / self.of as u128) as usize;
        end(self.number - 1)..end(self.number)
    }
}
