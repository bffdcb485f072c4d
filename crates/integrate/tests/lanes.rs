//! Runs side by side against the same runs alone.

use daelight_analysis::{Reduced, System};
use daelight_integrate::lanes::{LaneEnd, LaneSettings, LaneStart, solve_many};
use daelight_integrate::{Options, Problem, Start, StopReason, Tolerances, Trajectory, implicit};
use daelight_lang::{Options as Reading, load};

/// A model with the values of one parameter that its runs have.
struct Ensemble {
    system: System,
    reduced: Reduced,
    problem: Problem,
    parameter: usize,
    end: f64,
}

impl Ensemble {
    fn new(text: &str, parameter: &str, end: f64) -> Self {
        let model = load("ensemble.mo", text.as_bytes(), &Reading::default()).model;
        let model = model.expect("the text is right");
        let place = model.parameters.iter().position(|p| p.name == parameter);
        let system = System::new(&model).expect("a model");
        let reduced = Reduced::new(&system);
        let problem = Problem::of_reduced(&system, &reduced).expect("regular");
        Self {
            parameter: place.expect("a parameter"),
            system,
            reduced,
            problem,
            end,
        }
    }

    fn options(&self, rtol: f64) -> Options {
        Options::new(
            self.end,
            Tolerances::of_model(&self.system, &self.reduced, rtol),
        )
    }

    /// The problem and a consistent start at a value of the parameter.
    fn start(&mut self, value: f64) -> (Problem, LaneStart) {
        let set = self.system.set_parameters(&[(self.parameter, value)]);
        set.expect("a value");
        let problem = self.problem.at_values(self.system.parameters().values());
        let start = Start::of_model(&self.system, &self.reduced, &problem, 0.0);
        let mut options = self.options(1e-12);
        options.t_end = 0.0;
        let begun = implicit::solve_by_choice(&problem, &start, &options, 1.0).expect("a start");
        let n = problem.n() * (problem.max_unknown_offset() + 1);
        let mut point = vec![0.0; n];
        assert!(begun.run.trajectory.coefficients(0.0, &mut point));
        let parameters = problem.parameters().to_vec();
        let start = LaneStart {
            number: 0,
            time: 0.0,
            end: self.end,
            point,
            parameters,
        };
        (problem, start)
    }

    /// The run alone, from the same point.
    fn alone(&self, problem: &Problem, start: &LaneStart, rtol: f64) -> (StopReason, Trajectory) {
        let rows = start.point.chunks_exact(problem.n());
        let begin = Start::new(start.time, rows.map(<[f64]>::to_vec).collect());
        let chosen = implicit::solve_by_choice(problem, &begin, &self.options(rtol), 1.0);
        let run = chosen.expect("a run").run;
        (run.stop, run.trajectory)
    }

    fn together(&self, starts: &[LaneStart], settings: LaneSettings, rtol: f64) -> Vec<LaneEnd> {
        let mut queue = starts.iter().cloned().enumerate();
        let mut ends = Vec::new();
        let suits = solve_many(
            &self.problem,
            &self.options(rtol),
            settings,
            &mut || {
                let (number, start) = queue.next()?;
                Some(LaneStart { number, ..start })
            },
            &mut |end| {
                ends.push(end);
                true
            },
        );
        assert!(suits, "the model suits");
        ends.sort_by_key(|end| end.number);
        ends
    }
}

const PENDULUM: &str = "model Pendulum  parameter Real L = 1;  Real x(start = L), y(start = 0), u, v, f;
    equation  der(x) = u;  der(y) = v;  der(u) = -f*x;  der(v) = -f*y - 9.81;  x^2 + y^2 = L^2;  end Pendulum;";

