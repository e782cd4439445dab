"""Which class a statement is of, from the text that a server keeps with its counters: the same ID
and fingerprint as in a log, made by `dyno-engine fingerprints`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import TimedOut
from dbdyno.installed import find

TIMEOUT_S = 120  # a server's whole table takes a second


@dataclass(frozen=True)
class Identity:
    """A class. `distill`: what it does to which tables."""

    id: str
    fingerprint: str
    distill: str = ""
    tables: tuple[str, ...] = ()


def identify(texts: Iterable[str], language: str) -> dict[str, Identity]:
    """Classes of statements of `mysql` or `postgres`, by text. DynoError if the engine fails."""
    ordered = [text for text in dict.fromkeys(texts) if "\0" not in text]
    if not ordered:
        return {}
    given = "".join(f"{text}\0" for text in ordered)
    try:
        done = LOCAL.run([find(), "fingerprints", language], given=given, timeout_s=TIMEOUT_S)
        if done.returncode != 0:
            raise ValueError(f"it ended with status {done.returncode}")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        made = [Identity(**(line | {"tables": tuple(line["tables"])})) for line in lines]
        return dict(zip(ordered, made, strict=True))
    except (OSError, TimedOut, ValueError, TypeError, KeyError) as error:
        raise DynoError(
            f"dyno-engine cannot compute statement classes: {error}",
            cause="dyno and dyno-engine are of different versions",
            fix="install both of one version",
        ) from None
