//! The fields of header lines, by name.
//!
//! Sources: MySQL Reference Manual, "The Slow Query Log" and `log_slow_extra`; Percona Server manual,
//! "Slow query log"; MariaDB documentation, "Slow Query Log Extended Statistics" (which also says that
//! `Engine_time` and `Pages_read_time` are milliseconds); logs of MariaDB 10.11 and 11.8 and MySQL 9.
//! TiDB's documentation, "Identify Slow Queries", for what its log has in common with MySQL's.

use crate::event::Measure;

/// The meaning of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Duration of the statement, seconds.
    Duration,
    /// Seconds.
    Seconds(Measure),
    /// Milliseconds (MariaDB's engine statistics).
    Millis(Measure),
    /// A count or a number of bytes.
    Number(Measure),
    /// Yes or No.
    Flag(Measure),
    /// The connection id.
    Session,
    /// The default database.
    Schema,
    /// The error number; 0: none.
    Error,
    /// The sampling rate: one of so many statements was logged.
    RateLimit,
    /// The time at which the statement ended.
    End,
}

use Field::*;
use Measure as M;

const NAMES: &[(&[u8], Field)] = &[
    (b"Query_time", Duration),
    (b"Lock_time", Seconds(M::LockTime)),
    (b"Rows_sent", Number(M::RowsSent)),
    (b"Rows_examined", Number(M::RowsExamined)),
    (b"Rows_affected", Number(M::RowsAffected)),
    (b"Rows_read", Number(M::RowsRead)),
    (b"Bytes_sent", Number(M::BytesSent)),
    (b"Thread_id", Session),
    (b"Id", Session),
    (b"Schema", Schema),
    (b"QC_hit", Flag(M::QueryCacheHit)),
    (b"Full_scan", Flag(M::FullScan)),
    (b"Full_join", Flag(M::FullJoin)),
    (b"Tmp_table", Flag(M::TmpTable)),
    (b"Tmp_table_on_disk", Flag(M::TmpTableOnDisk)),
    (b"Disk_tmp_table", Flag(M::TmpTableOnDisk)),
    (b"Filesort", Flag(M::Filesort)),
    (b"Filesort_on_disk", Flag(M::FilesortOnDisk)),
    (b"Disk_filesort", Flag(M::FilesortOnDisk)),
    (b"Merge_passes", Number(M::MergePasses)),
    (b"Tmp_tables", Number(M::TmpTables)),
    (b"Tmp_disk_tables", Number(M::TmpDiskTables)),
    (b"Tmp_table_sizes", Number(M::TmpBytes)),
    // MySQL's log_slow_extra.
    (b"Errno", Error),
    (b"Bytes_received", Number(M::BytesReceived)),
    (b"Sort_merge_passes", Number(M::MergePasses)),
    (b"Created_tmp_tables", Number(M::TmpTables)),
    (b"Created_tmp_disk_tables", Number(M::TmpDiskTables)),
    (b"End", End),
    // Percona Server.
    (b"Last_errno", Error),
    (b"InnoDB_IO_r_ops", Number(M::PagesRead)),
    (b"InnoDB_IO_r_bytes", Number(M::ReadBytes)),
    (b"InnoDB_IO_r_wait", Seconds(M::ReadWait)),
    (b"InnoDB_rec_lock_wait", Seconds(M::RecordLockWait)),
    (b"InnoDB_queue_wait", Seconds(M::QueueWait)),
    (b"InnoDB_pages_distinct", Number(M::PagesUsed)),
    (b"Log_slow_rate_limit", RateLimit),
    // TiDB.
    (b"Conn_ID", Session),
    // MariaDB's engine statistics.
    (b"Pages_accessed", Number(M::PagesUsed)),
    (b"Pages_read", Number(M::PagesRead)),
    (b"Old_rows_read", Number(M::OldRowsRead)),
    (b"Pages_read_time", Millis(M::ReadWait)),
    (b"Engine_time", Millis(M::EngineTime)),
];

/// The meaning of the field of this name, if it is known.
#[inline]
pub(super) fn field(name: &[u8]) -> Option<Field> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
}

/// A decimal number in units of 10^-`DIGITS`, further digits ignored: seconds in nanoseconds (9),
/// milliseconds in nanoseconds (6), whole numbers (0). `None`: not a number, or one that overflows
/// (servers print negative differences as huge numbers).
#[inline]
pub(super) fn decimal<const DIGITS: u32>(text: &[u8]) -> Option<u64> {
    // 19 digits cannot overflow.
    let is_short = text.len() <= 19;
    let add = |value: u64, digit: u8| match is_short {
        true => Some(value * 10 + u64::from(digit)),
        false => value.checked_mul(10)?.checked_add(u64::from(digit)),
    };
    let (mut value, mut at, mut left) = (0u64, 0, DIGITS);
    while let Some(digit) = digit(text, at) {
        value = add(value, digit)?;
        at += 1;
    }
    if text.get(at) == Some(&b'.') && at > 0 {
        at += 1;
        while let Some(digit) = digit(text, at) {
            if left > 0 {
                value = add(value, digit)?;
                left -= 1;
            }
            at += 1;
        }
    }
    if at == 0 || at < text.len() {
        return None;
    }
    value.checked_mul(10u64.pow(left))
}

/// The digit at `at`, if any.
#[inline]
fn digit(text: &[u8], at: usize) -> Option<u8> {
    text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_found_and_others_are_not() {
        for (name, known) in NAMES {
            assert_eq!(field(name), Some(*known), "{}", String::from_utf8_lossy(name));
        }
        for name in [&b""[..], b"x", b"Query_tim", b"query_time", b"Killed", b"\xff"] {
            assert_eq!(field(name), None);
        }
    }

    #[test]
    fn numbers_are_read_exactly_and_rubbish_is_none() {
        assert_eq!(decimal::<9>(b"1.500262"), Some(1_500_262_000));
        assert_eq!(decimal::<9>(b"3"), Some(3_000_000_000));
        assert_eq!(decimal::<6>(b"17.0204"), Some(17_020_400));
        assert_eq!(decimal::<9>(b"0.1234567899"), Some(123_456_789));
        assert_eq!(decimal::<0>(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal::<0>(b"18446744073709551616"), None);
        assert_eq!(decimal::<9>(b"18446744073699.000000"), None);
        for rubbish in [&b""[..], b"-1", b".5", b"1x", b"1.2.3", b"Yes"] {
            assert_eq!(decimal::<9>(rubbish), None);
        }
    }
}
