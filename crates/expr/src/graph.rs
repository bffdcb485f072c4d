//! The arena of nodes, and the only place where nodes are made.
//!
//! Arguments always have smaller ids than the node that uses them, so ascending ids are a
//! topological order and no pass over the graph needs recursion.

use hashbrown::HashTable;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A node of one [`Graph`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExprId(u32);

impl ExprId {
    /// Position in the arena; arguments of a node have smaller positions.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A leaf whose meaning belongs to the owner of the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SymbolId(pub u32);

/// Operations of one argument. Truth values are 1 and 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are those of the functions")]
pub enum UnaryOp {
    Neg,
    Sqrt,
    Exp,
    Log,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Abs,
    Sign,
    Not,
}

/// Operations of two arguments. Truth values are 1 and 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are those of the operations")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Atan2,
    Min,
    Max,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

/// What a node of the graph is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A number, as the bits of an `f64` so that nodes can be compared and hashed.
    Constant(u64),
    /// A leaf named by the owner of the graph.
    Symbol(SymbolId),
    /// `op(argument)`.
    Unary(UnaryOp, ExprId),
    /// `op(left, right)`.
    Binary(BinaryOp, ExprId, ExprId),
    /// `if condition then first else second`.
    Select(ExprId, ExprId, ExprId),
}

impl Node {
    /// The arguments, in order.
    pub fn arguments(self) -> impl Iterator<Item = ExprId> {
        let (count, slots) = match self {
            Node::Constant(_) | Node::Symbol(_) => (0, [ExprId(0); 3]),
            Node::Unary(_, a) => (1, [a; 3]),
            Node::Binary(_, a, b) => (2, [a, b, b]),
            Node::Select(a, b, c) => (3, [a, b, c]),
        };
        slots.into_iter().take(count)
    }
}

/// Multiply-and-rotate hashing: nodes are small and trusted, speed matters.
#[derive(Default, Clone)]
pub struct FastHasher(u64);

/// A map keyed by small values such as ids.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

impl FastHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.mix(u64::from(byte));
        }
    }
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }
    fn write_isize(&mut self, word: isize) {
        self.mix(word as u64);
    }
}

/// Sums and products hash alike in both orders, so that one look finds either.
fn hash(node: Node) -> u64 {
    use std::hash::Hash;
    let node = match node {
        Node::Binary(op, a, b) if is_commutative(op) && a > b => Node::Binary(op, b, a),
        other => other,
    };
    let mut hasher = FastHasher::default();
    node.hash(&mut hasher);
    hasher.finish()
}

/// Users of a node that are found by following a list.
#[derive(Clone, Copy, Default)]
struct Users {
    first: Option<ExprId>,
    /// The next user of this node's own anchor.
    next: Option<ExprId>,
    count: u8,
}

/// Longest list of users before the table takes over.
const MAX_LISTED: u8 = 12;

/// The argument whose users a node is listed with: the youngest.
fn anchor(node: Node) -> Option<ExprId> {
    node.arguments().max()
}

fn is_commutative(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Mul)
}

/// A hash-consed expression graph.
///
/// Equal expressions share one node. The simplifications are safe: none removes a point where the
/// expression as written is undefined (`x/x`, `0*(1/x)` and `sqrt(x^2)` stay).
#[derive(Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Whether the node is defined for all real values of the symbols below it.
    total: Vec<bool>,
    /// Whether the node is never negative where it has a value, as it is written.
    sizes: Vec<bool>,
    /// Ids only: the nodes they are looked up by stand in `nodes`.
    interned: HashTable<ExprId>,
    /// For each node, its first users by which they are found again: see [`Graph::find`].
    users: Vec<Users>,
    /// Nodes of symbols, by symbol: ids of symbols are small and dense.
    symbols: Vec<Option<ExprId>>,
    /// The operations that numbers were folded from: see [`Graph::folded_from`].
    folded: FastMap<ExprId, Node>,
}

