//! Sessions of a Redis Cluster over real sockets: two scripted nodes that redirect, die and come back
//! otherwise. What a real cluster does: `tests/live/test_topology_redis.py`.

use dyno_core::event::{Event, GroupTotal};
use dyno_core::plan::Plan;
use dyno_drivers::DRIVERS;
use dyno_generator::run::{Ends, run};
use dyno_workloads::WORKLOADS;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What both nodes know of each other.
#[derive(Default)]
struct Shared {
    /// Port of the node that CLUSTER SLOTS names for all slots.
    said: AtomicUsize,
    /// Port of the node that has all slots.
    owner: AtomicUsize,
    /// Whether the owner sends operations on by ASK, to the other node.
    migrates: AtomicBool,
    /// Operations by port.
    served: Mutex<Vec<(u16, bool)>>,
    /// Connections of each node, to be cut.
    streams: Mutex<Vec<(u16, TcpStream)>>,
}

struct Nodes {
    shared: Arc<Shared>,
    ports: [u16; 2],
    dead: [Arc<AtomicBool>; 2],
}

/// Two nodes, the first of which has all slots.
fn nodes() -> Nodes {
    let shared = Arc::new(Shared::default());
    let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let ports = [0, 1].map(|n| listeners[n].local_addr().expect("an address").port());
    let dead = [0, 1].map(|_| Arc::new(AtomicBool::new(false)));
    shared.said.store(ports[0].into(), Relaxed);
    shared.owner.store(ports[0].into(), Relaxed);
    for (number, listener) in listeners.into_iter().enumerate() {
        let (shared, dead) = (Arc::clone(&shared), Arc::clone(&dead[number]));
        // Ends with the process: it owns only a port of the kernel's choice.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if dead.load(Relaxed) {
                    continue;
                }
                stream.set_nodelay(true).expect("a socket");
                let copy = stream.try_clone().expect("a socket");
                shared.streams.lock().expect("no panic").push((ports[number], copy));
                let shared = Arc::clone(&shared);
                // The end of a connection is no failure of the node.
                std::thread::spawn(move || serve(stream, ports, number, &shared));
            }
        });
    }
    Nodes { shared, ports, dead }
}

/// The words of the next command.
fn command(input: &mut BufReader<TcpStream>) -> std::io::Result<Vec<String>> {
    let mut number = |mark: char| -> std::io::Result<usize> {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().trim_start_matches(mark).parse().expect("a number"))
    };
    let count = number('*')?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let length: usize = line.trim_end()[1..].parse().expect("a length");
        let mut word = vec![0; length + 2];
        input.read_exact(&mut word)?;
        words.push(String::from_utf8_lossy(&word[..length]).into_owned());
    }
    Ok(words)
}

fn serve(
    stream: TcpStream,
    ports: [u16; 2],
    number: usize,
    shared: &Shared,
) -> std::io::Result<()> {
    let (own, other) = (ports[number], ports[1 - number]);
    let mut out = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    let mut asking = false;
    loop {
        let words = command(&mut input)?;
        let owns = shared.owner.load(Relaxed) == usize::from(own);
        let answer = match words[0].as_str() {
            "PING" => "+PONG\r\n".to_owned(),
            "CLUSTER" => {
                let said = shared.said.load(Relaxed);
                format!(
                    "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:{said}\r\n$1\r\ni\r\n"
                )
            }
            "ASKING" => {
                asking = true;
                "+OK\r\n".to_owned()
            }
            _ if owns && shared.migrates.load(Relaxed) => format!("-ASK 1 127.0.0.1:{other}\r\n"),
            _ if owns || asking => {
                shared.served.lock().expect("no panic").push((own, asking));
                asking = false;
                "$-1\r\n".to_owned()
            }
            _ => format!("-MOVED 1 127.0.0.1:{other}\r\n"),
        };
        out.write_all(answer.as_bytes())?;
    }
}

