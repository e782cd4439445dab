"""How many nodes of a Galera cluster, at which sites, with which weights?

A layout survives a failure if those that are left are more than half of the last primary view
(`quorum`) and one of them holds data. All layouts within the limits are tried, with arbitrators and
weights; the answer is the one with the fewest nodes with data, then the fewest arbitrators, then
equal weights. If there is none, the answer says why, in a way that can be checked by hand.

Formula:
    wish [word] = wish_of(crashes, sites, together, then, local)
        what must be survived
    limits [word] = limits_of(members, places, arbitrators, data_places)
        what may be used
    layout [word] = layout_of(wish, limits)
        members at each site, the largest first; `none` if nothing survives
    data [count] = nodes_of(wish, limits)
        nodes with data in it
    judges [count] = judges_of(wish, limits)
        arbitrators in it
    looked_at [count] = tried_of(wish, limits)
        layouts tried
    why [word] = why_of(wish, limits)
        the argument if there is none

Assumptions:
    All that fails at once fails before anybody has noticed; what fails later (`then`) does so after
    the others have agreed on a new view. The rule is linear in the weights, and members of a site
    are equivalent, so that one weight a site is all that has to be searched.

    Where no weights help there is a list of failures in which each member is lost in half of the
    cases: whatever the weights are, one of these failures takes half of them. The answer shows such
    lists; they are checked exactly.

    Unequal weights are seldom the answer: most wishes treat all nodes and sites alike, so that a
    layout with the fewest nodes does with equal ones. They are it where an arbitrator has to
    replace a site with more nodes: the loss of any two of five sites, with a second node with data
    at each that has some, takes 2+2+2 and two arbitrators, one of them of weight 2. With equal
    weights two sites with data would be 4 of 8, and two more nodes would be needed.

    Weights rescue an existing layout: of 4+1+1 the loss of the first site takes 4 of 6. With
    weights 2 and 3 for the two others it takes 4 of 9: `dyno model quorum weights=1,1,1,1,2,3
    crashed=1,2,3,4`.

    A site is lost with all its nodes. That the network between sites is cut is no worse than
    the loss of the smaller side, if one side has more than half.

Versions:
    Galera 3 and 4; weights are 0 to 255, those up to 9 are searched.

Source:
    Galera Cluster documentation, "Weighted Quorum" and "Galera Arbitrator", read 2026-11; linear
    programming (Farkas' lemma) for the proof that there is none.

Trap:
    "Two data centres with three nodes each are highly available": the loss of either takes half, so
    the other one stops. No number of nodes and no weights change that, since one of the two has at
    least half. With weights one chooses which one may be lost. A third site that holds an
    arbitrator only is enough.

    "Four nodes are safer than three": both survive one crash. With six, three crashes at once stop
    the cluster, with five as well.

    2+2+1 survives the loss of any site and then one more crash, as 2+2+2 does. What 2+2+2 adds is a
    second node at each site, so that clients stay there when one is down.
"""

from __future__ import annotations

from functools import lru_cache

from dbdyno.models.cluster import placement
from dbdyno.models.cluster.failures import Wish
from dbdyno.models.cluster.placement import Found, Layout, Limits
from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("crashes", "count", "any so many members may crash at once", "0", "0", "7", whole=True),
    Input("sites", "count", "any so many sites may be lost at once", "0", "0", "5", whole=True),
    Input("together", "word", "whether sites and crashes come at the same moment", "no",
          words=("no", "yes")),
    Input("then", "count", "crashes after the loss of the sites has been agreed on", "0", "0", "7",
          whole=True),
    Input("local", "word", "whether each site with data needs a second node with data", "no",
          words=("no", "yes")),
    Input("members", "count", "members at most, arbitrators included", "9", "1", "15", whole=True),
    Input("places", "count", "sites at most", "4", "1", "6", whole=True),
    Input("arbitrators", "count", "arbitrators at most", "0", "0", "7", whole=True),
    Input("data_places", "count", "sites with data at most; 0: all may have some", "0", "0", "6",
          whole=True),
)  # fmt: skip
OUTPUTS = ("data", "layout", "judges", "looked_at")
SAYS = (
    ("crashes + sites <= 0", "No failure to survive is given: add crashes=1 or sites=1."),
    ("data <= 0", "No layout does, of {looked_at}. {why}"),
    ("judges > 0", "It takes {data} with data and {judges} without: {layout}."),
    ("", "It takes {data} nodes: {layout}."),
)  # fmt: skip
REFUSALS = (
    Note("together == 'yes' and (crashes < 1 or sites < 1)",
         "together=yes needs crashes and sites, such as crashes=1 sites=1"),
    Note("then > 0 and sites < 1", "then={then} are crashes after the loss of sites: give sites=1"),
    Note("arbitrators >= members",
         "arbitrators={arbitrators} must be fewer than members={members}"),
)  # fmt: skip
NOTES = (
    Note("data > 0 and crashes > 0 and sites <= 0 and places > 1",
         "the loss of a site is not part of the question: all nodes may be in one place"),
)  # fmt: skip


