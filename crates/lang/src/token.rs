//! Words of Modelica text.

use crate::diagnostic::{Code, Diagnostic, MAX_ERRORS};
use crate::source::{SourceId, Span};
use logos::{Lexer, Logos};

/// What a word is.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub enum Kind {
    #[token("/*", block_comment)]
    BlockComment,
    #[regex(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")]
    #[regex(r"\.[0-9]+([eE][+-]?[0-9]+)?")]
    Number,
    #[token("\"", string)]
    String,
    #[regex(r"[A-Za-z_$][A-Za-z0-9_$]*")]
    Ident,
    #[token("'", quoted)]
    Quoted,

    #[token("algorithm")]
    Algorithm,
    #[token("and")]
    And,
    #[token("annotation")]
    Annotation,
    #[token("block")]
    Block,
    #[token("break")]
    Break,
    #[token("class")]
    Class,
    #[token("connect")]
    Connect,
    #[token("connector")]
    Connector,
    #[token("constant")]
    Constant,
    #[token("constrainedby")]
    ConstrainedBy,
    #[token("discrete")]
    Discrete,
    #[token("each")]
    Each,
    #[token("else")]
    Else,
    #[token("elseif")]
    ElseIf,
    #[token("elsewhen")]
    ElseWhen,
    #[token("encapsulated")]
    Encapsulated,
    #[token("end")]
    End,
    #[token("enumeration")]
    Enumeration,
    #[token("equation")]
    Equation,
    #[token("expandable")]
    Expandable,
    #[token("extends")]
    Extends,
    #[token("external")]
    External,
    #[token("false")]
    False,
    #[token("final")]
    Final,
    #[token("flow")]
    Flow,
    #[token("for")]
    For,
    #[token("function")]
    Function,
    #[token("if")]
    If,
    #[token("import")]
    Import,
    #[token("impure")]
    Impure,
    #[token("in")]
    In,
    #[token("initial")]
    Initial,
    #[token("inner")]
    Inner,
    #[token("input")]
    Input,
    #[token("loop")]
    Loop,
    #[token("model")]
    Model,
    #[token("not")]
    Not,
    #[token("operator")]
    Operator,
    #[token("or")]
    Or,
    #[token("outer")]
    Outer,
    #[token("output")]
    Output,
    #[token("package")]
    Package,
    #[token("parameter")]
    Parameter,
    #[token("partial")]
    Partial,
    #[token("protected")]
    Protected,
    #[token("public")]
    Public,
    #[token("pure")]
    Pure,
    #[token("record")]
    Record,
    #[token("redeclare")]
    Redeclare,
    #[token("replaceable")]
    Replaceable,
    #[token("return")]
    Return,
    #[token("stream")]
    Stream,
    #[token("then")]
    Then,
    #[token("true")]
    True,
    #[token("type")]
    Type,
    #[token("when")]
    When,
    #[token("while")]
    While,
    #[token("within")]
    Within,

    #[token("(")]
    ParenOpen,
    #[token(")")]
    ParenClose,
    #[token("[")]
    BracketOpen,
    #[token("]")]
    BracketClose,
    #[token("{")]
    BraceOpen,
    #[token("}")]
    BraceClose,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token(":=")]
    Assign,
    #[token("=")]
    Equal,
    #[token("==")]
    EqualEqual,
    #[token("<>")]
    NotEqual,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("^")]
    Caret,
    #[token(".+")]
    DotPlus,
    #[token(".-")]
    DotMinus,
    #[token(".*")]
    DotStar,
    #[token("./")]
    DotSlash,
    #[token(".^")]
    DotCaret,
    #[token(".")]
    Dot,

    /// Where an element came from, in Base Modelica: a number that means nothing here.
    #[regex(r"@[0-9]+")]
    Decoration,

    /// Something that is no word and has been reported.
    Invalid,

    /// Behind the last word.
    EndOfText,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LexError {
    #[default]
    Character,
    Unterminated(&'static str),
}

/// A word and its place.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    pub span: Span,
}

fn block_comment(lexer: &mut Lexer<Kind>) -> Result<(), LexError> {
    match lexer.remainder().find("*/") {
        Some(at) => {
            lexer.bump(at + 2);
            Ok(())
        }
        None => {
            lexer.bump(lexer.remainder().len());
            Err(LexError::Unterminated("comment"))
        }
    }
}

fn string(lexer: &mut Lexer<Kind>) -> Result<(), LexError> {
    delimited(lexer, b'"', "string", true)
}

fn quoted(lexer: &mut Lexer<Kind>) -> Result<(), LexError> {
    delimited(lexer, b'\'', "quoted name", false)
}

