//! Index reduction: an equivalent model of index 1 or 0, by dummy derivatives, minimal extension or in strangeness-free form.
//!
//! [`Groundwork`] is what every method needs: a consistent point, and equations whose structure holds there, repaired
//! where the written ones mislead. [`Groundwork::selection`] chooses states by conditioning, as a value that a run can
//! ask for again. [`Groundwork::reduce`] makes a model of it, which is written with [`IndexReduced::text`]. The formulas
//! are in `docs/theory/reduction.md`; [`StrangenessFree`] evaluates the form [Z1'F; Z2'F_mu] without any text.
//!
//! ```
//! use daelight_analysis::System;
//! use daelight_analysis::index_reduction::{Form, Groundwork, ReduceBy};
//! use daelight_analysis::initial::Request;
//! use daelight_lang::{Options, load};
//!
//! let text = "model Toy  Real x, y;  equation  der(x) = y;  x = sin(time);  end Toy;";
//! let model = load("toy.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
//! let system = System::new(&model)?;
//! let groundwork = Groundwork::new(&system, &Request::of_model(&system, 0.0, 0))?;
//! let reduced = groundwork.reduce(ReduceBy::Dummy, Form::Implicit)?;
//! let text = reduced.text().expect("short");
//! assert!(text.contains("// first derivative of equation 2: x = sin(time)\n  der_x = cos(time);"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod finish;
mod forms;
mod groundwork;
mod inputs;
mod linear;
mod refusal;
mod rows;
mod selection;
mod strangeness;
mod values;

pub use groundwork::Groundwork;
pub use inputs::with_inputs_kept;
pub use linear::{ConditionResidual, LinearReduction, TimeCondition};
pub use refusal::Refusal;
pub use selection::{NoSelection, Preference, StateChoice};
pub use values::{ArrayParts, FormValues, NoValues, Selectors, StrangenessFree};

use crate::system::System;
use daelight_expr::{Graph, TooLong};
use daelight_lang::{ArrayStyle, Model, Remarks, Symbols, remarked_modelica};
use rows::{Layout, Row, Work};

/// How the index is reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReduceBy {
    /// Dummy derivatives: all differentiated equations join, with a new unknown for each derivative that is no state's.
    Dummy,
    /// d rows of the model and a constraints without derivatives; no new unknowns.
    Strangeness,
    /// Dummy derivatives without those that a differentiated equation gives explicitly.
    Minimal,
}

impl ReduceBy {
    /// The word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dummy => "dummy",
            Self::Strangeness => "strangeness",
            Self::Minimal => "minimal",
        }
    }
}

/// How the reduced equations are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// F(t, x, x') = 0.
    Implicit,
    /// x' = F(t, x, y), 0 = G(t, x, y).
    SemiExplicit,
    /// x' = F(t, x, y), y = G(t, x, y), each y from states and earlier ones.
    Explicit,
}

/// What an unknown of a reduced model is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meaning {
    /// The unknown of the model as written, or beyond them one that a repair introduced.
    pub unknown: usize,
    /// Which derivative of it.
    pub order: usize,
}

/// A reduced model.
#[derive(Clone)]
pub struct IndexReduced {
    /// The model, ready for [`System::new`].
    pub model: Model,
    /// Where its equations come from.
    pub remarks: Remarks,
    /// What each of its unknowns is.
    pub meanings: Vec<Meaning>,
    /// Its states, by position in the unknowns of the reduced model.
    pub states: Vec<usize>,
    /// Whether the model did not need a reduction and is as written.
    pub is_unchanged: bool,
}

impl IndexReduced {
    /// The model as Modelica, with comments that name the origin of each new equation.
    pub fn text(&self) -> Result<String, TooLong> {
        remarked_modelica(&self.model, ArrayStyle::Kept, &self.remarks)
    }

    /// Names of unknowns that the model as written does not have.
    pub fn new_names(&self, system: &System) -> Vec<&str> {
        let first = system.unknowns().len();
        let unknowns = self.model.unknowns.get(first..).unwrap_or_default();
        unknowns.iter().map(|u| u.name.as_str()).collect()
    }

    /// Names of inputs that the model as written does not have: derivatives of others.
    pub fn new_inputs(&self, system: &System) -> Vec<&str> {
        let first = system.model().inputs.len();
        let inputs = self.model.inputs.get(first..).unwrap_or_default();
        inputs.iter().map(|input| input.name.as_str()).collect()
    }
}

