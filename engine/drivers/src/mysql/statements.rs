//! Encodes statements: split and checked once, then encoded without allocation, as the binary
//! execution of a prepared statement or as text.
//!
//! Sources: MySQL protocol, "COM_STMT_EXECUTE", "Binary Protocol Value"; MySQL reference manual,
//! "String Literals".

use super::flags::{command, field_type};
use super::packet;
use dyno_core::error::{Error, Kind as ErrorKind, Result};
use dyno_core::workload::{
    Command, Effect, Form, Op, ParamType, Request, Transaction, Value, put_decimal,
};
use memchr::{memchr, memchr3};

/// A statement, ready to be sent.
#[derive(Debug)]
pub struct Template {
    /// The workload's statement, with `BEGIN` and `COMMIT` filled in.
    pub statement: Request,
    /// Whether to prepare it. `BEGIN`, `COMMIT` and verbatim statements are always sent as text.
    pub prepares: bool,
}

impl Template {
    /// Checks one statement of a workload.
    pub fn new(statement: &Request) -> Result<Self> {
        let words = match statement.effect {
            Effect::BeginRead | Effect::BeginWrite => Some("BEGIN"),
            Effect::Commit => Some("COMMIT"),
            Effect::Rollback => Some("ROLLBACK"),
            Effect::Verbatim => Some(""),
            Effect::Read | Effect::Write => None,
        };
        let mut statement = statement.clone();
        if let Some(words) = words {
            statement.command = Command::Sql(words.into());
        }
        let (places, types) = (statement.sql().params(), statement.params.len());
        if places != types || places > usize::from(u16::MAX) {
            let class = &statement.class;
            let what = format!("statement {class} has {places} places for {types} parameters");
            return Err(Error::new(ErrorKind::Plan, what));
        }
        Ok(Self { statement, prepares: words.is_none() })
    }

    /// Number of parameters.
    pub fn params(&self) -> usize {
        self.statement.params.len()
    }

    /// Appends the request that prepares it.
    pub fn put_prepare(&self, out: &mut Vec<u8>) {
        put_command(out, command::STMT_PREPARE, self.statement.sql().to_string().as_bytes());
    }

