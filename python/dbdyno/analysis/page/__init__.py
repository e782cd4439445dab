"""What one page says of a run: each ratio once, with one interval, wherever it appears.

docs/decisions/one-number-one-definition.md says what was chosen and what was refused.
"""
