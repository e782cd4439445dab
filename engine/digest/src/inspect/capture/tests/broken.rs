//! Tests of incomplete and damaged captures.

use super::super::position::Side::{self, Client, Server};
use super::mysql::{TOLD, conversation, ok, packet, query};
use super::{Dialect, Sent, Spoken, capture, header, lines, postgres, read, record, whys};
use crate::logs::format::{Context, Settings, read_as_stream};
use crate::logs::formats::FORMATS;
use crate::sink::{Kept, Part};
use proptest::prelude::*;

/// Statements `select 0` and so on, each answered by OK.
fn statements(count: usize) -> Vec<Sent> {
    let mut spoken = Spoken::default();
    for n in 0..count {
        spoken = spoken.says(Client, query(&format!("select {n}")));
        spoken = spoken.says(Server, packet(1, &ok(n as u8)));
    }
    spoken.segments(|| usize::MAX)
}

fn texts(kept: &Kept) -> Vec<&str> {
    kept.events.iter().map(|event| event.text.as_str()).collect()
}

const GAP: &str = "packets before this one are not in the capture";

#[test]
fn a_lost_request_costs_one_statement() {
    let mut sent = statements(50);
    // After the two packets of the handshake, requests and answers alternate.
    sent.remove(2 + 2 * 3);
    let kept = read(Dialect::Mysql, &capture(&sent, 3306, usize::MAX));
    assert_eq!(kept.events.len(), 49);
    assert!(!texts(&kept).contains(&"select 3"));
    assert!(kept.events.iter().all(|event| event.event.duration_ns == Some(1_000_000)));
    assert_eq!(whys(&kept), [GAP]);
}

#[test]
fn a_lost_answer_costs_its_time() {
    let mut sent = statements(50);
    sent.remove(2 + 2 * 3 + 1);
    let kept = read(Dialect::Mysql, &capture(&sent, 3306, usize::MAX));
    assert_eq!(kept.events.len(), 50);
    let unknown: Vec<&str> = (kept.events.iter())
        .filter(|event| event.event.duration_ns.is_none())
        .map(|event| event.text.as_str())
        .collect();
    assert_eq!((unknown, whys(&kept)), (vec!["select 3"], vec![GAP]));
}

#[test]
fn a_side_alone_is_told_or_counted() {
    let side = |side: Side| {
        let sent = conversation().segments(|| usize::MAX);
        let sent: Vec<Sent> = sent.into_iter().filter(|sent| sent.side == side).collect();
        read(Dialect::Mysql, &capture(&sent, 3306, usize::MAX))
    };
    let server = side(Server);
    assert_eq!(server.events, []);
    assert!(server.not_understood.len() > 5, "{:?}", server.not_understood);
    assert!(server.not_understood.iter().all(|&(offset, bytes, _)| offset > 0 && bytes > 40));
    assert!(side(Client).events.len() > 5);
}

#[test]
fn a_farewell_answers_nothing() {
    let spoken = Spoken::default()
        .says(Client, query("select 1"))
        .says(Server, packet(1, &ok(0)))
        .says(Server, packet(0, b"\xFF\xBF\x0F#HY000Disconnected"));
    let kept = read(Dialect::Mysql, &spoken.capture(3306));
    assert_eq!((kept.events.len(), whys(&kept)), (1, vec![]));
    let spoken = spoken.says(Server, packet(1, &ok(0)));
    let kept = read(Dialect::Mysql, &spoken.capture(3306));
    assert_eq!(kept.events.len(), 1);
    assert!(whys(&kept)[0].contains("answers nothing that was asked"));
}

#[test]
fn packets_that_were_not_kept_whole_are_told() {
    let spoken = Spoken::default()
        .says(Client, query(&format!("select '{}'", "x".repeat(100))))
        .says(Server, packet(1, &ok(0)))
        .says(Client, query("select 1"))
        .says(Server, packet(1, &ok(0)));
    let kept = read(Dialect::Mysql, &capture(&spoken.segments(|| usize::MAX), 3306, 96));
    assert_eq!(lines(&kept), ["select 1 | @192.0.2.7/ 1 ms rows 0 0"]);
    assert_eq!(whys(&kept), ["a statement that the capture does not have whole"]);
    let kept = read(Dialect::Mysql, &capture(&spoken.segments(|| usize::MAX), 3306, 42));
    assert_eq!(kept.events.len(), 0);
    assert!(!kept.not_understood.is_empty());
}

#[test]
fn ends_are_used_again_by_other_connections() {
    let sent = conversation().segments(|| usize::MAX);
    let twice = |first: &[Sent]| {
        let mut file = capture(first, 3306, usize::MAX);
        let mut later = sent.clone();
        // The other connection has other sequence numbers.
        later.iter_mut().for_each(|sent| sent.position = sent.position.wrapping_add(1 << 28));
        let back: Vec<Sent> = later
            .into_iter()
            .map(|sent| Sent {
                received: if sent.flags & 16 == 0 {
                    0
                } else {
                    sent.received.wrapping_add(1 << 28)
                },
                ..sent
            })
            .collect();
        file.extend(&capture(&back, 3306, usize::MAX)[24..]);
        lines(&read(Dialect::Mysql, &file))
    };
    assert_eq!(twice(&sent), [TOLD, TOLD].concat());
    // Without the end of the first connection.
    assert_eq!(twice(&sent[..sent.len() - 3]), [TOLD, TOLD].concat());
}

