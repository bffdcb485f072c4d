//! What is wrong with the description of an FMU, by the rules of FMI 2.0 and 3.0.

use super::read::{FmuDescription, FmuVariable, Reading, child};
use crate::description::Version;
use daelight_lang::{Code, Diagnostic, SourceId, Span};
use roxmltree::Node;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The types of variables.
pub(super) fn types(version: Version) -> &'static [&'static str] {
    match version {
        Version::Two => &["Real", "Integer", "Boolean", "String", "Enumeration"],
        Version::Three => &[
            "Float64",
            "Float32",
            "Int8",
            "UInt8",
            "Int16",
            "UInt16",
            "Int32",
            "UInt32",
            "Int64",
            "UInt64",
            "Boolean",
            "String",
            "Binary",
            "Enumeration",
            "Clock",
        ],
    }
}

/// What was found, each with its place in the text.
pub(super) struct Findings {
    pub source: SourceId,
    pub text: String,
    pub list: Vec<Diagnostic>,
}

impl Findings {
    /// Something that the standard forbids, at the beginning of an element.
    pub fn error(&mut self, node: Node<'_, '_>, message: String) {
        let range = node.range();
        let whole = &self.text[range.clone()];
        // The opening tag alone, and of a long one the first line.
        let length = whole.find(['>', '\n']).map_or(whole.len(), |at| at + 1);
        let span = Span {
            source: self.source,
            start: range.start as u32,
            end: (range.start + length) as u32,
        };
        self.list
            .push(Diagnostic::error(Code::BadFmu, span, message).label("here"));
    }
}

/// The elements of `ModelVariables`, in order.
fn elements<'a>(root: Node<'a, 'a>, list: &str) -> Vec<Node<'a, 'a>> {
    let children = child(root, list)
        .into_iter()
        .flat_map(|node| node.children());
    children.filter(Node::is_element).collect()
}

/// Checks all that has been read.
pub(super) fn examine(reading: &mut Reading<'_, '_>, said: &mut FmuDescription) {
    let root = reading.document.root_element();
    let nodes = elements(root, "ModelVariables");
    // Positions agree where every variable could be read.
    if nodes.len() == said.variables.len() {
        names_and_references(reading.findings, said, &nodes);
        let units = declared_units(root);
        for (variable, node) in said.variables.iter().zip(&nodes) {
            roles(reading.findings, (variable, *node), said.version);
            start_value(reading.findings, (variable, *node));
            if !variable.unit.is_empty() && !units.contains(variable.unit.as_str()) {
                let message = format!(
                    "`{}` has the unit `{}`, which `UnitDefinitions` does not declare",
                    variable.name, variable.unit
                );
                reading.findings.error(*node, message);
            }
        }
        rates(reading.findings, said, &nodes);
        structure(reading, said);
    }
}

fn declared_units<'a>(root: Node<'a, 'a>) -> HashSet<&'a str> {
    let units = elements(root, "UnitDefinitions").into_iter();
    units.filter_map(|unit| unit.attribute("name")).collect()
}

/// Names are unique; so are value references in version 3.0, and in 2.0 equal ones are of one type.
fn names_and_references(findings: &mut Findings, said: &FmuDescription, nodes: &[Node<'_, '_>]) {
    let mut names = HashSet::new();
    let mut references: HashMap<(u32, &str), &str> = HashMap::new();
    for (variable, node) in said.variables.iter().zip(nodes) {
        if !names.insert(variable.name.as_str()) {
            findings.error(
                *node,
                format!("the name `{}` stands for two variables", variable.name),
            );
        }
        // Numbers of version 2.0 are counted for each type.
        let ty = match said.version {
            Version::Two if variable.ty == "Enumeration" => "Integer",
            Version::Two => variable.ty.as_str(),
            Version::Three => "",
        };
        let known = references.insert((variable.reference, ty), &variable.name);
        if let Some(other) = known.filter(|_| said.version == Version::Three) {
            let message = format!(
                "`{}` and `{other}` have the same value reference, {}",
                variable.name, variable.reference
            );
            findings.error(*node, message);
        }
    }
    let is_time = |variable: &&FmuVariable| variable.causality == "independent";
    let n_times = said.variables.iter().filter(is_time).count();
    let wrong = match said.version {
        Version::Two => n_times > 1,
        Version::Three => n_times != 1,
    };
    if let (true, Some(node)) = (wrong, nodes.first()) {
        findings.error(*node, format!("{n_times} variables are the time, not one"));
    }
}

