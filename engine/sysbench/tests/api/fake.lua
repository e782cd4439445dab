-- The primitives (src/lua/primitives/mod.rs) over a database that answers by the text of a statement:
--   rows N      N rows of two columns: N.row, nil      change N   changes N rows
--   refuse N    refused with number N                  ignore N   the same, ignorable
--   lose        the connection is lost
--   call        two results with rows, then one without
-- What is printed, logged and sent goes into a list of lines.

local read = ...
local ffi = require("ffi")

local function copy(from)
   local to = {}
   for key, value in pairs(from) do to[key] = value end
   return to
end

-- Primitives for one session with these options; lines; a table of globals for its script.
local function make(options)
   local lines, env, opened, current, loaded = {}, copy(_G), {}, nil, {}
   env._G = env
   local dyno = { compat = options.compat or "1.0", version = "1.0.20", version_string = "sysbench 1.0.20" }
   local function line(...)
      local parts = { ... }
      for i = 1, select("#", ...) do parts[i] = tostring(parts[i]) end
      lines[#lines + 1] = table.concat(parts, " ")
   end
   env.print = line

   local function answer(text)
      local word, number = text:match("^(%a+) ?(%d*)")
      number = tonumber(number) or 0
      if word == "rows" then return 2, number, 0 end
      if word == "change" then return 0, 0, number end
      if word == "call" then return 2, 1, 0 end
      if word == "lose" then
         return nil, { number = 0, state = "08006", message = "lost", kind = "fatal", lost = true }
      end
      if word == "refuse" or word == "ignore" then
         local kind = word == "ignore" and "ignorable" or "fatal"
         return nil, { number = number, state = "40001", message = "no", kind = kind, lost = false }
      end
      return 0, 0, 0
   end
   local function usable(con)
      if opened[con] then return true end
      return false, { number = 0, state = "", message = "closed", kind = "fatal" }
   end

   function dyno.env() return env end
   function dyno.tid() return options.tid end
   function dyno.options() return copy(options.options or {}) end
   function dyno.script_path() return "script.lua" end
   function dyno.command() return "run" end
   function dyno.argv() return { [0] = "sysbench", "script.lua", "run" } end
   function dyno.log(level, text) line(level .. ": " .. text) end
   function dyno.print(text) line((text:gsub("\n$", ""))) end
   function dyno.driver(name)
      if name == nil or name == "mysql" or name == "pgsql" then return name or options.driver or "mysql" end
      return nil, "invalid database driver name: '" .. name .. "'"
   end
   function dyno.connect(driver)
      if options.unreachable then
         return nil, { number = 2005, state = "HY000", message = "host far is unknown", kind = "fatal", lost = true }
      end
      opened[#opened + 1] = driver
      return #opened
   end
   function dyno.disconnect(con)
      line("disconnect", con)
      opened[con] = false
   end
   function dyno.reconnect(con)
      line("reconnect", con)
      return true
   end
   function dyno.rollback(con) line("rollback", con) end
   function dyno.query(con, sql)
      local ok, err = usable(con)
      if not ok then return nil, err end
      line("sent", sql)
      current = { sql = sql, number = 1 }
      return answer(sql)
   end
   function dyno.prepare(con, sql)
      local ok, err = usable(con)
      if not ok then return nil, err end
      line("prepare", sql)
      local nfields, refused = answer(sql)
      if not nfields then return nil, refused end
      return sql, select(2, sql:gsub("%?", ""))
   end
   function dyno.execute(con, statement, count, ...)
      local ok, err = usable(con)
      if not ok then return nil, err end
      line("execute", statement, count, ...)
      current = { sql = statement, number = 1 }
      return answer(statement)
   end
   function dyno.close(_, statement) line("close", statement) end
   function dyno.more_results() return current.sql == "call" and current.number < 3 end
   function dyno.next_result()
      if current.sql ~= "call" or current.number > 2 then return end
      current.number = current.number + 1
      if current.number == 2 then return 2, 3, 0 end
      return 0, 0, 0
   end
   function dyno.fetch(_, row)
      local count = current.sql == "call" and (current.number == 1 and 1 or 3) or tonumber(current.sql:match("%d+"))
      if row < count then return current.number .. "." .. row, nil end
   end
   function dyno.count_error() line("counted") end
   function dyno.report(form, stat) return form .. " " .. tostring(stat.events) .. "\n" end
   function dyno.histogram(size)
      if size < 2 then return nil, "too small" end
      local seen = {}
      return {
         update = function(_, value) seen[#seen + 1] = value end,
         percentile = function() return seen[1] end,
         draw = function() return table.concat(seen, ",") end,
      }
   end
   local function first(a, b) return a .. "-" .. b end
   dyno.rand = {
      uniform = first, gaussian = first, special = first, pareto = first, zipfian = first, default = first,
      unique = first, uniform_uint64 = function() return 1ULL end, uniform_double = function() return 0.5 end,
      string = function(template) return (template:gsub("#", "1"):gsub("@", "a")) end,
      varstring = function(min) return ("v"):rep(min) end,
   }
   dyno.ffi, dyno.real_ffi = copy(ffi), ffi
   function dyno.prelude(name)
      if loaded[name] == nil then loaded[name] = assert(loadstring(read(name), "@" .. name .. ".lua"))(dyno) end
      return loaded[name]
   end
   return dyno, lines, env
end

-- Runs a script with these options; its lines.
return function(script, options)
   local dyno, lines, env = make(loadstring("return " .. options)())
   dyno.prelude("init")(env)
   local chunk = assert(loadstring(script, "@script.lua"))
   local ok, err = pcall(setfenv(chunk, env))
   if not ok then lines[#lines + 1] = "failed: " .. tostring(err) end
   return table.concat(lines, "\n")
end
