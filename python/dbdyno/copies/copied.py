"""What a copy is asked for, and what it has become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

ROWS = 10_000  # of a large table that are sampled, unless more are asked for


@dataclass(frozen=True, kw_only=True)
class How:
    """`way`: `synthesise` writes no value of the server's but ends of ranges; `sample` copies rows.
    `rows`: of a table, above which a sample has only these and those that they are needed by;
    `tables`: of which there is a copy (default: all); `statements`: of the workload, whose views
    are copied, too."""

    way: Literal["synthesise", "sample"] = "synthesise"
    rows: int = ROWS
    seed: int = 1
    tables: Sequence[str] = ()
    statements: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class TableCopied:
    """Rows on the server (estimated where it has many), and in the copy. `said`: how its statistics
    were found, or its rows chosen."""

    name: str
    there: int
    copied: int
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class Copied:
    """`setup`: what to write below `setup:` of an experiment's target, of the server's own kind;
    its paths are absolute. `data_bytes`: of the file; `omitted`: a sentence for each thing."""

    kind: str
    schema: str
    path: Path
    data_bytes: int
    tables: Sequence[TableCopied]
    omitted: Sequence[str]
    setup: Mapping[str, Any] = field(repr=False)
