//! Scripted messages of servers, and a wire that receives them.

use crate::mysql::flags::capability::*;
use crate::mysql::flags::extended;
use crate::mysql::wire::MysqlWire;
use crate::mysql::{configure, packet};
use dyno_core::driver::{Progress, WireProtocol};
use dyno_core::error::Result;
use dyno_core::plan::{Address, Secret, Target};
use dyno_core::workload::{Effect, ParamType, Request};
use dyno_protocol::mysql::handshake::Greeting;
use std::sync::Arc;

pub const PASSWORD: &str = "pass word";

/// The challenge of every greeting in these tests.
pub const NONCE: &[u8; 20] = b"01234567890123456789";

/// All flags that the driver requests, except TLS and EOF packets.
pub const PLAIN: u32 = CLIENT_MYSQL
    | LONG_FLAG
    | CONNECT_WITH_DB
    | LOCAL_FILES
    | PROTOCOL_41
    | TRANSACTIONS
    | SECURE_CONNECTION
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH
    | PLUGIN_AUTH_LENENC;

pub fn target() -> Target {
    Target {
        driver: "mysql".into(),
        address: Address::Tcp { host: "db".into(), port: 3306 },
        user: "ann".into(),
        password: Secret(PASSWORD.into()),
        database: "dyno".into(),
        protocol: Default::default(),
        tls: Default::default(),
        tls_extras: Default::default(),
        login: Default::default(),
        session_sql: vec![],
        read_only: false,
        options: Default::default(),
    }
}

/// A read with one parameter and a write with two.
pub fn statements() -> Vec<Request> {
    let statement =
        |kind, sql: &str, params: &[ParamType]| Request::new("c", kind, sql, params.to_vec());
    vec![
        statement(Effect::BeginWrite, "", &[]),
        statement(Effect::Read, "SELECT c FROM t WHERE id=?", &[ParamType::Int]),
        statement(Effect::Write, "UPDATE t SET c=? WHERE id=?", &[ParamType::Text, ParamType::Int]),
    ]
}

pub fn framed(seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    packet::write(&mut out, seq, payload);
    out
}

pub fn greeting(capabilities: u32, plugin: &str) -> Vec<u8> {
    let greeting = Greeting {
        version: "9.1.0".into(),
        connection_id: 7,
        capabilities,
        // MariaDB's extended flags; ignored if the server identifies itself as MySQL.
        extended: extended::STMT_BULK,
        status: 2,
        nonce: NONCE.into(),
        plugin: plugin.into(),
    };
    let mut out = vec![];
    greeting.put(&mut out);
    framed(0, &out)
}

pub fn ok(seq: u8, affected: u8, status: u16) -> Vec<u8> {
    let [low, high] = status.to_le_bytes();
    framed(seq, &[0, affected, 0, low, high, 0, 0])
}

pub fn refusal(seq: u8, code: u16, state: &str, text: &str) -> Vec<u8> {
    let mut out = vec![0xff];
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(format!("#{state}{text}").as_bytes());
    framed(seq, &out)
}

/// A wire and its sent bytes.
pub struct Line {
    pub wire: MysqlWire,
    pub sent: Vec<u8>,
}

impl Line {
    pub fn open(target: &Target, statements: &[Request], on_socket: bool) -> Self {
        let config = Arc::new(configure(target, statements).unwrap());
        let mut this = Self { wire: MysqlWire::new(config), sent: vec![] };
        this.wire.connected(on_socket, &mut this.sent);
        assert!(this.sent.is_empty(), "the server speaks first");
        this
    }

    /// Feeds the server's `bytes`, which must all be consumed.
    pub fn hear(&mut self, bytes: &[u8]) -> Result<Progress> {
        self.sent.clear();
        let mut at = 0;
        loop {
            let (consumed, progress) = self.wire.receive(&bytes[at..], &mut self.sent)?;
            at += consumed;
            if progress != Progress::More {
                assert_eq!(at, bytes.len(), "{progress:?} before the end");
                return Ok(progress);
            }
            if consumed == 0 || at == bytes.len() {
                assert_eq!(at, bytes.len(), "bytes left over");
                return Ok(progress);
            }
        }
    }

    /// Payloads of the packets sent by the last call, with their numbers.
    pub fn packets(&self) -> Vec<(u8, Vec<u8>)> {
        let (mut rest, mut packets) = (&self.sent[..], vec![]);
        while let Some((length, seq)) = packet::header(rest) {
            packets.push((seq, rest[4..4 + length].to_vec()));
            rest = &rest[4 + length..];
        }
        assert!(rest.is_empty());
        packets
    }

    /// Logged in to a MySQL, without EOF packets, nothing prepared.
    pub fn ready(target: &Target, statements: &[Request]) -> Self {
        Self::ready_with(PLAIN | DEPRECATE_EOF, target, statements)
    }

    /// Logged in to a MariaDB that supports arrays of rows.
    pub fn ready_mariadb(target: &Target, statements: &[Request]) -> Self {
        Self::ready_with((PLAIN | DEPRECATE_EOF) & !CLIENT_MYSQL, target, statements)
    }

    fn ready_with(capabilities: u32, target: &Target, statements: &[Request]) -> Self {
        let mut line = Self::open(target, statements, false);
        let hello = greeting(capabilities, "mysql_native_password");
        assert_eq!(line.hear(&hello), Ok(Progress::More));
        let mut progress = line.hear(&ok(2, 0, 2)).unwrap();
        if progress == Progress::More {
            let prepared = line.packets().len();
            assert!(prepared > 0);
            let replies: Vec<u8> = (0..prepared).flat_map(|i| PREPARED[i].to_vec()).collect();
            progress = line.hear(&replies).unwrap();
        }
        assert_eq!(progress, Progress::Ready);
        line
    }
}

/// Replies to the preparation of `statements()` where EOF packets are deprecated: definitions may
/// be any bytes.
const PREPARED: [&[u8]; 2] = [
    b"\x0c\0\0\x01\0\x05\0\0\0\x01\0\x01\0\0\0\0\x03\0\0\x02abc\x03\0\0\x03def",
    b"\x0c\0\0\x01\0\x06\0\0\0\0\0\x02\0\0\0\0\x03\0\0\x02abc\x03\0\0\x03def",
];
