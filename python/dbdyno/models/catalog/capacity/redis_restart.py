"""How long does Redis take to start, and how much can it lose?

Redis reads all its data before it answers: a dump (RDB), or the commands since the last rewrite
(AOF). Between two syncs, or two dumps, writes are only in memory.

Formula:
    load [duration] = memory / GiB * per_gb * (
        aof_factor if method == "aof" and preamble == "no" else 1)
        time until it answers; of a log just after it was rewritten
    base [size] = file if file > 0 else memory
        size of the dump, or of the log just after it was rewritten
    log_at_rewrite [size] = unknown if method == "rdb" or rewrite_percentage <= 0 else (
        max(rewrite_min, base * (1 + rewrite_percentage)))
        size of the log at which it is rewritten; none with a dump, or if it never is
    grows [size] = log_at_rewrite - base
        commands that come to the log from one rewrite to the next
    rewrite_every [duration] = grows / writes
        time between two rewrites
    loss_window [duration] = 0 if method == "aof" and sync == "always" else (
        2 if method == "aof" and sync == "everysec" else (
        35 if method == "aof" else save_every + save_takes))
        how old what is lost can be at most
    loss [size] = loss_window * writes
        how much it is
    disk [size] = 2 * base if method == "rdb" else log_at_rewrite + base
        space: the old file and the new one side by side

Assumptions:
    `per_gb` is a matter of processor and data (large strings load fast, many small keys slowly):
    measure one and scale it. It is processor time of one thread: a machine that is busy takes
    longer.

    everysec: the thread that syncs may be a second late before writes wait, so two seconds. `no`
    leaves it to the kernel, which writes pages that are 30 s old, and checks every 5 s: 35 s
    (vm.dirty_expire_centisecs, vm.dirty_writeback_centisecs).

    `aof_factor` is for a log of commands alone (preamble=no). A log that begins with a dump loads
    like a dump just after a rewrite; commands that came since are added, which `load` omits.

Versions:
    Redis 2.4 to 8. A rewritten log can begin with a dump since 4.0 (aof-use-rdb-preamble); it is
    off by default in 4.0, and on since 5.0. Before 4.0 say preamble=no. Since 7.0 the log is
    several files, and the rewrite buffer is gone.

Source:
    Redis documentation, "Persistence", and redis.conf (auto-aof-rewrite-percentage,
    auto-aof-rewrite-min-size). "10 to 20 seconds a GB, twice that for AOF": the author of Redis,
    2012. Read 2026-11.

Trap:
    "everysec loses one second at most": it can lose two, since Redis only waits for the disk when a
    sync is two seconds old.

    "A rewrite needs memory for all writes meanwhile": up to 6.2; since 7.0 they go to a new file.

    "Twice as long for AOF" holds for a log of commands alone and for small values: see what was
    measured. A log that begins with a dump, as by default since 5.0, loads like one.

    "Rewritten at 100 %" means: when the log is twice as large as after the last rewrite, and at
    least 64 MB. A log of 10 MB is not rewritten at 20. 0 means never.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Measured, Note

INPUTS = (
    Input("memory", "size", "`used_memory`", None, "1Mi", "100Ti", example="10Gi"),
    Input("file", "size", "size of the dump or the rewritten log; 0: as much as in memory", "0",
          "0"),
    Input("method", "word", "how it is kept", "rdb", words=("rdb", "aof"),
          variables=("appendonly",), meanings=(("yes", "aof"), ("no", "rdb"))),
    Input("sync", "word", "`appendfsync`", "everysec", words=("always", "everysec", "no"),
          variables=("appendfsync",)),
    Input("preamble", "word", "`aof-use-rdb-preamble`: a rewritten log begins with a dump", "yes",
          words=("yes", "no"), variables=("aof_use_rdb_preamble",)),
    Input("per_gb", "duration", "time to load a GB of memory from a dump", "15s", "100ms", "10m"),
    Input("aof_factor", "number", "how many times longer a log of commands takes", "2", "1", "20"),
    Input("writes", "throughput", "bytes that are written to the log", "1MB/s", "1B/s"),
    Input("save_every", "duration", "time between two dumps", "5m", "1s"),
    Input("save_takes", "duration", "how long a dump takes", "30s", "0s"),
    Input("rewrite_percentage", "share", "`auto-aof-rewrite-percentage`; 0%: never", "100%", "0%",
          "10000%", variables=("auto_aof_rewrite_percentage:%",)),
    Input("rewrite_min", "size", "`auto-aof-rewrite-min-size`", "64Mi", "0",
          variables=("auto_aof_rewrite_min_size",)),
)  # fmt: skip
OUTPUTS = ("load", "loss_window", "loss", "rewrite_every", "log_at_rewrite", "disk")
SAYS = (
    ("loss_window <= 0", "It answers after {load}, and loses nothing that was acknowledged."),
    ("", "It answers after {load}, and can lose {loss_window} of writes, {loss}."),
)
NOTES = (
    Note(
        "method == 'aof' and preamble == 'yes' and grows >= 0",
        "this is just after a rewrite: up to {grows} of commands since then are loaded too, and"
        " those take longer than a dump where values are small",
    ),
    Note(
        "method == 'aof' and rewrite_percentage <= 0",
        "the log is never rewritten: it grows with each write, and so does the time to load it; if"
        " it never was, it is of commands alone: give preamble=no",
    ),
    Note(
        "method == 'aof' and rewrite_every < 10 * minute",
        "the log is rewritten every {rewrite_every}: a larger percentage makes it rarer",
    ),
    Note(
        "per_gb >= 10 * second",
        "10 to 20 s a GB is the rule of 2012; measured in 2026 were 3 to 9 s from a dump, and 2 to"
        " 20 s from a log of commands, the less the larger the values: measure yours",
    ),
    Note("load > hour", "more than an hour without an answer: a replica takes over sooner"),
)
GOLDEN = (
    Golden({"memory": "10Gi", "per_gb": "10s"}, {"load": "100s"}, "10 s a GB (2012)"),
    Golden({"memory": "10Gi", "per_gb": "20s"}, {"load": "200s"}, "20 s a GB (2012)"),
    Golden({"memory": "10Gi", "per_gb": "10s", "method": "aof", "preamble": "no"},
           {"load": "200s"}, "twice 10 s a GB for AOF (2012)"),
    Golden({"memory": "10Gi", "per_gb": "20s", "method": "aof", "preamble": "no"},
           {"load": "400s", "loss_window": "2s", "log_at_rewrite": "20Gi"},
           "twice 20 s a GB for AOF (2012)"),
    Golden({"memory": "10Gi", "per_gb": "20s", "method": "aof"},
           {"load": "200s", "grows": "10Gi"}, "by hand: the log begins with a dump"),
    Golden({"memory": "1Gi", "method": "aof", "sync": "no"},
           {"loss_window": "35s", "loss": "35MB"}, "by hand: 30 s old, looked for each 5 s"),
    Golden({"memory": "10Mi", "method": "aof"}, {"log_at_rewrite": "64Mi"}, "redis.conf"),
    Golden({"memory": "1Gi", "method": "aof", "sync": "always"}, {"loss": "0"}, "by hand"),
    Golden({"memory": "1Gi"}, {"loss_window": "330s", "loss": "330MB"}, "by hand"),
)  # fmt: skip
MEASURED_ON = (
    "Redis 7.0.15, 2026-11: processor time of one start by the server's own count, with 133 to 163"
    " MiB of memory, scaled to 1 GiB; logs of commands alone (`aof-use-rdb-preamble no`); the model"
    " with its other defaults, the rule of 2012. That rule is one for small values. With large ones"
    " a log of commands loads as fast as a dump, which has to be decompressed. `make proof"
    " ROWS=redis` measures it again (`docs/proof.md`); `tests/live/test_redis_restart.py` counts"
    " keys and bytes, and the size at which the log is rewritten."
)
MEASURED = tuple(
    Measured({"memory": "1Gi", "method": method, "preamble": "no"}, {"load": load}, within,
             f"values of {size} bytes")
    for size, method, load, within in (
        (10, "rdb", "9.2s", 0.7), (10, "aof", "20.4s", 0.6),
        (100, "rdb", "6.0s", 1.6), (100, "aof", "11.0s", 2.5),
        (1000, "rdb", "3.3s", 4.0), (1000, "aof", "2.4s", 12.0),
    )
)  # fmt: skip
