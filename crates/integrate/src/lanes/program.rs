//! A tape for several runs side by side: its values, its coefficients stage by stage, and what follows the newest ones.
//!
//! The formulas and the order of their sums are those of `docs/theory/jets.md`, as `daelight_expr` tells them ([`Recurrence`]).

use super::pack::Pack;
use daelight_expr::{BinaryOp, Operation, Recurrence, Register, Slot, Tape, UnaryOp};

/// What a register is at order 0.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// It rests, or is of no use for values: nothing is to be done.
    Known,
    /// A coefficient of a variable, and its factor.
    Variable(usize, f64),
    Time,
    Neg(usize),
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Div(usize, usize),
    Reciprocal(usize),
    Root(usize),
    Unary(UnaryOp, usize),
}

/// Where the coefficients of a register are: order 0 first, then all others, or the newest one alone where no later stage reads them.
#[derive(Clone, Copy, Debug)]
struct Row {
    first: usize,
    last: usize,
}

impl Row {
    #[inline(always)]
    fn at(self, order: usize) -> usize {
        (self.first + order).min(self.last)
    }
}

/// How coefficients above order 0 follow.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Resting,
    Variable { index: usize, derivative: usize },
    Time,
    Neg(Row),
    Add(Row, Row),
    Sub(Row, Row),
    Scale(Row, Row),
    Over(Row, Row),
    Product(Row, Row),
    Square(Row),
    Quotient(Row, Row),
    Reciprocal(Row),
    Root(Row),
    SlopeProduct(Row, Row, bool),
    SlopeQuotient(Row, Row, f64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    row: Row,
    lead: usize,
    pub value: Value,
    rule: Rule,
}

/// A register whose newest coefficient is corrected once those of the variables are known, (31).
#[derive(Clone, Copy, Debug)]
struct Follower {
    row: Row,
    lead: usize,
    rule: Rule,
    /// Places of the changes of its operands, and which of them have an effect.
    operands: [Option<usize>; 2],
    /// Whether both operands are the same register.
    is_double: bool,
}

/// A tape, prepared for several runs.
#[derive(Clone, Debug)]
pub(super) struct Program {
    n_variables: usize,
    pub n_registers: usize,
    /// Coefficients of a register that later stages read.
    stride: usize,
    rows: Vec<Row>,
    n_numbers: usize,
    /// (order + 1) ... (order + derivative), `[derivative][order]`.
    rising: Vec<f64>,
    pub steps: Vec<Step>,
    followers: Vec<Follower>,
    /// Rows and leads of the roots.
    roots: Vec<(Row, usize)>,
    /// What follows from the parameters alone, by register.
    pub resting: Vec<(usize, Operation)>,
}

/// The numbers of a program.
#[derive(Clone, Debug)]
pub(super) struct Room<const W: usize> {
    rows: Vec<Pack<W>>,
    /// Slopes of the followers, two for each, and their changes.
    slopes: Vec<[Pack<W>; 2]>,
    moved: Vec<Pack<W>>,
    resting: Vec<f64>,
}

/// The rows of all registers for coefficients up to an order: two orders are enough where no other stage reads them.
fn rows(tape: &Tape, order: usize) -> Vec<Row> {
    let mut is_kept = tape.read_later();
    for root in 0..tape.n_roots() {
        let register = tape.root(root);
        is_kept[register.index()] |= tape.lead(register) != tape.root_lead(root);
    }
    let mut first = 0;
    let row = |is_kept: bool| {
        let n_orders = if is_kept { order + 1 } else { 2.min(order + 1) };
        first += n_orders;
        Row {
            first: first - n_orders,
            last: first - 1,
        }
    };
    is_kept.into_iter().map(row).collect()
}

/// (order + 1) ... (order + derivative).
fn rising(order: usize, derivative: usize) -> f64 {
    (order + 1..=order + derivative)
        .map(|factor| factor as f64)
        .product()
}

impl Step {
    /// Where its value is.
    #[inline(always)]
    pub fn place(&self) -> usize {
        self.row.first
    }
}

