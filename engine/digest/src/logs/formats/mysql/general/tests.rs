//! Tests of the reader on small logs, some written by real servers.

use super::*;
use crate::logs::format::read_as_stream;
use crate::sink::Kept;

const MARIADB: &str = "\
/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-0+deb12u1-log (Debian 12). started with:
Tcp port: 24039  Unix socket: /tmp/sock
Time\t\t    Id Command\tArgument
261122  5:40:15\t     3 Connect\troot@localhost on  using Socket
\t\t     3 Query\tcreate database shop
\t\t     3 Init DB\tshop
\t\t     4 Connect\tapp@10.0.0.7 on mysql using TCP/IP
\t\t     3 Query\tselect '
# Time: 2025-11-22T04:42:15.123456Z
\t 5 is no entry
'
\t\t     4 Query\tselect 1
\t\t     3 Prepare\tselect ?
261122  5:40:17\t     3 Execute\tselect 5
\t\t     3 Quit\t
\t\t     6 Connect\tnobody@localhost on  using Socket
\t\t     6 Connect\tAccess denied for user 'nobody'@'localhost' (using password: NO)
/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-0+deb12u1-log (Debian 12). started with:
Tcp port: 24039  Unix socket: /tmp/sock
Time\t\t    Id Command\tArgument
\t\t     4 Query\tUSE `shop`
\t\t     4 Query\tselect 2
";

/// After MySQL 5.0's source: a command is truncated or padded to its column, without a tab after it.
const MYSQL_5_0: &str = "\
/usr/sbin/mysqld, Version: 5.0.96-log (MySQL Community Server (GPL)). started with:
Tcp port: 3306  Unix socket: /tmp/sock
Time                 Id Command    Argument
251122  4:42:15\t      1 Connect     app@localhost on shop
\t\t      1 Query       select a,
   1 b
from t where c = 'x\ty'
\t\t 123456 Query       select 2
\t\t      1 Register Sl replica port: 3307
251122  4:42:16\t      1 Quit       
";

/// MySQL 5.7.2 to 5.7.12.
const MYSQL_5_7: &str = "\
2016-05-14T04:42:15.123456Z    9 Connect\troot@localhost on shop using Socket
2016-05-14T04:42:15.223456Z    9 Query\tselect 1
2016-05-14T04:42:15.323456Z12345 Query\tselect 2
2016-05-14T04:42:15.423456Z    9 Quit\t
";

const MYSQL: &str = "\
2026-11-22T05:40:24.339152Z\t    9 Connect\troot@localhost on shop using SSL/TLS
2026-11-22T05:40:24.344076Z\t    9 Query\tselect 1
2026-11-22T05:40:24.353207Z\t    9 Close stmt\t
2026-11-22T05:40:24.353207Z\t    9 Quit\t
";

fn read(log: &str, piece: usize) -> Kept {
    let format = open(&Settings::default(), b"").unwrap();
    read_as_stream(&*format, log.as_bytes(), piece)
}

#[test]
fn statements_belong_to_the_user_and_database_of_their_connection() {
    let kept = read(MARIADB, usize::MAX >> 1);
    assert_eq!(kept.not_understood, []);
    let statements: Vec<_> = kept
        .events
        .iter()
        .filter(|event| event.event.kind != Kind::Command)
        .map(|event| (&*event.user, &*event.host, &*event.database, &*event.text))
        .collect();
    let lines = "select '\n# Time: 2025-11-22T04:42:15.123456Z\n\t 5 is no entry\n'";
    assert_eq!(
        statements,
        [
            ("root", "localhost", "", "create database shop"),
            ("root", "localhost", "shop", lines),
            ("app", "10.0.0.7", "mysql", "select 1"),
            ("root", "localhost", "shop", "select ?"),
            ("root", "localhost", "shop", "select 5"),
            ("app", "10.0.0.7", "shop", "USE `shop`"),
            ("app", "10.0.0.7", "shop", "select 2"),
        ]
    );
    let times: Vec<_> = kept.events.iter().map(|event| event.event.end_ns.unwrap()).collect();
    assert_eq!((times[0], times[1]), (1_795_326_015_000_000_000, times[0]), "told once");
    assert_eq!(times.last(), Some(&1_795_326_017_000_000_000));
}

#[test]
fn commands_are_no_statements_and_have_no_duration() {
    let kept = read(MYSQL, usize::MAX >> 1);
    let texts: Vec<_> = kept.events.iter().map(|event| &*event.text).collect();
    assert_eq!(texts, ["Connect", "select 1", "Close stmt", "Quit"]);
    assert_eq!(kept.events[1].event.end_ns, Some(1_795_326_024_344_076_000));
    assert_eq!((kept.events[1].event.duration_ns, kept.events[1].event.session), (None, Some(9)));
}

/// Session, user and text of each event of a log.
fn told(log: &str) -> Vec<(u64, String, String)> {
    let kept = read(log, usize::MAX >> 1);
    assert_eq!(kept.not_understood, [], "{log}");
    let events = kept.events.into_iter();
    events.map(|event| (event.event.session.unwrap_or(0), event.user, event.text)).collect()
}

#[test]
fn entries_of_old_servers_have_columns_and_spaces() {
    let expected = [
        (1, "app", "Connect"),
        (1, "app", "select a,\n   1 b\nfrom t where c = 'x\ty'"),
        (123_456, "", "select 2"),
        (1, "app", "Register Slave"),
        (1, "app", "Quit"),
    ]
    .map(|(session, user, text)| (session, user.to_owned(), text.to_owned()));
    assert!(detect(MYSQL_5_0.as_bytes()));
    assert_eq!(told(MYSQL_5_0), expected);
    // Copied from a terminal: spaces instead of tabs, and none at line ends.
    let copied = MYSQL_5_0.replace("\t\t", &" ".repeat(16)).replace("15\t", "15 ");
    let copied = copied.replace("16\t", "16 ").replace("Quit       ", "Quit");
    assert!(detect(copied.as_bytes()));
    assert_eq!(told(&copied), expected);
}

