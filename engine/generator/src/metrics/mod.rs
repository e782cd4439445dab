//! Metrics that load threads write and the reporter reads without a lock.
//!
//! Each number has exactly one writer, which adds with a plain load and store (no locked
//! instruction, no shared cache line). The reporter reads the running totals and subtracts its last
//! reading, so that every event counts in exactly one interval and no total is ever swapped or reset.
//! See `docs/decisions/single-writer-recorders.md`.

pub mod counter;
pub mod group;
pub mod hlog;
pub mod live_histogram;
pub mod notice;
pub mod open_loop;
pub mod thread;
pub mod totals;
