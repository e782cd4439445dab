//! Statements logged as text: the fields of their events, and their role in a transaction.
//!
//! Sources: MySQL source documentation, "Query_event", status variables, "Execute_load_query_event".

use crate::sql::distill::distill;
use crate::sql::language::Language;
use dyno_protocol::bytes::Bytes;

/// The body of a query event.
#[derive(Debug, PartialEq, Eq)]
pub struct Query<'a> {
    pub session: u64,
    pub took_s: u32,
    pub error: u16,
    pub database: &'a [u8],
    /// Status variables.
    pub variables: &'a [u8],
    /// Text of the statement; compressed if the event type says so.
    pub text: &'a [u8],
}

/// Role of a statement in its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It starts a transaction.
    Begins,
    /// It ends a transaction.
    Ends,
    /// It sets, releases or rolls back to a savepoint: it writes nothing.
    Marks,
    /// It ends a prepared XA transaction.
    EndsPrepared,
    /// It is DDL.
    Defines,
    /// Any other statement.
    Writes,
}

/// Number of bytes of a text that are searched for the written table.
const LOOKED_THROUGH: usize = 4096;

impl<'a> Query<'a> {
    pub fn read(body: &'a [u8]) -> Option<Self> {
        Self::behind(body, 0)
    }

    /// Parses the body of an execute-load-query event, which has a file ID, offsets within the text and
    /// the handling of duplicates before the status variables.
    pub fn read_load(body: &'a [u8]) -> Option<Self> {
        Self::behind(body, 4 + 4 + 4 + 1)
    }

    fn behind(body: &'a [u8], more: usize) -> Option<Self> {
        let mut bytes = Bytes(body);
        let (session, took_s) = (bytes.little(4)?, bytes.little(4)? as u32);
        let database = usize::from(bytes.byte()?);
        let (error, variables) = (bytes.little(2)? as u16, bytes.little(2)? as usize);
        bytes.take(more)?;
        let variables = bytes.take(variables)?;
        let database = bytes.take(database)?;
        bytes.take(1)?;
        Some(Self { session, took_s, error, database, variables, text: bytes.0 })
    }

    pub fn role(&self) -> Role {
        let is = |word: &[u8]| self.text.eq_ignore_ascii_case(word);
        let begins = |words: &[&[u8]]| words.iter().any(|words| self.begins_with(words));
        if is(b"BEGIN") || begins(&[b"XA START"]) {
            Role::Begins
        } else if is(b"COMMIT") || is(b"ROLLBACK") || begins(&[b"XA END"]) {
            Role::Ends
        } else if begins(&[b"SAVEPOINT ", b"ROLLBACK TO ", b"RELEASE SAVEPOINT "]) {
            Role::Marks
        } else if begins(&[b"XA COMMIT", b"XA ROLLBACK"]) {
            Role::EndsPrepared
        } else if begins(&[b"CREATE", b"ALTER", b"DROP", b"RENAME", b"TRUNCATE", b"GRANT"])
            && !begins(&[b"CREATE TEMPORARY", b"CREATE OR REPLACE TEMPORARY", b"DROP TEMPORARY"])
        {
            Role::Defines
        } else {
            Role::Writes
        }
    }

    /// Whether the text begins with these words, separated by one blank as servers write them.
    fn begins_with(&self, words: &[u8]) -> bool {
        self.text.get(..words.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(words))
    }

    /// The schemas that it writes to: those in the event, else that of the first table in the text, else
    /// the default database.
    pub fn schemas(&self) -> Vec<Vec<u8>> {
        if let Some(named) = self.named().filter(|named| !named.is_empty()) {
            return named.iter().map(|name| name.to_vec()).collect();
        }
        let text = &self.text[..self.text.len().min(LOOKED_THROUGH)];
        let tables = distill(text, Language::Mysql).tables;
        let own =
            tables.first().and_then(|table| table.split_once('.')).map(|own| own.0.as_bytes());
        // `distill` returns unquoted names in lower case.
        let own = own.filter(|own| !own.eq_ignore_ascii_case(self.database));
        vec![own.unwrap_or(self.database).to_vec()]
    }

