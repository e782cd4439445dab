//! Any bytes as a log: however it is cut, it holds the same events, and they lie within it.

use dyno_digest::event::Event;
use dyno_digest::format::{Context, Format, Part, Settings, Sink};
use dyno_digest::formats::FORMATS;

/// What a reading gave: events as (offset, bytes, end, database, text), and bytes not understood.
#[derive(Debug, Default, PartialEq)]
struct Taken {
    events: Vec<(u64, u64, Option<i64>, Vec<u8>, Vec<u8>)>,
    not_understood: Vec<(u64, u64)>,
}

impl Sink for Taken {
    fn event(&mut self, event: &Event<'_>) {
        let (database, text) = (event.database.to_vec(), event.text.to_vec());
        self.events.push((event.offset, event.bytes, event.end_ns, database, text));
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, _why: &'static str) {
        self.not_understood.push((offset, bytes));
    }
}

/// Reads `data` by the format `name`; its first two bytes say where it is cut.
pub fn read(name: &str, data: &[u8]) {
    let Some((cut, log)) = data.split_first_chunk::<2>() else { return };
    let kind = FORMATS.iter().find(|kind| kind.name == name).expect("a format of this name");
    let _ = (kind.detect)(log);
    let Ok(format) = (kind.open)(&Settings::default(), log) else { return };
    let cut = usize::from(u16::from_le_bytes(*cut)) % (log.len() + 1);
    let whole = in_pieces(&*format, log, log.len());
    for (offset, bytes, ..) in &whole.events {
        assert!(offset + bytes <= log.len() as u64);
    }
    assert_eq!(whole, in_pieces(&*format, log, cut));
    if format.is_divisible() {
        assert_eq!(whole, in_parts(&*format, log, cut));
    }
}

/// As it comes from a pipe: first `cut` bytes, then all.
fn in_pieces(format: &dyn Format, log: &[u8], cut: usize) -> Taken {
    let (mut taken, mut context) = (Taken::default(), Context::default());
    let first = Part { bytes: &log[..cut], offset: 0, is_last: cut == log.len() };
    let done = format.read(first, &mut context, &mut taken);
    if cut < log.len() {
        let rest = Part { bytes: &log[done..], offset: done as u64, is_last: true };
        format.read(rest, &mut context, &mut taken);
    }
    taken
}

/// As two threads read it.
fn in_parts(format: &dyn Format, log: &[u8], cut: usize) -> Taken {
    let at = format.boundary(log, cut);
    let mut taken = Taken::default();
    for (begin, end) in [(0, at), (at, log.len())] {
        if begin < end {
            let mut context = format.context(log, begin);
            let part = Part { bytes: &log[begin..end], offset: begin as u64, is_last: true };
            format.read(part, &mut context, &mut taken);
        }
    }
    taken
}
