//! Guesses for unknowns of components that must not be zero: what their own equations say (`docs/theory/components.md`,
//! section 6).
//!
//! A component that divides by one of its variables seldom gives it a start value, since an equation tells it. The search for
//! a consistent point begins there, not at zero.

use super::Elaborator;
use super::function::repeat::SolvedLoop;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Symbol;
use crate::tolerances::LOOSE_LOOP;
use daelight_expr::{BinaryOp, ExprId, Node, SymbolId, UnaryOp};
use std::collections::{BTreeSet, HashMap};

impl Elaborator<'_> {
    /// Gives unknowns of loops that are solved the value of the loop at the start.
    pub(super) fn settle_loops(&mut self, start_time: f64) {
        let mut guesses = self.guesses(start_time);
        for solved in std::mem::take(&mut self.solved_loops) {
            self.settle_loop(&solved, &mut guesses);
        }
    }

    /// What equations say of unknowns at the start.
    fn guesses(&self, start_time: f64) -> Guesses {
        let mut definitions: HashMap<usize, ExprId> = HashMap::new();
        for equation in &self.equations {
            for (side, other) in [
                (equation.left, equation.right),
                (equation.right, equation.left),
            ] {
                if let Some(Symbol::Unknown { unknown, order: 0 }) =
                    self.graph.as_symbol(side).map(|id| self.symbols.get(id))
                {
                    definitions.entry(unknown).or_insert(other);
                }
            }
        }
        Guesses {
            definitions,
            known: HashMap::new(),
            start_time,
        }
    }

    /// Gives unknowns of components without a start value one, where an equation divides by them.
    pub(super) fn guess_by_definitions(&mut self, start_time: f64) {
        if self.has_errors() {
            return;
        }
        let mut guesses = self.guesses(start_time);
        for unknown in self.must_not_vanish() {
            let it = &self.unknowns[unknown];
            if it.start.is_some() || it.fixed || !it.name.contains('.') {
                continue;
            }
            let guess = self.guess(unknown, &mut guesses, 0).value;
            if guess != 0.0 && guess.is_finite() {
                let start = self.graph.constant(guess);
                self.unknowns[unknown].start = Some(start);
                self.unknowns[unknown].start_is_default = true;
            }
        }
    }

    /// Unknowns below which an equation has no value where they are zero.
    fn must_not_vanish(&mut self) -> BTreeSet<usize> {
        let residuals: Vec<ExprId> = self.equations.iter().map(|e| e.residual).collect();
        let mut below = Vec::new();
        for id in self.walker.reachable(&self.graph, &residuals).to_vec() {
            match self.graph.node(id) {
                Node::Binary(BinaryOp::Div, _, b) => below.push(b),
                Node::Binary(BinaryOp::Pow, a, _) => below.push(a),
                Node::Unary(UnaryOp::Log | UnaryOp::Log10 | UnaryOp::Sqrt, a) => below.push(a),
                _ => {}
            }
        }
        let symbols = self.walker.symbols(&self.graph, &below);
        let unknown = |id| match self.symbols.get(id) {
            Symbol::Unknown { unknown, order: 0 } => Some(unknown),
            _ => None,
        };
        symbols.into_iter().filter_map(unknown).collect()
    }

    /// The start value of an unknown, or what its equation says at those of the others; zero where nothing is said.
    fn guess(&mut self, unknown: usize, guesses: &mut Guesses, depth: usize) -> Guess {
        if let Some(&guess) = guesses.known.get(&unknown) {
            return guess;
        }
        if let Some(start) = self.unknowns[unknown].start {
            let value = self.parameter_value(start);
            return Guess { value, told: true };
        }
        // Where definitions go round in a circle they say nothing.
        guesses.known.insert(unknown, Guess::NOTHING);
        let Some(&definition) = guesses.definitions.get(&unknown) else {
            return Guess::NOTHING;
        };
        if depth >= super::MAX_DEPTH {
            return Guess::NOTHING;
        }
        let mut guess = self.guess_all(&[definition], guesses, depth + 1)[0];
        if !guess.value.is_finite() {
            guess = Guess::NOTHING;
        }
        guesses.known.insert(unknown, guess);
        guess
    }

    /// What expressions are at the guesses.
    fn guess_all(&mut self, roots: &[ExprId], guesses: &mut Guesses, depth: usize) -> Vec<Guess> {
        let mut found: HashMap<ExprId, Guess> = HashMap::new();
        for id in self.walker.reachable(&self.graph, roots).to_vec() {
            let node = self.graph.node(id);
            let guess = match node {
                Node::Symbol(symbol) => match self.symbols.get(symbol) {
                    Symbol::Unknown { unknown, order: 0 } => self.guess(unknown, guesses, depth),
                    Symbol::Parameter(_) => Guess::told(self.parameter_value(id)),
                    Symbol::Time => Guess::told(guesses.start_time),
                    _ => Guess::NOTHING,
                },
                _ => Guess {
                    value: self.graph.node_value(id, |argument| found[&argument].value),
                    told: node.arguments().all(|argument| found[&argument].told),
                },
            };
            found.insert(id, guess);
        }
        roots.iter().map(|root| found[root]).collect()
    }

    /// The numbers that a loop reads, at the start; `None` where start values and equations do not say them.
    fn around_loop(
        &mut self,
        solved: &SolvedLoop,
        guesses: &mut Guesses,
    ) -> Option<HashMap<SymbolId, f64>> {
        let mut roots = solved.round.clone();
        roots.extend([solved.goes_on, solved.enters]);
        roots.extend(&solved.starts);
        let mut at = HashMap::new();
        for id in self.walker.symbols(&self.graph, &roots) {
            let guess = match self.symbols.get(id) {
                Symbol::Unknown { unknown, order: 0 } if solved.unknowns.contains(&unknown) => {
                    continue;
                }
                Symbol::Unknown { unknown, order: 0 } => self.guess(unknown, guesses, 0),
                Symbol::Parameter(index) => Guess::told(self.parameters[index].value),
                Symbol::Time => Guess::told(guesses.start_time),
                _ => Guess::NOTHING,
            };
            at.insert(id, guess.told.then_some(guess.value)?);
        }
        Some(at)
    }

    /// Runs a loop with the numbers of the start, so that the search begins at the root that the loop finds there. A loop that
    /// leaves before it has converged is not what it converges to, and is refused.
    fn settle_loop(&mut self, solved: &SolvedLoop, guesses: &mut Guesses) {
        let Some(at) = self.around_loop(solved, guesses) else {
            self.warn_of_search(solved, "the numbers before it need start values");
            return;
        };
        let mut own = Vec::with_capacity(solved.unknowns.len());
        for &unknown in &solved.unknowns {
            own.push(self.symbols.id(Symbol::Unknown { unknown, order: 0 }));
        }
        let mut all = solved.round.clone();
        all.push(solved.goes_on);
        let below = self.walker.symbols(&self.graph, &all);
        let carried: Vec<usize> = (0..own.len())
            .filter(|&place| below.contains(&own[place]))
            .collect();
        let graph = &self.graph;
        let around = |id| at.get(&id).copied().unwrap_or(f64::NAN);
        // What a round makes of numbers, and whether the loop goes on then.
        let round = |x: &[f64]| {
            let own = |id| own.iter().position(|&known| known == id);
            let value = |id| own(id).map_or_else(|| around(id), |place| x[place]);
            let mut found = graph.evaluate(&all, value);
            let goes_on = found.pop() != Some(0.0);
            (found, goes_on)
        };
        let mut x = graph.evaluate(&solved.starts, around);
        let mut goes_on = graph.evaluate(&[solved.enters], around) != [0.0];
        for _ in rounds() {
            if !goes_on {
                break;
            }
            (x, goes_on) = round(&x);
        }
        if goes_on || x.iter().any(|x| !x.is_finite()) {
            self.warn_of_search(solved, "with the numbers of the start it does not end");
            return;
        }
        let Some((limit, loose)) = looseness(&x, &carried, round) else {
            self.warn_of_search(solved, "with the numbers of the start it does not converge");
            return;
        };
        for (&unknown, &value) in solved.unknowns.iter().zip(&limit) {
            let start = self.graph.constant(value);
            self.unknowns[unknown].start = Some(start);
            guesses.known.remove(&unknown);
        }
        if loose > LOOSE_LOOP {
            self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    solved.span,
                    "this loop ends before it has converged",
                )
                .label(format!("its numbers can be off by {loose:.1e} of their size here"))
                .help("bound the error by a smaller number, or write `for` with the number of rounds: a loop on variables is replaced by what it converges to"),
            );
        }
    }

    /// Says of a loop of the model's own text that its search begins anywhere.
    fn warn_of_search(&mut self, solved: &SolvedLoop, why: &str) {
        if solved.is_conditional || solved.span.source != self.class.name_span.source {
            return;
        }
        self.error(
            Diagnostic::warning(
                Code::Unsupported,
                solved.span,
                "this loop is solved for what it converges to, and where its search begins is not known",
            )
            .label(why)
            .help("give start values from which the loop finds its result: where there are several, another one may be found"),
        );
    }
}

