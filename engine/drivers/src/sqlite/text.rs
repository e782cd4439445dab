//! The text protocol: statements with their parameters written in, parsed anew on each call.

use dyno_core::workload::{Op, Transaction, Value};
use std::io::Write;

/// A statement cut at its `?`.
pub struct Template(Vec<String>);

impl Template {
    /// Cuts `sql`, whose `?` never stand in quotes.
    pub fn new(sql: &str) -> Self {
        Self(sql.split('?').map(str::to_owned).collect())
    }

    /// Writes the statement with the operation's values into `out`, which is emptied first.
    pub fn render(&self, op: &Op, tx: &Transaction, out: &mut Vec<u8>) {
        out.clear();
        let (head, tail) = self.0.split_first().map_or(("", &[][..]), |(h, t)| (h.as_str(), t));
        out.extend_from_slice(head.as_bytes());
        for (value, part) in tx.values_of(op).iter().zip(tail) {
            match value {
                Value::Int(n) => {
                    // Writing to a vector cannot fail.
                    let _ = write!(out, "{n}");
                }
                Value::Text(range) => quote(tx.text_of(range), out),
            }
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// A string literal: SQLite knows no escape but the doubled quote.
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
