//! Transactions with several stages: operations that depend on earlier answers.

use super::*;
use dyno_core::workload::rows::Rows;

/// BEGIN and a query; then as many writes as the answer states, each with the transaction's own
/// number; then COMMIT, or ROLLBACK if the answer is 0.
pub(super) struct Asking;

const BEGIN: u16 = 0;
const ASK: u16 = 1;
const WRITE: u16 = 2;
const COMMIT: u16 = 3;
const ROLLBACK: u16 = 4;

impl Workload for Asking {
    fn requests(&self) -> Vec<Request> {
        let statement = |class, kind| Request::new(class, kind, "", vec![]);
        let mut ask = statement("ask", Effect::Read);
        ask.keeps = true;
        vec![
            statement("begin", Effect::BeginWrite),
            ask,
            statement("write", Effect::Write),
            statement("commit", Effect::Commit),
            statement("rollback", Effect::Rollback),
        ]
    }
    fn fill(&self, _session: u32, index: u64, tx: &mut Transaction) {
        tx.kind = u8::from(index % 2 == 1);
        tx.op(BEGIN);
        tx.op(ASK);
    }
    fn more(&self, _: u32, index: u64, stage: u32, answers: &[Rows], tx: &mut Transaction) {
        assert_eq!(answers.len(), 1, "one question has been asked");
        let wanted = answers[0].first().and_then(|row| row.int(0)).unwrap_or(0);
        match i64::from(stage) {
            _ if stage == 1 && wanted == 0 => tx.op(ROLLBACK),
            stage if stage <= wanted => {
                tx.int(index as i64);
                tx.op(WRITE);
            }
            stage if stage == wanted + 1 && wanted > 0 => tx.op(COMMIT),
            _ => {}
        }
    }
    fn kinds(&self) -> Vec<String> {
        vec!["even".into(), "odd".into()]
    }
    fn changes_data(&self) -> bool {
        true
    }
    fn tables(&self) -> Vec<Table> {
        vec![]
    }
    fn rows(&self, _: usize, _: std::ops::Range<u64>, _: &mut dyn RowSink) {}
}

pub(super) fn answer(number: i64) -> Rows {
    let mut rows = Rows::default();
    rows.row();
    rows.value(Some(number.to_string().as_bytes()));
    rows
}

fn statements(outcome: &Outcome) -> Vec<u16> {
    outcome.log.iter().map(|request| request.request).collect()
}

#[test]
fn operations_follow_from_answers_until_none_do() {
    let setup = Setup { length_ns: 50 * MS, ..Setup::default() };
    let outcome = simulate_answering(&setup, &Asking, |call| {
        (10 * MS, None, answer(2 + call.number as i64 / 5))
    });
    // The answer to the second query is 3, but only four more answers come before the end.
    assert_eq!(statements(&outcome), [BEGIN, ASK, WRITE, WRITE, COMMIT]);
    let outcome = simulate_answering(&Setup { length_ns: 102 * MS, ..setup }, &Asking, |_| {
        (10 * MS, None, answer(2))
    });
    let group = outcome.group();
    assert_eq!((group.committed(), group.operations.get()), (2, 10));
    assert_eq!(outcome.latency().mean_ns(), 50.0 * MS as f64);
    assert_eq!([BEGIN, ASK, WRITE, COMMIT].map(|class| outcome.class(class.into())), [2, 2, 4, 2]);
    let kinds = statements_count();
    assert_eq!((outcome.class(kinds), outcome.class(kinds + 1)), (1, 1), "one even, one odd");
}

fn statements_count() -> usize {
    Asking.requests().len()
}

#[test]
fn a_retry_begins_again_with_the_first_stage_and_asks_anew() {
    // The second write deadlocks; by then the answer has changed.
    let setup = Setup { length_ns: 11 * MS, ..Setup::default() };
    let outcome = simulate_answering(&setup, &Asking, |call| {
        let error = if call.number == 3 { refusal("1213", true, true) } else { None };
        (MS, error, answer(if call.number < 4 { 2 } else { 1 }))
    });
    let sent = statements(&outcome);
    assert_eq!(sent[..8], [BEGIN, ASK, WRITE, WRITE, BEGIN, ASK, WRITE, COMMIT]);
    // The same transaction has the same parameters.
    let write = |place: usize| outcome.log[place].values.clone();
    assert_eq!(write(2), write(6));
    assert_eq!((outcome.group().retries.get(), outcome.group().failed.get()), (1, 0));
}

#[test]
fn a_rollback_that_is_meant_counts_as_work_and_as_no_error() {
    let setup = Setup { length_ns: 31 * MS, ..Setup::default() };
    let outcome = simulate_answering(&setup, &Asking, |_| (10 * MS, None, answer(0)));
    let group = outcome.group();
    assert_eq!(statements(&outcome), [BEGIN, ASK, ROLLBACK, BEGIN]);
    assert_eq!((group.committed(), group.errors.get(), group.failed.get()), (1, 0, 0));
    assert_eq!(outcome.class(ROLLBACK.into()), 1);
}

#[test]
fn a_refused_later_stage_is_rolled_back() {
    let setup = Setup { length_ns: 10 * MS, ..Setup::default() };
    let outcome = simulate_answering(&setup, &Asking, |call| {
        (MS, if call.number == 2 { refusal("1062", false, false) } else { None }, answer(1))
    });
    // After the refusal come a ROLLBACK, which the script does not see, and the next transaction.
    assert_eq!(statements(&outcome)[..6], [BEGIN, ASK, WRITE, BEGIN, ASK, WRITE]);
    assert_eq!(outcome.codes, BTreeMap::from([("1062".to_owned(), 1)]));
    assert_eq!(outcome.group().failed.get(), 1);
}

/// [`Asking`] with pauses of its own.
struct Pausing;

impl Workload for Pausing {
    fn requests(&self) -> Vec<Request> {
        One.requests()
    }
    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        One.fill(session, index, tx);
    }
    fn pauses(&self) -> bool {
        true
    }
    fn pause_ns(&self, _session: u32, index: u64) -> u64 {
        index * 10 * MS
    }
    fn changes_data(&self) -> bool {
        false
    }
    fn tables(&self) -> Vec<Table> {
        vec![]
    }
    fn rows(&self, _: usize, _: std::ops::Range<u64>, _: &mut dyn RowSink) {}
}

#[test]
fn a_workload_pauses_before_each_transaction_as_it_likes() {
    let setup = Setup { length_ns: 70 * MS, ..Setup::default() };
    let outcome = simulate(&setup, &Pausing, |_| (MS, None));
    let sent: Vec<u64> = outcome.sent().iter().map(|(at_ns, _)| at_ns / MS).collect();
    assert_eq!(sent, [0, 11, 32, 63]);
    assert_eq!(outcome.latency().mean_ns(), MS as f64, "pauses are part of no transaction");
}
