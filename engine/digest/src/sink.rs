//! The input of readers (bytes of a log) and their output (a sink of events).

use crate::event::Event;

/// Some bytes of a log, beginning at an event.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Where they begin in the log.
    pub offset: u64,
    /// Whether nothing follows, ever: the last event ends with the part.
    pub is_last: bool,
}

/// Takes what a log holds.
pub trait Sink {
    /// An event. Its texts are valid during the call.
    fn event(&mut self, event: &Event<'_>);

    /// Bytes that are no event: where, how many, and why in a few words that never quote the log.
    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str);
}

/// Keeps everything, for tests of formats.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// (event without its texts, text, user, host, database, error).
    pub(crate) events: Vec<Owned>,
    /// Offset, bytes, why.
    pub(crate) not_understood: Vec<(u64, u64, &'static str)>,
}

/// An event with texts of its own.
#[cfg(test)]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Owned {
    pub(crate) event: Event<'static>,
    pub(crate) text: String,
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) database: String,
    pub(crate) error: String,
    pub(crate) parameters: String,
    pub(crate) plan: String,
}

#[cfg(test)]
impl Sink for Kept {
    fn event(&mut self, event: &Event<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.events.push(Owned {
            event: Event {
                text: b"",
                user: b"",
                host: b"",
                database: b"",
                error: b"",
                parameters: b"",
                plan: b"",
                numbers: event.numbers.clone(),
                ..*event
            },
            text: text(event.text),
            user: text(event.user),
            host: text(event.host),
            database: text(event.database),
            error: text(event.error),
            parameters: text(event.parameters),
            plan: text(event.plan),
        });
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str) {
        self.not_understood.push((offset, bytes, why));
    }
}
