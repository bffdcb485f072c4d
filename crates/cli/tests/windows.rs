//! Narrow windows that a state drives, where something is decided: no step goes over one, whatever its width and the method.

use crate::common::{Random, daelight_with_input, json_of, status, stdout};

const METHODS: [&str; 3] = ["auto", "radau", "bdf"];

/// A pulse p of x around a centre that is above a threshold for a known time.
struct Window {
    rate: f64,
    /// p as text, and the threshold.
    pulse: String,
    threshold: f64,
    from: f64,
    to: f64,
    end: f64,
}

impl Window {
    fn random(random: &mut Random) -> Self {
        let end = 10_f64.powf(random.between(0.0, 2.0));
        let width = end * 10_f64.powf(random.between(-4.0, -1.3));
        let centre = end * random.between(0.2, 0.8);
        let rate = [1.0, 0.3, 2.5][random.below(3)];
        let threshold = random.between(0.3, 0.8);
        // Where a pulse of width 1 falls to the threshold.
        let shape = random.below(3);
        let half: f64 = match shape {
            0 => (-threshold.ln()).sqrt(),
            1 => (threshold.powf(-0.5) - 1.0).sqrt(),
            // tanh(u + 1) - tanh(u - 1) = 2 sinh 2/(cosh 2u + cosh 2).
            _ => 0.5 * ((1.0 + 2_f64.cosh()) / threshold - 2_f64.cosh()).acosh(),
        };
        let u = format!("((x - {})/{})", centre * rate, 0.5 * width * rate / half);
        let pulse = match shape {
            0 => format!("exp(-{u}^2)"),
            1 => format!("1/(1 + {u}^2)^2"),
            _ => format!("(tanh({u} + 1) - tanh({u} - 1))/(2*tanh(1))"),
        };
        Self {
            rate,
            pulse,
            threshold,
            from: centre - 0.5 * width,
            to: centre + 0.5 * width,
            end,
        }
    }

    /// A model with x, and something else.
    fn model(&self, rest: &str) -> String {
        let Self { rate, end, .. } = self;
        format!(
            "model A Real x(start = 0, fixed = true); {rest} der(x) = {rate}; annotation(experiment(StopTime = {end})); end A;"
        )
    }

    fn width(&self) -> f64 {
        self.to - self.from
    }
}

#[test]
fn branches_switch_at_both_ends_of_a_window() {
    let mut random = Random(41);
    for case in 0..60 {
        let window = Window::random(&mut random);
        let (pulse, threshold) = (&window.pulse, window.threshold);
        let rate = match case % 2 {
            0 => format!("if {pulse} > {threshold} then 1 else 0"),
            _ => format!("(1 + sign({pulse} - {threshold}))/2"),
        };
        let text = window.model(&format!(
            "Real q(start = 0, fixed = true); equation der(q) = {rate};"
        ));
        let method = METHODS[case % 3];
        let (code, found) = json_of(&text, &["solve", "-", "--method", method]);
        assert_eq!(code, 0, "{method}: {}\n{text}", found["message"]);
        let q = found["final"]["q"].as_f64().expect("a value");
        let wanted = window.width();
        assert!(
            (q - wanted).abs() <= 1e-6 * window.end,
            "{method}: {q} {wanted}\n{text}"
        );
    }
}

#[test]
fn conditions_and_assertions_see_a_window() {
    let mut random = Random(42);
    for case in 0..60 {
        let window = Window::random(&mut random);
        let (pulse, threshold) = (&window.pulse, window.threshold);
        let method = METHODS[case % 3];
        let condition = format!("p > {threshold}");
        let (rest, stop) = match case / 3 % 3 {
            0 => (format!("Real p; equation p = {pulse};"), true),
            1 => (
                format!("equation assert({pulse} < {threshold}, \"within\");"),
                false,
            ),
            _ => (
                format!("Real p; equation p = {pulse}; assert(p < {threshold}, \"within\");"),
                false,
            ),
        };
        let text = window.model(&rest);
        let mut arguments = vec!["solve", "-", "--method", method, "--json"];
        if stop {
            arguments.extend(["--stop-when", &condition]);
        }
        let output = daelight_with_input(&arguments, text.as_bytes());
        let found: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("a document");
        let time = found["time"].as_f64().expect("a time");
        assert!(stop || status(&output) != 0, "{method}: {found}\n{text}");
        assert!(
            (time - window.from).abs() <= 1e-6 * window.end,
            "{method}: {time} {}\n{text}",
            window.from
        );
    }
}

#[test]
fn events_fire_once_in_a_window() {
    let mut random = Random(43);
    for case in 0..45 {
        let window = Window::random(&mut random);
        let (pulse, threshold) = (&window.pulse, window.threshold);
        let condition = match case % 2 {
            0 => format!("p > {threshold}"),
            _ => format!("1 - p < 1 - {threshold}"),
        };
        let text = window.model(&format!(
            "Real p; Integer n(start = 0, fixed = true); equation p = {pulse}; when {condition} then n = pre(n) + 1; end when;"
        ));
        let method = METHODS[case % 3];
        let (code, found) = json_of(&text, &["solve", "-", "--method", method]);
        assert_eq!(code, 0, "{method}: {}\n{text}", found["message"]);
        assert_eq!(found["final"]["n"].as_f64(), Some(1.0), "{method}\n{text}");
    }
}

#[test]
fn roots_end_where_their_arguments_fall_below_zero() {
    let mut random = Random(44);
    for case in 0..45 {
        let window = Window::random(&mut random);
        let (pulse, threshold) = (&window.pulse, window.threshold);
        let text = window.model(&format!(
            "Real y, z(start = 0, fixed = true); equation y = sqrt({threshold} - {pulse}); der(z) = y;"
        ));
        let method = METHODS[case % 3];
        let (code, found) = json_of(&text, &["solve", "-", "--method", method]);
        assert_ne!(code, 0, "{method}: {found}\n{text}");
    }
}

#[test]
fn parabolas_that_rise_above_zero_are_met() {
    let mut random = Random(45);
    for case in 0..60 {
        let (start, centre) = (-random.between(0.5, 5.0), random.between(-0.2, 2.0));
        let width = 10_f64.powf(random.between(-4.0, -1.0));
        let area = random.between(0.5, 3.0);
        let height = 0.75 * area / width;
        let text = format!(
            "model A Real s(start = {start}, fixed = true), x(start = 0, fixed = true);
             equation der(s) = 1; der(x) = {height}*max(0, 1 - ((s - {centre})/{width})^2);
             annotation(experiment(StopTime = 10)); end A;"
        );
        let method = METHODS[case % 3];
        let (code, found) = json_of(&text, &["solve", "-", "--method", method]);
        assert_eq!(code, 0, "{method}: {}\n{text}", found["message"]);
        let x = found["final"]["x"].as_f64().expect("a value");
        assert!(
            (x - area).abs() <= 1e-4 * area,
            "{method}: {x} {area}\n{text}"
        );
    }
}
