//! Values of expressions during elaboration: scalars and arrays of graph nodes.

use crate::model::Type;
use daelight_expr::ExprId;
use std::rc::Rc;

/// A scalar, an array of any rank in row-major order, or a text.
#[derive(Clone, Debug)]
pub enum Value {
    Scalar(Type, ExprId),
    Array(Rc<Array>),
    Text(Rc<str>),
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

    pub fn vector(ty: Type, data: Vec<ExprId>) -> Value {
        Value::shaped(ty, vec![data.len()], data)
    }

    pub fn dims(&self) -> &[usize] {
        match self {
            Value::Array(array) => &array.dims,
            Value::Scalar(..) | Value::Text(_) => &[],
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
            Value::Text(_) => &[],
        }
    }

    pub fn ty(&self) -> Option<Type> {
        match self {
            Value::Scalar(ty, _) => Some(*ty),
            Value::Array(array) => Some(array.ty),
            Value::Text(_) => None,
        }
    }

    /// How messages name it: `a Real`, `a vector of 3`, `a 2 by 3 matrix`.
    pub fn describe(&self) -> String {
        let ty = match self.ty() {
            None => return "a text".into(),
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
