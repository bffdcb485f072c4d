//! Gröbner bases.
//!
//! A basis is computed modulo primes of 28 bits with matrices (F4), reconstructed over the rationals, and checked. Time
//! and memory are limited by a [`Budget`]; a computation that reaches a limit says so and never returns a part of a basis.
//! `docs/theory/algebra.md` has the formulas.

mod arithmetic;
mod budget;
mod f4;
mod fglm;
mod hilbert;
mod modular;
mod order;
mod table;

pub use budget::{Budget, OutOfBudget};
pub use order::Order;

use crate::integer;
use crate::monomial::Monomial;
use crate::polynomial::Polynomial;
use arithmetic::{Integers, Lanes, Prime, primes};
use dashu_int::IBig;
use dashu_ratio::RBig;
use f4::{Element, Residue, Trace, learn, replay};
use modular::Images;
use order::{Ring, Words, coprime, divides, product, quotient};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use table::Table;

/// What is known about a basis: section 5 of `docs/theory/algebra.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certificate {
    /// Proved: every element is a combination of the generators by a computation with whole numbers, every generator
    /// reduces to zero, and so does every S-polynomial.
    Exact,
    /// Every generator reduces to zero, and it is the basis modulo `primes` different primes, modulo one of them by a
    /// computation of its own. Wrong only if that prime is one of finitely many unlucky ones.
    Modular {
        /// How many primes of 28 bits.
        primes: usize,
    },
}

impl Certificate {
    /// The weaker of two.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact, other) => other,
            (Self::Modular { primes }, Self::Exact) => Self::Modular { primes },
            (Self::Modular { primes: a }, Self::Modular { primes: b }) => {
                Self::Modular { primes: a.min(b) }
            }
        }
    }
}

/// A reduced Gröbner basis over the rationals: elements primitive over Z, the leading coefficients in the order of the
/// basis positive, lowest leading monomial first.
#[derive(Clone, Debug)]
pub struct Basis {
    ring: Ring,
    elements: Vec<Polynomial>,
    /// The same in the order of the basis, highest term first.
    sorted: Vec<Vec<(Words, IBig)>>,
    certificate: Certificate,
}

/// The reduced Gröbner basis of the ideal that polynomials generate.
pub fn basis(
    generators: &[Polynomial],
    order: &Order,
    budget: &Budget,
) -> Result<Basis, OutOfBudget> {
    let order = order.completed(generators);
    if order.is_graded() {
        return direct(generators, &order, true, budget);
    }
    // Degrevlex first: it is the order in which bases are small; then convert.
    let degrevlex = Order::degrevlex(order.variables());
    let graded = direct(generators, &degrevlex, true, budget)?;
    graded.in_order(&order, budget)
}

/// The same in degrevlex order, but an exact result has not passed Buchberger's criterion: it generates the ideal, and that it
/// is a basis is checked by [`Basis::is_basis`].
pub(crate) fn unchecked_basis(
    generators: &[Polynomial],
    variables: &[usize],
    budget: &Budget,
) -> Result<Basis, OutOfBudget> {
    let order = Order::degrevlex(variables.iter().copied()).completed(generators);
    direct(generators, &order, false, budget)
}

/// Polynomials with their monomials in a table, highest first.
fn entered(
    polynomials: &[Polynomial],
    ring: &Ring,
    table: &mut Table,
) -> Result<Vec<Element<IBig>>, OutOfBudget> {
    let mut entered = Vec::new();
    for f in polynomials {
        let terms = ring.sorted(f).ok_or(OutOfBudget::Degree)?;
        entered.push(Element {
            monomials: terms.iter().map(|term| table.insert(&term.0)).collect(),
            numbers: terms.into_iter().map(|term| term.1.clone()).collect(),
        });
    }
    Ok(entered)
}

/// How large whole numbers may become in a proof: eight times the size of the result, and a good deal for small ones. The
/// result 1 tells nothing of the numbers in between, and its proof is worth most.
fn bits_of_proof(is_unit: bool, n_primes: usize) -> usize {
    match is_unit {
        true => 1 << 16,
        false => 2048 + 8 * 28 * n_primes,
    }
}

