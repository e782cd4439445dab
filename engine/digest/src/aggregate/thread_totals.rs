//! Totals of one thread, buffered until the next merge.

use crate::aggregate::per_class::details::{Details, Title};
use crate::aggregate::per_class::pending_details::PendingDetails;
use crate::aggregate::per_class::sums::Sums;
use crate::aggregate::stats::concurrency::Running;
use crate::aggregate::stats::sum_table::Table;
use crate::aggregate::stats::timeline::Gaps;
use crate::aggregate::tally::Tally;
use crate::document::Sample;

/// One costly event of a class without details, with the class's name.
#[derive(Debug)]
pub struct Aside {
    /// The class.
    pub key: u128,
    /// Its name.
    pub title: Box<Title>,
    /// The event.
    pub sample: Option<Box<Sample>>,
}

/// Totals of one thread, on separate cache lines: processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Collected {
    /// Sums of every class.
    pub sums: Table<Sums>,
    /// Details of the classes that have them, until the next gather.
    pub details: PendingDetails,
    /// Details of all other classes together.
    pub others: Details,
    /// Costly events of classes without details.
    pub asides: Vec<Aside>,
    /// Ends of events.
    pub gaps: Gaps,
    /// Begins and ends of events.
    pub running: Running,
    /// Counts of the log.
    pub tally: Tally,
}