/// Rounds of a loop that are run with numbers: nothing is halved more often.
fn rounds() -> std::ops::Range<i32> {
    0..f64::MAX_EXP
}

/// What is known of values at the start.
struct Guesses {
    definitions: HashMap<usize, ExprId>,
    known: HashMap<usize, Guess>,
    start_time: f64,
}

#[derive(Clone, Copy)]
struct Guess {
    value: f64,
    /// Whether start values and equations say it.
    told: bool,
}

impl Guess {
    const NOTHING: Guess = Guess {
        value: 0.0,
        told: false,
    };

    fn told(value: f64) -> Self {
        Guess { value, told: true }
    }
}

/// What a loop converges to from where it ended, and by how much of its size a number that it ends with can be off: it can leave as
/// far away as its condition lets it. `None` where it does not converge. Only numbers of which a round depends are compared:
/// errors converge to nothing but rounding.
fn looseness(
    end: &[f64],
    carried: &[usize],
    round: impl Fn(&[f64]) -> (Vec<f64>, bool),
) -> Option<(Vec<f64>, f64)> {
    let apart = |a: &[f64], b: &[f64]| {
        let share = |&at: &usize| {
            let size = a[at].abs().max(b[at].abs());
            (a[at] - b[at]).abs() / size.max(f64::MIN_POSITIVE)
        };
        carried.iter().map(share).fold(0.0, f64::max)
    };
    let is_finite = |x: &[f64]| x.iter().all(|x| x.is_finite());
    let mut limit = end.to_vec();
    let mut rests = false;
    for _ in rounds() {
        let next = round(&limit).0;
        if rests || !is_finite(&next) {
            break;
        }
        // Newton's step behind one below the root of a rounding is one.
        rests = apart(&next, &limit) <= f64::EPSILON.sqrt();
        limit = next;
    }
    rests.then_some(())?;
    let mut loose: f64 = 0.0;
    for &at in carried {
        for sign in [-1.0, 1.0] {
            let mut moved = limit.clone();
            let mut share = 1.0;
            while share > f64::EPSILON {
                moved[at] = limit[at] * (1.0 + sign * share);
                let (next, goes_on) = round(&moved);
                if !goes_on && is_finite(&next) {
                    loose = loose.max(apart(&next, &limit));
                    break;
                }
                share /= 2.0;
            }
        }
    }
    Some((limit, loose))
}
