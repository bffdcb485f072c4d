//! Words to tree, by recursive descent with recovery: all mistakes of a text in one go.
//!
//! A function that finds a mistake reports it and returns `None`; the list it is part of skips to
//! its next element and goes on.

mod base;
mod class;
mod declaration;
mod equation;
mod expr;

use crate::ast::{Ast, AstId, Expr, WrittenEquation};
use crate::diagnostic::{Code, Diagnostic, MAX_ERRORS};
use crate::source::{Source, SourceId, Span};
use crate::token::{Kind, Token, describe, is_base, tokenize};

/// Nesting that is read: deeper text is a mistake, and reading it would exhaust the stack.
const MAX_DEPTH: usize = 200;

/// What may follow an expression that stands alone.
const END_OF_EXPRESSION: &str = "an operator or the end";

/// What may follow a number: a name there is a factor or a unit.
const ENDS: [&str; 3] = ["`;`", "`)`", END_OF_EXPRESSION];

/// Reads a text. The tree holds whatever could be understood.
pub fn parse(source: &Source, id: SourceId, file: u16, diagnostics: &mut Vec<Diagnostic>) -> Ast {
    let mut parser = Parser::new(source, id, diagnostics);
    parser.ast.file = file;
    parser.ast.is_base = parser.is_base;
    parser.text();
    parser.ast
}

