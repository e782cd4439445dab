//! Events -> classes with their sums and details -> the document.
//!
//! | where | what |
//! |---|---|
//! | `grouping` | which class an event belongs to |
//! | `collector`, `thread_totals` | what one thread adds up |
//! | `classes` | the merged totals of all threads |
//! | `per_class/` | sums of every class, details of the most costly ones |
//! | `stats/` | quantiles, counts of names, events over time, concurrency, in bounded memory |
//! | `order_by`, `tally`, `censoring` | ranking of classes; counts of a log; statements that a log leaves out |
//! | `summary`, `class_id` | classes -> the document |

pub mod censoring;
pub mod class_id;
pub mod classes;
pub mod collector;
pub mod grouping;
pub mod order_by;
pub mod per_class;
pub mod stats;
pub mod summary;
pub mod tally;
pub mod thread_totals;
