//! Declarations: sizes, parameter values, unknowns, and the order in which they become known.

use super::value::{Value, describe_dims};
use super::{Checked, Elaborator, Entry, Reported, State};
use crate::Override;
use crate::ast::{AstId, Causality, Declaration, Expr, Variability};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::model::{Declared, DeclaredKind, Input, Parameter, Symbol, Type, Unknown};
use crate::source::Span;
use daelight_expr::ExprId;

impl<'a> Elaborator<'a> {
    /// Makes the symbols of all declared names, sizes and parameters first.
    pub(super) fn declare_all(&mut self) {
        let class = self.class;
        for (index, declaration) in class.declarations.iter().enumerate() {
            if declaration.name == "time" {
                self.error(
                    Diagnostic::error(
                        Code::DuplicateName,
                        declaration.name_span,
                        "`time` is the independent variable",
                    )
                    .label("declared again here")
                    .help("choose another name"),
                );
            }
            if let Some(&earlier) = self.by_name.get(declaration.name.as_str()) {
                let first = class.declarations[self.entries[earlier].declaration].name_span;
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
                declaration: index,
                state: State::Pending,
                used: false,
            });
        }
        self.check_overrides();
        // Unknowns keep the order of the text, whatever order their sizes become known in.
        for entry in self.dependency_order() {
            let declaration = &class.declarations[self.entries[entry].declaration];
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
                let declaration = &class.declarations[self.entries[entry].declaration];
                if (declaration.type_name == "Boolean") == conditions {
                    self.declare(entry);
                }
            }
        }
        self.check_flat_names();
    }

    /// Each `--set` must name a parameter that may be set.
    fn check_overrides(&mut self) {
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
            let declaration = &class.declarations[self.entries[entry].declaration];
            let mut help = "set a parameter of the model instead".to_string();
            let reason = match declaration.variability {
                Variability::Parameter if declaration.is_final => "is final",
                Variability::Parameter => continue,
                Variability::Constant => "is a constant",
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

    /// Entries in an order in which sizes and parameter values become known; cycles are reported.
    fn dependency_order(&mut self) -> Vec<usize> {
        let n = self.entries.len();
        let needs: Vec<Vec<usize>> = (0..n).map(|entry| self.needs(entry)).collect();
        let mut order = Vec::with_capacity(n);
        // 0 new, 1 on the path, 2 done. The path is explicit: chains can be long.
        let mut mark = vec![0u8; n];
        for root in 0..n {
            if mark[root] != 0 {
                continue;
            }
            let mut path: Vec<(usize, usize)> = vec![(root, 0)];
            mark[root] = 1;
            while let Some(&mut (entry, ref mut next)) = path.last_mut() {
                if let Some(&needed) = needs[entry].get(*next) {
                    *next += 1;
                    match mark[needed] {
                        0 => {
                            mark[needed] = 1;
                            path.push((needed, 0));
                        }
                        1 => {
                            let start = path.iter().position(|&(on, _)| on == needed).unwrap_or(0);
                            let cycle: Vec<usize> =
                                path[start..].iter().map(|&(on, _)| on).collect();
                            self.report_cycle(&cycle);
                        }
                        _ => {}
                    }
                } else {
                    mark[entry] = 2;
                    order.push(entry);
                    path.pop();
                }
            }
        }
        order
    }

    fn report_cycle(&mut self, cycle: &[usize]) {
        let class = self.class;
        if cycle
            .iter()
            .any(|&entry| matches!(self.entries[entry].state, State::Broken))
        {
            return;
        }
        let declarations: Vec<&Declaration> = cycle
            .iter()
            .map(|&entry| &class.declarations[self.entries[entry].declaration])
            .collect();
        let mut names: Vec<&str> = declarations
            .iter()
            .map(|d| d.name.as_str())
            .take(8)
            .collect();
        names.push(declarations[0].name.as_str());
        let message = if cycle.len() == 1 {
            format!("`{}` is defined by itself", names[0])
        } else {
            format!(
                "parameters are defined by each other: {}",
                names.join(" needs ")
            )
        };
        let mut diagnostic =
            Diagnostic::error(Code::CyclicParameters, declarations[0].span, message)
                .label("the circle begins here")
                .help(format!(
                    "give `{}` a value that does not need the others",
                    names[0]
                ));
        for declaration in declarations.iter().skip(1).take(4) {
            diagnostic = diagnostic.related(declaration.span, "and goes through this");
        }
        self.error(diagnostic);
        for &entry in cycle {
            self.entries[entry].state = State::Broken;
        }
    }

    /// The entries whose sizes or values an entry's own size (and value, if a parameter) needs.
    fn needs(&self, entry: usize) -> Vec<usize> {
        let declaration = &self.class.declarations[self.entries[entry].declaration];
        let mut roots = declaration.dims.clone();
        let is_parameter = matches!(
            declaration.variability,
            Variability::Parameter | Variability::Constant
        );
        let open = declaration
            .dims
            .iter()
            .any(|&dim| matches!(self.ast.expr(dim), Expr::Colon));
        if is_parameter || open {
            match self.whole_override(&declaration.name) {
                Some(item) => roots.push(item.value),
                None => roots.extend(declaration.binding),
            }
            roots.extend(
                self.element_overrides(&declaration.name)
                    .map(|item| item.value),
            );
            roots.extend(
                declaration
                    .modifications
                    .iter()
                    .filter(|m| matches!(m.name.as_str(), "start" | "min" | "max"))
                    .filter_map(|m| m.value),
            );
        }
        let mut names = Vec::new();
        self.names_in(&roots, &mut names);
        let mut needs: Vec<usize> = names
            .iter()
            .filter_map(|name| self.by_name.get(name).copied())
            .collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    fn names_in(&self, roots: &[AstId], names: &mut Vec<&'a str>) {
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            match self.ast.expr(id) {
                Expr::Number(_) | Expr::Boolean(_) | Expr::Text(_) | Expr::Colon | Expr::End => {}
                Expr::Name { name, subscripts } => {
                    names.push(name);
                    stack.extend(subscripts);
                }
                Expr::Sign { operand, .. } | Expr::Not(operand) => stack.push(*operand),
                Expr::Chain { first, rest } => {
                    stack.push(*first);
                    stack.extend(rest.iter().map(|link| link.operand));
                }
                Expr::Power { base, exponent, .. } => stack.extend([base, exponent]),
                Expr::Relation { left, right, .. } => stack.extend([left, right]),
                Expr::And(items) | Expr::Or(items) | Expr::Array(items) => stack.extend(items),
                Expr::If {
                    branches,
                    otherwise,
                } => {
                    stack.extend(
                        branches
                            .iter()
                            .flat_map(|&(condition, value)| [condition, value]),
                    );
                    stack.push(*otherwise);
                }
                Expr::Call {
                    positional, named, ..
                } => {
                    stack.extend(positional);
                    stack.extend(named.iter().map(|&(_, _, value)| value));
                }
                Expr::Comprehension {
                    body, iterators, ..
                } => {
                    stack.push(*body);
                    stack.extend(iterators.iter().filter_map(|iterator| iterator.range));
                }
                Expr::Matrix(rows) => stack.extend(rows.iter().flatten()),
                Expr::Range { start, step, stop } => {
                    stack.extend([start, stop]);
                    stack.extend(step);
                }
            }
        }
    }

    fn whole_override(&self, name: &str) -> Option<&'a Override> {
        let overrides = self.overrides;
        overrides
            .iter()
            .rev()
            .find(|item| item.name == name && item.subscripts.is_empty())
    }

    fn element_overrides(&self, name: &str) -> impl Iterator<Item = &'a Override> + use<'a, '_> {
        let (overrides, name) = (self.overrides, name.to_string());
        overrides
            .iter()
            .filter(move |item| item.name == name && !item.subscripts.is_empty())
    }

    fn declare(&mut self, entry: usize) {
        if !matches!(self.entries[entry].state, State::Pending) {
            return;
        }
        let declaration = &self.class.declarations[self.entries[entry].declaration];
        let state = match self.declared_value(declaration) {
            Ok(value) => State::Ready(value),
            Err(Reported) => State::Broken,
        };
        self.entries[entry].state = state;
    }

    fn declared_value(&mut self, declaration: &'a Declaration) -> Checked<Value> {
        let resolved = self.resolve_type(declaration)?;
        if resolved.is_text {
            let text = match declaration
                .binding
                .map(|binding| self.eval(binding))
                .transpose()?
            {
                Some(Value::Text(text)) => text,
                _ => "".into(),
            };
            return Ok(Value::Text(text));
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
    fn sizes(&mut self, dims: &[AstId], value: Option<&Value>, name: &str) -> Checked<Vec<usize>> {
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
    fn size(&mut self, dim: AstId, name: &str) -> Checked<usize> {
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

    fn declare_parameter(
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
                if value.dims() == dims {
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
    fn check_bounds(
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
    fn parameter_start(
        &mut self,
        declaration: &'a Declaration,
        resolved: &ResolvedType<'a>,
    ) -> Checked<Option<(Value, Span)>> {
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

    fn missing_value(&mut self, declaration: &Declaration, name: &str) -> Reported {
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

    fn checked_parameter_value(
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

    fn apply_element_overrides(
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

    fn declare_variable(
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
                        format!("an {} variable is not supported", ty.word()),
                    )
                    .label("unknowns are Real")
                    .help("make it a parameter, or declare it Real"),
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
                self.unknowns.push(Unknown {
                    name,
                    start: None,
                    fixed: false,
                    nominal: None,
                    min: None,
                    max: None,
                    declaration: index,
                    velocity_of: None,
                });
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
    fn is_signal(&self, declaration: &Declaration) -> bool {
        let Some(binding) = declaration.binding else {
            return true;
        };
        let mut names = Vec::new();
        self.names_in(&[binding], &mut names);
        names.iter().all(|name| match self.by_name.get(name) {
            None => true,
            Some(&entry) => {
                let other = &self.class.declarations[self.entries[entry].declaration];
                matches!(
                    other.variability,
                    Variability::Parameter | Variability::Constant
                ) || (other.causality == Causality::Input && other.binding.is_none())
            }
        })
    }

    fn new_declaration(
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

    /// `Real` and the like, through aliases.
    fn resolve_type(&mut self, declaration: &'a Declaration) -> Checked<ResolvedType<'a>> {
        let mut resolved = ResolvedType {
            ty: Type::Real,
            is_text: false,
            dims: Vec::new(),
            attributes: Vec::new(),
        };
        let mut name: &'a str = &declaration.type_name;
        let mut span = declaration.type_span;
        for _ in 0..64 {
            match name {
                "Real" => return Ok(resolved),
                "Integer" => {
                    resolved.ty = Type::Integer;
                    return Ok(resolved);
                }
                "Boolean" => {
                    resolved.ty = Type::Boolean;
                    return Ok(resolved);
                }
                "String" => {
                    resolved.is_text = true;
                    return Ok(resolved);
                }
                _ => {}
            }
            let Some(alias) = self.types.get(name).copied() else {
                // Units of the Modelica Standard Library are names for Real.
                let path = match name.split_once('.') {
                    Some((head, rest)) => match self.imports.get(head) {
                        Some(path) => format!("{path}.{rest}"),
                        None => name.to_string(),
                    },
                    None => self.imports.get(name).map_or(name, |path| path).to_string(),
                };
                if ["Modelica.SIunits.", "Modelica.Units.SI.", "SI."]
                    .iter()
                    .any(|prefix| path.starts_with(prefix))
                {
                    return Ok(resolved);
                }
                return Err(self.unknown_type(name, span));
            };
            resolved.dims.extend(alias.dims.iter().copied());
            resolved.attributes.extend(alias.modifications.iter());
            name = &alias.base;
            span = alias.base_span;
        }
        Err(self.unknown_type(name, span))
    }

    fn unknown_type(&mut self, name: &str, span: Span) -> Reported {
        if self.ast.unread.contains(name) {
            return Reported;
        }
        let known = ["Real", "Integer", "Boolean", "String"];
        let help = match nearest(name, known.into_iter().chain(self.types.keys().copied())) {
            Some(near) => format!("did you mean `{near}`?"),
            None if name.contains('.') => "flatten the model with a Modelica tool first".into(),
            None => format!("declare it as Real, or write `type {name} = Real;`"),
        };
        self.error(
            Diagnostic::error(
                Code::UnknownType,
                span,
                format!("`{name}` is not a known type"),
            )
            .label("not Real, Integer, Boolean or a type of this text")
            .help(help),
        )
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
    fn check_flat_names(&mut self) {
        let mut clashes = Vec::new();
        for (&name, &entry) in &self.by_name {
            let array = name
                .strip_suffix(']')
                .and_then(|open| open.rsplit_once('['));
            if let Some(&other) = array.and_then(|(array, _)| self.by_name.get(array))
                && matches!(&self.entries[other].state, State::Ready(Value::Array(_)))
            {
                let span = self.class.declarations[self.entries[other].declaration].name_span;
                clashes.push((entry, span, name.to_string()));
            }
        }
        clashes.sort_by_key(|&(entry, ..)| entry);
        for (entry, other, name) in clashes {
            let span = self.class.declarations[self.entries[entry].declaration].name_span;
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
        let class = self.class;
        let unused: Vec<usize> = self
            .entries
            .iter()
            // A text has no use in equations; it is a remark.
            .filter(|entry| !entry.used && !matches!(entry.state, State::Ready(Value::Text(_))))
            .filter(|entry| matches!(entry.state, State::Ready(_)))
            .map(|entry| entry.declaration)
            .collect();
        for index in unused {
            let declaration = &class.declarations[index];
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

/// What a type name stands for, with the sizes and attributes that aliases add.
pub(super) struct ResolvedType<'a> {
    pub ty: Type,
    pub is_text: bool,
    dims: Vec<AstId>,
    pub attributes: Vec<&'a crate::ast::Modification>,
}

impl ResolvedType<'_> {
    /// The sizes of a declaration: its own, then those of its type.
    fn dims(&self, declaration: &Declaration) -> Vec<AstId> {
        declaration.dims.iter().chain(&self.dims).copied().collect()
    }

    /// The value of an attribute: the declaration's own, or that of the nearest alias.
    fn attribute(&self, declaration: &Declaration, name: &str) -> Option<AstId> {
        declaration
            .modifications
            .iter()
            .chain(self.attributes.iter().copied())
            .find(|modification| modification.name == name)
            .and_then(|modification| modification.value)
    }
}

impl<'a> Elaborator<'a> {
    /// The type of a declaration that was accepted before.
    pub(super) fn accepted_type(
        &mut self,
        declaration: &'a Declaration,
    ) -> Checked<ResolvedType<'a>> {
        self.resolve_type(declaration)
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
