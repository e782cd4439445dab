"""Checks of histories: what each attempt at a transaction read and wrote, as its client saw it.

The engine writes `history.log` (`log`). `register` checks linearizability, `append` looks for the
anomalies of isolation (`dependencies`, `cycles`), `bank` for a constant sum; each gives `Findings`.
`tables` has what they read of nodes, `isolation` what the levels of servers permit. Pure, but for
reading the log.
"""
