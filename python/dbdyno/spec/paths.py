"""Where a dotted path leads in an experiment, and laying values over it.

Roots of a path are a target's name (`db.config`), a group's name (`readers.rows`), or a top-level
key; with one group, its own keys need no root (`sessions`). Everything is resolved to the keys of
the normal form, in which a single `workload:` stands as the group of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dbdyno.errors import DynoError, Where
from dbdyno.spec import model
from dbdyno.spec.document import Node, nested, overlay
from dbdyno.spec.names import did_you_mean

WORKLOAD = "workload"
Keys = tuple[str, ...]


@dataclass(frozen=True)
class Paths:
    """The roots of one experiment."""

    targets: tuple[str, ...]
    groups: tuple[str, ...]

    @classmethod
    def of(cls, root: Node) -> Paths:
        """The roots of a file in normal form."""
        return cls(tuple(_names(root, "targets")), tuple(_names(root, "groups")))

    def resolve(self, path: str, where: Where) -> Keys:
        """The keys that a level's path leads to. DynoError, with the right names, if nowhere."""
        first, _, rest = path.partition(".")
        if first in self.targets:
            return self._in_target(first, rest, path, where)
        if first in self.groups:
            return self._in_group(first, rest, path, where)
        if first in ("targets", "groups"):
            return self._below(first, rest, path, where)
        if first in model.SETUP_KEYS and not rest:
            return (first,)
        if first in model.TOP_KEYS:
            raise DynoError(
                f"a level cannot patch `{path}`: `{first}` holds for all cells alike",
                where=where,
                fix=f"write `{first}:` once at the top, or use `--set {path}=...` for another run",
            )
        if len(self.groups) == 1 and first in model.GROUP_KEYS and not rest:
            return ("groups", self.groups[0], first)
        raise self.nowhere(path, where)

    def nowhere(self, path: str, where: Where, more: tuple[str, ...] = ()) -> DynoError:
        """The error for a path that leads nowhere."""
        return DynoError(
            f"`{path}` leads nowhere",
            where=where,
            fix=did_you_mean(path, [*self.names(), *more]),
        )

    def names(self) -> list[str]:
        """Paths that lead somewhere, nearest things first; the open ones by a pattern."""
        found = [f"{group}.{key}" for group in self.groups for key in model.GROUP_KEYS[:5]]
        for target in self.targets:
            for key in model.TARGET_KEYS:
                name = ".NAME" if key in model.OPEN_KEYS else ""
                found.append(f"{target}.{key}{name}")
        found += model.SETUP_KEYS
        return found + [f"{g}.{key}" for g in self.groups for key in model.GROUP_KEYS[5:]]

    def _below(self, first: str, rest: str, path: str, where: Where) -> Keys:
        name, _, inner = rest.partition(".")
        known = self.targets if first == "targets" else self.groups
        if not name:
            return (first,)
        if name not in known:
            raise DynoError(f"`{path}` leads nowhere", where=where, fix=did_you_mean(name, known))
        if first == "targets":
            return self._in_target(name, inner, path, where)
        return self._in_group(name, inner, path, where)

    def _in_target(self, name: str, rest: str, path: str, where: Where) -> Keys:
        key, dot, setting = rest.partition(".")
        if not key:
            return ("targets", name)
        if key not in model.TARGET_KEYS:
            raise self._wrong_key(key, path, model.TARGET_KEYS, where)
        if not dot:
            return ("targets", name, key)
        if key not in model.OPEN_KEYS or not setting:
            raise self._too_deep(key, path, where)
        return ("targets", name, key, setting)  # a setting's own name may hold dots

    def _in_group(self, name: str, rest: str, path: str, where: Where) -> Keys:
        key, dot, _ = rest.partition(".")
        if not key:
            return ("groups", name)
        if key not in model.GROUP_KEYS:
            raise self._wrong_key(key, path, model.GROUP_KEYS, where)
        if dot:
            raise self._too_deep(key, path, where)
        return ("groups", name, key)

    @staticmethod
    def _wrong_key(key: str, path: str, known: tuple[str, ...], where: Where) -> DynoError:
        return DynoError(
            f"`{path}` leads nowhere: there is no `{key}`",
            where=where,
            fix=did_you_mean(key, known),
        )

    @staticmethod
    def _too_deep(key: str, path: str, where: Where) -> DynoError:
        return DynoError(
            f"`{path}` leads nowhere: `{key}` has nothing below it",
            where=where,
            fix=f"end the path at `{key}`",
        )


def patch(root: Node, patches: Mapping[Keys, Node]) -> Node:
    """`root` with each value laid over its path: mappings merge deep, anything else replaces."""
    for keys, value in patches.items():
        root = overlay(root, nested(keys, value))
    return root


def normal(root: Node) -> Node:
    """The file with `workload: {...}` written as the group of that name."""
    if not isinstance(root.value, Mapping):
        raise DynoError(
            "an experiment is a mapping of keys to values",
            where=root.where,
            fix="start with `experiment: NAME`",
        )
    entries = dict(root.value)
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
    return replace(root, value=entries)


def _names(root: Node, key: str) -> list[str]:
    return list(root.mapping[key].mapping) if key in root.mapping else []
