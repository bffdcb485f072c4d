//! Derivatives of a run by parameters and start values, `docs/theory/sensitivities.md`.

mod events;
mod legs;

pub(crate) use events::along_events;
pub use events::sensitivities_with_events;
pub(crate) use legs::rates_of;

use crate::analyze::system_error;
use crate::corner::corners;
use crate::observe::Reader;
use crate::samples::NamedRows;
use crate::sensitivity::legs::Legs;
use crate::singular_time::{TimeDerivative, time_derivatives};
use crate::solve::{NoRun, SAME_START_TOLERANCES, START_ORDER, start_request};
use crate::stop_time::{StopDerivative, stop_derivative};
use crate::{Setup, Solution, SolveOptions};
use daelight_analysis::initial::{
    ConsistentPoint, Finder, Request, Row, StageOffsets, TaylorJet, consistent_point,
};
use daelight_analysis::linearize::Variations;
use daelight_analysis::start::freedom_at;
use daelight_analysis::structure::Structure;
use daelight_analysis::{System, UnknownInfo};
use daelight_expr::{BinaryOp, ExprId, Node, UnaryOp, Walker};
use daelight_lang::{Code, Diagnostic, Model, MovedBy, Symbol, Variation, nearest};

/// The derivatives of a run.
pub struct Sensitivities {
    /// Names of what it is differentiated by.
    pub by: Vec<String>,
    /// What that is.
    pub directions: Vec<MovedBy>,
    /// The equations with their derivatives.
    pub system: System,
    /// Their run, from switch to switch at which they jump.
    pub legs: Vec<Solution>,
    /// The equations of each leg, where events change them; none where they are the same throughout.
    pub systems: Vec<System>,
    /// Up to when the derivatives are known.
    pub until: f64,
    /// Why they end before the run does.
    pub ended: Option<String>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
    /// How singular times move.
    pub times: Vec<TimeDerivative>,
    /// How the end moves, where a stopping condition or the model itself sets it.
    pub stop: Option<StopDerivative>,
    /// Unknowns of the model, and those with the inputs that became unknowns.
    n: usize,
    stride: usize,
}

impl Sensitivities {
    /// The derivatives of all unknowns of the model at a time, those by the first direction first; `None` where they are not known.
    pub fn at(&self, reader: &mut LegReader<'_>, time: f64) -> Option<Vec<Vec<f64>>> {
        if (time - self.until) * (self.until - self.legs[0].from) > 0.0 {
            return None;
        }
        let values = reader.values(time)?;
        Some(self.parts(&values))
    }

    /// The derivatives among the values of all unknowns.
    fn parts(&self, values: &[f64]) -> Vec<Vec<f64>> {
        let part = |k: usize| {
            let first = self.first(k);
            values[first..first + self.n].to_vec()
        };
        (0..self.directions.len()).map(part).collect()
    }

    /// The position of the first derivative by a direction among all unknowns.
    pub(crate) fn first(&self, direction: usize) -> usize {
        self.stride * (direction + 1)
    }

    /// What evaluates the derivatives along the run.
    pub fn reader(&self) -> LegReader<'_> {
        let reader = |leg: &'_ Solution| (leg.from, leg.reached());
        let spans = self.legs.iter().map(reader).collect();
        let system = |at: usize| self.systems.get(at).unwrap_or(&self.system);
        let legs = self.legs.iter().enumerate();
        let readers = legs.map(|(at, leg)| leg.reader(system(at)));
        LegReader {
            spans,
            readers: readers.collect(),
        }
    }

    /// The derivatives as further columns of a table of the run; not a number where they are not known.
    pub fn add_columns(&self, (names, rows): &mut NamedRows) {
        for k in 0..self.directions.len() {
            let first = self.first(k);
            let unknowns = &self.system.unknowns()[first..first + self.n];
            names.extend(unknowns.iter().map(|u| u.name.clone()));
        }
        let mut reader = self.reader();
        let times: Vec<f64> = rows.iter().map(|row| row.0).collect();
        for (at, (time, values)) in rows.iter_mut().enumerate() {
            // Of two rows at an event the first is the side before it.
            let is_before = !self.systems.is_empty() && times.get(at + 1) == Some(time);
            let found = match is_before {
                true => reader.before(*time).map(|values| self.parts(&values)),
                false => self.at(&mut reader, *time),
            };
            match found {
                Some(parts) => values.extend(parts.into_iter().flatten()),
                None => values.extend(std::iter::repeat_n(
                    f64::NAN,
                    self.n * self.directions.len(),
                )),
            }
        }
    }
}

