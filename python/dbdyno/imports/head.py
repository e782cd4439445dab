"""What an experiment file says of results that are imported: name, question, claims, prices.

The same file may also describe how to run it here; those keys mean nothing for existing results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.experiment import model, prices
from dbdyno.experiment import types as spec_types
from dbdyno.experiment.claims import written
from dbdyno.experiment.claims.grammar import Claim, resolve
from dbdyno.experiment.claims.metrics import Scope
from dbdyno.experiment.file import document, problems, synonyms
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.model import HeadModel
from dbdyno.experiment.types import About, Prices
from dbdyno.plan.types import Cell, Factor

USED = (
    "experiment",
    "question",
    "claims",
    "prices",
    "matters",
    "author",
    "customer",
    "context",
    "notes",
)
FILE_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Head:
    """The part of an experiment that needs no machine, with its places for messages."""

    model: HeadModel
    root: Node
    text: str

    @property
    def about(self) -> About:
        """Who asked, for whom."""
        head = self.model
        return About(head.author, head.customer, head.context, head.notes)

    def claims(
        self, factors: Sequence[Factor], cells: Sequence[Cell], scope: Scope
    ) -> tuple[Claim, ...]:
        """The claims. DynoError, with line and column, for one that these cells do not let mean
        anything."""
        found = [claim for claim, _ in written.claims(self.root)]
        for claim in found:
            resolve(claim, factors, cells, scope)
        return tuple(found)

    def prices(self, factors: Sequence[Factor], scope: Scope) -> Prices | None:
        """The prices of the levels. DynoError for a factor or level that is not there."""
        typed = [spec_types.Factor(one.name, one.levels, one.values) for one in factors]
        return prices.read(self.model.prices, self.root, typed, scope)


def read_head(path: Path) -> Head:
    """Reads an experiment file. DynoError, with line and column, for what is wrong in it."""
    try:
        raw = diskfiles.read(path, FILE_BYTES_MAX, links=True)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise DynoError(
            f"cannot read {path}: {error.strerror or error}", fix="give an experiment file"
        ) from None
    except UnicodeDecodeError:
        raise DynoError(f"{path} is not UTF-8 text", fix="give an experiment file") from None
    root = document.parse(text, path)
    if not root.mapping:
        raise DynoError("an experiment is a mapping of keys to values", where=root.where)
    root = synonyms.normal(root, synonyms.OF_FILE)
    for key, node in root.mapping.items():
        if key not in model.TOP_KEYS:
            raise DynoError(
                f"unknown key `{key}`", where=node.place, fix=did_you_mean(key, model.TOP_KEYS)
            )
    kept = {key: node for key, node in root.mapping.items() if key in USED}
    part = replace(root, value={key: node for key, node in kept.items() if node.value is not None})
    if "experiment" not in part.mapping:
        raise DynoError("`experiment` is missing", where=root.where, fix="add `experiment: NAME`")
    try:
        return Head(HeadModel.model_validate(part.plain()), part, text)
    except ValidationError as error:
        raise problems.translate(error, part, HeadModel) from None
