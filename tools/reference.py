"""Writes docs/reference/ from the programs themselves, so that it cannot say anything else. Pages
of `WRITTEN` are written by hand, and only listed.

`make reference` rewrites the pages; `--check` only says which are stale (exit code 1), which is
what `tests/contract/test_docs.py` asks. Each page is one module of `reference_pages` with a
function `page() -> str`; the order here is that of the index.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from reference_pages.markdown import NOTE, link_list

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
PAGES = {
    "commands": "every command of `dyno`, its options, exit codes, environment variables",
    "experiment": "every key of an experiment file",
    "claims": "the grammar of claims and conditions, and the verdicts",
    "metrics": "every metric and every source of samples",
    "workloads": "every workload with its options and presets",
    "systems": "every system, and what the words mean to it",
    "engine": "`dyno-engine`, its drivers and their options",
    "studies": "every shipped study",
    "checks": "every check of the machine before the first trial",
    "sharing": "tables, OpenMetrics, the live endpoint, bundles, redaction",
    "run-directory": "what a run leaves on disk",
    "security": "what a server may ask of us before it is trusted",
}
# Written by hand: they describe behaviour that no program lists.
WRITTEN = {
    "digest": "`dyno digest`: sources, formats, the document",
    "sysbench": "`dyno sysbench`: options, scripts, reports, what differs from sysbench",
}


def pages() -> dict[str, str]:
    """File name -> text of every page, the index included."""
    texts = {f"{name}.md": _text(name) for name in PAGES}
    texts["README.md"] = f"# Reference\n\n{NOTE}\n\n{link_list(PAGES | WRITTEN)}\n"
    return texts


def stale(wanted: dict[str, str]) -> list[str]:
    """Names of pages that differ from what is on disk, and of files that are no page."""
    there = {path.name for path in REFERENCE.glob("*")} - {f"{name}.md" for name in WRITTEN}
    differ = {name for name, text in wanted.items() if _read(REFERENCE / name) != text}
    return sorted(differ | (there - wanted.keys()))


def main(arguments: list[str]) -> int:
    """Writes or checks; returns the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: tools/reference.py [--check]", file=sys.stderr)
        return 2
    wanted = pages()
    changed = stale(wanted)
    if arguments:
        for name in changed:
            print(f"docs/reference/{name} is stale: run `make reference`", file=sys.stderr)
        return 1 if changed else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in wanted:
            (REFERENCE / name).write_text(wanted[name])
        else:
            (REFERENCE / name).unlink()
        print(f"docs/reference/{name}", file=sys.stderr)
    return 0


def _text(name: str) -> str:
    body: str = import_module(f"reference_pages.{name.replace('-', '_')}").page()
    title, _, rest = body.partition("\n")
    return f"{title}\n\n{NOTE}\n{rest.rstrip()}\n"


def _read(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
