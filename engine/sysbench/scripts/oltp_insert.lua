-- One insert an event. Without keys from the database, each session counts on from the largest key
-- there was, in steps that leave room for the others.

require("oltp_common")

-- By table.
local next_id

local function largest_ids()
   local found = {}
   for number = 1, sysbench.opt.tables do
      local largest = con:query_row("SELECT MAX(id) FROM sbtest" .. number)
      found[number] = (tonumber(largest) or 0) + 1 + sysbench.tid
   end
   return found
end

-- Texts differ from event to event: nothing is prepared.
function prepare_statements()
   if not sysbench.opt.auto_inc and not next_id then
      next_id = largest_ids()
   end
end

function event()
   local number = get_table_num()
   local columns, id = "(k, c, pad)", ""
   if next_id then
      columns, id = "(id, k, c, pad)", next_id[number] .. ", "
      next_id[number] = next_id[number] + sysbench.opt.threads
   end
   con:query(string.format(
      "INSERT INTO sbtest%d %s VALUES (%s%d, '%s', '%s')",
      number, columns, id, sysbench.rand.default(1, sysbench.opt.table_size), get_c_value(),
      get_pad_value()
   ))
   check_reconnect()
end
