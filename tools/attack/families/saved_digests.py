"""Digests that somebody has saved as JSON, damaged."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

from tools.attack import damage
from tools.attack.commands import Case, attack
from tools.attack.row import Effort, Row, Tally

NAME = "saved.json"
COMMANDS = (
    ("digest", NAME),
    ("digest", NAME, "--format", "html", "--out", "page.html"),
    ("digest", NAME, "--format", "markdown"),
    ("digest", NAME, "--format", "pt"),
    ("digest", NAME, "--json"),
    ("digest", "--compare", NAME, "sound.json"),
)
_MOST = 1200
_ENTRY = """# Time: 2026-03-01T10:00:{second:02}.000000Z
# User@Host: app[app] @ localhost []  Id: {id}
# Query_time: {took}  Lock_time: 0.000100 Rows_sent: 1  Rows_examined: {rows}
SET timestamp=17723592{second:02};
{sql};
"""
_SQL = (
    "select * from users where id = 7",
    "update stock set n = n - 1 where item = 'x'",
    "insert into orders values (1, 2, 3)",
)


def _run(effort: Effort) -> Tally:
    return attack(cases(_made(effort.scratch, effort.engine)), effort)


def _made(scratch: Path, engine: Path) -> bytes:
    """A digest of a small slow log, by the engine."""
    log = scratch / "slow.log"
    entries = [
        _ENTRY.format(second=n % 60, id=n, took=f"0.{n:06}", rows=n, sql=_SQL[n % 3])
        for n in range(1, 60)
    ]
    log.write_text("".join(entries))
    done = subprocess.run([engine, "digest", str(log)], capture_output=True, timeout=60, check=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found = next(event["document"] for event in events if event.get("event") == "digest")
    return json.dumps(found).encode()


def cases(raw: bytes) -> Iterator[Case]:
    """All damage."""
    numbers = count()

    def case(name: str, changed: Callable[[], bytes]) -> Case:
        other = COMMANDS[next(numbers) % len(COMMANDS)]
        return Case(name, partial(_put, raw, changed), (other,))

    for seed in range(3):
        for how, change in damage.of_bytes(seed).items():
            yield case(f"bytes ({seed}): {how}", partial(change, raw))
    changes = list(damage.of_values(json.loads(raw)))
    for how, text in random.Random(2).sample(changes, min(_MOST, len(changes))):
        yield case(how, partial(_encoded, text))


def _encoded(text: damage.Made) -> bytes:
    return text().encode()


def _put(sound: bytes, changed: Callable[[], bytes], place: Path) -> None:
    (place / "sound.json").write_bytes(sound)
    (place / NAME).write_bytes(changed())


ROW = Row(
    name="saved_digests",
    attack="saved digests with bytes and values of JSON changed",
    survived="`digest` draws them or says which key is wrong; never a defect of dbdyno",
    run=_run,
)
