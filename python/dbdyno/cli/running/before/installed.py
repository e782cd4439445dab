"""What a plan's targets run on: programs that are installed here, servers that answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbdyno import topology
from dbdyno.errors import DynoError
from dbdyno.execute import environment
from dbdyno.plan.machine import Machine
from dbdyno.plan.types import Plan
from dbdyno.storage import needed
from dbdyno.systems import versions
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.external import reach


def missing(target: TargetPlan) -> str | None:
    """Why a target cannot be used here, or None. Of an external server only an optional one is
    asked now: the others are an error of their own, with more to say."""
    try:
        if target.url is None:
            topology.check_installed(target, versions.find(target))
            if target.volume is not None:
                needed.check(target.volume)
        elif target.optional:
            reach.connect(target, target.url).stop()
    except DynoError as error:
        return f"{error.what}; {error.fix}" if error.fix else error.what
    return None


def _versions(plan: Plan) -> dict[str, str]:
    """Version of each kind of server that the plan starts."""
    found: dict[str, str] = {}
    for target in _targets(plan):
        if target.url is not None:
            continue
        name = f"{target.kind} {target.version}" if target.version else target.kind
        name += f" in {target.basedir}" if target.basedir else ""
        if name not in found:
            found[name] = versions.find(target).version
    return found


def described(plan: Plan, scratch: Path) -> dict[str, Any]:
    """The environment: this machine, what is installed, and external servers, by target and
    URL; a login that does not work is an error before a run directory is made."""
    servers = {
        f"{target.name}: {node.url}": reach.survey(target, node.url)
        for target in _targets(plan)
        for node in target.nodes
        if node.url is not None
    }
    versions = _versions(plan) | {name: each.version for name, each in servers.items()}
    facts = environment.describe(plan, Machine.read(), versions, scratch)
    if servers:
        facts["servers"] = {name: str(each) for name, each in servers.items()}
    return facts


def _targets(plan: Plan) -> list[TargetPlan]:
    """Every target of any cell, one for each place that it is found at."""
    found: dict[tuple[str | None, ...], TargetPlan] = {}
    for cell in plan.cells:
        for target in cell.targets:
            key = (target.name, target.kind, target.version, target.basedir)
            found.setdefault((*key, *(node.url for node in target.nodes)), target)
    return list(found.values())
