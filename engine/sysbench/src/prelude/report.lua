-- sysbench.report_default, report_csv, report_json, to be used as hooks; sysbench.histogram.

local dyno = ...
local error, type, setmetatable, format = error, type, setmetatable, string.format

local function default(stat) dyno.print(dyno.report("default", stat)) end

local function csv(stat) dyno.print(dyno.report("csv", stat)) end

local function json(stat) dyno.print(dyno.report("json", stat)) end

local Histogram = { __tostring = function() return "<histogram>" end }
Histogram.__index = Histogram

function Histogram:update(value)
   if type(value) ~= "number" then
      error(format("histogram:update(value): a number is needed, not a %s", type(value)), 2)
   end
   self.counts:update(value)
end

function Histogram:percentile(percent) return self.counts:percentile(percent) end

function Histogram:print() dyno.print(self.counts:draw()) end

-- `size` buckets of one ratio between `min` and `max`.
local function histogram(size, min, max)
   if type(size) ~= "number" or type(min) ~= "number" or type(max) ~= "number" then
      error("sysbench.histogram.new(size, min, max): three numbers are needed", 2)
   end
   local counts, message = dyno.histogram(size, min, max)
   if not counts then error(message, 2) end
   return setmetatable({ counts = counts }, Histogram)
end

return { default = default, csv = csv, json = json, histogram = histogram }
