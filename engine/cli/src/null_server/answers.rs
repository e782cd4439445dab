//! The null server's answers: prebuilt packets, chosen by the first bytes of the request.

use dyno_protocol::mysql::flags::{COLLATION_UTF8MB4, capability, command, field_type, status};
use dyno_protocol::mysql::handshake::Greeting;
use dyno_protocol::mysql::packet;

/// The value in all result sets, as long as sysbench's column `c`.
const VALUE: &[u8; 120] = &[b'x'; 120];

/// Status flags of all answers.
const STATUS: u16 = status::AUTOCOMMIT;

/// Capability flags of the greeting.
const CAPABILITIES: u32 = capability::CLIENT_MYSQL
    | capability::LONG_FLAG
    | capability::CONNECT_WITH_DB
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::CONNECT_ATTRS
    | capability::PLUGIN_AUTH_LENENC
    | capability::DEPRECATE_EOF;

/// The reaction to a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The command has no answer.
    Nothing,
    /// Send these bytes.
    Ready(&'a [u8]),
    /// Send the bytes appended to the caller's buffer.
    Built,
    /// Close the connection.
    Close,
}

/// All prebuilt answers, and the number of requests.
#[derive(Debug)]
pub struct Answers {
    greeting: Vec<u8>,
    login_ok: Vec<u8>,
    ok: Vec<u8>,
    eof: Vec<u8>,
    unknown: Vec<u8>,
    /// Result sets without and with CLIENT_DEPRECATE_EOF, in the text protocol.
    text: [Vec<u8>; 2],
    binary: [Vec<u8>; 2],
    statement: u32,
    /// Number of commands received, without logins.
    pub requests: u64,
}

impl Answers {
    /// Builds the answers, with result sets of `rows` rows.
    pub fn new(rows: u32) -> Self {
        let mut unknown = b"\xff".to_vec();
        unknown.extend_from_slice(&1047u16.to_le_bytes());
        unknown.extend_from_slice(b"#08S01Unknown command");
        let mut text_row = vec![];
        packet::put_lenenc_bytes(&mut text_row, VALUE);
        let mut binary_row = vec![0, 0];
        binary_row.extend_from_slice(&text_row);
        Self {
            greeting: framed(0, &greeting()),
            login_ok: framed(2, &ok(0x00)),
            ok: framed(1, &ok(0x00)),
            eof: framed(1, &eof()),
            unknown: framed(1, &unknown),
            text: [false, true].map(|deprecated| result_set(rows, &text_row, deprecated)),
            binary: [false, true].map(|deprecated| result_set(rows, &binary_row, deprecated)),
            statement: 0,
            requests: 0,
        }
    }

    /// The first packet of a new connection.
    pub fn greeting(&self) -> &[u8] {
        &self.greeting
    }

    /// Reads a login and returns whether it has CLIENT_DEPRECATE_EOF, and the answer. `None` if the login is
    /// invalid, requests TLS or lacks protocol 4.1.
    pub fn login(&self, payload: &[u8]) -> Option<(bool, &[u8])> {
        let flags = u32::from_le_bytes(*payload.first_chunk()?);
        let plain = flags & capability::SSL == 0 && flags & capability::PROTOCOL_41 != 0;
        plain.then_some((flags & capability::DEPRECATE_EOF != 0, &self.login_ok))
    }

    /// Chooses the answer to a command.
    #[inline]
    pub fn command(&mut self, payload: &[u8], deprecated: bool, out: &mut Vec<u8>) -> Answer<'_> {
        self.requests += 1;
        let Some((first, argument)) = payload.split_first() else { return Answer::Close };
        match *first {
            command::STMT_EXECUTE => {
                // The lowest bit of a statement's id is set if the statement returns rows.
                let rows = argument.first().is_some_and(|id| id & 1 == 1);
                Answer::Ready(if rows { &self.binary[usize::from(deprecated)] } else { &self.ok })
            }
            command::QUERY if returns_rows(argument) => {
                Answer::Ready(&self.text[usize::from(deprecated)])
            }
            command::STMT_PREPARE => {
                self.statement = self.statement.wrapping_add(2) & !1;
                let rows = returns_rows(argument);
                put_prepared(out, self.statement | u32::from(rows), argument, rows, deprecated);
                Answer::Built
            }
            command::QUERY | command::PING | command::INIT_DB | command::STMT_RESET => {
                Answer::Ready(&self.ok)
            }
            command::STMT_CLOSE | command::STMT_SEND_LONG_DATA => Answer::Nothing,
            command::FIELD_LIST | command::SET_OPTION => Answer::Ready(&self.eof),
            command::QUIT => Answer::Close,
            _ => Answer::Ready(&self.unknown),
        }
    }
}

