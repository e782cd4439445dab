//! The table and the requests of `kv`. [`Catalogue`] holds the requests' indexes.

use super::settings::Settings;
use dyno_core::request::{Store, Verb};
use dyno_core::workload::{Dialect, Effect, Request, Table};
use std::sync::Arc;

/// Name of the table, the same as YCSB's.
pub const TABLE: &str = "usertable";
/// Name of the key column, the same as YCSB's.
const KEY: &str = "ycsb_key";

/// The list of requests, and the index of each. The requests for further fields follow that for field 0.
#[derive(Debug, Default)]
pub struct Catalogue {
    pub begin: Option<u16>,
    pub commit: u16,
    pub read: u16,
    pub scan: u16,
    pub insert: u16,
    /// Update of field 0.
    pub update: u16,
    pub rmw_read: u16,
    /// Update of field 0 within a read-modify-write.
    pub rmw_update: u16,
    pub requests: Vec<Request>,
}

impl Catalogue {
    pub fn new(settings: &Settings) -> Self {
        let mut all = Self::default();
        let proportions = &settings.proportions;
        if settings.is_transactional && proportions.read_modify_write > 0.0 {
            all.begin = Some(all.add(Request::new("begin", Effect::BeginWrite, "", vec![])));
            all.commit = all.add(Request::new("commit", Effect::Commit, "", vec![]));
        }
        let store = Arc::new(store(settings));
        let request = |class, verb| Request::key_value(class, &store, verb);
        if proportions.read > 0.0 {
            all.read = all.add(request("read", Verb::Read));
        }
        if proportions.update > 0.0 {
            all.update = all.updates("update", &store);
        }
        if proportions.insert > 0.0 {
            all.insert = all.add(request("insert", Verb::Insert));
        }
        if proportions.scan > 0.0 {
            all.scan = all.add(request("scan", Verb::Scan));
        }
        if proportions.read_modify_write > 0.0 {
            all.rmw_read = all.add(request("rmw_read", Verb::Read));
            all.rmw_update = all.updates("rmw_update", &store);
        }
        all
    }

    fn add(&mut self, request: Request) -> u16 {
        self.requests.push(request);
        (self.requests.len() - 1) as u16
    }

    /// Adds one request per field, all of one class, and returns the first index.
    fn updates(&mut self, class: &str, store: &Arc<Store>) -> u16 {
        let first = self.requests.len() as u16;
        for field in 0..store.fields.len() as u16 {
            self.add(Request::key_value(class, store, Verb::Update(field)));
        }
        first
    }
}

fn store(settings: &Settings) -> Store {
    Store {
        name: TABLE.to_owned(),
        key: KEY.to_owned(),
        fields: (0..settings.fields).map(|n| format!("field{n}")).collect(),
    }
}

/// The table's definition: a key (24 characters are used) and text fields.
pub fn table(settings: &Settings, dialect: Dialect) -> Table {
    let Store { key: column, fields: names, .. } = store(settings);
    let fields: Vec<String> = names.iter().map(|name| format!("{name} TEXT")).collect();
    let later = dialect == Dialect::Postgres;
    let key = if later { "NOT NULL" } else { "NOT NULL PRIMARY KEY" };
    let create =
        format!("CREATE TABLE {TABLE} ({column} VARCHAR(64) {key}, {})", fields.join(", "));
    let options = &settings.table_options;
    Table {
        name: TABLE.to_owned(),
        columns: std::iter::once(column).chain(names).collect(),
        create: if options.is_empty() { create } else { format!("{create} {options}") },
        // PostgreSQL builds a key faster after loading than row by row.
        finish: match later {
            true => vec![format!("ALTER TABLE {TABLE} ADD PRIMARY KEY ({KEY})")],
            false => vec![],
        },
        rows: settings.records,
    }
}
