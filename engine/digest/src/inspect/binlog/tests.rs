//! Tests with handmade logs.

use super::*;
use crate::sink::Part;
use proptest::prelude::*;

/// Items that a reader emitted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    /// Text, schema, rows, seconds.
    statements: Vec<(String, String, Option<u64>, Option<u32>)>,
    transactions: Vec<Transaction>,
    not_understood: Vec<(u64, u64)>,
}

impl Items for Told {
    fn statement(&mut self, statement: &Statement<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (rows, took_s) = (statement.rows, statement.took_s);
        self.statements.push((text(statement.text), text(statement.database), rows, took_s));
    }

    fn transaction(&mut self, transaction: &Transaction) {
        self.transactions.push(transaction.clone());
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, _: &'static str) {
        self.not_understood.push((offset, bytes));
    }
}

fn event(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut event = 1_700_000_000_u32.to_le_bytes().to_vec();
    event.push(kind);
    event.extend_from_slice(&1_u32.to_le_bytes());
    event.extend_from_slice(&((HEADER + body.len() + 4) as u32).to_le_bytes());
    event.extend_from_slice(&[0; 6]);
    event.extend_from_slice(body);
    let checksum = checksum(&event);
    event.extend_from_slice(&checksum.to_le_bytes());
    event
}

/// An event with changed bytes and a correct checksum.
fn altered(event: &[u8], alter: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut event = event[..event.len() - 4].to_vec();
    alter(&mut event);
    let length = event.len() as u32 + 4;
    event[9..13].copy_from_slice(&length.to_le_bytes());
    let checksum = checksum(&event);
    event.extend_from_slice(&checksum.to_le_bytes());
    event
}

fn begin() -> Vec<u8> {
    let mut body = vec![4, 0];
    body.extend_from_slice(b"9.1.0");
    body.resize(52, 0);
    body.extend_from_slice(&[0, 0, 0, 0, HEADER as u8]);
    body.extend_from_slice(&[0; 40]);
    body.push(1);
    [MAGIC.to_vec(), event(15, &body)].concat()
}

fn query(text: &str, took_s: u32) -> Vec<u8> {
    let mut body = 7_u32.to_le_bytes().to_vec();
    body.extend_from_slice(&took_s.to_le_bytes());
    body.extend_from_slice(&[4, 0, 0, 0, 0]);
    body.extend_from_slice(b"shop\0");
    body.extend_from_slice(text.as_bytes());
    event(2, &body)
}

fn gtid(sequence: u64, last_committed: u64) -> Vec<u8> {
    let mut body = vec![0; 25];
    body.push(2);
    body.extend_from_slice(&last_committed.to_le_bytes());
    body.extend_from_slice(&sequence.to_le_bytes());
    body.extend_from_slice(&1_700_000_000_123_456_u64.to_le_bytes()[..7]);
    event(33, &body)
}

/// `shop.orders (id INT PRIMARY KEY)`, table ID 5.
fn table() -> Vec<u8> {
    let mut body = vec![5, 0, 0, 0, 0, 0, 1, 0];
    body.extend_from_slice(b"\x04shop\0\x06orders\0\x01\x03\x00\x00\x08\x01\x00");
    event(19, &body)
}

/// Inserted rows of table 5; `ends`: they are the statement's last.
fn rows(ids: &[u32], ends: bool) -> Vec<u8> {
    let mut body = vec![5, 0, 0, 0, 0, 0, u8::from(ends), 0, 2, 0, 1, 1];
    for id in ids {
        body.push(0);
        body.extend_from_slice(&id.to_le_bytes());
    }
    event(30, &body)
}

fn xid() -> Vec<u8> {
    event(16, &[0; 8])
}

/// A log with statements as text, as rows, and as rows with text.
fn log() -> Vec<u8> {
    let annotated = event(29, b"\x14INSERT INTO orders SELECT 1");
    let parts = [
        begin(),
        gtid(1, 0),
        query("CREATE TABLE orders (id INT PRIMARY KEY)", 2),
        gtid(2, 1),
        query("BEGIN", 0),
        table(),
        rows(&[1, 2], false),
        rows(&[3], true),
        table(),
        annotated,
        rows(&[4], true),
        xid(),
        query("UPDATE orders SET id = id + 10", 3),
        event(4, b"\x04\0\0\0\0\0\0\0binlog.000002"),
    ];
    parts.concat()
}