/// The number next to a time, on the way to it.
fn before(time: f64, direction: f64) -> f64 {
    if direction > 0.0 {
        time.next_down()
    } else {
        time.next_up()
    }
}

/// Evaluates derivatives along the legs of their run; where two meet, the later one counts.
pub struct LegReader<'a> {
    spans: Vec<(f64, f64)>,
    readers: Vec<Reader<'a>>,
}

impl LegReader<'_> {
    /// The leg that counts at a time, and the time within it.
    fn leg(&self, time: f64) -> (usize, f64) {
        let (first, last) = (self.spans[0].0, self.spans[self.spans.len() - 1].1);
        let direction = if last >= first { 1.0 } else { -1.0 };
        // A leg ends where the next one begins a little later.
        let ends = |span: &(f64, f64)| direction * (time - span.1) >= 0.0;
        let at = self.spans.iter().take_while(|span| ends(span)).count();
        let at = at.min(self.spans.len() - 1);
        let from = self.spans[at].0;
        match direction * (time - from) < 0.0 && at > 0 {
            true => (at, from),
            // On a switch at the very end derivatives are those up to it: what is written there moves with it.
            false if self.readers[at].trajectory.is_written(time) => (at, before(time, direction)),
            false => (at, time),
        }
    }

    /// Values of all unknowns and their derivatives; `None` outside the run.
    pub fn values(&mut self, time: f64) -> Option<Vec<f64>> {
        let (at, time) = self.leg(time);
        self.readers[at].values(time).ok().flatten()
    }

    /// The same before the switch or the event at which a leg ends.
    fn before(&mut self, time: f64) -> Option<Vec<f64>> {
        let at = self.spans.iter().position(|span| span.1 >= time)?;
        self.readers[at].values(time).ok().flatten()
    }

    /// Their jet.
    pub fn jet(&mut self, time: f64) -> Option<TaylorJet> {
        let (at, time) = self.leg(time);
        self.readers[at].jet(time)
    }
}

/// What can be named instead of something that the model does not have.
fn names_to_give(model: &Model, wrong: &str) -> String {
    if let Some(unknown) = wrong.strip_suffix(".start") {
        return format!("write {unknown} for its start value");
    }
    let own = model.own_parameters().map(|p| p.name.as_str());
    let own: Vec<&str> = own.take(8).collect();
    match own.is_empty() {
        true => "the model has no parameters; name an unknown for its start value".to_string(),
        false => format!("its parameters are {}", own.join(", ")),
    }
}

fn fault(message: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::placeless(Code::BadInput, message).help(help))
}

/// What names stand for: parameters, or unknowns for their start values.
pub fn directions(
    model: &Model,
    system: &System,
    names: &[String],
) -> Result<Vec<MovedBy>, Box<Diagnostic>> {
    let direction = |name: &String| {
        if let Some(at) = model.parameters.iter().position(|p| p.name == *name) {
            let settable = system.parameters().settable(at);
            let is_real = model.parameters[at].ty == daelight_lang::Type::Real;
            return match (settable, is_real) {
                (Err(because), _) => Err(fault(
                    format!("there is no derivative by `{name}`: {because}"),
                    "choose a parameter that can be set",
                )),
                (_, false) => Err(fault(
                    format!("there is no derivative by `{name}`, which is no real number"),
                    "choose a parameter of type Real",
                )),
                _ => Ok(MovedBy::Parameter(at)),
            };
        }
        if let Some(at) = model.unknowns.iter().position(|u| u.name == *name) {
            return Ok(MovedBy::Start(at));
        }
        let parameters = model.parameters.iter().map(|p| p.name.as_str());
        let known = parameters.chain(model.unknowns.iter().map(|u| u.name.as_str()));
        let help = match nearest(name, known) {
            _ if name.contains(' ') => "separate names by commas".to_string(),
            Some(near) => format!("did you mean {near}?"),
            None => names_to_give(model, name),
        };
        Err(fault(
            format!("the model has no parameter and no unknown `{name}`"),
            &help,
        ))
    };
    let directions = names.iter().map(direction).collect::<Result<Vec<_>, _>>()?;
    match corner(system) {
        Some((text, names)) if directions.iter().any(|d| is_among(model, *d, &names)) => {
            Err(fault(
                format!(
                    "there is no derivative by `{}`: `{text}` switches at the present values",
                    names.join("`, `")
                ),
                "set a value to one side of it with --set",
            ))
        }
        _ => Ok(directions),
    }
}

