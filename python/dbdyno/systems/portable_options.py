"""What systems share in turning words into settings: sizes, booleans, contradictions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dbdyno.errors import DynoError
from dbdyno.kinds.kind import OFF, ON
from dbdyno.systems.base import DURABILITY, ISOLATION, Scalar, TargetPlan

MIB = 1 << 20
GIB = 1 << 30
_SIZE = re.compile(r"(\d+)\s*([kmgtpe])i?b?", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def text(value: Scalar) -> str:
    """A YAML scalar as a server's configuration spells it (`true` -> ON)."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)


def boolean(value: str) -> bool | None:
    """ON/1/true/yes -> True, OFF/0/false/no -> False, else None."""
    word = value.strip().lower()
    return True if word in ON else False if word in OFF else None


def number(value: str) -> float | None:
    """`64M` -> 67108864, `75.0` -> 75, anything else -> None. Suffixes are powers of 1024."""
    word = value.strip()
    size = _SIZE.fullmatch(word)
    if size:
        return float(int(size[1]) << (10 * (1 + "kmgtpe".index(size[2].lower()))))
    try:
        return float(word)
    except ValueError:
        return None


def same(asked: str, got: str) -> bool:
    """Whether two spellings mean the same value: sizes, booleans, numbers, case, order in a set."""
    left, right = asked.strip(), got.strip()
    if len(left) > 1 and left[0] == left[-1] and left[0] in "'\"":
        left = left[1:-1]
    if left.casefold() == right.casefold():
        return True
    if (a := number(left)) is not None and (b := number(right)) is not None:
        return a == b
    if (p := boolean(left)) is not None and (q := boolean(right)) is not None:
        return p == q
    if "," in left or "," in right:
        return _members(left) == _members(right)
    return left.rstrip("/") == right.rstrip("/") and left.startswith("/")


def _members(value: str) -> frozenset[str]:
    return frozenset(word.strip().casefold() for word in value.split(",") if word.strip())


def settings_of(config: Mapping[str, Scalar], kind: str, reserved: Iterable[str]) -> dict[str, str]:
    """The user's `config` as strings; DynoError on a bad name or one that is dyno's own."""
    own = frozenset(reserved)
    settings: dict[str, str] = {}
    for key, value in config.items():
        name = str(key).strip()
        if not _NAME.fullmatch(name) or any(mark in text(value) for mark in "\n\r\0"):
            raise DynoError(
                f"{kind}: {key!r} cannot be a setting",
                cause="a name has letters, digits and underscores, a value stands on one line",
                fix="correct it in `config:`",
            )
        plain = name.replace("-", "_").lower()
        if plain in own:
            raise DynoError(
                f"{kind}: `{name}` cannot be set in `config:`",
                cause="dyno sets it itself, so that the server is private, found and removed",
                fix=f"remove `{name}`",
            )
        if plain in settings:
            raise DynoError(
                f"{kind}: `{name}` is given twice in `config:`, in two spellings",
                fix="keep one of them",
            )
        if plain == "port":
            port_number(text(value), kind)
        settings[plain] = text(value)
    return settings


def merge(kind: str, word: str, wanted: Mapping[str, str], config: Mapping[str, str]) -> None:
    """DynoError if the user's config says something else than a word of the experiment needs."""
    for name, value in wanted.items():
        if name in config and not same(value, config[name]):
            raise DynoError(
                f"{kind}: `{name}: {config[name]}` contradicts `{word}`, which is {name}={value}",
                cause="`config:` and the experiment's words both set it",
                fix=f"remove `{name}` from `config:`, or remove `{word.partition(':')[0]}:`",
            )


def check_words(target: TargetPlan) -> None:
    """DynoError on a word whose value is not one of the known ones."""
    for word, value, known in (
        ("durability", target.durability, DURABILITY),
        ("isolation", target.isolation, ISOLATION),
        ("protocol", target.protocol, ("prepared", "text")),
        ("transport", target.transport, ("tcp", "socket")),
    ):
        if value is not None and value not in known:
            raise DynoError(
                f"{target.name}: `{word}: {value}` is not known",
                fix=f"use one of: {', '.join(known)}",
            )
    if target.tls not in ("verify", "require", "prefer", "off") and not target.tls.startswith(
        "ca:"
    ):
        raise DynoError(
            f"{target.name}: `tls: {target.tls}` is not known",
            fix="use one of: verify, require, prefer, off, ca:FILE",
        )
    if target.memory_bytes is not None and target.memory_bytes < 8 * MIB:
        raise DynoError(
            f"{target.name}: `memory: {target.memory_bytes}` is less than 8 MiB",
            cause="no server runs with so little; is a unit missing?",
            fix="write it with a unit: `memory: 1Gi`",
        )


def port_number(value: str, kind: str) -> int:
    """A TCP port; DynoError if it is none."""
    if not value.isdigit() or not 1 <= int(value) <= 65535:
        raise DynoError(
            f"{kind}: `port: {value}` is not a port", fix="use 1 to 65535, or remove it"
        )
    return int(value)


def isolation_sql(level: str) -> str:
    """`repeatable_read` -> `REPEATABLE READ`."""
    return level.replace("_", " ").upper()


def bytes_text(size_bytes: int) -> str:
    """`1073741824` -> `1 GiB`, exactly or with one decimal."""
    for unit, factor in (("GiB", GIB), ("MiB", MIB), ("KiB", 1 << 10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes} B"
