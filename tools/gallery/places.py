"""Where the gallery's files are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = DOCS / "articles"
RUNS = PAGES / "runs"  # a bundle each
EXPERIMENTS = PAGES / "experiments"
ARTICLES = Path(__file__).parent / "articles"