/// Whether a direction is one of some parameters, or one that they are defined by.
fn is_among(model: &Model, direction: MovedBy, names: &[String]) -> bool {
    let MovedBy::Parameter(at) = direction else {
        return false;
    };
    let mut moved = vec![at];
    let mut n_seen = 0;
    while n_seen < moved.len() {
        n_seen = moved.len();
        for (other, parameter) in model.parameters.iter().enumerate() {
            let needs = Walker::new().symbols(&model.graph, &[parameter.definition]);
            let is_moved = needs.iter().any(
                |&id| matches!(model.symbols.get(id), Symbol::Parameter(on) if moved.contains(&on)),
            );
            if is_moved && !moved.contains(&other) {
                moved.push(other);
            }
        }
    }
    moved
        .iter()
        .any(|&at| names.contains(&model.parameters[at].name))
}

/// A switch that parameters alone decide and lie on, and these parameters.
fn corner(system: &System) -> Option<(String, Vec<String>)> {
    use BinaryOp::{Add, And, Atan2, Div, Mul, Or, Pow, Sub};
    let equations = system.equations();
    let (graph, symbols) = (equations.graph(), equations.symbols());
    let values = system.parameters().values();
    let parameter = |id| match symbols.get(id) {
        Symbol::Parameter(at) => Some(at),
        _ => None,
    };
    let mut walker = Walker::new();
    let nodes = walker.reachable(graph, equations.residuals()).to_vec();
    nodes.into_iter().find_map(|expr| {
        let (left, right) = match graph.node(expr) {
            Node::Unary(UnaryOp::Abs | UnaryOp::Sign, a) => (a, None),
            Node::Binary(op, a, b)
                if !matches!(op, Add | Sub | Mul | Div | Pow | Atan2 | And | Or) =>
            {
                (a, Some(b))
            }
            _ => return None,
        };
        let operands: Vec<ExprId> = std::iter::once(left).chain(right).collect();
        let found: Option<Vec<usize>> = walker
            .symbols(graph, &operands)
            .into_iter()
            .map(parameter)
            .collect();
        let found = found.filter(|found| !found.is_empty())?;
        let numbers = graph.evaluate(&operands, |id| {
            parameter(id).map_or(f64::NAN, |at| values[at])
        });
        let is_on = numbers[0] == numbers.get(1).copied().unwrap_or(0.0);
        let names = found
            .iter()
            .map(|&at| system.parameters().name(at).to_string());
        is_on.then(|| (system.text(expr, 80).unwrap_or_default(), names.collect()))
    })
}

/// A model with its derivatives by directions, at the values of a system.
pub(crate) fn varied_system(
    model: &Model,
    system: &System,
    directions: &[MovedBy],
    held: &[usize],
) -> Result<System, Box<Diagnostic>> {
    crate::without_events(model.hybrid.as_deref())?;
    led_system(model, system, directions, (held, &[]))
}

/// The same where some parameters move as further ones say.
fn led_system(
    model: &Model,
    system: &System,
    directions: &[MovedBy],
    (held, led): (&[usize], &[usize]),
) -> Result<System, Box<Diagnostic>> {
    if system.unknowns().len() != model.unknowns.len() {
        return Err(fault(
            "the free part of a model with fewer equations than unknowns has no derivative"
                .to_string(),
            "give the model as many equations as unknowns",
        ));
    }
    let signals = system.equations().symbols().signals().to_vec();
    let variation = Variation {
        directions: directions.to_vec(),
        driven: signals.iter().map(|(input, _)| *input).collect(),
        held: held.to_vec(),
        led: led.to_vec(),
    };
    let varied = model.varied(&variation).map_err(|name| {
        fault(
            format!("the second derivative of the input `{name}` stands in an equation"),
            "give its first derivative a variable of its own",
        )
    })?;
    let mut varied = System::driven(&varied, signals).map_err(system_error)?;
    take_values(&mut varied, system);
    Ok(varied)
}

