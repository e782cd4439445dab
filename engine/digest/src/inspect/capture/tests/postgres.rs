//! Tests of the PostgreSQL decoder.

use super::super::position::Side::{Client, Server};
use super::{Dialect, Spoken, lines, read, whys};

pub(super) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn startup(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', &[name.as_bytes(), b"\0", text.as_bytes(), b"\0\0\0"].concat())
}

/// A Bind message with one parameter in text format.
fn bind(portal: &str, name: &str, value: &str) -> Vec<u8> {
    let length = (value.len() as u32).to_be_bytes();
    let parameter = [&b"\0\0\0\x01"[..], &length, value.as_bytes(), b"\0\0"].concat();
    message(b'B', &[portal.as_bytes(), b"\0", name.as_bytes(), b"\0", &parameter].concat())
}

fn execute(portal: &str) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), b"\0\0\0\0\0"].concat())
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn done(tag: &str) -> Vec<u8> {
    message(b'C', &[tag.as_bytes(), b"\0"].concat())
}

fn row() -> Vec<u8> {
    message(b'D', b"\0\x01\0\0\0\x017")
}

fn error(state: &str) -> Vec<u8> {
    message(b'E', &[b"SERROR\0C", state.as_bytes(), b"\0Mno\0\0"].concat())
}

fn logged_in() -> Spoken {
    let version = message(b'S', b"server_version\x0015.8 (Debian)\0");
    Spoken::default()
        .says(Client, startup(b"\0\x03\0\0user\0me\0database\0shop\0\0"))
        .says(Server, message(b'R', b"\0\0\0\x03"))
        .says(Client, message(b'p', b"secret\0"))
        .says(
            Server,
            [message(b'R', b"\0\0\0\0"), version, message(b'K', b"\0\0\0\x2Akeys"), ready()]
                .concat(),
        )
}

pub(super) fn conversation() -> Spoken {
    let description = message(b'T', b"\0\x01a\0");
    let described = [message(b't', b"\0\x01\0\0\0\x17"), description.clone()].concat();
    let binary = b"\0s1\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x2A\0\0";
    logged_in()
        .says(Client, query("select a from t;"))
        .says(Server, [&description[..], &row(), &row(), &done("SELECT 2"), &ready()].concat())
        .says(Client, query("insert into t values (1); select nothing"))
        .says(Server, [done("INSERT 0 5"), error("42703"), ready()].concat())
        .says(Client, [parse("", "select $1"), bind("", "", "it's"), execute(""), sync()].concat())
        .says(
            Server,
            [message(b'1', b""), message(b'2', b""), row(), done("SELECT 1"), ready()].concat(),
        )
        .says(
            Client,
            [parse("s1", "update t set a = $1"), message(b'D', b"Ss1\0"), sync()].concat(),
        )
        .says(Server, [message(b'1', b""), described, ready()].concat())
        .says(
            Client,
            [message(b'B', binary), execute(""), bind("", "s1", "8"), execute(""), sync()].concat(),
        )
        .says(Server, [message(b'2', b""), done("UPDATE 3")].concat())
        .says(Server, [message(b'2', b""), done("UPDATE 4"), ready()].concat())
        .says(
            Client,
            [bind("c", "s1", "9"), execute("c"), bind("", "s1", "10"), execute(""), sync()]
                .concat(),
        )
        .says(Server, [message(b'2', b""), error("23505"), ready()].concat())
        .says(
            Client,
            [parse("", "select broken $1"), bind("", "", "1"), execute(""), sync()].concat(),
        )
        .says(Server, [error("42601"), ready()].concat())
        .says(Client, [parse("", "select $1"), bind("c", "", "1"), execute("c"), sync()].concat())
        .says(
            Server,
            [message(b'1', b""), message(b'2', b""), row(), message(b's', b""), ready()].concat(),
        )
        .says(Client, query("copy t from stdin"))
        .says(Server, message(b'G', b"\0\0\x01\0\0"))
        .says(Client, [message(b'd', b"1\n2\n"), message(b'c', b"")].concat())
        .says(Server, [done("COPY 2"), ready()].concat())
        .says(Client, query("copy t to stdout"))
        .says(
            Server,
            [message(b'H', b"\0\0\x01\0\0"), message(b'd', b"1\n"), message(b'c', b"")].concat(),
        )
        .says(Server, [done("COPY 1"), ready()].concat())
        .says(Client, message(b'X', b""))
}

