//! Mechanisms of the tests, as model texts.

#![allow(dead_code, reason = "each test uses a part")]

use daelight_lang::{Model, Options, load};
use daelight_singular::{Constraints, Kept, Mechanism, Question};

/// Repeatable random numbers: xorshift64*.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 20
    }

    /// A whole number between two, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }
}

/// Reads a text.
pub fn model(text: &str, set: &[&str]) -> Model {
    let options = Options {
        set: set.iter().map(|s| s.to_string()).collect(),
        ..Options::default()
    };
    let loaded = load("test.mo", text.as_bytes(), &options);
    loaded
        .model
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// Reads a model of the library.
pub fn library(name: &str) -> String {
    let folder = format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut files = std::fs::read_dir(folder).expect("the model exists");
    let text = files.find_map(|entry| {
        let path = entry.ok()?.path();
        let is_text = path.extension().is_some_and(|e| e == "mo");
        is_text
            .then(|| std::fs::read_to_string(path).ok())
            .flatten()
    });
    text.expect("a text")
}

/// The mechanism of a text.
pub fn mechanism(text: &str, question: &Question) -> Mechanism {
    let model = model(text, &[]);
    let constraints = Constraints::new(&model, question)
        .unwrap_or_else(|diagnostics| panic!("{diagnostics:?}\n{text}"));
    Mechanism::new(&model, constraints)
}

/// All parameters as symbols, some coordinates locked.
pub fn symbolic(locked: &[&str]) -> Question {
    Question {
        parameters: Kept::All,
        locked: locked.iter().map(|s| s.to_string()).collect(),
        ..Question::default()
    }
}

/// Names, texts and locked coordinates of mechanisms, planar and spatial.
pub fn mechanisms() -> Vec<(&'static str, String, Vec<&'static str>)> {
    let mut all: Vec<(&str, String, Vec<&str>)> = vec![
        ("2R arm", TWO_R.into(), vec![]),
        ("four-bar", library("four-bar"), vec![]),
        ("four-bar, driven", library("four-bar"), vec!["q[1]"]),
        ("slider-crank", library("slider-crank"), vec![]),
        ("Stephenson III", library("stephenson"), vec![]),
        ("Watt II", WATT.into(), vec![]),
        ("3-RRR", library("three-rrr"), vec![]),
        (
            "3-RRR, driven",
            library("three-rrr"),
            vec!["q[1]", "q[2]", "q[3]"],
        ),
        ("chain of four-bars", CHAIN.into(), vec![]),
        ("Andrews", library("andrews-constraints"), vec![]),
        (
            "Andrews, driven",
            library("andrews-constraints"),
            vec!["y[2]"],
        ),
        ("Scotch yoke", YOKE.into(), vec![]),
        ("points and bars", TRUSS.into(), vec![]),
        ("delta robot", library("delta-robot"), vec![]),
        ("spherical pendulum", SPHERICAL.into(), vec![]),
        ("spatial dyad", SPATIAL.into(), vec![]),
    ];
    all.push(("random loops", RANDOM.into(), vec![]));
    all
}

const TWO_R: &str = "model Arm
  parameter Real l[2] = {1, 2}, p[2] = {1, 1};
  Real q[2];
equation
  l[1]*cos(q[1]) + l[2]*cos(q[1] + q[2]) = p[1];
  l[1]*sin(q[1]) + l[2]*sin(q[1] + q[2]) = p[2];
end Arm;";

const WATT: &str = "model Watt
  parameter Real a[3] = {2, 5, 4}, b[3] = {3, 6, 4}, g[2] = {5, 0}, h[2] = {4, 1}, turn = 0.5;
  parameter Real ct = 0.6, st = 0.8;
  Real q[5];
equation
  a[1]*cos(q[1]) + a[2]*cos(q[2]) - a[3]*cos(q[3]) = g[1];
  a[1]*sin(q[1]) + a[2]*sin(q[2]) - a[3]*sin(q[3]) = g[2];
  b[1]*(ct*cos(q[3]) - st*sin(q[3])) + b[2]*cos(q[4]) - b[3]*cos(q[5]) = h[1];
  b[1]*(st*cos(q[3]) + ct*sin(q[3])) + b[2]*sin(q[4]) - b[3]*sin(q[5]) = h[2];
end Watt;";

const CHAIN: &str = "model Chain
  parameter Integer n = 3;
  parameter Real a[n] = {2, 3, 4}, b[n] = {5, 6, 7}, c[n] = {4, 5, 3}, g[n] = {6, 5, 8};
  Real q[n + 1], p[n];
equation
  for i in 1:n loop
    a[i]*cos(q[i]) + b[i]*cos(p[i]) - c[i]*cos(q[i + 1]) = g[i];
    a[i]*sin(q[i]) + b[i]*sin(p[i]) - c[i]*sin(q[i + 1]) = 0;
  end for;
end Chain;";

const YOKE: &str = "model Yoke
  parameter Real r = 1, e = 0.2;
  Real q, x, y;
equation
  r*cos(q) = x + e*y;
  r*sin(q) = y;
end Yoke;";

const TRUSS: &str = "model Truss
  parameter Real l[4] = {1, 2, 2, 1}, g = 3;
  Real x[2], y[2];
equation
  x[1]^2 + y[1]^2 = l[1]^2;
  (x[1] - x[2])^2 + (y[1] - y[2])^2 = l[2]^2;
  (x[2] - g)^2 + y[2]^2 = l[3]^2;
  (x[1] - g)^2 + y[1]^2 = l[4]^2;
end Truss;";

const SPHERICAL: &str = "model Spherical
  parameter Real l = 2, a = 1, h = 1;
  Real phi, theta, x, y, z;
equation
  x = l*cos(theta)*cos(phi);
  y = l*cos(theta)*sin(phi);
  z = l*sin(theta);
  x^2 + y^2 = a^2*(1 + z/h);
end Spherical;";

const SPATIAL: &str = "model Spatial
  parameter Real l[2] = {2, 1}, p[3] = {1, 1, 1};
  Real q[3];
equation
  cos(q[1])*(l[1]*cos(q[2]) + l[2]*cos(q[2] + q[3])) = p[1];
  sin(q[1])*(l[1]*cos(q[2]) + l[2]*cos(q[2] + q[3])) = p[2];
  l[1]*sin(q[2]) + l[2]*sin(q[2] + q[3]) = p[3];
end Spatial;";

const RANDOM: &str = "model Loops
  parameter Real a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {2, 1, 3, 1, 2, 5}, c[4] = {1, 2, 3, 4};
  Real q[6];
equation
  a[1]*cos(q[1]) + b[1]*sin(q[1]) + a[2]*cos(q[2]) - a[3]*sin(q[3]) = c[1];
  b[2]*cos(q[2]) + a[3]*cos(q[3]) + b[3]*sin(q[4]) + a[4]*cos(q[4]) = c[2];
  b[1]*cos(q[1]) - a[1]*sin(q[1]) + a[5]*cos(q[5]) + b[5]*sin(q[5]) = c[3];
  a[6]*cos(q[6]) + b[6]*cos(q[5]) - b[4]*sin(q[4]) + b[2]*sin(q[2]) = c[4];
end Loops;";
