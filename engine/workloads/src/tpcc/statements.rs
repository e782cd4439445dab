//! The statements of the five transactions. [`Catalogue`] holds their indexes.
//!
//! Each statement belongs to one kind of transaction, whose name is the prefix of its class.

use super::schema;
use super::settings::{DISTRICTS, Mode, Settings};
use dyno_core::workload::{Dialect, Effect, Expect, Form, ParamType, Request};

const ID: ParamType = ParamType::Int;
const TEXT: ParamType = ParamType::Text;
const AMOUNT: ParamType = ParamType::Inferred(Form::Decimal);

/// The list of statements, and the index of each.
#[derive(Debug, Default)]
pub struct Catalogue {
    pub begin: u16,
    pub begin_read: u16,
    pub commit: u16,
    pub rollback: u16,
    pub new_order: NewOrder,
    pub payment: Payment,
    pub order_status: OrderStatus,
    pub delivery: Delivery,
    pub stock_level: StockLevel,
    pub statements: Vec<Request>,
}

#[derive(Debug, Default)]
pub struct NewOrder {
    pub warehouse: u16,
    pub customer: u16,
    pub district: u16,
    pub next_order: u16,
    pub order: u16,
    pub new_order: u16,
    pub item: u16,
    pub item_unused: u16,
    /// For district 1; the indexes for the other districts follow.
    pub stock: u16,
    pub stock_update: u16,
    pub line: u16,
}

#[derive(Debug, Default)]
pub struct Payment {
    pub warehouse_update: u16,
    pub warehouse: u16,
    pub district_update: u16,
    pub district: u16,
    /// Counts the customers of a name; in mode sysbench only.
    pub name_count: u16,
    pub by_name: u16,
    pub customer: u16,
    pub customer_data: u16,
    pub customer_update: u16,
    pub customer_update_data: u16,
    pub history: u16,
}

#[derive(Debug, Default)]
pub struct OrderStatus {
    /// Like [`Payment::name_count`].
    pub name_count: u16,
    pub by_name: u16,
    pub customer: u16,
    pub order: u16,
    pub lines: u16,
}

#[derive(Debug, Default)]
pub struct Delivery {
    pub oldest: u16,
    pub delete: u16,
    pub customer_of: u16,
    pub carrier: u16,
    pub lines: u16,
    pub sum: u16,
    pub customer: u16,
}

#[derive(Debug, Default)]
pub struct StockLevel {
    pub district: u16,
    pub count: u16,
}

impl Catalogue {
    pub fn new(settings: &Settings, dialect: Dialect) -> Self {
        let is_sysbench = settings.is_sysbench();
        let mut list = List { dialect, is_sysbench, statements: vec![] };
        let frame = |list: &mut List, class: &str, kind| list.add(class, kind, "", &[]);
        Self {
            begin: frame(&mut list, "begin", Effect::BeginWrite),
            begin_read: frame(&mut list, "begin", Effect::BeginRead),
            commit: frame(&mut list, "commit", Effect::Commit),
            rollback: frame(&mut list, "rollback", Effect::Rollback),
            new_order: new_order(&mut list, settings.mode),
            payment: payment(&mut list),
            order_status: order_status(&mut list),
            delivery: delivery(&mut list),
            stock_level: stock_level(&mut list),
            statements: list.statements,
        }
    }
}

/// Builds the list of statements.
struct List {
    dialect: Dialect,
    is_sysbench: bool,
    statements: Vec<Request>,
}

impl List {
    fn add(&mut self, class: &str, effect: Effect, sql: &str, params: &[ParamType]) -> u16 {
        // SQLite has one writer at a time and no row locks.
        let lock = if self.dialect == Dialect::Sqlite { "" } else { " FOR UPDATE" };
        let sql = sql.replace(" FOR_UPDATE", lock).replace("NOW", "CURRENT_TIMESTAMP");
        // The sysbench scripts read all orders of a customer to use the last one.
        let sql = sql.replace(" LIMIT_1", if self.is_sysbench { "" } else { " LIMIT 1" });
        let sql = if self.is_sysbench { renamed(&sql) } else { sql };
        self.statements.push(Request::new(class, effect, sql, params.to_vec()));
        (self.statements.len() - 1) as u16
    }

    fn write(&mut self, class: &str, sql: &str, params: &[ParamType]) -> u16 {
        self.add(class, Effect::Write, sql, params)
    }

    fn read(&mut self, class: &str, sql: &str, params: &[ParamType]) -> u16 {
        self.add(class, Effect::Read, sql, params)
    }

