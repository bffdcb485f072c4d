//! Index reduction: an equivalent model of index 1 or 0, by dummy derivatives, minimal extension or in strangeness-free form.
//!
//! [`Groundwork`] is what every method needs: a consistent point, and equations whose structure holds there, repaired
//! where the written ones mislead. [`Groundwork::selection`] chooses states by conditioning, as a value that a run can
//! ask for again. [`Groundwork::reduce`] makes a model of it, which is written with [`IndexReduced::text`]. The formulas
//! are in `docs/theory/reduction.md`; [`StrangenessFree`] evaluates the form [Z1'F; Z2'F_mu] without any text.
//!
//! ```
//! use daelight_analysis::System;
//! use daelight_analysis::index_reduction::{Form, Groundwork, Method};
//! use daelight_analysis::initial::Request;
//! use daelight_lang::{Options, load};
//!
//! let text = "model Toy  Real x, y;  equation  der(x) = y;  x = sin(time);  end Toy;";
//! let model = load("toy.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
//! let system = System::new(&model)?;
//! let groundwork = Groundwork::new(&system, &Request::of_model(&system, 0.0, 0))?;
//! let reduced = groundwork.reduce(Method::Dummy, Form::Implicit)?;
//! let text = reduced.text().expect("short");
//! assert!(text.contains("// first derivative of equation 2: x = sin(time)\n  der_x = cos(time);"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod finish;
mod forms;
mod refusal;
mod rows;
mod selection;
mod strangeness;
mod values;

pub use refusal::Refusal;
pub use selection::{NoSelection, Preference, Selection};
pub use values::{FormValues, NoValues, Selectors, StrangenessFree};

use crate::equations::Equations;
use crate::initial::{ConsistentPoint, Request, StageOffsets, consistent_point, nominal};
use crate::outcome::Indices;
use crate::passport::{Passport, PointVerdict, Regularity};
use crate::repair::{Budget, Names, Repair, Repaired, irregular_blocks, repair};
use crate::structure::{Structure, SystemJacobian};
use crate::system::System;
use daelight_expr::{FastMap, TooLong};
use daelight_lang::{ArrayStyle, Model, Remarks, Symbol, remarked_modelica};
use rows::{Key, Layout, Row, Work};

/// How the index is reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Dummy derivatives: all differentiated equations join, with a new unknown for each derivative that is no state's.
    Dummy,
    /// d rows of the model and a constraints without derivatives; no new unknowns.
    Strangeness,
    /// Dummy derivatives without those that a differentiated equation gives explicitly.
    Minimal,
}

impl Method {
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

    /// Names of the states.
    pub fn state_names(&self) -> Vec<&str> {
        let name = |&at: &usize| self.model.unknowns[at].name.as_str();
        self.states.iter().map(name).collect()
    }

    /// Names of unknowns that the model as written does not have.
    pub fn new_names(&self, system: &System) -> Vec<&str> {
        let first = system.unknowns().len();
        let unknowns = self.model.unknowns.get(first..).unwrap_or_default();
        unknowns.iter().map(|u| u.name.as_str()).collect()
    }
}

/// A consistent point, and equations whose structure holds there.
pub struct Groundwork<'a> {
    system: &'a System,
    point: ConsistentPoint,
    /// The differentiation index, or where that was not computed the structural one.
    index: usize,
    structure: Structure,
    repaired: Option<Box<Repaired>>,
    /// Why the structure does not hold, in a model that needs no reduction.
    obstacle: Option<Refusal>,
    /// Derivatives of all unknowns at the point, those that a repair introduced included.
    values: FastMap<Key, f64>,
}

