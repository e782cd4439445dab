//! Tests of the reader on small logs, some written by real servers.

use super::*;
use crate::event::Measure;
use crate::logs::format::{read_as_stream, read_in_parts};
use crate::sink::Kept;

mod headers;

fn format() -> Box<dyn Format> {
    open(&Settings::default(), b"").unwrap()
}

fn read(log: &str) -> Kept {
    read_in_parts(&*format(), log.as_bytes(), &[])
}

const MYSQL_9: &str = "\
/usr/sbin/mysqld, Version: 9.7.4-2 ((Debian)). started with:
Tcp port: 24350  Unix socket: /tmp/sock
Time                 Id Command    Argument
# Time: 2026-11-22T05:40:24.453120Z
# User@Host: root[root] @ localhost []  Id:    10
# Query_time: 0.000180  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1795326024;
# administrator command: Init DB;
# Time: 2026-11-22T05:40:26.051095Z
# User@Host: app[app] @  [10.0.0.7]  Id:    11
# Query_time: 1.503539  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1
SET timestamp=1795326024;
select sleep(1.5);
# Time: 2026-11-22T05:40:28.248846Z
# User@Host: root[root] @ localhost []  Id:    15
# Query_time: 0.000374  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0 Thread_id: 15 Errno: 1054 Killed: 0 Bytes_received: 25 Bytes_sent: 52 Read_first: 0 Sort_merge_passes: 2 Created_tmp_disk_tables: 0 Created_tmp_tables: 1 Count_hit_tmp_table_size: 0  Start: 2026-11-22T05:40:28.248472Z End: 2026-11-22T05:40:28.248846Z
SET timestamp=1795326028;
select '
# Time: 2025-11-22T04:42:15.123456Z
# User@Host: x[x] @ localhost []  Id:     5
;
' from t;
";

#[test]
fn events_of_mysql_end_when_their_time_line_says() {
    let kept = read(MYSQL_9);
    assert_eq!(kept.not_understood, []);
    let [init, sleep, last] = &kept.events[..] else { panic!("{:?}", kept.events) };
    assert_eq!((init.event.kind, &*init.text), (Kind::Command, "Init DB"));
    assert_eq!((&*sleep.user, &*sleep.host, &*sleep.database), ("app", "10.0.0.7", "shop"));
    assert_eq!(sleep.event.end_ns, Some(1_795_326_026_051_095_000));
    assert_eq!(sleep.event.duration_ns, Some(1_503_539_000));
    assert_eq!((sleep.event.session, &*sleep.text), (Some(11), "select sleep(1.5)"));
    assert_eq!(last.error, "1054");
    assert_eq!(last.event.numbers.get(Measure::BytesReceived), Some(25));
    assert_eq!(last.event.numbers.get(Measure::MergePasses), Some(2));
    assert!(last.text.starts_with("select '\n# Time: 2025") && last.text.ends_with("' from t"));
}

/// As MariaDB 10.11 wrote it.
const MARIADB: &str = "\
# Time: 261122  5:40:15
# User@Host: root[root] @ localhost []
# Thread_id: 9  Schema:   QC_hit: No
# Query_time: 1.500262  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0
# Rows_affected: 0  Bytes_sent: 67
SET timestamp=1795326015;
select sleep(1.5);
# User@Host: app[app] @  [10.0.0.7]
# Thread_id: 10  Schema: my shop  QC_hit: Yes
# Query_time: 0.000140  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 3
# Rows_affected: 2  Bytes_sent: 65
# Pages_accessed: 4  Pages_read: 1  Pages_prefetched: 0  Pages_updated: 0  Old_rows_read: 7
# Pages_read_time: 17.0204  Engine_time: 248.1297
# Tmp_tables: 1  Tmp_disk_tables: 0  Tmp_table_sizes: 2097120
# Full_scan: Yes  Full_join: No  Tmp_table: Yes  Tmp_table_on_disk: No
# Filesort: Yes  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No
#
# explain: id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tr_rows\tfiltered\tr_filtered\tExtra
# explain: 1\tSIMPLE\tt\tindex\tNULL\tPRIMARY\t4\tNULL\t3\t3.00\t100.00\t100.00\tUsing index
#
use `my shop`;
SET timestamp=1795326017;
select count(*) from t;
";

