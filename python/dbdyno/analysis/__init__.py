"""Measurements to estimates, ratios and verdicts: pure functions on plans and trial records.

`findings.analyse` gives everything that a report says, with messages where `wording` has sentences;
`result.to_json` the object that `result.json` holds, of findings with their sentences. Nothing is
imported here: scipy takes most of a second, and what a run under way has so far needs none of it.
"""
