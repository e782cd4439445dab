//! Servers that are found by a name: what a client's machine asks, and what it keeps.

mod toy;

use serde_json::json;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex};
use toy::{
    Record, Relay, client, exchange, greeter, is_silent, is_turned_away, name_server, resolve, word,
};

const ONE: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);
const TWO: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 2);

/// Two machines with a server each, on the same port of their addresses; the port.
fn machines(relay: &mut Relay) -> u16 {
    let mut port = 0;
    for (name, ip, greeting) in [("one", ONE, "1"), ("two", TWO, "2")] {
        let link = json!({"to": greeter(greeting).to_string()});
        let done = relay.ask(
            &json!({"do": "listen", "name": name, "ip": ip.to_string(), "port": port, "link": link}),
        );
        port = done["port"].as_u64().unwrap_or_else(|| panic!("{done}")) as u16;
    }
    port
}

#[test]
fn new_connections_ask_again_once_the_ttl_is_over_and_open_ones_stay() {
    let record: Record = Arc::new(Mutex::new(Some((ONE, 0))));
    let server = name_server(&record);
    let mut relay = Relay::start();
    let port = machines(&mut relay);
    let address = relay.listen(toy::echo(), json!({}));
    relay.change(resolve(server, port, None));
    let mut open = client(address);
    assert_eq!(word(&mut open, 1), "1");
    *record.lock().unwrap() = Some((TWO, 3600));
    assert_eq!(word(&mut client(address), 1), "2");
    *record.lock().unwrap() = Some((ONE, 0));
    assert_eq!(word(&mut client(address), 1), "2", "the answer is kept");
    exchange(&mut open, b"x");
    assert_eq!(relay.change(json!({}))["lookups"], 2);
    relay.end();
}

#[test]
fn an_answer_can_be_kept_for_longer_or_shorter_than_its_ttl() {
    let record: Record = Arc::new(Mutex::new(Some((ONE, 0))));
    let server = name_server(&record);
    let mut relay = Relay::start();
    let port = machines(&mut relay);
    let address = relay.listen(toy::echo(), resolve(server, port, Some(3600.0)));
    assert_eq!(word(&mut client(address), 1), "1");
    *record.lock().unwrap() = Some((TWO, 3600));
    assert_eq!(word(&mut client(address), 1), "1");
    relay.change(resolve(server, port, Some(0.0)));
    assert_eq!(word(&mut client(address), 1), "2");
    *record.lock().unwrap() = Some((ONE, 3600));
    assert_eq!(word(&mut client(address), 1), "1");
    relay.end();
}

#[test]
fn without_an_address_a_connection_is_reset() {
    let record: Record = Arc::new(Mutex::new(None));
    let server = name_server(&record);
    let mut relay = Relay::start();
    let port = machines(&mut relay);
    let address = relay.listen(toy::echo(), resolve(server, port, None));
    assert!(is_turned_away(address), "there is no such name");
    *record.lock().unwrap() = Some((Ipv4Addr::new(192, 0, 2, 1), 0));
    assert!(is_turned_away(address), "the relay stays on loopback");
    *record.lock().unwrap() = Some((ONE, 0));
    assert_eq!(word(&mut client(address), 1), "1");
    let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    relay.change(resolve(nobody, port, None));
    assert!(is_turned_away(address), "there is no name server");
    relay.end();
}

#[test]
fn a_machine_that_is_gone_is_silent_until_its_name_leads_elsewhere() {
    let record: Record = Arc::new(Mutex::new(Some((ONE, 0))));
    let server = name_server(&record);
    let mut relay = Relay::start();
    let port = machines(&mut relay);
    let address = relay.listen(toy::echo(), json!({}));
    let mut link = resolve(server, port, None);
    link["resolve"]["patience_s"] = json!(1.0);
    relay.change(link);
    let mut open = client(address);
    assert_eq!(word(&mut open, 1), "1");
    let gone = json!({"do": "change", "name": "one", "link": {"drop": "both"}});
    assert_eq!(relay.ask(&gone)["done"], "one");
    assert!(is_silent(&mut open), "nobody says that it is gone");
    assert!(is_turned_away(address), "there is no route to it");
    assert!(is_silent(&mut open), "an open connection does not hear of that");
    *record.lock().unwrap() = Some((TWO, 0));
    assert_eq!(word(&mut client(address), 1), "2");
    relay.end();
}

#[test]
fn a_listener_elsewhere_than_on_loopback_is_refused() {
    let mut relay = Relay::start();
    let link = json!({"to": "127.0.0.1:1"});
    let refused = relay.ask(&json!({"do": "listen", "name": "x", "ip": "0.0.0.0", "link": link}));
    assert!(refused["error"].as_str().unwrap().contains("loopback"), "{refused}");
    relay.end();
}
