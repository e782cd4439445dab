"""Attacks that are files: each is put down, commands are run on it, and judged."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.attack import confined, judge
from tools.attack.row import Effort, Tally

OUTSIDE = "outside.txt"  # beside what is attacked: must stay as it is
_KEPT = "nobody may write here\n"


@dataclass(frozen=True)
class Case:
    """`put` makes what is damaged in an empty directory; `commands` are run there."""

    name: str
    put: Callable[[Path], object]
    commands: Sequence[Sequence[str]]


def attack(cases: Iterable[Case], effort: Effort) -> Tally:
    """Tries all of them, or as many as the effort allows."""
    every = list(cases)
    if effort.most is not None and len(every) > effort.most:
        every = random.Random(effort.seed).sample(every, effort.most)
    confined.preload()
    tally = Tally()
    for number, case in enumerate(every, start=1):
        tally.add(case.name, _reasons(case, effort.scratch / "case"))
        if number % 100 == 0:
            effort.say(f"    {number} of {len(every)}, {tally.failed} failed")
    return tally


def _reasons(case: Case, place: Path) -> list[str]:
    place.mkdir()
    try:
        outside = place / OUTSIDE
        outside.write_text(_KEPT)
        case.put(place)
        found = []
        for command in case.commands:
            ended = confined.run(command, place)
            wrong = judge.reasons(ended, as_json="--json" in command)
            if outside.read_text() != _KEPT:
                wrong.append("writes where a link leads")
            if wrong:
                found.append(f"dyno {' '.join(command)}: {'; '.join(wrong)}")
        return found
    finally:
        shutil.rmtree(place)
