//! Finds where an event begins: header lines in the exact form that servers write, but no similar lines
//! within a statement.
//!
//! An event begins with `# Time: ` before `# User@Host: `, with `# User@Host: ` alone (older servers
//! write the time once a second), or with `# Query_time: ` (`log_short_format`). Whether a line is a
//! border depends only on itself, the line before and three lines after it, so that all cuts of a log
//! find the same borders.
//!
//! A header damaged by a crash or another writer must not merge its event into the one before: after the
//! end of a statement, a time and a user are always a border; elsewhere they are if one unknown line is
//! between them and the measures. Headers in other forms that include measures begin after the end of a
//! statement ([`unusual`](super::unusual_border)).

use super::unusual_border;
use super::usual_border::{Border, usual};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// Finds candidate lines. Built once, since building costs as much as reading a short event.
static HEADERS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n#"));

/// The first border at or after `from`.
pub(super) fn find(log: &[u8], from: usize) -> Option<Border<'_>> {
    if from >= log.len() {
        return None;
    }
    // The newline of a line that begins at `from` is before `from`.
    let start = from.saturating_sub(1);
    if from == 0
        && let Some(border) = border(log, 0)
    {
        return Some(border);
    }
    HEADERS.find_iter(&log[start..]).find_map(|hit| border(log, start + hit + 1))
}

/// The border at `at`, the start of a line.
fn border(log: &[u8], at: usize) -> Option<Border<'_>> {
    usual(log, at).or_else(|| unusual_border::border(log, at))
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
        // Within a statement they are text, unless measures follow.
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
