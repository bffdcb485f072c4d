//! Derivatives of runs against closed forms and against differences of runs.

use crate::common::{Random, daelight, daelight_with_input, document, number};
use serde_json::Value;

fn solve(text: &str, arguments: &[&str]) -> Value {
    let all = [&["solve", "-", "--json", "--rtol", "1e-11"], arguments].concat();
    document(&daelight_with_input(&all, text.as_bytes()))
}

fn by(found: &Value, unknown: &str, direction: usize) -> f64 {
    number(&found["sensitivities"]["final"][unknown][direction])
}

fn close(found: f64, truth: f64, most: f64, what: &str) {
    let size = truth.abs().max(1e-3);
    assert!(
        (found - truth).abs() <= most * size,
        "{what}: {found} for {truth}"
    );
}

/// Truths of a text with a parameter p: each unknown at t = 1 and its derivative by p.
fn check(text: &str, p: f64, truths: &[(&str, f64)]) {
    let found = solve(
        text,
        &[
            "--set",
            &format!("p={p:?}"),
            "--to",
            "1",
            "--sensitivity",
            "p",
        ],
    );
    assert_eq!(found["sensitivities"]["until"], 1.0, "{found}");
    for (unknown, truth) in truths {
        close(
            by(&found, unknown, 0),
            *truth,
            1e-7,
            &format!("{unknown} of {text}"),
        );
    }
}

#[test]
fn models_of_index_0_to_5_have_the_derivatives_of_their_closed_forms() {
    let mut random = Random(26);
    for _ in 0..2 {
        let p = random.between(0.5, 1.5);
        let (s, c, e) = (p.sin(), p.cos(), (-p).exp());
        // Index 0: x = e^(-p t), also by a parameter that follows p, and by a start value that does.
        check(
            "model A parameter Real p = 1; parameter Real q = p^2; Real x(start = q, fixed = true); equation der(x) = -p*x; end A;",
            p,
            &[("x", 2.0 * p * e - p * p * e)],
        );
        // Index 1: y^3 + y = 2 x.
        let x = e;
        let y = (0..60).fold(1.0_f64, |y, _| {
            y - (y.powi(3) + y - 2.0 * x) / (3.0 * y * y + 1.0)
        });
        check(
            "model B parameter Real p = 1; Real x(start = 1, fixed = true), y(start = 1); equation der(x) = -p*x; y^3 + y = 2*x; end B;",
            p,
            &[("x", -e), ("y", -2.0 * e / (3.0 * y * y + 1.0))],
        );
        // Index 2: x = sin(p t), v = p cos(p t); index 3 adds the force -p^2 sin(p t) and so on.
        let slope = [
            c,
            c - p * s,
            -2.0 * p * s - p * p * c,
            -3.0 * p * p * c + p.powi(3) * s,
            4.0 * p.powi(3) * s + p.powi(4) * c,
        ];
        for index in 1..=5 {
            let names: Vec<String> = (0..index).map(|k| format!("x{k}")).collect();
            let rows: Vec<String> = (1..index)
                .map(|k| format!("der(x{}) = x{k};", k - 1))
                .collect();
            let text = format!(
                "model C parameter Real p = 1; Real {}; equation {} x0 = sin(p*time); end C;",
                names.join(", "),
                rows.join(" ")
            );
            let truths: Vec<(&str, f64)> =
                (0..index).map(|k| (names[k].as_str(), slope[k])).collect();
            check(&text, p, &truths);
        }
        // Index 2 with a force: x1 - x2 = p t.
        check(
            "model D parameter Real p = 1; Real x1(start = 1, fixed = true), x2, l; equation der(x1) = -x1 + l; der(x2) = -x2 - l + p; x1 - x2 = p*time; end D;",
            p,
            &[("x1", d_of_x1()), ("x2", d_of_x1() - 1.0)],
        );
    }
}

/// In model D the sum u = x1 + x2 obeys u' = -u + p with u(0) = 2, so u = p + (2 - p) e^-t; x1 = (u + p t)/2.
fn d_of_x1() -> f64 {
    let e = (-1.0_f64).exp();
    0.5 * (1.0 - e + 1.0)
}

