//! `register`: reads and writes of single records, each of which is a register whose history can be
//! checked for linearizability.
//!
//! A read returns the record's value; a write replaces it. A compare-and-set (SQL only) reads the
//! value, and then writes on condition that it is still there: two operations, each committed by
//! itself. Every value is written once ([`history::unique`]).

use crate::choice::Choice;
use crate::options::Reader;
use dyno_core::error::Result;
use dyno_core::random::rng::Rng;
use dyno_core::request::capability::Capability;
use dyno_core::request::{Store, Verb as Operation};
use dyno_core::workload::history::{self, Access, INITIAL, MISSING, Observed, Verb};
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{
    Dialect, Effect, Order, ParamType, Request, RowSink, Table, Transaction, Value, Workload,
    WorkloadKind,
};
use std::ops::Range;
use std::sync::Arc;

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: "register",
    about: "reads, writes and compare-and-sets of single records, for `audit: register`",
    needs: &[Capability::KeyValue],
    build,
};

/// The table.
pub const TABLE: &str = "dbdyno_register";
const READ: u16 = 0;
const WRITE: u16 = 1;
const SWAP: u16 = 2;
const KINDS: [&str; 3] = ["read", "write", "compare_and_set"];
/// Digits of a key, and of a value: an attempt's value replaces another in place.
const KEY_DIGITS: usize = 9;
const VALUE_DIGITS: usize = 19;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    let mut reader = Reader::new("register", order.options);
    let keys = reader.integer("keys", 100, 1..=1_000_000)?;
    let mut weight =
        |name, default| reader.number(name, default, |x| (0.0..=1e9).contains(&x), "from 0 to 1e9");
    let weights = [weight("read", 0.5)?, weight("write", 0.5)?, weight("compare_and_set", 0.0)?];
    reader.finish()?;
    let Some(choice) = Choice::weighted(&weights) else {
        return Err(reader.wrong("read", "all proportions are 0, so nothing would be sent"));
    };
    let Order { dialect, seed, .. } = *order;
    Ok(Box::new(Register { keys, weights, choice, dialect, seed }))
}

struct Register {
    keys: u64,
    weights: [f64; 3],
    choice: Choice,
    dialect: Dialect,
    seed: u64,
}

