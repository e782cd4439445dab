-- What the OLTP tests share: options, tables, statements, and how an event is put together. Tests
-- name the queries they need; scripts of users may require this module and do the same.

if sysbench.cmdline.command == nil then
   error("Command is required. Supported commands: prepare, prewarm, run, cleanup, help")
end

sysbench.cmdline.options = {
   table_size = {"Number of rows per table", 10000},
   range_size = {"Range size for range SELECT queries", 100},
   tables = {"Number of tables", 1},
   point_selects = {"Number of point SELECT queries per transaction", 10},
   simple_ranges = {"Number of simple range SELECT queries per transaction", 1},
   sum_ranges = {"Number of SELECT SUM() queries per transaction", 1},
   order_ranges = {"Number of SELECT ORDER BY queries per transaction", 1},
   distinct_ranges = {"Number of SELECT DISTINCT queries per transaction", 1},
   index_updates = {"Number of UPDATE index queries per transaction", 1},
   non_index_updates = {"Number of UPDATE non-index queries per transaction", 1},
   delete_inserts = {"Number of DELETE/INSERT combinations per transaction", 1},
   range_selects = {"Enable/disable all range SELECT queries", true},
   auto_inc = {
      "Use AUTO_INCREMENT column as Primary Key (for MySQL), or its alternatives in other DBMS."
         .. " When disabled, use client-generated IDs",
      true
   },
   create_secondary = {"Create a secondary index in addition to the PRIMARY KEY", true},
   secondary = {"Use a secondary index in place of the PRIMARY KEY", false},
   skip_trx = {
      "Don't start explicit transactions and execute all queries in the AUTOCOMMIT mode", false
   },
   mysql_storage_engine = {"Storage engine, if MySQL is used", "innodb"},
   pgsql_variant = {
      "Use this PostgreSQL variant when running with the PostgreSQL driver. The only currently"
         .. " supported variant is 'redshift'. When enabled, create_secondary is automatically"
         .. " disabled, and delete_inserts is set to 0"
   }
}

-- sysbench's development version has two more.
if sysbench.version:match("^1%.1") then
   sysbench.cmdline.options.create_table_options = {"Extra CREATE TABLE options", ""}
   sysbench.cmdline.options.reconnect = {
      "Reconnect after every N events. The default (0) is to not reconnect", 0
   }
end

local types = sysbench.sql.type
local ID = types.INT
local C_LENGTH, PAD_LENGTH = 120, 60

-- So many groups of eleven digits.
local function template(groups)
   local parts = {}
   for i = 1, groups do
      parts[i] = "###########"
   end
   return table.concat(parts, "-")
end

local c_template, pad_template = template(10), template(5)

function get_c_value()
   return sysbench.rand.string(c_template)
end

function get_pad_value()
   return sysbench.rand.string(pad_template)
end

-- Tables ----------------------------------------------------------------------------------------

-- Calls `work(con, number)` for each table that is this thread's: tables are dealt out in turn.
local function for_own_tables(work)
   local con = sysbench.sql.driver():connect()
   for number = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables,
      sysbench.opt.threads do
      work(con, number)
   end
end

local function is_redshift(name)
   return name == "pgsql" and sysbench.opt.pgsql_variant == "redshift"
end

-- The type of the key's column, and what follows the table's definition.
local function dialect(name)
   local opt = sysbench.opt
   if name == "mysql" then
      local engine = "/*! ENGINE = " .. opt.mysql_storage_engine .. " */"
      return opt.auto_inc and "INTEGER NOT NULL AUTO_INCREMENT" or "INTEGER NOT NULL", engine
   elseif name == "pgsql" then
      if not opt.auto_inc then
         return "INTEGER NOT NULL", ""
      elseif is_redshift(name) then
         return "INTEGER IDENTITY(1,1)", ""
      elseif opt.pgsql_variant and opt.pgsql_variant ~= "" then
         error("Unknown value of --pgsql-variant: " .. opt.pgsql_variant)
      end
      return "SERIAL", ""
   elseif name == "sqlite" then
      -- A whole number as primary key counts up by itself, and nothing else does.
      if opt.secondary and opt.auto_inc then
         error("With SQLite --secondary=on needs --auto_inc=off: only a primary key counts up", 0)
      end
      return "INTEGER NOT NULL", ""
   end
   error("Unsupported database driver: " .. name)
end

local function insert_rows(con, number)
   local opt = sysbench.opt
   local columns = opt.auto_inc and "(k, c, pad)" or "(id, k, c, pad)"
   con:bulk_insert_init("INSERT INTO sbtest" .. number .. columns .. " VALUES")
   for id = 1, opt.table_size do
      local k = sysbench.rand.default(1, opt.table_size)
      local rest = k .. ", '" .. get_c_value() .. "', '" .. get_pad_value() .. "')"
      con:bulk_insert_next(opt.auto_inc and "(" .. rest or "(" .. id .. ", " .. rest)
   end
   con:bulk_insert_done()
end