impl Program {
    /// Prepares a tape for coefficients up to an order; `None` if it has branches, general powers or signals.
    pub fn new(tape: &Tape, order: usize) -> Option<Self> {
        let stride = order + 1;
        let registers: Vec<Register> = (0..tape.n_registers()).map(|r| tape.register(r)).collect();
        let rows = rows(tape, order);
        let mut steps = Vec::new();
        let mut resting = Vec::new();
        for &register in &registers {
            let operation = tape.value_of(register);
            if let Operation::Input(Slot::Signal { .. }) = operation {
                return None;
            }
            let rule = rule_of(tape.recurrence(register)?, &rows)?;
            if matches!(rule, Rule::Resting) {
                resting.push((register.index(), operation));
                continue;
            }
            if order == 0 && tape.operation(register).is_none() {
                continue;
            }
            steps.push(Step {
                row: rows[register.index()],
                lead: tape.lead(register),
                value: value_of(operation, &rows, tape.n_variables())?,
                rule,
            });
        }
        if tape.branches().len() > 0 {
            return None;
        }
        let root = |root: usize| (rows[tape.root(root).index()], tape.root_lead(root));
        Some(Self {
            n_variables: tape.n_variables(),
            n_registers: registers.len(),
            stride,
            rising: (0..=tape.max_slot_order())
                .flat_map(|derivative| (0..stride).map(move |order| rising(order, derivative)))
                .collect(),
            steps,
            followers: if order > 0 {
                followers(tape, &rows)?
            } else {
                Vec::new()
            },
            roots: (0..tape.n_roots()).map(root).collect(),
            resting,
            n_numbers: rows.last().map_or(0, |row| row.last + 1),
            rows,
        })
    }

    pub fn room<const W: usize>(&self) -> Room<W> {
        Room {
            rows: vec![Pack::ZERO; self.n_numbers],
            slopes: vec![[Pack::ZERO; 2]; self.followers.len()],
            moved: vec![Pack::ZERO; self.followers.len()],
            resting: vec![0.0; self.n_registers],
        }
    }

    /// Sets the values of the parameters of one run.
    pub fn set_parameters<const W: usize>(
        &self,
        room: &mut Room<W>,
        lane: usize,
        parameters: &[f64],
    ) {
        let values = &mut room.resting;
        for &(index, operation) in &self.resting {
            let at = |register: Register| values[register.index()];
            let value = match operation {
                Operation::Constant(x) => x,
                Operation::Input(Slot::Parameter(index)) => parameters[index as usize],
                Operation::Input(_) => f64::NAN,
                Operation::Unary(op, a) => op.apply(at(a)),
                Operation::Binary(op, a, b) => op.apply(at(a), at(b)),
                Operation::Reciprocal(a) => 1.0 / at(a),
                Operation::One(a) => at(a) - at(a) + 1.0,
                Operation::Select(a, b, c) => at(if at(a) == 0.0 { c } else { b }),
            };
            let value = if value.is_finite() { value } else { f64::NAN };
            values[index] = value;
            room.rows[self.rows[index].first][lane] = value;
        }
    }

