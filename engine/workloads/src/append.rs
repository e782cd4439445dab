//! `append`: transactions that append unique elements to lists and read lists, whose history shows
//! the anomalies of isolation: dirty reads, lost updates, read skew, write skew.
//!
//! A list is a row with its elements as text, each followed by a comma. Each transaction is BEGIN, 1
//! to `operations_max` operations, each on a list drawn for it, and COMMIT. They are in the order of
//! the lists, so that appends wait for each other and seldom deadlock. An append is one UPDATE that
//! concatenates: whatever the isolation, elements are never overwritten, and a list tells the order
//! of all its versions.
//!
//! Sessions work on `lists` lists at a time, and turn to the next ones after each `turn` of their
//! own transactions, so that lists stay short.
//!
//! Source: Kingsbury and Alvaro, "Elle: inferring isolation anomalies from experimental
//! observations", PVLDB 14 (2020).

use crate::options::Reader;
use dyno_core::error::Result;
use dyno_core::random::rng::Rng;
use dyno_core::request::capability::Capability;
use dyno_core::workload::history::{self, Access, Digest, Observed, Verb};
use dyno_core::workload::{
    Dialect, Effect, Order, ParamType, Request, RowSink, Table, Transaction, Value, Workload,
    WorkloadKind,
};
use std::ops::Range;

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: "append",
    about: "transactions that append to lists and read them, for `audit: append`",
    needs: &[Capability::Sql, Capability::Transactions],
    build,
};

/// The table.
pub const TABLE: &str = "dbdyno_append";
const BEGIN: u16 = 0;
const READ: u16 = 1;
const COMMIT: u16 = 2;
const APPEND: u16 = 3;
/// Most operations of a transaction.
const OPERATIONS_MAX: usize = 8;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    let mut reader = Reader::new("append", order.options);
    let settings = Settings {
        rows: reader.integer("rows", 10_000, 1..=10_000_000)?,
        lists: reader.integer("lists", 8, 1..=100_000)?,
        turn: reader.integer("turn", 100, 1..=1_000_000_000)?,
        operations_max: reader.integer("operations_max", 4, 1..=OPERATIONS_MAX as u64)?,
        read: reader.number("read", 0.5, |x| (0.0..=1.0).contains(&x), "from 0 to 1")?,
    };
    reader.finish()?;
    if settings.lists > settings.rows {
        let why = format!("{} is more than rows, {}", settings.lists, settings.rows);
        return Err(reader.wrong("lists", why));
    }
    Ok(Box::new(Append { settings, dialect: order.dialect, seed: order.seed }))
}

struct Settings {
    rows: u64,
    lists: u64,
    turn: u64,
    operations_max: u64,
    /// Share of the operations that read.
    read: f64,
}

struct Append {
    settings: Settings,
    dialect: Dialect,
    seed: u64,
}

/// Number of elements, the last one, and the digest of a list.
fn summary(text: &[u8]) -> (u32, i64, Digest) {
    let (mut count, mut last, mut digest) = (0, 0, Digest::default());
    let mut element: i64 = 0;
    for &byte in text {
        if byte == b',' {
            digest.push(element);
            (count, last, element) = (count + 1, element, 0);
        } else {
            element = element.wrapping_mul(10).wrapping_add(i64::from(byte.wrapping_sub(b'0')));
        }
    }
    (count, last, digest)
}

impl Append {
    fn writes(&self) -> bool {
        self.settings.read < 1.0
    }

    /// The first of the lists that a session works on at a transaction.
    fn first_list(&self, index: u64) -> u64 {
        let Settings { rows, lists, turn, .. } = self.settings;
        index / turn % (rows / lists) * lists
    }

    fn append_sql(&self) -> String {
        let grown = match self.dialect {
            Dialect::Mysql => "CONCAT(elements, ?, ',')",
            Dialect::Postgres => "elements || CAST(? AS TEXT) || ','",
            Dialect::Sqlite | Dialect::Null => "elements || ? || ','",
        };
        format!("UPDATE {TABLE} SET elements = {grown} WHERE id = ?")
    }
}

