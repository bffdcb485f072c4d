//! Runs of models with events, against closed forms.

use daelight::hybrid::{
    Event, Given, HybridEnd, HybridSolution, ListedMode, Taken, TakesRows, list_modes,
    solve_hybrid, solve_sampled, start_mode,
};
use daelight::{SolveOptions, system};
use daelight_integrate::implicit::Method;
use daelight_lang::{Model, Options, load};
use std::collections::HashSet;

fn model(text: &str) -> Model {
    let loaded = load("hybrid.mo", text.as_bytes(), &Options::default());
    let problems: Vec<String> = loaded
        .diagnostics
        .iter()
        .map(|d| d.message.clone())
        .collect();
    loaded.model.unwrap_or_else(|| panic!("{problems:?}"))
}

fn refused(text: &str) -> String {
    let loaded = load("hybrid.mo", text.as_bytes(), &Options::default());
    assert!(loaded.model.is_none(), "it is read");
    let messages: Vec<String> = loaded
        .diagnostics
        .iter()
        .map(|d| d.message.clone())
        .collect();
    messages.join("; ")
}

fn run_to(model: &Model, to: f64) -> HybridSolution {
    let system = system(model).expect("its equations can be evaluated");
    let options = SolveOptions {
        to: Some(to),
        rtol: Some(1e-12),
        ..SolveOptions::default()
    };
    match solve_hybrid(model, &system, &options) {
        Ok(solution) => solution,
        Err(_) => panic!("{} has no run", model.name),
    }
}

fn finished(text: &str, to: f64) -> (Model, HybridSolution) {
    let model = model(text);
    let solution = run_to(&model, to);
    assert!(
        matches!(solution.end, HybridEnd::Finished),
        "{} ended at {}",
        model.name,
        solution.reached
    );
    (model, solution)
}

/// The value of an unknown or a discrete variable at the end.
fn last(model: &Model, solution: &HybridSolution, name: &str) -> f64 {
    let unknown = model.unknowns.iter().position(|u| u.name == name);
    if let Some(at) = unknown {
        return solution.last[at];
    }
    let hybrid = model.hybrid.as_ref().expect("it has events");
    let variable = hybrid.variables.iter().find(|v| v.name == name);
    solution.parameters[variable.expect("it is declared").parameter]
}

fn close(found: f64, wanted: f64, tolerance: f64) {
    assert!(
        (found - wanted).abs() <= tolerance * wanted.abs().max(1.0),
        "{found} instead of {wanted}"
    );
}

/// Models of this folder, with the times to which they are run.
const MODELS: [(&str, &str, f64); 8] = [
    ("backlash", include_str!("hybrid/backlash.mo"), 2.0),
    ("ball", include_str!("hybrid/ball.mo"), 1.5),
    ("chain", include_str!("hybrid/chain.mo"), 2.0),
    ("clutch", include_str!("hybrid/clutch.mo"), 2.0),
    ("relay", include_str!("hybrid/relay.mo"), 2.0),
    (
        "string pendulum",
        include_str!("hybrid/string_pendulum.mo"),
        1.0,
    ),
    ("thyristor", include_str!("hybrid/thyristor.mo"), 0.1),
    ("valve", include_str!("hybrid/valve.mo"), 5.0),
];

#[test]
fn flat_text_reads_back_to_the_same_run() {
    use daelight_lang::ArrayStyle::{Base, Kept};
    let styles = [Kept, Base].into_iter();
    let all = styles.flat_map(|style| MODELS.map(|model| (style, model)));
    for (style, (name, text, to)) in all {
        let written = model(text);
        let flat = daelight::derive(&written, style);
        let flat = flat.unwrap_or_else(|problem| panic!("{name}: {}", problem.message));
        let read = model(&flat);
        let (one, other) = (run_to(&written, to), run_to(&read, to));
        let times = |run: &HybridSolution| run.events.iter().map(|e| e.time).collect::<Vec<_>>();
        assert_eq!(times(&one), times(&other), "{name}:\n{flat}");
        assert_eq!(one.last, other.last, "{name}");
        let again = daelight::derive(&read, style);
        assert_eq!(again.ok(), Some(flat), "{name}");
    }
}