    /// The value of a root at order 0.
    #[inline(always)]
    pub fn root<'r, const W: usize>(&self, room: &'r Room<W>, root: usize) -> &'r Pack<W> {
        &room.rows[self.roots[root].0.first]
    }

    /// The value of a register at order 0.
    #[inline(always)]
    pub fn register<'r, const W: usize>(&self, room: &'r Room<W>, register: usize) -> &'r Pack<W> {
        &room.rows[self.rows[register].first]
    }

    /// The place of the value of a root.
    pub fn root_place(&self, root: usize) -> usize {
        self.roots[root].0.first
    }

    /// Number of roots.
    pub fn n_roots(&self) -> usize {
        self.roots.len()
    }

    /// Computes all values at a point, whose coefficients are `[order][variable]`.
    #[inline(always)]
    pub fn evaluate<const W: usize>(
        &self,
        room: &mut Room<W>,
        time: &Pack<W>,
        coefficients: &[Pack<W>],
    ) {
        for step in &self.steps {
            let value = value(step.value, &room.rows, time, coefficients);
            if !matches!(step.value, Value::Known) {
                room.rows[step.place()] = value;
            }
        }
    }

    /// Computes the coefficients of a stage, and those of the roots at it: 0 for roots that have not begun.
    #[inline(always)]
    pub fn extend<const W: usize>(
        &self,
        room: &mut Room<W>,
        stage: i32,
        time: &Pack<W>,
        coefficients: &[Pack<W>],
        roots: &mut [Pack<W>],
    ) {
        for step in &self.steps {
            let Ok(order) = usize::try_from(stage + step.lead as i32) else {
                continue;
            };
            let found = if order == 0 {
                value(step.value, &room.rows, time, coefficients)
            } else {
                coefficient(self, step, order, &room.rows, coefficients)
            };
            room.rows[step.row.at(order)] = found;
        }
        for (into, &(row, lead)) in roots.iter_mut().zip(&self.roots) {
            *into = match usize::try_from(stage + lead as i32) {
                Ok(order) => room.rows[row.at(order)],
                Err(_) => Pack::ZERO,
            };
        }
    }

    /// Computes the slopes by which newest coefficients follow each other, at the values of stage 0.
    #[inline(always)]
    pub fn find_slopes<const W: usize>(&self, room: &mut Room<W>) {
        for (follower, into) in self.followers.iter().zip(&mut room.slopes) {
            *into = slopes(follower, &room.rows);
        }
    }

    /// Corrects what later stages read of a stage, after the newest coefficients of the variables were found.
    #[inline(always)]
    pub fn remember<const W: usize>(
        &self,
        room: &mut Room<W>,
        stage: usize,
        coefficients: &[Pack<W>],
    ) {
        for (at, follower) in self.followers.iter().enumerate() {
            let order = stage + follower.lead;
            let place = &mut room.rows[follower.row.at(order)];
            if let Rule::Variable { index, derivative } = follower.rule {
                let new = coefficients[(order + derivative) * self.n_variables + index]
                    * self.rising[derivative * self.stride + order];
                room.moved[at] = new - *place;
                *place = new;
                continue;
            }
            let [first, second] = &room.slopes[at];
            let change = match follower.operands {
                [Some(a), Some(b)] => *first * room.moved[a] + *second * room.moved[b],
                [Some(a), None] => *first * room.moved[a],
                [None, Some(b)] => *second * room.moved[b],
                [None, None] => Pack::ZERO,
            };
            *place += change;
            room.moved[at] = change;
        }
    }
}

/// What a register holds at order 0; `None` for what runs side by side do not do.
fn value_of(operation: Operation, rows: &[Row], n_variables: usize) -> Option<Value> {
    let at = |register: Register| rows[register.index()].first;
    Some(match operation {
        Operation::Constant(_) | Operation::Input(Slot::Parameter(_)) => Value::Known,
        Operation::Input(Slot::Variable { index, order }) => Value::Variable(
            order as usize * n_variables + index as usize,
            rising(0, order as usize),
        ),
        Operation::Input(Slot::Time) => Value::Time,
        Operation::Unary(UnaryOp::Neg, a) => Value::Neg(at(a)),
        Operation::Unary(UnaryOp::Sqrt, a) => Value::Root(at(a)),
        Operation::Unary(op, a) => Value::Unary(op, at(a)),
        Operation::Binary(BinaryOp::Add, a, b) => Value::Add(at(a), at(b)),
        Operation::Binary(BinaryOp::Sub, a, b) => Value::Sub(at(a), at(b)),
        Operation::Binary(BinaryOp::Mul, a, b) => Value::Mul(at(a), at(b)),
        Operation::Binary(BinaryOp::Div, a, b) => Value::Div(at(a), at(b)),
        Operation::Reciprocal(a) => Value::Reciprocal(at(a)),
        _ => return None,
    })
}