#[test]
fn library_models_agree_with_differences_of_runs() {
    // Steps of the differences: the torques of e12, of index 4, make 4e8 of an error of an angle, and are nearly linear in g.
    for (model, parameter, value, to, step) in [
        ("spring-mass", "m", 2.0, "1", 1e-3),
        ("cart-pendulum", "L", 0.8, "0.5", 2e-3),
        ("cart-pendulum", "m", 1.0, "0.5", 2e-3),
        ("akzo-nobel", "k1", 18.7, "10", 5e-4),
        ("cstr", "F", 0.8, "1", 5e-4),
        ("pendulum", "L", 1.0, "1", 2e-3),
        ("pendulum", "g", 9.81, "1", 2e-3),
        ("e1", "k", 1e6, "0.1", 5e-4),
        ("e1", "J22", 600.0, "0.1", 1e-4),
        ("andrews", "m2", 0.00365, "0.02", 2e-3),
        ("delta-robot", "L", 0.5, "0.3", 1e-4),
        ("e12", "g", 0.0, "0.25", 0.1),
        // The cable force that is given is smaller than any, and moved.
        ("pendulum-3d", "m", 1.0, "1", 1e-3),
        ("pendulum-3d", "L", 1.0, "1", 1e-3),
    ] {
        let run = |extra: &[&str]| {
            let all = [
                &["solve", model, "--to", to, "--rtol", "1e-12", "--json"],
                extra,
            ]
            .concat();
            document(&daelight(&all))
        };
        let found = run(&["--sensitivity", parameter]);
        assert_eq!(found["sensitivities"]["until"], found["time"], "{model}");
        let h = step * if value == 0.0 { 1.0 } else { value };
        let at = |k: f64| run(&["--set", &format!("{parameter}={:?}", value + k * h)]);
        let (a, b, c, d) = (at(-2.0), at(-1.0), at(1.0), at(2.0));
        let last = found["sensitivities"]["final"].as_object().expect("values");
        let largest = last
            .values()
            .map(|v| number(&v[0]).abs())
            .fold(0.0, f64::max);
        for unknown in last.keys() {
            let of = |run: &Value| number(&run["final"][unknown]);
            let near = (of(&c) - of(&b)) / (2.0 * h);
            let far = (of(&d) - of(&a)) / (4.0 * h);
            let truth = (4.0 * near - far) / 3.0;
            let off = (by(&found, unknown, 0) - truth).abs();
            let size = truth.abs().max(1e-2 * largest);
            assert!(
                off <= 1e-7 * size,
                "{model}, {unknown} by {parameter}: off by {off:e} of {truth}"
            );
        }
    }
}

/// The torques of e12 are known to 4e8 times the error of an angle: differences of low order by the duration of its path are off by
/// 6e-7, those of order ten are not.
#[test]
fn the_torques_of_a_path_move_with_its_duration() {
    let run = |extra: &[&str]| {
        let all = ["solve", "e12", "--to", "0.25", "--rtol", "1e-12", "--json"];
        document(&daelight(&[&all, extra].concat()))
    };
    let found = run(&["--sensitivity", "T"]);
    let weights = [
        5.0 / 6.0,
        -5.0 / 21.0,
        5.0 / 84.0,
        -5.0 / 504.0,
        1.0 / 1260.0,
    ];
    let h = 2e-3;
    let runs: Vec<[Value; 2]> = (1..=5)
        .map(|k| {
            [1.0, -1.0].map(|sign| run(&["--set", &format!("T={:?}", 0.3 + sign * h * k as f64)]))
        })
        .collect();
    for unknown in ["u1", "u2", "qm1", "qm2", "q1", "q2", "q3"] {
        let of = |run: &Value| number(&run["final"][unknown]);
        let terms = weights.iter().zip(&runs);
        let truth: f64 = terms
            .map(|(w, [up, down])| w * (of(up) - of(down)) / h)
            .sum();
        close(by(&found, unknown, 0), truth, 1e-7, unknown);
    }
}

#[test]
fn start_values_are_directions_and_inputs_move() {
    let text = "model S parameter Real p = 2; input Real u = sin(p*time); Real x(start = 1, fixed = true), y(start = 0.5, fixed = true);
        equation der(x) = -x + u; der(y) = -3*y; end S;";
    let found = solve(text, &["--to", "1", "--sensitivity", "p,x,y"]);
    // s' = -s + t cos(p t), p = 2.
    let n = 4000;
    let h = 1.0 / f64::from(n);
    let f = |t: f64| (t - 1.0).exp() * t * (2.0 * t).cos();
    let truth: f64 = (0..n)
        .map(|k| {
            let t = f64::from(k) * h;
            h / 6.0 * (f(t) + 4.0 * f(t + h / 2.0) + f(t + h))
        })
        .sum();
    close(by(&found, "x", 0), truth, 1e-9, "x by p");
    close(by(&found, "x", 1), (-1.0_f64).exp(), 1e-9, "x by its start");
    close(by(&found, "y", 1), 0.0, 1e-9, "y by the start of x");
    close(by(&found, "y", 2), (-3.0_f64).exp(), 1e-9, "y by its start");
}

