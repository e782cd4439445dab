"""Attacks that are files: each is put down, commands are run on it, and judged."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tools.attack import confined, judge
from tools.attack.row import Effort, Tally

NAMES = "names.json"
OUTSIDE = "outside.txt"  # next to what is attacked: must stay as it is
_KEPT = "nobody may write here\n"


@dataclass(frozen=True)
class Case:
    """`put` makes what is damaged in an empty directory; `commands` are run there.

    A `put` that returns a context is left after them, and may give a function that says what else
    went wrong. Words of commands may hold names of the directory's `names.json`.
    """

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
        put = case.put(place)
        around = put if isinstance(put, AbstractContextManager) else nullcontext(list)
        found = []
        with around as also:
            for command in _named(case.commands, place):
                ended = confined.run(command, place)
                wrong = judge.reasons(ended, as_json="--json" in command) + also()
                if outside.read_text() != _KEPT:
                    wrong.append("writes where a link leads")
                if wrong:
                    found.append(f"dyno {' '.join(command)}: {'; '.join(wrong)}")
        return found
    finally:
        shutil.rmtree(place)


def _named(commands: Sequence[Sequence[str]], place: Path) -> list[list[str]]:
    """The commands, with what only is known now."""
    names = place / NAMES
    known: dict[str, str] = json.loads(names.read_text()) if names.exists() else {}

    def filled(word: str) -> str:
        for name, value in known.items():
            word = word.replace(name, value)
        return word

    return [[filled(word) for word in command] for command in commands]
