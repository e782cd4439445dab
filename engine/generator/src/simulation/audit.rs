//! Outcomes of transactions whose commits are audited.

use super::staged::{Asking, answer};
use super::*;
use crate::audit::log::{Outcome as Ended, RECORD_BYTES};
use crate::audit::workload::Audited;

const ACKNOWLEDGED: u8 = Ended::Acknowledged as u8;
const FAILED: u8 = Ended::Failed as u8;
const UNKNOWN: u8 = Ended::Unknown as u8;
/// Requests of [`Three`], and the identity.
const WRITE: u16 = 1;
const COMMIT: u16 = 2;
const INSERT: u16 = 3;

/// Simulates [`Three`] with identities. (session, n, attempt, outcome) of each record, in order.
fn audited(setup: Setup, script: Script) -> (Outcome, Vec<(u32, u64, u16, u8)>) {
    let workload = Audited::new(Box::new(Three), 1);
    let setup = Setup { audit: Some(workload.carrier()), ..setup };
    let outcome = simulate(&setup, &workload, script);
    let records = records(&outcome);
    (outcome, records)
}

/// One write that commits by itself, as a driver without transactions sends it.
struct Alone;

impl Workload for Alone {
    fn requests(&self) -> Vec<Request> {
        vec![
            Request::new("read", Effect::Read, "", vec![]),
            Request::new("write", Effect::Write, "", vec![]),
        ]
    }
    fn fill(&self, _session: u32, _index: u64, tx: &mut Transaction) {
        tx.op(0);
        tx.int(7);
        tx.op(1);
    }
    fn changes_data(&self) -> bool {
        true
    }
    fn tables(&self) -> Vec<Table> {
        vec![]
    }
    fn rows(&self, _: usize, _: std::ops::Range<u64>, _: &mut dyn RowSink) {}
}

/// Simulates [`Alone`] with identities.
fn alone(setup: Setup, script: Script) -> Vec<(u32, u64, u16, u8)> {
    let workload = Audited::of_writes(Box::new(Alone), 1);
    let setup = Setup { audit: Some(workload.carrier()), ..setup };
    records(&simulate(&setup, &workload, script))
}

#[test]
fn a_write_that_commits_by_itself_is_acknowledged_by_its_own_answer() {
    // 20 ms a transaction; the last one's write is in flight when the load ends.
    let setup = Setup { length_ns: 95 * MS, ..Setup::default() };
    let found = alone(setup, |_| (10 * MS, None));
    let acknowledged = (0..4).map(|n| (0, n, 0, ACKNOWLEDGED));
    assert_eq!(found, acknowledged.chain([(0, 4, 0, UNKNOWN)]).collect::<Vec<_>>());
    // It ends with the read before it in flight: nothing was sent.
    let setup = Setup { length_ns: 5 * MS, ..Setup::default() };
    assert_eq!(alone(setup, |_| (10 * MS, None)), []);
}

#[test]
fn a_refusal_of_a_write_that_commits_by_itself_is_certain_if_it_says_so() {
    let setup = || Setup { length_ns: 5 * MS, retries: 1, ..Setup::default() };
    let refused = alone(setup(), |call| {
        (MS, if call.number == 1 { refusal("NOREPLICAS", true, true) } else { None })
    });
    assert_eq!(refused[..2], [(0, 0, 0, FAILED), (0, 0, 1, ACKNOWLEDGED)]);
    let waited = alone(setup(), |call| {
        (MS, if call.number == 1 { refusal("WAIT", false, false) } else { None })
    });
    assert_eq!(waited[0], (0, 0, 0, UNKNOWN));
}

fn records(outcome: &Outcome) -> Vec<(u32, u64, u16, u8)> {
    let (chunks, rest) = outcome.audit.as_chunks::<RECORD_BYTES>();
    assert!(rest.is_empty());
    let record = |bytes: &[u8; RECORD_BYTES]| {
        let session = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        let attempt = u16::from_le_bytes(bytes[4..6].try_into().unwrap());
        let n = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
        (session, n, attempt, bytes[6])
    };
    chunks.iter().map(record).collect()
}

