"""`--set path=value`: changes to a file from the command line, in its meaning and in its text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML

from dbdyno.errors import DynoError, Where
from dbdyno.experiment import model
from dbdyno.experiment.file import document, synonyms
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.file.paths import WORKLOAD, Keys, Paths, patch
from dbdyno.experiment.targets import hooks

_NESTED: dict[str, tuple[str, ...]] = {
    "trials": tuple(model.TrialsModel.model_fields),
    "state": tuple(model.StateModel.model_fields),
    "needs": tuple(model.NeedsModel.model_fields),
    "cpus": tuple(model.CpusModel.model_fields),
    "hooks": tuple(hooks.HooksModel.model_fields),
}


@dataclass(frozen=True)
class Override:
    """One `--set`: where it leads in normal form, and its value."""

    path: str
    keys: Keys
    value: Node
    value_text: str


def read(settings: Sequence[str], root: Node) -> list[Override]:
    """Parses `path=value` texts. DynoError for one that does not exist in `root` (normal form)."""
    return [_read(setting, root) for setting in settings]


def apply(overrides: Sequence[Override], root: Node) -> Node:
    """`root` with the overrides laid over it, in order."""
    for override in overrides:
        keys, value = override.keys, override.value
        if _is_set_form(root, keys) and isinstance(value.value, tuple):
            keys = (*keys, "levels")
        root = patch(root, {keys: value})
    return root


def rewrite(text: str, overrides: Sequence[Override], root: Node) -> str:
    """The file's text with the overrides written into it, comments kept: reproduces the run."""
    if not overrides:
        return text
    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    yaml.width = 4096  # wrapping would change lines that nobody touched
    data = yaml.load(text)
    for override in overrides:
        value = YAML(typ="rt", pure=True).load(override.value_text)
        keys = override.keys
        if _is_set_form(root, keys) and isinstance(value, list):
            keys = (*keys, "levels")
        above = int(keys[:2] == ("groups", WORKLOAD) and WORKLOAD in data)  # keys not in the text
        _write(data, keys, value, root, above)
    stream = io.StringIO()
    yaml.dump(data, stream)
    return stream.getvalue()


def _read(setting: str, root: Node) -> Override:
    path, equals, value_text = setting.partition("=")
    path, file = path.strip(), f"--set {setting}"
    where = Where(file, 1, 1)
    if not equals or not path:
        raise DynoError(
            f"`--set {setting}` is not `path=value`",
            fix="write `--set readers.sessions=8` or `--set blocks=2`",
        )
    if not value_text.strip():
        raise DynoError(
            f"`--set {setting}` gives no value", fix=f"write `--set {path}=null` to unset it"
        )
    value = document.parse(value_text, file)
    return Override(path, _resolve(path, root, where), value, value_text)


def _resolve(path: str, root: Node, where: Where) -> Keys:
    paths = Paths.of(root)
    first, dot, rest = path.partition(".")
    first = synonyms.spelt(first, synonyms.OF_FILE)
    path = first + dot + rest
    if first in (*paths.targets, *paths.groups):
        return paths.resolve(path, where)
    if first == "factors":
        return _in_factors(rest, root, where)
    if first == "prices" and rest:
        return _in_prices(rest, root, where)
    if first in model.HEAD_KEYS:
        known = _NESTED.get(first, ())
        if not rest:
            return (first,)
        if rest in known:
            return (first, rest)
        raise DynoError(
            f"`{path}` does not exist",
            where=where,
            fix=did_you_mean(path, [f"{first}.{key}" for key in known] or [first]),
        )
    in_group = synonyms.spelt(first, synonyms.OF_GROUP) in model.GROUP_KEYS
    if first in model.TOP_KEYS or (len(paths.groups) == 1 and in_group):
        return paths.resolve(path, where)
    nested = tuple(f"{key}.{inner}" for key, inners in _NESTED.items() for inner in inners)
    factors = tuple(f"factors.{name}" for name in _factors(root))
    raise paths.nowhere(path, where, (*model.HEAD_KEYS, *nested, *factors))


def _in_factors(rest: str, root: Node, where: Where) -> Keys:
    """Names of factors and of patches may hold dots themselves: the longest match wins."""
    factors = _factors(root)
    for name in sorted(factors, key=len, reverse=True):
        if rest == name:
            return ("factors", name)
        if not rest.startswith(f"{name}."):
            continue
        inner = rest[len(name) + 1 :]
        for level in sorted(factors[name].mapping, key=len, reverse=True):
            if inner == level:
                return ("factors", name, level)
            if inner.startswith(f"{level}."):
                return ("factors", name, level, inner[len(level) + 1 :])
        raise DynoError(
            f"factor `{name}` has no level `{inner}`",
            where=where,
            fix=did_you_mean(inner, factors[name].mapping),
        )
    raise DynoError(
        f"there is no factor `{rest}`", where=where, fix=did_you_mean(rest, list(factors))
    )


def _in_prices(rest: str, root: Node, where: Where) -> Keys:
    """A key of `prices` itself, or a factor's name and perhaps one of its levels."""
    own, factors = list(model.PricesModel.model_fields), _factors(root)
    if rest in own or rest in factors:
        return ("prices", rest)
    for name in sorted(factors, key=len, reverse=True):
        if rest.startswith(f"{name}."):
            return ("prices", name, rest[len(name) + 1 :])
    raise DynoError(
        f"`prices.{rest}` does not exist",
        where=where,
        fix=did_you_mean(rest, [*own, *factors]),
    )


def _factors(root: Node) -> dict[str, Node]:
    return dict(root.mapping["factors"].mapping) if "factors" in root.mapping else {}


def _is_set_form(root: Node, keys: Keys) -> bool:
    """Whether `keys` is a factor of the form `{set: ..., levels: [...]}`."""
    node, depth = root.find(keys)
    return (
        len(keys) == 2
        and keys[0] == "factors"
        and depth == 2
        and set(node.mapping) == {"set", "levels"}
    )


def _write(data: Any, keys: Keys, value: Any, root: Node, above: int) -> None:
    for place, key in enumerate(keys[above:-1], start=above + 1):
        known = _known(data, key)
        if not isinstance(data.get(known), dict):
            node, depth = root.find(keys[:place])  # a text there is a mapping in normal form
            data[known] = node.plain() if depth == place and node.mapping else {}
        data = data[known]
    _merge(data, keys[-1], value)


def _merge(data: Any, key: Any, value: Any) -> None:
    """Lays `value` over `data[key]` as `document.overlay` does."""
    known = _known(data, key)
    if isinstance(value, dict) and isinstance(data.get(known), dict):
        for inner, child in value.items():
            _merge(data[known], inner, child)
    else:
        data[known] = value


def _known(data: Any, key: Any) -> Any:
    """The key of `data` that is spelt like `key`: to the YAML library some of them are numbers or
    booleans (`16:`, `true:`) that are names to us; others stand there in another tool's word."""
    key = synonyms.kept(key, {**synonyms.OF_FILE, **synonyms.OF_GROUP}, map(_spelt, data))
    return next((known for known in data if _spelt(known) == _spelt(key)), key)


def _spelt(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
