"""Which machines of external servers were seen, how, and which were not.

What is sampled without `host:` is the machine that dbdyno runs on: for a server elsewhere that is
the load generator's. A URL of loopback or a socket leads to this machine, which is seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.experiment.targets import server_url
from dbdyno.plan.types import Plan
from dbdyno.systems.base import TargetPlan


def elsewhere(plan: Plan) -> dict[str, TargetPlan]:
    """Targets that are reached by a URL and not on this machine, by name."""
    return {
        target.name: target
        for cell in plan.cells
        for target in cell.targets
        if target.url is not None and not server_url.parse(target.url).on_this_machine
    }


def unseen(plan: Plan, metrics: Sequence[str]) -> list[str]:
    """Those of them whose machine left no sample. `metrics` are the names that were measured."""
    several = max((len(cell.targets) for cell in plan.cells), default=0) > 1
    return [
        name
        for name in elsewhere(plan)
        if not any(m.startswith(f"{name}.host." if several else "host.") for m in metrics)
    ]


def sentences(plan: Plan, metrics: Sequence[str]) -> list[str]:
    """What a reader of the machine's numbers must know; nothing where all servers are here."""
    blind = unseen(plan, metrics)
    said = []
    for name, target in elsewhere(plan).items():
        if name not in blind:
            said.append(f"Host of {name}: {_source(target)}.")
        elif target.host is None:
            said.append(
                f"Host of {name}: not seen. CPU, memory and disk are the load generator's;"
                " `host:` of the target says where the server's can be read."
            )
        else:
            said.append(
                f"Host of {name}: not seen, although {target.host} was asked: see warnings."
            )
    return said


def _source(target: TargetPlan) -> str:
    host = target.host or ""
    if host.startswith("ssh:"):
        return f"/proc by {host}; samples are placed by their arrival here"
    return f"{host}; samples have the times of Prometheus' clock"
