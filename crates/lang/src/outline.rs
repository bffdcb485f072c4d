//! The names of a text, for editors: what is declared where, and which words stand for what kind of name.
//!
//! Nothing is checked and no other text is read; a text with mistakes has an outline of what could be understood.

use crate::ast::{
    Ast, Causality, Class, ClassKind, Declaration, EquationKind, Expr, Iterator as Loop,
    Modification, Redeclared, Statement, StatementKind, Variability, WrittenEquation,
};
use crate::diagnostic::Severity;
use crate::parse::{parse, unquote};
use crate::source::{Source, SourceId, Span};
use crate::token::{Kind, Token, tokenize};
use std::collections::HashMap;

/// The names of a text.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// All classes, each before those inside it.
    pub classes: Vec<OutlinedClass>,
    /// The package that `within` names.
    pub within: Option<String>,
    /// Every name that stands in the text, in order.
    pub words: Vec<Word>,
    /// The variables of loops.
    pub loops: Vec<LoopVariable>,
    /// Whether the whole text could be read.
    pub is_whole: bool,
}

/// A class of a text.
#[derive(Clone, Debug)]
pub struct OutlinedClass {
    /// Its name.
    pub name: String,
    /// The word that begins it: `model`, `function`, `package`, `type`, `record`, `connector` or `operator`.
    pub kind: &'static str,
    /// Where its name stands.
    pub name_span: Span,
    /// All of it.
    pub span: Span,
    /// The class around it.
    pub around: Option<usize>,
    /// The comment behind its name.
    pub comment: String,
    /// The classes that it extends, or is another name of.
    pub bases: Vec<String>,
    /// Its imports: the name used here (`None` for all of a package) and the path.
    pub imports: Vec<(Option<String>, String)>,
    /// The values of an enumeration.
    pub literals: Vec<String>,
    /// What it declares.
    pub declarations: Vec<OutlinedDeclaration>,
    /// Its equations, those inside loops and branches too.
    pub equations: Vec<Span>,
    /// Where `equation` and `algorithm` sections stand is where these are.
    pub statements: Vec<Span>,
}

/// A declaration of a component or variable.
#[derive(Clone, Debug)]
pub struct OutlinedDeclaration {
    /// The name.
    pub name: String,
    /// Where it stands.
    pub name_span: Span,
    /// The whole declaration.
    pub span: Span,
    /// The name of its type, as written.
    pub type_name: String,
    /// `parameter`, `constant`, `input`, `output`, `discrete` or `variable`.
    pub kind: &'static str,
    /// The comment behind it.
    pub comment: String,
    /// Whether it has subscripts.
    pub is_array: bool,
}

/// The variable of a loop.
#[derive(Clone, Debug)]
pub struct LoopVariable {
    /// The name.
    pub name: String,
    /// Where it is introduced.
    pub name_span: Span,
    /// Where it can be used.
    pub scope: Span,
}

/// A name in the text.
#[derive(Clone, Debug)]
pub struct Word {
    /// Its place.
    pub span: Span,
    /// What kind of name it is.
    pub role: WordRole,
}

impl Word {
    /// The name, without quotes.
    pub fn name<'t>(&self, text: &'t str) -> &'t str {
        let word = slice(text, self.span);
        let inside = word.strip_prefix('\'').and_then(|w| w.strip_suffix('\''));
        inside.unwrap_or(word)
    }
}

/// What kind of name a word is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordRole {
    /// A name that is looked up in the text around it.
    Plain,
    /// A name behind a dot: a part of what the word at this position of [`Outline::words`] stands for.
    Member(Option<usize>),
    /// A name inside parentheses that give a value to a part of `owner`, through the parts of `path`.
    Modified {
        /// The type, base or function that is modified or called, as written.
        owner: String,
        /// The parts on the way, this word's the last.
        path: Vec<String>,
    },
    /// The name behind `end`.
    EndOfClass,
    /// A word that only other tools read.
    Foreign,
}