impl Nodes {
    /// Cuts all connections of a node, and takes no further ones.
    fn kill(&self, number: usize) {
        self.dead[number].store(true, Relaxed);
        for (port, stream) in &*self.shared.streams.lock().expect("no panic") {
            if *port == self.ports[number] {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// How many operations a node has served, and how many of these after ASKING.
    fn served(&self, number: usize) -> (usize, usize) {
        let served = self.shared.served.lock().expect("no panic");
        let own: Vec<_> = served.iter().filter(|one| one.0 == self.ports[number]).collect();
        (own.len(), own.iter().filter(|one| one.1).count())
    }

    /// A trial that lasts until `enough` holds of its events; `meanwhile` runs next to it.
    fn trial(
        &self,
        meanwhile: impl FnOnce() + Send,
        enough: impl Fn(&[Event]) -> bool + Sync,
    ) -> (GroupTotal, Vec<Event>) {
        let directory = tempfile::tempdir().expect("a directory");
        let target = |port: u16| {
            json!({"driver": "redis", "address": {"tcp": {"host": "127.0.0.1", "port": port}},
                   "options": {"announced": format!("127.0.0.1:{port}")}})
        };
        let plan: Plan = serde_json::from_value(json!({
            "schema_version": 1, "job": "run", "trial": "test", "directory": directory.path(),
            "seed": 1, "warmup_s": 0.0, "duration_s": 600.0, "drain_s": 0.0, "interval_s": 0.1,
            "targets": {"a": target(self.ports[0]), "b": target(self.ports[1])},
            "groups": [{"name": "g", "target": "a", "also_targets": ["b"], "workload": "kv",
                        "options": {"preset": "c", "records": 100}, "sessions": 3,
                        "deadline_s": 30.0}],
        }))
        .expect("a plan");
        let events = Mutex::new(Vec::new());
        let interrupted = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(meanwhile);
            let enough = || enough(&events.lock().expect("no panic"));
            let ends = Ends { interrupted: &interrupted, enough: &enough };
            let emit = |event| events.lock().expect("no panic").push(event);
            assert_eq!(run(&plan, DRIVERS, WORKLOADS, ends, &emit), Ok(false));
        });
        let events = events.into_inner().expect("no panic");
        let Some(Event::End { groups, .. }) = events.last() else { panic!("an end") };
        (groups["g"].clone(), events)
    }
}

/// Whether an operation has been measured.
fn some(events: &[Event]) -> bool {
    events.iter().any(|event| match event {
        Event::Interval { groups, .. } => groups["g"].transactions > 0,
        _ => false,
    })
}

/// How many sessions have gone on after an outage.
fn went_on(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Outage { end_s: Some(_), .. })).count()
}

#[test]
fn operations_go_where_the_nodes_say() {
    let nodes = nodes();
    let (total, _) = nodes.trial(|| {}, some);
    assert!(total.transactions > 0 && total.errors.is_empty(), "{:?}", total.errors);
    assert!(nodes.served(0).0 > 0);
    assert_eq!(nodes.served(1), (0, 0));
}

#[test]
fn a_moved_slot_is_followed_though_the_nodes_still_say_otherwise() {
    let nodes = nodes();
    nodes.shared.owner.store(nodes.ports[1].into(), Relaxed);
    let (total, _) = nodes.trial(|| {}, some);
    assert!(total.transactions > 0 && total.errors.is_empty(), "{:?}", total.errors);
    assert_eq!(nodes.served(0), (0, 0));
    assert!(nodes.served(1).0 > 0);
}

#[test]
fn a_slot_that_is_on_its_way_is_asked_for_and_stays_known() {
    let nodes = nodes();
    nodes.shared.migrates.store(true, Relaxed);
    let (total, _) = nodes.trial(|| {}, some);
    assert!(total.transactions > 0 && total.errors.is_empty(), "{:?}", total.errors);
    let (all, asked) = nodes.served(1);
    assert!(all > 0);
    assert_eq!(all, asked, "each operation is announced");
}

#[test]
fn sessions_go_on_at_the_node_that_takes_over() {
    let nodes = nodes();
    let take_over = || {
        while nodes.served(0).0 == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        nodes.kill(0);
        std::thread::sleep(Duration::from_millis(50));
        nodes.shared.owner.store(nodes.ports[1].into(), Relaxed);
        nodes.shared.said.store(nodes.ports[1].into(), Relaxed);
    };
    let all_go_on = |events: &[Event]| went_on(events) >= 3 && nodes.served(1).0 > 0;
    let (total, events) = nodes.trial(take_over, all_go_on);
    assert!(nodes.served(0).0 > 0 && nodes.served(1).0 > 0);
    assert!(total.errors["lost"] > 0, "{:?}", total.errors);
    assert!(went_on(&events) >= 3, "each session goes on");
}

#[test]
fn a_node_that_is_down_at_the_start_does_not_keep_a_session_from_another() {
    let nodes = nodes();
    nodes.kill(0);
    nodes.shared.owner.store(nodes.ports[1].into(), Relaxed);
    nodes.shared.said.store(nodes.ports[1].into(), Relaxed);
    let (total, _) = nodes.trial(|| {}, some);
    assert!(total.transactions > 0, "{:?}", total.errors);
}
