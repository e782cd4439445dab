"""The profile for the terminal: as many columns as fit, and the statement behind or below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from dbdyno.digest.document import Document, Stats
from dbdyno.report.digest.cut import elide
from dbdyno.report.digest.profile import LEGEND, Column, columns, legend, share_of
from dbdyno.wording.digest import amounts

BAR = 12  # cells of the share's bar
STATEMENT = 60  # columns below which a statement that is longer takes a line of its own
EIGHTHS = " ▏▎▍▌▋▊▉█"


def profile(document: Document, width: int) -> list[str]:
    """A line or two a class, and one for those that are not listed."""
    return list(_Table(document, width).lines())


class _Table:
    def __init__(self, document: Document, width: int) -> None:
        rest = [document.rest] if document.rest and document.rest.count else []
        self.stats: list[Stats] = [*document.classes, *rest]
        self.ranks = [str(one.rank) for one in document.classes] + [""] * len(rest)
        self.ids = [amounts.short_id(one) for one in document.classes]
        self.ids += [f"{document.classes_not_listed:,} more"] * len(rest)
        self.statements = [amounts.one_line(one.fingerprint) for one in document.classes]
        self.statements += [""] * len(rest)
        self.what = "statement" if document.group_by == "fingerprint" else "what"
        self.share = share_of(document)
        self.width, self.indent = width, 2 + max(map(len, self.ranks))
        self.id_room = max(map(len, self.ids))
        found = [
            (one, [one.shown(one.of(each)) for each in self.stats]) for one in columns(document)
        ]
        self.shown = _fitting(found, width - self.indent - self.id_room)
        used = self.indent + self.id_room + sum(_room(*one) for one in self.shown)
        needed = min(STATEMENT, max(map(cell_len, [self.what, *self.statements])))
        self.room = width - used - 2  # of the statement
        self.is_below = self.room < needed
        with_bar = used + BAR + 1 + (0 if self.is_below else 2 + needed)
        has_share = bool(self.shown) and self.shown[0][0].head == "share"
        self.has_bar = has_share and with_bar <= width
        self.room -= BAR + 1 if self.has_bar else 0

    def lines(self) -> Iterator[str]:
        heads = [one.head for one, _ in self.shown]
        yield self.line("", "ID", heads, "", self.what)
        for i, one in enumerate(self.stats):
            cells = [each[i] for _, each in self.shown]
            drawn = bar(self.share(one))
            yield self.line(self.ranks[i], self.ids[i], cells, drawn, self.statements[i])
            if self.is_below and self.statements[i]:
                yield " " * self.indent + elide(self.statements[i], self.width - self.indent)
        for said in legend([one for one, _ in self.shown], self.stats):
            if self.indent + len(said) <= self.width or said != LEGEND:
                yield " " * self.indent + elide(said, self.width - self.indent)

    def line(self, rank: str, id_: str, cells: Sequence[str], drawn: str, last: str) -> str:
        said = rank.rjust(self.indent - 2) + "  " + id_.ljust(self.id_room)
        for (column, each), cell in zip(self.shown, cells, strict=True):
            said += cell.rjust(_room(column, each))
            if column.head == "share" and self.has_bar:
                said += " " + drawn.ljust(BAR)
        return said if self.is_below else f"{said}  {elide(last, self.room)}"


def _room(column: Column, cells: Sequence[str]) -> int:
    """Columns of the terminal that it takes, with the space before it."""
    return 2 + max(len(column.head), *map(len, cells))


def _fitting(
    found: Sequence[tuple[Column, list[str]]], width: int
) -> list[tuple[Column, list[str]]]:
    """Those that fit, the most informative first; the first three do in any case."""
    kept: list[Column] = []
    left = width
    for one in sorted(found, key=lambda one: one[0].order):
        if (room := _room(*one)) <= left or len(kept) < 3:
            kept.append(one[0])
            left -= room
    return [one for one in found if one[0] in kept]


def bar(part: object) -> str:
    """A share as a bar of at most `BAR` cells."""
    if not isinstance(part, float) or part <= 0:
        return ""
    eighths = max(1, round(min(1.0, part) * BAR * 8))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()
