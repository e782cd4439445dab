"""Encrypted pages of InnoDB's files, counted by `dyno-engine tablespace`.

The engine reads whole files. Where the pack `space` does not have it read all, `BYTES_MAX` bounds
them together, the smallest first. A larger file is judged by its samples alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from dbdyno.facts.at_rest.headers import EMPTY, ENCRYPTED, PLAIN, Header

BYTES_MAX = 4 << 30
PARTLY = "partly encrypted"
_NEVER_ENCRYPTED = ("space_header", "extent_descriptors", "transaction_system")
"""Pages that neither server encrypts: MySQL and MariaDB both read them before they have a key."""
_STRAY_PAGES = 2  # further plain pages that are no sign


def chosen(sizes: Mapping[Path, int]) -> list[Path]:
    """Files within `BYTES_MAX`, of bytes by path."""
    files = sorted(sizes, key=sizes.__getitem__)
    totals = accumulate(sizes[path] for path in files)
    return [path for path, total in zip(files, totals, strict=True) if total <= BYTES_MAX]


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
