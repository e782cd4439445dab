"""A row of the gallery, as its file in `articles/` has it. All of a file's values are texts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from tools.gallery import evidence
from tools.gallery.evidence import Evidence
from tools.gallery.places import ARTICLES, EXPERIMENTS, ROOT
from tools.gallery.verdict import ELSEWHERE, NOT_TESTED, Judged, joined

ARTICLE, READER, HERE = WHOSE = ("article", "reader", "here")


@dataclass(frozen=True)
class Measurement:
    """A run that judges: an experiment (a study's name, or a file of `docs/articles/experiments/`)
    with what was `set` for the gallery, or existing results that are `imported`. `about`: how it
    differs from what the article did."""

    name: str
    experiment: str = ""
    imported: str = ""
    set: Mapping[str, str] = field(default_factory=dict)
    about: str = ""

    def arguments(self) -> list[str]:
        """What `dyno` is called with, but for the run's directory."""
        if self.imported:
            return ["import", "--experiment", self.imported]
        own = EXPERIMENTS / f"{self.experiment}.yaml"
        file = str(own.relative_to(ROOT)) if own.exists() else self.experiment
        settings = [word for path, value in self.set.items() for word in _set(path, value)]
        return ["run", file, *settings]

    @property
    def command(self) -> str:
        """The call, for a shell."""
        return shlex.join(["dyno", *self.arguments()])


def _set(path: str, value: str) -> tuple[str, str]:
    return "--set", f"{path}={value}"


@dataclass(frozen=True)
class Conclusion:
    """What an article concludes (`whose`: the article, a reader who takes it too far, or what was
    asked here), and by what it is judged; or the row on whose page it is `judged`, in the same
    words; or why it is `untested`, and what that would take."""

    says: str
    whose: str = ARTICLE
    by: tuple[Evidence, ...] = ()
    judged: str = ""
    untested: str = ""

    def judge(self) -> Judged:
        """Its verdict, from the evidence alone."""
        if self.judged:
            return Judged(ELSEWHERE, f"judged on [{self.judged}]({self.judged.lower()}.md)")
        if not self.by:
            return Judged(NOT_TESTED, self.untested)
        return joined([one.judge() for one in self.by])


@dataclass(frozen=True)
class Article:
    """A row: `said` is what the article did and found, in our own words, `trap` what a reader
    would get wrong; `see`: other pages, by path from `docs/articles/`."""

    row: str
    question: str
    said: str
    trap: str
    conclusions: tuple[Conclusion, ...]
    runs: tuple[Measurement, ...] = ()
    see: Mapping[str, str] = field(default_factory=dict)


@cache
def articles() -> tuple[Article, ...]:
    """All rows, in order. ValueError with the file for what a file may not say."""
    return tuple(_read(path) for path in sorted(ARTICLES.glob("*.yaml")))


@cache
def measurements() -> Mapping[str, Measurement]:
    """All runs by name; an article may be judged by a run of another."""
    found = [run for article in articles() for run in article.runs]
    named = {run.name: run for run in found}
    if len(named) != len(found):
        raise ValueError("two runs have one name")
    return named


def _read(path: Path) -> Article:
    raw: dict[str, Any] = YAML(typ="base", pure=True).load(path.read_text())
    try:
        runs = raw.pop("runs", {})
        conclusions = raw.pop("conclusions")
        return Article(
            row=path.stem.upper(),
            runs=tuple(Measurement(name, **values) for name, values in runs.items()),
            conclusions=tuple(_conclusion(one) for one in conclusions),
            **raw,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def _conclusion(raw: Mapping[str, Any]) -> Conclusion:
    entries = raw.get("by", ())
    if len(raw.keys() & {"by", "judged", "untested"}) != 1:
        raise ValueError(f"a conclusion has one of `by`, `judged`, `untested`: {raw['says']}")
    if raw.get("whose", ARTICLE) not in WHOSE:
        raise ValueError(f"`whose` is one of {', '.join(WHOSE)}: {raw['says']}")
    by = tuple(evidence.read(entry) for entry in entries)
    return Conclusion(**{**raw, "by": by})