#[test]
fn a_closest_start_moves_with_the_constraint() {
    // (3, 4) is on the circle of radius 5; the closest point moves outwards.
    let text = "model R parameter Real r = 5; Real x(start = 3), y(start = 4); equation x^2 + y^2 = r^2; der(x)*y - der(y)*x = 0; end R;";
    let found = solve(text, &["--to", "1", "--sensitivity", "r"]);
    close(by(&found, "x", 0), 0.6, 1e-8, "x");
    close(by(&found, "y", 0), 0.8, 1e-8, "y");
}

/// The first singular time of a run and its derivatives.
fn singular_time(found: &Value) -> (f64, &Value) {
    let time = &found["sensitivities"]["singular_times"][0];
    (number(&time["time"]), time)
}

#[test]
fn the_first_singular_time_of_the_arm_moves_with_its_links() {
    // The torques grow without bound where 4 A2 A3 c - A2 A5 + A3^2 c^2 = 0, c = cos(x3); and |P(t)|^2 = l1^2 + l2^2 + 2 l1 l2 c.
    let path = |t: f64| {
        let x = (t.exp() - 1.0).cos() + (t - 1.0).cos();
        let y = (1.0 - t.exp()).sin() + (1.0 - t).sin();
        x * x + y * y
    };
    let reach = |l1: f64, l2: f64| {
        let (a2, a3, a5) = (1.0 + l2 * l2, l1 * l2, 2.0 * l1 * l1);
        let c = (-2.0 * a2 + (4.0 * a2 * a2 + a2 * a5).sqrt()) / a3;
        l1 * l1 + l2 * l2 + 2.0 * l1 * l2 * c
    };
    let slope = |f: &dyn Fn(f64) -> f64, h: f64| {
        let at = |h: f64| (f(h) - f(-h)) / (2.0 * h);
        (4.0 * at(h) - at(2.0 * h)) / 3.0
    };
    for (l1, l2) in [(1.0, 1.0), (1.0, 0.8), (0.9, 1.1)] {
        let set = [format!("l1={l1:?}"), format!("l2={l2:?}")];
        let asked = [
            "solve",
            "robotic-arm-general",
            "--set",
            &set[0],
            "--set",
            &set[1],
            "--to",
            "1",
            "--rtol",
            "1e-11",
        ];
        let asked = [&asked[..], &["--sensitivity", "l1,l2,K", "--json"]].concat();
        let found = document(&daelight(&asked));
        let (t, time) = singular_time(&found);
        close(path(t), reach(l1, l2), 1e-9, "the time itself");
        let rate = slope(&|h| path(t + h), 1e-3);
        let truths = [
            slope(&|h| reach(l1 + h, l2), 1e-3) / rate,
            slope(&|h| reach(l1, l2 + h), 1e-3) / rate,
            0.0,
        ];
        for (at, truth) in truths.into_iter().enumerate() {
            close(
                number(&time["by"][at]),
                truth,
                1e-8,
                &format!("t* = {t} by {at} at {l1}, {l2}"),
            );
        }
    }
}

