//! Statistics in bounded memory that do not depend on the order of events.

pub mod concurrency;
pub mod name_counts;
pub mod quantile_sketch;
pub mod sum_table;
pub mod timeline;