#[test]
fn runs_side_by_side_are_those_alone_bit_by_bit() {
    let mut ensemble = Ensemble::new(PENDULUM, "L", 5.0);
    let starts: Vec<_> = (0..23)
        .map(|k| ensemble.start(0.5 + 0.11 * f64::from(k)))
        .collect();
    let alone: Vec<_> = (starts.iter())
        .map(|(problem, start)| ensemble.alone(problem, start, 1e-8))
        .collect();
    let starts: Vec<LaneStart> = starts.into_iter().map(|(_, start)| start).collect();
    for width in [8, 16] {
        for is_dense in [true, false] {
            let settings = LaneSettings { width, is_dense };
            let ends = ensemble.together(&starts, settings, 1e-8);
            assert_eq!(ends.len(), starts.len());
            for (end, (stop, trajectory)) in ends.iter().zip(&alone) {
                let reached = end.reached.as_ref().expect("it stays");
                assert_eq!(*stop, StopReason::Finished);
                let last = trajectory.segments().len() - 1;
                assert_eq!(reached.n_steps, last, "run {} of {width}", end.number);
                let own = reached.trajectory.segments().len() - 1;
                assert_eq!(own, if is_dense { last } else { 0 });
                assert_eq!(reached.trajectory.series(own), trajectory.series(last));
                if is_dense {
                    assert_eq!(reached.trajectory, *trajectory);
                }
            }
        }
    }
}

/// Compares whole solutions of runs side by side with those alone; how many came to their ends beside others, and all ends of an unknown.
fn compare(mut ensemble: Ensemble, values: &[f64], unknown: usize) -> (usize, Vec<f64>) {
    let starts: Vec<_> = values.iter().map(|&value| ensemble.start(value)).collect();
    let alone: Vec<_> = (starts.iter())
        .map(|(problem, start)| ensemble.alone(problem, start, 1e-8))
        .collect();
    let starts: Vec<LaneStart> = starts.into_iter().map(|(_, start)| start).collect();
    let settings = LaneSettings {
        width: 16,
        is_dense: true,
    };
    let ends = ensemble.together(&starts, settings, 1e-8);
    let stayed = |(end, (_, trajectory)): (&LaneEnd, &(StopReason, Trajectory))| {
        let reached = end.reached.as_ref().ok();
        if let Some(reached) = reached {
            assert_eq!(reached.trajectory, *trajectory, "run {}", end.number);
        }
        usize::from(reached.is_some())
    };
    let n_stayed = ends.iter().zip(&alone).map(stayed).sum();
    let last = |(_, trajectory): &(StopReason, Trajectory)| {
        let value = trajectory.evaluate(ensemble.end, unknown, 0);
        value.expect("the end")
    };
    (n_stayed, alone.iter().map(last).collect())
}

#[test]
fn runs_with_functions_are_those_alone_bit_by_bit() {
    // Sines, roots, quotients by unknowns and by numbers of parameters.
    let text = "model Mixed  parameter Real a = 1;  Real p(start = 1, fixed = true), q(start = 0, fixed = true), r;
        equation  der(p) = q;  der(q) = -a/3*sin(p)*r/(1 + p^2) - exp(-q^2)/sqrt(a);  r = sqrt(2 + q^2)*cos(p/a);  end Mixed;";
    let values: Vec<f64> = (0..37).map(|k| 0.7 + 0.06 * f64::from(k)).collect();
    let (n_stayed, _) = compare(Ensemble::new(text, "a", 2.0), &values, 0);
    assert!(n_stayed > 30, "{n_stayed}");
}

#[test]
fn narrow_features_are_not_stepped_over_side_by_side() {
    // Nothing of the bell at s = c is in the coefficients at s = 0; its area is w sqrt(pi).
    let text = "model Bell  parameter Real c = 5, w = 0.01;  Real x(start = 0, fixed = true), s(start = 0, fixed = true);
        equation  der(s) = 1;  der(x) = exp(-((s - c)/w)^2);  end Bell;";
    let values: Vec<f64> = (0..33).map(|k| 1.0 + 0.25 * f64::from(k)).collect();
    let ensemble = Ensemble::new(text, "c", 10.0);
    let unknown = (ensemble.reduced.kept_unknowns().iter())
        .position(|&kept| ensemble.system.unknowns()[kept].name == "x");
    let (n_stayed, ends) = compare(ensemble, &values, unknown.expect("it is kept"));
    let area = 0.01 * std::f64::consts::PI.sqrt();
    for (x, c) in ends.iter().zip(&values) {
        // Steps have a hundredth of the tolerance that is asked for; x counts beside 1.
        assert!((x - area).abs() < 100.0 * 1e-8, "{x} at c = {c}");
    }
    assert!(n_stayed > 0, "{n_stayed}");
}
