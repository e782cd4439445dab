//! Reads a log from a file, as the command `digest` does.

use dyno_digest::aggregate::collector::Taking;
use dyno_digest::aggregate::grouping::GroupBy;
use dyno_digest::aggregate::order_by::OrderBy;
use dyno_digest::aggregate::summary::{Asked, Limit};
use dyno_digest::digest::digest;
use dyno_digest::document::Document;
use dyno_digest::filter::Filter;
use dyno_digest::logs::format::Settings;
use dyno_digest::request::{Request, Watcher};
use std::io::Write;
use std::sync::atomic::AtomicBool;

static STOP: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct Keeps(Option<Document>);

impl Watcher for Keeps {
    fn progress(&mut self, _bytes: u64, _bytes_total: Option<u64>) {}

    fn document(&mut self, document: Document) {
        self.0 = Some(document);
    }
}

/// The document of a log, with at most ten classes.
pub fn read(log: &str) -> Document {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(log.as_bytes()).unwrap();
    let order_by = OrderBy::QueryTime;
    let request = Request {
        logs: vec![file.path().to_str().unwrap().to_owned()],
        format: None,
        settings: Settings::default(),
        threads: 2,
        taking: Taking { filter: Filter::default(), order_by, keeps_text: false },
        asked: Asked {
            group_by: GroupBy::Fingerprint,
            order_by,
            limit: Limit { share: 1.0, count: 10 },
            merges_names: false,
        },
        follows: false,
    };
    let mut kept = Keeps::default();
    digest(&request, &STOP, &mut kept).unwrap();
    kept.0.unwrap()
}
