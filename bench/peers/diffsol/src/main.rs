//! diffsol's BDF on index 1 by hand: pendulum, Andrews' squeezer, Akzo Nobel, the chain of pendulums.
//!
//! Prints one JSON document for each problem and tolerance. Jacobians come from dual numbers, which diffsol turns into
//! (sparse, coloured) matrices itself.

mod stiff;

use diffsol::{
    FaerSparseLU, FaerSparseMat, NalgebraLU, NalgebraMat, OdeBuilder, OdeSolverMethod,
    OdeSolverStopReason, Vector,
};
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::time::Instant;

/// A number with its derivative in one direction.
#[derive(Clone, Copy)]
struct Dual(f64, f64);

/// What the equations are written with.
trait Number:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn of(value: f64) -> Self;
    fn sin_cos(self) -> (Self, Self);
    fn sqrt(self) -> Self;
    fn times(self, factor: f64) -> Self {
        self * Self::of(factor)
    }
    fn square(self) -> Self {
        self * self
    }
}

impl Number for f64 {
    fn of(value: f64) -> Self {
        value
    }
    fn sin_cos(self) -> (Self, Self) {
        f64::sin_cos(self)
    }
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
}

impl Number for Dual {
    fn of(value: f64) -> Self {
        Self(value, 0.0)
    }
    fn sin_cos(self) -> (Self, Self) {
        let (s, c) = self.0.sin_cos();
        (Self(s, c * self.1), Self(c, -s * self.1))
    }
    fn sqrt(self) -> Self {
        let root = self.0.sqrt();
        Self(root, 0.5 * self.1 / root)
    }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0, self.1 + o.1)
    }
}
impl Sub for Dual {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self(self.0 - o.0, self.1 - o.1)
    }
}
impl Mul for Dual {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self(self.0 * o.0, self.0 * o.1 + self.1 * o.0)
    }
}
impl Div for Dual {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        Self(self.0 / o.0, (self.1 - self.0 / o.0 * o.1) / o.0)
    }
}
impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

/// M y' = f(y) with M = diag(1, ..., 1, 0, ..., 0).
trait Problem: Copy + 'static {
    fn n_differential(&self) -> usize;
    fn start(&self) -> Vec<f64>;
    fn end(&self) -> f64;
    /// How many of the unknowns are compared, from the first on.
    fn n_compared(&self) -> usize;
    /// Absolute tolerances as multiples of the relative one: one for each unknown, or one for all.
    fn scale(&self) -> Vec<f64> {
        vec![1.0]
    }
    fn right<T: Number>(&self, y: &[T], f: &mut [T]);
}

#[derive(Clone, Copy)]
struct Pendulum;

impl Problem for Pendulum {
    fn n_differential(&self) -> usize {
        4
    }
    fn start(&self) -> Vec<f64> {
        vec![1.0, 0.0, 0.0, 0.0, 0.0]
    }
    fn end(&self) -> f64 {
        10.0
    }
    fn n_compared(&self) -> usize {
        2
    }
    fn right<T: Number>(&self, y: &[T], f: &mut [T]) {
        let g = T::of(9.81);
        f[0] = y[2];
        f[1] = y[3];
        f[2] = -y[4] * y[0];
        f[3] = -y[4] * y[1] - g;
        f[4] = y[2].square() + y[3].square() - y[4] * (y[0].square() + y[1].square()) - g * y[1];
    }
}

#[derive(Clone, Copy)]
struct Akzo;

impl Problem for Akzo {
    fn n_differential(&self) -> usize {
        5
    }
    fn start(&self) -> Vec<f64> {
        vec![0.444, 0.00123, 0.0, 0.007, 0.0, 115.83 * 0.444 * 0.007]
    }
    fn end(&self) -> f64 {
        180.0
    }
    fn n_compared(&self) -> usize {
        6
    }
    fn scale(&self) -> Vec<f64> {
        vec![1e-4]
    }
    fn right<T: Number>(&self, y: &[T], f: &mut [T]) {
        let root = y[1].sqrt();
        let r1 = y[0].square().square() * root.times(18.7);
        let r2 = (y[2] * y[3]).times(0.58);
        let r3 = (y[0] * y[4]).times(0.58 / 34.4);
        let r4 = (y[0] * y[3].square()).times(0.09);
        let r5 = (y[5].square() * root).times(0.42);
        f[0] = r2 - r1.times(2.0) - r3 - r4;
        f[1] = (T::of(0.9 / 737.0) - y[1]).times(3.3) - r1.times(0.5) - r4 - r5.times(0.5);
        f[2] = r1 - r2 + r3;
        f[3] = r3 - r2 - r4.times(2.0);
        f[4] = r2 - r3 + r5;
        f[5] = (y[0] * y[3]).times(115.83) - y[5];
    }
}

