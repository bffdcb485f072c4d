//! Jumps that a new mode forces: the model's own equations integrated over the instant.
//!
//! Implicit Euler steps of F(t, x, x') = 0 in the new mode, as many as the index asks for, with h towards 0; section 3 of
//! `docs/theory/hybrid.md`.

use super::{HybridEnd, MAX_ROUNDS, ROUNDING};
use crate::gradient::gauss;
use crate::tolerances::SAME;
use daelight_analysis::initial::MAX_DENSE_ROWS;
use daelight_analysis::{Evaluator, System};
use daelight_linalg::{Lu, Mat};

/// Values after a jump, and the impulses of unknowns that have them.
pub(super) struct Jumped {
    pub values: Vec<f64>,
    pub impulses: Vec<(usize, f64)>,
    /// Equations in which an impulse meets what jumps with it, and which give no work: their jumps hang on the course of the impulse.
    open: Vec<usize>,
    /// Unknowns that grow beyond all bounds as the instant shrinks: squares of impulses.
    boundless: Vec<usize>,
}

impl Jumped {
    /// Names the equations whose jumps hang on the course of the impulse, and what has no impulse since it grows faster than one.
    pub fn tell(&self, system: &System, time: f64, warnings: &mut Vec<String>) {
        for &unknown in &self.boundless {
            let name = &system.unknowns()[unknown].name;
            let told = format!(
                "At t = {time} `{name}` grows beyond all bounds with the impulse, and has no impulse itself: its integral over that time has no value."
            );
            super::values::note_once(warnings, &told);
        }
        for &row in &self.open {
            let line = system.equation_line(row);
            let text = system.equation_text(row);
            let told = format!(
                "At t = {time} `{text}`, line {line}, multiplies an impulse by what jumps with it: what it determines hangs on the course of the impulse, of which one is taken; give it with reinit if you know better."
            );
            super::values::note_once(warnings, &told);
        }
    }
}

/// Why there is no jump.
pub(super) enum NoJump {
    /// Steps that shrink lead to no limit.
    NoLimit,
    /// An integral that nothing else reads grows beyond all bounds: the equation integrates more than an impulse.
    Boundless { unknown: usize, equation: usize },
}

impl NoJump {
    /// The end of the run that follows, if it tells one.
    pub fn end(&self, system: &System) -> Option<HybridEnd> {
        let Self::Boundless { unknown, equation } = *self else {
            return None;
        };
        Some(HybridEnd::Boundless {
            unknown: system.unknowns()[unknown].name.clone(),
            equation: system.equation_text(equation),
            line: system.equation_line(equation),
        })
    }
}

