//! Declarations: sizes, parameter values, unknowns, and the order in which they become known.

use super::types::ResolvedType;
use super::value::{Value, describe_dims};
use super::{Checked, Elaborator, Entry, Reported, State};
use crate::ast::{AstId, Causality, Declaration, Expr, Variability};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Declared, DeclaredKind, Input, Symbol, Type, Unknown};
use crate::source::Span;

impl<'a> Elaborator<'a> {
    /// Makes the symbols of all declared names, sizes and parameters first.
    pub(super) fn declare_all(&mut self) {
        let class = self.class;
        for declaration in &class.declarations {
            if matches!(declaration.name.as_str(), "time" | "der") {
                self.error(
                    Diagnostic::error(
                        Code::DuplicateName,
                        declaration.name_span,
                        format!("`{}` has a meaning of its own", declaration.name),
                    )
                    .label("declared again here")
                    .help("choose another name"),
                );
            }
            if let Some(&earlier) = self.by_name.get(declaration.name.as_str()) {
                let first = self.entries[earlier].declaration.name_span;
                self.error(
                    Diagnostic::error(
                        Code::DuplicateName,
                        declaration.name_span,
                        format!("`{}` is declared twice", declaration.name),
                    )
                    .label("second declaration")
                    .related(first, "first declaration")
                    .help("rename or remove one of them"),
                );
                continue;
            }
            self.by_name.insert(&declaration.name, self.entries.len());
            self.entries.push(Entry {
                declaration,
                state: State::Pending,
                used: false,
            });
        }
        self.declare_package_constants();
        self.check_overrides();
        // Unknowns keep the order of the text, whatever order their sizes become known in.
        for entry in self.dependency_order() {
            let declaration = self.entries[entry].declaration;
            if matches!(
                declaration.variability,
                Variability::Parameter | Variability::Constant
            ) {
                self.declare(entry);
            }
        }
        // Truth values are names for conditions, which need the other variables.
        for conditions in [false, true] {
            for entry in 0..self.entries.len() {
                let declaration = self.entries[entry].declaration;
                if (declaration.type_name == "Boolean") == conditions {
                    self.declare(entry);
                }
            }
        }
        self.check_flat_names();
    }

    /// Constants of the packages around the model can be used in it.
    fn declare_package_constants(&mut self) {
        for package in self.packages.clone() {
            for declaration in &package.declarations {
                let name = declaration.name.as_str();
                let is_constant = declaration.variability == Variability::Constant;
                if is_constant && !self.by_name.contains_key(name) {
                    self.by_name.insert(name, self.entries.len());
                    let entry = Entry {
                        declaration,
                        state: State::Pending,
                        used: true,
                    };
                    self.entries.push(entry);
                }
            }
        }
    }

    pub(super) fn declare(&mut self, entry: usize) {
        if !matches!(self.entries[entry].state, State::Pending) {
            return;
        }
        let declaration = self.entries[entry].declaration;
        let state = match self.declared_value(declaration) {
            Ok(value) => State::Ready(value),
            Err(Reported) => State::Broken,
        };
        self.entries[entry].state = state;
    }

