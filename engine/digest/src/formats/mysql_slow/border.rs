//! Where an event begins: header lines in the exact shape that servers write, and never a line of a
//! statement that only looks like one of them.
//!
//! An event begins with `# Time: ` before `# User@Host: `, with `# User@Host: ` alone (older servers
//! write the time once a second), or with `# Query_time: ` (`log_short_format`). Whether a line is a border
//! depends on itself, the line before and three behind it, so that a log cut anywhere has the same ones.
//!
//! What a crash or another writer spoils of a header must not make the event a part of the one before:
//! where a statement has ended, a time and a user are a border whatever follows; elsewhere they are if one
//! strange line stands between them and the measures. Headers in other shapes, of which measures are part,
//! begin where a statement has ended ([`unusual`](super::unusual)).

use super::unusual;
use super::user::{User, user};
use crate::formats::mysql_time::stamp;
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use std::sync::LazyLock;

/// Border lines are shorter than this (a user of 80 characters, a host of 255, each up to 4 bytes).
pub(super) const LONGEST: usize = 2048;

/// Lines of times are shorter than this.
const LONGEST_TIME: usize = 96;

/// Finds lines that may be borders; made once, since making it costs as much as a short event.
static HEADERS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n#"));
static ROWS_SENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b" Rows_sent: "));

/// An event's begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Border<'a> {
    /// Where it begins.
    pub(super) at: usize,
    /// The end of the lines that were looked at, none of which but the first can be a border.
    pub(super) next: usize,
    /// What its line `# User@Host: ` says, if it has one.
    pub(super) user: Option<User<'a>>,
}

/// The first border at or after `from`.
pub(super) fn find(log: &[u8], from: usize) -> Option<Border<'_>> {
    if from >= log.len() {
        return None;
    }
    // A line that begins at `from` has its newline before it.
    let start = from.saturating_sub(1);
    if from == 0
        && let Some(border) = border(log, 0)
    {
        return Some(border);
    }
    HEADERS.find_iter(&log[start..]).find_map(|hit| border(log, start + hit + 1))
}

/// The border at `at`, a line's begin.
fn border(log: &[u8], at: usize) -> Option<Border<'_>> {
    usual(log, at).or_else(|| unusual::border(log, at))
}

