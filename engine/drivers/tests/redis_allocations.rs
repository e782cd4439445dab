//! A request to Redis and its reply allocate nothing once buffers have grown.

mod counting;

use counting::COUNT;
use dyno_core::driver::{Progress, Session, Wire};
use dyno_core::plan::Target;
use dyno_core::request::{Request, Store, Verb};
use dyno_core::workload::Transaction;
use std::cell::Cell;
use std::sync::Arc;

fn connected(fields: usize) -> Box<dyn Wire> {
    let target: Target = serde_json::from_value(serde_json::json!({
        "driver": "redis", "address": {"tcp": {"host": "127.0.0.1", "port": 6379}},
    }))
    .unwrap();
    let fields = (0..fields).map(|n| format!("field{n}")).collect();
    let store = Arc::new(Store { name: "t".into(), key: "k".into(), fields });
    let verbs = [("read", Verb::Read), ("update", Verb::Update(3)), ("insert", Verb::Insert)];
    let requests = verbs.map(|(class, verb)| Request::key_value(class, &store, verb));
    let driver = (dyno_drivers::redis::KIND.build)(&target, requests.into()).unwrap();
    let Session::Wire(mut wire) = driver.session(0).unwrap() else { panic!("a wire") };
    let mut out = Vec::new();
    wire.connected(false, &mut out);
    assert_eq!(wire.receive(b"+PONG\r\n", &mut out).unwrap().1, Progress::Ready);
    wire
}

/// Appends operation `request` with `before` values, a key and `after` values, in this order.
fn operation(request: u16, before: usize, after: usize, tx: &mut Transaction) {
    let value = |tx: &mut Transaction| tx.text(|out| out.resize(out.len() + 100, b'v'));
    (0..before).for_each(|_| value(tx));
    tx.text(|out| out.extend_from_slice(b"user00000000000000000042"));
    (0..after).for_each(|_| value(tx));
    tx.op(request);
}

#[test]
fn a_pipeline_allocates_nothing() {
    let (mut wire, mut tx, mut out) = (connected(10), Transaction::default(), Vec::new());
    (0..16).for_each(|_| operation(1, 1, 0, &mut tx));
    let answers = b":0\r\n".repeat(16);
    let mut before = 0;
    for round in 0..100 {
        if round == 10 {
            before = COUNT.with(Cell::get);
        }
        out.clear();
        tx.ops.iter().for_each(|op| wire.request(op, &tx, &mut out));
        let (mut at, mut affected) = (0, 0);
        while at < answers.len() {
            let (used, progress) = wire.receive(&answers[at..], &mut out).unwrap();
            let Progress::Reply(reply) = progress else { panic!("a reply") };
            at += used;
            affected += reply.affected;
        }
        assert_eq!(affected, 16);
    }
    assert_eq!(COUNT.with(Cell::get), before);
}

#[test]
fn requests_and_answers_allocate_nothing() {
    let (mut wire, mut tx, mut out) = (connected(10), Transaction::default(), Vec::new());
    operation(0, 0, 0, &mut tx);
    operation(1, 1, 0, &mut tx);
    operation(2, 0, 10, &mut tx);
    let record = [b"*20\r\n".to_vec(), b"$6\r\nfield0\r\n$100\r\n".to_vec()].concat();
    let value = [vec![b'v'; 100], b"\r\n".to_vec()].concat();
    let mut read = [record, value.clone()].concat();
    for field in 1..10 {
        read.extend_from_slice(format!("$6\r\nfield{field}\r\n$100\r\n").as_bytes());
        read.extend_from_slice(&value);
    }
    let answers = [read, b":0\r\n".to_vec(), b":10\r\n".to_vec()];
    let mut before = 0;
    for round in 0..1000 {
        if round == 10 {
            before = COUNT.with(Cell::get);
        }
        let number = round % answers.len();
        out.clear();
        wire.request(&tx.ops[number], &tx, &mut out);
        let answer = &answers[number];
        let cut = round % answer.len();
        let (first, _) = wire.receive(&answer[..cut], &mut out).unwrap();
        let (second, progress) = wire.receive(&answer[first..], &mut out).unwrap();
        assert_eq!(first + second, answer.len());
        let Progress::Reply(reply) = progress else { panic!("a reply") };
        assert_eq!((reply.rows + reply.affected, reply.error), (1, None));
    }
    assert_eq!(COUNT.with(Cell::get), before);
}

/// The sessions of a cluster of one node, whose writes carry an identity and wait for a replica.
fn routed() -> (dyno_core::driver::Routed, Box<dyn Wire>) {
    let target: Target = serde_json::from_value(serde_json::json!({
        "driver": "redis", "address": {"tcp": {"host": "127.0.0.1", "port": 6379}},
        "options": {"prefix": "dyno:", "announced": "127.0.0.1:6379", "wait_replicas": 1},
    }))
    .unwrap();
    let store = Arc::new(Store { name: "t".into(), key: "k".into(), fields: vec!["f".into()] });
    let update = Request::key_value("update", &store, Verb::Update(0));
    let requests = [Request { identified: true, ..update }];
    let build = dyno_drivers::redis::KIND.routed.unwrap();
    let routed = build(&[target], requests.into()).unwrap().unwrap();
    let Session::Wire(mut wire) = routed.drivers[0].session(0).unwrap() else { panic!("a wire") };
    let mut out = Vec::new();
    wire.connected(false, &mut out);
    let (used, _) = wire.receive(b"+PONG\r\n*0\r\n", &mut out).unwrap();
    assert_eq!(used, 11);
    (routed, wire)
}

#[test]
fn a_routed_write_with_its_identity_allocates_nothing() {
    let ((routed, mut wire), mut tx, mut out) = (routed(), Transaction::default(), Vec::new());
    tx.text(|out| out.resize(100, b'v'));
    tx.text(|out| out.extend_from_slice(b"user00000000000000000042"));
    [1, 2, 3].into_iter().for_each(|value| tx.int(value));
    tx.op(0);
    let answers = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:1\r\n:1\r\n";
    let mut before = 0;
    for round in 0..100 {
        if round == 10 {
            before = COUNT.with(Cell::get);
        }
        out.clear();
        assert_eq!(routed.router.node_of(&tx.ops[0], &tx), 0);
        wire.look_up(&mut out);
        wire.request(&tx.ops[0], &tx, &mut out);
        let (used, progress) = wire.receive(answers, &mut out).unwrap();
        let Progress::Reply(reply) = progress else { panic!("a reply") };
        assert_eq!((used, reply.affected, reply.error), (answers.len(), 1, None));
    }
    assert_eq!(COUNT.with(Cell::get), before);
}