/// An ideal diode that charges a capacitor opens where its current ends, in a mode of index 2: there its voltage is the
/// rounding of two others, and rises from nothing like t^2.
#[test]
fn an_ideal_diode_opens_once() {
    let (_, solution) = finished(
        "model Peak
  Real v(start = 0, fixed = true), i, s;
  Boolean off = s < 0;
  Integer n(start = 0, fixed = true);
equation
  der(v) = i - v;
  sin(time) - v = if off then s else 0;
  i = if off then 0 else s;
  when off then
    n = pre(n) + 1;
  end when;
end Peak;",
        10.0,
    );
    // sin + cos = 0; then v falls like exp(-t) until it meets the sine again.
    let opens = 0.75 * std::f64::consts::PI;
    let meets = |t: f64| t.sin() - opens.sin() * (opens - t).exp();
    let (mut low, mut high) = (6.0, 7.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match meets(middle) < 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    let wanted = [opens, low, opens + 2.0 * std::f64::consts::PI];
    let found: Vec<f64> = solution.events.iter().map(|e| e.time).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for (found, wanted) in found.iter().zip(wanted) {
        close(*found, wanted, 1e-12);
    }
}

const BALL: &str = "model Ball
  parameter Real g = 9.81, e = 0.7;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
end Ball;";

/// Impact n of a ball from height 1 is at sqrt(2/g) (1 + 2 (e + … + e^(n-1))).
#[test]
fn a_ball_bounces_at_the_times_of_the_closed_form() {
    let (g, e): (f64, f64) = (9.81, 0.7);
    let first = (2.0 / g).sqrt();
    let impact = |n: i32| first * (1.0 + 2.0 * (1..n).map(|k| e.powi(k)).sum::<f64>());
    let to = 0.5 * (impact(20) + impact(21));
    let (_, solution) = finished(BALL, to);
    assert_eq!(solution.events.len(), 20);
    for (n, event) in solution.events.iter().enumerate() {
        close(event.time, impact(n as i32 + 1), 1e-12);
        assert_eq!(event.causes[..], ["h < 0"]);
        assert_eq!(&*event.changed[0].name, "v");
    }
}

/// x' = 1 - x up to 0.7, x' = -x down to 0.3: half periods of ln(7/3).
#[test]
fn a_relay_with_hysteresis_switches_at_its_thresholds() {
    let text = "model Relay
      Real x(start = 0, fixed = true);
      Boolean on(start = true, fixed = true);
    equation
      der(x) = if on then 1 - x else -x;
      on = x < 0.3 or pre(on) and x < 0.7;
    end Relay;";
    let (model, solution) = finished(text, 20.0);
    let half = (7.0f64 / 3.0).ln();
    let up = (1.0f64 / 0.3).ln();
    let switches: Vec<f64> = solution
        .events
        .iter()
        .filter(|event| event.changed.iter().any(|change| &*change.name == "on"))
        .map(|event| event.time)
        .collect();
    assert_eq!(switches.len(), 1 + ((20.0 - up) / half).floor() as usize);
    for (n, &time) in switches.iter().enumerate() {
        close(time, up + n as f64 * half, 1e-12);
    }
    assert_eq!(solution.modes.len(), 2);
    assert_eq!(model.hybrid.as_ref().map(|h| h.mode.len()), Some(1));
}

/// x' = x + u with u = -2 x(k T) held: x((k + 1) T) = (2 - e^T) x(k T).
#[test]
fn a_sampled_controller_follows_its_recursion() {
    let text = "model Sampled
      parameter Real T = 0.1, k = 2;
      Real x(start = 1, fixed = true);
      discrete Real u(start = 0);
      Integer n(start = 0);
    equation
      der(x) = x + u;
      when sample(0, T) then
        u = -k*x;
        n = pre(n) + 1;
      end when;
    end Sampled;";
    let (model, solution) = finished(text, 10.05);
    let factor = 2.0 - 0.1f64.exp();
    let at_sample = factor.powi(100);
    let u = -2.0 * at_sample;
    let wanted = (at_sample + u) * 0.05f64.exp() - u;
    close(last(&model, &solution, "x"), wanted, 1e-12);
    assert_eq!(last(&model, &solution, "n"), 101.0);
    assert_eq!(solution.events.times()[3], 3.0 * 0.1);
}

/// T' = -(T - 10)/2 + 8 on, between 19 and 21: times of exponentials.
#[test]
fn a_thermostat_in_an_algorithm() {
    let text = "model Thermostat
      Real T(start = 18, fixed = true);
      Boolean heat(start = true, fixed = true);
      Integer switches(start = 0, fixed = true);
    algorithm
      when T > 21 then
        heat := false;
        switches := switches + 1;
      elsewhen T < 19 then
        heat := true;
        switches := switches + 1;
      end when;
    equation
      der(T) = -0.5*(T - 10) + (if heat then 8 else 0);
    end Thermostat;";
    let (model, solution) = finished(text, 10.0);
    // Towards 26 when heated, towards 10 otherwise.
    let time = |from: f64, to: f64, limit: f64| 2.0 * ((from - limit) / (to - limit)).ln();
    let mut wanted = vec![time(18.0, 21.0, 26.0)];
    while let Some(&last) = wanted.last() {
        let next = match wanted.len() % 2 {
            1 => last + time(21.0, 19.0, 10.0),
            _ => last + time(19.0, 21.0, 26.0),
        };
        if next > 10.0 {
            break;
        }
        wanted.push(next);
    }
    assert_eq!(last(&model, &solution, "switches"), wanted.len() as f64);
    let found: Vec<f64> = solution
        .events
        .iter()
        .filter(|event| !event.changed.is_empty())
        .map(|event| event.time)
        .collect();
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        close(*found, wanted, 1e-12);
    }
}

#[test]
fn whens_trigger_each_other_at_one_instant() {
    let text = "model Nested
      Real x(start = 0, fixed = true);
      Boolean a(start = false), b(start = false), c(start = false);
      Integer n(start = 0);
    equation
      der(x) = 1;
      when b then c = true; n = pre(n) + 1; end when;
      when a then b = true; end when;
      when x > 0.5 then a = true; end when;
    end Nested;";
    let (model, solution) = finished(text, 1.0);
    assert_eq!(solution.events.len(), 1);
    close(solution.events.times()[0], 0.5, 1e-15);
    for name in ["a", "b", "c", "n"] {
        assert_eq!(last(&model, &solution, name), 1.0, "{name}");
    }
}

#[test]
fn an_event_without_end_is_told_with_its_names() {
    let model = model(
        "model Endless
          Real x(start = 0, fixed = true);
          Boolean a(start = false, fixed = true);
        equation
          der(x) = 1;
          a = if x > 0.5 then not pre(a) else false;
        end Endless;",
    );
    let solution = run_to(&model, 1.0);
    let HybridEnd::EndlessEvent { names } = &solution.end else {
        panic!("it ended otherwise");
    };
    assert_eq!(names, &["a"]);
    close(solution.reached, 0.5, 1e-15);
}

/// The steps of mod and integer are events: y = x mod 0.3 and the whole part of 2 x.
#[test]
fn whole_numbers_of_variables_step_at_events() {
    let text = "model Saw
      Real x(start = 0, fixed = true), y, z, s(start = 0, fixed = true);
    equation
      der(x) = 1;
      y = mod(x, 0.3);
      z = integer(2*x);
      der(s) = y + z;
    end Saw;";
    let (model, solution) = finished(text, 1.75);
    // Five whole teeth and one of 0.25; steps 0, 1, 2, 3 of half a unit each, the last one cut.
    let wanted = 5.0 * 0.045 + 0.25f64.powi(2) / 2.0 + 0.5 * (0.0 + 1.0 + 2.0) + 0.25 * 3.0;
    close(last(&model, &solution, "s"), wanted, 1e-12);
}

