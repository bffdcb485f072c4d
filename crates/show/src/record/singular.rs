//! The parts of the document of `singular`.

use crate::scene::Scene;
use crate::words::count;
use serde::Serialize;
use serde_json::{Map, Value};

/// What `daelight singular --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct SingularRecord {
    /// Name of the model.
    pub model: String,
    /// The constraints as written.
    pub constraints: Vec<String>,
    /// The unknowns of the constraints.
    pub unknowns: Vec<String>,
    /// The unknowns that are locked.
    pub locked: Vec<String>,
    /// The parameters that are kept as symbols.
    pub parameters: Vec<String>,
    /// Those of them that are lengths: what is told holds for positive values of these.
    pub positive: Vec<String>,
    /// The directions of the bodies, as angles.
    pub directions: Vec<String>,
    /// The ways to be singular.
    pub cases: Vec<SingularCaseRecord>,
    /// Whether these are all ways.
    pub cases_complete: bool,
    /// Cases that occur, over the complex numbers, whatever the symbols are.
    pub always: Vec<usize>,
    /// Single conditions on the symbols.
    pub locus: Vec<LocusFactorRecord>,
    /// Several conditions at once.
    pub components: Vec<LocusComponentRecord>,
    /// Polynomials at whose zeros there may be more.
    pub exceptional: Vec<String>,
    /// Where pieces have real configurations, over one or two symbols.
    pub regions: Vec<PieceRegionsRecord>,
    /// Numbers of real configurations of the whole mechanism, over one or two symbols.
    pub counts: Vec<RegionRecord>,
    /// Where the whole mechanism has at least so many, by inequalities; empty if they were not found.
    pub conditions: Vec<CountConditionRecord>,
    /// What these inequalities bound.
    pub quantities: Vec<QuantityRecord>,
    /// Numbers on the curves between the regions and at the points where curves meet.
    pub curve_counts: Vec<CurveCountRecord>,
    /// The real singular configurations.
    pub configurations: Vec<ConfigurationRecord>,
    /// Pieces of positive dimension, with real configurations in them.
    pub sets: Vec<SingularSetRecord>,
    /// Real configurations that are a manifold, proved without a basis where bases took too long; otherwise `null`.
    pub manifold: Option<ManifoldRecord>,
    /// How many were found; `null` when symbols are kept.
    pub n_configurations: Option<usize>,
    /// Whether there is none; `null` when that is not decided or a matter of the symbols.
    pub empty: Option<bool>,
    /// Whether the constraints have a real solution; `null` when that was not asked or not decided.
    pub has_solutions: Option<bool>,
    /// `proved`, `observed` or `unknown`.
    pub verdict: &'static str,
    /// What the verdict rests on.
    pub certificate: String,
    /// Why something is not decided.
    pub reasons: Vec<String>,
    /// Whether the time was over.
    pub time_budget_reached: bool,
    /// What to know beside the answer.
    pub warnings: Vec<String>,
    /// Whether the model has a drawing.
    #[serde(skip)]
    pub has_drawing: bool,
    /// The mechanism in the configurations, then in samples of sets, if there are any.
    #[serde(skip)]
    pub scene: Option<Scene>,
}

