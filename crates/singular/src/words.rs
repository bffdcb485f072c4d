//! Cases in words.

use crate::cases::{Case, Rotation};
use crate::field::{ExactField, Field};
use crate::locus::{Choice, Conditioned, Leg};
use crate::mechanism::{Mechanism, difference};
use crate::pieces::combination;
use crate::ring::Ring;
use daelight_algebra::{Fraction, Polynomial};
use daelight_lang::{Model, PARAGRAPH};

/// What a case says about the mechanism.
#[derive(Clone, PartialEq, Debug)]
pub struct CaseWords {
    /// Groups of bodies that lie on parallel lines, by their angles.
    pub aligned: Vec<Vec<String>>,
    /// Bodies of fixed direction.
    pub fixed: Vec<String>,
    /// Bodies and coordinates that carry force.
    pub carrying: Vec<String>,
    /// Bodies and coordinates without force.
    pub free: Vec<String>,
    /// The conditions as equations.
    pub conditions: Vec<String>,
}

impl CaseWords {
    /// The words of a case.
    pub fn new(model: &Model, mechanism: &Mechanism, ring: &Ring, case: &Case<Fraction>) -> Self {
        let name = |column: &usize| mechanism.columns[*column].name.clone();
        let is_forced = |column: &usize| !mechanism.columns[*column].is_constant();
        let (free, carrying): (Vec<usize>, Vec<usize>) =
            (0..mechanism.columns.len()).partition(|column| case.flat.closed.contains(column));
        let mut words = Self {
            aligned: Vec::new(),
            fixed: case.fixed.iter().map(|(column, _)| name(column)).collect(),
            carrying: carrying.iter().map(name).collect(),
            free: free.iter().filter(|c| is_forced(c)).map(name).collect(),
            conditions: Vec::new(),
        };
        let multiples = |column: usize| -> &[i32] {
            let body = mechanism.columns[column].body;
            body.map_or(&[], |at| &mechanism.directions[at].multiples)
        };
        for class in &case.classes {
            if class.members.len() < 2 {
                continue;
            }
            let columns: Vec<usize> = class.members.iter().map(|(column, _)| *column).collect();
            words.aligned.push(columns.iter().map(name).collect());
            for (column, [x, y]) in &class.members[1..] {
                let (angle, is_negative) = difference(
                    model,
                    &mechanism.constraints,
                    multiples(*column),
                    multiples(columns[0]),
                );
                let y = if is_negative { y.negated() } else { y.clone() };
                words
                    .conditions
                    .push(parallel(ring, &angle, &[x.clone(), y]));
            }
        }
        for (column, direction) in &case.fixed {
            let condition = parallel(ring, &name(column), direction);
            words.conditions.push(condition);
        }
        for (column, coefficients) in &case.vanishing {
            let functions = &mechanism.columns[*column].functions;
            let sum = combination(ring, functions, coefficients);
            words
                .conditions
                .push(limited(format!("{} = 0", ring.text(&sum))));
        }
        if case.has_minors() {
            let rows: Vec<String> = case.rows.iter().map(name).collect();
            words.conditions.push(format!(
                "forces on {1} alone can be in balance: their {0} rows for {2} multipliers have rank below {2}",
                rows.len(),
                rows.join(", "),
                case.dimension()
            ));
        }
        // Two columns may ask for the same: s and x of (x - s)^2.
        let mut said: Vec<String> = Vec::new();
        words.conditions.retain(|condition| {
            let is_new = !said.contains(condition);
            said.push(condition.clone());
            is_new
        });
        words
    }

    /// One sentence.
    pub fn sentence(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for group in &self.aligned {
            parts.push(format!("{} aligned", group.join(", ")));
        }
        if !self.fixed.is_empty() {
            parts.push(format!("{} in a fixed direction", self.fixed.join(", ")));
        }
        if parts.is_empty() && self.carrying.is_empty() {
            parts.push("everywhere: the constraints depend on each other".to_string());
        } else if parts.is_empty() {
            parts.push(format!(
                "forces of the constraints on {} are in balance",
                self.carrying.join(", ")
            ));
        } else {
            let others: Vec<&str> = self
                .carrying
                .iter()
                .filter(|name| {
                    !self.fixed.contains(name) && !self.aligned.iter().any(|g| g.contains(name))
                })
                .map(String::as_str)
                .collect();
            if !others.is_empty() {
                parts.push(format!("force in {} too", others.join(", ")));
            }
        }
        if !self.free.is_empty() {
            parts.push(format!("no force in {}", self.free.join(", ")));
        }
        parts.join("; ")
    }
}

