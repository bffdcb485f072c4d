//! `modelDescription.xml` of FMUs of others: what it says, as far as it can be read.

use super::examine::Findings;
use crate::description::Version;
use roxmltree::{Document, Node};

/// What an FMU is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FmuKind {
    /// The importer integrates.
    ModelExchange,
    /// The FMU integrates.
    CoSimulation,
    /// The importer decides when parts are computed.
    ScheduledExecution,
}

/// A variable as an FMU describes it.
#[derive(Clone, Debug)]
pub struct FmuVariable {
    /// The name.
    pub name: String,
    /// The number by which functions know it.
    pub reference: u32,
    /// Its type, as the element says it: `Real`, `Float64`, `Boolean`.
    pub ty: String,
    /// What it is for.
    pub causality: String,
    /// When it changes.
    pub variability: String,
    /// What its start value is, with the standard's default; empty where it has none.
    pub initial: String,
    /// The start value as it is written.
    pub start: Option<String>,
    /// The unit, or nothing.
    pub unit: String,
    /// The place or reference of the state whose rate it is.
    pub derivative: Option<u32>,
    /// Its sizes, where it is an array: numbers, or the variables that hold them.
    pub dimensions: Vec<FmuSize>,
}

/// What an FMU says about itself.
#[derive(Clone, Debug)]
pub struct FmuDescription {
    /// The version of FMI.
    pub version: Version,
    /// The name of the model.
    pub name: String,
    /// What tells it from others.
    pub token: String,
    /// Who made it.
    pub tool: String,
    /// What it is for, each with the name of its library.
    pub kinds: Vec<(FmuKind, String)>,
    /// Its variables.
    pub variables: Vec<FmuVariable>,
    /// Times of a run: begin, end, tolerance, step.
    pub experiment: [Option<f64>; 4],
    /// How many rates of states it lists.
    pub n_states: usize,
    /// Whether its co-simulation takes rates of inputs.
    pub takes_rates: bool,
}

/// A size of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FmuSize {
    /// A number.
    Is(usize),
    /// The start value of the variable with this reference.
    Of(u32),
    /// Neither can be read.
    Unknown,
}

impl FmuDescription {
    /// The sizes of a variable: none of a number; `None` where they are not known, or there are more than 65535 elements.
    pub fn sizes(&self, variable: &FmuVariable) -> Option<Vec<usize>> {
        let size = |size: &FmuSize| match *size {
            FmuSize::Is(n) => Some(n),
            FmuSize::Of(reference) => {
                let holder = self.variables.iter().find(|v| v.reference == reference)?;
                holder.start.as_deref()?.trim().parse().ok()
            }
            FmuSize::Unknown => None,
        };
        let sizes: Vec<usize> = variable
            .dimensions
            .iter()
            .map(size)
            .collect::<Option<_>>()?;
        let n = sizes
            .iter()
            .try_fold(1usize, |n, size| n.checked_mul(*size))?;
        (n <= usize::from(u16::MAX)).then_some(sizes)
    }
}

impl FmuVariable {
    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        !self.dimensions.is_empty()
    }

    /// Whether values are numbers with fractions.
    pub fn is_real(&self) -> bool {
        matches!(self.ty.as_str(), "Real" | "Float64" | "Float32")
    }
}

/// Elements of a list, and their attributes: read into variables and unknowns.
pub(super) struct Reading<'a, 'f> {
    pub document: &'a Document<'a>,
    pub findings: &'f mut Findings,
}

/// A child element by its name.
pub(super) fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.has_tag_name(name))
}

