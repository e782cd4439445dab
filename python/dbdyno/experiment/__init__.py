"""What the user wrote: the experiment file, with a place for every error. Touches nothing else."""

from __future__ import annotations

from dbdyno.experiment.file.paths import patch
from dbdyno.experiment.file.schema import json_schema
from dbdyno.experiment.loader import load
from dbdyno.experiment.seeds import load_seeded
from dbdyno.experiment.types import Spec

__all__ = ["Spec", "json_schema", "load", "load_seeded", "patch"]
