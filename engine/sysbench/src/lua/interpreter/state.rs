//! One LuaJIT state: the code loaded into it once, and the coroutines of its sessions.

use crate::lua::interpreter::memory::Memory;
use crate::lua::interpreter::prelude::PRELUDE;
use crate::lua::primitives;
use crate::lua::primitives::events;
use crate::lua::setup::Setup;
use crate::lua::source::Source;
use crate::lua::stack::{push_text, push_texts, read_texts, set_text};
use dyno_core::error::{Error, Kind, Result};
use mlua::ffi::{self, lua_State};
use std::ffi::{CStr, c_int};

const BASE: &str = include_str!("base.lua");
const PROGRAM: &str = include_str!("program.lua");

/// A LuaJIT state. It belongs to the thread that created it.
pub struct State {
    lua: *mut lua_State,
    memory: Box<Memory>,
    /// In Lua's registry: functions of base.lua, and one of this file.
    references: References,
}

#[derive(Debug, Clone, Copy, Default)]
struct References {
    start: c_int,
    describe: c_int,
    ask: c_int,
    push_with: c_int,
}

/// The function that a coroutine runs, in program.lua, and its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// A field of program.lua's table.
    pub what: &'static CStr,
    /// Its argument `name`.
    pub name: &'a str,
    /// The session's number in the state.
    pub number: u32,
}

/// Why a coroutine stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It waits.
    Yielded,
    /// It has ended.
    Ended,
    /// It has failed; the error is on top of its stack.
    Failed,
}

struct Building<'a> {
    source: &'a Source,
    setup: &'a Setup,
    references: References,
}

impl State {
    /// Creates a state for sessions of this script, with at most `memory_max_bytes`.
    ///
    /// # Errors
    /// Out of memory, or an error while the prelude loads.
    pub fn new(source: &Source, setup: &Setup, memory_max_bytes: usize) -> Result<Self> {
        // SAFETY: makes a state; null if there is no memory.
        let lua = unsafe { ffi::luaL_newstate() };
        if lua.is_null() {
            return Err(Error::new(Kind::System, "no memory for a Lua state"));
        }
        // SAFETY: the state was just made, and is closed by `drop`, which lifts the bound first.
        let memory = unsafe { Memory::bound(lua, memory_max_bytes) };
        let mut state = Self { lua, memory, references: References::default() };
        let mut building = Building { source, setup, references: References::default() };
        // SAFETY: `build` gets what it expects, and it lives through the call.
        let status = unsafe { ffi::lua_cpcall(lua, build, (&raw mut building).cast()) };
        if status != ffi::LUA_OK {
            let message = state.take_message();
            return Err(Error::new(Kind::System, format!("the Lua state is broken: {message}")));
        }
        state.references = building.references;
        Ok(state)
    }

    /// Creates the coroutine of a call. It lives until the session's next call, or the state's end.
    ///
    /// # Errors
    /// Out of memory.
    pub fn start(&mut self, call: Call<'_>) -> Result<*mut lua_State> {
        // SAFETY: the state is valid, the stack of a fresh state or of one between calls has room
        // for these (20 slots); numbers and references allocate nothing, and strings are pushed
        // within the protected call `begin`.
        unsafe {
            let mut starting =
                Starting { call, start: self.references.start, thread: std::ptr::null_mut() };
            let status = ffi::lua_cpcall(self.lua, begin, (&raw mut starting).cast());
            if status != ffi::LUA_OK {
                return Err(Error::new(Kind::System, self.take_message()));
            }
            Ok(starting.thread)
        }
    }

    /// Resumes a coroutine of this state; the top `values` values of its stack are the arguments.
    ///
    /// # Safety
    /// `thread` is a coroutine of this state that waits, or has not begun.
    #[inline]
    pub unsafe fn resume(&self, thread: *mut lua_State, values: c_int) -> Stopped {
        // SAFETY: as promised by the caller.
        match unsafe { ffi::lua_resume_(thread, values) } {
            ffi::LUA_YIELD => Stopped::Yielded,
            ffi::LUA_OK => Stopped::Ended,
            _ => Stopped::Failed,
        }
    }

