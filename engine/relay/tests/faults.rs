//! What the relay does to connections: partitions, losses, resets, refusals, another server.

mod toy;

use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use toy::{
    Relay, client, echo, exchange, greeter, is_reset, is_silent, is_turned_away, server, soon, word,
};

/// A server that counts the bytes it receives, and sends them back.
fn counting() -> (std::net::SocketAddr, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let address = server(move |mut stream| {
        let mut byte = [0];
        while let Ok(1) = stream.read(&mut byte) {
            counted.fetch_add(1, Ordering::SeqCst);
            if stream.write_all(&byte).is_err() {
                return;
            }
        }
    });
    (address, count)
}

#[test]
fn what_a_partition_swallowed_arrives_once_it_heals() {
    let (address, count) = counting();
    let mut relay = Relay::start();
    let address = relay.listen(address, json!({}));
    let mut stream = client(address);
    exchange(&mut stream, b"before");
    relay.change(json!({"drop": "both"}));
    stream.write_all(b"during").unwrap();
    assert!(is_silent(&mut stream));
    assert_eq!(count.load(Ordering::SeqCst), 6);
    relay.change(json!({"drop": "none"}));
    assert_eq!(word(&mut stream, 6), "during");
    exchange(&mut stream, b"after");
    relay.end();
}

#[test]
fn a_partition_of_one_way_lets_the_other_pass() {
    let (address, count) = counting();
    let mut relay = Relay::start();
    let address = relay.listen(address, json!({}));
    let mut stream = client(address);
    exchange(&mut stream, b"before");
    relay.change(json!({"drop": "to_client"}));
    stream.write_all(b"during").unwrap();
    assert!(is_silent(&mut stream));
    assert!(soon(|| count.load(Ordering::SeqCst) == 12), "the server receives it");
    relay.change(json!({"drop": "to_server"}));
    assert_eq!(word(&mut stream, 6), "during");
    stream.write_all(b"x").unwrap();
    assert!(is_silent(&mut stream));
    assert_eq!(count.load(Ordering::SeqCst), 12, "the server has not");
    relay.change(json!({"drop": "none"}));
    assert_eq!(word(&mut stream, 1), "x");
    relay.end();
}

#[test]
fn a_connect_hangs_in_a_partition_of_either_way() {
    let mut relay = Relay::start();
    let address = relay.listen(echo(), json!({}));
    for drop in ["both", "to_server", "to_client"] {
        relay.change(json!({"drop": drop}));
        let why = TcpStream::connect_timeout(&address, toy::AWHILE).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::TimedOut, "{drop}");
        relay.change(json!({"drop": "none"}));
        exchange(&mut client(address), b"healed");
    }
    relay.end();
}

#[test]
fn a_client_that_is_closed_in_a_partition_is_seen_after_it() {
    let mut relay = Relay::start();
    let address = relay.listen(echo(), json!({}));
    let mut stream = client(address);
    exchange(&mut stream, b"before");
    relay.change(json!({"drop": "both"}));
    drop(stream);
    std::thread::sleep(toy::AWHILE);
    let open = relay.ask(&json!({"do": "status", "name": "db"}));
    assert_eq!(open["connections"], 1, "{open}");
    relay.change(json!({"drop": "none"}));
    let is_closed = || relay.ask(&json!({"do": "status", "name": "db"}))["connections"] == 0;
    assert!(soon(is_closed), "the end was not sent again");
    relay.end();
}

#[test]
fn lost_packets_are_sent_again() {
    let mut relay = Relay::start();
    let address = relay.listen(echo(), json!({}));
    let mut stream = client(address);
    relay.change(json!({"loss": 0.2}));
    for number in 0..20_u8 {
        exchange(&mut stream, &[number; 100]);
    }
    relay.change(json!({"loss": 0}));
    exchange(&mut stream, &[1; 100_000]);
    relay.end();
}

#[test]
fn a_reset_closes_all_connections_of_a_listener() {
    let mut relay = Relay::start();
    let address = relay.listen(greeter("hi"), json!({}));
    let mut streams = [client(address), client(address)];
    for stream in &mut streams {
        assert_eq!(word(stream, 2), "hi");
    }
    let done = relay.ask(&json!({"do": "reset", "name": "db"}));
    assert_eq!((&done["connections"], &done["accepted"]), (&json!(0), &json!(2)));
    assert!(streams.iter_mut().all(is_reset));
    assert_eq!(word(&mut client(address), 2), "hi");
    relay.end();
}