impl SingularRecord {
    /// What the list of cases is.
    pub fn title_of_cases(&self) -> &'static str {
        let is_empty = self.cases.iter().all(|case| case.contained_in.is_some());
        match (is_empty, self.cases_complete) {
            (true, true) => "no case: the Jacobian has full rank everywhere",
            (true, false) => "no case was found before a limit was reached",
            (false, true) => "the Jacobian loses rank exactly in these cases",
            (false, false) => "the Jacobian loses rank in these cases, and perhaps in others",
        }
    }

    /// Whether there are pieces of positive dimension that may have real configurations.
    pub fn has_sets(&self) -> bool {
        self.sets.iter().any(|set| !set.empty) || self.manifold.is_some()
    }

    /// What was found, in a few words.
    pub fn found(&self) -> String {
        match (self.n_configurations, self.empty) {
            _ if self.has_solutions == Some(false) => {
                "the constraints have no real solution at these values: nothing can be singular"
                    .to_string()
            }
            (_, Some(true)) => "no real singular configuration".to_string(),
            (Some(n), _) if self.has_sets() => {
                let is_real = self.sets.iter().any(|set| set.real_dimension.is_some());
                let sets = match is_real || self.manifold.is_some() {
                    true => "infinitely many real singular configurations",
                    false => "sets of singular configurations",
                };
                match n {
                    0 => sets.to_string(),
                    n => format!(
                        "{sets}, and {} found",
                        count(n, "further real configuration")
                    ),
                }
            }
            (Some(n), _) => format!("{} found", count(n, "real singular configuration")),
            (None, _) => "conditions on the symbols as above".to_string(),
        }
    }
}

/// A way to be singular.
#[derive(Serialize, Debug, Clone)]
pub struct SingularCaseRecord {
    /// In words.
    pub text: String,
    /// Groups of aligned bodies.
    pub aligned: Vec<Vec<String>>,
    /// Bodies of fixed direction.
    pub fixed: Vec<String>,
    /// What carries force.
    pub force: Vec<String>,
    /// What carries none.
    pub no_force: Vec<String>,
    /// The conditions as equations.
    pub conditions: Vec<String>,
    /// The case that holds wherever this one does, from 1.
    pub contained_in: Option<usize>,
}

/// A condition on the symbols.
#[derive(Serialize, Debug, Clone)]
pub struct LocusFactorRecord {
    /// It vanishes.
    pub factor: String,
    /// That as an equation, solved where it is linear in its only symbol.
    pub condition: String,
    /// Whether it can vanish with positive lengths; `false` is proved.
    pub physical: bool,
    /// Whether it is proved to be irreducible.
    pub irreducible: bool,
    /// The bodies that carry force.
    pub subsystem: Vec<String>,
    /// The cases, from 1.
    pub cases: Vec<usize>,
}

/// Several conditions on the symbols.
#[derive(Serialize, Debug, Clone)]
pub struct LocusComponentRecord {
    /// All of them vanish.
    pub generators: Vec<String>,
    /// Whether they can vanish with positive lengths; `false` is proved.
    pub physical: bool,
    /// The case, from 1.
    pub case: usize,
}

/// Where a piece has real configurations.
#[derive(Serialize, Debug, Clone)]
pub struct PieceRegionsRecord {
    /// The case, from 1.
    pub case: usize,
    /// The senses of its bodies, as equations.
    pub senses: Vec<String>,
    /// Complex points with their multiplicities, for general values.
    pub complex_points: usize,
    /// The number of real ones changes only where one of these vanishes.
    pub boundary: Vec<String>,
    /// Polynomials at whose zeros the numbers do not hold.
    pub exceptional: Vec<String>,
    /// The numbers by the signs of the boundary polynomials.
    pub counts: Vec<RegionRecord>,
    /// Where there are at least so many, by inequalities; empty if they were not found.
    pub conditions: Vec<CountConditionRecord>,
    /// What these inequalities bound.
    pub quantities: Vec<QuantityRecord>,
}

/// Where there are at least so many real configurations, away from the curves between regions.
#[derive(Serialize, Debug, Clone)]
pub struct CountConditionRecord {
    /// The number of real configurations.
    pub at_least: usize,
    /// The condition in one line.
    pub text: String,
    /// Lists of inequalities; all of one list hold.
    pub any_of: Vec<Vec<BoundsRecord>>,
}

/// Strict bounds of a quantity.
#[derive(Serialize, Debug, Clone)]
pub struct BoundsRecord {
    /// The quantity, as a polynomial in the symbols.
    pub quantity: String,
    /// It is larger; `null` if there is no such bound.
    pub above: Option<f64>,
    /// It is smaller; `null` if there is no such bound.
    pub below: Option<f64>,
}