fn rule_of(recurrence: Recurrence, rows: &[Row]) -> Option<Rule> {
    let at = |register: Register| rows[register.index()];
    Some(match recurrence {
        Recurrence::Resting => Rule::Resting,
        Recurrence::Input(Slot::Variable { index, order }) => Rule::Variable {
            index: index as usize,
            derivative: order as usize,
        },
        Recurrence::Input(Slot::Time) => Rule::Time,
        Recurrence::Input(_) => return None,
        Recurrence::Neg(a) => Rule::Neg(at(a)),
        Recurrence::Add(a, b) => Rule::Add(at(a), at(b)),
        Recurrence::Sub(a, b) => Rule::Sub(at(a), at(b)),
        Recurrence::Scale(a, b) => Rule::Scale(at(a), at(b)),
        Recurrence::Over(a, b) => Rule::Over(at(a), at(b)),
        Recurrence::Product(a, b) => Rule::Product(at(a), at(b)),
        Recurrence::Square(a) => Rule::Square(at(a)),
        Recurrence::Quotient(a, b) => Rule::Quotient(at(a), at(b)),
        Recurrence::Reciprocal(a) => Rule::Reciprocal(at(a)),
        Recurrence::Root(a) => Rule::Root(at(a)),
        Recurrence::SlopeProduct { x, slope, negative } => {
            Rule::SlopeProduct(at(x), at(slope), negative)
        }
        Recurrence::SlopeQuotient { x, divisor, factor } => {
            Rule::SlopeQuotient(at(x), at(divisor), factor)
        }
    })
}

fn followers(tape: &Tape, rows: &[Row]) -> Option<Vec<Follower>> {
    let remembered = tape.remembered();
    let place = |operand: Option<Register>| {
        operand.and_then(|operand| remembered.binary_search(&operand).ok())
    };
    let follower = |&register: &Register| {
        let recurrence = tape.recurrence(register)?;
        let is_double = match recurrence {
            Recurrence::Add(a, b)
            | Recurrence::Sub(a, b)
            | Recurrence::Product(a, b)
            | Recurrence::Quotient(a, b) => a == b,
            _ => false,
        };
        Some(Follower {
            row: rows[register.index()],
            lead: tape.lead(register),
            rule: rule_of(recurrence, rows)?,
            operands: tape.top_operands(register).map(place),
            is_double,
        })
    };
    remembered.iter().map(follower).collect()
}

#[inline(always)]
fn value<const W: usize>(
    value: Value,
    rows: &[Pack<W>],
    time: &Pack<W>,
    coefficients: &[Pack<W>],
) -> Pack<W> {
    match value {
        Value::Known => Pack::ZERO,
        Value::Variable(place, factor) => coefficients[place] * factor,
        Value::Time => *time,
        Value::Neg(a) => -rows[a],
        Value::Add(a, b) => rows[a] + rows[b],
        Value::Sub(a, b) => rows[a] - rows[b],
        Value::Mul(a, b) => rows[a] * rows[b],
        Value::Div(a, b) => (rows[a] / rows[b].clean()).clean(),
        Value::Reciprocal(a) => (Pack::all(1.0) / rows[a].clean()).clean(),
        Value::Root(a) => rows[a].map(f64::sqrt),
        Value::Unary(op, a) => rows[a].clean().map(|x| op.apply(x)).clean(),
    }
}

/// Sum of a_i b_(k-i) for i in first..=last.
#[inline(always)]
fn dot<const W: usize>(
    rows: &[Pack<W>],
    (a, b): (usize, usize),
    (first, last): (usize, usize),
    k: usize,
) -> Pack<W> {
    let mut sum = Pack::ZERO;
    if last < first {
        return sum;
    }
    let left = &rows[a + first..=a + last];
    let right = &rows[b + k - last..=b + k - first];
    // Iterators of pairs are functions of their own, compiled without the instructions of their caller.
    let n_terms = left.len();
    let right = &right[..n_terms];
    for i in 0..n_terms {
        let (x, y) = (&left[i], &right[n_terms - 1 - i]);
        for lane in 0..W {
            sum.0[lane] += x.0[lane] * y.0[lane];
        }
    }
    sum
}

/// Sum of i a_i b_(k-i) for i in 1..=last.
#[inline(always)]
fn slope_dot<const W: usize>(
    rows: &[Pack<W>],
    (a, b): (usize, usize),
    last: usize,
    k: usize,
) -> Pack<W> {
    let mut sum = Pack::ZERO;
    let left = &rows[a + 1..=a + last];
    let right = &rows[b + k - last..b + k];
    let n_terms = left.len();
    let right = &right[..n_terms];
    for i in 0..n_terms {
        let (x, y) = (&left[i], &right[n_terms - 1 - i]);
        let weight = (i + 1) as f64;
        for lane in 0..W {
            sum.0[lane] += weight * x.0[lane] * y.0[lane];
        }
    }
    sum
}

