"""What a check is, what it reads, and what it finds.

A check never says "fine" of what it could not read: a container without /sys, another kernel or a
missing permission give `NOT_KNOWN`, with the missing file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.rules.machine.activity import Activity

FOUND, FINE, NOT_KNOWN = "found", "fine", "not known"
_READ_MAX = 1 << 20


@dataclass(frozen=True)
class Finding:
    """The answer of one check. `effect` (on the measurement) and `cure` are empty unless something
    was found."""

    check: str  # "governor"
    state: str  # FOUND | FINE | NOT_KNOWN
    what: str  # what was seen, and where
    effect: str = ""
    cure: str = ""


@dataclass(frozen=True)
class Space:
    """A file system: its size and what is free for us, bytes."""

    size_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Place:
    """The machine to check. `root` stands for / so that tests bring their own /proc and /sys."""

    root: Path = Path("/")
    cpus: tuple[int, ...] = ()  # CPUs that this process may run on
    generator_cpus: tuple[int, ...] = ()  # empty: not split from the servers'
    server_cpus: tuple[int, ...] = ()
    device: tuple[int, int] | None = None  # of the data directory: major, minor; None: no data here
    space: Space | None = None  # of the data directory's file system; None: not known
    needed_bytes: int = 0  # what the run is expected to write there
    activity: Activity | None = None  # of all processes for a moment; None: not known
    stores_data: bool = True  # whether servers keep files on this machine

    def text(self, path: str) -> str | None:
        """A file below the root; None if it cannot be read."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(_READ_MAX).decode("utf-8", "replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """A file that holds a whole number; None if it does not, or cannot be read."""
        text = self.text(path)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None


@dataclass(frozen=True)
class Rule:
    """A check as a function of a place. `needs_data`: it is about the data directory."""

    name: str
    about: str  # what it detects, for the reference
    judge: Callable[[Place], Finding]
    needs_data: bool = False

    def look(self, place: Place) -> Finding:
        """What it finds there."""
        found = self.judge(place)
        assert found.check == self.name
        assert bool(found.effect and found.cure) == (found.state == FOUND), found
        return found


def not_known(check: str, path: str) -> Finding:
    """A check without its source."""
    return Finding(check, NOT_KNOWN, f"/{path} cannot be read")


def lines(findings: Sequence[Finding], external: Sequence[str] = ()) -> list[str]:
    """Findings as sentences for a terminal: each that was found with effect and cure, then the
    names of those that are not known. `external`: servers whose hosts were not inspected."""
    told = [
        f"check {one.check}: {one.what}; {one.effect}. Cure: {one.cure}"
        for one in findings
        if one.state == FOUND
    ]
    unknown = [one.check for one in findings if one.state == NOT_KNOWN]
    if unknown:
        told.append(f"checks not known here: {', '.join(unknown)}")
    return [*told, *unseen(external)]


def unseen(external: Sequence[str]) -> list[str]:
    """Says that hosts of external servers were not checked; empty if there are none."""
    if not external:
        return []
    return [f"checks are of this machine only, not of the host of {', '.join(external)}"]
