local dyno = ... return function(env) env.sysbench = {cmdline={}, error={}, hooks={}} end