#[test]
fn an_answer_that_never_comes_leaves_a_statement_without_time() {
    let spoken = Spoken::default().says(Client, query("select sleep(9)"));
    let kept = read(Dialect::Mysql, &spoken.capture(3306));
    assert_eq!(lines(&kept), ["select sleep(9) | @192.0.2.7/"]);
}

#[test]
fn other_traffic_is_passed_over_but_not_if_it_is_all_there_is() {
    let web =
        Spoken::default().says(Client, *b"GET / HTTP/1.1\r\n\r\n").says(Server, *b"HTTP/1.1 200");
    let kept = read(Dialect::Mysql, &web.capture(8080));
    assert_eq!(kept.events.len(), 0);
    let why = "no connection of a database was recognised: name the server's port (--port)";
    assert_eq!(kept.not_understood, [(0, 30, why)]);
    let both = [&conversation().capture(3306)[..], &web.capture(8080)].concat();
    let kept = read(Dialect::Mysql, &both);
    assert_eq!(
        (lines(&kept), kept.not_understood.len()),
        (TOLD.iter().map(|t| t.to_string()).collect(), 0)
    );
}

#[test]
fn requests_without_end_in_one_packet_are_read() {
    // More requests than may wait for answers, and than a recursive decoder's stack would hold.
    let pings = packet(0, b"\x0E").repeat(12_000);
    let sent = Spoken::default().says(Client, pings).segments(|| usize::MAX);
    let kept = read(Dialect::Mysql, &capture(&sent[2..], 40_001, usize::MAX));
    assert!(whys(&kept).contains(&"more requests wait for answers than are kept"));
    let pings = packet(0, b"\x0E").repeat(4000);
    let sent = Spoken::default().says(Client, pings).segments(|| usize::MAX);
    let kept = read(Dialect::Mysql, &capture(&sent[2..], 40_001, usize::MAX));
    assert_eq!(kept.events.len(), 4000);
}

#[test]
fn the_dialect_is_found_out() {
    let format = |capture: &[u8]| FORMATS.iter().find(|kind| (kind.detect)(capture)).unwrap().name;
    let (mysql, postgres) = (conversation(), postgres::conversation());
    assert_eq!(format(&mysql.capture(3306)), "mysql-capture");
    assert_eq!(format(&mysql.capture(9)), "mysql-capture");
    assert_eq!(format(&postgres.capture(5432)), "postgres-capture");
    assert_eq!(format(&postgres.capture(9)), "postgres-capture");
    assert_eq!(format(&header()), "mysql-capture");
    let kept = read(Dialect::Mysql, &postgres.capture(5432));
    assert_eq!(whys(&kept)[0], "a connection of PostgreSQL: the format postgres-capture reads it");
}

#[test]
fn a_named_port_is_the_only_one() {
    let kind = FORMATS.iter().find(|kind| kind.name == "mysql-capture").unwrap();
    for (ports, count) in [(vec![3307], TOLD.len()), (vec![3308], 0)] {
        let settings = Settings { ports, ..Settings::default() };
        let format = (kind.open)(&settings, b"").unwrap();
        let log = conversation().capture(3307);
        let (mut kept, part) = (Kept::default(), Part { bytes: &log, offset: 0, is_last: true });
        format.read(part, &mut Context::default(), &mut kept);
        assert_eq!(kept.events.len(), count);
    }
}

#[test]
fn a_capture_that_comes_in_pieces_gives_the_same() {
    let log = conversation().capture(3306);
    let kind = FORMATS.iter().find(|kind| kind.name == "mysql-capture").unwrap();
    let format = (kind.open)(&Settings::default(), &log).unwrap();
    for piece in [30, 97, 1000] {
        let kept = read_as_stream(&*format, &log, piece);
        assert_eq!(lines(&kept), TOLD, "{piece}");
        assert_eq!(kept.not_understood, []);
    }
}

proptest! {
    #[test]
    fn damage_never_ends_in_a_panic_and_pieces_do_not_matter(
        seed in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        lost in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        is_mysql in any::<bool>(),
        snap in prop_oneof![Just(usize::MAX), 20..200_usize],
        piece in 20..3000_usize,
    ) {
        let (name, spoken) = if is_mysql {
            ("mysql-capture", conversation())
        } else {
            ("postgres-capture", postgres::conversation())
        };
        let mut sent = spoken.segments(|| 70);
        for index in lost {
            sent.remove(index.index(sent.len()));
        }
        let mut log = header();
        sent.iter().for_each(|sent| log.extend(record(sent, 3306, snap)));
        for (at, byte) in seed {
            let at = at.index(log.len());
            log[at] = byte;
        }
        let kind = FORMATS.iter().find(|kind| kind.name == name).unwrap();
        let format = (kind.open)(&Settings::default(), &log).unwrap();
        let whole = read_as_stream(&*format, &log, log.len());
        let pieces = read_as_stream(&*format, &log, piece);
        prop_assert_eq!(whole.events, pieces.events);
        prop_assert_eq!(whole.not_understood, pieces.not_understood);
    }
}
