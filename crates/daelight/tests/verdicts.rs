//! One verdict for each model, whoever is asked: `init`, `solve` and what `analyze` begins with. Truths are in closed form.

use daelight::{
    InitOptions, NoRun, Place, SolveOptions, record, settled, solve, start, start_request, system,
};
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

fn run(text: &str, to: f64) -> Result<(), NoRun> {
    let options = SolveOptions {
        to: Some(to),
        budget: Some(Duration::from_secs(20)),
        ..Default::default()
    };
    solve(&read(text), &options).map(|_| ())
}

/// A sine of time: its value at 0, its text and that of its derivative.
fn wave(random: &mut Random) -> (f64, String, String) {
    let [c, a, w, p] = [(-1.0, 1.0), (0.2, 1.0), (0.3, 2.0), (-3.0, 3.0)]
        .map(|(low, high)| (random.between(low, high) * 1e3).round() / 1e3);
    (
        c + a * p.sin(),
        format!("({c} + {a}*sin({w}*time + ({p})))"),
        format!("({a}*{w}*cos({w}*time + ({p})))"),
    )
}

/// Chains u1 = w1, u1' = w1' + u2 - w2, ... of index k, beside one differential equation, in which an equation is multiplied by a factor that
/// never vanishes and holds an unknown, or has a multiple of another one added. The system Jacobian then vanishes with the equations.
#[test]
fn factors_of_unknowns_leave_index_and_freedom_as_they_are() {
    let mut random = Random(41);
    let mut n_open = 0;
    for case in 0..60 {
        let k = 2 + case % 3;
        let waves: Vec<_> = (0..=k).map(|_| wave(&mut random)).collect();
        let apart = |i: usize| format!("(u{i} - {})", waves[i].1);
        let mut equations = vec![
            format!("der(u0) - {} + {}", waves[0].2, apart(0)),
            format!("{} + {}*{}", apart(1), random.between(-1.0, 1.0), apart(0)),
        ];
        for i in 2..=k {
            let (rate, factor) = (&waves[i - 1].2, random.between(-1.0, 1.0));
            let before = apart(i - 1);
            equations.push(format!(
                "der(u{}) - {rate} - {} + {factor}*{before}",
                i - 1,
                apart(i)
            ));
        }
        let at = 1 + (case / 3) % k;
        let factor = format!("(0.5*u{k}^2 + {})", random.between(0.3, 2.0));
        equations[at] = match case % 2 {
            0 => format!("{factor}*({})", equations[at]),
            _ => format!("{} + {factor}*({})", equations[at], equations[1 + at % k]),
        };
        let named = case % 5 == 0;
        if named {
            equations[at] = format!("named - ({})", equations[at]);
            equations.push("named".into());
        }
        let declared: Vec<String> = (0..=k)
            .map(|i| format!("u{i}(start = {})", waves[i].0 + random.between(-0.05, 0.05)))
            .collect();
        let text = format!(
            "model M  Real {}{}; equation {} = 0; end M;",
            declared.join(", "),
            if named { ", named" } else { "" },
            equations.join(" = 0; ")
        );
        let system = read(&text);
        let request = daelight_analysis::initial::Request::of_model(&system, 0.0, 0);
        let judgement = Judgement::new(&system, &request);
        match (&judgement.verdict, judgement.indices()) {
            (PointVerdict::Regular, Some(indices)) => {
                let found = (indices.differentiation_index, indices.degrees_of_freedom());
                assert_eq!(found, (Some(k), 1), "{text}");
            }
            (PointVerdict::Unknown { .. }, _) => n_open += 1,
            (verdict, _) => panic!("{verdict:?}\n{text}"),
        }
        match init(&system) {
            Ok(record) => assert_eq!(record.dof, Some(1), "{text}"),
            Err(Code::SingularStart) => panic!("singular\n{text}"),
            Err(_) => n_open += 1,
        }
    }
    assert!(n_open <= 3, "{n_open} open");
}

