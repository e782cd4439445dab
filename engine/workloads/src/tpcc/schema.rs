//! The nine tables: the specification's columns in each dialect, and the indexes.
//!
//! Source: TPC Benchmark C, revision 5.11, clause 1.3.

use super::settings::{DISTRICTS, Settings};
use dyno_core::workload::{Dialect, Table};

/// The tables in order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Item,
    Warehouse,
    District,
    Stock,
    Customer,
    History,
    Orders,
    NewOrder,
    OrderLine,
}

pub const RELATIONS: [Relation; 9] = [
    Relation::Item,
    Relation::Warehouse,
    Relation::District,
    Relation::Stock,
    Relation::Customer,
    Relation::History,
    Relation::Orders,
    Relation::NewOrder,
    Relation::OrderLine,
];

/// The table with this name in the specification, if there is one.
pub fn named(word: &str) -> Option<Relation> {
    RELATIONS.into_iter().find(|relation| relation.name(false) == word)
}

const ITEM: &str = "i_id INTEGER NOT NULL, i_im_id INTEGER, i_name VARCHAR(24), \
                    i_price DECIMAL(5,2), i_data VARCHAR(50)";
const WAREHOUSE: &str = "w_id INTEGER NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), \
                         w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), \
                         w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2)";
const DISTRICT: &str = "d_id INTEGER NOT NULL, d_w_id INTEGER NOT NULL, d_name VARCHAR(10), \
                        d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20), \
                        d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), \
                        d_next_o_id INTEGER";
const STOCK: &str = "s_i_id INTEGER NOT NULL, s_w_id INTEGER NOT NULL, s_quantity INTEGER, \
                     s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24), \
                     s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), \
                     s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24), \
                     s_dist_10 CHAR(24), s_ytd INTEGER, s_order_cnt INTEGER, \
                     s_remote_cnt INTEGER, s_data VARCHAR(50)";
const CUSTOMER: &str = "c_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_w_id INTEGER NOT NULL, \
                        c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), \
                        c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), \
                        c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), c_since TIME_TYPE, \
                        c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4), \
                        c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), \
                        c_payment_cnt INTEGER, c_delivery_cnt INTEGER, c_data VARCHAR(500)";
const HISTORY: &str = "h_c_id INTEGER, h_c_d_id INTEGER, h_c_w_id INTEGER, h_d_id INTEGER, \
                       h_w_id INTEGER, h_date TIME_TYPE, h_amount DECIMAL(6,2), h_data VARCHAR(24)";
const ORDERS: &str = "o_id INTEGER NOT NULL, o_d_id INTEGER NOT NULL, o_w_id INTEGER NOT NULL, \
                      o_c_id INTEGER, o_entry_d TIME_TYPE, o_carrier_id INTEGER, \
                      o_ol_cnt INTEGER, o_all_local INTEGER";
const NEW_ORDER: &str =
    "no_o_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL, no_w_id INTEGER NOT NULL";
const ORDER_LINE: &str = "ol_o_id INTEGER NOT NULL, ol_d_id INTEGER NOT NULL, \
                          ol_w_id INTEGER NOT NULL, ol_number INTEGER NOT NULL, ol_i_id INTEGER, \
                          ol_supply_w_id INTEGER, ol_delivery_d TIME_TYPE, ol_quantity INTEGER, \
                          ol_amount DECIMAL(6,2), ol_dist_info CHAR(24)";

