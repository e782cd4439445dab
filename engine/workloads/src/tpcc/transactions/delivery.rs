//! Delivery: delivers the oldest undelivered order of each district of a warehouse, in one transaction.
//!
//! It runs at once instead of being queued as in the specification, so that its latency is that of
//! the transaction.
//!
//! Source: TPC Benchmark C, revision 5.11, clause 2.7.

use crate::tpcc::settings::DISTRICTS;
use crate::tpcc::{Draws, Tpcc};
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{Transaction, Value};

/// Number of the order if the driver does not return rows.
const ORDER: i64 = 1;

/// The first stage: reads the first district's oldest order.
pub fn begin(of: &Tpcc, draws: &mut Draws, tx: &mut Transaction) {
    tx.op(of.catalogue.begin);
    of.op(tx, of.catalogue.delivery.oldest, &[draws.w_id, 1]);
}

/// The next stage, derived from the answers so far. A district has two stages, or one if it has no
/// undelivered order.
pub fn more(of: &Tpcc, draws: &mut Draws, answers: &[Rows], tx: &mut Transaction) {
    let (w_id, carrier) = (draws.w_id, draws.rng.between(1, 10) as i64);
    let own = &of.catalogue.delivery;
    let mut rest = answers;
    for d_id in 1..=DISTRICTS as i64 {
        let Some((oldest, further)) = rest.split_first() else { return };
        match (waiting(oldest), further) {
            (Some(o_id), []) => {
                of.op(tx, own.delete, &[w_id, d_id, o_id]);
                of.op(tx, own.customer_of, &[w_id, d_id, o_id]);
                of.op(tx, own.carrier, &[carrier, w_id, d_id, o_id]);
                of.op(tx, own.lines, &[w_id, d_id, o_id]);
                of.op(tx, own.sum, &[w_id, d_id, o_id]);
                return;
            }
            (Some(_), [customer_of, sum, next @ ..]) => {
                if next.is_empty() {
                    pay(of, (w_id, d_id), customer_of, sum, tx);
                    return go_on(of, w_id, d_id, tx);
                }
                rest = next;
            }
            (Some(_), [_]) => return,
            (None, next) => {
                if next.is_empty() {
                    return go_on(of, w_id, d_id, tx);
                }
                rest = next;
            }
        }
    }
}

/// Reads the next district's oldest order, or commits after the last district.
fn go_on(of: &Tpcc, w_id: i64, d_id: i64, tx: &mut Transaction) {
    if d_id == DISTRICTS as i64 {
        tx.op(of.catalogue.commit);
    } else {
        of.op(tx, of.catalogue.delivery.oldest, &[w_id, d_id + 1]);
    }
}

/// The oldest undelivered order of a district, if there is one.
fn waiting(oldest: &Rows) -> Option<i64> {
    if oldest.is_unknown() {
        return Some(ORDER);
    }
    oldest.first().and_then(|row| row.int(0))
}

/// Adds the sum of the order's lines to the customer's balance.
fn pay(of: &Tpcc, (w_id, d_id): (i64, i64), customer_of: &Rows, sum: &Rows, tx: &mut Transaction) {
    let c_id = customer_of.first().and_then(|row| row.int(0)).unwrap_or(1);
    let amount = sum.first().and_then(|row| row.decimal(0, 2)).unwrap_or(0);
    tx.value(Value::Decimal { unscaled: amount, scale: 2 });
    of.op(tx, of.catalogue.delivery.customer, &[w_id, d_id, c_id]);
}
