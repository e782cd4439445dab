//! Merges what threads have added up: sums of every class, details of the most costly classes.
//!
//! Between merges nothing here changes, and merges are at places that the log alone decides. So
//! what comes out does not depend on the number of threads.

use crate::aggregate::order_by::OrderBy;
use crate::aggregate::per_class::details::Details;
use crate::aggregate::per_class::pending_details::PendingDetails;
use crate::aggregate::per_class::sums::{NO_DETAILS, Sums};
use crate::aggregate::stats::concurrency::Running;
use crate::aggregate::stats::sum_table::Table;
use crate::aggregate::stats::timeline::Gaps;
use crate::aggregate::thread_totals::Collected;
use crate::document::Concurrency;
use std::collections::HashMap;

/// How many classes have details.
pub const DETAILED: usize = 10_000;
/// The most chunks between two merges.
const CHUNKS: u32 = 64;

/// Of more classes than this a thread gives its details away at each merge: memory counts for more then.
const PENDING_MAX: usize = 4096;

/// What becomes of an event of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// It has sums only.
    Sums,
    /// It has details, at this place.
    Details(u32),
    /// The same, but nobody knows yet what to call it; no place: it will have one.
    Nameless(Option<u32>),
}

/// All classes.
#[derive(Debug)]
pub struct Classes {
    order_by: OrderBy,
    /// How many may have details.
    detailed: usize,
    /// Every class.
    pub sums: Table<Sums>,
    /// Details, where a class has them, as far as they were gathered; places of those given up are empty.
    details: Vec<Option<Box<Details>>>,
    free: Vec<u32>,
    /// What an event must cost for its class to be among the most costly by it alone.
    costly: u64,
    /// How many chunks to read until the next merge.
    chunks: u32,
    /// All events, whatever their class.
    pub overall: Details,
    /// Ends of all events.
    pub gaps: Gaps,
    /// Begins and ends of all events.
    pub running: Running,
}

impl Classes {
    /// No classes yet; at most `detailed` will have details.
    pub fn new(order_by: OrderBy, detailed: usize) -> Self {
        Self {
            order_by,
            detailed,
            sums: Table::default(),
            details: Vec::new(),
            free: Vec::new(),
            costly: u64::MAX,
            chunks: 1,
            overall: Details::default(),
            gaps: Gaps::default(),
            running: Running::default(),
        }
    }

    /// What becomes of an event of this class.
    pub fn tier(&self, key: u128) -> Tier {
        let Some(position) = self.sums.find(key) else {
            return if self.sums.len() < self.detailed { Tier::Nameless(None) } else { Tier::Sums };
        };
        let sums = self.sums.at(position);
        match self.details(sums) {
            None => Tier::Sums,
            Some(details) if details.title.is_none() => Tier::Nameless(Some(sums.details)),
            Some(_) => Tier::Details(sums.details),
        }
    }

    /// Details of a class, if it has them.
    pub fn details(&self, sums: &Sums) -> Option<&Details> {
        self.details.get(sums.details as usize)?.as_deref()
    }

    /// What an event must cost for its class to be among the most costly by it alone.
    #[inline]
    pub fn costly(&self) -> u64 {
        self.costly
    }

    /// How many chunks to read until the next merge.
    pub fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Merges the sums that all threads have added up, and decides which classes have details.
    pub fn merge(&mut self, threads: &mut [Collected]) {
        let before = self.sums.len();
        let mut asides = HashMap::new();
        for collected in &mut *threads {
            for sums in collected.sums.drain() {
                let place = self.add(&sums);
                if let Some(title) = collected.details.attach(sums.details, place) {
                    self.details[place as usize].get_or_insert_default().call(Some(&title));
                }
            }
            for aside in collected.asides.drain(..) {
                let into: &mut Details = asides.entry(aside.key).or_default();
                into.call(Some(&aside.title));
                into.show(aside.sample.as_deref());
            }
        }
        self.choose(&asides, threads);
        for collected in threads {
            if collected.details.len() > PENDING_MAX {
                self.take(&mut collected.details);
            }
        }
        let new = self.sums.len() - before;
        // While all classes get details, merges are close enough that few come in between.
        let is_calm = self.sums.len() > self.detailed || new <= self.detailed / 8;
        self.chunks =
            if is_calm { (self.chunks * 2).min(CHUNKS) } else { (self.chunks / 2).max(1) };
    }

