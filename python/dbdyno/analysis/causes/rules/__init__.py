"""The causes that have names: one file a family, each with `RULES`."""

from __future__ import annotations

from importlib import import_module

from dbdyno.analysis.causes.rule import Rule

FAMILIES = (
    *("server", "locks", "mutexes", "binary_log", "writeback", "checkpoint", "buffer_pool"),
    *("disk", "network", "cpu", "generator", "host"),
)

RULES: tuple[Rule, ...] = tuple(
    rule
    for family in FAMILIES
    for rule in import_module(f"dbdyno.analysis.causes.rules.{family}").RULES
)
