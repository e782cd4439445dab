"""Scripts that are simulated and then done to real nodes, and the two compared with each other.

The options are those that the real provider prints. What a client can see of a state is whether a
node calls itself primary, and of how many members; a stall is a gap in a writer's commits.
"""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tools.proof.galera.nodes import Node, Nodes, until
from tools.proof.galera.observing import DOWN, NON_PRIMARY, PRIMARY, Seen, Watch

from dbdyno.models.cluster import script, simulation
from dbdyno.models.cluster.files import options
from dbdyno.models.cluster.outcome import history
from dbdyno.models.cluster.outcome.history import History
from dbdyno.models.cluster.script import Bootstrap, Crash, Event, Leave, Pause, Resume, Start
from dbdyno.models.cluster.topology import Member, Topology

WRITER = "n1"
SEEDS = 40
BRIEF_S = 0.05  # a state that is predicted for no longer may be seen or not
STEP_S = 2.0  # a state that is not predicted may be a step on the way for so long
ALLOWED_S = 1.0  # between a stall and its prediction
AWAIT_S = 60.0
STARTS_S = 1.5  # of a process, in which the script goes on as written


@dataclass(frozen=True)
class Check:
    """A script, in units of the suspect timeout from a healthy cluster on, and what it shows."""

    name: str
    about: str
    events: tuple[Event, ...]
    until: float


CHECKS = (
    Check(
        "pause",
        "SIGSTOP of one node for longer than the suspicion, SIGCONT",
        (Pause(0, ("n3",)), Resume(2.5, ("n3",))),
        4.9,
    ),
    Check(
        "crashes",
        "kill -9 of one, later of a second, then pc.bootstrap",
        (Crash(0, ("n3",)), Crash(1.8, ("n2",)), Bootstrap(3.6, ("n1",))),
        5.0,
    ),
    Check(
        "at-once",
        "kill -9 of two at once; one comes back, then the other",
        (Crash(0, ("n2", "n3")), Start(2.0, ("n2",)), Start(4.0, ("n3",))),
        8.0,
    ),
    Check(
        "leave",
        "shutdown of one, then of a second",
        (Leave(0, ("n3",)), Leave(1.5, ("n2",))),
        2.5,
    ),
)


Spans = tuple[tuple[str, float], ...]  # states in their order, and how long each lasted, in s


@dataclass(frozen=True)
class Result:
    """A check, predicted and observed: states of the nodes that stay, in their order, and stalls of
    the writer (after, from, to, observed; predicted by the phase of the members' checks)."""

    check: Check
    predicted: dict[str, Spans]
    observed: dict[str, Spans]
    stalls: tuple[tuple[str, float, float, float], ...]

    @property
    def in_order(self) -> bool:
        """Whether each node's states came as predicted."""
        return all(follows(self.observed[name], spans) for name, spans in self.predicted.items())

    @property
    def worst_s(self) -> float:
        """How far a stall lies outside of its prediction."""
        misses = (max(low - seen, seen - high, 0.0) for _, low, high, seen in self.stalls)
        return max(misses, default=0.0)


def follows(observed: Spans, predicted: Spans) -> bool:
    """Whether the states that were seen are the predicted ones, except for short steps between."""
    expected = [state for state, length in predicted if length > BRIEF_S]
    for state, length in observed:
        if expected and state == expected[0]:
            expected.pop(0)
        elif length > STEP_S:
            return False
    return not expected


def run(nodes: Nodes, check: Check) -> Result:
    """Predicts, then does it, on a cluster that is made whole before."""
    restore(nodes)
    found = options.from_provider(nodes[WRITER].options())
    unit = found.suspect_s
    events = tuple(replace(one, at_s=1.0 + one.at_s * unit) for one in check.events)
    end = 1.0 + check.until * unit
    topology = Topology({name: Member(name) for name in nodes.nodes}, options=found)
    runs = [
        simulation.simulate(topology, script.Script(events, end), seed) for seed in range(SEEDS)
    ]
    with Watch(nodes.nodes.values(), [WRITER]) as watch:
        if not until(lambda: watch.began, AWAIT_S):
            raise RuntimeError("nodes do not answer")
        base = watch.now()
        done, base = _perform(nodes, events, watch, base)
        time.sleep(max(0.0, base + end - watch.now()))
        seen, ended = watch.seen, watch.now()
    gone = (Start, Crash, Leave)
    named = {name for one in events if isinstance(one, gone) for name in one.nodes}
    stay = [name for name in nodes.nodes if name not in named]
    return Result(
        check,
        {name: _predicted(runs[0], name) for name in stay},
        {name: _observed(seen[name], ended) for name in stay},
        tuple(_stalls(runs, events, done, seen[WRITER], ended)),
    )


