//! Linear models against transfer functions worked out by hand, at random constants.

use crate::common::{Random, daelight_with_input, document, number, stdout};
use serde_json::Value;

fn linearize(text: &str, arguments: &[&str]) -> Value {
    let all = [&["linearize", "-", "--json"], arguments].concat();
    document(&daelight_with_input(&all, text.as_bytes()))
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    let row = |row: &Value| row.as_array().expect("a row").iter().map(number).collect();
    value
        .as_array()
        .expect("a matrix")
        .iter()
        .map(row)
        .collect()
}

/// C (s - A)^-1 B + D(s) of the first input and the first output, by elimination with pivots.
fn transfer(found: &Value, s: f64) -> f64 {
    transfer_of(found, 0, s)
}

/// The same of another input.
fn transfer_of(found: &Value, input: usize, s: f64) -> f64 {
    let (a, b, c) = (rows(&found["a"]), rows(&found["b"]), rows(&found["c"]));
    let n = a.len();
    let mut work: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let entry = |j: usize| if i == j { s - a[i][j] } else { -a[i][j] };
            (0..n).map(entry).chain([b[i][input]]).collect()
        })
        .collect();
    for k in 0..n {
        let best = (k..n).max_by(|&i, &j| work[i][k].abs().total_cmp(&work[j][k].abs()));
        work.swap(k, best.expect("a row"));
        for i in 0..n {
            if i != k {
                let factor = work[i][k] / work[k][k];
                let pivot = work[k].clone();
                (0..=n).for_each(|j| work[i][j] -= factor * pivot[j]);
            }
        }
    }
    let states: f64 = (0..n).map(|k| c[0][k] * work[k][n] / work[k][k]).sum();
    let powers = found["d"].as_array().expect("powers of s").iter();
    let direct: f64 = (powers.enumerate())
        .map(|(power, d)| rows(d)[0][input] * s.powi(power as i32))
        .sum();
    states + direct
}

fn close(found: f64, truth: f64, what: &str) {
    let size = truth.abs().max(1e-300);
    assert!(
        (found - truth).abs() <= 1e-12 * size,
        "{what}: {found} for {truth}"
    );
}

/// Eigenvalues as pairs, sorted.
fn eigenvalues(found: &Value) -> Vec<(f64, f64)> {
    let pair = |e: &Value| (number(&e["re"]), number(&e["im"]));
    let mut all: Vec<_> = found.as_array().expect("a list").iter().map(pair).collect();
    all.sort_by(|x, y| x.partial_cmp(y).expect("numbers"));
    all
}

#[test]
fn a_pendulum_of_index_3_is_an_oscillator() {
    let mut random = Random(1);
    for _ in 0..8 {
        let [m, g, l] = [0; 3].map(|_| random.between(0.3, 9.0));
        let text = format!(
            "model P\n  input Real u;\n  output Real x(start = 0);\n  Real y(start = -{l}), v, w, f;\nequation\n  der(x) = v;  der(y) = w;\n  \
             {m}*der(v) = -f*x + u;  {m}*der(w) = -f*y - {m}*{g};\n  x^2 + y^2 = {l}^2;\nend P;\n"
        );
        let found = linearize(&text, &["--rest"]);
        assert_eq!(found["at_rest"], true, "{found}");
        let s = random.between(0.5, 4.0);
        close(transfer(&found, s), 1.0 / m / (s * s + g / l), "G");
        let [(re, im), (_, other)] = eigenvalues(&found["poles"])[..] else {
            panic!("two poles: {found}");
        };
        assert!(re.abs() < 1e-10, "{found}");
        close(other.abs(), (g / l).sqrt(), "pole");
        close(im.abs(), (g / l).sqrt(), "pole");
        assert_eq!(found["zeros"], serde_json::json!([]), "{found}");
    }
}

