//! Expressions as Modelica text, with the fewest parentheses that keep the order of operations.

use crate::graph::{BinaryOp, ExprId, Graph, Node, SymbolId, UnaryOp};

/// The text would be longer than the caller allows: shared parts are written out each time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

/// Binding strengths of the Modelica grammar, weakest first.
pub(crate) const OR: u8 = 1;
pub(crate) const AND: u8 = 2;
pub(crate) const NOT: u8 = 3;
pub(crate) const RELATION: u8 = 4;
pub(crate) const SUM: u8 = 5;
pub(crate) const PRODUCT: u8 = 6;
pub(crate) const POWER: u8 = 7;
pub(crate) const PRIMARY: u8 = 8;

enum Task {
    Text(&'static str),
    Expr(ExprId, u8),
    /// An expression that stands for a truth value.
    Truth(ExprId, u8),
    /// `-` and the magnitude of a negative constant or the inner expression of a negation.
    Magnitude(ExprId, u8),
}

/// A number as Modelica writes it: the shortest decimal that reads back to the same value.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else if value != 0.0 && !(-4.0..15.0).contains(&value.abs().log10()) {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}

impl Graph {
    /// The expression as Modelica text of at most `limit` bytes; `name` writes a symbol.
    pub fn modelica(
        &self,
        root: ExprId,
        limit: usize,
        name: impl FnMut(SymbolId, &mut String),
    ) -> Result<String, TooLong> {
        self.modelica_quiet(root, limit, |_| false, name)
    }

    /// The same with `noEvent(…)` around some expressions.
    pub fn modelica_quiet(
        &self,
        root: ExprId,
        limit: usize,
        is_quiet: impl Fn(ExprId) -> bool,
        mut name: impl FnMut(SymbolId, &mut String),
    ) -> Result<String, TooLong> {
        let mut text = String::new();
        let mut tasks = vec![Task::Expr(root, 0)];
        while let Some(task) = tasks.pop() {
            if text.len() > limit {
                return Err(TooLong);
            }
            match task {
                Task::Text(piece) => text.push_str(piece),
                Task::Truth(id, least) => match self.node(id) {
                    Node::Constant(bits) => {
                        let holds = f64::from_bits(bits) != 0.0;
                        text.push_str(if holds { "true" } else { "false" });
                    }
                    Node::Select(condition, a, b) if !is_quiet(id) => {
                        let start = tasks.len();
                        let parenthesised = least > 0;
                        text.push_str(if parenthesised { "(if " } else { "if " });
                        tasks.extend(choice(Task::Truth, condition, a, b));
                        if parenthesised {
                            tasks.push(Task::Text(")"));
                        }
                        tasks[start..].reverse();
                    }
                    _ => tasks.push(Task::Expr(id, least)),
                },
                Task::Magnitude(id, least) => {
                    let start = tasks.len();
                    self.write_magnitude(id, least, &mut text, &mut tasks);
                    tasks[start..].reverse();
                }
                Task::Expr(id, least) => {
                    let start = tasks.len();
                    let quiet = is_quiet(id);
                    if quiet {
                        text.push_str("noEvent");
                    }
                    let parenthesised = quiet || self.strength(id) < least;
                    if parenthesised {
                        text.push('(');
                    }
                    self.write_node(id, &mut text, &mut tasks, &mut name);
                    if parenthesised {
                        tasks.push(Task::Text(")"));
                    }
                    tasks[start..].reverse();
                }
            }
        }
        Ok(text)
    }

    /// The factor that carries the sign, when the expression reads best with a leading minus.
    pub(crate) fn is_negative(&self, id: ExprId) -> bool {
        match self.node(id) {
            Node::Constant(bits) => f64::from_bits(bits) < 0.0,
            Node::Unary(UnaryOp::Neg, _) => true,
            Node::Binary(BinaryOp::Mul | BinaryOp::Div, a, _) => {
                self.as_constant(a).is_some_and(|value| value < 0.0)
            }
            _ => false,
        }
    }

    fn strength(&self, id: ExprId) -> u8 {
        if self.is_negative(id) {
            return SUM;
        }
        match self.node(id) {
            Node::Constant(_) | Node::Symbol(_) => PRIMARY,
            Node::Unary(UnaryOp::Not, _) => NOT,
            Node::Unary(..) => PRIMARY,
            Node::Binary(op, ..) => match op {
                BinaryOp::Add | BinaryOp::Sub => SUM,
                BinaryOp::Mul | BinaryOp::Div => PRODUCT,
                BinaryOp::Pow => POWER,
                BinaryOp::Atan2 | BinaryOp::Min | BinaryOp::Max => PRIMARY,
                BinaryOp::And => AND,
                BinaryOp::Or => OR,
                _ => RELATION,
            },
            Node::Select(..) => 0,
        }
    }