def _wish_of(crashes: float, sites: float, together: str, then: float, local: str) -> str:
    """The wish in a line."""
    words = f"crashes={crashes:.0f} sites={sites:.0f} then={then:.0f}"
    return f"{words} together={together} local={local}"


def _limits_of(members: float, places: float, arbitrators: float, data_places: float) -> str:
    """The limits in a line."""
    words = f"members={members:.0f} sites={places:.0f} arbitrators={arbitrators:.0f}"
    return f"{words} data_sites={data_places:.0f}"


def _read(line: str) -> dict[str, int]:
    pairs = (pair.split("=") for pair in line.split())
    return {key: int(value) if value.isdecimal() else value == "yes" for key, value in pairs}


@lru_cache(maxsize=1024)
def _found(wish: str, limits: str) -> Found | None:
    """The search; None for a wish that is refused."""
    try:
        return placement.search(Wish(**_read(wish)), Limits(**_read(limits)))  # type: ignore[arg-type]
    except ValueError:
        return None


def _layout(wish: str, limits: str) -> Layout | None:
    found = _found(wish, limits)
    return found.layout if found else None


def _layout_of(wish: str, limits: str) -> str:
    """The layout, or none."""
    made = _layout(wish, limits)
    return made.said() if made else "none"


def _nodes_of(wish: str, limits: str) -> float:
    """Nodes with data; 0 if there is no layout."""
    made = _layout(wish, limits)
    return float(made.data) if made else 0.0


def _judges_of(wish: str, limits: str) -> float:
    """Arbitrators."""
    made = _layout(wish, limits)
    return float(made.members - made.data) if made else 0.0


def _tried_of(wish: str, limits: str) -> float:
    """Layouts that were searched."""
    found = _found(wish, limits)
    return float(found.tried) if found else 0.0


def _why_of(wish: str, limits: str) -> str:
    """The argument; empty if there is a layout."""
    found = _found(wish, limits)
    return " ".join(placement.arguments(found)) if found and not found.layout else ""


FUNCTIONS = {
    "wish_of": _wish_of,
    "limits_of": _limits_of,
    "layout_of": _layout_of,
    "nodes_of": _nodes_of,
    "judges_of": _judges_of,
    "tried_of": _tried_of,
    "why_of": _why_of,
}
_AT_C = "1 node at a, 1 node at b, an arbitrator at c"
_HEAVY = (
    "2 nodes at a, 2 nodes at b, 2 nodes at c, an arbitrator at d, an arbitrator of weight 2 at e"
)
GOLDEN = (
    Golden({"crashes": "1"}, {"layout": "3", "data": "3"}, "published: f = 1"),
    Golden({"crashes": "2"}, {"layout": "5", "data": "5"}, "published: f = 2"),
    Golden({"crashes": "3"}, {"layout": "7", "data": "7"}, "published: f = 3"),
    Golden({"sites": "1", "places": "2", "arbitrators": "3"}, {"layout": "none", "data": "0"},
           "published: two data centres never survive the loss of either"),
    Golden({"sites": "1"}, {"layout": "1+1+1"}, "published: three do"),
    Golden({"sites": "1", "local": "yes"}, {"layout": "2+2+2", "data": "6"},
           "published: 2+2+2 adds failover nearby"),
    Golden({"sites": "1", "arbitrators": "1", "data_places": "2"},
           {"layout": _AT_C, "data": "2", "judges": "1"}, "by hand: 2 x 2 > 3 whichever is lost"),
    Golden({"sites": "2", "places": "5", "local": "yes", "arbitrators": "2"},
           {"layout": _HEAVY, "data": "6", "judges": "2"},
           "by hand: of 9 the loss of two sites takes 4 at most; with equal weights 4 of 8"),
    Golden({"sites": "1", "crashes": "1", "together": "yes"}, {"layout": "2+2+2+1", "data": "7"},
           "by hand: 7 - 2 - 1 = 4 are more than half of 7"),
)  # fmt: skip