/// The same where a header has the shape that servers write.
pub(super) fn usual(log: &[u8], at: usize) -> Option<Border<'_>> {
    let (user, next) = match log.get(at + 2)? {
        b'T' => {
            let time = line(log, at)?;
            is_time(time).then_some(())?;
            user_and_second(log, at + time.len() + 1, at)?
        }
        b'U' => {
            let found = user_and_second(log, at, at)?;
            // Mostly a statement ends there.
            let is_statement = at > 1 && log[at - 2] == b';';
            if !is_statement && line_before(log, at, LONGEST_TIME).is_some_and(is_time) {
                return None;
            }
            found
        }
        b'Q' => {
            // Mostly it stands in a header.
            let before = line_before(log, at, LONGEST);
            if before.is_some_and(|line| line.starts_with(b"#")) {
                return None;
            }
            let line = line(log, at)?;
            is_short(line).then_some(())?;
            // Then it is that line's event, with a strange line between.
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

/// The user in the line at `at`, and the end of the line behind it; `border` is where the event would begin.
fn user_and_second(log: &[u8], at: usize, border: usize) -> Option<(Option<User<'_>>, usize)> {
    let first = line(log, at)?;
    let next = at + first.len() + 1;
    if !is_second(&log[next..]) {
        return user_alone(log, first, next, border);
    }
    let user = user(first)?;
    // A line behind a header line is no border.
    Some((Some(user), next + line(log, next).map_or(0, <[u8]>::len)))
}

/// The same where the line at `next`, behind the `first`, is none that servers write there.
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

/// The begin of the line behind the one at `next`, if measures stand there, which belong to this event: so no
/// border depends on bytes behind the next one.
fn measures_behind(log: &[u8], next: usize) -> Option<usize> {
    let strange = line(log, next)?;
    let measures = next + strange.len() + 1;
    let is_behind = is_second(&log[measures..]) && !strange.starts_with(b"# User@Host: ");
    is_behind.then_some(measures)
}

/// Whether a statement or a server's opening lines end before `at`, a line's begin; nothing stands before
/// the first. Empty lines between are none of either.
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

/// White space between the end of a statement and a header.
const BLANKS_MAX: usize = 64;

/// Whether this is what follows `# User@Host: ` in all servers.
#[inline]
pub(super) fn is_second(line: &[u8]) -> bool {
    line.starts_with(b"# Query_time: ")
        || line.starts_with(b"# Thread_id: ")
        || line.starts_with(b"# Schema: ")
}

/// The line at `at` without its newline, if that is there and not too far.
pub(super) fn line(log: &[u8], at: usize) -> Option<&[u8]> {
    let most = &log[at..log.len().min(at + LONGEST)];
    memchr(b'\n', most).map(|end| &most[..end])
}

/// The line that ends before `at`, if it is not longer than that.
pub(super) fn line_before(log: &[u8], at: usize, longest: usize) -> Option<&[u8]> {
    let end = at.checked_sub(1)?;
    let most = &log[end.saturating_sub(longest)..end];
    match memrchr(b'\n', most) {
        Some(newline) => Some(&most[newline + 1..]),
        None => (end < longest).then_some(most),
    }
}

pub(super) fn is_time(line: &[u8]) -> bool {
    // Both sides of a line must come to the same, so both look at short ones only.
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

#[cfg(test)]
mod tests {
    use super::*;

    type Lines<'a> = &'a [&'a [u8]];

    const ISO: &[u8] = b"# Time: 2025-11-22T04:42:15.123456Z\n";
    const SHORT: &[u8] = b"# Time: 251122  4:42:15\n";
    const USER: &[u8] = b"# User@Host: a[a] @ localhost []  Id:     5\n";
    const QUERY: &[u8] = b"# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n";

    fn borders(pieces: &[&[u8]]) -> Vec<usize> {
        let log = pieces.concat();
        let (mut found, mut from) = (vec![], 0);
        while let Some(border) = find(&log, from) {
            found.push(border.at);
            from = border.at + 1;
        }
        found
    }

    #[test]
    fn events_begin_at_their_first_header_line() {
        let text = b"select 1;\n";
        assert_eq!(borders(&[ISO, USER, QUERY, text]), [0]);
        assert_eq!(borders(&[SHORT, USER, QUERY, text, USER, QUERY]).len(), 2);
        assert_eq!(borders(&[QUERY, text, QUERY, text]), [0, QUERY.len() + text.len()]);
    }

    #[test]
    fn lines_that_lack_their_company_are_no_borders() {
        let begin = b"select '\n";
        let none: &[usize] = &[];
        assert_eq!(borders(&[begin, ISO, USER, b"'\n"]), none);
        assert_eq!(borders(&[begin, ISO, QUERY]), none, "behind a header line");
        assert_eq!(borders(&[begin, b"# User@Host: x\n", QUERY]), none);
        assert_eq!(borders(&[begin, b"# Time: now\n", USER, QUERY]).len(), 1);
        assert_eq!(borders(&[b" ", ISO, USER, QUERY]), [1 + ISO.len()], "not at a line's begin");
        assert_eq!(borders(&[b" ", &[b'x'; 4096], b"\n", ISO, USER, QUERY]), [4098]);
    }

    #[test]
    fn headers_that_are_spoilt_are_borders_behind_a_statement() {
        let (text, garbage) = (&b"select 1;\n"[..], &b"#garbage here\n"[..]);
        let second = ISO.len() + USER.len() + QUERY.len() + text.len();
        for spoilt in [&[USER, garbage, QUERY][..], &[USER, b"\0\0\0"], &[USER, text]] {
            let event = [&[ISO, USER, QUERY, text, ISO], spoilt].concat();
            assert_eq!(borders(&event), [0, second]);
        }
        let event = [ISO, USER, QUERY, text, USER, garbage, ISO, USER, QUERY];
        assert_eq!(borders(&event).len(), 3, "the line behind may be one");
        // Inside of a statement they are text, unless measures follow.
        let begin = &b"select '\n"[..];
        assert_eq!(borders(&[ISO, USER, QUERY, begin, ISO, USER, garbage]), [0]);
        assert_eq!(borders(&[ISO, USER, QUERY, begin, ISO, USER, garbage, QUERY]).len(), 2);
    }

    #[test]
    fn no_border_lies_within_the_lines_that_another_one_looked_at() {
        let measures = &b"# x Query_time: 1  Lock_time: 0\n"[..];
        let user = b"# User@Host: u[u] @ h []  Id: 7 # Query_time: 1  Lock_time: 0 Rows_sent: 1\n";
        let ended = b"# User@Host: u[u] @ h []  Id: 7  a: 1;\n";
        let logs: [(Lines, Lines); 6] = [
            (&[b"select 1;\n"], &[ended, QUERY]),
            (&[b"select 1;\n"], &[ended, b"# strange\n", QUERY]),
            (&[b"select 1;\n"], &[ended, SHORT, QUERY]),
            (
                &[b"# Time: now\n", USER, b"# A: 1\n", b"# Id Command\tArgument\n"],
                &[SHORT, measures],
            ),
            (&[b"# Time: now\n", USER, b"# A: 1\n", b"# a comment; \n"], &[SHORT, measures]),
            (&[b"# Time: now\n", b"# User@Host: spoilt\n"], &[user]),
        ];
        for (before, event) in logs {
            let (before, event) = (before.concat(), event.concat());
            let log = [&before[..], &event].concat();
            assert_eq!(borders(&[&log]), [before.len()], "{}", log.escape_ascii());
            assert_eq!(find(&log, 0).unwrap().at, before.len(), "{}", log.escape_ascii());
        }
    }

    #[test]
    fn a_border_is_the_same_wherever_the_search_begins() {
        let log = [ISO, USER, QUERY, b"select 1;\n", ISO, USER, QUERY, b"select 2;\n"].concat();
        let second = log.len() - b"select 2;\n".len() - QUERY.len() - USER.len() - ISO.len();
        for from in 1..=second {
            assert_eq!(find(&log, from).unwrap().at, second, "{from}");
        }
        for from in second + 1..log.len() + 2 {
            assert_eq!(find(&log, from), None, "{from}");
        }
    }
}
