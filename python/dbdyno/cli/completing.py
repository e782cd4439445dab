"""What a Tab offers for arguments: experiments, runs, models, keys, labs. Answered from names of
files, records of labs and the shipped schema alone, so that nothing heavy is imported."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dbdyno
from dbdyno.errors import DynoError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

RUNS_MAX = 200  # offered, the newest first
DEPTH_MAX = 3  # below the directory of runs
_CATALOG = Path(dbdyno.__file__).parent / "models" / "catalog"


def _items(words: Iterable[str], typed: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(word) for word in words if word.startswith(typed)]


def experiments(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Shipped studies, YAML files, and directories on the way to some."""
    from dbdyno.cli import studies

    names: list[str] = []
    with contextlib.suppress(DynoError):
        names = studies.names()
    return _items([*names, *_paths(typed, (".yaml", ".yml"))], typed)


def runs(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Run directories below the directory of runs, the newest first; else any path."""
    found = [str(path) for path in _stored()]
    there = [path for path in found if path.startswith(typed)]
    return _items(there or _paths(typed, (".dyno", ".zip")), typed)


def models(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Names of models."""
    files = (path for path in _CATALOG.rglob("*.py") if path.name != "__init__.py")
    return _items(sorted(path.stem.replace("_", "-") for path in files), typed)


def labs(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Names of labs that are up."""
    from dbdyno.lab import registry

    return _items((record.name for record in registry.listed()), typed)


def nodes(context: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Nodes of labs that are up, by name and by role."""
    from dbdyno.lab import registry

    records = registry.listed()
    names = [str(node["name"]) for record in records for node in record.nodes]
    roles: tuple[str, ...] = ("primary", "replica")
    if len(records) > 1:
        roles = tuple(f"{record.name}.{role}" for record in records for role in roles)
    return _items([*names, *(roles if names else ())], typed)


def labs_to_be(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Topologies, and kinds of servers that are started."""
    from dbdyno import kinds

    servers = [one for one in kinds.KINDS.values() if one.programs]
    topologies = dict.fromkeys(name for one in servers for name in one.topologies)
    return _items([*topologies, *(one.name for one in servers)], typed)


def keys(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Keys of an experiment, as `--set` takes them. Targets and groups have names of their own,
    and are not offered."""
    if "=" in typed:
        return []
    from dbdyno.cli import schema

    document = json.loads(schema.path().read_text(encoding="utf-8"))
    found: dict[str, None] = {}
    for key, entry in _own(document).items():
        found[f"{key}="] = None
        if key not in ("targets", "groups", "factors", "claims"):
            found.update(dict.fromkeys(f"{key}.{inner}=" for inner in _below(entry, document)))
    return _items(found, typed)


def _own(model: Any) -> dict[str, Any]:
    """The keys of a mapping, without other tools' words for them."""
    keys = model.get("properties", {}).items()
    return {key: entry for key, entry in keys if "x-synonym-of" not in entry}


def _below(entry: Any, document: Any) -> list[str]:
    """Keys of the mappings that an entry of the schema may be."""
    if "$ref" in entry:
        return list(_own(document["$defs"][entry["$ref"].rpartition("/")[2]]))
    branches = (*entry.get("anyOf", ()), *entry.get("oneOf", ()))
    return [key for branch in branches for key in _below(branch, document)]


def _stored() -> list[Path]:
    """Run directories, the newest first."""
    from dbdyno import userconfig
    from dbdyno.store.naming import RUNS

    root = RUNS
    with contextlib.suppress(DynoError):
        root = userconfig.read().runs or RUNS
    found = []
    for depth in range(1, DEPTH_MAX + 1):
        found += [one.parent for one in root.glob("/".join(["*"] * depth) + "/manifest.json")]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[:RUNS_MAX]


def _paths(typed: str, endings: tuple[str, ...]) -> list[str]:
    """Directories, and files with these endings, that begin as typed; hidden ones if a dot was."""
    above, _, name = typed.rpartition("/")
    base = f"{above}/" if above or typed.startswith("/") else ""
    try:
        entries = sorted(os.scandir(base or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        f"{base}{entry.name}{'/' * entry.is_dir()}"
        for entry in entries
        if entry.name.startswith(name)
        and (name.startswith(".") or not entry.name.startswith("."))
        and (entry.is_dir() or entry.name.endswith(endings))
    ]
