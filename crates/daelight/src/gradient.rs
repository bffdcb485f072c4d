//! The gradient of a number by many parameters, by the adjoint of the run: section 6 of `docs/theory/sensitivities.md`.

mod check;
mod events;
mod signals;
mod start;
mod switches;

use crate::analyze::system_error;
use crate::sensitivity::{directions, take_values};
use crate::solve::{NoRun, going_on, run_from};
use crate::{Setup, Solution, SolveOptions};
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;
use daelight_analysis::linearize::{Variations, Weights};
use daelight_expr::{ExprId, Jet, JetEvaluator, SymbolId, Tape, Values, Walker};
use daelight_lang::{AdjointModel, Code, Diagnostic, Model, MovedBy, Symbol, Type};
use daelight_linalg::{Lu, Mat};
pub(crate) use signals::gauss;
use std::sync::Arc;
use switches::Switching;

/// What is differentiated.
#[derive(Clone, Debug)]
pub enum Loss {
    /// An expression of the values at the end.
    Final(ExprId),
    /// The integral of an expression over the run.
    Integral(ExprId),
    /// The sum of the squares of the distances to samples: times, unknowns, values.
    Squares(Vec<(f64, usize, f64)>),
}

/// A gradient.
pub struct Gradient {
    /// The number itself.
    pub value: f64,
    /// Names of what it is differentiated by.
    pub by: Vec<String>,
    /// Its derivatives.
    pub gradient: Vec<f64>,
    /// The time reached.
    pub time: f64,
    /// Steps of the run.
    pub n_steps: usize,
    /// Steps of the adjoint; none where derivatives were carried forwards.
    pub n_adjoint_steps: usize,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

pub(crate) fn fault(message: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::placeless(Code::BadInput, message).help(help))
}

fn refused(because: impl std::fmt::Display) -> Box<Diagnostic> {
    fault(
        format!("the run has no gradient: {because}"),
        "`solve --sensitivity` differentiates by a few parameters",
    )
}

/// A number at a time, with its derivatives.
struct Term {
    time: f64,
    /// By the values of the unknowns.
    by_value: Vec<f64>,
    /// What takes the place of these derivatives at a switch.
    switch: Option<Switching>,
    /// Whether the equations may have a corner there: what holds before it counts.
    is_joint: bool,
}

impl Term {
    fn new(time: f64, by_value: Vec<f64>) -> Self {
        Self {
            time,
            by_value,
            switch: None,
            is_joint: false,
        }
    }

    /// Nothing but a corner of what the adjoint differentiates.
    fn joint(time: f64, n: usize) -> Self {
        Self {
            is_joint: true,
            ..Self::new(time, vec![0.0; n])
        }
    }
}

/// Where the adjoint begins anew: it holds derivatives of the run where the model holds hidden constraints, and is off by what they
/// jump by elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joints {
    /// At switches.
    Switches,
    /// Where two steps of the run meet, too.
    Steps,
}

/// What stands inside `integral(…)`, if the whole text is one.
pub fn inside_integral(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("integral(")?.strip_suffix(')')?;
    let mut open = 0_i32;
    let is_one = inside.chars().all(|character| {
        open += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        open >= 0
    });
    is_one.then_some(inside)
}

/// The names of all parameters that can be moved.
pub fn all_parameters(model: &Model, system: &System) -> Vec<String> {
    let held: Vec<usize> = (model.hybrid.iter())
        .flat_map(|hybrid| hybrid.held_parameters())
        .collect();
    let parameters = model.parameters.iter().enumerate();
    parameters
        .filter(|(at, _)| !held.contains(at))
        .filter(|(at, p)| p.ty == Type::Real && system.parameters().settable(*at).is_ok())
        .map(|(_, p)| p.name.clone())
        .collect()
}

