//! Servers that are found by a name: [`dns`] reads and writes messages, [`resolver`] asks and keeps answers.

mod dns;
pub mod resolver;

#[cfg(test)]
mod tests;
