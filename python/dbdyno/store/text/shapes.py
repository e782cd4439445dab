"""The form that lines and documents of a run directory must have to be read.

Not the whole of the schemas: imported runs know less, older ones had less, and unused parts may be
anything. Existing values have the type that their name promises, so that a damaged file is named
where it is read, with its line, and not where something is computed of it. All raise ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

SECONDS_MAX = 1e8  # of a trial's clock: three years
UNIX_S_MAX = 1e11
NS_MAX = 1e19
COUNT_MAX = 2**63
METRIC_MAX = 1e100  # its square is still a number

_COUNTS = frozenset(
    {
        *("transactions", "operations", "rows", "errors", "retries", "failed", "lost", "count"),
        *("censored", "due", "begun", "left", "backlog", "backlog_end", "backlog_max", "workers"),
        *("session", "rows_total", "refused_commits"),
    }
)
_SHARES = ("busy_max",)
_OBJECTS = (
    *("groups", "kinds", "classes", "generator", "latency", "open", "response", "lag"),
    *("dispatch_lag", "error_latency"),
)
_TEXTS = ("event", "group", "class", "sql", "message", "cause", "phase", "source", "what", "code")
_REQUIRED = {
    "ready": ("measure_unix_s",),
    "interval": ("t_s", "length_s", "phase", "groups"),
    "end": ("measured_s", "groups", "generator"),
    "statement": ("group", "class", "sql"),
    "warning": ("message",),
}


def event(value: Mapping[str, Any]) -> None:
    """A line of events.ndjson."""
    kind = value.get("event")
    if not isinstance(kind, str):
        raise ValueError("an event without `event`")
    for key in _REQUIRED.get(kind, ()):
        if value.get(key) is None:
            raise ValueError(f"the event `{kind[:20]}` has no `{key}`")
    _typed(value)
    if kind in ("interval", "end"):
        for name, group in value["groups"].items():
            if not isinstance(group, dict):
                raise ValueError(f"the group {name[:60]} is no object")


def sample(value: Mapping[str, Any]) -> None:
    """A line of metrics.ndjson."""
    for key in ("source", "t_s"):
        if value.get(key) is None:
            raise ValueError(f"a sample without `{key}`")
    if "gap" in value:
        if not isinstance(value["gap"], str):
            raise ValueError("`gap` is no text")
    elif value.get("length_s") is None or not isinstance(value.get("values"), dict):
        raise ValueError("a sample without `length_s`, or whose `values` are no object")
    else:
        _metrics(value["values"])
    _typed({key: one for key, one in value.items() if key != "values"})


def manifest(value: Mapping[str, Any]) -> None:
    """Keys of manifest.json besides its plan."""
    if value["status"] not in ("running", "interrupted", "complete", "failed"):
        raise ValueError(f"has the status {str(value['status'])[:40]!r}")
    for key in ("environment", "versions", "imported"):
        if not isinstance(value.get(key, {}), dict):
            raise ValueError(f"has `{key}` that is no object")
    for key in ("created_unix_s", "updated_unix_s"):
        _number(key, value.get(key, 0.0))
    sessions = value.get("sessions", [])
    if not isinstance(sessions, list) or not all(isinstance(one, dict) for one in sessions):
        raise ValueError("has `sessions` that are no list of objects")
    for one in sessions:
        _number("started_unix_s", one.get("started_unix_s"))
        if not isinstance(one.get("environment"), dict):
            raise ValueError("has a session without `environment`")
        _environment(one["environment"])
    _environment(value["environment"])
    _imported(value.get("imported", {}))


def _environment(value: Mapping[str, Any]) -> None:
    for key in ("cores", "memory_bytes"):
        if value.get(key) is not None:
            _number(key, value[key])
    for key in ("scratch", "cpu_model", "kernel"):
        if not isinstance(value.get(key, ""), str | None):
            raise ValueError(f"has an environment in which `{key}` is not a text")
    checks = value.get("checks", [])
    if not isinstance(checks, list) or not all(_is_check(one) for one in checks):
        raise ValueError("has `checks` of the machine that are none")


def _is_check(value: Any) -> bool:
    keys = {"check", "state", "what", "effect", "cure"}
    return isinstance(value, dict) and set(value) == keys and _all_texts(value)


def _imported(value: Mapping[str, Any]) -> None:
    for key in ("files", "skipped"):
        listed = value.get(key, [])
        if not isinstance(listed, list) or not all(
            isinstance(one, dict) and _all_texts(one) for one in listed
        ):
            raise ValueError(f"has `imported.{key}` that is no list of files")


def record(value: Any) -> None:
    """trial.json, besides the types of its own keys."""
    _metrics(value.metrics)
    _number("started_unix_s", value.started_unix_s)
    if value.measured_s is not None:
        _number("measured_s", value.measured_s)
    for one in value.outages:
        _typed(one)
    faults(value.faults)
    for one in value.roles:
        if not all(isinstance(one.get(key), str) for key in ("node", "change", "said")):
            raise ValueError("`roles` have no `node`, `change` or `said`")
        _number("t_s", one.get("t_s"))
    for probe in value.probes:
        if not isinstance(probe.get("passed"), bool) or not isinstance(probe.get("why"), str):
            raise ValueError("`probes` have no `passed` or `why`")
        _number("rate_per_s", probe.get("rate_per_s"))
    for name, facts in value.targets.items():
        _target(name, facts)


def faults(value: Sequence[Mapping[str, Any]]) -> None:
    """The faults of a trial's record, those in steps too."""
    for one in value:
        if not all(isinstance(one.get(key), str) for key in ("do", "node")):
            raise ValueError("`faults` have no `do` or `node`")
        for key, item in one.items():
            if key == "steps":
                _steps(item)
            elif key == "measured":
                _measured(item)
            elif key.endswith("_s"):
                _number(key, item)
            elif not isinstance(item, str):
                raise ValueError(f"`faults`: `{key[:20]}` is no text")


