"""Claims as a file has them: text alone, or a mapping of `claim`, `say` and `needs`."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.errors import DynoError, Mistakes
from dbdyno.experiment.claims.parser import parse
from dbdyno.experiment.claims.types import Claim
from dbdyno.experiment.file.document import Node

CLAIMS_MAX = 100


def claims(root: Node) -> list[tuple[Claim, Node]]:
    """The claims of an experiment, each with the node of its text. DynoError for what is no claim,
    or is given twice."""
    entries = root.mapping["claims"].items if "claims" in root.mapping else ()
    if len(entries) > CLAIMS_MAX:
        raise DynoError(f"more than {CLAIMS_MAX} claims", where=entries[CLAIMS_MAX].where)
    mistakes, found, texts = Mistakes(), [], set()
    for entry in entries:
        node = entry.mapping.get("claim", entry)
        with mistakes.collect():
            claim = parse(str(node.value), node.start)
            if claim.text in texts:
                raise DynoError(
                    "this claim is given twice", where=node.where, fix="keep one of them"
                )
            texts.add(claim.text)
            found.append((replace(claim, say=_say(entry)), node))
    mistakes.stop()
    return found


def _say(entry: Node) -> str:
    """The author's words for a claim, in one line; empty without any."""
    words = entry.mapping.get("say")
    return " ".join(str(words.value).split()) if words else ""
