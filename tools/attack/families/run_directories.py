"""Run directories of somebody else, every file of them damaged in every way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

from tools.attack import damage, victim
from tools.attack.commands import OUTSIDE, Case, attack
from tools.attack.row import Effort, Row, Tally

RUN = "run"
# Each damaged directory is reported on, and met by one of these in turn.
COMMANDS = (
    ("history", ".", "--json"),
    ("compare", RUN, RUN, "--anyway", "--json"),
    ("pool", RUN, "--json"),
    ("export", RUN, "--csv", "tables"),
    ("export", RUN, "--openmetrics", "metrics.txt"),
    ("status", RUN, "--json"),
    ("report", RUN, "--redact", "--to", "redacted"),
    ("report", RUN, "--bundle", "run.bundle", "--to", "reports"),
    ("run", "--check", "own.yaml", "--against", RUN),
    ("run", "--resume", RUN),
)
OWN = """
experiment: own
question: Is it the same?
targets:
  db: {kind: null, durability: full, isolation: serializable, memory: 64Mi}
workload: {kind: oltp, preset: read_only, sessions: 2, rows: 100}
"""


def _run(effort: Effort) -> Tally:
    return attack(cases(victim.run(effort.scratch)), effort)


def cases(whole: Path) -> Iterator[Case]:
    """All damage to a run."""
    numbers = count()

    def case(name: str, hurt: Callable[[Path, Path], None]) -> Case:
        def put(place: Path) -> None:
            run = victim.copied(whole, place / RUN)
            (place / "own.yaml").write_text(OWN)
            hurt(run, place / OUTSIDE)

        other = COMMANDS[next(numbers) % len(COMMANDS)]
        return Case(name, put, (("report", RUN, "--json"), other))

    for name in files(whole):
        for how, place in damage.of_places().items():
            yield case(f"{name}: {how}", partial(_placed, name, place))
        for how, change in damage.of_bytes(len(name)).items():
            yield case(f"{name}: {how}", partial(_changed, name, change))
        for how, text in values(whole / name):
            yield case(f"{name}: {how}", partial(_written, name, text))
    for name in ("trials", "trials/" + min(p.name for p in (whole / "trials").iterdir())):
        yield case(f"{name}: a link", partial(_linked, name))
        yield case(f"{name}: missing", partial(_moved, name))


def files(whole: Path) -> list[str]:
    """What is damaged: the run's own files, and those of two of its trials."""
    trials = sorted((whole / "trials").iterdir())
    chosen = [one.name for one in (trials[0], trials[1], trials[-1])]
    own = [path for path in whole.iterdir() if path.is_file() and path.suffix in _READ]
    own += [path for name in chosen for path in (whole / "trials" / name).rglob("*")]
    names = [str(path.relative_to(whole)) for path in own if path.is_file()]
    return sorted(name for name in names if Path(name).name not in ("run.log", "result.json"))


_READ = (".json", ".ndjson", "")


def values(path: Path) -> Iterator[tuple[str, damage.Made]]:
    """Changes of what a document says; of streams those of one line of each kind."""
    if path.suffix == ".json":
        yield from damage.of_values(json.loads(path.read_text()))
    elif path.suffix == ".ndjson":
        lines = path.read_text().splitlines()
        seen: dict[str, int] = {}
        for at, line in enumerate(lines):
            value = json.loads(line)
            seen[str(value.get("event") or value.get("source") or value.get("point"))] = at
        for kind, at in seen.items():
            for how, text in damage.of_values(json.loads(lines[at])):
                yield f"{kind}: {how}", partial(_line, lines, at, text)


def _line(lines: list[str], at: int, text: damage.Made) -> str:
    return "\n".join([*lines[:at], text(), *lines[at + 1 :]]) + "\n"


def _placed(name: str, place: damage.Place, run: Path, outside: Path) -> None:
    place(run / name, outside)


def _changed(name: str, change: damage.Bytes, run: Path, _outside: Path) -> None:
    (run / name).write_bytes(change((run / name).read_bytes()))


def _written(name: str, text: damage.Made, run: Path, _outside: Path) -> None:
    (run / name).write_text(text())


def _linked(name: str, run: Path, outside: Path) -> None:
    (run / name).rename(outside.with_name("elsewhere"))
    (run / name).symlink_to(outside.with_name("elsewhere"))


def _moved(name: str, run: Path, outside: Path) -> None:
    (run / name).rename(outside.with_name("elsewhere"))


ROW = Row(
    name="run_directories",
    attack="run directories with every file damaged: bytes, values of JSON, FIFOs, links, devices",
    survived="`report` and ten other commands end with a documented code, within a minute and"
    " 1 GiB, say which file it is, write through no link, and never call it a defect of dbdyno",
    run=_run,
)
