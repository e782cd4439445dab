//! Replies with any contents, split anywhere.

use super::script::*;
use crate::mysql::flags::capability::DEPRECATE_EOF;
use crate::mysql::flags::extended;
use crate::mysql::login::handshake::Agreed;
use crate::mysql::packet::{self, CONTROL_BYTES_MAX, HEADER_BYTES, PAYLOAD_BYTES_MAX};
use crate::mysql::reader::{Found, Reader};
use crate::mysql::reply::{Counted, Expect, Kept};
use dyno_core::driver::{Progress, Reply, Wire, WireProtocol};
use dyno_core::error::{Kind, Result};
use dyno_core::plan::Protocol;
use dyno_core::workload::Transaction;
use proptest::prelude::*;

const MORE: u16 = 8;

/// One result of a reply.
#[derive(Debug, Clone)]
pub enum Part {
    Ok(u8),
    /// Columns, whether their definitions are omitted, rows.
    Rows(u8, bool, Vec<Vec<u8>>),
    Refused(u16),
}

pub fn part() -> impl Strategy<Value = Part> {
    let row = prop::collection::vec(any::<u8>(), 0..20).prop_map(|tail| [vec![0], tail].concat());
    prop_oneof![
        (0..=250u8).prop_map(Part::Ok),
        (1..5u8, any::<bool>(), prop::collection::vec(row, 0..20))
            .prop_map(|(columns, cached, rows)| Part::Rows(columns, cached, rows)),
        (1..3000u16).prop_map(Part::Refused),
    ]
}

/// The bytes of a reply, and the expected outcome.
pub fn encode(
    parts: &[Part],
    deprecated: bool,
    caches: bool,
) -> (Vec<u8>, (u64, u64, Option<u16>)) {
    let (mut out, mut seq) = (vec![], 1u8);
    let (mut rows_seen, mut affected_seen) = (0, 0);
    let mut put = |payload: &[u8]| {
        seq = packet::write(&mut out, seq, payload);
    };
    for (index, part) in parts.iter().enumerate() {
        let status = if index + 1 < parts.len() { MORE } else { 2 };
        let [low, high] = status.to_le_bytes();
        match part {
            Part::Ok(affected) => {
                put(&[0, *affected, 0, low, high, 0, 0]);
                affected_seen += u64::from(*affected);
            }
            Part::Refused(code) => {
                put(&[&[0xff][..], &code.to_le_bytes(), b"#HY000no"].concat());
                return (out, (rows_seen, affected_seen, Some(*code)));
            }
            Part::Rows(columns, cached, rows) => {
                let cached = *cached && caches;
                let count = [*columns, u8::from(!cached)];
                put(if caches { &count } else { &count[..1] });
                if !cached {
                    (0..*columns).for_each(|_| put(b"\x03defetc"));
                }
                if !deprecated {
                    put(&[0xfe, 0, 0, 2, 0]);
                }
                rows.iter().for_each(|row| put(row));
                rows_seen += rows.len() as u64;
                match deprecated {
                    true => put(&[0xfe, 0, 0, low, high, 0, 0]),
                    false => put(&[0xfe, 0, 0, low, high]),
                }
            }
        }
    }
    (out, (rows_seen, affected_seen, None))
}

fn reader(deprecated: bool, caches: bool) -> Reader<Counted> {
    let capabilities = if deprecated { DEPRECATE_EOF } else { 0 };
    let extended = if caches { extended::CACHE_METADATA } else { 0 };
    Reader::new(&Agreed { capabilities, extended })
}

/// Feeds `bytes` in pieces that end at `cuts`; unconsumed bytes are fed again.
fn feed_cut(reader: &mut Reader<Counted>, bytes: &[u8], cuts: &[usize]) -> Result<(usize, Found)> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut at = 0;
    for end in ends {
        let (consumed, found) = reader.feed(&bytes[at..end.max(at)])?;
        at += consumed;
        if found != Found::More {
            return Ok((at, found));
        }
        assert!(end.saturating_sub(at) <= HEADER_BYTES + CONTROL_BYTES_MAX);
    }
    Ok((at, Found::More))
}

