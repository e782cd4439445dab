//! Questions and answers, and a resolver with a name server of the test.

use super::dns::{Answer, answer, question};
use super::resolver::{ANSWER_NS, Outcome, Resolve, Resolver};
use proptest::prelude::*;
use std::net::{Ipv4Addr, UdpSocket};

/// An answer to `question`: records of a type and data each, whose names are pointers.
fn reply(question: &[u8], code: u8, records: &[(u16, &[u8])]) -> Vec<u8> {
    let mut message = question.to_vec();
    message[2] |= 0x80;
    message[3] = code;
    message[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
    for (kind, data) in records {
        message.extend([0xc0, 12]);
        message.extend(kind.to_be_bytes());
        message.extend([0, 1, 0, 0, 0, 60]);
        message.extend((data.len() as u16).to_be_bytes());
        message.extend(*data);
    }
    message
}

#[test]
fn a_question_is_the_name_in_labels() {
    let asked = question(0x0102, "db-2.dyno.test.").unwrap();
    assert_eq!(asked[..12], [1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(&asked[12..], b"\x04db-2\x04dyno\x04test\x00\x00\x01\x00\x01");
    let long = "a".repeat(64);
    for wrong in ["", ".", "a..b", long.as_str(), "ä.test"] {
        assert_eq!(question(1, wrong), None, "{wrong}");
    }
}

#[test]
fn an_answer_has_the_first_address() {
    let asked = question(7, "db.test").unwrap();
    let alias: &[u8] = &[2, b'x', b'y', 0];
    let both = reply(&asked, 0, &[(5, alias), (1, &[127, 0, 1, 2])]);
    let found = Answer::Address(Ipv4Addr::new(127, 0, 1, 2), 60);
    assert_eq!(answer(&both, &asked), Some(found));
    assert_eq!(answer(&reply(&asked, 3, &[]), &asked), Some(Answer::Nothing));
    assert_eq!(answer(&reply(&asked, 0, &[]), &asked), Some(Answer::Nothing));
    let other = question(8, "db.test").unwrap();
    assert_eq!(answer(&reply(&other, 0, &[]), &asked), None, "another question");
    assert_eq!(answer(&asked, &asked), None, "a question");
}

#[test]
fn an_address_is_kept_for_its_ttl_or_for_as_long_as_was_asked() {
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut resolve = Resolve {
        name: "db.test".to_owned(),
        server: server.local_addr().unwrap(),
        port: 3306,
        keep_s: None,
        patience_s: None,
    };
    for (keep_s, kept_s) in [(None, 60), (Some(300.0), 300), (Some(0.0), 0)] {
        resolve.keep_s = keep_s;
        let mut resolver = Resolver::default();
        resolver.ask(&resolve, 0).unwrap();
        let mut asked = [0; 512];
        let (length, from) = server.recv_from(&mut asked).unwrap();
        let sent = reply(&asked[..length], 0, &[(1, &[127, 0, 1, 2])]);
        server.send_to(&sent, from).unwrap();
        while resolver.receive(&resolve, 10) == Outcome::Waiting {
            std::thread::yield_now();
        }
        assert_eq!(resolver.address(10), Some(Ipv4Addr::new(127, 0, 1, 2)));
        let end_ns = 10 + (kept_s * 1_000_000_000).max(1);
        assert_eq!(resolver.address(end_ns - 1), Some(Ipv4Addr::new(127, 0, 1, 2)));
        assert_eq!(resolver.address(end_ns), None);
    }
}

#[test]
fn a_question_is_repeated_and_then_given_up() {
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let resolve = Resolve {
        name: "db.test".to_owned(),
        server: silent.local_addr().unwrap(),
        port: 1,
        keep_s: None,
        patience_s: None,
    };
    let mut resolver = Resolver::default();
    resolver.ask(&resolve, 0).unwrap();
    assert_eq!(resolver.repeat(ANSWER_NS - 1), Outcome::Waiting);
    assert_eq!(resolver.patient_until_ns(), Some(ANSWER_NS));
    assert_eq!(resolver.repeat(ANSWER_NS), Outcome::Waiting);
    assert_eq!(resolver.patient_until_ns(), Some(2 * ANSWER_NS));
    assert_eq!(resolver.repeat(2 * ANSWER_NS), Outcome::Waiting);
    assert_eq!(resolver.repeat(3 * ANSWER_NS), Outcome::Unknown);
    assert!(!resolver.is_asking());
    assert_eq!(resolver.lookups, 1);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let resolve = |json: &str| {
        let read: Result<Resolve, _> = serde_json::from_str(json);
        read.map_err(|why| why.to_string()).and_then(|one| one.check())
    };
    let good = r#"{"name":"db.test","server":"127.0.0.1:53","port":1}"#;
    assert_eq!(resolve(good), Ok(()));
    for (wrong, named) in [
        (good.replace("127.0.0.1", "8.8.8.8"), "loopback"),
        (good.replace("\"port\":1", "\"port\":0"), "loopback"),
        (good.replace("db.test", "a..b"), "a..b"),
        (good.replace("\"port\":1", "\"port\":1,\"keep_s\":-1"), "keep_s"),
        (good.replace("\"port\":1", "\"port\":1,\"patience_s\":0"), "patience_s"),
        (good.replace("\"port\":1", "\"port\":1,\"ttl\":1"), "ttl"),
    ] {
        let why = resolve(&wrong).unwrap_err();
        assert!(why.contains(named), "{why}");
    }
}

proptest! {
    #[test]
    fn no_message_breaks_the_parser(
        message in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0_usize..80,
    ) {
        let asked = question(1, "db.test").unwrap();
        let _ = answer(&message, &asked);
        let mut sent = reply(&asked, 0, &[(1, &[127, 0, 0, 1]), (5, &message)]);
        sent.truncate(cut);
        let _ = answer(&sent, &asked);
        let mut spoilt = reply(&asked, 0, &[(5, &message)]);
        spoilt[7] = 200;
        let _ = answer(&spoilt, &asked);
    }
}
