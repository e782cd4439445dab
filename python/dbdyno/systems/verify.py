"""Asked against got: every setting is compared with what the server says it is.

A server that ignores, rounds or does not know a setting would silently be another system than the
one in the experiment, so that is an error here and not a warning in its log.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from dbdyno.errors import DynoError
from dbdyno.systems.portable_options import number, same


def check(
    kind: str, asked: Mapping[str, str], effective: Mapping[str, str], *, aliases: Mapping[str, str]
) -> None:
    """DynoError for the first setting that is not what was asked for.

    `effective` is by lower-case name. `aliases` maps an option's name to its variable's.
    """
    for name, value in asked.items():
        variable = aliases.get(name, name)
        if variable not in effective:
            near = difflib.get_close_matches(variable, list(effective), n=3)
            raise DynoError(
                f"{kind}: the server does not know `{name}`",
                cause="it is misspelt, or this version does not have it",
                fix=f"did you mean {', '.join(near)}?" if near else "remove it from `config:`",
            )
        got = effective[variable]
        if not (same(value, got) or _flags(value, got)):
            raise DynoError(
                f"{kind}: asked for `{name}: {value}`, the server uses {got}",
                cause=_cause(value, got),
                fix=f"write `{name}: {got}`, which is what was used, or a value that it keeps",
            )


def _flags(asked: str, got: str) -> bool:
    """optimizer_switch: what was asked is a part of what the server lists."""
    if "=" not in asked or "=" not in got:
        return False
    return {w.strip().lower() for w in asked.split(",")} <= {
        w.strip().lower() for w in got.split(",")
    }


def _cause(asked: str, got: str) -> str:
    a, b = number(asked), number(got)
    if a is not None and b is not None:
        return "it is rounded to a multiple or cut to a limit" if b else "it is switched off here"
    return "the server ignores it, or another setting decides"