    /// Calls `make` in a protected call, and pushes the value that it leaves on top of its stack to a
    /// coroutine; without memory for it, pushes the error message instead.
    ///
    /// # Safety
    /// As for [`resume`](Self::resume).
    pub unsafe fn push(&mut self, thread: *mut lua_State, mut make: impl FnMut(*mut lua_State)) {
        let mut make: &mut dyn FnMut(*mut lua_State) = &mut make;
        // SAFETY: the function and its argument allocate nothing before the protected call; its
        // result moves to a stack that always has room for a few values.
        unsafe {
            let lua = self.lua;
            ffi::lua_rawgeti_(lua, ffi::LUA_REGISTRYINDEX, self.references.push_with);
            ffi::lua_pushlightuserdata(lua, (&raw mut make).cast());
            ffi::lua_pcall(lua, 1, 1, 0);
            ffi::lua_xmove(lua, thread, 1);
        }
    }

    /// Calls base.lua's `ask` for a session, and returns the list of its answers.
    ///
    /// # Errors
    /// The message of a Lua error.
    pub fn ask(
        &mut self,
        number: u32,
        question: &CStr,
        name: &str,
    ) -> std::result::Result<Vec<String>, String> {
        let mut asking =
            Asking { number, question, name, ask: self.references.ask, answers: Vec::new() };
        // SAFETY: `answer` gets what it expects, and it lives through the call.
        let status = unsafe { ffi::lua_cpcall(self.lua, answer, (&raw mut asking).cast()) };
        if status == ffi::LUA_OK { Ok(asking.answers) } else { Err(self.take_message()) }
    }

    /// The message of a failed coroutine's error.
    ///
    /// # Safety
    /// `thread` is a coroutine of this state that has failed.
    pub unsafe fn describe(&mut self, number: u32, thread: *mut lua_State) -> String {
        // SAFETY: a failed coroutine's error is on top; moving it and numbers allocate nothing.
        unsafe {
            let lua = self.lua;
            ffi::lua_rawgeti_(lua, ffi::LUA_REGISTRYINDEX, self.references.describe);
            ffi::lua_pushnumber(lua, f64::from(number));
            ffi::lua_xmove(thread, lua, 1);
            ffi::lua_pcall(lua, 2, 1, 0);
        }
        self.take_message()
    }

    /// Pops a string from the main stack.
    fn take_message(&mut self) -> String {
        let mut length = 0;
        // SAFETY: something is on top of the stack; its bytes are copied before it is popped.
        unsafe {
            let text = ffi::lua_tolstring(self.lua, -1, &raw mut length);
            let message = if text.is_null() {
                "an error that is no text".to_owned()
            } else {
                let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length);
                String::from_utf8_lossy(bytes).into_owned()
            };
            ffi::lua_settop(self.lua, -2);
            message
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: this value owns the state, and nothing refers to it any more. Finalizers of scripts
        // run without a session.
        unsafe {
            self.memory.lift(self.lua);
            ffi::lua_close(self.lua);
        }
    }
}

/// Loads everything that sessions share. Called protected, with a [`Building`].
unsafe extern "C-unwind" fn build(lua: *mut lua_State) -> c_int {
    // SAFETY: the argument is the one that `State::new` passed; errors unwind through frames that
    // have nothing to drop.
    unsafe {
        let building = &mut *ffi::lua_touserdata(lua, 1).cast::<Building<'_>>();
        let Building { source, setup, references } = building;
        ffi::luaL_openlibs(lua);
        load(lua, BASE, c"@base.lua");
        push_host(lua, source);
        primitives::push(lua, setup);
        ffi::lua_call(lua, 2, 3);
        references.ask = ffi::luaL_ref(lua, ffi::LUA_REGISTRYINDEX);
        references.describe = ffi::luaL_ref(lua, ffi::LUA_REGISTRYINDEX);
        references.start = ffi::luaL_ref(lua, ffi::LUA_REGISTRYINDEX);
        ffi::lua_pushcclosure(lua, push_with, 0);
        references.push_with = ffi::luaL_ref(lua, ffi::LUA_REGISTRYINDEX);
    }
    0
}

