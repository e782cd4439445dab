"""Transactions that are alike as one whose steps have branches.

Where a log's sessions draw a table for each statement, or a few of many statements, nearly every
transaction is of its own, and none comes often enough to be written down. `likeness` says which are
alike, `alignment` puts steps of different ones side by side, `coupling` finds steps whose branches
go together, and `slots` are the result: a step of `mix` each.
"""
