"""Sources of metrics: one file a source, each a `base.Sampler`; `runner` reads them each interval.

`SAMPLERS` lists the modules for the reference and the contract test. `hosts` samples other machines
with the same parsers.
"""

SAMPLERS = (
    *("machine.cpu", "machine.memory", "machine.disk", "machine.network"),
    *("machine.paging", "machine.load", "machine.pressure"),
    *("server.process", "server.state", "server.files", "server.counters"),
    *("server.sessions", "server.replication"),
)
