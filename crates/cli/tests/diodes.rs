//! Circuits of first-year books with Shockley diodes, at random sources, against the current found by bisection.

use crate::common::{Random, daelight_with_input, document, json_of};

/// The voltage u with is (exp((source - u)/vt) - 1) = u/r, which falls on the left and rises on the right.
fn voltage(source: f64, r: f64, is: f64, vt: f64) -> f64 {
    let excess = |u: f64| u / r - is * (((source - u) / vt).exp() - 1.0);
    let (mut low, mut high) = (-r * is, source.max(0.0));
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    0.5 * (low + high)
}

#[test]
fn a_source_a_diode_and_a_resistor_run_at_any_frequency() {
    let mut random = Random(5);
    for _ in 0..12 {
        let amplitude = random.between(0.5, 15.0);
        let omega = 10_f64.powf(random.between(1.0, 4.0));
        let r = 10_f64.powf(random.between(0.0, 4.0));
        let is = 10_f64.powf(random.between(-14.0, -9.0));
        let vt = 0.026;
        let end = random.between(1.05, 1.4) * std::f64::consts::TAU / omega;
        let text = format!(
            "model M\n  Real va, vp, i;\nequation\n  va = {amplitude}*sin({omega}*time);\n  \
             i = {is:e}*(exp((va - vp)/{vt}) - 1);\n  i = vp/{r};\nend M;\n"
        );
        let truth = voltage(amplitude * (omega * end).sin(), r, is, vt);
        let to = end.to_string();
        for method in ["auto", "radau", "bdf"] {
            let arguments = ["solve", "-", "--json", "--to", &to, "--method", method];
            let found = document(&daelight_with_input(&arguments, text.as_bytes()));
            assert_eq!(found["reason"], "finished", "{method}: {found}\n{text}");
            let vp = found["final"]["vp"].as_f64().expect("a value at the end");
            assert!(
                (vp - truth).abs() < 1e-5 * (1.0 + truth.abs()),
                "{method}: {vp} for {truth}\n{text}"
            );
        }
    }
}

/// Between two steps, too: the series of the current are as good as the Jacobian that they were solved with, (5b) of `docs/theory/integration.md`.
/// Where the charge is counted as well, it is Simpson's rule on the current that is the truth.
#[test]
fn a_diode_is_followed_between_the_steps() {
    let mut random = Random(8);
    for case in 0..8 {
        let (amplitude, omega) = (random.between(1.0, 6.0), random.between(5.0, 60.0));
        let (r, vt) = (random.between(0.5, 20.0), random.between(0.025, 0.05));
        let is = 10_f64.powf(random.between(-9.0, -5.0));
        let current = |t: f64| voltage(amplitude * (omega * t).sin(), r, is, vt) / r;
        let (name, declared, charge) = match case % 2 {
            0 => ("i", "", ""),
            _ => ("q", ", q(start = 0, fixed = true)", "der(q) = i;"),
        };
        let text = format!(
            "model M\n  Real u, v, i{declared};\nequation\n  u = {amplitude}*sin({omega}*time);\n  u = v + {r}*i;\n  \
             i = {is:e}*(exp(v/{vt}) - 1);\n  {charge}\nend M;\n"
        );
        let n = 40;
        let mut truths = Vec::new();
        let mut counted = 0.0;
        for row in 0..n {
            let (from, h) = (f64::from(row) / f64::from(n), 1.0 / f64::from(n) / 100.0);
            for k in 0..100 {
                let t = from + h * f64::from(k);
                counted += h / 6.0 * (current(t) + 4.0 * current(t + 0.5 * h) + current(t + h));
            }
            let at = f64::from(row + 1) / f64::from(n);
            truths.push((at, if name == "q" { counted } else { current(at) }));
        }
        let times: Vec<String> = truths.iter().map(|(at, _)| at.to_string()).collect();
        let times = times.join(",");
        for method in ["auto", "taylor"] {
            let run = ["solve", "-", "--to", "1", "--out", "-", "-q"];
            let arguments = [&run[..], &["--method", method, "--save-at", &times]].concat();
            let output = daelight_with_input(&arguments, text.as_bytes());
            let table = String::from_utf8(output.stdout).expect("a table");
            let mut rows = table
                .lines()
                .map(|line| line.split(',').collect::<Vec<_>>());
            let names = rows.next().expect("names");
            let place = |name: &str| names.iter().position(|n| *n == name).expect("a column");
            let (at_time, at_value) = (place("time"), place(name));
            let mut n_rows = 0;
            for row in rows {
                let number = |at: usize| row[at].parse::<f64>().expect("a number");
                let same = |(at, _): &&(f64, f64)| (at - number(at_time)).abs() < 1e-9;
                let Some((_, truth)) = truths.iter().find(same) else {
                    continue;
                };
                let off = (number(at_value) - truth).abs();
                assert!(
                    off < 1e-6 * (1.0 + truth.abs()),
                    "{method}: {row:?} for {truth}\n{text}"
                );
                n_rows += 1;
            }
            assert!(n_rows >= 40, "{table}");
        }
    }
}

