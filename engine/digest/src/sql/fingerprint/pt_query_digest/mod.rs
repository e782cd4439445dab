//! pt-query-digest's IDs, for users with a history of them: the MD5, in capitals, of that program's own
//! fingerprint.
//!
//! Only plain MySQL statements get an ID: those whose pt-query-digest fingerprint was observed to separate
//! the same classes. These get none: names with digits (pt-query-digest replaces them with `?` and thereby
//! merges tables), signs, sums and differences, escapes and doubled quotes, hexadecimal numbers, comments,
//! unions of equal selects, upserts, `limit` with two numbers, savepoints, cursors, prepared statements,
//! JSON, brackets within lists, different rows (only the first remains there), unusual quoted names.
//! Source: the program's manual, and its output (version 3.2.1), which the tests contain.

mod whole;

use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer, Token, is_constant};
use md5::{Digest, Md5};

/// Maximum length of a statement with an ID, bytes: pt-query-digest also reads only a part of longer ones.
const STATEMENT_MAX: usize = 64 * 1024;

/// The 32 digits; `None` if the statement is not plain enough.
pub(super) fn id(statement: &[u8]) -> Option<String> {
    Some(hashed(&fingerprint(statement)?))
}

/// The 32 digits of an administrator command, by its name in the server's logs.
pub(super) fn id_of_command(name: &[u8]) -> Option<String> {
    let is_name = name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b' ');
    let name = std::str::from_utf8(name).ok().filter(|name| is_name && !name.is_empty())?;
    Some(hashed(&format!("administrator command: {name}")))
}

fn hashed(text: &str) -> String {
    Md5::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02X}")).collect()
}

/// pt-query-digest's fingerprint; `None` if the statement is not plain enough.
fn fingerprint(statement: &[u8]) -> Option<String> {
    let statement = statement.trim_ascii().trim_suffix_semicolon();
    // pt-query-digest also recognises comments within strings.
    let has_comment = memchr::memmem::find(statement, b"/*").is_some();
    let is_long = statement.len() > STATEMENT_MAX;
    if statement.is_empty() || is_long || has_comment || !statement.is_ascii() {
        return None;
    }
    if let Some(text) = whole::use_of(statement).or_else(|| whole::call(statement)) {
        return Some(text);
    }
    let mut plain = Plain::new(statement);
    while plain.step()? {}
    let text = plain.text;
    let is_read_well = !names_objects(&text)
        && !whole::loses_words(&text)
        && !whole::repeats_selects(&text, plain.unions);
    is_read_well.then_some(text)
}

/// Whether this names a savepoint, a cursor or a prepared statement: pt-query-digest keeps the name, while
/// our fingerprint has a placeholder.
fn names_objects(text: &str) -> bool {
    let mut words = text.split(' ');
    match words.next() {
        Some("rollback") => words.any(|word| word == "to"),
        Some("drop") => words.next() == Some("prepare"),
        Some(
            "savepoint" | "release" | "declare" | "fetch" | "move" | "close" | "prepare"
            | "execute" | "deallocate",
        ) => true,
        _ => text.contains(" current of "),
    }
}

/// Reader of a plain statement. Its methods return `None` if the statement is not plain.
struct Plain<'a> {
    statement: &'a [u8],
    lexer: Lexer<'a>,
    text: String,
    /// Where the last token ended.
    end: usize,
    /// The output for the last token, and its kind.
    before: String,
    kind: Kind,
    /// Number of UNIONs.
    unions: usize,
    /// Whether the current token is in a list after ORDER BY.
    in_order: bool,
}

impl<'a> Plain<'a> {
    fn new(statement: &'a [u8]) -> Self {
        Self {
            statement,
            lexer: Lexer::new(statement, Language::Mysql),
            text: String::new(),
            end: 0,
            before: String::new(),
            kind: Kind::End,
            unions: 0,
            in_order: false,
        }
    }

    /// Reads the next token, list or rows; false at the end.
    fn step(&mut self) -> Option<bool> {
        match self.lexer.peek().kind {
            Kind::End => return self.gap(self.statement.len()).map(|_| false),
            Kind::Open if self.before == "in" => self.list()?,
            Kind::Open if self.before == "values" => self.rows()?,
            _ => {
                self.token()?;
            }
        }
        Some(true)
    }

