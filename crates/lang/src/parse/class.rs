//! Classes: models, functions, types, packages, and their declarations.

use super::Parser;
use crate::ast::{
    Algorithm, AstId, Causality, Class, ClassKind, Constraint, Declaration, Extends, External,
    Flow, Import, Modification, Prefixes, Redeclared, TypeAlias, Variability,
};
use crate::diagnostic::{Code, Diagnostic};
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
    fn class_definition(&mut self, is_protected: bool) -> Option<Class> {
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

    fn class(&mut self, is_protected: bool) -> Option<Class> {
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
                Kind::Pure | Kind::Impure | Kind::Each | Kind::Partial => {}
                Kind::Operator if matches!(self.kind_at(1), Kind::Function | Kind::Record) => {}
                _ => break,
            }
            self.bump();
        }
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
        let extends_itself = self.eat(Kind::Extends);
        let (name, name_span) = self.class_name()?;
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
            class.comment = self.comment();
            if self.at(Kind::Annotation) {
                class.annotations = self.annotation()?;
            }
        } else {
            class.comment = self.comment();
            let first = self.ast.len();
            self.class_body(&mut class)?;
            self.ast.join_element_declarations(&mut class, first);
        }
        class.span = start.to(self.previous_span());
        Some(class)
    }

    fn optional_modifications(&mut self) -> Option<Vec<Modification>> {
        match self.at(Kind::ParenOpen) {
            true => self.modifications(),
            false => Some(Vec::new()),
        }
    }

    /// `constrainedby Base(modifications)`, if it stands here.
    fn constraint(&mut self) -> Option<Option<Constraint>> {
        if !self.eat(Kind::ConstrainedBy) {
            return Some(None);
        }
        self.type_name()?;
        let modifications = self.optional_modifications()?;
        Some(Some(Constraint { modifications }))
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

    fn type_alias(&mut self) -> Option<TypeAlias> {
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
                constraint: None,
            });
        }
        let dims = if self.at(Kind::BracketOpen) {
            self.subscripts()?
        } else {
            Vec::new()
        };
        let modifications = self.optional_modifications()?;
        let constraint = self.constraint()?;
        Some(TypeAlias {
            base,
            base_span,
            dims,
            modifications,
            causality,
            literals: None,
            constraint,
        })
    }

    /// `enumeration(a "comment", b)` or `enumeration(:)`.
    fn enumeration(&mut self) -> Option<TypeAlias> {
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
        let constraint = self.constraint()?;
        Some(TypeAlias {
            base: String::new(),
            base_span,
            dims: Vec::new(),
            modifications: Vec::new(),
            causality: Causality::None,
            literals: Some(literals),
            constraint,
        })
    }

    /// Skips `( … )`.
    fn skip_parentheses(&mut self) -> Option<()> {
        self.expect(Kind::ParenOpen, "`(`")?;
        while !self.at(Kind::ParenClose) {
            self.skip_entry()?;
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::ParenClose, "`)`").map(|_| ())
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
                    self.bump();
                    self.eat(Kind::Algorithm);
                    let body = self.statements();
                    class.algorithms.push(Algorithm {
                        is_initial: true,
                        body,
                        span,
                    });
                }
                Kind::Algorithm => {
                    self.bump();
                    let body = self.statements();
                    if class.kind == ClassKind::Function {
                        class.statements.extend(body);
                    } else {
                        class.algorithms.push(Algorithm {
                            is_initial: false,
                            body,
                            span,
                        });
                    }
                }
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
        let (mut path, _) = self.identifier("a name")?;
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
            let (part, _) = self.identifier("a name behind the dot")?;
            path.push('.');
            path.push_str(&part);
        }
        self.comment();
        if self.at(Kind::Annotation) {
            self.annotation()?;
        }
        self.expect(Kind::Semicolon, "`;`")?;
        if !several.is_empty() {
            let import = |name: String| Import {
                path: format!("{path}.{name}"),
                local: Some(name),
            };
            return Some(several.into_iter().map(import).collect());
        }
        if local.is_none() && !wildcard {
            local = path.rsplit('.').next().map(str::to_string);
        }
        Some(vec![Import { local, path }])
    }

    /// A dotted type name.
    fn type_name(&mut self) -> Option<(String, Span)> {
        let start = self.span();
        let mut name = String::new();
        if self.eat(Kind::Dot) {
            name.push('.');
        }
        let (first, _) = self.identifier("the name of a type")?;
        name.push_str(&first);
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
    fn at_declaration(&self) -> bool {
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
        let value: Option<AstId> = if self.eat(Kind::Equal) || self.eat(Kind::Assign) {
            Some(self.expression()?)
        } else {
            None
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
                self.skip_entry()?;
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
