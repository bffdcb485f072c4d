//! Equations F(t, x, x') = 0 given by a function: values, matrices by differences, the index of each unknown by its pattern.

use crate::problem::InputError;
use crate::tolerances::ASIDE;
use daelight_analysis::structure::{SignatureMatrix, Structure};

/// A residual F(t, x, x') that only its owner can look into.
pub trait Function: Send {
    /// Writes F(t, x, x'). Where it has no value it writes NaN.
    fn residuals(&mut self, t: f64, x: &[f64], xp: &[f64], into: &mut [f64]);

    /// Writes B = dF/dx and E = dF/dx' column by column; false when it does not know them.
    fn matrices(
        &mut self,
        _t: f64,
        _x: &[f64],
        _xp: &[f64],
        _b: &mut [f64],
        _e: &mut [f64],
    ) -> bool {
        false
    }
}

/// A function with what its matrices by differences need.
pub(crate) struct Differenced {
    function: Box<dyn Function>,
    /// Sizes below which an unknown counts as zero.
    typical: Vec<f64>,
    /// Unknowns whose columns have no row in common, so that they are moved together, for x and for x'.
    groups: [Vec<Vec<usize>>; 2],
    pattern: Pattern,
    x: Vec<f64>,
    xp: Vec<f64>,
    base: Vec<f64>,
    moved: Vec<f64>,
    pub(crate) n_evaluations: usize,
}

/// Which entries of B and E can differ from zero, column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    n: usize,
    b: Vec<bool>,
    e: Vec<bool>,
}

impl Pattern {
    /// Every entry.
    pub fn full(n: usize) -> Self {
        Self {
            n,
            b: vec![true; n * n],
            e: vec![true; n * n],
        }
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The same entries for B and E, column by column.
    pub fn common(n: usize, entries: Vec<bool>) -> Result<Self, InputError> {
        crate::problem::expect_length("entries of the pattern", n * n, entries.len())?;
        Ok(Self {
            n,
            e: entries.clone(),
            b: entries,
        })
    }

    /// The index of each unknown by the structure of the pattern, (8) of `docs/theory/structure.md`.
    ///
    /// `None` when the pattern is structurally singular.
    pub(crate) fn unknown_indices(&self) -> Option<Vec<usize>> {
        let entries = (0..self.n).flat_map(|column| {
            (0..self.n).filter_map(move |row| {
                let place = column * self.n + row;
                let order = match (self.e[place], self.b[place]) {
                    (true, _) => 1,
                    (false, true) => 0,
                    (false, false) => return None,
                };
                Some((row, column, order))
            })
        });
        let signature = SignatureMatrix::from_entries(self.n, self.n, entries).ok()?;
        let structure = Structure::of_signature(signature).ok()?;
        Some(structure.unknown_indices().to_vec())
    }

    pub(crate) fn is_algebraic(&self, row: usize) -> bool {
        (0..self.n).all(|column| !self.e[column * self.n + row])
    }

    pub(crate) fn is_differentiated(&self, column: usize) -> bool {
        self.e[column * self.n..(column + 1) * self.n].contains(&true)
    }
}

impl Differenced {
    pub(crate) fn new(function: Box<dyn Function>, pattern: Pattern, typical: Vec<f64>) -> Self {
        let n = pattern.n;
        Self {
            function,
            typical,
            groups: [&pattern.b, &pattern.e].map(|entries| groups(n, entries)),
            pattern,
            x: vec![0.0; n],
            xp: vec![0.0; n],
            base: vec![0.0; n],
            moved: vec![0.0; n],
            n_evaluations: 0,
        }
    }

    pub(crate) fn residuals(&mut self, t: f64, x: &[f64], xp: &[f64], into: &mut [f64]) {
        self.n_evaluations += 1;
        self.function.residuals(t, x, xp, into);
    }

