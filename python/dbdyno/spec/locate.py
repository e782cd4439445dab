"""Where in the user's file a setting stands: for errors that are found long after it was read.

What a server says of `config:` comes when it starts. By then the file is a plan, so the setting
that a message names is looked up in the text again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dbdyno.errors import DynoError, Where
from dbdyno.spec import document
from dbdyno.spec.document import Node

_NAMED = re.compile(r"`([A-Za-z_][A-Za-z0-9_.-]*)")  # messages put names between backticks


def named_in(message: str, file: Path | str) -> Where | None:
    """The place of the first setting that `message` names; of several places where it is set, the
    one whose value the message holds too (each level may set it), else the first.

    Settings stand in `config:` of a target or in a level's patch; `-` and `_` are alike, case does
    not count. None if there is none, as for what came from `--set`, or if the file has changed.
    """
    try:
        root = document.parse(Path(file).read_text("utf-8-sig"), file)
    except (OSError, UnicodeDecodeError, DynoError):
        return None
    settings = [(_plain(name), value) for name, value in _settings(root)]
    for named in dict.fromkeys(_plain(name) for name in _NAMED.findall(message)):
        values = [value for name, value in settings if name == named]
        if values:
            meant = [value for value in values if value.text and value.text in message]
            return (meant or values)[0].place
    return None


def _plain(name: str) -> str:
    return name.replace("-", "_").lower()


def _settings(node: Node, in_config: bool = False) -> Iterator[tuple[str, Node]]:
    """What stands below a key `config`, or at the end of a dotted path through one."""
    for key, child in node.mapping.items():
        path = key.split(".")
        if in_config:
            yield key, child
        elif "config" in path[:-1]:
            yield ".".join(path[path.index("config") + 1 :]), child
        yield from _settings(child, in_config or path[-1] == "config")
