//! Loci as formulas: known ones, and the determinant in numbers against constant * ∏ factors / ∏ denominators.

use crate::common;
use crate::common::{Random, library, model};
use daelight_analysis::System;
use daelight_analysis::locus::{
    BlockLoci, DeterminantFactor, FactorKind, Incomplete, Locus, LocusOptions, Role,
};
use daelight_analysis::structure::{Structure, SystemJacobian};
use daelight_expr::{ExprId, Graph, Slot, SymbolId, Tape, UnaryOp, Values};
use daelight_lang::{Model, Symbol};
use daelight_linalg::{Mat, Svd};
use std::collections::HashMap;
use std::sync::Arc;

/// A model with its structure and the loci of its blocks.
struct Case {
    model: Model,
    structure: Structure,
    jacobian: SystemJacobian,
    loci: BlockLoci,
}

/// Values of everything that moves.
#[derive(Clone, Default)]
struct Point(HashMap<Symbol, f64>);

impl Point {
    fn value(&self, symbol: Symbol) -> f64 {
        self.0.get(&symbol).copied().unwrap_or(0.0)
    }

    /// The point of a line through this one.
    fn along(&self, direction: &Self, step: f64) -> Self {
        let moved = self.0.iter().map(|(&symbol, &value)| {
            let slope = direction.value(symbol);
            (symbol, value + step * slope)
        });
        Self(moved.collect())
    }
}

impl Case {
    fn new(text: &str, options: &LocusOptions) -> Option<Self> {
        let model = model(text, &[]);
        let system = System::new(&model).ok()?;
        let equations = system.equations();
        if equations.n_equations() != equations.n_unknowns() {
            return None;
        }
        let structure = Structure::of_equations(equations).ok()?;
        let jacobian = SystemJacobian::new(equations, &structure, system.parameters().values());
        let loci = BlockLoci::new(&structure, &jacobian, options);
        Some(Self {
            model,
            structure,
            jacobian,
            loci,
        })
    }

    fn random_point(&self, random: &mut Random) -> Point {
        let mut point = Point::default();
        for unknown in 0..self.model.unknowns.len() {
            for order in 0..=1 {
                let value = 3.0 * random.next();
                point.0.insert(Symbol::Unknown { unknown, order }, value);
            }
        }
        point.0.insert(Symbol::Time, 1.0 + random.next());
        point
    }

    fn matrix(&self, block: usize, point: &Point) -> Mat {
        let values = self.jacobian.evaluate(|symbol| point.value(symbol));
        self.structure.block_matrix(block, &values)
    }

    fn value(&self, factor: &DeterminantFactor, point: &Point) -> f64 {
        let value = |symbol| point.value(symbol);
        self.loci.evaluate(factor.expr, value)
    }

    /// The determinant from the formula.
    fn product(&self, locus: &Locus, point: &Point) -> f64 {
        let power = |f: &DeterminantFactor| self.value(f, point).powi(f.multiplicity as i32);
        let top: f64 = locus.factors.iter().map(power).product();
        let bottom: f64 = locus.denominators.iter().map(power).product();
        locus.constant_f64() * top / bottom
    }

    fn text(&self, block: usize, factor: &DeterminantFactor) -> String {
        let name = |symbol, text: &mut String| self.model.write_name(symbol, text);
        self.loci.text(block, factor, name)
    }

    fn texts(&self, block: usize) -> Vec<String> {
        let factors = self.loci.factors(block);
        factors.map(|f| self.text(block, f)).collect()
    }
}

/// The determinant and a bound of the terms it is a sum of: the product of the row sums.
fn determinant(matrix: &Mat) -> (f64, f64) {
    let n = matrix.nrows();
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| matrix.col(j)[i]).collect())
        .collect();
    let size = rows
        .iter()
        .map(|row| row.iter().map(|x| x.abs()).sum::<f64>())
        .product();
    let mut result = 1.0;
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs()));
        let pivot = pivot.unwrap_or(k);
        if pivot != k {
            rows.swap(k, pivot);
            result = -result;
        }
        let top = rows[k].clone();
        result *= top[k];
        if top[k] == 0.0 {
            return (0.0, size);
        }
        for row in &mut rows[k + 1..] {
            let factor = row[k] / top[k];
            for (x, y) in row[k..].iter_mut().zip(&top[k..]) {
                *x -= factor * y;
            }
        }
    }
    (result, size)
}

