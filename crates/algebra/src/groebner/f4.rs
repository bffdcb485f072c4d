//! Gröbner bases by matrices (Faugère's F4), learned modulo one prime and repeated modulo others.
//!
//! [`learn`] runs the algorithm modulo a prime and writes down which multiples of which elements were reduced, without
//! those that became zero (Traverso 1988). [`replay`] repeats these eliminations with other coefficients: modulo another
//! prime, or with whole numbers. Section 3 of `docs/theory/algebra.md`.

use super::arithmetic::{Arithmetic, Prime31};
use super::budget::{Budget, OutOfBudget};
use super::table::{Id, Table};
use std::collections::BTreeMap;

/// A polynomial: monomials, highest first, and as many coefficients.
#[derive(Clone)]
pub(crate) struct Element<N> {
    pub(crate) monomials: Vec<Id>,
    pub(crate) numbers: Vec<N>,
}

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

/// Reduces the rows of a plan by its pivots and by each other.
fn eliminate<A: Arithmetic>(
    arithmetic: &A,
    plan: &Plan,
    elements: &[impl AsRef<[A::Number]>],
    budget: &Budget,
    work: &mut u64,
) -> Result<Vec<Reduced<A::Number>>, OutOfBudget> {
    const NONE: u32 = u32::MAX;
    // The pivot of each column: one of the plan, or, counted after those, a row that was reduced before.
    let mut pivot_of = vec![NONE; plan.n_columns];
    for (at, pivot) in plan.pivots.iter().enumerate() {
        pivot_of[pivot.columns[0] as usize] = at as u32;
    }
    let mut reduced: Vec<Reduced<A::Number>> = Vec::new();
    let mut dense = vec![arithmetic.zero(); plan.n_columns];
    let mut clear = |dense: &mut [A::Slot],
                     start: usize,
                     pivot_of: &[u32],
                     reduced: &[Reduced<A::Number>]|
     -> (Vec<u32>, Vec<A::Slot>) {
        let (mut columns, mut slots) = (Vec::new(), Vec::new());
        for column in start..dense.len() {
            if arithmetic.is_zero(&dense[column]) {
                continue;
            }
            let pivot = pivot_of[column] as usize;
            if pivot == NONE as usize {
                continue;
            }
            let (pivot_columns, numbers) = match plan.pivots.get(pivot) {
                Some(row) => (&row.columns, elements[row.element].as_ref()),
                None => {
                    let row = &reduced[pivot - plan.pivots.len()];
                    (&row.columns, row.numbers.as_slice())
                }
            };
            *work += numbers.len() as u64;
            arithmetic.eliminate(dense, pivot_columns, numbers);
        }
        for (column, slot) in (0..).zip(dense.iter_mut()) {
            if !arithmetic.is_zero(slot) {
                columns.push(column);
                slots.push(std::mem::replace(slot, arithmetic.zero()));
            } else {
                *slot = arithmetic.zero();
            }
        }
        (columns, slots)
    };
    for (at, row) in plan.rows.iter().enumerate() {
        budget.check_time()?;
        for (&column, number) in row.columns.iter().zip(elements[row.element].as_ref()) {
            dense[column as usize] = arithmetic.load(number);
        }
        let start = row.columns[0] as usize + usize::from(plan.tails_only);
        let (columns, slots) = clear(&mut dense, start, &pivot_of, &reduced);
        if columns.is_empty() {
            continue;
        }
        if !plan.tails_only {
            pivot_of[columns[0] as usize] = (plan.pivots.len() + reduced.len()) as u32;
        }
        reduced.push(Reduced {
            row: at,
            columns,
            numbers: arithmetic.store(slots),
        });
    }
    if plan.tails_only {
        return Ok(reduced);
    }
    // Lowest first: the tails of those that follow are cleared by rows that are final.
    let mut lowest_first: Vec<usize> = (0..reduced.len()).collect();
    lowest_first.sort_unstable_by_key(|&at| std::cmp::Reverse(reduced[at].columns[0]));
    for &at in &lowest_first {
        budget.check_time()?;
        let row = &reduced[at];
        if row.columns[1..]
            .iter()
            .all(|&column| pivot_of[column as usize] == NONE)
        {
            continue;
        }
        for (&column, number) in row.columns.iter().zip(&row.numbers) {
            dense[column as usize] = arithmetic.load(number);
        }
        let start = row.columns[0] as usize + 1;
        let (columns, slots) = clear(&mut dense, start, &pivot_of, &reduced);
        reduced[at].columns = columns;
        reduced[at].numbers = arithmetic.store(slots);
    }
    let mut ordered: Vec<Option<Reduced<A::Number>>> = reduced.into_iter().map(Some).collect();
    Ok(lowest_first
        .into_iter()
        .filter_map(|at| ordered[at].take())
        .collect())
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
    elements: Vec<Element<u32>>,
    /// Elements that no other's leading monomial divides; the others are not needed in the basis.
    is_active: Vec<bool>,
    pairs: Vec<Pair>,
    budget: &'a Budget,
    /// Columns stored in plans.
    stored: usize,
}

