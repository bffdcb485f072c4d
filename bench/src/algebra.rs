//! Gröbner bases, real points and components: ours beside msolve and Singular, after the answers were found to be the same.

use crate::peers::{Peers, Singular};
use crate::table;
use daelight_algebra::real::{Zeros, zeros};
use daelight_algebra::{
    Assumptions, Basis, Budget, Certificate, Components, Ideal, Order, Polynomial, basis,
    components,
};
use daelight_lang::Options as Reading;
use daelight_singular::{Question, SearchLimits, SingularVerdict, answer};
use std::time::Duration;
use support::andrews::{ORIGINAL, at, loops, p, variables, with_angular_minors, with_minors};
use support::families::{cyclic, katsura, noon};

#[path = "../../crates/algebra/tests/support/mod.rs"]
mod support;

/// Runs of msolve for each system; the shortest counts.
const N_RUNS: usize = 3;
/// Seconds that Singular has for each of its ways.
const SINGULAR_LIMIT: u32 = 30;
/// Seconds that Singular has for the components of an ideal.
const COMPONENTS_LIMIT: u32 = 120;
/// Precision of real points, msolve's default.
const POINT_BITS: usize = 128;

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

/// The loops 367 with the minors of their Jacobian.
fn j367() -> Vec<Polynomial> {
    let g = loops();
    let (ideal, minors) = with_minors(&[&g[0] - &g[4], &g[1] - &g[5]], &[3, 6, 7]);
    [ideal, minors].concat()
}

/// Section 4.5.2: the loops 4567 with four equal rods, where s6 + s4 = 0.
fn equal_rods() -> Vec<Polynomial> {
    let g = loops();
    let (ideal, _) = with_minors(&[&g[4] - &g[2], &g[3] - &g[5]], &[4, 5, 6, 7]);
    let length = p("a4");
    let equal = |f: &Polynomial| {
        let others = variables("a5 a6 a7").into_iter();
        others.fold(f.clone(), |f, v| f.substitute(v, &length))
    };
    let mut ideal: Vec<Polynomial> = ideal.iter().map(equal).collect();
    ideal.push(p("s6 + s4"));
    ideal
}

fn word(v: usize) -> String {
    format!("x({v})")
}

/// Generators as text, separated, variables named by a function.
fn written(system: &[Polynomial], separator: &str, name: fn(usize) -> String) -> String {
    let write = |f: &Polynomial| f.text(|v, text| text.push_str(&name(v)));
    let texts: Vec<String> = system.iter().map(write).collect();
    texts.join(separator)
}

/// A system as msolve reads it, variables in the order of the list.
fn listing(system: &[Polynomial], names: &[usize]) -> String {
    let name = |v: usize| format!("x{v}");
    let names: Vec<String> = names.iter().map(|&v| name(v)).collect();
    format!("{}\n0\n{}\n", names.join(","), written(system, ",\n", name))
}

/// A ring with an ideal for Singular; `parameters` are those of its field.
fn ring(system: &[Polynomial], names: &[usize], parameters: &[usize]) -> String {
    let list = |variables: &[usize]| variables.iter().map(|&v| word(v)).collect::<Vec<_>>();
    let field = [vec!["0".to_string()], list(parameters)].concat();
    format!(
        "ring r = ({}), ({}), dp;\nshort = 0;\nideal i = {};\n",
        field.join(","),
        list(names).join(","),
        written(system, ",\n", word)
    )
}

