"""`python -m tools.gallery [--measure] [ROW...]`: draws `docs/articles/`, measures rows anew."""

from __future__ import annotations

import argparse
import sys

from tools.gallery import page
from tools.gallery.article import articles, measurements
from tools.gallery.inputs import LOGS
from tools.gallery.measure import measure
from tools.gallery.places import PAGES


def main() -> int:
    """0 if all is drawn; with `--check` 1 if a page is stale."""
    parser = argparse.ArgumentParser(prog="make gallery", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="of --measure: these rows or runs")
    parser.add_argument("--measure", action="store_true", help="run the rows' experiments first")
    parser.add_argument("--check", action="store_true", help="say which pages are stale")
    parser.add_argument("--log", choices=LOGS, help="print a generated log")
    asked = parser.parse_args()
    if asked.log:
        sys.stdout.write(LOGS[asked.log]())
        return 0
    if asked.measure:
        _measure(asked.rows, parser)
    return _check() if asked.check else _draw()


def _measure(asked: list[str], parser: argparse.ArgumentParser) -> None:
    by_row = {one.row.lower(): [run.name for run in one.runs] for one in articles()}
    by_row |= {name: [name] for name in measurements()}
    rows = [row.lower() for row in asked]
    if unknown := [row for row in rows if not by_row.get(row)]:
        parser.error(f"{unknown[0]} measures nothing; {', '.join(r for r in by_row if by_row[r])}")
    names = dict.fromkeys(name for row in rows or by_row for name in by_row[row])
    for number, name in enumerate(names, 1):
        print(f"[{number}/{len(names)}] {name}", file=sys.stderr, flush=True)
        size = measure(measurements()[name])
        print(f"    {size / 1024:.0f} KiB", file=sys.stderr, flush=True)


def _draw() -> int:
    PAGES.mkdir(parents=True, exist_ok=True)
    texts = page.pages()
    for path in PAGES.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (PAGES / name).write_text(text)
    return 0


def _check() -> int:
    texts = page.pages()
    there = {path.name: path.read_text() for path in PAGES.glob("*.md")}
    stale = sorted(n for n in texts.keys() | there.keys() if texts.get(n) != there.get(n))
    for name in stale:
        print(f"docs/articles/{name} is stale: make gallery", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
