"""Results of other tools: every sample of the tests' fixtures, its bytes and lines changed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tools.attack import damage
from tools.attack.commands import Case, attack
from tools.attack.row import Effort, Row, Tally

SAMPLES = Path(__file__).resolve().parents[3] / "tests" / "fixtures" / "imported"
BYTES_MAX = 400_000  # of a sample
_NUMBERS = ("nan", "inf", "-1", "0", "1e999", "9" * 400, "1e308", "", "0x10", "1,5", "\u0663")
_PER_SAMPLE = 90  # changes of lines and numbers


def _run(effort: Effort) -> Tally:
    return attack(cases(), effort)


def cases() -> Iterator[Case]:
    """All changes of all samples."""
    for sample in samples():
        name = str(sample.relative_to(SAMPLES))
        raw = sample.read_bytes()
        for how, change in damage.of_bytes(len(raw)).items():
            yield _case(f"{name}: {how}", sample.name, partial(change, raw))
        for how, place in damage.of_places().items():
            yield Case(
                f"{name}: {how}", partial(_placed, sample.name, raw, place), _of(sample.name)
            )
        for how, text in _lines(raw.decode("utf-8", "replace")):
            yield _case(f"{name}: {how}", sample.name, partial(_utf8, text))
        if sample.suffix == ".json":
            changes = list(damage.of_values(json.loads(raw)))
            for how, written in random.Random(1).sample(changes, min(300, len(changes))):
                yield _case(f"{name}: {how}", sample.name, partial(_encoded, written))


def samples() -> list[Path]:
    """The files that are changed."""
    found = [path for path in SAMPLES.rglob("*") if path.is_file() and path.suffix != ".md"]
    return sorted(path for path in found if path.stat().st_size <= BYTES_MAX)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Lines that are gone, twice or elsewhere, and numbers that are none."""
    rng = random.Random(len(text))
    lines = text.splitlines(keepends=True)
    numbers = list(re.finditer(r"\d+(?:\.\d+)?", text))
    for _ in range(_PER_SAMPLE if lines else 0):
        at = rng.randrange(len(lines))
        other = rng.randrange(len(lines))
        swapped = list(lines)
        swapped[at], swapped[other] = swapped[other], swapped[at]
        doubled = [*lines[:at], lines[at], *lines[at:]]
        kind = rng.randrange(5)
        if kind == 0:
            yield f"line {at + 1} gone", "".join([*lines[:at], *lines[at + 1 :]])
        elif kind == 1:
            yield f"line {at + 1} twice", "".join(doubled)
        elif kind == 2:
            yield f"lines {at + 1} and {other + 1} exchanged", "".join(swapped)
        elif numbers:
            found, new = rng.choice(numbers), rng.choice(_NUMBERS)
            yield (
                f"the number at {found.start()} is {new[:12]}",
                text[: found.start()] + new + text[found.end() :],
            )


def _case(name: str, file: str, made: Callable[[], bytes]) -> Case:
    return Case(name, partial(_raw, file, made), _of(file))


def _encoded(text: damage.Made) -> bytes:
    return _utf8(text())


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _of(file: str) -> tuple[tuple[str, ...], ...]:
    return (("import", file, "--dir", "run", "--json"),)


def _raw(file: str, made: Callable[[], bytes], place: Path) -> None:
    (place / file).write_bytes(made())


def _placed(file: str, raw: bytes, how: damage.Place, place: Path) -> None:
    (place / file).write_bytes(raw)
    how(place / file, place / "outside.txt")


ROW = Row(
    name="imported_results",
    attack="outputs of sysbench, pgbench, fio, HammerDB and tables, with bytes, lines and numbers"
    " changed",
    survived="`import` makes a run of it or says which line is wrong; never a defect of dbdyno",
    run=_run,
)