impl<'a> Groundwork<'a> {
    /// Finds the point closest to the request and decides whether the structure holds there.
    pub fn new(system: &'a System, request: &Request) -> Result<Self, Refusal> {
        let written = system.equations();
        let (m, n) = (written.n_equations(), written.n_unknowns());
        if m != n {
            return Err(Refusal::Rectangular { m, n });
        }
        if n == 0 {
            return Err(Refusal::Empty);
        }
        if Structure::of_equations(written).is_err() {
            return Err(Refusal::StructurallySingular);
        }
        let passport = Passport::new(system, request);
        let parameters = system.parameters().values();
        let part = passport.structure().ok_or(Refusal::StructurallySingular)?;
        let point = match (&passport.point, &passport.verdict) {
            (_, PointVerdict::Singular { .. }) => return Err(Refusal::Singular),
            (Err(no_point), _) => return Err(Refusal::NoPoint(no_point.clone())),
            (Ok(point), _) => point,
        };
        let at_point = |symbol: Symbol| match symbol {
            Symbol::Time => point.time,
            Symbol::Unknown { unknown, order } => point.jet.derivative(unknown, order as usize),
            _ => f64::NAN,
        };
        let structure = part.structure.clone();
        // Models too large for the numerical notions are judged by their structure alone.
        let is_large = passport.numerical.is_err();
        let holds = match part.regularity {
            Regularity::Regular => true,
            Regularity::Unknown(_) => is_large,
            _ => false,
        } && irregular_blocks(written, &structure, parameters, &at_point).is_empty();
        if let PointVerdict::Unknown { because } = &passport.verdict
            && !(is_large && holds)
        {
            return Err(Refusal::Undecided(because.clone()));
        }
        let indices = passport.indices();
        let found = if holds {
            Ok((structure.clone(), None))
        } else {
            repaired_structure(system, &structure, &at_point)
        };
        let found = found.and_then(|(structure, repaired)| {
            let promised = structure.n_degrees_of_freedom();
            match indices.map(Indices::degrees_of_freedom) {
                Some(dof) if dof as u64 != promised => Err(Refusal::Undecided(format!(
                    "the structure promises {promised} degrees of freedom, the ranks at the point {dof}"
                ))),
                _ => Ok((structure, repaired)),
            }
        });
        let index = indices.and_then(|indices| indices.differentiation_index);
        let (structure, repaired, obstacle) = match (found, index) {
            (Ok((structure, repaired)), _) => (structure, repaired, None),
            // A model that needs no reduction needs no structure either.
            (Err(refusal), Some(0 | 1)) => (structure, None, Some(refusal)),
            (Err(refusal), _) => return Err(refusal),
        };
        let index = index.unwrap_or(match &repaired {
            Some(repaired) => repaired.structural_index(),
            None => structure.structural_index(),
        });
        let mut groundwork = Self {
            system,
            point: point.clone(),
            index,
            structure,
            repaired,
            obstacle,
            values: FastMap::default(),
        };
        if groundwork.obstacle.is_some() {
            return Ok(groundwork);
        }
        groundwork.reach(request)?;
        groundwork.check_regular()?;
        Ok(groundwork)
    }

    /// Whether there is a structure that holds at the point.
    fn check_structure(&self) -> Result<(), Refusal> {
        self.obstacle.clone().map_or(Ok(()), Err)
    }

    /// The equations that are reduced: as written, or repaired.
    pub fn equations(&self) -> &Equations {
        match &self.repaired {
            Some(repaired) => repaired.equations(),
            None => self.system.equations(),
        }
    }

    /// Their structure, which holds at the point unless [`Groundwork::selection`] says otherwise.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The repair, where the written equations needed one.
    pub fn repaired(&self) -> Option<&Repaired> {
        self.repaired.as_deref()
    }

    /// The point.
    pub fn point(&self) -> &ConsistentPoint {
        &self.point
    }

    /// The differentiation index of the model at the point; the structural one for models too large for the other.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Values of the system Jacobian at the point.
    pub fn jacobian(&self) -> Vec<f64> {
        let parameters = self.system.parameters().values();
        let jacobian = SystemJacobian::new(self.equations(), &self.structure, parameters);
        jacobian.evaluate(|symbol| self.value(symbol))
    }

    /// Typical sizes of the unknowns, those that a repair introduced included.
    pub fn nominal(&self) -> Vec<f64> {
        let mut sizes = nominal(self.system);
        sizes.resize(self.structure.n(), 1.0);
        sizes
    }

    /// The choice of states at the point.
    pub fn selection(&self) -> Result<Selection, Refusal> {
        self.check_structure()?;
        let mut fixed: Vec<bool> = self.system.unknowns().iter().map(|u| u.fixed).collect();
        fixed.resize(self.structure.n(), false);
        let nominal = self.nominal();
        let preference = Preference {
            nominal: &nominal,
            fixed: &fixed,
        };
        Selection::at(&self.structure, &self.jacobian(), preference).map_err(Refusal::NoSelection)
    }

