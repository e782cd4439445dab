//! Targets, TLS, authentication and the session's first statements.

use super::*;

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
