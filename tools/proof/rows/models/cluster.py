"""What a simulated Galera cluster does, held against real nodes."""

from __future__ import annotations

from tools.proof.galera import checks, conflicts, keytypes, nodes
from tools.proof.galera.checks import Result, Spans
from tools.proof.galera.conflicts import SESSIONS, Counted
from tools.proof.galera.keytypes import Pair
from tools.proof.galera.nodes import Nodes
from tools.proof.galera.observing import prepare
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.models.cluster import certification
from dbdyno.models.cluster.certification import Costs
from dbdyno.models.cluster.keys import conflict

HOT_S, ROUNDS = 15.0, 5  # in all, of each number of writers
FACTOR = 10.0  # an order of magnitude
WRITERS = (("n1",), ("n1", "n2"), ("n1", "n2", "n3"))
QUICK = {
    "evs.keepalive_period": "PT0.5S",
    "evs.inactive_check_period": "PT0.1S",
    "evs.suspect_timeout": "PT2S",
    "evs.inactive_timeout": "PT6S",
    "evs.install_timeout": "PT3S",
    "evs.join_retrans_period": "PT0.3S",
}


def measure(effort: Effort) -> Outcome:
    """All checks on one cluster, then the hot row."""
    if lacking := nodes.missing():
        return Outcome(measured=f"{lacking} is not installed", met=None)
    with Nodes(QUICK if effort.quick else {}) as cluster:
        writer = cluster[checks.WRITER]
        prepare(writer)
        conflicts.prepare(writer)
        results = []
        for check in checks.CHECKS:
            results.append(checks.run(cluster, check))
            effort.say(f"    {check.name}: {_said(results[-1])}")
        checks.restore(cluster)
        # In turns: what else the machine does is then the same for one writer and for several.
        length_s = 0.3 if effort.quick else HOT_S / ROUNDS
        rounds = [
            [conflicts.measure(cluster, writers, length_s) for writers in WRITERS]
            for _ in range(ROUNDS)
        ]
        counted = [conflicts.together(one) for one in zip(*rounds, strict=True)]
        pairs = keytypes.measure(cluster)
    predicted = [_predicted(writers, counted[0]) for writers in WRITERS]
    orders = sum(result.in_order for result in results)
    worst = max(result.worst_s for result in results)
    alike = all(_alike(p.victims, c.victims) for p, c in zip(predicted, counted, strict=True))
    types = sum(pair.as_predicted for pair in pairs)
    right = orders == len(results) and worst <= checks.ALLOWED_S and alike and types == len(pairs)
    return Outcome(
        measured=(
            f"{orders} of {len(results)} scripts in order, stalls at most {worst:.2f} s off,"
            f" conflicts {'within' if alike else 'beyond'} an order of magnitude,"
            f" {types} of {len(pairs)} pairs of key types as predicted"
        ),
        met=None if effort.quick else right,
        tables=(
            _states(results),
            _stalls(results),
            _conflicts(predicted, counted),
            _types(pairs),
        ),
        notes=(
            "A stall is predicted from the shortest to the longest, by when members make their"
            " checks. A write-set that arrives while its victim is on its way may count in both of"
            " the server's counters.",
            "A transaction that is aborted after it was certified is replayed: the client sees a"
            " commit that took longer.",
        ),
    )


def _said(result: Result) -> str:
    order = "as predicted" if result.in_order else "in another order"
    return f"states {order}, stalls {result.worst_s:.2f} s off"


def _predicted(writers: tuple[str, ...], alone: Counted) -> certification.Outcome:
    """From the times that one writer took, without the waits for its own lock."""
    costs = Costs(order_s=alone.commit_s, apply_s=alone.commit_s / 2)
    execute_s = max(0.0, alone.length_s / max(1, alone.committed) - alone.commit_s)
    sessions = dict.fromkeys(writers, SESSIONS)
    draw = certification.hot_rows(1, 1.0)
    return certification.of_sessions(sessions, draw, execute_s, alone.length_s, costs)


def _alike(predicted: int, observed: int) -> bool:
    """Both none, or within an order of magnitude."""
    if predicted == 0 or observed == 0:
        return predicted == observed
    return 1 / FACTOR <= observed / predicted <= FACTOR


def _states(results: list[Result]) -> Table:
    rows = []
    for result in results:
        for name, spans in result.predicted.items():
            seen = result.observed[name]
            rows.append((result.check.about, name, _order(spans), _order(seen)))
    return Table("States and their order", ("script", "node", "predicted", "observed"), tuple(rows))


def _order(spans: Spans) -> str:
    return ", ".join(state for state, length in spans if length > checks.BRIEF_S)


def _stalls(results: list[Result]) -> Table:
    rows = [
        (result.check.about, after, f"{low:.2f} to {high:.2f}", f"{seen:.2f}")
        for result in results
        for after, low, high, seen in result.stalls
    ]
    head = ("script", "after", "predicted, s", "observed, s")
    return Table("Writes on n1 stand still", head, tuple(rows))


def _conflicts(predicted: list[certification.Outcome], counted: list[Counted]) -> Table:
    rows = [
        (
            " ".join(writers),
            *(f"{p:,} / {c:,}" for p, c in zip(_counts(one), _counts(seen), strict=True)),
        )
        for writers, one, seen in zip(WRITERS, predicted, counted, strict=True)
    ]
    head = ("writers", "committed", "certification failures", "aborts at apply")
    title = f"One hot row, {SESSIONS} sessions a node: predicted / observed"
    return Table(title, head, tuple(rows))


def _types(pairs: list[Pair]) -> Table:
    rows = [
        (
            pair.first,
            pair.second,
            "fails" if conflict(pair.first, pair.second) else "passes",
            "fails" if pair.fails else "passes, replayed" if pair.aborted else "passes",
        )
        for pair in pairs
    ]
    head = ("key of the first", "of the second, from another node", "predicted", "observed")
    return Table("Which of two write-sets on one key fails certification", head, tuple(rows))


def _counts(one: certification.Outcome | Counted) -> tuple[int, int, int]:
    return one.committed, one.certification_failures, one.aborts_at_apply


ROW = Row(
    name="cluster",
    claim="A simulated Galera cluster does what a real one does",
    how=(
        "Three MariaDB Galera nodes on loopback. The model reads `wsrep_provider_options` and"
        " predicts; then the same is done: shutdown of one and of a second, kill -9 of one and of a"
        " second, of two at once with both coming back, SIGSTOP, bootstrap; a writer on n1 commits"
        " all the while. Then one row is written on one, two and three nodes; what the model needs"
        " for that (times of UPDATE and COMMIT) is measured with one writer."
        " At last a write-set is certified against one of another node that its own has not applied"
        " yet, for each pair of key types."
    ),
    bar=(
        "states in the predicted order, stalls within 1 s of their prediction, conflicts within an"
        " order of magnitude and none with one writer, key types as predicted"
    ),
    measure=measure,
    timed=True,
)
