"""The experiment of a proof: today against candidates in balanced blocks, in an ordinary file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.digest.workload.yamltext import comment, length, scalar
from dbdyno.experiment.types import Group
from dbdyno.experiment.workloads import mix
from dbdyno.prove.base import Base
from dbdyno.prove.candidates import TODAY, Candidate
from dbdyno.wording.numbers import listed

FACTOR = "candidate"
MATTERS = 0.03
WRITES_MAY_LOSE = 0.05  # of their speed, before a claim says that they lose
SERVED_MAX = 4  # classes a candidate whose speed is claimed: each claim widens the intervals of all

WHOLE, CLASS, WRITES, FORMS = "whole", "class", "writes", "forms"


@dataclass(frozen=True)
class Effect:
    """Something that a candidate does, and the claim that judges it. `of`: WHOLE, CLASS, WRITES or
    FORMS;
    `about`: it in words; `class_`: `group/class`."""

    candidate: str
    of: str
    about: str
    claim: str
    say: str
    class_: str = ""


@dataclass(frozen=True)
class Lengths:
    """Of a run: blocks, and seconds of a trial. `until_decided`: no more blocks than are needed."""

    blocks: int
    warmup_s: float
    duration_s: float
    interval_s: float
    until_decided: bool = False


@dataclass(frozen=True)
class Proof:
    """What is asked. `built`: statements that both sides have; `served`: by candidate, the classes
    whose speed is claimed; `notes`: what was found out before the measurement; `selects`: only the
    whole mix is claimed, since more claims would widen its interval; `forms`: the candidates are
    two forms of one, of which the first is also claimed to be faster than the second."""

    name: str
    command: str
    base: Base
    candidates: tuple[Candidate, ...]
    built: tuple[str, ...] = ()
    served: Mapping[str, Sequence[str]] | None = None
    notes: tuple[str, ...] = ()
    seed: int | None = None
    selects: bool = False
    forms: bool = False


def text(proof: Proof, file: Path, lengths: Lengths) -> str:
    """The YAML, with comments."""
    return "\n".join(_lines(proof, file, lengths)) + "\n"


def effects(proof: Proof) -> list[Effect]:
    """The claims, candidate by candidate."""
    found = [one for candidate in proof.candidates for one in _effects(proof, candidate)]
    return [*found, *_between_forms(proof)] if proof.forms else found


def _lines(proof: Proof, file: Path, lengths: Lengths) -> Iterator[str]:
    yield from comment(f"Written by: {proof.command}")
    yield f"# Change it, and run it again: dyno run {file}"
    yield ""
    yield f"experiment: {proof.name}"
    what = listed([one.what for one in proof.candidates])
    yield f"question: {scalar(f'What does {what} change?')}"
    if proof.notes:
        yield "notes: >-"
        yield from (f"  {_plain(note)}" for note in proof.notes)
    yield ""
    yield proof.base.targets
    yield proof.base.kept
    if proof.candidates:
        yield "factors:"
        yield f"  {FACTOR}:"
        yield from _level(proof, TODAY, None)
        for candidate in proof.candidates:
            yield from _level(proof, candidate.name, candidate)
        yield ""
    if lengths.until_decided:
        yield f"trials: {{max: {lengths.blocks}, until: decided}}   # blocks with each side once"
    else:
        yield f"blocks: {lengths.blocks}   # each side once in each; fewer than 3 are never judged"
    yield f"warmup: {length(lengths.warmup_s)}"
    yield f"duration: {length(lengths.duration_s)}   # of a trial; longer ones measure more exactly"
    yield f"interval: {length(lengths.interval_s)}"
    if proof.seed is not None:
        yield f"seed: {proof.seed}"
    yield f"matters: {MATTERS:.0%}   # smaller differences are not interesting"
    if proof.candidates:
        yield ""
        yield "claims:"
    for one in effects(proof):
        yield f"  - {scalar({'claim': one.claim, 'say': one.say})}"


def _level(proof: Proof, name: str, candidate: Candidate | None) -> Iterator[str]:
    patches = patch(proof, candidate)
    if candidate is not None:
        yield from comment(candidate.what, 4)
    if not patches:
        yield f"    {name}: {{}}"
        return
    yield f"    {name}:"
    yield from (f"      {path}: {scalar(value)}" for path, value in patches.items())


def patch(proof: Proof, candidate: Candidate | None) -> dict[str, Any]:
    """What a level lays over the experiment: path -> value."""
    base = proof.base
    one = candidate or Candidate(TODAY, TODAY)
    found: dict[str, Any] = {
        f"{base.target.name}.{key}": value for key, value in one.target.items()
    }
    if after := (*proof.built, *one.after):
        found[f"{base.target.name}.setup.after"] = [*base.setup.after, *after]
    for class_, sql in one.rewrites.items():
        for group in base.groups:
            found |= _rewritten(group, class_, sql)
    return found


def _rewritten(group: Group, class_: str, sql: str) -> dict[str, Any]:
    """Patches that put other SQL into all statements of a class."""
    found: dict[str, Any] = {}
    for keys, name, _ in mix.sent(group.options):
        if name != class_:
            continue
        if keys[0] == "statements":
            found[f"{group.name}.statements.{name}.sql"] = sql
            continue
        path = f"{group.name}.transactions.{keys[1]}.steps"
        steps = found.setdefault(path, _copied(group.options["transactions"][keys[1]]["steps"]))
        step = steps[int(keys[3])]
        for key in keys[4:]:
            step = step[int(key)] if key.isdigit() else step[key]
        step["sql"] = sql
    return found


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(one) for one in value]
    return value


def _effects(proof: Proof, one: Candidate) -> Iterator[Effect]:
    base = proof.base
    several = len(base.cell.groups) > 1
    for group in base.groups:
        yield _whole(one, base.prefix(group), group, _of(proof, group))
    if proof.selects:
        return
    for key in list((proof.served or {}).get(one.name, ()))[:SERVED_MAX]:
        name, _, class_ = key.partition("/")
        group = next(each for each in base.groups if each.name == name)
        about = f"{class_} of {name}" if several else class_
        metric = f"{base.prefix(group)}class.{class_}.service_ms_mean"
        yield Effect(
            one.name,
            CLASS,
            about,
            f"{metric}[{TODAY}] > {metric}[{one.name}]",
            f"{about} is faster with {one.what}",
            key,
        )
    for group in base.groups:
        if all(mix.classes(group.options).values()):
            continue
        metric = f"{base.prefix(group)}write_ms_mean"
        yield Effect(
            one.name,
            WRITES,
            f"writes of {group.name}" if several else "writes",
            f"{metric}[{TODAY}] >= {1 - WRITES_MAY_LOSE:g} * {metric}[{one.name}]",
            f"writes lose less than {100 * WRITES_MAY_LOSE:g} % of their speed with {one.what}",
        )


def _between_forms(proof: Proof) -> Iterator[Effect]:
    first, second = proof.candidates
    for group in proof.base.groups:
        metric, more_is_better = _speed(proof.base.prefix(group), group)
        fast, slow = (first, second) if more_is_better else (second, first)
        about = f"the whole mix{_of(proof, group)} against {second.what}"
        yield Effect(
            first.name,
            FORMS,
            about,
            f"{metric}[{fast.name}] > {metric}[{slow.name}]",
            f"the whole mix{_of(proof, group)} is faster with {first.what} than with {second.what}",
        )


def _of(proof: Proof, group: Group) -> str:
    return f" of {group.name}" if len(proof.base.cell.groups) > 1 else ""


def _speed(prefix: str, group: Group) -> tuple[str, bool]:
    """The metric of a group's speed, and whether more of it is faster."""
    if group.arrivals is not None or group.find is not None:
        return f"{prefix}response_ms_mean", False
    return f"{prefix}transactions_per_s", True


def _whole(one: Candidate, prefix: str, group: Group, of: str) -> Effect:
    metric, more_is_better = _speed(prefix, group)
    left, right = f"{metric}[{one.name}]", f"{metric}[{TODAY}]"
    if not more_is_better:
        left, right = right, left
    about = f"the whole mix{of}"
    if one.removes:
        claim = f"{left} >= {1 - MATTERS:g} * {right}"
        say = f"{about} loses less than {100 * MATTERS:g} % of its speed by {one.what}"
    else:
        claim, say = f"{left} > {right}", f"{about} is faster with {one.what}"
    return Effect(one.name, WHOLE, about, claim, say)


def _plain(note: str) -> str:
    """A note that stays one line of YAML's folded text."""
    return " ".join(note.split())