    pub(super) fn declared_value(&mut self, declaration: &'a Declaration) -> Checked<Value> {
        let resolved = self.resolve_type(declaration)?;
        if resolved.is_text {
            let given = self
                .whole_override(&declaration.name)
                .map(|item| item.value);
            let Some(source) = given.or(declaration.binding) else {
                return Ok(Value::Text("".into()));
            };
            let span = self.ast.span(source);
            return match self.eval(source)? {
                Value::Text(text) => Ok(Value::Text(text)),
                _ => Err(self.error(
                    Diagnostic::error(
                        Code::TypeMismatch,
                        span,
                        format!("`{}` is a text", declaration.name),
                    )
                    .label("not a text")
                    .help("write it in quotation marks"),
                )),
            };
        }
        match declaration.variability {
            Variability::Discrete => Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    declaration.name_span,
                    "`discrete` is not supported",
                )
                .label("daelight reads models that are continuous in time")
                .help("declare a parameter or a Real variable"),
            )),
            Variability::Parameter | Variability::Constant => {
                self.declare_parameter(declaration, &resolved)
            }
            Variability::Continuous => self.declare_variable(declaration, &resolved),
        }
    }

    /// Sizes of a declaration; an open size comes from the value.
    pub(super) fn sizes(
        &mut self,
        dims: &[AstId],
        value: Option<&Value>,
        name: &str,
    ) -> Checked<Vec<usize>> {
        let mut sizes = Vec::with_capacity(dims.len());
        for (position, &dim) in dims.iter().enumerate() {
            if matches!(self.ast.expr(dim), Expr::Colon) {
                match value.and_then(|value| value.dims().get(position)) {
                    Some(&size) => sizes.push(size),
                    None => {
                        let span = self.ast.span(dim);
                        return Err(self.error(
                            Diagnostic::error(
                                Code::WrongSize,
                                span,
                                format!("the size of `{name}` is not known"),
                            )
                            .label("`:` takes the size from a value, and there is none")
                            .help("write the size, or give a value"),
                        ));
                    }
                }
            } else {
                sizes.push(self.size(dim, name)?);
            }
        }
        let elements = sizes
            .iter()
            .try_fold(1usize, |product, &size| product.checked_mul(size));
        if elements.is_none_or(|elements| elements > self.limits.elements) {
            let span = self.ast.span(dims[0]);
            return Err(self.error(
                Diagnostic::error(
                    Code::TooLarge,
                    span,
                    format!("`{name}` has more than {} elements", self.limits.elements),
                )
                .label("this size is too large")
                .help("use a smaller size"),
            ));
        }
        Ok(sizes)
    }

    /// One size: a whole number, not negative.
    pub(super) fn size(&mut self, dim: AstId, name: &str) -> Checked<usize> {
        let span = self.ast.span(dim);
        let value = self.eval_known(dim, "a size")?;
        if value.fract() != 0.0 || value < 0.0 || !value.is_finite() {
            let wrong = if value < 0.0 {
                "negative"
            } else {
                "not a whole number"
            };
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    span,
                    format!("the size of `{name}` is {wrong}: {value}"),
                )
                .label(format!("this is {value}"))
                .help("a size is 0, 1, 2, …"),
            ));
        }
        Ok(value as usize)
    }

    pub(super) fn declare_variable(
        &mut self,
        declaration: &'a Declaration,
        resolved: &ResolvedType<'a>,
    ) -> Checked<Value> {
        match resolved.ty {
            Type::Real => {}
            // A truth value with a binding is a name for a condition.
            Type::Boolean if declaration.binding.is_some() => {
                return match declaration.binding {
                    Some(binding) => {
                        let value = self.eval(binding)?;
                        let span = self.ast.span(binding);
                        self.require_type(&value, Type::Boolean, span)?;
                        Ok(value)
                    }
                    None => Err(Reported),
                };
            }
            ty => {
                return Err(self.error(
                    Diagnostic::error(
                        Code::Unsupported,
                        declaration.name_span,
                        format!("a variable of type {} is not supported", ty.word()),
                    )
                    .label("unknowns are Real")
                    .help(match ty {
                        Type::Boolean => {
                            "write its condition as a binding, as in `Boolean b = x > 0;`"
                        }
                        _ => "make it a parameter, or declare it Real",
                    }),
                ));
            }
        }
        let dims_ast = resolved.dims(declaration);
        let open = dims_ast
            .iter()
            .any(|&dim| matches!(self.ast.expr(dim), Expr::Colon));
        let binding = match declaration.binding {
            Some(binding) if open => Some(self.eval(binding)?),
            _ => None,
        };
        let dims = self.sizes(&dims_ast, binding.as_ref(), &declaration.name)?;
        let count: usize = dims.iter().product();
        self.step(count as u64, declaration.name_span)?;
        let is_input = declaration.causality == Causality::Input && self.is_signal(declaration);
        let kind = if is_input {
            DeclaredKind::Input
        } else {
            DeclaredKind::Unknown
        };
        let index = self.new_declaration(declaration, resolved, dims.clone(), kind);
        let mut symbols = Vec::with_capacity(count);
        for position in 0..count {
            let name = element_name(&declaration.name, &dims, position);
            let symbol = if is_input {
                self.inputs.push(Input {
                    name,
                    definition: None,
                    declaration: index,
                });
                Symbol::Input {
                    input: self.inputs.len() - 1,
                    order: 0,
                }
            } else {
                self.unknowns.push(Unknown::plain(name, index));
                Symbol::Unknown {
                    unknown: self.unknowns.len() - 1,
                    order: 0,
                }
            };
            let id = self.symbols.id(symbol);
            symbols.push(self.graph.symbol(id));
        }
        Ok(Value::shaped(Type::Real, dims, symbols))
    }

    /// An input is a signal unless its binding needs an unknown; then it is an unknown itself.
    pub(super) fn is_signal(&self, declaration: &Declaration) -> bool {
        let Some(binding) = declaration.binding else {
            return true;
        };
        let mut names = Vec::new();
        self.names_in(&[binding], &mut names);
        names.iter().all(|name| match self.by_name.get(name) {
            None => true,
            Some(&entry) => {
                let other = self.entries[entry].declaration;
                matches!(
                    other.variability,
                    Variability::Parameter | Variability::Constant
                ) || (other.causality == Causality::Input && other.binding.is_none())
            }
        })
    }

    pub(super) fn new_declaration(
        &mut self,
        declaration: &Declaration,
        resolved: &ResolvedType<'a>,
        dims: Vec<usize>,
        kind: DeclaredKind,
    ) -> usize {
        let kind = match declaration.variability {
            Variability::Constant => DeclaredKind::Constant,
            _ => kind,
        };
        let first = match kind {
            DeclaredKind::Parameter | DeclaredKind::Constant => self.parameters.len(),
            DeclaredKind::Input => self.inputs.len(),
            DeclaredKind::Unknown => self.unknowns.len(),
        };
        self.declarations.push(Declared {
            name: declaration.name.clone(),
            dims,
            kind,
            first,
            ty: resolved.ty,
            comment: declaration.comment.clone(),
            unit: String::new(),
            is_output: declaration.causality == Causality::Output,
            is_protected: declaration.is_protected,
            is_final: declaration.is_final,
            span: declaration.span,
        });
        let index = self.declarations.len() - 1;
        self.declared_at.insert(declaration.name_span.start, index);
        index
    }

    pub(super) fn size_conflict(
        &mut self,
        declaration: &Declaration,
        dims: &[usize],
        value: &Value,
        span: Span,
    ) -> Reported {
        self.error(
            Diagnostic::error(
                Code::WrongSize,
                span,
                format!(
                    "`{}` is {}, its value is {}",
                    declaration.name,
                    describe_dims(dims),
                    describe_dims(value.dims())
                ),
            )
            .label(describe_dims(value.dims()))
            .related(declaration.name_span, describe_dims(dims))
            .help(match (dims, value.dims()) {
                ([], _) => "declare the size behind the name, or give a scalar".to_string(),
                (_, []) => {
                    let sizes: Vec<String> = dims.iter().map(usize::to_string).collect();
                    format!("write fill(…, {}) for equal elements", sizes.join(", "))
                }
                _ => "give both the same sizes".to_string(),
            }),
        )
    }

    /// Elements such as `a[1]` must not collide with a quoted or dotted name `'a[1]'`.
    pub(super) fn check_flat_names(&mut self) {
        let mut clashes = Vec::new();
        for (&name, &entry) in &self.by_name {
            let array = name
                .strip_suffix(']')
                .and_then(|open| open.rsplit_once('['));
            if let Some(&other) = array.and_then(|(array, _)| self.by_name.get(array))
                && matches!(&self.entries[other].state, State::Ready(Value::Array(_)))
            {
                let span = self.entries[other].declaration.name_span;
                clashes.push((entry, span, name.to_string()));
            }
        }
        clashes.sort_by_key(|&(entry, ..)| entry);
        for (entry, other, name) in clashes {
            let span = self.entries[entry].declaration.name_span;
            self.error(
                Diagnostic::error(
                    Code::DuplicateName,
                    span,
                    format!("`{name}` is also an element of an array"),
                )
                .label("this name")
                .related(other, "the array")
                .help("rename one of them"),
            );
        }
    }

    /// Warns of parameters and variables that nothing uses.
    pub(super) fn report_unused(&mut self) {
        let unused: Vec<&Declaration> = self
            .entries
            .iter()
            // A text has no use in equations; it is a remark.
            .filter(|entry| !entry.used && !matches!(entry.state, State::Ready(Value::Text(_))))
            .filter(|entry| matches!(entry.state, State::Ready(_)))
            .map(|entry| entry.declaration)
            .collect();
        for declaration in unused {
            let is_parameter = matches!(
                declaration.variability,
                Variability::Parameter | Variability::Constant
            );
            // What was final has done its work when a flat text was made of the model.
            if declaration.is_final {
                continue;
            }
            // A variable with a binding is a quantity to look at.
            if !is_parameter && declaration.binding.is_some() {
                continue;
            }
            let what = if is_parameter {
                "parameter"
            } else {
                "variable"
            };
            self.error(
                Diagnostic::warning(
                    Code::UnusedName,
                    declaration.name_span,
                    format!("{what} `{}` is never used", declaration.name),
                )
                .label("declared here")
                .help(if is_parameter {
                    "remove it, or check the spelling where it should appear".to_string()
                } else {
                    format!(
                        "remove it, or write the equation that determines `{}`",
                        declaration.name
                    )
                }),
            );
        }
    }
}

/// `p[2,3]` for the element at a row-major position.
pub(super) fn element_name(name: &str, dims: &[usize], position: usize) -> String {
    if dims.is_empty() {
        return name.to_string();
    }
    let mut subscripts = vec![0; dims.len()];
    let mut rest = position;
    for (subscript, &size) in subscripts.iter_mut().zip(dims).rev() {
        *subscript = rest % size + 1;
        rest /= size;
    }
    let subscripts: Vec<String> = subscripts.iter().map(usize::to_string).collect();
    format!("{name}[{}]", subscripts.join(","))
}
