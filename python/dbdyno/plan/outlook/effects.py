"""Side effects of running an experiment: commands, connections, SQL and programs.

Of one's own file that is wanted. Of somebody else's (in a bundle, or a run directory of another
account) it is asked for first: a hook is a command, `password_command` is one, and SQL of its own
is as good as one (`COPY ... TO PROGRAM` runs as the account of the server).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dbdyno.experiment.types import POINTS, Hook, Hooks, Target

# Workloads whose statements are dbdyno's own.
_OWN_STATEMENTS = frozenset({"oltp", "kv", "tpcc", "register", "append", "bank", "io"})
# Settings by which a server loads code, runs a command, or reads and writes files.
_RISKY = re.compile(
    r"command|librar|plugin|preload|init|load|file|dir|path|program|extension", re.I
)
_SHOWN = 60


def effects(
    targets: Iterable[Target], workloads: Iterable[tuple[str, str]], hooks: Hooks
) -> list[str]:
    """What these would do, each once, in sentences' parts. `workloads`: group and kind."""
    found = [
        *_of_hooks(hooks),
        *(text for target in targets for text in _of_target(target)),
        *(
            f"its own statements (group {name}, workload {kind})"
            for name, kind in workloads
            if kind not in _OWN_STATEMENTS
        ),
    ]
    return list(dict.fromkeys(found))


def _of_hooks(hooks: Hooks) -> Iterator[str]:
    for point in POINTS:
        yield from (f"the command {_quoted(hook)}" for hook in getattr(hooks, point))
    for levels in hooks.levels.values():
        for level in levels.values():
            for hook in (*level.apply, *level.undo, *level.wait_until):
                yield f"the command {_quoted(hook)}"


def _quoted(hook: Hook) -> str:
    text = " ".join(hook.run.split())
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return f"`{text}`" + (f" on {hook.on}" if hook.on else "")


def _of_target(target: Target) -> Iterator[str]:
    if target.url is not None:
        yield f"a connection to the server of target {target.name}, with a password of yours"
    if target.credentials.command is not None:
        yield f"the `password_command` of target {target.name}"
    if target.host is not None:
        yield f"samples of {target.host}"
    if target.basedir is not None:
        yield f"programs in {target.basedir}"
    if target.setup is not None or target.session:
        yield f"its own SQL in target {target.name}"
    for name, value in (*target.config.items(), *target.options.items()):
        if _RISKY.search(name) or (isinstance(value, str) and "/" in value):
            yield f"the setting `{name}` of target {target.name}"
