-- One delete by key an event; keys that are gone delete nothing.

require("oltp_common")

function prepare_statements()
   prepare_for_each_table("deletes")
end

function event()
   execute_deletes()
   check_reconnect()
end
