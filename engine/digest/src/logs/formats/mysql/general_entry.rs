//! The head of an entry of the general log: time, connection and command.

use crate::event::Kind;
use crate::logs::formats::mysql::timestamp::{Stamp, stamp};
use memchr::{memchr, memchr_iter};

/// Names of commands as servers write them, and their kinds. Source: `COM_` commands in MySQL's
/// "Command Phase", and their names in servers' sources.
const COMMANDS: &[(&[u8], Kind)] = &[
    (b"Query", Kind::Statement),
    (b"Execute", Kind::Statement),
    (b"Bulk_execute", Kind::Statement),
    (b"Prepare", Kind::Prepare),
    (b"Connect", Kind::Command),
    (b"Quit", Kind::Command),
    (b"Init DB", Kind::Command),
    (b"Field List", Kind::Command),
    (b"Close stmt", Kind::Command),
    (b"Reset stmt", Kind::Command),
    (b"Long Data", Kind::Command),
    (b"Fetch", Kind::Command),
    (b"Statistics", Kind::Command),
    (b"Ping", Kind::Command),
    (b"Change user", Kind::Command),
    (b"Reset Connection", Kind::Command),
    (b"Reset connection", Kind::Command),
    (b"Refresh", Kind::Command),
    (b"Shutdown", Kind::Command),
    (b"Processlist", Kind::Command),
    (b"Kill", Kind::Command),
    (b"Debug", Kind::Command),
    (b"Sleep", Kind::Command),
    (b"Create DB", Kind::Command),
    (b"Drop DB", Kind::Command),
    (b"Set option", Kind::Command),
    (b"Daemon", Kind::Command),
    (b"Delayed insert", Kind::Command),
    (b"Binlog Dump", Kind::Command),
    (b"Binlog Dump GTID", Kind::Command),
    (b"Table Dump", Kind::Command),
    (b"Connect Out", Kind::Command),
    (b"Register Slave", Kind::Command),
    (b"Register Replica", Kind::Command),
    (b"Clone", Kind::Command),
    (b"Subscribe Group Replication Stream", Kind::Command),
    (b"Unimpl command", Kind::Command),
    (b"Error", Kind::Command),
];

/// Maximum length of a line's head (time, number, command), bytes.
const LONGEST: usize = 128;

/// The head of a line that begins an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at: usize,
    pub(super) time: Option<Stamp>,
    pub(super) session: u64,
    pub(super) command: &'static [u8],
    pub(super) kind: Kind,
    /// Offset of the argument.
    pub(super) argument: usize,
}

/// The first entry at or after `from`, the start of a line.
pub(super) fn find(log: &[u8], from: usize) -> Option<Entry> {
    entry(log, from).or_else(|| {
        memchr_iter(b'\n', log.get(from..)?).find_map(|newline| entry(log, from + newline + 1))
    })
}

/// The entry of the line at `at`: time or white space, right-aligned number, space, command, tab.
fn entry(log: &[u8], at: usize) -> Option<Entry> {
    let head = log.get(at..)?;
    let head = &head[..head.len().min(LONGEST)];
    let (time, length) = match head.first()? {
        b'\t' => (None, 0),
        // Tabs may have become spaces: then white space follows the first space.
        b' ' if matches!(head.get(1)?, b' ' | b'\t') => (None, 0),
        b'0'..=b'9' => stamp(head).map(|(time, length)| (Some(time), length))?,
        _ => return None,
    };
    let rest = &head[length..];
    let blanks = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    // Most lines that begin with white space belong to a statement.
    rest[blanks].is_ascii_digit().then_some(())?;
    // MySQL 5.7.2 to 5.7.12 wrote nothing between the time and the number, which may fill its column.
    if blanks == 0 && !matches!(time, Some(Stamp::Utc(_))) {
        return None;
    }
    let rest = &rest[blanks..];
    let (session, digits) = number(rest)?;
    let rest = rest[digits..].strip_prefix(b" ")?;
    let ((command, kind), length) = command(rest)?;
    let argument = at + head.len() - rest.len() + length;
    Some(Entry { at, time, session, command, kind, argument })
}

/// The number at the start of `text`, and its count of digits.
#[inline]
fn number(text: &[u8]) -> Option<(u64, usize)> {
    let (mut number, mut digits) = (0_u64, 0);
    while let Some(byte @ b'0'..=b'9') = text.get(digits) {
        number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        digits += 1;
    }
    (digits > 0).then_some((number, digits))
}

/// A command's name and kind.
type Command = (&'static [u8], Kind);

/// The command at the start of `rest`, and the offset of its argument.
#[inline]
fn command(rest: &[u8]) -> Option<(Command, usize)> {
    let before_tab = memchr(b'\t', rest).and_then(|tab| {
        let command = COMMANDS.iter().find(|(name, _)| *name == &rest[..tab])?;
        Some((*command, tab + 1))
    });
    before_tab.or_else(|| padded(rest))
}

/// Width of the command column where no tab follows.
const COLUMNS: usize = 11;

/// The same where the command is padded or truncated to that width (MySQL 5.0 and before).
fn padded(rest: &[u8]) -> Option<(Command, usize)> {
    let end = memchr(b'\n', rest);
    let line = &rest[..end.unwrap_or(rest.len())];
    let (columns, behind) = line.split_at(line.len().min(COLUMNS));
    let name = columns.trim_ascii_end();
    let is_one = |known: &[u8]| known[..known.len().min(COLUMNS)] == *name;
    // After a truncated name more of a word may follow.
    let is_padded = match behind.first() {
        Some(byte) => matches!(byte, b' ' | b'\r'),
        None => end.is_some(),
    };
    let command = COMMANDS.iter().find(|(known, _)| is_padded && is_one(known))?;
    Some((*command, columns.len()))
}

/// Whether `text` begins with an entry.
pub(in crate::logs::formats) fn is_entry(text: &[u8]) -> bool {
    entry(text, 0).is_some()
}

/// The first entry on a line after `from`.
pub(super) fn find_behind(log: &[u8], from: usize) -> Option<Entry> {
    let newline = memchr(b'\n', &log[from..])?;
    find(log, from + newline + 1)
}
