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