function create_table(drv, con, number)
   local opt, name = sysbench.opt, "sbtest" .. number
   local id, extra = dialect(drv:name())
   local key = opt.secondary and "KEY xid (id)" or "PRIMARY KEY (id)"
   local after
   if opt.secondary and drv:name() ~= "mysql" then
      -- Only MySQL takes an index in the table's definition.
      key, after = nil, "CREATE INDEX xid_" .. number .. " ON " .. name .. "(id)"
   end
   print(string.format("Creating table '%s'...", name))
   con:query(
      "CREATE TABLE " .. name .. "(id " .. id .. ", k INTEGER DEFAULT '0' NOT NULL, c CHAR("
         .. C_LENGTH .. ") DEFAULT '' NOT NULL, pad CHAR(" .. PAD_LENGTH
         .. ") DEFAULT '' NOT NULL" .. (key and ", " .. key or "") .. ") " .. extra .. " "
         .. (opt.create_table_options or "")
   )
   if after then
      con:query(after)
   end
   if opt.table_size > 0 then
      print(string.format("Inserting %d records into '%s'", opt.table_size, name))
      insert_rows(con, number)
   end
   if opt.create_secondary and not is_redshift(drv:name()) then
      print(string.format("Creating a secondary index on '%s'...", name))
      con:query("CREATE INDEX k_" .. number .. " ON " .. name .. "(k)")
   end
end

function cmd_prepare()
   local drv = sysbench.sql.driver()
   for_own_tables(function(con, number)
      create_table(drv, con, number)
   end)
end

-- Reads both indexes of each table once, so that they lie in the server's memory.
function cmd_prewarm()
   if sysbench.sql.driver():name() ~= "mysql" then
      error("prewarm is currently MySQL only")
   end
   for_own_tables(function(con, number)
      local name = "sbtest" .. number
      print("Prewarming table " .. name)
      con:query("ANALYZE TABLE " .. name)
      con:query(string.format(
         "SELECT AVG(id) FROM (SELECT id, c FROM %s FORCE KEY (PRIMARY) LIMIT %u) t",
         name, sysbench.opt.table_size
      ))
      con:query(string.format(
         "SELECT COUNT(*) FROM (SELECT id FROM %s WHERE k LIKE '%%0%%' LIMIT %u) t",
         name, sysbench.opt.table_size
      ))
   end)
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.tables do
      print(string.format("Dropping table 'sbtest%d'...", number))
      con:query("DROP TABLE IF EXISTS sbtest" .. number)
   end
end

sysbench.cmdline.commands = {
   prepare = {cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND},
   prewarm = {cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND},
   warmup = {cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND}
}

-- Statements ------------------------------------------------------------------------------------

-- By name: the text, with %u for the table's number, and the types of its parameters.
local C, PAD = {types.CHAR, C_LENGTH}, {types.CHAR, PAD_LENGTH}
local RANGE = "FROM sbtest%u WHERE id BETWEEN ? AND ?"
local definitions = {
   point_selects = {"SELECT c FROM sbtest%u WHERE id=?", ID},
   simple_ranges = {"SELECT c " .. RANGE, ID, ID},
   sum_ranges = {"SELECT SUM(k) " .. RANGE, ID, ID},
   order_ranges = {"SELECT c " .. RANGE .. " ORDER BY c", ID, ID},
   distinct_ranges = {"SELECT DISTINCT c " .. RANGE .. " ORDER BY c", ID, ID},
   index_updates = {"UPDATE sbtest%u SET k=k+1 WHERE id=?", ID},
   non_index_updates = {"UPDATE sbtest%u SET c=? WHERE id=?", C, ID},
   deletes = {"DELETE FROM sbtest%u WHERE id=?", ID},
   inserts = {"INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)", ID, ID, C, PAD}
}

-- By table and name.
local stmt, param

function prepare_for_each_table(name)
   local definition = definitions[name]
   for number = 1, sysbench.opt.tables do
      local statement = con:prepare(string.format(definition[1], number))
      local bound = {}
      for i = 2, #definition do
         local kind = definition[i]
         bound[i - 1] = type(kind) == "table" and statement:bind_create(kind[1], kind[2])
            or statement:bind_create(kind)
      end
      statement:bind_param(unpack(bound))
      stmt[number][name], param[number][name] = statement, bound
   end
end

function prepare_begin()
   stmt.begin = con:prepare("BEGIN")
end

function prepare_commit()
   stmt.commit = con:prepare("COMMIT")
end

for _, name in ipairs {
   "point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges",
   "index_updates", "non_index_updates"
} do
   _G["prepare_" .. name] = function()
      prepare_for_each_table(name)
   end
end

function prepare_delete_inserts()
   prepare_for_each_table("deletes")
   prepare_for_each_table("inserts")
end

-- What several tests prepare together; `execute_...` below sends the same.

function prepare_transactions()
   if not sysbench.opt.skip_trx then
      prepare_begin()
      prepare_commit()
   end
end

