//! What happened at events, and the modes between them. Runs have many events of few kinds: what they share is kept once.

use serde::{Serialize, Serializer};
use std::collections::HashMap;
use std::sync::Arc;

fn as_text<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

fn as_list<S: Serializer>(texts: &Arc<[String]>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(texts.iter())
}

fn as_map<S: Serializer, V: Serialize>(pairs: &[(Arc<str>, V)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(name, value)| (&**name, value)))
}

fn as_changes<S: Serializer>(changes: &[Change], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(changes.iter().map(|c| (&*c.name, [c.from, c.to])))
}

pub(super) fn shared<S: Serializer>(
    list: &Option<Arc<EventList>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    list.as_deref().serialize(to)
}

/// A quantity that an event changed.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// Its name.
    pub name: Arc<str>,
    /// Its value before.
    pub from: f64,
    /// Its value afterwards.
    pub to: f64,
}

/// Something that happened at an instant.
#[derive(Serialize, Debug, Clone, PartialEq)]
pub struct EventRecord {
    /// When.
    pub time: f64,
    /// The conditions that changed, as written; empty for what follows from another event.
    #[serde(serialize_with = "as_text")]
    pub condition: Arc<str>,
    /// The same one by one.
    #[serde(skip)]
    pub causes: Arc<[String]>,
    /// The line of the first of them.
    pub line: Option<usize>,
    /// Each quantity that changed, with its values before and afterwards.
    #[serde(serialize_with = "as_changes")]
    pub changed: Box<[Change]>,
    /// Impulses of unknowns without a derivative, where a change of mode made others jump.
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "as_map")]
    pub impulses: Box<[(Arc<str>, f64)]>,
    /// The energy that was lost, if the model tells one and something jumped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_lost: Option<f64>,
    /// The mode afterwards, as the run numbers them.
    #[serde(skip)]
    pub mode: usize,
}

/// What events have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    condition: Arc<str>,
    causes: Arc<[String]>,
    line: Option<usize>,
    changed: Box<[Arc<str>]>,
    impulses: Box<[Arc<str>]>,
    has_energy: bool,
    mode: usize,
}

impl Kind {
    fn of(event: &EventRecord) -> Self {
        Self {
            condition: Arc::clone(&event.condition),
            causes: Arc::clone(&event.causes),
            line: event.line,
            changed: event.changed.iter().map(|c| Arc::clone(&c.name)).collect(),
            impulses: event.impulses.iter().map(|i| Arc::clone(&i.0)).collect(),
            has_energy: event.energy_lost.is_some(),
            mode: event.mode,
        }
    }

    fn n_values(&self) -> usize {
        2 * self.changed.len() + self.impulses.len() + usize::from(self.has_energy)
    }

    fn event(&self, time: f64, values: &[f64]) -> EventRecord {
        let (changed, others) = values.split_at(2 * self.changed.len());
        let pairs = self.changed.iter().zip(changed.chunks(2));
        let impulses = self.impulses.iter().zip(others);
        EventRecord {
            time,
            condition: Arc::clone(&self.condition),
            causes: Arc::clone(&self.causes),
            line: self.line,
            changed: pairs
                .map(|(name, pair)| Change {
                    name: Arc::clone(name),
                    from: pair[0],
                    to: pair[1],
                })
                .collect(),
            impulses: impulses.map(|(n, size)| (Arc::clone(n), *size)).collect(),
            energy_lost: others.last().copied().filter(|_| self.has_energy),
            mode: self.mode,
        }
    }
}

/// How many events, and how many with jumps, are told in words.
const TOLD: (usize, usize) = (6, 4);

/// The events of a run in their order: of each its time, its kind and its numbers.
#[derive(Debug, Clone, Default)]
pub struct EventList {
    kinds: Vec<Kind>,
    known: HashMap<Kind, u32>,
    times: Vec<f64>,
    kind_of: Vec<u32>,
    values: Vec<f64>,
    last: Option<Box<EventRecord>>,
    n: usize,
    n_jumps: usize,
    told_only: bool,
}

impl EventList {
    /// A list that counts all events, and keeps those that are told in words.
    pub fn of_told() -> Self {
        Self {
            told_only: true,
            ..Self::default()
        }
    }

    /// Adds an event behind the others.
    pub fn push(&mut self, event: EventRecord) {
        let jumps = !event.impulses.is_empty();
        let is_told = self.n < TOLD.0 || (jumps && self.n_jumps < TOLD.1);
        self.n += 1;
        self.n_jumps += usize::from(jumps);
        if is_told || !self.told_only {
            let kind = Kind::of(&event);
            let at = match self.known.get(&kind) {
                Some(&at) => at,
                None => {
                    let at = self.kinds.len() as u32;
                    self.kinds.push(kind.clone());
                    self.known.insert(kind, at);
                    at
                }
            };
            self.times.push(event.time);
            self.kind_of.push(at);
            let changed = event.changed.iter().flat_map(|c| [c.from, c.to]);
            self.values.extend(changed);
            self.values.extend(event.impulses.iter().map(|i| i.1));
            self.values.extend(event.energy_lost);
        }
        self.last = Some(Box::new(event));
    }

    /// How many there were.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Those that are kept: all, unless only what is told was wanted.
    pub fn iter(&self) -> impl Iterator<Item = EventRecord> {
        let mut at = 0;
        let all = self.times.iter().zip(&self.kind_of);
        all.map(move |(&time, &kind)| {
            let kind = &self.kinds[kind as usize];
            let from = at;
            at += kind.n_values();
            kind.event(time, &self.values[from..at])
        })
    }

