//! A model as flat, plain Modelica: `lagrange` expanded, loops and functions written out.

mod when;

use crate::model::{Declared, DeclaredKind, Equation, Model, Origin, Symbol, Type, quote};
use daelight_expr::{ExprId, SymbolId, TooLong, number};
use std::cell::Cell;
use std::fmt::Write;

/// Longest text of one expression, in bytes.
const EXPRESSION_LIMIT: usize = 64 << 20;

/// How arrays are declared in flat text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ArrayStyle {
    /// As arrays, `Real p[3]`; equations use `p[1]`.
    #[default]
    Kept,
    /// As scalars with quoted names, `Real 'p[1]'`.
    Scalarised,
    /// The same as Base Modelica (MCP-0031): in a package, every name quoted, nothing hidden and nothing final.
    Base,
}

impl ArrayStyle {
    /// A name as text declares and uses it.
    fn name(self, name: &str) -> String {
        match self {
            Self::Base => format!("'{name}'"),
            Self::Kept | Self::Scalarised => quote(name),
        }
    }
}

/// The first line of Base Modelica, with the version that is written.
const BASE_HEADER: &str = "//! base 0.1.0";

/// Comments that go with a model written as text, each on lines of its own.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Remarks {
    /// Lines above the model.
    pub head: Vec<String>,
    /// What stands above each equation; equations beyond the list, and empty remarks, have none.
    pub equations: Vec<String>,
}

/// Writes the model as Modelica that reads back to the same unknowns and equations.
///
/// Fails when shared parts, which text must repeat, make an expression longer than 64 MB.
pub fn flat_modelica(model: &Model, style: ArrayStyle) -> Result<String, TooLong> {
    remarked_modelica(model, style, &Remarks::default())
}

/// The same as [`flat_modelica`] with comments.
pub fn remarked_modelica(
    model: &Model,
    style: ArrayStyle,
    remarks: &Remarks,
) -> Result<String, TooLong> {
    let mut model = model.clone();
    let hybrid = model.hybrid.take();
    let discrete = hybrid.as_deref();
    let discrete = discrete.map(|hybrid| when::discrete(&mut model, hybrid, style));
    let mut writer = Writer {
        model: &model,
        style,
        text: String::new(),
        discrete: discrete.as_ref(),
        is_too_long: Cell::new(false),
    };
    for line in &remarks.head {
        writer.remark("", line);
    }
    writer.model(&remarks.equations)?;
    Ok(match style {
        ArrayStyle::Base => in_package(&style.name(&model.name), &writer.text),
        ArrayStyle::Kept | ArrayStyle::Scalarised => writer.text,
    })
}

/// A model inside a package of its name, as Base Modelica wants it.
fn in_package(name: &str, model: &str) -> String {
    let mut text = format!("{BASE_HEADER}\npackage {name}\n");
    // Strings may go on over lines, which are left as they are.
    let (mut is_string, mut is_escaped) = (false, false);
    for line in model.split_inclusive('\n') {
        if !is_string {
            text.push_str("  ");
        }
        text.push_str(line);
        for character in line.chars() {
            is_string ^= character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
        }
    }
    text.push_str(&format!("end {name};\n"));
    text
}

struct Writer<'a> {
    model: &'a Model,
    style: ArrayStyle,
    text: String,
    /// What changes at events.
    discrete: Option<&'a when::Discrete<'a>>,
    is_too_long: Cell<bool>,
}

