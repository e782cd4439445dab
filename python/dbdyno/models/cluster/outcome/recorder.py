"""Keeps each node's spans while a simulation runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dbdyno.models.cluster.flow import Flow
from dbdyno.models.cluster.group import Process
from dbdyno.models.cluster.outcome import history
from dbdyno.models.cluster.outcome.history import Span
from dbdyno.models.cluster.topology import Topology


class Recorder:
    """Samples every process after each step; a span begins where anything about it changed."""

    def __init__(self, topology: Topology, processes: Mapping[str, Process]) -> None:
        self.topology, self.processes = topology, processes
        self._spans: dict[str, list[Span]] = {name: [] for name in processes}

    def look(
        self,
        now_s: float,
        hears_all: Callable[[Process], bool],
        silent: Callable[[Process], Sequence[str]],
        flow: Flow,
    ) -> None:
        """Notes what changed at this moment."""
        for process in self.processes.values():
            state, why = self._state(process, now_s, hears_all, silent, flow)
            data = not self.topology.members[process.name].arbitrator
            throttled = state == history.THROTTLED and not why.endswith("applies nothing")
            members = process.view.members if process.running else ()
            found = Span(
                now_s,
                now_s,
                state,
                process.view.number,
                members,
                why,
                data and (state == history.PRIMARY or throttled),
            )
            spans = self._spans[process.name]
            if spans and replace(spans[-1], begin_s=now_s, end_s=now_s) == found:
                continue
            if spans:
                spans[-1] = replace(spans[-1], end_s=now_s)
                if spans[-1].length_s <= 0:
                    spans.pop()
            spans.append(found)

    def finish(self, now_s: float) -> dict[str, tuple[Span, ...]]:
        """The spans, neighbours that are alike joined."""
        for spans in self._spans.values():
            spans[-1] = replace(spans[-1], end_s=now_s)
        return {name: _joined(spans) for name, spans in self._spans.items()}

    def _state(
        self,
        process: Process,
        now_s: float,
        hears_all: Callable[[Process], bool],
        silent: Callable[[Process], Sequence[str]],
        flow: Flow,
    ) -> tuple[str, str]:
        if not process.running:
            return history.DOWN, ""
        if process.paused:
            return history.PAUSED, ""
        if not process.view.primary:
            return history.NON_PRIMARY, "its component has no quorum"
        if not hears_all(process):
            return history.STALLED, self._waits(process, silent(process))
        if now_s < process.joined_s - 1e-9:
            return history.JOINING, "it catches up with the others"
        if brake := flow.brake(process):
            rate = f"{brake.apply_per_s:g}/s" if brake.apply_per_s else "nothing"
            return history.THROTTLED, f"{brake.name} applies {rate}"
        return history.PRIMARY, ""

    def _waits(self, process: Process, names: Sequence[str]) -> str:
        """What a stalled member waits for."""
        reasons: dict[str, list[str]] = {}
        for name in names:
            other = self.processes[name]
            if not other.running:
                what = "down"
            elif other.paused:
                what = "paused"
            elif other.view is not process.view:
                what = "in another view"
            else:
                what = "not heard"
            reasons.setdefault(what, []).append(name)
        told = [f"{' '.join(some)} {what}" for what, some in reasons.items()]
        return ", ".join(told) or "it agrees with nodes that come back"


def _joined(spans: Sequence[Span]) -> tuple[Span, ...]:
    found: list[Span] = []
    for one in spans:
        if one.length_s <= 0 and len(spans) > 1:
            continue
        if found and replace(found[-1], begin_s=0, end_s=0) == replace(one, begin_s=0, end_s=0):
            found[-1] = replace(found[-1], end_s=one.end_s)
        else:
            found.append(one)
    return tuple(found)
