//! How much parallel replication could bring: by schema, from the time that writes took; and by the
//! order of transactions in a binary log, simulated for so many workers.

pub mod from_logs;
mod queues;
mod schemas;
mod simulation;

pub use schemas::{Busy, Cost, Schema, Schemas};
pub use simulation::{Apply, Curve, Point, Rule, Simulation};
