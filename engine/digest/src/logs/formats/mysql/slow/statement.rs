//! The text after a header: the server's own `use` and `SET timestamp`, and the statement.

use super::fields::decimal;
use crate::logs::formats::mysql::error_log::is_of_error_log;
use crate::logs::formats::mysql::general_entry::is_entry;
use crate::sql::language::Language;
use crate::sql::token::cut::is_cut;
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use std::sync::LazyLock;

/// The lines between header and statement.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Preamble<'a> {
    /// The default database, stated if it differs from that of the event before.
    pub(super) database: Option<&'a [u8]>,
    /// `SET timestamp`, nanoseconds since 1970 (UTC).
    pub(super) timestamp_ns: Option<i64>,
    /// Length of these lines, bytes.
    pub(super) length: usize,
}

/// Reads the lines before the statement in `body`, the text after the header.
pub(super) fn preamble(body: &[u8]) -> Preamble<'_> {
    let mut found = Preamble::default();
    if body.starts_with(b"use ")
        && let Some((line, next)) = line(body)
        // `use x` alone is a statement of the user.
        && next < body.len()
    {
        let name = &line[4..];
        found.database = Some(
            name.strip_prefix(b"`").map_or(name, |name| name.strip_suffix(b"`").unwrap_or(name)),
        );
        found.length = next;
    }
    let rest = &body[found.length..];
    if rest.starts_with(b"SET ")
        && let Some((line, next)) = line(rest)
        && let Some(timestamp_ns) = timestamp(&line[4..])
    {
        found.timestamp_ns = Some(timestamp_ns);
        found.length += next;
    }
    found
}

/// The first line without its `;`, if it ends with one, and the offset of the next line.
fn line(text: &[u8]) -> Option<(&[u8], usize)> {
    // Names and settings are short, so long statements are not scanned.
    let end = memchr(b'\n', &text[..text.len().min(1024)])?;
    Some((text[..end].trim_ascii_end().strip_suffix(b";")?, end + 1))
}

/// The time in `last_insert_id=1,insert_id=2,timestamp=1763786535.5`.
fn timestamp(settings: &[u8]) -> Option<i64> {
    let number = |value: &[u8]| decimal::<9>(value)?.try_into().ok();
    if let Some(timestamp_ns) = settings.strip_prefix(b"timestamp=").and_then(number) {
        return Some(timestamp_ns);
    }
    let mut timestamp_ns = None;
    for setting in settings.split(|byte| *byte == b',') {
        let equals = memchr(b'=', setting)?;
        let value = &setting[equals + 1..];
        match &setting[..equals] {
            b"timestamp" => timestamp_ns = Some(number(value)?),
            b"last_insert_id" | b"insert_id" => {}
            _ => return None,
        }
    }
    timestamp_ns
}

/// The statement in `body` up to the `;` that servers append, and the offset after it and its line end.
/// `None`: no `;` ends a line.
pub(super) fn statement(body: &[u8]) -> Option<(&[u8], usize)> {
    let (text, length) = last_end(body)?;
    match foreign(text) {
        Some(next) => Some((end_of(&text[..next]), next)),
        None => Some((text.trim_ascii(), length)),
    }
}

/// The text before the last `;` at a line's end, and the offset of the next line.
fn last_end(body: &[u8]) -> Option<(&[u8], usize)> {
    let whole = body.trim_ascii_end();
    if let Some(text) = whole.strip_suffix(b";") {
        return Some((text, body.len()));
    }
    // Another writer has written after the statement.
    let mut most = whole;
    loop {
        let at = memrchr(b';', most)?;
        let newline = if body[at + 1..].starts_with(b"\r\n") { 3 } else { 2 };
        if body[at + newline - 1] == b'\n' {
            return Some((&body[..at], at + newline));
        }
        most = &most[..at];
    }
}

/// Built once, since building costs as much as reading a short event.
static ENDS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b";\n"));

/// Where the first line of another log after the end of a statement begins: several logs may be written
/// to one file.
#[inline]
fn foreign(text: &[u8]) -> Option<usize> {
    let lines = ENDS.find_iter(text).map(|end| end + 2).filter(|&next| is_foreign(&text[next..]));
    // Within a literal it is text.
    lines.take(TRIES_MAX).find(|&next| !is_cut(end_of(&text[..next]), Language::Mysql))
}

/// Maximum number of such lines examined; a statement with more contains a log as a literal.
const TRIES_MAX: usize = 16;

/// Whether `text` begins with a line of the error log or the general log.
#[cold]
fn is_foreign(text: &[u8]) -> bool {
    is_of_error_log(text) || is_entry(text)
}

/// A statement without its terminator.
fn end_of(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.strip_suffix(b";").unwrap_or(text).trim_ascii_end()
}

/// The command in `# administrator command: Quit`.
pub(super) fn command(text: &[u8]) -> Option<&[u8]> {
    (text.first() == Some(&b'#')).then_some(())?;
    let command = text.strip_prefix(b"# administrator command: ")?;
    (memchr(b'\n', command).is_none()).then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_server_are_told_from_the_statement() {
        let found =
            preamble(b"use `shop`;\nSET last_insert_id=4,timestamp=1763786535.25;\nselect 1;\n");
        assert_eq!(found.database, Some(&b"shop"[..]));
        assert_eq!(found.timestamp_ns, Some(1_763_786_535_250_000_000));
        assert_eq!(preamble(b"SET timestamp=5;\r\nSET timestamp=6;\n").length, 18);
        assert_eq!(preamble(b"use shop;\n"), Preamble::default(), "the user's own");
        assert_eq!(preamble(b"SET autocommit=1;\n"), Preamble::default());
        assert_eq!(preamble(b"use shop"), Preamble::default());
    }

    #[test]
    fn a_statement_ends_where_the_server_ended_it() {
        assert_eq!(statement(b"select 1;\n"), Some((&b"select 1"[..], 10)));
        assert_eq!(statement(b"a;\nb;\r\n"), Some((&b"a;\nb"[..], 7)));
        assert_eq!(statement(b"select 1;\n[Note] x\n"), Some((&b"select 1"[..], 10)));
        assert_eq!(statement(b"select 1;\r\n[Note; x\n"), Some((&b"select 1"[..], 11)));
        let note = "2025-11-22T04:42:16.000000Z 7 [Note] [MY-010914] [Server] Aborted; timeout;\n";
        let query = "\t\t    8 Query\tselect 2;\n";
        for behind in [note, query, &[note, query, "[Note] x\n"].concat()] {
            let body = format!("select 1;\n{behind}");
            assert_eq!(statement(body.as_bytes()), Some((&b"select 1"[..], 10)));
            let text = format!("insert into logs values (';\n{behind}')");
            let body = format!("{text};\n");
            assert_eq!(statement(body.as_bytes()), Some((text.as_bytes(), body.len())));
        }
        for open in [&b""[..], b"select 1", b"select ';'", b"\n"] {
            assert_eq!(statement(open), None);
        }
    }
}