#[test]
fn folds_move_and_points_that_split_are_told() {
    // Folded where |P| = |l1 - l2|, P = (1.5 - t, q): (1.5 - t)^2 + q^2 = (l1 - l2)^2.
    let arm = |l2: f64, q: f64| {
        format!("model F parameter Real l1 = 1, l2 = {l2:?}, q = {q:?}; Real a(start = -0.3), b(start = 0.8);
        equation l1*cos(a) + l2*cos(a + b) = 1.5 - time; l1*sin(a) + l2*sin(a + b) = q; end F;")
    };
    let found = solve(&arm(0.8, 0.1), &["--to", "2", "--sensitivity", "l1,l2,q"]);
    let (t, time) = singular_time(&found);
    let left = 1.5 - t;
    close(left * left + 0.01, 0.04, 1e-10, "the time itself");
    for (at, truth) in [-0.2 / left, 0.2 / left, 0.1 / left]
        .into_iter()
        .enumerate()
    {
        close(number(&time["by"][at]), truth, 1e-8, &format!("by {at}"));
    }
    // With links of one length and q = 0 the path leads through the base.
    let found = solve(&arm(1.0, 0.0), &["--to", "2", "--sensitivity", "l1"]);
    let (_, time) = singular_time(&found);
    let because = time["because"].as_str().unwrap_or_default();
    assert!(
        time["by"][0].is_null() && because.contains("splits"),
        "{time}"
    );
    // A state that drives a fold: z^2 = y, y = 1 - p t, t* = 1/p.
    let text = "model Z parameter Real p = 2; Real y(start = 1, fixed = true), z(start = 1); equation der(y) = -p; z^2 = y; end Z;";
    let found = solve(text, &["--to", "2", "--sensitivity", "p,y"]);
    let (t, time) = singular_time(&found);
    close(t, 0.5, 1e-9, "the time itself");
    close(number(&time["by"][0]), -0.25, 1e-8, "by p");
    close(number(&time["by"][1]), 0.5, 1e-8, "by the start of y");
}

#[test]
fn derivatives_jump_where_a_switch_moves() {
    // x = p t up to 1, then 1 + 2 p (t - 1/p).
    let text = "model J parameter Real p = 2; Real x(start = 0, fixed = true); equation der(x) = if x < 1 then p else 2*p; end J;";
    let found = solve(text, &["--to", "1", "--sensitivity", "p"]);
    close(by(&found, "x", 0), 2.0, 1e-9, "x");
    // A switch by time alone does not move: x = p for t < 1/2, then 2 p.
    let text = "model T parameter Real p = 2; Real x(start = 0, fixed = true); equation der(x) = if time < 0.5 then p else 2*p; end T;";
    let found = solve(text, &["--to", "1", "--sensitivity", "p"]);
    close(by(&found, "x", 0), 1.5, 1e-9, "x");
    // abs bends without a jump of the rate.
    let text = "model K parameter Real p = 1; Real x(start = -0.5, fixed = true), y(start = 0, fixed = true); equation der(x) = p; der(y) = abs(x); end K;";
    let found = solve(text, &["--to", "1", "--sensitivity", "p"]);
    close(by(&found, "x", 0), 1.0, 1e-9, "x");
    // y = (1/4 + (p - 1/2)^2)/(2 p)
    close(by(&found, "y", 0), 0.25, 1e-8, "y");
}

/// A condition that the time decides, at times that move with p: its text, whether it holds at first, and each time with its derivative by p.
fn moving_condition(random: &mut Random, at: usize, p: f64) -> (String, bool, Vec<(f64, f64)>) {
    let (w, t, dt) = [
        ("p", p, 1.0),
        ("2*p", 2.0 * p, 2.0),
        ("(p^2 + 0.1)", p * p + 0.1, 2.0 * p),
        ("sqrt(p)", p.sqrt(), 0.5 / p.sqrt()),
    ][(random.between(0.0, 4.0) as usize).min(3)];
    let begins = [
        "time > {}",
        "time >= {}",
        "{} < time",
        "not time <= {}",
        "not time < {}",
        "time - {} > 0",
        "sign(time - {}) > -0.5",
        "noEvent(time > {})",
    ];
    let ends = ["time < {}", "time <= {}", "not time > {}", "not {} < time"];
    let both = [
        "time > {} and time < {} + 0.5",
        "abs(time - {} - 0.25) < 0.25",
        "(time - {})*(time - {} - 0.5) < 0",
        "not (time < {} or time > {} + 0.5)",
    ];
    let (one, two) = (begins.len() + ends.len(), both.len());
    let at = at % (one + two + 1);
    if let Some(text) = begins.get(at) {
        return (text.replace("{}", w), false, vec![(t, dt)]);
    }
    if at < one {
        let text = ends[at - begins.len()];
        return (text.replace("{}", w), true, vec![(t, dt)]);
    }
    if at < one + two {
        let text = both[at - one].replace("{}", w);
        return (text, false, vec![(t, dt), (t + 0.5, dt)]);
    }
    let (first, slope) = (p.asin() / 3.0, 1.0 / (3.0 * (1.0 - p * p).sqrt()));
    let (half, turn) = (std::f64::consts::PI / 3.0, std::f64::consts::TAU / 3.0);
    let times = [(first, slope), (half - first, -slope)];
    let times = times
        .iter()
        .chain(&times)
        .enumerate()
        .map(|(k, (t, dt))| (t + turn * (k / 2) as f64, *dt));
    ("sin(3*time) > p".to_string(), false, times.collect())
}

#[test]
fn derivatives_jump_at_switches_that_the_time_decides() {
    // x' = -k x + u, u = a or b: at each time t the derivative of x gains (u- - u+) dt/dp e^(-k (T - t)), whatever the relation says at t itself.
    let mut random = Random(8);
    for at in 0..68 {
        let (p, k) = (random.between(0.4, 0.8), random.between(0.3, 2.0));
        let (a, b) = (random.between(-3.0, 3.0), random.between(-3.0, 3.0));
        let (condition, holds, times) = moving_condition(&mut random, at, p);
        let mut before = if holds { a } else { b };
        let mut truth = 0.0;
        for (t, dt) in times.iter().filter(|(t, _)| *t < 3.0) {
            let behind = a + b - before;
            truth += (before - behind) * dt * (k * (t - 3.0)).exp();
            before = behind;
        }
        let (declared, equations) = [
            (
                "",
                format!("der(x) = -{k:?}*x + (if {condition} then {a:?} else {b:?});"),
            ),
            (
                ", u",
                format!("u = if c then {a:?} else {b:?}; c = {condition}; der(x) = -{k:?}*x + u;"),
            ),
            (
                ", u",
                format!(
                    "if {condition} then u = {a:?}; else u = {b:?}; end if; der(x) = -{k:?}*x + u;"
                ),
            ),
            (
                ", v, y",
                format!(
                    "der(x) = v; v + {k:?}*x = y; y^3 + y = if {condition} then {:?} else {:?};",
                    a.powi(3) + a,
                    b.powi(3) + b
                ),
            ),
        ][at % 4]
            .clone();
        let boolean = if at % 4 == 1 { "Boolean c;" } else { "" };
        let text = format!(
            "model T parameter Real p = {p:?}; Real x(start = 0.5, fixed = true){declared}; {boolean} equation {equations} end T;"
        );
        let method = ["auto", "auto", "radau", "bdf"][(at / 4) % 4];
        let more = ["--to", "3", "--method", method];
        let found = solve(&text, &[&more[..], &["--sensitivity", "p"]].concat());
        assert_eq!(found["sensitivities"]["until"], 3.0, "{text}");
        let what = format!("{method}: {text}");
        let most = if method == "auto" { 1e-7 } else { 1e-5 };
        close(by(&found, "x", 0), truth, most, &what);
        let found = solve(&text, &[&more[..], &["--gradient", "x"]].concat());
        close(number(&found["gradient"]["p"]), truth, most, &what);
    }
}

#[test]
fn steps_of_floor_and_mod_move() {
    // With N = floor(T/p) the integral of floor(t/p) is S = sum of T - n p, of slope -N (N + 1)/2, and that of mod(t, p) is T^2/2 - p S.
    let mut random = Random(9);
    for case in 0..6 {
        let p = random.between(0.55, 0.95);
        let n = (3.0 / p).floor();
        let (sum, slope) = (3.0 * n - 0.5 * n * (n + 1.0) * p, -0.5 * n * (n + 1.0));
        let (rate, truth) = match case % 2 {
            0 => ("floor(time/p)", slope),
            _ => ("mod(time, p)", -sum - p * slope),
        };
        let text = format!(
            "model F parameter Real p = {p:?}; Real x(start = 0, fixed = true); equation der(x) = {rate}; end F;"
        );
        let found = solve(&text, &["--to", "3", "--sensitivity", "p"]);
        close(by(&found, "x", 0), truth, 1e-8, &text);
        let found = solve(&text, &["--to", "3", "--gradient", "x"]);
        close(number(&found["gradient"]["p"]), truth, 1e-8, &text);
    }
    // Nothing to differentiate by is told, not shown as an empty table.
    let text = "model E Real x(start = 1, fixed = true); equation der(x) = -x; end E;";
    let found = daelight_with_input(
        &["solve", "-", "--to", "1", "--gradient", "x"],
        text.as_bytes(),
    );
    assert!(!found.status.success());
    let said = String::from_utf8_lossy(&found.stderr).to_string();
    assert!(said.contains("nothing to differentiate by"), "{said}");
}

#[test]
fn what_has_no_derivative_is_refused() {
    for (text, name, says) in [
        (
            "model A parameter Integer n = 2; Real x; equation der(x) = n; end A;",
            "n",
            "no real number",
        ),
        (
            "model A parameter Real p = 2; Real x; equation der(x) = p; end A;",
            "q",
            "no parameter and no unknown",
        ),
        (
            "model A parameter Integer n = 2; Real x[n]; equation for i in 1:n loop der(x[i]) = 1; end for; end A;",
            "n",
            "shape",
        ),
        (
            "model A parameter Real p = 2; discrete Real d(start = 0); Real x; equation der(x) = p; when x > 1 then d = pre(d) + 1; end when; end A;",
            "d",
            "events",
        ),
    ] {
        let output = daelight_with_input(&["solve", "-", "--sensitivity", name], text.as_bytes());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains(says), "{told}");
    }
}

