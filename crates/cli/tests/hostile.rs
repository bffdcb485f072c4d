//! Nothing that users give makes the program panic, hang or leave half a file: models, tables, points, places to write.

use crate::common::{Random, daelight, daelight_with_input, stderr, stdout};
use daelight_analysis::index_reduction::{Form, ReduceBy};
use daelight_lang::{ElaborationLimits, Options, load};
use daelight_show::{Records, Table};
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

/// How long each of the random searches below goes on; what it looks at is the same in every run.
const TIME: Duration = Duration::from_secs(4);

/// The budget of each piece of work on a random model.
const BUDGET: Duration = Duration::from_millis(100);

/// A piece of work ends this long after its budget at the latest, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);

fn code(output: &Output) -> i32 {
    output.status.code().expect("ended by itself")
}

const NUMBERS: &[&str] = &[
    "0", "1", "-1", "2", "0.5", "1e300", "1e-300", "5e-324", "1.7e308", "1e9", "100000", "1e-9",
    "3",
];

const FUNCTIONS: &[&str] = &[
    "sin", "cos", "tan", "exp", "log", "sqrt", "abs", "asin", "acos", "atan", "sinh", "tanh",
    "sign", "noEvent",
];

/// A random expression, mostly of unknowns.
fn expression(random: &mut Random, n: usize, depth: usize) -> String {
    let unknown = |random: &mut Random| format!("x{}", random.below(n));
    let inner = |random: &mut Random| expression(random, n, depth - 1);
    match random.below(if depth == 0 { 6 } else { 16 }) {
        0..=2 => unknown(random),
        3 => format!("der({})", unknown(random)),
        4 => NUMBERS[random.below(NUMBERS.len())].to_string(),
        5 => ["time", "p", "q"][random.below(3)].to_string(),
        6..=11 => {
            let operator = ["+", "-", "*", "/", "*", "+"][random.below(6)];
            format!("({} {operator} {})", inner(random), inner(random))
        }
        12 => format!(
            "({})^{}",
            inner(random),
            NUMBERS[random.below(NUMBERS.len())]
        ),
        13 | 14 => format!(
            "{}({})",
            FUNCTIONS[random.below(FUNCTIONS.len())],
            inner(random)
        ),
        _ => format!(
            "(if {} > {} then {} else {})",
            inner(random),
            inner(random),
            inner(random),
            inner(random)
        ),
    }
}

/// A random model: some are singular, contradictory, undefined at their start, or beyond the range of doubles.
fn model_text(seed: u64) -> String {
    let mut random = Random(seed);
    let n = 1 + random.below(4);
    let number = |random: &mut Random| NUMBERS[random.below(NUMBERS.len())];
    let mut text = format!(
        "model M\n  parameter Real p = {}, q = {};\n",
        number(&mut random),
        number(&mut random)
    );
    for k in 0..n {
        let start = number(&mut random);
        let fixed = if random.below(4) == 0 {
            ", fixed = true"
        } else {
            ""
        };
        text += &format!("  Real x{k}(start = {start}{fixed});\n");
    }
    text += "equation\n";
    let n_equations = match random.below(10) {
        0 => n + 1,
        1 => n - 1,
        _ => n,
    };
    for _ in 0..n_equations {
        let depth = random.below(4);
        let left = expression(&mut random, n, 1);
        let right = expression(&mut random, n, depth);
        text += &format!("  {left} = {right};\n");
    }
    text + "  annotation(experiment(StopTime = 1));\nend M;\n"
}

/// Runs a piece of work, which must come to its end soon after its budget.
fn soon<T>(what: &str, text: &str, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let result = work();
    let elapsed = began.elapsed();
    assert!(
        elapsed < BUDGET + PATIENCE,
        "{what} took {elapsed:?}:\n{text}"
    );
    result
}

