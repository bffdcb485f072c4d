//! Gröbner bases by matrices (Faugère's F4), learned modulo one prime and repeated modulo others.
//!
//! [`learn`] runs the algorithm modulo a prime and writes down which multiples of which elements were reduced, without
//! those that became zero (Traverso 1988). [`replay`] repeats these eliminations with other coefficients: modulo another
//! prime, or with whole numbers. Section 3 of `docs/theory/algebra.md`.

use super::arithmetic::{Arithmetic, Lanes, Prime};
use super::budget::{Budget, OutOfBudget};
use super::table::{Id, Table};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZero;

/// A polynomial: monomials, highest first, and as many coefficients.
#[derive(Clone)]
pub(crate) struct Element<N> {
    pub(crate) monomials: Vec<Id>,
    pub(crate) numbers: Vec<N>,
}

/// A number modulo one prime.
pub(crate) type Residue = [u32; 1];

/// A multiple of an element: the columns of its terms.
struct Row {
    element: usize,
    columns: Vec<u32>,
}

/// One matrix and what its elimination leaves.
struct Plan {
    n_columns: usize,
    /// Rows with different first columns, used to clear these.
    pivots: Vec<Row>,
    /// Rows to be reduced.
    rows: Vec<Row>,
    /// Whether the first term of each row stays, so that only tails are reduced.
    tails_only: bool,
    /// The columns of each row that is left, lowest monomials first; of each row in turn for tails.
    results: Vec<Vec<u32>>,
}

/// The eliminations of a computation, whatever the coefficients.
pub(crate) struct Trace {
    plans: Vec<Plan>,
    /// Products of coefficients modulo one prime.
    pub(crate) work: u64,
}

/// A row after elimination.
struct Reduced<N> {
    /// Which row of the plan it was.
    row: usize,
    columns: Vec<u32>,
    numbers: Vec<N>,
}

/// A row that is being reduced, and the pivots at hand.
struct Elimination<'a, A: Arithmetic> {
    arithmetic: &'a A,
    plan: &'a Plan,
    elements: &'a [Vec<A::Number>],
    /// The pivot of each column: one of the plan, or, counted after those, a row that was reduced before.
    pivot_of: Vec<Option<NonZero<u32>>>,
    reduced: Vec<Reduced<A::Number>>,
    dense: Vec<A::Slot>,
    budget: &'a Budget,
    /// Products of coefficients.
    work: u64,
}

impl<A: Arithmetic> Elimination<'_, A> {
    fn set_pivot(&mut self, column: u32, pivot: usize) {
        self.pivot_of[column as usize] = NonZero::new(pivot as u32 + 1);
    }

    fn load(&mut self, columns: &[u32], numbers: &[A::Number]) {
        for (&column, number) in columns.iter().zip(numbers) {
            self.dense[column as usize] = self.arithmetic.load(number);
        }
    }

    /// Reduces the columns after `kept` of a row; what is left of it, if anything.
    #[allow(clippy::type_complexity, reason = "columns and coefficients")]
    fn reduce(
        &mut self,
        kept: Option<u32>,
        first: u32,
    ) -> Result<Option<(Vec<u32>, Vec<A::Number>)>, Misfit> {
        let mut columns: Vec<u32> = kept.into_iter().collect();
        let mut n_since = 0;
        for column in first as usize..self.dense.len() {
            if self.arithmetic.is_zero(&mut self.dense[column]) {
                continue;
            }
            let Some(pivot) = self.pivot_of[column] else {
                columns.push(column as u32);
                continue;
            };
            let pivot = pivot.get() as usize - 1;
            let (pivot_columns, numbers) = match self.plan.pivots.get(pivot) {
                Some(row) => (&row.columns, &self.elements[row.element]),
                None => {
                    let row = &self.reduced[pivot - self.plan.pivots.len()];
                    (&row.columns, &row.numbers)
                }
            };
            self.work += numbers.len() as u64;
            self.arithmetic
                .eliminate(&mut self.dense, pivot_columns, numbers);
            n_since += 1;
            if n_since == A::BATCH {
                n_since = 0;
                self.budget.check_time().map_err(|_| Misfit)?;
                if !self.arithmetic.settle(&mut self.dense) {
                    return Err(Misfit);
                }
            }
        }
        if columns.is_empty() {
            return Ok(None);
        }
        let slots = columns.iter().map(|&column| {
            let zero = self.arithmetic.zero();
            std::mem::replace(&mut self.dense[column as usize], zero)
        });
        let numbers = self.arithmetic.store(slots.collect()).ok_or(Misfit)?;
        Ok(Some((columns, numbers)))
    }

    /// Clears the rows that were reduced of the leading columns of each other, and puts the highest row first.
    fn clear_tails(&mut self) -> Result<Result<(), Misfit>, OutOfBudget> {
        // Lowest first: the tails of those that follow are cleared by rows that are final.
        let mut lowest_first: Vec<usize> = (0..self.reduced.len()).collect();
        lowest_first.sort_unstable_by_key(|&at| Reverse(self.reduced[at].columns[0]));
        for at in lowest_first {
            self.budget.check_time()?;
            let row = &self.reduced[at];
            let mut tail = row.columns[1..].iter();
            if tail.all(|&column| self.pivot_of[column as usize].is_none()) {
                continue;
            }
            let first = row.columns[0];
            let row = std::mem::take(&mut self.reduced[at].columns);
            let numbers = std::mem::take(&mut self.reduced[at].numbers);
            self.load(&row, &numbers);
            match self.reduce(Some(first), first + 1) {
                Ok(Some((columns, numbers))) => {
                    self.reduced[at].columns = columns;
                    self.reduced[at].numbers = numbers;
                }
                _ => {
                    self.budget.check_time()?;
                    return Ok(Err(Misfit));
                }
            }
        }
        self.reduced.sort_by_key(|row| Reverse(row.columns[0]));
        Ok(Ok(()))
    }
}