fn read(log: &[u8], piece: usize) -> Told {
    let (mut told, mut reader) = (Told::default(), Reader::with_keys());
    let (mut at, mut end) = (0, 0);
    loop {
        end = (end + piece).min(log.len());
        let part = Part { bytes: &log[at..end], offset: at as u64, is_last: end == log.len() };
        at += reader.read(part, &mut told);
        if end == log.len() {
            return told;
        }
    }
}

#[test]
fn statements_and_transactions_come_out_of_text_and_rows() {
    let told = read(&log(), usize::MAX / 2);
    let shop = || "shop".to_owned();
    assert_eq!(
        told.statements,
        [
            ("CREATE TABLE orders (id INT PRIMARY KEY)".into(), shop(), None, Some(2)),
            ("insert into `shop`.`orders`".into(), shop(), Some(3), None),
            ("INSERT INTO orders SELECT 1".into(), shop(), Some(1), None),
            ("UPDATE orders SET id = id + 10".into(), shop(), None, Some(3)),
        ]
    );
    assert_eq!(told.not_understood, []);
    let [ddl, rows, text] = &told.transactions[..] else { panic!("{:?}", told.transactions) };
    assert!(ddl.is_ddl && !ddl.has_all_keys && ddl.took_s == 2);
    assert_eq!((rows.rows, rows.statements, rows.keys.len()), (4, 2, 4));
    assert!(rows.has_all_keys);
    assert_eq!(rows.order.last_committed, Some(1));
    assert_eq!(rows.commit_us, Some(1_700_000_000_123_456));
    assert_eq!(rows.schemas, [b"shop".to_vec()]);
    assert_eq!((text.took_s, text.has_all_keys), (3, false));
}

#[test]
fn bytes_between_events_are_told_and_reading_goes_on() {
    let mut log = log();
    let rubbish_at = begin().len() + gtid(1, 0).len();
    let rubbish = [0xee; 77];
    log.splice(rubbish_at..rubbish_at, rubbish);
    let told = read(&log, usize::MAX / 2);
    assert_eq!(told.not_understood, [(rubbish_at as u64, 77)]);
    assert_eq!(told.statements.len(), 4);
}

#[test]
fn a_log_that_ends_within_an_event_says_so() {
    let whole = log();
    let told = read(&whole[..whole.len() - 5], usize::MAX / 2);
    let last = event(4, b"\x04\0\0\0\0\0\0\0binlog.000002").len();
    assert_eq!(told.not_understood, [((whole.len() - last) as u64, last as u64 - 5)]);
    assert_eq!(told.statements.len(), 4);
}

#[test]
fn an_encrypted_log_is_not_taken_for_rubbish() {
    let told = read(b"\xfdbin and what nobody can read", 100);
    assert_eq!(told.not_understood, [(4, 25)]);
}

#[test]
fn two_files_in_one_are_read_one_after_the_other() {
    let told = read(&[log(), log()].concat(), usize::MAX / 2);
    assert_eq!(told.statements.len(), 8);
    assert_eq!(told.transactions.len(), 6);
}

#[test]
fn where_a_log_goes_on_does_not_depend_on_how_it_comes() {
    // Rubbish with an apparent header, whose event ends beyond the bytes received so far.
    let mut rubbish = [0xee; 90];
    rubbish[20..39].copy_from_slice(&event(2, &[])[..HEADER]);
    rubbish[29..33].copy_from_slice(&200_u32.to_le_bytes());
    let log =
        [begin(), rubbish.to_vec(), gtid(1, 0), query("DO 1", 0), b"\xfdbin".to_vec()].concat();
    let whole = read(&log, log.len());
    assert_eq!(whole.statements.len(), 1);
    for piece in 1..log.len() {
        let told = read(&log, piece);
        assert_eq!(told.statements, whole.statements, "pieces of {piece}");
        let sum = |told: &Told| told.not_understood.iter().map(|piece| piece.1).sum::<u64>();
        assert_eq!(sum(&told), sum(&whole), "pieces of {piece}");
    }
}

#[test]
fn what_follows_in_an_encrypted_log_is_encrypted_too() {
    let log = [b"\xfdbin and what nobody can read".to_vec(), log()].concat();
    for piece in [7, 29, 33, log.len()] {
        let told = read(&log, piece);
        assert_eq!(told.statements.len(), 0);
        let bytes: u64 = told.not_understood.iter().map(|piece| piece.1).sum();
        assert_eq!(bytes, log.len() as u64 - 4, "pieces of {piece}");
    }
}

