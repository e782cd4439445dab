//! Commits of MySQL's protocol: commands whose text is `COMMIT`.

use super::framing::{Framing, Verdict};
use super::{Draws, FRAME_BYTES_MAX, Rewrite, is_commit};
use dyno_protocol::mysql::flags::capability;
use dyno_protocol::mysql::packet;

const COM_QUERY: u8 = 3;
/// No parameters, in one set, before the text of a client with query attributes.
const NO_ATTRIBUTES: &[u8] = &[0, 1];
/// Payload of a request for TLS.
const SSL_REQUEST_BYTES: usize = 32;

/// What a client sends.
#[derive(Debug)]
pub struct Commands {
    framing: Framing,
    draws: Draws,
    has_begun: bool,
}

impl Commands {
    /// Those of a new session.
    pub fn new(draws: Draws) -> Self {
        Self { framing: Framing::default(), draws, has_begun: false }
    }
}

impl Rewrite for Commands {
    fn rewrite(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Self { framing, draws, has_begun } = self;
        framing.feed(bytes, out, |held| judge(held, draws, has_begun));
    }
}

fn judge(held: &[u8], draws: &mut Draws, has_begun: &mut bool) -> Verdict {
    let Some((length, sequence)) = packet::header(held) else {
        return Verdict::Need(packet::HEADER_BYTES);
    };
    let total = packet::HEADER_BYTES + length;
    if !*has_begun {
        return begin(held, total, has_begun);
    }
    if sequence != 0 || total > FRAME_BYTES_MAX {
        return Verdict::Pass(total);
    }
    if held.len() < total {
        return Verdict::Need(total);
    }
    match rolled_back(&held[packet::HEADER_BYTES..]) {
        Some(payload) if draws.swallows() => {
            let mut frame = vec![];
            packet::write(&mut frame, sequence, &payload);
            Verdict::Replace(frame)
        }
        _ => Verdict::Pass(total),
    }
}

/// The login: what is encrypted or compressed after it cannot be read.
fn begin(held: &[u8], total: usize, has_begun: &mut bool) -> Verdict {
    let Some(flags) = held[packet::HEADER_BYTES..].first_chunk::<4>() else {
        return if total < packet::HEADER_BYTES + 4 {
            Verdict::PassAll
        } else {
            Verdict::Need(packet::HEADER_BYTES + 4)
        };
    };
    let flags = u32::from_le_bytes(*flags);
    let is_tls = flags & capability::SSL != 0 && total == packet::HEADER_BYTES + SSL_REQUEST_BYTES;
    if is_tls || flags & (capability::COMPRESS | capability::COMPRESS_ZSTD) != 0 {
        return Verdict::PassAll;
    }
    *has_begun = true;
    Verdict::Pass(total)
}

/// The payload that rolls back what `payload` commits; None if it is no commit.
fn rolled_back(payload: &[u8]) -> Option<Vec<u8>> {
    let text = payload.strip_prefix(&[COM_QUERY])?;
    let sql = text.strip_prefix(NO_ATTRIBUTES).unwrap_or(text);
    let before = payload.len() - sql.len();
    is_commit(sql).then(|| [&payload[..before], b"ROLLBACK"].concat())
}
