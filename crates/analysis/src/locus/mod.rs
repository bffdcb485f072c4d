//! Singular loci as formulas: the determinant of a symbolic block, factored over the rationals.
//!
//! Entries become quotients of polynomials in generators: symbols, sine and cosine of base angles, and whatever else is
//! not rational. The determinant is expanded without division. In the tangents of half the angles trigonometric
//! polynomials have unique factorisations; factors found there are written back in sines and cosines.
//! `docs/theory/locus.md` derives all of it. The product of everything in a [`Locus`] is the determinant, exactly: no
//! zero is missed, whether or not a factor is proved to be irreducible.
//!
//! ```
//! use daelight_analysis::System;
//! use daelight_analysis::locus::{BlockLoci, LocusOptions};
//! use daelight_analysis::structure::{Structure, SystemJacobian};
//! use daelight_lang::{Options, load};
//!
//! let text = "model Arm  Real p, q;
//!             equation  cos(p) + cos(p + q) = sin(time);  sin(p) + sin(p + q) = 0.1*time;  end Arm;";
//! let model = load("arm.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
//! let system = System::new(&model)?;
//! let structure = Structure::of_equations(system.equations())?;
//! let jacobian = SystemJacobian::new(system.equations(), &structure, system.parameters().values());
//! let loci = BlockLoci::new(&structure, &jacobian, &LocusOptions::default());
//! let name = |symbol, text: &mut String| model.write_name(symbol, text);
//! let texts: Vec<String> = loci.factors(0).map(|factor| loci.text(0, factor, name)).collect();
//! assert_eq!(texts, ["sin(q)"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod circle;
mod convert;
mod determinant;
mod form;
mod reach;
mod sign;

pub use block::BlockLoci;

use circle::Collection;
use convert::quotients;
use daelight_algebra::{FactorBudget, Polynomial, RBig, integer};
use daelight_expr::{ExprId, Graph, SymbolId, TooLong};
use daelight_symbolic::Generator;
use determinant::determinant;
use std::fmt;
use std::time::Instant;

/// What a symbol is to a locus.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Role {
    /// It moves: an unknown, a derivative, an input, time.
    Variable,
    /// It rests, at this value.
    Parameter(f64),
}

/// What to keep symbolic, and how much work to do.
#[derive(Clone, Copy, Debug)]
pub struct LocusOptions {
    /// Whether parameters stay symbols; otherwise their values are put in, as decimals.
    pub keep_parameters: bool,
    /// Rows of a block above which it is not expanded; at most 64.
    pub rows: usize,
    /// Minors of one size that may be kept at a time.
    pub minors: usize,
    /// Terms of a polynomial above which the work ends.
    pub terms: usize,
    /// Products of terms that may be formed for one determinant.
    pub products: usize,
    /// When to give up, if that matters.
    pub deadline: Option<Instant>,
    /// The budget of each factorisation.
    pub factor: FactorBudget,
}

impl LocusOptions {
    fn out_of_time(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() > deadline)
    }

    /// The budget of each factorisation, which ends with the time of the whole.
    fn factor_budget(&self) -> FactorBudget {
        FactorBudget {
            deadline: self.deadline.or(self.factor.deadline),
            ..self.factor
        }
    }
}

impl Default for LocusOptions {
    fn default() -> Self {
        Self {
            keep_parameters: true,
            rows: 64,
            minors: 3_000,
            terms: 5_000,
            products: 4_000_000,
            deadline: None,
            factor: FactorBudget {
                terms: 5_000,
                ..FactorBudget::default()
            },
        }
    }
}

/// Why there is no formula.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Incomplete {
    /// The block has more rows than allowed.
    Rows {
        /// Its rows.
        rows: usize,
        /// The limit.
        limit: usize,
    },
    /// A polynomial has more terms than allowed.
    Terms {
        /// The limit.
        limit: usize,
    },
    /// The expansion has more minors than allowed.
    Minors {
        /// The limit.
        limit: usize,
    },
    /// The expansion takes more products than allowed.
    Products {
        /// The limit.
        limit: usize,
    },
    /// The time is used up.
    Time,
    /// Coefficients or exponents are beyond what numbers can hold.
    Magnitude,
    /// An entry divides by something that is always 0, or has a constant that is no number.
    Undefined,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { rows, limit } => {
                write!(f, "the block has {rows} rows, the limit is {limit}")
            }
            Self::Terms { limit } => write!(f, "a polynomial has more than {limit} terms"),
            Self::Minors { limit } => write!(f, "there are more than {limit} minors of one size"),
            Self::Products { limit } => {
                write!(f, "the expansion takes more than {limit} products of terms")
            }
            Self::Time => write!(f, "the time for its expansion is used up"),
            Self::Magnitude => write!(f, "coefficients or exponents are too large"),
            Self::Undefined => write!(f, "an entry is undefined everywhere"),
        }
    }
}

impl std::error::Error for Incomplete {}

