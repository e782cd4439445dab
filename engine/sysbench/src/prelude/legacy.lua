-- What scripts written for sysbench 0.5 find in their globals, and sysbench 1.0 has still: one
-- connection a session that needs no name, options as globals.

local dyno = ...
local connect, raise = dyno.prelude("connection"), dyno.prelude("raise")
local sql = dyno.prelude("sql")
local rand = dyno.rand
local env, pcall, error, type = dyno.env, pcall, error, type

local ERROR = { NONE = 0, RESTART_TRANSACTION = 1, FAILED = 2 }
-- The most that `sb_rnd` and, unless told otherwise, `sb_rand_uniq` give.
local UINT32_MAX = 4294967295

-- Options that 0.5 had and nobody declares.
local DEFAULTS = { mysql_table_engine = "innodb", myisam_max_rows = 1000000 }

-- The session's connection, by its globals; none before its first use.
local connections = setmetatable({}, { __mode = "k" })

local function connection()
   local session = env()
   local con = connections[session]
   if not con then
      con = connect(sql.driver(nil):name())
      connections[session] = con
   end
   return con
end

-- Errors that make the event begin again pass; all others become "NAME() failed".
local function checked(name, ok, result)
   if ok then return result end
   if type(result) == "table" then error(result, 0) end
   raise.error(name .. "() failed")
end

local db = {}

function db.connect() connection() end

function db.disconnect()
   local con = connections[env()]
   if con then con:disconnect() end
   connections[env()] = nil
end

function db.query(text)
   local con = connection()
   checked("db_query", pcall(con.query, con, text))
end

function db.bulk_insert_init(head)
   local con = connection()
   checked("db_bulk_insert_init", pcall(con.bulk_insert_init, con, head))
end

function db.bulk_insert_next(row)
   local con = connection()
   checked("db_bulk_insert_next", pcall(con.bulk_insert_next, con, row))
end

function db.bulk_insert_done()
   local con = connection()
   checked("db_bulk_insert_done", pcall(con.bulk_insert_done, con))
end

function db.prepare(text)
   local con = connection()
   return checked("db_prepare", pcall(con.prepare, con, text))
end

-- `values`: a list that is read anew at each execution.
function db.bind_param(statement, values)
   local params = {}
   for i = 1, statement.count do params[i] = {} end
   statement.values = values
   if #params > 0 then statement:bind_param(unpack(params)) end
end

function db.bind_result() end

function db.execute(statement)
   local params, values = statement.params, statement.values
   if params then
      for i = 1, statement.count do params[i].value = values[i] end
   end
   return checked("db_execute", pcall(statement.execute, statement))
end

-- Results are kept as they come.
function db.store_results() end

function db.free_results() end

function db.close(statement) statement:close() end

local legacy = {}

-- The functions, in a session's globals and as sysbench.db.
function legacy.add(globals, sysbench)
   sysbench.db = {}
   for name, f in pairs(db) do
      sysbench.db[name], globals["db_" .. name] = f, f
   end
   for name, value in pairs(ERROR) do
      sysbench.db["DB_ERROR_" .. name], globals["DB_ERROR_" .. name] = value, value
   end
   globals.sb_rand, globals.sb_rand_uniform = rand.default, rand.uniform
   globals.sb_rand_gaussian, globals.sb_rand_special = rand.gaussian, rand.special
   globals.sb_rand_str = rand.string
   globals.sb_rand_uniq = function(min, max) return rand.unique(min or 0, max or UINT32_MAX) end
   globals.sb_rnd = function() return rand.uniform(0, UINT32_MAX) end
end

-- Options as globals, unless the script declares its own; what was there under the name stays.
function legacy.add_options(globals, options, declares)
   globals.test, globals.thread_id = dyno.script_path(), dyno.tid() or 0
   for name, default in pairs(DEFAULTS) do
      -- The default may be there from before the options were known.
      if globals[name] == nil or globals[name] == default then
         globals[name] = options[name] == nil and default or options[name]
      end
   end
   if declares then return end
   for name, value in pairs(options) do
      if globals[name] == nil then globals[name] = value end
   end
   if globals.num_threads == nil or options.threads ~= nil then globals.num_threads = options.threads end
end

return legacy
