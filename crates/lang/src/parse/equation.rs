//! Equations, initial equations, and the statements of functions.

use super::Parser;
use crate::ast::{AstId, EquationKind, Expr, Statement, StatementKind, WrittenEquation};
use crate::diagnostic::{Code, Diagnostic};
use crate::token::Kind;

impl Parser<'_> {
    /// Equations up to the next section, `end`, or branch.
    pub(super) fn equations(&mut self) -> Vec<WrittenEquation> {
        self.list(Self::equation)
    }

    /// Statements up to the next section, `end`, or branch.
    pub(super) fn statements(&mut self) -> Vec<Statement> {
        self.list(Self::statement)
    }

    fn list<T>(&mut self, element: fn(&mut Self) -> Option<T>) -> Vec<T> {
        let mut elements = Vec::new();
        while !self.at_section_end() {
            let before = self.position;
            match self.nested(element) {
                Some(element) => elements.push(element),
                None => {
                    self.recover(before);
                    if self.position == before {
                        self.bump();
                    }
                }
            }
        }
        elements
    }

    fn at_section_end(&self) -> bool {
        match self.kind() {
            Kind::End
            | Kind::EndOfText
            | Kind::Equation
            | Kind::Algorithm
            | Kind::Protected
            | Kind::Public
            | Kind::Annotation
            | Kind::Else
            | Kind::ElseIf
            | Kind::ElseWhen
            | Kind::External => true,
            Kind::Initial => matches!(self.kind_at(1), Kind::Equation | Kind::Algorithm),
            _ => self.at_partition(),
        }
    }

    fn equation(&mut self) -> Option<WrittenEquation> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::For => {
                let (iterators, body) = self.loop_of(Self::equations)?;
                EquationKind::For { iterators, body }
            }
            Kind::If => {
                let (branches, otherwise) = self.branches_of(Self::equations)?;
                EquationKind::If {
                    branches,
                    otherwise,
                }
            }
            Kind::When => EquationKind::When {
                branches: self.when_of(Self::equations)?,
            },
            Kind::Connect => self.connection()?,
            _ => self.simple_equation()?,
        };
        let span = start.to(self.previous_span());
        self.comment();
        if self.at(Kind::Annotation) {
            self.annotation()?;
        }
        self.end_element(Self::at_equation)?;
        Some(WrittenEquation { kind, span })
    }

    /// Whether the next words look like an equation or statement of their own.
    fn at_equation(&self) -> bool {
        if self.at_section_end()
            || matches!(
                self.kind(),
                Kind::For | Kind::If | Kind::When | Kind::Connect
            )
        {
            return true;
        }
        for ahead in 0..200 {
            match self.kind_at(ahead) {
                Kind::Equal | Kind::Assign => return ahead > 0,
                Kind::Semicolon | Kind::EndOfText | Kind::End => return false,
                _ => {}
            }
        }
        false
    }

    /// Whether the next words declare something: `Real x;`, `parameter Real k = 1;`, `Resistor r(R = 2);`.
    fn at_misplaced_declaration(&self) -> bool {
        match self.kind() {
            Kind::Parameter | Kind::Constant | Kind::Discrete | Kind::Input | Kind::Output => true,
            Kind::Ident if matches!(self.kind_at(1), Kind::Ident | Kind::Quoted) => {
                let is_basic = matches!(self.word(self.span()), "Real" | "Integer" | "Boolean");
                let is_component = match self.kind_at(2) {
                    Kind::Semicolon | Kind::Comma => true,
                    // `r(R = 2)`, and not `m der(v)`, a product without its sign.
                    Kind::ParenOpen => self.kind_at(4) == Kind::Equal,
                    _ => false,
                };
                is_basic || is_component
            }
            _ => false,
        }
    }

    pub(super) fn simple_equation(&mut self) -> Option<EquationKind> {
        if self.at_misplaced_declaration() {
            let message = "a declaration stands among the equations";
            self.report(
                Diagnostic::error(Code::Syntax, self.span(), message)
                    .label("this declares a name")
                    .help("move it up, before the word `equation`"),
            );
            return None;
        }
        let left = self.expression()?;
        if self.eat(Kind::Equal) {
            let right = self.expression()?;
            return Some(EquationKind::Equal(left, right));
        }
        if matches!(self.ast.expr(left), Expr::Call { .. }) && !matches!(self.kind(), Kind::Assign)
        {
            return Some(EquationKind::Call(left));
        }
        if let Expr::Relation { .. } = self.ast.expr(left) {
            let span = self.ast.span(left);
            self.report(
                Diagnostic::error(Code::Syntax, span, "a comparison is not an equation")
                    .label("this is true or false")
                    .help("write `=` between two sides that are equal at all times"),
            );
            return None;
        }
        if self.at(Kind::Semicolon) {
            let span = self.ast.span(left);
            let text = self.word(span);
            self.report(
                Diagnostic::error(Code::Syntax, span, "an equation needs two sides")
                    .label("this is one side")
                    .help(format!("write what it equals: `{text} = …`")),
            );
            return None;
        }
        self.expected("`=`");
        None
    }

    /// `for … loop … end for`.
    fn loop_of<T>(
        &mut self,
        body: fn(&mut Self) -> Vec<T>,
    ) -> Option<(Vec<crate::ast::Iterator>, Vec<T>)> {
        self.bump();
        let iterators = self.iterators()?;
        self.expect_or_assume(Kind::Loop, "`loop`")?;
        let body = body(self);
        self.close(Kind::For, "`end for`")?;
        Some((iterators, body))
    }

    /// `if … then … elseif … else … end if`.
    #[expect(
        clippy::type_complexity,
        reason = "the branches, and the last one without a condition"
    )]
    fn branches_of<T>(
        &mut self,
        body: fn(&mut Self) -> Vec<T>,
    ) -> Option<(Vec<(AstId, Vec<T>)>, Vec<T>)> {
        self.bump();
        let mut branches = Vec::new();
        loop {
            let condition = self.condition()?;
            self.expect_or_assume(Kind::Then, "`then`")?;
            branches.push((condition, body(self)));
            if !self.eat(Kind::ElseIf) {
                break;
            }
        }
        let mut second_if = None;
        let otherwise = if self.eat(Kind::Else) {
            if self.at(Kind::If) {
                second_if = Some(self.previous_span().to(self.span()));
            }
            body(self)
        } else {
            Vec::new()
        };
        let closed = self.at(Kind::End) && self.kind_at(1) == Kind::If;
        if let (Some(span), false) = (second_if, closed) {
            self.report(
                Diagnostic::error(Code::Syntax, span, "`else if` opens a second `if`")
                    .label("its `end if` is missing")
                    .help("write `elseif`"),
            );
            return None;
        }
        self.close(Kind::If, "`end if`")?;
        Some((branches, otherwise))
    }

    fn close(&mut self, kind: Kind, what: &str) -> Option<()> {
        if self.at(Kind::End) && self.kind_at(1) == kind {
            self.bump();
            self.bump();
            Some(())
        } else {
            self.expected(what);
            None
        }
    }

    /// `when … then … elsewhen … end when`.
    fn when_of<T>(&mut self, body: fn(&mut Self) -> Vec<T>) -> Option<Vec<(AstId, Vec<T>)>> {
        self.bump();
        let mut branches = Vec::new();
        loop {
            let condition = self.condition()?;
            self.expect_or_assume(Kind::Then, "`then`")?;
            branches.push((condition, body(self)));
            if !self.eat(Kind::ElseWhen) {
                break;
            }
        }
        self.close(Kind::When, "`end when`")?;
        Some(branches)
    }

    /// `connect(a, b)`.
    fn connection(&mut self) -> Option<EquationKind> {
        self.bump();
        self.expect(Kind::ParenOpen, "`(`")?;
        let left = self.expression()?;
        self.expect(Kind::Comma, "`,`")?;
        let right = self.expression()?;
        self.expect(Kind::ParenClose, "`)`")?;
        Some(EquationKind::Connect(left, right))
    }

    fn statement(&mut self) -> Option<Statement> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::For => {
                let (iterators, body) = self.loop_of(Self::statements)?;
                StatementKind::For { iterators, body }
            }
            Kind::If => {
                let (branches, otherwise) = self.branches_of(Self::statements)?;
                StatementKind::If {
                    branches,
                    otherwise,
                }
            }
            Kind::While => {
                self.bump();
                let condition = self.condition()?;
                self.expect_or_assume(Kind::Loop, "`loop`")?;
                let body = self.statements();
                self.close(Kind::While, "`end while`")?;
                StatementKind::While { condition, body }
            }
            Kind::When => StatementKind::When {
                branches: self.when_of(Self::statements)?,
            },
            Kind::Return => {
                self.bump();
                StatementKind::Return
            }
            Kind::Break => {
                self.bump();
                StatementKind::Break
            }
            _ => self.assignment()?,
        };
        let span = start.to(self.previous_span());
        self.comment();
        if self.at(Kind::Annotation) {
            self.annotation()?;
        }
        self.end_element(Self::at_equation)?;
        Some(Statement { kind, span })
    }

    fn assignment(&mut self) -> Option<StatementKind> {
        let target = self.assigned()?;
        if matches!(self.ast.expr(target), Expr::Call { .. }) && !self.at(Kind::Assign) {
            return Some(StatementKind::Call(target));
        }
        if self.at(Kind::Equal) {
            let place = self.span();
            self.report(
                Diagnostic::error(Code::Syntax, place, "an algorithm assigns with `:=`")
                    .label("this is an equation's sign")
                    .help("write `:=`"),
            );
            return None;
        }
        self.expect(Kind::Assign, "`:=`")?;
        let value = self.expression()?;
        Some(StatementKind::Assign { target, value })
    }
}
