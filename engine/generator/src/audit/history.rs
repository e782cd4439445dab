//! `history.log`: what each attempt at a transaction read and wrote, and how it ended.
//!
//! A first record as in `audit.log`, then a record of 64 bytes an access, little-endian; those of an
//! attempt follow each other:
//!
//! | bytes | what |
//! |---|---|
//! | 0-3, 4-5, 6 | session, attempt, [`Outcome`] |
//! | 7 | [`Verb`](dyno_core::workload::history::Verb) |
//! | 8-15 | number of the transaction in its session |
//! | 16-23, 24-31 | when the attempt's first byte was sent, and when its end was known, nanoseconds of the clock |
//! | 32-35 | key |
//! | 36, 37 | number of the access in its attempt, and how many there are |
//! | 38-39, 60-63 | 0 |
//! | 40-47, 48-55, 56-59 | `value`, `seen`, `count` of the [`Access`] |

use super::log::{Form, Identity, Log, Outcome};
use dyno_core::workload::history::Access;

/// Bytes of a record.
pub const RECORD_BYTES: usize = 64;
/// The file.
pub const HISTORY: Form =
    Form { name: "history.log", magic: *b"dynohis1", record_bytes: RECORD_BYTES };

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub struct Ending {
    /// As its client knows it.
    pub outcome: Outcome,
    /// When its first byte was sent.
    pub start_ns: u64,
    /// When its end was known.
    pub end_ns: u64,
}

/// Appends the accesses of an attempt, in one piece: records of other threads never come between.
pub fn append(log: &Log, identity: Identity, ending: Ending, accesses: &[Access]) {
    let of = accesses.len().min(usize::from(u8::MAX)) as u8;
    let mut records = vec![0; usize::from(of) * RECORD_BYTES];
    let places = records.chunks_exact_mut(RECORD_BYTES).zip(accesses);
    for (place, (record, access)) in places.enumerate() {
        record[..8].copy_from_slice(&identity.head(ending.outcome, access.verb as u8));
        record[8..16].copy_from_slice(&identity.n.to_le_bytes());
        record[16..24].copy_from_slice(&ending.start_ns.to_le_bytes());
        record[24..32].copy_from_slice(&ending.end_ns.to_le_bytes());
        record[32..36].copy_from_slice(&access.key.to_le_bytes());
        record[36..38].copy_from_slice(&[place as u8, of]);
        record[40..48].copy_from_slice(&access.value.to_le_bytes());
        record[48..56].copy_from_slice(&access.seen.to_le_bytes());
        record[56..60].copy_from_slice(&access.count.to_le_bytes());
    }
    if !records.is_empty() {
        log.push(&records, ending.end_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::log::LogFile;
    use dyno_core::workload::history::Verb;

    #[test]
    fn records_have_the_layout_that_readers_know() {
        let directory = tempfile::tempdir().unwrap();
        let file = LogFile::create(directory.path(), HISTORY).unwrap();
        file.begin(9).unwrap();
        let log = file.writer().unwrap();
        let access = Access { verb: Verb::Swap, key: 4, value: -1, seen: 5, count: 6 };
        let ending = Ending { outcome: Outcome::Unknown, start_ns: 7, end_ns: 8 };
        append(&log, Identity { session: 1, n: 3, attempt: 2 }, ending, &[access, access]);
        log.close().unwrap();
        let bytes = std::fs::read(directory.path().join("history.log")).unwrap();
        assert_eq!(bytes.len(), 3 * RECORD_BYTES);
        assert!(bytes.starts_with(b"dynohis1\x09"));
        let words = |record: usize| -> Vec<u64> {
            let bytes = &bytes[record * RECORD_BYTES..][..RECORD_BYTES];
            bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
        };
        let head = 1 | 2 << 32 | 3 << 48 | 3 << 56;
        assert_eq!(words(1), [head, 3, 7, 8, 4 | 2 << 40, u64::MAX, 5, 6]);
        assert_eq!(words(2)[4], 4 | 1 << 32 | 2 << 40, "the second of two");
    }
}