#[test]
fn bad_events_are_refused_where_they_stand() {
    let wrong = |declarations: &str, body: &str| {
        refused(&format!(
            "model M  Real x(start = 0), y; {declarations} equation der(x) = 1; {body} end M;"
        ))
    };
    let said = wrong("", "y = x; when x > 1 then reinit(y, 0); end when;");
    assert!(said.contains("derivative is in the equations"), "{said}");
    let said = wrong("", "y = pre(x); when x > 1 then reinit(x, 0); end when;");
    assert!(said.contains("`x` changes between events"), "{said}");
    let twice = "y = x; when x > 1 then b = true; end when; when x > 2 then b = false; end when;";
    let said = wrong("Boolean b(start = false);", twice);
    assert!(said.contains("assigned in two"), "{said}");
    let twice = "y = x; when x > 1 then b = true; b = false; end when;";
    let said = wrong("Boolean b(start = false);", twice);
    assert!(said.contains("two equations in one `when`"), "{said}");
    let twice = "y = x; when x > 1 then if x > 2 then b = true; else b = false; end if; if x > 3 then b = true; end if; end when;";
    let said = wrong("Boolean b(start = false);", twice);
    assert!(said.contains("two equations in one `when`"), "{said}");
    let said = wrong("", "y = 2*x; when y == 0.5 then reinit(x, 0); end when;");
    assert!(said.contains("numbers that move"), "{said}");
    let circle = "y = x; b = not c; c = not b; when x > 1 then reinit(x, 0); end when;";
    let said = wrong("Boolean b, c;", circle);
    assert!(said.contains("defined by each other"), "{said}");
}

/// Branches of one `when` that exclude each other, and equalities of what rests between events: n counts to 3 at t = 0.3, and the name y of it is 3 there.
#[test]
fn branches_and_equalities_of_what_rests_are_allowed() {
    let text = "model M Real y; Integer n(start = 0, fixed = true), a(start = 0, fixed = true), b(start = 0, fixed = true);
        equation y = n; when sample(0.1, 0.1) then n = pre(n) + 1; end when;
        when n == 3 then if time > 1 then a = 1; else a = 2; end if; elsewhen n == 5 then a = pre(a) + 10; end when;
        when y == 3 then b = n; end when; end M;";
    let (model, solution) = finished(text, 0.95);
    assert_eq!(
        ["a", "b", "n"].map(|name| last(&model, &solution, name)),
        [12.0, 3.0, 9.0]
    );
}

/// n = k^m is beyond 2^53 from m = ceil(53 log 2/log k) on: the run ends there.
#[test]
fn whole_numbers_end_a_run_where_they_are_no_longer_known() {
    for k in [3, 7, 10, 1000, -5, -40] {
        let text = format!(
            "model M Integer n(start = 1, fixed = true); equation when sample(1, 1) then n = {k}*pre(n); end when; end M;"
        );
        let solution = run_to(&model(&text), 100.0);
        assert!(matches!(solution.end, HybridEnd::TooLarge { .. }), "{k}");
        let wanted = (53.0 * 2f64.ln() / f64::from(k).abs().ln()).ceil();
        assert_eq!(solution.reached, wanted, "{k}");
    }
}

/// The impacts accumulate at sqrt(2/g) (1 + e)/(1 - e); at rest behind it the ball lies on the ground.
#[test]
fn a_ball_comes_to_rest_at_the_limit_of_its_impacts() {
    let wanted = (2.0f64 / 9.81).sqrt() * 1.7 / 0.3;
    let model = model(BALL);
    let solution = run_to(&model, 5.0);
    let HybridEnd::Zeno { limit, names, .. } = &solution.end else {
        panic!("it ended otherwise, at {}", solution.reached);
    };
    close(*limit, wanted, 1e-9);
    assert_eq!(names, &["h < 0"]);
    let system = system(&model).expect("its equations can be evaluated");
    let options = SolveOptions {
        to: Some(5.0),
        rests_at_zeno: true,
        ..SolveOptions::default()
    };
    let solution = solve_hybrid(&model, &system, &options)
        .ok()
        .expect("it runs");
    assert!(matches!(solution.end, HybridEnd::Finished));
    assert_eq!(solution.reached, 5.0);
    for &value in &solution.last {
        close(value, 0.0, 1e-8);
    }
    assert!(solution.warnings.iter().any(|w| w.contains("accumulate")));
}

/// A ball on floors at heights of any size, at rest or lifted at a constant speed: with u the speed, the ball falls d to the floor and is
/// at its first impact at speed w = sqrt(u^2 + 2 g d) relative to it, at t1 = (w - u)/g; the impacts accumulate at t1 + 2 w e/(g (1 - e)).
#[test]
fn impacts_accumulate_on_floors_of_any_height() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |low: f64, high: f64| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        low + (high - low)
            * ((state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64)
    };
    for trial in 0..30 {
        let (g, e, d) = (random(2.0, 20.0), random(0.4, 0.85), random(0.3, 3.0));
        let f = 10f64.powf(random(-4.0, 3.0)) * if trial % 2 == 0 { 1.0 } else { -1.0 };
        let u = if trial % 3 == 0 {
            random(-0.5, 2.0)
        } else {
            0.0
        };
        let text = format!(
            "model M Real h(start = {f} + {d}, fixed = true), v(start = 0, fixed = true); equation der(h) = v; der(v) = -{g};
             when h < {f} + {u}*time then reinit(v, {u} - {e}*(pre(v) - {u})); end when; end M;"
        );
        let w = (u * u + 2.0 * g * d).sqrt();
        let wanted = (w - u) / g + 2.0 * w * e / (g * (1.0 - e));
        let model = model(&text);
        let solution = run_to(&model, 1.5 * wanted + 1.0);
        let HybridEnd::Zeno { limit, .. } = &solution.end else {
            panic!("{text}: ended otherwise, at {}", solution.reached);
        };
        close(*limit, wanted, 1e-6 * wanted);
    }
}

fn random(state: &mut u64, low: f64, high: f64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
    low + (high - low) * (bits as f64 / (1u64 << 53) as f64)
}

fn run_by(model: &Model, to: f64, rtol: f64, method: Method) -> HybridSolution {
    let system = system(model).expect("its equations can be evaluated");
    let options = SolveOptions {
        to: Some(to),
        rtol: Some(rtol),
        method: Some(method),
        ..SolveOptions::default()
    };
    match solve_hybrid(model, &system, &options) {
        Ok(solution) => solution,
        Err(_) => panic!("{} has no run", model.name),
    }
}

