"""What `dyno plan` prints: blocks and minutes first, then where the noise comes from."""

from __future__ import annotations

import math

from dbdyno.analysis.claims.power import BLOCKS_MAX
from dbdyno.analysis.planning.types import RANGE, Component, Floor, Needed, Part, Planning, Split
from dbdyno.wording.plurals import count

_WORTH = 0.95  # a split that saves less than this share of the time is not advised


def planning_text(found: Planning, source: str) -> str:
    """The planning; `source` names the run that the noise is from."""
    lines = [
        f"{found.experiment}: to find a difference of {_share(found.detect)} with a power of"
        f" {_share(found.power)}",
        f"Noise from {count(found.blocks_seen, 'block')} of {source}. Ranges hold the truth in"
        f" {_share(RANGE)} of pilots.",
        "",
        *_advice(found),
        "",
        *_noise(found),
        *(f"{_floor(one)}" for one in found.floors),
        *_no_floor(found),
        "",
        *_comparisons(found),
        *_splits(found),
        *(f"Note: {note}" for note in found.notes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _advice(found: Planning) -> list[str]:
    own, best = found.own, found.best
    lines = [f"With trials of {own.duration_s:g} s, as the experiment has them: {_cost(own)}."]
    if best is not own and _saves(own, best):
        lines.append(
            f"Least time, with trials of {best.duration_s:g} s (`duration: {best.duration_s:g}s`):"
            f" {_cost(best)}."
        )
    elif len(found.splits) > 1:
        lines.append("No other duration of trials takes clearly less time.")
    else:
        lines.append(
            "No other duration is weighed: the noise within trials is not known for these"
            " comparisons, or the experiment's own duration is part of the question."
        )
    if not found.found:
        lines.append(
            f"More than {BLOCKS_MAX} blocks: this noise hides a difference of"
            f" {_share(found.detect)}. A quieter machine, longer trials or a larger difference"
            " would help."
        )
    worst = min(found.parts, key=lambda part: part.chance)
    lines.append(
        f"The experiment's own {count(found.own_blocks, 'block')} would find it with a power of"
        f" {100 * worst.chance:.0f} %{' (the weakest comparison)' if len(found.parts) > 1 else ''}."
    )
    return lines


def _saves(own: Split, best: Split) -> bool:
    if own.total_s[1] is None:
        return best.total_s[1] is not None
    return best.total_s[1] is not None and best.total_s[1] < _WORTH * own.total_s[1]


def _cost(split: Split) -> str:
    low, probable, high = split.total_s
    if probable is None:
        return f"{_blocks(split.blocks)}"
    most = "more" if high is None else _minutes(high)
    least = "" if low is None else _minutes(low)
    half = "" if split.half_width is None else f"; intervals about ±{_width(split.half_width)}"
    return f"{_blocks(split.blocks)}, {_minutes(probable)} ({least} to {most}){half}"


def _blocks(needed: Needed) -> str:
    """ "5 to 14 blocks, probably 8" """
    if needed.probable is None:
        return f"more than {BLOCKS_MAX} blocks"
    if needed.low == needed.high == needed.probable:
        return count(needed.probable, "block")
    high = f"more than {BLOCKS_MAX}" if needed.high is None else f"{needed.high:,}"
    return f"{needed.low:,} to {high} blocks, probably {needed.probable:,}"


def _noise(found: Planning) -> list[str]:
    lines = []
    for metric, parts in found.components.items():
        if not parts:
            continue
        lines.append(f"Noise of one trial of {found.own.duration_s:g} s, {metric}:")
        width = max(len(part.name) for part in parts)
        lines += [_component(part, width) for part in parts]
        seconds = found.seconds.get(metric)
        if seconds is None:
            lines.append("  (the part within a trial is not known for this metric)")
        else:
            lines.append(
                f"  One-second values vary by {_deviation(seconds.deviation)}; the"
                f" {seconds.values:.0f} of a trial are worth {seconds.worth:.1f} independent ones."
            )
    return lines


def _component(part: Component, width: int) -> str:
    ends = f" ({_deviation(part.low)} to {_deviation(part.high)})" if part.low < part.high else ""
    return f"  {part.name:<{width}}  {_deviation(part.deviation)}{ends}: {part.about}"


def _floor(one: Floor) -> str:
    levels = ", ".join(f"{name}={level}" for name, level in one.levels.items()) or "the only cell"
    differ = not one.low <= 1 <= one.high
    odd = " Two copies that differ: something other than the cells does." if differ else ""
    return (
        f"Noise floor: two copies of {levels} have a ratio of {one.ratio:.4g} in {one.metric}"
        f" (95 % interval {one.low:.4g} to {one.high:.4g}, {count(one.blocks, 'block')}); one"
        f" block's ratio varies by {_deviation(one.deviation)}.{odd}"
    )


def _no_floor(found: Planning) -> list[str]:
    if found.floors:
        return []
    return ["Noise floor: not measured, since no cell was in the run twice (a pilot has a copy)."]


def _comparisons(found: Planning) -> list[str]:
    lines = [f"Comparisons ({found.own.duration_s:g} s a trial):"]
    lines += [f"  {part.text}: {_blocks(part.needed)}{_interval(part)}" for part in found.parts]
    lines += [f"  not planned: {text}" for text in found.left_out]
    return lines


def _interval(part: Part) -> str:
    if part.needed.probable is None:
        return ""
    level = 100 * (1 - part.criterion.alpha)
    return f"; its {level:.4g} % interval is then about ±{_width(part.half_width)}"


def _width(half: float) -> str:
    """Half of an interval on the log scale, as a share of the ratio."""
    return _deviation(math.expm1(half))


def _splits(found: Planning) -> list[str]:
    if len(found.splits) < 2:
        return []
    lines = ["", "  trial      block     blocks needed                     run"]
    for split in found.splits:
        mark = " <- least time" if split is found.best else ""
        mark += " (the experiment's)" if split is found.own else ""
        total = "" if split.total_s[1] is None else _minutes(split.total_s[1])
        lines.append(
            f"  {f'{split.duration_s:g} s':<9}  {_minutes(split.block_s):<8}"
            f"  {_blocks(split.blocks):<32}  {total}{mark}".rstrip()
        )
    return [*lines, ""]


def _minutes(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def _deviation(value: float) -> str:
    return f"{100 * value:.2g} %"
