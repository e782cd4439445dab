//! `oltp`: sysbench's tables and transaction, with all numbers configurable.
//!
//! A transaction consists of, in this order: point selects; simple, sum, order, distinct and filter
//! ranges; index updates; non-index updates; delete-insert pairs; deletes; inserts. They are sent
//! between begin and commit unless `skip_trx`. As in sysbench, a transaction draws one table (uniformly)
//! for each kind of operation, and keys by `distribution` from `1..=id_range`.
//!
//! Deliberate differences from sysbench 1.0:
//! - `distribution` is `uniform` by default (sysbench: `special`).
//! - Column `k` is loaded from `k_distribution` over all rows, by default uniform (sysbench: the
//!   distribution of the run), so that runs with different distributions share one data set.
//! - `filter_ranges` does not exist in sysbench: it reads `range_size` rows by key and returns about
//!   one of them, by a condition on the unindexed column `c`.
//! - `inserts` use keys from the server's own counter on every system. These are unique over sessions,
//!   retries and repeated trials on the same data, without state in the generator. The new rows lie
//!   beyond `rows`, so that no other operation uses them.
//! - `delete` finds no row if an earlier transaction deleted the same key, and then costs only a
//!   search. Restore the data between trials.
//!
//! Source: the `--help` of sysbench's bundled OLTP scripts, and their statements in a server's general
//! log.

mod settings;
mod statements;
mod table;

use crate::digits::{C_BYTES, C_GROUPS, PAD_BYTES, PAD_GROUPS, groups};
use dyno_core::error::Result;
use dyno_core::random::distribution::Distribution;
use dyno_core::random::rng::Rng;
use dyno_core::request::capability::Capability;
use dyno_core::workload::{
    Dialect, Order, Request, RowSink, Table, Transaction, Workload, WorkloadKind,
};
use settings::Settings;
use statements::{Catalogue, Class};
use std::ops::Range;

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: "oltp",
    about: "sysbench's OLTP tables and transaction; presets read_write, read_only, write_only, \
            point_select, update_index, update_non_index, insert, delete",
    needs: &[Capability::Sql],
    build,
};

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Oltp::new(Settings::read(order.options)?, order.dialect, order.seed)))
}

struct Oltp {
    settings: Settings,
    dialect: Dialect,
    seed: u64,
    ids: Distribution,
    loaded_ks: Distribution,
    catalogue: Catalogue,
}

impl Oltp {
    fn new(settings: Settings, dialect: Dialect, seed: u64) -> Self {
        Self {
            ids: Distribution::new(settings.distribution, settings.id_range),
            loaded_ks: Distribution::new(settings.k_distribution, settings.rows),
            catalogue: Catalogue::new(&settings),
            settings,
            dialect,
            seed,
        }
    }

    fn id(&self, rng: &mut Rng) -> i64 {
        self.ids.sample(rng) as i64
    }

    /// Appends the parameters of one operation of `class`.
    fn parameters(&self, class: Class, rng: &mut Rng, tx: &mut Transaction) {
        match class {
            Class::PointSelect => {
                for _ in 0..self.settings.in_list {
                    tx.int(self.id(rng));
                }
            }
            Class::SimpleRange
            | Class::SumRange
            | Class::OrderRange
            | Class::DistinctRange
            | Class::FilterRange => {
                let first = self.id(rng);
                tx.int(first);
                tx.int(first + self.settings.range_size as i64 - 1);
            }
            Class::IndexUpdate | Class::Delete => tx.int(self.id(rng)),
            Class::NonIndexUpdate => {
                c(rng, tx);
                tx.int(self.id(rng));
            }
            Class::Insert => {
                tx.int(self.id(rng));
                c(rng, tx);
                pad(rng, tx);
            }
            Class::DeleteInsert => unreachable!("a pair is drawn by `pair`"),
        }
    }

    /// Appends the deletion of a row and the insertion of a new row with the same key.
    fn pair(&self, table: u16, rng: &mut Rng, tx: &mut Transaction) {
        let id = self.id(rng);
        tx.int(id);
        tx.op(self.catalogue.statement(Class::Delete, table));
        tx.int(id);
        tx.int(self.id(rng));
        c(rng, tx);
        pad(rng, tx);
        tx.op(self.catalogue.statement(Class::DeleteInsert, table));
    }
}

fn c(rng: &mut Rng, tx: &mut Transaction) {
    let text: [u8; C_BYTES] = groups::<C_GROUPS, C_BYTES>(rng);
    tx.text(|arena| arena.extend_from_slice(&text));
}

fn pad(rng: &mut Rng, tx: &mut Transaction) {
    let text: [u8; PAD_BYTES] = groups::<PAD_GROUPS, PAD_BYTES>(rng);
    tx.text(|arena| arena.extend_from_slice(&text));
}

impl Workload for Oltp {
    fn requests(&self) -> Vec<Request> {
        statements::all(&self.settings)
    }

    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        let mut rng = Rng::for_transaction(self.seed, session, index);
        if let Some(begin) = self.catalogue.begin {
            tx.op(begin);
        }
        for &(class, count) in &self.catalogue.program {
            let table = rng.below(self.settings.tables) as u16;
            for _ in 0..count {
                if class == Class::DeleteInsert {
                    self.pair(table, &mut rng, tx);
                } else {
                    self.parameters(class, &mut rng, tx);
                    tx.op(self.catalogue.statement(class, table));
                }
            }
        }
        if let Some(commit) = self.catalogue.commit {
            tx.op(commit);
        }
    }

    fn changes_data(&self) -> bool {
        self.settings.writes()
    }

    fn tables(&self) -> Vec<Table> {
        (1..=self.settings.tables).map(|n| table::table(n, &self.settings, self.dialect)).collect()
    }

    fn rows(&self, table: usize, rows: Range<u64>, sink: &mut dyn RowSink) {
        for row in rows {
            let mut rng = Rng::for_row(self.seed, table as u64, row);
            sink.int(row as i64 + 1);
            sink.int(self.loaded_ks.sample(&mut rng) as i64);
            sink.text(&groups::<C_GROUPS, C_BYTES>(&mut rng));
            sink.text(&groups::<PAD_GROUPS, PAD_BYTES>(&mut rng));
            sink.end_row();
        }
    }
}

#[cfg(test)]
mod tests;
