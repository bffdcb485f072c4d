//! The stages of a step side by side: their points, residuals, and the right-hand sides of (4) and (5).

use crate::collocation::Coefficients;
use crate::problem::Problem;
use daelight_expr::{Abreast, Fault};

/// The stages of a method that has N.
pub(crate) struct Stages<const N: usize> {
    c: [f64; N],
    /// Columns of T, of T L and of T^-1, (6).
    t: [[f64; N]; N],
    slopes: [[f64; N]; N],
    t_inverse: [[f64; N]; N],
    /// What evaluates a tape at all of them; none where something else gives the residuals.
    values: Option<Abreast<N>>,
    /// Points, derivatives and residuals, `[unknown][stage]`.
    x: Vec<[f64; N]>,
    xp: Vec<[f64; N]>,
    f: Vec<[f64; N]>,
}

/// Where a step is.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub t: f64,
    pub h: f64,
    pub x: &'a [f64],
}

impl<const N: usize> Stages<N> {
    fn new(method: &Coefficients, problem: &Problem) -> Self {
        let n = problem.n();
        let columns = |entry: &dyn Fn(usize, usize) -> f64| {
            std::array::from_fn(|column| std::array::from_fn(|row| entry(row, column)))
        };
        Self {
            c: std::array::from_fn(|stage| method.c[stage]),
            t: columns(&|row, column| method.t[row][column]),
            slopes: columns(&|row, column| method.slopes(row)[column]),
            t_inverse: columns(&|row, column| method.t_inverse[row][column]),
            values: problem.abreast(),
            x: vec![[0.0; N]; n],
            xp: vec![[0.0; N]; n],
            f: vec![[0.0; N]; n],
        }
    }

    /// -T^-1 F(stages) of the transformed stages w into g, row by row.
    fn right_hand_sides(
        &mut self,
        problem: &mut Problem,
        at: At<'_>,
        w: &[Vec<f64>],
        g: &mut [Vec<f64>],
    ) -> Result<(), Fault> {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || self.place(at, w),
        );
        let times = self.c.map(|c| at.t + c * at.h);
        let points = [&self.x[..], &self.xp[..]];
        problem.residuals_abreast(self.values.as_mut(), &times, points, &mut self.f)?;
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || self.transform(g),
        );
        Ok(())
    }

    /// The points of the stages and their derivatives, (6).
    #[inline(always)]
    fn place(&mut self, at: At<'_>, w: &[Vec<f64>]) {
        let n = at.x.len();
        let slopes = self.slopes.map(|column| column.map(|slope| slope / at.h));
        let w: [&[f64]; N] = std::array::from_fn(|k| &w[k][..n]);
        let (into_x, into_xp) = (&mut self.x[..n], &mut self.xp[..n]);
        for j in 0..n {
            let (mut x, mut xp) = ([at.x[j]; N], [0.0; N]);
            for k in 0..N {
                for stage in 0..N {
                    x[stage] += self.t[k][stage] * w[k][j];
                    xp[stage] += slopes[k][stage] * w[k][j];
                }
            }
            (into_x[j], into_xp[j]) = (x, xp);
        }
    }

    #[inline(always)]
    fn transform(&self, g: &mut [Vec<f64>]) {
        for (j, f) in self.f.iter().enumerate() {
            let mut sums = [0.0; N];
            for k in 0..N {
                for row in 0..N {
                    sums[row] += self.t_inverse[k][row] * f[k];
                }
            }
            for (g, sum) in g.iter_mut().zip(sums) {
                g[j] = -sum;
            }
        }
    }
}

/// The stages of either method.
pub(crate) enum Bundle {
    Three(Box<Stages<3>>),
    Five(Box<Stages<5>>),
}

impl Bundle {
    pub(crate) fn new(method: &Coefficients, problem: &Problem) -> Self {
        match method.n() {
            3 => Self::Three(Box::new(Stages::new(method, problem))),
            _ => Self::Five(Box::new(Stages::new(method, problem))),
        }
    }

    /// -T^-1 F(stages) of the transformed stages w into g, row by row.
    pub(crate) fn right_hand_sides(
        &mut self,
        problem: &mut Problem,
        at: At<'_>,
        w: &[Vec<f64>],
        g: &mut [Vec<f64>],
    ) -> Result<(), Fault> {
        match self {
            Self::Three(stages) => stages.right_hand_sides(problem, at, w, g),
            Self::Five(stages) => stages.right_hand_sides(problem, at, w, g),
        }
    }
}
