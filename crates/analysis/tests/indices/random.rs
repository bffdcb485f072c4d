//! Random differential-algebraic equations with known answers: canonical forms under random smooth transformations.
//!
//! A direct sum of Kronecker blocks (E, A) is disguised as (P E Q, P A Q - P E Q') with random polynomials P(t), Q(t), and
//! its rows, columns and time are put in wild units. Everything is formed in double-double, so that the same system is
//! at hand to rounding in both precisions, and expanded at any t.

use daelight_analysis::chain::CriticalKind;
use daelight_analysis::dense::Dense;
use daelight_analysis::{Indices, MatrixSeries, Stage, Strangeness};
use daelight_linalg::{Dd, DdMat, Mat, Qr};

/// SplitMix64 (Steele, Lea and Flood 2014): small, and the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The generator of one case of one group, all derived from a master seed.
    pub fn of_case(master: u64, group: usize, case: usize) -> Self {
        let mut mixed = Self(master);
        for part in [group, case] {
            mixed = Self(mixed.bits() ^ part as u64);
        }
        mixed
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// One of 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    /// The numbers 0..n in random order.
    fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut out: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            out.swap(i, self.below(i + 1));
        }
        out
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// How a system is disguised.
#[derive(Clone, Copy, Debug)]
pub struct Disguise {
    /// Condition of P(0) and Q(0).
    pub condition: f64,
    /// Units of rows and columns are 10^-x to 10^x.
    pub scaling: f64,
    /// The unit of time is 10^-x to 10^x.
    pub time: f64,
    pub shape: Shape,
}

/// The make of P(t) and Q(t).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Dense, singular points at a distance of about one.
    Far,
    /// Dense, singular points at a distance of about 1/condition.
    Near,
    /// Few entries beside a diagonal of the condition asked for, never singular: patterns and zeros stay.
    Sparse,
}

/// Highest degree of P and Q in t; each has a degree of its own, at least one.
const MOST_DEGREE: usize = 5;

/// A system E(t) x' = A(t) x, polynomial in t, with its answer at generic points.
pub struct System {
    e: Vec<DdMat>,
    b: Vec<DdMat>,
    unit_of_time: f64,
    pub indices: Indices,
    /// Turns unknowns at t = 0 into those of the canonical form.
    pub to_canonical: Mat,
    /// Unknowns of the canonical form that are determined by constraints.
    pub algebraic: Vec<usize>,
}

/// What is known of a planted critical point.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    pub level: usize,
    pub stage: Stage,
    /// The kind, where it is known and the system square.
    pub kind: Option<CriticalKind>,
}

/// The polynomial canonical form under construction: entries (i, j, power of t, value).
type Entry = (usize, usize, usize, f64);

#[derive(Default)]
struct Canonical {
    n_rows: usize,
    n_cols: usize,
    e: Vec<Entry>,
    a: Vec<Entry>,
    constraints: Vec<usize>,
    redundant: Vec<usize>,
    n_differential: usize,
    n_free: usize,
    algebraic: Vec<usize>,
}

impl Canonical {
    fn size(&self) -> usize {
        self.n_rows.max(self.n_cols)
    }

    fn add_level(list: &mut Vec<usize>, level: usize) {
        if list.len() <= level {
            list.resize(level + 1, 0);
        }
        list[level] += 1;
    }

    /// x_{i+1}' = x_i, 0 = x_k: k constraints, one per level. With `critical` = c the coefficient of x_{k-c} is t.
    fn nilpotent(&mut self, k: usize, critical: Option<usize>) {
        let (r, c) = (self.n_rows, self.n_cols);
        for i in 0..k {
            if i + 1 < k {
                self.e.push((r + i, c + i + 1, 0, 1.0));
            }
            let power = usize::from(critical.is_some_and(|level| k - 1 - level == i));
            self.a.push((r + i, c + i, power, 1.0));
            Self::add_level(&mut self.constraints, i);
        }
        self.algebraic.extend(c..c + k);
        self.n_rows += k;
        self.n_cols += k;
    }

    /// t x_2' = x_1, 0 = x_2: the rank of E itself changes at t = 0.
    fn vanishing_leading_coefficient(&mut self) {
        let (r, c) = (self.n_rows, self.n_cols);
        self.e.push((r, c + 1, 1, 1.0));
        self.a.extend([(r, c, 0, 1.0), (r + 1, c + 1, 0, 1.0)]);
        Self::add_level(&mut self.constraints, 0);
        Self::add_level(&mut self.constraints, 1);
        self.n_rows += 2;
        self.n_cols += 2;
    }

