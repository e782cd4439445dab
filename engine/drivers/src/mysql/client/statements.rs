//! Prepared statements of one connection: at the server, or, where statements travel as text or the
//! server cannot prepare one, here.
//!
//! Sources: MySQL protocol, "COM_STMT_EXECUTE"; MySQL reference manual, "Comments", "String
//! Literals", "SQL Syntax Permitted in Prepared Statements".

use super::binary::Column;
use crate::mysql::control::Prepared;
use crate::mysql::flags::{command, field_type};
use crate::mysql::packet;
use crate::mysql::statement::{put_command, put_quoted};
use dyno_core::client::Bind;

/// A number that no server gives to a statement (2^32 - 1 means the last one to MariaDB).
const UNKNOWN: u32 = u32::MAX - 1;

/// A prepared statement.
#[derive(Debug)]
pub struct Statement {
    place: Place,
    params: u16,
    /// Types of the parameters as the server knows them; empty until it does.
    types: Vec<u8>,
    /// Its columns, where the server leaves their definitions out of its replies.
    pub columns: Vec<Column>,
}

#[derive(Debug)]
enum Place {
    /// At the server, by its number there.
    Server(u32),
    /// Here, cut at its parameters.
    Here(Vec<Vec<u8>>),
    /// Closed: its place is free.
    Closed,
}

/// All statements of a connection. Their numbers are never those of an earlier connection.
#[derive(Debug, Default)]
pub struct Statements {
    first: u32,
    all: Vec<Statement>,
    free: Vec<u32>,
}

impl Statements {
    /// The connection is a new one.
    pub fn clear(&mut self) {
        self.first = self.first.wrapping_add(self.all.len() as u32);
        self.all.clear();
        self.free.clear();
    }

