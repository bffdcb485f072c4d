//! Derivatives of runs with events, section 7 of `docs/theory/sensitivities.md`: from event to event as without them, and through each
//! event by what it did.

use super::{Sensitivities, Start, carried, directions, fault, led_system, refused, start};
use crate::hybrid::{
    HybridEnd, HybridSolution, Moving, Shadow, Stretch, TracedEvent, model_in_mode, solve_traced,
};
use crate::observe::{Reader, Way};
use crate::solve::{SAME_START_TOLERANCES, START_ORDER, going_on, run_from};
use crate::stop_time::{StopDerivative, agreed};
use crate::{Setup, Solution, SolveOptions};
use daelight_analysis::System;
use daelight_analysis::initial::{Request, Row, StageOffsets, TaylorJet, consistent_point};
use daelight_analysis::linearize::Variations;
use daelight_lang::{Diagnostic, Hybrid, Model, MovedBy, Type};
use std::collections::HashMap;

/// The equations of a mode with their derivatives.
struct ModeVaried {
    model: Model,
    setup: Setup,
    varied: System,
    varied_setup: Setup,
}

/// Derivatives at work along a run with events.
struct Follow<'a> {
    model: &'a Model,
    hybrid: &'a Hybrid,
    run: &'a HybridSolution,
    options: SolveOptions,
    directions: Vec<MovedBy>,
    /// Discrete variables of type Real, as parameters.
    led: Vec<usize>,
    /// Parameters whose definitions do not count.
    held: Vec<usize>,
    modes: HashMap<usize, ModeVaried>,
    shadow: Shadow<'a>,
    /// How parameters and discrete variables move with each direction.
    moves: Vec<Vec<f64>>,
    all: Option<Sensitivities>,
}

/// A stretch between events: its equations, a run of it, and its derivatives at the end.
struct Done {
    mode: usize,
    /// Unknowns of the model.
    n: usize,
    /// Its end.
    time: f64,
    /// The jet of all unknowns and their derivatives at the end.
    last: TaylorJet,
}

/// Differentiates the run of a model with events by parameters and start values.
pub fn sensitivities_with_events(
    model: &Model,
    system: &System,
    options: &SolveOptions,
    names: &[String],
) -> Result<(HybridSolution, Sensitivities), Box<Diagnostic>> {
    let directions = directions(model, system, names)?;
    along_events(model, system, options, (directions, &[]))
}

/// The same by directions; `held` are parameters that were set themselves, so that their definitions do not count.
pub(crate) fn along_events(
    model: &Model,
    system: &System,
    options: &SolveOptions,
    (directions, held): (Vec<MovedBy>, &[usize]),
) -> Result<(HybridSolution, Sensitivities), Box<Diagnostic>> {
    let Some(hybrid) = model.hybrid.as_deref() else {
        return Err(fault(
            "the model has no events".to_string(),
            "leave this to `sensitivities`",
        ));
    };
    if !hybrid.delays.is_empty() {
        let message = "derivatives of models with `delay` are not known".to_string();
        return Err(fault(
            message,
            "leave out --sensitivity, or compare runs with --set",
        ));
    }
    let is_discrete = |d: &MovedBy| matches!(d, MovedBy::Parameter(p) if hybrid.held_parameters().any(|h| h == *p));
    if let Some(discrete) = directions.iter().find(|d| is_discrete(d)) {
        let name = model.direction_name(*discrete);
        let message = format!("there is no derivative by `{name}`, which events change");
        return Err(fault(
            message,
            "choose a parameter, or an unknown for its start value",
        ));
    }
    let found = solve_traced(model, system, options);
    let (run, trace) =
        found.map_err(|(mode, no_run)| refused(mode.as_deref().unwrap_or(system), no_run))?;
    if trace.is_over {
        let message = "the run slides or rests where a condition chatters, and its derivatives are not known there";
        return Err(fault(
            message.to_string(),
            "end the run before that with --to",
        ));
    }
    let led = hybrid.variables.iter().filter(|v| v.ty == Type::Real);
    let mut follow = Follow {
        model,
        hybrid,
        run: &run,
        options: SolveOptions {
            rtol: Some(run.rtol),
            progress: None,
            events: None,
            ..options.clone()
        },
        moves: super::legs::rates_with(model, system, &directions, held),
        held: hybrid
            .held_parameters()
            .chain(held.iter().copied())
            .collect(),
        directions,
        led: led.flat_map(|v| [v.parameter, v.previous]).collect(),
        modes: HashMap::new(),
        shadow: Shadow::new(model, hybrid, system),
        all: None,
    };
    follow.run(&trace.events)?;
    let Some(mut all) = follow.all.take() else {
        return Err(fault(
            "the run has no stretch to differentiate".to_string(),
            "give a later --to",
        ));
    };
    if !matches!(
        run.end,
        HybridEnd::Finished | HybridEnd::Stopped | HybridEnd::Terminated { .. }
    ) && all.ended.is_none()
    {
        all.ended = Some("the run ends there".to_string());
    }
    Ok((run, all))
}