impl Relation {
    /// The table's name in the specification or in the sysbench scripts, which number sets of tables.
    pub fn name(self, is_sysbench: bool) -> &'static str {
        if is_sysbench {
            return match self {
                Self::Item => "item1",
                Self::Warehouse => "warehouse1",
                Self::District => "district1",
                Self::Stock => "stock1",
                Self::Customer => "customer1",
                Self::History => "history1",
                Self::Orders => "orders1",
                Self::NewOrder => "new_orders1",
                Self::OrderLine => "order_line1",
            };
        }
        match self {
            Self::Item => "item",
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Stock => "stock",
            Self::Customer => "customer",
            Self::History => "history",
            Self::Orders => "orders",
            Self::NewOrder => "new_order",
            Self::OrderLine => "order_line",
        }
    }

    /// The columns with their types.
    fn columns(self) -> &'static str {
        match self {
            Self::Item => ITEM,
            Self::Warehouse => WAREHOUSE,
            Self::District => DISTRICT,
            Self::Stock => STOCK,
            Self::Customer => CUSTOMER,
            Self::History => HISTORY,
            Self::Orders => ORDERS,
            Self::NewOrder => NEW_ORDER,
            Self::OrderLine => ORDER_LINE,
        }
    }

    /// The columns of the primary key; empty for `history`, which has none.
    fn key(self) -> &'static str {
        match self {
            Self::Item => "i_id",
            Self::Warehouse => "w_id",
            Self::District => "d_w_id, d_id",
            Self::Stock => "s_w_id, s_i_id",
            Self::Customer => "c_w_id, c_d_id, c_id",
            Self::History => "",
            Self::Orders => "o_w_id, o_d_id, o_id",
            Self::NewOrder => "no_w_id, no_d_id, no_o_id",
            Self::OrderLine => "ol_w_id, ol_d_id, ol_o_id, ol_number",
        }
    }

    /// Names and columns of the secondary indexes. With `has_foreign`, they include the indexes of the
    /// sysbench scripts' foreign keys: sessions disable the checks, but MySQL and MariaDB maintain these
    /// indexes.
    fn indexes(self, has_foreign: bool) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Customer => &[("idx_customer", "c_w_id, c_d_id, c_last, c_first")],
            Self::Orders => &[("idx_orders", "o_w_id, o_d_id, o_c_id, o_id")],
            Self::History if has_foreign => &[
                ("idx_history_c", "h_c_w_id, h_c_d_id, h_c_id"),
                ("idx_history_d", "h_w_id, h_d_id"),
            ],
            Self::OrderLine if has_foreign => &[("idx_order_line", "ol_supply_w_id, ol_i_id")],
            Self::Stock if has_foreign => &[("idx_stock", "s_i_id")],
            _ => &[],
        }
    }

    /// Number of loaded rows. `lines` is the number of order lines of all orders.
    fn rows(self, settings: &Settings, lines: u64) -> u64 {
        let customers = settings.districts() * settings.customers;
        match self {
            Self::Item => settings.items,
            Self::Warehouse => settings.warehouses,
            Self::District => settings.warehouses * DISTRICTS,
            Self::Stock => settings.warehouses * settings.items,
            Self::Customer | Self::History | Self::Orders => customers,
            Self::NewOrder => settings.districts() * (settings.customers - settings.delivered()),
            Self::OrderLine => lines,
        }
    }
}

/// The definitions of all tables, in order of creation.
pub fn tables(settings: &Settings, dialect: Dialect, lines: u64) -> Vec<Table> {
    RELATIONS.iter().map(|&relation| table(relation, settings, dialect, lines)).collect()
}

fn table(relation: Relation, settings: &Settings, dialect: Dialect, lines: u64) -> Table {
    let (name, key) = (relation.name(settings.is_sysbench()), relation.key());
    // PostgreSQL builds a key faster after loading than row by row.
    let key_later = dialect == Dialect::Postgres;
    let moment = if dialect == Dialect::Postgres { "TIMESTAMP" } else { "DATETIME" };
    let mut create = format!("CREATE TABLE {name} ({}", relation.columns());
    if !key.is_empty() && !key_later {
        create.push_str(&format!(", PRIMARY KEY ({key})"));
    }
    create.push(')');
    if !settings.table_options.is_empty() {
        create.push(' ');
        create.push_str(&settings.table_options);
    }
    let mut finish = vec![];
    if !key.is_empty() && key_later {
        finish.push(format!("ALTER TABLE {name} ADD PRIMARY KEY ({key})"));
    }
    let has_foreign = settings.is_sysbench() && dialect == Dialect::Mysql;
    let index = |(index, columns): &(_, _)| format!("CREATE INDEX {index} ON {name} ({columns})");
    finish.extend(relation.indexes(has_foreign).iter().map(index));
    Table {
        name: name.to_owned(),
        columns: column_names(relation.columns()),
        create: create.replace("TIME_TYPE", moment),
        finish,
        rows: relation.rows(settings, lines),
    }
}

/// The first word of each definition. Definitions are separated by `, `, which types do not contain.
fn column_names(columns: &str) -> Vec<String> {
    columns.split(", ").filter_map(|column| column.split(' ').next()).map(str::to_owned).collect()
}
