"""What every workload has in common: its keys in a group, and what follows from them.

A workload is one file in this folder and one entry in the list `WORKLOADS`. The engine checks
options too and has the last word; these files let an error point into the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

from pydantic import Field, create_model

from dbdyno.experiment.values.scalars import Size, Strict, Whole

INTEGER = "integer"
SIZE = "size"
NUMBER = "number"
FLAG = "flag"
WORD = "word"
TEXT = "text"

Keys = tuple[str, ...]
Options = Mapping[str, Any]


@dataclass(frozen=True)
class Contradiction:
    """Options that cannot be meant together. `keys` lead to what to point at."""

    keys: Keys
    what: str
    fix: str


@dataclass(frozen=True)
class Need:
    """A capability that only some options ask for. `keys` lead to what to point at, the first
    that is written; `what`: what of the workload needs it; `cause`: why a system lacks it, instead
    of a list of what it has; `instead`: what else to do than to use another system."""

    capability: str
    keys: Keys
    what: str
    cause: str = ""
    instead: str = "use another workload or preset"


@dataclass(frozen=True)
class Check:
    """What must hold of the data between transactions. `sql` returns what breaks it: no row if it
    holds."""

    name: str
    sql: str


class Workload(Protocol):
    """One workload. `options` are those written in a group, as plain data."""

    @property
    def name(self) -> str:
        """The value of `kind:`."""

    @property
    def model(self) -> type[Strict]:
        """The keys of its own."""

    @property
    def options(self) -> tuple[Option, ...]:
        """Where its keys are a flat table: that table."""

    @property
    def presets(self) -> Mapping[str, Mapping[str, Any]]:
        """Options by the name of a preset."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Capabilities that a system must have, whatever the options; see `dbdyno.kinds.kind`."""

    def needs_more(self, options: Options) -> Iterable[Need]:
        """What these options need besides that."""

    @property
    def refuses(self) -> Mapping[str, str]:
        """Keys of all groups that mean nothing to it, and why."""

    def read(self, options: Options, base: Path) -> dict[str, Any]:
        """The options with what the files say that they name, from the directory `base` on."""

    def effective(self, options: Options) -> dict[str, Any]:
        """All options with presets and defaults filled in: what will really be sent."""

    def meaning(self, options: Options) -> dict[str, Any]:
        """`effective` without unused options: equal for two groups that do the same."""

    def data_options(self, options: Options) -> dict[str, Any] | None:
        """The options that decide what is loaded, with defaults filled in; None if it loads
        nothing."""

    def changes_data(self, options: Options) -> bool:
        """Whether a run changes what a later run would read."""

    def escapes_guard(self, options: Options, kind: str) -> str:
        """Of a workload that changes nothing: why sessions of such a server that must not write are
        not enough to be sure; empty: they are."""

    def data_bytes(self, data: Options) -> int:
        """About how large what `data_options` gave is on disk, bytes."""

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        """What is wrong although each option is right."""

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        """The options on little data, for a smoke test."""

    def sent(self, options: Options) -> dict[str, Any]:
        """What the engine is given: the options without what only dyno reads."""

    def checks(self, options: Options) -> tuple[Check, ...]:
        """What is checked once the load has ended, on each of the group's servers."""

    def remarks(self, options: Options) -> tuple[str, ...]:
        """What a reader of its numbers must know, as a warning next to them."""


class NoFiles:
    """A workload that names no files and takes every key of a group."""

    refuses: Mapping[str, str] = MappingProxyType({})
    options: tuple[Option, ...] = ()
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    def effective(self, options: Options) -> dict[str, Any]:
        """The defaults, over them the preset, over it what is written. The preset's name is
        omitted: two spellings of one workload must compare equal."""
        full = {o.name: o.default for o in self.options if o.default is not None}
        if preset := options.get("preset") or full.get("preset"):
            full |= self.presets[preset]
        full |= {name: value for name, value in options.items() if value is not None}
        full.pop("preset", None)
        return full

    def data_options(self, options: Options) -> dict[str, Any] | None:
        full = self.effective(options)
        return {o.name: full[o.name] for o in self.options if o.data}

    def read(self, options: Options, base: Path) -> dict[str, Any]:
        return dict(options)

    def needs_more(self, options: Options) -> Iterable[Need]:
        return ()

    def escapes_guard(self, options: Options, kind: str) -> str:
        return ""


@dataclass(frozen=True)
class Option:
    """One option. `default` None: it follows from others (the preset, `rows`)."""

    name: str
    type: str
    about: str
    default: Any = None
    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()
    data: bool = False  # changes what is loaded
    of_distribution: str = ""  # means something only with this distribution


def model_of(name: str, about: str, options: tuple[Option, ...]) -> type[Strict]:
    """The model of a workload whose options are a flat table. What is not written is None."""
    fields: dict[str, Any] = {option.name: _field(option) for option in options}
    return create_model(name, __base__=Strict, __doc__=about, **fields)


def _field(option: Option) -> tuple[Any, Any]:
    limits: dict[str, Any] = {}
    if option.low is not None:
        limits["ge"] = option.low
    if option.high is not None:
        limits["le"] = option.high
    kind: Any = {INTEGER: Whole, SIZE: Size, NUMBER: float, FLAG: bool, TEXT: str}.get(option.type)
    if option.type == WORD:
        kind = Literal[option.words]
    default = "" if option.default in (None, "") else f"; default: {option.default}"
    return (kind | None, Field(None, description=f"{option.about}{default}", **limits))


def nothing_sent(what: str, names: Sequence[str], full: Options) -> Iterator[Contradiction]:
    """Of options that say how much of each operation is sent: all of them are 0."""
    if not any(full[name] for name in names):
        yield Contradiction(
            (names[0],),
            f"all {what} are 0, so nothing would be sent",
            f"give one of them a value above 0: {', '.join(names)}",
        )


def misplaced_distribution(
    options: Options, table: tuple[Option, ...], distribution: str
) -> Iterator[Contradiction]:
    """Parameters that belong to another distribution than the one chosen."""
    for option in table:
        wanted = option.of_distribution
        if wanted and option.name in options and distribution != wanted:
            yield Contradiction(
                (option.name,),
                f"`{option.name}` belongs to `distribution: {wanted}`, "
                f"but the distribution is {distribution}",
                f"remove it, or set `distribution: {wanted}`",
            )
