//! Classes of whole logs: the weights of a sampled log, and cursors, plans, sorts and groups in MongoDB's
//! log.

mod reading;

use dyno_digest::document::Document;
use std::collections::BTreeMap;

/// The document of a log without bytes that are not understood.
fn read(log: &str) -> Document {
    let document = reading::read(log);
    assert_eq!(document.inputs[0].pieces_not_understood, 0, "{:?}", document.inputs[0]);
    document
}

#[test]
fn bytes_of_statements_are_of_all_that_a_sampled_log_stands_for() {
    let event = |n: u32| {
        format!(
            "# Time: 2026-11-01T10:00:0{n}.123456Z\n# User@Host: app[app] @ web1 []  Id: 7\n\
             # Query_time: 0.50{n}000  Lock_time: 0.000100  Rows_sent: 10  Rows_examined: 2000\n\
             # Log_slow_rate_type: query  Log_slow_rate_limit: 10\n\
             SET timestamp=179352720{n};\nselect a, b from orders where c = {n};\n"
        )
    };
    let found = read(&(0..3).map(event).collect::<String>());
    let class = &found.classes[0].stats;
    assert_eq!((class.count, class.weighted_count), (3, 30.0));
    assert_eq!(class.statement_bytes, 30 * "select a, b from orders where c = 0".len() as u64);
    assert_eq!(found.overall.statement_bytes, class.statement_bytes);
}

#[test]
fn commands_that_are_no_statements_have_ids_of_pt_query_digest() {
    let log = "# Time: 2026-11-01T10:00:00.123456Z\n# User@Host: app[app] @ web1 []  Id: 7\n\
               # Query_time: 0.500000  Lock_time: 0.000100  Rows_sent: 0  Rows_examined: 0\n\
               SET timestamp=1793527200;\n# administrator command: Ping;\n";
    let class = &read(log).classes[0];
    assert_eq!(class.fingerprint, "command: Ping");
    assert_eq!(class.pt_id.as_deref(), Some("E8390778DC20D4CC04FE01C5B31FD305"));
}

/// A log line of a slow operation of MongoDB.
fn line(command: &str, plan: &str, origin: Option<&str>) -> String {
    let origin = origin.map(|origin| format!(r#""originatingCommand":{origin},"#));
    format!(
        concat!(
            r#"{{"t":{{"$date":"2026-11-22T05:40:01.389+00:00"}},"s":"I","c":"COMMAND","id":51803,"#,
            r#""ctx":"conn7","msg":"Slow query","attr":{{"type":"command","ns":"shop.orders","#,
            r#""command":{},{}"planSummary":"{}","docsExamined":9,"durationMillis":100}}}}"#,
            "\n",
        ),
        command,
        origin.unwrap_or_default(),
        plan
    )
}

#[test]
fn classes_of_mongodb_show_the_plans_of_their_calls_and_of_those_that_fetch_more() {
    let find = r#"{"find":"orders","filter":{"state":"open"},"sort":{"at":-1},"$db":"shop"}"#;
    let more = r#"{"getMore":77,"collection":"orders","$db":"shop"}"#;
    let log = [
        line(find, "IXSCAN { state: 1, at: -1 }", None),
        line(more, "IXSCAN { state: 1, at: -1 }", Some(find)),
        line(&find.replace("open", "sent"), "COLLSCAN", None),
    ];
    let found = read(&log.concat());
    assert_eq!(found.classes_total, 1);
    let class = &found.classes[0];
    assert_eq!((class.stats.count, &*class.distill), (3, "FIND orders"));
    let plans = [("COLLSCAN".to_owned(), 1), ("IXSCAN { state: 1, at: -1 }".to_owned(), 2)];
    assert_eq!(class.plans, BTreeMap::from(plans));
    let examined = &class.stats.measures["rows_examined"];
    assert_eq!((examined.values.count, examined.values.sum), (3, 27.0));
}

#[test]
fn directions_of_sorts_and_keys_of_groups_make_classes() {
    let find = |at: i32| format!(r#"{{"find":"orders","filter":{{}},"sort":{{"at":{at}}}}}"#);
    let group = |key: &str| {
        format!(
            r#"{{"aggregate":"orders","pipeline":[{{"$group":{{"_id":"{key}"}}}}],"cursor":{{}}}}"#
        )
    };
    let commands =
        [find(1), find(-1), find(1), group("$state"), group("$customer"), group("secret")];
    let log: String = commands.iter().map(|command| line(command, "COLLSCAN", None)).collect();
    let found = read(&log);
    assert_eq!((found.overall.count, found.classes_total), (6, 5));
    assert!(found.classes.iter().all(|class| !class.fingerprint.contains("secret")));
}