    /// Adds a read whose rows the driver returns to the workload.
    fn ask(&mut self, class: &str, sql: &str, params: &[ParamType]) -> u16 {
        let number = self.read(class, sql, params);
        self.statements[usize::from(number)].keeps = true;
        number
    }

    /// Makes the transaction fail unless the statement returns `rows` rows.
    fn expecting(&mut self, number: u16, rows: std::ops::RangeInclusive<u64>) -> u16 {
        // The null driver returns no rows.
        if self.dialect != Dialect::Null {
            self.statements[usize::from(number)].expect =
                Some(Expect { rows: Some(rows), affected: None });
        }
        number
    }

    /// Makes the transaction fail unless the statement returns one row.
    fn one(&mut self, number: u16) -> u16 {
        self.expecting(number, 1..=1)
    }
}

/// Replaces table names by those of the sysbench scripts. No column has the name of a table.
fn renamed(sql: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::with_capacity(sql.len() + 8);
    let mut rest = sql;
    while !rest.is_empty() {
        let (word, behind) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
        let (gap, further) = behind.split_at(behind.find(is_word).unwrap_or(behind.len()));
        out.push_str(schema::named(word).map_or(word, |relation| relation.name(true)));
        out.push_str(gap);
        rest = further;
    }
    out
}

/// Adds the reads of tax and customer: two statements, or the join of the sysbench scripts.
fn who_orders(list: &mut List) -> (u16, u16) {
    if list.is_sysbench {
        let both = list.read(
            "new_order_customer",
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
             WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
            &[ID; 3],
        );
        return (both, both);
    }
    let tax = "SELECT w_tax FROM warehouse WHERE w_id = ?";
    let customer = "SELECT c_discount, c_last, c_credit FROM customer \
                    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    (
        list.read("new_order_warehouse", tax, &[ID]),
        list.read("new_order_customer", customer, &[ID; 3]),
    )
}

/// Adds the search for customers by name and, in mode sysbench, the count of them before it.
fn customers_of_name(list: &mut List, kind: &str) -> (u16, u16) {
    let of_name = "FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?";
    let params = [ID, ID, TEXT];
    let count = match list.is_sysbench {
        true => list.read(
            &format!("{kind}_name_count"),
            &format!("SELECT COUNT(c_id) {of_name}"),
            &params,
        ),
        false => 0,
    };
    let sql = format!("SELECT c_id {of_name} ORDER BY c_first");
    let search = list.ask(&format!("{kind}_by_name"), &sql, &params);
    (count, list.expecting(search, 1..=u64::MAX))
}

fn new_order(list: &mut List, mode: Mode) -> NewOrder {
    let (warehouse, customer) = who_orders(list);
    let district = list.ask(
        "new_order_district",
        "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR_UPDATE",
        &[ID; 2],
    );
    let next_order = list.write(
        "new_order_next_order",
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
        &[ID; 2],
    );
    let order = list.write(
        "new_order_order",
        "INSERT INTO orders \
         (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
         VALUES (?, ?, ?, ?, NOW, NULL, ?, ?)",
        &[ID; 6],
    );
    let new_order = list.write(
        "new_order_new_order",
        "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
        &[ID; 3],
    );
    let item_sql = "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?";
    let item = list.ask("new_order_item", item_sql, &[ID]);
    let item_unused = list.read("new_order_item", item_sql, &[ID]);
    let stock = (1..=DISTRICTS).map(|d| {
        let sql = format!(
            "SELECT s_quantity, s_dist_{d:02}, s_data FROM stock \
             WHERE s_w_id = ? AND s_i_id = ? FOR_UPDATE"
        );
        list.ask("new_order_stock", &sql, &[ID; 2])
    });
    let stocks: Vec<u16> = stock.collect();
    for &number in [warehouse, customer, district, item].iter().chain(&stocks) {
        list.one(number);
    }
    // The item that does not exist, before a rollback.
    list.expecting(item_unused, 0..=0);
    let stock_sql = match mode {
        Mode::Faithful => {
            "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?"
        }
        Mode::Sysbench => "UPDATE stock SET s_quantity = ? WHERE s_w_id = ? AND s_i_id = ?",
    };
    let stock_params = if mode == Mode::Faithful { 5 } else { 3 };
    NewOrder {
        warehouse,
        customer,
        district,
        next_order,
        order,
        new_order,
        item,
        item_unused,
        stock: stocks[0],
        stock_update: list.write("new_order_stock_update", stock_sql, &vec![ID; stock_params]),
        line: list.write(
            "new_order_line",
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
             ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
             VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
            &[ID, ID, ID, ID, ID, ID, ID, AMOUNT, TEXT],
        ),
    }
}