/// Causality, variability and `initial` fit together: the tables of the standard.
fn roles(
    findings: &mut Findings,
    (variable, node): (&FmuVariable, Node<'_, '_>),
    version: Version,
) {
    let FmuVariable {
        name,
        causality,
        variability,
        initial,
        ..
    } = variable;
    let allowed: &[&str] = match causality.as_str() {
        "parameter" | "calculatedParameter" => &["fixed", "tunable"],
        "structuralParameter" if version == Version::Three => &["fixed", "tunable"],
        "input" => &["discrete", "continuous"],
        "output" => &["constant", "discrete", "continuous"],
        "local" => &["constant", "fixed", "tunable", "discrete", "continuous"],
        "independent" => &["continuous"],
        other => {
            findings.error(
                node,
                format!("`{name}` has the causality `{other}`, which FMI does not know"),
            );
            return;
        }
    };
    if !allowed.contains(&variability.as_str()) {
        let message = format!(
            "`{name}` is {causality} and {variability}; a variable that is {causality} can be {}",
            allowed.join(" or ")
        );
        findings.error(node, message);
    }
    if variability == "continuous" && !variable.is_real() {
        findings.error(
            node,
            format!("`{name}` is {}, which cannot be continuous", variable.ty),
        );
    }
    let allowed: &[&str] = match (causality.as_str(), variability.as_str()) {
        ("parameter" | "structuralParameter", _) | (_, "constant") => &["exact"],
        ("calculatedParameter", _) | (_, "fixed" | "tunable") => &["approx", "calculated"],
        ("input", _) if version == Version::Three => &["exact"],
        ("input" | "independent", _) => &[""],
        _ => &["exact", "approx", "calculated"],
    };
    if !allowed.contains(&initial.as_str()) {
        let message = match allowed {
            [""] => format!("`{name}` is {causality} and has `initial`, which it must not"),
            allowed => format!(
                "`{name}` has initial `{initial}` where only {} is allowed",
                allowed.join(" or ")
            ),
        };
        findings.error(node, message);
    }
}

/// A start value is there where it has to be, and is one of its type.
fn start_value(findings: &mut Findings, (variable, node): (&FmuVariable, Node<'_, '_>)) {
    let FmuVariable { name, initial, .. } = variable;
    if variable.ty == "Clock" {
        return;
    }
    let is_needed = matches!(initial.as_str(), "exact" | "approx") || variable.causality == "input";
    match &variable.start {
        None if is_needed => {
            findings.error(node, format!("`{name}` has no start value, and needs one"));
        }
        Some(_) if initial == "calculated" || variable.causality == "independent" => {
            findings.error(
                node,
                format!("`{name}` is calculated, and must not have a start value"),
            );
        }
        Some(text) => {
            let is_one = |text: &str| match variable.ty.as_str() {
                "String" | "Binary" => true,
                "Boolean" => matches!(text, "true" | "false" | "0" | "1"),
                _ if variable.is_real() => text.parse::<f64>().is_ok(),
                _ => text.parse::<i128>().is_ok(),
            };
            let texts = matches!(variable.ty.as_str(), "String" | "Binary");
            let mut parts = text.split_whitespace();
            if !texts && (text.trim().is_empty() || !parts.all(is_one)) {
                let message = format!(
                    "`{name}` starts with \"{text}\", which is no {}",
                    variable.ty
                );
                findings.error(node, message);
            }
        }
        None => {}
    }
}

/// The position of a variable by the number of an attribute: counted from 1 in version 2.0, a value reference in 3.0.
fn place_of(said: &FmuDescription, number: u32) -> Option<usize> {
    match said.version {
        Version::Two => (number as usize)
            .checked_sub(1)
            .filter(|at| *at < said.variables.len()),
        Version::Three => said
            .variables
            .iter()
            .position(|variable| variable.reference == number),
    }
}

/// Rates belong to real, continuous variables.
fn rates(findings: &mut Findings, said: &FmuDescription, nodes: &[Node<'_, '_>]) {
    for (variable, node) in said.variables.iter().zip(nodes) {
        let Some(number) = variable.derivative else {
            continue;
        };
        let state = place_of(said, number).map(|at| &said.variables[at]);
        let fits = |state: &&FmuVariable| state.is_real() && state.variability == "continuous";
        if state.filter(fits).is_none() {
            let message = format!(
                "`{}` is the derivative of variable {number}, which is no continuous variable",
                variable.name
            );
            findings.error(*node, message);
        }
    }
}

/// A list of `ModelStructure` with its elements.
type Listed<'a> = (&'static str, Vec<(Node<'a, 'a>, usize)>);

