"""What every source of another machine's samples is: something that runs during a trial."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

Emit = Callable[[Mapping[str, Any]], None]
REASON_MAX = 200  # characters of a gap's reason


class Feed(Protocol):
    """Samples one host during one trial, in a thread of its own. Nothing in it may fail a trial."""

    finish_s: float  # how long it may take to end once the trial is over

    def run(self, zero_unix_s: float, ending: threading.Event, emit: Emit) -> None:
        """Emits lines as the runner's (`t_s`, `length_s`, `source`, `values`) until `ending` is
        set; `zero_unix_s` is the moment of t_s = 0. Gaps are lines too; it raises nothing."""


def sample(t_s: float, length_s: float, source: str, values: Mapping[str, float]) -> dict[str, Any]:
    """A line of samples."""
    return {
        "t_s": round(t_s, 3),
        "length_s": round(length_s, 3),
        "source": source,
        "values": {name: float(f"{value:.6g}") for name, value in values.items()},
    }


def gap(t_s: float, source: str, reason: str) -> dict[str, Any]:
    """A line that says why there is no sample."""
    said = " ".join(reason.split())[:REASON_MAX]
    return {"t_s": round(t_s, 3), "source": source, "values": {}, "gap": said}


def since(zero_unix_s: float) -> float:
    """Now, on the trial's clock."""
    return time.time() - zero_unix_s
