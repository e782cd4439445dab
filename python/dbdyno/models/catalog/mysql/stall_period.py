"""How often, and for how long, do rotations of the log and write-back stall the server?

A binary log that is never synced by commits is synced when it is full: all of it that the kernel
has not written yet, at once, while commits wait. With sync_binlog=N commits sync it themselves,
each N commit groups, so that little is left at a rotation. And the kernel itself begins to write
when dirty pages pass a limit.

Formula:
    syncs_each [count] = sync_binlog if sync_binlog >= 0 else (1 if server == "mysql" else 0)
        commit groups between two syncs of the log; 0: none but at its rotation
    period [duration] = log / write
        time between two rotations
    background [size] = dirty_background * memory
        dirty pages from which the kernel writes back
    by_kernel [size] = min(log, min(write * expire, background))
        part of the log that the kernel leaves unwritten, if nothing syncs it before
    dirty [size] = by_kernel if syncs_each <= 0 else min(by_kernel, (syncs_each - 1) * commit)
        part of the log that is still to be written when it rotates, at most
    stall [duration] = 0 if syncs_each == 1 else dirty / device + fsync
        how long that takes, and a sync by itself
    between [duration] = min(period, syncs_each * commit / write) if syncs_each > 0 else period
        time between two syncs of the log
    share [share] = min(1, stall / between)
        part of the time that is stalled
    fills [duration] = background / write
        time in which the writes alone reach the limit of write-back

Assumptions:
    Writes are even, and the device does nothing else meanwhile. `memory` is what the kernel counts
    the ratios from: free memory and file cache, not all memory. Dirty pages are written when they
    are `expire` old (30 s). The kernel checks every 5 s, so that the writes of up to 5 s more may
    be left.

    vm.dirty_background_ratio is where the kernel begins to write in the background. That alone
    stalls nobody. Writers are held back near vm.dirty_ratio, which is no part of this: while the
    device writes faster than the server, the log alone does not get there.

    With sync_binlog=1 nothing is left at a rotation; what stays is the pause of a new file. Each
    group of commits waits for its own sync then, which is no stall (`commit-ceiling`).

    sync_binlog counts commit groups, not transactions: `commit` is what a group writes.

Versions:
    MySQL has sync_binlog=1 by default since 5.7.7, before and in MariaDB (all versions so far) it
    is 0. max_binlog_size is 1 GiB by default in both. Linux: vm.dirty_background_ratio 10,
    dirty_expire_centisecs 3000.

Source:
    MySQL and MariaDB manuals (sync_binlog, max_binlog_size); Linux,
    Documentation/admin-guide/sysctl/vm.rst. Read 2026-11. Own derivation.

Trap:
    The cure is not free: lowering dirty_background_ratio from 10 to 1 costs 2.8 % of throughput,
    max_binlog_size from 1G to 64M about 4 % in the published runs. The mean falls a little, and
    the stalls go: what matters is which of both is wanted.

    "sync_binlog=1000 is as good as 0": 1,000 commits of 1 KiB are 1 MiB, which takes a few
    milliseconds; with 0 it is what the kernel held back for half a minute.

    "All of the log is written at the rotation": only what became dirty in the last half minute, or
    less if the background limit is passed.
"""

from __future__ import annotations

from dbdyno.models.binlog import SERVER, SYNC_BINLOG, asked
from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("log", "size", "`max_binlog_size`", "1Gi", "4Ki", "1Gi", variables=("max_binlog_size",)),
    Input("write", "throughput", "writes to the binary log", None, "1KiB/s",
          example="20MiB/s"),
    Input("device", "throughput", "sequential write rate of the device", "200MiB/s", "1KiB/s"),
    Input("fsync", "duration", "time of a sync of little data (`commit-ceiling`)", "1ms", "0s",
          "10s"),
    SYNC_BINLOG,
    SERVER,
    Input("commit", "size", "writes of a commit group to the binary log", "1Ki", "1", "1Gi"),
    Input("memory", "size", "free memory and file cache", "8Gi", "1Mi"),
    Input("dirty_background", "share", "vm.dirty_background_ratio", "10%", "0%", "100%"),
    Input("expire", "duration", "age at which the kernel writes dirty pages", "30s", "1s", "1h"),
)  # fmt: skip
OUTPUTS = ("period", "stall", "dirty", "between", "share", "fills", "syncs_each")
SAYS = (
    ("syncs_each == 1", "A rotation every {period}, at which no write is pending."),
    (
        "syncs_each > 1 and between < period",
        "A sync of at most {stall} every {between}"
        " ({syncs_each} commit groups), and at each rotation, every {period}.",
    ),
    ("", "A stall of {stall} every {period}, at each rotation of the binary log."),
)
REFUSALS = (
    asked(),
    Note("write > device", "write={write} is more than device={device} takes: no log keeps up"),
)
NOTES = (
    Note("stall >= between",
         "the next sync is due before this one is done: it stalls all the time"),
    Note("syncs_each == 0 and dirty >= background and background > 0",
         "the kernel begins to write in the background at {background}, so that no more is left;"
         " that alone stalls no writer, until vm.dirty_ratio is near"),
    Note("syncs_each == 0 and dirty_background <= 0",
         "Linux shows vm.dirty_background_ratio as 0 where vm.dirty_background_bytes is set: say"
         " what part of memory that is"),
    Note("syncs_each == 0 and log <= 64 * MiB",
         "a small log is not free: from 1G to 64M cost about 4 % of throughput in published runs"),
    Note("syncs_each == 0 and dirty_background > 0 and dirty_background <= 0.01",
         "a low limit of write-back is not free: from 10 to 1 cost 2.8 % of throughput in published"
         " runs"),
)  # fmt: skip
GOLDEN = (
    Golden({"write": "10MiB/s", "sync_binlog": "0"},
           {"period": "102.4s", "dirty": "300Mi", "stall": "1.5s"}, "by hand"),
    Golden({"write": "10MiB/s", "log": "64Mi", "server": "mariadb"},
           {"period": "6.4s", "stall": "321ms", "syncs_each": "0"},
           "by hand: 64 of 200 MiB/s, and 1 ms"),
    Golden({"write": "40MiB/s", "dirty_background": "1%", "server": "mysql-5.6"},
           {"dirty": "81.92Mi", "stall": "411ms"}, "by hand"),
    Golden({"write": "1MiB/s", "log": "4Ki", "sync_binlog": "0"},
           {"period": "3.9ms", "stall": "1.02ms"}, "by hand: 19.5 us of writing, and 1 ms"),
    Golden({"write": "10MiB/s", "dirty_background": "0%", "sync_binlog": "0"},
           {"dirty": "0", "stall": "1ms"}, "by hand: nothing is left, and a sync takes its time"),
    Golden({"write": "10MiB/s", "sync_binlog": "1"}, {"stall": "0s", "dirty": "0"},
           "sync_binlog=1"),
    Golden({"write": "10MiB/s", "server": "mysql"}, {"stall": "0s", "syncs_each": "1"},
           "MySQL's default since 5.7.7"),
    Golden({"write": "20MiB/s", "sync_binlog": "1000"},
           {"dirty": "999Ki", "stall": "5.9ms", "between": "48.8ms", "period": "51.2s"},
           "by hand: 999 KiB of 200 MiB/s, and 1 ms"),
    Golden({"write": "20MiB/s", "sync_binlog": "1000", "commit": "1Mi"},
           {"dirty": "600Mi", "stall": "3.0s"}, "by hand: the kernel writes before the 1,000th"),
)  # fmt: skip
