//! The constraints of Andrews' squeezing mechanism: the ideals of Arponen, Piipponen and Tuomela (2006), section by
//! section. Counts and factors are a reference computation with two other algebra systems.

use crate::support::andrews::{NAMES, ORIGINAL, at, circle, loops, p, variables, with_minors};
use crate::support::text_in;
use daelight_algebra::{
    Assumptions, Basis, Budget, Certificate, Components, FactorBudget, IBig, Ideal, Order,
    Polynomial, Primality, RBig, basis, components, contradiction, factor,
};
use std::time::Duration;

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60))
}

fn factor_texts(f: &Polynomial) -> Vec<String> {
    let factors = factor(f, &FactorBudget::default());
    assert!(factors.is_proved());
    let factors = factors.factors.iter();
    factors.map(|f| text_in(&f.polynomial, &NAMES)).collect()
}

/// The elements in the last block alone.
fn in_parameters(basis: &Basis) -> Vec<&Polynomial> {
    let elements = basis.elements().iter();
    elements
        .filter(|f| f.variables().iter().all(|&v| v >= 14))
        .collect()
}

fn lengths() -> Vec<usize> {
    (14..21).collect()
}

fn n_physical(found: &Components) -> usize {
    let components = found.components.iter();
    components
        .filter(|c| contradiction(&c.basis, &lengths()).is_none())
        .count()
}

fn j4567() -> (Vec<Polynomial>, Vec<Polynomial>) {
    let g = loops();
    with_minors(&[&g[4] - &g[2], &g[3] - &g[5]], &[4, 5, 6, 7])
}

fn j367() -> (Vec<Polynomial>, Vec<Polynomial>) {
    let g = loops();
    with_minors(&[&g[0] - &g[4], &g[1] - &g[5]], &[3, 6, 7])
}

#[test]
fn loop_4567_is_singular_on_eight_planes() {
    let (ideal, minors) = j4567();
    let order = Order::degrevlex(variables("c4 s4 c5 s5 c6 s6 c7 s7"))
        .product(Order::degrevlex(variables("a4 a5 a6 a7")));
    let found = basis(&[ideal.clone(), minors.clone()].concat(), &order, &budget()).unwrap();
    assert_eq!(found.certificate(), Certificate::Exact);
    assert_eq!(found.elements().len(), 191);
    assert!(found.contains(&p("c6*a6*a7")) && found.contains(&p("c4*a4*a5")));
    let [locus] = in_parameters(&found)[..] else {
        panic!("one condition on the lengths")
    };
    let mut expected = [
        "a4 - a5 - a6 - a7",
        "a4 - a5 - a6 + a7",
        "a4 - a5 + a6 - a7",
        "a4 - a5 + a6 + a7",
        "a4 + a5 - a6 - a7",
        "a4 + a5 - a6 + a7",
        "a4 + a5 + a6 - a7",
        "a4 + a5 + a6 + a7",
    ];
    expected.sort();
    let mut texts = factor_texts(locus);
    texts.sort();
    assert_eq!(texts, expected);
}

#[test]
fn components_of_loop_4567() {
    let (ideal, minors) = j4567();
    let mut t = [ideal.clone(), minors.clone()].concat();
    t.extend([p("c4"), p("c6")]);
    let found = components(&Ideal::new(t), &Assumptions::default(), &budget());
    assert_eq!(found.certificate, Certificate::Exact);
    assert!(found.is_complete());
    assert_eq!(found.components.len(), 16);
    assert_eq!(n_physical(&found), 7);
    // T5 of the document.
    let t5 = [
        "c7^2 + s7^2 - 1",
        "a4 - a5 - a6 + a7",
        "s6 - 1",
        "s5 + c7",
        "c5 - s7",
        "s4 + 1",
        "c4",
        "c6",
    ]
    .map(p);
    let t5 = Ideal::new(t5.to_vec()).basis(&budget()).unwrap();
    let is_t5 = |c: &Basis| c.contains_all(t5.elements()) && t5.contains_all(c.elements());
    assert_eq!(
        found.components.iter().filter(|c| is_t5(&c.basis)).count(),
        1
    );
    // The same from the minors alone, with lengths that are positive.
    let physical = Assumptions {
        positive: lengths(),
        ..Assumptions::default()
    };
    let found = components(&Ideal::new([ideal, minors].concat()), &physical, &budget());
    assert_eq!(found.certificate, Certificate::Exact);
    assert!(found.is_complete());
    assert_eq!(found.components.len(), 7);
}

