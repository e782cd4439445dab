"""Whether a command that met something broken did what it promises: a code and a sentence."""

from __future__ import annotations

import json
import re

from tools.attack.confined import Ended

CODES = frozenset({0, 1, 2, 3, 4})  # as `dyno --help` lists them
PEAK_BYTES = 1 << 30
_ESCAPES = re.compile("[\x07\x1b\x80-\x9f]")
_FORBIDDEN = {
    "a defect in dbdyno": "says that it is a defect",
    "Traceback (most recent call last)": "prints a traceback",
    "Warning: ": "prints a warning of Python",
}


def reasons(ended: Ended, *, as_json: bool) -> list[str]:
    """Why it did not survive; nothing if it did. `as_json`: JSON was asked for on stdout."""
    found = []
    if ended.code is None:
        found.append("does not end")
    elif ended.code not in CODES:
        found.append(f"ends with {ended.code}")
    elif ended.code == 2 and not ended.err.strip():
        found.append("says nothing")
    if ended.peak_bytes > PEAK_BYTES:
        found.append(f"takes {ended.peak_bytes >> 20} MiB")
    found += [said for text, said in _FORBIDDEN.items() if text in ended.err]
    if _ESCAPES.search(ended.err) or _ESCAPES.search(ended.out.decode("utf-8", "replace")):
        found.append("sends orders to the terminal")
    if as_json and ended.code == 0 and not _is_json(ended.out):
        found.append("prints what is no JSON")
    if found:
        found.append(_last(ended.err))
    return found


def _is_json(out: bytes) -> bool:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(out, parse_constant=refuse)
    except ValueError:
        return False
    return True


def _last(err: str) -> str:
    """The output, short enough for a list."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    return " / ".join(lines[-4:])[-300:]
