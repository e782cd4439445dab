//! The server's greeting and the client's login.
//!
//! Sources: MySQL protocol, "Protocol::HandshakeV10", "Protocol::HandshakeResponse41",
//! "Protocol::SSLRequest"; MariaDB knowledge base, "Connection".

use super::flags::{COLLATION_UTF8MB4, capability, extended};
use super::packet::{self, broken};
use crate::bytes::Bytes;
use dyno_core::error::Result;

/// Bytes of the challenge of `mysql_native_password` and `caching_sha2_password`.
pub const NONCE_BYTES: usize = 20;

/// Maximum packet length that the client announces, bytes.
const CLIENT_PACKET_BYTES_MAX: u32 = 64 << 20;

/// Zero bytes after the collation, without the four that MariaDB uses for extended capabilities.
const FILLER_BYTES: usize = 19;

/// The server's first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Version as text, `10.11.6-MariaDB`.
    pub version: String,
    /// Connection id, for `KILL`.
    pub connection_id: u32,
    /// Capability flags.
    pub capabilities: u32,
    /// MariaDB's extended capabilities; 0 for other servers.
    pub extended: u32,
    /// Status flags.
    pub status: u16,
    /// The challenge.
    pub nonce: Vec<u8>,
    /// The server's preferred authentication plug-in.
    pub plugin: Vec<u8>,
}

impl Greeting {
    /// Parses a greeting's payload (protocol version 10).
    ///
    /// # Errors
    /// [`Kind::Protocol`](dyno_core::error::Kind::Protocol) for a truncated greeting, or one older
    /// than 4.1.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        if payload.first() != Some(&10) {
            return Err(broken("the greeting is not of protocol version 10"));
        }
        let greeting = Self::read(payload)
            .filter(|greeting| greeting.nonce.len() == NONCE_BYTES)
            .ok_or_else(|| broken("a greeting cut short"))?;
        let needed = capability::PROTOCOL_41 | capability::SECURE_CONNECTION;
        if greeting.capabilities & needed != needed {
            return Err(broken("the server is older than MySQL 4.1"));
        }
        Ok(greeting)
    }

    /// Parses an incomplete greeting's payload as far as possible; none if it ends before the
    /// status.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let mut fields = Bytes(payload.strip_prefix(&[10])?);
        let version = String::from_utf8_lossy(fields.text()?).into_owned();
        let connection_id = fields.u32()?;
        let nonce = fields.take(8)?.to_vec();
        fields.byte()?;
        let capabilities = fields.u16()?.into();
        fields.byte()?;
        let status = fields.u16()?;
        let (extended, plugin) = (0, vec![]);
        let mut greeting =
            Self { version, connection_id, capabilities, extended, status, nonce, plugin };
        greeting.read_on(fields);
        Some(greeting)
    }

    /// Parses what servers since 4.1 send after the status.
    fn read_on(&mut self, mut fields: Bytes<'_>) -> Option<()> {
        self.capabilities |= u32::from(fields.u16()?) << 16;
        let nonce_bytes = usize::from(fields.byte()?);
        fields.take(6)?;
        let extended = fields.u32()?;
        if self.capabilities & capability::CLIENT_MYSQL == 0 {
            self.extended = extended;
        }
        // At least 13 bytes, whatever the length field; the last one is a terminating zero.
        let rest = fields.take(nonce_bytes.saturating_sub(8).max(13))?;
        self.nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
        self.nonce.truncate(NONCE_BYTES);
        if self.capabilities & capability::PLUGIN_AUTH != 0 {
            // Some versions omit the terminating zero.
            self.plugin = fields.text().unwrap_or(fields.0).to_vec();
        }
        Some(())
    }

    /// Appends the greeting's payload.
    pub fn put(&self, out: &mut Vec<u8>) {
        let [a, b, c, d] = self.capabilities.to_le_bytes();
        let [low, high] = self.status.to_le_bytes();
        let (first, rest) = self.nonce.split_at(8);
        out.push(10);
        packet::put_nul(out, self.version.as_bytes());
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        packet::put_nul(out, first);
        out.extend_from_slice(&[a, b, COLLATION_UTF8MB4, low, high, c, d]);
        out.push(self.nonce.len() as u8 + 1);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&self.extended.to_le_bytes());
        packet::put_nul(out, rest);
        packet::put_nul(out, &self.plugin);
    }

    /// Product and version, `MariaDB 10.11.6`.
    pub fn product(&self) -> String {
        match self.version.split_once("-MariaDB") {
            Some((number, _)) => format!("MariaDB {}", number.trim_start_matches("5.5.5-")),
            None => format!("MySQL {}", self.version),
        }
    }

    /// Whether the server offers TLS.
    pub fn offers_tls(&self) -> bool {
        self.capabilities & capability::SSL != 0
    }
}

