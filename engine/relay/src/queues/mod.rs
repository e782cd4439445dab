//! Delay and bandwidth: [`flow`] has the bytes under way in one direction of a connection, [`line`] the
//! bandwidth that connections share. Neither knows a socket or the time.

pub mod flow;
pub mod line;

#[cfg(test)]
mod tests;
