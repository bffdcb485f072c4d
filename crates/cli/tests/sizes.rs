//! Small unknowns without a nominal value that others amplify: charges of small capacitors, against closed forms.

use crate::common::{daelight_with_input, document};

/// A random number in 0..1, the same sequence each time.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn decades(&mut self, low: f64, high: f64) -> f64 {
        10_f64.powf(low + (high - low) * self.unit())
    }
}

fn last(text: &str, method: &str, name: &str) -> f64 {
    let arguments = ["solve", "-", "--json", "--method", method];
    let output = daelight_with_input(&arguments, text.as_bytes());
    let found = document(&output);
    assert_eq!(found["reason"], "finished", "{method}: {found}\n{text}");
    found["final"][name].as_f64().expect("a value at the end")
}

#[test]
fn the_charge_form_of_a_capacitor_is_as_accurate_as_the_voltage_form() {
    let mut random = Random(20);
    for _ in 0..8 {
        let capacity = random.decades(-15.0, -7.0);
        let width = random.decades(-4.0, -1.5);
        let (peak, middle) = (0.1 + random.unit(), 0.3 + 0.4 * random.unit());
        let current = peak * capacity / width;
        let text = format!(
            "model M\n  Real q(start = 0, fixed = true), u, i;\nequation\n  der(q) = i;\n  u = q/{capacity:e};\n  \
             i = {current:e}*exp(-((time - {middle})/{width:e})^2);\nend M;\n"
        );
        // The pulse is inside the run to all digits, so the charge is that of the whole bell.
        let truth = peak * std::f64::consts::PI.sqrt();
        for method in ["auto", "radau", "bdf"] {
            let u = last(&text, method, "u");
            assert!(
                (u / truth - 1.0).abs() < 1e-4,
                "{method}: {u} for {truth}\n{text}"
            );
        }
    }
}

#[test]
fn a_small_capacitor_charges_as_it_should() {
    let mut random = Random(21);
    for _ in 0..8 {
        let (resistance, capacity) = (random.decades(1.0, 6.0), random.decades(-13.0, -8.0));
        let end = resistance * capacity * (0.5 + random.unit());
        let text = format!(
            "model M\n  Real q(start = 0, fixed = true), i;\nequation\n  der(q) = i;\n  {resistance:e}*i = 1 - q/{capacity:e};\n  \
             annotation(experiment(StopTime = {end:e}));\nend M;\n"
        );
        let truth = capacity * -(-end / (resistance * capacity)).exp_m1();
        for method in ["auto", "radau", "bdf"] {
            let q = last(&text, method, "q");
            assert!(
                (q / truth - 1.0).abs() < 1e-3,
                "{method}: {q} for {truth}\n{text}"
            );
        }
    }
}

/// What a mass behind a stiff spring and a damper does on a path P sin(w t): the amplitude, and its derivatives at a time.
struct Follower {
    amplitude: (f64, f64),
    w: f64,
}

impl Follower {
    /// H = P (K + i w d)/(K - w^2 + i w d).
    fn new(p: f64, w: f64, k: f64, d: f64) -> Self {
        let (above, below) = ((k, w * d), (k - w * w, w * d));
        let size = below.0 * below.0 + below.1 * below.1;
        let re = p * (above.0 * below.0 + above.1 * below.1) / size;
        let im = p * (above.1 * below.0 - above.0 * below.1) / size;
        Self {
            amplitude: (re, im),
            w,
        }
    }

    /// The n-th derivative of the imaginary part of H exp(i w t).
    fn at(&self, time: f64, n: i32) -> f64 {
        let phase = self.w * time + f64::from(n) * std::f64::consts::FRAC_PI_2;
        let (re, im) = self.amplitude;
        self.w.powi(n) * (re * phase.sin() + im * phase.cos())
    }
}

/// The last digit of y is 1e-9 to 1e-7 of der(v), which is a state here since u asks for its second derivative: no step is
/// short enough for rounding. Steps were refused until the run gave up.
#[test]
fn rounding_that_a_stiff_spring_amplifies_refuses_no_step() {
    let mut random = Random(22);
    for _ in 0..8 {
        let (k, kg) = (random.decades(7.0, 9.0), random.decades(3.0, 5.0));
        let (p, w) = (0.3 + random.unit(), 1.0 + 9.0 * random.unit());
        let d = 2.0 * (0.05 + 0.4 * random.unit()) * k.sqrt();
        let end = 400.0 / k.sqrt();
        let y = Follower::new(p, w, k, d);
        let (y0, v0) = (y.at(0.0, 0), y.at(0.0, 1));
        let text = format!(
            "model M\n  Real y(start = {y0:e}, fixed = true), v(start = {v0:e}, fixed = true), q, r, u;\nequation\n  der(y) = v;\n  \
             der(v) = {k:e}*({p:e}*sin({w:e}*time) - y) + {d:e}*({p:e}*{w:e}*cos({w:e}*time) - v);\n  q = y + der(v)/{kg:e};\n  \
             der(q) = r;\n  u = der(r);\n  annotation(experiment(StopTime = {end:e}));\nend M;\n"
        );
        let arguments = ["solve", "-", "--json", "--method", "taylor"];
        let found = document(&daelight_with_input(&arguments, text.as_bytes()));
        assert_eq!(found["reason"], "finished", "{found}\n{text}");
        let value = |name: &str| found["final"][name].as_f64().expect("a value");
        assert!((value("y") - y.at(end, 0)).abs() < 1e-12, "{text}");
        // Rounding of y, amplified twice; what is more than the tolerance promises is told.
        let truth = y.at(end, 2) + y.at(end, 4) / kg;
        let off = (value("u") - truth).abs() / truth.abs().max(1.0);
        assert!(off < 1e-16 * k * k / kg, "{off}\n{text}");
        let told = found["estimated_error"].as_f64().unwrap_or(1e-6);
        assert!(off < 30.0 * told, "{off} for {told}\n{text}");
    }
}
