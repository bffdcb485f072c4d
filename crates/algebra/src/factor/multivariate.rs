//! Polynomials in several variables: evaluate all but one, factor, and lift (Wang 1978).

use crate::factor::lift::{Evaluation, Modulus, evaluate, lift_multivariate};
use crate::factor::univariate::{self, next_subset};
use crate::factor::{Search, factor_within};
use crate::gcd::primitive;
use crate::integer;
use crate::polynomial::Polynomial;
use crate::prime_field::prime_fields;
use dashu_int::IBig;

/// What became of a polynomial.
pub(super) enum Split {
    /// It is proved to be irreducible.
    Irreducible,
    /// Its irreducible factors.
    Irreducibles(Vec<Polynomial>),
    /// Factors that may fall apart further.
    Parts(Vec<Polynomial>),
    /// The budget ended.
    Unknown,
}

/// Points that are good for lifting among which the one with the fewest factors is taken.
const N_GOOD_POINTS: usize = 3;

/// Most factors of an image of which products of subsets are lifted.
const MOST_RECOMBINED: usize = 8;

/// A main variable with the factors of its leading coefficient.
struct Frame<'a> {
    f: &'a Polynomial,
    x: usize,
    others: Vec<usize>,
    lead_unit: IBig,
    lead_factors: Vec<(Polynomial, u32)>,
    search: &'a Search<'a>,
}

/// The factors at a point of the other variables.
struct Image {
    evaluations: Vec<Evaluation>,
    /// The content of the evaluated polynomial.
    content: IBig,
    factors: Vec<Polynomial>,
    /// For each factor of the leading coefficient a number that tells where it belongs.
    markers: Option<Vec<IBig>>,
}

/// Splits a squarefree polynomial in at least two variables that is primitive in each of them.
pub(super) fn split(f: &Polynomial, search: &Search) -> Split {
    let mut order = f.variables();
    let key = |v: usize| {
        let lead = f.leading_coefficient(v);
        (
            !lead.is_constant(),
            lead.n_terms() > 1,
            f.degree(v),
            lead.n_terms(),
        )
    };
    order.sort_by_key(|&v| key(v));
    // Every main variable is tried with a share of the points: another one can have simpler images.
    let share = search.budget.points.div_ceil(order.len().min(3)).max(4);
    for &x in order.iter().take(3) {
        let frame = Frame::new(f, x, search);
        match frame.split(share) {
            Split::Unknown => {}
            decided => return decided,
        }
    }
    Split::Unknown
}

impl<'a> Frame<'a> {
    fn new(f: &'a Polynomial, x: usize, search: &'a Search<'a>) -> Self {
        let lead = factor_within(&f.leading_coefficient(x), search);
        // Lifting goes from few to many powers: the products stay small for longest.
        let mut others: Vec<usize> = f.variables().into_iter().filter(|&v| v != x).collect();
        others.sort_by_key(|&v| std::cmp::Reverse(f.degree(v)));
        Self {
            f,
            x,
            others,
            lead_unit: lead.unit,
            search,
            lead_factors: lead
                .factors
                .into_iter()
                .map(|factor| (factor.polynomial, factor.multiplicity))
                .collect(),
        }
    }

    fn split(&self, n_points: usize) -> Split {
        let mut images: Vec<Image> = Vec::new();
        let mut n_lifted = 0;
        for attempt in 0..n_points {
            if self.search.work.is_spent() {
                break;
            }
            let Some(image) = self.image(attempt) else {
                continue;
            };
            if image.factors.len() == 1 {
                // A factor of positive degree in x would show, and f is primitive in x: (7).
                return Split::Irreducible;
            }
            images.push(image);
            if images.len() == N_GOOD_POINTS || attempt + 1 == n_points {
                images.sort_by_key(|image| {
                    std::cmp::Reverse((image.factors.len(), image.markers.is_none()))
                });
                let Some(best) = images.pop() else {
                    continue;
                };
                n_lifted += 1;
                if let Some(parts) = self.lift(&best, &singletons(best.factors.len())) {
                    return Split::Irreducibles(parts);
                }
                if n_lifted % 2 == 0
                    && let Some(parts) = self.lift_pairs(&best)
                {
                    return Split::Parts(parts);
                }
            }
        }
        Split::Unknown
    }

