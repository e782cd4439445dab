//! Rows of the initial population, as pure functions of (seed, table, row number).
//!
//! Source: TPC Benchmark C, revision 5.11, clause 4.3.3. With fewer than 3,000 customers per district,
//! all tables that depend on orders shrink in proportion, so that the consistency conditions hold for
//! any size.

use super::random::{
    C_LAST_LOADED, nurand, put_a_string, put_data, put_last_name, put_letters, put_n_string,
    put_padding, put_zip,
};
use super::schema::{RELATIONS, Relation};
use super::settings::{DISTRICTS, Settings};
use dyno_core::random::rng::Rng;
use dyno_core::workload::RowSink;
use std::ops::Range;
use std::sync::OnceLock;

/// Timestamp of all loaded rows, which must not depend on the clock.
const LOADED_AT: &[u8] = b"2020-01-01 00:00:00";
/// Initial payment of each customer, cents.
const PAID: i64 = 1_000;
/// Separates the random streams of orders' numbers of lines from those of the lines.
const LINES: u64 = 1 << 32;
/// Separates the random streams of the permutation of a district's customers.
const PERMUTATION: u64 = 2 << 32;

/// Generates the rows of one data set.
pub struct Loader {
    settings: Settings,
    seed: u64,
    /// Number of order lines before each district, and in total.
    lines_before: OnceLock<Vec<u64>>,
}

impl Loader {
    pub fn new(settings: &Settings, seed: u64) -> Self {
        Self { settings: settings.clone(), seed, lines_before: OnceLock::new() }
    }

    /// Number of order lines of all orders.
    pub fn lines(&self) -> u64 {
        *self.lines_before().last().unwrap_or(&0)
    }

    /// Prefix sums of order lines by district, computed once: an order has 5 to 15 lines, so that the
    /// position of its lines is a sum over all earlier orders.
    fn lines_before(&self) -> &[u64] {
        self.lines_before.get_or_init(|| {
            let mut sum = 0;
            let districts = 0..self.settings.districts();
            let before = districts.map(|district| {
                let orders = 0..self.settings.customers;
                let before = sum;
                sum += orders.map(|order| self.lines_of(district, order)).sum::<u64>();
                before
            });
            let mut before: Vec<u64> = before.collect();
            before.push(sum);
            before
        })
    }

    /// Number of lines of an order; both numbers are 0-based, `district` among all districts.
    fn lines_of(&self, district: u64, order: u64) -> u64 {
        let row = district * self.settings.customers + order;
        Rng::for_row(self.seed, LINES, row).between(5, 15)
    }

    /// Writes rows `rows` (0-based) of table number `table` to `sink`.
    pub fn rows(&self, table: usize, rows: Range<u64>, sink: &mut dyn RowSink) {
        let relation = RELATIONS[table];
        let is_padded = self.settings.is_sysbench();
        let mut writer = Writer { sink, text: Vec::new(), is_padded };
        if relation == Relation::OrderLine {
            return self.order_lines(table as u64, rows, &mut writer);
        }
        for row in rows {
            let mut rng = Rng::for_row(self.seed, table as u64, row);
            match relation {
                Relation::Item => item(row, &mut rng, &mut writer),
                Relation::Warehouse => self.warehouse(row, &mut rng, &mut writer),
                Relation::District => self.district(row, &mut rng, &mut writer),
                Relation::Stock => self.stock(row, &mut rng, &mut writer),
                Relation::Customer => self.customer(row, &mut rng, &mut writer),
                Relation::History => self.history(row, &mut rng, &mut writer),
                Relation::Orders => self.order(row, &mut rng, &mut writer),
                Relation::NewOrder => self.new_order(row, &mut writer),
                Relation::OrderLine => unreachable!("written above"),
            }
            writer.sink.end_row();
        }
    }

    fn warehouse(&self, row: u64, rng: &mut Rng, to: &mut Writer<'_>) {
        to.int(row + 1);
        to.name(rng);
        to.address(rng);
        to.share(2_000, rng);
        let customers = (DISTRICTS * self.settings.customers) as i64;
        to.sink.decimal(customers * PAID, 2);
    }

    fn district(&self, row: u64, rng: &mut Rng, to: &mut Writer<'_>) {
        to.int(row % DISTRICTS + 1);
        to.int(row / DISTRICTS + 1);
        to.name(rng);
        to.address(rng);
        to.share(2_000, rng);
        to.sink.decimal(self.settings.customers as i64 * PAID, 2);
        to.int(self.settings.customers + 1);
    }

