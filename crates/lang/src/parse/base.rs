//! What Base Modelica (MCP-0031) has beside Modelica: guesses as parameter equations, priorities, parameters that
//! initial equations determine, partitions.

use super::Parser;
use crate::ast::{
    AstId, Class, Declaration, EquationKind, Expr, Modification, Statement, StatementKind,
    Variability,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::token::Kind;

/// `guess(x) = value`.
pub(super) struct Guess {
    of: AstId,
    value: AstId,
    span: Span,
}

impl Parser<'_> {
    /// `parameter equation guess(x) = value;`, the words `parameter equation` at hand.
    pub(super) fn guess_equation(&mut self) -> Option<Guess> {
        let start = self.bump().span;
        self.bump();
        let left = self.expression()?;
        self.expect(Kind::Equal, "`=`")?;
        let value = self.expression()?;
        let span = start.to(self.previous_span());
        self.comment();
        if self.at(Kind::Annotation) {
            self.annotation()?;
        }
        self.expect(Kind::Semicolon, "`;`")?;
        let of = self.argument_of(left, "guess").filter(|of| of.len() == 1);
        let Some(&[of]) = of.as_deref() else {
            let place = self.ast.span(left);
            self.report(
                Diagnostic::error(Code::Syntax, place, "a parameter equation gives a guess")
                    .label("should be `guess(…)`")
                    .help("write `parameter equation guess(x) = value;`"),
            );
            return None;
        };
        let value = self.without_priority(value);
        Some(Guess { of, value, span })
    }

    /// The arguments of a call of this name.
    fn argument_of(&self, call: AstId, wanted: &str) -> Option<Vec<AstId>> {
        match self.ast.expr(call) {
            Expr::Call {
                name, positional, ..
            } if name == wanted => Some(positional.clone()),
            _ => None,
        }
    }

    /// `prioritize(value, priority)` is `value`: every start value that is given counts, the closest consistent point is taken.
    fn without_priority(&self, value: AstId) -> AstId {
        match self.argument_of(value, "prioritize").as_deref() {
            Some(&[value, _]) => value,
            _ => value,
        }
    }

    /// Whether an equation only says how much the guess of a variable counts.
    pub(super) fn is_priority(&self, equation: &EquationKind) -> bool {
        matches!(equation, EquationKind::Call(call) if self.argument_of(*call, "prioritize").is_some())
    }

    /// Gives guesses to their variables, and frees the parameters that initial equations determine.
    pub(super) fn settle_base(&mut self, class: &mut Class, guesses: Vec<Guess>) {
        for guess in guesses {
            let name = match self.ast.expr(guess.of) {
                Expr::Name {
                    name, subscripts, ..
                } if subscripts.is_empty() => Some(name.clone()),
                _ => None,
            };
            let declared = class.declarations.iter_mut();
            let of = declared
                .into_iter()
                .find(|d| name.as_ref() == Some(&d.name));
            match of {
                Some(declaration) => {
                    let start = modification("start", guess.value, guess.span);
                    declaration.modifications.push(start);
                }
                None => self.report(
                    Diagnostic::error(
                        Code::Unsupported,
                        self.ast.span(guess.of),
                        "a guess is given to a whole variable of the same model",
                    )
                    .label("no variable that is declared here")
                    .help("declare the variable as a scalar and give the guess to it"),
                ),
            }
        }
        let determined = self.determined(class);
        for declaration in &mut class.declarations {
            if is_open(declaration) && determined.contains(&declaration.name) {
                let span = declaration.name_span;
                let no = self.ast.push(Expr::Boolean(false), span);
                declaration
                    .modifications
                    .push(modification("fixed", no, span));
            }
        }
    }

    /// Names that stand alone on a side of an initial equation, or that an initial algorithm assigns.
    fn determined(&self, class: &Class) -> Vec<String> {
        let mut found = Vec::new();
        let alone = |side: AstId| match self.ast.expr(side) {
            Expr::Name { name, .. } => Some(name.clone()),
            _ => None,
        };
        for equation in &class.initial_equations {
            if let EquationKind::Equal(left, right) = equation.kind {
                found.extend(alone(left).into_iter().chain(alone(right)));
            }
        }
        let initial = class.algorithms.iter().filter(|a| a.is_initial);
        for Statement { kind, .. } in initial.flat_map(|a| &a.body) {
            if let StatementKind::Assign { target, .. } = kind {
                found.extend(alone(*target));
            }
        }
        found
    }

    /// Says that clocks in partitions are not read, and passes over them.
    pub(super) fn refuse_partition(&mut self) {
        let span = self.bump().span;
        self.report(
            Diagnostic::error(Code::Unsupported, span, "partitions are not read")
                .label("equations on clocks, as Base Modelica writes them")
                .help(
                    "write the clocked equations with `sample` and `hold`, or in a `when Clock(…)`",
                ),
        );
        while !matches!(self.kind(), Kind::EndOfText) {
            let closes = matches!(self.kind_at(1), Kind::Ident | Kind::Quoted);
            if self.at(Kind::End) && closes {
                break;
            }
            self.bump();
        }
    }

    /// Whether a partition begins here.
    pub(super) fn at_partition(&self) -> bool {
        self.is_base
            && self.at(Kind::Ident)
            && self.word(self.span()) == "partition"
            && !matches!(
                self.kind_at(1),
                Kind::Equal | Kind::Dot | Kind::BracketOpen | Kind::Assign
            )
    }
}

/// Whether a parameter is declared without a value.
fn is_open(declaration: &Declaration) -> bool {
    let is_given = |m: &Modification| matches!(m.name.as_str(), "start" | "fixed");
    declaration.variability == Variability::Parameter
        && declaration.binding.is_none()
        && !declaration.modifications.iter().any(is_given)
}

fn modification(name: &str, value: AstId, span: Span) -> Modification {
    Modification {
        name: name.to_string(),
        span,
        nested: Vec::new(),
        value: Some(value),
        is_each: false,
        redeclared: None,
    }
}
