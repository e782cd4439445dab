//! A private PostgreSQL server and two blocking clients, for the live tests of the driver.

pub mod client;
pub mod cluster;
pub mod script;
