//! Which form of a model holds at a point: the one without its trivial equations, a rewritten one, or the whole derivative array.

use super::shape::Shape;
use super::standing::{Anywhere, BlockForm, BlockRank, Regularity};
use crate::System;
use crate::elimination::Reduced;
use crate::initial::{ConsistentPoint, TaylorJet, nominal};
use crate::repair::{Names, Repair, RepairBudget, Repaired, repair};
use crate::structure::Structure;
use daelight_lang::Symbol;
use daelight_linalg::Verdict;
use std::sync::Arc;
use std::time::Instant;

/// The forms that a model can be solved in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormId {
    /// Without its trivial equations.
    Trimmed,
    /// Rewritten so that its structure holds.
    Repaired,
    /// As it stands, with all derivatives at once.
    Array,
}

/// The form that holds at a point, and what was seen of those that were looked at.
#[derive(Clone, Debug)]
pub struct FormChoice {
    /// The form; `None` where the structure fails everywhere and is not repaired.
    pub form: Option<FormId>,
    /// The forms in the order in which they were looked at. Blocks are those of the equations as written, or of the rewritten ones.
    pub tried: Vec<(FormId, Regularity)>,
    /// The rewritten equations, or why there are none.
    pub repair: RepairPart,
}

impl FormChoice {
    /// Whether the structure of the model itself holds.
    pub fn standing(&self) -> &Regularity {
        &self.tried[0].1
    }
}

/// What came of repairing the structure of a model.
#[derive(Clone)]
pub enum RepairPart {
    /// The structure holds as written, or fails at the point only.
    NotNeeded,
    /// The repaired structure, verified at the consistent point.
    Repaired(Box<Repaired>),
    /// A repair that the point cannot confirm, because it is singular or not known: its blocks tell where the model can
    /// become singular, its index is not claimed.
    Unverified(Box<Repaired>),
    /// No repair that can be relied on, and why.
    Failed(String),
}

impl RepairPart {
    /// The rewritten equations, confirmed or not.
    pub fn repaired(&self) -> Option<&Repaired> {
        match self {
            Self::Repaired(repaired) | Self::Unverified(repaired) => Some(repaired),
            Self::NotNeeded | Self::Failed(_) => None,
        }
    }

    /// The same seen against the degrees of freedom that ranks decided: a repair that promises others is not relied on.
    pub(crate) fn confirmed_by(self, dof: Option<usize>) -> Self {
        match (self, dof) {
            (Self::Repaired(repaired) | Self::Unverified(repaired), Some(dof)) => {
                match repaired.n_degrees_of_freedom() {
                    found if found == dof as u64 => Self::Repaired(repaired),
                    found => Self::Failed(format!(
                        "degrees of freedom: {found} by the repaired structure, {dof} by the derivative array"
                    )),
                }
            }
            (part, _) => part,
        }
    }
}

impl std::fmt::Debug for RepairPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotNeeded => write!(f, "NotNeeded"),
            Self::Repaired(repaired) => write!(f, "Repaired({})", repaired.text()),
            Self::Unverified(repaired) => write!(f, "Unverified({})", repaired.text()),
            Self::Failed(because) => write!(f, "Failed({because})"),
        }
    }
}

/// A model with the forms that it can be solved in.
///
/// What follows from the equations alone is made once and shared by all copies of a [`System`]; what sample points tell of them is
/// kept until a parameter changes that it depends on.
///
/// ```
/// use daelight_analysis::System;
/// use daelight_analysis::dae::FormId;
/// use daelight_analysis::initial::{Request, StageOffsets, consistent_point};
/// use daelight_lang::{Options, load};
///
/// let text = "model Root  Real x(start = 2), y(start = 1), z;  equation  der(x) = z;  z = y;  y^2 = x - 1;  end Root;";
/// let model = load("root.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
/// let system = System::new(&model)?;
/// let offsets = system.dae().sound().map(StageOffsets::of);
/// let point = consistent_point(&system, offsets, &Request::of_model(&system, 0.0, 1)).ok();
/// let choice = system.dae().form_at(&point.expect("y = 1"), None);
/// assert_eq!(choice.form, Some(FormId::Trimmed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Dae<'a> {
    pub(crate) system: &'a System,
    pub(crate) shape: &'a Shape,
    pub(crate) anywhere: &'a std::sync::OnceLock<Anywhere>,
}

