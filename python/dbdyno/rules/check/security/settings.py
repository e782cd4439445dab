"""Rules about one setting, which is most of hardening: a value that is wrong, and the one that is
right. The setting decides, so a file that does not have it is "not known"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.rule import Fix, Found, Rule, setting


def rule(
    *names: str,
    id: str,
    title: str,
    about: str,
    severity: str,
    applies: tuple[str, ...],
    wrong: Callable[[Fact], bool],
    right: str | Callable[[Facts, str, Fact], Fix] | None,
    effect: str,
    source: str,
    sources: tuple[str, ...] = ("server", "file"),
    default_is_right: bool = False,
) -> Rule:
    """A rule on the first of `names` that is set. `right`: None to take the line away; or what
    makes the fix of a name and its value. `default_is_right`: in every version, so that a server
    that tells all its options is fine without it."""

    def judge(facts: Facts) -> Iterator[Found]:
        told = default_is_right and facts.is_server and facts.tells_options
        if told and not any(f"setting.{name}" in facts.facts for name in names):
            return
        name, fact = _first(facts, names)
        if wrong(fact):
            yield Found(
                what=f"`{name}` is {fact.text or 'empty'}",
                evidence=(fact,),
                effect=effect,
                fix=right(facts, name, fact) if callable(right) else setting(name, right),
                undo=setting(name, fact.value),
                about=name,
            )

    return Rule(
        id=id,
        pack="security",
        title=title,
        about=about,
        severity=severity,
        applies=applies,
        sources=sources,
        judge=judge,
        source=source,
    )


def _first(facts: Facts, names: tuple[str, ...]) -> tuple[str, Fact]:
    for name in names:
        if fact := facts.get(f"setting.{name}"):
            return name, fact
    return names[0], facts.setting(names[0])


def or_default(facts: Facts, name: str, usual: str | None = None) -> Fact:
    """A setting; of a file that does not have it, or a server that tells all its options, the
    default. Missing: a server does not tell."""
    fact = facts.get(f"setting.{name}")
    if fact is not None or (facts.is_server and not facts.tells_options):
        return fact or facts.setting(name)
    return Fact(f"setting.{name}", usual, facts.table("options").place)


def tls_versions(facts: Facts) -> str:
    """For tls_version of MySQL and MariaDB: 1.2, and 1.3 where the server knows its name."""
    knows = facts.version >= ((8, 0, 16) if facts.engine == "mysql" else (10, 4, 6))
    return "TLSv1.2,TLSv1.3" if knows else "TLSv1.2"


def without_old_tls(facts: Facts, name: str, fact: Fact) -> Fix:
    """The fix of a `tls_version` with 1.0 or 1.1."""
    return setting(name, tls_versions(facts))


def is_on(fact: Fact) -> bool:
    """Wrong if on."""
    return fact.on


def is_off(fact: Fact) -> bool:
    """Wrong if off."""
    return not fact.on


def one_of(*values: str) -> Callable[[Fact], bool]:
    """Wrong if it has one of these values, in small letters."""
    return lambda fact: fact.text.strip().lower() in values


def yes(value: Any) -> bool:
    """Whether a column of a catalogue means yes: Y and 1 of MySQL, t of PostgreSQL."""
    return str(value).lower() in ("y", "t", "1", "true")


LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_wide(addresses: str) -> bool:
    """Whether a list of addresses is every one of the host. An empty list is not."""
    words = addresses.replace(",", " ").split()
    return any(word.lstrip("-") in ("*", "0.0.0.0", "::", "::*") for word in words)


def is_near(addresses: str) -> bool:
    """Whether a list of addresses is of this machine only."""
    words = addresses.replace(",", " ").split()
    return bool(words) and all(
        word.lstrip("-") in LOOPBACK or word.startswith("127.") or "/" in word for word in words
    )
