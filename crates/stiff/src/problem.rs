//! Equations F(t, x, x') = 0 made ready for an implicit method: values, matrices, index of each unknown.

use crate::function::{Differenced, Function, Pattern};
use crate::pencil::{Layout, Pencil};
use crate::run::Start;
use daelight_analysis::Equations;
use daelight_analysis::structure::{StructurallySingular, settled};
use daelight_expr::{Abreast, Fault, Values};
use daelight_linalg::LinalgError;
use daelight_native::{NativeCode, NativeError, NativeValues, Point, Tier};
use std::fmt;
use std::sync::Arc;

/// Why equations or a start cannot be integrated as asked.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum InputError {
    /// Not as many equations as unknowns.
    NotSquare {
        /// Number of equations.
        n_equations: usize,
        /// Number of unknowns.
        n_unknowns: usize,
    },
    /// Derivatives above the first occur.
    OrderAboveOne(usize),
    /// The pattern alone leaves unknowns undetermined.
    StructurallySingular(StructurallySingular),
    /// The matrix has no sparse layout.
    Layout(LinalgError),
    /// A list has another length than there are unknowns or parameters.
    Length {
        /// What the list is.
        what: &'static str,
        /// Entries asked for.
        expected: usize,
        /// Entries given.
        found: usize,
    },
    /// A number that must be finite, or positive, is not.
    BadNumber(&'static str),
    /// The derivative of an unknown occurs that is not among the states.
    NotAState(usize),
    /// The method does not converge on unknowns of this index.
    IndexTooHigh {
        /// The unknown.
        unknown: usize,
        /// Its index.
        index: usize,
        /// The highest index that the method takes in this setting.
        most: usize,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSquare {
                n_equations,
                n_unknowns,
            } => write!(f, "{n_equations} equations for {n_unknowns} unknowns"),
            Self::OrderAboveOne(order) => write!(f, "derivatives of order {order} occur"),
            Self::StructurallySingular(_) => write!(f, "the equations are structurally singular"),
            Self::Layout(error) => write!(f, "the matrix cannot be laid out: {error}"),
            Self::Length {
                what,
                expected,
                found,
            } => write!(f, "{what}: {found} values where {expected} are needed"),
            Self::BadNumber(what) => write!(f, "{what} is not a usable number"),
            Self::NotAState(unknown) => {
                write!(
                    f,
                    "the derivative of unknown {unknown}, which is no state, occurs"
                )
            }
            Self::IndexTooHigh {
                unknown,
                index,
                most,
            } => write!(
                f,
                "unknown {unknown} has index {index}; the method takes at most {most}"
            ),
        }
    }
}

impl std::error::Error for InputError {}

/// Asks for a list of a certain length.
pub(crate) fn expect_length(
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), InputError> {
    if expected == found {
        Ok(())
    } else {
        Err(InputError::Length {
            what,
            expected,
            found,
        })
    }
}

/// What evaluates the tapes of residuals and matrices.
enum Code {
    Interpreted {
        residuals: Box<Values>,
        matrices: Box<Values>,
    },
    Native {
        residuals: Box<NativeValues>,
        matrices: Box<NativeValues>,
        parameters: Vec<f64>,
        /// x and x', one after the other.
        point: Vec<f64>,
    },
    Function(Box<Differenced>),
}

/// Square equations F(t, x, x') = 0 of first order with parameters, ready to be integrated.
pub struct Problem {
    n: usize,
    indices: Vec<usize>,
    is_algebraic: Vec<bool>,
    is_differentiated: Vec<bool>,
    code: Code,
    layout: Layout,
    /// Residuals, entries of B, entries of E, as last evaluated.
    outputs: Vec<f64>,
    /// A point, its derivatives and residuals, where points come one by one.
    point: Vec<f64>,
}

impl Problem {
    /// Takes the index of each unknown from the structure of the equations, (8) of `docs/theory/structure.md`.
    pub fn new(equations: &Equations, parameters: &[f64]) -> Result<Self, InputError> {
        check_square(equations)?;
        let (equations, structure) = settled(equations.clone());
        let structure = structure.map_err(InputError::StructurallySingular)?;
        Self::with_indices(&equations, parameters, structure.unknown_indices())
    }

