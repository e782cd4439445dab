-- How errors reach scripts: as text with the place in the script that called us, or as a table that
-- makes the event begin again.

local dyno = ...
local std, getinfo, getfenv = _G, debug.getinfo, getfenv
local error, type = error, type

local raise = {}

-- "script.lua:12: ", the place in the script that is nearest; of what a C function such as pcall
-- called directly, "" unless `beyond` it is meant too. The prelude's own functions are those whose
-- globals are Lua's.
local function place(beyond)
   local level = 3
   while true do
      local info = getinfo(level, "Slf")
      if not info then return "" end
      if info.what == "C" then
         if not beyond then return "" end
      elseif getfenv(info.func) ~= std then
         return info.short_src .. ":" .. info.currentline .. ": "
      end
      level = level + 1
   end
end

-- Raises `message` with the place of the caller.
function raise.error(message) error(place(false) .. message, 0) end

-- The same, and looks for a place through whatever called us.
function raise.error_beyond(message) error(place(true) .. message, 0) end

-- After a statement that a server refused: `description` is what the hook sql_error_ignorable is
-- told. `kind` of "ignorable" lets the event begin again, and so does a hook that returns true.
-- `message`: the text of the error otherwise; nil: what the server said.
function raise.refused(description, kind, message)
   local sysbench = dyno.env().sysbench
   local is_ignorable = kind == "ignorable"
   if not is_ignorable then
      local hook = type(sysbench.hooks) == "table" and sysbench.hooks.sql_error_ignorable
      if type(hook) == "function" and hook(description) then
         dyno.count_error()
         is_ignorable = true
      end
   end
   if is_ignorable then
      description.errcode = sysbench.error.RESTART_EVENT
      error(description, 0)
   end
   message = message or "SQL error, errno = " .. description.sql_errno .. ", state = '"
      .. description.sql_state .. "': " .. description.sql_errmsg
   error(place(false) .. message, 0)
end

return raise
