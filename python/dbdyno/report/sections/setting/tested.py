"""What was tested, on what, and what was not: its sentences and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dbdyno import kinds
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import About
from dbdyno.experiment.workloads.measuring import CYCLES
from dbdyno.plan import cpus
from dbdyno.plan.types import Plan
from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.report.sections.setting import warnings
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.systems.base import TargetPlan
from dbdyno.wording.numbers import size
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import seconds


@dataclass(frozen=True)
class View:
    """What was tested, in a line, and its context."""

    about: About
    setting: dict[str, str]  # systems, measurements and machine, by their headings
    split: str  # how the CPUs were divided; empty where the answer says that they were shared
    looking: str  # number of interim looks
    gaps: warnings.View

    @property
    def tested(self) -> str:
        """The setting as one line."""
        return " · ".join(text for text in self.setting.values() if text)


def view(context: Context) -> View:
    plan, looking = context.plan, context.findings.looking
    if plan.imported:
        said = _imported(plan, context.complete)
    else:
        said = setting(plan, context.complete, context.run.environment)
    gaps = warnings.view(context)
    divided = "" if shared(plan) else split(plan)
    return View(plan.about, said, divided, looking.sentence if looking else "", gaps)


def setting(
    plan: Plan, records: Sequence[TrialRecord], environment: Mapping[str, Any]
) -> dict[str, str]:
    """Systems, design with durations, machine; each may be empty."""
    done = sum(r.status == COMPLETE for r in records)
    planned = len(plan.trials)
    design = f"{count(len(plan.cells), 'cell')} × {count(plan.blocks, 'block')}"
    trials = count(done, "trial") if done == planned else f"{done:,} of {count(planned, 'trial')}"
    measured = f"{design}, {trials} measured"
    lengths = {(cell.warmup_s, cell.duration_s, cell.until_steady) for cell in plan.cells}
    if len(lengths) == 1:
        warmup_s, duration_s, until_steady = lengths.pop()
        each = f"{seconds(duration_s)} each"
        if until_steady:
            each = f"each until steady, {seconds(duration_s)} at most{_contained(records)},"
        measured += f" · {each} after {seconds(warmup_s)} of warm-up"
    return _headed(", ".join(versions(records)), measured, machine(environment))


def _headed(systems: str, measured: str, machine: str) -> dict[str, str]:
    return {"Systems": systems, "Measured": measured, "Machine": machine}


def _contained(records: Sequence[TrialRecord]) -> str:
    """Of trials that ended when steady: what is too slow to be in their numbers."""
    lengths_s = [
        (one.measured_s - one.steady_from_s) / CYCLES
        for one in records
        if one.measured_s is not None and one.steady_from_s is not None
    ]
    return f" (nothing slower than {seconds(min(lengths_s))} is in them)" if lengths_s else ""


def _imported(plan: Plan, records: Sequence[TrialRecord]) -> dict[str, str]:
    """Tools, design with durations. Nothing is known about the machines."""
    assert plan.imported is not None
    measured = f"{count(len(plan.cells), 'cell')}, {count(len(records), 'run')}"
    lengths = sorted(cell.duration_s for cell in plan.cells if cell.duration_s)
    if lengths:
        short, long = (seconds(float(f"{end:.3g}")) for end in (lengths[0], lengths[-1]))
        measured += f" · {short} each" if short == long else f" · {short} to {long} each"
    tools = f"imported from {', '.join(plan.imported.tools)}"
    return _headed(tools, measured, "machines and servers not seen")


def identity(facts: Mapping[str, Any]) -> str:
    """Kind and version of a target: "mariadb 10.11.14"."""
    kind, version = str(facts.get("kind", "")), str(facts.get("version", ""))
    return version if kind and version.lower().startswith(kind) else f"{kind} {version}".strip()


def versions(records: Iterable[TrialRecord]) -> list[str]:
    """Every system, version and topology that was measured, once."""
    every = (facts for record in records for facts in record.targets.values())
    return list(dict.fromkeys(identity(facts) + _topology(facts) for facts in every))


def _topology(facts: Mapping[str, Any]) -> str:
    """ " (replicas, 2 nodes behind pgpool)"; nothing of a server that is alone."""
    topology = facts.get("topology")
    if not isinstance(topology, Mapping):
        return ""
    nodes = f"{topology.get('kind')}, {count(int(topology.get('nodes', 1)), 'node')}"
    nodes += ", logical replication" if topology.get("logical") else ""
    if topology.get("arbitrator"):
        nodes += " and an arbitrator"
    router = topology.get("router")
    behind = f" behind {router.get('kind')}" if isinstance(router, Mapping) else ""
    dns = topology.get("dns")
    named = f", found by names with a TTL of {dns['ttl_s']:g} s" if dns else ""
    return f" ({nodes}{behind}{named})"


def machine(environment: Mapping[str, Any]) -> str:
    """The machine in a phrase: "2 CPUs (Xeon ...), 23.5 GiB, Linux 6.18"."""
    parts = []
    if cores := environment.get("cores"):
        model = environment.get("cpu_model")
        parts.append(f"{count(int(cores), 'CPU')}{f' ({model})' if model else ''}")
    if memory := environment.get("memory_bytes"):
        parts.append(size(float(memory)))
    if kernel := environment.get("kernel"):
        parts.append(f"Linux {kernel}")
    return ", ".join(parts)


def split(plan: Plan) -> str:
    """How CPUs were divided between load generator and servers; nothing is known about imports."""
    if plan.imported:
        return ""
    targets = [target for cell in plan.cells for target in cell.targets]
    if targets and all(target.url is not None for target in targets):
        return "The servers were there already; this is the load generator's machine."
    return " ".join(_split(*one) for one in cpus.said(plan))


def shared(plan: Plan) -> str:
    """That load generator and servers had the same CPUs, if they had: to be read with the answer.
    Nothing of a system that runs in the load generator, or of one on another machine."""
    cells = [
        cell
        for cell in plan.cells
        if plan.imported is None
        and not (plan.generator_cpus_of(cell) or plan.server_cpus_of(cell))
        and any(map(_serves_here, cell.targets))
    ]
    if not cells:
        return ""
    where = "" if len(cells) == len(plan.cells) else f" in {len(cells)} of {len(plan.cells)} cells"
    return f"Load generator and server shared all CPUs{where}: each took from the other."


def _serves_here(target: TargetPlan) -> bool:
    if target.url is not None:
        return server_url.parse(target.url).on_this_machine
    return not kinds.of(target.kind).in_engine


def _split(where: str, generator: Sequence[int], servers: Sequence[int]) -> str:
    at = f"At {where} the load" if where else "The load"
    if not generator and not servers:
        load = f"{at} generator and servers" if where else "Load generator and servers"
        return f"{load} shared all CPUs; each takes from the other what it uses."
    ours, theirs = cpu_ranges(generator), cpu_ranges(servers)
    return f"{at} generator ran on CPU {ours}, the servers on CPU {theirs}."


def cpu_ranges(numbers: Sequence[int]) -> str:
    """CPU numbers as ranges: 0-1, 4."""
    ranges: list[list[int]] = []
    for cpu in sorted(numbers):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges) or "any"


def moment(unix_s: float) -> str:
    """A date and time in UTC."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


SECTION = Section(view, main=50, markdown=90, brief=90)
