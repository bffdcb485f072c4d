//! Repair on random mixings of regular models: right, or Unknown.
//!
//! Each model has a solution known beforehand, so that the repaired structure can be proved at a consistent point: where
//! its system Jacobian is nonsingular its degrees of freedom are right (section 4 of `docs/theory/structure.md`).

use crate::common::{Random, model};
use daelight_analysis::System;
use daelight_analysis::dae::BlockForm;
use daelight_analysis::repair::{Names, Repair, RepairBudget, Repaired, repair};
use daelight_analysis::structure::Structure;
use daelight_lang::Symbol;
use daelight_linalg::Verdict;
use std::fmt::Write;

/// Where the solutions are looked at.
const TIME: f64 = 0.3;

/// One unknown along the solution: `offset + amplitude * sin(rate*time + phase)`.
#[derive(Clone, Copy)]
struct Wave {
    offset: f64,
    amplitude: f64,
    rate: f64,
    phase: f64,
}

impl Wave {
    fn random(random: &mut Random) -> Self {
        let mut digit = |low: f64, high: f64| {
            let value: f64 = low + (high - low) * random.share();
            (value * 100.0).round() / 100.0
        };
        Self {
            offset: digit(0.4, 1.2),
            amplitude: digit(0.3, 0.9),
            rate: digit(0.7, 1.6),
            phase: digit(0.0, 3.0),
        }
    }

    fn value(self, order: u32) -> f64 {
        let angle = self.rate * TIME + self.phase + f64::from(order) * std::f64::consts::FRAC_PI_2;
        let moving = self.amplitude * self.rate.powi(order as i32) * angle.sin();
        if order == 0 {
            self.offset + moving
        } else {
            moving
        }
    }

    fn text(self) -> String {
        let Self {
            offset,
            amplitude,
            rate,
            phase,
        } = self;
        format!("({offset} + {amplitude}*sin({rate}*time + {phase}))")
    }

    fn slope_text(self) -> String {
        let Self {
            amplitude,
            rate,
            phase,
            ..
        } = self;
        format!("({amplitude}*{rate}*cos({rate}*time + {phase}))")
    }
}

/// The texts of an unknown and of its derivative, by position.
type Writer<'a> = &'a dyn Fn(usize) -> (String, String);

/// A regular model: left sides of equations whose right sides are their values along the solution.
struct Base {
    n: usize,
    index: usize,
    n_degrees_of_freedom: u64,
    /// Equation by number, with the unknowns written by whoever asks.
    equation: Box<dyn Fn(usize, Writer<'_>) -> String>,
}

/// A chain of integrators run backwards (index m, its length), beside `n_states` that are free.
fn chain(random: &mut Random, m: usize, n_states: usize) -> Base {
    let shapes: Vec<usize> = (0..m + n_states).map(|_| random.below(4)).collect();
    Base {
        n: m + n_states,
        index: m,
        n_degrees_of_freedom: n_states as u64,
        equation: Box::new(move |i, write| {
            let x = |j: usize| write(j).0;
            if i == 0 {
                return match shapes[0] {
                    0 | 1 => x(0),
                    2 => format!("{0} + 0.2*{0}^3", x(0)),
                    _ => format!("2*{0} + sin({0})", x(0)),
                };
            }
            if i < m {
                let given = x(i - 1);
                let slope = write(i - 1).1;
                return match shapes[i] {
                    0 => format!("{slope} - {}", x(i)),
                    1 => format!("{slope} - {}*(2 + cos({given}))", x(i)),
                    2 => format!("{slope} + {given}^2 - 2*{}", x(i)),
                    _ => format!("{slope} - {0} - 0.1*{0}^3", x(i)),
                };
            }
            let other = x(shapes[i] % m);
            let before = x(i - 1);
            format!("{} + {} - sin({other})*{before}", write(i).1, x(i))
        }),
    }
}

/// A point on a curve: two positions, two velocities, one force (index 3, 2 degrees of freedom).
fn pendulum() -> Base {
    Base {
        n: 5,
        index: 3,
        n_degrees_of_freedom: 2,
        equation: Box::new(|i, write| {
            let x = |j: usize| write(j).0;
            let slope = |j: usize| write(j).1;
            match i {
                0 => format!("{} - {}", slope(0), x(2)),
                1 => format!("{} - {}", slope(1), x(3)),
                2 => format!("{} + {}*{}", slope(2), x(4), x(0)),
                3 => format!("{} + {}*{} + 9.81", slope(3), x(4), x(1)),
                _ => format!("{}^2 + {}^2", x(0), x(1)),
            }
        }),
    }
}

/// Two states on a surface with a force that keeps them there (index 2, 1 degree of freedom).
fn surface() -> Base {
    Base {
        n: 3,
        index: 2,
        n_degrees_of_freedom: 1,
        equation: Box::new(|i, write| {
            let x = |j: usize| write(j).0;
            match i {
                0 => format!("{} - {}*{}", write(0).1, x(1), x(2)),
                1 => format!("{} + {} - 2*{}", write(1).1, x(0), x(2)),
                _ => format!("{} + {}^2", x(0), x(1)),
            }
        }),
    }
}

/// How a model is disguised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Multiples of equations added to others, with constant factors.
    ConstantRows,
    /// With factors that depend on the state.
    StateRows,
    /// Multiples of unknowns added to others.
    ConstantColumns,
    /// Functions of unknowns added to others.
    StateColumns,
}

