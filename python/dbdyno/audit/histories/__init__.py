"""Checks of histories: what each attempt at a transaction read and wrote, as its client saw it.

The engine writes `history.log` (`log`). `register` checks linearizability, `append` searches for
the anomalies of isolation (`dependencies`, `cycles`), `bank` checks for a constant sum; each gives
`Findings`. `tables` has the statements for the nodes. Pure, except for reading the log.
"""