impl Groundwork<'_> {
    /// Makes an equivalent model of index 1 or 0. A model that is one already stays as written in implicit form.
    pub fn reduce(&self, method: ReduceBy, form: Form) -> Result<IndexReduced, Refusal> {
        if self.index <= 1 && form == Form::Implicit {
            return Ok(self.unchanged());
        }
        self.check_structure()?;
        let mut work = Work::new(
            self.equations(),
            self.system.parameters().values(),
            self.point.time,
            &self.values,
        );
        match method {
            ReduceBy::Strangeness => strangeness::reduce(self, work, form),
            ReduceBy::Dummy | ReduceBy::Minimal => {
                let selection = self.selection()?;
                let mut rows = self.differentiated(&mut work)?;
                if method == ReduceBy::Minimal {
                    forms::drop_explicit(&mut work, &mut rows, selection.n_states())?;
                }
                let mut layout = Layout::of_states(selection.n_states());
                forms::bring_to(form, &mut work, &mut rows, &mut layout)
                    .map_err(|stuck| stuck.refusal(self.system))?;
                let head = self.head(method, Some(selection.quality()));
                let reduced = finish::model(self, work, rows, &layout, head)?;
                finish::check_structure(self, &reduced)?;
                Ok(reduced)
            }
        }
    }

    /// Equation i and its derivatives up to its offset, (1) of `docs/theory/reduction.md`.
    fn differentiated(&self, work: &mut Work<'_>) -> Result<Vec<Row>, Refusal> {
        let mut rows = Vec::new();
        for (equation, &times) in self.structure.offsets().equation.iter().enumerate() {
            let mut row = self.row(work, equation);
            for k in 0..=times {
                if k > 0 {
                    self.differentiate(work, &mut row);
                }
                if work.is_too_large() {
                    return Err(Refusal::TooLarge);
                }
                rows.push(row.clone());
            }
        }
        // Derivatives stand behind the equations themselves, lower ones first.
        rows.sort_by_key(|row| row.times);
        Ok(rows)
    }

    /// An equation as it is to be reduced.
    fn row(&self, work: &mut Work<'_>, equation: usize) -> Row {
        let residual = self.equations().residuals()[equation];
        let written = self.system.equations().residuals().get(equation);
        let (left, right) = if written == Some(&residual) {
            let written = &self.system.written()[equation];
            (written.left, written.right)
        } else {
            (residual, work.graph.constant(0.0))
        };
        Row {
            left,
            right,
            note: self.note(equation, 0),
            equation,
            times: 0,
            solved: None,
            divisors: Vec::new(),
        }
    }

    fn differentiate(&self, work: &mut Work<'_>, row: &mut Row) {
        if row.times == 0 && !self.system.model().inputs.is_empty() {
            // Inputs are replaced by their definitions, which have derivatives of any order.
            row.left = self.equations().residuals()[row.equation];
            row.right = work.graph.constant(0.0);
        }
        row.left = work.derivative(row.left);
        row.right = work.derivative(row.right);
        row.times += 1;
        row.note = self.note(row.equation, row.times);
    }

    /// Where a row comes from; nothing for an equation as written.
    fn note(&self, equation: usize, times: usize) -> String {
        let n_written = self.system.unknowns().len();
        let changed = self.repaired.as_ref().filter(|repaired| {
            let written = self.system.equations().residuals();
            repaired.equations().residuals().get(equation) != written.get(equation)
        });
        let name = match changed {
            _ if equation >= n_written => {
                let repaired = self
                    .repaired
                    .as_ref()
                    .expect("only a repair adds equations");
                let new = &repaired.extra_unknowns()[equation - n_written];
                format!("the definition of {}", new.name)
            }
            Some(_) => format!("the new equation {}", equation + 1),
            None => format!(
                "equation {}: {}",
                equation + 1,
                self.system.equation_text(equation)
            ),
        };
        match (times, changed) {
            (0, None) => String::new(),
            (0, Some(_)) if equation >= n_written => name,
            (0, Some(repaired)) => {
                let origins = repaired.origins(equation).iter().map(|origin| {
                    let of = format!("equation {}", origin.equation + 1);
                    match origin.times_differentiated {
                        0 => of,
                        times => format!("the {} derivative of {of}", ordinal(times)),
                    }
                });
                let origins: Vec<String> = origins.collect();
                format!("{name}, a combination of {}", listed(&origins))
            }
            (times, _) => format!("{} derivative of {name}", ordinal(times)),
        }
    }

    /// The lines above the reduced model.
    fn head(&self, method: ReduceBy, quality: Option<f64>) -> Vec<String> {
        let dof = self.structure.n_degrees_of_freedom();
        let (name, index) = (self.system.name(), self.index);
        let mut head = vec![if index > 1 {
            format!(
                "{name} with its index reduced from {index} by `daelight reduce --method {}`; degrees of freedom: {dof}.",
                method.word()
            )
        } else {
            format!(
                "{name} rewritten by `daelight reduce`; its index is {index}; degrees of freedom: {dof}."
            )
        }];
        if let Some(repaired) = &self.repaired {
            head.push(format!(
                "Its structure was repaired first, for these values of the parameters: {}.",
                repaired.text()
            ));
            let suspects = repaired.suspects().iter();
            let suspects: Vec<&str> = suspects.filter_map(|s| s.text.as_deref()).collect();
            if !suspects.is_empty() {
                head.push(format!(
                    "This holds where none of these is zero: {}.",
                    suspects.join(", ")
                ));
            }
        }
        if let Some(quality) = quality.filter(|_| dof > 0) {
            head.push(format!(
                "The states were chosen at time = {}; smallest relative pivot {quality:.1e}.",
                self.point.time
            ));
        }
        head
    }

    fn unchanged(&self) -> IndexReduced {
        let equations = self.system.equations();
        let mut model = self.system.model().clone();
        model.graph = Graph::clone(equations.graph());
        model.symbols = Symbols::clone(equations.symbols());
        finish::take_parameters(&mut model, self.system);
        let n = model.unknowns.len();
        let head = format!(
            "{} needs no reduction: its index is {}.",
            self.system.name(),
            self.index
        );
        IndexReduced {
            model,
            remarks: Remarks {
                head: vec![head],
                equations: Vec::new(),
            },
            meanings: (0..n)
                .map(|unknown| Meaning { unknown, order: 0 })
                .collect(),
            states: Vec::new(),
            is_unchanged: true,
        }
    }
}

/// "first", "second", ..., "5th".
fn ordinal(number: usize) -> String {
    match number {
        1 => "first".to_string(),
        2 => "second".to_string(),
        3 => "third".to_string(),
        4 => "fourth".to_string(),
        _ => format!("{number}th"),
    }
}

/// "a, b and c".
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