    /// Factors f at a point: small numbers first, since zeros keep the lifted polynomials sparse.
    fn image(&self, attempt: usize) -> Option<Image> {
        let range = 1 + 2 * attempt as u32;
        let evaluations: Vec<Evaluation> = self
            .others
            .iter()
            .map(|&variable| Evaluation {
                variable,
                value: IBig::from(self.search.random.borrow_mut().within(range)),
            })
            .collect();
        let value = evaluate(self.f, &evaluations);
        if value.degree(self.x) != self.f.degree(self.x) {
            return None;
        }
        let content = integer::abs(&value.integer_content());
        let u = value.primitive_over_integers();
        let field = prime_fields().next()?;
        let reduced = univariate::reduce(field, &u, self.x);
        if reduced.len() != usize::from(u.degree(self.x)) + 1 || !field.is_squarefree(&reduced) {
            return None;
        }
        let factors = univariate::factor(&u, self.x, self.search);
        if factors.iter().any(|(_, is_proved)| !is_proved) {
            return None;
        }
        let leads: Vec<IBig> = self
            .lead_factors
            .iter()
            .map(|(l, _)| {
                evaluate(l, &evaluations)
                    .as_constant()
                    .unwrap_or(IBig::ZERO)
            })
            .collect();
        let markers = self.markers(&leads, &content);
        Some(Image {
            evaluations,
            content,
            factors: factors.into_iter().map(|(g, _)| g).collect(),
            markers,
        })
    }

    /// For each factor of the leading coefficient the part of its value that is coprime to the content and to the
    /// earlier values; `None` when nothing is left of one (Wang's condition, (9)).
    fn markers(&self, leads: &[IBig], content: &IBig) -> Option<Vec<IBig>> {
        let mut markers = vec![content * integer::abs(&self.lead_unit)];
        for lead in leads {
            let mut rest = integer::abs(lead);
            for earlier in markers.iter().rev() {
                let mut common = integer::gcd(earlier, &rest);
                while !common.is_one() {
                    rest /= &common;
                    common = integer::gcd(&common, &rest);
                }
            }
            if rest.is_one() || rest.is_zero() {
                return None;
            }
            markers.push(rest);
        }
        markers.remove(0);
        Some(markers)
    }

    /// Lifts products of the image's factors, one for each group; the factors of f, if they come out.
    fn lift(&self, image: &Image, groups: &[Vec<usize>]) -> Option<Vec<Polynomial>> {
        let factors: Vec<Polynomial> = groups
            .iter()
            .map(|group| {
                group
                    .iter()
                    .fold(Polynomial::one(), |p, &i| &p * &image.factors[i])
            })
            .collect();
        let (target, leads) = self.normalised(image, &factors);
        if target.n_terms() > self.search.budget.terms {
            return None;
        }
        let degrees: usize = target
            .variables()
            .iter()
            .map(|&v| usize::from(target.degree(v)))
            .sum();
        // Gelfond: coefficients of a factor are below e^degrees times the height, (3).
        let full = target.height() << (3 * degrees / 2 + 2);
        let field = prime_fields().next()?;
        let mut previous = IBig::ZERO;
        for bound in [IBig::ONE, full] {
            let modulus = Modulus::above(field, &bound, &self.search.work);
            if modulus.value == previous {
                break;
            }
            let scaled = self.normalise(&factors, &leads, image, &modulus)?;
            let lifted = lift_multivariate(
                &target,
                self.x,
                &scaled,
                &leads,
                &image.evaluations,
                &modulus,
            );
            if let Some(parts) = lifted.and_then(|lifted| self.divide(&lifted)) {
                return Some(parts);
            }
            previous = modulus.value;
        }
        None
    }

