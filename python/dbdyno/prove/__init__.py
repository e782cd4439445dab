"""`dyno prove`: candidates (an index, a setting, a rewrite) against today, on a throw-away server.

Everything that is measured is an ordinary experiment: `experiment.py` writes it. Before that a
private copy of the data answers what needs no measurement (`bench.py`): which plans use an index,
what it weighs, whether results stay the same.
"""
