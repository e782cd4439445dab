"""A run's verdicts for continuous integration: the files that its servers draw or post."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dbdyno.report.ci import comment, junit, sarif, workflow_commands
from dbdyno.report.write import Report

# What `dyno report` calls a file, and what draws it.
FORMATS: Mapping[str, Callable[[Report], str]] = {
    "junit": junit.draw,
    "sarif": sarif.draw,
    "annotations": workflow_commands.draw,
    "comment": comment.draw,
}