/// The decimal of fifteen digits next to a number, where rounding of one operation does not tell them apart: 0.1*3 is 0.3.
fn short(value: f64) -> f64 {
    let decimal: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    let is_same = (decimal - value).abs() <= f64::EPSILON * value.abs();
    if is_same { decimal } else { value }
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of nodes made so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node was made yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node at a position of the arena, which must be smaller than [`Graph::len`].
    pub fn id(&self, position: usize) -> ExprId {
        assert!(position < self.nodes.len(), "no node at {position}");
        ExprId(position as u32)
    }

    /// The value of one node from those of its arguments; NaN for a symbol.
    pub fn node_value(&self, id: ExprId, argument: impl Fn(ExprId) -> f64) -> f64 {
        match self.node(id) {
            Node::Constant(bits) => f64::from_bits(bits),
            Node::Symbol(_) => f64::NAN,
            Node::Unary(op, a) => apply_unary(op, argument(a)),
            Node::Binary(op, a, b) => apply_binary(op, argument(a), argument(b)),
            Node::Select(c, a, b) => argument(if argument(c) != 0.0 { a } else { b }),
        }
    }

    /// What the node is.
    pub fn node(&self, id: ExprId) -> Node {
        self.nodes[id.index()]
    }

    /// Whether an expression is never negative where it has a value, as it is written: a size, a square, sums and products of them.
    ///
    /// Its root has a value everywhere. In a condition that is all there is to ask: `sqrt(abs(x)) < 1` holds on both sides of x = 0.
    pub fn is_size(&self, id: ExprId) -> bool {
        self.sizes[id.index()]
    }

    /// The number, if the node is one.
    pub fn as_constant(&self, id: ExprId) -> Option<f64> {
        match self.node(id) {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// The symbol, if the node is one.
    pub fn as_symbol(&self, id: ExprId) -> Option<SymbolId> {
        match self.node(id) {
            Node::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    /// Whether the expression is defined for all real values of its symbols.
    pub fn is_total(&self, id: ExprId) -> bool {
        self.total[id.index()]
    }

    /// The node if it exists, the arguments of a sum or product in either order.
    ///
    /// A node is looked for among the users of its youngest argument: those were made about the same
    /// time and lie close in memory. Where an argument has many users, a table takes over.
    fn find(&self, node: Node) -> Option<ExprId> {
        let same = |id: &ExprId| match (self.nodes[id.index()], node) {
            (Node::Binary(op, a, b), Node::Binary(other, c, d)) if op == other => {
                (a == c && b == d) || (is_commutative(op) && a == d && b == c)
            }
            (known, wanted) => known == wanted,
        };
        let Some(anchor) = anchor(node) else {
            return self.interned.find(hash(node), same).copied();
        };
        let users = self.users[anchor.index()];
        let mut next = users.first;
        while let Some(id) = next {
            if same(&id) {
                return Some(id);
            }
            next = self.users[id.index()].next;
        }
        if users.count < MAX_LISTED {
            return None;
        }
        self.interned.find(hash(node), same).copied()
    }

    fn intern(&mut self, node: Node) -> ExprId {
        if let Some(id) = self.find(node) {
            return id;
        }
        let id = self.push(node);
        if let Some(anchor) = anchor(node) {
            let users = self.users[anchor.index()];
            if users.count < MAX_LISTED {
                self.users[id.index()].next = users.first;
                let users = &mut self.users[anchor.index()];
                users.first = Some(id);
                users.count += 1;
                return id;
            }
        }
        let nodes = &self.nodes;
        self.interned
            .insert_unique(hash(node), id, |id| hash(nodes[id.index()]));
        id
    }

    fn push(&mut self, node: Node) -> ExprId {
        let total = self.node_is_total(node);
        let is_size = self.node_is_size(node);
        let id = ExprId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        self.nodes.push(node);
        self.total.push(total);
        self.sizes.push(is_size);
        self.users.push(Users::default());
        id
    }

    fn node_is_size(&self, node: Node) -> bool {
        let both = |a, b| self.is_size(a) && self.is_size(b);
        match node {
            Node::Constant(bits) => f64::from_bits(bits) >= 0.0,
            Node::Unary(UnaryOp::Abs | UnaryOp::Sqrt | UnaryOp::Exp | UnaryOp::Cosh, _) => true,
            Node::Binary(BinaryOp::Mul, a, b) => a == b || both(a, b),
            Node::Binary(BinaryOp::Add | BinaryOp::Div | BinaryOp::Min, a, b) => both(a, b),
            Node::Binary(BinaryOp::Max, a, b) => self.is_size(a) || self.is_size(b),
            Node::Binary(BinaryOp::Pow, a, power) => {
                let is_even = |power: f64| power % 2.0 == 0.0;
                self.is_size(a) || self.as_constant(power).is_some_and(is_even)
            }
            Node::Select(_, a, b) => both(a, b),
            _ => false,
        }
    }

    fn node_is_total(&self, node: Node) -> bool {
        node.arguments().all(|argument| self.is_total(argument))
            && match node {
                Node::Unary(UnaryOp::Sqrt, a) => self.is_size(a),
                Node::Unary(op, _) => !matches!(
                    op,
                    UnaryOp::Log | UnaryOp::Log10 | UnaryOp::Tan | UnaryOp::Asin | UnaryOp::Acos
                ),
                Node::Binary(BinaryOp::Div | BinaryOp::Atan2, _, b) => {
                    self.as_constant(b).is_some_and(|value| value != 0.0)
                }
                Node::Binary(BinaryOp::Pow, a, b) => self
                    .as_constant(b)
                    .is_some_and(|value| value >= 0.0 && (value.fract() == 0.0 || self.is_size(a))),
                _ => true,
            }
    }

    /// A number. Minus zero becomes zero.
    pub fn constant(&mut self, value: f64) -> ExprId {
        let value = if value == 0.0 { 0.0 } else { value };
        self.intern(Node::Constant(value.to_bits()))
    }

    /// The number that an operation of numbers gives.
    fn folded(&mut self, value: f64, operation: Node) -> ExprId {
        let known = self.nodes.len();
        let id = self.constant(value);
        // Arguments are older than a number that is new, so that following operations comes to an end.
        if id.index() == known {
            self.folded.insert(id, operation);
        }
        id
    }

    /// The operation whose rounded result a number is; `None` for numbers that were there before, such as those of
    /// the text. Exact readers of the graph see `sqrt(2)` and `1/3` by it.
    pub fn folded_from(&self, id: ExprId) -> Option<Node> {
        self.folded.get(&id).copied()
    }

    /// A leaf.
    pub fn symbol(&mut self, symbol: SymbolId) -> ExprId {
        let position = symbol.0 as usize;
        if let Some(Some(id)) = self.symbols.get(position) {
            return *id;
        }
        if self.symbols.len() <= position {
            self.symbols.resize(position + 1, None);
        }
        let id = self.push(Node::Symbol(symbol));
        self.symbols[position] = Some(id);
        id
    }

    /// `a + b`.
    pub fn add(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Add, a, b)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Sub, a, b)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// `a / b`.
    pub fn div(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Div, a, b)
    }

    /// `a ^ b`.
    pub fn pow(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Pow, a, b)
    }

    /// `-a`.
    pub fn neg(&mut self, a: ExprId) -> ExprId {
        self.unary(UnaryOp::Neg, a)
    }

    /// `op(a)`, folded when `a` is a number and the result is one.
    pub fn unary(&mut self, op: UnaryOp, a: ExprId) -> ExprId {
        if let Some(value) = self.as_constant(a) {
            let folded = apply_unary(op, value);
            if folded.is_finite() {
                return self.folded(folded, Node::Unary(op, a));
            }
        }
        match (op, self.node(a)) {
            (UnaryOp::Neg, Node::Unary(UnaryOp::Neg, inner)) => inner,
            (UnaryOp::Neg, Node::Binary(BinaryOp::Sub, left, right)) => {
                self.binary(BinaryOp::Sub, right, left)
            }
            (UnaryOp::Sqrt, Node::Binary(..)) => match self.cut_at_zero(a, 0) {
                Some((holds, rest)) => {
                    let (root, zero) = (self.unary(op, rest), self.constant(0.0));
                    let cut = self.select(holds, root, zero);
                    self.note_root(cut, a)
                }
                None => self.intern(Node::Unary(op, a)),
            },
            _ => self.intern(Node::Unary(op, a)),
        }
    }

    /// Keeps of a choice that it is the root of something: it is never negative, and has a value where that is a size.
    fn note_root(&mut self, choice: ExprId, radicand: ExprId) -> ExprId {
        self.sizes[choice.index()] = true;
        self.total[choice.index()] |= self.is_size(radicand) && self.is_total(radicand);
        choice
    }

    /// `max(0, u)`, perhaps times or over something, as the condition under which it is u, and what it is then. A root or a broken
    /// power of it is 0 where u is below 0, for ever; as a choice between branches it is so, while the slope of a root at 0 is
    /// infinite. Products are looked into a few levels deep: more factors than that nobody writes.
    fn cut_at_zero(&mut self, a: ExprId, depth: usize) -> Option<(ExprId, ExprId)> {
        let (left, right) = match self.node(a) {
            Node::Binary(BinaryOp::Max, left, right) => (left, right),
            Node::Binary(op @ (BinaryOp::Mul | BinaryOp::Div), left, right) if depth < 6 => {
                if self.is_total(right)
                    && let Some((holds, rest)) = self.cut_at_zero(left, depth + 1)
                {
                    return Some((holds, self.binary(op, rest, right)));
                }
                if op == BinaryOp::Mul
                    && self.is_total(left)
                    && let Some((holds, rest)) = self.cut_at_zero(right, depth + 1)
                {
                    return Some((holds, self.binary(op, left, rest)));
                }
                return None;
            }
            _ => return None,
        };
        let zero = self.constant(0.0);
        let rest = match (left == zero, right == zero) {
            (true, false) => right,
            (false, true) => left,
            _ => return None,
        };
        Some((self.binary(BinaryOp::Greater, rest, zero), rest))
    }

    /// `op(a, b)`, simplified where that is safe.
    pub fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let (left, right) = (self.as_constant(a), self.as_constant(b));
        if let (Some(left), Some(right)) = (left, right) {
            let folded = apply_binary(op, left, right);
            if folded.is_finite() {
                let folded = match op {
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => short(folded),
                    _ => folded,
                };
                return self.folded(folded, Node::Binary(op, a, b));
            }
        }
        if let Some(simple) = self.simplify_binary(op, a, b, left, right) {
            return simple;
        }
        if op == BinaryOp::Pow
            && right.is_some_and(|exponent| exponent > 0.0 && exponent.fract() != 0.0)
            && let Some((holds, rest)) = self.cut_at_zero(a, 0)
        {
            let power = self.binary(op, rest, b);
            let zero = self.constant(0.0);
            let cut = self.select(holds, power, zero);
            return self.note_root(cut, a);
        }
        // The first spelling of a sum or product is kept, for readable output.
        self.intern(Node::Binary(op, a, b))
    }

    fn simplify_binary(
        &mut self,
        op: BinaryOp,
        a: ExprId,
        b: ExprId,
        left: Option<f64>,
        right: Option<f64>,
    ) -> Option<ExprId> {
        let is = |side: Option<f64>, value: f64| side == Some(value);
        match op {
            BinaryOp::Add if is(left, 0.0) => Some(b),
            BinaryOp::Add | BinaryOp::Sub if is(right, 0.0) => Some(a),
            BinaryOp::Sub if is(left, 0.0) => Some(self.neg(b)),
            BinaryOp::Sub if a == b && self.is_total(a) => Some(self.constant(0.0)),
            BinaryOp::Add => match self.node(b) {
                Node::Unary(UnaryOp::Neg, inner) => Some(self.sub(a, inner)),
                _ => None,
            },
            BinaryOp::Sub => match self.node(b) {
                Node::Unary(UnaryOp::Neg, inner) => Some(self.add(a, inner)),
                _ => None,
            },
            BinaryOp::Mul if is(left, 1.0) => Some(b),
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Pow if is(right, 1.0) => Some(a),
            BinaryOp::Mul if is(left, 0.0) && self.is_total(b) => Some(a),
            BinaryOp::Mul if is(right, 0.0) && self.is_total(a) => Some(b),
            BinaryOp::Mul if is(left, -1.0) => Some(self.neg(b)),
            BinaryOp::Mul | BinaryOp::Div if is(right, -1.0) => Some(self.neg(a)),
            BinaryOp::Div if is(left, 0.0) && right.is_some_and(|value| value != 0.0) => Some(a),
            BinaryOp::Mul | BinaryOp::Div => self.pull_sign(op, a, b),
            BinaryOp::Pow if is(right, 0.0) && self.is_total(a) => Some(self.constant(1.0)),
            BinaryOp::And if is(left, 1.0) => Some(b),
            BinaryOp::And if is(right, 1.0) => Some(a),
            BinaryOp::And if is(left, 0.0) && self.is_total(b) => Some(a),
            BinaryOp::And if is(right, 0.0) && self.is_total(a) => Some(b),
            BinaryOp::Or if is(left, 0.0) => Some(b),
            BinaryOp::Or if is(right, 0.0) => Some(a),
            BinaryOp::Or if is(left, 1.0) && self.is_total(b) => Some(a),
            BinaryOp::Or if is(right, 1.0) && self.is_total(a) => Some(b),
            _ => None,
        }
    }

    /// Moves signs out of products and quotients, so that equal terms meet: `(-a)*b` is `-(a*b)`.
    fn pull_sign(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Option<ExprId> {
        let negated = |graph: &Self, id: ExprId| match graph.node(id) {
            Node::Unary(UnaryOp::Neg, inner) => Some(inner),
            _ => None,
        };
        match (negated(self, a), negated(self, b)) {
            (Some(a), Some(b)) => Some(self.binary(op, a, b)),
            (Some(a), None) => {
                let positive = self.binary(op, a, b);
                Some(self.neg(positive))
            }
            (None, Some(b)) => {
                let positive = self.binary(op, a, b);
                Some(self.neg(positive))
            }
            (None, None) => None,
        }
    }

    /// `if condition then a else b`.
    pub fn select(&mut self, condition: ExprId, a: ExprId, b: ExprId) -> ExprId {
        match self.as_constant(condition) {
            Some(value) if value != 0.0 => a,
            Some(_) => b,
            None if a == b && self.is_total(condition) => a,
            None => self.intern(Node::Select(condition, a, b)),
        }
    }

    /// The sum of terms, left to right; 0 when there are none.
    pub fn sum(&mut self, terms: impl IntoIterator<Item = ExprId>) -> ExprId {
        let mut total = None;
        for term in terms {
            total = Some(match total {
                None => term,
                Some(sum) => self.add(sum, term),
            });
        }
        total.unwrap_or_else(|| self.constant(0.0))
    }

    /// The same expressions with symbols replaced. `replace` returns `None` to keep a symbol.
    pub fn substitute(
        &mut self,
        roots: &[ExprId],
        replace: impl FnMut(&mut Self, SymbolId) -> Option<ExprId>,
    ) -> Vec<ExprId> {
        let image: HashMap<_, _> = self.substitution(roots, replace).into_iter().collect();
        roots.iter().map(|root| image[root]).collect()
    }

    /// Every node below the roots with what it becomes when symbols are replaced, in order.
    pub fn substitution(
        &mut self,
        roots: &[ExprId],
        mut replace: impl FnMut(&mut Self, SymbolId) -> Option<ExprId>,
    ) -> Vec<(ExprId, ExprId)> {
        let mut image: FastMap<ExprId, ExprId> = HashMap::default();
        let mut pairs = Vec::new();
        for id in Walker::new().reachable(self, roots).to_vec() {
            let new = match self.node(id) {
                Node::Constant(_) => id,
                Node::Symbol(symbol) => replace(self, symbol).unwrap_or(id),
                Node::Unary(op, a) => self.unary(op, image[&a]),
                Node::Binary(op, a, b) => self.binary(op, image[&a], image[&b]),
                Node::Select(c, a, b) => self.select(image[&c], image[&a], image[&b]),
            };
            image.insert(id, new);
            pairs.push((id, new));
        }
        pairs
    }

    /// Values of the expressions, by plain interpretation. NaN and infinity are passed through.
    pub fn evaluate(&self, roots: &[ExprId], mut value: impl FnMut(SymbolId) -> f64) -> Vec<f64> {
        let mut values: FastMap<ExprId, f64> = HashMap::default();
        for &id in Walker::new().reachable(self, roots) {
            let result = match self.node(id) {
                Node::Symbol(symbol) => value(symbol),
                _ => self.node_value(id, |argument| values[&argument]),
            };
            values.insert(id, result);
        }
        roots.iter().map(|root| values[root]).collect()
    }
}

/// Value of an operation of one argument.
pub(crate) fn apply_unary(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Neg => -x,
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Abs => x.abs(),
        UnaryOp::Sign => {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                x
            }
        }
        UnaryOp::Not => f64::from(x == 0.0),
    }
}