    /// Takes in the details and times that threads have, and says how many statements ran at once: needed only
    /// for a document.
    pub fn gather(&mut self, threads: &mut [Collected]) -> Option<Concurrency> {
        let mut theirs: Vec<Running> =
            threads.iter_mut().map(|collected| std::mem::take(&mut collected.running)).collect();
        let mut running = std::mem::take(&mut self.running);
        // Sorting begins and ends takes as long as all the rest: beside it.
        let (running, concurrency) = std::thread::scope(|scope| {
            let sweep = scope.spawn(move || {
                theirs.iter_mut().for_each(|theirs| running.merge(theirs));
                let concurrency = running.concurrency();
                (running, concurrency)
            });
            for collected in threads {
                self.gaps.merge(&std::mem::take(&mut collected.gaps));
                self.overall.merge(&std::mem::take(&mut collected.others));
                self.take(&mut collected.details);
            }
            sweep.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        self.running = running;
        concurrency
    }

    /// Takes in all details that a thread holds.
    fn take(&mut self, pending: &mut PendingDetails) {
        for (place, mine) in self.details.iter_mut().enumerate() {
            if let (Some(mine), Some(theirs)) = (mine, pending.take(place as u32)) {
                self.overall.merge(&theirs);
                mine.take_in(theirs);
            }
        }
        pending.clear();
    }

    /// Adds a class of one thread; gives the place of its details, if it has them.
    fn add(&mut self, theirs: &Sums) -> u32 {
        let position = match self.sums.find(theirs.key) {
            Some(position) => position,
            None => self.sums.insert(Sums::new(theirs.key, NO_DETAILS)),
        };
        let sums = self.sums.at_mut(position);
        sums.merge(theirs);
        sums.cost = self.order_by.join(sums.cost, theirs.cost);
        if theirs.details != NO_DETAILS && sums.details == NO_DETAILS {
            sums.details = place(&mut self.details, &mut self.free);
        }
        sums.details
    }

    /// Gives details to the most costly classes and takes them from the others.
    fn choose(&mut self, asides: &HashMap<u128, Details>, threads: &mut [Collected]) {
        if self.sums.len() <= self.detailed {
            return;
        }
        let mut all: Vec<(u64, u64, u128, u32)> = (0_u32..)
            .zip(self.sums.iter())
            .map(|(position, sums)| (sums.cost, sums.count, sums.key, position))
            .collect();
        let (most, least, _) = all.select_nth_unstable_by(self.detailed - 1, |a, b| b.cmp(a));
        self.costly = least.0.saturating_add(1);
        let chosen: Vec<u32> = most.iter().chain([&*least]).map(|one| one.3).collect();
        let mut stays = vec![false; self.details.len()];
        for &position in &chosen {
            if let Some(stays) = stays.get_mut(self.sums.at(position as usize).details as usize) {
                *stays = true;
            }
        }
        for position in 0..self.sums.len() {
            let sums = self.sums.at_mut(position);
            if stays.get(sums.details as usize) == Some(&false) {
                self.details[sums.details as usize] = None;
                for theirs in threads.iter_mut().filter_map(|t| t.details.take(sums.details)) {
                    self.overall.merge(&theirs);
                }
                self.free.push(sums.details);
                sums.details = NO_DETAILS;
            }
        }
        for position in chosen {
            let sums = self.sums.at_mut(position as usize);
            if sums.details == NO_DETAILS {
                sums.details = place(&mut self.details, &mut self.free);
            }
            if let (Some(aside), Some(details)) =
                (asides.get(&sums.key), &mut self.details[sums.details as usize])
            {
                details.call(aside.title.as_deref());
                details.show(aside.sample.as_deref());
            }
        }
    }
}

/// A free place for details, with none of any event in it.
fn place(details: &mut Vec<Option<Box<Details>>>, free: &mut Vec<u32>) -> u32 {
    let place = free.pop().unwrap_or(details.len() as u32);
    if place as usize == details.len() {
        details.push(None);
    }
    details[place as usize] = Some(Box::default());
    place
}