/// The senses of a choice as equations: the cosine and sine of the turn from the first body of a class to each other one, and of
/// each fixed direction.
pub(crate) fn senses(
    model: &Model,
    conditioned: &Conditioned<'_>,
    case: &Case<Fraction>,
    legs: &[Leg],
    choice: &Choice,
) -> Vec<String> {
    let mechanism = conditioned.mechanism;
    let field = ExactField {
        ring: &conditioned.ring,
    };
    let multiples = |column: usize| -> &[i32] {
        let body = mechanism.columns[column].body;
        body.map_or(&[], |at| &mechanism.directions[at].multiples)
    };
    let mut texts = Vec::new();
    for (at, (leg, reversed)) in legs.iter().zip(&choice.reversed).enumerate() {
        let class = case.classes.get(at);
        let first = class.map(|class| class.members[0].0);
        let turns = class.map_or(&case.fixed, |class| &class.members);
        for ((column, length), &is_reversed) in leg.members.iter().zip(reversed) {
            let turn = turns.iter().find(|(member, _)| member == column);
            let Some((_, turn)) = turn.filter(|_| first != Some(*column)) else {
                continue;
            };
            let (angle, is_negative) = match first {
                Some(first) => difference(
                    model,
                    &mechanism.constraints,
                    multiples(*column),
                    multiples(first),
                ),
                None => (mechanism.columns[*column].name.clone(), false),
            };
            let scale = field.inverse(length);
            let [p, q] = [0, 1].map(|part| field.mul(&turn[part], &scale));
            let signed = |value: &Fraction, is_minus: bool| {
                let value = if is_minus {
                    value.negated()
                } else {
                    value.clone()
                };
                let numerator = conditioned.ring.text(value.numerator());
                match value.denominator().is_one() {
                    true => numerator,
                    false => format!(
                        "({numerator})/({})",
                        conditioned.ring.text(value.denominator())
                    ),
                }
            };
            if !p.is_zero() {
                let value = signed(&p, is_reversed);
                texts.push(limited(format!("cos({angle}) = {value}")));
            }
            if !q.is_zero() {
                let value = signed(&q, is_reversed != is_negative);
                texts.push(limited(format!("sin({angle}) = {value}")));
            }
        }
    }
    texts
}

/// The condition that a direction is parallel to a vector: x sin = y cos.
fn parallel(ring: &Ring, angle: &str, [x, y]: &Rotation<Fraction>) -> String {
    limited(match (x.is_zero(), y.is_zero()) {
        (_, true) => format!("sin({angle}) = 0"),
        (true, _) => format!("cos({angle}) = 0"),
        _ => {
            let [x, y] = lowest(x, y);
            let (sine, cosine) = (times(ring, &x), times(ring, &y));
            format!("{sine}sin({angle}) = {cosine}cos({angle})")
        }
    })
}

/// Two quotients without common denominators and factors.
fn lowest(x: &Fraction, y: &Fraction) -> [Polynomial; 2] {
    let ratio = x.over(y);
    match ratio {
        Some(ratio) => [ratio.numerator().clone(), ratio.denominator().clone()],
        None => [x.numerator().clone(), y.numerator().clone()],
    }
}

/// A factor before a sine or cosine.
fn times(ring: &Ring, p: &Polynomial) -> String {
    match p.as_constant() {
        Some(number) if number.is_one() => String::new(),
        Some(number) if (-&number).is_one() => "-".to_string(),
        _ if p.n_terms() > 1 => format!("({})*", ring.text(p)),
        _ => format!("{}*", ring.text(p)),
    }
}

fn limited(text: String) -> String {
    if text.len() <= PARAGRAPH {
        return text;
    }
    let cut: String = text.chars().take(PARAGRAPH).collect();
    format!("{cut}…")
}
