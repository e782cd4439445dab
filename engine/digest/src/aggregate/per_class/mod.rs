//! Statistics of one class: sums of every class, details of the most costly classes.

pub mod details;
pub mod pending_details;
pub mod sums;
