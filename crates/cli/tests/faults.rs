//! Ten faults of component models: each message names components, lines and what to do. Units: what is clean, and what is planted.

use crate::common::{Random, daelight, daelight_with_input, root, status, stderr, stdout};
use std::path::Path;

/// The models of the page of faults, by file name.
fn models_of_page(folder: &Path) {
    let page = std::fs::read_to_string(root().join("docs/guide/faults.md")).expect("the page");
    for block in page.split("```modelica\n").skip(1) {
        let text = block.split("```").next().expect("a text");
        let name = text
            .split_whitespace()
            .nth(1)
            .expect("a name")
            .to_lowercase();
        std::fs::write(folder.join(format!("{name}.mo")), text).expect("a file");
    }
}

#[test]
fn each_fault_names_components_lines_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    models_of_page(folder.path());
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "check",
            "twosources",
            &[
                "`battery1`",
                "`battery2`",
                ":3:",
                "line 8: connect",
                "take one of these out",
            ],
        ),
        (
            "solve",
            "twosources",
            &["battery1", "battery2", "contradict", "take part"],
        ),
        ("solve", "floating", &["load.n", ":12:3", "to a ground"]),
        (
            "check",
            "twospeeds",
            &["`left`", "`shaft`", "`right`", "remove one of them"],
        ),
        (
            "solve",
            "noground",
            &["c.n", ":9:3", "connect `c.n` to a ground"],
        ),
        ("init", "noground", &["c.n"]),
        ("check", "openpin", &["`load`", ":5:", "connect `load.p`"]),
        (
            "check",
            "rigidloop",
            &["`ab`", "`bc`", "`ac`", "close a loop", ":4:"],
        ),
        (
            "check",
            "wrongunit",
            &["J*der(w) = F", "kg.m2/s2", "right N", ":7:3"],
        ),
        (
            "check",
            "wrongconnector",
            &["wheel.b", "load.a", "phi, tau", "s, f", ":7:3"],
        ),
        (
            "check",
            "noload",
            &["bench.load", "OnePort", ":5:", "redeclare"],
        ),
        (
            "check",
            "circle",
            &[
                "source.V needs r.R needs c.C",
                ":3:",
                "give `source.V` a value",
            ],
        ),
    ];
    for (command, model, words) in cases {
        let path = folder.path().join(format!("{model}.mo"));
        let output = daelight(&[command, path.to_str().expect("a path")]);
        let text = stderr(&output) + &stdout(&output);
        for word in *words {
            assert!(
                text.contains(word),
                "{command} {model} lacks {word}\n{text}"
            );
        }
    }
}

#[test]
fn the_library_is_clean_under_strict_units() {
    for example in daelight::parts_examples() {
        let output = daelight(&["check", &example.name, "--units", "strict"]);
        let text = stderr(&output);
        assert!(
            output.status.success() && text.is_empty(),
            "{}: {text}",
            example.name
        );
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &target),
            false => {
                std::fs::write(&target, std::fs::read(&path).expect("a text")).expect("a file")
            }
        }
    }
}

/// The unit of one type of the library is wrong: an example that uses the type tells it, unless nobody looks.
#[test]
fn a_planted_unit_is_found() {
    let cases = [
        ("Torque", "N.m", "Rotational.Examples.GearTrain"),
        ("Inertia", "kg.m2", "Rotational.Examples.Torsion"),
        ("Resistance", "Ohm", "Electrical.Examples.LowPass"),
        ("Capacitance", "F", "Electrical.Examples.CapacitorLoop"),
        ("Inductance", "H", "Electrical.Examples.InductorCut"),
        ("MotorConstant", "N.m/A", "Examples.MotorWithGear"),
        ("HeatCapacity", "J/K", "Thermal.Examples.TwoBodies"),
        ("Stiffness", "N/m", "Translational.Examples.Oscillator"),
        ("Acceleration", "m/s2", "Planar.Examples.Pendulum"),
        ("Velocity", "m/s", "Planar.Examples.Pendulum"),
    ];
    let library = root().join("crates/daelight/library/Parts");
    for (name, unit, example) in cases {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy(&library, &folder.path().join("Parts"));
        let units = folder.path().join("Parts/Units.mo");
        let text = std::fs::read_to_string(&units).expect("a text");
        let line = text
            .lines()
            .find(|line| line.contains(&format!("type {name} ")));
        let line = line.expect("a type");
        let wrong = line.replace(&format!("unit = \"{unit}\""), "unit = \"mol\"");
        assert_ne!(line, wrong);
        std::fs::write(&units, text.replace(line, &wrong)).expect("a file");
        let library = folder.path().to_str().expect("a path");
        let check = |how: &str| {
            let model = format!("Parts.{example}");
            daelight(&["check", &model, "--library", library, "--units", how])
        };
        let (warned, strict, off) = (check("warn"), check("strict"), check("off"));
        assert!(stderr(&warned).contains("unit-mismatch"), "{name}");
        assert!(warned.status.success() && off.status.success(), "{name}");
        assert_eq!(strict.status.code(), Some(1), "{name}");
        assert!(stderr(&off).is_empty(), "{name}");
    }
}