/// Point masses on a chain: x, y, their velocities, forces in the links.
#[derive(Clone, Copy)]
struct Chain(usize);

impl Problem for Chain {
    fn n_differential(&self) -> usize {
        4 * self.0
    }
    fn start(&self) -> Vec<f64> {
        let n = self.0;
        let mut y = vec![0.0; 5 * n];
        for i in 0..n {
            y[i] = (i + 1) as f64 * 0.5f64.sqrt();
            y[n + i] = -y[i];
        }
        y
    }
    fn end(&self) -> f64 {
        1.0
    }
    fn n_compared(&self) -> usize {
        2 * self.0
    }
    fn right<T: Number>(&self, y: &[T], f: &mut [T]) {
        let n = self.0;
        let zero = T::of(0.0);
        let link = |part: usize, i: usize| {
            let before = if i == 0 { zero } else { y[part * n + i - 1] };
            y[part * n + i] - before
        };
        let force = |i: usize| y[4 * n + i];
        for i in 0..n {
            let (mut ax, mut ay) = (-force(i) * link(0, i), -force(i) * link(1, i) - T::of(9.81));
            if i + 1 < n {
                ax = ax + force(i + 1) * link(0, i + 1);
                ay = ay + force(i + 1) * link(1, i + 1);
            }
            f[i] = y[2 * n + i];
            f[n + i] = y[3 * n + i];
            f[2 * n + i] = ax;
            f[3 * n + i] = ay;
        }
        for i in 0..n {
            let (mut ax, mut ay) = (f[2 * n + i], f[3 * n + i]);
            if i > 0 {
                ax = ax - f[2 * n + i - 1];
                ay = ay - f[3 * n + i - 1];
            }
            f[4 * n + i] =
                link(2, i).square() + link(3, i).square() + link(0, i) * ax + link(1, i) * ay;
        }
    }
}

/// Angles, velocities, accelerations and forces of the squeezer.
#[derive(Clone, Copy)]
struct Andrews;

