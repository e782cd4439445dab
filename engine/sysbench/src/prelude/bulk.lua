-- Inserts of many rows as few statements: rows are collected until the statement is as long as
-- sysbench's, half a mebibyte.

local dyno = ...
local query, concat = dyno.query, table.concat
local raise, say = dyno.prelude("raise"), dyno.prelude("message")
local records = dyno.prelude("records")
local type = type

-- Length that a statement stays below.
local BYTES_MAX = 512 * 1024

local function start(self, head)
   local record = records[self]
   record.bulk = { head = head, rows = {}, count = 0, bytes = #head }
end

-- Sends what is collected, if anything.
local function flush(record, name)
   local bulk = record.bulk
   if bulk.count == 0 then return end
   local sql = bulk.head .. concat(bulk.rows, ",", 1, bulk.count)
   bulk.count, bulk.bytes = 0, #bulk.head
   local nfields, err = query(record.number, sql)
   if nfields then return end
   record.bulk = nil
   if not record.number then
      dyno.log("alert", "attempt to use an already closed connection")
   else
      say(record.driver, "query", err, sql)
   end
   raise.error(name .. "() failed")
end

local bulk = {}

-- `head`: the statement up to and with VALUES.
function bulk.bulk_insert_init(self, head)
   if type(head) ~= "string" then raise.error("bulk_insert_init: the statement must be a string") end
   start(self, head)
   return true
end

-- `row`: one or more rows in parentheses.
function bulk.bulk_insert_next(self, row)
   local record = records[self]
   local collected = record.bulk
   if not collected then
      dyno.log("alert", "attempt to call bulk_insert_next() before bulk_insert_init()")
      raise.error("db_bulk_insert_next() failed")
   elseif type(row) ~= "string" then
      raise.error("bulk_insert_next: the row must be a string")
   end
   if collected.count > 0 and collected.bytes + 1 + #row >= BYTES_MAX then
      flush(record, "db_bulk_insert_next")
   end
   local count = collected.count + 1
   collected.rows[count], collected.count = row, count
   collected.bytes = collected.bytes + #row + (count > 1 and 1 or 0)
   return true
end

-- Sends the rest.
function bulk.bulk_insert_done(self)
   local record = records[self]
   if record.bulk then
      flush(record, "db_bulk_insert_done")
      record.bulk = nil
   end
   return true
end

return bulk