/// The negotiated capabilities of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Capability flags of the client.
    pub capabilities: u32,
    /// MariaDB's extended flags of the client.
    pub extended: u32,
}

impl Agreed {
    /// Negotiates with the server's offer: the common flags and `more`.
    pub fn new(greeting: &Greeting, more: u32, cache_metadata: bool) -> Self {
        let wanted = more
            | capability::CLIENT_MYSQL
            | capability::LONG_FLAG
            | capability::PROTOCOL_41
            | capability::TRANSACTIONS
            | capability::SECURE_CONNECTION
            | capability::MULTI_RESULTS
            | capability::PS_MULTI_RESULTS
            | capability::PLUGIN_AUTH
            | capability::CONNECT_ATTRS
            | capability::PLUGIN_AUTH_LENENC
            | capability::DEPRECATE_EOF;
        let capabilities = wanted & greeting.capabilities;
        let mut extended = greeting.extended & extended::STMT_BULK;
        // Without DEPRECATE_EOF, documents differ on whether an EOF follows omitted definitions.
        if cache_metadata && capabilities & capability::DEPRECATE_EOF != 0 {
            extended |= greeting.extended & extended::CACHE_METADATA;
        }
        Self { capabilities, extended }
    }

    /// Whether a flag was negotiated.
    pub fn has(&self, flag: u32) -> bool {
        self.capabilities & flag != 0
    }

    /// Whether result sets state if their column definitions follow.
    pub fn caches_metadata(&self) -> bool {
        self.extended & extended::CACHE_METADATA != 0
    }

    /// Whether a prepared statement can be executed for many rows at once.
    pub fn binds_arrays(&self) -> bool {
        self.extended & extended::STMT_BULK != 0
    }

    fn put_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capabilities.to_le_bytes());
        out.extend_from_slice(&CLIENT_PACKET_BYTES_MAX.to_le_bytes());
        out.push(COLLATION_UTF8MB4);
        out.extend_from_slice(&[0; FILLER_BYTES]);
        out.extend_from_slice(&self.extended.to_le_bytes());
    }

    /// Appends the request for TLS. Returns the next sequence number.
    pub fn put_tls_request(&self, out: &mut Vec<u8>, seq: u8) -> u8 {
        let at = packet::start(out);
        self.put_head(out);
        packet::finish(out, at, seq)
    }

    /// Appends the login. Returns the next sequence number.
    pub fn put_login(&self, out: &mut Vec<u8>, seq: u8, login: &Login<'_>) -> u8 {
        let at = packet::start(out);
        self.put_head(out);
        packet::put_nul(out, login.user.as_bytes());
        // Both encodings are equal below 251 bytes, and no response is longer than 64.
        debug_assert!(login.answer.len() <= 64);
        packet::put_lenenc_bytes(out, login.answer);
        if self.has(capability::CONNECT_WITH_DB) {
            packet::put_nul(out, login.database.as_bytes());
        }
        if self.has(capability::PLUGIN_AUTH) {
            packet::put_nul(out, login.plugin);
        }
        if self.has(capability::CONNECT_ATTRS) {
            let mut attributes = vec![];
            for (name, value) in [
                ("_client_name", "dbdyno"),
                ("_client_version", env!("CARGO_PKG_VERSION")),
                ("program_name", "dyno-engine"),
            ] {
                packet::put_lenenc_bytes(&mut attributes, name.as_bytes());
                packet::put_lenenc_bytes(&mut attributes, value.as_bytes());
            }
            packet::put_lenenc_bytes(out, &attributes);
        }
        packet::finish(out, at, seq)
    }
}

