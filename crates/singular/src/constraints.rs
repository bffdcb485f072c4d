//! The position constraints of a model as trigonometric polynomials.

use crate::convert::{Angle, Converter};
use crate::ring::{Meaning, Ring};
use crate::waves::Waves;
use daelight_analysis::structure::Structure;
use daelight_expr::{ExprId, Graph, Walker};
use daelight_lang::{Code, Diagnostic, Model, Origin, Symbol, nearest};

/// What is asked about a model.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Parameters that stay symbols.
    pub parameters: Kept,
    /// Unknowns that are driven from outside: their columns are left out.
    pub locked: Vec<String>,
    /// Whether real configurations are counted on the curves between regions of the parameters too.
    pub on_curves: bool,
}

/// Most constraints: their Jacobian is kept with all its zeros.
const MOST_CONSTRAINTS: usize = 200;

/// Which parameters stay symbols.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Kept {
    /// None: every parameter has its value.
    #[default]
    None,
    /// These.
    Named(Vec<String>),
    /// All that are not constants, not defined by others, and not inside an angle.
    All,
}

/// A constraint.
#[derive(Clone, Debug)]
pub struct Row {
    /// The equation of the model.
    pub equation: usize,
    /// Its numerator, without common factors of its coefficients.
    pub waves: Waves,
    /// What must not be 0: the denominator, if it depends on unknowns.
    pub denominator: Option<Waves>,
}

/// The constraints of a model.
#[derive(Clone, Debug)]
pub struct Constraints {
    /// What the variables of the coefficients stand for.
    pub ring: Ring,
    /// The constraints.
    pub rows: Vec<Row>,
    /// The angles.
    pub angles: Vec<Angle>,
    /// The positions: unknowns with their variables.
    pub positions: Vec<(usize, usize)>,
    /// Unknowns that are locked.
    pub locked: Vec<usize>,
    /// Parameters that occur as symbols, by their variables.
    pub parameters: Vec<usize>,
    /// What to know beside the polynomials.
    pub warnings: Vec<String>,
}

impl Constraints {
    /// Finds the position constraints of a model and makes polynomials of them.
    pub fn new(model: &Model, question: &Question) -> Result<Self, Vec<Diagnostic>> {
        let mut locked = locked(model, question)?;
        let mut warnings = Vec::new();
        let equations = match position_constraints(model, &locked) {
            Ok(equations) => equations,
            Err(diagnostic) => {
                let (equations, driven) =
                    driven_constraints(model).ok_or_else(|| vec![*diagnostic])?;
                warnings.extend(driven.iter().map(|&unknown| {
                    format!(
                        "`{}` is prescribed by an equation of its own, and counts as locked",
                        model.unknowns[unknown].name
                    )
                }));
                locked.extend(driven);
                equations
            }
        };
        if equations.len() > MOST_CONSTRAINTS {
            let message = format!(
                "{} constraints are too many for exact algebra",
                equations.len()
            );
            let help = format!("ask about a part with {MOST_CONSTRAINTS} constraints at most");
            return Err(vec![
                Diagnostic::placeless(Code::TooLarge, message).help(help),
            ]);
        }
        let residuals: Vec<ExprId> = equations
            .iter()
            .map(|&equation| model.equations[equation].residual)
            .collect();
        let keep = kept(model, &question.parameters, &residuals)?;
        let refused = |at: usize, refusal| Converter::diagnostic(model, equations[at], &refusal);
        let mut converter = Converter::new(model, &keep, &residuals).map_err(|refusals| {
            let all = refusals.into_iter();
            all.map(|(at, refusal)| refused(at, refusal))
                .collect::<Vec<_>>()
        })?;
        let mut rows = Vec::new();
        for (at, &residual) in residuals.iter().enumerate() {
            let quotient = converter
                .convert(residual)
                .map_err(|refusal| vec![refused(at, refusal)])?;
            let bottom = quotient.bottom;
            let is_number = bottom
                .as_polynomial()
                .is_some_and(|p| converter.ring.is_known(&p));
            rows.push(Row {
                equation: equations[at],
                waves: quotient.top.primitive(&converter.ring),
                denominator: (!is_number).then_some(bottom),
            });
        }
        warnings.extend(converter.warnings.iter().cloned());
        let mut occurs = vec![false; converter.ring.variables().len()];
        for (_, parts) in rows.iter().flat_map(|row| row.waves.terms()) {
            for variable in parts.iter().flat_map(|p| p.variables()) {
                occurs[variable] = true;
            }
        }
        check_angles(model, &converter, &rows)?;
        let angles = essential_angles(model, &converter.angles, &mut rows, &mut warnings);
        let ring = converter.ring.clone();
        let listed = |wanted: fn(&Meaning) -> bool| -> Vec<usize> {
            let all = ring.variables().iter().enumerate();
            all.filter(|(at, variable)| occurs[*at] && wanted(&variable.meaning))
                .map(|(at, _)| at)
                .collect()
        };
        let positions = listed(|meaning| matches!(meaning, Meaning::Position(_)))
            .into_iter()
            .filter_map(|variable| match ring.variables()[variable].meaning {
                Meaning::Position(unknown) => Some((unknown, variable)),
                _ => None,
            })
            .collect();
        let parameters = listed(|meaning| matches!(meaning, Meaning::Parameter(_)));
        for (variable, own) in ring.variables().iter().enumerate() {
            if let Meaning::Position(unknown) = own.meaning
                && !occurs[variable]
                && (converter.angles.iter()).all(|angle| angle.unknown != unknown)
            {
                warnings.push(without_influence(model, unknown));
            }
        }
        for row in &rows {
            if row.waves.is_zero() {
                let text = model.equation_text(&model.equations[row.equation]);
                warnings.push(format!(
                    "the constraint {text} holds always: it is redundant"
                ));
            }
        }
        Ok(Self {
            ring,
            rows,
            angles,
            positions,
            locked,
            parameters,
            warnings,
        })
    }

