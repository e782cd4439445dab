//! Contract of the primitives: the table `dyno`, on which the prelude (`prelude/*.lua`) is built.
//! Scripts cannot access it.
//!
//! # How the prelude is loaded
//! Each file is compiled once per state. `prelude/init.lua` runs once per state, as a chunk with the
//! argument `dyno` (`local dyno = ...`); `dyno.prelude("sql")` runs `prelude/sql.lua` in the same
//! way on its first call, and returns the result of that run on every call. All sessions of the state
//! share the metatables and functions created there; globals there are Lua's own, without `sysbench`.
//! `init.lua` returns a function `open(env)`. It is called once per session, in the session's
//! coroutine, before the script's chunk. `env` is the session's table of globals, which already has
//! Lua's own (`_G`, `require`, `package`, `print`, ...); `open` adds `sysbench` and the legacy
//! functions. Functions that scripts see do not get the session as an argument: each primitive works
//! on the running session. Objects of one session (hooks, `opt`, objects) must be created in `open` or
//! reached through `env`; `dyno.env()` returns the running session's `env`.
//!
//! This module reads `env.sysbench.cmdline.options`, `.commands` and `.PARALLEL_COMMAND` after the
//! chunk, and `env.sysbench.error.RESTART_EVENT` and `env.sysbench.hooks` when an event fails
//! (`lua/interpreter/program.lua`).
//!
//! # About the run
//! | primitive | returns or does |
//! |---|---|
//! | `dyno.env()` | the running session's globals |
//! | `dyno.tid()` | its number from 0; nil in the main session (options, `init`, `done`, `prepare`, report hooks) |
//! | `dyno.options()` | a fresh table: name with `_` -> boolean, number, string, or list; an option without a value is absent |
//! | `dyno.script_path()`, `dyno.command()` | of the command line; nil if absent |
//! | `dyno.version`, `dyno.version_string` | strings |
//! | `dyno.log(level, text)` | prints as sysbench does if the verbosity admits it; level: `"fatal"`, `"alert"`, `"critical"`, `"warning"`, `"notice"`, `"info"`, `"debug"`, `"text"` |
//!
//! # Databases
//! Connections and statements are represented by numbers. While a primitive waits, other sessions
//! run. Such a primitive may be called wherever Lua may yield, which is everywhere except in callbacks
//! of C functions (`table.sort`, `string.gsub`). No primitive raises an error for a failure of the
//! server or an incorrect use by the user.
//!
//! | primitive | returns |
//! |---|---|
//! | `dyno.driver(name or nil)` | the driver's name (nil: the option `db-driver`'s); or nil, message |
//! | `dyno.drivers()` | a list of names |
//! | `dyno.connect(driver)` | con; or nil, err |
//! | `dyno.disconnect(con)` | nothing; no error if the connection is closed already |
//! | `dyno.reconnect(con)` | true; or nil, err. Counted as a reconnect. Prepared statements are lost |
//! | `dyno.query(con, sql)` | nfields, nrows, affected of the first result (nfields 0: no result set); or nil, err |
//! | `dyno.rollback(con)` | nothing of use: ends a transaction after a server's error; not counted |
//! | `dyno.prepare(con, sql)` | stmt, number of parameters; or nil, err |
//! | `dyno.execute(con, stmt, n, v1, ... vn)` | as `query`. Values: nil, number, boolean, string, `int64_t`, `uint64_t`; a whole number is bound as an integer |
//! | `dyno.close(con, stmt)` | nothing; no error if the statement is closed already |
//! | `dyno.more_results(con)` | whether the last request has further results |
//! | `dyno.next_result(con)` | as `query`, for the next result; nothing if there is none |
//! | `dyno.fetch(con, row)` | the fields of row `row` (from 0) of the current result as strings, nil for NULL; nothing if there is no such row |
//!
//! The results of a connection are valid until its next request. Statements are counted when they
//! are answered: read (nfields > 0), write (affected > 0), else other.
//!
//! `err` is a table. `number`: the system's own code, 0 if none. `state`: SQLSTATE, "" if none.
//! `message`. `kind`: `"ignorable"` according to the driver's ignore option; such an error must be
//! reported to the hook `sql_error_ignorable`, if any, and then raised as `{errcode = RESTART_EVENT}`;
//! `"fatal"`: all others. `lost`: true if the connection is lost. A lost connection whose error is
//! ignorable has been reopened when `err` arrives; if that failed, `kind` is `"fatal"` and `message`
//! that of the failed attempt.
//!
//! # Events and time
//! | primitive | returns or does |
//! |---|---|
//! | `dyno.more_events()` | waits until an event may begin, then true; false if there is none |
//! | `dyno.event_start()`, `dyno.event_stop()` | called around each event |
//! | `dyno.sleep(seconds)` | waits |
//! | `dyno.now()` | seconds since the run's clock began |
//!
//! # Random numbers
//! `dyno.rand.X(a, b)` with X of `uniform`, `gaussian`, `special`, `pareto`, `zipfian`, `default`
//! and `unique`: a whole number in [a, b] as a Lua number; `dyno.rand.uniform_uint64()`: `uint64_t`;
//! `dyno.rand.uniform_double()`: in [0, 1); `dyno.rand.string(format)`: `#` a digit, `@` a letter;
//! `dyno.rand.varstring(min, max)`. They compile into traces.
//!
//! # FFI
//! `dyno.ffi`: the table that scripts get from `require("ffi")`; `dyno.real_ffi`: LuaJIT's own.
//!
//! # Reports and histograms
//! | primitive | returns or does |
//! |---|---|
//! | `dyno.report(form, stat)` | the text that `sysbench.report_FORM(stat)` prints; form: `"default"`, `"csv"`, `"json"` |
//! | `dyno.print(text)` | prints at any verbosity |
//! | `dyno.histogram(size, min, max)` | an object with `update(self, value)`, `percentile(self, percent)`, `draw(self)` -> text; or nil, message |
//! | `dyno.count_error()` | counts an error that a script's hook ignores |
//! | `dyno.compat` | `"1.0"` or `"1.1"` |
//! | `dyno.argv()` | the command line as a list, `[0]` the program, for `sysbench.cmdline.argv` |
//!
//! # Of the command line
//! `dyno.options_help()`: the help lines of the options that the script declares, for
//! `sysbench.cmdline.print_test_options`. `open(env)` is called again after a script has declared
//! options, and in the main session when their values are known.