#[test]
fn events_of_mariadb_end_their_duration_behind_their_second() {
    let kept = read(MARIADB);
    assert_eq!(kept.not_understood, []);
    let [sleep, count] = &kept.events[..] else { panic!("{:?}", kept.events) };
    assert_eq!(sleep.event.end_ns, Some(1_795_326_016_500_262_000));
    assert_eq!((&*sleep.database, sleep.event.session), ("", Some(9)));
    assert_eq!((&*count.user, &*count.host, &*count.database), ("app", "10.0.0.7", "my shop"));
    assert_eq!(count.text, "select count(*) from t");
    let numbers = &count.event.numbers;
    assert_eq!(numbers.get(Measure::EngineTime), Some(248_129_700), "milliseconds");
    assert_eq!(numbers.get(Measure::ReadWait), Some(17_020_400), "milliseconds");
    assert_eq!(numbers.get(Measure::RowsAffected), Some(2));
    assert_eq!(numbers.get(Measure::OldRowsRead), Some(7));
    assert_eq!(numbers.get(Measure::QueryCacheHit), Some(1));
    assert_eq!(numbers.get(Measure::FilesortOnDisk), Some(0));
    assert_eq!(numbers.get(Measure::TmpBytes), Some(2_097_120));
}

/// Handwritten after Percona Server's manual, "Slow query log"; not from a live server.
const PERCONA: &str = "\
# Time: 251122  4:42:15.058915
# User@Host: app[app] @ localhost []  Id:    42
# Schema: shop  Last_errno: 1205  Killed: 0
# Query_time: 7.725616  Lock_time: 0.000328  Rows_sent: 4  Rows_examined: 1543720  Rows_affected: 0
# Bytes_sent: 272  Tmp_tables: 0  Tmp_disk_tables: 0  Tmp_table_sizes: 0
# InnoDB_trx_id: 1A2B
# QC_hit: No  Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No
# Filesort: No  Filesort_on_disk: No  Merge_passes: 0
#   InnoDB_IO_r_ops: 6415  InnoDB_IO_r_bytes: 105103360  InnoDB_IO_r_wait: 0.001279
#   InnoDB_rec_lock_wait: 0.500000  InnoDB_queue_wait: 0.000000
#   InnoDB_pages_distinct: 6430
# Log_slow_rate_type: query  Log_slow_rate_limit: 10
SET timestamp=1763786535;
select * from orders where id = 5;
# User@Host: app[app] @ localhost []  Id:    43
# Schema: shop  Last_errno: 0  Killed: 0
# Query_time: 0.000002  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0  Rows_affected: 0
# Bytes_sent: 0
# No InnoDB statistics available for this query
SET timestamp=1763786536;
# administrator command: Ping;
";

#[test]
fn events_of_percona_server_have_weights_and_fractions() {
    let kept = read(PERCONA);
    assert_eq!(kept.not_understood, []);
    let [select, ping] = &kept.events[..] else { panic!("{:?}", kept.events) };
    assert_eq!(select.event.end_ns, Some(1_763_786_535_058_915_000));
    assert_eq!((select.event.weight, &*select.error, &*select.database), (10, "1205", "shop"));
    let numbers = &select.event.numbers;
    assert_eq!(numbers.get(Measure::ReadWait), Some(1_279_000));
    assert_eq!(numbers.get(Measure::RecordLockWait), Some(500_000_000));
    assert_eq!(numbers.get(Measure::ReadBytes), Some(105_103_360));
    assert_eq!((ping.event.kind, &*ping.text, &*ping.error), (Kind::Command, "Ping", ""));
    assert_eq!(ping.event.end_ns, Some(1_763_786_536_000_000_000));
}

