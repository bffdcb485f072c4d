//! Expressions for the page: LaTeX and presentation MathML.
//!
//! Fractions, roots and powers are set as such, so fewer parentheses are needed than in text.

use crate::graph::{BinaryOp, ExprId, Graph, Node, SymbolId, UnaryOp};
use crate::print::{AND, NOT, OR, POWER, PRIMARY, PRODUCT, RELATION, SUM, TooLong, number};

/// How an expression is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Markup {
    /// LaTeX math, without delimiters.
    Latex,
    /// MathML elements, without the `math` element around them.
    MathMl,
}

// Roots and calls are whole by themselves.
const ANY: u8 = 0;
const WHOLE: u8 = PRIMARY;

enum Task {
    Text(&'static str),
    Expr(ExprId, u8),
    /// A negative expression without its sign.
    Magnitude(ExprId),
}

impl Graph {
    /// The expression as markup of at most `limit` bytes.
    ///
    /// `name` gives the name of a symbol and how many dots it carries: 1 for a first derivative.
    pub fn markup(
        &self,
        root: ExprId,
        format: Markup,
        limit: usize,
        mut name: impl FnMut(SymbolId) -> (String, u32),
    ) -> Result<String, TooLong> {
        let mut text = String::new();
        let mut tasks = vec![Task::Expr(root, ANY)];
        while let Some(task) = tasks.pop() {
            if text.len() > limit {
                return Err(TooLong);
            }
            let start = tasks.len();
            match task {
                Task::Text(piece) => text.push_str(piece),
                Task::Magnitude(id) => self.set_magnitude(id, format, &mut text, &mut tasks),
                Task::Expr(id, least) => {
                    let parenthesised = self.set_strength(id) < least;
                    if parenthesised {
                        text.push_str(format.pick(r"\left(", "<mrow><mo>(</mo>"));
                    }
                    self.set(id, format, &mut text, &mut tasks, &mut name);
                    if parenthesised {
                        tasks.push(Task::Text(format.pick(r"\right)", "<mo>)</mo></mrow>")));
                    }
                }
            }
            tasks[start..].reverse();
        }
        Ok(text)
    }

    fn set_strength(&self, id: ExprId) -> u8 {
        if self.is_negative(id) {
            return SUM;
        }
        match self.node(id) {
            Node::Unary(UnaryOp::Not, _) => NOT,
            Node::Binary(op, ..) => match op {
                BinaryOp::Add | BinaryOp::Sub => SUM,
                BinaryOp::Mul => PRODUCT,
                // A fraction needs parentheses as the base of a power alone.
                BinaryOp::Pow | BinaryOp::Div => POWER,
                BinaryOp::And => AND,
                BinaryOp::Or => OR,
                BinaryOp::Atan2 | BinaryOp::Min | BinaryOp::Max => WHOLE,
                _ => RELATION,
            },
            _ => WHOLE,
        }
    }

    fn set_magnitude(&self, id: ExprId, format: Markup, text: &mut String, tasks: &mut Vec<Task>) {
        match self.node(id) {
            Node::Constant(bits) => text.push_str(&set_number(-f64::from_bits(bits), format)),
            Node::Unary(_, inner) => tasks.push(Task::Expr(inner, PRODUCT)),
            Node::Binary(BinaryOp::Div, a, b) => {
                fraction(Task::Magnitude(a), Task::Expr(b, ANY), format, tasks);
            }
            Node::Binary(_, a, b) => {
                let one = self.as_constant(a) == Some(-1.0);
                if !one {
                    tasks.push(Task::Magnitude(a));
                    tasks.push(Task::Text(self.times(b, format)));
                }
                tasks.push(Task::Expr(b, POWER));
            }
            _ => tasks.push(Task::Expr(id, ANY)),
        }
    }