impl Follow<'_> {
    /// Stretch after stretch, event after event, as far as derivatives are known.
    fn run(&mut self, events: &[TracedEvent]) -> Result<(), Box<Diagnostic>> {
        let mut before: Option<Done> = None;
        let run = self.run;
        for (at, leg) in run.legs.iter().enumerate() {
            let mine: Vec<&TracedEvent> = events.iter().filter(|e| e.leg == at).collect();
            let done = match &before {
                None => self.first(leg, &mine)?,
                Some(done) => match self.next(done, &mine, leg) {
                    Ok(done) => done,
                    Err(why) => {
                        self.end(leg, why);
                        return Ok(());
                    }
                },
            };
            if self.all.as_ref().is_some_and(|all| all.ended.is_some()) {
                return Ok(());
            }
            before = Some(done);
        }
        let last: Vec<&TracedEvent> = events
            .iter()
            .filter(|event| event.leg == run.legs.len())
            .collect();
        if let (Some(before), false) = (before, last.is_empty()) {
            self.stop(&before, &last);
        }
        Ok(())
    }

    /// How the end of the run moves, where an event ends it: (16).
    fn stop(&mut self, before: &Done, events: &[&TracedEvent]) {
        let (jet, n) = (&before.last, before.n);
        let stride = jet.n_unknowns() / (self.directions.len() + 1);
        let passing = passing(jet, (n, self.model.parameters.len()));
        let changes = self.changes(jet, (n, stride));
        let (mut by, mut is_set) = (Vec::new(), false);
        for change in &changes {
            let along = (change, &passing);
            let rtol = self.run.rtol;
            let mut found = self.shadow.stop_moves(events[0], along, rtol);
            let event = self.shadow.time_moves(events[0], along, rtol);
            by.push(event.and_then(|moves| {
                found.extend(moves);
                agreed(&found, SAME_START_TOLERANCES * rtol)
            }));
            let mut behind = change.clone();
            is_set |= events
                .iter()
                .any(|event| !self.shadow.through(event, &mut behind).is_empty());
        }
        let moved: Vec<Vec<f64>> = changes.into_iter().map(|change| change.values).collect();
        if let Some(all) = &mut self.all {
            all.stop = Some(StopDerivative::new(
                before.time,
                by,
                (&moved, &passing.values),
            ));
            if is_set {
                all.warnings.push(
                    "The last event sets values: derivatives at the stop are those just before it."
                        .to_string(),
                );
            }
        }
    }

    /// Ends the derivatives where a stretch begins.
    fn end(&mut self, leg: &Stretch, why: String) {
        let from = leg.trajectory.span().map_or(f64::NAN, |span| span.0);
        if let Some(all) = &mut self.all {
            all.until = all.until.min(from);
            all.ended = Some(why);
        }
    }

    fn mode(&mut self, leg: &Stretch) -> Result<(System, &ModeVaried), Box<Diagnostic>> {
        let no_equations = || {
            fault(
                "a mode has no equations".to_string(),
                "leave out --sensitivity",
            )
        };
        let system = self.run.equations_of(leg).ok_or_else(no_equations)?;
        if !self.modes.contains_key(&leg.mode) {
            let mut model = model_in_mode(self.model, self.hybrid, &self.run.modes[leg.mode]);
            let signals = system.equations().symbols().signals().to_vec();
            model.symbols.set_signals(signals);
            let moved = (&self.held[..], &self.led[..]);
            let varied = led_system(&model, &system, &self.directions, moved)?;
            let found = ModeVaried {
                model,
                setup: Setup::new(&system),
                varied_setup: Setup::new(&varied),
                varied,
            };
            self.modes.insert(leg.mode, found);
        }
        let first = self.model.parameters.len();
        let (n_led, led) = (self.led.len(), &self.led);
        let rates = self.moves.iter().enumerate().flat_map(|(k, moves)| {
            let place = move |at: usize| first + k * n_led + at;
            led.iter()
                .enumerate()
                .map(move |(at, &p)| (place(at), moves[p]))
        });
        let rates: Vec<(usize, f64)> = rates.collect();
        let mode = self.modes.get_mut(&leg.mode).ok_or_else(no_equations)?;
        super::take_values(&mut mode.varied, &system);
        let set = mode.varied.set_parameters(&rates);
        set.map_err(|error| fault(error.to_string(), "leave out --sensitivity"))?;
        Ok((system, mode))
    }

    /// The jet of a stretch at one of its ends.
    fn jet(leg: &Stretch, system: &System, time: f64) -> Option<TaylorJet> {
        let mut reader = Reader {
            trajectory: &leg.trajectory,
            way: Way::Own(leg.route.way_back(system).into()),
            settles: None,
        };
        reader.jet(time)
    }

    /// A run of a stretch by itself.
    fn base(
        &self,
        leg: &Stretch,
        system: &System,
        setup: &Setup,
    ) -> Result<Solution, Box<Diagnostic>> {
        let lost = || {
            fault(
                "a stretch of the run has no values".to_string(),
                "leave out --sensitivity",
            )
        };
        let (from, to) = leg.trajectory.span().ok_or_else(lost)?;
        let jet = Self::jet(leg, system, from).ok_or_else(lost)?;
        let options = SolveOptions {
            from: Some(from),
            to: Some(to),
            ..self.options.clone()
        };
        let run = run_from(system, setup, &options, going_on(from, jet), &mut |_| {});
        run.map_err(|no_run| refused(system, no_run))
    }

    /// The first stretch. Discrete variables that follow from unknowns at the start move with them.
    fn first(&mut self, leg: &Stretch, events: &[&TracedEvent]) -> Result<Done, Box<Diagnostic>> {
        let (directions, begun) = (self.directions.clone(), self.moves.clone());
        for _ in 0..3 {
            let (options, before) = (self.options.clone(), self.moves.clone());
            let (system, mode) = self.mode(leg)?;
            let n = system.unknowns().len();
            let stride = mode.varied.unknowns().len() / (directions.len() + 1);
            let mode = &self.modes[&leg.mode];
            let base = self.base(leg, &system, &mode.setup)?;
            let options = SolveOptions {
                from: Some(base.from),
                to: Some(base.reached()),
                ..options
            };
            let shape = (n, stride, &directions[..]);
            let found = start(&system, &base, &options, &mode.varied, shape)?;
            let point = point_of(base.from, &base.start.jet);
            let jet = &found.0.0.jet;
            let passing = passing(&base.start.jet, (n, self.model.parameters.len()));
            for (k, mut change) in self.changes(jet, (n, stride)).into_iter().enumerate() {
                change.parameters.clone_from(&begun[k]);
                let before = events
                    .first()
                    .map_or(&leg.parameters, |event| &event.before);
                self.shadow.begin((&point, before), &mut change);
                for event in events {
                    let along = (&change, &passing);
                    let delay = self.shadow.time_moves(event, along, self.run.rtol);
                    let is_still = matches!(delay, Ok(None | Some(0.0)));
                    if !is_still || !self.shadow.through(event, &mut change).is_empty() {
                        let message = "an event at the start moves, or sets an unknown: its derivatives are not known";
                        let help = "begin the run a little earlier or later with --from";
                        return Err(fault(message.to_string(), help));
                    }
                }
                self.moves[k] = change.parameters;
            }
            if self.moves == before {
                return self.carry(leg, (system, base), found);
            }
        }
        let message = "how discrete variables move at the start was not settled".to_string();
        Err(fault(message, "leave out --sensitivity"))
    }

    /// How everything moves with each direction at a fixed time, by the jet of unknowns and derivatives.
    fn changes(&self, jet: &TaylorJet, (n, stride): (usize, usize)) -> Vec<Moving> {
        let one = |(k, moves): (usize, &Vec<f64>)| {
            let first = stride * (k + 1);
            Moving {
                time: 0.0,
                values: (0..n).map(|j| jet.get(first + j, 0)).collect(),
                rates: (0..n).map(|j| jet.get(first + j, 1)).collect(),
                parameters: moves.clone(),
            }
        };
        self.moves.iter().enumerate().map(one).collect()
    }

    /// Carries derivatives along a stretch, and adds them to those before.
    fn carry(
        &mut self,
        leg: &Stretch,
        (system, base): (System, Solution),
        found: (Start, Vec<String>),
    ) -> Result<Done, Box<Diagnostic>> {
        let options = SolveOptions {
            from: Some(base.from),
            to: Some(base.reached()),
            ..self.options.clone()
        };
        let directions = self.directions.clone();
        let (_, mode) = self.mode(leg)?;
        let with = (directions, &mode.varied, &mode.varied_setup);
        let of = (&mode.model, &system);
        let one = carried(of, &base, &options, with, found)?;
        let lost = || {
            fault(
                "the derivatives have no values".to_string(),
                "leave out --sensitivity",
            )
        };
        let last = one.reader().jet(one.until).ok_or_else(lost)?;
        let systems = vec![one.system.clone(); one.legs.len()];
        match &mut self.all {
            None => self.all = Some(Sensitivities { systems, ..one }),
            Some(all) => {
                all.legs.extend(one.legs);
                all.systems.extend(systems);
                all.times.extend(one.times);
                (all.until, all.ended) = (one.until, one.ended);
                for warning in one.warnings {
                    if !all.warnings.contains(&warning) {
                        all.warnings.push(warning);
                    }
                }
            }
        }
        Ok(Done {
            mode: leg.mode,
            n: system.unknowns().len(),
            time: base.reached(),
            last,
        })
    }

    /// The stretch behind events, or why there are no derivatives behind them.
    fn next(
        &mut self,
        before: &Done,
        events: &[&TracedEvent],
        leg: &Stretch,
    ) -> Result<Done, String> {
        let at = daelight_show::short(before.time);
        let said = |why: String| format!("at t = {at} {why}");
        if events.iter().any(|event| event.is_odd) {
            return Err(said(
                "values jump as the equations of the new mode say".to_string(),
            ));
        }
        let n = before.n;
        let stride = before.last.n_unknowns() / (self.directions.len() + 1);
        let jet = &before.last;
        let passing = passing(jet, (n, self.model.parameters.len()));
        let (mut delays, mut set) = (Vec::new(), Vec::new());
        let mut behind = Vec::new();
        for mut change in self.changes(jet, (n, stride)) {
            let mut delay = 0.0;
            for (k, event) in events.iter().enumerate() {
                let along = (&change, &passing);
                if k == 0
                    && let Some(found) =
                        (self.shadow.time_moves(event, along, self.run.rtol)).map_err(said)?
                {
                    delay = found;
                    change = change.plus(delay, &passing);
                }
                set.extend(self.shadow.through(event, &mut change));
            }
            delays.push(delay);
            behind.push(change);
        }
        for (moves, change) in self.moves.iter_mut().zip(&behind) {
            moves.clone_from(&change.parameters);
        }
        set.sort_unstable();
        set.dedup();
        let is_same = before.mode == leg.mode;
        self.enter(leg, (&behind, &delays), (&set, is_same))
            .map_err(said)
    }

    /// Begins a stretch behind events: states are those of the run, and their derivatives X - x' dt*/dp.
    fn enter(
        &mut self,
        leg: &Stretch,
        (behind, delays): (&[Moving], &[f64]),
        (set, is_same): (&[usize], bool),
    ) -> Result<Done, String> {
        let words = |diagnostic: Box<Diagnostic>| diagnostic.message.clone();
        let (system, mode) = self.mode(leg).map_err(words)?;
        let no_values = || "the run has no values".to_string();
        let (from, to) = leg.trajectory.span().ok_or_else(no_values)?;
        let jet = Self::jet(leg, &system, from).ok_or_else(no_values)?;
        let varied = &mode.varied;
        let offsets = varied.structure().ok().map(StageOffsets::of);
        let n = system.unknowns().len();
        let stride = varied.unknowns().len() / (delays.len() + 1);
        let structure = system
            .structure()
            .map_err(|_| "the structure is singular".to_string())?;
        let states = Variations::new(&system, structure, (from, &jet))?;
        let held = |unknown: usize, value: f64| Row::Value { unknown, value };
        let own_states = states.chosen().iter().map(|&j| held(j, jet.values()[j]));
        let mut conditions: Vec<Row> = own_states.collect();
        // What equations tie to a value that was set follows it, as in the run itself.
        let depths = &structure.offsets().variable;
        let most = set.iter().map(|&j| depths[j]).max();
        let differentiated = system
            .equations()
            .pattern(1)
            .columns()
            .iter()
            .map(|&j| j as usize);
        let kept: Vec<usize> = match most.filter(|_| is_same) {
            None => states.chosen().to_vec(),
            Some(most) => {
                let deeper = differentiated.filter(|&j| depths[j] > most && !set.contains(&j));
                set.iter().copied().chain(deeper).collect()
            }
        };
        let mut guess = vec![0.0; varied.unknowns().len()];
        guess[..n].copy_from_slice(jet.values());
        for (k, (change, delay)) in behind.iter().zip(delays).enumerate() {
            let first = stride * (k + 1);
            for j in 0..n {
                guess[first + j] = change.values[j] - delay * jet.get(j, 1);
            }
            conditions.extend(kept.iter().map(|&j| held(first + j, guess[first + j])));
        }
        let request = Request {
            time: from,
            guess,
            given: Vec::new(),
            conditions,
            order: START_ORDER,
            budget: std::time::Duration::from_secs(10),
        };
        let point = consistent_point(varied, offsets, &request);
        let point = point.map_err(|_| "no start of the derivatives was found".to_string())?;
        // A relation that changes back one number later is no stretch to run.
        let span = self.run.reached - self.run.from;
        if to - from <= f64::EPSILON.powf(0.75) * span {
            return Ok(Done {
                mode: leg.mode,
                n,
                time: to,
                last: point.jet,
            });
        }
        let own = &self.modes[&leg.mode].setup;
        let base = self.base(leg, &system, own).map_err(words)?;
        let found = ((point, request), Vec::new());
        self.carry(leg, (system, base), found).map_err(words)
    }
}

/// How everything changes in time.
fn passing(jet: &TaylorJet, (n, n_parameters): (usize, usize)) -> Moving {
    Moving {
        time: 1.0,
        values: (0..n).map(|j| jet.get(j, 1)).collect(),
        rates: (0..n).map(|j| jet.derivative(j, 2)).collect(),
        parameters: vec![0.0; n_parameters],
    }
}

fn point_of(time: f64, jet: &TaylorJet) -> crate::hybrid::Point {
    crate::hybrid::Point {
        time,
        values: jet.values().to_vec(),
        rates: (0..jet.n_unknowns()).map(|j| jet.get(j, 1)).collect(),
    }
}