    /// Whether there is space between the last token and `here`; `None` if there is anything else.
    fn gap(&self, here: usize) -> Option<bool> {
        let gap = &self.statement[self.end..here];
        gap.trim_ascii().is_empty().then_some(!gap.is_empty())
    }

    /// Writes the next token, and returns its kind.
    fn token(&mut self) -> Option<Kind> {
        let token = self.lexer.next_token();
        let is_apart = self.gap(token.begin)?;
        if self.in_order && is_apart && self.is_word(token, b"asc") {
            self.end = token.end;
            return Some(token.kind);
        }
        if is_apart {
            self.text.push(' ');
        }
        // Several adjacent strings are one value.
        if token.kind == Kind::Literal && self.kind == Kind::Literal {
            return None;
        }
        let written = piece(&self.lexer, token)?;
        if token.kind == Kind::Word {
            self.word(&written)?;
        }
        self.text.push_str(&written);
        (self.before, self.kind, self.end) = (written, token.kind, token.end);
        Some(token.kind)
    }

    fn is_word(&self, token: Token, word: &[u8]) -> bool {
        token.kind == Kind::Word && self.lexer.text(token).eq_ignore_ascii_case(word)
    }

    /// Checks the context of the word just read where pt-query-digest depends on it.
    fn word(&mut self, word: &str) -> Option<()> {
        match word {
            "by" => self.in_order = self.before == "order",
            "from" | "where" | "group" | "select" => self.in_order = false,
            // `use index`; for databases see `whole`.
            "use" => return (!self.before.is_empty()).then_some(()),
            "union" => (self.unions, self.in_order) = (self.unions + 1, false),
            "value" => return (self.lexer.peek().kind != Kind::Open).then_some(()),
            "limit" => return self.limit(),
            _ => {}
        }
        Some(())
    }

    /// LIMIT with one number: pt-query-digest also merges two numbers into one.
    fn limit(&mut self) -> Option<()> {
        let mut ahead = self.lexer.clone();
        let is_number = matches!(ahead.next_token().kind, Kind::Literal | Kind::Question);
        let behind = ahead.next_token();
        let is_one = behind.kind != Kind::Comma && !self.is_word(behind, b"offset");
        self.in_order = false;
        (is_number && is_one).then_some(())
    }

    /// After IN: literals, or a query. Other items are not merged by pt-query-digest.
    fn list(&mut self) -> Option<()> {
        if self.literals()? {
            return Some(());
        }
        self.token()?;
        let next = self.lexer.peek();
        self.lexer.text(next).eq_ignore_ascii_case(b"select").then_some(())
    }

    /// Writes `(?+)` for a bracket of plain literals; false, without moving, for another bracket.
    fn literals(&mut self) -> Option<bool> {
        let open = self.lexer.next_token();
        self.gap(open.begin)?;
        if !self.lexer.skip_literals() {
            self.lexer.go_to(open.begin);
            return Some(false);
        }
        let list = &self.statement[open.end..self.lexer.position()];
        if !is_plain_list(list) {
            return None;
        }
        self.text.push_str("(?+)");
        self.before.clear();
        (self.kind, self.end) = (Kind::Close, self.lexer.position());
        Some(true)
    }

    /// After VALUES. pt-query-digest keeps the first row, and drops all others.
    fn rows(&mut self) -> Option<()> {
        let values = self.end;
        let first = self.row()?;
        let mut border = None;
        while self.lexer.peek().kind == Kind::Comma {
            let comma = self.lexer.next_token();
            border = border.or(Some(self.end - 1 - values));
            self.gap(comma.begin)?;
            self.end = comma.end;
            let length = self.text.len();
            let is_row = self.lexer.peek().kind == Kind::Open && self.row()? == first;
            self.text.truncate(length);
            if !is_row {
                return None;
            }
        }
        let is_end = self.lexer.peek().kind == Kind::End;
        let verbs = ["insert into ", "insert ignore into ", "replace into "];
        let is_insert = verbs.iter().any(|verb| self.text.starts_with(verb));
        let is_first = border == find_border(&self.statement[values..]);
        (is_first && (border.is_none() || is_end && is_insert)).then_some(())
    }

