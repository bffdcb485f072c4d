//! Clocks, tables over time and what their components are written with, against closed forms.

use daelight::hybrid::{HybridEnd, HybridSolution, solve_hybrid};
use daelight::{SolveOptions, system};
use daelight_lang::{Model, Options, load};

fn read(text: &str) -> Result<Model, String> {
    let loaded = load("clocks.mo", text.as_bytes(), &Options::default());
    let messages = loaded.diagnostics.iter().map(|d| d.message.clone());
    let messages: Vec<String> = messages.collect();
    loaded.model.ok_or_else(|| messages.join("; "))
}

fn run(text: &str, to: f64) -> (Model, HybridSolution) {
    let model = read(text).unwrap_or_else(|why| panic!("{why}"));
    let system = system(&model).expect("its equations can be evaluated");
    let options = SolveOptions {
        to: Some(to),
        ..SolveOptions::default()
    };
    let Ok(solution) = solve_hybrid(&model, &system, &options) else {
        panic!("{} has no run", model.name);
    };
    assert!(
        matches!(solution.end, HybridEnd::Finished),
        "{} ended at {}",
        model.name,
        solution.reached
    );
    (model, solution)
}

/// Values of variables at times, one row for each time.
fn values(text: &str, to: f64, names: &[&str], times: &[f64]) -> Vec<Vec<f64>> {
    let (model, solution) = run(text, to);
    let (known, rows) = solution.samples(&model, times, false).expect("values");
    let column = |name: &str| {
        let found = known.iter().position(|known| known == name);
        found.unwrap_or_else(|| panic!("no column {name} among {known:?}"))
    };
    rows.iter()
        .map(|(_, row)| names.iter().map(|name| row[column(name)]).collect())
        .collect()
}

fn close(found: &[Vec<f64>], truth: &[&[f64]]) {
    assert_eq!(found.len(), truth.len());
    for (found, truth) in found.iter().zip(truth) {
        for (a, b) in found.iter().zip(*truth) {
            assert!(
                (a - b).abs() <= 1e-9 * (1.0 + b.abs()),
                "{found:?} for {truth:?}"
            );
        }
    }
}

/// A counter on a clock, and what is held between its ticks.
#[test]
fn a_counter_counts_the_ticks() {
    let text = "model Count
      Integer n(start = 0);
      Real y;
    equation
      when Clock(0.1) then
        n = previous(n) + 1;
      end when;
      y = hold(n) + time;
    end Count;";
    let found = values(text, 1.0, &["n", "y"], &[0.05, 0.55, 0.95]);
    close(&found, &[&[1.0, 1.05], &[6.0, 6.55], &[10.0, 10.95]]);
}

/// `interval()` without a signal is the interval of the clock of its equation.
#[test]
fn an_equation_asks_for_its_own_interval() {
    let text = "model Sum
      Real s(start = 0);
      Real y;
    equation
      when Clock(0.1) then
        s = previous(s) + 2*interval();
      end when;
      y = hold(s);
    end Sum;";
    let found = values(text, 1.0, &["y"], &[0.05, 0.55, 0.95]);
    close(&found, &[&[0.2], &[1.2], &[2.0]]);
}

/// Slower, faster and shifted clocks tick where they should, and with the others where instants agree.
#[test]
fn conversions_give_the_last_value_at_their_own_ticks() {
    let text = "model Rates
      Real x, slow, late, fast;
      Real h1, h2, h3, h4;
    equation
      x = sample(time, Clock(0.02));
      slow = subSample(x, 3);
      late = shiftSample(x, 1, 2);
      fast = superSample(x, 2) + 0*previous(fast);
      h1 = hold(x);
      h2 = hold(slow);
      h3 = hold(late);
      h4 = hold(fast);
    end Rates;";
    let names = ["h1", "h2", "h3", "h4"];
    let found = values(text, 0.2, &names, &[0.125, 0.135, 0.165, 0.175]);
    close(
        &found,
        &[
            &[0.12, 0.12, 0.10, 0.12],
            &[0.12, 0.12, 0.12, 0.12],
            &[0.16, 0.12, 0.14, 0.16],
            &[0.16, 0.12, 0.16, 0.16],
        ],
    );
}

/// A discrete controller of an integrator: x_(k+1) = x_k - 0.2 x_k exactly.
#[test]
fn a_clocked_controller_closes_its_loop() {
    let text = "model Loop
      Real x(start = 1, fixed = true);
      Real u, y;
    equation
      der(x) = hold(y);
      u = sample(x, Clock(1, 10));
      y = -2*u*10*interval(u);
    end Loop;";
    let found = values(text, 1.0, &["x"], &[0.5, 1.0]);
    close(&found, &[&[0.8_f64.powi(5)], &[0.8_f64.powi(10)]]);
}

/// Variables whose clock nothing tells, and clocks that contradict each other, are refused.
#[test]
fn clocks_that_cannot_be_told_are_refused() {
    let open = "model Open
      Real x, y;
    equation
      x = sample(time);
      y = hold(x);
    end Open;";
    assert!(
        read(open)
            .err()
            .unwrap_or_default()
            .contains("nothing tells this clock")
    );
    let two = "model Two
      Real x, y, z;
    equation
      x = sample(time, Clock(0.1));
      y = sample(time, Clock(0.3));
      y = subSample(x, 2);
      z = hold(y);
    end Two;";
    assert!(read(two).err().unwrap_or_default().contains("do not fit"));
}