/// Reads the names of a text.
pub fn outline(text: &str) -> Outline {
    let id = SourceId(0);
    let source = Source::new("", text);
    let mut diagnostics = Vec::new();
    let ast = parse(&source, id, 0, &mut diagnostics);
    let tokens = tokenize(text, id, &mut Vec::new());
    let mut builder = Builder {
        text,
        ast: &ast,
        outline: Outline {
            within: ast.within.clone(),
            is_whole: !diagnostics.iter().any(|d| d.severity == Severity::Error),
            ..Outline::default()
        },
        modified: HashMap::new(),
    };
    builder.classes(&ast.classes, None);
    builder.expressions();
    builder.words(&tokens);
    builder.outline
}

/// Whether two texts consist of the same words, comments aside.
pub fn retokenizes(before: &str, after: &str) -> bool {
    let words = |text: &str| -> Vec<(Kind, String)> {
        tokenize(text, SourceId(0), &mut Vec::new())
            .iter()
            .map(|token| (token.kind, slice(text, token.span).to_string()))
            .collect()
    };
    words(before) == words(after)
}

fn slice(text: &str, span: Span) -> &str {
    &text[span.start as usize..span.end as usize]
}

struct Builder<'a> {
    text: &'a str,
    ast: &'a Ast,
    outline: Outline,
    /// Names that give values to parts of something, by the first byte of what they begin.
    modified: HashMap<u32, (String, Vec<String>)>,
}

