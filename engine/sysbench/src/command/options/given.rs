//! One option as it was given, on the command line or in a file.

use crate::options::canonical;

/// One option as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// With `-`, without the leading dashes.
    pub name: String,
    /// What stands behind `=`; none: the name alone.
    pub value: Option<String>,
    /// As typed, for messages.
    pub text: String,
    /// Where it stands, if not on the command line.
    pub place: Option<String>,
}

impl Given {
    /// `--name`, `--name=value`; nothing else is an option.
    pub fn parse(arg: &str) -> Option<Self> {
        arg.strip_prefix("--").map(|typed| Self::named(typed, arg))
    }

    /// `name` or `name=value`; `text` is what messages repeat.
    pub fn named(typed: &str, text: &str) -> Self {
        let (name, value) = match typed.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (typed, None),
        };
        Self { name: canonical(name), value, text: text.to_owned(), place: None }
    }

    /// The same, read from a file.
    #[must_use]
    pub fn in_file(mut self, place: &str) -> Self {
        self.place = Some(place.to_owned());
        self
    }
}