/// Moves behind the closing delimiter; a backslash protects the next character.
fn delimited(
    lexer: &mut Lexer<Kind>,
    close: u8,
    what: &'static str,
    over_lines: bool,
) -> Result<(), LexError> {
    let bytes = lexer.remainder().as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            byte if byte == close => {
                lexer.bump(at + 1);
                return Ok(());
            }
            b'\n' if !over_lines => break,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    // The line is lost; what follows it may be right.
    let stop = lexer.remainder().find('\n').unwrap_or(bytes.len());
    lexer.bump(stop);
    Err(LexError::Unterminated(what))
}

/// Whether a text says that it is Base Modelica.
pub fn is_base(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.starts_with("//! base ")
}

/// Cuts a text into words; what cannot be one is reported and left out.
pub fn tokenize(text: &str, source: SourceId, diagnostics: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let mut lexer = Kind::lexer(text);
    // A run of foreign characters is one mistake.
    let mut foreign: Option<Span> = None;
    let is_base = is_base(text);
    while let Some(result) = lexer.next() {
        let result = match result {
            Ok(Kind::Decoration) if is_base => continue,
            Ok(Kind::Decoration) => Err(LexError::Character),
            other => other,
        };
        let range = lexer.span();
        let span = Span {
            source,
            start: range.start as u32,
            end: range.end as u32,
        };
        match result {
            Ok(Kind::BlockComment) => {}
            Ok(kind) => tokens.push(Token { kind, span }),
            Err(LexError::Unterminated(what)) => {
                tokens.push(Token {
                    kind: Kind::Invalid,
                    span,
                });
                let open = Span {
                    end: span.start + 1,
                    ..span
                };
                let close = match what {
                    "comment" => "*/",
                    "string" => "\"",
                    _ => "'",
                };
                let before = text[..range.start].chars().next_back();
                let help = match before {
                    Some(before) if close == "'" && before.is_alphanumeric() => {
                        "write `der(x)` for a derivative of x".to_string()
                    }
                    _ => format!("close it with {close}"),
                };
                diagnostics.push(
                    Diagnostic::error(Code::Unterminated, open, format!("this {what} has no end"))
                        .label("opened here")
                        .help(help),
                );
            }
            Err(LexError::Character) => {
                tokens.push(Token {
                    kind: Kind::Invalid,
                    span,
                });
                foreign = Some(match foreign {
                    Some(run) if run.end == span.start => run.to(span),
                    Some(run) => {
                        diagnostics.push(foreign_characters(text, run));
                        span
                    }
                    None => span,
                });
            }
        }
    }
    diagnostics.truncate(MAX_ERRORS);
    if let Some(run) = foreign {
        diagnostics.push(foreign_characters(text, run));
    }
    let end = text.len() as u32;
    tokens.push(Token {
        kind: Kind::EndOfText,
        span: Span {
            source,
            start: end,
            end,
        },
    });
    tokens
}

fn foreign_characters(text: &str, span: Span) -> Diagnostic {
    let shown: String = text[span.start as usize..span.end as usize]
        .chars()
        .take(20)
        .flat_map(char::escape_debug)
        .collect();
    Diagnostic::error(
        Code::UnexpectedCharacter,
        span,
        format!("`{shown}` has no meaning in Modelica"),
    )
    .label("not part of the language")
    .help(character_help(&shown))
}

/// What people mean by a character that Modelica does not have.
fn character_help(shown: &str) -> String {
    match shown {
        "%" | "#" => "begin a comment with `//`".into(),
        "−" | "–" => "write `-`".into(),
        "·" | "×" | "⋅" => "write `*`".into(),
        "²" => "write `^2`".into(),
        "³" => "write `^3`".into(),
        "“" | "”" | "„" => "write a plain quotation mark, `\"`".into(),
        "&" | "&&" => "write `and`".into(),
        "||" => "write `or`".into(),
        "|" => "write `abs(x)` for an absolute value, `or` between conditions".into(),
        "°" => "write angles in radians: `30*Modelica.Constants.pi/180`".into(),
        "!" => "write `not`, or `<>` for unequal".into(),
        _ if shown.chars().all(char::is_alphabetic) => {
            "write the name inside 'quotes', or in plain letters".into()
        }
        _ => "remove it".into(),
    }
}

/// How a word is named in messages.
pub fn describe(kind: Kind, text: &str) -> String {
    match kind {
        Kind::EndOfText => "the end of the text".into(),
        Kind::String => "a string".into(),
        _ => {
            let short: String = text.chars().take(40).collect();
            format!("`{short}`")
        }
    }
}
