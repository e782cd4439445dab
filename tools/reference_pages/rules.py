"""Every rule of `dyno check`: an index, and a page each."""

from __future__ import annotations

from dbdyno.rules.check.packs import PACKS, RULES
from dbdyno.rules.check.rule import Rule
from reference_pages.markdown import code, sections, table

INTRO = """`dyno check` ([guide](../guide/check.md)) judges facts by these rules. A rule is `found`, `fine`, `not known` where a fact is missing (with the reason), or `not
applicable` to an engine, a version or a source. Its name is stable: `--only`, `--ignore` and baselines use it."""


def page() -> str:
    """docs/reference/rules.md"""
    parts = []
    for pack in PACKS:
        rows = [
            (f"[{rule.id}](rules/{rule.id}.md)", rule.severity, ", ".join(rule.applies), rule.title)
            for rule in sorted(RULES, key=lambda rule: rule.id)
            if rule.pack == pack
        ]
        parts += [f"## {pack}", table(("rule", "severity", "engines", "finds"), rows)]
    return sections("# Rules of dyno check", INTRO, *parts)


def pages() -> dict[str, str]:
    """A page for each rule, by its id."""
    return {rule.id: _page(rule) for rule in RULES}


def _page(rule: Rule) -> str:
    needs = ", ".join(code(key) for key in rule.needs)
    source = f"<{rule.source}>" if rule.source.startswith("https://") else rule.source
    rows = [
        ("pack", rule.pack),
        ("severity", f"{rule.severity}, unless the finding says another"),
        ("engines", ", ".join(map(code, rule.applies))),
        ("judges", ", ".join(rule.sources)),
        ("needs", needs),
        ("proof", rule.proof or ""),
        ("source", source),
    ]
    filled = [row for row in rows if row[1]]
    return sections(f"# {rule.id}", f"*{rule.title}.*", rule.about, table(("", ""), filled))
