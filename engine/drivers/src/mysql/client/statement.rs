//! A prepared statement, and the encoding of its executions.
//!
//! Source: MySQL protocol, "COM_STMT_EXECUTE".

use crate::mysql::column::Column;
use crate::mysql::control::Prepared;
use crate::mysql::flags::{command, field_type};
use crate::mysql::packet;
use dyno_core::driver::client::Bind;

/// A prepared statement of one connection.
#[derive(Debug)]
pub struct Statement {
    /// The server's statement id.
    pub id: u32,
    params: usize,
    /// Types of the parameters as the server knows them; empty before the first execution.
    types: Vec<u8>,
    /// Its columns, where the server omits their definitions from its replies.
    pub columns: Vec<Column>,
}

impl Statement {
    /// From the server's reply to the preparation.
    pub fn new(prepared: Prepared, columns: &[Column]) -> Self {
        Self {
            id: prepared.id,
            params: usize::from(prepared.params),
            types: vec![],
            columns: columns.to_vec(),
        }
    }

    /// Appends an execution. Includes types if they differ from those that the server knows; a NULL
    /// keeps the parameter's earlier type.
    #[inline]
    pub fn put_execute(&mut self, values: &[Bind<'_>], out: &mut Vec<u8>) {
        debug_assert_eq!(values.len(), self.params);
        let at = put_head(self.id, out);
        if self.params > 0 {
            let nulls = out.len();
            out.resize(nulls + self.params.div_ceil(8), 0);
            let changed = self.learn_types(values);
            out.push(u8::from(changed));
            if changed {
                self.types.iter().for_each(|kind| out.extend_from_slice(&[*kind, 0]));
            }
            for index in 0..self.params {
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

    /// Whether the types of `values` differ from those that the server knows; stores the new ones.
    #[inline]
    fn learn_types(&mut self, values: &[Bind<'_>]) -> bool {
        let mut changed = self.types.len() != self.params;
        self.types.resize(self.params, field_type::VAR_STRING);
        for (known, value) in self.types.iter_mut().zip(values) {
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
}

/// Appends the execution of an unknown statement, which the server refuses. No server assigns this
/// id (2^32 - 1 means the last statement to MariaDB).
#[cold]
pub fn put_unknown(out: &mut Vec<u8>) {
    let at = put_head(u32::MAX - 1, out);
    packet::finish(out, at, 0);
}

/// Begins an execution: no cursor (0), one iteration. Returns the offset of its packet.
#[inline]
fn put_head(id: u32, out: &mut Vec<u8>) -> usize {
    let at = packet::start(out);
    let [a, b, c, d] = id.to_le_bytes();
    out.extend_from_slice(&[command::STMT_EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_go_along_only_when_they_change() {
        let mut statement = Statement::new(Prepared { id: 7, columns: 0, params: 2 }, &[]);
        let mut execute = |values: &[Bind<'_>]| {
            let mut out = vec![];
            statement.put_execute(values, &mut out);
            assert_eq!(out[4..14], [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0]);
            out[14..].to_vec()
        };
        let typed = [0, 1, 8, 0, 0xfd, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, b'x'];
        assert_eq!(execute(&[Bind::Int(1), Bind::Text(b"x")]), typed);
        assert_eq!(execute(&[Bind::Int(1), Bind::Text(b"x")]), [&[0, 0][..], &typed[6..]].concat());
        // A NULL keeps the earlier type.
        assert_eq!(execute(&[Bind::Null, Bind::Null]), [3, 0]);
        assert_eq!(execute(&[Bind::Int(1), Bind::Null]), [&[2, 0][..], &typed[6..14]].concat());
        let double = execute(&[Bind::Double(1.0), Bind::Null]);
        assert_eq!(double[..6], [2, 1, 5, 0, 0xfd, 0]);
    }

    #[test]
    fn the_ninth_null_is_in_the_second_byte() {
        let mut statement = Statement::new(Prepared { id: 1, columns: 0, params: 9 }, &[]);
        let mut out = vec![];
        statement.put_execute(&[Bind::Null; 9], &mut out);
        assert_eq!(out[14..17], [0xff, 1, 1]);
    }
}
