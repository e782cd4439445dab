//! New-Order: a customer orders 5 to 15 items, some of them from other warehouses. 1 % of transactions
//! request an item that does not exist, and roll back.
//!
//! Source: TPC Benchmark C, revision 5.11, clause 2.4.

use crate::tpcc::{Draws, Tpcc};
use dyno_core::random::rng::Rng;
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{Transaction, Value};

/// Price of an item if the driver does not return rows, cents.
const PRICE: i64 = 100;
/// Stock of an item if the driver does not return rows.
const STOCK: i64 = 50;

/// The input of the transaction.
struct Input {
    w_id: i64,
    d_id: i64,
    c_id: i64,
    lines: Vec<Line>,
    rolls_back: bool,
}

struct Line {
    item: i64,
    supplier: i64,
    quantity: i64,
}

impl Input {
    fn draw(of: &Tpcc, draws: &mut Draws) -> Self {
        let Draws { rng, constants, w_id, d_id } = draws;
        let (w_id, d_id) = (*w_id, *d_id);
        let settings = &of.settings;
        let c_id = constants.customer(settings.customers, rng) as i64;
        let count = rng.between(5, 15);
        let rolls_back = rng.below(100) == 0;
        let lines = (0..count).map(|_| Line {
            item: constants.item(settings.items, rng) as i64,
            supplier: supplier(of, w_id, rng),
            quantity: rng.between(1, 10) as i64,
        });
        Self { w_id, d_id, c_id, lines: lines.collect(), rolls_back }
    }

    /// Number of lines whose item exists.
    fn valid(&self) -> usize {
        self.lines.len() - usize::from(self.rolls_back)
    }
}

/// The warehouse of a line, in 1 % of cases another one than `home`.
fn supplier(of: &Tpcc, home: i64, rng: &mut Rng) -> i64 {
    if of.has_remotes() && rng.below(100) == 0 { of.other_warehouse(home, rng) } else { home }
}

/// The first stage, up to the number of the order.
pub fn begin(of: &Tpcc, draws: &mut Draws, tx: &mut Transaction) {
    let input = Input::draw(of, draws);
    let own = &of.catalogue.new_order;
    let (w_id, d_id) = (input.w_id, input.d_id);
    tx.op(of.catalogue.begin);
    if of.is_faithful() {
        of.op(tx, own.warehouse, &[w_id]);
    }
    of.op(tx, own.customer, &[w_id, d_id, input.c_id]);
    of.op(tx, own.district, &[w_id, d_id]);
    of.op(tx, own.next_order, &[w_id, d_id]);
}

/// Stage n writes the order (n = 1) or its line n - 1, and reads the next line's item and stock.
pub fn more(of: &Tpcc, draws: &mut Draws, stage: u32, answers: &[Rows], tx: &mut Transaction) {
    let input = Input::draw(of, draws);
    let own = &of.catalogue.new_order;
    let done = stage as usize - 1;
    let (w_id, d_id) = (input.w_id, input.d_id);
    let first = answers.first().and_then(Rows::first);
    let o_id = first.and_then(|row| row.int(0)).unwrap_or(of.settings.customers as i64 + 1);
    if done == 0 {
        let is_local = input.lines.iter().all(|line| line.supplier == w_id);
        let lines = input.lines.len() as i64;
        of.op(tx, own.order, &[o_id, d_id, w_id, input.c_id, lines, i64::from(is_local)]);
        of.op(tx, own.new_order, &[o_id, d_id, w_id]);
    } else {
        let found = &answers[2 * done - 1..=2 * done];
        put_line(of, &input, done, o_id, found, tx);
    }
    if done < input.valid() {
        let line = &input.lines[done];
        of.op(tx, own.item, &[line.item]);
        of.op(tx, own.stock + (d_id - 1) as u16, &[line.supplier, line.item]);
    } else if input.rolls_back {
        of.op(tx, own.item_unused, &[of.settings.items as i64 + 1]);
        tx.op(of.catalogue.rollback);
    } else {
        tx.op(of.catalogue.commit);
    }
}

/// Updates the stock for line `number` (from 1) and inserts the line. `found` has the rows of item and
/// stock.
fn put_line(
    of: &Tpcc,
    input: &Input,
    number: usize,
    o_id: i64,
    found: &[Rows],
    tx: &mut Transaction,
) {
    let own = &of.catalogue.new_order;
    let line = &input.lines[number - 1];
    let (item, stock) = (found[0].first(), found[1].first());
    let price = item.and_then(|row| row.decimal(0, 2)).unwrap_or(PRICE);
    let quantity = stock.and_then(|row| row.int(0)).unwrap_or(STOCK);
    let left = quantity - line.quantity;
    tx.int(if left >= 10 { left } else { left + 91 });
    if of.is_faithful() {
        tx.int(line.quantity);
        tx.int(i64::from(line.supplier != input.w_id));
    }
    of.op(tx, own.stock_update, &[line.supplier, line.item]);
    let (w_id, d_id, number) = (input.w_id, input.d_id, number as i64);
    for value in [o_id, d_id, w_id, number, line.item, line.supplier, line.quantity] {
        tx.int(value);
    }
    tx.value(Value::Decimal { unscaled: price * line.quantity, scale: 2 });
    let info = stock.and_then(|row| row.get(1)).unwrap_or(&[b'x'; 24]);
    tx.text(|out| out.extend_from_slice(info));
    tx.op(own.line);
}
