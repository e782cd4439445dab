"""One metric of one trial over time, and what is usual for it: where the trial does not stall."""

from __future__ import annotations

import numpy as np

from dbdyno.analysis.causes import evidence, names
from dbdyno.store.metrics.timeseries import Floats, Samples

Window = tuple[float, float]

EDGE_S = 0.1  # of a stall: its ticks are so long
SAMPLES_MIN = 3  # that are usual


class Curve:
    """`samples` with their middle and spread outside of `windows` and within the measured phase.
    Reading a window costs two binary searches, since a trial may have hundreds of stalls."""

    def __init__(
        self, name: str, samples: Samples, windows: list[Window], measured_s: float
    ) -> None:
        self.name = name
        self._t_s, self._values = samples.t_s, samples.values
        self._lengths = samples.length_s
        self._begins = samples.t_s - samples.length_s
        self.step_s = float(np.median(samples.length_s))
        calm = (samples.t_s > 0.0) & (self._begins < measured_s)
        for start_s, end_s in windows:
            calm &= (samples.t_s <= start_s - EDGE_S) | (self._begins >= end_s + EDGE_S)
        usual = samples.values[calm]
        self.known = len(usual) >= SAMPLES_MIN
        self.otherwise = float(np.median(usual)) if self.known else 0.0
        self._spread = evidence.spread(usual)
        self._is_rate = names.is_rate(name)
        # A server counts a wait when it is over, and so a sample just then may come too early.
        self._after_s = EDGE_S if names.family(name) == "status" else -EDGE_S
        self._climb = 0.0 if self._is_rate else _climb(usual, samples.t_s[calm], self.step_s)

    def score(self, value: float) -> float:
        """How far from usual, in spreads."""
        return evidence.distance(value, self.otherwise, self._spread)

    def far(self, window: Window) -> bool:
        """Whether any sample in a window lies so far from usual that it is worth a closer
        analysis."""
        values = self._values[self._slice(window)]
        return bool(len(values)) and self.score(float(_furthest(values, self.otherwise))) > 1.0

    def inside(self, window: Window) -> tuple[Floats, Floats]:
        """Values of a window and the time that each speaks for: of samples mostly inside, else of
        the one that has most of it."""
        found = self._slice(window)
        begins, ends = self._begins[found], self._t_s[found]
        shared = np.minimum(ends, window[1]) - np.maximum(begins, window[0])
        if not len(shared) or shared.max() <= 0.0:
            return np.zeros(0), np.zeros(0)
        mostly = shared >= 0.5 * self._lengths[found]
        if not mostly.any():
            mostly = shared == shared.max()
        return self._values[found][mostly], np.maximum(shared[mostly], 1e-9)

    def gain(self, window: Window) -> tuple[float, float]:
        """From the last sample before a window to the first one after it: how far a level went, or
        how much was counted of a rate (what ends a wait is often counted when it is over). And how
        much that is in such a time otherwise."""
        last = int(np.searchsorted(self._t_s, window[1] + self._after_s, side="left"))
        if self._is_rate:
            first = int(np.searchsorted(self._t_s, window[0], side="right"))
            lengths = self._lengths[first : last + 1]
            counted = float((self._values[first : last + 1] * lengths).sum())
            return counted, self.otherwise * float(lengths.sum())
        first = int(np.searchsorted(self._t_s, window[0], side="right")) - 1
        if first < 0 or last >= len(self._t_s):
            return 0.0, 0.0
        took_s = float(self._t_s[last] - self._t_s[first])
        return float(self._values[last] - self._values[first]), self._climb * took_s

    def _slice(self, window: Window) -> slice:
        """Samples that touch a window."""
        first = int(np.searchsorted(self._t_s, window[0], side="right"))
        last = int(np.searchsorted(self._begins, window[1], side="left"))
        return slice(first, max(first, last))


def _climb(usual: Floats, t_s: Floats, step_s: float) -> float:
    """What a level gains a second, between neighbouring samples."""
    near = np.diff(t_s) <= 1.5 * step_s
    rises, spans = np.diff(usual)[near], np.diff(t_s)[near]
    return float(rises.sum() / spans.sum()) if spans.sum() > 0.0 else 0.0


def _furthest(values: Floats, middle: float) -> float:
    return float(values[np.argmax(np.abs(values - middle))])
