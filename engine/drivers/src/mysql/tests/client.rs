//! The client for scripts against scripted servers, byte by byte.

use super::replies::{Part, encode, part};
use super::script::*;
use crate::mysql::client::build;
use crate::mysql::flags::capability::{
    CLIENT_MYSQL, COMPRESS, DEPRECATE_EOF, LOCAL_FILES, MULTI_STATEMENTS,
};
use crate::mysql::flags::{extended, field_type};
use crate::mysql::packet::{self, PAYLOAD_BYTES_MAX, put_lenenc_bytes};
use dyno_core::driver::client::{Answer, Bind, Client, Nature};
use dyno_core::driver::{Cancel, Progress};
use dyno_core::error::{Kind, Result};
use dyno_core::plan::Target;
use proptest::prelude::*;

/// A client and its sent bytes.
struct Line {
    client: Box<dyn Client>,
    sent: Vec<u8>,
}

impl Line {
    fn open(target: &Target) -> Self {
        let Nature::Wire(client) = build(target).unwrap()().unwrap() else {
            panic!("mysql is a wire")
        };
        let mut this = Self { client, sent: vec![] };
        this.client.connected(true, &mut this.sent);
        assert!(this.sent.is_empty(), "the server speaks first");
        this
    }

    /// A client logged in to a server with these capabilities.
    fn ready(target: &Target, capabilities: u32) -> Self {
        let mut this = Self::open(target);
        let hello = greeting(capabilities, "mysql_native_password");
        assert_eq!(this.hear(&hello, &[]), Ok((hello.len(), Progress::More)));
        assert_eq!(this.hear(&ok(2, 0, 2), &[]).unwrap().1, Progress::Ready);
        this.sent.clear();
        this
    }

    /// Feeds the server's `bytes` in pieces that end at `cuts`; unconsumed bytes are fed again.
    fn hear(&mut self, bytes: &[u8], cuts: &[usize]) -> Result<(usize, Progress<()>)> {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let mut at = 0;
        for end in ends {
            let (consumed, said) = self.client.receive(&bytes[at..end.max(at)], &mut self.sent)?;
            at += consumed;
            if said != Progress::More {
                return Ok((at, said));
            }
        }
        Ok((at, Progress::More))
    }

    fn query(&mut self) {
        self.client.query(b"SELECT 1", &mut self.sent);
    }

    /// Prepares a statement with one column of this type.
    fn prepare(&mut self, kind: u8) -> u32 {
        self.client.prepare(b"SELECT ?", &mut self.sent);
        let head = [0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
        let definition = definition(kind);
        let reply = framed_all(&[&head, &definition, &definition]);
        assert_eq!(self.hear(&reply, &[]), Ok((reply.len(), Progress::Reply(()))));
        let (statement, params) = self.client.prepared();
        assert_eq!(params, 1);
        statement
    }

    fn row(&self, answer: usize, row: u64) -> Result<Vec<Option<Vec<u8>>>> {
        let mut fields = vec![];
        self.client.fetch(answer, row, &mut |field| fields.push(field.map(<[u8]>::to_vec)))?;
        Ok(fields)
    }
}

fn framed_all(payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![];
    payloads.iter().fold(1, |seq, payload| packet::write(&mut out, seq, payload));
    out
}

fn definition(kind: u8) -> Vec<u8> {
    let mut out = vec![];
    ["def", "", "", "", "c", ""]
        .iter()
        .for_each(|name| put_lenenc_bytes(&mut out, name.as_bytes()));
    out.extend_from_slice(&[0x0c, 45, 0, 11, 0, 0, 0, kind, 0, 0, 31, 0, 0]);
    out
}

const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

/// The expected answer for each result of `parts`.
fn answers(parts: &[Part]) -> Vec<Answer> {
    let mut answers = vec![];
    for part in parts {
        answers.push(match part {
            Part::Ok(affected) => Answer { affected: (*affected).into(), ..Answer::default() },
            Part::Rows(columns, _, rows) => {
                Answer { fields: (*columns).into(), rows: rows.len() as u64, ..Answer::default() }
            }
            Part::Refused(_) => Answer::default(),
        });
        if matches!(part, Part::Refused(_)) {
            break;
        }
    }
    answers
}

/// Whether the server's error, if any, ends the connection.
fn is_farewell(parts: &[Part]) -> bool {
    let refused = parts.iter().find_map(|part| match part {
        Part::Refused(code) => Some(u32::from(*code)),
        _ => None,
    });
    refused.is_some_and(crate::mysql::errors::is_farewell)
}

proptest! {
    #[test]
    fn all_results_are_kept_wherever_a_reply_is_cut(
        parts in prop::collection::vec(part(), 1..4),
        cuts in prop::collection::vec(any::<usize>(), 0..40),
        deprecated: bool,
    ) {
        prop_assume!(!is_farewell(&parts));
        let (bytes, (_, _, code)) = encode(&parts, deprecated, false);
        let mut line = Line::ready(&target(), PLAIN | if deprecated { DEPRECATE_EOF } else { 0 });
        line.query();
        // The bytes after the reply belong to the next one.
        let followed = [&bytes[..], b"\x01\0\0"].concat();
        prop_assert_eq!(line.hear(&followed, &cuts), Ok((bytes.len(), Progress::Reply(()))));
        let mut heard = line.client.answers().to_vec();
        let error = heard.last_mut().unwrap().error.take();
        prop_assert_eq!(error.map(|error| error.number), code.map(u32::from));
        prop_assert_eq!(heard, answers(&parts));
        for (answer, part) in parts.iter().take(line.client.answers().len()).enumerate() {
            let Part::Rows(1, _, rows) = part else { continue };
            for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.len() == 1) {
                prop_assert_eq!(row, &[0]);
                prop_assert_eq!(line.row(answer, index as u64), Ok(vec![Some(vec![])]));
            }
        }
    }