    /// Writes a row, and returns its output.
    fn row(&mut self) -> Option<String> {
        let begin = self.text.len();
        if !self.literals()? {
            let mut depth = 0u32;
            loop {
                match self.token()? {
                    Kind::Open => depth += 1,
                    Kind::Close => depth -= 1,
                    _ if matches!(self.before.as_str(), "default" | "in" | "values") => {
                        return None;
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
            // pt-query-digest writes a value for an empty row.
            if self.text[begin..].trim_ascii() == "()" {
                return None;
            }
        }
        Some(self.text[begin..].trim_ascii_start().to_owned())
    }
}

/// Where pt-query-digest ends a row: at the first closing bracket before a comma and another bracket.
fn find_border(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b')', text).find(|&at| {
        let behind = text[at + 1..].trim_ascii_start().strip_prefix(b",");
        behind.is_some_and(|behind| behind.trim_ascii_start().starts_with(b"("))
    })
}

/// Whether this consists of plain literals up to a closing bracket.
fn is_plain_list(list: &[u8]) -> bool {
    let mut lexer = Lexer::new(list, Language::Mysql);
    let mut end = 0;
    loop {
        let token = lexer.next_token();
        let text = lexer.text(token);
        let is_plain = match token.kind {
            Kind::Literal => std::str::from_utf8(text).is_ok_and(is_plain),
            Kind::Word => is_constant(text) && !text.eq_ignore_ascii_case(b"default"),
            Kind::Comma => true,
            Kind::Question => true,
            Kind::Close => token.end == list.len(),
            _ => false,
        };
        if !is_plain || !list[end..token.begin].trim_ascii().is_empty() {
            return false;
        }
        if token.kind == Kind::Close {
            return true;
        }
        end = token.end;
    }
}

/// The output for one token.
fn piece(lexer: &Lexer<'_>, token: Token) -> Option<String> {
    let text = std::str::from_utf8(lexer.text(token)).ok()?;
    let lower = text.to_ascii_lowercase();
    match token.kind {
        Kind::Word if text.bytes().any(|b| b.is_ascii_digit()) => None,
        Kind::Word if lower == "null" => Some("?".to_owned()),
        Kind::Word => (!is_mangled(&lower)).then_some(lower),
        Kind::Question => Some(lower),
        Kind::Name => is_plain_name(&lower).then_some(lower),
        Kind::Literal => is_plain(text).then(|| "?".to_owned()),
        Kind::Operator => OPERATORS.contains(&text).then_some(lower),
        Kind::Open | Kind::Close | Kind::Comma | Kind::Dot => Some(lower),
        _ => None,
    }
}

/// Operators that stay unchanged, without those that may be signs.
const OPERATORS: &[&str] = &[
    "=", "<", ">", "<=", ">=", "<>", "!=", "*", "<=>", "%", "/", "||", "&&", "&", "|", "^", "<<",
    ">>", ":=",
];

/// Words with another meaning in pt-query-digest, or that change how it continues.
fn is_mangled(word: &str) -> bool {
    matches!(word, "asc" | "duplicate" | "call" | "true" | "false")
}

/// The same, and words with such a meaning outside quotes only.
fn is_special(word: &str) -> bool {
    is_mangled(word) || matches!(word, "union" | "limit" | "value" | "use" | "load")
}

/// Whether a quoted name reads like words: pt-query-digest ignores quotes around names.
fn is_plain_name(name: &str) -> bool {
    let words = name.trim_matches('`').split(' ');
    let is_plain = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'$'))
            && !is_special(word)
            && !matches!(word, "null" | "in" | "values")
    };
    words.into_iter().all(is_plain)
}

/// A string without escapes, or a number of digits with an optional point.
fn is_plain(literal: &str) -> bool {
    let bytes = literal.as_bytes();
    match bytes {
        [quote @ (b'\'' | b'"'), inside @ .., last] => {
            quote == last && !inside.iter().any(|b| matches!(b, b'\\' | b'\'' | b'"'))
        }
        _ => bytes[0].is_ascii_digit() && bytes.iter().all(|b| b.is_ascii_digit() || *b == b'.'),
    }
}

trait TrimSemicolon {
    fn trim_suffix_semicolon(&self) -> &Self;
}

impl TrimSemicolon for [u8] {
    fn trim_suffix_semicolon(&self) -> &Self {
        self.strip_suffix(b";").unwrap_or(self).trim_ascii_end()
    }
}

#[cfg(test)]
mod tests;
