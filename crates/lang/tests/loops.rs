//! Loops that are replaced by what they converge to: the root is the one that the loop finds from its own start.

use daelight_lang::{Code, Loaded, Options, load};

/// Newton's loop on (x - a)(x - b)(x - c) + u from `start`, until a step is at most `least`: what it ends with.
fn newton(roots: [f64; 3], u: f64, start: f64, least: f64) -> f64 {
    let [a, b, c] = roots;
    let mut x = start;
    loop {
        let f = (x - a) * (x - b) * (x - c) + u;
        let e = f / ((x - b) * (x - c) + (x - a) * (x - c) + (x - a) * (x - b));
        x -= e;
        if e.abs() <= least {
            return x;
        }
    }
}

fn text(roots: [f64; 3], start: f64, least: f64, call: &str, is_counted: bool) -> String {
    let [a, b, c] = roots;
    let (count, and) = match is_counted {
        true => ("n := n + 1;", "n < 100 and "),
        false => ("", ""),
    };
    format!(
        "function find input Real u; output Real x; protected Real e; Real s; Integer n; algorithm
           x := {start}; e := 1; n := 0;
           while {and}abs(e) > {least} loop
             s := (x - ({b}))*(x - ({c})) + (x - ({a}))*(x - ({c})) + (x - ({a}))*(x - ({b}));
             e := ((x - ({a}))*(x - ({b}))*(x - ({c})) + u)/s; x := x - e; {count}
           end while; end find;
         {call}"
    )
}

fn read(text: &str) -> Loaded {
    load("test.mo", text.as_bytes(), &Options::default())
}

/// Cubics with three roots, whose loops begin at random places, called in some ways: of time, of an unknown that equations define,
/// of one that has a start value, inside a component.
#[test]
fn the_root_of_a_loop_is_that_of_its_start() {
    let mut state: u64 = 20_261_120;
    let mut random = |low: f64, high: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        low + (high - low) * (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut found_upper = 0;
    for case in 0..60 {
        let middle = random(-1.0, 1.0);
        let roots = [middle - random(1.0, 2.0), middle, middle + random(1.0, 2.0)];
        let (u, rate, start) = (random(-0.05, 0.05), random(-1.0, 1.0), random(-6.0, 6.0));
        let expected = newton(roots, u, start, 1e-10);
        let calls = [
            format!(
                "model M Real y = find({u} + {rate}*(time - 2)); annotation(experiment(StartTime = 2)); end M;"
            ),
            format!("model M Real v = {u} + {rate}*w; Real w = time; Real y = find(v); end M;"),
            format!(
                "model M Real v(start = {u}, fixed = true); Real y = find(v); equation der(v) = {rate}; end M;"
            ),
            format!(
                "model P Real v(start = {u}, fixed = true); Real y = find(v); equation der(v) = {rate}; end P; model M P p; end M;"
            ),
        ];
        for call in calls {
            let text = text(roots, start, 1e-10, &call, case % 2 == 0);
            let Loaded {
                model, diagnostics, ..
            } = read(&text);
            let model = model.unwrap_or_else(|| panic!("{diagnostics:#?}\n{text}"));
            assert!(diagnostics.is_empty(), "{diagnostics:#?}\n{text}");
            let root = model.unknowns.iter().find(|it| it.name.ends_with("find.x"));
            let start = root
                .and_then(|it| it.start)
                .map(|it| model.parameter_value(it));
            let start = start.expect("a start");
            assert!(
                (start - expected).abs() < 1e-8,
                "{start}, not {expected}\n{text}"
            );
        }
        found_upper += usize::from((expected - roots[2]).abs() < 0.5);
    }
    assert!(found_upper > 10, "roots of one side only");
}

/// A loop that leaves early is refused by name; one whose steps are squared stays, however it bounds them.
#[test]
fn a_rough_loop_is_refused() {
    let heron = |least: f64, call: &str| {
        format!(
            "function root input Real a; output Real x; protected Real d; algorithm x := a; d := a;
               while abs(d) > {least} loop d := (x - a/x)/2; x := x - d; end while; end root; {call}"
        )
    };
    for scale in [1.0, 50.0, 7e3] {
        for call in [
            format!("model M Real r = root({scale} + time); end M;"),
            format!(
                "model M Real v(start = {scale}, fixed = true), r; equation der(v) = -v; r = root(v); end M;"
            ),
        ] {
            let size = f64::sqrt(scale);
            for (share, is_refused) in [(0.7, true), (0.3, true), (1e-2, false), (1e-9, false)] {
                let text = heron(share * size, &call);
                let told = read(&text);
                assert_eq!(
                    told.model.is_none(),
                    is_refused,
                    "{text} {:#?}",
                    told.diagnostics
                );
                if is_refused {
                    assert_eq!(told.diagnostics[0].code, Code::Unsupported);
                }
            }
        }
    }
}

/// Where the start values do not say which root is meant, a warning does.
#[test]
fn a_search_without_a_start_is_told() {
    let call = "model M Real v; Real y = find(v); equation v + y + v^3 = time; end M;";
    let told = read(&text([-1.0, 0.0, 2.0], 5.0, 1e-10, call, false));
    assert!(told.model.is_some(), "{:#?}", told.diagnostics);
    let codes: Vec<Code> = told.diagnostics.iter().map(|it| it.code).collect();
    assert_eq!(codes, [Code::Unsupported]);
}
