//! Another program's answers, where it can be had: FLINT through the package python-flint.

use crate::support::{Random, text};
use daelight_algebra::{Budget, FactorBudget, IBig, Monomial, Order, Polynomial, basis, factor};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn written(f: &Polynomial) -> String {
    let term = |(monomial, coefficient): &(Monomial, IBig)| {
        let exponents = [0, 1, 2].map(|v| monomial.exponent(v).to_string());
        format!("{coefficient} {}", exponents.join(" "))
    };
    f.terms().iter().map(term).collect::<Vec<_>>().join(";")
}

fn read(text: &str) -> Polynomial {
    let term = |term: &str| {
        let mut words = term.split(' ');
        let coefficient: IBig = words.next().expect("a number").parse().expect("a number");
        let mut monomial = Monomial::one();
        for (variable, exponent) in words.enumerate() {
            monomial.set(variable, exponent.parse().expect("an exponent"));
        }
        (monomial, coefficient)
    };
    Polynomial::from_terms(text.split(';').map(term)).primitive_over_integers()
}

fn read_all(line: &str) -> Vec<Polynomial> {
    let parts = line.split('|').filter(|part| !part.is_empty());
    let mut all: Vec<Polynomial> = parts.map(read).collect();
    all.sort();
    all
}

/// A Python that knows FLINT: the system's, or one made for this test.
fn python_with_flint(folder: &Path) -> Option<PathBuf> {
    let succeeds = |command: &mut Command| {
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let system = PathBuf::from("python3");
    if succeeds(Command::new(&system).args(["-c", "import flint"])) {
        return Some(system);
    }
    let made = folder.join("venv");
    if !succeeds(Command::new(&system).args(["-m", "venv"]).arg(&made)) {
        return None;
    }
    let python = made.join("bin/python");
    let install = [
        "-m",
        "pip",
        "install",
        "-q",
        "--timeout",
        "3",
        "--retries",
        "0",
    ];
    let mut command = Command::new(&python);
    succeeds(command.args(install).arg("python-flint==0.9.0")).then_some(python)
}

/// The answers to questions, one per line.
fn ask(python: &Path, questions: &[String]) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/oracle.py");
    let mut process = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python runs");
    let mut input = process.stdin.take().expect("a pipe");
    let text = questions.join("\n") + "\n";
    // In a thread of its own, so that neither side waits for the other to read.
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = process.wait_with_output().expect("an answer");
    writer.join().expect("a writer").expect("a reader");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_string).collect()
}

#[test]
fn flint_agrees() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(python) = python_with_flint(folder.path()) else {
        eprintln!("note: skipped, the package python-flint cannot be installed here");
        return;
    };
    let mut random = Random(21);
    // Products, and sums that rarely are.
    let polynomials: Vec<Polynomial> = (0..2000)
        .map(|case| {
            let n = 1 + case % 3;
            let first = random.polynomial(n, 4, 5, 20);
            match case % 4 {
                0 => first,
                1 => first.pow(2),
                _ => &first * &random.polynomial(n, 4, 4, 20),
            }
        })
        .collect();
    let systems: Vec<Vec<Polynomial>> = (0..100)
        .map(|case| {
            let n = 2 + case % 2;
            (0..n).map(|_| random.polynomial(n, 2, 4, 9)).collect()
        })
        .collect();
    let mut questions: Vec<String> = polynomials
        .iter()
        .map(|f| format!("factor {}", written(f)))
        .collect();
    questions.extend(systems.iter().map(|system| {
        let parts: Vec<String> = system.iter().map(written).collect();
        format!("basis {}", parts.join("|"))
    }));
    let answers = ask(&python, &questions);
    assert_eq!(answers.len(), questions.len());
    for (f, answer) in polynomials.iter().zip(&answers) {
        let factors = factor(f, &FactorBudget::default());
        assert!(factors.is_proved(), "{}", text(f));
        let mut found: Vec<Polynomial> = factors
            .factors
            .into_iter()
            .flat_map(|f| std::iter::repeat_n(f.polynomial, f.multiplicity as usize))
            .collect();
        found.sort();
        assert_eq!(found, read_all(answer), "{}", text(f));
    }
    for (system, answer) in systems.iter().zip(&answers[polynomials.len()..]) {
        let found = basis(system, &Order::degrevlex(0..3), &Budget::default()).unwrap();
        // The sign of an element is that of its leading term in the order of the basis.
        let elements = found.elements().iter();
        let mut elements: Vec<Polynomial> =
            elements.map(Polynomial::primitive_over_integers).collect();
        elements.sort();
        assert_eq!(elements, read_all(answer));
    }
}