/// Pushes the table `host` of base.lua.
unsafe fn push_host(lua: *mut lua_State, source: &Source) {
    // SAFETY: called by `build` alone.
    unsafe {
        ffi::lua_createtable(lua, 0, 32);
        set_text(lua, "chunk", &source.chunk);
        set_text(lua, "text", &source.text);
        set_text(lua, "path", &source.path);
        set_text(lua, "program", PROGRAM);
        ffi::lua_pushboolean(lua, c_int::from(source.is_builtin));
        ffi::lua_setfield(lua, -2, c"is_builtin".as_ptr());
        push_texts(lua, source.builtins);
        ffi::lua_setfield(lua, -2, c"builtins".as_ptr());
        push_texts(lua, PRELUDE);
        ffi::lua_setfield(lua, -2, c"prelude".as_ptr());
        for (name, address) in events::EXPORTED {
            push_text(lua, name);
            ffi::lua_pushlightuserdata(lua, address.0.cast_mut());
            ffi::lua_rawset(lua, -3);
        }
    }
}

/// Pushes one of our own chunks as a function.
unsafe fn load(lua: *mut lua_State, text: &str, name: &CStr) {
    // SAFETY: called by `build` alone.
    unsafe {
        let status = ffi::luaL_loadbuffer(lua, text.as_ptr().cast(), text.len(), name.as_ptr());
        if status != ffi::LUA_OK {
            ffi::lua_error(lua);
        }
    }
}

struct Starting<'a> {
    call: Call<'a>,
    start: c_int,
    thread: *mut lua_State,
}

/// Calls base.lua's `start`. Called protected, with a [`Starting`].
unsafe extern "C-unwind" fn begin(lua: *mut lua_State) -> c_int {
    // SAFETY: the argument is the one that `State::start` passed. The coroutine stays reachable
    // through the session's table in base.lua.
    unsafe {
        let starting = &mut *ffi::lua_touserdata(lua, 1).cast::<Starting<'_>>();
        ffi::lua_rawgeti_(lua, ffi::LUA_REGISTRYINDEX, starting.start);
        ffi::lua_pushnumber(lua, f64::from(starting.call.number));
        push_text(lua, starting.call.what.to_bytes());
        push_text(lua, starting.call.name);
        ffi::lua_call(lua, 3, 1);
        starting.thread = ffi::lua_tothread(lua, -1);
    }
    0
}

/// Makes a value. Called protected, with a pointer to the closure that makes it.
unsafe extern "C-unwind" fn push_with(lua: *mut lua_State) -> c_int {
    // SAFETY: the argument is the one that `State::push` passed.
    unsafe {
        let make = ffi::lua_touserdata(lua, 1).cast::<&mut dyn FnMut(*mut lua_State)>();
        (*make)(lua);
    }
    1
}

struct Asking<'a> {
    number: u32,
    question: &'a CStr,
    name: &'a str,
    ask: c_int,
    answers: Vec<String>,
}

/// Calls base.lua's `ask`. Called protected, with an [`Asking`].
unsafe extern "C-unwind" fn answer(lua: *mut lua_State) -> c_int {
    // SAFETY: the argument is the one that `State::ask` passed; the answer is a list of strings.
    unsafe {
        let asking = &mut *ffi::lua_touserdata(lua, 1).cast::<Asking<'_>>();
        ffi::lua_rawgeti_(lua, ffi::LUA_REGISTRYINDEX, asking.ask);
        ffi::lua_pushnumber(lua, f64::from(asking.number));
        push_text(lua, asking.question.to_bytes());
        push_text(lua, asking.name);
        ffi::lua_call(lua, 3, 1);
        read_texts(lua, -1, &mut asking.answers);
    }
    0
}
