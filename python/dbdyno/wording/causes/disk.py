"""The disk is busy."""

from __future__ import annotations

from dbdyno.wording.cause import CauseText

CAUSES = {
    "io_other": CauseText(
        "another process on the server's disk",
        "the device moves twice the bytes of otherwise, more than half of them neither the"
        " server's nor from dirty pages of before, and its requests take three times as long",
        "https://docs.kernel.org/admin-guide/iostats.html,"
        " https://man7.org/linux/man-pages/man5/proc_pid_io.5.html",
        "Other processes used the server's disk {here}: it moved {device:MB} a second, of which the"
        " server's own were {own:MB}; a write took {await_ms[0]:number} ms, against"
        " {await_ms[1]:number} ms {there}.",
        "Find the process (`iotop`, `pidstat -d`): move backups and batch jobs to another"
        " device or hour, or limit them (`ionice`, cgroup io.max).",
    ),
    "io_saturation": CauseText(
        "disk saturated by the server",
        "the device is busy 90 % of the time, and was not otherwise or took far longer",
        "https://docs.kernel.org/admin-guide/iostats.html",
        "The disk was busy {util.during:.0%} of the time {here}, {own:either by the server's own"
        " requests|(whose requests is not known: the server's own were not sampled)}, against"
        " {util.otherwise:.0%} {there}.",
        "A faster device, fewer flushes (durability that allows it), or less to write and read"
        " (memory, indexes).",
    ),
}