mod bind;
pub(crate) mod database;
pub(crate) mod events;
pub(crate) mod reply;
mod reporting;

use crate::console::{self, Level};
use crate::lua::declared;
use crate::lua::primitives::bind::bind;
use crate::lua::primitives::reply::Reply;
use crate::lua::sessions::current::Running;
use crate::lua::sessions::slot::Pending;
use crate::lua::setup::Setup;
use crate::lua::stack::{number, push_text, read_texts, set_text, text};
use crate::options::Value;
use crate::session::Wait;
use dyno_core::client::Bind;
use mlua::ffi::{self, lua_CFunction, lua_State};
use std::ffi::{CStr, c_int};

/// Maximum number of a statement's parameters without a heap allocation.
const VALUES_QUICK: usize = 32;

/// Primitives of the contract above, and those that only base.lua and program.lua use.
const PRIMITIVES: &[(&CStr, lua_CFunction)] = &[
    (c"env", env),
    (c"tid", tid),
    (c"options", options),
    (c"script_path", script_path),
    (c"command", command),
    (c"argv", argv),
    (c"help_lines", help_lines),
    (c"log", log),
    (c"print", print),
    (c"drivers", drivers),
    (c"driver", driver),
    (c"connect", connect),
    (c"disconnect", disconnect),
    (c"reconnect", reconnect),
    (c"query", query),
    (c"rollback", rollback),
    (c"prepare", prepare),
    (c"execute", execute),
    (c"close", close),
    (c"more_results", more_results),
    (c"next_result", next_result),
    (c"fetch", fetch),
    (c"sleep", sleep),
    (c"barrier", barrier),
    (c"wait", wait),
    (c"is_waiting", is_waiting),
    (c"count_error", reporting::count_error),
    (c"report", reporting::report),
    (c"histogram", reporting::histogram),
];

/// Pushes the table `dyno` with the primitives and values of this module.
///
/// # Safety
/// In a protected call, with room for five values.
pub(crate) unsafe fn push(lua: *mut lua_State, setup: &Setup) {
    // SAFETY: as promised by the caller.
    unsafe {
        ffi::lua_createtable(lua, 0, 48);
        for (name, function) in PRIMITIVES {
            ffi::lua_pushcclosure(lua, *function, 0);
            ffi::lua_setfield(lua, -2, name.as_ptr());
        }
        set_text(lua, "version", &setup.version[0]);
        set_text(lua, "version_string", &setup.version[1]);
        set_text(lua, "compat", setup.compat);
    }
}

