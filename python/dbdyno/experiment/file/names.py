"""Wrong names: finds the right one nearby, and says which names there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LISTED_MAX = 24  # names printed before the list is cut


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is most likely a slip of, or None if nothing is near."""
    by_folded = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def listed(known: Iterable[str]) -> str:
    """Names for a message, in the order given, cut at `LISTED_MAX`."""
    names = list(known)
    text = ", ".join(names[:LISTED_MAX])
    left = len(names) - LISTED_MAX
    return f"{text} and {left} more" if left > 0 else text


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The next step after a wrong name: the nearest right one, then all of them."""
    names = list(known)
    near = nearest(name, names)
    guess = f"did you mean `{near}`? " if near is not None else ""
    return f"{guess}known: {listed(names)}" if names else "there are none here"