/// The values just after a change of mode, with those of `set` as they were set.
pub(super) fn jump(
    system: &System,
    index: usize,
    time: f64,
    (from, set): (&[f64], &[(usize, f64)]),
    span: f64,
) -> Result<Jumped, NoJump> {
    let n = from.len();
    if n > MAX_DENSE_ROWS {
        return Err(NoJump::NoLimit);
    }
    let mut is_differentiated = vec![false; n];
    for &unknown in system.equations().pattern(1).columns() {
        is_differentiated[unknown as usize] = true;
    }
    // The part of the run that is no jump is no step either.
    let n_steps = index.saturating_sub(1).max(1);
    let go = |h| steps(system, &is_differentiated, (time, from), (n_steps, h));
    let (first, _) = go(SAME * span).ok_or(NoJump::NoLimit)?;
    let (second, before) = go(0.5 * SAME * span).ok_or(NoJump::NoLimit)?;
    let (third, after) = go(0.25 * SAME * span).ok_or(NoJump::NoLimit)?;
    // Halving the step halves what is left, after each of the steps; anything else is no jump of the model: positions that do
    // not meet are brought together by velocities that grow without bound.
    let mut boundless = Vec::new();
    for at in (0..n * n_steps).filter(|at| is_differentiated[at % n]) {
        let size = from[at % n].abs().max(third[at].abs()).max(1.0);
        let early = (second[at] - first[at]).abs();
        let late = (third[at] - second[at]).abs();
        if late > 0.75 * early + SAME * size {
            boundless.push(at % n);
        }
    }
    let integrals = boundless.iter().map(|&u| own_integral(system, u));
    let integrals: Option<Vec<usize>> = integrals.collect();
    let integrals = integrals.ok_or(NoJump::NoLimit)?;
    let is_free = |&(&unknown, _): &(&usize, usize)| set.iter().all(|known| known.0 != unknown);
    if let Some((&unknown, equation)) = boundless.iter().zip(integrals).find(is_free) {
        return Err(NoJump::Boundless { unknown, equation });
    }
    let tail = n * (n_steps - 1);
    let mut values = third[tail..].to_vec();
    for unknown in (0..n).filter(|&u| is_differentiated[u]) {
        values[unknown] = 2.0 * values[unknown] - second[tail + unknown];
    }
    for &unknown in &boundless {
        values[unknown] = from[unknown];
    }
    // An impulse has a limit as well; the square of one doubles with each halving.
    let grows = |u: usize| after[u].abs() > 1.5 * before[u].abs();
    let has_impulse = |u: usize| {
        let sizes = [before[u].abs(), after[u].abs()];
        !is_differentiated[u] && sizes[1] > SAME * span && sizes[1] > 0.75 * sizes[0]
    };
    let boundless: Vec<usize> = (0..n).filter(|&u| has_impulse(u) && grows(u)).collect();
    let mut impulses = vec![0.0; n];
    for unknown in (0..n).filter(|&u| has_impulse(u) && !grows(u)) {
        impulses[unknown] = 2.0 * after[unknown] - before[unknown];
    }
    let settled = third[tail..].iter().zip(&second[tail..]);
    let mut way = Way {
        settled: settled.map(|(a, b)| 2.0 * a - b).collect(),
        system,
        evaluator: system.evaluator(),
        time,
        is_differentiated,
        from,
        values,
        impulses,
        products: Vec::new(),
        h: SAME * span,
    };
    let open = way.take_work();
    let impulses = way.impulses.iter().copied().enumerate();
    Ok(Jumped {
        impulses: impulses.filter(|(_, size)| *size != 0.0).collect(),
        values: way.values,
        boundless,
        open: open.unwrap_or_default(),
    })
}

/// The values after each of some steps, and what unknowns are in all of them together.
fn steps(
    system: &System,
    is_differentiated: &[bool],
    (time, from): (f64, &[f64]),
    (n_steps, h): (usize, f64),
) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut x = from.to_vec();
    let mut impulses = vec![0.0; x.len()];
    let mut on_the_way = Vec::with_capacity(x.len() * n_steps);
    for _ in 0..n_steps {
        x = step(system, is_differentiated, time, &x, h)?;
        on_the_way.extend_from_slice(&x);
        for (impulse, value) in impulses.iter_mut().zip(&x) {
            *impulse += h * value;
        }
    }
    Some((on_the_way, impulses))
}

/// The equation of an integral that nothing else reads.
fn own_integral(system: &System, unknown: usize) -> Option<usize> {
    let equations = system.equations();
    let is_read = equations.pattern(0).columns().contains(&(unknown as u32));
    let rates = equations.pattern(1).iter();
    let mut rows = rates
        .filter(|entry| entry.1 == unknown)
        .map(|entry| entry.0);
    let row = rows.next()?;
    (rows.next().is_none() && !is_read).then_some(row)
}

/// The straight way from before to after, with the impulses spread evenly.
struct Way<'a> {
    system: &'a System,
    evaluator: Evaluator,
    time: f64,
    is_differentiated: Vec<bool>,
    from: &'a [f64],
    /// Values behind the jump.
    values: Vec<f64>,
    /// The same for unknowns without a derivative, for an instant of no length.
    settled: Vec<f64>,
    /// The impulse of each unknown, 0 where there is none.
    impulses: Vec<f64>,
    /// Equations that give an impulse as a product, with its unknown.
    products: Vec<(usize, usize)>,
    h: f64,
}

