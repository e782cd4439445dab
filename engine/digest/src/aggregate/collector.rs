//! Adds events to the totals of one thread. The collector modifies no state shared with other
//! threads.

use crate::aggregate::classes::{Classes, Tier};
use crate::aggregate::grouping::Grouper;
use crate::aggregate::order_by::OrderBy;
use crate::aggregate::per_class::details::{Seen, offer};
use crate::aggregate::per_class::sums::{NO_DETAILS, Sums};
use crate::aggregate::thread_totals::{Aside, Collected};
use crate::event::Event;
use crate::filter::Filter;
use crate::sink::Sink;

/// How events are filtered, ranked and sampled.
#[derive(Debug, Clone)]
pub struct Taking {
    /// The events to include.
    pub filter: Filter,
    /// The cost by which classes are ranked.
    pub order_by: OrderBy,
    /// Whether samples include the statement text.
    pub keeps_text: bool,
}

/// A sink for one thread.
pub struct Collector<'a> {
    /// Index of the log.
    pub input: u32,
    /// How events are filtered, ranked and sampled.
    pub taking: &'a Taking,
    /// State of all threads at the last merge.
    pub classes: &'a Classes,
    /// Finds the class of an event.
    pub grouper: &'a mut Grouper,
    /// Totals of this thread since the last merge.
    pub collected: &'a mut Collected,
}

impl Sink for Collector<'_> {
    fn event(&mut self, event: &Event<'_>) {
        let all = &mut *self.collected;
        if !all.tally.passes(&self.taking.filter, event) {
            return;
        }
        let key = self.grouper.key(event);
        let position = match all.sums.find(key) {
            Some(position) => position,
            None => self.begin(key, event),
        };
        let all = &mut *self.collected;
        let sums = all.sums.at_mut(position);
        let cost = self.taking.order_by.cost(event);
        sums.add(event);
        sums.cost = self.taking.order_by.join(sums.cost, cost);
        let seen = Seen::new(self.input, event, self.taking.keeps_text);
        if sums.details != NO_DETAILS {
            all.details.add(sums.details, &seen, &event.numbers);
        } else {
            if cost >= self.classes.costly() {
                let title = self.grouper.title(self.input, event);
                let mut sample = None;
                offer(&mut sample, &seen);
                all.asides.push(Aside { key, title, sample });
            }
            all.others.add(&seen, event.numbers.iter());
        }
        if let Some(end_ns) = event.end_ns {
            all.gaps.add(end_ns);
            if let Some(duration_ns) = event.duration_ns {
                all.running.add(end_ns, duration_ns);
            }
        }
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str) {
        self.collected.tally.not_understood(offset, bytes, why);
    }
}

impl Collector<'_> {
    /// Adds a class that is new to this thread since the last merge; returns the position of its
    /// sums.
    #[cold]
    fn begin(&mut self, key: u128, event: &Event<'_>) -> usize {
        let pending = &mut self.collected.details;
        let details = match self.classes.tier(key) {
            Tier::Sums => NO_DETAILS,
            Tier::Details(place) => pending.at(Some(place)),
            Tier::Nameless(place) => {
                let at = pending.at(place);
                let title = self.grouper.title(self.input, event);
                pending.call(at, &title);
                at
            }
        };
        self.collected.sums.insert(Sums::new(key, details))
    }
}
