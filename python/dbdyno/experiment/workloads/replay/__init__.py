"""`replay`: recorded sessions, sent again: each statement on its session, in its order.

Source: `engine/workloads/src/replay/` and `engine/generator/src/pacing/replay.rs`. The recording is
a trace, which `dyno digest LOG --trace FILE` makes of a log. It loads nothing itself: see `setup:`
of its target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from dbdyno.errors import DynoError
from dbdyno.experiment.values.scalars import Strict
from dbdyno.experiment.workloads.base import Check, Contradiction, Need, Option, Options
from dbdyno.experiment.workloads.replay import traces
from dbdyno.kinds.kind import SQL

MAX = "max"
SPEED_MIN, SPEED_MAX = 0.001, 1000.0
PLAYERS_MAX = 2000  # by default
MAX_LENGTH_S = 3600.0  # as fast as it goes: it ends by itself, and this is the least limit
RECORDED = "the recording defines sessions, statements and times"
NOT_AGAIN = "a client that was refused went on as recorded, and so does its replay"


def _speed(value: object) -> object:
    if value == MAX:
        return value
    text = str(value).strip()
    try:
        factor = float(text[:-1] if text.endswith("x") else text)
    except ValueError:
        factor = -1.0
    if isinstance(value, bool) or not SPEED_MIN <= factor <= SPEED_MAX:
        raise ValueError("must be a factor such as `2x`, from 0.001x to 1000x, or `max`")
    return factor


Speed = Annotated[
    float | Literal["max"],
    BeforeValidator(_speed),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": SPEED_MIN, "maximum": SPEED_MAX},
                {"type": "string", "pattern": r"^([0-9]+(\\.[0-9]+)?x?|max)$"},
            ]
        }
    ),
]


class ReplayOptions(Strict):
    """Replay of recorded sessions: each session sends its statements in the recorded order."""

    log: str = Field(
        min_length=1,
        description="file from `dyno digest LOG --trace FILE`, relative to the experiment's folder",
    )
    speed: Speed = Field(1.0, description="speed relative to the log: `2x`; `max`: without pauses")
    writes: bool = Field(
        False, description="send statements that may write; default: no, they are skipped"
    )
    databases: Literal["target", "log"] = Field(
        "target", description="databases of sessions: that of the target, or those of the log"
    )


class Replay:
    """See the module. `options` has, besides those of the file, `trace` (the path in full) and
    `facts` (see `traces.Facts`), or `wrong`: why there is none."""

    name = "replay"
    needs = (SQL,)
    deadline_s = 3600.0  # by default
    model: type[Strict] = ReplayOptions
    options: tuple[Option, ...] = ()
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    refuses: Mapping[str, str] = MappingProxyType(
        {
            "rate": RECORDED,
            "arrivals": RECORDED,
            "find": RECORDED,
            "think": RECORDED,
            "retries": NOT_AGAIN,
        }
    )

    def read(self, options: Options, base: Path) -> dict[str, Any]:
        path = (base / Path(options["log"]).expanduser()).absolute()
        found: dict[str, Any] = {**options, "trace": str(path)}
        try:
            if not traces.is_trace(path):
                fix = f"make one first: dyno digest {options['log']} --trace FILE"
                return {**found, "wrong": [f"{options['log']} is no trace", fix]}
            return {**found, "facts": traces.read(path).plain()}
        except DynoError as error:
            return {**found, "wrong": [error.what, error.fix]}
        except OSError as error:
            what = f"{options['log']} cannot be read: {error.strerror}"
            return {**found, "wrong": [what, "paths start at the experiment's file"]}

    def effective(self, options: Options) -> dict[str, Any]:
        return dict(options)

    def meaning(self, options: Options) -> dict[str, Any]:
        """A trace is identified by its content, not its path."""
        facts = options.get("facts", {})
        return {**self.sent(options), "trace": facts.get("id", options.get("trace"))}

    def data_options(self, options: Options) -> None:
        return None

    def changes_data(self, options: Options) -> bool:
        return bool(options.get("writes", False))

    def escapes_guard(self, options: Options, kind: str) -> str:
        """The engine plays reads only, and guards its sessions whatever the target says."""
        return ""

    def data_bytes(self, data: Options) -> int:
        return 0

    def needs_more(self, options: Options) -> tuple[Need, ...]:
        return ()

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        if "wrong" in options:
            what, fix = options["wrong"]
            yield Contradiction(("log",), what, fix)
            return
        facts = options["facts"]
        if not options.get("writes") and facts["events"] and not _harmless(facts):
            yield Contradiction(
                ("log",),
                "nothing in the trace is shown to be a read, so nothing would be sent",
                "`writes: true` sends them; use it on a disposable server",
            )

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        """The same: a shorter trial plays less of it."""
        return dict(options)

    def sent(self, options: Options) -> dict[str, Any]:
        return {
            "trace": options.get("trace", options.get("log")),
            "speed": options.get("speed", 1.0),
            "writes": options.get("writes", False),
            "databases": options.get("databases", "target"),
        }

    def checks(self, options: Options) -> tuple[Check, ...]:
        return ()

    def remarks(self, options: Options) -> tuple[str, ...]:
        clock_s = options["facts"]["clock_s"]
        if options.get("speed", 1.0) == MAX or clock_s < 1:
            return ()
        return (
            "the log's clock ticks in seconds: the statements of a second were spread evenly over"
            " it, so how they came in bursts within a second is not known",
        )

    def length_s(self, options: Options) -> float:
        """How long a trial is where the experiment does not say: to the trace's end; of one that is
        played as fast as it goes, a time after which it is cut."""
        recorded_s = float(options["facts"]["length_s"])
        speed = options.get("speed", 1.0)
        return max(3 * recorded_s, MAX_LENGTH_S) if speed == MAX else recorded_s / speed

    def players(self, options: Options) -> int:
        """How many recorded sessions are played at a time where the experiment does not say: as
        many as there were; with the log's times twice as many, since late ones overlap longer."""
        facts = options["facts"]
        at_once = facts["sessions_at_once"] * (1 if options.get("speed") == MAX else 2)
        return max(1, min(at_once, facts["sessions"], PLAYERS_MAX))


WORKLOAD = Replay()


def _harmless(facts: Mapping[str, Any]) -> int:
    return sum(facts["effects"].get(name, 0) for name in ("read", "transaction", "session"))
