//! Bytes through the relay, between real sockets: all of them, in order, not before their time.

mod toy;

use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use toy::{Relay, client, echo, exchange, is_reset, server, soon, word};

#[test]
fn an_exchange_takes_both_delays_and_a_connection_the_handshake_too() {
    let mut relay = Relay::start();
    let address = relay.listen(echo(), json!({"delay_s": {"to_server": 0.03, "to_client": 0.01}}));
    let begun = Instant::now();
    let mut stream = client(address);
    exchange(&mut stream, b"first");
    // Three ways of the handshake hide the way of the bytes, which are sent at once.
    assert!(begun.elapsed() >= Duration::from_millis(70 + 10), "{:?}", begun.elapsed());
    let begun = Instant::now();
    exchange(&mut stream, b"second");
    assert!(begun.elapsed() >= Duration::from_millis(40), "{:?}", begun.elapsed());
    relay.change(json!({"delay_s": 0}));
    for number in 0..1000_u32 {
        exchange(&mut stream, &number.to_le_bytes());
    }
    relay.end();
}

#[test]
fn a_greeting_comes_after_the_handshake() {
    let mut relay = Relay::start();
    let address = relay.listen(toy::greeter("hello"), json!({"delay_s": 0.02}));
    let begun = Instant::now();
    assert_eq!(word(&mut client(address), 5), "hello");
    assert!(begun.elapsed() >= Duration::from_millis(80), "{:?}", begun.elapsed());
    relay.end();
}

#[test]
fn bandwidth_is_shared_and_not_exceeded() {
    let mut relay = Relay::start();
    let address =
        relay.listen(echo(), json!({"bytes_per_s": {"to_server": 1_000_000, "to_client": 0}}));
    let begun = Instant::now();
    let threads: Vec<_> = (0..4)
        .map(|_| std::thread::spawn(move || send_and_compare(address, &[vec![7; 75_000]])))
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    let status = relay.ask(&json!({"do": "status", "name": "db"}));
    assert_eq!(status["bytes_to_server"], 300_000);
    assert_eq!((&status["accepted"], &status["bytes_to_client"]), (&json!(4), &json!(300_000)));
    relay.end();
}

#[test]
fn half_close_is_carried_over() {
    let mut relay = Relay::start();
    let counts = server(|mut stream| {
        let mut all = vec![];
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(format!("{} bytes", all.len()).as_bytes()).unwrap();
    });
    let address = relay.listen(counts, json!({"delay_s": 0.005}));
    let mut stream = client(address);
    stream.write_all(&[1; 100_000]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "100000 bytes");
    relay.end();
}

