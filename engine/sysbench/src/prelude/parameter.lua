-- Parameters of prepared statements: what a script sets, as it is bound.

local dyno = ...
local raise = dyno.prelude("raise")
local random_string = dyno.rand.string
local int64, uint64 = dyno.real_ffi.typeof("int64_t"), dyno.real_ffi.typeof("uint64_t")
local istype = dyno.real_ffi.istype
local float = dyno.real_ffi.new("float[1]")
local setmetatable, tonumber, tostring, type = setmetatable, tonumber, tostring, type
local floor, ceil, sub = math.floor, math.ceil, string.sub

-- sysbench.sql.type
local TYPE = {
   NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6,
   TIME = 7, DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}

local function class()
   local made = { __tostring = function() return "<sql_param>" end }
   made.__index = made
   return made
end

local function is_int64(value) return istype(int64, value) or istype(uint64, value) end

local function unsupported(self) raise.error("Unsupported argument type: " .. self.type) end

local Whole, Real, Single, Text = class(), class(), class(), class()

-- A whole number; fractions are cut off. nil is NULL.
function Whole:set(value)
   local kind = type(value)
   if kind == "number" then
      self.value = value >= 0 and floor(value) or ceil(value)
   elseif kind == "nil" or kind == "cdata" and is_int64(value) then
      self.value = value
   elseif kind == "boolean" then
      self.value = value and 1 or 0
   else
      raise.error("cannot convert '" .. kind .. "' to 'int64_t'")
   end
end

Whole.set_rand_str = unsupported

function Real:set(value)
   local kind = type(value)
   if kind == "number" or kind == "nil" then
      self.value = value
   elseif kind == "cdata" and is_int64(value) then
      self.value = tonumber(value)
   else
      raise.error("cannot convert '" .. kind .. "' to 'double'")
   end
end

Real.set_rand_str = unsupported

-- A floating-point number of 32 bits: what is more precise is rounded.
function Single:set(value)
   Real.set(self, value)
   if self.value then
      float[0] = self.value
      self.value = float[0]
   end
end

Single.set_rand_str = unsupported

-- A text of at most `max_len` bytes: what is longer is cut off.
local function cut(self, value)
   if #value > self.max_len then value = sub(value, 1, self.max_len) end
   self.value = value
end

function Text:set(value)
   local kind = type(value)
   if kind == "string" then
      cut(self, value)
   elseif kind == "number" then
      cut(self, tostring(value))
   elseif kind == "nil" then
      self.value = nil
   else
      raise.error("cannot convert '" .. kind .. "' to 'char *'")
   end
end

-- `format`: # becomes a digit, @ a letter.
function Text:set_rand_str(format) cut(self, random_string(format)) end

local CLASS = {
   [TYPE.TINYINT] = Whole, [TYPE.SMALLINT] = Whole, [TYPE.INT] = Whole, [TYPE.BIGINT] = Whole,
   [TYPE.FLOAT] = Single, [TYPE.DOUBLE] = Real,
   [TYPE.CHAR] = Text, [TYPE.VARCHAR] = Text,
}

-- A parameter whose value is NULL until it is set.
local function new(kind, max_len)
   local made = CLASS[kind]
   if not made then raise.error("Unsupported argument type: " .. tostring(kind)) end
   if made == Text and type(max_len) ~= "number" then
      raise.error("bind_create: a CHAR or VARCHAR parameter needs its largest length")
   end
   return setmetatable({ type = kind, max_len = max_len }, made)
end

return { new = new, TYPE = TYPE }