/// Text of a mixed model and its solution.
fn mixed(base: &Base, kind: Kind, random: &mut Random) -> (String, Vec<Wave>) {
    let n = base.n;
    let waves: Vec<Wave> = (0..n).map(|_| Wave::random(random)).collect();
    let two = |random: &mut Random| {
        let i = random.below(n);
        (i, (i + 1 + random.below(n - 1)) % n)
    };
    // Old unknowns as functions of the new ones: in place, one after the other.
    let mut columns: Vec<(usize, usize, &str, &str)> = Vec::new();
    if matches!(kind, Kind::ConstantColumns | Kind::StateColumns) {
        for _ in 0..2 + random.below(2) {
            let (i, j) = two(random);
            let (shape, slope) = match (kind, random.below(4)) {
                (Kind::ConstantColumns, 0 | 1) => ("+ @", "+ #"),
                (Kind::ConstantColumns, _) => ("- 2*@", "- 2*#"),
                (_, 0) => ("+ sin(@)", "+ cos(@)*#"),
                (_, 1) => ("+ @^2", "+ 2*@*#"),
                _ => ("+ time*@", "+ @ + time*#"),
            };
            columns.push((i, j, shape, slope));
        }
    }
    let through = |write: Writer<'_>| -> Vec<(String, String)> {
        let mut texts: Vec<(String, String)> = (0..n).map(write).collect();
        for &(i, j, shape, slope) in &columns {
            let (x, dx) = texts[j].clone();
            let fill = |shape: &str| shape.replace('@', &x).replace('#', &dx);
            let (old, old_slope) = texts[i].clone();
            texts[i] = (
                format!("({old} {})", fill(shape)),
                format!("({old_slope} {})", fill(slope)),
            );
        }
        texts
    };
    let unknown = |j: usize| (format!("x{j}"), format!("der(x{j})"));
    let solution = |j: usize| (waves[j].text(), waves[j].slope_text());
    let (unknowns, values) = (through(&unknown), through(&solution));
    let mut rows: Vec<String> = (0..n)
        .map(|i| {
            let left = (base.equation)(i, &|j| unknowns[j].clone());
            let right = (base.equation)(i, &|j| values[j].clone());
            format!("({left} - ({right}))")
        })
        .collect();
    let n_additions = match kind {
        Kind::ConstantRows => 2 + random.below(4),
        Kind::StateRows => 1 + random.below(3),
        _ => random.below(2),
    };
    for _ in 0..n_additions {
        let (i, j) = two(random);
        let factor = match kind {
            Kind::StateRows => {
                let k = random.below(n);
                let shape = random.pick(&["cos(@)", "(1 + @^2)", "@", "sin(@)", "time", "2"]);
                shape.replace('@', &format!("x{k}"))
            }
            _ => random.pick(&["1", "2", "(-1)", "3", "0.5"]).to_string(),
        };
        rows[i] = format!("({} + {factor}*{})", rows[i], rows[j]);
    }
    // Units may be anything.
    if random.below(4) == 0 {
        for row in &mut rows {
            let scale = random.pick(&["1e-6", "1e-3", "1", "1e3", "1e6"]);
            *row = format!("{scale}*{row}");
        }
    }
    let mut text = String::from("model Mixed Real ");
    let names: Vec<String> = (0..n).map(|j| format!("x{j}")).collect();
    write!(text, "{}; equation ", names.join(", ")).expect("a text");
    for row in &rows {
        write!(text, "{row} = 0; ").expect("a text");
    }
    text.push_str("end Mixed;");
    (text, waves)
}

