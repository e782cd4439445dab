//! `tpcc`: the order-entry workload of TPC Benchmark C, with nine tables and five transactions.
//!
//! | file | noun |
//! |---|---|
//! | `schema` | the tables |
//! | `rows`, `random` | the tables' rows, and the random values of the specification |
//! | `statements` | the statements |
//! | `transactions` | the five transactions, in stages |
//!
//! Modes:
//!
//! - *Faithful* follows the specification: non-uniform numbers with constants per run, 1 % of order
//!   lines and 15 % of payments from other warehouses, 60 % of customers selected by name, text of
//!   full length, 1 % of new orders rolled back.
//! - *Sysbench* follows the published sysbench scripts, as a server's general log shows them: the home
//!   warehouse only, constants per transaction, text padded with one character, mix 10:10:1:1:1, whole
//!   amounts, no counters of stock and payments, all orders of a customer read to find the last,
//!   customers of a name counted first, the scripts' table names. The foreign keys are left out, but
//!   not their indexes.
//!
//! Departures from the specification in both modes: there are no terminals or screens; deliveries are
//! not queued; without `paced`, sessions send without keying and think times, so that the throughput is
//! not tpmC; each transaction draws its warehouse unless `home: session`. Values of `customers` and
//! `items` below the defaults make a smaller data set that satisfies all consistency conditions.
//!
//! Source: TPC Benchmark C, Standard Specification, revision 5.11 (2010).

mod random;
mod rows;
mod schema;
mod settings;
mod statements;
#[cfg(test)]
mod tests;
mod transactions;

use dyno_core::error::Result;
use dyno_core::random::rng::Rng;
use dyno_core::request::capability::Capability;
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{
    Dialect, Order, Request, RowSink, Table, Transaction, Workload, WorkloadKind,
};
use random::{Constants, put_last_name};
use rows::Loader;
use settings::{DISTRICTS, Mode, Settings};
use statements::Catalogue;
use std::ops::Range;
use transactions::{delivery, new_order, order_status, payment, stock_level};

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: "tpcc",
    about: "TPC-C's order entry: nine tables, five transactions; modes faithful, sysbench",
    needs: &[Capability::Sql, Capability::Transactions],
    build,
};

/// Separates the random stream of a run's constants from those of its transactions.
const CONSTANTS: u64 = 0x7470_6363_6e75_7200;
/// Separates the random streams of pauses.
const PAUSES: u64 = 0x7470_6363_7061_7573;
/// Mask of the session's bits in a session number; the others hold the group.
const SESSION_MASK: u32 = (1 << crate::mix::SESSION_BITS) - 1;

/// The kinds of transactions, in the order of their numbers.
const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];
/// Transactions of each kind in 100: the specification's minimum, and new orders for the rest.
const MIX_FAITHFUL: [u64; 5] = [45, 43, 4, 4, 4];
/// Transactions of each kind in 23.
const MIX_SYSBENCH: [u64; 5] = [10, 10, 1, 1, 1];
/// Keying time before a transaction, seconds, by kind (clause 5.2.5.7).
const KEYING_S: [f64; 5] = [18.0, 3.0, 2.0, 2.0, 2.0];
/// Mean think time after a transaction, seconds, by kind.
const THINK_S: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
/// Maximum think time, in multiples of the mean.
const THINK_MAX: f64 = 10.0;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Tpcc::new(Settings::read(order.options)?, order.dialect, order.seed)))
}

struct Tpcc {
    settings: Settings,
    dialect: Dialect,
    seed: u64,
    /// The constants of the run.
    constants: Constants,
    catalogue: Catalogue,
    loader: Loader,
}

/// The random state of a transaction, the same at the beginning of each stage.
struct Draws {
    rng: Rng,
    constants: Constants,
    w_id: i64,
    d_id: i64,
}

/// How a transaction selects its customer.
enum Customer {
    /// By the number of a last name.
    Named(u64),
    Numbered(i64),
}

impl Tpcc {
    fn new(settings: Settings, dialect: Dialect, seed: u64) -> Self {
        Self {
            constants: Constants::of_run(&mut Rng::new(seed ^ CONSTANTS)),
            catalogue: Catalogue::new(&settings, dialect),
            loader: Loader::new(&settings, seed),
            settings,
            dialect,
            seed,
        }
    }

    fn is_faithful(&self) -> bool {
        self.settings.mode == Mode::Faithful
    }

    /// Whether transactions use other warehouses.
    fn has_remotes(&self) -> bool {
        self.is_faithful() && self.settings.warehouses > 1
    }

