-- Selects of random values of an indexed column by IN().

require("oltp_common")

sysbench.cmdline.options.random_points = {
   "Number of random points in the IN() clause in generated SELECTs", 10
}

local statement, points

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   local count = sysbench.opt.random_points
   local marks = string.rep("?, ", count - 1) .. "?"
   statement = con:prepare("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" .. marks .. ")")
   points = {}
   for i = 1, count do
      points[i] = statement:bind_create(sysbench.sql.type.INT)
   end
   statement:bind_param(unpack(points))
end

function thread_done()
   statement:close()
   con:disconnect()
end

function event()
   for i = 1, #points do
      points[i]:set(get_id())
   end
   statement:execute()
end