    /// The sign between two factors: none, but a dot before a number.
    fn times(&self, right: ExprId, format: Markup) -> &'static str {
        let leading = match self.node(right) {
            Node::Binary(BinaryOp::Pow, base, _) => base,
            _ => right,
        };
        match self.as_constant(leading).is_some() {
            true => format.pick(r" \cdot ", "<mo>&#x22C5;</mo>"),
            false => format.pick(r"\,", "<mo lspace=\"0.17em\" rspace=\"0\">&#x2062;</mo>"),
        }
    }

    fn set(
        &self,
        id: ExprId,
        format: Markup,
        text: &mut String,
        tasks: &mut Vec<Task>,
        name: &mut impl FnMut(SymbolId) -> (String, u32),
    ) {
        if self.is_negative(id) {
            text.push_str(format.pick("-", "<mrow><mo>-</mo>"));
            tasks.push(Task::Magnitude(id));
            tasks.push(Task::Text(format.pick("", "</mrow>")));
            return;
        }
        match self.node(id) {
            Node::Constant(bits) => text.push_str(&set_number(f64::from_bits(bits), format)),
            Node::Symbol(symbol) => {
                let (name, dots) = name(symbol);
                text.push_str(&set_name(&name, dots, format));
            }
            Node::Unary(op, a) => set_function(op, a, format, text, tasks),
            Node::Binary(op, a, b) => self.set_binary(op, a, b, format, text, tasks),
            Node::Select(condition, a, b) => {
                text.push_str(format.pick(
                    r"\begin{cases}",
                    "<mrow><mo>{</mo><mtable columnalign=\"left\"><mtr><mtd>",
                ));
                tasks.extend([
                    Task::Expr(a, ANY),
                    Task::Text(format.pick(r" & \text{if } ", "</mtd><mtd><mtext>if </mtext>")),
                    Task::Expr(condition, ANY),
                    Task::Text(format.pick(r" \\ ", "</mtd></mtr><mtr><mtd>")),
                    Task::Expr(b, ANY),
                    Task::Text(format.pick(
                        r" & \text{otherwise}\end{cases}",
                        "</mtd><mtd><mtext>otherwise</mtext></mtd></mtr></mtable></mrow>",
                    )),
                ]);
            }
        }
    }

