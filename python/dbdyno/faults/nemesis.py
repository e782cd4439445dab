"""Faults drawn at random. A pure function of the seed: a trial with the same one meets the same.

From the begin of its time on, the pause before each fault is exponential with mean `every`; then a
fault of those in `of` strikes `node`, which is chosen when it strikes, for `hold`. None is drawn
that would end too late. A fault that has nothing to undo (`restart`) is followed by the same pause.
"""

from __future__ import annotations

import random
from dataclasses import replace

from dbdyno.experiment.values.faults import (
    Fault,
)

LINKED = ("partition", "link")
FAULTS_MAX = 1000  # in one trial


def drawn(nemesis: Fault, seed: int, number: int) -> tuple[Fault, ...]:
    """The faults that the `number`th fault of a cell, a nemesis, stands for in a trial."""
    assert nemesis.for_s is not None
    draw = random.Random(f"dbdyno nemesis {seed} {number}")
    end_s, at_s = nemesis.at_s + nemesis.for_s, nemesis.at_s
    found: list[Fault] = []
    while len(found) < FAULTS_MAX:
        at_s += draw.expovariate(1.0 / nemesis.every_s)
        do = draw.choice(nemesis.of)
        if at_s + nemesis.hold_s > end_s:
            break
        for_s = None if do == "restart" else nemesis.hold_s
        drawn_one = Fault(round(at_s, 3), do, nemesis.nodes, nemesis.target, for_s)
        if do in LINKED:
            drawn_one = replace(
                drawn_one, peers=nemesis.peers, one_way=nemesis.one_way, line=nemesis.line
            )
        found.append(drawn_one)
        at_s += nemesis.hold_s
    return tuple(found)
