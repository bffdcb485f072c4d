//! Components: from an element of a class to a variable, or to nodes for the classes it is made of.

use super::scope::{Base, Bound, Element, Env, Handed, Handle, Layer, NodeId, PartId, What};
use super::value::{Record, Value};
use super::{Checked, Elaborator, Entry, Reported, State};
use crate::ast::{AstId, Causality, ClassKind, Declaration, Expr, Flow, PathPart, Variability};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;
use std::rc::Rc;

/// What became of a component.
#[derive(Clone)]
pub(super) enum Instance {
    /// A variable of a simple type, an array included: its entry.
    Variable(usize),
    /// A component of a class; several for an array of components.
    Nodes {
        dims: Rc<[usize]>,
        list: Rc<[NodeId]>,
    },
    /// Its condition does not hold.
    Absent,
    /// Being made.
    Busy,
    /// A mistake in it has been reported.
    Broken,
}

/// The type of a variable.
#[derive(Clone)]
pub(super) enum Simple<'a> {
    Number(Type),
    Enumeration(&'a [String]),
    Text,
    Object(Rc<Handle<'a>>),
}

/// A variable as the text and all modifications have it.
pub(super) struct Variable<'a> {
    /// The name with the components around it.
    pub name: Rc<str>,
    pub declaration: &'a Declaration,
    /// Where the names of its declaration are looked up.
    pub part: PartId,
    pub layers: Vec<Layer<'a>>,
    pub value: Option<Bound>,
    pub simple: Simple<'a>,
    pub dims: Vec<(AstId, PartId)>,
    pub handed: Handed,
    pub owner: NodeId,
}

impl<'a> Variable<'a> {
    pub fn ty(&self) -> Type {
        match self.simple {
            Simple::Number(ty) => ty,
            Simple::Enumeration(_) => Type::Integer,
            Simple::Text | Simple::Object(_) => Type::Real,
        }
    }

    pub fn is_known(&self) -> bool {
        matches!(
            self.handed.variability,
            Variability::Parameter | Variability::Constant
        )
    }

    /// The value of an attribute: the outermost modification counts.
    pub fn attribute(&self, name: &str) -> Option<Bound> {
        attribute(&self.layers, name)
    }
}