#[test]
fn a_number_may_stand_directly_behind_its_time() {
    assert!(detect(MYSQL_5_7.as_bytes()));
    let expected = [
        (9, "root", "Connect"),
        (9, "root", "select 1"),
        (12_345, "", "select 2"),
        (9, "root", "Quit"),
    ];
    assert_eq!(
        told(MYSQL_5_7),
        expected.map(|(session, user, text)| (session, user.to_owned(), text.to_owned()))
    );
}

#[test]
fn lines_of_statements_are_no_entries() {
    for line in [
        "  5 Querying x",
        " 5 Query       x",
        "5 Query\tx",
        "  5 Query x",
        "\t5  Query\tx",
        "251122  4:42:155 Query\tx",
    ] {
        let log = format!("\t\t    4 Query\tselect '\n{line}\n'\n");
        assert_eq!(told(&log).len(), 1, "{line}");
    }
}

#[test]
fn a_refused_login_is_one_event_with_its_error() {
    let log = "\
2025-11-22T04:42:16.223456Z\t    9 Connect\tbob@10.0.0.9 on  using TCP/IP
2025-11-22T04:42:16.323456Z\t   10 Connect\teve@10.0.0.9 on shop using TCP/IP
2025-11-22T04:42:16.423456Z\t    9 Connect\tAccess denied for user 'bob'@'10.0.0.9' (using password: YES)
2025-11-22T04:42:16.523456Z\t   10 Query\tselect 1
2025-11-22T04:42:16.623456Z\t   11 Connect\tBenutzer 'x'@'y' hat keine Zugriffsberechtigung (verwendetes Passwort: JA)
2025-11-22T04:42:16.723456Z\t   12 Connect\tmal@10.0.0.9 on  using TCP/IP
";
    let kept = read(log, usize::MAX >> 1);
    let told: Vec<_> =
        kept.events.iter().map(|event| (&*event.text, &*event.user, &*event.error)).collect();
    assert_eq!(
        told,
        [
            ("Connect", "bob", "1045"),
            ("Connect", "eve", ""),
            ("select 1", "eve", ""),
            ("Connect", "", "1045"),
            ("Connect", "mal", ""),
        ]
    );
    assert_eq!(kept.events[0].event.offset, 0);
    for piece in [1, 50, 200] {
        assert_eq!(read(log, piece).events, kept.events);
    }
}

#[test]
fn events_of_a_slow_log_among_entries_are_counted() {
    let slow = "# Time: 2025-11-22T04:42:15.000000Z\n# User@Host: a[a] @ h []  Id:     5\n\
                # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n\
                SET timestamp=1763786534;\nselect * from t;\n";
    let entry = "2025-11-22T04:42:15.123456Z\t    8 Query\tselect 99 from g\n";
    let log = format!("{entry}{slow}{slow}{entry}{slow}");
    let kept = read(&log, usize::MAX >> 1);
    assert_eq!(kept.events.len(), 2);
    assert!(kept.events.iter().all(|event| event.text == "select 99 from g"));
    let (why, entry, slow) = ("events of a slow log", entry.len() as u64, slow.len() as u64);
    let pieces = [(entry, 2 * slow, why), (2 * entry + 2 * slow, slow, why)];
    assert_eq!(kept.not_understood, pieces);
    assert_eq!(read(&log, 10).not_understood, pieces);
}

#[test]
fn logs_in_pieces_are_the_same_events() {
    for log in [MARIADB, MYSQL, MYSQL_5_0, MYSQL_5_7] {
        let log = format!("'; rest of a statement\n{log}");
        let whole = read(&log, usize::MAX >> 1);
        assert_eq!(whole.not_understood.len(), 1);
        for piece in [1, 2, 3, 7, 64, 500] {
            let pieces = read(&log, piece);
            assert_eq!(pieces.events, whole.events, "{piece}");
            assert_eq!(pieces.not_understood, whole.not_understood, "{piece}");
        }
    }
}

#[test]
fn general_logs_are_told_from_slow_ones() {
    assert!(detect(MARIADB.as_bytes()) && detect(MYSQL.as_bytes()));
    let slow = format!("# Query_time: 1  Lock_time: 0\nselect '\n{MYSQL}");
    assert!(!detect(slow.as_bytes()));
    assert!(!detect(b"") && !detect(b"5 Query\tselect 1\n"));
}

proptest::proptest! {
    #[test]
    fn rubbish_is_read_without_harm(
        picks in proptest::collection::vec(0usize..1000, 0..30),
        piece in 20usize..2000,
    ) {
        let mut pieces: Vec<&[u8]> = [MARIADB, MYSQL, MYSQL_5_0, MYSQL_5_7]
            .iter()
            .flat_map(|log| log.split_inclusive('\n'))
            .map(str::as_bytes)
            .collect();
        pieces.extend([&b"\0"[..], b"\t", b"\n", b"\r\n", b"1", b"261122  5:40:1", b"\xff", b"\t\t    4 Quit", b"ting\n"]);
        let log: Vec<u8> =
            picks.iter().flat_map(|pick| pieces[pick % pieces.len()]).copied().collect();
        let format = open(&Settings::default(), b"").unwrap();
        let whole = read_as_stream(&*format, &log, log.len());
        let parts = read_as_stream(&*format, &log, piece);
        proptest::prop_assert_eq!(whole.events, parts.events);
        proptest::prop_assert_eq!(whole.not_understood, parts.not_understood);
    }
}
