"""A cluster and its script from a YAML file; every error has its place in the file.

    nodes:
      n1: {site: a, weight: 2}
      n2: {site: b}
      judge: {site: c, arbitrator: true}
    links:
      - {between: [a, b], latency: 20ms}
    options: {evs.suspect_timeout: PT5S}
    until: 60s
    script:
      - {at: 10s, crash: n1}
      - {at: 30s, start: n1}

A site's name means all of its nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from dbdyno.errors import DynoError
from dbdyno.experiment.file import document
from dbdyno.experiment.file.document import Node, shown
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.values import units
from dbdyno.models.cluster import script
from dbdyno.models.cluster.files import options as provider
from dbdyno.models.cluster.files.entries import checked as _checked
from dbdyno.models.cluster.files.entries import mapping, text_of
from dbdyno.models.cluster.files.entries import value as _value
from dbdyno.models.cluster.files.entries import wrong as _wrong
from dbdyno.models.cluster.files.options import WEIGHT_MAX, Options
from dbdyno.models.cluster.topology import Member, Topology

TAIL_S = 60.0  # how long it goes on after the last event, if `until` is not given
KEYS = (
    "cluster",
    "nodes",
    "links",
    "options",
    "writes",
    "idle",
    "state_transfer",
    "until",
    "script",
)
NODE_KEYS = ("site", "weight", "arbitrator")
LINK_KEYS = ("between", "latency")
LOSS_KEYS = ("from", "to")
FULL = "full"
EXAMPLE = "nodes: {n1: {}, n2: {}, n3: {}}"


@dataclass(frozen=True)
class Case:
    """A file as read: what the cluster is, and what happens to it."""

    name: str
    topology: Topology
    script: script.Script


def load(path: Path) -> Case:
    """Reads a file. DynoError, with line and column, if it is none."""
    return parse(text_of(path, "a cluster", "`nodes` and `script`"), path)


def parse(text: str, file: Path | str = "cluster") -> Case:
    """The same of text."""
    if not text.strip():
        raise DynoError(f"{file} is empty", fix=f"start with `{EXAMPLE}`")
    root = document.parse(text, file)
    entries = _mapping(root, "a cluster", KEYS)
    if "nodes" not in entries:
        raise DynoError("`nodes` is missing", where=root.where, fix=f"add `{EXAMPLE}`")
    members = _members(entries["nodes"])
    topology = _checked(
        entries["nodes"],
        lambda: Topology(
            members,
            options=_options(entries.get("options")),
            transfer_s=_value(entries.get("state_transfer"), units.duration_s, 0.0),
            idle=_value(entries.get("idle"), _flag, False),
            writes_per_s=_value(entries.get("writes"), units.rate_or_zero_per_s, 0.0),
        ),
        fix=f"such as `{EXAMPLE}`",
    )
    topology = _linked(topology, entries.get("links"))
    name = _word(entries.get("cluster"), Path(str(file)).stem)
    return Case(name, topology, _script(topology, entries))


def _members(node: Node) -> dict[str, Member]:
    found = {}
    for name, entry in _mapping(node, "`nodes`").items():
        keys = {} if entry.value is None else _mapping(entry, f"node `{name}`", NODE_KEYS)
        weight = _value(keys.get("weight"), _weight, 1)
        arbitrator = _value(keys.get("arbitrator"), _flag, False)
        site = _word(keys.get("site"), "main")
        found[name] = Member(name, site, weight, arbitrator)
    for name, entry in node.mapping.items():
        if name in {one.site for one in found.values()}:
            _wrong(entry, f"`{name}` is a node and a site", "give the site another name")
    return found


def _options(node: Node | None) -> Options:
    if node is None:
        return Options()
    entries = _mapping(node, "`options`", provider.KNOWN)
    for name, entry in entries.items():  # each by itself, for its place
        _checked(entry, lambda n=name, e=entry: provider.read({n: e.text}))  # type: ignore[misc]
    texts = {name: entry.text for name, entry in entries.items()}
    fix = "give both, such as `options: {evs.suspect_timeout: PT5S, evs.inactive_timeout: PT15S}`"
    return _checked(node, lambda: provider.from_provider(texts), fix=fix)


def _linked(topology: Topology, node: Node | None) -> Topology:
    places = {*topology.members, *topology.sites()}
    found: dict[frozenset[str], float] = {}
    for entry in _list(node, "`links`"):
        keys = _mapping(entry, "a link", LINK_KEYS)
        for key in LINK_KEYS:
            if key not in keys:
                example = "{between: [a, b], latency: 20ms}"
                _wrong(entry, f"a link without `{key}`", f"write `{example}`")
        pair = _list(keys["between"], "`between`")
        if len(pair) != 2:
            _wrong(keys["between"], "a link is between two", "write `between: [a, b]`")
        for one in pair:
            if one.text not in places:
                _unknown(one, "node or site", places)
        names = frozenset(one.text for one in pair)
        if len(names) == 1 and pair[0].text in topology.members:
            _wrong(keys["between"], "a node has no link to itself", "name two nodes")
        if names in found:
            _wrong(entry, "this link is given twice", "keep one of them")
        found[names] = _value(keys["latency"], units.duration_s, 0.0)
    fix = "give a latency as of a network, such as `latency: 20ms`"
    return _checked(node, lambda: replace(topology, latency_s=found), fix=fix) if node else topology


def _script(topology: Topology, entries: Mapping[str, Node]) -> script.Script:
    node = entries.get("script")
    events = [_event(topology, entry) for entry in _list(node, "`script`")]
    events.sort(key=lambda event: event.at_s)
    last = events[-1].at_s if events else 0.0
    until = _value(entries.get("until"), units.duration_s, last + TAIL_S)
    if until < last:
        _wrong(entries["until"], f"the script goes on after `until`, to {last:g} s", "raise it")
    place = node or entries["nodes"]
    return _checked(place, lambda: script.Script(tuple(events), until))


def _event(topology: Topology, entry: Node) -> script.Event:
    keys = _mapping(entry, "an event", ("at", *script.ACTIONS))
    actions = [key for key in keys if key != "at"]
    if "at" not in keys or len(actions) != 1:
        _wrong(entry, "an event is a time and one action", "write `{at: 10s, crash: n1}`")
    at_s = _value(keys["at"], units.duration_s, 0.0)
    action, value = actions[0], keys[actions[0]]
    if action == "partition":
        groups = [_names(topology, group) for group in _list(value, "`partition`")]
        named = [name for group in groups for name in group]
        if len(groups) < 2 or len(named) != len(set(named)):
            fix = "write `partition: [[n1], [n2, n3]]`"
            _wrong(value, "a partition is two groups or more, each node in one group", fix)
        return script.Partition(at_s, (), tuple(groups))
    if action == "heal":
        return script.Heal(at_s)
    if action == "loss":
        ends = _mapping(value, "`loss`", LOSS_KEYS)
        if set(ends) != set(LOSS_KEYS):
            _wrong(value, "`loss` has `from` and `to`", "write `loss: {from: n1, to: n2}`")
        source, to = (_name(topology, ends[key]) for key in LOSS_KEYS)
        if source == to:
            _wrong(value, "a node has no link to itself", "name two nodes")
        return script.Loss(at_s, (), source, to)
    if action in ("weight", "slow"):
        pairs = _mapping(value, f"`{action}`")
        if len(pairs) != 1:
            example = "{n1: 2}" if action == "weight" else "{n1: 10/s}"
            _wrong(value, f"`{action}` is of one node", f"write `{action}: {example}`")
        ((name, amount),) = pairs.items()
        if name not in topology.members:
            _unknown(replace(amount, where=amount.place, text=name), "node", topology.members)
        if action == "weight":
            return script.Weigh(at_s, (name,), _value(amount, _weight, 1))
        rate = None if amount.text == FULL else _value(amount, units.rate_or_zero_per_s, 0.0)
        return script.Slow(at_s, (name,), rate)
    return script.ACTIONS[action](at_s, _names(topology, value))


def _names(topology: Topology, node: Node) -> tuple[str, ...]:
    """One name or a list of them; a site is all of its nodes."""
    entries = node.items if isinstance(node.value, tuple) else (node,)
    if not entries:
        _wrong(node, "no node is named", "name at least one")
    found: list[str] = []
    for one in entries:
        try:
            found += topology.at(one.text)
        except KeyError:
            _unknown(one, "node or site", (*topology.members, *topology.sites()))
    return tuple(dict.fromkeys(found))


def _name(topology: Topology, node: Node) -> str:
    if node.text not in topology.members:
        _unknown(node, "node", topology.members)
    return node.text


def _weight(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= WEIGHT_MAX:
        raise ValueError(f"a weight is a whole number from 0 to {WEIGHT_MAX}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _mapping(node: Node, what: str, known: Sequence[str] = ()) -> Mapping[str, Node]:
    return mapping(node, what, known, example=EXAMPLE)


def _list(node: Node | None, what: str) -> tuple[Node, ...]:
    if node is None or node.value is None:
        return ()
    if not isinstance(node.value, tuple):
        _wrong(node, f"{what} must be a list, not {shown(node)}", "write its entries with `-`")
    return node.items


def _word(node: Node | None, default: str) -> str:
    if node is None:
        return default
    if not node.is_scalar or not node.text:
        _wrong(node, f"must be a name, not {shown(node)}", "write a word")
    return node.text


def _unknown(
    node: Node, what: str, known: Sequence[str] | set[str] | Mapping[str, object]
) -> NoReturn:
    names = sorted(known)
    fix = did_you_mean(node.text, names)
    raise DynoError(f"there is no {what} {shown(node)}", where=node.where, fix=fix)