def _perform(
    nodes: Nodes, events: Sequence[Event], watch: Watch, base: float
) -> tuple[list[float], float]:
    """Does each event at its time; when it was done, and the base that the rest counts from: what
    comes after a start is put off for as long as the process takes to be a member."""
    acts: dict[type[Event], Callable[[Node], None]] = {
        Leave: Node.leave,
        Pause: Node.pause,
        Resume: Node.resume,
        Start: Node.start,
        Bootstrap: lambda node: node.set_option("pc.bootstrap", "yes"),
    }
    moments = []
    for event in events:
        time.sleep(max(0.0, base + event.at_s - watch.now()))
        moments.append(watch.now())
        if isinstance(event, Crash):
            for name in event.nodes:  # all at once, before any is checked
                nodes[name].send(signal.SIGKILL)
        for name in event.nodes:
            acts.get(type(event), Node.crash)(nodes[name])
        if isinstance(event, Start):
            count = str(len(nodes.running()))
            until(lambda: nodes[WRITER].status()["wsrep_cluster_size"] == count, AWAIT_S)  # noqa: B023
            base += max(0.0, watch.now() - moments[-1] - STARTS_S)
    return moments, base


def restore(nodes: Nodes) -> None:
    """Three members in a primary component again."""
    for node in nodes.running():
        node.resume()
    if not any(node.status().get("wsrep_cluster_status") == PRIMARY for node in nodes.running()):
        nodes.running()[0].set_option("pc.bootstrap", "yes")
    for node in nodes.nodes.values():
        if node.process is None:
            node.start()
        node.await_synced()
    count = str(len(nodes.nodes))
    if not until(lambda: nodes[WRITER].status().get("wsrep_cluster_size") == count, AWAIT_S):
        raise RuntimeError("the cluster did not become whole again")


def _visible(state: str, members: int) -> str:
    names = {history.DOWN: DOWN, history.NON_PRIMARY: NON_PRIMARY}
    name = names.get(state, PRIMARY)
    return name if name == DOWN else f"{name} {members}"


def _predicted(found: History, name: str) -> Spans:
    """What a client of the node would see; a paused one answers nothing."""
    spans = [one for one in found.spans[name] if one.state != history.PAUSED]
    return _joined((_visible(one.state, len(one.members)), one.length_s) for one in spans)


def _observed(seen: Seen, ended_s: float) -> Spans:
    begins = [begin for begin, *_ in seen.states]
    lengths = [b - a for a, b in itertools.pairwise([*begins, ended_s])]
    return _joined(
        (DOWN if state == DOWN else f"{state} {members}", length)
        for (_, state, members), length in zip(seen.states, lengths, strict=True)
    )


def _joined(spans: Iterable[tuple[str, float]]) -> Spans:
    """Neighbours that are alike as one."""
    groups = itertools.groupby(spans, key=lambda span: span[0])
    return tuple((state, sum(length for _, length in some)) for state, some in groups)


def _stalls(
    runs: Sequence[History],
    events: Sequence[Event],
    done: Sequence[float],
    seen: Seen,
    ended: float,
) -> Iterator[tuple[str, float, float, float]]:
    """For each event the stall of the writer that begins with it, where it ends by itself."""
    bounds = [one.at_s for one in events[1:]] + [runs[0].until_s]
    for event, begun, begin, end in zip(
        events, done, [o.at_s for o in events], bounds, strict=True
    ):
        lengths = [_stall(found, begin, end) for found in runs]
        if None in lengths or isinstance(event, Start):  # without an end; state is transferred
            continue
        known = [length for length in lengths if length is not None]
        gap = _gap(seen, begun, begun + (end - begin), ended)
        word = next(word for word, kind in script.ACTIONS.items() if isinstance(event, kind))
        yield f"{word} {' '.join(event.nodes)}", min(known), max(known), gap


def _stall(found: History, begin: float, end: float) -> float | None:
    """Of the writer, in a window; None if it does not write again in it."""
    writes = found.at(WRITER, end - 1e-6).writes
    if not writes:
        return None
    inside = (one for one in found.stalls() if one.node == WRITER and begin <= one.begin_s < end)
    return max((one.length_s for one in inside), default=0.0)


def _gap(seen: Seen, begin: float, end: float, ended: float) -> float:
    """The longest time between commits in a window."""
    times = [t for t in seen.commits if begin - 0.5 <= t <= min(end, ended)]
    return max((b - a for a, b in itertools.pairwise(times)), default=end - begin)