impl Builder<'_> {
    fn classes(&mut self, classes: &[Class], around: Option<usize>) {
        for class in classes {
            self.class(class, around);
        }
    }

    fn class(&mut self, class: &Class, around: Option<usize>) {
        let mut bases: Vec<String> = class.extends.iter().map(|e| e.base.clone()).collect();
        bases.extend(class.alias.iter().map(|alias| alias.base.clone()));
        let literals = class.alias.as_ref().and_then(|a| a.literals.clone());
        let at = self.outline.classes.len();
        self.outline.classes.push(OutlinedClass {
            name: class.name.clone(),
            kind: word_of(class.kind),
            name_span: class.name_span,
            span: class.span,
            around,
            comment: class.comment.clone(),
            bases,
            imports: (class.imports.iter())
                .map(|import| (import.local.clone(), import.path.clone()))
                .collect(),
            literals: literals.unwrap_or_default(),
            declarations: (class.declarations.iter())
                .map(|declaration| self.declaration(declaration))
                .collect(),
            equations: Vec::new(),
            statements: Vec::new(),
        });
        for declaration in &class.declarations {
            self.modified_by_declaration(declaration);
        }
        for extends in &class.extends {
            self.modifications(&extends.modifications, &extends.base, &[]);
        }
        if let Some(alias) = &class.alias {
            self.modifications(&alias.modifications, &alias.base, &[]);
        }
        self.modifications(&class.annotations, "", &[]);
        self.equations(at, &class.equations);
        self.equations(at, &class.initial_equations);
        self.statements(at, &class.statements);
        for algorithm in &class.algorithms {
            self.statements(at, &algorithm.body);
        }
        self.classes(&class.classes, Some(at));
    }

    fn declaration(&self, declaration: &Declaration) -> OutlinedDeclaration {
        let kind = match (declaration.variability, declaration.causality) {
            (Variability::Parameter, _) => "parameter",
            (Variability::Constant, _) => "constant",
            (_, Causality::Input) => "input",
            (_, Causality::Output) => "output",
            (Variability::Discrete, _) => "discrete",
            _ => "variable",
        };
        OutlinedDeclaration {
            name: unquote(slice(self.text, declaration.name_span)),
            name_span: declaration.name_span,
            span: declaration.span,
            type_name: declaration.type_name.clone(),
            kind,
            comment: declaration.comment.clone(),
            is_array: !declaration.dims.is_empty() || declaration.name.ends_with(']'),
        }
    }

    fn modified_by_declaration(&mut self, declaration: &Declaration) {
        self.modifications(&declaration.modifications, &declaration.type_name, &[]);
    }

    fn modifications(&mut self, items: &[Modification], owner: &str, path: &[String]) {
        for item in items {
            let mut inner = path.to_vec();
            inner.extend(item.name.split('.').map(str::to_string));
            match item.redeclared.as_deref() {
                Some(Redeclared::Component(declaration)) => {
                    self.modified
                        .insert(declaration.name_span.start, (owner.to_string(), inner));
                    self.modified_by_declaration(declaration);
                }
                Some(Redeclared::Class(class)) => {
                    self.modified
                        .insert(class.name_span.start, (owner.to_string(), inner));
                    if let Some(alias) = &class.alias {
                        self.modifications(&alias.modifications, &alias.base, &[]);
                    }
                }
                None => {
                    let start = self.name_in(item.span, &item.name);
                    self.modified
                        .insert(start, (owner.to_string(), inner.clone()));
                    self.modifications(&item.nested, owner, &inner);
                }
            }
        }
    }

    /// Where a name begins in a span that may have other words in front.
    fn name_in(&self, span: Span, name: &str) -> u32 {
        let first = name.split('.').next().unwrap_or(name);
        let found = slice(self.text, span).find(first);
        span.start + found.unwrap_or(0) as u32
    }

    fn equations(&mut self, class: usize, equations: &[WrittenEquation]) {
        for equation in equations {
            match &equation.kind {
                EquationKind::For { iterators, body } => {
                    self.loops(iterators, equation.span);
                    self.equations(class, body);
                }
                EquationKind::If {
                    branches,
                    otherwise,
                } => {
                    for (_, body) in branches {
                        self.equations(class, body);
                    }
                    self.equations(class, otherwise);
                }
                EquationKind::When { branches } => {
                    for (_, body) in branches {
                        self.equations(class, body);
                    }
                }
                EquationKind::Equal(..) | EquationKind::Call(_) | EquationKind::Connect(..) => {
                    self.outline.classes[class].equations.push(equation.span);
                    continue;
                }
            }
            self.outline.classes[class].statements.push(equation.span);
        }
    }

    fn statements(&mut self, class: usize, statements: &[Statement]) {
        for statement in statements {
            self.outline.classes[class].statements.push(statement.span);
            match &statement.kind {
                StatementKind::For { iterators, body } => {
                    self.loops(iterators, statement.span);
                    self.statements(class, body);
                }
                StatementKind::While { body, .. } => self.statements(class, body),
                StatementKind::If {
                    branches,
                    otherwise,
                } => {
                    for (_, body) in branches {
                        self.statements(class, body);
                    }
                    self.statements(class, otherwise);
                }
                StatementKind::When { branches } => {
                    for (_, body) in branches {
                        self.statements(class, body);
                    }
                }
                _ => {}
            }
        }
    }

    fn loops(&mut self, iterators: &[Loop], scope: Span) {
        for iterator in iterators {
            self.outline.loops.push(LoopVariable {
                name: iterator.name.clone(),
                name_span: iterator.span,
                scope,
            });
        }
    }

    /// Loop variables inside expressions, and arguments that are given by name.
    fn expressions(&mut self) {
        let ast = self.ast;
        for (expr, span) in ast.exprs() {
            match expr {
                Expr::Comprehension { iterators, .. } => self.loops(iterators, *span),
                Expr::Call { name, named, .. } | Expr::FunctionArgument { name, named, .. } => {
                    for (argument, place, _) in named {
                        let entry = (name.clone(), vec![argument.clone()]);
                        self.modified.insert(place.start, entry);
                    }
                }
                _ => {}
            }
        }
    }

    fn words(&mut self, tokens: &[Token]) {
        let mut open: Vec<Option<usize>> = Vec::new();
        let mut last = None;
        // The depth of parentheses at which an annotation began.
        let (mut depth, mut annotation) = (0usize, None);
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| tokens[at].kind);
            let after = tokens.get(at + 1).map(|token| token.kind);
            match token.kind {
                Kind::Annotation => annotation = annotation.or(Some(depth)),
                Kind::ParenOpen => depth += 1,
                Kind::ParenClose => {
                    depth = depth.saturating_sub(1);
                    annotation = annotation.filter(|&outside| depth > outside);
                }
                Kind::Semicolon => (depth, annotation) = (0, None),
                Kind::BracketOpen => open.push(last),
                Kind::BracketClose => last = open.pop().flatten(),
                Kind::Ident | Kind::Quoted => {
                    let names = matches!(after, Some(Kind::Equal | Kind::ParenOpen));
                    let opens = matches!(
                        before,
                        Some(
                            Kind::ParenOpen
                                | Kind::Comma
                                | Kind::Each
                                | Kind::Final
                                | Kind::Replaceable
                        )
                    );
                    let role = match before {
                        Some(Kind::Dot) => {
                            WordRole::Member(last.filter(|_| behind_name(tokens, at)))
                        }
                        Some(Kind::End) => WordRole::EndOfClass,
                        _ => match self.modified.get(&token.span.start) {
                            Some((owner, path)) => WordRole::Modified {
                                owner: owner.clone(),
                                path: path.clone(),
                            },
                            None if annotation.is_some() && names => WordRole::Foreign,
                            // In a part that could not be read.
                            None if depth > 0 && opens && after == Some(Kind::Equal) => {
                                WordRole::Foreign
                            }
                            None => WordRole::Plain,
                        },
                    };
                    last = Some(self.outline.words.len());
                    let span = token.span;
                    self.outline.words.push(Word { span, role });
                }
                _ => {}
            }
        }
    }
}

