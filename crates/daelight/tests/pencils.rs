//! Linear models of random regular pencils E x' = A x + B u, w = C x of index 0 to 3, E = P diag(I, N) Q and A = P diag(J, I) Q with
//! full P and Q, against C (s E - A)^-1 B at points s and the eigenvalues of J: a second way that never reduces anything.

use daelight::{LinearizeOptions, linearize};
use daelight_lang::{Options, load};
use daelight_linalg::{Lu, Mat, eigenvalues};

struct Random(u64);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (high - low) * (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number, so that texts are exact.
    fn whole(&mut self, size: f64) -> f64 {
        self.between(-size - 0.5, size + 0.5).round()
    }

    /// A well conditioned matrix of whole numbers.
    fn mixing(&mut self, n: usize) -> Mat {
        loop {
            let found = Mat::from_fn(n, n, |_, _| self.whole(3.0));
            let mut lu = Lu::new();
            if lu.factor(found.view()).is_ok() && lu.condition_1norm().is_ok_and(|c| c < 100.0) {
                return found;
            }
        }
    }
}

struct Pencil {
    e: Mat,
    a: Mat,
    b: Mat,
    c: Mat,
    poles: Mat,
    index: usize,
}

/// `n` unknowns, of which the first `dof` move; the nilpotent part has one chain of `index`.
fn pencil(random: &mut Random, index: usize) -> Pencil {
    let dof = 1 + (random.between(0.0, 3.0) as usize);
    let n_algebraic = match index {
        0 => 0,
        _ => index + random.between(0.0, 2.0) as usize,
    };
    let n = dof + n_algebraic;
    let poles = Mat::from_fn(dof, dof, |_, _| random.whole(150.0) / 64.0);
    let mut e = Mat::zeros(n, n);
    let mut a = Mat::zeros(n, n);
    for i in 0..n {
        if i < dof {
            e[(i, i)] = 1.0;
            (0..dof).for_each(|j| a[(i, j)] = poles[(i, j)]);
        } else {
            a[(i, i)] = 1.0;
            if i + 1 < dof + index {
                e[(i, i + 1)] = 1.0;
            }
        }
    }
    let (p, q) = (random.mixing(n), random.mixing(n));
    let n_inputs = 1 + random.between(0.0, 2.0) as usize;
    Pencil {
        e: p.matmul(&e).matmul(&q),
        a: p.matmul(&a).matmul(&q),
        b: Mat::from_fn(n, n_inputs, |_, _| random.whole(2.0)),
        c: Mat::from_fn(n_inputs, n, |_, _| random.whole(2.0)),
        poles,
        index,
    }
}

impl Pencil {
    fn text(&self) -> String {
        let (n, m) = (self.e.nrows(), self.b.ncols());
        let sum = |terms: Vec<String>| terms.join(" + ");
        let row = |of: &Mat, i: usize, name: &str, tail: &str| {
            sum((0..of.ncols())
                .filter(|&j| of[(i, j)] != 0.0)
                .map(|j| format!("({})*{name}{j}{tail}", of[(i, j)]))
                .chain(["0".to_string()])
                .collect())
        };
        let names = |letter: &str, n: usize| -> String {
            let all: Vec<String> = (0..n).map(|j| format!("{letter}{j}")).collect();
            all.join(", ")
        };
        let mut text = format!(
            "model M\n input Real {}; Real {}; output Real {};\nequation\n",
            names("u", m),
            names("x", n),
            names("w", m)
        );
        for i in 0..n {
            text += &format!(
                "{} = {} + {};\n",
                row(&self.e, i, "der(x", ")"),
                row(&self.a, i, "x", ""),
                row(&self.b, i, "u", "")
            );
        }
        for k in 0..m {
            text += &format!("w{k} = {};\n", row(&self.c, k, "x", ""));
        }
        text + "end M;"
    }

    /// C (s E - A)^-1 B.
    fn transfer(&self, s: f64) -> Mat {
        let n = self.e.nrows();
        let matrix = Mat::from_fn(n, n, |i, j| s * self.e[(i, j)] - self.a[(i, j)]);
        self.c.matmul(&solved(&matrix, &self.b))
    }
}

fn solved(matrix: &Mat, right: &Mat) -> Mat {
    let mut lu = Lu::new();
    lu.factor(matrix.view()).expect("a factorisation");
    let mut x = right.clone();
    lu.solve_many(x.view_mut()).expect("a solution");
    x
}

/// What is wrong with the linear model of a pencil.
fn fault(pencil: &Pencil) -> Option<String> {
    let text = pencil.text();
    let loaded = load("model.mo", text.as_bytes(), &Options::default());
    let model = loaded.model.unwrap_or_else(|| panic!("{text}"));
    let found = match linearize(&model, &LinearizeOptions::default()) {
        Ok(found) => found.model,
        Err(refused) => return Some(format!("refused: {}", refused.message)),
    };
    let dof = pencil.poles.nrows();
    if found.states.len() != dof {
        return Some(format!("{} states", found.states.len()));
    }
    for s in [0.37, -1.83, 5.21] {
        let matrix = Mat::from_fn(dof, dof, |i, j| {
            let unit = if i == j { s } else { 0.0 };
            unit - found.a[(i, j)]
        });
        let mut transfer = found.c.matmul(&solved(&matrix, &found.b));
        let mut power = 1.0;
        for d in &found.d {
            for i in 0..d.nrows() {
                (0..d.ncols()).for_each(|j| transfer[(i, j)] += power * d[(i, j)]);
            }
            power *= s;
        }
        let truth = pencil.transfer(s);
        let size = truth.view().norm_max().max(1.0);
        for (a, b) in transfer.as_slice().iter().zip(truth.as_slice()) {
            if (a - b).abs() > 1e-8 * size {
                return Some(format!("G({s}) = {a} for {b}"));
            }
        }
    }
    let truth = eigenvalues(pencil.poles.view()).expect("eigenvalues");
    let missed = truth.iter().find(|t| {
        let near = |p: &&daelight_analysis::FiniteEigenvalue| {
            f64::hypot(p.re - t.re, p.im - t.im)
                <= 1e-6 * (1.0 + f64::hypot(t.re, t.im)) + p.uncertainty
        };
        !found.poles.iter().any(|p| near(&p))
    });
    missed.map(|pole| format!("no pole {} + {}i", pole.re, pole.im))
}

#[test]
fn two_hundred_random_pencils_have_their_transfer_functions_and_poles() {
    let mut random = Random(0x9E37_79B9);
    let mut wrong = Vec::new();
    for case in 0..200 {
        let pencil = pencil(&mut random, case % 4);
        if let Some(fault) = fault(&pencil) {
            wrong.push(format!(
                "index {}: {fault}\n{}",
                pencil.index,
                pencil.text()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
