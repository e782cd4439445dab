//! pt-query-digest's IDs, for people who have a history of them: the MD5, in capitals, of that program's
//! own fingerprint.
//!
//! An ID is given only to plain MySQL statements, for which that fingerprint was observed to be what one
//! expects. There is none for names with digits (they become `?` there, so that tables flow together),
//! signs, sums and differences, escapes and doubled quotes, hexadecimal numbers, comments, unions of selects
//! that are alike, upserts, `limit` with two numbers, savepoints, cursors, prepared statements, JSON, brackets
//! within lists, rows that differ (only the first is left there), odd names in quotes. Source: the program's
//! manual, and its answers (version 3.2.1), which the tests hold.

mod whole;

use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer, Token, is_constant};
use md5::{Digest, Md5};

/// Longer statements get none: that program, too, looks at a part of them only.
const STATEMENT_MAX: usize = 64 * 1024;

/// The 32 digits, if the statement is plain enough.
pub(super) fn id(statement: &[u8]) -> Option<String> {
    Some(hashed(&fingerprint(statement)?))
}

/// The 32 digits of a command that is no statement, called by a name as the server's logs have it.
pub(super) fn id_of_command(name: &[u8]) -> Option<String> {
    let is_name = name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b' ');
    let name = std::str::from_utf8(name).ok().filter(|name| is_name && !name.is_empty())?;
    Some(hashed(&format!("administrator command: {name}")))
}

fn hashed(text: &str) -> String {
    Md5::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02X}")).collect()
}

/// That program's fingerprint, if the statement is plain enough.
fn fingerprint(statement: &[u8]) -> Option<String> {
    let statement = statement.trim_ascii().trim_suffix_semicolon();
    // What begins a comment is one there in strings too.
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

/// Whether this names a savepoint, a cursor or a prepared statement: the name stays there, and is a placeholder
/// here.
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

/// A plain statement that is being read. What returns nothing has found that it is not.
struct Plain<'a> {
    statement: &'a [u8],
    lexer: Lexer<'a>,
    text: String,
    /// Where the last token ended.
    end: usize,
    /// What the last token became, and what it was.
    before: String,
    kind: Kind,
    /// How often UNION stands in it.
    unions: usize,
    /// Whether what is read is a list behind ORDER BY.
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

    /// Reads on; false: there is nothing more.
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

    /// Whether there is space between the last token and here, and nothing but that.
    fn gap(&self, here: usize) -> Option<bool> {
        let gap = &self.statement[self.end..here];
        gap.trim_ascii().is_empty().then_some(!gap.is_empty())
    }

    /// Writes the next token, and tells what it was.
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
        // Several strings in a row are one value.
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

    /// Looks at what stands around a word that has just been taken, where that program does.
    fn word(&mut self, word: &str) -> Option<()> {
        match word {
            "by" => self.in_order = self.before == "order",
            "from" | "where" | "group" | "select" => self.in_order = false,
            // `use index`; databases see `whole`.
            "use" => return (!self.before.is_empty()).then_some(()),
            "union" => (self.unions, self.in_order) = (self.unions + 1, false),
            "value" => return (self.lexer.peek().kind != Kind::Open).then_some(()),
            "limit" => return self.limit(),
            _ => {}
        }
        Some(())
    }

    /// LIMIT with one number: that program makes one of two, too.
    fn limit(&mut self) -> Option<()> {
        let mut ahead = self.lexer.clone();
        let is_number = matches!(ahead.next_token().kind, Kind::Literal | Kind::Question);
        let behind = ahead.next_token();
        let is_one = behind.kind != Kind::Comma && !self.is_word(behind, b"offset");
        self.in_order = false;
        (is_number && is_one).then_some(())
    }

    /// After IN: literals, or a query. Other items stand there as often as in the statement.
    fn list(&mut self) -> Option<()> {
        if self.literals()? {
            return Some(());
        }
        self.token()?;
        let next = self.lexer.peek();
        self.lexer.text(next).eq_ignore_ascii_case(b"select").then_some(())
    }

    /// Passes over a bracket of plain literals, if one comes.
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

    /// After VALUES. That program keeps the first row, and drops all behind it.
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

    /// Writes a row, and tells what it became.
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
            // That program makes a value of nothing.
            if self.text[begin..].trim_ascii() == "()" {
                return None;
            }
        }
        Some(self.text[begin..].trim_ascii_start().to_owned())
    }
}

/// Where that program takes a row for ended: at the first bracket with a comma and another one behind it.
fn find_border(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b')', text).find(|&at| {
        let behind = text[at + 1..].trim_ascii_start().strip_prefix(b",");
        behind.is_some_and(|behind| behind.trim_ascii_start().starts_with(b"("))
    })
}

/// Whether this is plain literals up to a bracket that closes.
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

/// What one token becomes.
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

/// Operators that stay as they are; not those that may be signs.
const OPERATORS: &[&str] = &[
    "=", "<", ">", "<=", ">=", "<>", "!=", "*", "<=>", "%", "/", "||", "&&", "&", "|", "^", "<<",
    ">>", ":=",
];

/// Words that mean something else there, or that make it read on in another way.
fn is_mangled(word: &str) -> bool {
    matches!(word, "asc" | "duplicate" | "call" | "true" | "false")
}

/// The same, and words that mean something only outside of quotes.
fn is_special(word: &str) -> bool {
    is_mangled(word) || matches!(word, "union" | "limit" | "value" | "use" | "load")
}

/// A name in quotes that reads as words do there: there are no quotes around names for that program.
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

/// A string without escapes, or a number of digits, with a point or not.
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
