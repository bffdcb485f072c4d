//! User functions: inlined where they are called, statement by statement.

use super::scope::{Base, Element, NodeId, PartId, What};
use super::value::{Closure, Record, Value, describe_dims};
use super::{Checked, Elaborator, Reported};
use crate::ast::{
    AstId, Causality, ClassKind, Declaration, Expr, External, PathPart, Statement, StatementKind,
    Variability,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::ExprId;
use std::collections::HashMap;
use std::rc::Rc;

/// Locals of a function call.
#[derive(Clone, Default)]
pub(super) struct Frame {
    locals: HashMap<String, Local>,
}

#[derive(Clone)]
enum Local {
    Numbers(Numbers),
    /// Fields, each a local of its own.
    Record(Rc<Record>, Vec<(Rc<str>, Local)>),
    /// Texts, functions, arrays of records; `None` until it is assigned.
    Other {
        value: Option<Value>,
        is_input: bool,
    },
}

#[derive(Clone)]
struct Numbers {
    /// `None` until it is assigned; elements of an array likewise.
    elements: Vec<Option<ExprId>>,
    dims: Vec<usize>,
    ty: Type,
    is_input: bool,
}

impl Local {
    fn of(value: &Value, ty: Option<Type>, is_input: bool) -> Self {
        match value {
            Value::Scalar(..) | Value::Array(_) => Local::Numbers(Numbers {
                elements: value
                    .elements()
                    .iter()
                    .map(|&element| Some(element))
                    .collect(),
                dims: value.dims().to_vec(),
                ty: ty.or(value.ty()).unwrap_or(Type::Real),
                is_input,
            }),
            Value::Record(record) => {
                let field = |(name, value): &(Rc<str>, Value)| {
                    (name.clone(), Local::of(value, None, is_input))
                };
                Local::Record(record.clone(), record.fields.iter().map(field).collect())
            }
            other => Local::Other {
                value: Some(other.clone()),
                is_input,
            },
        }
    }

    /// The value, if all of it is assigned.
    fn value(&self) -> Option<Value> {
        match self {
            Local::Numbers(numbers) => {
                let data: Option<Vec<ExprId>> = numbers.elements.iter().copied().collect();
                Some(Value::shaped(numbers.ty, numbers.dims.clone(), data?))
            }
            Local::Record(record, fields) => {
                let mut values = Vec::with_capacity(fields.len());
                for (name, local) in fields {
                    values.push((name.clone(), local.value()?));
                }
                Some(Value::Record(Rc::new(Record {
                    class: record.class.clone(),
                    node: record.node,
                    fields: values,
                })))
            }
            Local::Other { value, .. } => value.clone(),
        }
    }

    fn is_input(&self) -> bool {
        match self {
            Local::Numbers(Numbers { is_input, .. }) | Local::Other { is_input, .. } => *is_input,
            Local::Record(_, fields) => fields.iter().any(|(_, local)| local.is_input()),
        }
    }

    fn dims(&self) -> Vec<usize> {
        match self {
            Local::Numbers(numbers) => numbers.dims.clone(),
            Local::Other {
                value: Some(value), ..
            } => value.dims().to_vec(),
            _ => Vec::new(),
        }
    }
}

/// A function with its inputs and outputs, through all its bases.
pub(super) struct Function<'a> {
    pub name: &'a str,
    pub name_span: Span,
    node: NodeId,
    slots: Vec<Slot<'a>>,
    /// Places of the slots that are no inputs, in the order in which they get their sizes and defaults.
    order: Vec<usize>,
    bodies: Vec<(PartId, &'a [Statement])>,
    external: Option<(PartId, &'a External)>,
    is_partial: bool,
}

struct Slot<'a> {
    declaration: &'a Declaration,
    element: Element<'a>,
}

impl<'a> Slot<'a> {
    /// Whether its default is given from outside, where the other inputs are not known.
    fn is_given(&self) -> bool {
        self.element.env.value.is_some()
    }

    /// Where its default stands.
    fn default(&self) -> Option<(AstId, PartId)> {
        match &self.element.env.value {
            Some(super::scope::Bound::Expr { ast, part, .. }) => Some((*ast, *part)),
            _ => self
                .declaration
                .binding
                .map(|binding| (binding, self.element.part)),
        }
    }
}

impl<'a> Function<'a> {
    /// Whether it can be called with so many arguments by position.
    pub fn accepts(&self, n: usize) -> bool {
        let needed = self
            .of(Causality::Input)
            .filter(|input| input.default().is_none())
            .count();
        (needed..=self.of(Causality::Input).count()).contains(&n)
    }

    pub fn n_inputs(&self) -> usize {
        self.of(Causality::Input).count()
    }

    pub fn has_body(&self) -> bool {
        !self.is_partial
    }

    pub fn n_outputs(&self) -> usize {
        self.of(Causality::Output).count()
    }

    fn of(&self, causality: Causality) -> impl Iterator<Item = &Slot<'a>> {
        self.slots
            .iter()
            .filter(move |slot| slot.declaration.causality == causality)
    }
}

/// What the type of a local comes down to, its sizes, and the modifications that reach it.
type SlotType<'a> = (Base<'a>, Vec<(AstId, PartId)>, Vec<super::scope::Layer<'a>>);

/// How a list of statements ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Through,
    Break,
    /// Left the loop where a condition holds that is known during a run only.
    Perhaps(ExprId),
    Return,
}

impl<'a> Elaborator<'a> {
    /// The function that a name stands for, if it is one.
    pub(super) fn function(&mut self, name: &'a str) -> Option<NodeId> {
        let key = (self.part, name);
        if let Some(&known) = self.functions.get(&key) {
            return known;
        }
        let found = self.find_function(name);
        self.functions.insert(key, found);
        found
    }