/// A row does not have the terms that it should have, its numbers are too large, or the time is over.
struct Misfit;

/// What is left of the rows of a plan.
type Rows<N> = Result<Vec<Reduced<N>>, Misfit>;

/// Reduces the rows of a plan by its pivots and by each other.
fn eliminate<A: Arithmetic>(
    arithmetic: &A,
    plan: &Plan,
    elements: &[Vec<A::Number>],
    budget: &Budget,
    work: &mut u64,
) -> Result<Rows<A::Number>, OutOfBudget> {
    let mut elimination = Elimination {
        arithmetic,
        plan,
        elements,
        pivot_of: vec![None; plan.n_columns],
        reduced: Vec::new(),
        dense: vec![arithmetic.zero(); plan.n_columns],
        budget,
        work: 0,
    };
    for (at, pivot) in plan.pivots.iter().enumerate() {
        elimination.set_pivot(pivot.columns[0], at);
    }
    for (at, row) in plan.rows.iter().enumerate() {
        budget.check_time()?;
        elimination.load(&row.columns, &elements[row.element]);
        let first = row.columns[0];
        let left = if plan.tails_only {
            elimination.reduce(Some(first), first + 1)
        } else {
            elimination.reduce(None, first)
        };
        match left {
            Err(misfit) => {
                budget.check_time()?;
                return Ok(Err(misfit));
            }
            Ok(None) => {}
            Ok(Some((columns, numbers))) => {
                if !plan.tails_only {
                    let pivot = plan.pivots.len() + elimination.reduced.len();
                    elimination.set_pivot(columns[0], pivot);
                }
                elimination.reduced.push(Reduced {
                    row: at,
                    columns,
                    numbers,
                });
            }
        }
    }
    if !plan.tails_only
        && let Err(misfit) = elimination.clear_tails()?
    {
        return Ok(Err(misfit));
    }
    *work += elimination.work;
    Ok(Ok(elimination.reduced))
}

/// Two elements whose leading terms are to be cancelled.
struct Pair {
    elements: [usize; 2],
    lcm: Id,
    degree: u32,
}

/// The elements found so far and the pairs still to be treated.
struct State<'a> {
    table: &'a mut Table,
    /// The monomials of each element, highest first.
    monomials: Vec<Vec<Id>>,
    numbers: Vec<Vec<Residue>>,
    /// Elements that no other's leading monomial divides; the others are not needed in the basis.
    is_active: Vec<bool>,
    pairs: Vec<Pair>,
    budget: &'a Budget,
    /// Columns stored in plans.
    stored: usize,
}