/// A relation elsewhere changes nothing, nor does a limit that the voltage never comes to: up to the knee the series know nothing of it, (R1a) of
/// `docs/theory/runs.md`. The truth is a Runge-Kutta method on the voltage of the capacitor, its current by bisection.
#[test]
fn relations_beside_a_diode_change_nothing() {
    let mut random = Random(9);
    for _ in 0..6 {
        let (amplitude, omega) = (random.between(1.0, 5.0), random.between(6.0, 40.0));
        let (r, load) = (random.between(1.0, 5.0), random.between(20.0, 100.0));
        let (is, vt, c) = (
            1e-6,
            random.between(0.03, 0.05),
            random.between(0.003, 0.03),
        );
        let slope = |t: f64, charged: f64| {
            let source = amplitude * (omega * t).sin() - charged;
            (voltage(source, r, is, vt) / r - charged / load) / c
        };
        let (n_steps, mut truth) = (4000, 0.0);
        for k in 0..n_steps {
            let (h, t) = (1.0 / n_steps as f64, k as f64 / n_steps as f64);
            let k1 = slope(t, truth);
            let k2 = slope(t + 0.5 * h, truth + 0.5 * h * k1);
            let k3 = slope(t + 0.5 * h, truth + 0.5 * h * k2);
            let k4 = slope(t + h, truth + h * k3);
            truth += h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0;
        }
        let most = random.between(18.0, 25.0);
        let limited =
            format!("if v/{vt} > {most} then exp({most})*(1 + v/{vt} - {most}) else exp(v/{vt})");
        let relation = format!("if time < 0 then 0 else {amplitude}*sin({omega}*time)");
        let below = format!("if vc < -1 then 0 else {amplitude}*sin({omega}*time)");
        for source in [&relation, &below] {
            let text = format!(
                "model M\n  Real u, v, i, vc(start = 0, fixed = true);\nequation\n  u = {source};\n  u = v + {r}*i + vc;\n  \
                 i = {is:e}*(({limited}) - 1);\n  {c}*der(vc) = i - vc/{load};\nend M;\n"
            );
            for method in ["auto", "taylor", "radau", "bdf"] {
                let run = ["solve", "-", "--json", "--to", "1", "--method", method];
                let found = document(&daelight_with_input(&run, text.as_bytes()));
                assert_eq!(found["reason"], "finished", "{method}: {found}\n{text}");
                let vc = found["final"]["vc"].as_f64().expect("a value at the end");
                assert!(
                    (vc - truth).abs() < 3e-6,
                    "{method}: {vc} for {truth}\n{text}"
                );
            }
        }
    }
}