    fn find_function(&mut self, name: &'a str) -> Option<NodeId> {
        let (node, element) = self.find_path(self.part, name)?;
        let What::Class(class) = element.what else {
            return None;
        };
        let handle = super::scope::handle_of(&element)?;
        let made = match self.class_node(node, &class.name, &element) {
            Some(made) => made,
            None => self.node_of(&handle, class.name.as_str().into())?,
        };
        let kind = self.node(made).class?.kind;
        matches!(kind, ClassKind::Function).then_some(made)
    }

    /// Inputs, outputs and body of a function.
    pub(super) fn signature(&mut self, node: NodeId) -> Rc<Function<'a>> {
        if let Some(known) = self.signatures.get(&node) {
            return known.clone();
        }
        let at = self.node(node);
        let elements = at.elements.clone();
        let mut slots = Vec::new();
        for name in &elements.order {
            if let Some(element) = elements.map.get(name)
                && let What::Component(declaration) = element.what
            {
                slots.push(Slot {
                    declaration,
                    element: element.clone(),
                });
            }
        }
        let mut bodies = Vec::new();
        let mut external = None;
        for &part in &at.parts {
            if let Some(class) = self.part(part).class {
                if !class.statements.is_empty() {
                    bodies.push((part, class.statements.as_slice()));
                }
                external = class.external.as_ref().map(|it| (part, it)).or(external);
            }
        }
        // A constructor can fill its output in the declaration alone.
        let is_filled = slots.iter().any(|slot: &Slot<'a>| {
            slot.declaration.causality == Causality::Output
                && (!slot.declaration.modifications.is_empty()
                    || slot.declaration.binding.is_some())
        });
        let class = at.class;
        let function = Rc::new(Function {
            name: class.map_or("", |class| class.name.as_str()),
            name_span: class.map_or(Span::default(), |class| class.name_span),
            node,
            order: self.locals_in_order(&slots),
            slots,
            is_partial: bodies.is_empty() && external.is_none() && !is_filled,
            bodies,
            external,
        });
        self.signatures.insert(node, function.clone());
        function
    }

    /// The value of a call: its first output.
    pub(super) fn inline(
        &mut self,
        node: NodeId,
        name_span: Span,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Value> {
        let function = self.signature(node);
        let arguments =
            self.bind_arguments(&function, name_span, positional, named, Vec::new(), span)?;
        if let Some(dims) = self.spread(&function, &arguments) {
            return self.call_each(&function, &arguments, dims, name_span, span);
        }
        let outputs = self.call(&function, arguments, name_span, span)?;
        match outputs.into_iter().next() {
            Some(value) => Ok(value),
            None => Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    function.name_span,
                    format!("function `{}` has no output", function.name),
                )
                .label("its value is used")
                .help("declare an output"),
            )),
        }
    }

    /// The sizes over which a function is applied element by element: those that an argument has beyond its input.
    fn spread(
        &mut self,
        function: &Function<'a>,
        arguments: &[Option<Value>],
    ) -> Option<Vec<usize>> {
        for (slot, value) in function.of(Causality::Input).zip(arguments) {
            let Some(value) = value.as_ref().filter(|value| !value.dims().is_empty()) else {
                continue;
            };
            if let Ok((_, dims, _)) = self.slot_type(slot)
                && let Some(beyond) = value.dims().len().checked_sub(dims.len())
                && beyond > 0
            {
                return Some(value.dims()[..beyond].to_vec());
            }
        }
        None
    }

    fn call_each(
        &mut self,
        function: &Rc<Function<'a>>,
        arguments: &[Option<Value>],
        dims: Vec<usize>,
        name_span: Span,
        span: Span,
    ) -> Checked<Value> {
        let mut is_spread = Vec::with_capacity(arguments.len());
        for (slot, value) in function.of(Causality::Input).zip(arguments) {
            is_spread.push(match value {
                Some(value) if value.dims().starts_with(&dims) => {
                    value.dims().len() == dims.len() + self.slot_type(slot)?.1.len()
                }
                _ => false,
            });
        }
        let count: usize = dims.iter().product();
        let mut values = Vec::with_capacity(count);
        for position in 0..count {
            let pick = |(value, is_spread): (&Option<Value>, &bool)| match value {
                Some(value) if *is_spread => Some(value.part(dims.len(), position)),
                other => other.clone(),
            };
            let picked = arguments.iter().zip(&is_spread).map(pick).collect();
            let outputs = self.call(function, picked, name_span, span)?;
            values.push((outputs.into_iter().next().ok_or(Reported)?, span));
        }
        if values.is_empty() {
            return Ok(Value::shaped(Type::Real, dims, Vec::new()));
        }
        self.arranged(dims, values, span)
    }

    /// All outputs of a call.
    pub(super) fn results(&mut self, call: AstId) -> Checked<Option<Vec<Value>>> {
        let span = self.ast.span(call);
        let Expr::Call {
            name,
            name_span,
            positional,
            named,
        } = self.ast.expr(call)
        else {
            return Ok(None);
        };
        let Some(node) = self.function(name) else {
            return Ok(None);
        };
        let function = self.signature(node);
        let arguments =
            self.bind_arguments(&function, *name_span, positional, named, Vec::new(), span)?;
        self.call(&function, arguments, *name_span, span).map(Some)
    }

    /// The values of the inputs of a call.
    pub(super) fn arguments_of(
        &mut self,
        function: &Function<'a>,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Vec<Option<Value>>> {
        self.bind_arguments(function, span, positional, named, Vec::new(), span)
    }

    /// Calls a function that was given as an argument.
    pub(super) fn call_closure(
        &mut self,
        closure: &Closure,
        name_span: Span,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Value> {
        let function = self.signature(closure.function);
        let bound = closure.bound.clone();
        let arguments =
            self.bind_arguments(&function, name_span, positional, named, bound, span)?;
        let outputs = self.call(&function, arguments, name_span, span)?;
        outputs.into_iter().next().ok_or(Reported)
    }

    /// Calls a function with the values of its first inputs.
    pub(super) fn call_with(
        &mut self,
        node: NodeId,
        values: Vec<Value>,
        span: Span,
    ) -> Checked<Value> {
        let function = self.signature(node);
        let mut arguments: Vec<Option<Value>> = values.into_iter().map(Some).collect();
        arguments.resize(function.of(Causality::Input).count(), None);
        let outputs = self.call(&function, arguments, span, span)?;
        outputs.into_iter().next().ok_or(Reported)
    }

    fn call(
        &mut self,
        function: &Rc<Function<'a>>,
        arguments: Vec<Option<Value>>,
        name_span: Span,
        span: Span,
    ) -> Checked<Vec<Value>> {
        if self.calls.contains(&function.node) {
            return Err(self.error(
                Diagnostic::error(
                    Code::RecursiveFunction,
                    name_span,
                    format!("function `{}` calls itself", function.name),
                )
                .label("the call that closes the circle")
                .related(function.name_span, "defined here")
                .help("write the recursion as a `for` over a range of known length"),
            ));
        }
        // The body sees its own names only.
        let outer_frame = self.frame.replace(Frame::default());
        let outer_loops = std::mem::take(&mut self.loops);
        self.indices = None;
        let outer_ends = std::mem::take(&mut self.ends);
        let outer_part = self.part;
        self.calls.push(function.node);
        let result = self.run(function, arguments, span);
        self.calls.pop();
        self.part = outer_part;
        self.ends = outer_ends;
        self.loops = outer_loops;
        self.indices = None;
        self.frame = outer_frame;
        result
    }

    /// The value of each input, in order; `None` where its default is to be used.
    fn bind_arguments(
        &mut self,
        function: &Function<'a>,
        name_span: Span,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        bound: Vec<(Rc<str>, Value)>,
        span: Span,
    ) -> Checked<Vec<Option<Value>>> {
        let inputs: Vec<&Slot<'a>> = function.of(Causality::Input).collect();
        let names: Vec<&str> = inputs
            .iter()
            .map(|input| input.declaration.name.as_str())
            .collect();
        let is_bound = |name: &str| bound.iter().any(|(other, _)| **other == *name);
        let needed = inputs
            .iter()
            .filter(|input| input.default().is_none() && !is_bound(&input.declaration.name))
            .count();
        let given = positional.len() + named.len();
        if given > inputs.len() || given < needed {
            let help = format!("call it as {}({})", function.name, names.join(", "));
            self.require_arity(function.name, needed, inputs.len(), given, span)
                .inspect_err(|_| {
                    if let Some(last) = self.diagnostics.last_mut() {
                        last.help = Some(help);
                    }
                })?;
        }
        let mut values: Vec<Option<Value>> = names
            .iter()
            .map(|name| {
                let found = bound.iter().find(|(other, _)| **other == **name);
                found.map(|(_, value)| value.clone())
            })
            .collect();
        let free: Vec<usize> = (0..names.len())
            .filter(|&at| values[at].is_none())
            .collect();
        for (&slot, &argument) in free.iter().zip(positional) {
            values[slot] = Some(self.eval(argument)?);
        }
        for (name, at, argument) in named {
            let Some(position) = names.iter().position(|input| input == name) else {
                return Err(self.error(
                    Diagnostic::error(
                        Code::WrongArity,
                        *at,
                        format!("`{}` has no input `{name}`", function.name),
                    )
                    .label("named here")
                    .help(format!("its inputs are {}", names.join(", "))),
                ));
            };
            if values[position].is_some() && !is_bound(name) {
                return Err(self.error(
                    Diagnostic::error(
                        Code::WrongArity,
                        *at,
                        format!("`{}` is given `{name}` twice", function.name),
                    )
                    .label("the second time")
                    .help(format!("give `{name}` once")),
                ));
            }
            values[position] = Some(self.eval(*argument)?);
        }
        for (input, value) in inputs.iter().zip(&values) {
            if value.is_none() && input.default().is_none() {
                return Err(self.error(
                    Diagnostic::error(
                        Code::WrongArity,
                        name_span,
                        format!(
                            "`{}` is called without its input `{}`",
                            function.name, input.declaration.name
                        ),
                    )
                    .label("called here")
                    .related(input.declaration.name_span, "this input has no default")
                    .help(format!("give `{}` a value", input.declaration.name)),
                ));
            }
        }
        Ok(values)
    }

    /// Outputs and protected locals by their places, each behind those that its size and its default need.
    fn locals_in_order(&self, slots: &[Slot<'a>]) -> Vec<usize> {
        let needs = slots.iter().map(|slot| {
            let mut roots = slot.declaration.dims.clone();
            roots.extend(slot.default().map(|(default, _)| default));
            let mut names = Vec::new();
            self.names_and_calls_in(&roots, &mut names, &mut Vec::new());
            names
        });
        let needs: Vec<Vec<&str>> = needs.collect();
        let mut open: Vec<usize> = (0..slots.len()).collect();
        open.retain(|&at| slots[at].declaration.causality != Causality::Input);
        let mut order = Vec::with_capacity(open.len());
        while !open.is_empty() {
            let is_ready = |&at: &usize| {
                let name = |other: usize| slots[other].declaration.name.as_str();
                let waits = |&other: &usize| other != at && needs[at].contains(&name(other));
                !open.iter().any(waits)
            };
            // Those that need each other are told of when they are evaluated.
            let next = open.iter().position(is_ready).unwrap_or(0);
            order.push(open.remove(next));
        }
        order
    }

    fn run(
        &mut self,
        function: &Rc<Function<'a>>,
        arguments: Vec<Option<Value>>,
        call: Span,
    ) -> Checked<Vec<Value>> {
        let mut arguments = arguments.into_iter();
        for slot in &function.slots {
            self.part = slot.element.part;
            match slot.declaration.causality {
                Causality::Input => {
                    let value = match (arguments.next().flatten(), slot.default()) {
                        (Some(value), _) => value,
                        (None, Some((default, part))) if slot.is_given() => {
                            self.in_part(part, |elaborator| elaborator.eval(default))?
                        }
                        (None, Some((default, part))) => {
                            self.part = part;
                            let value = self.eval(default)?;
                            self.part = slot.element.part;
                            value
                        }
                        (None, None) => return Err(Reported),
                    };
                    self.new_input(function, slot, &value, call)?;
                }
                _ => {}
            }
        }
        for &at in &function.order {
            let slot = &function.slots[at];
            self.part = slot.element.part;
            self.new_local(slot)?;
        }
        if function.name == "loadResource" {
            let inputs = self.inputs_of(function);
            if let Some(value) = self.native("loadResource", &inputs, call)? {
                return Ok(vec![value]);
            }
        }
        if let Some((part, external)) = function.external {
            self.part = part;
            self.external(function, external, call)?;
        } else if function.is_partial {
            return Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    function.name_span,
                    format!("function `{}` has no body", function.name),
                )
                .label("called, but it has no algorithm")
                .help("redeclare it with a function that has one"),
            ));
        }
        for &(part, body) in &function.bodies {
            self.part = part;
            self.statements(body)?;
        }
        let mut outputs = Vec::new();
        for slot in function.of(Causality::Output) {
            let name = &slot.declaration.name;
            let value = self
                .frame
                .as_ref()
                .and_then(|frame| frame.locals.get(name))
                .and_then(Local::value);
            match value {
                Some(value) => outputs.push(value),
                None => return Err(self.no_output(function, slot.declaration)),
            }
        }
        Ok(outputs)
    }

    /// An output has a value at the end, whichever branches were taken.
    fn no_output(&mut self, function: &Function<'a>, output: &Declaration) -> Reported {
        self.error(
            Diagnostic::error(
                Code::Unassigned,
                output.name_span,
                format!(
                    "output `{}` of `{}` has no value at the end",
                    output.name, function.name
                ),
            )
            .label("not assigned on every path")
            .help(format!("assign `{} := …` in every branch", output.name)),
        )
    }

    fn slot_type(&mut self, slot: &Slot<'a>) -> Checked<SlotType<'a>> {
        let declaration = slot.declaration;
        let part = slot.element.part;
        let resolved = self.resolve_type(&declaration.type_name, declaration.type_span, part)?;
        let mut dims: Vec<(AstId, PartId)> =
            declaration.dims.iter().map(|&dim| (dim, part)).collect();
        dims.extend(resolved.dims);
        let mut layers = slot.element.env.layers.clone();
        layers.extend(resolved.layers);
        Ok((resolved.base, dims, layers))
    }

    fn new_input(
        &mut self,
        function: &Function<'a>,
        slot: &Slot<'a>,
        value: &Value,
        call: Span,
    ) -> Checked<()> {
        let declaration = slot.declaration;
        let is_closure = matches!(value, Value::Function(_) | Value::Object(_));
        if is_closure {
            self.insert_local(declaration, Local::of(value, None, true));
            return Ok(());
        }
        let (base, dims, _) = self.slot_type(slot)?;
        let ty = match base {
            Base::Number(ty) => ty,
            Base::Enumeration(_) => Type::Integer,
            Base::Class(_) if value.ty().is_some() && dims.is_empty() => {
                let value = self.as_record(slot, value, call)?;
                self.insert_local(declaration, Local::of(&value, None, true));
                return Ok(());
            }
            Base::Text | Base::Object(_) | Base::Class(_) => {
                self.insert_local(declaration, Local::of(value, None, true));
                return Ok(());
            }
        };
        self.require_type(value, ty, call)?;
        let mut fits = value.dims().len() == dims.len();
        let mut expected = Vec::new();
        for (position, &(dim, part)) in dims.iter().enumerate() {
            if matches!(self.ast.expr(dim), Expr::Colon) {
                expected.push(":".to_string());
            } else {
                let outer = std::mem::replace(&mut self.part, part);
                let size = self.size(dim, &declaration.name);
                self.part = outer;
                let size = size?;
                expected.push(size.to_string());
                fits &= value.dims().get(position) == Some(&size);
            }
        }
        let is_empty = value.dims().contains(&0) && value.dims().len() == dims.len();
        if !fits && !is_empty {
            let found = describe_dims(value.dims());
            let wanted = if expected.is_empty() {
                "a scalar".to_string()
            } else {
                format!("an array [{}]", expected.join(", "))
            };
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    call,
                    format!(
                        "`{}` takes {wanted} as `{}`, found {found}",
                        function.name, declaration.name
                    ),
                )
                .label(found)
                .related(declaration.name_span, wanted)
                .help("pass a value of the declared sizes"),
            ));
        }
        self.require_whole(value, ty, call)?;
        self.insert_local(declaration, Local::of(value, Some(ty), true));
        Ok(())
    }

    /// A number given for a record goes through the constructor of the record.
    fn as_record(&mut self, slot: &Slot<'a>, value: &Value, span: Span) -> Checked<Value> {
        let name = slot.declaration.type_name.as_str();
        if let Some((node, element)) = self.find_path(slot.element.part, name)
            && let What::Class(class) = element.what
            && let Some(record) = self.class_node(node, &class.name, &element)
        {
            return self.as_operand(record, value, span);
        }
        Ok(value.clone())
    }

    fn new_local(&mut self, slot: &Slot<'a>) -> Checked<()> {
        let declaration = slot.declaration;
        if declaration.variability == Variability::Discrete {
            return Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    declaration.name_span,
                    "only Real, Integer and Boolean locals are supported",
                )
                .label("this local")
                .help("declare it Real"),
            ));
        }
        let (base, dims, layers) = self.slot_type(slot)?;
        let value = match slot.default() {
            Some((binding, part)) => {
                self.part = part;
                let value = self.eval(binding)?;
                self.part = slot.element.part;
                Some(value)
            }
            None => None,
        };
        let local = self.typed_local(declaration, base, &dims, &layers, value, 0)?;
        self.insert_local(declaration, local);
        Ok(())
    }

    /// A local of a type, with a value or none yet.
    fn typed_local(
        &mut self,
        declaration: &Declaration,
        base: Base<'a>,
        dims: &[(AstId, PartId)],
        layers: &[super::scope::Layer<'a>],
        value: Option<Value>,
        depth: usize,
    ) -> Checked<Local> {
        let ty = match base {
            Base::Number(ty) => ty,
            Base::Enumeration(_) => Type::Integer,
            Base::Class(handle) if dims.is_empty() && value.is_none() && depth < 20 => {
                return self.record_local(&handle, layers, depth);
            }
            Base::Text if dims.is_empty() && value.is_none() => {
                return Ok(Local::Other {
                    value: Some(Value::Text("".into())),
                    is_input: false,
                });
            }
            _ => {
                return Ok(match value {
                    Some(value) => Local::of(&value, None, false),
                    None => Local::Other {
                        value: None,
                        is_input: false,
                    },
                });
            }
        };
        let given = value.as_ref().map(Value::dims);
        // A size that nothing gives is that of the first value.
        if self.has_open(dims) && value.is_none() {
            return Ok(Local::Numbers(Numbers {
                elements: Vec::new(),
                dims: vec![0; dims.len()],
                ty,
                is_input: false,
            }));
        }
        let mut sizes = Vec::with_capacity(dims.len());
        for (position, &(dim, part)) in dims.iter().enumerate() {
            let outer = std::mem::replace(&mut self.part, part);
            let given = given.and_then(|given| given.get(position).copied());
            let size = self.sizes(
                &[dim],
                given.map(|size| vec![size]).as_deref(),
                &declaration.name,
            );
            self.part = outer;
            sizes.extend(size?);
        }
        match value {
            Some(value) if value.fits(&sizes) => {
                self.require_type(&value, ty, declaration.span)?;
                self.require_whole(&value, ty, declaration.span)?;
                Ok(Local::of(&value, Some(ty), false))
            }
            Some(value) => Err(self.size_conflict(
                &declaration.name,
                declaration.name_span,
                &sizes,
                &value,
                declaration.span,
            )),
            None => {
                let count = sizes.iter().product::<usize>();
                self.step(count as u64, declaration.span)?;
                Ok(Local::Numbers(Numbers {
                    elements: vec![None; count],
                    dims: sizes,
                    ty,
                    is_input: false,
                }))
            }
        }
    }

    /// A record whose fields have no values yet, or those of their declarations.
    fn record_local(
        &mut self,
        handle: &super::scope::Handle<'a>,
        layers: &[super::scope::Layer<'a>],
        depth: usize,
    ) -> Checked<Local> {
        let path: Rc<str> = handle.class.name.as_str().into();
        let span = handle.class.name_span;
        let node = self.new_node(handle, layers.to_vec(), path.clone(), None, false, span)?;
        let elements = self.node(node).elements.clone();
        let mut fields = Vec::new();
        for &name in &elements.order {
            let Some(element) = elements.map.get(name) else {
                continue;
            };
            let What::Component(declaration) = element.what else {
                continue;
            };
            let slot = Slot {
                declaration,
                element: element.clone(),
            };
            let (base, dims, layers) = self.slot_type(&slot)?;
            let value = match slot.default() {
                Some((ast, part)) => {
                    let outer = std::mem::replace(&mut self.part, part);
                    let value = self.eval(ast);
                    self.part = outer;
                    value.ok()
                }
                None => None,
            };
            let outer = std::mem::replace(&mut self.part, element.part);
            let local = self.typed_local(declaration, base, &dims, &layers, value, depth + 1);
            self.part = outer;
            fields.push((Rc::from(name), local?));
        }
        let record = Record {
            class: Some(path),
            node: Some(node),
            fields: Vec::new(),
        };
        Ok(Local::Record(Rc::new(record), fields))
    }

    fn insert_local(&mut self, declaration: &Declaration, local: Local) {
        if let Some(frame) = &mut self.frame {
            frame.locals.insert(declaration.name.clone(), local);
        }
    }

    /// The names that the function being inlined can use.
    pub(super) fn local_names(&self) -> Vec<String> {
        self.frame
            .iter()
            .flat_map(|frame| frame.locals.keys().cloned())
            .collect()
    }

    /// Sizes of a local, known before it has a value.
    pub(super) fn local_dims(&self, name: &str) -> Option<Vec<usize>> {
        let is_loop = self.loops.iter().any(|(known, _)| **known == *name);
        let local = self.frame.as_ref()?.locals.get(name)?;
        (!is_loop).then(|| local.dims())
    }

    /// The function that a local stands for.
    pub(super) fn local_closure(&self, name: &str) -> Option<Rc<Closure>> {
        match self.frame.as_ref()?.locals.get(name)? {
            Local::Other {
                value: Some(Value::Function(closure)),
                ..
            } => Some(closure.clone()),
            _ => None,
        }
    }

    /// The local that a name and the fields behind it lead to, and what of the name is left.
    fn local_at<'n>(
        &self,
        name: &'n str,
        subscripts: &'n [AstId],
        rest: &'n [PathPart],
    ) -> Option<(&Local, &'n str, &'n [AstId], &'n [PathPart])> {
        let mut local = self.frame.as_ref()?.locals.get(name)?;
        let (mut name, mut subscripts, mut rest) = (name, subscripts, rest);
        while let (Local::Record(_, fields), [next, others @ ..]) = (local, rest) {
            let found = fields.iter().find(|(known, _)| **known == *next.name);
            let Some((_, inside)) = found else {
                break;
            };
            local = inside;
            (name, subscripts, rest) = (&next.name, &next.subscripts, others);
        }
        Some((local, name, subscripts, rest))
    }

    /// The value that a name of the function being inlined stands for.
    pub(super) fn local_value(
        &mut self,
        name: &str,
        subscripts: &[AstId],
        rest: &[PathPart],
        span: Span,
    ) -> Checked<Option<Value>> {
        let Some((local, name, subscripts, rest)) = self.local_at(name, subscripts, rest) else {
            return Ok(None);
        };
        if let Local::Numbers(numbers) = local
            && !subscripts.is_empty()
            && !numbers.dims.is_empty()
        {
            let numbers = numbers.clone();
            let (dims, positions) = self.chosen(&numbers.dims, subscripts, name, span)?;
            let chosen: Option<Vec<ExprId>> =
                positions.iter().map(|&at| numbers.elements[at]).collect();
            return match chosen {
                Some(data) => Ok(Some(Value::shaped(numbers.ty, dims, data))),
                None => Err(self.error(
                    Diagnostic::error(
                        Code::Unassigned,
                        span,
                        format!("this element of `{name}` has no value yet"),
                    )
                    .label("read here before it is assigned")
                    .help("assign the element first"),
                )),
            };
        }
        let Some(mut value) = local.value() else {
            return Err(self.error(
                Diagnostic::error(Code::Unassigned, span, format!("`{name}` has no value yet"))
                    .label("read here before it is assigned")
                    .help(format!("assign `{name} := …` first")),
            ));
        };
        if !subscripts.is_empty() {
            value = self.select(&value, subscripts, name, span)?;
        }
        self.fields(value, rest, span).map(Some)
    }

    pub(super) fn statements(&mut self, statements: &'a [Statement]) -> Checked<End> {
        for (position, statement) in statements.iter().enumerate() {
            let rest = &statements[position + 1..];
            match self.statement(statement, rest)? {
                End::Through => {}
                end => return Ok(end),
            }
        }
        Ok(End::Through)
    }

    fn statement(&mut self, statement: &'a Statement, rest: &'a [Statement]) -> Checked<End> {
        self.step(1, statement.span)?;
        match &statement.kind {
            StatementKind::Assign { target, value } => {
                self.assign(*target, *value)?;
                Ok(End::Through)
            }
            StatementKind::Call(call) => {
                self.call_statement(*call)?;
                Ok(End::Through)
            }
            StatementKind::For { iterators, body } => {
                let mut end = End::Through;
                // Frames of rounds that were perhaps the last, with the conditions for that.
                let mut left: Vec<(ExprId, Option<Frame>)> = Vec::new();
                self.each_round(iterators, &mut |elaborator| {
                    if let End::Perhaps(leaves) = end {
                        left.push((leaves, elaborator.frame.clone()));
                        end = End::Through;
                    }
                    if end == End::Through {
                        end = elaborator.statements(body)?;
                    }
                    Ok(())
                })?;
                for (leaves, frame) in left.into_iter().rev() {
                    self.merge_frames(leaves, frame, statement.span);
                }
                Ok(match end {
                    End::Return => End::Return,
                    _ => End::Through,
                })
            }
            StatementKind::While { condition, body } => self.repeat(*condition, body),
            StatementKind::If {
                branches,
                otherwise,
            } => self.branch(branches, otherwise, rest, statement.span),
            StatementKind::When { branches } if self.in_section => {
                self.when_statement(branches, statement.span)?;
                Ok(End::Through)
            }
            StatementKind::When { .. } => Err(self.error(
                Diagnostic::error(
                    Code::Syntax,
                    statement.span,
                    "a function has no `when`: it knows no time",
                )
                .label("inside a function")
                .help("move it to an algorithm section of a model"),
            )),
            StatementKind::Return => Ok(End::Return),
            StatementKind::Break => Ok(End::Break),
        }
    }

    /// `while`: the condition must be known each time.
    fn repeat(&mut self, condition: AstId, body: &'a [Statement]) -> Checked<End> {
        loop {
            let span = self.ast.span(condition);
            self.step(1, span)?;
            let expr = self.eval_condition(condition)?;
            let Some(holds) = self.known(expr) else {
                return Err(self.error(
                    Diagnostic::error(
                        Code::NotConstant,
                        span,
                        "how often a `while` repeats must be known before the run",
                    )
                    .label("depends on time or on a variable")
                    .help("use `for` over a range of known length"),
                ));
            };
            if holds == 0.0 {
                return Ok(End::Through);
            }
            match self.statements(body)? {
                End::Through => {}
                End::Break => return Ok(End::Through),
                End::Return => return Ok(End::Return),
                End::Perhaps(_) => return Err(self.left_perhaps(span)),
            }
        }
    }

    /// Runs the branches on copies of the locals and merges what they assign.
    ///
    /// Where a branch can leave, what follows belongs to the branches that do not.
    fn branch(
        &mut self,
        branches: &'a [(AstId, Vec<Statement>)],
        otherwise: &'a [Statement],
        rest: &'a [Statement],
        span: Span,
    ) -> Checked<End> {
        let Some(((condition, body), others)) = branches.split_first() else {
            return self.statements(otherwise);
        };
        let condition = self.eval_condition(*condition)?;
        match self.decided(condition) {
            Some(true) => return self.statements(body),
            Some(false) => return self.branch(others, otherwise, rest, span),
            None => {}
        }
        let leaves = can_leave(body)
            || others.iter().any(|(_, body)| can_leave(body))
            || can_leave(otherwise);
        let before = self.frame.clone();
        let mut then_end = self.statements(body)?;
        if leaves && then_end == End::Through {
            then_end = self.statements(rest)?;
        }
        let then_frame = std::mem::replace(&mut self.frame, before);
        let mut else_end = self.branch(others, otherwise, rest, span)?;
        if leaves && else_end == End::Through {
            else_end = self.statements(rest)?;
        }
        self.merge_frames(condition, then_frame, span);
        match (leaves, then_end, else_end) {
            (false, ..) => Ok(End::Through),
            (true, End::Return, End::Return) => Ok(End::Return),
            (true, End::Break, End::Break) => Ok(End::Break),
            // What follows in this list was run in the branches; where the list ends the function does.
            (true, End::Through | End::Return, End::Through | End::Return) => Ok(End::Return),
            (true, End::Return, _) | (true, _, End::Return) => Err(self.left_perhaps(span)),
            (true, then_end, else_end) => {
                let broke = |elaborator: &mut Self, end: End| match end {
                    End::Perhaps(leaves) => leaves,
                    end => elaborator
                        .graph
                        .constant(f64::from(u8::from(end == End::Break))),
                };
                let (a, b) = (broke(self, then_end), broke(self, else_end));
                let leaves = self.choose(Type::Boolean, condition, a, b, span);
                Ok(End::Perhaps(leaves))
            }
        }
    }

    fn left_perhaps(&mut self, span: Span) -> super::Reported {
        self.error(
            Diagnostic::error(
                Code::NotConstant,
                span,
                format!(
                    "whether a loop is left must be known before the run{}",
                    self.place()
                ),
            )
            .label("the condition depends on time or on a variable")
            .help("use an `if` expression"),
        )
    }

    /// Joins what two branches assign; the present frame is that of the second one.
    pub(super) fn merge_frames(
        &mut self,
        condition: ExprId,
        then_frame: Option<Frame>,
        span: Span,
    ) {
        let (Some(then_frame), Some(mut frame)) = (then_frame, self.frame.take()) else {
            return;
        };
        for (name, local) in &mut frame.locals {
            if let Some(other) = then_frame.locals.get(name) {
                self.merge_locals(condition, other, local, span);
            }
        }
        self.frame = Some(frame);
    }

    /// What only one branch assigns has no value behind the `if`.
    fn merge_locals(&mut self, condition: ExprId, then: &Local, local: &mut Local, span: Span) {
        match (then, local) {
            (Local::Numbers(then), Local::Numbers(local)) if then.dims == local.dims => {
                for (slot, first) in local.elements.iter_mut().zip(&then.elements) {
                    *slot = match (*first, *slot) {
                        (Some(a), Some(b)) => Some(self.choose(local.ty, condition, a, b, span)),
                        _ => None,
                    };
                }
            }
            (Local::Record(_, then), Local::Record(_, fields)) => {
                for ((_, first), (_, second)) in then.iter().zip(fields) {
                    self.merge_locals(condition, first, second, span);
                }
            }
            (then, local) => {
                let merged = match (then.value(), local.value()) {
                    (Some(a), Some(b)) => self.merge(condition, &a, &b, span).ok(),
                    _ => None,
                };
                *local = match merged {
                    Some(value) => Local::of(&value, None, false),
                    None => Local::Other {
                        value: None,
                        is_input: false,
                    },
                };
            }
        }
    }

    fn assign(&mut self, target: AstId, value: AstId) -> Checked<()> {
        let at = self.ast.span(value);
        if let Expr::Tuple(targets) = self.ast.expr(target) {
            let Some(results) = self.results(value)? else {
                return Err(self.error(
                    Diagnostic::error(Code::Syntax, at, "a list of results needs a call")
                        .label("not a call of a function with several outputs")
                        .help("assign each name on a line of its own"),
                ));
            };
            for (target, result) in targets.iter().zip(results) {
                if let Some(target) = target {
                    self.assign_value(*target, result, at)?;
                }
            }
            return Ok(());
        }
        let value = self.eval(value)?;
        self.assign_value(target, value, at)
    }

    pub(super) fn assign_value(&mut self, target: AstId, value: Value, at: Span) -> Checked<()> {
        let name_span = self.ast.span(target);
        let Expr::Name {
            name,
            subscripts,
            path,
        } = self.ast.expr(target)
        else {
            return Err(self.error(
                Diagnostic::error(Code::Syntax, name_span, "only names can be assigned")
                    .label("not a name")
                    .help("write a name before `:=`"),
            ));
        };
        let (first, first_subs, rest): (&str, &[AstId], &[PathPart]) = match path {
            None => (name, subscripts, &[]),
            Some(path) => (&path[0].name, &path[0].subscripts, &path[1..]),
        };
        let found = self.local_at(first, first_subs, rest);
        let Some((local, last, last_subs, left)) = found else {
            return Err(self.undeclared(name, name_span));
        };
        if local.is_input() {
            return Err(self.error(
                Diagnostic::error(
                    Code::NotAssignable,
                    name_span,
                    format!("`{name}` is an input"),
                )
                .label("assigned here")
                .help("assign an output or a protected local"),
            ));
        }
        if !left.is_empty() {
            return Err(self.undeclared(name, name_span));
        }
        let updated = match local {
            Local::Numbers(numbers) => {
                let numbers = numbers.clone();
                Local::Numbers(self.assigned(numbers, last, last_subs, &value, name_span, at)?)
            }
            Local::Other { value: old, .. } if !last_subs.is_empty() => {
                let Some(Value::List(list)) = old.clone() else {
                    return Err(self.undeclared(name, name_span));
                };
                let (_, positions) = self.chosen(&list.dims, last_subs, last, name_span)?;
                let mut items = list.items.clone();
                for at in positions {
                    items[at] = value.clone();
                }
                Local::of(&Value::listed(list.dims.clone(), items), None, false)
            }
            Local::Record(record, _) => {
                let mut updated = Local::of(&value, None, false);
                if let Local::Record(kept, _) = &mut updated {
                    *kept = record.clone();
                }
                updated
            }
            Local::Other { .. } => Local::of(&value, None, false),
        };
        if let Some(frame) = &mut self.frame
            && let Some(mut local) = frame.locals.get_mut(first)
        {
            let mut rest = rest;
            while let [next, others @ ..] = rest {
                match local {
                    Local::Record(_, fields) => {
                        let found = fields.iter_mut().find(|(known, _)| **known == *next.name);
                        match found {
                            Some((_, inside)) => local = inside,
                            None => return Ok(()),
                        }
                    }
                    _ => return Ok(()),
                }
                rest = others;
            }
            *local = updated;
        }
        Ok(())
    }

    /// Numbers with a value assigned to the elements that subscripts choose.
    fn assigned(
        &mut self,
        mut numbers: Numbers,
        name: &str,
        subscripts: &[AstId],
        value: &Value,
        name_span: Span,
        at: Span,
    ) -> Checked<Numbers> {
        self.require_type(value, numbers.ty, at)?;
        self.require_whole(value, numbers.ty, at)?;
        let is_open = numbers.elements.is_empty() && numbers.dims.iter().all(|&size| size == 0);
        if is_open && subscripts.is_empty() && value.dims().len() == numbers.dims.len() {
            numbers.dims = value.dims().to_vec();
            numbers.elements = value
                .elements()
                .iter()
                .map(|&element| Some(element))
                .collect();
            return Ok(numbers);
        }
        let (dims, positions) = match subscripts.is_empty() {
            true => (numbers.dims.clone(), (0..numbers.elements.len()).collect()),
            false => self.chosen(&numbers.dims, subscripts, name, name_span)?,
        };
        if !value.fits(&dims) {
            let (x, y) = (describe_dims(&dims), describe_dims(value.dims()));
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    at,
                    format!("`{name}` is {x} here, its value is {y}"),
                )
                .label(y)
                .help("give both the same sizes"),
            ));
        }
        for (&position, &element) in positions.iter().zip(value.elements()) {
            numbers.elements[position] = Some(element);
        }
        Ok(numbers)
    }

    /// The values of the inputs of the function being run.
    pub(super) fn inputs_of(&self, function: &Function<'a>) -> Vec<Option<Value>> {
        let frame = self.frame.as_ref();
        function
            .of(Causality::Input)
            .map(|slot| frame?.locals.get(&slot.declaration.name)?.value())
            .collect()
    }

    /// Gives the first output of the function being run its value.
    pub(super) fn assign_first_output(
        &mut self,
        function: &Function<'a>,
        value: Value,
        _span: Span,
    ) -> Checked<()> {
        if let Some(slot) = function.of(Causality::Output).next() {
            self.insert_local(slot.declaration, Local::of(&value, None, false));
        }
        Ok(())
    }

    /// A call whose result is not used: `assert`, or something that prints.
    fn call_statement(&mut self, call: AstId) -> Checked<()> {
        if let Expr::Call { name, .. } = self.ast.expr(call)
            && name != "assert"
            && self.function(name).is_some()
        {
            // What it would print or write is not for translating.
            return Ok(());
        }
        self.assertion(call, false)
    }

    /// An algorithm section of a model as one function: the values of what it assigns.
    pub(super) fn run_section(
        &mut self,
        targets: &[super::algorithm::Target],
        body: &'a [Statement],
    ) -> Checked<Vec<Option<Value>>> {
        let mut frame = Frame::default();
        for target in targets {
            let value = &target.value;
            let mut elements = target.before.clone();
            elements.resize(value.elements().len(), None);
            frame.locals.insert(
                target.name.clone(),
                Local::Numbers(Numbers {
                    elements,
                    dims: value.dims().to_vec(),
                    ty: value.ty().unwrap_or(Type::Real),
                    is_input: false,
                }),
            );
        }
        let outer = self.frame.replace(frame);
        self.in_section = true;
        let result = self.statements(body);
        self.in_section = false;
        let frame = std::mem::replace(&mut self.frame, outer);
        result?;
        let frame = frame.unwrap_or_default();
        let values = targets
            .iter()
            .map(|target| frame.locals.get(&target.name)?.value());
        Ok(values.collect())
    }
}

/// Whether statements can leave the function or the loop around them.
fn can_leave(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        StatementKind::Return | StatementKind::Break => true,
        StatementKind::If {
            branches,
            otherwise,
        } => branches.iter().any(|(_, body)| can_leave(body)) || can_leave(otherwise),
        StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
            body.iter().any(returns)
        }
        _ => false,
    })
}

fn returns(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Return => true,
        StatementKind::If {
            branches,
            otherwise,
        } => {
            branches.iter().flat_map(|(_, body)| body).any(returns) || otherwise.iter().any(returns)
        }
        StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
            body.iter().any(returns)
        }
        _ => false,
    }
}
