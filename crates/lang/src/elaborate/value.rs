//! Values of expressions during elaboration: scalars and arrays of graph nodes.

use crate::model::Type;
use daelight_expr::ExprId;
use std::rc::Rc;

/// A scalar, an array of any rank in row-major order, a text, a record, or an array of texts or records.
#[derive(Clone, Debug)]
pub enum Value {
    Scalar(Type, ExprId),
    Array(Rc<Array>),
    Text(Rc<str>),
    Record(Rc<Record>),
    List(Rc<List>),
    /// A function with inputs that are bound already.
    Function(Rc<Closure>),
    /// An external object: its number among those of the model.
    Object(usize),
}

#[derive(Clone, Debug)]
pub struct Record {
    /// The name of its class, for messages.
    pub class: Option<Rc<str>>,
    /// Its class in use, where operators are looked for.
    pub node: Option<super::scope::NodeId>,
    pub fields: Vec<(Rc<str>, Value)>,
}

#[derive(Clone, Debug)]
pub struct List {
    pub dims: Vec<usize>,
    pub items: Vec<Value>,
}

#[derive(Clone, Debug)]
pub struct Closure {
    pub function: super::scope::NodeId,
    pub bound: Vec<(Rc<str>, Value)>,
}

#[derive(Clone, Debug)]
pub struct Array {
    pub ty: Type,
    pub dims: Vec<usize>,
    pub data: Vec<ExprId>,
}

impl Value {
    /// An array, or a scalar where there are no sizes.
    pub fn shaped(ty: Type, dims: Vec<usize>, data: Vec<ExprId>) -> Value {
        if dims.is_empty() {
            Value::Scalar(ty, data[0])
        } else {
            Value::Array(Rc::new(Array { ty, dims, data }))
        }
    }

    /// An array of texts or records, or the one where there are no sizes.
    pub fn listed(dims: Vec<usize>, items: Vec<Value>) -> Value {
        match (dims.is_empty(), items.first()) {
            (true, Some(item)) => item.clone(),
            _ => Value::List(Rc::new(List { dims, items })),
        }
    }

    pub fn vector(ty: Type, data: Vec<ExprId>) -> Value {
        Value::shaped(ty, vec![data.len()], data)
    }

    pub fn dims(&self) -> &[usize] {
        match self {
            Value::Array(array) => &array.dims,
            Value::List(list) => &list.dims,
            _ => &[],
        }
    }

    /// What lies behind the first subscripts of an array, the elements before them counted.
    pub fn part(&self, n_subscripts: usize, position: usize) -> Value {
        let inner: Vec<usize> = self.dims()[n_subscripts.min(self.dims().len())..].to_vec();
        let count: usize = inner.iter().product();
        let range = position * count..(position + 1) * count;
        match self {
            Value::Array(array) => Value::shaped(array.ty, inner, array.data[range].to_vec()),
            Value::List(list) => Value::listed(inner, list.items[range].to_vec()),
            other => other.clone(),
        }
    }

    /// Whether it has these sizes. Nothing fits nothing: an empty comprehension does not know the
    /// sizes of the elements it would have.
    pub fn fits(&self, dims: &[usize]) -> bool {
        let empty = |dims: &[usize]| dims.contains(&0);
        self.dims() == dims || (empty(self.dims()) && empty(dims))
    }

    /// The elements in row-major order; none for a text.
    pub fn elements(&self) -> &[ExprId] {
        match self {
            Value::Scalar(_, expr) => std::slice::from_ref(expr),
            Value::Array(array) => &array.data,
            _ => &[],
        }
    }

    pub fn ty(&self) -> Option<Type> {
        match self {
            Value::Scalar(ty, _) => Some(*ty),
            Value::Array(array) => Some(array.ty),
            _ => None,
        }
    }

    /// How messages name it: `a Real`, `a vector of 3`, `a 2 by 3 matrix`.
    pub fn describe(&self) -> String {
        let ty = match self.ty() {
            None => {
                return match self {
                    Value::Record(record) => match &record.class {
                        Some(class) => format!("a record `{class}`"),
                        None => "a record".into(),
                    },
                    Value::List(_) => "an array of records or texts".into(),
                    Value::Function(_) => "a function".into(),
                    Value::Object(_) => "an external object".into(),
                    _ => "a text".into(),
                };
            }
            Some(Type::Real) => "real number",
            Some(Type::Integer) => "whole number",
            Some(Type::Boolean) => "truth value",
        };
        match self.dims() {
            [] => format!("a {ty}"),
            dims => describe_dims(dims),
        }
    }
}

/// `a scalar`, `a vector of 3 elements`, `a 2 by 3 matrix`, `an array of sizes 2, 3, 4`.
pub fn describe_dims(dims: &[usize]) -> String {
    match dims {
        [] => "a scalar".into(),
        [1] => "a vector of 1 element".into(),
        [n] => format!("a vector of {n} elements"),
        [n, m] => format!("a {n} by {m} matrix"),
        more => {
            let sizes: Vec<String> = more.iter().map(usize::to_string).collect();
            format!("an array of sizes {}", sizes.join(", "))
        }
    }
}

/// The type of a sum or product of numbers.
pub fn common(a: Type, b: Type) -> Type {
    if a == Type::Integer && b == Type::Integer {
        Type::Integer
    } else {
        Type::Real
    }
}
