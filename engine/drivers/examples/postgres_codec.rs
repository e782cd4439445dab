//! CPU cost of the PostgreSQL codec without sockets: nanoseconds to encode a point select and to
//! parse its reply, for both protocols. Best of 20 rounds.
//!
//! `cargo run --release -p dyno-drivers --example postgres_codec`

use dyno_core::driver::{Progress, Session, Wire};
use dyno_core::plan::{Address, Protocol, Target};
use dyno_core::workload::{Effect, ParamType, Request, Transaction};
use dyno_drivers::postgres;
use std::hint::black_box;
use std::time::Instant;

const CALLS: u32 = 100_000;

fn message(tag: u8, body: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

fn session(protocol: Protocol) -> Box<dyn Wire> {
    let target = Target {
        driver: "postgres".into(),
        address: Address::Tcp { host: "localhost".into(), port: 5432 },
        user: "bench".into(),
        password: Default::default(),
        database: String::new(),
        protocol,
        tls: Default::default(),
        tls_extras: Default::default(),
        login: Default::default(),
        session_sql: Vec::new(),
        read_only: false,
        options: Default::default(),
    };
    let statement = Request::new(
        "point_select",
        Effect::Read,
        "SELECT c FROM sbtest1 WHERE id=?",
        vec![ParamType::Int],
    );
    let driver = (postgres::KIND.build)(&target, [statement].into()).expect("builds");
    let Ok(Session::Wire(mut wire)) = driver.session(0) else { panic!("postgres is a wire") };
    let (mut login, mut out) = (Vec::new(), Vec::new());
    message(b'R', &[0; 4], &mut login);
    message(b'Z', b"I", &mut login);
    if protocol == Protocol::Prepared {
        message(b'1', b"", &mut login);
        message(b'Z', b"I", &mut login);
    }
    wire.connected(true, &mut out);
    while !login.is_empty() {
        let (used, progress) = wire.receive(&login, &mut out).expect("logs in");
        login.drain(..used);
        if progress == Progress::Ready {
            return wire;
        }
    }
    panic!("not ready")
}

/// The reply to a point select: one row of 120 characters.
fn reply(protocol: Protocol) -> Vec<u8> {
    let mut row = vec![0, 1, 0, 0, 0, 120];
    row.resize(126, b'5');
    let mut reply = Vec::new();
    match protocol {
        Protocol::Prepared => message(b'2', b"", &mut reply),
        Protocol::Text => message(b'T', &[0; 27], &mut reply),
    }
    message(b'D', &row, &mut reply);
    message(b'C', b"SELECT 1\0", &mut reply);
    message(b'Z', b"I", &mut reply);
    reply
}

fn main() {
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut wire = session(protocol);
        let reply = reply(protocol);
        let mut tx = Transaction::default();
        let mut out = Vec::with_capacity(4096);
        let mut best_ns = f64::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            for call in 0..CALLS {
                tx.clear();
                tx.int(i64::from(call));
                tx.op(0);
                out.clear();
                wire.request(black_box(&tx.ops[0]), &tx, &mut out);
                let (used, progress) = wire.receive(black_box(&reply), &mut out).expect("replies");
                assert_eq!(used, reply.len());
                assert!(matches!(progress, Progress::Reply(reply) if reply.rows == 1));
            }
            best_ns = best_ns.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
        }
        println!("{protocol:?}: {best_ns:.1} ns a point select (fill, encode, take the reply)");
    }
}
