//! Help that can be followed: what a message tells to do leads out of the place it stands in.

use crate::common::{Random, daelight_with_input, json_of, number, status, stderr, stdout};

/// A slider-crank with a motor; `start` goes into the declaration of `beta`.
fn crank(length: &str, start: &str) -> String {
    format!(
        "model Crank
          parameter Real r = 0.1, l = {length}, m = 2, k = 500, x0 = 0.2, w = 10;
          Real phi, beta{start}, x(start = -0.2), v, S, M;
        equation
          phi = w*time;
          x = r*cos(phi) + l*cos(beta);
          0 = r*sin(phi) - l*sin(beta);
          v = der(x);
          m*der(v) = S*cos(beta) - k*(x - x0);
          M + S*r*sin(phi + beta) = 0;
          annotation(experiment(StopTime = 0.05));
        end Crank;"
    )
}

fn solved(text: &str, arguments: &[&str]) -> (i32, String) {
    let output = daelight_with_input(&[&["solve", "-"], arguments].concat(), text.as_bytes());
    let words = format!("{}{}", stdout(&output), stderr(&output));
    // Lines are broken where the terminal ends.
    let words: Vec<&str> = words.split_whitespace().collect();
    (status(&output), words.join(" "))
}

#[test]
fn an_advised_start_value_leads_to_the_closer_solution() {
    let (code, words) = solved(&crank("0.3", ""), &[]);
    assert_eq!(code, 0, "{words}");
    // x = -0.2 is written already: another start value must be named.
    assert!(
        words.contains("it has x = -0.2; write `beta(start = "),
        "{words}"
    );
    let advised = words.split("write `beta").nth(1).expect("advice");
    let advised = advised.split('`').next().expect("its end");
    let (_, found) = json_of(&crank("0.3", advised), &["solve", "-", "--save-at", "0"]);
    let began = number(&found["samples"]["x"][0]);
    assert!((began + 0.2).abs() < 1e-9, "{began}");
    let (_, words) = solved(&crank("0.3", advised), &[]);
    assert!(!words.contains("another branch"), "{words}");
}

#[test]
fn what_grows_without_bound_is_told_with_its_locus() {
    // The rod is shorter than the crank: it stands upright where 0.1*sin(10 t) = 0.08, and S grows without bound.
    let text = crank("0.08", "").replace("x(start = -0.2)", "x(start = 0.18)");
    let (code, words) = solved(&text, &["--to", "1"]);
    assert_eq!(code, 3, "{words}");
    assert!(
        words.contains("grows without bound where cos(beta) = 0"),
        "{words}"
    );
    // No finite force makes this factor zero, and it is still what the solution runs into.
    let knee = "model Knee Real a(start = 0.45), S; equation
        2*0.5*cos(a) = 0.9 + 0.1*sin(time);  2*S*sin(a) = 10;
        annotation(experiment(StopTime = 4)); end Knee;";
    let (code, words) = solved(knee, &[]);
    assert_eq!(code, 3, "{words}");
    assert!(
        words.contains("grows without bound where sin(a) = 0"),
        "{words}"
    );
}

#[test]
fn a_mass_that_is_zero_is_named() {
    let linkage = "model Linkage
          parameter Real a = 1, d = 2, J = 1, m = 1;
          Real p(start = 1, fixed = true), q(start = 0), s(start = 1), z[2];
        initial equation
          der(p) = 3;
        equation
          lagrange(J/2*(der(p)^2 + der(q)^2 + der(s)^2) + m/2*(a*der(p))^2, 0, {p, q, s},
            {a*cos(p) + d*cos(q) - a*cos(s) - d, a*sin(p) + d*sin(q) - a*sin(s)}, z);
        end Linkage;";
    let (code, words) = solved(linkage, &["--set", "m=0", "--set", "J=0"]);
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("leave 1 unknown free"), "{words}");
    assert!(
        words.contains("help: give `J` another value than 0"),
        "{words}"
    );
    assert!(!words.contains("taylor"), "{words}");
    let (code, words) = solved(linkage, &["--set", "m=0", "--to", "0.1"]);
    assert_eq!(code, 0, "{words}");
}

