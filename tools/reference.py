"""Writes docs/reference/ and the manual pages in share/man/ from the programs themselves, so that
they always agree. Pages of `WRITTEN` are written by hand, and only listed.

`make reference` rewrites the pages; `--check` only lists stale pages (exit code 1), as in
`tests/contract/test_docs.py`. Each page is one module of `reference_pages` with a
function `page() -> str`; the order here is that of the index.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from reference_pages import man, rules
from reference_pages.markdown import NOTE, link_list

ROOT = Path(__file__).parents[1]
REFERENCE, MANUAL = ROOT / "docs" / "reference", ROOT / "share" / "man" / "man1"
PAGES = {
    "commands": "every command of `dyno`, its options, exit codes, environment variables",
    "experiment": "every key of an experiment file",
    "claims": "the grammar of claims and conditions, and the verdicts",
    "metrics": "every metric and every source of samples",
    "workloads": "every workload with its options and presets",
    "systems": "every system, with its settings for each portable option",
    "engine": "`dyno-engine`, its drivers and their options",
    "studies": "every shipped study",
    "checks": "every check of the machine before the first trial",
    "rules": "every rule of `dyno check`",
    "sharing": "tables, OpenMetrics, the live endpoint, bundles, redaction",
    "run-directory": "the files of a run",
    "security": "the demands of servers during login, and the policy for each",
}
# Written by hand: they describe behaviour that no program lists.
WRITTEN = {
    "digest": "`dyno digest`: sources, formats, the document",
    "sysbench": "`dyno sysbench`: options, scripts, reports, what differs from sysbench",
}


def pages() -> dict[Path, str]:
    """Path -> text of every page, the index included."""
    texts = {f"{name}.md": _text(name) for name in PAGES}
    texts |= {f"rules/{name}.md": _noted(text) for name, text in rules.pages().items()}
    texts["README.md"] = f"# Reference\n\n{NOTE}\n\n{link_list(PAGES | WRITTEN)}\n"
    found = {REFERENCE / name: text for name, text in texts.items()}
    return found | {MANUAL / name: text for name, text in man.pages().items()}


def stale(wanted: dict[Path, str]) -> list[Path]:
    """Pages that differ from what is on disk, and files that are no page."""
    there = {path for path in (*REFERENCE.rglob("*"), *MANUAL.glob("*")) if path.is_file()}
    there -= {REFERENCE / f"{name}.md" for name in WRITTEN}
    differ = {path for path, text in wanted.items() if _read(path) != text}
    return sorted(differ | (there - wanted.keys()))


def main(arguments: list[str]) -> int:
    """Writes or checks; returns the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: tools/reference.py [--check]", file=sys.stderr)
        return 2
    wanted = pages()
    changed = stale(wanted)
    if arguments:
        for path in changed:
            print(f"{path.relative_to(ROOT)} is stale: run `make reference`", file=sys.stderr)
        return 1 if changed else 0
    for path in changed:
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
        else:
            path.unlink()
        print(path.relative_to(ROOT), file=sys.stderr)
    return 0


def _text(name: str) -> str:
    return _noted(import_module(f"reference_pages.{name.replace('-', '_')}").page())


def _noted(body: str) -> str:
    title, _, rest = body.partition("\n")
    return f"{title}\n\n{NOTE}\n{rest.rstrip()}\n"


def _read(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
