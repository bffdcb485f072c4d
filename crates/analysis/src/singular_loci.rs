//! Where a model becomes singular: factors of the blocks' determinants, each with its kind.
//!
//! The formulas come from [`crate::locus`]; the kind of each is found by moving the jet onto the factor's zero set and
//! comparing the matrix chain there with its neighbours, (28) of `docs/theory/indices.md`. Jets off the solution serve as well.

use crate::chain::{CriticalKind, Kinds};
use crate::initial::{ConstraintArray, TaylorJet, nominal};
use crate::locus::{BlockLoci, DeterminantFactor, FactorKind, LocusOptions};
use crate::repair::{Names, Repaired};
use crate::series::MatrixSeries;
use crate::structure::{Structure, SystemJacobian};
use crate::tolerances::{DIFFERENCE, FLAT, HOLDS, NEAR};
use crate::{Equations, System};
use daelight_expr::{ExprId, SymbolId, Walker};
use daelight_lang::{Symbol, Symbols};
use daelight_linalg::Svd;
use std::time::Instant;

/// Most factors whose kind is looked for.
const MAX_KINDS: usize = 16;
/// Most terms of a determinant; larger ones are described by their block.
const MAX_TERMS: usize = 600;
/// Most products of terms for one determinant.
const MAX_PRODUCTS: usize = 200_000;

/// A set on which the model is singular.
#[derive(Clone, Debug)]
pub struct SingularLocus {
    /// The expression that vanishes on it, or a description of a block too large to expand.
    pub factor: String,
    /// Whether there is a formula.
    pub is_formula: bool,
    /// How the matrix chain changes there; `None` if not decided.
    pub kind: Option<CriticalKind>,
    /// Equations of the block, by position in the model.
    pub equations: Vec<usize>,
    /// Unknowns of the block, by name.
    pub unknowns: Vec<String>,
}

/// The structure whose blocks are looked at: that of the model, or the repaired one.
pub(crate) enum Source<'a> {
    Written(&'a Structure),
    Repaired(&'a Repaired),
}

impl Source<'_> {
    pub(crate) fn equations<'b>(&'b self, system: &'b System) -> &'b Equations {
        match self {
            Self::Written(_) => system.equations(),
            Self::Repaired(repaired) => repaired.equations(),
        }
    }

    pub(crate) fn structure(&self) -> &Structure {
        match self {
            Self::Written(structure) => structure,
            Self::Repaired(repaired) => repaired.structure(),
        }
    }

    fn jacobian(&self, system: &System) -> SystemJacobian {
        let parameters = system.parameters().values();
        SystemJacobian::new(self.equations(system), self.structure(), parameters)
    }

    /// The equations of the model behind some of these.
    fn written(&self, equations: &[usize]) -> Vec<usize> {
        let mut written: Vec<usize> = match self {
            Self::Written(_) => equations.to_vec(),
            Self::Repaired(repaired) => equations
                .iter()
                .flat_map(|&i| repaired.origins(i).iter().map(|origin| origin.equation))
                .collect(),
        };
        written.sort_unstable();
        written.dedup();
        written
    }

    fn name(&self, system: &System, unknown: usize) -> String {
        match self {
            Self::Repaired(repaired) if unknown >= repaired.n_written() => {
                let extra = &repaired.extra_unknowns()[unknown - repaired.n_written()];
                extra.name.clone()
            }
            _ => system.unknowns()[unknown].name.clone(),
        }
    }

    pub(crate) fn write_name(&self, system: &System, symbol: Symbol, text: &mut String) {
        match self {
            Self::Written(_) => system.write_name(symbol, text),
            Self::Repaired(repaired) => {
                repaired.write_name(&Names::of_system(system), symbol, text);
            }
        }
    }
}

/// The determinants of the blocks, as far as the time sufficed: made once, asked by all that follows.
#[derive(Debug)]
pub(crate) struct Determinants {
    pub(crate) blocks: BlockLoci,
    /// Why one of them is 0 everywhere, whatever its values in floating point.
    pub(crate) vanishing: Option<String>,
}