/// While all four diodes of a bridge block, their block of equations does not change at all. Looked at ahead it must be that of the diodes as
/// they are: with those that will conduct, its determinant changes its sign where nothing is singular.
#[test]
fn bridges_that_block_are_regular() {
    let mut random = Random(6);
    for case in 0..8 {
        let (v, w) = (random.between(2.0, 30.0), random.between(50.0, 600.0));
        let c = 10_f64.powf(random.between(-5.0, -3.0));
        let (r, inner) = (
            10_f64.powf(random.between(1.5, 3.0)),
            random.between(0.3, 5.0),
        );
        let end = random.between(1.2, 2.2) * std::f64::consts::TAU / w;
        let text = format!(
            "model Bridge\n  import Parts.Electrical.*;\n  SineVoltage s(V = {v}, w = {w});\n  Diode d1, d2, d3, d4;\n  \
             Resistor r(R = {r}), rs(R = {inner});\n  Capacitor c(C = {c}, v(start = 0, fixed = true));\n  Ground g;\nequation\n  \
             connect(s.p, rs.p); connect(rs.n, d1.p); connect(rs.n, d2.n); connect(s.n, d3.p); connect(s.n, d4.n);\n  \
             connect(d1.n, r.p); connect(d3.n, r.p); connect(c.p, r.p);\n  \
             connect(d2.p, r.n); connect(d4.p, r.n); connect(c.n, r.n); connect(r.n, g.p);\nend Bridge;\n"
        );
        let to = end.to_string();
        let charged = |method: &str, rtol: &str| {
            let run = ["solve", "-", "--json", "--to", &to, "--method", method];
            let arguments = [&run[..], &["--rtol", rtol]].concat();
            let found = document(&daelight_with_input(&arguments, text.as_bytes()));
            assert_eq!(
                found["reason"], "finished",
                "case {case}, {method} at {rtol}: {found}\n{text}"
            );
            found["final"]["c.v"].as_f64().expect("a value at the end")
        };
        let truth = charged("radau", "1e-8");
        for rtol in ["1e-2", "1e-3", "1e-4", "1e-6"] {
            let tolerance: f64 = rtol.parse().expect("a number");
            let error = (charged("taylor", rtol) - truth).abs() / v;
            assert!(
                error < tolerance,
                "case {case} at {rtol}: off by {error:e}\n{text}"
            );
        }
    }
}

/// The voltage of the capacitor behind a diode, piece by piece: C v' = g (V sin(w t) - v) - v/R with g = 1/Ron or Goff.
struct Piece {
    from: f64,
    decay: f64,
    constant: f64,
    sine: f64,
    cosine: f64,
    w: f64,
}

impl Piece {
    fn new((g, c, r): (f64, f64, f64), (amplitude, w): (f64, f64), (from, v): (f64, f64)) -> Self {
        let (decay, drive) = ((g + 1.0 / r) / c, g * amplitude / c);
        let size = decay * decay + w * w;
        let (sine, cosine) = (drive * decay / size, -drive * w / size);
        let constant = v - sine * (w * from).sin() - cosine * (w * from).cos();
        Self {
            from,
            decay,
            constant,
            sine,
            cosine,
            w,
        }
    }

    fn at(&self, t: f64) -> f64 {
        let forced = self.sine * (self.w * t).sin() + self.cosine * (self.w * t).cos();
        self.constant * (-self.decay * (t - self.from)).exp() + forced
    }
}

/// A rectifier damps all errors, however small the resistance of its diode: nothing grows, no more switches are told than there are, and a
/// finer tolerance than the current can be known to is met as well as numbers let it.
#[test]
fn errors_of_rectifiers_are_not_said_to_grow() {
    let mut random = Random(8);
    for case in 0..24 {
        let (v, w) = ([1.0, 10.0, 325.0][case % 3], random.between(100.0, 1000.0));
        let r = 10_f64.powf(random.between(1.0, 4.0));
        let c = 10_f64.powf(random.between(-4.5, -3.0));
        let ron = 10_f64.powf(random.between(-5.0, 0.0));
        let goff = 10_f64.powf(random.between(-8.0, -4.0));
        let method = ["auto", "radau"][case % 2];
        let rtol = ["1e-6", "1e-8", "1e-9"][case / 2 % 3];
        let text = format!(
            "model Rectifier\n  import Parts.Electrical.*;\n  SineVoltage s(V = {v}, w = {w});\n  Diode d(Ron = {ron}, Goff = {goff});\n  \
             Capacitor c(C = {c}, v(start = 0, fixed = true));\n  Resistor r(R = {r});\n  Ground g;\nequation\n  \
             connect(s.p, d.p); connect(d.n, c.p); connect(c.n, s.n); connect(r.p, c.p); connect(r.n, c.n); connect(g.p, s.n);\nend Rectifier;\n"
        );
        let arguments = ["solve", "-", "--json", "--to", "0.04"];
        let arguments = [&arguments[..], &["--method", method, "--rtol", rtol]].concat();
        let found = document(&daelight_with_input(&arguments, text.as_bytes()));
        let said = format!("case {case}, {method} at {rtol}: {found}\n{text}");
        assert_eq!(found["reason"], "finished", "{said}");
        let warnings = found["warnings"].as_array().expect("warnings");
        let grows = |w: &serde_json::Value| w.as_str().is_some_and(|w| w.contains("errors grow"));
        assert!(!warnings.iter().any(grows), "{said}");
        let switches = found["switches"].as_array().expect("switches");
        let times = switches.iter().map(|s| s["time"].as_f64().expect("a time"));
        let [on, off] = [1.0 / ron, goff].map(|g| (g, c, r));
        let mut piece = Piece::new(on, (v, w), (0.0, 0.0));
        for (count, time) in times.enumerate() {
            // The voltage of the diode is zero there, and is not before.
            let over = v * (w * time).sin() - piece.at(time);
            assert!(over.abs() < 1e-4 * v, "{over} at {time}: {said}");
            let next = if count % 2 == 0 { off } else { on };
            piece = Piece::new(next, (v, w), (time, piece.at(time)));
        }
        let (truth, end) = (piece.at(0.04), found["final"]["c.v"].as_f64());
        let error = (end.expect("a value") - truth).abs() / truth.abs().max(1.0);
        let tolerance: f64 = rtol.parse().expect("a number");
        assert!(error < 30.0 * tolerance, "off by {error:e}: {said}");
    }
}

