"""All messages of the analysis, by the name of its `Message`: a template (`PLAIN` of a module), or
a function of the message's values and, if it asks for it, the plan."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from dbdyno.analysis.message import Message
from dbdyno.errors import DynoError
from dbdyno.plan.types import Plan
from dbdyno.wording.between_runs import runs_text
from dbdyno.wording.costs import costs_text, sweep_text, tradeoff_text
from dbdyno.wording.headlines import (
    difference_text,
    ranking_text,
    run_text,
    shift_text,
    summary_text,
)
from dbdyno.wording.planning import plan_text
from dbdyno.wording.template import fill
from dbdyno.wording.verdicts import beside, counts_text, unjudged, verdict_text, versions_text
from dbdyno.wording.within_trial import cause_text, predicted_text, stalls_text, trial_text

MODULES: tuple[ModuleType, ...] = (
    *(verdict_text, counts_text, unjudged, beside, versions_text),
    *(summary_text, difference_text, ranking_text, run_text, shift_text),
    *(stalls_text, trial_text, cause_text, predicted_text),
    *(costs_text, tradeoff_text, sweep_text, runs_text, plan_text),
)

_replace: Callable[..., Any] = dataclasses.replace

T = TypeVar("T")
P = ParamSpec("P")


def texts_of(module: ModuleType) -> dict[str, str | Callable[..., str]]:
    """The messages of a module by name: its templates and its own public functions."""
    plain: Mapping[str, str] = getattr(module, "PLAIN", {})
    return {**plain} | {
        name: found
        for name, found in vars(module).items()
        if inspect.isfunction(found)
        and found.__module__ == module.__name__
        and not name.startswith("_")
    }


TEXTS = {name: text for module in MODULES for name, text in texts_of(module).items()}
_WITH_PLAN = frozenset(
    name
    for name, text in TEXTS.items()
    if inspect.isfunction(text) and "plan" in inspect.signature(text).parameters
)


def worded(found: T, plan: Plan | None = None) -> T:
    """The same with sentences in the places of messages, however deep; `plan`: that they are of."""
    new: Any = _worded(found, plan)
    return new


def told(function: Callable[P, T]) -> Callable[P, T]:
    """A function of the analysis, its result worded, and the error that it may raise."""

    @functools.wraps(function)
    def telling(*args: P.args, **named: P.kwargs) -> T:
        try:
            return worded(function(*args, **named))
        except DynoError as error:
            error.what, error.cause, error.fix = worded((error.what, error.cause, error.fix))
            error.args = (error.what,)
            raise

    return telling


def _worded(found: Any, plan: Plan | None) -> Any:
    kind = type(found)
    if kind in (str, float, int, bool):
        return found
    if kind is Message:
        values = {name: _worded(value, plan) for name, value in found.values.items()}
        text = TEXTS[found[:]]
        if isinstance(text, str):
            return fill(text, plan, values)
        return text(**values, **({"plan": plan} if found[:] in _WITH_PLAN else {}))
    if kind in (tuple, list):
        made = kind(_worded(one, plan) for one in found)
        return made if any(map(operator.is_not, made, found)) else found
    if kind is dict:
        new = {name: _worded(value, plan) for name, value in found.items()}
        return new if any(new[name] is not value for name, value in found.items()) else found
    if kind.__module__.startswith("dbdyno.analysis.") and dataclasses.is_dataclass(found):
        fields = {one.name: getattr(found, one.name) for one in dataclasses.fields(found)}
        new = {name: _worded(value, plan) for name, value in fields.items()}
        changed = {name: value for name, value in new.items() if value is not fields[name]}
        return _replace(found, **changed) if changed else found
    return found
