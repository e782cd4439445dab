-- Transactions that only write: updates with and without an index, a row deleted and put back.

require("oltp_common")

function prepare_statements()
   prepare_transactions()
   prepare_writes()
end

function event()
   execute_transaction(false, true)
end
