//! The tables of `oltp`: sysbench's columns in each dialect.

use super::settings::Settings;
use dyno_core::workload::{Dialect, Table};

/// The definition of table `n` (1-based).
pub fn table(n: u64, settings: &Settings, dialect: Dialect) -> Table {
    let name = format!("sbtest{n}");
    let id = match dialect {
        Dialect::Sqlite => "INTEGER PRIMARY KEY",
        Dialect::Mysql => "INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY",
        Dialect::Postgres => "SERIAL NOT NULL",
        Dialect::Null => "INTEGER NOT NULL PRIMARY KEY",
    };
    let mut create = format!(
        "CREATE TABLE {name} (id {id}, k INTEGER DEFAULT 0 NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL)"
    );
    if !settings.table_options.is_empty() {
        create.push(' ');
        create.push_str(&settings.table_options);
    }
    Table {
        finish: finish(n, &name, settings.rows, dialect),
        name,
        columns: ["id", "k", "c", "pad"].map(str::to_owned).to_vec(),
        create,
        rows: settings.rows,
    }
}

/// SQL to run after loading. It does not gather statistics, which `dyno` does before the measurement.
fn finish(n: u64, name: &str, rows: u64, dialect: Dialect) -> Vec<String> {
    let index = format!("CREATE INDEX k_{n} ON {name} (k)");
    match dialect {
        // Building a primary key after loading is cheaper than row by row. The sequence must be set
        // past the loaded keys, or the first insert fails with a duplicate key.
        Dialect::Postgres => vec![
            format!("ALTER TABLE {name} ADD PRIMARY KEY (id)"),
            index,
            format!("SELECT setval(pg_get_serial_sequence('{name}', 'id'), {rows})"),
        ],
        Dialect::Mysql | Dialect::Sqlite | Dialect::Null => vec![index],
    }
}
