"""Every check of the machine."""

from __future__ import annotations

from dbdyno.rules.machine import FAMILIES
from reference_pages.markdown import code, sections, table

INTRO = """Before the first trial dbdyno looks at the machine it runs on, for half a second. What may disturb a measurement is printed, with its
likely effect and a cure; `dyno run --dry-run`, the report (*Environment*) and `result.json` (`run.environment.checks`) hold the same. A check has one of three
states: `found`, `fine`, or `not known` where the kernel, or a container, does not show what it needs. No check stops a run, and none changes anything.

Checks are of this machine only. The host of an external server (`url:`) is not inspected, and the report says so. Other programs are listed by the
name of their executable file, never with arguments, which may hold passwords."""


def page() -> str:
    """docs/reference/checks.md"""
    rows = [
        (code(rule.name), family.__name__.rpartition(".")[2], rule.about)
        for family in FAMILIES
        for rule in family.CHECKS
    ]
    return sections("# Checks of the machine", INTRO, table(("check", "family", "finds"), rows))
