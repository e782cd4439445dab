//! What is known of a class: sums of every class, details of the most costly ones.

pub mod details;
pub mod pending_details;
pub mod sums;
