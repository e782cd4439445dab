-- sysbench.rand. Ends of ranges are part of them.

local dyno = ...
local rand = dyno.rand
local is_1_0 = dyno.compat == "1.0"

-- The largest number that `unique` gives unless told otherwise.
local UINT32_MAX = 4294967295

local unique = rand.unique

return {
   default = rand.default,
   uniform = rand.uniform,
   gaussian = rand.gaussian,
   pareto = rand.pareto,
   zipfian = rand.zipfian,
   special = is_1_0 and rand.special or nil,
   unique = function(min, max) return unique(min or 0, max or UINT32_MAX) end,
   uniform_uint64 = rand.uniform_uint64,
   uniform_double = rand.uniform_double,
   string = rand.string,
   varstring = rand.varstring,
}
