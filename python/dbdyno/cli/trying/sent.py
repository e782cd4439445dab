"""What `dyno try` sends: statements, files of them, or a workload that dbdyno brings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment import workloads
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.workloads.mix.model import ENGINES_OWN, SQL_MAX, SQL_NAME

MIX = "mix"
BROUGHT = {name: each.presets for name, each in workloads.WORKLOADS.items() if each.presets}
_BEGIN, _END = ("begin", "start"), ("commit", "end")
_NAME_LENGTH_MAX = 32


@dataclass(frozen=True)
class Variant:
    """One of the things that are tried. `options`: keys of its workload."""

    level: str
    options: Mapping[str, Any]
    text: str  # for people


@dataclass(frozen=True)
class Sent:
    """All of them: of one workload, `kind`."""

    kind: str
    variants: tuple[Variant, ...]

    @property
    def is_sql(self) -> bool:
        """Whether the statements are the user's own."""
        return self.kind == MIX

    def changes_data(self) -> bool:
        """Whether some variant does more than read."""
        return any(workloads.changes_data(self.kind, one.options) for one in self.variants)


def read(words: Sequence[str], ranges: Sequence[str] = ()) -> Sent:
    """What the arguments name, with the `ranges` (`NAME=LOW..HIGH`) that parameters are drawn from.
    DynoError for what is neither a workload, a file nor a statement, or mixes them."""
    brought = [word for word in words if word.partition("=")[0] in BROUGHT]
    params = _params(ranges)
    if len(brought) == len(words):
        _refuse_unused(params, "")
        return _brought(words)
    if brought:
        raise DynoError(
            f"`{brought[0]}` is a workload of dbdyno's, and the rest are statements",
            cause="their transactions have nothing in common, so their ratio is meaningless",
            fix="try one kind of them at a time",
        )
    variants: dict[str, Variant] = {}
    for word in dict.fromkeys(words):
        name, sql = _named(word, only=len(words) == 1)
        level, number = name, 2
        while level in variants:
            level, number = f"{name}_{number}", number + 1
        variants[level] = _variant(level, sql, word, params)
    _refuse_unused(params, " ".join(one.text for one in variants.values()))
    return Sent(MIX, tuple(variants.values()))


def _params(ranges: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for text in ranges:
        name, _, span = text.partition("=")
        ends = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", span)
        if not re.fullmatch(SQL_NAME, name) or ends is None or int(ends[1]) > int(ends[2]):
            raise DynoError(
                f"--param {text}: this is no range of a parameter",
                cause="a range has whole numbers as its ends, the lower one first",
                fix="write NAME=LOW..HIGH, such as id=1..10000; the file can have others",
            )
        found[name] = {"uniform": [int(ends[1]), int(ends[2])]}
    return found


def _refuse_unused(params: Mapping[str, Any], sql: str) -> None:
    for name in params:
        if name not in sqltext.parameters(sql):
            raise DynoError(
                f"--param {name}: no statement names `:{name}`",
                cause="a misspelt name, or a workload that draws its own values",
                fix=f"write `:{name}` in a statement, or remove the option",
            )


def _brought(words: Sequence[str]) -> Sent:
    names = list(dict.fromkeys(word.partition("=")[0] for word in words))
    if len(names) > 1:
        raise DynoError(
            f"{' and '.join(names)} have different transactions",
            cause="the ratio of their throughputs is meaningless",
            fix=f"try one of them, or presets of one: {names[0]}={next(iter(BROUGHT[names[0]]))}",
        )
    presets = BROUGHT[names[0]]
    variants = []
    for word in dict.fromkeys(words):
        _, equals, preset = word.partition("=")
        preset = preset if equals else _default_preset(names[0])
        if preset not in presets:
            raise DynoError(
                f"`{word}`: {names[0]} has no preset `{preset}`",
                cause="a misspelt name",
                fix=did_you_mean(preset, presets),
            )
        variants.append(Variant(preset, {"preset": preset}, f"{names[0]} {preset}"))
    return Sent(names[0], tuple(variants))


def _default_preset(workload: str) -> str:
    options = workloads.of(workload).options
    return next(str(one.default) for one in options if one.name == "preset")


def _named(word: str, *, only: bool) -> tuple[str, str]:
    """A name for the statements of an argument, and their text."""
    path = Path(word)
    if path.suffix.lower() == ".sql" or (not re.search(r"\s", word) and path.is_file()):
        return _identifier(path.stem), _text_of(path)
    if not re.search(r"\s", word):
        raise DynoError(
            f"`{word}` is neither a workload, a file nor a statement",
            cause="a misspelt name",
            fix=f"write a statement in quotes, a file FILE.sql, or a workload: "
            f"{did_you_mean(word, BROUGHT)}",
        )
    if only:
        return "statement", word
    begin = word.lower().find(sqltext.keyword(word))  # behind comments
    return _identifier(word[begin:]), word


def _text_of(path: Path) -> str:
    try:
        text = path.read_bytes()[: SQL_MAX + 1].decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DynoError(
            f"{path} cannot be read: {why}",
            cause="a misspelt path, or no permission",
            fix="give the path of a file with one statement or several, each with `;` behind it",
        ) from None
    if len(text) > SQL_MAX:
        raise DynoError(
            f"{path} has more than {SQL_MAX:,} characters",
            cause="a file to try is one transaction, not a dump",
            fix="load data with --setup, and try the statements that matter",
        )
    return text


def _identifier(text: str) -> str:
    """A name of a class: letters, digits and `_`; long ones are cut."""
    name = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_")[:_NAME_LENGTH_MAX]
    name = name.rstrip("_") or "statement"
    return f"q_{name}" if name[0].isdigit() or name in ENGINES_OWN else name


def _variant(level: str, sql: str, word: str, params: Mapping[str, Mapping[str, Any]]) -> Variant:
    """One statement is a transaction of its own. Several are one transaction if the text says
    BEGIN and COMMIT, else they go one after the other."""
    pieces = [piece.strip() for piece in sqltext.statements(sql)]
    framed = bool(pieces) and sqltext.keyword(pieces[0]) in _BEGIN
    if framed:
        pieces = pieces[1 : -1 if sqltext.keyword(pieces[-1]) in _END else None]
    if not pieces:
        raise DynoError(
            f"`{word}` holds no statement",
            cause="it is empty, or a comment",
            fix="give a statement, such as 'SELECT 1'",
        )
    text = "; ".join(pieces)
    options: dict[str, Any] = {}
    if used := sqltext.parameters(text):
        options["params"] = {name: _declared(name, params) for name in used}
    if len(pieces) == 1 and not framed:
        options["statements"] = {level: {"sql": pieces[0]}}
    else:
        steps = [{"sql": piece} for piece in pieces]
        options["transactions"] = {level: {"atomic": framed, "steps": steps}}
    return Variant(level, options, text)


def _declared(name: str, params: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if name not in params:
        raise DynoError(
            f"a statement names a parameter `:{name}`, and nothing says which values it has",
            cause="`:name` is drawn again for each transaction",
            fix=f"add --param {name}=1..10000, or write a value in its place",
        )
    return params[name]
