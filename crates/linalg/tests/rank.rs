//! Rank rules: where they cut, when they abstain, and that they never guess from broken input.

use crate::common::Random;
use daelight_linalg::{
    Dd, DdMat, DdSvd, Doubt, GapRule, Magnitudes, Mat, RankDecision, RankRule, Svd, ThresholdRule,
    Verdict,
};

fn gap(values: &[f64], reference: f64) -> RankDecision {
    GapRule::new(values.len(), values.len(), reference)
        .decide(values.to_vec(), Magnitudes::Singular)
}

fn threshold(values: &[f64], relative_error: f64) -> RankDecision {
    ThresholdRule::with_error(1.0, relative_error).decide(values.to_vec(), Magnitudes::Singular)
}

#[test]
fn the_largest_gap_decides() {
    for (values, rank) in [
        (&[1.0, 0.5, 0.1][..], 3),
        (&[1.0, 0.5, 1e-16], 2),
        (&[1e-15, 1e-16], 0),
        (&[0.0, 0.0], 0),
        (&[1.0, 1e-3, 1e-6], 3),
        (&[1.0, 1e-2, 1e-12, 1e-13], 2),
    ] {
        let decision = gap(values, 1.0);
        assert_eq!(decision.decided(), Some(rank), "{decision}");
        assert_eq!(decision.verdict, Verdict::Observed);
        assert!(decision.gap >= 1e3);
        // The threshold lies in the gap, so counting with it gives the same rank.
        assert_eq!(
            decision
                .values
                .iter()
                .filter(|v| **v > decision.threshold)
                .count(),
            rank
        );
    }
}

#[test]
fn a_poor_gap_is_unknown() {
    let values: Vec<f64> = (0..8).map(|k| 10f64.powi(-2 * k)).collect();
    let decision = gap(&values, 1.0);
    assert_eq!(decision.decided(), None);
    assert_eq!(decision.doubt, Some(Doubt::PoorGap { least: 1e3 }));
}

#[test]
fn the_reference_is_not_the_largest_value() {
    // A product that should vanish: pure noise against its factors, full rank against itself.
    let noise = [3e-16, 2e-16];
    assert_eq!(gap(&noise, 1.0).decided(), Some(0));
    assert_eq!(gap(&noise, 3e-16).decided(), Some(2));
    // Values above the reference do no harm.
    assert_eq!(gap(&[50.0, 20.0, 1e-15], 1.0).decided(), Some(2));
}

#[test]
fn measured_noise_raises_the_floor() {
    let rule = GapRule::new(3, 3, 2.0).after_schur(2e-8);
    assert_eq!(rule.noise, 1e-7);
    assert_eq!(rule.after_schur(1e-20).noise, 1e-7);
    assert_eq!(
        rule.decide(vec![1.0, 1e-8, 1e-9], Magnitudes::Singular)
            .decided(),
        Some(1)
    );
    // 1e-4 is too close to noise of 1e-7 to count, and too far to be dropped.
    assert_eq!(
        rule.decide(vec![1.0, 1e-2, 2e-4], Magnitudes::Singular)
            .decided(),
        Some(3)
    );
    assert_eq!(
        rule.decide(vec![1.0, 2e-3, 2e-5], Magnitudes::Singular)
            .decided(),
        None
    );
    assert_eq!(
        rule.after_schur(f64::NAN)
            .decide(vec![1.0], Magnitudes::Singular)
            .decided(),
        None
    );
}

#[test]
fn the_threshold_rule_counts_and_abstains_in_its_band() {
    let e = f64::EPSILON;
    assert_eq!(threshold(&[1.0, 2000.0 * e, 7.0 * e], e).decided(), Some(2));
    assert_eq!(threshold(&[1.0, 7.0 * e, 0.0], 0.0).decided(), Some(1));
    for value in [9.0 * e, 299.0 * e, 301.0 * e, 1499.0 * e] {
        let decision = threshold(&[1.0, value], e);
        assert_eq!(decision.verdict, Verdict::Unknown);
        assert!(matches!(decision.doubt, Some(Doubt::InBand { .. })));
        assert_eq!(decision.rank, if value > 300.0 * e { 2 } else { 1 });
    }
    // Told about the error of its data, the rule moves with it.
    assert_eq!(threshold(&[1.0, 1e-11], e).decided(), Some(2));
    assert_eq!(threshold(&[1.0, 1e-11], 1e-11).decided(), Some(1));
}

#[test]
fn empty_is_proved_and_broken_is_unknown() {
    assert_eq!(gap(&[], 0.0).verdict, Verdict::Proved);
    assert_eq!(threshold(&[], 1e-16).decided(), Some(0));
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        assert_eq!(gap(&[1.0, bad], 1.0).doubt, Some(Doubt::NotFinite));
        assert_eq!(threshold(&[bad], 1e-16).doubt, Some(Doubt::NotFinite));
        assert_eq!(gap(&[1.0], bad).doubt, Some(Doubt::NotFinite));
    }
    assert_eq!(gap(&[1.0], 0.0).doubt, Some(Doubt::NoReference));
    assert_eq!(gap(&[0.0], 0.0).decided(), Some(0));
    assert_eq!(threshold(&[1.0], f64::NAN).decided(), None);
}