impl Determinants {
    pub(crate) fn new(system: &System, source: &Source<'_>, deadline: Instant) -> Self {
        let options = LocusOptions {
            terms: MAX_TERMS,
            products: MAX_PRODUCTS,
            deadline: Some(deadline),
            ..LocusOptions::default()
        };
        let mut blocks = BlockLoci::new(source.structure(), &source.jacobian(system), &options);
        blocks.exclude(&constraints(source.equations(system)), deadline);
        Self {
            vanishing: vanishing(system, source, &blocks),
            blocks,
        }
    }
}

/// The loci of all blocks, and their kinds around a jet.
pub(crate) fn singular_loci(
    system: &System,
    source: &Source<'_>,
    loci: &BlockLoci,
    around: Option<Around<'_>>,
    deadline: Instant,
) -> Vec<SingularLocus> {
    let structure = source.structure();
    let jacobian = source.jacobian(system);
    let mut found: Vec<SingularLocus> = Vec::new();
    for (block, members) in structure.blocks().iter().enumerate() {
        let describe =
            |factor: String, is_formula: bool, kind: Option<CriticalKind>| SingularLocus {
                factor,
                is_formula,
                kind,
                equations: source.written(&members.equations),
                unknowns: members
                    .unknowns
                    .iter()
                    .map(|&j| source.name(system, j))
                    .collect(),
            };
        let level = level_of(structure, &members.equations);
        match &loci.loci()[block] {
            Ok(locus) => {
                for factor in locus
                    .vanishing()
                    .filter(|f| f.nature == FactorKind::Variable)
                {
                    let text = plain(&loci.text(block, factor, |symbol, text| {
                        source.write_name(system, symbol, text)
                    }));
                    if found.iter().any(|other| other.factor == text) {
                        continue;
                    }
                    let kind = if found.len() < MAX_KINDS && Instant::now() < deadline {
                        around.and_then(|around| {
                            kind_of_factor(system, source, loci, factor, around, level)
                        })
                    } else {
                        None
                    };
                    found.push(describe(text, true, kind));
                }
            }
            Err(because) => {
                let values = around.and_then(|around| {
                    smallest_value(source, &jacobian, block, around.time, around.jet)
                });
                let at = values.map_or(String::new(), |value| {
                    format!(", smallest singular value {value:.2e} at the point")
                });
                let n = members.equations.len();
                found.push(describe(
                    format!("determinant of a block of {n} equations ({because}{at})"),
                    false,
                    None,
                ));
            }
        }
    }
    found
}

/// The residuals without derivatives.
fn constraints(equations: &Equations) -> Vec<ExprId> {
    let mut walker = Walker::new();
    let has_derivatives = |&residual: &ExprId| {
        let symbols = walker.symbols(equations.graph(), &[residual]).into_iter();
        let mut symbols = symbols.map(|id| equations.symbols().get(id));
        symbols.any(|symbol| matches!(symbol, Symbol::Unknown { order: 1.., .. }))
    };
    let (_, without) =
        (equations.residuals().iter().copied()).partition::<Vec<_>, _>(has_derivatives);
    without
}

/// Says why a determinant vanishes identically: terms cancel, or parameters satisfy a condition up to rounding.
fn vanishing(system: &System, source: &Source<'_>, loci: &BlockLoci) -> Option<String> {
    for (block, locus) in loci.loci().iter().enumerate() {
        let Ok(locus) = locus else { continue };
        if locus.is_singular() {
            return Some(format!(
                "the determinant of block {} is 0 by algebra, its values are rounding; terms of its equations cancel",
                block + 1
            ));
        }
        for factor in locus
            .factors
            .iter()
            .filter(|f| f.nature == FactorKind::Parameter)
        {
            if loci.is_rounding(factor.expr) {
                let name = |symbol, text: &mut String| source.write_name(system, symbol, text);
                return Some(format!(
                    "the parameters make `{}` zero or nothing but rounding",
                    plain(&loci.text(block, factor, name))
                ));
            }
        }
    }
    None
}

