"""Whether an experiment has blocks enough to support that there is none of a count.

"None" is tested by 2^-n after n trials without any (`analysis/claims/counts.py`), and all claims
share one error budget by Holm's procedure. Of k such parts each has the same p, so that even where
all other claims are decided before them, the first is tested at ALPHA / k. One trial with any
refutes "none" whatever n, so that fewer blocks are not wrong: they can only refute.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dbdyno.errors import DynoError
from dbdyno.experiment.claims import metrics
from dbdyno.experiment.claims.grammar import resolve
from dbdyno.experiment.claims.metrics import Scope
from dbdyno.experiment.claims.types import (
    ALPHA,
    ANY_SHARE,
    CellLike,
    Claim,
    FactorLike,
    ResolvedPart,
)
from dbdyno.wording.plurals import count


def undecidable(
    claims: Iterable[Claim],
    factors: Sequence[FactorLike],
    cells: Sequence[CellLike],
    names: Scope,
    blocks: int,
) -> list[str]:
    """A sentence if claims that there is none of a count cannot be supported by so many blocks."""
    asked: dict[str, int] = {}
    for claim in claims:
        try:
            parts = resolve(claim, factors, cells, names)
        except DynoError:  # it names a cell that is omitted, and is not tested
            continue
        if none := sum(map(_is_none, parts)):
            asked[claim.text] = none
    if not asked or blocks >= (needed := blocks_needed(sum(asked.values()))):
        return []
    named = ", ".join(f"`{text}`" for text in asked)
    return [
        f"{count(blocks, 'block')} can refute {named}, and not support"
        f" {'it' if len(asked) == 1 else 'any of them'}: that takes {needed} blocks without any."
    ]


def blocks_needed(parts: int) -> int:
    """The fewest blocks that can support that there is none, of so many parts of claims."""
    return math.ceil(math.log(ALPHA / parts) / math.log(1 - ANY_SHARE))


def _is_none(part: ResolvedPart) -> bool:
    one = part.right is None and part.left.cell is not None
    limited = one and metrics.asks_any(part.left.metric, part.operator, part.threshold)
    return limited and not metrics.is_some(part.operator)
