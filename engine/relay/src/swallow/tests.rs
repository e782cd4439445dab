//! Sessions as bytes, cut at any place: what passes and what is swallowed.

use super::{Protocol, Rewrite, Swallow, rewriters};
use dyno_protocol::mysql::packet;
use dyno_protocol::postgres::messages;
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;

type Session = (Box<dyn Rewrite>, Option<Box<dyn Rewrite>>, Rc<Cell<u64>>);

fn session(protocol: Protocol, every: u32, number: u64) -> Session {
    let count = Rc::new(Cell::new(0));
    let swallow = Swallow { protocol, every, seed: 7 };
    let [to_server, to_client] = rewriters(Some(swallow), number, &count);
    (to_server.unwrap(), to_client, count)
}

fn fed(rewriter: &mut dyn Rewrite, pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![];
    for piece in pieces {
        rewriter.rewrite(piece, &mut out);
    }
    out
}

/// A login and commands of MySQL.
fn commands(flags: u32, payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![];
    packet::write(&mut out, 1, &[&flags.to_le_bytes()[..], &[0; 60]].concat());
    for payload in payloads {
        packet::write(&mut out, 0, payload);
    }
    out
}

fn query(sql: &str) -> Vec<u8> {
    let mut out = vec![];
    messages::message(b'Q', &mut out, |out| messages::string(sql.as_bytes(), out));
    out
}

fn tag(text: &str) -> Vec<u8> {
    let mut out = vec![];
    messages::message(b'C', &mut out, |out| messages::string(text.as_bytes(), out));
    out
}

#[test]
fn a_commit_of_mysql_becomes_a_rollback() {
    let long = vec![b'x'; 100_000];
    let before = commands(0, &[b"\x03BEGIN", &long, b"\x03commit ;", b"\x03\0\x01COMMIT", b"\x01"]);
    let after =
        commands(0, &[b"\x03BEGIN", &long, b"\x03ROLLBACK", b"\x03\0\x01ROLLBACK", b"\x01"]);
    let (mut to_server, to_client, count) = session(Protocol::Mysql, 1, 1);
    assert_eq!(fed(&mut *to_server, &[&before]), after);
    assert!(to_client.is_none() && count.get() == 2);
}

#[test]
fn what_only_contains_a_commit_passes() {
    let same = commands(
        0,
        &[
            b"\x03COMMITS",
            b"\x03COMMIT AND CHAIN",
            b"\x16COMMIT",
            b"\x03SELECT 'COMMIT'",
            b"",
            b"\x03",
        ],
    );
    let (mut to_server, _, count) = session(Protocol::Mysql, 1, 1);
    assert_eq!(fed(&mut *to_server, &[&same]), same);
    assert_eq!(count.get(), 0);
}

#[test]
fn what_cannot_be_read_passes() {
    let compressed = commands(1 << 5, &[b"\x03COMMIT"]);
    let mut tls = vec![];
    packet::write(&mut tls, 1, &[&(1_u32 << 11).to_le_bytes()[..], &[0; 28]].concat());
    packet::write(&mut tls, 0, b"\x03COMMIT");
    for same in [compressed, tls] {
        let (mut to_server, _, _) = session(Protocol::Mysql, 1, 1);
        assert_eq!(fed(&mut *to_server, &[&same]), same);
    }
    let (mut to_server, _, _) = session(Protocol::Postgres, 1, 1);
    let same = [&b"\0\0\0\x08\x04\xd2\x16\x2f\x16\x03\x01"[..], &query("COMMIT")].concat();
    assert_eq!(fed(&mut *to_server, &[&same]), same);
}

#[test]
fn a_commit_of_postgres_is_answered_as_one() {
    let (mut to_server, to_client, count) = session(Protocol::Postgres, 1, 1);
    let mut to_client = to_client.unwrap();
    let opening = [b"\0\0\0\x08\x04\xd2\x16\x2f".to_vec(), messages::startup(&[("user", "a")])];
    let opening = opening.concat();
    assert_eq!(fed(&mut *to_server, &[&opening]), opening);
    let welcome = [&b"N"[..], b"R\0\0\0\x08\0\0\0\0", b"Z\0\0\0\x05I"].concat();
    assert_eq!(fed(&mut *to_client, &[&welcome]), welcome);
    assert_eq!(fed(&mut *to_server, &[&query("ROLLBACK")]), query("ROLLBACK"));
    assert_eq!(fed(&mut *to_client, &[&tag("ROLLBACK")]), tag("ROLLBACK"));
    assert_eq!(fed(&mut *to_server, &[&query("COMMIT")]), query("ROLLBACK"));
    let answers = [tag("ROLLBACK"), tag("ROLLBACK")].concat();
    assert_eq!(fed(&mut *to_client, &[&answers]), [tag("COMMIT"), tag("ROLLBACK")].concat());
    assert_eq!(count.get(), 1);
}

#[test]
fn one_in_so_many_is_swallowed_and_again_the_same_ones() {
    let swallowed = |number| {
        let (mut to_server, _, count) = session(Protocol::Mysql, 100, number);
        let before = commands(0, &vec![&b"\x03COMMIT"[..]; 20_000]);
        (fed(&mut *to_server, &[&before]), count.get())
    };
    let (bytes, count) = swallowed(1);
    assert!((130..270).contains(&count), "{count}");
    assert_eq!(swallowed(1).0, bytes);
    assert_ne!(swallowed(2).0, bytes);
}

#[test]
fn nothing_is_rewritten_unless_asked_for() {
    let count = Rc::new(Cell::new(0));
    let none = Swallow { protocol: Protocol::Mysql, every: 0, seed: 0 };
    for swallow in [None, Some(none)] {
        assert!(rewriters(swallow, 1, &count).iter().all(Option::is_none));
    }
}

proptest! {
    #[test]
    fn cuts_change_nothing(cuts in proptest::collection::vec(0..600_usize, 0..12), every in 1..3_u32) {
        let mysql = commands(0, &[b"\x03BEGIN", &[b'x'; 300], b"\x03COMMIT", b"\x03COMMIT", b"\x01"]);
        let opening = messages::startup(&[("user", "a")]);
        let update = query("UPDATE t SET a = 1 WHERE id = 12345");
        let postgres = [opening, query("BEGIN"), query("COMMIT"), update, query("COMMIT")].concat();
        for (protocol, stream) in [(Protocol::Mysql, mysql), (Protocol::Postgres, postgres)] {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|at| &stream[at[0]..at[1]]).collect();
            let whole = fed(&mut *session(protocol, every, 1).0, &[&stream]);
            prop_assert_eq!(fed(&mut *session(protocol, every, 1).0, &pieces), whole);
        }
    }
}
