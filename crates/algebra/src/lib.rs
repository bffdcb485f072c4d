//! Exact polynomial algebra: arithmetic, greatest common divisors and factorisation over the rationals.
//!
//! A polynomial over Q is a rational number times a polynomial over Z, so [`Polynomial`] has integer
//! coefficients; [`Fraction`] is a quotient of two of them and holds everything else. Variables are numbered; names
//! come in only when a polynomial is written ([`Polynomial::text`]). Rings need not be declared: a polynomial in the
//! variables 0 and 1 is also one in the variables 0, 1 and 2.
//!
//! Randomness only chooses the way, never the answer: divisors are checked by division, factorisations by
//! multiplication, and a factor is called irreducible only with a proof ([`Factor::is_proved`]).
//! `docs/theory/locus.md` has the formulas.
//!
//! ```
//! use daelight_algebra::{FactorBudget, Polynomial, factor};
//!
//! let [x, y] = [0, 1].map(Polynomial::variable);
//! let f = &(&x * &x) - &(&y * &y);
//! let factors = factor(&f, &FactorBudget::default());
//! let texts: Vec<String> = factors
//!     .factors
//!     .iter()
//!     .map(|factor| factor.polynomial.text(|variable, text| text.push(['x', 'y'][variable])))
//!     .collect();
//! assert_eq!(texts, ["x - y", "x + y"]);
//! assert!(factors.is_proved());
//! ```

#![forbid(unsafe_code)]

mod components;
mod display;
mod divide;
mod factor;
mod fraction;
mod gcd;
mod groebner;
mod ideal;
pub mod integer;
mod monomial;
mod polynomial;
mod prime_field;
mod random;
pub mod real;
mod resultant;
mod signs;

pub use components::{Assumptions, Component, Components, Primality, components};
pub use dashu_int::IBig;
pub use dashu_ratio::RBig;
pub use factor::{Factor, FactorBudget, Factorization, factor, squarefree};
pub use fraction::Fraction;
pub use gcd::{content, gcd, primitive};
pub use groebner::{Basis, Budget, Certificate, Order, OutOfBudget, Remainder, basis};
pub use ideal::Ideal;
pub use monomial::Monomial;
pub use polynomial::Polynomial;
pub use resultant::resultant;
pub use signs::{Sign, contradiction, sign};
