//! A workload whose transactions that write carry an identity.
//!
//! Where the driver has transactions, the last statement before COMMIT inserts (session, n, attempt). Statements that write and commit by
//! themselves become one transaction: without it, the row could be lost alone. What only reads, and
//! what the workload rolls back itself, stays unchanged.
//!
//! Where each write commits by itself, it carries the identity as its own last values, and the driver
//! stores both in one step. A transaction may then have one write, its last operation.

use super::TABLE;
use dyno_core::workload::recording::Recording;
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{
    Effect, FileSet, Op, ParamType, Request, RowSink, Table, Transaction, Workload,
};
use std::ops::Range;

/// Which operation of a transaction carries its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// The one with this request, before COMMIT.
    Insert(u16),
    /// The last one, if it writes: it commits by itself.
    LastWrite,
}

/// A workload with identities.
pub struct Audited {
    inner: Box<dyn Workload>,
    requests: Vec<Request>,
    carrier: Carrier,
    begin: u16,
    commit: u16,
    /// Number of sessions that arrivals are spread over, in an open loop; 1 in a closed loop.
    lanes: u64,
}

impl Audited {
    /// Adds identities to `inner`. `lanes`: in an open loop, whose transactions all have one session
    /// number, the number of sessions to spread them over, so that neighbours do not all insert into
    /// one page; else 1.
    pub fn new(inner: Box<dyn Workload>, lanes: u32) -> Self {
        let mut requests = inner.requests();
        let begin = Self::frame(&mut requests, "begin", Effect::BeginWrite);
        let commit = Self::frame(&mut requests, "commit", Effect::Commit);
        let sql = format!("INSERT INTO {TABLE} (session, n, attempt) VALUES (?, ?, ?)");
        let params = vec![ParamType::BigInt, ParamType::BigInt, ParamType::Int];
        requests.push(Request::new(TABLE, Effect::Write, sql, params));
        let carrier = Carrier::Insert((requests.len() - 1) as u16);
        Self { inner, requests, carrier, begin, commit, lanes: u64::from(lanes.max(1)) }
    }

    /// Adds identities to the writes of `inner`, each of which commits by itself. `lanes` as in
    /// [`new`](Self::new).
    pub fn of_writes(inner: Box<dyn Workload>, lanes: u32) -> Self {
        let mut requests = inner.requests();
        for request in &mut requests {
            request.identified = request.effect == Effect::Write;
        }
        let (carrier, lanes) = (Carrier::LastWrite, u64::from(lanes.max(1)));
        Self { inner, requests, carrier, begin: 0, commit: 0, lanes }
    }

    /// The workload's own request of that effect, or a new one.
    fn frame(requests: &mut Vec<Request>, class: &str, effect: Effect) -> u16 {
        let own = requests.iter().position(|request| request.effect == effect);
        own.unwrap_or_else(|| {
            requests.push(Request::new(class, effect, "", vec![]));
            requests.len() - 1
        }) as u16
    }

    /// Which operation carries the identity.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    fn effect(&self, op: &Op) -> Effect {
        self.requests[usize::from(op.request)].effect
    }

    /// Adds the identity to a transaction that is composed up to its COMMIT.
    fn identify(&self, session: u32, index: u64, tx: &mut Transaction) {
        if !tx.ops.iter().any(|op| self.effect(op) == Effect::Write) {
            return;
        }
        let Carrier::Insert(insert) = self.carrier else {
            return self.identify_last(session, index, tx);
        };
        match (tx.ops.first().map(|op| self.effect(op)), tx.ops.last().map(|op| self.effect(op))) {
            (_, Some(Effect::Commit)) => {
                let commit = tx.ops.pop().map_or(self.commit, |op| op.request);
                self.end(session, index, (insert, commit), tx);
            }
            // A later stage commits, or the workload rolls back.
            (Some(Effect::BeginRead | Effect::BeginWrite), _) => {}
            _ => {
                tx.ops.insert(0, Op { request: self.begin, values: 0..0 });
                self.end(session, index, (insert, self.commit), tx);
            }
        }
    }

    fn end(&self, session: u32, index: u64, (insert, commit): (u16, u16), tx: &mut Transaction) {
        self.put(session, index, tx);
        tx.op(insert);
        tx.op(commit);
    }

    /// Appends the identity to the values of the last operation.
    fn identify_last(&self, session: u32, index: u64, tx: &mut Transaction) {
        let writes = tx.ops.iter().filter(|op| self.effect(op) == Effect::Write).count();
        let is_last = tx.ops.last().is_some_and(|op| self.effect(op) == Effect::Write);
        assert!(writes == 1 && is_last, "a write without an identity could be lost unseen");
        self.put(session, index, tx);
        if let Some(op) = tx.ops.last_mut() {
            op.values.end = tx.values.len() as u32;
        }
    }

    fn put(&self, session: u32, index: u64, tx: &mut Transaction) {
        tx.int(i64::from(session) + (index % self.lanes) as i64);
        tx.int(index as i64);
        tx.int(0);
    }
}