/// Why there is no parameter to differentiate by.
fn nothing_to_move(model: &Model, system: &System) -> Box<Diagnostic> {
    let parameters = model.parameters.iter().enumerate();
    let own = parameters.filter(|(_, p)| p.ty == Type::Real);
    let refused = own.filter_map(|(at, _)| system.parameters().settable(at).err());
    let because = match refused.into_iter().next() {
        Some(why) => why.to_string(),
        None => "the model has no parameter of type Real".to_string(),
    };
    fault(
        format!("there is nothing to differentiate by: {because}"),
        "name an unknown with --by for the derivative by its start value",
    )
}

/// Differentiates a number that a run leads to. The system has the values of the parameters and the signals of inputs.
pub fn gradient(
    model: &Model,
    system: &System,
    options: &SolveOptions,
    loss: &Loss,
    names: &[String],
) -> Result<Gradient, Box<Diagnostic>> {
    if names.is_empty() {
        return Err(nothing_to_move(model, system));
    }
    if model.hybrid.is_some() {
        return events::gradient(model, system, options, loss, names);
    }
    let wanted = directions(model, system, names)?;
    let mut work = Work::new(model, system, options, loss)?;
    work.at_the_end(loss)?;
    let gradient = work.checked(&wanted, options)?;
    Ok(Gradient {
        value: work.value,
        by: wanted.iter().map(|d| model.direction_name(*d)).collect(),
        gradient,
        time: work.base.reached(),
        n_steps: work.base.run.trajectory.segments().len(),
        n_adjoint_steps: work.n_steps,
        warnings: work.warnings,
    })
}

struct Work {
    model: Model,
    system: System,
    base: Solution,
    adjoint: AdjointModel,
    /// The adjoint equations along the run.
    along: System,
    setup: Setup,
    options: SolveOptions,
    /// Parameters that the equations, starts and the number read themselves.
    read: Vec<usize>,
    value: f64,
    /// What is added at times, in the order of time, and what the number itself has by [`Work::read`].
    terms: Vec<Term>,
    own: Vec<f64>,
    /// The derivatives of lambda F by [`Work::read`], compiled.
    tape: Arc<Tape>,
    /// Derivatives by [`Work::read`], and by start values.
    by_parameter: Vec<f64>,
    by_start: Vec<f64>,
    /// The adjoint values m where the work has come to.
    m: Vec<f64>,
    n_steps: usize,
    warnings: Vec<String>,
}

impl Work {
    fn new(
        model: &Model,
        given: &System,
        options: &SolveOptions,
        loss: &Loss,
    ) -> Result<Self, Box<Diagnostic>> {
        let signals = given.equations().symbols().signals().to_vec();
        let driven = |input: &usize| signals.iter().any(|(at, _)| at == input);
        let defined: Vec<usize> = (0..model.inputs.len()).filter(|i| !driven(i)).collect();
        let mut model = model.with_inputs_as_unknowns(&defined).map_err(|name| {
            fault(
                format!("the second derivative of the input `{name}` stands in an equation"),
                "give its first derivative a variable of its own",
            )
        })?;
        if let Loss::Integral(of) = *loss {
            model = model.with_integral(of);
        }
        if model.equations.len() != model.unknowns.len() {
            return Err(refused("equations and unknowns do not match"));
        }
        model.stop_when = None;
        let mut system = System::driven(&model, signals.clone()).map_err(system_error)?;
        take_values(&mut system, given);
        let base = whole_run(&system, options)?;
        if base.run.trajectory.segments().is_empty() {
            return Err(fault(
                "the run has no length".to_string(),
                "give a time behind the start with --to",
            ));
        }
        let read = read_parameters(&model, loss);
        let adjoint = model.adjoint(&read);
        let curves = signals::along(&system, &base, &adjoint)?;
        let all = signals.into_iter().chain(curves).collect();
        let mut along = System::driven(&adjoint.model, all).map_err(system_error)?;
        take_values(&mut along, &system);
        let setup = Setup::new(&along).along_a_run();
        let tape = along.equations().compile(&adjoint.by_parameter);
        Ok(Self {
            own: vec![0.0; read.len()],
            tape: Arc::new(tape),
            by_parameter: vec![0.0; read.len()],
            by_start: vec![0.0; model.unknowns.len()],
            m: vec![0.0; model.unknowns.len()],
            options: SolveOptions {
                progress: None,
                events: None,
                rtol: Some(base.rtol),
                place: Default::default(),
                ..options.clone()
            },
            read,
            value: 0.0,
            terms: Vec::new(),
            n_steps: 0,
            warnings: Vec::new(),
            model,
            system,
            base,
            adjoint,
            along,
            setup,
        })
    }