/// The basis by F4 in the order itself.
fn direct(
    generators: &[Polynomial],
    order: &Order,
    is_checked: bool,
    budget: &Budget,
) -> Result<Basis, OutOfBudget> {
    let generators: Vec<Polynomial> = generators
        .iter()
        .filter(|f| !f.is_zero())
        .map(Polynomial::primitive_over_integers)
        .collect();
    let ring = Ring::new(order);
    let mut table = Table::new(ring.clone());
    let input = entered(&generators, &ring, &mut table)?;
    let mut usable = primes().filter(|&p| {
        let mut numbers = input.iter().flat_map(|f| &f.numbers);
        numbers.all(|number| p.image(number) != 0)
    });
    let mut next_prime = || {
        usable
            .next()
            .expect("all but finitely many primes are usable")
    };
    loop {
        let prime = next_prime();
        let (first, trace) = learn(&mut table, &images(&input, prime), prime, budget)?;
        let supports: Vec<Vec<u32>> = first.iter().map(|f| f.monomials.clone()).collect();
        let Some((numbers, n_primes)) =
            reconstruct(&input, &first, prime, &trace, &mut next_prime, budget)?
        else {
            continue;
        };
        let assemble = |numbers: Vec<Vec<IBig>>, table: &Table, certificate: Certificate| {
            let elements = supports.iter().zip(numbers).map(|(support, numbers)| {
                let words = support.iter().map(|&id| Words::from(table.words(id)));
                words.zip(numbers).filter(|t| !t.1.is_zero()).collect()
            });
            Basis::new(ring.clone(), elements.collect(), certificate)
        };
        // The proof with whole numbers, where it is affordable.
        if trace.work.saturating_mul(n_primes as u64) <= budget.exact {
            let whole = input.iter().map(|f| f.numbers.clone()).collect();
            let is_unit = supports.len() == 1 && supports[0].len() == 1;
            let integers = Integers {
                most_bits: bits_of_proof(is_unit, n_primes),
            };
            if let Some(exact) = replay(&trace, whole, &integers, budget)? {
                let candidate = assemble(exact, &table, Certificate::Exact);
                let is_right = candidate.generates(&generators, budget)?
                    && (!is_checked || candidate.is_basis(budget)?);
                if is_right {
                    return Ok(candidate);
                }
                continue;
            }
        }
        // A computation of its own modulo a fresh prime has to give the same.
        let fresh = next_prime();
        let (again, _) = learn(&mut table, &images(&input, fresh), fresh, budget)?;
        let certificate = Certificate::Modular {
            primes: n_primes + 1,
        };
        let candidate = assemble(numbers, &table, certificate);
        if candidate.has_image(&again, &table, fresh)
            && candidate.contains_all_within(&generators, budget)?
        {
            return Ok(candidate);
        }
    }
}

fn images(input: &[Element<IBig>], prime: Prime) -> Vec<Element<Residue>> {
    let image = |f: &Element<IBig>| Element {
        monomials: f.monomials.clone(),
        numbers: f
            .numbers
            .iter()
            .map(|number| [prime.image(number)])
            .collect(),
    };
    input.iter().map(image).collect()
}

/// Primes whose images are computed side by side.
const N_LANES: usize = 4;

/// The coefficients over Z from as many primes as it takes, and their number; none when the trace does not fit.
#[allow(clippy::type_complexity, reason = "coefficients and a count")]
fn reconstruct(
    input: &[Element<IBig>],
    first: &[Element<Residue>],
    prime: Prime,
    trace: &Trace,
    next_prime: &mut impl FnMut() -> Prime,
    budget: &Budget,
) -> Result<Option<(Vec<Vec<IBig>>, usize)>, OutOfBudget> {
    let mut all = Images::default();
    let of_lane = |f: &Vec<Residue>| f.iter().map(|number| number[0]).collect();
    all.push(prime, first.iter().map(|f| of_lane(&f.numbers)).collect());
    let mut misfits = 0;
    loop {
        budget.check_memory(all.bytes())?;
        if let Some(numbers) = all.reconstruct() {
            return Ok(Some((numbers, all.len())));
        }
        let lanes: [Prime; N_LANES] = std::array::from_fn(|_| next_prime());
        let image = |f: &Element<IBig>| {
            let numbers = f.numbers.iter();
            numbers
                .map(|number| lanes.map(|prime| prime.image(number)))
                .collect()
        };
        let generators = input.iter().map(image).collect();
        match replay(trace, generators, &Lanes(lanes), budget)? {
            Some(numbers) => {
                for (lane, &prime) in lanes.iter().enumerate() {
                    let of_lane = |f: &Vec<[u32; N_LANES]>| f.iter().map(|n| n[lane]).collect();
                    all.push(prime, numbers.iter().map(of_lane).collect());
                }
            }
            None if misfits >= 2 => return Ok(None),
            None => misfits += 1,
        }
    }
}

