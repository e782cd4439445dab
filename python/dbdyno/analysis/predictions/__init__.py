"""What models say of the servers that a run measured, from topology, settings and faults alone.

Nothing of a prediction is fitted to what it is compared with. Read `predict.py` first.
"""