    /// Makes an equivalent model of index 1 or 0. A model that is one already stays as written in implicit form.
    pub fn reduce(&self, method: Method, form: Form) -> Result<IndexReduced, Refusal> {
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
            Method::Strangeness => strangeness::reduce(self, work, form),
            Method::Dummy | Method::Minimal => {
                let selection = self.selection()?;
                let mut rows = self.differentiated(&mut work)?;
                if method == Method::Minimal {
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

    fn value(&self, symbol: Symbol) -> f64 {
        match symbol {
            Symbol::Time => self.point.time,
            Symbol::Unknown { unknown, order } => {
                let value = self.values.get(&(unknown, order as usize));
                value.copied().unwrap_or(f64::NAN)
            }
            _ => f64::NAN,
        }
    }

    /// Computes the jet as far as the differentiated equations reach, and all values from it.
    fn reach(&mut self, request: &Request) -> Result<(), Refusal> {
        let n_written = self.system.unknowns().len();
        let offsets = self.structure.offsets();
        let mut symbols = daelight_lang::Symbols::clone(self.equations().symbols());
        let mut graph = daelight_expr::Graph::clone(self.equations().graph());
        // What the new unknowns are, as often differentiated as they occur.
        let mut extra = Vec::new();
        for new in self.repaired.iter().flat_map(|r| r.extra_unknowns()) {
            let mut expr = new.derivatives[0];
            for order in 0..=offsets.variable[new.unknown] {
                extra.push(((new.unknown, order), expr));
                let symbols = &mut symbols;
                expr = graph.derivatives_along(&[expr], |graph, id| symbols.rate(graph, id))[0];
            }
        }
        let roots: Vec<_> = extra.iter().map(|(_, expr)| *expr).collect();
        let orders = daelight_expr::Walker::new().symbols(&graph, &roots);
        let orders = orders.into_iter().map(|id| match symbols.get(id) {
            Symbol::Unknown { order, .. } => order as usize,
            _ => 0,
        });
        let highest = offsets.variable[..n_written]
            .iter()
            .copied()
            .chain(orders)
            .max()
            .unwrap_or(0);
        let (stages, times) = match &self.repaired {
            None => (Some(StageOffsets::of(&self.structure)), &offsets.equation),
            Some(repaired) => (None, &repaired.times_differentiated()),
        };
        let order = highest + times.iter().copied().max().unwrap_or(0);
        if self.point.order < order {
            let request = Request {
                guess: self.point.jet.values().to_vec(),
                order,
                ..request.clone()
            };
            self.point =
                consistent_point(self.system, stages, &request).map_err(Refusal::NoPoint)?;
        }
        let jet = &self.point.jet;
        for unknown in 0..n_written {
            for order in 0..=highest {
                let value = jet.derivative(unknown, order);
                self.values.insert((unknown, order), value);
            }
        }
        let parameters = self.system.parameters().values();
        let values = graph.evaluate(&roots, |id| match symbols.get(id) {
            Symbol::Parameter(index) => parameters[index],
            symbol => self.value(symbol),
        });
        let keys = extra.into_iter().map(|(key, _)| key);
        self.values.extend(keys.zip(values));
        Ok(())
    }

    /// The structure must hold at the point itself, and no factor of the repair may vanish there.
    fn check_regular(&self) -> Result<(), Refusal> {
        let parameters = self.system.parameters().values();
        let at_point = |symbol: Symbol| self.value(symbol);
        let irregular = irregular_blocks(self.equations(), &self.structure, parameters, &at_point);
        if !irregular.is_empty() {
            return Err(Refusal::Singular);
        }
        let Some(repaired) = &self.repaired else {
            return Ok(());
        };
        let suspects: Vec<_> = repaired.suspects().iter().map(|s| s.expr).collect();
        let symbols = repaired.equations().symbols();
        let values = repaired
            .equations()
            .graph()
            .evaluate(&suspects, |id| match symbols.get(id) {
                Symbol::Parameter(index) => parameters[index],
                symbol => self.value(symbol),
            });
        let vanishing = |value: &f64| value.is_nan() || value.abs() < 1e-10;
        match values.iter().position(vanishing) {
            None => Ok(()),
            Some(at) => Err(Refusal::Undecided(format!(
                "the structure was repaired with the factor {}, which is zero at the point",
                repaired.suspects()[at]
                    .text
                    .as_deref()
                    .unwrap_or("of a step")
            ))),
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
    fn head(&self, method: Method, quality: Option<f64>) -> Vec<String> {
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
        model.graph = daelight_expr::Graph::clone(equations.graph());
        model.symbols = daelight_lang::Symbols::clone(equations.symbols());
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

/// Repairs equations whose structure does not hold at the point.
fn repaired_structure(
    system: &System,
    structure: &Structure,
    at_point: &dyn Fn(Symbol) -> f64,
) -> Result<(Structure, Option<Box<Repaired>>), Refusal> {
    let names = Names::of_system(system);
    let parameters = system.parameters().values();
    let budget = Budget::default();
    let outcome = repair(
        system.equations(),
        structure,
        parameters,
        Some(at_point),
        &names,
        &budget,
    );
    match outcome {
        Repair::Repaired(repaired) => Ok((repaired.structure().clone(), Some(repaired))),
        // The pattern is right in general, so it is the point that is special.
        Repair::NotNeeded | Repair::SingularHere { .. } => Err(Refusal::Singular),
        Repair::Unknown { because, .. } => Err(Refusal::Undecided(format!(
            "the structure misleads and was not repaired: {because}"
        ))),
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
