//! The verb of a statement, in one or a few words.

use crate::sql::language::Language;

/// Kinds of objects of CREATE, ALTER and DROP.
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

/// The part of the verb read so far.
#[derive(Debug, Default)]
pub(super) struct Verb {
    /// The first word of the verb, in lower case.
    first: Vec<u8>,
    /// The object of the verb, or its variant.
    second: Vec<u8>,
    /// The verb of a data-modifying statement within a query, in lower case.
    within: Vec<u8>,
    is_explained: bool,
    is_complete: bool,
    has_query: bool,
    has_union: bool,
}

impl Verb {
    /// Whether the verb is `word`, in lower case.
    pub(super) fn is(&self, word: &[u8]) -> bool {
        self.first == word
    }

    /// Processes a word outside all brackets.
    pub(super) fn word(&mut self, word: &[u8]) {
        if self.is_complete || word.is_empty() {
            return;
        }
        match self.first.as_slice() {
            b"" => self.begin(word),
            b"analyze" | b"describe" if is_statement(word) => {
                self.first.clear();
                self.is_explained = true;
                self.begin(word);
            }
            b"with" => {
                if matches!(
                    word,
                    b"select" | b"insert" | b"update" | b"delete" | b"replace" | b"merge"
                ) {
                    self.first = word.to_vec();
                    self.is_complete = true;
                }
            }
            b"rename" if word == b"tables" => {
                self.second = b"table".to_vec();
                self.is_complete = true;
            }
            b"create" | b"alter" | b"drop" | b"rename" => {
                if OBJECTS.iter().any(|object| object.as_bytes() == word) {
                    self.second = word.to_vec();
                    self.is_complete = word != b"materialized";
                }
            }
            b"show" if matches!(word, b"full" | b"global" | b"session" | b"extended") => {}
            b"show" if word == b"create" && self.second.is_empty() => {
                self.second = b"create".to_vec()
            }
            b"show" | b"start" | b"load" | b"lock" | b"unlock" | b"xa" => {
                if !self.second.is_empty() {
                    self.second.push(b' ');
                }
                self.second.extend_from_slice(word);
                self.is_complete = true;
            }
            _ => self.is_complete = true,
        }
    }

    fn begin(&mut self, word: &[u8]) {
        match word {
            _ if self.is_explained && is_explaining(word) => {}
            b"explain" if !self.is_explained => self.is_explained = true,
            // These explain if a statement follows.
            b"analyze" | b"analyse" => self.first = b"analyze".to_vec(),
            b"desc" | b"describe" => self.first = b"describe".to_vec(),
            _ => self.first = word.to_vec(),
        }
    }

    /// Whether `word`, outside all brackets, begins the statement that `ANALYZE` or `DESCRIBE` explains.
    pub(super) fn explains(&self, word: &[u8]) -> bool {
        !self.is_complete && (self.is(b"analyze") || self.is(b"describe")) && is_statement(word)
    }

    /// Whether `word`, outside all brackets, is the table of MySQL's `EXPLAIN t`, a synonym of DESCRIBE.
    pub(super) fn describes(&mut self, word: &[u8], language: Language) -> bool {
        let is_bare = language == Language::Mysql && self.is_explained && self.first.is_empty();
        let is_option = is_explaining(word) || matches!(word, b"for" | b"into");
        let is_table = is_bare && !is_statement(word) && !is_option;
        if is_table {
            self.is_explained = false;
            self.first = b"describe".to_vec();
        }
        is_table
    }

    /// Records a data-modifying statement within the query.
    pub(super) fn within(&mut self, word: Vec<u8>) {
        if self.within.is_empty() {
            self.within = word;
        }
    }

    /// Records the name of the called routine.
    pub(super) fn named(&mut self, name: String) {
        self.second = name.into_bytes();
        self.is_complete = true;
    }

    /// Whether options in brackets may precede the table.
    pub(super) fn has_options(&self) -> bool {
        matches!(self.first.as_slice(), b"analyze" | b"vacuum" | b"cluster")
    }

    /// Whether SHOW refers to one table.
    pub(super) fn shows_one_table(&self) -> bool {
        matches!(self.second.as_slice(), b"columns" | b"fields" | b"index" | b"indexes" | b"keys")
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

    /// Whether INTO names a table that the statement writes.
    pub(super) fn writes_into(&self, language: Language) -> bool {
        match self.first.as_slice() {
            b"insert" | b"replace" | b"merge" | b"load" => true,
            b"select" => language == Language::Postgres,
            _ => false,
        }
    }

    /// Whether a table follows `word`, outside brackets.
    pub(super) fn expects_table(&self, word: &[u8]) -> bool {
        match self.first.as_slice() {
            b"create" | b"alter" | b"drop" | b"rename" => match self.second.as_slice() {
                b"table" if self.is(b"rename") => matches!(word, b"table" | b"tables" | b"to"),
                b"table" => word == b"table",
                b"view" => word == b"view",
                b"index" | b"trigger" | b"policy" | b"rule" | b"statistics" => word == b"on",
                _ => false,
            },
            b"show" => word == b"table" && self.second.starts_with(b"create"),
            b"load" | b"optimize" | b"repair" | b"check" | b"checksum" | b"flush" | b"unlock" => {
                matches!(word, b"table" | b"tables")
            }
            b"lock" => matches!(word, b"lock" | b"table" | b"tables"),
            b"analyze" => matches!(word, b"analyze" | b"analyse" | b"table" | b"tables"),
            b"describe" => matches!(word, b"desc" | b"describe"),
            first @ (b"truncate" | b"vacuum" | b"cluster" | b"copy" | b"handler" | b"table"
            | b"refresh") => word == first || matches!(word, b"table" | b"tables" | b"view"),
            _ => false,
        }
    }

    /// The verb in capitals.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut push = |word: &[u8]| {
            if !text.is_empty() && !word.is_empty() {
                text.push(' ');
            }
            text.push_str(&String::from_utf8_lossy(word));
        };
        if self.is_explained {
            push(b"EXPLAIN");
        }
        match self.first.as_slice() {
            b"call" => {
                push(&self.first.to_ascii_uppercase());
                if !self.second.is_empty() {
                    push(&self.second);
                }
                return text;
            }
            first => {
                if first == b"select" {
                    push(&self.within.to_ascii_uppercase());
                }
                push(&first.to_ascii_uppercase());
            }
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

/// Words that begin an explainable statement.
fn is_statement(word: &[u8]) -> bool {
    matches!(
        word,
        b"select"
            | b"insert"
            | b"update"
            | b"delete"
            | b"replace"
            | b"merge"
            | b"with"
            | b"values"
            | b"execute"
            | b"declare"
            | b"create"
            | b"refresh"
            | b"format"
    )
}

/// Words between EXPLAIN and the explained statement.
fn is_explaining(word: &[u8]) -> bool {
    matches!(
        word,
        b"analyze"
            | b"analyse"
            | b"verbose"
            | b"extended"
            | b"partitions"
            | b"format"
            | b"tree"
            | b"json"
            | b"traditional"
    )
}
