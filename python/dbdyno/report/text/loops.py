"""The loop of a group in words: when its transactions are sent."""

from __future__ import annotations

from dbdyno.experiment import workloads
from dbdyno.experiment.types import Arrivals, RateStep
from dbdyno.plan.types import GroupPlan
from dbdyno.wording.quantities import seconds

STEPS_SHOWN = 6


def loop(group: GroupPlan) -> str:
    """`open loop at 5000/s, poisson`, `closed loop`: when transactions are sent."""
    return _begun(group) + _together(group) + _pauses(group)


def _together(group: GroupPlan) -> str:
    length = workloads.pipeline(group.workload, group.options)
    return f", pipeline {length}" if length > 1 else ""


def _pauses(group: GroupPlan) -> str:
    if group.think is None:
        return ""
    how = "" if group.think.distribution == "constant" else f", {group.think.distribution}"
    length = f"{group.think.mean_s * 1e3:g} ms{how}"
    if group.think.per == "operation":
        comma = "" if group.arrivals is None and group.find is None else ","
        return f"{comma} with {length} of the client's before each operation"
    return f" with pauses of {length}"


def _begun(group: GroupPlan) -> str:
    if group.find:
        held = " and ".join(group.find.conditions)
        return (
            f"open loop at the highest rate with {held} (searched from {group.find.start_per_s:g}/s"
            f" to within {group.find.within:.2g}, at most {group.find.probes_max} probes),"
            f" {group.find.process}"
        )
    if group.arrivals:
        return f"open loop {_schedule(group.arrivals)}, {group.arrivals.process}"
    return "closed loop"


def _schedule(arrivals: Arrivals) -> str:
    steps = arrivals.steps
    if len(steps) == 1 and steps[0].from_per_s == steps[0].to_per_s:
        return f"at {steps[0].to_per_s:g}/s"
    said = [_step(step) for step in steps[:STEPS_SHOWN]]
    if len(steps) > STEPS_SHOWN:
        said.append(f"{len(steps) - STEPS_SHOWN} more steps")
    return f"on a schedule ({', then '.join(said)})"


def _step(step: RateStep) -> str:
    how = (
        f"{step.to_per_s:g}/s"
        if step.from_per_s == step.to_per_s
        else f"{step.from_per_s:g} to {step.to_per_s:g}/s"
    )
    return f"{how} for {seconds(step.for_s)}" if step.for_s is not None else f"{how} to the end"
