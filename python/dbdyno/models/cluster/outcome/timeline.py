"""A history as text: a bar a node, what happened, why writes stalled."""

from __future__ import annotations

from dbdyno.models.cluster.outcome import history
from dbdyno.models.cluster.outcome.history import History, Span

SIGNS = {
    history.PRIMARY: "=",
    history.THROTTLED: "~",
    history.STALLED: ".",
    history.JOINING: "+",
    history.NON_PRIMARY: "-",
    history.PAUSED: "z",
    history.DOWN: " ",
}
MEANINGS = {
    history.PRIMARY: "primary",
    history.THROTTLED: "flow control",
    history.STALLED: "stalled: has a view whose members do not all answer",
    history.JOINING: "catches up",
    history.NON_PRIMARY: "non-primary: refuses",
    history.PAUSED: "is stalled",
    history.DOWN: "down",
}


def text(found: History, width: int = 100) -> str:
    """The whole answer, in lines of at most about `width` columns."""
    parts = [answer(found), bars(found, width), _events(found), _stalls(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


def answer(found: History) -> str:
    """In a few sentences: whether it split, who can write at the end, how long none could."""
    sentences = []
    for begin, end, views in found.split_brains():
        parts = " and ".join(f"{{{' '.join(members)}}}" for members in views)
        spoken = f"SPLIT BRAIN from {seconds(begin)} for {seconds(end - begin)}"
        sentences.append(f"{spoken}: {parts} could both write.")
    writers = [node for node in found.spans if found.at(node, found.until_s).writes]
    sentences.append(f"At {seconds(found.until_s)}, {_listed(writers)} can write.")
    gaps = found.nobody_writes()
    if gaps:
        longest = max(gaps, key=lambda gap: gap[1] - gap[0])
        total = sum(end - begin for begin, end in gaps)
        spoken = f"No node accepted writes for {seconds(total)} in all"
        more = f", longest from {seconds(longest[0])} for {seconds(longest[1] - longest[0])}."
        sentences.append(spoken + more)
    else:
        sentences.append("There was always somebody who could.")
    return " ".join(sentences)


def bars(found: History, width: int) -> str:
    """A line a node, with the axis and what the signs mean."""
    names = max(len(node) for node in found.spans)
    room = max(20, width - names - 4)
    step = found.until_s / room
    lines = []
    for node, spans in found.spans.items():
        cells = [SIGNS[_shown(spans, (i * step, (i + 1) * step)).state] for i in range(room)]
        lines.append(f"{node:<{names}}  |{''.join(cells)}|")
    places = [round(i * room / 4) for i in range(5)]
    ticks = list(" " * (room + 12))
    for i, place in enumerate(places):
        label = seconds(found.until_s * i / 4)
        start = max(0, place - (len(label) if i == 4 else len(label) // 2 if i else 0))
        ticks[start : start + len(label)] = label
    lines.append(f"{'':<{names}}   {''.join(ticks).rstrip()}")
    used = {one.state for spans in found.spans.values() for one in spans}
    keys = [f"{SIGNS[s]} {MEANINGS[s]}" for s in history.STATES if s in used and SIGNS[s].strip()]
    return "\n".join([*lines, "   ".join(keys)])


def _shown(spans: tuple[Span, ...], cell: tuple[float, float]) -> Span:
    """Of those that overlap a cell the longest there, but a stall is always seen."""
    inside = [one for one in spans if one.begin_s < cell[1] and one.end_s > cell[0]] or [spans[-1]]

    def share(one: Span) -> tuple[bool, float]:
        length = min(one.end_s, cell[1]) - max(one.begin_s, cell[0])
        return one.state == history.STALLED and one.length_s >= history.BRIEF_S, length

    return max(inside, key=share)


def _events(found: History) -> str:
    return "\n".join(f"{seconds(one.at_s):>9}  {one.text}" for one in found.happenings)


def _stalls(found: History) -> str:
    rows = found.stalls_together()
    if not rows:
        return ""
    names = max(len(nodes) for nodes, _ in rows)
    lines = ["Without writes:"]
    for nodes, one in rows:
        end = "" if one.over else " (and still)"
        length = f"{seconds(one.length_s)}{end}"
        lines.append(f"{seconds(one.begin_s):>9}  {nodes:<{names}}  {length:<21}  {one.why}")
    return "\n".join(line.rstrip() for line in lines)


def seconds(value: float) -> str:
    """A length or a moment in seconds, to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".") + " s"


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "nobody"
