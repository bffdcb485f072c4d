//! Points of sweeps: grids, random ones, parts.

use daelight::sweep::{Axis, Shard, SweepPoints};

#[test]
fn a_grid_holds_the_decimals_that_were_meant() {
    let axes = ["p=0:0.3:4", "q=-1:1:3"].map(|text| Axis::read(text).expect("an axis"));
    let points = SweepPoints::grid(&axes).expect("a grid");
    assert_eq!(points.len(), 12);
    let all: Vec<Vec<f64>> = (0..12).map(|k| points.point(k)).collect();
    assert_eq!(all[0], [0.0, -1.0]);
    assert_eq!(all[4], [0.1, 0.0]);
    assert_eq!(all[11], [0.3, 1.0]);
    let one = SweepPoints::grid(&[Axis::read("p=2:2:1").expect("an axis")]).expect("a point");
    assert_eq!(one.point(0), [2.0]);
}

#[test]
fn what_is_no_axis_is_refused() {
    for (text, reason) in [
        ("p", "not of the form"),
        ("=0:1:2", "not of the form"),
        ("p=0", "not of the form"),
        ("p=0:1:2:3", "not of the form"),
        ("p=nan:1:2", "not a finite number"),
        ("p=0:inf:2", "not a finite number"),
        ("p=-1e308:1e308:2", "is not finite"),
        ("p=0:1:x", "not a number of points"),
        ("p=0:1:0", "no value at all"),
        ("p=0:1:1000001", "1000000 are possible"),
        ("p=1:0:5", "is empty"),
        ("p=1:1:5", "is empty"),
    ] {
        let error = Axis::read(text).expect_err(text);
        assert!(error.contains(reason), "{text}: {error}");
    }
    let axis = |text| Axis::read(text).expect("an axis");
    assert!(SweepPoints::grid(&[axis("p=0:1")]).is_err());
    assert!(SweepPoints::grid(&[axis("p=0:1:2"), axis("p=0:1:2")]).is_err());
    assert!(SweepPoints::grid(&[axis("p=0:1:100000"), axis("q=0:1:100000")]).is_err());
    assert!(SweepPoints::random(&[axis("p=0:1:2")], 5, 0).is_err());
    assert!(SweepPoints::random(&[axis("p=0:1")], 0, 0).is_err());
    let names = || vec!["p".to_string()];
    assert!(SweepPoints::list(names(), vec![vec![f64::NAN]]).is_err());
    assert!(SweepPoints::list(names(), vec![]).is_err());
}

#[test]
fn random_points_depend_on_the_seed_alone() {
    let axes = ["p=0:1", "q=-5:5"].map(|text| Axis::read(text).expect("an axis"));
    let points = |seed| SweepPoints::random(&axes, 1000, seed).expect("points");
    let (a, b) = (points(7), points(8));
    assert_eq!(a.point(17), points(7).point(17));
    assert_ne!(a.point(17), b.point(17));
    let mean = |at: usize| (0..1000).map(|k| a.point(k)[at]).sum::<f64>() / 1000.0;
    assert!((mean(0) - 0.5).abs() < 0.03 && mean(1).abs() < 0.3);
    let inside = |p: Vec<f64>| (0.0..1.0).contains(&p[0]) && (-5.0..5.0).contains(&p[1]);
    assert!((0..1000).all(|k| inside(a.point(k))));
}

#[test]
fn parts_one_after_the_other_are_the_whole() {
    for len in [1, 7, 100] {
        for of in [1, 3, 8] {
            let mut next = 0;
            for number in 1..=of {
                let range = Shard { number, of }.range(len);
                assert_eq!(range.start, next);
                next = range.end;
            }
            assert_eq!(next, len);
        }
    }
    for text in ["0/2", "3/2", "1", "a/b", "1/0"] {
        assert!(Shard::read(text).is_err(), "{text}");
    }
}
