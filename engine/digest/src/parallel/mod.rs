//! How much parallel replication could bring: by schema, from the time that writes took; and by the
//! order of transactions in a binary log, simulated for so many workers.

mod queues;
mod schemas;
mod simulate;

pub use schemas::{Busy, Cost, Schema, Schemas};
pub use simulate::{Apply, Curve, Point, Rule, Simulation};
