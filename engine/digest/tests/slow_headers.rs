//! A header of a slow log that is not understood has its place in the document, which `--strict` looks at.

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

fn read(log: &str) -> Document {
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

fn event(user_line: &str, seconds: &str) -> String {
    format!(
        "# Time: 2025-11-22T04:42:15.000000Z\n{user_line}\n\
         # Query_time: {seconds}  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 9\n\
         SET timestamp=1763786531;\nselect * from t where id = 7;\n"
    )
}

#[test]
fn no_time_is_lost_with_a_header_and_its_strange_line_has_a_place() {
    let usual = "# User@Host: app[app] @ web1 [10.0.0.1]  Id:     5";
    let strange = "# User@Host: app at home";
    let more = format!("{usual}  Tenant: 7");
    let log = [usual, &more, strange].map(|line| event(line, "1349.0")).concat();
    let document = read(&log);
    let time = document.overall.query_time.as_ref().unwrap();
    assert_eq!((document.overall.count, time.sum), (3, 3.0 * 1349.0));
    let input = &document.inputs[0];
    assert_eq!((input.events, input.pieces_not_understood), (3, 1));
    assert_eq!(input.bytes_not_understood, strange.len() as u64 + 1);
    let place = &input.not_understood[0];
    assert_eq!((place.offset, place.line), (log.find(strange).unwrap() as u64, Some(12)));
}