/// Every command on one model, within small budgets.
fn examine(text: &str) {
    let options = Options {
        limits: ElaborationLimits {
            steps: 200_000,
            elements: 10_000,
            nodes: 200_000,
        },
        ..Options::default()
    };
    let loaded = soon("load", text, || {
        load("random.mo", text.as_bytes(), &options)
    });
    let Some(model) = &loaded.model else { return };
    let Ok(system) = daelight::system(model) else {
        return;
    };
    let place = daelight::Place {
        budget: Some(BUDGET),
        ..Default::default()
    };
    let passport = soon("analyze", text, || daelight::analyze(&system, &place));
    if let Ok(passport) = passport {
        soon("report", text, || {
            daelight::record::analyze(&system, &passport, true)
        });
        soon("spectrum", text, || passport.spectrum(&system).is_ok());
    }
    let wanted = daelight::InitOptions {
        at: None,
        point: None,
        order: 3,
        all: false,
        nearest_regular: false,
        budget: BUDGET,
    };
    if let Ok(request) = daelight::start_request(&system, &wanted) {
        soon("init", text, || daelight::start(&system, &request));
    }
    for method in [None, Some(daelight_integrate::implicit::Method::Radau)] {
        let options = daelight::SolveOptions {
            method,
            max_steps: Some(200),
            budget: Some(BUDGET),
            place: place.clone(),
            ..Default::default()
        };
        if let Ok(solution) = soon("solve", text, || daelight::solve(&system, &options)) {
            let (_, rows) =
                daelight::samples(&system, &solution, &[solution.from, solution.reached()])
                    .unwrap_or_default();
            for (time, values) in rows {
                assert!(time.is_finite(), "{text}");
                let n = system.unknowns().len();
                assert!(
                    values[..n].iter().all(|x| !x.is_nan()),
                    "{values:?}:\n{text}"
                );
            }
        }
    }
    let _ = soon("reduce", text, || {
        daelight::reduce(&system, &place, ReduceBy::Dummy, Form::Implicit).is_ok()
    });
    let limits = daelight_singular::SearchLimits {
        time: BUDGET,
        ..Default::default()
    };
    let question = daelight_singular::Question::default();
    let _ = soon("singular", text, || {
        daelight_singular::answer(model, &question, &limits).is_ok()
    });
}

#[test]
fn random_models() {
    let began = Instant::now();
    for seed in 0.. {
        if began.elapsed() > TIME {
            assert!(seed > 0);
            break;
        }
        examine(&model_text(seed));
    }
}

/// Bytes with some of them changed, doubled, left out.
fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return bytes;
        }
        let at = random.below(bytes.len());
        let to = (at + 1 + random.below(8)).min(bytes.len());
        match random.below(5) {
            0 => drop(bytes.drain(at..to)),
            1 => {
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
            2 => bytes[at] = random.next() as u8,
            3 => bytes[at] = b"0123456789-.e,;\n\"{}[]:"[random.below(22)],
            _ => bytes.truncate(at),
        }
    }
    bytes
}

#[test]
fn random_tables() {
    let names = vec!["u".to_string(), "v[1]".to_string()];
    let rows: Vec<(f64, Vec<f64>)> = (0..9)
        .map(|k| (0.25 * k as f64, vec![k as f64, 1e300 * k as f64]))
        .collect();
    let tables = [
        ("csv", daelight_show::csv(&names, &rows).into_bytes()),
        (
            "json",
            daelight_show::table_json(&names, &rows).into_bytes(),
        ),
        (
            "parquet",
            daelight_show::parquet(&names, &rows).expect("a table"),
        ),
    ];
    let mut random = Random(7);
    let began = Instant::now();
    while began.elapsed() < TIME / 4 {
        let (format, bytes) = &tables[random.below(tables.len())];
        let bytes = mutated(bytes, &mut random);
        if let Ok(table) = Table::read(&bytes, format) {
            let lengths: Vec<usize> = table.columns.iter().map(Vec::len).collect();
            assert_eq!(lengths.len(), table.names.len());
            assert!(lengths.iter().all(|n| *n == lengths[0]), "{lengths:?}");
        }
        let _ = Records::read(&bytes);
    }
}

