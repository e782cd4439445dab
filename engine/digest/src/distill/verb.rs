//! What a statement does, in a word or a few.

use crate::event::Language;

/// What can be created, altered and dropped.
const OBJECTS: &[&str] = &[
    "aggregate",
    "database",
    "domain",
    "event",
    "extension",
    "function",
    "index",
    "materialized",
    "operator",
    "package",
    "policy",
    "procedure",
    "publication",
    "role",
    "rule",
    "schema",
    "sequence",
    "server",
    "statistics",
    "subscription",
    "system",
    "table",
    "tablespace",
    "trigger",
    "type",
    "user",
    "view",
];

/// The verb as far as it has been read.
#[derive(Debug, Default)]
pub(super) struct Verb {
    /// The first word that says what is done, in lower case.
    first: Vec<u8>,
    /// What it is done to, or which of its kinds it is.
    second: Vec<u8>,
    is_explained: bool,
    is_complete: bool,
    has_query: bool,
    has_union: bool,
}

impl Verb {
    /// Whether the verb is this one, in lower case.
    pub(super) fn is(&self, word: &[u8]) -> bool {
        self.first == word
    }

    /// A word outside of all brackets.
    pub(super) fn word(&mut self, word: &[u8], language: Language) {
        if self.is_complete || word.is_empty() {
            return;
        }
        match self.first.as_slice() {
            b"" => self.begin(word, language),
            b"with" => {
                if matches!(
                    word,
                    b"select" | b"insert" | b"update" | b"delete" | b"replace" | b"merge"
                ) {
                    self.first = word.to_vec();
                    self.is_complete = true;
                }
            }
            b"create" | b"alter" | b"drop" => {
                if OBJECTS.iter().any(|object| object.as_bytes() == word) {
                    self.second = word.to_vec();
                    self.is_complete = word != b"materialized";
                }
            }
            b"show" if matches!(word, b"full" | b"global" | b"session" | b"extended") => {}
            b"show" if word == b"create" && self.second.is_empty() => {
                self.second = b"create".to_vec()
            }
            b"show" | b"start" | b"load" | b"lock" | b"unlock" | b"call" | b"execute" | b"xa" => {
                if !self.second.is_empty() {
                    self.second.push(b' ');
                }
                self.second.extend_from_slice(word);
                self.is_complete = true;
            }
            _ => self.is_complete = true,
        }
    }

    fn begin(&mut self, word: &[u8], _language: Language) {
        match word {
            b"explain" | b"analyze" | b"analyse" if !self.is_explained => {
                self.is_explained = true;
            }
            b"desc" | b"describe" => self.first = b"describe".to_vec(),
            b"verbose" | b"extended" | b"partitions" | b"format" | b"tree" | b"json"
            | b"traditional"
                if self.is_explained => {}
            _ => self.first = word.to_vec(),
        }
    }

    /// A SELECT was read.
    pub(super) fn query(&mut self, is_outermost: bool) {
        self.has_query |= is_outermost;
        if self.first.is_empty() {
            self.first = b"select".to_vec();
            self.is_complete = true;
        }
    }

    /// A UNION was read.
    pub(super) fn union(&mut self) {
        self.has_union = true;
    }

    /// Whether INTO names a table that is written.
    pub(super) fn writes_into(&self, language: Language) -> bool {
        match self.first.as_slice() {
            b"insert" | b"replace" | b"merge" | b"load" => true,
            b"select" => language == Language::Postgres,
            _ => false,
        }
    }

    /// Whether a table follows this word, outside of brackets.
    pub(super) fn expects_table(&self, word: &[u8]) -> bool {
        match self.first.as_slice() {
            b"create" | b"alter" | b"drop" => match self.second.as_slice() {
                b"table" => word == b"table",
                b"view" => word == b"view",
                b"index" | b"trigger" | b"policy" | b"rule" | b"statistics" => word == b"on",
                _ => false,
            },
            b"show" => word == b"table",
            b"load" | b"optimize" | b"repair" | b"check" | b"checksum" | b"flush" | b"unlock" => {
                matches!(word, b"table" | b"tables")
            }
            b"lock" => matches!(word, b"lock" | b"table" | b"tables"),
            first @ (b"truncate" | b"vacuum" | b"cluster" | b"copy" | b"describe" | b"handler"
            | b"table" | b"refresh") => {
                word == first || matches!(word, b"table" | b"tables" | b"view")
            }
            _ => false,
        }
    }

    /// The verb in capitals.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut push = |word: &[u8]| {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&String::from_utf8_lossy(word));
        };
        if self.is_explained {
            push(b"EXPLAIN");
        }
        match self.first.as_slice() {
            b"call" | b"execute" => {
                push(&self.first.to_ascii_uppercase());
                if !self.second.is_empty() {
                    push(&self.second);
                }
                return text;
            }
            first => push(&first.to_ascii_uppercase()),
        }
        match self.first.as_slice() {
            b"truncate" => push(b"TABLE"),
            b"insert" | b"replace" | b"create" if self.has_query => {
                if !self.second.is_empty() {
                    push(&self.second.to_ascii_uppercase());
                }
                push(b"SELECT");
            }
            b"select" if self.has_union => push(b"UNION"),
            _ if !self.second.is_empty() => push(&self.second.to_ascii_uppercase()),
            _ => {}
        }
        text
    }
}