#[test]
fn a_loop_of_capacitors_is_improper_to_its_current() {
    let mut random = Random(2);
    for _ in 0..8 {
        let [c1, c2] = [0; 2].map(|_| 1e-6 * random.between(0.2, 5.0));
        let r = random.between(100.0, 5000.0);
        let text = format!(
            "model D\n  input Real us;\n  Real u1, u2, i1, i2, ir;\nequation\n  {c1}*der(u1) = i1;  {c2}*der(u2) = i2;\n  \
             ir = u2/{r};  i1 = i2 + ir;  us = u1 + u2;\nend D;\n"
        );
        let s = random.between(10.0, 3000.0);
        let to_u2 = linearize(&text, &["--outputs", "u2"]);
        let g = c1 * s / ((c1 + c2) * s + 1.0 / r);
        close(transfer(&to_u2, s), g, "to u2");
        close(
            eigenvalues(&to_u2["poles"])[0].0,
            -1.0 / (r * (c1 + c2)),
            "pole",
        );
        let zeros = eigenvalues(&to_u2["zeros"]);
        assert!(zeros.len() == 1 && zeros[0].0.abs() < 1e-6, "{to_u2}");
        let to_i1 = linearize(&text, &["--outputs", "i1"]);
        close(transfer(&to_i1, s), c1 * s * (1.0 - g), "to i1");
        let d = to_i1["d"].as_array().expect("powers");
        assert_eq!(d.len(), 2, "{to_i1}");
        close(rows(&d[1])[0][0], c1 * c2 / (c1 + c2), "D1");
    }
}

#[test]
fn the_force_that_follows_a_motion_holds_its_second_derivative() {
    let text = "model F\n  input Real u = sin(time);\n  Real x, v, f;\nequation\n  x = u;  v = der(x);  f = 2.5*der(v) + 3*v + 7*x;\nend F;\n";
    let found = linearize(text, &["--outputs", "f"]);
    let d = found["d"].as_array().expect("powers");
    let d: Vec<f64> = d.iter().map(|d| rows(d)[0][0]).collect();
    assert_eq!(d.len(), 3, "{found}");
    for (found, truth) in d.iter().zip([7.0, 3.0, 2.5]) {
        close(*found, truth, "D");
    }
    assert_eq!(found["states"], serde_json::json!([]));
}

#[test]
fn matrices_are_written_for_other_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    let text =
        b"model M  input Real u;  output Real x(start = 0);  equation  der(x) = u - 2*x;  end M;";
    for (name, begin) in [
        ("m.mat", &b"\0\0\0\0\x01\0\0\0"[..]),
        ("m.npz", &b"PK\x03\x04"[..]),
    ] {
        let path = folder.path().join(name);
        let arguments = ["linearize", "-", "--out", path.to_str().expect("UTF-8")];
        let output = daelight_with_input(&arguments, text);
        assert!(output.status.success(), "{output:?}");
        let bytes = std::fs::read(&path).expect("a file");
        assert!(bytes.starts_with(begin), "{name}: {:?}", &bytes[..8]);
        let minus_two = (-2.0_f64).to_le_bytes();
        assert!(bytes.windows(8).any(|part| part == minus_two), "{name}");
    }
}

/// On a switch two linear models meet. Where both are the same, x abs(x) at 0, there is one.
#[test]
fn on_a_switch_there_is_a_linear_model_only_if_both_sides_have_the_same() {
    let mut random = Random(41);
    let twofold = [
        "der(x) = -K*abs(x) + u; y = x;",
        "der(x) = -K*x + max(x, 0) + u; y = x;",
        "der(x) = -K*x + u; y = if x >= 0 then 2*x else K*x;",
        "der(x) = -K*x - sign(x) + u; y = x;",
        "der(x) = -K*x + min(max(u, 0), 1); y = x;",
        "der(x) = -K*x + (if u > 0 then 3*u else u); y = x;",
    ];
    let single = [
        "der(x) = -K*x - 7*x*abs(x) + u; y = x;",
        "der(x) = -K*x + (if x > 0 then x^2 else -x^3) + u; y = x;",
        "der(x) = -K*x + u + 0*max(x, 0); y = x;",
        "der(x) = -K*x + (if x > 0 then x + u else u + x); y = x;",
    ];
    let text = |equations: &str, k: f64| {
        let equations = equations.replace('K', &k.to_string());
        format!(
            "model M\n  input Real u;\n  output Real y;\n  Real x(start = 0, fixed = true);\nequation\n  {equations}\nend M;\n"
        )
    };
    for equations in twofold {
        let text = text(equations, random.between(1.1, 5.0));
        let output = daelight_with_input(&["linearize", "-"], text.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains("lies on the switch where"),
            "{equations}: {said}"
        );
    }
    for (at, equations) in single.into_iter().enumerate() {
        let k = random.between(1.1, 5.0);
        let found = linearize(&text(equations, k), &[]);
        let truth = if at == 3 { 1.0 - k } else { -k };
        close(rows(&found["a"])[0][0], truth, equations);
        close(rows(&found["b"])[0][0], 1.0, equations);
    }
}