/// Where the rate itself grows without bound: x = (b^n - c a t)^(1/n) vanishes at b^n/(c a).
#[test]
fn times_of_infinite_rates_move() {
    let mut random = Random(5);
    for _ in 0..6 {
        let [a, b] = [random.between(0.4, 3.0), random.between(0.4, 2.0)];
        let time = b * b / (2.0 * a);
        for equation in ["x*der(x) = -a", "v = der(x); x*v = -a"] {
            let names = if equation.contains("v =") { ", v" } else { "" };
            let text = format!(
                "model X parameter Real a = {a:?}, b = {b:?}; Real x(start = b, fixed = true){names}; equation {equation}; end X;"
            );
            let to = format!("{:?}", 2.0 * time);
            let found = solve(&text, &["--to", &to, "--sensitivity", "a,b"]);
            let (t, by) = singular_time(&found);
            close(t, time, 1e-8, "the time itself");
            // With v as an unknown of its own the derivatives end before they can be extrapolated, which is told.
            if by["by"][0].is_null() && !names.is_empty() {
                continue;
            }
            close(number(&by["by"][0]), -time / a, 1e-5, "by a");
            close(number(&by["by"][1]), 2.0 * time / b, 1e-5, "by b");
        }
    }
    // Differences of quadratures: t* = integral from 2 to 1 of (1 - y^2)/(a y + b) dy.
    let time = |a: f64, b: f64| {
        let n = 2000;
        let f = |y: f64| (1.0 - y * y) / (a * y + b);
        let h = -1.0 / f64::from(n);
        let at = |k: i32| f(2.0 + h * f64::from(k));
        let middle: f64 = (1..n)
            .map(|k| at(k) * if k % 2 == 1 { 4.0 } else { 2.0 })
            .sum();
        h / 3.0 * (at(0) + at(n) + middle)
    };
    let text = "model V parameter Real a = 1, b = 0.2; Real y(start = 2, fixed = true); equation (1 - y^2)*der(y) = a*y + b; end V;";
    let found = solve(text, &["--to", "5", "--sensitivity", "a,b"]);
    let (t, by) = singular_time(&found);
    close(t, time(1.0, 0.2), 1e-8, "the time itself");
    let slope = |f: &dyn Fn(f64) -> f64| (f(1e-4) - f(-1e-4)) / 2e-4;
    close(
        number(&by["by"][0]),
        slope(&|h| time(1.0 + h, 0.2)),
        1e-5,
        "by a",
    );
    close(
        number(&by["by"][1]),
        slope(&|h| time(1.0, 0.2 + h)),
        1e-5,
        "by b",
    );
}

