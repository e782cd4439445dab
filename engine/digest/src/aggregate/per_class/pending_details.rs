//! Per-thread details of classes, buffered until the next merge.

use crate::aggregate::per_class::details::{Details, Seen, Title};
use crate::aggregate::per_class::sums::NO_DETAILS;
use crate::aggregate::stats::name_counts::Names;
use crate::event::{Measure, Numbers, measures};
use std::collections::HashMap;

/// Details of one thread, buffered from merge to merge, since merging costs more than adding.
///
/// Details are far apart in memory, and an event changes about twenty cache lines of them. Events
/// are therefore buffered by class, compactly, and added in batches.
#[derive(Debug, Default)]
pub struct PendingDetails {
    all: Vec<Details>,
    /// By place (see `Classes::tier`): the index of the details in `all`, or [`NO_DETAILS`].
    of_place: Vec<u32>,
    free: Vec<u32>,
    /// Buffered events, with the same indexes as `all`.
    waiting: Vec<Waiting>,
    used: Vec<Used>,
    /// Buffered counts of names, with the same indexes as `all`.
    counts: Vec<Counts>,
    names: [Numbered; 4],
    /// Index of the log of the buffered events.
    input: u32,
}

/// Words in the buffer of a class: eight events with three measures.
const WORDS: usize = 64;
/// Words of an event that precede its measures.
const FIXED: usize = 5;

/// Buffered events of a class.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Waiting([u64; WORDS]);

/// Number of words used in [`Waiting`], and the measures, which are the same for all its events.
/// Separate, since each event reads it.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    words: u32,
    mask: u32,
}

impl Used {
    /// Words per event.
    #[inline]
    fn size(self) -> usize {
        FIXED + self.mask.count_ones() as usize
    }

    /// Whether the buffer has room for another event with these measures.
    #[inline]
    fn has_room(self, mask: u32) -> bool {
        self.words == 0 || self.mask == mask && self.words as usize + self.size() <= WORDS
    }
}

const HAS_END: u64 = 1 << 32;
const HAS_DURATION: u64 = 1 << 33;

/// Encodes an event in as many words as its measures need.
#[inline]
fn write(words: &mut [u64], seen: &Seen<'_>, who: Who, numbers: &Numbers) {
    let known = if seen.end_ns.is_some() { HAS_END } else { 0 }
        | if seen.duration_ns.is_some() { HAS_DURATION } else { 0 };
    let [user, host, database, error] = who.map(u64::from);
    let fixed = [
        u64::from(seen.weight) | known,
        seen.at.1,
        seen.end_ns.unwrap_or(0) as u64,
        seen.duration_ns.unwrap_or(0),
        user | host << 16 | database << 32 | error << 48,
    ];
    let (head, measured) = words.split_at_mut(FIXED);
    head.copy_from_slice(&fixed);
    for (word, (_, value)) in measured.iter_mut().zip(numbers.iter()) {
        *word = value;
    }
}

/// Decodes an event of log `input`.
#[inline]
fn read(input: u32, words: &[u64]) -> (Seen<'static>, Who) {
    let seen = Seen {
        at: (input, words[1]),
        end_ns: (words[0] & HAS_END != 0).then_some(words[2] as i64),
        duration_ns: (words[0] & HAS_DURATION != 0).then_some(words[3]),
        weight: words[0] as u32,
        ..Seen::default()
    };
    (seen, [0, 16, 32, 48].map(|at| (words[4] >> at) as u16))
}

/// The measures of an event.
#[inline]
fn numbers(used: Used, words: &[u64]) -> impl Iterator<Item = (Measure, u64)> + '_ {
    measures(used.mask).zip(words[FIXED..].iter().copied())
}

/// User, host, database and error of an event, as numbers.
type Who = [u16; 4];

/// Numbers the names that a thread finds in one of these roles. Numbers are faster to compare than
/// names and closer together in memory.
#[derive(Debug)]
struct Numbered {
    /// Names by number; number 0 is the empty name.
    all: Vec<Box<[u8]>>,
    by_name: HashMap<Box<[u8]>, u16>,
}

impl Default for Numbered {
    fn default() -> Self {
        let all = vec![Box::default()];
        Self { all, by_name: HashMap::new() }
    }
}

impl Numbered {
    /// The number of a name; `None`: all numbers are used.
    #[inline]
    fn number(&mut self, name: &[u8]) -> Option<u16> {
        if name.is_empty() {
            return Some(0);
        }
        if let Some(&number) = self.by_name.get(name) {
            return Some(number);
        }
        let next = u16::try_from(self.all.len()).ok()?;
        self.all.push(name.into());
        self.by_name.insert(name.into(), next);
        Some(next)
    }
}

/// Counters per role. Those of users and hosts, which nearly all events have, take one cache line.
const PLACES: usize = 8;

/// Counts of a class's recent names, for each role in [`Who`], as (number, count). When a name
/// takes over a slot, the count of the previous name moves to the details.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
struct Counts([[(u16, u16); PLACES]; 4]);

impl Counts {
    #[inline]
    fn add(&mut self, who: Who, details: &mut Details, names: &[Numbered; 4]) {
        for (what, (counts, number)) in self.0.iter_mut().zip(who).enumerate() {
            if number == 0 {
                continue;
            }
            let place = &mut counts[number as usize % PLACES];
            if place.0 != number || place.1 == u16::MAX {
                settle(place, &mut details.names[what], &names[what]);
                place.0 = number;
            }
            place.1 += 1;
        }
    }

