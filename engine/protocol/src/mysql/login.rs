//! Parses logins of clients, including those from before 4.1. Source: MySQL source documentation,
//! "Connection Phase".

use super::flags::capability;
use crate::bytes::Bytes;

/// A client's login.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// The client's capability flags.
    pub capabilities: u32,
    /// User name.
    pub user: Vec<u8>,
    /// The default database.
    pub database: Vec<u8>,
    /// The client requests TLS and continues the login encrypted.
    pub wants_tls: bool,
}

impl Login {
    /// Parses a packet's body.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        let low = u32::from(bytes.u16()?);
        if low & capability::PROTOCOL_41 == 0 {
            return Self::read_old(bytes, low);
        }
        let capabilities = low | u32::from(bytes.u16()?) << 16;
        bytes.take(28)?;
        if bytes.0.is_empty() {
            let wants_tls = capabilities & capability::SSL != 0;
            return wants_tls.then_some(Self { capabilities, wants_tls, ..Self::default() });
        }
        let user = bytes.text()?.to_vec();
        if capabilities & capability::PLUGIN_AUTH_LENENC != 0 {
            bytes.lenenc_string()?;
        } else if capabilities & capability::SECURE_CONNECTION != 0 {
            let length = bytes.byte()?;
            bytes.take(length.into())?;
        } else {
            bytes.text()?;
        }
        let database = Self::database(capabilities, bytes);
        Some(Self { capabilities, user, database, wants_tls: false })
    }

    fn read_old(mut bytes: Bytes<'_>, capabilities: u32) -> Option<Self> {
        bytes.take(3)?;
        if bytes.0.is_empty() {
            let wants_tls = capabilities & capability::SSL != 0;
            return wants_tls.then_some(Self { capabilities, wants_tls, ..Self::default() });
        }
        let user = bytes.text()?.to_vec();
        let database = bytes.text().map_or(vec![], |_| Self::database(capabilities, bytes));
        Some(Self { capabilities, user, database, wants_tls: false })
    }

    fn database(capabilities: u32, mut bytes: Bytes<'_>) -> Vec<u8> {
        if capabilities & capability::CONNECT_WITH_DB == 0 {
            return vec![];
        }
        bytes.text().unwrap_or(bytes.0).to_vec()
    }
}

/// The new user and database of a `COM_CHANGE_USER`. `body` follows the command byte.
pub fn change_user(body: &[u8], capabilities: Option<u32>) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Bytes(body);
    let user = bytes.text()?.to_vec();
    if capabilities.is_none_or(|known| known & capability::SECURE_CONNECTION != 0) {
        let length = bytes.byte()?;
        bytes.take(length.into())?;
    } else {
        bytes.text()?;
    }
    Some((user, bytes.text()?.to_vec()))
}
