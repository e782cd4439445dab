//! A group's statements, encoded once: each request writes only its parameters.
//!
//! Prepared: `Bind` (unnamed portal) + `Execute` + `Sync` after a constant prefix; binary
//! parameters. Results are in text format, as for most clients: binary was no cheaper for the
//! server in any statement of `oltp` (PostgreSQL 15, CPU of the backend, text against binary: point
//! select 8.9 and 8.8 us, range of 100 rows 41.5 and 41.1, sum 31.0 and 30.6, 100 rows of two
//! integers 36.9 and 37.5; medians of seven alternating rounds). No `Describe`: workloads do not
//! read columns.
//!
//! Text: one simple `Query` with literals.

use super::messages;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Protocol;
use dyno_core::workload::{self, Op, ParamType, Request, Transaction, Value, put_decimal};
use dyno_protocol::postgres::oid;

/// The bytes after the parameters: no result format codes (text), then `Execute` of the unnamed
/// portal without a row limit, then `Sync`.
const BIND_TAIL_AND_EXECUTE: [u8; 17] = [0, 0, b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, b'S', 0, 0, 0, 4];
/// Number of its bytes that belong to `Bind`.
const BIND_TAIL_BYTES: usize = 2;

/// All statements of a group.
pub(super) struct Statements {
    encoders: Vec<Encoder>,
    /// `Parse` of each prepared statement and one `Sync`; empty in the text protocol.
    prepare: Vec<u8>,
    /// Index into `encoders` of each `Parse`, in order.
    prepared: Vec<usize>,
    /// The workload's statements, for messages.
    sources: Vec<Request>,
}

/// The kinds of requests whose replies are read differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// A statement whose rows are counted.
    Operation,
    /// A statement whose rows are stored.
    Kept,
    /// `COMMIT`.
    Commit,
}

/// One statement, ready to be sent.
enum Encoder {
    /// `BEGIN`, `ROLLBACK`: no parameters. The session sets the isolation level, so read-only and
    /// writing transactions begin alike.
    Fixed(Vec<u8>),
    /// `COMMIT`, a separate kind because the server may reply with `ROLLBACK`.
    Commit(Vec<u8>),
    /// `prefix`: tag, placeholder for the length, portal, name and parameter formats.
    Bind { prefix: Vec<u8>, params: Vec<ParamType> },
    /// The only value is the statement's text.
    Verbatim,
    /// SQL split at its parameters: the text before the first, and each parameter with the text
    /// after it.
    Text { first: Vec<u8>, rest: Vec<(ParamType, Vec<u8>)> },
}

impl Statements {
    pub fn new(statements: &[Request], protocol: Protocol) -> Result<Self> {
        let mut this = Self {
            encoders: Vec::with_capacity(statements.len()),
            prepare: Vec::new(),
            prepared: Vec::new(),
            sources: Vec::with_capacity(statements.len()),
        };
        for statement in statements {
            this.add(statement, protocol)?;
        }
        if !this.prepared.is_empty() {
            this.prepare.extend_from_slice(&messages::SYNC);
        }
        Ok(this)
    }

    fn add(&mut self, statement: &Request, protocol: Protocol) -> Result<()> {
        check(statement)?;
        let encoder = match (statement.effect, protocol) {
            (workload::Effect::BeginRead | workload::Effect::BeginWrite, _) => {
                Encoder::Fixed(simple(b"BEGIN"))
            }
            (workload::Effect::Rollback, _) => Encoder::Fixed(simple(b"ROLLBACK")),
            (workload::Effect::Commit, _) => Encoder::Commit(simple(b"COMMIT")),
            (workload::Effect::Verbatim, _) => Encoder::Verbatim,
            (_, Protocol::Text) => {
                let pieces = statement.sql().pieces().iter();
                let mut pieces = pieces.map(|piece| piece.as_bytes().to_vec());
                let first = pieces.next().unwrap_or_default();
                Encoder::Text {
                    first,
                    rest: statement.params.iter().copied().zip(pieces).collect(),
                }
            }
            (_, Protocol::Prepared) => self.bind(statement),
        };
        self.encoders.push(encoder);
        self.sources.push(statement.clone());
        Ok(())
    }

    fn bind(&mut self, statement: &Request) -> Encoder {
        let index = self.encoders.len();
        let name = format!("s{index}");
        let types: Vec<u32> = statement.params.iter().map(|&param| type_of(param)).collect();
        let sql = statement.sql().with(|n, out| {
            out.push('$');
            out.push_str(itoa::Buffer::new().format(n + 1));
        });
        messages::parse(name.as_bytes(), sql.as_bytes(), &types, &mut self.prepare);
        self.prepared.push(index);
        let mut prefix = vec![b'B', 0, 0, 0, 0, 0];
        messages::string(name.as_bytes(), &mut prefix);
        put_formats(&statement.params, &mut prefix);
        Encoder::Bind { prefix, params: statement.params.clone() }
    }

