"""The disk is busy."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import Moved
from dbdyno.wording import numbers
from dbdyno.wording.cause import CauseText, always


def _other(here: str, there: str, device: float, own: float, await_ms: tuple[float, float]) -> str:
    return (
        f"Other processes used the server's disk {here}: it moved {numbers.number(device / 1e6)} MB"
        f" a second, of which the server's own were {numbers.number(own / 1e6)} MB; a write took"
        f" {numbers.number(await_ms[0])} ms, against {numbers.number(await_ms[1])} ms {there}."
    )


def _busy(here: str, there: str, util: Moved, own: bool) -> str:
    whose = "by the server's own requests"
    if not own:
        whose = "(whose requests is not known: the server's own were not sampled)"
    return (
        f"The disk was busy {util.during:.0%} of the time {here}, {whose}, against"
        f" {util.otherwise:.0%} {there}."
    )


CAUSES = {
    "io_other": CauseText(
        "another process on the server's disk",
        "the device moves twice the bytes of otherwise, more than half of them neither the"
        " server's nor from dirty pages of before, and its requests take three times as long",
        "https://docs.kernel.org/admin-guide/iostats.html,"
        " https://man7.org/linux/man-pages/man5/proc_pid_io.5.html",
        _other,
        always(
            "Find the process (`iotop`, `pidstat -d`): move backups and batch jobs to another"
            " device or hour, or limit them (`ionice`, cgroup io.max)."
        ),
    ),
    "io_saturation": CauseText(
        "disk saturated by the server",
        "the device is busy 90 % of the time, and was not otherwise or took far longer",
        "https://docs.kernel.org/admin-guide/iostats.html",
        _busy,
        always(
            "A faster device, fewer flushes (durability that allows it), or less to write and read"
            " (memory, indexes)."
        ),
    ),
}
