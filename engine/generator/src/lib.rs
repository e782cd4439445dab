//! Load generation: load threads, sessions, pacing, transports, metrics and reports; also populates tables.

pub mod audit;
pub mod machine;
pub mod metrics;
pub mod pacing;
pub mod populate;
pub mod reactor;
pub mod report;
pub mod run;
pub mod session;
pub mod setup;
#[cfg(test)]
mod simulation;
pub mod transport;