/// Units of the unknowns that differ by ten decades change no pole.
#[test]
fn units_change_no_pole() {
    let mut random = Random(11);
    for _ in 0..12 {
        // x'' + 2 d w x' + w^2 x = u in units of x and of its rate.
        let [d, w] = [random.between(0.05, 0.9), random.between(0.3, 30.0)];
        let unit = 10f64.powf(random.between(-10.0, 10.0));
        let text = format!(
            "model M\n  input Real u;\n  output Real p(start = 0);\n  Real q(start = 0);\nequation\n  der(p) = {unit:?}*q;\n  der(q) = -({:?})*p - {:?}*q + u;\nend M;\n",
            w * w / unit,
            2.0 * d * w
        );
        let found = linearize(&text, &[]);
        let [(re, im), (_, other)] = eigenvalues(&found["poles"])[..] else {
            panic!("two poles: {found}");
        };
        close(re, -d * w, "real part");
        let turning = w * (1.0 - d * d).sqrt();
        close(im.abs(), turning, "imaginary part");
        close(other.abs(), turning, "imaginary part");
    }
}

/// Equations whose derivatives cancel have the zeros of the model that they are combinations of.
#[test]
fn combinations_of_equations_change_no_zero() {
    let mut random = Random(12);
    for _ in 0..6 {
        // x' = A x + b u, y = x0, multiplied by a matrix: the zero is that of c (s - A)^-1 b.
        let [a, b, c, d] = [0; 4].map(|_| random.between(-3.0, 3.0));
        let [e, f] = [random.between(0.5, 3.0), random.between(-2.0, 2.0)];
        let row = |p: f64, q: f64| {
            format!(
                "{p:?}*der(x0) + {q:?}*der(x1) = {:?}*x0 + {:?}*x1 + {:?}*u",
                p * a + q * c,
                p * b + q * d,
                p * e + q * f
            )
        };
        let text = format!(
            "model M\n  input Real u = 0;\n  output Real y;\n  Real x0, x1;\nequation\n  {};\n  {};\n  y = x0;\nend M;\n",
            row(4.0, 1.0),
            row(-5.0, -1.0)
        );
        let found = linearize(&text, &[]);
        let [(re, im)] = eigenvalues(&found["zeros"])[..] else {
            panic!("one zero: {found}");
        };
        // e (s - d) + b f = 0.
        let truth = d - b * f / e;
        assert!(
            (re - truth).abs() < 1e-9 * (1.0 + truth.abs()) && im == 0.0,
            "{re} for {truth}"
        );
    }
}

/// The roots of a s^2 + b s + c with b > 0 that are not real, the one with the positive imaginary part.
fn root(a: f64, b: f64, c: f64) -> (f64, f64) {
    (-b / (2.0 * a), (4.0 * a * c - b * b).sqrt() / (2.0 * a))
}