/// Random circuits of four kinds of parts: with a ground they are clean, without one the message says that nothing fixes the potentials.
#[test]
fn a_circuit_without_a_ground_is_told_by_check_and_solve() {
    let mut random = Random(17);
    for case in 0..40 {
        let n_nodes = 3 + random.below(4);
        let mut parts = String::new();
        let mut wires = String::new();
        // The first pin that was joined to each node.
        let mut pin_of: Vec<Option<String>> = vec![None; n_nodes];
        let mut join = |node: usize, pin: String, wires: &mut String| match &pin_of[node] {
            Some(first) => wires.push_str(&format!("connect({first}, {pin});\n")),
            None => pin_of[node] = Some(pin),
        };
        // A ring of all nodes, and some chords.
        let ring = (0..n_nodes).map(|k| (k, (k + 1) % n_nodes));
        let chords = (0..2).map(|_| (0, 1 + random.below(n_nodes - 1)));
        let edges: Vec<(usize, usize)> = ring.chain(chords.collect::<Vec<_>>()).collect();
        for (k, (from, to)) in edges.into_iter().enumerate() {
            let kind = match (k, random.below(3)) {
                (0, _) => format!(
                    "Capacitor p{k}(C = {}, v(start = 1, fixed = true))",
                    random.between(0.1, 2.0)
                ),
                (_, 0) => format!("JunctionDiode p{k}"),
                (_, 1) => format!("Inductor p{k}(L = {})", random.between(0.1, 2.0)),
                _ => format!("Resistor p{k}(R = {})", random.between(0.1, 9.0)),
            };
            parts.push_str(&format!("Parts.Electrical.{kind};\n"));
            join(from, format!("p{k}.p"), &mut wires);
            join(to, format!("p{k}.n"), &mut wires);
        }
        let model = |ground: &str, wire: &str| {
            format!("model Random\n{parts}{ground}equation\n{wires}{wire}end Random;\n")
        };
        let grounded = model("Parts.Electrical.Ground g;\n", "connect(g.p, p0.p);\n");
        let output = daelight_with_input(&["check", "-"], grounded.as_bytes());
        assert_eq!(
            status(&output),
            0,
            "case {case}: {}\n{grounded}",
            stderr(&output)
        );
        let floating = model("", "");
        let output = daelight_with_input(&["check", "-"], floating.as_bytes());
        assert_eq!(status(&output), 1, "case {case}\n{floating}");
        let said = stderr(&output);
        assert!(
            said.contains("nothing fixes the potentials of"),
            "{said}\n{floating}"
        );
        assert!(said.contains("to a ground"), "{said}");
        if case % 4 > 0 {
            continue;
        }
        let arguments = ["solve", "-", "--to", "0.1", "--budget", "2s"];
        let output = daelight_with_input(&arguments, floating.as_bytes());
        assert_ne!(status(&output), 0, "case {case}\n{floating}");
        assert!(
            stderr(&output).contains("to a ground"),
            "{}\n{floating}",
            stderr(&output)
        );
    }
}

/// Two outputs that are joined, directly or at an input, and a component whose sides are joined, are told as that.
#[test]
fn wrong_connections_are_told_as_connections() {
    let blocks = |connections: &str| {
        format!(
            "model Outs import Parts.Blocks.*; Constant a(k = 1); Sine b; Gain g(k = 2);\nequation\n{connections}\nend Outs;"
        )
    };
    let circuit =
        "model Sides import Parts.Electrical.*; ConstantVoltage battery(V = 12); Ground ground;
equation
connect(battery.p, battery.n);
connect(battery.n, ground.p);
end Sides;";
    let both = ["`a.y` and `b.y` are outputs", "joins `a.y` and `b.y`"];
    let cases = [
        (blocks("connect(a.y, b.y); connect(b.y, g.u);"), both),
        (blocks("connect(a.y, g.u); connect(b.y, g.u);"), both),
        (
            circuit.to_string(),
            ["joins both sides of `battery`", "take this connection out"],
        ),
    ];
    for (text, words) in cases {
        let output = daelight_with_input(&["check", "-"], text.as_bytes());
        assert_eq!(status(&output), 1, "{text}");
        for word in words {
            assert!(
                stderr(&output).contains(word),
                "{word}: {}",
                stderr(&output)
            );
        }
    }
}

