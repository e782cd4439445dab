"""`budget:` at work: no block is begun that would not end in time.

The plan has cut blocks by estimates; this holds the real run to the same limit. It counts the time
of earlier processes that worked in the run, and takes the next block to last as long as the one
before it, less what was loaded there, which is loaded once.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """Asked at the start of each block. `loaded_s` says how long loading took so far."""

    def __init__(
        self,
        limit_s: float | None,
        spent_s: float,
        loaded_s: Callable[[], float],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit_s = limit_s
        self._loaded_s = loaded_s
        self._now = now
        self._zero = now() - spent_s
        self._block: tuple[float, float] | None = None  # begun, loaded until then

    def holds_another(self) -> bool:
        """Whether one more block would end within the budget, by what the last one took."""
        now, loaded_s = self._now(), self._loaded_s()
        last_s = 0.0
        if self._block is not None:
            begun, before_s = self._block
            last_s = now - begun - (loaded_s - before_s)
        self._block = now, loaded_s
        return self._limit_s is None or now - self._zero + last_s <= self._limit_s
