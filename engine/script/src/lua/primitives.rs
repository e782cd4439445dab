//! What the prelude (`prelude/*.lua`) is written over: the table `dyno`, which scripts cannot see.
//!
//! # How the prelude is loaded
//! Each file is compiled once a state. `prelude/init.lua` is run once a state, as a chunk with the
//! argument `dyno` (`local dyno = ...`); `dyno.prelude("sql")` runs `prelude/sql.lua` in the same
//! way, the first time it is asked for, and returns what it returned. Metatables and functions made
//! there are shared by all sessions of the state; globals there are Lua's own, without `sysbench`.
//! `init.lua` returns a function `open(env)`. It is called once a session, in the session's
//! coroutine, before the script's chunk; `env` is the session's table of globals, which has Lua's
//! own already (`_G`, `require`, `package`, `print`, ...), and `open` adds `sysbench` and the
//! legacy functions. Functions that scripts see are told their session by nothing: each primitive
//! works on the session that runs. What belongs to one session (hooks, `opt`, objects) must be made
//! in `open` or reached through `env`; `dyno.env()` returns the running session's `env`.
//!
//! Read back by this module: `env.sysbench.cmdline.options`, `.commands` and `.PARALLEL_COMMAND`
//! after the chunk; `env.sysbench.error.RESTART_EVENT` and `env.sysbench.hooks` where an event
//! fails (`lua/program.lua`).
//!
//! # About the run
//! | primitive | gives |
//! |---|---|
//! | `dyno.env()` | the running session's globals |
//! | `dyno.tid()` | its number from 0; nil in the main session (options, `init`, `done`, `prepare`, hooks of the report) |
//! | `dyno.options()` | a fresh table: name with `_` -> boolean, number, string, or list; an option without a value is absent |
//! | `dyno.script_path()`, `dyno.command()` | of the call; nil: none |
//! | `dyno.version`, `dyno.version_string` | strings |
//! | `dyno.log(level, text)` | prints as sysbench does if the verbosity admits it; level: `"fatal"`, `"alert"`, `"critical"`, `"warning"`, `"notice"`, `"info"`, `"debug"`, `"text"` |
//!
//! # Databases
//! A connection and a statement are numbers. A primitive that waits takes other sessions' turns in
//! between; it may be called wherever Lua may yield, which is everywhere but in callbacks of C
//! functions (`table.sort`, `string.gsub`). None raises an error for what a server or user did.
//!
//! | primitive | gives |
//! |---|---|
//! | `dyno.driver(name or nil)` | the driver's name (nil: the option `db-driver`'s); or nil, message |
//! | `dyno.drivers()` | a list of names |
//! | `dyno.connect(driver)` | con; or nil, err |
//! | `dyno.disconnect(con)` | nothing; a closed one is no error |
//! | `dyno.reconnect(con)` | true; or nil, err. Counted as a reconnect. Its statements are gone |
//! | `dyno.query(con, sql)` | nfields, nrows, affected of the first result (nfields 0: it returns no rows at all); or nil, err |
//! | `dyno.prepare(con, sql)` | stmt, number of parameters; or nil, err |
//! | `dyno.execute(con, stmt, n, v1, ... vn)` | as `query`. Values: nil, number, boolean, string, `int64_t`, `uint64_t`; a number that is whole is bound as an integer |
//! | `dyno.close(con, stmt)` | nothing; a statement that is gone is no error |
//! | `dyno.more_results(con)` | whether the last request has further results |
//! | `dyno.next_result(con)` | as `query`, of the next result; nothing if there is none |
//! | `dyno.fetch(con, row)` | the fields of row `row` (from 0) of the current result as strings, nil for NULL; nothing if there is no such row |
//!
//! The results of a connection are valid until its next request. Statements are counted when they
//! are answered: read (nfields > 0), write (affected > 0), else other.
//!
//! `err` is a table: `number` (the system's own, 0: none), `state` (SQLSTATE, "": none), `message`,
//! `kind`: `"ignorable"` by the driver's ignore option: to be reported to the hook
//! `sql_error_ignorable`, if any, and then raised as `{errcode = RESTART_EVENT}`; `"fatal"`: all
//! others; `lost`: true if the connection is lost. A lost connection whose error is ignorable has
//! been made anew when `err` arrives (`kind` is "fatal" if that failed, with the message of that).
//!
//! # Events and time
//! | primitive | gives |
//! |---|---|
//! | `dyno.more_events()` | waits until an event may begin: true; false: there is none |
//! | `dyno.event_start()`, `dyno.event_stop()` | around each event |
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
//! `dyno.ffi`: the table that scripts get from `require("ffi")`, `dyno.real_ffi`: LuaJIT's own.
//!
//! # Asked for by the prelude (moves up as it is there)
//! | primitive | gives |
//! |---|---|
//! | `dyno.compat` | `"1.0"` or `"1.1"` |
//! | `dyno.histogram(size, min, max)` | an object over `report::histogram::Histogram` with `update(self, value)`, `percentile(self, percent)`, `draw(self)` -> text; or nil, message |
//! | `dyno.report(form, stat)` | the text of `report::hooks::report_{default,csv,json}`, form: `"default"`, `"csv"`, `"json"`; no line end |
//! | `dyno.print(text)` | `console::print` |
//! | `dyno.argv()` | the call's arguments as a list, `[0]` the program, for `sysbench.cmdline.argv` |
//! | `dyno.options_help()` | the help lines of the options that the script declares, for `sysbench.cmdline.print_test_options` |
//! | `err.host`, `err.port` or `err.socket` of `dyno.connect` | whom it tried, for "unable to connect to MySQL server on host '%s', port %u, aborting..." |
//! | `dyno.log` | says "(last message repeated N times)" before the next other message, as its console's neighbours need it (judge: `api_sql_mysql.t`) |
