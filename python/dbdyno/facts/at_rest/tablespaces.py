"""Encrypted pages of InnoDB's files, counted by `dyno-engine tablespace`.

The engine reads whole files; `BYTES_MAX` bounds them all together, the smallest first. A larger
file is judged by its samples alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.facts.at_rest.headers import EMPTY, ENCRYPTED, PLAIN, Header
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import TimedOut
from dbdyno.installed import find

BYTES_MAX = 4 << 30
TIMEOUT_S = 120.0
PARTLY = "partly encrypted"
_NEVER_ENCRYPTED = ("space_header", "extent_descriptors", "transaction_system")
"""Pages that neither server encrypts: MySQL and MariaDB both read them before they have a key."""
_STRAY_PAGES = 2  # further plain pages that are no sign


def read(files: Iterable[tuple[Path, int]]) -> Mapping[Path, Header]:
    """By path; without files that are not InnoDB's. (path, bytes) of each."""
    chosen, total = [], 0
    for path, size in sorted(files, key=lambda one: one[1]):
        total += size
        if total > BYTES_MAX:
            break
        chosen.append(path)
    if not chosen:
        return {}
    try:
        done = LOCAL.run([find(), "tablespace", *chosen], timeout_s=TIMEOUT_S)
    except (OSError, TimedOut) as error:
        raise DynoError(
            f"dyno-engine cannot read the tablespaces: {error}",
            fix="try `dyno-engine tablespace DATADIR`",
        ) from None
    try:
        events = [json.loads(line) for line in done.stdout.splitlines()]
        told = [one["tablespace"] for one in events if one["event"] == "tablespace"]
        return {Path(one["path"]): header(one) for one in told}
    except (KeyError, TypeError, ValueError):
        raise DynoError(
            "dyno-engine ended amid its document of the tablespaces",
            cause="somebody killed it, or memory ran out",
            fix="try `dyno-engine tablespace DATADIR`",
        ) from None


def header(told: Mapping[str, Any]) -> Header:
    """What the document of a tablespace says."""
    written = told["pages"] - told["empty_pages"] - told["doublewrite_pages"]
    encrypted = told["encrypted_pages"]
    outside = sum(one["pages"] for one in told["page_types"] if one["type"] in _NEVER_ENCRYPTED)
    plain = written - encrypted - outside
    page = told["format"]["physical_page_bytes"]
    if encrypted == 0:
        state = PLAIN if plain > 0 else EMPTY
        return Header(state, f"0 of {written:,} pages are encrypted", page)
    if plain > _STRAY_PAGES:
        return Header(PARTLY, f"{encrypted:,} of {written:,} pages are encrypted", page)
    return Header(ENCRYPTED, f"{encrypted:,} of {written:,} pages are encrypted", page)
