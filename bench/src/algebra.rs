//! Gröbner bases and components: ours beside msolve, after the bases were found to be the same.

use crate::peers::Peers;
use crate::table;
use daelight_algebra::{
    Assumptions, Basis, Budget, Certificate, Ideal, Order, Polynomial, basis, components,
};
use std::time::Duration;
use support::andrews::{ORIGINAL, at, loops, variables, with_angular_minors, with_minors};
use support::families::{cyclic, katsura, noon};

#[path = "../../crates/algebra/tests/support/mod.rs"]
mod support;

/// Runs of msolve for each system; the shortest counts.
const N_RUNS: usize = 3;

fn budget(exact: u64) -> Budget {
    Budget {
        exact,
        ..Budget::within(Duration::from_secs(120))
    }
}

/// The loops 4567 of Andrews' mechanism with the minors of its Jacobian.
fn j4567() -> Vec<Polynomial> {
    let g = loops();
    let (ideal, minors) = with_minors(&[&g[4] - &g[2], &g[3] - &g[5]], &[4, 5, 6, 7]);
    [ideal, minors].concat()
}

/// Andrews' mechanism with a1 = 0.03, a2 = 0.055, all loops and minors.
fn andrews() -> Vec<Polynomial> {
    let mut values = ORIGINAL;
    values[0].1 = 3000;
    values[1].1 = 5500;
    let equations: Vec<Polynomial> = loops().iter().map(|f| at(f, &values)).collect();
    with_angular_minors(&equations)
}

/// A system as msolve reads it, variables in the order of the list.
fn listing(system: &[Polynomial], names: &[usize]) -> String {
    let write = |f: &Polynomial| f.text(|v, text| text.push_str(&format!("x{v}")));
    let names: Vec<String> = names.iter().map(|v| format!("x{v}")).collect();
    let equations: Vec<String> = system.iter().map(write).collect();
    format!("{}\n0\n{}\n", names.join(","), equations.join(",\n"))
}

/// The basis in what msolve printed.
fn read(text: &str) -> Vec<Polynomial> {
    let names: Vec<String> = (0..32).map(|v| format!("x{v}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let body = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let body = body.map_or("", |(body, _)| body);
    let parse = |f: &str| support::parse_in(f, &names).primitive_over_integers();
    let mut elements: Vec<Polynomial> = body.split(',').map(parse).collect();
    elements.sort();
    elements
}

fn normalised(basis: &Basis) -> Vec<Polynomial> {
    let elements = basis.elements().iter();
    let mut elements: Vec<Polynomial> = elements.map(Polynomial::primitive_over_integers).collect();
    elements.sort();
    elements
}

fn worth(basis: &Basis) -> String {
    match basis.certificate() {
        Certificate::Exact => "proved".to_string(),
        Certificate::Modular { primes } => format!("{primes} primes"),
    }
}

/// Prints times of bases in degrevlex order, and of components.
pub fn run() {
    let peers = Peers::environment();
    let mut rows = Vec::new();
    for (name, system, names) in [
        ("cyclic6", cyclic(6), (0..6).collect()),
        ("cyclic7", cyclic(7), (0..7).collect()),
        ("katsura8", katsura(8), (0..9).collect()),
        ("katsura9", katsura(9), (0..10).collect()),
        ("noon6", noon(6), (0..6).collect()),
        (
            "J4567 with minors",
            j4567(),
            variables("c4 s4 c5 s5 c6 s6 c7 s7 a4 a5 a6 a7"),
        ),
        (
            "Andrews, section 5.2",
            andrews(),
            (0..14).collect::<Vec<usize>>(),
        ),
    ] {
        let order = Order::degrevlex(names.iter().copied());
        let compute = |exact| {
            let made = basis(&system, &order, &budget(exact));
            made.expect("the budget suffices")
        };
        let (found, ours) = table::timed(|| compute(0));
        let (proved, with_proof) = table::timed(|| compute(Budget::default().exact));
        assert_eq!(found.elements(), proved.elements(), "{name}");
        let mut theirs = f64::INFINITY;
        for _ in 0..N_RUNS {
            match peers.msolve(&listing(&system, &names)) {
                Ok((text, seconds)) => {
                    if theirs.is_infinite() {
                        assert_eq!(read(&text), normalised(&found), "{name}");
                    }
                    theirs = theirs.min(seconds * 1e9);
                }
                Err(why) => {
                    eprintln!("PEER MISSING: msolve: {why}");
                    break;
                }
            }
        }
        rows.push(vec![
            name.to_string(),
            found.elements().len().to_string(),
            table::time(ours),
            format!("{} ({})", table::time(with_proof), worth(&proved)),
            table::time(theirs),
            table::ratio(ours / theirs),
        ]);
    }
    let header = [
        "degrevlex basis",
        "elements",
        "ours",
        "with proof",
        "msolve",
        "ours / msolve",
    ];
    table::print(&header, &rows);

    let positive = Assumptions {
        positive: (14..21).collect(),
        ..Assumptions::default()
    };
    let mut rows = Vec::new();
    let with_cosines = [
        j4567(),
        vec![Polynomial::variable(6), Polynomial::variable(10)],
    ]
    .concat();
    for (name, generators, assumptions, n_components) in [
        ("J4567, lengths positive", j4567(), &positive, 7),
        (
            "T, all minimal primes",
            with_cosines,
            &Assumptions::default(),
            16,
        ),
    ] {
        let ideal = Ideal::new(generators);
        let (found, time) =
            table::timed(|| components(&ideal, assumptions, &budget(Budget::default().exact)));
        assert!(found.is_complete());
        assert_eq!(found.components.len(), n_components, "{name}");
        rows.push(vec![
            name.to_string(),
            n_components.to_string(),
            table::time(time),
        ]);
    }
    table::print(&["components", "number", "ours"], &rows);
}
