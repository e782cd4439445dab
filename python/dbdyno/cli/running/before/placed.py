"""Errors about settings and statements, with their place in the user's file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dbdyno.errors import DynoError, Mistakes
from dbdyno.experiment import Spec
from dbdyno.experiment.file import locate
from dbdyno.experiment.file.statements import RefusedStatement


@contextlib.contextmanager
def placed(loaded: Spec) -> Iterator[None]:
    """Inside, errors about settings and statements get their place in the user's file."""
    try:
        yield
    except DynoError as error:
        for one in error.each:
            if isinstance(one, RefusedStatement):
                one.locate(loaded.path)
            if one.where is None or one.where in loaded.places.values():
                place = locate.named_in(f"{one.what} {one.cause}", loaded.path)
                one.where = place or one.where
        mistakes = Mistakes()
        mistakes.add(error)
        mistakes.stop()  # raises it; several by the lines that are known now
