//! Recognises messages by their structure, and reads the SQLSTATE of errors. Source: PostgreSQL's
//! manual, "Message Formats".

use dyno_protocol::bytes::Bytes;
use dyno_protocol::postgres::frames::Body;
use dyno_protocol::postgres::messages::{CANCEL_REQUEST_CODE, GSS_REQUEST_CODE, SSL_REQUEST_CODE};

/// Longest startup message that servers accept, bytes.
const STARTUP_MAX: usize = 10_000;

/// Whether a client's startup message begins here.
pub fn is_startup(bytes: &[u8]) -> bool {
    let Some((length, body)) = bytes.split_first_chunk::<4>() else { return false };
    let length = u32::from_be_bytes(*length) as usize;
    (8..=STARTUP_MAX).contains(&length)
        && body.len() + 4 <= length
        && match Bytes(body).big(4).map(|code| code as u32) {
            Some(SSL_REQUEST_CODE | GSS_REQUEST_CODE) => length == 8,
            Some(CANCEL_REQUEST_CODE) => length >= 16,
            Some(version) => version >> 16 == 3 && version & 0xFFFF < 100,
            None => false,
        }
}

/// Whether these bytes look like client messages only, for connections captured in the middle.
pub fn is_request(bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some((&[kind, a, b, c, d], body)) =
        bytes.get(at..).and_then(<[u8]>::split_first_chunk::<5>)
    {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let Some(whole) = length.checked_sub(4) else { return false };
        let here = &body[..body.len().min(whole)];
        let is_text =
            || here.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace() || byte == 0);
        let fits = match kind {
            b'Q' => whole > 0 && is_text() && (here.len() < whole || here.ends_with(b"\0")),
            b'P' => whole >= 4 && here.contains(&0) | (here.len() < whole),
            b'B' => whole >= 8 && here.contains(&0) | (here.len() < whole),
            b'E' => whole >= 5 && (here.len() < whole || here[whole - 5] == 0),
            b'D' | b'C' => {
                whole >= 2 && matches!(here.first(), Some(b'S' | b'P')) && here.ends_with(b"\0")
            }
            b'S' | b'H' | b'X' => whole == 0,
            _ => false,
        };
        if !fits {
            return false;
        }
        at += 5 + whole;
    }
    // The packet's end may truncate a header, except the first one.
    at > 0
}

/// Whether these bytes look like server messages.
pub fn is_answer(bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some((&[kind, a, b, c, d], _)) =
        bytes.get(at..).and_then(<[u8]>::split_first_chunk::<5>)
    {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if !(4..=1 << 30).contains(&length) || !b"123CDEGHIKNRSTVWZAcdnst".contains(&kind) {
            return false;
        }
        at += 1 + length;
    }
    at > 0
}

/// The SQLSTATE in the body of an error message.
pub fn sqlstate(body: &[u8]) -> Option<&[u8]> {
    let mut body = Body(body);
    while let Ok(Some((field, text))) = body.field() {
        if field == b'C' {
            return Some(text);
        }
    }
    None
}
