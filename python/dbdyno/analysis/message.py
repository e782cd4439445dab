"""Messages of the analysis, as data: `wording` has the sentence."""

from __future__ import annotations

from typing import Any


class Message(str):
    """The name of a sentence in `wording`, with the numbers, levels and messages in it.

    It takes the place of the sentence until `wording.catalogue.worded` puts that there. It is true
    as a sentence is, and equal to another message with the same name and values.
    """

    values: dict[str, Any]

    def __new__(cls, name: str, **values: Any) -> Message:
        made = super().__new__(cls, name)
        made.values = values
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (str.__str__(self), self.values)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True and (
            isinstance(other, Message) and self.values == other.values
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __repr__(self) -> str:
        return f"Message({super().__repr__()}, {self.values})"

    def __str__(self) -> str:
        raise TypeError(f"{self!r} has no sentence yet")

    def __format__(self, spec: str) -> str:
        return str(self)


def joined(*parts: str) -> str:
    """Parts of a sentence as one; of one that is not empty, itself; of none, empty."""
    some = [part for part in parts if part]
    return Message("joined", parts=some) if len(some) > 1 else (some or [""])[0]


def _made(name: str, values: dict[str, Any]) -> Message:
    return Message(name, **values)
