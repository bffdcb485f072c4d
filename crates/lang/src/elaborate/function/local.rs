//! Locals of a function call: what they are, how they get their types and values, how they are read.

use super::{Function, Slot, SlotType};
use crate::ast::{AstId, Declaration, Expr, PathPart, Variability};
use crate::diagnostic::{Code, Diagnostic};
use crate::elaborate::array::Pick;
use crate::elaborate::scope::{Base, Handle, Layer, PartId, What};
use crate::elaborate::value::{Array, Closure, Record, Value, describe_dims};
use crate::elaborate::{Checked, Elaborator};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::ExprId;
use std::rc::Rc;

#[derive(Clone)]
pub(super) enum Local {
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
pub(super) struct Numbers {
    /// `None` until it is assigned; elements of an array likewise.
    pub(super) elements: Vec<Option<ExprId>>,
    pub(super) dims: Vec<usize>,
    pub(super) ty: Type,
    pub(super) is_input: bool,
}

impl Local {
    pub(super) fn of(value: &Value, ty: Option<Type>, is_input: bool) -> Self {
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
    pub(super) fn value(&self) -> Option<Value> {
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

    pub(super) fn is_input(&self) -> bool {
        match self {
            Local::Numbers(Numbers { is_input, .. }) | Local::Other { is_input, .. } => *is_input,
            Local::Record(_, fields) => fields.iter().any(|(_, local)| local.is_input()),
        }
    }

    pub(super) fn dims(&self) -> Vec<usize> {
        match self {
            Local::Numbers(numbers) => numbers.dims.clone(),
            Local::Other {
                value: Some(value), ..
            } => value.dims().to_vec(),
            _ => Vec::new(),
        }
    }
}

impl<'a> Elaborator<'a> {
    pub(super) fn slot_type(&mut self, slot: &Slot<'a>) -> Checked<SlotType<'a>> {
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

    pub(super) fn new_input(
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
        // A size may be another one of the same array, as in `A[:, size(A, 1)]`.
        self.insert_local(declaration, Local::of(value, Some(ty), true));
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
        self.require_whole(value, ty, call)
    }

    /// A number given for a record goes through the constructor of the record.
    pub(super) fn as_record(
        &mut self,
        slot: &Slot<'a>,
        value: &Value,
        span: Span,
    ) -> Checked<Value> {
        let name = slot.declaration.type_name.as_str();
        if let Some((node, element)) = self.find_path(slot.element.part, name)
            && let What::Class(class) = element.what
            && let Some(record) = self.class_node(node, &class.name, &element)
        {
            return self.as_operand(record, value, span);
        }
        Ok(value.clone())
    }

    pub(super) fn new_local(&mut self, slot: &Slot<'a>) -> Checked<()> {
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
    pub(super) fn typed_local(
        &mut self,
        declaration: &Declaration,
        base: Base<'a>,
        dims: &[(AstId, PartId)],
        layers: &[Layer<'a>],
        value: Option<Value>,
        depth: usize,
    ) -> Checked<Local> {
        let ty = match base {
            Base::Number(ty) => ty,
            Base::Enumeration(_) => Type::Integer,
            Base::Class(handle) if dims.is_empty() && value.is_none() && depth < 20 => {
                return self.record_local(&handle, layers, depth);
            }
            Base::Class(handle) if value.is_none() && depth < 20 && !self.has_open(dims) => {
                let record = self.record_local(&handle, layers, depth)?;
                let nothing = self.unassigned();
                let sizes = self.local_sizes(declaration, dims, None)?;
                let count = sizes.iter().product::<usize>();
                self.step(count as u64, declaration.span)?;
                let items = record.value_or(nothing).map(|item| vec![item; count]);
                return Ok(Local::Other {
                    value: items.map(|items| Value::listed(sizes, items)),
                    is_input: false,
                });
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
        let sizes = self.local_sizes(declaration, dims, given)?;
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

    fn local_sizes(
        &mut self,
        declaration: &Declaration,
        dims: &[(AstId, PartId)],
        given: Option<&[usize]>,
    ) -> Checked<Vec<usize>> {
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
        Ok(sizes)
    }

    /// A record whose fields have no values yet, or those of their declarations.
    pub(super) fn record_local(
        &mut self,
        handle: &Handle<'a>,
        layers: &[Layer<'a>],
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

    pub(super) fn insert_local(&mut self, declaration: &Declaration, local: Local) {
        if let Some(frame) = &mut self.frame {
            frame.locals.insert(declaration.name.clone(), local);
        }
    }

    /// The names that the function being inlined can use.
    pub(in crate::elaborate) fn local_names(&self) -> Vec<String> {
        self.frame
            .iter()
            .flat_map(|frame| frame.locals.keys().cloned())
            .collect()
    }

    /// Sizes of a local, known before it has a value.
    pub(in crate::elaborate) fn local_dims(&self, name: &str) -> Option<Vec<usize>> {
        let is_loop = self.loops.iter().any(|(known, _)| **known == *name);
        let local = self.frame.as_ref()?.locals.get(name)?;
        (!is_loop).then(|| local.dims())
    }

    /// The function that a local stands for.
    pub(in crate::elaborate) fn local_closure(&self, name: &str) -> Option<Rc<Closure>> {
        match self.frame.as_ref()?.locals.get(name)? {
            Local::Other {
                value: Some(Value::Function(closure)),
                ..
            } => Some(closure.clone()),
            _ => None,
        }
    }

    /// The local that a name and the fields behind it lead to, and what of the name is left.
    pub(super) fn local_at<'n>(
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
    pub(in crate::elaborate) fn local_value(
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
            let picks = self.picks(&numbers.dims, subscripts, name, span)?;
            let is_open = numbers.elements.iter().any(Option::is_none);
            if !is_open && picks.iter().any(Pick::varies) {
                let nothing = self.unassigned();
                let data = numbers.elements.iter().map(|it| it.unwrap_or(nothing));
                let array = Array {
                    ty: numbers.ty,
                    dims: numbers.dims.clone(),
                    data: data.collect(),
                };
                return self.element_at(&array, picks, span).map(Some);
            }
            let (dims, positions) = self.positions(&numbers.dims, &picks, span)?;
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
}