/// Whether a statement returns rows, judged by its first keyword.
#[inline]
fn returns_rows(sql: &[u8]) -> bool {
    let start = sql.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != b'(');
    let word = &sql[start.unwrap_or(sql.len())..];
    [&b"select"[..], b"show", b"with", b"values"]
        .iter()
        .any(|verb| word.get(..verb.len()).is_some_and(|head| head.eq_ignore_ascii_case(verb)))
}

fn framed(seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    packet::write(&mut out, seq, payload);
    out
}

fn greeting() -> Vec<u8> {
    let greeting = Greeting {
        version: concat!("8.0.0-dyno-null-", env!("CARGO_PKG_VERSION")).into(),
        connection_id: 1,
        capabilities: CAPABILITIES,
        extended: 0,
        status: STATUS,
        // Constant, since any response is accepted.
        nonce: b"dyno-null-challenge-".into(),
        plugin: b"mysql_native_password".into(),
    };
    let mut out = vec![];
    greeting.put(&mut out);
    out
}

/// An OK packet without affected rows, insert id and warnings.
fn ok(header: u8) -> Vec<u8> {
    let [low, high] = STATUS.to_le_bytes();
    vec![header, 0, 0, low, high, 0, 0]
}

fn eof() -> Vec<u8> {
    let [low, high] = STATUS.to_le_bytes();
    vec![0xfe, 0, 0, low, high]
}

fn definition(name: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    for text in [&b"def"[..], b"", b"", b"", name, b""] {
        packet::put_lenenc_bytes(&mut out, text);
    }
    out.push(12);
    out.extend_from_slice(&u16::from(COLLATION_UTF8MB4).to_le_bytes());
    out.extend_from_slice(&(4 * VALUE.len() as u32).to_le_bytes());
    out.push(field_type::VAR_STRING);
    out.extend_from_slice(&[0; 5]);
    out
}

fn result_set(rows: u32, row: &[u8], deprecated: bool) -> Vec<u8> {
    let mut out = vec![];
    let mut seq = packet::write(&mut out, 1, &[1]);
    seq = packet::write(&mut out, seq, &definition(b"c"));
    if !deprecated {
        seq = packet::write(&mut out, seq, &eof());
    }
    for _ in 0..rows {
        seq = packet::write(&mut out, seq, row);
    }
    packet::write(&mut out, seq, &if deprecated { ok(0xfe) } else { eof() });
    out
}

fn put_prepared(out: &mut Vec<u8>, id: u32, sql: &[u8], rows: bool, deprecated: bool) {
    let params = sql.iter().filter(|byte| **byte == b'?').count().min(usize::from(u16::MAX)) as u16;
    let columns = u16::from(rows);
    let mut head = vec![0];
    head.extend_from_slice(&id.to_le_bytes());
    head.extend_from_slice(&columns.to_le_bytes());
    head.extend_from_slice(&params.to_le_bytes());
    head.extend_from_slice(&[0; 3]);
    let mut seq = packet::write(out, 1, &head);
    for (count, name) in [(params, &b"?"[..]), (columns, b"c")] {
        for _ in 0..count {
            seq = packet::write(out, seq, &definition(name));
        }
        if count > 0 && !deprecated {
            seq = packet::write(out, seq, &eof());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_decides() {
        for sql in
            ["SELECT 1", "  select 1", "(SELECT 1)", "\n\tShow tables", "with a as (select 1)"]
        {
            assert!(returns_rows(sql.as_bytes()), "{sql}");
        }
        for sql in ["", "BEGIN", "INSERT INTO t SELECT 1", "sel", "UPDATE t SET k=1"] {
            assert!(!returns_rows(sql.as_bytes()), "{sql}");
        }
    }

    #[test]
    fn a_prepared_statement_remembers_whether_it_returns_rows() {
        let mut answers = Answers::new(1);
        for (sql, rows) in
            [(&b"\x16SELECT c FROM t WHERE id=?"[..], true), (b"\x16DELETE FROM t", false)]
        {
            let mut out = vec![];
            assert_eq!(answers.command(sql, true, &mut out), Answer::Built);
            let mut execute = vec![command::STMT_EXECUTE];
            execute.extend_from_slice(&out[5..9]);
            let want = if rows { answers.binary[1].clone() } else { answers.ok.clone() };
            assert_eq!(answers.command(&execute, true, &mut vec![]), Answer::Ready(&want));
        }
        assert_eq!(answers.requests, 4);
    }
}
