//! The scripts of one load thread: a state, and where each of its sessions stands.

use super::current::scope;
use super::database;
use super::reply::Reply;
use super::setup::{During, Setup};
use super::slot::{Pending, Slot};
use super::source::Source;
use super::state::{Call, State, Stopped};
use crate::rand::Rand;
use crate::session::{Outcome, Program, Scripts, Session, Step};
use dyno_core::error::{Error, Result};
use std::ffi::{CStr, c_int};
use std::sync::Arc;

/// What a session runs, as base.lua names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// A function of program.lua.
    pub what: &'static CStr,
    /// What it is told.
    pub name: String,
}

impl From<&Program> for Task {
    fn from(program: &Program) -> Self {
        match program {
            Program::Run => Self { what: c"run", name: String::new() },
            Program::Command(name) => Self { what: c"command", name: name.clone() },
        }
    }
}

/// The sessions of one state.
pub struct Worker {
    state: State,
    setup: Arc<Setup>,
    task: Task,
    is_main: bool,
    /// By number.
    slots: Vec<Option<Box<Slot>>>,
}

impl Worker {
    /// For sessions that run `task`; `is_main`: of the one session that has no number in Lua.
    ///
    /// # Errors
    /// No memory.
    pub fn new(
        source: &Source,
        setup: &Arc<Setup>,
        task: Task,
        is_main: bool,
        memory_max_bytes: usize,
    ) -> Result<Self> {
        let state = State::new(source, setup, memory_max_bytes)?;
        Ok(Self { state, setup: Arc::clone(setup), task, is_main, slots: Vec::new() })
    }

    /// What sessions that begin run from now on.
    pub fn set_task(&mut self, task: Task) {
        self.task = task;
    }

    /// The place of a session's slot; made if it is not there.
    fn slot(&mut self, number: u32) -> Box<Slot> {
        let index = number as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index].take().unwrap_or_else(|| {
            let uniques = Arc::clone(&self.setup.uniques);
            let rand = Rand::new(self.setup.rand, number, uniques);
            Box::new(Slot::new((!self.is_main).then_some(number), rand))
        })
    }

    fn begin(&mut self, session: &Session<'_>, slot: &mut Slot) -> Result<()> {
        let Task { what, name } = &self.task;
        let call = Call { what, name, number: session.number };
        slot.thread = self.state.start(call)?;
        slot.pending = Pending::Nothing;
        Ok(())
    }

    /// Gives the script what it waits for, and runs it until it waits again.
    fn carry_on(&mut self, session: &mut Session<'_>, slot: &mut Slot, reply: &Reply) -> Step {
        // SAFETY: the slot's coroutine waits, or has not begun: so it has room for a few values.
        let values = unsafe {
            match reply {
                Reply::Failed(failure) => self.state.push_failure(slot.thread, failure),
                _ => reply.push(slot.thread),
            }
        };
        self.run(session, slot, values)
    }

    #[inline]
    fn run(&mut self, session: &mut Session<'_>, slot: &mut Slot, values: c_int) -> Step {
        slot.slice_ns = 0;
        let thread = slot.thread;
        let state = &self.state;
        let stopped = scope(session, slot, &self.setup, || {
            // SAFETY: as in `carry_on`.
            unsafe { state.resume(thread, values) }
        });
        match stopped {
            Stopped::Yielded => match slot.pending.wait() {
                Some(wait) => Step::Wait(wait),
                None => self.fail(slot, "attempt to yield from outside a coroutine".into()),
            },
            Stopped::Ended => {
                slot.thread = std::ptr::null_mut();
                Step::Ended
            }
            Stopped::Failed => {
                // SAFETY: the coroutine has failed.
                let message = unsafe { self.state.describe(session.number, thread) };
                self.fail(slot, message)
            }
        }
    }

    fn fail(&mut self, slot: &mut Slot, message: String) -> Step {
        slot.thread = std::ptr::null_mut();
        Step::Failed(message)
    }
}

/// What a wait has come to.
fn come(session: &mut Session<'_>, slot: &mut Slot, setup: &Setup) -> Reply {
    match std::mem::replace(&mut slot.pending, Pending::Nothing) {
        Pending::Nothing | Pending::Plain(_) | Pending::Closed(_) => Reply::Nothing,
        Pending::Results(place) => database::results(session, slot, setup, place),
        Pending::Prepared(place) => database::prepared(session, slot, setup, place),
        Pending::Connect(place) => Reply::Number(slot.handle(place)),
        Pending::Reconnect(_) => {
            session.tally.reconnects.add(1);
            Reply::True
        }
        Pending::Recover(_, refused) => database::recovered(session, *refused),
        Pending::Retry(place, refused) => {
            slot.pending = Pending::Recover(place, refused);
            Reply::Yield
        }
    }
}

/// What a wait has come to whose connection is lost.
fn lost(session: &mut Session<'_>, slot: &mut Slot, setup: &Setup, error: &Error) -> Reply {
    match std::mem::replace(&mut slot.pending, Pending::Nothing) {
        Pending::Nothing | Pending::Plain(_) | Pending::Retry(..) => Reply::Nothing,
        Pending::Results(place) | Pending::Prepared(place) | Pending::Closed(place) => {
            database::loss(session, slot, setup, place, error)
        }
        Pending::Connect(place) => {
            slot.places[place].is_open = false;
            session.connections[place] = None;
            database::failed(slot.lost(place, During::Connect, error, setup))
        }
        Pending::Reconnect(place) => {
            session.connections[place] = None;
            database::failed(slot.lost(place, During::Connect, error, setup))
        }
        Pending::Recover(place, refused) => {
            database::retry(session, slot, setup, place, refused, error)
        }
    }
}

impl Scripts for Worker {
    fn resume(&mut self, session: &mut Session<'_>, outcome: Outcome) -> Step {
        let mut slot = self.slot(session.number);
        let step = match outcome {
            Outcome::Begin => match self.begin(session, &mut slot) {
                Ok(()) => self.run(session, &mut slot, 0),
                Err(error) => Step::Failed(error.to_string()),
            },
            Outcome::Come | Outcome::Lost(_) => {
                let reply = match outcome {
                    Outcome::Lost(error) => lost(session, &mut slot, &self.setup, &error),
                    _ => come(session, &mut slot, &self.setup),
                };
                match (&reply, slot.pending.wait()) {
                    (Reply::Yield, Some(wait)) => Step::Wait(wait),
                    _ => self.carry_on(session, &mut slot, &reply),
                }
            }
        };
        self.slots[session.number as usize] = Some(slot);
        step
    }
}