pub(super) fn attribute(layers: &[Layer<'_>], name: &str) -> Option<Bound> {
    for layer in layers {
        for item in layer.mods.iter().filter(|item| item.name == name) {
            if let Some(ast) = item.value {
                return Some(Bound::Expr {
                    ast,
                    part: layer.part,
                    subs: match item.is_each {
                        true => Rc::from([]),
                        false => layer.subs.clone(),
                    },
                });
            }
        }
    }
    None
}

/// `p[2,3]` for the element at a row-major position.
pub(super) fn subscripts_at(dims: &[usize], position: usize) -> Vec<usize> {
    let mut subscripts = vec![0; dims.len()];
    let mut rest = position;
    for (subscript, &size) in subscripts.iter_mut().zip(dims).rev() {
        *subscript = rest % size + 1;
        rest /= size;
    }
    subscripts
}

impl<'a> Elaborator<'a> {
    /// The component of a node, made when it is first asked for.
    pub(super) fn instance(&mut self, node: NodeId, name: &'a str) -> Checked<Instance> {
        match self.node(node).components.get(name) {
            Some(Instance::Broken) => return Err(Reported),
            Some(Instance::Busy) => {
                let span = self.node(node).span;
                return Err(self.error(
                    Diagnostic::error(
                        Code::CyclicParameters,
                        span,
                        format!("`{}` contains itself", self.path(node, name)),
                    )
                    .label("the circle begins here")
                    .help("give its sizes and conditions values that do not need it"),
                ));
            }
            Some(known) => return Ok(known.clone()),
            None => {}
        }
        self.node_mut(node).components.insert(name, Instance::Busy);
        let made = self.make_instance(node, name);
        let kept = made.clone().unwrap_or(Instance::Broken);
        self.node_mut(node).components.insert(name, kept);
        made
    }

    /// `a.b.name`.
    pub(super) fn path(&self, node: NodeId, name: &str) -> Rc<str> {
        let around = &self.node(node).path;
        match around.is_empty() {
            true => name.into(),
            false => format!("{around}.{name}").into(),
        }
    }

    fn make_instance(&mut self, node: NodeId, name: &'a str) -> Checked<Instance> {
        let Some(element) = self.element(node, name) else {
            return Err(Reported);
        };
        let What::Component(declaration) = element.what else {
            return Err(Reported);
        };
        if let Some((condition, part)) = own_condition(&element, declaration) {
            let holds = self.in_part(part, |elaborator| {
                elaborator.eval_known(condition, "whether a component exists")
            })?;
            if holds == 0.0 {
                return Ok(Instance::Absent);
            }
        }
        let is_outer = declaration.prefixes.is_outer;
        if is_outer && self.node(node).is_component {
            if let Some(found) = self.inner(node, name)? {
                return Ok(found);
            }
            return self.missing_inner(name, &element, declaration);
        }
        let mut path = self.path(node, name);
        // Constants of packages of the text itself go by their own names.
        if self.is_own_constant(node, declaration) && !self.by_name.contains_key(name) {
            path = name.into();
        }
        if !self.node(node).is_component && self.by_name.contains_key(&path) {
            path = self.free_name(node, path);
        }
        self.make_component(node, path, &element, declaration, self.brought(node, name))
    }

    /// A name for a constant of a package whose own name is that of another one: behind the component whose package it is or,
    /// where that is taken too, with a number.
    fn free_name(&self, node: NodeId, name: Rc<str>) -> Rc<str> {
        let mut around = self.around(node);
        while let Some(at) = around
            && !self.node(at).is_component
        {
            around = self.around(at);
        }
        let component = around.map_or("", |at| &self.node(at).path);
        let base = match component.is_empty() {
            true => name.to_string(),
            false => format!("{component}.{name}"),
        };
        let mut free = base.clone();
        let mut count = 1;
        while self.by_name.contains_key(free.as_str()) {
            count += 1;
            free = format!("{base}{count}");
        }
        free.into()
    }

    /// Whether a declaration is one of a package in the text of the model.
    pub(super) fn is_own_constant(&self, node: NodeId, declaration: &Declaration) -> bool {
        !self.node(node).is_component && declaration.name_span.source == self.class.name_span.source
    }

    /// The nearest enclosing `inner` component of a name.
    fn inner(&mut self, node: NodeId, name: &'a str) -> Checked<Option<Instance>> {
        let mut at = self.node(node).parent;
        while let Some(node) = at {
            if let Some(element) = self.element(node, name)
                && matches!(element.what, What::Component(_))
                && element.has_prefix(|prefixes| prefixes.is_inner)
            {
                return match element.has_prefix(|prefixes| prefixes.is_outer) {
                    true => self.own_inner(node, name).map(Some),
                    false => self.instance(node, name).map(Some),
                };
            }
            at = self.node(node).parent;
        }
        Ok(None)
    }

    /// The component that an `inner outer` one is for the components inside its class; in the text of the class itself the
    /// name stands for that of a class around it.
    pub(super) fn own_inner(&mut self, node: NodeId, name: &'a str) -> Checked<Instance> {
        if let Some(known) = self.own_inners.get(&(node, name)) {
            return Ok(known.clone());
        }
        let Some(element) = self.element(node, name) else {
            return Err(Reported);
        };
        let What::Component(declaration) = element.what else {
            return Err(Reported);
        };
        let path = self.path(node, name);
        let made = self.make_component(node, path, &element, declaration, None)?;
        self.own_inners.insert((node, name), made.clone());
        Ok(made)
    }

    /// Without an `inner`, one is made at the top with the default of its type.
    fn missing_inner(
        &mut self,
        name: &'a str,
        element: &Element<'a>,
        declaration: &'a Declaration,
    ) -> Checked<Instance> {
        if let Some((_, known)) = self.missing_inners.iter().find(|(other, _)| *other == name) {
            return Ok(known.clone());
        }
        let root = self.root;
        self.error(
            Diagnostic::warning(
                Code::MissingInner,
                declaration.name_span,
                format!("there is no `inner {name}`; one with default values is added"),
            )
            .label("`outer` refers to a component of a class around this one")
            .help(format!(
                "declare `inner {} {name};` in the model",
                declaration.type_name
            )),
        );
        let made = self.make_component(root, name.into(), element, declaration, None)?;
        self.missing_inners.push((name, made.clone()));
        Ok(made)
    }

    fn handed(&self, node: NodeId, element: &Element<'a>, declaration: &'a Declaration) -> Handed {
        let outer = self.node(node).handed;
        let own = own_prefixes(element, declaration);
        Handed {
            variability: match (outer.variability, own.variability) {
                (Variability::Constant, _) | (_, Variability::Constant) => Variability::Constant,
                (Variability::Parameter, _) | (_, Variability::Parameter) => Variability::Parameter,
                (Variability::Discrete, _) | (_, Variability::Discrete) => Variability::Discrete,
                _ => Variability::Continuous,
            },
            causality: match own.causality {
                Causality::None => outer.causality,
                own => own,
            },
            flow: match own.flow {
                Flow::Potential => outer.flow,
                own => own,
            },
            is_protected: outer.is_protected || declaration.prefixes.is_protected,
            is_final: outer.is_final || declaration.prefixes.is_final,
        }
    }

    fn make_component(
        &mut self,
        node: NodeId,
        path: Rc<str>,
        element: &Element<'a>,
        declaration: &'a Declaration,
        brought: Option<usize>,
    ) -> Checked<Instance> {
        let part = element.part;
        let span = declaration.type_span;
        let resolved = self.resolve_type(&declaration.type_name, span, part)?;
        let mut handed = self.handed(node, element, declaration);
        let own = own_prefixes(element, declaration);
        if own.causality == Causality::None && resolved.causality != Causality::None {
            handed.causality = resolved.causality;
        }
        if self.is_expandable(node) {
            handed.causality = Causality::None;
        }
        let mut value = self.bound_of(node, element, declaration);
        let mut dims = own_dims(element, declaration);
        dims.extend(resolved.dims);
        // What a connection brings has the type of the partner, not its value.
        if let Some(n_taken) = brought {
            (value, dims) = (None, dims.split_off(n_taken.min(dims.len())));
        }
        let n_outer = element.env.layers.len();
        let mut layers = element.env.layers.clone();
        layers.extend(resolved.layers);
        let simple = match resolved.base {
            Base::Number(ty) => Simple::Number(ty),
            Base::Enumeration(literals) => Simple::Enumeration(literals),
            Base::Text => Simple::Text,
            Base::Object(handle) => Simple::Object(Rc::new(handle)),
            Base::Class(handle) => {
                let env = Env {
                    layers,
                    value,
                    ..Env::default()
                };
                return self.make_nodes(
                    node,
                    path,
                    declaration,
                    &handle,
                    env,
                    n_outer,
                    &dims,
                    handed,
                );
            }
        };
        let entry = self.entries.len();
        self.by_name.insert(path.clone(), entry);
        self.entries.push(Entry {
            variable: Rc::new(Variable {
                name: path,
                declaration,
                part,
                layers,
                value,
                simple,
                dims,
                handed,
                owner: node,
            }),
            state: State::Pending,
            used: false,
        });
        Ok(Instance::Variable(entry))
    }

    /// The value that modifications, the record around it or its declaration give to a component.
    fn bound_of(
        &self,
        node: NodeId,
        element: &Element<'a>,
        declaration: &Declaration,
    ) -> Option<Bound> {
        if let Some(value) = &element.env.value {
            return Some(value.clone());
        }
        if let Some(whole) = &self.node(node).bound {
            let name = declaration.name.as_str().into();
            return Some(Bound::Field(Rc::new(whole.clone()), name));
        }
        declaration.binding.map(|ast| Bound::Expr {
            ast,
            part: element.part,
            subs: Rc::from([]),
        })
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "all that is known of a component of a class"
    )]
    fn make_nodes(
        &mut self,
        node: NodeId,
        path: Rc<str>,
        declaration: &'a Declaration,
        handle: &Handle<'a>,
        env: Env<'a>,
        n_outer: usize,
        dims: &[(AstId, PartId)],
        handed: Handed,
    ) -> Checked<Instance> {
        if handle.class.kind == ClassKind::Function || handle.class.kind == ClassKind::Package {
            return Err(self.error(
                Diagnostic::error(
                    Code::UnknownType,
                    declaration.type_span,
                    format!("`{}` is not a type of a component", declaration.type_name),
                )
                .label("a function or a package")
                .related(handle.class.name_span, "defined here")
                .help("name a model, a record, a connector or a type"),
            ));
        }
        self.refuse_partial(node, &path, handle, declaration)?;
        self.refuse_nesting(node, handle, declaration)?;
        let sizes = match dims.is_empty() {
            true => Vec::new(),
            false => {
                let whole = match (&env.value, self.has_open(dims)) {
                    (Some(bound), true) => Some(self.eval_bound(&bound.clone(), dims.len())?),
                    _ => None,
                };
                let whole_dims = whole.as_ref().map(Value::dims);
                self.scoped_sizes(dims, whole_dims, &path, declaration.name_span)?
            }
        };
        let count: usize = sizes.iter().product();
        let mut list = Vec::with_capacity(count);
        for position in 0..count {
            let subs = subscripts_at(&sizes, position);
            let place: Rc<str> = match subs.is_empty() {
                true => path.clone(),
                false => {
                    let words: Vec<String> = subs.iter().map(usize::to_string).collect();
                    format!("{path}[{}]", words.join(",")).into()
                }
            };
            let layers = match subs.is_empty() {
                true => env.layers.clone(),
                false => deepened(&env.layers, n_outer, &subs),
            };
            let bound = env.value.as_ref().map(|bound| match subs.is_empty() {
                true => bound.clone(),
                false => deepened_bound(bound, &subs),
            });
            let span = declaration.name_span;
            let made = self.new_node(handle, layers, place, Some(node), true, span)?;
            let inside = self.node_mut(made);
            inside.handed = handed;
            inside.bound = bound;
            list.push(made);
        }
        Ok(Instance::Nodes {
            dims: sizes.into(),
            list: list.into(),
        })
    }

    /// A partial model lacks equations that a class in its place brings.
    fn refuse_partial(
        &mut self,
        node: NodeId,
        path: &str,
        handle: &Handle<'a>,
        declaration: &'a Declaration,
    ) -> Checked<()> {
        let class = handle.class;
        if class.kind != ClassKind::Model || !class.prefixes.is_partial {
            return Ok(());
        }
        let package = declaration.type_name.rsplit_once('.');
        let help = match (declaration.prefixes.is_replaceable, package) {
            (true, _) => format!(
                "choose a class where the component around it is declared: `(redeclare … {})`",
                declaration.name
            ),
            // The class of a package that is itself to be chosen.
            (false, Some((package, _))) if class.prefixes.is_replaceable => {
                let around = path
                    .rsplit_once('.')
                    .map_or("the model", |(around, _)| around);
                format!(
                    "`{package}` of `{around}` is a package that is not complete: choose another one where it is declared, as in \
                     `(redeclare package {package} = …)`"
                )
            }
            (false, _) => format!("declare a class that extends `{}` instead", class.name),
        };
        let mut diagnostic = Diagnostic::error(
            Code::PartialClass,
            declaration.span,
            format!("`{path}` is of the partial class `{}`", class.name),
        )
        .label("no complete class was chosen for it");
        if node != self.root {
            let around = self.node(node);
            diagnostic = diagnostic.related(around.span, format!("in `{}`", around.path));
        }
        Err(self.error(
            diagnostic
                .related(class.name_span, "others complete this class")
                .help(help),
        ))
    }

    /// A class that is a component of itself has no end.
    fn refuse_nesting(
        &mut self,
        node: NodeId,
        handle: &Handle<'a>,
        declaration: &'a Declaration,
    ) -> Checked<()> {
        let mut at = Some(node);
        let mut depth = 0;
        while let Some(outer) = at {
            depth += usize::from(
                self.node(outer)
                    .class
                    .is_some_and(|class| std::ptr::eq(class, handle.class)),
            );
            at = self.node(outer).parent;
        }
        if depth < 20 {
            return Ok(());
        }
        // A class with two components of itself would double at every level on the other ways too.
        self.stopped = true;
        Err(self.error(
            Diagnostic::error(
                Code::CyclicExtends,
                declaration.span,
                format!("`{}` is a component of itself", handle.class.name),
            )
            .label("the circle goes through this component")
            .related(handle.class.name_span, "its class")
            .help("leave the component out, or give it another class"),
        ))
    }

    pub(super) fn has_open(&self, dims: &[(AstId, PartId)]) -> bool {
        dims.iter()
            .any(|&(dim, _)| matches!(self.ast.expr(dim), Expr::Colon))
    }

    /// Evaluates with names looked up in another text.
    pub(super) fn in_part<T>(
        &mut self,
        part: PartId,
        body: impl FnOnce(&mut Self) -> Checked<T>,
    ) -> Checked<T> {
        if self.part == part && self.frame.is_none() && self.loops.is_empty() {
            return body(self);
        }
        let outer_part = std::mem::replace(&mut self.part, part);
        let outer_frame = self.frame.take();
        let outer_loops = std::mem::take(&mut self.loops);
        let outer_ends = std::mem::take(&mut self.ends);
        self.indices = None;
        let result = body(self);
        self.part = outer_part;
        self.frame = outer_frame;
        self.loops = outer_loops;
        self.ends = outer_ends;
        self.indices = None;
        result
    }

    /// A value that a modification or declaration gives to something of this rank.
    pub(super) fn eval_bound(&mut self, bound: &Bound, rank: usize) -> Checked<Value> {
        match bound {
            Bound::Expr { ast, part, subs } => {
                let value = match self.known_bounds.get(&(*ast, *part)) {
                    Some(value) => value.clone(),
                    None => {
                        let value = self.in_part(*part, |elaborator| elaborator.eval(*ast))?;
                        if !subs.is_empty() {
                            self.known_bounds.insert((*ast, *part), value.clone());
                        }
                        value
                    }
                };
                // `each` may be missing: a value of the rank of one element is one for all.
                if subs.is_empty() || value.dims().len() < subs.len() + rank.min(1) {
                    if value.dims().len() >= subs.len() && !subs.is_empty() && rank == 0 {
                        return self.element_of(&value, subs, self.ast.span(*ast));
                    }
                    return Ok(value);
                }
                self.element_of(&value, subs, self.ast.span(*ast))
            }
            Bound::Field(whole, name) => {
                let value = self.eval_bound(whole, 0)?;
                let span = self.bound_span(whole);
                let field = self.field(&value, name, span)?;
                let subs = subscripts_of(whole);
                // Subscripts that the whole has no dimensions for belong to its field, and all of them where it has too few.
                let is_plain = value.dims().is_empty() || self.has_too_few_dims(whole);
                let is_own = is_plain && field.dims().len() == rank + subs.len();
                match is_own && !subs.is_empty() {
                    true => self.element_of(&field, subs, span),
                    false => Ok(field),
                }
            }
        }
    }

    /// Whether a value has fewer dimensions than the subscripts that were written outside of it, so that none of them was applied.
    fn has_too_few_dims(&self, bound: &Bound) -> bool {
        match bound {
            Bound::Expr { ast, part, subs } => {
                let value = self.known_bounds.get(&(*ast, *part));
                value.is_some_and(|value| value.dims().len() < subs.len())
            }
            Bound::Field(whole, _) => self.has_too_few_dims(whole),
        }
    }

    pub(super) fn bound_span(&self, bound: &Bound) -> Span {
        match bound {
            Bound::Expr { ast, .. } => self.ast.span(*ast),
            Bound::Field(whole, _) => self.bound_span(whole),
        }
    }

    /// The part of an array behind leading subscripts from 1.
    fn element_of(&mut self, value: &Value, subs: &[usize], span: Span) -> Checked<Value> {
        let dims = value.dims();
        let mut position = 0;
        for (&sub, &size) in subs.iter().zip(dims) {
            if sub > size {
                return Err(self.out_of_range(sub as f64, size, "this value", span));
            }
            position = position * size + sub - 1;
        }
        let rest = dims[subs.len()..].to_vec();
        let count: usize = rest.iter().product();
        let range = position * count..(position + 1) * count;
        Ok(match value {
            Value::List(list) => Value::listed(rest, list.items[range].to_vec()),
            _ => Value::shaped(
                value.ty().unwrap_or(Type::Real),
                rest,
                value.elements()[range].to_vec(),
            ),
        })
    }

    /// A field of a record; of an array of records, an array.
    pub(super) fn field(&mut self, value: &Value, name: &str, span: Span) -> Checked<Value> {
        match value {
            Value::Record(record) => match record.fields.iter().find(|(known, _)| **known == *name)
            {
                Some((_, field)) => Ok(field.clone()),
                None => {
                    let names: Vec<&str> =
                        record.fields.iter().map(|(known, _)| &**known).collect();
                    Err(self.error(
                        Diagnostic::error(
                            Code::UndeclaredName,
                            span,
                            format!("this record has no field `{name}`"),
                        )
                        .label("used here")
                        .help(format!("its fields are {}", names.join(", "))),
                    ))
                }
            },
            Value::List(list) => {
                let mut items = Vec::with_capacity(list.items.len());
                for item in &list.items {
                    items.push((self.field(item, name, span)?, span));
                }
                self.arranged(list.dims.clone(), items, span)
            }
            other => {
                let found = other.describe();
                let help = match name {
                    "dot" | "der" | "d" => "a derivative is written `der(x)`",
                    _ => "use a record, or leave out the field",
                };
                Err(self.error(
                    Diagnostic::error(
                        Code::TypeMismatch,
                        span,
                        format!("{found} has no field `{name}`"),
                    )
                    .label("not a record")
                    .help(help),
                ))
            }
        }
    }

    /// Values in the shape of an array.
    pub(super) fn arranged(
        &mut self,
        dims: Vec<usize>,
        items: Vec<(Value, Span)>,
        span: Span,
    ) -> Checked<Value> {
        let stacked = self.stack(items, span)?;
        let rest = match stacked.dims() {
            [] | [_] => Vec::new(),
            [_, rest @ ..] => rest.to_vec(),
        };
        let mut all = dims;
        all.extend(rest);
        Ok(match stacked {
            Value::List(list) => Value::listed(all, list.items.clone()),
            other => Value::shaped(
                other.ty().unwrap_or(Type::Real),
                all,
                other.elements().to_vec(),
            ),
        })
    }

    /// The value behind a component and the rest of a dotted name.
    pub(super) fn project(
        &mut self,
        instance: &Instance,
        name: &str,
        subscripts: &[AstId],
        rest: &[PathPart],
        span: Span,
    ) -> Checked<Value> {
        match instance {
            Instance::Variable(entry) => {
                let mut value = self.entry_value(*entry, name, span)?;
                if !subscripts.is_empty() {
                    value = self.select(&value, subscripts, name, span)?;
                }
                self.fields(value, rest, span)
            }
            Instance::Nodes { dims, list } => {
                let (dims, chosen) = match subscripts.is_empty() {
                    true => (dims.to_vec(), (0..list.len()).collect()),
                    false => self.chosen(dims, subscripts, name, span)?,
                };
                let mut values = Vec::with_capacity(chosen.len());
                for at in chosen {
                    values.push((self.inside(list[at], rest, span)?, span));
                }
                match (dims.is_empty(), values.pop()) {
                    (true, Some((value, _))) => Ok(value),
                    (_, last) => {
                        values.extend(last);
                        self.arranged(dims, values, span)
                    }
                }
            }
            Instance::Absent => Err(self.error(
                Diagnostic::error(
                    Code::UndeclaredName,
                    span,
                    format!("component `{name}` is switched off"),
                )
                .label("used here, but its condition does not hold")
                .help("use it only in `connect`, or change its condition"),
            )),
            Instance::Busy | Instance::Broken => Err(Reported),
        }
    }

    /// The rest of a dotted name behind a value.
    pub(super) fn fields(&mut self, value: Value, rest: &[PathPart], span: Span) -> Checked<Value> {
        let mut value = value;
        for part in rest {
            value = self.field(&value, &part.name, span)?;
            if !part.subscripts.is_empty() {
                value = self.select(&value, &part.subscripts, &part.name, span)?;
            }
        }
        Ok(value)
    }

    /// The rest of a dotted name inside a component; without a rest, the component as a record.
    pub(super) fn inside(&mut self, node: NodeId, rest: &[PathPart], span: Span) -> Checked<Value> {
        let Some((first, rest)) = rest.split_first() else {
            return self.record_of(node, span);
        };
        let Some(element) = self.element(node, &first.name) else {
            return Err(self.no_member(node, &first.name, span));
        };
        match element.what {
            What::Component(declaration) => {
                let known = self.node(node).elements.map.get_key_value(&*first.name);
                let name = known.map_or(&*declaration.name, |(name, _)| *name);
                let instance = self.instance(node, name)?;
                self.project(&instance, &first.name, &first.subscripts, rest, span)
            }
            What::Class(class) => {
                let (node, element) = self.referred(node, element);
                if let Some(value) = self.literal(&element, rest) {
                    return Ok(value);
                }
                match self.class_node(node, &class.name, &element) {
                    Some(inside) if !rest.is_empty() => self.inside(inside, rest, span),
                    _ => Err(self.no_member(node, &first.name, span)),
                }
            }
        }
    }

    /// A value of an enumeration.
    pub(super) fn literal(&mut self, element: &Element<'a>, rest: &[PathPart]) -> Option<Value> {
        let literals = self.literals_of(element)?;
        let [part] = rest else {
            return None;
        };
        let at = literals.iter().position(|known| *known == part.name)?;
        let number = self.graph.constant(at as f64 + 1.0);
        Some(Value::Scalar(Type::Integer, number))
    }

    /// The literals of an enumeration type.
    pub(super) fn literals_of(&mut self, element: &Element<'a>) -> Option<&'a [String]> {
        let mut handle = super::scope::handle_of(element)?;
        for _ in 0..20 {
            let alias = handle.class.alias.as_ref()?;
            if let Some(literals) = &alias.literals {
                return Some(literals);
            }
            handle = self.find_class(handle.part, &alias.base)?;
        }
        None
    }

    pub(super) fn no_member(&mut self, node: NodeId, name: &str, span: Span) -> Reported {
        let at = self.node(node);
        let class = at.class.map_or("", |class| class.name.as_str());
        let place = match at.path.is_empty() {
            true => String::new(),
            false => format!("`{}` of the class `{class}`", at.path),
        };
        let names: Vec<&str> = at.elements.order.clone();
        let help = match crate::diagnostic::nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let shown: Vec<&str> = names.into_iter().take(8).collect();
                format!("it has {}", shown.join(", "))
            }
        };
        self.error(
            Diagnostic::error(
                Code::UndeclaredName,
                span,
                format!("{place} has no component `{name}`"),
            )
            .label("used here")
            .help(help),
        )
    }

    /// A component as the record of its variables.
    pub(super) fn record_of(&mut self, node: NodeId, span: Span) -> Checked<Value> {
        let elements = self.node(node).elements.clone();
        let mut fields = Vec::with_capacity(elements.order.len());
        for &name in &elements.order {
            let instance = self.instance(node, name)?;
            if matches!(instance, Instance::Absent) {
                continue;
            }
            let value = self.project(&instance, name, &[], &[], span)?;
            fields.push((Rc::from(name), value));
        }
        Ok(Value::Record(Rc::new(Record {
            class: self
                .node(node)
                .class
                .map(|class| class.name.as_str().into()),
            node: Some(node),
            fields,
        })))
    }

    /// All components of a node, in the order of the text; variables are listed.
    pub(super) fn instantiate(&mut self, node: NodeId, order: &mut Vec<usize>) {
        // A bus has the members that something asks for.
        if self.is_expandable(node) {
            return;
        }
        let elements = self.node(node).elements.clone();
        for &name in &elements.order {
            let (is_outer, is_inner) = match elements.map.get(name).map(|element| element.what) {
                Some(What::Component(declaration)) => {
                    let prefixes = &declaration.prefixes;
                    (prefixes.is_outer, prefixes.is_inner)
                }
                _ => (false, false),
            };
            let made = match is_outer && is_inner {
                true => self.own_inner(node, name),
                false => self.instance(node, name),
            };
            let is_outer = is_outer && !is_inner;
            match made {
                Ok(Instance::Variable(entry)) if !is_outer => order.push(entry),
                Ok(Instance::Nodes { list, .. }) if !is_outer => {
                    for &inside in list.iter() {
                        self.instantiate(inside, order);
                    }
                }
                _ => {}
            }
            if self.stopped {
                return;
            }
        }
    }
}

