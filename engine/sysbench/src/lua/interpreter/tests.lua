-- The prelude of this module's own tests: scripts see the primitives themselves.

local dyno = ...

return function(env)
  env.dyno = dyno
  env.sysbench = {
    opt = dyno.options(),
    cmdline = { PARALLEL_COMMAND = 1 },
    error = { RESTART_EVENT = 1 },
    hooks = {},
  }
end
