"""How many commits hot rows take from sessions of several Galera nodes, compared with real
nodes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from tools.proof.galera import conflicts
from tools.proof.galera import line as lines
from tools.proof.galera.conflicts import SESSIONS, Counted, Steps
from tools.proof.galera.line import Line
from tools.proof.galera.nodes import NAMES, Nodes
from tools.proof.row import Effort, Table

from dbdyno.models.cluster.conflicts import loads
from dbdyno.models.cluster.conflicts.transaction import Costs, Outcome

WRITERS = tuple(NAMES[:count] for count in range(1, len(NAMES) + 1))
ROWS = (1, 3, 10)
DELAY_S = 0.005  # one way
LENGTH_S, ROUNDS = 15.0, 5  # in all, of each combination
WITHIN = 0.20


@dataclass(frozen=True)
class Held:
    """One combination, predicted and observed."""

    writers: int
    rows: int
    predicted: Outcome
    observed: Counted
    steps: Steps

    @property
    def off(self) -> float:
        """How far the predicted commits are from the observed ones, as a share of these."""
        return abs(self.predicted.committed / max(1, self.observed.committed) - 1)

    @property
    def is_near(self) -> bool:
        """Commits within the bar; nothing fails with one writer."""
        quiet = self.writers > 1 or self.predicted.victims == self.observed.errors == 0
        return self.off <= WITHIN and quiet


def missing() -> str:
    """What is not here of what the line between nodes needs."""
    return lines.missing()


def measure(effort: Effort, delay_s: float, hot: Sequence[int] = ROWS) -> list[Held]:
    """All combinations in turns, so that what else the machine does is the same for all. Without a
    delay the nodes are on loopback."""
    length_s = 0.3 if effort.quick else LENGTH_S / ROUNDS
    counted: dict[tuple[int, int], list[Counted]] = {}
    spent: dict[int, list[Steps]] = {}
    line = Line(NAMES, delay_s) if delay_s else nullcontext()
    with line as between, Nodes({}, between) as cluster:
        conflicts.prepare(cluster[NAMES[0]])
        for turn in range(1 if effort.quick else ROUNDS):
            for writers in WRITERS:
                count = len(writers)
                spent.setdefault(count, []).append(conflicts.steps(cluster, writers, length_s))
                for rows in hot:
                    seen = conflicts.measure(cluster, writers, length_s, rows)
                    counted.setdefault((count, rows), []).append(seen)
            effort.say(f"    hot rows: turn {turn + 1}")
    found = []
    for (count, rows), rounds in counted.items():
        observed = conflicts.together(rounds)
        steps = conflicts.mean(spent[count])
        predicted = predict(count, rows, steps, observed.length_s)
        found.append(Held(count, rows, predicted, observed, steps))
    return found


def predict(writers: int, rows: int, steps: Steps, length_s: float) -> Outcome:
    """From the times of the same sessions on rows of their own. A write-set is applied for as long
    as its statement took."""
    costs = Costs(
        order_s=steps.commit_s,
        apply_s=steps.update_s,
        backoff_s=steps.rollback_s + steps.begin_s,
        statement_s=steps.update_s,
    )
    sessions = dict.fromkeys(NAMES[:writers], SESSIONS)
    draw = loads.hot_rows(rows, 1.0)
    return loads.of_sessions(sessions, draw, steps.update_s, length_s, costs, pause_s=steps.begin_s)


def notes(found: list[Held]) -> tuple[str, ...]:
    """What the figures of the table are, and what they came from."""
    measured = "; ".join(
        f"{count}: {_ms(steps.begin_s)}, {_ms(steps.update_s)}, {_ms(steps.commit_s)},"
        f" {_ms(steps.rollback_s)}"
        for count, steps in {one.writers: one.steps for one in found}.items()
    )
    return (
        "BEGIN, UPDATE, COMMIT and ROLLBACK took, on rows of their own, in ms by the number of"
        f" writing nodes: {measured}.",
        "Rows taken by force are the servers' wsrep_local_bf_aborts. Most transactions that fail"
        " certification have lost their rows too: they count in both.",
    )


def _ms(value: float) -> str:
    return f"{1000 * value:.2f}"


def table(found: list[Held], between: str) -> Table:
    """Predicted / observed."""
    rows = [
        (
            str(one.writers),
            str(one.rows),
            f"{one.predicted.committed:,} / {one.observed.committed:,}",
            f"{one.predicted.committed / max(1, one.observed.committed) - 1:+.0%}",
            f"{one.predicted.victims:,} / {one.observed.errors:,}",
            f"{one.predicted.certification_failures:,} / {one.observed.certification_failures:,}",
            f"{one.predicted.rows_taken:,} / {one.observed.aborts_at_apply:,}",
        )
        for one in found
    ]
    head = (
        "writing nodes",
        "hot rows",
        "committed",
        "off",
        "attempts that failed",
        "certification failures",
        "rows taken by force",
    )
    return Table(
        f"Hot rows, {SESSIONS} sessions a node, {between}: predicted / observed", head, tuple(rows)
    )
