//! Bulk loading: LOAD DATA, arrays and INSERT.

use crate::mysql_support::Connection;
use crate::{native, server, statements};
use dyno_core::plan::Protocol;

/// `rows` rows of the bulk format, and the expected result.
pub(crate) fn rows(rows: u32) -> Vec<u8> {
    let mut text = vec![];
    for id in 1..=rows {
        text.extend_from_slice(
            format!("{id}\t{}\tit's {id}\\tb\\\\ é\n", u64::from(id) * 3).as_bytes(),
        );
    }
    text
}

#[test]
fn all_ways_of_bulk_loading_store_the_same() {
    let Some(server) = server("") else { return };
    let mut sums = vec![];
    for (bulk, mode) in [
        ("infile", ""),
        ("insert", ""),
        ("array", ""),
        ("auto", ""),
        ("array", "NO_BACKSLASH_ESCAPES"),
        ("infile", "NO_BACKSLASH_ESCAPES"),
        ("insert", "NO_BACKSLASH_ESCAPES"),
    ] {
        let mut who = native(&server, Protocol::Prepared);
        who.options.insert("bulk".into(), bulk.into());
        if mode.is_empty() {
            who.session_sql = vec!["SET sql_mode=''".into()];
        } else {
            who.session_sql = vec![format!("SET sql_mode='{mode}'")];
        }
        let mut connection = Connection::open(&who, &statements()).unwrap();
        connection.must("TRUNCATE t");
        let text = rows(30_000);
        let pieces: Vec<&[u8]> = text.chunks(70_001).collect();
        let reply = connection.load("t", &["id", "k", "c"], &pieces).unwrap();
        assert_eq!((reply.error, reply.affected), (None, 30_000), "{bulk} {mode}");
        let sum = "SELECT CONCAT(COUNT(*),' ',SUM(k),' ',SUM(CRC32(c))) FROM t";
        sums.push(connection.value(sum).unwrap());
        let c = connection.value("SELECT c FROM t WHERE id=7");
        // Without backslash escapes in literals, LOAD DATA's own escapes still work.
        assert_eq!(c.as_deref(), Some("it's 7\tb\\ é"), "{bulk} {mode}");
        let reply = connection.load("t", &["id"], &[]).unwrap();
        assert_eq!((reply.error, reply.affected), (None, 0), "{bulk}: no rows");
        let reply = connection.load("t", &["id", "k"], &[b"40001\t\\N\n"]).unwrap();
        assert_eq!((reply.error, reply.affected), (None, 1), "{bulk}: NULL");
        assert_eq!(
            connection.value("SELECT k IS NULL FROM t WHERE id=40001").as_deref(),
            Some("1")
        );
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}

#[test]
fn arrays_hold_any_bytes_and_are_all_or_nothing() {
    let Some(server) = server("max_allowed_packet=64K") else { return };
    let mut who = native(&server, Protocol::Prepared);
    who.options.insert("bulk".into(), "array".into());
    let mut connection = Connection::open(&who, &[]).unwrap();
    let text =
        b"-1\t-9223372036854775808\ta\\tb\\nc\\rd\\0e\\\\'\"\xc3\xa9\xf0\x9f\x98\x80\n2\t\\N\t\n";
    for cut in [0, 30, text.len() - 1] {
        connection.must("TRUNCATE t");
        let pieces = [&text[..cut], &text[cut..]];
        let reply = connection.load("t", &["id", "k", "c"], &pieces).unwrap();
        assert_eq!((reply.error, reply.affected), (None, 2));
        let row = connection.value("SELECT CONCAT(k,' ',HEX(c)) FROM t WHERE id=-1").unwrap();
        assert_eq!(row, "-9223372036854775808 6109620A630D6400655C2722C3A9F09F9880");
        let empty = connection.value("SELECT k IS NULL AND c='' FROM t WHERE id=2");
        assert_eq!(empty.as_deref(), Some("1"));
    }
    // A duplicate in the first array: the later ones are rolled back as well.
    let mut text = b"2\t0\tx\n".to_vec();
    text.extend((10..20_000).flat_map(|id| format!("{id}\t{id}\tx\n").into_bytes()));
    let reply = connection.load("t", &["id", "k", "c"], &[&text]).unwrap();
    assert_eq!((reply.affected, reply.error.unwrap().code.as_str()), (0, "1062"));
    assert_eq!(connection.value("SELECT COUNT(*) FROM t").as_deref(), Some("2"));
    // In an open transaction, the caller decides its end.
    connection.must("BEGIN");
    let reply = connection.load("t", &["id"], &[b"3\n4\n"]).unwrap();
    assert_eq!((reply.error, reply.affected), (None, 2));
    connection.must("ROLLBACK");
    assert_eq!(connection.value("SELECT COUNT(*) FROM t").as_deref(), Some("2"));
    let reply = connection.load("t", &["id", "c"], &[b"5\t\xff\n"]).unwrap();
    assert_eq!(reply.error.unwrap().code, "1366", "no UTF-8");
    let left = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
                WHERE VARIABLE_NAME='PREPARED_STMT_COUNT'";
    assert_eq!(connection.value(left).as_deref(), Some("0"), "statements are closed");
}

#[test]
fn inserts_keep_to_the_longest_packet_and_tell_of_refusals() {
    let Some(server) = server("local_infile=OFF\nmax_allowed_packet=64K") else { return };
    let mut inserting = native(&server, Protocol::Prepared);
    inserting.options.insert("bulk".into(), "insert".into());
    let mut connection = Connection::open(&inserting, &[]).unwrap();
    for offset in [0, 1] {
        connection.must("TRUNCATE t");
        let text = rows(10_000 + offset);
        let reply = connection.load("t", &["id", "k", "c"], &[&text]).unwrap();
        assert_eq!((reply.error, reply.affected), (None, u64::from(10_000 + offset)));
        let count = connection.value("SELECT COUNT(*) FROM t");
        assert_eq!(count, Some((10_000 + offset).to_string()));
    }
    // An error during the load is reported at its end.
    let reply = connection.load("t", &["id"], &[b"90001\n1\n90002\n"]).unwrap();
    assert_eq!(reply.error.unwrap().code, "1062");
    let mut who = native(&server, Protocol::Prepared);
    who.options.insert("bulk".into(), "infile".into());
    let mut strict = Connection::open(&who, &[]).unwrap();
    let error = strict.load("t", &["id"], &[b"1\n"]).unwrap().error.unwrap();
    assert!(["1148", "4166"].contains(&error.code.as_str()), "{error:?}");
    assert_eq!(strict.value("SELECT 1").as_deref(), Some("1"));
}