/// A remainder modulo an ideal: `polynomial / denominator`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remainder {
    /// No term is a multiple of a leading monomial of the basis.
    pub polynomial: Polynomial,
    /// A positive number.
    pub denominator: IBig,
}

impl Basis {
    fn new(ring: Ring, sorted: Vec<Vec<(Words, IBig)>>, certificate: Certificate) -> Self {
        let elements = sorted
            .iter()
            .map(|terms| {
                let terms = terms.iter();
                Polynomial::from_terms(terms.map(|(w, c)| (ring.monomial(w), c.clone())))
            })
            .collect();
        Self {
            ring,
            elements,
            sorted,
            certificate,
        }
    }

    /// The elements, lowest leading monomial first.
    pub fn elements(&self) -> &[Polynomial] {
        &self.elements
    }

    /// The order, with all variables of the ring.
    pub fn order(&self) -> &Order {
        self.ring.order()
    }

    /// What is known about it.
    pub fn certificate(&self) -> Certificate {
        self.certificate
    }

    /// The same, known only as well as what it was made from.
    pub(crate) fn made_from(mut self, certificate: Certificate) -> Self {
        self.certificate = self.certificate.and(certificate);
        self
    }

    /// Whether the ideal is everything: no point, over whatever field, satisfies it.
    pub fn is_unit(&self) -> bool {
        self.elements.first().is_some_and(Polynomial::is_constant)
    }

    /// The leading monomials, ascending.
    pub fn leading_monomials(&self) -> Vec<Monomial> {
        let leads = self.sorted.iter().map(|terms| &terms[0].0);
        leads.map(|words| self.ring.monomial(words)).collect()
    }

    /// The remainder of a polynomial: the one representative of its class without multiples of leading monomials.
    ///
    /// # Panics
    ///
    /// When a degree exceeds 32767.
    pub fn normal_form(&self, f: &Polynomial) -> Remainder {
        let unlimited = Budget::default();
        self.normal_form_within(f, &unlimited)
            .expect("without a deadline and with small degrees there is a remainder")
    }

    /// The remainder of a polynomial, within a time.
    pub fn normal_form_within(
        &self,
        f: &Polynomial,
        budget: &Budget,
    ) -> Result<Remainder, OutOfBudget> {
        let ring = if self.knows_variables_of(f) {
            None
        } else {
            Some(Ring::new(&self.order().completed(std::slice::from_ref(f))))
        };
        match ring {
            None => self.remainder(f, budget),
            // A ring with more variables has the same basis.
            Some(ring) => {
                let sorted = self.elements.iter().map(|g| {
                    let terms = ring.sorted(g).expect("degrees of a basis are small");
                    terms.into_iter().map(|(w, c)| (w, c.clone())).collect()
                });
                Self::new(ring.clone(), sorted.collect(), self.certificate).remainder(f, budget)
            }
        }
    }

    fn knows_variables_of(&self, f: &Polynomial) -> bool {
        let known: Vec<usize> = self.order().variables().collect();
        f.variables()
            .iter()
            .all(|variable| known.contains(variable))
    }

