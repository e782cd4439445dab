//! Logins.

use super::script::*;
use crate::mysql::flags::capability::{DEPRECATE_EOF, SSL};
use crate::mysql::login::auth::Plugin;
use crate::mysql::packet;
use dyno_core::driver::{Cancel, Progress, Wire, WireProtocol};
use dyno_core::error::Kind;
use dyno_core::plan::{PublicKey, Tls};
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::{Oaep, RsaPrivateKey};

fn switch(seq: u8, plugin: &str, nonce: &[u8]) -> Vec<u8> {
    let mut out = vec![0xfe];
    packet::put_nul(&mut out, plugin.as_bytes());
    out.extend_from_slice(nonce);
    framed(seq, &out)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[test]
fn the_greetings_plugin_is_answered_at_once() {
    for (name, plugin) in
        [("mysql_native_password", Plugin::Native), ("caching_sha2_password", Plugin::CachingSha2)]
    {
        let mut line = Line::open(&target(), &[], false);
        assert_eq!(line.hear(&greeting(PLAIN, name)), Ok(Progress::More));
        let packets = line.packets();
        assert_eq!(packets.len(), 1);
        assert_eq!(packets[0].0, 1);
        let answer = plugin.answer(PASSWORD.as_bytes(), NONCE).unwrap();
        assert!(contains(&packets[0].1, &answer));
        assert!(contains(&packets[0].1, b"dyno\0"));
        assert!(contains(&packets[0].1, name.as_bytes()));
        if plugin == Plugin::CachingSha2 {
            assert_eq!(line.hear(&framed(2, &[1, 3])), Ok(Progress::More));
            assert!(line.sent.is_empty());
            assert_eq!(line.hear(&ok(3, 0, 2)), Ok(Progress::Ready));
        } else {
            assert_eq!(line.hear(&ok(2, 0, 2)), Ok(Progress::Ready));
        }
        assert_eq!(line.wire.cancel(), Cancel::Statement("KILL 7".into()));
    }
}

#[test]
fn plugins_can_be_changed_and_each_has_its_challenge() {
    let mut ed25519 = [9; 32];
    ed25519[31] = 0;
    for (name, nonce, plugin) in [
        ("mysql_native_password", &b"abcdefghijklmnopqrst\0"[..], Plugin::Native),
        ("caching_sha2_password", b"abcdefghijklmnopqrst\0", Plugin::CachingSha2),
        ("client_ed25519", &ed25519, Plugin::Ed25519),
    ] {
        let mut line = Line::open(&target(), &[], false);
        line.hear(&greeting(PLAIN, "something_else")).unwrap();
        assert_eq!(line.hear(&switch(2, name, nonce)), Ok(Progress::More));
        let length = if plugin == Plugin::Ed25519 { 32 } else { 20 };
        let answer = plugin.answer(PASSWORD.as_bytes(), &nonce[..length]).unwrap();
        assert_eq!(line.packets(), [(3, answer)]);
        assert_eq!(line.hear(&ok(4, 0, 2)), Ok(Progress::Ready));
    }
}

#[test]
fn an_unknown_plugin_is_named() {
    let mut line = Line::open(&target(), &[], false);
    line.hear(&greeting(PLAIN, "mysql_native_password")).unwrap();
    let error = line.hear(&switch(2, "mysql_clear_password", b"")).unwrap_err();
    assert_eq!(error.kind, Kind::Authentication);
    assert!(error.to_string().contains("mysql_clear_password"), "{error}");
    assert!(line.sent.is_empty(), "the password must not leave");
}

#[test]
fn an_empty_password_is_answered_by_nothing() {
    let mut target = target();
    target.password = Default::default();
    let mut line = Line::open(&target, &[], false);
    line.hear(&greeting(PLAIN, "caching_sha2_password")).unwrap();
    assert!(contains(&line.sent, b"ann\0\0dyno\0"));
    assert_eq!(line.hear(&ok(2, 0, 2)), Ok(Progress::Ready));
}

#[test]
fn the_password_itself_travels_over_a_socket_or_tls_only() {
    let clear = [PASSWORD.as_bytes(), b"\0"].concat();
    let mut line = Line::open(&target(), &[], true);
    line.hear(&greeting(PLAIN, "caching_sha2_password")).unwrap();
    line.hear(&framed(2, &[1, 4])).unwrap();
    assert_eq!(line.packets(), [(3, clear.clone())]);
    assert_eq!(line.hear(&ok(4, 0, 2)), Ok(Progress::Ready));

    let mut encrypted = target();
    encrypted.tls = Tls::Require;
    let mut line = Line::open(&encrypted, &[], false);
    let progress = line.hear(&greeting(PLAIN | SSL, "caching_sha2_password"));
    assert_eq!(progress, Ok(Progress::StartTls));
    let request = line.packets();
    assert_eq!((request.len(), request[0].0, request[0].1.len()), (1, 1, 32));
    line.sent.clear();
    line.wire.tls_established(&mut line.sent);
    assert_eq!(line.packets()[0].0, 2);
    line.hear(&framed(3, &[1, 4])).unwrap();
    assert_eq!(line.packets(), [(4, clear)]);
    assert_eq!(line.hear(&ok(5, 0, 2)), Ok(Progress::Ready));
}

#[test]
fn over_a_plain_connection_it_travels_under_the_servers_key() {
    let key = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 1024).unwrap();
    let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
    let password_of = |payload: &[u8]| -> Vec<u8> {
        let hidden = key.decrypt(Oaep::new::<sha1::Sha1>(), payload).unwrap();
        hidden.iter().zip(NONCE.iter().cycle()).map(|(a, b)| a ^ b).collect()
    };
    let clear = [PASSWORD.as_bytes(), b"\0"].concat();
    let mut trusting = target();
    trusting.login.server_public_key = Some(PublicKey::Get);
    let mut line = Line::open(&trusting, &[], false);
    line.hear(&greeting(PLAIN, "caching_sha2_password")).unwrap();
    line.hear(&framed(2, &[1, 4])).unwrap();
    assert_eq!(line.packets(), [(3, vec![2])]);
    line.hear(&framed(4, &[b"\x01", pem.as_bytes()].concat())).unwrap();
    let packets = line.packets();
    assert_eq!((packets.len(), packets[0].0), (1, 5));
    assert_eq!(password_of(&packets[0].1), clear);
    assert_eq!(line.hear(&ok(6, 0, 2)), Ok(Progress::Ready));

    trusting.login.server_public_key = Some(PublicKey::Pem(pem.clone()));
    for (greeted, asks) in [
        ("caching_sha2_password", framed(2, &[1, 4])),
        ("mysql_native_password", switch(2, "sha256_password", &[&NONCE[..], b"\0"].concat())),
    ] {
        let mut line = Line::open(&trusting, &[], false);
        line.hear(&greeting(PLAIN, greeted)).unwrap();
        line.hear(&asks).unwrap();
        let packets = line.packets();
        assert_eq!(password_of(&packets[0].1), clear, "{greeted}");
        assert_eq!(line.hear(&ok(4, 0, 2)), Ok(Progress::Ready));
    }
}