impl<'a> Reading<'a, '_> {
    /// All that the document says; `None` where too little of it can be read.
    pub fn description(&mut self) -> Option<FmuDescription> {
        let root = self.document.root_element();
        if !root.has_tag_name("fmiModelDescription") {
            let name = root.tag_name().name();
            let message =
                format!("the description begins with `{name}`, not with `fmiModelDescription`");
            self.findings.error(root, message);
            return None;
        }
        let version = match self.needed(root, "fmiVersion")? {
            "2.0" => Version::Two,
            text if text.starts_with("3.0") => Version::Three,
            other => {
                let message = format!("FMI {other} is not read, only 2.0 and 3.0");
                self.findings.error(root, message);
                return None;
            }
        };
        let token = match version {
            Version::Two => "guid",
            Version::Three => "instantiationToken",
        };
        let said = |name: &str| root.attribute(name).unwrap_or_default().to_string();
        let name = self.needed(root, "modelName").unwrap_or_default();
        let token = self.needed(root, token).unwrap_or_default();
        let kinds = self.kinds(root);
        let variables = self.variables(root, version);
        let experiment = self.experiment(root);
        let said_so = child(root, "CoSimulation").and_then(|n| n.attribute("canInterpolateInputs"));
        let interpolates = matches!(said_so.map(str::trim), Some("true" | "1"));
        Some(FmuDescription {
            version,
            name: name.to_string(),
            token: token.to_string(),
            tool: said("generationTool"),
            kinds,
            variables,
            experiment,
            n_states: 0,
            takes_rates: version == Version::Two && interpolates,
        })
    }

    /// An attribute that has to be there.
    pub fn needed(&mut self, node: Node<'a, 'a>, name: &str) -> Option<&'a str> {
        let found = node.attribute(name).filter(|text| !text.is_empty());
        if found.is_none() {
            let element = node.tag_name().name();
            let message = format!("`{element}` has no attribute `{name}`");
            self.findings.error(node, message);
        }
        found
    }

    /// An attribute that is a number, if it is there.
    pub fn number<T: std::str::FromStr>(&mut self, node: Node<'a, 'a>, name: &str) -> Option<T> {
        let text = node.attribute(name)?;
        let found = text.trim().parse().ok();
        if found.is_none() {
            let message = format!("`{name}` is \"{text}\", which is not the number it has to be");
            self.findings.error(node, message);
        }
        found
    }

    fn kinds(&mut self, root: Node<'a, 'a>) -> Vec<(FmuKind, String)> {
        let known = [
            ("ModelExchange", FmuKind::ModelExchange),
            ("CoSimulation", FmuKind::CoSimulation),
            ("ScheduledExecution", FmuKind::ScheduledExecution),
        ];
        let mut kinds = Vec::new();
        for (name, kind) in known {
            let Some(node) = child(root, name) else {
                continue;
            };
            let Some(identifier) = self.needed(node, "modelIdentifier") else {
                continue;
            };
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !identifier.chars().all(is_plain)
                || identifier.starts_with(|c: char| c.is_ascii_digit())
            {
                let message = format!("`{identifier}` is not a name in C: letters, digits and `_`");
                self.findings.error(node, message);
                continue;
            }
            kinds.push((kind, identifier.to_string()));
        }
        if kinds.is_empty() {
            let message = "the FMU is neither for co-simulation nor for model exchange";
            self.findings.error(root, message.to_string());
        }
        kinds
    }

    fn variables(&mut self, root: Node<'a, 'a>, version: Version) -> Vec<FmuVariable> {
        let Some(list) = child(root, "ModelVariables") else {
            self.findings
                .error(root, "`ModelVariables` is missing".to_string());
            return Vec::new();
        };
        let elements = list.children().filter(Node::is_element);
        elements
            .filter_map(|node| self.variable(node, version))
            .collect()
    }

    /// A variable; in version 2.0 its type is an element of its own.
    fn variable(&mut self, node: Node<'a, 'a>, version: Version) -> Option<FmuVariable> {
        let types = super::examine::types(version);
        let is_type = |node: &Node<'_, '_>| types.contains(&node.tag_name().name());
        let typed = match version {
            Version::Two => node.children().find(is_type),
            Version::Three => Some(node).filter(is_type),
        };
        let Some(typed) = typed else {
            let name = node.attribute("name").unwrap_or_default();
            let message = format!("`{name}` has no type of FMI: one of {}", types.join(", "));
            self.findings.error(node, message);
            return None;
        };
        let ty = typed.tag_name().name();
        let name = self.needed(node, "name")?.to_string();
        self.needed(node, "valueReference")?;
        let reference = self.number(node, "valueReference")?;
        let said = |attribute: &str| node.attribute(attribute).map(str::to_string);
        let usual = match matches!(ty, "Real" | "Float64" | "Float32") {
            true => "continuous",
            false => "discrete",
        };
        let causality = said("causality").unwrap_or_else(|| "local".to_string());
        let variability = said("variability").unwrap_or_else(|| match causality.as_str() {
            "parameter" | "calculatedParameter" | "structuralParameter" => "fixed".to_string(),
            _ => usual.to_string(),
        });
        let initial = said("initial").unwrap_or_else(|| {
            match (causality.as_str(), variability.as_str()) {
                ("parameter" | "structuralParameter", _) | (_, "constant") => "exact",
                ("input", _) if version == Version::Three => "exact",
                ("input" | "independent", _) => "",
                _ => "calculated",
            }
            .to_string()
        });
        let start = typed.attribute("start").map(str::to_string);
        let start = start.or_else(|| {
            let inner = child(typed, "Start")?;
            Some(inner.attribute("value").unwrap_or_default().to_string())
        });
        Some(FmuVariable {
            derivative: self.number(typed, "derivative"),
            unit: typed.attribute("unit").unwrap_or_default().to_string(),
            dimensions: self.dimensions(node),
            ty: ty.to_string(),
            name,
            reference,
            causality,
            variability,
            initial,
            start,
        })
    }

    fn dimensions(&mut self, node: Node<'a, 'a>) -> Vec<FmuSize> {
        let all: Vec<_> = (node.children())
            .filter(|child| child.has_tag_name("Dimension"))
            .collect();
        let size = |node| match self.number(node, "start").map(FmuSize::Is) {
            Some(size) => size,
            None => {
                let holder = self.number(node, "valueReference").map(FmuSize::Of);
                holder.unwrap_or(FmuSize::Unknown)
            }
        };
        all.into_iter().map(size).collect()
    }

    fn experiment(&mut self, root: Node<'a, 'a>) -> [Option<f64>; 4] {
        let names = ["startTime", "stopTime", "tolerance", "stepSize"];
        let Some(node) = child(root, "DefaultExperiment") else {
            return [None; 4];
        };
        let found = names.map(|name| self.number::<f64>(node, name));
        if let [Some(from), Some(to), ..] = found
            && from > to
        {
            let message = format!("the default run would begin at {from} and end at {to}");
            self.findings.error(node, message);
        }
        found
    }
}
