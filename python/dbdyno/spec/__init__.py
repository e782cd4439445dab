"""What the user wrote: the experiment file, with a place for every error. Touches nothing else."""

from __future__ import annotations

from dbdyno.spec.loader import load
from dbdyno.spec.paths import patch
from dbdyno.spec.schema import json_schema
from dbdyno.spec.seeds import load_seeded
from dbdyno.spec.types import Spec

__all__ = ["Spec", "json_schema", "load", "load_seeded", "patch"]
