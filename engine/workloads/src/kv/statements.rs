//! The table and the statements of `kv`, the same in all dialects. Their order is that in which
//! [`Catalogue`] numbers them.

use super::settings::Settings;
use dyno_core::workload::{Dialect, Kind, ParamType, Statement, Table};

/// Name of the table, as YCSB's.
pub const TABLE: &str = "usertable";

/// Where the statements stand in the list; those of fields are followed by the next fields'.
#[derive(Debug, Default)]
pub struct Catalogue {
    pub begin: Option<u16>,
    pub commit: u16,
    pub read: u16,
    pub scan: u16,
    pub insert: u16,
    /// Updates of field 0.
    pub update: u16,
    pub rmw_read: u16,
    /// Updates of field 0 within a read-modify-write.
    pub rmw_update: u16,
    pub statements: Vec<Statement>,
}

impl Catalogue {
    pub fn new(settings: &Settings) -> Self {
        let mut all = Self::default();
        let proportions = &settings.proportions;
        if settings.is_transactional && proportions.read_modify_write > 0.0 {
            all.begin = Some(all.add("begin", Kind::BeginWrite, String::new(), vec![]));
            all.commit = all.add("commit", Kind::Commit, String::new(), vec![]);
        }
        let fields: Vec<String> = (0..settings.fields).map(|n| format!("field{n}")).collect();
        let list = fields.join(", ");
        let read = format!("SELECT {list} FROM {TABLE} WHERE ycsb_key = ?");
        let key = || vec![ParamType::Text];
        if proportions.read > 0.0 {
            all.read = all.add("read", Kind::Read, read.clone(), key());
        }
        if proportions.update > 0.0 {
            all.update = all.updates("update", &fields);
        }
        if proportions.insert > 0.0 {
            let marks = vec!["?"; fields.len() + 1].join(", ");
            let sql = format!("INSERT INTO {TABLE} (ycsb_key, {list}) VALUES ({marks})");
            all.insert =
                all.add("insert", Kind::Write, sql, vec![ParamType::Text; fields.len() + 1]);
        }
        if proportions.scan > 0.0 {
            let sql = format!(
                "SELECT ycsb_key, {list} FROM {TABLE} WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?"
            );
            let params = vec![ParamType::Text, ParamType::BigInt];
            all.scan = all.add("scan", Kind::Read, sql, params);
        }
        if proportions.read_modify_write > 0.0 {
            all.rmw_read = all.add("rmw_read", Kind::Read, read, key());
            all.rmw_update = all.updates("rmw_update", &fields);
        }
        all
    }

    fn add(&mut self, class: &str, kind: Kind, sql: String, params: Vec<ParamType>) -> u16 {
        self.statements.push(Statement::new(class, kind, sql, params));
        (self.statements.len() - 1) as u16
    }

    /// One statement a field, all of one class.
    fn updates(&mut self, class: &str, fields: &[String]) -> u16 {
        let first = self.statements.len() as u16;
        for field in fields {
            let sql = format!("UPDATE {TABLE} SET {field} = ? WHERE ycsb_key = ?");
            self.add(class, Kind::Write, sql, vec![ParamType::Text; 2]);
        }
        first
    }
}

/// The table: keys of 24 characters, and text.
pub fn table(settings: &Settings, dialect: Dialect) -> Table {
    let mut columns = vec!["ycsb_key".to_owned()];
    columns.extend((0..settings.fields).map(|n| format!("field{n}")));
    let fields: Vec<String> = columns[1..].iter().map(|name| format!("{name} TEXT")).collect();
    let later = dialect == Dialect::Postgres;
    let key = if later { "NOT NULL" } else { "NOT NULL PRIMARY KEY" };
    let create =
        format!("CREATE TABLE {TABLE} (ycsb_key VARCHAR(64) {key}, {})", fields.join(", "));
    let options = &settings.table_options;
    Table {
        name: TABLE.to_owned(),
        columns,
        create: if options.is_empty() { create } else { format!("{create} {options}") },
        // A key sorted once over the loaded rows is cheaper than one kept up row by row.
        finish: match later {
            true => vec![format!("ALTER TABLE {TABLE} ADD PRIMARY KEY (ycsb_key)")],
            false => vec![],
        },
        rows: settings.records,
    }
}
