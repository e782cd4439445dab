"""A script's run as one HTML file: the answer, the bars, what happened, why writes stalled."""

from __future__ import annotations

from typing import Any

from dbdyno.models.cluster.files.reading import Case
from dbdyno.models.cluster.outcome import timeline
from dbdyno.models.cluster.outcome.history import History
from dbdyno.models.cluster.outcome.timeline import seconds
from dbdyno.models.cluster.topology import Member, Topology
from dbdyno.report import templating
from dbdyno.report.cluster.drawing import drawing
from dbdyno.report.figures import Figure


def page(case: Case, found: History) -> str:
    """The page; it needs no network and no other file."""
    names = {name: _named(one, case.topology) for name, one in case.topology.members.items()}
    figure = Figure(
        "Who can write, and when",
        "The taller the bar, the better the node serves. A bar tells more when pointed at.",
        "cluster",
        lambda width: drawing(found, names, width),
    )
    return templating.styled(
        "cluster.html.j2",
        {
            "name": case.name,
            "answer": timeline.answer(found),
            "figure": figure,
            "happenings": [(seconds(one.at_s), one.text) for one in found.happenings],
            "stalls": [
                (
                    nodes,
                    seconds(one.begin_s),
                    seconds(one.length_s) + ("" if one.over else ", and still"),
                    one.why,
                )
                for nodes, one in found.stalls_together()
            ],
            "nodes": [
                (one.name, one.site, str(one.weight), "arbitrator" if one.arbitrator else "data")
                for one in case.topology.members.values()
            ],
        },
    )


def document(case: Case, found: History) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "schema_version": 1,
        "model": "cluster-timeline",
        "cluster": case.name,
        "answer": timeline.answer(found),
        **found.document(),
    }


def _named(member: Member, topology: Topology) -> str:
    """A node's name with what is special about it."""
    more = [member.site] if len(topology.sites()) > 1 else []
    more += ["arbitrator"] if member.arbitrator else []
    more += [f"weight {member.weight}"] if member.weight != 1 else []
    return f"{member.name} ({', '.join(more)})" if more else member.name
