//! Repair of structures whose system Jacobian is singular everywhere.
//!
//! Where the system Jacobian is singular at all points, the structure of the equations as written says nothing: the
//! offsets miss that terms cancel. Then the equations are rewritten, by a combination of some of them and their
//! derivatives, or by new unknowns for expressions, until the system Jacobian is nonsingular at random jets. The
//! solutions stay the same, except where one of the [suspects](Repaired::suspects) vanishes. The method is due to
//! Tan, Nedialkov and Pryce (2016); `docs/theory/repair.md` has the formulas and says what the answer is worth.
//!
//! ```
//! use daelight_analysis::System;
//! use daelight_analysis::repair::{Names, Repair, RepairBudget, repair};
//! use daelight_analysis::structure::Structure;
//! use daelight_lang::{Options, load};
//!
//! let text = "model Hidden  Real x, y;  equation
//!             der(x) + time*der(y) = sin(time);  x + time*y = cos(time);  end Hidden;";
//! let model = load("hidden.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
//! let system = System::new(&model)?;
//! let structure = Structure::of_equations(system.equations())?;
//! assert_eq!((structure.structural_index(), structure.n_degrees_of_freedom()), (1, 1));
//!
//! let names = Names::of_system(&system);
//! let parameters = system.parameters().values();
//! let Repair::Repaired(repaired) =
//!     repair(system.equations(), &structure, parameters, None, &names, &RepairBudget::default())
//! else {
//!     panic!("this one is easy");
//! };
//! assert_eq!((repaired.structural_index(), repaired.n_degrees_of_freedom()), (2, 0));
//! assert_eq!(repaired.steps()[0].text, "(equation 1) - der(equation 2) replaces equation 1: -y - 2*sin(time) = 0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cancel;
pub(crate) mod jets;
mod null;
mod repaired;
mod work;

pub use repaired::{EquationOrigin, Extra, Lift, RepairStep, Repaired, StepKind, Suspect, Term};

use crate::dae::BlockForm;
use crate::elimination::Reduced;
use crate::equations::Equations;
use crate::structure::Structure;
use crate::system::System;
use daelight_lang::Symbol;
use jets::Jets;
use std::fmt;
use std::time::Instant;
use work::{Preference, Work};

/// Repairs the structure of equations, if that is needed and within the budget.
///
/// The structure is that of the equations, [`Structure::of_equations`]. A block of the system Jacobian that is regular
/// at one random jet, or at the `point` if the caller has one, is left alone: where it is singular it has a locus, not
/// a fault of structure. With a consistent `point` one more kind of fault is seen: entries that vanish along all
/// solutions because equations were multiplied by functions of the state and added. A regular structure costs one evaluation of the system Jacobian and one factorisation of each
/// block.
///
/// There is one value for each parameter of the model, and the result belongs to these values.
pub fn repair(
    equations: &Equations,
    structure: &Structure,
    parameters: &[f64],
    point: Option<&dyn Fn(Symbol) -> f64>,
    names: &Names<'_>,
    budget: &RepairBudget,
) -> Repair {
    let form = BlockForm::new(equations, structure, parameters);
    let blocks = form.anywhere(point);
    let irregular_here = point.map_or(Vec::new(), |point| form.uncertain_at(point));
    if blocks.singular.is_empty() {
        if let Some(&block) = blocks.unclear.first() {
            return Repair::Unknown {
                because: NotRepaired::RankUnclear {
                    n: structure.blocks()[block].equations.len(),
                },
                steps: Vec::new(),
            };
        }
        if irregular_here.is_empty() {
            return Repair::NotNeeded;
        }
    }
    let mut first = None;
    for preference in [Preference::Combination, Preference::Substitution] {
        let jets = Jets::new(parameters);
        let mut work = Work::new(equations, &jets, point, names, budget);
        let repaired = work.run(preference);
        match repaired.and_then(|()| work.finish(equations, names, budget)) {
            // Where nothing was singular at random jets, only a drop of the value shows that the structure was wrong.
            Ok(repaired)
                if blocks.singular.is_empty()
                    && repaired.n_degrees_of_freedom() == structure.n_degrees_of_freedom() =>
            {
                return Repair::SingularHere {
                    blocks: irregular_here,
                };
            }
            Ok(repaired) => return Repair::Repaired(Box::new(repaired)),
            Err(because) => first = first.or(Some((because, work.into_steps()))),
        }
    }
    let (because, steps) = first.unwrap_or((NotRepaired::NoStep, Vec::new()));
    Repair::Unknown { because, steps }
}

