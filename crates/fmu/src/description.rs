//! `modelDescription.xml` in both versions.

use crate::dependencies::dependencies;
use crate::variables::{Initial, Interface, Port, PortChange, PortKind, PortValue};
use daelight_analysis::System;
use daelight_lang::{Model, Type, base_units};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A version of FMI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// 2.0.
    Two,
    /// 3.0.
    Three,
}

/// Messages are sorted into these.
pub const CATEGORIES: &[(&str, &str)] = &[
    ("logStatusWarning", "what to know beside the numbers"),
    ("logStatusDiscard", "why a step ended before its time"),
    ("logStatusError", "why a call was refused"),
    ("logStatusFatal", "faults of the engine itself"),
];

/// The description of a model with these variables.
pub fn description(
    (model, system): (&Model, &System),
    interface: &Interface,
    token: &str,
    version: Version,
) -> String {
    // Version 2.0 has no variables for event indicators, which stand last.
    let n_shown = match version {
        Version::Two => interface.ports.len() - interface.n_indicators(),
        Version::Three => interface.ports.len(),
    };
    let ports = &interface.ports[..n_shown];
    let has_exchange = interface.states.is_ok();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (number, token_name) = match version {
        Version::Two => ("2.0", "guid"),
        Version::Three => ("3.0", "instantiationToken"),
    };
    let naming = match ports.iter().all(|port| is_structured(&port.name)) {
        true => "structured",
        false => "flat",
    };
    let mut head = vec![
        ("fmiVersion", number.to_string()),
        ("modelName", model.name.clone()),
        (token_name, token.to_string()),
        (
            "generationTool",
            concat!("daelight ", env!("CARGO_PKG_VERSION")).to_string(),
        ),
        ("variableNamingConvention", naming.to_string()),
    ];
    if has_exchange && version == Version::Two {
        let n = interface.n_indicators().to_string();
        head.push(("numberOfEventIndicators", n));
    }
    if !model.comment.is_empty() {
        head.insert(2, ("description", model.comment.clone()));
    }
    element(&mut xml, 0, "fmiModelDescription", &head, false);
    kinds(&mut xml, (model, has_exchange), version);
    units(&mut xml, ports);
    let _ = writeln!(xml, "  <LogCategories>");
    for (name, what) in CATEGORIES {
        let attributes = [
            ("name", name.to_string()),
            ("description", what.to_string()),
        ];
        element(&mut xml, 2, "Category", &attributes, true);
    }
    let _ = writeln!(xml, "  </LogCategories>");
    experiment(&mut xml, system);
    let _ = writeln!(xml, "  <ModelVariables>");
    for (at, port) in ports.iter().enumerate() {
        variable(&mut xml, at, port, version);
    }
    let _ = writeln!(xml, "  </ModelVariables>");
    structure(&mut xml, (model, system), interface, version);
    xml.push_str("</fmiModelDescription>\n");
    xml
}

/// The name of a model as a C identifier.
pub(crate) fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let text: String = name.chars().map(plain).collect();
    match text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        true => text,
        false => format!("_{text}"),
    }
}

/// What kinds of FMU it is, and what each can do.
fn kinds(xml: &mut String, (model, has_exchange): (&Model, bool), version: Version) {
    let yes = || "true".to_string();
    let has_none = model.hybrid.is_some() && !has_exchange;
    let mut derivatives = match (has_none, version) {
        (true, _) => Vec::new(),
        (_, Version::Two) => vec![("providesDirectionalDerivative", yes())],
        (_, Version::Three) => vec![
            ("providesDirectionalDerivatives", yes()),
            ("providesAdjointDerivatives", yes()),
        ],
    };
    let name = ("modelIdentifier", identifier(&model.name));
    if has_exchange {
        let keeps = match version {
            Version::Two => "canGetAndSetFMUstate",
            Version::Three => "canGetAndSetFMUState",
        };
        let writes = match version {
            Version::Two => "canSerializeFMUstate",
            Version::Three => "canSerializeFMUState",
        };
        let mut attributes = vec![name.clone(), (keeps, yes()), (writes, yes())];
        if version == Version::Three {
            attributes.push(("needsCompletedIntegratorStep", yes()));
        }
        attributes.extend(derivatives.iter().cloned());
        element(xml, 1, "ModelExchange", &attributes, true);
    }
    let order = (
        "maxOutputDerivativeOrder",
        match model.hybrid {
            None => "5".to_string(),
            Some(_) => "0".to_string(),
        },
    );
    let mut attributes = match version {
        Version::Two => vec![
            name,
            ("canHandleVariableCommunicationStepSize", yes()),
            ("canInterpolateInputs", yes()),
            order,
            ("canGetAndSetFMUstate", yes()),
            ("canSerializeFMUstate", yes()),
        ],
        Version::Three => vec![
            name,
            ("canGetAndSetFMUState", yes()),
            ("canSerializeFMUState", yes()),
            ("canHandleVariableCommunicationStepSize", yes()),
            order,
        ],
    };
    if model.hybrid.is_some() && version == Version::Three {
        attributes.push(("hasEventMode", yes()));
    }
    attributes.append(&mut derivatives);
    element(xml, 1, "CoSimulation", &attributes, true);
}

