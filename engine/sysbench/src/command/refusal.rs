//! Why a call ends before it has begun.

use crate::console::{self, Level};
use dyno_core::shown::shown;

/// Why a call ends: what to say. Its exit code is [`FAILED`](super::exit_code::FAILED).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// On standard error, as it is: about the call.
    Plain(String),
    /// On standard output, with the prefix of a fatal error: about what it asks for.
    Fatal(String),
}

impl Refusal {
    /// About the call.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }

    /// About what it asks for.
    pub fn fatal(text: impl Into<String>) -> Self {
        Self::Fatal(text.into())
    }

    /// What it says.
    pub fn text(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Fatal(text) => text,
        }
    }

    /// Says it; the exit code.
    pub fn tell(&self) -> i32 {
        match self {
            Self::Plain(text) => eprintln!("{}", shown(text)),
            Self::Fatal(text) => console::say(Level::Fatal, text),
        }
        super::exit_code::FAILED
    }
}
