"""The values that a column of made-up rows can have, as far as a check asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

Value = Decimal | datetime | str


@dataclass(frozen=True, kw_only=True)
class Domain:
    """`low`, `high`: the ends of numbers or moments, included; `values`: all of them, where they
    are few; `lengths`: of texts, characters; `has_null`: NULL is possible. Of what is
    omitted nothing is known."""

    low: Decimal | datetime | None = None
    high: Decimal | datetime | None = None
    values: frozenset[Value] | None = None
    lengths: tuple[int, int] | None = None
    has_null: bool = True

    def or_(self, other: Domain) -> Domain:
        """The values of both."""
        low = high = values = lengths = None
        if self.low is not None and other.low is not None and type(self.low) is type(other.low):
            low = min(self.low, other.low)  # type: ignore[type-var]
        if self.high is not None and other.high is not None and type(self.high) is type(other.high):
            high = max(self.high, other.high)  # type: ignore[type-var]
        if self.values is not None and other.values is not None:
            values = self.values | other.values
        if self.lengths is not None and other.lengths is not None:
            (a, b), (c, d) = self.lengths, other.lengths
            lengths = min(a, c), max(b, d)
        return Domain(
            low=low,
            high=high,
            values=values,
            lengths=lengths,
            has_null=self.has_null or other.has_null,
        )

    def with_null(self, has_null: bool) -> Domain:
        """The same with NULL, or without."""
        return replace(self, has_null=has_null)


ANYTHING = Domain()


def of_values(values: Iterable[Value], *, has_null: bool = False) -> Domain:
    """The domain of a few values, all of one type."""
    found = frozenset(values)
    texts = [each for each in found if isinstance(each, str)]
    if texts or not found:
        sizes = [len(each) for each in texts]
        lengths = (min(sizes), max(sizes)) if sizes else None
        return Domain(values=found, lengths=lengths, has_null=has_null)
    low, high = min(found), max(found)  # type: ignore[type-var]
    return Domain(low=low, high=high, values=found, has_null=has_null)  # type: ignore[arg-type]


def number(text: object) -> Decimal | None:
    """A number as it is written; None for what is none."""
    try:
        found = Decimal(str(text).strip())
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def moment(text: object) -> datetime | None:
    """A day or a time as it is written, in UTC; None for what is none."""
    try:
        found = datetime.fromisoformat(str(text).strip())
    except ValueError:
        return None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