    /// y_1' + y_2' = y_1 where a chain of k constraints ends in y_1 = (t - 1) y_2: on them the rank of E, t, changes.
    fn vanishing_on_constraints(&mut self, k: usize) {
        let (r, c) = (self.n_rows, self.n_cols);
        self.e.extend([(r, c, 0, 1.0), (r, c + 1, 0, 1.0)]);
        self.a.push((r, c, 0, 1.0));
        // Rows x_2' = y_1 - (t - 1) y_2, x_3' = x_2, ..., 0 = x_k.
        let combination = [(c, 0, 1.0), (c + 1, 0, 1.0), (c + 1, 1, -1.0)];
        for i in 0..k {
            let row = r + 1 + i;
            if i + 1 < k {
                self.e.push((row, c + 2 + i, 0, 1.0));
            }
            if i == 0 {
                self.a
                    .extend(combination.map(|(j, power, value)| (row, j, power, value)));
            } else {
                self.a.push((row, c + 1 + i, 0, 1.0));
            }
            Self::add_level(&mut self.constraints, i);
        }
        self.n_rows += k + 1;
        self.n_cols += k + 1;
        self.n_differential += 1;
    }

    /// x_i' = x_{i+1} with one free unknown at the end.
    fn underdetermined(&mut self, k: usize) {
        let (r, c) = (self.n_rows, self.n_cols);
        for i in 0..k {
            self.e.push((r + i, c + i, 0, 1.0));
            self.a.push((r + i, c + i + 1, 0, 1.0));
        }
        self.n_rows += k;
        self.n_cols += k + 1;
        self.n_differential += k;
        self.n_free += 1;
    }

    /// x_{i+1}' = x_i, x_1' = 0, 0 = x_k: one equation too many, which shows at level k.
    fn overdetermined(&mut self, k: usize) {
        let (r, c) = (self.n_rows, self.n_cols);
        for i in 0..k {
            self.e.push((r + i, c + i, 0, 1.0));
            self.a.push((r + i + 1, c + i, 0, 1.0));
            Self::add_level(&mut self.constraints, i);
        }
        Self::add_level(&mut self.redundant, k);
        self.algebraic.extend(c..c + k);
        self.n_rows += k + 1;
        self.n_cols += k;
    }

    /// x' = J x.
    fn differential(&mut self, k: usize) {
        let (r, c) = (self.n_rows, self.n_cols);
        for i in 0..k {
            self.e.push((r + i, c + i, 0, 1.0));
            self.a.push((r + i, c + (i + 1) % k, 0, 1.0));
        }
        self.n_rows += k;
        self.n_cols += k;
        self.n_differential += k;
    }

    /// Adds blocks of index up to `index` until the larger size is `most`.
    fn fill(&mut self, random: &mut Random, square: bool, most: usize, index: usize) {
        while self.size() < most {
            let room = most - self.size();
            match random.below(if square { 2 } else { 4 }) {
                0 => self.nilpotent(1 + random.below(room.min(index)), None),
                1 => self.differential(1 + random.below(room.min(3))),
                2 => self.underdetermined(random.below(room.min(3))),
                _ => self.overdetermined(random.below(room.min(index))),
            }
        }
    }

    fn indices(&self) -> Indices {
        let n_levels = self.constraints.len().max(self.redundant.len());
        let strangeness = Strangeness {
            index: n_levels.saturating_sub(1),
            n_algebraic: self.constraints.iter().sum(),
            n_differential: self.n_differential,
            n_free: self.n_free,
            n_redundant: self.redundant.iter().sum(),
        };
        let regular =
            self.n_rows == self.n_cols && self.n_free == 0 && strangeness.n_redundant == 0;
        let n = self.n_cols;
        let values = self.constraints.iter().map(|c| n - c).chain([n]);
        Indices {
            strangeness,
            differentiation_index: regular.then_some(self.constraints.len()),
            characteristic_values: regular.then(|| values.collect()),
        }
    }
}

impl System {
    /// A random system with index up to 5 and at most 12 equations and unknowns, high indices as frequent as low ones.
    pub fn regular(random: &mut Random, square: bool, disguise: Disguise) -> Self {
        let mut form = Canonical::default();
        form.nilpotent(1 + random.below(5), None);
        let most = form.size().max(2 + random.below(11));
        form.fill(random, square, most, 5);
        Self::disguised(random, &form, disguise)
    }

