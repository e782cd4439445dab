-- Transactions that only read: point selects and four kinds of ranges.

require("oltp_common")

function prepare_statements()
   prepare_transactions()
   prepare_reads()
end

function event()
   execute_transaction(true, false)
end
