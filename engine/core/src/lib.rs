//! Types and traits of the load engine. No sockets, no files, no runtime: tests need no waiting.

pub mod client;
pub mod clock;
pub mod distribution;
pub mod driver;
pub mod error;
pub mod event;
pub mod histogram;
pub mod history;
pub mod needs;
pub mod plan;
pub mod protocol;
pub mod recording;
pub mod request;
pub mod rng;
pub mod rows;
pub mod shown;
pub mod trace;
pub mod workload;

pub use error::{Error, Result};