    fn set_binary(
        &self,
        op: BinaryOp,
        a: ExprId,
        b: ExprId,
        format: Markup,
        text: &mut String,
        tasks: &mut Vec<Task>,
    ) {
        let (left, sign, right) = match op {
            BinaryOp::Div => {
                return fraction(Task::Expr(a, ANY), Task::Expr(b, ANY), format, tasks);
            }
            BinaryOp::Pow => {
                text.push_str(format.pick("", "<msup><mrow>"));
                tasks.extend([
                    Task::Expr(a, WHOLE),
                    Task::Text(format.pick("^{", "</mrow><mrow>")),
                    Task::Expr(b, ANY),
                    Task::Text(format.pick("}", "</mrow></msup>")),
                ]);
                return;
            }
            BinaryOp::Atan2 | BinaryOp::Min | BinaryOp::Max => {
                text.push_str(match (op, format) {
                    (BinaryOp::Atan2, Markup::Latex) => r"\operatorname{atan2}\left(",
                    (BinaryOp::Min, Markup::Latex) => r"\min\left(",
                    (_, Markup::Latex) => r"\max\left(",
                    (BinaryOp::Atan2, _) => "<mrow><mi>atan2</mi><mo>(</mo>",
                    (BinaryOp::Min, _) => "<mrow><mi>min</mi><mo>(</mo>",
                    (_, _) => "<mrow><mi>max</mi><mo>(</mo>",
                });
                tasks.extend([
                    Task::Expr(a, ANY),
                    Task::Text(format.pick(", ", "<mo>,</mo>")),
                    Task::Expr(b, ANY),
                    Task::Text(format.pick(r"\right)", "<mo>)</mo></mrow>")),
                ]);
                return;
            }
            BinaryOp::Add | BinaryOp::Sub if self.is_negative(b) => {
                let plus = op == BinaryOp::Sub;
                text.push_str(format.pick("", "<mrow>"));
                tasks.extend([
                    Task::Expr(a, SUM),
                    Task::Text(match plus {
                        true => format.pick(" + ", "<mo>+</mo>"),
                        false => format.pick(" - ", "<mo>-</mo>"),
                    }),
                    Task::Magnitude(b),
                    Task::Text(format.pick("", "</mrow>")),
                ]);
                return;
            }
            BinaryOp::Add => (SUM, format.pick(" + ", "<mo>+</mo>"), SUM + 1),
            BinaryOp::Sub => (SUM, format.pick(" - ", "<mo>-</mo>"), PRODUCT),
            BinaryOp::Mul => (PRODUCT, self.times(b, format), POWER),
            BinaryOp::Less => (SUM, format.pick(" < ", "<mo>&lt;</mo>"), SUM),
            BinaryOp::LessEqual => (SUM, format.pick(r" \le ", "<mo>&#x2264;</mo>"), SUM),
            BinaryOp::Greater => (SUM, format.pick(" > ", "<mo>&gt;</mo>"), SUM),
            BinaryOp::GreaterEqual => (SUM, format.pick(r" \ge ", "<mo>&#x2265;</mo>"), SUM),
            BinaryOp::Equal => (SUM, format.pick(" = ", "<mo>=</mo>"), SUM),
            BinaryOp::NotEqual => (SUM, format.pick(r" \ne ", "<mo>&#x2260;</mo>"), SUM),
            BinaryOp::And => (AND, format.pick(r" \land ", "<mo>&#x2227;</mo>"), NOT),
            BinaryOp::Or => (OR, format.pick(r" \lor ", "<mo>&#x2228;</mo>"), AND),
        };
        text.push_str(format.pick("", "<mrow>"));
        tasks.extend([
            Task::Expr(a, left),
            Task::Text(sign),
            Task::Expr(b, right),
            Task::Text(format.pick("", "</mrow>")),
        ]);
    }
}

impl Markup {
    fn pick(self, latex: &'static str, mathml: &'static str) -> &'static str {
        match self {
            Markup::Latex => latex,
            Markup::MathMl => mathml,
        }
    }
}

fn fraction(top: Task, bottom: Task, format: Markup, tasks: &mut Vec<Task>) {
    tasks.extend([
        Task::Text(format.pick(r"\frac{", "<mfrac><mrow>")),
        top,
        Task::Text(format.pick("}{", "</mrow><mrow>")),
        bottom,
        Task::Text(format.pick("}", "</mrow></mfrac>")),
    ]);
}

fn set_function(op: UnaryOp, a: ExprId, format: Markup, text: &mut String, tasks: &mut Vec<Task>) {
    let (open, close) = match op {
        UnaryOp::Sqrt => (
            format.pick(r"\sqrt{", "<msqrt>"),
            format.pick("}", "</msqrt>"),
        ),
        UnaryOp::Abs => (
            format.pick(r"\left|", "<mrow><mo>|</mo>"),
            format.pick(r"\right|", "<mo>|</mo></mrow>"),
        ),
        UnaryOp::Not => {
            text.push_str(format.pick(r"\lnot ", "<mrow><mo>&#xAC;</mo>"));
            tasks.push(Task::Expr(a, RELATION));
            tasks.push(Task::Text(format.pick("", "</mrow>")));
            return;
        }
        _ => {
            let (latex, plain) = match op {
                UnaryOp::Exp => (r"\exp", "exp"),
                UnaryOp::Log => (r"\ln", "ln"),
                UnaryOp::Log10 => (r"\log_{10}", "log10"),
                UnaryOp::Sin => (r"\sin", "sin"),
                UnaryOp::Cos => (r"\cos", "cos"),
                UnaryOp::Tan => (r"\tan", "tan"),
                UnaryOp::Asin => (r"\arcsin", "arcsin"),
                UnaryOp::Acos => (r"\arccos", "arccos"),
                UnaryOp::Atan => (r"\arctan", "arctan"),
                UnaryOp::Sinh => (r"\sinh", "sinh"),
                UnaryOp::Cosh => (r"\cosh", "cosh"),
                UnaryOp::Tanh => (r"\tanh", "tanh"),
                _ => (r"\operatorname{sign}", "sign"),
            };
            match format {
                Markup::Latex => text.push_str(latex),
                Markup::MathMl => {
                    text.push_str("<mrow><mi>");
                    text.push_str(plain);
                    text.push_str("</mi>");
                }
            }
            (
                format.pick(r"\left(", "<mo>(</mo>"),
                format.pick(r"\right)", "<mo>)</mo></mrow>"),
            )
        }
    };
    text.push_str(open);
    tasks.extend([Task::Expr(a, ANY), Task::Text(close)]);
}

