//! Random systems of equations, and ways of writing one that mean the same.

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// factor * der^order(unknown)^power.
#[derive(Clone, Debug)]
pub struct Term {
    pub factor: f64,
    pub unknown: usize,
    pub order: usize,
    pub power: usize,
}

/// A sum of terms equal to a function of time.
#[derive(Clone, Debug)]
pub struct Equation {
    pub terms: Vec<Term>,
    pub right: String,
}

/// A model of sparse equations of mixed orders: few of them are regular, and those of any index.
#[derive(Clone, Debug)]
pub struct System {
    pub starts: Vec<f64>,
    pub equations: Vec<Equation>,
}

impl System {
    pub fn random(number: u64) -> Self {
        let dice = &mut Dice(number.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x0dae);
        let n = 3 + dice.below(4);
        let starts = (0..n).map(|_| digits(2.0 * dice.unit() - 1.0)).collect();
        let equations = (0..n)
            .map(|row| {
                let n_terms = 2 + dice.below(2);
                let mut unknowns: Vec<usize> = (0..n).collect();
                dice.shuffle(&mut unknowns);
                // The diagonal makes most systems structurally sound.
                unknowns.retain(|unknown| *unknown != row);
                unknowns.insert(0, row);
                let mut terms = Vec::new();
                for &unknown in &unknowns[..n_terms.min(n)] {
                    let factor = [1.0, -1.0, 2.0, 0.5, -3.0, 1.7][dice.below(6)];
                    let order = [0, 0, 0, 0, 0, 0, 1, 1, 1, 2][dice.below(10)];
                    terms.push(Term {
                        factor,
                        unknown,
                        order,
                        power: 1,
                    });
                    if order == 0 && dice.below(5) == 0 {
                        let factor = [0.5, 1.0][dice.below(2)] * factor;
                        terms.push(Term {
                            factor,
                            unknown,
                            order,
                            power: 3,
                        });
                    }
                }
                let right = ["sin(time)", "cos(time)", "1", "0.5*sin(2*time)"][dice.below(4)];
                Equation {
                    terms,
                    right: right.to_string(),
                }
            })
            .collect();
        Self { starts, equations }
    }
}

/// Three digits after the point.
fn digits(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// A way of writing a system that changes nothing of what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewriting {
    AsItIs,
    FactorsAsParameters,
    OrderOfEquations,
    OrderOfDeclarations,
    OtherNames,
    ScaledEquations,
    Alias,
    NamedSum,
    Chain,
}

impl Rewriting {
    pub const ALL: [Self; 8] = [
        Self::FactorsAsParameters,
        Self::OrderOfEquations,
        Self::OrderOfDeclarations,
        Self::OtherNames,
        Self::ScaledEquations,
        Self::Alias,
        Self::NamedSum,
        Self::Chain,
    ];

    /// The name of an unknown of the system in the text.
    pub fn name(self, unknown: usize) -> String {
        if self == Self::OtherNames {
            // The alphabet backwards, so that the order of names turns over.
            format!("{}_var", char::from(b'z' - unknown as u8))
        } else {
            format!("x{unknown}")
        }
    }

    /// The text of a system written this way.
    pub fn text(self, system: &System, number: u64) -> String {
        let dice = &mut Dice(number ^ 0xca11);
        let n = system.starts.len();
        let mut parameters: Vec<String> = Vec::new();
        let mut more = Vec::new();
        let mut declarations: Vec<String> = (0..n)
            .map(|i| format!("  Real {}(start = {});\n", self.name(i), system.starts[i]))
            .collect();
        let mut chained = vec![false; n];
        let mut lines: Vec<String> = Vec::new();
        for equation in &system.equations {
            let mut parts: Vec<String> = Vec::new();
            for term in &equation.terms {
                let factor = if self == Self::FactorsAsParameters {
                    parameters.push(format!(
                        "  parameter Real k{} = {};\n",
                        parameters.len(),
                        term.factor
                    ));
                    format!("k{}", parameters.len() - 1)
                } else {
                    format!("({})", term.factor)
                };
                let name = self.name(term.unknown);
                let value = match (term.order, term.power) {
                    (0, 1) => name,
                    (0, power) => format!("{name}^{power}"),
                    (1, _) => format!("der({name})"),
                    _ if self == Self::Chain => {
                        if !std::mem::replace(&mut chained[term.unknown], true) {
                            more.push(format!("  Real rate_{name};\n"));
                            lines.push(format!("rate_{name} = der({name})"));
                        }
                        format!("der(rate_{name})")
                    }
                    _ => format!("der(der({name}))"),
                };
                parts.push(format!("{factor}*{value}"));
            }
            lines.push(format!("{} = {}", parts.join(" + "), equation.right));
        }
        self.change_lines(system, dice, &mut lines, &mut more);
        if self == Self::OrderOfDeclarations {
            dice.shuffle(&mut declarations);
        }
        let lines: Vec<String> = lines.iter().map(|line| format!("  {line};\n")).collect();
        format!(
            "model M\n{}{}{}equation\n{}end M;\n",
            parameters.concat(),
            declarations.concat(),
            more.concat(),
            lines.concat()
        )
    }

    /// Changes that act on whole equations.
    fn change_lines(
        self,
        system: &System,
        dice: &mut Dice,
        lines: &mut Vec<String>,
        more: &mut Vec<String>,
    ) {
        match self {
            Self::OrderOfEquations => dice.shuffle(lines),
            Self::ScaledEquations => {
                for line in lines.iter_mut() {
                    let (left, right) = line.split_once(" = ").expect("an equation");
                    let scale = 10f64.powi(dice.below(13) as i32 - 6);
                    *line = format!("{scale:e}*({left}) = {scale:e}*({right})");
                }
            }
            Self::Alias => {
                // An undifferentiated occurrence is replaced, so that no order of derivative rises.
                let at = dice.below(lines.len());
                let plain = system.equations[at]
                    .terms
                    .iter()
                    .find(|t| t.order == 0 && t.power == 1);
                if let Some(term) = plain {
                    let name = self.name(term.unknown);
                    lines[at] = lines[at].replace(&format!("*{name} "), "*same ");
                    if lines[at].contains("*same ") {
                        more.push("  Real same;\n".to_string());
                        lines.push(format!("same = {name}"));
                    }
                }
            }
            Self::NamedSum => {
                let at = dice.below(lines.len());
                if system.equations[at]
                    .terms
                    .iter()
                    .all(|term| term.order == 0)
                {
                    let (left, right) = lines[at].split_once(" = ").expect("an equation");
                    let line = format!("total = {right}");
                    let definition = format!("total = {left}");
                    lines[at] = line;
                    lines.push(definition);
                    more.push("  Real total;\n".to_string());
                }
            }
            _ => {}
        }
    }
}
