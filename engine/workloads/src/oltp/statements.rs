//! The statements of `oltp`, and in which order a transaction sends them. The text is the same in
//! all dialects; drivers rewrite the `?`.

use super::settings::Settings;
use dyno_core::workload::{Effect, ParamType, Request};

/// What an operation does. The order is that of a transaction.
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
    /// A row under the key just deleted; stands for the pair in a program.
    DeleteInsert,
    Delete,
    /// A row under a key that the server chooses.
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

    /// How many of it a transaction holds.
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

    /// Whether its statement is needed, alone or as half of a pair.
    fn used(self, settings: &Settings) -> bool {
        self.count(settings) > 0 || (self == Self::Delete && Self::DeleteInsert.count(settings) > 0)
    }

    /// The prepared statement for table `t`.
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

/// ` = ?`, or an IN-list where several keys are asked for.
fn keys(n: u64) -> (String, Vec<ParamType>) {
    let n = n as usize;
    let text = if n == 1 { " = ?".into() } else { format!(" IN ({})", vec!["?"; n].join(", ")) };
    (text, vec![ParamType::Int; n])
}

/// The text below which one `c` in `n` lies: `c` starts with eleven even digits, so the threshold
/// is 10^11 / n. A constant, so that a plan can be made from the statement alone.
fn one_of(n: u64) -> String {
    // With n = 1 every row is kept: ':' follows '9' in ASCII, but not in every collation, and a
    // longer run of nines than `c` can start with is above all of them in any.
    if n == 1 { "9".repeat(12) } else { format!("{:011}", 100_000_000_000u64.div_ceil(n)) }
}

/// Where the statements stand in the list, and what a transaction sends.
pub struct Catalogue {
    /// Opens a transaction, unless `skip_trx`.
    pub begin: Option<u16>,
    /// Ends it.
    pub commit: Option<u16>,
    /// Classes that occur, in order, with their counts.
    pub program: Vec<(Class, u64)>,
    /// Number of the statement of each class for the first table; those of the other tables follow.
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

    /// Number of the statement of `class` for table `table` (0-based).
    #[inline]
    pub fn statement(&self, class: Class, table: u16) -> u16 {
        self.first[class as usize] + table
    }
}

/// The list that [`Catalogue`] numbers: begin and commit, then class by class, table by table.
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