/// (n, attempt) of each identity sent.
fn sent(outcome: &Outcome) -> Vec<(i64, i64)> {
    let number = |value: &Value| match value {
        Value::Int(number) => *number,
        other => panic!("no number: {other:?}"),
    };
    let inserts = outcome.log.iter().filter(|request| request.request == INSERT);
    inserts.map(|each| (number(&each.values[1]), number(&each.values[2]))).collect()
}

#[test]
fn each_commit_has_one_identity_and_one_record() {
    // 40 ms a transaction; the last one has sent its COMMIT when the load ends.
    let (outcome, records) = audited(Setup::default(), |_| (10 * MS, None));
    assert_eq!(outcome.group().committed(), 24);
    let acknowledged = (0..24).map(|n| (0, n, 0, ACKNOWLEDGED));
    assert_eq!(records, acknowledged.chain([(0, 24, 0, UNKNOWN)]).collect::<Vec<_>>());
    assert_eq!(sent(&outcome), (0..25).map(|n| (n, 0)).collect::<Vec<_>>());
    assert_eq!(outcome.group().operations.get(), 24 * 4, "the identity is an operation");
}

#[test]
fn a_transaction_that_ends_before_its_commit_is_sent_has_failed() {
    // The load ends with the identity in flight.
    let setup = Setup { length_ns: 25 * MS, ..Setup::default() };
    let (_, records) = audited(setup, |_| (10 * MS, None));
    assert_eq!(records, [(0, 0, 0, FAILED)]);
    // It ends before the identity is sent: nothing can be there.
    let setup = Setup { length_ns: 15 * MS, ..Setup::default() };
    assert_eq!(audited(setup, |_| (10 * MS, None)).1, []);
}

#[test]
fn each_retry_is_an_attempt_of_its_own() {
    // The first two COMMITs are refused; calls of an attempt: begin, write, identity, COMMIT.
    let setup = Setup { length_ns: 20 * MS, ..Setup::default() };
    let (outcome, records) = audited(setup, |call| {
        (MS, if [3, 7].contains(&call.number) { refusal("1213", true, true) } else { None })
    });
    assert_eq!(records[..3], [(0, 0, 0, FAILED), (0, 0, 1, FAILED), (0, 0, 2, ACKNOWLEDGED)]);
    assert_eq!(sent(&outcome)[..4], [(0, 0), (0, 1), (0, 2), (1, 0)]);
    let acknowledged = records.iter().filter(|record| record.3 == ACKNOWLEDGED).count();
    assert_eq!(acknowledged as u64, outcome.group().committed());
}

#[test]
fn what_fails_before_its_identity_leaves_no_record() {
    let setup = Setup { length_ns: 11 * MS, retries: 0, ..Setup::default() };
    let (outcome, records) = audited(setup, |call| {
        let is_first = call.number == 1;
        assert!(!is_first || call.op.request == WRITE);
        (MS, if is_first { refusal("1062", false, false) } else { None })
    });
    assert_eq!(outcome.group().failed.get(), 1);
    assert_eq!(records[0], (0, 1, 0, ACKNOWLEDGED));
}

#[test]
fn a_refused_commit_is_unknown_unless_the_error_says_that_it_is_rolled_back() {
    let refused = |error: fn() -> ServerError| {
        let setup = Setup { length_ns: 5 * MS, retries: 0, ..Setup::default() };
        let (_, records) = match error().state.as_str() {
            "23505" => audited(setup, |call| {
                let is_commit = call.op.request == COMMIT;
                (MS, is_commit.then(|| ServerError { state: "23505".into(), ..plain() }))
            }),
            _ => audited(setup, |call| (MS, (call.op.request == COMMIT).then(plain))),
        };
        records[0]
    };
    assert_eq!(refused(plain), (0, 0, 0, UNKNOWN));
    let constraint = || ServerError { state: "23505".into(), ..plain() };
    assert_eq!(refused(constraint), (0, 0, 0, FAILED));
}

/// A refusal that says nothing about the transaction.
fn plain() -> ServerError {
    ServerError { code: "1180".into(), state: "HY000".into(), ..ServerError::default() }
}

