//! Adds events to the totals of one thread. The collector touches nothing that threads share.

use crate::aggregate::classes::{Classes, Tier};
use crate::aggregate::grouping::Grouper;
use crate::aggregate::order_by::OrderBy;
use crate::aggregate::per_class::details::{Seen, offer};
use crate::aggregate::per_class::sums::{NO_DETAILS, Sums};
use crate::aggregate::thread_totals::{Aside, Collected};
use crate::event::Event;
use crate::filter::Filter;
use crate::sink::Sink;

/// How events are taken.
#[derive(Debug, Clone)]
pub struct Taking {
    /// Which are left out.
    pub filter: Filter,
    /// What makes a class costly.
    pub order_by: OrderBy,
    /// Whether samples have their text.
    pub keeps_text: bool,
}

/// A sink for one thread.
pub struct Collector<'a> {
    /// Position of the log.
    pub input: u32,
    /// How events are taken.
    pub taking: &'a Taking,
    /// What all threads had at the last merge.
    pub classes: &'a Classes,
    /// Finds the class of an event.
    pub grouper: &'a mut Grouper,
    /// What this thread has added up since.
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
    /// A class that this thread has not met since the last merge.
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
