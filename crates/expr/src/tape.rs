//! The tape: a graph turned into a straight list of operations over dense registers.
//!
//! Operation `r` writes register `r`. Operands come from smaller registers, except that some
//! functions read a companion (cos beside sin, 1 + t^2 behind t = tan x) whose register is larger;
//! a companion is read at lower orders only, so evaluating in ascending order is always right.
//! How graph nodes become operations is told in `lower.rs`; the recurrences are those of
//! `docs/theory/jets.md`.

use crate::graph::{ExprId, Graph, SymbolId};
use crate::signal::Signal;
use std::sync::Arc;

/// What a symbol of the graph stands for when a tape is evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Slot {
    /// The `order`-th time derivative of variable `index`.
    ///
    /// In a jet its coefficient k is (k+1)...(k+order) x_{k+order}.
    Variable {
        /// Which variable.
        index: u32,
        /// How often it is differentiated; 0 is the variable itself.
        order: u32,
    },
    /// A number that does not change with time.
    Parameter(u32),
    /// The time itself.
    Time,
    /// The `order`-th time derivative of the known signal `index` of [`Tape::with_signals`].
    Signal {
        /// Which signal.
        index: u32,
        /// How often it is differentiated; 0 is the signal itself.
        order: u32,
    },
}

/// A register of a tape, which holds the value or the series of one operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Register(pub(crate) u32);

impl Register {
    /// Position among the registers of the tape.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an operation of a tape does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Code {
    Constant,
    Input,
    Neg,
    Add,
    Sub,
    /// Moving `a` times resting `b`.
    Scale,
    /// Moving `a` over resting `b`.
    DivBy,
    Mul,
    Square,
    Div,
    /// 1/a, the first step of a negative whole power.
    Recip,
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
    Atan2,
    Sinh,
    Cosh,
    Tanh,
    /// `a^b` with a resting exponent that is no small whole constant.
    PowFixed,
    /// `a^b` with a moving exponent; `c` holds b log(a).
    PowMoving,
    /// `a^0`: 1 wherever `a` is defined.
    PowZero,
    Abs,
    Sign,
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
    Not,
    Select,
}

impl Code {
    /// Whether the operation decides between branches by the sign of `a` or of `a - b`.
    pub(crate) fn is_branch(self) -> bool {
        matches!(
            self,
            Code::Abs
                | Code::Sign
                | Code::Min
                | Code::Max
                | Code::Less
                | Code::LessEqual
                | Code::Greater
                | Code::GreaterEqual
                | Code::Equal
                | Code::NotEqual
        )
    }
}

/// Stands for a missing operand or number.
pub(crate) const NONE: u32 = u32::MAX;

/// One operation: what it does, its operand registers, and one number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub code: Code,
    /// Whether the result can change with time; the others have no coefficients above order 0.
    pub moving: bool,
    /// Whether only orders above 0 of other operations need it.
    pub auxiliary: bool,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    /// The number of the constant, slot or branch.
    pub extra: u32,
}

impl Op {
    /// The operand registers that exist.
    pub(crate) fn operands(&self) -> impl Iterator<Item = usize> {
        [self.a, self.b, self.c]
            .into_iter()
            .filter(|&register| register != NONE)
            .map(|register| register as usize)
    }

    /// Whether an operand is read at lower orders only: the slope g of (14), the divisor q of (22).
    pub(crate) fn is_auxiliary_companion(&self, operand: usize) -> bool {
        self.code != Code::PowMoving && self.is_auxiliary_operand(operand)
    }

    /// Whether an operand serves the coefficients above order 0 only, not the value.
    pub(crate) fn is_auxiliary_operand(&self, operand: usize) -> bool {
        let slope = match self.code {
            Code::Sin
            | Code::Cos
            | Code::Tan
            | Code::Asin
            | Code::Acos
            | Code::Atan
            | Code::Sinh
            | Code::Cosh
            | Code::Tanh => self.b,
            Code::Atan2 | Code::PowMoving => self.c,
            _ => return false,
        };
        operand == slope as usize
    }
}

/// Size of a tape, for reports and for choosing a back end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TapeSize {
    /// All operations, inputs and constants included.
    pub n_operations: usize,
    /// Operations whose coefficient k costs O(k).
    pub n_convolutions: usize,
    /// Operations that only orders above 0 need.
    pub n_auxiliary: usize,
}