#[test]
fn a_listener_that_refuses_keeps_its_port_and_its_connections() {
    let mut relay = Relay::start();
    let address = relay.listen(echo(), json!({}));
    let mut old = client(address);
    exchange(&mut old, b"before");
    relay.change(json!({"refuse": true}));
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    exchange(&mut old, b"goes on");
    relay.change(json!({"refuse": false}));
    exchange(&mut client(address), b"again");
    exchange(&mut old, b"still");
    relay.end();
}

#[test]
fn new_connections_go_to_another_server_and_old_ones_stay() {
    let mut relay = Relay::start();
    let address = relay.listen(greeter("one"), json!({}));
    let mut old = client(address);
    assert_eq!(word(&mut old, 3), "one");
    relay.change(json!({"to": greeter("two").to_string()}));
    exchange(&mut old, b"x");
    assert_eq!(word(&mut client(address), 3), "two");
    let three = greeter("three").to_string();
    let moved = json!({"do": "change", "name": "db", "link": {"to": three}, "reset": true});
    relay.ask(&moved);
    assert!(is_reset(&mut old));
    assert_eq!(word(&mut client(address), 5), "three");
    relay.end();
}

#[test]
fn a_server_that_is_down_is_a_reset_at_the_client() {
    let mut relay = Relay::start();
    let address = relay.listen(toy::NOBODY.into(), json!({"delay_s": 0.001}));
    assert!(is_turned_away(address));
    relay.change(json!({"to": greeter("up").to_string()}));
    assert_eq!(word(&mut client(address), 2), "up");
    relay.end();
}

#[test]
fn a_closed_listener_frees_its_port_and_its_name() {
    let mut relay = Relay::start();
    let address = relay.listen(greeter("hi"), json!({}));
    let mut stream = client(address);
    assert_eq!(word(&mut stream, 2), "hi");
    let done = relay.ask(&json!({"do": "close", "name": "db"}));
    assert_eq!((&done["done"], &done["connections"]), (&json!("db"), &json!(0)));
    assert!(is_reset(&mut stream));
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    let again = relay.listen(greeter("again"), json!({}));
    assert_eq!(word(&mut client(again), 5), "again");
    relay.end();
}

#[test]
fn the_end_of_the_input_resets_everything_and_ends_the_relay() {
    let mut relay = Relay::start();
    let address = relay.listen(greeter("hi"), json!({"delay_s": 3600}));
    let fast = json!({"do": "listen", "name": "fast", "link": {"to": greeter("hi").to_string()}});
    let port = relay.ask(&fast)["port"].as_u64().unwrap() as u16;
    let mut streams = [client(address), client(([127, 0, 0, 1], port).into())];
    assert_eq!(word(&mut streams[1], 2), "hi");
    relay.end();
    assert!(streams.iter_mut().all(is_reset));
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_wrong_command_is_answered_and_changes_nothing() {
    let mut relay = Relay::start();
    let address = relay.listen(echo(), json!({}));
    let to = address.to_string();
    for (command, named) in [
        (json!({"do": "dance", "name": "db"}), "dance"),
        (json!({"do": "status", "name": "nobody"}), "nobody"),
        (json!({"do": "listen", "name": "db", "link": {"to": to}}), "already"),
        (json!({"do": "listen", "name": "new", "link": {}}), "link.to"),
        (
            json!({"do": "listen", "name": "new", "link": {"to": to}, "port": address.port()}),
            "port",
        ),
        (json!({"do": "change", "name": "db", "link": {"delay_s": 1, "loss": 2}}), "loss"),
        (json!({"do": "change", "name": "db", "link": {"to": "10.0.0.1:3306"}}), "loopback"),
    ] {
        let failed = relay.ask(&command);
        assert!(failed["error"].as_str().unwrap().contains(named), "{failed}");
    }
    exchange(&mut client(address), b"as before");
    relay.end();
}
