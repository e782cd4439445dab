//! Random numbers, and distributions of keys that are drawn by them.

pub mod distribution;
pub mod rng;
