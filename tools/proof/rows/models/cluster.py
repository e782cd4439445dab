"""What a simulated Galera cluster does, compared with real nodes."""

from __future__ import annotations

from tools.proof.galera import checks, hot_rows, keytypes, nodes
from tools.proof.galera.checks import Result, Spans
from tools.proof.galera.keytypes import Pair
from tools.proof.galera.nodes import Nodes
from tools.proof.galera.observing import prepare
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.models.cluster.conflicts.keys import conflict

QUICK = {
    "evs.keepalive_period": "PT0.5S",
    "evs.inactive_check_period": "PT0.1S",
    "evs.suspect_timeout": "PT2S",
    "evs.inactive_timeout": "PT6S",
    "evs.install_timeout": "PT3S",
    "evs.join_retrans_period": "PT0.3S",
}


def measure(effort: Effort) -> Outcome:
    """All checks and pairs of keys on one cluster, then hot rows on another."""
    if lacking := nodes.missing() or hot_rows.missing():
        return Outcome(measured=f"{lacking} is not there", met=None)
    with Nodes(QUICK if effort.quick else {}) as cluster:
        prepare(cluster[checks.WRITER])
        results = []
        for check in checks.CHECKS:
            results.append(checks.run(cluster, check))
            effort.say(f"    {check.name}: {_said(results[-1])}")
        checks.restore(cluster)
        pairs = keytypes.measure(cluster)
    held = hot_rows.measure(effort, hot_rows.DELAY_S)
    shared = hot_rows.measure(effort, 0.0, [1])
    orders = sum(result.in_order for result in results)
    worst = max(result.worst_s for result in results)
    types = sum(pair.as_predicted for pair in pairs)
    near = all(one.is_near for one in held)
    right = orders == len(results) and worst <= checks.ALLOWED_S and types == len(pairs) and near
    return Outcome(
        measured=(
            f"{orders} of {len(results)} scripts in order, stalls at most {worst:.2f} s off,"
            f" commits of hot rows at most {max(one.off for one in held):.0%} off,"
            f" {types} of {len(pairs)} pairs of key types as predicted"
        ),
        met=None if effort.quick else right,
        tables=(
            _states(results),
            _stalls(results),
            hot_rows.table(held, f"{1000 * hot_rows.DELAY_S:g} ms between nodes"),
            hot_rows.table(shared, "on loopback (outside the model, not judged)"),
            _types(pairs),
        ),
        notes=(
            "A stall is predicted from the shortest to the longest, by when members make their"
            " checks.",
            *hot_rows.notes(held),
            "On loopback all nodes and clients share this machine's processors; nobody waits for"
            " one in the model.",
            "A transaction that is aborted after it was certified is replayed: the client sees a"
            " commit that took longer.",
        ),
    )


def _said(result: Result) -> str:
    order = "as predicted" if result.in_order else "in another order"
    return f"states {order}, stalls {result.worst_s:.2f} s off"


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


ROW = Row(
    name="cluster",
    claim="A simulated Galera cluster does what a real one does",
    how=(
        "Three MariaDB Galera nodes on loopback. The model reads `wsrep_provider_options` and"
        " predicts; then the same is done: shutdown of one and of a second, kill -9 of one and of a"
        " second, of two at once with both coming back, SIGSTOP, bootstrap; a writer on n1 commits"
        " all the while. Then, on three nodes with a line of 5 ms each way between them, sessions"
        " of one, two and three nodes write 1, 3 and 10 hot rows as fast as they can, and begin"
        " again after an error; what the model needs for that (times of BEGIN, UPDATE, COMMIT and"
        " ROLLBACK) is measured with the same sessions, each on a row of its own. One hot row is"
        " written on loopback as well, to show where the model ends."
        " At last a write-set is certified against one of another node that its own has not applied"
        " yet, for each pair of key types."
    ),
    bar=(
        "states in the predicted order, stalls within 1 s of their prediction, commits of hot rows"
        " within 20 % and no failures with one writing node, key types as predicted"
    ),
    measure=measure,
    timed=True,
    before=(
        "the bar was an order of magnitude: commits of one hot row 0, 31 and 69 % off with 1, 2 and"
        " 3 writing nodes on loopback (commit 517d41a)"
    ),
)
