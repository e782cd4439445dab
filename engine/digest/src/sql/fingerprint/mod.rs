//! Statements without their literals: what makes two events one class.
//!
//! A statement becomes its *normal form*, a line of text; a class is known by the hash of that text, so
//! that equal keys and equal texts are the same thing:
//!
//! | in the statement | in the normal form |
//! |---|---|
//! | strings, numbers, bits, dates' strings, parameters | `?`; a sign that belongs to them goes with them |
//! | NULL, TRUE, FALSE | `?`, but for `is null`, `not null`, and statements that define tables |
//! | keywords and names without quotes | in lower case; digits in names stay |
//! | names in quotes | as they stand |
//! | comments; hints `/*+ */` | left out; kept, without their numbers, sizes (`16M`) and strings |
//! | lists after IN, rows after VALUES, `array[...]` | `in(?+)`, `values(?+)`, `array[?+]` if all are literals; otherwise items (rows) that repeat once |
//! | selects of a union that repeat | the first, and `union all+` |
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

/// Makes keys and fingerprints of statements. Each thread has its own: it keeps buffers.
#[derive(Debug)]
pub struct Fingerprinter {
    language: Language,
    normaliser: Normaliser,
    memo: Memo,
    valid: String,
    /// Fingerprints with merged names; none: names stay as they are.
    merged: Option<Vec<u8>>,
}

impl Fingerprinter {
    /// For statements of one language.
    pub fn new(language: Language) -> Self {
        Self {
            language,
            normaliser: Normaliser::new(language),
            memo: Memo::new(language),
            valid: String::new(),
            merged: None,
        }
    }

    /// With `?` for numbers and hashes in names.
    pub fn merging_names(mut self) -> Self {
        self.merged = Some(Vec::new());
        self
    }

    /// The hash of the fingerprint: equal for two statements if and only if that is. The same in every
    /// version.
    #[inline]
    pub fn key(&mut self, statement: &[u8]) -> u128 {
        let Some(skeleton) = self.memo.skeleton(statement) else {
            return self.key_of_text(statement);
        };
        if let Some(key) = self.memo.find(skeleton) {
            return key;
        }
        let key = self.key_of_text(statement);
        // Otherwise other statements with this skeleton may be read in another way.
        if !self.normaliser.has_pairs() {
            self.memo.keep(skeleton, key);
        }
        key
    }

    /// The same, by way of the text.
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

    /// The ID that pt-query-digest gives, for plain MySQL statements: those whose fingerprint is the
    /// same thing there.
    pub fn pt_id(&mut self, statement: &[u8]) -> Option<String> {
        if self.language == Language::Mysql { pt_query_digest::id(statement) } else { None }
    }

    /// The ID that pt-query-digest gives for a command that is no statement.
    pub fn pt_id_of_command(&self, name: &[u8]) -> Option<String> {
        if self.language == Language::Mysql { pt_query_digest::id_of_command(name) } else { None }
    }

    /// The normal form, as UTF-8, with merged names if they are asked for.
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

    /// The normal form, as UTF-8: bytes that are none stand as `\xNN`.
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
