//! Recognises lines of a server's error log, which may be within its other logs where several are written
//! to one file: they are not part of a statement.
//!
//! `2025-11-22T04:42:16.000000Z 7 [Note] [MY-010914] [Server] ...` (MySQL 5.7.2 and later),
//! `2025-11-22  4:42:16 7 [Note] ...` (MySQL 5.6, MariaDB) or `251122  4:42:16 [Note] ...` (before).
//! Sources: MySQL Reference Manual, "Error Log Output Format"; MariaDB's documentation, "Error Log".

use super::timestamp::stamp;

/// Severities of messages, as servers write them.
const GRAVITIES: [&[u8]; 4] = [b"[Note]", b"[Warning]", b"[ERROR]", b"[System]"];

/// Whether `text` begins with a line of an error log.
pub(in crate::logs::formats) fn is_of_error_log(text: &[u8]) -> bool {
    let head = &text[..text.len().min(64)];
    let Some(rest) = stamp(head).map(|(_, length)| &head[length..]).or_else(|| spaced(head)) else {
        return false;
    };
    let rest = rest.trim_ascii_start();
    let thread = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = rest[thread..].trim_ascii_start();
    GRAVITIES.iter().any(|gravity| rest.starts_with(gravity))
}

/// The text after `2025-11-22  4:42:16` or `2025-11-22 04:42:16`.
fn spaced(head: &[u8]) -> Option<&[u8]> {
    const SHAPE: &[u8; 19] = b"0000-00-00  0:00:00";
    let is_one = |(byte, shape): (&u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        b' ' => *byte == b' ' || byte.is_ascii_digit(),
        _ => byte == shape,
    };
    let (stamp, rest) = head.split_at_checked(19)?;
    stamp.iter().zip(SHAPE).all(is_one).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_each_server_are_told_from_others() {
        for line in [
            "2025-11-22T04:42:16.000000Z 7 [Note] [MY-010914] [Server] Aborted connection 7",
            "2025-11-22T05:42:16.000000+01:00 0 [ERROR] x",
            "2025-11-22  4:42:16 7 [Note] x",
            "2025-11-22 04:42:16 1234 [Warning] x",
            "251122  4:42:16 [Note] x",
        ] {
            assert!(is_of_error_log(line.as_bytes()), "{line}");
        }
        for line in [
            "",
            "2025-11-22T04:42:16.000000Z",
            "2025-11-22T04:42:16.000000Z\t    7 Query\tselect 1",
            "2025-11-22  4:42:16 7 (Note) x",
            "[Note] x",
        ] {
            assert!(!is_of_error_log(line.as_bytes()), "{line}");
        }
    }
}
