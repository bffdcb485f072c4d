//! What happens to solutions at a point where a rank falls.
//!
//! Numbers in parentheses refer to `docs/theory/linear.md`.

use super::profile::{Profile, Walk};
use super::scan::{Found, Search, units};
use super::{BrokenHypothesis, number};
use crate::array::{DerivativeArray, HypothesisLevel, consistency_conditions, hypothesis_level};
use crate::dense::Dense;
use crate::linear::LinearFamily;
use crate::outcome::{Because, Indices, Stage};
use crate::reduction::{Pair, references};
use crate::scaling::Scaling;
use daelight_linalg::Mat;

/// Relative error given to the derivative array at a point that is known to some 14 digits.
const ARRAY_ERROR: f64 = 1e-12;
/// Orders beyond mu-hat up to which conditions at the point are looked for.
const LOOK: usize = 6;
/// Rows of the largest derivative array that is decomposed.
const MOST_ROWS: usize = 320;
/// An exponent this close to a whole number is one.
const WHOLE: f64 = 1e-7;
/// Factors of what is told that differ by less, or are smaller beside the others, are rounding.
const TOLD: f64 = 1e-9;

/// What holds at a point of the hypotheses A.3 and B.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Yes,
    No,
    Unknown,
}

/// The consequences of a rank change.
#[derive(Clone, Debug)]
pub(super) struct Effect {
    pub(super) a3: Holds,
    pub(super) b3: Holds,
    pub(super) failures: Vec<BrokenHypothesis>,
    pub(super) sentence: String,
}

impl Effect {
    /// Looks at a point with the derivative array and the leading terms of what is left of the equations there.
    pub(super) fn new<F: LinearFamily + ?Sized>(
        search: &mut Search<'_, F>,
        found: &Found,
        profile: &Profile,
        indices: Option<&Indices>,
        greatest_index: usize,
    ) -> Self {
        let mut effect = Self {
            a3: Holds::Unknown,
            b3: Holds::Unknown,
            failures: Vec::new(),
            sentence: String::new(),
        };
        let mut parts = vec![rank_change(found)];
        match effect.look(search, found, profile, indices, greatest_index) {
            Ok(consequences) => parts.extend(consequences),
            Err(because) => {
                parts.push(format!("what follows is not decided: {because}"));
                effect.failures.push(BrokenHypothesis::Undecided(because));
            }
        }
        effect.sentence = parts.join("; ");
        effect
    }

    fn look<F: LinearFamily + ?Sized>(
        &mut self,
        search: &mut Search<'_, F>,
        found: &Found,
        profile: &Profile,
        indices: Option<&Indices>,
        greatest_index: usize,
    ) -> Result<Vec<String>, Because> {
        let m = search.family.n_equations();
        let level = greatest_index;
        let most = (MOST_ROWS / m.max(1)).saturating_sub(1);
        if most < level + 1 {
            return Err(Because::SeriesTooShort { order: level + 1 });
        }
        let order = (level + 1 + LOOK).min(most);
        let series = search.at(found.time, order).ok_or(Because::NotFinite)?;
        let beside = aside(search, found, order).ok_or(Because::NotFinite)?;
        let scaling = Scaling::by_low_orders(&beside, None);
        let scaled = scaling.apply(&series.matrices);
        let array = DerivativeArray::new(&scaled, ARRAY_ERROR);
        let mut out = Vec::new();

        // Conditions that hold at the point only.
        let mut dependent = Vec::new();
        let mut condition = None;
        for l in 0..=order {
            let conditions = consistency_conditions(&array, &scaling, l)?;
            let extra = conditions.ncols().saturating_sub(profile.n_dependent(l));
            dependent.push(conditions.ncols());
            if extra > 0 {
                condition = Some((l, extra, conditions));
                break;
            }
        }
        if let Some(indices) = indices {
            self.hypotheses(
                &array,
                indices,
                level,
                &dependent,
                condition.is_some(),
                profile,
            )?;
        }
        let behaviour = Behaviour::at(search, found, profile, indices);
        if let Some(behaviour) = &behaviour {
            out.push(behaviour.sentence(found.time));
            self.failures.extend(behaviour.failure());
        }
        if let Some((l, extra, conditions)) = condition {
            out.push(self.inner_condition(l, extra, &conditions, found.time));
        }
        if self.a3 == Holds::No && behaviour.is_none() {
            out.extend(self.not_extended(&hypothesis_level(&array, level)?, indices));
        }
        if self.failures.is_empty()
            && self.a3 == Holds::Yes
            && let Some(s) = indices.map(|i| i.strangeness)
        {
            out.push(format!(
                "d = {} and a = {} hold there as well, so solutions pass unharmed; only the strangeness index ({} beside \
                 the point) is not defined around it",
                s.n_differential, s.n_algebraic, s.index
            ));
        }
        Ok(out)
    }