/// `solve` shows which components have too many or too few equations, and each place under its own text.
#[test]
fn solve_tells_what_does_not_match_in_components() {
    let sources = "model Two
  import Parts.Electrical.*;
  SineVoltage a(V = 1);
  SineVoltage b(V = 2);
  Ground ground;
  Resistor r(R = 1);
equation
  connect(a.p, b.p); connect(a.n, b.n); connect(a.n, ground.p);
  connect(r.p, a.p); connect(r.n, a.n);
end Two;
";
    let open = "model Open
  Parts.Blocks.Gain gain(k = 2);
end Open;
";
    for (text, words) in [
        (sources, ["contradict", "<stdin>:3:15", "take part"]),
        (open, ["`gain`", "<stdin>:2:21", "connect"]),
    ] {
        let output = daelight_with_input(&["solve", "-", "-q"], text.as_bytes());
        assert_eq!(status(&output), 1, "{text}");
        let said = stderr(&output);
        for word in words {
            assert!(said.contains(word), "{word}: {said}");
        }
        assert!(!said.contains("see `daelight check"), "{said}");
    }
}

/// Every header of a message names the text and the first marked line below it.
#[test]
fn headers_name_the_lines_below_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let inside = "package Lib\n\n\n\n  model Pair extends Parts.Electrical.OnePort;\n    Parts.Electrical.ConstantVoltage a(V = 1);\n  equation\n\
                  connect(p, a.p); connect(n, a.n);\n  end Pair;\nend Lib;\n";
    std::fs::create_dir(folder.path().join("Lib")).expect("a folder");
    std::fs::write(folder.path().join("Lib/package.mo"), inside).expect("a file");
    let text = "model M
  Parts.Electrical.SineVoltage s(V = 2, w = 3);
  Lib.Pair pair;
  Parts.Electrical.Ground ground;
equation
  connect(s.p, pair.p); connect(s.n, pair.n); connect(s.n, ground.p);
end M;
";
    let library = folder.path().to_str().expect("a path");
    let arguments = ["check", "-", "--library", library];
    let said = stderr(&daelight_with_input(&arguments, text.as_bytes()));
    let mut expected = None;
    let mut n_headers = 0;
    for line in said.lines() {
        if let Some((_, place)) = line.split_once("─[ ") {
            let place = place.trim_end_matches(" ]");
            let text = if place.contains("package.mo") {
                inside
            } else {
                text
            };
            let number = place
                .rsplit(':')
                .nth(1)
                .and_then(|it| it.parse::<usize>().ok());
            expected = number.map(|number| (number, text.lines().nth(number - 1)));
        } else if let (Some((number, shown)), Some((left, right))) =
            (expected, line.split_once(" │ "))
            && left.trim().parse() == Ok(number)
        {
            assert_eq!(Some(right.trim()), shown.map(str::trim), "{said}");
            n_headers += 1;
            expected = None;
        }
    }
    assert!(n_headers >= 2 && expected.is_none(), "{said}");
}

/// Fixed values of components are marked where the model gives them, not inside the library.
#[test]
fn fixed_values_of_components_are_marked_in_the_model() {
    let text = "model Caps
  import Parts.Electrical.*;
  SineVoltage source(V = 10, w = 2);
  Capacitor c1(C = 2e-3, v(start = 1, fixed = true));
  Capacitor c2(C = 1e-3, v(start = 1, fixed = true));
  Ground ground;
equation
  connect(source.p, c1.p);
  connect(c1.n, c2.p);
  connect(c2.n, source.n);
  connect(source.n, ground.p);
end Caps;
";
    let said = stderr(&daelight_with_input(&["init", "-"], text.as_bytes()));
    for words in [
        ":4:",
        "c1.v = 1 must hold",
        "c2.v = 1 must hold",
        "[in c",
        "free; with",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("package.mo"), "{said}");
}
