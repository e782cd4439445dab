"""Typed scalars of an experiment file: `64M`, `1Gi`, `10s`, `66.7/s`, `3%`.

Decimal prefixes are powers of 1000, binary ones (Ki, Mi, Gi, Ti) of 1024 (SI and IEC 80000-13).
Each function takes the scalar as YAML read it and raises ValueError with what would be right.
"""

from __future__ import annotations

import contextlib
import math
import re
from decimal import Decimal

_AMOUNT = r"([0-9][0-9_]*(?:\.[0-9]+)?)"
_SIZE = re.compile(_AMOUNT + r"\s*([kKMGT]i?)?B?")
_DURATION = re.compile(rf"(?:{_AMOUNT}\s*(us|ms|s|min|m|h|d))")
_RATE = re.compile(_AMOUNT + r"\s*/\s*(s|sec|min|m|h)")
_PRICE = re.compile(_AMOUNT + r"\s*/\s*(month|day|h|hour|year)")
_PERCENT = re.compile(_AMOUNT + r"\s*%")
_COUNT = re.compile(_AMOUNT + r"(?:[eE]\+?([0-9]{1,2}))?\s*([kKMG])?")
_CURRENCY = re.compile(r"(.*[0-9])\s*([A-Z]{3})\s*(/.*)")

_SIZE_FACTORS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE_FACTORS |= {"Ki": 2**10, "ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
# Decimal, so that 200us is the number that 0.0002 is.
_SECONDS = {
    unit: Decimal(seconds)
    for unit, seconds in (
        ("us", "1e-6"),
        ("ms", "1e-3"),
        ("s", 1),
        ("m", 60),
        ("min", 60),
        ("h", 3600),
        ("d", 86400),
    )
}
_PER_SECONDS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

MONTH_S = 2_592_000.0  # 30 days: what a price per month is counted in
_HOURS = {"h": 1.0, "hour": 1.0, "day": 24.0, "month": MONTH_S / 3600.0, "year": 8766.0}

RATE_MAX_PER_S = 1e9  # the engine's limit: one arrival a nanosecond

SIZE_PATTERN = r"^[0-9][0-9_]*(\.[0-9]+)?\s*([kKMGT]i?)?B?$"
DURATION_PATTERN = r"^([0-9][0-9_]*(\.[0-9]+)?\s*(us|ms|s|min|m|h|d)\s*)+$"
RATE_PATTERN = r"^[0-9][0-9_]*(\.[0-9]+)?\s*/\s*(s|sec|min|m|h)$"
PRICE_PATTERN = r"^[0-9][0-9_]*(\.[0-9]+)?\s*/\s*(month|day|h|hour|year)$"
PERCENT_PATTERN = r"^[0-9][0-9_]*(\.[0-9]+)?\s*%$"


def size_bytes(value: object) -> int:
    """`1Gi` -> 1073741824. A plain whole number is bytes."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError("a size cannot be negative")
        return value
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be a size such as 64M or 1Gi")
    amount = float(found.group(1).replace("_", "")) * _SIZE_FACTORS[found.group(2) or ""]
    if amount != int(amount):
        raise ValueError("must be a whole number of bytes")
    return int(amount)


def duration_s(value: object) -> float:
    """`10s` -> 10.0, `1h30m` -> 5400.0. A plain number is refused: seconds, or milliseconds?"""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"must be a duration with its unit, such as {value}s")
    text = value.strip() if isinstance(value, str) else ""
    parts = list(_DURATION.finditer(text))
    if not parts or re.sub(r"\s", "", text) != "".join(
        re.sub(r"\s", "", part.group()) for part in parts
    ):
        raise ValueError("must be a duration such as 200us, 500ms, 10s, 5m or 1h")
    lengths = (Decimal(p.group(1).replace("_", "")) * _SECONDS[p.group(2)] for p in parts)
    return float(sum(lengths, start=Decimal(0)))


def rate_per_s(value: object) -> float:
    """`66.7/s` -> 66.7, `4000/min` -> 66.67. A plain number is refused, and so is zero."""
    rate = rate_or_zero_per_s(value)
    if rate <= 0:
        raise ValueError("must be above zero")
    return rate


def rate_or_zero_per_s(value: object) -> float:
    """The same, where nothing may be due for a while."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"must be a rate with its unit, such as {value}/s")
    found = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be a rate such as 66.7/s or 4000/min")
    rate = float(found.group(1).replace("_", "")) / _PER_SECONDS[found.group(2)]
    if rate > RATE_MAX_PER_S:
        raise ValueError(f"must be at most {RATE_MAX_PER_S:,.0f}/s")
    return rate


def price_per_month(value: object) -> float:
    """`2035.49/month` -> 2035.49, `2.5/h` -> 1800.0: a month is 2,592,000 s, a year 365.25 days. A
    plain number is refused. Zero is a price: what exists anyway costs nothing more."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"must be a price with its time, such as {value}/month")
    found = _PRICE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be a price such as 2035.49/month or 2.5/h, without its currency")
    return float(found.group(1).replace("_", "")) / _HOURS[found.group(2)] * _HOURS["month"]


def price_and_currency(value: object) -> tuple[float, str]:
    """`2035.49 USD/month` -> (2035.49, "USD"); without a currency the second is empty."""
    found = _CURRENCY.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return price_per_month(value), ""
    return price_per_month(found.group(1) + found.group(3)), found.group(2)


def throughput_bytes_per_s(value: object) -> float:
    """`46.9MiB/s` -> 49178214.4, `245MB/s` -> 245000000. A plain number is refused."""
    size, slash, per = value.partition("/") if isinstance(value, str) else ("", "", "")
    found = _SIZE.fullmatch(size.strip())
    if found is None or not slash or per.strip() not in _PER_SECONDS:
        raise ValueError("must be bytes in a time, such as 245MB/s or 46.9MiB/s")
    amount = float(found.group(1).replace("_", "")) * _SIZE_FACTORS[found.group(2) or ""]
    return amount / _PER_SECONDS[per.strip()]


def count(value: object) -> float:
    """`16`, `1e6`, `10M` (ten million), `1.5k`: how many. Ki, Mi, Gi are of bytes alone."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    found = _COUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be a number such as 16, 1e6, 10M or 1.5k, without a unit")
    amount = Decimal(found.group(1).replace("_", "")) * 10 ** int(found.group(2) or 0)
    return float(amount * _SIZE_FACTORS[found.group(3) or ""])


def fraction(value: object) -> float:
    """`3%` -> 0.03. A plain number is the fraction itself and must be below one."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < 1:
            raise ValueError(f"must be a percentage such as {value}%")
        return float(value)
    found = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be a percentage such as 3%")
    return float(found.group(1).replace("_", "")) / 100


def whole(value: object) -> object:
    """`1e6` is a float to YAML; where a whole number is wanted it is taken as one."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def number(text: str) -> float | None:
    """The number that a level name means (`16`, `1e6`, `1Gi`, `5000/s`), or None: the axis of a
    chart."""
    if re.fullmatch(r"[+-]?[0-9][0-9_]*(\.[0-9]*)?([eE][+-]?[0-9]+)?", text):
        value = float(text.replace("_", ""))
        return value if math.isfinite(value) else None
    for unit in (size_bytes, rate_or_zero_per_s):
        with contextlib.suppress(ValueError):
            return float(unit(text))
    return None


def is_number(text: str) -> bool:
    """Whether Python reads it as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
