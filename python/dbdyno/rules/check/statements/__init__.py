"""Statements: what a log, or a digest of one, shows by itself, without the tables."""

from __future__ import annotations

from dbdyno.rules.check.statements import censored, conditions, reading, waiting

FAMILIES = (censored, conditions, reading, waiting)
