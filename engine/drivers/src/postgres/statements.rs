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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn statement(sql: &str, params: &[ParamType]) -> Request {
        Request::new("test", workload::Effect::Read, sql, params.to_vec())
    }

    fn encode(sql: &str, params: &[ParamType], protocol: Protocol, tx: &Transaction) -> Vec<u8> {
        let statements = Statements::new(&[statement(sql, params)], protocol).unwrap();
        let mut out = b"before".to_vec();
        statements.request(&tx.ops[0], tx, false, &mut out);
        out.split_off(6)
    }

    fn one(fill: impl FnOnce(&mut Transaction)) -> Transaction {
        let mut tx = Transaction::default();
        fill(&mut tx);
        tx.op(0);
        tx
    }

    #[test]
    fn what_is_verbatim_is_one_query_in_any_protocol() {
        let tx = one(|tx| tx.text(|text| text.extend_from_slice(b"select '$1?'")));
        for protocol in [Protocol::Text, Protocol::Prepared] {
            let verbatim = Request::new("c", workload::Effect::Verbatim, "", vec![]);
            let statements = Statements::new(&[verbatim], protocol).unwrap();
            assert!(statements.prepare().is_empty());
            let mut out = Vec::new();
            statements.request(&tx.ops[0], &tx, false, &mut out);
            assert_eq!(out, b"Q\0\0\0\x11select '$1?'\0");
        }
    }

    #[test]
    fn a_point_select_is_bind_execute_sync() {
        let tx = one(|tx| tx.int(258));
        let sql = "SELECT c FROM t WHERE id=?";
        let bytes = encode(sql, &[ParamType::Int], Protocol::Prepared, &tx);
        let bind = b"B\0\0\0\x18\0s0\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\x01\x02\0\0";
        let rest = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(bytes, [&bind[..], &rest[..]].concat());
    }

    #[test]
    fn parse_messages_carry_types_and_numbered_parameters() {
        let statements = Statements::new(
            &[statement(
                "UPDATE t SET c=? WHERE id=? AND k=?",
                &[ParamType::Text, ParamType::Int, ParamType::BigInt],
            )],
            Protocol::Prepared,
        )
        .unwrap();
        let body =
            b"s0\0UPDATE t SET c=$1 WHERE id=$2 AND k=$3\0\0\x03\0\0\0\x19\0\0\0\x17\0\0\0\x14";
        let mut expected = vec![b'P', 0, 0, 0, body.len() as u8 + 4];
        expected.extend_from_slice(body);
        expected.extend_from_slice(b"S\0\0\0\x04");
        assert_eq!(statements.prepare(), expected);
        assert!(Statements::new(&[], Protocol::Prepared).unwrap().prepare().is_empty());
    }

    #[test]
    fn a_number_too_large_for_its_parameter_is_not_cut() {
        let tx = one(|tx| tx.int(1 << 40));
        let bytes = encode("SELECT ?", &[ParamType::Int], Protocol::Prepared, &tx);
        assert_eq!(bytes[15..27], [0, 0, 0, 8, 0, 0, 1, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn literals_are_safe() {
        let tx = one(|tx| {
            tx.int(-5);
            tx.int(i64::MIN);
            tx.int(7);
            tx.text(|text| text.extend_from_slice(br"it's \ ok"));
            tx.text(|text| text.extend_from_slice(b"a\0b"));
        });
        let params =
            [ParamType::Int, ParamType::BigInt, ParamType::Int, ParamType::Text, ParamType::Text];
        let bytes = encode("SELECT 1-?, ?, ?, ?, ?", &params, Protocol::Text, &tx);
        let sql = br"SELECT 1-(-5), '-9223372036854775808', 7, 'it''s \ ok', E'\000'";
        assert_eq!(&bytes[5..bytes.len() - 1], sql);
        let mut out = Vec::new();
        quoted(br"\'", true, &mut out);
        assert_eq!(out, br"'\\'''");
    }

    /// Every form, with an unknown column.
    fn all_forms() -> (Vec<ParamType>, Transaction) {
        use dyno_core::workload::Form;
        let forms = [Form::Int, Form::Decimal, Form::Double, Form::Bool, Form::Text, Form::Text];
        let tx = one(|tx| {
            tx.int(-5);
            tx.value(Value::Decimal { unscaled: -105, scale: 2 });
            tx.value(Value::Double(1.5e300));
            tx.value(Value::Bool(true));
            tx.text(|text| text.extend_from_slice(b"2024-02-29"));
            tx.value(Value::Null);
        });
        (forms.map(ParamType::Inferred).to_vec(), tx)
    }

    #[test]
    fn parameters_of_unknown_columns_have_no_type_in_both_protocols() {
        let (params, tx) = all_forms();
        let sql = "SELECT 1-?, ?, ?, ?, ?, ?";
        let bytes = encode(sql, &params, Protocol::Text, &tx);
        let expected = "SELECT 1-'-5', '-1.05', '1.5e300', 't', '2024-02-29', NULL";
        assert_eq!(&bytes[5..bytes.len() - 1], expected.as_bytes());
        let bytes = encode(sql, &params, Protocol::Prepared, &tx);
        let mut expected = b"\0s0\0\0\0\0\x06".to_vec();
        for text in ["-5", "-1.05", "1.5e300", "t", "2024-02-29"] {
            expected.extend_from_slice(&(text.len() as u32).to_be_bytes());
            expected.extend_from_slice(text.as_bytes());
        }
        expected.extend_from_slice(&[0xff; 4]);
        assert_eq!(&bytes[5..5 + expected.len()], expected);
        let statements = Statements::new(&[statement(sql, &params)], Protocol::Prepared).unwrap();
        let types = [&[0, 6][..], &[0; 24], b"S\0\0\0\x04"].concat();
        assert!(statements.prepare().ends_with(&types), "no types: the server infers them");
    }

    #[test]
    fn typed_and_untyped_parameters_have_a_format_each() {
        use dyno_core::workload::Form;
        let tx = one(|tx| {
            tx.int(1);
            tx.int(2);
        });
        let params = [ParamType::Int, ParamType::Inferred(Form::Int)];
        let bytes = encode("SELECT ?, ?", &params, Protocol::Prepared, &tx);
        let expected = b"\0s0\0\0\x02\0\x01\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x012\0\0";
        assert_eq!(&bytes[5..5 + expected.len()], expected);
    }

    #[test]
    fn question_marks_of_the_server_s_own_stay() {
        let tx = one(|tx| tx.int(7));
        let sql = workload::Sql::new(vec!["SELECT d ? 'k' AND id = ".into(), String::new()]);
        let params = vec![ParamType::BigInt];
        let statement = Request::new("s", workload::Effect::Read, sql, params);
        let text = Statements::new(std::slice::from_ref(&statement), Protocol::Text).unwrap();
        let mut out = Vec::new();
        text.request(&tx.ops[0], &tx, false, &mut out);
        assert_eq!(&out[5..], b"SELECT d ? 'k' AND id = 7\0");
        let prepared = Statements::new(&[statement], Protocol::Prepared).unwrap();
        let sql = b"SELECT d ? 'k' AND id = $1\0";
        assert!(prepared.prepare().windows(sql.len()).any(|window| window == sql));
    }

    #[test]
    fn an_error_names_the_parameter() {
        let mut named = statement("SELECT ?, ?", &[ParamType::Int, ParamType::Text]);
        named.names = vec!["id".into(), "city".into()];
        let statements = Statements::new(&[named], Protocol::Prepared).unwrap();
        assert_eq!(statements.name(0, Some(2)), "statement test, parameter 2 (:city)");
        assert_eq!(statements.name(0, Some(3)), "statement test");
        assert_eq!(statements.name(0, None), "statement test");
        assert_eq!(
            statements.describe_prepared(0, Some(1)),
            "to prepare statement `test` (SELECT $1, $2), parameter 1 (:id)"
        );
    }

    #[test]
    fn a_statement_must_fit_its_parameters() {
        let wrong = Statements::new(&[statement("SELECT ?, ?", &[ParamType::Int])], Protocol::Text);
        assert!(wrong.err().unwrap().what.contains("2 places for 1 parameters"));
    }

    /// Decodes a literal as PostgreSQL's lexer does.
    fn unquoted(literal: &[u8], backslashes: bool) -> Option<Vec<u8>> {
        let mut inner = literal.strip_prefix(b"'")?.strip_suffix(b"'")?.iter().peekable();
        let mut out = Vec::new();
        while let Some(&byte) = inner.next() {
            match byte {
                b'\'' if inner.next() != Some(&b'\'') => return None,
                b'\\' if backslashes => out.push(*inner.next()?),
                _ => out.push(byte),
            }
        }
        Some(out)
    }

    proptest! {
        #[test]
        fn quoting_round_trips(
            text in proptest::collection::vec(
                prop_oneof![Just(b'\''), Just(b'\\'), 1_u8..=255], 0..40),
            backslashes: bool,
        ) {
            let mut out = Vec::new();
            quoted(&text, backslashes, &mut out);
            prop_assert_eq!(unquoted(&out, backslashes), Some(text));
        }
    }
}
