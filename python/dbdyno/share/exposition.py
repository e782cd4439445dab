"""Metrics as text: OpenMetrics 1.0, and Prometheus' own older format 0.0.4.

Sources: OpenMetrics specification 1.0 (text format: ABNF, `# EOF`, units as suffixes, counters'
`_total`), Prometheus' documentation "Exposition formats". Both are written from the same families;
they differ in the name of a counter's type, in units, and in the end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

GAUGE, COUNTER, INFO = "gauge", "counter", "info"

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NOT_LABEL = re.compile(r"[^a-zA-Z0-9_]")
_SUFFIX = {COUNTER: "_total", INFO: "_info"}


@dataclass(frozen=True)
class Family:
    """Metrics of one name. A unit must end the name."""

    name: str
    type: str  # GAUGE | COUNTER | INFO
    help: str
    unit: str = ""

    def __post_init__(self) -> None:
        assert _NAME.fullmatch(self.name), self.name
        assert not self.unit or self.name.endswith(f"_{self.unit}"), self.name
        assert not self.name.endswith(("_total", "_info")), self.name  # added by us

    @property
    def sample_name(self) -> str:
        """The name that samples have."""
        return self.name + _SUFFIX.get(self.type, "")

    def head(self, *, open_metrics: bool) -> str:
        """The lines before the samples."""
        if open_metrics:
            name, kind = self.name, self.type
        else:  # the older format knows neither units nor infos
            name, kind = self.sample_name, GAUGE if self.type == INFO else self.type
        lines = [f"# TYPE {name} {kind}"]
        if self.unit and open_metrics:
            lines.append(f"# UNIT {name} {self.unit}")
        lines.append(f"# HELP {name} {_help(self.help, open_metrics=open_metrics)}")
        return "\n".join(lines) + "\n"


Labels = Mapping[str, str]


@dataclass(frozen=True)
class Sample:
    """One value. `unix_s` None: now."""

    labels: Labels
    value: float
    unix_s: float | None = None


def line(family: Family, sample: Sample) -> str:
    """A sample as text. Timestamps are in seconds, as OpenMetrics has them."""
    labels = ",".join(f'{name}="{escaped(value)}"' for name, value in sample.labels.items())
    body = f"{{{labels}}}" if labels else ""
    at = "" if sample.unix_s is None else f" {sample.unix_s:.3f}"
    return f"{family.sample_name}{body} {number(sample.value)}{at}\n"


def text(families: Iterable[tuple[Family, Iterable[Sample]]], *, open_metrics: bool) -> str:
    """A whole exposition; families without samples are omitted."""
    return "".join(_parts(families, open_metrics=open_metrics))


def _parts(
    families: Iterable[tuple[Family, Iterable[Sample]]], *, open_metrics: bool
) -> Iterator[str]:
    for family, samples in families:
        lines = [line(family, sample) for sample in samples]
        if lines:
            yield family.head(open_metrics=open_metrics)
            yield from lines
    if open_metrics:
        yield "# EOF\n"


def escaped(value: str) -> str:
    """A label's value: backslash, quote and newline escaped; what UTF-8 cannot say replaced."""
    clean = value.encode("utf-8", "replace").decode("utf-8")
    return clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _help(value: str, *, open_metrics: bool) -> str:
    if open_metrics:
        return escaped(value)
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def number(value: float) -> str:
    """A number so that reading gives it back."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def level_labels(levels: Mapping[str, str]) -> dict[str, str]:
    """Labels of a cell: `level_FACTOR`, made of what a label's name may hold. Factors whose names
    differ only in other characters get a number."""
    labels: dict[str, str] = {}
    for factor, level in levels.items():
        name = stem = "level_" + _NOT_LABEL.sub("_", factor)
        nth = 2
        while name in labels:
            name, nth = f"{stem}_{nth}", nth + 1
        labels[name] = level
    return labels
