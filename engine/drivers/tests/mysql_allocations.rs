//! A request and its reply allocate nothing once buffers have grown.

mod counting;

use counting::COUNT;
use dyno_core::driver::client::{Bind, Nature};
use dyno_core::driver::{Progress, Session};
use dyno_core::plan::{Address, Protocol, Secret, Target};
use dyno_core::workload::{Effect, ParamType, Request, Transaction};
use dyno_protocol::mysql::packet;
use std::cell::Cell;

fn framed(packets: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![];
    packets.iter().fold(1, |seq, payload| packet::write(&mut out, seq, payload));
    out
}

const GREETING: &[u8] = b"\x0a9.0\0\x01\0\0\x0001234567\0\xff\xf7\x2d\x02\0\xff\xdf\x15\
    \0\0\0\0\0\0\0\0\0\x00012345678901\0mysql_native_password\0";

fn target(protocol: Protocol) -> Target {
    Target {
        driver: "mysql".into(),
        address: Address::Unix("/nowhere".into()),
        user: "u".into(),
        password: Secret("p".into()),
        database: String::new(),
        protocol,
        tls: Default::default(),
        tls_extras: Default::default(),
        login: Default::default(),
        session_sql: vec![],
        read_only: false,
        options: Default::default(),
    }
}

#[test]
fn requests_and_replies_allocate_nothing() {
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let target = target(protocol);
        let statement = Request::new(
            "c",
            Effect::Read,
            "SELECT c FROM t WHERE id=? AND c=?",
            vec![ParamType::Int, ParamType::Text],
        );
        let driver = (dyno_drivers::mysql::KIND.build)(&target, [statement].into()).unwrap();
        let Session::Wire(mut wire) = driver.session(0).unwrap() else { panic!("not a wire") };
        let mut out = Vec::with_capacity(4096);
        wire.connected(true, &mut out);
        let mut greeting = vec![];
        packet::write(&mut greeting, 0, GREETING);
        assert_eq!(wire.receive(&greeting, &mut out).unwrap().1, Progress::More);
        let mut ok = vec![];
        packet::write(&mut ok, 2, &[0, 0, 0, 2, 0, 0, 0]);
        let mut progress = wire.receive(&ok, &mut out).unwrap().1;
        if protocol == Protocol::Prepared {
            let prepared: &[u8] = &[0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
            let reply = framed(&[prepared, b"def", b"def", b"def"]);
            progress = wire.receive(&reply, &mut out).unwrap().1;
        }
        assert_eq!(progress, Progress::Ready);

        let mut tx = Transaction::default();
        tx.int(i64::MIN);
        tx.text(|arena| arena.extend_from_slice(b"it's"));
        tx.op(0);
        let row = [b'x'; 121];
        let reply = framed(&[&[1], b"def", &row, &row, &[0xfe, 0, 0, 2, 0, 0, 0]]);
        let before = COUNT.with(Cell::get);
        for round in 0..1000 {
            out.clear();
            wire.request(&tx.ops[0], &tx, &mut out);
            let cut = round % reply.len();
            let (first, _) = wire.receive(&reply[..cut], &mut out).unwrap();
            let (second, progress) = wire.receive(&reply[first..], &mut out).unwrap();
            assert_eq!(first + second, reply.len());
            assert!(matches!(progress, Progress::Reply(reply) if reply.rows == 2));
        }
        assert_eq!(COUNT.with(Cell::get) - before, 0, "{protocol:?}");
    }
}

#[test]
fn statements_of_scripts_and_fetched_rows_allocate_nothing() {
    let clients =
        (dyno_drivers::mysql::KIND.clients.unwrap())(&target(Protocol::Prepared)).unwrap();
    let Nature::Wire(mut client) = clients().unwrap() else { panic!("not a wire") };
    let mut out = Vec::with_capacity(4096);
    client.connected(true, &mut out);
    let mut login = vec![];
    packet::write(&mut login, 0, GREETING);
    let greeting = login.len();
    packet::write(&mut login, 2, &[0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(client.receive(&login, &mut out).unwrap(), (greeting, Progress::More));
    assert_eq!(client.receive(&login[greeting..], &mut out).unwrap().1, Progress::Ready);
    client.prepare(b"SELECT a, b FROM t WHERE a=? AND c=?", &mut out);
    // An integer and a floating-point number, which become text when fetched.
    let names = b"\x03def\0\0\0\0\0\x0c\x3f\0\x14\0\0\0";
    let int = [&names[..], &[8, 0, 0, 0, 0, 0]].concat();
    let double = [&names[..], &[5, 0, 0, 31, 0, 0]].concat();
    let head = [0, 1, 0, 0, 0, 2, 0, 2, 0, 0, 0, 0];
    let reply = framed(&[&head, &int, &int, &int, &double]);
    assert_eq!(client.receive(&reply, &mut out).unwrap(), (reply.len(), Progress::Reply(())));
    let (statement, _) = client.prepared();

    let end = &[0xfe, 0, 0, 2, 0, 0, 0];
    let text = framed(&[&[2], b"def", b"def", b"\x011\x012", b"\xfb\x00", end]);
    let row = [&[0, 0][..], &7u64.to_le_bytes(), &0.1f64.to_le_bytes()].concat();
    let binary = framed(&[&[2], &int, &double, &row, &row, end]);
    let mut before = 0;
    for round in 0..1000 {
        if round == 10 {
            before = COUNT.with(Cell::get);
        }
        out.clear();
        let reply = if round % 2 == 0 { &text } else { &binary };
        match round % 2 {
            0 => client.query(b"SELECT a, b FROM t", &mut out),
            _ => client.execute(statement, &[Bind::Int(1), Bind::Text(b"x")], &mut out),
        }
        let cut = round % reply.len();
        let (first, _) = client.receive(&reply[..cut], &mut out).unwrap();
        let (second, said) = client.receive(&reply[first..], &mut out).unwrap();
        assert_eq!((first + second, said), (reply.len(), Progress::Reply(())));
        assert_eq!(client.answers()[0].rows, 2);
        let mut fields = 0;
        (0..2).for_each(|row| client.fetch(0, row, &mut |_| fields += 1).unwrap());
        assert_eq!(fields, 4);
    }
    assert_eq!(COUNT.with(Cell::get) - before, 0);
}
