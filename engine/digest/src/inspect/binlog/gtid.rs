//! GTID events, which precede transactions and hold their order information.
//!
//! Sources: MySQL source documentation, "Gtid_event", and for tagged GTIDs (8.3 and later), which are
//! serialized by field, "libmysqlserialization"; MariaDB knowledge base, "GTID_EVENT", and for its
//! second flags MariaDB's `log_event.h`. Checked with MariaDB 10.11 and MySQL 9.7.

use super::event::Order;
use dyno_protocol::bytes::Bytes;

/// Order information, and time of the commit in microseconds since 1970.
type Mysql = (Order, Option<i64>);

/// Parses the body of MySQL's GTID event.
pub fn mysql(body: &[u8]) -> Option<Mysql> {
    const LOGICAL_TIMESTAMPS: u8 = 2;
    const HAS_ORIGINAL: u64 = 1 << 55;
    let mut bytes = Bytes(body);
    bytes.take(1 + 16 + 8)?;
    if bytes.byte() != Some(LOGICAL_TIMESTAMPS) {
        return Some((Order::default(), None));
    }
    let (last_committed, sequence) = (bytes.little(8)? as i64, bytes.little(8)? as i64);
    let committed = bytes.little(7).map(|us| (us & !HAS_ORIGINAL) as i64);
    Some(placed(sequence, last_committed, committed))
}

fn placed(sequence: i64, last_committed: i64, committed: Option<i64>) -> Mysql {
    let order = Order {
        sequence: Some(sequence).filter(|&n| n > 0),
        last_committed: Some(last_committed).filter(|_| sequence > 0),
        ..Order::default()
    };
    (order, committed.filter(|&us| us > 0))
}

/// Parses the body of MySQL's tagged GTID event.
pub fn mysql_tagged(body: &[u8]) -> Option<Mysql> {
    const VERSION: u64 = 1;
    const UUID: u64 = 1;
    const TAG: u64 = 3;
    const LAST_COMMITTED: u64 = 4;
    const SEQUENCE: u64 = 5;
    const COMMITTED: u64 = 6;
    let mut bytes = Bytes(body);
    if varied(&mut bytes)? != VERSION {
        return None;
    }
    // The total length; the last field that a reader must know.
    varied(&mut bytes)?;
    varied(&mut bytes)?;
    let (mut sequence, mut last_committed, mut committed) = (0, 0, None);
    while !bytes.0.is_empty() {
        match varied(&mut bytes)? {
            UUID => (0..16).try_for_each(|_| varied(&mut bytes).map(|_| ()))?,
            TAG => {
                let length = varied(&mut bytes)?;
                bytes.take(usize::try_from(length).ok()?)?;
            }
            LAST_COMMITTED => last_committed = signed(varied(&mut bytes)?),
            SEQUENCE => sequence = signed(varied(&mut bytes)?),
            COMMITTED => committed = i64::try_from(varied(&mut bytes)?).ok(),
            field if field > COMMITTED => break,
            // Flags, and the transaction's number at its source.
            _ => drop(varied(&mut bytes)?),
        }
    }
    Some(placed(sequence, last_committed, committed))
}

/// Reads a number of 1 to 9 bytes: the trailing ones of the first byte count the bytes after it.
fn varied(bytes: &mut Bytes<'_>) -> Option<u64> {
    let first = bytes.byte()?;
    let more = first.trailing_ones() as usize;
    let low = u64::from(first) >> (more + 1);
    Some(low | bytes.little(more)? << 7_usize.saturating_sub(more))
}

/// Decodes a signed number, whose lowest bit is the sign.
fn signed(number: u64) -> i64 {
    let size = (number >> 1) as i64;
    if number & 1 == 1 { !size } else { size }
}

/// Content of MariaDB's GTID event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mariadb {
    pub order: Order,
    /// Autocommitted statement, without an event for its end.
    pub is_standalone: bool,
    /// A DDL statement.
    pub is_ddl: bool,
    /// Start of an ALTER (`binlog_alter_two_phase`); a second event follows at its end.
    pub begins_alter: bool,
}

