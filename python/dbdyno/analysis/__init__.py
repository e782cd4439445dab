"""Measurements to estimates, ratios and verdicts: pure functions on plans and trial records.

`analyse` gives everything that a report says, with messages where `wording` has sentences;
`to_json` the object that `result.json` holds, of findings with their sentences.
"""

from dbdyno.analysis.findings import analyse
from dbdyno.analysis.result import to_json

__all__ = ["analyse", "to_json"]