#[test]
fn random_words_of_the_command_line() {
    use daelight::sweep::{Axis, Measure, Shard, SweepPoints};
    let mut random = Random(11);
    let words = [
        "L=1:2:3",
        "a[1]=-1e308:1e308:7",
        "final:x",
        "singular-count:2",
        "3/8",
        "p=0:1",
    ];
    for _ in 0..20_000 {
        let word = mutated(words[random.below(words.len())].as_bytes(), &mut random);
        let word = String::from_utf8_lossy(&word);
        let _ = (Measure::read(&word), Shard::read(&word));
        if let Ok(axis) = Axis::read(&word)
            && axis.n.is_none_or(|n| n < 1000)
            && let Ok(points) = SweepPoints::grid(&[axis])
        {
            let last = points.point(points.len() - 1);
            assert!(
                last.iter().all(|value| value.is_finite()),
                "{word}: {last:?}"
            );
        }
    }
}

/// What is refused is refused before the work, and what is there stays as it is.
#[test]
fn places_that_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let within = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("UTF-8")
            .to_string()
    };
    let (csv, html, svg) = (within("no/r.csv"), within("no/r.html"), within("no/r.svg"));
    let sweep = [
        "sweep",
        "pendulum",
        "--over",
        "L=1:2:3",
        "--measure",
        "index",
    ];
    std::fs::create_dir(folder.path().join("d.csv")).expect("a folder");
    let directory = within("d.csv");
    for (arguments, out) in [
        (&["solve", "pendulum", "--out"][..], &csv),
        (&["solve", "pendulum", "--plot"], &svg),
        (&["derive", "pendulum", "--out"], &csv),
        (&["report", "pendulum", "--out"], &html),
        (&["singular", "four-bar", "--plot"], &svg),
        (&[&sweep[..], &["--out"]].concat(), &csv),
        (&[&sweep[..], &["--out"]].concat(), &directory),
        (&[&sweep[..], &["--plot"]].concat(), &svg),
        (&["solve", "pendulum", "--out"], &directory),
    ] {
        let output = daelight(&[arguments, &[out.as_str()]].concat());
        assert_eq!(code(&output), 2, "{arguments:?} {out}");
        assert!(
            stderr(&output).contains("cannot write"),
            "{}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "", "nothing was done");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let full = Path::new("/dev/full");
    if full.exists() {
        let output = daelight(&["derive", "pendulum", "--out", "/dev/full"]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains("cannot write /dev/full"));
    }
}

/// Files without an end, without content, without sense.
#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().to_str().expect("UTF-8");
    let zero = "/dev/zero";
    let model = b"model M input Real u; Real x; equation der(x) = u; end M;";
    for file in [place, "/dev/null", zero, "no/such/file.csv"] {
        if file.starts_with("/dev") && !Path::new(file).exists() {
            continue;
        }
        let input = format!("u={file}");
        for arguments in [
            &["plot", file][..],
            &["plot", file, "--out", "r.svg"],
            &["analyze", "pendulum", "--point", file],
            &["solve", "-", "--input", &input],
            &["sweep", "pendulum", "--measure", "index", "--list", file],
        ] {
            // A table without an end is refused after a gigabyte; one command of these is enough.
            if file == zero && arguments[0] != "analyze" {
                continue;
            }
            let output = daelight_with_input(arguments, model);
            let told = stderr(&output);
            assert!([1, 2].contains(&code(&output)), "{arguments:?}: {told}");
            assert!(told.contains("elp: "), "{arguments:?}: {told}");
        }
    }
}

