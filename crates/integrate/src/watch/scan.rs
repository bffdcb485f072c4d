//! Functions along a piece of a solution that is already there: cells in which none of them changes its sign.
//!
//! Section 2 of `docs/theory/runs.md`.

use super::Isolation;
use crate::tolerances::{DECIDER_ROUNDING, MAX_HALVINGS, SCAN_TOLERANCE};
use std::ops::ControlFlow;

/// The order of the series that functions are expanded to.
pub const SCAN_ORDER: usize = 12;

/// Halvings of a piece within which the functions have no values.
const MAX_DEPTH_WITHOUT: usize = 6;

/// Expansions for one piece of the solution.
pub const MAX_EXPANSIONS: usize = 20_000;

/// Functions that can be expanded anywhere along a piece of a solution.
pub trait Expand {
    /// Number of functions. A function may hold branches that earlier ones decide, not later ones.
    fn n_functions(&self) -> usize;

    /// Writes coefficient m of every function at a time, and the size of what it is the difference of, to
    /// `into[function][m]`; false where one has none.
    fn expand(&mut self, time: f64, into: &mut [Vec<(f64, f64)>]) -> bool;

    /// Whether series around the middle of a part say all that the functions do there, from one of them on.
    fn serves(&mut self, _first: usize, _part: (f64, f64)) -> bool {
        true
    }
}

/// A part of a piece in which no function changes its sign.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cell {
    /// Where it begins, in the order of the run.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Whether that is known; otherwise the functions could not be resolved, or have no values.
    pub resolved: bool,
}

impl Cell {
    /// Its middle.
    pub fn middle(&self) -> f64 {
        0.5 * (self.from + self.to)
    }
}

/// Splits pieces of a solution into cells.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    isolation: Isolation,
    n_expansions: usize,
    n_unserved: usize,
}

impl Scan {
    /// Shows the cells between two times one after the other, until `visit` has seen enough.
    pub fn cells<B>(
        &mut self,
        functions: &mut dyn Expand,
        (from, to): (f64, f64),
        visit: &mut dyn FnMut(&mut dyn Expand, Cell) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.n_expansions = 0;
        self.n_unserved = 0;
        let whole = Part {
            from,
            to,
            first: 0,
            depth: 0,
        };
        self.part(functions, whole, visit)
    }

    fn part<B>(
        &mut self,
        functions: &mut dyn Expand,
        part: Part,
        visit: &mut dyn FnMut(&mut dyn Expand, Cell) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let Part {
            from,
            to,
            first,
            depth,
        } = part;
        let centre = 0.5 * (from + to);
        let cell = |resolved| Cell { from, to, resolved };
        // Nothing fits between neighbouring numbers.
        if centre == from || centre == to || first == functions.n_functions() {
            return visit(functions, cell(true));
        }
        if self.n_expansions >= MAX_EXPANSIONS {
            return visit(functions, cell(false));
        }
        if depth < MAX_HALVINGS
            && self.n_unserved < MAX_EXPANSIONS / 20
            && !functions.serves(first, (from, to))
        {
            self.n_unserved += 1;
            return self.halves(functions, part, visit);
        }
        let mut series = vec![Vec::new(); functions.n_functions()];
        // Slightly beside the middle, if a function switches just there.
        let expanded = [centre, from + 0.4371 * (to - from)]
            .into_iter()
            .find(|&at| {
                self.n_expansions += 1;
                functions.expand(at, &mut series)
            });
        let radius = expanded.map(|at| (at - from).abs().max((to - at).abs()));
        let is_resolved = radius.is_some_and(|r| series[first..].iter().all(|f| is_small(f, r)));
        let most = if expanded.is_some() {
            MAX_HALVINGS
        } else {
            MAX_DEPTH_WITHOUT
        };
        let Some(at) = expanded.filter(|_| is_resolved) else {
            if depth >= most {
                return visit(functions, cell(false));
            }
            return self.halves(functions, part, visit);
        };
        for (function, series) in series.iter().enumerate().skip(first) {
            let mut edges = Vec::new();
            self.places(series, at, from, &mut edges);
            edges = edges.iter().rev().map(|&(near, far)| (far, near)).collect();
            self.places(series, at, to, &mut edges);
            if edges.is_empty() {
                continue;
            }
            // Behind a zero of this one the others may be other functions.
            let starts = [from].into_iter().chain(edges.iter().map(|edge| edge.1));
            let ends = edges.iter().map(|edge| edge.0).chain([to]);
            let parts: Vec<(f64, f64)> = starts.zip(ends).collect();
            for (from, to) in parts {
                if (to - from) * (part.to - part.from) <= 0.0 {
                    continue;
                }
                let behind = Part {
                    from,
                    to,
                    first: function + 1,
                    depth,
                };
                self.part(functions, behind, visit)?;
            }
            return ControlFlow::Continue(());
        }
        visit(functions, cell(true))
    }

