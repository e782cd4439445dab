"""Values like those of a log, none of them copied: the summary of a place as a generator of `mix`.

Numbers keep their range and, if some are hotter, the zipfian exponent with which the hottest comes
up as often as it did. Texts keep lengths, kinds of characters and, if there are few different ones,
how many and how often each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dbdyno.digest.workload.profile import Summary, Text
from dbdyno.experiment.values.generators import DECIMALS_MAX, END_MAX, TEXT_MAX

THETA_MAX = 10.0
FEW = 20  # different texts that are made up one by one; as many have their shares known
EXACT = 2**53  # beyond this a summary's ends are rounded
ROUNDED = 1024
WORDS = {"#": "0123456789", "@": "abcdefghijklmnopqrstuvwxyz",
         "*": "0123456789abcdefghijklmnopqrstuvwxyz"}  # fmt: skip


def generator(
    summary: Summary, ends: tuple[float, float] | None = None, *, is_new: bool = True
) -> dict[str, Any]:
    """The generator of a place. `ends`: the range of all places of its column; `is_new`: whether
    rows are inserted there, so that numbers that count upwards go on doing so."""
    if summary.kind == "null":
        return {"values": [None]}
    made = _present(summary, ends, is_new=is_new)
    nulls = round(summary.nulls, 4)
    return {**made, "nulls": nulls} if nulls else made


def _present(summary: Summary, ends: tuple[float, float] | None, *, is_new: bool) -> dict[str, Any]:
    """The generator of what is not NULL."""
    if summary.kind == "text":
        assert summary.text is not None
        return _text(summary, summary.text)
    least, greatest = summary.least or 0.0, summary.greatest or 0.0
    if summary.kind == "date":
        return {"dates": [moment(least)[:10], moment(greatest)[:10]]}
    if summary.kind == "moment":
        return {"times": [moment(least), moment(greatest)]}
    if summary.distinct == 1 and least == greatest and summary.kind == "whole":
        return {"const": str(int(least)) if summary.is_quoted else int(least)}
    if is_new and summary.is_sequence and summary.kind == "whole":
        made: dict[str, Any] = {"sequence": _first(greatest)}
    else:
        if ends is not None and summary.kind == "whole":
            least, greatest = min(least, ends[0]), max(greatest, ends[1])
        made = _range(summary, least, greatest)
    return made | ({"as_text": True} if summary.is_quoted else {})


def alone(summary: Summary) -> dict[str, Any]:
    """The only number of a place, as a range."""
    least = summary.least or 0.0
    return _range(summary, least, least) | ({"as_text": True} if summary.is_quoted else {})


def _first(greatest: float) -> int:
    first = int(greatest) + (1 if abs(greatest) < EXACT else ROUNDED)
    return max(-END_MAX, min(END_MAX, first))


def _range(summary: Summary, least: float, greatest: float) -> dict[str, Any]:
    decimals = 0
    if summary.kind == "decimal":
        most = max(abs(least), abs(greatest), 1.0)
        decimals = max(0, min(summary.decimals, DECIMALS_MAX - 1 - math.ceil(math.log10(most))))
    ends: list[float | int] = [_end(least, decimals), _end(greatest, decimals)]
    kept = {"decimals": decimals} if decimals else {}
    n = round((greatest - least) * 10**decimals) + 1
    if not summary.hot or n < 2:
        return {"uniform": ends, **kept}
    return {"zipfian": ends, "theta": exponent(summary.hot[0], n), **kept}


def _is_cut(summary: Summary) -> bool:
    return any(abs(end or 0.0) > END_MAX for end in (summary.least, summary.greatest))


def _end(value: float, decimals: int) -> float | int:
    limited = max(-END_MAX, min(END_MAX, value))
    return round(limited, decimals) if decimals else int(limited)


def exponent(share: float, n: int) -> float:
    """The zipfian exponent with which the hottest of `n` values comes up in `share` of the draws,
    to three decimals: 1 / (1^-theta + ... + n^-theta) = share."""
    low, high = 0.0, THETA_MAX
    for _ in range(50):
        middle = (low + high) / 2
        if 1 / harmonic(n, middle) < share:
            low = middle
        else:
            high = middle
    return round((low + high) / 2, 3)


def harmonic(n: int, theta: float) -> float:
    """The sum of k^-theta for k from 1 to n: a thousand one by one, the rest by the integral."""
    exact = min(n, 1000)
    total = sum(k**-theta for k in range(1, exact + 1))
    if n == exact:
        return total
    begin, end = exact + 0.5, n + 0.5
    if abs(theta - 1) < 1e-9:
        return total + math.log(end / begin)
    return total + (end ** (1 - theta) - begin ** (1 - theta)) / (1 - theta)


def _text(summary: Summary, text: Text) -> dict[str, Any]:
    kinds = pattern(text)
    if not kinds:
        return {"const": ""}
    if summary.distinct <= FEW:
        return _few(summary, kinds)
    room = 1.0
    # As many different ones as there were: of the characters only the last so many vary.
    wanted = summary.distinct if summary.distinct < summary.count / 2 else math.inf
    made: list[str] = []
    for char in reversed(kinds):
        if char in WORDS and room < wanted:
            room *= len(WORDS[char])
            made.append(char)
        else:
            made.append(_still(char))
    return {"text": "".join(reversed(made))}


def pattern(text: Text) -> str:
    """Kinds of characters; UUIDs and the like in digits alone, which are hexadecimal too."""
    if text.pattern is not None:
        return text.pattern.replace("*", "#").replace("@", "#") if text.is_hex else text.pattern
    kind = "#" if text.is_hex else "*" if text.alphabet not in ("#", "@") else text.alphabet
    return kind * min(TEXT_MAX, max(round(text.bytes_mean), 1 if text.bytes_greatest else 0))


def _still(char: str) -> str:
    """One character for a kind that does not vary."""
    return {"#": "1", "@": "a", "*": "a"}.get(char, char)


def _few(summary: Summary, pattern: str) -> dict[str, Any]:
    """Made-up texts, as many as there were; they differ from the last character backwards."""
    kinds = [char for char in reversed(pattern) if char in WORDS]
    room = math.prod(len(WORDS[kind]) for kind in kinds[:8])
    count = max(1, min(summary.distinct, room))
    values = [_numbered(pattern, number) for number in range(count)]
    if count == 1:
        return {"const": values[0]}
    hot = [round(share, 4) for share in summary.hot[:count]]
    if not hot:
        return {"values": values}
    left = max(0.0, 1 - sum(hot)) / max(1, count - len(hot))
    return {"values": values, "weights": hot + [round(left, 4)] * (count - len(hot))}


def _numbered(pattern: str, number: int) -> str:
    made = []
    for char in reversed(pattern):
        letters = WORDS.get(char)
        if letters is None:
            made.append(char)
            continue
        number, digit = divmod(number, len(letters))
        made.append(letters[digit])
    return "".join(reversed(made))


def moment(unix_s: float) -> str:
    """The inverse of how the engine counts seconds of dates without a time zone."""
    limited = max(-62135596800.0, min(253402300799.0, unix_s))
    return datetime.fromtimestamp(limited, UTC).strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0")


def about(summary: Summary, made: Mapping[str, Any]) -> str:
    """What was seen, and what of it is lost, in words."""
    seen = f"{summary.distinct:,} different in {summary.count:,}"
    if summary.hot:
        seen += f", the hottest {summary.hot[0]:.1%}"
    if summary.text is not None and "column" not in made:
        least, most = summary.text.bytes_least, summary.text.bytes_greatest
        seen += f"; {least} bytes long"
        if least < most:
            seen += f" to {most}, {summary.text.bytes_mean:.0f} on average, here all alike"
    if summary.kind in ("whole", "decimal") and _is_cut(summary):
        seen += f"; those beyond {END_MAX:,} are not made"
    lost = summary.hot and not ({"theta", "weights"} & made.keys())
    return seen + ("; that some are hotter is not kept" if lost and "const" not in made else "")
