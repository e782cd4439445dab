"""Plans as JSON and back, exactly: the run's manifest holds one, and a resumed run reads it.

The codec follows the dataclasses' annotations, so that a new field needs no code here. Unknown and
missing keys are errors: another version of dbdyno wrote it.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from dbdyno.errors import DynoError
from dbdyno.plan.types import PLAN_VERSION, Plan

T = TypeVar("T")


def to_json(plan: Plan) -> dict[str, Any]:
    """A plan as what `json.dumps` takes."""
    encoded = _encode(plan)
    assert isinstance(encoded, dict)
    return encoded


def from_json(data: Mapping[str, Any]) -> Plan:
    """The plan that `to_json` gave. DynoError if it is another version's, or damaged."""
    if not isinstance(data, Mapping) or data.get("version") != PLAN_VERSION:
        seen = data.get("version") if isinstance(data, Mapping) else None
        raise DynoError(
            f"this plan has version {seen}, and this dbdyno reads {PLAN_VERSION}",
            cause="the run was made by another version of dbdyno",
            fix="use that version, or run the experiment again",
        )
    try:
        return decode(Plan, data, "plan")
    except DynoError as error:
        raise DynoError(
            f"the stored plan cannot be read: {error.what}",
            cause="another version of dbdyno wrote it, or the file was changed",
            fix="use that version, or run the experiment again",
        ) from None


def decode(kind: type[T], data: Any, path: str) -> T:
    """A dataclass of this kind from its JSON. DynoError, with the place in it, if it is none."""
    return _decode_object(kind, data, path)


def _encode(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    return value


def _decode_object(kind: type[T], data: Any, path: str) -> T:
    if not isinstance(data, Mapping):
        raise _damaged(path, "is not an object")
    hints = _hints(typing.cast(Any, kind))
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(data) - set(known)):
        raise _damaged(f"{path}.{unknown[0]}", "is not known")
    values = {}
    for name, field in known.items():
        if name in data:
            values[name] = _decode(hints[name], data[name], f"{path}.{name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise _damaged(f"{path}.{name}", "is missing")
    return kind(**values)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """Evaluated annotations: by far the dearest step for a plan of many trials."""
    return get_type_hints(kind)


def _decode(hint: Any, data: Any, path: str) -> Any:
    if hint is Any:
        return data
    if is_dataclass(hint) and isinstance(hint, type):
        return _decode_object(hint, data, path)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        if not isinstance(data, list):
            raise _damaged(path, "is not a list")
        return tuple(_decode(arguments[0], item, f"{path}[{i}]") for i, item in enumerate(data))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, Mapping):
            raise _damaged(path, "is not an object")
        return {key: _decode(arguments[1], item, f"{path}.{key}") for key, item in data.items()}
    if origin in (types.UnionType, typing.Union):
        return _decode_union(arguments, data, path)
    return _decode_scalar(hint, data, path)


def _decode_union(arguments: tuple[Any, ...], data: Any, path: str) -> Any:
    if data is None and type(None) in arguments:
        return None
    if type(data) in arguments:
        return data  # a scalar of exactly one of the types: 1 stays whole, 1.0 stays a float
    for argument in arguments:
        if argument is type(None):
            continue
        try:
            return _decode(argument, data, path)
        except DynoError:
            continue
    raise _damaged(path, f"cannot be {_shown(data)}")


def _decode_scalar(hint: type, data: Any, path: str) -> Any:
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if type(data) is not hint:
        raise _damaged(path, f"is {_shown(data)}, which is not {hint.__name__}")
    return data


def _shown(data: Any) -> str:
    return repr(data)[:80]


def _damaged(path: str, what: str) -> DynoError:
    return DynoError(f"{path[:200]} {what}")