/// Gives a system the parameters of another one of the same model.
pub(crate) fn take_values(varied: &mut System, system: &System) {
    let (own, other) = (varied.parameters(), system.parameters());
    let changes: Vec<(usize, f64)> = (0..own.len().min(other.len()))
        .filter(|&at| own.values()[at] != other.values()[at] && own.settable(at).is_ok())
        .map(|at| (at, other.values()[at]))
        .collect();
    // Values of the same model are values of this one.
    let _ = varied.set_parameters(&changes);
}

/// Differentiates a run that was made by parameters and start values.
pub fn sensitivities(
    model: &Model,
    system: &System,
    base: &Solution,
    options: &SolveOptions,
    names: &[String],
) -> Result<Sensitivities, Box<Diagnostic>> {
    let directions = directions(model, system, names)?;
    let varied = varied_system(model, system, &directions, &[])?;
    let setup = Setup::new(&varied);
    let of = (model, system);
    let mut all = differentiated(model, system, base, options, (directions, &varied, &setup))?;
    all.stop = stop_derivative(of, base, &all);
    Ok(all)
}

/// The same with the equations at hand.
pub(crate) fn differentiated(
    model: &Model,
    system: &System,
    base: &Solution,
    options: &SolveOptions,
    (directions, varied, setup): (Vec<MovedBy>, &System, &Setup),
) -> Result<Sensitivities, Box<Diagnostic>> {
    let n = system.unknowns().len();
    let stride = varied.unknowns().len() / (directions.len() + 1);
    let options = SolveOptions {
        from: Some(base.from),
        to: Some(base.reached()),
        rtol: Some(base.rtol),
        progress: None,
        events: None,
        ..options.clone()
    };
    let shape = (n, stride, &directions[..]);
    let found = start(system, base, &options, varied, shape)?;
    carried(
        (model, system),
        base,
        &options,
        (directions, varied, setup),
        found,
    )
}

/// The derivatives of a run from their start on.
fn carried(
    (model, system): (&Model, &System),
    base: &Solution,
    options: &SolveOptions,
    (directions, varied, setup): (Vec<MovedBy>, &System, &Setup),
    (found, warnings): (Start, Vec<String>),
) -> Result<Sensitivities, Box<Diagnostic>> {
    let n = system.unknowns().len();
    let stride = varied.unknowns().len() / (directions.len() + 1);
    let shape = (n, stride, &directions[..]);
    let (corners, ended) = corners(system, base);
    let mut legs = Legs {
        model,
        system,
        base,
        varied,
        setup,
        options,
        shape,
        done: Vec::new(),
    };
    legs.run(found, corners)?;
    let legs = legs.done;
    let reached = legs[legs.len() - 1].reached();
    let mut all = Sensitivities {
        by: directions
            .iter()
            .map(|d| model.direction_name(*d))
            .collect(),
        until: reached,
        ended: None,
        warnings,
        times: Vec::new(),
        stop: None,
        directions,
        legs,
        systems: Vec::new(),
        n,
        stride,
        system: varied.clone(),
    };
    if all.until != base.reached() {
        let report = crate::record::solve(&all.system, &all.legs[all.legs.len() - 1], None);
        all.ended = Some(report.message);
    }
    all.end_at_slides();
    if let Some((time, why)) = ended {
        all.end_at(time, why);
    }
    all.end_where_apart(system, base);
    all.times = time_derivatives(model, system, base, &all);
    Ok(all)
}

/// Why there are no derivatives, in words.
fn refused(varied: &System, no_run: NoRun) -> Box<Diagnostic> {
    use crate::record::{RunRefusal, refusal};
    let because = match refusal(varied, no_run, varied.name()) {
        RunRefusal::Diagnostic(diagnostic) => diagnostic.message.clone(),
        RunRefusal::Said { message, .. } => message,
    };
    fault(
        format!("the run has no derivatives: {because}"),
        "leave out --sensitivity: the run itself stands",
    )
}

/// A start with what was asked of it.
type Start = (ConsistentPoint, Request);

