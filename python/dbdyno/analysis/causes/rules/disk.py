"""The disk is busy: with the server's own reads and writes, or with somebody else's."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule

AWAIT_FACTOR = 3.0  # a request takes so many times as long
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
        """What only other processes account for; at least 0."""
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
        "disk.write_bytes_per_s" if not seen.on_host else "host.disk.write_bytes_per_s",
        {
            "device": found.device,
            "own": min(found.device, found.server + found.cleaned),
            "await_ms": (seen.during("disk.write_await_ms"), seen.otherwise("disk.write_await_ms")),
        },
    )


def own(seen: Evidence) -> Match | None:
    """The device was busy all the time, or far slower, and no other process used it."""
    util, found = seen.get("disk.util"), moved_bytes(seen)
    if util is None or util.during < BUSY:
        return None
    if (
        found is not None
        and found.others >= OTHERS_MIN * max(found.device, 1.0)
        and found.device >= BYTES_MIN
    ):
        return None
    if util.otherwise > CALM and not slower(seen):
        return None
    return Match(0.6, util.metric, {"util": util, "own": found is not None})


RULES = (
    Rule("io_other", ANY, other),
    Rule("io_saturation", ANY, own),
)
