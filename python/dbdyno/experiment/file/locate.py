"""Place of a setting or a statement in the user's file: for errors that are found long after it was
read.

What a server says of `config:` comes when it starts, what it says of SQL when it prepares it. By
then the file is a plan, so the text is searched again for what a message names.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from dbdyno.errors import DynoError, Where
from dbdyno.experiment.file import document
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.values import units

_NAMED = re.compile(r"`([A-Za-z_][A-Za-z0-9_.-]*)")  # messages put names between backticks


def size(text: str, file: Path | str, key: str, size_bytes: int) -> Where | None:
    """The place of the first `key`, also as the end of a path in a level, that is a size of so many
    bytes. None if there is none."""
    for path, leaf in document.leaves(document.parse(text, file)):
        if path and path[-1].rpartition(".")[2] == key:
            with contextlib.suppress(ValueError):
                if units.size_bytes(leaf.value) == size_bytes:
                    return leaf.where
    return None


def named_in(message: str, file: Path | str) -> Where | None:
    """The place of the first setting or statement that `message` names; of several places where it
    is set, the one whose value the message holds too (each level may set it), else the first.

    Settings are in `config:` of a target or in a level's patch; `-` and `_` are alike, case does
    not count. Statements are in `statements:`, and steps of `transactions:`. None if there is none,
    as for what came from `--set`, or if the file has changed.
    """
    try:
        root = document.parse(Path(file).read_text("utf-8-sig"), file)
    except (OSError, UnicodeDecodeError, DynoError):
        return None
    settings = [(_plain(name), value) for name, value in (*_settings(root), *_statements(root))]
    for named in dict.fromkeys(_plain(name) for name in _NAMED.findall(message)):
        values = [value for name, value in settings if name == named]
        if values:
            meant = [value for value in values if value.text and value.text in message]
            return (meant or values)[0].place
    return None


def _plain(name: str) -> str:
    return name.replace("-", "_").lower()


def _settings(node: Node, in_config: bool = False) -> Iterator[tuple[str, Node]]:
    """What is below a key `config`, or at the end of a dotted path through one."""
    for key, child in node.mapping.items():
        path = key.split(".")
        if in_config:
            yield key, child
        elif "config" in path[:-1]:
            yield ".".join(path[path.index("config") + 1 :]), child
        yield from _settings(child, in_config or path[-1] == "config")


def _statements(node: Node) -> Iterator[tuple[str, Node]]:
    """Those of mixes, also in levels: by their names, steps without one by TRANSACTION_NUMBER."""
    for path, child in node.mapping.items():
        key = path.rpartition(".")[2]
        if key == "statements":
            yield from ((name, _sql(one)) for name, one in child.mapping.items())
        elif key == "transactions":
            for name, transaction in child.mapping.items():
                yield from _steps(name, transaction.mapping.get("steps"))
        else:
            yield from _statements(child)


def _steps(name: str, steps: Node | None) -> Iterator[tuple[str, Node]]:
    """Steps of what has this name, and the branches of those that have some."""
    for number, step in enumerate(steps.items if steps else (), start=1):
        named = step.mapping.get("name")
        if "one_of" in step.mapping:
            yield from _steps(f"{name}_{number}", step.mapping["one_of"])
        else:
            yield (named.text if named else f"{name}_{number}"), _sql(step)


def _sql(statement: Node) -> Node:
    return statement.mapping.get("sql", statement)
