"""Findings -> HTML, Markdown, JSON, and the words with which a run ends in the terminal.

`Report(run, findings)` makes the views of all sections once, and draws them: `write()` into
RUN/report.html, report.md and result.json, `terminal()` as what `dyno run` prints. Nothing here
decides anything: verdicts and numbers are the analysis's.
"""

from dbdyno.report.write import Report

__all__ = ["Report"]