/// What came of a repair.
#[derive(Clone)]
pub enum Repair {
    /// The system Jacobian is nonsingular at a random jet: there is nothing to repair.
    NotNeeded,
    /// The system Jacobian is nonsingular at a random jet, but not at the caller's point: a locus, or entries that
    /// vanish along all solutions. Which of them is not known, and nothing was found to rewrite.
    SingularHere {
        /// The blocks that are not certainly nonsingular at the point.
        blocks: Vec<usize>,
    },
    /// The equations were rewritten, and the new system Jacobian is nonsingular at a random jet. What that is worth
    /// at solutions says [`Repaired::verdict`].
    Repaired(Box<Repaired>),
    /// It is not known how, or whether at all.
    Unknown {
        /// What stood in the way.
        because: NotRepaired,
        /// The steps that were taken before, in the user's names.
        steps: Vec<RepairStep>,
    },
}

/// Why a structure was not repaired.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum NotRepaired {
    /// The rank of a block is undecided at all jets, has no value there, or the block is too large and badly conditioned.
    RankUnclear {
        /// Number of equations of the block.
        n: usize,
    },
    /// Whether an expression vanishes could not be decided.
    ZeroUnclear,
    /// A block is too large for an elimination on expressions.
    BlockTooLarge {
        /// Number of equations of the block.
        n: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// No combination and no substitution makes the structure better.
    NoStep,
    /// A combination of equations holds none of the unknowns: the equations depend on each other or contradict.
    Dependent {
        /// The combination in the user's names, with what is left of it if that is short.
        text: String,
    },
    /// The rewritten equations have no transversal: some are too many for their unknowns.
    NoTransversal {
        /// The last step in the user's names.
        text: String,
    },
    /// The budget of this was used up.
    Budget(&'static str),
}

impl fmt::Display for NotRepaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RankUnclear { n } => {
                write!(
                    f,
                    "the rank of a block of {n} equations is undecided at random jets"
                )
            }
            Self::ZeroUnclear => write!(f, "whether an expression is zero everywhere is undecided"),
            Self::BlockTooLarge { n, most } => write!(
                f,
                "the singular block has {n} equations; expressions are eliminated up to {most}"
            ),
            Self::NoStep => write!(
                f,
                "no combination of equations and no new unknown makes the structure better"
            ),
            Self::Dependent { text } => {
                write!(
                    f,
                    "the equations depend on each other: {text} holds no unknown"
                )
            }
            Self::NoTransversal { text } => write!(
                f,
                "some equations are too many for their unknowns, once {text}"
            ),
            Self::Budget(what) => write!(f, "the budget of {what} is used up"),
        }
    }
}

/// Limits of a repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepairBudget {
    /// Most steps.
    pub steps: usize,
    /// Most nodes that are added to the expression graph.
    pub nodes: usize,
    /// Most equations of a block whose null vectors are computed.
    pub block: usize,
    /// Longest expression, in bytes, that is written into the text of a step.
    pub text: usize,
    /// When to give up, if that matters.
    pub deadline: Option<Instant>,
}

impl Default for RepairBudget {
    /// Enough for a dozen equations mixed by functions of the state, and for more with constant factors. To use it up
    /// takes about a second.
    fn default() -> Self {
        Self {
            steps: 30,
            nodes: 60_000,
            block: 40,
            text: 160,
            deadline: None,
        }
    }
}

/// Appends the name of a symbol.
type WriteSymbol<'a> = dyn Fn(Symbol, &mut String) + 'a;

/// How symbols and equations are called in texts.
pub struct Names<'a> {
    symbol: Box<WriteSymbol<'a>>,
    equation: Box<dyn Fn(usize) -> String + 'a>,
}

impl<'a> Names<'a> {
    /// The names of the model, equations by line, or by number from 1 on.
    pub fn of_system(system: &'a System) -> Self {
        Self::new(
            |symbol, text| system.write_name(symbol, text),
            |equation| system.equation_name(equation),
        )
    }

    /// The names of the model for its reduced equations, which keep their names in the model.
    pub fn of_reduced(system: &'a System, reduced: &'a Reduced) -> Self {
        Self::new(
            |symbol, text| system.write_name(symbol, text),
            |equation| system.equation_name(reduced.kept_equations()[equation]),
        )
    }

    /// Any names: of symbols that occur in the equations, and of equations by position.
    pub fn new(
        symbol: impl Fn(Symbol, &mut String) + 'a,
        equation: impl Fn(usize) -> String + 'a,
    ) -> Self {
        Self {
            symbol: Box::new(symbol),
            equation: Box::new(equation),
        }
    }

    fn symbol_text(&self, symbol: Symbol) -> String {
        let mut text = String::new();
        (self.symbol)(symbol, &mut text);
        text
    }
}