impl Workload for Audited {
    fn requests(&self) -> Vec<Request> {
        self.requests.clone()
    }

    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        self.inner.fill(session, index, tx);
        self.identify(session, index, tx);
    }

    fn more(&self, session: u32, index: u64, stage: u32, answers: &[Rows], tx: &mut Transaction) {
        let so_far = tx.ops.len();
        self.inner.more(session, index, stage, answers, tx);
        if tx.ops.len() > so_far {
            self.identify(session, index, tx);
        }
    }

    fn kinds(&self) -> Vec<String> {
        self.inner.kinds()
    }

    fn pauses(&self) -> bool {
        self.inner.pauses()
    }

    fn pause_ns(&self, session: u32, index: u64) -> u64 {
        self.inner.pause_ns(session, index)
    }

    fn recording(&self) -> Option<&dyn Recording> {
        self.inner.recording()
    }

    fn changes_data(&self) -> bool {
        self.inner.changes_data()
    }

    fn tables(&self) -> Vec<Table> {
        self.inner.tables()
    }

    fn rows(&self, table: usize, rows: Range<u64>, sink: &mut dyn RowSink) {
        self.inner.rows(table, rows, sink);
    }

    fn files(&self) -> Option<FileSet> {
        self.inner.files()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::workload::Value;

    /// Transactions of these effects, one request each; a write has a parameter.
    struct Of(Vec<Effect>);

    impl Workload for Of {
        fn requests(&self) -> Vec<Request> {
            let request = |&effect: &Effect| Request::new("own", effect, "", vec![]);
            self.0.iter().map(request).collect()
        }
        fn fill(&self, _session: u32, _index: u64, tx: &mut Transaction) {
            for (number, effect) in self.0.iter().enumerate() {
                if *effect == Effect::Write {
                    tx.int(7);
                }
                tx.op(number as u16);
            }
        }
        fn changes_data(&self) -> bool {
            true
        }
        fn tables(&self) -> Vec<Table> {
            vec![]
        }
        fn rows(&self, _: usize, _: Range<u64>, _: &mut dyn RowSink) {}
    }

    /// Effects of the operations of transaction 5 of session 3, and the values of the identity.
    fn composed(effects: &[Effect], lanes: u32) -> (Vec<Effect>, Vec<Value>) {
        let audited = Audited::new(Box::new(Of(effects.to_vec())), lanes);
        let mut tx = Transaction::default();
        audited.fill(3, 5, &mut tx);
        let Carrier::Insert(insert) = audited.carrier() else { panic!("an insert") };
        let identity = tx.ops.iter().find(|op| op.request == insert);
        let identity = identity.map(|op| tx.values_of(op).to_vec()).unwrap_or_default();
        for op in tx.ops.iter().filter(|op| op.request < effects.len() as u16) {
            let is_write = audited.effect(op) == Effect::Write;
            assert_eq!(tx.values_of(op).len(), usize::from(is_write), "own values stay");
        }
        (tx.ops.iter().map(|op| audited.effect(op)).collect(), identity)
    }

    const IDENTITY: [Value; 3] = [Value::Int(3), Value::Int(5), Value::Int(0)];

    #[test]
    fn the_identity_is_the_last_write_before_commit() {
        use Effect::{BeginWrite, Commit, Read, Write};
        let (effects, identity) = composed(&[BeginWrite, Write, Read, Commit], 1);
        assert_eq!(effects, [BeginWrite, Write, Read, Write, Commit]);
        assert_eq!(identity, IDENTITY);
    }

    #[test]
    fn writes_that_commit_by_themselves_become_one_transaction() {
        use Effect::{BeginWrite, Commit, Read, Write};
        let (effects, identity) = composed(&[Read, Write, Write], 1);
        assert_eq!(effects, [BeginWrite, Read, Write, Write, Write, Commit]);
        assert_eq!(identity, IDENTITY);
    }

    #[test]
    fn what_reads_or_is_rolled_back_stays_unchanged() {
        use Effect::{BeginRead, BeginWrite, Commit, Read, Rollback, Write};
        for effects in [
            vec![Read],
            vec![BeginRead, Read, Commit],
            vec![BeginWrite, Write, Rollback],
            vec![BeginWrite, Write], // a later stage commits
        ] {
            assert_eq!(composed(&effects, 1), (effects, vec![]));
        }
    }

    #[test]
    fn a_write_that_commits_by_itself_carries_the_identity() {
        use Effect::{Read, Write};
        let audited = Audited::of_writes(Box::new(Of(vec![Read, Write])), 1);
        let identified: Vec<bool> =
            audited.requests().iter().map(|request| request.identified).collect();
        assert_eq!((audited.carrier(), identified), (Carrier::LastWrite, vec![false, true]));
        let mut tx = Transaction::default();
        audited.fill(3, 5, &mut tx);
        let values: Vec<&[Value]> = tx.ops.iter().map(|op| tx.values_of(op)).collect();
        assert_eq!(
            values,
            [&[][..], &[Value::Int(7), IDENTITY[0].clone(), Value::Int(5), Value::Int(0)]]
        );
        let audited = Audited::of_writes(Box::new(Of(vec![Read])), 1);
        tx.clear();
        audited.fill(3, 5, &mut tx);
        assert_eq!((tx.ops.len(), tx.values.len()), (1, 0), "what only reads stays unchanged");
    }

    #[test]
    fn arrivals_are_spread_over_the_sessions() {
        let (_, identity) = composed(&[Effect::Write], 4);
        assert_eq!(identity, [Value::Int(3 + 1), Value::Int(5), Value::Int(0)]);
    }
}
