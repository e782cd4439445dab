"""Every check of the machine."""

from __future__ import annotations

from dbdyno.rules.machine import FAMILIES
from reference_pages.markdown import code, sections, table

INTRO = """Before the first trial dbdyno inspects its own machine for half a second. It prints possible disturbances of a measurement, with their likely effect and a
remedy; `dyno run --dry-run`, the report (*Environment*) and `result.json` (`run.environment.checks`) contain the same. A check has one of three
states: `found`, `fine`, or `not known` if the kernel or a container hides the information. Checks never stop a run and never change the machine.

Checks inspect this machine only, not the host of an external server (`url:`); the report states this. They list other programs by the name of their
executable file, without arguments, which may contain passwords."""


def page() -> str:
    """docs/reference/checks.md"""
    rows = [
        (code(rule.name), family.__name__.rpartition(".")[2], rule.about)
        for family in FAMILIES
        for rule in family.CHECKS
    ]
    return sections("# Checks of the machine", INTRO, table(("check", "family", "finds"), rows))
