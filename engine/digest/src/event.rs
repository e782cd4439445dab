//! An event of a server, in the representation that all log formats share.

use serde::Serialize;

/// A statement or command from a log. Text is in bytes as in the log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Event<'a> {
    /// Offset in the log, bytes; for a compressed file, in its content.
    pub offset: u64,
    /// Length in the log, bytes.
    pub bytes: u64,
    /// Kind of event.
    pub kind: Kind,
    /// End, nanoseconds since 1970 (UTC); `None`: unknown.
    pub end_ns: Option<i64>,
    /// Duration, nanoseconds; `None`: unknown.
    pub duration_ns: Option<u64>,
    /// The statement without a terminator; for other kinds, their name in the log.
    pub text: &'a [u8],
    /// User. Empty: unknown, as for `host` and `database`.
    pub user: &'a [u8],
    /// Name or address of the client.
    pub host: &'a [u8],
    /// The default schema or database.
    pub database: &'a [u8],
    /// ID of the connection; `None`: unknown.
    pub session: Option<u64>,
    /// Number of events that it represents in a sampled log; 0 means 1.
    pub weight: u32,
    /// Error code: a number (MySQL) or the five characters of an SQLSTATE (PostgreSQL). Empty: no known
    /// error.
    pub error: &'a [u8],
    /// Parameter values in the format of the log: `$1 = '7', $2 = NULL` (PostgreSQL). Empty: unknown.
    pub parameters: &'a [u8],
    /// Plan summary, such as `IXSCAN { a: 1 }` (MongoDB). Empty: unknown.
    pub plan: &'a [u8],
    /// Measures from the log.
    pub numbers: Numbers,
}

/// Kind of event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A statement that was executed.
    #[default]
    Statement,
    /// A statement that was prepared, not executed.
    Prepare,
    /// A command other than a statement: ping, connect, quit.
    Command,
}

macro_rules! measures {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $unit:ident;)*) => {
        /// Measures of an event, other than its duration.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Measure { $($(#[doc = $doc])* $variant,)* }

        impl Measure {
            /// All measures, in the order of their discriminants.
            pub const ALL: &[Measure] = &[$(Measure::$variant,)*];

            /// The name in documents and reports.
            pub fn name(self) -> &'static str {
                match self { $(Measure::$variant => $name,)* }
            }

            /// The unit.
            pub fn unit(self) -> Unit {
                match self { $(Measure::$variant => Unit::$unit,)* }
            }
        }
    };
}

/// Units of measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds (in documents, values are in seconds).
    Ns,
    /// Count.
    Count,
    /// Bytes.
    Bytes,
    /// Flag, 0 or 1.
    Flag,
}

