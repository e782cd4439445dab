"""All packs of rules. A pack is a folder whose `__init__.py` lists its families in `FAMILIES`; a
family is a file with its `RULES`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

from dbdyno.rules.check import (
    configuration,
    distribution,
    encryption,
    indexes,
    platform,
    replication,
    security,
    space,
    statements,
)
from dbdyno.rules.check.encryption import matrix
from dbdyno.rules.check.overview import Maker
from dbdyno.rules.check.rule import Rule

PACKS: Mapping[str, Sequence[ModuleType]] = {
    "configuration": configuration.FAMILIES,
    "distribution": distribution.FAMILIES,
    "encryption": encryption.FAMILIES,
    "indexes": indexes.FAMILIES,
    "platform": platform.FAMILIES,
    "replication": replication.FAMILIES,
    "security": security.FAMILIES,
    "space": space.FAMILIES,
    "statements": statements.FAMILIES,
}
RULES: tuple[Rule, ...] = tuple(
    rule for families in PACKS.values() for family in families for rule in family.RULES
)
OVERVIEWS: Mapping[str, Maker] = {"encryption": matrix.overviews}