/// Questions whose answers would fill the memory are refused.
#[test]
fn questions_without_bounds() {
    let chain = b"model M Real x[1000]; equation for i in 1:999 loop x[i]^2 + x[i + 1] = 2; end for; x[1000] = 1; end M;";
    let line: &[u8] = b"model M parameter Real p = 1; Real x; equation der(x) = p*x; end M;";
    for (arguments, text, status, told) in [
        (
            &["singular", "-"][..],
            &chain[..],
            1,
            "1000 constraints are too many",
        ),
        (
            &[
                "sweep",
                "-",
                "--measure",
                "index",
                "--over",
                "p=1:2:1000000000",
            ],
            line,
            2,
            "1000000 are possible",
        ),
        (
            &[
                "sweep",
                "-",
                "--measure",
                "index",
                "--over",
                "p=1:2",
                "--random",
                "900000000",
            ],
            line,
            2,
            "--shard 1/90",
        ),
        (
            &["solve", "-", "--plot", "x.png", "--size", "20000x20000"],
            line,
            2,
            "50 million pixels at most",
        ),
        (&["analyze", "-", "--interval", "0:1e308"], line, 0, ""),
        (
            &["analyze", "-", "--interval=-1e308:1e308"],
            line,
            0,
            "is not an interval",
        ),
    ] {
        let output = daelight_with_input(arguments, text);
        let all = stderr(&output) + &stdout(&output);
        assert_eq!(code(&output), status, "{arguments:?}: {all}");
        assert!(all.contains(told), "{arguments:?}: {all}");
    }
}

/// Large models whose work must not grow with the square of their size, and models whose budget must end the work.
#[test]
fn large_models() {
    let decoupled = |equation: &str| {
        format!(
            "model M Real x[1500](each start = 1); equation for i in 1:1500 loop {equation}; end for; \
             annotation(experiment(StopTime = 0.1)); end M;"
        )
    };
    let chain = "model M Real x[1200]; equation x[1] = sin(time); for i in 2:1200 loop x[i] = der(x[i - 1]); end for; end M;";
    for (arguments, text, expected) in [
        // Arguments that touch zero one behind the other.
        (
            &["solve", "-"][..],
            decoupled("der(x[i]) = -sqrt(x[i] + i/1e4)"),
            &[0][..],
        ),
        (
            &["solve", "-"],
            decoupled("(2 + sin(x[i] + time))*der(x[i]) = -x[i]"),
            &[0],
        ),
        // An index of 1200: each stage of the search would take its time.
        (
            &["init", "-", "--budget", "500ms"],
            chain.to_string(),
            &[0, 4],
        ),
    ] {
        let began = Instant::now();
        let output = daelight_with_input(arguments, text.as_bytes());
        let elapsed = began.elapsed();
        assert!(
            expected.contains(&code(&output)),
            "{text}: {}",
            stderr(&output)
        );
        assert!(elapsed < PATIENCE, "{elapsed:?}: {text}");
    }
}

/// Whenever Ctrl-C comes, the file is the old one or a new one.
#[cfg(unix)]
#[test]
fn interrupted_at_any_moment() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().expect("a folder");
    let commands: [(&[&str], &str, &str); 5] = [
        (
            &["solve", "pendulum", "--points", "20001"],
            "run.csv",
            "time",
        ),
        (
            &[
                "sweep",
                "pendulum",
                "--over",
                "L=1:2:99",
                "--measure",
                "final:x",
            ],
            "s.csv",
            "point",
        ),
        (
            &["singular", "andrews-constraints", "--json"],
            "c.json",
            "{",
        ),
        (
            &["report", "pendulum", "--to", "3"],
            "page.html",
            "<!DOCTYPE html>",
        ),
        (&["analyze", "pendulum", "--json"], "p.json", "{"),
    ];
    for (arguments, name, beginning) in commands {
        let out = folder.path().join(name);
        for delay in [3, 30, 120] {
            std::fs::write(&out, "old").expect("written");
            let mut child = Command::new(env!("CARGO_BIN_EXE_daelight"))
                .args(arguments)
                .arg("--out")
                .arg(&out)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program runs");
            std::thread::sleep(Duration::from_millis(delay));
            let sent = Command::new("kill")
                .args(["-INT", &child.id().to_string()])
                .stderr(Stdio::null())
                .status();
            sent.expect("kill runs");
            child.wait().expect("it ends");
            let text = std::fs::read_to_string(&out).expect("the file is there");
            let is_whole = text.starts_with(beginning) && text.ends_with('\n');
            assert!(text == "old" || is_whole, "{name} after {delay} ms");
        }
    }
}