    /// Conditions on f and its derivatives up to an order that hold at the point only.
    fn inner_condition(&mut self, order: usize, extra: usize, all: &Mat, time: f64) -> String {
        let m = all.nrows() / (order + 1);
        let text = (extra == 1 && all.ncols() == 1)
            .then(|| condition_text(all, m, time))
            .flatten();
        let sentence = match &text {
            Some(text) => format!("a solution through the point needs {text}"),
            None => format!(
                "solutions through the point need {extra} more condition{} on f and its derivatives up to order {order}",
                if extra == 1 { "" } else { "s" }
            ),
        };
        self.failures.push(BrokenHypothesis::InnerCondition {
            order,
            n_conditions: extra,
            text,
        });
        sentence
    }

    /// What is missing at the point, where A.3 fails and nothing is known of the solutions.
    fn not_extended(&mut self, here: &HypothesisLevel, indices: Option<&Indices>) -> Vec<String> {
        let mut out = Vec::new();
        let Some(s) = indices.map(|i| i.strangeness) else {
            return out;
        };
        let (d, a) = (s.n_differential, s.n_algebraic);
        if here.n_differential < d {
            out.push(format!(
                "on the constraints E has rank {} instead of {d}, so that not all solutions extend",
                here.n_differential
            ));
            self.failures
                .push(BrokenHypothesis::NotExtended { exponent: None });
        }
        if here.n_algebraic < a {
            out.push(format!(
                "{} of {a} constraints show at the point, the others after further differentiation",
                here.n_algebraic
            ));
        }
        out
    }

    /// A.3 and B.3 at the point (9).
    fn hypotheses(
        &mut self,
        array: &DerivativeArray,
        indices: &Indices,
        level: usize,
        dependent: &[usize],
        has_condition: bool,
        profile: &Profile,
    ) -> Result<(), Because> {
        let s = indices.strangeness;
        let holds = |l: usize| -> Result<bool, Because> {
            let here = hypothesis_level(array, l)?;
            let next = hypothesis_level(array, l + 1)?;
            Ok(here.n_algebraic == s.n_algebraic
                && next.n_algebraic == s.n_algebraic
                && here.n_differential == s.n_differential)
        };
        let mut a3 = holds(level)?;
        let last = array.n_equations().min(array.n_unknowns()).max(1) - 1;
        if !a3 && last > level && last < array.order() {
            a3 = holds(last)?;
        }
        self.a3 = if a3 { Holds::Yes } else { Holds::No };
        // v at the order mu-hat + 1 is that of regular points: necessary for B.3, and all that is asked.
        let settled = !has_condition
            || dependent.len() > level + 1
                && dependent[level + 1] == profile.n_dependent(level + 1)
                && dependent[level] == profile.n_dependent(level);
        self.b3 = if a3 && settled { Holds::Yes } else { Holds::No };
        Ok(())
    }
}

/// The matrices a little beside a point, for units and sizes.
fn aside<F: LinearFamily + ?Sized>(
    search: &mut Search<'_, F>,
    found: &Found,
    order: usize,
) -> Option<crate::series::MatrixSeries> {
    let step = 0.02 * search.span;
    [step, -step].into_iter().find_map(|step| {
        let series = search.at(found.time + step, order)?;
        Some(series.matrices)
    })
}

fn rank_change(found: &Found) -> String {
    let what = match (found.stage, found.level) {
        (Stage::Differential, 0) => "E".to_string(),
        (Stage::Algebraic, 0) => "the constraints".to_string(),
        (Stage::Differential, level) => format!("E on the constraints of level {}", level - 1),
        (Stage::Algebraic, level) => format!("the hidden constraints of level {level}"),
    };
    format!(
        "at t = {} the rank of {what} falls from {} to {}",
        number(found.time),
        found.rank_nearby,
        found.rank
    )
}

/// How solutions of the homogeneous equation behave at a simple fall of the last E.
#[derive(Clone, Copy, Debug)]
enum Behaviour {
    /// Like (t - t*)^exponent.
    Power { exponent: f64 },
    /// Like exp(rate/(t - t*)^order), to leading order.
    Exponential { rate: f64, order: usize },
}

