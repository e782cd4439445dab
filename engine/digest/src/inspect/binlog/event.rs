//! Statements and transactions of a binary log, and the trait that receives them.

/// A statement; without its text in the log, one statement's changes to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// Offset of its first event in the log.
    pub offset: u64,
    /// Size in the log, bytes.
    pub bytes: u64,
    /// Its text; for rows without text, verb and table.
    pub text: &'a [u8],
    /// The default database, or the schema of the changed table.
    pub database: &'a [u8],
    /// Number of inserted, updated or deleted rows; `None` for a statement logged as text.
    pub rows: Option<u64>,
    /// Connection ID, if the log holds it.
    pub session: Option<u64>,
    /// Start, seconds since 1970.
    pub begin_s: u32,
    /// Duration in whole seconds, if the log holds it.
    pub took_s: Option<u32>,
    /// Its error code; 0: none.
    pub error: u16,
}

/// A committed transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transaction {
    /// Offset of its first event in the log.
    pub offset: u64,
    /// Size in the log, bytes.
    pub bytes: u64,
    /// Start of its first statement, seconds since 1970.
    pub begin_s: u32,
    /// Time of its commit, microseconds since 1970 (MySQL 8 and later).
    pub commit_us: Option<i64>,
    /// Order information for replicas.
    pub order: Order,
    /// Schemas that it wrote to, sorted by name.
    pub schemas: Vec<Vec<u8>>,
    /// Number of changed rows.
    pub rows: u64,
    /// Number of statements.
    pub statements: u64,
    /// Sum of their durations in whole seconds, as far as the log holds them.
    pub took_s: u64,
    /// Distinct hashes of its rows' keys; complete only if `has_all_keys`, and empty if `is_large`.
    pub keys: Vec<u64>,
    /// Whether it has more than [`KEYS_MAX`] distinct keys.
    pub is_large: bool,
    /// Whether `keys` covers all its rows: the log describes the keys of all tables
    /// (`binlog_row_metadata = FULL`), and holds no statement as text.
    pub has_all_keys: bool,
    /// Whether it is DDL, which waits for all earlier transactions.
    pub is_ddl: bool,
}

/// Maximum number of row keys stored per transaction, and in the history of a simulated replica:
/// MySQL's default of `binlog_transaction_dependency_history_size`.
pub const KEYS_MAX: usize = 25_000;

/// Order information of a transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Order {
    /// MySQL: sequence number in this file, from 1.
    pub sequence: Option<i64>,
    /// MySQL: sequence number of the transaction after whose commit it may start.
    pub last_committed: Option<i64>,
    /// MariaDB: group commit ID, the same for transactions that were committed together.
    pub commit_id: Option<u64>,
    /// MariaDB: replication domain ID.
    pub domain: Option<u32>,
}

impl Transaction {
    /// Moves row keys into this transaction; discards all keys if they are too many.
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

    /// Adds a schema, if it is new.
    pub fn add_schema(&mut self, schema: &[u8]) {
        if let Err(place) = self.schemas.binary_search_by(|known| known.as_slice().cmp(schema)) {
            self.schemas.insert(place, schema.to_vec());
        }
    }
}

/// Receives the content of a log.
pub trait Items {
    /// Receives a statement. Its texts are valid during the call.
    fn statement(&mut self, statement: &Statement<'_>);
    /// Receives a committed transaction (or a prepared one, if it is XA).
    fn transaction(&mut self, transaction: &Transaction);
    /// Receives the position and size of bytes that are no valid event, and why.
    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str);
}
