//! Real configurations as inequalities between parameters: section 9 of `docs/theory/configurations.md`.

use daelight_algebra::real::{Root, Univariate};
use daelight_algebra::{Budget, IBig, Monomial, OutOfBudget, Polynomial, RBig, gcd, integer};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Bits to which levels are known: more than a double has, for levels above 1e-12.
pub(crate) const LEVEL_BITS: usize = 96;

/// Where there are at least so many real configurations, for all numbers that occur in open cells.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The polynomials that are bounded.
    pub quantities: Vec<Quantity>,
    /// The conditions, for fewer configurations first.
    pub list: Vec<CountCondition>,
}

/// A polynomial in the parameters with values that bound regions.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The polynomial.
    pub polynomial: Polynomial,
    /// The values, ascending.
    pub levels: Vec<AlgebraicNumber>,
}

/// A real algebraic number.
#[derive(Clone, Debug)]
pub struct AlgebraicNumber {
    minimal: Univariate,
    root: Root,
}

/// A condition for real configurations: one of several lists of inequalities, all of which hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountCondition {
    /// There are at least so many.
    pub at_least: usize,
    /// The lists.
    pub any_of: Vec<Vec<Between>>,
}

/// Strict bounds of a quantity, as numbers of its levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Between {
    /// The quantity, by number.
    pub quantity: usize,
    /// The level below, if there is a bound.
    pub above: Option<usize>,
    /// The level above, if there is a bound.
    pub below: Option<usize>,
}

impl AlgebraicNumber {
    /// The number, rounded.
    pub fn value(&self) -> f64 {
        match self.rational() {
            Some(value) => integer::rational_to_f64(&value),
            None => self.root.enclosure(2 * LEVEL_BITS).middle(),
        }
    }

    /// A polynomial in variable 0 of which this is a root, irreducible where that could be proved.
    pub fn minimal(&self) -> Polynomial {
        self.minimal.to_polynomial()
    }

    fn rational(&self) -> Option<RBig> {
        let [constant, slope] = self.minimal.coefficients() else {
            return None;
        };
        Some(-RBig::from(constant.clone()) / RBig::from(slope.clone()))
    }

    /// How a value compares with the level.
    fn compare(&self, value: &RBig, budget: &Budget) -> Result<Ordering, OutOfBudget> {
        if let Some(level) = self.rational() {
            return Ok(value.cmp(&level));
        }
        let is_root = (self.minimal.to_polynomial()).evaluate(|_| value.clone()) == RBig::ZERO;
        let mut root = self.root.clone();
        let mut bits = LEVEL_BITS;
        loop {
            let [lower, upper] = root.ends();
            if *value < lower || *value == lower && !is_root {
                return Ok(Ordering::Less);
            }
            if *value > upper || *value == upper && !is_root {
                return Ok(Ordering::Greater);
            }
            // The interval holds one root.
            if is_root {
                return Ok(Ordering::Equal);
            }
            bits *= 2;
            root.refine(&self.minimal, bits, budget)?;
        }
    }
}

impl Quantity {
    /// How many levels are below the value at a point; `None` on a level.
    fn place(
        &self,
        value: &impl Fn(usize) -> RBig,
        budget: &Budget,
    ) -> Result<Option<usize>, OutOfBudget> {
        let value = self.polynomial.evaluate(value);
        for (place, level) in self.levels.iter().enumerate() {
            match level.compare(&value, budget)? {
                Ordering::Less => return Ok(Some(place)),
                Ordering::Equal => return Ok(None),
                Ordering::Greater => {}
            }
        }
        Ok(Some(self.levels.len()))
    }
}

impl Conditions {
    /// The number of real configurations at values of the parameters; `None` on a bound.
    pub fn count_at(
        &self,
        value: impl Fn(usize) -> RBig,
        budget: &Budget,
    ) -> Result<Option<usize>, OutOfBudget> {
        let mut places = Vec::with_capacity(self.quantities.len());
        for quantity in &self.quantities {
            let Some(place) = quantity.place(&value, budget)? else {
                return Ok(None);
            };
            places.push(place);
        }
        let holds = |bounds: &Between| {
            let place = places[bounds.quantity];
            bounds.above.is_none_or(|level| level < place)
                && bounds.below.is_none_or(|level| place <= level)
        };
        let mut reached = self.list.iter().rev();
        let reached =
            reached.find(|condition| condition.any_of.iter().any(|all| all.iter().all(holds)));
        Ok(Some(reached.map_or(0, |condition| condition.at_least)))
    }

