//! Commits of PostgreSQL's protocol: simple queries whose text is `COMMIT`, and the tag of their answer.

use super::framing::{Framing, Verdict};
use super::{Draws, FRAME_BYTES_MAX, Rewrite, is_commit};
use dyno_protocol::postgres::frames;
use dyno_protocol::postgres::messages::{
    self, CANCEL_REQUEST_CODE, GSS_REQUEST_CODE, SSL_REQUEST_CODE,
};
use std::cell::Cell;
use std::rc::Rc;

/// Length and version of a message without a tag.
const OPENING_BYTES: usize = 8;
/// First byte of TLS.
const TLS_HANDSHAKE: u8 = 0x16;

/// What both directions of a session know.
#[derive(Debug, Default)]
struct Shared {
    /// Requests for encryption, each of which is answered by one byte.
    asked: Cell<u32>,
    /// Swallowed commits whose answer is still to come.
    swallowed: Cell<u32>,
}

/// What a client sends.
#[derive(Debug)]
pub struct Messages {
    framing: Framing,
    draws: Draws,
    has_begun: bool,
    shared: Rc<Shared>,
}

/// What the server answers.
#[derive(Debug)]
pub struct Answers {
    framing: Framing,
    shared: Rc<Shared>,
}

/// Those of a new session.
pub fn pair(draws: Draws) -> (Messages, Answers) {
    let shared = Rc::new(Shared::default());
    let messages = Messages {
        framing: Framing::default(),
        draws,
        has_begun: false,
        shared: Rc::clone(&shared),
    };
    (messages, Answers { framing: Framing::default(), shared })
}

impl Rewrite for Messages {
    fn rewrite(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Self { framing, draws, has_begun, shared } = self;
        framing.feed(bytes, out, |held| match has_begun {
            true => message(held, draws, shared),
            false => opening(held, has_begun, shared),
        });
    }
}

impl Rewrite for Answers {
    fn rewrite(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let shared = &self.shared;
        self.framing.feed(bytes, out, |held| answer(held, shared));
    }
}

/// Messages before the session has begun.
fn opening(held: &[u8], has_begun: &mut bool, shared: &Shared) -> Verdict {
    if held.first() == Some(&TLS_HANDSHAKE) {
        return Verdict::PassAll;
    }
    let Some(&[a, b, c, d, e, f, g, h]) = held.first_chunk::<OPENING_BYTES>() else {
        return Verdict::Need(OPENING_BYTES);
    };
    match u32::from_be_bytes([e, f, g, h]) {
        SSL_REQUEST_CODE | GSS_REQUEST_CODE => shared.asked.set(shared.asked.get() + 1),
        CANCEL_REQUEST_CODE => return Verdict::PassAll,
        _ => *has_begun = true,
    }
    Verdict::Pass(u32::from_be_bytes([a, b, c, d]) as usize)
}

/// The whole of a short message with this tag; else what becomes of it.
fn short(held: &[u8], tag: u8) -> Result<&[u8], Verdict> {
    match frames::header(held) {
        Ok(None) => Err(Verdict::Need(frames::HEADER_BYTES)),
        Ok(Some((found, total))) if found != tag || total > FRAME_BYTES_MAX => {
            Err(Verdict::Pass(total))
        }
        Ok(Some((_, total))) if held.len() < total => Err(Verdict::Need(total)),
        Ok(Some((_, total))) => Ok(&held[frames::HEADER_BYTES..total]),
        Err(_) => Err(Verdict::PassAll),
    }
}

fn message(held: &[u8], draws: &mut Draws, shared: &Shared) -> Verdict {
    match short(held, b'Q') {
        Err(verdict) => verdict,
        Ok(body) if is_commit(body.strip_suffix(&[0]).unwrap_or(body)) && draws.swallows() => {
            shared.swallowed.set(shared.swallowed.get() + 1);
            Verdict::Replace(text(b'Q', b"ROLLBACK"))
        }
        Ok(_) => Verdict::Pass(held.len()),
    }
}

fn answer(held: &[u8], shared: &Shared) -> Verdict {
    if let asked @ 1.. = shared.asked.get() {
        shared.asked.set(asked - 1);
        return if held == b"N" { Verdict::Pass(1) } else { Verdict::PassAll };
    }
    match (short(held, b'C'), shared.swallowed.get()) {
        (Err(verdict), _) => verdict,
        (Ok(b"ROLLBACK\0"), swallowed @ 1..) => {
            shared.swallowed.set(swallowed - 1);
            Verdict::Replace(text(b'C', b"COMMIT"))
        }
        (Ok(_), _) => Verdict::Pass(held.len()),
    }
}

fn text(tag: u8, text: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    messages::message(tag, &mut out, |out| messages::string(text, out));
    out
}
