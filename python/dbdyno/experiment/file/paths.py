"""Where a dotted path leads in an experiment, and laying values over it.

Roots of a path are a target's name (`db.config`), a group's name (`readers.rows`), or a top-level
key; with one group, its own keys need no root (`sessions`). Everything is resolved to the keys of
the normal form, in which a single `workload:` is the group of that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dbdyno.errors import DynoError, Where
from dbdyno.experiment import model
from dbdyno.experiment.file import synonyms, walk
from dbdyno.experiment.file.document import Node, nested, overlay
from dbdyno.experiment.file.names import did_you_mean

WORKLOAD = "workload"
# Whether data is kept: cells share it, so that what one of them leaves the next one would find.
_STATE_OF_ALL = (("state",), ("state", "data"))
Keys = tuple[str, ...]


@dataclass(frozen=True)
class Paths:
    """The roots of one experiment."""

    targets: tuple[str, ...]
    groups: tuple[str, ...]
    kinds: Mapping[str, str] = field(default_factory=dict)  # of groups, as far as written

    @classmethod
    def of(cls, root: Node) -> Paths:
        """The roots of a file in normal form."""
        groups = root.mapping["groups"].mapping if "groups" in root.mapping else {}
        kinds = {
            name: node.mapping["kind"].text
            for name, node in groups.items()
            if "kind" in node.mapping
        }
        return cls(tuple(_names(root, "targets")), tuple(groups), kinds)

    def resolve(self, path: str, where: Where, more: tuple[str, ...] = ()) -> Keys:
        """The keys that a level's path leads to. DynoError, with the right names, if nowhere;
        `more` are names that could have been meant and are no paths."""
        first, _, rest = path.partition(".")
        if first in self.targets:
            return self._in_target(first, rest, path, where)
        if first in self.groups:
            return self._in_group(first, rest, path, where)
        if first in ("targets", "groups"):
            return self._below(first, rest, path, where)
        if first in model.SETUP_KEYS:
            keys = self._walked((), [model.SetupModel], path, where)
            if keys not in _STATE_OF_ALL:
                return keys
            raise self._of_all(path, "state.data", where, "; `state.cache` may be a level")
        if first in model.TOP_KEYS:
            raise self._of_all(path, first, where)
        own = synonyms.spelt(first, synonyms.OF_GROUP)
        if len(self.groups) == 1 and own in self._group_keys(self.groups[0]):
            return self._in_group(self.groups[0], path, path, where)
        raise self.nowhere(path, where, more)

    @staticmethod
    def _of_all(path: str, key: str, where: Where, also: str = "") -> DynoError:
        return DynoError(
            f"a level cannot patch `{path}`: `{key}` applies to all cells",
            where=where,
            fix=f"write `{key}:` once at the top, or use `--set {key}=...` for another run{also}",
        )

    def nowhere(self, path: str, where: Where, more: tuple[str, ...] = ()) -> DynoError:
        """The error for a path that does not exist."""
        known = [*self.names(), *more]
        rooted = [name for name in known if name.endswith(f".{path}")]  # only its root is missing
        return DynoError(
            f"`{path}` does not exist",
            where=where,
            fix=did_you_mean(rooted[0] if rooted else path, known),
        )

    def names(self) -> list[str]:
        """Paths that lead somewhere, nearest things first; the open ones by a pattern."""
        keys = {group: self._group_keys(group) for group in self.groups}
        found = [f"{group}.{key}" for group in self.groups for key in keys[group][:5]]
        for target in self.targets:
            for key in model.TARGET_KEYS:
                name = ".NAME" if key in model.OPEN_KEYS else ""
                found.append(f"{target}.{key}{name}")
        found += model.SETUP_KEYS
        return found + [f"{group}.{key}" for group in self.groups for key in keys[group][5:]]

    def _below(self, first: str, rest: str, path: str, where: Where) -> Keys:
        name, _, inner = rest.partition(".")
        known = self.targets if first == "targets" else self.groups
        if not name:
            return (first,)
        if name not in known:
            raise DynoError(f"`{path}` does not exist", where=where, fix=did_you_mean(name, known))
        if first == "targets":
            return self._in_target(name, inner, path, where)
        return self._in_group(name, inner, path, where)

    def _in_target(self, name: str, rest: str, path: str, where: Where) -> Keys:
        if not rest:
            return ("targets", name)
        return ("targets", name, *self._walked((), [model.TargetModel], rest, where, path))

    def _in_group(self, name: str, rest: str, path: str, where: Where) -> Keys:
        if not rest:
            return ("groups", name)
        models = self._models(name)
        key, dot, inner = rest.partition(".")
        rest = synonyms.spelt(key, synonyms.OF_GROUP) + dot + inner
        return ("groups", name, *self._walked((), models, rest, where, path))

    def _models(self, group: str) -> list[type[model.GroupBase]]:
        known = model.GROUP_MODELS
        written = known.get(self.kinds.get(group, ""))
        return list(known.values()) if written is None else [written]

    def _group_keys(self, group: str) -> list[str]:
        return walk.keys(self._models(group))

    def _walked(
        self, above: Keys, types: Sequence[Any], rest: str, where: Where, path: str = ""
    ) -> Keys:
        """`rest` as keys below what `types` describe. `path` is the whole as it was typed."""
        path = path or rest
        if walk.holds_scalars(types):
            return (*above, rest)  # a setting's own name may hold dots
        key, dot, inner = rest.partition(".")
        known = walk.keys(types)
        if not known and not walk.is_open(types):
            raise self._too_deep(above[-1] if above else key, path, where)
        if known and key not in known:
            raise self._wrong_key(key, path, tuple(known), where)
        if not dot:
            return (*above, key)
        if not inner:
            raise self._too_deep(key, path, where)
        return self._walked((*above, key), walk.down(types, [key]), inner, where, path)

    @staticmethod
    def _wrong_key(key: str, path: str, known: tuple[str, ...], where: Where) -> DynoError:
        return DynoError(
            f"`{path}` does not exist: there is no `{key}`",
            where=where,
            fix=did_you_mean(key, known),
        )

    @staticmethod
    def _too_deep(key: str, path: str, where: Where) -> DynoError:
        return DynoError(
            f"`{path}` does not exist: `{key}` has nothing below it",
            where=where,
            fix=f"end the path at `{key}`",
        )


def patch(root: Node, patches: Mapping[Keys, Node]) -> Node:
    """`root` with each value laid over its path: mappings merge deep, anything else replaces."""
    for keys, value in patches.items():
        root = overlay(root, nested(keys, value))
    return root


def normal(root: Node) -> Node:
    """The file with `workload: {...}` written as the group of that name, and texts that abbreviate
    a mapping written as that mapping."""
    if not isinstance(root.value, Mapping):
        raise DynoError(
            "an experiment is a mapping of keys to values",
            where=root.where,
            fix="start with `experiment: NAME`",
        )
    root = synonyms.normal(root, synonyms.OF_FILE)
    entries = dict(root.mapping)
    if WORKLOAD in entries:
        workload = entries.pop(WORKLOAD)
        if "groups" in entries:
            raise DynoError(
                "both `workload` and `groups` are given",
                where=workload.place,
                cause="`workload` is short for a single group",
                fix="move it into `groups` under a name of its own",
            )
        if not isinstance(workload.value, Mapping):
            raise DynoError(
                "`workload` must be a mapping",
                where=workload.where,
                fix="write `workload: {kind: oltp, ...}`",
            )
        entries["groups"] = Node({WORKLOAD: workload}, workload.where, key=workload.key)
    if "groups" in entries and entries["groups"].mapping:
        groups = entries["groups"]
        spelt_out = {name: _spelt_out(group) for name, group in groups.mapping.items()}
        entries["groups"] = replace(groups, value=spelt_out)
    return replace(root, value=entries)


def with_setup(root: Node) -> Node:
    """The file with the `setup` of all targets laid under that of each that can have one: not the
    null driver, nor tables that exist already."""
    if "setup" not in root.mapping or not root.mapping["setup"].mapping:
        return root
    default, targets = root.mapping["setup"], dict(root.mapping["targets"].mapping)
    for name, target in targets.items():
        kind, data = target.mapping.get("kind"), target.mapping.get("data")
        is_null = kind is not None and kind.text == "null"
        if not target.mapping or is_null or (data is not None and data.value is not None):
            continue
        own = target.mapping.get("setup")
        merged = default if own is None or own.value is None else overlay(default, own)
        targets[name] = replace(target, value={**target.mapping, "setup": merged})
    entries = {**root.mapping, "targets": replace(root.mapping["targets"], value=targets)}
    return replace(root, value=entries)


def _spelt_out(group: Node) -> Node:
    group = synonyms.normal(group, synonyms.OF_GROUP)
    kind = group.mapping.get("kind")
    written = model.GROUP_MODELS.get(kind.text) if kind is not None else None
    return group if written is None else walk.spelt_out(group, [written])


def _names(root: Node, key: str) -> list[str]:
    return list(root.mapping[key].mapping) if key in root.mapping else []
