"""Findings -> HTML, Markdown, JSON, and the words with which a run ends in the terminal.

`render(run, findings)` writes RUN/report.html, report.md and result.json; `terminal(run, findings)`
gives what `dyno run` prints. Nothing here decides anything: verdicts and numbers are the
analysis's.
"""

from dbdyno.report.terminal import terminal
from dbdyno.report.write import render

__all__ = ["render", "terminal"]