/// A description that keeps the rules, in an archive with other files.
fn archive(description: &str, more: &[(&str, &[u8])]) -> Vec<u8> {
    let mut files = vec![(
        "modelDescription.xml".to_string(),
        description.as_bytes().to_vec(),
    )];
    files.extend(
        more.iter()
            .map(|(name, bytes)| (name.to_string(), bytes.to_vec())),
    );
    daelight_show::zip::zip(&files, true)
}

const TANK: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Tank" guid="{1}">
  <CoSimulation modelIdentifier="Tank"/>
  <ModelVariables>
    <ScalarVariable name="level" valueReference="0" causality="output">
      <Real/>
    </ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="1"/></Outputs>
    <InitialUnknowns><Unknown index="1"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"#;

/// Both commands on the bytes of an FMU: they end with status 1 and say why, and write nothing beside or above the file.
fn refused(bytes: &[u8], because: &str) {
    let top = tempfile::tempdir().expect("a folder");
    let folder = top.path().join("inner");
    std::fs::create_dir(&folder).expect("a folder");
    let path = folder.join("bad.fmu");
    std::fs::write(&path, bytes).expect("a file");
    for command in ["check", "solve"] {
        let output = daelight(&[command, path.to_str().expect("a name")]);
        let said = stderr(&output);
        assert_eq!(code(&output), 1, "{command}: {said}");
        assert!(said.contains(because), "{command}: {because}: {said}");
    }
    let count = |folder: &Path| std::fs::read_dir(folder).expect("a folder").count();
    assert_eq!((count(top.path()), count(&folder)), (1, 1), "{because}");
}

#[test]
fn bad_fmus_are_refused_and_nothing_is_written() {
    let bytes = shared_library(2, 0x3e);
    let library: (&str, &[u8]) = ("binaries/linux64/Tank.so", &bytes);
    let whole = archive(TANK, &[library]);
    refused(b"no archive at all", "it is no zip archive");
    refused(b"", "it is no zip archive");
    let n = whole.len();
    for length in [n / 4, n * 3 / 4, n - 30, n - 20, n - 2, n - 1] {
        refused(&whole[..length], "the archive is cut short or damaged");
    }
    for name in [
        "../../leave.txt",
        "/leave.txt",
        "a/../../b",
        "C:\\b",
        "..\\c",
    ] {
        let bytes = archive(TANK, &[library, (name, b"text")]);
        refused(&bytes, "could leave the folder");
    }
    // A file that says it is short and is not, and one that says how long it is.
    let mut bomb = archive(TANK, &[library, ("resources/zeros", &vec![0; 1 << 20])]);
    let declared = (1u32 << 20).to_le_bytes();
    let places: Vec<usize> = (0..bomb.len() - 4)
        .filter(|&at| bomb[at..at + 4] == declared)
        .collect();
    for (size, because) in [
        (3u32, "does not unpack to the 3 bytes"),
        (u32::MAX - 1, "more than 1024 MB are not unpacked"),
    ] {
        for &at in &places {
            bomb[at..at + 4].copy_from_slice(&size.to_le_bytes());
        }
        refused(&bomb, because);
    }
    refused(&archive("<a><b></a>", &[library]), "is not well-formed");
    refused(&archive("", &[library]), "is not well-formed");
    let entities = TANK.replace("?>", "?><!DOCTYPE a [<!ENTITY b \"bbbb\">]>");
    refused(&archive(&entities, &[library]), "is not well-formed");
    let no_token = TANK.replace(" guid=\"{1}\"", "");
    let output = archive(&no_token, &[library]);
    assert!(!output.is_empty());
}

