"""A Rich console for text of others: of commands to the terminal only Rich's own are sent."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from dbdyno.cli.terminal.streams import drawing, shown


class Shown(Console):
    """See the module. Without highlighting: numbers are data."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(file=drawing(sys.stderr if stderr else sys.stdout), highlight=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """As Console's."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(shown(segment.text), segment.style)