/// A linear program that evaluates chosen expressions of a graph, in values or in jets.
///
/// Every operation remembers the expression it comes from, so that a
/// [`Fault`](crate::Fault) can be traced to its text.
///
/// ```
/// use daelight_expr::{Graph, Inputs, Slot, SymbolId, Tape, UnaryOp, Values};
/// use std::sync::Arc;
///
/// let mut graph = Graph::new();
/// let x = graph.symbol(SymbolId(0));
/// let root = graph.unary(UnaryOp::Sqrt, x);
/// let tape = Tape::compile(&graph, &[root], |_| Slot::Variable { index: 0, order: 0 });
/// let mut values = Values::new(Arc::new(tape));
/// values.inputs_mut().set(0, 0, 4.0);
/// assert_eq!(values.evaluate(), Ok(()));
/// assert_eq!(values.root(0), 2.0);
/// values.inputs_mut().set(0, 0, -4.0);
/// assert_eq!(values.evaluate().unwrap_err().expr, root);
/// ```
#[derive(Clone, Debug)]
pub struct Tape {
    pub(crate) ops: Vec<Op>,
    pub(crate) exprs: Vec<ExprId>,
    pub(crate) constants: Vec<f64>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) roots: Vec<u32>,
    /// Registers of the branch operations that move, in ascending order.
    pub(crate) branches: Vec<u32>,
    /// Whether what each of them decides by has a value everywhere, as it is written.
    pub(crate) total: Vec<bool>,
    /// How many orders the register runs ahead of the stage; see [`Tape::compile_staged`].
    pub(crate) leads: Vec<u32>,
    pub(crate) root_leads: Vec<u32>,
    pub(crate) max_lead: u32,
    /// Registers that follow the top coefficients of the variables, in ascending order.
    pub(crate) followers: Vec<u32>,
    pub(crate) n_variables: usize,
    pub(crate) n_parameters: usize,
    pub(crate) max_slot_order: usize,
    /// What the slots of signals stand for.
    pub(crate) signals: Vec<Arc<Signal>>,
}

impl Tape {
    /// Compiles the expressions that the roots need; `slot` says what each symbol stands for.
    pub fn compile(graph: &Graph, roots: &[ExprId], slot: impl FnMut(SymbolId) -> Slot) -> Self {
        Self::compile_staged(graph, roots, &[], slot)
    }

    /// Compiles for staged evaluation: at stage k root i is wanted at order k + `leads[i]`.
    ///
    /// A register that only serves roots of small lead is then not evaluated further than they
    /// need, and every operation is evaluated exactly once per stage. Missing leads are 0.
    pub fn compile_staged(
        graph: &Graph,
        roots: &[ExprId],
        leads: &[u32],
        slot: impl FnMut(SymbolId) -> Slot,
    ) -> Self {
        let mut tape = crate::lower::lower(graph, roots, slot);
        tape.root_leads = leads.to_vec();
        tape.root_leads.resize(roots.len(), 0);
        tape.max_lead = tape.root_leads.iter().copied().max().unwrap_or(0);
        tape.spread_leads();
        tape.find_followers();
        tape
    }

    /// Raises the counts of variables and parameters, for inputs that no expression mentions.
    #[must_use]
    pub fn with_counts(mut self, n_variables: usize, n_parameters: usize) -> Self {
        self.n_variables = self.n_variables.max(n_variables);
        self.n_parameters = self.n_parameters.max(n_parameters);
        self
    }

    /// Raises the highest derivative that the inputs have room for, for orders no expression mentions.
    #[must_use]
    pub fn with_slot_order(mut self, order: usize) -> Self {
        self.max_slot_order = self.max_slot_order.max(order);
        self
    }

    /// Says what the slots of signals stand for, by index.
    #[must_use]
    pub fn with_signals(mut self, signals: &[Arc<Signal>]) -> Self {
        self.signals = signals.to_vec();
        self
    }

    /// The known functions of time that the inputs are expanded with.
    pub fn signals(&self) -> &[Arc<Signal>] {
        &self.signals
    }

    /// Gives every register the largest lead of the operations that read it.
    fn spread_leads(&mut self) {
        self.leads = vec![0; self.ops.len()];
        if self.max_lead == 0 {
            return;
        }
        for (&root, &lead) in self.roots.iter().zip(&self.root_leads) {
            let held = &mut self.leads[root as usize];
            *held = lead.max(*held);
        }
        // Companions have larger registers than their reader, so one pass may not be enough.
        let mut settled = false;
        while !settled {
            settled = true;
            for register in (0..self.ops.len()).rev() {
                let lead = self.leads[register];
                for operand in self.ops[register].operands() {
                    if self.leads[operand] < lead {
                        self.leads[operand] = lead;
                        settled &= operand < register;
                    }
                }
            }
        }
    }

