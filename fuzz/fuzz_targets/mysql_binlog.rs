//! Parses arbitrary bytes as a binary log: unchanged, or as the bodies of valid events. Transactions must
//! not depend on how the log is split into pieces, and the speedup of a simulated replica must not exceed
//! its number of workers.
//!
//! In the second case, each event is the index of its type in `KINDS`, a length and the body. If the highest
//! bit of the type is set, the body is compressed (or, for a transaction payload, wrapped) as by the server.
#![no_main]

mod reading;

use dyno_digest::inspect::binlog::{
    HEADER, Items, MAGIC, Reader, Statement, Transaction, checksum,
};
use dyno_digest::logs::format::Settings;
use dyno_digest::parallelism::{Rule, Simulation};
use dyno_digest::sink::Part;
use reading::{Places, Way};

const KINDS: [u8; 32] = [
    2, 15, 16, 19, 29, 30, 31, 32, 33, 34, 38, 39, 40, 23, 24, 25, 160, 162, 164, 165, 166, 167,
    168, 169, 170, 171, 4, 17, 9, 18, 42, 26,
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(way) = Way::of(data) else { return };
    let framed;
    let way = if way.choice & 1 == 0 {
        way
    } else {
        framed = frame(way.choice, way.log);
        way.through(&framed)
    };
    reading::read(reading::format("mysql-binlog"), Places::Joined, &Settings::default(), &way);
    let whole = transactions(&way, &[way.log.len()]);
    assert_eq!(whole, transactions(&way, &way.ends()));
    if way.choice & 2 == 0 {
        simulate(&whole, way.log.len() as u64);
    }
});

/// Builds a binary log of server 5.5 (without checksums), 9.1 or MariaDB 10.11 from event bodies.
fn frame(choice: u8, mut bodies: &[u8]) -> Vec<u8> {
    let server = [&b"9.1.0"[..], b"5.5.62-log", b"10.11.9-MariaDB"][usize::from(choice >> 2) % 3];
    let has_checksums = choice & 0x40 != 0 && !server.starts_with(b"5.5");
    let mut log = MAGIC.to_vec();
    let mut description = vec![4, 0];
    description.extend_from_slice(server);
    description.resize(2 + 50 + 4, 0);
    description.push(HEADER as u8);
    description.extend_from_slice(&[8; 40]);
    description.push(u8::from(has_checksums));
    if has_checksums {
        event(&mut log, 15, &description, true);
    } else {
        // The description event has room for a checksum in any case.
        description.extend_from_slice(&[0; 4]);
        event(&mut log, 15, &description, false);
    }
    while let Some((&[kind, length], rest)) = bodies.split_first_chunk::<2>() {
        let (body, rest) = rest.split_at(usize::from(length).min(rest.len()));
        bodies = rest;
        let (is_packed, kind) = (kind & 0x80 != 0, KINDS[usize::from(kind) % KINDS.len()]);
        match kind {
            40 if is_packed => event(&mut log, kind, &wrapped(body), has_checksums),
            165 if is_packed && body.len() > 13 => {
                let (head, text) = body.split_at(13);
                event(&mut log, kind, &[head, &packed(text)].concat(), has_checksums);
            }
            166..=171 if is_packed && body.len() > 12 => {
                let (head, rows) = body.split_at(12);
                event(&mut log, kind, &[head, &packed(rows)].concat(), has_checksums);
            }
            _ => event(&mut log, kind, body, has_checksums),
        }
    }
    log
}

fn event(log: &mut Vec<u8>, kind: u8, body: &[u8], has_checksum: bool) {
    let (begin, tail) = (log.len(), if has_checksum { 4 } else { 0 });
    log.extend_from_slice(&1_700_000_000_u32.to_le_bytes());
    log.push(kind);
    log.extend_from_slice(&[1, 0, 0, 0]);
    log.extend_from_slice(&((HEADER + body.len() + tail) as u32).to_le_bytes());
    log.extend_from_slice(&[0; 6]);
    log.extend_from_slice(body);
    if has_checksum {
        let checksum = checksum(&log[begin..]);
        log.extend_from_slice(&checksum.to_le_bytes());
    }
}

/// MariaDB's compressed record: zlib (RFC 1950) with one stored (uncompressed) block.
fn packed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u16).to_le_bytes();
    let mut record = vec![0x82, length[1], length[0], 0x78, 0x01, 1];
    record.extend_from_slice(&length);
    record.extend_from_slice(&length.map(|byte| !byte));
    record.extend_from_slice(data);
    let (mut a, mut b) = (1_u32, 0_u32);
    for &byte in data {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    record.extend_from_slice(&(b << 16 | a).to_be_bytes());
    record
}

/// A transaction payload event without compression, of events built like those of the log.
fn wrapped(mut bodies: &[u8]) -> Vec<u8> {
    // Compression type: none.
    let mut payload = vec![2, 3, 252, 255, 0, 0];
    while let Some((&[kind, length], rest)) = bodies.split_first_chunk::<2>() {
        let (body, rest) = rest.split_at(usize::from(length).min(rest.len()));
        bodies = rest;
        event(&mut payload, KINDS[usize::from(kind) % KINDS.len()], body, false);
    }
    payload
}

#[derive(Default)]
struct Kept(Vec<Transaction>);

impl Items for Kept {
    fn statement(&mut self, _: &Statement<'_>) {}

    fn transaction(&mut self, transaction: &Transaction) {
        self.0.push(transaction.clone());
    }

    fn not_understood(&mut self, _: u64, _: u64, _: &'static str) {}
}

fn transactions(way: &Way<'_>, ends: &[usize]) -> Vec<Transaction> {
    let (mut kept, mut reader, mut at) = (Kept::default(), Reader::with_keys(), 0);
    for &end in ends {
        let is_last = end == way.log.len();
        let part = Part { bytes: &way.log[at..end], offset: at as u64, is_last };
        at += reader.read(part, &mut kept);
        if is_last {
            break;
        }
    }
    kept.0
}

fn simulate(transactions: &[Transaction], length: u64) {
    let mut simulation = Simulation::default();
    let mut before = 0;
    for transaction in transactions {
        assert!(before <= transaction.offset && transaction.offset <= length);
        assert!(transaction.keys.is_sorted() && transaction.schemas.is_sorted());
        before = transaction.offset;
        simulation.add(transaction, transaction.bytes);
    }
    let share = simulation.keyed_share();
    assert!((0.0..=1.0).contains(&share));
    for curve in simulation.curves() {
        assert!(curve.rule != Rule::Rows || share > 0.0);
        for point in &curve.points {
            let most = f64::from(point.workers) + 1e-9;
            assert!((1.0 - 1e-9..=most).contains(&point.speedup), "{curve:?}");
        }
    }
}
