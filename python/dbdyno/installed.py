"""The installed engine: where it is, and what it says of itself. Used by every layer."""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from dbdyno import __version__
from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host, TimedOut

TIMEOUT_S = 20


def find() -> Path:
    """The engine: DYNO_ENGINE, then the scripts directory of this environment, then PATH.

    Refuses another version: plan and events are one schema.
    """
    named = os.environ.get("DYNO_ENGINE")
    beside = Path(sysconfig.get_path("scripts")) / "dyno-engine"
    found = named or (str(beside) if beside.exists() else None) or shutil.which("dyno-engine")
    if not found:
        raise DynoError(
            "dyno-engine, the load generator, was not found",
            cause="only the Python half of dbdyno is installed",
            fix=f"run {_cure()}, or set DYNO_ENGINE to the binary",
        )
    path = Path(found)
    version = _version_of(path)
    if version != __version__:
        raise DynoError(
            f"{path} is version {version}, this is dbdyno {__version__}",
            cause="the two halves were installed at different times",
            fix=f"run {_cure()}",
        )
    return path


def _cure() -> str:
    """The command that adds the engine, by the way in which this half was installed.

    pipx and uv leave a file in the environment of each tool; pip writes `direct_url.json` (PEP 610)
    for what it did not take from an index, also for a checkout.
    """
    engine = f"dbdyno-engine=={__version__}"
    if _is_checkout():
        return "`make setup` in the checkout"
    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        return f"`pipx inject dbdyno {engine}`"
    if (Path(sys.prefix) / "uv-receipt.toml").exists():
        return "`uv tool install 'dbdyno[engine]'`"
    return f"`{sys.executable} -m pip install {engine}`"


def _is_checkout() -> bool:
    try:
        origin = metadata.distribution("dbdyno").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return True
    return bool(origin and json.loads(origin).get("dir_info", {}).get("editable"))


def _version_of(path: Path) -> str:
    try:
        done = LOCAL.run([path, "--version"], timeout_s=TIMEOUT_S)
        if done.returncode != 0:
            raise ValueError(f"its --version ended with status {done.returncode}")
        words = done.stdout.split()
        if len(words) != 2 or words[0] != "dyno-engine":
            raise ValueError("it does not say that it is dyno-engine")
    except (OSError, TimedOut, ValueError) as error:
        why: object = error.strerror if isinstance(error, OSError) else error
        raise DynoError(
            f"{path} cannot be used as dyno-engine: {why}",
            cause="DYNO_ENGINE or PATH names something else, or a build for another machine",
            fix=f"run {_cure()}",
        ) from error
    return words[1]


@functools.cache
def library(driver: str, host: Host = LOCAL) -> str:
    """The system that a driver carries in a host's engine itself ("SQLite 3.50.4"); empty if
    none."""
    done = host.run([find(), "list", "--json"], timeout_s=TIMEOUT_S)
    done.check_returncode()
    kinds = {kind["name"]: kind for kind in json.loads(done.stdout)["drivers"]}
    return kinds[driver]["library"] or ""