/// Polynomials separated by commas, without a factor.
fn read_list(text: &str) -> Vec<Polynomial> {
    let names: Vec<String> = (0..32).map(|v| format!("x{v}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = text.replace(['(', ')', '\n'], "");
    let parse = |f: &str| support::parse_in(f, &names).primitive_over_integers();
    let mut elements: Vec<Polynomial> = text.split(',').map(parse).collect();
    elements.sort();
    elements
}

/// The basis in what msolve printed.
fn read(text: &str) -> Vec<Polynomial> {
    let body = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    read_list(body.map_or("", |(body, _)| body))
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

/// A time of Singular in nanoseconds, or in words why there is none.
type Theirs = Result<f64, String>;

fn cell(theirs: &Theirs) -> String {
    match theirs {
        Ok(time) => table::time(*time),
        Err(why) => why.clone(),
    }
}

/// Our time over the least of theirs.
fn over(ours: f64, theirs: &[&Theirs], limit: u32) -> String {
    let times = theirs.iter().filter_map(|t| t.as_ref().ok());
    match times.copied().min_by(f64::total_cmp) {
        Some(time) => table::ratio(ours / time),
        None if theirs
            .iter()
            .any(|t| t.as_ref().is_err_and(|why| why.starts_with('>'))) =>
        {
            format!("< {:.4}", ours / (f64::from(limit) * 1e9))
        }
        None => "-".to_string(),
    }
}

/// What Singular prints for commands that set the list `l` of ideals, and the time they took; loading libraries is not counted.
fn singular(
    peers: &Peers,
    setting: &str,
    commands: &str,
    limit: u32,
) -> Result<(Vec<Vec<Polynomial>>, f64), String> {
    // Generators are printed with whole coefficients.
    let text = format!(
        "LIB \"primdec.lib\";\nLIB \"modstd.lib\";\noption(redSB);\n{setting}int t = rtimer;\n{commands}\nt = rtimer - t;\n\
         int k, m;\nideal g;\n\
         for (k = 1; k <= size(l); k++) {{ g = l[k]; for (m = 1; m <= ncols(g); m++) {{ g[m] = cleardenom(g[m]); }}\n\
         print(\"ideal \" + string(g)); }}\n\
         print(\"time \" + string(t));\nprint(\"done\");\nquit;\n"
    );
    let answer = peers.singular(&text, limit).map_err(|why| match why {
        Singular::Missing(why) => {
            eprintln!("PEER MISSING: Singular: {why}");
            "missing".to_string()
        }
        Singular::TooLong => format!("> {limit} s"),
        Singular::Failed(why) => format!("FAILED: {why}"),
    })?;
    let lines = |word: &'static str| {
        let lines = answer.lines();
        lines.filter_map(move |line| line.strip_prefix(word))
    };
    let time = lines("time ").find_map(|t| t.trim().parse::<f64>().ok());
    // Singular counts milliseconds.
    let time = time.ok_or("no time")?.max(1.0) * 1e6;
    Ok((lines("ideal ").map(read_list).collect(), time))
}

/// A basis by one of Singular's commands, compared with ours.
fn singular_basis(
    peers: &Peers,
    system: &[Polynomial],
    names: &[usize],
    command: &str,
    ours: &Basis,
) -> Theirs {
    let commands = format!("list l = {command};");
    let (found, time) = singular(peers, &ring(system, names, &[]), &commands, SINGULAR_LIMIT)?;
    match found.first() == Some(&normalised(ours)) {
        true => Ok(time),
        false => Err("ANOTHER BASIS".to_string()),
    }
}

/// Systems by name, with their variables in order.
fn systems() -> Vec<(&'static str, Vec<Polynomial>, Vec<usize>)> {
    vec![
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
        ("Andrews, section 5.2", andrews(), (0..14).collect()),
    ]
}

/// Prints times of bases in degrevlex order, of real points, and of components.
pub fn run() {
    let peers = Peers::environment();
    bases(&peers);
    real_points(&peers);
    all_components(&peers);
}

fn bases(peers: &Peers) {
    let mut rows = Vec::new();
    for (name, system, names) in systems() {
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
            match peers.msolve(&listing(&system, &names), true) {
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
        let [std, slimgb, modular] = ["std(i)", "slimgb(i)", "modStd(i, 0)"]
            .map(|command| singular_basis(peers, &system, &names, command, &found));
        rows.push(vec![
            name.to_string(),
            found.elements().len().to_string(),
            table::time(ours),
            format!("{} ({})", table::time(with_proof), worth(&proved)),
            table::time(theirs),
            table::ratio(ours / theirs),
            cell(&std),
            cell(&slimgb),
            cell(&modular),
            over(ours, &[&std, &slimgb, &modular], SINGULAR_LIMIT),
        ]);
    }
    let header = [
        "degrevlex basis",
        "elements",
        "ours",
        "with proof",
        "msolve",
        "ours / msolve",
        "Singular std",
        "slimgb",
        "modStd",
        "ours / best of Singular",
    ];
    table::print(&header, &rows);
}

/// Real points of Andrews' mechanism of section 5.2, from the equations to enclosures of all coordinates.
fn real_points(peers: &Peers) {
    let names: Vec<usize> = (0..14).collect();
    let system = andrews();
    let order = Order::degrevlex(names.iter().copied());
    let compute = || {
        let budget = budget(0);
        let found = basis(&system, &order, &budget).expect("the budget suffices");
        let Zeros::Finite(representation) = zeros(&found, &budget).expect("few points") else {
            panic!("section 5.2 has finitely many points");
        };
        let points = representation.real_points(&budget).expect("few points");
        let coordinates = points.into_iter().map(|mut point| {
            let coordinates = point.coordinates(POINT_BITS, &budget);
            coordinates.expect("there is time")
        });
        coordinates.collect::<Vec<_>>()
    };
    let (points, ours) = table::timed(compute);
    let points: Vec<Vec<f64>> = points
        .iter()
        .map(|point| point.iter().map(|x| x.middle()).collect())
        .collect();
    let (mut theirs, mut difference) = (f64::INFINITY, f64::NAN);
    for _ in 0..N_RUNS {
        match peers.msolve(&listing(&system, &names), false) {
            Ok((text, seconds)) => {
                let found = read_points(&text, names.len());
                assert_eq!(found.len(), points.len(), "numbers of real points");
                let distance = |a: &Vec<f64>, b: &Vec<f64>| {
                    let pairs = a.iter().zip(b);
                    pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
                };
                let nearest = points.iter().map(|point| {
                    let distances = found.iter().map(|other| distance(point, other));
                    distances.fold(f64::INFINITY, f64::min)
                });
                difference = nearest.fold(0.0, f64::max);
                assert!(difference < 1e-14, "points differ by {difference:e}");
                theirs = theirs.min(seconds * 1e9);
            }
            Err(why) => {
                eprintln!("PEER MISSING: msolve: {why}");
                break;
            }
        }
    }
    let reading = Reading {
        set: ["a[1]=0.03", "a[2]=0.055"].map(String::from).to_vec(),
        ..Reading::default()
    };
    let (found, by_cases) = table::timed(|| {
        let loaded = daelight::load("andrews-constraints", &reading).expect("a built-in model");
        let model = loaded.model.expect("built-in models are right");
        answer(&model, &Question::default(), &SearchLimits::default())
            .expect("algebraic constraints")
    });
    assert_eq!(found.verdict, SingularVerdict::Proved);
    assert_eq!(found.configurations.len(), points.len());
    let row = |way: &str, time: f64| {
        vec![
            format!("Andrews, section 5.2: {way}"),
            points.len().to_string(),
            format!("{difference:.1e}"),
            table::time(time),
            table::time(theirs),
            table::ratio(time / theirs),
        ]
    };
    table::print(
        &[
            "real points",
            "number",
            "largest difference",
            "ours",
            "msolve",
            "ours / msolve",
        ],
        &[
            row("all equations and minors", ours),
            row("`singular` on the model, with proof", by_cases),
        ],
    );
}

/// The middles of the intervals that msolve prints: `[a / 2^k, b / 2^l]` for each variable of each point.
fn read_points(text: &str, n_variables: usize) -> Vec<Vec<f64>> {
    let number = |text: &str| -> Option<f64> {
        let (numerator, exponent) = text.split_once('/').unwrap_or((text, "2^0"));
        let numerator: f64 = numerator.trim().parse().ok()?;
        let exponent: i32 = exponent.trim().strip_prefix("2^")?.parse().ok()?;
        Some(numerator * 2f64.powi(-exponent))
    };
    // After `[0, [1,`; the innermost brackets hold two ends each.
    let body = text.split_once("[1,").map_or("", |(_, body)| body);
    let interval = |piece: &str| {
        let (inside, _) = piece.split_once(']')?;
        let (low, high) = inside.split_once(',')?;
        Some((number(low)? + number(high)?) / 2.0)
    };
    let middles: Vec<f64> = body.split('[').filter_map(interval).collect();
    middles.chunks(n_variables).map(<[f64]>::to_vec).collect()
}

/// An ideal with the question that is asked about its components.
struct Decomposition {
    name: &'static str,
    generators: Vec<Polynomial>,
    assumptions: Assumptions,
    n_components: usize,
    /// Lengths that are nonzero symbols in the field of Singular's ring.
    parameters: Vec<usize>,
    /// Singular's commands.
    commands: &'static str,
}

fn decompositions() -> [Decomposition; 4] {
    let with = |system: Vec<Polynomial>, more: &[&str]| {
        let more = more.iter().map(|name| p(name)).collect();
        [system, more].concat()
    };
    let positive = |names: &str| Assumptions {
        positive: variables(names),
        ..Assumptions::default()
    };
    [
        Decomposition {
            name: "J4567, lengths positive",
            generators: j4567(),
            assumptions: positive("a1 a2 a3 a4 a5 a6 a7"),
            n_components: 7,
            parameters: Vec::new(),
            // Lengths nonzero: x(17) to x(20) are a4 to a7.
            commands: "list l = minAssGTZ(sat(i, ideal(x(17)*x(18)*x(19)*x(20)))[1]);",
        },
        Decomposition {
            name: "T, all minimal primes",
            generators: with(j4567(), &["c4", "c6"]),
            assumptions: Assumptions::default(),
            n_components: 16,
            parameters: Vec::new(),
            commands: "list l = minAssGTZ(i);",
        },
        Decomposition {
            name: "U, all minimal primes",
            generators: with(j367(), &["c6"]),
            assumptions: Assumptions::default(),
            n_components: 8,
            parameters: Vec::new(),
            commands: "list l = minAssGTZ(i);",
        },
        Decomposition {
            name: "section 4.5.2, a4 nonzero",
            generators: equal_rods(),
            assumptions: positive("a4"),
            n_components: 3,
            parameters: variables("a4"),
            commands: "list l = minAssGTZ(i);",
        },
    ]
}

fn all_components(peers: &Peers) {
    let mut rows = Vec::new();
    for case in decompositions() {
        let ideal = Ideal::new(case.generators.clone());
        let limits = budget(Budget::default().exact);
        let (found, ours) = table::timed(|| components(&ideal, &case.assumptions, &limits));
        assert!(found.is_complete());
        assert_eq!(found.components.len(), case.n_components, "{}", case.name);
        let names: Vec<usize> = ideal.variables();
        let names: Vec<usize> = names
            .into_iter()
            .filter(|v| !case.parameters.contains(v))
            .collect();
        let setting = ring(&case.generators, &names, &case.parameters);
        let theirs = singular(peers, &setting, case.commands, COMPONENTS_LIMIT);
        let (theirs, number) = match theirs {
            Ok((primes, time)) if agree(&found, &primes, &case) => {
                (Ok(time), primes.len().to_string())
            }
            Ok((primes, _)) => (Err("OTHERS".to_string()), primes.len().to_string()),
            Err(why) => (Err(why), "-".to_string()),
        };
        rows.push(vec![
            case.name.to_string(),
            case.n_components.to_string(),
            table::time(ours),
            number,
            cell(&theirs),
            over(ours, &[&theirs], COMPONENTS_LIMIT),
        ]);
    }
    table::print(
        &[
            "components",
            "number",
            "ours",
            "Singular's",
            "minAssGTZ",
            "ours / Singular",
        ],
        &rows,
    );
}

/// Whether each of our components is one of the primes; without assumptions there are no other primes.
fn agree(ours: &Components, primes: &[Vec<Polynomial>], case: &Decomposition) -> bool {
    let limits = budget(Budget::default().exact);
    let bases: Vec<Basis> = primes
        .iter()
        .filter_map(|prime| Ideal::new(prime.clone()).basis(&limits).ok())
        .collect();
    let is_one = |component: &Basis| {
        let same = |prime: &Basis| {
            prime.contains_all(component.elements()) && component.contains_all(prime.elements())
        };
        bases.iter().any(same)
    };
    let is_plain = case.assumptions.positive.is_empty();
    (!is_plain || primes.len() == ours.components.len())
        && ours.components.iter().all(|c| is_one(&c.basis))
}
