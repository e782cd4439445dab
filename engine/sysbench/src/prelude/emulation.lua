-- Prepared statements without the server's help: values are written into the text of the statement.
-- For --db-ps-mode=disable, and for statements that MySQL cannot prepare.

local dyno = ...
local query = dyno.query
local concat, find, gsub, sub, format = table.concat, string.find, string.gsub, string.sub, string.format
local tostring, type = tostring, type

local emulation = {}

-- Cuts a statement at its question marks; those in quotes are text.
function emulation.cut(sql)
   local pieces, from, at = {}, 1, 1
   while true do
      local mark = find(sql, "[?'\"`]", at)
      if not mark then break end
      local found = sub(sql, mark, mark)
      if found == "?" then
         pieces[#pieces + 1] = sub(sql, from, mark - 1)
         from, at = mark + 1, mark + 1
      else
         at = (find(sql, found, mark + 1, true) or #sql) + 1
      end
   end
   pieces[#pieces + 1] = sub(sql, from)
   return pieces
end

local function text_of(value, escapes)
   local kind = type(value)
   if kind == "nil" then return "NULL" end
   if kind == "number" then return format(value % 1 == 0 and "%.0f" or "%.17g", value) end
   if kind == "cdata" then return (gsub(tostring(value), "U?LL$", "")) end
   if escapes then value = gsub(value, "\\", "\\\\") end
   return "'" .. gsub(value, "'", "''") .. "'"
end

-- The whole text. `escapes`: a backslash in quotes has a meaning to the server.
function emulation.text(pieces, params, escapes)
   local parts = { pieces[1] }
   for i = 2, #pieces do
      parts[#parts + 1] = text_of(params[i - 1].value, escapes)
      parts[#parts + 1] = pieces[i]
   end
   return concat(parts)
end

-- Calls as those of statement.lua: here the statement's number is its pieces.
function emulation.escaping(con, pieces, params) return query(con, emulation.text(pieces, params, true)) end

function emulation.plain(con, pieces, params) return query(con, emulation.text(pieces, params, false)) end

return emulation
