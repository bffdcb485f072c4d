//! User functions: inlined where they are called, statement by statement.

use super::value::{Value, describe_dims};
use super::{Checked, Elaborator};
use crate::ast::{
    AstId, Causality, Class, Declaration, Expr, Statement, StatementKind, Variability,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::ExprId;
use std::collections::HashMap;

/// Locals of a function call.
#[derive(Clone, Default)]
pub(super) struct Frame {
    locals: HashMap<String, Local>,
}

#[derive(Clone)]
struct Local {
    /// `None` until it is assigned; elements of an array likewise.
    elements: Vec<Option<ExprId>>,
    dims: Vec<usize>,
    ty: Type,
    is_input: bool,
}

impl Local {
    fn new(value: &Value, is_input: bool) -> Self {
        Self {
            elements: value
                .elements()
                .iter()
                .map(|&element| Some(element))
                .collect(),
            dims: value.dims().to_vec(),
            ty: value.ty().unwrap_or(Type::Real),
            is_input,
        }
    }
}

impl<'a> Elaborator<'a> {
    /// The value of a call.
    pub(super) fn inline(
        &mut self,
        function: &'a Class,
        name_span: Span,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Value> {
        if self.calls.contains(&function.name.as_str()) {
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
        let arguments = self.bind_arguments(function, name_span, positional, named, span)?;
        // The body sees its own names only.
        let outer_frame = self.frame.replace(Frame::default());
        let outer_loops = std::mem::take(&mut self.loops);
        self.indices = None;
        let outer_ends = std::mem::take(&mut self.ends);
        self.calls.push(&function.name);
        let result = self.run(function, arguments, span);
        self.calls.pop();
        self.ends = outer_ends;
        self.loops = outer_loops;
        self.indices = None;
        self.frame = outer_frame;
        result
    }

    /// The value of each input, in order; `None` where its default is to be used.
    fn bind_arguments(
        &mut self,
        function: &'a Class,
        name_span: Span,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Vec<Option<Value>>> {
        let inputs: Vec<&Declaration> = function
            .declarations
            .iter()
            .filter(|declaration| declaration.causality == Causality::Input)
            .collect();
        let needed = inputs
            .iter()
            .filter(|input| input.binding.is_none())
            .count();
        if positional.len() + named.len() > inputs.len() || positional.len() + named.len() < needed
        {
            let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
            let help = format!("call it as {}({})", function.name, names.join(", "));
            let given = positional.len() + named.len();
            self.require_arity(&function.name, needed, inputs.len(), given, span)
                .inspect_err(|_| {
                    if let Some(last) = self.diagnostics.last_mut() {
                        last.help = Some(help);
                    }
                })?;
        }
        let mut values: Vec<Option<Value>> = vec![None; inputs.len()];
        for (slot, &argument) in values.iter_mut().zip(positional) {
            *slot = Some(self.eval(argument)?);
        }
        for (name, at, argument) in named {
            let Some(position) = inputs.iter().position(|input| input.name == *name) else {
                let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
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
            if values[position].is_some() {
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
            if value.is_none() && input.binding.is_none() {
                return Err(self.error(
                    Diagnostic::error(
                        Code::WrongArity,
                        name_span,
                        format!(
                            "`{}` is called without its input `{}`",
                            function.name, input.name
                        ),
                    )
                    .label("called here")
                    .related(input.name_span, "this input has no default")
                    .help(format!("give `{}` a value", input.name)),
                ));
            }
        }
        Ok(values)
    }

    fn run(
        &mut self,
        function: &'a Class,
        arguments: Vec<Option<Value>>,
        call: Span,
    ) -> Checked<Value> {
        let mut arguments = arguments.into_iter();
        let mut outputs = Vec::new();
        for declaration in &function.declarations {
            match declaration.causality {
                Causality::Input => {
                    let value = match (arguments.next().flatten(), declaration.binding) {
                        (Some(value), _) => value,
                        (None, Some(default)) => self.eval(default)?,
                        (None, None) => return Err(super::Reported),
                    };
                    self.new_input(function, declaration, &value, call)?;
                }
                causality => {
                    if causality == Causality::Output {
                        outputs.push(declaration);
                    }
                    self.new_local(declaration)?;
                }
            }
        }
        let &[output] = outputs.as_slice() else {
            return Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    function.name_span,
                    format!("function `{}` has {} outputs", function.name, outputs.len()),
                )
                .label("exactly one is supported")
                .help("write one function per output"),
            ));
        };
        self.statements(&function.statements)?;
        self.require_output(function, output)?;
        match self.lookup_local(&output.name, output.name_span)? {
            Some(value) => Ok(value),
            None => Err(super::Reported),
        }
    }

    /// An output has a value at the end, whichever branches were taken.
    fn require_output(&mut self, function: &Class, output: &Declaration) -> Checked<()> {
        let local = self
            .frame
            .as_ref()
            .and_then(|frame| frame.locals.get(&output.name));
        if local.is_none_or(|local| local.elements.iter().all(Option::is_some)) {
            return Ok(());
        }
        Err(self.error(
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
        ))
    }

    fn new_input(
        &mut self,
        function: &Class,
        declaration: &'a Declaration,
        value: &Value,
        call: Span,
    ) -> Checked<()> {
        let resolved = self.resolve_type(declaration)?;
        let (ty, dims) = (resolved.ty, resolved.dims(declaration));
        self.require_type(value, ty, call)?;
        let mut fits = value.dims().len() == dims.len();
        let mut expected = Vec::new();
        for (position, &dim) in dims.iter().enumerate() {
            if matches!(self.ast.expr(dim), Expr::Colon) {
                expected.push(":".to_string());
            } else {
                let size = self.eval_known(dim, "a size")?;
                expected.push(size.to_string());
                fits &= value
                    .dims()
                    .get(position)
                    .is_some_and(|&given| given as f64 == size);
            }
        }
        if !fits {
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
        self.insert_local(declaration, Local::new(value, true));
        Ok(())
    }

    fn new_local(&mut self, declaration: &'a Declaration) -> Checked<()> {
        let resolved = self.resolve_type(declaration)?;
        if declaration.variability == Variability::Discrete || resolved.is_text {
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
        let value = match declaration.binding {
            Some(binding) => Some(self.eval(binding)?),
            None => None,
        };
        let dims = self.sizes(
            &resolved.dims(declaration),
            value.as_ref(),
            &declaration.name,
        )?;
        let local = match value {
            Some(value) if value.dims() == dims => {
                self.require_type(&value, resolved.ty, declaration.span)?;
                self.require_whole(&value, resolved.ty, declaration.span)?;
                Local::new(&value, false)
            }
            Some(value) => {
                return Err(self.size_conflict(declaration, &dims, &value, declaration.span));
            }
            None => {
                let count = dims.iter().product::<usize>();
                self.step(count as u64, declaration.span)?;
                Local {
                    elements: vec![None; count],
                    dims,
                    ty: resolved.ty,
                    is_input: false,
                }
            }
        };
        self.insert_local(declaration, local);
        Ok(())
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
        (!is_loop).then(|| local.dims.clone())
    }

    /// Elements of a local, of which others may have no value yet.
    pub(super) fn local_elements(
        &mut self,
        name: &str,
        subscripts: &[AstId],
        span: Span,
    ) -> Checked<Option<Value>> {
        let Some(local) = self.frame.as_ref().and_then(|frame| frame.locals.get(name)) else {
            return Ok(None);
        };
        if subscripts.is_empty() || local.dims.is_empty() {
            return Ok(None);
        }
        let ty = local.ty;
        let targets = self.target_positions(name, span, subscripts)?;
        let chosen: Option<Vec<ExprId>> = match self.local(name) {
            Some(local) => targets
                .positions
                .iter()
                .map(|&at| local.elements[at])
                .collect(),
            None => None,
        };
        match chosen {
            Some(data) => Ok(Some(Value::shaped(ty, targets.dims, data))),
            None => Err(self.error(
                Diagnostic::error(
                    Code::Unassigned,
                    span,
                    format!("this element of `{name}` has no value yet"),
                )
                .label("read here before it is assigned")
                .help("assign the element first"),
            )),
        }
    }

    /// The value of a local of the function being inlined.
    pub(super) fn lookup_local(&mut self, name: &str, span: Span) -> Checked<Option<Value>> {
        let Some(local) = self.frame.as_ref().and_then(|frame| frame.locals.get(name)) else {
            return Ok(None);
        };
        let elements: Option<Vec<ExprId>> = local.elements.iter().copied().collect();
        match elements {
            Some(data) => Ok(Some(Value::shaped(local.ty, local.dims.clone(), data))),
            None => Err(self.error(
                Diagnostic::error(Code::Unassigned, span, format!("`{name}` has no value yet"))
                    .label("read here before it is assigned")
                    .help(format!("assign `{name} := …` first")),
            )),
        }
    }

    fn statements(&mut self, statements: &'a [Statement]) -> Checked<()> {
        statements
            .iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &'a Statement) -> Checked<()> {
        self.step(1, statement.span)?;
        match &statement.kind {
            StatementKind::Assign {
                name,
                name_span,
                subscripts,
                value,
            } => self.assign(name, *name_span, subscripts, *value),
            StatementKind::Call(call) => self.assertion(*call),
            StatementKind::For { iterators, body } => {
                self.each_round(iterators, &mut |elaborator| elaborator.statements(body))
            }
            StatementKind::If {
                branches,
                otherwise,
            } => self.branch(branches, otherwise, statement.span),
        }
    }

    /// Runs the branches on copies of the locals and merges what they assign.
    fn branch(
        &mut self,
        branches: &'a [(AstId, Vec<Statement>)],
        otherwise: &'a [Statement],
        span: Span,
    ) -> Checked<()> {
        let Some(((condition, body), rest)) = branches.split_first() else {
            return self.statements(otherwise);
        };
        let at = self.ast.span(*condition);
        let value = self.eval(*condition)?;
        self.require_type(&value, Type::Boolean, at)?;
        let condition = self.scalar(&value, at)?;
        match self.decided(condition) {
            Some(true) => return self.statements(body),
            Some(false) => return self.branch(rest, otherwise, span),
            None => {}
        }
        let before = self.frame.clone();
        self.statements(body)?;
        let then_frame = std::mem::replace(&mut self.frame, before);
        self.branch(rest, otherwise, span)?;
        let (Some(then_frame), Some(mut frame)) = (then_frame, self.frame.take()) else {
            return Ok(());
        };
        for (name, local) in &mut frame.locals {
            let other = &then_frame.locals[name];
            for (slot, first) in local.elements.iter_mut().zip(&other.elements) {
                // What only one branch assigns has no value behind the `if`.
                *slot = match (*first, *slot) {
                    (Some(a), Some(b)) => Some(self.choose(local.ty, condition, a, b, span)),
                    _ => None,
                };
            }
        }
        self.frame = Some(frame);
        Ok(())
    }

    fn assign(
        &mut self,
        name: &str,
        name_span: Span,
        subscripts: &[AstId],
        value: AstId,
    ) -> Checked<()> {
        let at = self.ast.span(value);
        let value = self.eval(value)?;
        let Some((ty, is_input)) = self.local(name).map(|local| (local.ty, local.is_input)) else {
            return Err(self.undeclared(name, name_span));
        };
        if is_input {
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
        self.require_type(&value, ty, at)?;
        self.require_whole(&value, ty, at)?;
        let targets = self.target_positions(name, name_span, subscripts)?;
        if targets.dims != value.dims() {
            let (x, y) = (describe_dims(&targets.dims), describe_dims(value.dims()));
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
        if let Some(local) = self
            .frame
            .as_mut()
            .and_then(|frame| frame.locals.get_mut(name))
        {
            for (&position, &element) in targets.positions.iter().zip(value.elements()) {
                local.elements[position] = Some(element);
            }
        }
        Ok(())
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.frame.as_ref()?.locals.get(name)
    }

    /// Which elements an assignment sets: subscripts are applied to an array of positions.
    fn target_positions(
        &mut self,
        name: &str,
        span: Span,
        subscripts: &[AstId],
    ) -> Checked<Targets> {
        let dims = self
            .local(name)
            .map(|local| local.dims.clone())
            .unwrap_or_default();
        let count: usize = dims.iter().product();
        if subscripts.is_empty() {
            return Ok(Targets {
                dims,
                positions: (0..count).collect(),
            });
        }
        let (dims, positions) = self.chosen(&dims, subscripts, name, span)?;
        Ok(Targets { dims, positions })
    }

    /// `assert(condition, text)`: checked where parameters settle it.
    pub(super) fn assertion(&mut self, call: AstId) -> Checked<()> {
        let span = self.ast.span(call);
        let Expr::Call {
            name,
            name_span,
            positional,
            ..
        } = self.ast.expr(call)
        else {
            return Ok(());
        };
        if name != "assert" {
            return Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    *name_span,
                    format!("`{name}` has no meaning here"),
                )
                .label("a call whose result is not used")
                .help("write an equation `… = …`"),
            ));
        }
        self.require_arity("assert", 2, 3, positional.len(), span)?;
        let value = self.eval(positional[0])?;
        let at = self.ast.span(positional[0]);
        self.require_type(&value, Type::Boolean, at)?;
        let condition = self.scalar(&value, at)?;
        if self.varies(condition) {
            return Ok(());
        }
        if self.parameter_value(condition) == 0.0 {
            let text = match self.eval(positional[1])? {
                Value::Text(text) => text.to_string(),
                _ => String::new(),
            };
            let names = self.parameters_in(condition);
            let help = if names.is_empty() {
                "correct the condition, which holds for no value of the parameters".to_string()
            } else {
                format!("change {}", names.join(", "))
            };
            return Err(self.error(
                Diagnostic::error(
                    Code::AssertionFailed,
                    at,
                    format!("assertion failed: {text}"),
                )
                .label("does not hold")
                .help(help),
            ));
        }
        Ok(())
    }
}

struct Targets {
    dims: Vec<usize>,
    positions: Vec<usize>,
}