proptest! {
    #[test]
    fn a_reply_means_the_same_wherever_it_is_cut(
        parts in prop::collection::vec(part(), 1..4),
        cuts in prop::collection::vec(any::<usize>(), 0..40),
        deprecated: bool,
        caches: bool,
    ) {
        let caches = caches && deprecated;
        let (bytes, want) = encode(&parts, deprecated, caches);
        let mut reader = reader(deprecated, caches);
        reader.begin(Expect::Result);
        // The bytes after the reply belong to the next one.
        let followed = [&bytes[..], b"\x01\0\0"].concat();
        prop_assert_eq!(feed_cut(&mut reader, &followed, &cuts).unwrap(), (bytes.len(), Found::Done));
        let code = reader.reply.refusal.as_ref().map(|refusal| refusal.number as u16);
        prop_assert_eq!((reader.reply.rows, reader.reply.affected, code), want);
    }

    #[test]
    fn every_single_cut(parts in prop::collection::vec(part(), 1..3), deprecated: bool) {
        let (bytes, want) = encode(&parts, deprecated, false);
        for cut in 0..bytes.len() {
            let mut reader = reader(deprecated, false);
            reader.begin(Expect::Result);
            let found = feed_cut(&mut reader, &bytes, &[cut]).unwrap();
            prop_assert_eq!(found, (bytes.len(), Found::Done));
            prop_assert_eq!((reader.reply.rows, reader.reply.affected), (want.0, want.1));
        }
    }

    #[test]
    fn changed_bytes_are_an_error_or_another_reply_but_never_a_panic(
        parts in prop::collection::vec(part(), 1..4),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        expect in prop_oneof![
            Just(Expect::Result), Just(Expect::FirstRow), Just(Expect::Prepared), Just(Expect::Infile)
        ],
        deprecated: bool,
    ) {
        let (mut bytes, _) = encode(&parts, deprecated, false);
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let mut reader = reader(deprecated, false);
        reader.begin(expect);
        if let Err(error) = feed_cut(&mut reader, &bytes, &[]) {
            prop_assert_eq!(error.kind, Kind::Protocol);
        }
    }

    #[test]
    fn random_bytes_end_no_phase_in_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        phase in 0..9,
    ) {
        let mut line = match phase {
            0 => Line::open(&target(), &statements(), false),
            6.. => array_line(),
            _ => Line::ready(&target(), &statements()),
        };
        let mut tx = Transaction::default();
        tx.int(1);
        tx.op(1);
        let sent = &mut line.sent;
        match phase {
            1 => line.wire.request(&tx.ops[0], &tx, sent),
            2 => line.wire.query("SELECT 1", sent),
            3 | 6 => line.wire.bulk("t", &["a"], sent),
            7 => begin_array(&mut line),
            8 => {
                begin_array(&mut line);
                line.wire.bulk_data(b"1\n2\n", &mut line.sent);
                line.wire.bulk_end(&mut line.sent);
            }
            _ => {}
        }
        let mut at = 0;
        while let Ok((consumed, _)) = line.wire.receive(&bytes[at..], &mut line.sent) {
            at += consumed;
            if consumed == 0 {
                break;
            }
        }
    }
}

#[test]
fn the_first_row_of_a_query_is_kept_as_text() {
    let rows = [b"\x02ab\xfb\x00".to_vec(), b"\x01z\xfb\xfb".to_vec()];
    for deprecated in [true, false] {
        let (bytes, _) = encode(&[Part::Rows(3, false, rows.to_vec())], deprecated, false);
        for cut in 0..bytes.len() {
            let mut reader = reader(deprecated, false);
            reader.begin(Expect::FirstRow);
            feed_cut(&mut reader, &bytes, &[cut]).unwrap();
            assert_eq!(reader.reply.first_row, [Some("ab".into()), None, Some(String::new())]);
            assert_eq!(reader.reply.rows, 2);
        }
    }
}

#[test]
fn a_row_longer_than_a_packet_is_one_row() {
    for extra in [0, 1, 100] {
        let mut row = vec![0xfe];
        row.resize(PAYLOAD_BYTES_MAX + extra, 1);
        let (bytes, _) = encode(&[Part::Rows(1, false, vec![row, vec![0]])], true, false);
        let mut reader = reader(true, false);
        reader.begin(Expect::Result);
        let cuts: Vec<usize> = (0..2000).map(|i| i * 9001).collect();
        assert_eq!(feed_cut(&mut reader, &bytes, &cuts).unwrap(), (bytes.len(), Found::Done));
        assert_eq!(reader.reply.rows, 2);
    }
}

