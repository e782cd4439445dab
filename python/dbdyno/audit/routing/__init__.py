"""Conformance of routers: which node runs which statement, and whether sessions keep what they know.

`cases` has the statements, `evidence` reads which nodes have logged them, `judge` compares both.
"""