#[test]
fn rows_that_are_not_understood_are_not_the_statements_bytes_too() {
    let broken = altered(&rows(&[1], true), |event| event.extend_from_slice(b"rest"));
    let good = rows(&[2], true);
    let log = [begin(), table(), broken.clone(), good.clone()].concat();
    let (mut told, mut reader) = (Bytes::default(), Reader::default());
    reader.read(Part { bytes: &log, offset: 0, is_last: true }, &mut told);
    assert_eq!(told, Bytes { events: good.len() as u64, not_understood: broken.len() as u64 });
}

/// MariaDB's GTID event with its first and second flags.
fn mariadb_gtid(flags: u8, more: u8) -> Vec<u8> {
    let mut body = vec![0; 12];
    body.extend_from_slice(&[flags, more, 0, 0, 0, 0, 0]);
    event(162, &body)
}

/// A transaction's number of statements, schemas, number of rows.
type Brief = (u64, Vec<String>, u64);

/// The texts of statements, and the transactions.
fn told(log: &[&[u8]]) -> (Vec<String>, Vec<Brief>) {
    let log = [&begin()[..], &log.concat()].concat();
    let told = read(&log, log.len());
    assert_eq!(told.not_understood, []);
    assert_eq!(read(&log, 50), told);
    let name = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
    let transaction =
        |one: &Transaction| (one.statements, one.schemas.iter().map(name).collect(), one.rows);
    (
        told.statements.iter().map(|statement| statement.0.clone()).collect(),
        told.transactions.iter().map(transaction).collect(),
    )
}

fn shop() -> Vec<String> {
    vec!["shop".into()]
}

#[test]
fn loaded_data_are_their_statements_bytes() {
    let load = |text: &[u8]| {
        let mut body = vec![7, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0];
        body.extend_from_slice(&[1, 0, 0, 0, 9, 0, 0, 0, 30, 0, 0, 0, 0]);
        body.extend_from_slice(b"shop\0");
        body.extend_from_slice(text);
        event(18, &body)
    };
    let text = b"LOAD DATA INFILE 'x' INTO TABLE orders";
    let data = [event(17, b"\x01\0\0\0one"), event(9, b"\x01\0\0\0two"), load(text)].concat();
    for (before, after) in [
        (mariadb_gtid(8, 0), xid()),
        ([gtid(1, 0), query("BEGIN", 0)].concat(), xid()),
        (vec![], vec![]),
    ] {
        let (texts, transactions) = told(&[&before, &data, &after]);
        assert_eq!(texts, [String::from_utf8_lossy(text)]);
        assert_eq!(transactions, [(1, shop(), 0)]);
        let log = [&begin()[..], &before, &data, &after].concat();
        let (mut bytes, mut kept) = (Bytes::default(), Told::default());
        Reader::default().read(Part { bytes: &log, offset: 0, is_last: true }, &mut bytes);
        assert_eq!(bytes, Bytes { events: data.len() as u64, not_understood: 0 });
        Reader::default().read(Part { bytes: &log, offset: 0, is_last: true }, &mut kept);
        let whole = (before.len() + data.len() + after.len()) as u64;
        assert_eq!(kept.transactions[0].bytes, whole);
    }
}

#[test]
fn old_ways_to_load_data_are_not_passed_over() {
    let log = [begin(), event(6, b"load"), event(20, b"rows")].concat();
    assert_eq!(read(&log, log.len()).not_understood.len(), 2);
}

#[test]
fn rows_behind_a_definition_are_of_its_transaction() {
    let create = query("CREATE TABLE orders (id INT PRIMARY KEY) START TRANSACTION", 0);
    let filled = [create, table(), rows(&[1, 2], true), xid()].concat();
    let mysql = [gtid(1, 0), query("BEGIN", 0)].concat();
    for before in [mysql, mariadb_gtid(8 | 32, 0)] {
        assert_eq!(told(&[&before, &filled]).1, [(2, shop(), 2)]);
    }
}

#[test]
fn temporary_tables_do_not_end_a_transaction() {
    let parts = ["DO 1", "CREATE TEMPORARY TABLE a (b INT)", "DROP TEMPORARY TABLE a", "DO 2"];
    let inside = parts.map(|text| query(text, 0)).concat();
    for before in [mariadb_gtid(8, 0), query("BEGIN", 0)] {
        assert_eq!(told(&[&before, &inside, &xid()]).1, [(4, shop(), 0)]);
    }
}

