//! Tests of the null server with the engine's own driver.

use super::delay::Delay;
use super::*;
use dyno_core::driver::{Progress, Reply, Session, Wire};
use dyno_core::histogram::Histogram;
use dyno_core::plan::{Address, Protocol, Secret, Target, Tls};
use dyno_core::workload::{Effect, ParamType, Request, Transaction};
use std::io::PipeWriter;
use std::net::TcpStream;
use std::thread::JoinHandle;

/// A server on a thread; it ends when the pipe is dropped.
struct Running {
    port: u16,
    pipe: PipeWriter,
    thread: JoinHandle<Life>,
}

/// A server's totals at its end, and its record.
type Life = ((u64, f64, f64), Option<Histogram>);

fn start(options: Options) -> Running {
    let (reader, pipe) = io::pipe().unwrap();
    let input = File::from(OwnedFd::from(reader));
    let mut server = Server::new(&options, input).unwrap();
    let port = server.port().unwrap();
    let thread = std::thread::spawn(move || {
        server.serve().unwrap();
        let record = server.desk.record.take();
        let histogram = record.as_ref().map(|record| record.histogram().clone());
        record.map_or(Ok(()), Record::write).unwrap();
        (server.spent(), histogram)
    });
    Running { port, pipe, thread }
}

fn options() -> Options {
    Options { rows: 3, ..Options::default() }
}

/// Reads until the driver reports progress.
fn wait(wire: &mut dyn Wire, stream: &mut (impl Read + Write), out: &mut Vec<u8>) -> Progress {
    let (mut input, mut buffer) = (vec![], [0; 4096]);
    loop {
        stream.write_all(out).unwrap();
        out.clear();
        let (consumed, progress) = wire.receive(&input, out).unwrap();
        input.drain(..consumed);
        if progress != Progress::More {
            assert!(input.is_empty(), "an answer too many");
            return progress;
        }
        if consumed == 0 || input.is_empty() {
            stream.write_all(out).unwrap();
            out.clear();
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0, "the server closed the connection");
            input.extend_from_slice(&buffer[..count]);
        }
    }
}

/// Logs in and sends a read and a write, prepared or in the text protocol.
fn converse(stream: &mut (impl Read + Write), protocol: Protocol) {
    let target = Target {
        driver: "mysql".into(),
        address: Address::Tcp { host: String::new(), port: 0 },
        user: "anyone".into(),
        password: Secret("anything".into()),
        database: "sbtest".into(),
        protocol,
        tls: Tls::Prefer,
        tls_extras: dyno_core::plan::TlsExtras::default(),
        login: Default::default(),
        session_sql: vec!["SET NAMES utf8mb4".into()],
        read_only: false,
        options: Default::default(),
    };
    let statement = |kind, sql: &str| Request::new("c", kind, sql, vec![ParamType::Int]);
    let statements = [
        statement(Effect::Read, "SELECT c FROM t WHERE id=?"),
        statement(Effect::Write, "UPDATE t SET k=k+1 WHERE id=?"),
    ];
    let driver = (dyno_drivers::mysql::KIND.build)(&target, statements.into()).unwrap();
    let Session::Wire(mut wire) = driver.session(0).unwrap() else { panic!("not a wire") };
    let mut out = vec![];
    wire.connected(false, &mut out);
    assert_eq!(wait(&mut *wire, stream, &mut out), Progress::Ready);
    let mut tx = Transaction::default();
    for statement in [0, 1] {
        tx.int(5);
        tx.op(statement);
    }
    for (op, rows) in tx.ops.iter().zip([3, 0]) {
        wire.request(op, &tx, &mut out);
        let want = Reply { rows, affected: 0, ..Reply::default() };
        assert_eq!(wait(&mut *wire, stream, &mut out), Progress::Reply(want));
    }
    wire.query("SELECT 1", &mut out);
    assert!(matches!(wait(&mut *wire, stream, &mut out), Progress::Reply(_)));
    assert_eq!(wire.first_row()[0].as_deref(), Some("x".repeat(120).as_str()));
}

