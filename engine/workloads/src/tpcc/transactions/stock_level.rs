//! Stock-Level: counts the items of a district's last 20 orders whose stock is low.
//!
//! Source: TPC Benchmark C, revision 5.11, clause 2.8.

use crate::tpcc::{Draws, Tpcc};
use dyno_core::workload::Transaction;
use dyno_core::workload::rows::Rows;

/// Number of orders examined.
const ORDERS: i64 = 20;

/// The first stage: reads the number of the next order.
pub fn begin(of: &Tpcc, draws: &mut Draws, tx: &mut Transaction) {
    tx.op(of.catalogue.begin_read);
    of.op(tx, of.catalogue.stock_level.district, &[draws.w_id, draws.d_id]);
}

/// The second stage: counts the items of the orders before it, and commits.
pub fn more(of: &Tpcc, draws: &mut Draws, answers: &[Rows], tx: &mut Transaction) {
    let (w_id, d_id) = (draws.w_id, draws.d_id);
    let row = answers.first().and_then(Rows::first);
    let next = row.and_then(|row| row.int(0)).unwrap_or(of.settings.customers as i64 + 1);
    let threshold = draws.rng.between(10, 20) as i64;
    of.op(tx, of.catalogue.stock_level.count, &[w_id, d_id, next, next - ORDERS, w_id, threshold]);
    tx.op(of.catalogue.commit);
}
