//! Tests of sessions of a cluster's nodes, of identities and of waits, byte by byte.

use super::*;
use dyno_core::driver::{Progress, Redirect, Reply, Wire};
use dyno_core::error::Kind;
use dyno_core::request::{Store, Verb};
use dyno_core::workload::Transaction;
use serde_json::json;

fn target(port: u16, options: serde_json::Value) -> Target {
    let address = json!({"tcp": {"host": "127.0.0.1", "port": port}});
    serde_json::from_value(json!({"driver": "redis", "address": address, "options": options}))
        .expect("a target")
}

/// Two nodes: 7001 has slots 0 to 8191, 7002 the others.
fn nodes(more: serde_json::Value) -> Vec<Target> {
    let node = |port: u16| {
        let mut options = json!({"prefix": "d:", "announced": format!("127.0.0.1:{port}")});
        let more = more.as_object().expect("options").clone();
        options.as_object_mut().expect("options").extend(more);
        target(port, options)
    };
    vec![node(7001), node(7002)]
}

fn requests(identified: bool) -> Arc<[Request]> {
    let store = Arc::new(Store { name: "t".into(), key: "k".into(), fields: vec!["f".into()] });
    let read = Request::key_value("read", &store, Verb::Read);
    let update = Request::key_value("update", &store, Verb::Update(0));
    [read, Request { identified, ..update }].into()
}

/// The reply to CLUSTER SLOTS of the two nodes.
fn slots_reply() -> String {
    let range = |first: u16, last: u16, port: u16| {
        format!("*3\r\n:{first}\r\n:{last}\r\n*3\r\n$9\r\n127.0.0.1\r\n:{port}\r\n$1\r\ni\r\n")
    };
    format!("*2\r\n{}{}", range(0, 8191, 7001), range(8192, 16_383, 7002))
}

fn routed(more: serde_json::Value, identified: bool) -> dyno_core::driver::Routed {
    let built = (KIND.routed.expect("clusters"))(&nodes(more), requests(identified));
    built.expect("nodes").expect("a cluster")
}

fn session(routed: &dyno_core::driver::Routed, node: usize) -> Box<dyn Wire> {
    let Ok(Session::Wire(mut wire)) = routed.drivers[node].session(0) else { panic!("a wire") };
    let mut out = Vec::new();
    wire.connected(false, &mut out);
    assert_eq!(out, b"*1\r\n$4\r\nPING\r\n*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n");
    let answer = format!("+PONG\r\n{}", slots_reply());
    for cut in 0..answer.len() {
        // Wherever it is cut: not ready before its last byte.
        let Ok(Session::Wire(mut other)) = routed.drivers[node].session(0) else {
            panic!("a wire")
        };
        other.connected(false, &mut Vec::new());
        let (used, progress) = feed(&mut *other, &answer.as_bytes()[..cut]);
        assert!(used <= cut && progress == Progress::More);
    }
    assert_eq!(feed(&mut *wire, answer.as_bytes()), (answer.len(), Progress::Ready));
    wire
}

/// Feeds bytes until there is an event, or all are consumed that can be.
fn feed(wire: &mut dyn Wire, bytes: &[u8]) -> (usize, Progress) {
    let mut at = 0;
    loop {
        let (used, progress) = wire.receive(&bytes[at..], &mut Vec::new()).expect("well-formed");
        at += used;
        if progress != Progress::More || used == 0 {
            return (at, progress);
        }
    }
}

fn operation(number: u16, key: &str, identity: bool) -> Transaction {
    let mut tx = Transaction::default();
    if number == 1 {
        tx.text(|out| out.push(b'v'));
    }
    tx.text(|out| out.extend_from_slice(key.as_bytes()));
    if identity {
        [4, 5, 6].into_iter().for_each(|value| tx.int(value));
    }
    tx.op(number);
    tx
}

/// The words of what is sent for an operation.
fn sent(wire: &mut dyn Wire, tx: &Transaction) -> String {
    let mut out = Vec::new();
    wire.request(&tx.ops[0], tx, &mut out);
    words(&out)
}

fn words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> =
        text.split("\r\n").filter(|line| !line.starts_with(['*', '$'])).collect();
    words.join(" ").trim().to_owned()
}

fn reply(wire: &mut dyn Wire, bytes: &str) -> Reply {
    match feed(wire, bytes.as_bytes()) {
        (used, Progress::Reply(reply)) if used == bytes.len() => reply,
        other => panic!("a reply to all of it: {other:?}"),
    }
}