#[test]
fn our_driver_is_answered_and_every_request_is_counted() {
    let path = std::env::temp_dir().join(format!("dbdyno-null-{}", std::process::id()));
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record.hlog");
    for delay_us in [0, 300] {
        let delay = Delay::Constant(Duration::from_micros(delay_us));
        let (socket, kept) = (Some(path.clone()), Some(record.clone()));
        let server = start(Options { delay, socket, record: kept, ..options() });
        let begin = Instant::now();
        converse(&mut TcpStream::connect(("127.0.0.1", server.port)).unwrap(), Protocol::Prepared);
        let mut unix = std::os::unix::net::UnixStream::connect(&path).unwrap();
        converse(&mut unix, Protocol::Text);
        // SET, two PREPAREs, two EXECUTEs, SELECT; SET, two statements, SELECT.
        assert!(begin.elapsed() >= Duration::from_micros(delay_us) * 8);
        drop(server.pipe);
        let ((requests, cpu_s, wall_s), histogram) = server.thread.join().unwrap();
        assert_eq!(requests, 6 + 4);
        let histogram = histogram.unwrap();
        assert_eq!(histogram.count(), 6 + 4);
        // The minimum is the lower end of its bucket.
        assert!(histogram.min_ns() >= delay_us * 1000 * 127 / 128);
        let text = std::fs::read_to_string(&record).unwrap();
        assert!(text.lines().last().unwrap().starts_with("Tag=receive-to-send,0.000,"), "{text}");
        assert!(cpu_s > 0.0 && wall_s > 0.0);
        assert!(!path.exists(), "its socket is left behind");
    }
}

#[test]
fn a_client_that_does_not_read_is_not_read_from_and_gets_everything_in_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record.hlog");
    let server = start(Options { rows: 1000, record: Some(record.clone()), ..options() });
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut login = vec![];
    let greeting = read_packet(&mut stream);
    assert_eq!(greeting[0], 10);
    let flags = dyno_protocol::mysql::flags::capability::PROTOCOL_41;
    dyno_protocol::mysql::packet::write(&mut login, 1, &flags.to_le_bytes());
    stream.write_all(&login).unwrap();
    assert_eq!(read_packet(&mut stream)[0], 0);
    let mut queries = vec![];
    for _ in 0..200 {
        dyno_protocol::mysql::packet::write(&mut queries, 0, b"\x03SELECT 1");
    }
    let mut writer = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || writer.write_all(&queries).unwrap());
    // Count, definition, EOF, rows, EOF: EOF packets, since this client does not deprecate them.
    let packets = 200 * (3 + 1000 + 1);
    let rows = (0..packets).filter(|_| read_packet(&mut stream).len() == 121).count();
    assert_eq!(rows, 200 * 1000);
    writer.join().unwrap();
    drop(server.pipe);
    let ((requests, ..), histogram) = server.thread.join().unwrap();
    assert_eq!(requests, 200);
    // Each is counted once, when its last byte was sent.
    assert_eq!(histogram.unwrap().count(), 200);
}

#[test]
fn a_client_that_does_not_wait_is_answered_in_order_however_long_each_answer_is_held() {
    let delay = Delay::parse("bimodal:0us,3ms,50%").unwrap();
    let server = start(Options { delay, ..options() });
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_nodelay(true).unwrap();
    read_packet(&mut stream);
    let mut login = vec![];
    let flags = dyno_protocol::mysql::flags::capability::PROTOCOL_41;
    dyno_protocol::mysql::packet::write(&mut login, 1, &flags.to_le_bytes());
    stream.write_all(&login).unwrap();
    read_packet(&mut stream);
    // Each prepared statement has the next id, which identifies its answer.
    for _ in 0..100 {
        let mut query = vec![];
        dyno_protocol::mysql::packet::write(&mut query, 0, b"\x16DELETE FROM t");
        stream.write_all(&query).unwrap();
        std::thread::yield_now();
    }
    let numbers: Vec<u8> = (0..100).map(|_| read_packet(&mut stream)[1]).collect();
    assert_eq!(numbers, (1..=100).map(|nth| 2 * nth as u8).collect::<Vec<_>>());
    drop(server.pipe);
    server.thread.join().unwrap();
}

#[test]
fn a_record_that_cannot_be_written_is_an_error_at_once() {
    let record = Some("/no/such/directory/record.hlog".into());
    let input = File::open("/dev/null").unwrap();
    let why = Server::new(&Options { record, ..options() }, input).err().unwrap();
    assert!(why.to_string().contains("/no/such/directory/record.hlog"), "{why}");
}

fn read_packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).unwrap();
    let (length, _) = dyno_protocol::mysql::packet::header(&head).unwrap();
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).unwrap();
    payload
}

#[test]
fn rubbish_closes_the_connection_and_nothing_else() {
    let server = start(options());
    for rubbish in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x02\0\0\x01xx", b"\xff\xff\xff\x01", &[0; 64]]
    {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        read_packet(&mut stream);
        stream.write_all(rubbish).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut rest = vec![];
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.len() < 64);
    }
    converse(&mut TcpStream::connect(("127.0.0.1", server.port)).unwrap(), Protocol::Text);
    drop(server.pipe);
    server.thread.join().unwrap();
}