/// Reads one expression and nothing else, as `--set` takes it.
pub fn parse_expression(
    source: &Source,
    id: SourceId,
    offset: usize,
    ast: &mut Ast,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<AstId> {
    let mut parser = Parser::new(source, id, diagnostics);
    std::mem::swap(&mut parser.ast, ast);
    while parser.span().start < offset as u32 && !parser.at(Kind::EndOfText) {
        parser.position += 1;
    }
    let result = parser.expression();
    let complete =
        result.is_some() && (parser.at(Kind::EndOfText) || parser.expected(END_OF_EXPRESSION));
    std::mem::swap(&mut parser.ast, ast);
    result.filter(|_| complete)
}

/// Reads one equation that stands alone.
pub fn parse_equation(
    source: &Source,
    id: SourceId,
    ast: &mut Ast,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<WrittenEquation> {
    let mut parser = Parser::new(source, id, diagnostics);
    std::mem::swap(&mut parser.ast, ast);
    let start = parser.span();
    let kind = parser.simple_equation();
    let complete =
        kind.is_some() && (parser.at(Kind::EndOfText) || parser.expected(END_OF_EXPRESSION));
    let span = start.to(parser.previous_span());
    std::mem::swap(&mut parser.ast, ast);
    kind.filter(|_| complete)
        .map(|kind| WrittenEquation { kind, span })
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
    /// Whether nesting that is too deep has been reported.
    too_deep: bool,
    /// How many subscript lists are open: only there is `end` a value.
    open_subscripts: usize,
    ast: Ast,
    diagnostics: &'a mut Vec<Diagnostic>,
    errors_before: usize,
    /// Whether an equation among declarations has been reported.
    misplaced_equation: bool,
    /// Whether the text says that it is Base Modelica.
    is_base: bool,
}

impl<'a> Parser<'a> {
    fn new(source: &'a Source, id: SourceId, diagnostics: &'a mut Vec<Diagnostic>) -> Self {
        let tokens = tokenize(source.text(), id, diagnostics);
        let errors_before = diagnostics.len();
        Self {
            text: source.text(),
            tokens,
            position: 0,
            depth: 0,
            too_deep: false,
            open_subscripts: 0,
            ast: Ast::default(),
            diagnostics,
            errors_before,
            misplaced_equation: false,
            is_base: is_base(source.text()),
        }
    }

    fn kind(&self) -> Kind {
        self.tokens[self.position].kind
    }

    fn kind_at(&self, ahead: usize) -> Kind {
        let last = self.tokens.len() - 1;
        self.tokens[(self.position + ahead).min(last)].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.position].span
    }

    fn previous_span(&self) -> Span {
        self.tokens[self.position.saturating_sub(1)].span
    }

    fn previous_kind(&self) -> Kind {
        self.tokens[self.position.saturating_sub(1)].kind
    }

    fn at(&self, kind: Kind) -> bool {
        self.kind() == kind
    }

    fn word(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Takes the current word.
    fn bump(&mut self) -> Token {
        let token = self.tokens[self.position];
        if token.kind != Kind::EndOfText {
            self.position += 1;
        }
        token
    }

    /// Takes the current word if it is of this kind.
    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Takes a word that must come here.
    fn expect(&mut self, kind: Kind, what: &str) -> Option<Token> {
        if self.at(kind) {
            Some(self.bump())
        } else {
            self.expected(what);
            None
        }
    }

    /// Reports that something else stands where `what` should.
    fn expected(&mut self, what: &str) -> bool {
        let previous = self.previous_kind();
        if self.at(Kind::Invalid) || previous == Kind::Invalid || self.too_deep {
            return false;
        }
        let span = self.span();
        let mut found = describe(self.kind(), self.word(span));
        let is_end = self.at(Kind::End)
            && !matches!(
                self.kind_at(1),
                Kind::Comma | Kind::Equal | Kind::Semicolon | Kind::ParenOpen
            );
        if is_end && self.kind_at(1) != Kind::EndOfText {
            let next = self.tokens[self.position + 1].span;
            found = describe(Kind::End, &format!("end {}", self.word(next)));
        }
        // A missing word is missing behind the last one, not before the next line.
        let (place, label) = if self.gap().contains('\n') || self.at(Kind::EndOfText) {
            let behind = self.previous_span();
            let last = Span {
                start: behind.end.saturating_sub(1).max(behind.start),
                ..behind
            };
            (last, format!("{what} is missing after this"))
        } else {
            (span, format!("found {found}"))
        };
        let is_told = |told: &Diagnostic| told.span == Some(place);
        if self.at(Kind::EndOfText) && self.diagnostics.last().is_some_and(is_told) {
            return false;
        }
        let word = self.word(span);
        let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic()) && !self.at(Kind::Ident);
        let wants_name = what == "an expression" || what.contains("name");
        let starts_block = is_end
            || matches!(
                self.kind(),
                Kind::Then | Kind::Loop | Kind::Else | Kind::ElseIf | Kind::Equation
            );
        let diagnostic = if is_word && wants_name && !starts_block && place == span {
            Diagnostic::error(
                Code::Syntax,
                span,
                format!("{found} is a word of the language, not a name"),
            )
            .label(format!("expected {what}"))
            .help(format!(
                "choose another name, or write it in quotes: '{word}'"
            ))
        } else {
            Diagnostic::error(
                Code::Syntax,
                place,
                format!("expected {what}, found {found}"),
            )
            .label(label)
            .help(self.advice(what, place == span))
        };
        self.report(diagnostic);
        // An `end` that was meant as a name closes nothing.
        if self.at(Kind::End) && !is_end && wants_name {
            self.bump();
        }
        false
    }

    /// What to do where something else stands in the place of `what`.
    fn advice(&self, what: &str, same_line: bool) -> String {
        let (word, before) = (self.word(self.span()), self.word(self.previous_span()));
        let touches = self.gap().is_empty();
        let next_begins = self.kind_at(1) == Kind::Equal
            || self.previous_kind() == Kind::String
            || (self.is_declaration() && !self.has_value());
        match (self.previous_kind(), self.kind()) {
            (_, Kind::Ident) if what == "`;`" && same_line && next_begins => {
                match self.is_declaration() {
                    true => format!(
                        "put `,` before `{word}` to declare it as well, or `;` to end the declaration"
                    ),
                    false => format!("put `;` before `{word}`, where the next equation begins"),
                }
            }
            (Kind::Number, Kind::Ident) if ENDS.contains(&what) && same_line => {
                format!("write `*` before it, or leave out `{word}` if it is a unit")
            }
            (Kind::Ident, Kind::Ident | Kind::Number)
                if same_line && FUNCTIONS.contains(&before) =>
            {
                format!("write parentheses: `{function}({word})`", function = before)
            }
            // Decimals with a comma: `0,5`.
            (Kind::Number, Kind::Comma) if touches && self.kind_at(1) == Kind::Number => {
                let decimals = self.word(self.tokens[self.position + 1].span);
                format!("write decimals with a point: `{before}.{decimals}`")
            }
            // Derivatives with primes: `x''`.
            (Kind::Ident, Kind::Quoted) if touches && word == "''" => {
                format!("write the second derivative as `der(der({before}))`")
            }
            (_, Kind::BraceClose) if what == "`)`" => {
                "remove this `}`, or write the `{` that it should close".to_string()
            }
            (_, Kind::Semicolon) if what == "`)`" => match self.line_left_open() {
                Some(line) => format!(
                    "line {line} opens a `(` that it does not close: put `)` where it should end, or here"
                ),
                None => syntax_help(what, self.kind(), same_line),
            },
            _ => syntax_help(what, self.kind(), same_line),
        }
    }

    /// Whether the element that this word stands in declares something: it begins with a prefix, or with a type and a name.
    fn is_declaration(&self) -> bool {
        let before = &self.tokens[..self.position];
        let ends = |token: &Token| matches!(token.kind, Kind::Semicolon | Kind::Equation);
        let begin = before.iter().rposition(ends).map_or(0, |at| at + 1);
        let mut kinds = before[begin..].iter().map(|token| token.kind);
        match (kinds.next(), kinds.next()) {
            (Some(Kind::Ident | Kind::Quoted), second) => second == Some(Kind::Ident),
            (Some(Kind::ParenOpen | Kind::Number | Kind::Minus), _) => false,
            (first, _) => first.is_some(),
        }
    }

    /// Whether a `=` stands before this word in its element, outside parentheses and behind the last comma.
    fn has_value(&self) -> bool {
        let mut depth = 0_i32;
        for token in self.tokens[..self.position].iter().rev() {
            match token.kind {
                Kind::ParenClose | Kind::BraceClose => depth += 1,
                Kind::ParenOpen | Kind::BraceOpen => depth -= 1,
                Kind::Equal if depth == 0 => return true,
                Kind::Semicolon | Kind::Equation => return false,
                Kind::Comma if depth == 0 => return false,
                _ => {}
            }
        }
        false
    }

    /// The last line of the element before this word that opens more parentheses than it closes, and goes on behind the
    /// last of them.
    fn line_left_open(&self) -> Option<usize> {
        let line_of = |at: usize| {
            let before = &self.text[..self.tokens[at].span.start as usize];
            1 + before.matches('\n').count()
        };
        let here = line_of(self.position);
        let (mut line, mut balance, mut ends_open) = (here, 0_i32, false);
        for at in (0..self.position).rev() {
            let (kind, own) = (self.tokens[at].kind, line_of(at));
            if kind == Kind::Semicolon {
                break;
            }
            if own != line {
                if line != here && balance > 0 && !ends_open {
                    return Some(line);
                }
                (line, balance, ends_open) = (own, 0, kind == Kind::ParenOpen);
            }
            balance += match kind {
                Kind::ParenOpen => 1,
                Kind::ParenClose => -1,
                _ => 0,
            };
        }
        (line != here && balance > 0 && !ends_open).then_some(line)
    }

    /// Takes a word that must come here. At the end of a line its absence is reported, and reading
    /// goes on as if it were there.
    fn expect_or_assume(&mut self, kind: Kind, what: &str) -> Option<()> {
        let line_ends = self.gap().contains('\n');
        if self.expect(kind, what).is_some() || line_ends {
            Some(())
        } else {
            None
        }
    }

    /// The `;` behind an element. A missing one before a line that begins another element is
    /// reported, and that element is read.
    fn end_element(&mut self, at_next: fn(&Self) -> bool) -> Option<()> {
        let next_follows = self.gap().contains('\n') && at_next(self);
        if self.expect(Kind::Semicolon, "`;`").is_some() || next_follows {
            Some(())
        } else {
            None
        }
    }

    /// What stands between the last word and the current one.
    fn gap(&self) -> &'a str {
        let (from, to) = (self.previous_span().end, self.span().start);
        &self.text[from.min(to) as usize..to as usize]
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() - self.errors_before < MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        } else {
            // Enough: go to the end, so that every loop stops.
            self.position = self.tokens.len() - 1;
        }
    }

    /// Runs `inside` one level deeper, or reports that the text is nested too deeply.
    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            if !std::mem::replace(&mut self.too_deep, true) {
                self.report(
                    Diagnostic::error(
                        Code::NestingTooDeep,
                        span,
                        format!("more than {MAX_DEPTH} levels of nesting"),
                    )
                    .label("this level is one too many")
                    .help("name a part of the expression with a variable of its own"),
                );
            }
            self.skip_nested();
            return None;
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// Skips the rest of an element that is nested too deeply, so that it is reported once.
    fn skip_nested(&mut self) {
        while !matches!(self.kind(), Kind::Semicolon | Kind::EndOfText) {
            self.bump();
        }
    }

    /// Skips to behind the next `;`, or to a word that starts or ends a section. The names of the
    /// element that began at `start` are remembered as unread.
    fn recover(&mut self, start: usize) {
        self.skip_element();
        for token in &self.tokens[start.min(self.position)..self.position] {
            if matches!(token.kind, Kind::Ident | Kind::Quoted) {
                let word = &self.text[token.span.start as usize..token.span.end as usize];
                self.ast.unread.insert(unquote(word));
            }
        }
    }

    fn skip_element(&mut self) {
        loop {
            match self.kind() {
                Kind::Semicolon => {
                    self.bump();
                    return;
                }
                Kind::EndOfText
                | Kind::End
                | Kind::Equation
                | Kind::Algorithm
                | Kind::Protected
                | Kind::Public => return,
                Kind::Initial if matches!(self.kind_at(1), Kind::Equation | Kind::Algorithm) => {
                    return;
                }
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// A plain or quoted name; quotes are not part of it.
    fn identifier(&mut self, what: &str) -> Option<(String, Span)> {
        match self.kind() {
            Kind::Ident | Kind::Quoted => {
                let span = self.bump().span;
                Some((unquote(self.word(span)), span))
            }
            // Words that are only special in certain places.
            Kind::Operator | Kind::Stream | Kind::Initial | Kind::Pure => {
                let span = self.bump().span;
                Some((self.word(span).to_string(), span))
            }
            _ => {
                self.expected(what);
                None
            }
        }
    }

    /// A string that comments the element before it; several joined by `+` are one.
    fn comment(&mut self) -> String {
        let mut comment = String::new();
        if self.at(Kind::String) {
            let span = self.bump().span;
            comment = string_value(self.word(span));
            while self.at(Kind::Plus) && self.kind_at(1) == Kind::String {
                self.bump();
                let span = self.bump().span;
                comment.push_str(&string_value(self.word(span)));
            }
        }
        comment
    }

    fn push(&mut self, expr: Expr, span: Span) -> AstId {
        self.ast.push(expr, span)
    }
}

/// Functions whose argument is written without parentheses on paper.
const FUNCTIONS: [&str; 8] = ["sin", "cos", "tan", "exp", "log", "sqrt", "abs", "der"];

fn syntax_help(what: &str, found: Kind, same_line: bool) -> String {
    match (what, found) {
        ("`;`" | "`=`", Kind::Ident | Kind::Quoted | Kind::Number | Kind::ParenOpen)
            if same_line =>
        {
            "put an operator such as `*` before it".into()
        }
        ("`}`", Kind::Equal) => "write what is to be 0: `a - b` for `a = b`".into(),
        ("`in`", Kind::Equal) => "write `for i in 1:n`".into(),
        ("`;`", Kind::Equal) => "an equation has one `=`; write a second equation".into(),
        (END_OF_EXPRESSION, Kind::Equal) => "write `==`, `<` or `>`".into(),
        (END_OF_EXPRESSION, Kind::Comma) => {
            "write one value here; give the option again for each further one".into()
        }
        ("an expression", Kind::Star) => "write `*` for a product, `^` for a power".into(),
        ("`else`", _) => {
            "an `if` in an expression needs both values: add `else` and the other value".into()
        }
        ("`=`", Kind::Assign) => "write `=`: equations relate, only functions assign".into(),
        _ => format!("put {what} here"),
    }
}

/// The name inside the quotes, or the name itself.
pub fn unquote(word: &str) -> String {
    word.strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
        .unwrap_or(word)
        .to_string()
}

/// The text between the quotes of a string, with its escapes resolved.
fn string_value(word: &str) -> String {
    let inside = word
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or("");
    let mut value = String::with_capacity(inside.len());
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            value.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('r') => value.push('\r'),
            Some(other) => value.push(other),
            None => {}
        }
    }
    value
}