#[test]
fn operations_go_to_the_node_of_their_slot() {
    let routed = routed(json!({}), false);
    let mut wire = session(&routed, 0);
    // `d:t:a` and `d:t:b`, by CLUSTER KEYSLOT.
    let (first, second) = (operation(0, "a", false), operation(0, "{b}", false));
    let node = |tx: &Transaction| routed.router.node_of(&tx.ops[0], tx);
    let slot = |tx: &Transaction| {
        let commands = commands::Command::all(
            &requests(false),
            &Login::of(&nodes(json!({}))[0]).unwrap(),
            true,
        );
        commands.unwrap()[0].slot(&tx.ops[0], tx)
    };
    assert_eq!(slot(&second), 3300, "that of `b`");
    assert_eq!(node(&second), 0);
    assert_eq!(node(&first), usize::from(slot(&first) > 8191));
    assert!(routed.router.is_used(0) && routed.router.is_used(1) && !routed.router.is_used(2));
    assert_eq!(sent(&mut *wire, &second), "GET d:t:{b}");
    assert_eq!(reply(&mut *wire, "$1\r\nx\r\n").rows, 1);
}

#[test]
fn redirections_are_data_and_change_what_is_known() {
    let routed = routed(json!({}), false);
    let mut wire = session(&routed, 0);
    let tx = operation(0, "{b}", false);
    sent(&mut *wire, &tx);
    let error = reply(&mut *wire, "-MOVED 3300 127.0.0.1:7002\r\n").error.expect("an error");
    assert_eq!(error.redirect, Some(Redirect { node: 1, asking: false }));
    assert_eq!(routed.router.node_of(&tx.ops[0], &tx), 1);
    // The next conversation asks again, once.
    let mut out = Vec::new();
    wire.look_up(&mut out);
    wire.asking(&mut out);
    assert_eq!(words(&out), "CLUSTER SLOTS ASKING");
    wire.look_up(&mut out);
    assert_eq!(words(&out), "CLUSTER SLOTS ASKING");
    sent(&mut *wire, &tx);
    let answer = format!("{}+OK\r\n$1\r\nx\r\n", slots_reply());
    assert_eq!(reply(&mut *wire, &answer).rows, 1);
    assert_eq!(routed.router.node_of(&tx.ops[0], &tx), 0, "as the node says");
    sent(&mut *wire, &tx);
    let error = reply(&mut *wire, "-ASK 3300 127.0.0.1:7002\r\n").error.expect("an error");
    assert_eq!(error.redirect, Some(Redirect { node: 1, asking: true }));
    sent(&mut *wire, &tx);
    let error = reply(&mut *wire, "-MOVED 3300 127.0.0.1:7009\r\n").error.expect("an error");
    assert_eq!(error.redirect, None);
    assert!(error.message.contains("none of the targets"), "{}", error.message);
    sent(&mut *wire, &tx);
    let error = reply(&mut *wire, "-CLUSTERDOWN The cluster is down\r\n").error.expect("one");
    assert!(error.retryable && error.rolled_back && error.message.ends_with("is down"));
}

#[test]
fn a_question_about_the_cluster_may_be_refused_without_harm_except_at_login() {
    let routed = routed(json!({}), false);
    let mut wire = session(&routed, 0);
    routed.router.doubt();
    let mut out = Vec::new();
    wire.look_up(&mut out);
    assert_eq!(feed(&mut *wire, b"-LOADING data\r\n"), (15, Progress::More));
    let tx = operation(0, "{b}", false);
    sent(&mut *wire, &tx);
    assert_eq!(reply(&mut *wire, "$-1\r\n"), Reply::default());
    let Ok(Session::Wire(mut alone)) = routed.drivers[0].session(0) else { panic!("a wire") };
    alone.connected(false, &mut out);
    let refused = b"+PONG\r\n-ERR This instance has cluster support disabled\r\n";
    let error = alone.receive(refused, &mut out).expect_err("no cluster");
    assert!(error.what.contains("cluster support disabled"), "{error}");
}

#[test]
fn a_value_behind_a_question_about_the_cluster_is_kept() {
    let store = Arc::new(Store { name: "t".into(), key: "k".into(), fields: vec!["f".into()] });
    let read = Request { keeps: true, ..Request::key_value("read", &store, Verb::Read) };
    let built = (KIND.routed.expect("clusters"))(&nodes(json!({})), [read].into());
    let routed = built.expect("nodes").expect("a cluster");
    let mut wire = session(&routed, 0);
    let tx = operation(0, "{b}", false);
    routed.router.doubt();
    let mut out = Vec::new();
    wire.look_up(&mut out);
    wire.asking(&mut out);
    sent(&mut *wire, &tx);
    let answer = format!("{}+OK\r\n$2\r\n17\r\n", slots_reply());
    let kept = reply(&mut *wire, &answer).kept;
    assert_eq!(kept.first().and_then(|row| row.int(0)), Some(17));
}