impl Workload for Append {
    fn requests(&self) -> Vec<Request> {
        let begin = if self.writes() { Effect::BeginWrite } else { Effect::BeginRead };
        let sql = format!("SELECT elements FROM {TABLE} WHERE id = ?");
        let mut read = Request::new("read", Effect::Read, sql, vec![ParamType::Int]);
        read.keeps = true;
        let mut all = vec![
            Request::new("begin", begin, "", vec![]),
            read,
            Request::new("commit", Effect::Commit, "", vec![]),
        ];
        if self.writes() {
            let params = vec![ParamType::BigInt, ParamType::Int];
            all.push(Request::new("append", Effect::Write, self.append_sql(), params));
        }
        all
    }

    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        let mut rng = Rng::for_transaction(self.seed, session, index);
        let first = self.first_list(index);
        let mut operations = [(0, false); OPERATIONS_MAX];
        let operations = &mut operations[..rng.between(1, self.settings.operations_max) as usize];
        for operation in &mut *operations {
            *operation = (rng.below(self.settings.lists), rng.unit() < self.settings.read);
        }
        // Stable: what is done to one list keeps its order.
        operations.sort_by_key(|operation| operation.0);
        tx.op(BEGIN);
        for (write, &(list, is_read)) in operations.iter().enumerate() {
            if !is_read {
                tx.int(history::unique(session, index, write as u32));
            }
            tx.int((first + list) as i64);
            tx.op(if is_read { READ } else { APPEND });
        }
        tx.op(COMMIT);
    }

    fn has_history(&self) -> bool {
        true
    }

    fn observe(&self, observed: &Observed<'_>, out: &mut Vec<Access>) {
        let tx = observed.transaction;
        let mut answers = observed.answers.iter();
        for op in &tx.ops[..observed.sent] {
            match (op.request, tx.values_of(op)) {
                (READ, &[Value::Int(list)]) => {
                    let Some(rows) = answers.next().filter(|rows| !rows.is_unknown()) else {
                        return;
                    };
                    let text = rows.first().and_then(|row| row.get(0)).unwrap_or_default();
                    let (count, seen, digest) = summary(text);
                    let (verb, value) = (Verb::Read, digest.0 as i64);
                    out.push(Access { verb, key: list as u32, value, seen, count });
                }
                (APPEND, &[Value::Int(value), Value::Int(list)]) => {
                    let (verb, key) = (Verb::Write, list as u32);
                    out.push(Access { verb, key, value, seen: 0, count: 0 });
                }
                _ => {}
            }
        }
    }

    fn renumber(&self, attempt: u32, tx: &mut Transaction) {
        for op in tx.ops.iter().filter(|op| op.request == APPEND) {
            if let Value::Int(value) = &mut tx.values[op.values.start as usize] {
                *value = history::of_attempt(*value, attempt);
            }
        }
    }

    fn changes_data(&self) -> bool {
        self.writes()
    }

    fn tables(&self) -> Vec<Table> {
        let text = if self.dialect == Dialect::Mysql { "LONGTEXT" } else { "TEXT" };
        vec![Table {
            name: TABLE.to_owned(),
            columns: ["id", "elements"].map(str::to_owned).to_vec(),
            create: format!(
                "CREATE TABLE {TABLE} (id INTEGER NOT NULL PRIMARY KEY, elements {text} NOT NULL)"
            ),
            finish: vec![],
            rows: self.settings.rows,
        }]
    }

    fn rows(&self, _table: usize, rows: Range<u64>, sink: &mut dyn RowSink) {
        for row in rows {
            sink.int(row as i64);
            sink.text(b"");
            sink.end_row();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::plan::Options;
    use dyno_core::workload::rows::Rows;
    use serde_json::json;

    fn append(options: serde_json::Value) -> Result<Box<dyn Workload>> {
        let options: Options = serde_json::from_value(options).expect("an object");
        let dialect = Dialect::Mysql;
        (KIND.build)(&Order { options: &options, dialect, seed: 42, sessions: 4 })
    }

    fn observe(workload: &dyn Workload, tx: &Transaction, list: Option<&str>) -> Vec<Access> {
        let reads = tx.ops.iter().filter(|op| op.request == READ).count();
        let mut rows = Rows::default();
        if let Some(list) = list {
            rows.row();
            rows.value(Some(list.as_bytes()));
        }
        let answers = vec![rows; reads];
        let (sent, affected) = (tx.ops.len(), 0);
        let observed =
            Observed { transaction: tx, sent, answers: &answers, affected, is_complete: true };
        let mut out = vec![];
        workload.observe(&observed, &mut out);
        out
    }

    #[test]
    fn transactions_are_framed_and_stay_within_their_lists() {
        let workload = append(json!({"rows": 21, "lists": 5, "turn": 10})).unwrap();
        for index in 0..100 {
            let mut tx = Transaction::default();
            workload.fill(1 << 24 | 2, index, &mut tx);
            let requests: Vec<u16> = tx.ops.iter().map(|op| op.request).collect();
            assert_eq!((requests[0], requests[requests.len() - 1]), (BEGIN, COMMIT));
            let found = observe(&*workload, &tx, Some("7,12,"));
            assert_eq!(found.len(), requests.len() - 2);
            assert!((1..=4).contains(&found.len()));
            // Four windows of five lists fit; the last row is never used.
            let first = index as u32 / 10 % 4 * 5;
            let mut digest = Digest::default();
            [7, 12].into_iter().for_each(|element| digest.push(element));
            for access in found {
                assert!((first..first + 5).contains(&access.key));
                if access.verb == Verb::Read {
                    assert_eq!((access.count, access.seen), (2, 12));
                    assert_eq!(access.value, digest.0 as i64);
                }
            }
        }
    }

    #[test]
    fn each_attempt_appends_elements_of_its_own() {
        let workload = append(json!({"read": 0, "operations_max": 8})).unwrap();
        let mut tx = Transaction::default();
        workload.fill(0, 5, &mut tx);
        let first: Vec<i64> = observe(&*workload, &tx, None).iter().map(|a| a.value).collect();
        workload.renumber(2, &mut tx);
        let second = observe(&*workload, &tx, None);
        for (number, (access, before)) in second.iter().zip(&first).enumerate() {
            assert_eq!(*before, history::unique(0, 5, number as u32));
            assert_eq!(access.value, history::of_attempt(*before, 2));
        }
    }

    #[test]
    fn what_only_reads_begins_read_only() {
        let workload = append(json!({"read": 1})).unwrap();
        let requests = workload.requests();
        assert_eq!(requests[0].effect, Effect::BeginRead);
        assert!(requests.iter().all(|request| request.effect != Effect::Write));
        assert!(!workload.changes_data());
        let mut tx = Transaction::default();
        workload.fill(0, 0, &mut tx);
        let found = observe(&*workload, &tx, None)[0];
        assert_eq!(
            (found.count, found.seen, found.value),
            (0, 0, 0),
            "a list without a row is empty"
        );
    }

    #[test]
    fn wrong_options_are_named() {
        let why = |options| append(options).err().map(|error| error.what).unwrap_or_default();
        assert!(why(json!({"rows": 5, "lists": 6})).contains("option lists"));
        assert!(why(json!({"read": 1.5})).contains("option read"));
    }
}
