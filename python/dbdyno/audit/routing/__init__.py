"""Conformance of routers: which node runs which statement, and what sessions keep.

`cases` has the statements, `evidence` reads which nodes have logged them, `judge` compares both.
"""