/// A ball that falls from h0 and is thrown back with e: its height and velocity after n bounces, and the time of the last.
fn bounced(e: f64, g: f64, h0: f64, to: f64) -> (f64, f64) {
    let fall = (2.0 * h0 / g).sqrt();
    let (mut last, mut speed) = (fall, e * g * fall);
    while last + 2.0 * speed / g < to {
        last += 2.0 * speed / g;
        speed *= e;
    }
    let since = to - last;
    (speed * since - 0.5 * g * since * since, speed - g * since)
}

#[test]
fn derivatives_of_a_bouncing_ball_are_those_of_its_closed_form() {
    let text = "model Ball parameter Real e = 0.8, g = 9.81, h0 = 1; Real h(start = h0, fixed = true), v(start = 0, fixed = true); \
                equation der(h) = v; der(v) = -g; when h < 0 then reinit(v, -e*pre(v)); end when; end Ball;";
    let mut random = Random(71);
    for _ in 0..4 {
        let at = [
            random.between(0.6, 0.9),
            random.between(8.0, 11.0),
            random.between(0.7, 1.4),
        ];
        let sets = ["e", "g", "h0"].map(|name| name.to_string());
        let sets: Vec<String> = sets
            .iter()
            .zip(at)
            .map(|(name, x)| format!("{name}={x:?}"))
            .collect();
        let mut arguments = vec!["--to", "1.6", "--sensitivity", "e,g,h0"];
        for set in &sets {
            arguments.extend(["--set", set]);
        }
        let found = solve(text, &arguments);
        assert_eq!(found["sensitivities"]["until"], 1.6, "{found}");
        for k in 0..3 {
            // Differences of the closed form, extrapolated twice.
            let step = 1e-3;
            let value = |far: f64| {
                let mut moved = at;
                moved[k] += far * step;
                let (h, v) = bounced(moved[0], moved[1], moved[2], 1.6);
                [h, v]
            };
            let ends = [-2.0, -1.0, 1.0, 2.0].map(value);
            for (j, unknown) in ["h", "v"].iter().enumerate() {
                let slope =
                    (ends[0][j] - 8.0 * ends[1][j] + 8.0 * ends[2][j] - ends[3][j]) / (12.0 * step);
                close(
                    by(&found, unknown, k),
                    slope,
                    1e-8,
                    &format!("{unknown} {k} {sets:?}"),
                );
            }
        }
    }
}

