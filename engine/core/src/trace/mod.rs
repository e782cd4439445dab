//! A trace: what sessions of a server sent, in their order and with their times, made from a log to
//! be sent again.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | `dynotrac`, version (u16), language (1 MySQL, 2 PostgreSQL), zeros |
//! | blocks | payload's length (u32), its CRC-32 (u32), payload |
//! | footer | payload, its CRC-32 (u32), its length (u64), `dynotend` |
//!
//! A block's payload belongs to one session: its number, the first event's begin (nanoseconds since
//! 1970, zigzag), and events: begin after the one before, duration, effect (a byte), class, origin,
//! the text's length, the text. Numbers are LEB128 varints, fixed ones little-endian. Blocks of a
//! session stand in the order of its events, so that whoever plays a session reads it as a stream,
//! and whoever writes a trace keeps little of each. The footer's payload: the length of the
//! [`Meta`] and itself as JSON, the number of blocks, and of each session, payload bytes and events.
//!
//! See `docs/decisions/trace-format.md`.

mod bytes;
mod read;
mod write;

pub use read::{Index, Place};
pub use write::Writer;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What every trace begins with.
pub const MAGIC: &[u8; 8] = b"dynotrac";
/// What every whole trace ends with.
const END: &[u8; 8] = b"dynotend";
/// This format.
pub const VERSION: u16 = 1;
const HEADER_BYTES: usize = 16;
/// Behind the footer's payload.
const TAIL_BYTES: usize = 20;
/// Length and checksum before a block's payload.
const FRAME_BYTES: usize = 8;

/// Whose statements these are.
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
        /// What sending a statement again would do.
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
    /// Reads, as far as its text can show.
    Read = "read";
    /// Begins or ends a transaction, without a word that it writes.
    Transaction = "transaction";
    /// Sets something of its session that does not lift a guard against writing.
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
    /// None of these can be shown.
    Unknown = "unknown";
}

impl Effect {
    /// Whether it may be sent where nothing must change.
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::Read | Self::Transaction | Self::Session)
    }
}

/// A statement of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// When it began, nanoseconds since 1970; not before the session's event before it.
    pub begin_ns: i64,
    /// How long it took; 0: not known.
    pub duration_ns: u64,
    /// What sending it would do.
    pub effect: Effect,
    /// Index into [`Meta::classes`]; from its length on: none of them.
    pub class: u32,
    /// Index into [`Meta::origins`].
    pub origin: u32,
    /// The statement.
    pub text: &'a [u8],
}

/// Statements that differ in their literals only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// As reports call it: `SELECT orders 480afcbd`.
    pub name: String,
    /// Without its literals; long ones are cut.
    pub statement: String,
    /// How many.
    pub events: u64,
    /// What they took together.
    pub time_ns: u64,
}

/// Where a statement was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// Default database; empty: none, or not known.
    pub database: String,
    /// Account; empty: not known.
    pub user: String,
}

/// What is known of a whole trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// First begin, nanoseconds since 1970.
    pub begin_ns: i64,
    /// From there to the last end.
    pub length_ns: u64,
    /// Sessions; their numbers lie below.
    pub sessions: u32,
    /// The most that were there at the same time.
    pub sessions_at_once: u32,
    /// Statements.
    pub events: u64,
    /// Of these, by effect.
    pub effects: BTreeMap<String, u64>,
    /// What the logs have beside and the trace has not, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Step of the log's clock: its times are whole multiples.
    pub clock_ns: u64,
    /// Classes of statements.
    pub classes: Vec<Class>,
    /// Databases and users.
    pub origins: Vec<Origin>,
}

#[cfg(test)]
mod tests;
