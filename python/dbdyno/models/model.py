"""What a model is made of. A file in `catalog/` has a docstring (`document`), `INPUTS`, `OUTPUTS`,
`SAYS` and `GOLDEN`, and may have `NOTES`, `REFUSALS`, `FUNCTIONS`, `MEASURED`, `MEASURED_ON` and
`MANIFEST`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbdyno.models.document import Document, Step
from dbdyno.models.kinds import KINDS, Kind


@dataclass(frozen=True)
class Input:
    """What is asked for. `default`, `low` and `high` are written as a user would; no default: it
    must be given. What lies outside low and high is refused."""

    name: str
    kind_name: str
    about: str
    default: str | None = None
    low: str | None = None
    high: str | None = None
    words: tuple[str, ...] = ()  # of the kind `word`
    many: bool = False  # a list, separated by commas
    whole: bool = False  # of a count: no fractions
    of: str = ""  # what a count counts
    # Where `--from` finds it: of an option file or a server its variable (`VARIABLE`), of a YAML
    # file a path (`a.b.0.c`).
    variables: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    # Of what is read there: (a regular expression for all of it, our word); the first that fits.
    meanings: tuple[tuple[str, str], ...] = ()
    asked: bool = False  # in examples although it has a default: often nothing else says it
    example: str | None = None  # if the kind's is none for it

    @property
    def kind(self) -> Kind:
        """Its kind."""
        return KINDS[self.kind_name]

    @property
    def written(self) -> str:
        """An example of it."""
        if self.words and self.asked:
            return self.example or self.words[0]
        return self.example or self.default or (self.words[0] if self.words else self.kind.example)


@dataclass(frozen=True)
class Note:
    """Added to an answer if a condition is met: limits of what the model was made for."""

    when: str
    text: str  # {name}: a value


@dataclass(frozen=True)
class Golden:
    """A result that is known: from a source, or computed by hand. A number is right if it rounds to
    what is written."""

    given: Mapping[str, str]
    gives: Mapping[str, str]
    source: str


@dataclass(frozen=True)
class Measured:
    """What a real component gave for these inputs, and by how much the model may differ from it,
    as a part of what was measured."""

    given: Mapping[str, str]
    gives: Mapping[str, str]
    within: float
    label: str = ""  # what else it was measured with, that the model does not know


@dataclass(frozen=True)
class Model:
    """A pure function with units. `says`: (condition, sentence), the first that holds is the
    answer; {name} is replaced by a value."""

    name: str
    document: Document
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]  # names of steps; the first one is the answer
    says: tuple[tuple[str, str], ...]
    golden: tuple[Golden, ...]
    notes: tuple[Note, ...] = ()
    refusals: tuple[Note, ...] = ()
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    measured: tuple[Measured, ...] = ()
    measured_on: str = ""  # what was measured, where and when
    manifest: str = ""  # `apiVersion` of Kubernetes' manifests that `paths` are of

    def input(self, name: str) -> Input | None:
        """The input of that name."""
        return next((one for one in self.inputs if one.name == name), None)

    def step(self, name: str) -> Step:
        """The step of that name. KeyError."""
        for one in self.document.steps:
            if one.name == name:
                return one
        raise KeyError(name)

    def kind_of(self, name: str) -> Kind:
        """Of an input or a step."""
        found = self.input(name)
        return found.kind if found is not None else self.step(name).kind

    def numeric(self, names: Sequence[str]) -> list[str]:
        """Those that can be drawn."""
        return [name for name in names if self.kind_of(name).is_number]
