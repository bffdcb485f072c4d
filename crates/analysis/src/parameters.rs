//! The values of the parameters: which can be set, and what follows when one is.
//!
//! A parameter that is defined by others follows them until it is set itself, exactly as if the model
//! had been read again with the new value. What decides the shape of the model cannot be set.

use daelight_expr::{ExprId, Graph, Walker};
use daelight_lang::{Declared, Parameter, Symbol, Symbols, Type};
use std::fmt;
use std::sync::Arc;

/// Why a parameter keeps its value.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ParameterError {
    /// There is no parameter of this name.
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// It is a constant.
    Constant {
        /// The constant.
        name: String,
    },
    /// It is declared `final`.
    Final {
        /// The parameter.
        name: String,
    },
    /// Sizes, ranges or the choice of equations depend on it.
    Structural {
        /// The parameter.
        name: String,
    },
    /// A parameter would be no finite number.
    NotFinite {
        /// The parameter, which may follow from the one that was set.
        name: String,
        /// What it would be.
        value: f64,
    },
    /// An `Integer` or `Boolean` would not be a whole number.
    NotWhole {
        /// The parameter.
        name: String,
        /// What it would be.
        value: f64,
    },
    /// A parameter would leave its bounds.
    OutOfBounds {
        /// The parameter.
        name: String,
        /// What it would be.
        value: f64,
        /// The bound that it passes.
        bound: f64,
    },
    /// An assertion of the model would not hold.
    Asserted {
        /// What the model says then.
        text: String,
    },
    /// An attribute of an unknown would be no finite number.
    Attribute {
        /// The unknown.
        unknown: String,
        /// `start` or `nominal`.
        attribute: &'static str,
        /// What it would be.
        value: f64,
    },
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => write!(f, "the model has no parameter `{name}`"),
            Self::Constant { name } => write!(f, "`{name}` is a constant"),
            Self::Final { name } => write!(f, "`{name}` is final"),
            Self::Structural { name } => {
                write!(f, "the shape of the model depends on `{name}`")
            }
            Self::NotFinite { name, value } => {
                write!(f, "`{name}` would be {value}, no finite number")
            }
            Self::NotWhole { name, value } => {
                write!(f, "`{name}` would be {value}, no whole number")
            }
            Self::OutOfBounds { name, value, bound } => {
                write!(f, "`{name}` would be {value}, beyond its bound {bound}")
            }
            Self::Asserted { text } => write!(f, "assertion failed: {text}"),
            Self::Attribute {
                unknown,
                attribute,
                value,
            } => write!(
                f,
                "`{attribute}` of `{unknown}` would be {value}, no finite number"
            ),
        }
    }
}

impl std::error::Error for ParameterError {}

/// Values of all parameters of a model, and how they hang together.
#[derive(Clone, Debug)]
pub struct Parameters {
    list: Arc<[Parameter]>,
    is_final: Arc<[bool]>,
    /// Parameters defined by others, grouped so that each group needs only earlier ones.
    levels: Arc<[Vec<usize>]>,
    /// Whether a value was set, so that the definition no longer counts.
    is_set: Vec<bool>,
    values: Vec<f64>,
}

impl Parameters {
    /// Reads the values of a model and finds which of them depend on which.
    pub(crate) fn new(
        graph: &Graph,
        symbols: &Symbols,
        list: &[Parameter],
        declarations: &[Declared],
    ) -> Self {
        let mut walker = Walker::new();
        let needs: Vec<Vec<usize>> = list
            .iter()
            .map(|parameter| {
                if graph.as_constant(parameter.definition).is_some() {
                    return Vec::new();
                }
                let found = walker.symbols(graph, &[parameter.definition]);
                let parameters = found.into_iter().filter_map(|id| match symbols.get(id) {
                    Symbol::Parameter(index) => Some(index),
                    _ => None,
                });
                parameters.collect()
            })
            .collect();
        // A definition can only use parameters that were known before it.
        let mut level = vec![0; list.len()];
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for (index, needed) in needs.iter().enumerate() {
            let Some(deepest) = needed.iter().map(|&other| level[other]).max() else {
                continue;
            };
            level[index] = deepest + 1;
            if levels.len() <= deepest {
                levels.resize(deepest + 1, Vec::new());
            }
            levels[deepest].push(index);
        }
        Self {
            is_final: list
                .iter()
                .map(|parameter| declarations[parameter.declaration].is_final)
                .collect(),
            levels: levels.into(),
            is_set: vec![false; list.len()],
            values: list.iter().map(|parameter| parameter.value).collect(),
            list: list.into(),
        }
    }