    fn halves<B>(
        &mut self,
        functions: &mut dyn Expand,
        part: Part,
        visit: &mut dyn FnMut(&mut dyn Expand, Cell) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let centre = 0.5 * (part.from + part.to);
        for (from, to) in [(part.from, centre), (centre, part.to)] {
            let half = Part {
                from,
                to,
                first: part.first,
                depth: part.depth + 1,
            };
            self.part(functions, half, visit)?;
        }
        ControlFlow::Continue(())
    }

    /// Adds the places of a function between the expansion point and an end, as pairs of times in the order from the point.
    fn places(&mut self, series: &[(f64, f64)], at: f64, end: f64, into: &mut Vec<(f64, f64)>) {
        // What rests has no zeros that it passes.
        if rests(series) {
            return;
        }
        let h = end - at;
        let mut power = 1.0;
        let scaled: Vec<f64> = series
            .iter()
            .map(|(x, _)| {
                let term = x * power;
                power *= h;
                term
            })
            .collect();
        let error = tail(series, h.abs());
        self.isolation.find(&scaled, error);
        let places = self.isolation.places().iter();
        into.extend(places.map(|place| (at + h * place.from, at + h * place.to)));
    }
}

/// A part of a piece, and the first function that may change its sign there.
#[derive(Clone, Copy)]
struct Part {
    from: f64,
    to: f64,
    first: usize,
    depth: usize,
}

/// The last two terms at a distance, and rounding: what is not known of a function there.
fn tail(series: &[(f64, f64)], r: f64) -> f64 {
    let mut power = 1.0;
    let (mut tail, mut noise) = (0.0, 0.0);
    for (m, (x, size)) in series.iter().enumerate() {
        if m + 2 >= series.len() {
            tail += x.abs() * power;
        }
        noise += size * power;
        power *= r;
    }
    tail + DECIDER_ROUNDING * noise
}

/// Whether a function is zero with all its coefficients, up to rounding.
fn rests(series: &[(f64, f64)]) -> bool {
    let mut terms = series.iter();
    terms.all(|(x, size)| x.abs() <= DECIDER_ROUNDING * size)
}

/// Whether the last two terms at a distance are small beside the others.
fn is_small(series: &[(f64, f64)], r: f64) -> bool {
    let mut power = 1.0;
    let (mut greatest, mut noise) = (0.0f64, 0.0f64);
    for (x, size) in series {
        greatest = greatest.max(x.abs() * power);
        noise += size * power;
        power *= r;
    }
    tail(series, r) <= SCAN_TOLERANCE * greatest + 2.0 * DECIDER_ROUNDING * noise
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cos(w t) - c.
    struct Fast {
        w: f64,
        c: f64,
    }

    impl Expand for Fast {
        fn n_functions(&self) -> usize {
            1
        }

        fn expand(&mut self, time: f64, into: &mut [Vec<(f64, f64)>]) -> bool {
            let (sin, cos) = (self.w * time).sin_cos();
            let mut factor = 1.0;
            into[0].clear();
            for m in 0..=SCAN_ORDER {
                let x = factor * [cos, -sin, -cos, sin][m % 4];
                let constant = if m == 0 { self.c } else { 0.0 };
                into[0].push((x - constant, x.abs() + constant.abs()));
                factor *= self.w / (m + 1) as f64;
            }
            true
        }
    }

    #[test]
    fn fast_functions_have_all_their_cells() {
        for (w, c) in [
            (10.0, 0.3),
            (300.0, 0.999),
            (37.0, -0.99),
            (5.0, 1.0 - 1e-7),
        ] {
            let mut functions = Fast { w, c };
            let mut seen: Vec<Cell> = Vec::new();
            let found: ControlFlow<()> =
                Scan::default().cells(&mut functions, (0.1, 10.0), &mut |_, cell| {
                    seen.push(cell);
                    ControlFlow::Continue(())
                });
            assert!(found.is_continue());
            assert!(seen.iter().all(|cell| cell.resolved), "{seen:?}");
            let is_above = |cell: &Cell| (w * cell.middle()).cos() > c;
            let above: f64 = seen
                .iter()
                .filter(|c| is_above(c))
                .map(|c| c.to - c.from)
                .sum();
            // The length of {cos(w t) > c}, from whole periods and the two ends.
            let angle = f64::acos(c);
            let measure = |t: f64| {
                let turns = (w * t / std::f64::consts::TAU).floor();
                let rest = w * t - turns * std::f64::consts::TAU;
                let whole = rest.min(angle) + (rest - (std::f64::consts::TAU - angle)).max(0.0);
                (2.0 * angle * turns + whole) / w
            };
            let wanted = measure(10.0) - measure(0.1);
            assert!((above - wanted).abs() < 1e-9, "{w} {c}: {above} {wanted}");
        }
    }
}