    /// The jet of all unknowns at a time of the run.
    fn jet(&self, time: f64) -> Result<TaylorJet, Box<Diagnostic>> {
        let structure = self.system.structure();
        let offsets = structure.map_or(0, |s| {
            s.offsets().variable.iter().copied().max().unwrap_or(0)
        });
        let mut reader = self.base.reader(&self.system);
        let jet = reader.way.jet(reader.trajectory, time, offsets + 2);
        jet.ok_or_else(|| refused(format!("the run has no values at t = {time}")))
    }

    /// What a symbol of the model is at a point of the run.
    fn value_of(&self, symbol: Symbol, (time, jet): (f64, &TaylorJet)) -> f64 {
        match symbol {
            Symbol::Time => time,
            Symbol::Parameter(p) => self.system.parameters().values()[p],
            Symbol::Unknown { unknown, order } => jet.derivative(unknown, order as usize),
            Symbol::Input { input, order } => {
                let mut signals = self.system.equations().symbols().signals().iter();
                let signal = signals.find(|(at, _)| *at == input);
                signal.map_or(f64::NAN, |(_, s)| s.derivative(time, order as usize))
            }
        }
    }

    /// The number, and its derivatives by values and parameters.
    fn at_the_end(&mut self, loss: &Loss) -> Result<(), Box<Diagnostic>> {
        let n = self.model.unknowns.len();
        let end = self.base.reached();
        match loss {
            Loss::Integral(_) => {
                let jet = self.jet(end)?;
                self.value = jet.values()[n - 1];
                let mut by_value = vec![0.0; n];
                by_value[n - 1] = 1.0;
                self.terms.push(Term::new(end, by_value));
            }
            Loss::Final(expr) => {
                let jet = self.jet(end)?;
                let expr = self.without_rates(*expr)?;
                let symbols = &self.model.symbols;
                let value = |id| self.value_of(symbols.get(id), (end, &jet));
                let value = self.model.graph.evaluate(&[expr], value)[0];
                if !value.is_finite() {
                    return Err(refused("the number has no value at the end"));
                }
                self.value = value;
                let unknowns = (0..n).map(|unknown| Symbol::Unknown { unknown, order: 0 });
                let by_value = self.slopes(expr, unknowns, (end, &jet));
                self.terms.push(Term::new(end, by_value));
                let parameters = self.read.clone().into_iter().map(Symbol::Parameter);
                self.own = self.slopes(expr, parameters, (end, &jet));
            }
            Loss::Squares(samples) => self.add_samples(samples)?,
        }
        Ok(())
    }

    /// The derivatives by what was asked for, by the adjoint.
    fn by_adjoint(
        &mut self,
        joints: Joints,
        (wanted, options): (&[MovedBy], &SolveOptions),
    ) -> Result<Vec<f64>, Box<Diagnostic>> {
        self.by_parameter = self.own.clone();
        self.m.fill(0.0);
        self.warnings.clear();
        self.n_steps = 0;
        let terms = self.with_joints(joints)?;
        self.backward(&terms)?;
        self.at_the_start(options)?;
        Ok(self.collected(wanted))
    }

