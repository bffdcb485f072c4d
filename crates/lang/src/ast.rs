//! The text as a tree: classes, declarations, equations, statements, expressions.
//!
//! Expressions live in one arena and sums and products are lists, so the tree is never deeper than
//! the text is nested, and dropping it needs no recursion.

use crate::source::Span;
use std::collections::{HashMap, HashSet};

/// An expression of one of the texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AstId {
    file: u16,
    at: u32,
}

impl AstId {
    /// The text it stands in: see [`crate::forest::Forest`].
    pub fn file(self) -> usize {
        self.file as usize
    }
}

/// A parsed text.
#[derive(Default, Debug)]
pub struct Ast {
    /// Which of the texts this is.
    pub file: u16,
    exprs: Vec<(Expr, Span)>,
    /// The classes of the text; those inside others are found there.
    pub classes: Vec<Class>,
    /// The package that `within` names.
    pub within: Option<String>,
    /// Whether the text says that it is Base Modelica, which a tool wrote.
    pub is_base: bool,
    /// Names in parts of the text that could not be read: what is said of them would be a guess.
    pub unread: HashSet<String>,
}

impl Ast {
    pub fn push(&mut self, expr: Expr, span: Span) -> AstId {
        self.exprs.push((expr, span));
        AstId {
            file: self.file,
            at: (self.exprs.len() - 1) as u32,
        }
    }

    pub fn expr(&self, id: AstId) -> &Expr {
        &self.exprs[id.at as usize].0
    }

    pub fn span(&self, id: AstId) -> Span {
        self.exprs[id.at as usize].1
    }

    /// All classes, each behind those inside it.
    pub fn all_classes(&self) -> Vec<&Class> {
        fn collect<'a>(classes: &'a [Class], all: &mut Vec<&'a Class>) {
            for class in classes {
                collect(&class.classes, all);
                all.push(class);
            }
        }
        let mut all = Vec::new();
        collect(&self.classes, &mut all);
        all
    }

    /// All expressions with their places, in the order in which they were read.
    pub fn exprs(&self) -> &[(Expr, Span)] {
        &self.exprs
    }

    /// How many expressions there are: those of a class are the ones from before to after it.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// Subscripts that are plain whole numbers from 1.
    fn literal_subscripts(&self, subscripts: &[AstId]) -> Option<Vec<usize>> {
        let numbers = subscripts.iter().map(|&id| match *self.expr(id) {
            Expr::Number(value) if value.fract() == 0.0 && (1.0..1e9).contains(&value) => {
                Some(value as usize)
            }
            _ => None,
        });
        numbers.collect()
    }

    /// Flat text may list an array element by element: `Real r[1]; Real r[2];` are two scalars.
    ///
    /// A name whose declarations give every element once is read so, and so are its uses in the
    /// expressions from `first` on.
    pub fn join_element_declarations(&mut self, class: &mut Class, first: usize) {
        let mut listed: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, declaration) in class.declarations.iter().enumerate() {
            let list = listed.entry(declaration.name.clone()).or_default();
            list.push(index);
        }
        listed.retain(|_, list| list.len() > 1 && self.are_all_elements(class, list));
        if listed.is_empty() {
            return;
        }
        for &index in listed.values().flatten() {
            let declaration = &mut class.declarations[index];
            if let Some(subscripts) = self.literal_subscripts(&declaration.dims) {
                declaration.name = element(&declaration.name, &subscripts);
                declaration.dims.clear();
            }
        }
        for index in first..self.exprs.len() {
            let Expr::Name {
                name, subscripts, ..
            } = &self.exprs[index].0
            else {
                continue;
            };
            if !listed.contains_key(name) || subscripts.is_empty() {
                continue;
            }
            if let Some(numbers) = self.literal_subscripts(subscripts) {
                self.exprs[index].0 = Expr::Name {
                    name: element(name, &numbers),
                    subscripts: Vec::new(),
                    path: None,
                };
            }
        }
    }

    /// Whether declarations of one name give every element of an array once.
    fn are_all_elements(&self, class: &Class, list: &[usize]) -> bool {
        let mut elements = HashSet::new();
        let mut largest: Vec<usize> = Vec::new();
        for &index in list {
            let Some(element) = self.literal_subscripts(&class.declarations[index].dims) else {
                return false;
            };
            largest.resize(element.len(), 0);
            for (bound, &subscript) in largest.iter_mut().zip(&element) {
                *bound = (*bound).max(subscript);
            }
            elements.insert(element);
        }
        let product = largest
            .iter()
            .try_fold(1usize, |product, &size| product.checked_mul(size));
        !largest.is_empty() && elements.len() == list.len() && product == Some(list.len())
    }
}