    fn stock(&self, row: u64, rng: &mut Rng, to: &mut Writer<'_>) {
        to.int(row % self.settings.items + 1);
        to.int(row / self.settings.items + 1);
        to.int(rng.between(10, 100));
        for _ in 0..DISTRICTS {
            to.filling(24, 24, rng);
        }
        (0..3).for_each(|_| to.int(0));
        match to.is_padded {
            true => to.filling(26, 50, rng),
            false => to.text(|out| put_data(rng, out)),
        }
    }

    fn customer(&self, row: u64, rng: &mut Rng, to: &mut Writer<'_>) {
        let (number, district) = (row % self.settings.customers, row / self.settings.customers);
        to.int(number + 1);
        to.int(district % DISTRICTS + 1);
        to.int(district / DISTRICTS + 1);
        match to.is_padded {
            true => to.lettered("first-", 2, 10, rng),
            false => to.a_string(8, 16, rng),
        }
        to.sink.text(b"OE");
        let names = self.settings.names();
        let name = match number < names {
            true => number,
            false => nurand(255, C_LAST_LOADED, 0, names - 1, rng),
        };
        to.text(|out| put_last_name(name, out));
        to.address(rng);
        to.text(|out| put_n_string(16, rng, out));
        to.sink.text(LOADED_AT);
        to.sink.text(if rng.below(10) == 0 { b"BC" } else { b"GC" });
        to.sink.decimal(5_000_000, 2);
        to.share(5_000, rng);
        to.sink.decimal(-PAID, 2);
        to.sink.decimal(PAID, 2);
        to.int(1);
        to.int(0);
        to.filling(300, 500, rng);
    }

    fn history(&self, row: u64, rng: &mut Rng, to: &mut Writer<'_>) {
        let (number, district) = (row % self.settings.customers, row / self.settings.customers);
        let (d_id, w_id) = (district % DISTRICTS + 1, district / DISTRICTS + 1);
        for id in [number + 1, d_id, w_id, d_id, w_id] {
            to.int(id);
        }
        to.sink.text(LOADED_AT);
        to.sink.decimal(PAID, 2);
        to.filling(12, 24, rng);
    }

    fn order(&self, row: u64, rng: &mut Rng, to: &mut Writer<'_>) {
        let (order, district) = (row % self.settings.customers, row / self.settings.customers);
        to.int(order + 1);
        to.int(district % DISTRICTS + 1);
        to.int(district / DISTRICTS + 1);
        to.int(self.customer_of(district, order));
        to.sink.text(LOADED_AT);
        match order < self.settings.delivered() {
            true => to.int(rng.between(1, 10)),
            false => to.sink.null(),
        }
        to.int(self.lines_of(district, order));
        to.int(1);
    }

    /// The customer of an order: a random permutation per district, so that each customer has one order.
    /// A Feistel network of 4 rounds permutes the next larger power of 4; cycle walking restricts it to
    /// the customers.
    fn customer_of(&self, district: u64, order: u64) -> u64 {
        let customers = self.settings.customers;
        let half_bits = (u64::BITS - (customers - 1).leading_zeros()).div_ceil(2);
        let mask = (1_u64 << half_bits) - 1;
        let mut place = order;
        loop {
            let (mut left, mut right) = (place >> half_bits, place & mask);
            for round in 0..4 {
                let key = (district * 4 + round) << 16 | right;
                let mixed = Rng::for_row(self.seed, PERMUTATION, key).u64() & mask;
                (left, right) = (right, left ^ mixed);
            }
            place = left << half_bits | right;
            if place < customers {
                return place + 1;
            }
        }
    }

    fn new_order(&self, row: u64, to: &mut Writer<'_>) {
        let waiting = self.settings.customers - self.settings.delivered();
        let (order, district) = (row % waiting, row / waiting);
        to.int(self.settings.delivered() + order + 1);
        to.int(district % DISTRICTS + 1);
        to.int(district / DISTRICTS + 1);
    }

    fn order_lines(&self, table: u64, rows: Range<u64>, to: &mut Writer<'_>) {
        let before = self.lines_before();
        let mut district = (before.partition_point(|&lines| lines <= rows.start) - 1) as u64;
        let (mut order, mut at) = (0, before[district as usize]);
        let mut row = rows.start;
        while row < rows.end {
            let lines = self.lines_of(district, order);
            while row < rows.end && row < at + lines {
                let mut rng = Rng::for_row(self.seed, table, row);
                self.order_line(district, order, row - at, &mut rng, to);
                to.sink.end_row();
                row += 1;
            }
            at += lines;
            order += 1;
            if order == self.settings.customers {
                (order, district) = (0, district + 1);
            }
        }
    }

