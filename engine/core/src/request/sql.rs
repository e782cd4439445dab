//! SQL split at its parameters.

use std::fmt;

/// SQL split at its parameters, not text with placeholders: every placeholder may have another
/// meaning in the user's SQL (`?` is an operator of PostgreSQL's jsonb, and occurs in literals).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// Never empty: the text before the first parameter, and the text after each.
    pieces: Vec<String>,
}

impl Sql {
    /// From the text before the first parameter and the text after each. Panics without a piece.
    pub fn new(pieces: Vec<String>) -> Self {
        assert!(!pieces.is_empty(), "SQL has a piece more than parameters");
        Self { pieces }
    }

    /// The text before the first parameter, and the text after each.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// Number of parameters.
    pub fn params(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Whether it has neither text nor parameters.
    pub fn is_empty(&self) -> bool {
        self.pieces == [""]
    }

    /// The text with `put` called to write each parameter (0-based).
    pub fn with(&self, mut put: impl FnMut(usize, &mut String)) -> String {
        let bytes: usize = self.pieces.iter().map(|piece| piece.len() + 8).sum();
        let mut out = String::with_capacity(bytes);
        for (index, piece) in self.pieces.iter().enumerate() {
            if let Some(param) = index.checked_sub(1) {
                put(param, &mut out);
            }
            out.push_str(piece);
        }
        out
    }
}

/// Each `?` is a parameter, also in literals: for SQL written in this code base.
impl From<&str> for Sql {
    fn from(text: &str) -> Self {
        Self { pieces: text.split('?').map(str::to_owned).collect() }
    }
}

impl From<String> for Sql {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// The text with `?` for each parameter, as MySQL and SQLite prepare it.
impl fmt::Display for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with(|_, out| out.push('?')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_is_cut_at_its_question_marks() {
        let sql = Sql::from("a = ? AND b = ?");
        assert_eq!(sql.pieces(), ["a = ", " AND b = ", ""]);
        assert_eq!((sql.params(), sql.to_string().as_str()), (2, "a = ? AND b = ?"));
        assert_eq!(sql.with(|n, out| out.push_str(&format!("${}", n + 1))), "a = $1 AND b = $2");
        assert!(Sql::from("").is_empty() && !Sql::from("?").is_empty());
    }
}
