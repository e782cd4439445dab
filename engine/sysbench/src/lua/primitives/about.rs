//! About the run: its options, command line and output.

use crate::console::{self, Level};
use crate::lua::declared;
use crate::lua::sessions::current::Running;
use crate::lua::stack::{push_text, read_texts, text};
use crate::options::Value;
use mlua::ffi::{self, lua_State};
use std::ffi::c_int;

// Lua calls these functions with arguments on `lua`'s stack: hence their blocks are sound as long as they
// read arguments and push at most 20 values.

pub(super) unsafe extern "C-unwind" fn env(lua: *mut lua_State) -> c_int {
    // SAFETY: see above. A coroutine's globals are its session's (base.lua).
    unsafe {
        ffi::lua_pushthread(lua);
        ffi::lua_getfenv(lua, -1);
    }
    1
}

pub(super) unsafe extern "C-unwind" fn tid(lua: *mut lua_State) -> c_int {
    let tid = Running::take().and_then(|mut running| running.slot().tid);
    // SAFETY: see above.
    unsafe {
        match tid {
            Some(tid) => ffi::lua_pushnumber(lua, f64::from(tid)),
            None => ffi::lua_pushnil(lua),
        }
    }
    1
}

pub(super) unsafe extern "C-unwind" fn options(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    // SAFETY: see above.
    unsafe {
        ffi::lua_createtable(lua, 0, 64);
        for (name, value) in running.iter_mut().flat_map(|running| running.setup().options.iter()) {
            push_text(lua, name.replace('-', "_"));
            push_value(lua, value);
            ffi::lua_rawset(lua, -3);
        }
    }
    1
}

unsafe fn push_value(lua: *mut lua_State, value: &Value) {
    // SAFETY: called by `options`.
    unsafe {
        match value {
            Value::Bool(value) => ffi::lua_pushboolean(lua, c_int::from(*value)),
            Value::Int(value) => ffi::lua_pushnumber(lua, *value as f64),
            Value::Double(value) => ffi::lua_pushnumber(lua, *value),
            Value::Text(value) => push_text(lua, value),
            Value::List(values) => push_list(lua, values.iter().map(String::as_str), 1),
        }
    }
}

/// Pushes a list; the index of its first item is `first`.
pub(super) unsafe fn push_list<'a>(
    lua: *mut lua_State,
    texts: impl Iterator<Item = &'a str>,
    first: c_int,
) {
    // SAFETY: called by primitives, with room for two values.
    unsafe {
        ffi::lua_createtable(lua, 4, 0);
        for (place, text) in (first..).zip(texts) {
            push_text(lua, text);
            ffi::lua_rawseti_(lua, -2, place);
        }
    }
}

/// Pushes a string or nil, and returns 1, the number of values.
unsafe fn push_maybe(lua: *mut lua_State, text: Option<&str>) -> c_int {
    // SAFETY: called by primitives.
    unsafe {
        match text {
            Some(text) => push_text(lua, text),
            None => ffi::lua_pushnil(lua),
        }
    }
    1
}

pub(super) unsafe extern "C-unwind" fn script_path(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    let path = running.as_mut().and_then(|running| running.setup().script_path.as_deref());
    // SAFETY: see above.
    unsafe { push_maybe(lua, path) }
}

pub(super) unsafe extern "C-unwind" fn command(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    let command = running.as_mut().and_then(|running| running.setup().command.as_deref());
    // SAFETY: see above.
    unsafe { push_maybe(lua, command) }
}

pub(super) unsafe extern "C-unwind" fn argv(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    let arguments = running.iter_mut().flat_map(|running| running.setup().arguments.iter());
    // SAFETY: see above.
    unsafe { push_list(lua, arguments.map(String::as_str), 0) };
    1
}

pub(super) unsafe extern "C-unwind" fn log(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    let (level, text) = unsafe { (text(lua, 1), text(lua, 2)) };
    let level = match level {
        b"fatal" => Level::Fatal,
        b"alert" | b"critical" => Level::Alert,
        b"warning" => Level::Warning,
        b"info" => Level::Info,
        b"debug" => Level::Debug,
        _ => Level::Notice,
    };
    console::say(level, &String::from_utf8_lossy(text));
    0
}

pub(super) unsafe extern "C-unwind" fn print(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    let text = unsafe { text(lua, 1) };
    console::print(&String::from_utf8_lossy(text));
    0
}

/// Returns the help of the options in base.lua's list `declared`.
pub(super) unsafe extern "C-unwind" fn help_lines(lua: *mut lua_State) -> c_int {
    // SAFETY: see above; base.lua passes a list of strings.
    unsafe {
        let mut words = Vec::new();
        read_texts(lua, 1, &mut words);
        let help = match declared::options(&words) {
            Ok(options) => crate::command::help::lines(&options),
            Err(message) => message,
        };
        push_text(lua, help);
    }
    1
}
