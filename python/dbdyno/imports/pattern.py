"""Levels from file names: `n2-{threads}-{rep}.txt`.

A piece in braces is the name of a factor and takes any text but `/`; `{threads:d}` takes a number;
`*` takes text that means nothing. `{rep}` numbers repetitions, `{block}` passes over all cells. A
pattern with `/` is compared with as many of the path's last components.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import listed

REPETITION, BLOCK = "rep", "block"
PIECES_MAX = 8
LENGTH_MAX = 400
# What a piece takes, as long as can be and as short as can be.
_TEXT = "[^/]+", "[^/]+?"
_NUMBER = r"\d+(?:\.\d+)?", r"\d+?(?:\.\d+?)??"
_ANY = "[^/]*", "[^/]*?"
_PIECE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)(:d)?\}|(\*)|([^{}*]+)")


@dataclass(frozen=True)
class Pattern:
    """A pattern of `--pattern`, ready to be compared with paths."""

    text: str
    names: tuple[str, ...]
    eager: re.Pattern[str]  # each piece as long as can be
    lazy: re.Pattern[str]  # each piece as short as can be
    depth: int  # components of a path

    @classmethod
    def of(cls, text: str) -> Pattern:
        """Reads a pattern. DynoError if it is none."""
        names: list[str] = []
        eager = lazy = ""
        at = 0
        while at < len(text):
            found = _PIECE.match(text, at)
            if found is None:
                raise _wrong(text, f"`{text[at]}` at character {at + 1} opens or closes no piece")
            at = found.end()
            if found[4]:
                eager, lazy = eager + re.escape(found[4]), lazy + re.escape(found[4])
                continue
            names += [found[1]] if found[1] else []
            long, short = _NUMBER if found[2] else _TEXT if found[1] else _ANY
            group = "({})" if found[1] else "{}"
            eager, lazy = eager + group.format(long), lazy + group.format(short)
        if not names:
            raise _wrong(text, "it names nothing")
        if len(set(names)) < len(names):
            raise _wrong(text, "it names one thing twice")
        if {REPETITION, BLOCK} <= set(names):
            raise _wrong(text, "a repetition is numbered by {rep} or by {block}, not by both")
        if text.count("{") + text.count("*") > PIECES_MAX or len(text) > LENGTH_MAX:
            raise _wrong(text, f"it has more than {PIECES_MAX} pieces or {LENGTH_MAX} characters")
        return cls(text, tuple(names), re.compile(eager), re.compile(lazy), text.count("/") + 1)

    def levels(self, path: Path) -> dict[str, str] | None:
        """What a path says; None if it does not match. DynoError if it can be read in two ways."""
        tail = "/".join(path.absolute().parts[-self.depth :])
        found = self.eager.fullmatch(tail[-LENGTH_MAX:])
        if found is None:
            return None
        other = self.lazy.fullmatch(tail[-LENGTH_MAX:])
        assert other is not None
        taken = dict(zip(self.names, found.groups(), strict=True))
        second = dict(zip(self.names, other.groups(), strict=True))
        if taken != second:
            raise DynoError(
                f"`{tail}` fits the pattern `{self.text}` in two ways:"
                f" {_said(taken)}; or {_said(second)}",
                cause="a piece may contain the text that separates it from the next",
                fix="write `{threads:d}` for a piece that is a number, or more of the name",
            )
        return taken


def levels_of(path: Path, patterns: Sequence[Pattern]) -> dict[str, str] | None:
    """By the first pattern that fits; None if none does."""
    return next((found for one in patterns if (found := one.levels(path)) is not None), None)


def _said(levels: dict[str, str]) -> str:
    return listed(f"{name}={level}" for name, level in levels.items())


def _wrong(text: str, why: str) -> DynoError:
    return DynoError(
        f"`{text[:80]}` is no pattern: {why}",
        fix="write the name with pieces in braces: --pattern 'n2-{threads}-{rep}.txt'",
    )