/// Where a factor can be zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FactorKind {
    /// It depends on variables and may vanish.
    Variable,
    /// It depends on parameters alone: a condition on the model.
    Parameter,
    /// It is proved to have no zero at the present values of the parameters.
    NeverZero,
    /// It is proved to have none where the equations without derivatives hold, at the present values of the parameters.
    Excluded,
}

/// A factor of a determinant.
#[derive(Clone, PartialEq, Debug)]
pub struct DeterminantFactor {
    /// A polynomial of the generators of the locus: integer coefficients without common divisor, the leading one positive.
    pub polynomial: Polynomial,
    /// The same as an expression of the graph.
    pub expr: ExprId,
    /// How often it divides the numerator, or the denominator.
    pub multiplicity: u32,
    /// Where it can be zero.
    pub nature: FactorKind,
    /// Whether it is proved that it does not fall apart into polynomials of the same generators.
    pub is_irreducible: bool,
}

/// The determinant of a block as constant * ∏ factors^multiplicity / ∏ denominators^multiplicity.
///
/// Denominators that cancel are not listed: there the entries are undefined, and the determinant has a limit.
#[derive(Clone, PartialEq, Debug)]
pub struct Locus {
    /// The constant; 0 when the block is singular everywhere.
    pub constant: RBig,
    /// Factors of the numerator.
    pub factors: Vec<DeterminantFactor>,
    /// Factors of the denominator: the determinant has a pole where one vanishes.
    pub denominators: Vec<DeterminantFactor>,
    /// The generators, by number.
    pub generators: Vec<Generator>,
}

impl Locus {
    /// Finds the locus of a square block, given row by row; `None` stands for 0.
    ///
    /// Expressions of factors are added to the graph.
    ///
    /// # Panics
    ///
    /// When the number of entries is no square.
    pub fn find(
        graph: &mut Graph,
        entries: &[Option<ExprId>],
        role: &dyn Fn(SymbolId) -> Role,
        options: &LocusOptions,
    ) -> Result<Self, Incomplete> {
        let n = entries.len().isqrt();
        assert_eq!(n * n, entries.len(), "a block is square");
        let limit = options.rows.min(64);
        if n > limit {
            return Err(Incomplete::Rows { rows: n, limit });
        }
        let (quotients, mut generators) = quotients(graph, role, options, entries)?;
        let matrix = quotients.chunks(n.max(1)).map(<[_]>::to_vec).collect();
        let parts = determinant(matrix, &generators, options)?;
        let mut collection = Collection::new(options);
        for numerator in &parts.numerators {
            collection.multiply(numerator, 1, &generators);
        }
        for denominator in &parts.denominators {
            collection.multiply(denominator, -1, &generators);
        }
        let grouped = collection.groups(&generators);
        let mut locus = Self {
            constant: grouped.constant,
            factors: Vec::new(),
            denominators: Vec::new(),
            generators: Vec::new(),
        };
        if locus.is_singular() {
            return Ok(locus);
        }
        for group in grouped.groups {
            let (polynomial, ratio) = form::simplest(&group.polynomial, &mut generators, graph);
            // group = ratio * polynomial
            locus.constant *= ratio.pow(group.exponent as isize);
            let expr = generators
                .expression(graph, &polynomial)
                .ok_or(Incomplete::Magnitude)?;
            let factor = DeterminantFactor {
                nature: sign::nature(&polynomial, &generators, graph, expr, role),
                polynomial,
                expr,
                multiplicity: group.exponent.unsigned_abs(),
                is_irreducible: group.is_irreducible,
            };
            if group.exponent > 0 {
                locus.factors.push(factor);
            } else {
                locus.denominators.push(factor);
            }
        }
        locus.generators = generators.into_list();
        Ok(locus)
    }

    /// Whether the determinant is 0 everywhere.
    pub fn is_singular(&self) -> bool {
        self.constant == RBig::ZERO
    }

    /// The constant in double precision.
    pub fn constant_f64(&self) -> f64 {
        integer::rational_to_f64(&self.constant)
    }

    /// The factors that may vanish where variables take certain values.
    pub fn vanishing(&self) -> impl Iterator<Item = &DeterminantFactor> {
        self.factors
            .iter()
            .filter(|factor| factor.nature == FactorKind::Variable)
    }

    /// A factor as Modelica text, exactly; `name` writes a symbol.
    pub fn text(
        &self,
        graph: &Graph,
        factor: &DeterminantFactor,
        limit: usize,
        mut name: impl FnMut(SymbolId, &mut String),
    ) -> Result<String, TooLong> {
        let mut outcome = Ok(());
        let text = factor.polynomial.text(|variable, text| {
            let left = limit.saturating_sub(text.len());
            match self.generators[variable].text(graph, left, &mut name) {
                Ok(piece) => text.push_str(&piece),
                Err(too_long) => outcome = Err(too_long),
            }
        });
        outcome.map(|()| text).and_then(|text| {
            if text.len() > limit {
                Err(TooLong)
            } else {
                Ok(text)
            }
        })
    }
}