/// Units by name, and in base units where their names can be read.
fn units(xml: &mut String, ports: &[Port]) {
    let names: BTreeSet<&str> = ports.iter().map(|port| port.unit.as_str()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return;
    }
    xml.push_str("  <UnitDefinitions>\n");
    for name in names {
        let said = [("name", name.to_string())];
        let Some(base) = base_units(name) else {
            element(xml, 2, "Unit", &said, true);
            continue;
        };
        element(xml, 2, "Unit", &said, false);
        let exponents = base.exponents.iter();
        let mut parts: Vec<_> = exponents.map(|&(name, e)| (name, e.to_string())).collect();
        let scale = [("factor", base.factor, 1.0), ("offset", base.offset, 0.0)];
        let scale = scale.iter().filter(|(_, value, usual)| value != usual);
        parts.extend(scale.map(|&(name, value, _)| (name, format!("{value:?}"))));
        element(xml, 3, "BaseUnit", &parts, true);
        xml.push_str("    </Unit>\n");
    }
    xml.push_str("  </UnitDefinitions>\n");
}

fn experiment(xml: &mut String, system: &System) {
    let said = system.experiment();
    let from = said.start_time.unwrap_or(0.0);
    let given = [
        ("startTime", Some(from)),
        ("stopTime", Some(said.stop_time.unwrap_or(from + 1.0))),
        ("tolerance", said.tolerance),
        ("stepSize", said.interval),
    ];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?.to_string())));
    element(
        xml,
        1,
        "DefaultExperiment",
        &given.collect::<Vec<_>>(),
        true,
    );
}

fn causality(port: &Port) -> &'static str {
    match port.causality {
        PortKind::Independent => "independent",
        PortKind::Parameter => "parameter",
        PortKind::CalculatedParameter => "calculatedParameter",
        PortKind::Input => "input",
        PortKind::Output => "output",
        PortKind::Local => "local",
    }
}

fn variability(port: &Port) -> &'static str {
    match port.variability {
        PortChange::Constant => "constant",
        PortChange::Fixed => "fixed",
        PortChange::Tunable => "tunable",
        PortChange::Discrete => "discrete",
        PortChange::Continuous => "continuous",
    }
}

fn variable(xml: &mut String, at: usize, port: &Port, version: Version) {
    let mut common = vec![
        ("name", port.name.clone()),
        ("valueReference", at.to_string()),
        ("causality", causality(port).to_string()),
        ("variability", variability(port).to_string()),
    ];
    if !port.comment.is_empty() {
        common.insert(2, ("description", port.comment.clone()));
    }
    if let Some(initial) = port.initial {
        let word = match initial {
            Initial::Exact => "exact",
            Initial::Approx => "approx",
            Initial::Calculated => "calculated",
        };
        common.push(("initial", word.to_string()));
    }
    let number = |value: f64| match port.ty {
        Type::Boolean => (value != 0.0).to_string(),
        _ => value.to_string(),
    };
    let mut own = Vec::new();
    if port.ty == Type::Real && !port.unit.is_empty() {
        own.push(("unit", port.unit.clone()));
    }
    if port.ty != Type::Boolean {
        let bounds = ["min", "max"].into_iter().zip(port.bounds);
        let finite = bounds.filter_map(|(name, value)| Some((name, value?)));
        own.extend(
            finite
                .filter(|b| b.1.is_finite())
                .map(|(name, value)| (name, number(value))),
        );
    }
    let nominal = port.nominal.filter(|_| port.ty == Type::Real);
    own.extend(nominal.map(|value| ("nominal", number(value))));
    own.extend(port.start.map(|value| ("start", number(value))));
    let first = usize::from(version == Version::Two);
    own.extend(
        port.rate_of
            .map(|state| ("derivative", (state + first).to_string())),
    );
    if port.is_state {
        own.push(("reinit", "true".to_string()));
    }
    let kind = match (version, port.ty) {
        (Version::Two, ty) => ty.word(),
        (Version::Three, Type::Real) => "Float64",
        (Version::Three, Type::Integer) => "Int32",
        (Version::Three, Type::Boolean) => "Boolean",
    };
    match version {
        Version::Two => {
            element(xml, 2, "ScalarVariable", &common, false);
            element(xml, 3, kind, &own, true);
            xml.push_str("    </ScalarVariable>\n");
        }
        Version::Three => {
            common.extend(own);
            element(xml, 2, kind, &common, true);
        }
    }
}

