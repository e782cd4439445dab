//! Tests of the MySQL decoder.

use super::super::position::Side::{Client, Server};
use super::{Dialect, Spoken, lines, read, whys};
use crate::event::Measure;
use crate::sink::Owned;

/// A packet with its header.
pub(super) fn packet(seq: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&length[..3], &[seq], body].concat()
}

fn packets(first: u8, bodies: &[&[u8]]) -> Vec<u8> {
    bodies.iter().zip(first..).flat_map(|(body, seq)| packet(seq, body)).collect()
}

fn ask(code: u8, body: &[u8]) -> Vec<u8> {
    packet(0, &[&[code], body].concat())
}

pub(super) fn query(text: &str) -> Vec<u8> {
    ask(3, text.as_bytes())
}

/// An EOF packet with a status.
fn eof(status: u8) -> [u8; 5] {
    [0xFE, 0, 0, status, 0]
}

/// An OK packet with `rows` affected rows.
pub(super) fn ok(rows: u8) -> [u8; 7] {
    [0, rows, 0, 2, 0, 0, 0]
}

const COLUMN: &[u8] = b"\x03def\x01s\x01t\x01t\x01a\x01a\x0c\x3F\0\x0B\0\0\0\x03\0\0\0\0\0";
const LONG_PASSWORDS: u32 = 1 << 15;
const PROTOCOL_41: u32 = 1 << 9;
const WITH_DATABASE: u32 = 1 << 3;
const TLS: u32 = 1 << 11;
const COMPRESS: u32 = 1 << 5;
const QUERY_ATTRIBUTES: u32 = 1 << 27;

fn greeting(capabilities: u32) -> Vec<u8> {
    let [a, b, c, d] = capabilities.to_le_bytes();
    let mut body = b"\x0A5.5.5-10.11.14-MariaDB\0\x2A\0\0\x00saltsalt\0".to_vec();
    body.extend([a, b, 33, 2, 0, c, d, 21]);
    body.extend(b"\0\0\0\0\0\0\0\0\0\0saltsaltsalt\0mysql_native_password\0");
    packet(0, &body)
}

fn login(capabilities: u32) -> Vec<u8> {
    let mut body = capabilities.to_le_bytes().to_vec();
    body.extend([0, 0, 0, 1, 33]);
    body.extend([0; 23]);
    if capabilities & TLS == 0 {
        body.extend(b"me\0\x04authshop\0");
    }
    packet(1, &body)
}

fn logged_in(capabilities: u32) -> Spoken {
    let capabilities = capabilities | LONG_PASSWORDS | PROTOCOL_41 | WITH_DATABASE;
    Spoken::default()
        .says(Server, greeting(capabilities))
        .says(Client, login(capabilities))
        .says(Server, packet(2, &ok(0)))
}

fn one_row(status: u8) -> Vec<u8> {
    packets(1, &[b"\x01", COLUMN, &eof(2), b"\x017", &eof(status)])
}

pub(super) fn conversation() -> Spoken {
    let execute = b"\x07\0\0\0\0\x01\0\0\0\x00\x01\x08\0\xFD\0\x2A\0\0\0\0\0\0\0\x02it";
    let again = b"\x07\0\0\0\0\x01\0\0\0\x02\0\x2B\0\0\0\0\0\0\0";
    logged_in(0)
        .says(Client, query("select a from t where b = 'x';"))
        .says(Server, packets(1, &[b"\x01", COLUMN, &eof(2), b"\x017", b"\xFB", &eof(2)]))
        .says(Client, query("update t set a = 1"))
        .says(Server, packet(1, &ok(3)))
        .says(Client, query("select nothing"))
        .says(Server, packet(1, b"\xFF\x1E\x04#42S22Unknown column"))
        .says(Client, query("USE `other`"))
        .says(Server, packet(1, &ok(0)))
        .says(Client, ask(2, b"third"))
        .says(Server, packet(1, &ok(0)))
        .says(Client, ask(22, b"select a from t where b = ? and c = ?"))
        .says(
            Server,
            packets(
                1,
                &[b"\0\x07\0\0\0\x01\0\x02\0\0\0\0", COLUMN, COLUMN, &eof(2), COLUMN, &eof(2)],
            ),
        )
        .says(Client, ask(23, execute))
        .says(Server, packets(1, &[b"\x01", COLUMN, &eof(2), b"\0\0\x07", &eof(2)]))
        .says(Client, [ask(24, b"\x07\0\0\0\0\0lo"), ask(24, b"\x07\0\0\0\0\0ng")].concat())
        .says(Client, ask(23, again))
        .says(Server, packets(1, &[b"\x01", COLUMN, &eof(2), &eof(2)]))
        .says(Client, [ask(25, b"\x07\0\0\0"), ask(14, b"")].concat())
        .says(Server, packet(1, &ok(0)))
        .says(Client, query("call p()"))
        .says(
            Server,
            [
                one_row(10),
                packets(6, &[b"\x01", COLUMN, &eof(2), b"\x017", &eof(10)]),
                packet(11, &ok(0)),
            ]
            .concat(),
        )
        .says(Client, ask(1, b""))
}

