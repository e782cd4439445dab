"""HammerDB's job text: one `TEST RESULT` a run, of versions 3 and later.

Source: HammerDB's documentation, chapter "Running timed tests" and its article "Why both TPM and
NOPM". NOPM (new orders a minute) is counted in the schema and may be compared between kinds of
server; TPM is the server's own counter of commits and rollbacks and may not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbdyno.imports.found import TOOL, Found, Part
from dbdyno.imports.text import Line, Text

WORDS = (
    "HammerDB's TPM (divided by 60) is tps here, as each kind of server counts its own commits and"
    " rollbacks: compare kinds of server by `tool.new_orders_per_min` (NOPM).",
)

_RESULT = re.compile(
    r"TEST RESULT : System achieved (?:(\d{1,12}) NOPM from (\d{1,12}) (.{0,40}?) ?TPM"
    r"|(\d{1,12}) (.{0,40}?) ?TPM at (\d{1,12}) NOPM)"
)
_USERS = re.compile(r"(\d{1,6}) Active Virtual Users configured")
_MINUTES = re.compile(r"(Rampup|Test) complete|Timing test period of (\d{1,5}) in minutes")
_VERSION = re.compile(r"HammerDB (?:CLI )?v(\d[\w.]*)")
RESULTS_MAX = 10_000


class _HammerDb:
    name = "HammerDB's job text"

    def recognises(self, head: list[Line]) -> bool:
        return any(
            _VERSION.search(text) or text.startswith("Vuser ") or "TEST RESULT : " in text
            for _, text in head
        )

    def read(self, text: Text, columns: Mapping[str, str]) -> list[Found]:
        version, users, minutes = "", 0, 0
        began = 1
        found: list[Found] = []
        for at, line in text.lines():
            if match := _VERSION.search(line):
                version = match[1]
            if match := _USERS.search(line):
                users = int(match[1])
            if (match := _MINUTES.search(line)) and match[2]:
                minutes = int(match[2])
            if "TEST RESULT : " in line and "NOPM" in line:
                found.append(_result(text, at, began, line, version, users, minutes))
                began = at + 1
                if len(found) == RESULTS_MAX:
                    text.refuse(at, f"more than {RESULTS_MAX} results in one file")
        if not found:
            text.refuse(
                1,
                "HammerDB printed no TEST RESULT with NOPM",
                cause="it is the text of a schema build, of an analytic test, or it was cut off",
            )
        return found


FORMAT = _HammerDb()


def _result(
    text: Text, at: int, began: int, line: str, version: str, users: int, minutes: int
) -> Found:
    match = _RESULT.search(line)
    if match is None:
        text.refuse(at, f"a TEST RESULT that is not as HammerDB writes it: `{line[:80]}`")
    nopm, tpm = int(match[1] or match[6]), int(match[2] or match[4])
    return Found(
        tool="hammerdb",
        version=version,
        file=text.path,
        line=began,
        parts={
            "": Part({"transactions_per_s": tpm / 60, f"{TOOL}new_orders_per_min": float(nopm)})
        },
        said={"users": str(users)} if users else {},
        sessions=users,
        duration_s=minutes * 60.0,
        settings={"TPM as counted by": match[3] or match[5] or ""},
        words=WORDS,
    )