/// Parses the body of MariaDB's GTID event.
pub fn mariadb(body: &[u8]) -> Option<Mariadb> {
    const STANDALONE: u8 = 1;
    const GROUP_COMMIT_ID: u8 = 2;
    const DDL: u8 = 32;
    const XA: u8 = 64 | 128;
    const BEGINS_ALTER: u8 = 2;
    let mut bytes = Bytes(body);
    bytes.take(8)?;
    let (domain, flags) = (bytes.little(4)? as u32, bytes.byte()?);
    let commit_id = if flags & GROUP_COMMIT_ID != 0 { Some(bytes.little(8)?) } else { None };
    // Second flags. Older servers write none, or zeros as padding. XA transactions, which alter no
    // tables, have their name in this place.
    let more = if flags & XA == 0 { bytes.byte().unwrap_or(0) } else { 0 };
    Some(Mariadb {
        order: Order { commit_id, domain: Some(domain), ..Order::default() },
        is_standalone: flags & STANDALONE != 0,
        is_ddl: flags & DDL != 0,
        begins_alter: flags & DDL != 0 && more & BEGINS_ALTER != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From MySQL 9.7, `gtid_next = 'AUTOMATIC:mytag'`.
    const TAGGED: &[u8] = b"\x02\x76\0\0\x02\x02\x75\x02\x49\x03\x84\x3a\x99\x03\x95\x02\x22\xc5\x03\
        \xd1\x02\x29\x03\x04\xf1\x03\0\0\0\x02\x04\x04\x06\x0amytag\x08\0\x0a\x04\x0c\x7f\x9e\x34\xce\
        \xf4\xe1\x60\x06\x10\x71\x05\x12\x83\x12\x0b";

    #[test]
    fn an_id_with_a_tag_says_the_same_as_one_without() {
        let order = Order { sequence: Some(1), last_committed: Some(0), ..Order::default() };
        let committed = 0x06_60e1_f4ce_349e;
        assert_eq!(mysql_tagged(TAGGED), Some((order, Some(committed))));
        assert_eq!(mysql_tagged(&TAGGED[..40]), None, "cut within a field");
        assert_eq!(mysql_tagged(b"\x04\x06\0"), None, "another version");
    }

    #[test]
    fn numbers_have_as_many_bytes_as_they_need() {
        for (bytes, number) in [
            (&b"\x02"[..], 1),
            (b"\x71\x05", 348),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff", u64::MAX),
            (b"\x7f\x01\0\0\0\0\0\0", 1),
        ] {
            assert_eq!(varied(&mut Bytes(bytes)), Some(number), "{bytes:x?}");
            assert_eq!(varied(&mut Bytes(&bytes[..bytes.len() - 1])), None);
        }
        assert_eq!((signed(4), signed(1), signed(5)), (2, -1, -3));
    }

    #[test]
    fn mariadbs_second_flags_stand_behind_what_its_first_ones_say() {
        let with = |tail: &[u8]| mariadb(&[&[0; 12], tail].concat()).unwrap();
        assert!(with(b"\x29\x02\0\0\0\0\0").begins_alter);
        assert!(!with(b"\x29\x04\x3d\0\0\0\0\0\0\0").begins_alter, "it ends");
        assert!(with(b"\x2b\x02\0\0\0\0\0\0\0\x02").begins_alter, "behind a group's number");
        let prepared = with(b"\x4c\x02\0\0\0\x01\0q\x01\xff");
        assert_eq!((prepared.begins_alter, prepared.is_standalone), (false, false));
        assert!(!with(b"\x2b\x02\0\0\0\0\0\0\0").begins_alter, "an older server's, without any");
        assert!(mariadb(&[0; 12]).is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_strange(body: Vec<u8>) {
            mysql(&body);
            mysql_tagged(&body);
            mariadb(&body);
        }
    }
}