def _steps(value: Any) -> None:
    if not isinstance(value, list | tuple) or not all(isinstance(one, Mapping) for one in value):
        raise ValueError("`faults`: `steps` are no list of mappings")
    for one in value:
        if not isinstance(one.get("step"), str) or "begun_s" not in one:
            raise ValueError("`faults`: `steps` have no `step` or `begun_s`")
        for key, item in one.items():
            if key != "step":
                _number(key, item)


def _measured(value: Any) -> None:
    if not isinstance(value, Mapping):
        raise ValueError("`faults`: `measured` is no mapping")
    for key, item in value.items():
        _number(str(key), item)


def _target(name: str, facts: Mapping[str, Any]) -> None:
    for key in ("kind", "version"):
        if not isinstance(facts.get(key, ""), str):
            raise ValueError(f"target {name[:60]}: `{key}` is no text")
    for key in ("settings", "asked"):
        _settings(name, key, facts.get(key, {}))
    listed = facts.get("session_sql", [])
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise ValueError(f"target {name[:60]}: `session_sql` is no list of texts")
    words = facts.get("words", [])
    if not isinstance(words, list):
        raise ValueError(f"target {name[:60]}: `words` are no list")
    for word in words:
        if not isinstance(word, dict) or not all(
            isinstance(word.get(key), str) for key in ("word", "note")
        ):
            raise ValueError(f"target {name[:60]}: a word is none")
        _settings(name, "words.settings", word.get("settings"))


def _settings(name: str, key: str, value: Any) -> None:
    plain = str | int | float | None
    if not isinstance(value, dict) or not all(isinstance(one, plain) for one in value.values()):
        raise ValueError(f"target {name[:60]}: `{key}` are no settings")


def _metrics(values: Mapping[str, Any]) -> None:
    for name, one in values.items():
        if isinstance(one, int | float) and not abs(one) <= METRIC_MAX:
            raise ValueError(f"the metric {name[:60]} is {str(one)[:20]}")


def _typed(value: Mapping[str, Any]) -> None:
    """What each key holds, as its name says; null is no value."""
    for key, one in value.items():
        if one is None:
            continue
        if key in _TEXTS:
            if not isinstance(one, str):
                raise ValueError(f"`{key}` is no text")
        elif key.endswith(("_s", "_ns")) or key in _SHARES:
            _number(key, one)
        elif key in _COUNTS and not isinstance(one, dict):
            _count(key, one)
        elif key == "ticks":
            if not isinstance(one, list):
                raise ValueError("`ticks` are no list")
            for count in one:
                _count(key, count)
        elif key == "busy":
            if not isinstance(one, list):
                raise ValueError("`busy` is no list")
            for share in one:
                _number(key, share)
        elif key == "at_least":
            if not isinstance(one, list) or not all(isinstance(name, str) for name in one):
                raise ValueError("`at_least` is no list of names")
        elif key in _OBJECTS and not isinstance(one, dict):
            raise ValueError(f"`{key}` is no object")
        if isinstance(one, dict):
            _typed(one) if key != "errors" and key != "rows" else _counts(key, one)


def _counts(key: str, value: Mapping[str, Any]) -> None:
    for one in value.values():
        _count(key, one)


def _number(key: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"`{key}` is no number")
    most = SECONDS_MAX
    if key.endswith("unix_s"):
        most = UNIX_S_MAX
    elif not key.endswith("_s") or key.endswith("per_s"):
        most = NS_MAX
    if abs(value) > most:
        raise ValueError(f"`{key}` is {str(value)[:20]}")


def _count(key: str, value: Any) -> None:
    if type(value) is not int or not 0 <= value < COUNT_MAX:
        raise ValueError(f"`{key}` is no count")


def _all_texts(value: Mapping[str, Any]) -> bool:
    return all(isinstance(one, str) for one in value.values())
