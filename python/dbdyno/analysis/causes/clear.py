"""Which of very many quantities differ between two cells, and not by chance.

Hundreds are sampled, and some of them always differ alike in all of a few blocks. So each gets a
paired t test over blocks, on logarithms where all values are above zero, and Holm's procedure over
all that were tried keeps the chance of any false one at 5 %. Fewer than six blocks could show only
what is enormous: they are not reported.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dbdyno.analysis.estimates.estimate import t_test
from dbdyno.experiment.claims.types import ALPHA
from dbdyno.store.metrics.timeseries import Floats

BLOCKS_MIN = 6

Sides = tuple[Floats, Floats]  # both by block, shape (n,), n >= 2


def clear(tried: Mapping[str, Sides]) -> frozenset[str]:
    """The names whose two sides differ."""
    ps = {name: _p(*sides) for name, sides in tried.items()}
    found = []
    for rank, name in enumerate(sorted(ps, key=lambda name: (ps[name], name))):
        if ps[name] > ALPHA / (len(ps) - rank):
            break
        found.append(name)
    return frozenset(found)


def _p(left: Floats, right: Floats) -> float:
    if min(left.min(), right.min()) > 0:
        left, right = np.log(left), np.log(right)
    return t_test(left - right, 0.0)