/// What equations leave along the way, and what that is measured by.
struct Left {
    rows: Vec<f64>,
    /// The greatest term of each equation over the instant.
    sizes: Vec<f64>,
    /// Equations whose derivatives change along the way: in the others nothing meets an impulse.
    bent: Vec<bool>,
}

impl Way<'_> {
    /// Gives integrals that nothing else reads (`der(W) = F*v`), and names for products (`P = F*v`), the work of the impulses, (H4a); tells
    /// the other equations in which an impulse meets what jumps with it.
    fn take_work(&mut self) -> Option<Vec<usize>> {
        let left = self.left()?;
        let bent = (0..self.values.len()).filter(|&row| left.bent[row]);
        let bent: Vec<usize> = bent.collect();
        let mut open = Vec::new();
        let hang = self.hang_on_the_course(&left)?;
        for (row, &hangs) in hang.iter().enumerate().take(self.values.len()) {
            let is_open = bent.contains(&row) && self.left()?.is_open(row);
            if hangs || is_open && !self.close(row, &mut Vec::new())? {
                open.push(row);
            }
        }
        // A product is not spread evenly: what multiplies it further hangs on its course.
        for (row, unknown, _) in self.system.equations().pattern(0).iter() {
            let is_product = self.products.iter().any(|product| product.1 == unknown);
            let is_own = self.products.contains(&(row, unknown));
            if is_product && !is_own && bent.contains(&row) && !open.contains(&row) {
                open.push(row);
            }
        }
        Some(open)
    }

    /// The equations whose derivatives sum up to something else on another way: no charge stands behind what multiplies them. So do those
    /// in which that follows an unknown without derivative, which the way leaves where it ends.
    fn hang_on_the_course(&mut self, left: &Left) -> Option<Vec<bool>> {
        let straight = self.sums(&|_, place| (place, 1.0), false)?;
        // Each unknown on a parabola of its own.
        let bend = |unknown: usize| 1.0 / (unknown + 2) as f64;
        let other = |unknown: usize, place: f64| {
            let bend = bend(unknown);
            let at = place + bend * place * (1.0 - place);
            (at, 1.0 + bend * (1.0 - 2.0 * place))
        };
        let others = [
            self.sums(&other, false)?,
            self.sums(&|_, place| (place, 1.0), true)?,
        ];
        let rows = straight.iter().zip(&left.sizes).enumerate();
        let differs = |row: usize, sum: f64, size: f64| {
            let mut others = others.iter().map(|other| (other[row] - sum).abs());
            others.any(|off| off.is_nan() || off > SAME * size)
        };
        Some(
            rows.map(|(row, (&sum, &size))| differs(row, sum, size))
                .collect(),
        )
    }

    /// What the derivatives in each equation sum up to over the instant, on a way that gives places and rates of unknowns in parts of their
    /// jumps; other unknowns are as they are behind it, or as before.
    fn sums(
        &mut self,
        way: &dyn Fn(usize, f64) -> (f64, f64),
        is_before: bool,
    ) -> Option<Vec<f64>> {
        let n = self.values.len();
        let mut sums = vec![0.0; n];
        let mut residuals = vec![0.0; n];
        self.evaluator.set_time(self.time);
        for (place, weight) in nodes() {
            let (mut x, mut moves) = (self.values.clone(), vec![0.0; n]);
            for u in 0..n {
                let jump = self.values[u] - self.from[u];
                if self.is_differentiated[u] {
                    let (at, rate) = way(u, place);
                    (x[u], moves[u]) = (self.from[u] + at * jump, rate * jump);
                } else if self.impulses[u] == 0.0 {
                    x[u] = if is_before {
                        self.from[u]
                    } else {
                        self.settled[u]
                    };
                }
            }
            self.evaluator.set(0, &x);
            for (rates, sign) in [(moves, weight), (vec![0.0; n], -weight)] {
                self.evaluator.set(1, &rates);
                self.evaluator.residuals(&mut residuals).ok()?;
                for (sum, residual) in sums.iter_mut().zip(&residuals) {
                    *sum += sign * residual;
                }
            }
        }
        Some(sums)
    }

    /// Lets an equation hold along the way by what it alone determines: whether it does, together with those that read this.
    fn close(&mut self, row: usize, closed: &mut Vec<usize>) -> Option<bool> {
        if closed.contains(&row) {
            return Some(false);
        }
        closed.push(row);
        let equations = self.system.equations();
        let rates = equations.pattern(1);
        let left = self.left()?.rows[row];
        self.go_to(1.0, self.h);
        self.evaluator.jacobians().ok()?;
        if let Some(position) = rates.row(row).next() {
            let unknown = rates.columns()[position] as usize;
            let slope = self.evaluator.entry(1, position);
            let is_integral = own_integral(self.system, unknown).is_some();
            let is_own = rates.row(row).len() == 1 && is_integral && slope != 0.0;
            if is_own {
                self.values[unknown] -= left / slope;
            }
            return Some(is_own);
        }
        let candidates: Vec<(usize, f64)> = equations
            .pattern(0)
            .row(row)
            .map(|position| {
                let unknown = equations.pattern(0).columns()[position] as usize;
                (unknown, self.evaluator.entry(0, position))
            })
            .collect();
        for (unknown, slope) in candidates {
            if self.is_differentiated[unknown] || slope == 0.0 || !left.is_finite() {
                continue;
            }
            let before = (self.values.clone(), self.impulses.clone(), closed.len());
            self.impulses[unknown] -= left / slope;
            if self.holds(row, unknown, closed)? {
                self.products.push((row, unknown));
                return Some(true);
            }
            (self.values, self.impulses) = (before.0, before.1);
            closed.truncate(before.2);
        }
        Some(false)
    }

    /// Whether an equation holds with a new impulse of an unknown, and all others that read it do or can be made to.
    fn holds(&mut self, row: usize, unknown: usize, closed: &mut Vec<usize>) -> Option<bool> {
        if self.left()?.is_open(row) {
            return Some(false);
        }
        let entries = self.system.equations().pattern(0).iter();
        let readers = entries.filter(|entry| entry.1 == unknown && entry.0 != row);
        let readers: Vec<usize> = readers.map(|entry| entry.0).collect();
        for reader in readers {
            let left = self.left()?;
            // Those that multiply it are named.
            let is_named = left.bent[reader] && !closed.contains(&reader);
            if left.is_open(reader) && !is_named && !self.close(reader, closed)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Puts a place of the way, for an instant of a length.
    fn go_to(&mut self, place: f64, h: f64) {
        let unknowns = 0..self.values.len();
        let x: Vec<f64> = unknowns
            .map(|u| match (self.is_differentiated[u], self.impulses[u]) {
                (true, _) => self.from[u] + place * (self.values[u] - self.from[u]),
                (false, 0.0) => self.values[u],
                (false, impulse) => impulse / h,
            })
            .collect();
        let steps = self.from.iter().zip(&self.values);
        let rates: Vec<f64> = steps.map(|(a, b)| (b - a) / h).collect();
        self.evaluator.set_time(self.time);
        self.evaluator.set(0, &x);
        self.evaluator.set(1, &rates);
    }

    /// What the equations leave over the instant, for lengths towards 0.
    fn left(&mut self) -> Option<Left> {
        let n = self.values.len();
        let mut residuals = vec![0.0; n];
        let mut left = Left {
            rows: vec![0.0; n],
            sizes: vec![0.0; n],
            bent: vec![false; n],
        };
        // 2 f(h/2) - f(h) is the limit up to h^2.
        for (h, factor) in [(self.h, -1.0), (0.5 * self.h, 2.0)] {
            let mut first: Vec<f64> = Vec::new();
            for (place, weight) in nodes() {
                self.go_to(place, h);
                self.evaluator.residuals(&mut residuals).ok()?;
                for (sum, residual) in left.rows.iter_mut().zip(&residuals) {
                    *sum += factor * weight * h * residual;
                }
                self.look_at_terms(&mut left, &mut first)?;
            }
        }
        let sizes = left.sizes.iter();
        let greatest = sizes.fold(0.0, |a: f64, b| a.max(*b));
        for size in &mut left.sizes {
            *size = size.max(SAME * greatest);
        }
        Some(left)
    }

    /// Measures the terms of the equations over the instant, and compares their derivatives with those where it begins.
    fn look_at_terms(&mut self, left: &mut Left, first: &mut Vec<f64>) -> Option<()> {
        self.evaluator.jacobians().ok()?;
        let mut at = 0;
        for order in [0, 1] {
            for (row, unknown, position) in self.system.equations().pattern(order).iter() {
                let entry = self.evaluator.entry(order, position);
                let moves = match order {
                    0 => self.impulses[unknown],
                    _ => self.values[unknown] - self.from[unknown],
                };
                left.sizes[row] = left.sizes[row].max((entry * moves).abs());
                match first.get(at) {
                    None => first.push(entry),
                    Some(&known) => {
                        let size = known.abs().max(entry.abs());
                        left.bent[row] |= (entry - known).abs() > ROUNDING * size;
                    }
                }
                at += 1;
            }
        }
        Some(())
    }
}

impl Left {
    /// Whether an equation leaves more than rounding.
    fn is_open(&self, row: usize) -> bool {
        let left = self.rows[row].abs();
        left.is_nan() || left > SAME * self.sizes[row]
    }
}

/// One implicit Euler step: F(t, x, (x - from)/h) = 0. Where what multiplies a derivative jumps with it, a capacitance that follows its
/// voltage, that is taken along the straight way from `from` to x, (H4b): charges are kept.
fn step(
    system: &System,
    is_differentiated: &[bool],
    time: f64,
    from: &[f64],
    h: f64,
) -> Option<Vec<f64>> {
    let mut step = Step {
        system,
        evaluator: system.evaluator(),
        is_differentiated,
        from,
        h,
    };
    step.evaluator.set_time(time);
    let x = step.solve(from.to_vec(), &[])?;
    match step.is_bent(&x)? {
        true => step.solve(x, &nodes()),
        false => Some(x),
    }
}

/// Places of the straight way from before to after and their weights: charges that are polynomials of degree 26 are kept exactly.
fn nodes() -> Vec<(f64, f64)> {
    let rule = gauss(20).into_iter();
    rule.map(|(x, weight)| (0.5 + 0.5 * x, 0.5 * weight))
        .collect()
}

/// The equations of one step over an instant of length h.
struct Step<'a> {
    system: &'a System,
    evaluator: Evaluator,
    is_differentiated: &'a [bool],
    from: &'a [f64],
    h: f64,
}

