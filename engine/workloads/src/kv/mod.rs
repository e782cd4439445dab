//! `kv`: the core workloads A to F of the Yahoo! Cloud Serving Benchmark as key-value operations,
//! which SQL drivers translate to statements.
//!
//! | preset | operations | requests |
//! |---|---|---|
//! | a | 50 % read, 50 % update | zipfian |
//! | b | 95 % read, 5 % update | zipfian |
//! | c | 100 % read | zipfian |
//! | d | 95 % read, 5 % insert | latest |
//! | e | 95 % scan, 5 % insert | zipfian |
//! | f | 50 % read, 50 % read-modify-write | zipfian |
//!
//! By default a record has a key and ten fields of 100 characters. A read returns all fields; an update
//! writes one of them; a scan reads 1 to 100 records (uniformly drawn) from a key on. A
//! read-modify-write reads all fields of a record and writes one: two operations, between begin and
//! commit only if `transactional`. The other operations are independent of each other, so that a
//! session can send `pipeline` of them in one write.
//!
//! Deliberate differences from YCSB:
//! - A key is `user` and the 20 digits of a bijective hash of the record's number (with
//!   `key_order: ordered`, of the number itself), so that all keys have the same length.
//! - Zipfian requests have exactly the exponent 0.99 over the existing records, scattered by a
//!   permutation (YCSB: over ten billion items, folded by a hash, which flattens the hot end).
//! - Inserts are evenly spaced: at 5 %, every twentieth operation of a session. `latest` counts back
//!   from the session's own newest record (in an open loop: the group's), since the records that other
//!   sessions have finished depend on timing.
//!
//! Sources: Cooper et al., "Benchmarking cloud serving systems with YCSB" (2010), table 2; YCSB's
//! documentation of its core workloads and properties.

mod requests;
mod settings;
#[cfg(test)]
mod tests;

use crate::choice::Choice;
use crate::evenly::Evenly;
use crate::generator::pattern::Pattern;
use crate::generator::scatter::Scatter;
use crate::mix::SESSION_BITS;
use dyno_core::error::Result;
use dyno_core::random::distribution::Distribution;
use dyno_core::random::rng::Rng;
use dyno_core::request::capability::Capability;
use dyno_core::workload::{
    Dialect, Order, Request, RowSink, Table, Transaction, Workload, WorkloadKind,
};
use requests::Catalogue;
use settings::{Operation, Requests, Settings};
use std::ops::Range;

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: "kv",
    about: "YCSB's core workloads, by key; presets a, b, c, d, e, f",
    needs: &[Capability::KeyValue],
    build,
};

/// Separates the random phase of a session's inserts from its transactions' draws.
const PHASE: u64 = 0x6b76_7068_6173_6500;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    let settings = Settings::read(order.options)?;
    Ok(Box::new(Kv {
        requests: Distribution::new(settings.shape, settings.records),
        scatter: Scatter::new(settings.records),
        inserts: Evenly::new(settings.proportions.insert_share()),
        others: settings.proportions.choice(),
        field: Pattern::both(settings.field_bytes as usize),
        catalogue: Catalogue::new(&settings),
        dialect: order.dialect,
        seed: order.seed,
        sessions: u64::from(order.sessions.max(1)),
        settings,
    }))
}

struct Kv {
    settings: Settings,
    dialect: Dialect,
    seed: u64,
    sessions: u64,
    requests: Distribution,
    scatter: Scatter,
    inserts: Evenly,
    /// Distribution over the other operations; `None` if all are inserts.
    others: Option<Choice>,
    field: Pattern,
    catalogue: Catalogue,
}

/// The state of a session's inserts at a transaction.
struct Inserter {
    number: u64,
    /// Number of inserts before this transaction.
    made: u64,
    is_insert: bool,
}

impl Kv {
    fn inserter(&self, session: u32, index: u64) -> Inserter {
        let phase = Rng::for_transaction(self.seed ^ PHASE, session, 0).u64();
        Inserter {
            number: u64::from(session & ((1 << SESSION_BITS) - 1)),
            made: self.inserts.before(index, phase),
            is_insert: self.inserts.is_chosen(index, phase),
        }
    }