    /// A random system that is critical at t = 0, and which rank changes there.
    pub fn critical(random: &mut Random, square: bool, disguise: Disguise) -> (Self, Planted) {
        let mut form = Canonical::default();
        let planted = match random.below(6) {
            0 => {
                form.vanishing_leading_coefficient();
                Planted {
                    level: 0,
                    stage: Stage::Differential,
                    kind: Some(CriticalKind::RankDrop(0)),
                }
            }
            1 => {
                let level = 1 + random.below(4);
                form.vanishing_on_constraints(level);
                Planted {
                    level,
                    stage: Stage::Differential,
                    kind: None,
                }
            }
            _ => {
                let k = 1 + random.below(5);
                let level = random.below(k);
                form.nilpotent(k, Some(level));
                // Row k - level is x_{k-level+1}' = t x_{k-level}, the last one 0 = t x_k.
                let kind = if level == 0 {
                    CriticalKind::RankDrop(k)
                } else {
                    CriticalKind::KernelsMeet(k - level)
                };
                Planted {
                    level,
                    stage: Stage::Algebraic,
                    kind: Some(kind),
                }
            }
        };
        let most = form.size() + random.below(5);
        form.fill(random, square, most, 2);
        let planted = Planted {
            kind: planted.kind.filter(|_| square),
            ..planted
        };
        (Self::disguised(random, &form, disguise), planted)
    }

    fn disguised(random: &mut Random, form: &Canonical, disguise: Disguise) -> Self {
        let (m, n) = (form.n_rows, form.n_cols);
        let (row_of, col_of) = (random.permutation(m), random.permutation(n));
        let canonical = |entries: &[Entry]| -> Vec<DdMat> {
            let mut out = vec![DdMat::zeros(m, n); 2];
            for &(i, j, power, value) in entries {
                out[power][(row_of[i], col_of[j])] = Dd::from(value);
            }
            out
        };
        let (e, a) = (canonical(&form.e), canonical(&form.a));
        let p = transformation(random, m, disguise);
        let q = transformation(random, n, disguise);
        let rate: Vec<DdMat> = (1..q.len()).map(|k| times(k as f64, &q[k])).collect();
        let pe = polynomial_product(&p, &e);
        let new_e = polynomial_product(&pe, &q);
        // B = -(P A Q - P E Q').
        let mut new_b = polynomial_product(&pe, &rate);
        let paq = polynomial_product(&polynomial_product(&p, &a), &q);
        new_b.resize(paq.len(), DdMat::zeros(m, n));
        for (b, c) in new_b.iter_mut().zip(&paq) {
            b.add_multiple(-1.0, c);
        }
        let mut units = |len: usize, power: f64| -> Vec<f64> {
            (0..len)
                .map(|_| 10_f64.powf(random.between(-power, power)))
                .collect()
        };
        let (rows, cols) = (units(m, disguise.scaling), units(n, disguise.scaling));
        // A power of two, whose powers are exact: rounding them would spoil the double-doubles.
        let unit_of_time = units(1, disguise.time)[0].log2().round().exp2();
        let scale = |list: Vec<DdMat>, lowest: i32| -> Vec<DdMat> {
            (0..)
                .zip(list)
                .map(|(power, c)| c.scaled(&rows, &cols, unit_of_time.powi(lowest - power)))
                .collect()
        };
        Self {
            e: scale(new_e, 1),
            b: scale(new_b, 0),
            unit_of_time,
            indices: form.indices(),
            to_canonical: q[0].to_f64().scaled(&vec![1.0; n], &cols, 1.0),
            algebraic: form.algebraic.iter().map(|&j| col_of[j]).collect(),
        }
    }

    /// Taylor coefficients 0..=order at t (in units of the canonical form's time), in double-double.
    pub fn at(&self, t: f64, order: usize) -> MatrixSeries<DdMat> {
        // Powers of t in double-double, lest their rounding spoil the coefficients.
        let t = Dd::from(t * self.unit_of_time);
        let n_terms = self.e.len().max(self.b.len());
        let powers: Vec<Dd> = std::iter::successors(Some(Dd::from(1.0)), |power| Some(*power * t))
            .take(n_terms)
            .collect();
        let expand = |list: &[DdMat]| -> Vec<DdMat> {
            (0..=order)
                .map(|q| {
                    let mut out = DdMat::zeros(self.n_equations(), self.n_unknowns());
                    for (k, c) in list.iter().enumerate().skip(q) {
                        let binomial = (0..q).fold(1.0, |b, i| b * (k - i) as f64 / (i + 1) as f64);
                        let power = powers[k - q];
                        let term = DdMat::from_fn(c.nrows(), c.ncols(), |i, j| c[(i, j)] * power);
                        out.add_multiple(binomial, &term);
                    }
                    out
                })
                .collect()
        };
        MatrixSeries::new(expand(&self.e), expand(&self.b)).expect("equal shapes")
    }