/// The credentials and schema of a login.
#[derive(Debug)]
pub struct Login<'a> {
    /// Login name.
    pub user: &'a str,
    /// Default schema; empty: none.
    pub database: &'a str,
    /// Authentication plug-in.
    pub plugin: &'a [u8],
    /// Response to the challenge.
    pub answer: &'a [u8],
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MariaDB 10.11's format: CLIENT_MYSQL clear, extended capabilities set.
    fn mariadb() -> Vec<u8> {
        let mut bytes = b"\x0a5.5.5-10.11.6-MariaDB\0".to_vec();
        bytes.extend_from_slice(&42u32.to_le_bytes());
        bytes.extend_from_slice(b"abcdefgh\0");
        bytes.extend_from_slice(&0xf7feu16.to_le_bytes());
        bytes.push(45);
        bytes.extend_from_slice(&2u16.to_le_bytes());
        bytes.extend_from_slice(&0x81bfu16.to_le_bytes());
        bytes.push(21);
        bytes.extend_from_slice(&[0; 6]);
        bytes.extend_from_slice(&0x1du32.to_le_bytes());
        bytes.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
        bytes
    }

    #[test]
    fn a_mariadb_greeting_is_taken_apart() {
        let greeting = Greeting::parse(&mariadb()).unwrap();
        assert_eq!(greeting.version, "5.5.5-10.11.6-MariaDB");
        assert_eq!(greeting.connection_id, 42);
        assert_eq!(greeting.nonce, b"abcdefghijklmnopqrst");
        assert_eq!(greeting.plugin, b"mysql_native_password");
        assert_eq!(greeting.extended, 0x1d);
        assert_eq!(greeting.product(), "MariaDB 10.11.6");
        let mut out = vec![];
        greeting.put(&mut out);
        assert_eq!(out, mariadb());
        assert!(Agreed::new(&greeting, 0, true).caches_metadata());
        assert!(!Agreed::new(&greeting, 0, false).caches_metadata());
        assert!(Agreed::new(&greeting, 0, false).binds_arrays());
    }

    #[test]
    fn mysql_has_no_extended_capabilities() {
        let mut bytes = mariadb();
        let flags = bytes.iter().position(|b| *b == 0xfe).unwrap();
        bytes[flags] |= 1;
        assert_eq!(Greeting::parse(&bytes).unwrap().extended, 0);
    }

    #[test]
    fn a_greeting_cut_anywhere_is_an_error() {
        let bytes = mariadb();
        let fixed = bytes.len() - b"mysql_native_password\0".len();
        for end in 0..fixed {
            assert!(Greeting::parse(&bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn the_login_has_the_documented_shape() {
        let agreed =
            Agreed::new(&Greeting::parse(&mariadb()).unwrap(), capability::CONNECT_WITH_DB, true);
        let mut out = vec![];
        let login =
            Login { user: "u", database: "d", plugin: b"mysql_native_password", answer: &[7; 20] };
        assert_eq!(agreed.put_login(&mut out, 1, &login), 2);
        assert_eq!(packet::header(&out), Some((out.len() - 4, 1)));
        assert_eq!(&out[4..8], agreed.capabilities.to_le_bytes());
        assert_eq!(agreed.capabilities & capability::CLIENT_MYSQL, 0);
        let extended = extended::CACHE_METADATA | extended::STMT_BULK;
        assert_eq!(&out[32..36], extended.to_le_bytes());
        let mut tail = b"u\0\x14".to_vec();
        tail.extend_from_slice(&[7; 20]);
        tail.extend_from_slice(b"d\0mysql_native_password\0");
        assert_eq!(&out[36..36 + tail.len()], tail);
    }
}