#[test]
fn without_leave_no_key_is_taken_and_nothing_is_sent() {
    for (greeted, asks) in [
        ("caching_sha2_password", framed(2, &[1, 4])),
        ("mysql_native_password", switch(2, "sha256_password", NONCE)),
        ("mysql_native_password", switch(2, "mysql_clear_password", b"")),
        ("mysql_native_password", switch(2, "dialog", b"\x05Password: ")),
    ] {
        let mut line = Line::open(&target(), &[], false);
        line.hear(&greeting(PLAIN, greeted)).unwrap();
        let error = line.hear(&asks).unwrap_err();
        assert_eq!(error.kind, Kind::Authentication);
        assert!(error.what.contains("ann at db:3306") && !error.hint.is_empty(), "{error}");
        assert!(line.sent.is_empty(), "{error}");
    }
}

#[test]
fn clear_text_is_for_those_that_were_named_and_are_not_overheard() {
    let mut named = target();
    named.login.cleartext_password = true;
    for (target, on_socket, is_sent) in
        [(&named, true, true), (&named, false, false), (&target(), true, false)]
    {
        let mut line = Line::open(target, &[], on_socket);
        line.hear(&greeting(PLAIN, "mysql_native_password")).unwrap();
        let heard = line.hear(&switch(2, "mysql_clear_password", b""));
        assert_eq!(heard.is_ok(), is_sent);
        assert_eq!(contains(&line.sent, PASSWORD.as_bytes()), is_sent);
    }
}

#[test]
fn tls_is_used_as_the_plan_says() {
    let hear = |tls: Tls, on_socket, offered| {
        let mut target = target();
        target.tls = tls;
        let flags = if offered { PLAIN | SSL } else { PLAIN };
        Line::open(&target, &[], on_socket).hear(&greeting(flags, "mysql_native_password"))
    };
    for tls in [Tls::Require, Tls::Verify, Tls::Ca("roots.pem".into())] {
        assert_eq!(hear(tls.clone(), false, true), Ok(Progress::StartTls));
        let error = hear(tls.clone(), false, false).unwrap_err();
        assert!(error.what.contains("TLS"), "{error}");
        assert_eq!(hear(tls, true, true), Ok(Progress::More));
    }
    assert_eq!(hear(Tls::Prefer, false, true), Ok(Progress::StartTls));
    assert_eq!(hear(Tls::Prefer, false, false), Ok(Progress::More));
    assert_eq!(hear(Tls::Off, false, true), Ok(Progress::More));
}

#[test]
fn bytes_between_the_greeting_and_tls_are_an_attack() {
    let mut target = target();
    target.tls = Tls::Prefer;
    let mut line = Line::open(&target, &[], false);
    let mut bytes = greeting(PLAIN | SSL, "mysql_native_password");
    bytes.extend_from_slice(&ok(2, 0, 2));
    assert_eq!(line.hear(&bytes).unwrap_err().kind, Kind::Protocol);
}

