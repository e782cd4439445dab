//! The client against scripted servers: requests byte by byte, whole conversations split at every
//! place, and invalid input.

mod cut_or_damaged;
mod endless;

use super::build;
use dyno_core::Result;
use dyno_core::driver::client::{Answer, Bind, Client, Nature};
use dyno_core::driver::{Cancel, Progress};
use dyno_core::error::Kind as ErrorKind;
use dyno_core::plan::{Address, Secret, Target, Tls};

type Message<'a> = (u8, &'a [u8]);

fn target() -> Target {
    Target {
        driver: "postgres".into(),
        address: Address::Tcp { host: "127.0.0.1".into(), port: 5432 },
        user: "ann".into(),
        password: Secret("pencil".into()),
        database: String::new(),
        protocol: Default::default(),
        tls: Tls::Off,
        tls_extras: dyno_core::plan::TlsExtras::default(),
        login: Default::default(),
        session_sql: Vec::new(),
        read_only: false,
        options: Default::default(),
    }
}

fn client(target: &Target) -> Box<dyn Client> {
    match build(target).and_then(|clients| clients()) {
        Ok(Nature::Wire(client)) => client,
        Ok(Nature::Blocking(_)) => panic!("postgres is a wire"),
        Err(error) => panic!("{error}"),
    }
}