impl<'a> Dae<'a> {
    /// The equations without the trivial ones.
    pub fn trimmed(&self) -> &'a Arc<Reduced> {
        &self.shape.trimmed
    }

    /// The offsets and blocks of the equations as written, where they hold at some sample point.
    pub fn sound(&self) -> Option<&'a Structure> {
        let structure = self.system.structure().ok()?;
        self.anywhere().holds().then_some(structure)
    }

    /// Whether the equations as written have a structure somewhere: the determinant without the trivial ones can vanish with them alone.
    fn has_array(&self) -> bool {
        let Ok(structure) = self.system.structure() else {
            return false;
        };
        let parameters = self.system.parameters().values();
        let written = || BlockForm::new(self.system.equations(), structure, parameters);
        self.anywhere().holds() || written().anywhere_in(self.system).holds()
    }

    /// What sample points tell.
    fn anywhere(&self) -> &'a Anywhere {
        self.anywhere.get_or_init(|| {
            let form = self.shape.form(self.system);
            form.map_or(Anywhere::default(), |form| form.anywhere_in(self.system))
        })
    }

    /// Whether the structure holds at a jet; `None` without a structure.
    pub fn standing_at(&self, time: f64, jet: &TaylorJet) -> Option<Regularity> {
        let form = self.shape.form(self.system)?;
        let everywhere = &self.anywhere().singular;
        let found = form.at(time, jet, &nominal(self.system), everywhere);
        Some(match found {
            Regularity::SingularHere(ranks) => Regularity::SingularHere(self.told(&ranks)),
            Regularity::SingularEverywhere(ranks) => {
                Regularity::SingularEverywhere(self.told(&ranks))
            }
            other => other,
        })
    }

    /// Whether no rounding makes a block singular at a jet.
    pub(crate) fn is_certain_at(&self, time: f64, jet: &TaylorJet) -> bool {
        let form = self.shape.form(self.system);
        form.is_some_and(|form| {
            let value = |symbol| form.value(symbol, time, jet);
            form.uncertain_at(&value).is_empty()
        })
    }

    /// How far a jet is from singular: the smallest singular value of all blocks, relative to what it is at jets beside it.
    pub(crate) fn margin_at(&self, time: f64, jet: &TaylorJet) -> Option<f64> {
        let form = self.shape.form(self.system)?;
        form.margin(time, jet, &nominal(self.system))
    }

    /// Ranks of blocks as those of the written equations that most of each is part of; trivial equations are regular.
    fn told(&self, ranks: &[BlockRank]) -> Vec<BlockRank> {
        let Ok(written) = self.system.structure() else {
            return Vec::new();
        };
        let mut told: Vec<BlockRank> = Vec::new();
        for rank in ranks {
            let (block, n) = self.shape.blocks[rank.block];
            if told.iter().any(|other| other.block == block) {
                continue;
            }
            let mut decision = rank.decision.clone();
            let missing = n - decision.rank;
            decision.rank = (written.blocks()[block].equations.len()).saturating_sub(missing);
            told.push(BlockRank { block, decision });
        }
        told
    }

    /// The form that holds at a point, by the structure without trivial equations where it holds, else by a repair of it.
    ///
    /// A repair needs the jet of its new unknowns, which may be longer than this one: [`Dae::confirm`] looks at it.
    pub fn form_at(&self, point: &ConsistentPoint, deadline: Option<Instant>) -> FormChoice {
        let is_guess = point.residual.is_nan() && self.sound().is_some();
        let sides_found = !point.pins.is_empty() && !point.structure_fails;
        let standing = match is_guess || sides_found {
            // A guess tells nothing. On switches the sides of the text mean nothing; with those of the point its coefficients
            // were found.
            true => Some(Regularity::Regular),
            false => self.standing_at(point.time, &point.jet),
        };
        let standing = standing.unwrap_or(Regularity::Unknown(UNMATCHED.to_string()));
        if matches!(standing, Regularity::Regular) && !point.structure_fails {
            return FormChoice {
                form: Some(FormId::Trimmed),
                tried: vec![(FormId::Trimmed, standing)],
                repair: RepairPart::NotNeeded,
            };
        }
        let repair = self.repaired(Some((point.time, &point.jet)), deadline);
        let may_hold = matches!(standing, Regularity::Regular | Regularity::Unknown(_));
        let form = match &repair {
            RepairPart::Repaired(_) | RepairPart::Unverified(_) => Some(FormId::Repaired),
            _ if may_hold && point.pins.is_empty() => Some(FormId::Trimmed),
            _ => self.has_array().then_some(FormId::Array),
        };
        FormChoice {
            form,
            tried: vec![(FormId::Trimmed, standing)],
            repair,
        }
    }

    /// What is known of the forms where no point was found: at the jet where a search ended, or nowhere.
    pub(crate) fn form_near(
        &self,
        time: f64,
        jet: Option<&TaylorJet>,
        deadline: Instant,
    ) -> FormChoice {
        let at_jet = jet.and_then(|jet| self.standing_at(time, jet));
        let standing = at_jet.unwrap_or_else(|| match self.sound() {
            Some(_) => Regularity::Unknown("there is no point to look at".to_string()),
            None => Regularity::SingularEverywhere(self.told(&self.anywhere().singular)),
        });
        let repair = match (&standing, jet) {
            (Regularity::Regular, _) => RepairPart::NotNeeded,
            (Regularity::SingularEverywhere(_), _) | (_, Some(_)) => {
                self.repaired(jet.map(|jet| (time, jet)), Some(deadline))
            }
            (_, None) => RepairPart::NotNeeded,
        };
        FormChoice {
            form: None,
            tried: vec![(FormId::Trimmed, standing)],
            repair,
        }
    }

    /// Looks at the rewritten equations at a point whose jet reaches their new unknowns; where they are singular too, the whole
    /// derivative array is left.
    pub fn confirm(&self, choice: &mut FormChoice, point: &ConsistentPoint) {
        let (Some(FormId::Repaired), Some(repaired)) = (choice.form, choice.repair.repaired())
        else {
            return;
        };
        // A guess tells nothing, and sides of switches were tried.
        if point.residual.is_nan() || (!point.pins.is_empty() && !point.structure_fails) {
            return;
        }
        let n = repaired.structure().n();
        let offsets = repaired.structure().offsets();
        let n_orders = offsets.variable.iter().max().map_or(1, |d| d + 1);
        let lifted = repaired.lifted(point.time, &point.jet, n_orders);
        let rows = lifted.unwrap_or_else(|| vec![point.jet.values().to_vec()]);
        let mut jet = TaylorJet::at_rest(&vec![0.0; n], rows.len());
        for (order, row) in rows.iter().enumerate() {
            for (unknown, &value) in row.iter().enumerate() {
                jet.set(unknown, order, value);
            }
        }
        let mut sizes = nominal(self.system);
        sizes.resize(n, 1.0);
        let parameters = self.system.parameters().values();
        let form = BlockForm::new(repaired.equations(), repaired.structure(), parameters);
        let standing = form.at(point.time, &jet, &sizes, &[]);
        let may_hold = matches!(standing, Regularity::Regular | Regularity::Unknown(_));
        if !may_hold || !point.pins.is_empty() {
            choice.form = Some(FormId::Array);
        }
        choice.tried.push((FormId::Repaired, standing));
    }

    /// Repairs a structure that is singular everywhere, or along the solution through a point.
    fn repaired(&self, point: Option<(f64, &TaylorJet)>, deadline: Option<Instant>) -> RepairPart {
        let system = self.system;
        let Ok(structure) = system.structure() else {
            return RepairPart::Failed(UNMATCHED.to_string());
        };
        let symbols = system.equations().symbols();
        let value = |symbol: Symbol| match (symbol, point) {
            (Symbol::Unknown { unknown, order }, Some((_, jet))) => {
                jet.derivative(unknown, order as usize)
            }
            (known, Some((time, _))) => symbols.value_at(known, time),
            (_, None) => f64::NAN,
        };
        let known: Option<&dyn Fn(Symbol) -> f64> = point.is_some().then_some(&value);
        let budget = RepairBudget {
            deadline,
            ..RepairBudget::default()
        };
        let names = Names::of_system(system);
        let parameters = system.parameters().values();
        let equations = system.equations();
        match repair(equations, structure, parameters, known, &names, &budget) {
            Repair::Repaired(repaired) if repaired.verdict() == Verdict::Unknown => {
                RepairPart::Unverified(repaired)
            }
            Repair::Repaired(repaired) => RepairPart::Repaired(repaired),
            Repair::Unknown { because, .. } => RepairPart::Failed(because.to_string()),
            Repair::NotNeeded | Repair::SingularHere { .. } => RepairPart::NotNeeded,
        }
    }
}

const UNMATCHED: &str = "equations and unknowns do not match";