/// Value of an operation of two arguments.
pub(crate) fn apply_binary(op: BinaryOp, x: f64, y: f64) -> f64 {
    let nan_aware = |chosen: f64| {
        if x.is_nan() || y.is_nan() {
            f64::NAN
        } else {
            chosen
        }
    };
    match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Pow => power(x, y),
        BinaryOp::Atan2 => x.atan2(y),
        BinaryOp::Min => nan_aware(x.min(y)),
        BinaryOp::Max => nan_aware(x.max(y)),
        BinaryOp::Less => f64::from(x < y),
        BinaryOp::LessEqual => f64::from(x <= y),
        BinaryOp::Greater => f64::from(x > y),
        BinaryOp::GreaterEqual => f64::from(x >= y),
        BinaryOp::Equal => f64::from(x == y),
        BinaryOp::NotEqual => f64::from(x != y),
        BinaryOp::And => f64::from(x != 0.0 && y != 0.0),
        BinaryOp::Or => f64::from(x != 0.0 || y != 0.0),
    }
}

/// `x^y`, by repeated multiplication for small whole exponents.
fn power(x: f64, y: f64) -> f64 {
    if y.fract() == 0.0 && y.abs() <= 64.0 {
        x.powi(y as i32)
    } else {
        x.powf(y)
    }
}

