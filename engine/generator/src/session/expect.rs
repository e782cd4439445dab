//! Checks an answer against the user's expectation of its statement.
//!
//! A breach fails the attempt as if the server had refused the statement, with code [`CODE_CHECK`].
//! The session does not retry it: the same transaction would get the same answer. The session rolls
//! back an open transaction; a statement that committed by itself stays committed.

use dyno_core::driver::{Reply, ServerError};
use dyno_core::workload::{Expect, Request};
use std::ops::RangeInclusive;

/// Error code of an answer that does not meet its expectation.
pub const CODE_CHECK: &str = "check";

/// The expectation of `request` that `reply` breaks, as an error; `None` if it meets them all.
#[inline]
pub fn breach(request: &Request, reply: &Reply) -> Option<ServerError> {
    request.expect.as_ref().and_then(|expect| broken(&request.class, expect, reply))
}

fn broken(class: &str, expect: &Expect, reply: &Reply) -> Option<ServerError> {
    let outside = |range: &Option<RangeInclusive<u64>>, seen: u64, what: &str| {
        let range = range.as_ref().filter(|range| !range.contains(&seen))?;
        Some(format!("statement {class}: expected {} {what}, seen {seen}", bounds(range)))
    };
    let message = outside(&expect.rows, reply.rows, "rows")
        .or_else(|| outside(&expect.affected, reply.affected, "rows affected"))?;
    Some(ServerError { code: CODE_CHECK.to_owned(), message, ..ServerError::default() })
}

fn bounds(range: &RangeInclusive<u64>) -> String {
    match (*range.start(), *range.end()) {
        (low, high) if low == high => low.to_string(),
        (low, u64::MAX) => format!("at least {low}"),
        (low, high) => format!("{low} to {high}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::workload::Effect;

    fn message(rows: Option<RangeInclusive<u64>>, seen: (u64, u64)) -> Option<String> {
        let mut request = Request::new("find_user", Effect::Read, "SELECT 1", vec![]);
        request.expect = Some(Expect { rows, affected: Some(0..=3) });
        let reply = Reply { rows: seen.0, affected: seen.1, ..Reply::default() };
        let error = breach(&request, &reply)?;
        assert_eq!(
            (error.code.as_str(), error.retryable, error.rolled_back),
            ("check", false, false)
        );
        Some(error.message)
    }

    #[test]
    fn an_answer_within_its_bounds_passes() {
        assert_eq!(message(Some(1..=1), (1, 3)), None);
        assert_eq!(message(None, (77, 0)), None);
        let plain = Request::new("a", Effect::Read, "", vec![]);
        assert_eq!(breach(&plain, &Reply { rows: 9, ..Reply::default() }), None);
    }

    #[test]
    fn a_breach_says_what_was_expected_and_what_was_seen() {
        let said = |range, seen| message(range, seen).unwrap();
        assert_eq!(said(Some(1..=1), (0, 0)), "statement find_user: expected 1 rows, seen 0");
        assert_eq!(said(Some(2..=5), (6, 0)), "statement find_user: expected 2 to 5 rows, seen 6");
        assert_eq!(
            said(Some(1..=u64::MAX), (0, 9)),
            "statement find_user: expected at least 1 rows, seen 0"
        );
        assert_eq!(
            said(None, (0, 4)),
            "statement find_user: expected 0 to 3 rows affected, seen 4"
        );
    }
}