    /// Conditions from a point of each open cell with its number of configurations. `None` if cells with different numbers
    /// lie on the same sides of all levels.
    pub(crate) fn new(
        mut quantities: Vec<Quantity>,
        cells: &[(impl Fn(usize) -> RBig, usize)],
        budget: &Budget,
    ) -> Result<Option<Self>, OutOfBudget> {
        let mut counts: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for (value, count) in cells {
            let mut places = Vec::with_capacity(quantities.len());
            for quantity in &quantities {
                places.push(quantity.place(value, budget)?.unwrap_or(0));
            }
            if *counts.entry(places).or_insert(*count) != *count {
                return Ok(None);
            }
        }
        let n_places: Vec<usize> = quantities.iter().map(|q| q.levels.len() + 1).collect();
        let mut numbers: Vec<usize> = counts.values().copied().filter(|n| *n > 0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut list = Vec::new();
        for at_least in numbers {
            let is_inside = |places: &&Vec<usize>| counts[*places] >= at_least;
            let (inside, outside): (Vec<&Vec<usize>>, Vec<&Vec<usize>>) =
                counts.keys().partition(is_inside);
            let boxes = cover(&inside, &outside, &n_places, budget)?;
            let any_of = boxes.iter().map(|found| found.bounds(&n_places)).collect();
            list.push(CountCondition { at_least, any_of });
        }
        retain_used(&mut quantities, &mut list);
        Ok(Some(Self { quantities, list }))
    }
}

/// Drops levels and quantities that no condition uses.
fn retain_used(quantities: &mut Vec<Quantity>, list: &mut [CountCondition]) {
    let used: Vec<Between> = (list.iter())
        .flat_map(|condition| condition.any_of.iter().flatten().copied())
        .collect();
    let mut names: Vec<Option<(usize, Vec<usize>)>> = Vec::new();
    let mut kept = Vec::new();
    for (number, quantity) in quantities.drain(..).enumerate() {
        let is_used = |level: &usize| {
            let mut of_this = used.iter().filter(|bounds| bounds.quantity == number);
            of_this.any(|bounds| [bounds.above, bounds.below].contains(&Some(*level)))
        };
        let levels: Vec<usize> = (0..quantity.levels.len()).filter(is_used).collect();
        if levels.is_empty() {
            names.push(None);
            continue;
        }
        let polynomial = quantity.polynomial;
        let known = levels.iter().map(|&level| quantity.levels[level].clone());
        names.push(Some((kept.len(), levels.clone())));
        kept.push(Quantity {
            polynomial,
            levels: known.collect(),
        });
    }
    *quantities = kept;
    let bounds = list.iter_mut().flat_map(|c| c.any_of.iter_mut().flatten());
    for bounds in bounds {
        if let Some((number, levels)) = &names[bounds.quantity] {
            let renamed = |level: usize| levels.iter().position(|&l| l == level);
            bounds.quantity = *number;
            bounds.above = bounds.above.and_then(renamed);
            bounds.below = bounds.below.and_then(renamed);
        }
    }
}

/// A product of ranges of places, both ends included.
#[derive(Clone, PartialEq, Eq)]
struct Ranges(Vec<[usize; 2]>);

impl Ranges {
    fn holds(&self, places: &[usize]) -> bool {
        (self.0.iter().zip(places)).all(|([low, high], place)| (low..=high).contains(&place))
    }

    fn bounds(&self, n_places: &[usize]) -> Vec<Between> {
        let all = self.0.iter().zip(n_places).enumerate();
        all.map(|(quantity, (&[low, high], &n))| Between {
            quantity,
            above: low.checked_sub(1),
            below: (high + 1 < n).then_some(high),
        })
        .filter(|bounds| bounds.above.is_some() || bounds.below.is_some())
        .collect()
    }

