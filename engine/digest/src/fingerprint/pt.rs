//! pt-query-digest's IDs, for people who have a history of them: the MD5, in capitals, of that program's
//! own fingerprint.
//!
//! An ID is given only to plain MySQL statements, for which that fingerprint was observed to be what one
//! expects. There is none for names with digits (they become `?` there, so that tables flow together),
//! signs and arithmetic, escapes and doubled quotes, hexadecimal numbers, comments, unions, upserts,
//! calls, JSON, brackets within lists, rows that differ (only the first is left there), odd names in quotes. Source: the program's manual, and its answers (version 3.2.1), which the tests hold.

use crate::event::Language;
use crate::token::{Kind, Lexer, Token, is_constant};
use md5::{Digest, Md5};

/// Longer statements get none: that program, too, looks at a part of them only.
const STATEMENT_MAX: usize = 64 * 1024;

/// The 32 digits, if the statement is plain enough.
pub(super) fn id(statement: &[u8]) -> Option<String> {
    let text = fingerprint(statement)?;
    let digest = Md5::digest(text.as_bytes());
    Some(digest.iter().map(|byte| format!("{byte:02X}")).collect())
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
    let mut plain = Plain::new(statement);
    while plain.step()? {}
    Some(plain.text)
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
        if self.gap(token.begin)? {
            self.text.push(' ');
        }
        // Several strings in a row are one value.
        if token.kind == Kind::Literal && self.kind == Kind::Literal {
            return None;
        }
        let written = piece(&self.lexer, token, &self.before)?;
        self.text.push_str(&written);
        (self.before, self.kind, self.end) = (written, token.kind, token.end);
        Some(token.kind)
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
fn piece(lexer: &Lexer<'_>, token: Token, before: &str) -> Option<String> {
    let text = std::str::from_utf8(lexer.text(token)).ok()?;
    let lower = text.to_ascii_lowercase();
    match token.kind {
        Kind::Word if text.bytes().any(|b| b.is_ascii_digit() || b == b'@') => None,
        Kind::Word => word(lower, before),
        Kind::Name => is_plain_name(&lower).then_some(lower),
        Kind::Literal => is_plain(text).then(|| "?".to_owned()),
        Kind::Operator => {
            matches!(text, "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" | "*").then_some(lower)
        }
        Kind::Open | Kind::Close | Kind::Comma | Kind::Dot => Some(lower),
        _ => None,
    }
}

fn word(word: String, before: &str) -> Option<String> {
    match word.as_str() {
        "null" => Some("?".to_owned()),
        // The database is a value there; the tool's other special cases are left to it.
        _ if before == "use" => None,
        _ if is_special(&word) => None,
        _ => Some(word),
    }
}

/// Words that mean something else there, or that make it read on in another way.
fn is_special(word: &str) -> bool {
    matches!(
        word,
        "union"
            | "asc"
            | "duplicate"
            | "call"
            | "limit"
            | "value"
            | "use"
            | "true"
            | "false"
            | "load"
    )
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
mod tests {
    use super::*;

    #[test]
    fn plain_statements_have_the_fingerprints_that_the_tool_gives() {
        let observed = [
            (
                "SELECT  c,  d FROM t WHERE id = 5 AND name = 'x'",
                "select c, d from t where id = ? and name = ?",
            ),
            ("INSERT INTO t (a, b) VALUES (1, 'x'), (2,'y');", "insert into t (a, b) values(?+)"),
            (
                "select c from t where a between 1 and 2 order by c",
                "select c from t where a between ? and ? order by c",
            ),
            ("SELECT `a`.`b` FROM `Orders` a", "select `a`.`b` from `orders` a"),
            ("COMMIT", "commit"),
            ("select a from t where x = \"abc\"", "select a from t where x = ?"),
            ("select a from t where x = 1.5", "select a from t where x = ?"),
            ("select a\n from t", "select a from t"),
            ("set a = 5", "set a = ?"),
            ("select a from t where c IN(1,2)", "select a from t where c in(?+)"),
            (
                "insert into t values (1, f('a', g(b))), (2, f('c', g(b)))",
                "insert into t values (?, f(?, g(b)))",
            ),
            ("insert into t values ('a (b)', '2020-01-01')", "insert into t values(?+)"),
            ("select a from `b c` where d = 'x # (-- y'\n", "select a from `b c` where d = ?"),
        ];
        for (statement, expected) in observed {
            assert_eq!(fingerprint(statement.as_bytes()).as_deref(), Some(expected), "{statement}");
        }
    }

    #[test]
    fn ids_are_those_that_the_tool_gives() {
        let observed = [
            ("commit", "FFFCA4D67EA0A788813031B8BBC3B329"),
            ("begin", "8D589AFA4DFAEEED85FFF5AA78E5FF6A"),
            ("insert into t select * from u", "3305D9CA95442D57B9251A5CF4437D7F"),
            ("replace into t values (1)", "BCC5D6D3F1B7555F4044C84594C94EC0"),
            ("delete a from a join b using (id)", "3F6CF128B625D950EC5D118F623BC1E5"),
            ("update a, b set a.x=1 where a.id=b.id", "499D8DDC868C823A13791F86CF4B1475"),
        ];
        for (statement, expected) in observed {
            assert_eq!(id(statement.as_bytes()).as_deref(), Some(expected), "{statement}");
        }
    }

    #[test]
    fn statements_that_the_tool_mangles_have_none() {
        for statement in [
            "select c from t1",
            "select a-b from t",
            "select 0xff",
            "select 'O''Brien'",
            "select a -- c\n from t",
            "select 1 union select 2",
            "insert into t values (1) on duplicate key update a = 2",
            "select doc->>'$.name' from t",
            "select a from t where x in (-1)",
            "select 'cut",
            "call p(1)",
            "",
            "select * from t where (a,b) in ((1,2),(3,4))",
            "select * from t where b in (1, now())",
            "insert into t (a) values (default),(1)",
            "insert into t values (now()), (1)",
            "insert into t values (now()), (now()) returning a",
            "insert t values (now()), (now())",
            "insert into t values ('a),(b', 'x')",
            "insert into t values (now(), 'a),(b')",
            "insert into t values (f(1), (2), (3))",
            "select a from `order-items`",
            "select a from `null`",
            "select a from `a  b`",
            "select 'a' 'b'",
            "select '/*', '*/'",
        ] {
            assert_eq!(id(statement.as_bytes()), None, "{statement}");
        }
    }
}