pub(super) const TOLD: &[&str] = &[
    "command: Connect | me@192.0.2.7/shop 3 ms",
    "select a from t | me@192.0.2.7/shop 1 ms rows 2 0",
    "insert into t values (1); select nothing | me@192.0.2.7/shop 1 ms error 42703",
    "select $1 ($1 = 'it''s') | me@192.0.2.7/shop 1 ms rows 1 0",
    "prepare: update t set a = $1 | me@192.0.2.7/shop 1 ms",
    "update t set a = $1 ($1 = '42') | me@192.0.2.7/shop 1 ms rows 0 3",
    "update t set a = $1 ($1 = '8') | me@192.0.2.7/shop 2 ms rows 0 4",
    "update t set a = $1 ($1 = '9') | me@192.0.2.7/shop 1 ms error 23505",
    "select broken $1 | me@192.0.2.7/shop 1 ms error 42601",
    "select $1 ($1 = '1') | me@192.0.2.7/shop 1 ms rows 1 0",
    "copy t from stdin | me@192.0.2.7/shop 3 ms rows 0 2",
    "copy t to stdout | me@192.0.2.7/shop 2 ms rows 1 0",
];

#[test]
fn everything_that_is_said_is_told() {
    let kept = read(Dialect::Postgres, &conversation().capture(5432));
    assert_eq!(lines(&kept), TOLD);
    assert_eq!(kept.not_understood, []);
    assert_eq!(kept.events[1].event.session, Some(42));
}

#[test]
fn a_server_on_any_port_is_known_by_the_first_message() {
    assert_eq!(lines(&read(Dialect::Postgres, &conversation().capture(40_001))), TOLD);
}

#[test]
fn encryption_is_refused_or_cannot_be_read() {
    let wish = startup(b"\x04\xD2\x16\x2F");
    let mut refused = Spoken::default().says(Client, wish.clone()).says(Server, *b"N");
    refused.0.extend(conversation().0);
    assert_eq!(lines(&read(Dialect::Postgres, &refused.capture(5432))), TOLD);
    let spoken =
        Spoken::default().says(Client, wish).says(Server, *b"S").says(Client, *b"\x16\x03");
    let kept = read(Dialect::Postgres, &spoken.capture(5432));
    assert_eq!((kept.events.len(), whys(&kept)), (0, vec!["a connection under TLS"]));
    let cancel = startup(b"\x04\xD2\x16\x2E\0\0\0\x2Akeys");
    let kept = read(Dialect::Postgres, &Spoken::default().says(Client, cancel).capture(5432));
    assert_eq!((kept.events.len(), kept.not_understood.len()), (0, 0));
}

#[test]
fn a_login_that_is_refused_has_its_error() {
    let spoken = Spoken::default()
        .says(Client, startup(b"\0\x03\0\0user\0me\0\0"))
        .says(Server, error("28P01"));
    let kept = read(Dialect::Postgres, &spoken.capture(5432));
    assert_eq!(lines(&kept), ["command: Connect | me@192.0.2.7/me 1 ms error 28P01"]);
}

#[test]
fn a_connection_without_its_begin_is_read_from_the_next_request_on() {
    let spoken = Spoken::default()
        .says(Server, [&b"rest of a row"[..], &ready()].concat())
        .says(Client, [bind("", "before", "1"), execute(""), sync()].concat())
        .says(Server, [message(b'2', b""), done("SELECT 0"), ready()].concat())
        .says(Client, query("select b"))
        .says(Server, [row(), done("SELECT 1"), ready()].concat());
    for port in [5432, 40_001] {
        let sent = spoken.segments(|| usize::MAX);
        let kept = read(Dialect::Postgres, &super::capture(&sent[2..], port, usize::MAX));
        assert_eq!(lines(&kept), ["select b | @192.0.2.7/ 1 ms rows 1 0"], "{port}");
        let why = "an execution of a statement whose text is not known";
        assert!(whys(&kept).contains(&why), "{:?}", whys(&kept));
    }
}
