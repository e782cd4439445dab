//! Messages by their types. Source: PostgreSQL's manual, "Message Formats".

use dyno_protocol::bytes::Bytes;

/// What a client's first message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Startup {
    /// It says who it is: user, database.
    Login { user: Vec<u8>, database: Vec<u8> },
    /// It wants TLS or GSSAPI, and waits for a byte.
    WantsEncryption,
    /// It wants a statement of another connection cancelled.
    Cancel,
}

const TLS: u64 = 80_877_103;
const GSS: u64 = 80_877_104;
const CANCEL: u64 = 80_877_102;

/// The longest first message that servers take.
const STARTUP_MAX: usize = 10_000;

impl Startup {
    /// From a message's body.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        match bytes.big(4)? {
            TLS | GSS => Some(Self::WantsEncryption),
            CANCEL => Some(Self::Cancel),
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

/// Whether a client's first message begins here.
pub fn is_startup(bytes: &[u8]) -> bool {
    let Some((length, body)) = bytes.split_first_chunk::<4>() else { return false };
    let length = u32::from_be_bytes(*length) as usize;
    (8..=STARTUP_MAX).contains(&length)
        && body.len() + 4 <= length
        && match Bytes(body).big(4) {
            Some(TLS | GSS) => length == 8,
            Some(CANCEL) => length >= 16,
            Some(version) => version >> 16 == 3 && version & 0xFFFF < 100,
            None => false,
        }
}

/// Whether a client's messages seem to begin here, and nothing else: for connections in their middle.
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
    // A header may be cut by the packet's end, but not the first one.
    at > 0
}

/// Whether a server's messages seem to begin here.
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

/// The SQLSTATE of an error.
pub fn sqlstate(body: &[u8]) -> Option<&[u8]> {
    let mut bytes = Bytes(body);
    loop {
        match bytes.byte()? {
            0 => return None,
            b'C' => return bytes.text(),
            _ => bytes.text()?,
        };
    }
}

/// The command and the number in `INSERT 0 5`; of others than that no number.
pub fn completed(body: &[u8]) -> (&[u8], Option<u64>) {
    let tag = body.strip_suffix(b"\0").unwrap_or(body);
    let end = tag.iter().position(|&byte| byte == b' ').unwrap_or(tag.len());
    let last = tag.rsplit(|&byte| byte == b' ').next().unwrap_or(b"");
    let count = std::str::from_utf8(last).ok().and_then(|digits| digits.parse().ok());
    (&tag[..end], count.filter(|_| end < tag.len()))
}
