"""The programs a target runs on, where several versions of one system are installed.

A target names a version by its leading numbers: `version: "11.8"` is any 11.8.x, and not 11.80.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems.base import Binaries, System, TargetPlan


def find(target: TargetPlan, host: Host = LOCAL) -> Binaries:
    """The programs that the target asks for: those of its `version` if it names one, else those
    that its system finds first. DynoError if they are not there, naming the versions that are."""
    system = systems.load(target.kind)
    if target.version is None:
        return system.find(target.basedir, host)
    seen: list[str] = []
    for binaries in _candidates(system, target.basedir, host):
        if matches(binaries.version, target.version):
            return binaries
        if binaries.version not in seen:
            seen.append(binaries.version)
    place = f" under {target.basedir}" if target.basedir else ""
    others = f": there is {', '.join(seen)}" if seen else ""
    raise DynoError(
        f"no {target.kind} {target.version} found{place}{others}",
        cause="it is not installed, or not where dyno looks",
        fix="run `make servers`, or set `basedir:` to its prefix",
    )


def matches(version: str, wanted: str) -> bool:
    """Whether a version as a system says it (`10.11.14-MariaDB`) begins with these numbers."""
    found = re.search(r"\d+(?:\.\d+)*", version)
    return found is not None and f"{found[0]}.".startswith(f"{wanted}.")


def _candidates(system: System, basedir: str | None, host: Host) -> Iterator[Binaries]:
    """Each usable installation; a missing or broken one counts only if it is the only place
    searched."""
    if basedir:
        yield system.find(basedir, host)
        return
    for place in (None, *system.installations()):
        with contextlib.suppress(DynoError):
            yield system.find(place, host)
