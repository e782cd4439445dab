"""Every system, with its settings for each portable option."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.kinds import KINDS
from dbdyno.systems.base import DURABILITY, ISOLATION, System, TargetPlan, Word
from reference_pages.markdown import code, sections, table

INTRO = """A target's `kind:`. Each server is managed: on loopback or a socket, unprivileged, with a random password, in a
directory of its own that is removed at the end. `durability`, `isolation` and `memory` are mapped as below; a value of
`config:` that contradicts one of them is an error, and so is a setting that the server does not apply as requested."""

MEMORY_BYTES = 1 << 30


def page() -> str:
    """docs/reference/systems.md"""
    return sections("# Systems", INTRO, *(_system(system) for system in systems.registry()))


def _system(system: System) -> str:
    module: Any = import_module(f"dbdyno.systems.{KINDS[system.kind].module}")
    reserved = _reserved(module)
    own = ", ".join(code(name) for name in sorted(reserved))
    return sections(
        f"## {system.kind}",
        f"{system.about[0].upper()}{system.about[1:]}. Driver: {code(system.driver)}.",
        table(("option", "settings", "remark"), _words(system)),
        f"Not allowed in `config:`, because dbdyno sets them itself: {own}." if own else "",
    )


def _reserved(module: Any) -> frozenset[str]:
    """Names that a system keeps for itself; what a family shares is in the family's module."""
    for holder in (module, getattr(module, "family", None)):
        if holder is not None and hasattr(holder, "RESERVED"):
            return frozenset(holder.RESERVED)
    return frozenset()


def _words(system: System) -> Iterator[tuple[str, str, str]]:
    defaults = system.resolve(TargetPlan("db", system.kind)).words
    yield from (_row(word) for word in defaults)
    asked: list[dict[str, Any]] = [
        *({"durability": level} for level in DURABILITY),
        *({"isolation": level} for level in ISOLATION),
        {"memory_bytes": MEMORY_BYTES},
    ]
    for words in asked:
        target = TargetPlan("db", system.kind, **words)
        try:
            found = system.resolve(target).words
        except DynoError as error:
            (name, value), *_ = words.items()
            shown = f"{name}: {value}" if isinstance(value, str) else "memory: 1 GiB"
            yield code(shown), "refused", error.what
            continue
        yield from (_row(word) for word in found if word not in defaults)


def _row(word: Word) -> tuple[str, str, str]:
    settings = ", ".join(
        code(value if name == "session" else f"{name}={value}")
        for name, value in word.settings.items()
    )
    shown = word.word if word.word.startswith("by default") else code(word.word)
    return shown, settings, word.note