impl AsRef<[u32]> for Element<u32> {
    fn as_ref(&self) -> &[u32] {
        &self.numbers
    }
}

impl State<'_> {
    fn lead(&self, element: usize) -> Id {
        self.elements[element].monomials[0]
    }

    /// Takes an element in and updates the pairs by the criteria of Gebauer and Möller (1988).
    fn add(&mut self, element: Element<u32>) {
        let new = self.elements.len();
        let lead = element.monomials[0];
        self.elements.push(element);
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
        let leads: Vec<Id> = (0..new)
            .map(|old| self.elements[old].monomials[0])
            .collect();
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
            elements.sort_by_key(|&element| self.elements[element].monomials.len());
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
        let n = self.elements[element].monomials.len();
        (0..n)
            .map(|term| {
                let monomial = self.elements[element].monomials[term];
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
        let active: Vec<usize> = (0..self.elements.len())
            .filter(|&element| self.is_active[element])
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
            let reducer = active
                .iter()
                .find(|&&element| self.table.divides(self.lead(element), monomial));
            if let Some(&element) = reducer {
                let multiplier = self.table.quotient(monomial, self.lead(element));
                let monomials = self.multiple(element, multiplier);
                marks.set(monomial, Marks::PIVOT);
                open.extend(&monomials[1..]);
                n_terms += monomials.len();
                pivot_rows.push((element, monomials));
            }
        }
        self.check_memory(n_terms)?;
        let mut columns = marks.seen;
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
            pivots: placed(pivot_rows),
            rows: placed(plain_rows),
            tails_only,
            results: Vec::new(),
        };
        self.stored += n_terms;
        Ok((plan, columns))
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
pub(crate) fn learn(
    table: &mut Table,
    generators: Vec<Element<u32>>,
    prime: Prime31,
    budget: &Budget,
) -> Result<(Vec<Element<u32>>, Trace), OutOfBudget> {
    let n_generators = generators.len();
    let one = {
        let words = vec![0; table.ring().width()];
        table.insert(&words)
    };
    let mut state = State {
        table,
        is_active: vec![false; n_generators],
        elements: generators,
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
        let reduced = eliminate(&prime, &plan, &state.elements, budget, &mut trace.work)?;
        let mut is_needed = vec![false; plan.rows.len()];
        for row in &reduced {
            is_needed[row.row] = true;
        }
        let mut needed = is_needed.into_iter();
        plan.rows.retain(|_| needed.next().unwrap_or(false));
        for row in reduced {
            plan.results.push(row.columns.clone());
            let monomials = row.columns.iter().map(|&c| columns[c as usize]);
            let element = Element {
                monomials: monomials.collect(),
                numbers: row.numbers,
            };
            state.stored += 3 * element.numbers.len();
            state.add(element);
        }
        if !plan.rows.is_empty() {
            trace.plans.push(plan);
        }
        if state.pairs.is_empty() {
            break;
        }
        (pivots, rows) = state.select();
    }
    let mut minimal: Vec<usize> = (0..state.elements.len())
        .filter(|&element| state.is_active[element])
        .collect();
    minimal.sort_by(|&a, &b| state.table.compare(state.lead(a), state.lead(b)));
    let rows = minimal.iter().map(|&element| (element, one)).collect();
    let (mut plan, columns) = state.plan(Vec::new(), rows, true)?;
    let reduced = eliminate(&prime, &plan, &state.elements, budget, &mut trace.work)?;
    plan.results = reduced.iter().map(|row| row.columns.clone()).collect();
    trace.plans.push(plan);
    let basis = reduced
        .into_iter()
        .map(|row| Element {
            monomials: row.columns.iter().map(|&c| columns[c as usize]).collect(),
            numbers: row.numbers,
        })
        .collect();
    if state.table.has_overflown() {
        return Err(OutOfBudget::Degree);
    }
    Ok((basis, trace))
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
        let reduced = eliminate(arithmetic, plan, &elements, budget, &mut work)?;
        if reduced.len() != plan.results.len() {
            return Ok(None);
        }
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
