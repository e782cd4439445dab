//! Errors that end a call before it begins.

use crate::console::{self, Level};
use dyno_core::shown::shown;

/// An error that ends a call. Its exit code is [`FAILED`](super::exit_code::FAILED).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// An error in the call; printed unchanged on standard error.
    Plain(String),
    /// An error in the requested work; printed on standard output with the prefix of a fatal error.
    Fatal(String),
}

impl Refusal {
    /// Creates an error in the call.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }

    /// Creates an error in the requested work.
    pub fn fatal(text: impl Into<String>) -> Self {
        Self::Fatal(text.into())
    }

    /// Returns the message.
    pub fn text(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Fatal(text) => text,
        }
    }

    /// Prints the message; returns the exit code.
    pub fn tell(&self) -> i32 {
        match self {
            Self::Plain(text) => eprintln!("{}", shown(text)),
            Self::Fatal(text) => console::say(Level::Fatal, text),
        }
        super::exit_code::FAILED
    }
}