    /// Writes the expression without its leading minus.
    fn write_magnitude(&self, id: ExprId, least: u8, text: &mut String, tasks: &mut Vec<Task>) {
        match self.node(id) {
            Node::Constant(bits) => text.push_str(&number(-f64::from_bits(bits))),
            Node::Unary(_, inner) => tasks.push(Task::Expr(inner, least)),
            Node::Binary(op, a, b) => {
                tasks.push(Task::Magnitude(a, PRODUCT));
                tasks.push(Task::Text(if op == BinaryOp::Mul { "*" } else { "/" }));
                tasks.push(Task::Expr(b, POWER));
            }
            _ => tasks.push(Task::Expr(id, least)),
        }
    }

    fn write_node(
        &self,
        id: ExprId,
        text: &mut String,
        tasks: &mut Vec<Task>,
        name: &mut impl FnMut(SymbolId, &mut String),
    ) {
        if self.is_negative(id) {
            text.push('-');
            tasks.push(Task::Magnitude(id, PRODUCT));
            return;
        }
        match self.node(id) {
            Node::Constant(bits) => text.push_str(&number(f64::from_bits(bits))),
            Node::Symbol(symbol) => name(symbol, text),
            Node::Unary(UnaryOp::Not, a) => {
                text.push_str("not ");
                tasks.push(Task::Truth(a, RELATION));
            }
            Node::Unary(op, a) => {
                text.push_str(function_name(op));
                text.push('(');
                tasks.extend([Task::Expr(a, 0), Task::Text(")")]);
            }
            Node::Binary(op, a, b) => self.write_binary(op, a, b, text, tasks),
            Node::Select(condition, a, b) => {
                text.push_str("if ");
                let side = match self.is_truth(id) {
                    true => Task::Truth,
                    false => Task::Expr,
                };
                tasks.extend(choice(side, condition, a, b));
            }
        }
    }

    /// Whether an expression is a truth: 0 and 1 beside a relation are `false` and `true`.
    fn is_truth(&self, id: ExprId) -> bool {
        let mut id = id;
        loop {
            match self.node(id) {
                Node::Select(_, a, b) => id = if self.as_constant(a).is_some() { b } else { a },
                Node::Unary(UnaryOp::Not, _) => return true,
                Node::Binary(op, ..) => {
                    return matches!(
                        op,
                        BinaryOp::And
                            | BinaryOp::Or
                            | BinaryOp::Less
                            | BinaryOp::LessEqual
                            | BinaryOp::Greater
                            | BinaryOp::GreaterEqual
                            | BinaryOp::Equal
                            | BinaryOp::NotEqual
                    );
                }
                _ => return false,
            }
        }
    }

    fn write_binary(
        &self,
        op: BinaryOp,
        a: ExprId,
        b: ExprId,
        text: &mut String,
        tasks: &mut Vec<Task>,
    ) {
        let (left, sign, right) = match op {
            BinaryOp::Atan2 | BinaryOp::Min | BinaryOp::Max => {
                text.push_str(match op {
                    BinaryOp::Atan2 => "atan2(",
                    BinaryOp::Min => "min(",
                    _ => "max(",
                });
                tasks.extend([
                    Task::Expr(a, 0),
                    Task::Text(", "),
                    Task::Expr(b, 0),
                    Task::Text(")"),
                ]);
                return;
            }
            BinaryOp::Add | BinaryOp::Sub if self.is_negative(b) => {
                let opposite = if op == BinaryOp::Add { " - " } else { " + " };
                tasks.extend([
                    Task::Expr(a, SUM),
                    Task::Text(opposite),
                    Task::Magnitude(b, PRODUCT),
                ]);
                return;
            }
            BinaryOp::Add => (SUM, " + ", PRODUCT),
            BinaryOp::Sub => (SUM, " - ", PRODUCT),
            BinaryOp::Mul => (PRODUCT, "*", POWER),
            BinaryOp::Div => (PRODUCT, "/", POWER),
            BinaryOp::Pow => (PRIMARY, "^", PRIMARY),
            BinaryOp::And => (AND, " and ", NOT),
            BinaryOp::Or => (OR, " or ", AND),
            BinaryOp::Less => (SUM, " < ", SUM),
            BinaryOp::LessEqual => (SUM, " <= ", SUM),
            BinaryOp::Greater => (SUM, " > ", SUM),
            BinaryOp::GreaterEqual => (SUM, " >= ", SUM),
            BinaryOp::Equal => (SUM, " == ", SUM),
            BinaryOp::NotEqual => (SUM, " <> ", SUM),
        };
        let operand = match op {
            BinaryOp::And | BinaryOp::Or => Task::Truth,
            _ => Task::Expr,
        };
        tasks.extend([operand(a, left), Task::Text(sign), operand(b, right)]);
    }
}

/// What follows `if`.
fn choice(side: fn(ExprId, u8) -> Task, condition: ExprId, a: ExprId, b: ExprId) -> [Task; 5] {
    [
        Task::Truth(condition, 0),
        Task::Text(" then "),
        side(a, 0),
        Task::Text(" else "),
        side(b, 0),
    ]
}

/// The Modelica name of a function of one argument.
fn function_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "-",
        UnaryOp::Not => "not ",
        UnaryOp::Sqrt => "sqrt",
        UnaryOp::Exp => "exp",
        UnaryOp::Log => "log",
        UnaryOp::Log10 => "log10",
        UnaryOp::Sin => "sin",
        UnaryOp::Cos => "cos",
        UnaryOp::Tan => "tan",
        UnaryOp::Asin => "asin",
        UnaryOp::Acos => "acos",
        UnaryOp::Atan => "atan",
        UnaryOp::Sinh => "sinh",
        UnaryOp::Cosh => "cosh",
        UnaryOp::Tanh => "tanh",
        UnaryOp::Abs => "abs",
        UnaryOp::Sign => "sign",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(build: impl FnOnce(&mut Graph, [ExprId; 3]) -> ExprId, expected: &str) {
        let mut graph = Graph::new();
        let leaves = [0, 1, 2].map(|k| graph.symbol(SymbolId(k)));
        let root = build(&mut graph, leaves);
        let text = graph.modelica(root, 1000, |symbol, text| {
            text.push(['x', 'y', 'z'][symbol.0 as usize]);
        });
        assert_eq!(text.unwrap(), expected);
    }

