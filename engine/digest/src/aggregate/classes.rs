//! Merges the threads' totals: sums of every class, details of the most costly classes.
//!
//! The merged state changes only at merges, and the log alone determines their positions. The
//! result therefore does not depend on the number of threads.

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

/// The most classes with details.
pub const DETAILED: usize = 10_000;
/// The most chunks between two merges.
const CHUNKS: u32 = 64;

/// With details of more classes than this, a thread hands them over at each merge, to limit memory.
const PENDING_MAX: usize = 4096;

/// Level of detail recorded for a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Sums only.
    Sums,
    /// Details, at this place.
    Details(u32),
    /// Details, but no event has named the class yet; `None`: the next merge assigns the place.
    Nameless(Option<u32>),
}

/// All classes.
#[derive(Debug)]
pub struct Classes {
    order_by: OrderBy,
    /// The most classes with details.
    detailed: usize,
    /// Sums of every class.
    pub sums: Table<Sums>,
    /// Details by place, as of the last gather; a free place is empty.
    details: Vec<Option<Box<Details>>>,
    free: Vec<u32>,
    /// Cost from which a single event places its class among the most costly.
    costly: u64,
    /// Chunks to read until the next merge.
    chunks: u32,
    /// Details of all events.
    pub overall: Details,
    /// Ends of all events.
    pub gaps: Gaps,
    /// Begins and ends of all events.
    pub running: Running,
}

impl Classes {
    /// Creates an empty set, in which at most `detailed` classes will have details.
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

    /// The level of detail for events of this class.
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

    /// The class's details, if it has any.
    pub fn details(&self, sums: &Sums) -> Option<&Details> {
        self.details.get(sums.details as usize)?.as_deref()
    }

    /// Cost from which a single event places its class among the most costly.
    #[inline]
    pub fn costly(&self) -> u64 {
        self.costly
    }

    /// Chunks to read until the next merge.
    pub fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Merges the threads' sums and decides which classes have details.
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
        // While all classes get details, merge often enough that few new classes appear between
        // merges.
        let is_calm = self.sums.len() > self.detailed || new <= self.detailed / 8;
        self.chunks =
            if is_calm { (self.chunks * 2).min(CHUNKS) } else { (self.chunks / 2).max(1) };
    }

    /// Merges the threads' details and times and computes the concurrency. Only a document needs
    /// these.
    pub fn gather(&mut self, threads: &mut [Collected]) -> Option<Concurrency> {
        let mut theirs: Vec<Running> =
            threads.iter_mut().map(|collected| std::mem::take(&mut collected.running)).collect();
        let mut running = std::mem::take(&mut self.running);
        // Sorting begins and ends takes as long as the rest of the merge, so a second thread does
        // it.
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

    /// Merges all details of one thread.
    fn take(&mut self, pending: &mut PendingDetails) {
        for (place, mine) in self.details.iter_mut().enumerate() {
            if let (Some(mine), Some(theirs)) = (mine, pending.take(place as u32)) {
                self.overall.merge(&theirs);
                mine.take_in(theirs);
            }
        }
        pending.clear();
    }

    /// Adds one thread's sums of a class; returns the place of its details, or [`NO_DETAILS`].
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

    /// Assigns details to the most costly classes and drops those of the others.
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

/// Allocates a place for details, initially without events.
fn place(details: &mut Vec<Option<Box<Details>>>, free: &mut Vec<u32>) -> u32 {
    let place = free.pop().unwrap_or(details.len() as u32);
    if place as usize == details.len() {
        details.push(None);
    }
    details[place as usize] = Some(Box::default());
    place
}
