//! `bank`: transfers between accounts, and reads of all accounts, which must always find the same
//! sum.
//!
//! A transfer reads two balances and writes two new ones, computed by the client, as applications
//! do: BEGIN, two SELECTs, two UPDATEs, COMMIT. A balance that is too small is left alone. A read is
//! BEGIN, a SELECT of each half of the accounts, COMMIT: two statements, so that it finds the sum
//! only if both see one state of the data.
//!
//! Source of the test: Jepsen's workload of that name (jepsen-io/jepsen, `tests/bank.clj`).

use crate::options::Reader;
use dyno_core::error::Result;
use dyno_core::random::rng::Rng;
use dyno_core::request::capability::Capability;
use dyno_core::workload::history::{Access, Observed, Verb};
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{
    Effect, Order, ParamType, Request, RowSink, Table, Transaction, Value, Workload, WorkloadKind,
};
use std::ops::Range;

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: "bank",
    about: "transfers between accounts and reads of all of them, for `audit: bank`",
    needs: &[Capability::Sql, Capability::Transactions],
    build,
};

/// The table.
pub const TABLE: &str = "dbdyno_bank";
/// Largest amount of a transfer.
const AMOUNT_MAX: u64 = 10;
const BEGIN: u16 = 0;
const LOW: u16 = 1;
const HIGH: u16 = 2;
const COMMIT: u16 = 3;
const BALANCE: u16 = 4;
const UPDATE: u16 = 5;
const READ_KIND: u8 = 0;
const TRANSFER_KIND: u8 = 1;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    let mut reader = Reader::new("bank", order.options);
    let accounts = reader.integer("accounts", 10, 2..=10_000)?;
    let balance = reader.integer("balance", 100, 1..=1_000_000)?;
    let read = reader.number("read", 0.2, |x| (0.0..=1.0).contains(&x), "from 0 to 1")?;
    reader.finish()?;
    Ok(Box::new(Bank { accounts, balance, read, seed: order.seed }))
}

struct Bank {
    accounts: u64,
    balance: u64,
    /// Share of the transactions that read.
    read: f64,
    seed: u64,
}

impl Bank {
    fn writes(&self) -> bool {
        self.read < 1.0
    }
}

/// The balance of an answer's only row; without a system any that suffices.
fn balance(rows: Option<&Rows>) -> Option<i64> {
    match rows {
        Some(rows) if !rows.is_unknown() => rows.first()?.int(0),
        _ => Some(AMOUNT_MAX as i64),
    }
}