/// A declaration and, behind it, those in whose place it stands, each with where its names are looked up.
fn replaced<'e, 'a>(
    element: &'e Element<'a>,
    declaration: &'a Declaration,
) -> impl Iterator<Item = (&'a Declaration, PartId)> + use<'e, 'a> {
    let behind = std::iter::successors(element.inherited.as_deref(), |element| {
        element.inherited.as_deref()
    });
    let behind = behind.filter_map(|element| match element.what {
        What::Component(replaced) => Some((replaced, element.part)),
        What::Class(_) => None,
    });
    std::iter::once((declaration, element.part)).chain(behind)
}

/// The sizes of a declaration; one that is declared again keeps the sizes of what it replaces where it gives none.
fn own_dims<'a>(element: &Element<'a>, declaration: &'a Declaration) -> Vec<(AstId, PartId)> {
    replaced(element, declaration)
        .find(|(declaration, _)| !declaration.dims.is_empty())
        .map(|(declaration, part)| declaration.dims.iter().map(|&dim| (dim, part)).collect())
        .unwrap_or_default()
}

/// The condition of a declaration: one that is declared again keeps that of what it replaces, since it can give none.
fn own_condition<'a>(
    element: &Element<'a>,
    declaration: &'a Declaration,
) -> Option<(AstId, PartId)> {
    replaced(element, declaration)
        .find_map(|(declaration, part)| declaration.condition.map(|ast| (ast, part)))
}