    /// The terms with switches and joints, the last time of the run first.
    fn with_joints(&self, joints: Joints) -> Result<Vec<Term>, Box<Diagnostic>> {
        let (n, end) = (self.model.unknowns.len(), self.base.reached());
        let own = self.terms.iter();
        let mut terms: Vec<Term> = own.map(|t| Term::new(t.time, t.by_value.clone())).collect();
        terms.extend(self.switches()?);
        let run = &self.base.run;
        let structure = self.system.structure();
        let hides = structure.is_ok_and(|s| s.offsets().equation.iter().any(|&c| c > 0));
        let mut times: Vec<f64> = run.switches.iter().map(|switch| switch.time).collect();
        if joints == Joints::Steps {
            times.extend(run.trajectory.segments().iter().map(|segment| segment.end));
        }
        times.retain(|_| hides);
        for time in times {
            // Two that are about as close as a time and the one before it are one.
            let near =
                |other: f64| (time - other).abs() <= 4.0 * (self.before(other)[1] - other).abs();
            if near(end) || near(self.base.from) {
                continue;
            }
            match terms.iter_mut().find(|term| near(term.time)) {
                Some(term) => term.is_joint = true,
                None => terms.push(Term::joint(time, n)),
            }
        }
        let direction = (end - self.base.from).signum();
        terms.sort_by(|a, b| (direction * b.time).total_cmp(&(direction * a.time)));
        Ok(terms)
    }

    fn add_samples(&mut self, samples: &[(f64, usize, f64)]) -> Result<(), Box<Diagnostic>> {
        let n = self.model.unknowns.len();
        let (from, end) = (self.base.from, self.base.reached());
        let mut samples = samples.to_vec();
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut reader = self.base.reader(&self.system);
        let mut terms: Vec<Term> = Vec::new();
        for (time, unknown, wanted) in samples {
            let values = reader.values(time).ok().flatten().ok_or_else(|| {
                let message =
                    format!("a sample at t = {time} lies outside the run from {from} to {end}");
                fault(
                    message,
                    "choose the span of the run so that it holds the samples",
                )
            })?;
            let apart = values[unknown] - wanted;
            self.value += apart * apart;
            if terms.last().is_none_or(|last| last.time != time) {
                let by_value = vec![0.0; n];
                terms.push(Term::new(time, by_value));
            }
            if let Some(term) = terms.last_mut() {
                term.by_value[unknown] += 2.0 * apart;
            }
        }
        drop(reader);
        self.terms = terms;
        Ok(())
    }

    /// An expression without derivatives: those that have a name are written by it.
    fn without_rates(&mut self, expr: ExprId) -> Result<ExprId, Box<Diagnostic>> {
        let unknowns = &self.model.unknowns;
        let mut named: Vec<(SymbolId, Symbol)> = Vec::new();
        for id in Walker::new().symbols(&self.model.graph, &[expr]) {
            if let Symbol::Unknown { unknown, order } = self.model.symbols.get(id)
                && order > 0
            {
                let rate = unknowns.iter().position(|u| u.velocity_of == Some(unknown));
                let Some(rate) = rate.filter(|_| order == 1) else {
                    return Err(fault(
                        format!(
                            "the number holds a derivative of `{}`",
                            unknowns[unknown].name
                        ),
                        "give the derivative a variable of its own in the model",
                    ));
                };
                let by = Symbol::Unknown {
                    unknown: rate,
                    order: 0,
                };
                named.push((id, by));
            }
        }
        let symbols = &mut self.model.symbols;
        let named: Vec<_> = named
            .into_iter()
            .map(|(id, by)| (id, symbols.id(by)))
            .collect();
        Ok(self.model.graph.substitute(&[expr], |graph, id| {
            let found = named.iter().find(|(old, _)| *old == id);
            found.map(|(_, new)| graph.symbol(*new))
        })[0])
    }

    /// Derivatives of an expression of the model at a point.
    fn slopes(
        &mut self,
        expr: ExprId,
        by: impl Iterator<Item = Symbol>,
        at: (f64, &TaylorJet),
    ) -> Vec<f64> {
        let ids: Vec<SymbolId> = by.map(|symbol| self.model.symbols.id(symbol)).collect();
        let mut graph = self.model.graph.clone();
        let slopes = graph.gradient(expr, &ids);
        graph.evaluate(&slopes, |id| self.value_of(self.model.symbols.get(id), at))
    }

