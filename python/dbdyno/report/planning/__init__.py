"""A planning as text."""

from __future__ import annotations

from dbdyno.report.planning.text import planning_text

__all__ = ["planning_text"]
