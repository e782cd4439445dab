//! Recognises unsupported logs, for errors that name a supported alternative.
//!
//! Sources: MySQL Reference Manual, "mysqlbinlog"; MongoDB's manual before 4.4, "Log Messages".

use dyno_core::error::{Error, Kind};

/// Formats whose logs have an unsupported text form.
pub(super) const TEXT_OF: [&str; 2] = ["mysql-binlog", "mongodb"];

/// Number of lines examined at the log's start.
const LINES: usize = 400;

/// Why the log at `path`, which begins with `head`, is not supported, if that is known.
pub(super) fn unread(path: &str, head: &[u8]) -> Option<Error> {
    let any = |is_one: fn(&[u8]) -> bool| {
        head.split(|byte| *byte == b'\n').take(LINES).map(<[u8]>::trim_ascii_end).any(is_one)
    };
    let (what, hint) = if any(is_of_mysqlbinlog) {
        (
            format!("{path}: text that mysqlbinlog made of a binary log, which is not read"),
            "give the binary log itself: dyno digest binlog.000042; if only the server has it, \
             fetch it with: mysqlbinlog --read-from-remote-server --raw --host=HOST binlog.000042",
        )
    } else if any(is_of_mongod) {
        (
            format!("{path}: a text log of MongoDB before 4.4, which is not read"),
            "give a JSON log, as MongoDB 4.4 and later write it, of this load on a newer server \
             (operationProfiling.slowOpThresholdMs: 0 has all operations in it)",
        )
    } else {
        return None;
    };
    Some(Error::new(Kind::Plan, what).hint(hint))
}

/// `#251122  4:42:15 server id 1  end_log_pos 126 CRC32 0x1 \tQuery\t...`
fn is_of_mysqlbinlog(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"#") else { return false };
    let rest = rest.get(..6).filter(|day| day.iter().all(u8::is_ascii_digit)).map(|_| &rest[6..]);
    rest.and_then(|rest| rest.get(9..)).is_some_and(|rest| {
        rest.starts_with(b" server id ") && memchr::memmem::find(rest, b"end_log_pos ").is_some()
    })
}

/// `2019-11-22T04:42:15.123+0000 I  COMMAND  [conn7] ...`, before 3.0 without level and component, before
/// 2.6 `Fri Nov 22 04:42:15.123 [conn7] ...`.
fn is_of_mongod(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return false };
    let time = if first.len() == 3 && first.is_ascii() {
        let (_month, _day) = (words.next(), words.next());
        words.next().filter(|time| has_shape(time, b"00:00:00"))
    } else {
        Some(first).filter(|time| has_shape(time, b"0000-00-00T00:00:00.000"))
    };
    let mut next = words.next();
    if next.is_some_and(|level| level.len() <= 2 && b"DIWEF".contains(&level[0])) {
        let is_component = |word: &&[u8]| word.iter().all(|b| b.is_ascii_uppercase() || *b == b'-');
        next = words.next().filter(is_component).and_then(|_| words.next());
    }
    time.is_some() && next.is_some_and(|thread| thread.len() > 2 && is_thread(thread))
}

fn is_thread(word: &[u8]) -> bool {
    const LONE: [&[u8]; 4] =
        [b"[initandlisten]", b"[main]", b"[signalProcessingThread]", b"[mongosMain]"];
    LONE.contains(&word) || word.starts_with(b"[conn") && word.ends_with(b"]")
}

/// Whether `text` begins with a digit for each zero of `shape` and with the same byte for each other.
fn has_shape(text: &[u8], shape: &[u8]) -> bool {
    let is_one = |(byte, shape): (&u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == shape,
    };
    text.len() >= shape.len() && text.iter().zip(shape).all(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_mysqlbinlog_and_of_old_mongod_is_refused_with_what_to_give() {
        let binlog = "/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\nDELIMITER /*!*/;\n# at 4\n\
                      #251122  4:42:15 server id 7  end_log_pos 126 CRC32 0x1f \tStart: binlog v 4\n";
        let old = "#251122 14:42:15 server id 7  end_log_pos 126 \tQuery\tthread_id=1\n";
        for log in [binlog, old, &binlog.replace('\n', "\r\n")] {
            let error = unread("a.sql", log.as_bytes()).unwrap();
            assert!(error.what.starts_with("a.sql: text that mysqlbinlog"), "{error}");
            assert!(error.hint.contains("--raw"), "{error}");
        }
        for log in [
            "2019-11-22T04:42:15.123+0000 I COMMAND  [conn7] command shop.t command: find {} 7ms\n",
            "2019-11-22T04:42:15.123Z I  CONTROL  [initandlisten] db version v4.2.1\n",
            "2014-11-22T04:42:15.123-0400 [conn7] query shop.t query: {} 154ms\n",
            "Fri Nov 22 04:42:15.123 [conn7] query shop.t query: {} 154ms\n",
            "Fri Nov  2 04:42:15 [initandlisten] db version v2.2.3\n",
        ] {
            let error = unread("a.log", log.as_bytes()).unwrap();
            assert!(error.what.contains("MongoDB before 4.4"), "{error}");
        }
    }

    #[test]
    fn other_logs_are_not() {
        for log in [
            "",
            "#251122\n#251122  4:42:15 server\n",
            "2019-11-22T04:42:15.123Z 7 [Note] [MY-010914] [Server] x\n",
            "2019-11-22 04:42:15.123 UTC [conn7] LOG:  x\n",
            "Fri Nov 22\nFri [conn7]\n",
            "2019-11-22T04:42:15.123Z I\n",
        ] {
            assert!(unread("a.log", log.as_bytes()).is_none(), "{log}");
        }
    }
}