#[test]
fn marks_within_a_transaction_write_nothing() {
    let mark = altered(&query("SAVEPOINT `s`", 0), |event| {
        event[HEADER + 8] = 0;
        event.drain(HEADER + 13..HEADER + 17);
    });
    let changes = [table(), rows(&[1], true)].concat();
    let log =
        [begin(), gtid(1, 0), query("BEGIN", 0), changes.clone(), mark, changes, xid()].concat();
    let told = read(&log, log.len());
    assert_eq!(told.statements[1].0, "SAVEPOINT `s`");
    let [one] = &told.transactions[..] else { panic!("{:?}", told.transactions) };
    assert_eq!((one.statements, one.rows, one.has_all_keys), (3, 2, true));
    assert_eq!(one.schemas, [b"shop".to_vec()]);
}

#[test]
fn what_ends_a_prepared_transaction_waits_and_writes_nothing() {
    let log = [begin(), gtid(1, 0), query("XA COMMIT X'71',X'',1", 0)].concat();
    let told = read(&log, log.len());
    let [one] = &told.transactions[..] else { panic!("{:?}", told.transactions) };
    assert_eq!((one.statements, one.schemas.len(), one.has_all_keys), (1, 0, false));
}

#[test]
fn an_alter_in_two_phases_is_one() {
    let alter = query("ALTER TABLE orders ADD a INT", 3);
    let log = [mariadb_gtid(41, 2), alter.clone(), mariadb_gtid(41, 4), alter].concat();
    let (texts, transactions) = told(&[&log]);
    assert_eq!((texts.len(), transactions), (1, vec![(1, shop(), 0)]));
}

#[test]
fn an_event_that_is_damaged_is_not_understood() {
    let log = log();
    let at = begin().len() + gtid(1, 0).len();
    for place in [at, at + 40] {
        let mut log = log.clone();
        log[place] ^= 4;
        let told = read(&log, log.len());
        let length = query("CREATE TABLE orders (id INT PRIMARY KEY)", 2).len();
        assert_eq!(told.not_understood, [(at as u64, length as u64)]);
        assert_eq!((told.statements.len(), told.transactions.len()), (3, 2));
    }
    let mut log = log;
    log[10] ^= 1;
    let told = read(&log, log.len());
    assert_eq!(told.not_understood, [(4, begin().len() as u64 - 4)], "its description");
    assert_eq!(told.statements.len(), 4);
}

#[test]
fn a_transaction_of_which_an_event_is_damaged_has_unknown_rows() {
    let mut broken = rows(&[1], false);
    broken[25] ^= 1;
    let parts = [begin(), gtid(1, 0), query("BEGIN", 0), table(), broken, rows(&[2], true), xid()];
    let told = read(&parts.concat(), usize::MAX / 2);
    assert_eq!((told.not_understood.len(), told.transactions.len()), (1, 1));
    assert!(!told.transactions[0].has_all_keys);
}

#[test]
fn an_incident_is_not_understood() {
    let log = [begin(), event(26, b"\x01\0\x04lost"), query("DO 1", 0)].concat();
    let told = read(&log, log.len());
    assert_eq!((told.not_understood.len(), told.statements.len()), (1, 1));
}

#[test]
fn both_keys_of_an_update_are_the_transactions() {
    let mut body = vec![5, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 1, 1];
    body.extend_from_slice(&[0, 1, 0, 0, 0, 0, 2, 0, 0, 0]);
    let log = [begin(), gtid(1, 0), query("BEGIN", 0), table(), event(31, &body), xid()].concat();
    let told = read(&log, log.len());
    assert_eq!((told.transactions[0].rows, told.transactions[0].keys.len()), (1, 2));
}

/// Number of bytes of statements, and of events not understood.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bytes {
    events: u64,
    not_understood: u64,
}

impl Items for Bytes {
    fn statement(&mut self, statement: &Statement<'_>) {
        self.events += statement.bytes;
    }

    fn transaction(&mut self, _: &Transaction) {}

    fn not_understood(&mut self, _: u64, bytes: u64, _: &'static str) {
        self.not_understood += bytes;
    }
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same(piece in 1..200_usize) {
        let log = log();
        prop_assert_eq!(read(&log, piece), read(&log, log.len()));
    }

    #[test]
    fn damage_never_panics(at in 0..900_usize, byte: u8, cut in 0..900_usize, piece in 1..300_usize) {
        let mut log = log();
        let length = log.len();
        log[at % length] = byte;
        log.truncate(cut.max(1));
        read(&log, piece);
    }
}