/// By `bdf` the last hops are below what its pieces resolve: on a floor at 0 the run did not end, elsewhere the ball fell through.
#[test]
fn impacts_accumulate_by_implicit_methods() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for trial in 0..24 {
        let mut draw = |low, high| random(&mut state, low, high);
        let (g, e, d) = (draw(1.0, 20.0), draw(0.3, 0.92), draw(0.05, 5.0));
        let f = [0.0, 1.0, draw(-10.0, 10.0), draw(0.0, 100.0)][trial % 4];
        let rtol = [1e-4, 1e-6, 1e-8][trial % 3];
        let method = [Method::Bdf, Method::Bdf, Method::Radau][trial % 3];
        let text = format!(
            "model M Real h(start = {f} + {d}, fixed = true), v(start = 0, fixed = true); equation der(h) = v; der(v) = -{g};
             when h <= {f} then reinit(v, -{e}*pre(v)); end when; end M;"
        );
        let wanted = (2.0 * d / g).sqrt() * (1.0 + e) / (1.0 - e);
        let solution = run_by(&model(&text), 1.5 * wanted, rtol, method);
        let HybridEnd::Zeno { limit, .. } = &solution.end else {
            panic!("{text}: ended otherwise, at {}", solution.reached);
        };
        assert!(
            (limit - wanted).abs() <= 100.0 * rtol * wanted,
            "{text}: {limit} {wanted}"
        );
    }
}

