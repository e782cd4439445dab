//! Histories: what is recorded of attempts, and with which outcome.

use super::*;
use crate::audit::history::RECORD_BYTES;
use crate::audit::log::Outcome as Ended;
use dyno_core::workload::history::{Access, Observed, Verb, of_attempt, unique};

const DONE: u8 = Ended::Acknowledged as u8;
const FAILED: u8 = Ended::Failed as u8;
const UNKNOWN: u8 = Ended::Unknown as u8;
const WRITE: u16 = 1;
const COMMIT: u16 = 2;

/// A write, alone or between BEGIN and COMMIT.
struct Writing {
    is_framed: bool,
}

impl Workload for Writing {
    fn requests(&self) -> Vec<Request> {
        Three.requests()
    }
    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        if self.is_framed {
            tx.op(0);
        }
        tx.int(unique(session, index, 0));
        tx.op(WRITE);
        if self.is_framed {
            tx.op(COMMIT);
        }
    }
    fn has_history(&self) -> bool {
        true
    }
    fn observe(&self, observed: &Observed<'_>, out: &mut Vec<Access>) {
        let tx = observed.transaction;
        for op in tx.ops[..observed.sent].iter().filter(|op| op.request == WRITE) {
            let Value::Int(value) = tx.values_of(op)[0] else { panic!("no number") };
            out.push(Access { verb: Verb::Write, key: 3, value, seen: 0, count: 0 });
        }
    }
    fn renumber(&self, attempt: u32, tx: &mut Transaction) {
        if let Value::Int(value) = &mut tx.values[0] {
            *value = of_attempt(*value, attempt);
        }
    }
    fn changes_data(&self) -> bool {
        true
    }
    fn tables(&self) -> Vec<Table> {
        vec![]
    }
    fn rows(&self, _: usize, _: std::ops::Range<u64>, _: &mut dyn RowSink) {}
}

/// (n, attempt, outcome, start, end, value) of each record; times in ms since the start.
type Record = (u64, u16, u8, u64, u64, i64);

fn recorded(is_framed: bool, setup: Setup, script: Script) -> Vec<Record> {
    let outcome = simulate(&Setup { history: true, ..setup }, &Writing { is_framed }, script);
    let (chunks, rest) = outcome.audit.as_chunks::<RECORD_BYTES>();
    assert!(rest.is_empty());
    let record = |bytes: &[u8; RECORD_BYTES]| {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let attempt = u16::from_le_bytes(bytes[4..6].try_into().unwrap());
        let ms = |at| (word(at) - ORIGIN) / MS;
        (word(8), attempt, bytes[6], ms(16), ms(24), word(40) as i64)
    };
    chunks.iter().map(record).collect()
}

fn value(n: u64, attempt: u32) -> i64 {
    of_attempt(unique(0, n, 0), attempt)
}

#[test]
fn an_attempt_lasts_from_its_first_byte_to_its_last_answer() {
    let setup = Setup { length_ns: 65 * MS, ..Setup::default() };
    let records = recorded(true, setup, |_| (10 * MS, None));
    let expected = [(0, 0, DONE, 0, 30, value(0, 0)), (1, 0, DONE, 30, 60, value(1, 0))];
    assert_eq!(records, expected, "the third has not written when the load ends");
}

#[test]
fn a_write_in_flight_is_unknown_alone_and_failed_before_a_commit() {
    let setup = || Setup { length_ns: 15 * MS, ..Setup::default() };
    let outcomes = |is_framed| -> Vec<u8> {
        let records = recorded(is_framed, setup(), |_| (10 * MS, None));
        records.into_iter().map(|record| record.2).collect()
    };
    assert_eq!(outcomes(false), [DONE, UNKNOWN]);
    assert_eq!(outcomes(true), [FAILED]);
    let setup = Setup { length_ns: 25 * MS, ..Setup::default() };
    let records = recorded(true, setup, |_| (10 * MS, None));
    assert_eq!(records[0].2, UNKNOWN, "its COMMIT is in flight");
}

#[test]
fn a_retry_writes_a_value_of_its_own() {
    let setup = Setup { length_ns: 12 * MS, ..Setup::default() };
    let records = recorded(true, setup, |call| {
        (MS, if call.number == 2 { refusal("1213", true, true) } else { None })
    });
    let ended = |record: &Record| (record.0, record.1, record.2, record.5);
    assert_eq!(ended(&records[0]), (0, 0, FAILED, value(0, 0)));
    assert_eq!(ended(&records[1]), (0, 1, DONE, value(0, 1)));
    assert_eq!(ended(&records[2]), (1, 0, DONE, value(1, 0)));
    assert_ne!(value(0, 0), value(0, 1));
}

#[test]
fn a_refused_write_is_unknown_unless_the_error_says_that_it_did_nothing() {
    let outcome = |script: Script| {
        let setup = Setup { length_ns: 3 * MS, retries: 0, ..Setup::default() };
        recorded(false, setup, script)[0].2
    };
    assert_eq!(outcome(|_| (MS, Some(ServerError::default()))), UNKNOWN);
    assert_eq!(outcome(|_| (MS, refusal("1205", true, false))), FAILED);
}

#[test]
fn without_a_history_nothing_is_recorded() {
    let outcome = simulate(&Setup::default(), &Writing { is_framed: true }, |_| (10 * MS, None));
    assert!(outcome.audit.is_empty());
}
