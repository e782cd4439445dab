//! Replay file: the statements of a server's sessions in order and with their times, extracted from
//! a log to be sent again.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | `dynotrac`, version (u16), language (1 MySQL, 2 PostgreSQL), zeros |
//! | blocks | payload's length (u32), its CRC-32 (u32), payload |
//! | footer | payload, its CRC-32 (u32), its length (u64), `dynotend` |
//!
//! A block's payload belongs to one session: its number, the first event's begin (nanoseconds since
//! 1970, zigzag), and events: time since the previous begin, duration, effect (a byte), class,
//! origin, the text's length, the text. Numbers are LEB128 varints, fixed ones little-endian.
//! Blocks of a session are in the order of its events, so that a reader can stream a session and a
//! writer buffers little of each. The footer's payload: the length of the [`Meta`] and itself as
//! JSON, the number of blocks, and for each block its session, payload bytes and events.
//!
//! See `docs/decisions/trace-format.md`.

mod bytes;
mod read;
mod write;

pub use read::{Index, Place};
pub use write::Writer;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// First bytes of every replay file.
pub const MAGIC: &[u8; 8] = b"dynotrac";
/// Last bytes of every complete replay file.
const END: &[u8; 8] = b"dynotend";
/// Version of this format.
pub const VERSION: u16 = 1;
const HEADER_BYTES: usize = 16;
/// Bytes after the footer's payload.
const TAIL_BYTES: usize = 20;
/// Length and checksum before a block's payload.
const FRAME_BYTES: usize = 8;

/// Statement language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Language {
    /// MySQL and MariaDB.
    Mysql = 1,
    /// PostgreSQL.
    Postgres = 2,
}

macro_rules! effects {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal;)*) => {
        /// Effect of sending a statement again.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Effect { $($(#[doc = $doc])* $variant,)* }

        impl Effect {
            /// All, by number.
            pub const ALL: &[Effect] = &[$(Effect::$variant,)*];

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self { $(Effect::$variant => $name,)* }
            }
        }
    };
}

effects! {
    /// Reads, as far as the text shows.
    Read = "read";
    /// Begins or ends a transaction, without a keyword that allows writing.
    Transaction = "transaction";
    /// Changes a session setting that does not lift a guard against writing.
    Session = "session";
    /// Changes rows.
    Write = "write";
    /// Reads and locks rows, or takes locks by name.
    Lock = "lock";
    /// Calls a procedure or runs code.
    Call = "call";
    /// Defines objects.
    Define = "define";
    /// Changes the server or its accounts.
    Administer = "administer";
    /// Cannot be classified.
    Unknown = "unknown";
}

impl Effect {
    /// Whether a read-only replay may send it.
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::Read | Self::Transaction | Self::Session)
    }
}

/// A statement of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// When it began, nanoseconds since 1970; not before the session's event before it.
    pub begin_ns: i64,
    /// Duration; 0: unknown.
    pub duration_ns: u64,
    /// Effect of sending it again.
    pub effect: Effect,
    /// Index into [`Meta::classes`]; an index past its end: no class.
    pub class: u32,
    /// Index into [`Meta::origins`].
    pub origin: u32,
    /// The statement.
    pub text: &'a [u8],
}

/// Statements that differ in their literals only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Name in reports: `SELECT orders 480afcbd`.
    pub name: String,
    /// Without its literals; long ones are cut.
    pub statement: String,
    /// Number of events.
    pub events: u64,
    /// Sum of their durations, nanoseconds.
    pub time_ns: u64,
}

/// Where a statement was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// Default database; empty: none or unknown.
    pub database: String,
    /// Account; empty: unknown.
    pub user: String,
}

/// Summary of a replay file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// First begin, nanoseconds since 1970.
    pub begin_ns: i64,
    /// From there to the last end, nanoseconds.
    pub length_ns: u64,
    /// Number of sessions; they are numbered from 0.
    pub sessions: u32,
    /// Maximum number of concurrent sessions.
    pub sessions_at_once: u32,
    /// Statements.
    pub events: u64,
    /// Statements by effect.
    pub effects: BTreeMap<String, u64>,
    /// Events of the logs that the file omits, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Resolution of the log's clock: all times are multiples of it.
    pub clock_ns: u64,
    /// Classes of statements.
    pub classes: Vec<Class>,
    /// Databases and users.
    pub origins: Vec<Origin>,
}

#[cfg(test)]
mod tests;