/// `terminate` ends a run behind its event: x = 3 and y = 2*3 + 7.
#[test]
fn values_are_those_behind_the_event_that_terminates() {
    let model = model(
        "model M Real x(start = 0, fixed = true), y; discrete Real m(start = 0, fixed = true); equation der(x) = 1; y = 2*x + m;
         when x > 0.5 then m = 7; reinit(x, 3); terminate(\"enough\"); end when; end M;",
    );
    let solution = run_to(&model, 2.0);
    assert!(matches!(solution.end, HybridEnd::Terminated { .. }));
    close(solution.reached, 0.5, 1e-14);
    assert_eq!(
        ["x", "y", "m"].map(|name| last(&model, &solution, name)),
        [3.0, 13.0, 7.0]
    );
}

/// A mode that no longer differentiates an unknown lets it jump, and that is told.
#[test]
fn unknowns_that_a_mode_lets_go_are_told() {
    let (_, solution) = finished(
        "model M Real y(start = 0, fixed = true); discrete Boolean b(start = false, fixed = true); equation
         when time > 1 then b = true; end when; if b then y = 3; else der(y) = 0; end if; end M;",
        2.0,
    );
    let first = solution.events.get(0).expect("an event");
    let changed = first.changed.iter();
    let change = changed.filter(|c| &*c.name == "y").map(|c| (c.from, c.to));
    assert_eq!(change.collect::<Vec<_>>(), [(0.0, 3.0)]);
    assert!(
        solution
            .warnings
            .iter()
            .any(|w| w.starts_with("`y` jumps where the mode changes: at t = 1 from 0 to 3."))
    );
}

/// Inputs without a signal are 0, also in conditions, and that is told.
#[test]
fn inputs_without_values_are_told_in_models_with_events() {
    let (_, solution) = finished(
        "model M input Real u; input Real w; Real x(start = 0, fixed = true); discrete Real m(start = 0, fixed = true); equation
         der(x) = 1 + u; when x > 0.5 + w then m = 7; end when; end M;",
        2.0,
    );
    close(solution.events.times()[0], 0.5, 1e-14);
    assert!(
        solution
            .warnings
            .iter()
            .any(|w| w.starts_with("The inputs `u`, `w` have no signals and are 0."))
    );
}

/// Takes rows as they come.
#[derive(Default)]
struct Rows(Vec<(f64, Vec<f64>)>);

impl TakesRows for Rows {
    fn take(&mut self, _: &[String], time: f64, values: &[f64]) {
        self.0.push((time, values.to_vec()));
    }
}

/// What is kept of a run does not grow with its events where nobody asks for them: they are counted, and rows are passed on.
#[test]
fn events_that_nobody_asks_for_are_counted() {
    let text = "model M Real x(start = 0, fixed = true); discrete Boolean on(start = true, fixed = true); equation
         when x > 1 then on = false; elsewhen x < -1 then on = true; end when; der(x) = if on then 1.3 else -0.9; end M;";
    let (model, solution) = finished(text, 200.0);
    let n = solution.events.len();
    assert!(n > 100 && solution.events.iter().count() == n);
    assert_eq!(solution.spans.iter().count(), n + 1);
    let causes = solution.events.iter().map(|event| event.causes.as_ptr());
    assert_eq!(causes.collect::<HashSet<_>>().len(), 2);
    let system = system(&model).expect("equations");
    let options = SolveOptions {
        to: Some(200.0),
        rtol: Some(1e-12),
        ..Default::default()
    };
    let times = [0.0, 50.0, 100.0, 200.0];
    let mut rows = Rows::default();
    let taken = Taken {
        times: &times,
        with_events: true,
        told_only: true,
        sink: Some(&mut rows),
    };
    let (told, _) = solve_sampled(&model, &system, &options, taken)
        .ok()
        .expect("a run");
    assert_eq!(told.events.len(), n);
    let first: Vec<Event> = solution.events.iter().take(6).collect();
    assert_eq!(told.events.iter().collect::<Vec<_>>(), first);
    assert_eq!(told.events.last(), solution.events.last());
    assert_eq!(told.spans.iter().count(), 2);
    let (_, kept) = solution.samples(&model, &times, true).expect("values");
    assert_eq!(rows.0, kept);
}

/// Two inertias 1 and 2 at 5 and 0 that are locked turn at 5/3; the shaft passes an impulse of 10/3.
#[test]
fn a_clutch_keeps_the_momentum_when_it_locks() {
    let text = "model Clutch
      parameter Real J1 = 1, J2 = 2;
      Real w1(start = 5, fixed = true), w2(start = 0, fixed = true), tau;
      Boolean locked(start = false, fixed = true);
    equation
      J1*der(w1) = 1 - tau;
      J2*der(w2) = tau;
      when time >= 1 then locked = true; elsewhen time >= 2 then locked = false; end when;
      if locked then w1 = w2; else tau = 0; end if;
    end Clutch;";
    let (model, solution) = finished(text, 3.0);
    let lock = solution.events.get(0).expect("an event");
    assert_eq!(lock.time, 1.0);
    let change = lock
        .changed
        .iter()
        .find(|c| &*c.name == "w1")
        .expect("it jumps");
    close(change.from, 6.0, 1e-10);
    close(change.to, 2.0, 1e-8);
    assert_eq!(&*lock.impulses[0].0, "tau");
    close(lock.impulses[0].1, 4.0, 1e-4);
    // Locked for one second both gain 1/3; then the first alone gains 1.
    close(last(&model, &solution, "w2"), 2.0 + 1.0 / 3.0, 1e-8);
    close(last(&model, &solution, "w1"), 3.0 + 1.0 / 3.0, 1e-8);
    let known: Vec<_> = solution.modes.iter().map(|m| (m.index, m.dof)).collect();
    assert_eq!(known, [(Some(1), Some(2)), (Some(2), Some(1))]);
}

/// The square of an impulse has no integral: what would have to be it is named, and takes the value that is given.
#[test]
fn the_integral_of_the_square_of_an_impulse_is_named() {
    let caps = |set: &str| {
        format!(
            "model Capacitors
              Real v1(start = 3, fixed = true), v2(start = 0, fixed = true), i, W(start = 0, fixed = true); Boolean closed(start = false);
            equation
              2*der(v1) = -i; der(v2) = i;
              der(W) = 5*i^2;
              when time >= 1 then closed = true; {set} end when;
              if closed then v1 = v2; else i = 0; end if;
            end Capacitors;"
        )
    };
    let alone = model(&caps(""));
    let solution = run_to(&alone, 2.0);
    let message = daelight::record::hybrid(&alone, &solution, None).message;
    assert!(
        message.starts_with(
            "at the event at t = 1 `W` grows beyond all bounds: `der(W) = 5*i^2`, line 5"
        ),
        "{message}"
    );
    let (model, solution) = finished(&caps("reinit(W, pre(W) + pre(v1)^2/3);"), 2.0);
    for (name, wanted) in [("v1", 2.0), ("v2", 2.0), ("W", 3.0)] {
        close(last(&model, &solution, name), wanted, 1e-9);
    }
}

/// A switch closes two capacitors into one: the charge is kept.
#[test]
fn capacitors_share_their_charge() {
    let text = "model Capacitors
      Real v1(start = 3, fixed = true), v2(start = 0, fixed = true), i;
      Boolean closed(start = false);
    equation
      2*der(v1) = -i;
      4*der(v2) = i - v2;
      when time >= 0.5 then closed = true; end when;
      0 = if closed then v1 - v2 else i;
    end Capacitors;";
    let (model, solution) = finished(text, 1.5);
    // From 1 on both fall like exp(-t/6).
    close(last(&model, &solution, "v1"), (-1.0f64 / 6.0).exp(), 1e-8);
}

/// Nonlinear capacitors keep their charge, written as the rate of a charge, as a capacitance times a rate, or with a name for the charge; a
/// capacitance that other voltages change has no charge, and that is told.
#[test]
fn nonlinear_capacitors_share_their_charge() {
    let mut bits = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |low: f64, high: f64| {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        low + (high - low) * (bits >> 11) as f64 / (1u64 << 53) as f64
    };
    for number in 0..24 {
        let c = [random(0.5, 2.0), random(0.5, 2.0)];
        let d = [random(0.1, 1.0), random(0.1, 1.0)];
        let v = [random(1.0, 3.0), random(-1.0, 0.5)];
        // C v + D v^3 and C v + D atan(v), both rising.
        let is_cubic = number % 2 == 0;
        let charge = |k: usize, v: f64| match is_cubic {
            true => c[k] * v + d[k] * v.powi(3),
            false => c[k] * v + d[k] * v.atan(),
        };
        let written = |k: usize| {
            let (c, d, v) = (c[k], d[k], format!("v{}", k + 1));
            let (charge, slope) = match is_cubic {
                true => (format!("{c}*{v} + {d}*{v}^3"), format!("{c} + 3*{d}*{v}^2")),
                false => (
                    format!("{c}*{v} + {d}*atan({v})"),
                    format!("{c} + {d}/(1 + {v}^2)"),
                ),
            };
            match number / 2 % 3 {
                0 => format!("der({charge}) = i{};", k + 1),
                1 => format!("({slope})*der({v}) = i{};", k + 1),
                _ => format!("q{} = {charge}; der(q{}) = i{};", k + 1, k + 1, k + 1),
            }
        };
        let more = match number / 2 % 3 {
            2 => "Real q1, q2;",
            _ => "",
        };
        let text = format!(
            "model Caps Real v1(start = {}, fixed = true), v2(start = {}, fixed = true), i1, i2; {more}
             Boolean closed(start = false);
             equation {} {} i1 + i2 = 0;
             when time >= 0.5 then closed = true; end when;
             0 = if closed then v1 - v2 else i1; end Caps;",
            v[0], v[1], written(0), written(1)
        );
        let (model, solution) = finished(&text, 1.0);
        let whole = charge(0, v[0]) + charge(1, v[1]);
        let (mut low, mut high) = (-5.0, 5.0);
        while high - low > 1e-13 {
            let middle = 0.5 * (low + high);
            match charge(0, middle) + charge(1, middle) < whole {
                true => low = middle,
                false => high = middle,
            }
        }
        close(last(&model, &solution, "v1"), low, 1e-7);
        assert!(
            !solution.warnings.iter().any(|told| told.contains("course")),
            "{text}: {:?}",
            solution.warnings
        );
    }
    for (more, [first, second]) in [
        ("", ["(1 + v2^2)*der(v1) = i1;", "(2 + v1^2)*der(v2) = i2;"]),
        (
            ", c1, c2",
            [
                "c1 = 1 + v1^2; c1*der(v1) = i1;",
                "c2 = 2 + v2^2; c2*der(v2) = i2;",
            ],
        ),
    ] {
        let text = format!(
            "model Caps Real v1(start = 2, fixed = true), v2(start = 0.3, fixed = true), i1, i2{more};
             Boolean closed(start = false);
             equation {first} {second} i1 + i2 = 0;
             when time >= 0.5 then closed = true; end when;
             0 = if closed then v1 - v2 else i1; end Caps;"
        );
        let (_, solution) = finished(&text, 1.0);
        let told = solution.warnings.iter();
        let n_told = told.filter(|told| told.contains("course")).count();
        assert_eq!(n_told, 2, "{text}: {:?}", solution.warnings);
    }
}

/// Positions that do not meet cannot be locked: the run ends with the question.
#[test]
fn a_gap_is_no_impulse() {
    let model = model(
        "model Gap
          Real x1(start = 0.5, fixed = true), x2(start = 0.2, fixed = true), f;
          Real v1(start = 1, fixed = true), v2(start = 0, fixed = true);
          Boolean caught(start = false);
        equation
          der(x1) = v1; der(x2) = v2;
          der(v1) = -f; 2*der(v2) = f;
          when time >= 1 then caught = true; end when;
          0 = if caught then x1 - x2 else f;
        end Gap;",
    );
    let solution = run_to(&model, 2.0);
    assert_eq!(solution.reached, 1.0);
    assert!(matches!(
        solution.end,
        HybridEnd::Jump { .. } | HybridEnd::NoPoint { .. }
    ));
}

/// Relays with random thresholds and time constants against their closed form, whatever the order of the text.
#[test]
fn random_relays_switch_when_planted() {
    let mut bits = 0x1234_5678_9abc_def0u64;
    let mut random = || {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        (bits >> 11) as f64 / (1u64 << 53) as f64
    };
    for number in 0..40 {
        let (low, high) = (0.1 + 0.3 * random(), 0.5 + 0.4 * random());
        let rate = 0.2 + 20.0 * random();
        let mut parts = [
            format!("y = {rate}*x;"),
            "der(x) = if on then y_in - y else -y;".to_string(),
            format!("y_in = {rate};"),
            format!(
                "when x > {high} then on = false; n = pre(n) + 1; elsewhen x < {low} then on = true; n = pre(n) + 1; end when;"
            ),
        ];
        parts.rotate_left(number % 4);
        let text = format!(
            "model R Real x(start = 0, fixed = true), y, y_in; Boolean on(start = true, fixed = true);
             Integer n(start = 0, fixed = true); equation {} end R;",
            parts.join(" ")
        );
        let down = (high / low).ln() / rate;
        let up = ((1.0 - low) / (1.0 - high)).ln() / rate;
        let first = -(1.0 - high).ln() / rate;
        let (_, solution) = finished(&text, first + 7.5 * (up + down));
        let found = solution.events.iter();
        let found = found.filter(|e| e.changed.iter().any(|c| &*c.name == "n"));
        let times: Vec<f64> = found.map(|e| e.time).collect();
        let mut wanted = first;
        for (n, &time) in times.iter().enumerate() {
            close(time, wanted, 1e-10);
            wanted += if n % 2 == 0 { down } else { up };
        }
        assert!(times.len() >= 15, "{number}: {}", times.len());
    }
}

fn listed(text: &str) -> Vec<ListedMode> {
    let model = model(text);
    let hybrid = model.hybrid.as_ref().expect("it has events");
    let system = system(&model).expect("its equations can be evaluated");
    let (modes, is_whole) = list_modes(&model, hybrid, &system).expect("it has modes");
    assert!(is_whole);
    modes
}

/// Before any run: a diode that closes a loop of capacitors, and one that shorts an ideal source.
#[test]
fn modes_are_listed_before_a_run() {
    let loop_of = |source: &str| {
        format!(
            "model Loop Real v1(start = 0), v2(start = 1), i, u, s; Boolean on(start = false);
             equation {source} 2*der(v2) = i - 0.1*v2; u = v1 - v2; on = s > 0;
             u = if on then 0 else s; i = if on then s else 0;
             when u > 5 then terminate(\"far\"); end when; end Loop;"
        )
    };
    let found = listed(&loop_of("der(v1) = 1 - i;"));
    let known: Vec<_> = found.iter().map(|m| (m.index, m.dof)).collect();
    assert_eq!(known.len(), 2);
    assert!(known.contains(&(Some(1), Some(2))) && known.contains(&(Some(2), Some(1))));
    assert!(found.iter().all(|mode| mode.singular.is_none()));
    // Two diodes from the same source to the same load: the currents are not determined where both conduct.
    let twice = "model Twice Real v(start = 0), i1, i2, s1, s2; Boolean a, b; equation
        der(v) = i1 + i2 - v; a = s1 > 0; b = s2 > 0;
        sin(time) - v = if a then 0 else s1; i1 = if a then s1 else 0;
        sin(time) - v = if b then 0 else s2; i2 = if b then s2 else 0;
        when v > 5 then terminate(\"far\"); end when; end Twice;";
    let found = listed(twice);
    assert_eq!(found.len(), 4);
    let singular: Vec<_> = found
        .iter()
        .filter(|mode| mode.singular.is_some())
        .collect();
    assert_eq!(singular.len(), 1);
    assert_eq!(singular[0].conditions, ["a", "b"]);
}

/// Relations of one quantity with known limits cannot hold against each other; whole numbers have the values they are compared with.
#[test]
fn modes_that_contradict_themselves_are_left_out() {
    let text = "model Play Real d(start = 0, fixed = true), f; Integer side; equation
        side = if d > 0.1 then 1 elseif d < -0.1 then -1 else 0;
        der(d) = cos(time) - f;
        f = if side == 1 then d - 0.1 elseif side == -1 then d + 0.1 else 0;
        when change(side) then terminate(\"there\"); end when; end Play;";
    let found = listed(text);
    let mut conditions: Vec<String> = found.iter().map(|m| m.conditions.join(", ")).collect();
    conditions.sort();
    let wanted = [
        "not side == 1, not side == -1",
        "not side == 1, side == -1",
        "side == 1, not side == -1",
    ];
    assert_eq!(conditions, wanted);
}

#[test]
fn discrete_starts_are_told_and_their_contradictions() {
    let text = |more: &str| {
        format!(
            "model S Real x(start = 2, fixed = true); Boolean a(start = true, fixed = true), b(start = false), c;
             Integer n; initial equation n = 7; {more} equation der(x) = 1; c = x > 1;
             when x > 3 then a = false; b = true; n = pre(n) + 1; end when; end S;"
        )
    };
    let start = |text: &str| {
        let model = model(text);
        let hybrid = model.hybrid.as_ref().expect("it has events");
        let system = system(&model).expect("its equations can be evaluated");
        let found = start_mode(&model, hybrid, &system, None);
        found
            .map(|found| found.discrete)
            .map_err(|d| d.message.to_string())
    };
    let found = start(&text("")).expect("it has a start");
    let known = |name: &str| {
        let found = found.iter().find(|v| v.name == name).expect("it is there");
        (found.value, found.given)
    };
    assert_eq!(known("a"), (1.0, Given::Fixed));
    assert_eq!(known("b"), (0.0, Given::Free));
    assert_eq!(known("c"), (1.0, Given::Computed));
    assert_eq!(known("n"), (7.0, Given::Equation));
    let said = start(&text("pre(a) = false;")).expect_err("both cannot hold");
    assert!(
        said.contains("`a`") && said.contains("contradicts"),
        "{said}"
    );
    let said = start(&text("n = 8;")).expect_err("both cannot hold");
    assert!(said.contains("`n`"), "{said}");
}

const PENDULUM: &str =
    "Real x(start = 1, fixed = true), y(start = 0), u(start = 0, fixed = true), v, F;
    equation der(x) = u; der(y) = v; der(u) = -F*x; der(v) = -F*y - 9.81; x^2 + y^2 = 1;";

/// A velocity that is set takes the other along the hidden constraint x u + y v = 0; positions stay.
#[test]
fn what_is_tied_follows_a_reinit() {
    for speed in [2.0, -0.7, 11.3] {
        let text =
            format!("model P {PENDULUM} when time > 0.5 then reinit(u, {speed}); end when; end P;");
        let (_, solution) = finished(&text, 0.6);
        let event = solution.events.get(0).expect("an event");
        let change = |name: &str| event.changed.iter().find(|c| &*c.name == name);
        assert_eq!(change("u").map(|c| c.to), Some(speed));
        assert!(change("x").is_none() && change("y").is_none());
        let before = solution.legs[0].trajectory.span().map(|span| span.1);
        assert_eq!(before, Some(0.5));
        let model = model(&text);
        let (names, rows) = solution.samples(&model, &[0.5], false).expect("a row");
        let value = |name: &str| rows[0].1[names.iter().position(|n| n == name).expect("it")];
        close(value("v"), -value("x") * speed / value("y"), 1e-9);
        close(value("x").powi(2) + value("y").powi(2), 1.0, 1e-12);
    }
}

/// Each ends the run with the place and what to do, and keeps the run up to there.
#[test]
fn events_that_lead_nowhere_say_so() {
    let ended = |text: &str| {
        let model = model(text);
        let solution = run_to(&model, 2.0);
        let said = daelight::record::hybrid(&model, &solution, None).message;
        (solution.reached, said)
    };
    let (reached, said) = ended(&format!(
        "model P {PENDULUM}
         when time > 0.5 then reinit(x, 0.3); reinit(y, 0.3); end when; end P;"
    ));
    assert_eq!(reached, 0.5);
    assert!(
        said.contains("`reinit` sets in line 3") && said.contains("set values"),
        "{said}"
    );
    let modes = |body: &str| {
        ended(&format!(
            "model M Real x(start = 0, fixed = true), y, z; Boolean b(start = false); equation der(x) = 1;
             when x > 1 then b = true; end when; {body} end M;"
        ))
    };
    let (reached, said) = modes("z = y; if b then y^2 = -1 - x^2; else y = x; end if;");
    close(reached, 1.0, 1e-12);
    assert!(
        said.contains("line 2") && said.contains("change this mode"),
        "{said}"
    );
    let (_, said) = modes("y = x; if b then y = 3; else z = 1; end if;");
    assert!(
        said.contains("is singular") && said.contains("--modes"),
        "{said}"
    );
    let (_, said) = modes(
        "y = x; z = x; when x > 1 then reinit(x, 0); end when;
         when x > 1 then reinit(x, 0.5); end when;",
    );
    assert!(said.contains("in line 2 and to 0.5 in line 3"), "{said}");
}

/// Planted events and modes, index 0 to 4.
#[test]
fn random_hybrid_daes_switch_when_planted() {
    use daelight::selftest::{SelftestOutcome, hybrid_run, try_hybrid};
    let mut open = 0;
    for number in 0..300 {
        let run = hybrid_run(number);
        match try_hybrid(&run, None) {
            SelftestOutcome::Right(_) => {}
            SelftestOutcome::Open(why) => {
                println!("{number}: {why}");
                open += 1;
            }
            SelftestOutcome::Wrong(what) => panic!("{number}: {what}\n{}", run.text),
        }
    }
    assert!(open <= 6, "{open} open");
}

/// x' = b x(t - T) from 1: the sum of b^k (t - (k - 1) T)^k/k! over all k with t > (k - 1) T.
#[test]
fn delays_follow_the_method_of_steps() {
    let mut state = 1u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for case in 0..24 {
        let (b, t, to) = (3.0 * random() - 1.5, 0.2 + random(), 1.0 + 4.0 * random());
        // The same with the delayed value as an unknown of its own, and with a delay of a delay.
        let body = match case % 3 {
            0 => "der(x) = b*delay(x, T);",
            1 => "y = delay(b*x, T, 9); der(x) = y;",
            _ => "y = delay(delay(x, T/3), 2*T/3); der(x) = b*y;",
        };
        let more = if case % 3 == 0 { "" } else { "Real y;" };
        let text = format!(
            "model M parameter Real b = {b}, T = {t}; Real x(start = 1, fixed = true); {more}\nequation {body}\nend M;"
        );
        let (_, solution) = finished(&text, to);
        let (mut wanted, mut power) = (0.0, 1.0);
        for k in 0.. {
            let since = to - (f64::from(k) - 1.0) * t;
            if k > 0 && since <= 0.0 {
                break;
            }
            power *= if k == 0 { 1.0 } else { b / f64::from(k) };
            wanted += power * if k == 0 { 1.0 } else { since.powi(k) };
        }
        close(solution.last[0], wanted, 1e-11);
    }
}

/// A step at 0.5 comes back every T, half as high.
#[test]
fn jumps_come_back_with_the_delay() {
    let (model, solution) = finished(
        "model Echo
  Real y, z(start = 0, fixed = true);
equation
  y = (if time >= 0.5 then 1 else 0) + 0.5*delay(y, 0.7);
  der(z) = y;
end Echo;",
        5.0,
    );
    let (mut y, mut z) = (0.0, 0.0);
    for k in 0..7 {
        let since = 5.0 - 0.5 - 0.7 * f64::from(k);
        y += 0.5f64.powi(k);
        z += 0.5f64.powi(k) * since;
    }
    close(last(&model, &solution, "y"), y, 1e-13);
    close(last(&model, &solution, "z"), z, 1e-12);
    assert_eq!(solution.events.len(), 7);
    let rows = solution
        .samples(&model, &[], true)
        .expect("it has values")
        .1;
    let sides: Vec<f64> = rows
        .iter()
        .filter(|row| row.0 == 1.2)
        .map(|row| row.1[0])
        .collect();
    assert_eq!(sides, [1.0, 1.5]);
}

#[test]
fn conditions_on_inputs_make_events() {
    let (model, solution) = finished(
        "model Counted
  input Real u = sin(time);
  Integer n(start = 0, fixed = true);
  Real x(start = 0, fixed = true);
equation
  der(x) = u;
  when u > 0.5 then
    n = pre(n) + 1;
  end when;
end Counted;",
        10.0,
    );
    assert_eq!(last(&model, &solution, "n"), 2.0);
    close(
        solution.events.times()[0],
        std::f64::consts::FRAC_PI_6,
        1e-13,
    );
}

/// A model whose relations are conditions of modes though nothing but equations reads them.
fn with_modes(text: &str) -> Model {
    let options = Options {
        holds_relations: true,
        ..Options::default()
    };
    let loaded = load("modes.mo", text.as_bytes(), &options);
    loaded.model.expect("the text is right")
}

const DIODES: &str = "model Diodes
  parameter Real R = 10;
  Real u, i, vp, vn, s[4], d[4], c[4];
equation
  u = 100*sin(100*3.141592653589793*time);
  d = {u/2 - vp, -u/2 - vp, vn - u/2, vn + u/2};
  for k in 1:4 loop
    d[k] = if s[k] < 0 then s[k] else 0;
    c[k] = if s[k] < 0 then 0 else s[k];
  end for;
  c[1] + c[2] = i;
  c[3] + c[4] = i;
  vp - vn = R*i;
end Diodes;";

/// A bridge of four ideal diodes: the pairs change places where the voltage is zero.
#[test]
fn pairs_of_ideal_diodes_change_places() {
    let model = with_modes(DIODES);
    assert!(daelight::hybrid::changes_kind(
        &model,
        daelight::Deciders::Relations
    ));
    let solution = run_to(&model, 0.0475);
    assert!(
        matches!(solution.end, HybridEnd::Finished),
        "{}",
        solution.reached
    );
    let crossings: Vec<f64> = solution.events.iter().map(|e| e.time).collect();
    for (n, time) in crossings.iter().filter(|t| **t > 1e-9).enumerate() {
        close(*time, 0.01 * (n + 1) as f64, 1e-12);
    }
    let i = 10.0 * (100.0 * std::f64::consts::PI * 0.0475).sin().abs();
    close(last(&model, &solution, "i"), i, 1e-11);
    let met: Vec<usize> = solution.spans.iter().map(|span| span.0).collect();
    let kinds = met
        .iter()
        .map(|&mode| (solution.modes[mode].index, solution.modes[mode].dof));
    assert!(kinds.into_iter().all(|kind| kind == (Some(1), Some(0))));
}

/// Three phases, six ideal diodes, no resistance but the load: the load sees the greatest minus the least voltage.
#[test]
fn a_three_phase_bridge_of_ideal_diodes() {
    let model = with_modes(
        "model Phases
  constant Real pi = 3.141592653589793;
  Real u[3], s[6], i[6], vp, vn, il;
equation
  for k in 1:3 loop
    u[k] = 100*sin(100*pi*time + 0.3 - 2*pi*(k - 1)/3);
    u[k] - vp = if s[k] < 0 then s[k] else 0;
    i[k] = if s[k] < 0 then 0 else s[k];
    vn - u[k] = if s[k + 3] < 0 then s[k + 3] else 0;
    i[k + 3] = if s[k + 3] < 0 then 0 else s[k + 3];
  end for;
  i[1] + i[2] + i[3] = il;
  i[4] + i[5] + i[6] = il;
  vp - vn = 10*il;
end Phases;",
    );
    let solution = run_to(&model, 0.0417);
    assert!(
        matches!(solution.end, HybridEnd::Finished),
        "{}",
        solution.reached
    );
    let phase = |k: f64| {
        let pi = std::f64::consts::PI;
        100.0 * (100.0 * pi * 0.0417 + 0.3 - 2.0 * pi * k / 3.0).sin()
    };
    let phases = [phase(0.0), phase(1.0), phase(2.0)];
    let greatest = phases.into_iter().fold(f64::MIN, f64::max);
    let least = phases.into_iter().fold(f64::MAX, f64::min);
    close(
        last(&model, &solution, "il"),
        (greatest - least) / 10.0,
        1e-11,
    );
}

/// A diode that joins two capacitors is told before the run, with the equation that ties them.
#[test]
fn a_loop_of_capacitors_is_told_before_the_run() {
    let model = with_modes(
        "model Loop
  Real v1(start = 1, fixed = true), v2(start = 2, fixed = true), i, s;
equation
  der(v1) = 1 - i;
  der(v2) = i - v2;
  v1 - v2 = if s < 0 then s else 0;
  i = if s < 0 then 0 else s;
end Loop;",
    );
    let hybrid = model.hybrid.as_ref().expect("it has modes");
    let system = system(&model).expect("its equations can be evaluated");
    let (modes, _) = list_modes(&model, hybrid, &system).expect("they are listed");
    let kinds: Vec<_> = modes.iter().map(|m| (m.index, m.dof)).collect();
    assert_eq!(kinds, [(Some(1), Some(2)), (Some(2), Some(1))]);
    assert!(modes[1].differentiated[0].contains("v1 - v2"));
}

/// A relay that nothing but an equation reads slides although the model has a `when`.
#[test]
fn a_relay_slides_beside_a_when() {
    let (model, solution) = finished(
        "model Slide
  Real x(start = 1, fixed = true), w(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(x) = (if x > 0 then -1 else 1) + 0.2*sin(time);
  der(w) = abs(x);
  when time > 2 then
    n = 1;
  end when;
end Slide;",
        4.0,
    );
    close(last(&model, &solution, "x"), 0.0, 1e-12);
    assert_eq!(last(&model, &solution, "n"), 1.0);
    assert!(solution.warnings.iter().any(|w| w.contains("slides")));
}
