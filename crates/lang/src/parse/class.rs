//! Classes: models, functions, types, packages, and their declarations.

use super::Parser;
use crate::ast::{
    Algorithm, Causality, Class, ClassKind, Constraining, Extends, External, Import, Modification,
    Prefixes, TypeAlias,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::token::Kind;

impl Parser<'_> {
    /// A whole text: any number of classes.
    pub(super) fn text(&mut self) {
        while !self.at(Kind::EndOfText) {
            let before = self.position;
            match self.kind() {
                Kind::Within => {
                    self.bump();
                    if matches!(self.kind(), Kind::Ident | Kind::Quoted) {
                        self.ast.within = self.type_name().map(|(name, _)| name);
                    }
                    while !matches!(self.kind(), Kind::Semicolon | Kind::EndOfText) {
                        self.bump();
                    }
                    self.bump();
                }
                Kind::Semicolon => {
                    self.bump();
                }
                _ if self.at_class() => {
                    let class = self.class_definition(false);
                    self.ast.classes.extend(class);
                }
                Kind::End if !self.ast.classes.is_empty() => self.second_end(),
                _ => {
                    self.expected("`model`, `class`, `block`, `function`, `type` or `package`");
                    while !self.at(Kind::EndOfText) && (self.position == before || !self.at_class())
                    {
                        self.bump();
                    }
                }
            }
        }
    }

    /// Reports an `end` that closes nothing.
    fn second_end(&mut self) {
        let start = self.bump().span;
        if matches!(self.kind(), Kind::Ident | Kind::Quoted) {
            self.bump();
        }
        let place = start.to(self.previous_span());
        let word = self.word(place);
        self.report(
            Diagnostic::error(Code::Syntax, place, format!("`{word}` closes nothing"))
                .label("the class has ended before")
                .help("remove it, or the `end` before it"),
        );
        self.eat(Kind::Semicolon);
    }

    /// Reports a word behind the name of a class, on its line: a comment in the wrong quotes, or a second name.
    fn second_name(&mut self, name: &str) {
        let is_alone = |parser: &Self| {
            let (from, to) = (parser.span().end, parser.tokens[parser.position + 1].span);
            parser.text[from as usize..to.start as usize].contains('\n')
        };
        if !matches!(self.kind(), Kind::Ident | Kind::Quoted)
            || self.gap().contains('\n')
            || !is_alone(self)
        {
            return;
        }
        let (quoted, place) = (self.at(Kind::Quoted), self.bump().span);
        let word = self.word(place);
        let (label, help) = match quoted {
            true => (
                "single quotes make a name",
                format!(
                    "write a comment in double quotes: \"{}\"",
                    super::unquote(word)
                ),
            ),
            false => ("a name is one word", format!("write `{name}{word}`")),
        };
        self.report(
            Diagnostic::error(Code::Syntax, place, "expected the end of the line")
                .label(label)
                .help(help),
        );
    }

    /// The section that a word alone on its line means, such as `Equations`, which is reported.
    fn misspelt_section(&mut self) -> Option<Kind> {
        if !self.at(Kind::Ident) {
            return None;
        }
        let place = self.span();
        let next = self.tokens.get(self.position + 1)?.span;
        let line_ends = self.text[place.end as usize..next.start as usize].contains('\n');
        let word = self.word(place).to_lowercase();
        let (section, kind) = match word.trim_end_matches('s') {
            "equation" => ("equation", Kind::Equation),
            "algorithm" => ("algorithm", Kind::Algorithm),
            _ => return None,
        };
        if !line_ends {
            return None;
        }
        let word = self.word(place);
        self.report(
            Diagnostic::error(Code::Syntax, place, format!("`{word}` begins no section"))
                .label("not a word of the language")
                .help(format!("write `{section}`")),
        );
        Some(kind)
    }

    pub(super) fn at_class(&self) -> bool {
        let mut ahead = 0;
        // Prefixes that declarations have too are looked through.
        while matches!(
            self.kind_at(ahead),
            Kind::Final
                | Kind::Replaceable
                | Kind::Redeclare
                | Kind::Inner
                | Kind::Outer
                | Kind::Each
        ) {
            ahead += 1;
        }
        match self.kind_at(ahead) {
            Kind::Model
            | Kind::Class
            | Kind::Block
            | Kind::Function
            | Kind::Package
            | Kind::Type
            | Kind::Record
            | Kind::Connector
            | Kind::Encapsulated
            | Kind::Partial
            | Kind::Expandable
            | Kind::Pure
            | Kind::Impure => true,
            Kind::Operator => matches!(
                self.kind_at(ahead + 1),
                Kind::Function | Kind::Record | Kind::Ident | Kind::Quoted
            ),
            _ => false,
        }
    }

    /// Reads a class, its `;` included, and the classes inside it.
    pub(super) fn class_definition(&mut self, is_protected: bool) -> Option<Class> {
        let before = self.position;
        let class = self.nested(|parser| parser.class(is_protected));
        if class.is_none() {
            self.recover(before);
            if self.position == before {
                self.bump();
            }
        } else {
            self.expect(Kind::Semicolon, "`;`");
        }
        class
    }

    pub(super) fn class(&mut self, is_protected: bool) -> Option<Class> {
        let start = self.span();
        let mut prefixes = Prefixes {
            is_protected,
            ..Prefixes::default()
        };
        let (mut is_encapsulated, mut is_expandable) = (false, false);
        loop {
            match self.kind() {
                Kind::Encapsulated => is_encapsulated = true,
                Kind::Expandable => is_expandable = true,
                Kind::Final => prefixes.is_final = true,
                Kind::Redeclare => prefixes.is_redeclare = true,
                Kind::Replaceable => prefixes.is_replaceable = true,
                Kind::Inner => prefixes.is_inner = true,
                Kind::Outer => prefixes.is_outer = true,
                Kind::Partial => prefixes.is_partial = true,
                Kind::Pure | Kind::Impure | Kind::Each => {}
                // `pure constant function` of Base Modelica.
                Kind::Constant if self.previous_kind() == Kind::Pure => {}
                Kind::Operator if matches!(self.kind_at(1), Kind::Function | Kind::Record) => {}
                _ => break,
            }
            self.bump();
        }
        let kind = self.class_kind()?;
        let extends_itself = self.eat(Kind::Extends);
        let (name, name_span) = self.class_name()?;
        self.second_name(&name);
        let mut class = Class {
            kind,
            name,
            name_span,
            comment: String::new(),
            imports: Vec::new(),
            classes: Vec::new(),
            extends: Vec::new(),
            declarations: Vec::new(),
            equations: Vec::new(),
            initial_equations: Vec::new(),
            statements: Vec::new(),
            algorithms: Vec::new(),
            external: None,
            annotations: Vec::new(),
            alias: None,
            extends_itself: None,
            constraint: None,
            prefixes,
            is_encapsulated,
            is_expandable,
            folder: None,
            span: start,
        };
        if extends_itself {
            class.extends_itself = Some(self.optional_modifications()?);
        }
        if self.eat(Kind::Equal) {
            class.alias = Some(self.type_alias()?);
            class.constraint = self.constraint()?;
            class.comment = self.comment();
            if self.at(Kind::Annotation) {
                class.annotations = self.annotation()?;
            }
            if class.constraint.is_none() {
                class.constraint = self.constraint()?;
                self.comment();
            }
        } else {
            class.comment = self.comment();
            let first = self.ast.len();
            self.class_body(&mut class)?;
            self.ast.join_element_declarations(&mut class, first);
            class.constraint = self.constraint()?;
            self.comment();
        }
        class.span = start.to(self.previous_span());
        Some(class)
    }

    /// The word that says what a class is.
    fn class_kind(&mut self) -> Option<ClassKind> {
        let kind = match self.kind() {
            Kind::Model | Kind::Class | Kind::Block => ClassKind::Model,
            Kind::Function => ClassKind::Function,
            Kind::Package => ClassKind::Package,
            Kind::Type => ClassKind::Type,
            Kind::Record => ClassKind::Record,
            Kind::Connector => ClassKind::Connector,
            Kind::Operator => ClassKind::Operator,
            _ => {
                self.expected("`model`, `class`, `block`, `function`, `type` or `package`");
                return None;
            }
        };
        self.bump();
        Some(kind)
    }

    pub(super) fn optional_modifications(&mut self) -> Option<Vec<Modification>> {
        match self.at(Kind::ParenOpen) {
            true => self.modifications(),
            false => Some(Vec::new()),
        }
    }

    /// `constrainedby Base(modifications)`, if it stands here.
    pub(super) fn constraint(&mut self) -> Option<Option<Constraining>> {
        if !self.eat(Kind::ConstrainedBy) {
            return Some(None);
        }
        self.type_name()?;
        let modifications = self.optional_modifications()?;
        Some(Some(Constraining { modifications }))
    }

    /// The name of a class, which flat text may write with dots.
    pub(super) fn class_name(&mut self) -> Option<(String, Span)> {
        let (mut name, mut span) = self.identifier("the name of the class")?;
        while self.eat(Kind::Dot) {
            let (part, part_span) = self.identifier("a name after the dot")?;
            name.push('.');
            name.push_str(&part);
            span = span.to(part_span);
        }
        Some((name, span))
    }

    pub(super) fn type_alias(&mut self) -> Option<TypeAlias> {
        let mut causality = Causality::None;
        loop {
            match self.kind() {
                Kind::Input => causality = Causality::Input,
                Kind::Output => causality = Causality::Output,
                Kind::Flow | Kind::Stream | Kind::Discrete | Kind::Parameter | Kind::Constant => {}
                _ => break,
            }
            self.bump();
        }
        if self.at(Kind::Enumeration) {
            return self.enumeration();
        }
        let (base, base_span) = self.type_name()?;
        // `function f_der = der(f, x)`: a derivative by inputs.
        if base == "der" && self.at(Kind::ParenOpen) {
            self.skip_parentheses()?;
            return Some(TypeAlias {
                base: "der".into(),
                base_span,
                dims: Vec::new(),
                modifications: Vec::new(),
                causality,
                literals: None,
            });
        }
        let dims = if self.at(Kind::BracketOpen) {
            self.subscripts()?
        } else {
            Vec::new()
        };
        let modifications = self.optional_modifications()?;
        Some(TypeAlias {
            base,
            base_span,
            dims,
            modifications,
            causality,
            literals: None,
        })
    }

    /// `enumeration(a "comment", b)` or `enumeration(:)`.
    pub(super) fn enumeration(&mut self) -> Option<TypeAlias> {
        let base_span = self.bump().span;
        self.expect(Kind::ParenOpen, "`(`")?;
        let mut literals = Vec::new();
        if !self.eat(Kind::Colon) {
            while !self.at(Kind::ParenClose) {
                literals.push(self.identifier("the name of a value")?.0);
                self.comment();
                if self.at(Kind::Annotation) {
                    self.annotation()?;
                }
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
        }
        self.expect(Kind::ParenClose, "`)`")?;
        Some(TypeAlias {
            base: String::new(),
            base_span,
            dims: Vec::new(),
            modifications: Vec::new(),
            causality: Causality::None,
            literals: Some(literals),
        })
    }

    /// Skips `( … )`.
    pub(super) fn skip_parentheses(&mut self) -> Option<()> {
        self.expect(Kind::ParenOpen, "`(`")?;
        while !self.at(Kind::ParenClose) {
            self.skip_entry()?;
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::ParenClose, "`)`").map(|_| ())
    }

    pub(super) fn recover_to_semicolon(&mut self) {
        while !matches!(self.kind(), Kind::Semicolon | Kind::EndOfText) {
            self.bump();
        }
    }

    fn class_body(&mut self, class: &mut Class) -> Option<()> {
        let mut protected = false;
        let mut guesses = Vec::new();
        loop {
            let before = self.position;
            let kind = self.misspelt_section().unwrap_or(self.kind());
            match kind {
                Kind::End => {
                    self.bump();
                    if self.is_base {
                        self.settle_base(class, guesses);
                    }
                    return self.class_end(class);
                }
                Kind::Parameter if self.is_base && self.kind_at(1) == Kind::Equation => {
                    match self.guess_equation() {
                        Some(guess) => guesses.push(guess),
                        None => self.recover(before),
                    }
                }
                _ if self.at_partition() => self.refuse_partition(),
                Kind::EndOfText => {
                    self.expected(&format!("`end {};`", class.name));
                    return Some(());
                }
                Kind::Protected | Kind::Public => protected = self.bump().kind == Kind::Protected,
                Kind::Equation => {
                    self.bump();
                    let equations = self.equations();
                    class.equations.extend(equations);
                }
                Kind::Initial if self.kind_at(1) == Kind::Equation => self.initial_equations(class),
                Kind::Initial | Kind::Algorithm => self.algorithm(class),
                Kind::Annotation => {
                    match self.annotation() {
                        Some(annotations) => class.annotations.extend(annotations),
                        None => self.recover(before),
                    }
                    self.eat(Kind::Semicolon);
                }
                Kind::Import => match self.import() {
                    Some(imports) => class.imports.extend(imports),
                    None => self.recover(before),
                },
                Kind::Extends => match self.extends(class.declarations.len()) {
                    Some(extends) => class.extends.push(extends),
                    None => self.recover(before),
                },
                Kind::External => match self.external() {
                    Some(external) => class.external = Some(external),
                    None => self.recover(before),
                },
                Kind::Else | Kind::ElseIf => {
                    self.expected("a declaration, a section or `end`");
                    self.bump();
                    self.recover(before);
                }
                Kind::Semicolon => {
                    self.bump();
                }
                _ if self.at_class() => {
                    let inside = self.class_definition(protected);
                    class.classes.extend(inside);
                }
                _ => {
                    if self.declaration(class, protected).is_none() {
                        self.recover(before);
                    }
                }
            }
            if self.position == before && !self.at(Kind::EndOfText) {
                self.bump();
            }
        }
    }

    /// `initial equation …`.
    fn initial_equations(&mut self, class: &mut Class) {
        self.bump();
        self.bump();
        let mut equations = self.equations();
        if self.is_base {
            equations.retain(|equation| !self.is_priority(&equation.kind));
        }
        class.initial_equations.extend(equations);
    }

    /// `initial algorithm …` or `algorithm …`.
    fn algorithm(&mut self, class: &mut Class) {
        let span = self.span();
        let is_initial = self.eat(Kind::Initial);
        self.eat(Kind::Algorithm);
        let body = self.statements();
        if class.kind == ClassKind::Function && !is_initial {
            class.statements.extend(body);
        } else {
            class.algorithms.push(Algorithm {
                is_initial,
                body,
                span,
            });
        }
    }

    /// `end NAME`, behind the `end`.
    fn class_end(&mut self, class: &Class) -> Option<()> {
        let (name, span) = match self.kind() {
            Kind::Ident | Kind::Quoted => self.class_name()?,
            // A stray `end for;` and the like.
            _ => {
                self.expected(&format!("`{}`", class.name));
                self.recover_to_semicolon();
                return Some(());
            }
        };
        if name != class.name {
            self.report(
                Diagnostic::error(
                    Code::WrongEnd,
                    span,
                    format!("`end {name}` closes `{}`", class.name),
                )
                .label(format!("should be `{}`", class.name))
                .related(class.name_span, "the class begins here")
                .help(format!("write `end {};`", class.name)),
            );
        }
        Some(())
    }

    /// `extends Base(modifications);`
    fn extends(&mut self, position: usize) -> Option<Extends> {
        self.bump();
        let (base, base_span) = self.type_name()?;
        let modifications = self.optional_modifications()?;
        if self.at(Kind::Annotation) {
            self.annotation()?;
        }
        self.expect(Kind::Semicolon, "`;`")?;
        Some(Extends {
            base,
            base_span,
            modifications,
            position,
        })
    }

    /// `external "C" y = f(x) annotation(…);`
    fn external(&mut self) -> Option<External> {
        let start = self.bump().span;
        let mut language = "C".to_string();
        if self.at(Kind::String) {
            language = self.comment();
        }
        let (mut name, mut result, mut arguments) = (None, None, Vec::new());
        if !matches!(self.kind(), Kind::Semicolon | Kind::Annotation) {
            let mut target = self.assigned()?;
            if self.eat(Kind::Equal) {
                result = Some(target);
                target = self.assigned()?;
            }
            match self.ast.expr(target) {
                crate::ast::Expr::Call {
                    name: called,
                    positional,
                    ..
                } => {
                    name = Some(called.clone());
                    arguments = positional.clone();
                }
                _ => {
                    self.expected("`(`");
                    return None;
                }
            }
        }
        let span = start.to(self.previous_span());
        if self.at(Kind::Annotation) {
            self.annotation()?;
        }
        self.expect(Kind::Semicolon, "`;`")?;
        Some(External {
            language,
            name,
            result,
            arguments,
            span,
        })
    }

    fn import(&mut self) -> Option<Vec<Import>> {
        self.bump();
        let mut local = None;
        if self.kind_at(1) == Kind::Equal {
            local = Some(self.identifier("a name")?.0);
            self.bump();
        }
        self.eat(Kind::Dot);
        let (mut path, start) = self.identifier("a name")?;
        let mut wildcard = false;
        let mut several = Vec::new();
        loop {
            if self.eat(Kind::DotStar) {
                wildcard = true;
                break;
            }
            if !self.eat(Kind::Dot) {
                break;
            }
            if self.eat(Kind::BraceOpen) {
                while !self.at(Kind::BraceClose) {
                    several.push(self.identifier("a name")?.0);
                    if !self.eat(Kind::Comma) {
                        break;
                    }
                }
                self.expect(Kind::BraceClose, "`}`")?;
                break;
            }
            let (part, _) = self.identifier("a name after the dot")?;
            path.push('.');
            path.push_str(&part);
        }
        let span = start.to(self.previous_span());
        self.comment();
        if self.at(Kind::Annotation) {
            self.annotation()?;
        }
        self.expect(Kind::Semicolon, "`;`")?;
        if !several.is_empty() {
            let import = |name: String| Import {
                path: format!("{path}.{name}"),
                local: Some(name),
                span,
            };
            return Some(several.into_iter().map(import).collect());
        }
        if local.is_none() && !wildcard {
            local = path.rsplit('.').next().map(str::to_string);
        }
        Some(vec![Import { local, path, span }])
    }
}