impl State<'_> {
    fn lead(&self, element: usize) -> Id {
        self.monomials[element][0]
    }

    /// Takes an element in and updates the pairs by the criteria of Gebauer and Möller (1988).
    fn add(&mut self, element: Element<Residue>) {
        let new = self.monomials.len();
        let lead = element.monomials[0];
        self.monomials.push(element.monomials);
        self.numbers.push(element.numbers);
        self.is_active.push(true);
        let mut candidates = Vec::new();
        for old in 0..new {
            if self.is_active[old] {
                let lcm = self.table.lcm(self.lead(old), lead);
                candidates.push((old, lcm));
            }
        }
        // An old pair is superfluous if the new leading monomial divides its lcm and both new pairs are smaller.
        let pairs = std::mem::take(&mut self.pairs);
        for pair in pairs {
            let superfluous = self.table.divides(lead, pair.lcm)
                && pair.elements.iter().all(|&old| {
                    let other = self.lead(old);
                    self.table.lcm(other, lead) != pair.lcm
                });
            if !superfluous {
                self.pairs.push(pair);
            }
        }
        // Of the new pairs only those with minimal lcm, one for each, are needed; none if one of them is coprime.
        let table = &*self.table;
        let leads: Vec<Id> = (0..new).map(|old| self.monomials[old][0]).collect();
        let mut by_lcm: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
        for &(old, lcm) in &candidates {
            by_lcm.entry(lcm).or_default().push(old);
        }
        let lcms: Vec<Id> = by_lcm.keys().copied().collect();
        for (&lcm, olds) in &by_lcm {
            let is_minimal = lcms
                .iter()
                .all(|&other| other == lcm || !table.divides(other, lcm));
            if is_minimal && !olds.iter().any(|&old| table.coprime(leads[old], lead)) {
                self.pairs.push(Pair {
                    elements: [olds[0], new],
                    lcm,
                    degree: table.degree(lcm),
                });
            }
        }
        // Elements of one matrix come without regard to divisibility: the new one may be the superfluous one.
        let is_multiple =
            (0..new).any(|old| self.is_active[old] && table.divides(leads[old], lead));
        self.is_active[new] = !is_multiple;
        for (old, active) in self.is_active[..new].iter_mut().enumerate() {
            *active &= is_multiple || !table.divides(lead, leads[old]);
        }
        if table.degree(lead) == 0 {
            self.pairs.clear();
        }
    }

    /// Takes out the pairs of lowest degree: multiples of elements that serve as pivots, and those to be reduced.
    #[allow(clippy::type_complexity, reason = "two lists of (element, multiplier)")]
    fn select(&mut self) -> (Vec<(usize, Id)>, Vec<(usize, Id)>) {
        let lowest = self.pairs.iter().map(|pair| pair.degree).min();
        let mut by_lcm: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
        self.pairs.retain(|pair| {
            let selected = Some(pair.degree) == lowest;
            if selected {
                by_lcm.entry(pair.lcm).or_default().extend(pair.elements);
            }
            !selected
        });
        let (mut pivots, mut rows) = (Vec::new(), Vec::new());
        for (lcm, mut elements) in by_lcm {
            elements.sort_unstable();
            elements.dedup();
            elements.sort_by_key(|&element| self.monomials[element].len());
            for (at, element) in elements.into_iter().enumerate() {
                let multiplier = self.table.quotient(lcm, self.lead(element));
                if at == 0 {
                    pivots.push((element, multiplier));
                } else {
                    rows.push((element, multiplier));
                }
            }
        }
        (pivots, rows)
    }

    fn multiple(&mut self, element: usize, multiplier: Id) -> Vec<Id> {
        let n = self.monomials[element].len();
        (0..n)
            .map(|term| {
                let monomial = self.monomials[element][term];
                self.table.product(monomial, multiplier)
            })
            .collect()
    }

    /// The matrix of some multiples of elements, with a pivot for every monomial that has one, and its columns.
    fn plan(
        &mut self,
        pivots: Vec<(usize, Id)>,
        rows: Vec<(usize, Id)>,
        tails_only: bool,
    ) -> Result<(Plan, Vec<Id>), OutOfBudget> {
        let mut marks = Marks::default();
        let mut open: Vec<Id> = Vec::new();
        let mut pivot_rows = Vec::new();
        let mut n_terms = 0;
        for (element, multiplier) in pivots {
            let monomials = self.multiple(element, multiplier);
            marks.set(monomials[0], Marks::PIVOT);
            open.extend(&monomials[1..]);
            n_terms += monomials.len();
            pivot_rows.push((element, monomials));
        }
        let mut plain_rows = Vec::new();
        for (element, multiplier) in rows {
            let monomials = self.multiple(element, multiplier);
            if tails_only {
                marks.set(monomials[0], Marks::COLUMN);
                open.extend(&monomials[1..]);
            } else {
                open.extend(&monomials);
            }
            n_terms += monomials.len();
            plain_rows.push((element, monomials));
        }
        let active: Vec<(u64, usize)> = (0..self.monomials.len())
            .filter(|&element| self.is_active[element])
            .map(|element| (self.table.mask(self.lead(element)), element))
            .collect();
        let mut n_visited = 0usize;
        while let Some(monomial) = open.pop() {
            if !marks.set(monomial, Marks::TREATED) || marks.has(monomial, Marks::PIVOT) {
                continue;
            }
            n_visited += 1;
            if n_visited.is_multiple_of(256) {
                self.budget.check_time()?;
                self.check_memory(n_terms)?;
            }
            let absent = !self.table.mask(monomial);
            let reducer = active.iter().find(|&&(mask, element)| {
                mask & absent == 0 && self.table.divides(self.lead(element), monomial)
            });
            if let Some(&(_, element)) = reducer {
                let multiplier = self.table.quotient(monomial, self.lead(element));
                let monomials = self.multiple(element, multiplier);
                marks.set(monomial, Marks::PIVOT);
                open.extend(&monomials[1..]);
                n_terms += monomials.len();
                pivot_rows.push((element, monomials));
            }
        }
        self.check_memory(n_terms)?;
        self.stored += n_terms;
        Ok(self.arranged(pivot_rows, plain_rows, marks.seen, tails_only))
    }

    /// Rows with a column for each of their monomials, highest first.
    fn arranged(
        &self,
        pivots: Vec<(usize, Vec<Id>)>,
        rows: Vec<(usize, Vec<Id>)>,
        mut columns: Vec<Id>,
        tails_only: bool,
    ) -> (Plan, Vec<Id>) {
        columns.sort_unstable_by(|&a, &b| self.table.compare(b, a));
        let mut column_of = vec![0; self.table.len()];
        for (column, &monomial) in (0..).zip(&columns) {
            column_of[monomial as usize] = column;
        }
        let placed = |rows: Vec<(usize, Vec<Id>)>| -> Vec<Row> {
            rows.into_iter()
                .map(|(element, monomials)| Row {
                    element,
                    columns: monomials.iter().map(|&m| column_of[m as usize]).collect(),
                })
                .collect()
        };
        let plan = Plan {
            n_columns: columns.len(),
            pivots: placed(pivots),
            rows: placed(rows),
            tails_only,
            results: Vec::new(),
        };
        (plan, columns)
    }

    fn check_memory(&self, n_terms: usize) -> Result<(), OutOfBudget> {
        if self.table.has_overflown() {
            return Err(OutOfBudget::Degree);
        }
        let monomials = self.table.len() * (2 * self.table.ring().width() + 28);
        self.budget
            .check_memory(monomials + 4 * (self.stored + 2 * n_terms))
    }
}