/// What came of the mixings of one kind.
#[derive(Default, Debug)]
struct Count {
    right: usize,
    exact_index: usize,
    /// Repaired at random jets, but the repaired structure is singular at the consistent point.
    not_proved: usize,
    /// Regular at random jets and singular at the consistent point.
    singular_here: usize,
    unknown: usize,
}

/// Draws a mixing and repairs it. `None` if the mixing left the structure right.
fn draw(kind: Kind, random: &mut Random, count: &mut Count) -> Option<()> {
    let base = match random.below(8) {
        0 => pendulum(),
        1 => surface(),
        _ => {
            let (m, states) = (2 + random.below(4), random.below(3));
            chain(random, m, states.max(usize::from(m == 2)))
        }
    };
    let (text, waves) = mixed(&base, kind, random);
    let system = System::new(&model(&text, &[])).expect("a system");
    let point = |symbol: Symbol| match symbol {
        Symbol::Time => TIME,
        Symbol::Unknown { unknown, order } => waves[unknown].value(order),
        _ => f64::NAN,
    };
    let structure = Structure::of_equations(system.equations()).expect("a transversal");
    let parameters = system.parameters().values();
    let form = BlockForm::new(system.equations(), &structure, parameters);
    if form.uncertain_at(&point).is_empty() {
        assert_eq!(structure.n_degrees_of_freedom(), base.n_degrees_of_freedom);
        assert!(structure.structural_index() >= base.index);
        return None;
    }
    let outcome = repair(
        system.equations(),
        &structure,
        parameters,
        Some(&point),
        &Names::of_system(&system),
        &RepairBudget::default(),
    );
    match outcome {
        Repair::NotNeeded => panic!("it is singular at the point: {text}"),
        Repair::SingularHere { .. } => count.singular_here += 1,
        Repair::Unknown { .. } => count.unknown += 1,
        Repair::Repaired(repaired) => {
            check_solution_is_kept(&repaired, &point, &text);
            if repaired.verdict() == Verdict::Unknown {
                count.not_proved += 1;
                return Some(());
            }
            let steps = repaired.text();
            let n_degrees_of_freedom = repaired.n_degrees_of_freedom();
            assert_eq!(
                n_degrees_of_freedom, base.n_degrees_of_freedom,
                "{text}: {steps}"
            );
            // The structural index is an upper bound of the index.
            let index = repaired.structural_index();
            assert!(index >= base.index, "{text}: {steps}");
            count.right += 1;
            count.exact_index += usize::from(index == base.index);
        }
    }
    Some(())
}

/// The rewritten equations hold along the solution, measured by their size a little beside it.
fn check_solution_is_kept(repaired: &Repaired, point: &dyn Fn(Symbol) -> f64, text: &str) {
    let equations = repaired.equations();
    let residuals = |point: &dyn Fn(Symbol) -> f64| {
        let lift = repaired.lift(point);
        let value = |id| lift.value(equations.symbols().get(id));
        equations.graph().evaluate(equations.residuals(), value)
    };
    let beside = residuals(&|symbol| point(symbol) + 0.1);
    for (residual, size) in residuals(point).into_iter().zip(beside) {
        assert!(
            residual.abs() <= 1e-9 * size.abs() + 1e-12,
            "{residual} beside {size} in {text}: {}",
            repaired.text()
        );
    }
}

