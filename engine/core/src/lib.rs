//! Types and traits of the load engine. No sockets, no files, no runtime: tests need no waiting.

pub mod clock;
pub mod driver;
pub mod error;
pub mod event;
pub mod histogram;
pub mod plan;
pub mod random;
pub mod request;
pub mod shown;
pub mod trace;
pub mod workload;

pub use error::{Error, Result};
