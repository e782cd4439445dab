//! Replay of a recorded session: the session sends its statements in order, each as soon as it is
//! due and the one before is answered, whatever the answer. It retries nothing: the recorded client
//! continued after a refusal, and so does the replay.

use super::failure::CODE_LOST;
use super::{GroupConfig, Session, Sinks, State, Step};
use crate::pacing::replay::Replay;
use dyno_core::driver::Reply;
use dyno_core::trace::Place;
use dyno_core::workload::recording::Cue;

/// The recorded session in replay, and the position in it.
#[derive(Debug)]
pub(super) struct ReplayPosition {
    session: u32,
    place: Place,
    /// First cue of the recorded session; new connections open at it.
    opens: Cue,
    /// The statement composed, until it has ended.
    cue: Option<Cue>,
    /// The connection's default database; `None` if unknown.
    database: Option<u32>,
}

impl Session {
    /// Claims the next recorded session, unless this session holds one. Returns false if none is left.
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

    /// Whether it holds a recorded session.
    pub fn holds_a_recording(&self) -> bool {
        self.replay_position.is_some()
    }

    /// Time from the load's begin to when the session must connect, in nanoseconds.
    pub fn connects_ns(&self, replay: Replay<'_>) -> u64 {
        self.replay_position
            .as_ref()
            .map_or(0, |replay_position| replay.connects_ns(replay_position.session))
    }

    /// Index of the session's server in its group: the session's number, or in a replay the database in
    /// which the recorded session begins.
    #[inline]
    pub fn server(&self) -> u32 {
        self.replay_position
            .as_ref()
            .map_or(self.number, |replay_position| replay_position.opens.database)
    }

    /// Resumes after the first connection or a reconnection: sends a statement that was not sent yet.
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

    /// Issues the next statement, now or when it is due, or ends the recorded session.
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

    /// Ends the statement in progress or waited for.
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

    /// Handles the answer to the change of the default database. After a refusal the session gives up the
    /// statement, which would run in another database.
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

    /// Whether the session's statement is due after the end, and so must not begin.
    pub(super) fn is_over(&self, config: &GroupConfig<'_>) -> bool {
        let end_ns = config.replay.map_or(u64::MAX, |replay| replay.end_ns());
        self.arrival.is_some_and(|arrival| arrival.due_ns >= end_ns)
    }

    /// Abandons the recorded session, which the server does not admit; the session can claim another one.
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

    /// Counts statements that were not sent by the end of the load as left.
    pub(super) fn leave_unplayed(&mut self, config: &GroupConfig<'_>) {
        let Some((replay, replay_position)) = config.replay.zip(self.replay_position.take()) else {
            return;
        };
        // A statement without an arrival was given up before.
        let under_way = replay_position.cue.filter(|_| self.arrival.take().is_some());
        replay.leave(replay_position.session, replay_position.place, under_way);
    }
}
