//! Scans a chunk for a timestamp or a default database. The scan runs over every chunk that several threads
//! read, and in most logs in vain.

use memchr::memmem;

/// What tells a time.
const TIME: &[u8] = b"# Time: ";
/// What tells, from an event's second line on, a default database, or that there is none any more. What stands
/// before a field's name and behind its colon is not asked when it is read either.
const DATABASE: [&[u8]; 3] = [b"\nuse ", b"Schema:", b". started with:"];

/// Whether these events may tell a time or a default database, of those that are asked for.
pub(super) fn may_tell(events: &[u8], time: bool, database: bool) -> bool {
    let has = |text: &[u8]| memmem::find(events, text).is_some();
    time && has(TIME) || database && DATABASE.into_iter().any(has)
}
