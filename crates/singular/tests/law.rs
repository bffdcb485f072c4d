//! The law of the case list: the Jacobian loses rank exactly where a case holds.

use crate::common::{Random, mechanism, mechanisms, symbolic};
use daelight_singular::{Cases, Field, FlatBudget, Forms, Mechanism, PrimeField, jacobian, rank};

/// A small field in which -1 is no square, so that unit vectors behave as over the reals.
const PRIME: u64 = 11;
const DRAWS: usize = 60;
const SAMPLES: usize = 110;

/// Puts unit vectors and positions into the field.
fn place(field: &mut PrimeField, mechanism: &Mechanism, random: &mut Random) {
    for direction in &mechanism.directions {
        let t = random.next() % (PRIME + 1);
        let (cosine, sine) = if t == PRIME {
            (PRIME - 1, 0)
        } else {
            field.unit(t)
        };
        field.values[direction.cosine] = cosine;
        field.values[direction.sine] = sine;
    }
    for &(_, variable) in &mechanism.constraints.positions {
        field.values[variable] = random.next() % PRIME;
    }
}

/// Turns bodies so that the alignments of a case hold, where the field has the roots that takes.
fn force(field: &mut PrimeField, mechanism: &Mechanism, cases: &Cases<u64>, random: &mut Random) {
    let kept: Vec<_> = cases.kept().map(|(_, case)| case).collect();
    if kept.is_empty() {
        return;
    }
    let case = kept[random.next() as usize % kept.len()];
    let mut set = |field: &mut PrimeField, column: usize, [x, y]: [u64; 2]| {
        let square = field.add(&field.mul(&x, &x), &field.mul(&y, &y));
        let root = (1..PRIME).find(|root| field.mul(root, root) == square);
        let (Some(root), Some(body)) = (root, mechanism.columns[column].body) else {
            return;
        };
        let scale = field.inverse(&root);
        let scale = if random.next().is_multiple_of(2) {
            scale
        } else {
            PRIME - scale
        };
        let direction = &mechanism.directions[body];
        field.values[direction.cosine] = field.mul(&x, &scale);
        field.values[direction.sine] = field.mul(&y, &scale);
    };
    for (column, direction) in &case.fixed {
        set(field, *column, *direction);
    }
    for class in &case.classes {
        let first = &mechanism.columns[class.members[0].0].functions;
        let [c, s] = [0, 1].map(|at| field.element(&first[at]));
        for (column, [x, y]) in &class.members[1..] {
            let real = field.sub(&field.mul(x, &c), &field.mul(y, &s));
            let imaginary = field.add(&field.mul(y, &c), &field.mul(x, &s));
            set(field, *column, [real, imaginary]);
        }
    }
}

#[test]
fn the_jacobian_loses_rank_exactly_where_a_kept_case_holds() {
    let mut random = Random(20_061_115);
    let (mut n_samples, mut n_drops) = (0, 0);
    for (name, text, locked) in mechanisms() {
        let mechanism = mechanism(&text, &symbolic(&locked));
        let mut drops = 0;
        for _ in 0..DRAWS {
            let field = PrimeField::random(PRIME, &mechanism.ring, || random.next());
            let mut field = field.expect("the roots of the models exist modulo 11");
            let forms = Forms::new(&field, &mechanism);
            let cases = Cases::new(
                &field,
                &mechanism,
                FlatBudget {
                    flats: 10_000,
                    spent: &|| 0.0,
                },
            );
            assert!(cases.is_complete());
            for sample in 0..SAMPLES {
                place(&mut field, &mechanism, &mut random);
                if sample % 2 == 0 {
                    force(&mut field, &mechanism, &cases, &mut random);
                }
                let jacobian = jacobian(&field, &mechanism, &forms);
                let is_singular = rank(&field, &jacobian) < mechanism.n_constraints();
                let holds = cases
                    .kept()
                    .any(|(_, case)| case.holds(&field, &mechanism, &jacobian));
                assert_eq!(is_singular, holds, "{name}: {:?}", field.values);
                drops += usize::from(is_singular);
                n_samples += 1;
            }
        }
        println!("{name}: {drops} of {} samples singular", DRAWS * SAMPLES);
        n_drops += drops;
    }
    assert!(n_samples >= 100_000, "{n_samples} samples");
    assert!(n_drops > n_samples / 10, "{n_drops} singular samples");
}