#[test]
fn a_connection_lost_at_commit_leaves_the_outcome_unknown_and_before_it_a_failure() {
    let lost_at = |at_ns| {
        let setup = Setup { lost: Some((at_ns, 0..1)), length_ns: 100 * MS, ..Setup::default() };
        let (outcome, records) = audited(setup, |_| (10 * MS, None));
        assert_eq!(outcome.codes, BTreeMap::from([("lost".to_owned(), 1)]));
        records
    };
    // In flight from 20 ms on: the identity; from 30 ms on: COMMIT.
    let identity = lost_at(25 * MS);
    assert_eq!(identity[..2], [(0, 0, 0, FAILED), (0, 1, 0, ACKNOWLEDGED)]);
    let commit = lost_at(35 * MS);
    assert_eq!(commit[..2], [(0, 0, 0, UNKNOWN), (0, 1, 0, ACKNOWLEDGED)]);
    assert_eq!(lost_at(15 * MS)[0], (0, 1, 0, ACKNOWLEDGED));
}

#[test]
fn a_deadline_at_commit_leaves_the_outcome_unknown() {
    let setup = Setup { deadline_ns: 100 * MS, length_ns: 150 * MS, ..Setup::default() };
    let (_, records) =
        audited(setup, |call| (if call.op.request == COMMIT { 3600 * SECOND } else { MS }, None));
    assert_eq!(records, [(0, 0, 0, UNKNOWN), (0, 1, 0, UNKNOWN)]);
}

#[test]
fn a_deadline_while_waiting_for_a_retry_adds_no_second_record() {
    let setup = Setup { deadline_ns: 6 * MS, length_ns: 8 * MS, retries: 9, ..Setup::default() };
    let (outcome, records) = audited(setup, |call| {
        (MS, if call.op.request == COMMIT { refusal("1213", true, true) } else { None })
    });
    let mut identities: Vec<_> = records.iter().map(|&(_, n, attempt, _)| (n, attempt)).collect();
    let all = identities.len();
    identities.dedup();
    assert_eq!(identities.len(), all, "{records:?}");
    assert!(outcome.codes.contains_key("deadline"), "{:?}", outcome.codes);
    assert!(records.iter().all(|record| record.3 == FAILED), "{records:?}");
}

#[test]
fn a_transaction_in_stages_has_its_identity_in_the_last_one_also_when_retried() {
    let workload = Audited::new(Box::new(Asking), 1);
    let setup = Setup { audit: Some(workload.carrier()), length_ns: 20 * MS, ..Setup::default() };
    // Begin, question, two writes, identity, and a COMMIT that is refused.
    let outcome = simulate_answering(&setup, &workload, |call| {
        (MS, if call.number == 5 { refusal("1213", true, true) } else { None }, answer(2))
    });
    assert_eq!(records(&outcome)[..2], [(0, 0, 0, FAILED), (0, 0, 1, ACKNOWLEDGED)]);
    let inserts =
        outcome.log.iter().filter(|request| Carrier::Insert(request.request) == workload.carrier());
    let attempts: Vec<&Value> = inserts.map(|request| &request.values[2]).take(3).collect();
    assert_eq!(attempts, [&Value::Int(0), &Value::Int(1), &Value::Int(0)]);
}

#[test]
fn what_the_workload_rolls_back_itself_has_no_identity() {
    let workload = Audited::new(Box::new(Asking), 1);
    let setup = Setup { audit: Some(workload.carrier()), ..Setup::default() };
    let outcome = simulate_answering(&setup, &workload, |_| (10 * MS, None, answer(0)));
    assert!(outcome.group().committed() > 0);
    assert_eq!(records(&outcome), []);
}

#[test]
fn sessions_have_identities_of_their_own() {
    let workload = Audited::new(Box::new(Three), 1);
    let setup = Setup {
        sessions: 3,
        audit: Some(workload.carrier()),
        length_ns: 45 * MS,
        ..Setup::default()
    };
    let outcome = simulate(&setup, &workload, |_| (10 * MS, None));
    let mut records = records(&outcome);
    records.sort_unstable();
    let expected = (0..3).map(|session| (session, 0, 0, ACKNOWLEDGED));
    assert_eq!(records, expected.collect::<Vec<_>>());
}

#[test]
fn without_an_audit_nothing_is_recorded() {
    let outcome = simulate(&Setup::default(), &Three, |_| (10 * MS, None));
    assert!(outcome.audit.is_empty());
}