/// Twice the half sum of the squares, and the one in the middle.
#[inline(always)]
fn squares<const W: usize>(rows: &[Pack<W>], a: usize, first: usize, k: usize) -> Pack<W> {
    let sum = dot(rows, (a, a), (first, (k - 1) / 2), k) * 2.0;
    if k.is_multiple_of(2) {
        let middle = rows[a + k / 2];
        sum + middle * middle
    } else {
        sum
    }
}

/// Coefficient k >= 1 of a register.
#[inline(always)]
fn coefficient<const W: usize>(
    program: &Program,
    step: &Step,
    k: usize,
    rows: &[Pack<W>],
    coefficients: &[Pack<W>],
) -> Pack<W> {
    let own = step.row.first;
    match step.rule {
        Rule::Resting => Pack::ZERO,
        Rule::Variable { index, derivative } => {
            let factor = program.rising[derivative * program.stride + k];
            coefficients[(k + derivative) * program.n_variables + index] * factor
        }
        Rule::Time => Pack::all(f64::from(u8::from(k == 1))),
        Rule::Neg(a) => -rows[a.at(k)],
        Rule::Add(a, b) => rows[a.at(k)] + rows[b.at(k)],
        Rule::Sub(a, b) => rows[a.at(k)] - rows[b.at(k)],
        Rule::Scale(a, b) => rows[a.at(k)] * rows[b.first],
        Rule::Over(a, b) => rows[a.at(k)] / rows[b.first],
        Rule::Product(a, b) => dot(rows, (a.first, b.first), (0, k), k),
        Rule::Square(a) => squares(rows, a.first, 0, k),
        Rule::Quotient(a, b) => {
            (rows[a.at(k)] - dot(rows, (b.first, own), (1, k), k)) / rows[b.first]
        }
        Rule::Reciprocal(a) => (Pack::ZERO - dot(rows, (a.first, own), (1, k), k)) / rows[a.first],
        Rule::Root(a) => (rows[a.at(k)] - squares(rows, own, 1, k)) / (rows[own] * 2.0),
        Rule::SlopeProduct(x, slope, negative) => {
            let sum = slope_dot(rows, (x.first, slope.first), k, k);
            let signed = if negative { -sum } else { sum };
            signed / Pack::all(k as f64)
        }
        Rule::SlopeQuotient(x, divisor, factor) => {
            let rest = slope_dot(rows, (own, divisor.first), k - 1, k) / Pack::all(k as f64);
            (rows[x.at(k)] * factor - rest) / rows[divisor.first]
        }
    }
}

/// How the newest coefficient of a register follows those of its operands, from values alone.
#[inline(always)]
fn slopes<const W: usize>(follower: &Follower, rows: &[Pack<W>]) -> [Pack<W>; 2] {
    let one = Pack::all(1.0);
    let twice = follower.is_double;
    let own = rows[follower.row.first];
    match follower.rule {
        Rule::Resting | Rule::Variable { .. } | Rule::Time => [Pack::ZERO; 2],
        Rule::Neg(_) => [-one, Pack::ZERO],
        Rule::Add(..) => [if twice { Pack::all(2.0) } else { one }, one],
        Rule::Sub(..) => [if twice { Pack::ZERO } else { one }, -one],
        Rule::Scale(_, b) => [rows[b.first], Pack::ZERO],
        Rule::Over(_, b) => [one / rows[b.first], Pack::ZERO],
        Rule::Product(a, _) if twice => [rows[a.first] + rows[a.first], Pack::ZERO],
        Rule::Product(a, b) => [rows[b.first], rows[a.first]],
        Rule::Square(a) => [rows[a.first] * 2.0, Pack::ZERO],
        Rule::Quotient(_, b) if twice => [(one - own) / rows[b.first], Pack::ZERO],
        Rule::Quotient(_, b) => [one / rows[b.first], -own / rows[b.first]],
        Rule::Reciprocal(a) => [-own / rows[a.first], Pack::ZERO],
        Rule::Root(_) => [one / (own * 2.0), Pack::ZERO],
        Rule::SlopeProduct(_, slope, negative) => {
            let slope = rows[slope.first];
            [if negative { -slope } else { slope }, Pack::ZERO]
        }
        Rule::SlopeQuotient(_, divisor, factor) => {
            [Pack::all(factor) / rows[divisor.first], Pack::ZERO]
        }
    }
}
