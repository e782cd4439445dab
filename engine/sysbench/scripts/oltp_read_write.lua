-- Transactions that read as oltp_read_only's do, and then write as oltp_write_only's.

require("oltp_common")

function prepare_statements()
   prepare_transactions()
   prepare_reads()
   prepare_writes()
end

function event()
   execute_transaction(true, true)
end
