-- What is printed when a database refuses: in the words of sysbench's drivers, which wrappers look
-- for. By driver and by what was done: functions of `err` (primitives/mod.rs) and the statement that
-- give lines.

local dyno = ...
local format, find = string.format, string.find

local function first(list)
   if type(list) == "table" then return list[1] end
   return list
end

local mysql = {}

function mysql.connect(err)
   local options = dyno.options()
   -- A socket that was not asked for stands for the host "localhost".
   local asked = first(options.mysql_socket)
   local socket = asked and (err.socket or asked)
   local host = err.host or first(options.mysql_host) or "localhost"
   local message = err.message
   if err.number == 2005 then message = format("Unknown MySQL server host '%s' (0)", host) end
   local whom
   if socket and socket ~= "" then
      whom = format("socket '%s'", socket)
   else
      whom = format("host '%s', port %d", host, err.port or first(options.mysql_port) or 3306)
   end
   return {
      format("unable to connect to MySQL server on %s, aborting...", whom),
      format("error %d: %s", err.number, message),
   }
end

mysql.reconnect = mysql.connect

function mysql.query(err, sql)
   return { format("mysql_drv_query() returned error %d (%s) for query '%s'", err.number, err.message, sql) }
end

function mysql.prepare(err)
   return { "mysql_stmt_prepare() failed", format('MySQL error: %d "%s"', err.number, err.message) }
end

function mysql.execute(err, sql)
   return { format("mysql_stmt_execute() returned error %d (%s) for query '%s'", err.number, err.message, sql) }
end

local pgsql = {}

function pgsql.connect(err)
   local message = err.message
   if find(message, " is unknown", 1, true) then
      local host = err.host or dyno.options().pgsql_host
      message = format('could not translate host name "%s" to address: %s', host, message)
   end
   return { format("Connection to database failed: %s\n", message) }
end

pgsql.reconnect = pgsql.connect

-- The status that libpq has for a refused statement.
local PGRES_FATAL_ERROR = 7

function pgsql.query(err, sql)
   return { format("PQexec() failed: %d %s", PGRES_FATAL_ERROR, err.message), "failed query was: " .. sql }
end

function pgsql.prepare(err)
   return { "PQprepare() failed: " .. err.message }
end

function pgsql.execute(err, sql)
   return { format("PQexecPrepared() failed: %d %s", PGRES_FATAL_ERROR, err.message), "failed query was: " .. sql }
end

-- Drivers that sysbench does not have.
local other = {}

function other.connect(err) return { "unable to open the database: " .. err.message } end

other.reconnect = other.connect

function other.query(err, sql)
   return { format("error %d (%s) for query '%s'", err.number, err.message, sql) }
end

other.prepare, other.execute = other.query, other.query

local drivers = { mysql = mysql, pgsql = pgsql }

-- Prints why `what` (connect, reconnect, query, prepare, execute) did not work.
return function(driver, what, err, sql)
   local lines = (drivers[driver] or other)[what](err, sql)
   for i = 1, #lines do dyno.log("fatal", lines[i]) end
end