    /// Appends the execution of prepared statement `id`. `with_types`: includes the parameters'
    /// types, which the first execution requires; the server stores them.
    #[inline]
    pub fn put_execute(
        &self,
        id: u32,
        with_types: bool,
        op: &Op,
        tx: &Transaction,
        out: &mut Vec<u8>,
    ) {
        let at = packet::start(out);
        let [a, b, c, d] = id.to_le_bytes();
        // No cursor (0), one iteration.
        out.extend_from_slice(&[command::STMT_EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
        let values = tx.values_of(op);
        let params = &self.statement.params;
        debug_assert_eq!(values.len(), params.len(), "parameters of {}", self.statement.class);
        if !params.is_empty() {
            let nulls = out.len();
            out.resize(nulls + params.len().div_ceil(8), 0);
            out.push(u8::from(with_types));
            if with_types {
                self.put_types(out);
            }
            for (index, (value, param)) in values.iter().zip(params).enumerate() {
                if !put_value(value, *param, tx, out) {
                    out[nulls + index / 8] |= 1 << (index % 8);
                }
            }
        }
        packet::finish(out, at, 0);
    }

    /// Integers are always sent in eight bytes: this never truncates a value, and the server
    /// compares them with an INTEGER column in the same way.
    fn put_types(&self, out: &mut Vec<u8>) {
        for param in &self.statement.params {
            out.push(match form(*param) {
                Form::Int | Form::Bool => field_type::LONGLONG,
                Form::Decimal => field_type::NEWDECIMAL,
                Form::Double => field_type::DOUBLE,
                Form::Text => field_type::VAR_STRING,
            });
            out.push(0);
        }
    }

    /// Appends the statement as text with its parameters. `backslash`: string literals have
    /// backslash escapes.
    #[inline]
    pub fn put_text(&self, backslash: bool, op: &Op, tx: &Transaction, out: &mut Vec<u8>) {
        let at = packet::start(out);
        out.push(command::QUERY);
        let pieces = self.statement.sql().pieces();
        let values = tx.values_of(op);
        if let (Effect::Verbatim, [Value::Text(text)]) = (self.statement.effect, values) {
            out.extend_from_slice(tx.text_of(text));
            packet::finish(out, at, 0);
            return;
        }
        debug_assert_eq!(values.len() + 1, pieces.len(), "of {}", self.statement.class);
        out.extend_from_slice(pieces[0].as_bytes());
        for (value, piece) in values.iter().zip(&pieces[1..]) {
            put_literal(value, backslash, tx, out);
            out.extend_from_slice(piece.as_bytes());
        }
        packet::finish(out, at, 0);
    }
}

/// The form of a parameter's values.
fn form(param: ParamType) -> Form {
    match param {
        ParamType::Int | ParamType::BigInt => Form::Int,
        ParamType::Text => Form::Text,
        ParamType::Inferred(form) => form,
    }
}

/// Appends a binary value of the type declared for `param`; false: it is NULL, which only the
/// bitmap encodes.
#[inline]
fn put_value(value: &Value, param: ParamType, tx: &Transaction, out: &mut Vec<u8>) -> bool {
    match (value, form(param)) {
        (Value::Int(value), Form::Int) => out.extend_from_slice(&value.to_le_bytes()),
        (Value::Text(range), Form::Text) => packet::put_lenenc_bytes(out, tx.text_of(range)),
        (Value::Bool(value), Form::Bool) => {
            out.extend_from_slice(&i64::from(*value).to_le_bytes());
        }
        (Value::Double(value), Form::Double) => out.extend_from_slice(&value.to_le_bytes()),
        (Value::Decimal { unscaled, scale }, Form::Decimal) => {
            // At most 22 digits and signs, so that the length fits one byte.
            let at = out.len();
            out.push(0);
            put_decimal(*unscaled, *scale, out);
            out[at] = (out.len() - at - 1) as u8;
        }
        (Value::Null, _) => return false,
        _ => {
            debug_assert!(false, "{value:?} for a parameter of {param:?}");
            return false;
        }
    }
    true
}

/// Appends a value in the text protocol. Numbers have no quotes: the server would compare strings
/// with a character column as characters.
#[inline]
fn put_literal(value: &Value, backslash: bool, tx: &Transaction, out: &mut Vec<u8>) {
    match value {
        Value::Int(value) => out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes()),
        Value::Text(range) => put_quoted(out, tx.text_of(range), backslash),
        Value::Decimal { unscaled, scale } => put_decimal(*unscaled, *scale, out),
        // With an exponent; otherwise the server reads a DECIMAL.
        Value::Double(value) => out.extend_from_slice(format!("{value:e}").as_bytes()),
        Value::Bool(value) => out.push(b'0' + u8::from(*value)),
        Value::Null => out.extend_from_slice(b"NULL"),
    }
}

/// Appends a command and its argument as one packet.
pub fn put_command(out: &mut Vec<u8>, command: u8, argument: &[u8]) {
    let at = packet::start(out);
    out.push(command);
    out.extend_from_slice(argument);
    packet::finish(out, at, 0);
}

/// Appends a string literal. Works on bytes, since no byte of a multi-byte UTF-8 character is
/// ASCII.
pub fn put_quoted(out: &mut Vec<u8>, text: &[u8], backslash: bool) {
    out.push(b'\'');
    let mut rest = text;
    // Zero bytes are legal in literals, but not in every tool that reads logs of them.
    let next = |rest: &[u8]| match backslash {
        true => memchr3(b'\'', b'\\', 0, rest),
        false => memchr(b'\'', rest),
    };
    while let Some(at) = next(rest) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'\'' => out.extend_from_slice(b"''"),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.extend_from_slice(b"\\\\"),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'\'');
}

/// Appends a name in backticks.
pub fn put_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(quoted(name).as_bytes());
}