impl Problem for Andrews {
    fn n_differential(&self) -> usize {
        14
    }
    fn start(&self) -> Vec<f64> {
        let mut y = vec![0.0; 27];
        y[..7].copy_from_slice(&[
            -0.06171389001427645,
            0.0,
            0.45527981916307037,
            0.22266839016588588,
            0.48736497954384256,
            -0.22266839016588588,
            1.2305474445498212,
        ]);
        y[14] = 14222.4439199541138705911625887;
        y[15] = -10666.8329399655854029433719415;
        y[21] = 98.5668703962410896057654982170;
        y[22] = -6.12268834425566265503114393122;
        y
    }
    fn end(&self) -> f64 {
        0.03
    }
    fn scale(&self) -> Vec<f64> {
        [[1.0; 7], [1e3; 7], [1e5; 7], [1e2; 7]].concat()[..27].to_vec()
    }
    fn n_compared(&self) -> usize {
        7
    }
    fn right<T: Number>(&self, y: &[T], f: &mut [T]) {
        const M: [f64; 7] = [0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498];
        const I: [f64; 7] = [
            2.194e-6, 4.41e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5,
        ];
        const XB: f64 = -0.03635;
        const YB: f64 = 0.03273;
        const XC: f64 = 0.014;
        const YC: f64 = 0.072;
        const RR: f64 = 0.007;
        const D: f64 = 0.028;
        const SS: f64 = 0.035;
        const E: f64 = 0.02;
        const ZT: f64 = 0.04;
        const ZF: f64 = 0.02;
        const U: f64 = 0.04;
        const RA: f64 = 0.00092;
        const DA: f64 = 0.0115;
        const SC: f64 = 0.018;
        const SD: f64 = 0.02;
        const EA: f64 = E - 0.01421;
        const FA: f64 = ZF - 0.01421;
        let (q, v, w, l) = (&y[..7], &y[7..14], &y[14..21], &y[21..27]);
        let c = T::of;
        let ((sb, cb), (sbt, cbt)) = (q[0].sin_cos(), (q[0] + q[1]).sin_cos());
        let ((st, ct), (sg, cg)) = (q[1].sin_cos(), q[2].sin_cos());
        let ((sp, cp), (spd, cpd)) = (q[3].sin_cos(), (q[3] + q[4]).sin_cos());
        let ((sd, cd), (so, co)) = (q[4].sin_cos(), q[5].sin_cos());
        let ((soe, coe), (se, ce)) = ((q[5] + q[6]).sin_cos(), q[6].sin_cos());
        for j in 0..7 {
            f[j] = v[j];
            f[7 + j] = w[j];
        }
        let (odd, even) = (l[0] + l[2] + l[4], l[1] + l[3] + l[5]);
        let m12 = c(M[1] * DA * DA + I[1]) - ct.times(M[1] * DA * RR);
        let m45 = c(M[3] * EA * EA + I[3]) + sp.times(M[3] * ZT * EA);
        let m67 = c(M[5] * FA * FA + I[5]) - so.times(M[5] * U * FA);
        let m11 = c(M[0] * RA * RA + M[1] * (RR * RR + DA * DA) + I[0] + I[1])
            - ct.times(2.0 * M[1] * DA * RR);
        let m55 = c(M[3] * (ZT * ZT + EA * EA)
            + M[4] * (0.02308 * 0.02308 + 0.00916 * 0.00916)
            + I[3]
            + I[4])
            + sp.times(2.0 * M[3] * ZT * EA);
        let m77 = c(M[5] * (FA * FA + U * U)
            + M[6] * (0.01228 * 0.01228 + 0.00449 * 0.00449)
            + I[5]
            + I[6])
            - so.times(2.0 * M[5] * U * FA);
        let xd = cg.times(SD) + sg.times(SC) + c(XB - XC);
        let yd = sg.times(SD) - cg.times(SC) + c(YB - YC);
        let length = (xd.square() + yd.square()).sqrt();
        let pull = (c(0.07785) - length).times(4530.0) / length;
        let torque =
            pull * (xd * (cg.times(SC) - sg.times(SD)) + yd * (cg.times(SD) + sg.times(SC)));
        f[14] = m11 * w[0]
            + m12 * w[1]
            + (sbt.times(D) - sb.times(RR)) * odd
            + (cb.times(RR) - cbt.times(D)) * even
            - c(0.033)
            + (v[1] * (v[1] + v[0].times(2.0)) * st).times(M[1] * DA * RR);
        f[15] = m12 * w[0] + w[1].times(M[1] * DA * DA + I[1]) + (sbt * odd - cbt * even).times(D)
            - (v[0].square() * st).times(M[1] * DA * RR);
        f[16] = w[2].times(M[2] * (0.01874 * 0.01874 + 0.01043 * 0.01043) + I[2])
            - (cg * l[0] + sg * l[1]).times(SS)
            - torque;
        f[17] = w[3].times(M[3] * EA * EA + I[3]) + m45 * w[4]
            - (cpd * l[2] + spd * l[3]).times(E)
            - (v[4].square() * cp).times(M[3] * ZT * EA);
        f[18] = m45 * w[3] + m55 * w[4] + (sd.times(ZT) - cpd.times(E)) * l[2]
            - (cd.times(ZT) + spd.times(E)) * l[3]
            + (v[3] * (v[3] + v[4].times(2.0)) * cp).times(M[3] * ZT * EA);
        f[19] = w[5].times(M[5] * FA * FA + I[5])
            + m67 * w[6]
            + (soe * l[4] - coe * l[5]).times(ZF)
            + (v[6].square() * co).times(M[5] * U * FA);
        f[20] = m67 * w[5] + m77 * w[6] + (soe.times(ZF) - ce.times(U)) * l[4]
            - (coe.times(ZF) + se.times(U)) * l[5]
            - (v[5] * (v[5] + v[6].times(2.0)) * co).times(M[5] * U * FA);
        // The loops, differentiated twice: each term a cos(angle) has the second derivative -a (sin w + cos v^2).
        let cosine = |a: f64, s: T, k: T, rate: T, acceleration: T| {
            -(s * acceleration + k * rate.square()).times(a)
        };
        let sine = |a: f64, s: T, k: T, rate: T, acceleration: T| {
            (k * acceleration - s * rate.square()).times(a)
        };
        let (vbt, wbt) = (v[0] + v[1], w[0] + w[1]);
        let (vpd, wpd) = (v[3] + v[4], w[3] + w[4]);
        let (voe, woe) = (v[5] + v[6], w[5] + w[6]);
        let x = cosine(RR, sb, cb, v[0], w[0]) - cosine(D, sbt, cbt, vbt, wbt);
        let z = sine(RR, sb, cb, v[0], w[0]) - sine(D, sbt, cbt, vbt, wbt);
        f[21] = x - sine(SS, sg, cg, v[2], w[2]);
        f[22] = z + cosine(SS, sg, cg, v[2], w[2]);
        f[23] = x - sine(E, spd, cpd, vpd, wpd) - cosine(ZT, sd, cd, v[4], w[4]);
        f[24] = z + cosine(E, spd, cpd, vpd, wpd) - sine(ZT, sd, cd, v[4], w[4]);
        f[25] = x - cosine(ZF, soe, coe, voe, woe) - sine(U, se, ce, v[6], w[6]);
        f[26] = z - sine(ZF, soe, coe, voe, woe) + cosine(U, se, ce, v[6], w[6]);
    }
}