    #[test]
    fn changed_bytes_are_an_error_or_another_reply_but_never_a_panic(
        parts in prop::collection::vec(part(), 1..4),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6),
        request in 0..3,
        caches: bool,
    ) {
        let (mut bytes, _) = encode(&parts, true, caches);
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let server = if caches { PLAIN & !CLIENT_MYSQL } else { PLAIN };
        let mut line = Line::ready(&target(), server | DEPRECATE_EOF);
        let statement = line.prepare(field_type::DATETIME);
        match request {
            0 => line.query(),
            1 => line.client.execute(statement, &[Bind::Null], &mut line.sent),
            _ => line.client.prepare(b"SELECT 1", &mut line.sent),
        }
        match line.hear(&bytes, &[]) {
            Err(error) => prop_assert!([Kind::Protocol, Kind::Connection].contains(&error.kind)),
            Ok(_) => {
                for (index, answer) in line.client.answers().iter().enumerate() {
                    (0..answer.rows.min(30)).for_each(|row| drop(line.row(index, row)));
                }
            }
        }
    }
}

#[test]
fn binary_rows_are_read_by_the_columns_that_came_last() {
    // A MariaDB, which may omit definitions.
    let mut hello = greeting((PLAIN | DEPRECATE_EOF) & !CLIENT_MYSQL, "mysql_native_password");
    let flags = hello.windows(4).rposition(|four| four == extended::STMT_BULK.to_le_bytes());
    hello[flags.unwrap()] |= extended::CACHE_METADATA as u8;
    let mut line = Line::open(&target());
    line.hear(&hello, &[]).unwrap();
    line.hear(&ok(2, 0, 2), &[]).unwrap();
    let statement = line.prepare(field_type::SHORT);
    let mut execute = |payloads: &[&[u8]]| {
        line.client.execute(statement, &[Bind::Int(1)], &mut line.sent);
        let reply = framed_all(payloads);
        assert_eq!(line.hear(&reply, &[3, 7]), Ok((reply.len(), Progress::Reply(()))));
        String::from_utf8(line.row(0, 0).unwrap().remove(0).unwrap()).unwrap()
    };
    assert_eq!(execute(&[&[1, 0], &[0, 0, 0xfe, 0xff], END]), "-2");
    let long = definition(field_type::LONGLONG);
    assert_eq!(execute(&[&[1, 1], &long, &[0, 0, 5, 0, 0, 0, 0, 0, 0, 0], END]), "5");
    assert_eq!(execute(&[&[1, 0], &[0, 0, 6, 0, 0, 0, 0, 0, 0, 0], END]), "6");
    // After the close, the rows remain readable.
    line.client.close(statement, &mut line.sent);
    assert_eq!(line.row(0, 0), Ok(vec![Some(b"6".to_vec())]));
    assert_eq!(line.row(0, 1).unwrap_err().kind, Kind::Plan);
}