/// Collects the nodes below some roots without touching the rest of the graph.
///
/// Keeps its buffers between calls, so that a walk costs only what it visits.
#[derive(Debug, Default)]
pub struct Walker {
    /// One for each node of the graph, once that is worth its cost.
    stamps: Vec<u32>,
    current: u32,
    /// Nodes found without stamps so far.
    n_found: usize,
    stack: Vec<ExprId>,
    found: Vec<ExprId>,
}

impl Walker {
    /// A walker with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// All nodes that the roots are made of, each once, arguments before users.
    pub fn reachable(&mut self, graph: &Graph, roots: &[ExprId]) -> &[ExprId] {
        if self.stamps.is_empty() {
            if self.finds_few(graph, roots) {
                return &self.found;
            }
            self.stamps = vec![0; graph.len()];
        } else if self.stamps.len() < graph.len() {
            self.stamps.resize(graph.len() + graph.len() / 2, 0);
        }
        self.current = self.current.wrapping_add(1);
        if self.current == 0 {
            self.stamps.fill(0);
            self.current = 1;
        }
        self.found.clear();
        self.stack.extend_from_slice(roots);
        while let Some(id) = self.stack.pop() {
            let stamp = &mut self.stamps[id.index()];
            if *stamp != self.current {
                *stamp = self.current;
                self.found.push(id);
                self.stack.extend(graph.node(id).arguments());
            }
        }
        // Most of a graph is put in order faster by looking at all of it than by sorting.
        if self.found.len() > graph.len() / 16 {
            self.found.clear();
            let stamps = self.stamps[..graph.len()].iter().zip(0..);
            let marked = stamps.filter(|&(&stamp, _)| stamp == self.current);
            self.found.extend(marked.map(|(_, id)| ExprId(id)));
        } else {
            self.found.sort_unstable();
        }
        &self.found
    }

