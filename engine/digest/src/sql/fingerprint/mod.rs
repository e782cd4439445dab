//! Fingerprints: statements without their literals. Events with the same fingerprint are one class.
//!
//! A fingerprint is the *normal form* of a statement, a line of text. The key of a class is the hash of
//! this text, so that keys are equal if and only if the texts are:
//!
//! | in the statement | in the normal form |
//! |---|---|
//! | strings, numbers, bits, date strings, parameters | `?`, including their signs |
//! | NULL, TRUE, FALSE | `?`, except in `is null`, `not null`, and statements that define tables |
//! | keywords and unquoted names | in lower case; digits in names stay |
//! | quoted names | unchanged |
//! | comments; hints `/*+ */` | omitted; kept, without their numbers, sizes (`16M`) and strings |
//! | lists after IN, rows after VALUES, `array[...]` | `in(?+)`, `values(?+)`, `array[?+]` if all items are literals; otherwise repeated items (rows) once |
//! | repeated selects of a union | the first, and `union all+` |
//! | `limit 5, 10`, `offset 5 limit 10` | `limit ? offset ?` |
//! | `call p(1, 2)` | `call p` |
//! | `use orders` | `use ?` |
//! | names of savepoints, cursors, prepared statements | `?`: `savepoint ?`, `fetch ? from ?`, `execute ?` |
//! | `order by a asc` | `order by a` |

mod hash;
mod keywords;
mod memo;
mod merged_names;
mod normal_form;
mod pt_query_digest;
mod window;

use crate::sql::administrator_command::administrator_command;
use crate::sql::language::Language;
use memo::Memo;
pub use merged_names::{merge_names, merged_names};
use normal_form::Normaliser;

/// Computes keys and fingerprints of statements. It reuses buffers, so each thread needs its own.
#[derive(Debug)]
pub struct Fingerprinter {
    language: Language,
    normaliser: Normaliser,
    memo: Memo,
    valid: String,
    /// Buffer of fingerprints with merged names; `None` if names are not merged.
    merged: Option<Vec<u8>>,
}

impl Fingerprinter {
    /// Creates a fingerprinter for statements of one language.
    pub fn new(language: Language) -> Self {
        Self {
            language,
            normaliser: Normaliser::new(language),
            memo: Memo::new(language),
            valid: String::new(),
            merged: None,
        }
    }

    /// Replaces numbers and hashes in names with `?`.
    pub fn merging_names(mut self) -> Self {
        self.merged = Some(Vec::new());
        self
    }

    /// The hash of the fingerprint: equal for two statements if and only if their fingerprints are equal.
    /// It is the same in every version.
    #[inline]
    pub fn key(&mut self, statement: &[u8]) -> u128 {
        let Some(skeleton) = self.memo.skeleton(statement) else {
            return self.key_of_text(statement);
        };
        if let Some(key) = self.memo.find(skeleton) {
            return key;
        }
        let key = self.key_of_text(statement);
        // With multibyte readings, other statements with this skeleton may be read differently.
        if !self.normaliser.has_pairs() {
            self.memo.keep(skeleton, key);
        }
        key
    }

    /// The key, computed from the normal form without the memo.
    pub(crate) fn key_of_text(&mut self, statement: &[u8]) -> u128 {
        let domain = match self.language {
            Language::Mysql => 1,
            Language::Postgres => 2,
            Language::Mongo => 3,
        };
        hash::hash(self.text(statement), domain)
    }

    /// The statement without its literals.
    pub fn fingerprint(&mut self, statement: &[u8]) -> String {
        String::from_utf8_lossy(self.text(statement)).into_owned()
    }

    /// The ID that pt-query-digest gives to a MySQL statement; `None` if the statement is not plain enough
    /// for both programs to form the same classes.
    pub fn pt_id(&mut self, statement: &[u8]) -> Option<String> {
        if self.language == Language::Mysql { pt_query_digest::id(statement) } else { None }
    }

    /// The ID that pt-query-digest gives to an administrator command.
    pub fn pt_id_of_command(&self, name: &[u8]) -> Option<String> {
        if self.language == Language::Mysql { pt_query_digest::id_of_command(name) } else { None }
    }

    /// The normal form in UTF-8, with merged names if requested.
    #[inline]
    fn text(&mut self, statement: &[u8]) -> &[u8] {
        match self.merged.take() {
            None => self.whole_text(statement),
            Some(mut merged) => {
                merge_names(self.whole_text(statement), &mut merged);
                self.merged.insert(merged)
            }
        }
    }

    /// The normal form in UTF-8; bytes that are not UTF-8 become `\xNN`.
    #[inline]
    fn whole_text(&mut self, statement: &[u8]) -> &[u8] {
        if self.language == Language::Mongo {
            self.valid = crate::sql::mongo::fingerprint(statement);
            return self.valid.as_bytes();
        }
        if matches!(statement.first(), Some(b'#' | b'a'))
            && let Some(command) = administrator_command(statement)
        {
            self.valid = format!("administrator command: {command}");
            return self.valid.as_bytes();
        }
        let text = self.normaliser.normalise(statement);
        if text.is_ascii() || std::str::from_utf8(text).is_ok() {
            return text;
        }
        self.valid.clear();
        for chunk in text.utf8_chunks() {
            self.valid.push_str(chunk.valid());
            for byte in chunk.invalid() {
                self.valid.push_str(&format!("\\x{byte:02x}"));
            }
        }
        self.valid.as_bytes()
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
