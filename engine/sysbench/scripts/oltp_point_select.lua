-- One select by key an event.

require("oltp_common")

function prepare_statements()
   -- One an event: the option is for transactions.
   sysbench.opt.point_selects = 1
   prepare_point_selects()
end

function event()
   execute_point_selects()
   check_reconnect()
end
