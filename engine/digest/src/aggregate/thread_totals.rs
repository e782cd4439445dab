//! Totals of one thread, buffered until the next merge.

use crate::aggregate::per_class::details::{Details, Title};
use crate::aggregate::per_class::pending_details::PendingDetails;
use crate::aggregate::per_class::sums::Sums;
use crate::aggregate::stats::concurrency::Running;
use crate::aggregate::stats::sum_table::Table;
use crate::aggregate::stats::timeline::Gaps;
use crate::aggregate::tally::Tally;
use crate::document::Sample;

/// A class without details that one event made costly: what it would be called.
#[derive(Debug)]
pub struct Aside {
    /// The class.
    pub key: u128,
    /// Its name.
    pub title: Box<Title>,
    /// The event.
    pub sample: Option<Box<Sample>>,
}

/// What a thread has added up. On lines of memory that no other thread changes: processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Collected {
    /// Every class.
    pub sums: Table<Sums>,
    /// Of the classes that have them, until they are gathered.
    pub details: PendingDetails,
    /// Of all others together.
    pub others: Details,
    /// Costly events of classes without details.
    pub asides: Vec<Aside>,
    /// Ends.
    pub gaps: Gaps,
    /// Begins and ends.
    pub running: Running,
    /// Counts of the log.
    pub tally: Tally,
}
