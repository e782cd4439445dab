"""A pilot: a few short blocks of an experiment, with a copy of its first cell. Pure."""

from __future__ import annotations

from dbdyno.plan.pilot.shorten import COPIES, Pilot, shorten

__all__ = ["COPIES", "Pilot", "shorten"]
