"""`hooks:` and a level's `apply`, `undo`, `wait_until`: commands of the user's, as written.

A command is text, a mapping (`run`, `on`, `deadline`), or a list of these. It runs through
`/bin/sh -c`, here or on a host by ssh; what runs it is `execute`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationError

from dbdyno.errors import DynoError
from dbdyno.experiment.file import problems
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.types import Cell, Hook, Hooks, LevelHooks, MomentHook
from dbdyno.experiment.values.scalars import Duration, Strict
from dbdyno.hosts import ssh

HOOKS_MAX = 50  # commands at one point
OF_LEVEL = ("apply", "undo", "wait_until")
DEADLINE_S = 300.0

Command = Annotated[str, Field(min_length=1, pattern=r"\S", description="command for `/bin/sh -c`")]
On = Annotated[str, BeforeValidator(ssh.checked), Field(pattern=ssh.PATTERN)]


class HookModel(Strict):
    """A command; text alone is its `run`."""

    run: Command
    on: On | None = Field(None, description="host: `ssh://user@host[:port]`; default: this machine")
    deadline: Duration = Field(
        DEADLINE_S, description="time limit; then the command and its child processes are killed"
    )


class MomentModel(HookModel):
    """A command at a point in time of a trial."""

    at_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        description="start, seconds since the end of the warm-up"
    )


class WaitModel(HookModel):
    """A command that is repeated until it exits with 0."""

    deadline: Duration = Field(DEADLINE_S, description="time limit of all attempts together")
    every: Duration = Field(1.0, description="pause between two attempts")


Commands = Annotated[list[HookModel], Field(max_length=HOOKS_MAX)]


class HooksModel(Strict):
    """Commands at fixed points of a run."""

    before_run: Commands = Field([], description="commands when a run begins or is resumed")
    before_cell: Commands = Field(
        [], description="commands before the servers of another cell start"
    )
    before_trial: Commands = Field(
        [], description="commands before each trial, with running servers"
    )
    during_trial: Annotated[list[MomentModel], Field(max_length=HOOKS_MAX)] = Field(
        [], description="commands during the measured time, each at its `at_s`"
    )
    after_trial: Commands = Field([], description="commands after each trial")
    after_run: Commands = Field([], description="commands when a run ends, also after an error")


class LevelHooksModel(Strict):
    """Commands that apply a level, in addition to its patches."""

    apply: Commands = Field([], description="commands when the level begins")
    undo: Commands = Field([], description="commands when the level ends, also after an error")
    wait_until: Annotated[list[WaitModel], Field(max_length=HOOKS_MAX)] = Field(
        [], description="commands after `apply`, repeated until they exit with 0"
    )


def normal(node: Node) -> Node:
    """`hooks:` with each command spelt out: a list of mappings under each point."""
    if not isinstance(node.value, Mapping):
        return node
    entries = {key: _listed(child) for key, child in node.value.items() if child.value is not None}
    return replace(node, value=entries)


def level(nodes: Mapping[str, Node], owner: Node, prefix: str) -> LevelHooks:
    """The commands of a level. `nodes` are those of its entries that are named in `OF_LEVEL`,
    `owner` the level, `prefix` how messages call it. DynoError for what is none, with its place."""
    if not nodes:
        return LevelHooks()
    node = normal(replace(owner, value=dict(nodes)))
    try:
        model = LevelHooksModel.model_validate(node.plain())
    except ValidationError as error:
        raise problems.translate(error, node, LevelHooksModel, prefix) from None
    if model.undo and not model.apply:
        raise DynoError(
            f"`{prefix}` has an `undo` and no `apply`, so there is nothing to undo",
            where=nodes["undo"].place,
            fix="add `apply:`, or remove `undo:`",
        )
    return LevelHooks(_hooks(model.apply), _hooks(model.undo), _hooks(model.wait_until))


def read(model: HooksModel, levels: Mapping[str, Mapping[str, LevelHooks]], root: Node) -> Hooks:
    """All commands of an experiment. `levels`: those of levels that have any, by factor."""
    moments = tuple(
        MomentHook(each.run, each.on, each.deadline, at_s=each.at_s) for each in model.during_trial
    )
    hooks = Hooks(
        _hooks(model.before_run),
        _hooks(model.before_cell),
        _hooks(model.before_trial),
        moments,
        _hooks(model.after_trial),
        _hooks(model.after_run),
        {name: dict(each) for name, each in levels.items() if each},
    )
    if hooks != Hooks():
        _refuse_same_variables(root)
    return hooks


def check_moments(hooks: Hooks, cells: Sequence[Cell], root: Node) -> None:
    """DynoError, with its place, for a command at a moment that not every trial is sure to have."""
    for number, hook in enumerate(hooks.during_trial):
        steady = next((cell for cell in cells if cell.until_steady), None)
        shortest_s = min(cell.duration_s for cell in cells)
        if steady is None and hook.at_s < shortest_s:
            continue
        where = normal(root.mapping["hooks"]).mapping["during_trial"].items[number].mapping["at_s"]
        if steady is not None:
            raise DynoError(
                f"`at_s: {hook.at_s:g}` is of a trial that ends once it is steady",
                where=where.where,
                cause="some trials of a cell would end before that second and others would not, and"
                " a disturbance is not steady",
                fix="give a length: `duration: 60s`",
            )
        raise DynoError(
            f"`at_s: {hook.at_s:g}` is not within the trial: it measures {shortest_s:g} s",
            where=where.where,
            cause="0 is the start of the measured time; the warm-up is before it",
            fix=f"write less than {shortest_s:g}, or a longer `duration`",
        )


def variable(factor: str) -> str:
    """The environment variable with the level of a factor, for commands."""
    return "DYNO_LEVEL_" + re.sub(r"[^A-Z0-9]", "_", factor.upper())


def _listed(node: Node) -> Node:
    items = node.items if isinstance(node.value, tuple) else (node,)
    return replace(node, value=tuple(_spelt_out(item) for item in items))


def _spelt_out(node: Node) -> Node:
    return replace(node, value={"run": node}) if node.is_scalar else node


def _hooks(models: Sequence[HookModel]) -> tuple[Hook, ...]:
    return tuple(
        Hook(model.run, model.on, model.deadline, getattr(model, "every", 1.0)) for model in models
    )


def _refuse_same_variables(root: Node) -> None:
    factors = root.mapping["factors"].mapping if "factors" in root.mapping else {}
    seen: dict[str, str] = {}
    for name, node in factors.items():
        other = seen.setdefault(variable(name), name)
        if other != name:
            raise DynoError(
                f"factors `{other}` and `{name}` would both be `{variable(name)}` to a hook",
                where=node.place,
                fix="rename one of them",
            )
