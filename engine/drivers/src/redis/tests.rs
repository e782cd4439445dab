//! Tests of the driver byte by byte. Tests of all wires: `engine/drivers/tests/wires.rs`.

use super::*;
use dyno_core::driver::{Progress, Reply, Task, Wire};
use dyno_core::error::{Error, Kind};
use dyno_core::plan::{Address, Secret, Tls};
use dyno_core::request::{Store, Verb};
use dyno_core::workload::{Effect, Table, Transaction};
use dyno_protocol::resp::{BULK_BYTES_MAX, LINE_BYTES_MAX};
use serde_json::json;

fn target() -> Target {
    serde_json::from_value(json!({
        "driver": "redis", "address": {"tcp": {"host": "127.0.0.1", "port": 6379}},
        "options": {"prefix": "dyno:"},
    }))
    .expect("a target")
}

fn store(fields: usize) -> Arc<Store> {
    let fields = (0..fields).map(|n| format!("f{n}")).collect();
    Arc::new(Store { name: "t".into(), key: "k".into(), fields })
}

fn requests(fields: usize) -> Arc<[Request]> {
    let store = store(fields);
    let verbs = [("read", Verb::Read), ("update", Verb::Update(0)), ("insert", Verb::Insert)];
    verbs.map(|(class, verb)| Request::key_value(class, &store, verb)).into()
}

fn wire(target: &Target, fields: usize) -> Box<dyn Wire> {
    match build(target, requests(fields)).and_then(|driver| driver.session(0)) {
        Ok(Session::Wire(wire)) => wire,
        _ => panic!("a wire"),
    }
}

fn refusal(target: &Target) -> Error {
    build(target, [].into()).err().expect("a refusal")
}

/// A session that has logged in.
fn ready(fields: usize) -> Box<dyn Wire> {
    let (mut wire, mut out) = (wire(&target(), fields), Vec::new());
    wire.connected(false, &mut out);
    assert_eq!(out, b"*1\r\n$4\r\nPING\r\n");
    assert_eq!(wire.receive(b"+PONG\r\n", &mut out), Ok((7, Progress::Ready)));
    wire
}

fn words(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.split("\r\n").filter(|line| !line.starts_with(['*', '$'])).map(str::to_owned).collect()
}

/// Sends request `number` with these parameters, then feeds `answer`.
fn ask(wire: &mut dyn Wire, number: u16, params: &[&str], answer: &[u8]) -> (String, Reply) {
    let (mut tx, mut out) = (Transaction::default(), Vec::new());
    params.iter().for_each(|text| tx.text(|out| out.extend_from_slice(text.as_bytes())));
    tx.op(number);
    wire.request(&tx.ops[0], &tx, &mut out);
    let sent = words(&out).join(" ");
    match wire.receive(answer, &mut out) {
        Ok((used, Progress::Reply(reply))) if used == answer.len() => (sent, reply),
        other => panic!("{other:?}"),
    }
}

#[test]
fn records_are_hashes_and_those_of_one_field_strings() {
    let mut hashes = ready(2);
    let (sent, reply) =
        ask(&mut *hashes, 0, &["a"], b"*4\r\n$2\r\nf0\r\n$1\r\nx\r\n$2\r\nf1\r\n$0\r\n\r\n");
    assert_eq!((sent.trim(), reply.rows), ("HGETALL dyno:t:a", 1));
    let (_, reply) = ask(&mut *hashes, 0, &["a"], b"*0\r\n");
    assert_eq!(reply, Reply::default(), "no such record");
    let (sent, reply) = ask(&mut *hashes, 1, &["new", "a"], b":0\r\n");
    assert_eq!((sent.trim(), reply.affected), ("HSET dyno:t:a f0 new", 1));
    let (sent, reply) = ask(&mut *hashes, 2, &["b", "x", "y"], b":2\r\n");
    assert_eq!((sent.trim(), reply.affected), ("HSET dyno:t:b f0 x f1 y", 1));
    let mut strings = ready(1);
    let (sent, reply) = ask(&mut *strings, 0, &["a"], b"$3\r\nx\r\n\r\n");
    assert_eq!((sent.trim(), reply.rows), ("GET dyno:t:a", 1));
    assert_eq!(ask(&mut *strings, 0, &["a"], b"$-1\r\n").1.rows, 0);
    let (sent, reply) = ask(&mut *strings, 1, &["new", "a"], b"+OK\r\n");
    assert_eq!((sent.trim(), reply.affected), ("SET dyno:t:a new", 1));
}

