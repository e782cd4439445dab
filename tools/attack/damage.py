"""Damage to files: by their bytes, by what they are, by what their JSON says. Pure and repeatable.

Values of JSON are changed at every distinct path: of the elements of a list the first and the last
represent all.
"""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

Bytes = Callable[[bytes], bytes]
Made = Callable[[], str]  # what is put in a file's place
Place = Callable[[Path, Path], None]  # the file, and one outside that must stay as it is

_LONG = "x" * 100_000
# Raw JSON in place of a value.
VALUES: tuple[str, ...] = (
    *("null", "true", "[]", "{}", '""', "0", "-1", "1e308", "1e-308", "NaN", "-Infinity", "1e999"),
    *("18446744073709551616", "9" * 5000, "9223372036854775807", "1000000000000", "0.5"),
    *('"\\ud800"', '"\\u0000"', '"\\u001b[31m"', '"../../../etc/passwd"', '"1"', '"nan"'),
    *(f'"{_LONG}"', "[" * 100 + "]" * 100, "[null]", '[{"": []}]', '{"": {"": 0}}'),
)


def of_bytes(seed: int) -> dict[str, Bytes]:
    """Changes of any file's contents."""
    rng = random.Random(seed)
    found: dict[str, Bytes] = {
        "empty": lambda raw: b"",
        "cut in the middle": lambda raw: raw[: len(raw) // 2],
        "cut at a third": lambda raw: raw[: len(raw) // 3],
        "its end is gone": lambda raw: raw[:-2],
        "its beginning is gone": lambda raw: raw[3:],
        "twice": lambda raw: raw + raw,
        "a NUL at its end": lambda raw: raw + b"\0",
        "zeros": lambda raw: bytes(len(raw)),
        "no UTF-8": lambda raw: _inserted(raw, len(raw) // 2, b"\xff\xfe\x80"),
        "a byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
        "UTF-16": lambda raw: raw.decode("utf-8", "replace").encode("utf-16"),
        "null": lambda raw: b"null\n",
        "a list": lambda raw: b"[]\n",
        "an object": lambda raw: b"{}\n",
        "a number": lambda raw: b"1\n",
        "a text": lambda raw: b'"x"\n',
        "NaN": lambda raw: b"NaN\n",
        "deep": lambda raw: b"[" * 200_000 + b"\n",
        "deep objects": lambda raw: b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"\n",
        "a line of 20 MB": lambda raw: b"x" * 20_000_000,
        "empty lines": lambda raw: b"\n" * 100_000 + raw,
        "empty objects": lambda raw: b"{}\n" * 100_000,
    }
    for _ in range(6):
        at, bit = rng.random(), rng.randrange(8)
        found[f"bit {bit} at {at:.4f}"] = partial(_flipped, at=at, bit=bit)
    for _ in range(3):
        at = rng.random()
        found[f"a piece is gone at {at:.4f}"] = partial(_without, at=at)
    return found


def of_places() -> dict[str, Place]:
    """Something else in a file's place."""
    return {
        "missing": lambda path, _outside: path.unlink(),
        "a directory": lambda path, _outside: _instead(path, Path.mkdir),
        "a FIFO": lambda path, _outside: _instead(path, os.mkfifo),
        "a socket": lambda path, _outside: _instead(path, _socket),
        "a link to a file": lambda path, outside: _instead(path, lambda p: p.symlink_to(outside)),
        "a link to itself": lambda path, _outside: _instead(path, lambda p: p.symlink_to(p)),
        "a link to /dev/zero": lambda path, _outside: _instead(
            path, lambda p: p.symlink_to("/dev/zero")
        ),
        "a link to nothing": lambda path, _outside: _instead(
            path, lambda p: p.symlink_to("not-there")
        ),
    }


def of_values(document: Any) -> Iterator[tuple[str, Made]]:
    """Name and text of each change of a JSON document: at every path every value, or nothing. Made
    when asked for: all together would fill the memory."""
    for path in _paths(document):
        name = ".".join(map(str, path)) or "all"
        if path:
            yield f"{name} gone", partial(_gone, document, path)
        for number, value in enumerate(VALUES):
            yield f"{name} = {value[:24]} ({number})", partial(_replaced, document, path, value)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _paths(one, (*path, key))
    elif isinstance(value, list) and value:
        for at in sorted({0, len(value) - 1}):
            yield from _paths(value[at], (*path, at))


_MARK = "@@the value goes here@@"


def _gone(document: Any, path: tuple[Any, ...]) -> str:
    return json.dumps(_removed(document, path))


def _replaced(document: Any, path: tuple[Any, ...], raw: str) -> str:
    return json.dumps(_with(document, path, _MARK)).replace(f'"{_MARK}"', raw)


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:], new)
    return copy


def _removed(value: Any, path: tuple[Any, ...]) -> Any:
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = _removed(value[path[0]], path[1:])
    return copy


def _inserted(raw: bytes, at: int, piece: bytes) -> bytes:
    return raw[:at] + piece + raw[at:]


def _flipped(raw: bytes, at: float, bit: int) -> bytes:
    if not raw:
        return raw
    changed = bytearray(raw)
    changed[int(at * len(raw))] ^= 1 << bit
    return bytes(changed)


def _without(raw: bytes, at: float) -> bytes:
    begin = int(at * len(raw))
    return raw[:begin] + raw[begin + max(1, len(raw) // 20) :]


def _instead(path: Path, make: Callable[[Path], Any]) -> None:
    path.unlink()
    make(path)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path has a hundred bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)
