"""Workflow commands of GitHub Actions: a line on standard output of a step becomes a mark at the
line of the experiment's file (docs.github.com, workflow commands).
"""

from __future__ import annotations

from dbdyno.report.ci.cases import FAILED, PASSED, cases
from dbdyno.report.write import Report
from dbdyno.wording.visible import visible


def draw(report: Report) -> str:
    """A line for each question that is not answered with yes: an error, or a warning for an open
    one."""
    found = cases(report)
    lines = []
    for case in found.cases:
        if case.outcome == PASSED:
            continue
        command = "error" if case.outcome == FAILED else "warning"
        title = _value(f"dbdyno: {case.verdict}")
        message = _data(case.told or f"{case.name}: {case.why}")
        lines.append(
            f"::{command} file={_value(found.file)},line={case.line},title={title}::{message}"
        )
    return "".join(f"{line}\n" for line in lines)


def _data(text: str) -> str:
    """A command's message: one line, as actions/toolkit escapes it."""
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    """The value of a command's parameter: no comma or colon that would end it."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