#[test]
fn a_control_packet_is_not_waited_for_without_end() {
    let mut reader = reader(true, false);
    reader.begin(Expect::Result);
    let error = reader.feed(b"\xff\xff\xff\x01\x05rest").unwrap_err();
    assert_eq!(error.kind, Kind::Protocol);
}

#[test]
fn a_packet_out_of_order_is_noticed() {
    let mut reader = reader(true, false);
    reader.begin(Expect::Result);
    let bytes = [framed(1, &[1]), framed(3, b"\x03def")].concat();
    assert_eq!(reader.feed(&bytes).unwrap_err().kind, Kind::Protocol);
}

#[test]
fn a_farewell_amid_or_between_requests_is_a_lost_connection() {
    for code in [1053, 1927, 4031] {
        let mut line = Line::ready(&target(), &[]);
        let error = line.hear(&refusal(0, code, "HY000", "bye")).unwrap_err();
        assert_eq!(error.kind, Kind::Connection, "{error}");
        let mut line = Line::ready(&target(), &[]);
        line.wire.query("SELECT 1", &mut line.sent);
        let error = line.hear(&refusal(1, code, "HY000", "bye")).unwrap_err();
        assert_eq!(error.kind, Kind::Connection, "{error}");
    }
    let mut line = Line::ready(&target(), &[]);
    assert_eq!(line.hear(&ok(1, 0, 0)).unwrap_err().kind, Kind::Protocol);
}

#[test]
fn types_travel_with_the_first_execution_only() {
    let mut line = Line::ready(&target(), &statements());
    let mut tx = Transaction::default();
    tx.int(1);
    tx.op(1);
    let mut lengths = vec![];
    for _ in 0..3 {
        line.sent.clear();
        line.wire.request(&tx.ops[0], &tx, &mut line.sent);
        assert_eq!(&line.sent[4..9], b"\x17\x05\0\0\0");
        lengths.push(line.sent.len());
        let want = Reply { rows: 0, affected: 3, ..Reply::default() };
        assert_eq!(line.hear(&ok(1, 3, 2)), Ok(Progress::Reply(want)));
    }
    assert_eq!(lengths[0], lengths[1] + 2);
    assert_eq!(lengths[1], lengths[2]);
}

#[test]
fn the_servers_status_decides_how_strings_are_quoted() {
    let mut target = target();
    target.protocol = Protocol::Text;
    let mut line = Line::ready(&target, &statements());
    let mut tx = Transaction::default();
    tx.text(|arena| arena.push(b'\\'));
    tx.int(1);
    tx.op(2);
    for (status, want) in [(0x0200, "c='\\\\'"), (2, "c='\\'"), (2, "c='\\\\'")] {
        line.sent.clear();
        line.wire.request(&tx.ops[0], &tx, &mut line.sent);
        assert!(String::from_utf8_lossy(&line.sent).contains(want), "{want}");
        line.hear(&ok(1, 0, status)).unwrap();
    }
}

fn infile_request(name: &str) -> Vec<u8> {
    framed(1, &[b"\xfb", name.as_bytes()].concat())
}

#[test]
fn only_the_offered_file_is_sent_and_only_when_offered() {
    let mut line = Line::ready(&target(), &[]);
    line.wire.bulk("t", &["a"], &mut line.sent);
    assert_eq!(line.hear(&infile_request("/etc/passwd")).unwrap_err().kind, Kind::Protocol);

    let mut line = Line::ready(&target(), &[]);
    line.wire.query("SELECT 1", &mut line.sent);
    assert_eq!(line.hear(&infile_request("dbdyno")).unwrap_err().kind, Kind::Protocol);

    let mut line = Line::ready(&target(), &[]);
    line.wire.bulk("t", &["a"], &mut line.sent);
    assert_eq!(line.hear(&infile_request("dbdyno")), Ok(Progress::WantData));
    line.sent.clear();
    line.wire.bulk_data(b"1\n", &mut line.sent);
    line.wire.bulk_data(b"2\n", &mut line.sent);
    line.wire.bulk_end(&mut line.sent);
    assert_eq!(line.packets(), [(2, b"1\n".to_vec()), (3, b"2\n".to_vec()), (4, vec![])]);
    let want = Reply { rows: 0, affected: 2, ..Reply::default() };
    assert_eq!(line.hear(&ok(5, 2, 2)), Ok(Progress::Reply(want)));
}