#[test]
fn decisions_print_their_evidence() {
    assert_eq!(
        gap(&[1.0, 0.1, 3e-17], 1.0).to_string(),
        "rank 2 (observed): kept down to 1.0e-1, dropped from 3.0e-17, threshold 1.7e-8"
    );
    assert_eq!(gap(&[], 1.0).to_string(), "rank 0 (proved)");
    let decision = gap(&[1.0, 0.1, 3e-17], 2.0);
    assert_eq!(
        (decision.smallest_kept(), decision.largest_dropped()),
        (0.05, 1.5e-17)
    );
}

#[test]
fn a_second_look_in_double_double_decides() {
    // Three columns, the third a combination of the others up to 1e-14: in doubles inside the band of doubt.
    let mut random = Random(31);
    let base = random.matrix(6, 2);
    let off = random.matrix(6, 1);
    let exact = DdMat::from_fn(6, 3, |i, j| match j {
        0 | 1 => Dd::from(base[(i, j)]),
        _ => Dd::sum(base[(i, 0)], base[(i, 1)]) + Dd::product(1e-14, off[(i, 0)]),
    });
    let rounded: Mat = exact.to_f64();
    let mut svd = Svd::new();
    svd.factor(rounded.view()).unwrap();
    let first = svd.rank(&ThresholdRule::new(svd.norm()));
    assert_eq!(first.decided(), None, "{first}");
    let second = DdSvd::new(&exact)
        .unwrap()
        .rank(&ThresholdRule::in_double_double(svd.norm()));
    assert_eq!(second.decided(), Some(3), "{second}");
    assert!(second.gap > 1e15);
    // The exact combination has rank 2, seen as such.
    let dependent = DdMat::from_fn(6, 3, |i, j| {
        if j < 2 {
            Dd::from(base[(i, j)])
        } else {
            Dd::from(base[(i, 0)]) + Dd::from(base[(i, 1)])
        }
    });
    let svd = DdSvd::new(&dependent).unwrap();
    assert_eq!(
        svd.rank(&GapRule::in_double_double(6, 3, 1.0)).decided(),
        Some(2)
    );
    assert_eq!(
        svd.rank(&ThresholdRule::in_double_double(svd.values[0].hi()))
            .decided(),
        Some(2)
    );
}

#[test]
fn a_share_is_judged_by_the_usual_size_of_its_value() {
    use daelight_linalg::ShareRule;
    // The same block in units that differ by 1e6, at a regular point, beside a singular one, and at it.
    for unit in [1e-3, 1.0, 1e3] {
        let usual = vec![2.0 * unit, 0.1 * unit];
        let at = |least: f64| {
            let values = vec![1.5 * unit, least * unit];
            ShareRule::new(usual.clone()).decide(values, Magnitudes::Singular)
        };
        assert_eq!(at(0.05).decided(), Some(2));
        assert_eq!(at(5e-6).decided(), None, "between zero and clear");
        assert_eq!(at(1e-9).decided(), Some(1));
    }
    // What is rounding at every point is zero, whatever its share.
    let noise = ShareRule::new(vec![1.0, 1e-17]).decide(vec![1.0, 2e-17], Magnitudes::Singular);
    assert_eq!(noise.decided(), Some(1));
}

#[test]
fn a_condition_cuts_where_its_user_says() {
    use daelight_linalg::ConditionRule;
    let rule = ConditionRule::new(1e-10);
    assert_eq!(
        rule.decide(vec![1e3, 1e-6, 1e-9], Magnitudes::Pivots)
            .decided(),
        Some(2)
    );
    let banded = rule.with_band(1e-8, 1e3);
    assert_eq!(
        banded
            .decide(vec![1.0, 1e-9], Magnitudes::Singular)
            .decided(),
        None
    );
    assert_eq!(
        banded
            .decide(vec![1.0, 1e-7, 9e-11], Magnitudes::Singular)
            .decided(),
        Some(2)
    );
    assert_eq!(
        banded
            .decide(vec![1.0, 1.1e-8, 9e-11], Magnitudes::Singular)
            .decided(),
        None
    );
    assert_eq!(
        ConditionRule::of(1e3, 1e-10)
            .decide(vec![0.0, 0.0], Magnitudes::Singular)
            .decided(),
        Some(0)
    );
    assert_eq!(
        rule.decide(vec![1.0, f64::NAN], Magnitudes::Singular)
            .decided(),
        None
    );
}

#[test]
fn a_given_rank_must_be_seen() {
    use daelight_linalg::GivenRule;
    let values = || vec![1.0, 1e-3, 1e-14];
    let at = |rank: usize| {
        GivenRule { rank }
            .decide(values(), Magnitudes::Singular)
            .decided()
    };
    assert_eq!((at(1), at(2), at(3), at(4)), (None, Some(2), None, None));
    let none = GivenRule { rank: 0 }.decide(Vec::new(), Magnitudes::Singular);
    assert_eq!(none.decided(), Some(0));
}