/// Handwritten after the reference manuals of MySQL 5.1 to 5.6; not from a live server.
const MYSQL_5: &str = "\
C:\\mysql\\bin\\mysqld.exe, Version: 5.5.62-log (MySQL Community Server (GPL)). started with:
TCP Port: 3306, Named Pipe: MySQL
Time                 Id Command    Argument
# Time: 251122  4:42:15
# User@Host: app[app] @ web1 [10.0.0.7]
# Query_time: 2.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0
use shop;
SET timestamp=1763786535;
select sleep(2);
# User@Host: app[app] @ web1 [10.0.0.7]
# Query_time: 18446744073709.551616  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0
SET last_insert_id=3,insert_id=4,timestamp=1763786535;
insert into t values (null);
# User@Host: [SQL_SLAVE] @  []
# Query_time: 3  Lock_time: 1  Rows_sent: 0  Rows_examined: 10
delete from t;
";

#[test]
fn events_of_old_servers_end_in_their_second() {
    let kept = read(MYSQL_5);
    assert_eq!(kept.not_understood, []);
    let [sleep, insert, delete] = &kept.events[..] else { panic!("{:?}", kept.events) };
    assert_eq!(sleep.event.end_ns, Some(1_763_786_535_000_000_000));
    assert_eq!((&*sleep.host, &*sleep.database), ("web1", "shop"));
    assert_eq!((insert.event.duration_ns, &*insert.database), (None, "shop"), "not 584 years");
    assert_eq!(delete.event.end_ns, Some(1_763_786_535_000_000_000), "the last time told");
    assert_eq!(delete.event.duration_ns, Some(3_000_000_000));
    assert_eq!((&*delete.user, &*delete.text), ("SQL_SLAVE", "delete from t"));
}

#[test]
fn events_of_the_short_log_format_begin_with_their_measures() {
    let event = "# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n\
                 SET timestamp=1763786535;\nselect 1;\n";
    let kept = read(&event.repeat(3));
    assert_eq!(kept.events.len(), 3);
    assert_eq!(kept.events[2].event.end_ns, Some(1_763_786_535_000_000_000));
}

#[test]
fn what_is_no_event_is_told_and_nothing_more() {
    let (head, tail) = MYSQL_9.split_at(MYSQL_9.find("SET timestamp=1795326024;\nselect").unwrap());
    let rotated = format!("{tail}{head}");
    let kept = read(&rotated);
    assert_eq!(kept.events.len(), 2);
    let cut = rotated.rfind("# Time: 2026").unwrap();
    let begin = tail.find("# Time: 2026").unwrap();
    assert_eq!(
        kept.not_understood,
        [
            (0, begin as u64, "no event begins here"),
            (cut as u64, (rotated.len() - cut) as u64, "the event is cut off")
        ]
    );
    let noise = "[Note] something else; x\n";
    let (line, strange) = ("# not a field\n", "an unknown header line");
    let log = MYSQL_9
        .replace("# Query_time: 1.5", &format!("# Query_time: 1.5\n{line}# Query_time: 1.5"));
    let log = log.replace("select sleep(1.5);\n", &format!("select sleep(1.5);\n{noise}"));
    let kept = read(&log);
    assert_eq!(kept.events.len(), 3);
    assert_eq!(kept.events[1].text, "select sleep(1.5)");
    let at = |text| log.find(text).unwrap() as u64;
    let noise = (at(noise), noise.len() as u64, "no part of the event");
    assert_eq!(kept.not_understood, [(at(line), line.len() as u64, strange), noise]);
    // A truncated event is reported as a whole, its header not separately.
    let cut = format!("# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1\n{line}select 1");
    assert_eq!(read(&cut).not_understood, [(0, cut.len() as u64, "the event is cut off")]);
}

/// Three events; `spoil` changes the second one's header.
fn with_spoilt_header(spoil: impl Fn(&str) -> String) -> String {
    let event = |second: u8| {
        format!(
            "# Time: 2025-11-22T04:42:1{second}.000000Z\n\
             # User@Host: app[app] @ web1 [10.0.0.1]  Id:     5\n\
             # Query_time: 0.00{second}000  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n\
             SET timestamp=1763786534;\nselect * from t where id={second};\n"
        )
    };
    [event(1), spoil(&event(2)), event(3)].concat()
}

