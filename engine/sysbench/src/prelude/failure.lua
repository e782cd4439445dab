-- What follows when a connection did not do what a script asked.

local dyno = ...
local raise, say = dyno.prelude("raise"), dyno.prelude("message")

-- sysbench.sql.error
local ERROR = { NONE = 0, IGNORABLE = 1, FATAL = 2 }

-- Never returns. `record`: of the connection `con`; `err`: see primitives/mod.rs; `what`: connect,
-- reconnect, query, prepare, execute.
local function failed(con, record, err, what, sql)
   if not record.number then
      dyno.log("alert", "attempt to use an already closed connection")
      raise.error_beyond("SQL API error")
   end
   local is_ignorable = err.kind == "ignorable"
   -- An ignorable loss has been made good already.
   record.is_lost = err.lost and not is_ignorable
   if not is_ignorable then say(record.driver, what, err, sql) end
   -- The record keeps the texts that the connection's fields point to.
   record.state, record.message = err.state, err.message
   con.error = is_ignorable and ERROR.IGNORABLE or ERROR.FATAL
   con.sql_errno, con.sql_state, con.sql_errmsg = err.number, record.state, record.message
   -- MySQL begins a transaction whatever is open; the others refuse all until the old one is ended.
   if is_ignorable and not err.lost and record.driver ~= "mysql" then dyno.rollback(record.number) end
   local description = {
      connection = con,
      query = sql,
      sql_errno = err.number,
      sql_state = err.state,
      sql_errmsg = err.message,
   }
   raise.refused(description, err.kind, what == "prepare" and "SQL API error" or nil)
end

return failed