#[test]
fn loop_367_is_singular_on_four_quadrics() {
    let (ideal, minors) = j367();
    let order = Order::degrevlex(variables("c3 s3 c6 s6 c7 s7"))
        .product(Order::degrevlex(variables("a3 a6 a7 b1 b2 w1 w2")));
    let all = [ideal, minors].concat();
    let found = basis(&all, &order, &budget()).unwrap();
    assert_eq!(found.certificate(), Certificate::Exact);
    assert_eq!(found.elements().len(), 97);
    let [locus] = in_parameters(&found)[..] else {
        panic!("one condition on the parameters")
    };
    let mut expected: Vec<Polynomial> = [
        "a3 - a6 + a7",
        "a3 + a6 + a7",
        "a3 + a6 - a7",
        "a3 - a6 - a7",
    ]
    .iter()
    .map(|sum| p(&format!("({sum})^2 - (b1 - w1)^2 - (b2 - w2)^2")))
    .collect();
    expected.sort();
    let factors = factor(locus, &FactorBudget::default());
    let mut factors: Vec<Polynomial> = factors.factors.into_iter().map(|f| f.polynomial).collect();
    factors.sort();
    assert_eq!(factors, expected);
    let u = Ideal::new(all).with(&p("c6"));
    let found = components(&u, &Assumptions::default(), &budget());
    assert_eq!(found.certificate, Certificate::Exact);
    assert!(found.is_complete());
    assert_eq!(found.components.len(), 8);
    assert_eq!(n_physical(&found), 4);
}

/// The loop 4567 with equations put in for lengths.
fn loop_4567_with(lengths: &[(&str, &str)]) -> Vec<Polynomial> {
    let (ideal, _) = j4567();
    let put_in = |f: &Polynomial| {
        lengths.iter().fold(f.clone(), |f, (name, value)| {
            f.substitute(variables(name)[0], &p(value))
        })
    };
    ideal.iter().map(put_in).collect()
}

#[test]
fn lemma_4_1() {
    let ideal = Ideal::new(loop_4567_with(&[("a6", "a4"), ("a7", "a5")]));
    let general = ideal
        .over_parameters(&variables("a4 a5"), &variables("c5 s5 c7 s7"), &budget())
        .unwrap();
    let first_block = variables("c5 s5 c7 s7");
    let kept = general
        .into_iter()
        .filter(|f| f.variables().iter().all(|v| !first_block.contains(v)));
    let angles = Ideal::new(kept.collect());
    let expected = Ideal::new(
        ["s4 + s6", "c6^2 + s6^2 - 1", "c4^2 + s4^2 - 1"]
            .map(p)
            .to_vec(),
    );
    assert!(
        angles.equals(&expected, &budget()).unwrap(),
        "{:?}",
        angles
            .generators()
            .iter()
            .map(|f| text_in(f, &NAMES))
            .collect::<Vec<_>>()
    );
    let found = components(&angles, &Assumptions::default(), &budget());
    assert!(found.is_complete());
    let texts: Vec<Vec<String>> = found
        .components
        .iter()
        .map(|c| c.generators().iter().map(|f| text_in(f, &NAMES)).collect())
        .collect();
    assert_eq!(
        texts,
        [
            ["c4 - c6", "s4 + s6", "c6^2 + s6^2 - 1"],
            ["c4 + c6", "s4 + s6", "c6^2 + s6^2 - 1"],
        ]
    );
}