/// Derivatives against differences of runs: conditions of state and of time that move, discrete numbers, `reinit` in a constraint.
#[test]
fn derivatives_of_models_with_events_agree_with_differences_of_runs() {
    let texts: [(&str, &[&str], &str); 5] = [
        (
            "model Thermostat parameter Real p = 18.3, q = 20.7, r = 28; Real T(start = 15, fixed = true), E(start = 0, fixed = true); \
             Boolean on(start = true, fixed = true); equation 3*der(T) = 5 - T + (if on then r else 0); der(E) = if on then r*T else 0; \
             when T > q then on = false; elsewhen T < p then on = true; end when; end Thermostat;",
            &["T", "E"],
            "6.1",
        ),
        (
            "model Relay parameter Real p = 1.2, q = 0.7, r = 0.2; Real x(start = 1, fixed = true), v(start = r, fixed = true); \
             Integer n(start = 0, fixed = true); equation der(x) = v; der(v) = (if x > 0 then -p else q) - 0.1*v; \
             when x > 0 then n = pre(n) + 1; end when; end Relay;",
            &["x", "v"],
            "7.3",
        ),
        (
            "model Sampled parameter Real p = 0.17, q = 2.1, r = 1.4; Real x(start = 0, fixed = true), v(start = 0, fixed = true); \
             discrete Real u(start = 0, fixed = true), I(start = 0, fixed = true); equation der(x) = v; der(v) = u - 1.4*v - x; \
             when sample(0, p) then I = pre(I) + p*r*(sin(time) + 1 - x); u = q*(sin(time) + 1 - x) + I; end when; end Sampled;",
            &["x", "v"],
            "2.3",
        ),
        (
            "model Timed parameter Real p = 0.4, q = 0.6, r = 1.1; Real x(start = 1, fixed = true), y(start = 0, fixed = true); \
             discrete Real m(start = 0.5, fixed = true); equation der(x) = -r*x + m; der(y) = x*y + time; \
             when time > p then m = x*q; reinit(x, x + m + time); elsewhen time > p + q then m = -x; end when; end Timed;",
            &["x", "y"],
            "1.7",
        ),
        (
            "model Peg parameter Real p = 9.2, q = 0.85, r = 0.25; Real x(start = 0.8), y(start = -0.6), vx(start = 0, fixed = true), vy, F; \
             equation der(x) = vx; der(y) = vy; der(vx) = -F*x; der(vy) = -F*y - p; x^2 + y^2 = 1; \
             when x < -r then reinit(vx, -q*vx); end when; end Peg;",
            &["x", "vy", "F"],
            "2",
        ),
    ];
    for (text, unknowns, to) in texts {
        let found = solve(text, &["--to", to, "--sensitivity", "p,q,r"]);
        for (k, name) in ["p", "q", "r"].iter().enumerate() {
            let place = text.find(&format!("{name} = ")).expect("a parameter");
            let at: f64 = text[place + 4..]
                .split([',', ';'])
                .next()
                .and_then(|number| number.parse().ok())
                .expect("a number");
            let step = 1e-4 * at.abs().max(1.0);
            let end = |far: f64| {
                let set = format!("{name}={:?}", at + far * step);
                let arguments = [
                    "solve", "-", "--json", "--rtol", "1e-12", "--to", to, "--set", &set,
                ];
                let run = document(&daelight_with_input(&arguments, text.as_bytes()));
                unknowns
                    .iter()
                    .map(|u| number(&run["final"][u]))
                    .collect::<Vec<f64>>()
            };
            let ends = [-2.0, -1.0, 1.0, 2.0].map(end);
            for (j, unknown) in unknowns.iter().enumerate() {
                let slope =
                    (ends[0][j] - 8.0 * ends[1][j] + 8.0 * ends[2][j] - ends[3][j]) / (12.0 * step);
                let (own, size) = (by(&found, unknown, k), slope.abs().max(1.0));
                assert!(
                    (own - slope).abs() <= 1e-7 * size,
                    "{unknown} by {name}: {own} for {slope}: {text}"
                );
            }
        }
    }
}

