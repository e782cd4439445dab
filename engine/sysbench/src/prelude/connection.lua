-- Connections. They are C structures, as in sysbench, so that scripts which print, compare or read
-- them find what they expect.

local dyno = ...
local ffi = dyno.real_ffi
local raise, records, bulk = dyno.prelude("raise"), dyno.prelude("records"), dyno.prelude("bulk")
local new_result, new_statement = dyno.prelude("result"), dyno.prelude("statement")
local failed, say, emulation = dyno.prelude("failure"), dyno.prelude("message"), dyno.prelude("emulation")
local dyno_query, dyno_fetch = dyno.query, dyno.fetch
local type = type

-- MySQL: this command is not supported in the prepared statement protocol yet.
local ER_UNSUPPORTED_PS = 1295

local Connection = {}

-- Connections that Lua has collected without a disconnect, by session: they are closed when their
-- session connects again. A finalizer may run in another session's turn, and may not wait.
local abandoned = {}

local type_of_connection = ffi.typeof([[struct {
   double number;
   int32_t owner, error, sql_errno;
   const char *sql_state, *sql_errmsg;
}]])

local function owner() return dyno.tid() or -1 end

local function close_abandoned()
   local list = abandoned[owner()]
   if not list then return end
   abandoned[owner()] = nil
   for i = 1, #list do dyno.disconnect(list[i]) end
end

-- The number of a new connection.
local function opened(driver)
   local number, err = dyno.connect(driver)
   if number then return number end
   say(driver, "connect", err)
   raise.error("connection creation failed")
end

-- A result of the connection whose record this is.
local function filled(record, nfields, nrows)
   local result = record.result
   result.nfields, result.nrows, result.row = nfields, nrows, 0
   return result
end

-- Runs a statement; its result, also if that has no rows.
function Connection.query(self, sql)
   local record = records[self]
   if type(sql) ~= "string" then
      raise.error("query: the statement must be a string, not a " .. type(sql))
   end
   local nfields, nrows = dyno_query(record.number, sql)
   if not nfields then return failed(self, record, nrows, "query", sql) end
   local result = record.result
   result.nfields, result.nrows, result.row = nfields, nrows, 0
   return result
end

-- Runs a statement; the fields of its first row, or nil.
function Connection.query_row(self, sql)
   local result = Connection.query(self, sql)
   if result.nrows == 0 then return nil end
   result.row = 1
   return dyno_fetch(records[self].number, 0)
end

function Connection.prepare(self, sql)
   local record = records[self]
   if type(sql) ~= "string" then
      raise.error("prepare: the statement must be a string, not a " .. type(sql))
   end
   if not record.emulates then
      local number, count = dyno.prepare(record.number, sql)
      if number then return new_statement(self, record, sql, number, count) end
      if not record.number or count.number ~= ER_UNSUPPORTED_PS then
         return failed(self, record, count, "prepare", sql)
      end
   end
   local pieces = emulation.cut(sql)
   return new_statement(self, record, sql, pieces, #pieces - 1)
end

-- The next result of the last statement that has rows; nil: there is none.
function Connection.next_result(self)
   local record = records[self]
   repeat
      local nfields, nrows = dyno.next_result(record.number)
      if not nfields then
         if nrows then failed(self, record, nrows, "query", "") end
         return nil
      end
      if nfields > 0 then return filled(record, nfields, nrows) end
   until false
end

function Connection.more_results(self) return dyno.more_results(records[self].number) end

Connection.bulk_insert_init = bulk.bulk_insert_init
Connection.bulk_insert_next = bulk.bulk_insert_next
Connection.bulk_insert_done = bulk.bulk_insert_done

function Connection.disconnect(self)
   local record = records[self]
   if not record.number then
      dyno.log("alert", "attempt to close an already closed connection")
      return true
   end
   dyno.disconnect(record.number)
   record.number, self.number = nil, -1
   return true
end

-- Closes and opens again, also what was closed before. Prepared statements are gone. sysbench 1.0
-- does not do it with PostgreSQL; there it is done if the connection is lost.
function Connection.reconnect(self)
   local record = records[self]
   if dyno.compat == "1.0" and record.driver == "pgsql" and record.number and not record.is_lost then
      dyno.log("alert", "reconnect is not supported by the current driver")
      return true
   end
   record.is_lost = false
   if record.number then
      local done, err = dyno.reconnect(record.number)
      if not done then failed(self, record, err, "reconnect", "") end
   else
      record.number = opened(record.driver)
      self.number = record.number
   end
   return true
end

ffi.metatype(type_of_connection, {
   __index = Connection,
   __tostring = function() return "<sql_connection>" end,
   __gc = function(self)
      if self.number < 0 then return end
      local list = abandoned[self.owner] or {}
      abandoned[self.owner] = list
      list[#list + 1] = self.number
   end,
})

-- Connects to the database of a driver, by its name.
return function(driver)
   close_abandoned()
   local number = opened(driver)
   local con = type_of_connection(number, owner())
   local record = { number = number, driver = driver, emulates = dyno.options().db_ps_mode == "disable" }
   record.result = new_result(record)
   records[con] = record
   return con
end
