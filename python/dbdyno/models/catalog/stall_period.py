"""How often, and for how long, do rotations of the log and write-back stall the server?

A binary log that is not synced at each commit is synced when it is full: all of it that the kernel
has not written yet, at once, while commits wait. And the kernel itself begins to write when dirty
pages pass a limit.

Formula:
    period [duration] = log / write
        time between two rotations
    background [size] = dirty_background * memory
        dirty pages from which the kernel writes back
    dirty [size] = 0 if synced == "yes" else min(log, min(write * expire, background))
        part of the log that is still to be written when it rotates
    stall [duration] = dirty / device
        how long that takes
    share [share] = min(1, stall / period)
        part of the time that is stalled
    fills [duration] = background / write
        time in which the writes alone reach the limit of write-back

Assumptions:
    Writes are even, and the device does nothing else meanwhile. `memory` is what the kernel counts
    the ratios from: free memory and file cache, not all memory. Dirty pages are written when they
    are `expire` old (30 s, looked at each 5 s).

    With sync_binlog=1 nothing is left at a rotation; what stays is the pause of a new file.

Versions:
    MySQL has sync_binlog=1 by default since 5.7.7, MariaDB (all versions so far) 0. max_binlog_size
    is 1 GiB by default in both. Linux: vm.dirty_background_ratio 10, dirty_expire_centisecs 3000.

Source:
    MySQL and MariaDB manuals (sync_binlog, max_binlog_size); Linux,
    Documentation/admin-guide/sysctl/vm.rst. Read 2026-11. Own derivation.

Trap:
    The cure is not free: lowering dirty_background_ratio from 10 to 1 costs 2.8 % of throughput,
    max_binlog_size from 1G to 64M about 4 % in the published runs. The mean falls a little, and
    the stalls go: what matters is which of both is wanted.

    "All of the log is written at the rotation": only what became dirty in the last half minute, or
    less if the background limit is passed.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("log", "size", "`max_binlog_size`", "1Gi", "4Ki", "1Gi", variables=("max_binlog_size",)),
    Input("write", "throughput", "what is written to the binary log", None, "1KiB/s",
          example="20MiB/s"),
    Input("device", "throughput", "what the device writes in order", "200MiB/s", "1KiB/s"),
    Input("synced", "word", "whether each commit syncs the log (sync_binlog=1)", "no",
          words=("yes", "no"), variables=("sync_binlog",)),
    Input("memory", "size", "free memory and file cache", "8Gi", "1Mi"),
    Input("dirty_background", "share", "vm.dirty_background_ratio", "10%", "0%", "100%"),
    Input("expire", "duration", "age at which the kernel writes dirty pages", "30s", "1s", "1h"),
)  # fmt: skip
OUTPUTS = ("period", "stall", "dirty", "share", "fills")
SAYS = (
    ("stall <= 0", "A rotation every {period}, at which nothing is left to be written."),
    ("", "A stall of {stall} every {period}, at each rotation of the binary log."),
)
NOTES = (
    Note("write > device", "more is written than the device takes: it stalls all the time"),
    Note(
        "synced == 'no' and dirty >= background",
        "the kernel's limit of write-back is passed ({background}): it also stalls by itself",
    ),
)
GOLDEN = (
    Golden({"write": "10MiB/s"}, {"period": "102.4s", "dirty": "300Mi", "stall": "1.5s"},
           "by hand"),
    Golden({"write": "10MiB/s", "log": "64Mi"}, {"period": "6.4s", "stall": "320ms"}, "by hand"),
    Golden({"write": "40MiB/s", "dirty_background": "1%"}, {"dirty": "81.92Mi", "stall": "410ms"},
           "by hand"),
    Golden({"write": "10MiB/s", "synced": "yes"}, {"stall": "0s"}, "sync_binlog=1"),
)  # fmt: skip