    /// Messages that prepare all statements; empty if there are none.
    pub fn prepare(&self) -> &[u8] {
        &self.prepare
    }

    /// Number of statements that [`prepare`](Self::prepare) prepares.
    pub fn prepared(&self) -> usize {
        self.prepared.len()
    }

    /// Names a statement of the group, and one of its parameters (from 1), for an error message.
    pub fn name(&self, statement: u16, parameter: Option<usize>) -> String {
        self.sources.get(usize::from(statement)).map_or_else(String::new, |statement| {
            format!("statement {}{}", statement.class, of_parameter(statement, parameter))
        })
    }

    /// Names the statement of the `number`-th `Parse`, for an error that may concern one of its
    /// parameters (from 1).
    pub fn describe_prepared(&self, number: usize, parameter: Option<usize>) -> String {
        match self.prepared.get(number) {
            Some(&index) => {
                let statement = &self.sources[index];
                let class = &statement.class;
                let about = of_parameter(statement, parameter);
                let sql = statement.sql().with(|n, out| out.push_str(&format!("${}", n + 1)));
                format!("to prepare statement `{class}` ({sql}){about}")
            }
            None => "to prepare the statements".to_owned(),
        }
    }

    /// Appends the request for `op`; returns its kind.
    /// `backslashes`: a backslash in a literal must be doubled.
    #[inline]
    pub fn request(&self, op: &Op, tx: &Transaction, backslashes: bool, out: &mut Vec<u8>) -> Sent {
        match &self.encoders[usize::from(op.request)] {
            Encoder::Bind { prefix, params } => bind(prefix, params, op, tx, out),
            Encoder::Text { first, rest } => {
                messages::message(b'Q', out, |out| {
                    out.extend_from_slice(first);
                    text(rest, op, tx, backslashes, out);
                });
            }
            Encoder::Fixed(bytes) => out.extend_from_slice(bytes),
            Encoder::Verbatim => {
                if let [Value::Text(text)] = tx.values_of(op) {
                    messages::query(tx.text_of(text), out);
                }
            }
            Encoder::Commit(bytes) => {
                out.extend_from_slice(bytes);
                return Sent::Commit;
            }
        }
        if self.sources[usize::from(op.request)].keeps { Sent::Kept } else { Sent::Operation }
    }
}

fn of_parameter(statement: &Request, parameter: Option<usize>) -> String {
    match parameter.and_then(|number| number.checked_sub(1)) {
        Some(index) if index < statement.params.len() => format!(", {}", statement.name_of(index)),
        _ => String::new(),
    }
}

fn check(statement: &Request) -> Result<()> {
    let places = statement.sql().params();
    let what = if places != statement.params.len() {
        format!("has {places} places for {} parameters", statement.params.len())
    } else if statement.sql().pieces().iter().any(|piece| piece.contains('\0')) {
        "holds a NUL character".to_owned()
    } else if statement.params.len() > usize::from(u16::MAX) {
        format!("has more than {} parameters", u16::MAX)
    } else {
        return Ok(());
    };
    Err(Error::new(Kind::Plan, format!("statement `{}` {what}", statement.class)))
}

/// Type of a parameter; 0 lets the server infer it from the context.
fn type_of(param: ParamType) -> u32 {
    match param {
        ParamType::Int => oid::INT4,
        ParamType::BigInt => oid::INT8,
        ParamType::Text => oid::TEXT,
        ParamType::Inferred(_) => 0,
    }
}

/// Appends the format codes of `Bind`: 1 is binary, 0 is text, which every type supports. One code
/// applies to all parameters; no code means text.
fn put_formats(params: &[ParamType], prefix: &mut Vec<u8>) {
    let inferred = |param: &ParamType| matches!(param, ParamType::Inferred(_));
    if params.iter().all(inferred) {
        prefix.extend_from_slice(&[0, 0]);
    } else if !params.iter().any(inferred) {
        prefix.extend_from_slice(&[0, 1, 0, 1]);
    } else {
        prefix.extend_from_slice(&(params.len() as u16).to_be_bytes());
        params.iter().for_each(|param| prefix.extend_from_slice(&[0, u8::from(!inferred(param))]));
    }
}

fn simple(sql: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    messages::query(sql, &mut out);
    out
}