/// Which of the loci, in the order of [`singular_loci`], a jet lies on or closest to, and how far it is from it.
///
/// Loci without a formula are not considered.
pub(crate) fn nearest_locus(
    system: &System,
    source: &Source<'_>,
    loci: &BlockLoci,
    time: f64,
    jet: &TaylorJet,
) -> Option<(usize, f64)> {
    let mut texts: Vec<String> = Vec::new();
    let mut nearest: Option<(usize, f64)> = None;
    for (block, locus) in loci.loci().iter().enumerate() {
        let Ok(locus) = locus else {
            texts.push(String::new());
            continue;
        };
        for factor in locus
            .vanishing()
            .filter(|f| f.nature == FactorKind::Variable)
        {
            let name = |symbol, text: &mut String| source.write_name(system, symbol, text);
            let text = plain(&loci.text(block, factor, name));
            if texts.contains(&text) {
                continue;
            }
            texts.push(text);
            let distance = distance(source, loci, factor, time, jet);
            if distance.is_finite() && nearest.is_none_or(|(_, least)| distance < least) {
                nearest = Some((texts.len() - 1, distance));
            }
        }
    }
    nearest
}

/// The factor closest to zero at a jet among those of the block with these equations, and its distance. Factors count that no
/// finite values make zero: values that grow without bound approach them.
pub(crate) fn nearest_factor(
    system: &System,
    source: &Source<'_>,
    loci: &BlockLoci,
    equations: &[usize],
    (time, jet): (f64, &TaylorJet),
) -> Option<(String, f64)> {
    let blocks = source.structure().blocks().iter();
    let block = blocks
        .map(|members| source.written(&members.equations))
        .position(|written| written == equations)?;
    let locus = loci.loci().get(block)?.as_ref().ok()?;
    let may_vanish = |factor: &&DeterminantFactor| {
        matches!(factor.nature, FactorKind::Variable | FactorKind::Excluded)
    };
    let distances = (locus.factors.iter().filter(may_vanish))
        .map(|factor| (factor, distance(source, loci, factor, time, jet)))
        .filter(|(_, distance)| distance.is_finite());
    let (factor, distance) = distances.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let name = |symbol, text: &mut String| source.write_name(system, symbol, text);
    Some((plain(&loci.text(block, factor, name)), distance))
}

/// How far a jet is from the zeros of a factor: |f| / |f'|, with coefficients of size one or more measured against themselves.
fn distance(
    source: &Source<'_>,
    loci: &BlockLoci,
    factor: &DeterminantFactor,
    time: f64,
    jet: &TaylorJet,
) -> f64 {
    let coordinates = coordinates_of(loci, factor, jet.n_unknowns());
    let mut at = Moved {
        time,
        jet: jet.clone(),
    };
    let value = |at: &Moved| {
        loci.evaluate(
            factor.expr,
            value_at(source, loci.symbols(), at.time, &at.jet),
        )
    };
    let here = value(&at);
    let slopes = gradient(&value, &mut at, &coordinates);
    let weighted = coordinates.iter().zip(&slopes);
    let square: f64 = weighted
        .map(|(&c, slope)| (slope * at.get(c).abs().max(1.0)).powi(2))
        .sum();
    // Where the gradient vanishes with the factor, as for a square, the factor itself tells.
    here.abs() / square.sqrt().max(NEAR)
}

/// The factors of all loci with a formula, in the order of [`singular_loci`], with their values at jets of some times.
pub(crate) fn locus_values(
    system: &System,
    source: &Source<'_>,
    loci: &BlockLoci,
    at: &[(f64, TaylorJet)],
) -> Vec<(String, Vec<f64>)> {
    let mut found: Vec<(String, Vec<f64>)> = Vec::new();
    for (block, locus) in loci.loci().iter().enumerate() {
        let Ok(locus) = locus else { continue };
        for factor in locus.vanishing() {
            let name = |symbol, text: &mut String| source.write_name(system, symbol, text);
            let text = plain(&loci.text(block, factor, name));
            if found.iter().any(|(known, _)| *known == text) {
                continue;
            }
            let value = |(time, jet): &(f64, TaylorJet)| {
                loci.evaluate(factor.expr, value_at(source, loci.symbols(), *time, jet))
            };
            found.push((text, at.iter().map(value).collect()));
        }
    }
    found
}

