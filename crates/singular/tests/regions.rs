//! Real configurations over two parameters of Andrews' mechanism: boundaries, regions and counts.

use crate::common::{library, model};
use daelight_algebra::{Budget, Polynomial, RBig, integer};
use daelight_singular::{
    Between, Kept, Question, Regions, SearchLimits, SingularAnswer, SingularVerdict, answer,
};
use std::cmp::Ordering;
use std::collections::BTreeSet;

fn over_first_rods(set: &[&str]) -> SingularAnswer {
    let model = model(&library("andrews-constraints"), set);
    let names = ["a[1]", "a[2]"].map(str::to_string);
    let question = Question {
        parameters: Kept::Named(names.to_vec()),
        ..Question::default()
    };
    answer(&model, &question, &SearchLimits::default()).expect("the constraints are algebraic")
}

fn regions(answer: &SingularAnswer) -> &Regions {
    answer.regions.as_ref().expect("two parameters are symbols")
}

fn counts(regions: &Regions) -> Vec<usize> {
    regions.total.iter().map(|region| region.count).collect()
}

/// A linear congruential generator; lengths up to 1000, in steps of 1e-4.
fn generator() -> impl FnMut() -> u64 {
    let mut state = 12345_u64;
    move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        1 + (state >> 33) % 1000
    }
}

/// The value of a polynomial relative to the sum of the magnitudes of its terms.
fn relative_value(p: &Polynomial, value: impl Fn(usize) -> f64) -> f64 {
    let sizes = Polynomial::from_terms(
        (p.terms().iter()).map(|(monomial, number)| (monomial.clone(), integer::abs(number))),
    );
    (p.evaluate_f64(&value) / sizes.evaluate_f64(|v| value(v).abs())).abs()
}

/// Theorem 2 of Arponen, Piipponen and Tuomela (2006) for two of the ways to align rods 4 to 7: its conditions E_1 and E_2
/// are conjugate, and their product has the two boundary polynomials as factors.
#[test]
fn the_regions_of_the_first_two_rods() {
    let found = over_first_rods(&[]);
    assert_eq!(
        found.verdict,
        SingularVerdict::Proved,
        "{:?}",
        found.reasons
    );
    let regions = regions(&found);
    assert_eq!(regions.pieces.len(), 2);
    // Reference computation: E_1 = E_2 = 0 for one of the two.
    let corner = [0.05985943080021881, 0.010353196560888928];
    let value = |v: usize| corner[usize::from(v != regions.parameters[0])];
    let at_corner = regions.pieces.iter().filter(|piece| {
        let mut boundary = piece.boundary.iter();
        boundary.all(|p| relative_value(p, value) < 1e-12)
    });
    assert_eq!(at_corner.count(), 1);
    for piece in &regions.pieces {
        assert_eq!((piece.form.degree, piece.boundary.len()), (4, 2));
        // Numbers of Theorem 2: none, two or four; both senses of the two signs give all of them.
        for region in &piece.regions {
            let expected: &[usize] = match (region.signs[0], region.signs[1]) {
                (Ordering::Less, Ordering::Less) => &[0],
                (Ordering::Greater, Ordering::Greater) => &[0, 4],
                _ => &[2],
            };
            assert!(expected.contains(&region.count), "{region:?}");
        }
    }
    // All cells of positive lengths: at most 8, not 10.
    assert_eq!(counts(regions), [0, 2, 4, 6, 8]);
    // Values without a general answer: a length that is not positive, and too few values.
    assert_eq!(regions.count_at(&[RBig::ZERO, RBig::ONE]), None);
    assert_eq!(regions.count_at(&[RBig::ONE]), None);
}

/// The distances from the origin at which two rods from fixed pivots meet.
fn distances([b, w]: [[f64; 2]; 2], [r, q]: [f64; 2]) -> Vec<f64> {
    let d = [w[0] - b[0], w[1] - b[1]];
    let square = d[0] * d[0] + d[1] * d[1];
    let along = (square + r * r - q * q) / (2.0 * square);
    let across = r * r / square - along * along;
    if across < 0.0 {
        return Vec::new();
    }
    [across.sqrt(), -across.sqrt()]
        .map(|t| (b[0] + along * d[0] - t * d[1]).hypot(b[1] + along * d[1] + t * d[0]))
        .to_vec()
}

