//! Replies about a cluster, which come before that of a request.

use super::super::cluster::Ranges;
use super::super::errors::Refusal;
use super::{Phase, RedisWire};
use dyno_core::driver::Progress;
use dyno_core::error::Result;
use dyno_protocol::resp::{self, Token};

/// A reply that is no operation's.
#[derive(Debug)]
pub(super) enum Aside {
    /// To `ASKING`.
    Asking,
    /// To `CLUSTER SLOTS`.
    Slots(Box<Ranges>),
}

impl RedisWire {
    pub(super) fn ask_slots(&mut self, out: &mut Vec<u8>) {
        resp::command(&[b"CLUSTER", b"SLOTS"], out);
        self.aside.push_back(Aside::Slots(Box::default()));
        self.keep_next();
    }

    /// Before a reply: whether its values are stored.
    pub(super) fn keep_next(&mut self) {
        if self.reader.is_between() {
            self.reader.keep = match (self.is_aside(), &self.phase) {
                (true, _) => matches!(self.aside[0], Aside::Slots(_)),
                (false, Phase::Operation(_)) => {
                    self.shared.commands[usize::from(self.request)].keeps
                }
                (false, phase) => matches!(phase, Phase::Query | Phase::Walk { .. }),
            };
        }
    }

    /// Whether the next reply, or the one that is being read, is no operation's. Those to the
    /// commands of a login come first.
    #[inline]
    pub(super) fn is_aside(&self) -> bool {
        !self.aside.is_empty() && !matches!(self.phase, Phase::Login(1..))
    }

    /// Handles one value of such a reply.
    pub(super) fn aside_token(&mut self, token: &Token<'_>, top: bool) -> Result<()> {
        if let (Token::Error(line), true) = (token, top) {
            let refusal = Refusal::parse(line);
            if matches!(self.phase, Phase::Login(_)) {
                return Err(self.shared.login.refused(&refusal));
            }
            // What is known of the cluster stays, and the next operation shows what is wrong.
            self.aside[0] = Aside::Asking;
            return Ok(());
        }
        match &mut self.aside[0] {
            Aside::Asking => Ok(()),
            Aside::Slots(ranges) => ranges.token(token),
        }
    }

    /// Such a reply is complete.
    pub(super) fn aside_over(&mut self) -> Option<Progress> {
        if let (Some(Aside::Slots(ranges)), Some(map)) = (self.aside.pop_front(), &self.shared.map)
        {
            map.update(&ranges);
        }
        self.keep_next();
        if matches!(self.phase, Phase::Login(0)) && self.aside.is_empty() {
            self.phase = Phase::Idle;
            return Some(Progress::Ready);
        }
        None
    }
}
