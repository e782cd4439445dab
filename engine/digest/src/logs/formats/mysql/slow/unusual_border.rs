//! Borders by the purpose of a header: lines that begin with `#`, the last of which has the measures,
//! after the end of a statement. An unknown field, a missing line or two joined lines must not merge an
//! event into the one before.
//!
//! Such an event begins at the last line `# User@Host: ` before the measures, or at the line `# Time: `
//! above it; without a user at the last line `# Time: `; without either at the first of these lines.
//! Unknown lines before that are not part of the event, and are reported. Comments of a statement are
//! not a header: they have no measures, or are not after the end of a statement.

use super::user::user;
use super::usual_border::{
    Border, LONGEST, is_behind_an_end, is_second, is_time, line, line_before, usual,
};
use crate::sql::token::bytes::word_end;
use memchr::memmem;

/// Maximum number of header lines up to the measures.
const LINES_MAX: usize = 64;

/// The kind of a header line, by its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Time,
    User,
    Other,
}

fn says(line: &[u8]) -> Says {
    match line.get(2) {
        Some(b'T') if is_time(line) => Says::Time,
        Some(b'U') if user(line).is_some() => Says::User,
        _ => Says::Other,
    }
}

/// The border at `at`, the start of a line, where [`usual`] finds none.
#[inline]
pub(super) fn border(log: &[u8], at: usize) -> Option<Border<'_>> {
    // Called for nearly every header line after the first; most of the lines before it end with a value.
    let last = at.checked_sub(2).map(|last| log[last]);
    let may_be_first = matches!(last, None | Some(b';' | b't' | b' ' | b'\t' | b'\n' | b'\r'));
    let may_be_later = || match log.get(at + 2) {
        Some(b'T') => log[at..].starts_with(b"# Time: "),
        Some(b'U') => log[at..].starts_with(b"# User@Host: "),
        _ => false,
    };
    (may_be_first || may_be_later()).then_some(())?;
    looked_at(log, at)
}

#[cold]
fn looked_at(log: &[u8], at: usize) -> Option<Border<'_>> {
    let first = line(log, at)?;
    let what = says(first);
    let is_begin = match what {
        Says::Other => is_behind_an_end(log, at) && !is_of_the_user_before(log, at, first),
        Says::User => !line_before(log, at, LONGEST).is_some_and(is_time),
        Says::Time => !is_between_user_and_measures(log, at, first),
    };
    is_begin.then_some(())?;
    let (next, has_user) = measures(log, at, what)?;
    let needs_no_user = what == Says::Time && !has_user;
    is_behind_strange_lines(log, at, needs_no_user).then_some(())?;
    Some(Border { at, next, user: None })
}

/// Whether a user in one of the two lines before owns this line: as its measures, or as the line before
/// them.
fn is_of_the_user_before(log: &[u8], at: usize, first: &[u8]) -> bool {
    if is_between_user_and_measures(log, at, first) {
        return true;
    }
    let Some(before) = line_before(log, at, LONGEST).filter(|_| is_second(first)) else {
        return false;
    };
    let is_two_before =
        || line_before(log, at - before.len() - 1, LONGEST).and_then(user).is_some();
    user(before).is_some() || is_two_before()
}

/// Whether this line is the unknown one between a user and measures.
fn is_between_user_and_measures(log: &[u8], at: usize, first: &[u8]) -> bool {
    let behind = &log[log.len().min(at + first.len() + 1)..];
    is_second(behind) && line_before(log, at, LONGEST).and_then(user).is_some()
}

/// The end of the measures of the header whose line at `at` is of kind `what`, and whether it has a user.
/// `None`: these measures belong to an event that begins at another line, or there are none.
fn measures(log: &[u8], mut at: usize, what: Says) -> Option<(usize, bool)> {
    let mut has_user = what == Says::User;
    for number in 0..LINES_MAX {
        let line = line(log, at)?;
        let end = at + line.len();
        // Another header may begin after a comment that ends a statement, or after text like a server's
        // opening lines.
        (line.starts_with(b"#") && !is_behind_an_end(log, end + 1)).then_some(())?;
        // The user's line may have the measures.
        match says(line) {
            Says::User if number == 1 && what == Says::Time => has_user = true,
            Says::User if number > 0 => return None,
            Says::Time if number > 0 && !has_user => return None,
            _ => {}
        }
        match measured(line) {
            Some(Measured::Here) => return Some((end, has_user)),
            Some(Measured::Alone) if what != Says::Other => return Some((end, has_user)),
            _ => {}
        }
        at = end + 1;
    }
    None
}

/// The measures in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measured {
    /// The duration of a statement and a further field.
    Here,
    /// The duration alone, which a comment may also have.
    Alone,
}

fn measured(line: &[u8]) -> Option<Measured> {
    let at = memmem::find(line, b" Query_time:")?;
    let rest = line[at + 12..].trim_ascii_start();
    let number = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let rest = &rest[number..];
    let next = rest.trim_ascii_start();
    if number == 0 || next.len() == rest.len() && !rest.is_empty() {
        return None;
    }
    let name = word_end(next, 0);
    match next.get(name) {
        None if next.is_empty() => Some(Measured::Alone),
        Some(b':') if name > 0 => Some(Measured::Here),
        _ => None,
    }
}

/// Whether only header lines are between `at` and the end of a statement or another header, and with
/// `needs_no_user` no user among them.
fn is_behind_strange_lines(log: &[u8], mut at: usize, needs_no_user: bool) -> bool {
    for _ in 0..LINES_MAX {
        if is_behind_an_end(log, at) {
            return true;
        }
        let Some(before) = line_before(log, at, LONGEST) else { return false };
        if !before.starts_with(b"#") || needs_no_user && user(before).is_some() {
            return false;
        }
        at -= before.len() + 1;
        if measured(before).is_some() || usual(log, at).is_some() {
            return true;
        }
    }
    false
}