    /// The top coefficient of each variable, as an order ahead of the stage, if it occurs.
    ///
    /// At stage k the tape reads variable j up to coefficient k + `tops()[j]`. For the offsets of a
    /// structural analysis as leads this is the offset of the variable.
    pub fn tops(&self) -> Vec<Option<usize>> {
        let mut tops = vec![None; self.n_variables];
        for (op, &lead) in self.ops.iter().zip(&self.leads) {
            if let Some((index, order)) = self.variable(op) {
                let top: &mut Option<usize> = &mut tops[index];
                *top = (*top).max(Some(order + lead as usize));
            }
        }
        tops
    }

    fn variable(&self, op: &Op) -> Option<(usize, usize)> {
        match (op.code, self.slots.get(op.extra as usize)) {
            (Code::Input, Some(&Slot::Variable { index, order })) => {
                Some((index as usize, order as usize))
            }
            _ => None,
        }
    }

    /// Whether the newest coefficient of `register` depends on the newest one of `operand`.
    ///
    /// An operand that runs ahead is read below its top, and a companion at lower orders.
    pub(crate) fn reads_top(&self, register: usize, operand: usize) -> bool {
        operand < register
            && self.leads[operand] == self.leads[register]
            && !self.ops[register].is_auxiliary_companion(operand)
    }

    /// Marks what moves when the top coefficients of the variables move; docs/theory/jets.md (31).
    fn find_followers(&mut self) {
        let tops = self.tops();
        let mut follows = vec![false; self.ops.len()];
        self.followers.clear();
        for (register, op) in self.ops.iter().enumerate() {
            follows[register] = match self.variable(op) {
                Some((index, order)) => tops[index] == Some(order + self.leads[register] as usize),
                None => op
                    .operands()
                    .any(|operand| follows[operand] && self.reads_top(register, operand)),
            };
            if follows[register] {
                self.followers.push(register as u32);
            }
        }
    }

    /// Number of registers.
    pub fn n_registers(&self) -> usize {
        self.ops.len()
    }

    /// Number of roots.
    pub fn n_roots(&self) -> usize {
        self.roots.len()
    }

    /// Number of variables that the inputs hold.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// Number of parameters that the inputs hold.
    pub fn n_parameters(&self) -> usize {
        self.n_parameters
    }

    /// Whether a root follows time or variables; otherwise the parameters alone decide it.
    pub fn is_moving(&self, root: usize) -> bool {
        self.ops[self.roots[root] as usize].moving
    }

    /// The highest derivative of a variable that the expressions mention.
    pub fn max_slot_order(&self) -> usize {
        self.max_slot_order
    }

    /// The first stage at which any register has an order that is not negative.
    pub fn first_stage(&self) -> i32 {
        -(self.max_lead as i32)
    }

    /// How many orders root `root` runs ahead of the stage.
    pub fn root_lead(&self, root: usize) -> usize {
        self.root_leads[root] as usize
    }

    /// The register that holds a root.
    pub fn root(&self, root: usize) -> Register {
        Register(self.roots[root])
    }

    /// The register at a position, which is smaller than [`n_registers`](Self::n_registers).
    pub fn register(&self, index: usize) -> Register {
        assert!(index < self.ops.len(), "register {index} does not exist");
        Register(index as u32)
    }

    /// The expression an operation comes from.
    pub fn expr(&self, register: Register) -> ExprId {
        self.exprs[register.index()]
    }

    /// The expressions at which a branch is decided, in the order of the decisions.
    pub fn branches(&self) -> impl ExactSizeIterator<Item = ExprId> {
        self.branches
            .iter()
            .map(|&register| self.exprs[register as usize])
    }

    /// Whether a branch jumps at its switching point, as relations and `sign` do; `abs`, `min` and `max` have a kink there.
    pub fn jumps(&self, branch: usize) -> bool {
        let op = &self.ops[self.branches[branch] as usize];
        !matches!(op.code, Code::Abs | Code::Min | Code::Max)
    }

    /// Counts of operations.
    pub fn size(&self) -> TapeSize {
        TapeSize {
            n_operations: self.ops.len(),
            n_convolutions: self
                .ops
                .iter()
                .filter(|op| op.moving && is_convolution(op.code))
                .count(),
            n_auxiliary: self.ops.iter().filter(|op| op.auxiliary).count(),
        }
    }
}

/// Whether coefficient k of a moving result costs O(k).
pub(crate) fn is_convolution(code: Code) -> bool {
    matches!(
        code,
        Code::Mul
            | Code::Square
            | Code::Div
            | Code::Recip
            | Code::Sqrt
            | Code::Exp
            | Code::Log
            | Code::Log10
            | Code::Sin
            | Code::Cos
            | Code::Tan
            | Code::Asin
            | Code::Acos
            | Code::Atan
            | Code::Atan2
            | Code::Sinh
            | Code::Cosh
            | Code::Tanh
            | Code::PowFixed
            | Code::PowMoving
    )
}