/// Theorem 2 as inequalities: with rho the distance that rods 1 and 2 have to span, |a1 - a2| < rho < a1 + a2. The numbers agree
/// with those of elementary geometry.
#[test]
fn the_regions_as_inequalities() {
    let found = over_first_rods(&[]);
    let regions = regions(&found);
    let text = |p: &Polynomial| found.text(p);
    let budget = Budget::default();
    let pivots = [[-0.03635, 0.03273], [-0.06934, -0.00227]];
    // Rods 4 and 5, and 6 and 7, stretched or folded.
    let spans = [0.06, 0.02].map(|q| distances(pivots, [0.035, q]));
    let mut corners = Vec::new();
    for piece in &regions.pieces {
        assert_eq!(piece.senses.len(), 2, "{:?}", piece.senses);
        let is_folded = piece.senses.contains(&"sin(y[6]) = 1".to_string());
        let mut spans = spans[usize::from(is_folded)].clone();
        spans.sort_by(f64::total_cmp);
        let conditions = piece.conditions.as_ref().expect("two lines");
        let names: Vec<String> = (conditions.quantities.iter())
            .map(|quantity| text(&quantity.polynomial))
            .collect();
        assert_eq!(names, ["a[1] - a[2]", "a[1] + a[2]"]);
        let [two, four] = &conditions.list[..] else {
            panic!("{:?}", conditions.list);
        };
        assert_eq!((two.at_least, four.at_least), (2, 4));
        let told = |list: &[Vec<Between>]| -> Vec<[f64; 3]> {
            let mut told: Vec<[f64; 3]> = (list.iter())
                .map(|all| {
                    let value = |quantity: usize, level: Option<usize>| {
                        conditions.quantities[quantity].levels[level.expect("a bound")].value()
                    };
                    assert_eq!((all.len(), all[1].below), (2, None));
                    [
                        -value(0, all[0].above),
                        value(0, all[0].below),
                        value(1, all[1].above),
                    ]
                })
                .collect();
            told.sort_by(|a, b| a[0].total_cmp(&b[0]));
            told
        };
        let [near, far] = spans[..] else {
            panic!("{spans:?}");
        };
        let expected = [[near; 3], [far; 3]];
        for (told, expected) in told(&two.any_of).iter().zip(&expected) {
            for (told, expected) in told.iter().zip(expected) {
                assert!((told - expected).abs() < 1e-15, "{told} {expected}");
            }
        }
        assert_eq!(two.any_of.len(), 2);
        let both = told(&four.any_of);
        assert_eq!(both.len(), 1);
        let [left, right, sum] = both[0];
        assert!((left - near).abs() + (right - near).abs() + (sum - far).abs() < 1e-15);
        corners.push([(far + near) / 2.0, (far - near) / 2.0]);
    }
    // Reference computation: E_1 = E_2 = 0.
    let reference = [0.05985943080021881, 0.010353196560888928];
    let is_reference = |[a1, a2]: &[f64; 2]| {
        (a1 - reference[0]).abs() < 1e-15 && (a2 - reference[1]).abs() < 1e-15
    };
    assert!(corners.iter().any(is_reference), "{corners:?}");

    let all = regions.conditions.as_ref().expect("lines");
    let mut next = generator();
    let mut seen = BTreeSet::new();
    for _ in 0..1000 {
        let [k, l] = [next(), next()];
        let values = [k, l].map(|n| RBig::from_parts(n.into(), 10_000_u32.into()));
        let value = |v: usize| values[usize::from(v != regions.parameters[0])].clone();
        let [a1, a2] = [k, l].map(|n| n as f64 / 1e4);
        let is_spanned = |rho: &&f64| (a1 - a2).abs() < **rho && **rho < a1 + a2;
        let geometric = 2 * spans.iter().flatten().filter(is_spanned).count();
        let count = all.count_at(value, &budget).expect("no limit");
        assert_eq!(count, Some(geometric), "{k} {l}");
        assert_eq!(regions.count_at(&values), count, "{k} {l}");
        seen.insert(geometric);
    }
    assert_eq!(seen, BTreeSet::from([0, 2, 4, 6, 8]));
}

