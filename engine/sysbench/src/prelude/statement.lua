-- Prepared statements.
--
-- `execute` is the path that every statement of a benchmark takes: it makes no table and no closure,
-- and hands values over by a function made once for each number of parameters.

local dyno = ...
local parameter, raise = dyno.prelude("parameter"), dyno.prelude("raise")
local emulation, failed = dyno.prelude("emulation"), dyno.prelude("failure")
local close, next_result, more_results = dyno.close, dyno.next_result, dyno.more_results
local select, setmetatable, tostring = select, setmetatable, tostring

local Statement = { __tostring = function() return "<sql_statement>" end }
Statement.__index = Statement

-- Executes with so many parameters. Beyond what one call of Lua's can hold, a list is unpacked.
local UNPACKED_FROM = 200
local calls = {}

local function call_of(count)
   local made = calls[count]
   if made then return made end
   if count < UNPACKED_FROM then
      local values = {}
      for i = 1, count do values[i] = ", params[" .. i .. "].value" end
      made = assert(loadstring("local execute = ... return function(con, statement, params) "
         .. "return execute(con, statement, " .. count .. table.concat(values) .. ") end"))(dyno.execute)
   else
      made = function(con, statement, params)
         local values = {}
         for i = 1, count do values[i] = params[i].value end
         return dyno.execute(con, statement, count, unpack(values, 1, count))
      end
   end
   calls[count] = made
   return made
end

local function misuse(message)
   return function() return nil, { number = 0, state = "00000", message = message, kind = "fatal" } end
end

local unbound = misuse("parameters are not bound")
local closed = misuse("the statement is closed")

-- Of a connection with its record: `number` as `dyno.prepare` gave it, or pieces to be emulated.
local function new(con, record, sql, number, count)
   local call = count == 0 and call_of(0) or unbound
   local is_emulated = type(number) == "table"
   if is_emulated and count == 0 then call = emulation.plain end
   return setmetatable({
      connection = con, record = record, sql = sql, number = number, count = count,
      call = call, is_emulated = is_emulated,
   }, Statement)
end

function Statement:execute()
   local record = self.record
   local nfields, nrows = self.call(record.number, self.number, self.params)
   if not nfields then return failed(self.connection, record, nrows, "execute", self.sql) end
   local result = record.result
   result.nfields, result.nrows, result.row = nfields, nrows, 0
   return result
end

-- A parameter of a type of sysbench.sql.type; texts have a largest length.
function Statement:bind_create(kind, max_len) return parameter.new(kind, max_len) end

-- Says which parameters stand for the question marks. 0: done; 1: there are not as many.
function Statement:bind_param(...)
   local count = select("#", ...)
   if count == 0 then return nil end
   local params = { ... }
   for i = 1, count do
      if type(params[i]) ~= "table" then
         raise.error("bind_param: argument " .. i .. " is no parameter of bind_create")
      end
   end
   if count ~= self.count then
      if self.record.driver == "mysql" then
         dyno.log("fatal", "Wrong number of parameters to mysql_stmt_bind_param")
      else
         dyno.log("alert", "wrong number of parameters in prepared statement")
      end
      return 1
   end
   self.params = params
   if self.call ~= closed then
      if self.is_emulated then
         self.call = self.record.driver == "mysql" and emulation.escaping or emulation.plain
      else
         self.call = call_of(count)
      end
   end
   return 0
end

-- Columns need no places to be put into.
function Statement:bind_result() return 0 end

-- The next result of the last execution that has rows; nil: there is none.
function Statement:next_result() return self.connection:next_result() end

function Statement:more_results() return self.connection:more_results() end

function Statement:close()
   local number = self.record.number
   if self.call ~= closed and not self.is_emulated and number then close(number, self.number) end
   self.call = closed
end

return new
