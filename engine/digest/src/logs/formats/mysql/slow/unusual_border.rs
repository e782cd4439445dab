//! Borders by what a header is for: lines that begin with `#`, the last of which has the measures, behind the
//! end of a statement. A field that is not known yet, a line that was cut out or put to another one must not
//! make an event a part of the one before.
//!
//! Such an event begins at the last line `# User@Host: ` before the measures, or at the line `# Time: ` above
//! it; without a user at the last line `# Time: `; without either at the first of these lines. Strange lines
//! before that are none of the event, and counted. Comments of a statement are no header: they have no
//! measures, or do not stand behind the end of a statement.

use super::user::user;
use super::usual_border::{
    Border, LONGEST, is_behind_an_end, is_second, is_time, line, line_before, usual,
};
use crate::sql::token::bytes::word_end;
use memchr::memmem;

/// Lines of a header up to its measures.
const LINES_MAX: usize = 64;

/// What a line of a header says by its form.
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

/// The border at `at`, a line's begin, where [`usual`] sees none.
#[inline]
pub(super) fn border(log: &[u8], at: usize) -> Option<Border<'_>> {
    // Asked for each line of nearly all headers but the first: most lines before end with a value.
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

/// Whether a user in one of the two lines before has this line: as its measures, or with these behind it.
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

/// Whether this line is the strange one between a user and measures.
fn is_between_user_and_measures(log: &[u8], at: usize, first: &[u8]) -> bool {
    let behind = &log[log.len().min(at + first.len() + 1)..];
    is_second(behind) && line_before(log, at, LONGEST).and_then(user).is_some()
}

/// The end of the measures of the header whose line at `at` says `what`, and whether it has a user. None:
/// another line begins the event of these measures, or there are none.
fn measures(log: &[u8], mut at: usize, what: Says) -> Option<(usize, bool)> {
    let mut has_user = what == Says::User;
    for number in 0..LINES_MAX {
        let line = line(log, at)?;
        let end = at + line.len();
        // Behind a comment that ends a statement, or what looks like a server's opening lines, another
        // header may begin.
        (line.starts_with(b"#") && !is_behind_an_end(log, end + 1)).then_some(())?;
        // The measures may stand in the user's line.
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

/// What a line has of measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measured {
    /// The time that a statement took, and a further field.
    Here,
    /// The time alone, which a comment may have, too.
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

/// Whether nothing but lines of a header stands between `at` and the end of a statement, or another header;
/// `needs_no_user`: and no user.
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
