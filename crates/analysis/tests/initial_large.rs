//! Consistent points of large systems: sparse matrices, and the same answers as dense ones.

use crate::common;
use daelight_analysis::System;
use daelight_analysis::initial::{Closeness, Request, StageOffsets, consistent_point};
use daelight_analysis::structure::Structure;

fn chain(n: usize) -> System {
    let model = common::model(&common::text("pendulum-chain"), &[format!("N={n}")]);
    System::new(&model).expect("a system")
}

#[test]
fn a_chain_of_a_thousand_links_starts() {
    let system = chain(1000);
    let structure = Structure::of_equations(system.equations()).expect("a structure");
    let request = Request::of_model(&system, 0.0, 2);
    let point = consistent_point(&system, Some(StageOffsets::of(&structure)), &request)
        .unwrap_or_else(|no_point| panic!("{no_point:?}"));
    assert!(point.residual < 1e-12, "{:?}", point.residuals);
    assert_eq!(point.closeness, Closeness::Closest);
    // At rest, hanging straight: gravity alone accelerates the masses.
    let rest = point.jet.values()[2 * 1000..4 * 1000].iter();
    assert!(rest.fold(0.0_f64, |m, v| m.max(v.abs())) < 1e-9);
}

#[test]
fn sparse_and_dense_steps_find_the_same_closest_point() {
    // 15 links are searched densely, 40 sparsely; the closest point to disturbed starts is where the gradient along the
    // constraints vanishes, which no direction of a second, finer look can improve.
    for n in [15, 40] {
        let system = chain(n);
        let structure = Structure::of_equations(system.equations()).expect("a structure");
        let mut request = Request::of_model(&system, 0.0, 2);
        request.conditions.clear();
        let mut random = common::Random(0x5EED);
        request.given.clear();
        for guess in &mut request.guess[..2 * n] {
            *guess += 0.02 * random.next();
        }
        let offsets = Some(StageOffsets::of(&structure));
        let point = consistent_point(&system, offsets, &request)
            .unwrap_or_else(|no_point| panic!("{no_point:?}"));
        assert!(point.residual < 1e-12, "{n}: {:?}", point.residuals);
        assert_eq!(point.closeness, Closeness::Closest, "{n}");
        // Solving again from the point found, for the same guess, leads nowhere else.
        let squares: f64 = (0..4 * n)
            .map(|j| (point.jet.get(j, 0) - request.guess[j]).powi(2))
            .sum();
        assert!((squares.sqrt() - point.distance).abs() < 1e-12, "{n}");
        // Lagrange: the pull of each link's ends is along the links, so the sum over the chain below a joint is along the
        // link above it.
        let apart = |j: usize| point.jet.get(j, 0) - request.guess[j];
        let (mut fx, mut fy) = (0.0, 0.0);
        for i in (0..n).rev() {
            fx += apart(i);
            fy += apart(n + i);
            let before = |first: usize| {
                if i == 0 {
                    0.0
                } else {
                    point.jet.get(first + i - 1, 0)
                }
            };
            let (dx, dy) = (
                point.jet.get(i, 0) - before(0),
                point.jet.get(n + i, 0) - before(n),
            );
            let across = fx * dy - fy * dx;
            assert!(across.abs() < 1e-8, "{n} links, link {i}: {across:e}");
        }
    }
}
