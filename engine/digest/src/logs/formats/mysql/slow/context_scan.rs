//! Scans a chunk for a timestamp or a default database. The scan runs over every chunk that several
//! threads read, in most logs without a match.

use memchr::memmem;

/// The text that precedes a timestamp.
const TIME: &[u8] = b"# Time: ";
/// Texts that, from an event's second line on, precede a default database or show that there is none any
/// more. Like the reader, the scan ignores the bytes before a field's name and after its colon.
const DATABASE: [&[u8]; 3] = [b"\nuse ", b"Schema:", b". started with:"];

/// Whether these events may have a time (if `time`) or a default database (if `database`).
pub(super) fn may_tell(events: &[u8], time: bool, database: bool) -> bool {
    let has = |text: &[u8]| memmem::find(events, text).is_some();
    time && has(TIME) || database && DATABASE.into_iter().any(has)
}
