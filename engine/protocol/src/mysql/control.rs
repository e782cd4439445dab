//! Parses packets that are neither definition nor row.
//!
//! Sources: MySQL protocol, "OK_Packet", "EOF_Packet", "Text Resultset", "COM_STMT_PREPARE
//! Response"; MariaDB knowledge base, "Result Set Packets" (metadata caching).

use super::flags::status;
use super::packet::broken;
use crate::bytes::Bytes;
use dyno_core::error::Result;

/// Sanity limit on the number of columns; servers allow 4096.
const COLUMNS_MAX: u64 = 65_535;

/// The end of a statement without rows, or of rows where EOF packets are deprecated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Rows changed.
    pub affected: u64,
    /// Status flags.
    pub status: u16,
    /// The session is no longer read-only; reported only with `SESSION_TRACK`.
    pub lifts_guard: bool,
}

/// Parses an OK packet's payload, including its first byte, which may be 0xfe.
pub fn ok(payload: &[u8]) -> Result<Done> {
    let mut fields = Bytes(payload.get(1..).unwrap_or_default());
    let (Some(affected), Some(_insert_id), Some(status)) =
        (fields.lenenc(), fields.lenenc(), fields.u16())
    else {
        return Err(broken("an OK packet cut short"));
    };
    let lifts_guard = status & status::SESSION_CHANGED != 0 && lifts_guard(fields).unwrap_or(false);
    Ok(Done { affected, status, lifts_guard })
}

/// Whether an OK packet's session state changes end the read-only mode. None: the packet ends too
/// early.
#[cold]
fn lifts_guard(mut fields: Bytes<'_>) -> Option<bool> {
    const VARIABLE: u8 = 0;
    let (_warnings, _info) = (fields.u16()?, fields.nullable()?);
    let mut changes = Bytes(fields.lenenc_string()?);
    while let Some(kind) = changes.byte() {
        let mut change = Bytes(changes.lenenc_string()?);
        if kind == VARIABLE {
            let (name, value) = (change.lenenc_string()?, change.lenenc_string()?);
            let is_guard = name == b"tx_read_only" || name == b"transaction_read_only";
            if is_guard && !matches!(value, b"ON" | b"1") {
                return Some(true);
            }
        }
    }
    Some(false)
}

/// Parses the packet that ends rows: OK or EOF.
pub fn rows_end(payload: &[u8], deprecate_eof: bool) -> Result<Done> {
    if deprecate_eof {
        return ok(payload);
    }
    let mut fields = Bytes(payload.get(1..).unwrap_or_default());
    let (Some(_warnings), Some(status)) = (fields.u16(), fields.u16()) else {
        return Err(broken("an EOF packet cut short"));
    };
    Ok(Done { affected: 0, status, lifts_guard: false })
}

/// Parses the packet that begins rows: the number of columns, and whether their definitions follow.
pub fn column_count(payload: &[u8], caches_metadata: bool) -> Result<(u64, bool)> {
    let mut fields = Bytes(payload);
    let columns = fields.lenenc().filter(|columns| (1..=COLUMNS_MAX).contains(columns));
    let Some(columns) = columns else { return Err(broken("an impossible column count")) };
    if !caches_metadata {
        return Ok((columns, true));
    }
    let flag = fields.byte().ok_or_else(|| broken("a column count without its metadata flag"))?;
    Ok((columns, flag != 0))
}

/// A prepared statement's id and counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The server's statement id.
    pub id: u32,
    /// Number of columns in its result.
    pub columns: u16,
    /// Number of its parameters.
    pub params: u16,
}

/// Parses the reply to a preparation.
pub fn prepared(payload: &[u8]) -> Result<Prepared> {
    let mut fields = Bytes(payload.get(1..).unwrap_or_default());
    let (Some(id), Some(columns), Some(params)) = (fields.u32(), fields.u16(), fields.u16()) else {
        return Err(broken("the reply to a preparation cut short"));
    };
    Ok(Prepared { id, columns, params })
}