pub(super) const TOLD: &[&str] = &[
    "command: Connect | me@192.0.2.7/shop 1 ms",
    "select a from t where b = 'x' | me@192.0.2.7/shop 1 ms rows 2 0",
    "update t set a = 1 | me@192.0.2.7/shop 1 ms rows 0 3",
    "select nothing | me@192.0.2.7/shop 1 ms error 1054",
    "USE `other` | me@192.0.2.7/shop 1 ms rows 0 0",
    "command: Init DB | me@192.0.2.7/other 1 ms",
    "prepare: select a from t where b = ? and c = ? | me@192.0.2.7/third 1 ms",
    "select a from t where b = 42 and c = 'it' | me@192.0.2.7/third 1 ms rows 1 0",
    "command: Long Data | me@192.0.2.7/third",
    "command: Long Data | me@192.0.2.7/third",
    "select a from t where b = 'long' and c = NULL | me@192.0.2.7/third 1 ms rows 0 0",
    "command: Close stmt | me@192.0.2.7/third",
    "command: Ping | me@192.0.2.7/third 1 ms",
    "call p() | me@192.0.2.7/third 1 ms rows 2 0",
    "command: Quit | me@192.0.2.7/third",
];

#[test]
fn everything_that_is_said_is_told() {
    let kept = read(Dialect::Mysql, &conversation().capture(3306));
    assert_eq!(lines(&kept), TOLD);
    assert_eq!(kept.not_understood, []);
    let event = &kept.events[1].event;
    assert_eq!(event.session, Some(42));
    assert_eq!(event.end_ns, Some(1_700_000_000_005_000_000));
}

#[test]
fn a_server_on_any_port_is_known_by_its_greeting() {
    let kept = read(Dialect::Mysql, &conversation().capture(40_001));
    assert_eq!(lines(&kept), TOLD);
}

#[test]
fn answers_without_ends_of_columns_are_cut_as_well() {
    const WITHOUT_EOF: u32 = 1 << 24;
    let end: &[u8] = b"\xFE\0\0\x02\0\0\0";
    let spoken = logged_in(WITHOUT_EOF)
        .says(Client, query("select a"))
        .says(Server, packets(1, &[b"\x01", COLUMN, b"\x017", b"\x018", end]))
        .says(Client, ask(22, b"select ?"))
        .says(Server, packets(1, &[b"\0\x07\0\0\0\x01\0\x01\0\0\0\0", COLUMN, COLUMN]))
        .says(Client, query("select b"))
        .says(Server, packets(1, &[b"\x01", COLUMN, end]));
    let kept = read(Dialect::Mysql, &spoken.capture(3306));
    let found = lines(&kept);
    assert_eq!(found[1], "select a | me@192.0.2.7/shop 1 ms rows 2 0");
    assert_eq!(found[3], "select b | me@192.0.2.7/shop 1 ms rows 0 0");
    assert_eq!((found.len(), kept.not_understood.len()), (4, 0));
}

#[test]
fn what_is_encrypted_or_compressed_is_counted_once() {
    let capabilities = LONG_PASSWORDS | PROTOCOL_41 | TLS;
    let spoken = Spoken::default()
        .says(Server, greeting(capabilities))
        .says(Client, login(capabilities))
        .says(Client, b"\x16\x03\x01\0\x05\x01rubbish".as_slice())
        .says(Server, b"rubbish".as_slice());
    let capture = spoken.capture(3306);
    let kept = read(Dialect::Mysql, &capture);
    assert_eq!(kept.events, []);
    // All bytes except the file header and the packet after the end.
    let all = (24, capture.len() as u64 - 24 - 56, "a connection under TLS");
    assert_eq!(kept.not_understood, [all]);
    let spoken = logged_in(COMPRESS).says(Client, b"\x05\0\0\0\0\0\0abcde".as_slice());
    let kept = read(Dialect::Mysql, &spoken.capture(3306));
    assert_eq!(whys(&kept), ["a compressed connection"]);
}

#[test]
fn attributes_are_no_part_of_a_statement() {
    let attributes = b"\x01\x01\0\x01\xFE\0\x04name\x05valueselect 1";
    for (capabilities, body) in [
        (QUERY_ATTRIBUTES, &attributes[..]),
        (QUERY_ATTRIBUTES, b"\0\x01select 1"),
        (0, b"select 1"),
    ] {
        let spoken =
            logged_in(capabilities).says(Client, ask(3, body)).says(Server, packet(1, &ok(0)));
        let kept = read(Dialect::Mysql, &spoken.capture(3306));
        assert_eq!(kept.events[1].text, "select 1");
        // The same without the handshake: the capability of query attributes is unknown.
        let spoken = Spoken::default().says(Client, ask(3, body)).says(Server, packet(1, &ok(0)));
        let kept = read(Dialect::Mysql, &spoken.capture(3306));
        assert_eq!(lines(&kept), ["select 1 | @192.0.2.7/ 1 ms rows 0 0"]);
    }
}

