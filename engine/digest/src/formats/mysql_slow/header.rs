//! The header of an event: lines of `# Name: value` fields.

use super::border::user;
use super::fields::{Field, decimal, field};
use crate::event::Event;
use crate::formats::mysql_time::{Stamp, stamp};
use memchr::memchr;

/// What a header says beyond the event's own fields.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header<'a> {
    /// `# Time: `, if this event has it.
    pub(super) time: Option<Stamp>,
    /// `End: ` of `log_slow_extra`.
    pub(super) end_ns: Option<i64>,
    /// The default database, perhaps empty, if this log tells it for each event.
    pub(super) schema: Option<&'a [u8]>,
    /// Whether MariaDB wrote it.
    pub(super) is_mariadb: bool,
    /// How many bytes it takes.
    pub(super) length: usize,
    /// A line that is no list of fields: where and how long.
    pub(super) strange: Option<(usize, usize)>,
}

/// Reads the header at the begin of `chunk`, an event, into `event`.
pub(super) fn header<'a>(chunk: &'a [u8], event: &mut Event<'a>) -> Header<'a> {
    let mut header = Header::default();
    let mut at = 0;
    while chunk.get(at) == Some(&b'#') {
        let next = memchr(b'\n', &chunk[at..]).map_or(chunk.len(), |end| at + end + 1);
        let line = &chunk[at..next];
        if line.get(2) == Some(&b'a') && line.starts_with(b"# administrator command: ") {
            break;
        }
        if !read(line, &mut header, event) && header.strange.is_none() {
            header.strange = Some((at, next - at));
        }
        at = next;
    }
    header.length = at;
    header
}

/// Reads a line; false: it is nothing that servers write.
fn read<'a>(line: &'a [u8], header: &mut Header<'a>, event: &mut Event<'a>) -> bool {
    match line.get(2) {
        Some(b'U') if line.starts_with(b"# User@Host: ") => {
            let Some(user) = user(line) else { return false };
            (event.user, event.host) = (user.name, user.host);
            event.session = user.session.or(event.session);
            true
        }
        Some(b'T') if line.starts_with(b"# Time: ") => {
            header.time = stamp(&line[8..]).map(|(stamp, _)| stamp);
            header.time.is_some()
        }
        Some(b'e') if line.starts_with(b"# explain: ") => true,
        Some(b'N') if line.starts_with(b"# No InnoDB statistics") => true,
        Some(_) => fields(&line[1..], header, event),
        None => true,
    }
}

/// Reads `Name: value` as often as it stands there. A value ends at white space, names of databases at
/// two spaces.
fn fields<'a>(line: &'a [u8], header: &mut Header<'a>, event: &mut Event<'a>) -> bool {
    let mut rest = line.trim_ascii();
    let is_thread_line = rest.starts_with(b"Thread_id: ");
    while !rest.is_empty() {
        let length = rest
            .iter()
            .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
            .unwrap_or(rest.len());
        if length == 0 || rest.get(length) != Some(&b':') {
            return false;
        }
        let field = field(&rest[..length]);
        rest = &rest[length + 1..];
        if field == Some(Field::Schema) {
            rest = schema(rest, header);
            continue;
        }
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let value = &rest[..end];
        rest = rest[end..].trim_ascii_start();
        if let Some(field) = field {
            set(field, value, header, event);
            // MariaDB alone has it on this line.
            header.is_mariadb |= is_thread_line && field == MARIADB;
        }
    }
    true
}

const MARIADB: Field = Field::Flag(crate::event::Measure::QueryCacheHit);

/// Reads the name of a database, which may be empty: one space stands before it, two behind.
fn schema<'a>(rest: &'a [u8], header: &mut Header<'a>) -> &'a [u8] {
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let end = rest.windows(2).position(|pair| pair == b"  ").unwrap_or(rest.len());
    header.schema = Some(&rest[..end]);
    rest[end..].trim_ascii_start()
}

fn set<'a>(field: Field, value: &'a [u8], header: &mut Header<'a>, event: &mut Event<'a>) {
    let number = |measure, value: Option<u64>, event: &mut Event<'_>| {
        if let Some(value) = value {
            event.numbers.set(measure, value);
        }
    };
    match field {
        Field::Duration => event.duration_ns = decimal::<9>(value),
        Field::Seconds(measure) => number(measure, decimal::<9>(value), event),
        Field::Millis(measure) => number(measure, decimal::<6>(value), event),
        Field::Number(measure) => number(measure, decimal::<0>(value), event),
        Field::Flag(measure) => match value {
            b"Yes" => event.numbers.set(measure, 1),
            b"No" => event.numbers.set(measure, 0),
            _ => {}
        },
        Field::Session => event.session = decimal::<0>(value),
        Field::Error if value != b"0" => event.error = value,
        Field::RateLimit => {
            event.weight = decimal::<0>(value).and_then(|n| n.try_into().ok()).unwrap_or(0);
        }
        Field::End => {
            header.end_ns = match stamp(value) {
                Some((Stamp::Utc(ns), _)) => Some(ns),
                _ => None,
            }
        }
        Field::Error | Field::Schema => {}
    }
}
