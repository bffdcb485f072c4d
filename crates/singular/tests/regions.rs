//! Real configurations over two parameters of Andrews' mechanism: boundaries, regions and counts.

mod common;

use common::{library, model};
use daelight_algebra::{Polynomial, RBig, integer};
use daelight_singular::{Answer, Kept, Limits, Question, Regions, Verdict, answer};
use std::cmp::Ordering;
use std::collections::BTreeSet;

fn over_first_rods(set: &[&str]) -> Answer {
    let model = model(&library("andrews-constraints"), set);
    let names = ["a[1]", "a[2]"].map(str::to_string);
    let question = Question {
        parameters: Kept::Named(names.to_vec()),
        ..Question::default()
    };
    answer(&model, &question, &Limits::default()).expect("the constraints are algebraic")
}

fn regions(answer: &Answer) -> &Regions {
    answer.regions.as_ref().expect("two parameters are symbols")
}

fn counts(regions: &Regions) -> Vec<usize> {
    regions.total.iter().map(|region| region.count).collect()
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
    assert_eq!(found.verdict, Verdict::Proved, "{:?}", found.reasons);
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

/// With the pivot of section 5.3 two of the pieces coincide with those of rods 3, 6, 7: six at most.
#[test]
fn common_points_of_pieces_are_counted_once() {
    let found = over_first_rods(&["b[1]=-0.06934+0.03*sqrt(2)"]);
    assert_ne!(found.verdict, Verdict::Unknown, "{:?}", found.reasons);
    let regions = regions(&found);
    assert_eq!((regions.pieces.len(), regions.common.len()), (4, 4));
    assert_eq!(counts(regions), [0, 2, 4, 6]);
    let decimal = |value| integer::decimal(value).expect("a number");
    let values = [0.02, 0.055].map(decimal);
    assert_eq!(regions.count_at(&values), Some(2));
}

/// Signatures against the solver for given values.
#[test]
fn counts_agree_with_the_solver() {
    let found = over_first_rods(&[]);
    let regions = regions(&found);
    let text = library("andrews-constraints");
    let mut seen = BTreeSet::new();
    // A linear congruential generator; values in steps of 1e-4 up to 0.1.
    let mut state = 12345_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        1 + (state >> 33) % 1000
    };
    for _ in 0..50 {
        let [k, l] = [next(), next()];
        let values = [k, l].map(|n| RBig::from_parts(n.into(), 10_000_u32.into()));
        let count = regions.count_at(&values).expect("general values");
        let model = model(
            &text,
            &[&format!("a[1]={k}/10000"), &format!("a[2]={l}/10000")],
        );
        let solved = answer(&model, &Question::default(), &Limits::default()).expect("algebraic");
        assert_eq!(solved.verdict, Verdict::Proved);
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
        answer(&model, &question, &Limits::default()).expect("algebraic")
    };
    let told = |regions: &Regions| -> Vec<[usize; 3]> {
        let found = regions.on_curves.iter();
        found.map(|c| [c.dimension, c.count, c.n_cells]).collect()
    };
    let found = ask(&["l[1]"]);
    let regions = regions(&found);
    assert!(regions.pieces.is_empty() && !regions.only.is_empty());
    assert_eq!(counts(regions), [0]);
    // l_1 = |± l_2 ± l_3 ± l_4| has four positive values.
    assert_eq!(told(regions), [[0, 1, 4]]);

    let found = ask(&["l[1]", "l[2]"]);
    let regions = self::regions(&found);
    assert_eq!(found.verdict, Verdict::Proved, "{:?}", found.reasons);
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
