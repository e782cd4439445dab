//! What a session does next that plays a recorded one: its statements in their order, each as soon
//! as it is due and the one before it is answered, whatever the answer was. Nothing is tried again:
//! a client that was refused went on as recorded, and so does this.

use super::failure::CODE_LOST;
use super::{Books, Session, Shape, State, Step};
use crate::pacing::replay::Playback;
use dyno_core::driver::Reply;
use dyno_core::recording::Cue;
use dyno_core::trace::Place;

/// Which recorded session is played, and how far.
#[derive(Debug)]
pub(super) struct Playing {
    session: u32,
    place: Place,
    /// Where it begins: new connections open there.
    opens: Cue,
    /// The statement composed, until it has ended.
    cue: Option<Cue>,
    /// The connection's default database; none: not known.
    database: Option<u32>,
}

impl Session {
    /// Claims the recorded session that begins next, if it plays none: none is left if false.
    pub fn claim(&mut self, playback: Playback<'_>) -> bool {
        if self.playing.is_none() {
            self.playing = playback.claim().map(|session| Playing {
                session,
                place: playback.recording.begin(session),
                opens: playback.recording.opens(session),
                cue: None,
                database: None,
            });
        }
        self.playing.is_some()
    }

    /// Whether it has one to play.
    pub fn holds_a_recording(&self) -> bool {
        self.playing.is_some()
    }

    /// How much later than the load's begin it is to connect.
    pub fn connects_ns(&self, playback: Playback<'_>) -> u64 {
        self.playing.as_ref().map_or(0, |playing| playback.connects_ns(playing.session))
    }

    /// Which of its group's servers is its: by its number, or by the database that the recorded
    /// session begins in.
    #[inline]
    pub fn server(&self) -> u32 {
        self.playing.as_ref().map_or(self.number, |playing| playing.opens.database)
    }

    /// Connected, for the first time or again. A statement that had not been sent is sent now.
    pub(super) fn go_on(
        &mut self,
        now_ns: u64,
        playback: Playback<'_>,
        books: Books<'_>,
        shape: &Shape<'_>,
    ) -> Step {
        let has_begun = self.has_begun;
        let Some(playing) = &mut self.playing else {
            self.state = State::Resting;
            return Step::Rest;
        };
        playing.database = Some(playing.opens.database);
        match playing.cue {
            Some(cue) if !has_begun => self.take_cue(now_ns, cue, playback, books, shape),
            _ => self.next_cue(now_ns, playback, books, shape),
        }
    }

    /// The next statement, now or when it is due; or the end.
    pub(super) fn next_cue(
        &mut self,
        now_ns: u64,
        playback: Playback<'_>,
        books: Books<'_>,
        shape: &Shape<'_>,
    ) -> Step {
        self.end_cue();
        self.state = State::Idle;
        let Some(playing) = &mut self.playing else { return Step::Leave };
        self.transaction.clear();
        let (recording, tx) = (playback.recording, &mut self.transaction);
        let Some(cue) = recording.next(playing.session, &mut playing.place, Some(tx)) else {
            self.playing = None;
            return Step::Leave;
        };
        playing.cue = Some(cue);
        (self.attempt, self.stage, self.has_begun) = (0, 0, false);
        self.take_cue(now_ns, cue, playback, books, shape)
    }

    /// The statement under way, or waited for, has ended.
    pub(super) fn end_cue(&mut self) {
        if let Some(playing) = &mut self.playing {
            playing.cue = None;
        }
    }

    fn take_cue(
        &mut self,
        now_ns: u64,
        cue: Cue,
        playback: Playback<'_>,
        books: Books<'_>,
        shape: &Shape<'_>,
    ) -> Step {
        self.arrival = playback.arrival(cue);
        if self.is_over(shape) {
            self.state = State::Resting;
            return Step::Rest;
        }
        let recording = playback.recording;
        let name = &recording.databases()[cue.database as usize];
        let is_there = self.playing.as_ref().is_none_or(|p| p.database == Some(cue.database));
        if !is_there && let Some(words) = recording.switch(name) {
            self.state = State::Switching;
            (self.first_ns, self.attempt_ns) = (now_ns, now_ns);
            return Step::Say(words);
        }
        self.pace(now_ns, books, shape)
    }

    fn pace(&mut self, now_ns: u64, books: Books<'_>, shape: &Shape<'_>) -> Step {
        let due_ns = self.arrival.map_or(0, |arrival| arrival.due_ns);
        self.was_awaited = due_ns > now_ns;
        if self.was_awaited {
            self.state = State::Pacing;
            return self.wait(due_ns);
        }
        self.begin_attempt(now_ns, books, shape)
    }

    /// The server has changed the default database, or refused: then the statement, which would run
    /// in another one, is given up.
    pub(super) fn switched(
        &mut self,
        now_ns: u64,
        reply: Reply,
        playback: Playback<'_>,
        books: Books<'_>,
        shape: &Shape<'_>,
    ) -> Step {
        if let Some(error) = reply.error {
            let age_ns = now_ns.saturating_sub(self.op_ns);
            self.count_failure(now_ns, &error.code, &error.message, age_ns, books);
            self.give_up(now_ns, books, shape);
            if let Some(playing) = &mut self.playing {
                playing.database = None;
            }
            return self.next_cue(now_ns, playback, books, shape);
        }
        if let Some(playing) = &mut self.playing {
            playing.database = playing.cue.map(|cue| cue.database);
        }
        self.pace(now_ns, books, shape)
    }

    /// Whether what it holds falls due after the end, and so must not begin.
    pub(super) fn is_over(&self, shape: &Shape<'_>) -> bool {
        let end_ns = shape.playback.map_or(u64::MAX, |playback| playback.end_ns());
        self.arrival.is_some_and(|arrival| arrival.due_ns >= end_ns)
    }

    /// The server will not have this recorded session: it is left, and another one can be claimed.
    pub fn abandon(&mut self, now_ns: u64, cause: &str, books: Books<'_>, shape: &Shape<'_>) {
        self.count_failure(now_ns, CODE_LOST, cause, 0, books);
        books.recorder.give_up(0, None);
        self.leave_unplayed(shape);
    }

    /// The load has ended: what was not played counts as left.
    pub(super) fn leave_unplayed(&mut self, shape: &Shape<'_>) {
        let Some((playback, playing)) = shape.playback.zip(self.playing.take()) else { return };
        // Without an arrival it was given up.
        let under_way = playing.cue.filter(|_| self.arrival.take().is_some());
        playback.leave(playing.session, playing.place, under_way);
    }
}
