use super::*;
use crate::aggregate::collector::Taking;
use crate::aggregate::grouping::GroupBy;
use crate::aggregate::order_by::OrderBy;
use crate::aggregate::summary::{Asked, Limit};
use crate::document::Document;
use crate::filter::Filter;
use crate::logs::format::Settings;
use std::io::Write as _;

static STOP: AtomicBool = AtomicBool::new(false);

struct Nobody;

impl Watcher for Nobody {
    fn progress(&mut self, _: u64, _: Option<u64>) {}
    fn document(&mut self, _: Document) {}
}

fn found(log: &str, filter: Filter) -> Result<Parallelism> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(log.as_bytes()).unwrap();
    let order_by = OrderBy::QueryTime;
    let limit = Limit { share: 1.0, count: usize::MAX };
    let request = Request {
        logs: vec![file.path().to_str().unwrap().to_owned()],
        format: None,
        settings: Settings::default(),
        threads: 1,
        taking: Taking { filter, order_by, keeps_text: false },
        asked: Asked { group_by: GroupBy::Fingerprint, order_by, limit, merges_names: false },
        follows: false,
    };
    derive(&request, &STOP, &mut Nobody)
}

fn slow(took_s: &str, statement: &str) -> String {
    format!(
        "# User@Host: u[u] @ h []  Id: 1\n# Query_time: {took_s}  Lock_time: 0.000000 Rows_sent: \
         0  Rows_examined: 0\nSET timestamp=1700000000;\n{statement};\n"
    )
}

/// The published example: three schemas, one of them half of the time.
fn three() -> String {
    [
        slow("791.619500", "update t set x = 1").replace("SET", "use a;\nSET"),
        slow("525.123100", "insert into b.t values (1)"),
        slow("203.464900", "delete from c.t where x = 2"),
        slow("999.000000", "select * from c.t"),
    ]
    .concat()
}

#[test]
fn writes_are_summed_by_the_schema_that_they_write_to() {
    let found = found(&three(), Filter::default()).unwrap();
    let schemas = found.schemas.unwrap();
    assert_eq!(format!("{:.2}", schemas.bound), "1.92");
    let told: Vec<_> = schemas.schemas.iter().map(|s| (&*s.name, s.count, s.cost)).collect();
    assert_eq!(told, [("a", 1, 791.6195), ("b", 1, 525.1231), ("c", 1, 203.4649)]);
    assert_eq!((schemas.cost, found.transactions, found.curves.len()), (Cost::Seconds, 0, 0));
    assert_eq!(found.logs.inputs[0].events, 4);
}

#[test]
fn what_is_missing_is_told_of_these_logs_too() {
    let mut log = three();
    for n in 0..200 {
        log += &slow(&format!("0.5{n:05}"), "update a.t set x = 1");
    }
    let logs = found(&log, Filter::default()).unwrap().logs;
    assert_eq!(logs.inputs[0].filtered, 0);
    let told: Vec<_> = logs.censored.iter().map(|c| (&*c.kind, c.value)).collect();
    assert_eq!(told, [("threshold", 0.5)]);
    let only = Filter { database: Some(b"nothing".to_vec()), ..Filter::default() };
    let filtered = found(&log, only).unwrap();
    assert!(filtered.schemas.is_none());
    assert_eq!(filtered.logs.inputs[0].filtered, filtered.logs.inputs[0].events);
    assert_eq!(filtered.logs.censored.len(), 1, "a filter hides nothing of the log's settings");
}

#[test]
fn maintenance_is_replicated_too() {
    let log = [slow("1.5", "optimize table b.t"), slow("1", "select * from a.t")].concat();
    let schemas = found(&log, Filter::default()).unwrap().schemas.unwrap();
    assert_eq!((&*schemas.schemas[0].name, schemas.total), ("b", 1.5));
}

#[test]
fn other_systems_replicate_otherwise() {
    let log = "2025-11-22 04:42:15.123 UTC [7] LOG:  duration: 1.500 ms  statement: select 1\n";
    let error = found(log, Filter::default()).unwrap_err();
    assert!(error.what.contains("MySQL and MariaDB only"), "{error}");
}
