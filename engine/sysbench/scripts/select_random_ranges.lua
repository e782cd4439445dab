-- Counts over random ranges of an indexed column.

require("oltp_common")

sysbench.cmdline.options.number_of_ranges = {
   "Number of random BETWEEN ranges per SELECT", 10
}
sysbench.cmdline.options.delta = {"Size of BETWEEN ranges", 5}

local statement, ends

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   local count = sysbench.opt.number_of_ranges
   local ranges = string.rep("k BETWEEN ? AND ? OR ", count - 1) .. "k BETWEEN ? AND ?"
   statement = con:prepare("SELECT COUNT(k) FROM sbtest1 WHERE " .. ranges)
   ends = {}
   for i = 1, 2 * count do
      ends[i] = statement:bind_create(sysbench.sql.type.INT)
   end
   statement:bind_param(unpack(ends))
end

function thread_done()
   statement:close()
   con:disconnect()
end

function event()
   for i = 1, #ends, 2 do
      local low = get_id()
      ends[i]:set(low)
      ends[i + 1]:set(low + sysbench.opt.delta)
   end
   statement:execute()
end