/// A number; powers of ten are written as such.
fn set_number(value: f64, format: Markup) -> String {
    let plain = number(value);
    match (plain.split_once('e'), format) {
        (None, Markup::Latex) => plain,
        (None, Markup::MathMl) => format!("<mn>{plain}</mn>"),
        (Some((digits, power)), Markup::Latex) => format!(r"{digits} \cdot 10^{{{power}}}"),
        (Some((digits, power)), Markup::MathMl) => format!(
            "<mrow><mn>{digits}</mn><mo>&#x22C5;</mo><msup><mn>10</mn><mn>{power}</mn></msup></mrow>"
        ),
    }
}

const GREEK: &[(&str, char)] = &[
    ("alpha", 'α'),
    ("beta", 'β'),
    ("gamma", 'γ'),
    ("delta", 'δ'),
    ("epsilon", 'ε'),
    ("zeta", 'ζ'),
    ("eta", 'η'),
    ("theta", 'θ'),
    ("kappa", 'κ'),
    ("lambda", 'λ'),
    ("mu", 'μ'),
    ("nu", 'ν'),
    ("xi", 'ξ'),
    ("pi", 'π'),
    ("rho", 'ρ'),
    ("sigma", 'σ'),
    ("tau", 'τ'),
    ("phi", 'φ'),
    ("chi", 'χ'),
    ("psi", 'ψ'),
    ("omega", 'ω'),
    ("Gamma", 'Γ'),
    ("Delta", 'Δ'),
    ("Theta", 'Θ'),
    ("Lambda", 'Λ'),
    ("Xi", 'Ξ'),
    ("Pi", 'Π'),
    ("Sigma", 'Σ'),
    ("Phi", 'Φ'),
    ("Psi", 'Ψ'),
    ("Omega", 'Ω'),
];

/// A name: `x3` and `p[2]` with subscripts, Greek letters as such, derivatives with dots.
fn set_name(name: &str, dots: u32, format: Markup) -> String {
    let (stem, subscript) = split_name(name);
    let greek = GREEK.iter().find(|(word, _)| *word == stem);
    let mut text = match (format, greek) {
        (Markup::Latex, Some((word, _))) => format!(r"\{word}"),
        (Markup::Latex, None) if stem.chars().count() == 1 => escape_latex(&stem),
        (Markup::Latex, None) => format!(r"\mathrm{{{}}}", escape_latex(&stem)),
        (Markup::MathMl, Some((_, letter))) => format!("<mi>{letter}</mi>"),
        (Markup::MathMl, None) => format!("<mi>{}</mi>", escape_xml(&stem)),
    };
    if dots > 0 {
        text = match (format, dots) {
            (Markup::Latex, 1) => format!(r"\dot{{{text}}}"),
            (Markup::Latex, 2) => format!(r"\ddot{{{text}}}"),
            (Markup::Latex, more) => format!("{text}^{{({more})}}"),
            (Markup::MathMl, 1) => format!("<mover>{text}<mo>&#x2D9;</mo></mover>"),
            (Markup::MathMl, 2) => format!("<mover>{text}<mo>&#xA8;</mo></mover>"),
            (Markup::MathMl, more) => {
                format!("<msup>{text}<mrow><mo>(</mo><mn>{more}</mn><mo>)</mo></mrow></msup>")
            }
        };
    }
    match (format, subscript) {
        (_, None) => text,
        (Markup::Latex, Some(subscript)) => format!("{text}_{{{}}}", escape_latex(&subscript)),
        (Markup::MathMl, Some(subscript)) => {
            format!(
                "<msub>{text}<mtext>{}</mtext></msub>",
                escape_xml(&subscript)
            )
        }
    }
}