    /// The event at a place in the list, if it is kept.
    pub fn get(&self, at: usize) -> Option<EventRecord> {
        self.iter().nth(at)
    }

    /// The last one.
    pub fn last(&self) -> Option<&EventRecord> {
        self.last.as_deref()
    }

    /// The times of those that are kept.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The first ones, as many as are told, and how many follow.
    pub fn told(&self) -> (impl Iterator<Item = EventRecord>, usize) {
        let rest = self.n.saturating_sub(TOLD.0);
        (self.iter().take(TOLD.0), rest)
    }

    /// The first ones with jumps, as many as are told, and how many follow.
    pub fn told_jumps(&self) -> (impl Iterator<Item = EventRecord>, usize) {
        let rest = self.n_jumps.saturating_sub(TOLD.1);
        let jumps = self.iter().filter(|event| !event.impulses.is_empty());
        (jumps.take(TOLD.1), rest)
    }
}

impl Serialize for EventList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

/// A stretch of a run under one combination of conditions.
#[derive(Serialize, Debug, Clone)]
pub struct ModeRecord {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The number of the mode, from 1 in the order they were met.
    pub mode: usize,
    /// The conditions that hold, as written.
    #[serde(serialize_with = "as_list")]
    pub conditions: Arc<[String]>,
    /// The structural index of its equations.
    pub index: Option<usize>,
    /// Degrees of freedom.
    pub dof: Option<u64>,
}

/// When a run was in which mode, as it numbers them.
#[derive(Debug, Clone, Default)]
pub struct Spans {
    list: Vec<(usize, f64, f64)>,
    present: Option<usize>,
    is_last: bool,
    first_only: bool,
}

impl Spans {
    /// Keeps the first stretch in each mode.
    pub fn of_first() -> Self {
        Self {
            first_only: true,
            ..Self::default()
        }
    }

    /// Goes on in a mode.
    pub fn go(&mut self, mode: usize, (from, to): (f64, f64)) {
        if self.present != Some(mode) {
            self.present = Some(mode);
            let is_known = || self.list.iter().any(|span| span.0 == mode);
            self.is_last = !(self.first_only && is_known());
            if self.is_last {
                self.list.push((mode, from, to));
            }
        }
        if let Some(last) = self.list.last_mut().filter(|_| self.is_last) {
            last.2 = to;
        }
    }

    /// The stretches that are kept: mode, beginning and end.
    pub fn iter(&self) -> impl Iterator<Item = &(usize, f64, f64)> {
        self.list.iter()
    }
}

/// The modes that a run went through.
#[derive(Debug, Clone, Default)]
pub struct ModeList {
    /// Number, conditions, index and degrees of freedom of each mode, as the run numbers them.
    pub modes: Vec<ModeRecord>,
    /// When it was in which of them.
    pub spans: Arc<Spans>,
}

impl ModeList {
    /// Stretch after stretch.
    pub fn iter(&self) -> impl Iterator<Item = ModeRecord> {
        self.spans.iter().map(|&(mode, from, to)| ModeRecord {
            from,
            to,
            ..self.modes[mode].clone()
        })
    }

    /// How many stretches there are.
    pub fn len(&self) -> usize {
        self.spans.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Serialize for ModeList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(n: usize) -> EventRecord {
        let name = |text: &str| Arc::from(text);
        let (x, jumps) = (n as f64, n % 1000 == 7);
        EventRecord {
            time: x,
            condition: name(if n.is_multiple_of(2) {
                "x > 1"
            } else {
                "x < -1"
            }),
            causes: vec!["x".to_string()].into(),
            line: Some(3),
            changed: [Change {
                name: name("on"),
                from: x,
                to: -x,
            }]
            .into(),
            impulses: match jumps {
                true => [(name("f"), 2.0 * x)].into(),
                false => Box::default(),
            },
            energy_lost: jumps.then_some(3.0 * x),
            mode: n % 2,
        }
    }

    /// An event of a few kinds takes 28 bytes: time, kind, and both values of what it changes.
    #[test]
    fn many_events_take_little() {
        let (mut all, mut told) = (EventList::default(), EventList::of_told());
        for n in 0..100_000 {
            all.push(event(n));
            told.push(event(n));
        }
        for list in [&all, &told] {
            assert_eq!((list.len(), list.last()), (100_000, Some(&event(99_999))));
            let (first, rest) = list.told();
            assert_eq!((first.count(), rest), (6, 99_994));
            let (jumps, rest) = list.told_jumps();
            assert_eq!(jumps.last(), Some(event(3007)));
            assert_eq!(rest, 96);
        }
        assert!(all.iter().eq((0..100_000).map(event)));
        let size = |list: &EventList| {
            8 * list.times.len() + 4 * list.kind_of.len() + 8 * list.values.len()
        };
        assert!(size(&all) <= 100_000 * 28 + 100 * 16);
        assert_eq!((all.kinds.len(), told.iter().count()), (3, 10));
    }

    /// A mode that comes back goes on in a stretch of its own.
    #[test]
    fn stretches_follow_the_modes() {
        let (mut all, mut first) = (Spans::default(), Spans::of_first());
        for spans in [&mut all, &mut first] {
            for (at, mode) in [0, 0, 2, 0, 2, 2].into_iter().enumerate() {
                spans.go(mode, (at as f64, at as f64 + 1.0));
            }
        }
        let listed: Vec<_> = all.iter().copied().collect();
        let wanted = [(0, 0.0, 2.0), (2, 2.0, 3.0), (0, 3.0, 4.0), (2, 4.0, 6.0)];
        assert_eq!(listed, wanted);
        let listed: Vec<_> = first.iter().copied().collect();
        assert_eq!(listed, wanted[..2]);
    }
}
