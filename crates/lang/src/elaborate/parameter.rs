//! Parameters and constants: values, bounds, and what `--set` makes of them.

use super::declare::element_name;
use super::instance::Variable;
use super::value::{Value, describe_dims};
use super::{Checked, Elaborator, Reported};
use crate::Override;
use crate::ast::{Causality, Variability};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::model::{DeclaredKind, Parameter, Symbol, Type};
use crate::source::Span;
use daelight_expr::ExprId;
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    /// Names of the parameters, in the order of the text.
    fn parameter_names(&self) -> Vec<&str> {
        let variables = self
            .order
            .iter()
            .map(|&entry| &self.entries[entry].variable);
        variables
            .filter(|variable| variable.handed.variability == Variability::Parameter)
            .map(|variable| &*variable.name)
            .collect()
    }

    /// What to write for an undeclared name in the value of a `--set`, which is known before the run.
    pub(super) fn help_for_setting(&self, name: &str, span: Span) -> Option<String> {
        let mut items = self.overrides.iter();
        let item = items.find(|item| item.name_span.source == span.source)?;
        let mut others = self.parameter_names();
        others.retain(|other| *other != item.name);
        Some(match nearest(name, others.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "give a number, such as {}=1, or an expression of parameters",
                item.name
            ),
        })
    }

    /// Each `--set` must name a parameter that may be set.
    pub(super) fn check_overrides(&mut self) {
        let class = self.class;
        for item in self.overrides {
            let Some(&entry) = self.by_name.get(item.name.as_str()) else {
                let parameters = self.parameter_names();
                let help = match nearest(&item.name, parameters.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        let names: Vec<&str> = parameters.into_iter().take(8).collect();
                        if names.is_empty() {
                            "this model has no parameters".into()
                        } else {
                            format!("its parameters are {}", names.join(", "))
                        }
                    }
                };
                self.error(
                    Diagnostic::error(
                        Code::UnknownParameter,
                        item.name_span,
                        format!("`{}` has no parameter `{}`", class.name, item.name),
                    )
                    .label("set here")
                    .help(help),
                );
                continue;
            };
            let variable = self.entries[entry].variable.clone();
            let declaration = variable.declaration;
            let mut help = "set a parameter of the model instead".to_string();
            let reason = match variable.handed.variability {
                Variability::Parameter if variable.handed.is_final => "is final",
                Variability::Parameter => continue,
                Variability::Constant => "is a constant",
                _ if variable.handed.causality == Causality::Input => {
                    let name = &item.name;
                    help = format!(
                        "write `parameter Real {name}0 = 1; input Real {name} = {name}0;` and set {name}0"
                    );
                    "is an input, not a parameter"
                }
                _ => {
                    help = format!("change the `start` of `{}` in the text", item.name);
                    "is a variable, not a parameter"
                }
            };
            self.error(
                Diagnostic::error(
                    Code::NotAssignable,
                    item.name_span,
                    format!("`{}` cannot be set: it {reason}", item.name),
                )
                .label("set here")
                .related(declaration.name_span, "declared here")
                .help(help),
            );
        }
    }

    pub(super) fn whole_override(&self, name: &str) -> Option<&'a Override> {
        let overrides = self.overrides;
        overrides
            .iter()
            .rev()
            .find(|item| item.name == name && item.subscripts.is_empty())
    }

    /// Overrides of elements that come behind the last one of the whole.
    pub(super) fn element_overrides(
        &self,
        name: &str,
    ) -> impl Iterator<Item = &'a Override> + use<'a> {
        let overrides = self.overrides;
        let name = name.to_string();
        let whole = |item: &Override| item.name == name && item.subscripts.is_empty();
        let first = overrides.iter().rposition(whole).map_or(0, |last| last + 1);
        overrides[first..]
            .iter()
            .filter(move |item| item.name == name)
    }

    pub(super) fn declare_parameter(&mut self, variable: &Rc<Variable<'a>>) -> Checked<Value> {
        let ty = variable.ty();
        if let Some(value) = self.computed_at_start(variable)? {
            return Ok(value);
        }
        let value = match self.whole_override(&variable.name) {
            Some(item) => Some((self.eval_at_root(item.value)?, item.span)),
            None => match &variable.value {
                Some(bound) => {
                    let value = self.eval_bound(bound, variable.dims.len())?;
                    Some((value, self.bound_span(bound)))
                }
                None => self.parameter_start(variable)?,
            },
        };
        let given = value.as_ref().map(|(value, _)| value.dims().to_vec());
        if let Some(given) = &given {
            self.sizing.push((variable.name.clone(), given.clone()));
        }
        let dims = self.scoped_sizes(
            &variable.dims,
            given.as_deref(),
            &variable.name,
            variable.declaration.name_span,
        );
        if given.is_some() {
            self.sizing.pop();
        }
        let dims = dims?;
        let count: usize = dims.iter().product();
        let elements = self.given_elements(variable, value.as_ref(), &dims)?;
        let mut elements = elements;
        self.apply_element_overrides(variable, ty, &dims, &mut elements)?;
        if self.is_plain_constant(variable) {
            return self.constant_value(variable, dims, elements);
        }
        // What follows from parameters that are found at the start is found with them.
        let definitions: Option<Vec<ExprId>> =
            elements.iter().map(|element| Some((*element)?.0)).collect();
        if let Some(definitions) = definitions
            && definitions.iter().any(|&expr| self.varies(expr))
            && definitions.iter().all(|&expr| self.rests(expr))
        {
            return Ok(Value::shaped(ty, dims, definitions));
        }
        let index = self.new_declaration(variable, dims.clone(), DeclaredKind::Parameter);
        let mut symbols = Vec::with_capacity(count);
        for (position, element) in elements.into_iter().enumerate() {
            let name = element_name(&variable.name, &dims, position);
            let Some((definition, span)) = element else {
                return Err(self.missing_value(variable, &name));
            };
            let value = self.checked_parameter_value(variable, &name, definition, span)?;
            let symbol = self.symbols.id(Symbol::Parameter(self.parameters.len()));
            symbols.push(self.graph.symbol(symbol));
            self.parameters.push(Parameter {
                name,
                value,
                definition,
                ty,
                is_constant: variable.handed.variability == Variability::Constant,
                min: None,
                max: None,
                is_structural: false,
                declaration: index,
            });
        }
        self.check_bounds(variable, index)?;
        Ok(Value::shaped(ty, dims, symbols))
    }

    /// What is given for each element; one value may stand for all.
    fn given_elements(
        &mut self,
        variable: &Variable<'a>,
        value: Option<&(Value, Span)>,
        dims: &[usize],
    ) -> Checked<Vec<Option<(ExprId, Span)>>> {
        let count: usize = dims.iter().product();
        let Some((value, span)) = value else {
            return Ok(vec![None; count]);
        };
        self.require_type(value, variable.ty(), *span)?;
        let from_set = self.whole_override(&variable.name).is_some();
        // A type such as `Real[3]` and a scalar value without `each`: one for all.
        let is_inside = variable.owner != self.root;
        if value.fits(dims) {
            let element = |&element: &ExprId| Some((element, *span));
            return Ok(value.elements().iter().map(element).collect());
        }
        if value.dims().is_empty() && (from_set || is_inside) {
            return Ok(vec![Some((value.elements()[0], *span)); count]);
        }
        let name_span = variable.declaration.name_span;
        Err(self.size_conflict(&variable.name, name_span, dims, value, *span))
    }

    /// Constants of packages and libraries are their values; those of the model itself keep their names.
    fn is_plain_constant(&self, variable: &Variable<'a>) -> bool {
        !self.node(variable.owner).is_component
            && !self.is_own_constant(variable.owner, variable.declaration)
    }

    fn constant_value(
        &mut self,
        variable: &Variable<'a>,
        dims: Vec<usize>,
        elements: Vec<Option<(ExprId, Span)>>,
    ) -> Checked<Value> {
        let mut data = Vec::with_capacity(elements.len());
        for (position, element) in elements.into_iter().enumerate() {
            let name = element_name(&variable.name, &dims, position);
            let Some((definition, span)) = element else {
                return Err(self.missing_value(variable, &name));
            };
            let value = self.checked_parameter_value(variable, &name, definition, span)?;
            data.push(self.graph.constant(value));
        }
        Ok(Value::shaped(variable.ty(), dims, data))
    }

    /// A parameter with `fixed = false` is an unknown that does not change.
    fn computed_at_start(&mut self, variable: &Rc<Variable<'a>>) -> Checked<Option<Value>> {
        let Some(fixed) = variable.attribute("fixed") else {
            return Ok(None);
        };
        let span = self.bound_span(&fixed);
        let value = self.eval_bound(&fixed, variable.dims.len())?;
        self.require_type(&value, Type::Boolean, span)?;
        let mut is_fixed = false;
        for &element in value.elements() {
            is_fixed |= self.known_scalar(element, "the attribute `fixed`", span)? != 0.0;
        }
        if is_fixed {
            return Ok(None);
        }
        let name_span = variable.declaration.name_span;
        let dims = self.scoped_sizes(&variable.dims, None, &variable.name, name_span)?;
        if variable.ty() != Type::Real {
            return Ok(Some(self.kept_from_start(variable, dims)));
        }
        let count: usize = dims.iter().product();
        let index = self.new_declaration(variable, dims.clone(), DeclaredKind::Unknown);
        let mut symbols = Vec::with_capacity(count);
        for position in 0..count {
            let name = element_name(&variable.name, &dims, position);
            self.unknowns
                .push(crate::model::Unknown::plain(name, index));
            let unknown = self.unknowns.len() - 1;
            self.discrete.settled.insert(unknown);
            let value = self.symbols.id(Symbol::Unknown { unknown, order: 0 });
            let rate = self.symbols.id(Symbol::Unknown { unknown, order: 1 });
            symbols.push(self.graph.symbol(value));
            self.resting
                .push((self.graph.symbol(rate), variable.clone()));
        }
        // It may be needed after the attributes of the others were read.
        let _ = self.attributes(variable, index);
        for unknown in &mut self.unknowns[self.declarations[index].first..] {
            unknown.fixed = false;
        }
        Ok(Some(Value::shaped(Type::Real, dims, symbols)))
    }

    /// Truths and whole numbers that initial equations tell: discrete variables that no event changes.
    fn kept_from_start(&mut self, variable: &Rc<Variable<'a>>, dims: Vec<usize>) -> Value {
        let span = variable.declaration.name_span;
        let value = self.declare_discrete(variable, dims);
        for &symbol in value.elements() {
            let before = self.previous_of(symbol, variable.ty(), span);
            self.push_discrete(symbol, before, span);
        }
        value
    }

    /// Values of parameters keep to `min` and `max`.
    pub(super) fn check_bounds(&mut self, variable: &Variable<'a>, index: usize) -> Checked<()> {
        let declaration = variable.declaration;
        for (bound, below) in [("min", true), ("max", false)] {
            let Some(given) = variable.attribute(bound) else {
                continue;
            };
            let limits = self.eval_bound(&given, variable.dims.len())?;
            self.require_type(&limits, Type::Real, self.bound_span(&given))?;
            let declared = &self.declarations[index];
            let (first, count) = (declared.first, declared.dims.iter().product::<usize>());
            for position in 0..count {
                let Some(&limit) = limits.elements().get(if limits.dims().is_empty() {
                    0
                } else {
                    position
                }) else {
                    break;
                };
                let limit = self.parameter_value(limit);
                let Parameter { name, value, .. } = &self.parameters[first + position];
                if (below && *value < limit) || (!below && *value > limit) {
                    let word = if below {
                        "below its minimum"
                    } else {
                        "above its maximum"
                    };
                    // A constant of a library is nobody's to change.
                    let is_library = variable.handed.variability == Variability::Constant
                        && variable.owner != self.root;
                    let new = match is_library {
                        true => Diagnostic::warning,
                        false => Diagnostic::error,
                    };
                    let diagnostic = new(
                        Code::BadValue,
                        declaration.name_span,
                        format!("`{name}` = {value} is {word} {limit}"),
                    )
                    .label(format!("{bound} = {limit}"))
                    .help(format!(
                        "give `{name}` a value of at {} {limit}",
                        if below { "least" } else { "most" }
                    ));
                    let reported = self.error(diagnostic);
                    if !is_library {
                        return Err(reported);
                    }
                }
            }
        }
        Ok(())
    }

    /// Modelica takes the start value of a parameter that has no other, and says so.
    fn parameter_start(&mut self, variable: &Variable<'a>) -> Checked<Option<(Value, Span)>> {
        let Some(start) = variable.attribute("start") else {
            return Ok(None);
        };
        if self.element_overrides(&variable.name).next().is_some() {
            return Ok(None);
        }
        let value = self.eval_bound(&start, variable.dims.len())?;
        let span = self.bound_span(&start);
        self.error(
            Diagnostic::warning(
                Code::MissingValue,
                span,
                format!("parameter `{}` takes its start value", variable.name),
            )
            .label("used as the value")
            .help(format!("write `{} = …`", variable.name)),
        );
        Ok(Some((value, span)))
    }

    fn missing_value(&mut self, variable: &Variable<'a>, name: &str) -> Reported {
        let declaration = variable.declaration;
        let help = match variable.owner == self.root {
            true => format!(
                "write `{} = …` here, or run with --set {name}=…",
                declaration.name
            ),
            false => format!("give `{name}` a value where its component is declared"),
        };
        self.error(
            Diagnostic::error(
                Code::MissingValue,
                declaration.name_span,
                format!("parameter `{name}` has no value"),
            )
            .label("declared without a value")
            .help(help),
        )
    }

    pub(super) fn checked_parameter_value(
        &mut self,
        variable: &Variable<'a>,
        name: &str,
        definition: ExprId,
        span: Span,
    ) -> Checked<f64> {
        let (ty, declaration) = (variable.ty(), variable.declaration);
        if self.varies(definition) {
            return Err(self.error(
                Diagnostic::error(
                    Code::NotConstant,
                    span,
                    format!("the value of parameter `{name}` changes during a run"),
                )
                .label("depends on time or on a variable")
                .help("declare a variable instead of a parameter"),
            ));
        }
        let value = self.parameter_value(definition);
        let wrong = if !value.is_finite() {
            "not a finite number"
        } else if ty == Type::Integer && value.fract() != 0.0 {
            "not a whole number"
        } else {
            return Ok(value);
        };
        let causes = self.parameters_in(definition);
        Err(self.error(
            Diagnostic::error(
                Code::BadValue,
                span,
                format!("the value of `{name}` is {wrong}"),
            )
            .label(format!("evaluates to {value}"))
            .related(declaration.name_span, "declared here")
            .help(if ty == Type::Integer && value.is_finite() {
                "declare it Real, or give a whole number".to_string()
            } else if causes.is_empty() {
                format!("give `{name}` a finite value")
            } else {
                format!("change {}, on which it depends", causes.join(", "))
            }),
        ))
    }

    pub(super) fn apply_element_overrides(
        &mut self,
        variable: &Variable<'a>,
        ty: Type,
        dims: &[usize],
        elements: &mut [Option<(ExprId, Span)>],
    ) -> Checked<()> {
        let items: Vec<&Override> = self.element_overrides(&variable.name).collect();
        for item in items {
            let value = self.eval_at_root(item.value)?;
            self.require_type(&value, ty, item.span)?;
            if item.subscripts.len() != dims.len() || !value.dims().is_empty() {
                return Err(self.error(
                    Diagnostic::error(
                        Code::WrongSubscript,
                        item.name_span,
                        format!("`{}` is {}", variable.name, describe_dims(dims)),
                    )
                    .label(format!("{} subscripts given", item.subscripts.len()))
                    .help("set one element with one number"),
                ));
            }
            let mut position = 0;
            for (&subscript, &size) in item.subscripts.iter().zip(dims) {
                if subscript < 1 || subscript > size {
                    return Err(self.out_of_range(
                        subscript as f64,
                        size,
                        &variable.name,
                        item.name_span,
                    ));
                }
                position = position * size + subscript - 1;
            }
            elements[position] = Some((value.elements()[0], item.span));
        }
        Ok(())
    }
}
