//! Order-Status: reads a customer's last order and its lines.
//!
//! Source: TPC Benchmark C, revision 5.11, clause 2.6.

use crate::tpcc::{Customer, Draws, Tpcc, middle};
use dyno_core::workload::Transaction;
use dyno_core::workload::rows::Rows;

/// The first stage: searches for the customer by name, or reads him and his last order.
pub fn begin(of: &Tpcc, draws: &mut Draws, tx: &mut Transaction) {
    let own = &of.catalogue.order_status;
    tx.op(of.catalogue.begin_read);
    let (w_id, d_id) = (draws.w_id, draws.d_id);
    match of.customer(draws) {
        Customer::Named(name) => {
            of.by_name(tx, (own.name_count, own.by_name), (w_id, d_id), name);
        }
        Customer::Numbered(c_id) => ask(of, (w_id, d_id), c_id, tx),
    }
}

/// Reads the customer found by name and his last order; in the last stage, the lines of the order.
pub fn more(of: &Tpcc, draws: &mut Draws, stage: u32, answers: &[Rows], tx: &mut Transaction) {
    let (w_id, d_id) = (draws.w_id, draws.d_id);
    let is_named = matches!(of.customer(draws), Customer::Named(_));
    if is_named && stage == 1 {
        let c_id = answers.first().map_or(1, middle);
        return ask(of, (w_id, d_id), c_id, tx);
    }
    let row = answers.last().and_then(Rows::first);
    let o_id = row.and_then(|row| row.int(0)).unwrap_or(1);
    of.op(tx, of.catalogue.order_status.lines, &[w_id, d_id, o_id]);
    tx.op(of.catalogue.commit);
}

fn ask(of: &Tpcc, (w_id, d_id): (i64, i64), c_id: i64, tx: &mut Transaction) {
    let own = &of.catalogue.order_status;
    of.op(tx, own.customer, &[w_id, d_id, c_id]);
    of.op(tx, own.order, &[w_id, d_id, c_id]);
}