/// det = constant * ∏ factors / ∏ denominators at random points; 1e-10 of the determinant, or rounding of its terms.
fn formula_is_the_determinant(case: &Case, name: &str, random: &mut Random) -> usize {
    let mut n_compared = 0;
    for (block, locus) in case.loci.loci().iter().enumerate() {
        let Ok(locus) = locus else { continue };
        for _ in 0..20 {
            let point = case.random_point(random);
            let (direct, size) = determinant(&case.matrix(block, &point));
            if !direct.is_finite() {
                continue;
            }
            let formula = case.product(locus, &point);
            let error = (direct - formula).abs();
            assert!(
                error <= 1e-10 * direct.abs() + 1e-14 * size,
                "{name} block {block}: {direct} and {formula}"
            );
            n_compared += 1;
        }
    }
    n_compared
}

/// Steps to a zero of a factor from random points; the block must be singular there. The number of zeros found.
fn zeros_are_singular(case: &Case, name: &str, random: &mut Random) -> usize {
    let mut n_zeros = 0;
    let symbols = case.loci.symbols();
    for (block, locus) in case.loci.loci().iter().enumerate() {
        let Ok(locus) = locus else { continue };
        for factor in locus.vanishing() {
            let mut graph = case.loci.graph().clone();
            let variables: Vec<SymbolId> = daelight_expr::Walker::new()
                .symbols(&graph, &[factor.expr])
                .into_iter()
                .filter(|&id| !matches!(symbols.get(id), Symbol::Parameter(_)))
                .collect();
            let mut roots = graph.gradient(factor.expr, &variables);
            roots.push(factor.expr);
            'starts: for _ in 0..6 {
                let mut point = case.random_point(random);
                for _ in 0..200 {
                    let mut values = graph.evaluate(&roots, |id| match symbols.get(id) {
                        Symbol::Parameter(index) => case.model.parameters[index].value,
                        symbol => point.value(symbol),
                    });
                    let value = values.pop().unwrap_or(0.0);
                    let square: f64 = values.iter().map(|g| g * g).sum();
                    if value == 0.0 || square == 0.0 || !value.is_finite() {
                        break;
                    }
                    let mut length = 0.0;
                    for (&id, slope) in variables.iter().zip(&values) {
                        let step = (value * slope / square).clamp(-0.5, 0.5);
                        *point.0.entry(symbols.get(id)).or_insert(0.0) -= step;
                        length += step.abs();
                    }
                    if length < 1e-14 {
                        break;
                    }
                }
                let matrix = case.matrix(block, &point);
                let mut svd = Svd::new();
                if svd.factor(matrix.view()).is_err() {
                    continue 'starts;
                }
                let values = svd.singular_values();
                let smallest = values[values.len() - 1];
                // A block of one row has nothing to compare with but itself elsewhere.
                let elsewhere = case.matrix(block, &case.random_point(random));
                let largest = values[0].max(elsewhere.view().norm_max());
                let value = case.value(factor, &point).abs();
                let typical = case.value(factor, &case.random_point(random)).abs();
                if value > 1e-13 * typical.max(1e-3) {
                    // No zero near: the factor may have none.
                    continue 'starts;
                }
                assert!(
                    smallest <= 1e-6 * largest,
                    "{name} block {block}: {smallest} beside {largest}"
                );
                n_zeros += 1;
            }
        }
    }
    n_zeros
}

