//! Greetings of servers and what clients answer. Source: MySQL source documentation, "Connection
//! Phase"; MariaDB knowledge base, "Connection".

use dyno_protocol::bytes::Bytes;

/// A server's greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Its version as it tells it.
    pub version: Vec<u8>,
    /// The connection's number.
    pub session: u64,
    /// What it can do.
    pub capabilities: u64,
}

/// What a client says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// What it wants.
    pub capabilities: u64,
    /// Who it is.
    pub user: Vec<u8>,
    /// The default database.
    pub database: Vec<u8>,
    /// It stops here, to go on encrypted.
    pub wants_tls: bool,
}

const WITH_DATABASE: u64 = 1 << 3;
const COMPRESS: u64 = 1 << 5;
const PROTOCOL_41: u64 = 1 << 9;
const TLS: u64 = 1 << 11;
const SECURE: u64 = 1 << 15;
const LONG_AUTHENTICATION: u64 = 1 << 21;
/// Ends of answers are OK packets.
pub const WITHOUT_EOF: u64 = 1 << 24;
const COMPRESS_ZSTD: u64 = 1 << 26;
/// Statements have attributes.
pub const QUERY_ATTRIBUTES: u64 = 1 << 27;

/// Whether a server's first packet begins here.
pub fn is_greeting(bytes: &[u8]) -> bool {
    let Some((&[a, b, c, 0], body)) = bytes.split_first_chunk::<4>() else { return false };
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    (30..=1024).contains(&length) && body.len() <= length && Greeting::read(body).is_some()
}

impl Greeting {
    /// From a packet's body.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        if bytes.byte()? != 10 {
            return None;
        }
        let version = bytes.text()?.to_vec();
        if !version.first()?.is_ascii_digit() || !version.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let session = bytes.little(4)?;
        bytes.take(9)?;
        let mut capabilities = bytes.little(2)?;
        bytes.take(3)?;
        capabilities |= bytes.little(2).unwrap_or(0) << 16;
        Some(Self { version, session, capabilities })
    }

    /// How the server is called.
    pub fn product(&self) -> String {
        let version = String::from_utf8_lossy(&self.version);
        match version.split_once("-MariaDB") {
            Some((number, _)) => format!("MariaDB {}", number.trim_start_matches("5.5.5-")),
            None => format!("MySQL {version}"),
        }
    }
}

impl Login {
    /// From a packet's body.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        let low = bytes.little(2)?;
        if low & PROTOCOL_41 == 0 {
            return Self::read_old(bytes, low);
        }
        let capabilities = low | bytes.little(2)? << 16;
        bytes.take(28)?;
        if bytes.0.is_empty() {
            let wants_tls = capabilities & TLS != 0;
            return wants_tls.then_some(Self { capabilities, wants_tls, ..Self::default() });
        }
        let user = bytes.text()?.to_vec();
        if capabilities & LONG_AUTHENTICATION != 0 {
            bytes.lenenc_string()?;
        } else if capabilities & SECURE != 0 {
            let length = bytes.byte()?;
            bytes.take(length.into())?;
        } else {
            bytes.text()?;
        }
        let database = Self::database(capabilities, bytes);
        Some(Self { capabilities, user, database, wants_tls: false })
    }

    fn read_old(mut bytes: Bytes<'_>, capabilities: u64) -> Option<Self> {
        bytes.take(3)?;
        if bytes.0.is_empty() {
            let wants_tls = capabilities & TLS != 0;
            return wants_tls.then_some(Self { capabilities, wants_tls, ..Self::default() });
        }
        let user = bytes.text()?.to_vec();
        let database = bytes.text().map_or(vec![], |_| Self::database(capabilities, bytes));
        Some(Self { capabilities, user, database, wants_tls: false })
    }

    fn database(capabilities: u64, mut bytes: Bytes<'_>) -> Vec<u8> {
        if capabilities & WITH_DATABASE == 0 {
            return vec![];
        }
        bytes.text().unwrap_or(bytes.0).to_vec()
    }
}

/// Whether packets are compressed once the client is let in.
pub fn compresses(capabilities: u64) -> bool {
    capabilities & (COMPRESS | COMPRESS_ZSTD) != 0
}

/// Who a client wants to be from now on: user, database. `body` is behind the command's byte.
pub fn change_user(body: &[u8], capabilities: Option<u64>) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Bytes(body);
    let user = bytes.text()?.to_vec();
    if capabilities.is_none_or(|known| known & SECURE != 0) {
        let length = bytes.byte()?;
        bytes.take(length.into())?;
    } else {
        bytes.text()?;
    }
    Some((user, bytes.text()?.to_vec()))
}