impl Workload for Bank {
    fn requests(&self) -> Vec<Request> {
        let keeping = |class: &str, sql: String| {
            let request = Request::new(class, Effect::Read, sql, vec![ParamType::Int]);
            Request { keeps: true, ..request }
        };
        let select = format!("SELECT balance FROM {TABLE} WHERE id");
        let begin = if self.writes() { Effect::BeginWrite } else { Effect::BeginRead };
        let mut all = vec![
            Request::new("begin", begin, "", vec![]),
            keeping("read_low", format!("{select} < ?")),
            keeping("read_high", format!("{select} >= ?")),
            Request::new("commit", Effect::Commit, "", vec![]),
        ];
        if self.writes() {
            all.push(keeping("balance", format!("{select} = ?")));
            let sql = format!("UPDATE {TABLE} SET balance = ? WHERE id = ?");
            let params = vec![ParamType::BigInt, ParamType::Int];
            all.push(Request::new("update", Effect::Write, sql, params));
        }
        all
    }

    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        let mut rng = Rng::for_transaction(self.seed, session, index);
        tx.op(BEGIN);
        if rng.unit() < self.read {
            tx.kind = READ_KIND;
            for request in [LOW, HIGH] {
                tx.int((self.accounts / 2) as i64);
                tx.op(request);
            }
            return tx.op(COMMIT);
        }
        tx.kind = TRANSFER_KIND;
        let from = rng.below(self.accounts);
        let to = (from + 1 + rng.below(self.accounts - 1)) % self.accounts;
        for account in [from, to] {
            tx.int(account as i64);
            tx.op(BALANCE);
        }
    }

    fn more(&self, session: u32, index: u64, stage: u32, answers: &[Rows], tx: &mut Transaction) {
        if stage > 1 || tx.kind != TRANSFER_KIND {
            return;
        }
        let mut rng = Rng::for_transaction(!self.seed, session, index);
        let amount = rng.between(1, AMOUNT_MAX) as i64;
        let (from, to) = (balance(answers.first()), balance(answers.get(1)));
        if let (Some(from), Some(to)) = (from, to)
            && from >= amount
        {
            let accounts = [0, 1].map(|place| tx.values[place].clone());
            let mut updates =
                accounts.into_iter().zip([from - amount, to + amount]).collect::<Vec<_>>();
            // In the same order in all transfers, which then wait for each other and seldom deadlock.
            updates.sort_by_key(|(account, _)| if let Value::Int(id) = account { *id } else { 0 });
            for (account, grown) in updates {
                tx.int(grown);
                tx.value(account);
                tx.op(UPDATE);
            }
        }
        tx.op(COMMIT);
    }

    fn kinds(&self) -> Vec<String> {
        let kinds = ["read_all", "transfer"].map(str::to_owned);
        kinds[..if self.writes() { 2 } else { 1 }].to_vec()
    }

    fn has_history(&self) -> bool {
        true
    }

    /// A read of all accounts has their sum, number and smallest balance; a transfer its new balances.
    fn observe(&self, observed: &Observed<'_>, out: &mut Vec<Access>) {
        let tx = observed.transaction;
        if tx.kind == TRANSFER_KIND {
            for op in tx.ops[..observed.sent].iter().filter(|op| op.request == UPDATE) {
                if let &[Value::Int(value), Value::Int(account)] = tx.values_of(op) {
                    let (verb, key) = (Verb::Write, account as u32);
                    out.push(Access { verb, key, value, seen: 0, count: 0 });
                }
            }
            return;
        }
        if !observed.is_complete || observed.answers.iter().any(Rows::is_unknown) {
            return;
        }
        let (mut sum, mut least, mut count) = (0_i64, i64::MAX, 0);
        let rows = observed.answers.iter().flat_map(Rows::iter);
        for value in rows.filter_map(|row| row.int(0)) {
            (sum, least, count) = (sum.wrapping_add(value), least.min(value), count + 1);
        }
        out.push(Access { verb: Verb::Read, key: 0, value: sum, seen: least, count });
    }

    fn changes_data(&self) -> bool {
        self.writes()
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table {
            name: TABLE.to_owned(),
            columns: ["id", "balance"].map(str::to_owned).to_vec(),
            create: format!(
                "CREATE TABLE {TABLE} (id INTEGER NOT NULL PRIMARY KEY, balance BIGINT NOT NULL)"
            ),
            finish: vec![],
            rows: self.accounts,
        }]
    }

    fn rows(&self, _table: usize, rows: Range<u64>, sink: &mut dyn RowSink) {
        for row in rows {
            sink.int(row as i64);
            sink.int(self.balance as i64);
            sink.end_row();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::plan::Options;
    use dyno_core::workload::Dialect;
    use serde_json::json;

    fn bank(options: serde_json::Value) -> Box<dyn Workload> {
        let options: Options = serde_json::from_value(options).expect("an object");
        let dialect = Dialect::Mysql;
        (KIND.build)(&Order { options: &options, dialect, seed: 42, sessions: 4 }).expect("valid")
    }

    fn answer(values: &[i64]) -> Rows {
        let mut rows = Rows::default();
        for value in values {
            rows.row();
            rows.value(Some(value.to_string().as_bytes()));
        }
        rows
    }

    fn observe(workload: &dyn Workload, tx: &Transaction, answers: &[Rows]) -> Vec<Access> {
        let (sent, is_complete) = (tx.ops.len(), true);
        let observed = Observed { transaction: tx, sent, answers, affected: 1, is_complete };
        let mut out = vec![];
        workload.observe(&observed, &mut out);
        out
    }

    #[test]
    fn transfers_keep_the_sum_and_need_the_money() {
        let workload = bank(json!({"read": 0, "accounts": 3}));
        for index in 0..50 {
            for (from, moves) in [(100, true), (0, false)] {
                let mut tx = Transaction::default();
                workload.fill(1, index, &mut tx);
                let answers = [answer(&[from]), answer(&[7])];
                workload.more(1, index, 1, &answers, &mut tx);
                workload.more(1, index, 2, &answers, &mut tx);
                assert_eq!(tx.ops.last().map(|op| op.request), Some(COMMIT));
                let found = observe(&*workload, &tx, &answers);
                assert_eq!(found.len(), if moves { 2 } else { 0 });
                if let [first, second] = found[..] {
                    assert_eq!(first.value + second.value, from + 7);
                    assert!(first.key != second.key && first.value < from);
                }
            }
        }
    }

    #[test]
    fn a_read_sums_both_halves() {
        let workload = bank(json!({"read": 1, "accounts": 5}));
        let mut tx = Transaction::default();
        workload.fill(0, 0, &mut tx);
        let answers = [answer(&[3, -1]), answer(&[5, 6, 7])];
        workload.more(0, 0, 1, &answers, &mut tx);
        assert_eq!(
            tx.ops.iter().map(|op| op.request).collect::<Vec<_>>(),
            [BEGIN, LOW, HIGH, COMMIT]
        );
        let found = observe(&*workload, &tx, &answers);
        let expected = Access { verb: Verb::Read, key: 0, value: 20, seen: -1, count: 5 };
        assert_eq!(found, [expected]);
        assert_eq!(workload.kinds(), ["read_all"]);
        assert!(!workload.changes_data());
    }
}
