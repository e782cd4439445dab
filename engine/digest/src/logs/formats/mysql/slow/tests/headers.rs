//! Tests of headers in forms that current servers do not write.

use super::*;

/// The events read from, and the text of, a log of three events, the second with header lines `second`.
fn with_header(second: &str) -> (Kept, String) {
    let first = "# Time: 2025-11-22T04:42:11.000000Z\n\
                 # User@Host: app[app] @ web1 [10.0.0.1]  Id:     5\n";
    let measures = "# Query_time: 0.001000  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n";
    let event = |header: &str, id: u8| {
        let end = format!("SET timestamp=1763786531;\nselect * from t where id={id};\n");
        format!("{header}{end}")
    };
    let usual = format!("{first}{measures}");
    let log = [event(&usual, 1), event(second, 2), event(&usual, 3)].concat();
    (read(&log), log)
}

const MEASURES: &str = "# Query_time: 7.5  Lock_time: 0.0 Rows_sent: 2  Rows_examined: 9\n";
const TIME: &str = "# Time: 2025-11-22T04:42:12.000000Z\n";
const USER: &str = "# User@Host: me[me] @ web2 [10.0.0.2]  Id:     6\n";

#[test]
fn headers_in_other_shapes_are_read_and_nothing_is_left_over() {
    let line = TIME.trim_end();
    for (header, user, host) in [
        (format!("{line} {USER}{MEASURES}"), "me", "web2"),
        (format!("{line} {} {MEASURES}", USER.trim_end()), "me", "web2"),
        (format!("{TIME}{MEASURES}"), "", ""),
        (MEASURES.to_owned(), "", ""),
        (MEASURES.replace("  Lock", " Lock"), "", ""),
        (format!("{TIME}{}{MEASURES}", USER.replace("web2 ", "")), "me", "10.0.0.2"),
        (format!("{TIME}# User: me@10.0.0.2\n{MEASURES}"), "me", "10.0.0.2"),
        (
            format!(
                "{TIME}# User: me@10.0.0.2\n# Conn_ID: 6\n# Query_time: 7.5\n# Txn_start_ts: 7\n"
            ),
            "me",
            "10.0.0.2",
        ),
        (format!("{TIME}# User: me[me] @ web2 []\n{MEASURES}"), "me", "web2"),
        (
            format!("{TIME}{}{MEASURES}", USER.replace("6", "6  Tenant: x  Cpu_time: 7")),
            "me",
            "web2",
        ),
        (format!("{}{MEASURES}", USER.replace("Id:     6", "Tenant: x  Id: 6")), "me", "web2"),
        (format!("{TIME}{USER}# Tenant: x  Shard: y\n# Plan: 7\n{MEASURES}"), "me", "web2"),
        (format!("{TIME}{USER}{}", MEASURES.replace("7.5", "7.5  Cpu_time: 3")), "me", "web2"),
        (format!("\n \n{TIME}{MEASURES}"), "", ""),
    ] {
        for header in [header.clone(), header.replace('\n', "\r\n")] {
            let (kept, _) = with_header(&header);
            let [_, second, third] = &kept.events[..] else {
                panic!("{header}: {:?}", kept.events)
            };
            assert_eq!(second.text, "select * from t where id=2", "{header}");
            assert_eq!(second.event.duration_ns, Some(7_500_000_000), "{header}");
            assert_eq!((&*second.user, &*second.host), (user, host), "{header}");
            assert_eq!((&*third.user, third.event.duration_ns), ("app", Some(1_000_000)));
            assert_eq!(kept.not_understood, [], "{header}");
        }
    }
}

#[test]
fn headers_that_are_not_understood_are_counted_with_their_place() {
    let cases = [
        (format!("# Date: 12.11.\n{TIME}{USER}{MEASURES}"), "# Date: 12.11.\n"),
        (format!("# Time: yesterday\n{USER}{MEASURES}"), "# Time: yesterday\n"),
        (format!("{TIME}# User@Host: me at home\n{MEASURES}"), "# User@Host: me at home\n"),
        (format!("#User@Host: me at home\n{MEASURES}"), "#User@Host: me at home\n"),
        (format!("# Who: me (web2)\n{MEASURES}"), "# Who: me (web2)\n"),
        (
            format!("{TIME}{USER}# what is this\n# (and this)\n{MEASURES}"),
            "# what is this\n# (and this)\n",
        ),
    ];
    for (header, strange) in cases {
        let (kept, log) = with_header(&header);
        assert_eq!(kept.events.len(), 3, "{header}");
        assert_eq!(kept.events[1].event.duration_ns, Some(7_500_000_000), "{header}");
        assert_eq!(kept.events[0].text, "select * from t where id=1", "{header}");
        let at = log.find(strange).unwrap() as u64;
        let [(offset, bytes, _)] = kept.not_understood[..] else {
            panic!("{header} {:?}", kept.not_understood)
        };
        assert_eq!((offset, bytes), (at, strange.len() as u64), "{header}");
    }
}

#[test]
fn a_log_may_begin_with_any_line_of_a_header() {
    for begin in
        [MEASURES, "# Query_time: 7.5 Lock_time: 0.0\n", "# Query_time: 7.5 Cpu_time: 0.0\n"]
    {
        let log = format!(
            "{begin}# Rows_affected: 0\nSET timestamp=1763786531;\nselect 1;\n{TIME}{USER}{MEASURES}select 2;\n"
        );
        assert!(detect(log.as_bytes()), "{begin}");
        let kept = read(&log);
        assert_eq!((kept.events.len(), &*kept.not_understood), (2, &[][..]), "{begin}");
        assert_eq!(kept.events[0].event.duration_ns, Some(7_500_000_000));
    }
}

#[test]
fn comments_of_a_statement_are_no_headers() {
    for text in [
        "create procedure p()\nbegin\n  update t set a = 1;\n# Query_time: 3 s at most\n# User@Host: nobody\n  delete from t;\nend",
        "create procedure p()\nbegin\n  update t set a = 1;\n# Time: now\n# Query_time: 3\n  delete from t;\nend",
        "# find them: all\n# Query_time: 5, roughly\nselect 1",
        "# Query_time: 5\nselect 1",
        "select 1 # Query_time: 5  Lock_time: 1\nfrom t",
        "select 1,\n# Query_time: 5  Lock_time: 1\n2",
        "begin\nselect 1;\n# the end: here\n# Query_time: 5  Lock_time: 1",
        "begin\nselect 1;\n#\n#\nend",
    ] {
        let header = format!("{TIME}{USER}{MEASURES}SET timestamp=1763786531;\n");
        let log = format!("{header}{text};\n{header}select 2;\n");
        let kept = read(&log);
        let texts: Vec<_> = kept.events.iter().map(|event| &*event.text).collect();
        assert_eq!(texts, [text, "select 2"]);
        assert_eq!(kept.not_understood, []);
    }
}
