//! Packets that are neither definition nor row, taken apart.
//!
//! Sources: MySQL protocol, "OK_Packet", "EOF_Packet", "Text Resultset", "COM_STMT_PREPARE
//! Response"; MariaDB knowledge base, "Result Set Packets" (metadata caching).

use super::errors::Refusal;
use super::flags::status;
use super::packet::{CONTROL_BYTES_MAX, Fields, HEADER_BYTES, broken, header};
use dyno_core::error::{Error, Result};

/// More columns than any server allows (4096).
const COLUMNS_MAX: u64 = 65_535;

/// The end of a statement without rows, or of rows where EOF packets are deprecated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Rows changed.
    pub affected: u64,
    /// Status flags.
    pub status: u16,
    /// The session may write from now on: said only where it is asked for (`SESSION_TRACK`).
    pub lifts_guard: bool,
}

/// Parses an OK packet's payload, its first byte included, which may be 0xfe.
pub fn ok(payload: &[u8]) -> Result<Done> {
    let mut fields = Fields(payload.get(1..).unwrap_or_default());
    let (Some(affected), Some(_insert_id), Some(status)) =
        (fields.lenenc(), fields.lenenc(), fields.u16())
    else {
        return Err(broken("an OK packet cut short"));
    };
    let lifts_guard = status & status::SESSION_CHANGED != 0 && lifts_guard(fields).unwrap_or(false);
    Ok(Done { affected, status, lifts_guard })
}

/// Whether what an OK packet tells behind its status flags has a session no longer read-only. None: it
/// ends too early.
#[cold]
fn lifts_guard(mut fields: Fields<'_>) -> Option<bool> {
    const VARIABLE: u8 = 0;
    let (_warnings, _info) = (fields.u16()?, fields.lenenc_bytes()?);
    let mut changes = Fields(fields.lenenc_bytes()??);
    while let Some(kind) = changes.u8() {
        let mut change = Fields(changes.lenenc_bytes()??);
        if kind == VARIABLE {
            let (name, value) = (change.lenenc_bytes()??, change.lenenc_bytes()??);
            let is_guard = name == b"tx_read_only" || name == b"transaction_read_only";
            if is_guard && !matches!(value, b"ON" | b"1") {
                return Some(true);
            }
        }
    }
    Some(false)
}

/// Parses what ends rows.
pub fn rows_end(payload: &[u8], deprecate_eof: bool) -> Result<Done> {
    if deprecate_eof {
        return ok(payload);
    }
    let mut fields = Fields(payload.get(1..).unwrap_or_default());
    let (Some(_warnings), Some(status)) = (fields.u16(), fields.u16()) else {
        return Err(broken("an EOF packet cut short"));
    };
    Ok(Done { affected: 0, status, lifts_guard: false })
}

/// Parses what begins rows: the number of columns, and whether their definitions follow.
pub fn column_count(payload: &[u8], caches_metadata: bool) -> Result<(u64, bool)> {
    let mut fields = Fields(payload);
    let columns = fields.lenenc().filter(|columns| (1..=COLUMNS_MAX).contains(columns));
    let Some(columns) = columns else { return Err(broken("an impossible column count")) };
    if !caches_metadata {
        return Ok((columns, true));
    }
    let flag = fields.u8().ok_or_else(|| broken("a column count without its metadata flag"))?;
    Ok((columns, flag != 0))
}

/// A prepared statement as the server numbers and counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Its number at the server.
    pub id: u32,
    /// Columns that it returns.
    pub columns: u16,
    /// Parameters that it takes.
    pub params: u16,
}

/// Parses the reply to a preparation.
pub fn prepared(payload: &[u8]) -> Result<Prepared> {
    let mut fields = Fields(payload.get(1..).unwrap_or_default());
    let (Some(id), Some(columns), Some(params)) = (fields.u32(), fields.u16(), fields.u16()) else {
        return Err(broken("the reply to a preparation cut short"));
    };
    Ok(Prepared { id, columns, params })
}

/// Reads bytes that nobody asked for: the server's farewell, once it is whole.
pub fn farewell(input: &[u8]) -> Result<Option<Refusal>> {
    let Some((length, _)) = header(input) else { return Ok(None) };
    if length == 0 || length > CONTROL_BYTES_MAX {
        return Err(unasked());
    }
    match input.get(HEADER_BYTES..HEADER_BYTES + length) {
        None => Ok(None),
        Some(payload) if payload[0] == 0xff => Refusal::parse(payload).map(Some),
        Some(_) => Err(unasked()),
    }
}

fn unasked() -> Error {
    broken("a packet that nobody asked for")
}
