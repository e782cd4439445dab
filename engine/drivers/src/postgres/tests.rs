//! The state machine against scripted servers: whole conversations, split at every place, and
//! invalid input.

use super::KIND;
use dyno_core::Result;
use dyno_core::driver::{Cancel, Progress, Reply, Session, Wire};
use dyno_core::error::{Error, Kind as ErrorKind};
use dyno_core::plan::{Address, Protocol, Secret, Target, Tls};
use dyno_core::workload::{Effect, ParamType, Request, Transaction};
use proptest::prelude::*;

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
fn targets_are_checked() {
    let error = refused(|t| {
        t.options.insert("pool".into(), 1.into());
    });
    assert!(error.what.contains("no option `pool`"), "{error}");
    assert!(error.hint.contains("no options"), "{error}");
    assert!(refused(|t| t.user.clear()).what.contains("user"));
    assert!(refused(|t| t.address = Address::None).what.contains("address"));
    assert!(refused(|t| t.address = Address::File("x.db".into())).what.contains("x.db"));
    assert!(refused(|t| t.address = Address::Unix("rel".into())).hint.contains(".s.PGSQL.5432"));
    assert!(refused(|t| t.session_sql = vec!["a\0".into()]).what.contains("session_sql"));
    let tcp = |host: &str, port| Address::Tcp { host: host.into(), port };
    assert!(refused(|t| t.address = tcp("", 1)).hint.contains("host name"));
    assert!(refused(|t| t.address = tcp("h", 0)).hint.contains("port"));
}

#[test]
fn startup_names_user_and_database() {
    let mut out = Vec::new();
    wire(&target()).connected(false, &mut out);
    let body =
        b"\0\x03\0\0user\0ann\0database\0ann\0application_name\0dbdyno\0client_encoding\0UTF8\0\0";
    assert_eq!(out[..4], (body.len() as u32 + 4).to_be_bytes());
    assert_eq!(&out[4..], body);
}

#[test]
fn session_sql_and_parse_go_out_in_one_flight() {
    let mut target = target();
    target.session_sql = vec!["SET a = 1".into(), "SET b = 2".into()];
    let mut wire = wire(&target);
    wire.connected(false, &mut Vec::new());
    let (progress, out) = whole(&mut *wire, &[AUTH_OK, KEY, IDLE]).unwrap();
    assert_eq!(progress, Progress::More);
    let tags: Vec<u8> = messages_in(&out).into_iter().map(|(tag, _)| tag).collect();
    assert_eq!(tags, b"QQPS");
    let done = (b'C', &b"SET\0"[..]);
    let rest = [done, IDLE, done, IDLE, (b'1', b""), IDLE];
    assert_eq!(whole(&mut *wire, &rest).unwrap().0, Progress::Ready);
}

fn messages_in(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut messages = Vec::new();
    while let [tag, a, b, c, d, ..] = *bytes {
        let size = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
        messages.push((tag, bytes[5..size].to_vec()));
        bytes = &bytes[size..];
    }
    assert!(bytes.is_empty());
    messages
}

#[test]
fn text_without_session_sql_is_ready_at_once() {
    let mut target = target();
    target.protocol = Protocol::Text;
    let mut wire = wire(&target);
    wire.connected(false, &mut Vec::new());
    let (progress, out) = whole(&mut *wire, &[AUTH_OK, KEY, IDLE]).unwrap();
    assert_eq!((progress, out.len()), (Progress::Ready, 0));
    assert!(matches!(wire.cancel(), Cancel::Packet(bytes)
        if bytes == [0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 9, 1, 2, 3, 4]));
}

#[test]
fn setup_errors_name_the_statement() {
    let missing = (b'E', &b"SERROR\0VERROR\0C42P01\0Mrelation \"t\" does not exist\0\0"[..]);
    let mut target = target();
    target.session_sql = vec!["SET x = 1".into()];
    let start = || {
        let mut wire = wire(&target);
        wire.connected(false, &mut Vec::new());
        whole(&mut *wire, &[AUTH_OK, KEY, IDLE]).unwrap();
        wire
    };
    let error = whole(&mut *start(), &[missing]).unwrap_err();
    assert!(error.what.contains("session statement `SET x = 1`"), "{error}");
    assert_eq!(error.kind, ErrorKind::Server);
    let error = whole(&mut *start(), &[(b'C', b"SET\0"), IDLE, missing]).unwrap_err();
    assert!(error.what.contains("`point_select` (SELECT c FROM t WHERE id=$1)"), "{error}");
    assert!(error.hint.contains("load the data"), "{error}");
}

