-- What surrounds scripts in a state: each session's globals, its modules, its coroutine, and what it
-- runs there. Run once a state, with `host` (state.rs) and `dyno` (primitives/mod.rs).
--
-- Texts are compiled once a state, as functions that return the chunk as a closure: every session
-- calls these for closures of its own over the same compiled code, so that machine code made for
-- one session serves all.

local host, dyno = ...
local ffi = require("ffi")
local std, loaded = _G, package.loaded
local setfenv, loadstring, pcall, xpcall, error = setfenv, loadstring, pcall, xpcall, error
local create, resume, status = coroutine.create, coroutine.resume, coroutine.status
local running, yield = coroutine.running, coroutine.yield

-- Chunks.

-- A factory of closures of a chunk; nil, message if it cannot be compiled. The chunk is compiled as
-- it stands first: its errors are not to speak of what is put around it.
local function compile(text, name)
  if text:sub(1, 1) == "#" then text = "--" .. text end
  local chunk, message = loadstring(text, name)
  if not chunk then return nil, message end
  if text:byte(1) == 27 then -- bytecode has no text to put anything around
    return function() return loadstring(text, name) end
  end
  local outer = loadstring("return function(...) " .. text .. "\nend", name)
  if outer then return function() return (outer()) end end
  -- At a limit of Lua's: a closure a session, and machine code a session.
  return function() return loadstring(text, name) end
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text
end

local factories = {}

-- A new closure of a chunk, with these globals; nil, message.
local function chunk_of(env, key, name, text)
  local factory, message = factories[key], nil
  if not factory then
    factory, message = compile(text or read(key), name)
    if not factory then return nil, message end
    factories[key] = factory
  end
  return setfenv(factory(), env)
end

-- Modules.