    /// A multiple of f and the leading coefficients of the factors that it is to have.
    ///
    /// Where the leading coefficient cannot be distributed, every factor gets all of it, (10): larger, but always right.
    fn normalised(&self, image: &Image, factors: &[Polynomial]) -> (Polynomial, Vec<Polynomial>) {
        let n = factors.len() as u32;
        match self.leading_coefficients(image, factors) {
            Some(leads) => {
                // With |unit| l_i as leading coefficients, lift sign(unit) |unit|^(r-1) f.
                let unit = integer::abs(&self.lead_unit);
                let mut scale = unit.pow(factors.len() - 1);
                if integer::is_negative(&self.lead_unit) {
                    scale = -scale;
                }
                let leads = leads.iter().map(|l| l.scaled(&unit)).collect();
                (self.f.scaled(&scale), leads)
            }
            None => {
                let lead = self.f.leading_coefficient(self.x);
                let target = &lead.pow(n - 1) * self.f;
                (target, vec![lead; factors.len()])
            }
        }
    }

    /// The images with leading coefficients as they will be lifted, modulo the modulus.
    fn normalise(
        &self,
        factors: &[Polynomial],
        leads: &[Polynomial],
        image: &Image,
        modulus: &Modulus,
    ) -> Option<Vec<Polynomial>> {
        factors
            .iter()
            .zip(leads)
            .map(|(u, lead)| {
                let value = evaluate(lead, &image.evaluations).as_constant()?;
                if integer::remainder(&value, modulus.field.prime()) == 0 {
                    return None;
                }
                let scale = value * modulus.inverse(&u.leading_number());
                Some(modulus.reduce_all(&u.scaled(&scale)))
            })
            .collect()
    }

    /// The factors of f that lifted polynomials are multiples of, if all of them are.
    fn divide(&self, lifted: &[Polynomial]) -> Option<Vec<Polynomial>> {
        let mut rest = self.f.clone();
        let mut parts = Vec::new();
        for g in lifted {
            let part = primitive(g, self.x).primitive_over_integers();
            rest = rest.divide_exactly(&part)?;
            parts.push(part);
        }
        (rest.is_constant() && parts.iter().all(|p| p.degree(self.x) > 0)).then_some(parts)
    }

    /// Distributes the factors of the leading coefficient: l^k belongs to u exactly if its marker divides lc(u) times
    /// the content k times.
    fn leading_coefficients(
        &self,
        image: &Image,
        factors: &[Polynomial],
    ) -> Option<Vec<Polynomial>> {
        let markers = image.markers.as_ref()?;
        let mut used = vec![0; markers.len()];
        let leads: Vec<Polynomial> = factors
            .iter()
            .map(|u| {
                let mut rest = u.leading_number() * &image.content;
                let mut lead = Polynomial::one();
                for (j, marker) in markers.iter().enumerate().rev() {
                    while let Some(quotient) = integer::divide_exactly(&rest, marker) {
                        rest = quotient;
                        lead = &lead * &self.lead_factors[j].0;
                        used[j] += 1;
                    }
                }
                lead
            })
            .collect();
        let complete = used
            .iter()
            .zip(&self.lead_factors)
            .all(|(&used, (_, multiplicity))| used == *multiplicity);
        complete.then_some(leads)
    }

    /// Lifts two products of factors of the image, small subsets first.
    fn lift_pairs(&self, image: &Image) -> Option<Vec<Polynomial>> {
        let n = image.factors.len();
        if !(3..=MOST_RECOMBINED).contains(&n) {
            return None;
        }
        for size in 1..=n / 2 {
            let mut subset: Vec<usize> = (0..size).collect();
            loop {
                let rest = (0..n).filter(|i| !subset.contains(i)).collect();
                if let Some(parts) = self.lift(image, &[subset.clone(), rest]) {
                    return Some(parts);
                }
                if !next_subset(&mut subset, n) {
                    break;
                }
            }
        }
        None
    }
}

fn singletons(n: usize) -> Vec<Vec<usize>> {
    (0..n).map(|i| vec![i]).collect()
}
