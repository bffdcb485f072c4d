//! Repair on random mixings of regular models: right, or Unknown.
//!
//! Each model has a solution known beforehand, so that the repaired structure can be proved at a consistent point: where
//! its system Jacobian is nonsingular its degrees of freedom are right (section 4 of `docs/theory/structure.md`).

mod common;

use common::{Random, model};
use daelight_analysis::System;
use daelight_analysis::repair::{Budget, Names, Repair, irregular_blocks, repair};
use daelight_analysis::structure::Structure;
use daelight_lang::Symbol;
use std::fmt::Write;

/// Where the solutions are looked at.
const TIME: f64 = 0.3;

impl Random {
    fn below(&mut self, n: usize) -> usize {
        (((self.next() + 1.0) / 2.0 * n as f64) as usize).min(n - 1)
    }

    fn share(&mut self) -> f64 {
        (self.next() + 1.0) / 2.0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

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

#[derive(Default, Debug)]
struct Count {
    right: usize,
    index_exact: usize,
    not_proved: usize,
    regular_beside: usize,
    unknown: Vec<String>,
}

#[test]
fn two_hundred_mixings_are_right_or_unknown() {
    let mut random = Random(0x5EED_0001);
    let kinds = [
        Kind::ConstantRows,
        Kind::StateRows,
        Kind::ConstantColumns,
        Kind::StateColumns,
    ];
    let mut total_right = 0;
    for kind in kinds {
        let mut count = Count::default();
        let mut n_cases = 0;
        let mut n_drawn = 0;
        while n_cases < 50 {
            n_drawn += 1;
            assert!(n_drawn < 2000, "{kind:?}: mixings rarely spoil a structure");
            let base = match random.below(8) {
                0 => pendulum(),
                1 => surface(),
                _ => {
                    let (m, states) = (2 + random.below(4), random.below(3));
                    chain(&mut random, m, states.max(usize::from(m == 2)))
                }
            };
            let (text, waves) = mixed(&base, kind, &mut random);
            let system = System::new(&model(&text, &[])).expect("a system");
            let point = |symbol: Symbol| match symbol {
                Symbol::Time => TIME,
                Symbol::Unknown { unknown, order } => waves[unknown].value(order),
                _ => f64::NAN,
            };
            let Ok(structure) = Structure::of_equations(system.equations()) else {
                panic!("a nonsingular system has a transversal: {text}");
            };
            let parameters = system.parameters().values();
            if irregular_blocks(system.equations(), &structure, parameters, &point).is_empty() {
                // The mixing left the structure right.
                assert_eq!(structure.n_degrees_of_freedom(), base.n_degrees_of_freedom);
                assert!(structure.structural_index() >= base.index);
                continue;
            }
            n_cases += 1;
            let outcome = repair(
                system.equations(),
                &structure,
                parameters,
                Some(&point),
                &Names::of_system(&system),
                &Budget::default(),
            );
            match outcome {
                Repair::NotNeeded => panic!("singular at the point: {text}"),
                Repair::SingularHere { .. } => count.regular_beside += 1,
                Repair::Unknown { because, .. } => {if kind==Kind::ConstantColumns {println!("DBG {text}");} count.unknown.push(because.to_string())},
                Repair::Repaired(repaired) => {
                    let lift = repaired.lift(&point);
                    let symbols = repaired.equations().symbols();
                    let graph = repaired.equations().graph();
                    let residuals = graph.evaluate(repaired.equations().residuals(), |id| {
                        lift.value(symbols.get(id))
                    });
                    // A little beside the solution the residuals have their usual size.
                    let beside = |symbol: Symbol| point(symbol) + 0.1;
                    let lift = repaired.lift(&beside);
                    let sizes = graph.evaluate(repaired.equations().residuals(), |id| {
                        lift.value(symbols.get(id))
                    });
                    for (residual, size) in residuals.iter().zip(sizes) {
                        assert!(
                            residual.abs() <= 1e-9 * size.abs() + 1e-12,
                            "the solution is kept: {residual} beside {size} in {text}"
                        );
                    }
                    if !repaired.irregular_blocks(&point).is_empty() {
                        count.not_proved += 1;
                        continue;
                    }
                    assert_eq!(
                        repaired.n_degrees_of_freedom(),
                        base.n_degrees_of_freedom,
                        "{text}: {}",
                        repaired.text()
                    );
                    // The structural index is an upper bound of the index.
                    assert!(repaired.structural_index() >= base.index, "{text}");
                    count.right += 1;
                    count.index_exact += usize::from(repaired.structural_index() == base.index);
                }
            }
        }
        println!(
            "{kind:?}: {} right ({} with the exact index), {} not proved at the point, {} regular beside it, {} unknown of {n_cases}",
            count.right,
            count.index_exact,
            count.not_proved,
            count.regular_beside,
            count.unknown.len()
        );
        count.unknown.sort();
        count.unknown.dedup();
        println!("    {:?}", count.unknown);
        total_right += count.right;
    }
    println!("{total_right} of 200 right, 0 wrong");
    assert!(total_right >= 160, "{total_right} of 200");
}
