"""The seed of an experiment: its own, or one drawn for this run.

A seed that everybody has gives every run of an experiment the same order of trials, so that what
the order does to the results is never seen. A drawn one becomes part of the experiment's text as if
`--set seed=` had given it: what is recorded repeats the run.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from dbdyno.experiment.loader import load
from dbdyno.experiment.types import Spec

DRAWN_MAX = 10**9  # short enough to be typed; two of 1,000 runs are alike in one case of 2,000


def load_seeded(path: Path | str, overrides: Sequence[str] = ()) -> Spec:
    """The experiment as `load` reads it; where it has no seed, with one drawn now."""
    loaded = load(path, overrides)
    if loaded.seed is not None:
        return loaded
    return load(path, [*overrides, f"seed={1 + secrets.randbelow(DRAWN_MAX)}"])