/// The level of the matrix chain that a block belongs to: c + 1 for one that determines algebraic unknowns after c
/// differentiations, c for one that determines derivatives. Observed, not proved.
fn level_of(structure: &Structure, equations: &[usize]) -> usize {
    let offsets = &structure.offsets();
    let level = |&i: &usize| {
        let (c, j) = (offsets.equation[i], structure.transversal().unknown(i));
        let order = offsets.variable[j] - c;
        (order == 0).then_some(c + 1)
    };
    let algebraic = equations.iter().filter_map(level).max();
    let least = equations.iter().map(|&i| offsets.equation[i]).min();
    algebraic.or(least).unwrap_or(0)
}

/// Velocities without the quotes that Modelica text needs.
pub(crate) fn plain(text: &str) -> String {
    crate::hidden::without_quotes(text)
}

/// Values of symbols at a jet, new unknowns of a repair included.
fn value_at<'a>(
    source: &Source<'_>,
    symbols: &'a Symbols,
    time: f64,
    jet: &'a TaylorJet,
) -> Box<dyn Fn(Symbol) -> f64 + 'a> {
    let value = move |symbol: Symbol| match symbol {
        Symbol::Unknown { unknown, order } if unknown < jet.n_unknowns() => {
            jet.derivative(unknown, order as usize)
        }
        known => symbols.value_at(known, time),
    };
    match source {
        Source::Written(_) => Box::new(value),
        Source::Repaired(repaired) => {
            let table = repaired.lift(&value).into_values();
            let first = repaired.n_written();
            Box::new(move |symbol| match symbol {
                Symbol::Unknown { unknown, order } if unknown >= first => table
                    .get(unknown - first)
                    .and_then(|values| values.get(order as usize))
                    .copied()
                    .unwrap_or(f64::NAN),
                other => value(other),
            })
        }
    }
}

fn smallest_value(
    source: &Source<'_>,
    jacobian: &SystemJacobian,
    block: usize,
    time: f64,
    jet: &TaylorJet,
) -> Option<f64> {
    let structure = source.structure();
    if structure.blocks()[block].equations.len() > crate::dae::LARGEST_DENSE {
        return None;
    }
    let values = jacobian.evaluate(value_at(source, jacobian.symbols(), time, jet));
    let matrix = structure.block_matrix(block, &values);
    let mut svd = Svd::new();
    svd.factor_values(matrix.view()).ok()?;
    svd.singular_values().last().copied()
}

/// Where kinds are looked for: around this jet, with E and B up to an order.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) time: f64,
    pub(crate) jet: &'a TaylorJet,
    pub(crate) order: usize,
}

/// Something that a zero of a factor can be reached by.
#[derive(Clone, Copy)]
enum Coordinate {
    Time,
    Coefficient { unknown: usize, order: usize },
}

/// A time and a jet that are moved.
#[derive(Clone)]
struct Moved {
    time: f64,
    jet: TaylorJet,
}

impl Moved {
    fn get(&self, coordinate: Coordinate) -> f64 {
        match coordinate {
            Coordinate::Time => self.time,
            Coordinate::Coefficient { unknown, order } => self.jet.get(unknown, order),
        }
    }

    fn set(&mut self, coordinate: Coordinate, value: f64) {
        match coordinate {
            Coordinate::Time => self.time = value,
            Coordinate::Coefficient { unknown, order } => self.jet.set(unknown, order, value),
        }
    }
}

