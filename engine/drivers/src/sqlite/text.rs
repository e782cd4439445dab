//! The text protocol: statements with inline parameters, parsed on each call.

use dyno_core::workload::{Op, Sql, Transaction, Value, put_decimal};
use std::io::Write;

/// Writes `sql` with the operation's values into `out`, which is cleared first.
pub fn render(sql: &Sql, op: &Op, tx: &Transaction, out: &mut Vec<u8>) {
    out.clear();
    let (head, tail) = sql.pieces().split_first().map_or(("", &[][..]), |(h, t)| (h.as_str(), t));
    out.extend_from_slice(head.as_bytes());
    for (value, part) in tx.values_of(op).iter().zip(tail) {
        literal(value, tx, out);
        out.extend_from_slice(part.as_bytes());
    }
}

/// Writes a literal. A negative number is in parentheses: after a minus it would begin a comment.
fn literal(value: &Value, tx: &Transaction, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = match value {
        Value::Int(n) if *n < 0 => write!(out, "({n})"),
        Value::Int(n) => write!(out, "{n}"),
        Value::Double(x) => write!(out, "({x:e})"),
        Value::Bool(value) => write!(out, "{}", u8::from(*value)),
        Value::Null => write!(out, "NULL"),
        Value::Decimal { unscaled, scale } => {
            out.push(b'(');
            put_decimal(*unscaled, *scale, out);
            out.push(b')');
            Ok(())
        }
        Value::Text(range) => {
            quote(tx.text_of(range), out);
            Ok(())
        }
    };
}

/// Writes a string literal: SQLite's only escape is the doubled quote.
fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in text {
        if byte == b'\'' {
            out.push(b'\'');
        }
        out.push(byte);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_as_literals() {
        let mut tx = Transaction::default();
        tx.int(-5);
        tx.value(Value::Decimal { unscaled: -105, scale: 2 });
        tx.value(Value::Double(1.5e300));
        tx.value(Value::Bool(true));
        tx.text(|text| text.extend_from_slice(b"it's \\"));
        tx.value(Value::Null);
        tx.op(0);
        let mut out = b"before".to_vec();
        render(&"SELECT 1-?, ?, ?, ?, ?, ?".into(), &tx.ops[0], &tx, &mut out);
        let sql = "SELECT 1-(-5), (-1.05), (1.5e300), 1, 'it''s \\', NULL";
        assert_eq!(String::from_utf8_lossy(&out), sql);
    }
}
