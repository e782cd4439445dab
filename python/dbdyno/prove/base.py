"""Today's side of a proof: a workload, and a server with its data. Taken from an experiment, which
is the user's own or made of a log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.digest.workload.yamltext import scalar
from dbdyno.errors import DynoError
from dbdyno.experiment import load, workloads
from dbdyno.experiment.file import document
from dbdyno.experiment.types import Cell, Group, Setup, Spec, Target

# Parts of the experiment that a proof takes over; all else it says itself.
KEPT = ("setup", "workload", "groups", "state", "cpus", "needs", "load_threads", "drain")


@dataclass(frozen=True)
class Base:
    """`targets`, `kept`: lines of YAML; `spec`: the experiment without what is to be proved."""

    targets: str
    kept: str
    spec: Spec

    @property
    def cell(self) -> Cell:
        return self.spec.cells[0]

    @property
    def target(self) -> Target:
        return self.cell.targets[0]

    @property
    def setup(self) -> Setup:
        return self.target.setup or Setup()

    @property
    def groups(self) -> tuple[Group, ...]:
        """Those whose statements are the user's own."""
        return tuple(one for one in self.cell.groups if workloads.classes(one.kind, one.options))

    def prefix(self, group: Group) -> str:
        """What the group's metrics begin with."""
        return f"{group.name}." if len(self.cell.groups) > 1 else ""


def base(text: str, file: Path, target: Mapping[str, Any] | None, keeps_state: bool) -> Base:
    """From an experiment's text. `file`: where a proof's file will be; `target`: keys of a server
    of its own, in place of those that the text names. DynoError for what cannot be proved with."""
    parts = _parts(text, file)
    names = list(_mapping(text, file, "targets"))
    if len(names) != 1:
        raise DynoError(
            f"the workload has {len(names)} targets, and one is proved with at a time",
            cause="a log of several databases has a target for each",
            fix="choose one: --db NAME, or an experiment with one target",
        )
    targets = parts["targets"]
    if target is not None:
        lines = [f"    {key}: {scalar(value)}" for key, value in target.items()]
        targets = "\n".join(["targets:", f"  {names[0]}:", *lines]) + "\n"
    wanted = (key for key in KEPT if keeps_state or key != "state")
    kept = "\n".join(parts[key].rstrip() + "\n" for key in wanted if key in parts)
    made = f"experiment: prove\n{targets}\n{kept}"
    found = Base(targets, kept, load(made, file=file))
    _refuse(found)
    return found


def _refuse(found: Base) -> None:
    """DynoError for a server that is not private, and for a workload of no SQL of the user's."""
    if found.target.url is not None:
        raise DynoError(
            "a candidate is never tried on a server that others use",
            cause="the experiment names its server by a URL",
            fix="prove on a private server: --dump FILE with its data, or --on URL, which copies"
            " schema and data",
        )
    if not found.groups:
        raise DynoError(
            "the workload has no statements of its own",
            cause=f"it is `{found.cell.groups[0].kind}`, whose statements dbdyno brings",
            fix="give a log, or an experiment with `kind: mix`",
        )


def _mapping(text: str, file: Path, key: str) -> Mapping[str, Any]:
    found = document.parse(text, file).mapping.get(key)
    return found.mapping if found is not None else {}


def _parts(text: str, file: Path) -> dict[str, str]:
    """The lines of each top-level key, without the comments above the next one."""
    lines = text.splitlines(keepends=True)
    keys = [(key, node.key) for key, node in document.parse(text, file).mapping.items()]
    places = [(key, place.line) for key, place in keys if place is not None and place.column == 1]
    if len(places) != len(keys):
        raise DynoError(
            f"{file} is written without a line for each key",
            cause="the proof takes some of its keys over with their comments",
            fix="write each top-level key at the beginning of a line of its own",
        )
    ends = [*(line for _, line in places[1:]), len(lines) + 1]
    return {
        key: "".join(_without_comments(lines[line - 1 : end - 1]))
        for (key, line), end in zip(places, ends, strict=True)
    }


def _without_comments(lines: list[str]) -> Iterator[str]:
    last = max((n for n, line in enumerate(lines) if not _is_aside(line)), default=-1)
    yield from lines[: last + 1]


def _is_aside(line: str) -> bool:
    return not line.strip() or line.startswith("#")
