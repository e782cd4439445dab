//! The loop, turn by turn.

use super::*;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;

#[test]
fn tokens_come_back_as_they_were() {
    let key = Key { place: 70_000, life: u32::MAX };
    for token in [
        Token::Control,
        Token::Listener(key),
        Token::Socket(key, Side::Client),
        Token::Socket(key, Side::Server),
        Token::Answer(key),
    ] {
        assert_eq!(Token::from_u64(token.to_u64()), token);
    }
}

/// A relay with a listener; its port, and what keeps its input from ending.
fn listening(link: &Value) -> (Relay<io::Sink>, u16, UnixStream) {
    let (commands, input) = UnixStream::pair().unwrap();
    let mut relay = Relay::new(input, io::sink()).unwrap();
    let listen = json!({"do": "listen", "name": "db", "link": link}).to_string();
    let port = relay.carry_out(listen.as_bytes()).unwrap().figures.port;
    (relay, port, commands)
}

fn server() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

fn client(port: u16) -> TcpStream {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap()
}

#[test]
fn a_crowd_of_clients_is_accepted_in_turns() {
    let server = server();
    let to = server.local_addr().unwrap().to_string();
    let (mut relay, port, _commands) = listening(&json!({"to": to}));
    let crowd = ACCEPTS_MAX + 20;
    let clients: Vec<_> = (0..crowd).map(|_| client(port)).collect();
    let (mut ready, mut before) = (vec![], 0);
    while before < crowd {
        relay.turn(&mut ready).unwrap();
        let now = relay.connections.iter().count();
        assert!(now - before <= ACCEPTS_MAX, "{now} after {before}");
        before = now;
    }
    drop(clients);
}

#[test]
fn a_listener_has_one_timer_however_often_it_asks() {
    let (server, names) = (server(), UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let address = server.local_addr().unwrap();
    let link = json!({"to": address.to_string(), "resolve": {
        "name": "db.test", "server": names.local_addr().unwrap().to_string(), "port": address.port(),
    }});
    let (mut relay, port, _commands) = listening(&link);
    let asks = |relay: &Relay<io::Sink>| {
        let (_, listener) = relay.listeners.iter().next().unwrap();
        (listener.resolver.lookups, listener.resolver.is_asking())
    };
    let (mut ready, mut clients) = (vec![], vec![]);
    for asked in 1..=20 {
        clients.push(client(port));
        while asks(&relay) != (asked, true) {
            relay.turn(&mut ready).unwrap();
        }
        let mut message = [0; 512];
        let (length, from) = names.recv_from(&mut message).unwrap();
        let mut answer = message[..length].to_vec();
        (answer[2], answer[7]) = (0x81, 1);
        // One record: the name again, type A, class IN, no TTL, 127.0.0.1.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
        names.send_to(&answer, from).unwrap();
        while asks(&relay) != (asked, false) {
            relay.turn(&mut ready).unwrap();
        }
    }
    assert!(std::iter::from_fn(|| relay.timers.take_due(u64::MAX)).count() <= 1);
}
