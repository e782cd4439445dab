"""A run's manifest: what it is, which plan, its state, and which processes worked in it.

Its keys are in schemas/manifest.schema.json. It is replaced in one step and readable at any time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdyno import __version__
from dbdyno.errors import DynoError
from dbdyno.experiment.file.hidden import HIDDEN
from dbdyno.plan.stored import consistent
from dbdyno.plan.stored import json as plan_json
from dbdyno.plan.types import Plan
from dbdyno.store.text import files, shapes
from dbdyno.store.text.scrub import scrub

MANIFEST = "manifest.json"
CATALOGUE = ".dbdyno-catalogue.sqlite"  # of a directory of runs, and of one that was empty
EXPERIMENT_FILE = "experiment_file"  # key: where the YAML stood, an absolute path
DIRECTORY = "directory"  # key: where `dyno` ran
SCHEMA_VERSION = 1  # of the run directory; raised whenever a reader would misunderstand it

RUNNING = "running"
INTERRUPTED = "interrupted"
COMPLETE = "complete"
FAILED = "failed"

_EDITED = "the file was edited or damaged; dbdyno replaces it in one step"
_RESTORE = "restore it from a copy, or run the experiment again into another directory"
_SESSIONS_KEPT = 100  # entries of the history of processes


def new(plan: Plan, environment: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of a run that begins now, on a machine that is `environment` (JSON-like)."""
    now = time.time()
    return {
        "schema_version": SCHEMA_VERSION,
        "status": RUNNING,
        "experiment": plan.name,
        "created_unix_s": now,
        "updated_unix_s": now,
        "versions": {"dbdyno": __version__},
        "sessions": [_session(environment, now)],
        "environment": scrub(dict(environment)),
        "plan": stored(plan),
    }


def stored(plan: Plan) -> dict[str, Any]:
    """A plan as a manifest holds it: without the text of commands that print passwords."""
    value = plan_json.to_json(plan)
    for cell in value["cells"]:
        for target in cell["targets"]:
            if target["credentials"]["command"]:
                target["credentials"]["command"] = HIDDEN
    return value


def add_session(manifest: dict[str, Any], environment: Mapping[str, Any] | None) -> None:
    """Adds this process to a manifest's history; without `environment`, on the first one's."""
    here = manifest["environment"] if environment is None else environment
    sessions = [*manifest.get("sessions", []), _session(here, time.time())]
    manifest["sessions"] = sessions[-_SESSIONS_KEPT:]


def read(path: Path) -> dict[str, Any]:
    """The manifest of the run in `path`. DynoError if it is none that can be read."""
    file = path / MANIFEST
    manifest = files.read_json(file)
    version = manifest.get("schema_version") if isinstance(manifest, dict) else None
    if version is None:
        raise DynoError(
            f"{file} is not a manifest of dbdyno: it has no schema_version",
            cause="the directory belongs to another program",
            fix="give the directory that `dyno run` printed",
        )
    if version != SCHEMA_VERSION:
        versions = manifest.get("versions")
        named = versions.get("dbdyno") if isinstance(versions, dict) else None
        writer = str(named or "another version")[:40]
        raise DynoError(
            f"{path} has schema_version {str(version)[:20]}; this dbdyno ({__version__}) reads"
            f" {SCHEMA_VERSION}",
            cause=f"it was written by dbdyno {writer}",
            fix=f"read it with dbdyno {writer}",
        )
    missing = [key for key in ("status", "plan", "environment") if key not in manifest]
    if missing:
        raise DynoError(
            f"{file} is without {', '.join(missing)}",
            cause=_EDITED,
            fix=_RESTORE,
        )
    try:
        shapes.manifest(manifest)
    except ValueError as error:
        raise DynoError(f"{file} {error}", cause=_EDITED, fix=_RESTORE) from None
    return manifest


def plan(manifest: Mapping[str, Any], path: Path) -> Plan:
    """The plan of the run in `path`. DynoError, with the file, if it cannot be read."""
    try:
        found = plan_json.from_json(manifest["plan"])
        consistent.check(found)
        return found
    except ValueError as error:
        raise DynoError(f"{path / MANIFEST}: {error}", cause=_EDITED, fix=_RESTORE) from None
    except DynoError as error:
        what = f"{path / MANIFEST}: {error.what}"
        raise DynoError(what, cause=error.cause, fix=error.fix) from None


def _session(environment: Mapping[str, Any], now: float) -> dict[str, Any]:
    """An entry of the history of processes that worked in the run."""
    return {
        "pid": os.getpid(),
        "started_unix_s": now,
        "dbdyno": __version__,
        "environment": scrub(dict(environment)),
    }
