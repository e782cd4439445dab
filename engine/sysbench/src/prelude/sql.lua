-- sysbench.sql.

local dyno = ...
local raise, connect, parameter = dyno.prelude("raise"), dyno.prelude("connection"), dyno.prelude("parameter")
local setmetatable = setmetatable

local Driver = { __tostring = function() return "<sql_driver>" end }
Driver.__index = Driver

function Driver:name() return self.named end

function Driver:connect() return connect(self.named) end

local drivers = {}

-- The driver of this name, or of --db-driver. The same one each time.
local function driver(name)
   local found, message = dyno.driver(name or dyno.options().db_driver)
   if not found then
      dyno.log("fatal", message)
      raise.error("failed to initialize the DB driver")
   end
   drivers[found] = drivers[found] or setmetatable({ named = found }, Driver)
   return drivers[found]
end

return {
   driver = driver,
   type = parameter.TYPE,
   error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
}