/// A branch of `min` or `max` that is not active near a point says nothing of its index: all commands judge the one that is.
#[test]
fn the_active_branch_decides_the_index() {
    let mut random = Random(21);
    for case in 0..16 {
        let (a, w) = (random.between(0.5, 2.0), random.between(0.3, 1.4));
        let text = [
            format!("0 = min(y, x - {a}*sin({w}*time))"),
            format!("0 = max(-y, {a}*sin({w}*time) - x)"),
            format!("0 = noEvent(if y < 0 then y else x - {a}*sin({w}*time))"),
            format!("x = {a}*sin({w}*time) + max(0, y - 100)"),
        ];
        let start = a * w;
        let text = format!(
            "model D Real x(start = 0), y(start = {start}); equation der(x) = y; {}; end D;",
            text[case % 4]
        );
        let of = |arguments: &[&str]| {
            let found = daelight_with_input(arguments, text.as_bytes());
            assert!(found.status.success(), "{arguments:?}: {text}");
            document(&found)
        };
        let found = of(&["analyze", "-", "--json"]);
        assert_eq!(found["differentiation"]["index"], 2, "{text}");
        assert_eq!(found["differentiation"]["dof"], 0, "{text}");
        of(&["init", "-", "--json"]);
        for method in ["auto", "radau", "bdf"] {
            let found = of(&["solve", "-", "--to", "1", "--method", method, "--json"]);
            assert_eq!(found["reason"], "finished", "{method}: {text}");
            for (name, truth) in [("x", a * w.sin()), ("y", a * w * w.cos())] {
                let off = found["final"][name].as_f64().expect("a value") - truth;
                assert!(off.abs() < 1e-5, "{method}, {name} is off by {off}: {text}");
            }
        }
    }
}

/// An ideal diode between a source e sin(w t) and a capacitor with a load: it leads until its current w c e cos(w t) + e sin(w t)/r is zero,
/// at tan(w t) = -w r c, and then the capacitor empties.
#[test]
fn an_ideal_diode_on_a_source_opens_where_its_current_ends() {
    let mut random = Random(22);
    for case in 0..12 {
        let (e, w) = (random.between(1.0, 20.0), random.between(0.5, 2.0));
        let (r, c) = (random.between(2.0, 8.0), random.between(0.3, 2.0));
        let diode = ["0 = min(i, -ud)", "0 = max(ud, -i)"][case % 2];
        let method = ["auto", "radau", "bdf"][case % 3];
        let opens = (std::f64::consts::PI - (w * r * c).atan()) / w;
        let to = opens + 0.5 * (std::f64::consts::PI / w - opens);
        let text = format!(
            "model D Real uC(start = 0, fixed = true), ud, i; equation {e}*sin({w}*time) = ud + uC; {c}*der(uC) = i - uC/{r}; {diode}; end D;"
        );
        let end = to.to_string();
        let arguments = ["solve", "-", "--json", "--to", &end, "--method", method];
        let found = document(&daelight_with_input(&arguments, text.as_bytes()));
        assert_eq!(found["reason"], "finished", "{method}: {text}");
        let truth = e * (w * opens).sin() * (-(to - opens) / (r * c)).exp();
        let off = found["final"]["uC"].as_f64().expect("a value") - truth;
        assert!(off.abs() < 1e-4 * e, "{method}: off by {off}: {text}");
        let (_, start) = json_of(&text, &["init", "-"]);
        assert_eq!(start["status"], "success", "{start}");
    }
}
