//! Functions whose `while` repeats as variables say: searches, Newton's loops, root finders, and loops that give nothing;
//! against closed forms (`docs/theory/components.md`, section 7).

use daelight::hybrid::{HybridSolution, solve_hybrid};
use daelight::{SolveOptions, solve, system};
use daelight_lang::{Model, Options, load};

/// The last value of an unknown; `None` where the run ends early.
fn last(text: &str, name: &str, to: f64) -> Option<f64> {
    let loaded = load("test.mo", text.as_bytes(), &Options::default());
    let said: Vec<_> = loaded.diagnostics.iter().map(|d| &d.message).collect();
    let model = loaded.model.unwrap_or_else(|| panic!("{said:?}"));
    let system = system(&model).expect("its equations can be evaluated");
    let options = SolveOptions {
        to: Some(to),
        rtol: Some(1e-10),
        ..SolveOptions::default()
    };
    let solution = solve(&system, &options).ok()?;
    if solution.reached() < to {
        return None;
    }
    let unknown = model.unknowns.iter().position(|u| u.name == name);
    let values = solution.reader(&system).values(to).ok().flatten()?;
    Some(values[unknown.expect("it is declared")])
}

/// A run of a model with events.
fn with_events(text: &str, to: f64) -> (Model, HybridSolution) {
    let loaded = load("test.mo", text.as_bytes(), &Options::default());
    let said: Vec<_> = loaded.diagnostics.iter().map(|d| &d.message).collect();
    let model = loaded.model.unwrap_or_else(|| panic!("{said:?}"));
    let system = system(&model).expect("its equations can be evaluated");
    let options = SolveOptions {
        to: Some(to),
        ..SolveOptions::default()
    };
    let Ok(solution) = solve_hybrid(&model, &system, &options) else {
        panic!("no run");
    };
    (model, solution)
}

const NEWTON: &str = "
  function root
    input Real x; output Real y;
  protected
    Boolean found = false; Integer i = 0; Real e;
  algorithm
    y := 1 + x/2;
    while not found and i < 50 loop
      e := y*y - x;
      if abs(e) < 1e-10 then found := true; end if;
      y := y - e/(2*y);
      i := i + 1;
    end while;
  end root;
";

/// The integral of sqrt(1 + t) from 0 to 3 is 14/3: a loop that stops early is wrong in its derivatives.
#[test]
fn a_loop_of_newtons_kind_is_the_equation_it_solves() {
    let text = format!(
        "{NEWTON} model M Real x; Real z(start = 0, fixed = true); equation x = 1 + time; der(z) = root(x); end M;"
    );
    let z = last(&text, "z", 3.0).expect("a run");
    assert!((z - 14.0 / 3.0).abs() < 1e-8, "{z}");
}

/// Halving until a number is small converges to nothing that the function means: the run ends, it invents no value.
#[test]
fn other_loops_give_nothing() {
    let text = "
      function halved input Real x; output Real y; algorithm y := x; while y > 1 loop y := y/2; end while; end halved;
      model M Real z(start = 0, fixed = true); equation der(z) = halved(3 + time); end M;";
    assert_eq!(last(text, "z", 1.0), None);
    // Where nobody asks for it, nothing is missing.
    let text = "
      function halved input Real x; output Real y; algorithm y := x; while y > 1 loop y := y/2; end while; end halved;
      model M Real z(start = 0, fixed = true); equation der(z) = if time > 5 then halved(3 + time) else 2; end M;";
    let z = last(text, "z", 1.0).expect("a run");
    assert!((z - 2.0).abs() < 1e-9, "{z}");
}

/// Inside a `when` a loop is run with the numbers of the event: a wrap, a bisection, the greatest common divisor.
#[test]
fn at_events_loops_are_run() {
    let text = "model M
      function root input Real x; output Real y; protected Real a = 0, b = 10, m;
      algorithm
        while b - a > 1e-13 loop m := (a + b)/2; if m*m > x then b := m; else a := m; end if; end while;
        y := a;
      end root;
      Real x(start = 2, fixed = true); discrete Real r(start = 0, fixed = true), w(start = 0, fixed = true);
      Integer h(start = 18, fixed = true), g(start = 0, fixed = true), k(start = 0, fixed = true);
    equation
      der(x) = 1 - r/3;
      when sample(0, 0.5) then r = root(x); end when;
    algorithm
      when sample(0.1, 0.1) then
        w := 40*time; while w > 3 loop w := w - 3; end while;
        h := h + 1; k := h; g := 84;
        while k <> g loop if k > g then k := k - g; else g := g - k; end if; end while;
      end when;
    end M;";
    let (model, solution) = with_events(text, 2.0);
    let mut x = 2.0f64;
    for _ in 0..4 {
        x += 0.5 * (1.0 - x.sqrt() / 3.0);
    }
    // 18 + 20 = 38 and 84 have 2 in common; 80 = 26*3 + 2. No condition of a loop is an event.
    let wanted = [("x", x), ("r", x.sqrt()), ("w", 2.0), ("g", 2.0)];
    for (name, wanted) in wanted {
        let unknown = model.unknowns.iter().position(|u| u.name == name);
        let hybrid = model.hybrid.as_ref().expect("it has events");
        let found = match unknown {
            Some(at) => solution.last[at],
            None => {
                let variable = hybrid.variables.iter().find(|v| v.name == name);
                solution.parameters[variable.expect("it is declared").parameter]
            }
        };
        assert!((found - wanted).abs() < 1e-11, "{name}: {found}");
    }
    assert_eq!(solution.events.len(), 21);
}