#[test]
fn an_event_whose_header_is_spoilt_is_none_of_the_one_before() {
    let texts = |kept: &Kept| -> Vec<_> {
        kept.events.iter().map(|e| e.text.bytes().last().unwrap() - b'0').collect()
    };
    let strange = "an unknown header line";
    for garbage in ["#garbage here\n", "garbage\n", "#a\nb\n# c d\n", "\0\0\0\n", "\0\0\0"] {
        let log = with_spoilt_header(|event| {
            event.replace("# Query_time", &format!("{garbage}# Query_time"))
        });
        let kept = read(&log);
        assert_eq!(texts(&kept), [1, 2, 3], "{garbage:?}");
        assert_eq!(kept.events[1].event.duration_ns, Some(2_000_000));
        let at = log.find(garbage).unwrap() as u64;
        assert_eq!(kept.not_understood, [(at, garbage.len() as u64, strange)]);
    }
    for spoil in [
        |event: &str| event.replace("# Query_time: 0.002", &"\0".repeat(512)),
        |event: &str| event.replace("# Query_time: 0.002", "Query_tim"),
        |event: &str| {
            let (begin, end) = (event.find("# Query").unwrap(), event.find("SET").unwrap());
            format!("{}{}", &event[..begin], &event[end..])
        },
    ] {
        let log = with_spoilt_header(spoil);
        let kept = read(&log);
        assert_eq!(texts(&kept), [1, 3]);
        let [(_, bytes, "an event without its measures")] = kept.not_understood[..] else {
            panic!("{:?}", kept.not_understood)
        };
        let told: u64 = kept.events.iter().map(|event| event.event.bytes).sum();
        assert_eq!(bytes + told, log.len() as u64);
    }
}

#[test]
fn lines_of_other_logs_are_no_part_of_a_statement() {
    let error = "2025-11-22T04:42:16.0Z 7 [Note] [MY-010914] [Server] Aborted; got timeout;\n";
    let general = "2025-11-22T04:42:15.123456Z\t    8 Query\tselect 99 from g\n";
    for other in [error, general, &[general, error].concat()] {
        let log = with_spoilt_header(|event| format!("{event}{other}"));
        let kept = read(&log);
        assert_eq!(kept.events[1].text, "select * from t where id=2");
        let at = log.find(other).unwrap() as u64;
        assert_eq!(kept.not_understood, [(at, other.len() as u64, "no part of the event")]);
    }
}

#[test]
fn routines_are_named_with_a_space_or_without() {
    for line in ["# Stored routine: world.improved_sp_log\n", "# Stored_routine: my db.p q\n"] {
        let log = PERCONA.replace("# InnoDB_trx_id", &format!("{line}# InnoDB_trx_id"));
        assert_eq!(read(&log).not_understood, []);
    }
}

#[test]
fn logs_one_after_the_other_do_not_share_a_database() {
    let opened = MYSQL_9.replace("use shop;\n", "");
    let kept = read(&format!("{MYSQL_9}{opened}"));
    let databases: Vec<_> = kept.events.iter().map(|event| &*event.database).collect();
    assert_eq!(databases, ["shop", "shop", "shop", "", "", ""]);
}

#[test]
fn lines_that_end_as_on_windows_are_the_same_events() {
    for log in [MYSQL_9, MARIADB, PERCONA, MYSQL_5] {
        let (unix, windows) = (read(log), read(&log.replace('\n', "\r\n")));
        assert_eq!(windows.not_understood, []);
        for (unix, windows) in unix.events.iter().zip(&windows.events) {
            assert_eq!(unix.text, windows.text.replace("\r\n", "\n"));
            assert_eq!((unix.event.end_ns, &unix.host), (windows.event.end_ns, &windows.host));
            assert_eq!(unix.event.numbers, windows.event.numbers);
            assert_eq!(
                (&unix.database, unix.event.session),
                (&windows.database, windows.event.session)
            );
        }
    }
}

