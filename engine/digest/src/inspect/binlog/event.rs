//! Statements and transactions of a binary log, and the trait that takes them.

/// A statement, or one statement's changes to one table where its text is not in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// Where its first event begins.
    pub offset: u64,
    /// How much of the log it takes.
    pub bytes: u64,
    /// Its text; for rows without one, verb and table.
    pub text: &'a [u8],
    /// The default database, or the schema of the rows' table.
    pub database: &'a [u8],
    /// Rows that were written, changed or deleted; none for a statement that was logged as text.
    pub rows: Option<u64>,
    /// The connection, where the log says it.
    pub session: Option<u64>,
    /// When it began, seconds since 1970.
    pub begin_s: u32,
    /// How long it took, whole seconds, where the log says it.
    pub took_s: Option<u32>,
    /// The error that it ended with; 0: none.
    pub error: u16,
}

/// What was committed at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transaction {
    /// Where its first event begins.
    pub offset: u64,
    /// How much of the log it takes.
    pub bytes: u64,
    /// When its first statement began, seconds since 1970.
    pub begin_s: u32,
    /// When it was committed, microseconds since 1970 (MySQL 8 and later).
    pub commit_us: Option<i64>,
    /// What a replica may know of its order.
    pub order: Order,
    /// Schemas that it wrote to, in the order of their names.
    pub schemas: Vec<Vec<u8>>,
    /// Rows that it changed.
    pub rows: u64,
    /// Its statements.
    pub statements: u64,
    /// What they took, whole seconds, as far as the log says it.
    pub took_s: u64,
    /// Hashes of the keys of its rows, each once; complete only if `has_all_keys`, and empty if
    /// `is_large`.
    pub keys: Vec<u64>,
    /// Whether it changed more rows than [`KEYS_MAX`].
    pub is_large: bool,
    /// Whether each of its rows is in `keys`: all tables have their keys described in the log
    /// (`binlog_row_metadata = FULL`), and nothing was logged as text.
    pub has_all_keys: bool,
    /// Whether it changes a table's definition, and so waits for all before it.
    pub is_ddl: bool,
}

/// Keys of rows that are kept: of one transaction, and of the last ones when a replica's workers are
/// simulated. What MySQL keeps by default (`binlog_transaction_dependency_history_size`).
pub const KEYS_MAX: usize = 25_000;

/// What the log says of a transaction's place among others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Order {
    /// MySQL: its number in this file, from 1.
    pub sequence: Option<i64>,
    /// MySQL: it may begin once this one is committed.
    pub last_committed: Option<i64>,
    /// MariaDB: those with the same number were committed together.
    pub commit_id: Option<u64>,
    /// MariaDB: its stream.
    pub domain: Option<u32>,
}

impl Transaction {
    /// Adds keys of rows, and lets go of all if there are too many.
    pub(super) fn add_keys(&mut self, keys: &mut Vec<u64>) {
        if self.is_large {
            return;
        }
        self.keys.append(keys);
        if self.keys.len() > KEYS_MAX {
            self.keys.sort_unstable();
            self.keys.dedup();
        }
        if self.keys.len() > KEYS_MAX {
            (self.is_large, self.keys) = (true, vec![]);
        }
    }

    /// Adds a schema, once.
    pub fn add_schema(&mut self, schema: &[u8]) {
        if let Err(place) = self.schemas.binary_search_by(|known| known.as_slice().cmp(schema)) {
            self.schemas.insert(place, schema.to_vec());
        }
    }
}

/// Takes what a log holds.
pub trait Items {
    /// A statement. Its texts are valid during the call.
    fn statement(&mut self, statement: &Statement<'_>);
    /// A transaction that was committed (or prepared, if it is XA).
    fn transaction(&mut self, transaction: &Transaction);
    /// Bytes that are none, and why.
    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str);
}
