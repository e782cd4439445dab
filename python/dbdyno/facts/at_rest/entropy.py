"""How much samples of a file look like random bytes, as what is encrypted does.

Shannon's entropy of a window of n random bytes is about 8 - 255 / (2 n ln 2) bits a byte (Miller
and Madow's bias): 7.95 of 4096, 7.8 of 1024. Text has 4 to 5.5, pages of rows 2 to 6.5; what is
compressed has nearly 8, as if it were encrypted: a high entropy alone proves nothing, a low one
proves that it is readable.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import IO

WINDOW = 4096  # bytes
WINDOWS_MAX = 64  # of a file: 256 KiB are read
LEAST = 1024  # bytes of a window that tell
READABLE_BITS = 7.2  # below: readable


@dataclass(frozen=True)
class Sampled:
    """Windows of a file by what they look like. `readable_at`: offset of the first that is."""

    random: int = 0
    readable: int = 0
    readable_at: int | None = None


def bits(window: bytes) -> float:
    """Bits of entropy a byte; 0 of nothing."""
    length = len(window)
    return -sum(n / length * math.log2(n / length) for n in Counter(window).values())


def sample(file: IO[bytes], size: int, begin: int = 0) -> Sampled:
    """Windows spread evenly over a file from `begin`. Unused ends (zeroes) do not count."""
    random = readable = 0
    at = None
    for offset in _offsets(size, begin):
        file.seek(offset)
        window = file.read(WINDOW).rstrip(b"\0")
        if len(window) < LEAST:
            continue
        if bits(window) >= READABLE_BITS:
            random += 1
            continue
        readable += 1
        at = offset if at is None else at
    return Sampled(random, readable, at)


def _offsets(size: int, begin: int) -> list[int]:
    windows = max(0, size - begin + WINDOW - 1) // WINDOW
    if windows <= WINDOWS_MAX:
        return [begin + i * WINDOW for i in range(windows)]
    return [begin + i * windows // WINDOWS_MAX * WINDOW for i in range(WINDOWS_MAX)]