    /// The record that insert number `nth` (0-based) of a session creates.
    fn inserted(&self, session: u64, nth: u64) -> u64 {
        self.settings.records + nth * self.sessions + session
    }

    /// Draws an existing record.
    #[inline]
    fn record(&self, inserter: &Inserter, rng: &mut Rng) -> u64 {
        let rank = self.requests.sample(rng) - 1;
        match self.settings.requests {
            Requests::Anywhere => self.scatter.place(rank),
            Requests::Latest => match inserter.made.checked_sub(rank + 1) {
                Some(nth) => self.inserted(inserter.number, nth),
                None => self.settings.records + inserter.made - 1 - rank,
            },
        }
    }

    /// Appends the key of a record: `user` and 20 digits.
    fn put_key(&self, record: u64, out: &mut Vec<u8>) {
        let mut rest = if self.settings.is_hashed { hash(record) } else { record };
        let at = out.len();
        out.extend_from_slice(b"user00000000000000000000");
        for digit in out[at + 4..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }

    fn key(&self, record: u64, tx: &mut Transaction) {
        tx.text(|out| self.put_key(record, out));
    }

    fn update(&self, first: u16, record: u64, rng: &mut Rng, tx: &mut Transaction) {
        let field = rng.below(self.settings.fields) as u16;
        tx.text(|out| self.field.put(rng, out));
        self.key(record, tx);
        tx.op(first + field);
    }

    fn insert(&self, inserter: &Inserter, rng: &mut Rng, tx: &mut Transaction) {
        self.key(self.inserted(inserter.number, inserter.made), tx);
        for _ in 0..self.settings.fields {
            tx.text(|out| self.field.put(rng, out));
        }
        tx.op(self.catalogue.insert);
    }
}

/// A bijection of 64-bit integers: SplitMix64's output function (Steele, Lea and Flood, 2014).
fn hash(record: u64) -> u64 {
    let z = record.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Workload for Kv {
    fn requests(&self) -> Vec<Request> {
        self.catalogue.requests.clone()
    }

    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        let mut rng = Rng::for_transaction(self.seed, session, index);
        let inserter = self.inserter(session, index);
        let other = self.others.as_ref().filter(|_| !inserter.is_insert);
        let operation =
            other.map_or(Operation::Insert, |choice| Operation::OTHERS[choice.draw(&mut rng)]);
        if operation == Operation::Insert {
            return self.insert(&inserter, &mut rng, tx);
        }
        let record = self.record(&inserter, &mut rng);
        match operation {
            Operation::Insert => {}
            Operation::Read => {
                self.key(record, tx);
                tx.op(self.catalogue.read);
            }
            Operation::Update => self.update(self.catalogue.update, record, &mut rng, tx),
            Operation::Scan => {
                self.key(record, tx);
                tx.int(rng.between(1, self.settings.scan_length_max) as i64);
                tx.op(self.catalogue.scan);
            }
            Operation::ReadModifyWrite => {
                if let Some(begin) = self.catalogue.begin {
                    tx.op(begin);
                }
                self.key(record, tx);
                tx.op(self.catalogue.rmw_read);
                self.update(self.catalogue.rmw_update, record, &mut rng, tx);
                if self.catalogue.begin.is_some() {
                    tx.op(self.catalogue.commit);
                }
            }
        }
    }

    fn pipeline(&self) -> u32 {
        self.settings.pipeline
    }

    fn changes_data(&self) -> bool {
        self.settings.proportions.writes()
    }

    fn tables(&self) -> Vec<Table> {
        vec![requests::table(&self.settings, self.dialect)]
    }

    fn rows(&self, table: usize, rows: Range<u64>, sink: &mut dyn RowSink) {
        let mut text = Vec::new();
        for row in rows {
            let mut rng = Rng::for_row(self.seed, table as u64, row);
            text.clear();
            self.put_key(row, &mut text);
            sink.text(&text);
            for _ in 0..self.settings.fields {
                text.clear();
                self.field.put(&mut rng, &mut text);
                sink.text(&text);
            }
            sink.end_row();
        }
    }
}
