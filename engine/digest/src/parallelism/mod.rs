//! Estimates the speed-up of parallel replication: by schema, from the durations of writes; and from
//! the transactions of a binary log, simulated for several numbers of workers.

pub mod from_logs;
mod queues;
mod schemas;
mod simulation;

pub use schemas::{Busy, Cost, Schema, Schemas};
pub use simulation::{Apply, Curve, Point, Rule, Simulation};