/// Mixings of all kinds, so many of each; the number that are right.
fn run(seed: u64, n_each: usize) -> usize {
    let mut random = Random(seed);
    let mut n_right = 0;
    for kind in [
        Kind::ConstantRows,
        Kind::StateRows,
        Kind::ConstantColumns,
        Kind::StateColumns,
    ] {
        let mut count = Count::default();
        let n_spoiled = (0..40 * n_each)
            .filter_map(|_| draw(kind, &mut random, &mut count))
            .take(n_each)
            .count();
        assert_eq!(n_spoiled, n_each, "{kind:?} rarely spoils a structure");
        println!("{kind:?}: {count:?} of {n_each}");
        n_right += count.right;
    }
    n_right
}

#[test]
fn two_hundred_mixings_are_right_or_unknown() {
    let n_right = run(0x5EED_0001, 50);
    println!("{n_right} of 200 right, none wrong");
    assert!(n_right >= 180, "{n_right} of 200");
}

/// A matrix of random numbers with one digit behind the point, far from singular.
fn full_matrix(random: &mut Random, n: usize) -> Vec<Vec<f64>> {
    loop {
        let mut entry = || (random.next() * 30.0).round() / 10.0;
        let matrix: Vec<Vec<f64>> = (0..n).map(|_| (0..n).map(|_| entry()).collect()).collect();
        let view = daelight_linalg::Mat::from_fn(n, n, |i, j| matrix[i][j]);
        let mut svd = daelight_linalg::Svd::new();
        svd.factor_values(view.view()).expect("a factorization");
        let values = svd.singular_values();
        if values[n - 1] > 0.03 * values[0] {
            return matrix;
        }
    }
}

/// P E Q x' + P A Q x = given, with a nilpotent block of the length of the index beside free states.
fn full_linear(random: &mut Random, index: usize, n_states: usize) -> (String, usize) {
    let n = index + n_states;
    let (p, q) = (full_matrix(random, n), full_matrix(random, n));
    let mut e = vec![vec![0.0; n]; n];
    let mut a = vec![vec![0.0; n]; n];
    for i in 0..index {
        a[i][i] = 1.0;
        if i + 1 < index {
            e[i][i + 1] = 1.0;
        }
    }
    for i in index..n {
        e[i][i] = 1.0;
        a[i][i] = 1.0 + i as f64;
    }
    let product = |m: &[Vec<f64>], i: usize, j: usize| -> f64 {
        let mut sum = 0.0;
        for (k, row) in m.iter().enumerate() {
            for (l, &entry) in row.iter().enumerate() {
                sum += p[i][k] * entry * q[l][j];
            }
        }
        // Two digits behind the point, as a user would write them.
        (sum * 100.0).round() / 100.0
    };
    let mut text = format!("model Full Real x[{n}]; equation ");
    for i in 0..n {
        for j in 0..n {
            let (rate, value) = (product(&e, i, j), product(&a, i, j));
            write!(text, "+ ({rate})*der(x[{0}]) + ({value})*x[{0}] ", j + 1).expect("a text");
        }
        write!(text, "= sin({}*time); ", i + 1).expect("a text");
    }
    text.push_str("end Full;");
    (text, n_states)
}

/// Numbers lose their history when they are subtracted: what was left of their cancelling used to count as an entry, and
/// 26 of 40 such systems were refused.
#[test]
fn full_linear_systems_are_repaired() {
    let mut random = Random(0x5EED_0002);
    for draw in 0..60 {
        let (index, states) = (2 + draw % 3, draw % 4);
        let (text, n_degrees_of_freedom) = full_linear(&mut random, index, states);
        let system = System::new(&model(&text, &[])).expect("a system");
        let structure = Structure::of_equations(system.equations()).expect("a transversal");
        let outcome = repair(
            system.equations(),
            &structure,
            system.parameters().values(),
            None,
            &Names::of_system(&system),
            &RepairBudget::default(),
        );
        match outcome {
            Repair::Repaired(repaired) => {
                assert_eq!(
                    repaired.n_degrees_of_freedom(),
                    n_degrees_of_freedom as u64,
                    "{text}"
                );
                assert!(repaired.structural_index() >= index, "{text}");
            }
            Repair::NotNeeded => panic!("not needed: {text}"),
            Repair::SingularHere { .. } => panic!("singular: {text}"),
            Repair::Unknown { because, .. } => panic!("{because}: {text}"),
        }
    }
}
