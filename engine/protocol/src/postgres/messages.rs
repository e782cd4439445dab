//! Writes the client's messages. Each is a tag, a length that includes itself, and a body; the
//! three that open a connection have no tag.

use crate::bytes::Bytes;

/// `StartupMessage` version 3.0, which all servers from 7.4 to 18 support.
const PROTOCOL_3_0: u32 = 3 << 16;
/// Magic version of a request for TLS.
pub const SSL_REQUEST_CODE: u32 = 80_877_103;
/// Magic version of a request for GSSAPI encryption.
pub const GSS_REQUEST_CODE: u32 = 80_877_104;
/// Magic version of a cancel request.
pub const CANCEL_REQUEST_CODE: u32 = 80_877_102;

/// Ends a series of extended-query messages; the server answers ReadyForQuery.
pub const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
/// Ends the connection.
pub const TERMINATE: [u8; 5] = [b'X', 0, 0, 0, 4];
/// Ends the rows of a COPY.
pub const COPY_DONE: [u8; 5] = [b'c', 0, 0, 0, 4];

/// Appends a message whose body `write` appends.
pub fn message(tag: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    write(out);
    let end = out.len();
    set_length(out, start + 1, end);
}

/// Sets the length field at `at` of a message that ends at `end`.
pub fn set_length(out: &mut [u8], at: usize, end: usize) {
    let length = (end - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a C string. The caller must ensure that `text` contains no NUL.
pub fn string(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
    out.push(0);
}

/// The message that opens a session.
pub fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
    for (name, value) in parameters {
        string(name.as_bytes(), &mut out);
        string(value.as_bytes(), &mut out);
    }
    out.push(0);
    let end = out.len();
    set_length(&mut out, 0, end);
    out
}

/// The kind of a client's first message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Startup {
    /// A StartupMessage.
    Login {
        /// Login name.
        user: Vec<u8>,
        /// Database.
        database: Vec<u8>,
    },
    /// A request for TLS or GSSAPI encryption; the client waits for a one-byte reply.
    WantsEncryption,
    /// A cancel request for another connection's statement.
    Cancel,
}

impl Startup {
    /// Parses a message's body.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        match bytes.big(4)? as u32 {
            SSL_REQUEST_CODE | GSS_REQUEST_CODE => Some(Self::WantsEncryption),
            CANCEL_REQUEST_CODE => Some(Self::Cancel),
            version if version >> 16 == 3 => {
                let (mut user, mut database) = (vec![], vec![]);
                while let Some(name) = bytes.text().filter(|name| !name.is_empty()) {
                    let value = bytes.text()?;
                    match name {
                        b"user" => user = value.to_vec(),
                        b"database" => database = value.to_vec(),
                        _ => {}
                    }
                }
                if database.is_empty() {
                    database.clone_from(&user);
                }
                Some(Self::Login { user, database })
            }
            _ => None,
        }
    }
}

/// Requests TLS; the server replies with one byte.
pub fn ssl_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&8_u32.to_be_bytes());
    out.extend_from_slice(&SSL_REQUEST_CODE.to_be_bytes());
}

/// The only message of a connection that cancels the statement of the session with this
/// BackendKeyData.
pub fn cancel_request(key: &[u8; 8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    out.extend_from_slice(&16_u32.to_be_bytes());
    out.extend_from_slice(&CANCEL_REQUEST_CODE.to_be_bytes());
    out.extend_from_slice(key);
    out
}

/// A simple query. A NUL in `sql` makes the message malformed; the server refuses it (08P01) before
/// it executes anything.
pub fn query(sql: &[u8], out: &mut Vec<u8>) {
    message(b'Q', out, |out| string(sql, out));
}

/// Prepares `sql` as statement `name` with these parameter types (OIDs).
pub fn parse(name: &[u8], sql: &[u8], types: &[u32], out: &mut Vec<u8>) {
    message(b'P', out, |out| {
        string(name, out);
        string(sql, out);
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
}

/// Requests the parameters and columns of the statement `name`.
pub fn describe(name: &[u8], out: &mut Vec<u8>) {
    message(b'D', out, |out| {
        out.push(b'S');
        string(name, out);
    });
}

/// Closes the statement `name`.
pub fn close(name: &[u8], out: &mut Vec<u8>) {
    message(b'C', out, |out| {
        out.push(b'S');
        string(name, out);
    });
}

/// A response to an authentication request.
pub fn password(body: &[u8], out: &mut Vec<u8>) {
    message(b'p', out, |out| out.extend_from_slice(body));
}

/// Aborts a COPY for which there are no rows.
pub fn copy_fail(reason: &str, out: &mut Vec<u8>) {
    message(b'f', out, |out| string(reason.as_bytes(), out));
}