#[test]
fn a_client_that_is_killed_is_a_reset_at_the_server() {
    let (was_reset, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (told, done) = (Arc::clone(&was_reset), Arc::clone(&seen));
    let watching = server(move |mut stream| {
        stream.write_all(b"hello").unwrap();
        told.store(is_reset(&mut stream), Ordering::SeqCst);
        done.store(true, Ordering::SeqCst);
    });
    let mut relay = Relay::start();
    let address = relay.listen(watching, json!({}));
    let mut stream = client(address);
    assert_eq!(word(&mut stream, 1), "h");
    // Unread bytes make a close a reset (RFC 1122, 4.2.2.13).
    assert!(soon(|| stream.peek(&mut [0; 4]).unwrap() == 4));
    drop(stream);
    assert!(soon(|| seen.load(Ordering::SeqCst)), "the server was not told");
    assert!(was_reset.load(Ordering::SeqCst));
    relay.end();
}

#[test]
fn a_server_that_does_not_read_stops_its_client() {
    let never_reads = server(|stream| {
        std::thread::sleep(toy::SOON);
        drop(stream);
    });
    let mut relay = Relay::start();
    let address = relay.listen(never_reads, json!({}));
    let mut stream = client(address);
    stream.set_write_timeout(Some(toy::AWHILE)).unwrap();
    let (mut sent, chunk) = (0_usize, vec![0; 256 << 10]);
    loop {
        match stream.write(&chunk) {
            Ok(count) => sent += count,
            Err(why) => {
                assert!(matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{why}");
                break;
            }
        }
        // The kernel's buffers of four sockets, and what is under way.
        assert!(sent < 100 << 20, "{sent} bytes wait somewhere");
    }
    let status = relay.ask(&json!({"do": "status", "name": "db"}));
    assert!(status["bytes_to_server"].as_u64().unwrap() < 50 << 20, "{status}");
    relay.end();
}

/// Sends pieces to an echo while it reads, and ends; all must come back.
fn send_and_compare(address: SocketAddr, pieces: &[Vec<u8>]) {
    let mut stream = client(address);
    let mut writer = stream.try_clone().unwrap();
    let all = pieces.concat();
    let pieces = pieces.to_vec();
    let writing = std::thread::spawn(move || {
        for piece in &pieces {
            writer.write_all(piece).unwrap();
        }
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut back = vec![];
    stream.read_to_end(&mut back).unwrap();
    writing.join().unwrap();
    assert!(back == all, "{} bytes sent, {} received", all.len(), back.len());
}

/// One relay for all cases, with an echo behind it.
fn shared() -> &'static (Mutex<Relay>, SocketAddr) {
    static SHARED: OnceLock<(Mutex<Relay>, SocketAddr)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let mut relay = Relay::start();
        let address = relay.listen(echo(), json!({}));
        (Mutex::new(relay), address)
    })
}

fn links() -> impl Strategy<Value = Value> {
    let delay = prop_oneof![Just(0.0), 0.0..0.01_f64];
    let bandwidth = prop_oneof![Just(0_u64), 500_000..50_000_000_u64];
    (delay.clone(), delay, bandwidth).prop_map(|(delay_s, jitter_s, bytes_per_s)| {
        json!({"delay_s": delay_s, "jitter_s": jitter_s, "bytes_per_s": bytes_per_s})
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn bytes_come_back_as_they_were_however_they_are_cut(
        link in links(),
        seed in any::<u8>(),
        sizes in proptest::collection::vec(prop_oneof![1..20_usize, 1..3000_usize, 1..70_000_usize], 1..12),
    ) {
        let (relay, address) = shared();
        relay.lock().unwrap().change(link);
        let pieces: Vec<Vec<u8>> = sizes
            .iter()
            .enumerate()
            .map(|(index, &size)| (0..size).map(|n| (n * 31 + index) as u8 ^ seed).collect())
            .collect();
        send_and_compare(*address, &pieces);
    }
}

#[test]
fn conditions_may_change_in_the_middle_of_a_stream() {
    let mut relay = Relay::start();
    let address = relay.listen(echo(), json!({"bytes_per_s": 2_000_000, "delay_s": 0.002}));
    let streaming = std::thread::spawn(move || {
        let pieces: Vec<Vec<u8>> = (0..40).map(|n: u8| vec![n; 20_000]).collect();
        send_and_compare(address, &pieces);
    });
    for number in 0..20_u32 {
        let bytes_per_s = [0, 3_000_000, 500_000, 0][number as usize % 4];
        let delay_s = f64::from(number % 3) * 0.004;
        relay.change(json!({"bytes_per_s": bytes_per_s, "delay_s": delay_s, "jitter_s": 0.001}));
        std::thread::sleep(Duration::from_millis(10));
    }
    relay.change(json!({"bytes_per_s": 0, "delay_s": 0, "jitter_s": 0}));
    streaming.join().unwrap();
    relay.end();
}

#[test]
fn many_connections_at_once() {
    let mut relay = Relay::start();
    let address = relay.listen(echo(), json!({"delay_s": 0.001}));
    let mut streams: Vec<TcpStream> = (0..200).map(|_| client(address)).collect();
    for _ in 0..3 {
        for stream in &mut streams {
            stream.write_all(b"ping").unwrap();
        }
        for stream in &mut streams {
            assert_eq!(word(stream, 4), "ping");
        }
    }
    let status = relay.ask(&json!({"do": "status", "name": "db"}));
    assert_eq!((&status["connections"], &status["accepted"]), (&json!(200), &json!(200)));
    drop(streams);
    relay.end();
}
