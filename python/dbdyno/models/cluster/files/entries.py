"""Entries of YAML files about clusters; every error has its place in the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from dbdyno.errors import DynoError
from dbdyno.experiment.file.document import Node, shown
from dbdyno.experiment.file.names import did_you_mean

FILE_BYTES_MAX = 1 << 20

T = TypeVar("T")


def text_of(path: Path, what: str, keys: str) -> str:
    """The contents of a file. DynoError if it cannot be read, or is too large to be `what`."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise DynoError(
            f"{path} cannot be read: {error.strerror}",
            cause="a misspelt path, or no permission",
            fix=f"give the path of a YAML file with {keys}",
        ) from None
    except UnicodeDecodeError:
        raise DynoError(f"{path} is not UTF-8 text", fix="save it as UTF-8") from None
    if len(raw) > FILE_BYTES_MAX:
        raise DynoError(f"{path} is larger than 1 MiB, so it is hardly {what}")
    return text


def mapping(
    node: Node, what: str, known: Sequence[str] = (), *, example: str
) -> Mapping[str, Node]:
    """Its entries, if it is a mapping and all keys are known."""
    if not isinstance(node.value, Mapping):
        wrong(node, f"{what} must be a mapping, not {shown(node)}", f"see the example: `{example}`")
    for key, entry in node.mapping.items():
        if known and key not in known:
            raise DynoError(
                f"there is no key `{key}` in {what}",
                where=entry.place,
                fix=did_you_mean(key, known),
            )
    return node.mapping


def value(node: Node | None, parse: Callable[[object], T], default: T) -> T:
    """What `parse` makes of a scalar."""
    if node is None:
        return default
    return checked(node, lambda: parse(node.value), tail=f", not {shown(node)}")


def checked(node: Node, make: Callable[[], T], *, tail: str = "", fix: str = "") -> T:
    """What `make` gives; its ValueError becomes an error at this place."""
    try:
        return make()
    except ValueError as error:
        raise DynoError(f"{error}{tail}", where=node.where, fix=fix) from None


def wrong(node: Node, what: str, fix: str) -> NoReturn:
    """An error at this place."""
    raise DynoError(what, where=node.where, fix=fix)