struct Prefixes {
    variability: Variability,
    causality: Causality,
    flow: Flow,
}

/// The prefixes of a declaration: one that is declared again keeps those of what it replaces where it gives none.
fn own_prefixes<'a>(element: &Element<'a>, declaration: &'a Declaration) -> Prefixes {
    let mut own = Prefixes {
        variability: Variability::Continuous,
        causality: Causality::None,
        flow: Flow::Potential,
    };
    for (declaration, _) in replaced(element, declaration) {
        if own.variability == Variability::Continuous {
            own.variability = declaration.variability;
        }
        if own.causality == Causality::None {
            own.causality = declaration.causality;
        }
        if own.flow == Flow::Potential {
            own.flow = declaration.flow;
        }
    }
    own
}

/// Layers as they reach an element of an array of components.
fn deepened<'a>(layers: &[Layer<'a>], n_outer: usize, subs: &[usize]) -> Vec<Layer<'a>> {
    let deepen = |(at, layer): (usize, &Layer<'a>)| {
        let mut layer = layer.clone();
        if at < n_outer {
            layer.subs = layer.subs.iter().chain(subs).copied().collect();
        }
        layer
    };
    layers.iter().enumerate().map(deepen).collect()
}

fn deepened_bound(bound: &Bound, more: &[usize]) -> Bound {
    match bound {
        Bound::Expr { ast, part, subs } => Bound::Expr {
            ast: *ast,
            part: *part,
            subs: subs.iter().chain(more).copied().collect(),
        },
        Bound::Field(whole, name) => {
            Bound::Field(Rc::new(deepened_bound(whole, more)), name.clone())
        }
    }
}

fn subscripts_of(bound: &Bound) -> &[usize] {
    match bound {
        Bound::Expr { subs, .. } => subs,
        Bound::Field(whole, _) => subscripts_of(whole),
    }
}
