"""Runs compared, over time and combined, and experiments planned from them, with their texts."""

from __future__ import annotations

from dbdyno.analysis import between_runs
from dbdyno.analysis.between_runs import pooling
from dbdyno.analysis.planning import plan_blocks as _plan_blocks
from dbdyno.wording.catalogue import told

compare = told(between_runs.compare)
claims = told(between_runs.claims)
judge = told(between_runs.judge)
failing = told(between_runs.failing)
history = told(between_runs.history)
pool = told(pooling.pool)
plan_blocks = told(_plan_blocks)