unsafe extern "C-unwind" {
    /// Whether the running coroutine may yield; a function of Lua 5.2 that LuaJIT provides.
    fn lua_isyieldable(lua: *mut lua_State) -> c_int;
}

/// Returns a reply to Lua, or yields.
///
/// # Safety
/// `lua` runs a C function that returns what this returns.
#[inline]
unsafe fn give(lua: *mut lua_State, reply: &Reply) -> c_int {
    // SAFETY: `waiting` has checked that the coroutine may yield; C functions have room for 20 values.
    unsafe {
        match reply {
            Reply::Yield => ffi::lua_yield(lua, 0),
            _ => reply.push(lua),
        }
    }
}

/// Runs a primitive that may wait.
///
/// # Safety
/// As for [`give`].
#[inline]
unsafe fn waiting(lua: *mut lua_State, body: impl FnOnce(&mut Running) -> Reply) -> c_int {
    // SAFETY: as promised by the caller.
    unsafe {
        let reply = if lua_isyieldable(lua) == 0 {
            Reply::misuse("attempt to wait within a callback of a C function")
        } else {
            match Running::take() {
                Some(mut running) => body(&mut running),
                None => no_session(),
            }
        };
        let values = give(lua, &reply);
        drop(reply);
        values
    }
}

fn no_session() -> Reply {
    Reply::misuse("attempt to reach a database where no session runs")
}

// Lua calls the functions below with arguments on `lua`'s stack: hence their blocks are sound as
// long as they read arguments and push at most 20 values.

unsafe extern "C-unwind" fn env(lua: *mut lua_State) -> c_int {
    // SAFETY: see above. A coroutine's globals are its session's (base.lua).
    unsafe {
        ffi::lua_pushthread(lua);
        ffi::lua_getfenv(lua, -1);
    }
    1
}

unsafe extern "C-unwind" fn tid(lua: *mut lua_State) -> c_int {
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

unsafe extern "C-unwind" fn options(lua: *mut lua_State) -> c_int {
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
unsafe fn push_list<'a>(lua: *mut lua_State, texts: impl Iterator<Item = &'a str>, first: c_int) {
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

unsafe extern "C-unwind" fn script_path(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    let path = running.as_mut().and_then(|running| running.setup().script_path.as_deref());
    // SAFETY: see above.
    unsafe { push_maybe(lua, path) }
}

unsafe extern "C-unwind" fn command(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    let command = running.as_mut().and_then(|running| running.setup().command.as_deref());
    // SAFETY: see above.
    unsafe { push_maybe(lua, command) }
}

unsafe extern "C-unwind" fn argv(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    let arguments = running.iter_mut().flat_map(|running| running.setup().arguments.iter());
    // SAFETY: see above.
    unsafe { push_list(lua, arguments.map(String::as_str), 0) };
    1
}

unsafe extern "C-unwind" fn log(lua: *mut lua_State) -> c_int {
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

unsafe extern "C-unwind" fn print(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    let text = unsafe { text(lua, 1) };
    console::print(&String::from_utf8_lossy(text));
    0
}

/// Returns the help of the options in base.lua's list `declared`.
unsafe extern "C-unwind" fn help_lines(lua: *mut lua_State) -> c_int {
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

unsafe extern "C-unwind" fn drivers(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    let drivers = running.iter_mut().flat_map(|running| running.setup().drivers.iter());
    // SAFETY: see above.
    unsafe { push_list(lua, drivers.map(|driver| driver.name), 1) };
    1
}

unsafe extern "C-unwind" fn driver(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    // SAFETY: see above.
    unsafe {
        let name = text(lua, 1);
        let found = running.as_mut().and_then(|running| running.setup().driver(name));
        if let Some(name) = found.map(|driver| driver.name) {
            push_text(lua, name);
            if let Some(running) = &mut running {
                running.session().tally.uses_database();
            }
            return 1;
        }
        ffi::lua_pushnil(lua);
        push_text(
            lua,
            format!("invalid database driver name: '{}'", String::from_utf8_lossy(name)),
        );
        2
    }
}

unsafe extern "C-unwind" fn connect(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::connect(running, text(lua, 1))) }
}

unsafe extern "C-unwind" fn disconnect(lua: *mut lua_State) -> c_int {
    if let Some(mut running) = Running::take() {
        // SAFETY: see above.
        database::disconnect(&mut running, unsafe { number(lua, 1) });
    }
    0
}

unsafe extern "C-unwind" fn reconnect(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::reconnect(running, number(lua, 1))) }
}