fn payment(list: &mut List) -> Payment {
    let (name_count, by_name) = customers_of_name(list, "payment");
    let warehouse_update = list.write(
        "payment_warehouse_update",
        "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
        &[AMOUNT, ID],
    );
    let warehouse = list.ask(
        "payment_warehouse",
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse \
         WHERE w_id = ?",
        &[ID],
    );
    let district_update = list.write(
        "payment_district_update",
        "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
        &[AMOUNT, ID, ID],
    );
    let district = list.ask(
        "payment_district",
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
         WHERE d_w_id = ? AND d_id = ?",
        &[ID; 2],
    );
    let customer = list.ask(
        "payment_customer",
        "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
         c_zip, c_phone, c_credit_lim, c_discount, c_balance, c_since FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR_UPDATE",
        &[ID; 3],
    );
    let customer_data = list.ask(
        "payment_customer_data",
        "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        &[ID; 3],
    );
    for number in [warehouse, district, customer, customer_data] {
        list.one(number);
    }
    // The sysbench scripts do not count payments.
    let counted = if list.is_sysbench { "" } else { ", c_payment_cnt = c_payment_cnt + 1" };
    let paid = format!("c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?{counted}");
    let who = "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    Payment {
        name_count,
        warehouse_update,
        warehouse,
        district_update,
        district,
        by_name,
        customer,
        customer_data,
        customer_update: list.write(
            "payment_customer_update",
            &format!("UPDATE customer SET {paid} {who}"),
            &[AMOUNT, AMOUNT, ID, ID, ID],
        ),
        customer_update_data: list.write(
            "payment_customer_update",
            &format!("UPDATE customer SET {paid}, c_data = ? {who}"),
            &[AMOUNT, AMOUNT, TEXT, ID, ID, ID],
        ),
        history: list.write(
            "payment_history",
            "INSERT INTO history \
             (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES (?, ?, ?, ?, ?, NOW, ?, ?)",
            &[ID, ID, ID, ID, ID, AMOUNT, TEXT],
        ),
    }
}

fn order_status(list: &mut List) -> OrderStatus {
    let (name_count, by_name) = customers_of_name(list, "order_status");
    let customer = list.read(
        "order_status_customer",
        "SELECT c_balance, c_first, c_middle, c_last FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        &[ID; 3],
    );
    let order = list.ask(
        "order_status_order",
        "SELECT o_id, o_carrier_id, o_entry_d FROM orders \
         WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT_1",
        &[ID; 3],
    );
    let lines = list.read(
        "order_status_lines",
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
        &[ID; 3],
    );
    list.one(customer);
    list.expecting(order, 1..=u64::MAX);
    list.expecting(lines, 1..=15);
    OrderStatus { name_count, by_name, customer, order, lines }
}

fn delivery(list: &mut List) -> Delivery {
    let of_order = "WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
    let of_lines = "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    // May return no row: a district without undelivered orders is skipped.
    let oldest = list.ask(
        "delivery_oldest",
        "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
         ORDER BY no_o_id LIMIT 1 FOR_UPDATE",
        &[ID; 2],
    );
    let delete = list.write(
        "delivery_delete",
        "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
        &[ID; 3],
    );
    let customer_of = list.ask(
        "delivery_customer_of",
        &format!("SELECT o_c_id FROM orders {of_order}"),
        &[ID; 3],
    );
    let sum = list.ask(
        "delivery_sum",
        &format!("SELECT SUM(ol_amount) FROM order_line {of_lines}"),
        &[ID; 3],
    );
    list.one(customer_of);
    list.one(sum);
    Delivery {
        oldest,
        delete,
        customer_of,
        sum,
        carrier: list.write(
            "delivery_carrier",
            &format!("UPDATE orders SET o_carrier_id = ? {of_order}"),
            &[ID; 4],
        ),
        lines: list.write(
            "delivery_lines",
            &format!("UPDATE order_line SET ol_delivery_d = NOW {of_lines}"),
            &[ID; 3],
        ),
        customer: list.write(
            "delivery_customer",
            "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            &[AMOUNT, ID, ID, ID],
        ),
    }
}

fn stock_level(list: &mut List) -> StockLevel {
    let district = list.ask(
        "stock_level_district",
        "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
        &[ID; 2],
    );
    let count = list.read(
        "stock_level_count",
        "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? \
         AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
        &[ID; 6],
    );
    list.one(district);
    list.one(count);
    StockLevel { district, count }
}