    fn remainder(&self, f: &Polynomial, budget: &Budget) -> Result<Remainder, OutOfBudget> {
        let terms = self.ring.sorted(f).ok_or(OutOfBudget::Degree)?;
        let terms = terms.into_iter().map(|(words, c)| (words, c.clone()));
        let (rest, denominator) = self.reduce(terms.collect(), budget)?;
        let rest = rest.into_iter();
        Ok(Remainder {
            polynomial: Polynomial::from_terms(rest.map(|(w, c)| (self.ring.monomial(&w), c))),
            denominator,
        })
    }

    /// Reduces a sum of terms completely; the result is to be divided by the number, which is positive.
    #[allow(clippy::type_complexity, reason = "terms and a number")]
    fn reduce(
        &self,
        mut open: BTreeMap<Words, IBig>,
        budget: &Budget,
    ) -> Result<(Vec<(Words, IBig)>, IBig), OutOfBudget> {
        /// So many scalings are made before common divisors are looked for.
        const BATCH: usize = 8;
        let mut denominator = IBig::ONE;
        let mut done: Vec<(Words, IBig)> = Vec::new();
        let mut n_scaled = 0;
        while let Some((words, coefficient)) = open.pop_last() {
            let divisor = self.sorted.iter().find(|g| divides(&g[0].0, &words));
            let Some(divisor) = divisor else {
                done.push((words, coefficient));
                continue;
            };
            budget.check_time()?;
            let lead = &divisor[0].1;
            let common = integer::gcd(&coefficient, lead);
            // Leading coefficients are positive, and so is the scale.
            let (factor, scale) = (coefficient / &common, lead / &common);
            if !scale.is_one() {
                n_scaled += 1;
                denominator *= &scale;
                let done = done.iter_mut().map(|term| &mut term.1);
                for value in open.values_mut().chain(done) {
                    *value *= &scale;
                }
            }
            let shift = quotient(&words, &divisor[0].0);
            for (tail, number) in &divisor[1..] {
                let at = product(tail, &shift).ok_or(OutOfBudget::Degree)?;
                match open.entry(at) {
                    Entry::Vacant(entry) => {
                        entry.insert(-(number * &factor));
                    }
                    Entry::Occupied(mut entry) => {
                        *entry.get_mut() -= number * &factor;
                        if entry.get().is_zero() {
                            entry.remove();
                        }
                    }
                }
            }
            if n_scaled == BATCH {
                n_scaled = 0;
                lower(&mut open, &mut done, &mut denominator);
            }
        }
        lower(&mut open, &mut done, &mut denominator);
        Ok((done, denominator))
    }

    /// Whether a polynomial lies in the ideal.
    pub fn contains(&self, f: &Polynomial) -> bool {
        self.normal_form(f).polynomial.is_zero()
    }

    /// Whether another ideal is part of this one.
    pub fn contains_all(&self, generators: &[Polynomial]) -> bool {
        generators.iter().all(|f| self.contains(f))
    }