unsafe extern "C-unwind" fn query(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::query(running, number(lua, 1), text(lua, 2))) }
}

unsafe extern "C-unwind" fn rollback(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::rollback(running, number(lua, 1))) }
}

unsafe extern "C-unwind" fn prepare(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::prepare(running, number(lua, 1), text(lua, 2))) }
}

unsafe extern "C-unwind" fn execute(lua: *mut lua_State) -> c_int {
    // SAFETY: see above; arguments beyond those given read as nil.
    unsafe {
        waiting(lua, |running| {
            let (con, statement) = (number(lua, 1), number(lua, 2));
            let count = number(lua, 3).clamp(0.0, f64::from(u16::MAX)) as usize;
            let mut quick = [Bind::Null; VALUES_QUICK];
            let mut many = Vec::new();
            let values = match quick.get_mut(..count) {
                Some(values) => values,
                None => {
                    many.resize(count, Bind::Null);
                    &mut many
                }
            };
            for (index, value) in values.iter_mut().enumerate() {
                match bind(lua, 4 + index as c_int) {
                    Some(bound) => *value = bound,
                    None => return Reply::misuse("a value that is neither number nor text"),
                }
            }
            database::execute(running, con, statement, values)
        })
    }
}

unsafe extern "C-unwind" fn close(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::close(running, number(lua, 1), number(lua, 2))) }
}

unsafe extern "C-unwind" fn more_results(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe {
        let con = number(lua, 1);
        let more = Running::take().is_some_and(|mut running| database::has_more(&mut running, con));
        ffi::lua_pushboolean(lua, c_int::from(more));
    }
    1
}

unsafe extern "C-unwind" fn next_result(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe {
        let con = number(lua, 1);
        let reply = Running::take()
            .map_or_else(no_session, |mut running| database::next_result(&mut running, con));
        give(lua, &reply)
    }
}

unsafe extern "C-unwind" fn fetch(lua: *mut lua_State) -> c_int {
    let Some(mut running) = Running::take() else { return 0 };
    // SAFETY: see above; `room` is called before anything is pushed.
    unsafe {
        let (con, row) = (number(lua, 1), number(lua, 2));
        let mut room = |fields: u32| ffi::lua_checkstack(lua, fields as c_int) != 0;
        let mut put = |field: Option<&[u8]>| match field {
            Some(bytes) => push_text(lua, bytes),
            None => ffi::lua_pushnil(lua),
        };
        database::fetch(&mut running, con, row, &mut room, &mut put) as c_int
    }
}

unsafe extern "C-unwind" fn sleep(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe {
        let wait_ns = (number(lua, 1) * 1e9).clamp(0.0, 1e18) as u64;
        waiting(lua, |running| {
            let until_ns = crate::lua::sessions::now_ns() + wait_ns;
            running.slot().pending = Pending::Plain(Wait::Until(until_ns));
            Reply::Yield
        })
    }
}

unsafe extern "C-unwind" fn barrier(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe {
        waiting(lua, |running| {
            running.slot().pending = Pending::Plain(Wait::Start);
            Reply::Yield
        })
    }
}

/// Yields for the wait that another primitive has set for the session.
unsafe extern "C-unwind" fn wait(lua: *mut lua_State) -> c_int {
    // SAFETY: see above; Lua raises an error if the coroutine may not yield.
    unsafe { ffi::lua_yield(lua, 0) }
}

/// Whether the session waits: then a coroutine of the script has yielded for the wait, not for the
/// script.
unsafe extern "C-unwind" fn is_waiting(lua: *mut lua_State) -> c_int {
    let waits = Running::take().is_some_and(|mut running| running.slot().pending.wait().is_some());
    // SAFETY: see above.
    unsafe { ffi::lua_pushboolean(lua, c_int::from(waits)) };
    1
}