/// The head of a library for Linux with one segment: addresses of 32 or 64 bits, and the number of its processor.
fn shared_library(class: u8, processor: u16) -> Vec<u8> {
    let mut bytes = vec![0; 120];
    bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1]);
    bytes[18..20].copy_from_slice(&processor.to_le_bytes());
    // The table of segments, the size of an entry, how many there are; then the length of the one.
    (bytes[32], bytes[54], bytes[56], bytes[96]) = (64, 56, 1, 120);
    bytes
}

#[test]
fn libraries_for_other_systems_are_refused() {
    let own = shared_library(2, 0x3e);
    let place = "binaries/linux64/Tank.so";
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("binaries/win64/Tank.dll", b"MZ".to_vec(), "x86_64 Windows"),
        (
            "binaries/aarch64-linux/Tank.so",
            shared_library(2, 0xb7),
            "only for aarch64 Linux",
        ),
        (place, shared_library(2, 0xb7), "is made for aarch64 Linux"),
        (place, shared_library(1, 0x3e), "addresses of 32 bits"),
        (
            place,
            b"a text".to_vec(),
            "is no library of a system that is known",
        ),
        (place, own[..100].to_vec(), "is cut short"),
    ];
    for (place, bytes, because) in cases {
        let told = archive(TANK, &[(place, &bytes)]);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("bad.fmu");
        std::fs::write(&path, told).expect("a file");
        let output = daelight(&["solve", path.to_str().expect("a name")]);
        let said = stderr(&output);
        assert!(
            code(&output) == 1 && said.contains(because),
            "{because}: {said}"
        );
        assert!(!said.contains("/tmp/."), "{said}");
    }
}

#[test]
fn a_description_that_breaks_the_rules_is_told_place_by_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tank.fmu");
    let sources: (&str, &[u8]) = ("sources/tank.c", b"");
    let check = |text: &str| {
        std::fs::write(&path, archive(text, &[sources])).expect("a file");
        let output = daelight(&["check", path.to_str().expect("a name")]);
        (code(&output), stderr(&output))
    };
    assert_eq!(check(TANK).0, 0, "{}", check(TANK).1);
    for (from, to, because) in [
        ("guid", "guide", "has no attribute `guid`"),
        ("2.0", "1.0", "FMI 1.0 is not read"),
        ("\"Tank\"/", "\"T k\"/", "is not a name in C"),
        (
            "CoSimulation",
            "Simulation",
            "neither for co-simulation nor",
        ),
        ("<Real/>", "<Float64/>", "has no type of FMI"),
        ("<Real/>", "<Real unit=\"m\"/>", "does not declare"),
        (
            "<Real/>",
            "<Real start=\"1\"/>",
            "must not have a start value",
        ),
        (
            "<Real/>",
            "<Real derivative=\"7\"/>",
            "is the derivative of variable 7",
        ),
        ("\"output\"", "\"parameter\"", "has no start value"),
        (
            "\"output\"",
            "\"input\"",
            "is listed as an output, and is none",
        ),
        ("\"output\"", "\"outcome\"", "which FMI does not know"),
        (
            "valueReference=\"0\"",
            "valueReference=\"-1\"",
            "not the number it has to be",
        ),
        (
            "<Outputs><Unknown index=\"1\"/>",
            "<Outputs>",
            "has no `Output` here",
        ),
        (
            "<Outputs><Unknown index=\"1\"/>",
            "<Outputs><Unknown index=\"2\"/>",
            "that of no variable",
        ),
        (
            "index=\"1\"/></I",
            "index=\"1\" dependencies=\"9\"/></I",
            "a dependency on `9`",
        ),
        (
            "index=\"1\"/></I",
            "index=\"1\" dependencies=\"1\" dependenciesKind=\"a b\"/></I",
            "1 dependencies and 2 kinds",
        ),
    ] {
        assert!(TANK.contains(from), "{from}");
        let (code, said) = check(&TANK.replace(from, to));
        assert_eq!(code, 1, "{because}");
        assert!(said.contains(because), "{because}: {said}");
    }
}