    /// Moves one end outwards as far as no place outside is reached.
    fn extend(&mut self, side: (usize, bool), outside: &[&Vec<usize>], n_places: &[usize]) {
        let (quantity, is_upper) = side;
        loop {
            let mut next = self.clone();
            let [low, high] = &mut next.0[quantity];
            match is_upper {
                true if *high + 1 < n_places[quantity] => *high += 1,
                false if *low > 0 => *low -= 1,
                _ => return,
            }
            if outside.iter().any(|places| next.holds(places)) {
                return;
            }
            *self = next;
        }
    }
}

/// Few large products of ranges that hold all places inside and none outside: in each step the one that holds most of what is
/// left, and of these one with few bounds.
fn cover(
    inside: &[&Vec<usize>],
    outside: &[&Vec<usize>],
    n_places: &[usize],
    budget: &Budget,
) -> Result<Vec<Ranges>, OutOfBudget> {
    let sides: Vec<(usize, bool)> = (0..n_places.len())
        .flat_map(|quantity| [(quantity, false), (quantity, true)])
        .collect();
    let mut left: Vec<&Vec<usize>> = inside.to_vec();
    let mut found: Vec<Ranges> = Vec::new();
    while !left.is_empty() {
        let mut best: Option<(usize, usize, Ranges)> = None;
        for places in &left {
            budget.check_time()?;
            for first in 0..2 * sides.len() {
                let mut order = sides.clone();
                order.rotate_left(first % sides.len());
                if first >= sides.len() {
                    order.reverse();
                }
                let mut ranges = Ranges(places.iter().map(|&place| [place; 2]).collect());
                for side in order {
                    ranges.extend(side, outside, n_places);
                }
                let n_held = left.iter().filter(|places| ranges.holds(places)).count();
                let n_bounds: usize = (ranges.bounds(n_places).iter())
                    .map(|b| usize::from(b.above.is_some()) + usize::from(b.below.is_some()))
                    .sum();
                let is_better = |(held, bounds, _): &(usize, usize, Ranges)| {
                    (n_held, *bounds) > (*held, n_bounds)
                };
                if best.as_ref().is_none_or(is_better) {
                    best = Some((n_held, n_bounds, ranges));
                }
            }
        }
        let Some((_, _, ranges)) = best else { break };
        left.retain(|places| !ranges.holds(places));
        found.push(ranges);
    }
    // What others hold together is not needed.
    let mut at = 0;
    while at < found.len() {
        let others = |places: &&Vec<usize>| {
            let mut others = found.iter().enumerate().filter(|(i, _)| *i != at);
            others.any(|(_, ranges)| ranges.holds(places))
        };
        if inside.iter().all(others) {
            found.remove(at);
        } else {
            at += 1;
        }
    }
    Ok(found)
}

/// Polynomials as levels of quantities: polynomials of the same quantity share it.
pub(crate) fn quantities(
    polynomials: &[Polynomial],
    parameters: &[usize],
    budget: &Budget,
) -> Result<Vec<Quantity>, OutOfBudget> {
    let mut grouped: Vec<(Polynomial, Vec<Univariate>)> = Vec::new();
    for p in polynomials.iter().filter(|p| !p.is_constant()) {
        let (inner, outer) = composition(p, parameters);
        match grouped.iter_mut().find(|(known, _)| *known == inner) {
            Some((_, list)) if list.contains(&outer) => {}
            Some((_, list)) => list.push(outer),
            None => grouped.push((inner, vec![outer])),
        }
    }
    let mut result = Vec::new();
    for (polynomial, list) in grouped {
        // One interval for each root of all of them together.
        let product = list.iter().fold(Polynomial::one(), |product, f| {
            let f = f.to_polynomial();
            let shared = gcd(&product, &f);
            &product * &f.divide_exactly(&shared).unwrap_or(f)
        });
        let product = Univariate::from_polynomial(&product);
        let mut levels = Vec::new();
        for mut root in product.real_roots(budget)? {
            root.refine(&product, LEVEL_BITS, budget)?;
            let own = list.iter().find(|f| root.is_root_of(f));
            let minimal = own.unwrap_or(&product).clone();
            levels.push(AlgebraicNumber { minimal, root });
        }
        result.push(Quantity { polynomial, levels });
    }
    Ok(result)
}

/// p as q(h) with a polynomial h in the parameters and q in one variable: h and q, of as high a degree as is found. If
/// grad p = g (u, v) with g the greatest common divisor, grad h is (u, v) up to a factor.
fn composition(p: &Polynomial, parameters: &[usize]) -> (Polynomial, Univariate) {
    let variables = p.variables();
    if let [only] = variables[..] {
        let outer = p.renamed(|v| if v == only { 0 } else { v });
        return (
            Polynomial::variable(only),
            Univariate::from_polynomial(&outer),
        );
    }
    let itself = || {
        let identity = Univariate::new(vec![IBig::ZERO, IBig::ONE]);
        (p.clone(), identity)
    };
    let &[x, y] = parameters else { return itself() };
    let (p_x, p_y) = (p.derivative(x), p.derivative(y));
    let shared = gcd(&p_x, &p_y);
    let (Some(u), Some(v)) = (p_x.divide_exactly(&shared), p_y.divide_exactly(&shared)) else {
        return itself();
    };
    if u.derivative(y) != v.derivative(x) {
        return itself();
    }
    // The integral of u along x, and of v along y at x = 0, without denominators.
    let scale: IBig = (1..=p.total_degree()).map(IBig::from).product();
    let integral = |f: &Polynomial, variable: usize| {
        Polynomial::from_terms(f.terms().iter().map(|(monomial, number)| {
            let power = IBig::from(monomial.exponent(variable) + 1);
            let monomial = monomial.times(&Monomial::power(variable, 1));
            (monomial, number * &scale / power)
        }))
    };
    let inner = &integral(&u, x) + &integral(&v.at(x, &IBig::ZERO), y);
    let mut inner = inner.primitive_over_integers();
    if integer::is_negative(&inner.leading_number()) {
        inner = -&inner;
    }
    match outer(p, &inner) {
        Some(outer) if outer.degree() > 1 || inner.total_degree() == 1 => (inner, outer),
        _ => itself(),
    }
}

/// q with p = q(h) up to a factor, from the leading terms.
fn outer(p: &Polynomial, inner: &Polynomial) -> Option<Univariate> {
    let degree = p.total_degree() / inner.total_degree();
    let mut rest = p.clone();
    let mut coefficients = vec![IBig::ZERO; degree as usize + 1];
    for power in (0..=degree).rev() {
        let part = inner.pow(power);
        let (lead, number) = part.leading_term()?.clone();
        let of_lead = rest.terms().iter().find(|(monomial, _)| *monomial == lead);
        let own = of_lead.map_or(IBig::ZERO, |(_, own)| own.clone());
        rest = &rest.scaled(&number) - &part.scaled(&own);
        for known in &mut coefficients {
            *known *= &number;
        }
        coefficients[power as usize] = own;
    }
    let outer = Univariate::new(coefficients).to_polynomial();
    rest.is_zero()
        .then(|| Univariate::from_polynomial(&outer.primitive_over_integers()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_of_one_quantity_are_its_levels() {
        let [x, y] = [0, 1].map(Polynomial::variable);
        let circle = &x.pow(2) + &y.pow(2);
        let line = &x.scaled(&IBig::from(2)) - &y;
        let number = |n: i64| Polynomial::constant(n);
        // (h - 1)(h - 4) and h^2 - 3 with h = x^2 + y^2; 8 l^3 - 1 with l = 2 x - y; and x y - 1, which is no such thing.
        let polynomials = [
            &(&circle - &number(1)) * &(&circle - &number(4)),
            &circle.pow(2) - &number(3),
            &line.pow(3).scaled(&IBig::from(8)) - &number(1),
            &(&x * &y) - &number(1),
        ];
        let found = quantities(&polynomials, &[0, 1], &Budget::default()).expect("no limit");
        let told: Vec<(Polynomial, Vec<f64>)> = (found.into_iter())
            .map(|q| {
                (
                    q.polynomial,
                    q.levels.iter().map(AlgebraicNumber::value).collect(),
                )
            })
            .collect();
        let root = 3f64.sqrt();
        assert_eq!(told[0], (circle, vec![-root, 1.0, root, 4.0]));
        assert_eq!(told[1], (line, vec![0.5]));
        assert_eq!(told[2], (polynomials[3].clone(), vec![0.0]));
    }
}
