"""A bank: whatever is transferred, all accounts together have the same balance.

A read of all accounts that finds another sum has seen two states of the data, or an update that
overwrote another. Source: Jepsen's test of that name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.audit.histories.findings import Findings
from dbdyno.audit.histories.log import READ, History, named
from dbdyno.audit.outcomes import ACKNOWLEDGED, UNKNOWN

COUNTS = ("wrong_sums", "negative", "diverged")
PART_RECORDS = 4_000_000

Balances = Mapping[int, int]
"""By account."""


@dataclass(frozen=True)
class Bank:
    """What the load began with."""

    accounts: int
    balance: int

    @property
    def total(self) -> int:
        """The sum that every read must find."""
        return self.accounts * self.balance


@dataclass(frozen=True)
class BankNode:
    """What a node holds. None: it could not be read."""

    balances: Balances | None


def check(
    history: History, groups: Collection[int], bank: Bank, nodes: Sequence[BankNode]
) -> Findings:
    """Judges each read by itself, and the balances that nodes hold in the end as reads of their
    own. `judged`: reads that committed, those of nodes included."""
    reads = unknown = wrong = negative = 0
    examples: dict[str, str] = {}
    for records in history.slices(groups, PART_RECORDS):
        starts = records["outcome"][records["place"] == 0]
        unknown += int((starts == UNKNOWN).sum())
        found = records[(records["outcome"] == ACKNOWLEDGED) & (records["verb"] == READ)]
        is_wrong = (found["value"] != bank.total) | (found["count"] != bank.accounts)
        is_negative = found["seen"] < 0
        reads += len(found)
        wrong += int(is_wrong.sum())
        negative += int(is_negative.sum())
        for name, which in (("wrong_sums", is_wrong), ("negative", is_negative)):
            if which.any():
                examples.setdefault(name, _example(history, found[np.argmax(which)], bank))
    held = [node.balances for node in nodes if node.balances is not None]
    ended = [one for one in held if sum(one.values()) != bank.total or len(one) != bank.accounts]
    below = sum(any(balance < 0 for balance in one.values()) for one in held)
    counts: dict[str, int | None] = {
        "wrong_sums": wrong + len(ended),
        "negative": negative + below,
        "diverged": _differing(held, len(nodes)),
    }
    if ended:
        total = sum(ended[0].values())
        text = f"after the load the sum is {total:,} instead of {bank.total:,}"
        examples.setdefault("wrong_sums", text)
    return Findings("bank", reads + len(held), unknown, counts, examples=examples)


def _differing(held: Sequence[Balances], nodes: int) -> int | None:
    accounts = {account for one in held for account in one}
    found = sum(len({one.get(account) for one in held}) > 1 for account in accounts)
    return found if found or len(held) == nodes else None


def _example(history: History, read: np.void, bank: Bank) -> str:
    who = named(int(read["session"]), int(read["n"]), int(read["attempt"]))
    return (
        f"{who} read {read['count']} accounts with {int(read['value']):,} together instead of"
        f" {bank.total:,}, the smallest {int(read['seen']):,},"
        f" at {history.t_s(read['end_ns']):.6f} s"
    )
