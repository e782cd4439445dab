//! The scripts of one load thread: a Lua state, and the slots of its sessions.

use crate::lua::interpreter::state::{Call, State, Stopped};
use crate::lua::primitives::database;
use crate::lua::primitives::reply::Reply;
use crate::lua::sessions::blocking_watch::Conduct;
use crate::lua::sessions::current::scope;
use crate::lua::sessions::debug_log::Trace;
use crate::lua::sessions::slot::{Pending, Slot};
use crate::lua::setup::Setup;
use crate::lua::source::Source;
use crate::lua::stack::push_text;
use crate::rand::Rand;
use crate::session::{Outcome, Program, Scripts, Session, Step};
use dyno_core::error::{Error, Result};
use mlua::ffi::{self, lua_State};
use std::ffi::{CStr, c_int};
use std::sync::Arc;

/// The program of a session, by its name in base.lua.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// A function of program.lua.
    pub what: &'static CStr,
    /// What it is told.
    pub name: String,
    /// Fields of a table that it is told beside; none: no table.
    pub argument: Vec<(&'static str, f64)>,
}

impl From<&Program> for Task {
    fn from(program: &Program) -> Self {
        match program {
            Program::Run => Self { what: c"run", name: String::new(), argument: Vec::new() },
            Program::Command(name) => {
                Self { what: c"command", name: name.clone(), argument: Vec::new() }
            }
        }
    }
}

/// The sessions of one state.
pub struct Worker {
    state: State,
    setup: Arc<Setup>,
    task: Task,
    is_main: bool,
    /// Slots by session number.
    slots: Vec<Option<Box<Slot>>>,
    /// The number of sessions.
    sessions: usize,
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
        Ok(Self { state, setup: Arc::clone(setup), task, is_main, slots: Vec::new(), sessions: 0 })
    }

    /// Sets the program of sessions that begin from now on.
    pub fn set_task(&mut self, task: Task) {
        self.task = task;
    }

    /// Replaces the data of the run that scripts receive.
    pub fn set_setup(&mut self, setup: &Arc<Setup>) {
        self.setup = Arc::clone(setup);
    }

    /// Returns base.lua's `ask` for the main session.
    ///
    /// # Errors
    /// The message of the error.
    pub fn ask(&mut self, question: &CStr, name: &str) -> std::result::Result<Vec<String>, String> {
        self.state.ask(0, question, name)
    }

    /// Takes a session's slot out of the table; creates it if missing.
    fn slot(&mut self, session: &mut Session<'_>) -> Box<Slot> {
        let number = session.number;
        let index = number as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index].take().unwrap_or_else(|| {
            self.sessions += 1;
            let uniques = || Arc::clone(&self.setup.uniques);
            let rand = session
                .rand
                .take()
                .map_or_else(|| Rand::new(self.setup.rand, number, uniques()), |rand| *rand);
            Box::new(Slot::new((!self.is_main).then_some(number), rand))
        })
    }

    /// Creates a session's coroutine; returns the number of values on its stack.
    fn begin(&mut self, session: &Session<'_>, slot: &mut Slot) -> Result<c_int> {
        let Task { what, name, argument } = &self.task;
        let call = Call { what, name, number: session.number };
        slot.thread = self.state.start(call)?;
        slot.pending = Pending::Nothing;
        if argument.is_empty() {
            return Ok(0);
        }
        // SAFETY: the coroutine was just made; the table is made in a protected call.
        unsafe { self.state.push(slot.thread, |lua| push_table(lua, argument)) };
        Ok(1)
    }

    /// Passes the result of the wait to the script, and runs it until its next wait.
    fn carry_on(&mut self, session: &mut Session<'_>, slot: &mut Slot, reply: &Reply) -> Step {
        // SAFETY: the slot's coroutine waits, or has not begun: so it has room for a few values.
        let values = unsafe {
            match reply {
                Reply::Failed(failure) => {
                    ffi::lua_pushnil(slot.thread);
                    self.state.push(slot.thread, |lua| failure.push(lua));
                    2
                }
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
        let before = match self.sessions {
            1 => {
                slot.conduct.forgive();
                None
            }
            _ => slot.conduct.before(),
        };
        let stopped = scope(session, slot, &self.setup, || {
            // SAFETY: as in `carry_on`.
            unsafe { state.resume(thread, values) }
        });
        if let Some(before) = before {
            slot.conduct.after(&before);
        }
        match stopped {
            Stopped::Yielded => match slot.pending.wait() {
                Some(wait) => Step::Wait(wait),
                None => self.fail(slot, "attempt to yield from outside a coroutine".into()),
            },
            Stopped::Ended => {
                slot.thread = std::ptr::null_mut();
                if slot.conduct == Conduct::Leaves { Step::Moves } else { Step::Ended }
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

/// Pushes a table of numbers.
///
/// # Safety
/// In a protected call, with room for three values.
unsafe fn push_table(lua: *mut lua_State, fields: &[(&str, f64)]) {
    // SAFETY: as promised by the caller.
    unsafe {
        ffi::lua_createtable(lua, 0, fields.len() as c_int);
        for (name, value) in fields {
            push_text(lua, name);
            ffi::lua_pushnumber(lua, *value);
            ffi::lua_rawset(lua, -3);
        }
    }
}

/// Returns the result of a wait.
fn come(session: &mut Session<'_>, slot: &mut Slot, setup: &Setup) -> Reply {
    let pending = std::mem::replace(&mut slot.pending, Pending::Nothing);
    let connected = match &pending {
        Pending::Connect(place) | Pending::Reconnect(place) | Pending::Recover(place, _) => {
            Trace::of(slot, setup, *place)
        }
        _ => None,
    };
    if let Some(trace) = connected {
        trace.word("connected");
    }
    match pending {
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

/// Returns the result of a wait whose connection is lost.
fn lost(session: &mut Session<'_>, slot: &mut Slot, setup: &Setup, error: &Error) -> Reply {
    match std::mem::replace(&mut slot.pending, Pending::Nothing) {
        Pending::Nothing | Pending::Plain(_) | Pending::Retry(..) => Reply::Nothing,
        Pending::Results(place) | Pending::Prepared(place) | Pending::Closed(place) => {
            database::loss(session, slot, setup, place, error)
        }
        Pending::Connect(place) => {
            slot.places[place].is_open = false;
            database::not_connected(session, slot, setup, place, error)
        }
        Pending::Reconnect(place) => database::not_connected(session, slot, setup, place, error),
        Pending::Recover(place, refused) => {
            database::retry(session, slot, setup, place, refused, error)
        }
    }
}

impl Scripts for Worker {
    fn resume(&mut self, session: &mut Session<'_>, outcome: Outcome) -> Step {
        let mut slot = self.slot(session);
        let step = match outcome {
            Outcome::Begin => match self.begin(session, &mut slot) {
                Ok(values) => self.run(session, &mut slot, values),
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
        if matches!(step, Step::Moves) {
            self.sessions -= 1;
            session.rand = Some(Box::new(slot.rand));
        } else {
            self.slots[session.number as usize] = Some(slot);
        }
        step
    }
}
