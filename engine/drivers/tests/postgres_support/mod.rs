//! A private PostgreSQL server and a blocking client, for the live tests of the driver.

pub mod client;
pub mod cluster;