#[test]
fn a_run_tells_units_that_do_not_match() {
    let text = "model Wheel
          parameter Real f(unit = \"Hz\") = 50;
          Real phi(unit = \"rad\", start = 0, fixed = true);
        equation
          der(phi) = f;
        end Wheel;";
    let (code, words) = solved(text, &[]);
    assert_eq!(code, 0, "{words}");
    let told = "Units do not match in line 5: the sides of `der(phi) = f` have different units (left rad/s, right Hz)";
    assert!(words.contains(told), "{words}");
    let (_, words) = solved(&text.replace("= f;", "= 6.283185307179586*f;"), &[]);
    assert!(!words.contains("Units"), "{words}");
}

#[test]
fn contradictions_around_a_loop_name_its_components() {
    let text = "model Loop
          Parts.Electrical.Capacitor c1(C = 1e-6, v(start = 1, fixed = true));
          Parts.Electrical.Capacitor c2(C = 2e-6, v(start = 2, fixed = true));
          Parts.Electrical.ConstantVoltage u(V = 5);
          Parts.Electrical.Resistor r(R = 10);
          Parts.Electrical.Ground g;
        equation
          connect(u.p, c1.p); connect(c1.n, c2.p); connect(c2.n, u.n);
          connect(c1.p, r.p); connect(r.n, g.p); connect(u.n, g.p);
        end Loop;";
    let (code, words) = solved(text, &[]);
    assert_eq!(code, 1, "{words}");
    // The resistor is in parallel: it is no part of the loop.
    assert!(
        words.contains("contradict each other around the loop of c1, c2, u"),
        "{words}"
    );
    // 1 + 2 - 5 V.
    assert!(
        words.contains("around the loop, left minus right gives -2"),
        "{words}"
    );
}

#[test]
fn a_driven_crank_has_the_singular_configurations_of_its_rod() {
    let count = |length: &str| {
        let (code, found) = json_of(&crank(length, ""), &["singular", "-"]);
        assert_eq!(code, 0, "{found}");
        assert_eq!(found["locked"][0], "phi");
        found["configurations"].as_array().expect("a list").len()
    };
    // The rod stands upright at two angles of the crank on either side, at one of each where both are as long, and at none.
    assert_eq!((count("0.08"), count("0.1"), count("0.3")), (4, 2, 0));
}

#[test]
fn checks_count_what_the_text_declares() {
    let text = "model Bounce
          parameter Real m = 2, k = 200, e = 0.5, d = 0.05;
          Real x(start = 0.1, fixed = true), v(start = 0, fixed = true);
          Integer n(start = 0, fixed = true);
        equation
          der(x) = v;
          m*der(v) = -k*x;
          when x < -d then
            reinit(v, -e*pre(v));
            n = pre(n) + 1;
          end when;
        end Bounce;";
    let output = daelight_with_input(&["check", "-"], text.as_bytes());
    assert!(
        stdout(&output).contains("4 parameters, 1 discrete variable\n"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn components_that_contradict_each_other_are_named() {
    let circuit = |second: &str| {
        format!(
            "model Circuit
               Parts.Electrical.ConstantVoltage u(V = 5);
               {second};
               Parts.Electrical.Ground g;
             equation
               connect(u.p, other.p); connect(u.n, other.n); connect(g.p, u.n);
             end Circuit;"
        )
    };
    let source = circuit("Parts.Electrical.ConstantVoltage other(V = 6)");
    let (code, words) = solved(&source, &[]);
    assert_eq!(code, 1, "{words}");
    assert!(
        words.contains("the components u, other contradict each other"),
        "{words}"
    );
    assert!(
        words.contains("other.V - u.V = 0, and that is 1"),
        "{words}"
    );
    // The places are those of the model, not of the library.
    assert!(!words.contains("package.mo"), "{words}");
    let short = circuit("Parts.Electrical.Resistor other(R = 0)");
    let (_, words) = solved(&short, &[]);
    assert!(words.contains("-u.V = 0, and that is -5"), "{words}");
}

#[test]
fn a_length_of_zero_is_named_at_the_singular_start() {
    let text = "model Pendulum
          parameter Real L = 0;
          Real x(start = 1), y, vx, vy, T;
        equation
          der(x) = vx; der(y) = vy; der(vx) = -T*x; der(vy) = -T*y - 9.81;
          x^2 + y^2 = L^2;
        end Pendulum;";
    let (code, words) = solved(text, &[]);
    assert_eq!(code, 3, "{words}");
    assert!(
        words.contains("help: give `L` another value than 0"),
        "{words}"
    );
}

#[test]
fn units_of_start_values_are_compared() {
    let text = "model Pendulum
          parameter Real phi0(unit = \"deg\") = 30;
          Real phi(unit = \"rad\", start = phi0, fixed = true), w(unit = \"rad/s\", start = 0, fixed = true);
        equation
          der(phi) = w;
          der(w) = -9.81*sin(phi);
        end Pendulum;";
    let output = daelight_with_input(&["check", "-"], text.as_bytes());
    let words = stderr(&output);
    assert!(
        words.contains("the quantity is in rad, its value in deg"),
        "{words}"
    );
}

#[test]
fn classes_of_libraries_that_are_misspelt_are_found() {
    let text = "model Circuit Parts.Electrical.Resistr r(R = 10); end Circuit;";
    let output = daelight_with_input(&["check", "-"], text.as_bytes());
    let words = stderr(&output);
    assert!(
        words.contains("did you mean `Parts.Electrical.Resistor`?"),
        "{words}"
    );
}

#[test]
fn wrong_uses_say_what_to_write() {
    let spring = "model Spring input Real F; Real x(start = 1, fixed = true); equation der(x) = F - x; end Spring;";
    let cases: [(&[&str], &str); 5] = [
        (
            &["solve", "-", "--input", "F=sin(time)"],
            "write `input Real F = sin(time);`",
        ),
        (
            &["solve", "-", "--library", "/no/such/folder"],
            "there is no such folder",
        ),
        (
            &["solve", "-", "--method", "bdf-fixed", "--step", "0.3"],
            "3.33333 steps, which is no whole number",
        ),
        (
            &["solve", "Parts.Electrical.Examples.Lowpass"],
            "did you mean `Parts.Electrical.Examples.LowPass`?",
        ),
        (
            &["solve", "Nowhere.Examples.First"],
            "the folder that holds `Nowhere`",
        ),
    ];
    for (arguments, wanted) in cases {
        let output = daelight_with_input(arguments, spring.as_bytes());
        assert!(
            stderr(&output).contains(wanted),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn constraints_of_lagrange_that_cannot_be_solved_are_told_by_their_formulas() {
    let text = "model Loop
          Real phi(start = 0.5), psi(start = 1), z[2];
        equation
          lagrange(0.5*der(phi)^2 + 0.5*der(psi)^2, 0, {phi, psi},
            {cos(phi) + 2*cos(psi) - 4, sin(phi) + 2*sin(psi)}, z);
        end Loop;";
    let (code, words) = solved(text, &[]);
    assert_eq!(code, 4, "{words}");
    assert!(
        words.contains("`cos(phi) + 2*cos(psi) - 4 = 0` could not be solved for phi, psi"),
        "{words}"
    );
}

#[test]
fn conditions_of_a_case_are_told_once() {
    let text = "model Rope Real x, z, s, r; equation (x - s)^2 + z^2 = r^2; end Rope;";
    let output = daelight_with_input(&["singular", "-"], text.as_bytes());
    assert_eq!(
        stdout(&output).matches("s - x = 0").count(),
        1,
        "{}",
        stdout(&output)
    );
}

#[test]
fn pages_tell_of_a_closer_start() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("crank.html");
    let page = page.to_str().expect("UTF-8");
    let text = crank("0.3", "");
    let output = daelight_with_input(&["report", "-", "--out", page], text.as_bytes());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let written = std::fs::read_to_string(page).expect("the page");
    assert!(written.contains("A solution on another branch is closer"));
}

/// A rod shorter than its crank jams: the loop is the cause, whatever forces follow from it, and whatever is infinite by it.
#[test]
fn a_jammed_loop_is_the_cause_of_what_it_makes_infinite() {
    let mut random = Random(0x5eed_1a3b);
    for _ in 0..4 {
        let crank = random.between(0.2, 0.5);
        let rod = crank * random.between(0.3, 0.8);
        let mass = random.between(0.5, 3.0);
        for force in [
            "m*der(v) = S*cos(beta)",
            "S = m*der(v)",
            "m*der(v) = S*cos(beta) - 5*v",
        ] {
            let text = format!(
                "model Crank parameter Real r = {crank}, l = {rod}, m = {mass};
                   Real phi, beta(start = 0), x(start = 0.5), v, S;
                 equation
                   phi = 4*time; r*sin(phi) = l*sin(beta); x = r*cos(phi) + l*cos(beta); v = der(x);
                   {force};
                 end Crank;"
            );
            let (code, found) = json_of(&text, &["solve", "-", "--to", "1"]);
            assert_eq!(code, 3, "{text}");
            let found = &found["singularities"][0];
            assert_eq!(
                found["equations"][0], "r*sin(phi) = l*sin(beta)",
                "{text}\n{found}"
            );
            assert_eq!(found["unknowns"][0], "beta", "{text}\n{found}");
            let jammed = (rod / crank).asin() / 4.0;
            assert!((number(&found["time"]) - jammed).abs() < 1e-6, "{found}");
        }
    }
}

/// A lift that starts stretched, or has to begin beyond its reach: `report` ends as `solve` does, and nobody advises what there is not.
#[test]
fn starts_that_are_singular_or_impossible() {
    let mut random = Random(0x5eed_1a3c);
    for _ in 0..3 {
        let length = random.between(1.0, 3.0);
        for (height, expected) in [(length, 3), (1.2 * length, 4)] {
            let text = format!(
                "model Lift parameter Real L = {length}, h0 = {height}; Real th(start = 0.5), h, F; equation
                   h = L*sin(th); h = h0 + 0.3*time; F = der(h)*cos(th); end Lift;"
            );
            let (code, words) = solved(&text, &["--to", "1"]);
            assert_eq!(code, expected, "{words}");
            assert!(!words.contains("those of a regular point"), "{words}");
            assert!(!words.contains("fixed"), "{words}");
            let report = ["report", "-", "--out", "-"];
            let output = daelight_with_input(&report, text.as_bytes());
            assert_eq!(status(&output), expected, "{}", stderr(&output));
            let words = stderr(&output) + &stdout(&output);
            assert!(!words.contains("start with --nearest") && !words.contains("that are fixed"));
        }
    }
}

/// A length of 0 is named, as a mass of 0 is.
#[test]
fn a_length_of_zero_is_named() {
    for (mass, length, name) in [(0.0, 2.0, "m"), (12.0, 0.0, "L")] {
        let text = format!(
            "model Ladder parameter Real L = {length}, m = {mass}, J = m*L^2/12;
               Real x, y, phi(start = 1.2, fixed = true), vx, vy, w(start = 0, fixed = true), Nw, Nf;
             equation
               x = L/2*cos(phi); y = L/2*sin(phi); vx = der(x); vy = der(y); w = der(phi);
               m*der(vx) = Nw; m*der(vy) = Nf - m*9.81; J*der(w) = L/2*sin(phi)*Nw - L/2*cos(phi)*Nf;
             end Ladder;"
        );
        let (code, words) = solved(&text, &["--to", "1"]);
        assert_eq!(code, 1, "{words}");
        let advised = format!("give `{name}` another value than 0");
        assert!(words.contains(&advised), "{words}");
    }
}

/// Blocks that are singular at one point are told apart.
#[test]
fn labels_tell_singular_blocks_apart() {
    let text = "model Two Real a(start = 1.5), b, x; equation
        sin(a) = 1 + 0*x; x = time; b*cos(a) = 0*a; end Two;";
    let output = daelight_with_input(&["init", "-"], text.as_bytes());
    let words = stderr(&output);
    assert!(
        words.contains("of another block that is singular too"),
        "{words}"
    );
    assert!(!words.contains("of the same block"), "{words}");
}

/// A choice between numbers other than 0 vanishes nowhere: it is no place where a model becomes singular.
#[test]
fn a_choice_between_numbers_is_no_singular_place() {
    let mut random = Random(0x5eed_1a3d);
    for _ in 0..4 {
        let (small, large) = (random.between(1e-6, 1e-3), random.between(1.0, 50.0));
        let text = format!(
            "model Diode parameter Real Ron = {small}, Roff = {large}; Real s(start = 1), u, i; equation
               u = 5*sin(3*time + 1);
               u = s*(if s < 0 then 1 else if s > 20 then 2*Ron else Ron) + i;
               i = s*(if s < 0 then 1/Roff else 1); end Diode;"
        );
        let output = daelight_with_input(&["analyze", "-"], text.as_bytes());
        let words = stdout(&output);
        assert!(!words.contains("Where it becomes singular"), "{words}");
        // One that can be 0 is one.
        let text = text
            .replace("2*Ron", "(s - 30)")
            .replace("else Ron", "else s - 2");
        let output = daelight_with_input(&["analyze", "-"], text.as_bytes());
        assert!(
            stdout(&output).contains("Where it becomes singular"),
            "{text}"
        );
    }
}

/// What others call things is understood.
#[test]
fn words_of_others_are_understood() {
    for (wrong, right) in [("Bool", "Boolean"), ("int", "Integer"), ("double", "Real")] {
        let text = format!("model M {wrong} b; equation b = 1; end M;");
        let output = daelight_with_input(&["check", "-"], text.as_bytes());
        let told = format!("did you mean `{right}`?");
        assert!(stderr(&output).contains(&told), "{}", stderr(&output));
    }
    let ball = "model Ball Real h(start = 1, fixed = true), v(start = 0, fixed = true); equation
        der(h) = v; der(v) = -10; when h < 0 then reinit(v, -0.5*pre(v)); end when; end Ball;";
    let (code, words) = solved(ball, &["--stop-when", "h == 0.5"]);
    assert_eq!(code, 2, "{words}");
    assert!(words.contains("say from which side"), "{words}");
    let (_, words) = solved(ball, &["--tend", "2"]);
    assert!(words.contains("use '--to'"), "{words}");
}