    /// One statement, by its number.
    pub fn get(&self, number: u32) -> Option<&Statement> {
        self.all.get(number.wrapping_sub(self.first) as usize)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Statement> {
        self.all.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// Keeps one that the server has prepared. Returns its number.
    pub fn add(&mut self, prepared: Prepared, columns: &[Column]) -> u32 {
        let (place, columns) = (Place::Server(prepared.id), columns.to_vec());
        self.put(Statement { place, params: prepared.params, types: vec![], columns })
    }

    /// Keeps one here. Returns its number and how many parameters it has.
    pub fn add_here(&mut self, sql: &[u8]) -> (u32, u16) {
        let pieces = split(sql);
        let params = (pieces.len() - 1).min(usize::from(u16::MAX)) as u16;
        let place = Place::Here(pieces);
        (self.put(Statement { place, params, types: vec![], columns: vec![] }), params)
    }

    fn put(&mut self, statement: Statement) -> u32 {
        let index = match self.free.pop() {
            Some(index) => {
                self.all[index as usize] = statement;
                index
            }
            None => {
                self.all.push(statement);
                self.all.len() as u32 - 1
            }
        };
        self.first.wrapping_add(index)
    }

    /// Appends what ends a statement, if the server knows it.
    pub fn close(&mut self, number: u32, out: &mut Vec<u8>) {
        let Some(statement) = self.get_mut(number) else { return };
        match std::mem::replace(&mut statement.place, Place::Closed) {
            Place::Server(id) => put_command(out, command::STMT_CLOSE, &id.to_le_bytes()),
            Place::Here(_) => {}
            Place::Closed => return,
        }
        self.free.push(number.wrapping_sub(self.first));
    }

    /// Appends the execution of a statement; the server refuses one that does not exist. Returns
    /// whether rows come back as binary.
    #[inline]
    pub fn put_execute(
        &mut self,
        number: u32,
        values: &[Bind<'_>],
        backslash: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        match self.get_mut(number) {
            Some(Statement { place: Place::Server(id), params, types, .. }) => {
                debug_assert_eq!(values.len(), usize::from(*params));
                put_binary(*id, usize::from(*params), types, values, out);
            }
            Some(Statement { place: Place::Here(pieces), .. }) => {
                put_text(pieces, values, backslash, out);
                return false;
            }
            _ => put_binary(UNKNOWN, 0, &mut vec![], &[], out),
        }
        true
    }
}

/// Appends a binary execution. Types go along when they are not what the server knows; a NULL takes
/// whatever type the parameter had.
#[inline]
fn put_binary(id: u32, params: usize, types: &mut Vec<u8>, values: &[Bind<'_>], out: &mut Vec<u8>) {
    let at = packet::start(out);
    let [a, b, c, d] = id.to_le_bytes();
    // No cursor (0), one iteration.
    out.extend_from_slice(&[command::STMT_EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
    if params > 0 {
        let nulls = out.len();
        out.resize(nulls + params.div_ceil(8), 0);
        let changed = learn_types(types, params, values);
        out.push(u8::from(changed));
        if changed {
            types.iter().for_each(|kind| out.extend_from_slice(&[*kind, 0]));
        }
        for index in 0..params {
            match values.get(index).unwrap_or(&Bind::Null) {
                Bind::Null => out[nulls + index / 8] |= 1 << (index % 8),
                Bind::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
                Bind::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
                Bind::Text(bytes) => packet::put_lenenc_bytes(out, bytes),
            }
        }
    }
    packet::finish(out, at, 0);
}

/// Whether the types of `values` are others than `types`, which become theirs.
#[inline]
fn learn_types(types: &mut Vec<u8>, params: usize, values: &[Bind<'_>]) -> bool {
    let mut changed = types.len() != params;
    types.resize(params, field_type::VAR_STRING);
    for (known, value) in types.iter_mut().zip(values) {
        let kind = match value {
            Bind::Null => continue,
            Bind::Int(_) => field_type::LONGLONG,
            Bind::Double(_) => field_type::DOUBLE,
            Bind::Text(_) => field_type::VAR_STRING,
        };
        changed |= *known != kind;
        *known = kind;
    }
    changed
}

/// Appends a statement as text, values in place.
fn put_text(pieces: &[Vec<u8>], values: &[Bind<'_>], backslash: bool, out: &mut Vec<u8>) {
    let at = packet::start(out);
    out.push(command::QUERY);
    out.extend_from_slice(&pieces[0]);
    for (index, piece) in pieces[1..].iter().enumerate() {
        match values.get(index).unwrap_or(&Bind::Null) {
            Bind::Null => out.extend_from_slice(b"NULL"),
            Bind::Int(value) => {
                out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
            }
            // With an exponent, or the server takes it for a decimal.
            Bind::Double(value) => out.extend_from_slice(format!("{value:e}").as_bytes()),
            Bind::Text(bytes) => put_quoted(out, bytes, backslash),
        }
        out.extend_from_slice(piece);
    }
    packet::finish(out, at, 0);
}

/// Cuts a statement at its parameters: question marks that are not in quotes or comments.
pub fn split(sql: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = vec![];
    let (mut from, mut at) = (0, 0);
    while at < sql.len() {
        if sql[at] == b'?' {
            pieces.push(sql[from..at].to_vec());
            from = at + 1;
        }
        at = skip(sql, at);
    }
    pieces.push(sql[from..].to_vec());
    pieces
}

/// Where what begins at `at` ends: a literal, a comment, or one byte.
fn skip(sql: &[u8], at: usize) -> usize {
    let until = |from: usize, end: &[u8]| {
        let found = memchr::memmem::find(&sql[from.min(sql.len())..], end);
        found.map_or(sql.len(), |offset| from + offset + end.len())
    };
    let next = sql.get(at + 1).copied();
    match (sql[at], next) {
        (quote @ (b'\'' | b'"' | b'`'), _) => literal_end(sql, at, quote),
        (b'#', _) => until(at, b"\n"),
        // Two dashes are a comment only with a blank behind them.
        (b'-', Some(b'-')) if sql.get(at + 2).is_none_or(u8::is_ascii_whitespace) => {
            until(at, b"\n")
        }
        (b'/', Some(b'*')) => until(at + 2, b"*/"),
        _ => at + 1,
    }
}

/// Where the literal that begins at `at` ends. A doubled quote ends one and begins the next.
fn literal_end(sql: &[u8], at: usize, quote: u8) -> usize {
    let mut end = at + 1;
    while let Some(byte) = sql.get(end) {
        match *byte {
            b'\\' if quote != b'`' => end += 1,
            byte if byte == quote => return end + 1,
            _ => {}
        }
        end += 1;
    }
    sql.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(sql: &str) -> Vec<String> {
        split(sql.as_bytes()).into_iter().map(|piece| String::from_utf8(piece).unwrap()).collect()
    }

    #[test]
    fn question_marks_in_quotes_and_comments_are_no_parameters() {
        assert_eq!(pieces("SELECT ?, '?', ?"), ["SELECT ", ", '?', ", ""]);
        for sql in [
            "SELECT 'it''s ?'",
            r"SELECT 'it\'s ?'",
            r#"SELECT "\\\"?" "#,
            "SELECT `a?`",
            "SELECT 1 -- ?\n",
            "SELECT 1 # ?",
            "SELECT /* ? */ 1 /* ?",
            "SELECT '?",
            r"SELECT '?\",
        ] {
            assert_eq!(pieces(sql), [sql]);
        }
        assert_eq!(pieces("SELECT 1--?"), ["SELECT 1--", ""]);
        assert_eq!(pieces("SELECT 1 -- x\n?"), ["SELECT 1 -- x\n", ""]);
    }

    #[test]
    fn text_has_its_values_in_place() {
        let mut statements = Statements::default();
        let (number, params) = statements.add_here(b"INSERT INTO t VALUES (?, ?, ?, ?)");
        assert_eq!(params, 4);
        let values = [Bind::Int(-7), Bind::Double(0.5), Bind::Text(br"it's \ x"), Bind::Null];
        let mut out = vec![];
        assert!(!statements.put_execute(number, &values, true, &mut out));
        let text = String::from_utf8(out[5..].to_vec()).unwrap();
        assert_eq!(text, r"INSERT INTO t VALUES (-7, 5e-1, 'it''s \\ x', NULL)");
        out.clear();
        statements.close(number, &mut out);
        assert!(out.is_empty(), "the server knows nothing of it");
    }

    #[test]
    fn types_go_along_only_when_they_change() {
        let mut statements = Statements::default();
        let number = statements.add(Prepared { id: 7, columns: 0, params: 2 }, &[]);
        let mut execute = |values: &[Bind<'_>]| {
            let mut out = vec![];
            assert!(statements.put_execute(number, values, true, &mut out));
            assert_eq!(out[4..14], [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0]);
            out[14..].to_vec()
        };
        let typed = [&[0, 1, 8, 0, 0xfd, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, b'x'][..]].concat();
        assert_eq!(execute(&[Bind::Int(1), Bind::Text(b"x")]), typed);
        assert_eq!(execute(&[Bind::Int(1), Bind::Text(b"x")]), [&[0, 0][..], &typed[6..]].concat());
        // A NULL has the type that was there.
        assert_eq!(execute(&[Bind::Null, Bind::Null]), [3, 0]);
        assert_eq!(execute(&[Bind::Int(1), Bind::Null]), [&[2, 0][..], &typed[6..14]].concat());
        let double = execute(&[Bind::Double(1.0), Bind::Null]);
        assert_eq!(double[..6], [2, 1, 5, 0, 0xfd, 0]);
    }

    #[test]
    fn numbers_are_used_again_once_closed_but_not_over_connections() {
        let mut statements = Statements::default();
        let prepared = Prepared { id: 7, columns: 0, params: 0 };
        let first = statements.add(prepared, &[]);
        let second = statements.add(prepared, &[]);
        let mut out = vec![];
        statements.close(first, &mut out);
        assert_eq!(out, [5, 0, 0, 0, 0x19, 7, 0, 0, 0]);
        statements.close(first, &mut out);
        assert_eq!(out.len(), 9, "closed once");
        assert_eq!(statements.add(prepared, &[]), first);
        statements.clear();
        assert!(statements.get(second).is_none());
        out.clear();
        statements.put_execute(second, &[], true, &mut out);
        assert_eq!(out[5..9], UNKNOWN.to_le_bytes());
        assert!(![first, second].contains(&statements.add(prepared, &[])));
    }
}
