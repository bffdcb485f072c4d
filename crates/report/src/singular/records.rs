//! The parts of the document of `singular`.

use serde::Serialize;
use serde_json::{Map, Value};

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
    pub conditions: Vec<ConditionRecord>,
    /// What these inequalities bound.
    pub quantities: Vec<QuantityRecord>,
}

/// Where there are at least so many real configurations, away from the curves between regions.
#[derive(Serialize, Debug, Clone)]
pub struct ConditionRecord {
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
