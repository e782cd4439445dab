//! Capabilities: what drivers can do and workloads need, under the same names.

/// Something that a workload may need of a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Statements of SQL.
    Sql,
    /// Several operations that commit or roll back together.
    Transactions,
    /// Reads and writes of a record by its key.
    KeyValue,
    /// Reads of records in the order of their keys.
    KeyRanges,
    /// Filling an empty data set in bulk, and counting it.
    Populate,
    /// Blocks of plain files.
    Io,
    /// Several requests in one write, before the answer to the first.
    Pipelining,
    /// Writes that commit by themselves together with an identity, for audits.
    IdentifiedWrites,
}

impl Capability {
    /// All of them, in the order of the reference.
    pub const ALL: &[Self] = &[
        Self::Sql,
        Self::Transactions,
        Self::KeyValue,
        Self::KeyRanges,
        Self::Populate,
        Self::Io,
        Self::Pipelining,
        Self::IdentifiedWrites,
    ];

    /// Capabilities of an SQL system.
    pub const OF_SQL: &[Self] =
        &[Self::Sql, Self::Transactions, Self::KeyValue, Self::KeyRanges, Self::Populate];

    /// Its name in lists and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sql => "sql",
            Self::Transactions => "transactions",
            Self::KeyValue => "key_value",
            Self::KeyRanges => "key_ranges",
            Self::Populate => "populate",
            Self::Io => "io",
            Self::Pipelining => "pipelining",
            Self::IdentifiedWrites => "identified_writes",
        }
    }
}

/// Names of capabilities, as JSON lists and messages have them.
pub fn names(capabilities: &[Capability]) -> Vec<&'static str> {
    capabilities.iter().map(|capability| capability.name()).collect()
}
