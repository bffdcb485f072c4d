//! The text as a tree: classes, declarations, equations, statements, expressions.
//!
//! Expressions live in one arena and sums and products are lists, so the tree is never deeper than
//! the text is nested, and dropping it needs no recursion.

use crate::source::Span;
use std::collections::{HashMap, HashSet};

/// An expression in an [`Ast`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AstId(u32);

/// A parsed text.
#[derive(Default, Debug)]
pub struct Ast {
    exprs: Vec<(Expr, Span)>,
    /// The classes of the text, those inside packages included.
    pub classes: Vec<Class>,
    /// Names in parts of the text that could not be read: what is said of them would be a guess.
    pub unread: HashSet<String>,
}

impl Ast {
    pub fn push(&mut self, expr: Expr, span: Span) -> AstId {
        self.exprs.push((expr, span));
        AstId((self.exprs.len() - 1) as u32)
    }

    pub fn expr(&self, id: AstId) -> &Expr {
        &self.exprs[id.0 as usize].0
    }

    pub fn span(&self, id: AstId) -> Span {
        self.exprs[id.0 as usize].1
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
            let Expr::Name { name, subscripts } = &self.exprs[index].0 else {
                continue;
            };
            if !listed.contains_key(name) || subscripts.is_empty() {
                continue;
            }
            if let Some(numbers) = self.literal_subscripts(subscripts) {
                self.exprs[index].0 = Expr::Name {
                    name: element(name, &numbers),
                    subscripts: Vec::new(),
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
}

#[derive(Debug)]
pub struct Class {
    pub kind: ClassKind,
    pub name: String,
    pub name_span: Span,
    pub comment: String,
    pub imports: Vec<Import>,
    pub declarations: Vec<Declaration>,
    pub equations: Vec<Equation>,
    pub initial_equations: Vec<Equation>,
    pub statements: Vec<Statement>,
    pub annotations: Vec<Modification>,
    /// `type T = Base[dims](attributes)`.
    pub alias: Option<TypeAlias>,
}

#[derive(Debug)]
pub struct Import {
    /// The name used in this class; `None` for `import A.B.*`.
    pub local: Option<String>,
    pub path: String,
}

#[derive(Debug)]
pub struct TypeAlias {
    pub base: String,
    pub base_span: Span,
    pub dims: Vec<AstId>,
    pub modifications: Vec<Modification>,
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
    pub is_final: bool,
    pub is_protected: bool,
    pub dims: Vec<AstId>,
    pub modifications: Vec<Modification>,
    pub binding: Option<AstId>,
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
}

#[derive(Debug)]
pub struct Equation {
    pub kind: EquationKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum EquationKind {
    Equal(AstId, AstId),
    Call(AstId),
    For {
        iterators: Vec<Iterator>,
        body: Vec<Equation>,
    },
    If {
        branches: Vec<(AstId, Vec<Equation>)>,
        otherwise: Vec<Equation>,
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
        name: String,
        name_span: Span,
        subscripts: Vec<AstId>,
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
}