local function search(path, name)
  local missing = {}
  local file = name:gsub("%.", "/")
  for pattern in path:gmatch("[^;]+") do
    local candidate = pattern:gsub("%?", (file:gsub("%%", "%%%%")))
    local opened = io.open(candidate, "rb")
    if opened then
      opened:close()
      return candidate
    end
    missing[#missing + 1] = "\n\tno file '" .. candidate .. "'"
  end
  return nil, table.concat(missing)
end

local function find_builtin(env, name)
  local text = host.builtins[name]
  if text then return chunk_of(env, "\0" .. name, "@" .. name .. ".lua", text) end
  return nil, "\n\tno built-in module '" .. name .. "'"
end

local function find_file(env, name)
  local path, missing = search(env.package.path, name)
  if not path then return nil, missing end
  local chunk, message = chunk_of(env, path, "@" .. path)
  if not chunk then
    error("error loading module '" .. name .. "' from file '" .. path .. "':\n\t" .. message, 0)
  end
  return chunk
end

local function find_library(env, name)
  local path, missing = search(env.package.cpath, name)
  if not path then return nil, missing end
  local open = "luaopen_" .. name:gsub("^.*%-", ""):gsub("%.", "_")
  local loader, message = package.loadlib(path, open)
  if not loader then
    error("error loading module '" .. name .. "' from file '" .. path .. "':\n\t" .. message, 0)
  end
  return loader
end

local finders = host.is_builtin and { find_builtin, find_file, find_library }
  or { find_file, find_builtin, find_library }

local function find(env, name)
  local preloaded = env.package.preload[name]
  if preloaded then return preloaded end
  local missing = { "module '" .. name .. "' not found:", "\n\tno field package.preload['" .. name .. "']" }
  for i = 1, #finders do
    local loader, message = finders[i](env, name)
    if loader then return loader end
    missing[#missing + 1] = message
  end
  error(table.concat(missing), 3)
end

local LOADING = {}

local function make_require(env)
  return function(name)
    local modules = env.package.loaded
    local module = modules[name]
    if module == LOADING then error("loop or previous error loading module '" .. name .. "'", 2) end
    if module ~= nil and module ~= false then return module end
    local loader = find(env, name)
    modules[name] = LOADING
    local result = loader(name)
    if result ~= nil then
      modules[name] = result
    elseif modules[name] == LOADING then
      modules[name] = true
    end
    return modules[name]
  end
end

-- Lua 5.1's `module`: a table for the module, in its global name, as the caller's globals.
local function make_module(env)
  return function(name, ...)
    local module = env.package.loaded[name]
    if type(module) ~= "table" then
      module = env
      for part in name:gmatch("[^.]+") do
        local inner = rawget(module, part)
        if inner == nil then
          inner = {}
          module[part] = inner
        elseif type(inner) ~= "table" then
          error("name conflict for module '" .. name .. "'", 2)
        end
        module = inner
      end
      env.package.loaded[name] = module
    end
    if module._NAME == nil then
      module._M, module._NAME = module, name
      module._PACKAGE = name:match("^(.*%.)[^.]*$") or ""
    end
    setfenv(2, module)
    for i = 1, select("#", ...) do select(i, ...)(module) end
  end
end

-- Coroutines of scripts. A primitive that waits yields from the innermost one: that yield is not the
-- script's, so it is passed on to the load thread, and what that answers is passed back.

local function pass(co, ok, ...)
  if ok and dyno.is_waiting() then return pass(co, resume(co, dyno.wait())) end
  return ok, ...
end

local function co_resume(co, ...) return pass(co, resume(co, ...)) end

local function unwrap(ok, ...)
  if not ok then error((...), 0) end
  return ...
end

local function co_wrap(f)
  local co = create(f)
  return function(...) return unwrap(co_resume(co, ...)) end
end

-- The coroutines of sessions, which are no coroutines of scripts: as in sysbench, where a function
-- of the script is called by C, it cannot yield there.
local mains = setmetatable({}, { __mode = "k" })

local function co_yield(...)
  if mains[running()] then error("attempt to yield across C-call boundary", 2) end
  return yield(...)
end

local function co_running()
  local co = running()
  return not mains[co] and co or nil
end

-- Random numbers, through Rust functions that compiled code calls (events.rs).

local draw = ffi.cast("double (*)(int, double, double)", host.rand_draw)
local rand_default = ffi.cast("double (*)(double, double)", host.rand_default)
local rand_unique = ffi.cast("double (*)(double, double)", host.rand_unique)
local rand_uint64 = ffi.cast("uint64_t (*)(void)", host.rand_uint64)
local rand_double = ffi.cast("double (*)(void)", host.rand_double)
local rand_string = ffi.cast("size_t (*)(const char *, size_t)", host.rand_string)
local rand_varstring = ffi.cast("size_t (*)(double, double)", host.rand_varstring)
local text = ffi.cast("const char *(*)(void)", host.rand_text)

dyno.rand = {
  uniform = function(a, b) return draw(0, a, b) end,
  gaussian = function(a, b) return draw(1, a, b) end,
  special = function(a, b) return draw(2, a, b) end,
  pareto = function(a, b) return draw(3, a, b) end,
  zipfian = function(a, b) return draw(4, a, b) end,
  default = function(a, b) return rand_default(a, b) end,
  unique = function(a, b) return rand_unique(a, b) end,
  uniform_uint64 = function() return rand_uint64() end,
  uniform_double = function() return rand_double() end,
  string = function(template)
    local length = rand_string(template, #template)
    return ffi.string(text(), length)
  end,
  varstring = function(min, max)
    local length = rand_varstring(min, max)
    return ffi.string(text(), length)
  end,
}

-- ffi: LuaJIT's, but for C functions that would stop the whole thread, or are sysbench's.

-- What scripts count themselves, by sysbench's names: sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR).
ffi.cdef [[
typedef enum {
  SB_CNT_READ, SB_CNT_WRITE, SB_CNT_OTHER, SB_CNT_ERROR, SB_CNT_RECONNECT
} sb_counter_type;
]]
local count = ffi.cast("void (*)(int)", host.count)

local function lua_string(value) return type(value) == "string" and value or ffi.string(value) end

-- Into a buffer of the caller's; without a zero at the end, as its length is the caller's affair.
local function fill(buffer, text) ffi.copy(buffer, text, #text) end

local own = {
  usleep = function(microseconds) dyno.sleep(tonumber(microseconds) / 1e6) return 0 end,
  sleep = function(seconds) dyno.sleep(tonumber(seconds)) return 0 end,
  nanosleep = function(request)
    dyno.sleep(tonumber(request[0].tv_sec) + tonumber(request[0].tv_nsec) / 1e9)
    return 0
  end,
  sb_more_events = function() return dyno.more_events() end,
  sb_event_start = function() dyno.event_start() end,
  sb_event_stop = function() dyno.event_stop() end,
  sb_counter_inc = function(_, counter) count(tonumber(counter)) end,
  sb_rand_default = function(a, b) return dyno.rand.default(tonumber(a), tonumber(b)) end,
  sb_rand_uniform = function(a, b) return dyno.rand.uniform(tonumber(a), tonumber(b)) end,
  sb_rand_gaussian = function(a, b) return dyno.rand.gaussian(tonumber(a), tonumber(b)) end,
  sb_rand_special = function(a, b) return dyno.rand.special(tonumber(a), tonumber(b)) end,
  sb_rand_pareto = function(a, b) return dyno.rand.pareto(tonumber(a), tonumber(b)) end,
  sb_rand_zipfian = function(a, b) return dyno.rand.zipfian(tonumber(a), tonumber(b)) end,
  sb_rand_unique = function() return dyno.rand.unique(0, 4294967295) end,
  sb_rand_uniform_uint64 = function() return dyno.rand.uniform_uint64() end,
  sb_rand_uniform_double = function() return dyno.rand.uniform_double() end,
  sb_rand_str = function(template, buffer) fill(buffer, dyno.rand.string(lua_string(template))) end,
  sb_rand_varstr = function(buffer, min, max)
    local drawn = dyno.rand.varstring(tonumber(min), tonumber(max))
    fill(buffer, drawn)
    return #drawn
  end,
}

-- What sysbench's program has within itself and this one has not, by prefix: what to use instead.
local INSTEAD = {
  db_ = "sysbench.sql.driver():connect() and the methods of what it returns",
  sb_ = "the tables sysbench.rand, sysbench.sql, sysbench.hooks and sysbench.histogram",
}

local function real(name) return ffi.C[name] end

-- A symbol that is not in `own`. Functions are kept there: compiled code then finds them at once.
local function symbol(_, name)
  local found, value = pcall(real, name)
  if found then
    if type(value) == "cdata" and tostring(ffi.typeof(value)):find("()", 1, true) then rawset(own, name, value) end
    return value
  end
  local instead = type(name) == "string" and INSTEAD[name:sub(1, 3)]
  if not instead then error((value:gsub("^base%.lua:%d+: ", "")), 2) end -- the place is the script's
  error("ffi.C." .. name .. " is a function within sysbench that is not there: use " .. instead, 2)
end

local C = setmetatable(own, { __index = symbol, __newindex = ffi.C })
local script_ffi = {}
for name, value in pairs(ffi) do script_ffi[name] = value end
script_ffi.C = C
dyno.ffi, dyno.real_ffi = script_ffi, ffi

-- The prelude.

local prelude = {}
function dyno.prelude(name)
  if prelude[name] == nil then
    local text = host.prelude[name] or error("no prelude file " .. name)
    local value = assert(loadstring(text, "@" .. name .. ".lua"))(dyno)
    prelude[name] = value == nil and true or value
  end
  return prelude[name]
end
local open = dyno.prelude("init")
host.open = open
local program = assert(loadstring(host.program, "@program.lua"))(host, dyno)

-- Sessions.

local function copy(from)
  local to = {}
  for key, value in pairs(from) do to[key] = value end
  return to
end

local script_coroutine = copy(coroutine)
script_coroutine.resume, script_coroutine.wrap = co_resume, co_wrap
script_coroutine.yield, script_coroutine.running = co_yield, co_running

local function make_env()
  local env = copy(std)
  env._G, env.coroutine = env, script_coroutine
  env.package = copy(package)
  env.package.path, env.package.preload = host.path, copy(package.preload)
  env.package.loaded = copy(loaded)
  env.package.loaded._G, env.package.loaded.package = env, env.package
  env.package.loaded.coroutine, env.package.loaded.ffi = script_coroutine, script_ffi
  env.require, env.module = make_require(env), make_module(env)
  env.loadfile = function(path)
    local text = read(path)
    if not text then return nil, "cannot open " .. tostring(path) end
    return chunk_of(env, path, "@" .. path, text)
  end
  env.dofile = function(path)
    local chunk, message = env.loadfile(path)
    if not chunk then error(message, 0) end
    return chunk()
  end
  return env
end

local sessions = {}

-- Makes the coroutine of a session's program: `what` of program.lua with `name`. The first program
-- of a session loads the script before.
local function start(number, what, name)
  local session = sessions[number]
  local is_new = not session
  if is_new then
    session = { env = make_env() }
    sessions[number] = session
  end
  local env = session.env
  local co = create(function(...)
    setfenv(0, env)
    if is_new then
      session.where = nil
      open(env)
      local chunk, message = chunk_of(env, "\0script", host.chunk, host.text)
      if not chunk then error(message, 0) end
      chunk()
      -- Options that the script has declared may change what it finds.
      local cmdline = env.sysbench.cmdline
      if type(cmdline.options) == "table" and next(cmdline.options) ~= nil then open(env) end
    end
    return program[what](session, name, ...)
  end)
  session.co, mains[co] = co, true
  return co
end

-- What a session's error says, as the report prints it.
local function describe(number, err)
  local session = sessions[number]
  if err == "not enough memory" then
    session.co = nil
    collectgarbage()
  end
  local text = type(err) == "string" and err or type(err) == "number" and tostring(err) or "(not a string)"
  if session.where then text = "`" .. session.where .. "' function failed: " .. text end
  return text
end

-- What the command line asks of a session. Answers are lists of texts.

local KINDS = { "bool", "int", "size", "double", "text", "list", "file" }

local function kind_of(default, kind)
  if kind ~= nil then return KINDS[kind] or error("unknown option type: " .. tostring(kind), 0) end
  local is = type(default)
  if is == "boolean" then return "bool" end
  if is == "number" then return default == math.floor(default) and "number" or "double" end
  return is == "table" and "list" or "text"
end

local function sorted_names(t, what)
  if t == nil then return {} end
  if type(t) ~= "table" then error(what .. " must be a table", 0) end
  local names = {}
  for name in pairs(t) do names[#names + 1] = tostring(name) end
  table.sort(names)
  return names
end

-- Of each declared option: name, help, kind, "" or "=", and its default.
local function declared(env)
  local options = env.sysbench.cmdline.options
  local words = {}
  for _, name in ipairs(sorted_names(options, "sysbench.cmdline.options")) do
    local option = options[name]
    if type(option) ~= "table" then error("wrong definition of the option '" .. name .. "'", 0) end
    local default = option[2]
    local kind = kind_of(default, option[3])
    local text = type(default) == "table" and table.concat(default, ",") or tostring(default)
    if default == nil then text = "" end
    if (kind == "int" or kind == "number") and type(default) == "number" then text = ("%.0f"):format(default) end
    for _, word in ipairs({ name, tostring(option[1] or ""), kind, default == nil and "" or "=", text }) do
      words[#words + 1] = word
    end
  end
  return words
end

local questions = { options = declared }

function questions.commands(env)
  local cmdline = env.sysbench.cmdline
  local words = {}
  for _, name in ipairs(sorted_names(cmdline.commands, "sysbench.cmdline.commands")) do
    local command = cmdline.commands[name]
    local is_parallel = type(command) == "table" and command[2] ~= nil
      and command[2] == cmdline.PARALLEL_COMMAND
    words[#words + 1] = name
    words[#words + 1] = is_parallel and "parallel" or ""
  end
  return words
end

function questions.has(env, name) return { type(env[name]) == "function" and "yes" or nil } end

function questions.has_hook(env, name)
  local hooks = env.sysbench.hooks
  return { type(hooks) == "table" and type(hooks[name]) == "function" and "yes" or nil }
end

function dyno.options_help() return dyno.help_lines(declared(dyno.env())) end

local function ask(number, question, name) return questions[question](sessions[number].env, name) end

return start, describe, ask