    fn order_line(&self, district: u64, order: u64, line: u64, rng: &mut Rng, to: &mut Writer<'_>) {
        let is_delivered = order < self.settings.delivered();
        to.int(order + 1);
        to.int(district % DISTRICTS + 1);
        to.int(district / DISTRICTS + 1);
        to.int(line + 1);
        to.int(rng.between(1, self.settings.items));
        to.int(district / DISTRICTS + 1);
        match is_delivered {
            true => to.sink.text(LOADED_AT),
            false => to.sink.null(),
        }
        to.int(5);
        let amount = if is_delivered { 0 } else { rng.between(1, 999_999) };
        to.sink.decimal(amount as i64, 2);
        to.filling(24, 24, rng);
    }
}

fn item(row: u64, rng: &mut Rng, to: &mut Writer<'_>) {
    to.int(row + 1);
    if to.is_padded {
        return item_of_scripts(rng, to);
    }
    to.int(rng.between(1, 10_000));
    to.a_string(14, 24, rng);
    to.sink.decimal(rng.between(100, 10_000) as i64, 2);
    to.text(|out| put_data(rng, out));
}

/// An item with the names and data of the sysbench scripts, which contain its numbers.
fn item_of_scripts(rng: &mut Rng, to: &mut Writer<'_>) {
    let (image, price) = (rng.between(1, 10_000), rng.between(1_000_000, 100_999_999));
    let (whole, fraction) = (price / 1_000_000, price % 1_000_000);
    let mut name = format!("item-{image}-{whole}.{fraction:06}-").into_bytes();
    put_letters(5, rng, &mut name);
    to.int(image);
    to.sink.text(&name[..name.len().min(24)]);
    to.sink.decimal((price / 10_000) as i64, 2);
    to.text(|out| {
        out.extend_from_slice(b"data-");
        out.extend_from_slice(&name);
        out.push(b'-');
        put_letters(5, rng, out);
        out.truncate(50);
    });
}

/// A row sink with a text buffer.
struct Writer<'a> {
    sink: &'a mut dyn RowSink,
    text: Vec<u8>,
    /// Whether text follows the sysbench scripts: padding with one character, and few random letters.
    is_padded: bool,
}

impl Writer<'_> {
    fn int(&mut self, value: u64) {
        self.sink.int(value as i64);
    }

    fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.text.clear();
        write(&mut self.text);
        self.sink.text(&self.text);
    }

    fn a_string(&mut self, low: u64, high: u64, rng: &mut Rng) {
        self.text(|out| put_a_string(low, high, rng, out));
    }

    /// Writes `word` and `low` to `high` random letters.
    fn lettered(&mut self, word: &str, low: u64, high: u64, rng: &mut Rng) {
        self.text(|out| {
            out.extend_from_slice(word.as_bytes());
            put_letters(rng.between(low, high), rng, out);
        });
    }

    /// Writes filler text of `low` to `high` characters.
    fn filling(&mut self, low: u64, high: u64, rng: &mut Rng) {
        match self.is_padded {
            true => self.text(|out| put_padding(low, high, rng, out)),
            false => self.a_string(low, high, rng),
        }
    }

    fn name(&mut self, rng: &mut Rng) {
        match self.is_padded {
            true => self.lettered("name-", 5, 5, rng),
            false => self.a_string(6, 10, rng),
        }
    }

    /// Writes a tax or discount from 0 to `most`, in units of 0.0001; the sysbench scripts use multiples
    /// of 0.01.
    fn share(&mut self, most: u64, rng: &mut Rng) {
        let grain = if self.is_padded { 100 } else { 1 };
        self.sink.decimal((rng.between(0, most / grain) * grain) as i64, 4);
    }

    /// Writes two streets, a city, a state and a ZIP code.
    fn address(&mut self, rng: &mut Rng) {
        if self.is_padded {
            for word in ["street1-", "street2-", "city-"] {
                self.lettered(word, 10, 10, rng);
            }
            self.lettered("", 2, 2, rng);
            return self.text(|out| {
                out.extend_from_slice(b"zip-");
                put_n_string(5, rng, out);
            });
        }
        for _ in 0..3 {
            self.a_string(10, 20, rng);
        }
        self.a_string(2, 2, rng);
        self.text(|out| put_zip(rng, out));
    }
}
