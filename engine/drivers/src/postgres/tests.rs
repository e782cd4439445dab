//! The state machine against scripted servers: whole conversations, split at every place, and
//! invalid input.

mod cut_or_damaged;
mod opening;

use super::KIND;
use dyno_core::Result;
use dyno_core::driver::{Cancel, Progress, Reply, Session, Wire};
use dyno_core::error::{Error, Kind as ErrorKind};
use dyno_core::plan::{Address, Protocol, Secret, Target, Tls};
use dyno_core::workload::{Effect, ParamType, Request, Transaction};

fn target() -> Target {
    Target {
        driver: "postgres".into(),
        address: Address::Tcp { host: "127.0.0.1".into(), port: 5432 },
        user: "ann".into(),
        password: Secret("pencil".into()),
        database: String::new(),
        protocol: Protocol::Prepared,
        tls: Tls::Off,
        tls_extras: dyno_core::plan::TlsExtras::default(),
        login: Default::default(),
        session_sql: Vec::new(),
        read_only: false,
        options: Default::default(),
    }
}

fn statements() -> Vec<Request> {
    let statement = |class, kind, sql: &str, params: &[ParamType]| {
        Request::new(class, kind, sql, params.to_vec())
    };
    vec![
        statement("begin", Effect::BeginWrite, "", &[]),
        statement("point_select", Effect::Read, "SELECT c FROM t WHERE id=?", &[ParamType::Int]),
        statement("commit", Effect::Commit, "", &[]),
    ]
}

fn wire(target: &Target) -> Box<dyn Wire> {
    match (KIND.build)(target, statements().into()).and_then(|driver| driver.session(0)) {
        Ok(Session::Wire(wire)) => wire,
        Ok(_) => panic!("postgres is a wire"),
        Err(error) => panic!("{error}"),
    }
}

fn refused(change: impl FnOnce(&mut Target)) -> Error {
    let mut target = target();
    change(&mut target);
    match (KIND.build)(&target, statements().into()) {
        Ok(_) => panic!("accepted"),
        Err(error) => error,
    }
}

/// A message of the server.
fn from_server(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
    out
}

fn script(messages: &[(u8, &[u8])]) -> Vec<u8> {
    messages.iter().flat_map(|(tag, body)| from_server(*tag, body)).collect()
}

