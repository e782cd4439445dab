//! A script's request to PostgreSQL and its reply allocate nothing once buffers have grown.

mod counting;

use counting::COUNT;
use dyno_core::driver::Progress;
use dyno_core::driver::client::{Bind, Client, Nature};
use dyno_core::plan::{Address, Target};
use std::cell::Cell;

fn messages(messages: &[(u8, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (tag, body) in messages {
        out.push(*tag);
        out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        out.extend_from_slice(body);
    }
    out
}

fn connected() -> Box<dyn Client> {
    let target = Target {
        driver: "postgres".into(),
        address: Address::Unix("/nowhere".into()),
        user: "u".into(),
        password: Default::default(),
        database: String::new(),
        protocol: Default::default(),
        tls: Default::default(),
        tls_extras: Default::default(),
        login: Default::default(),
        session_sql: Vec::new(),
        read_only: false,
        options: Default::default(),
    };
    let clients = (dyno_drivers::postgres::KIND.clients.unwrap())(&target).unwrap();
    let Nature::Wire(mut client) = clients().unwrap() else { panic!("a wire") };
    let mut out = Vec::new();
    client.connected(true, &mut out);
    let login = messages(&[(b'R', &[0; 4]), (b'Z', b"I")]);
    assert_eq!(client.receive(&login, &mut out).unwrap().1, Progress::Ready);
    client
}

#[test]
fn requests_and_answers_allocate_nothing() {
    let mut client = connected();
    let mut out = Vec::with_capacity(4096);
    client.prepare(b"SELECT c FROM t WHERE id=? AND c=?", &mut out);
    let column = (b'T', &b"\0\x01"[..]);
    let prepared = messages(&[(b'1', b""), (b't', b"\0\x02"), column, (b'Z', b"I")]);
    assert_eq!(client.receive(&prepared, &mut out).unwrap().1, Progress::Reply(()));
    let mut row = vec![0, 1, 0, 0, 0, 120];
    row.resize(126, b'x');
    let row = (b'D', &row[..]);
    let end = [row, row, (b'C', b"SELECT 2\0"), (b'Z', b"I")];
    let executed = messages(&[&[(b'2', &b""[..])], &end[..]].concat());
    let queried = messages(&[&[column], &end[..]].concat());
    let mut before = 0;
    for round in 0..1000 {
        if round == 10 {
            before = COUNT.with(Cell::get);
        }
        out.clear();
        let reply = if round % 2 == 0 {
            let values = [Bind::Int(i64::MIN), Bind::Text(b"it's")];
            client.execute(0, &values, &mut out);
            &executed
        } else {
            client.query(b"SELECT c FROM t WHERE id=5", &mut out);
            &queried
        };
        let cut = round % reply.len();
        let (first, _) = client.receive(&reply[..cut], &mut out).unwrap();
        let (second, said) = client.receive(&reply[first..], &mut out).unwrap();
        assert_eq!((first + second, said), (reply.len(), Progress::Reply(())));
        assert_eq!((client.answers()[0].fields, client.answers()[0].rows), (1, 2));
        let mut bytes = 0;
        let put = &mut |value: Option<&[u8]>| bytes += value.map_or(0, <[u8]>::len);
        client.fetch(0, 1, put).unwrap();
        assert_eq!(bytes, 120);
    }
    assert_eq!(COUNT.with(Cell::get), before);
}
