//! Delivery: the oldest waiting order of each district of a warehouse, in one transaction.
//!
//! It is not queued for later, as the specification allows and asks terminals to: its latency is
//! the transaction's.
//!
//! Source: TPC Benchmark C, revision 5.11, clause 2.7.

use crate::tpcc::settings::DISTRICTS;
use crate::tpcc::{Draws, Tpcc};
use dyno_core::rows::Rows;
use dyno_core::workload::{Transaction, Value};

/// What is delivered where no system says it: an order, of a customer, for so many cents.
const ORDER: i64 = 1;

/// The first stage: the first district's oldest order.
pub fn begin(of: &Tpcc, draws: &mut Draws, tx: &mut Transaction) {
    tx.op(of.catalogue.begin);
    of.op(tx, of.catalogue.delivery.oldest, &[draws.w_id, 1]);
}

/// A district takes two stages, or one if no order waits: where we are follows from the answers.
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

/// The next district's oldest order, or the end.
fn go_on(of: &Tpcc, w_id: i64, d_id: i64, tx: &mut Transaction) {
    if d_id == DISTRICTS as i64 {
        tx.op(of.catalogue.commit);
    } else {
        of.op(tx, of.catalogue.delivery.oldest, &[w_id, d_id + 1]);
    }
}

/// The oldest order of a district, if any waits.
fn waiting(oldest: &Rows) -> Option<i64> {
    if oldest.is_unknown() {
        return Some(ORDER);
    }
    oldest.first().and_then(|row| row.int(0))
}

/// The customer owes the sum of the order's lines.
fn pay(of: &Tpcc, (w_id, d_id): (i64, i64), customer_of: &Rows, sum: &Rows, tx: &mut Transaction) {
    let c_id = customer_of.first().and_then(|row| row.int(0)).unwrap_or(1);
    let amount = sum.first().and_then(|row| row.decimal(0, 2)).unwrap_or(0);
    tx.value(Value::Decimal { unscaled: amount, scale: 2 });
    of.op(tx, of.catalogue.delivery.customer, &[w_id, d_id, c_id]);
}