    /// Number of parameters and constants.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The values, by position.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The name of a parameter.
    pub fn name(&self, index: usize) -> &str {
        &self.list[index].name
    }

    /// The position of a name.
    pub fn find(&self, name: &str) -> Result<usize, ParameterError> {
        self.list
            .iter()
            .position(|parameter| parameter.name == name)
            .ok_or_else(|| ParameterError::Unknown {
                name: name.to_string(),
            })
    }

    /// Says why a parameter cannot be set, if it cannot.
    pub fn settable(&self, index: usize) -> Result<(), ParameterError> {
        let name = self.name(index).to_string();
        if self.list[index].is_constant {
            return Err(ParameterError::Constant { name });
        }
        if self.is_final[index] {
            return Err(ParameterError::Final { name });
        }
        if self.list[index].is_structural {
            return Err(ParameterError::Structural { name });
        }
        Ok(())
    }

    /// The same parameters with some values set and all that follow from them.
    pub(crate) fn with(
        &self,
        graph: &Graph,
        symbols: &Symbols,
        changes: &[(usize, f64)],
    ) -> Result<Self, ParameterError> {
        let mut next = self.clone();
        for &(index, value) in changes {
            next.settable(index)?;
            next.values[index] = value;
            next.is_set[index] = true;
        }
        for level in self.levels.iter() {
            let followers: Vec<usize> = level
                .iter()
                .copied()
                .filter(|&index| !next.is_set[index])
                .collect();
            let definitions: Vec<ExprId> = followers
                .iter()
                .map(|&index| next.list[index].definition)
                .collect();
            let values = next.evaluate(graph, symbols, &definitions);
            for (index, value) in followers.into_iter().zip(values) {
                next.values[index] = value;
            }
        }
        next.check(graph, symbols)?;
        Ok(next)
    }

    /// Values of expressions of parameters; NaN where one depends on anything else.
    pub(crate) fn evaluate(
        &self,
        graph: &Graph,
        symbols: &Symbols,
        expressions: &[ExprId],
    ) -> Vec<f64> {
        if let Some(numbers) = expressions
            .iter()
            .map(|&expression| graph.as_constant(expression))
            .collect()
        {
            return numbers;
        }
        graph.evaluate(expressions, |id| match symbols.get(id) {
            Symbol::Parameter(index) => self.values[index],
            _ => f64::NAN,
        })
    }

    /// The bounds of a parameter, infinite where it has none.
    pub(crate) fn bounds(&self, graph: &Graph, symbols: &Symbols, index: usize) -> (f64, f64) {
        let parameter = &self.list[index];
        let value = |bound: Option<ExprId>, none: f64| {
            bound.map_or(none, |bound| self.evaluate(graph, symbols, &[bound])[0])
        };
        let lower = value(parameter.min, f64::NEG_INFINITY);
        (lower, value(parameter.max, f64::INFINITY))
    }

    /// All values are finite, whole where they must be, and within their bounds.
    fn check(&self, graph: &Graph, symbols: &Symbols) -> Result<(), ParameterError> {
        for (index, (parameter, &value)) in self.list.iter().zip(&self.values).enumerate() {
            let name = || parameter.name.clone();
            if !value.is_finite() {
                return Err(ParameterError::NotFinite {
                    name: name(),
                    value,
                });
            }
            if parameter.ty != Type::Real && value.fract() != 0.0 {
                return Err(ParameterError::NotWhole {
                    name: name(),
                    value,
                });
            }
            let (lower, upper) = self.bounds(graph, symbols, index);
            if value < lower || value > upper {
                let bound = if value < lower { lower } else { upper };
                return Err(ParameterError::OutOfBounds {
                    name: name(),
                    value,
                    bound,
                });
            }
        }
        Ok(())
    }
}
