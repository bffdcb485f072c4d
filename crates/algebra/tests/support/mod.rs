//! Random polynomials, and polynomials from text.
#![allow(dead_code, reason = "each test uses a part")]

pub mod andrews;
pub mod families;

use daelight_algebra::{IBig, Monomial, Polynomial};

pub const NAMES: [&str; 9] = ["x", "y", "z", "u", "v", "w", "a", "b", "c"];

/// Repeatable random numbers (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % bound
    }

    /// A polynomial that is not 0.
    pub fn polynomial(
        &mut self,
        n_variables: usize,
        degree: u64,
        n_terms: u64,
        height: u64,
    ) -> Polynomial {
        loop {
            let terms: Vec<(Monomial, IBig)> = (0..n_terms)
                .map(|_| {
                    let mut monomial = Monomial::one();
                    let mut left = self.below(degree + 1);
                    while left > 0 {
                        let variable = self.below(n_variables as u64) as usize;
                        monomial.set(variable, monomial.exponent(variable) + 1);
                        left -= 1;
                    }
                    let number = self.below(2 * height + 1) as i64 - height as i64;
                    (monomial, IBig::from(number))
                })
                .collect();
            let polynomial = Polynomial::from_terms(terms);
            if !polynomial.is_zero() {
                return polynomial;
            }
        }
    }
}

/// Reads a sum of products of powers, with parentheses, in [`NAMES`].
pub fn parse(text: &str) -> Polynomial {
    parse_in(text, &NAMES)
}

/// The same with other names: a letter and digits.
pub fn parse_in(text: &str, names: &[&str]) -> Polynomial {
    let characters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut at = 0;
    let result = sum(&characters, &mut at, names);
    assert_eq!(at, characters.len(), "{text}");
    result
}

fn sum(words: &[char], at: &mut usize, names: &[&str]) -> Polynomial {
    let mut total = Polynomial::zero();
    let mut negative = false;
    if words.get(*at) == Some(&'-') {
        negative = true;
        *at += 1;
    }
    loop {
        let term = product(words, at, names);
        total = if negative {
            &total - &term
        } else {
            &total + &term
        };
        match words.get(*at) {
            Some('+') => negative = false,
            Some('-') => negative = true,
            _ => return total,
        }
        *at += 1;
    }
}

fn product(words: &[char], at: &mut usize, names: &[&str]) -> Polynomial {
    let mut total = power(words, at, names);
    while words.get(*at) == Some(&'*') {
        *at += 1;
        total = &total * &power(words, at, names);
    }
    total
}

fn power(words: &[char], at: &mut usize, names: &[&str]) -> Polynomial {
    let base = match words[*at] {
        '(' => {
            *at += 1;
            let inner = sum(words, at, names);
            assert_eq!(words[*at], ')');
            *at += 1;
            inner
        }
        c if c.is_ascii_digit() => Polynomial::constant(number(words, at)),
        c => {
            *at += 1;
            let mut name = c.to_string();
            while let Some(digit) = words.get(*at).filter(|c| c.is_ascii_digit()) {
                name.push(*digit);
                *at += 1;
            }
            Polynomial::variable(names.iter().position(|n| *n == name).expect("a name"))
        }
    };
    if words.get(*at) == Some(&'^') {
        *at += 1;
        let exponent = number(words, at);
        return base.pow(u32::try_from(exponent).expect("a small exponent"));
    }
    base
}

fn number(words: &[char], at: &mut usize) -> IBig {
    let start = *at;
    while words.get(*at).is_some_and(char::is_ascii_digit) {
        *at += 1;
    }
    let digits: String = words[start..*at].iter().collect();
    digits.parse().expect("digits")
}

pub fn text(polynomial: &Polynomial) -> String {
    text_in(polynomial, &NAMES)
}

pub fn text_in(polynomial: &Polynomial, names: &[&str]) -> String {
    polynomial.text(|variable, text| text.push_str(names[variable]))
}