/// Sends these requests (number, key) in one piece; returns their words.
fn send_together(wire: &mut dyn Wire, requests: &[(u16, &str)]) -> String {
    let (mut tx, mut out) = (Transaction::default(), Vec::new());
    for (number, key) in requests {
        if *number > 0 {
            tx.text(|out| out.extend_from_slice(b"new"));
        }
        tx.text(|out| out.extend_from_slice(key.as_bytes()));
        tx.op(*number);
    }
    tx.ops.iter().for_each(|op| wire.request(op, &tx, &mut out));
    words(&out).join(" ").trim().to_owned()
}

#[test]
fn a_pipeline_has_one_reply_a_request_in_order_and_one_refusal_is_its_own() {
    let (mut wire, mut out) = (ready(1), Vec::new());
    let sent = send_together(&mut *wire, &[(0, "a"), (1, "b"), (0, "c"), (0, "d")]);
    assert_eq!(sent, "GET dyno:t:a SET dyno:t:b new GET dyno:t:c GET dyno:t:d");
    let answers = b"$1\r\nx\r\n-OOM command not allowed\r\n-WRONGTYPE Operation\r\n$-1\r\n";
    let (mut at, mut replies) = (0, Vec::new());
    while at < answers.len() {
        let Ok((used, Progress::Reply(reply))) = wire.receive(&answers[at..], &mut out) else {
            panic!("a reply after {at} bytes");
        };
        at += used;
        replies.push(reply);
    }
    let [read, refused, wrong, none] = &replies[..] else { panic!("four: {replies:?}") };
    assert_eq!((read.rows, &read.error), (1, &None));
    let of = |reply: &Reply| reply.error.clone().expect("an error");
    assert!(of(refused).message.starts_with("update: OOM"), "its own class: {refused:?}");
    assert!(of(wrong).message.starts_with("read: WRONGTYPE"), "{wrong:?}");
    assert_eq!(*none, Reply::default(), "no such record");
    assert!(out.is_empty());
    // Nothing is left of it: the next request has its own reply, and a further one is unasked.
    assert_eq!(ask(&mut *wire, 0, &["a"], b"$1\r\nx\r\n").1.rows, 1);
    assert!(wire.receive(b"$1\r\nx\r\n", &mut out).is_err());
}

#[test]
fn a_pipelines_replies_may_be_cut_anywhere() {
    let requests = [(0, "a"), (1, "b"), (0, "c")];
    let answers = b"*2\r\n$2\r\nf0\r\n$1\r\nx\r\n:0\r\n-ERR no\r\n";
    for cut in 0..answers.len() {
        let (mut wire, mut inbox, mut replies) = (ready(2), Vec::new(), Vec::new());
        send_together(&mut *wire, &requests);
        for part in [&answers[..cut], &answers[cut..]] {
            inbox.extend_from_slice(part);
            loop {
                let (used, progress) = wire.receive(&inbox, &mut Vec::new()).expect("well-formed");
                inbox.drain(..used);
                let Progress::Reply(reply) = progress else { break };
                replies.push((reply.rows, reply.affected, reply.error.is_some()));
            }
        }
        assert_eq!(replies, [(1, 0, false), (0, 1, false), (0, 0, true)], "cut at {cut}");
    }
}

#[test]
fn parameters_that_are_no_text_are_sent_as_text() {
    let (mut wire, mut tx, mut out) = (ready(1), Transaction::default(), Vec::new());
    tx.int(-7);
    tx.text(|out| out.extend_from_slice(b"key"));
    tx.op(1);
    wire.request(&tx.ops[0], &tx, &mut out);
    assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$10\r\ndyno:t:key\r\n$2\r\n-7\r\n");
}

