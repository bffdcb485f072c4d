//! Lowering: how the nodes of a graph become the operations of a tape.
//!
//! Three things happen here. Products with a resting factor become scalings, whole powers become
//! chains of products (docs/theory/jets.md, section 4: they stay right where the base is 0), and the
//! auxiliary series that a recurrence needs get registers of their own, shared with each other and
//! with the nodes of the graph that compute the same thing.

use crate::graph::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, UnaryOp, Walker};
use crate::tape::{Code, NONE, Op, Slot, Tape};

/// Whole exponents up to this size become chains of products. Beyond it the exponent is no longer
/// exact in the 31 bits of the chain, and no model we know of comes near.
const LARGEST_CHAIN: f64 = 2_147_483_647.0;

/// An operation with its operands; what two registers would have in common.
type Key = (Code, u32, u32);

/// The register of each node: a place for every node of the graph, unless a tape takes only a few of them.
enum Registers {
    Dense(Vec<u32>),
    Few(FastMap<ExprId, u32>),
}

impl Registers {
    fn new(n_nodes: usize, room: usize) -> Self {
        if room < n_nodes / 16 {
            Self::Few(FastMap::default())
        } else {
            Self::Dense(vec![NONE; n_nodes])
        }
    }

    fn insert(&mut self, id: ExprId, register: u32) {
        match self {
            Self::Dense(registers) => registers[id.index()] = register,
            Self::Few(registers) => {
                registers.insert(id, register);
            }
        }
    }

    fn get(&self, id: ExprId) -> u32 {
        match self {
            Self::Dense(registers) => registers[id.index()],
            Self::Few(registers) => registers.get(&id).copied().unwrap_or(NONE),
        }
    }
}

struct Lowering<'a> {
    graph: &'a Graph,
    tape: Tape,
    /// Operations that an auxiliary series may have made before, or may look for later.
    known: FastMap<Key, u32>,
    register_of: Registers,
    one: Option<u32>,
}

/// Builds the operations for the roots, arguments first, dead nodes left out.
pub(crate) fn lower(
    graph: &Graph,
    roots: &[ExprId],
    mut slot: impl FnMut(SymbolId) -> Slot,
) -> Tape {
    let mut walker = Walker::new();
    let nodes = walker.reachable(graph, roots);
    let room = nodes.len() + nodes.len() / 8;
    let mut lowering = Lowering {
        graph,
        tape: Tape {
            ops: Vec::with_capacity(room),
            exprs: Vec::with_capacity(room),
            constants: Vec::new(),
            slots: Vec::new(),
            roots: Vec::with_capacity(roots.len()),
            branches: Vec::new(),
            total: Vec::new(),
            leads: Vec::new(),
            root_leads: Vec::new(),
            max_lead: 0,
            followers: Vec::new(),
            n_variables: 0,
            n_parameters: 0,
            max_slot_order: 0,
            signals: Vec::new(),
        },
        known: FastMap::default(),
        register_of: Registers::new(graph.len(), room),
        one: None,
    };
    for &id in nodes {
        let register = match graph.node(id) {
            Node::Constant(bits) => lowering.constant(f64::from_bits(bits), id),
            Node::Symbol(symbol) => lowering.input(slot(symbol), id),
            Node::Unary(op, a) => lowering.unary(op, a, id),
            Node::Binary(op, a, b) => lowering.binary(op, a, b, id),
            Node::Select(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|argument| lowering.register(argument));
                lowering.push(Code::Select, [c, a, b], id)
            }
        };
        lowering.register_of.insert(id, register);
    }
    for &root in roots {
        let register = lowering.register(root);
        lowering.tape.roots.push(register);
    }
    lowering.tape
}

