"""Sources of metrics: one file a source, each a `base.Sampler`; `runner` reads them once a second.

`SAMPLERS` lists the modules for the reference and the contract test.
"""

SAMPLERS = ("cpu", "memory", "disk", "process", "counters", "sessions")
