//! One option as given, on the command line or in a file.

use crate::options::canonical;

/// One option as given by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The name with `-`, without the leading dashes.
    pub name: String,
    /// The text after `=`; none: the name alone.
    pub value: Option<String>,
    /// The option as typed, for messages.
    pub text: String,
    /// The place in a file; none: the command line.
    pub place: Option<String>,
}

impl Given {
    /// Parses `--name` or `--name=value`; nothing else is an option.
    pub fn parse(arg: &str) -> Option<Self> {
        arg.strip_prefix("--").map(|typed| Self::named(typed, arg))
    }

    /// Parses `name` or `name=value`; messages repeat `text`.
    pub fn named(typed: &str, text: &str) -> Self {
        let (name, value) = match typed.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (typed, None),
        };
        Self { name: canonical(name), value, text: text.to_owned(), place: None }
    }

    /// Adds the place in a file.
    #[must_use]
    pub fn in_file(mut self, place: &str) -> Self {
        self.place = Some(place.to_owned());
        self
    }
}
