"""The candidates that were typed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno import diskfiles, kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.workloads import mix
from dbdyno.prove import candidates
from dbdyno.prove.base import Base
from dbdyno.prove.candidates import Candidate
from dbdyno.store.text import files

_LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'|\b\d+(?:\.\d+)?\b|:[A-Za-z_]\w*|\?")


def read(typed: Mapping[str, Any], base: Base) -> tuple[Candidate, ...]:
    """All of them, in the order of the options; none: they are to be found."""
    language = kinds.of(base.target.kind).language
    return candidates.named_apart(
        [
            *(one for text in typed["findings"] for one in _of_finding(text)),
            *(candidates.index(text, language) for text in typed["indexes"]),
            *(candidates.dropped(text, language) for text in typed["dropped"]),
            *(_rewrite(old, new, base) for old, new in typed["rewrites"]),
            *(candidates.change(sql) for sql in typed["changes"]),
            *(candidates.setting(text) for text in typed["settings"]),
            *(candidates.version(text) for text in typed["versions"]),
        ]
    )


def _rewrite(old: str, new: Path, base: Base) -> Candidate:
    class_, today = _class(old, base)
    sql = new.read_text(encoding="utf-8").strip()
    if len(sqltext.statements(sql)) != 1:
        raise DynoError(f"{new} does not hold one statement", fix="write the new statement, alone")
    has, wants = sqltext.parameters(today), sqltext.parameters(sql)
    if unknown := [name for name in wants if name not in has]:
        raise DynoError(
            f"{new}: the statement names `:{unknown[0]}`, which {class_} does not have",
            cause="both statements are sent with the same values",
            fix=f"use the parameters of {class_}: {_named(has)}",
        )
    if has and not wants:
        raise DynoError(
            f"{new}: the statement has none of the parameters of {class_}",
            cause="with constants it would answer another question than today's",
            fix=f"use {_named(has)} where today's statement does: {today}",
        )
    return candidates.rewrite(class_, sql, new.stem)


def _named(parameters: Sequence[str]) -> str:
    return ", ".join(f":{name}" for name in parameters) or "none"


def _class(old: str, base: Base) -> tuple[str, str]:
    """The class of the workload that is meant, by its name or by a file with its statement, and
    its SQL."""
    known = {
        name: str(each["sql"]) for group in base.groups for _, name, each in mix.sent(group.options)
    }
    if old in known:
        return old, known[old]
    if Path(old).is_file():
        wanted = _shape(Path(old).read_text(encoding="utf-8"))
        same = [name for name, sql in known.items() if _shape(sql) == wanted]
        if len(same) == 1:
            return same[0], known[same[0]]
    raise DynoError(
        f"--rewrite {old}: the workload has no such statement",
        cause="it is neither the name of a class nor a file with the statement of one",
        fix=f"name one of: {', '.join(known)}; --dry-run shows their statements",
    )


def _shape(sql: str) -> str:
    """A statement without its values and its spacing."""
    return "".join(_LITERAL.sub("?", sql.rstrip().rstrip(";")).lower().split())


def _of_finding(text: str) -> Iterator[Candidate]:
    """The fixes of a rule's findings in a document of `dyno check --json`."""
    path, _, rule = text.partition("#")
    found = _document(Path(path))
    chosen = [one for one in found if not rule or rule in (one.get("rule"), one.get("fingerprint"))]
    if not chosen:
        names = sorted({str(one.get("rule")) for one in found})
        raise DynoError(
            f"{path} has no finding of {rule or 'any rule'}",
            fix=f"name one of: {', '.join(names)}" if names else "there is nothing to prove",
        )
    for one in chosen:
        yield _fixed(one)


def _document(path: Path) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(diskfiles.read(path, files.STREAM_BYTES_MAX))
        findings = [*found["findings"], *found.get("known", ())]
        if not all(isinstance(one, Mapping) for one in findings):
            raise TypeError
    except OSError as error:
        raise DynoError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise DynoError(
            f"{path} is no document of findings", fix="write one: dyno check TARGET --json --out"
        ) from None
    return findings


def _fixed(finding: Mapping[str, Any]) -> Candidate:
    """The fix of one finding."""
    fix = finding.get("fix") or {}
    settings = {one["name"]: one["value"] for one in fix.get("settings", ())}
    statements = tuple(_unqualified(sql) for sql in fix.get("statements", ()))
    rule = str(finding.get("rule"))
    if (not settings and not statements) or None in settings.values():
        raise DynoError(
            f"{rule}: its fix is not a setting or a statement",
            cause=str(finding.get("what", "")),
            fix="do it on a copy, and compare both: --change SQL, or dyno run --against",
        )
    about = str(finding.get("about") or "")
    return Candidate(
        candidates.identifier(f"{rule}_{about}"),
        f"the fix of {rule}" + (f" ({about})" if about else ""),
        statements,
        {"config": settings} if settings else {},
        removes=any(sqltext.keyword(sql) == "drop" for sql in statements),
    )


def _unqualified(sql: str) -> str:
    """The statement without the schema's name, which is another one in a private copy, before its
    first table."""
    return re.sub(
        r"(?i)\b(on|table|update)\s+(?:`[^`]+`|\w+)\.(?=[`\w])", lambda found: f"{found[1]} ", sql
    )
