"""Texts on each cause: a file for each family of `analysis/causes/rules/`, one entry a rule."""

from __future__ import annotations

from importlib import import_module

from dbdyno.analysis.causes.rules import FAMILIES
from dbdyno.wording.cause import CauseText

CAUSES: dict[str, CauseText] = {
    rule: text
    for family in FAMILIES
    for rule, text in import_module(f"dbdyno.wording.causes.{family}").CAUSES.items()
}