/// `a[1,2]`, the name of an element.
fn element(name: &str, subscripts: &[usize]) -> String {
    let subscripts: Vec<String> = subscripts.iter().map(usize::to_string).collect();
    format!("{name}[{}]", subscripts.join(","))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

#[derive(Debug)]
pub struct Iterator {
    pub name: String,
    pub span: Span,
    pub range: Option<AstId>,
}

#[derive(Debug)]
pub enum Expr {
    Number(f64),
    Boolean(bool),
    Text(String),
    /// A name, dotted parts joined, with the subscripts of its last part.
    Name {
        name: String,
        subscripts: Vec<AstId>,
        /// The parts, each with its own subscripts, where there are several.
        path: Option<Box<[PathPart]>>,
    },
    /// `(a, , c)`: the results of a call.
    Tuple(Vec<Option<AstId>>),
    /// `function f(a = 1)` as an argument.
    FunctionArgument {
        name: String,
        name_span: Span,
        named: Vec<(String, Span, AstId)>,
    },
    /// `+a` or `-a`.
    Sign {
        negative: bool,
        operand: AstId,
    },
    Not(AstId),
    /// `first op a op b …`, left to right, all of one precedence.
    Chain {
        first: AstId,
        rest: Vec<ChainLink>,
    },
    Power {
        base: AstId,
        exponent: AstId,
        elementwise: bool,
    },
    Relation {
        op: Relation,
        left: AstId,
        right: AstId,
    },
    And(Vec<AstId>),
    Or(Vec<AstId>),
    If {
        branches: Vec<(AstId, AstId)>,
        otherwise: AstId,
    },
    Call {
        name: String,
        name_span: Span,
        positional: Vec<AstId>,
        named: Vec<(String, Span, AstId)>,
    },
    Array(Vec<AstId>),
    Comprehension {
        reduction: Option<(String, Span)>,
        body: AstId,
        iterators: Vec<Iterator>,
    },
    Matrix(Vec<Vec<AstId>>),
    Range {
        start: AstId,
        step: Option<AstId>,
        stop: AstId,
    },
    /// A bare `:` as a subscript or size.
    Colon,
    /// `end` as a subscript.
    End,
}

/// One part of a dotted name.
#[derive(Debug)]
pub struct PathPart {
    pub name: String,
    pub subscripts: Vec<AstId>,
}

#[derive(Clone, Copy, Debug)]
pub struct ChainLink {
    pub op: Arithmetic,
    pub elementwise: bool,
    pub op_span: Span,
    pub operand: AstId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassKind {
    Model,
    Function,
    Package,
    Type,
    Record,
    Connector,
    /// `operator '+' … end '+'`, a group of functions.
    Operator,
}

#[derive(Debug)]
pub struct Class {
    pub kind: ClassKind,
    pub name: String,
    pub name_span: Span,
    pub comment: String,
    pub imports: Vec<Import>,
    pub classes: Vec<Class>,
    pub extends: Vec<Extends>,
    pub declarations: Vec<Declaration>,
    pub equations: Vec<WrittenEquation>,
    pub initial_equations: Vec<WrittenEquation>,
    /// The body of a function.
    pub statements: Vec<Statement>,
    /// The algorithm sections of a model.
    pub algorithms: Vec<Algorithm>,
    pub external: Option<External>,
    pub annotations: Vec<Modification>,
    /// `type T = Base[dims](attributes)`.
    pub alias: Option<TypeAlias>,
    /// `class extends Name(modifications)`: the class of that name that is inherited is the base.
    pub extends_itself: Option<Vec<Modification>>,
    /// `constrainedby Base(modifications)`, behind either writing of a class.
    pub constraint: Option<Constraining>,
    pub prefixes: Prefixes,
    pub is_encapsulated: bool,
    pub is_expandable: bool,
    /// The folder that holds further classes of it, as [`crate::Files`] names it.
    pub folder: Option<String>,
    pub span: Span,
}

/// What classes and declarations can carry in front.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Prefixes {
    pub is_redeclare: bool,
    pub is_final: bool,
    pub is_inner: bool,
    pub is_outer: bool,
    pub is_replaceable: bool,
    pub is_protected: bool,
    /// A class that others complete.
    pub is_partial: bool,
}

/// `extends Base(modifications)`.
#[derive(Debug)]
pub struct Extends {
    pub base: String,
    pub base_span: Span,
    pub modifications: Vec<Modification>,
    /// How many declarations come before it.
    pub position: usize,
}

/// An algorithm section of a model.
#[derive(Debug)]
pub struct Algorithm {
    pub is_initial: bool,
    pub body: Vec<Statement>,
    pub span: Span,
}

/// `external "C" y = f(x);`.
#[derive(Debug)]
pub struct External {
    pub language: String,
    pub name: Option<String>,
    pub result: Option<AstId>,
    pub arguments: Vec<AstId>,
    pub span: Span,
}

#[derive(Debug)]
pub struct Import {
    /// The name used in this class; `None` for `import A.B.*`.
    pub local: Option<String>,
    pub path: String,
    pub span: Span,
}

#[derive(Debug)]
pub struct TypeAlias {
    pub base: String,
    pub base_span: Span,
    pub dims: Vec<AstId>,
    pub modifications: Vec<Modification>,
    pub causality: Causality,
    /// The literals of an enumeration.
    pub literals: Option<Vec<String>>,
}

/// `constrainedby Base(modifications)`.
#[derive(Debug)]
pub struct Constraining {
    pub modifications: Vec<Modification>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Equal in all connected variables; every variable that is not marked.
    Potential,
    /// `flow`: sums to zero.
    Through,
    Stream,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variability {
    Continuous,
    Discrete,
    Parameter,
    Constant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Causality {
    None,
    Input,
    Output,
}

#[derive(Debug)]
pub struct Declaration {
    pub name: String,
    pub name_span: Span,
    pub type_name: String,
    pub type_span: Span,
    pub variability: Variability,
    pub causality: Causality,
    pub flow: Flow,
    pub prefixes: Prefixes,
    pub dims: Vec<AstId>,
    pub modifications: Vec<Modification>,
    pub binding: Option<AstId>,
    pub condition: Option<AstId>,
    pub constraint: Option<Constraining>,
    pub comment: String,
    pub span: Span,
}

/// `name(nested) = value`, in attributes and annotations.
#[derive(Debug)]
pub struct Modification {
    pub name: String,
    pub span: Span,
    pub nested: Vec<Modification>,
    pub value: Option<AstId>,
    pub is_each: bool,
    pub redeclared: Option<Box<Redeclared>>,
}

/// What a modification puts in the place of an element.
#[derive(Debug)]
pub enum Redeclared {
    Component(Box<Declaration>),
    Class(Box<Class>),
}

#[derive(Debug)]
pub struct WrittenEquation {
    pub kind: EquationKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum EquationKind {
    Equal(AstId, AstId),
    Call(AstId),
    For {
        iterators: Vec<Iterator>,
        body: Vec<WrittenEquation>,
    },
    If {
        branches: Vec<(AstId, Vec<WrittenEquation>)>,
        otherwise: Vec<WrittenEquation>,
    },
    Connect(AstId, AstId),
    When {
        branches: Vec<(AstId, Vec<WrittenEquation>)>,
    },
}

#[derive(Debug)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum StatementKind {
    Assign {
        target: AstId,
        value: AstId,
    },
    Call(AstId),
    For {
        iterators: Vec<Iterator>,
        body: Vec<Statement>,
    },
    If {
        branches: Vec<(AstId, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    While {
        condition: AstId,
        body: Vec<Statement>,
    },
    When {
        branches: Vec<(AstId, Vec<Statement>)>,
    },
    Return,
    Break,
}
