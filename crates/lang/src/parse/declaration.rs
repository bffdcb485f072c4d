//! Declarations: clauses, types, names, modifications and annotations.

use super::Parser;
use crate::ast::{
    AstId, Causality, Class, Declaration, Flow, Modification, Prefixes, Redeclared, Variability,
};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::source::Span;
use crate::token::Kind;

/// Entries of annotations that mean something here; all others are skipped.
const ANNOTATIONS: &[&str] = &[
    "__daelight",
    "experiment",
    "Evaluate",
    "missingInnerMessage",
];

impl Parser<'_> {
    /// A dotted type name.
    pub(super) fn type_name(&mut self) -> Option<(String, Span)> {
        let start = self.span();
        let mut name = String::new();
        if self.eat(Kind::Dot) {
            name.push('.');
        }
        let (first, _) = self.identifier("the name of a type")?;
        name.push_str(&first);
        while self.eat(Kind::Dot) {
            let (part, _) = self.identifier("a name after the dot")?;
            name.push('.');
            name.push_str(&part);
        }
        Some((name, start.to(self.previous_span())))
    }

    /// `prefixes Type[dims] a[dims](attributes) = binding "comment", b …;`
    pub(super) fn declaration(&mut self, class: &mut Class, is_protected: bool) -> Option<()> {
        let start = self.span();
        let clause = self.clause(is_protected)?;
        let first = class.declarations.len();
        loop {
            let declaration = self.declared(&clause)?;
            class.declarations.push(declaration);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        if self.at(Kind::ConstrainedBy) {
            // A clause with a constraint declares one name.
            let constraint = self.constraint()?;
            class.declarations[first].constraint = constraint;
            self.comment();
            if self.at(Kind::Annotation) {
                self.annotation()?;
            }
        }
        if !self.at(Kind::Semicolon) && self.position > 0 && self.span() == start {
            return None;
        }
        self.end_element(Self::at_declaration)
    }

    /// What the declarations of one clause share.
    fn clause(&mut self, is_protected: bool) -> Option<Clause> {
        let mut prefixes = Prefixes {
            is_protected,
            ..Prefixes::default()
        };
        let mut variability = Variability::Continuous;
        let mut causality = Causality::None;
        let mut flow = Flow::Potential;
        loop {
            match self.kind() {
                Kind::Parameter => variability = Variability::Parameter,
                Kind::Constant => variability = Variability::Constant,
                Kind::Discrete => variability = Variability::Discrete,
                Kind::Input => causality = Causality::Input,
                Kind::Output => causality = Causality::Output,
                Kind::Final => prefixes.is_final = true,
                Kind::Redeclare => prefixes.is_redeclare = true,
                Kind::Replaceable => prefixes.is_replaceable = true,
                Kind::Inner => prefixes.is_inner = true,
                Kind::Outer => prefixes.is_outer = true,
                Kind::Flow => flow = Flow::Through,
                Kind::Each => {}
                Kind::Stream if matches!(self.kind_at(1), Kind::Ident | Kind::Dot) => {
                    flow = Flow::Stream;
                }
                _ => break,
            }
            self.bump();
        }
        if let Some(prefix) = self.misspelt_prefix() {
            let place = self.bump().span;
            let word = self.word(place);
            self.report(
                Diagnostic::error(
                    Code::Syntax,
                    place,
                    format!("`{word}` is no word of the language"),
                )
                .label("a prefix, a type and a name make a declaration")
                .help(format!("did you mean `{prefix}`?")),
            );
            variability = Variability::Parameter;
        }
        let (type_name, type_span) = self.declared_type()?;
        let dims = if self.at(Kind::BracketOpen) {
            self.subscripts()?
        } else {
            Vec::new()
        };
        Some(Clause {
            variability,
            causality,
            flow,
            prefixes,
            type_name,
            type_span,
            dims,
        })
    }

    /// The prefix that the first of three names in a row was meant to be.
    fn misspelt_prefix(&self) -> Option<&'static str> {
        const PREFIXES: [&str; 5] = ["parameter", "constant", "discrete", "input", "output"];
        if [0, 1, 2].iter().any(|&at| self.kind_at(at) != Kind::Ident) {
            return None;
        }
        let word = self.word(self.span());
        let begun = PREFIXES.into_iter().find(|prefix| prefix.starts_with(word));
        begun.or_else(|| nearest(word, PREFIXES))
    }

    /// `a[dims](attributes) = binding if condition "comment"`.
    fn declared(&mut self, clause: &Clause) -> Option<Declaration> {
        let (name, name_span) = self.declared_name()?;
        let mut dims = if self.at(Kind::BracketOpen) {
            self.subscripts()?
        } else {
            Vec::new()
        };
        // `Real[3] a[2]` is a 2 by 3 array.
        dims.extend(clause.dims.iter().copied());
        let modifications = self.optional_modifications()?;
        let binding = if self.eat(Kind::Equal) || self.eat(Kind::Assign) {
            Some(self.expression()?)
        } else {
            None
        };
        let span = name_span.to(self.previous_span());
        let condition = match self.eat(Kind::If) {
            true => Some(self.expression()?),
            false => None,
        };
        let comment = self.comment();
        if self.at(Kind::Annotation) {
            self.annotation()?;
        }
        Some(Declaration {
            name,
            name_span,
            type_name: clause.type_name.clone(),
            type_span: clause.type_span,
            variability: clause.variability,
            causality: clause.causality,
            flow: clause.flow,
            prefixes: clause.prefixes,
            dims,
            modifications,
            binding,
            condition,
            constraint: None,
            comment,
            span,
        })
    }

    /// Whether the next words look like a declaration or a section.
    pub(super) fn at_declaration(&self) -> bool {
        match self.kind() {
            Kind::Parameter
            | Kind::Constant
            | Kind::Input
            | Kind::Output
            | Kind::Final
            | Kind::Extends
            | Kind::Import
            | Kind::Replaceable
            | Kind::Inner
            | Kind::Outer
            | Kind::Flow
            | Kind::Equation
            | Kind::Initial
            | Kind::Algorithm
            | Kind::Protected
            | Kind::Public
            | Kind::End => true,
            Kind::Ident => matches!(self.kind_at(1), Kind::Ident | Kind::Quoted),
            _ => false,
        }
    }

    /// The type of a declaration, with a better message where an equation stands among declarations.
    pub(super) fn declared_type(&mut self) -> Option<(String, Span)> {
        let start = self.span();
        let looks_like_equation = matches!(
            self.kind_at(1),
            Kind::Equal
                | Kind::ParenOpen
                | Kind::Plus
                | Kind::Minus
                | Kind::Star
                | Kind::Slash
                | Kind::Caret
        ) || matches!(
            self.kind(),
            Kind::Number | Kind::For | Kind::If | Kind::When | Kind::Minus
        );
        let is_prefixed = matches!(
            self.previous_kind(),
            Kind::Parameter | Kind::Constant | Kind::Discrete | Kind::Input | Kind::Output
        );
        if looks_like_equation && is_prefixed && matches!(self.kind(), Kind::Ident) {
            let (prefix, name) = (self.word(self.previous_span()), self.word(start));
            self.report(
                Diagnostic::error(Code::Syntax, start, format!("`{name}` has no type"))
                    .label("a type comes before the name")
                    .help(format!("write `{prefix} Real {name}`")),
            );
            return None;
        }
        if looks_like_equation {
            // Those that follow are cured by the same word.
            if !std::mem::replace(&mut self.misplaced_equation, true) {
                self.report(
                    Diagnostic::error(
                        Code::Syntax,
                        start,
                        "expected a declaration, found an equation",
                    )
                    .label("equations come after the word `equation`")
                    .help("put `equation` before this line"),
                );
            }
            self.recover_to_semicolon();
            return None;
        }
        if !matches!(self.kind(), Kind::Ident | Kind::Quoted | Kind::Dot) {
            self.expected("a declaration, a section or `end`");
            return None;
        }
        self.type_name()
    }

    /// The name of a declared component, which may be dotted as in flat Modelica.
    fn declared_name(&mut self) -> Option<(String, Span)> {
        let start = self.span();
        if self.at(Kind::Number) && self.previous_kind() == Kind::Comma {
            self.report(
                Diagnostic::error(
                    Code::Syntax,
                    start,
                    "expected the name of the variable, found a number",
                )
                .label("a comma ends a declaration")
                .help("write decimals with a point, such as 0.5"),
            );
            return None;
        }
        if self.at(Kind::Number) {
            self.report(
                Diagnostic::error(
                    Code::Syntax,
                    start,
                    "expected the name of the variable, found a number",
                )
                .label("a name begins with a letter")
                .help("put a letter before it"),
            );
            return None;
        }
        if self.at(Kind::Semicolon) && self.previous_kind() == Kind::Ident {
            let word = self.word(self.previous_span()).to_string();
            self.report(
                Diagnostic::error(
                    Code::Syntax,
                    self.previous_span(),
                    format!("`{word}` stands where a type is expected"),
                )
                .label("a declaration has a type and a name")
                .help(format!("write `Real {word}`")),
            );
            return None;
        }
        let (mut name, _) = self.identifier("the name of the variable")?;
        loop {
            // `a[1].b`: the subscripts belong to the name when a dot follows them.
            if self.at(Kind::BracketOpen) && self.subscripts_end_with_dot() {
                let open = self.span();
                while !self.at(Kind::Dot) {
                    self.bump();
                }
                let text = self.word(open.to(self.previous_span()));
                name.extend(text.chars().filter(|character| !character.is_whitespace()));
            }
            if !self.eat(Kind::Dot) {
                return Some((name, start.to(self.previous_span())));
            }
            let (part, _) = self.identifier("a name after the dot")?;
            name.push('.');
            name.push_str(&part);
        }
    }

    fn subscripts_end_with_dot(&self) -> bool {
        let mut ahead = 1;
        while matches!(self.kind_at(ahead), Kind::Number | Kind::Comma) {
            ahead += 1;
        }
        self.kind_at(ahead) == Kind::BracketClose && self.kind_at(ahead + 1) == Kind::Dot
    }

    /// `(start = 1, each fixed = true, nested(…))`.
    pub(super) fn modifications(&mut self) -> Option<Vec<Modification>> {
        self.nested(|parser| {
            parser.bump();
            let mut list = Vec::new();
            while !parser.at(Kind::ParenClose) {
                list.push(parser.modification()?);
                if !parser.eat(Kind::Comma) && !parser.assume_comma() {
                    break;
                }
            }
            parser.expect(Kind::ParenClose, "`)`")?;
            Some(list)
        })
    }

    /// Whether another attribute follows without its comma, which is reported: reading goes on with it.
    fn assume_comma(&mut self) -> bool {
        let place = self.span();
        let is_attribute = |parser: &Self, ahead: usize| {
            parser.kind_at(ahead) == Kind::Ident && parser.kind_at(ahead + 1) == Kind::Equal
        };
        let (message, label, help) = if is_attribute(self, 0) {
            let word = self.word(place);
            (
                format!("expected `,` or `)`, found `{word}`"),
                "another attribute",
                format!("put a comma before `{word}`"),
            )
        } else if self.at(Kind::Semicolon) && is_attribute(self, 1) {
            (
                "expected `,` or `)`, found `;`".to_string(),
                "a semicolon ends the whole declaration",
                "write a comma instead of `;`".to_string(),
            )
        } else {
            return false;
        };
        self.report(
            Diagnostic::error(Code::Syntax, place, message)
                .label(label)
                .help(help),
        );
        self.eat(Kind::Semicolon);
        true
    }

    fn modification(&mut self) -> Option<Modification> {
        let mut is_each = false;
        let mut position = self.position;
        let mut is_redeclared = false;
        loop {
            match self.kind() {
                Kind::Each => is_each = true,
                Kind::Final => {}
                Kind::Redeclare | Kind::Replaceable => {
                    if !std::mem::replace(&mut is_redeclared, true) {
                        position = self.position;
                    }
                }
                _ => break,
            }
            self.bump();
        }
        if is_redeclared {
            self.position = position;
            return self.redeclaration(is_each);
        }
        if self.at(Kind::Break) {
            let start = self.bump().span;
            let (name, _) = self.type_name()?;
            return Some(Modification {
                name: format!("break {name}"),
                span: start.to(self.previous_span()),
                nested: Vec::new(),
                value: None,
                is_each,
                redeclared: None,
            });
        }
        if self.at(Kind::Number) {
            let place = self.span();
            self.report(
                Diagnostic::error(
                    Code::Syntax,
                    place,
                    "expected the name of an attribute, found a number",
                )
                .label("attributes are given by name")
                .help("write `(start = …)` for a start value, and `x[…]` for an element"),
            );
            return None;
        }
        let (name, start) = self.type_name()?;
        let nested = self.optional_modifications()?;
        let value: Option<AstId> = match self.eat_equal(&name) {
            true => Some(self.expression()?),
            false => None,
        };
        self.comment();
        let span = start.to(self.previous_span());
        let mut modification = Modification {
            name,
            span,
            nested,
            value,
            is_each,
            redeclared: None,
        };
        // `a.b = 1` is `a(b = 1)`.
        while let Some((head, last)) = modification.name.rsplit_once('.')
            && !head.is_empty()
        {
            let (head, last) = (head.to_string(), last.to_string());
            modification.name = last;
            modification = Modification {
                name: head,
                span,
                nested: vec![modification],
                value: None,
                is_each: false,
                redeclared: None,
            };
        }
        Some(modification)
    }

    /// Takes the `=` of an attribute; `==` is reported and counts as one.
    fn eat_equal(&mut self, name: &str) -> bool {
        if self.at(Kind::EqualEqual) {
            let place = self.span();
            self.report(
                Diagnostic::error(Code::Syntax, place, "an attribute is given with one `=`")
                    .label("`==` compares")
                    .help(format!("write `{name} = …`")),
            );
        }
        self.eat(Kind::Equal) || self.eat(Kind::Assign) || self.eat(Kind::EqualEqual)
    }

    /// `redeclare …` in a modification: a class or one declaration.
    fn redeclaration(&mut self, is_each: bool) -> Option<Modification> {
        let start = self.span();
        while self.eat(Kind::Each) {}
        let redeclared = if self.at_class() {
            Redeclared::Class(Box::new(self.nested(|parser| parser.class(false))?))
        } else {
            let clause = self.clause(false)?;
            let mut declaration = self.declared(&clause)?;
            declaration.constraint = self.constraint()?;
            Redeclared::Component(Box::new(declaration))
        };
        self.comment();
        if self.at(Kind::Annotation) {
            self.annotation()?;
        }
        let name = match &redeclared {
            Redeclared::Component(declaration) => declaration.name.clone(),
            Redeclared::Class(class) => class.name.clone(),
        };
        Some(Modification {
            name,
            span: start.to(self.previous_span()),
            nested: Vec::new(),
            value: None,
            is_each,
            redeclared: Some(Box::new(redeclared)),
        })
    }

    /// `annotation(…)`; what means something here is kept, the rest is skipped.
    pub(super) fn annotation(&mut self) -> Option<Vec<Modification>> {
        self.bump();
        if !self.at(Kind::ParenOpen) {
            self.expected("`(`");
            return None;
        }
        self.bump();
        let mut list = Vec::new();
        while !self.at(Kind::ParenClose) {
            let is_ours = ANNOTATIONS.contains(&self.word(self.span()));
            if is_ours {
                list.push(self.nested(Self::modification)?);
            } else {
                self.misspelt_annotation();
                self.skip_entry()?;
            }
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::ParenClose, "`)`")?;
        Some(list)
    }

    /// Warns of an annotation that is almost one read here: without it the run would silently be another one.
    fn misspelt_annotation(&mut self) {
        let place = self.span();
        let word = self.word(place);
        if let Some(near) = nearest(word, ["experiment", "__daelight"]) {
            self.report(
                Diagnostic::warning(
                    Code::UnknownAttribute,
                    place,
                    format!("the annotation `{word}` is not known, so it is left out"),
                )
                .label("not known")
                .help(format!("did you mean `{near}`?")),
            );
        }
    }

    /// Skips to the comma or closing parenthesis behind an entry of an annotation.
    pub(super) fn skip_entry(&mut self) -> Option<()> {
        let mut open = 0;
        loop {
            match self.kind() {
                Kind::ParenOpen | Kind::BraceOpen | Kind::BracketOpen => open += 1,
                Kind::ParenClose | Kind::BraceClose | Kind::BracketClose if open > 0 => open -= 1,
                Kind::ParenClose | Kind::Comma if open == 0 => return Some(()),
                Kind::EndOfText => {
                    self.expected("`)`");
                    return None;
                }
                _ => {}
            }
            self.bump();
        }
    }
}

/// What the declarations of one clause share.
struct Clause {
    variability: Variability,
    causality: Causality,
    flow: Flow,
    prefixes: Prefixes,
    type_name: String,
    type_span: Span,
    dims: Vec<AstId>,
}