#[test]
fn refusals_are_data_and_a_cluster_is_named() {
    let mut wire = ready(2);
    for (line, code, shown) in [
        ("WRONGTYPE Operation against a key", "WRONGTYPE", "read: WRONGTYPE Operation"),
        ("OOM command not allowed", "OOM", "OOM command"),
        ("ERR unknown command", "ERR", "unknown command"),
        ("nothing in capitals", "ERR", "nothing in capitals"),
        ("MOVED 3999 127.0.0.1:6381", "MOVED", "node of a cluster"),
        ("ASK 3999 127.0.0.1:6381", "ASK", "node of a cluster"),
    ] {
        let (_, reply) = ask(&mut *wire, 0, &["a"], format!("-{line}\r\n").as_bytes());
        let error = reply.error.expect("an error");
        assert_eq!((error.code.as_str(), error.retryable, error.rolled_back), (code, false, true));
        assert!(error.message.contains(shown), "{}", error.message);
    }
    assert!(ask(&mut *wire, 0, &["a"], b"-TRYAGAIN later\r\n").1.error.expect("one").retryable);
    let long = [b"-ERR ".to_vec(), vec![b'x'; 9000], b"\r\n".to_vec()].concat();
    let (_, reply) = ask(&mut *wire, 0, &["a"], &long);
    assert!(reply.error.expect("one").message.len() < 600);
}

/// The login commands sent, and the outcome of this reply.
fn login(target: &Target, answer: &[u8]) -> (String, Result<(usize, Progress)>) {
    let (mut wire, mut out) = (wire(target, 2), Vec::new());
    if wire.begins_with_tls() {
        wire.tls_established(&mut out);
    } else {
        wire.connected(false, &mut out);
    }
    (words(&out).join(" ").trim().to_owned(), wire.receive(answer, &mut out))
}

#[test]
fn a_login_is_one_flight() {
    let mut with = Target { password: Secret("pw".into()), database: "3".into(), ..target() };
    let (sent, answer) = login(&with, b"+OK\r\n+OK\r\n");
    assert_eq!((sent.as_str(), answer), ("AUTH pw SELECT 3", Ok((10, Progress::Ready))));
    with.user = "ann".into();
    assert_eq!(login(&with, b"+OK\r\n").0, "AUTH ann pw SELECT 3");
    with.options.insert("resp".into(), 3.into());
    let (sent, answer) = login(&with, b"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n+OK\r\n");
    assert_eq!(sent, "HELLO 3 AUTH ann pw SELECT 3");
    assert_eq!(answer.expect("no error").1, Progress::Ready);
}

#[test]
fn refused_logins_say_why() {
    let with = Target { password: Secret("pw".into()), ..target() };
    for (line, kind, hint) in [
        ("WRONGPASS invalid username-password pair", Kind::Authentication, "password"),
        ("NOAUTH Authentication required.", Kind::Authentication, "password"),
        ("ERR Client sent AUTH, but no password is set", Kind::Authentication, "asks for no"),
        ("ERR max number of clients reached", Kind::Connection, "maxclients"),
        ("LOADING Redis is loading the dataset in memory", Kind::Connection, "wait"),
        ("DENIED Redis is running in protected mode", Kind::Authentication, "protected mode"),
        ("ERR DB index is out of range", Kind::Plan, "databases"),
        ("NOPROTO unsupported protocol version", Kind::Plan, "resp: 2"),
    ] {
        let error = login(&with, format!("-{line}\r\n").as_bytes()).1.expect_err(line);
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.what.contains(line) && error.hint.contains(hint), "{error}");
        assert!(!format!("{error:?}").contains("pw\""), "{error:?}");
    }
    assert_eq!(login(&with, b":5\r\n").1.expect_err("no answer to AUTH").kind, Kind::Protocol);
}

#[test]
fn a_password_leaves_the_machine_encrypted_or_by_the_users_word() {
    let address = Address::Tcp { host: "db.example".into(), port: 6379 };
    let mut far = Target { address, password: Secret("pw".into()), ..target() };
    let (sent, answer) = login(&far, b"");
    assert_eq!((sent.as_str(), answer.expect_err("not sent").kind), ("", Kind::Authentication));
    far.tls = Tls::Require;
    assert_eq!(login(&far, b"").0, "AUTH pw");
    far.tls = Tls::Off;
    far.login.cleartext_password = true;
    assert_eq!(login(&far, b"").0, "AUTH pw");
}

#[test]
fn tls_comes_first_and_not_on_a_unix_socket() {
    let secure = Target { tls: Tls::Require, ..target() };
    assert!(wire(&secure, 1).begins_with_tls() && !wire(&target(), 1).begins_with_tls());
    let unix = Target { address: Address::Unix("/run/redis.sock".into()), ..secure };
    assert!(!wire(&unix, 1).begins_with_tls());
}

