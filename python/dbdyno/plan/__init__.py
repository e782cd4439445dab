"""Experiment and machine facts in, a frozen plan out. Nothing here touches a server or a file."""

from __future__ import annotations

from dbdyno.plan.claims import Resolved, resolved_claims
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.types import Plan

__all__ = ["Machine", "Plan", "Resolved", "make", "resolved_claims"]
