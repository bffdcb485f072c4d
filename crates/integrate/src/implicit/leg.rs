//! One leg of an implicit method on the completed equations, with states chosen at its start.

use super::{Course, Event, MAX_RESIDUAL, Method};
use crate::hermite::N_NODES;
use crate::nudges::Nudges;
use crate::outcome::{BudgetKind, Failure};
use crate::start::StartError;
use crate::states;
use crate::tolerances::{REJECT, SHRUNK, SIDE_VALUE, UNEVEN};
use crate::trajectory::shift;
use crate::watch::branches::{BranchFunctions, FirstSwitch, Piece};
use crate::watch::sides::{Way, leads_to};
use daelight_analysis::{Completed, FirstOrder};
use daelight_stiff as stiff;
use std::cmp::Ordering;
use stiff::{FINEST, Stepper};

/// A piece may be off by this many tolerances between the ends of a step.
const BETWEEN: f64 = 10.0;

/// The part of what is left of a run at which sides are looked at, ahead of a switch just made.
const SHORTLY: f64 = 1e-8;

/// Parts of a step at which pieces are worst: the middle, and where a polynomial through equidistant nodes is.
const LOOKS: [f64; 2] = [0.5, 0.1];

/// Pieces shorter than this part of what is left of the run are not looked at.
const SHORTEST_PIECE: f64 = 1e-7;

/// Absolute tolerances are never coarser than this part of the nominal values. Stiff kinetics are unstable for negative
/// amounts: Robertson's reactions run away with 1e-6 and a tolerance of 1e-4.
const COARSEST: f64 = 3e-8;

/// Radau has five stages from this tolerance of a step on. At 3e-5 three cost small kinetics as much, and took three times the
/// steps of five on the ring modulator and medical Akzo Nobel.
const FIVE_STAGES: f64 = 1e-4;

/// Highest derivatives of differential unknowns are not carried on: this many times their tolerance serves.
const RELAXED: f64 = 1e3;

/// A state whose derivative is the highest one of its unknown.
struct End {
    unknown: usize,
    /// Its place in a point, and the factor of the derivative's coefficient.
    state: usize,
    slope: f64,
    /// One over its tolerance, as a coefficient.
    weight: f64,
}

/// Room for what a step is looked at between its ends.
#[derive(Default)]
pub(super) struct Between {
    /// The method's own polynomial at the nodes, `[node][unknown]`, and at one of them with all of its unknowns.
    nodes: Vec<f64>,
    own: Vec<f64>,
    /// The piece at a node, and the unknowns in which both differ.
    values: Vec<f64>,
    differs: Vec<bool>,
    replaced: Vec<usize>,
    /// Those of them that follow from the states.
    followers: Vec<usize>,
    /// Whether each unknown is a state of this leg.
    is_state: Vec<bool>,
}

impl Between {
    fn know_states(&mut self, n: usize, states: &[(usize, usize)]) {
        self.is_state.clear();
        self.is_state.resize(n, false);
        for &(unknown, order) in states {
            self.is_state[unknown] |= order == 0;
        }
    }

    /// Makes room for n unknowns, and for those of the method.
    fn fit(&mut self, n: usize, n_own: usize) {
        self.nodes.resize(N_NODES * n, 0.0);
        self.own.resize(n_own, 0.0);
        self.values.resize(n, 0.0);
        self.differs.clear();
        self.differs.resize(n, false);
        self.replaced.clear();
        self.followers.clear();
    }
}