/// Feeds a guarded session the replies after its own session statement, up to the guard's reply.
fn guarded(answer: &[u8], status: &'static [u8]) -> (Box<dyn Wire>, Result<Progress>) {
    let mut target = target();
    target.session_sql = vec!["SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE".into()];
    target.read_only = true;
    let mut wire = wire(&target);
    wire.connected(false, &mut Vec::new());
    let (_, out) = whole(&mut *wire, &[AUTH_OK, KEY, IDLE]).unwrap();
    let asked = messages_in(&out);
    assert_eq!(asked[1].1, b"SET default_transaction_read_only = on\0");
    assert_eq!(asked[2].1, b"SHOW transaction_read_only\0");
    let row = [&[0, 1, 0, 0, 0, answer.len() as u8], answer].concat();
    let (set, idle) = ((b'C', &b"SET\0"[..]), IDLE);
    let before = [set, idle, set, idle, (b'T', b"\0\0"), (b'D', &row), (b'C', b"SHOW\0")];
    let rest = [&before[..], &[(b'Z', status), (b'1', b""), idle]].concat();
    let progress = whole(&mut *wire, &rest).map(|(progress, _)| progress);
    (wire, progress)
}

#[test]
fn the_guard_comes_last_and_is_looked_at() {
    assert_eq!(guarded(b"on", b"I").1, Ok(Progress::Ready));
    for (answer, status) in [(&b"off"[..], b"I"), (b"on", b"T"), (b"", b"I")] {
        let error = guarded(answer, status).1.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Plan);
        assert!(error.hint.contains("session"), "{error}");
    }
}

#[test]
fn a_guard_that_is_lifted_later_ends_the_connection() {
    let reported = |value: &str| format!("default_transaction_read_only\0{value}\0");
    for (value, ends) in [("on", false), ("off", true)] {
        let (mut wire, _) = guarded(b"on", b"I");
        point_select(&mut *wire);
        let report = reported(value);
        let said = [(b'S', report.as_bytes()), (b'C', &b"SELECT 1\0"[..]), IDLE];
        assert_eq!(whole(&mut *wire, &said).is_err(), ends, "{value}");
        let mut free = ready(&target());
        point_select(&mut *free);
        assert!(whole(&mut *free, &said).is_ok());
    }
}

#[test]
fn tls_answers() {
    let with = |tls: Tls, answer: &[u8]| {
        let mut wire = wire(&Target { tls, ..target() });
        let mut out = Vec::new();
        wire.connected(false, &mut out);
        assert_eq!(out, [0, 0, 0, 8, 4, 210, 22, 47]);
        out.clear();
        let result = wire.receive(answer, &mut out);
        (result, out, wire)
    };
    for tls in [Tls::Prefer, Tls::Require, Tls::Verify, Tls::Ca("ca.pem".into())] {
        let (result, out, mut wire) = with(tls, b"S");
        assert_eq!((result.unwrap(), out.len()), ((1, Progress::StartTls), 0));
        let mut out = Vec::new();
        wire.tls_established(&mut out);
        assert!(out[8..].starts_with(b"user\0ann"));
    }
    let (result, out, _) = with(Tls::Prefer, b"N");
    assert_eq!(result.unwrap(), (1, Progress::More));
    assert!(out[8..].starts_with(b"user\0ann"));
    let (result, ..) = with(Tls::Require, b"N");
    assert!(result.unwrap_err().hint.contains("ssl = on"));
    let (result, ..) = with(Tls::Prefer, b"SE");
    assert!(result.unwrap_err().hint.contains("tampering"), "CVE-2021-23222");
    let (result, ..) = with(Tls::Prefer, b"EMforged text\0");
    assert!(!result.unwrap_err().what.contains("forged"), "CVE-2024-10977");
    let (result, ..) = with(Tls::Require, b"H");
    assert_eq!(result.unwrap_err().kind, ErrorKind::Protocol);
    let mut out = Vec::new();
    wire(&Target { tls: Tls::Require, ..target() }).connected(true, &mut out);
    assert!(out[8..].starts_with(b"user\0ann"), "never on a Unix socket");
}