#[test]
fn rows_go_on_over_packet_borders() {
    for length in [PAYLOAD_BYTES_MAX - 4, PAYLOAD_BYTES_MAX - 3] {
        let mut row = vec![];
        put_lenenc_bytes(&mut row, &vec![b'x'; length - 4]);
        row.extend_from_slice(b"\x01y");
        let definition = definition(field_type::VAR_STRING);
        let reply = framed_all(&[&[2], &definition, &definition, &row, b"\x01a\x01b", END]);
        let mut line = Line::ready(&target(), PLAIN | DEPRECATE_EOF);
        line.query();
        assert_eq!(line.hear(&reply, &[1 << 20]), Ok((reply.len(), Progress::Reply(()))));
        assert_eq!(line.client.answers()[0].rows, 2);
        let fields = line.row(0, 0).unwrap();
        assert_eq!(fields[0].as_ref().unwrap().len(), length - 4);
        assert_eq!(fields[1].as_deref(), Some(&b"y"[..]));
        assert_eq!(line.row(0, 1), Ok(vec![Some(b"a".to_vec()), Some(b"b".to_vec())]));
    }
}

#[test]
fn a_farewell_is_a_lost_connection_and_says_why() {
    let farewell = refusal(0, 4031, "HY000", "idle for too long");
    for is_busy in [false, true] {
        let mut line = Line::ready(&target(), PLAIN);
        if is_busy {
            line.query();
        }
        assert_eq!(line.hear(&farewell[..5], &[]), Ok((0, Progress::More)));
        assert_eq!(line.client.parting(), None);
        assert_eq!(line.hear(&farewell, &[]).unwrap_err().kind, Kind::Connection);
        let parting = line.client.parting().unwrap();
        assert_eq!((parting.number, parting.state.as_str()), (4031, "HY000"));
        assert_eq!(parting.message, "idle for too long");
    }
    let mut line = Line::ready(&target(), PLAIN);
    assert_eq!(line.hear(&ok(0, 0, 2), &[]).unwrap_err().kind, Kind::Protocol);
}

#[test]
fn a_refused_login_says_why() {
    let mut line = Line::open(&target());
    let error = line.hear(&refusal(0, 1040, "08004", "Too many connections"), &[]).unwrap_err();
    assert_eq!(error.kind, Kind::Connection);
    assert_eq!(line.client.parting().unwrap().number, 1040);
    assert_eq!(line.client.cancel(), Cancel::Close);
}

#[test]
fn no_file_is_given_and_many_statements_only_where_wanted() {
    let wants = |target: &Target| {
        let mut line = Line::open(target);
        line.hear(&greeting(PLAIN | MULTI_STATEMENTS, "mysql_native_password"), &[]).unwrap();
        assert_eq!(line.client.cancel(), Cancel::Statement("KILL 7".into()));
        u32::from_le_bytes(line.sent[4..8].try_into().unwrap())
    };
    let many = wants(&target());
    assert_eq!(many & (LOCAL_FILES | MULTI_STATEMENTS), MULTI_STATEMENTS);
    let mut one = target();
    one.options.insert("multi_statements".into(), false.into());
    assert_eq!(wants(&one), many & !MULTI_STATEMENTS);
    let mut line = Line::ready(&target(), PLAIN);
    line.query();
    let asked = framed(1, b"\xfb/etc/passwd");
    assert_eq!(line.hear(&asked, &[]).unwrap_err().kind, Kind::Protocol);
}

#[test]
fn unknown_options_are_refused_with_those_that_are_known() {
    for (name, value) in [("bulk", "auto".into()), ("metadata", true.into())] {
        let mut target = target();
        target.options.insert(name.into(), value);
        let error = build(&target).err().unwrap();
        assert_eq!(error.kind, Kind::Plan);
        assert!(error.what.contains(name) && error.hint.contains("multi_statements"), "{error}");
    }
}

