//! One verdict for each model, whoever is asked: `init`, `solve` and what `analyze` begins with. Truths are in closed form.

use daelight::{InitOptions, Place, record, settled, start, start_request, system};
use daelight_analysis::System;
use daelight_analysis::judgement::{Judgement, PointVerdict};
use daelight_analysis::passport::Passport;
use daelight_lang::{Code, Options, load};
use daelight_show::terminal::passport_summary;
use std::time::Duration;

struct Random(u64);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = (self.0)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * ((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

fn read(text: &str) -> System {
    let loaded = load("test.mo", text.as_bytes(), &Options::default());
    let said: Vec<_> = loaded.diagnostics.iter().map(|d| &d.message).collect();
    let model = loaded.model.unwrap_or_else(|| panic!("{said:?}"));
    system(&model).expect("its equations can be evaluated")
}

/// The start that `init` finds, or the code of its refusal.
fn init(system: &System) -> Result<daelight_show::record::StartRecord, Code> {
    let options = InitOptions {
        at: None,
        point: None,
        order: 1,
        all: false,
        nearest_regular: false,
        budget: Duration::from_secs(20),
    };
    let request = start_request(system, &options).map_err(|found| found.code)?;
    record::outcome(system, &request, &start(system, &request)).map_err(|no| no.diagnostic.code)
}

fn headline(system: &System) -> String {
    let passport = daelight::analyze(system, &Place::default()).expect("it is read");
    passport_summary(&record::analyze(system, &passport, false))
}

/// Two masses on a rope. With the forces of the rope in opposite directions and equal masses the accelerations add up to 2 g, and the rope
/// asks for 0; with different masses, or the right signs, the force follows.
#[test]
fn a_rope_that_pushes_one_of_two_equal_masses_has_no_solution() {
    let mut random = Random(7);
    for case in 0..30 {
        let [m1, other, g] = [0.5, 0.5, 2.0].map(|low| random.between(low, 6.0));
        let rope = random.between(1.0, 9.0);
        let (m2, sign) = match case % 3 {
            0 => (m1, 1.0),
            1 => (other, 1.0),
            _ => (other, -1.0),
        };
        let text = format!(
            "model M  parameter Real m1 = {m1}, m2 = {m2}, g = {g}, rope = {rope};
             Real x1(start = 0.4, fixed = true), x2, v1(start = 0, fixed = true), v2, S;
             equation  x1 + x2 = rope; v1 = der(x1); v2 = der(x2);
             m1*der(v1) = m1*g - S; m2*der(v2) = m2*g + ({sign})*S;  end M;"
        );
        let system = read(&text);
        let found = init(&system);
        let run = settled(&system, (0.0, 1.0))
            .map(|_| ())
            .map_err(|found| found.code);
        if case % 3 == 0 {
            assert_eq!(found.err(), Some(Code::Overdetermined), "{text}");
            assert_eq!(run, Err(Code::Overdetermined), "{text}");
            assert!(headline(&system).starts_with("No solution"), "{text}");
            continue;
        }
        assert_eq!(run, Ok(()), "{text}");
        // der(v1) + der(v2) = 2 g + S (sign/m2 - 1/m1) = 0
        let force = 2.0 * g / (1.0 / m1 - sign / m2);
        let record = found.unwrap_or_else(|code| panic!("{code:?}\n{text}"));
        let told = record.values["S"].as_f64().expect("a number");
        assert!(
            (told - force).abs() <= 1e-9 * force.abs(),
            "{told} for {force}\n{text}"
        );
        assert!(
            headline(&system).starts_with("A regular DAE of index 3"),
            "{text}"
        );
    }
}

/// A mass on a slope whose force acts along the slope instead of across it: the constraint asks for an acceleration of 0 across, and
/// gravity gives another.
#[test]
fn a_force_along_a_slope_holds_no_mass_on_it() {
    let mut random = Random(9);
    for case in 0..20 {
        let [m, g] = [random.between(0.2, 5.0), random.between(1.0, 20.0)];
        let angle = random.between(0.1, 1.2);
        let across = if case % 2 == 0 {
            "N*cos(al)"
        } else {
            "N*sin(al)"
        };
        let along = if case % 2 == 0 {
            "-N*sin(al)"
        } else {
            "N*cos(al)"
        };
        let text = format!(
            "model M  parameter Real m = {m}, g = {g}, al = {angle};
             Real x(start = 0, fixed = true), y, vx(start = 0, fixed = true), vy, N;
             equation  vx = der(x); vy = der(y); y = -tan(al)*x; m*der(vx) = {across}; m*der(vy) = {along} - m*g;  end M;"
        );
        let system = read(&text);
        match init(&system) {
            Err(code) if case % 2 == 0 => assert_eq!(code, Code::Overdetermined, "{text}"),
            Ok(record) if case % 2 == 1 => {
                let (told, force) = (record.values["N"].as_f64(), m * g * f64::cos(angle));
                assert!(
                    told.is_some_and(|n| (n - force).abs() <= 1e-9 * force),
                    "{text}"
                );
            }
            other => panic!("{:?}\n{text}", other.err()),
        }
    }
}

/// Three cranks of one length carry a table: one equation follows from the others, and nobody asks for another time.
#[test]
fn help_names_what_is_missing_where_equations_follow_from_others() {
    let mut random = Random(13);
    for _ in 0..5 {
        let [a, d, p] = [
            random.between(0.1, 1.0),
            random.between(0.2, 2.0),
            random.between(0.3, 1.2),
        ];
        let text = format!(
            "model M  parameter Real a = {a}, d = {d};
             Real p(start = {p}), q(start = {p}), r(start = {p}), t(start = 0);
             equation  a*cos(p) + d*cos(t) = d + a*cos(q); a*sin(p) + d*sin(t) = a*sin(q);
             a*cos(p) + 2*d*cos(t) = 2*d + a*cos(r); a*sin(p) + 2*d*sin(t) = a*sin(r);  end M;"
        );
        let system = read(&text);
        let options = InitOptions {
            at: None,
            point: None,
            order: 1,
            all: false,
            nearest_regular: false,
            budget: Duration::from_secs(20),
        };
        let request = start_request(&system, &options).expect("a request");
        let no_start = record::outcome(&system, &request, &start(&system, &request));
        let help = no_start
            .err()
            .and_then(|no| no.diagnostic.help)
            .expect("help");
        assert!(
            help.contains("missing") && !help.contains("--at"),
            "{help}\n{text}"
        );
    }
}

/// Points of the pendulum (regular, but for a length of 0), of a constraint that vanishes with its derivatives, and of equations that are singular on
/// a line.
#[test]
fn a_verdict_without_its_passport_is_that_of_the_passport() {
    let mut random = Random(29);
    let (mut n_regular, mut n_singular, mut n_open) = (0, 0, 0);
    for case in 0..36 {
        let [a, b, c] = [0.2, 0.3, 0.5].map(|low| random.between(low, 2.0));
        let on_locus = if case % 2 == 0 { 0.0 } else { a };
        let text = match case % 4 {
            0 | 1 => format!(
                "model M  Real x(start = {a}), y(start = -{b}), u, v, f;
                 equation der(x) = u; der(y) = v; der(u) = -f*x; der(v) = -f*y - {c}; x^2 + y^2 = {a}^2 + {b}^2; end M;"
            ),
            _ if case % 3 == 0 => format!(
                "model M  Real x(start = {a}, fixed = true), y(start = 0); equation der(x) = {b}; y^2 = 0*x; end M;"
            ),
            _ => format!(
                "model M  Real x(start = {a}), y(start = {b}), z(start = {on_locus}, fixed = true);
                 equation der(x) = {c}*y + z; z*y + x = {a}; der(z) = 1 - z*y; end M;"
            ),
        };
        let system = read(&text);
        let request = daelight_analysis::initial::Request::of_model(&system, 0.0, 0);
        let whole = Passport::new(&system, &request);
        let judgement = Judgement::new(&system, &request);
        let condition = judgement.condition();
        let verdict = judgement.verdict;
        assert_eq!(verdict, whole.verdict, "{text}");
        let numerical = whole.numerical.as_ref().ok();
        let wanted = numerical.filter(|_| verdict == PointVerdict::Regular);
        assert_eq!(condition, wanted.and_then(|part| part.condition), "{text}");
        match verdict {
            PointVerdict::Regular => n_regular += 1,
            PointVerdict::Singular { .. } => n_singular += 1,
            PointVerdict::Unknown { .. } => n_open += 1,
        }
    }
    assert!(
        n_regular >= 12 && n_singular + n_open >= 6,
        "{n_regular} regular, {n_singular} singular, {n_open} open"
    );
}