#[test]
fn passwords_go_only_where_they_may() {
    let ask = |request: &[u8], secure, password: &str| {
        let mut wire = wire(&Target { password: Secret(password.into()), ..target() });
        wire.connected(secure, &mut Vec::new());
        whole(&mut *wire, &[(b'R', request)]).map(|(_, out)| out)
    };
    let error = ask(&[0, 0, 0, 3], false, "pencil").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Authentication);
    assert!(error.hint.contains("tls: require") && !error.to_string().contains("pencil"));
    let error = ask(&[0, 0, 0, 3], true, "pencil").unwrap_err();
    assert!(error.hint.contains("cleartext_password"), "{error}");
    let mut named = target();
    named.password = Secret("pencil".into());
    named.login.cleartext_password = true;
    for (secure, sent) in [(true, Some(&b"p\0\0\0\x0bpencil\0"[..])), (false, None)] {
        let mut wire = wire(&named);
        wire.connected(secure, &mut Vec::new());
        let heard = whole(&mut *wire, &[(b'R', &[0, 0, 0, 3])]);
        assert_eq!(heard.ok().map(|(_, out)| out).as_deref(), sent);
    }
    // "md5" + md5(md5("pencil" + "ann") + salt), computed independently.
    let hash = b"p\0\0\0\x28md57a54f810f22603a6e57c5628653701a4\0";
    let out = ask(&[0, 0, 0, 5, 1, 2, 3, 4], false, "pencil").unwrap();
    assert_eq!(out, hash);
    let error = ask(&[0, 0, 0, 5, 1, 2, 3, 4], false, "").unwrap_err();
    assert!(error.what.contains("none was given"), "{error}");
    let error = ask(&[0, 0, 0, 7], false, "pencil").unwrap_err();
    assert!(error.what.contains("GSSAPI"), "{error}");
    let error = ask(b"\0\0\0\x0aSCRAM-SHA-512\0\0", false, "pencil").unwrap_err();
    assert!(error.what.contains("only SCRAM-SHA-512"), "{error}");
}

#[test]
fn scram_of_too_few_or_too_many_rounds_is_not_answered() {
    for (rounds, fits) in [("1", false), ("4095", false), ("4096", true), ("100001", false)] {
        let mut wire = wire(&Target { password: Secret("pencil".into()), ..target() });
        wire.connected(false, &mut Vec::new());
        let offer = (b'R', &b"\0\0\0\x0aSCRAM-SHA-256\0\0"[..]);
        let (_, first) = whole(&mut *wire, &[offer]).unwrap();
        let first = String::from_utf8_lossy(&first).into_owned();
        let nonce = first.rsplit("r=").next().unwrap();
        let challenge = format!("\0\0\0\x0br={nonce}more,s=AAAA,i={rounds}");
        let heard = whole(&mut *wire, &[(b'R', challenge.as_bytes())]);
        assert_eq!(heard.is_ok(), fits, "{rounds}");
        if let Err(error) = heard {
            assert_eq!(error.kind, ErrorKind::Authentication);
            assert!(error.what.contains("iterations") && !error.hint.is_empty(), "{error}");
        }
    }
}

