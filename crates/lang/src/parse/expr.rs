//! Expressions, by the precedence of the Modelica grammar.

use super::{Parser, string_value, unquote};
use crate::ast::{Arithmetic, AstId, ChainLink, Expr, Iterator, PathPart, Relation};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::token::Kind;

impl Parser<'_> {
    /// Any expression, a range included.
    pub(super) fn expression(&mut self) -> Option<AstId> {
        self.nested(|parser| {
            if parser.at(Kind::If) {
                parser.conditional()
            } else {
                parser.range()
            }
        })
    }

    fn conditional(&mut self) -> Option<AstId> {
        let start = self.bump().span;
        let mut branches = Vec::new();
        loop {
            let condition = self.condition()?;
            self.expect(Kind::Then, "`then`")?;
            let value = self.expression()?;
            branches.push((condition, value));
            if !self.eat(Kind::ElseIf) {
                break;
            }
        }
        self.expect(Kind::Else, "`else`")?;
        let otherwise = self.expression()?;
        let span = start.to(self.previous_span());
        Some(self.push(
            Expr::If {
                branches,
                otherwise,
            },
            span,
        ))
    }

    /// The condition of an `if`, a `when` or a `while`. `h = 0` is told as the equation that it is, and read as a comparison.
    pub(super) fn condition(&mut self) -> Option<AstId> {
        let left = self.expression()?;
        if !self.at(Kind::Equal) {
            self.then_for_colon(left)?;
            return Some(left);
        }
        let place = self.bump().span;
        self.report(
            Diagnostic::error(Code::Syntax, place, "`=` makes an equation, and this is a condition")
                .label("compare both sides here")
                .help("write `<=` or `>=` for the moment at which one side reaches the other, or `==` between whole numbers"),
        );
        let right = self.expression()?;
        let span = self.ast.span(left).to(self.previous_span());
        let op = Relation::LessEqual;
        Some(self.push(Expr::Relation { op, left, right }, span))
    }

    /// Reports `if a > 0: b`, which reads as a range without its `then`.
    fn then_for_colon(&mut self, condition: AstId) -> Option<()> {
        let &Expr::Range { start, stop, .. } = self.ast.expr(condition) else {
            return Some(());
        };
        if self.at(Kind::Then) {
            return Some(());
        }
        let place = Span {
            start: self.ast.span(start).end,
            end: self.ast.span(stop).start,
            ..self.ast.span(start)
        };
        self.report(
            Diagnostic::error(Code::Syntax, place, "expected `then`, found `:`")
                .label("the condition ends here")
                .help("write `then` instead of `:`"),
        );
        None
    }

    fn range(&mut self) -> Option<AstId> {
        let first = self.disjunction()?;
        if !self.eat(Kind::Colon) {
            return Some(first);
        }
        let second = self.disjunction()?;
        let third = if self.eat(Kind::Colon) {
            Some(self.disjunction()?)
        } else {
            None
        };
        let span = self.ast.span(first).to(self.previous_span());
        let range = match third {
            None => Expr::Range {
                start: first,
                step: None,
                stop: second,
            },
            Some(third) => Expr::Range {
                start: first,
                step: Some(second),
                stop: third,
            },
        };
        Some(self.push(range, span))
    }

    fn disjunction(&mut self) -> Option<AstId> {
        self.list_of(Kind::Or, Self::conjunction, Expr::Or)
    }

    fn conjunction(&mut self) -> Option<AstId> {
        self.list_of(Kind::And, Self::negation, Expr::And)
    }

    /// `item {separator item}`; a single item stays itself.
    fn list_of(
        &mut self,
        separator: Kind,
        item: fn(&mut Self) -> Option<AstId>,
        make: fn(Vec<AstId>) -> Expr,
    ) -> Option<AstId> {
        let first = item(self)?;
        if !self.at(separator) {
            return Some(first);
        }
        let mut items = vec![first];
        while self.eat(separator) {
            items.push(item(self)?);
        }
        let span = self.ast.span(first).to(self.previous_span());
        Some(self.push(make(items), span))
    }

    fn negation(&mut self) -> Option<AstId> {
        if !self.at(Kind::Not) {
            return self.relation();
        }
        let start = self.bump().span;
        let operand = self.relation()?;
        let span = start.to(self.previous_span());
        Some(self.push(Expr::Not(operand), span))
    }

    fn relation(&mut self) -> Option<AstId> {
        let left = self.sum()?;
        let op = match self.kind() {
            Kind::Less => Relation::Less,
            Kind::LessEqual => Relation::LessEqual,
            Kind::Greater => Relation::Greater,
            Kind::GreaterEqual => Relation::GreaterEqual,
            Kind::EqualEqual => Relation::Equal,
            Kind::NotEqual => Relation::NotEqual,
            _ => return Some(left),
        };
        self.bump();
        let right = self.sum()?;
        let span = self.ast.span(left).to(self.previous_span());
        if self.at_relation() {
            return self.second_relation(span, right);
        }
        Some(self.push(Expr::Relation { op, left, right }, span))
    }

    fn at_relation(&self) -> bool {
        use Kind::{EqualEqual, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(
            self.kind(),
            Less | LessEqual | Greater | GreaterEqual | EqualEqual | NotEqual
        )
    }

    /// Reports `a < b < c`.
    fn second_relation(&mut self, first: Span, middle: AstId) -> Option<AstId> {
        let place = self.bump().span;
        self.sum()?;
        let second = self.ast.span(middle).to(self.previous_span());
        let (first, second) = (self.word(first), self.word(second));
        self.report(
            Diagnostic::error(Code::Syntax, place, "a comparison has two sides")
                .label("this is a second comparison")
                .help(format!("write `{first} and {second}`")),
        );
        None
    }

    fn sum(&mut self) -> Option<AstId> {
        let first = self.signed(Self::product)?;
        // `a - -b` is outside the grammar of Modelica but has only one meaning.
        self.links(first, Self::product, |kind| match kind {
            Kind::Plus => Some((Arithmetic::Add, false)),
            Kind::Minus => Some((Arithmetic::Sub, false)),
            Kind::DotPlus => Some((Arithmetic::Add, true)),
            Kind::DotMinus => Some((Arithmetic::Sub, true)),
            _ => None,
        })
    }

    fn product(&mut self) -> Option<AstId> {
        let first = self.power()?;
        self.links(first, Self::power, |kind| match kind {
            Kind::Star => Some((Arithmetic::Mul, false)),
            Kind::Slash => Some((Arithmetic::Div, false)),
            Kind::DotStar => Some((Arithmetic::Mul, true)),
            Kind::DotSlash => Some((Arithmetic::Div, true)),
            _ => None,
        })
    }

    /// Operands after the first one, as long as operators of the same rank stand between them.
    fn links(
        &mut self,
        first: AstId,
        operand: fn(&mut Self) -> Option<AstId>,
        operator: fn(Kind) -> Option<(Arithmetic, bool)>,
    ) -> Option<AstId> {
        let mut rest = Vec::new();
        while let Some((op, elementwise)) = operator(self.kind()) {
            let op_span = self.bump().span;
            rest.push(ChainLink {
                op,
                elementwise,
                op_span,
                operand: self.signed(operand)?,
            });
        }
        Some(self.chain(first, rest))
    }

    fn chain(&mut self, first: AstId, rest: Vec<ChainLink>) -> AstId {
        if rest.is_empty() {
            return first;
        }
        let span = self.ast.span(first).to(self.previous_span());
        self.push(Expr::Chain { first, rest }, span)
    }

    /// Any number of signs, then the operand.
    fn signed(&mut self, operand: fn(&mut Self) -> Option<AstId>) -> Option<AstId> {
        let start = self.span();
        let mut negative = false;
        let mut signs = 0;
        while matches!(
            self.kind(),
            Kind::Minus | Kind::Plus | Kind::DotMinus | Kind::DotPlus
        ) {
            negative ^= matches!(self.bump().kind, Kind::Minus | Kind::DotMinus);
            signs += 1;
        }
        let operand = operand(self)?;
        if signs == 0 {
            return Some(operand);
        }
        let span = start.to(self.previous_span());
        Some(self.push(Expr::Sign { negative, operand }, span))
    }

    fn power(&mut self) -> Option<AstId> {
        let base = self.primary()?;
        let elementwise = match self.kind() {
            Kind::Caret => false,
            Kind::DotCaret => true,
            _ => return Some(base),
        };
        self.bump();
        let exponent = self.signed(Self::primary)?;
        let span = self.ast.span(base).to(self.previous_span());
        if matches!(self.kind(), Kind::Caret | Kind::DotCaret) {
            let place = self.span();
            self.report(
                Diagnostic::error(Code::Syntax, place, "a power of a power needs parentheses")
                    .label("which power comes first?")
                    .help("write (a^b)^c or a^(b^c)"),
            );
            return None;
        }
        Some(self.push(
            Expr::Power {
                base,
                exponent,
                elementwise,
            },
            span,
        ))
    }

    fn primary(&mut self) -> Option<AstId> {
        let span = self.span();
        match self.kind() {
            Kind::Number => self.number(),
            Kind::True | Kind::False => {
                let value = self.bump().kind == Kind::True;
                Some(self.push(Expr::Boolean(value), span))
            }
            Kind::String => {
                self.bump();
                let text = string_value(self.word(span));
                Some(self.push(Expr::Text(text), span))
            }
            Kind::ParenOpen => self.parenthesised(),
            Kind::BraceOpen => self.braces(),
            Kind::BracketOpen => self.matrix(),
            Kind::End if self.open_subscripts > 0 => {
                self.bump();
                Some(self.push(Expr::End, span))
            }
            // `initial()` is a call; the word is special only before `equation`.
            Kind::Initial | Kind::Pure if self.kind_at(1) == Kind::ParenOpen => self.name(),
            Kind::Ident | Kind::Quoted | Kind::Dot | Kind::Operator | Kind::Stream => self.name(),
            _ => {
                self.expected("an expression");
                None
            }
        }
    }

    fn number(&mut self) -> Option<AstId> {
        let span = self.bump().span;
        let word = self.word(span);
        let value: f64 = word.parse().unwrap_or(f64::INFINITY);
        let has_digits = word
            .split(['e', 'E'])
            .next()
            .is_some_and(|mantissa| mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9')));
        if value.is_infinite() || (value == 0.0 && has_digits) {
            let size = if value.is_infinite() {
                "large"
            } else {
                "small"
            };
            let shown: String = word.chars().take(30).collect();
            self.report(
                Diagnostic::error(
                    Code::NumberRange,
                    span,
                    format!("`{shown}` is too {size} for double precision"),
                )
                .label("magnitudes reach from 5e-324 to 1.8e308")
                .help(if value.is_infinite() {
                    "write a number below 1.8e308"
                } else {
                    "write 0, or choose a smaller unit"
                }),
            );
            return None;
        }
        Some(self.push(Expr::Number(value), span))
    }

    /// An expression in parentheses, or a list of results with places left out.
    fn parenthesised(&mut self) -> Option<AstId> {
        let start = self.bump().span;
        if !self.at(Kind::Comma) {
            let inside = self.expression()?;
            if !self.at(Kind::Comma) {
                self.expect(Kind::ParenClose, "`)`")?;
                return Some(inside);
            }
            return self.tuple(start, vec![Some(inside)]);
        }
        self.tuple(start, vec![None])
    }

    /// The rest of a list of results, from a comma on.
    fn tuple(&mut self, start: Span, mut items: Vec<Option<AstId>>) -> Option<AstId> {
        while self.eat(Kind::Comma) {
            let is_empty = matches!(self.kind(), Kind::Comma | Kind::ParenClose);
            items.push(match is_empty {
                true => None,
                false => Some(self.expression()?),
            });
        }
        self.expect(Kind::ParenClose, "`)`")?;
        let span = start.to(self.previous_span());
        Some(self.push(Expr::Tuple(items), span))
    }

    fn braces(&mut self) -> Option<AstId> {
        let start = self.bump().span;
        if self.eat(Kind::BraceClose) {
            let span = start.to(self.previous_span());
            return Some(self.push(Expr::Array(Vec::new()), span));
        }
        let first = self.expression()?;
        let expr = if self.eat(Kind::For) {
            let iterators = self.iterators()?;
            Expr::Comprehension {
                reduction: None,
                body: first,
                iterators,
            }
        } else {
            let mut items = vec![first];
            while self.eat(Kind::Comma) {
                items.push(self.expression()?);
            }
            Expr::Array(items)
        };
        self.expect(Kind::BraceClose, "`}`")?;
        let span = start.to(self.previous_span());
        Some(self.push(expr, span))
    }

    fn matrix(&mut self) -> Option<AstId> {
        let start = self.bump().span;
        let mut rows = Vec::new();
        loop {
            let mut row = vec![self.expression()?];
            while self.eat(Kind::Comma) {
                row.push(self.expression()?);
            }
            rows.push(row);
            if !self.eat(Kind::Semicolon) {
                break;
            }
        }
        self.expect(Kind::BracketClose, "`]`")?;
        let span = start.to(self.previous_span());
        Some(self.push(Expr::Matrix(rows), span))
    }

    /// `i in range, j in range`; the range may be left out where sizes give it.
    pub(super) fn iterators(&mut self) -> Option<Vec<Iterator>> {
        let mut iterators = Vec::new();
        loop {
            let (name, span) = self.identifier("the name of a loop variable")?;
            // `for i = 1:n` is plain enough to be read on.
            let is_equal = self.at(Kind::Equal);
            if is_equal {
                self.expected("`in`");
                self.bump();
            }
            let range = if is_equal || self.eat(Kind::In) {
                Some(self.expression()?)
            } else {
                None
            };
            iterators.push(Iterator { name, span, range });
            if !self.eat(Kind::Comma) {
                return Some(iterators);
            }
        }
    }

    /// What stands left of `:=`: a name, a list of names, or a call alone.
    pub(super) fn assigned(&mut self) -> Option<AstId> {
        match self.kind() {
            Kind::ParenOpen => self.parenthesised(),
            _ => self.name(),
        }
    }

    /// A dotted name with subscripts, or a call.
    fn name(&mut self) -> Option<AstId> {
        let (name, span, subscripts, path) = self.component_reference()?;
        if self.at(Kind::ParenOpen) && subscripts.is_empty() {
            return self.call(name, span);
        }
        let span = span.to(self.previous_span());
        Some(self.push(
            Expr::Name {
                name,
                subscripts,
                path,
            },
            span,
        ))
    }

    /// Joins dotted parts to one name. Subscripts before the last part are written into it where they are whole numbers,
    /// as writers of flat Modelica emit them; the parts are kept too.
    #[expect(
        clippy::type_complexity,
        reason = "the name in both its forms, its place and subscripts"
    )]
    pub(super) fn component_reference(
        &mut self,
    ) -> Option<(String, Span, Vec<AstId>, Option<Box<[PathPart]>>)> {
        let start = self.span();
        let mut name = String::new();
        if self.eat(Kind::Dot) {
            name.push('.');
        }
        let (first, _) = self.identifier("a name")?;
        name.push_str(&first);
        let mut part = first;
        let mut parts = Vec::new();
        loop {
            let subscripts = if self.at(Kind::BracketOpen) {
                self.subscripts()?
            } else {
                Vec::new()
            };
            let span = start.to(self.previous_span());
            if !self.at(Kind::Dot) {
                if parts.is_empty() {
                    return Some((name, span, subscripts, None));
                }
                parts.push(PathPart {
                    name: part,
                    subscripts: subscripts.clone(),
                });
                return Some((name, span, subscripts, Some(parts.into())));
            }
            self.append_subscripts(&mut name, &subscripts);
            self.bump();
            let (next, _) = self.identifier("a name after the dot")?;
            name.push('.');
            name.push_str(&next);
            let name = std::mem::replace(&mut part, next);
            parts.push(PathPart { name, subscripts });
        }
    }

    fn append_subscripts(&mut self, name: &mut String, subscripts: &[AstId]) {
        if subscripts.is_empty() {
            return;
        }
        let number = |&id: &AstId| match *self.ast.expr(id) {
            Expr::Number(value) if value.fract() == 0.0 => format!("{value}"),
            _ => "…".to_string(),
        };
        let numbers: Vec<String> = subscripts.iter().map(number).collect();
        name.push('[');
        name.push_str(&numbers.join(","));
        name.push(']');
    }

    /// `[a, :, 2:3]`.
    pub(super) fn subscripts(&mut self) -> Option<Vec<AstId>> {
        self.open_subscripts += 1;
        let subscripts = self.subscript_list();
        self.open_subscripts -= 1;
        subscripts
    }

    fn subscript_list(&mut self) -> Option<Vec<AstId>> {
        self.bump();
        let mut subscripts = Vec::new();
        loop {
            let span = self.span();
            let bare =
                self.at(Kind::Colon) && matches!(self.kind_at(1), Kind::Comma | Kind::BracketClose);
            subscripts.push(if bare {
                self.bump();
                self.push(Expr::Colon, span)
            } else {
                self.expression()?
            });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::BracketClose, "`]`")?;
        Some(subscripts)
    }

    /// An argument of a call: an expression, or `function f(a = 1)`.
    fn argument(&mut self) -> Option<AstId> {
        if !self.at(Kind::Function) {
            return self.expression();
        }
        let start = self.bump().span;
        let (name, name_span, ..) = self.component_reference()?;
        let mut named = Vec::new();
        if self.eat(Kind::ParenOpen) {
            while !self.at(Kind::ParenClose) {
                let (input, at) = self.identifier("the name of an input")?;
                self.expect(Kind::Equal, "`=`")?;
                named.push((input, at, self.argument()?));
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::ParenClose, "`)`")?;
        }
        let span = start.to(self.previous_span());
        Some(self.push(
            Expr::FunctionArgument {
                name,
                name_span,
                named,
            },
            span,
        ))
    }

    fn call(&mut self, name: String, name_span: Span) -> Option<AstId> {
        self.bump();
        let mut positional = Vec::new();
        let mut named = Vec::new();
        let mut reduction = None;
        while !self.at(Kind::ParenClose) {
            if matches!(self.kind(), Kind::Ident | Kind::Quoted) && self.kind_at(1) == Kind::Equal {
                let span = self.bump().span;
                self.bump();
                let value = self.argument()?;
                named.push((unquote(self.word(span)), span, value));
            } else {
                positional.push(self.argument()?);
                if positional.len() == 1 && named.is_empty() && self.eat(Kind::For) {
                    reduction = Some(self.iterators()?);
                    break;
                }
            }
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::ParenClose, "`)`")?;
        let span = name_span.to(self.previous_span());
        let expr = match reduction {
            Some(iterators) => Expr::Comprehension {
                reduction: Some((name, name_span)),
                body: positional[0],
                iterators,
            },
            None => Expr::Call {
                name,
                name_span,
                positional,
                named,
            },
        };
        Some(self.push(expr, span))
    }
}
