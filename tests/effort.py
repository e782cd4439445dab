"""How much property tests try: all of it in `make test`, a part in `make check`."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100  # hypothesis's own number


def examples(number: int) -> int:
    """A test's own number of examples, in proportion to that of the profile."""
    return max(1, round(number * settings().max_examples / USUAL))