#[test]
fn derivatives_that_end_at_an_event_say_why() {
    let clutch = "model Clutch parameter Real J = 3; Real w1(start = 10, fixed = true), w2(start = 0, fixed = true), tau; \
                  Boolean locked(start = false, fixed = true); equation der(w1) = 2 - 0.1*w1 - tau; J*der(w2) = tau - 0.2*w2; \
                  0 = if locked then w1 - w2 else tau; when time > 1 then locked = true; end when; end Clutch;";
    let found = solve(clutch, &["--to", "2", "--sensitivity", "J"]);
    let because = found["sensitivities"]["ended"].as_str().expect("why");
    assert!(because.contains("values jump"), "{because}");
    let late = "model Late parameter Real p = 1; Real x(start = 1, fixed = true); equation der(x) = -p*delay(x, 0.5); end Late;";
    let refused = daelight_with_input(
        &["solve", "-", "--sensitivity", "p", "--to", "1"],
        late.as_bytes(),
    );
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`delay`"));
}

/// What a run with a stopping condition tells of its end, against differences of runs that stop by themselves: t_s and all values there.
#[test]
fn the_end_of_a_stopped_run_moves() {
    let ball = "model Ball parameter Real p = 0.8, q = 9.81; Real h(start = 1, fixed = true), v(start = 0, fixed = true); \
                Integer n(start = 0, fixed = true); equation der(h) = v; der(v) = -q; \
                when h < 0 then reinit(v, -p*pre(v)); n = pre(n) + 1; end when; end Ball;";
    let swing = "model Swing parameter Real p = 1, q = 9.81; Real x(start = 0.8*p), y(start = -0.6*p), vx(start = 0, fixed = true), vy, F; \
                 equation der(x) = vx; der(y) = vy; der(vx) = -F*x; der(vy) = -F*y - q; x^2 + y^2 = p^2; end Swing;";
    for (text, stop, method) in [
        (swing, "x < -0.3*p", "taylor"),
        (swing, "F > 15 or time > 2.9", "taylor"),
        (swing, "der(vx) == 2", "taylor"),
        (swing, "vy - 0.4", "radau"),
        (ball, "h > 0.2 and n > 0", "auto"),
        (ball, "v < 0.5*p and n > 1", "auto"),
    ] {
        let asked = [
            "solve",
            "-",
            "--json",
            "--rtol",
            "1e-12",
            "--to",
            "3",
            "--method",
            method,
            "--stop-when",
            stop,
        ];
        let run = |more: &[&str]| {
            let all = [&asked[..], more].concat();
            document(&daelight_with_input(&all, text.as_bytes()))
        };
        let found = run(&["--sensitivity", "p,q"]);
        let told = &found["sensitivities"]["stop"];
        assert_eq!(told["time"], found["time"], "{stop}: {found}");
        for (k, name) in ["p", "q"].iter().enumerate() {
            let place = text.find(&format!("{name} = ")).expect("a parameter");
            let at = text[place + 4..].split([',', ';']).next();
            let at: f64 = at.and_then(|number| number.parse().ok()).expect("a number");
            let step = 1e-4 * at;
            let runs = [-2.0, -1.0, 1.0, 2.0]
                .map(|far| run(&["--set", &format!("{name}={:?}", at + far * step)]));
            let slope = |of: &dyn Fn(&Value) -> f64| {
                let [a, b, c, d] = [0, 1, 2, 3].map(|k| of(&runs[k]));
                (a - 8.0 * b + 8.0 * c - d) / (12.0 * step)
            };
            let time = slope(&|run| number(&run["time"]));
            close(
                number(&told["by"][k]),
                time,
                1e-7,
                &format!("{stop} by {name}"),
            );
            for (unknown, row) in told["final"].as_object().expect("values") {
                let truth = slope(&|run| number(&run["final"][unknown]));
                let own = number(&row[k]);
                let size = truth.abs().max(1.0);
                assert!(
                    (own - truth).abs() <= 1e-7 * size,
                    "{stop}, {unknown} by {name}: {own} for {truth}"
                );
            }
        }
    }
}

#[test]
fn a_stop_without_derivative_says_why() {
    // Touched, and two relations that meet.
    let text = "model T parameter Real p = 0.5; Real x(start = 0, fixed = true), y(start = 0, fixed = true); equation der(x) = 1; der(y) = 2*p; end T;";
    for (stop, says) in [
        ("(x - p)^2 <= 0", "only touched"),
        ("x >= 1 and y >= 1", "part when it moves"),
    ] {
        let found = solve(
            text,
            &["--to", "2", "--stop-when", stop, "--sensitivity", "p"],
        );
        let told = &found["sensitivities"]["stop"];
        if told.is_null() {
            // A touch may be passed by.
            continue;
        }
        let because = told["because"].as_str().unwrap_or_default();
        assert!(
            told["by"][0].is_null() && because.contains(says),
            "{stop}: {told}"
        );
    }
}
