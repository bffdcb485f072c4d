//! Declarations: sizes, parameter values, unknowns, and the order in which they become known.

use super::instance::{Instance, Simple, Variable};
use super::scope::{Bound, PartId};
use super::value::{Value, describe_dims};
use super::{Checked, Elaborator, Reported, State};
use crate::ast::{AstId, Causality, Expr, Variability};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Declared, DeclaredKind, Input, Symbol, Type, Unknown};
use crate::source::Span;
use std::collections::HashMap;
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    /// Makes the symbols of all declared names, sizes and parameters first.
    pub(super) fn declare_all(&mut self) {
        self.check_declared_twice();
        let mut order = Vec::new();
        self.instantiate(self.root, &mut order);
        // Components that were added for `outer` ones can have such ones themselves.
        let mut at = 0;
        while let Some((_, made)) = self.missing_inners.get(at) {
            match made.clone() {
                Instance::Variable(entry) => order.push(entry),
                Instance::Nodes { list, .. } => {
                    for &node in list.iter() {
                        self.instantiate(node, &mut order);
                    }
                }
                Instance::Absent | Instance::Busy | Instance::Broken => {}
            }
            at += 1;
        }
        self.order = order;
        self.check_overrides();
        // Unknowns keep the order of the text, whatever order their sizes become known in.
        for entry in self.dependency_order() {
            let variable = self.entries[entry].variable.clone();
            if variable.is_known() && variable.owner == self.root {
                self.declare(entry);
            }
        }
        // Truth values are names for conditions, which need the other variables.
        for conditions in [false, true] {
            self.has_unknowns = conditions;
            for at in 0..self.order.len() {
                let entry = self.order[at];
                let variable = &self.entries[entry].variable;
                let is_number = matches!(variable.simple, Simple::Number(Type::Real));
                let is_needed = !variable.is_known() || self.is_overridden(&variable.name);
                if is_needed && is_number != conditions {
                    self.declare(entry);
                }
            }
        }
        self.check_flat_names();
    }

    fn is_overridden(&self, name: &str) -> bool {
        self.overrides.iter().any(|item| *item.name == *name)
    }

    fn check_declared_twice(&mut self) {
        let class = self.class;
        let mut known: HashMap<&str, Span> = HashMap::new();
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
            let first = *known
                .entry(&declaration.name)
                .or_insert(declaration.name_span);
            if first != declaration.name_span {
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
            }
        }
    }

    pub(super) fn declare(&mut self, entry: usize) {
        if !matches!(self.entries[entry].state, State::Pending) {
            return;
        }
        self.entries[entry].state = State::Busy;
        self.busy.push(entry);
        let variable = self.entries[entry].variable.clone();
        let state = match self.declared_value(entry, &variable) {
            Ok(value) => State::Ready(value),
            Err(Reported) => State::Broken,
        };
        self.busy.pop();
        self.entries[entry].state = state;
    }

    /// The value of an entry: symbols, or what it is defined by.
    pub(super) fn entry_value(&mut self, entry: usize, name: &str, span: Span) -> Checked<Value> {
        self.entries[entry].used = true;
        if matches!(self.entries[entry].state, State::Pending) {
            let variable = &self.entries[entry].variable;
            let is_number = matches!(variable.simple, Simple::Number(Type::Real));
            let is_inside = variable.owner != self.root;
            if variable.is_known() || is_inside || (self.has_unknowns && !is_number) {
                if self.depth >= super::MAX_DEPTH {
                    return Err(self.too_deep(span));
                }
                self.depth += 1;
                self.declare(entry);
                self.depth -= 1;
            }
        }
        match &self.entries[entry].state {
            State::Ready(value) => Ok(value.clone()),
            State::Broken => Err(Reported),
            State::Busy => {
                let start = self.busy.iter().position(|&on| on == entry).unwrap_or(0);
                let cycle = self.busy[start..].to_vec();
                self.report_cycle(&cycle);
                Err(Reported)
            }
            State::Pending => {
                let message = format!("`{name}` is a variable, not known before the run");
                Err(self.error(
                    Diagnostic::error(Code::NotConstant, span, message)
                        .label("needed here for a size or a parameter")
                        .help("use parameters and constants only"),
                ))
            }
        }
    }

    /// The sizes of an entry, which need no value where they are written.
    pub(super) fn entry_dims(
        &mut self,
        entry: usize,
        name: &str,
        span: Span,
    ) -> Checked<Vec<usize>> {
        let variable = self.entries[entry].variable.clone();
        let sized = self
            .sizing
            .iter()
            .find(|(known, _)| *known == variable.name);
        if let Some((_, dims)) = sized {
            return Ok(dims.clone());
        }
        if let Some(written) = self.written_size(&variable) {
            return Ok(written);
        }
        if matches!(self.entries[entry].state, State::Ready(_)) || self.has_open(&variable.dims) {
            return Ok(self.entry_value(entry, name, span)?.dims().to_vec());
        }
        self.scoped_sizes(&variable.dims, None, &variable.name, span)
    }

    /// The size of a vector of open size that its value `{a, b, c}` shows without being evaluated.
    fn written_size(&self, variable: &Variable<'a>) -> Option<Vec<usize>> {
        let Some(Bound::Expr { ast, subs, .. }) = &variable.value else {
            return None;
        };
        let (Expr::Array(items), true) = (self.ast.expr(*ast), subs.is_empty()) else {
            return None;
        };
        let is_open = variable.dims.len() == 1 && self.has_open(&variable.dims);
        is_open.then(|| vec![items.len()])
    }

    fn declared_value(&mut self, entry: usize, variable: &Rc<Variable<'a>>) -> Checked<Value> {
        match &variable.simple {
            Simple::Text => return self.declared_text(variable),
            Simple::Object(handle) => return self.declared_object(entry, variable, handle),
            _ => {}
        }
        match variable.handed.variability {
            Variability::Parameter | Variability::Constant => self.declare_parameter(variable),
            Variability::Discrete | Variability::Continuous => self.declare_variable(variable),
        }
    }

    fn declared_text(&mut self, variable: &Rc<Variable<'a>>) -> Checked<Value> {
        let given = self.whole_override(&variable.name).map(|item| item.value);
        let (value, span) = match (given, &variable.value) {
            (Some(source), _) => (self.eval_at_root(source)?, self.ast.span(source)),
            (None, Some(bound)) => {
                let rank = variable.dims.len();
                (self.eval_bound(bound, rank)?, self.bound_span(bound))
            }
            (None, None) => {
                if variable.dims.is_empty() {
                    return Ok(Value::Text("".into()));
                }
                let span = variable.declaration.name_span;
                let dims = self.scoped_sizes(&variable.dims, None, &variable.name, span)?;
                let count = dims.iter().product();
                return Ok(Value::listed(dims, vec![Value::Text("".into()); count]));
            }
        };
        match value {
            Value::Text(_) | Value::List(_) => Ok(value),
            _ if value.dims().contains(&0) => Ok(Value::listed(value.dims().to_vec(), Vec::new())),
            _ => Err(self.error(
                Diagnostic::error(
                    Code::TypeMismatch,
                    span,
                    format!("`{}` is a text", variable.name),
                )
                .label("not a text")
                .help("write it in quotation marks"),
            )),
        }
    }

    /// What `--set` gives is looked up in the model.
    pub(super) fn eval_at_root(&mut self, ast: AstId) -> Checked<Value> {
        let part = self.node(self.root).root;
        self.in_part(part, |elaborator| elaborator.eval(ast))
    }

    /// Sizes of a declaration whose parts stand in several texts.
    pub(super) fn scoped_sizes(
        &mut self,
        dims: &[(AstId, PartId)],
        value: Option<&[usize]>,
        name: &str,
        span: Span,
    ) -> Checked<Vec<usize>> {
        let mut sizes = Vec::with_capacity(dims.len());
        for (position, &(dim, part)) in dims.iter().enumerate() {
            let given = value.and_then(|value| value.get(position).copied());
            let size = self.in_part(part, |elaborator| {
                elaborator.sizes(&[dim], given.map(|size| vec![size]).as_deref(), name)
            })?;
            sizes.extend(size);
        }
        self.check_elements(
            &sizes,
            name,
            dims.first().map_or(span, |&(dim, _)| self.ast.span(dim)),
        )?;
        Ok(sizes)
    }

    /// Sizes of a declaration; an open size comes from the value.
    pub(super) fn sizes(
        &mut self,
        dims: &[AstId],
        value: Option<&[usize]>,
        name: &str,
    ) -> Checked<Vec<usize>> {
        let mut sizes = Vec::with_capacity(dims.len());
        for (position, &dim) in dims.iter().enumerate() {
            if matches!(self.ast.expr(dim), Expr::Colon) {
                match value.and_then(|value| value.get(position)) {
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
        if let Some(&dim) = dims.first() {
            self.check_elements(&sizes, name, self.ast.span(dim))?;
        }
        Ok(sizes)
    }

    fn check_elements(&mut self, sizes: &[usize], name: &str, span: Span) -> Checked<()> {
        let elements = sizes
            .iter()
            .try_fold(1usize, |product, &size| product.checked_mul(size));
        if elements.is_none_or(|elements| elements > self.limits.elements) {
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
        Ok(())
    }

    /// One size: a whole number, not negative.
    pub(super) fn size(&mut self, dim: AstId, name: &str) -> Checked<usize> {
        let span = self.ast.span(dim);
        if let Some(size) = self.type_size(dim) {
            return Ok(size);
        }
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

    /// The size that a type gives as a subscript: Boolean or an enumeration.
    fn type_size(&mut self, dim: AstId) -> Option<usize> {
        let Expr::Name {
            name, subscripts, ..
        } = self.ast.expr(dim)
        else {
            return None;
        };
        if !subscripts.is_empty() {
            return None;
        }
        if name == "Boolean" {
            return Some(2);
        }
        let first = name.split('.').next()?;
        if self.frame.is_some() && self.local_dims(first).is_some() {
            return None;
        }
        let (_, element) = self.find_path(self.part, name)?;
        self.literals_of(&element).map(<[String]>::len)
    }

    fn declare_variable(&mut self, variable: &Rc<Variable<'a>>) -> Checked<Value> {
        let declaration = variable.declaration;
        let ty = variable.ty();
        // A truth value with a binding is a name for a condition.
        if ty != Type::Real
            && let Some(bound) = &variable.value
            && !self.reads_the_past(bound)
            && !self.reads_streams(bound)
        {
            let value = self.eval_bound(bound, variable.dims.len())?;
            let span = self.bound_span(bound);
            self.require_type(&value, ty, span)?;
            return Ok(value);
        }
        let written = self.written_size(variable);
        let binding = match &variable.value {
            Some(bound) if self.has_open(&variable.dims) && written.is_none() => {
                Some(self.eval_bound(bound, variable.dims.len())?)
            }
            _ => None,
        };
        let open = written.as_deref().or(binding.as_ref().map(Value::dims));
        let span = declaration.name_span;
        let dims = self.scoped_sizes(&variable.dims, open, &variable.name, span)?;
        let count: usize = dims.iter().product();
        self.step(count as u64, span)?;
        if ty != Type::Real || variable.handed.variability == Variability::Discrete {
            return Ok(self.declare_discrete(variable, dims));
        }
        let is_input = variable.handed.causality == Causality::Input
            && variable.owner == self.root
            && self.is_signal(variable);
        let kind = if is_input {
            DeclaredKind::Input
        } else {
            DeclaredKind::Unknown
        };
        let index = self.new_declaration(variable, dims.clone(), kind);
        let mut symbols = Vec::with_capacity(count);
        for position in 0..count {
            let name = element_name(&variable.name, &dims, position);
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
    fn is_signal(&self, variable: &Variable<'a>) -> bool {
        let Some(binding) = variable.declaration.binding else {
            return true;
        };
        let mut names = Vec::new();
        self.names_in(&[binding], &mut names);
        names.iter().all(|name| match self.by_name.get(*name) {
            None => !name.contains('.'),
            Some(&entry) => {
                let other = &self.entries[entry].variable;
                other.is_known()
                    || (other.handed.causality == Causality::Input
                        && other.declaration.binding.is_none())
            }
        })
    }

    pub(super) fn new_declaration(
        &mut self,
        variable: &Variable<'a>,
        dims: Vec<usize>,
        kind: DeclaredKind,
    ) -> usize {
        let handed = &variable.handed;
        let kind = match handed.variability {
            Variability::Constant => DeclaredKind::Constant,
            _ => kind,
        };
        let first = match kind {
            DeclaredKind::Parameter | DeclaredKind::Constant => self.parameters.len(),
            DeclaredKind::Input => self.inputs.len(),
            DeclaredKind::Unknown => self.unknowns.len(),
        };
        self.declarations.push(Declared {
            name: variable.name.to_string(),
            dims,
            kind,
            first,
            ty: variable.ty(),
            comment: variable.declaration.comment.clone(),
            unit: self.written_unit(variable),
            is_output: handed.causality == Causality::Output && variable.owner == self.root,
            is_output_of_component: handed.causality == Causality::Output
                && variable.owner != self.root,
            is_input_of_component: handed.causality == Causality::Input
                && variable.owner != self.root,
            is_protected: handed.is_protected,
            is_final: handed.is_final,
            span: variable.declaration.span,
        });
        let index = self.declarations.len() - 1;
        if let Some(&entry) = self.by_name.get(&*variable.name) {
            self.declared_at.insert(entry, index);
        }
        index
    }

    pub(super) fn size_conflict(
        &mut self,
        name: &str,
        name_span: Span,
        dims: &[usize],
        value: &Value,
        span: Span,
    ) -> Reported {
        self.error(
            Diagnostic::error(
                Code::WrongSize,
                span,
                format!(
                    "`{name}` is {}, its value is {}",
                    describe_dims(dims),
                    describe_dims(value.dims())
                ),
            )
            .label(describe_dims(value.dims()))
            .related(name_span, describe_dims(dims))
            .help(match (dims, value.dims()) {
                ([], _) => "declare the size after the name, or give a scalar".to_string(),
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
        if !self.node(self.root).elements.is_flat {
            return;
        }
        for (name, &entry) in &self.by_name {
            let array = name
                .strip_suffix(']')
                .and_then(|open| open.rsplit_once('['));
            if let Some(&other) = array.and_then(|(array, _)| self.by_name.get(array))
                && matches!(&self.entries[other].state, State::Ready(Value::Array(_)))
            {
                let span = self.entries[other].variable.declaration.name_span;
                clashes.push((entry, span, name.to_string()));
            }
        }
        clashes.sort_by_key(|&(entry, ..)| entry);
        for (entry, other, name) in clashes {
            let span = self.entries[entry].variable.declaration.name_span;
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

    /// The class in whose text a variable stands.
    fn own_text(&self, variable: &Variable<'a>) -> &'a crate::ast::Class {
        self.part(variable.part).class.unwrap_or(self.class)
    }

    /// Warns of parameters and variables that nothing uses.
    pub(super) fn report_unused(&mut self) {
        // A tool that flattens a model leaves what has done its work.
        if self.ast.ast(0).is_base {
            return;
        }
        let unused: Vec<Rc<Variable<'a>>> = self
            .entries
            .iter()
            // A text has no use in equations; it is a remark.
            .filter(|entry| !entry.used && entry.variable.owner == self.root)
            .filter(|entry| matches!(&entry.state, State::Ready(value) if value.ty().is_some()))
            .map(|entry| entry.variable.clone())
            .collect();
        for variable in unused {
            let declaration = variable.declaration;
            let is_parameter = variable.is_known();
            // What was final has done its work when a flat text was made of the model.
            if declaration.prefixes.is_final || !std::ptr::eq(self.own_text(&variable), self.class)
            {
                continue;
            }
            // A variable with a binding is a quantity to look at.
            if !is_parameter && variable.value.is_some() {
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
                    "write it where it should appear, perhaps in an equation that is missing, or remove it".to_string()
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
