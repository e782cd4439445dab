//! What a session does next that plays a recorded one: its statements in their order, each as soon
//! as it is due and the one before it is answered, whatever the answer was. Nothing is tried again:
//! a client that was refused went on as recorded, and so does this.

use super::failure::CODE_LOST;
use super::{GroupConfig, Session, Sinks, State, Step};
use crate::pacing::replay::Replay;
use dyno_core::driver::Reply;
use dyno_core::recording::Cue;
use dyno_core::trace::Place;

/// Which recorded session is played, and how far.
#[derive(Debug)]
pub(super) struct ReplayPosition {
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
    pub fn claim(&mut self, replay: Replay<'_>) -> bool {
        if self.replay_position.is_none() {
            self.replay_position = replay.claim().map(|session| ReplayPosition {
                session,
                place: replay.recording.begin(session),
                opens: replay.recording.opens(session),
                cue: None,
                database: None,
            });
        }
        self.replay_position.is_some()
    }

    /// Whether it has one to play.
    pub fn holds_a_recording(&self) -> bool {
        self.replay_position.is_some()
    }

    /// How much later than the load's begin it is to connect.
    pub fn connects_ns(&self, replay: Replay<'_>) -> u64 {
        self.replay_position
            .as_ref()
            .map_or(0, |replay_position| replay.connects_ns(replay_position.session))
    }

    /// Which of its group's servers is its: by its number, or by the database that the recorded
    /// session begins in.
    #[inline]
    pub fn server(&self) -> u32 {
        self.replay_position
            .as_ref()
            .map_or(self.number, |replay_position| replay_position.opens.database)
    }

    /// Connected, for the first time or again. A statement that had not been sent is sent now.
    pub(super) fn go_on(
        &mut self,
        now_ns: u64,
        replay: Replay<'_>,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        let has_begun = self.has_begun;
        let Some(replay_position) = &mut self.replay_position else {
            self.state = State::Resting;
            return Step::Rest;
        };
        replay_position.database = Some(replay_position.opens.database);
        match replay_position.cue {
            Some(cue) if !has_begun => self.take_cue(now_ns, cue, replay, sinks, config),
            _ => self.next_cue(now_ns, replay, sinks, config),
        }
    }

    /// The next statement, now or when it is due; or the end.
    pub(super) fn next_cue(
        &mut self,
        now_ns: u64,
        replay: Replay<'_>,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        self.end_cue();
        self.state = State::Idle;
        let Some(replay_position) = &mut self.replay_position else { return Step::Leave };
        self.transaction.clear();
        let (recording, tx) = (replay.recording, &mut self.transaction);
        let Some(cue) =
            recording.next(replay_position.session, &mut replay_position.place, Some(tx))
        else {
            self.replay_position = None;
            return Step::Leave;
        };
        replay_position.cue = Some(cue);
        (self.attempt, self.stage, self.has_begun) = (0, 0, false);
        self.take_cue(now_ns, cue, replay, sinks, config)
    }

    /// The statement under way, or waited for, has ended.
    pub(super) fn end_cue(&mut self) {
        if let Some(replay_position) = &mut self.replay_position {
            replay_position.cue = None;
        }
    }

    fn take_cue(
        &mut self,
        now_ns: u64,
        cue: Cue,
        replay: Replay<'_>,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        self.arrival = replay.arrival(cue);
        if self.is_over(config) {
            self.state = State::Resting;
            return Step::Rest;
        }
        let recording = replay.recording;
        let name = &recording.databases()[cue.database as usize];
        let is_there =
            self.replay_position.as_ref().is_none_or(|p| p.database == Some(cue.database));
        if !is_there && let Some(words) = recording.switch(name) {
            self.state = State::Switching;
            (self.first_ns, self.attempt_ns) = (now_ns, now_ns);
            return Step::SendText(words);
        }
        self.pace(now_ns, sinks, config)
    }

    fn pace(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) -> Step {
        let due_ns = self.arrival.map_or(0, |arrival| arrival.due_ns);
        self.was_awaited = due_ns > now_ns;
        if self.was_awaited {
            self.state = State::Pacing;
            return self.wait(due_ns);
        }
        self.begin_attempt(now_ns, sinks, config)
    }

    /// The server has changed the default database, or refused: then the statement, which would run
    /// in another one, is given up.
    pub(super) fn switched(
        &mut self,
        now_ns: u64,
        reply: Reply,
        replay: Replay<'_>,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        if let Some(error) = reply.error {
            let age_ns = now_ns.saturating_sub(self.op_ns);
            self.count_failure(now_ns, &error.code, &error.message, age_ns, sinks);
            self.give_up(now_ns, sinks, config);
            if let Some(replay_position) = &mut self.replay_position {
                replay_position.database = None;
            }
            return self.next_cue(now_ns, replay, sinks, config);
        }
        if let Some(replay_position) = &mut self.replay_position {
            replay_position.database = replay_position.cue.map(|cue| cue.database);
        }
        self.pace(now_ns, sinks, config)
    }

    /// Whether what it holds falls due after the end, and so must not begin.
    pub(super) fn is_over(&self, config: &GroupConfig<'_>) -> bool {
        let end_ns = config.replay.map_or(u64::MAX, |replay| replay.end_ns());
        self.arrival.is_some_and(|arrival| arrival.due_ns >= end_ns)
    }

    /// The server will not have this recorded session: it is left, and another one can be claimed.
    pub fn abandon(
        &mut self,
        now_ns: u64,
        cause: &str,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) {
        self.count_failure(now_ns, CODE_LOST, cause, 0, sinks);
        sinks.metrics.give_up(0, None);
        self.leave_unplayed(config);
    }

    /// The load has ended: what was not played counts as left.
    pub(super) fn leave_unplayed(&mut self, config: &GroupConfig<'_>) {
        let Some((replay, replay_position)) = config.replay.zip(self.replay_position.take()) else {
            return;
        };
        // Without an arrival it was given up.
        let under_way = replay_position.cue.filter(|_| self.arrival.take().is_some());
        replay.leave(replay_position.session, replay_position.place, under_way);
    }
}