    /// From the end to the start, from term to term.
    fn backward(&mut self, terms: &[Term]) -> Result<(), Box<Diagnostic>> {
        for (at, term) in terms.iter().enumerate() {
            let next = terms.get(at + 1);
            let to = next.map_or(self.base.from, |next| next.time);
            // What holds behind a corner is read a little behind it.
            let [_, before] = self.before(to);
            let is_joint = next.is_some_and(|next| next.is_joint);
            let read = if is_joint { to + (to - before) } else { to };
            let by_value = match &term.switch {
                None => term.by_value.clone(),
                Some(switch) => {
                    let kappa = switch.kappa(&self.m);
                    add(&mut self.by_parameter, &switch.by_parameter, kappa);
                    switch.by_value.iter().map(|x| kappa * x).collect()
                }
            };
            let times = self.before(term.time);
            // The equations may have a corner at the time itself, and have at a switch.
            let first = usize::from(term.is_joint);
            let mut start = Err(refused("no time"));
            let mut from = term.time;
            for &time in &times[first..] {
                from = time;
                start = self.jump(time, &by_value);
                if start.is_ok() {
                    break;
                }
            }
            let start = start?;
            self.m = self.momenta(start.values());
            if (read - from) * (self.base.from - self.base.reached()) > 0.0 {
                self.leg((from, to), read, start)?;
            }
        }
        Ok(())
    }

    /// A time, and one a little before it.
    fn before(&self, time: f64) -> [f64; 2] {
        [
            time,
            time + f64::EPSILON.powf(0.75) * (self.base.from - time),
        ]
    }

    fn momenta(&self, values: &[f64]) -> Vec<f64> {
        let mut m = vec![0.0; self.model.unknowns.len()];
        for &(unknown, at) in &self.adjoint.momenta {
            m[unknown] = values[at];
        }
        m
    }

    /// The adjoint values before a term, (13), as a jet.
    fn jump(&mut self, time: f64, by_value: &[f64]) -> Result<TaylorJet, Box<Diagnostic>> {
        let singular = |_| refused("its structure is singular");
        let structure = self.system.structure().map_err(singular)?;
        let jet = self.jet(time)?;
        let mut own = Variations::new(&self.system, structure, (time, &jet)).map_err(refused)?;
        let structure = self.along.structure().map_err(singular)?;
        let most = structure.offsets().variable.iter().copied().max();
        let rest = vec![0.0; self.along.unknowns().len()];
        let rest = TaylorJet::at_rest(&rest, most.unwrap_or(0) + 2);
        let adjoint = Variations::new(&self.along, structure, (time, &rest));
        let mut adjoint = adjoint.map_err(refused)?;
        let n_free = own.n_chosen();
        if adjoint.n_chosen() != n_free {
            let because = "the adjoint equations leave another number of values free";
            return Err(refused(because));
        }
        let pairs = self.m.iter().zip(by_value);
        let aim: Vec<f64> = pairs.map(|(m, g)| m - g).collect();
        let mut chosen = vec![0.0; n_free];
        if n_free > 0 {
            // C^T m = C^T (m+ - g), m = K z.
            let kernel = adjoint.kernel().map_err(refused)?;
            let mut momenta = Mat::zeros(self.m.len(), n_free);
            for &(unknown, at) in &self.adjoint.momenta {
                (0..n_free).for_each(|k| momenta[(unknown, k)] = kernel[(at, k)]);
            }
            let transposed = own.kernel().map_err(refused)?.transpose();
            chosen = transposed.mul_vec(&aim);
            let mut lu = Lu::new();
            lu.factor(transposed.matmul(&momenta).view())
                .map_err(refused)?;
            lu.solve(&mut chosen).map_err(refused)?;
        }
        let start = adjoint.jet(&chosen).map_err(refused)?;
        let before = self.momenta(start.values());
        let e: Vec<f64> = before.iter().zip(&aim).map(|(m, aim)| m - aim).collect();
        let weights = own.weights(&e).map_err(refused)?;
        self.count(time, &weights)?;
        Ok(start)
    }