/// Logged in to a server that supports arrays.
fn array_line() -> Line {
    let mut target = target();
    target.options.insert("bulk".into(), "array".into());
    Line::ready_mariadb(&target, &[])
}

/// The reply to the query for the server's maximum packet length.
fn longest_packet(text: &str) -> Vec<u8> {
    let row = [&[text.len() as u8][..], text.as_bytes()].concat();
    encode(&[Part::Rows(1, false, vec![row])], true, false).0
}

/// From `bulk` to the request for rows.
fn begin_array(line: &mut Line) {
    line.sent.clear();
    line.wire.bulk("t", &["a"], &mut line.sent);
    assert_eq!(line.packets(), [(0, b"\x16INSERT INTO `t` (`a`) VALUES (?)".to_vec())]);
    let prepared = b"\x0c\0\0\x01\0\x05\0\0\0\0\0\x01\0\0\0\0\x03\0\0\x02abc";
    assert_eq!(line.hear(prepared), Ok(Progress::More));
    assert_eq!(line.packets(), [(0, b"\x03BEGIN".to_vec())]);
    assert_eq!(line.hear(&ok(1, 0, 3)), Ok(Progress::More));
    // Space for 24 bytes: one packet would be too small for three rows of at most eleven.
    assert_eq!(line.hear(&longest_packet("1048")), Ok(Progress::WantData));
    line.sent.clear();
}

#[test]
fn arrays_are_one_transaction_and_their_statement_is_closed() {
    const HEAD: &[u8] = b"\xfa\x05\0\0\0\x80\0\xfc\0";
    let mut line = array_line();
    for refused in [false, true, false] {
        begin_array(&mut line);
        line.wire.bulk_data(b"1\n2\n", &mut line.sent);
        line.wire.bulk_data(b"3\n", &mut line.sent);
        line.wire.bulk_end(&mut line.sent);
        let arrays = line.packets();
        assert_eq!(arrays[0], (0, [HEAD, b"\0\x011\0\x012"].concat()));
        assert_eq!(arrays[1..], [(0, [HEAD, b"\0\x013"].concat())]);
        let first = if refused { refusal(1, 1062, "23000", "dup") } else { ok(1, 2, 3) };
        assert_eq!(line.hear(&[first, ok(1, 1, 3)].concat()), Ok(Progress::More));
        let end: &[u8] = if refused { b"\x03ROLLBACK" } else { b"\x03COMMIT" };
        assert_eq!(line.packets(), [(0, b"\x19\x05\0\0\0".to_vec()), (0, end.to_vec())]);
        let Ok(Progress::Reply(reply)) = line.hear(&ok(1, 0, 2)) else { panic!("no reply") };
        let code = reply.error.map(|error| error.code);
        let want = if refused { (0, Some("1062".to_string())) } else { (3, None) };
        assert_eq!((reply.affected, code), want);
    }
}

#[test]
fn arrays_are_for_servers_that_take_them() {
    let mut target = target();
    let mut line = Line::ready_mariadb(&target, &[]);
    begin_array(&mut line);
    let mut line = Line::ready(&target, &[]);
    line.wire.bulk("t", &["a"], &mut line.sent);
    assert!(line.packets()[0].1.starts_with(b"\x03LOAD DATA"));
    target.options.insert("bulk".into(), "array".into());
    let mut line = Line::open(&target, &[], false);
    line.hear(&greeting(PLAIN | DEPRECATE_EOF, "mysql_native_password")).unwrap();
    let error = line.hear(&ok(2, 0, 2)).unwrap_err();
    assert!(error.kind == Kind::Plan && error.hint.contains("auto"), "{error}");
}

#[test]
fn a_refused_preparation_or_commit_is_the_loads() {
    let mut line = array_line();
    line.wire.bulk("t", &["a"], &mut line.sent);
    let said = line.hear(&refusal(1, 1146, "42S02", "no such table"));
    let Ok(Progress::Reply(reply)) = said else { panic!("no reply") };
    assert_eq!(reply.error.unwrap().code, "1146");
    begin_array(&mut line);
    line.wire.bulk_data(b"1\n", &mut line.sent);
    line.wire.bulk_end(&mut line.sent);
    line.hear(&ok(1, 1, 3)).unwrap();
    let said = line.hear(&refusal(1, 1062, "23000", "dup"));
    let Ok(Progress::Reply(reply)) = said else { panic!("no reply") };
    assert_eq!((reply.error.unwrap().code.as_str()), "1062");
}

