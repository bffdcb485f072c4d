//! Small unknowns without a nominal value that others amplify: charges of small capacitors, against closed forms.

#[path = "common/mod.rs"]
mod common;

use common::{daelight_with_input, document};

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