fn put_number(number: i64, digits: usize, out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + digits, b'0');
    let mut rest = number.unsigned_abs();
    for digit in out[at..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

fn number(text: &[u8]) -> i64 {
    std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(MISSING)
}

/// The value of an answer's only row.
fn found(rows: &Rows) -> i64 {
    rows.first().and_then(|row| row.get(0)).map_or(MISSING, number)
}

impl Register {
    /// Parameter number `place` of an operation, as a number.
    fn param(tx: &Transaction, op: usize, place: usize) -> i64 {
        match tx.values_of(&tx.ops[op]).get(place) {
            Some(Value::Text(range)) => number(tx.text_of(range)),
            _ => MISSING,
        }
    }
}

impl Workload for Register {
    fn requests(&self) -> Vec<Request> {
        let (name, key) = (TABLE.to_owned(), "id".to_owned());
        let store = Arc::new(Store { name, key, fields: vec!["content".to_owned()] });
        let mut read = Request::key_value("read", &store, Operation::Read);
        read.keeps = true;
        let mut all = vec![read, Request::key_value("write", &store, Operation::Update(0))];
        if self.weights[usize::from(SWAP)] > 0.0 {
            let sql = format!("UPDATE {TABLE} SET content = ? WHERE id = ? AND content = ?");
            let params = vec![ParamType::Text; 3];
            all.push(Request::new("compare_and_set", Effect::Write, sql, params));
        }
        all
    }

    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        let mut rng = Rng::for_transaction(self.seed, session, index);
        let key = rng.below(self.keys) as i64;
        tx.kind = self.choice.draw(&mut rng) as u8;
        if u16::from(tx.kind) == WRITE {
            let value = history::unique(session, index, 0);
            tx.text(|out| put_number(value, VALUE_DIGITS, out));
        }
        tx.text(|out| put_number(key, KEY_DIGITS, out));
        tx.op(if u16::from(tx.kind) == WRITE { WRITE } else { READ });
    }

    fn more(&self, session: u32, index: u64, stage: u32, answers: &[Rows], tx: &mut Transaction) {
        if stage > 1 || u16::from(tx.kind) != SWAP {
            return;
        }
        let key = Self::param(tx, 0, 0);
        let expected = answers.first().map_or(MISSING, found);
        let value = history::unique(session, index, 0);
        tx.text(|out| put_number(value, VALUE_DIGITS, out));
        tx.text(|out| put_number(key, KEY_DIGITS, out));
        tx.text(|out| put_number(expected, VALUE_DIGITS, out));
        tx.op(SWAP);
    }

    fn has_history(&self) -> bool {
        true
    }

    fn observe(&self, observed: &Observed<'_>, out: &mut Vec<Access>) {
        let tx = observed.transaction;
        let mut answers = observed.answers.iter();
        for (number, op) in tx.ops[..observed.sent].iter().enumerate() {
            let param = |place| Self::param(tx, number, place);
            let access = |verb, key, value, seen| Access {
                verb,
                key: key as u32,
                value,
                seen,
                count: observed.affected as u32,
            };
            match op.request {
                READ => {
                    let Some(rows) = answers.next().filter(|rows| !rows.is_unknown()) else {
                        return;
                    };
                    let count = u32::from(!rows.is_empty());
                    out.push(Access { count, ..access(Verb::Read, param(0), 0, found(rows)) });
                }
                WRITE => out.push(access(Verb::Write, param(1), param(0), 0)),
                _ => {
                    let is_miss = observed.is_complete && observed.affected == 0;
                    let verb = if is_miss { Verb::Miss } else { Verb::Swap };
                    out.push(access(verb, param(1), param(0), param(2)));
                }
            }
        }
    }

    fn renumber(&self, attempt: u32, tx: &mut Transaction) {
        for op in 0..tx.ops.len() {
            if tx.ops[op].request == READ {
                continue;
            }
            let value = history::of_attempt(Self::param(tx, op, 0), attempt);
            if let Some(Value::Text(range)) = tx.values_of(&tx.ops[op]).first().cloned() {
                let mut digits = Vec::with_capacity(VALUE_DIGITS);
                put_number(value, VALUE_DIGITS, &mut digits);
                tx.text[range.start as usize..range.end as usize].copy_from_slice(&digits);
            }
        }
    }

    fn kinds(&self) -> Vec<String> {
        let is_sent = |(_, weight): &(&str, f64)| *weight > 0.0;
        // Kinds are numbered: those before one that is sent stay.
        let kinds: Vec<_> = KINDS.into_iter().zip(self.weights).collect();
        let last = kinds.iter().rposition(is_sent).unwrap_or(0);
        kinds[..=last].iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn changes_data(&self) -> bool {
        self.weights[1] + self.weights[2] > 0.0
    }

    fn tables(&self) -> Vec<Table> {
        let key = if self.dialect == Dialect::Sqlite { "TEXT" } else { "VARCHAR(9)" };
        let content = if self.dialect == Dialect::Sqlite { "TEXT" } else { "VARCHAR(19)" };
        vec![Table {
            name: TABLE.to_owned(),
            columns: ["id", "content"].map(str::to_owned).to_vec(),
            create: format!(
                "CREATE TABLE {TABLE} (id {key} NOT NULL PRIMARY KEY, content {content} NOT NULL)"
            ),
            finish: vec![],
            rows: self.keys,
        }]
    }

    fn rows(&self, _table: usize, rows: Range<u64>, sink: &mut dyn RowSink) {
        let mut text = Vec::new();
        for row in rows {
            for (number, digits) in [(row as i64, KEY_DIGITS), (INITIAL, VALUE_DIGITS)] {
                text.clear();
                put_number(number, digits, &mut text);
                sink.text(&text);
            }
            sink.end_row();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::plan::Options;
    use serde_json::json;

    fn register(options: serde_json::Value) -> Result<Box<dyn Workload>> {
        let options: Options = serde_json::from_value(options).expect("an object");
        let dialect = Dialect::Postgres;
        (KIND.build)(&Order { options: &options, dialect, seed: 42, sessions: 4 })
    }

    fn answer(value: i64) -> Rows {
        let mut rows = Rows::default();
        let mut text = vec![];
        put_number(value, VALUE_DIGITS, &mut text);
        rows.row();
        rows.value(Some(&text));
        rows
    }

    fn observe(
        workload: &dyn Workload,
        tx: &Transaction,
        answers: &[Rows],
        affected: u64,
    ) -> Vec<Access> {
        let mut out = vec![];
        let (sent, is_complete) = (tx.ops.len(), true);
        let observed = Observed { transaction: tx, sent, answers, affected, is_complete };
        workload.observe(&observed, &mut out);
        out
    }

    #[test]
    fn a_read_has_what_it_found_and_a_write_its_value() {
        let workload = register(json!({"keys": 5})).unwrap();
        let (mut reads, mut writes) = (0, 0);
        for index in 0..100 {
            let mut tx = Transaction::default();
            workload.fill(3, index, &mut tx);
            workload.more(3, index, 1, &[], &mut tx);
            assert_eq!(tx.ops.len(), 1);
            let found = observe(&*workload, &tx, &[answer(7)], 1)[0];
            assert!(found.key < 5);
            match found.verb {
                Verb::Read => assert_eq!((found.seen, found.count), (7, 1)),
                _ => assert_eq!(found.value, history::unique(3, index, 0)),
            }
            reads += u32::from(found.verb == Verb::Read);
            writes += u32::from(found.verb == Verb::Write);
        }
        assert!(reads > 30 && writes > 30, "{reads} {writes}");
    }

    #[test]
    fn a_missing_row_is_found_missing_and_an_unanswered_read_is_nothing() {
        let workload = register(json!({"write": 0})).unwrap();
        let mut tx = Transaction::default();
        workload.fill(0, 0, &mut tx);
        let found = observe(&*workload, &tx, &[Rows::default()], 0)[0];
        assert_eq!((found.verb, found.seen, found.count), (Verb::Read, MISSING, 0));
        assert_eq!(observe(&*workload, &tx, &[], 0), []);
        assert!(!workload.changes_data());
    }

    #[test]
    fn a_compare_and_set_expects_what_it_has_read() {
        let workload = register(json!({"read": 0, "write": 0, "compare_and_set": 1})).unwrap();
        let mut tx = Transaction::default();
        workload.fill(0, 9, &mut tx);
        let answers = [answer(70)];
        workload.more(0, 9, 1, &answers, &mut tx);
        workload.more(0, 9, 2, &answers, &mut tx);
        workload.renumber(3, &mut tx);
        let value = history::of_attempt(history::unique(0, 9, 0), 3);
        for (affected, verb) in [(1, Verb::Swap), (0, Verb::Miss)] {
            let found = observe(&*workload, &tx, &answers, affected);
            assert_eq!(found.len(), 2);
            assert_eq!((found[0].verb, found[0].seen), (Verb::Read, 70));
            assert_eq!((found[1].verb, found[1].seen, found[1].value), (verb, 70, value));
            assert_eq!(found[0].key, found[1].key);
        }
    }

    #[test]
    fn wrong_options_are_named() {
        let why = |options| register(options).err().map(|error| error.what).unwrap_or_default();
        assert!(why(json!({"read": 0, "write": 0})).contains("all proportions are 0"));
        assert!(why(json!({"keys": 0})).contains("option keys"));
    }
}
