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
    stall [duration] = 0 if synced == "yes" else dirty / device + fsync
        how long that takes, and a sync by itself
    share [share] = min(1, stall / period)
        part of the time that is stalled
    fills [duration] = background / write
        time in which the writes alone reach the limit of write-back

Assumptions:
    Writes are even, and the device does nothing else meanwhile. `memory` is what the kernel counts
    the ratios from: free memory and file cache, not all memory. Dirty pages are written when they
    are `expire` old (30 s). The kernel looks for them each 5 s, so that the writes of up to 5 s
    more may be left.

    vm.dirty_background_ratio is where the kernel begins to write in the background. That alone
    stalls nobody. Writers are held back near vm.dirty_ratio, which is no part of this: while the
    device writes faster than the server, the log alone does not get there.

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
    Input("fsync", "duration", "what a sync of little data takes (`commit-ceiling`)", "1ms", "0s",
          "10s"),
    Input("synced", "word", "whether each commit syncs the log (sync_binlog=1)", "no",
          words=("yes", "no"), variables=("sync_binlog",)),
    Input("memory", "size", "free memory and file cache", "8Gi", "1Mi"),
    Input("dirty_background", "share", "vm.dirty_background_ratio", "10%", "0%", "100%"),
    Input("expire", "duration", "age at which the kernel writes dirty pages", "30s", "1s", "1h"),
)  # fmt: skip
OUTPUTS = ("period", "stall", "dirty", "share", "fills")
SAYS = (
    ("synced == 'yes'", "A rotation every {period}, at which nothing is left to be written."),
    ("", "A stall of {stall} every {period}, at each rotation of the binary log."),
)
REFUSALS = (
    Note("write > device", "write={write} is more than device={device} takes: no log keeps up"),
)
NOTES = (
    Note("stall >= period",
         "the next log is full before this one is synced: it stalls all the time"),
    Note("synced == 'no' and dirty >= background and background > 0",
         "the kernel begins to write in the background at {background}, so that no more is left;"
         " that alone stalls nobody, until vm.dirty_ratio is near"),
    Note("synced == 'no' and dirty_background <= 0",
         "Linux shows vm.dirty_background_ratio as 0 where vm.dirty_background_bytes is set: say"
         " what part of memory that is"),
    Note("synced == 'no' and log <= 64 * MiB",
         "a small log is not free: from 1G to 64M cost about 4 % of throughput in published runs"),
    Note("synced == 'no' and dirty_background > 0 and dirty_background <= 0.01",
         "a low limit of write-back is not free: from 10 to 1 cost 2.8 % of throughput in published"
         " runs"),
)  # fmt: skip
GOLDEN = (
    Golden({"write": "10MiB/s"}, {"period": "102.4s", "dirty": "300Mi", "stall": "1.5s"},
           "by hand"),
    Golden({"write": "10MiB/s", "log": "64Mi"}, {"period": "6.4s", "stall": "321ms"},
           "by hand: 64 of 200 MiB/s, and 1 ms"),
    Golden({"write": "40MiB/s", "dirty_background": "1%"}, {"dirty": "81.92Mi", "stall": "411ms"},
           "by hand"),
    Golden({"write": "1MiB/s", "log": "4Ki"}, {"period": "3.9ms", "stall": "1.02ms"},
           "by hand: 19.5 us of writing, and 1 ms"),
    Golden({"write": "10MiB/s", "dirty_background": "0%"}, {"dirty": "0", "stall": "1ms"},
           "by hand: nothing is left, and a sync takes its time"),
    Golden({"write": "10MiB/s", "synced": "yes"}, {"stall": "0s"}, "sync_binlog=1"),
)  # fmt: skip