#[test]
fn a_write_and_its_identity_are_one_step() {
    let store = Arc::new(Store { name: "t".into(), key: "k".into(), fields: vec!["f".into()] });
    let update = Request::key_value("update", &store, Verb::Update(0));
    let one: Arc<[Request]> = [Request { identified: true, ..update }].into();
    let driver = build(&target(1, json!({"prefix": "d:"})), one).expect("a driver");
    let Ok(Session::Wire(mut wire)) = driver.session(0) else { panic!("a wire") };
    wire.connected(false, &mut Vec::new());
    assert_eq!(feed(&mut *wire, b"+PONG\r\n").1, Progress::Ready);
    let mut tx = operation(1, "a", true);
    tx.ops[0].request = 0;
    let all = "MULTI SET d:t:a v RPUSH d:dbdyno_audit:{0} 4:5:6 EXEC";
    assert_eq!(sent(&mut *wire, &tx), all);
    let done = reply(&mut *wire, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:1\r\n");
    assert_eq!((done.affected, done.error), (1, None));
    sent(&mut *wire, &tx);
    let refused = "+OK\r\n-NOREPLICAS Not enough\r\n+QUEUED\r\n-EXECABORT discarded\r\n";
    let error = reply(&mut *wire, refused).error.expect("an error");
    assert_eq!((error.code.as_str(), error.rolled_back), ("NOREPLICAS", true));
    sent(&mut *wire, &tx);
    let half = "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-WRONGTYPE Operation\r\n:1\r\n";
    let error = reply(&mut *wire, half).error.expect("an error");
    assert_eq!((error.code.as_str(), error.rolled_back), ("WRONGTYPE", false), "{error:?}");
}

#[test]
fn in_a_cluster_the_identity_is_in_the_slot_of_its_record() {
    let routed = routed(json!({}), true);
    let mut wire = session(&routed, 0);
    let tx = operation(1, "{b}", true);
    let sent = sent(&mut *wire, &tx);
    let list = sent.split(' ').find(|word| word.contains("audit")).expect("a list");
    let tag = list.split(['{', '}']).nth(1).expect("a tag");
    assert_eq!(slots::Prefix::new(b"").expect("no brace").slot(tag.as_bytes()), 3300, "{list}");
}

#[test]
fn a_write_that_too_few_replicas_have_is_no_success() {
    let routed = routed(json!({"wait_replicas": 1, "wait_ms": 50}), false);
    let mut wire = session(&routed, 0);
    let (read, write) = (operation(0, "{b}", false), operation(1, "{b}", false));
    assert_eq!(sent(&mut *wire, &read), "GET d:t:{b}");
    assert_eq!(reply(&mut *wire, "$-1\r\n"), Reply::default());
    assert_eq!(sent(&mut *wire, &write), "SET d:t:{b} v WAIT 1 50");
    assert_eq!(reply(&mut *wire, "+OK\r\n:1\r\n").affected, 1);
    sent(&mut *wire, &write);
    let error = reply(&mut *wire, "+OK\r\n:0\r\n").error.expect("an error");
    assert_eq!((error.code.as_str(), error.rolled_back, error.retryable), ("WAIT", false, false));
    assert!(error.message.contains("0 of 1 replicas"), "{}", error.message);
    sent(&mut *wire, &write);
    let error = reply(&mut *wire, "-OOM command\r\n:1\r\n").error.expect("an error");
    assert_eq!((error.code.as_str(), error.rolled_back), ("OOM", true));
    // The server has become a replica while the write waited: it may have taken effect.
    sent(&mut *wire, &write);
    let error = reply(&mut *wire, "+OK\r\n-UNBLOCKED instance state changed\r\n").error;
    let error = error.expect("an error");
    assert_eq!((error.code.as_str(), error.rolled_back), ("UNBLOCKED", false));
    assert!(!error.retryable);
}

#[test]
fn what_cannot_be_a_cluster_is_refused() {
    let built = |targets: &[Target]| (KIND.routed.expect("clusters"))(targets, requests(false));
    assert!(built(&[target(1, json!({}))]).expect("a server").is_none());
    let mixed = [nodes(json!({}))[0].clone(), target(2, json!({}))];
    let error = built(&mixed).err().expect("refused");
    assert!(error.what.contains("127.0.0.1:2 has no option `announced`"), "{error}");
    let error = built(&nodes(json!({"prefix": "{a}"}))).err().expect("refused");
    assert!(error.what.contains("`prefix`") && error.hint.contains("slot"), "{error}");
    let error = build(&nodes(json!({}))[0], requests(false)).err().expect("refused");
    assert_eq!(error.kind, Kind::Plan);
    for (name, value) in [
        ("announced", json!("here")),
        ("announced", json!("127.0.0.1:0")),
        ("wait_replicas", json!(-1)),
        ("wait_ms", json!(0)),
    ] {
        let error = build(&target(1, json!({name: value})), [].into()).err().expect("refused");
        assert!(error.what.contains(name), "{error}");
    }
}