impl Lowering<'_> {
    fn register(&self, id: ExprId) -> u32 {
        self.register_of.get(id)
    }

    fn moving(&self, register: u32) -> bool {
        self.tape.ops[register as usize].moving
    }

    fn next(&self) -> u32 {
        u32::try_from(self.tape.ops.len()).expect("fewer than 2^32 operations")
    }

    fn push_op(&mut self, op: Op, expr: ExprId) -> u32 {
        let register = self.next();
        self.tape.ops.push(op);
        self.tape.exprs.push(expr);
        register
    }

    fn push(&mut self, code: Code, [a, b, c]: [u32; 3], expr: ExprId) -> u32 {
        let moving = [a, b, c]
            .into_iter()
            .any(|operand| operand != NONE && operand < self.next() && self.moving(operand));
        let extra = if moving && code.is_branch() {
            let next = self.next();
            self.tape.branches.push(next);
            let mut operands = self.graph.node(expr).arguments();
            (self.tape.total).push(operands.all(|operand| self.graph.is_total(operand)));
            self.tape.branches.len() as u32 - 1
        } else {
            NONE
        };
        self.push_op(
            Op {
                code,
                moving,
                auxiliary: false,
                a,
                b,
                c,
                extra,
            },
            expr,
        )
    }

    fn constant(&mut self, value: f64, expr: ExprId) -> u32 {
        if value == 1.0
            && let Some(one) = self.one
        {
            self.promote(one, expr);
            return one;
        }
        self.tape.constants.push(value);
        let extra = self.tape.constants.len() as u32 - 1;
        let register = self.leaf(Code::Constant, false, extra, expr);
        if value == 1.0 {
            self.one = Some(register);
        }
        register
    }

    fn leaf(&mut self, code: Code, moving: bool, extra: u32, expr: ExprId) -> u32 {
        self.push_op(
            Op {
                code,
                moving,
                auxiliary: false,
                a: NONE,
                b: NONE,
                c: NONE,
                extra,
            },
            expr,
        )
    }

    fn input(&mut self, slot: Slot, expr: ExprId) -> u32 {
        let tape = &mut self.tape;
        let moving = match slot {
            Slot::Variable { index, order } => {
                tape.n_variables = tape.n_variables.max(index as usize + 1);
                tape.max_slot_order = tape.max_slot_order.max(order as usize);
                true
            }
            Slot::Parameter(index) => {
                tape.n_parameters = tape.n_parameters.max(index as usize + 1);
                false
            }
            Slot::Time | Slot::Signal { .. } => true,
        };
        tape.slots.push(slot);
        let extra = tape.slots.len() as u32 - 1;
        self.leaf(Code::Input, moving, extra, expr)
    }

    /// A register that a node of the graph turns out to need as well as some recurrence.
    fn promote(&mut self, register: u32, expr: ExprId) {
        let op = &mut self.tape.ops[register as usize];
        if op.auxiliary {
            op.auxiliary = false;
            self.tape.exprs[register as usize] = expr;
        }
    }

    /// The operation of a node, taken over from an auxiliary series where one made it before.
    fn shared(&mut self, code: Code, a: u32, b: u32, expr: ExprId) -> u32 {
        if let Some(&register) = self.known.get(&(code, a, b)) {
            self.promote(register, expr);
            return register;
        }
        let register = self.push(code, [a, b, NONE], expr);
        self.known.insert((code, a, b), register);
        register
    }

    /// The operation for a recurrence, taken over from a node of the graph where there is one.
    fn auxiliary(&mut self, code: Code, a: u32, b: u32, expr: ExprId) -> u32 {
        if let Some(&register) = self.known.get(&(code, a, b)) {
            return register;
        }
        let register = self.shared(code, a, b, expr);
        self.tape.ops[register as usize].auxiliary = true;
        register
    }

    fn auxiliary_one(&mut self, expr: ExprId) -> u32 {
        if let Some(one) = self.one {
            return one;
        }
        let one = self.constant(1.0, expr);
        self.tape.ops[one as usize].auxiliary = true;
        one
    }

    /// 1 + a^2 or 1 - a^2 behind tan, tanh, atan, asin and acos.
    fn one_and_square(&mut self, code: Code, a: u32, expr: ExprId) -> u32 {
        let one = self.auxiliary_one(expr);
        let square = self.auxiliary(Code::Square, a, NONE, expr);
        self.auxiliary(code, one, square, expr)
    }

    fn unary(&mut self, op: UnaryOp, argument: ExprId, expr: ExprId) -> u32 {
        let a = self.register(argument);
        let code = match op {
            UnaryOp::Neg => return self.push(Code::Neg, [a, NONE, NONE], expr),
            UnaryOp::Abs => return self.push(Code::Abs, [a, NONE, NONE], expr),
            UnaryOp::Sign => return self.push(Code::Sign, [a, NONE, NONE], expr),
            UnaryOp::Not => return self.push(Code::Not, [a, NONE, NONE], expr),
            UnaryOp::Sqrt => Code::Sqrt,
            UnaryOp::Exp => Code::Exp,
            UnaryOp::Log => Code::Log,
            UnaryOp::Log10 => Code::Log10,
            UnaryOp::Sin => Code::Sin,
            UnaryOp::Cos => Code::Cos,
            UnaryOp::Tan => Code::Tan,
            UnaryOp::Asin => Code::Asin,
            UnaryOp::Acos => Code::Acos,
            UnaryOp::Atan => Code::Atan,
            UnaryOp::Sinh => Code::Sinh,
            UnaryOp::Cosh => Code::Cosh,
            UnaryOp::Tanh => Code::Tanh,
        };
        if !self.moving(a) {
            return self.shared(code, a, NONE, expr);
        }
        match code {
            Code::Sin => self.pair(Code::Sin, Code::Cos, a, expr),
            Code::Cos => self.pair(Code::Cos, Code::Sin, a, expr),
            Code::Sinh => self.pair(Code::Sinh, Code::Cosh, a, expr),
            Code::Cosh => self.pair(Code::Cosh, Code::Sinh, a, expr),
            Code::Tan | Code::Tanh => {
                self.auxiliary_one(expr);
                let register = self.push(code, [a, NONE, NONE], expr);
                let sign = if code == Code::Tan {
                    Code::Add
                } else {
                    Code::Sub
                };
                let slope = self.one_and_square(sign, register, expr);
                self.tape.ops[register as usize].b = slope;
                register
            }
            Code::Atan => {
                let slope = self.one_and_square(Code::Add, a, expr);
                self.push(code, [a, slope, NONE], expr)
            }
            Code::Asin | Code::Acos => {
                let rest = self.one_and_square(Code::Sub, a, expr);
                let slope = self.auxiliary(Code::Sqrt, rest, NONE, expr);
                self.push(code, [a, slope, NONE], expr)
            }
            Code::Log | Code::Log10 | Code::Exp | Code::Sqrt => self.shared(code, a, NONE, expr),
            _ => unreachable!("all functions of one argument are listed"),
        }
    }

    /// A function and the companion that is its slope up to sign; each reads the other.
    fn pair(&mut self, code: Code, other: Code, a: u32, expr: ExprId) -> u32 {
        if let Some(&register) = self.known.get(&(code, a, NONE)) {
            self.promote(register, expr);
            return register;
        }
        let register = self.push(code, [a, NONE, NONE], expr);
        let companion = self.push(other, [a, register, NONE], expr);
        self.tape.ops[register as usize].b = companion;
        self.tape.ops[companion as usize].auxiliary = true;
        self.known.insert((code, a, NONE), register);
        self.known.insert((other, a, NONE), companion);
        register
    }

    fn binary(&mut self, op: BinaryOp, left: ExprId, right: ExprId, expr: ExprId) -> u32 {
        let (a, b) = (self.register(left), self.register(right));
        let plain = match op {
            BinaryOp::Add | BinaryOp::Sub => {
                let code = if op == BinaryOp::Add {
                    Code::Add
                } else {
                    Code::Sub
                };
                // Sums with a square are what auxiliary series are made of.
                let is_square =
                    |register: u32| self.tape.ops[register as usize].code == Code::Square;
                if is_square(a) || is_square(b) {
                    return self.shared(code, a, b, expr);
                }
                code
            }
            BinaryOp::Mul => match (self.moving(a), self.moving(b)) {
                (true, true) if a == b => return self.shared(Code::Square, a, NONE, expr),
                (true, true) | (false, false) => Code::Mul,
                (true, false) => Code::Scale,
                (false, true) => return self.push(Code::Scale, [b, a, NONE], expr),
            },
            BinaryOp::Div if self.moving(a) && !self.moving(b) => Code::DivBy,
            BinaryOp::Div => Code::Div,
            BinaryOp::Pow => return self.power(a, b, right, expr),
            BinaryOp::Atan2 => {
                if !self.moving(a) && !self.moving(b) {
                    return self.push(Code::Atan2, [a, b, NONE], expr);
                }
                let first = self.auxiliary(Code::Square, a, NONE, expr);
                let second = self.auxiliary(Code::Square, b, NONE, expr);
                let radius = self.auxiliary(Code::Add, first, second, expr);
                return self.push(Code::Atan2, [a, b, radius], expr);
            }
            BinaryOp::Min => Code::Min,
            BinaryOp::Max => Code::Max,
            BinaryOp::Less => Code::Less,
            BinaryOp::LessEqual => Code::LessEqual,
            BinaryOp::Greater => Code::Greater,
            BinaryOp::GreaterEqual => Code::GreaterEqual,
            BinaryOp::Equal => Code::Equal,
            BinaryOp::NotEqual => Code::NotEqual,
            BinaryOp::And => Code::And,
            BinaryOp::Or => Code::Or,
        };
        self.push(plain, [a, b, NONE], expr)
    }

    fn power(&mut self, a: u32, b: u32, exponent: ExprId, expr: ExprId) -> u32 {
        if self.moving(b) {
            // The value is computed as a power; only the slope needs the logarithm.
            let logarithm = self.auxiliary(Code::Log, a, NONE, expr);
            let code = if self.moving(a) {
                Code::Mul
            } else {
                Code::Scale
            };
            let product = self.push(code, [b, logarithm, NONE], expr);
            self.tape.ops[product as usize].auxiliary = true;
            return self.push(Code::PowMoving, [a, b, product], expr);
        }
        match self.graph.as_constant(exponent) {
            Some(0.0) => self.push(Code::PowZero, [a, NONE, NONE], expr),
            Some(value)
                if self.moving(a) && value.fract() == 0.0 && value.abs() <= LARGEST_CHAIN =>
            {
                let base = if value < 0.0 {
                    self.shared(Code::Recip, a, NONE, expr)
                } else {
                    a
                };
                self.chain(base, value.abs() as u32, expr)
            }
            _ => self.push(Code::PowFixed, [a, b, NONE], expr),
        }
    }

    /// `base^n` for n >= 1, reading the bits of n from the top; every step is a power of the base.
    fn chain(&mut self, base: u32, n: u32, expr: ExprId) -> u32 {
        let mut power = base;
        for bit in (0..n.ilog2()).rev() {
            power = self.shared(Code::Square, power, NONE, expr);
            if n >> bit & 1 == 1 {
                power = self.shared(Code::Mul, power, base, expr);
            }
        }
        power
    }
}
