"""Logs of servers, damaged: their bytes changed, or something else in their place."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tools.attack import damage
from tools.attack.commands import OUTSIDE, Case, attack
from tools.attack.row import Effort, Row, Tally

_SEEDS = Path(__file__).resolve().parents[3] / "fuzz" / "seeds"
_NAME = "server.log"
_FORMATS = (
    *("mysql_slow", "mysql_general", "mysql_binlog", "mongodb"),
    *("postgres_stderr", "postgres_csv", "postgres_json"),
)
_ROUNDS = 3
_COPIES = 40  # a log is not that short
COMMANDS = (
    ("digest", _NAME),
    ("digest", _NAME, "--json"),
    ("digest", _NAME, "--format", "html", "--out", "page.html"),
    ("digest", _NAME, "--strict"),
    ("digest", "--compare", _NAME, _NAME),
)


def cases() -> Iterator[Case]:
    """All damage to samples of all formats."""
    drawn = random.Random(3)
    for name, seed in itertools.product(_FORMATS, range(_ROUNDS)):
        for path in sorted((_SEEDS / name).iterdir()):
            raw = path.read_bytes()
            sound = raw if name == "mysql_binlog" else (raw.rstrip(b"\n") + b"\n") * _COPIES
            for how, change in damage.of_bytes(seed).items():
                put = partial(_put, sound, change)
                command = drawn.choice(COMMANDS)
                yield Case(f"{name} {path.name} ({seed}): {how}", put, (command,))
    for how, place in damage.of_places().items():
        yield Case(f"{how} in its place", partial(_placed, place), COMMANDS[:2])


def _put(sound: bytes, change: damage.Bytes, place: Path) -> None:
    (place / _NAME).write_bytes(change(sound))


def _placed(put: damage.Place, place: Path) -> None:
    (place / _NAME).write_bytes(b"")
    put(place / _NAME, place / OUTSIDE)


def _run(effort: Effort) -> Tally:
    return attack(cases(), effort)


ROW = Row(
    name="logs",
    attack="logs of MySQL, PostgreSQL and MongoDB with bytes changed, and something else in their"
    " place",
    survived="`digest` draws what it understands and counts the rest, or says what is wrong, within"
    " a minute and 1 GiB; never a defect of dbdyno",
    run=_run,
)
