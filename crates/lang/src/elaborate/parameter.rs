//! Parameters and constants: values, bounds, and what `--set` makes of them.

use super::declare::element_name;
use super::types::ResolvedType;
use super::value::{Value, describe_dims};
use super::{Checked, Elaborator, Reported};
use crate::Override;
use crate::ast::{Causality, Declaration, Variability};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::model::{DeclaredKind, Parameter, Symbol, Type};
use crate::source::Span;
use daelight_expr::ExprId;

impl<'a> Elaborator<'a> {
    /// Each `--set` must name a parameter that may be set.
    pub(super) fn check_overrides(&mut self) {
        let class = self.class;
        for item in self.overrides {
            let Some(&entry) = self.by_name.get(item.name.as_str()) else {
                let parameters = class
                    .declarations
                    .iter()
                    .filter(|declaration| declaration.variability == Variability::Parameter)
                    .map(|declaration| declaration.name.as_str());
                let help = match nearest(&item.name, parameters.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        let names: Vec<&str> = parameters.take(8).collect();
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
            let declaration = self.entries[entry].declaration;
            let mut help = "set a parameter of the model instead".to_string();
            let reason = match declaration.variability {
                Variability::Parameter if declaration.is_final => "is final",
                Variability::Parameter => continue,
                Variability::Constant => "is a constant",
                _ if declaration.causality == Causality::Input => {
                    help = format!("change the binding of `{}` in the text", item.name);
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

    pub(super) fn declare_parameter(
        &mut self,
        declaration: &'a Declaration,
        resolved: &ResolvedType<'a>,
    ) -> Checked<Value> {
        let value = match self.whole_override(&declaration.name) {
            Some(item) => Some((self.eval(item.value)?, item.span)),
            None => match declaration.binding {
                Some(binding) => Some((self.eval(binding)?, self.ast.span(binding))),
                None => self.parameter_start(declaration, resolved)?,
            },
        };
        let dims = self.sizes(
            &resolved.dims(declaration),
            value.as_ref().map(|(value, _)| value),
            &declaration.name,
        )?;
        let count: usize = dims.iter().product();
        let elements: Vec<Option<(ExprId, Span)>> = match &value {
            None => vec![None; count],
            Some((value, span)) => {
                self.require_type(value, resolved.ty, *span)?;
                let from_set = self.whole_override(&declaration.name).is_some();
                if value.fits(&dims) {
                    value
                        .elements()
                        .iter()
                        .map(|&element| Some((element, *span)))
                        .collect()
                } else if value.dims().is_empty() && from_set {
                    vec![Some((value.elements()[0], *span)); count]
                } else {
                    return Err(self.size_conflict(declaration, &dims, value, *span));
                }
            }
        };
        let mut elements = elements;
        self.apply_element_overrides(declaration, resolved.ty, &dims, &mut elements)?;
        let index =
            self.new_declaration(declaration, resolved, dims.clone(), DeclaredKind::Parameter);
        let mut symbols = Vec::with_capacity(count);
        for (position, element) in elements.into_iter().enumerate() {
            let name = element_name(&declaration.name, &dims, position);
            let Some((definition, span)) = element else {
                return Err(self.missing_value(declaration, &name));
            };
            let value =
                self.checked_parameter_value(declaration, &name, resolved.ty, definition, span)?;
            let symbol = self.symbols.id(Symbol::Parameter(self.parameters.len()));
            symbols.push(self.graph.symbol(symbol));
            self.parameters.push(Parameter {
                name,
                value,
                definition,
                ty: resolved.ty,
                is_constant: declaration.variability == Variability::Constant,
                min: None,
                max: None,
                is_structural: false,
                declaration: index,
            });
        }
        self.check_bounds(declaration, resolved, index)?;
        Ok(Value::shaped(resolved.ty, dims, symbols))
    }

    /// Values of parameters keep to `min` and `max`.
    pub(super) fn check_bounds(
        &mut self,
        declaration: &'a Declaration,
        resolved: &ResolvedType<'a>,
        index: usize,
    ) -> Checked<()> {
        for (bound, below) in [("min", true), ("max", false)] {
            let Some(ast) = resolved.attribute(declaration, bound) else {
                continue;
            };
            let limits = self.eval(ast)?;
            self.require_type(&limits, Type::Real, self.ast.span(ast))?;
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
                    let diagnostic = Diagnostic::error(
                        Code::BadValue,
                        declaration.name_span,
                        format!("`{name}` = {value} is {word} {limit}"),
                    )
                    .label(format!("{bound} = {limit}"))
                    .help(format!(
                        "give `{name}` a value of at {} {limit}",
                        if below { "least" } else { "most" }
                    ));
                    return Err(self.error(diagnostic));
                }
            }
        }
        Ok(())
    }

    /// Modelica takes the start value of a parameter that has no other, and says so.
    pub(super) fn parameter_start(
        &mut self,
        declaration: &'a Declaration,
        resolved: &ResolvedType<'a>,
    ) -> Checked<Option<(Value, Span)>> {
        if let Some(fixed) = resolved.attribute(declaration, "fixed")
            && self.eval_known(fixed, "the attribute `fixed`")? == 0.0
        {
            let span = self.ast.span(fixed);
            return Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    span,
                    "a parameter computed at the start is not supported",
                )
                .label("`fixed = false` leaves it to the initial equations")
                .help(format!(
                    "declare `Real {0}` with the equation `der({0}) = 0`",
                    declaration.name
                )),
            ));
        }
        let Some(start) = resolved.attribute(declaration, "start") else {
            return Ok(None);
        };
        if self.element_overrides(&declaration.name).next().is_some() {
            return Ok(None);
        }
        let value = self.eval(start)?;
        let span = self.ast.span(start);
        self.error(
            Diagnostic::warning(
                Code::MissingValue,
                span,
                format!("parameter `{}` takes its start value", declaration.name),
            )
            .label("used as the value")
            .help(format!("write `{} = …`", declaration.name)),
        );
        Ok(Some((value, span)))
    }

    pub(super) fn missing_value(&mut self, declaration: &Declaration, name: &str) -> Reported {
        self.error(
            Diagnostic::error(
                Code::MissingValue,
                declaration.name_span,
                format!("parameter `{name}` has no value"),
            )
            .label("declared without a value")
            .help(format!(
                "write `{} = …` here, or run with --set {name}=…",
                declaration.name
            )),
        )
    }

    pub(super) fn checked_parameter_value(
        &mut self,
        declaration: &Declaration,
        name: &str,
        ty: Type,
        definition: ExprId,
        span: Span,
    ) -> Checked<f64> {
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
        declaration: &Declaration,
        ty: Type,
        dims: &[usize],
        elements: &mut [Option<(ExprId, Span)>],
    ) -> Checked<()> {
        let items: Vec<&Override> = self.element_overrides(&declaration.name).collect();
        for item in items {
            let value = self.eval(item.value)?;
            self.require_type(&value, ty, item.span)?;
            if item.subscripts.len() != dims.len() || !value.dims().is_empty() {
                return Err(self.error(
                    Diagnostic::error(
                        Code::WrongSubscript,
                        item.name_span,
                        format!("`{}` is {}", declaration.name, describe_dims(dims)),
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
                        &declaration.name,
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