    /// The databases that MySQL recorded as updated, if any (MySQL records at most 16).
    fn named(&self) -> Option<Vec<&'a [u8]>> {
        const UPDATED_DATABASES: u8 = 12;
        const TOO_MANY: u8 = 254;
        let mut bytes = Bytes(self.variables);
        loop {
            match bytes.byte()? {
                UPDATED_DATABASES => break,
                code => skip(code, &mut bytes)?,
            }
        }
        let count = bytes.byte().filter(|&count| count != TOO_MANY)?;
        (0..count).map(|_| bytes.text()).collect()
    }
}

/// Skips a status variable that may precede the names of databases; `None` if it is unknown.
fn skip(code: u8, bytes: &mut Bytes<'_>) -> Option<()> {
    let length = match code {
        // Flags; increment and offset of AUTO_INCREMENT; ID of the source.
        0 | 3 | 10 => 4,
        // SQL mode; tables of a multi-table update.
        1 | 9 => 8,
        // Catalogue with a final zero byte; catalogue without, time zone.
        2 => usize::from(bytes.byte()?) + 1,
        5 | 6 => bytes.byte()?.into(),
        // Character sets.
        4 => 6,
        7 | 8 => 2,
        // User and host of the invoker.
        11 => {
            let user = bytes.byte()?;
            bytes.take(user.into())?;
            bytes.byte()?.into()
        }
        _ => return None,
    };
    bytes.take(length).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query<'a>(variables: &'a [u8], text: &'a [u8]) -> Query<'a> {
        Query { session: 1, took_s: 0, error: 0, database: b"Shop", variables, text }
    }

    fn schemas(variables: &[u8], text: &str) -> Vec<String> {
        let name = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        query(variables, text.as_bytes()).schemas().iter().map(name).collect()
    }

    #[test]
    fn a_statement_is_charged_to_the_schemas_that_it_writes_to() {
        // Recorded from MySQL 9.7.
        let head = b"\0\0\0\0\0\x01\x20\0\xa0\x45\0\0\0\0\x06\x03std\x04\xff\0\xff\0\xff\0";
        let named = [head, &b"\x0c\x02a\0z\0\x12\xff\0"[..]].concat();
        assert_eq!(schemas(&named, "INSERT INTO t VALUES (1)"), ["a", "z"]);
        let invoked = [head, &b"\x0b\x01u\x01h\x0c\x01z\0"[..]].concat();
        assert_eq!(schemas(&invoked, "INSERT INTO t VALUES (1)"), ["z"]);
        // Too many, none, truncated, and MariaDB's, which does not record them.
        for variables in [&b"\x0c\xfe"[..], b"\x0c\0", b"\x0c\x02a\0z", b"", b"\x80\0\0\0"] {
            assert_eq!(schemas(variables, "INSERT INTO z.t SELECT * FROM a.t"), ["z"]);
        }
        assert_eq!(schemas(b"", "INSERT INTO t VALUES (1)"), ["Shop"]);
        assert_eq!(schemas(b"", "UPDATE SHOP.t SET a = 1"), ["Shop"]);
    }

    #[test]
    fn words_say_what_a_statement_is_to_its_transaction() {
        for (text, role) in [
            ("BEGIN", Role::Begins),
            ("begin_something()", Role::Writes),
            ("XA START X'71',X'',1", Role::Begins),
            ("ROLLBACK", Role::Ends),
            ("ROLLBACK TO `s`", Role::Marks),
            ("SAVEPOINT `s`", Role::Marks),
            ("XA COMMIT X'71',X'',1", Role::EndsPrepared),
            ("CREATE TABLE t (a INT)", Role::Defines),
            ("CREATE TEMPORARY TABLE t (a INT)", Role::Writes),
            ("DROP TEMPORARY TABLE `t` /* generated by server */", Role::Writes),
            ("INSERT INTO t VALUES (1)", Role::Writes),
        ] {
            assert_eq!(query(b"", text.as_bytes()).role(), role, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_strange(body: Vec<u8>, variables: Vec<u8>) {
            Query::read(&body);
            Query::read_load(&body);
            query(&variables, &body).schemas();
        }
    }
}