#[test]
fn what_redis_does_not_have_is_refused() {
    let mut odd = target();
    odd.options.insert("resp".into(), 4.into());
    assert!(refusal(&odd).what.contains("`resp`"));
    assert!(refusal(&Target { read_only: true, ..target() }).what.contains("writing"));
    let session_sql = vec!["SET x = 1".to_owned()];
    assert!(refusal(&Target { session_sql, ..target() }).what.contains("SET x = 1"));
    assert!(refusal(&Target { tls: Tls::Prefer, ..target() }).hint.contains("require"));
    assert!(refusal(&Target { database: "shop".into(), ..target() }).what.contains("shop"));
    assert!(refusal(&Target { address: Address::None, ..target() }).hint.contains("address"));
    let scan = Request::key_value("scan", &store(1), Verb::Scan);
    let keeping = Request { keeps: true, ..Request::key_value("read", &store(2), Verb::Read) };
    for request in [scan, keeping, Request::new("select", Effect::Read, "SELECT 1", vec![])] {
        let error = build(&target(), [request.clone()].into()).err().expect("refused");
        assert!(error.what.contains(&request.class), "{error}");
    }
}

#[test]
fn a_string_is_kept_where_that_is_asked_for() {
    let keeping = Request { keeps: true, ..Request::key_value("read", &store(1), Verb::Read) };
    let driver = build(&target(), [keeping].into()).expect("a driver");
    let Ok(Session::Wire(mut wire)) = driver.session(0) else { panic!("a wire") };
    let mut out = Vec::new();
    wire.connected(false, &mut out);
    assert_eq!(wire.receive(b"+PONG\r\n", &mut out), Ok((7, Progress::Ready)));
    let (_, reply) = ask(&mut *wire, 0, &["a"], b"$2\r\n17\r\n");
    assert_eq!((reply.rows, reply.kept.first().and_then(|row| row.int(0))), (1, Some(17)));
    let (_, reply) = ask(&mut *wire, 0, &["b"], b"$-1\r\n");
    assert_eq!((reply.rows, reply.kept.is_empty()), (0, true));
}

fn table() -> Table {
    let columns = ["k", "f0", "f1"].map(str::to_owned).to_vec();
    Table { name: "t".into(), columns, create: String::new(), finish: vec![], rows: 3 }
}

#[test]
fn a_store_is_made_only_where_no_key_of_it_is() {
    let (mut wire, mut out, table) = (ready(2), Vec::new(), table());
    assert!(wire.task(Task::Create(&table), &mut out));
    assert_eq!(words(&out).join(" ").trim(), "SCAN 0 MATCH dyno:t:* COUNT 1000");
    out.clear();
    let more = b"*2\r\n$2\r\n17\r\n*0\r\n";
    assert_eq!(wire.receive(more, &mut out), Ok((more.len(), Progress::More)));
    assert_eq!(words(&out).join(" ").trim(), "SCAN 17 MATCH dyno:t:* COUNT 1000");
    let none = b"*2\r\n$1\r\n0\r\n*0\r\n";
    let made = wire.receive(none, &mut out).expect("an answer").1;
    assert_eq!(made, Progress::Reply(Reply::default()));
    wire.task(Task::Create(&table), &mut out);
    let one = b"*2\r\n$1\r\n5\r\n*1\r\n$8\r\ndyno:t:a\r\n";
    let Ok((_, Progress::Reply(reply))) = wire.receive(one, &mut out) else { panic!("a reply") };
    assert!(reply.error.expect("one").message.contains("store t already exists"));
    assert!(!wire.task(Task::BeginLoad(&table), &mut out));
}

#[test]
fn a_store_is_counted_over_all_calls() {
    let (mut wire, mut out, table) = (ready(2), Vec::new(), table());
    wire.task(Task::Count(&table), &mut out);
    let answers =
        b"*2\r\n$1\r\n9\r\n*1\r\n$1\r\na\r\n*2\r\n$1\r\n0\r\n*2\r\n$1\r\nb\r\n$1\r\nc\r\n";
    let counted = wire.receive(answers, &mut out).expect("an answer");
    assert_eq!(counted, (answers.len(), Progress::Reply(Reply::default())));
    assert_eq!(wire.first_row(), [Some("3".to_owned())]);
    wire.task(Task::Count(&table), &mut out);
    assert!(wire.receive(b"*2\r\n$2\r\nxx\r\n", &mut out).is_err(), "no cursor");
}