#[inline]
fn bind(prefix: &[u8], params: &[ParamType], op: &Op, tx: &Transaction, out: &mut Vec<u8>) {
    let start = out.len();
    let values = tx.values_of(op);
    debug_assert_eq!(values.len(), params.len());
    out.extend_from_slice(prefix);
    out.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for (index, value) in values.iter().enumerate() {
        parameter(value, params.get(index).copied(), tx, out);
    }
    out.extend_from_slice(&BIND_TAIL_AND_EXECUTE);
    let end = out.len() - (BIND_TAIL_AND_EXECUTE.len() - BIND_TAIL_BYTES);
    messages::set_length(out, start + 1, end);
}

#[inline]
fn parameter(value: &Value, param: Option<ParamType>, tx: &Transaction, out: &mut Vec<u8>) {
    match value {
        Value::Int(number) => match (param, i32::try_from(*number)) {
            (Some(ParamType::Int), Ok(number)) => {
                let [a, b, c, d] = number.to_be_bytes();
                out.extend_from_slice(&[0, 0, 0, 4, a, b, c, d]);
            }
            (Some(ParamType::Text | ParamType::Inferred(_)), _) => {
                sized(itoa::Buffer::new().format(*number).as_bytes(), out)
            }
            // Also a number that does not fit an `Int`: the server refuses its size (22P03),
            // whereas a truncated number would silently select another row.
            _ => sized(&number.to_be_bytes(), out),
        },
        Value::Text(range) => sized(tx.text_of(range), out),
        Value::Null => out.extend_from_slice(&u32::MAX.to_be_bytes()),
        Value::Decimal { .. } | Value::Double(_) | Value::Bool(_) => {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            put_text(value, out);
            let bytes = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&bytes.to_be_bytes());
        }
    }
}

/// Appends the text form of a number or boolean.
fn put_text(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Value::Decimal { unscaled, scale } => put_decimal(*unscaled, *scale, out),
        Value::Double(number) => out.extend_from_slice(format!("{number:e}").as_bytes()),
        Value::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Value::Null | Value::Text(_) => debug_assert!(false, "{value:?} has a form of its own"),
    }
}

#[inline]
fn sized(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends each value with the text after it, and the terminator of the string.
#[inline]
fn text(
    pieces: &[(ParamType, Vec<u8>)],
    op: &Op,
    tx: &Transaction,
    backslashes: bool,
    out: &mut Vec<u8>,
) {
    let values = tx.values_of(op);
    debug_assert_eq!(values.len(), pieces.len());
    for (index, (param, piece)) in pieces.iter().enumerate() {
        match values.get(index) {
            Some(value) => literal(value, *param, tx, backslashes, out),
            // Causes a syntax error; an omission might change the meaning of a WHERE.
            None => out.push(b'?'),
        }
        out.extend_from_slice(piece);
    }
    out.push(0);
}

#[inline]
fn literal(
    value: &Value,
    param: ParamType,
    tx: &Transaction,
    backslashes: bool,
    out: &mut Vec<u8>,
) {
    match value {
        Value::Text(range) => quoted(tx.text_of(range), backslashes, out),
        Value::Null => out.extend_from_slice(b"NULL"),
        // A quoted literal has no type yet and gets it from its context, as does a parameter of
        // unknown type: what works prepared works as text.
        Value::Int(_) | Value::Decimal { .. } | Value::Double(_) | Value::Bool(_)
            if matches!(param, ParamType::Inferred(_)) =>
        {
            out.push(b'\'');
            put_text(value, out);
            out.push(b'\'');
        }
        // Without parentheses a negative number after a minus would begin a comment.
        Value::Int(number) if *number < 0 && *number != i64::MIN => {
            out.push(b'(');
            out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
            out.push(b')');
        }
        // PostgreSQL reads -9223372036854775808 as a negated `numeric`; in quotes it gets the
        // column's type.
        Value::Int(i64::MIN) => out.extend_from_slice(b"'-9223372036854775808'"),
        Value::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Value::Decimal { .. } | Value::Double(_) | Value::Bool(_) => {
            debug_assert!(false, "{value:?} for a parameter of {param:?}");
            out.push(b'?');
        }
    }
}

/// Appends `text` as a string literal. `backslashes`: the session has
/// `standard_conforming_strings = off`, where a backslash escapes.
fn quoted(text: &[u8], backslashes: bool, out: &mut Vec<u8>) {
    if text.contains(&0) {
        // PostgreSQL's values cannot contain a NUL. The server refuses this form (22021), as it
        // does for a binary parameter; a raw NUL would end the message early.
        out.extend_from_slice(b"E'\\000'");
        return;
    }
    out.push(b'\'');
    let special = |byte: &u8| *byte == b'\'' || (backslashes && *byte == b'\\');
    if text.iter().any(special) {
        for byte in text {
            if special(byte) {
                out.push(*byte);
            }
            out.push(*byte);
        }
    } else {
        out.extend_from_slice(text);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests;