    /// Walks without stamps, as long as all walks together see a small part of the graph: `false` if they see more.
    fn finds_few(&mut self, graph: &Graph, roots: &[ExprId]) -> bool {
        let most = (graph.len() / 32).saturating_sub(self.n_found);
        let mut seen: FastMap<ExprId, ()> = HashMap::default();
        self.found.clear();
        self.stack.extend_from_slice(roots);
        while let Some(id) = self.stack.pop() {
            if seen.insert(id, ()).is_none() {
                if seen.len() > most {
                    self.stack.clear();
                    return false;
                }
                self.found.push(id);
                self.stack.extend(graph.node(id).arguments());
            }
        }
        self.n_found += self.found.len();
        self.found.sort_unstable();
        true
    }

    /// The symbols that the roots depend on, in order of first creation.
    pub fn symbols(&mut self, graph: &Graph, roots: &[ExprId]) -> Vec<SymbolId> {
        self.reachable(graph, roots)
            .iter()
            .filter_map(|&id| graph.as_symbol(id))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_expressions_share_a_node() {
        let mut graph = Graph::new();
        let x = graph.symbol(SymbolId(0));
        let y = graph.symbol(SymbolId(1));
        assert_eq!(graph.add(x, y), graph.add(y, x));
        assert_eq!(graph.mul(x, y), graph.mul(y, x));
        assert_ne!(graph.sub(x, y), graph.sub(y, x));
    }

    #[test]
    fn no_rule_loses_a_singularity() {
        let mut graph = Graph::new();
        let x = graph.symbol(SymbolId(0));
        let one = graph.constant(1.0);
        let two = graph.constant(2.0);
        let zero = graph.constant(0.0);
        let inverse = graph.div(one, x);
        assert_ne!(graph.div(x, x), one);
        assert_ne!(graph.mul(zero, inverse), zero);
        assert_ne!(graph.sub(inverse, inverse), zero);
        assert_ne!(graph.pow(inverse, zero), one);
        let square = graph.pow(x, two);
        let root = graph.unary(UnaryOp::Sqrt, square);
        assert!(matches!(graph.node(root), Node::Unary(UnaryOp::Sqrt, _)));
        // What is undefined stays an expression, to be reported where it is evaluated.
        let division = graph.div(one, zero);
        assert!(graph.as_constant(division).is_none());
        // A product with zero is zero where the other factor is always defined.
        assert_eq!(graph.mul(zero, square), zero);
    }

    #[test]
    fn a_walk_visits_each_node_once_in_order() {
        let mut graph = Graph::new();
        let x = graph.symbol(SymbolId(0));
        let mut e = x;
        for _ in 0..100 {
            e = graph.mul(e, e);
            let sine = graph.unary(UnaryOp::Sin, e);
            e = graph.add(e, sine);
        }
        let mut walker = Walker::new();
        let nodes = walker.reachable(&graph, &[e]);
        assert_eq!(nodes.len(), 301);
        assert!(nodes.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(walker.symbols(&graph, &[e]), [SymbolId(0)]);
    }

    /// Walks over small parts of a large graph pay for what they see, and find the same with and without stamps.
    #[test]
    fn small_walks_do_not_pay_for_the_graph() {
        let mut graph = Graph::new();
        let parts: Vec<ExprId> = (0..1000)
            .map(|k| {
                let x = graph.symbol(SymbolId(k));
                let sine = graph.unary(UnaryOp::Sin, x);
                graph.mul(x, sine)
            })
            .collect();
        let mut kept = Walker::new();
        for &part in &parts {
            let mut fresh = Walker::new();
            assert_eq!(
                fresh.reachable(&graph, &[part]),
                kept.reachable(&graph, &[part])
            );
            assert!(fresh.stamps.is_empty());
        }
        assert_eq!(
            kept.stamps.len(),
            graph.len(),
            "many walks are worth the stamps"
        );
        assert_eq!(Walker::new().reachable(&graph, &parts).len(), graph.len());
    }
}
