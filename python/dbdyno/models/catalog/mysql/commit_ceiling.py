"""How many commits a second does the device allow?

A durable commit waits for fsync. One session can commit as often as fsync returns, by the number of
fsyncs that a commit needs. Sessions that commit at the same time share them (group commit), so with
many sessions the ceiling is far above.

Formula:
    latency [duration] = 1 / fsyncs
        one fsync
    log_is_on [word] = "yes" if binlog == "yes" or (binlog == "unset" and sync_binlog > 0) else "no"
        whether there is a binary log
    syncs_each [count] = sync_binlog if sync_binlog >= 0 else (1 if server == "mysql" else 0)
        commit groups between two syncs of it; 0: the kernel writes it
    log_syncs [number] = 1 / max(1, syncs_each) if log_is_on == "yes" and syncs_each > 0 else 0
        its fsyncs a commit, on average
    per_commit [number] = log_syncs + (1 if redo == "yes" else 0)
        fsyncs of a commit, or of a group of them
    alone [rate] = fsyncs / per_commit
        commits of one session
    at_most [rate] = sessions * alone
        commits of all sessions, each group being all of them
    alternating_group [count] = max(1, sessions / 2)
        commits that share an fsync if two halves take turns: one waits while the other is synced
    alternating [rate] = alone * alternating_group
        commits of all sessions then; real groups are smaller, and so is the rate
    wait [duration] = sessions / alternating
        how long a session waits for a commit then

Assumptions:
    Sessions do nothing but commit, and fsync of a group takes as long as of one commit. Writes of
    the log itself are not the limit. With the binary log and InnoDB both durable a group is synced
    twice, once each.

    Both rates are ceilings. Sessions left to themselves take turns: those whose commit is done come
    back while the next fsync is under way. All of them share one only if the server waits for the
    last (`binlog_group_commit_sync_delay`, `binlog_commit_wait_count`).

    `fsyncs` is what one thread measures (`fio --fsync=1`, or the study of fsync), on the very
    device with its log; a cache that is not safe from a power cut makes it as good as infinite.

Versions:
    MySQL 5.6 and later, MariaDB 5.3 and later (group commit of the binary log). Before, several
    sessions did not share fsyncs once the binary log was on.

Source:
    Own derivation, 2026-11. Golden pairs: published measurements of fsync in direct mode, on a
    cache, and with a log device.

Trap:
    "The disk does 13 fsyncs a second, so 13 commits": of one session. And 13 a second are 77 ms,
    28 are 36 ms: with one thread rate and latency are the same measurement twice, so they must
    agree, and where they do not, one of them is of something else.

    sync_binlog=1 is the default of MySQL since 5.7.7; MariaDB's is still 0. With a binary log the
    same workload has half the ceiling on MySQL.

    "sync_binlog=1000 is not durable, so it costs nothing": one commit of a thousand waits for the
    sync of all of them (`stall-period` says how long), which is a thousandth of a sync a commit.
"""

from __future__ import annotations

from dbdyno.models.binlog import SERVER, SYNC_BINLOG, asked
from dbdyno.models.model import Golden, Input, Measured, Note

INPUTS = (
    Input("fsyncs", "rate", "fsyncs of one thread on the device", None, "0.01/s", "10000000/s",
          example="3100/s"),
    Input("sessions", "count", "sessions that commit", "1", "1", "100k", whole=True),
    Input("redo", "word", "whether the redo log is durable (flush at commit)", "yes",
          words=("yes", "no"), variables=("innodb_flush_log_at_trx_commit",)),
    Input("binlog", "word", "whether there is a binary log (log_bin; MySQL 8.0 and later have one"
          " unless it is switched off); unset: yes if `sync_binlog` is more than 0", "unset",
          words=("yes", "no", "unset"), variables=("log_bin",),
          meanings=(("(?i)off|0|false|no", "no"), ("(?s).*", "yes"))),
    SYNC_BINLOG,
    SERVER,
)  # fmt: skip
OUTPUTS = ("alternating", "alone", "at_most", "latency", "per_commit", "alternating_group", "wait")
SAYS = (
    ("per_commit <= 0", "A commit waits for no fsync: the device sets no ceiling."),
    ("sessions <= 1", "One session commits at most {alone} at {latency} a fsync."),
    ("", "{sessions} sessions commit at most {alternating} if their halves take turns, {at_most} if"
     " all share each fsync; one alone {alone}."),
)  # fmt: skip
REFUSALS = (asked("binlog == 'yes'"),)
NOTES = (
    Note("log_syncs > 0 and log_syncs < 1", "the binary log is synced each {syncs_each} commit"
         " groups: a crash of the machine loses the last of it"),
    Note("per_commit <= 0", "a crash of the machine loses what was committed last"),
    Note("fsyncs > 20000", "faster than most devices: a cache answers, see that it is safe"),
    Note("sessions > 4 and per_commit > 0", "real groups are smaller: 4.6 and 6.4 of 8 were"
         " measured with 16 sessions, 11.5 of 32 with 64 (on two cores)"),
    Note("alternating > 50000", "processors and locks are the limit long before"),
)  # fmt: skip
GOLDEN = (
    *(
        Golden({"fsyncs": f"{rate}/s"}, {"latency": latency, "alone": f"{rate}/s"}, "published")
        for rate, latency in (
            (21200, "0.047ms"), (9600, "0.104ms"), (3100, "0.32ms"), (28, "36ms"), (13, "77ms"),
        )
    ),
    Golden({"fsyncs": "3000/s", "sessions": "32", "sync_binlog": "1"},
           {"alone": "1500/s", "at_most": "48000/s", "alternating": "24000/s"}, "by hand"),
    Golden({"fsyncs": "3000/s", "binlog": "yes", "server": "mysql"}, {"alone": "1500/s"},
           "MySQL's default since 5.7.7"),
    Golden({"fsyncs": "3000/s", "binlog": "yes", "server": "mariadb"}, {"alone": "3000/s"},
           "MariaDB's default"),
    Golden({"fsyncs": "3000/s", "sync_binlog": "1000"}, {"per_commit": "1.001", "alone": "2997/s"},
           "by hand: one sync more in a thousand commits"),
    Golden({"fsyncs": "3000/s", "sync_binlog": "1000", "binlog": "no"}, {"alone": "3000/s"},
           "no binary log"),
)  # fmt: skip
MEASURED_ON = (
    "MariaDB 10.11 on two cores, one-row inserts by sysbench for 6 s each, 2026-11: commits by"
    " `Innodb_data_fsyncs`, and with the binary log by `Binlog_group_commits`. A group is smaller"
    " than computed as soon as sessions do anything but wait; with 64 of them the two cores were"
    " the limit, and few waited at once."
)
MEASURED = tuple(
    Measured({"fsyncs": "200/s", "sessions": str(sessions), "sync_binlog": each},
             {"alternating_group": group}, within)
    for sessions, each, group, within in (
        (1, "0", "0.97", 0.1), (4, "0", "1.87", 0.5), (16, "0", "6.35", 1.0),
        (64, "0", "11.5", 2.0), (1, "1", "1.00", 0.1), (4, "1", "1.41", 0.5),
        (16, "1", "4.60", 1.0),
    )
)  # fmt: skip