impl Behaviour {
    /// Reads the leading terms (12); `None` unless the last E, square, loses one rank.
    fn at<F: LinearFamily + ?Sized>(
        search: &mut Search<'_, F>,
        found: &Found,
        profile: &Profile,
        indices: Option<&Indices>,
    ) -> Option<Self> {
        let s = indices?.strangeness;
        let is_last = found.stage == Stage::Differential && found.level + 1 == profile.n_levels();
        if !is_last || s.n_free > 0 || found.rank + 1 != found.rank_nearby {
            return None;
        }
        let order = profile.n_levels() + found.order + 3;
        let scaling = units(&aside(search, found, order)?, 0.02 * search.span);
        let scaled = scaling.apply(&search.at(found.time, order)?.matrices);
        let reference = references(&scaled);
        let walk = Walk::new(&scaled, profile, Some(found.place), reference, 0.0)?;
        let Pair { e, a } = walk.pair;
        let d = e.nrows();
        let factors = e.coefficient(0).decompose().ok()?;
        let left = factors.u.block(0, d - 1, d, 1).transposed();
        let right = factors.v.block(0, d - 1, d, 1);
        let between = |c: &Mat| left.product(c).product(&right)[(0, 0)];
        let residue = between(a.coefficient(0));
        match found.order {
            1 => Some(Self::Power {
                exponent: residue / between(e.coefficient(1)),
            }),
            k if d == 1 && k < e.len() && residue.abs() > TOLD * reference.1 => {
                let leading = between(e.coefficient(k));
                let order = k - 1;
                Some(Self::Exponential {
                    rate: -residue / (leading * order as f64) * scaling.time.powi(order as i32),
                    order,
                })
            }
            _ => None,
        }
        .filter(|behaviour| match behaviour {
            Self::Power { exponent } => exponent.is_finite(),
            Self::Exponential { rate, .. } => rate.is_finite(),
        })
    }

    fn failure(self) -> Option<BrokenHypothesis> {
        match self {
            Self::Power { exponent } if is_whole(exponent) && exponent.round() == 0.0 => None,
            Self::Power { exponent } if exponent >= 1.0 - WHOLE => {
                Some(BrokenHypothesis::NotUnique { exponent })
            }
            Self::Power { exponent } => Some(BrokenHypothesis::NotExtended {
                exponent: Some(exponent),
            }),
            Self::Exponential { .. } => Some(BrokenHypothesis::NotExtended { exponent: None }),
        }
    }

    fn sentence(self, time: f64) -> String {
        let base = if time == 0.0 {
            "t".to_string()
        } else if time > 0.0 {
            format!("(t - {})", number(time))
        } else {
            format!("(t + {})", number(-time))
        };
        match self {
            Self::Power { exponent } => {
                let power = if is_whole(exponent) {
                    exponent.round()
                } else {
                    exponent
                };
                let law = if power == 1.0 {
                    format!("solutions of the homogeneous equation behave like {base}")
                } else {
                    let power = number(power);
                    format!("solutions of the homogeneous equation behave like {base}^{power}")
                };
                let fate = if is_whole(exponent) && power == 0.0 {
                    "and pass"
                } else if exponent < 0.0 {
                    "and do not extend"
                } else if exponent < 1.0 - WHOLE {
                    "and reach the point without a finite slope"
                } else if is_whole(exponent) {
                    "and all vanish there: they pass, but their value at the point does not tell them apart"
                } else {
                    "and all vanish there, with finitely many derivatives: their value at the point does not tell them apart"
                };
                format!("{law} {fate}")
            }
            Self::Exponential { rate, order } => {
                let power = if order == 1 {
                    base
                } else {
                    format!("{base}^{order}")
                };
                format!(
                    "solutions of the homogeneous equation behave like exp({}/{power}) and do not extend from the side where \
                     they grow",
                    number(rate)
                )
            }
        }
    }
}

fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() <= WHOLE * value.abs().max(1.0)
}

/// A condition on the Taylor coefficients of f as a formula in derivatives of f1, f2, ...; `None` if it is long.
fn condition_text(conditions: &Mat, m: usize, time: f64) -> Option<String> {
    let column = conditions.col(0);
    let mut terms: Vec<(f64, usize, usize)> = Vec::new();
    let mut factorial = 1.0;
    for (i, block) in column.chunks(m).enumerate() {
        factorial *= i.max(1) as f64;
        for (equation, &value) in block.iter().enumerate() {
            terms.push((value / factorial, equation, i));
        }
    }
    let largest = terms.iter().map(|t| t.0.abs()).fold(0.0, f64::max);
    terms.retain(|t| t.0.abs() > TOLD * largest);
    // Highest derivative first, with the factor 1.
    terms.sort_by(|a, b| b.2.cmp(&a.2).then(a.1.cmp(&b.1)));
    let first = terms.first()?.0;
    if terms.len() > 4 {
        return None;
    }
    let mut out = String::new();
    for (value, equation, order) in terms {
        let factor = value / first;
        let sign = match (out.is_empty(), factor < 0.0) {
            (true, _) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        let size = factor.abs();
        let factor = if (size - 1.0).abs() < TOLD {
            String::new()
        } else {
            format!("{} ", number(size))
        };
        let name = if m == 1 {
            "f".to_string()
        } else {
            format!("f{}", equation + 1)
        };
        let primes = if order <= 3 {
            "'".repeat(order)
        } else {
            format!("^({order})")
        };
        out += &format!("{sign}{factor}{name}{primes}({})", number(time));
    }
    Some(format!("{out} = 0"))
}
