"""Attempts that were void: what they do to a comparison.

Their measurements count, next to those of their repetitions (`readings`). What failed before it
measured anything left no value: there the rates of the two sides are compared (`rates`).
docs/decisions/void-attempts.md says what was chosen and what was refused.
"""
