"""Runs a script against a topology: a discrete-event simulation, a pure function of its arguments.

What is modelled, and where it comes from:

- A write is delivered once every member of the view has it, so all writes stall from the moment
  that one member falls silent (seen: a pause of 3 s of one node stalls all for 3.0 s).
- Each member checks every evs.inactive_check_period for members that it has not heard for
  evs.suspect_timeout. Once all that hear each other suspect the same, they agree on a new view; who
  is silent for evs.inactive_timeout is given up without that agreement.
- They agree when join messages are repeated, every evs.join_retrans_period after the first
  suspicion (seen: 6.00 to 6.47 s from crash to new view by default; 5.21 to 5.30 s with 0.2 s for
  the repetition and for keepalives, 0.1 s for the check). With 0.2 s for the repetition alone it
  was 5.65 to 5.94 s, up to 0.3 s more than given here.
- In an idle cluster the last message of a member may be a keepalive of evs.keepalive_period ago
  (seen: 5.1 to 6.1 s).
- A member that falls silent meanwhile is waited for, until it is suspected too or an install
  timeout gives it up; after evs.max_install_timeouts of these each is alone. Two crashes within one
  search are one vote.
- A view without quorum (`quorum.py`) is non-primary. It becomes primary again by bootstrap, by
  meeting a primary component, or, with pc.recovery, when every member of the last primary view is
  back (https://galeracluster.com/library/documentation/pc-recovery.html).
- A process that goes on after a pause first reads what has waited for it, so it believes in its old
  view for one more suspect timeout (seen: 6.0 s), stalled.
- Components that meet become one after `MERGE_ROUNDS` repetitions of join messages (seen: 0.2 to
  3 s); for a part of them writes stall (seen: 0.1 to 2.0 s).
- Two primary components do not become one, and neither stops (seen after a bootstrap on one side of
  a partition that healed later).
- A write of pc.weight is a message: it counts from the next primary view whose members all hear
  each other.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable, Collection, Iterable

from dbdyno.models.cluster import quorum, script
from dbdyno.models.cluster.flow import Flow
from dbdyno.models.cluster.group import Process, View
from dbdyno.models.cluster.network import RELAY_CHECK_S, Network
from dbdyno.models.cluster.outcome.history import Happening, History
from dbdyno.models.cluster.outcome.recorder import Recorder
from dbdyno.models.cluster.topology import Topology

MERGE_ROUNDS = 2
STEPS_MAX = 200_000  # a script that needs more is refused
_EPSILON_S = 1e-9


def simulate(topology: Topology, events: script.Script, seed: int = 0) -> History:
    """What happens. `seed` draws when each member makes its checks; KeyError for a node that the
    topology does not have."""
    events.check(topology)
    return _Simulation(topology, events, seed).run()


class _Simulation:
    def __init__(self, topology: Topology, events: script.Script, seed: int) -> None:
        self.topology, self.events, self.options = topology, events, topology.options
        self.now_s = 0.0
        self.network = Network(topology.members)
        self._numbers = itertools.count(1)
        rng = self._random = random.Random(seed)
        view = self._view({one.name: one.weight for one in topology.members.values()}, True)
        self.processes = {
            name: Process(
                name,
                one.weight,
                view,
                last_primary=view,
                phase_s=rng.uniform(0, self.options.inactive_check_s),
                beat_s=rng.uniform(0, self.options.keepalive_s),
            )
            for name, one in topology.members.items()
        }
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._planned: dict[object, float] = {}
        self._halts: dict[object, float] = {}  # when writes stop before components become one
        self.happenings: list[Happening] = []
        self.flow = Flow(topology, self.processes)
        self.recorder = Recorder(topology, self.processes)

    def run(self) -> History:
        for event in self.events.events:
            self._at(event.at_s, lambda event=event: self._do(event))  # type: ignore[misc]
        self._settle()
        for _ in range(STEPS_MAX):
            if not self._queue or self._queue[0][0] > self.events.until_s:
                break
            moment, _, act = heapq.heappop(self._queue)
            self.now_s = max(self.now_s, moment)
            act()
            self._settle()
        else:
            raise ValueError(f"the script takes more than {STEPS_MAX} steps: shorten it")
        self.now_s = self.events.until_s
        spans = self.recorder.finish(self.now_s)
        judges = frozenset(n for n, one in self.topology.members.items() if one.arbitrator)
        return History(self.now_s, spans, tuple(self.happenings), judges)

    # -- time ------------------------------------------------------------------------------------

    def _at(self, moment_s: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (moment_s, next(self._order), act))

    def _look_at(self, moment_s: float) -> None:
        """Checks again at a moment, once."""
        key = round(moment_s, 9)
        if key > self.now_s and key not in self._planned:
            self._planned[key] = key
            self._at(moment_s, lambda: None)

    def _say(self, text: str) -> None:
        self.happenings.append(Happening(self.now_s, text))

    def _view(self, weights: dict[str, int], primary: bool) -> View:
        return View(next(self._numbers), weights, primary)

    # -- what is done to the cluster -------------------------------------------------------------

    def _do(self, event: script.Event) -> None:
        self.flow.advance(self.now_s, self._hears_all)
        match event:
            case script.Partition(groups=groups):
                self.network.partition(groups, self.now_s)
                parts = " | ".join(" ".join(group) for group in groups)
                self._say(f"partition: {parts}")
            case script.Loss(source=source, to=to):
                self.network.lose(source, to, self.now_s)
                self._say(f"what {source} sends to {to} is lost")
            case script.Heal():
                self.network.heal()
                self._say("the network is whole again")
            case _:
                told = [name for name in event.nodes if self._befall(event, name)]
                word = next(word for word, kind in script.ACTIONS.items() if type(event) is kind)
                if told:
                    self._say(f"{word}: {' '.join(told)}{event.amount()}")
                idle = [name for name in event.nodes if name not in told]
                if idle:
                    self._say(f"{word}: nothing to do for {' '.join(idle)}")

    def _befall(self, event: script.Event, name: str) -> bool:
        """Whether it changed anything for that node."""
        process = self.processes[name]
        match event:
            case script.Crash():
                return self._crash(process)
            case script.Leave():
                return self._leave(process)
            case script.Start():
                return self._start(process)
            case script.Pause():
                changed = process.active
                process.paused = process.paused or changed
                return changed
            case script.Resume():
                return self._resume(process)
            case script.Bootstrap():
                return self._bootstrap(process)
            case script.Weigh(weight=weight):
                changed = process.running and process.weight != weight
                process.weight = weight if process.running else process.weight
                return changed
            case script.Slow(apply_per_s=rate):
                process.apply_per_s = rate
                return True
        raise AssertionError(event)

    def _crash(self, process: Process) -> bool:
        changed, process.running, process.paused = process.running, False, False
        return changed

    def _leave(self, process: Process) -> bool:
        if not process.active:  # a stopped process cannot shut down
            return False
        for other in self._peers(process):
            self.processes[other].left.add(process.name)
        process.running = False
        process.last_primary = None  # a clean shutdown forgets the view
        return True

    def _start(self, process: Process) -> bool:
        if process.running:
            return False
        process.running, process.phase_s = True, self.now_s
        process.weight = self.topology.members[process.name].weight
        process.queue = 0.0
        if not self.options.recovery:
            process.last_primary = None
        process.enter(self._view({process.name: process.weight}, False))
        return True

    def _resume(self, process: Process) -> bool:
        if not process.paused:
            return False
        process.paused, process.phase_s = False, self.now_s
        process.lost = dict.fromkeys(process.lost, self.now_s)
        return True

    def _bootstrap(self, process: Process) -> bool:
        if not process.active or process.view.primary:
            return False
        members = [process.name, *self._peers(process)]
        members.sort(key=list(self.processes).index)
        view = self._view({name: self.processes[name].weight for name in members}, True)
        for name in members:
            self.processes[name].enter(view)
        return True

    # -- what the members conclude ---------------------------------------------------------------

    def _settle(self) -> None:
        """Everything that follows at this moment."""
        for _ in range(8 * len(self.processes) + 8):
            self._listen()
            if not (self._search() or self._deliver_weights()):
                break
        self._meet()
        self.flow.advance(self.now_s, self._hears_all)
        if (moment := self.flow.next_s(self.now_s, self._hears_all)) is not None:
            self._look_at(moment)
        self.recorder.look(self.now_s, self._hears_all, self._silent, self.flow)

    def _component(self, name: str) -> frozenset[str]:
        active = [one.name for one in self.processes.values() if one.active]
        return next(part for part in self.network.components(active) if name in part)

    def _peers(self, process: Process) -> list[str]:
        """Other members of its view that it reaches and that believe in the same view."""
        if not process.active:
            return []
        part = self._component(process.name)
        return [
            name
            for name in process.view.members
            if name != process.name and name in part and self.processes[name].view is process.view
        ]

    def _hears(self, one: str, other: str) -> bool:
        """Directly, or through somebody once the loss of the link has been noticed."""
        since = self.network.since(one, other)
        if since is None:
            return True
        relayed = since + self.options.peer_s + RELAY_CHECK_S
        if self.now_s + _EPSILON_S >= relayed:
            return True
        self._look_at(relayed)
        return False

    def _silent(self, process: Process) -> list[str]:
        """Members of its view that stop its writes, now."""
        peers = {process.name, *self._peers(process)}
        away = [name for name in process.view.members if name not in peers]
        unheard = [
            name
            for name in process.view.members
            if name in peers
            and any(o != name and not self._hears(name, o) for o in peers)
            and name != process.name
        ]
        return away or unheard

    def _hears_all(self, process: Process) -> bool:
        if process.meets_s is not None and self.now_s + _EPSILON_S >= process.meets_s:
            return False
        return process.active and not self._silent(process)

    def _listen(self) -> None:
        """Who is missed since when."""
        for process in self.processes.values():
            if not process.active:
                continue
            peers = set(self._peers(process))
            for name in process.view.members:
                if name == process.name:
                    continue
                if name in peers:
                    process.lost.pop(name, None)
                    process.forced.discard(name)
                elif name not in process.lost:
                    process.lost[name] = self._last_said(name)
                if name in process.lost:
                    self._look_at(process.suspects_at(name, self.options))
                    self._look_at(process.gives_up_at(name, self.options))

    def _last_said(self, name: str) -> float:
        """When a member that falls silent now sent its last message."""
        if not self.topology.idle:
            return self.now_s
        since = (self.now_s - self.processes[name].beat_s) % self.options.keepalive_s
        return max(0.0, self.now_s - since)

    def _search(self) -> bool:
        """One group that finds a new view, if any does now."""
        seen: set[tuple[int, frozenset[str]]] = set()
        for process in self.processes.values():
            if not process.active:
                continue
            group = [process.name, *self._peers(process)]
            group.sort(key=list(self.processes).index)
            key = process.view.number, frozenset(group)
            if key in seen:
                continue
            seen.add(key)
            away = [name for name in process.view.members if name not in group]
            if not away:
                for name in group:
                    self.processes[name].gather_s = None
                continue
            if self._agree([self.processes[name] for name in group], away):
                return True
        return False

    def _agree(self, group: list[Process], away: list[str]) -> bool:
        """Whether they leave those behind now; else plans the next check."""
        now, options = self.now_s, self.options
        left = set().union(*(one.left for one in group))
        begun = now
        suspected = any(one.suspects(name, now, options) for one in group for name in away)
        if suspected:
            begun = min((one.gather_s for one in group if one.gather_s is not None), default=now)
            for one in group:
                one.gather_s = begun
            if self._install_timeout(group, away, begun):
                return True
        dropped = [
            name
            for name in away
            if name in left
            or all(one.suspects(name, now, options) for one in group)
            or any(one.gave_up(name, now, options) for one in group)
        ]
        if len(dropped) < len(away):
            return False
        due = now  # of a goodbye: all were notified
        if suspected:
            rounds = math.ceil((now - begun) / options.join_retrans_s - _EPSILON_S)
            due = begun + max(1, rounds) * options.join_retrans_s
        return self._once(("view", group[0].view, *(one.name for one in group)), due, group, away)

    def _install_timeout(self, group: list[Process], away: list[str], begun_s: float) -> bool:
        """After each of them who has not answered is given up; after the last, everybody."""
        turn = begun_s + (group[0].installs + 1) * self.options.install_s
        if self.now_s + _EPSILON_S < turn:
            self._look_at(turn)
            return False
        for one in group:
            one.installs += 1
            one.forced.update(away)
        if group[0].installs <= self.options.max_install_timeouts:
            return False
        self._say(f"{_names(group)}: {group[0].installs} install timeouts, each goes on alone")
        for one in group:
            others = [name for name in one.view.members if name != one.name]
            self._install([one], others)
        return True

    def _once(
        self, key: tuple[object, ...], due_s: float, group: list[Process], away: list[str]
    ) -> bool:
        """Waits for the round and for the messages of it, then installs."""
        names = [one.name for one in group]
        pairs = itertools.combinations(names, 2)
        due_s += 2 * max((self.topology.between(a, b) for a, b in pairs), default=0.0)
        planned = self._planned.get(key)
        if planned is None:
            self._planned[key] = planned = due_s
        if self.now_s + _EPSILON_S < planned:
            self._look_at(planned)
            return False
        del self._planned[key]
        self._install(group, away)
        return True

    def _install(self, group: list[Process], away: Collection[str]) -> None:
        """The members of `group` become a view of their own."""
        before = group[0].view
        left = set().union(*(one.left for one in group)) & set(away)
        names = [one.name for one in group]
        weights = {name: before.weights[name] for name in names}
        if before.primary:
            held = quorum.vote(before.weights, names, left, self.options)
            view = self._view(weights, held.primary)
            what = "stays primary" if held.primary else "non-primary"
            self._say(f"{_names(group)}: {what}, {held.said()}")
        else:
            view = self._view(weights, False)
        for one in group:
            one.enter(view)

    def _deliver_weights(self) -> bool:
        """New weights become part of a primary view whose members all hear each other."""
        for process in self.processes.values():
            view = process.view
            if (
                not process.active
                or not view.primary
                or view.weights[process.name] == process.weight
            ):
                continue
            if not self._hears_all(process):
                continue
            weights = {name: self.processes[name].weight for name in view.members}
            changed = self._view(weights, True)
            for name in view.members:
                self.processes[name].enter(changed)
            self._say(f"weights are {' '.join(f'{n}={w}' for n, w in weights.items())}")
            return True
        return False

    # -- components that meet --------------------------------------------------------------------

    def _meet(self) -> None:
        """Components whose members miss none and that reach each other become one."""
        for process in self.processes.values():
            process.meets_s = None
        active = [one.name for one in self.processes.values() if one.active]
        for part in self.network.components(active):
            group = [self.processes[name] for name in self.processes if name in part]
            views = {one.view.number: one.view for one in group}
            if any(set(view.members) - part for view in views.values()):
                continue
            if any(self.processes[n].view is not v for v in views.values() for n in v.members):
                continue
            if len(views) == 1 and (group[0].view.primary or not self._recovers(group)):
                continue
            if sum(view.primary for view in views.values()) > 1:
                self._apart(views)
                continue
            key = ("meet", *views)
            pairs = itertools.combinations(sorted(part), 2)
            far = max((self.topology.between(a, b) for a, b in pairs), default=0.0)
            if key not in self._planned:
                due = self.now_s + MERGE_ROUNDS * self.options.join_retrans_s + 2 * far
                self._planned[key] = due
                self._halts[key] = self._random.uniform(self.now_s, due)
            planned = self._planned[key]
            self._look_at(self._halts[key])
            for one in group:
                one.meets_s = self._halts[key]
            if self.now_s + _EPSILON_S < planned:
                self._at(planned, lambda key=key, part=part: self._merge(key, part))  # type: ignore[misc]

    def _merge(self, key: tuple[object, ...], part: frozenset[str]) -> None:
        """Still the same components: they become one view."""
        group = [self.processes[name] for name in self.processes if name in part]
        if self._planned.get(key, self.now_s) > self.now_s + _EPSILON_S:
            return
        self._planned.pop(key, None)
        views = {one.view.number: one.view for one in group if one.active}
        active = [one.name for one in self.processes.values() if one.active]
        if part not in self.network.components(active) or {*views} != {*key[1:]}:
            return
        primaries = [view for view in views.values() if view.primary]
        weights = {one.name: one.weight for one in group}
        if primaries:
            weights |= primaries[0].weights
        recovered = not primaries and self._recovers(group)
        view = self._view(weights, bool(primaries) or recovered)
        for one in group:
            if view.primary and one.name not in (primaries[0].members if primaries else ()):
                one.joined_s = self.now_s + self.topology.transfer_s
                self._look_at(one.joined_s)
            one.enter(view)
        if recovered:
            self._say(f"{_names(group)}: the whole last primary view is back, primary again")
        else:
            what = "primary" if view.primary else "non-primary"
            self._say(f"{_names(group)}: one component, {what}")

    def _apart(self, views: dict[int, View]) -> None:
        """Two primary components have two histories; they stay apart."""
        key = ("apart", *views)
        if key not in self._planned:
            self._planned[key] = self.now_s
            parts = " | ".join(" ".join(v.members) for v in views.values() if v.primary)
            self._say(f"two primary components reach each other and stay apart: {parts}")

    def _recovers(self, group: Iterable[Process]) -> bool:
        """Whether every member of the last primary view that any of them knows is there."""
        group = list(group)
        known = [one.last_primary for one in group if one.last_primary is not None]
        if not known:
            return False
        last = max(known, key=lambda view: view.number)
        there = {one.name for one in group if one.last_primary is not None}
        return set(last.members) <= there


def _names(group: Iterable[Process]) -> str:
    return " ".join(one.name for one in group)
