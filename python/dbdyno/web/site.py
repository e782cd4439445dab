"""What all pages share: the directory, its catalogue, and what was computed of runs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from dbdyno.analysis.between_runs import Reduced
from dbdyno.analysis.between_runs.kept import Reducer
from dbdyno.analysis.between_runs.types import LeftOut
from dbdyno.errors import DynoError
from dbdyno.share.below import bring_up_to_date
from dbdyno.share.opened import trusted
from dbdyno.store.catalogue import Catalogue, Line
from dbdyno.store.run import Run
from dbdyno.web.runner import Runner
from dbdyno.web.security import Access

FRESH_S = 1.0  # so long the catalogue is taken as it is
KEPT = {"reduced": 2_000}  # results of computations, by what they are; 16 of others
T = TypeVar("T")


class NotFound(Exception):
    """There is no such run, digest or model."""


class Site:
    """See the module. Used by several threads."""

    def __init__(self, directory: Path, access: Access, *, read_only: bool) -> None:
        self.directory = directory
        self.access = access
        self.runner = None if read_only else Runner(directory)
        self._catalogue = Catalogue(directory)
        self._refreshed = 0.0
        self._refreshing = threading.Lock()
        self._made: dict[str, OrderedDict[tuple[str, ...], Any]] = {}
        self._making = threading.Lock()

    @property
    def read_only(self) -> bool:
        """Whether nothing may be changed or started."""
        return self.runner is None

    def close(self) -> None:
        """Closes what is open."""
        self._catalogue.close()

    def catalogue(self) -> Catalogue:
        """The catalogue, up to date to a second."""
        with self._refreshing:
            if time.monotonic() - self._refreshed > FRESH_S:
                bring_up_to_date(self._catalogue, self.directory)
                self._refreshed = time.monotonic()
        return self._catalogue

    def forget(self) -> None:
        """Has the next page look for changed files at once."""
        self._refreshed = 0.0

    def line(self, identity: str) -> Line:
        """The run with this id. NotFound."""
        found = self.catalogue().run(identity)
        if found is None:
            raise NotFound("There is no such run: it was moved or removed.")
        return found

    @contextlib.contextmanager
    def opened(self, line: Line) -> Iterator[Run]:
        """A run to read. DynoError if it cannot be."""
        with trusted(Path(line.path)) as directory:
            yield Run.open(directory)

    def reduced(self, line: Line) -> Reduced:
        """A run as comparisons take it. DynoError if it cannot be read, or is part of no
        history."""

        def make() -> Reduced:
            with Reducer(self._catalogue, lambda _: self.opened(line)) as reducer:
                found = reducer.read(line.name, Path(line.path))
            if isinstance(found, LeftOut):
                raise DynoError("imported results are no history of one machine")
            return found

        return self.once(("reduced", line.path, line.stamp, str(line.done)), make)

    def once(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        """What `make` gives, kept for the next who asks by the same key: what it is, and the stamps
        of what it is made of. Computed by one at a time: a report takes a second of a CPU."""
        with self._making:
            made = self._made.setdefault(key[0], OrderedDict())
            if key not in made:
                made[key] = make()
                while len(made) > KEPT.get(key[0], 16):
                    made.popitem(last=False)
            made.move_to_end(key)
            found: T = made[key]
            return found