    /// Entries of B and then of E, column by column.
    pub(crate) fn matrices(&mut self, t: f64, x: &[f64], xp: &[f64], entries: &mut [f64]) {
        let n = self.pattern.n;
        let (b, e) = entries.split_at_mut(n * n);
        if self.function.matrices(t, x, xp, b, e) {
            return;
        }
        let mut base = std::mem::take(&mut self.base);
        self.residuals(t, x, xp, &mut base);
        for (which, entries) in [b, e].into_iter().enumerate() {
            self.differences(t, x, xp, which, &base, entries);
        }
        self.base = base;
    }

    /// One of the matrices by forward differences, (30) of `docs/theory/implicit.md`.
    fn differences(
        &mut self,
        t: f64,
        x: &[f64],
        xp: &[f64],
        which: usize,
        base: &[f64],
        entries: &mut [f64],
    ) {
        let n = self.pattern.n;
        entries.fill(0.0);
        let groups = std::mem::take(&mut self.groups);
        let mut moved = std::mem::take(&mut self.moved);
        for group in &groups[which] {
            self.x.copy_from_slice(x);
            self.xp.copy_from_slice(xp);
            let point = if which == 0 {
                &mut self.x
            } else {
                &mut self.xp
            };
            for &unknown in group {
                let size = point[unknown].abs().max(self.typical[unknown]);
                // Away from zero, and by a difference that is exactly what it is taken for.
                point[unknown] += (f64::EPSILON.sqrt() * size).copysign(point[unknown]);
            }
            self.n_evaluations += 1;
            self.function.residuals(t, &self.x, &self.xp, &mut moved);
            let allowed = [&self.pattern.b, &self.pattern.e][which];
            for &unknown in group {
                let increment = if which == 0 {
                    self.x[unknown] - x[unknown]
                } else {
                    self.xp[unknown] - xp[unknown]
                };
                for row in 0..n {
                    let place = unknown * n + row;
                    if allowed[place] {
                        entries[place] = (moved[row] - base[row]) / increment;
                    }
                }
            }
        }
        self.moved = moved;
        self.groups = groups;
    }

    /// The entries that differ from zero at two points near the start; `None` where there are no numbers.
    ///
    /// The points have no zero component, so that products with a vanishing factor are seen. What is guessed here shapes
    /// weights of errors only; the matrices keep their pattern.
    pub(crate) fn seen(&mut self, t: f64, x: &[f64], xp: &[f64]) -> Option<Pattern> {
        let n = self.pattern.n;
        let aside = |values: &[f64], typical: &[f64], seed: f64| -> Vec<f64> {
            let shift = |j: usize| ASIDE * (1.0 + (seed + j as f64 * 0.618_034).fract());
            (0..n)
                .map(|j| values[j] + shift(j) * values[j].abs().max(typical[j]))
                .collect()
        };
        let mut seen = Pattern {
            n,
            b: vec![false; n * n],
            e: vec![false; n * n],
        };
        let mut entries = vec![0.0; 2 * n * n];
        for seed in [0.1, 0.7] {
            let (x, xp) = (
                aside(x, &self.typical, seed),
                aside(xp, &self.typical, seed + 0.2),
            );
            self.matrices(t, &x, &xp, &mut entries);
            if !entries.iter().all(|entry| entry.is_finite()) {
                return None;
            }
            let (b, e) = entries.split_at(n * n);
            for place in 0..n * n {
                seen.b[place] |= b[place] != 0.0;
                seen.e[place] |= e[place] != 0.0;
            }
        }
        Some(seen)
    }
}

/// Columns without a common row, gathered greedily (Curtis, Powell and Reid 1974).
fn groups(n: usize, entries: &[bool]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Vec<usize>, Vec<bool>)> = Vec::new();
    for column in 0..n {
        let rows = &entries[column * n..(column + 1) * n];
        if !rows.contains(&true) {
            continue;
        }
        let free = |taken: &[bool]| taken.iter().zip(rows).all(|(a, b)| !(*a && *b));
        match groups.iter_mut().find(|(_, taken)| free(taken)) {
            Some((members, taken)) => {
                members.push(column);
                for (place, row) in taken.iter_mut().zip(rows) {
                    *place |= *row;
                }
            }
            None => groups.push((vec![column], rows.to_vec())),
        }
    }
    groups.into_iter().map(|(members, _)| members).collect()
}