/// The start of the derivatives, section 2: the run's own start is held by what is free in it, and derivatives follow from those of
/// what is fixed and given.
fn start(
    system: &System,
    base: &Solution,
    options: &SolveOptions,
    varied: &System,
    (n, stride, directions): (usize, usize, &[MovedBy]),
) -> Result<(Start, Vec<String>), Box<Diagnostic>> {
    let asked = start_request(system, options, base.from);
    let asked = asked.map_err(|no_run| refused(system, no_run))?;
    let jet = &base.start.jet;
    let Some(freedom) = freedom_at(system, &asked, jet) else {
        return Err(fault(
            "what is free at the start of this model is not known, and neither is its derivative"
                .to_string(),
            "fix as many start values as the model leaves free, and start off every switch such as `sign(v)` at v = 0",
        ));
    };
    let x = jet.values();
    let keeping = keeping(system, &asked, x, options);
    let is_free = !freedom.free.is_empty();
    let is_placed = options.place.point.is_some() || !options.place.values.is_empty();
    let infos = varied.unknowns().iter();
    let mut guess: Vec<f64> = infos
        .map(|u| u.start.filter(|_| !is_placed).unwrap_or(0.0))
        .collect();
    let mut given = vec![false; guess.len()];
    guess[..n].copy_from_slice(x);
    given[..n].fill(true);
    let n_initial = system.written_initial().len();
    let mut conditions: Vec<Row> = Vec::new();
    let using = freedom.using.iter().map(|&at| asked.conditions[at]);
    conditions.extend(using.clone());
    let offsets = varied.dae().sound();
    // Where stages do not lead to x and then to its derivatives, nothing of x may move.
    let still = match offsets {
        Some(_) => freedom.free.clone(),
        None => (0..n).collect(),
    };
    let held = still.into_iter().map(|unknown| Row::Value {
        unknown,
        value: x[unknown],
    });
    conditions.extend(held);
    for (k, &direction) in directions.iter().enumerate() {
        let first = stride * (k + 1);
        for unknown in 0..n {
            // Where nothing is free all values follow, moved or not.
            given[first + unknown] = keeping[unknown] || (!is_free && asked.is_given(unknown));
        }
        if let MovedBy::Start(unknown) = direction {
            guess[first + unknown] = 1.0;
            given[first + unknown] |= !asked.is_given(unknown);
        }
        conditions.extend(using.clone().map(|row| match row {
            Row::Value { unknown, .. } => Row::Value {
                unknown: first + unknown,
                value: guess[first + unknown],
            },
            Row::Initial { equation } => Row::Initial {
                equation: n_initial * (k + 1) + equation,
            },
            other => other,
        }));
    }
    let request = Request {
        guess,
        given,
        conditions,
        order: asked.order.max(START_ORDER),
        ..asked.clone()
    };
    let point = start_at((varied, offsets), &request, jet)?;
    let warnings = moved(system, &asked, &keeping).filter(|_| is_free);
    Ok(((point, request), warnings.into_iter().collect()))
}

/// The start of the derivatives, from the jet of the run's own start.
fn start_at(
    (varied, structure): (&System, Option<&Structure>),
    request: &Request,
    jet: &TaylorJet,
) -> Result<ConsistentPoint, Box<Diagnostic>> {
    let found = match structure.map(StageOffsets::of) {
        Some(offsets) => consistent_point(varied, Some(offsets), request),
        // The whole array is nonlinear in the run's own derivatives, which are known.
        None => Finder::new(varied, None, request.time, request.order).from_jet(request, jet),
    };
    found.map_err(|_| {
        fault(
            "the start of the derivatives was not found".to_string(),
            "leave out --sensitivity: the run itself stands",
        )
    })
}

/// Which start values are given and were not moved: these stay where they are when something else moves. One that was moved already
/// follows from the others, as a force does.
pub(crate) fn keeping(
    system: &System,
    asked: &Request,
    x: &[f64],
    options: &SolveOptions,
) -> Vec<bool> {
    let most = SAME_START_TOLERANCES * crate::solve::tolerance(system, options);
    let stays = |(j, u): (usize, &UnknownInfo)| {
        let size = x[j].abs().max(u.nominal.unwrap_or(1.0).abs());
        asked.is_given(j) && (x[j] - asked.guess[j]).abs() <= most * size
    };
    system.unknowns().iter().enumerate().map(stays).collect()
}

