-- What a script finds in its globals: `sysbench`, the older functions, constants.
--
-- Run once a state. Returns `open(env)`, which is called once a session before the script, and once
-- more if the script has declared options since, whose values then appear in `sysbench.opt`.
-- Sources: sysbench's README and ChangeLog, its test suite, and what sysbench 1.0.20 prints.

local dyno = ...
local sql, rand, report = dyno.prelude("sql"), dyno.prelude("rand"), dyno.prelude("report")
local legacy = dyno.prelude("legacy")
local pairs, next, type = pairs, next, type
local error, pcall, require, unpack = error, pcall, require, unpack

local function copy(from)
   local to = {}
   for key, value in pairs(from) do to[key] = value end
   return to
end

local function cmdline()
   return {
      ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5,
      ARG_LIST = 6, ARG_FILE = 7, ARG_MAX = 8,
      PARALLEL_COMMAND = true,
      argv = dyno.argv(),
      command = dyno.command(),
      script_path = dyno.script_path(),
      print_test_options = function() dyno.print(dyno.options_help() .. "\n") end,
   }
end

-- The session's own table: scripts may change anything in it.
local function make()
   return {
      tid = dyno.tid() or 0,
      version = dyno.version,
      version_string = dyno.version_string,
      cmdline = cmdline(),
      error = { NONE = 0, RESTART_EVENT = 1 },
      hooks = {},
      histogram = { new = report.histogram },
      report_default = report.default,
      report_csv = report.csv,
      report_json = report.json,
      rand = copy(rand),
      sql = { driver = sql.driver, type = copy(sql.type), error = copy(sql.error) },
   }
end

-- `--luajit-cmd`, as `luajit -j` understands it: NAME or NAME=ARGUMENTS, of the table `jit` or of a
-- module jit.NAME with a function `start`. Once a state: it is about the compiler.
local is_commanded = false

local function command_compiler(text)
   if is_commanded or not text or text == "" then return end
   is_commanded = true
   local name, rest = text:match("^([^=]*)=?(.*)$")
   local arguments = {}
   for argument in rest:gmatch("[^,]+") do arguments[#arguments + 1] = argument end
   local run = require("jit")[name]
   if type(run) ~= "function" then
      local ok, module = pcall(require, "jit." .. name)
      run = ok and module.start
   end
   if not run then error("unknown luajit command: " .. text, 0) end
   run(unpack(arguments))
end

local function open(env)
   local sysbench = env.sysbench
   if not sysbench then
      command_compiler(dyno.options().luajit_cmd)
      sysbench = make()
      env.sysbench, env.ffi = sysbench, dyno.ffi
      env.bit, env.jit = env.bit or require("bit"), env.jit or require("jit")
      if dyno.compat == "1.0" then legacy.add(env, sysbench) end
   end
   local options = dyno.options()
   sysbench.opt = options
   local declared = sysbench.cmdline.options
   local declares = type(declared) == "table" and next(declared) ~= nil
   if dyno.compat == "1.0" then legacy.add_options(env, options, declares) end
end

return open
