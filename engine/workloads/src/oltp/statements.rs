//! The statements of `oltp`, and their order in a transaction. The text is the same in all dialects;
//! drivers rewrite the `?`.

use super::settings::Settings;
use dyno_core::workload::{Effect, ParamType, Request};

/// The kinds of operations, in their order in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    FilterRange,
    IndexUpdate,
    NonIndexUpdate,
    /// Inserts a row with the key just deleted. In a program, it represents the pair.
    DeleteInsert,
    Delete,
    /// Inserts a row with a key that the server generates.
    Insert,
}

impl Class {
    const ALL: [Self; 11] = [
        Self::PointSelect,
        Self::SimpleRange,
        Self::SumRange,
        Self::OrderRange,
        Self::DistinctRange,
        Self::FilterRange,
        Self::IndexUpdate,
        Self::NonIndexUpdate,
        Self::DeleteInsert,
        Self::Delete,
        Self::Insert,
    ];

    /// Number of operations of this class in a transaction.
    fn count(self, settings: &Settings) -> u64 {
        let counts = &settings.counts;
        match self {
            Self::PointSelect => counts.point_selects,
            Self::SimpleRange => counts.simple_ranges,
            Self::SumRange => counts.sum_ranges,
            Self::OrderRange => counts.order_ranges,
            Self::DistinctRange => counts.distinct_ranges,
            Self::FilterRange => counts.filter_ranges,
            Self::IndexUpdate => counts.index_updates,
            Self::NonIndexUpdate => counts.non_index_updates,
            Self::DeleteInsert => counts.delete_inserts,
            Self::Delete => counts.deletes,
            Self::Insert => counts.inserts,
        }
    }

    /// Whether the statement is used, alone or in a pair.
    fn used(self, settings: &Settings) -> bool {
        self.count(settings) > 0 || (self == Self::Delete && Self::DeleteInsert.count(settings) > 0)
    }

    /// The prepared statement for table `t` (1-based).
    fn statement(self, t: u64, settings: &Settings) -> Request {
        use ParamType::{Int, Text};
        let read = |class: &str, sql, params| Request::new(class, Effect::Read, sql, params);
        let write = |class: &str, sql, params| Request::new(class, Effect::Write, sql, params);
        let between = format!("FROM sbtest{t} WHERE id BETWEEN ? AND ?");
        match self {
            Self::PointSelect => {
                let (keys, params) = keys(settings.in_list);
                read("point_select", format!("SELECT c FROM sbtest{t} WHERE id{keys}"), params)
            }
            Self::SimpleRange => read("simple_range", format!("SELECT c {between}"), vec![Int; 2]),
            Self::SumRange => read("sum_range", format!("SELECT SUM(k) {between}"), vec![Int; 2]),
            Self::OrderRange => {
                read("order_range", format!("SELECT c {between} ORDER BY c"), vec![Int; 2])
            }
            Self::DistinctRange => read(
                "distinct_range",
                format!("SELECT DISTINCT c {between} ORDER BY c"),
                vec![Int; 2],
            ),
            Self::FilterRange => read(
                "filter_range",
                format!("SELECT c {between} AND c < '{}'", one_of(settings.range_size)),
                vec![Int; 2],
            ),
            Self::IndexUpdate => write(
                "index_update",
                format!("UPDATE sbtest{t} SET k = k + 1 WHERE id = ?"),
                vec![Int],
            ),
            Self::NonIndexUpdate => write(
                "non_index_update",
                format!("UPDATE sbtest{t} SET c = ? WHERE id = ?"),
                vec![Text, Int],
            ),
            Self::DeleteInsert => write(
                "insert",
                format!("INSERT INTO sbtest{t} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
                vec![Int, Int, Text, Text],
            ),
            Self::Delete => {
                write("delete", format!("DELETE FROM sbtest{t} WHERE id = ?"), vec![Int])
            }
            Self::Insert => write(
                "insert",
                format!("INSERT INTO sbtest{t} (k, c, pad) VALUES (?, ?, ?)"),
                vec![Int, Text, Text],
            ),
        }
    }
}

/// The condition on `n` keys, ` = ?` or an IN-list, and its parameters.
fn keys(n: u64) -> (String, Vec<ParamType>) {
    let n = n as usize;
    let text = if n == 1 { " = ?".into() } else { format!(" IN ({})", vec!["?"; n].join(", ")) };
    (text, vec![ParamType::Int; n])
}

/// The text below which 1 of `n` values of `c` lies: `c` starts with eleven uniform digits, so that
/// the threshold is 10^11 / n. It is a literal, so that the optimizer knows it.
fn one_of(n: u64) -> String {
    // With n = 1 every row matches. ':' follows '9' in ASCII but not in every collation; twelve
    // nines are above every `c`, which starts with at most eleven, in any collation.
    if n == 1 { "9".repeat(12) } else { format!("{:011}", 100_000_000_000u64.div_ceil(n)) }
}

/// Indexes of the statements in the list, and the operations of a transaction.
pub struct Catalogue {
    /// Begin, unless `skip_trx`.
    pub begin: Option<u16>,
    /// Commit, unless `skip_trx`.
    pub commit: Option<u16>,
    /// The classes in use, in order, with their counts.
    pub program: Vec<(Class, u64)>,
    /// Per class, the index of the statement for the first table; the other tables' follow.
    first: [u16; Class::ALL.len()],
}

impl Catalogue {
    pub fn new(settings: &Settings) -> Self {
        let frame = if settings.skip_trx { 0 } else { 2 };
        let mut next = frame;
        let first = Class::ALL.map(|class| {
            let at = next;
            next += if class.used(settings) { settings.tables } else { 0 };
            at as u16
        });
        assert!(next <= u64::from(u16::MAX), "the limit on tables keeps statements in 16 bits");
        let counts = Class::ALL.map(|class| (class, class.count(settings)));
        Self {
            begin: (frame > 0).then_some(0),
            commit: (frame > 0).then_some(1),
            program: counts.into_iter().filter(|&(_, count)| count > 0).collect(),
            first,
        }
    }

    /// Index of the statement of `class` for table `table` (0-based).
    #[inline]
    pub fn statement(&self, class: Class, table: u16) -> u16 {
        self.first[class as usize] + table
    }
}

/// The list of statements, to which the indexes of [`Catalogue`] refer: begin and commit, then the
/// statements by class and table.
pub fn all(settings: &Settings) -> Vec<Request> {
    let begin = if settings.writes() { Effect::BeginWrite } else { Effect::BeginRead };
    let frame = [("begin", begin), ("commit", Effect::Commit)]
        .map(|(class, kind)| Request::new(class, kind, "", vec![]));
    let classes = Class::ALL.into_iter().filter(|class| class.used(settings));
    frame
        .into_iter()
        .filter(|_| !settings.skip_trx)
        .chain(
            classes
                .flat_map(|class| (1..=settings.tables).map(move |t| class.statement(t, settings))),
        )
        .collect()
}
