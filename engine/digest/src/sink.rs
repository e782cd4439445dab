//! The input of readers (bytes of a log) and their output (a sink of events).

use crate::event::Event;

/// Some bytes of a log, beginning at an event.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Their offset in the log.
    pub offset: u64,
    /// Whether the log ends with this part; its last event then ends with the part.
    pub is_last: bool,
}

/// Receives the content of a log.
pub trait Sink {
    /// An event. Its texts are valid during the call.
    fn event(&mut self, event: &Event<'_>);

    /// Bytes that are not an event: offset, length and a short reason that never quotes the log.
    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str);
}

/// Stores everything, for tests of formats.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// (event without its texts, text, user, host, database, error).
    pub(crate) events: Vec<Owned>,
    /// Offset, bytes, why.
    pub(crate) not_understood: Vec<(u64, u64, &'static str)>,
}

/// An event with its own texts.
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