/// Whether the dot before the word at `at` stands behind a name or its subscripts, and not at the beginning of a path.
fn behind_name(tokens: &[Token], at: usize) -> bool {
    let two_before = at.checked_sub(2).map(|at| tokens[at].kind);
    matches!(
        two_before,
        Some(Kind::Ident | Kind::Quoted | Kind::BracketClose)
    )
}

fn word_of(kind: ClassKind) -> &'static str {
    match kind {
        ClassKind::Model => "model",
        ClassKind::Function => "function",
        ClassKind::Package => "package",
        ClassKind::Type => "type",
        ClassKind::Record => "record",
        ClassKind::Connector => "connector",
        ClassKind::Operator => "operator",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_roles() {
        let text = "model M  parameter Real k[2](each start = 1);  Part p(body(m = k[1]));
            equation  p.body[1].x = f(a = 2);  for i in 1:2 loop  k[i] = 1;  end for;
            annotation(Line(points = k));  end M;";
        let outline = outline(text);
        assert!(outline.is_whole);
        let role = |wanted: &str| {
            let mut words = outline.words.iter();
            let found = words.find(|word| slice(text, word.span) == wanted);
            found.map(|word| word.role.clone())
        };
        let modified = |owner: &str, path: &[&str]| {
            Some(WordRole::Modified {
                owner: owner.into(),
                path: path.iter().map(|part| part.to_string()).collect(),
            })
        };
        assert_eq!(role("start"), modified("Real", &["start"]));
        assert_eq!(role("m"), modified("Part", &["body", "m"]));
        assert_eq!(role("a"), modified("f", &["a"]));
        assert!(matches!(role("x"), Some(WordRole::Member(Some(_)))));
        assert_eq!(
            outline.words.last().map(|w| &w.role),
            Some(&WordRole::EndOfClass)
        );
        assert_eq!(outline.loops[0].name, "i");
        assert_eq!(outline.classes[0].equations.len(), 2);
    }

    #[test]
    fn a_broken_text_has_an_outline() {
        let outline = outline("model M  Real x;  Real y(sta  equation  x = ; y = 2*x;");
        assert!(!outline.is_whole);
        assert_eq!(outline.classes[0].declarations[0].name, "x");
    }
}
