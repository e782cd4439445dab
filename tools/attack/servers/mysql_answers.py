"""What a server of MySQL's protocol may answer to statements, once it has let somebody in.

Source: MySQL's client/server protocol, "Command Phase", "Text Resultset".
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Sequence

from tools.attack.servers.listening import HungUp, drip
from tools.attack.servers.mysql import Line

_QUIT, _INIT_DB, _QUERY, _PING, _PREPARE = 1, 2, 3, 14, 22
_OK = bytes.fromhex("00000002000000")
_EOF = bytes.fromhex("fe00000200")
_TEXT = 253
_MOST = 0xFFFFFF  # bytes of a packet; as many say that the next one goes on
Answer = Callable[[Line], None]


def talk(answer: Answer, line: Line, *, first: bool) -> None:
    """Lets everybody in, and gives one answer to all that asks for something. Not `first`: it
    reports its version as an honest server does."""
    line.greet("mysql_native_password")
    line.say(_OK)
    while True:
        command = line.hear()
        word = command[:1] and command[0]
        text = command[1:].decode("utf-8", "replace").strip().lower()
        if word == _QUIT:
            raise HungUp
        if word in (_INIT_DB, _PING) or text.startswith(("set ", "begin", "start ", "use ")):
            line.say(_OK)
        elif not first and text == "select version()":
            rows(line, [[b"8.4.0"]])
        else:
            answer(line)


def lenenc(number: int) -> bytes:
    """A number of the protocol's."""
    if number < 251:
        return bytes([number])
    return b"\xfe" + struct.pack("<Q", number)


def text(value: bytes | None) -> bytes:
    """A value of a row; None is NULL."""
    return b"\xfb" if value is None else lenenc(len(value)) + value


def column(name: bytes) -> bytes:
    parts = (b"def", b"", b"t", b"t", name, name)
    return b"".join(map(text, parts)) + struct.pack("<BHIBHBH", 12, 45, 1024, _TEXT, 0, 0, 0)


def head(line: Line, count: int) -> None:
    """What comes before rows."""
    line.say(lenenc(count))
    for number in range(count):
        line.say(column(b"c%d" % number))
    line.say(_EOF)


def rows(line: Line, values: Sequence[Sequence[bytes | None]], count: int | None = None) -> None:
    head(line, len(values[0]) if count is None else count)
    for row in values:
        line.say(b"".join(map(text, row)))
    line.say(_EOF)


def _endlessly(line: Line, payload: bytes) -> None:
    """Packet after packet, in large pieces."""
    while True:
        line.peer.send(b"".join(line.packet(payload) for _ in range(2000)))


def nothing(line: Line) -> None:
    """Says that it is done, where rows were asked for."""
    line.say(_OK)


def no_rows(line: Line) -> None:
    head(line, 2)
    line.say(_EOF)


def null(line: Line) -> None:
    rows(line, [[None]])


def nulls(line: Line) -> None:
    rows(line, [[None] * 10] * 3)


def words_for_numbers(line: Line) -> None:
    rows(line, [[b"Uptime", b"long"], [b"Questions", b"many"]])


def numbers_without_end(line: Line) -> None:
    rows(line, [[b"Uptime", b"9" * 5000], [b"Questions", b"-1e999"]])


def no_text(line: Line) -> None:
    """No UTF-8."""
    rows(line, [[b"\xff\xfe\x80", b"\xc3\x28"]])


def orders_for_terminals(line: Line) -> None:
    rows(line, [[b"8.4\x1b[2J\x1b]0;owned\x07", b"\xc2\x9b31m"]])


def a_million_letters(line: Line) -> None:
    rows(line, [[b"8.4." + b"x" * 1_000_000, b"y"]])


def values_cut_short(line: Line) -> None:
    head(line, 3)
    line.say(text(b"one"))
    line.say(_EOF)


def a_length_beyond_the_packet(line: Line) -> None:
    head(line, 1)
    line.say(b"\xfe" + struct.pack("<Q", 2**62) + b"abc")
    line.say(_EOF)


def more_columns_than_any_server(line: Line) -> None:
    line.say(b"\xfe" + struct.pack("<Q", 2**40))
    _endlessly(line, column(b"c"))


def columns_without_end(line: Line) -> None:
    line.say(lenenc(4000))
    while True:
        line.say(column(b"c" * 60_000))


def columns_that_are_none(line: Line) -> None:
    line.say(b"\x01")
    line.say(b"\xff\xff")
    line.say(_EOF)


def rows_without_end(line: Line) -> None:
    head(line, 1)
    _endlessly(line, text(b"1"))


def empty_rows_without_end(line: Line) -> None:
    head(line, 1)
    _endlessly(line, b"\xfb")


def a_row_without_end(line: Line) -> None:
    head(line, 1)
    while True:
        line.say(b"\xfe" + struct.pack("<Q", 2**40) + bytes(_MOST - 9))


def a_byte_now_and_then(line: Line) -> None:
    head(line, 1)
    drip(line.peer, itertools.repeat(line.packet(text(b"x" * 200))))


def silence(line: Line) -> None:
    line.peer.wait_for_the_end()
    raise HungUp


def garbage(line: Line) -> None:
    line.say(bytes(range(7, 250)))


def an_empty_packet(line: Line) -> None:
    line.say(b"")


def numbers_of_packets_wrong(line: Line) -> None:
    line.skip(40)
    line.say(_OK)


def an_end_first(line: Line) -> None:
    line.say(_EOF)


def an_error_for_terminals(line: Line) -> None:
    line.say(b"\xff\x7a\x04#42S02" + b"\x1b[31mgone\x07" * 50_000)


def an_error_cut_short(line: Line) -> None:
    line.say(b"\xff")


def a_file_of_ours(line: Line) -> None:
    """LOAD DATA LOCAL, unasked."""
    line.say(b"\xfb/etc/passwd")
    line.peer.learned.decrypted.append(line.hear())


def hangs_up(line: Line) -> None:
    head(line, 2)
    raise HungUp


ANSWERS: tuple[Answer, ...] = (
    nothing,
    no_rows,
    null,
    nulls,
    words_for_numbers,
    numbers_without_end,
    no_text,
    orders_for_terminals,
    a_million_letters,
    values_cut_short,
    a_length_beyond_the_packet,
    more_columns_than_any_server,
    columns_without_end,
    columns_that_are_none,
    rows_without_end,
    empty_rows_without_end,
    a_row_without_end,
    garbage,
    an_empty_packet,
    numbers_of_packets_wrong,
    an_end_first,
    an_error_for_terminals,
    an_error_cut_short,
    a_file_of_ours,
    hangs_up,
)
# These end by the time that an answer may take.
SLOW: tuple[Answer, ...] = (a_byte_now_and_then, silence)
