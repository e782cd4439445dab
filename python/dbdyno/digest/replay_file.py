"""What the engine says of a trace that it wrote: how much is in it, and what is not.

Source: `engine/core/src/trace/mod.rs` (`Meta`) and `engine/cli/src/digest.rs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pydantic

from dbdyno.digest import document
from dbdyno.digest.document import Censored, Input
from dbdyno.wording.plurals import count

HARMLESS = ("read", "transaction", "session")  # sent without `writes: true`


@dataclass(frozen=True)
class Trace:
    """Of a trace. `effects`: statements by what sending them would do; `left_out`: what else the
    logs have, by reason; `clock_ns`: the logs' times are whole multiples of it."""

    begin_ns: int
    length_ns: int
    sessions: int
    sessions_at_once: int
    events: int
    effects: Mapping[str, int]
    left_out: Mapping[str, int]
    clock_ns: int
    classes: int
    origins: int
    inputs: tuple[Input, ...]
    censored: tuple[Censored, ...] = ()


def parse(raw: Any) -> Trace:
    """Types the engine's output; DynoError as `document.parse`."""
    return document.typed(_adapter(), raw, "dyno-engine", "dyno digest LOG --trace FILE")


@cache
def _adapter() -> pydantic.TypeAdapter[Trace]:
    return pydantic.TypeAdapter(Trace)


def lines(trace: Trace) -> list[str]:
    """What its user must know, a line each."""
    harmless = sum(trace.effects.get(effect, 0) for effect in HARMLESS)
    found = [
        f"{count(trace.events, 'statement')} of {count(trace.sessions, 'session')},"
        f" {trace.sessions_at_once:,} at once, over {trace.length_ns / 1e9:,.1f} s;"
        f" without `writes: true` {harmless:,} of them {'is' if harmless == 1 else 'are'} sent"
    ]
    other = {name: n for name, n in trace.effects.items() if name not in HARMLESS}
    if other:
        found.append(f"not shown to be reads: {_counts(other)}")
    if trace.left_out:
        found.append(f"not in the trace: {_counts(trace.left_out)}")
    if trace.clock_ns >= 1_000_000_000:
        found.append(
            "the log's clock ticks in seconds: the statements of each are spread evenly over it"
        )
    return found


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
