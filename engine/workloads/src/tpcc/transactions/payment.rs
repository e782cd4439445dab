//! Payment: a customer, selected by number or by name, pays at his own or at another warehouse.
//!
//! Source: TPC Benchmark C, revision 5.11, clause 2.5.

use crate::tpcc::{Customer, Draws, Tpcc, middle};
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{Transaction, Value};

/// Maximum length of `c_data`.
const DATA_BYTES: usize = 500;
/// Number of answers before the customer's: those of warehouse and district.
const NAMES: usize = 2;

struct Input {
    w_id: i64,
    d_id: i64,
    /// Warehouse of the customer.
    c_w_id: i64,
    c_d_id: i64,
    customer: Customer,
    /// The payment, cents.
    amount: i64,
}

impl Input {
    fn draw(of: &Tpcc, draws: &mut Draws) -> Self {
        let (w_id, d_id) = (draws.w_id, draws.d_id);
        let is_remote = draws.rng.below(100) >= 85 && of.has_remotes();
        let (c_w_id, c_d_id) = match is_remote {
            true => (of.other_warehouse(w_id, &mut draws.rng), of.district(&mut draws.rng)),
            false => (w_id, d_id),
        };
        let customer = of.customer(draws);
        // The sysbench scripts use whole amounts.
        let amount = match of.is_faithful() {
            true => draws.rng.between(100, 500_000) as i64,
            false => draws.rng.between(1, 5_000) as i64 * 100,
        };
        Self { w_id, d_id, c_w_id, c_d_id, customer, amount }
    }

    fn amount(&self) -> Value {
        Value::Decimal { unscaled: self.amount, scale: 2 }
    }
}

/// The first stage: updates warehouse and district, and reads the customer.
pub fn begin(of: &Tpcc, draws: &mut Draws, tx: &mut Transaction) {
    let input = Input::draw(of, draws);
    let own = &of.catalogue.payment;
    let (w_id, d_id) = (input.w_id, input.d_id);
    tx.op(of.catalogue.begin);
    tx.value(input.amount());
    of.op(tx, own.warehouse_update, &[w_id]);
    of.op(tx, own.warehouse, &[w_id]);
    tx.value(input.amount());
    of.op(tx, own.district_update, &[w_id, d_id]);
    of.op(tx, own.district, &[w_id, d_id]);
    match input.customer {
        Customer::Named(name) => {
            let place = (input.c_w_id, input.c_d_id);
            of.by_name(tx, (own.name_count, own.by_name), place, name);
        }
        Customer::Numbered(c_id) => {
            of.op(tx, own.customer, &[input.c_w_id, input.c_d_id, c_id]);
        }
    }
}

/// Further stages: reads the customer found by name; reads `c_data` if his credit is bad; writes the
/// payment and commits.
pub fn more(of: &Tpcc, draws: &mut Draws, stage: u32, answers: &[Rows], tx: &mut Transaction) {
    let input = Input::draw(of, draws);
    let own = &of.catalogue.payment;
    let mut answers = answers.iter();
    let named: Vec<&Rows> = answers.by_ref().take(NAMES).collect();
    let mut left = stage;
    let c_id = match input.customer {
        Customer::Numbered(c_id) => c_id,
        Customer::Named(_) => {
            let c_id = answers.next().map_or(1, middle);
            if left == 1 {
                return of.op(tx, own.customer, &[input.c_w_id, input.c_d_id, c_id]);
            }
            left -= 1;
            c_id
        }
    };
    let customer = answers.next();
    let has_bad_credit =
        customer.is_some_and(|rows| rows.first().is_some_and(|row| row.get(0) == Some(b"BC")));
    let who = [input.c_w_id, input.c_d_id, c_id];
    match (left, has_bad_credit) {
        (1, true) => return of.op(tx, own.customer_data, &who),
        (1, false) => {
            tx.value(input.amount());
            tx.value(input.amount());
            of.op(tx, own.customer_update, &who);
        }
        (2, true) => {
            let old = answers.next().and_then(Rows::first).and_then(|row| row.get(0));
            tx.value(input.amount());
            tx.value(input.amount());
            tx.text(|out| put_data(&input, c_id, old.unwrap_or_default(), out));
            of.op(tx, own.customer_update_data, &who);
        }
        _ => return,
    }
    for value in [c_id, input.c_d_id, input.c_w_id, input.d_id, input.w_id] {
        tx.int(value);
    }
    tx.value(input.amount());
    let name = |place: usize| named.get(place).and_then(|rows| rows.first()?.get(0));
    tx.text(|out| {
        out.extend_from_slice(name(0).unwrap_or(b"warehouse"));
        out.extend_from_slice(b"    ");
        out.extend_from_slice(name(1).unwrap_or(b"district"));
    });
    tx.op(own.history);
    tx.op(of.catalogue.commit);
}

/// Appends the new `c_data`: the payment followed by the old data, cut to [`DATA_BYTES`].
fn put_data(input: &Input, c_id: i64, old: &[u8], out: &mut Vec<u8>) {
    let Input { w_id, d_id, c_w_id, c_d_id, amount, .. } = input;
    let start = out.len();
    let (whole, cents) = (amount / 100, amount % 100);
    let news = format!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {whole}.{cents:02} | ");
    out.extend_from_slice(news.as_bytes());
    out.extend_from_slice(old);
    out.truncate(start + DATA_BYTES);
}
