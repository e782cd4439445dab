"""BSON, as commands and their answers need it: documents as dicts, arrays as lists.

What comes may be anybody's: lengths are checked before they are believed, and values and depth have
limits. Source: bsonspec.org, version 1.1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from dbdyno.systems.logins.policy import ANSWER_ROWS_MAX

DEPTH_MAX = 100  # of documents in documents, as of the server's own
_INT32, _INT64, _DOUBLE = struct.Struct("<i"), struct.Struct("<q"), struct.Struct("<d")


class NotBson(ValueError):
    """What should be a document is none, or beyond the limits."""


# ---- encoding


def encode(document: Mapping[str, Any]) -> bytes:
    """A document of str, bool, int, float, None, bytes, and mappings and lists of these."""
    body = b"".join(_element(name, value) for name, value in document.items())
    return _INT32.pack(len(body) + 5) + body + b"\0"


def _element(name: str, value: Any) -> bytes:
    kind, raw = _encoded(value)
    return bytes([kind]) + name.encode() + b"\0" + raw


def _encoded(value: Any) -> tuple[int, bytes]:
    if isinstance(value, bool):
        return 0x08, bytes([value])
    if isinstance(value, int):
        short = -(1 << 31) <= value < 1 << 31
        return (0x10, _INT32.pack(value)) if short else (0x12, _INT64.pack(value))
    if isinstance(value, float):
        return 0x01, _DOUBLE.pack(value)
    if isinstance(value, str):
        raw = value.encode() + b"\0"
        return 0x02, _INT32.pack(len(raw)) + raw
    if isinstance(value, bytes):
        return 0x05, _INT32.pack(len(value)) + b"\0" + value
    if isinstance(value, Mapping):
        return 0x03, encode(value)
    if isinstance(value, list):
        return 0x04, encode({str(number): one for number, one in enumerate(value)})
    assert value is None, type(value)
    return 0x0A, b""


# ---- decoding


def decode(raw: bytes) -> dict[str, Any]:
    """The one document that `raw` is. Dates are milliseconds, ids hexadecimal digits, and code and
    regular expressions their text; what is rarer is None. NotBson if it is no document."""
    reader = _Reader(raw)
    found = reader.document(len(raw), DEPTH_MAX)
    if reader.at != len(raw):
        raise NotBson("bytes follow the document")
    return found


class _Reader:
    """A place in bytes."""

    def __init__(self, raw: bytes) -> None:
        self.at = 0
        self._raw = raw
        self._left = ANSWER_ROWS_MAX

    def document(self, end: int, depth: int) -> dict[str, Any]:
        return dict(self._elements(end, depth))

    def _elements(self, end: int, depth: int) -> list[tuple[str, Any]]:
        begin = self.at
        length = self._number(_INT32, end)
        stop = begin + length - 1
        if depth < 0 or length < 5 or stop >= end or self._raw[stop]:
            raise NotBson("a document has an impossible length")
        found = []
        while self.at < stop:
            kind = self._raw[self.at]
            self.at += 1
            name = self._text(stop)
            found.append((name, self._value(kind, stop, depth)))
        if self.at != stop:
            raise NotBson("a value goes on behind its document")
        self.at = stop + 1
        return found

    def _value(self, kind: int, end: int, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise NotBson("it has too many values")
        if kind == 0x03:
            return self.document(end, depth - 1)
        if kind == 0x04:
            return [value for _, value in self._elements(end, depth - 1)]
        read = _READERS.get(kind)
        if read is None:
            raise NotBson(f"a value is of the unknown type {kind:#04x}")
        return read(self, end)

    def _take(self, length: int, end: int) -> bytes:
        if length < 0 or length > end - self.at:
            raise NotBson("a value goes on behind its document")
        self.at += length
        return self._raw[self.at - length : self.at]

    def _number(self, form: struct.Struct, end: int) -> Any:
        return form.unpack(self._take(form.size, end))[0]

    def _text(self, end: int) -> str:
        """Up to a zero byte."""
        zero = self._raw.find(b"\0", self.at, end)
        if zero < 0:
            raise NotBson("a name has no end")
        return self._take(zero + 1 - self.at, end)[:-1].decode("utf-8", "replace")

    def _string(self, end: int) -> str:
        """With its length before it."""
        raw = self._take(self._number(_INT32, end), end)
        if raw[-1:] != b"\0":
            raise NotBson("a text has no end")
        return raw[:-1].decode("utf-8", "replace")

    def _binary(self, end: int) -> bytes:
        return self._take(self._number(_INT32, end) + 1, end)[1:]

    def _regular(self, end: int) -> str:
        pattern = self._text(end)
        self._text(end)  # its options
        return pattern

    def _scoped(self, end: int) -> str:
        """Code; the document of its variables is skipped."""
        stop = self.at + self._number(_INT32, end)
        if stop > end:
            raise NotBson("a value goes on behind its document")
        code = self._string(stop)
        self._take(stop - self.at, stop)
        return code

    def _pointer(self, end: int) -> None:
        self._string(end)
        self._take(12, end)


def _nothing(reader: _Reader, end: int) -> None:
    return None


def _skipping(length: int) -> Callable[[_Reader, int], None]:
    def skip(reader: _Reader, end: int) -> None:
        reader._take(length, end)

    return skip


def _numbers(form: struct.Struct) -> Callable[[_Reader, int], Any]:
    return lambda reader, end: reader._number(form, end)


_READERS: Mapping[int, Callable[[_Reader, int], Any]] = {
    0x01: _numbers(_DOUBLE),
    0x02: _Reader._string,
    0x05: _Reader._binary,
    0x06: _nothing,  # undefined
    0x07: lambda reader, end: reader._take(12, end).hex(),  # an id
    0x08: lambda reader, end: reader._take(1, end) != b"\0",
    0x09: _numbers(_INT64),  # a date
    0x0A: _nothing,
    0x0B: _Reader._regular,
    0x0C: _Reader._pointer,
    0x0D: _Reader._string,  # code
    0x0E: _Reader._string,  # a symbol
    0x0F: _Reader._scoped,
    0x10: _numbers(_INT32),
    0x11: _numbers(struct.Struct("<Q")),  # a timestamp
    0x12: _numbers(_INT64),
    0x13: _skipping(16),  # a decimal number
    0x7F: _nothing,
    0xFF: _nothing,
}