    /// Takes the index of each unknown as given, for equations whose structure misleads.
    pub fn with_indices(
        equations: &Equations,
        parameters: &[f64],
        indices: &[usize],
    ) -> Result<Self, InputError> {
        check_square(equations)?;
        let n = equations.n_unknowns();
        expect_length("indices of the unknowns", n, indices.len())?;
        let mut residuals = Values::new(Arc::new(equations.residual_tape()));
        let mut matrices = Values::new(Arc::new(equations.jacobian_tape()));
        for values in [&mut residuals, &mut matrices] {
            let places = values.inputs_mut().parameters_mut();
            expect_length("parameters", places.len(), parameters.len())?;
            places.copy_from_slice(parameters);
        }
        let derivatives = equations.pattern(1);
        let mut is_differentiated = vec![false; n];
        for &column in derivatives.columns() {
            is_differentiated[column as usize] = true;
        }
        Ok(Self {
            is_differentiated,
            n,
            indices: indices.iter().map(|&index| index.max(1)).collect(),
            is_algebraic: (0..n).map(|row| derivatives.row(row).is_empty()).collect(),
            outputs: vec![0.0; matrices.tape().n_roots()],
            point: vec![0.0; 3 * n],
            layout: Layout::new(equations).map_err(InputError::Layout)?,
            code: Code::Interpreted {
                residuals: Box::new(residuals),
                matrices: Box::new(matrices),
            },
        })
    }

    /// Takes equations that are given by a function.
    ///
    /// `pattern` names the entries that its matrices can have, and `typical` the size below which an unknown counts as zero.
    /// Without `indices` the index of each unknown comes from the entries that differ from zero near the start.
    pub fn of_function(
        function: Box<dyn Function>,
        pattern: Pattern,
        typical: Vec<f64>,
        start: Start<'_>,
        indices: Option<&[usize]>,
    ) -> Result<Self, InputError> {
        let n = pattern.n();
        expect_length("start values", n, start.x.len())?;
        expect_length("start derivatives", n, start.xp.len())?;
        expect_length("typical sizes", n, typical.len())?;
        let mut function = Box::new(Differenced::new(function, pattern.clone(), typical));
        let seen = function.seen(start.t, start.x, start.xp).unwrap_or(pattern);
        let indices = match indices {
            Some(indices) => {
                expect_length("indices of the unknowns", n, indices.len())?;
                indices.to_vec()
            }
            None => seen.unknown_indices().unwrap_or_else(|| vec![1; n]),
        };
        Ok(Self {
            n,
            indices: indices.iter().map(|&index| index.max(1)).collect(),
            is_algebraic: (0..n).map(|row| seen.is_algebraic(row)).collect(),
            is_differentiated: (0..n)
                .map(|column| seen.is_differentiated(column))
                .collect(),
            outputs: vec![0.0; n + 2 * n * n],
            point: vec![0.0; 3 * n],
            layout: Layout::full(n).map_err(InputError::Layout)?,
            code: Code::Function(function),
        })
    }

    /// How often a function was evaluated for values and for differences; 0 for equations that are known.
    pub fn n_evaluations(&self) -> usize {
        match &self.code {
            Code::Function(function) => function.n_evaluations,
            _ => 0,
        }
    }

    /// Evaluates by native code from now on: for large models and long runs.
    pub fn compile(&mut self, tier: Tier) -> Result<(), NativeError> {
        if let Code::Interpreted {
            residuals,
            matrices,
        } = &self.code
        {
            let native = |values: &Values| -> Result<_, NativeError> {
                let code = NativeCode::compile(Arc::new(values.tape().clone()), tier)?;
                Ok(Box::new(NativeValues::new(Arc::new(code))))
            };
            self.code = Code::Native {
                residuals: native(residuals)?,
                matrices: native(matrices)?,
                parameters: residuals.inputs().parameters().to_vec(),
                point: vec![0.0; 2 * self.n],
            };
        }
        Ok(())
    }

    /// Decides all branches by a point, and holds them there: the equations are then the smooth continuation of what they are
    /// around it, and whoever holds them looks for switching times.
    pub fn hold_sides(&mut self, t: f64, x: &[f64], xp: &[f64]) {
        if let Code::Interpreted {
            residuals,
            matrices,
        } = &mut self.code
        {
            for values in [residuals, matrices] {
                values.branches_mut().hold(false);
                // A fault there comes back in the step.
                let _ = evaluate(values, t, x, xp, &mut []);
                values.branches_mut().hold(true);
            }
        }
    }

    /// Number of equations and of unknowns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The index of each unknown.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// The highest index of an unknown; 1 for a problem without unknowns.
    pub fn highest_index(&self) -> usize {
        self.indices.iter().copied().max().unwrap_or(1)
    }

    /// Whether no derivative stands in an equation.
    pub fn is_algebraic(&self, equation: usize) -> bool {
        self.is_algebraic[equation]
    }

    /// Whether the derivative of an unknown occurs.
    pub fn is_differentiated(&self, unknown: usize) -> bool {
        self.is_differentiated[unknown]
    }

    /// Number of equations without derivatives.
    pub fn n_algebraic(&self) -> usize {
        self.is_algebraic.iter().filter(|&&is| is).count()
    }