    /// Adds what the equations at a time count, (12): - nu F_p.
    fn count(&mut self, time: f64, weights: &Weights) -> Result<(), Box<Diagnostic>> {
        let orders = weights.equations.iter().map(Vec::len).max().unwrap_or(1);
        let most = orders.saturating_sub(1);
        let mut jet = Jet::new(Arc::clone(&self.tape), most);
        let inputs = jet.inputs_mut();
        inputs
            .parameters_mut()
            .copy_from_slice(self.along.parameters().values());
        inputs.set_time(time);
        for (equation, weights) in weights.equations.iter().enumerate() {
            for (order, &weight) in weights.iter().enumerate() {
                inputs.set(equation, most - order, weight);
            }
        }
        for order in 0..=most {
            jet.extend(order as i32)
                .map_err(|_| refused("an equation has no derivative"))?;
        }
        let found: Vec<f64> = (0..self.read.len()).map(|p| jet.root(p, most)).collect();
        add(&mut self.by_parameter, &found, -1.0);
        Ok(())
    }

    /// The adjoint between two times, its values at a time near the end, and the integral of lambda F_p.
    fn leg(
        &mut self,
        (from, to): (f64, f64),
        read: f64,
        start: TaylorJet,
    ) -> Result<(), Box<Diagnostic>> {
        let options = SolveOptions {
            from: Some(from),
            to: Some(to),
            ..self.options.clone()
        };
        let mut start = start;
        start.resize(crate::solve::START_ORDER + 2);
        let run = run_from(
            &self.along,
            &self.setup,
            &options,
            going_on(from, start),
            &mut |_| {},
        );
        let solution = run.map_err(|no_run| refused(words(&self.along, no_run)))?;
        if solution.reached() != to {
            let report = crate::record::solve(&self.along, &solution, None);
            return Err(refused(format!(
                "its adjoint ends at t = {}: {}",
                solution.reached(),
                report.message
            )));
        }
        self.n_steps += solution.run.trajectory.segments().len();
        let mut values = Values::new(Arc::clone(&self.tape));
        let inputs = values.inputs_mut();
        inputs
            .parameters_mut()
            .copy_from_slice(self.along.parameters().values());
        let mut reader = solution.reader(&self.along);
        let mut roots = vec![0.0; self.read.len()];
        let trajectory = &solution.run.trajectory;
        let rule = signals::gauss(signals::most_orders(trajectory));
        for segment in solution.run.trajectory.segments() {
            let (middle, half) = (
                0.5 * (segment.start + segment.end),
                0.5 * (segment.end - segment.start),
            );
            let first = segment.start.min(segment.end);
            let last = segment.start.max(segment.end);
            for (node, weight) in &rule {
                // Rounding may lead out of a step that is as short as rounding.
                let time = (middle + half * node).clamp(first, last);
                let found = reader.values(time).ok().flatten();
                let found = found
                    .ok_or_else(|| refused(format!("its adjoint has no values at t = {time}")))?;
                let inputs = values.inputs_mut();
                inputs.set_time(time);
                inputs.row_mut(0)[..found.len()].copy_from_slice(&found);
                values
                    .evaluate()
                    .map_err(|_| refused(format!("an equation has no derivative at t = {time}")))?;
                values.roots(&mut roots);
                // The leg goes back from `from`: the integral goes the other way.
                add(&mut self.by_parameter, &roots, -half * weight);
            }
        }
        let last = reader.values(read).ok().flatten();
        let last = last.ok_or_else(|| refused("its adjoint has no last values"))?;
        self.m = self.momenta(&last);
        Ok(())
    }