#[test]
fn a_refused_file_turns_into_inserts_and_stays_so() {
    let mut line = Line::ready(&target(), &[]);
    for round in 0..2 {
        line.sent.clear();
        line.wire.bulk("t", &["a"], &mut line.sent);
        if round == 0 {
            line.hear(&refusal(1, 3948, "42000", "Loading local data is disabled")).unwrap();
        }
        assert!(line.packets()[0].1.ends_with(b"@@max_allowed_packet"));
        let limit = encode(&[Part::Rows(1, false, vec![b"\x041048".to_vec()])], true, false).0;
        assert_eq!(line.hear(&limit), Ok(Progress::WantData));
        line.sent.clear();
        // Space for 24 bytes: each row needs its own packet.
        line.wire.bulk_data(b"1\n2\n3\n", &mut line.sent);
        line.wire.bulk_end(&mut line.sent);
        assert_eq!(line.packets().len(), 3);
        let replies = [ok(1, 1, 2), refusal(1, 1062, "23000", "dup"), ok(1, 1, 2)].concat();
        let Ok(Progress::Reply(reply)) = line.hear(&replies) else { panic!("no reply") };
        assert_eq!((reply.affected, reply.error.unwrap().code.as_str()), (2, "1062"));
    }
}

/// A definition of a 32-bit integer column.
fn integer_column() -> Vec<u8> {
    let mut out = vec![];
    ["def", "d", "t", "t", "c", "c"].iter().for_each(|name| {
        packet::put_lenenc_bytes(&mut out, name.as_bytes());
    });
    out.extend_from_slice(&[0x0c, 63, 0, 11, 0, 0, 0, 3, 0, 0, 0, 0, 0]);
    out
}

fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let (mut out, mut seq) = (vec![], 1);
    for payload in payloads {
        seq = packet::write(&mut out, seq, payload);
    }
    out
}

#[test]
fn rows_are_kept_whole_however_they_are_cut_and_columns_are_remembered() {
    let kept = Kept { statement: 3, is_binary: true };
    let (column, end) = (integer_column(), [0xfe, 0, 0, 2, 0, 0, 0]);
    let first: [&[u8]; 5] = [&[1, 1], &column, b"\0\0\x07\0\0\0", b"\0\x04", &end];
    let again: [&[u8]; 3] = [&[1, 0], b"\0\0\xff\xff\xff\xff", &end];
    for cut in 0..packets(&first).len() {
        let mut reader = reader(true, true);
        reader.begin(Expect::Rows(kept));
        let bytes = packets(&first);
        assert_eq!(feed_cut(&mut reader, &bytes, &[cut]).unwrap(), (bytes.len(), Found::Done));
        assert_eq!(format!("{:?}", reader.reply.kept), r#"[[Some("7")], [None]]"#);
        // The server omits unchanged definitions.
        reader.begin(Expect::Rows(kept));
        let bytes = packets(&again);
        assert_eq!(feed_cut(&mut reader, &bytes, &[cut]).unwrap(), (bytes.len(), Found::Done));
        assert_eq!(format!("{:?}", reader.reply.kept), r#"[[Some("-1")]]"#);
        assert_eq!(reader.reply.rows, 1);
        // It has sent none for another statement.
        reader.begin(Expect::Rows(Kept { statement: 1, is_binary: true }));
        assert!(feed_cut(&mut reader, &bytes, &[cut]).is_err());
    }
}

#[test]
fn rows_of_the_text_protocol_are_kept_as_they_are() {
    let column = integer_column();
    let answer: [&[u8]; 4] = [&[1], &column, b"\x0212", &[0xfe, 0, 0, 2, 0, 0, 0]];
    let mut reader = reader(true, false);
    reader.begin(Expect::Rows(Kept { statement: 0, is_binary: false }));
    let bytes = packets(&answer);
    assert_eq!(feed_cut(&mut reader, &bytes, &[]).unwrap(), (bytes.len(), Found::Done));
    assert_eq!(format!("{:?}", reader.reply.kept), r#"[[Some("12")]]"#);
}
