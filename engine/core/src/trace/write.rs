//! Writes a replay file in one pass; each session's blocks are written as they fill.

use super::bytes::{put, put_signed};
use super::{END, Event, Language, MAGIC, Meta, VERSION};
use std::collections::HashMap;
use std::io::{self, Write};

/// Size at which a session's pending events are written.
const BLOCK_BYTES: usize = 64 << 10;
/// Total size at which all sessions' pending events are written.
const PENDING_BYTES: usize = 64 << 20;

/// Writes a replay file to any output.
pub struct Writer<W> {
    out: W,
    pending: HashMap<u32, Pending>,
    pending_bytes: usize,
    /// Of each block: session, payload bytes, events; as the footer has it.
    index: Vec<u8>,
    blocks: u64,
}

/// Events of a session that are not written yet.
struct Pending {
    payload: Vec<u8>,
    last_ns: i64,
    events: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a replay file.
    ///
    /// # Errors
    /// I/O errors of `out`; the other methods likewise.
    pub fn new(mut out: W, language: Language) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&[language as u8, 0, 0, 0, 0, 0])?;
        let (pending, index) = (HashMap::new(), Vec::new());
        Ok(Self { out, pending, pending_bytes: 0, index, blocks: 0 })
    }

    /// Appends an event of a session. Events must come in the order of their begins: a block that
    /// begins before the session's previous block makes the file invalid. Within a block, an event
    /// that begins before the last one is recorded with the begin of the last one.
    pub fn event(&mut self, session: u32, event: &Event<'_>) -> io::Result<()> {
        let pending = self.pending.entry(session).or_insert_with(|| {
            let mut payload = Vec::new();
            put(&mut payload, session.into());
            put_signed(&mut payload, event.begin_ns);
            Pending { payload, last_ns: event.begin_ns, events: 0 }
        });
        let before = if pending.events == 0 { 0 } else { pending.payload.len() };
        let begin_ns = event.begin_ns.max(pending.last_ns);
        let payload = &mut pending.payload;
        put(payload, begin_ns.abs_diff(pending.last_ns));
        put(payload, event.duration_ns);
        payload.push(event.effect as u8);
        put(payload, event.class.into());
        put(payload, event.origin.into());
        put(payload, event.text.len() as u64);
        payload.extend_from_slice(event.text);
        pending.last_ns = begin_ns;
        pending.events += 1;
        self.pending_bytes += payload.len() - before;
        if payload.len() >= BLOCK_BYTES {
            self.end(session)?;
        } else if self.pending_bytes >= PENDING_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the session's pending events, because no more are expected soon.
    pub fn end(&mut self, session: u32) -> io::Result<()> {
        let Some(Pending { payload, events, .. }) = self.pending.remove(&session) else {
            return Ok(());
        };
        let too_long = |_| io::Error::other("a statement of 4 GiB");
        let length = u32::try_from(payload.len()).map_err(too_long)?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&crc32fast::hash(&payload).to_le_bytes())?;
        self.out.write_all(&payload)?;
        self.pending_bytes -= payload.len();
        put(&mut self.index, session.into());
        put(&mut self.index, length.into());
        put(&mut self.index, events);
        self.blocks += 1;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut sessions: Vec<u32> = self.pending.keys().copied().collect();
        sessions.sort_unstable();
        sessions.into_iter().try_for_each(|session| self.end(session))
    }

    /// Writes the pending events and the footer.
    pub fn finish(mut self, meta: &Meta) -> io::Result<W> {
        self.flush()?;
        let json = serde_json::to_vec(meta)?;
        let mut payload = Vec::with_capacity(json.len() + self.index.len() + 20);
        put(&mut payload, json.len() as u64);
        payload.extend_from_slice(&json);
        put(&mut payload, self.blocks);
        payload.extend_from_slice(&self.index);
        self.out.write_all(&payload)?;
        self.out.write_all(&crc32fast::hash(&payload).to_le_bytes())?;
        self.out.write_all(&(payload.len() as u64).to_le_bytes())?;
        self.out.write_all(END)?;
        self.out.flush()?;
        Ok(self.out)
    }
}