/// Messages of the server.
fn script(messages: &[Message<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (tag, body) in messages {
        out.push(*tag);
        out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        out.extend_from_slice(body);
    }
    out
}

const AUTH_OK: Message<'_> = (b'R', &[0, 0, 0, 0]);
const KEY: Message<'_> = (b'K', &[0, 0, 0, 9, 1, 2, 3, 4]);
const IDLE: Message<'_> = (b'Z', b"I");
const DEADLOCK: Message<'_> =
    (b'E', b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0DProcess 1 waits\0\0");
const SHUTDOWN: Message<'_> = (b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
const NOTICE: Message<'_> = (b'N', b"SNOTICE\0Mhello\0\0");
const STATUS: Message<'_> = (b'S', b"server_version\x0015.1\0");
const HELLO: Message<'_> = (b'D', b"\0\x01\0\0\0\x05hello");
const NULL: Message<'_> = (b'D', b"\0\x01\xff\xff\xff\xff");
/// A RowDescription of one column; the client ignores the rest.
const ONE_COLUMN: Message<'_> = (b'T', b"\0\x01c\0............");

/// Feeds `bytes` in pieces as a transport would, up to the first event: the event, the sent bytes,
/// the bytes consumed.
fn feed(
    client: &mut dyn Client,
    bytes: &[u8],
    mut cut: impl FnMut() -> usize,
) -> Result<(Progress<()>, Vec<u8>, usize)> {
    let (mut buffer, mut out, mut given, mut used) = (Vec::new(), Vec::new(), 0, 0);
    loop {
        let (consumed, said) = client.receive(&buffer, &mut out)?;
        assert!(consumed <= buffer.len());
        buffer.drain(..consumed);
        used += consumed;
        if said != Progress::More || given == bytes.len() {
            return Ok((said, out, used));
        }
        let piece = cut().clamp(1, bytes.len() - given);
        buffer.extend_from_slice(&bytes[given..given + piece]);
        given += piece;
    }
}

fn whole(client: &mut dyn Client, messages: &[Message<'_>]) -> Result<(Progress<()>, Vec<u8>)> {
    feed(client, &script(messages), || usize::MAX).map(|(said, out, _)| (said, out))
}

/// A connection that accepts requests.
fn ready() -> Box<dyn Client> {
    let mut client = client(&target());
    client.connected(false, &mut Vec::new());
    let said = whole(&mut *client, &[AUTH_OK, KEY, IDLE]).unwrap().0;
    assert_eq!(said, Progress::Ready);
    client
}

fn answers(client: &mut dyn Client, messages: &[Message<'_>]) -> Vec<Answer> {
    let (said, out) = whole(client, messages).unwrap();
    assert_eq!((said, out.len()), (Progress::Reply(()), 0));
    client.answers().to_vec()
}

/// Prepares a statement of one column and one parameter.
fn prepare(client: &mut dyn Client) -> u32 {
    client.prepare(b"SELECT c FROM t WHERE id=?", &mut Vec::new());
    let answer = [(b'1', &b""[..]), (b't', b"\0\x01\0\0\0\x17"), ONE_COLUMN, IDLE];
    assert_eq!(answers(client, &answer), [Answer::default()]);
    let (statement, parameters) = client.prepared();
    assert_eq!(parameters, 1);
    statement
}

fn row(client: &dyn Client, answer: usize, row: u64) -> Vec<Option<Vec<u8>>> {
    let mut values = Vec::new();
    client.fetch(answer, row, &mut |value| values.push(value.map(<[u8]>::to_vec))).unwrap();
    values
}

fn result(fields: u32, rows: u64, affected: u64) -> Answer {
    Answer { fields, rows, affected, error: None }
}

#[test]
fn session_sql_runs_before_anything_else() {
    let mut target = target();
    target.session_sql = vec!["SET a = 1".into(), "SELECT 2".into()];
    let mut client = client(&target);
    client.connected(false, &mut Vec::new());
    let (said, out) = whole(&mut *client, &[AUTH_OK, STATUS, KEY, IDLE]).unwrap();
    assert_eq!(said, Progress::More);
    assert_eq!(out, b"Q\0\0\0\x0eSET a = 1\0Q\0\0\0\x0dSELECT 2\0");
    let done = (b'C', &b"SET\0"[..]);
    let rest = [done, IDLE, ONE_COLUMN, HELLO, (b'C', b"SELECT 1\0"), IDLE];
    assert_eq!(whole(&mut *client, &rest).unwrap().0, Progress::Ready);
    assert!(client.answers().is_empty());
    let Cancel::Packet(packet) = client.cancel() else { panic!("no key") };
    assert_eq!(packet[8..], [0, 0, 0, 9, 1, 2, 3, 4]);
}

#[test]
fn scripts_are_guarded_too() {
    let mut target = target();
    target.read_only = true;
    let hears = |answer: &[u8], status: &'static [u8]| {
        let mut client = client(&target);
        client.connected(false, &mut Vec::new());
        let (_, out) = whole(&mut *client, &[AUTH_OK, STATUS, KEY, IDLE]).unwrap();
        assert!(out.ends_with(b"SHOW transaction_read_only\0"));
        let row = [&[0, 1, 0, 0, 0, answer.len() as u8], answer].concat();
        let said = [(b'C', &b"SET\0"[..]), IDLE, ONE_COLUMN, (b'D', &row), (b'C', b"SHOW\0")];
        let said = [&said[..], &[(b'Z', status)]].concat();
        whole(&mut *client, &said).map(|(said, _)| (said, client))
    };
    let (said, mut client) = hears(b"on", b"I").unwrap();
    assert_eq!(said, Progress::Ready);
    client.query(b"SELECT lift()", &mut Vec::new());
    let lifted = (b'S', &b"default_transaction_read_only\0off\0"[..]);
    assert!(whole(&mut *client, &[ONE_COLUMN, lifted]).is_err());
    assert_eq!(hears(b"off", b"I").err().unwrap().kind, ErrorKind::Plan);
    assert!(hears(b"on", b"T").err().unwrap().what.contains("transaction open"));
}

#[test]
fn setup_refusals_name_the_statement() {
    let mut target = target();
    target.session_sql = vec!["SET a = 1".into(), "SET b = 2".into()];
    let mut client = client(&target);
    client.connected(false, &mut Vec::new());
    let script = [AUTH_OK, IDLE, (b'C', b"SET\0"), IDLE, DEADLOCK];
    let error = whole(&mut *client, &script).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Server);
    assert!(error.what.contains("`SET b = 2`"), "{error}");
}

#[test]
fn a_query_is_sent_as_it_is() {
    let mut client = ready();
    let mut out = Vec::new();
    client.query(b"SELECT '?', 1 ? 2", &mut out);
    assert_eq!(out, b"Q\0\0\0\x16SELECT '?', 1 ? 2\0");
    answers(&mut *client, &[(b'I', b""), IDLE]);
    out.clear();
    client.query(b"A\0B", &mut out);
    assert_eq!(out, b"Q\0\0\0\x06A\0");
}

#[test]
fn every_statement_of_a_query_is_a_result() {
    let mut client = ready();
    client.query(b"SELECT 1; UPDATE t SET a=1; SELECT 2", &mut Vec::new());
    let script = [
        ONE_COLUMN,
        HELLO,
        NOTICE,
        NULL,
        (b'C', b"SELECT 2\0"),
        (b'C', b"UPDATE 7\0"),
        STATUS,
        ONE_COLUMN,
        (b'C', b"SELECT 0\0"),
        (b'A', b"\0\0\0\x01channel\0\0"),
        IDLE,
    ];
    let expected = [result(1, 2, 0), result(0, 0, 7), result(1, 0, 0)];
    assert_eq!(answers(&mut *client, &script), expected);
    assert_eq!(row(&*client, 0, 0), [Some(b"hello".to_vec())]);
    assert_eq!(row(&*client, 0, 1), [None]);
    let ignore = &mut |_: Option<&[u8]>| ();
    for (answer, row) in [(0, 2), (1, 0), (2, 0), (3, 0)] {
        let error = client.fetch(answer, row, ignore).unwrap_err();
        assert!(error.what.contains(&format!("row {row} of result {answer}")), "{error}");
    }
    // An empty query has a result too, and the next request discards the last results.
    client.query(b"", &mut Vec::new());
    assert_eq!(answers(&mut *client, &[(b'I', b""), IDLE]), [Answer::default()]);
    assert!(client.fetch(0, 0, ignore).is_err());
}

#[test]
fn a_refusal_ends_the_results() {
    let mut client = ready();
    client.query(b"UPDATE t; SELECT 1/0", &mut Vec::new());
    let script = [(b'C', &b"UPDATE 3\0"[..]), ONE_COLUMN, HELLO, DEADLOCK, (b'Z', b"E")];
    let got = answers(&mut *client, &script);
    assert_eq!((got.len(), &got[0]), (2, &result(0, 0, 3)));
    assert_eq!((got[1].fields, got[1].rows), (0, 0));
    let error = got[1].error.as_deref().unwrap();
    assert_eq!((error.number, error.state.as_str()), (0, "40P01"));
    assert_eq!(error.message, "deadlock detected");
    client.query(b"ROLLBACK", &mut Vec::new());
    assert_eq!(answers(&mut *client, &[(b'C', b"ROLLBACK\0"), IDLE]), [Answer::default()]);
}

#[test]
fn statements_are_prepared_and_executed() {
    let mut client = ready();
    let mut out = Vec::new();
    client.prepare(b"SELECT ? + '?'", &mut out);
    let flight = b"P\0\0\0\x19s0\0SELECT $1 + '?'\0\0\0D\0\0\0\x08Ss0\0S\0\0\0\x04";
    assert_eq!(out, flight, "{}", out.escape_ascii());
    let described = [(b'1', &b""[..]), (b't', b"\0\x01\0\0\0\x17"), ONE_COLUMN, IDLE];
    assert_eq!(answers(&mut *client, &described), [Answer::default()]);
    assert_eq!(client.prepared(), (0, 1));
    out.clear();
    client.execute(0, &[Bind::Int(-5)], &mut out);
    let bind = b"B\0\0\0\x14\0s0\0\0\0\0\x01\0\0\0\x02-5\0\0";
    assert_eq!(out, [&bind[..], b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"].concat());
    let script = [(b'2', &b""[..]), HELLO, HELLO, (b'C', b"SELECT 2\0"), IDLE];
    assert_eq!(answers(&mut *client, &script), [result(1, 2, 0)]);
    assert_eq!(row(&*client, 0, 1), [Some(b"hello".to_vec())]);
    // Without rows the columns are still known.
    client.execute(0, &[Bind::Null], &mut Vec::new());
    assert_eq!(answers(&mut *client, &[(b'2', b""), (b'C', b"SELECT 0\0"), IDLE]).len(), 1);
    assert_eq!(client.answers(), [result(1, 0, 0)]);
    client.prepare(b"UPDATE t SET a = 1", &mut Vec::new());
    answers(&mut *client, &[(b'1', b""), (b't', b"\0\0"), (b'n', b""), IDLE]);
    assert_eq!(client.prepared(), (1, 0));
    client.execute(1, &[], &mut Vec::new());
    let script = [(b'2', &b""[..]), (b'C', b"UPDATE 7\0"), IDLE];
    assert_eq!(answers(&mut *client, &script), [result(0, 0, 7)]);
}

#[test]
fn numbers_of_ended_statements_are_used_again_and_never_twice() {
    let mut client = ready();
    let numbers = [prepare(&mut *client), prepare(&mut *client), prepare(&mut *client)];
    assert_eq!(numbers, [0, 1, 2]);
    let mut out = Vec::new();
    for _ in 0..2 {
        out.clear();
        assert!(client.close(1, &mut out), "the server answers");
        assert_eq!(out, b"C\0\0\0\x08Ss1\0S\0\0\0\x04");
        assert_eq!(answers(&mut *client, &[(b'3', b""), IDLE]), [Answer::default()]);
    }
    client.prepare(b"nonsense ?", &mut out);
    let refused = (b'E', &b"SERROR\0VERROR\0C42601\0Msyntax error\0P1\0\0"[..]);
    let got = answers(&mut *client, &[refused, IDLE]);
    let error = got[0].error.as_deref().unwrap();
    assert_eq!(error.message, "ERROR:  syntax error\nLINE 1: nonsense $1\n        ^\n");
    assert_eq!([prepare(&mut *client), prepare(&mut *client)], [1, 3]);
    client.close(99, &mut out);
    answers(&mut *client, &[(b'3', b""), IDLE]);
    assert_eq!(prepare(&mut *client), 4);
}

#[test]
fn copies_are_given_up_and_dropped() {
    let mut client = ready();
    client.query(b"COPY t FROM STDIN", &mut Vec::new());
    let (said, out) = whole(&mut *client, &[(b'G', b"\0\0\x01\0\0")]).unwrap();
    assert_eq!((said, out[0]), (Progress::More, b'f'));
    let cancelled = (b'E', &b"SERROR\0VERROR\0C57014\0MCOPY from stdin failed\0\0"[..]);
    let got = answers(&mut *client, &[cancelled, IDLE]);
    assert_eq!(got[0].error.as_ref().map(|error| error.state.as_str()), Some("57014"));
    client.query(b"COPY t TO STDOUT", &mut Vec::new());
    let data = (b'd', &b"1\tx\n"[..]);
    let script = [(b'H', &b"\0\0\x01\0\0"[..]), data, data, (b'c', b""), (b'C', b"COPY 2\0"), IDLE];
    assert_eq!(answers(&mut *client, &script), [Answer::default()]);
    let statement = prepare(&mut *client);
    client.execute(statement, &[], &mut Vec::new());
    let (_, out) = whole(&mut *client, &[(b'2', b""), (b'G', b"\0\0\x01\0\0")]).unwrap();
    assert_eq!((out[0], &out[out.len() - 5..]), (b'f', &b"S\0\0\0\x04"[..]), "and a new Sync");
    assert_eq!(answers(&mut *client, &[cancelled, IDLE]).len(), 1);
}

#[test]
fn the_servers_farewell_is_a_lost_connection() {
    let mut idle = ready();
    let error = whole(&mut *idle, &[SHUTDOWN]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Connection);
    assert!(error.hint.contains("shut down"), "{error}");
    assert!(whole(&mut *idle, &[IDLE]).is_err(), "of no more use");
    let mut busy = ready();
    busy.query(b"SELECT 1", &mut Vec::new());
    let script = [ONE_COLUMN, HELLO, SHUTDOWN];
    assert_eq!(whole(&mut *busy, &script).unwrap_err().kind, ErrorKind::Connection);
    let mut opening = client(&target());
    opening.connected(false, &mut Vec::new());
    assert_eq!(whole(&mut *opening, &[SHUTDOWN]).unwrap_err().kind, ErrorKind::Connection);
}

#[test]
fn large_rows_are_taken_in_pieces() {
    let mut client = ready();
    let statement = prepare(&mut *client);
    client.execute(statement, &[], &mut Vec::new());
    let size = 5 << 20;
    let mut body = vec![0, 1];
    body.extend_from_slice(&(size as u32).to_be_bytes());
    body.resize(size + 6, b'x');
    for piece in script(&[(b'2', b""), (b'D', &body)]).chunks(1000) {
        let (consumed, said) = client.receive(piece, &mut Vec::new()).unwrap();
        assert_eq!((consumed, said), (piece.len(), Progress::More));
    }
    assert_eq!(answers(&mut *client, &[(b'C', b"SELECT 1\0"), IDLE]), [result(1, 1, 0)]);
    assert_eq!(row(&*client, 0, 0)[0].as_ref().map(Vec::len), Some(size));
}

#[test]
fn rows_that_are_none_are_refused_when_they_are_looked_at() {
    let mut client = ready();
    client.query(b"SELECT 1", &mut Vec::new());
    let rows: [&[u8]; 5] =
        [b"", b"\0\x02\0\0\0\x01a", b"\0\x01\0\0\0\x09a", b"\0\0a", b"\0\x01\x80\0\0\0"];
    let mut script = vec![ONE_COLUMN];
    script.extend(rows.map(|body| (b'D', body)));
    script.extend([(b'C', &b"SELECT 5\0"[..]), IDLE]);
    answers(&mut *client, &script);
    for row in 0..5 {
        let error = client.fetch(0, row, &mut |_| ()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Protocol, "row {row}");
    }
}

#[test]
fn answers_to_nothing_and_to_something_else_are_refused() {
    let refused = |client: &mut dyn Client, messages: &[Message<'_>]| {
        assert_eq!(whole(client, messages).unwrap_err().kind, ErrorKind::Protocol);
    };
    refused(&mut *ready(), &[IDLE]);
    refused(&mut *ready(), &[HELLO]);
    let mut client = ready();
    client.query(b"", &mut Vec::new());
    refused(&mut *client, &[IDLE]);
    let mut client = ready();
    client.query(b"", &mut Vec::new());
    refused(&mut *client, &[(b'Z', b"X")]);
    let mut client = ready();
    client.close(0, &mut Vec::new());
    refused(&mut *client, &[(b'C', b"SELECT 1\0")]);
    let mut client = ready();
    client.prepare(b"", &mut Vec::new());
    refused(&mut *client, &[HELLO]);
    for rubbish in [&b"HTTP/1.1 400 Bad Request\r\n"[..], b"R\0\0\0\x03", b"Z\0\0\0\x05I"] {
        let mut client = super::tests::client(&target());
        client.connected(false, &mut Vec::new());
        let error = client.receive(rubbish, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Protocol, "{}", rubbish.escape_ascii());
    }
}

/// The outcome of a conversation: event, sent bytes, answers, the first row of the first answer.
type Heard = (Progress<()>, Vec<u8>, Vec<Answer>, Vec<Option<Vec<u8>>>);