measures! {
    /// Waiting for table locks (and, in MySQL 8.0.28 and later, for row locks).
    LockTime = "lock_time", Ns;
    /// Waiting for row locks in InnoDB (Percona).
    RecordLockWait = "innodb_rec_lock_wait", Ns;
    /// Reading in InnoDB (Percona); `Pages_read_time` of MariaDB.
    ReadWait = "innodb_io_r_wait", Ns;
    /// Waiting for InnoDB's queue (Percona).
    QueueWait = "innodb_queue_wait", Ns;
    /// Time in the storage engine (MariaDB).
    EngineTime = "engine_time", Ns;
    /// Planning time (PostgreSQL, MongoDB).
    PlanTime = "plan_time", Ns;
    /// CPU time (MongoDB).
    CpuTime = "cpu_time", Ns;
    /// Waiting for a ticket or for execution (MongoDB).
    Queued = "queued_time", Ns;
    /// Rows sent to the client.
    RowsSent = "rows_sent", Count;
    /// Rows examined.
    RowsExamined = "rows_examined", Count;
    /// Rows changed.
    RowsAffected = "rows_affected", Count;
    /// Rows read from the storage engine.
    RowsRead = "rows_read", Count;
    /// Index keys examined (MongoDB).
    KeysExamined = "keys_examined", Count;
    /// Bytes sent to the client.
    BytesSent = "bytes_sent", Bytes;
    /// Bytes received from the client.
    BytesReceived = "bytes_received", Bytes;
    /// Temporary tables.
    TmpTables = "tmp_tables", Count;
    /// Temporary tables on disk.
    TmpDiskTables = "tmp_disk_tables", Count;
    /// Size of temporary tables, or of temporary files.
    TmpBytes = "tmp_bytes", Bytes;
    /// Merge passes of sorts.
    MergePasses = "merge_passes", Count;
    /// Pages read (InnoDB's `IO_r_ops`; MariaDB's `Pages_read`; PostgreSQL's shared blocks read).
    PagesRead = "pages_read", Count;
    /// Bytes read by InnoDB.
    ReadBytes = "read_bytes", Bytes;
    /// Distinct pages used (Percona), or pages found (MariaDB's `Pages_accessed`).
    PagesUsed = "pages_used", Count;
    /// Undo records read for old row versions (MariaDB).
    OldRowsRead = "old_rows_read", Count;
    /// A result from the query cache.
    QueryCacheHit = "qc_hit", Flag;
    /// A full table scan.
    FullScan = "full_scan", Flag;
    /// A join without an index.
    FullJoin = "full_join", Flag;
    /// A temporary table was needed.
    TmpTable = "tmp_table", Flag;
    /// A temporary table on disk was needed.
    TmpTableOnDisk = "tmp_table_on_disk", Flag;
    /// A sort was needed.
    Filesort = "filesort", Flag;
    /// A sort went through files.
    FilesortOnDisk = "filesort_on_disk", Flag;
}

/// Number of measures.
pub const MEASURES: usize = Measure::ALL.len();

/// The measures of one event; measures that the log does not contain are absent, not 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    present: u32,
    values: [u64; MEASURES],
}

const _: () = assert!(MEASURES <= 32, "one bit a measure");

/// The measures in a mask ([`Numbers::mask`]), in the order of their discriminants.
#[inline]
pub fn measures(mut mask: u32) -> impl Iterator<Item = Measure> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let index = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            Measure::ALL[index]
        })
    })
}

impl Default for Numbers {
    fn default() -> Self {
        Self { present: 0, values: [0; MEASURES] }
    }
}

impl Numbers {
    /// Sets a measure, in its unit (nanoseconds, a count, bytes, 0 or 1).
    #[inline]
    pub fn set(&mut self, measure: Measure, value: u64) {
        self.present |= 1 << measure as u32;
        self.values[measure as usize] = value;
    }

    /// The value of a measure; `None`: absent.
    #[inline]
    pub fn get(&self, measure: Measure) -> Option<u64> {
        (self.present >> measure as u32 & 1 == 1).then(|| self.values[measure as usize])
    }

    /// The present measures with their values, in the order of their discriminants.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (Measure, u64)> + '_ {
        measures(self.present).map(|measure| (measure, self.values[measure as usize]))
    }

    /// The present measures as a bit mask, by discriminant.
    #[inline]
    pub fn mask(&self) -> u32 {
        self.present
    }

    /// Removes all values.
    #[inline]
    pub fn clear(&mut self) {
        self.present = 0;
    }
}

/// Number of events that this one represents, at least 1.
#[inline]
pub fn weight(event: &Event<'_>) -> u32 {
    event.weight.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_that_were_not_set_are_not_zero_but_absent() {
        let mut numbers = Numbers::default();
        numbers.set(Measure::RowsSent, 0);
        numbers.set(Measure::FilesortOnDisk, 1);
        assert_eq!(numbers.get(Measure::RowsSent), Some(0));
        assert_eq!(numbers.get(Measure::LockTime), None);
        let all: Vec<_> = numbers.iter().collect();
        assert_eq!(all, [(Measure::RowsSent, 0), (Measure::FilesortOnDisk, 1)]);
        numbers.clear();
        assert_eq!(numbers.iter().count(), 0);
    }

    #[test]
    fn names_of_measures_are_distinct() {
        let names: std::collections::BTreeSet<_> = Measure::ALL.iter().map(|m| m.name()).collect();
        assert_eq!(names.len(), MEASURES);
    }
}