/// From the height of the tool of e1 to the torque that lifts it: with a = c2/(c1 + c2), c1 and c2 the cosines times the links, poles
/// are the roots of (J22 - a J12) s^2 + d s + k, zeros 0 twice and the roots of (J11 J22 - J12^2) s^2 + (J11 + J12) (d s + k).
#[test]
fn the_flexible_arm_e1_has_the_poles_and_zeros_of_its_closed_form() {
    let mut random = Random(61);
    for _ in 0..8 {
        let [j11, j12, j22] =
            [(800.0, 2000.0), (300.0, 700.0), (500.0, 900.0)].map(|(a, b)| random.between(a, b));
        let (k, d) = (random.between(1e5, 1e7), random.between(100.0, 5000.0));
        let [l1, l2] = [0; 2].map(|_| random.between(0.5, 1.5));
        let angle = random.between(0.3, 1.1);
        let z = (l1 + l2) * angle.sin();
        let text = format!(
            "model E\n  input Real z = {z:?};\n  output Real u;\n  Real x1(start = {angle:?}), x2(start = 0), x3(start = 0), x4(start = 0);\nequation\n  \
             {j11:?}*der(x3) + {j12:?}*der(x4) - {k:?}*x2 - {d:?}*x4 = u;\n  {j12:?}*der(x3) + {j22:?}*der(x4) + {k:?}*x2 + {d:?}*x4 = 0;\n  \
             der(x1) = x3;  der(x2) = x4;\n  {l1:?}*sin(x1) + {l2:?}*sin(x1 + x2) = z;\nend E;\n"
        );
        let found = linearize(&text, &["--rest"]);
        let (share, sum) = (l2 / (l1 + l2), (l1 + l2) * angle.cos());
        let of_poles = (j22 - share * j12, d, k);
        let of_zeros = (j11 * j22 - j12 * j12, (j11 + j12) * d, (j11 + j12) * k);
        for (name, (a, b, c)) in [("poles", of_poles), ("zeros", of_zeros)] {
            let (re, im) = root(a, b, c);
            let mut all = eigenvalues(&found[name]);
            if name == "zeros" {
                let at_rest = |e: &&(f64, f64)| e.0.hypot(e.1) < 1e-6 * im;
                assert_eq!(all.iter().filter(at_rest).count(), 2, "{found}");
                all.retain(|e| e.0.hypot(e.1) >= 1e-6 * im);
            }
            assert_eq!(all.len(), 2, "{name}: {found}");
            for (x, y) in all {
                close(x, re, name);
                close(y.abs(), im, name);
            }
        }
        // u = J11 x1'' + J12 x2'' - k x2 - d x2', x2 = - J12 s^2 z/(sum (…)), x1 = z/sum - share x2.
        let s = random.between(1.0, 60.0);
        let x2 = -j12 * s * s / sum / ((j22 - share * j12) * s * s + d * s + k);
        let x1 = 1.0 / sum - share * x2;
        let truth = j11 * s * s * x1 + j12 * s * s * x2 - (k + d * s) * x2;
        close(transfer(&found, s), truth, "G");
    }
}

/// A coil behind a loop of three capacitors, which leaves one voltage and one current free.
#[test]
fn a_circuit_with_a_loop_of_capacitors_and_a_coil_has_two_poles() {
    let mut random = Random(62);
    for _ in 0..8 {
        let [c1, c2, c3] = [0; 3].map(|_| 1e-6 * random.between(0.2, 5.0));
        let (r, l) = (random.between(100.0, 900.0), random.between(0.3, 1.0));
        let text = format!(
            "model D\n  input Real us;\n  Real u1, u2, u3, i1, i2, i3, il(start = 0);\nequation\n  {c1:?}*der(u1) = i1;  {c2:?}*der(u2) = i2;  {c3:?}*der(u3) = i3;\n  \
             u2 = u3;  us = u1 + u2;  i1 = i2 + i3 + il;  {l:?}*der(il) = u2 - {r:?}*il;\nend D;\n"
        );
        let c = c1 + c2 + c3;
        let s = random.between(10.0, 3000.0);
        let to_u2 = linearize(&text, &["--outputs", "u2"]);
        let g = c1 * s / (c * s + 1.0 / (r + l * s));
        close(transfer(&to_u2, s), g, "to u2");
        let to_i1 = linearize(&text, &["--outputs", "i1"]);
        close(transfer(&to_i1, s), c1 * s * (1.0 - g), "to i1");
        if r * r * c < 4.0 * l {
            let (re, im) = root(l * c, r * c, 1.0);
            for (x, y) in eigenvalues(&to_u2["poles"]) {
                close(x, re, "pole");
                close(y.abs(), im, "pole");
            }
        }
    }
}

/// A switch of the time has a side of later times, which small changes do not leave; a switch of an unknown has not.
#[test]
fn on_a_switch_of_the_time_later_times_count() {
    let mut random = Random(63);
    for relation in ["<", "<="] {
        let [before, after, t, h] = [0; 4].map(|_| random.between(0.3, 4.0));
        let text = format!(
            "model S\n  input Real u = if time < {t:?} then 0 else {h:?};\n  Real k;\n  output Real y(start = 1);\nequation\n  \
             k = if time {relation} {t:?} then {before:?} else {after:?};\n  der(y) = k*(u - y);\nend S;\n"
        );
        let at = format!("{t:?}");
        for rest in [&["--at", &at][..], &["--at", &at, "--rest"]] {
            let found = linearize(&text, rest);
            close(rows(&found["a"])[0][0], -after, "A");
            close(rows(&found["b"])[0][0], after, "B");
            close(number(&found["point"]["u"]), h, "u");
            let warnings = found["warnings"].to_string();
            assert!(warnings.contains("those of later times"), "{warnings}");
        }
    }
    let text = "model K\n  Real x(start = 0);\nequation\n  der(x) = if time < 0 then abs(x) else 2*abs(x);\nend K;\n";
    let output = daelight_with_input(&["linearize", "-"], text.as_bytes());
    assert_eq!(output.status.code(), Some(1));
}