function prepare_reads()
   prepare_point_selects()
   if sysbench.opt.range_selects then
      prepare_simple_ranges()
      prepare_sum_ranges()
      prepare_order_ranges()
      prepare_distinct_ranges()
   end
end

function prepare_writes()
   prepare_index_updates()
   prepare_non_index_updates()
   prepare_delete_inserts()
end

-- Sessions --------------------------------------------------------------------------------------

local function forget_statements()
   stmt, param = {}, {}
   for number = 1, sysbench.opt.tables do
      stmt[number], param[number] = {}, {}
   end
end

function thread_init()
   drv = sysbench.sql.driver()
   if is_redshift(drv:name()) then
      sysbench.opt.create_secondary = false
      sysbench.opt.delete_inserts = 0
   end
   con = drv:connect()
   forget_statements()
   prepare_statements()
end

local function each_statement(work)
   for key, value in pairs(stmt) do
      if type(key) == "number" then
         for _, statement in pairs(value) do
            work(statement)
         end
      else
         work(value)
      end
   end
end

function close_statements()
   each_statement(function(statement)
      statement:close()
   end)
   forget_statements()
end

function thread_done()
   close_statements()
   con:disconnect()
end

-- MySQL's numbers of a connection that is gone: 2006, 2011, 2013, 2055.
local GONE = {[2006] = true, [2011] = true, [2013] = true, [2055] = true}

-- A new connection knows no statements.
function sysbench.hooks.before_restart_event(errdesc)
   if errdesc and GONE[errdesc.sql_errno] then
      close_statements()
      con:reconnect()
      prepare_statements()
   end
end

-- A connection lasts for so many events, where there is the option.
local events = 0
function check_reconnect()
   local after = sysbench.opt.reconnect
   if after and after > 0 then
      events = events + 1
      if events % after == 0 then
         close_statements()
         con:reconnect()
         prepare_statements()
      end
   end
end

-- Events ----------------------------------------------------------------------------------------

function get_table_num()
   return sysbench.rand.uniform(1, sysbench.opt.tables)
end

function get_id()
   return sysbench.rand.default(1, sysbench.opt.table_size)
end

function begin()
   stmt.begin:execute()
end

function commit()
   stmt.commit:execute()
end

function execute_point_selects()
   local number = get_table_num()
   local statement, id = stmt[number].point_selects, param[number].point_selects[1]
   for _ = 1, sysbench.opt.point_selects do
      id:set(get_id())
      statement:execute()
   end
end

local function execute_ranges(name)
   local number = get_table_num()
   local statement, bound = stmt[number][name], param[number][name]
   local first, last = bound[1], bound[2]
   for _ = 1, sysbench.opt[name] do
      local id = get_id()
      first:set(id)
      last:set(id + sysbench.opt.range_size - 1)
      statement:execute()
   end
end

function execute_simple_ranges()
   execute_ranges("simple_ranges")
end

function execute_sum_ranges()
   execute_ranges("sum_ranges")
end

function execute_order_ranges()
   execute_ranges("order_ranges")
end

function execute_distinct_ranges()
   execute_ranges("distinct_ranges")
end

function execute_index_updates()
   local number = get_table_num()
   local statement, id = stmt[number].index_updates, param[number].index_updates[1]
   for _ = 1, sysbench.opt.index_updates do
      id:set(get_id())
      statement:execute()
   end
end

function execute_non_index_updates()
   local number = get_table_num()
   local statement, bound = stmt[number].non_index_updates, param[number].non_index_updates
   for _ = 1, sysbench.opt.non_index_updates do
      bound[1]:set_rand_str(c_template)
      bound[2]:set(get_id())
      statement:execute()
   end
end

function execute_deletes()
   local number = get_table_num()
   param[number].deletes[1]:set(get_id())
   stmt[number].deletes:execute()
end

-- The row that is deleted is inserted again, so that tables keep their size.
function execute_delete_inserts()
   local number = get_table_num()
   local delete, deleted = stmt[number].deletes, param[number].deletes
   local insert, inserted = stmt[number].inserts, param[number].inserts
   for _ = 1, sysbench.opt.delete_inserts do
      local id, k = get_id(), get_id()
      deleted[1]:set(id)
      inserted[1]:set(id)
      inserted[2]:set(k)
      inserted[3]:set_rand_str(c_template)
      inserted[4]:set_rand_str(pad_template)
      delete:execute()
      insert:execute()
   end
end

function execute_reads()
   execute_point_selects()
   if sysbench.opt.range_selects then
      execute_simple_ranges()
      execute_sum_ranges()
      execute_order_ranges()
      execute_distinct_ranges()
   end
end

function execute_writes()
   execute_index_updates()
   execute_non_index_updates()
   execute_delete_inserts()
end

-- One event: `reads` and `writes` in a transaction, unless the options say otherwise.
function execute_transaction(reads, writes)
   if not sysbench.opt.skip_trx then
      begin()
   end
   if reads then
      execute_reads()
   end
   if writes then
      execute_writes()
   end
   if not sysbench.opt.skip_trx then
      commit()
   end
   check_reconnect()
end