    /// The same within a time.
    pub fn contains_all_within(
        &self,
        generators: &[Polynomial],
        budget: &Budget,
    ) -> Result<bool, OutOfBudget> {
        for f in generators {
            if !self.normal_form_within(f, budget)?.polynomial.is_zero() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether generators reduce to zero; nothing else can be if one is everything.
    fn generates(&self, generators: &[Polynomial], budget: &Budget) -> Result<bool, OutOfBudget> {
        Ok(self.is_unit() || self.contains_all_within(generators, budget)?)
    }

    /// Whether S-polynomials reduce to zero: Buchberger's criterion, with pairs left out by his two criteria.
    pub(crate) fn is_basis(&self, budget: &Budget) -> Result<bool, OutOfBudget> {
        let leads: Vec<&Words> = self.sorted.iter().map(|g| &g[0].0).collect();
        for j in 0..leads.len() {
            for i in 0..j {
                if coprime(&self.ring, leads[i], leads[j]) {
                    continue;
                }
                let lcm = self.ring.lcm(leads[i], leads[j]);
                // Chain criterion: a third divisor makes the pair superfluous if both its pairs come before this one,
                // in the order of pairs by their lcm and then by number.
                let comes_before = |a: usize, b: usize| {
                    let other = self.ring.lcm(leads[a], leads[b]);
                    (other != lcm) || (a.max(b), a.min(b)) < (j, i)
                };
                let superfluous = (0..leads.len()).any(|k| {
                    k != i
                        && k != j
                        && divides(leads[k], &lcm)
                        && comes_before(i, k)
                        && comes_before(k, j)
                });
                if superfluous {
                    continue;
                }
                budget.check_time()?;
                let (f, g) = (&self.sorted[i], &self.sorted[j]);
                let common = integer::gcd(&f[0].1, &g[0].1);
                let mut sum: BTreeMap<Words, IBig> = BTreeMap::new();
                for (h, factor) in [(f, &g[0].1 / &common), (g, -(&f[0].1 / &common))] {
                    let shift = quotient(&lcm, &h[0].0);
                    for (words, number) in &h[1..] {
                        let words = product(words, &shift).ok_or(OutOfBudget::Degree)?;
                        *sum.entry(words).or_insert(IBig::ZERO) += number * &factor;
                    }
                }
                sum.retain(|_, number| !number.is_zero());
                if !self.reduce(sum, budget)?.0.is_empty() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether the elements modulo a prime are those of a basis modulo this prime.
    fn has_image(&self, image: &[Element<Residue>], table: &Table, prime: Prime) -> bool {
        let same = |f: &Vec<(Words, IBig)>, g: &Element<Residue>| {
            let lead = prime.image(&f[0].1);
            let mut terms = f
                .iter()
                .map(|(words, number)| (words.as_slice(), prime.image(number)))
                .filter(|term| term.1 != 0);
            let theirs = g.monomials.iter().zip(&g.numbers);
            let mut theirs = theirs.filter(|term| *term.1 != [0]);
            theirs.all(|(&id, &[number])| {
                terms.next() == Some((table.words(id), prime.mul(number, lead)))
            }) && terms.next().is_none()
        };
        self.sorted.len() == image.len() && self.sorted.iter().zip(image).all(|(f, g)| same(f, g))
    }

    /// The basis of the same ideal in another order: by linear algebra if there are finitely many points (FGLM),
    /// otherwise by a computation that starts from this basis.
    pub fn in_order(&self, order: &Order, budget: &Budget) -> Result<Self, OutOfBudget> {
        let order = order.completed(&self.elements);
        if order == *self.order() {
            return Ok(self.clone());
        }
        let converted = match self.standard_monomials() {
            Some(standard) if !standard.is_empty() => {
                fglm::convert(self, &standard, &order, budget)?
            }
            _ => None,
        };
        let result = match converted {
            Some(result) => result,
            None => direct(&self.elements, &order, true, budget)?,
        };
        Ok(result.made_from(self.certificate))
    }

    /// The matrix of multiplication by a polynomial, if there are finitely many points: column j holds the coordinates
    /// of f b_j in the basis b of [`standard_monomials`](Self::standard_monomials).
    pub fn multiplication_matrix(&self, f: &Polynomial) -> Option<Vec<Vec<RBig>>> {
        let standard = self.standard_monomials()?;
        let rows: BTreeMap<&Monomial, usize> = standard.iter().zip(0..).collect();
        let mut matrix = vec![vec![RBig::ZERO; standard.len()]; standard.len()];
        for (column, monomial) in standard.iter().enumerate() {
            let image = self.normal_form(&f.times_term(monomial, &IBig::ONE));
            for (monomial, number) in image.polynomial.terms() {
                let (_, denominator) = image.denominator.clone().into_parts();
                matrix[*rows.get(monomial)?][column] =
                    RBig::from_parts(number.clone(), denominator);
            }
        }
        Some(matrix)
    }
}

/// Divides terms and their denominator by what they have in common.
fn lower(open: &mut BTreeMap<Words, IBig>, done: &mut [(Words, IBig)], denominator: &mut IBig) {
    let numbers = done.iter().map(|term| &term.1).chain(open.values());
    let common = integer::gcd_of_all(std::iter::once(&*denominator).chain(numbers));
    if common.is_one() {
        return;
    }
    *denominator /= &common;
    let done = done.iter_mut().map(|term| &mut term.1);
    for value in open.values_mut().chain(done) {
        *value = &*value / &common;
    }
}
