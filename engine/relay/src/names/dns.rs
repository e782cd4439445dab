//! A question for an IPv4 address to a name server, and its answer: the messages.
//!
//! Sources: RFC 1035, sections 3.2.1 (TTL) and 4.1 (messages).

use std::net::Ipv4Addr;

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 253;
/// Length of a message's header, in bytes.
const HEADER_BYTES: usize = 12;
/// Type A, and class IN.
const ADDRESS: u16 = 1;
const INTERNET: u16 = 1;

/// What a name server says of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Its address, and for how many seconds that holds.
    Address(Ipv4Addr, u32),
    /// It has none.
    Nothing,
}

/// A question for the address of `name`; `None` if that is no name of a host.
pub fn question(id: u16, name: &str) -> Option<Vec<u8>> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.is_ascii() {
        return None;
    }
    let mut message = vec![];
    message.extend(id.to_be_bytes());
    // A query that asks for recursion; one question.
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).ok().filter(|length| (1..64).contains(length))?);
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(ADDRESS.to_be_bytes());
    message.extend(INTERNET.to_be_bytes());
    Some(message)
}

/// What `message` answers to `question`; `None` if it is no answer to it.
pub fn answer(message: &[u8], question: &[u8]) -> Option<Answer> {
    let is_response = message.get(2)? & 0b1111_1000 == 0b1000_0000;
    let repeats = message.get(HEADER_BYTES..question.len())? == &question[HEADER_BYTES..];
    if !is_response || !repeats || message[..2] != question[..2] {
        return None;
    }
    if message[3] & 0b1111 != 0 {
        return Some(Answer::Nothing);
    }
    let mut at = question.len();
    for _ in 0..number(message, 6)? {
        at = behind_name(message, at)?;
        let (kind, class, length) =
            (number(message, at)?, number(message, at + 2)?, number(message, at + 8)?);
        let data = message.get(at + 10..at + 10 + usize::from(length))?;
        if let (ADDRESS, INTERNET, &[a, b, c, d]) = (kind, class, data) {
            let ttl_s =
                u32::from(number(message, at + 4)?) << 16 | u32::from(number(message, at + 6)?);
            return Some(Answer::Address(Ipv4Addr::new(a, b, c, d), ttl_s));
        }
        at += 10 + data.len();
    }
    Some(Answer::Nothing)
}

fn number(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?))
}

/// Where a name ends that begins at `at`: with a zero, or with a pointer to the rest of it.
fn behind_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length @ ..64 => at += 1 + usize::from(length),
            192.. => return Some(at + 2),
            _ => return None,
        }
    }
}
