"""Networks between the load and the servers, and between nodes: what was asked for, and what was
measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from dbdyno.report.context import Context
from dbdyno.report.layout import which
from dbdyno.report.section import Section
from dbdyno.report.sections.setting.settings import target_label
from dbdyno.wording.numbers import sig3


@dataclass(frozen=True)
class Row:
    """A network of a target. All but `target` and `cells` as they are read."""

    target: str
    delay: str  # of one way
    round_trip: str  # measured: the median of the trials'
    direct: str  # the same without the network
    bandwidth: str  # of each direction, asked for
    measured_bandwidth: str
    cells: str  # which cells, "" for all


@dataclass(frozen=True)
class _Network:
    """What a trial's record says. Delay and bandwidth as asked for, the others as measured."""

    delay_s: float
    bytes_per_s: float | None
    round_trip_s: float
    direct_s: float
    measured_bytes_per_s: float | None


def view(context: Context) -> list[Row] | None:
    """None where the load reached all servers directly, and nodes each other."""
    found: dict[tuple[str, float, float | None], list[tuple[int, _Network]]] = {}
    for record in context.complete:
        for name, facts in record.targets.items():
            label = target_label(name, facts)
            for where, key in ((label, "network"), (f"{label}, between nodes", "network_of_nodes")):
                network = _read(facts.get(key))
                if network is not None:
                    asked = (where, network.delay_s, network.bytes_per_s)
                    found.setdefault(asked, []).append((record.cell, network))
    return [_row(key[0], each, context) for key, each in found.items()] or None


def _read(facts: Any) -> _Network | None:
    """None where a record has no network, or not all of its numbers."""
    if not isinstance(facts, Mapping):
        return None
    numbers = {name: one for name, one in facts.items() if isinstance(one, int | float)}
    needed = [numbers.get(name) for name in ("delay_s", "round_trip_s", "direct_s")]
    if None in needed:
        return None
    return _Network(
        delay_s=numbers["delay_s"],
        bytes_per_s=numbers.get("bytes_per_s"),
        round_trip_s=numbers["round_trip_s"],
        direct_s=numbers["direct_s"],
        measured_bytes_per_s=numbers.get("measured_bytes_per_s"),
    )


def _row(target: str, found: list[tuple[int, _Network]], context: Context) -> Row:
    networks = [network for _, network in found]
    cells = list(dict.fromkeys(cell for cell, _ in found))
    measured = [one.measured_bytes_per_s for one in networks if one.measured_bytes_per_s]
    bytes_per_s = networks[0].bytes_per_s
    return Row(
        target=target,
        delay=f"{networks[0].delay_s * 1e3:g} ms",
        round_trip=_ms(median(one.round_trip_s for one in networks)),
        direct=_ms(median(one.direct_s for one in networks)),
        bandwidth="no limit" if bytes_per_s is None else f"{bytes_per_s:,.0f} B/s",
        measured_bandwidth=f"{median(measured):,.0f} B/s" if measured else "",
        cells=which(cells, context.plan.cells, context.layout),
    )


def _ms(length_s: float) -> str:
    return f"{sig3(length_s * 1e3)} ms"


SECTION = Section(view)