#[test]
fn four_equal_lengths_have_three_components() {
    let mut ideal = loop_4567_with(&[("a5", "a4"), ("a6", "a4"), ("a7", "a4")]);
    ideal.push(p("s6 + s4"));
    let nonzero = Assumptions {
        positive: variables("a4"),
        ..Assumptions::default()
    };
    let found = components(&Ideal::new(ideal), &nonzero, &budget());
    assert_eq!(found.certificate, Certificate::Exact);
    assert!(found.is_complete());
    assert_eq!(found.components.len(), 3);
    for expected in [
        "s4^2 + c6^2 - 1; c4 - c6; c7^2 + s7^2 - 1; s5 + c7*s4 - s7*c6; c5 - c7*c6 - s7*s4; s6 + s4",
        "c6; s4 + 1; c4; c7^2 + s7^2 - 1; c5^2 + s5^2 - 1; s6 + s4",
        "s4^2 + c6^2 - 1; c4 + c6; c7^2 + s7^2 - 1; s5 + c7; c5 - s7; s6 + s4",
    ] {
        let expected = Ideal::new(expected.split(';').map(p).collect())
            .basis(&budget())
            .unwrap();
        let is_it =
            |c: &Basis| c.contains_all(expected.elements()) && expected.contains_all(c.elements());
        assert_eq!(
            found.components.iter().filter(|c| is_it(&c.basis)).count(),
            1
        );
        assert!(
            found
                .components
                .iter()
                .all(|c| c.primality == Primality::Proved)
        );
    }
}

#[test]
fn the_reduced_system_of_theorem_5_has_no_singular_point() {
    let [m1, m2, m3, m4, ..] = loops();
    let equations: Vec<Polynomial> = [m1, m2, m3, m4].iter().map(|f| at(f, &ORIGINAL)).collect();
    let (ideal, minors) = with_minors(&equations, &[1, 2, 3, 4, 5]);
    let found = Ideal::new([ideal, minors].concat())
        .basis(&budget())
        .unwrap();
    assert_eq!(found.certificate(), Certificate::Exact);
    assert!(found.is_unit());
}

#[test]
fn the_rational_configuration_is_singular() {
    let lengths = [
        ("a1", 1, 10),
        ("a2", 1, 2),
        ("a3", 1, 2),
        ("a4", 3, 20),
        ("a5", 3, 20),
        ("a6", 3, 20),
        ("a7", 3, 20),
        ("b1", -1, 10),
        ("b2", 1, 5),
        ("w1", -2, 5),
        ("w2", -1, 5),
    ];
    let angles = [
        ("c1", 0, 1),
        ("s1", 1, 1),
        ("c2", 3, 5),
        ("s2", -4, 5),
        ("c3", 4, 5),
        ("s3", -3, 5),
        ("c4", 0, 1),
        ("s4", -1, 1),
        ("c5", 3, 5),
        ("s5", 4, 5),
        ("c6", 0, 1),
        ("s6", 1, 1),
        ("c7", 4, 5),
        ("s7", 3, 5),
    ];
    let value = |v: usize| {
        let mut all = lengths.iter().chain(&angles);
        let (_, n, d) = all.find(|(name, ..)| variables(name)[0] == v).unwrap();
        RBig::from(IBig::from(*n)) / RBig::from(IBig::from(*d))
    };
    let mut equations = loops().to_vec();
    equations.extend((1..8).map(circle));
    assert!(equations.iter().all(|f| f.evaluate(value).is_zero()));
    let mut jacobian: Vec<Vec<RBig>> = equations
        .iter()
        .map(|f| (0..14).map(|v| f.derivative(v).evaluate(value)).collect())
        .collect();
    assert_eq!(rank(&mut jacobian), 12);
}

fn rank(rows: &mut [Vec<RBig>]) -> usize {
    let mut rank = 0;
    for column in 0..rows[0].len() {
        let Some(pivot) = (rank..rows.len()).find(|&r| !rows[r][column].is_zero()) else {
            continue;
        };
        rows.swap(rank, pivot);
        let (above, below) = rows.split_at_mut(rank + 1);
        let pivot = &above[rank];
        for row in below {
            let factor = &row[column] / &pivot[column];
            for (slot, value) in row.iter_mut().zip(pivot) {
                *slot -= &factor * value;
            }
        }
        rank += 1;
    }
    rank
}