/// Tells that start values were moved, and what is differentiated then.
pub(crate) fn moved(system: &System, asked: &Request, keeping: &[bool]) -> Option<String> {
    let unknowns = system.unknowns().iter().enumerate();
    let names: Vec<&str> = unknowns
        .filter(|(j, _)| asked.is_given(*j) && !keeping[*j])
        .map(|(_, u)| u.name.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "The start values of {} do not suit the equations and were moved: the derivatives are those of a run whose start values are the ones found.",
            names.join(", ")
        )
    })
}

impl Sensitivities {
    /// Ends the derivatives where the solution begins to slide along a switch.
    fn end_at_slides(&mut self) {
        let first = self.legs.iter().find_map(|leg| {
            let slide = leg.run.slides.first()?;
            let text = leg.expression_text(&self.system, slide.expr);
            let time = daelight_show::short(slide.from);
            let why = format!("from t = {time} on the solution slides along the switch `{text}`");
            Some((slide.from, why))
        });
        if let Some((time, why)) = first {
            self.end_at(time, why);
        }
    }

    /// Ends the derivatives at a time, if they come that far.
    fn end_at(&mut self, time: f64, why: String) {
        let from = self.legs[0].from;
        if (time - from).abs() <= (self.until - from).abs() {
            self.until = time;
            self.ended = Some(why);
        }
    }

    /// Ends the derivatives where the run that carries them leaves the run itself.
    fn end_where_apart(&mut self, system: &System, base: &Solution) {
        let most = SAME_START_TOLERANCES * base.rtol;
        let (from, span) = (base.from, self.until - base.from);
        let mut together = from;
        let apart = {
            let (mut own, mut other) = (self.reader(), base.reader(system));
            (1..=60_u32).find_map(|k| {
                let mut time = from + span * f64::from(k) / 60.0;
                if base.run.trajectory.is_written(time) {
                    time = before(time, span);
                }
                let a = own.values(time)?;
                let b = other.values(time).ok().flatten()?;
                let name = first_apart(system, (&a, &b), most);
                let is_together = name.is_none() || {
                    let jet = other.jet(time)?;
                    follows(system, (time, &jet), (&a, &b), most)
                };
                if is_together {
                    together = time;
                }
                name.filter(|_| !is_together)
            })
        };
        if let Some(name) = apart {
            self.until = together;
            self.ended = Some(format!(
                "behind t = {} the run that carries the derivatives differs from the run in {name}; a smaller --rtol may help",
                daelight_show::short(together)
            ));
        }
    }
}

/// The first unknown in which two points differ by more than a part of its size.
fn first_apart(system: &System, (a, b): (&[f64], &[f64]), most: f64) -> Option<String> {
    let mut unknowns = system.unknowns().iter().zip(a.iter().zip(b));
    let apart = unknowns.find(|(u, (a, b))| {
        let size = b.abs().max(u.nominal.unwrap_or(1.0).abs());
        (*a - *b).abs() > most * size
    });
    apart.map(|(u, _)| u.name.clone())
}

/// Whether the states of two points agree, and the one leads to the other where it is given the states of it: then what follows from
/// the states differs only because it makes much of their errors, as the torque of a motor behind a spring does.
fn follows(
    system: &System,
    (time, jet): (f64, &TaylorJet),
    (a, b): (&[f64], &[f64]),
    most: f64,
) -> bool {
    let Ok(structure) = system.structure() else {
        return false;
    };
    let Ok(states) = Variations::new(system, structure, (time, jet)) else {
        return false;
    };
    let mut near = b.to_vec();
    for &j in states.chosen() {
        near[j] = a[j];
    }
    if first_apart(system, (&near, b), most).is_some() {
        return false;
    }
    let held = |&unknown: &usize| Row::Value {
        unknown,
        value: a[unknown],
    };
    let request = Request {
        time,
        guess: near,
        given: Vec::new(),
        conditions: states.chosen().iter().map(held).collect(),
        order: START_ORDER,
        budget: std::time::Duration::from_secs(1),
    };
    let found = consistent_point(system, Some(StageOffsets::of(structure)), &request);
    found.is_ok_and(|found| first_apart(system, (found.jet.values(), a), most).is_none())
}