impl Course<'_> {
    /// One leg of the implicit method, with the states that suit the present point.
    pub(super) fn leg(&mut self, completed: &Completed) -> Result<Event, StartError> {
        if let Some(switch) = self.leaves_to_root() {
            return Ok(Event::Switch(switch));
        }
        let tolerances = &self.options.tolerances;
        let n = self.problem.n();
        shift(&self.series, n, 0.0, &mut self.point);
        self.stages.set_point(self.time, &self.point);
        if let Err(failure) = self.stages.factor() {
            return Ok(Event::Failed(Some(failure)));
        }
        let entries = self.stages.entries();
        let selection = match states::select(self.problem, tolerances, &entries) {
            Ok(Some(selection)) => selection,
            Ok(None) => {
                return Err(StartError::Unsuitable(
                    "too many equations depend on each other for a choice of states; use taylor",
                ));
            }
            Err(error) => return Ok(Event::Failed(Some(error.into()))),
        };
        let first_order = completed.with_states(&selection.states);
        let equations = first_order.equations();
        self.room.know_states(self.problem.n(), &selection.states);
        self.selection = Some(selection);
        self.n_unchecked = 0;
        let (x, xp, atol) = self.first_values(&first_order);
        let indices = vec![1; equations.n_unknowns()];
        let mut problem =
            stiff::Problem::with_indices(equations, self.problem.parameters(), &indices)
                .map_err(|_| StartError::Options)?;
        if self.branches.is_some() {
            // Sides are those shortly ahead, and held: a stage beyond a switch would spoil the step.
            let (time, there) = self.shortly_ahead(&first_order, &x);
            problem.hold_sides(time, &there, &xp);
        }
        let options = self.leg_options(atol);
        let (t, end) = (self.time, self.options.t_end);
        let start = stiff::Start { t, x: &x, xp: &xp };
        let unsuitable = |_| StartError::Options;
        Ok(match self.method {
            Method::Bdf => {
                let stepper = stiff::Bdf::new(&mut problem, start, end, &options, true);
                self.march(&mut stepper.map_err(unsuitable)?, &first_order)
            }
            _ => {
                let stepper = stiff::Radau::new(&mut problem, start, end, &options);
                self.march(&mut stepper.map_err(unsuitable)?, &first_order)
            }
        })
    }

    /// The branches that leave their surfaces at the present time for sides on which roots begin.
    fn leaves_to_root(&mut self) -> Option<FirstSwitch> {
        if !self.stages.is_expanded_at(self.time) {
            return None;
        }
        let way = Way::through(
            self.options.t_end - self.time,
            self.options.tolerances.rtol,
            0.0,
        );
        let stages = &self.stages;
        let leaves = |&branch: &usize| {
            let root = self.problem.root_side(branch);
            let root = root.filter(|root| *root != stages.sides()[branch]);
            let (value, size) = stages.switching(branch, 0);
            let size = size.max(stages.noted_size(branch));
            value.abs() <= SIDE_VALUE * size
                && root.is_some_and(|root| leads_to(stages, branch, root, way))
        };
        let branches: Vec<usize> = (0..stages.n_branches()).filter(leaves).collect();
        if branches.is_empty() {
            return None;
        }
        let rows = self.piece.len().min(self.series.len());
        self.piece.fill(0.0);
        self.piece[..rows].copy_from_slice(&self.series[..rows]);
        Some(FirstSwitch {
            time: self.time,
            width: 0.0,
            branches,
        })
    }

    /// A point ahead at which all branches are on the sides that hold, as far as it is to be found. After a sliding motion what
    /// decides leaves its surface like a square, so that it is not always very near; behind an infinite slope the series reach no
    /// further than the point is behind the switch, and it is nearer.
    fn shortly_ahead(&mut self, first_order: &FirstOrder, x: &[f64]) -> (f64, Vec<f64>) {
        let n = self.problem.n();
        let span = (self.options.t_end - self.time).abs();
        let rounding = 64.0 * f64::EPSILON * self.time.abs();
        let (usual, most) = ((SHORTLY * span).max(rounding), SHORTLY.sqrt() * span);
        let fourfold = |aside: &f64| Some(4.0 * aside);
        let far = std::iter::successors(Some(usual), fourfold).take_while(|aside| *aside < most);
        let near = std::iter::successors(Some(0.25 * usual), |aside| Some(0.25 * aside));
        let near = near.take_while(|aside| *aside > rounding).chain([0.0]);
        let aside = (far.chain(near))
            .find(|aside| self.sides_agree(self.time + self.direction * aside))
            .unwrap_or(usual);
        let aside = self.direction * aside;
        let mut there = x.to_vec();
        shift(&self.series, n, aside, &mut self.point);
        for j in 0..n {
            let mut factorial = 1.0;
            for s in 0..=self.problem.unknown_offset(j) {
                if let Some(place) = first_order.place(j, s) {
                    there[place] = factorial * self.point[s * n + j];
                }
                factorial *= (s + 1) as f64;
            }
        }
        self.put_beside_roots(aside, first_order, &mut there);
        (self.time + aside, there)
    }

    /// What a branch looks at, and the size of its operands, by a series.
    fn branch_value(&mut self, branch: usize, time: f64, series: &[f64]) -> Option<(f64, f64)> {
        let centre = self.time;
        let piece = Piece { centre, series };
        let branches = self.branches.as_mut()?;
        let value = branches.value(piece, time, branch)?;
        Some((value, branches.size(piece, time, branch)))
    }

    /// Moves values whose differences rest beside roots, up to rounding, to where the text says that there is no root: the root of 1e-16
    /// is 1e-8.
    fn put_beside_roots(&mut self, aside: f64, first_order: &FirstOrder, there: &mut [f64]) {
        let n = self.problem.n();
        let time = self.time + aside;
        let mut moved = self.series.clone();
        for branch in 0..self.stages.n_branches() {
            let Some((value, size)) = self.branch_value(branch, time, &moved) else {
                continue;
            };
            let Some((root, rests)) = self.stages.root_beside(branch, (value, size)) else {
                continue;
            };
            // Exactly on the surface, unless the text has the root there.
            let wanted = match self.stages.side_at_equality(branch) == root {
                true if root == Ordering::Greater => -rests,
                true => rests,
                false => 0.0,
            };
            let mut best: Option<(f64, (usize, usize), f64)> = None;
            let tolerances = &self.options.tolerances;
            for (j, s) in BranchFunctions::reads(self.problem, branch) {
                let unit = tolerances.absolute(s, j) / tolerances.rtol;
                let before = moved[s * n + j];
                moved[s * n + j] += unit;
                let there = self.branch_value(branch, time, &moved);
                let slope = there.map_or(0.0, |(there, _)| there - value);
                moved[s * n + j] = before;
                if first_order.place(j, s).is_some()
                    && slope.abs() > best.map_or(0.0, |(slope, ..)| slope.abs())
                {
                    best = Some((slope, (j, s), unit));
                }
            }
            if let Some((slope, (j, s), unit)) = best
                && let Some(place) = first_order.place(j, s)
            {
                let change = (wanted - value) * unit / slope;
                let factorial: f64 = (1..=s).map(|f| f as f64).product();
                moved[s * n + j] += change;
                there[place] += factorial * change;
            }
        }
    }

    /// Whether the functions that decide are on the sides that hold at a time ahead, on the present series.
    fn sides_agree(&mut self, time: f64) -> bool {
        let Some(branches) = &mut self.branches else {
            return true;
        };
        let sides = self.stages.sides();
        branches.hold(sides);
        let piece = Piece {
            centre: self.time,
            series: &self.series,
        };
        sides.iter().enumerate().all(|(branch, side)| {
            let value = branches.value(piece, time, branch);
            value.is_none_or(|value| value.partial_cmp(&0.0) == Some(*side))
        })
    }

    /// Takes the steps that a method proposes, until something happens.
    fn march(&mut self, stepper: &mut dyn Stepper, first_order: &FirstOrder) -> Event {
        let event = match stepper.check_start() {
            Some(reason) => event_of(reason),
            None => loop {
                if let Some(event) = self.propose(stepper, first_order) {
                    break event;
                }
            },
        };
        // Steps and rejections are counted where they are decided.
        self.work += stiff::Statistics {
            steps: 0,
            rejected: 0,
            newton_failures: 0,
            ..*stepper.statistics()
        };
        event
    }

    /// One step of a method: as long as it is not solved, or not good between its ends, a shorter one.
    fn propose(&mut self, stepper: &mut dyn Stepper, first_order: &FirstOrder) -> Option<Event> {
        let end = self.options.t_end;
        let before = *stepper.statistics();
        let mut failures = stiff::Failures::default();
        let forced = self.longest_forced().unwrap_or(f64::INFINITY);
        let forced = self
            .beside
            .map_or(forced, |near| forced.min(near.longest_step(self.time)));
        let mut longest = 0.0f64;
        let (step, to) = loop {
            let most = self.longest_piece.unwrap_or(f64::INFINITY).min(forced);
            let natural = self.direction * stepper.step().abs().min(most);
            let (step, to) = stiff::limited(self.time, natural, end);
            if let Err(failure) = stepper.attempt(step, to) {
                self.work.rejected += 1;
                let span = (end - self.time).abs();
                if let Some(reason) = failures.add(failure, self.time, stepper.step(), span) {
                    return Some(event_of(reason));
                }
            } else {
                if self.project_end(first_order, to, stepper).is_err() {
                    return Some(Event::Failed(None));
                }
                let error = self.iteration_error(to);
                if error > REJECT {
                    self.work.rejected += 1;
                    longest = longest.max(step.abs());
                    if step.abs() * SHRUNK < longest {
                        return Some(Event::Failed(None));
                    }
                    stepper.distrust();
                    stepper.refuse(0.5 * step);
                    continue;
                }
                match self.join(first_order, &stepper.solved()) {
                    Ok(true) => break (step, to),
                    Ok(false) => {
                        self.work.rejected += 1;
                        self.longest_piece = Some(0.5 * step.abs());
                        self.longest = 0.0;
                        stepper.refuse(0.5 * step);
                    }
                    Err(failure) => return Some(Event::Failed(failure)),
                }
            }
            if let Some(kind) = self.out_of_budget() {
                return Some(Event::Budget(kind));
            }
        };
        if let Some(event) = self.accept(to) {
            return Some(event);
        }
        stepper.advance();
        if self.weigh_step(step.abs(), &before, stepper.statistics()) {
            return Some(Event::Return);
        }
        // A limit that a piece set is loosened as soon as a step of that length is good.
        self.longest_piece = self.longest_piece.map(|most| most.max(2.0 * step.abs()));
        None
    }

    /// What the iteration of a step left of the error of its end, in tolerances, (R24); below them it is not told.
    ///
    /// The stages and `point` hold the projected end, and keep it.
    fn iteration_error(&mut self, time: f64) -> f64 {
        let n = self.problem.n();
        let h = (time - self.time).abs();
        let moved = |end: &End| h * self.moved[end.unknown].abs() * end.slope * end.weight;
        let sizes = self.ends(&self.point).map(|end| moved(&end));
        let size = sizes.fold(0.0f64, f64::max);
        if size.is_nan() || size <= UNEVEN {
            return 0.0;
        }
        // The states a tolerance further along: what that does to the highest derivatives is what it undoes over the step.
        let point = self.point.clone();
        let mut further = point.clone();
        for end in self.ends(&point) {
            further[end.state] += h * self.moved[end.unknown] * end.slope / size;
        }
        self.stages.set_point(time, &further);
        let is_solved = self.stages.project(false).is_ok();
        self.stages.point(&mut further);
        let responses = self.ends(&point).map(|end| {
            let top = end.state + n;
            h * (further[top] - point[top]).abs() * end.slope * end.weight
        });
        let response = responses.fold(0.0, f64::max);
        self.stages.set_point(time, &point);
        self.point = point;
        match (is_solved, self.stages.project(false)) {
            (true, Ok(_)) => size / (1.0 + response),
            _ => size,
        }
    }

    /// The highest states of a point, whose derivatives are the highest ones.
    fn ends<'s>(&'s self, point: &'s [f64]) -> impl Iterator<Item = End> + 's {
        let (n, tolerances) = (self.problem.n(), &self.options.tolerances);
        (0..n).filter_map(move |unknown| {
            let order = self.problem.unknown_offset(unknown).checked_sub(1)?;
            let factorial = (1..=order).map(|f| f as f64).product::<f64>();
            let state = order * n + unknown;
            let size = factorial * point[state].abs();
            Some(End {
                unknown,
                state,
                slope: (order + 1) as f64,
                weight: factorial / (tolerances.rtol * size + tolerances.absolute(order, unknown)),
            })
        })
    }

    /// Projects the end of a step; moved a little, in runs that look what becomes of that, but no unknown by more than the size of the nudges.
    fn project_end(
        &mut self,
        first_order: &FirstOrder,
        t: f64,
        stepper: &mut dyn Stepper,
    ) -> Result<(), String> {
        let allowed = self.options.nudge;
        let (x, xp) = stepper.end_mut();
        if allowed == 0.0 {
            return self.project(first_order, t, x, xp);
        }
        let [from, rates_from] = [x, xp].map(|values| values.to_vec());
        let (mut end, mut rates) = (from.clone(), rates_from.clone());
        self.project(first_order, t, &mut end, &mut rates)?;
        let (projected, n) = (self.point.clone(), self.problem.n());
        let mut part = 1.0;
        loop {
            let mut change = vec![0.0; from.len()];
            self.nudge(first_order, &from, &mut change);
            stepper.damp(&mut change);
            let changes = from.iter().zip(&change);
            end = changes.map(|(x, change)| x + part * change).collect();
            rates.copy_from_slice(&rates_from);
            self.project(first_order, t, &mut end, &mut rates)?;
            let moved = Nudges::distance(self.options, n, [&projected, &self.point]);
            if moved <= REJECT * allowed || part < 1.0 {
                let (x, xp) = stepper.end_mut();
                x.copy_from_slice(&end);
                xp.copy_from_slice(&rates);
                return Ok(());
            }
            part = allowed / moved;
        }
    }

    /// What the unknowns of a leg are moved by, in runs that look what becomes of that; not those that rest beside a root, which no step moves.
    fn nudge(&mut self, first_order: &FirstOrder, x: &[f64], change: &mut [f64]) {
        let resting = self.stages.resting_beside_roots();
        for j in 0..self.problem.n() {
            for s in 0..=self.problem.unknown_offset(j) {
                if let Some(place) = first_order
                    .place(j, s)
                    .filter(|_| !resting.contains(&(j, s)))
                {
                    change[place] = self.nudges.moved(self.options, (s, j), x[place]) - x[place];
                }
            }
        }
    }

    /// Values, derivatives and absolute tolerances of the unknowns of a leg, from the present series.
    fn first_values(&self, first_order: &FirstOrder) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let n = self.problem.n();
        let size = first_order.equations().n_unknowns();
        let [mut x, mut xp, mut atol] = [(); 3].map(|()| vec![0.0; size]);
        let tolerances = &self.options.tolerances;
        let inner = self.inner();
        for j in 0..n {
            let d = self.problem.unknown_offset(j);
            let mut factorial = 1.0;
            for s in 0..=d {
                let value = factorial * self.series[s * n + j];
                factorial *= (s + 1) as f64;
                let Some(place) = first_order.place(j, s) else {
                    continue;
                };
                x[place] = value;
                xp[place] = factorial * self.series[(s + 1) * n + j];
                let nominal = tolerances.absolute(s, j) / tolerances.rtol;
                atol[place] = (inner * tolerances.rtol).min(COARSEST) * nominal;
                let from = self.determined_from[j].max(1);
                if s >= from {
                    let relaxed = RELAXED.powi((s - from + 1) as i32);
                    atol[place] = relaxed * atol[place] + inner * tolerances.rtol * x[place].abs();
                }
            }
        }
        (x, xp, atol)
    }

    /// The part of the tolerance that one step may use.
    fn inner(&self) -> f64 {
        let is_stiff = self.choice.is_some() && self.problem.max_equation_offset() == 0;
        self.method.inner(is_stiff)
    }

    /// What a method is told of a leg.
    fn leg_options(&self, atol: Vec<f64>) -> stiff::Options {
        let rtol = (self.inner() * self.options.tolerances.rtol).max(FINEST);
        stiff::Options {
            rtol,
            stages: if rtol > FIVE_STAGES { 3 } else { 5 },
            atol,
            h0: self.step,
            ..stiff::Options::default()
        }
    }

    /// Brings a point of the completed equations onto all constraints.
    pub(super) fn project(
        &mut self,
        first_order: &FirstOrder,
        t: f64,
        x: &mut [f64],
        xp: &mut [f64],
    ) -> Result<(), String> {
        let n = self.problem.n();
        self.point.fill(0.0);
        for j in 0..n {
            let mut factorial = 1.0;
            let mut rate = 0.0;
            for s in 0..=self.problem.unknown_offset(j) {
                let value = match first_order.place(j, s) {
                    Some(place) => {
                        rate = xp[place];
                        x[place]
                    }
                    None => rate,
                };
                self.point[s * n + j] = value / factorial;
                factorial *= (s + 1) as f64;
            }
        }
        for (j, moved) in self.moved.iter_mut().enumerate() {
            *moved = self.point[self.problem.unknown_offset(j) * n + j];
        }
        self.stages.set_point(t, &self.point);
        let projected = self
            .stages
            .factor()
            .and_then(|()| self.stages.project(false))
            .map_err(|failure| failure.to_string())?;
        if projected.residual > MAX_RESIDUAL {
            return Err(format!("residual {:.1e}", projected.residual));
        }
        self.stages.point(&mut self.point);
        for (j, moved) in self.moved.iter_mut().enumerate() {
            *moved = self.point[self.problem.unknown_offset(j) * n + j] - *moved;
        }
        for j in 0..n {
            let mut factorial = 1.0;
            let mut before = None;
            for s in 0..=self.problem.unknown_offset(j) {
                let value = factorial * self.point[s * n + j];
                if let Some(place) = before {
                    xp[place] = value;
                }
                before = first_order.place(j, s);
                if let Some(place) = before {
                    x[place] = value;
                }
                factorial *= (s + 1) as f64;
            }
        }
        Ok(())
    }

    /// Makes a piece of a step that was solved and projected; says whether it is good between its ends.
    ///
    /// (24) serves where it agrees with the method's own polynomial. Where it does not, the derivatives at the ends mean
    /// nothing, and that polynomial serves for the states. What follows from the states is read off the constraints.
    fn join(
        &mut self,
        first_order: &FirstOrder,
        step: &stiff::Step<'_>,
    ) -> Result<bool, Option<Failure>> {
        let mut room = std::mem::take(&mut self.room);
        let joined = self.join_within(first_order, step, &mut room);
        self.room = room;
        joined
    }

    fn join_within(
        &mut self,
        first_order: &FirstOrder,
        step: &stiff::Step<'_>,
        room: &mut Between,
    ) -> Result<bool, Option<Failure>> {
        self.stages.expand(&mut self.next).map_err(Some)?;
        let n = self.problem.n();
        let h = step.t - self.time;
        self.pieces
            .between(&self.series, &self.next, h, &mut self.piece);
        room.fit(n, first_order.equations().n_unknowns());
        let Between {
            nodes,
            own,
            values,
            differs,
            replaced,
            followers,
            is_state,
        } = room;
        for (k, row) in nodes.chunks_exact_mut(n.max(1)).enumerate() {
            let s = k as f64 / (N_NODES - 1) as f64;
            if k == 0 || k == N_NODES - 1 {
                let ends = if k == 0 { &self.series } else { &self.next };
                row.copy_from_slice(&ends[..n]);
                continue;
            }
            step.interpolant.value(self.time + s * h, own);
            shift(&self.piece, n, s * h, values);
            for (j, place) in row.iter_mut().enumerate() {
                // x_j itself is always an unknown.
                *place = first_order.place(j, 0).map_or(f64::NAN, |place| own[place]);
                differs[j] |= !self.is_near(j, values[j], *place);
            }
        }
        replaced.extend((0..n).filter(|&j| differs[j]));
        self.replace(replaced, nodes, h);
        if !self.piece.iter().all(|x| x.is_finite()) {
            return Err(None);
        }
        // The error test looks at the ends of a step: where the motion is simple there, nothing bounds what is in between.
        let is_long = h.abs() > SHORTEST_PIECE * (self.options.t_end - self.time).abs();
        followers.extend(replaced.iter().filter(|&&j| !is_state[j]));
        if is_long && !self.is_featureless(h) {
            return Ok(false);
        }
        if self.method != Method::Radau || !is_long || followers.is_empty() {
            return Ok(true);
        }
        let holds = self.holds_between(first_order, step, followers, nodes);
        // The stages hold the end of the step again.
        shift(&self.next, n, 0.0, &mut self.point);
        self.stages.set_point(step.t, &self.point);
        let back = self
            .stages
            .factor()
            .and_then(|()| self.stages.project(false));
        back.map_err(Some)?;
        Ok(holds)
    }

    /// Whether two values of an unknown agree as well as pieces have to.
    fn is_near(&self, j: usize, value: f64, wanted: f64) -> bool {
        let tolerances = &self.options.tolerances;
        let size = tolerances.rtol * wanted.abs() + tolerances.absolute(0, j);
        (value - wanted).abs() <= BETWEEN * size
    }

    /// Leads some unknowns of the piece through nodes.
    fn replace(&mut self, unknowns: &[usize], nodes: &[f64], h: f64) {
        for &j in unknowns {
            self.pieces
                .stiff(&self.series, &self.next, nodes, h, j, &mut self.piece);
        }
    }

    /// Whether unknowns that follow from the states are right where a piece is worst; if they are not, they are led through
    /// nodes on the constraints, and looked at once more.
    fn holds_between(
        &mut self,
        first_order: &FirstOrder,
        step: &stiff::Step<'_>,
        followers: &[usize],
        nodes: &mut [f64],
    ) -> bool {
        let n = self.problem.n();
        let h = step.t - self.time;
        let mut wanted = Vec::with_capacity(LOOKS.len());
        for part in LOOKS {
            if !self.project_between(first_order, step, part) {
                return false;
            }
            wanted.push((part * h, self.point[..n].to_vec()));
        }
        if self.passes(followers, &wanted) {
            return true;
        }
        for k in 1..N_NODES - 1 {
            if !self.project_between(first_order, step, k as f64 / (N_NODES - 1) as f64) {
                return false;
            }
            for &j in followers {
                nodes[k * n + j] = self.point[j];
            }
        }
        self.replace(followers, nodes, h);
        self.passes(followers, &wanted)
    }

    /// Whether unknowns of the piece pass through points on the constraints.
    fn passes(&mut self, unknowns: &[usize], points: &[(f64, Vec<f64>)]) -> bool {
        points.iter().all(|(s, wanted)| {
            shift(&self.piece, self.problem.n(), *s, &mut self.point);
            unknowns
                .iter()
                .all(|&j| self.is_near(j, self.point[j], wanted[j]))
        })
    }

    /// Brings the method's own polynomial onto the constraints at a part of the step; the point is left in place.
    fn project_between(
        &mut self,
        first_order: &FirstOrder,
        step: &stiff::Step<'_>,
        part: f64,
    ) -> bool {
        let h = step.t - self.time;
        let time = self.time + part * h;
        let size = first_order.equations().n_unknowns();
        let mut x = vec![0.0; size];
        step.interpolant.value(time, &mut x);
        let mut rates: Vec<f64> = (0..size)
            .map(|unknown| step.interpolant.component(unknown, time).1)
            .collect();
        // A point that cannot be projected is none of a good piece.
        self.project(first_order, time, &mut x, &mut rates).is_ok()
    }
}

/// Why a method ended that nobody stopped.
fn event_of(reason: stiff::StopReason) -> Event {
    match reason {
        stiff::StopReason::Finished => Event::End,
        stiff::StopReason::TooManySteps { .. } => Event::Budget(BudgetKind::Steps),
        stiff::StopReason::Budget { .. } => Event::Budget(BudgetKind::Time),
        // Its place is one in the completed equations, which nobody wrote.
        stiff::StopReason::Fault { fault, .. } => {
            Event::Failed(Some(Failure::Undefined(fault.kind)))
        }
        _ => Event::Failed(None),
    }
}
