-- What a statement returned. A connection has one result object: each of its statements fills it
-- anew, and rows are fetched from where the load thread keeps them.

local dyno = ...
local fetch = dyno.fetch
local setmetatable = setmetatable

local Result = { __tostring = function() return "<sql_result>" end }
Result.__index = Result

-- Of a connection's `record`: see connection.lua. `row`: the next one to fetch, from 0; -1: it was
-- freed.
local function new(record) return setmetatable({ nrows = 0, nfields = 0, row = 0, record = record }, Result) end

local function row_of(...)
   if select("#", ...) > 0 then return { ... } end
end

-- The next row as a list of strings, nil for NULL; nil after the last.
function Result:fetch_row()
   local row = self.row
   if row < 0 then
      dyno.log("alert", "attempt to fetch row from an invalid result set")
      return nil
   elseif self.nfields == 0 then
      dyno.log("alert", "attempt to fetch row from an empty result set")
      return nil
   elseif row >= self.nrows then
      return nil
   end
   self.row = row + 1
   return row_of(fetch(self.record.number, row))
end

function Result:free()
   if self.row < 0 or self.nfields == 0 then
      dyno.log("alert", "attempt to free an invalid result set")
      dyno.prelude("raise").error("db_free_results() failed")
   end
   self.row = -1
end

return new