#[test]
fn a_refused_login_says_why() {
    let mut line = Line::open(&target(), &[], false);
    let error = line.hear(&framed(0, b"\xff\x10\x04Too many connections")).unwrap_err();
    assert_eq!(error.kind, Kind::Connection);
    assert!(error.hint.contains("max_connections"), "{error}");
    let mut line = Line::open(&target(), &[], false);
    line.hear(&greeting(PLAIN, "mysql_native_password")).unwrap();
    let error = line.hear(&refusal(2, 1045, "28000", "Access denied")).unwrap_err();
    assert_eq!(error.kind, Kind::Authentication);
    assert!(error.what.contains("db:3306") && error.what.contains("1045"), "{error}");
}

#[test]
fn session_statements_run_one_by_one_then_all_is_prepared_at_once() {
    let mut target = target();
    target.session_sql = vec!["SET a=1".into(), "SET b=2".into()];
    let mut line = Line::open(&target, &statements(), false);
    line.hear(&greeting(PLAIN | DEPRECATE_EOF, "mysql_native_password")).unwrap();
    line.hear(&ok(2, 0, 2)).unwrap();
    assert_eq!(line.packets(), [(0, b"\x03SET a=1".to_vec())]);
    line.hear(&ok(1, 0, 2)).unwrap();
    assert_eq!(line.packets(), [(0, b"\x03SET b=2".to_vec())]);
    line.hear(&ok(1, 0, 2)).unwrap();
    let sent: Vec<_> = line.packets().into_iter().map(|(seq, payload)| (seq, payload[0])).collect();
    assert_eq!(sent, [(0, 0x16), (0, 0x16)]);
    let error = line.hear(&refusal(1, 1146, "42S02", "no table")).unwrap_err();
    assert_eq!(error.kind, Kind::Server);
    assert!(error.what.contains("SELECT c FROM t") && error.hint.contains("load"), "{error}");
}

/// A server's reply to the guard's query, where EOF packets are deprecated.
fn variable(value: &str) -> Vec<u8> {
    let mut row = vec![12];
    row.extend_from_slice(b"tx_read_only");
    row.push(value.len() as u8);
    row.extend_from_slice(value.as_bytes());
    let packets = [&b"\x02"[..], b"abc", b"def", &row, b"\xfe\0\0\x02\0\0\0"];
    (1..).zip(packets).flat_map(|(seq, payload)| framed(seq, payload)).collect()
}

/// An OK that reports a session variable.
fn changed(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let change = [text(name), text(value)].concat();
    let changes = [&[0, change.len() as u8], &change[..]].concat();
    let head = [0, 0, 0, 2, 0x40, 0, 0, 0, changes.len() as u8];
    framed(1, &[&head[..], &changes].concat())
}

#[test]
fn the_guard_comes_last_and_is_looked_at() {
    let mut target = target();
    target.session_sql = vec!["SET SESSION TRANSACTION READ WRITE".into()];
    target.read_only = true;
    let last = || {
        let mut line = Line::open(&target, &[], false);
        line.hear(&greeting(PLAIN | DEPRECATE_EOF, "mysql_native_password")).unwrap();
        line.hear(&ok(2, 0, 2)).unwrap();
        line.hear(&ok(1, 0, 2)).unwrap();
        assert!(line.packets()[0].1.starts_with(b"\x03SET SESSION session_track_system_variables"));
        line.hear(&ok(1, 0, 2)).unwrap();
        assert_eq!(line.packets(), [(0, b"\x03SET SESSION TRANSACTION READ ONLY".to_vec())]);
        line
    };
    let asked = || {
        let mut line = last();
        line.hear(&ok(1, 0, 2)).unwrap();
        assert!(line.packets()[0].1.starts_with(b"\x03SHOW SESSION VARIABLES"));
        line
    };
    assert_eq!(asked().hear(&variable("ON")), Ok(Progress::Ready));
    for answer in [variable("OFF"), ok(1, 0, 2)] {
        let error = asked().hear(&answer).unwrap_err();
        assert_eq!(error.kind, Kind::Plan);
        assert!(error.what.contains("db:3306") && error.hint.contains("session"), "{error}");
    }
    for (value, ends) in [("ON", false), ("OFF", true)] {
        let mut line = asked();
        line.hear(&variable("ON")).unwrap();
        line.wire.query("SELECT lift()", &mut line.sent);
        assert_eq!(line.hear(&changed("tx_read_only", value)).is_err(), ends);
    }
    let within_a_transaction = last().hear(&ok(1, 0, 3)).unwrap_err();
    assert!(within_a_transaction.what.contains("transaction open"), "{within_a_transaction}");
}

#[test]
fn a_plain_login_refused_where_tls_was_offered_says_so() {
    for (flags, wanted) in [(PLAIN | SSL, true), (PLAIN, false)] {
        let mut line = Line::open(&target(), &[], false);
        line.hear(&greeting(flags, "mysql_native_password")).unwrap();
        let error = line.hear(&refusal(2, 1045, "28000", "Access denied")).unwrap_err();
        assert_eq!(error.hint.contains("tls: require"), wanted, "{error}");
    }
}
