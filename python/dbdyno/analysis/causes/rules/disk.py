"""The disk is busy: with the server's own reads and writes, or with somebody else's."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule
from dbdyno.wording import numbers

AWAIT_FACTOR = 3.0  # a request takes so many times as long
PRESSURE_MIN = 0.3  # of the time somebody waited for I/O
BUSY = 0.9  # of the time something was in flight
CALM = 0.7
OTHERS_MIN = 0.5  # of the bytes
BYTES_MIN = 8e6  # a second: less can hardly fill a disk


@dataclass(frozen=True)
class Bytes:
    """Of a second in question: what the device moved, and what of it the server accounts for."""

    device: float
    server: float
    cleaned: float  # came from dirty pages of before

    @property
    def others(self) -> float:
        """What nobody accounts for but other processes; at least 0."""
        return max(0.0, self.device - self.server - self.cleaned)


def moved_bytes(seen: Evidence) -> Bytes | None:
    """None where the device, the server or dirty pages were not sampled.

    What is written now was made dirty now, by the server (its /proc/PID/io counts it then) or
    others, or before: then there are fewer dirty pages afterwards.
    """
    device = ("disk.write_bytes_per_s", "disk.read_bytes_per_s")
    server = ("server.write_bytes_per_s", "server.read_bytes_per_s")
    dirty = ("memory.dirty_bytes", "memory.writeback_bytes")
    if not seen.has(*device, *server, *dirty):
        return None
    cleaned = 0.0
    if seen.question == STALL and seen.length_s > 0:
        gone = -sum(moved.gained for name in dirty if (moved := seen.get(name)))
        cleaned = max(0.0, gone) / seen.length_s
    return Bytes(
        sum(seen.during(name) for name in device),
        sum(each.during for name in server for each in seen.named(name)),
        cleaned,
    )


def slower(seen: Evidence) -> bool:
    """Whether requests took much longer than otherwise while the device was busy."""
    waits = [seen.get(f"disk.{kind}_await_ms") for kind in ("write", "read")]
    longer = any(
        one.peak >= AWAIT_FACTOR * max(one.otherwise, 0.05) and one.peak > 1.0
        for one in waits
        if one is not None
    )
    return longer and seen.during("disk.util") >= 0.5


def other(seen: Evidence) -> Match | None:
    """The device moved far more bytes than the server and its dirty pages account for."""
    found = moved_bytes(seen)
    if found is None or not slower(seen) or found.device < BYTES_MIN:
        return None
    was = sum(seen.otherwise(f"disk.{way}_bytes_per_s") for way in ("read", "write"))
    if found.others < OTHERS_MIN * found.device or found.device < 2 * was:
        return None
    return Match(
        0.82,
        f"Other processes used the server's disk {seen.here}: it moved"
        f" {_megabytes(found.device)} a second, of which the server's own were"
        f" {_megabytes(min(found.device, found.server + found.cleaned))}; a write took"
        f" {_ms(seen.during('disk.write_await_ms'))}, against"
        f" {_ms(seen.otherwise('disk.write_await_ms'))} {seen.there}.",
        "Find the process (`iotop`, `pidstat -d`): move backups and batch jobs to another device or"
        " hour, or limit them (`ionice`, cgroup io.max).",
        "disk.write_bytes_per_s" if not seen.on_host else "host.disk.write_bytes_per_s",
    )


def own(seen: Evidence) -> Match | None:
    """The device was busy all the time, or far slower, with nobody else on it."""
    util, found = seen.get("disk.util"), moved_bytes(seen)
    if util is None or util.during < BUSY:
        return None
    whose = "by the server's own requests"
    if found is None:
        whose = "(whose requests is not known: the server's own were not sampled)"
    elif found.others >= OTHERS_MIN * max(found.device, 1.0) and found.device >= BYTES_MIN:
        return None
    if util.otherwise > CALM and not slower(seen):
        return None
    return Match(
        0.6,
        f"The disk was busy {util.during:.0%} of the time {seen.here}, {whose}, against"
        f" {util.otherwise:.0%} {seen.there}.",
        "A faster device, fewer flushes (durability that allows it), or less to write and read"
        " (memory, indexes).",
        util.metric,
    )


def _megabytes(value: float) -> str:
    return f"{numbers.number(value / 1e6)} MB"


def _ms(value: float) -> str:
    return f"{numbers.number(value)} ms"


RULES = (
    Rule(
        "io_other",
        "another process on the server's disk",
        "the device moves twice the bytes of otherwise, more than half of them neither the"
        " server's nor from dirty pages of before, and its requests take three times as long",
        "https://docs.kernel.org/admin-guide/iostats.html,"
        " https://man7.org/linux/man-pages/man5/proc_pid_io.5.html",
        ANY,
        other,
    ),
    Rule(
        "io_saturation",
        "disk saturated by the server",
        "the device is busy 90 % of the time, and was not otherwise or took far longer",
        "https://docs.kernel.org/admin-guide/iostats.html",
        ANY,
        own,
    ),
)