/// What the equations leave, and their derivatives by x and by x', each in the order of its pattern.
struct Linearised {
    residuals: Vec<f64>,
    entries: [Vec<f64>; 2],
}

impl Linearised {
    /// Adds a part of another one, whose unknowns lie at a place of the way.
    fn add(&mut self, part: f64, other: &Self, shares: [&[f64]; 2]) {
        for (sum, x) in self.residuals.iter_mut().zip(&other.residuals) {
            *sum += part * x;
        }
        for ((sums, entries), shares) in self.entries.iter_mut().zip(&other.entries).zip(shares) {
            for ((sum, x), share) in sums.iter_mut().zip(entries).zip(shares) {
                *sum += part * share * x;
            }
        }
    }
}

impl Step<'_> {
    /// The equations at values and rates.
    fn at(&mut self, x: &[f64], rates: &[f64]) -> Option<Linearised> {
        let mut residuals = vec![0.0; x.len()];
        self.evaluator.set(0, x);
        self.evaluator.set(1, rates);
        self.evaluator.residuals(&mut residuals).ok()?;
        self.evaluator.jacobians().ok()?;
        let entries = [0, 1].map(|order| {
            let places = self.system.equations().pattern(order).iter();
            places
                .map(|(_, _, position)| self.evaluator.entry(order, position))
                .collect()
        });
        Some(Linearised { residuals, entries })
    }

    fn rates(&self, x: &[f64]) -> Vec<f64> {
        let moved = x.iter().zip(self.from);
        moved.map(|(a, b)| (a - b) / self.h).collect()
    }

    /// The values at a place of the way to x: unknowns without a derivative are those behind it.
    fn on_the_way(&self, x: &[f64], place: f64) -> Vec<f64> {
        let unknowns = 0..x.len();
        let value = |u: usize| match self.is_differentiated[u] {
            true => self.from[u] + place * (x[u] - self.from[u]),
            false => x[u],
        };
        unknowns.map(value).collect()
    }

    /// Whether what multiplies derivatives changes with what jumps.
    fn is_bent(&mut self, x: &[f64]) -> Option<bool> {
        let rates = self.rates(x);
        let before = self.at(&self.on_the_way(x, 0.0), &rates)?;
        let behind = self.at(x, &rates)?;
        let entries = before.entries[1].iter().zip(&behind.entries[1]);
        let mut pairs = entries.map(|(a, b)| (a - b).abs() > SAME * a.abs().max(b.abs()));
        Some(pairs.any(|differs| differs))
    }

    /// F(t, x, (x - from)/h); with places of the way F(t, x, 0) and the mean of F(t, x(s), (x - from)/h) - F(t, x(s), 0) over them, (H4b).
    fn equations(&mut self, x: &[f64], nodes: &[(f64, f64)]) -> Option<Linearised> {
        let rates = self.rates(x);
        if nodes.is_empty() {
            return self.at(x, &rates);
        }
        let rest = vec![0.0; x.len()];
        let mut sum = self.at(x, &rest)?;
        sum.entries[1].fill(0.0);
        let all = vec![1.0; sum.entries[1].len()];
        let none = vec![0.0; sum.entries[1].len()];
        for &(place, weight) in nodes {
            let there = self.on_the_way(x, place);
            let columns = self.system.equations().pattern(0).iter();
            let shares: Vec<f64> = columns
                .map(|(_, column, _)| match self.is_differentiated[column] {
                    true => place,
                    false => 1.0,
                })
                .collect();
            sum.add(weight, &self.at(&there, &rates)?, [&shares, &all]);
            sum.add(-weight, &self.at(&there, &rest)?, [&shares, &none]);
        }
        Some(sum)
    }

    /// Newton's method from values. Unknowns without a derivative are scaled by h, as are equations with one.
    fn solve(&mut self, mut x: Vec<f64>, nodes: &[(f64, f64)]) -> Option<Vec<f64>> {
        let (n, h) = (x.len(), self.h);
        let equations = self.system.equations();
        let row_scales: Vec<f64> = (0..n)
            .map(|row| match equations.pattern(1).row(row).is_empty() {
                true => 1.0,
                false => h,
            })
            .collect();
        let column_scales: Vec<f64> = (0..n)
            .map(|column| match self.is_differentiated[column] {
                true => 1.0,
                false => 1.0 / h,
            })
            .collect();
        let mut lu = Lu::new();
        for _ in 0..MAX_ROUNDS {
            let found = self.equations(&x, nodes)?;
            let mut matrix = Mat::zeros(n, n);
            for (order, factor) in [(0, 1.0), (1, 1.0 / h)] {
                let places = equations.pattern(order).iter().zip(&found.entries[order]);
                for ((row, column, _), entry) in places {
                    matrix[(row, column)] +=
                        row_scales[row] * column_scales[column] * factor * entry;
                }
            }
            let mut change = Vec::with_capacity(n);
            for row in 0..n {
                let entries = (0..n).map(|column| matrix[(row, column)].abs());
                let greatest = entries.fold(0.0, f64::max);
                let scale = if greatest > 0.0 { 1.0 / greatest } else { 1.0 };
                for column in 0..n {
                    matrix[(row, column)] *= scale;
                }
                change.push(row_scales[row] * scale * found.residuals[row]);
            }
            lu.factor(matrix.view()).ok()?;
            lu.solve(&mut change).ok()?;
            let mut moved = 0.0f64;
            for unknown in 0..n {
                let scale = column_scales[unknown];
                x[unknown] -= scale * change[unknown];
                moved = moved.max(change[unknown].abs() / (1.0 + x[unknown].abs() / scale));
            }
            if !moved.is_finite() {
                return None;
            }
            if moved <= ROUNDING {
                break;
            }
        }
        Some(x)
    }
}
