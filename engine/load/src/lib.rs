//! Drives load: transports, workers, pacing, recording, reporting, loading.

pub mod arrivals;
pub mod blocking;
pub mod cancel;
pub mod check;
pub mod client;
pub mod connecting;
pub mod control;
pub mod endpoint;
pub mod example;
pub mod hlog;
pub mod intake;
mod load_blocking;
mod load_wire;
pub mod loader;
pub mod machine;
pub mod notice;
mod pieces;
pub mod poller;
mod progress;
pub mod receiving;
pub mod recorder;
pub mod report;
pub mod run;
pub mod schedule;
pub mod seat;
pub mod session;
#[cfg(test)]
mod simulation;
pub mod timers;
pub mod tls;
pub mod totals;
pub mod transport;
pub mod tsv;
pub mod worker;