/// Where the numeric determinant changes its sign on random lines, some factor does. The number of such places.
fn no_zero_is_missed(case: &Case, name: &str, random: &mut Random) -> usize {
    let mut n_found = 0;
    for (block, locus) in case.loci.loci().iter().enumerate() {
        let Ok(locus) = locus else { continue };
        if locus.is_singular() {
            continue;
        }
        for _ in 0..8 {
            let (point, direction) = (case.random_point(random), case.random_point(random));
            let value = |s: f64| determinant(&case.matrix(block, &point.along(&direction, s))).0;
            let steps: Vec<f64> = (0..=150).map(|k| -1.0 + f64::from(k) / 75.0).collect();
            for pair in steps.windows(2) {
                let (mut low, mut high) = (pair[0], pair[1]);
                let (first, last) = (value(low), value(high));
                if first.signum() * last.signum() != -1.0 {
                    continue;
                }
                while high - low > 1e-10 {
                    let middle = 0.5 * (low + high);
                    if value(middle) * first > 0.0 {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                if value(low).abs() > first.abs().max(last.abs()) {
                    // A pole, which belongs to the denominators.
                    continue;
                }
                let changes = locus
                    .vanishing()
                    .filter(|factor| factor.multiplicity % 2 == 1);
                let mut changes = changes.filter(|factor| {
                    let ends = [low, high].map(|s| case.value(factor, &point.along(&direction, s)));
                    ends[0] * ends[1] <= 0.0
                });
                assert!(
                    changes.next().is_some(),
                    "{name} block {block} misses a zero"
                );
                n_found += 1;
            }
        }
    }
    n_found
}

#[test]
fn the_arm() {
    let text = common::text("robotic-arm");
    let case = Case::new(&text, &LocusOptions::default()).expect("a structure");
    let mut found = 0;
    for (at, block) in case.structure.blocks().iter().enumerate() {
        let texts = case.texts(at);
        let locus = case.loci.loci()[at].as_ref().expect("a formula");
        match block.equations.as_slice() {
            [6, 7] => {
                assert_eq!(texts, ["sin(x3)"]);
                assert!(locus.denominators.is_empty());
                found += 1;
            }
            [3, 5] => {
                assert_eq!(texts, ["cos(x3)^2 - 6*cos(x3) + 4"]);
                assert_eq!(locus.constant_f64().abs(), 2.0);
                let [denominator] = locus.denominators.as_slice() else {
                    panic!("one denominator");
                };
                let text = case.text(at, denominator);
                assert_eq!(
                    (text.as_str(), denominator.multiplicity),
                    ("sin(x3)^2 + 1", 2)
                );
                assert_eq!(denominator.nature, FactorKind::NeverZero);
                found += 1;
            }
            _ => {
                assert!(texts.is_empty());
                assert_eq!(locus.constant_f64().abs(), 1.0);
            }
        }
    }
    assert_eq!(found, 2);
}

/// Factors are expressions like any others: a tape gives their values and their series.
#[test]
fn factors_run_on_tapes() {
    let text = common::text("robotic-arm");
    let case = Case::new(&text, &LocusOptions::default()).expect("a structure");
    let factors: Vec<ExprId> = (0..case.structure.blocks().len())
        .flat_map(|block| case.loci.factors(block))
        .map(|factor| factor.expr)
        .collect();
    let symbols = case.loci.symbols();
    let tape = Tape::compile(case.loci.graph(), &factors, |id| match symbols.get(id) {
        Symbol::Unknown { unknown, order } => Slot::Variable {
            index: unknown as u32,
            order,
        },
        Symbol::Parameter(index) => Slot::Parameter(index as u32),
        _ => Slot::Time,
    })
    .with_counts(case.model.unknowns.len(), case.model.parameters.len());
    let mut values = Values::new(Arc::new(tape));
    // cos(x3) = 3 - √5 on the second locus.
    let x3 = (3.0 - 5f64.sqrt()).acos();
    values.inputs_mut().set(2, 0, x3);
    values.evaluate().expect("no fault");
    let mut found = [values.root(0), values.root(1)];
    found.sort_by(f64::total_cmp);
    assert!(found[0].abs() < 1e-15, "{found:?}");
    assert!((found[1] - x3.sin()).abs() < 1e-15, "{found:?}");
}

#[test]
fn models_of_the_library() {
    let mut random = Random(5);
    let (mut n_compared, mut n_zeros, mut n_crossings) = (0, 0, 0);
    for (name, text) in library() {
        for keep_parameters in [true, false] {
            let options = LocusOptions {
                keep_parameters,
                ..LocusOptions::default()
            };
            let Some(case) = Case::new(&text, &options) else {
                continue;
            };
            n_compared += formula_is_the_determinant(&case, &name, &mut random);
            n_zeros += zeros_are_singular(&case, &name, &mut random);
            n_crossings += no_zero_is_missed(&case, &name, &mut random);
        }
    }
    println!("{n_compared} points, {n_zeros} zeros, {n_crossings} crossings");
    assert!(n_compared > 1000 && n_zeros > 100 && n_crossings > 50);
}

/// Declarations, equations, and the factors that may vanish, block after block.
fn mechanism(name: &str, body: &str, expected: &[&str]) {
    let (n_zeros, n_crossings) = examine(name, body, expected);
    assert!(
        n_zeros > 0 && n_crossings > 0,
        "{name}: {n_zeros}, {n_crossings}"
    );
}

/// The same; how many zeros of factors and of the determinant were found.
fn examine(name: &str, body: &str, expected: &[&str]) -> (usize, usize) {
    let mut n_found = (0, 0);
    let text = format!("model M {body} end M;");
    let mut random = Random(77);
    for keep_parameters in [true, false] {
        let options = LocusOptions {
            keep_parameters,
            ..LocusOptions::default()
        };
        let case = Case::new(&text, &options).expect("a structure");
        assert!(case.loci.loci().iter().all(Result::is_ok), "{name}");
        let n_points = formula_is_the_determinant(&case, name, &mut random);
        assert!(n_points >= 20, "{name}");
        let n_zeros = zeros_are_singular(&case, name, &mut random);
        let n_crossings = no_zero_is_missed(&case, name, &mut random);
        n_found = (n_zeros, n_crossings);
        if keep_parameters {
            let texts: Vec<String> = (0..case.structure.blocks().len())
                .flat_map(|block| case.texts(block))
                .collect();
            assert_eq!(texts, expected, "{name}");
        }
    }
    n_found
}

#[test]
fn four_bar() {
    mechanism(
        "four-bar linkage",
        "parameter Real a = 1, b = 2.5, c = 2, d = 3;  Real p, q;
         equation  a*cos(time) + b*cos(p) = d + c*cos(q);  a*sin(time) + b*sin(p) = c*sin(q);",
        &["sin(p - q)"],
    );
}

#[test]
fn slider_crank() {
    mechanism(
        "slider-crank driven by the slider",
        "parameter Real r = 1, l = 2.5;  Real p, q;
         equation  r*cos(p) + l*cos(q) = 2 + 0.5*sin(time);  r*sin(p) - l*sin(q) = 0.1;",
        &["sin(p + q)"],
    );
}

#[test]
fn arm_inverse_dynamics() {
    mechanism(
        "two-link arm that follows a path, torques unknown",
        "parameter Real m1 = 1, m2 = 0.8, l1 = 1, l2 = 0.7;  Real p, q, u1, u2, v, w;
         equation
           der(p) = v;  der(q) = w;
           (m1*l1^2 + m2*(l1^2 + 2*l1*l2*cos(q) + l2^2))*der(v) + m2*(l2^2 + l1*l2*cos(q))*der(w)
             - m2*l1*l2*sin(q)*(2*v*w + w^2) = u1;
           m2*(l2^2 + l1*l2*cos(q))*der(v) + m2*l2^2*der(w) + m2*l1*l2*sin(q)*v^2 = u2;
           l1*cos(p) + l2*cos(p + q) = cos(time);  l1*sin(p) + l2*sin(p + q) = 0.3*time;",
        &["sin(q)"],
    );
}

#[test]
fn double_pendulum_on_a_rail() {
    // The matrix of the constraint is definite: the factor touches zero, and only where both rods are upright.
    let found = examine(
        "double pendulum whose end slides on a rail",
        "parameter Real m = 1, l = 1, g = 9.81;  Real p(start = 0.3), q(start = -0.4), z;
         equation
           lagrange(m*l^2*(der(p)^2 + 0.5*der(q)^2 + cos(p - q)*der(p)*der(q)),
                    -m*g*l*(2*cos(p) + cos(q)), {p, q}, {l*cos(p) + l*cos(q) - 1.8}, {z});",
        &["cos(2*q) + cos(2*p - 2*q) - 2"],
    );
    assert!(found.0 > 0 && found.1 == 0);
}

#[test]
fn scissor() {
    mechanism(
        "scissor lift driven at the platform",
        "parameter Real l = 1.5;  Real a, x;
         equation  x = l*cos(a);  2*l*sin(a) = 1 + 0.5*sin(time);",
        &["cos(a)"],
    );
}

#[test]
fn scotch_yoke() {
    mechanism(
        "Scotch yoke driven at the yoke, with a motor",
        "parameter Real r = 0.4, j = 2;  Real phi, w, tau;
         equation  der(phi) = w;  j*der(w) = tau;  r*cos(phi) = 0.3*sin(time);",
        &["sin(phi)"],
    );
}

#[test]
fn spherical_wrist() {
    mechanism(
        "wrist with a prescribed angular velocity",
        "Real a, b, c;
         equation
           der(c)*sin(b)*cos(a) - der(b)*sin(a) = sin(time);
           der(c)*sin(b)*sin(a) + der(b)*cos(a) = 0.2;
           der(a) + der(c)*cos(b) = cos(2*time);",
        &["sin(b)"],
    );
}

#[test]
fn cables() {
    mechanism(
        "a load on two winches",
        "parameter Real a = 1.2;  Real x, y;
         equation  sqrt((x - a)^2 + y^2) = 2 + 0.1*sin(time);  sqrt((x + a)^2 + y^2) = 2.1;",
        &["y"],
    );
}

#[test]
fn spatial_arm() {
    mechanism(
        "arm of three joints, position of the hand prescribed",
        "parameter Real l2 = 1, l3 = 0.8;  Real a, b, c;
         equation
           (l2*cos(b) + l3*cos(b + c))*cos(a) = 1 + 0.1*time;
           (l2*cos(b) + l3*cos(b + c))*sin(a) = 0.4;
           l2*sin(b) + l3*sin(b + c) = 0.2*sin(time);",
        &["sin(c)", "l2*cos(b) + l3*cos(b + c)"],
    );
}

#[test]
fn platform_on_three_legs() {
    mechanism(
        "planar platform, lengths of the legs prescribed",
        "Real x, y, p;
         equation
           x^2 + y^2 = 2 + 0.1*sin(time);
           (x + cos(p) - 3)^2 + (y + sin(p))^2 = 3;
           (x - sin(p) - 1)^2 + (y + cos(p) - 2)^2 = 2;",
        &[
            "2*x^2*sin(p) + x*y*cos(p) - x*y*sin(p) + 2*x*cos(p)*sin(p) - 2*x*sin(p)^2 - 6*x*sin(p) + y^2*cos(p) \
             + 3*y^2*sin(p) + 2*y*cos(p)*sin(p) - 3*y*cos(p) + 2*y*sin(p)^2 - 3*y*sin(p) + y",
        ],
    );
}

#[test]
fn tracker() {
    mechanism(
        "a mirror that points at a moving target, and a half angle",
        "parameter Real d = 2;  Real a, b;
         equation  d*tan(a) = 1 + 0.2*sin(time);  cos(b/2)*a + sin(b) = 0.3;",
        &["a*sin(b/2) - 2*cos(b)"],
    );
}

#[test]
fn reactor() {
    mechanism(
        "a temperature that a rate prescribes",
        "parameter Real k = 2, e = 3;  Real c, T(start = 1), q;
         equation  der(c) = -k*exp(-e/T)*c;  der(T) = q - T;  c^2 + c*T = 1 + 0.1*sin(time);",
        &["c"],
    );
}

#[test]
fn quotients_by_sines() {
    mechanism(
        "a force along a rod that turns",
        "Real f, a;  equation  f/sin(a) = 3 + sin(time);  f*tan(a) = 1;",
        &["f"],
    );
    let text = "model M  Real f, a;  equation  f/sin(a) = 3 + sin(time);  f*tan(a) = 1;  end M;";
    let case = Case::new(text, &LocusOptions::default()).expect("a structure");
    let locus = case.loci.loci()[0].as_ref().expect("a formula");
    let write = |factors: &[DeterminantFactor]| -> Vec<(String, u32, FactorKind)> {
        factors
            .iter()
            .map(|f| (case.text(0, f), f.multiplicity, f.nature))
            .collect()
    };
    let expected = |text: &str, multiplicity, nature| (text.to_string(), multiplicity, nature);
    assert_eq!(
        write(&locus.factors),
        [
            expected("f", 1, FactorKind::Variable),
            expected("cos(a)^2 + 1", 1, FactorKind::NeverZero)
        ]
    );
    assert_eq!(
        write(&locus.denominators),
        [
            expected("sin(a)", 1, FactorKind::Variable),
            expected("cos(a)", 2, FactorKind::Variable)
        ]
    );
}

/// a + b cos q + c sin q has a zero where b² + c² >= a², and a x² + b x + c where b² >= 4 a c, whatever is a parameter: (20a).
#[test]
fn factors_without_real_zeros_are_no_loci() {
    let mut random = Random(20_261_118);
    let (mut n_zeros, mut n_none) = (0, 0);
    for round in 0..200 {
        let [a, b, c] = [0; 3].map(|_| (random.next() * 100.0).round() / 10.0);
        if a == 0.0 || b == 0.0 || c == 0.0 {
            continue;
        }
        let is_angle = round % 2 == 0;
        let form = |a: &str, b: &str, c: &str| match is_angle {
            true => format!("{a} + {b}*cos(q) + {c}*sin(q)"),
            false => format!("{a}*q^2 + {b}*q + {c}"),
        };
        let has_zero = match is_angle {
            true => b * b + c * c >= a * a,
            false => b * b >= 4.0 * a * c,
        };
        let (declared, form) = match round % 4 {
            0 | 1 => (
                format!("parameter Real a = {a}, b = {b}, c = {c};"),
                form("a", "b", "c"),
            ),
            _ => {
                let [a, b, c] = [a, b, c].map(|number| format!("({number})"));
                (String::new(), form(&a, &b, &c))
            }
        };
        let text = format!(
            "model M  {declared}  Real q, z;  equation  der(q) = 1;  ({form})*z = 1;  end M;"
        );
        let case = Case::new(&text, &LocusOptions::default()).expect("a structure");
        let mut factors =
            (case.loci.loci().iter()).flat_map(|l| &l.as_ref().expect("a formula").factors);
        let told = factors.any(|factor| factor.nature == FactorKind::Variable);
        assert_eq!(told, has_zero, "{text}");
        n_zeros += usize::from(has_zero);
        n_none += usize::from(!has_zero);
    }
    assert!(n_zeros > 30 && n_none > 30, "{n_zeros}, {n_none}");
}

/// The block of a matrix of expressions in one symbol.
fn find(
    build: impl FnOnce(&mut Graph) -> Vec<Option<ExprId>>,
) -> (Graph, Result<Locus, Incomplete>) {
    let mut graph = Graph::new();
    let entries = build(&mut graph);
    let locus = Locus::find(
        &mut graph,
        &entries,
        &|_| Role::Variable,
        &LocusOptions::default(),
    );
    (graph, locus)
}

#[test]
fn identities_are_seen() {
    // sin^2 + cos^2 - 1, hidden in a determinant.
    let (_, locus) = find(|graph| {
        let x = graph.symbol(SymbolId(0));
        let (s, c) = (graph.unary(UnaryOp::Sin, x), graph.unary(UnaryOp::Cos, x));
        let one = graph.constant(1.0);
        let minus = graph.sub(one, s);
        let plus = graph.add(one, s);
        vec![Some(minus), Some(c), Some(c), Some(plus)]
    });
    assert!(locus.expect("a formula").is_singular());
    // exp(x + y) = exp(x) exp(y), and the roots of squares.
    let (_, locus) = find(|graph| {
        let (x, y) = (graph.symbol(SymbolId(0)), graph.symbol(SymbolId(1)));
        let sum = graph.add(x, y);
        let minus = graph.neg(y);
        let [a, b, c] = [x, minus, sum].map(|e| graph.unary(UnaryOp::Exp, e));
        let one = graph.constant(1.0);
        let quotient = graph.mul(c, b);
        vec![Some(one), Some(a), Some(one), Some(quotient)]
    });
    assert!(locus.expect("a formula").is_singular());
    let (_, locus) = find(|graph| {
        let x = graph.symbol(SymbolId(0));
        let root = graph.unary(UnaryOp::Sqrt, x);
        let one = graph.constant(1.0);
        vec![Some(root), Some(x), Some(one), Some(root)]
    });
    assert!(locus.expect("a formula").is_singular());
    // 1 - cos^2 is the square of the sine.
    let (graph, locus) = find(|graph| {
        let x = graph.symbol(SymbolId(0));
        let c = graph.unary(UnaryOp::Cos, x);
        let one = graph.constant(1.0);
        vec![Some(one), Some(c), Some(c), Some(one)]
    });
    let locus = locus.expect("a formula");
    let [factor] = locus.factors.as_slice() else {
        panic!("one factor");
    };
    let text = locus.text(&graph, factor, 100, |_, text| text.push('x'));
    assert_eq!((text.as_deref(), factor.multiplicity), (Ok("sin(x)"), 2));
    assert_eq!(locus.constant_f64(), 1.0);
}

#[test]
fn limits_are_said() {
    let build = |n: usize| {
        move |graph: &mut Graph| {
            let symbols: Vec<_> = (0..n * n)
                .map(|k| graph.symbol(SymbolId(k as u32)))
                .collect();
            symbols.into_iter().map(Some).collect()
        }
    };
    assert!(matches!(find(build(9)).1, Err(Incomplete::Terms { .. })));
    assert!(matches!(
        find(build(65)).1,
        Err(Incomplete::Rows { rows: 65, .. })
    ));
    let undefined = find(|graph| {
        let (one, zero) = (graph.constant(1.0), graph.constant(0.0));
        vec![Some(graph.div(one, zero))]
    });
    assert_eq!(undefined.1, Err(Incomplete::Undefined));
    // Powers of powers of powers.
    let high = find(|graph| {
        let mut power = graph.symbol(SymbolId(0));
        let exponent = graph.constant(50.0);
        for _ in 0..6 {
            power = graph.pow(power, exponent);
        }
        vec![Some(power)]
    });
    assert_eq!(high.1, Err(Incomplete::Magnitude));
    let empty = find(|_| Vec::new()).1.expect("a formula");
    assert_eq!(empty.constant_f64(), 1.0);
    let zero = find(|_| vec![None]).1.expect("a formula");
    assert!(zero.is_singular());
}

/// Angles that hold functions of angles: what they are multiples of is known only once the inner ones are expanded.
#[test]
fn angles_inside_angles() {
    let functions = [UnaryOp::Sin, UnaryOp::Cos];
    let mut n_compared = 0;
    for (multiple, over) in (1..=3).flat_map(|k| (1..=6).map(move |m| (k, m))) {
        for (outer, inner) in functions.map(|f| functions.map(|g| (f, g))).concat() {
            let mut entry = None;
            let (graph, locus) = find(|graph| {
                let x = graph.symbol(SymbolId(0));
                let k = graph.constant(multiple.into());
                let angle = graph.mul(k, x);
                let function = graph.unary(inner, angle);
                let m = graph.constant(over.into());
                let part = graph.div(function, m);
                let whole = graph.add(part, x);
                let (alone, shifted) = (graph.unary(outer, part), graph.unary(outer, whole));
                let three = graph.constant(3.0);
                let sum = graph.add(alone, three);
                entry = Some(graph.mul(sum, shifted));
                vec![entry]
            });
            let locus = locus.expect("a formula");
            for x in [0.3, -1.1, 2.4] {
                let value = |expr| graph.evaluate(&[expr], |_| x)[0];
                let power = |f: &DeterminantFactor| value(f.expr).powi(f.multiplicity as i32);
                let formula =
                    locus.constant_f64() * locus.factors.iter().map(power).product::<f64>();
                let direct = value(entry.expect("an entry"));
                let text = format!("{outer:?}({inner:?}({multiple}*x)/{over}) at {x}");
                assert!(
                    (direct - formula).abs() < 1e-10,
                    "{text}: {direct}, {formula}"
                );
                n_compared += 1;
            }
        }
    }
    assert_eq!(n_compared, 216);
}

/// A random expression of three symbols, of the kinds that mechanisms have.
fn random_expression(graph: &mut Graph, random: &mut Random, depth: u32) -> ExprId {
    let mut pick = |n: u32| ((random.next() + 1.0) * 0.5 * f64::from(n)) as u32;
    let kind = if depth == 0 { pick(4) } else { pick(11) };
    match kind {
        0 => graph.constant([1.0, 2.0, -3.0, 0.5][pick(4) as usize % 4]),
        1 => graph.symbol(SymbolId(pick(3).min(2))),
        2 | 3 => {
            let op = [UnaryOp::Sin, UnaryOp::Cos][pick(2) as usize % 2];
            let (a, b) = (pick(3).min(2), pick(3).min(2));
            let (a, b) = (graph.symbol(SymbolId(a)), graph.symbol(SymbolId(b)));
            let angle = match pick(5) {
                0 => graph.add(a, b),
                1 => graph.sub(a, b),
                2 => {
                    let half = graph.constant(0.5);
                    graph.mul(half, a)
                }
                _ => a,
            };
            graph.unary(op, angle)
        }
        _ => {
            let a = random_expression(graph, random, depth - 1);
            let b = random_expression(graph, random, depth - 1);
            match kind {
                4 | 5 => graph.add(a, b),
                6 => graph.sub(a, b),
                7 => graph.div(a, b),
                8 => {
                    let op = [UnaryOp::Tan, UnaryOp::Exp, UnaryOp::Sqrt][(depth % 3) as usize];
                    let inner = graph.unary(op, a);
                    graph.mul(inner, b)
                }
                _ => graph.mul(a, b),
            }
        }
    }
}

#[test]
fn random_blocks() {
    let mut random = Random(2026);
    let (mut n_formulas, mut n_compared, mut n_singular) = (0, 0, 0);
    for case in 0..300 {
        let n = 1 + case % 3;
        let mut graph = Graph::new();
        let entries: Vec<ExprId> = (0..n * n)
            .map(|_| random_expression(&mut graph, &mut random, 2))
            .collect();
        let given: Vec<Option<ExprId>> = entries.iter().copied().map(Some).collect();
        let options = LocusOptions {
            terms: 500,
            ..LocusOptions::default()
        };
        let Ok(locus) = Locus::find(&mut graph, &given, &|_| Role::Variable, &options) else {
            continue;
        };
        n_formulas += 1;
        n_singular += usize::from(locus.is_singular());
        for _ in 0..5 {
            let point = [random.next(), random.next(), random.next()].map(|x| 1.1 + 0.9 * x);
            let value = |id: SymbolId| point[id.0 as usize];
            let values = graph.evaluate(&entries, value);
            let matrix = Mat::from_fn(n, n, |i, j| values[i * n + j]);
            let (direct, size) = determinant(&matrix);
            if !direct.is_finite() || size > 1e8 {
                continue;
            }
            let power = |f: &DeterminantFactor| {
                graph.evaluate(&[f.expr], value)[0].powi(f.multiplicity as i32)
            };
            let top: f64 = locus.factors.iter().map(power).product();
            let bottom: f64 = locus.denominators.iter().map(power).product();
            let formula = locus.constant_f64() * top / bottom;
            if formula.is_finite() {
                let error = (direct - formula).abs();
                assert!(
                    error <= 1e-9 * direct.abs() + 1e-12 * size,
                    "case {case}: {direct} and {formula}"
                );
                n_compared += 1;
            }
        }
    }
    println!("{n_formulas} formulas, {n_singular} singular, {n_compared} points");
    assert!(n_formulas > 290 && n_compared > 1200);
}