/// Moves a copy of the jet onto the zeros of a factor and asks the chain what changes there.
fn kind_of_factor(
    system: &System,
    source: &Source<'_>,
    loci: &BlockLoci,
    factor: &DeterminantFactor,
    around: Around<'_>,
    level: usize,
) -> Option<CriticalKind> {
    let coordinates = coordinates_of(loci, factor, around.jet.n_unknowns());
    let sizes = nominal(system);
    for attempt in 0..6 {
        let mut moved = Moved {
            time: around.time,
            jet: around.jet.clone(),
        };
        for (at, &coordinate) in coordinates.iter().enumerate() {
            // Starts at growing distances in all directions.
            let phase = 1.7 * at as f64 + 2.3 * f64::from(attempt);
            let value = moved.get(coordinate) + 0.6 * f64::from(attempt) * phase.sin();
            moved.set(coordinate, value);
        }
        if !onto_zero(source, loci, factor, &mut moved, &coordinates) {
            continue;
        }
        let Some(series) = series_at(system, &moved.jet, moved.time, around.order) else {
            continue;
        };
        let neighbour = |i: usize| {
            let (time, jet) = crate::dae::beside(&moved.jet, moved.time, &sizes, i);
            series_at(system, &jet, time, around.order)
        };
        let kinds = Kinds::new(&series, 0.0, neighbour).ok()?;
        let kind = match kinds.agreed() {
            Ok(kind) => kind,
            // Where the units leave a choice, the level is known from the block.
            Err(_) => [kinds.usual, kinds.own]
                .into_iter()
                .filter_map(|kind| kind.ok().flatten())
                .find(|kind| kind.level() == level),
        };
        if kind.is_some() {
            return kind;
        }
    }
    None
}

/// What a factor can be moved by.
fn coordinates_of(
    loci: &BlockLoci,
    factor: &DeterminantFactor,
    n_unknowns: usize,
) -> Vec<Coordinate> {
    let symbols: Vec<SymbolId> = Walker::new().symbols(loci.graph(), &[factor.expr]);
    let coordinate = |&id: &SymbolId| match loci.symbols().get(id) {
        Symbol::Time | Symbol::Input { .. } => Some(Coordinate::Time),
        Symbol::Unknown { unknown, order } if unknown < n_unknowns => {
            let order = order as usize;
            Some(Coordinate::Coefficient { unknown, order })
        }
        _ => None,
    };
    let mut coordinates: Vec<Coordinate> = symbols.iter().filter_map(coordinate).collect();
    // The time itself and inputs given by data are one coordinate.
    let mut is_first = true;
    coordinates.retain(|coordinate| {
        !matches!(coordinate, Coordinate::Time) || std::mem::replace(&mut is_first, false)
    });
    coordinates
}

/// Slopes of a value by central differences.
fn gradient(
    value: &dyn Fn(&Moved) -> f64,
    moved: &mut Moved,
    coordinates: &[Coordinate],
) -> Vec<f64> {
    coordinates
        .iter()
        .map(|&coordinate| {
            let at = moved.get(coordinate);
            let step = DIFFERENCE * (1.0 + at.abs());
            moved.set(coordinate, at + step);
            let up = value(moved);
            moved.set(coordinate, at - step);
            let down = value(moved);
            moved.set(coordinate, at);
            (up - down) / (2.0 * step)
        })
        .collect()
}

fn series_at(system: &System, jet: &TaylorJet, time: f64, order: usize) -> Option<MatrixSeries> {
    let mut array = ConstraintArray::new(system, time, order);
    array.matrix_series(jet, order).ok()
}

/// Newton steps of least length to a zero of a factor.
fn onto_zero(
    source: &Source<'_>,
    loci: &BlockLoci,
    factor: &DeterminantFactor,
    moved: &mut Moved,
    coordinates: &[Coordinate],
) -> bool {
    let value = |at: &Moved| {
        loci.evaluate(
            factor.expr,
            value_at(source, loci.symbols(), at.time, &at.jet),
        )
    };
    let mut last = f64::INFINITY;
    for _ in 0..60 {
        let here = value(moved);
        if !here.is_finite() {
            return false;
        }
        let gradient = gradient(&value, moved, coordinates);
        let square: f64 = gradient.iter().map(|g| g * g).sum();
        if here == 0.0 || (here.abs() <= FLAT * square.sqrt() && here.abs() >= last) {
            return true;
        }
        if square == 0.0 || !square.is_finite() {
            return false;
        }
        last = here.abs();
        let longest = gradient
            .iter()
            .fold(0.0_f64, |m, g| m.max((g * here / square).abs()));
        let factor = (0.5 / longest).min(1.0);
        for (&coordinate, slope) in coordinates.iter().zip(&gradient) {
            let at = moved.get(coordinate);
            moved.set(coordinate, at - factor * slope * here / square);
        }
    }
    value(moved).abs() <= HOLDS * (1.0 + last)
}
