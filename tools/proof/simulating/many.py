"""Many simulated experiments, each from its own seed, on all CPUs; and what proportions say."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import numpy as np
from scipy import special

T = TypeVar("T")
One = Callable[[int, np.random.Generator], T]  # the experiment's number, its generator
_CHUNK = 100
_SMALL = 400  # fewer are not worth starting processes for


def many(one: One[T], count: int, seed: int) -> list[T]:
    """`one` of `count` experiments, in order; the same whatever the number of processes. `one`
    must be a function of a module, or a partial of one."""
    chunks = [range(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)]
    if count < _SMALL:
        return [found for chunk in chunks for found in _chunk(one, chunk, seed)]
    futures = [_pool().submit(_chunk, one, chunk, seed) for chunk in chunks]
    return [found for future in futures for found in future.result()]


@functools.cache
def _pool() -> ProcessPoolExecutor:
    """Processes for all rows: to start them takes seconds. Spawned, since numpy has threads."""
    return ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn"))


def _chunk(one: One[T], numbers: range, seed: int) -> list[T]:
    return [one(number, np.random.default_rng((seed, number))) for number in numbers]


def clopper_pearson(hits: int, count: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval of a proportion. Source: Clopper and Pearson (1934)."""
    if not 0 <= hits <= count or count < 1:
        raise ValueError(f"{hits} of {count}")
    half = (1 - confidence) / 2
    low = float(special.betaincinv(hits, count - hits + 1, half)) if hits else 0.0
    high = float(special.betaincinv(hits + 1, count - hits, 1 - half)) if hits < count else 1.0
    return low, high


def upper(hits: int, count: int, confidence: float = 0.95) -> float:
    """One-sided upper bound of a proportion."""
    return clopper_pearson(hits, count, 2 * confidence - 1)[1]


def passes(truth: float, limit: float, count: int) -> float:
    """How often a bar "the 95 % upper bound is at most `limit`" is met with `count` experiments, if
    the true proportion is `truth`: its operating characteristic."""
    most = max((hits for hits in range(count + 1) if upper(hits, count) <= limit), default=-1)
    return float(special.bdtr(most, count, truth)) if most >= 0 else 0.0


def share(hits: int, count: int) -> str:
    """`4.93 % (4.51-5.37)`: a proportion with its 95 % interval."""
    low, high = clopper_pearson(hits, count)
    return f"{percent(hits / count, 2)} ({100 * low:.2f}-{100 * high:.2f})"


def percent(value: float, decimals: int = 1) -> str:
    """0.8123 -> `81.2 %`."""
    return f"{100 * value:.{decimals}f} %"
