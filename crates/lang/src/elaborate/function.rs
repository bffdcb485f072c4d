//! User functions: inlined where they are called, statement by statement.

mod implicit;
mod local;
pub(super) mod repeat;
mod statement;

use super::scope::{Base, CLASS_DEPTH, Element, NodeId, PartId, What};
use super::value::{Closure, Value};
use super::{Checked, Elaborator, Reported};
use crate::ast::{AstId, Causality, ClassKind, Declaration, Expr, External, Statement};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::ExprId;
use local::Local;
use std::collections::HashMap;
use std::rc::Rc;

/// Locals of a function call.
#[derive(Clone, Default)]
pub(super) struct Frame {
    locals: HashMap<String, Local>,
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
        let mut values =
            self.bind_arguments(function, span, positional, named, Vec::new(), span)?;
        for (slot, value) in function.of(Causality::Input).zip(&mut values) {
            if let (None, Some((default, part))) = (&value, slot.default()) {
                let n = self.diagnostics.len();
                *value = self
                    .in_part(part, |elaborator| elaborator.eval(default))
                    .ok();
                self.diagnostics.truncate(n);
            }
        }
        Ok(values)
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

    /// The value of a function that was given as an argument, at the first input that is open.
    fn call_closure_with(
        &mut self,
        closure: &Closure,
        argument: Value,
        span: Span,
    ) -> Checked<Value> {
        let function = self.signature(closure.function);
        let mut argument = Some(argument);
        let given = |slot: &Slot<'a>| {
            let name = slot.declaration.name.as_str();
            let bound = closure.bound.iter().find(|(bound, _)| **bound == *name);
            bound.map(|(_, value)| value.clone())
        };
        let inputs = function.of(Causality::Input);
        let values = inputs.map(|slot| given(slot).or_else(|| argument.take()));
        let outputs = self.call(&function, values.collect(), span, span)?;
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
        let is_recursive = self.calls.contains(&function.node) && !self.finds_roots(function);
        // Where parameters say how often, it ends before that.
        if is_recursive && self.depth > super::MAX_DEPTH / 2 {
            return Err(self.error(
                Diagnostic::error(
                    Code::RecursiveFunction,
                    name_span,
                    format!("function `{}` calls itself", function.name),
                )
                .label("the call that closes the circle")
                .related(function.name_span, "defined here")
                .help(
                    "let parameters say how often, or write a `for` over a range of known length",
                ),
            ));
        }
        // The body sees its own names only.
        let outer_frame = self.frame.replace(Frame::default());
        let outer_loops = std::mem::take(&mut self.loops);
        self.indices = None;
        let outer_ends = std::mem::take(&mut self.ends);
        let outer_part = self.part;
        self.calls.push(function.node);
        let repeating = std::mem::take(&mut self.repeating);
        let depth = self.path.len();
        let levels = if is_recursive { CLASS_DEPTH } else { 0 };
        self.depth += levels;
        let result = match self.implicit_root(function, &arguments, span) {
            Ok(None) => self.run(function, arguments, span),
            Ok(Some(values)) => Ok(values),
            Err(reported) => Err(reported),
        };
        self.depth -= levels;
        self.repeating = repeating;
        self.path.truncate(depth);
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
        let mut missing = inputs.iter().zip(&values);
        match missing.find(|(input, value)| value.is_none() && input.default().is_none()) {
            Some((input, _)) => Err(self.missing_input(function, input, name_span)),
            None => Ok(values),
        }
    }

    fn missing_input(&mut self, function: &Function<'a>, input: &Slot<'a>, at: Span) -> Reported {
        let name = &input.declaration.name;
        let message = format!("`{}` is called without its input `{name}`", function.name);
        self.error(
            Diagnostic::error(Code::WrongArity, at, message)
                .label("called here")
                .related(input.declaration.name_span, "this input has no default")
                .help(format!("give `{name}` a value")),
        )
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
            if slot.declaration.causality != Causality::Input {
                continue;
            }
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
            let nothing = self.unassigned();
            let local = self.frame.as_ref().and_then(|frame| frame.locals.get(name));
            let value = match local {
                // Fields that nobody reads need no value.
                Some(local @ Local::Record(..)) => local.value_or(nothing),
                local => local.and_then(Local::value),
            };
            match value {
                Some(value) if !self.is_left_open(&value) => outputs.push(value),
                Some(_) => return Err(self.no_output(function, slot.declaration)),
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
}