    #[test]
    fn parentheses_keep_the_order_of_operations() {
        check(
            |g, [x, y, z]| {
                let s = g.add(y, z);
                g.add(x, s)
            },
            "x + (y + z)",
        );
        check(
            |g, [x, y, z]| {
                let s = g.sub(x, y);
                g.sub(s, z)
            },
            "x - y - z",
        );
        check(
            |g, [x, y, z]| {
                let s = g.add(x, y);
                g.mul(s, z)
            },
            "(x + y)*z",
        );
        check(
            |g, [x, y, z]| {
                let s = g.div(x, y);
                g.div(z, s)
            },
            "z/(x/y)",
        );
        check(
            |g, [x, y, _]| {
                let s = g.neg(x);
                g.pow(s, y)
            },
            "(-x)^y",
        );
        check(
            |g, [x, y, _]| {
                let s = g.pow(x, y);
                g.neg(s)
            },
            "-x^y",
        );
        check(
            |g, [x, y, z]| {
                let s = g.pow(x, y);
                g.pow(s, z)
            },
            "(x^y)^z",
        );
    }

    #[test]
    fn negative_numbers_and_choices_have_parentheses() {
        check(
            |g, [x, y, _]| {
                let c = g.constant(-2.0);
                let p = g.mul(c, y);
                g.add(x, p)
            },
            "x - 2*y",
        );
        check(
            |g, [x, y, _]| {
                let c = g.constant(-2.0);
                let p = g.mul(c, y);
                g.mul(x, p)
            },
            "x*(-2*y)",
        );
        check(
            |g, [x, _, _]| {
                let c = g.constant(-2.0);
                g.pow(x, c)
            },
            "x^(-2)",
        );
        check(
            |g, [x, y, z]| {
                let c = g.binary(BinaryOp::Less, x, y);
                let s = g.select(c, y, z);
                g.mul(s, x)
            },
            "(if x < y then y else z)*x",
        );
        check(
            |g, [x, y, z]| {
                let c = g.binary(BinaryOp::Less, x, y);
                let d = g.binary(BinaryOp::Less, y, z);
                let none = g.constant(0.0);
                let s = g.select(c, none, d);
                g.select(s, x, y)
            },
            "if if x < y then false else y < z then x else y",
        );
        check(
            |g, [x, y, z]| {
                let a = g.binary(BinaryOp::Less, x, y);
                let b = g.binary(BinaryOp::Greater, y, z);
                let o = g.binary(BinaryOp::Or, a, b);
                g.unary(UnaryOp::Not, o)
            },
            "not (x < y or y > z)",
        );
    }

    #[test]
    fn numbers_read_back_exactly() {
        for value in [
            0.1,
            1e-300,
            1e300,
            123456789.0,
            2.5e-5,
            1e15,
            9.81,
            f64::MIN_POSITIVE,
        ] {
            assert_eq!(
                number(value).parse::<f64>().unwrap(),
                value,
                "{}",
                number(value)
            );
        }
    }

    #[test]
    fn text_that_would_explode_is_refused() {
        let mut graph = Graph::new();
        let mut e = graph.symbol(SymbolId(0));
        for _ in 0..100 {
            let sine = graph.unary(UnaryOp::Sin, e);
            e = graph.mul(e, sine);
        }
        assert_eq!(
            graph.modelica(e, 1 << 20, |_, text| text.push('x')),
            Err(TooLong)
        );
    }
}