/// The name in backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn template(sql: &str, params: &[ParamType]) -> Result<Template> {
        Template::new(&Request::new("c", Effect::Read, sql, params.to_vec()))
    }

    fn tx() -> Transaction {
        let mut tx = Transaction::default();
        tx.int(-5);
        tx.text(|arena| arena.extend_from_slice(b"o'k\\"));
        tx.op(0);
        tx
    }

    const SQL: &str = "UPDATE t SET c=? WHERE d=? LIMIT 1";
    const PARAMS: [ParamType; 2] = [ParamType::Int, ParamType::Text];

    #[test]
    fn what_is_verbatim_is_sent_as_it_stands() {
        let mut tx = Transaction::default();
        tx.text(|arena| arena.extend_from_slice(b"select '?\\', \xff"));
        tx.op(0);
        let template = Template::new(&Request::new("c", Effect::Verbatim, "", vec![])).unwrap();
        assert!(!template.prepares);
        let mut out = vec![];
        template.put_text(true, &tx.ops[0], &tx, &mut out);
        assert_eq!(out, b"\x0f\0\0\0\x03select '?\\', \xff");
    }

    #[test]
    fn text_puts_the_parameters_in_place() {
        let (tx, mut out) = (tx(), vec![]);
        let template = template(SQL, &PARAMS).unwrap();
        template.put_text(true, &tx.ops[0], &tx, &mut out);
        assert_eq!(packet::header(&out), Some((out.len() - 4, 0)));
        assert_eq!(&out[4..], b"\x03UPDATE t SET c=-5 WHERE d='o''k\\\\' LIMIT 1");
        out.clear();
        template.put_text(false, &tx.ops[0], &tx, &mut out);
        assert_eq!(&out[4..], b"\x03UPDATE t SET c=-5 WHERE d='o''k\\' LIMIT 1");
    }

    #[test]
    fn an_execution_has_the_documented_shape() {
        let (tx, mut out) = (tx(), vec![]);
        let template = template(SQL, &PARAMS).unwrap();
        template.put_execute(0x0102, true, &tx.ops[0], &tx, &mut out);
        let mut want = b"\x17\x02\x01\0\0\0\x01\0\0\0\0\x01\x08\0\xfd\0".to_vec();
        want.extend_from_slice(&(-5i64).to_le_bytes());
        want.extend_from_slice(b"\x04o'k\\");
        assert_eq!(&out[4..], want);
        let with_types = out.len();
        out.clear();
        template.put_execute(0x0102, false, &tx.ops[0], &tx, &mut out);
        assert_eq!(out.len(), with_types - 4);
        assert_eq!(out[15], 0);
    }

    /// Every form, with an unknown column.
    fn all_forms() -> (Template, Transaction) {
        let forms = [Form::Int, Form::Decimal, Form::Double, Form::Bool, Form::Text, Form::Int];
        let mut tx = Transaction::default();
        tx.int(5);
        tx.value(Value::Decimal { unscaled: -105, scale: 2 });
        tx.value(Value::Double(1.5e300));
        tx.value(Value::Bool(true));
        tx.text(|arena| arena.extend_from_slice(b"o'k"));
        tx.value(Value::Null);
        tx.op(0);
        let params = forms.map(ParamType::Inferred);
        (template("SELECT ?, ?, ?, ?, ?, ?", &params).unwrap(), tx)
    }

    #[test]
    fn every_form_of_value_has_its_type() {
        let (template, tx) = all_forms();
        let mut out = vec![];
        template.put_text(true, &tx.ops[0], &tx, &mut out);
        assert_eq!(&out[4..], b"\x03SELECT 5, -1.05, 1.5e300, 1, 'o''k', NULL");
        out.clear();
        template.put_execute(1, true, &tx.ops[0], &tx, &mut out);
        // The sixth is NULL and has a type all the same.
        let mut want = b"\x17\x01\0\0\0\0\x01\0\0\0\x20\x01".to_vec();
        want.extend_from_slice(b"\x08\0\xf6\0\x05\0\x08\0\xfd\0\x08\0");
        want.extend_from_slice(&5i64.to_le_bytes());
        want.extend_from_slice(b"\x05-1.05");
        want.extend_from_slice(&1.5e300f64.to_le_bytes());
        want.extend_from_slice(&1i64.to_le_bytes());
        want.extend_from_slice(b"\x03o'k");
        assert_eq!(&out[4..], want);
    }

    #[test]
    fn question_marks_in_quotes_stay() {
        let sql = dyno_core::workload::Sql::new(vec!["SELECT 'a?', ".into(), " -- ?".into()]);
        let statement = Request::new("s", Effect::Read, sql, vec![ParamType::Int]);
        let mut tx = Transaction::default();
        tx.int(7);
        tx.op(0);
        let mut out = vec![];
        Template::new(&statement).unwrap().put_text(true, &tx.ops[0], &tx, &mut out);
        assert_eq!(&out[4..], b"\x03SELECT 'a?', 7 -- ?");
    }

    #[test]
    fn no_parameters_no_bitmap() {
        let mut tx = Transaction::default();
        tx.op(0);
        let mut out = vec![];
        template("SELECT 1", &[]).unwrap().put_execute(7, true, &tx.ops[0], &tx, &mut out);
        assert_eq!(out.len(), 4 + 10);
    }

    #[test]
    fn question_marks_must_match_the_parameters() {
        assert_eq!(template("SELECT ?", &[]).unwrap_err().kind, ErrorKind::Plan);
    }

    #[test]
    fn names_cannot_break_out() {
        let mut out = vec![];
        put_name(&mut out, "a`b");
        assert_eq!(out, b"`a``b`");
    }

    /// Decodes a literal as the server does.
    fn read_literal(literal: &[u8], backslash: bool) -> Vec<u8> {
        let mut inner = literal[1..literal.len() - 1].iter();
        let mut text = vec![];
        while let Some(byte) = inner.next() {
            match byte {
                b'\'' => assert_eq!(inner.next(), Some(&b'\''), "a lone quote ends the literal"),
                b'\\' if backslash => {
                    let escaped = *inner.next().expect("a backslash escapes the closing quote");
                    text.push(if escaped == b'0' { 0 } else { escaped });
                    continue;
                }
                _ => {}
            }
            text.push(*byte);
        }
        text
    }

    proptest! {
        #[test]
        fn literals_come_back_in_both_modes(text: Vec<u8>, backslash: bool) {
            let mut out = vec![];
            put_quoted(&mut out, &text, backslash);
            prop_assert_eq!(read_literal(&out, backslash), text);
        }
    }
}
