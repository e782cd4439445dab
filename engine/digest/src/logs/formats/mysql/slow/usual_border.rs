//! Borders by the exact form in which servers write headers, and helpers for the lines of borders.

use super::user::{User, user};
use crate::logs::formats::mysql::timestamp::stamp;
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use std::sync::LazyLock;

/// Upper limit of a border line's length (a user of 80, a host of 255 characters of up to 4 bytes).
pub(super) const LONGEST: usize = 2048;

/// Upper limit of the length of time lines.
const LONGEST_TIME: usize = 96;

static ROWS_SENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b" Rows_sent: "));

/// The start of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Border<'a> {
    /// Offset of the event.
    pub(super) at: usize,
    /// End of the lines examined, of which only the first can be a border.
    pub(super) next: usize,
    /// The content of its line `# User@Host: `, if it has one.
    pub(super) user: Option<User<'a>>,
}

/// The border at `at`, the start of a line, if the header has the form that servers write.
pub(super) fn usual(log: &[u8], at: usize) -> Option<Border<'_>> {
    let (user, next) = match log.get(at + 2)? {
        b'T' => {
            let time = line(log, at)?;
            is_time(time).then_some(())?;
            user_and_second(log, at + time.len() + 1, at)?
        }
        b'U' => {
            let found = user_and_second(log, at, at)?;
            // Usually a statement ends before it.
            let is_statement = at > 1 && log[at - 2] == b';';
            if !is_statement && line_before(log, at, LONGEST_TIME).is_some_and(is_time) {
                return None;
            }
            found
        }
        b'Q' => {
            // Usually it is within a header.
            let before = line_before(log, at, LONGEST);
            if before.is_some_and(|line| line.starts_with(b"#")) {
                return None;
            }
            let line = line(log, at)?;
            is_short(line).then_some(())?;
            // The event then belongs to that user line, with one unknown line between.
            let user_line = line_before(log, at - before.map_or(0, |line| line.len() + 1), LONGEST);
            if before.is_some() && user_line.and_then(user).is_some() {
                return None;
            }
            (None, at + line.len())
        }
        _ => return None,
    };
    Some(Border { at, next, user })
}

/// The user in the line at `at`, and the end of the next line; `border` is where the event would begin.
fn user_and_second(log: &[u8], at: usize, border: usize) -> Option<(Option<User<'_>>, usize)> {
    let first = line(log, at)?;
    let next = at + first.len() + 1;
    if !is_second(&log[next..]) {
        return user_alone(log, first, next, border);
    }
    let user = user(first)?;
    // A line after a header line is no border.
    Some((Some(user), next + line(log, next).map_or(0, <[u8]>::len)))
}

/// The same if the line at `next`, after `first`, is not one that servers write there.
#[cold]
fn user_alone<'a>(
    log: &'a [u8],
    first: &'a [u8],
    next: usize,
    border: usize,
) -> Option<(Option<User<'a>>, usize)> {
    let user = user(first)?;
    let measures = measures_behind(log, next);
    (measures.is_some() || is_behind_an_end(log, border)).then_some(())?;
    Some((Some(user), measures.unwrap_or(next)))
}

/// The start of the line after the one at `next`, if it has measures. These belong to this event,
/// so that no border depends on bytes after the next border.
fn measures_behind(log: &[u8], next: usize) -> Option<usize> {
    let strange = line(log, next)?;
    let measures = next + strange.len() + 1;
    let is_behind = is_second(&log[measures..]) && !strange.starts_with(b"# User@Host: ");
    is_behind.then_some(measures)
}

/// Whether a statement or a server's opening lines end before `at`, the start of a line, or `at` is the
/// start of the log. Ignores blank lines between.
pub(super) fn is_behind_an_end(log: &[u8], at: usize) -> bool {
    let Some(newline) = at.checked_sub(1) else { return true };
    if log[newline] != b'\n' {
        return false;
    }
    let near = &log[newline.saturating_sub(BLANKS_MAX)..newline];
    let before = near.trim_ascii_end();
    match before.last() {
        Some(b';') => true,
        Some(_) => before.ends_with(b"Argument"),
        None => newline < BLANKS_MAX,
    }
}

/// Maximum length of white space between the end of a statement and a header.
const BLANKS_MAX: usize = 64;

/// Whether `line` begins like the line after `# User@Host: ` in all servers.
#[inline]
pub(super) fn is_second(line: &[u8]) -> bool {
    line.starts_with(b"# Query_time: ")
        || line.starts_with(b"# Thread_id: ")
        || line.starts_with(b"# Schema: ")
}

/// The line at `at` without its newline, if its newline is within [`LONGEST`] bytes.
pub(super) fn line(log: &[u8], at: usize) -> Option<&[u8]> {
    let most = &log[at..log.len().min(at + LONGEST)];
    memchr(b'\n', most).map(|end| &most[..end])
}

/// The line that ends before `at`, if it is not longer than `longest`.
pub(super) fn line_before(log: &[u8], at: usize, longest: usize) -> Option<&[u8]> {
    let end = at.checked_sub(1)?;
    let most = &log[end.saturating_sub(longest)..end];
    match memrchr(b'\n', most) {
        Some(newline) => Some(&most[newline + 1..]),
        None => (end < longest).then_some(most),
    }
}

pub(super) fn is_time(line: &[u8]) -> bool {
    // Forward and backward scans must agree, so both accept short lines only.
    let short = if line.len() < LONGEST_TIME { line } else { b"" };
    short
        .strip_prefix(b"# Time: ")
        .and_then(|text| stamp(text).map(|(_, length)| &text[length..]))
        .is_some_and(|rest| rest.trim_ascii().is_empty())
}

fn is_short(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"# Query_time: ") else { return false };
    let number = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    number > 0 && rest[number..].starts_with(b"  Lock_time: ") && ROWS_SENT.find(rest).is_some()
}