/// `ModelStructure` lists exactly the outputs, the rates of states, and what is found at the start.
fn structure(reading: &mut Reading<'_, '_>, said: &mut FmuDescription) {
    let root = reading.document.root_element();
    let Some(node) = child(root, "ModelStructure") else {
        let message = "`ModelStructure` is missing".to_string();
        return reading.findings.error(root, message);
    };
    let lists = ["Outputs", "Derivatives", "InitialUnknowns"];
    let single = ["Output", "ContinuousStateDerivative", "InitialUnknown"];
    let mut found: Vec<Listed<'_>> = Vec::new();
    for (many, one) in lists.into_iter().zip(single) {
        let items: Vec<Node<'_, '_>> = match said.version {
            Version::Two => elements(node, many),
            Version::Three => node.children().filter(|n| n.has_tag_name(one)).collect(),
        };
        let mut places = Vec::new();
        for item in items {
            places.extend(listed(reading, said, item).map(|place| (item, place)));
        }
        found.push((one, places));
    }
    said.n_states = found[1].1.len();
    let states: HashSet<usize> = (found[1].1.iter())
        .filter_map(|&(_, rate)| place_of(said, said.variables[rate].derivative?))
        .collect();
    let rates: HashSet<usize> = found[1].1.iter().map(|&(_, rate)| rate).collect();
    for &(item, rate) in &found[1].1 {
        if said.variables[rate].derivative.is_none() {
            let message = format!(
                "`{}` is listed as the rate of a state, and has no `derivative`",
                said.variables[rate].name
            );
            reading.findings.error(item, message);
        }
    }
    let is_initial = |(at, variable): (usize, &FmuVariable)| {
        let is_shown = matches!(
            variable.causality.as_str(),
            "output" | "calculatedParameter"
        );
        let is_found = matches!(variable.initial.as_str(), "approx" | "calculated");
        is_found
            && variable.ty != "Clock"
            && (is_shown || states.contains(&at) || rates.contains(&at))
    };
    let is_output = |(_, variable): (usize, &FmuVariable)| variable.causality == "output";
    same_set(
        reading.findings,
        (node, said),
        &found[0],
        "an output",
        &is_output,
    );
    same_set(
        reading.findings,
        (node, said),
        &found[2],
        "found at the start",
        &is_initial,
    );
}

/// The variable of an element of a list, with its dependencies checked.
fn listed<'a>(
    reading: &mut Reading<'a, '_>,
    said: &FmuDescription,
    item: Node<'a, 'a>,
) -> Option<usize> {
    let name = match said.version {
        Version::Two => "index",
        Version::Three => "valueReference",
    };
    reading.needed(item, name)?;
    let number: u32 = reading.number(item, name)?;
    let place = place_of(said, number);
    if place.is_none() {
        let message = format!("{name} {number} is that of no variable");
        reading.findings.error(item, message);
    }
    let on = item.attribute("dependencies").unwrap_or_default();
    let on: Vec<&str> = on.split_whitespace().collect();
    let is_known = |text: &&str| {
        text.parse()
            .is_ok_and(|number| place_of(said, number).is_some())
    };
    if let Some(strange) = on.iter().find(|text| !is_known(text)) {
        let message = format!("a dependency on `{strange}`, which is no variable");
        reading.findings.error(item, message);
    }
    if let Some(kinds) = item.attribute("dependenciesKind")
        && kinds.split_whitespace().count() != on.len()
    {
        let n_kinds = kinds.split_whitespace().count();
        let message = format!(
            "{} dependencies and {n_kinds} kinds of dependencies",
            on.len()
        );
        reading.findings.error(item, message);
    }
    place
}

/// A list holds the variables that it has to hold, each once, and no others.
fn same_set(
    findings: &mut Findings,
    (node, said): (Node<'_, '_>, &FmuDescription),
    (list, places): &Listed<'_>,
    what: &str,
    belongs: &dyn Fn((usize, &FmuVariable)) -> bool,
) {
    let mut seen = BTreeSet::new();
    for &(item, place) in places {
        let variable = &said.variables[place];
        if !seen.insert(place) {
            findings.error(item, format!("`{}` is listed twice", variable.name));
        } else if !belongs((place, variable)) {
            findings.error(
                item,
                format!("`{}` is listed as {what}, and is none", variable.name),
            );
        }
    }
    let all = said.variables.iter().enumerate();
    for (_, variable) in all.filter(|(at, v)| belongs((*at, *v)) && !seen.contains(at)) {
        // An alias of one that is listed is that one.
        let same = |&at: &usize| {
            said.variables[at].reference == variable.reference
                && said.variables[at].ty == variable.ty
        };
        if !seen.iter().any(same) {
            findings.error(
                node,
                format!("`{}` is {what}, and has no `{list}` here", variable.name),
            );
        }
    }
}
