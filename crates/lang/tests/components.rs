//! Component models that are wrong, or edited at random: messages name components, and nothing breaks.

use daelight_lang::{ArrayStyle, Loaded, Options, Severity, balance, flat_modelica, load};

const PARTS: &str = "
  connector Pin Real v; flow Real i; end Pin;
  connector Flange Real phi; flow Real tau; end Flange;
  partial model OnePort Pin p; Pin n; Real v; Real i; equation v = p.v - n.v; 0 = p.i + n.i; i = p.i; end OnePort;
  model Source extends OnePort; parameter Real V; equation v = V; end Source;
  model Resistor extends OnePort; parameter Real R = 1; equation v = R*i; end Resistor;
  model Ground Pin p; equation p.v = 0; end Ground;
  model Inertia Flange a; Flange b; Real w; parameter Real J = 1; equation a.phi = b.phi; w = der(a.phi); J*der(w) = a.tau + b.tau; end Inertia;
  model Speed Flange f; parameter Real w = 1; equation der(f.phi) = w; end Speed;
";

fn read(text: &str) -> Loaded {
    let text = format!("{PARTS}{text}");
    load("test.mo", text.as_bytes(), &Options::default())
}

/// All that is said about a model, the balance included.
fn said(text: &str) -> String {
    let loaded = read(text);
    let mut all = loaded.diagnostics.clone();
    if let Some(model) = &loaded.model {
        all.extend(balance(model).diagnostics(model));
    }
    let lines = all.iter().map(|it| {
        let related: Vec<&str> = it.related.iter().map(|(_, text)| text.as_str()).collect();
        format!(
            "{} {} {} {}",
            it.message,
            it.label,
            related.join(" "),
            it.notes.join(" ")
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn faults_of_component_models_are_told_in_components() {
    let cases: &[(&str, &[&str])] = &[
        (
            "model M Source s1(V = 1), s2(V = 2); Ground g; equation connect(s1.p, s2.p); connect(s1.n, s2.n); connect(g.p, s1.n); end M;",
            &["s1", "s2"],
        ),
        (
            "model M Inertia j; Speed s1, s2(w = 2); equation connect(s1.f, j.a); connect(s2.f, j.b); end M;",
            &["s1", "s2"],
        ),
        (
            "model M Inertia j; Resistor r; equation connect(j.a, r.p); end M;",
            &["`j.a` and `r.p` do not match"],
        ),
        (
            "model M Resistor r(RR = 2); end M;",
            &["`Resistor` has no element `RR`"],
        ),
        (
            "model M Resistor r; Real x = r.q; end M;",
            &["`r` of the class `Resistor` has no component `q`"],
        ),
        (
            "model M parameter Real a = r.R; Resistor r(R = 2*a); Ground g; equation connect(r.p, g.p); end M;",
            &["a needs r.R needs a"],
        ),
        (
            "model M Source s; Resistor r; Ground g; equation connect(s.p, r.p); connect(s.n, r.n); connect(g.p, r.n); end M;",
            &["parameter `s.V` has no value"],
        ),
        (
            "model M Resistor r[2], q[3]; Ground g; equation connect(r.p, q.p); end M;",
            &["the connectors differ: a vector of 2 elements and a vector of 3 elements"],
        ),
        (
            "model M replaceable model Load = Nowhere; Load x; end M;",
            &["`Nowhere` is not a known type"],
        ),
        (
            "model M Library.Resistor r; end M;",
            &["`Library.Resistor` is not a known type"],
        ),
    ];
    for (text, expected) in cases {
        let found = said(text);
        for part in *expected {
            assert!(
                found.contains(part),
                "{text}\nexpected {part}\nfound {found}"
            );
        }
    }
}

/// A small generator: the edits are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

#[test]
fn random_edits_give_a_model_or_a_message() {
    let whole = format!(
        "{PARTS} package P replaceable package Q constant Integer n = 2; end Q;
           record R Real a; Real b[Q.n]; end R; function f input R r; output Real y; algorithm y := r.a; for i in 1:2 loop y := y - 1; end for; if y > 5 then return; end if; y := 2*y; end f;
           model N extends M(redeclare Inertia part(J = 2)); inner Ground world; R rec(a = 1, b = {{1, 2}}); Real z = f(rec); end N; end P;
         model M replaceable Inertia part constrainedby Inertia; Speed s if true; Resistor r[2](R = {{1, 2}}); Boolean big = time > 1; Real y;
           equation connect(part.a, s.f); for i in 1:2 loop connect(r[i].p, r[i].n); end for; if big then y = 1; else y = 2; end if; end M;
         model Last extends P.N; end Last;"
    );
    let plain = load("whole.mo", whole.as_bytes(), &Options::default());
    assert!(plain.model.is_some(), "{:#?}", plain.diagnostics);
    let words: Vec<&str> = whole
        .split_inclusive(|c: char| !c.is_alphanumeric())
        .collect();
    let limits = daelight_lang::ElaborationLimits {
        steps: 200_000,
        elements: 10_000,
        nodes: 200_000,
    };
    let mut random = Random(7);
    let mut n_models = 0;
    for _ in 0..3_000 {
        let mut edited = words.clone();
        for _ in 0..1 + random.below(3) {
            let (at, from) = (random.below(edited.len()), random.below(words.len()));
            match random.below(3) {
                0 => edited[at] = words[from],
                1 => edited.insert(at, words[from]),
                _ => {
                    edited.remove(at);
                }
            }
        }
        let text = edited.concat();
        let options = Options {
            limits,
            ..Options::default()
        };
        let loaded = load("edited.mo", text.as_bytes(), &options);
        let has_error = loaded
            .diagnostics
            .iter()
            .any(|it| it.severity == Severity::Error);
        assert_eq!(
            loaded.model.is_none(),
            has_error,
            "{text}\n{:#?}",
            loaded.diagnostics
        );
        n_models += usize::from(loaded.model.is_some());
    }
    assert!(n_models > 100, "{n_models} models");
}

/// What arrives is the mean of what leaves the others, weighted by their flows, through a component around one of them; a
/// binding sees the connections too.
#[test]
fn streams_mix_by_their_flows() {
    let text = "
      connector Port Real p; flow Real m; stream Real h; end Port;
      model Inlet Port port; parameter Real m = 1; parameter Real h = 1; equation port.m = -m; port.h = h; end Inlet;
      model Outlet Port port; Real arrives = inStream(port.h); Real flows = actualStream(port.h); equation port.p = 0; port.h = 0; end Outlet;
      model Shell Port port; Inlet inside(m = 3, h = 20); equation connect(inside.port, port); end Shell;
      model M Inlet a(h = 10); Shell b; Outlet out; equation connect(a.port, out.port); connect(b.port, out.port); end M;";
    let options = Options {
        model: Some("M".to_string()),
        ..Options::default()
    };
    let loaded = load("streams.mo", text.as_bytes(), &options);
    let model = loaded.model.expect("the model is read");
    assert!(balance(&model).is_balanced());
    let flat = flat_modelica(&model, ArrayStyle::Kept).expect("short");
    let line = |of: &str| {
        let mut lines = flat
            .lines()
            .filter(|line| line.trim_start().starts_with(of));
        lines.next_back().expect("an equation").to_string()
    };
    let arrives = line("'out.arrives' =");
    for part in ["max(-'a.port.m', 1e-10)", "max(-'b.port.m', 1e-10)"] {
        assert_eq!(arrives.matches(part).count(), 2, "{arrives}");
    }
    assert!(line("'out.flows' =").contains("'out.port.m' > 0"));
    assert!(flat.contains("'b.port.h' = 'b.inside.port.h'"), "{flat}");
}

/// An angle that no equation needs jumps without stopping a run; one that is needed stays an unknown.
#[test]
fn angles_that_nothing_needs_are_set_aside() {
    let text = "
      model Turn Real x; Real y; Real angle = atan2(y, x); Real twice = 2*angle; equation x = cos(time); y = sin(time); end Turn;
      model M Turn t; Turn u; Real z(start = 0, fixed = true); equation der(z) = u.angle; end M;";
    let options = Options {
        model: Some("M".to_string()),
        ..Options::default()
    };
    let model = load("angles.mo", text.as_bytes(), &options)
        .model
        .expect("the model is read");
    let views: Vec<&str> = model.views.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(views, ["t.angle", "t.twice"]);
    assert!(
        model
            .unknowns
            .iter()
            .any(|unknown| unknown.name == "u.angle")
    );
    assert!(balance(&model).is_balanced());
}