    /// Derivatives by what was asked for: parameters that others are defined by pass theirs on.
    fn collected(&self, wanted: &[MovedBy]) -> Vec<f64> {
        let n = self.model.parameters.len();
        let values = self.system.parameters().values();
        let mut total = vec![0.0; n];
        for (&parameter, slope) in self.read.iter().zip(&self.by_parameter) {
            total[parameter] += slope;
        }
        let mut graph = self.model.graph.clone();
        let mut walker = Walker::new();
        let own = |id| match self.model.symbols.get(id) {
            Symbol::Parameter(at) => Some((at, id)),
            _ => None,
        };
        let needs: Vec<Vec<(usize, SymbolId)>> = (self.model.parameters.iter())
            .map(|p| {
                let symbols = walker.symbols(&graph, &[p.definition]);
                symbols.into_iter().filter_map(own).collect()
            })
            .collect();
        for at in order_of_use(&needs) {
            if total[at] == 0.0
                || needs[at].is_empty()
                || self.model.parameters[at].ty != Type::Real
            {
                continue;
            }
            let ids: Vec<SymbolId> = needs[at].iter().map(|(_, id)| *id).collect();
            let slopes = graph.gradient(self.model.parameters[at].definition, &ids);
            let slopes = graph.evaluate(&slopes, |id| match self.model.symbols.get(id) {
                Symbol::Parameter(p) => values[p],
                _ => f64::NAN,
            });
            for ((on, _), slope) in needs[at].iter().zip(slopes) {
                total[*on] += total[at] * slope;
            }
        }
        let one = |direction: &MovedBy| match *direction {
            MovedBy::Parameter(at) => total[at],
            MovedBy::Start(at) => self.by_start[at],
        };
        wanted.iter().map(one).collect()
    }
}

/// Parameters so that each comes before those that its definition reads.
fn order_of_use(needs: &[Vec<(usize, SymbolId)>]) -> Vec<usize> {
    let mut readers = vec![0_usize; needs.len()];
    needs.iter().flatten().for_each(|(on, _)| readers[*on] += 1);
    let mut order: Vec<usize> = (0..needs.len()).filter(|&at| readers[at] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        for (on, _) in &needs[order[next]] {
            readers[*on] -= 1;
            if readers[*on] == 0 {
                order.push(*on);
            }
        }
        next += 1;
    }
    order
}

fn add(into: &mut [f64], values: &[f64], factor: f64) {
    for (into, value) in into.iter_mut().zip(values) {
        *into += factor * value;
    }
}

/// Real parameters that equations, starts or the number read.
fn read_parameters(model: &Model, loss: &Loss) -> Vec<usize> {
    let all = model.equations.iter().chain(&model.initial_equations);
    let mut exprs: Vec<ExprId> = all.map(|equation| equation.residual).collect();
    exprs.extend(model.unknowns.iter().filter_map(|unknown| unknown.start));
    if let Loss::Final(expr) = loss {
        exprs.push(*expr);
    }
    let symbols = Walker::new().symbols(&model.graph, &exprs);
    let mut read: Vec<usize> = symbols
        .into_iter()
        .filter_map(|id| match model.symbols.get(id) {
            Symbol::Parameter(at) if model.parameters[at].ty == Type::Real => Some(at),
            _ => None,
        })
        .collect();
    read.sort_unstable();
    read
}

/// Why there is no run, in words.
fn words(system: &System, no_run: NoRun) -> String {
    use crate::record::{RunRefusal, refusal};
    match refusal(system, no_run, system.name()) {
        RunRefusal::Diagnostic(diagnostic) => diagnostic.message.clone(),
        RunRefusal::Said { message, .. } => message,
    }
}

/// The run, which must come to its end without what the adjoint does not know.
fn whole_run(system: &System, options: &SolveOptions) -> Result<Solution, Box<Diagnostic>> {
    let base = crate::solve(system, options).map_err(|no_run| refused(words(system, no_run)))?;
    let (_, to) = crate::span_of_run(system, options);
    if base.reached() != to {
        let report = crate::record::solve(system, &base, None);
        return Err(refused(report.message));
    }
    if let Some(slide) = base.run.slides.first() {
        let text = base.expression_text(system, slide.expr);
        return Err(refused(format!("it slides along the switch `{text}`")));
    }
    Ok(base)
}