/// A polynomial in the symbols, and the values at which numbers of configurations change.
#[derive(Serialize, Debug, Clone)]
pub struct QuantityRecord {
    /// The polynomial.
    pub quantity: String,
    /// The values, ascending.
    pub values: Vec<f64>,
    /// For each value a polynomial in `z` of which it is a root.
    pub root_of: Vec<String>,
}

/// Values of the symbols with the same number of real configurations.
#[derive(Serialize, Debug, Clone)]
pub struct RegionRecord {
    /// The signs of the boundary polynomials: `<` or `>`; empty for the whole mechanism.
    pub signs: Vec<&'static str>,
    /// Values of the symbols inside.
    pub sample: Map<String, Value>,
    /// The number of real configurations.
    pub count: usize,
    /// Cells of the division that have it.
    pub cells: usize,
    /// Whether the constraints have a real solution there; `null` for a single piece, or when that was not decided.
    pub has_solutions: Option<bool>,
}

/// The number of real configurations on arcs of curves, or at points.
#[derive(Serialize, Debug, Clone)]
pub struct CurveCountRecord {
    /// 1 on arcs, 0 at points.
    pub dimension: usize,
    /// The number of real configurations.
    pub count: usize,
    /// Values of the symbols there, rounded.
    pub sample: Map<String, Value>,
    /// The polynomials that vanish at the sample.
    pub curves: Vec<String>,
    /// Arcs or points that have it.
    pub cells: usize,
}

/// A piece of positive dimension.
#[derive(Serialize, Debug, Clone)]
pub struct SingularSetRecord {
    /// The case, from 1.
    pub case: usize,
    /// The dimension over the complex numbers.
    pub dimension: usize,
    /// The dimension of the real part next to a sample; `null` if that is not proved.
    pub real_dimension: Option<usize>,
    /// Whether it is proved to have no real configuration.
    pub empty: bool,
    /// Real configurations in it.
    pub samples: Vec<ConfigurationRecord>,
}

/// Real singular configurations that are a manifold.
#[derive(Serialize, Debug, Clone)]
pub struct ManifoldRecord {
    /// Its dimension.
    pub dimension: usize,
    /// Positions, cosines and sines at one of them.
    pub values: Map<String, Value>,
    /// Its angles, as those of a configuration.
    pub angles: Map<String, Value>,
}

/// A real singular configuration.
#[derive(Serialize, Debug, Clone)]
pub struct ConfigurationRecord {
    /// Positions, cosines and sines.
    pub values: Map<String, Value>,
    /// Angles in (-pi, pi]: those of the model where they are determined, otherwise those of the directions.
    pub angles: Map<String, Value>,
    /// Largest residual of the constraints, relative to their largest coefficient.
    pub residual: f64,
    /// Whether it is proved.
    pub certified: bool,
    /// Multiplicity of the point in its piece.
    pub multiplicity: u32,
    /// How much rank the Jacobian lacks, decided exactly; `null` if a limit came first.
    pub corank: Option<usize>,
    /// Half the width of a box of cosines, sines and positions that holds no other point of its piece; `null` if none was
    /// found.
    pub unique_within: Option<f64>,
    /// The cases, from 1.
    pub cases: Vec<usize>,
}

/// Inequalities that hold together, with names for the quantities.
pub fn inequalities<'a>(all: &'a [BoundsRecord], name: &dyn Fn(&'a str) -> &'a str) -> String {
    let each: Vec<String> = (all.iter())
        .map(|bounds| {
            let quantity = name(&bounds.quantity);
            match (bounds.above, bounds.below) {
                (Some(above), Some(below)) => format!("{above} < {quantity} < {below}"),
                (Some(above), None) => format!("{quantity} > {above}"),
                (None, Some(below)) => format!("{quantity} < {below}"),
                (None, None) => quantity.to_string(),
            }
        })
        .collect();
    match each.is_empty() {
        true => "everywhere".to_string(),
        false => each.join(" and "),
    }
}
