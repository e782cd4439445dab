//! Splits bytes into lines, and reports bytes that are not understood.

use crate::sink::Sink;

/// The complete lines of `bytes`, each with its offset. If `is_last`, the last line needs no line feed.
pub(super) fn lines(bytes: &[u8], is_last: bool) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at;
        let rest = &bytes[begin..];
        let length = match memchr::memchr(b'\n', rest) {
            Some(length) => length + 1,
            None if is_last && !rest.is_empty() => rest.len(),
            None => return None,
        };
        at = begin + length;
        Some((begin, &rest[..length]))
    })
}

/// A line without its line end.
pub(super) fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Joins adjacent bytes that are not understood into one range.
#[derive(Default)]
pub(super) struct Strays {
    piece: Option<(u64, u64, &'static str)>,
}

impl Strays {
    pub(super) fn add(&mut self, offset: u64, bytes: u64, why: &'static str, sink: &mut dyn Sink) {
        match &mut self.piece {
            Some((begin, length, reason)) if *begin + *length == offset && *reason == why => {
                *length += bytes;
            }
            _ => {
                self.tell(sink);
                self.piece = Some((offset, bytes, why));
            }
        }
    }

    pub(super) fn tell(&mut self, sink: &mut dyn Sink) {
        if let Some((offset, bytes, why)) = self.piece.take() {
            sink.not_understood(offset, bytes, why);
        }
    }
}
