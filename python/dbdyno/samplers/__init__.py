"""Sources of metrics: one file a source, each a `base.Sampler`; `runner` reads them each interval.

`SAMPLERS` lists the modules for the reference and the contract test. `hosts` samples other machines
with the same parsers.
"""

SAMPLERS = (
    *("cpu", "memory", "disk", "network", "paging", "load", "pressure"),
    *("process", "state", "counters", "sessions", "replication"),
)