    /// Number of constraints.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none; never so for constraints that were made.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The numerators and denominators of rows.
fn all_waves(rows: &[Row]) -> impl Iterator<Item = &Waves> {
    rows.iter()
        .flat_map(|row| std::iter::once(&row.waves).chain(&row.denominator))
}

/// Refuses unknowns that are angles and occur outside of sines and cosines as well.
fn check_angles(
    model: &Model,
    converter: &Converter<'_>,
    rows: &[Row],
) -> Result<(), Vec<Diagnostic>> {
    for angle in &converter.angles {
        let Some(variable) = converter.variable_of(angle.unknown) else {
            continue;
        };
        let place = rows.iter().find(|row| {
            let waves = all_waves(std::slice::from_ref(row));
            let mut parts = waves.flat_map(|w| w.terms()).flat_map(|(_, parts)| parts);
            parts.any(|p| p.degree(variable) > 0)
        });
        if let Some(row) = place {
            let name = &model.unknowns[angle.unknown].name;
            let message = format!("`{name}` is an angle and occurs outside sine and cosine too");
            let span = model.equations[row.equation].span;
            let diagnostic = Diagnostic::error(Code::Unsupported, span, message)
                .label("not algebraic in this angle")
                .help("leave this constraint out, or lock the angle by a parameter");
            return Err(vec![diagnostic]);
        }
    }
    Ok(())
}

/// The angles that the constraints depend on, each divided no finer than they need: a/2 is no angle of cos(a/2)^2, whose
/// period is that of a. The rows are written in them.
fn essential_angles(
    model: &Model,
    angles: &[Angle],
    rows: &mut [Row],
    warnings: &mut Vec<String>,
) -> Vec<Angle> {
    // What each multiple is divided by; 0 for an angle that has no influence.
    let mut divisors: Vec<u32> = vec![0; angles.len()];
    for (multiples, _) in all_waves(rows).flat_map(|waves| waves.terms()) {
        for (divisor, multiple) in divisors.iter_mut().zip(multiples) {
            *divisor = gcd(*divisor, multiple.unsigned_abs());
        }
    }
    let mut kept = Vec::new();
    for (angle, divisor) in angles.iter().zip(&mut divisors) {
        if *divisor == 0 {
            warnings.push(without_influence(model, angle.unknown));
            continue;
        }
        *divisor = gcd(*divisor, angle.over);
        kept.push(Angle {
            unknown: angle.unknown,
            over: angle.over / *divisor,
            shift: angle.shift.clone(),
        });
    }
    for row in rows {
        row.waves = row.waves.in_angles(&divisors);
        row.denominator = row.denominator.as_ref().map(|w| w.in_angles(&divisors));
    }
    kept
}

fn without_influence(model: &Model, unknown: usize) -> String {
    let name = &model.unknowns[unknown].name;
    format!(
        "`{name}` has no influence on the constraints at these values: it is free, and configurations are counted without it"
    )
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The equations that constrain positions.
///
/// Constraints of `lagrange` where there are some; all equations of a model without derivatives; otherwise the
/// equations without derivatives in unknowns that occur differentiated elsewhere, and of those the ones that are
/// differentiated most often. Where there is none, or each of them only prescribes one unknown, the equations of a driven
/// loop: they tie a position that is differentiated to others that occur in no equation with derivatives.
pub fn position_constraints(
    model: &Model,
    locked: &[usize],
) -> Result<Vec<usize>, Box<Diagnostic>> {
    let n_equations = model.equations.len();
    let lagrange: Vec<usize> = (0..n_equations)
        .filter(|&at| matches!(model.equations[at].origin, Origin::Constraint { .. }))
        .collect();
    if !lagrange.is_empty() {
        return Ok(lagrange);
    }
    let occurrences = Occurrences::of(model);
    let mut chosen = occurrences.chosen(|_, unknown| occurrences.is_differentiated[unknown]);
    if occurrences.has_derivative.contains(&true)
        && let Some(offsets) = times_differentiated(model)
    {
        let most = chosen.iter().map(|&at| offsets[at]).max();
        chosen.retain(|&at| Some(offsets[at]) == most);
    }
    // A prescribed path alone is never singular: what has to follow it may be.
    if occurrences.only_prescribe(&chosen) {
        let loops = occurrences.driven_loops(model, locked);
        if !loops.is_empty() {
            chosen = loops;
        }
    }
    if chosen.is_empty() {
        let diagnostic = Diagnostic::placeless(
            Code::Unsupported,
            "no constraints between positions were found in the model",
        )
        .note("constraints are those of lagrange, or equations without derivatives in unknowns that occur differentiated")
        .help("nothing is singular without constraints; if the model has some, write them as a model of their own, without derivatives");
        return Err(Box::new(diagnostic));
    }
    Ok(chosen)
}

/// How often the structure differentiates each equation.
fn times_differentiated(model: &Model) -> Option<Vec<usize>> {
    let structure = Structure::of_model(model).ok()?;
    Some(structure.offsets().equation.clone())
}

/// The constraints of a mechanism whose unknowns of position occur in forces too, so that where they occur tells nothing: the
/// equations without derivatives that the structure differentiates most often, without those that prescribe one unknown, and the
/// unknowns so prescribed.
fn driven_constraints(model: &Model) -> Option<(Vec<usize>, Vec<usize>)> {
    let occurrences = Occurrences::of(model);
    let offsets = times_differentiated(model)?;
    let without_derivatives = occurrences.chosen(|_, _| true);
    let most = without_derivatives.iter().map(|&at| offsets[at]).max()?;
    let (prescribing, chosen): (Vec<usize>, Vec<usize>) = without_derivatives
        .into_iter()
        .filter(|&at| most > 0 && offsets[at] == most)
        .partition(|&at| occurrences.only_prescribe(&[at]));
    let driven = (prescribing.iter())
        .map(|&at| occurrences.unknowns[at][0])
        .collect();
    (!chosen.is_empty()).then_some((chosen, driven))
}

/// Where unknowns occur, and where they occur differentiated.
struct Occurrences {
    is_differentiated: Vec<bool>,
    has_derivative: Vec<bool>,
    unknowns: Vec<Vec<usize>>,
}

impl Occurrences {
    fn of(model: &Model) -> Self {
        let n_equations = model.equations.len();
        let mut walker = Walker::new();
        let mut own = Self {
            is_differentiated: vec![false; model.unknowns.len()],
            has_derivative: vec![false; n_equations],
            unknowns: vec![Vec::new(); n_equations],
        };
        for (at, equation) in model.equations.iter().enumerate() {
            for id in walker.symbols(&model.graph, &[equation.residual]) {
                if let Symbol::Unknown { unknown, order } = model.symbols.get(id) {
                    if order > 0 {
                        own.has_derivative[at] = true;
                        own.is_differentiated[unknown] = true;
                    } else {
                        own.unknowns[at].push(unknown);
                    }
                }
            }
        }
        own
    }

    /// The equations without derivatives whose unknowns all suit; in a model without derivatives all of them.
    fn chosen(&self, suits: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let is_static = !self.has_derivative.contains(&true);
        (0..self.unknowns.len())
            .filter(|&at| {
                let all = &self.unknowns[at];
                !self.has_derivative[at]
                    && !all.is_empty()
                    && (is_static || all.iter().all(|&unknown| suits(at, unknown)))
            })
            .collect()
    }

    /// Whether each of these equations has one unknown alone.
    fn only_prescribe(&self, chosen: &[usize]) -> bool {
        chosen.iter().all(|&at| self.unknowns[at].len() == 1)
    }

    /// The equations without derivatives that tie a differentiated unknown to unknowns that occur in such equations alone,
    /// without those that only say what one more unknown is.
    fn driven_loops(&self, model: &Model, locked: &[usize]) -> Vec<usize> {
        let mut is_dynamic = vec![false; self.is_differentiated.len()];
        for (at, unknowns) in self.unknowns.iter().enumerate() {
            for &unknown in unknowns.iter().filter(|_| self.has_derivative[at]) {
                is_dynamic[unknown] |= !self.is_differentiated[unknown];
            }
        }
        let mut chosen = self.chosen(|_, unknown| !is_dynamic[unknown]);
        let mut graph = model.graph.clone();
        loop {
            let mut is_definition = |at: usize| {
                self.unknowns[at].iter().any(|&unknown| {
                    !self.is_differentiated[unknown]
                        && !locked.contains(&unknown)
                        && (chosen.iter())
                            .all(|&other| other == at || !self.unknowns[other].contains(&unknown))
                        && is_explicit(model, &mut graph, at, unknown)
                })
            };
            let Some(at) = chosen.iter().position(|&at| is_definition(at)) else {
                break;
            };
            chosen.remove(at);
        }
        let ties = |&at: &usize| (self.unknowns[at].iter()).any(|&u| self.is_differentiated[u]);
        if chosen.iter().any(ties) {
            chosen
        } else {
            Vec::new()
        }
    }
}

/// Whether an equation has an unknown times a number, and nowhere else.
fn is_explicit(model: &Model, graph: &mut Graph, equation: usize, unknown: usize) -> bool {
    let residual = model.equations[equation].residual;
    let mut walker = Walker::new();
    let symbols = walker.symbols(graph, &[residual]);
    let wanted = Symbol::Unknown { unknown, order: 0 };
    let Some(symbol) = symbols
        .into_iter()
        .find(|&id| model.symbols.get(id) == wanted)
    else {
        return false;
    };
    let partial = graph.partial(residual, symbol);
    walker.symbols(graph, &[partial]).is_empty()
}

fn locked(model: &Model, question: &Question) -> Result<Vec<usize>, Vec<Diagnostic>> {
    let find = |name: &String| {
        let at = model.unknowns.iter().position(|u| u.name == *name);
        at.ok_or_else(|| {
            let diagnostic = Diagnostic::placeless(
                Code::UndeclaredName,
                format!("--locked: the model has no unknown `{name}`"),
            );
            let names = model.unknowns.iter().map(|u| u.name.as_str());
            vec![match nearest(name, names) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.help("name unknowns as in the model, elements as `y[1]`"),
            }]
        })
    };
    question.locked.iter().map(find).collect()
}

/// Which parameters stay symbols.
fn kept(model: &Model, wanted: &Kept, residuals: &[ExprId]) -> Result<Vec<bool>, Vec<Diagnostic>> {
    let mut keep = vec![false; model.parameters.len()];
    match wanted {
        Kept::None => {}
        Kept::Named(names) => {
            for name in names {
                let matches: Vec<usize> = (0..keep.len())
                    .filter(|&at| {
                        let parameter = &model.parameters[at];
                        parameter.name == *name
                            || model.declarations[parameter.declaration].name == *name
                    })
                    .collect();
                if matches.is_empty() {
                    let diagnostic = Diagnostic::placeless(
                        Code::UnknownParameter,
                        format!("--parameters: the model has no parameter `{name}`"),
                    );
                    let names = model.parameters.iter().map(|p| p.name.as_str());
                    return Err(vec![match nearest(name, names) {
                        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                        None => diagnostic.help("name parameters as in the model, or say `all`"),
                    }]);
                }
                for at in matches {
                    keep[at] = true;
                }
            }
        }
        Kept::All => {
            let inside_angles = parameters_in_angles(model, residuals);
            for (at, parameter) in model.parameters.iter().enumerate() {
                let is_number = Walker::new()
                    .symbols(&model.graph, &[parameter.definition])
                    .is_empty();
                keep[at] = !parameter.is_constant
                    && !parameter.is_structural
                    && is_number
                    && !inside_angles[at];
            }
        }
    }
    Ok(keep)
}

/// The parameters that the angles of the constraints depend on.
fn parameters_in_angles(model: &Model, residuals: &[ExprId]) -> Vec<bool> {
    use daelight_expr::{Node, UnaryOp};
    let mut inside = vec![false; model.parameters.len()];
    let mut walker = Walker::new();
    let nodes = walker.reachable(&model.graph, residuals).to_vec();
    let mut pending: Vec<ExprId> = nodes
        .into_iter()
        .filter_map(|id| match model.graph.node(id) {
            Node::Unary(UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan, argument) => Some(argument),
            _ => None,
        })
        .collect();
    while let Some(expr) = pending.pop() {
        for symbol in walker.symbols(&model.graph, &[expr]) {
            if let Symbol::Parameter(index) = model.symbols.get(symbol)
                && !std::mem::replace(&mut inside[index], true)
            {
                pending.push(model.parameters[index].definition);
            }
        }
    }
    inside
}
