//! The functions that native code calls: those of the standard library, as the interpreter uses them.
//!
//! Where a function makes a number of infinity (exp, tanh, the inverse tangents, powers) the
//! argument is checked first, because an infinite operand has no value.

use daelight_expr::{BinaryOp, Operation, UnaryOp};

/// Sine and cosine, returned in two floating-point registers.
#[repr(C)]
pub(crate) struct SineCosine {
    sine: f64,
    cosine: f64,
}

/// Whether two numbers in a struct come back in two registers; Windows returns them in memory.
pub(crate) const RETURNS_PAIRS: bool = cfg!(all(
    not(windows),
    any(target_arch = "x86_64", target_arch = "aarch64")
));

#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    fn sincos(x: f64, sine: *mut f64, cosine: *mut f64);
}

/// The address of a function that writes sine and cosine to memory, where the C library has one.
///
/// It is the one that the standard library's `sin_cos` is compiled to; called directly it saves a
/// call and a copy.
pub(crate) fn sine_cosine_to_memory() -> Option<usize> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    return Some(sincos as *const () as usize);
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    return None;
}

pub(crate) extern "C" fn sine_cosine(x: f64) -> SineCosine {
    let (sine, cosine) = x.sin_cos();
    SineCosine { sine, cosine }
}

/// The result, unless an argument was infinite.
fn of_numbers(result: f64, arguments: [f64; 2]) -> f64 {
    if arguments.iter().all(|x| x.is_finite()) {
        result
    } else {
        f64::NAN
    }
}

macro_rules! functions {
    ($($name:ident $op:ident)*) => {
        $(extern "C" fn $name(x: f64) -> f64 {
            of_numbers(UnaryOp::$op.apply(x), [x; 2])
        })*

        /// The address of a function of one argument; `None` for what is done by instructions.
        pub(crate) fn unary(op: UnaryOp) -> Option<usize> {
            match op {
                $(UnaryOp::$op => Some($name as *const () as usize),)*
                _ => None,
            }
        }
    };
}

functions! {
    exp Exp log Log log10 Log10 sin Sin cos Cos tan Tan asin Asin acos Acos atan Atan
    sinh Sinh cosh Cosh tanh Tanh
}

extern "C" fn pow(x: f64, y: f64) -> f64 {
    of_numbers(BinaryOp::Pow.apply(x, y), [x, y])
}

extern "C" fn atan2(y: f64, x: f64) -> f64 {
    if y == 0.0 && x == 0.0 {
        return f64::NAN;
    }
    of_numbers(BinaryOp::Atan2.apply(y, x), [y, x])
}

/// The address of a function of two arguments; `None` for what is done by instructions.
pub(crate) fn binary(op: BinaryOp) -> Option<usize> {
    match op {
        BinaryOp::Pow => Some(pow as *const () as usize),
        BinaryOp::Atan2 => Some(atan2 as *const () as usize),
        _ => None,
    }
}

/// Whether an operation calls a function.
pub(crate) fn is_call(operation: Operation) -> bool {
    match operation {
        Operation::Unary(op, _) => unary(op).is_some(),
        Operation::Binary(op, ..) => binary(op).is_some(),
        _ => false,
    }
}