#[test]
fn scram_without_the_servers_proof_is_no_login() {
    let mut wire = wire(&target());
    wire.connected(false, &mut Vec::new());
    let offer = (b'R', &b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"[..]);
    let (_, out) = whole(&mut *wire, &[offer]).unwrap();
    assert!(out[5..].starts_with(b"SCRAM-SHA-256\0\0\0\0"));
    let error = whole(&mut *wire, &[AUTH_OK]).unwrap_err();
    assert!(error.what.contains("without proving"), "{error}");
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

/// A whole conversation: login with notices, rows, an error, a query, a bulk load.
fn conversation(mut cut: impl FnMut() -> usize) -> Vec<(Progress, Vec<u8>)> {
    let mut target = target();
    target.session_sql = vec!["SET a = 1".into()];
    let mut wire = wire(&target);
    let mut sent = Vec::new();
    let mut events = Vec::new();
    wire.connected(false, &mut sent);
    let status = (b'S', &b"server_version\x0015.1\0"[..]);
    let notice = (b'N', &b"SNOTICE\0Mx\0\0"[..]);
    let row = (b'D', &b"\0\x01\0\0\0\x05hello"[..]);
    let steps: Vec<Vec<(u8, &[u8])>> = vec![
        vec![AUTH_OK, status, KEY, notice, IDLE, (b'C', b"SET\0"), IDLE, (b'1', b""), IDLE],
        vec![(b'2', b""), row, row, notice, row, (b'C', b"SELECT 3\0"), (b'Z', b"T")],
        vec![(b'2', b""), row, DEADLOCK, (b'Z', b"E")],
        vec![(b'T', b"abc"), row, row, (b'C', b"SELECT 2\0"), status, IDLE],
        vec![(b'G', b"\0\0\x01\0\0")],
        vec![(b'C', b"COPY 12\0"), IDLE],
    ];
    for (number, step) in steps.iter().enumerate() {
        match number {
            1 | 2 => point_select(&mut *wire),
            3 => wire.query("SELECT", &mut sent),
            4 => wire.bulk("t", &["c"], &mut sent),
            5 => wire.bulk_end(&mut sent),
            _ => {}
        }
        let bytes = script(step);
        let (progress, out, used) = feed(&mut *wire, &bytes, &mut cut).unwrap();
        assert_eq!(used, bytes.len(), "step {number}");
        events.push((progress, out));
    }
    assert_eq!(wire.first_row(), [Some("hello".to_owned())]);
    events
}

#[test]
fn one_byte_at_a_time_means_the_same() {
    let events = conversation(|| usize::MAX);
    assert_eq!(events.len(), 6);
    assert_eq!(events, conversation(|| 1));
}

proptest! {
    #[test]
    fn cuts_do_not_matter(cuts in proptest::collection::vec(1_usize..30, 1..50)) {
        let mut next = cuts.iter().cycle();
        let cut = move || *next.next().expect("cycles");
        prop_assert_eq!(conversation(cut), conversation(|| usize::MAX));
    }

    #[test]
    fn random_bytes_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        stage in 0..5,
    ) {
        let mut wire = at_stage(stage);
        let _ = feed(&mut *wire, &bytes, || 7);
    }

    /// Valid tags and lengths around random bodies reach deeper than random bytes.
    #[test]
    fn random_messages_never_panic(
        messages in proptest::collection::vec(
            (
                proptest::sample::select(&b"RKSEZCDTIGHdcNA123nsWv"[..]),
                proptest::collection::vec(prop_oneof![0_u8..16, any::<u8>()], 0..24),
            ),
            0..12,
        ),
        stage in 0..5,
    ) {
        let mut wire = at_stage(stage);
        let bytes: Vec<u8> =
            messages.iter().flat_map(|(tag, body)| from_server(*tag, body)).collect();
        let _ = feed(&mut *wire, &bytes, || 11);
    }
}

/// A session in each of the phases that read input.
fn at_stage(stage: i32) -> Box<dyn Wire> {
    let mut target = target();
    let mut out = Vec::new();
    match stage {
        0 => {
            target.tls = Tls::Prefer;
            let mut wire = wire(&target);
            wire.connected(false, &mut out);
            wire
        }
        1 => {
            let mut wire = wire(&target);
            wire.connected(true, &mut out);
            wire
        }
        2 => {
            let mut wire = ready(&target);
            point_select(&mut *wire);
            wire
        }
        3 => {
            let mut wire = ready(&target);
            wire.query("SELECT", &mut out);
            wire
        }
        _ => {
            let mut wire = ready(&target);
            wire.bulk("t", &["c"], &mut out);
            wire
        }
    }
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
