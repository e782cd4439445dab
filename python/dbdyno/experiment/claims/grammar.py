"""Claims: what an experiment asserts, their grammar, and the cells that each one compares.

    claim     = comparison { "and" comparison } [ "at" condition { ("," | "and") condition } ]
    comparison = product operator product [ within ]
    product   = operand { ("*" | "/") operand }
    operand   = number | metric [selectors] | "peak" "(" metric "," FACTOR ")" [selectors]
    selectors = "[" [FACTOR "="] LEVEL { "," [FACTOR "="] LEVEL } "]"
    condition = "each" FACTOR | [FACTOR "="] LEVEL
    operator  = ">=" | "<=" | ">" | "<" | "~="
    within    = "within" NUMBER "%"
    number    = NUMBER [ "k" | "M" | "G" ] [ "us" | "ms" | "s" | "min" | "x" | "%" | "/" PER ]
    PER       = "s" | "min" | "h"

A claim is brought into one of two normal forms: `left / right operator threshold` (two quantities,
judged as a ratio within blocks) or `left operator threshold` (one quantity against a number).
Comparisons joined by `and` must all hold, under the same conditions. `tps[on] > tps[off] and
p99[on] <= 1.03 * p99[off]` claims "better on one, not worse by more than 3 % on the other". With
conditions, `within` may also follow them, for the last comparison.

A number without a unit is in the metric's own. `5ms` bounds a time, `10k/s` a rate, `95%` a share
or a ratio, `1.5x` a ratio: `tps[on] >= 1.5x tps[off]` is `tps[on] >= 1.5 * tps[off]`.

`peak(metric, factor)` is the level of a numeric factor at which the metric is highest.

`a ~= b within 3%` claims that two quantities are equal for all practical purposes: that their ratio
lies between 1 / 1.03 and 1.03. `within` belongs to `~=` and is never omitted: without a margin no
measurement could show that two quantities are equal. Where a metric peaks comes in steps, so that a
peak cannot be equal within a percentage.
"""

from dbdyno.experiment.claims.parser import parse, parse_condition
from dbdyno.experiment.claims.resolver import PARTS_MAX, find_factor, resolve
from dbdyno.experiment.claims.types import (
    CELL,
    EQUAL,
    OPERATORS,
    PEAK,
    CellLike,
    Claim,
    Condition,
    Each,
    FactorLike,
    MissingCell,
    ResolvedPart,
    Selector,
    Side,
    Term,
    compare,
    within,
)

__all__ = [
    "CELL",
    "EQUAL",
    "OPERATORS",
    "PARTS_MAX",
    "PEAK",
    "CellLike",
    "Claim",
    "Condition",
    "Each",
    "FactorLike",
    "MissingCell",
    "ResolvedPart",
    "Selector",
    "Side",
    "Term",
    "compare",
    "find_factor",
    "parse",
    "parse_condition",
    "resolve",
    "within",
]