#[test]
fn session_statements_run_before_anything_else() {
    let mut target = target();
    target.session_sql = vec!["SET x=1".into()];
    let open = || {
        let mut line = Line::open(&target);
        line.hear(&greeting(PLAIN, "mysql_native_password"), &[]).unwrap();
        line.sent.clear();
        assert_eq!(line.hear(&ok(2, 0, 2), &[]).unwrap().1, Progress::More);
        assert_eq!(line.sent, framed(0, b"\x03SET x=1"));
        line
    };
    assert_eq!(open().hear(&ok(1, 0, 2), &[]).unwrap().1, Progress::Ready);
    let refused = refusal(1, 1193, "HY000", "Unknown system variable 'x'");
    let error = open().hear(&refused, &[]).unwrap_err();
    assert_eq!(error.kind, Kind::Server);
    assert!(error.what.contains("SET x=1") && error.what.contains("1193"), "{error}");
}

#[test]
fn scripts_are_guarded_too() {
    let mut target = target();
    target.read_only = true;
    let asked = || {
        let mut line = Line::open(&target);
        line.hear(&greeting(PLAIN, "mysql_native_password"), &[]).unwrap();
        line.hear(&ok(2, 0, 2), &[]).unwrap();
        line.hear(&ok(1, 0, 2), &[]).unwrap();
        line.sent.clear();
        assert_eq!(line.hear(&ok(1, 0, 2), &[]).unwrap().1, Progress::More);
        assert!(line.sent[4..].starts_with(b"\x03SHOW SESSION VARIABLES"));
        line
    };
    let answer = |value: &[u8]| {
        let row = [&[value.len() as u8][..], value].concat();
        let end = b"\xfe\0\0\x02\0";
        let packets = [&b"\x01"[..], b"abc", end, &row, end];
        let framed = (1..).zip(packets).flat_map(|(seq, payload)| framed(seq, payload));
        framed.collect::<Vec<u8>>()
    };
    assert_eq!(asked().hear(&answer(b"ON"), &[]).unwrap().1, Progress::Ready);
    for not_held in [answer(b"OFF"), ok(1, 0, 2)] {
        assert_eq!(asked().hear(&not_held, &[]).unwrap_err().kind, Kind::Plan);
    }
}

/// Wraps a packet in a compressed packet of its own, not compressed.
fn stored(packet: &[u8]) -> Vec<u8> {
    let mut out = vec![packet.len() as u8, 0, 0, 1, 0, 0, 0];
    out.extend_from_slice(packet);
    out
}

#[test]
fn what_comes_after_the_login_is_compressed_where_both_want_it() {
    let mut target = target();
    target.options.insert("compression".into(), "zlib".into());
    target.session_sql = vec!["SET a=1".into()];
    for offered in [COMPRESS, 0] {
        let mut line = Line::open(&target);
        let hello = greeting(PLAIN | offered, "mysql_native_password");
        line.hear(&hello, &[]).unwrap();
        line.sent.clear();
        assert_eq!(line.hear(&ok(2, 0, 2), &[]).unwrap().1, Progress::More);
        let plain = b"\x08\0\0\0\x03SET a=1";
        if offered == 0 {
            assert_eq!(line.sent, plain);
            continue;
        }
        assert_eq!(line.sent, [b"\x0c\0\0\0\0\0\0".as_slice(), plain].concat());
        let heard = stored(&ok(1, 0, 2));
        assert_eq!(line.hear(&heard, &[]), Ok((heard.len(), Progress::Ready)));
    }
    target.options.insert("compression".into(), "zstd".into());
    let error = build(&target).err().unwrap();
    assert!(error.what.contains("zstd") && error.hint.contains("zlib"), "{error}");
}

#[test]
fn a_compressed_reply_is_the_same_wherever_it_is_cut() {
    let mut target = target();
    target.options.insert("compression".into(), "zlib".into());
    // Two compressed packets; one inner packet spans both.
    let reply = ok(1, 7, 2);
    let (front, back) = reply.split_at(6);
    let heard = [stored(front), stored(back)].concat();
    for cut in 0..=heard.len() {
        let mut line = Line::ready(&target, PLAIN | COMPRESS);
        line.query();
        let mut at = 0;
        let mut said = Progress::More;
        for end in [cut, heard.len()] {
            let (taken, found) = line.client.receive(&heard[at..end], &mut line.sent).unwrap();
            at += taken;
            said = found;
            if said != Progress::More {
                break;
            }
        }
        assert_eq!((at, said), (heard.len(), Progress::Reply(())), "{cut}");
        assert_eq!(line.client.answers()[0].affected, 7);
    }
}
