"""Claims: what an experiment asserts, their grammar, and the cells that each one compares.

    claim     = product operator product { "at" condition { ("," | "and") condition } }
    product   = operand { ("*" | "/") operand }
    operand   = NUMBER | metric [selectors] | "peak" "(" metric "," FACTOR ")" [selectors]
    selectors = "[" [FACTOR "="] LEVEL { "," [FACTOR "="] LEVEL } "]"
    condition = "each" FACTOR | [FACTOR "="] LEVEL
    operator  = ">=" | "<=" | ">" | "<"

A claim is brought into one of two normal forms: `left / right operator threshold` (two quantities,
judged as a ratio within blocks) or `left operator threshold` (one quantity against a number).
`peak(metric, factor)` is the level of a numeric factor at which the metric is highest.
"""

from dbdyno.spec.claim_parser import parse, parse_condition
from dbdyno.spec.claim_resolver import PARTS_MAX, find_factor, resolve
from dbdyno.spec.claim_types import (
    CELL,
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
)

__all__ = [
    "CELL",
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
]