/// What an output depends on at once, as positions of ports.
fn known_by(
    (model, system): (&Model, &System),
    ports: &[Port],
) -> impl Fn(&Port) -> Option<Vec<usize>> {
    let found = dependencies(model, system);
    let place = |input: usize| {
        let is_it = |port: &Port| port.quantity == PortValue::Input(input);
        ports.iter().position(is_it)
    };
    let places: Vec<Option<usize>> = (0..model.inputs.len()).map(place).collect();
    let all = ports.iter().enumerate();
    let states = all.filter(|(_, port)| port.is_state).map(|(at, _)| at);
    let states: Vec<usize> = states.collect();
    move |port| match port.quantity {
        PortValue::Unknown(unknown) => {
            let inputs = found.as_ref()?[unknown].iter();
            let inputs = inputs.filter_map(|&input| places[input]);
            let mut known: Vec<usize> = inputs.chain(states.iter().copied()).collect();
            known.sort_unstable();
            Some(known)
        }
        _ => None,
    }
}

/// Outputs and initial unknowns with what they depend on.
fn structure(xml: &mut String, of: (&Model, &System), interface: &Interface, version: Version) {
    let ports = &interface.ports[..];
    let known = known_by(of, ports);
    // Version 2.0 counts variables from 1, version 3.0 takes value references.
    let (first, name) = match version {
        Version::Two => (1, "index"),
        Version::Three => (0, "valueReference"),
    };
    let attributes = |at: usize, known: Option<Vec<usize>>| {
        let mut list = vec![(name, (at + first).to_string())];
        let text = |known: Vec<usize>| {
            let places = known.iter().map(|place| (place + first).to_string());
            places.collect::<Vec<_>>().join(" ")
        };
        list.extend(known.map(|known| ("dependencies", text(known))));
        list
    };
    let all = || ports.iter().enumerate();
    let outputs = all().filter(|(_, port)| port.causality == PortKind::Output);
    let outputs = outputs.map(|(at, port)| attributes(at, known(port)));
    // Rates stand in the order of their states.
    let rate = |&unknown: &usize| {
        let state = PortValue::Unknown(unknown);
        let state = ports.iter().position(|port| port.quantity == state)?;
        let rate = ports.iter().position(|port| port.rate_of == Some(state))?;
        Some(attributes(rate, None))
    };
    let rates = interface.states.iter().flatten().filter_map(rate);
    // At the start values follow from start values too.
    let initial = all().filter(|(_, port)| is_found_at_start(port));
    let initial = initial.map(|(at, _)| attributes(at, None));
    let indicators = all().filter(|(_, port)| matches!(port.quantity, PortValue::Indicator(_)));
    let indicators = indicators.map(|(at, _)| attributes(at, None));
    let indicators: Vec<_> = match version {
        Version::Two => Vec::new(),
        Version::Three => indicators.collect(),
    };
    xml.push_str("  <ModelStructure>\n");
    let lists = [
        ("Outputs", "Output", outputs.collect::<Vec<_>>()),
        ("Derivatives", "ContinuousStateDerivative", rates.collect()),
        ("InitialUnknowns", "InitialUnknown", initial.collect()),
        ("EventIndicators", "EventIndicator", indicators),
    ];
    for (many, one, list) in lists.iter().filter(|(_, _, list)| !list.is_empty()) {
        match version {
            Version::Two => {
                let _ = writeln!(xml, "    <{many}>");
                list.iter()
                    .for_each(|item| element(xml, 3, "Unknown", item, true));
                let _ = writeln!(xml, "    </{many}>");
            }
            Version::Three => list
                .iter()
                .for_each(|item| element(xml, 2, one, item, true)),
        }
    }
    xml.push_str("  </ModelStructure>\n");
}

/// Whether a value follows at the start from what was given.
fn is_found_at_start(port: &Port) -> bool {
    let is_shown = matches!(
        port.causality,
        PortKind::Output | PortKind::CalculatedParameter
    );
    let is_shown = is_shown || port.is_state || port.rate_of.is_some();
    is_shown && port.initial != Some(Initial::Exact)
}

/// An element with its attributes, closed or open.
fn element(
    xml: &mut String,
    depth: usize,
    name: &str,
    attributes: &[(&str, String)],
    is_closed: bool,
) {
    let _ = write!(xml, "{}<{name}", "  ".repeat(depth));
    for (attribute, value) in attributes {
        let _ = write!(xml, " {attribute}=\"{}\"", escaped(value));
    }
    xml.push_str(if is_closed { "/>\n" } else { ">\n" });
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if (c as u32) < 0x20 => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

/// Whether a name is `a.b[2].c` or `der(a.b)`, as the naming convention of FMI asks for.
fn is_structured(name: &str) -> bool {
    let mut inner = name;
    if let Some(inside) = name.strip_prefix("der(") {
        inner = inside.strip_suffix(')').unwrap_or("");
    }
    inner.split('.').all(|part| {
        let (word, indices) = match part.split_once('[') {
            Some((word, rest)) => (word, rest.strip_suffix(']')),
            None => (part, Some("1")),
        };
        let is_number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
        let is_word = word.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
        is_word
            && word.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && indices.is_some_and(|indices| indices.split(',').all(is_number))
    })
}
