"""Errors about settings, with the setting's place in the user's file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dbdyno.errors import DynoError
from dbdyno.experiment import Spec
from dbdyno.experiment.file import locate


@contextlib.contextmanager
def placed(loaded: Spec) -> Iterator[None]:
    """Inside, an error about a setting gets the place of that setting in the user's file."""
    try:
        yield
    except DynoError as error:
        if error.where is None or error.where in loaded.places.values():
            place = locate.named_in(f"{error.what} {error.cause}", loaded.path)
            error.where = place or error.where
        raise