    /// Moves all counts to the details.
    fn settle(&mut self, details: &mut Details, names: &[Numbered; 4]) {
        for (what, counts) in self.0.iter_mut().enumerate() {
            for place in counts {
                settle(place, &mut details.names[what], &names[what]);
            }
        }
    }
}

fn settle(place: &mut (u16, u16), of: &mut Names, names: &Numbered) {
    let (number, count) = std::mem::take(place);
    if count > 0 {
        of.add(&names.all[number as usize], u64::from(count));
    }
}

impl PendingDetails {
    /// Buffers an event for the details at index `at`.
    #[inline]
    pub fn add(&mut self, at: u32, seen: &Seen<'_>, numbers: &Numbers) {
        let Some(who) = self.who(seen) else {
            self.all[at as usize].add(seen, numbers.iter());
            return;
        };
        if seen.at.0 != self.input {
            (0..self.all.len()).for_each(|at| self.settle(at));
            self.input = seen.at.0;
        }
        let at = at as usize;
        if !self.used[at].has_room(numbers.mask()) {
            self.settle(at);
        }
        let used = &mut self.used[at];
        used.mask = numbers.mask();
        let begin = used.words as usize;
        used.words += used.size() as u32;
        write(&mut self.waiting[at].0[begin..], seen, who, numbers);
    }

    /// Adds the buffered events to the details at index `at`.
    fn settle(&mut self, at: usize) {
        let used = std::mem::take(&mut self.used[at]);
        let waiting = &self.waiting[at].0[..used.words as usize];
        let (details, counts) = (&mut self.all[at], &mut self.counts[at]);
        for words in waiting.chunks_exact(used.size()) {
            let (seen, who) = read(self.input, words);
            details.add(&seen, numbers(used, words));
            counts.add(who, details, &self.names);
        }
    }

    /// `None`: the event cannot be buffered, because it has a text or a plan or there are too many
    /// names.
    #[inline]
    fn who(&mut self, seen: &Seen<'_>) -> Option<Who> {
        if seen.text.is_some() || !seen.plan.is_empty() {
            return None;
        }
        let [users, hosts, databases, errors] = &mut self.names;
        Some([
            users.number(seen.user)?,
            hosts.number(seen.host)?,
            databases.number(seen.database)?,
            errors.number(seen.error)?,
        ])
    }

    /// Names the class of the details at index `at`, if the event is earlier than the one that
    /// named it.
    pub fn call(&mut self, at: u32, title: &Title) {
        self.all[at as usize].call(Some(title));
    }

    /// The index of the details of `place`, created if absent; `None`: the class has no place yet.
    pub fn at(&mut self, place: Option<u32>) -> u32 {
        let pending = place.and_then(|place| self.of_place.get(place as usize));
        if let Some(&at) = pending.filter(|at| **at != NO_DETAILS) {
            return at;
        }
        let at = self.free.pop().unwrap_or(self.all.len() as u32);
        if at as usize == self.all.len() {
            self.all.push(Details::default());
            self.counts.push(Counts::default());
            self.waiting.push(Waiting([0; WORDS]));
            self.used.push(Used::default());
        }
        if let Some(place) = place {
            self.set(place, at);
        }
        at
    }

    fn set(&mut self, place: u32, at: u32) {
        if self.of_place.len() <= place as usize {
            self.of_place.resize(place as usize + 1, NO_DETAILS);
        }
        self.of_place[place as usize] = at;
    }

    /// Records the place of the details at index `at`; returns the thread's title for the class.
    pub fn attach(&mut self, at: u32, place: u32) -> Option<Box<Title>> {
        let details = self.all.get_mut(at as usize)?;
        let title = details.title.take();
        self.set(place, at);
        title
    }

    /// Number of classes that have, or had, details here.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether no class has had details here.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Frees the memory after all details were taken.
    pub fn clear(&mut self) {
        let names = std::mem::take(&mut self.names);
        *self = Self { names, ..Self::default() };
    }

    /// Removes and returns the details of a place, if any.
    pub fn take(&mut self, place: u32) -> Option<Details> {
        let at = std::mem::replace(self.of_place.get_mut(place as usize)?, NO_DETAILS);
        if at == NO_DETAILS {
            return None;
        }
        self.settle(at as usize);
        let details = &mut self.all[at as usize];
        self.counts[at as usize].settle(details, &self.names);
        self.free.push(at);
        Some(std::mem::take(details))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    /// Adds events of `users` names, some long; details are taken every 1000 events.
    fn names(users: usize) -> std::collections::BTreeMap<String, u64> {
        let (mut pending, mut all) = (PendingDetails::default(), Details::default());
        for n in 0..users * 3 {
            let user = format!("{}{}", "u".repeat(n % 7 * 4), n % users);
            let event = Event { user: user.as_bytes(), duration_ns: Some(5), ..Event::default() };
            let at = pending.at(Some(7));
            pending.add(at, &Seen::new(0, &event, n % 5 == 0), &event.numbers);
            if n % 1000 == 999 {
                all.merge(&pending.take(7).unwrap());
            }
        }
        if let Some(last) = pending.take(7) {
            all.merge(&last);
        }
        assert_eq!((all.time.count, pending.take(7).is_none()), (users as u64 * 3, true));
        all.names[0].map()
    }

    #[test]
    fn every_name_of_every_event_is_counted_however_many_there_are() {
        for users in [1, 9, 40, 70_000] {
            let counts = names(users);
            assert_eq!(counts.values().sum::<u64>(), users as u64 * 3, "{users}");
        }
    }
}
