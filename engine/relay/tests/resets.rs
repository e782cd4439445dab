//! Connections that are reset, by the thousand: nothing of them stays in the relay, neither descriptors nor
//! memory.
//!
//! A million: `make resets`.

mod toy;

use serde_json::{Value, json};
use socket2::SockRef;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use toy::{Record, Relay, client, greeter, is_reset, is_turned_away, name_server, resolve, word};

/// Threads of clients.
const CLIENTS: usize = 4;
/// Connections that a client makes without waiting for the relay. All clients' fit into any listener's queue.
const UNSEEN_MAX: usize = 25;
/// Connections that are open at the same time, in the beginning and before a command resets them: more than
/// clients have at any other time.
const OPEN: usize = 200;
/// What may be left by chance, in bytes: 0.1 for each of a million connections.
const SLACK_BYTES: i64 = 100_000;

/// Counts the bytes that this process has.
struct Counting;

static HELD_BYTES: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the counter does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD_BYTES.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: the caller's guarantee is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD_BYTES.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: the caller's guarantee is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD_BYTES.fetch_add(size as i64 - layout.size() as i64, Relaxed);
        // SAFETY: the caller's guarantee is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Descriptors of this process.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Closes a connection by a reset.
fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
}

/// A server that handles one connection after the other.
fn in_turn(mut serve: impl FnMut(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().flatten().for_each(&mut serve));
    address
}

/// Greets, and reads until the end.
fn greets(mut stream: TcpStream) {
    let _ = stream.write_all(b"hi");
    while let Ok(1..) = stream.read(&mut [0; 64]) {}
}

/// Has clients make `count` connections in all, by `one` each; `seen`: every so many wait for the server.
fn clients(count: usize, seen: usize, one: impl Fn(bool) + Copy + Send) {
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let share = count / CLIENTS + usize::from(number < count % CLIENTS);
            scope.spawn(move || (1..=share).for_each(|made| one(made % seen == 0)));
        }
    });
}

/// A client that is greeted, says something and resets its connection.
fn talk_and_reset(relay: SocketAddr) {
    let mut stream = client(relay);
    assert_eq!(word(&mut stream, 2), "hi");
    stream.write_all(b"x").unwrap();
    reset(stream);
}

/// A relay, and the servers that it leads to in turn.
struct Bench {
    relay: Relay,
    address: SocketAddr,
    greeting: SocketAddr,
    crowd: SocketAddr,
    resetting: SocketAddr,
    names: SocketAddr,
    made: usize,
}

impl Bench {
    fn new() -> Self {
        let record: Record = Arc::new(Mutex::new(Some((Ipv4Addr::LOCALHOST, 0))));
        let (greeting, mut relay) = (in_turn(greets), Relay::start());
        let address = relay.listen(greeting, json!({}));
        let (crowd, resetting) = (greeter("hi"), in_turn(reset));
        let names = name_server(&record);
        Self { relay, address, greeting, crowd, resetting, names, made: 0 }
    }

    fn lead_to(&mut self, server: SocketAddr, link: Value) {
        let perfect =
            json!({"to": server.to_string(), "delay_s": 0, "jitter_s": 0, "bytes_per_s": 0});
        self.relay.change(perfect);
        self.relay.change(link);
    }

    /// Has `count` connections reset in every way.
    fn reset(&mut self, count: usize) {
        self.by_clients(count / 2, UNSEEN_MAX, json!({}));
        self.by_clients(count / 10, 1, json!({}));
        let slow = json!({"delay_s": 0.0005, "jitter_s": 0.0005, "bytes_per_s": 1_000_000});
        self.by_clients(count / 20, 1, slow);
        let named = resolve(self.names, self.greeting.port(), None);
        self.by_clients(count / 20, 1, named);
        self.by_servers(count / 5);
        for _ in 0..count / 10 / OPEN {
            self.by_command();
        }
    }

    /// Clients reset, all of them at once but every `seen`th, which talks to the server first.
    fn by_clients(&mut self, count: usize, seen: usize, link: Value) {
        self.lead_to(self.greeting, link);
        let relay = self.address;
        clients(
            count,
            seen,
            |is_seen| {
                if is_seen { talk_and_reset(relay) } else { reset(client(relay)) }
            },
        );
        self.made += count;
    }

    fn by_servers(&mut self, count: usize) {
        self.lead_to(self.resetting, json!({}));
        let relay = self.address;
        clients(count, 1, |_| assert!(is_turned_away(relay)));
        self.made += count;
    }

    /// The relay resets connections, all at the same time.
    fn by_command(&mut self) {
        self.lead_to(self.crowd, json!({}));
        let mut open: Vec<_> = (0..OPEN).map(|_| client(self.address)).collect();
        for stream in &mut open {
            assert_eq!(word(stream, 2), "hi");
        }
        let done = self.relay.ask(&json!({"do": "reset", "name": "db"}));
        assert_eq!(done["connections"], 0, "{done}");
        assert!(open.iter_mut().all(is_reset));
        self.made += OPEN;
    }

    /// Waits until all connections have been accepted and are gone, and what they needed: as many
    /// descriptors and bytes are held as `before`.
    fn settle(&mut self, before: Option<(usize, i64)>) -> (usize, i64) {
        let deadline = Instant::now() + toy::SOON;
        loop {
            let status = self.relay.ask(&json!({"do": "status", "name": "db"}));
            let held = (descriptors(), HELD_BYTES.load(Relaxed));
            let is_as_before = before.is_none_or(|(descriptors, bytes)| {
                held.0 <= descriptors && held.1 <= bytes + SLACK_BYTES
            });
            if is_as_before && status["connections"] == 0 && status["accepted"] == self.made {
                return held;
            }
            let made = self.made;
            assert!(
                Instant::now() < deadline,
                "{held:?} instead of {before:?} after {made} connections: {status}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// What a relay holds after `count` resets is what it held after a few.
fn nothing_is_left(count: usize) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    let mut bench = Bench::new();
    let start = descriptors();
    bench.by_command();
    bench.reset(2_000);
    let before = bench.settle(Some((start, i64::MAX - SLACK_BYTES)));
    bench.reset(count);
    let after = bench.settle(Some(before));
    eprintln!("{count} resets: {before:?} descriptors and bytes, then {after:?}");
    bench.relay.end();
}

#[test]
fn nothing_is_left_of_ten_thousand_resets() {
    nothing_is_left(10_000);
}

#[test]
#[ignore = "takes minutes: make resets"]
fn nothing_is_left_of_a_million_resets() {
    nothing_is_left(1_000_000);
}
