//! What the variables of the polynomials stand for, and the relations between them.

use daelight_algebra::{IBig, Polynomial, integer};

/// What a variable of the polynomials is.
#[derive(Clone, PartialEq, Debug)]
pub enum VariableKind {
    /// A parameter that is kept as a symbol, by its position in the model.
    Parameter(usize),
    /// A term without unknowns that is kept as a symbol: a term in time alone, or a number that is not algebraic.
    Known,
    /// A square root; its square is the polynomial.
    Root(Polynomial),
    /// An unknown of the model that is a position.
    Position(usize),
    /// The cosine of a direction.
    Cosine(usize),
    /// The sine of a direction.
    Sine(usize),
}

/// A variable of the polynomials.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// How it is written.
    pub name: String,
    /// What it stands for.
    pub meaning: VariableKind,
    /// Its value in the model, where it has one.
    pub value: Option<f64>,
}

/// The variables of all polynomials about one model.
#[derive(Clone, Default, Debug)]
pub struct Ring {
    variables: Vec<Variable>,
}

impl Ring {
    /// The variables, by number.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Adds a variable; its number.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        meaning: VariableKind,
        value: Option<f64>,
    ) -> usize {
        self.variables.push(Variable {
            name: name.into(),
            meaning,
            value,
        });
        self.variables.len() - 1
    }

    /// The number of the variable of a meaning.
    pub fn find(&self, meaning: &VariableKind) -> Option<usize> {
        self.variables.iter().position(|v| v.meaning == *meaning)
    }

    /// Whether a variable is an unknown: a position, or the cosine or sine of a direction.
    pub fn is_unknown(&self, variable: usize) -> bool {
        matches!(
            self.variables[variable].meaning,
            VariableKind::Position(_) | VariableKind::Cosine(_) | VariableKind::Sine(_)
        )
    }

    /// Whether no unknown occurs.
    pub fn is_known(&self, p: &Polynomial) -> bool {
        p.variables().into_iter().all(|v| !self.is_unknown(v))
    }

    /// The relation of a variable to older ones, as what its square is.
    pub fn square(&self, variable: usize) -> Option<Polynomial> {
        match &self.variables[variable].meaning {
            VariableKind::Root(square) => Some(square.clone()),
            _ => None,
        }
    }

    /// The normal form: linear in every square root.
    pub fn reduce(&self, p: &Polynomial) -> Polynomial {
        let mut result = p.clone();
        // A square holds older variables only, so the youngest goes first.
        for variable in p.variables().into_iter().rev() {
            if result.degree(variable) < 2 {
                continue;
            }
            let Some(square) = self.square(variable) else {
                continue;
            };
            result = result.with_square(variable, &square, &IBig::ONE);
        }
        // Squares of roots may hold other roots.
        if result == *p {
            result
        } else {
            self.reduce(&result)
        }
    }

    /// The root of a whole number as a number times square roots of primes, which are independent over the rationals.
    ///
    /// Divisors above the limit of trial division stay together; `None` for negative numbers.
    pub fn root_of_integer(&mut self, n: &IBig) -> Option<Polynomial> {
        if integer::is_negative(n) {
            return None;
        }
        if n.is_zero() {
            return Some(Polynomial::zero());
        }
        let mut rest = n.clone();
        let mut result = Polynomial::one();
        let mut divisor = 2u32;
        while divisor < 10_000 {
            let prime = IBig::from(divisor);
            let mut power = 0;
            while let Some(quotient) = integer::divide_exactly(&rest, &prime) {
                rest = quotient;
                power += 1;
            }
            result = result.scaled(&prime.pow(power / 2));
            if power % 2 == 1 {
                result = &result * &self.prime_root(prime);
            }
            divisor += if divisor == 2 { 1 } else { 2 };
        }
        if !rest.is_one() {
            let root = whole_root(&rest);
            if &root * &root == rest {
                result = result.scaled(&root);
            } else {
                result = &result * &self.prime_root(rest);
            }
        }
        Some(result)
    }

    fn prime_root(&mut self, n: IBig) -> Polynomial {
        let meaning = VariableKind::Root(Polynomial::constant(n.clone()));
        let variable = self.find(&meaning).unwrap_or_else(|| {
            let value = integer::to_f64(&n).sqrt();
            self.add(format!("sqrt({n})"), meaning, Some(value))
        });
        Polynomial::variable(variable)
    }

    /// The square root of a polynomial without unknowns, up to its sign: a symbol of its own unless it is a square.
    pub fn root_of(&mut self, p: &Polynomial) -> Option<Polynomial> {
        if let Some(number) = p.as_constant() {
            return self.root_of_integer(&number);
        }
        // Squares come out: sqrt(a^2 b) = a sqrt(b) for positive a.
        let parts = daelight_algebra::squarefree(p);
        let mut outside = Polynomial::one();
        let mut inside = Polynomial::constant(parts.unit);
        for part in parts.factors {
            outside = &outside * &part.polynomial.pow(part.multiplicity / 2);
            inside = &inside * &part.polynomial.pow(part.multiplicity % 2);
        }
        if let Some(number) = inside.as_constant() {
            return Some(&outside * &self.root_of_integer(&number)?);
        }
        let meaning = VariableKind::Root(inside.clone());
        let variable = self.find(&meaning).unwrap_or_else(|| {
            let value = self.value(&inside).map(f64::sqrt).filter(|v| v.is_finite());
            let name = format!("sqrt({})", self.text(&inside));
            self.add(name, meaning, value)
        });
        Some(&outside * &Polynomial::variable(variable))
    }

    /// The value at the values of the model, where all variables have one.
    pub fn value(&self, p: &Polynomial) -> Option<f64> {
        let value = p.evaluate_f64(|v| self.variables[v].value.unwrap_or(f64::NAN));
        value.is_finite().then_some(value)
    }

    /// The polynomial as text.
    pub fn text(&self, p: &Polynomial) -> String {
        p.text(|variable, text| text.push_str(&self.variables[variable].name))
    }
}

/// The whole part of a square root, by Newton's iteration from above.
fn whole_root(n: &IBig) -> IBig {
    let mut root = IBig::ONE << (integer::bit_length(n) / 2 + 1);
    loop {
        let next = (&root + n / &root) / IBig::from(2);
        if next >= root {
            return root;
        }
        root = next;
    }
}