const AUTH_OK: (u8, &[u8]) = (b'R', &[0, 0, 0, 0]);
const KEY: (u8, &[u8]) = (b'K', &[0, 0, 0, 9, 1, 2, 3, 4]);
const IDLE: (u8, &[u8]) = (b'Z', b"I");
const DEADLOCK: (u8, &[u8]) =
    (b'E', b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0DProcess 1 waits\0\0");

/// Feeds `bytes` in pieces of `cut(n)` bytes as a transport would, up to the first event; returns
/// it with the sent bytes and the number of bytes consumed.
fn feed(
    wire: &mut dyn Wire,
    bytes: &[u8],
    mut cut: impl FnMut() -> usize,
) -> Result<(Progress, Vec<u8>, usize)> {
    let (mut buffer, mut out, mut given, mut used) = (Vec::new(), Vec::new(), 0, 0);
    loop {
        let (consumed, progress) = wire.receive(&buffer, &mut out)?;
        assert!(consumed <= buffer.len());
        buffer.drain(..consumed);
        used += consumed;
        if progress != Progress::More || given == bytes.len() {
            return Ok((progress, out, used));
        }
        let piece = cut().clamp(1, bytes.len() - given);
        buffer.extend_from_slice(&bytes[given..given + piece]);
        given += piece;
    }
}

fn whole(wire: &mut dyn Wire, messages: &[(u8, &[u8])]) -> Result<(Progress, Vec<u8>)> {
    let bytes = script(messages);
    feed(wire, &bytes, || usize::MAX).map(|(progress, out, _)| (progress, out))
}

/// A session that accepts requests.
fn ready(target: &Target) -> Box<dyn Wire> {
    log_in(wire(target), target)
}

fn log_in(mut wire: Box<dyn Wire>, target: &Target) -> Box<dyn Wire> {
    wire.connected(false, &mut Vec::new());
    let (progress, _) = whole(&mut *wire, &[AUTH_OK, KEY, IDLE]).unwrap();
    if progress == Progress::More {
        let mut rest = vec![IDLE; target.session_sql.len()];
        if target.protocol == Protocol::Prepared {
            rest.extend([(b'1', &b""[..]), IDLE]);
        }
        let (progress, _) = whole(&mut *wire, &rest).unwrap();
        assert_eq!(progress, Progress::Ready);
    }
    wire
}

fn point_select(wire: &mut dyn Wire) {
    let mut tx = Transaction::default();
    tx.int(7);
    tx.op(1);
    wire.request(&tx.ops[0], &tx, &mut Vec::new());
}

fn reply(wire: &mut dyn Wire, messages: &[(u8, &[u8])]) -> Reply {
    match whole(wire, messages) {
        Ok((Progress::Reply(reply), _)) => reply,
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_are_counted_and_tags_parsed() {
    let mut wire = ready(&target());
    point_select(&mut *wire);
    let row = (b'D', &b"\0\x01\0\0\0\x02ab"[..]);
    let notice = (b'N', &b"SNOTICE\0Mhello\0\0"[..]);
    let answer = [(b'2', &b""[..]), row, notice, row, (b'C', b"SELECT 2\0"), IDLE];
    assert_eq!(reply(&mut *wire, &answer), Reply { rows: 2, affected: 0, ..Reply::default() });
    for (tag, affected) in [
        (&b"INSERT 0 17\0"[..], 17),
        (b"UPDATE 3\0", 3),
        (b"DELETE 0\0", 0),
        (b"MERGE 5\0", 5),
        (b"CREATE TABLE\0", 0),
        (b"COPY 9\0", 0),
        (b"DROP TABLE\0", 0),
        (b"INSERT 0 99999999999999999999999\0", u64::MAX),
    ] {
        point_select(&mut *wire);
        assert_eq!(reply(&mut *wire, &[(b'2', b""), (b'C', tag), IDLE]).affected, affected);
    }
}

#[test]
fn errors_are_data_until_the_connection_ends() {
    let mut wire = ready(&target());
    point_select(&mut *wire);
    let error = reply(&mut *wire, &[DEADLOCK, (b'Z', b"E")]).error.unwrap();
    assert_eq!(error.code, "40P01");
    assert_eq!(error.message, "statement point_select: deadlock detected (Process 1 waits)");
    assert!(error.retryable && !error.rolled_back);
    point_select(&mut *wire);
    let unique = (b'E', &b"SFEHLER\0VERROR\0C23505\0Mduplicate\0\0"[..]);
    let error = reply(&mut *wire, &[unique, IDLE]).error.unwrap();
    assert!(!error.retryable && error.rolled_back);
    point_select(&mut *wire);
    let shutdown = (b'E', &b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"[..]);
    let error = whole(&mut *wire, &[shutdown]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Connection);
    assert!(error.hint.contains("shut down"), "{error}");
    assert!(whole(&mut *wire, &[IDLE]).is_err(), "useless from then on");
    let error = whole(&mut *ready(&target()), &[shutdown]).unwrap_err();
    assert!(error.what.contains("57P01"), "also while nothing is in flight: {error}");
}

#[test]
fn login_errors_have_hints() {
    for (code, kind, hint) in [
        ("28P01", ErrorKind::Authentication, "password"),
        ("3D000", ErrorKind::Plan, "create the database"),
        ("53300", ErrorKind::Connection, "max_connections"),
        ("57P03", ErrorKind::Connection, "starting up"),
    ] {
        let mut wire = wire(&target());
        wire.connected(false, &mut Vec::new());
        let body = format!("SFATAL\0VFATAL\0C{code}\0Mno\0\0");
        let error = whole(&mut *wire, &[(b'E', body.as_bytes())]).unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.hint.contains(hint) && error.what.contains("127.0.0.1:5432"), "{error}");
    }
}

#[test]
fn a_commit_answered_by_rollback_is_an_error() {
    let mut wire = ready(&target());
    let mut tx = Transaction::default();
    tx.op(2);
    let mut out = Vec::new();
    wire.request(&tx.ops[0], &tx, &mut out);
    assert_eq!(out, b"Q\0\0\0\x0bCOMMIT\0");
    let error = reply(&mut *wire, &[(b'C', b"ROLLBACK\0"), IDLE]).error.unwrap();
    assert_eq!((error.code.as_str(), error.rolled_back), ("25P02", true));
    wire.request(&tx.ops[0], &tx, &mut out);
    assert_eq!(reply(&mut *wire, &[(b'C', b"COMMIT\0"), IDLE]), Reply::default());
}

#[test]
fn the_first_row_of_a_query_is_kept() {
    let mut wire = ready(&target());
    wire.query("SELECT", &mut Vec::new());
    let first = (b'D', &b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff"[..]);
    let second = (b'D', &b"\0\x01\0\0\0\x01z"[..]);
    let answer = [(b'T', &b"..."[..]), first, second, (b'C', b"SELECT 2\0"), IDLE];
    assert_eq!(reply(&mut *wire, &answer).rows, 2);
    assert_eq!(wire.first_row(), [Some("ab".to_owned()), None]);
    wire.query("", &mut Vec::new());
    assert_eq!(reply(&mut *wire, &[(b'I', b""), IDLE]), Reply::default());
    assert!(wire.first_row().is_empty());
}

#[test]
fn bulk_loads() {
    let mut wire = ready(&target());
    let mut out = Vec::new();
    wire.bulk("t", &["id"], &mut out);
    assert_eq!(whole(&mut *wire, &[(b'G', b"\0\0\x01\0\0")]).unwrap().0, Progress::WantData);
    wire.bulk_data(b"1\n2\n", &mut out);
    wire.bulk_end(&mut out);
    assert_eq!(&out[out.len() - 14..], b"d\0\0\0\x081\n2\nc\0\0\0\x04");
    assert_eq!(reply(&mut *wire, &[(b'C', b"COPY 2\0"), IDLE]).affected, 2);
    // An error during the load: the reply arrives, and nothing more is sent.
    wire.bulk("t", &["id"], &mut out);
    whole(&mut *wire, &[(b'G', b"\0\0\x01\0\0")]).unwrap();
    assert!(reply(&mut *wire, &[DEADLOCK, IDLE]).error.is_some());
    out.clear();
    wire.bulk_data(b"3\n", &mut out);
    wire.bulk_end(&mut out);
    assert!(out.is_empty());
}

#[test]
fn a_copy_nobody_asked_for_is_given_up() {
    let mut wire = ready(&target());
    wire.query("COPY t FROM STDIN", &mut Vec::new());
    let (progress, out) = whole(&mut *wire, &[(b'G', b"\0\0\x01\0\0")]).unwrap();
    assert_eq!((progress, out[0]), (Progress::More, b'f'));
}

#[test]
fn literals_follow_standard_conforming_strings() {
    let mut target = target();
    target.protocol = Protocol::Text;
    let statement = Request::new("x", Effect::Write, "SELECT ?", vec![ParamType::Text]);
    let driver = (KIND.build)(&target, vec![statement].into()).unwrap();
    let Ok(Session::Wire(mut wire)) = driver.session(0) else { panic!("a wire") };
    wire.connected(false, &mut Vec::new());
    let off = (b'S', &b"standard_conforming_strings\0off\0"[..]);
    whole(&mut *wire, &[AUTH_OK, off, IDLE]).unwrap();
    let mut tx = Transaction::default();
    tx.text(|text| text.push(b'\\'));
    tx.op(0);
    let mut out = Vec::new();
    wire.request(&tx.ops[0], &tx, &mut out);
    assert_eq!(&out[5..], b"SELECT '\\\\'\0");
}

#[test]
fn rows_are_never_buffered_whole() {
    let mut wire = ready(&target());
    point_select(&mut *wire);
    let huge = from_server(b'D', &vec![0; 5 << 20]);
    let mut out = Vec::new();
    for piece in huge.chunks(1000) {
        let (consumed, _) = wire.receive(piece, &mut out).unwrap();
        assert_eq!(consumed, piece.len());
    }
    assert_eq!(reply(&mut *wire, &[(b'C', b"SELECT 1\0"), IDLE]).rows, 1);
}

#[test]
fn rubbish_is_refused_by_its_first_bytes() {
    for rubbish in [
        &b"HTTP/1.1 400 Bad Request\r\n"[..],
        b"\x00\x00\x00\x00\x00",
        b"R\x00\x00\x00\x03",
        b"R\x00\x20\x00\x00",
        b"D\x00\x00\x00\x08",
        b"Z\x00\x00\x00\x05I",
        b"J\x00\x00\x00\x0a5.5.5-10",
    ] {
        let mut wire = wire(&target());
        wire.connected(false, &mut Vec::new());
        let error = wire.receive(rubbish, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Protocol, "{rubbish:?}");
    }
    let mut wire = ready(&target());
    point_select(&mut *wire);
    assert!(whole(&mut *wire, &[IDLE]).is_err(), "an answer to something else");
    let mut wire = ready(&target());
    assert!(whole(&mut *wire, &[IDLE]).is_err(), "an answer to nothing");
}

#[test]
fn rows_of_a_statement_that_says_so_are_kept() {
    let mut statements = statements();
    statements[1].keeps = true;
    let driver = (KIND.build)(&target(), statements.into()).unwrap();
    let Ok(Session::Wire(wire)) = driver.session(0) else { panic!("postgres is a wire") };
    let mut wire = log_in(wire, &target());
    point_select(&mut *wire);
    let row = (b'D', &b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff"[..]);
    let answer = [(b'2', &b""[..]), row, row, (b'C', b"SELECT 2\0"), IDLE];
    let reply = reply(&mut *wire, &answer);
    assert_eq!(reply.rows, 2);
    assert_eq!(format!("{:?}", reply.kept), r#"[[Some("ab"), None], [Some("ab"), None]]"#);
}
