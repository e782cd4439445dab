"""What a server of PostgreSQL's protocol may answer to statements, once it has let somebody in.

Source: the manual's "Message Flow" and "Message Formats".
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Sequence

from tools.attack.servers.listening import HungUp, drip
from tools.attack.servers.postgres import READY, Line

_TEXT, _INT8, _FLOAT8 = 25, 20, 701
_HONEST = {"show server_version": b"16.4"}
_ASIDE = ("set ", "begin", "start ", "commit", "rollback")
Answer = Callable[[Line], None]


def talk(answer: Answer, line: Line, *, first: bool) -> None:
    """Lets everybody in, and gives one answer to all that asks for something. Not `first`: it
    reports its version as an honest server does."""
    line.open()
    line.let_in()
    while True:
        kind, body = line.message()
        said = body.partition(b"\0")[0].decode("utf-8", "replace").strip().lower()
        if kind == b"X":
            raise HungUp
        if kind == b"Q" and not first and said in _HONEST:
            rows(line, [[_HONEST[said]]])
        elif kind == b"Q" and said.startswith(_ASIDE):
            line.peer.send(message(b"C", b"SET\0") + READY)
        elif kind in (b"Q", b"S"):  # a statement, or the end of the extended protocol's
            answer(line)


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def described(count: int, oid: int = _TEXT) -> bytes:
    """A row's columns."""
    one = b"c\0" + struct.pack("!ihihih", 0, 0, oid, -1, -1, 0)
    return message(b"T", struct.pack("!h", count) + one * count)


def row(values: Sequence[bytes | None]) -> bytes:
    """None is NULL."""
    parts = (
        struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
        for value in values
    )
    return message(b"D", struct.pack("!h", len(values)) + b"".join(parts))


def rows(line: Line, values: Sequence[Sequence[bytes | None]], oid: int = _TEXT) -> None:
    head = described(len(values[0]), oid)
    line.peer.send(head + b"".join(map(row, values)) + message(b"C", b"SELECT 1\0") + READY)


def _endlessly(line: Line, data: bytes) -> None:
    while True:
        line.peer.send(data * 2000)


def nothing(line: Line) -> None:
    """Is ready, where rows were asked for."""
    line.peer.send(READY)


def done(line: Line) -> None:
    line.peer.send(message(b"C", b"SELECT 0\0") + READY)


def no_rows(line: Line) -> None:
    line.peer.send(described(2) + message(b"C", b"SELECT 0\0") + READY)


def null(line: Line) -> None:
    rows(line, [[None]])


def nulls(line: Line) -> None:
    rows(line, [[None] * 10] * 3)


def words_for_numbers(line: Line) -> None:
    rows(line, [[b"many", b"long", b"none"]])


def words_called_numbers(line: Line) -> None:
    rows(line, [[b"many"]], _INT8)


def numbers_without_end(line: Line) -> None:
    rows(line, [[b"9" * 5000]], _INT8)


def infinite(line: Line) -> None:
    rows(line, [[b"Infinity", b"NaN", b"-Infinity"]], _FLOAT8)


def no_text(line: Line) -> None:
    rows(line, [[b"\xff\xfe\x80", b"\xc3\x28"]])


def orders_for_terminals(line: Line) -> None:
    rows(line, [[b"16\x1b[2J\x1b]0;owned\x07", b"\xc2\x9b31m"]])


def a_million_letters(line: Line) -> None:
    rows(line, [[b"16." + b"x" * 1_000_000]])


def fewer_values_than_columns(line: Line) -> None:
    line.peer.send(described(3) + row([b"1"]) + message(b"C", b"SELECT 1\0") + READY)


def more_values_than_columns(line: Line) -> None:
    line.peer.send(described(1) + row([b"1"] * 3) + message(b"C", b"SELECT 1\0") + READY)


def rows_that_nobody_described(line: Line) -> None:
    line.peer.send(row([b"1"]) + message(b"C", b"SELECT 1\0") + READY)


def a_length_beyond_the_message(line: Line) -> None:
    line.peer.send(described(1) + message(b"D", struct.pack("!hi", 1, 2**30) + b"x") + READY)


def a_negative_length(line: Line) -> None:
    line.peer.send(b"D" + struct.pack("!i", -5))


def a_message_of_gigabytes(line: Line) -> None:
    line.peer.send(described(1) + b"D" + struct.pack("!i", 2**31 - 1))
    _endlessly(line, bytes(4096))


def rows_without_end(line: Line) -> None:
    line.peer.send(described(1))
    _endlessly(line, row([b"1"]))


def empty_rows_without_end(line: Line) -> None:
    line.peer.send(described(1))
    _endlessly(line, row([None]))


def notices_without_end(line: Line) -> None:
    _endlessly(line, message(b"N", b"SNOTICE\0Mhear me\0\0"))


def settings_without_end(line: Line) -> None:
    for first in itertools.count(step=100):
        names = (b"name%d\0" % number for number in range(first, first + 100))
        line.peer.send(b"".join(message(b"S", name + b"v" * 2000 + b"\0") for name in names))


def notifications_without_end(line: Line) -> None:
    _endlessly(line, message(b"A", struct.pack("!i", 7) + b"channel\0hear me\0"))


def a_byte_now_and_then(line: Line) -> None:
    line.peer.send(described(1))
    drip(line.peer, itertools.repeat(row([b"x" * 200])))


def silence(line: Line) -> None:
    line.peer.wait_for_the_end()
    raise HungUp


def garbage(line: Line) -> None:
    line.peer.send(bytes(range(7, 250)))


def messages_that_nobody_knows(line: Line) -> None:
    line.peer.send(message(b"?", b"what") + READY)


def a_file_of_ours(line: Line) -> None:
    """COPY from the client, unasked."""
    line.peer.send(message(b"G", struct.pack("!bh", 0, 1) + b"\0\0"))


def a_file_of_theirs(line: Line) -> None:
    line.peer.send(message(b"H", struct.pack("!bh", 0, 1) + b"\0\0"))
    _endlessly(line, message(b"d", b"a line\n"))


def an_error_for_terminals(line: Line) -> None:
    said = b"\x1b[31mgone\x07" * 50_000
    line.peer.send(message(b"E", b"SERROR\0C42P01\0M" + said + b"\0\0") + READY)


def an_error_of_nothing(line: Line) -> None:
    line.peer.send(message(b"E", b"\0") + READY)


def an_error_cut_short(line: Line) -> None:
    line.peer.send(message(b"E") + READY)


def hangs_up(line: Line) -> None:
    line.peer.send(described(2) + row([b"1", b"2"])[:9])
    raise HungUp


ANSWERS: tuple[Answer, ...] = (
    nothing,
    done,
    no_rows,
    null,
    nulls,
    words_for_numbers,
    words_called_numbers,
    numbers_without_end,
    infinite,
    no_text,
    orders_for_terminals,
    a_million_letters,
    fewer_values_than_columns,
    more_values_than_columns,
    rows_that_nobody_described,
    a_length_beyond_the_message,
    a_negative_length,
    a_message_of_gigabytes,
    rows_without_end,
    empty_rows_without_end,
    notices_without_end,
    settings_without_end,
    notifications_without_end,
    garbage,
    messages_that_nobody_knows,
    a_file_of_ours,
    a_file_of_theirs,
    an_error_for_terminals,
    an_error_of_nothing,
    an_error_cut_short,
    hangs_up,
)
# These end by the time that an answer may take.
SLOW: tuple[Answer, ...] = (a_byte_now_and_then, silence)
