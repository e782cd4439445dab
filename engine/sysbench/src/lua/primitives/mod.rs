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

mod about;
mod bind;
pub(crate) mod database;
pub(crate) mod events;
pub(crate) mod reply;
mod reporting;
mod requests;
mod waits;

use crate::lua::primitives::reply::Reply;
use crate::lua::sessions::current::Running;
use crate::lua::setup::Setup;
use crate::lua::stack::set_text;
use mlua::ffi::{self, lua_CFunction, lua_State};
use std::ffi::{CStr, c_int};

/// Primitives of the contract above, and those that only base.lua and program.lua use.
const PRIMITIVES: &[(&CStr, lua_CFunction)] = &[
    (c"env", about::env),
    (c"tid", about::tid),
    (c"options", about::options),
    (c"script_path", about::script_path),
    (c"command", about::command),
    (c"argv", about::argv),
    (c"help_lines", about::help_lines),
    (c"log", about::log),
    (c"print", about::print),
    (c"drivers", requests::drivers),
    (c"driver", requests::driver),
    (c"connect", requests::connect),
    (c"disconnect", requests::disconnect),
    (c"reconnect", requests::reconnect),
    (c"query", requests::query),
    (c"rollback", requests::rollback),
    (c"prepare", requests::prepare),
    (c"execute", requests::execute),
    (c"close", requests::close),
    (c"more_results", requests::more_results),
    (c"next_result", requests::next_result),
    (c"fetch", requests::fetch),
    (c"sleep", waits::sleep),
    (c"barrier", waits::barrier),
    (c"wait", waits::wait),
    (c"is_waiting", waits::is_waiting),
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