/// `sample` may begin where an initial equation says.
#[test]
fn sampling_begins_at_a_time_that_the_start_tells() {
    let text = "model Late
      parameter Real t0(fixed = false);
      Real y(start = 0);
    initial equation
      t0 = time + 0.2;
    equation
      when sample(t0 + 0.1, 0.25) then
        y = time;
      end when;
    end Late;";
    let found = values(text, 1.0, &["y"], &[0.25, 0.35, 0.6, 0.99]);
    close(&found, &[&[0.0], &[0.3], &[0.55], &[0.8]]);
}

/// A truth that an initial equation tells stays what it was, whatever happens to what it was told by.
#[test]
fn truths_of_the_start_are_kept() {
    let text = "model Kept
      parameter Boolean rises(fixed = false);
      Real x(start = 1, fixed = true);
    initial equation
      rises = der(x) > 0;
    equation
      der(x) = cos(3*time);
    annotation(experiment(StopTime = 2));
    end Kept;";
    let found = values(text, 2.0, &["rises"], &[0.1, 1.5]);
    close(&found, &[&[1.0], &[1.0]]);
}

/// A subscript that changes chooses among the elements; a loop may be left where a variable says so.
#[test]
fn subscripts_and_loops_may_depend_on_variables() {
    let text = "model Choice
      constant Real table[2, 3] = [1, 2, 3; 10, 20, 30];
      Integer i(start = 1), first(start = 0);
      Boolean all_true(start = false), any_true(start = false);
      Real y;
    algorithm
      when sample(0, 0.1) then
        i := if pre(i) < 3 then pre(i) + 1 else 1;
        first := 0;
        for k in 1:5 loop
          if k*k > 2*i then
            break;
          end if;
          first := k;
        end for;
        all_true := min({i > 1, i < 3});
        any_true := max({i > 2, i < 0});
      end when;
    equation
      y = table[2, i];
    end Choice;";
    let names = ["y", "first", "all_true", "any_true"];
    let found = values(text, 0.29, &names, &[0.05, 0.15, 0.25]);
    close(
        &found,
        &[
            &[20.0, 2.0, 1.0, 0.0],
            &[30.0, 2.0, 0.0, 1.0],
            &[10.0, 1.0, 0.0, 0.0],
        ],
    );
}

/// The block of a table over time, as libraries write it.
fn table(data: &str, smoothness: usize, extrapolation: usize) -> String {
    format!(
        "model Over
      class ExternalCombiTimeTable
        extends ExternalObject;
        function constructor
          input String tableName;
          input String fileName;
          input Real table[:, :];
          input Real startTime;
          input Integer columns[:];
          input Integer smoothness;
          input Integer extrapolation;
          input Real shiftTime;
          input Integer timeEvents;
          input Boolean verboseRead;
          output ExternalCombiTimeTable object;
          external \"C\" object = ModelicaStandardTables_CombiTimeTable_init2(fileName, tableName, table, size(table, 1),
            size(table, 2), startTime, columns, size(columns, 1), smoothness, extrapolation, shiftTime, timeEvents, verboseRead);
        end constructor;
        function destructor
          input ExternalCombiTimeTable object;
          external \"C\" ModelicaStandardTables_CombiTimeTable_close(object);
        end destructor;
      end ExternalCombiTimeTable;
      function value
        input ExternalCombiTimeTable object;
        input Integer column;
        input Real t;
        input Real next;
        input Real before;
        output Real y;
        external \"C\" y = ModelicaStandardTables_CombiTimeTable_getValue(object, column, t, next, before);
      end value;
      parameter ExternalCombiTimeTable object = ExternalCombiTimeTable(\"NoName\", \"NoName\", {data}, 0.0, {{2}}, {smoothness}, {extrapolation}, 0.0, 1, false);
      Real y, z(start = 0, fixed = true);
      Integer n;
    equation
      y = value(object, 1, time, 0, 0);
      der(z) = y;
      n = integer(y + 0.5);
    end Over;"
    )
}

/// Jumps of a table over time are events; repeated tables go on for ever.
#[test]
fn tables_over_time_jump_and_repeat() {
    let steps = table("[0, 1; 0.25, 3; 0.5, 0; 0.75, -2; 1, 5]", 3, 3);
    let found = values(&steps, 2.2, &["y", "n", "z"], &[0.3, 0.6, 0.8, 1.3, 2.1]);
    let period = 0.25 * (1.0 + 3.0 + 0.0 - 2.0);
    close(
        &found,
        &[
            &[3.0, 3.0, 0.25 + 0.15],
            &[0.0, 0.0, 1.0],
            &[-2.0, -2.0, 1.0 - 0.1],
            &[3.0, 3.0, period + 0.25 + 0.15],
            &[1.0, 1.0, 2.0 * period + 0.1],
        ],
    );
    let ramps = table("[0, 0; 1, 2; 1, -1; 2, -1]", 1, 1);
    let found = values(&ramps, 3.0, &["y", "z"], &[0.5, 1.5, 2.5]);
    close(&found, &[&[1.0, 0.25], &[-1.0, 0.5], &[-1.0, -0.5]]);
}
