"""Latency histograms as the engine writes them, in numpy.

`latency.hlog` is text in HdrHistogram's log format 1.3: an optional `Tag=`, start, length and
maximum of an interval, and a histogram in the V2 encoding (big-endian header, zig-zag LEB128 counts
where a negative number is a run of zeros), deflated, in base64.

Source: the public-domain specification in HdrHistogram's Java documentation of
`AbstractHistogram` (counts array, V2 encoding) and `HistogramLogReader` (log format). One
configuration holds for all of dbdyno's histograms, so that any two can be added: lowest 1 ns,
highest 1 h, two significant digits. A bucket is then at most 1/128 (0.8 %) of its values wide.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dbdyno import diskfiles
from dbdyno.store.text import files

LOWEST_NS = 1
HIGHEST_NS = 3_600_000_000_000
DIGITS = 2

_COOKIE_COMPRESSED = 0x1C849304
_COOKIE_V2 = 0x1C849303
_COOKIE_MASK = 0xFFFFFF0F  # the low byte's high half says the word size, which V2 does not use
_HEADER = struct.Struct(">iiiiqqd")
_PAYLOAD_MAX = 1 << 20  # a full histogram is under 50 kB: anything larger is not one of dbdyno's
_LINE_MAX = 1 << 20
_LINES_MAX = 1_000_000  # a day has 86,400 seconds
_SECONDS_MAX = 1e8
_COUNT_MAX = 1 << 48  # of one bucket: all buckets of many trials still add up exactly
_SUB = 256  # sub-buckets: the power of two that holds 2 x 10^DIGITS values
_HALF = _SUB // 2


@lru_cache(maxsize=1)
def bounds() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lowest and highest value of each bucket in ns, both inclusive; shape (buckets,).

    Index i below 256 means the value i; beyond, each 128 indices double the width: exponent e = i
    // 128 - 1, low = (i % 128 + 128) * 2^e, high = low + 2^e - 1.
    """
    buckets = 1
    while (_SUB << (buckets - 1)) <= HIGHEST_NS:
        buckets += 1
    index = np.arange((buckets + 1) * _HALF, dtype=np.int64)
    exponent = np.maximum(index // _HALF - 1, 0)
    sub = np.where(index < _SUB, index, index % _HALF + _HALF)
    low = np.left_shift(sub, exponent)
    return low, low + np.left_shift(np.ones_like(index), exponent) - 1


@dataclass(frozen=True)
class Histogram:
    """Counts per bucket, shape (buckets,), buckets as in `bounds`."""

    counts: NDArray[np.int64]

    @classmethod
    def empty(cls) -> Histogram:
        """No values."""
        return cls(np.zeros(len(bounds()[0]), dtype=np.int64))

    @classmethod
    def of(cls, values_ns: Iterable[int]) -> Histogram:
        """A histogram of `values_ns`; values outside 0 to 1 h count at the nearer end."""
        low, _ = bounds()
        values = np.clip(np.asarray(list(values_ns), dtype=np.int64), 0, HIGHEST_NS)
        index = np.searchsorted(low, values, side="right") - 1
        return cls(np.bincount(index, minlength=len(low)).astype(np.int64))

    @classmethod
    def weighted(cls, counts_by_ns: Mapping[int, int]) -> Histogram:
        """A histogram of values with their counts, as another tool's histogram gives them."""
        low, _ = bounds()
        values = np.clip(np.fromiter(counts_by_ns, dtype=np.float64), 0, HIGHEST_NS)
        index = np.searchsorted(low, values, side="right") - 1
        counts = np.zeros(len(low), dtype=np.int64)
        np.add.at(counts, index, np.fromiter(counts_by_ns.values(), dtype=np.int64))
        return cls(counts)

    @property
    def count(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    def mean_ns(self) -> float | None:
        """Mean of the buckets' middles, None if empty."""
        if not self.count:
            return None
        low, high = bounds()
        return float(np.dot((low + high) / 2.0, self.counts) / self.count)

    def quantile_ns(self, q: float) -> int | None:
        """Upper bound of the bucket that holds the value of rank ceil(q n); None if empty."""
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"quantile {q}")
        if not self.count:
            return None
        rank = max(1, math.ceil(q * self.count - 1e-9))
        index = int(np.searchsorted(np.cumsum(self.counts), rank))
        return int(bounds()[1][index])

    def ecdf(self, points: int = 200) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """At most `points` points of the empirical distribution function, for a chart.

        Returns (values in ns, share of values at or below them), both ascending, the last share 1;
        empty arrays for an empty histogram. Points are spread evenly over rank *and* over the
        logarithm of the tail 1 - F, so that neither the body nor the tail is drawn coarsely.
        """
        used = np.flatnonzero(self.counts)
        if not len(used):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64)
        cumulative = np.cumsum(self.counts[used])
        total = int(cumulative[-1])
        if len(used) > points:
            body = np.linspace(0.0, 1.0, points // 2)
            tail = 1.0 - np.geomspace(1.0, 1.0 / total, points - len(body))
            wanted = np.unique(np.concatenate([body, tail]))
            keep = np.unique(np.searchsorted(cumulative, np.ceil(wanted * total)))
            keep = np.minimum(keep, len(used) - 1)
            keep = np.unique(np.append(keep[: points - 1], len(used) - 1))
            used, cumulative = used[keep], cumulative[keep]
        return bounds()[1][used], cumulative / total


class _Sparse(Histogram):
    """The same without its empty buckets, which are most: a log may hold a hundred thousand."""

    _used: NDArray[np.intp]
    _kept: NDArray[np.int64]

    def __init__(self, counts: NDArray[np.int64]) -> None:
        used = np.flatnonzero(counts)
        object.__setattr__(self, "_used", used)
        object.__setattr__(self, "_kept", counts[used])

    @property
    def counts(self) -> NDArray[np.int64]:  # type: ignore[override]
        """Counts per bucket, as `Histogram` has them."""
        found = np.zeros(len(bounds()[0]), dtype=np.int64)
        found[self._used] = self._kept
        return found


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """The histogram of all values together: the total is the sum of the parts."""
    total = Histogram.empty().counts.copy()
    for histogram in histograms:
        total += histogram.counts
    return Histogram(total)


@dataclass(frozen=True)
class Tagged:
    """A line of the log: what was recorded from `start_s` for `length_s` under `tag`.

    Tags: `<group>` (committed transactions, a line a measured interval), `<group>/!censored` (ages
    of those given up, a line an interval that has any), `<group>/<class>`, `<group>/!errors`,
    `<group>/!warmup` (transactions that do not count), `!lag`; of open loops `<group>/!dispatch`,
    `<group>/!response` and `<group>/!response_censored`.
    """

    tag: str
    start_s: float
    length_s: float
    histogram: Histogram


def by_tag(lines: Iterable[Tagged]) -> dict[str, Histogram]:
    """All lines of a tag merged, tags in order of appearance."""
    parts: dict[str, list[Histogram]] = {}
    for line in lines:
        parts.setdefault(line.tag, []).append(line.histogram)
    return {tag: merge(histograms) for tag, histograms in parts.items()}


def read_log(path: Path) -> list[Tagged]:
    """Reads a histogram log, line by line; none is there without the file. A cut-off last line is
    dropped; other damage is a DynoError."""
    try:
        with diskfiles.opened(path) as file:
            return list(_tagged(path, file))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise files.unreadable(path, error) from error


def _tagged(path: Path, file: IO[bytes]) -> Iterator[Tagged]:
    for number in itertools.count(1):
        raw = file.readline(_LINE_MAX + 1)
        if not raw:
            return
        if len(raw) > _LINE_MAX or number > _LINES_MAX:
            raise files.damaged(path, number, "more than a trial can write: the file is endless")
        try:
            line = raw.decode("utf-8").strip()
            if line and not line.startswith(("#", '"')):
                yield _line(line)
        except (ValueError, struct.error, binascii.Error, zlib.error) as error:
            if not raw.endswith(b"\n"):  # its writer was stopped in mid-line
                return
            what = f"not a histogram: {error} (damage, or another configuration of histograms)"
            raise files.damaged(path, number, what) from error


def _line(line: str) -> Tagged:
    tag = ""
    if line.startswith("Tag="):
        tag, _, line = line[4:].partition(",")
    start, length, _maximum, encoded = line.split(",")
    start_s, length_s = float(start), float(length)
    if not (abs(start_s) <= _SECONDS_MAX and 0 <= length_s <= _SECONDS_MAX):
        raise ValueError(f"an interval from {start[:20]} for {length[:20]} s")
    return Tagged(tag, start_s, length_s, _Sparse(decode(encoded).counts))


def decode(encoded: str) -> Histogram:
    """Decodes base64 of a deflated V2 histogram; ValueError (or zlib.error) if it is not one."""
    raw = base64.b64decode(encoded, validate=True)
    cookie, length = struct.unpack_from(">ii", raw)
    if cookie & _COOKIE_MASK != _COOKIE_COMPRESSED or length != len(raw) - 8:
        raise ValueError("no compressed V2 histogram")
    inflater = zlib.decompressobj()
    plain = inflater.decompress(raw[8:], _PAYLOAD_MAX)
    if not inflater.eof:
        raise ValueError("the histogram is cut off or too large")
    cookie, length, offset, digits, lowest, highest, _ratio = _HEADER.unpack_from(plain)
    if cookie & _COOKIE_MASK != _COOKIE_V2 or length != len(plain) - _HEADER.size:
        raise ValueError("no V2 histogram")
    if (offset, digits, lowest, highest) != (0, DIGITS, LOWEST_NS, HIGHEST_NS):
        raise ValueError(
            f"{digits} digits from {lowest} to {highest}, not {DIGITS} from {LOWEST_NS}"
            f" to {HIGHEST_NS}"
        )
    return Histogram(_counts(plain[_HEADER.size :]))


def encode(histogram: Histogram) -> str:
    """Base64 of a deflated V2 histogram: what `decode` reads, and HdrHistogram itself."""
    used = np.flatnonzero(histogram.counts)
    payload = bytearray()
    index = 0
    for at in used.tolist():
        if at > index:
            payload += _zigzag_of(index - at)  # negative: so many empty buckets
        payload += _zigzag_of(int(histogram.counts[at]))
        index = at + 1
    head = (_COOKIE_V2 | 0x10, len(payload), 0, DIGITS, LOWEST_NS, HIGHEST_NS, 1.0)
    packed = zlib.compress(_HEADER.pack(*head) + bytes(payload))
    wrapped = struct.pack(">ii", _COOKIE_COMPRESSED | 0x10, len(packed)) + packed
    return base64.b64encode(wrapped).decode("ascii")


def log_line(line: Tagged) -> str:
    """A line of the log, as `read_log` reads it, with its end."""
    top = line.histogram.quantile_ns(1.0) or 0
    times = f"{line.start_s:.3f},{line.length_s:.3f},{top}"
    return f"Tag={line.tag},{times},{encode(line.histogram)}\n"


def _zigzag_of(value: int) -> bytes:
    """ZigZag LEB128-64b9B of a number of fewer than 63 bits."""
    rest = (value << 1) ^ (value >> 63)
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def _counts(payload: bytes) -> NDArray[np.int64]:
    counts = np.zeros(len(bounds()[0]), dtype=np.int64)
    index = position = 0
    while position < len(payload):
        number, position = _zigzag(payload, position)
        if number < 0:
            index -= number
            if index > len(counts):
                raise ValueError("more counts than buckets")
            continue
        if number > _COUNT_MAX:
            raise ValueError("a count that no trial reaches")
        if index >= len(counts):
            raise ValueError("more counts than buckets")
        counts[index] = number
        index += 1
    if index > len(counts):
        raise ValueError("more counts than buckets")
    return counts


def _zigzag(payload: bytes, position: int) -> tuple[int, int]:
    """A ZigZag LEB128-64b9B number at `position`, and the position after it."""
    value = 0
    for nth in range(9):
        if position >= len(payload):
            raise ValueError("counts are cut off")
        byte = payload[position]
        position += 1
        if nth == 8:  # the ninth byte carries eight bits: no tenth is ever needed
            value |= byte << 56
            break
        value |= (byte & 0x7F) << (7 * nth)
        if not byte & 0x80:
            break
    return (value >> 1) ^ -(value & 1), position