#[test]
fn a_database_without_a_space_before_it_is_known_in_the_next_part_too() {
    let header = "# User@Host: u[u] @ h []\n";
    let measures = "# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n";
    let log = format!(
        "{header}# Thread_id: 7  Schema:shop\n{measures}select 1;\n{header}{measures}select 2;\n"
    );
    let strange = log.replace("Schema:shop", "Schema: \0");
    for (log, database) in [(log, "shop"), (strange, "\0")] {
        let cut = read_in_parts(&*format(), log.as_bytes(), &[60]);
        assert_eq!(cut.events.len(), 2);
        assert_eq!(cut.events[1].database, database);
        assert_eq!(cut.events, read(&log).events);
    }
}

#[test]
fn formats_are_told_by_their_events_or_openings() {
    for log in [MYSQL_9, MARIADB, PERCONA, MYSQL_5] {
        assert!(detect(log.as_bytes()));
    }
    assert!(detect(&MYSQL_9.as_bytes()[..MYSQL_9.find("# Time").unwrap()]));
    assert!(!detect(b""));
    assert!(!detect(b"select 1;\n# Time: 2025-11-22T04:42:15.123456Z\n"));
}

/// Pieces of logs, intact and damaged.
fn pieces() -> Vec<&'static [u8]> {
    let events = [MYSQL_9, MARIADB, PERCONA, MYSQL_5];
    let mut pieces: Vec<&[u8]> = events.iter().map(|log| log.as_bytes()).collect();
    pieces.extend(events.iter().flat_map(|log| log.split_inclusive('\n')).map(str::as_bytes));
    pieces.extend([
        &b"# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=7;\na;\n"[..],
        b"2025-11-22T04:42:16.000000Z 7 [Note] x;\n", b"2025-11-22T04:42:16.000000Z\t    8 Query\tselect 1\n",
        b"garbage\n", b"#garbage here\n", b"\0\0\0", b"\r\n", b"# ", b"#", b";", b"\n", b"'", b"\xff\xfe", b"use x;\n",
        b"# Foo: bar  Baz: 1\n", b"# User: me@home\n", b"# Query_time: 7.5\n", b"# Query_time: 7.5 Lock_time: 1\n",
        b"# Time: 2025-11-22T04:42:15.123456Z # User@Host: a[a] @ [1.2.3.4]  Id: 5\n", b"# comment;\n",
        b"# User@Host: a[a] @ h []  Id: 5  Foo: bar\n", b"# User@Host: a[a] @ h []  Id: 5\n", b"select 1;\n",
        b"# Time: 2025-11-22T04:42:15.123456Z\n", b"# Time: x\n", b"#Query_time: 7.5 Lock_time: 1\n",
    ]);
    pieces
}

proptest::proptest! {
    #[test]
    fn however_a_log_is_cut_its_events_are_the_same(
        picks in proptest::collection::vec(0usize..1000, 0..30),
        cuts in proptest::collection::vec(0usize..20_000, 0..6),
        piece in 100usize..5000,
    ) {
        let pieces = pieces();
        let log: Vec<u8> =
            picks.iter().flat_map(|pick| pieces[pick % pieces.len()]).copied().collect();
        let format = format();
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut % (log.len() + 1)).collect();
        let whole = read_in_parts(&*format, &log, &[]);
        let parts = read_in_parts(&*format, &log, &cuts);
        let stream = read_as_stream(&*format, &log, piece);
        proptest::prop_assert_eq!(&whole.events, &parts.events);
        proptest::prop_assert_eq!(&whole.not_understood, &parts.not_understood);
        proptest::prop_assert_eq!(&whole.events, &stream.events);
        proptest::prop_assert_eq!(&whole.not_understood, &stream.not_understood);
        for event in &whole.events {
            let (offset, bytes) = (event.event.offset, event.event.bytes);
            proptest::prop_assert!(offset + bytes <= log.len() as u64);
        }
    }
}
