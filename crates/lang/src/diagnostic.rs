//! What is wrong with a text, where, and what to do about it.

use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The model can be used; the user should know.
    Warning,
    /// There is no model.
    Error,
}

impl Severity {
    /// The word that messages and JSON use.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// The kinds of diagnostics. Each has a page `docs/errors/<word>.md`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// All kinds, in the order of the stages that report them.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The word that messages and JSON use.
            pub fn word(self) -> &'static str {
                match self { $(Code::$name => $word,)* }
            }
        }
    };
}

codes! {
    /// The model's file cannot be read.
    UnreadableFile = "unreadable-file",
    /// Neither a file nor a built-in model has this name.
    UnknownModel = "unknown-model",
    /// The file is not text in UTF-8.
    NotUtf8 = "not-utf8",
    /// A character that Modelica does not use.
    UnexpectedCharacter = "unexpected-character",
    /// A comment, string or quoted name has no end.
    Unterminated = "unterminated",
    /// A number too large or too small for double precision.
    NumberRange = "number-range",
    /// Something else was expected at this place.
    Syntax = "syntax",
    /// `end` names another class than the one it closes.
    WrongEnd = "wrong-end",
    /// Parentheses, calls or blocks are nested too deeply.
    NestingTooDeep = "nesting-too-deep",
    /// Modelica that daelight does not support.
    Unsupported = "unsupported",
    /// The text holds no model, or not the one asked for.
    NoModel = "no-model",
    /// A name that is not declared.
    UndeclaredName = "undeclared-name",
    /// A name that is declared twice.
    DuplicateName = "duplicate-name",
    /// A function that does not exist.
    UnknownFunction = "unknown-function",
    /// A type that does not exist.
    UnknownType = "unknown-type",
    /// An attribute that `Real` does not have.
    UnknownAttribute = "unknown-attribute",
    /// `--set` names no parameter of the model.
    UnknownParameter = "unknown-parameter",
    /// `--set` is not of the form `name=value`.
    MalformedSet = "malformed-set",
    /// `--input` names no input of the model.
    UnknownInput = "unknown-input",
    /// The data of an input cannot be used.
    BadInput = "bad-input",
    /// A file that is no FMU, or one that breaks the rules of FMI.
    BadFmu = "bad-fmu",
    /// Array sizes that do not fit.
    WrongSize = "wrong-size",
    /// A subscript outside the array.
    IndexOutOfRange = "index-out-of-range",
    /// Too many subscripts, or one that is not a whole number.
    WrongSubscript = "wrong-subscript",
    /// A truth value where a number is needed, or the like.
    TypeMismatch = "type-mismatch",
    /// A function called with too many or too few arguments.
    WrongArity = "wrong-arity",
    /// A size, range or condition that must be known before the run and is not.
    NotConstant = "not-constant",
    /// A parameter without a value.
    MissingValue = "missing-value",
    /// Parameters that are defined by each other.
    CyclicParameters = "cyclic-parameters",
    /// Classes that are defined by themselves.
    CyclicExtends = "cyclic-extends",
    /// A component of a class that others have to complete.
    PartialClass = "partial-class",
    /// A component that refers to one around it, and there is none.
    MissingInner = "missing-inner",
    /// A value that is not a finite number, or not allowed for this name.
    BadValue = "bad-value",
    /// An `assert` that does not hold.
    AssertionFailed = "assertion-failed",
    /// The time derivative of something that cannot change.
    DerOfParameter = "der-of-parameter",
    /// A function that calls itself.
    RecursiveFunction = "recursive-function",
    /// A function whose output or local is read before it has a value.
    Unassigned = "unassigned",
    /// Something that must not change is assigned or overridden.
    NotAssignable = "not-assignable",
    /// An argument of `lagrange` that does not fit.
    LagrangeArgument = "lagrange-argument",
    /// An energy depends on a variable that is neither a coordinate nor defined by a binding.
    ForeignVariable = "foreign-variable",
    /// The model is larger than the limits allow.
    TooLarge = "too-large",
    /// More equations than unknowns, in the part named.
    Overdetermined = "overdetermined",
    /// Fewer equations than unknowns, in the part named.
    Underdetermined = "underdetermined",
    /// Quantities of different units are added, compared or made equal.
    UnitMismatch = "unit-mismatch",
    /// An equation that stands in the model twice.
    RepeatedEquation = "repeated-equation",
    /// The index of the model cannot be reduced at the point asked for.
    NotReducible = "not-reducible",
    /// A name that is declared and never used.
    UnusedName = "unused-name",
    /// Fixed values, initial equations or bounds that no consistent start satisfies.
    InconsistentInitial = "inconsistent-initial",
    /// The start that is asked for is a singular point.
    SingularStart = "singular-start",
    /// The search for a consistent start found none.
    NoConsistentStart = "no-consistent-start",
}

/// Findings of one stage after which it stops: who mends these sees the next ones.
pub(crate) const MAX_ERRORS: usize = 100;

/// One finding about a text.
///
/// The message says what is wrong and gives no advice; `help` proposes one action.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The kind.
    pub code: Code,
    /// The headline.
    pub message: String,
    /// The place; `None` when there is no text to point at.
    pub span: Option<Span>,
    /// What stands at the place, beside the frame.
    pub label: String,
    /// Other places that matter, each with a remark.
    pub related: Vec<(Span, String)>,
    /// Facts that support the message.
    pub notes: Vec<String>,
    /// One thing to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, Some(span), message.into())
    }

    /// A warning at a place.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, Some(span), message.into())
    }

    /// An error without a place.
    pub fn placeless(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, None, message.into())
    }

    fn new(severity: Severity, code: Code, span: Option<Span>, message: String) -> Self {
        Self {
            severity,
            code,
            message,
            span,
            label: String::new(),
            related: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// Adds the remark beside the place.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds another place.
    pub fn related(mut self, span: Span, remark: impl Into<String>) -> Self {
        self.related.push((span, remark.into()));
        self
    }

    /// Adds a fact.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Sets the one thing to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The candidate that a misspelt name most likely meant, if any is close.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One letter says nothing but its case.
    let allowed = match name.chars().count() {
        0 | 1 => 0,
        2..6 => 1,
        6..9 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= allowed)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= allowed)
        // The names come in any order. The first letter is rarely wrong.
        .min_by_key(|&(distance, candidate)| {
            let same_letter = candidate.chars().next() == name.chars().next();
            (distance, !same_letter, candidate)
        })
        .map(|(_, candidate)| candidate)
}

/// Edits that turn one word into the other: insert, delete, change, swap neighbours; a change of
/// case alone is none.
fn distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return 0;
    }
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1)
                .min(rows[i][j - 1] + 1)
                .min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_spelling_is_close() {
        assert_eq!(nearest("lenght", ["length", "width"]), Some("length"));
        assert_eq!(nearest("X", ["x", "y"]), Some("x"));
        assert_eq!(nearest("omega", ["alpha", "beta"]), None);
        assert_eq!(nearest("x1", ["x2", "y"]), Some("x2"));
    }
}