/// A run with one kind of matrices and their solver; coloured means that Jacobians are found column group by column group.
macro_rules! run_with {
    ($once:ident, $matrix:ty, $solver:ty, $coloring:expr) => {
        /// One run: seconds of set-up and of the steps, and the end.
        fn $once<P: Problem>(problem: P, tolerance: f64) -> Result<(f64, f64, Vec<f64>), String> {
            let begin = Instant::now();
            let n = problem.start().len();
            let built = OdeBuilder::<$matrix>::new()
                .rtol(tolerance)
                .atol(
                    problem
                        .scale()
                        .iter()
                        .map(|scale| tolerance * scale)
                        .collect::<Vec<f64>>(),
                )
                .use_coloring($coloring)
                .rhs_implicit(
                    move |y: &[f64], _p: &[f64], _t: f64, f: &mut [f64]| problem.right(y, f),
                    move |y: &[f64], _p: &[f64], _t: f64, v: &[f64], f: &mut [f64]| {
                        let y: Vec<Dual> = y.iter().zip(v).map(|(&y, &v)| Dual(y, v)).collect();
                        let mut right = vec![Dual(0.0, 0.0); f.len()];
                        problem.right(&y, &mut right);
                        for (place, value) in f.iter_mut().zip(right) {
                            *place = value.1;
                        }
                    },
                )
                .mass(
                    move |v: &[f64], _p: &[f64], _t: f64, beta: f64, y: &mut [f64]| {
                        let n_differential = problem.n_differential();
                        for (j, place) in y.iter_mut().enumerate() {
                            *place = if j < n_differential { v[j] } else { 0.0 } + beta * *place;
                        }
                    },
                )
                .init(
                    move |_p: &[f64], _t: f64, y: &mut [f64]| y.copy_from_slice(&problem.start()),
                    n,
                )
                .build()
                .map_err(|error| error.to_string())?;
            let mut solver = built.bdf::<$solver>().map_err(|error| error.to_string())?;
            let setup = begin.elapsed().as_secs_f64();
            let begin = Instant::now();
            solver
                .set_stop_time(problem.end())
                .map_err(|error| error.to_string())?;
            loop {
                match solver.step().map_err(|error| error.to_string())? {
                    OdeSolverStopReason::TstopReached => break,
                    _ => continue,
                }
            }
            let seconds = begin.elapsed().as_secs_f64();
            let state = solver.state();
            let mut values = state.y.clone_as_vec();
            values.truncate(problem.n_compared());
            Ok((setup, seconds, values))
        }
    };
}

run_with!(dense, NalgebraMat<f64>, NalgebraLU<f64>, false);
run_with!(sparse, FaerSparseMat<f64>, FaerSparseLU<f64>, true);

type Outcome = Result<(f64, f64, Vec<f64>), String>;

fn scan<P: Problem>(name: &str, form: &str, problem: P, every: usize, once: fn(P, f64) -> Outcome) {
    // Few tolerances where a run takes seconds.
    let last = if every > 2 { 18 } else { 26 };
    for k in (6..=last).step_by(every) {
        let tolerance = 10f64.powf(-f64::from(k) / 2.0);
        let mut answer = serde_json::json!({
            "problem": name, "tool": "diffsol bdf", "version": "0.18.0", "form": form, "tolerance": tolerance,
        });
        let mut best: Option<(f64, f64, Vec<f64>)> = None;
        let mut failure = None;
        let begin = Instant::now();
        for repeat in 0..30 {
            match once(problem, tolerance) {
                Ok((setup, seconds, values)) => {
                    let (least_setup, least) =
                        best.as_ref().map_or((setup, seconds), |b| (b.0, b.1));
                    best = Some((setup.min(least_setup), seconds.min(least), values));
                }
                Err(why) => {
                    failure = Some(why);
                    break;
                }
            }
            if repeat >= 1 && begin.elapsed().as_secs_f64() > 0.5 {
                break;
            }
        }
        match (best, failure) {
            (Some((setup, solve, values)), None) => {
                answer["setup"] = setup.into();
                answer["solve"] = solve.into();
                answer["success"] = true.into();
                answer["message"] = "".into();
                answer["values"] = values.into();
            }
            (_, why) => {
                answer["success"] = false.into();
                answer["message"] = why.unwrap_or_default().into();
            }
        }
        println!("{answer}");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|what| what == "stiff") {
        return stiff::run(arguments.get(2).map(String::as_str));
    }
    let by_hand = "index 1 by hand";
    scan("pendulum", by_hand, Pendulum, 1, dense);
    scan("andrews", by_hand, Andrews, 1, dense);
    scan("akzo-nobel", "as it stands", Akzo, 1, dense);
    for n in [10, 100, 1000] {
        let every = if n == 1000 { 4 } else { 2 };
        scan(
            &format!("pendulum-chain {n}"),
            by_hand,
            Chain(n),
            every,
            sparse,
        );
    }
}
