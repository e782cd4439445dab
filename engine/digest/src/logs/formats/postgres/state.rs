//! The state of a reader, the same for all forms of the log.

use super::message::Message;
use super::sessions::Sessions;
use super::timestamp::{Clock, Timestamp};
use crate::logs::format::Context;
use crate::sink::Sink;

/// The state that a reader carries from part to part.
pub(super) struct State {
    pub(super) clock: Clock,
    pub(super) sessions: Sessions,
}

impl State {
    /// Takes the state out of `context`, where [`State::keep`] stores it again.
    pub(super) fn of(context: &mut Context, utc_offset_s: i32) -> Box<Self> {
        let kept = context.state.take().and_then(|state| state.downcast::<State>().ok());
        kept.unwrap_or_else(|| Box::new(Self::new(utc_offset_s)))
    }

    pub(super) fn new(utc_offset_s: i32) -> Self {
        Self { clock: Clock::new(utc_offset_s), sessions: Sessions::default() }
    }

    pub(super) fn keep(
        mut self: Box<Self>,
        context: &mut Context,
        is_last: bool,
        sink: &mut dyn Sink,
    ) {
        if is_last {
            self.sessions.finish(sink);
        }
        context.state = Some(self);
    }

    /// Processes a message with the timestamp `moment`.
    pub(super) fn take(
        &mut self,
        mut message: Message<'_>,
        moment: Option<Timestamp>,
        context: &mut Context,
        sink: &mut dyn Sink,
    ) {
        match moment {
            Some(Timestamp::At(ns)) => {
                message.end_ns = Some(ns);
                context.time_ns = Some(ns);
            }
            Some(Timestamp::Elsewhere) => {
                let why = "a time in a zone whose abbreviation is not known: give --utc-offset";
                sink.not_understood(message.offset, TIME_BYTES, why);
            }
            None => {}
        }
        self.sessions.take(&message, &mut context.facts, sink);
    }
}

/// `2026-11-22 06:40:01`.
const TIME_BYTES: u64 = 19;