/// The letters of a name and what follows them as a subscript.
fn split_name(name: &str) -> (String, Option<String>) {
    if let Some((stem, rest)) = name.split_once('[')
        && let Some(inside) = rest.strip_suffix(']')
        && !stem.is_empty()
    {
        return (stem.to_string(), Some(inside.to_string()));
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if !stem.is_empty() && stem.len() < name.len() && stem.chars().all(char::is_alphabetic) {
        return (stem.to_string(), Some(name[stem.len()..].to_string()));
    }
    (name.to_string(), None)
}

fn escape_latex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str(r"\backslash "),
            '{' | '}' | '_' | '#' | '$' | '%' | '&' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '^' => escaped.push_str(r"\hat{}"),
            '~' => escaped.push_str(r"\sim "),
            other => escaped.push(other),
        }
    }
    escaped
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [(&str, u32); 5] = [("x3", 0), ("p[2]", 1), ("theta", 2), ("mass", 0), ("L", 0)];

    fn check(build: impl FnOnce(&mut Graph, [ExprId; 5]) -> ExprId, latex: &str, mathml: &str) {
        let mut graph = Graph::new();
        let leaves = [0, 1, 2, 3, 4].map(|k| graph.symbol(SymbolId(k)));
        let root = build(&mut graph, leaves);
        let name = |symbol: SymbolId| {
            let (name, dots) = NAMES[symbol.0 as usize];
            (name.to_string(), dots)
        };
        assert_eq!(
            graph.markup(root, Markup::Latex, 10_000, name).unwrap(),
            latex
        );
        assert_eq!(
            graph.markup(root, Markup::MathMl, 10_000, name).unwrap(),
            mathml
        );
    }

    #[test]
    fn names_are_set_as_people_write_them() {
        check(
            |_, [x, ..]| x,
            "x_{3}",
            "<msub><mi>x</mi><mtext>3</mtext></msub>",
        );
        check(
            |_, [_, p, ..]| p,
            r"\dot{p}_{2}",
            "<msub><mover><mi>p</mi><mo>&#x2D9;</mo></mover><mtext>2</mtext></msub>",
        );
        check(
            |_, [_, _, t, ..]| t,
            r"\ddot{\theta}",
            "<mover><mi>θ</mi><mo>&#xA8;</mo></mover>",
        );
        check(|_, [_, _, _, m, _]| m, r"\mathrm{mass}", "<mi>mass</mi>");
    }

    #[test]
    fn fractions_powers_and_signs() {
        check(
            |g, [x, _, _, m, l]| {
                let two = g.constant(2.0);
                let square = g.pow(x, two);
                let sum = g.add(square, m);
                let quotient = g.div(sum, l);
                g.neg(quotient)
            },
            r"-\frac{x_{3}^{2} + \mathrm{mass}}{L}",
            "<mrow><mo>-</mo><mfrac><mrow><mrow><msup><mrow><msub><mi>x</mi><mtext>3</mtext></msub>\
             </mrow><mrow><mn>2</mn></mrow></msup><mo>+</mo><mi>mass</mi></mrow></mrow><mrow><mi>L</mi>\
             </mrow></mfrac></mrow>",
        );
        check(
            |g, [x, _, _, m, l]| {
                let sum = g.add(x, m);
                let small = g.constant(-2.5e-7);
                let product = g.mul(small, l);
                let sine = g.unary(UnaryOp::Sin, sum);
                g.add(sine, product)
            },
            r"\sin\left(x_{3} + \mathrm{mass}\right) - 2.5 \cdot 10^{-7}\,L",
            "<mrow><mrow><mi>sin</mi><mo>(</mo><mrow><msub><mi>x</mi><mtext>3</mtext></msub><mo>+</mo>\
             <mi>mass</mi></mrow><mo>)</mo></mrow><mo>-</mo><mrow><mn>2.5</mn><mo>&#x22C5;</mo><msup>\
             <mn>10</mn><mn>-7</mn></msup></mrow><mo lspace=\"0.17em\" rspace=\"0\">&#x2062;</mo><mi>L</mi></mrow>",
        );
        check(
            |g, [x, _, _, m, l]| {
                let sum = g.add(x, m);
                let product = g.mul(sum, l);
                let condition = g.binary(BinaryOp::LessEqual, x, l);
                g.select(condition, product, m)
            },
            r"\begin{cases}\left(x_{3} + \mathrm{mass}\right)\,L & \text{if } x_{3} \le L \\ \mathrm{mass} & \text{otherwise}\end{cases}",
            "<mrow><mo>{</mo><mtable columnalign=\"left\"><mtr><mtd><mrow><mrow><mo>(</mo><mrow><msub>\
             <mi>x</mi><mtext>3</mtext></msub><mo>+</mo><mi>mass</mi></mrow><mo>)</mo></mrow>\
             <mo lspace=\"0.17em\" rspace=\"0\">&#x2062;</mo><mi>L</mi></mrow></mtd><mtd><mtext>if </mtext><mrow><msub><mi>x</mi>\
             <mtext>3</mtext></msub><mo>&#x2264;</mo><mi>L</mi></mrow></mtd></mtr><mtr><mtd><mi>mass</mi>\
             </mtd><mtd><mtext>otherwise</mtext></mtd></mtr></mtable></mrow>",
        );
    }

    #[test]
    fn the_base_of_a_power_is_one_thing() {
        check(
            |g, [x, _, _, m, l]| {
                let quotient = g.div(x, l);
                let two = g.constant(2.0);
                let square = g.pow(quotient, two);
                let other = g.div(m, l);
                g.mul(square, other)
            },
            r"\left(\frac{x_{3}}{L}\right)^{2}\,\frac{\mathrm{mass}}{L}",
            "<mrow><msup><mrow><mrow><mo>(</mo><mfrac><mrow><msub><mi>x</mi><mtext>3</mtext></msub></mrow>\
             <mrow><mi>L</mi></mrow></mfrac><mo>)</mo></mrow></mrow><mrow><mn>2</mn></mrow></msup>\
             <mo lspace=\"0.17em\" rspace=\"0\">&#x2062;</mo><mfrac><mrow><mi>mass</mi></mrow><mrow><mi>L</mi></mrow></mfrac></mrow>",
        );
    }

    #[test]
    fn strange_names_do_not_break_the_page() {
        let mut graph = Graph::new();
        let x = graph.symbol(SymbolId(0));
        let name = |_: SymbolId| ("a<b&\\{_\"".to_string(), 3);
        let mathml = graph.markup(x, Markup::MathMl, 1000, name).unwrap();
        assert!(mathml.contains("a&lt;b&amp;\\{_&quot;"), "{mathml}");
        let latex = graph.markup(x, Markup::Latex, 1000, name).unwrap();
        assert_eq!(latex, r#"\mathrm{a<b\&\backslash \{\_"}^{(3)}"#);
    }
}