impl Writer<'_> {
    /// One comment on a line of its own.
    fn remark(&mut self, indent: &str, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        self.text
            .push_str(&format!("{indent}// {}\n", words.join(" ")));
    }

    fn model(&mut self, remarks: &[String]) -> Result<(), TooLong> {
        let model = self.model;
        let name = self.style.name(&model.name);
        self.text
            .push_str(&format!("model {name}{}\n", comment(&model.comment)));
        let mut protected = false;
        for (index, declared) in model.declarations.iter().enumerate() {
            let held = self.discrete.map(|discrete| &discrete.declarations);
            if held.is_some_and(|held| held.contains(&index)) {
                continue;
            }
            if declared.is_protected != protected && self.style != ArrayStyle::Base {
                protected = declared.is_protected;
                self.text
                    .push_str(if protected { "protected\n" } else { "public\n" });
            }
            match self.style {
                ArrayStyle::Kept => self.declaration(index, declared)?,
                ArrayStyle::Scalarised | ArrayStyle::Base => self.scalars(index, declared)?,
            }
        }
        for unknown in model
            .unknowns
            .iter()
            .filter(|unknown| unknown.velocity_of.is_some())
        {
            self.text
                .push_str(&format!("  Real {};\n", self.style.name(&unknown.name)));
        }
        for view in &model.views {
            let name = self.style.name(&view.name);
            self.text
                .push_str(&format!("  {} {name};\n", view.ty.word()));
        }
        if protected {
            self.text.push_str("public\n");
        }
        self.discrete_declarations()?;
        let before = self.text.len();
        for equation in &model.initial_equations {
            self.equation(equation)?;
        }
        self.discrete_starts()?;
        if self.text.len() > before {
            self.text.insert_str(before, "initial equation\n");
        }
        self.text.push_str("equation\n");
        for (at, equation) in model.equations.iter().enumerate() {
            if let Some(remark) = remarks.get(at).filter(|remark| !remark.is_empty()) {
                self.remark("  ", remark);
            }
            self.equation(equation)?;
        }
        for view in &model.views {
            let value = self.typed(view.value, view.ty)?;
            self.text
                .push_str(&format!("  {} = {value};\n", self.style.name(&view.name)));
        }
        self.discrete_equations()?;
        self.annotation()?;
        self.text.push_str(&format!("end {name};\n"));
        Ok(())
    }

    /// Whether a parameter decides the structure: another value would need another text.
    fn is_structural(&self, declared: &Declared) -> bool {
        let count: usize = declared.dims.iter().product();
        declared.kind == DeclaredKind::Parameter
            && self.model.parameters[declared.first..declared.first + count]
                .iter()
                .any(|parameter| parameter.is_structural)
    }

    /// What decides the structure is final, in Base Modelica a constant.
    fn prefix(&self, declared: &Declared) -> String {
        let is_structural = self.is_structural(declared);
        let is_base = self.style == ArrayStyle::Base;
        let kind = match declared.kind {
            DeclaredKind::Parameter if is_base && is_structural => "constant ",
            DeclaredKind::Parameter => "parameter ",
            DeclaredKind::Constant => "constant ",
            DeclaredKind::Input => "input ",
            DeclaredKind::Unknown if declared.is_output => "output ",
            DeclaredKind::Unknown => "",
        };
        let is_final = if (declared.is_final || is_structural) && !is_base {
            "final "
        } else {
            ""
        };
        format!("  {is_final}{kind}{} ", declared.ty.word())
    }

    fn declaration(&mut self, index: usize, declared: &Declared) -> Result<(), TooLong> {
        let count: usize = declared.dims.iter().product();
        let range = declared.first..declared.first + count;
        let dims: Vec<String> = declared.dims.iter().map(usize::to_string).collect();
        let dims = if dims.is_empty() {
            String::new()
        } else {
            format!("[{}]", dims.join(", "))
        };
        let attributes = self.attributes(declared, index, range.clone())?;
        let binding = self.binding(declared, range)?;
        self.text.push_str(&format!(
            "{}{}{dims}{attributes}{binding}{};\n",
            self.prefix(declared),
            self.style.name(&declared.name),
            comment(&declared.comment)
        ));
        Ok(())
    }

    /// One declaration per element.
    fn scalars(&mut self, index: usize, declared: &Declared) -> Result<(), TooLong> {
        let count: usize = declared.dims.iter().product();
        let scalar = Declared {
            dims: Vec::new(),
            ..declared.clone()
        };
        for position in declared.first..declared.first + count {
            let name = match declared.kind {
                DeclaredKind::Parameter | DeclaredKind::Constant => {
                    &self.model.parameters[position].name
                }
                DeclaredKind::Input => &self.model.inputs[position].name,
                DeclaredKind::Unknown => &self.model.unknowns[position].name,
            };
            let attributes = self.attributes(&scalar, index, position..position + 1)?;
            let binding = self.binding(&scalar, position..position + 1)?;
            self.text.push_str(&format!(
                "{}{}{attributes}{binding}{};\n",
                self.prefix(declared),
                self.style.name(name),
                comment(&declared.comment)
            ));
        }
        Ok(())
    }

    fn attributes(
        &self,
        declared: &Declared,
        index: usize,
        range: std::ops::Range<usize>,
    ) -> Result<String, TooLong> {
        let mut items = Vec::new();
        if !declared.unit.is_empty() {
            let each = if declared.dims.is_empty() {
                ""
            } else {
                "each "
            };
            items.push(format!("{each}unit = {}", string(&declared.unit)));
        }
        if range.is_empty() {
            return Ok(list(&items));
        }
        let all = |get: &dyn Fn(usize) -> Option<ExprId>| range.clone().map(get).collect();
        let model = self.model;
        let numeric: [(&str, Option<Vec<ExprId>>); 4] = match declared.kind {
            DeclaredKind::Unknown => {
                let unknowns = &model.unknowns;
                debug_assert!(
                    unknowns[range.clone()]
                        .iter()
                        .all(|u| u.declaration == index)
                );
                [
                    ("start", all(&|at| unknowns[at].start)),
                    ("nominal", all(&|at| unknowns[at].nominal)),
                    ("min", all(&|at| unknowns[at].min)),
                    ("max", all(&|at| unknowns[at].max)),
                ]
            }
            DeclaredKind::Parameter => {
                let parameters = &model.parameters;
                [
                    ("min", all(&|at| parameters[at].min)),
                    ("max", all(&|at| parameters[at].max)),
                    ("start", None),
                    ("nominal", None),
                ]
            }
            DeclaredKind::Constant | DeclaredKind::Input => [
                ("start", None),
                ("nominal", None),
                ("min", None),
                ("max", None),
            ],
        };
        for (name, values) in numeric {
            if let Some(values) = values {
                let mut texts = Vec::with_capacity(values.len());
                for value in values {
                    texts.push(self.expression(value)?);
                }
                items.push(attribute(name, &texts, &declared.dims));
            }
        }
        if declared.kind == DeclaredKind::Unknown {
            let unknowns = &model.unknowns[range];
            if unknowns.iter().any(|unknown| unknown.fixed) {
                let texts: Vec<String> = unknowns
                    .iter()
                    .map(|unknown| unknown.fixed.to_string())
                    .collect();
                items.push(attribute("fixed", &texts, &declared.dims));
            }
        }
        Ok(list(&items))
    }

    fn binding(
        &self,
        declared: &Declared,
        range: std::ops::Range<usize>,
    ) -> Result<String, TooLong> {
        let definitions: Option<Vec<ExprId>> = match declared.kind {
            DeclaredKind::Parameter | DeclaredKind::Constant => Some(
                self.model.parameters[range]
                    .iter()
                    .map(|parameter| parameter.definition)
                    .collect(),
            ),
            DeclaredKind::Input => self.model.inputs[range]
                .iter()
                .map(|input| input.definition)
                .collect(),
            DeclaredKind::Unknown => None,
        };
        let Some(definitions) = definitions else {
            return Ok(String::new());
        };
        if definitions.is_empty() {
            let dims: Vec<String> = declared.dims.iter().map(usize::to_string).collect();
            return Ok(format!(" = zeros({})", dims.join(", ")));
        }
        let mut texts = Vec::with_capacity(definitions.len());
        for definition in definitions {
            let is_settled = self.style == ArrayStyle::Base && self.is_structural(declared);
            let constant = match is_settled {
                true => Some(self.model.parameter_value(definition)),
                false => self.model.graph.as_constant(definition),
            };
            texts.push(match (declared.ty, constant) {
                (Type::Boolean, Some(value)) => (value != 0.0).to_string(),
                (_, Some(value)) if is_settled => number(value),
                _ => self.expression(definition)?,
            });
        }
        Ok(format!(" = {}", nested(&texts, &declared.dims)))
    }

    fn equation(&mut self, equation: &Equation) -> Result<(), TooLong> {
        let left = self.expression(equation.left)?;
        let right = self.expression(equation.right)?;
        // A condition on the left would read as an `if` equation.
        let left = if left.starts_with("if ") {
            format!("({left})")
        } else {
            left
        };
        let remark = match &equation.origin {
            Origin::EulerLagrange { coordinate } => comment(&format!(
                "motion of {}",
                self.model.unknowns[*coordinate].name
            )),
            Origin::Constraint { position } => format!(" \"constraint {position}\""),
            Origin::Velocity { .. } | Origin::Written | Origin::Binding => String::new(),
        };
        self.text
            .push_str(&format!("  {left} = {right}{remark};\n"));
        Ok(())
    }

    fn annotation(&mut self) -> Result<(), TooLong> {
        let model = self.model;
        let mut items = Vec::new();
        let experiment: Vec<String> = [
            ("StartTime", model.experiment.start_time),
            ("StopTime", model.experiment.stop_time),
            ("Tolerance", model.experiment.tolerance),
            ("Interval", model.experiment.interval),
        ]
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| format!("{name} = {}", number(value))))
        .collect();
        if !experiment.is_empty() {
            items.push(format!("experiment({})", experiment.join(", ")));
        }
        if !model.drawing.is_empty() {
            let mut lines = Vec::with_capacity(model.drawing.len());
            for polyline in &model.drawing {
                let mut points = Vec::with_capacity(polyline.len());
                for point in polyline {
                    let mut coordinates = Vec::with_capacity(point.len());
                    for &coordinate in point {
                        coordinates.push(self.expression(coordinate)?);
                    }
                    points.push(format!("{{{}}}", coordinates.join(", ")));
                }
                lines.push(format!("{{{}}}", points.join(", ")));
            }
            items.push(format!("__daelight(draw = {{{}}})", lines.join(", ")));
        }
        if !items.is_empty() {
            self.text
                .push_str(&format!("  annotation({});\n", items.join(", ")));
        }
        Ok(())
    }

    fn symbol(&self, id: SymbolId, text: &mut String) {
        if let Symbol::Parameter(index) = self.model.symbols.get(id)
            && self.held_symbol(index, text)
        {
            return;
        }
        if let Symbol::Input { input, order: 0 } = self.model.symbols.get(id)
            && self.delayed(input, text)
        {
            return;
        }
        if self.style == ArrayStyle::Kept {
            return self.model.write_symbol(id, text);
        }
        let (name, order) = match self.model.symbols.get(id) {
            Symbol::Time => return text.push_str("time"),
            Symbol::Parameter(index) => (&self.model.parameters[index].name, 0),
            Symbol::Input { input, order } => (&self.model.inputs[input].name, order),
            Symbol::Unknown { unknown, order } => (&self.model.unknowns[unknown].name, order),
        };
        let open = "der(".repeat(order as usize);
        let close = ")".repeat(order as usize);
        // Writing to a text cannot fail.
        let _ = write!(text, "{open}{}{close}", self.style.name(name));
    }
}

/// `(a, b)`, or nothing.
fn list(items: &[String]) -> String {
    if items.is_empty() {
        String::new()
    } else {
        format!("({})", items.join(", "))
    }
}

/// ` "comment"`, or nothing.
fn comment(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(" {}", string(text))
    }
}

fn string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

fn attribute(name: &str, texts: &[String], dims: &[usize]) -> String {
    if dims.is_empty() {
        format!("{name} = {}", texts[0])
    } else if texts.iter().all(|text| *text == texts[0]) {
        format!("each {name} = {}", texts[0])
    } else {
        format!("{name} = {}", nested(texts, dims))
    }
}

/// Braces around the elements of an array, row by row.
fn nested(texts: &[String], dims: &[usize]) -> String {
    match dims {
        [] => texts[0].clone(),
        [_] => format!("{{{}}}", texts.join(", ")),
        [_, rest @ ..] => {
            let size: usize = rest.iter().product();
            let rows: Vec<String> = texts
                .chunks(size.max(1))
                .map(|row| nested(row, rest))
                .collect();
            format!("{{{}}}", rows.join(", "))
        }
    }
}