#[test]
fn files_are_taken_and_logins_changed() {
    let spoken = logged_in(0)
        .says(Client, query("load data local infile 'x' into table t"))
        .says(Server, packet(1, b"\xFBx"))
        .says(Client, [packet(2, b"1\n2\n"), packet(3, b"")].concat())
        .says(Server, packet(4, &ok(2)))
        .says(Client, ask(17, b"you\0\x04authelse\0\x21\0"))
        .says(Server, packet(1, b"\xFEmysql_native_password\0salt"))
        .says(Client, packet(2, b"authauth"))
        .says(Server, packet(3, &ok(0)))
        .says(Client, query("select 1"))
        .says(Server, one_row(2));
    let kept = read(Dialect::Mysql, &spoken.capture(3306));
    assert_eq!(
        lines(&kept)[1..],
        [
            "load data local infile 'x' into table t | me@192.0.2.7/shop 3 ms rows 0 2",
            "command: Change user | you@192.0.2.7/else 3 ms",
            "select 1 | you@192.0.2.7/else 1 ms rows 1 0",
        ]
    );
    assert_eq!(kept.not_understood, []);
}

#[test]
fn a_statement_of_several_packets_is_whole() {
    let text = format!("select '{}'", "x".repeat(17 << 20));
    let body = [b"\x03", text.as_bytes()].concat();
    let (first, rest) = body.split_at(0xFF_FFFF);
    let mut spoken = logged_in(0);
    for piece in [packet(0, first), packet(1, rest)].concat().chunks(40_000) {
        spoken = spoken.says(Client, piece);
    }
    let spoken = spoken
        .says(Server, packets(2, &[b"\x01", COLUMN, &eof(2), b"\x01x", &eof(2)]))
        .says(Client, query("select 1"))
        .says(Server, one_row(2));
    let kept = read(Dialect::Mysql, &spoken.capture(3306));
    assert_eq!(kept.events.len(), 3);
    assert!(kept.events[1].text == text, "{}", kept.events[1].text.len());
    assert_eq!(kept.events[2].text, "select 1");
}

#[test]
fn rows_that_a_cursor_gives_are_those_of_its_fetches() {
    const CURSOR: u8 = 64;
    const LAST_ROW: u8 = 128;
    let fetch = || ask(28, b"\x07\0\0\0\x02\0\0\0");
    let spoken = logged_in(0)
        .says(Client, ask(22, b"select a"))
        .says(Server, packets(1, &[b"\0\x07\0\0\0\x01\0\0\0\0\0\0", COLUMN, &eof(2)]))
        .says(Client, ask(23, b"\x07\0\0\0\x01\x01\0\0\0"))
        .says(Server, packets(1, &[b"\x01", COLUMN, &eof(CURSOR)]))
        .says(Client, fetch())
        .says(Server, packets(1, &[b"\0\0\x07", b"\0\0\x08", &eof(CURSOR)]))
        .says(Client, fetch())
        .says(Server, packets(1, &[b"\0\0\x09", &eof(LAST_ROW)]));
    let kept = read(Dialect::Mysql, &spoken.capture(3306));
    let rows = |owned: &Owned| (owned.text.clone(), owned.event.numbers.get(Measure::RowsSent));
    let found: Vec<_> = kept.events[2..].iter().map(rows).collect();
    let told = [("select a", 0), ("Fetch", 2), ("Fetch", 1)];
    assert_eq!(found, told.map(|(text, rows)| (text.to_owned(), Some(rows))));
    assert_eq!(kept.not_understood, []);
}

#[test]
fn a_login_that_is_refused_has_its_error() {
    let capabilities = LONG_PASSWORDS | PROTOCOL_41 | WITH_DATABASE;
    let spoken = Spoken::default()
        .says(Server, greeting(capabilities))
        .says(Client, login(capabilities))
        .says(Server, packet(2, b"\xFF\x15\x04#28000Access denied"));
    let kept = read(Dialect::Mysql, &spoken.capture(3306));
    assert_eq!(lines(&kept), ["command: Connect | me@192.0.2.7/shop 1 ms error 1045"]);
}

#[test]
fn a_connection_without_its_begin_is_read_from_the_next_request_on() {
    let spoken = Spoken::default()
        .says(Server, [&b"\x017"[..], &packet(9, &eof(2))].concat())
        .says(Client, query("select a"))
        .says(Server, one_row(2))
        .says(Client, ask(23, b"\x07\0\0\0\0\x01\0\0\0"))
        .says(Server, one_row(2))
        .says(Client, query("select b"))
        .says(Server, one_row(2));
    // Without the handshake, on the default port and on another one.
    for port in [3306, 40_001] {
        let sent = spoken.segments(|| usize::MAX);
        let kept = read(Dialect::Mysql, &super::capture(&sent[2..], port, usize::MAX));
        let expected =
            ["select a", "select b"].map(|text| format!("{text} | @192.0.2.7/ 1 ms rows 1 0"));
        assert_eq!(lines(&kept), expected, "{port}");
        let why = "an execution of a statement whose text is not known";
        assert!(whys(&kept).contains(&why), "{:?}", whys(&kept));
    }
}