    /// Draws the kind of a transaction, and returns it with the state for the transaction's other draws.
    fn draw(&self, session: u32, index: u64) -> (usize, Draws) {
        let mut rng = Rng::for_transaction(self.seed, session, index);
        let mix = if self.is_faithful() { &MIX_FAITHFUL } else { &MIX_SYSBENCH };
        let mut card = rng.below(mix.iter().sum());
        let mut kind = 0;
        while card >= mix[kind] {
            card -= mix[kind];
            kind += 1;
        }
        let warehouses = self.settings.warehouses;
        let w_id = match self.settings.is_home_fixed {
            true => u64::from(session & SESSION_MASK) % warehouses + 1,
            false => rng.between(1, warehouses),
        };
        let d_id = self.district(&mut rng);
        let constants = if self.is_faithful() { self.constants } else { Constants::anew(&mut rng) };
        (kind, Draws { rng, constants, w_id: w_id as i64, d_id })
    }

    fn district(&self, rng: &mut Rng) -> i64 {
        rng.between(1, DISTRICTS) as i64
    }

    /// A uniformly drawn warehouse other than `home`. Requires at least two warehouses.
    fn other_warehouse(&self, home: i64, rng: &mut Rng) -> i64 {
        let other = rng.between(1, self.settings.warehouses - 1) as i64;
        other + i64::from(other >= home)
    }

    /// Selects 60 % of customers by name.
    fn customer(&self, draws: &mut Draws) -> Customer {
        let Draws { rng, constants, .. } = draws;
        match rng.below(100) < 60 {
            true => Customer::Named(constants.last(self.settings.names(), rng)),
            false => Customer::Numbered(constants.customer(self.settings.customers, rng) as i64),
        }
    }

    /// Appends an operation whose last parameters are `values`.
    fn op(&self, tx: &mut Transaction, statement: u16, values: &[i64]) {
        values.iter().for_each(|&value| tx.int(value));
        tx.op(statement);
    }

    /// Appends a search for a last name; in mode sysbench, a `count` of its customers comes first.
    fn by_name(
        &self,
        tx: &mut Transaction,
        (count, search): (u16, u16),
        (w_id, d_id): (i64, i64),
        name: u64,
    ) {
        for statement in [count, search] {
            if statement == search || !self.is_faithful() {
                tx.int(w_id);
                tx.int(d_id);
                tx.text(|out| put_last_name(name, out));
                tx.op(statement);
            }
        }
    }
}

/// The customer at position n / 2, rounded up, of the n that a search by name found (clause 2.5.2.2).
fn middle(found: &Rows) -> i64 {
    let count = found.iter().count();
    found.iter().nth(count.div_ceil(2).saturating_sub(1)).and_then(|row| row.int(0)).unwrap_or(1)
}

impl Workload for Tpcc {
    fn requests(&self) -> Vec<Request> {
        self.catalogue.statements.clone()
    }

    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        let (kind, mut draws) = self.draw(session, index);
        tx.kind = kind as u8;
        match kind {
            0 => new_order::begin(self, &mut draws, tx),
            1 => payment::begin(self, &mut draws, tx),
            2 => order_status::begin(self, &mut draws, tx),
            3 => delivery::begin(self, &mut draws, tx),
            _ => stock_level::begin(self, &mut draws, tx),
        }
    }

    fn more(&self, session: u32, index: u64, stage: u32, answers: &[Rows], tx: &mut Transaction) {
        // A transaction ends with its commit or rollback.
        let ends = [self.catalogue.commit, self.catalogue.rollback];
        if tx.ops.last().is_some_and(|op| ends.contains(&op.request)) {
            return;
        }
        let (kind, mut draws) = self.draw(session, index);
        match kind {
            0 => new_order::more(self, &mut draws, stage, answers, tx),
            1 => payment::more(self, &mut draws, stage, answers, tx),
            2 => order_status::more(self, &mut draws, stage, answers, tx),
            3 => delivery::more(self, &mut draws, answers, tx),
            _ => stock_level::more(self, &mut draws, answers, tx),
        }
    }

    fn kinds(&self) -> Vec<String> {
        KINDS.map(str::to_owned).to_vec()
    }

    fn pauses(&self) -> bool {
        self.settings.is_paced
    }

    fn pause_ns(&self, session: u32, index: u64) -> u64 {
        let after = index.checked_sub(1).map_or(0.0, |last| {
            let unit = Rng::for_transaction(self.seed ^ PAUSES, session, last).unit();
            (-(1.0 - unit).ln()).min(THINK_MAX) * THINK_S[self.draw(session, last).0]
        });
        ((after + KEYING_S[self.draw(session, index).0]) * 1e9) as u64
    }

    fn changes_data(&self) -> bool {
        true
    }

    fn tables(&self) -> Vec<Table> {
        schema::tables(&self.settings, self.dialect, self.loader.lines())
    }

    fn rows(&self, table: usize, rows: Range<u64>, sink: &mut dyn RowSink) {
        self.loader.rows(table, rows, sink);
    }
}