/// What is known of the monomials of a matrix.
#[derive(Default)]
struct Marks {
    marks: Vec<u8>,
    seen: Vec<Id>,
}

impl Marks {
    const COLUMN: u8 = 1;
    const TREATED: u8 = 2;
    const PIVOT: u8 = 4;

    fn has(&self, monomial: Id, mark: u8) -> bool {
        self.marks.get(monomial as usize).copied().unwrap_or(0) & mark != 0
    }

    /// Whether the mark is new.
    fn set(&mut self, monomial: Id, mark: u8) -> bool {
        let at = monomial as usize;
        if at >= self.marks.len() {
            self.marks.resize(at + 1, 0);
        }
        if self.marks[at] == 0 {
            self.seen.push(monomial);
        }
        let is_new = self.marks[at] & mark == 0;
        self.marks[at] |= mark | Self::COLUMN;
        is_new
    }
}

/// The reduced Gröbner basis modulo a prime, lowest leading monomial first, and the trace of its computation.
///
/// No coefficient of the generators may vanish modulo the prime.
pub(crate) fn learn(
    table: &mut Table,
    generators: &[Element<Residue>],
    prime: Prime,
    budget: &Budget,
) -> Result<(Vec<Element<Residue>>, Trace), OutOfBudget> {
    let lane = Lanes([prime]);
    let n_generators = generators.len();
    let one = table.insert(&vec![0; table.ring().width()]);
    let mut state = State {
        table,
        is_active: vec![false; n_generators],
        monomials: generators.iter().map(|f| f.monomials.clone()).collect(),
        numbers: generators.iter().map(|f| f.numbers.clone()).collect(),
        pairs: Vec::new(),
        budget,
        stored: 0,
    };
    let mut trace = Trace {
        plans: Vec::new(),
        work: 0,
    };
    // The first matrix has the generators as they are.
    let mut pivots = Vec::new();
    let mut rows: Vec<(usize, Id)> = (0..n_generators).map(|element| (element, one)).collect();
    loop {
        let (mut plan, columns) = state.plan(pivots, rows, false)?;
        let reduced = rows_of(eliminate(
            &lane,
            &plan,
            &state.numbers,
            budget,
            &mut trace.work,
        )?);
        let mut is_needed = vec![false; plan.rows.len()];
        for row in &reduced {
            is_needed[row.row] = true;
        }
        let mut needed = is_needed.into_iter();
        plan.rows.retain(|_| needed.next().unwrap_or(false));
        for row in reduced {
            plan.results.push(row.columns.clone());
            state.stored += 3 * row.columns.len();
            state.add(row.element(&columns));
        }
        if !plan.rows.is_empty() {
            trace.plans.push(plan);
        }
        if state.pairs.is_empty() {
            break;
        }
        (pivots, rows) = state.select();
    }
    let mut minimal: Vec<usize> = (0..state.monomials.len())
        .filter(|&element| state.is_active[element])
        .collect();
    minimal.sort_by(|&a, &b| state.table.compare(state.lead(a), state.lead(b)));
    let rows = minimal.iter().map(|&element| (element, one)).collect();
    let (mut plan, columns) = state.plan(Vec::new(), rows, true)?;
    let reduced = rows_of(eliminate(
        &lane,
        &plan,
        &state.numbers,
        budget,
        &mut trace.work,
    )?);
    plan.results = reduced.iter().map(|row| row.columns.clone()).collect();
    trace.plans.push(plan);
    if state.table.has_overflown() {
        return Err(OutOfBudget::Degree);
    }
    let basis = reduced.into_iter().map(|row| row.element(&columns));
    Ok((basis.collect(), trace))
}

