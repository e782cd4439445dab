"""Runs below a directory as comparisons take them, each computed once: the catalogue keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dbdyno import __version__
from dbdyno.analysis.between_runs import comparability
from dbdyno.analysis.between_runs.comparability import Key
from dbdyno.analysis.between_runs.run_summary import Outline, Reduced, Value, reduce
from dbdyno.analysis.between_runs.types import LeftOut
from dbdyno.analysis.message import Message
from dbdyno.store.catalogue import Catalogue
from dbdyno.store.manifest import RUNNING
from dbdyno.store.run import Run

Opened = Callable[[Path], AbstractContextManager[Run]]
Kept = tuple[str, str, str, str]

_MESSAGE, _DICT = "message", "dict"  # keys of what these are encoded as


class Reducer:
    """Reads runs through a catalogue. A context manager: what is new is kept at its end."""

    def __init__(self, catalogue: Catalogue, opened: Opened, metrics: Sequence[str] = ()) -> None:
        """`opened`: how a run is opened to read. `metrics`: as users write them, else the main
        ones."""
        self._catalogue = catalogue
        self._opened = opened
        self._metrics = metrics
        self._what = json.dumps([__version__, *metrics])
        self._new: list[Kept] = []

    def __enter__(self) -> Reducer:
        return self

    def __exit__(self, *_: object) -> None:
        self._catalogue.keep(self._new)

    def read(self, name: str, path: Path) -> Reduced | LeftOut:
        """A run, or why it is part of no history. DynoError if it cannot be read."""
        stamp = Catalogue.stamp(path)
        text = self._catalogue.kept(name, self._what, stamp)
        if text is not None:
            return _decoded(json.loads(text), name)
        with self._opened(path) as run:
            if why := comparability.no_history(run.plan):
                return LeftOut(name, why)
            plan, status = run.plan, run.status
            found = reduce(plan, run.records(), run.manifest, name, status, self._metrics)
        if status != RUNNING:
            self._new.append((name, self._what, stamp, json.dumps(_encoded(found))))
        return found


def _encoded(run: Reduced) -> dict[str, Any]:
    """What JSON takes. Cells are pairs of their levels and what belongs to them."""
    return {
        **asdict(replace(run, values={}, asked={}, mixed="")),
        "values": [[key, {name: _value(one) for name, one in of.items()}]
                   for key, of in run.values.items()],
        "asked": [*run.asked.items()],
        "mixed": _text(run.mixed),
    }  # fmt: skip


def _value(value: Value) -> list[Any]:
    return [value.mean, value.blocks, _text(value.problem)]


def _text(text: Any) -> Any:
    """A text, or a message with its values, however deep."""
    if isinstance(text, Message):
        return {_MESSAGE: text[:], "values": {name: _text(v) for name, v in text.values.items()}}
    if isinstance(text, Mapping):
        return {_DICT: {name: _text(value) for name, value in text.items()}}
    return [_text(one) for one in text] if isinstance(text, list | tuple) else text


def _decoded(found: Mapping[str, Any], name: str) -> Reduced:
    plan = found["plan"]
    kinds = tuple((target, kind) for target, kind in plan["kinds"])
    outline = Outline(**{**plan, "kinds": kinds, "unfixed": tuple(plan["unfixed"])})
    return Reduced(
        **{
            **found,
            "name": name,
            "plan": outline,
            "metrics": tuple(found["metrics"]),
            "values": {_key(key): {metric: _of_value(*one) for metric, one in of.items()}
                       for key, of in found["values"]},
            "asked": {_key(key): facts for key, facts in found["asked"]},
            "mixed": _of_text(found["mixed"]),
        }
    )  # fmt: skip


def _key(levels: Sequence[Sequence[str]]) -> Key:
    return tuple((factor, level) for factor, level in levels)


def _of_value(mean: float | None, blocks: int, problem: Any) -> Value:
    return Value(mean, blocks, _of_text(problem))


def _of_text(text: Any) -> Any:
    if isinstance(text, list):
        return [_of_text(one) for one in text]
    if not isinstance(text, Mapping):
        return text
    values = {name: _of_text(v) for name, v in text.get("values", text.get(_DICT, {})).items()}
    return Message(text[_MESSAGE], **values) if _MESSAGE in text else values