/// What `reduce` writes has the inputs of the model, and the derivatives that were needed as further ones: with s^k for the k-th of
/// them its transfer function is that of the model.
#[test]
fn a_reduced_model_has_the_transfer_function_of_the_model() {
    let mut random = Random(64);
    let [m, d, c, a] = [0; 4].map(|_| random.between(0.3, 4.0));
    let mass = |signal: &str| {
        format!(
            "model F\n  input Real u{signal};\n  output Real f;\n  Real x, v, z(start = 0);\nequation\n  x = u;  v = der(x);\n  \
             der(z) = x - {a:?}*z;  f = {m:?}*der(v) + {d:?}*v + {c:?}*x + z;\nend F;\n"
        )
    };
    for signal in ["", " = exp(sin(2*time))/(3 + time)"] {
        let text = mass(signal);
        let whole = linearize(&text, &[]);
        for form in [
            &["--method", "dummy"][..],
            &["--method", "minimal"],
            &["--method", "strangeness"],
            &["--form", "explicit"],
        ] {
            let all = [&["reduce", "-"], form].concat();
            let output = daelight_with_input(&all, text.as_bytes());
            let reduced = linearize(&stdout(&output), &[]);
            assert_eq!(
                reduced["inputs"],
                serde_json::json!(["u", "der_u", "der2_u"])
            );
            let s = random.between(0.5, 4.0);
            let g = (0..3).map(|k| s.powi(k as i32) * transfer_of(&reduced, k, s));
            let truth = m * s * s + d * s + c + 1.0 / (s + a);
            close(g.sum(), truth, "reduced");
            close(transfer(&whole, s), truth, "whole");
        }
    }
}

/// A carriage that follows a path, with a wheel that turns freely on it.
const GLIDE: &str = "model Glide
  Real x, v, F, phi(start = 0.3, fixed = true), w(start = 0, fixed = true);
equation
  der(x) = v;  2*der(v) = F - 3*x;  x = PATH;
  der(phi) = w;  der(w) = 0;
end Glide;
";

/// Where nothing moves already, `--rest` stays, though the wheel rests at any angle. It was refused: no isolated point at rest.
#[test]
fn a_point_at_rest_already_is_kept() {
    let text = GLIDE.replace("PATH", "1 + 0.1*sin(time)^4");
    let found = linearize(&text, &["--rest"]);
    assert_eq!(found["at_rest"], true);
    close(number(&found["point"]["phi"]), 0.3, "phi");
    assert_eq!(rows(&found["a"]), [[0.0, 1.0], [0.0, 0.0]]);
}

/// A model without inputs says what could be one.
#[test]
fn a_path_that_the_text_prescribes_is_offered_as_an_input() {
    let said = |text: &str| linearize(text, &[])["warnings"].to_string();
    let written = said(&GLIDE.replace("PATH", "1 + 0.1*sin(time)^4"));
    assert!(
        written.contains("`x = 1 + 0.1*sin(time)^4` prescribes a motion"),
        "{written}"
    );
    let named = GLIDE
        .replace("PATH", "1 + p; p = sin(time)^4")
        .replace("Real x", "Real p, x");
    let named = said(&named);
    assert!(named.contains("Declare it `input Real p = …;`"), "{named}");
    let driven = GLIDE
        .replace("PATH", "1 + p")
        .replace("Real x", "input Real p = sin(time)^4; Real x");
    assert!(!said(&driven).contains("no input"), "{}", said(&driven));
    let still = said("model Still Real x; equation x = 1; end Still;");
    assert!(still.contains("Nothing can change here"), "{still}");
    let swing = "model Swing Real x(start = 1), v; equation der(x) = v; der(v) = -x; end Swing;";
    assert!(!said(swing).contains("input"), "{}", said(swing));
}