/// With one prime the first coefficient of a row is the first that is not zero, so it can be made 1.
fn rows_of<N>(reduced: Rows<N>) -> Vec<Reduced<N>> {
    reduced.unwrap_or_else(|Misfit| unreachable!("a first coefficient is not zero"))
}

impl<N> Reduced<N> {
    fn element(self, columns: &[Id]) -> Element<N> {
        Element {
            monomials: self.columns.iter().map(|&c| columns[c as usize]).collect(),
            numbers: self.numbers,
        }
    }
}

/// The coefficients of the basis for other coefficients of the generators; none if some row does not have the terms
/// that the trace expects.
pub(crate) fn replay<A: Arithmetic>(
    trace: &Trace,
    generators: Vec<Vec<A::Number>>,
    arithmetic: &A,
    budget: &Budget,
) -> Result<Option<Vec<Vec<A::Number>>>, OutOfBudget> {
    let mut elements = generators;
    let mut work = 0;
    for plan in &trace.plans {
        let reduced = match eliminate(arithmetic, plan, &elements, budget, &mut work)? {
            Ok(reduced) if reduced.len() == plan.results.len() => reduced,
            _ => return Ok(None),
        };
        let mut results = Vec::with_capacity(reduced.len());
        for (row, expected) in reduced.into_iter().zip(&plan.results) {
            let mut columns = row.columns.iter().zip(row.numbers).peekable();
            let mut numbers = Vec::with_capacity(expected.len());
            for (at, column) in expected.iter().enumerate() {
                match columns.next_if(|(found, _)| *found == column) {
                    Some((_, number)) => numbers.push(number),
                    None if at == 0 => return Ok(None),
                    None => numbers.push(arithmetic.stored_zero()),
                }
            }
            if columns.next().is_some() {
                return Ok(None);
            }
            results.push(numbers);
        }
        if plan.tails_only {
            return Ok(Some(results));
        }
        elements.extend(results);
    }
    Ok(None)
}