/// The solution that rests where another one begins is of index 2 without freedom, x = k^2 c t^2/4 is the other.
#[test]
fn what_rests_at_a_branch_point_is_counted_alike() {
    let mut random = Random(43);
    for _ in 0..12 {
        let [k, c] = [0.2, 0.3].map(|low| random.between(low, 4.0));
        let text =
            format!("model M  Real x(start = 0), z; equation der(x) = {k}*z; z^2 = {c}*x; end M;");
        let system = read(&text);
        assert!(
            headline(&system).starts_with("A regular DAE of index 2 with 0 degrees"),
            "{text}"
        );
        let record = init(&system).unwrap_or_else(|code| panic!("{code:?}\n{text}"));
        assert_eq!(record.dof, Some(0), "{text}");
    }
}

/// The load of a crane on a rope of constant length, at rest, follows a path that begins with t^p. Its angle obeys
/// l a^2 a'' + g a = x'' to first order, so that a'' has no factor at rest: no index exists there, however late the path begins.
#[test]
fn a_crane_at_rest_is_singular_for_all_commands() {
    let mut random = Random(47);
    for case in 0..10 {
        let [ml, mt, l] = [50.0, 10.0, 2.0].map(|low| random.between(low, 3.0 * low));
        let (c, p) = (random.between(0.05, 0.3), 3 + case % 4);
        let text = format!(
            "model M  parameter Real mt = {mt}, ml = {ml}, l = {l}, g = 9.81;
             Real s(start = 0), x(start = 0), z(start = -{l}), vx, vz, F, S;
             equation der(x) = vx; der(z) = vz; ml*der(vx) = -S*(x - s)/l; ml*der(vz) = -S*z/l - ml*g;
             mt*der(der(s)) = F + S*(x - s)/l; (x - s)^2 + z^2 = l^2; x = {c}*time^{p}; end M;"
        );
        let system = read(&text);
        let request = daelight_analysis::initial::Request::of_model(&system, 0.0, 0);
        let verdict = Judgement::new(&system, &request).verdict;
        assert_ne!(verdict, PointVerdict::Regular, "{text}");
        assert_eq!(init(&system).err(), Some(Code::SingularStart), "{text}");
        let refused = run(&text, 0.5).err();
        assert!(matches!(refused, Some(NoRun::SingularStart(_))), "{text}");
    }
}

/// y = p x + q x^2 in decimals, with both values fixed: as they are they agree, and one unit of a further decimal contradicts them.
#[test]
fn fixed_values_agree_to_the_decimals_that_they_are_written_with() {
    let mut random = Random(53);
    for case in 0..30 {
        let mut whole = |low: f64, high: f64| random.between(low, high).round() as i64;
        // x in hundredths, p and q in tenths: y in units of 1e-5.
        let (x, p, q) = (whole(-99.0, 99.0), whole(1.0, 30.0), whole(-20.0, 20.0));
        let y = 100 * p * x + q * x * x;
        let decimals = 7 + case % 4;
        let scale = 10_i64.pow(decimals as u32 - 5);
        let off = [0, 1, -1][case % 3];
        let y = (y * scale + off) as f64 / 10_f64.powi(decimals as i32);
        let text = format!(
            "model M  Real x(start = {}, fixed = true), y(start = {y}, fixed = true); equation der(x) = -x; y = {}*x + {}*x^2; end M;",
            x as f64 / 100.0,
            p as f64 / 10.0,
            q as f64 / 10.0
        );
        let wanted = (off != 0).then_some(Code::InconsistentInitial);
        assert_eq!(init(&read(&text)).err(), wanted, "{text}");
        assert_eq!(run(&text, 0.1).is_err(), off != 0, "{text}");
    }
    for _ in 0..20 {
        let (angle, l) = (random.between(0.2, 1.3), random.between(0.5, 3.0));
        let rounded = |value: f64| (value * 1e9).round() / 1e9;
        let (x, y) = (rounded(l * angle.cos()), rounded(l * angle.sin()));
        let text = |y: f64| {
            format!(
                "model M  Real x(start = {x}, fixed = true), y(start = {y}, fixed = true); equation der(x) = -x; x^2 + y^2 = {l}^2; end M;"
            )
        };
        // Off by at most half a unit for each of the values.
        assert_eq!(init(&read(&text(y))).err(), None, "{}", text(y));
        let most = 1.0 + x / y;
        // The last decimal may be a zero, which is not written.
        let far = rounded(y + (most + 1.0) * 1e-8);
        assert_eq!(
            init(&read(&text(far))).err(),
            Some(Code::InconsistentInitial),
            "{}",
            text(far)
        );
    }
}