    /// The same, rounded to doubles.
    pub fn rounded_at(&self, t: f64, order: usize) -> MatrixSeries {
        round(&self.at(t, order))
    }

    pub fn n_equations(&self) -> usize {
        self.e[0].nrows()
    }

    pub fn n_unknowns(&self) -> usize {
        self.e[0].ncols()
    }
}

pub fn round(series: &MatrixSeries<DdMat>) -> MatrixSeries {
    let round = |s: &[DdMat]| -> Vec<Mat> { s.iter().map(DdMat::to_f64).collect() };
    MatrixSeries::new(
        round(series.e().coefficients()),
        round(series.b().coefficients()),
    )
    .expect("equal shapes")
}

/// The same series with every entry off by this relative error.
pub fn perturbed(series: &MatrixSeries, noise: f64, random: &mut Random) -> MatrixSeries {
    let mut perturb = |s: &[Mat]| -> Vec<Mat> {
        s.iter()
            .map(|c| {
                Mat::from_fn(c.nrows(), c.ncols(), |i, j| {
                    c[(i, j)] * (1.0 + noise * random.between(-1.0, 1.0))
                })
            })
            .collect()
    };
    MatrixSeries::new(
        perturb(series.e().coefficients()),
        perturb(series.b().coefficients()),
    )
    .expect("equal shapes")
}

/// C (I + t X_1 + t^2 X_2 + ...) or the same with C on the right, with C of the condition asked for.
///
/// The distance to its singular points is about one. For C + t X_1 + t^2 X_2 + ... it is about 1/condition. A sparse one is
/// triangular in a random order, with resting diagonal.
fn transformation(random: &mut Random, n: usize, disguise: Disguise) -> Vec<DdMat> {
    let last = n.saturating_sub(1).max(1) as f64;
    let values: Vec<f64> = (0..n)
        .map(|i| disguise.condition.powf(-(i as f64) / last))
        .collect();
    let degree = 1 + random.below(MOST_DEGREE);
    if disguise.shape == Shape::Sparse {
        return sparse_transformation(random, &values, degree);
    }
    let (left, right) = (orthogonal(random, n), orthogonal(random, n));
    let constant = DdMat::from_mat(&left.scaled(&vec![1.0; n], &values, 1.0).matmul(&right));
    let on_the_left = random.below(2) == 0;
    let mut out = vec![constant.clone()];
    for k in 1..=degree {
        let size = 0.5 / (k as f64 * (n.max(1) as f64).sqrt());
        let moving = Mat::from_fn(n, n, |_, _| size * random.normal());
        let moving = DdMat::from_mat(&moving);
        out.push(match (disguise.shape, on_the_left) {
            (Shape::Near, _) => moving,
            (_, true) => constant.matmul(&moving),
            (_, false) => moving.matmul(&constant),
        });
    }
    out
}

fn sparse_transformation(random: &mut Random, values: &[f64], degree: usize) -> Vec<DdMat> {
    let n = values.len();
    let place = random.permutation(n);
    let mut out = vec![DdMat::zeros(n, n); degree + 1];
    for (i, &value) in values.iter().enumerate() {
        out[0][(place[i], place[i])] = Dd::from(value);
        for j in i + 1..n {
            if random.below(3) == 0 {
                let power = random.below(degree + 1);
                out[power][(place[i], place[j])] = Dd::from(value * random.between(-1.0, 1.0));
            }
        }
    }
    out
}

fn orthogonal(random: &mut Random, n: usize) -> Mat {
    let a = Mat::from_fn(n, n, |_, _| random.normal());
    let mut qr = Qr::new();
    qr.factor(a.view()).expect("finite");
    let mut q = Mat::zeros(n, n);
    qr.q_columns(0, q.view_mut()).expect("square");
    q
}

fn times(factor: f64, a: &DdMat) -> DdMat {
    let mut out = DdMat::zeros(a.nrows(), a.ncols());
    out.add_multiple(factor, a);
    out
}

fn polynomial_product(a: &[DdMat], b: &[DdMat]) -> Vec<DdMat> {
    let mut out = vec![DdMat::zeros(a[0].nrows(), b[0].ncols()); a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            out[i + j].add_multiple(1.0, &x.matmul(y));
        }
    }
    out
}
