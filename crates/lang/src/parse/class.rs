//! Classes: models, functions, types, packages, and their declarations.

use super::Parser;
use crate::ast::{
    AstId, Causality, Class, ClassKind, Declaration, Import, Modification, TypeAlias, Variability,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::token::Kind;

const FLATTEN: &str = "flatten the model first";

impl Parser<'_> {
    /// A whole text: any number of classes.
    pub(super) fn text(&mut self) {
        while !self.at(Kind::EndOfText) {
            let before = self.position;
            match self.kind() {
                Kind::Within => {
                    while !matches!(self.kind(), Kind::Semicolon | Kind::EndOfText) {
                        self.bump();
                    }
                    self.bump();
                }
                Kind::Semicolon => {
                    self.bump();
                }
                _ if self.at_class() => self.class_definition(),
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

    fn at_class(&self) -> bool {
        match self.kind() {
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
            Kind::Final => matches!(self.kind_at(1), Kind::Model | Kind::Class | Kind::Function),
            Kind::Operator => {
                matches!(self.kind_at(1), Kind::Function | Kind::Record | Kind::Ident)
            }
            _ => false,
        }
    }

    /// Reads a class, its `;` included, and the classes inside it.
    fn class_definition(&mut self) {
        let before = self.position;
        if self.nested(Self::class).is_none() {
            self.recover(before);
            if self.position == before {
                self.bump();
            }
        } else {
            self.expect(Kind::Semicolon, "`;`");
        }
    }

    fn class(&mut self) -> Option<()> {
        while matches!(
            self.kind(),
            Kind::Encapsulated
                | Kind::Partial
                | Kind::Expandable
                | Kind::Pure
                | Kind::Impure
                | Kind::Final
        ) {
            self.bump();
        }
        let kind_span = self.span();
        let kind = match self.bump().kind {
            Kind::Model | Kind::Class | Kind::Block => ClassKind::Model,
            Kind::Function => ClassKind::Function,
            Kind::Package => ClassKind::Package,
            Kind::Type => ClassKind::Type,
            _ => {
                let word = format!("`{}`", self.word(kind_span));
                self.unsupported(
                    kind_span,
                    &word,
                    "declare its components as variables of the model",
                );
                self.skip_class();
                return Some(());
            }
        };
        if self.at(Kind::Extends) {
            let span = self.span();
            self.unsupported(span, "`extends`", FLATTEN);
            self.skip_class();
            return Some(());
        }
        let (name, name_span) = self.class_name()?;
        let mut class = Class {
            kind,
            name,
            name_span,
            comment: String::new(),
            imports: Vec::new(),
            declarations: Vec::new(),
            equations: Vec::new(),
            initial_equations: Vec::new(),
            statements: Vec::new(),
            annotations: Vec::new(),
            alias: None,
        };
        if self.at(Kind::Equal) && kind != ClassKind::Type {
            let span = class.name_span.to(self.span());
            let what = format!("`{} = …`, a class defined by another one,", class.name);
            self.unsupported(
                span,
                &what,
                "write the class out, with its parameters changed",
            );
            self.recover_to_semicolon();
            return Some(());
        }
        if self.eat(Kind::Equal) {
            class.alias = Some(self.type_alias()?);
            self.comment();
            if self.at(Kind::Annotation) {
                self.annotation()?;
            }
        } else {
            class.comment = self.comment();
            let first = self.ast.len();
            self.class_body(&mut class)?;
            self.ast.join_element_declarations(&mut class, first);
        }
        self.ast.classes.push(class);
        Some(())
    }

    /// The name of a class, which flat text may write with dots.
    fn class_name(&mut self) -> Option<(String, Span)> {
        let (mut name, mut span) = self.identifier("the name of the class")?;
        while self.eat(Kind::Dot) {
            let (part, part_span) = self.identifier("a name behind the dot")?;
            name.push('.');
            name.push_str(&part);
            span = span.to(part_span);
        }
        Some((name, span))
    }

    /// Skips a class that is not supported, up to its `end NAME`.
    fn skip_class(&mut self) {
        let name = self.span();
        let name = self.word(name).to_string();
        while !self.at(Kind::EndOfText) {
            if self.bump().kind == Kind::End && self.word(self.span()) == name {
                self.bump();
                return;
            }
        }
    }

    fn type_alias(&mut self) -> Option<TypeAlias> {
        if self.at(Kind::Enumeration) {
            let span = self.span();
            self.unsupported(span, "`enumeration`", "use Integer constants");
            self.recover_to_semicolon();
            return None;
        }
        while matches!(self.kind(), Kind::Input | Kind::Output) {
            self.bump();
        }
        let (base, base_span) = self.type_name()?;
        let dims = if self.at(Kind::BracketOpen) {
            self.subscripts()?
        } else {
            Vec::new()
        };
        let modifications = if self.at(Kind::ParenOpen) {
            self.modifications()?
        } else {
            Vec::new()
        };
        Some(TypeAlias {
            base,
            base_span,
            dims,
            modifications,
        })
    }

    fn recover_to_semicolon(&mut self) {
        while !matches!(self.kind(), Kind::Semicolon | Kind::EndOfText) {
            self.bump();
        }
    }

    fn class_body(&mut self, class: &mut Class) -> Option<()> {
        let mut protected = false;
        loop {
            let before = self.position;
            let span = self.span();
            match self.kind() {
                Kind::End => {
                    self.bump();
                    return self.class_end(class);
                }
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
                Kind::Initial if self.kind_at(1) == Kind::Equation => {
                    self.bump();
                    self.bump();
                    let equations = self.equations();
                    class.initial_equations.extend(equations);
                }
                Kind::Initial => {
                    self.unsupported(
                        span,
                        "`initial algorithm`",
                        "use an `initial equation` section",
                    );
                    self.bump();
                    self.eat(Kind::Algorithm);
                    self.statements();
                }
                Kind::Algorithm => {
                    self.bump();
                    if class.kind == ClassKind::Model {
                        self.unsupported(
                            span,
                            "an `algorithm` section of a model",
                            "write equations, or move the assignments into a function",
                        );
                    }
                    let n_reported = self.diagnostics.len();
                    let statements = self.statements();
                    if class.kind == ClassKind::Model {
                        // What stands in it does not matter then.
                        self.diagnostics.truncate(n_reported);
                    }
                    class.statements.extend(statements);
                }
                Kind::Annotation => {
                    match self.annotation() {
                        Some(annotations) => class.annotations.extend(annotations),
                        None => self.recover(before),
                    }
                    self.eat(Kind::Semicolon);
                }
                Kind::Import => match self.import() {
                    Some(import) => class.imports.push(import),
                    None => self.recover(before),
                },
                Kind::Extends => {
                    self.unsupported(span, "`extends`", FLATTEN);
                    self.recover_to_semicolon();
                    self.bump();
                }
                Kind::External => {
                    self.unsupported(span, "`external`", "write the function in Modelica");
                    self.recover_to_semicolon();
                    self.bump();
                }
                Kind::Else | Kind::ElseIf => {
                    self.expected("a declaration, a section or `end`");
                    self.bump();
                    self.recover(before);
                }
                Kind::Semicolon => {
                    self.bump();
                }
                _ if self.at_class() => self.class_definition(),
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

    fn import(&mut self) -> Option<Import> {
        self.bump();
        let mut local = None;
        if self.kind_at(1) == Kind::Equal {
            local = Some(self.identifier("a name")?.0);
            self.bump();
        }
        let (mut path, _) = self.identifier("a name")?;
        let mut wildcard = false;
        loop {
            if self.eat(Kind::DotStar) {
                wildcard = true;
                break;
            }
            if !self.eat(Kind::Dot) {
                break;
            }
            let (part, _) = self.identifier("a name behind the dot")?;
            path.push('.');
            path.push_str(&part);
        }
        self.comment();
        self.expect(Kind::Semicolon, "`;`")?;
        if local.is_none() && !wildcard {
            local = path.rsplit('.').next().map(str::to_string);
        }
        Some(Import { local, path })
    }

    /// A dotted type name.
    fn type_name(&mut self) -> Option<(String, Span)> {
        let start = self.span();
        self.eat(Kind::Dot);
        let (mut name, _) = self.identifier("the name of a type")?;
        while self.eat(Kind::Dot) {
            let (part, _) = self.identifier("a name behind the dot")?;
            name.push('.');
            name.push_str(&part);
        }
        Some((name, start.to(self.previous_span())))
    }

    /// `prefixes Type[dims] a[dims](attributes) = binding "comment", b …;`
    fn declaration(&mut self, class: &mut Class, is_protected: bool) -> Option<()> {
        let start = self.span();
        let mut variability = Variability::Continuous;
        let mut causality = Causality::None;
        let mut is_final = false;
        loop {
            let span = self.span();
            match self.kind() {
                Kind::Parameter => variability = Variability::Parameter,
                Kind::Constant => variability = Variability::Constant,
                Kind::Discrete => variability = Variability::Discrete,
                Kind::Input => causality = Causality::Input,
                Kind::Output => causality = Causality::Output,
                Kind::Final => is_final = true,
                Kind::Redeclare
                | Kind::Replaceable
                | Kind::Inner
                | Kind::Outer
                | Kind::Flow
                | Kind::Stream => {
                    let word = format!("`{}`", self.word(span));
                    self.unsupported(span, &word, FLATTEN);
                    return None;
                }
                _ => break,
            }
            self.bump();
        }
        let (type_name, type_span) = self.declared_type()?;
        let shared_dims = if self.at(Kind::BracketOpen) {
            self.subscripts()?
        } else {
            Vec::new()
        };
        loop {
            let (name, name_span) = self.declared_name()?;
            let mut dims = if self.at(Kind::BracketOpen) {
                self.subscripts()?
            } else {
                Vec::new()
            };
            // `Real[3] a[2]` is a 2 by 3 array.
            dims.extend(shared_dims.iter().copied());
            let modifications = if self.at(Kind::ParenOpen) {
                self.modifications()?
            } else {
                Vec::new()
            };
            let binding = if self.eat(Kind::Equal) || self.eat(Kind::Assign) {
                Some(self.expression()?)
            } else {
                None
            };
            if self.at(Kind::If) {
                let span = self.span();
                self.unsupported(
                    span,
                    "a conditional declaration",
                    "declare the variable always",
                );
                return None;
            }
            let span = name_span.to(self.previous_span());
            let comment = self.comment();
            if self.at(Kind::Annotation) {
                self.annotation()?;
            }
            class.declarations.push(Declaration {
                name,
                name_span,
                type_name: type_name.clone(),
                type_span,
                variability,
                causality,
                is_final,
                is_protected,
                dims,
                modifications,
                binding,
                comment,
                span,
            });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        if !self.at(Kind::Semicolon) && self.position > 0 && self.span() == start {
            return None;
        }
        self.end_element(Self::at_declaration)
    }

    /// Whether the next words look like a declaration or a section.
    fn at_declaration(&self) -> bool {
        match self.kind() {
            Kind::Parameter
            | Kind::Constant
            | Kind::Input
            | Kind::Output
            | Kind::Final
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
    fn declared_type(&mut self) -> Option<(String, Span)> {
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
        if looks_like_equation {
            // Those that follow are cured by the same word.
            if !std::mem::replace(&mut self.misplaced_equation, true) {
                self.report(
                    Diagnostic::error(
                        Code::Syntax,
                        start,
                        "expected a declaration, found an equation",
                    )
                    .label("equations come behind the word `equation`")
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
            let (part, _) = self.identifier("a name behind the dot")?;
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
                if !parser.eat(Kind::Comma) {
                    break;
                }
            }
            parser.expect(Kind::ParenClose, "`)`")?;
            Some(list)
        })
    }

    fn modification(&mut self) -> Option<Modification> {
        while matches!(self.kind(), Kind::Each | Kind::Final) {
            self.bump();
        }
        if matches!(self.kind(), Kind::Redeclare | Kind::Replaceable) {
            let span = self.span();
            self.unsupported(span, "`redeclare`", FLATTEN);
            return None;
        }
        let (name, start) = self.type_name()?;
        let nested = if self.at(Kind::ParenOpen) {
            self.modifications()?
        } else {
            Vec::new()
        };
        let value: Option<AstId> = if self.eat(Kind::Equal) {
            Some(self.expression()?)
        } else {
            None
        };
        self.comment();
        let span = start.to(self.previous_span());
        Some(Modification {
            name,
            span,
            nested,
            value,
        })
    }

    /// `annotation(…)`; its content is kept.
    pub(super) fn annotation(&mut self) -> Option<Vec<Modification>> {
        self.bump();
        if !self.at(Kind::ParenOpen) {
            self.expected("`(`");
            return None;
        }
        self.bump();
        let mut list = Vec::new();
        while !self.at(Kind::ParenClose) {
            // Graphics and the like hold what is no expression of ours: such entries are skipped.
            let before = (self.position, self.diagnostics.len());
            let is_ours = matches!(self.word(self.span()), "__daelight" | "experiment");
            match self.nested(Self::modification) {
                Some(entry) => list.push(entry),
                None if is_ours => return None,
                None => {
                    self.diagnostics.truncate(before.1);
                    self.position = before.0;
                    self.skip_entry()?;
                }
            }
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::ParenClose, "`)`")?;
        Some(list)
    }

    /// Skips to the comma or closing parenthesis behind an entry of an annotation.
    fn skip_entry(&mut self) -> Option<()> {
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
