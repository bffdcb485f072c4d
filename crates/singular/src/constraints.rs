//! The position constraints of a model as trigonometric polynomials.

use crate::convert::{Angle, Trigonometric, diagnostic, trigonometric};
use crate::kinematics::Kinematics;
use crate::ring::{Ring, VariableKind};
use crate::waves::Waves;
use daelight_expr::{ExprId, Walker};
use daelight_lang::{Code, Diagnostic, Model, Symbol, nearest};

/// What is asked about a model.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Parameters that stay symbols.
    pub parameters: Kept,
    /// Unknowns that are driven from outside: their columns are left out.
    pub locked: Vec<String>,
    /// Whether real configurations are counted on the curves between regions of the parameters too.
    pub on_curves: bool,
    /// Whether unknowns that follow a path of time count as locked, so that configurations are asked for all their values, instead of
    /// conditions on the path.
    pub paths_locked: bool,
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
pub struct Constraint {
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
    pub rows: Vec<Constraint>,
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
    /// Equations that hold in every configuration and are not among the constraints, with the reason: nothing is proved without them.
    pub left_out: Vec<String>,
}

impl Constraints {
    /// Finds the position constraints of a model and makes polynomials of them.
    pub fn new(model: &Model, question: &Question) -> Result<Self, Vec<Diagnostic>> {
        let wanted = locked(model, question)?;
        let chosen = Kinematics::of(model, &wanted, question.paths_locked)
            .map_err(|diagnostic| vec![*diagnostic])?;
        let mut warnings = chosen.notes(model);
        let left_out = chosen.left_out(model);
        let locked = [&wanted[..], &chosen.prescribed(), &chosen.moved].concat();
        let equations = chosen.rows;
        check_size(equations.len())?;
        let residuals: Vec<ExprId> = equations
            .iter()
            .map(|&equation| model.equations[equation].residual)
            .collect();
        let keep = kept(model, &question.parameters, &residuals)?;
        let (quotients, parts) = trigonometric(model, &keep, &residuals).map_err(|refused| {
            let all = refused.into_iter();
            all.map(|(at, because)| diagnostic(model, equations[at], &because))
                .collect::<Vec<_>>()
        })?;
        let mut rows = Vec::new();
        for (at, quotient) in quotients.into_iter().enumerate() {
            let bottom = quotient.bottom;
            let is_number = bottom
                .as_polynomial()
                .is_some_and(|p| parts.ring.is_known(&p));
            rows.push(Constraint {
                equation: equations[at],
                waves: quotient.top.primitive(&parts.ring),
                denominator: (!is_number).then_some(bottom),
            });
        }
        warnings.extend(parts.warnings.iter().cloned());
        let occurs = occurring(&rows, parts.ring.variables().len());
        check_angles(model, &parts, &rows)?;
        let angles = essential_angles(model, &parts.angles, &mut rows, &mut warnings);
        let ring = parts.ring.clone();
        let listed = |wanted: fn(&VariableKind) -> bool| -> Vec<usize> {
            let all = ring.variables().iter().enumerate();
            all.filter(|(at, variable)| occurs[*at] && wanted(&variable.meaning))
                .map(|(at, _)| at)
                .collect()
        };
        let positions = listed(|meaning| matches!(meaning, VariableKind::Position(_)))
            .into_iter()
            .filter_map(|variable| match ring.variables()[variable].meaning {
                VariableKind::Position(unknown) => Some((unknown, variable)),
                _ => None,
            })
            .collect();
        let parameters = listed(|meaning| matches!(meaning, VariableKind::Parameter(_)));
        for (variable, own) in ring.variables().iter().enumerate() {
            if let VariableKind::Position(unknown) = own.meaning
                && !occurs[variable]
                && (parts.angles.iter()).all(|angle| angle.unknown != unknown)
            {
                warnings.push(without_influence(model, unknown));
            }
        }
        warnings.extend(redundant(model, &rows));
        Ok(Self {
            ring,
            rows,
            angles,
            positions,
            locked,
            parameters,
            warnings,
            left_out,
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

fn check_size(n_constraints: usize) -> Result<(), Vec<Diagnostic>> {
    if n_constraints <= MOST_CONSTRAINTS {
        return Ok(());
    }
    let message = format!("{n_constraints} constraints are too many for exact algebra");
    let help = format!("ask about a part with {MOST_CONSTRAINTS} constraints at most");
    Err(vec![
        Diagnostic::placeless(Code::TooLarge, message).help(help),
    ])
}

/// Which variables of a ring occur in rows.
fn occurring(rows: &[Constraint], n_variables: usize) -> Vec<bool> {
    let mut occurs = vec![false; n_variables];
    for (_, parts) in rows.iter().flat_map(|row| row.waves.terms()) {
        for variable in parts.iter().flat_map(|p| p.variables()) {
            occurs[variable] = true;
        }
    }
    occurs
}

/// What is to be said of rows that hold always.
fn redundant(model: &Model, rows: &[Constraint]) -> impl Iterator<Item = String> {
    let always = rows.iter().filter(|row| row.waves.is_zero());
    always.map(|row| {
        let text = model.equation_text(&model.equations[row.equation]);
        format!("the constraint {text} holds always: it is redundant")
    })
}

/// The numerators and denominators of rows.
fn all_waves(rows: &[Constraint]) -> impl Iterator<Item = &Waves> {
    rows.iter()
        .flat_map(|row| std::iter::once(&row.waves).chain(&row.denominator))
}

/// Refuses unknowns that are angles and occur outside of sines and cosines as well.
fn check_angles(
    model: &Model,
    parts: &Trigonometric<'_>,
    rows: &[Constraint],
) -> Result<(), Vec<Diagnostic>> {
    for angle in &parts.angles {
        let Some(variable) = parts.variable_of(angle.unknown) else {
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
    rows: &mut [Constraint],
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
