-- Each thread fills a table of its own, many rows a statement: an event is one row.

local inserted = 0

local function table_name()
   return "sbtest" .. sysbench.tid + 1
end

function prepare()
   local con = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.threads do
      print("Creating table 'sbtest" .. number .. "'...")
      con:query(
         "CREATE TABLE IF NOT EXISTS sbtest" .. number
            .. " (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))"
      )
   end
end

function thread_init()
   con = sysbench.sql.driver():connect()
   con:bulk_insert_init("INSERT INTO " .. table_name() .. " VALUES")
end

function event()
   inserted = inserted + 1
   con:bulk_insert_next("(" .. inserted .. "," .. inserted .. ")")
end

function thread_done()
   con:bulk_insert_done()
   con:disconnect()
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.threads do
      print("Dropping table 'sbtest" .. number .. "'...")
      con:query("DROP TABLE IF EXISTS sbtest" .. number)
   end
end