/// A loop that does not come to its end within its rounds is named, and so is what has no value for another reason.
#[test]
fn what_has_no_value_at_an_event_is_named() {
    let said = |rule: &str| {
        let text = format!(
            "model M Real x(start = 1, fixed = true); discrete Real w(start = 0, fixed = true); equation der(x) = -1;
             algorithm when sample(0.5, 1) then
             {rule} end when; end M;"
        );
        let (model, solution) = with_events(&text, 2.0);
        daelight::record::hybrid(&model, &solution, None).message
    };
    let message = said("w := 1000*(2 - x); while w > 3 loop w := w - 3; end while;");
    assert!(
        message.contains("`w` has no value: the loop `while w > 3`, line 3"),
        "{message}"
    );
    let message = said("w := sqrt(x);");
    assert!(
        message.starts_with("at t = 1.5 `w`, line 1, has no value"),
        "{message}"
    );
}

/// A root finder in a library of our own, with the path that the Standard Library gives it: u^3 + u = t + 2.
#[test]
fn a_root_finder_is_the_equation_it_solves() {
    let text = "
      package Modelica package Math package Nonlinear
        package Interfaces partial function partialScalarFunction input Real u; output Real y; end partialScalarFunction; end Interfaces;
        function solveOneNonlinearEquation
          input Interfaces.partialScalarFunction f; input Real u_min; input Real u_max; input Real tolerance = 1e-14; output Real u;
        protected Real a = u_min; Real b = u_max; Real m;
        algorithm
          while b - a > tolerance loop
            m := (a + b)/2;
            if f(m)*f(a) <= 0 then b := m; else a := m; end if;
          end while;
          u := (a + b)/2;
        end solveOneNonlinearEquation;
      end Nonlinear; end Math; end Modelica;
      function inverse
        input Real c; output Real u;
      protected
        function f extends Modelica.Math.Nonlinear.Interfaces.partialScalarFunction; input Real c; algorithm y := u^3 + u - c; end f;
      algorithm
        u := Modelica.Math.Nonlinear.solveOneNonlinearEquation(function f(c = c), 0, 10);
      end inverse;
      model M Real u; equation u = inverse(2 + time); end M;
      model N Real u; parameter Real p = inverse(10); equation u = if time > 9 then inverse(-1e6 + time) else p; end N;";
    for (model, other) in [("model M", "model N"), ("model N", "model M")] {
        let at = text.find(other).expect("it is there");
        let end = at + text[at..].find("end ").expect("it ends") + 6;
        let text = format!("{}{}", &text[..at], &text[end..]);
        let u = last(&text, "u", 8.0).unwrap_or_else(|| panic!("{model} has no run"));
        assert!((u - 2.0).abs() < 1e-9, "{model}: {u}");
    }
}

/// A search through a grid takes no more rounds than the grid has points.
#[test]
fn a_search_is_written_out() {
    let text = "
      function place input Real x; input Real grid[:]; output Integer i;
      algorithm i := 1; while i < size(grid, 1) and x >= grid[i] loop i := i + 1; end while; end place;
      function slope input Real x; output Real y; protected Integer i; Real s[4] = {1, 2, 4, 8};
      algorithm i := place(x, {1, 2, 3, 4}); y := s[i]; end slope;
      model M Real z(start = 0, fixed = true); equation der(z) = slope(time); end M;";
    let z = last(text, "z", 3.5).expect("a run");
    assert!((z - 11.0).abs() < 1e-8, "{z}");
}

/// The same by bisection, whose places are no plain choices among numbers: right, or no run.
#[test]
fn a_bisection_is_never_wrong() {
    let text = "
      function place input Real x; input Real grid[:]; output Integer i = 1; protected Integer n = size(grid, 1); Integer m = div(n + 1, 2);
      algorithm
        while m <> i loop
          if x < grid[m] then n := m; else i := m; end if;
          m := div(i + n, 2);
        end while;
      end place;
      function slope input Real x; output Real y; protected Integer i; Real s[4] = {1, 2, 4, 8};
      algorithm i := place(x, {0, 1, 2, 3, 4}); y := s[i]; end slope;
      model M Real z(start = 0, fixed = true); equation der(z) = slope(time); end M;";
    if let Some(z) = last(text, "z", 3.5) {
        assert!((z - 11.0).abs() < 1e-8, "{z}");
    }
}

/// What one branch does not assign is missing only where it is read; arrays of records are filled element by element;
/// `{a, b, c}` of variables gives a vector its size.
#[test]
fn what_a_path_does_not_assign_is_missing_there_alone() {
    let text = "
      record R Real a; Real b; Real c; end R;
      function f input Real x; output R r; protected Real half;
      algorithm
        r.a := x;
        if x > 1 then r.b := 2*x; half := x/2; else r.c := 3*x; end if;
        if x > 1 then r.a := half; end if;
      end f;
      function g input Real x; output Real y; protected R r; algorithm r := f(x); y := r.a + r.b; end g;
      function two input Real x; output R r[2]; algorithm for i in 1:2 loop r[i] := R(i*x, x, x); end for; end two;
      model M Real y; R both[2]; Real v[:] = {y, 2*y, 3*y}; equation y = g(2 + time); both = two(time); end M;";
    for (name, expected) in [("y", 10.0), ("both[2].a", 4.0), ("v[3]", 30.0)] {
        let found = last(text, name, 2.0).expect("a run");
        assert!((found - expected).abs() < 1e-9, "{name} = {found}");
    }
}
