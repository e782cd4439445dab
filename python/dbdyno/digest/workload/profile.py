"""What a workload is made of, as `dyno-engine digest --shape` says it: statements with places for
values, how these are spread, and which statements sessions send together.

Layout: `engine/digest/src/workload_profile/`, whose names these are. No literal is in it but the
least and the greatest of numbers, dates and times, and the contents of hints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pydantic

from dbdyno.errors import DynoError


@dataclass(frozen=True, kw_only=True)
class Text:
    """Lengths (bytes) and characters of texts. `pattern`: kinds by place, if all are alike long:
    `#` digit, `@` letter, `*` either or another; `alphabet`: the kinds that occur."""

    bytes_least: int
    bytes_greatest: int
    bytes_mean: float
    pattern: str | None = None
    alphabet: str = "@"
    is_hex: bool = False
    is_document: bool = False  # all are in braces or brackets


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The values of one place. `kind`: whole, decimal, date, moment, text, null, unknown; `nulls`:
    the share of NULL among them, which all else excludes; `least` and `greatest` of dates and
    moments are Unix seconds; `hot`: shares of the most frequent ones. `given`: the generator, where
    no values were seen (a server's counts), and `about`: where it is from."""

    count: int
    kind: str
    nulls: float = 0.0
    is_quoted: bool = False
    least: float | None = None
    greatest: float | None = None
    decimals: int = 0
    distinct: int = 0
    is_sequence: bool = False
    theta: float = 0.0
    hot: tuple[float, ...] = ()
    text: Text | None = None
    given: Mapping[str, Any] | None = None
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Numbers with the share of each, ascending: all of them, or some that represent all."""

    count: int
    values: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class List:
    """A list of which the template has one element: its first place (from 1), the places of an
    element, the element's text, and how many there were."""

    place: int
    places: int
    element: str
    lengths: Spread


@dataclass(frozen=True, kw_only=True)
class Range:
    """Two places (from 1) that are ends of a range, and how far apart, of dates and moments in
    seconds."""

    low: int
    high: int
    widths: Spread


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A class in one database, in its most frequent form, with `:p1`, `:p2` for values and one
    element of lists. Hints are in it as they were written; `hints_differ`: their values are not
    those of all calls. `in_no_unit`: calls in transactions that were cut off or are too long;
    `refused`: why it cannot be sent, where that is known before its places are."""

    id: str
    template: str
    template_share: float
    database: str
    count: int
    parameters: tuple[Summary, ...]
    lists: tuple[List, ...] = ()
    ranges: tuple[Range, ...] = ()
    hints_differ: bool = False
    in_no_unit: int = 0
    refused: str | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """A statement (its position) so many times in a row."""

    statement: int
    repeat: int


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Statements that a session sends one after the other."""

    count: int
    is_transaction: bool
    is_rolled_back: bool
    steps: tuple[Step, ...]

    def calls(self) -> Iterator[tuple[int, int]]:
        """Statements (their positions) with how often they came in these units."""
        for step in self.steps:
            yield step.statement, self.count * step.repeat


@dataclass(frozen=True, kw_only=True)
class Tie:
    """Two places (from 1) with the same value, whenever their statements come in one unit; or one
    place of one statement, whenever a transaction has it again."""

    statement: int
    place: int
    earlier: int
    earlier_place: int


@dataclass(frozen=True, kw_only=True)
class Counter:
    """A place (from 1) that is `first`, `first` + 1, ... with each repetition in a transaction."""

    statement: int
    place: int
    first: int


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a workload is made of. `one_in`: of transactions one in so many was counted, since too
    many differ, and their counts are estimates; `statements_unplaced`: those whose session the log
    does not name, each a unit by itself; `dispersion`: variance by mean of the units a second."""

    statements: tuple[Statement, ...]
    units: tuple[Unit, ...]
    ties: tuple[Tie, ...] = ()
    counters: tuple[Counter, ...] = ()
    units_dropped: int
    one_in: int = 1
    statements_dropped: int
    statements_unplaced: int = 0
    sessions: int
    sessions_at_once: int | None = None
    duration_s: float
    dispersion: float | None = None


def parse(raw: Any) -> Shape:
    """Types the engine's output. DynoError if it is of another version."""
    try:
        return _adapter().validate_python(raw)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"])) or "the whole"
        raise DynoError(
            f"the engine's shape of a workload cannot be read: {at}: {first['msg'].lower()}",
            cause="dyno and dyno-engine are of different versions",
            fix="install both of one version",
        ) from None


@cache
def _adapter() -> pydantic.TypeAdapter[Shape]:
    return pydantic.TypeAdapter(Shape)