#[test]
fn rows_are_pipelined_and_counted_by_what_is_new() {
    let (mut wire, mut out) = (ready(2), Vec::new());
    wire.bulk("t", &["k", "f0", "f1"], &mut out);
    assert_eq!(wire.receive(b"+PONG\r\n", &mut out), Ok((7, Progress::WantData)));
    out.clear();
    wire.bulk_data(b"a\tx\ty\nb\t\\t\t\\N\nc\tp", &mut out);
    assert_eq!(words(&out).join(" ").trim(), "HSET dyno:t:a f0 x f1 y HSET dyno:t:b f0 \t f1");
    assert_eq!(wire.receive(b":2\r\n:1\r\n", &mut out), Ok((8, Progress::More)));
    out.clear();
    wire.bulk_data(b"\tq\n", &mut out);
    wire.bulk_end(&mut out);
    assert_eq!(words(&out).join(" ").trim(), "HSET dyno:t:c f0 p f1 q PING");
    let end = wire.receive(b":2\r\n+PONG\r\n", &mut out).expect("an end").1;
    assert_eq!(end, Progress::Reply(Reply { affected: 2, ..Reply::default() }), "b was there");
}

#[test]
fn a_refused_row_ends_the_load() {
    let (mut wire, mut out) = (ready(2), Vec::new());
    wire.bulk("t", &["k", "f0"], &mut out);
    wire.receive(b"+PONG\r\n", &mut out).expect("goes on");
    out.clear();
    wire.bulk_data(b"a\tx\nb\ty\n", &mut out);
    assert_eq!(words(&out).join(" ").trim(), "SET dyno:t:a x NX SET dyno:t:b y NX");
    let answers = b"+OK\r\n-OOM command not allowed\r\n";
    let Ok((_, Progress::Reply(reply))) = wire.receive(answers, &mut out) else { panic!("early") };
    assert_eq!(reply.error.expect("one").code, "OOM");
    out.clear();
    wire.bulk_data(b"c\tz\n", &mut out);
    wire.bulk_end(&mut out);
    assert!(out.is_empty(), "nobody wants more rows");
}

#[test]
fn answers_to_nothing_end_the_connection() {
    for (bytes, shown) in [(&b":1\r\n"[..], "nothing"), (b"-ERR max number of clients\r\n", "max")]
    {
        let error = ready(1).receive(bytes, &mut Vec::new()).expect_err("unasked");
        assert!(error.what.contains(shown), "{error}");
    }
}

#[test]
fn endless_answers_are_cut_or_cost_nothing() {
    let mut out = Vec::new();
    let mut wire = ready(2);
    let rubbish = |bytes: &[u8]| {
        let mut wire = wire_asked();
        assert_eq!(wire.receive(bytes, &mut Vec::new()).expect_err("refused").kind, Kind::Protocol);
    };
    rubbish(&[b"+".to_vec(), vec![b'x'; LINE_BYTES_MAX]].concat());
    rubbish(format!("${}\r\n", BULK_BYTES_MAX + 1).as_bytes());
    rubbish(b"$-2\r\n");
    rubbish(b"*99999999999999999999\r\n");
    rubbish(b"*9223372036854775807\r\n*9223372036854775807\r\n*9223372036854775807\r\n");
    rubbish(b"HTTP/1.1 400 Bad Request\r\n");
    rubbish(b"+OK\n");
    rubbish(b"$1\r\nxyz");
    // A value of any length is skipped: neither the wire nor its caller buffers it.
    wire.query("GET a", &mut out);
    let head = format!("${BULK_BYTES_MAX}\r\n");
    assert_eq!(wire.receive(head.as_bytes(), &mut out), Ok((head.len(), Progress::More)));
    assert_eq!(wire.receive(&[b'x'; 1 << 20], &mut out), Ok((1 << 20, Progress::More)));
    assert!(wire.is_amid_message());
    // Of the longest possible array, only a little text is stored.
    let mut wire = ready(2);
    wire.query("KEYS *", &mut out);
    wire.receive(b"*4294967295\r\n", &mut out).expect("goes on");
    for _ in 0..1000 {
        wire.receive(&b"$4\r\nabcd\r\n".repeat(100), &mut out).expect("goes on");
    }
    assert!(wire.first_row().len() < 5000);
}

/// A session whose request is in flight.
fn wire_asked() -> Box<dyn Wire> {
    let (mut wire, mut tx) = (ready(2), Transaction::default());
    tx.text(|out| out.push(b'a'));
    tx.op(0);
    wire.request(&tx.ops[0], &tx, &mut Vec::new());
    wire
}
