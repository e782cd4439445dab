-- What sessions run: the programs of session.rs, one function each. Called in the session's
-- coroutine with `session` (env, where: the function under way, for messages).

local host, dyno = ...
local ffi = dyno.real_ffi
local error, type, xpcall, traceback = error, type, xpcall, debug.traceback

-- Rust functions called without leaving compiled code (events.rs).
local first = ffi.cast("int (*)(void)", host.first)
local stop_next = ffi.cast("int (*)(void)", host.stop_next)
local more = ffi.cast("int (*)(void)", host.more)
local start = ffi.cast("void (*)(void)", host.start)
local stop = ffi.cast("void (*)(void)", host.stop)
local now = ffi.cast("double (*)(void)", host.now)
local wait = dyno.wait

function dyno.more_events()
  local answer = more()
  while answer == 2 do
    wait()
    answer = more()
  end
  return answer == 1
end
function dyno.event_start() start() end
function dyno.event_stop() stop() end
function dyno.now() return now() end

-- Where an error came from, while that can still be seen.
local function trace(err)
  if type(err) == "string" then dyno.log("debug", traceback(err, 2)) end
  return err
end

-- After an event that failed: returns if it is to begin again.
local function recover(env, err)
  local sysbench = env.sysbench
  if type(err) ~= "table" or err.errcode == nil or err.errcode ~= sysbench.error.RESTART_EVENT then
    error(err, 0)
  end
  local hook = sysbench.hooks and sysbench.hooks.before_restart_event
  if hook then hook(err) end
end

-- Whether an event may begin, and has begun: answers are those of more_events.
local function begun(answer)
  while answer == 2 do
    wait()
    answer = first()
  end
  return answer == 1
end

-- Events for as long as there are some, or until one returns something.
local function thread_run(env, tid)
  local going = begun(first())
  while going do
    local ok, result = xpcall(env.event, trace, tid)
    while not ok do
      recover(env, result)
      ok, result = xpcall(env.event, trace, tid)
    end
    if result then
      stop()
      return
    end
    going = begun(stop_next())
  end
end

local function call(session, name, ...)
  session.where = name
  local f = session.env[name]
  if f then return f(...) end
end

local program = {}

-- The chunk has run; that is all.
function program.load() end

-- Options are known that were not before.
function program.configure(session) host.open(session.env) end

function program.run(session)
  local env, tid = session.env, dyno.tid()
  call(session, "thread_init", tid)
  dyno.barrier()
  session.where = "thread_run"
  local run = env.thread_run
  if run then run(tid) else thread_run(env, tid) end
  call(session, "thread_done", tid)
end

-- A command: the script's own under `sysbench.cmdline.commands`, else a global function.
function program.command(session, name)
  local commands = session.env.sysbench.cmdline.commands
  local command = commands and commands[name]
  session.where = command and "sysbench.cmdline.call_command" or name
  if type(command) == "table" then command = command[1] end
  command = command or session.env[name]
  if type(command) ~= "function" then error("no such command", 0) end
  command()
end

-- A global function, if there is one.
function program.call(session, name) call(session, name) end

-- A hook of the report with what it is told.
function program.hook(session, name, ...)
  session.where = name
  session.env.sysbench.hooks[name](...)
end

return program