    /// Refuses unknowns of too high an index.
    pub(crate) fn expect_index(&self, most: usize) -> Result<(), InputError> {
        match self.indices.iter().position(|&index| index > most) {
            None => Ok(()),
            Some(unknown) => Err(InputError::IndexTooHigh {
                unknown,
                index: self.indices[unknown],
                most,
            }),
        }
    }

    /// An empty pencil of the matrices of this problem.
    pub(crate) fn pencil(&self) -> Pencil {
        Pencil::new(self.layout.clone())
    }

    /// Evaluates F(t, x, x'). Allocates nothing.
    pub fn residuals(
        &mut self,
        t: f64,
        x: &[f64],
        xp: &[f64],
        into: &mut [f64],
    ) -> Result<(), Fault> {
        match &mut self.code {
            Code::Interpreted { residuals, .. } => evaluate(residuals, t, x, xp, into),
            Code::Native {
                residuals,
                parameters,
                point,
                ..
            } => residuals.evaluate(place(point, parameters, t, x, xp), into),
            Code::Function(function) => {
                function.residuals(t, x, xp, into);
                Ok(())
            }
        }
    }

    /// What evaluates F at N points at once; `None` where F is no interpreted tape.
    pub(crate) fn abreast<const N: usize>(&self) -> Option<Abreast<N>> {
        match &self.code {
            Code::Interpreted { residuals, .. } => Abreast::new(residuals),
            _ => None,
        }
    }

    /// Evaluates F at N points, `[unknown][point]`, with what [`Problem::abreast`] gave. Allocates nothing.
    pub(crate) fn residuals_abreast<const N: usize>(
        &mut self,
        abreast: Option<&mut Abreast<N>>,
        times: &[f64; N],
        [x, xp]: [&[[f64; N]]; 2],
        into: &mut [[f64; N]],
    ) -> Result<(), Fault> {
        if let (Code::Interpreted { residuals, .. }, Some(abreast)) = (&mut self.code, abreast)
            && abreast.evaluate(residuals, times, [x, xp])
        {
            for (root, into) in into.iter_mut().enumerate() {
                *into = *abreast.root(root);
            }
            return Ok(());
        }
        let mut point = std::mem::take(&mut self.point);
        let (values, rest) = point.split_at_mut(self.n);
        let (rates, found) = rest.split_at_mut(self.n);
        let outcome = times.iter().enumerate().try_for_each(|(k, &time)| {
            for j in 0..values.len() {
                (values[j], rates[j]) = (x[j][k], xp[j][k]);
            }
            self.residuals(time, values, rates, found)?;
            for (into, found) in into.iter_mut().zip(found.iter()) {
                into[k] = *found;
            }
            Ok(())
        });
        self.point = point;
        outcome
    }

    /// Evaluates B = dF/dx and E = dF/dx' into a pencil. Allocates nothing.
    pub(crate) fn linearise(
        &mut self,
        t: f64,
        x: &[f64],
        xp: &[f64],
        pencil: &mut Pencil,
    ) -> Result<(), Fault> {
        let outputs = &mut self.outputs;
        match &mut self.code {
            Code::Interpreted { matrices, .. } => evaluate(matrices, t, x, xp, outputs)?,
            Code::Native {
                matrices,
                parameters,
                point,
                ..
            } => matrices.evaluate(place(point, parameters, t, x, xp), outputs)?,
            Code::Function(function) => function.matrices(t, x, xp, &mut outputs[self.n..]),
        }
        pencil.load(&self.outputs[self.n..]);
        Ok(())
    }
}

fn check_square(equations: &Equations) -> Result<(), InputError> {
    let (n_equations, n_unknowns) = (equations.n_equations(), equations.n_unknowns());
    if n_equations != n_unknowns {
        return Err(InputError::NotSquare {
            n_equations,
            n_unknowns,
        });
    }
    if equations.order() > 1 {
        return Err(InputError::OrderAboveOne(equations.order()));
    }
    Ok(())
}

fn place<'a>(
    point: &'a mut [f64],
    parameters: &'a [f64],
    time: f64,
    x: &[f64],
    xp: &[f64],
) -> Point<'a> {
    let (values, rates) = point.split_at_mut(x.len());
    values.copy_from_slice(x);
    rates.copy_from_slice(xp);
    Point {
        coefficients: point,
        parameters,
        time,
    }
}

fn evaluate(
    values: &mut Values,
    t: f64,
    x: &[f64],
    xp: &[f64],
    into: &mut [f64],
) -> Result<(), Fault> {
    let inputs = values.inputs_mut();
    inputs.set_time(t);
    inputs.row_mut(0).copy_from_slice(x);
    inputs.row_mut(1).copy_from_slice(xp);
    values.evaluate()?;
    values.roots(into);
    Ok(())
}