/// With the pivot of section 5.3 two of the pieces coincide with those of rods 3, 6, 7: six at most.
#[test]
fn common_points_of_pieces_are_counted_once() {
    let found = over_first_rods(&["b[1]=-0.06934+0.03*sqrt(2)"]);
    assert_ne!(
        found.verdict,
        SingularVerdict::Unknown,
        "{:?}",
        found.reasons
    );
    let regions = regions(&found);
    assert_eq!((regions.pieces.len(), regions.common.len()), (4, 4));
    assert_eq!(counts(regions), [0, 2, 4, 6]);
    let decimal = |value| integer::decimal(value).expect("a number");
    let values = [0.02, 0.055].map(decimal);
    assert_eq!(regions.count_at(&values), Some(2));
    // Theorem 4: rods 3, 6 and 7 lie on the line of the pivots, 0.055 apart.
    let rods_367 = regions.pieces.iter().filter(|piece| piece.case == 6);
    let line: Vec<f64> = rods_367
        .flat_map(|piece| &piece.conditions.as_ref().expect("lines").list)
        .map(|condition| {
            assert_eq!((condition.at_least, condition.any_of.len()), (2, 1));
            let all = &condition.any_of[0];
            assert_eq!((all.len(), all[1].below), (2, None));
            let piece = regions.pieces.iter().find(|piece| piece.case == 6);
            let conditions = piece.and_then(|piece| piece.conditions.as_ref());
            let sum = &conditions.expect("lines").quantities[1];
            sum.levels[all[1].above.expect("a bound")].value()
        })
        .collect();
    let pivots = [
        [-0.06934 + 0.03 * 2f64.sqrt(), 0.03273],
        [-0.06934, -0.00227],
    ];
    let node = [0, 1].map(|i| pivots[0][i] + 35.0 / 55.0 * (pivots[1][i] - pivots[0][i]));
    let [span] = line[..] else { panic!("{line:?}") };
    assert!((span - node[0].hypot(node[1])).abs() < 1e-15);
}

/// Signatures against the solver for given values.
#[test]
fn counts_agree_with_the_solver() {
    let found = over_first_rods(&[]);
    let regions = regions(&found);
    let text = library("andrews-constraints");
    let mut seen = BTreeSet::new();
    let mut next = generator();
    for _ in 0..50 {
        let [k, l] = [next(), next()];
        let values = [k, l].map(|n| RBig::from_parts(n.into(), 10_000_u32.into()));
        let count = regions.count_at(&values).expect("general values");
        let model = model(
            &text,
            &[&format!("a[1]={k}/10000"), &format!("a[2]={l}/10000")],
        );
        let solved =
            answer(&model, &Question::default(), &SearchLimits::default()).expect("algebraic");
        assert_eq!(solved.verdict, SingularVerdict::Proved);
        assert_eq!(solved.configurations.len(), count, "{k} {l}");
        seen.insert(count);
    }
    assert!(seen.len() >= 4, "{seen:?}");
}

/// The four-bar with one or two lengths as symbols has configurations at single lengths, or on lines, only.
#[test]
fn numbers_on_curves() {
    let model = model(&library("four-bar"), &[]);
    let ask = |names: &[&str]| {
        let question = Question {
            parameters: Kept::Named(names.iter().map(|s| s.to_string()).collect()),
            on_curves: true,
            ..Question::default()
        };
        answer(&model, &question, &SearchLimits::default()).expect("algebraic")
    };
    let told = |regions: &Regions| -> Vec<[usize; 3]> {
        let found = regions.on_curves.iter();
        found.map(|c| [c.dimension, c.count, c.n_cells]).collect()
    };
    let found = ask(&["l[1]"]);
    let regions = regions(&found);
    assert!(regions.pieces.is_empty() && !regions.only.is_empty());
    // Lengths at which the links close, and those at which they do not.
    assert_eq!(counts(regions), [0, 0]);
    // l_1 = |± l_2 ± l_3 ± l_4| has four positive values.
    assert_eq!(told(regions), [[0, 1, 4]]);

    let found = ask(&["l[1]", "l[2]"]);
    let regions = self::regions(&found);
    assert_eq!(
        found.verdict,
        SingularVerdict::Proved,
        "{:?}",
        found.reasons
    );
    assert_eq!(counts(regions), [0]);
    // l_1 + l_2 = 0.7 meets l_1 - l_2 = 0.1 and -0.1; all else meets where a length is not positive.
    let [arcs, points] = &regions.on_curves[..] else {
        panic!("{:?}", regions.on_curves);
    };
    assert_eq!((arcs.dimension, arcs.count), (1, 1));
    assert_eq!((points.dimension, points.count, points.n_cells), (0, 2, 2));
    assert_eq!(points.curves.len(), 2);
    let mut lengths = points.sample.clone();
    lengths.sort_by(f64::total_cmp);
    assert_eq!(lengths, [0.3, 0.4]);
}
